/* The CPU's hand-made kernels: the parts common to all vector instruction sets, and the choice
 * among them. A tile of C is in the thread's scratch memory with its pieces of A and B, so the
 * tile size determines which cache holds the operands of the multiply-adds. */
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/min_max.h"
#include "bench/kernels/kernel_case.h"
#include "gen/native/isa.h"

enum { LANES_MAX = 16 };

struct tile {
    const struct kernel_plan *plan;
    float *c, *a, *b; /* [rows][line], [rows][depth], [depth][line], zero outside the matrices */
    int64_t rows, columns, depth; /* whole vectors of columns */
    int64_t line;                 /* padded, so that lines do not map to the same cache sets */
    int64_t first_row, first_column, inside_rows, inside_columns;
};

static struct tile tile_begin(const struct kernel_plan *plan, float *scratch, int64_t number,
                              int64_t lanes) {
    int64_t across = plan->n / plan->tile_columns + (plan->n % plan->tile_columns != 0);
    struct tile tile = {
        .plan = plan,
        .rows = plan->tile_rows,
        .columns = MAX(plan->tile_columns, lanes),
        .line = MAX(plan->tile_columns, lanes) + LANES_MAX,
        .depth = plan->depth,
        .first_row = number / across * plan->tile_rows,
        .first_column = number % across * plan->tile_columns,
    };
    tile.inside_rows = MIN(tile.rows, plan->m - tile.first_row);
    tile.inside_columns = MIN(plan->tile_columns, plan->n - tile.first_column);
    tile.c = scratch;
    tile.a = tile.c + tile.rows * tile.line;
    tile.b = tile.a + tile.rows * tile.depth;
    memset(tile.c, 0, (size_t)(tile.rows * tile.line) * sizeof *tile.c);
    return tile;
}

/* A piece of a matrix with `stride` elements in a row, for a tile. */
struct piece {
    const float *first;
    int64_t rows, columns, stride; /* inside the matrix */
};

static void fetch(float *to, int64_t rows, int64_t columns, int64_t line, struct piece piece) {
    for (int64_t i = 0; i < rows; i++) {
        int64_t count = i < piece.rows ? piece.columns : 0;
        if (count > 0)
            memcpy(to + i * line, piece.first + i * piece.stride, (size_t)count * sizeof *to);
        if (count < columns)
            memset(to + i * line + count, 0, (size_t)(columns - count) * sizeof *to);
    }
}

/* Without reading, the first tile is used for all. */
static void tile_fetch(const struct tile *tile, const float *a, const float *b, int64_t k0) {
    const struct kernel_plan *plan = tile->plan;
    int64_t depth = MIN(tile->depth, plan->k - k0);
    struct piece from_a = {.first = a + tile->first_row * plan->k + k0,
                           .rows = tile->inside_rows,
                           .columns = depth,
                           .stride = plan->k};
    struct piece from_b = {.first = b + k0 * plan->n + tile->first_column,
                           .rows = depth,
                           .columns = tile->inside_columns,
                           .stride = plan->n};
    if (plan->which == HAND_COMPUTE) {
        from_a.first = a;
        from_a.rows = MIN(tile->rows, plan->m);
        from_b.first = b;
        from_b.columns = MIN(plan->tile_columns, plan->n);
    }
    fetch(tile->a, tile->rows, tile->depth, tile->depth, from_a);
    fetch(tile->b, tile->depth, tile->columns, tile->line, from_b);
}

static void tile_store(const struct tile *tile, float *c) {
    const struct kernel_plan *plan = tile->plan;
    for (int64_t i = 0; i < tile->inside_rows; i++)
        memcpy(c + (tile->first_row + i) * plan->n + tile->first_column, tile->c + i * tile->line,
               (size_t)tile->inside_columns * sizeof *c);
}

/* What HAND_COMPUTE multiplies over and over. */
static void first_of_row(const struct kernel_plan *plan, const float *x, const float *y,
                         float padded[2][CPU_ROW_DEPTH]) {
    size_t bytes = (size_t)MIN(plan->k, CPU_ROW_DEPTH) * sizeof *x;
    memset(padded, 0, 2 * CPU_ROW_DEPTH * sizeof *x);
    memcpy(padded[0], x, bytes);
    memcpy(padded[1], y, bytes);
}

static void sum_together(const struct native_call *call, double *sums, double sum) {
    sums[call->thread] = sum;
    native_barrier(call);
    if (call->thread > 0)
        return;
    for (unsigned i = 1; i < call->threads; i++)
        sum += sums[i];
    *(float *)call->buffers[1] = (float)sum;
}

#if defined(__x86_64__)
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#define MULTIPLY_ADD(x, y, sum) (FLOATS) _mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(sum))
#include "bench/kernels/kernel_lanes.h"

#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define MULTIPLY_ADD(x, y, sum) (FLOATS) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(sum))
#include "bench/kernels/kernel_lanes.h"
#endif

#define LANES 4
#define TARGET
#define NAME(x) x##_plain
#if defined(__aarch64__)
#define MULTIPLY_ADD(x, y, sum)                                                                    \
    (FLOATS) vfmaq_f32((float32x4_t)(sum), (float32x4_t)(x), (float32x4_t)(y))
#else
#define MULTIPLY_ADD(x, y, sum) ((x) * (y) + (sum))
#endif
#include "bench/kernels/kernel_lanes.h"

enum function_number { RUN_SCALE, RUN_SUM, RUN_TILES, RUN_ROWS };

static native_function *const *functions(void) {
#if defined(__x86_64__)
    const char *set = simd_best()->name;
    if (strcmp(set, "avx512") == 0)
        return functions_avx512;
    if (strcmp(set, "avx2") == 0)
        return functions_avx2;
#endif
    return functions_plain;
}

native_function *kernel_native(const struct kernel_plan *plan, size_t *scratch_bytes) {
    *scratch_bytes = 0;
    if (plan->which == HAND_SCALE || plan->which == HAND_SUM)
        return functions()[plan->which == HAND_SCALE ? RUN_SCALE : RUN_SUM];
    if (plan->few_rows)
        return functions()[RUN_ROWS];
    int64_t line = MAX(plan->tile_columns, LANES_MAX) + LANES_MAX;
    *scratch_bytes =
        (size_t)((plan->tile_rows + plan->depth) * line + plan->tile_rows * plan->depth) *
        sizeof(float);
    return functions()[RUN_TILES];
}
