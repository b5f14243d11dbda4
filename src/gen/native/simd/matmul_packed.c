/* Matrix products of any size, stride and type, by way of packed panels.
 *
 * A block of A becomes panels of up to PANEL_ROWS rows and one of B panels of PANEL_COLUMNS
 * columns, both in f32, element by element along k, so that the innermost loop reads them in order
 * and keeps a panel_rows x PANEL_COLUMNS piece of the product in registers. A tile of such pieces
 * is summed up in memory that stays in a core's cache, and the epilogue runs on it there.
 *
 * Threads share the packing of a block and then its tiles; or, for many small products and for
 * narrow ones, each packs and multiplies its own blocks without waiting.
 */
#include "gen/native/epilogue.h"
#include "gen/native/matmul.h"
#include "gen/native/simd.h"
#include "gen/native/simd/matmul_elements.h"
#include "gen/native/simd/matmul_panels.h"

#if defined(SIMD_AVX512)
#define PANEL_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
enum { PANEL_ROWS = 14, PANEL_VECTORS = 2 };
#elif defined(SIMD_AVX2)
#define PANEL_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
enum { PANEL_ROWS = 6, PANEL_VECTORS = 2 };
#elif defined(SIMD_NEON)
#define PANEL_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
enum { PANEL_ROWS = 8, PANEL_VECTORS = 3 };
#else
#define PANEL_HEIGHTS(X) X(1) X(2) X(3) X(4)
enum { PANEL_ROWS = 4, PANEL_VECTORS = 3 };
#endif
enum {
    PANEL_COLUMNS = PANEL_VECTORS * LANES,
    /* Steps along k in one go: a panel of B of this depth stays in the first cache. */
    RUN_DEPTH = 32 * 1024 / (PANEL_COLUMNS * (int)sizeof(float)),
};

/* Sums `rows` x `vectors` vectors of products over `depth` steps; both counts are constants where
 * this is inlined, so that all sums are registers. */
SIMD_INLINE void multiply(const float *a, const float *b, int64_t depth, float *sums,
                          int64_t stride, bool add, const int rows, const int vectors) {
    floats piece[PANEL_ROWS][PANEL_VECTORS];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < vectors; v++) {
            piece[i][v] = floats_of(0);
        }
    }
    for (int64_t p = 0; p < depth; p++, a += rows, b += PANEL_COLUMNS) {
        floats of_b[PANEL_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) {
            __builtin_prefetch(b + 8 * PANEL_COLUMNS + v * LANES);
            of_b[v] = floats_load(b + v * LANES);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            floats of_a = floats_of(a[i]);
            UNROLL for (int v = 0; v < vectors; v++) {
                piece[i][v] += of_a * of_b[v];
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < vectors; v++) {
            float *to = sums + i * stride + v * LANES;
            floats_store(to, add ? floats_load(to) + piece[i][v] : piece[i][v]);
        }
    }
}

typedef void multiply_function(const float *a, const float *b, int64_t depth, float *sums,
                               int64_t stride, bool add, int vectors);
#define MULTIPLY(rows)                                                                             \
    static void multiply_##rows(const float *a, const float *b, int64_t depth, float *sums,        \
                                int64_t stride, bool add, int vectors) {                           \
        if (vectors == PANEL_VECTORS)                                                              \
            multiply(a, b, depth, sums, stride, add, rows, PANEL_VECTORS);                         \
        else if (PANEL_VECTORS == 2 || vectors == 1)                                               \
            multiply(a, b, depth, sums, stride, add, rows, 1);                                     \
        else                                                                                       \
            multiply(a, b, depth, sums, stride, add, rows, 2);                                     \
    }
PANEL_HEIGHTS(MULTIPLY)
#define MULTIPLY_ROW(rows) multiply_##rows,
static multiply_function *const multiply_functions[] = {PANEL_HEIGHTS(MULTIPLY_ROW)};

/* The threads that work on a block: all of them, or only this one. */
struct thread_group {
    const struct native_call *call;
    const struct matmul_plan *plan;
    const struct matmul_context *context;
    float *a, *b, *sums;
    bool per_thread;
    int64_t taken;
};

/* The next of `count` pieces of work; false when there are none left. */
static bool group_take(struct thread_group *group, int64_t count, int64_t *piece) {
    if (group->per_thread) {
        *piece = group->taken++;
        if (*piece < count)
            return true;
        group->taken = 0;
        return false;
    }
    size_t begin, end;
    while (native_take(group->call, 1, &begin, &end))
        if ((int64_t)begin < count) {
            *piece = (int64_t)begin;
            return true;
        }
    return false;
}

static void group_wait(const struct thread_group *group) {
    if (!group->per_thread)
        native_barrier(group->call);
}

/* A block of the product: where it begins and how much of it there is. */
struct block {
    int64_t batch, row, column, step; /* step: along k */
    int64_t rows, columns, depth;
};

static float *a_panel(const struct thread_group *group, int64_t panel) {
    const struct matmul_plan *plan = group->plan;
    return group->a + panel * (plan->block_depth * plan->panel_rows + MATMUL_PANEL_SLACK);
}

static float *b_panel(const struct thread_group *group, int64_t panel) {
    return group->b + panel * group->plan->block_depth * PANEL_COLUMNS;
}

static void pack_a(const struct thread_group *group, const struct block *block, int64_t panel) {
    const struct matmul_plan *plan = group->plan;
    int64_t row = block->row + panel * plan->panel_rows;
    struct panel_source source = {
        .data = group->call->buffers[0],
        .type = group->context->a_type,
        .offset = block->batch * plan->a_batch + row * plan->a_row + block->step * plan->a_column,
        .across = plan->a_row,
        .along = plan->a_column,
        .count = plan->m - row,
    };
    SIMD_NAME(panel_pack)(a_panel(group, panel), plan->panel_rows, &source, block->depth);
}

static void pack_b(const struct thread_group *group, const struct block *block, int64_t panel) {
    const struct matmul_plan *plan = group->plan;
    int64_t column = block->column + panel * PANEL_COLUMNS;
    struct panel_source source = {
        .data = group->call->buffers[1],
        .type = group->context->b_type,
        .offset =
            block->batch * plan->b_batch + column * plan->b_column + block->step * plan->b_row,
        .across = plan->b_column,
        .along = plan->b_row,
        .count = plan->n - column,
    };
    if (source.type == RIDGE_Q8_0 || source.type == RIDGE_Q4_K)
        SIMD_NAME(panel_pack_quantized)
    (b_panel(group, panel), PANEL_COLUMNS, &source, block->depth, group->call->scratch);
    else SIMD_NAME(panel_pack)(b_panel(group, panel), PANEL_COLUMNS, &source, block->depth);
}

static void pack(struct thread_group *group, const struct block *block) {
    int64_t a_panels = matmul_blocks(block->rows, group->plan->panel_rows);
    int64_t b_panels = matmul_blocks(block->columns, PANEL_COLUMNS);
    for (int64_t piece; group_take(group, a_panels + b_panels, &piece);)
        if (piece < b_panels)
            pack_b(group, block, piece);
        else
            pack_a(group, block, piece - b_panels);
}

/* Adds what this block's depth contributes to the tile at (row, column) of the block. */
static void multiply_tile(const struct thread_group *group, const struct block *block, int64_t row,
                          int64_t rows, int64_t column, int64_t columns, float *sums) {
    const struct matmul_plan *plan = group->plan;
    int64_t height = plan->panel_rows, stride = matmul_tile_stride(plan);
    multiply_function *function = multiply_functions[height - 1];
    int64_t step = 0;
    do {
        int64_t depth = MIN(block->depth - step, RUN_DEPTH);
        for (int64_t j = 0; j < columns; j += PANEL_COLUMNS) {
            const float *b = b_panel(group, (column + j) / PANEL_COLUMNS) + step * PANEL_COLUMNS;
            int vectors = (int)matmul_blocks(MIN(columns - j, PANEL_COLUMNS), LANES);
            for (int64_t i = 0; i < rows; i += height)
                function(a_panel(group, (row + i) / height) + step * height, b, depth,
                         sums + i * stride + j, stride, block->step + step > 0, vectors);
        }
        step += depth;
    } while (step < block->depth);
}

static void finish_tile(const struct thread_group *group, const struct block *block, int64_t row,
                        int64_t rows, int64_t column, int64_t columns, const float *sums) {
    native_epilogue(&group->context->epilogue, group->call->scalars + MATMUL_SCALARS,
                    group->call->buffers + 2, sums, (size_t)matmul_tile_stride(group->plan),
                    block->batch, block->row + row, rows, block->column + column, columns,
                    group->call->scratch);
}

static void multiply_tiles(struct thread_group *group, const struct block *block) {
    const struct matmul_plan *plan = group->plan;
    int64_t across = matmul_blocks(block->columns, plan->tile_columns);
    int64_t tiles = across * matmul_blocks(block->rows, plan->tile_rows);
    bool one_step = plan->k <= plan->block_depth;
    for (int64_t tile; group_take(group, tiles, &tile);) {
        int64_t row = tile / across * plan->tile_rows, column = tile % across * plan->tile_columns;
        int64_t rows = MIN(plan->tile_rows, block->rows - row);
        int64_t columns = MIN(plan->tile_columns, block->columns - column);
        int64_t place = group->per_thread ? 0 : one_step ? group->call->thread : tile;
        float *sums = group->sums + place * matmul_tile_floats(plan);
        multiply_tile(group, block, row, rows, column, columns, sums);
        if (block->step + block->depth == plan->k)
            finish_tile(group, block, row, rows, column, columns, sums);
    }
}

static void run_block(struct thread_group *group, struct block *block) {
    const struct matmul_plan *plan = group->plan;
    block->rows = MIN(plan->block_rows, plan->m - block->row);
    block->columns = MIN(plan->block_columns, plan->n - block->column);
    block->step = 0;
    do {
        block->depth = MIN(plan->block_depth, plan->k - block->step);
        pack(group, block);
        group_wait(group);
        multiply_tiles(group, block);
        group_wait(group);
        block->step += block->depth;
    } while (block->step < plan->k);
}

static void run_numbered_block(struct thread_group *group, int64_t number) {
    const struct matmul_plan *plan = group->plan;
    int64_t across = matmul_blocks(plan->n, plan->block_columns);
    int64_t down = matmul_blocks(plan->m, plan->block_rows);
    struct block block = {
        .batch = number / (across * down),
        .row = number / across % down * plan->block_rows,
        .column = number % across * plan->block_columns,
    };
    run_block(group, &block);
}

static void matmul_packed(const struct native_call *call) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    int64_t area = matmul_a_floats(plan) + matmul_b_floats(plan) + matmul_tile_floats(plan);
    float *memory = (float *)call->shared + (plan->per_thread ? call->thread * area : 0);
    struct thread_group group = {
        .call = call,
        .plan = plan,
        .context = call->context,
        .a = memory,
        .b = memory + matmul_a_floats(plan),
        .sums = memory + matmul_a_floats(plan) + matmul_b_floats(plan),
        .per_thread = plan->per_thread,
    };
    if (!plan->per_thread) {
        for (int64_t number = 0; number < plan->total; number++)
            run_numbered_block(&group, number);
        return;
    }
    for (size_t begin, end; native_take(call, 1, &begin, &end);)
        for (int64_t number = (int64_t)begin; number < plan->total; number += (int64_t)call->units)
            run_numbered_block(&group, number);
}

extern native_function SIMD_NAME(matmul_streamed), SIMD_NAME(matmul_quantized);
extern const struct matmul_kernels SIMD_NAME(matmul_kernels);
const struct matmul_kernels SIMD_NAME(matmul_kernels) = {
    .panel_rows = PANEL_ROWS,
    .panel_columns = PANEL_COLUMNS,
    .run = {[MATMUL_PACKED] = matmul_packed,
            [MATMUL_STREAMED] = SIMD_NAME(matmul_streamed),
            [MATMUL_QUANTIZED] = SIMD_NAME(matmul_quantized)},
};
