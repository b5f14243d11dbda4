// Weights to blocks, one thread to a block; LEVELS, PART, MULTIPLES, WEIGHTS and BYTES are those of
// the type, and the QUANTIZE_ macro of its kind is defined.
//
// QUANTIZE_SIGNED, QUANTIZE_AFFINE: Q4_0, Q5_0; Q4_1, Q5_1, as ggml rounds them.
// QUANTIZE_PARTS: Q2_K, Q5_K. Each part has a scale and a minimum, fitted to the range and then once
// by least squares; they become multiples of the block's two units.
// QUANTIZE_CENTERED: Q3_K, Q6_K, IQ4_XS. The extreme of a part becomes the most negative level.

// section: body
#define QUANTIZE_COUNT scalars.v[0]
#define NEAREST(value, low, high) \
    CAST(int, RINT((value) < (low) ? (low) : (value) > (high) ? (high) : (value)))
#define STORE_HALF(at, bits) \
    STORE_U8(to, at, CAST(int, (bits) & 255u)); \
    STORE_U8(to, (at) + 1, CAST(int, (bits) >> 8 & 255u));
FOR_EACH(block, QUANTIZE_COUNT) {
    CONST_POINTER(TYPE) from = AT(x, block * WEIGHTS);
    POINTER(UCHAR) to = AT(result, block * BYTES);
    int quants[WEIGHTS];
#if defined(QUANTIZE_SIGNED) || defined(QUANTIZE_AFFINE)
    float extreme = LOAD(from, 0), low = extreme, high = extreme;
    for (int i = 1; i < WEIGHTS; i++) {
        float value = LOAD(from, i);
        extreme = ABS(value) > ABS(extreme) ? value : extreme;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
#ifdef QUANTIZE_SIGNED
    float unit = extreme / -CAST(float, LEVELS), offset = 0.0f, middle = CAST(float, LEVELS) + 0.5f;
    int most = 2 * LEVELS - 1, at = 2;
#else
    float unit = (high - low) / CAST(float, LEVELS), offset = low, middle = 0.5f;
    int most = LEVELS, at = 4;
    UINT32 offset_bits = f32_to_f16(low);
    STORE_HALF(2, offset_bits)
#endif
    UINT32 unit_bits = f32_to_f16(unit);
    STORE_HALF(0, unit_bits)
    float inverse = unit == 0.0f ? 0.0f : 1.0f / unit;
    for (int i = 0; i < WEIGHTS; i++) {
        float value = LOAD(from, i);
        value = (value - offset) * inverse + middle;
        quants[i] = value > 0.0f ? CAST(int, value < 255.0f ? value : 255.0f) : 0;
        quants[i] = quants[i] < most ? quants[i] : most;
    }
    if (most > 15) {
        for (int i = 0; i < 4; i++) {
            int bits = 0;
            for (int j = 0; j < 8; j++)
                bits |= quants[i * 8 + j] >> 4 << j;
            STORE_U8(to, at + i, bits);
        }
        at += 4;
    }
    for (int i = 0; i < 16; i++)
        STORE_U8(to, at + i, (quants[i] & 15) | (quants[i + 16] & 15) << 4);
#endif
#ifdef QUANTIZE_PARTS
    float scales[WEIGHTS / PART], offsets[WEIGHTS / PART], scale_unit = 0.0f, offset_unit = 0.0f;
    for (int p = 0; p < WEIGHTS / PART; p++) {
        float low = 0.0f, high = LOAD(from, p * PART);
        for (int i = 0; i < PART; i++) {
            float value = LOAD(from, p * PART + i);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        float scale = (high - low) / CAST(float, LEVELS), inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
        float q_sum = 0.0f, qq_sum = 0.0f, x_sum = 0.0f, qx_sum = 0.0f;
        for (int i = 0; i < PART; i++) {
            float value = LOAD(from, p * PART + i);
            float q = CAST(float, NEAREST((value - low) * inverse, 0.0f, CAST(float, LEVELS)));
            q_sum += q;
            qq_sum += q * q;
            x_sum += value;
            qx_sum += q * value;
        }
        float determinant = CAST(float, PART) * qq_sum - q_sum * q_sum;
        float better = (CAST(float, PART) * qx_sum - x_sum * q_sum) / determinant;
        float start = (x_sum - better * q_sum) / CAST(float, PART);
        bool fits = determinant > 1.0e-6f * qq_sum && better > 0.0f && start <= 0.0f;
        scales[p] = fits ? better : scale;
        offsets[p] = fits ? -start : -low;
        scale_unit = scales[p] > scale_unit ? scales[p] : scale_unit;
        offset_unit = offsets[p] > offset_unit ? offsets[p] : offset_unit;
    }
    scale_unit /= CAST(float, MULTIPLES);
    offset_unit /= CAST(float, MULTIPLES);
    UINT32 scale_bits = f32_to_f16(scale_unit < 65504.0f ? scale_unit : 65504.0f);
    UINT32 offset_bits = f32_to_f16(offset_unit < 65504.0f ? offset_unit : 65504.0f);
    scale_unit = U32_LO_F16(scale_bits);
    offset_unit = U32_LO_F16(offset_bits);
    int multiples[2 * WEIGHTS / PART];
    for (int p = 0; p < WEIGHTS / PART; p++) {
        float multiple = scale_unit > 0.0f ? scales[p] / scale_unit : 0.0f;
        float below = offset_unit > 0.0f ? offsets[p] / offset_unit : 0.0f;
        multiples[2 * p] = NEAREST(multiple, 0.0f, CAST(float, MULTIPLES));
        multiples[2 * p + 1] = NEAREST(below, 0.0f, CAST(float, MULTIPLES));
        float step = scale_unit * CAST(float, multiples[2 * p]);
        float minimum = offset_unit * CAST(float, multiples[2 * p + 1]);
        float inverse = step > 0.0f ? 1.0f / step : 0.0f;
        for (int i = 0; i < PART; i++) {
            float value = LOAD(from, p * PART + i);
            quants[p * PART + i] =
                NEAREST((value + minimum) * inverse, 0.0f, CAST(float, LEVELS));
        }
    }
#if PART == 16
    for (int p = 0; p < 16; p++)
        STORE_U8(to, p, multiples[2 * p] | multiples[2 * p + 1] << 4);
    for (int i = 0; i < 64; i++) {
        int at = i / 32 * 128 + i % 32;
        STORE_U8(to, 16 + i, quants[at] | quants[at + 32] << 2 | quants[at + 64] << 4 |
                                 quants[at + 96] << 6);
    }
    STORE_HALF(80, scale_bits)
    STORE_HALF(82, offset_bits)
#else
    STORE_HALF(0, scale_bits)
    STORE_HALF(2, offset_bits)
    for (int i = 0; i < 4; i++) {
        int scale = multiples[2 * (i + 4)], minimum = multiples[2 * (i + 4) + 1];
        STORE_U8(to, 4 + i, multiples[2 * i] | scale >> 4 << 6);
        STORE_U8(to, 8 + i, multiples[2 * i + 1] | minimum >> 4 << 6);
        STORE_U8(to, 12 + i, (scale & 15) | (minimum & 15) << 4);
    }
    for (int i = 0; i < 32; i++) {
        int bits = 0;
        for (int p = 0; p < 8; p++)
            bits |= quants[p * 32 + i] >> 4 << p;
        STORE_U8(to, 16 + i, bits);
    }
    for (int i = 0; i < 128; i++) {
        int at = i / 32 * 64 + i % 32;
        STORE_U8(to, 48 + i, (quants[at] & 15) | (quants[at + 32] & 15) << 4);
    }
#endif
#endif
#ifdef QUANTIZE_CENTERED
    float scales[WEIGHTS / PART], greatest = 0.0f;
    for (int p = 0; p < WEIGHTS / PART; p++) {
        float extreme = 0.0f;
        for (int i = 0; i < PART; i++) {
            float value = LOAD(from, p * PART + i);
            extreme = ABS(value) > ABS(extreme) ? value : extreme;
        }
        scales[p] = extreme / -CAST(float, LEVELS);
        greatest = ABS(scales[p]) > ABS(greatest) ? scales[p] : greatest;
    }
    float unit = greatest / -CAST(float, MULTIPLES);
    unit = unit < -65504.0f ? -65504.0f : unit > 65504.0f ? 65504.0f : unit;
    UINT32 unit_bits = f32_to_f16(unit);
    unit = U32_LO_F16(unit_bits);
    int multiples[WEIGHTS / PART];
    for (int p = 0; p < WEIGHTS / PART; p++) {
        float multiple = unit != 0.0f ? scales[p] / unit : 0.0f;
        multiples[p] = NEAREST(multiple, -CAST(float, MULTIPLES), CAST(float, MULTIPLES) - 1.0f);
        float step = unit * CAST(float, multiples[p]);
        float inverse = step != 0.0f ? 1.0f / step : 0.0f;
        for (int i = 0; i < PART; i++) {
            float value = LOAD(from, p * PART + i);
            value *= inverse;
#ifdef QUANTIZE_LEVELS
            int best = 0;
            for (int level = 1; level < 16; level++)
                best = ABS(value - CAST(float, iq4_level(level))) <
                               ABS(value - CAST(float, iq4_level(best)))
                           ? level
                           : best;
            quants[p * PART + i] = best;
#else
            quants[p * PART + i] =
                NEAREST(value, -CAST(float, LEVELS), CAST(float, LEVELS) - 1.0f) + LEVELS;
#endif
        }
    }
#if defined(QUANTIZE_LEVELS)
    STORE_HALF(0, unit_bits)
    UINT32 high = 0u;
    for (int p = 0; p < 8; p++)
        high |= CAST(UINT32, (multiples[p] + 32) >> 4) << (2 * p);
    STORE_HALF(2, high)
    for (int p = 0; p < 4; p++)
        STORE_U8(to, 4 + p, ((multiples[2 * p] + 32) & 15) | ((multiples[2 * p + 1] + 32) & 15) << 4);
    for (int i = 0; i < 128; i++) {
        int at = i / 16 * 32 + i % 16;
        STORE_U8(to, 8 + i, quants[at] | quants[at + 16] << 4);
    }
#elif LEVELS == 4
    for (int i = 0; i < 32; i++) {
        int bits = 0;
        for (int j = 0; j < 8; j++)
            bits |= quants[j * 32 + i] >> 2 << j;
        STORE_U8(to, i, bits);
    }
    for (int i = 0; i < 64; i++) {
        int at = i / 32 * 128 + i % 32;
        STORE_U8(to, 32 + i, (quants[at] & 3) | (quants[at + 32] & 3) << 2 |
                                 (quants[at + 64] & 3) << 4 | (quants[at + 96] & 3) << 6);
    }
    for (int p = 0; p < 8; p++)
        STORE_U8(to, 96 + p, ((multiples[p] + 32) & 15) | ((multiples[p + 8] + 32) & 15) << 4);
    for (int p = 0; p < 4; p++)
        STORE_U8(to, 104 + p, (multiples[p] + 32) >> 4 | (multiples[p + 4] + 32) >> 4 << 2 |
                                  (multiples[p + 8] + 32) >> 4 << 4 |
                                  (multiples[p + 12] + 32) >> 4 << 6);
    STORE_HALF(108, unit_bits)
#else
    for (int i = 0; i < 128; i++) {
        int at = i / 64 * 128 + i % 64;
        STORE_U8(to, i, (quants[at] & 15) | (quants[at + 64] & 15) << 4);
    }
    for (int i = 0; i < 64; i++) {
        int at = i / 32 * 128 + i % 32;
        STORE_U8(to, 128 + i, quants[at] >> 4 | quants[at + 32] >> 4 << 2 |
                                  quants[at + 64] >> 4 << 4 | quants[at + 96] >> 4 << 6);
    }
    for (int p = 0; p < 16; p++)
        STORE_U8(to, 192 + p, multiples[p] & 255);
    STORE_HALF(208, unit_bits)
#endif
#endif
}
}
