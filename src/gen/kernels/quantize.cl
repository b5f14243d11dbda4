// Weights to Q8_0 or Q4_K blocks; gen/emit/quantize.c describes the method.

// section: q8_0
INT64 stride = CAST(INT64, GRID_X) * THREADS_X;
for (INT64 block = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; block < scalars.v[0];
     block += stride) {
    CONST_POINTER(TYPE) from = AT(x, block * 32);
    POINTER(UCHAR) to = AT(result, block * 34);
    float magnitude = 0.0f;
    for (int i = 0; i < 32; i++) {
        float value = ABS(LOAD(from, i));
        magnitude = value > magnitude ? value : magnitude;
    }
    float scale = magnitude / 127.0f < 65504.0f ? magnitude / 127.0f : 65504.0f;
    float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    ELEMENT(POINTER_CAST(UINT16, to), 0) = CAST(UINT16, f32_to_f16(scale));
    for (int i = 0; i < 32; i++) {
        float value = LOAD(from, i), quant = ABS(value) * inverse;
        quant = 127.0f < quant ? 127.0f : quant;
        int whole = CAST(int, quant > 0.0f ? quant : 0.0f);
        whole += quant - CAST(float, whole) >= 0.5f ? 1 : 0;
        STORE_U8(to, 2 + i, value < 0.0f ? -whole : whole);
    }
}
}

// section: q4_k_macros
INLINE float nearest_quant(float x) {
    x = x > 0.0f ? x : 0.0f;
    return RINT(x < 15.0f ? x : 15.0f);
}
INLINE UINT32 multiple_of(float value, float unit) {
    float multiple = unit > 0.0f ? RINT(value / unit) : 0.0f;
    return multiple > 0.0f ? CAST(UINT32, multiple < 63.0f ? multiple : 63.0f) : 0u;
}
INLINE UINT32 unit_of(float greatest) {
    return f32_to_f16(greatest / 63.0f < 65504.0f ? greatest / 63.0f : 65504.0f);
}

// section: q4_k_shared
SHARED float part[8][33];
SHARED float errors[8][16], scales[8][16], offsets[8][16];
SHARED float best_scale[8], best_offset[8];
SHARED UINT32 quants[256];
SHARED UINT32 multiples[16];

// section: q4_k_fit
int self = CAST(int, THREAD_X), p = self / 16, way = self % 16;
for (INT64 block = BLOCK_X; block < scalars.v[0]; block += GRID_X) {
    for (int i = self; i < 256; i += 128)
        part[i / 32][i % 32] = LOAD(x, block * 256 + i);
    BARRIER();
    float low = 0.0f, high = part[p][0], squares = 0.0f;
    for (int i = 0; i < 32; i++) {
        float value = part[p][i];
        low = value < low ? value : low;
        high = value > high ? value : high;
        squares += value * value;
    }
    float rms = SQRT(squares / 32.0f), inverse = (14.0f + CAST(float, way) / 8.0f) / (high - low);
    float sum_w = 0.0f, sum_wx = 0.0f, wq = 0.0f, wqq = 0.0f, wxq = 0.0f;
    for (int i = 0; i < 32; i++) {
        float value = part[p][i], w = rms + ABS(value);
        float q = nearest_quant((value - low) * inverse);
        sum_w += w;
        sum_wx += w * value;
        wq += w * q;
        wqq += w * q * q;
        wxq += w * value * q;
    }
    float determinant = sum_w * wqq - wq * wq;
    float scale = (sum_w * wxq - sum_wx * wq) / determinant;
    float offset = (wqq * sum_wx - wq * wxq) / determinant;
    if (determinant <= 1e-6f * sum_w * wqq || offset > 0.0f) {
        scale = wxq / wqq;
        offset = 0.0f;
    }
    float error = 0.0f;
    for (int i = 0; i < 32; i++) {
        float value = part[p][i];
        float off = scale * nearest_quant((value - low) * inverse) + offset - value;
        error += (rms + ABS(value)) * off * off;
    }
    errors[p][way] = error;
    scales[p][way] = scale;
    offsets[p][way] = offset;
    BARRIER();
    if (way == 0) {
        float least = INFINITE;
        float best = high > low ? (high - low) / 15.0f : 0.0f, at = low;
        for (int i = 0; i < 16 && high > low; i++)
            if (errors[p][i] < least) {
                least = errors[p][i];
                best = scales[p][i];
                at = offsets[p][i];
            }
        best_scale[p] = best;
        best_offset[p] = at;
    }
    BARRIER();

// section: q4_k_store
    float scale_unit = 0.0f, minimum_unit = 0.0f;
    for (int i = 0; i < 8; i++) {
        scale_unit = scale_unit > best_scale[i] ? scale_unit : best_scale[i];
        minimum_unit = minimum_unit > -best_offset[i] ? minimum_unit : -best_offset[i];
    }
    UINT32 scale_bits = unit_of(scale_unit), minimum_bits = unit_of(minimum_unit);
    scale_unit = U32_LO_F16(scale_bits);
    minimum_unit = U32_LO_F16(minimum_bits);
    UINT32 scale_multiple = multiple_of(best_scale[p], scale_unit);
    UINT32 minimum_multiple = multiple_of(-best_offset[p], minimum_unit);
    float step = scale_unit * CAST(float, scale_multiple);
    float minimum = minimum_unit * CAST(float, minimum_multiple);
    float per_step = step > 0.0f ? 1.0f / step : 0.0f;
    for (int i = way; i < 32; i += 16)
        quants[p * 32 + i] = CAST(UINT32, nearest_quant((part[p][i] + minimum) * per_step));
    if (way == 0) {
        multiples[p] = scale_multiple;
        multiples[8 + p] = minimum_multiple;
    }
    BARRIER();
    POINTER(UCHAR) to = AT(result, block * 144);
    if (self == 0) {
        STORE_U8(to, 0, scale_bits & 255u);
        STORE_U8(to, 1, scale_bits >> 8);
        STORE_U8(to, 2, minimum_bits & 255u);
        STORE_U8(to, 3, minimum_bits >> 8);
    }
    if (self < 4) {
        UINT32 s = multiples[self + 4], m = multiples[self + 12];
        STORE_U8(to, 4 + self, multiples[self] | (s >> 4) << 6);
        STORE_U8(to, 8 + self, multiples[self + 8] | (m >> 4) << 6);
        STORE_U8(to, 12 + self, (s & 15u) | (m & 15u) << 4);
    }
    int pair = self / 32 * 64 + self % 32;
    STORE_U8(to, 16 + self, quants[pair] | quants[pair + 32] << 4);
    BARRIER();
}
}
