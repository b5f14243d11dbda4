// Rotary position embedding; gen/emit/rope.c describes the method.

// section: macros
// The upper 64 bits of the product, without the carry: off by at most two.
INLINE UINT64 multiply_high(UINT64 a, UINT64 b) {
    UINT64 a_high = a >> 32, a_low = a & 0xffffffffu, b_high = b >> 32, b_low = b & 0xffffffffu;
    return a_high * b_high + ((a_high * b_low) >> 32) + ((a_low * b_high) >> 32);
}

// section: body
INT64 heads = scalars.v[0], tokens = scalars.v[1], width = scalars.v[2], pairs = scalars.v[3];
INT64 lines = scalars.v[7], sharing = scalars.v[8];
INT64 places = tokens * pairs, work = (lines + sharing - 1) / sharing * places;
INT64 stride = CAST(INT64, GRID_X) * THREADS_X;
for (INT64 e = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; e < work; e += stride) {
    INT64 pair = e % pairs, token = e / pairs % tokens, line = e / places * sharing;
    UINT64 frequency = CAST(UINT64, 1) << 63;
    UNROLL for (int i = 0; i < BITS; i++)
        if (((pair >> i) & 1) != 0)
            frequency = multiply_high(frequency, CAST(UINT64, scalars.v[11 + i])) << 1;
    // 2^64 / (2 pi) times a frequency scaled by 2^63 is half the turn: hence the shift.
    UINT64 turn = multiply_high(frequency, 2935890503282001226ul) << 1;
    int place = LOAD_I32(positions, line / heads * scalars.v[9] + token * scalars.v[10]);
    INT64 position = place;
    UINT64 angle = turn * CAST(UINT64, position);
    float radians = CAST(float, CAST(int, CAST(UINT32, angle >> 32))) * 1.46291807926715968e-9f;
    float cosine = COS(radians), sine = SIN(radians);
    INT64 end = line + sharing < lines ? line + sharing : lines;
    for (; line < end; line++) {
        INT64 from = line / heads * scalars.v[4] + line % heads * scalars.v[5] +
                     token * scalars.v[6];
        INT64 to = (line * tokens + token) * width;
        INT64 first = INTERLEAVED != 0 ? pair * 2 : pair;
        INT64 second = INTERLEAVED != 0 ? pair * 2 + 1 : pair + pairs;
        float a = LOAD(x, from + first), b = LOAD(x, from + second);
        STORE(result, to + first, a * cosine - b * sine);
        STORE(result, to + second, b * cosine + a * sine);
        if (pair == 0 && width % 2 != 0)
            ELEMENT(result, to + width - 1) = ELEMENT(x, from + width - 1);
    }
}
}
