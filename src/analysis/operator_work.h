/* What does a framework's operator mean: from its name and the shapes and types of its inputs, how
 * many bytes must be read and written and how many operations done?
 *
 * The least that any kernel must do who computes this: each input read once, each output written
 * once. Operators are PyTorch's, as its profiler records them ("Input Dims", "Input type", and
 * "Concrete Inputs" for arguments that are no tensors).
 */
#ifndef RIDGE_ANALYSIS_OPERATOR_WORK_H
#define RIDGE_ANALYSIS_OPERATOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define OPERATOR_WORK_MAX 1e24 /* bytes or operations: what is said to be more is damage */

enum element_type {
    ELEMENT_NONE, /* not a tensor, or of a type that is not known */
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_F64,
    ELEMENT_OTHER, /* integers, booleans, eight-bit floats, complex numbers */
};

enum { ARGUMENT_RANK_MAX = 8, ARGUMENTS_MAX = 16 };

struct argument {
    enum element_type type;
    unsigned size; /* bytes of an element; 0: not a tensor, or not known */
    bool is_list;  /* of tensors: only `elements`, of all of them, is known */
    unsigned rank;
    double dims[ARGUMENT_RANK_MAX];
    double elements;
    struct text concrete; /* what was passed instead of a tensor: "1", "True", "[2, 2]"; or "" */
};

struct arguments {
    unsigned count; /* those that did not fit are left out */
    bool untyped;   /* only shapes were recorded, as by PyTorch's emit_nvtx() */
    struct argument list[ARGUMENTS_MAX];
};

/* Reads them from a range's detail; the texts point into it. False when there are no shapes. */
bool arguments_read(struct text detail, struct arguments *arguments);
/* Takes all that have dimensions to be tensors of that type. */
void arguments_assume(struct arguments *arguments, enum element_type type);

/* The numbers of "[2, 2]" or "2", at most `capacity`; returns how many, 0 when it is none. */
unsigned argument_numbers(struct text concrete, double *numbers, unsigned capacity);

enum operator_kind {
    OPERATOR_UNKNOWN,
    OPERATOR_PRODUCT,     /* of matrices, or attention: one kernel does the work */
    OPERATOR_CONVOLUTION, /* with kernels that bring its inputs into another order */
    OPERATOR_STREAMING,   /* every element once: element-wise, reductions, normalisations, copies */
};

struct operator_work {
    enum operator_kind kind;
    enum element_type type; /* that the operations are done with */
    double flops;           /* 0: none, or not known */
    double bytes;           /* 0: not known */
    double elements;        /* instead of bytes, read and written of a type that is not recorded */
};

/* kind is OPERATOR_UNKNOWN when nothing can be said. */
struct operator_work operator_work(struct text name, const struct arguments *arguments);

#endif
