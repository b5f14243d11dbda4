// Reads weights of quantized blocks, laid out as in gen/native/blocks.h.

// section: half
INLINE float weights_half(GLOBAL const UCHAR *p) {
    return U32_LO_F16((UINT32)p[0] | (UINT32)p[1] << 8);
}

// section: q8_0
INLINE float LOAD_Q8_0(GLOBAL const UCHAR *p, INT64 i) {
    GLOBAL const UCHAR *block = p + (i >> 5) * 34;
    int quant = block[2 + (int)(i & 31)];
    return weights_half(block) * (float)(quant - ((quant & 128) << 1));
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
INLINE float LOAD_Q4_K(GLOBAL const UCHAR *p, INT64 i) {
    GLOBAL const UCHAR *block = p + (i >> 8) * 144;
    int part = (int)(i & 255) >> 5;
    int quant = (block[16 + (part >> 1) * 32 + (int)(i & 31)] >> ((part & 1) * 4)) & 15;
    GLOBAL const UCHAR *packed = block + 4;
    int low = part & 3;
    int scale = part < 4 ? packed[low] & 63
                         : (packed[8 + low] & 15) | ((packed[low] >> 6) << 4);
    int minimum = part < 4 ? packed[4 + low] & 63
                           : (packed[8 + low] >> 4) | ((packed[4 + low] >> 6) << 4);
    float d = weights_half(block) * (float)scale;
    return FMA(d, (float)quant, -(weights_half(block + 2) * (float)minimum));
}
