/* The text that reads quantised weights. */
#include "gen/source/weights.h"

/* clang-format off */
static const char half_text[] =
    "INLINE float weights_half(GLOBAL const UCHAR *p) {\n"
    "    return U32_LO_F16((UINT32)p[0] | (UINT32)p[1] << 8);\n"
    "}\n";

static const char q8_0_text[] =
    "INLINE float LOAD_Q8_0(GLOBAL const UCHAR *p, INT64 i) {\n"
    "    GLOBAL const UCHAR *block = p + (i >> 5) * 34;\n"
    "    int quant = block[2 + (int)(i & 31)];\n"
    "    return weights_half(block) * (float)(quant - ((quant & 128) << 1));\n"
    "}\n";

static const char q4_k_text[] =
    "INLINE WORDS2 q4_k_scales(UINT32 first, UINT32 second, UINT32 third, UINT32 pair) {\n"
    "    UINT32 shift = (pair & 1u) * 16u;\n"
    "    first >>= shift, second >>= shift, third >>= shift;\n"
    "    if (pair < 2u)\n"
    "        return MAKE_WORDS2(first & 0x3f3fu, second & 0x3f3fu);\n"
    "    return MAKE_WORDS2((third & 0x0f0fu) | ((first >> 2) & 0x3030u),\n"
    "                       ((third >> 4) & 0x0f0fu) | ((second >> 2) & 0x3030u));\n"
    "}\n"
    "INLINE float LOAD_Q4_K(GLOBAL const UCHAR *p, INT64 i) {\n"
    "    GLOBAL const UCHAR *block = p + (i >> 8) * 144;\n"
    "    int part = (int)(i & 255) >> 5;\n"
    "    int quant = (block[16 + (part >> 1) * 32 + (int)(i & 31)] >> ((part & 1) * 4)) & 15;\n"
    "    GLOBAL const UCHAR *packed = block + 4;\n"
    "    int low = part & 3;\n"
    "    int scale = part < 4 ? packed[low] & 63\n"
    "                         : (packed[8 + low] & 15) | ((packed[low] >> 6) << 4);\n"
    "    int minimum = part < 4 ? packed[4 + low] & 63\n"
    "                           : (packed[8 + low] >> 4) | ((packed[4 + low] >> 6) << 4);\n"
    "    float d = weights_half(block) * (float)scale;\n"
    "    return FMA(d, (float)quant, -(weights_half(block + 2) * (float)minimum));\n"
    "}\n";
/* clang-format on */

void source_weights(struct buffer *out, enum ridge_dtype type) {
    buffer_string(out, half_text);
    buffer_string(out, type == RIDGE_Q8_0 ? q8_0_text : q4_k_text);
}
