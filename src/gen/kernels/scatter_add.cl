// x with the elements of source added at indices along one axis. `order` sorts the indices, so that
// each element finds its own by bisection and adds them in their order: the sum is the same in
// every run.

// section: body
#define SCATTER_COUNT scalars.v[0]
#define SCATTER_RANK CAST(int, scalars.v[1])
#define SCATTER_AXIS CAST(int, scalars.v[2])
#define SCATTER_LENGTH scalars.v[3]
#define SCATTER_SIZE(a) scalars.v[4 + (a)]
#define SCATTER_X(a) scalars.v[12 + (a)]
#define SCATTER_INDEX(a) scalars.v[20 + (a)]
#define SCATTER_SOURCE(a) scalars.v[28 + (a)]
#define SCATTER_FOUND(i) \
    LOAD_I32(indices, line + LOAD_I32(order, line + (i) * step) * step)
FOR_EACH(e, SCATTER_COUNT) {
    INT64 rest = e, at = 0, line = 0, from = 0, wanted = 0;
    INT64 step = SCATTER_INDEX(SCATTER_AXIS);
    for (int a = SCATTER_RANK - 1; a >= 0; a--) {
        INT64 i = rest % SCATTER_SIZE(a);
        rest /= SCATTER_SIZE(a);
        at += i * SCATTER_X(a);
        wanted = a == SCATTER_AXIS ? i : wanted;
        line += a == SCATTER_AXIS ? CAST(INT64, 0) : i * SCATTER_INDEX(a);
        from += a == SCATTER_AXIS ? CAST(INT64, 0) : i * SCATTER_SOURCE(a);
    }
    INT64 low = 0, high = SCATTER_LENGTH;
    while (low < high) {
        INT64 middle = (low + high) / 2;
        if (SCATTER_FOUND(middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    VALUE sum = LOAD(x, at);
    for (; low < SCATTER_LENGTH && SCATTER_FOUND(low) == wanted; low++)
        sum += LOAD(source,
                    from + LOAD_I32(order, line + low * step) * SCATTER_SOURCE(SCATTER_AXIS));
    STORE(result, e, sum);
}
}
