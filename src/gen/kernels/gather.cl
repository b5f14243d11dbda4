// Elements at indices along one axis: result[.., i, ..] = x[.., indices[.., i, ..], ..]. An index
// out of range gives 0.

// section: body
#define GATHER_COUNT scalars.v[0]
#define GATHER_RANK CAST(int, scalars.v[1])
#define GATHER_AXIS CAST(int, scalars.v[2])
#define GATHER_LIMIT scalars.v[3]
#define GATHER_SIZE(a) scalars.v[4 + (a)]
#define GATHER_FROM(a) scalars.v[12 + (a)]
#define GATHER_INDEX(a) scalars.v[20 + (a)]
FOR_EACH(e, GATHER_COUNT) {
    INT64 rest = e, from = 0, place = 0;
    UINT32 zero = 0u;
    for (int a = GATHER_RANK - 1; a >= 0; a--) {
        INT64 i = rest % GATHER_SIZE(a);
        rest /= GATHER_SIZE(a);
        from += a == GATHER_AXIS ? CAST(INT64, 0) : i * GATHER_FROM(a);
        place += i * GATHER_INDEX(a);
    }
    int found = LOAD_I32(indices, place);
    INT64 index = found;
    ELEMENT(result, e) = CAST(TYPE, zero);
    if (found >= 0 && index < GATHER_LIMIT)
        ELEMENT(result, e) = ELEMENT(x, from + index * GATHER_FROM(GATHER_AXIS));
}
}
