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
