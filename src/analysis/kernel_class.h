/* What kind of work does a kernel do, and with which types, judging by its name? Libraries and
 * frameworks name their kernels after what they compute. */
#ifndef RIDGE_ANALYSIS_KERNEL_CLASS_H
#define RIDGE_ANALYSIS_KERNEL_CLASS_H

#include "trace/reader.h"

enum kernel_class {
    KERNEL_OTHER,
    KERNEL_ELEMENTWISE, /* a framework's own, one operation each */
    KERNEL_STRIDED,     /* the same over memory that is not contiguous */
    KERNEL_FUSED,       /* what a compiler made of several */
    KERNEL_STREAMING,   /* reductions, normalizations, softmax, gathers, copies */
    KERNEL_MATMUL,      /* products, convolutions, attention on matrix units, or not known */
    KERNEL_MATMUL_F32,  /* products in f32 without matrix units, or in f64 */
    KERNEL_SORT_SCAN,   /* sorts, scans: bound by their own dependencies */
    KERNEL_COLLECTIVE,  /* communication between devices */
    KERNEL_CLASS_COUNT
};
enum kernel_class kernel_class(struct text name);
/* Whether a matrix product is in f64. */
bool kernel_is_f64(struct text name);
/* Element-wise, streaming and the like: memory-bound when large. */
bool kernel_class_moves_memory(unsigned class);

/* How many arrays of equal length an element-wise kernel reads and writes: 2 for a function of one
 * array; 0 when the name is not that of an element-wise kernel. */
unsigned kernel_elementwise_arrays(struct text name);
/* How many of those arrays it reads; 0 when it is not element-wise. */
static inline unsigned kernel_elementwise_inputs(struct text name) {
    unsigned arrays = kernel_elementwise_arrays(name);
    return arrays > 2 ? arrays - 1 : arrays > 0;
}

/* How many elements of each array a thread of PyTorch's contiguous element-wise kernels handles, at
 * least; 0: another kernel, or its arrays are of several types. */
unsigned kernel_elements_per_thread(struct text name);

struct kernel_traits {
    bool read;       /* whether the other members are set */
    bool multiplies; /* matrices, convolutions or attention; helpers such as split-k reductions do
                        not */
    bool fewer_multiplications; /* than the plain sum of products (Winograd, FFT) */
    bool functions;      /* sines, exponentials...: many operations each, which are not counted */
    bool communicates;   /* with other devices, for which few blocks suffice */
    bool matrix_f32;     /* f32 on matrix units (tf32) */
    bool f32, bf16, f16; /* its type: at most one, the narrowest in the name */
    uint8_t size;        /* bytes of an element of the first type in the name; 0: unknown */
    uint8_t arrays;      /* kernel_elementwise_arrays() */
    uint8_t per_thread;  /* kernel_elements_per_thread() */
};

struct kernel_traits kernel_traits_of(struct text name);

/* Of a string of the trace. `by_name` caches one entry for each string and is zeroed initially. */
static inline const struct kernel_traits *kernel_traits(const struct trace *trace, uint32_t name,
                                                        struct kernel_traits *by_name) {
    if (!by_name[name].read)
        by_name[name] = kernel_traits_of(trace_text(trace, name));
    return &by_name[name];
}

#endif
