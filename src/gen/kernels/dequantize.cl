// Q8_0 or Q4_K blocks to floats. "loop" opens the loop that q8_0 or q4_k closes.

// section: loop
INT64 stride = CAST(INT64, GRID_X) * THREADS_X;
for (INT64 e = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; e < scalars.v[0] * PER_BLOCK;
     e += stride) {
    int piece = CAST(int, e % PER_BLOCK);
    CONST_POINTER(UCHAR) block = AT(x, e / PER_BLOCK * BLOCK_BYTES);
    INT64 to = e / PER_BLOCK * BLOCK_WEIGHTS;

// section: q8_0
    float scale = weights_half(block);
    UNROLL for (int i = 0; i < 4; i++) {
        int quant = LOAD_U8(block, 2 + piece * 4 + i);
        STORE(result, to + piece * 4 + i, scale * CAST(float, quant - ((quant & 128) << 1)));
    }
}
}

// section: q4_k
    UINT32 pair = CAST(UINT32, piece) / 8, packed[3];
    UNROLL for (int i = 0; i < 3; i++) {
        CONST_POINTER(UCHAR) p = AT(block, 4 + i * 4);
        packed[i] = word_of(LOAD_U8(p, 0), LOAD_U8(p, 1), LOAD_U8(p, 2), LOAD_U8(p, 3));
    }
    WORDS2 scales = q4_k_scales(packed[0], packed[1], packed[2], pair);
    float unit = weights_half(block), least = weights_half(AT(block, 2));
    float scale_low = unit * CAST(float, scales.x & 255u), scale_high = unit * CAST(float, scales.x >> 8);
    float low = least * CAST(float, scales.y & 255u), high = least * CAST(float, scales.y >> 8);
    to += CAST(INT64, pair * 64u + CAST(UINT32, piece) % 8u * 4u);
    UNROLL for (int i = 0; i < 4; i++) {
        int quants = LOAD_U8(block, 16 + piece * 4 + i);
        STORE(result, to + i, FMA(scale_low, CAST(float, quants & 15), -low));
        STORE(result, to + 32 + i, FMA(scale_high, CAST(float, quants >> 4), -high));
    }
}
}

// section: elements
// Any type, an element at a time.
INT64 stride = CAST(INT64, GRID_X) * THREADS_X;
for (INT64 e = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; e < scalars.v[0] * BLOCK_WEIGHTS;
     e += stride) {
    float value = LOAD(x, e);
    STORE(result, e, value);
}
}
