/* What does a kernel's name say of its arithmetic? Libraries name kernels after what they multiply
 * and with which types.
 */
#ifndef RIDGE_ANALYSIS_KERNEL_TRAITS_H
#define RIDGE_ANALYSIS_KERNEL_TRAITS_H

#include "trace/reader.h"

struct kernel_traits {
    bool read;       /* whether the rest was found out */
    bool multiplies; /* matrices, convolutions or attention, and is no helper of one that does */
    bool fewer;      /* multiplications than the sum of products has (Winograd, Fourier) */
    bool functions;  /* sines, exponentials...: each costs many operations, and no count has them */
    bool communicates;   /* with other devices: few blocks are enough for that */
    bool matrix_f32;     /* with the matrix units' f32 (tf32) */
    bool f32, bf16, f16; /* its type: at most one, the narrowest that the name has */
    uint8_t size;        /* bytes of an element, of the first type in it; 0: it does not say */
};

struct kernel_traits kernel_traits_of(struct text name);

/* Of a string of the trace; `by_name` has one for every string, zeroed at first. */
static inline const struct kernel_traits *kernel_traits(const struct trace *trace, uint32_t name,
                                                        struct kernel_traits *by_name) {
    if (!by_name[name].read)
        by_name[name] = kernel_traits_of(trace_text(trace, name));
    return &by_name[name];
}

#endif
