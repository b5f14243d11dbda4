/* Macros for kernels with operands of one type. */
#ifndef RIDGE_GEN_EMIT_ELEMENTS_H
#define RIDGE_GEN_EMIT_ELEMENTS_H

#include "gen/dtype.h"
#include "gen/kernel.h"
#include "gen/emit/dialect.h"

/* The prelude for a hand-written kernel: with UNROLL only on a GPU. Elsewhere it makes
 * compilation several times slower and the kernel no faster. */
void source_device_prelude(struct buffer *out, const struct device_capabilities *device);

/* Defines TYPE, LOAD(p, i), STORE(p, i, x) and, for those that are not quantized, LOAD_1, LOAD_2,
 * LOAD_4 and LOAD_8(p, x) of the type. A quantized type has only TYPE and LOAD. */
void source_element_macros(struct buffer *out, enum ridge_dtype type);

/* "#define NAME value". */
void source_define(struct buffer *out, const char *name, long value);

/* The type's name as in LOAD_F32. */
const char *source_type_name(enum ridge_dtype type);

static inline bool source_is_float(enum ridge_dtype type) {
    return type == RIDGE_F32 || type == RIDGE_F16 || type == RIDGE_BF16;
}
static inline bool source_is_quantized(enum ridge_dtype type) {
    return dtype_is_quantized(type);
}

/* Blocks of `threads` threads along x, at least one, at most the launch limit. Kernels use
 * grid-stride loops, so fewer blocks than units of work are enough. */
void source_geometry(struct kernel_request *request, double blocks, unsigned threads);

static inline int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

#endif
