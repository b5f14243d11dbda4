// Q8_0 or Q4_K blocks to floats. "loop" opens the loop that q8_0 or q4_k closes.

// section: loop
INT64 stride = (INT64)GRID_X * THREADS_X;
for (INT64 e = (INT64)BLOCK_X * THREADS_X + THREAD_X; e < scalars.v[0] * PER_BLOCK;
     e += stride) {
    int piece = (int)(e % PER_BLOCK);
    GLOBAL const UCHAR *block = x + e / PER_BLOCK * BLOCK_BYTES;
    INT64 to = e / PER_BLOCK * BLOCK_WEIGHTS;

// section: q8_0
    float scale = weights_half(block);
    UNROLL for (int i = 0; i < 4; i++) {
        int quant = block[2 + piece * 4 + i];
        STORE(result, to + piece * 4 + i, scale * (float)(quant - ((quant & 128) << 1)));
    }
}
}

// section: q4_k
    UINT32 pair = (UINT32)piece / 8, packed[3];
    UNROLL for (int i = 0; i < 3; i++) {
        GLOBAL const UCHAR *p = block + 4 + i * 4;
        packed[i] = (UINT32)p[0] | (UINT32)p[1] << 8 | (UINT32)p[2] << 16 |
                    (UINT32)p[3] << 24;
    }
    WORDS2 scales = q4_k_scales(packed[0], packed[1], packed[2], pair);
    float unit = weights_half(block), least = weights_half(block + 2);
    float scale_low = unit * (float)(scales.x & 255u), scale_high = unit * (float)(scales.x >> 8);
    float low = least * (float)(scales.y & 255u), high = least * (float)(scales.y >> 8);
    to += pair * 64u + (UINT32)piece % 8u * 4u;
    UNROLL for (int i = 0; i < 4; i++) {
        int quants = block[16 + piece * 4 + i];
        STORE(result, to + i, FMA(scale_low, (float)(quants & 15), -low));
        STORE(result, to + 32 + i, FMA(scale_high, (float)(quants >> 4), -high));
    }
}
}
