/* The text of the matrix units' words. */
#include "gen/source/mma.h"

static const char multiply_text[] =
    "#define TENSOR_OP \"mma.sync.aligned.m16n8k16.row.col.f32.\" TENSOR_TYPE \".\" TENSOR_TYPE "
    "\\\n"
    "    \".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, \"\n"
    "INLINE void tensor_multiply(float *sum, UINT32 a0, UINT32 a1, UINT32 a2, UINT32 a3,\n"
    "                            UINT32 b0, UINT32 b1) {\n"
    "    asm(TENSOR_OP \"{%0, %1, %2, %3};\"\n"
    "        : \"+f\"(sum[0]), \"+f\"(sum[1]), \"+f\"(sum[2]), \"+f\"(sum[3])\n"
    "        : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));\n"
    "}\n";

static const char load_text[] =
    "INLINE WORDS4 LOAD16_ONCE(const void *p) {\n"
    "    WORDS4 w;\n"
    "    asm volatile(\"ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\"\n"
    "        : \"=r\"(w.x), \"=r\"(w.y), \"=r\"(w.z), \"=r\"(w.w) : \"l\"(p));\n"
    "    return w;\n"
    "}\n"
    "INLINE WORDS2 LOAD8_ONCE(const void *p) {\n"
    "    WORDS2 w;\n"
    "    asm volatile(\"ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];\"\n"
    "        : \"=r\"(w.x), \"=r\"(w.y) : \"l\"(p));\n"
    "    return w;\n"
    "}\n"
    "INLINE UINT32 LOAD4_ONCE(const void *p) {\n"
    "    UINT32 w;\n"
    "    asm volatile(\"ld.global.nc.L1::no_allocate.u32 %0, [%1];\" : \"=r\"(w) : \"l\"(p));\n"
    "    return w;\n"
    "}\n";

void source_tensor_words(struct buffer *out, enum ridge_dtype type) {
    buffer_printf(out, "#define TENSOR_TYPE \"%s\"\n", type == RIDGE_BF16 ? "bf16" : "f16");
    buffer_string(out, multiply_text);
    buffer_string(out, load_text);
}
