// The macros of dialect.h in Metal, which has no erf and no log1p.

#include <metal_stdlib>
using namespace metal;
typedef long INT64;
typedef ulong UINT64;
typedef uint UINT32;
typedef ushort UINT16;
typedef uchar UCHAR;
typedef uint4 WORDS4;
typedef uint2 WORDS2;
#define GLOBAL device
#define SHARED threadgroup
#define IN_SHARED threadgroup
#define PRIVATE thread
#define INLINE static inline
#define UNROLL _Pragma("unroll")
#define BARRIER() threadgroup_barrier(mem_flags::mem_threadgroup)
#define GLOBAL_BARRIER() \
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
#define THREAD_X thread_position.x
#define THREADS_X thread_count.x
#define BLOCK_X block_position.x
#define BLOCK_Y block_position.y
#define BLOCK_Z block_position.z
#define GRID_X block_count.x
#define GRID_Y block_count.y
#define GRID_Z block_count.z
#define SUBGROUP 32
#define SHUFFLE_XOR(x, mask) simd_shuffle_xor(x, (ushort)(mask))
#define MAKE_WORDS4(x, y, z, w) uint4(x, y, z, w)
#define MAKE_WORDS2(x, y) uint2(x, y)
#define AS_FLOAT(u) as_type<float>((uint)(u))
#define AS_UINT(x) as_type<uint>((float)(x))
#define MUL_HIGH(a, b) mulhi((uint)(a), (uint)(b))
#define INFINITE INFINITY
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define EXP(x) precise::exp((float)(x))
#define LOG(x) precise::log((float)(x))
#define SIN(x) precise::sin((float)(x))
#define COS(x) precise::cos((float)(x))
#define TAN(x) precise::tan((float)(x))
#define TANH(x) precise::tanh((float)(x))
#define SQRT(x) precise::sqrt((float)(x))
#define RSQRT(x) precise::rsqrt((float)(x))
#define FLOOR(x) floor((float)(x))
#define CEIL(x) ceil((float)(x))
#define RINT(x) rint((float)(x))
#define ABS(x) fabs((float)(x))
#define POW(x, y) precise::pow((float)(x), (float)(y))
INLINE float LOG1P(float x) {
    float u = 1.0f + x;
    return u == 1.0f || u == INFINITE ? x : LOG(u) * (x / (u - 1.0f));
}
/* All terms have one sign, so nothing cancels: 2 x / sqrt(pi) exp(-x x) sum (2 x x)^n / (2n+1)!! */
INLINE float ERF(float x) {
    float square = x * x, term = 1.0f, sum = 1.0f;
    if (!(square < 16.0f))
        return x != x ? x : x > 0.0f ? 1.0f : -1.0f;
    for (int n = 1; n < 60 && term > sum * 1e-8f; n++) {
        term *= 2.0f * square / (2.0f * n + 1.0f);
        sum += term;
    }
    return 1.12837916709551257f * x * EXP(-square) * sum;
}
INLINE int F2I(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 0x7fffffff : x < -2147483648.0f ? -0x7fffffff - 1 : (int)x;
}
INLINE float f16_to_f32(UINT16 h) { return (float)as_type<half>(h); }
INLINE UINT16 f32_to_f16(float x) { return as_type<ushort>((half)x); }
#define PACK_HALVES_BY_PARTS
#define BF16_BY_BITS
#define MAX_BY_COMPARISON
