/* Functions of tensors that experiments time: their inputs, the function, the expected output,
 * and the peer's name for them. */
#ifndef RIDGE_BENCH_WORKLOADS_WORKLOAD_H
#define RIDGE_BENCH_WORKLOADS_WORKLOAD_H

#include "bench/case.h"

enum { WORKLOAD_INPUTS_MAX = PEER_INPUTS_MAX };

struct workload_input {
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    double scale;           /* of the standard normal numbers in it */
    enum ridge_dtype dtype; /* quantized types are made from normal numbers too */
    bool fixed;             /* small beside the others: one for all turns */
};

/* A workload with its sizes filled in. */
struct workload_shape {
    struct workload_input inputs[WORKLOAD_INPUTS_MAX];
    unsigned input_count;
    double numbers[PEER_NUMBERS_MAX];
    int64_t outputs;       /* elements of the output, which has the first input's type */
    uint64_t trigonometry; /* sin and cos in one call */
    uint64_t exponentials; /* exp and log */
    bool product;          /* its flops are those of matrix products of the case's dtype */
    unsigned operations;   /* public functions of ridge.h that it calls, if more than one */
    double magnitude;      /* errors are judged by outputs of at least this size */
    int64_t row_values;    /* numbers that the reference keeps of a row, if any */
};

/* Intermediate results of a reference for a row of the output, reused for its other elements. */
struct reference_row {
    int64_t row;    /* -1: none yet */
    double *values; /* shape.row_values of them */
};

/* Inputs of a turn on the host, as f32 (rounded to their type first), for reference(). */
struct host_inputs {
    const float *data[WORKLOAD_INPUTS_MAX];
    const struct workload_shape *shape;
    struct reference_row *kept;
};

struct workload {
    const char *name; /* also in peer.py */
    void (*shape)(const struct bench_case *work, struct workload_shape *shape);
    /* As ridge_compile() takes it; the context is the struct workload_shape. Makes one output. */
    ridge_function *function;
    /* Element `index` of the output (row-major), in double precision. NULL: not checked. */
    double (*reference)(const struct host_inputs *inputs, int64_t index);
    double tolerance; /* of f32, relative to the largest output; wider types' own come on top */
    bool no_peer;
};

/* The case kinds of a workload: bench_case.subject is the struct workload. Eager calls the
 * function's operations one by one; compiled runs it as a program. Large inputs alternate so
 * that memory and not a cache is measured. */
extern const struct case_kind workload_eager, workload_compiled;

/* Sets the case's memory_bytes from the workload's shape. */
void workload_size_up(struct bench_case *work);

extern const struct workload workload_chain;      /* 5 x sin, cos, exp, log; size elements */
extern const struct workload workload_softmax;    /* batch rows of `size` */
extern const struct workload workload_layer_norm; /* likewise */
extern const struct workload workload_rms_norm;   /* likewise */
extern const struct workload workload_matmul;     /* [batch or size, size] x [size, size] */
extern const struct workload workload_linear;     /* batch x size by [size, size], b of any type */
extern const struct workload workload_lora;       /* batch, size; numbers[0] is the rank */
extern const struct workload workload_gated_mlp;  /* batch rows of size; hidden numbers[0] */
extern const struct workload workload_attention;  /* size tokens; batch; heads numbers[0], of
                                                     width numbers[1]; causal */
extern const struct workload workload_rmsnorm_linear; /* batch rows of size to size */
extern const struct workload workload_sum;            /* all of size elements to one */
extern const struct workload workload_row_max;        /* size elements, rows of numbers[0] */
extern const struct workload workload_add, workload_mul, workload_exp, workload_relu,
    workload_gelu;                                                            /* size elements */
extern const struct workload workload_matmul_relu, workload_matmul_then_relu; /* fused and not */
extern const struct workload workload_add_relu, workload_add_then_relu, workload_mul_relu,
    workload_mul_then_relu, workload_affine, workload_mul_then_add; /* likewise */
extern const struct workload workload_mlp;         /* batch rows through three layers of size */
extern const struct workload workload_train_mlp;   /* a training step of that */
extern const struct workload workload_train_block; /* of a transformer block, 128 tokens; size is
                                                      its width */

#endif
