/* What kind of work does a kernel do, as far as its name tells? Libraries and frameworks name their
 * kernels after it; it decides what a kernel is bound by where nothing better is known. */
#ifndef RIDGE_DIAGNOSE_KERNEL_CLASS_H
#define RIDGE_DIAGNOSE_KERNEL_CLASS_H

#include "base/text.h"

enum kernel_class {
    KERNEL_OTHER,
    KERNEL_ELEMENTWISE, /* a framework's own, one operation each */
    KERNEL_STRIDED,     /* the same over memory that is not contiguous */
    KERNEL_FUSED,       /* what a compiler made of several */
    KERNEL_STREAMING,   /* reductions, normalisations, softmax, gathers, copies */
    KERNEL_MATMUL,      /* products, convolutions, attention on matrix units, or not known */
    KERNEL_MATMUL_F32,  /* products in f32 without matrix units, or in f64 */
    KERNEL_SORT_SCAN,   /* sorts, scans: bound by their own dependencies */
    KERNEL_COLLECTIVE,  /* communication between devices */
    KERNEL_CLASS_COUNT
};
const char *kernel_class_name(unsigned class);
enum kernel_class kernel_class(struct text name);
/* Whether a product says that it is in f64. */
bool kernel_is_f64(struct text name);
/* Element-wise, streaming or the like: what waits for memory when it is large. */
bool kernel_class_moves_memory(unsigned class);

#endif
