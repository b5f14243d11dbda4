// Reads weights of quantized blocks, laid out as in gen/native/blocks.h.

// section: half
INLINE float weights_half(CONST_POINTER(UCHAR) p) {
    return U32_LO_F16(CAST(UINT32, LOAD_U8(p, 0)) | CAST(UINT32, LOAD_U8(p, 1)) << 8);
}

// section: q8_0
INLINE float LOAD_Q8_0(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 5) * 34);
    int quant = LOAD_U8(block, 2 + CAST(int, i & 31));
    return weights_half(block) * CAST(float, quant - ((quant & 128) << 1));
}

// section: q4_k
INLINE WORDS2 q4_k_scales(UINT32 first, UINT32 second, UINT32 third, UINT32 pair) {
    UINT32 shift = (pair & 1u) * 16u;
    first >>= shift, second >>= shift, third >>= shift;
    if (pair < 2u)
        return MAKE_WORDS2(first & 0x3f3fu, second & 0x3f3fu);
    return MAKE_WORDS2((third & 0x0f0fu) | ((first >> 2) & 0x3030u),
                       ((third >> 4) & 0x0f0fu) | ((second >> 2) & 0x3030u));
}
INLINE float LOAD_Q4_K(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 144);
    int part = CAST(int, i & 255) >> 5;
    int quant = (LOAD_U8(block, 16 + (part >> 1) * 32 + CAST(int, i & 31)) >> ((part & 1) * 4)) & 15;
    CONST_POINTER(UCHAR) packed = AT(block, 4);
    int low = part & 3;
    int first = LOAD_U8(packed, low), second = LOAD_U8(packed, 4 + low);
    int third = LOAD_U8(packed, 8 + low);
    int scale = part < 4 ? first & 63 : (third & 15) | ((first >> 6) << 4);
    int minimum = part < 4 ? second & 63 : (third >> 4) | ((second >> 6) << 4);
    float d = weights_half(block) * CAST(float, scale);
    return FMA(d, CAST(float, quant), -(weights_half(AT(block, 2)) * CAST(float, minimum)));
}

// section: packed
INLINE int weights_sign(int byte) { return byte - ((byte & 128) << 1); }
// The 6-bit scale (offset 0) or minimum (offset 4) of a sub-block of Q4_K and Q5_K.
INLINE int weights_six(CONST_POINTER(UCHAR) packed, int part, int offset) {
    int low = part & 3, first = LOAD_U8(packed, offset + low), third = LOAD_U8(packed, 8 + low);
    int late = offset == 0 ? third & 15 : third >> 4;
    return part < 4 ? first & 63 : late | ((first >> 6) << 4);
}

// section: q4_0
INLINE float LOAD_Q4_0(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 5) * 18);
    int at = CAST(int, i & 31), quants = LOAD_U8(block, 2 + (at & 15));
    return weights_half(block) * CAST(float, (at < 16 ? quants & 15 : quants >> 4) - 8);
}

// section: q4_1
INLINE float LOAD_Q4_1(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 5) * 20);
    int at = CAST(int, i & 31), quants = LOAD_U8(block, 4 + (at & 15));
    return weights_half(block) * CAST(float, at < 16 ? quants & 15 : quants >> 4) +
           weights_half(AT(block, 2));
}

// section: q5_0
INLINE float LOAD_Q5_0(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 5) * 22);
    int at = CAST(int, i & 31), quants = LOAD_U8(block, 6 + (at & 15));
    int high = (LOAD_U8(block, 2 + (at >> 3)) >> (at & 7)) & 1;
    return weights_half(block) *
           CAST(float, ((at < 16 ? quants & 15 : quants >> 4) | (high << 4)) - 16);
}

// section: q5_1
INLINE float LOAD_Q5_1(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 5) * 24);
    int at = CAST(int, i & 31), quants = LOAD_U8(block, 8 + (at & 15));
    int high = (LOAD_U8(block, 4 + (at >> 3)) >> (at & 7)) & 1;
    return weights_half(block) * CAST(float, (at < 16 ? quants & 15 : quants >> 4) | (high << 4)) +
           weights_half(AT(block, 2));
}

// section: q2_k
// 16 sub-blocks of 16: a byte has the scale and the minimum, 4 bits each.
INLINE float LOAD_Q2_K(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 84);
    int at = CAST(int, i & 255), scales = LOAD_U8(block, at >> 4);
    int quant = (LOAD_U8(block, 16 + (at >> 7) * 32 + (at & 31)) >> (((at >> 5) & 3) * 2)) & 3;
    return weights_half(AT(block, 80)) * CAST(float, scales & 15) * CAST(float, quant) -
           weights_half(AT(block, 82)) * CAST(float, scales >> 4);
}

// section: q3_k
// 16 sub-blocks of 16 with signed 6-bit scales; the third bit of the quants is in the first bytes.
INLINE float LOAD_Q3_K(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 110);
    int at = CAST(int, i & 255), part = at >> 4;
    int low = (LOAD_U8(block, 96 + (part & 7)) >> ((part >> 3) * 4)) & 15;
    int high = (LOAD_U8(block, 104 + (part & 3)) >> ((part >> 2) * 2)) & 3;
    int quant = (LOAD_U8(block, 32 + (at >> 7) * 32 + (at & 31)) >> (((at >> 5) & 3) * 2)) & 3;
    int third = (LOAD_U8(block, at & 31) >> (at >> 5)) & 1;
    return weights_half(AT(block, 108)) * CAST(float, (low | (high << 4)) - 32) *
           CAST(float, quant - (third != 0 ? 0 : 4));
}

// section: q5_k
INLINE float LOAD_Q5_K(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 176);
    int at = CAST(int, i & 255), part = at >> 5;
    int quant = (LOAD_U8(block, 48 + (part >> 1) * 32 + (at & 31)) >> ((part & 1) * 4)) & 15;
    int high = (LOAD_U8(block, 16 + (at & 31)) >> part) & 1;
    return weights_half(block) * CAST(float, weights_six(AT(block, 4), part, 0)) *
               CAST(float, quant | (high << 4)) -
           weights_half(AT(block, 2)) * CAST(float, weights_six(AT(block, 4), part, 4));
}

// section: q6_k
// 16 sub-blocks of 16 with signed 8-bit scales.
INLINE float LOAD_Q6_K(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 210);
    int at = CAST(int, i & 255), side = at >> 7, within = at & 127;
    int low = (LOAD_U8(block, side * 64 + (within & 63)) >> ((within >> 6) * 4)) & 15;
    int high = (LOAD_U8(block, 128 + side * 32 + (at & 31)) >> ((within >> 5) * 2)) & 3;
    return weights_half(AT(block, 208)) *
           CAST(float, weights_sign(LOAD_U8(block, 192 + (at >> 4)))) *
           CAST(float, (low | (high << 4)) - 32);
}

// section: iq4_xs
// 8 sub-blocks of 32 with signed 6-bit scales; 16 levels that are denser around zero, two to a
// 16-bit half of a word.
INLINE int iq4_level(int quant) {
    UINT32 packed = quant < 4 ? (quant < 2 ? 0x9881u : 0xbfadu)
                    : quant < 8 ? (quant < 6 ? 0xddcfu : 0xf6eau)
                    : quant < 12 ? (quant < 10 ? 0x0d01u : 0x2619u)
                                 : (quant < 14 ? 0x4535u : 0x7159u);
    return weights_sign(CAST(int, (packed >> ((quant & 1) * 8)) & 255u));
}
INLINE float LOAD_IQ4_XS(CONST_POINTER(UCHAR) p, INT64 i) {
    CONST_POINTER(UCHAR) block = AT(p, (i >> 8) * 136);
    int at = CAST(int, i & 255), part = at >> 5;
    int low = (LOAD_U8(block, 4 + (part >> 1)) >> ((part & 1) * 4)) & 15;
    int high = (LOAD_U8(block, 2 + (part >> 2)) >> ((part & 3) * 2)) & 3;
    int quants = LOAD_U8(block, 8 + part * 16 + (at & 15));
    int quant = (at & 31) < 16 ? quants & 15 : quants >> 4;
    return weights_half(block) * CAST(float, (low | (high << 4)) - 32) *
           CAST(float, iq4_level(quant));
}
