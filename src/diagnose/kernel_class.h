/* Classifies kernels by name. Libraries and frameworks name kernels after their operation; the
 * class is used to guess what a kernel is bound by if its work is not known. */
#ifndef RIDGE_DIAGNOSE_KERNEL_CLASS_H
#define RIDGE_DIAGNOSE_KERNEL_CLASS_H

#include "base/text.h"

enum kernel_class {
    KERNEL_OTHER,
    KERNEL_ELEMENTWISE, /* one operation of a framework */
    KERNEL_STRIDED,     /* the same, on non-contiguous memory */
    KERNEL_FUSED,       /* several operations, fused by a compiler */
    KERNEL_STREAMING,   /* reductions, normalisations, softmax, gathers, copies */
    KERNEL_MATMUL,      /* products, convolutions, attention on tensor cores or unknown units */
    KERNEL_MATMUL_F32,  /* f32 products without tensor cores, or f64 products */
    KERNEL_SORT_SCAN,   /* limited by data dependencies */
    KERNEL_COLLECTIVE,  /* communication between devices */
    KERNEL_CLASS_COUNT
};
const char *kernel_class_name(unsigned class);
enum kernel_class kernel_class(struct text name);
/* Whether the name of a product contains f64. */
bool kernel_is_f64(struct text name);
/* Element-wise, strided, fused or streaming: memory-bound if large. */
bool kernel_class_moves_memory(unsigned class);

#endif
