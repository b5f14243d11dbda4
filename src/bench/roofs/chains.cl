// Chains of multiply-adds: eight accumulators in each thread. Numbers stay of the size of 1: a * M + C
// tends to C / (1 - M). Both come from a launch argument that is 0, so that no compiler can combine
// several steps. CUDA's halves are PTX instructions, as NVRTC has no headers. OpenCL's vectors are for
// drivers that run a work item as a CPU thread; a GPU may be faster with single floats, so both are
// tried.
//
// A chain's section has AVAILABLE where the compiler's macros show that the device has the
// instruction: some drivers print errors when a source does not compile.

// section: macros
// Random bits as a float in [0.5, 1). Lanes of a vector differ, or a compiler would compute one for
// all, and all are used in the end, or it would remove some.
#define FLOAT_START(seed) AS_FLOAT((seed & 0x7fffffu) | 0x3f000000u)
#define LANES (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define ALL_LANES(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3 + (v).s4 + (v).s5 + (v).s6 + (v).s7 + \
                      (v).s8 + (v).s9 + (v).sa + (v).sb + (v).sc + (v).sd + (v).se + (v).sf)
#define FACTORS_F32 float M = AS_FLOAT(0x3f7fbe77u ^ zero), C = AS_FLOAT(0x3a83126fu ^ zero)
#define EACH(DO) DO(a0) DO(a1) DO(a2) DO(a3) DO(a4) DO(a5) DO(a6) DO(a7)
#define BEGIN(A) seed = seed * 1664525u + 1013904223u; CHAIN A = START(seed);
#define ADD_BITS(A) sum ^= BITS(A);
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

// section: f32
#define AVAILABLE
#define CHAIN float
#define START(seed) FLOAT_START(seed)
#define FACTORS FACTORS_F32
#define STEP(A) A = FMA(A, M, C);
#define BITS(A) AS_UINT(A)

// section: cuda_f16
#if __CUDA_ARCH__ >= 530
#define AVAILABLE
#endif
#define CHAIN UINT32
#define START(seed) ((seed & 0x03ff03ffu) | 0x38003800u)
#define FACTORS UINT32 M = 0x3bf03bf0u ^ zero, C = 0x20182018u ^ zero
#define STEP(A) asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(A) : "r"(M), "r"(C));
#define BITS(A) A

// section: cuda_bf16
#if __CUDA_ARCH__ >= 800
#define AVAILABLE
#endif
#define CHAIN UINT32
#define START(seed) ((seed & 0x007f007fu) | 0x3f003f00u)
#define FACTORS UINT32 M = 0x3f7e3f7eu ^ zero, C = 0x3c003c00u ^ zero
#define STEP(A) asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(A) : "r"(M), "r"(C));
#define BITS(A) A

// section: cuda_int8
#if __CUDA_ARCH__ >= 610
#define AVAILABLE
#endif
#define CHAIN int
#define START(seed) (int)seed
#define FACTORS int M = (int)(0x5be29d37u ^ zero)
#define STEP(A) asm("dp4a.s32.s32 %0, %0, %1, %0;" : "+r"(A) : "r"(M));
#define BITS(A) (UINT32)A

// section: opencl_f32x16
#define AVAILABLE
#define CHAIN float16
#define START(seed) ((float16)LANES * 0.03f + (float16)(FLOAT_START(seed)))
#define FACTORS FACTORS_F32
#define STEP(A) A = fma(A, (float16)(M), (float16)(C));
#define BITS(A) AS_UINT(ALL_LANES(A))

// section: opencl_f16x2
#ifdef cl_khr_fp16
#define AVAILABLE
#endif
#define CHAIN half2
#define START(seed) ((half2)(0, 0.1h) + (half2)((half)(FLOAT_START(seed))))
#define FACTORS half2 M = (half2)(0.99h - (half)zero), C = (half2)(0.01h + (half)zero)
#define STEP(A) A = fma(A, M, C);
#define BITS(A) AS_UINT((float)(A.x + A.y))

// section: opencl_f16x16
#ifdef cl_khr_fp16
#define AVAILABLE
#endif
#define CHAIN half16
#define START(seed) ((half16)LANES * 0.03h + (half16)((half)(FLOAT_START(seed))))
#define FACTORS half16 M = (half16)(0.99h - (half)zero), C = (half16)(0.01h + (half)zero)
#define STEP(A) A = fma(A, M, C);
#define BITS(A) AS_UINT((float)(ALL_LANES(A)))

// section: opencl_dot
#ifdef __opencl_c_integer_dot_product_input_4x8bit_packed
#define AVAILABLE
#endif
#define CHAIN int
#define START(seed) (int)seed
#define FACTORS uint M = 0x5be29d37u ^ zero
#define STEP(A) A += dot_4x8packed_ss_int((uint)A, M);
#define BITS(A) (UINT32)A

// section: opencl_char16
#define AVAILABLE
#define CHAIN char16
#define START(seed) ((char16)LANES + (char16)((char)seed))
#define FACTORS char16 M = (char16)((char)(77 ^ zero)), C = (char16)((char)(29 ^ zero))
#define STEP(A) A = A * M + C;
#define BITS(A) (UINT32)(ALL_LANES(A))

// section: opencl_mad24
#define AVAILABLE
#define CHAIN int
#define START(seed) (int)seed
#define FACTORS int M = (int)(77 ^ zero), C = (int)(29 ^ zero)
#define STEP(A) A = mad24(A, M, C) & 0x7f;
#define BITS(A) (UINT32)A

// section: metal_f16
#define AVAILABLE
#define CHAIN half2
#define START(seed) half2((half)FLOAT_START(seed), (half)(0.9f * FLOAT_START(seed)))
#define FACTORS half2 M = half2((half)(0.99f - (float)zero)), C = half2((half)(0.01f + (float)zero))
#define STEP(A) A = fma(A, M, C);
#define BITS(A) AS_UINT((float)A.x + (float)A.y)

// section: metal_bf16
#if HAS_BFLOAT
#define AVAILABLE
#endif
#define CHAIN bfloat2
#define START(seed) bfloat2((bfloat)FLOAT_START(seed), (bfloat)(0.9f * FLOAT_START(seed)))
#define FACTORS bfloat2 M = bfloat2((bfloat)(0.99f - (float)zero)), \
                        C = bfloat2((bfloat)(0.01f + (float)zero))
#define STEP(A) A = A * M + C;
#define BITS(A) AS_UINT((float)A.x + (float)A.y)

// section: metal_matrix_f32
#define ELEMENT float

// section: metal_matrix_f16
#define ELEMENT half

// section: metal_matrix_bf16
#define ELEMENT bfloat
#define NEEDS_BFLOAT

// section: metal_matrix
#if HAS_MATRICES && (HAS_BFLOAT || !defined(NEEDS_BFLOAT))
#define AVAILABLE
#define CHAIN simdgroup_float8x8
#define START(seed) chain_start(seed)
#define FACTOR(x) make_filled_simdgroup_matrix<ELEMENT, 8, 8>((ELEMENT)((x) + (float)zero))
#define FACTORS simdgroup_matrix<ELEMENT, 8, 8> M = FACTOR(0.01f), C = FACTOR(0.02f)
#define STEP(A) simdgroup_multiply_accumulate(A, M, C, A);
#define BITS(A) AS_UINT(A.thread_elements()[0])
INLINE simdgroup_float8x8 chain_start(UINT32 seed) {
    simdgroup_float8x8 start = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
    start.thread_elements()[0] = FLOAT_START(seed);
    return start;
}
#endif

// section: begin
#ifdef AVAILABLE
UINT32 seed = (BLOCK_X * 1024u + THREAD_X) * 2654435761u;
const UINT32 rounds = CAST(UINT32, scalars.v[0]), zero = CAST(UINT32, scalars.v[0] >> 32);
FACTORS;
EACH(BEGIN)
for (UINT32 round = 0; round < rounds; round++) {

// section: steps
EACH(STEP)

// section: end
}
UINT32 sum = 0;
EACH(ADD_BITS)
// True so rarely that the store costs nothing, but no compiler can prove that it never is.
if (sum == 0x5bd1e995u)
    STORE_I32(result, 0, CAST(int, sum));
#else
STORE_I32(result, 0, ABSENT);
#endif
