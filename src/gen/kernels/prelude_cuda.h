// The macros of dialect.h in CUDA C++. NVRTC finds no headers, so PTX instructions convert halves.

#pragma nv_diag_suppress 177
typedef long long INT64;
typedef unsigned long long UINT64;
typedef unsigned int UINT32;
typedef unsigned short UINT16;
typedef unsigned char UCHAR;
typedef uint4 WORDS4;
typedef uint2 WORDS2;
#define GLOBAL
#define SHARED __shared__
#define IN_SHARED
#define PRIVATE
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define BARRIER() __syncthreads()
#define GLOBAL_BARRIER() __syncthreads()
#define THREAD_X threadIdx.x
#define THREADS_X blockDim.x
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_Z blockIdx.z
#define GRID_X gridDim.x
#define GRID_Y gridDim.y
#define GRID_Z gridDim.z
#define SUBGROUP 32
#define SHUFFLE_XOR(x, mask) __shfl_xor_sync(0xffffffffu, x, mask)
#define MAKE_WORDS4(x, y, z, w) make_uint4(x, y, z, w)
#define MAKE_WORDS2(x, y) make_uint2(x, y)
#define AS_FLOAT(u) __uint_as_float(u)
#define AS_UINT(x) __float_as_uint(x)
#define MUL_HIGH(a, b) __umulhi(a, b)
#define INFINITE __int_as_float(0x7f800000)
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
#define RSQRT(x) rsqrtf(x)
#define FLOOR(x) floorf(x)
#define CEIL(x) ceilf(x)
#define RINT(x) rintf(x)
#define ABS(x) fabsf(x)
#define POW(x, y) powf(x, y)
#define F2I(x) __float2int_rz(x)
INLINE float f16_to_f32(UINT16 h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
#if __CUDA_ARCH__ >= 800
INLINE UINT32 PACK_F16(float lo, float hi) {
    UINT32 u;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(hi), "f"(lo));
    return u;
}
INLINE UINT32 PACK_BF16(float lo, float hi) {
    UINT32 u;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(hi), "f"(lo));
    return u;
}
INLINE UINT16 f32_to_bf16(float x) { return (UINT16)PACK_BF16(x, x); }
// Not by cvt.rn.f16.f32: ptxas 13 stores a byte of its result as the number converted to 8 bits.
INLINE UINT16 f32_to_f16(float x) { return (UINT16)PACK_F16(x, x); }
INLINE float MAX_NAN(float a, float b) {
    float x;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
    return x;
}
INLINE float MIN_NAN(float a, float b) {
    float x;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
    return x;
}
#else
INLINE UINT16 f32_to_f16(float x) {
    UINT16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#define PACK_HALVES_BY_PARTS
#define BF16_BY_BITS
#define MAX_BY_COMPARISON
#endif
