/* Portable kernels as functions of the CPU: the macros of the dialect in C, and the files of
 * gen/kernels once for each type. A row's threads are one. */
#include "gen/native/portable.h"

#include "base/min_max.h"
#include "gen/native/simd/dialect.h"
#include "gen/random.h"

#define SHARED
#define THREADS 1
#define THREADS_X 1u
#define THREAD_X 0u
#define BARRIER() ((void)0)
#define GLOBAL_BARRIER() ((void)0)
#define BLOCK_SUM(x, n) (x)
#define BLOCK_MAX(x, n) (x)
#define GROUP_ARGMAX(v, i, width, n) (i)
#define FOR_EACH(e, count)                                                                         \
    for (size_t begin, end; native_take(call, 1, &begin, &end);)                                   \
        for (INT64 e = (INT64)begin * PORTABLE_UNIT,                                               \
                   last = MIN(e + PORTABLE_UNIT, (INT64)(count));                                  \
             e < last; e++)
#define FOR_EACH_ROW(row, rows)                                                                    \
    for (size_t begin, end; native_take(call, 1, &begin, &end);)                                   \
        for (INT64 row = (INT64)begin; row < (INT64)end && row < (INT64)(rows); row++)
/* The function that a file's body ends. */
#define BEGIN(name)                                                                                \
    static void name(const struct native_call *call) {                                             \
        const struct { const int64_t *v; } scalars = {call->scalars};
#define BUFFER(T, name, n) T *name = call->buffers[n];
#define NAMED(name) NAMED_(name, SUFFIX)
#define NAMED_(name, suffix) NAMED__(name, suffix)
#define NAMED__(name, suffix) name##_##suffix

/* clang-format off */
#define SUFFIX f32
#define TYPE float
#define VALUE float
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, x) ((p)[i] = (x))
#include "gen/native/simd/portable_types.h"

#define SUFFIX f16
#define TYPE uint16_t
#define VALUE float
#define LOAD(p, i) f32_from_f16((p)[i])
#define STORE(p, i, x) ((p)[i] = f16_from_f32(x))
#include "gen/native/simd/portable_types.h"

#define SUFFIX bf16
#define TYPE uint16_t
#define VALUE float
#define LOAD(p, i) load_bf16((p)[i])
#define STORE(p, i, x) ((p)[i] = store_bf16(x))
#include "gen/native/simd/portable_types.h"

#define WHOLE
#define SUFFIX i32
#define TYPE int32_t
#define VALUE int32_t
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, x) ((p)[i] = (x))
#include "gen/native/simd/portable_types.h"

#define SUFFIX u8
#define TYPE uint8_t
#define SUM_TYPE int32_t
#define VALUE int32_t
#define LOAD(p, i) ((int32_t)(p)[i])
#define STORE(p, i, x) ((p)[i] = (uint8_t)(x))
#define STORE_SUM(p, i, x) ((p)[i] = (x))
#include "gen/native/simd/portable_types.h"
/* clang-format on */

#define OF_TYPE(name, type)                                                                        \
    ((native_function *const[]){name##_f32, name##_f16, name##_bf16, name##_i32, name##_u8}[type])
#define OF_FLOAT(name, type) ((native_function *const[]){name##_f32, name##_f16, name##_bf16}[type])

native_function *SIMD_NAME(portable_kernel)(enum op op, enum ridge_dtype type, bool descending) {
    if (type > RIDGE_U8 || (op == OP_SAMPLE && type > RIDGE_BF16))
        return NULL;
    switch (op) {
    case OP_UPDATE:
        return OF_TYPE(update, type);
    case OP_GATHER:
        return OF_TYPE(gather, type);
    case OP_SCATTER_ADD:
        return OF_TYPE(scatter_add, type);
    case OP_ARGSORT:
        return descending ? OF_TYPE(argsort_down, type) : OF_TYPE(argsort_up, type);
    case OP_CUMSUM:
        return OF_TYPE(cumsum, type);
    case OP_SAMPLE:
        return OF_FLOAT(sample, type);
    case OP_UNFOLD:
        return OF_TYPE(unfold, type);
    case OP_FOLD:
        return OF_TYPE(fold, type);
    default:
        return NULL;
    }
}
