// Running sums of rows. A thread sums a run of elements, then adds what the runs before it sum to.

// section: shared
SHARED VALUE sums[THREADS];

// section: body
#define CUMSUM_ROWS scalars.v[0]
#define CUMSUM_LENGTH scalars.v[1]
FOR_EACH_ROW(row, CUMSUM_ROWS) {
    INT64 run = (CUMSUM_LENGTH + THREADS_X - 1) / THREADS_X;
    INT64 first = CAST(INT64, THREAD_X) * run;
    INT64 end = first + run < CUMSUM_LENGTH ? first + run : CUMSUM_LENGTH;
    VALUE sum = 0;
    for (INT64 i = first; i < end; i++)
        sum += LOAD(x, row * CUMSUM_LENGTH + i);
    sums[THREAD_X] = sum;
    BARRIER();
    if (THREAD_X == 0u) {
        VALUE before = 0;
        for (int t = 0; t < CAST(int, THREADS_X); t++) {
            VALUE own = sums[t];
            sums[t] = before;
            before += own;
        }
    }
    BARRIER();
    sum = sums[THREAD_X];
    for (INT64 i = first; i < end; i++) {
        sum += LOAD(x, row * CUMSUM_LENGTH + i);
        STORE_SUM(result, row * CUMSUM_LENGTH + i, sum);
    }
    BARRIER();
}
}
