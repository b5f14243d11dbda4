// Rows of a table by their indices. "loop" opens the loop that "copy" or "quantized" closes.

// section: loop
INT64 rows = scalars.v[0], width = scalars.v[1], count = scalars.v[2];
for (INT64 i = BLOCK_X; i < count; i += GRID_X) {
    int place = LOAD_I32(indices, i);
    INT64 index = place;
    bool inside = place >= 0 && index < rows;
    INT64 from = (inside ? index : 0) * scalars.v[3], to = i * width;
    INT64 first = CAST(INT64, BLOCK_Y) * THREADS_X + THREAD_X;
    INT64 stride = CAST(INT64, GRID_Y) * THREADS_X;

// section: copy
// Copies whole words if both rows are aligned.
    CONST_POINTER(TYPE) source = AT(table, from);
    POINTER(TYPE) target = AT(result, to);
    INT64 done = 0;
    UINT32 zero = 0u;
    if (((ADDRESS(source) | ADDRESS(target)) & 15u) == 0) {
        INT64 words = width / PER_WORD;
        done = words * PER_WORD;
        for (INT64 c = first; c < words; c += stride) {
            WORDS4 word = MAKE_WORDS4(0u, 0u, 0u, 0u);
            if (inside)
                word = LOAD16(AT(source, c * PER_WORD));
            STORE16(AT(target, c * PER_WORD), word);
        }
    }
    for (INT64 c = done + first; c < width; c += stride)
        if (inside)
            ELEMENT(target, c) = ELEMENT(source, c);
        else
            ELEMENT(target, c) = CAST(TYPE, zero);
}
}

// section: quantized
    for (INT64 c = first; c < width; c += stride)
        STORE_F32(result, to + c, inside ? LOAD(table, from + c) : 0.0f);
}
}
