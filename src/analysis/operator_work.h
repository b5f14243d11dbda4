/* How much work is a framework's operator: from its name and the shapes and types of its inputs,
 * how many bytes must be read and written, and how many operations done?
 *
 * This is a lower bound for any kernel that computes it: each input is read once, each output
 * written once. Operators are PyTorch's, as its profiler records them ("Input Dims", "Input type",
 * and "Concrete Inputs" for arguments that are not tensors).
 */
#ifndef RIDGE_ANALYSIS_OPERATOR_WORK_H
#define RIDGE_ANALYSIS_OPERATOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define OPERATOR_WORK_MAX 1e24 /* bytes or operations: larger values are damage */

enum element_type {
    ELEMENT_NONE, /* not a tensor, or of an unknown type */
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_F64,
    ELEMENT_OTHER, /* integers, booleans, eight-bit floats, complex numbers */
};

enum { ARGUMENT_RANK_MAX = 8, ARGUMENTS_MAX = 16 };

struct argument {
    enum element_type type;
    unsigned size; /* bytes per element; 0: not a tensor, or unknown */
    bool is_list;  /* of tensors: only their total `elements` is known */
    unsigned rank;
    double dims[ARGUMENT_RANK_MAX];
    double elements;
    struct text concrete; /* a non-tensor argument: "1", "True", "[2, 2]"; or "" */
};

struct arguments {
    unsigned count; /* excess arguments are left out */
    bool untyped;   /* only shapes were recorded, as by PyTorch's emit_nvtx() */
    struct argument list[ARGUMENTS_MAX];
};

/* Reads the arguments from a range's detail; texts point into it. False when there are no shapes.
 */
bool arguments_read(struct text detail, struct arguments *arguments);
/* Assumes that all arguments with dimensions are tensors of this type. */
void arguments_assume(struct arguments *arguments, enum element_type type);

enum operator_kind {
    OPERATOR_UNKNOWN,
    OPERATOR_PRODUCT,     /* matrix products and attention: one kernel does the work */
    OPERATOR_CONVOLUTION, /* with kernels that transpose its inputs */
    OPERATOR_STREAMING,   /* every element once: element-wise, reductions, normalizations, copies */
};

struct operator_work {
    enum operator_kind kind;
    enum element_type type; /* of the operations */
    double flops;           /* 0: none, or unknown */
    double bytes;           /* 0: unknown */
    double elements;        /* read and written, when the type and so the bytes are unknown */
};

/* kind is OPERATOR_UNKNOWN for an unknown operator. */
struct operator_work operator_work(struct text name, const struct arguments *arguments);

#endif
