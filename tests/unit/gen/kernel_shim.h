/* The macros of gen/emit/dialect.h in C, so that a C compiler checks kernels: the prelude of a
 * language that nothing runs. A block is one thread after another. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int64_t INT64;
typedef uint64_t UINT64;
typedef uint32_t UINT32;
typedef uint16_t UINT16;
typedef unsigned char UCHAR;
typedef struct {
    UINT32 x, y, z, w;
} WORDS4, uint4;
typedef struct {
    UINT32 x, y;
} WORDS2;
static struct { UINT32 x, y, z; } thread_at, threads_in, block_at, blocks_in;
#define __kernel
#define reqd_work_group_size(...)
#define __global
#define __local
#define __global__
#define __restrict__ restrict
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__
#define GLOBAL
#define SHARED
#define IN_SHARED
#define PRIVATE
#define INLINE static inline __attribute__((unused))
#define UNROLL
#ifndef SHIM_RUNS
#define BARRIER() __asm__ volatile("" ::: "memory")
#endif
#define GLOBAL_BARRIER() BARRIER()
#define THREAD_X thread_at.x
#define THREADS_X threads_in.x
#define BLOCK_X block_at.x
#define BLOCK_Y block_at.y
#define BLOCK_Z block_at.z
#define GRID_X blocks_in.x
#define GRID_Y blocks_in.y
#define GRID_Z blocks_in.z
#define MAKE_WORDS4(x, y, z, w) ((WORDS4){(x), (y), (z), (w)})
#define MAKE_WORDS2(x, y) ((WORDS2){(x), (y)})
INLINE float AS_FLOAT(UINT32 u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
INLINE UINT32 AS_UINT(float x) {
    UINT32 u;
    memcpy(&u, &x, 4);
    return u;
}
#define MUL_HIGH(a, b) ((UINT32)((UINT64)(a) * (b) >> 32))
#define INFINITE INFINITY
#define FMA(a, b, c) fmaf(a, b, c)
#define EXP(x) expf(x)
#define LOG(x) logf(x)
#define LOG1P(x) log1pf(x)
#define SIN(x) sinf(x)
#define COS(x) cosf(x)
#define TAN(x) tanf(x)
#define TANH(x) tanhf(x)
#define ERF(x) erff(x)
#define SQRT(x) sqrtf(x)
#define RSQRT(x) (1.0f / sqrtf(x))
#define FLOOR(x) floorf(x)
#define CEIL(x) ceilf(x)
#define RINT(x) rintf(x)
#define ABS(x) fabsf(x)
#define POW(x, y) powf(x, y)
#define F2I(x) ((int)(x))
#ifdef SHIM_RUNS
INLINE float f16_to_f32(UINT16 h) {
    _Float16 x;
    memcpy(&x, &h, 2);
    return (float)x;
}
INLINE UINT16 f32_to_f16(float x) {
    _Float16 y = (_Float16)x;
    UINT16 h;
    memcpy(&h, &y, 2);
    return h;
}
#else
INLINE float f16_to_f32(UINT16 h) {
    return (float)h;
}
INLINE UINT16 f32_to_f16(float x) {
    return (UINT16)x;
}
#endif
#define PACK_HALVES_BY_PARTS
#define BF16_BY_BITS
#define MAX_BY_COMPARISON
#ifdef SHIM_RUNS
#define SUBGROUP 32
#include "warp_shim.h"
#elif defined SHIM_OF_CUDA
#define SUBGROUP 32
#define SHUFFLE_XOR(x, mask) (x)
UINT32 __byte_perm(UINT32 low, UINT32 high, UINT32 selector);
UINT64 __cvta_generic_to_shared(const void *p);
/* PTX is not this machine's assembler. */
#define asm(...) __asm__("")
#define volatile(...) ("")
#else
#define SUBGROUP 1
#endif
