/* The chains of processors other than x86-64: Arm's NEON and its later extensions, and for anything
 * else the compiler's own vectors.
 *
 * The extensions are written as assembly: compilers offer them as functions only in files that are
 * built for them as a whole, and these must be chosen at run time. Cores have up to four vector
 * pipes and a latency of four: 24 accumulators.
 */
#include "base/array.h"
#include "bench/roofs/native_chains.h"

#if !defined(__x86_64__)
#include <string.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* Older ones of LLVM's assembler do not know the extensions by name. */
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)
#define HAVE_EXTENSIONS 1
#endif

enum { ACCUMULATORS = 24 };
#define FIRST_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SECOND_EIGHT(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define THIRD_EIGHT(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
#define TWENTY_FOUR(X) FIRST_EIGHT(X) SECOND_EIGHT(X) THIRD_EIGHT(X)

typedef uint32_t bits __attribute__((vector_size(16)));

/* 16 bytes of the state, with some bits taken away and others set. */
static bits masked(const char *state, unsigned place, uint32_t keep, uint32_t set) {
    bits value;
    memcpy(&value, state + place * sizeof value, sizeof value);
    return (value & keep) | set;
}

#define DECLARE(i) bits a##i = masked(state, i, keep, set);
#define FINISH(i) memcpy((char *)state + i * sizeof a##i, &a##i, sizeof a##i);

/* `keep` and `set` make numbers of the size of 1 of random bits. STEP adds a product and BACK takes
 * it away where the sum would grow beyond the type. */
#define CHAIN(name, keep_bits, set_bits, STEP, BACK)                                               \
    static void name(size_t rounds, void *state) {                                                 \
        const uint32_t keep = keep_bits, set = set_bits;                                           \
        const bits m = masked(state, ACCUMULATORS, keep, set),                                     \
                   c = masked(state, ACCUMULATORS + 1, keep, set);                                 \
        TWENTY_FOUR(DECLARE)                                                                       \
        for (size_t i = 0; i < rounds; i++) {                                                      \
            TWENTY_FOUR(STEP)                                                                      \
            TWENTY_FOUR(BACK)                                                                      \
        }                                                                                          \
        TWENTY_FOUR(FINISH)                                                                        \
    }

static bool always(void) {
    return true;
}

#if defined(__aarch64__)
#define ASSEMBLY(instruction, operands, i)                                                         \
    __asm__(instruction " %0." operands : "+w"(a##i) : "w"(m), "w"(c));
#define STEP_F32(i) ASSEMBLY("fmla", "4s, %1.4s, %2.4s", i)
#define BACK_F32(i) ASSEMBLY("fmls", "4s, %1.4s, %2.4s", i)
#else
typedef float floats __attribute__((vector_size(16)));
#define STEP_F32(i) a##i = (bits)((floats)a##i + (floats)m * (floats)c);
#define BACK_F32(i) a##i = (bits)((floats)a##i - (floats)m * (floats)a##i);
#endif
CHAIN(f32_vectors, 0x007fffff, 0x3f000000, STEP_F32, BACK_F32)

#ifdef HAVE_EXTENSIONS
#define EXTENSION(instruction, operands, i)                                                        \
    ASSEMBLY(".arch armv8.6-a+fp16\n\t" instruction, operands, i)
#define STEP_F16(i) EXTENSION("fmla", "8h, %1.8h, %2.8h", i)
#define BACK_F16(i) EXTENSION("fmls", "8h, %1.8h, %2.8h", i)
#define STEP_BF16(i) EXTENSION("bfdot", "4s, %1.8h, %2.8h", i)
#define STEP_INT8(i) EXTENSION("sdot", "4s, %1.16b, %2.16b", i)
#define STEP_MATRIX_BF16(i) EXTENSION("bfmmla", "4s, %1.8h, %2.8h", i)
#define STEP_MATRIX_INT8(i) EXTENSION("smmla", "4s, %1.16b, %2.16b", i)
CHAIN(f16_neon, 0x03ff03ff, 0x38003800, STEP_F16, BACK_F16)
CHAIN(bf16_neon, 0x807f807f, 0x3f003f00, STEP_BF16, STEP_BF16)
CHAIN(int8_neon, 0xffffffff, 0, STEP_INT8, STEP_INT8)
CHAIN(matrix_bf16_neon, 0x807f807f, 0x3f003f00, STEP_MATRIX_BF16, STEP_MATRIX_BF16)
CHAIN(matrix_int8_neon, 0xffffffff, 0, STEP_MATRIX_INT8, STEP_MATRIX_INT8)

/* As Linux numbers a capability (bits from 64 on are those of its second word), or as macOS names
 * it. */
static bool capability(unsigned bit, const char *name) {
#if defined(__linux__)
    (void)name;
    return getauxval(bit < 64 ? AT_HWCAP : AT_HWCAP2) >> bit % 64 & 1;
#elif defined(__APPLE__)
    int value = 0;
    size_t size = sizeof value;
    (void)bit;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
#else
    return (void)bit, (void)name, false;
#endif
}
static bool has_f16(void) {
    return capability(10, "hw.optional.arm.FEAT_FP16");
}
static bool has_dot_products(void) {
    return capability(20, "hw.optional.arm.FEAT_DotProd");
}
static bool has_bf16(void) {
    return capability(64 + 14, "hw.optional.arm.FEAT_BF16");
}
static bool has_byte_matrices(void) {
    return capability(64 + 13, "hw.optional.arm.FEAT_I8MM");
}
#endif

/* 24 vectors, two steps each, of this many multiply-adds. */
#define OPERATIONS(elements) (ACCUMULATORS * 2 * 2.0 * (elements))
static const struct native_chain chains[] = {
    {ROOF_F32, f32_vectors, OPERATIONS(4), always, "multiply-adds of 16-byte vectors"},
#ifdef HAVE_EXTENSIONS
    {ROOF_F16, f16_neon, OPERATIONS(8), has_f16, "FP16 multiply-adds"},
    {ROOF_BF16, bf16_neon, OPERATIONS(8), has_bf16, "BF16 dot products"},
    {ROOF_INT8, int8_neon, OPERATIONS(16), has_dot_products, "dot products of bytes"},
    {ROOF_MATRIX_BF16, matrix_bf16_neon, OPERATIONS(16), has_bf16, "BFMMLA"},
    {ROOF_MATRIX_INT8, matrix_int8_neon, OPERATIONS(32), has_byte_matrices, "SMMLA"},
#endif
};

const struct native_chain *native_chains(unsigned *count) {
    *count = ARRAY_COUNT(chains);
    return chains;
}

const char *native_chain_absent(enum roof_id roof) {
    switch (roof) {
    case ROOF_F16:
        return "needs FEAT_FP16; f16 is computed as f32";
    case ROOF_BF16:
        return "needs FEAT_BF16; bf16 is computed as f32";
    case ROOF_INT8:
        return "needs FEAT_DotProd";
    case ROOF_MATRIX_BF16:
        return "needs FEAT_BF16";
    case ROOF_MATRIX_INT8:
        return "needs FEAT_I8MM";
    default:
        return "the processor has none";
    }
}
#endif
