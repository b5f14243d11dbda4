/* Reductions over tiles: of one row's values side by side, and of many rows' values line by line.
 *
 * Sums of a tile are made in several vectors and then join a more precise sum, so that the error
 * does not grow with the number of elements. NaN wins over every number in max and min; of equals
 * the first wins in the arg forms.
 */
#include "gen/native/simd.h"
#include "gen/native/tiles.h"

enum { BLOCK = 4 * LANES };

extern tile_reduce SIMD_NAME(tile_sum_squares);
extern tile_reduce_rows SIMD_NAME(tile_sum_squares_rows);

/* ---- One row ---- */

/* The last `count` values of a tile, fewer than a vector, and `rest` in the other lanes. */
SIMD_INLINE floats floats_tail(const float *x, size_t count, float rest) {
    float lanes[LANES];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = i < count ? x[i] : rest;
    return floats_load(lanes);
}
SIMD_INLINE ints ints_tail(const int32_t *x, size_t count, int32_t rest) {
    int32_t lanes[LANES];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = i < count ? x[i] : rest;
    return ints_load(lanes);
}

SIMD_INLINE floats float_sum(floats a, floats b) {
    return a + b;
}
SIMD_INLINE floats add_square(floats sum, floats x) {
    return floats_fma(x, x, sum);
}
SIMD_INLINE ints int_sum(ints a, ints b) {
    return a + b;
}
SIMD_INLINE floats float_amax(floats best, floats x) {
    return floats_choose((x > best) | (x != x), x, best);
}
SIMD_INLINE floats float_amin(floats best, floats x) {
    return floats_choose((x < best) | (x != x), x, best);
}
SIMD_INLINE ints int_amax(ints best, ints x) {
    return ints_choose(x > best, x, best);
}
SIMD_INLINE ints int_amin(ints best, ints x) {
    return ints_choose(x < best, x, best);
}

/* All values of a tile in one vector. */
#define REDUCE_TO_VECTOR(name, type, element, step, join, identity)                                \
    SIMD_INLINE type name(const element *x, size_t count) {                                        \
        type a = type##_of(identity), b = a, c = a, d = a;                                         \
        size_t i = 0;                                                                              \
        for (; i + BLOCK <= count; i += BLOCK) {                                                   \
            a = step(a, type##_load(x + i));                                                       \
            b = step(b, type##_load(x + i + LANES));                                               \
            c = step(c, type##_load(x + i + 2 * LANES));                                           \
            d = step(d, type##_load(x + i + 3 * LANES));                                           \
        }                                                                                          \
        for (; i + LANES <= count; i += LANES)                                                     \
            a = step(a, type##_load(x + i));                                                       \
        if (i < count)                                                                             \
            b = step(b, type##_tail(x + i, count - i, identity));                                  \
        return join(join(a, b), join(c, d));                                                       \
    }
REDUCE_TO_VECTOR(vector_sum_f32, floats, float, float_sum, float_sum, 0.0f)
REDUCE_TO_VECTOR(vector_squares_f32, floats, float, add_square, float_sum, 0.0f)
REDUCE_TO_VECTOR(vector_sum_i32, ints, int32_t, int_sum, int_sum, 0)
REDUCE_TO_VECTOR(vector_amax_f32, floats, float, float_amax, float_amax, -__builtin_inff())
REDUCE_TO_VECTOR(vector_amin_f32, floats, float, float_amin, float_amin, __builtin_inff())
REDUCE_TO_VECTOR(vector_amax_i32, ints, int32_t, int_amax, int_amax, INT32_MIN)
REDUCE_TO_VECTOR(vector_amin_i32, ints, int32_t, int_amin, int_amin, INT32_MAX)

static void sum_f32(struct row_reduction *reduction, const void *x, size_t count, int32_t first) {
    (void)first;
    reduction->sum += (double)floats_sum(vector_sum_f32(x, count));
}

void SIMD_NAME(tile_sum_squares)(struct row_reduction *reduction, const void *x, size_t count,
                                 int32_t first) {
    (void)first;
    reduction->sum += (double)floats_sum(vector_squares_f32(x, count));
}

static void sum_i32(struct row_reduction *reduction, const void *x, size_t count, int32_t first) {
    (void)first;
    ints sums = vector_sum_i32(x, count);
    uint32_t sum = (uint32_t)reduction->best.i32;
    for (int i = 0; i < LANES; i++)
        sum += (uint32_t)sums[i];
    reduction->best.i32 = (int32_t)sum;
}

static void amax_f32(struct row_reduction *reduction, const void *x, size_t count, int32_t first) {
    (void)first;
    floats lanes = vector_amax_f32(x, count);
    float greatest = ints_any(lanes != lanes) ? __builtin_nanf("") : floats_greatest(lanes);
    if (greatest > reduction->best.f32 || greatest != greatest)
        reduction->best.f32 = greatest;
}

static void amin_f32(struct row_reduction *reduction, const void *x, size_t count, int32_t first) {
    (void)first;
    floats lanes = vector_amin_f32(x, count);
    float min = ints_any(lanes != lanes) ? __builtin_nanf("") : -floats_greatest(-lanes);
    if (min < reduction->best.f32 || min != min)
        reduction->best.f32 = min;
}

#define REDUCE_BEST(name, better)                                                                  \
    static void name(struct row_reduction *reduction, const void *x, size_t count,                 \
                     int32_t first) {                                                              \
        (void)first;                                                                               \
        ints lanes = vector_##name(x, count);                                                      \
        for (int i = 0; i < LANES; i++)                                                            \
            if (lanes[i] better reduction->best.i32)                                               \
                reduction->best.i32 = lanes[i];                                                    \
    }
REDUCE_BEST(amax_i32, >)
REDUCE_BEST(amin_i32, <)

/* Lanes in which x takes the place of the best so far; index -1 means that there is none yet. */
#define TAKES(better) ((x better best) | ((x != x) & (best == best)) | (index < 0))

#define REDUCE_ARG(name, type, element, field, better)                                             \
    static void name(struct row_reduction *reduction, const void *values, size_t count,            \
                     int32_t first) {                                                              \
        const element *at = values;                                                                \
        type best = type##_of(0);                                                                  \
        ints index = ints_of(-1), position = ints_count();                                         \
        for (size_t i = 0; i < count; i += LANES) {                                                \
            type x = i + LANES <= count ? type##_load(at + i) : type##_tail(at + i, count - i, 0); \
            ints take = TAKES(better) & (position < (int32_t)count);                               \
            best = type##_choose(take, x, best);                                                   \
            index = ints_choose(take, position, index);                                            \
            position += LANES;                                                                     \
        }                                                                                          \
        for (int i = 0; i < LANES; i++) {                                                          \
            element x = best[i], kept = reduction->best.field;                                     \
            int32_t number = index[i] + first;                                                     \
            bool equal = x == kept || (x != x && kept != kept);                                    \
            bool wins = (x better kept) || (x != x && kept == kept) ||                             \
                        (equal && number < reduction->index);                                      \
            if (index[i] >= 0 && (wins || reduction->index < 0)) {                                 \
                reduction->best.field = x;                                                         \
                reduction->index = number;                                                         \
            }                                                                                      \
        }                                                                                          \
    }
REDUCE_ARG(argmax_f32, floats, float, f32, >)
REDUCE_ARG(argmin_f32, floats, float, f32, <)
REDUCE_ARG(argmax_i32, ints, int32_t, i32, >)
REDUCE_ARG(argmin_i32, ints, int32_t, i32, <)

/* ---- Many rows ---- */

#define REDUCE_ROWS_SUM(name, step)                                                                \
    void name(void *best, void *more, const void *x, size_t lines, size_t width, int32_t first) {  \
        (void)first;                                                                               \
        float *sums = best, *errors = more;                                                        \
        for (size_t j = 0; j < width; j += LANES) {                                                \
            const float *at = (const float *)x + j;                                                \
            floats a = floats_of(0.0f), b = a;                                                     \
            size_t i = 0;                                                                          \
            for (; i + 2 <= lines; i += 2) {                                                       \
                a = step(a, floats_load(at + i * width));                                          \
                b = step(b, floats_load(at + (i + 1) * width));                                    \
            }                                                                                      \
            if (i < lines)                                                                         \
                a = step(a, floats_load(at + i * width));                                          \
            a += b;                                                                                \
            /* What the addition to the sum rounds away is kept. */                                \
            floats sum = floats_load(sums + j), total = sum + a, part = total - sum;               \
            floats error = (sum - (total - part)) + (a - part);                                    \
            floats_store(sums + j, total);                                                         \
            floats_store(errors + j, floats_load(errors + j) + error);                             \
        }                                                                                          \
    }
static REDUCE_ROWS_SUM(rows_sum_f32, float_sum)
    REDUCE_ROWS_SUM(SIMD_NAME(tile_sum_squares_rows), add_square)

#define REDUCE_ROWS(name, type, element, step)                                                     \
    static void rows_##name(void *best, void *more, const void *x, size_t lines, size_t width,     \
                            int32_t first) {                                                       \
        (void)more, (void)first;                                                                   \
        for (size_t j = 0; j < width; j += LANES) {                                                \
            const element *at = (const element *)x + j;                                            \
            type kept = type##_load((element *)best + j);                                          \
            for (size_t i = 0; i < lines; i++)                                                     \
                kept = step(kept, type##_load(at + i * width));                                    \
            type##_store((element *)best + j, kept);                                               \
        }                                                                                          \
    }
        REDUCE_ROWS(sum_i32, ints, int32_t, int_sum)
            REDUCE_ROWS(amax_f32, floats, float, float_amax)
                REDUCE_ROWS(amin_f32, floats, float, float_amin)
                    REDUCE_ROWS(amax_i32, ints, int32_t, int_amax)
                        REDUCE_ROWS(amin_i32, ints, int32_t, int_amin)

#define REDUCE_ROWS_ARG(name, type, element, better)                                               \
    static void rows_##name(void *bests, void *indices, const void *values, size_t lines,          \
                            size_t width, int32_t first) {                                         \
        for (size_t j = 0; j < width; j += LANES) {                                                \
            const element *at = (const element *)values + j;                                       \
            type best = type##_load((element *)bests + j);                                         \
            ints index = ints_load((int32_t *)indices + j);                                        \
            for (size_t i = 0; i < lines; i++) {                                                   \
                type x = type##_load(at + i * width);                                              \
                ints take = TAKES(better);                                                         \
                best = type##_choose(take, x, best);                                               \
                index = ints_choose(take, ints_of(first + (int32_t)i), index);                     \
            }                                                                                      \
            type##_store((element *)bests + j, best);                                              \
            ints_store((int32_t *)indices + j, index);                                             \
        }                                                                                          \
    }
                            REDUCE_ROWS_ARG(argmax_f32, floats, float, >)
                                REDUCE_ROWS_ARG(argmin_f32, floats, float, <)
                                    REDUCE_ROWS_ARG(argmax_i32, ints, int32_t, >)
                                        REDUCE_ROWS_ARG(argmin_i32, ints, int32_t, <)

#define ROW_F32(NAME, name, flops) [OP_REDUCE_##NAME - OP_REDUCE_SUM] = name##_f32,
#define ROW_I32(NAME, name, flops) [OP_REDUCE_##NAME - OP_REDUCE_SUM] = name##_i32,
#define ROWS_F32(NAME, name, flops) [OP_REDUCE_##NAME - OP_REDUCE_SUM] = rows_##name##_f32,
#define ROWS_I32(NAME, name, flops) [OP_REDUCE_##NAME - OP_REDUCE_SUM] = rows_##name##_i32,
                                            tile_reduce *const
    SIMD_NAME(tile_reduces)[2][TILE_REDUCTIONS] = {{REDUCE_OPS(ROW_F32)}, {REDUCE_OPS(ROW_I32)}};
tile_reduce_rows *const SIMD_NAME(tile_row_reduces)[2][TILE_REDUCTIONS] = {{REDUCE_OPS(ROWS_F32)},
                                                                           {REDUCE_OPS(ROWS_I32)}};
