/* Products of few rows (at most MATMUL_STREAM_ROWS) with a dense B of which one axis is
 * contiguous: B is read once, in order and in place, which dominates the time.
 *
 * A unit is some columns of the product over all of k, or over a part of it if there are too
 * few columns for all threads; the parts' sums are then combined in shared memory.
 */
#include "gen/native/matmul.h"
#include "gen/native/simd/matmul_elements.h"

#if defined(SIMD_AVX512) || defined(SIMD_NEON)
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

enum { FIRST_CACHE_FLOATS = 8192 };

/* What a kernel gets: `depth` steps of A's rows in f32, and B from its first step and column on. It
 * adds to `sums`, rows of `stride` floats. */
struct strip {
    const float *a;
    int64_t a_row;
    const void *b;
    int64_t b_offset, b_row, b_column; /* in elements */
    int64_t depth, columns;
    float *sums;
    int64_t stride;
};

/* ---- B's rows are contiguous: a few of them at a time are added, scaled, to the sums ---- */

enum { ROWS_AT_ONCE = 4 }; /* of B */

SIMD_INLINE void add_rows(const struct strip *strip, int64_t step, int row,
                          const enum ridge_dtype type, const int rows, const int steps) {
    const float *a = strip->a + row * strip->a_row + step;
    float *sums = strip->sums + row * strip->stride;
    int64_t b = strip->b_offset + step * strip->b_row;
    const void *data = strip->b;
    int64_t b_row = strip->b_row, stride = strip->stride;
    int64_t whole = strip->columns / LANES * LANES;
    floats scales[ROWS_AT_ONCE][ROWS_AT_ONCE];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int s = 0; s < steps; s++) {
            scales[i][s] = floats_of(a[i * strip->a_row + s]);
        }
    }
    for (int64_t j = 0; j < whole; j += LANES) {
        floats of_b[ROWS_AT_ONCE];
        UNROLL for (int s = 0; s < steps; s++) {
            int64_t at = b + s * b_row + j;
            prefetch_element(data, type, at + steps * b_row);
            of_b[s] = elements(data, type, at);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            floats sum = floats_load(sums + i * stride + j);
            UNROLL for (int s = 0; s < steps; s++) {
                sum += scales[i][s] * of_b[s];
            }
            floats_store(sums + i * stride + j, sum);
        }
    }
}

/* The columns after the last whole vector, over all steps. Several sums hide the latency of adding
 * when there is one row. */
SIMD_INLINE void add_rest(const struct strip *strip, int row, const enum ridge_dtype type,
                          const int rows) {
    const int chains = ROWS_AT_ONCE / rows;
    int64_t whole = strip->columns / LANES * LANES, step = 0;
    int rest = (int)(strip->columns - whole);
    const float *a = strip->a + row * strip->a_row;
    float *to = strip->sums + row * strip->stride + whole;
    floats sums[ROWS_AT_ONCE];
    UNROLL for (int i = 0; i < ROWS_AT_ONCE; i++) {
        sums[i] = floats_of(0);
    }
    for (; step + chains <= strip->depth; step += chains)
        UNROLL for (int c = 0; c < chains; c++) {
            int64_t at = strip->b_offset + (step + c) * strip->b_row + whole;
            floats of_b = elements_first(strip->b, type, at, rest);
            UNROLL for (int i = 0; i < rows; i++) {
                sums[c * rows + i] += floats_of(a[i * strip->a_row + step + c]) * of_b;
            }
        }
    for (; step < strip->depth; step++) {
        floats of_b =
            elements_first(strip->b, type, strip->b_offset + step * strip->b_row + whole, rest);
        UNROLL for (int i = 0; i < rows; i++) {
            sums[i] += floats_of(a[i * strip->a_row + step]) * of_b;
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        floats sum = floats_load_first(to + i * strip->stride, rest);
        UNROLL for (int c = 0; c < chains; c++) {
            sum += sums[c * rows + i];
        }
        floats_store_first(to + i * strip->stride, sum, rest);
    }
}

SIMD_INLINE void stream_rows(const struct strip *strip, int rows, const enum ridge_dtype type) {
    const int at_once = REGISTERS == 32 ? 4 : 2;
    int64_t step = strip->columns < LANES ? strip->depth : 0;
    int row = 0;
    for (; step + ROWS_AT_ONCE <= strip->depth; step += ROWS_AT_ONCE) {
        for (row = 0; row + at_once <= rows; row += at_once)
            add_rows(strip, step, row, type, at_once, ROWS_AT_ONCE);
        for (; row < rows; row++)
            add_rows(strip, step, row, type, 1, ROWS_AT_ONCE);
    }
    for (; step < strip->depth; step++)
        for (row = 0; row < rows; row++)
            add_rows(strip, step, row, type, 1, 1);
    if (strip->columns % LANES == 0)
        return;
    for (row = 0; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE)
        add_rest(strip, row, type, ROWS_AT_ONCE);
    for (; row < rows; row++)
        add_rest(strip, row, type, 1);
}

/* ---- B's columns are contiguous: dot products ---- */

enum { COLUMNS_AT_ONCE = 4 };

/* The sums of the lanes of `count` vectors, a power of two and at most LANES. Folding two vectors
 * leaves half of each, in turns: in the end sum i is in lane i * LANES / count. */
SIMD_INLINE void sum_lanes(floats *vectors, const int count, float *sums) {
    UNROLL for (int half = count / 2; half > 0; half /= 2) {
        UNROLL for (int i = 0; i < half; i++) {
            vectors[i] = floats_low_turns(vectors[i], vectors[i + half]) +
                         floats_high_turns(vectors[i], vectors[i + half]);
        }
    }
    UNROLL for (int repeats = LANES / count; repeats > 1; repeats /= 2) {
        vectors[0] =
            floats_low_turns(vectors[0], vectors[0]) + floats_high_turns(vectors[0], vectors[0]);
    }
    float lanes[LANES];
    floats_store(lanes, vectors[0]);
    UNROLL for (int i = 0; i < count; i++) {
        sums[i] = lanes[i * (LANES / count)];
    }
}

/* `rows` rows of A from `row` on with `columns` columns of B from `column` on. */
SIMD_INLINE void add_dots(const struct strip *strip, int row, int64_t column,
                          const enum ridge_dtype type, const int rows, const int columns) {
    const float *a = strip->a + row * strip->a_row;
    int64_t b = strip->b_offset + column * strip->b_column;
    floats sums[MATMUL_FEW_ROWS * COLUMNS_AT_ONCE];
    UNROLL for (int i = 0; i < MATMUL_FEW_ROWS * COLUMNS_AT_ONCE; i++) {
        sums[i] = floats_of(0);
    }
    for (int64_t step = 0; step + LANES <= strip->depth; step += LANES) {
        floats of_b[COLUMNS_AT_ONCE];
        UNROLL for (int j = 0; j < columns; j++) {
            int64_t at = b + j * strip->b_column + step;
            prefetch_element(strip->b, type, at + columns * strip->b_column);
            of_b[j] = elements(strip->b, type, at);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            floats of_a = floats_load(a + i * strip->a_row + step);
            UNROLL for (int j = 0; j < columns; j++) {
                sums[i * columns + j] += of_a * of_b[j];
            }
        }
    }
    int rest = (int)(strip->depth % LANES);
    if (rest) {
        int64_t step = strip->depth - rest;
        floats of_b[COLUMNS_AT_ONCE];
        UNROLL for (int j = 0; j < columns; j++) {
            of_b[j] = elements_first(strip->b, type, b + j * strip->b_column + step, rest);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            floats of_a = floats_load_first(a + i * strip->a_row + step, rest);
            UNROLL for (int j = 0; j < columns; j++) {
                sums[i * columns + j] += of_a * of_b[j];
            }
        }
    }
    const int count = rows * columns;
    const int padded = count > 8 ? 16 : count > 4 ? 8 : count > 2 ? 4 : count;
    const int at_once = padded < LANES ? padded : LANES;
    float totals[MATMUL_FEW_ROWS * COLUMNS_AT_ONCE];
    UNROLL for (int i = 0; i < padded; i += at_once) {
        sum_lanes(sums + i, at_once, totals + i);
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            strip->sums[(row + i) * strip->stride + column + j] += totals[i * columns + j];
}

SIMD_INLINE void stream_columns(const struct strip *strip, const enum ridge_dtype type,
                                const int rows) {
    const int few = REGISTERS == 32 ? 4 : 2;
    const int at_once = rows <= few ? COLUMNS_AT_ONCE : rows <= 2 * few ? 2 : 1;
    int64_t column = 0;
    for (; column + at_once <= strip->columns; column += at_once)
        add_dots(strip, 0, column, type, rows, at_once);
    for (; column < strip->columns; column++)
        for (int row = 0; row < rows; row++)
            add_dots(strip, row, column, type, 1, 1);
}

#define STREAM_COLUMNS(rows)                                                                       \
    case rows:                                                                                     \
        stream_columns(strip, type, rows);                                                         \
        break;

SIMD_INLINE void stream_few_rows(const struct strip *strip, int rows, const enum ridge_dtype type) {
    switch (rows) {
        STREAM_COLUMNS(1)
        STREAM_COLUMNS(2)
        STREAM_COLUMNS(3)
        STREAM_COLUMNS(4)
        STREAM_COLUMNS(5)
        STREAM_COLUMNS(6)
        STREAM_COLUMNS(7)
    default:
        stream_columns(strip, type, MATMUL_FEW_ROWS);
    }
}

/* More rows than the registers hold read B twice, from the cache the second time. */
SIMD_INLINE void stream(const struct strip *strip, int rows, const enum ridge_dtype type) {
    if (strip->b_column == 1) {
        stream_rows(strip, rows, type);
        return;
    }
    int first = rows <= MATMUL_FEW_ROWS ? rows : (rows + 1) / 2;
    for (int row = 0; row < rows; row += first) {
        struct strip part = *strip;
        part.a += row * part.a_row;
        part.sums += row * part.stride;
        stream_few_rows(&part, MIN(first, rows - row), type);
    }
}

static void stream_f32(const struct strip *strip, int rows) {
    stream(strip, rows, RIDGE_F32);
}
static void stream_f16(const struct strip *strip, int rows) {
    stream(strip, rows, RIDGE_F16);
}
static void stream_bf16(const struct strip *strip, int rows) {
    stream(strip, rows, RIDGE_BF16);
}

/* ---- Units ---- */

struct stream_job {
    const struct native_call *call;
    const struct matmul_plan *plan;
    const struct matmul_context *context;
    float *widened; /* rows of MATMUL_STREAM_DEPTH floats */
};

static void widen_rows(const struct stream_job *job, int64_t offset, int64_t depth) {
    const struct matmul_plan *plan = job->plan;
    for (int64_t i = 0; i < plan->m; i++)
        element_run(job->widened + i * MATMUL_STREAM_DEPTH,
                    job->call->buffers[plan->swapped ? 1 : 0], job->context->a_type,
                    offset + i * plan->a_row, plan->a_column, depth);
}

/* Adds the steps `from` to `to` of k to the sums of a unit's columns. */
static void sum_up(const struct stream_job *job, struct strip *strip, int64_t batch, int64_t column,
                   int64_t from, int64_t to) {
    const struct matmul_plan *plan = job->plan;
    bool in_place = job->context->a_type == RIDGE_F32 && (plan->a_column == 1 || plan->k == 1);
    /* As many steps as keep all rows of A in the L1 cache. */
    int64_t max = MIN(MATMUL_STREAM_DEPTH, FIRST_CACHE_FLOATS / plan->m);
    for (int64_t step = from; step < to; step += strip->depth) {
        strip->depth = MIN(max, to - step);
        int64_t offset = batch * plan->a_batch + step * plan->a_column;
        if (!in_place)
            widen_rows(job, offset, strip->depth);
        strip->a = in_place ? (const float *)job->call->buffers[plan->swapped ? 1 : 0] + offset
                            : job->widened;
        strip->a_row = in_place ? plan->a_row : MATMUL_STREAM_DEPTH;
        strip->b_offset = batch * plan->b_batch + column * plan->b_column + step * plan->b_row;
        (job->context->b_type == RIDGE_F32   ? stream_f32
         : job->context->b_type == RIDGE_F16 ? stream_f16
                                             : stream_bf16)(strip, (int)plan->m);
    }
}

/* Piece `number` is a part of k of some columns of a batch. */
static void run_piece(const struct stream_job *job, int64_t number) {
    const struct matmul_plan *plan = job->plan;
    int64_t across = matmul_blocks(plan->n, plan->columns);
    int64_t part = number % plan->parts, unit = number / plan->parts;
    int64_t batch = unit / across, column = unit % across * plan->columns;
    float *sums =
        plan->parts > 1 ? matmul_part_sums(job->call, plan, number) : job->widened + MATMUL_SUMS;
    struct strip strip = {
        .b = job->call->buffers[plan->swapped ? 0 : 1],
        .b_row = plan->b_row,
        .b_column = plan->b_column,
        .columns = MIN(plan->columns, plan->n - column),
        .sums = sums,
        .stride = plan->columns,
    };
    memset(sums, 0, (size_t)(plan->m * plan->columns) * sizeof(float));
    sum_up(job, &strip, batch, column, part * plan->part_depth,
           MIN((part + 1) * plan->part_depth, plan->k));
    if (plan->parts == 1)
        matmul_finish_unit(job->call, unit, sums);
}

void SIMD_NAME(matmul_streamed)(const struct native_call *call) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    struct stream_job job = {
        .call = call,
        .plan = plan,
        .context = call->context,
        .widened = matmul_scratch(call),
    };
    for (size_t begin, end; native_take(call, 1, &begin, &end);)
        for (int64_t number = (int64_t)begin; number < plan->total; number += (int64_t)call->units)
            run_piece(&job, number);
    if (plan->parts > 1) {
        native_barrier(call);
        matmul_join_parts(call);
    }
}
