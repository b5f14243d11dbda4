// Copies source into target from a position on, along one axis. Elements outside the target are
// left out. The same text is a kernel of every language and of the CPU: see gen/portable.h.

// section: body
#define UPDATE_COUNT scalars.v[0]
#define UPDATE_RANK CAST(int, scalars.v[1])
#define UPDATE_AXIS CAST(int, scalars.v[2])
#define UPDATE_LIMIT scalars.v[3]
#define UPDATE_POSITION_STRIDE scalars.v[4]
#define UPDATE_SIZE(a) scalars.v[5 + (a)]
#define UPDATE_FROM(a) scalars.v[13 + (a)]
#define UPDATE_TO(a) scalars.v[21 + (a)]
FOR_EACH(e, UPDATE_COUNT) {
    INT64 rest = e, from = 0, to = 0, along = 0, first = 0;
    for (int a = UPDATE_RANK - 1; a >= 0; a--) {
        INT64 i = rest % UPDATE_SIZE(a);
        rest /= UPDATE_SIZE(a);
        from += i * UPDATE_FROM(a);
        to += i * UPDATE_TO(a);
        along = a == UPDATE_AXIS ? i : along;
        first = i;
    }
    int start = LOAD_I32(positions, first * UPDATE_POSITION_STRIDE);
    INT64 position = start;
    if (position + along >= 0 && position + along < UPDATE_LIMIT)
        ELEMENT(target, to + position * UPDATE_TO(UPDATE_AXIS)) = ELEMENT(source, from);
}
}
