// The macros of dialect.h in OpenCL C. Casts select the float overload of a function. A 16-bit
// float is only ever accessed through a pointer, so no extension is needed.

typedef long INT64;
typedef ulong UINT64;
typedef uint UINT32;
typedef ushort UINT16;
typedef uchar UCHAR;
typedef uint4 WORDS4;
typedef uint2 WORDS2;
#define GLOBAL __global
#define SHARED __local
#define IN_SHARED __local
#define PRIVATE
#define INLINE static inline
#define UNROLL _Pragma("unroll")
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GLOBAL_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define THREAD_X ((UINT32)get_local_id(0))
#define THREADS_X ((UINT32)get_local_size(0))
#define BLOCK_X ((UINT32)get_group_id(0))
#define BLOCK_Y ((UINT32)get_group_id(1))
#define BLOCK_Z ((UINT32)get_group_id(2))
#define GRID_X ((UINT32)get_num_groups(0))
#define GRID_Y ((UINT32)get_num_groups(1))
#define GRID_Z ((UINT32)get_num_groups(2))
#define SUBGROUP 1
#define MAKE_WORDS4(x, y, z, w) ((uint4)(x, y, z, w))
#define MAKE_WORDS2(x, y) ((uint2)(x, y))
#define AS_FLOAT(u) as_float((uint)(u))
#define AS_UINT(x) as_uint((float)(x))
#define MUL_HIGH(a, b) mul_hi((uint)(a), (uint)(b))
#define INFINITE INFINITY
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#ifndef FP_FAST_FMAF
#define FMA_IS_SLOW
#endif
#define EXP(x) exp((float)(x))
#define LOG(x) log((float)(x))
#define LOG1P(x) log1p((float)(x))
#define SIN(x) sin((float)(x))
#define COS(x) cos((float)(x))
#define TAN(x) tan((float)(x))
#define TANH(x) tanh_exact((float)(x))
#define ERF(x) erf((float)(x))
#define SQRT(x) sqrt((float)(x))
#define RSQRT(x) (1.0f / sqrt((float)(x)))
#define FLOOR(x) floor((float)(x))
#define CEIL(x) ceil((float)(x))
#define RINT(x) rint((float)(x))
#define ABS(x) fabs((float)(x))
#define POW(x, y) pow((float)(x), (float)(y))
INLINE int F2I(float x) { return x != x ? 0 : convert_int_sat_rtz(x); }
INLINE float f16_to_f32(UINT16 h) { return vload_half(0, (const half *)&h); }
// Some drivers return one ulp less than 1, and gelu multiplies the difference.
INLINE float tanh_exact(float x) {
    return fabs(x) > 9.1f ? copysign(1.0f, x) : tanh(x);
}
INLINE UINT16 f32_to_f16(float x) {
    UINT16 h;
    vstore_half_rte(x, 0, (half *)&h);
    return h;
}
#define PACK_HALVES_BY_PARTS
#define BF16_BY_BITS
#define MAX_BY_COMPARISON
