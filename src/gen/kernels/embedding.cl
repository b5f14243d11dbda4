// Rows of a table by their indices. "loop" opens the loop that "copy" or "quantized" closes.

// section: loop
INT64 rows = scalars.v[0], width = scalars.v[1], count = scalars.v[2];
for (INT64 i = BLOCK_X; i < count; i += GRID_X) {
    INT64 index = indices[i];
    bool inside = index >= 0 && index < rows;
    INT64 from = (inside ? index : 0) * scalars.v[3], to = i * width;
    INT64 first = (INT64)BLOCK_Y * THREADS_X + THREAD_X;
    INT64 stride = (INT64)GRID_Y * THREADS_X;

// section: copy
// Copies whole words if both rows are aligned.
    GLOBAL const TYPE *source = table + from;
    GLOBAL TYPE *target = result + to;
    INT64 done = 0;
    if ((((UINT64)source | (UINT64)target) & 15u) == 0) {
        INT64 words = width / PER_WORD;
        done = words * PER_WORD;
        for (INT64 c = first; c < words; c += stride) {
            WORDS4 word = MAKE_WORDS4(0u, 0u, 0u, 0u);
            if (inside)
                word = LOAD16(source + c * PER_WORD);
            STORE16(target + c * PER_WORD, word);
        }
    }
    for (INT64 c = done + first; c < width; c += stride)
        target[c] = inside ? source[c] : (TYPE)0;
}
}

// section: quantized
    for (INT64 c = first; c < width; c += stride)
        result[to + c] = inside ? LOAD(table, from + c) : 0.0f;
}
}
