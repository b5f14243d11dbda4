/* The CPU's hand-made kernels for one vector instruction set. kernel_native.c includes this
 * once for each, with these definitions:
 *
 *   LANES                     floats in a vector
 *   TARGET                    what lets the compiler use the instructions in a function
 *   NAME(x)                   x with the set's name
 *   MULTIPLY_ADD(x, y, sum)   x * y + sum of vectors
 *
 * Sums are in separate variables, so that they are registers even if the optimizer keeps arrays
 * in memory.
 */
typedef float NAME(floats) __attribute__((vector_size(4 * LANES)));
#define FLOATS NAME(floats)
#define LOAD(variable, from) memcpy(&(variable), from, sizeof(variable))
#define STORE(to, variable) memcpy(to, &(variable), sizeof(variable))
#define SPLAT(value) ((value) - (FLOATS){0})

TARGET static float NAME(sum_lanes)(const FLOATS *vector) {
    float lanes[LANES], sum = 0;
    STORE(lanes, *vector);
    for (unsigned i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}

TARGET static float NAME(sum_of)(const float *x, int64_t count) {
    FLOATS s = {0}, t = {0}, u = {0}, v = {0}, w;
    int64_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        LOAD(w, x + i);
        s += w;
        LOAD(w, x + i + LANES);
        t += w;
        LOAD(w, x + i + 2 * LANES);
        u += w;
        LOAD(w, x + i + 3 * LANES);
        v += w;
    }
    s = (s + t) + (u + v);
    float sum = NAME(sum_lanes)(&s);
    for (; i < count; i++)
        sum += x[i];
    return sum;
}

TARGET static float NAME(dot)(const float *x, const float *y, int64_t count) {
    FLOATS s = {0}, t = {0}, u = {0}, v = {0}, p, q;
    int64_t i = 0;
#define STEP(sum, at)                                                                              \
    LOAD(p, x + i + (at)*LANES);                                                                   \
    LOAD(q, y + i + (at)*LANES);                                                                   \
    sum = MULTIPLY_ADD(p, q, sum)
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        STEP(s, 0);
        STEP(t, 1);
        STEP(u, 2);
        STEP(v, 3);
    }
#undef STEP
    s = (s + t) + (u + v);
    float sum = NAME(sum_lanes)(&s);
    for (; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* `steps` times the dot product of the same CPU_ROW_DEPTH elements, in registers. */
TARGET static float NAME(dot_again)(const float *x, const float *y, int64_t steps) {
    FLOATS total = {0};
    for (int64_t i = 0; i < CPU_ROW_DEPTH; i += 4 * LANES) {
        FLOATS s = {0}, t = {0}, u = {0}, v = {0}, x0, x1, x2, x3, y0, y1, y2, y3;
        LOAD(x0, x + i);
        LOAD(x1, x + i + LANES);
        LOAD(x2, x + i + 2 * LANES);
        LOAD(x3, x + i + 3 * LANES);
        LOAD(y0, y + i);
        LOAD(y1, y + i + LANES);
        LOAD(y2, y + i + 2 * LANES);
        LOAD(y3, y + i + 3 * LANES);
        for (int64_t step = 0; step < steps; step++) {
            s = MULTIPLY_ADD(x0, y0, s);
            t = MULTIPLY_ADD(x1, y1, t);
            u = MULTIPLY_ADD(x2, y2, u);
            v = MULTIPLY_ADD(x3, y3, v);
        }
        total += (s + t) + (u + v);
    }
    return NAME(sum_lanes)(&total);
}

/* Four rows of the tile of C by two vectors: the shape that keeps most processors busy. */
TARGET static void NAME(multiply_4x2)(float *c, const float *a, const float *b, int64_t depth,
                                      int64_t columns) {
#define EACH_ROW(X) X(0) X(1) X(2) X(3)
#define BEGIN(r)                                                                                   \
    FLOATS p##r, q##r;                                                                             \
    LOAD(p##r, c + r * columns);                                                                   \
    LOAD(q##r, c + r * columns + LANES);
#define STEP(r)                                                                                    \
    x = SPLAT(a[r * depth + k]);                                                                   \
    p##r = MULTIPLY_ADD(x, y, p##r);                                                               \
    q##r = MULTIPLY_ADD(x, z, q##r);
#define END(r)                                                                                     \
    STORE(c + r * columns, p##r);                                                                  \
    STORE(c + r * columns + LANES, q##r);
    EACH_ROW(BEGIN)
    for (int64_t k = 0; k < depth; k++) {
        FLOATS x, y, z;
        LOAD(y, b + k * columns);
        LOAD(z, b + k * columns + LANES);
        EACH_ROW(STEP)
    }
    EACH_ROW(END)
#undef EACH_ROW
#undef BEGIN
#undef STEP
#undef END
}

/* Where a tile is one vector wide. */
TARGET static void NAME(multiply_8x1)(float *c, const float *a, const float *b, int64_t depth,
                                      int64_t columns) {
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define BEGIN(r)                                                                                   \
    FLOATS p##r;                                                                                   \
    LOAD(p##r, c + r * columns);
#define STEP(r) p##r = MULTIPLY_ADD(SPLAT(a[r * depth + k]), y, p##r);
#define END(r) STORE(c + r * columns, p##r);
    EACH_ROW(BEGIN)
    for (int64_t k = 0; k < depth; k++) {
        FLOATS y;
        LOAD(y, b + k * columns);
        EACH_ROW(STEP)
    }
    EACH_ROW(END)
#undef EACH_ROW
#undef BEGIN
#undef STEP
#undef END
}

TARGET static void NAME(multiply_tile)(const struct tile *tile) {
    bool wide = tile->columns % (2 * LANES) == 0;
    for (int64_t j = 0; j < tile->columns; j += wide ? 2 * LANES : LANES)
        for (int64_t i = 0; i < tile->rows; i += wide ? 4 : 8)
            (wide ? NAME(multiply_4x2) : NAME(multiply_8x1))(tile->c + i * tile->line + j,
                                                             tile->a + i * tile->depth, tile->b + j,
                                                             tile->depth, tile->line);
}

/* All that goes into the tile, and out of it as if it were the product. */
TARGET static void NAME(read_tile)(const struct tile *tile, const float *a, const float *b) {
    const struct kernel_plan *plan = tile->plan;
    double sum = 0;
    for (int64_t k0 = 0; k0 < plan->k; k0 += plan->depth) {
        int64_t depth = MIN(plan->depth, plan->k - k0);
        for (int64_t i = 0; i < tile->inside_rows; i++)
            sum += NAME(sum_of)(a + (tile->first_row + i) * plan->k + k0, depth);
        for (int64_t k = k0; k < k0 + depth; k++)
            sum += NAME(sum_of)(b + k * plan->n + tile->first_column, tile->inside_columns);
    }
    for (int64_t i = 0; i < tile->rows * tile->line; i++)
        tile->c[i] = (float)sum;
}

TARGET static void NAME(tiles)(const struct native_call *call) {
    const struct kernel_plan *plan = call->context;
    const float *a = call->buffers[0], *b = call->buffers[1];
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        struct tile tile = tile_begin(plan, call->scratch, (int64_t)begin, LANES);
        if (plan->which == HAND_READ)
            NAME(read_tile)(&tile, a, b);
        for (int64_t k0 = 0; k0 < plan->k && plan->which != HAND_READ; k0 += plan->depth) {
            if (k0 == 0 || plan->which == HAND_PRODUCT)
                tile_fetch(&tile, a, b, k0);
            NAME(multiply_tile)(&tile);
        }
        tile_store(&tile, call->buffers[2]);
    }
}

TARGET static void NAME(rows)(const struct native_call *call) {
    const struct kernel_plan *plan = call->context;
    const float *a = call->buffers[0], *b = call->buffers[1];
    float *c = call->buffers[2];
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * plan->block;
        for (int64_t j = first; j < MIN(first + plan->block, plan->n); j++) {
            const float *line = b + j * plan->k;
            float read = plan->which == HAND_READ ? NAME(sum_of)(line, plan->k) : 0;
            for (int64_t r = 0; r < plan->m && plan->which == HAND_READ; r++)
                read += NAME(sum_of)(a + r * plan->k, plan->k);
            for (int64_t r = 0; r < plan->m; r++) {
                const float *x = a + r * plan->k;
                float padded[2][CPU_ROW_DEPTH];
                if (plan->which == HAND_COMPUTE)
                    first_of_row(plan, x, b, padded);
                c[r * plan->n + j] = plan->which == HAND_READ ? read
                                     : plan->which == HAND_COMPUTE
                                         ? NAME(dot_again)(padded[0], padded[1], kernel_steps(plan))
                                         : NAME(dot)(x, line, plan->k);
            }
        }
    }
}

TARGET static void NAME(scale)(const struct native_call *call) {
    const struct kernel_plan *plan = call->context;
    const float *x = call->buffers[0];
    float *y = call->buffers[1];
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t i = (int64_t)begin * plan->block, last = MIN(i + plan->block, plan->n);
        for (; i + LANES <= last; i += LANES) {
            FLOATS v;
            LOAD(v, x + i);
            v = 2 * v + 1;
            STORE(y + i, v);
        }
        for (; i < last; i++)
            y[i] = 2 * x[i] + 1;
    }
}

TARGET static void NAME(sum)(const struct native_call *call) {
    const struct kernel_plan *plan = call->context;
    const float *x = call->buffers[0];
    double sum = 0, *sums = call->shared;
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * plan->block;
        sum += NAME(sum_of)(x + first, MIN(plan->block, plan->n - first));
    }
    sum_together(call, sums, sum);
}

static native_function *const NAME(functions)[] = {NAME(scale), NAME(sum), NAME(tiles), NAME(rows)};

#undef FLOATS
#undef LOAD
#undef STORE
#undef SPLAT
#undef LANES
#undef TARGET
#undef NAME
#undef MULTIPLY_ADD
