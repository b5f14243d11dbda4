// The order of each row, by merging: in a pass, each element finds its place among the other run of
// its pair of runs by bisection. Stable. NaN is greater than everything. `result` and `other` take
// turns; the last pass writes `result`.

// section: body
#ifdef DESCENDING
#define GOES_BEFORE(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#else
#define GOES_BEFORE(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))
#endif
#define SORT_ROWS scalars.v[0]
#define SORT_LENGTH scalars.v[1]
FOR_EACH_ROW(row, SORT_ROWS) {
    CONST_POINTER(TYPE) line = AT(x, row * SORT_LENGTH);
    int passes = 0;
    while (CAST(INT64, 1) << passes < SORT_LENGTH)
        passes++;
    POINTER(int) from = AT(passes % 2 == 0 ? result : other, row * SORT_LENGTH);
    POINTER(int) to = AT(passes % 2 == 0 ? other : result, row * SORT_LENGTH);
    for (INT64 i = THREAD_X; i < SORT_LENGTH; i += THREADS_X)
        STORE_I32(from, i, CAST(int, i));
    GLOBAL_BARRIER();
    for (int pass = 0; pass < passes; pass++) {
        INT64 width = CAST(INT64, 1) << pass;
        for (INT64 i = THREAD_X; i < SORT_LENGTH; i += THREADS_X) {
            INT64 start = i >> (pass + 1) << (pass + 1);
            INT64 middle = start + width < SORT_LENGTH ? start + width : SORT_LENGTH;
            INT64 end = middle + width < SORT_LENGTH ? middle + width : SORT_LENGTH;
            bool first = i < middle;
            INT64 low = first ? middle : start, high = first ? end : middle, base = low;
            int self = LOAD_I32(from, i);
            VALUE value = LOAD(line, self);
            while (low < high) {
                INT64 at = (low + high) / 2;
                VALUE found = LOAD(line, LOAD_I32(from, at));
                bool before = first ? GOES_BEFORE(found, value) : !GOES_BEFORE(value, found);
                low = before ? at + 1 : low;
                high = before ? high : at;
            }
            STORE_I32(to, start + (first ? i - start : i - middle) + (low - base), self);
        }
        GLOBAL_BARRIER();
        POINTER(int) swapped = from;
        from = to;
        to = swapped;
    }
}
}
