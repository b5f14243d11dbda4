// The end of products in which a group of LANES threads shares ROWS x ACROSS sums: adds them up
// through `partial` and starts the loop over elements in which `total` is one, at `row` and
// `column`.

    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < ACROSS; j++) {
            float total = GROUP_SUM(sum[i][j], SHUFFLED, 0);
            if (lane % SHUFFLED == 0)
                partial[i * ACROSS + j][THREAD_X / SHUFFLED] = total;
        }
    BARRIER();
    for (int e = CAST(int, THREAD_X); e < GROUPS * ROWS * ACROSS; e += THREADS) {
        int part = e % (ROWS * ACROSS);
        INT64 row = part / ACROSS;
        INT64 column = first_column + e / (ROWS * ACROSS) * ACROSS + part % ACROSS;
        float total = 0.0f;
        for (int l = 0; l < LANES / SHUFFLED; l++)
            total += partial[part][e / (ROWS * ACROSS) * (LANES / SHUFFLED) + l];
        if (row >= SIZE_M || column >= SIZE_N)
            continue;
