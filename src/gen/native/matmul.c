/* Plans a matrix product on the CPU: which of the three methods of matmul.h, the blocks, and the
 * distribution of work. The kernels themselves are in simd/. */
#include "base/min_max.h"
#include "gen/native/matmul.h"

#include "gen/backends.h"
#include "gen/native/blocks.h"
#include "gen/native/epilogue.h"
#include "gen/native/isa.h"

SIMD_DECLARE(const struct matmul_kernels, matmul_kernels)
static const struct matmul_kernels *const kernels[] = SIMD_ROWS(&matmul_kernels);

/* Places in the specification's choices. */
enum { CHOICE_PATH, CHOICE_ISA, CHOICE_SWAPPED };

enum {
    TINY_WORK = 1 << 22,     /* multiplications that one thread does sooner than two */
    TINY_BYTES = 128 * 1024, /* of B, likewise */
    UNITS_PER_THREAD = 4,    /* so that a delayed thread does not delay the others for long */
    UNITS_MAX = 1 << 20,
    NARROW = 64,      /* rows or columns: too few to pack the other side for all */
    ALONE_ROWS = 224, /* of blocks that a thread packs for itself */
    ALONE_COLUMNS = 512,
    PER_THREAD_DEPTH = 512,
    TILE_ROWS = 224, /* with TILE_COLUMNS: the sums and their operands fit a core's cache */
    TILE_COLUMNS = 256,
    BLOCK_DEPTH = 2048,
    PART_DEPTH = 1024, /* minimum */
    QUANTIZED_ROWS_BYTES = 64 * 1024 * 1024,
};

static int64_t round_up(int64_t size, int64_t step) {
    return matmul_blocks(size, step) * step;
}

/* Splits `size` into equal pieces of at most `piece`, multiples of `step`. */
static int64_t even_piece(int64_t size, int64_t piece, int64_t step) {
    int64_t pieces = MAX(1, matmul_blocks(size, round_up(piece, step)));
    return MAX(step, round_up(matmul_blocks(size, pieces), step));
}

static bool is_quantized(enum ridge_dtype type) {
    return type == RIDGE_Q8_0 || type == RIDGE_Q4_K;
}

static bool is_float(enum ridge_dtype type) {
    return type == RIDGE_F32 || type == RIDGE_F16 || type == RIDGE_BF16;
}

/* Multiplications in all; a double because sizes may be anything. */
static double work_of(const struct matmul_plan *plan) {
    return (double)plan->batch * (double)plan->m * (double)plan->n * (double)plan->k;
}

/* ---- Packed ---- */

static bool better_alone(const struct matmul_plan *plan, int64_t threads) {
    bool small = plan->m <= ALONE_COLUMNS && plan->n <= ALONE_COLUMNS;
    return work_of(plan) < TINY_WORK || MIN(plan->m, plan->n) <= NARROW ||
           (small && plan->batch >= 2 * threads);
}

static int64_t plan_blocks(const struct matmul_plan *plan) {
    return plan->batch * matmul_blocks(plan->m, plan->block_rows) *
           matmul_blocks(plan->n, plan->block_columns);
}

static void plan_per_thread(struct matmul_plan *plan, int64_t width, int64_t threads) {
    plan->per_thread = true;
    plan->block_depth = MIN(round_up(MAX(plan->k, 1), Q4_K_WEIGHTS), PER_THREAD_DEPTH);
    plan->block_rows = even_piece(plan->m, ALONE_ROWS, plan->panel_rows);
    plan->block_columns = even_piece(plan->n, ALONE_COLUMNS, width);
    bool tiny = work_of(plan) < TINY_WORK;
    while (!tiny && plan_blocks(plan) < UNITS_PER_THREAD * threads) {
        bool columns = plan->block_columns >= plan->block_rows;
        int64_t *size = columns ? &plan->block_columns : &plan->block_rows;
        int64_t step = columns ? width : plan->panel_rows;
        if (*size < 4 * step)
            break;
        *size = round_up(*size / 2, step);
    }
    plan->tile_rows = plan->block_rows;
    plan->tile_columns = plan->block_columns;
}

static void plan_shared(struct matmul_plan *plan, int64_t width, int64_t threads) {
    int64_t block = threads <= 16 ? 2048 : 4096;
    plan->block_depth = MIN(round_up(MAX(plan->k, 1), Q4_K_WEIGHTS), BLOCK_DEPTH);
    plan->block_rows = even_piece(plan->m, block, plan->panel_rows);
    plan->block_columns = even_piece(plan->n, block, width);
    plan->tile_rows = even_piece(plan->block_rows, TILE_ROWS, plan->panel_rows);
    plan->tile_columns = even_piece(plan->block_columns, TILE_COLUMNS, width);
    while (matmul_block_tiles(plan) < UNITS_PER_THREAD * threads) {
        if (plan->tile_columns >= plan->tile_rows && plan->tile_columns > width)
            plan->tile_columns = round_up(plan->tile_columns / 2, width);
        else if (plan->tile_rows > plan->panel_rows)
            plan->tile_rows = round_up(plan->tile_rows / 2, plan->panel_rows);
        else
            break;
    }
}

static void plan_packed(struct matmul_plan *plan, const struct matmul_kernels *kernels_of_isa,
                        int64_t threads, struct kernel_request *request) {
    int64_t panels = MAX(1, matmul_blocks(plan->m, kernels_of_isa->panel_rows));
    plan->panel_rows = MAX(1, matmul_blocks(plan->m, panels));
    if (better_alone(plan, threads))
        plan_per_thread(plan, kernels_of_isa->panel_columns, threads);
    else
        plan_shared(plan, kernels_of_isa->panel_columns, threads);
    plan->total = plan_blocks(plan);

    int64_t floats = matmul_a_floats(plan) + matmul_b_floats(plan);
    int64_t tile = matmul_tile_floats(plan), units;
    if (plan->per_thread) {
        floats = threads * (floats + tile);
        units = work_of(plan) < TINY_WORK ? 1 : plan->total;
    } else {
        int64_t tiles = matmul_block_tiles(plan);
        floats += tile * (plan->k > plan->block_depth ? tiles : threads);
        units = MAX(tiles, plan->block_rows / plan->panel_rows +
                               plan->block_columns / kernels_of_isa->panel_columns);
    }
    request->grid[0] = (uint32_t)MIN(MAX(units, 1), UNITS_MAX);
    request->shared_bytes = (uint32_t)(floats * (int64_t)sizeof(float));
}

/* ---- Streamed and quantized ---- */

/* Distributes columns, and steps of k if there are too few columns. A unit has at least `min`
 * columns. */
static void plan_units(struct matmul_plan *plan, int64_t min, double b_bytes, int64_t threads,
                       struct kernel_request *request) {
    bool tiny = b_bytes < TINY_BYTES || threads == 1;
    int64_t columns = tiny ? plan->n : matmul_blocks(plan->n, UNITS_PER_THREAD * threads);
    plan->columns = MIN(round_up(MAX(columns, 1), min), MATMUL_STREAM_COLUMNS);
    int64_t units = plan->batch * matmul_blocks(plan->n, plan->columns);
    plan->parts = 1;
    plan->part_depth = round_up(MAX(plan->k, 1), Q4_K_WEIGHTS);
    if (!tiny && units > 0 && units < 2 * threads) {
        int64_t wanted = matmul_blocks(UNITS_PER_THREAD * threads, units);
        plan->parts = MAX(1, MIN(wanted, plan->k / PART_DEPTH));
        plan->part_depth = round_up(MAX(1, matmul_blocks(plan->k, plan->parts)), Q4_K_WEIGHTS);
        plan->parts = MAX(1, matmul_blocks(plan->k, plan->part_depth));
    }
    plan->total = units * plan->parts;
    request->grid[0] = tiny ? 1 : (uint32_t)MIN(MAX(plan->total, 1), UNITS_MAX);
    if (plan->parts > 1) {
        plan->part_sums = round_up(request->shared_bytes, 64);
        request->shared_bytes = (uint32_t)(plan->part_sums + plan->total * plan->m * plan->columns *
                                                                 (int64_t)sizeof(float));
    }
}

static double quantized_rows_bytes(const struct matmul_plan *plan) {
    return (double)plan->batch * (double)plan->m *
           (double)matmul_blocks(plan->k, MATMUL_ACTIVATIONS) * sizeof(struct matmul_activations);
}

static bool can_stream(const struct matmul_plan *plan) {
    return plan->m > 0 && plan->m <= MATMUL_STREAM_ROWS &&
           (plan->b_row == 1 || plan->b_column == 1 || plan->n == 1 || plan->k == 1);
}

/* The product's transpose: rows are columns, A is B. */
static struct matmul_plan swapped(const struct matmul_plan *plan) {
    struct matmul_plan other = *plan;
    other.m = plan->n;
    other.n = plan->m;
    other.a_batch = plan->b_batch;
    other.a_row = plan->b_column;
    other.a_column = plan->b_row;
    other.b_batch = plan->a_batch;
    other.b_row = plan->a_column;
    other.b_column = plan->a_row;
    other.swapped = true;
    return other;
}

static void plan_streamed(struct matmul_plan *plan, size_t b_element, int64_t threads,
                          struct kernel_request *request) {
    /* The stride of an axis of size 1 is arbitrary: set it to a suitable value. */
    if (plan->n == 1)
        plan->b_column = plan->b_row == 1 ? 0 : 1;
    else if (plan->k == 1 && plan->b_column != 1)
        plan->b_row = 1;
    int64_t min = plan->b_column == 1 ? 64 : 8;
    double b_bytes = (double)plan->batch * (double)plan->n * (double)plan->k * (double)b_element;
    plan_units(plan, min, b_bytes, threads, request);
}

static void plan_quantized(struct matmul_plan *plan, int64_t threads,
                           struct kernel_request *request) {
    double rows = quantized_rows_bytes(plan);
    request->shared_bytes = (uint32_t)round_up((int64_t)rows, 64);
    double b_bytes = (double)plan->batch * (double)plan->n * (double)plan->k;
    plan_units(plan, 8, b_bytes, threads, request);
}

static enum matmul_path plan_path(struct matmul_plan *plan, enum ridge_dtype b_type) {
    if (is_quantized(b_type))
        return plan->m > 0 && plan->m <= MATMUL_FEW_ROWS &&
                       quantized_rows_bytes(plan) <= QUANTIZED_ROWS_BYTES
                   ? MATMUL_QUANTIZED
                   : MATMUL_PACKED;
    if (can_stream(plan))
        return MATMUL_STREAMED;
    struct matmul_plan other = swapped(plan);
    if (!can_stream(&other))
        return MATMUL_PACKED;
    *plan = other;
    return MATMUL_STREAMED;
}

static bool check(const struct matmul_work *work, struct status *status) {
    if (!is_float(work->a_type) || !(is_float(work->b_type) || is_quantized(work->b_type)))
        return status_fail(status, STATUS_USAGE,
                           "a matrix product takes f32, f16 or bf16, and quantized weights on the "
                           "right, not %s x %s; cast first",
                           ridge_dtype_name(work->a_type), ridge_dtype_name(work->b_type));
    if (!is_quantized(work->b_type))
        return true;
    int64_t weights = work->b_type == RIDGE_Q8_0 ? Q8_0_WEIGHTS : Q4_K_WEIGHTS;
    if (work->k % weights != 0 || work->b_column % weights != 0 || work->b_batch % weights != 0 ||
        (work->b_row != 1 && work->k > 1))
        return status_fail(status, STATUS_USAGE,
                           "the columns of a %s matrix are whole blocks of %lld weights, one after "
                           "the other; here they are %lld long",
                           ridge_dtype_name(work->b_type), (long long)weights, (long long)work->k);
    return true;
}

bool native_matmul(const struct matmul_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, struct status *status) {
    unsigned epilogue_scalars = native_program_scalars(&work->epilogue, &work->shape, NULL);
    if (!check(work, status))
        return false;
    if (MATMUL_SCALARS + epilogue_scalars > LAUNCH_SCALARS_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the epilogue of the matrix product has %u sizes, strides and "
                           "constants; the maximum is %u; compute it in two steps",
                           epilogue_scalars, (unsigned)(LAUNCH_SCALARS_MAX - MATMUL_SCALARS));
    struct matmul_plan plan = {
        .batch = work->batch,
        .m = work->m,
        .n = work->n,
        .k = work->k,
        .a_batch = work->a_batch,
        .a_row = work->a_row,
        .a_column = work->a_column,
        .b_batch = work->b_batch,
        .b_row = work->b_row,
        .b_column = work->b_column,
    };
    const struct simd_isa *isa = simd_best();
    int64_t threads = MAX(1, device->compute_units);
    enum matmul_path path = plan_path(&plan, work->b_type);
    enum ridge_dtype streamed_type = plan.swapped ? work->a_type : work->b_type;
    if (path == MATMUL_PACKED)
        plan_packed(&plan, kernels[isa->index], threads, request);
    else if (path == MATMUL_STREAMED)
        plan_streamed(&plan, ridge_dtype_bytes(streamed_type, 1), threads, request);
    else
        plan_quantized(&plan, threads, request);

    request->spec.family = KERNEL_MATMUL;
    request->spec.types[0] = (uint8_t)work->a_type;
    request->spec.types[1] = (uint8_t)work->b_type;
    request->spec.choices[CHOICE_PATH] = path;
    request->spec.choices[CHOICE_ISA] = (int32_t)isa->index;
    request->spec.choices[CHOICE_SWAPPED] = plan.swapped != 0;
    request->spec.has_program = true;
    request->spec.program = work->epilogue;
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = request->block[1] = request->block[2] = 1;
    memcpy(request->scalars, &plan, sizeof plan);
    native_program_scalars(&work->epilogue, &work->shape, request->scalars + MATMUL_SCALARS);
    request->scalar_count = MATMUL_SCALARS + epilogue_scalars;
    return true;
}

bool native_matmul_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status) {
    (void)device;
    bool swap = spec->choices[CHOICE_SWAPPED];
    struct matmul_context context;
    memset(&context, 0, sizeof context);
    context.a_type = spec->types[swap ? 1 : 0];
    context.b_type = spec->types[swap ? 0 : 1];
    context.epilogue = spec->program;
    buffer_append(&generated->source, &context, sizeof context);
    if (!buffer_ok(&generated->source, status))
        return false;
    generated->code.function = kernels[spec->choices[CHOICE_ISA]]->run[spec->choices[CHOICE_PATH]];
    generated->code.context = generated->source.data;
    generated->code.context_size = sizeof context;
    generated->code.scratch_bytes = NATIVE_EPILOGUE_SCRATCH + MATMUL_SCRATCH;
    return true;
}

/* ---- What the kernels that do not pack share ---- */

float *matmul_part_sums(const struct native_call *call, const struct matmul_plan *plan,
                        int64_t number) {
    float *first = (float *)((char *)call->shared + plan->part_sums);
    return first + number * plan->m * plan->columns;
}

/* Rows become columns: at most MATMUL_STREAM_ROWS of MATMUL_STREAM_COLUMNS. */
static void transpose(const float *from, int64_t stride, int64_t rows, int64_t columns, float *to) {
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++)
            to[j * rows + i] = from[i * stride + j];
}

void matmul_finish_unit(const struct native_call *call, int64_t unit, const float *sums) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    const struct matmul_context *context = call->context;
    const int64_t *scalars = call->scalars + MATMUL_SCALARS;
    int64_t across = matmul_blocks(plan->n, plan->columns);
    int64_t batch = unit / across, column = unit % across * plan->columns;
    int64_t columns = MIN(plan->columns, plan->n - column);
    if (!plan->swapped) {
        native_epilogue(&context->epilogue, scalars, call->buffers + 2, sums, (size_t)plan->columns,
                        batch, 0, plan->m, column, columns, call->scratch);
        return;
    }
    float *turned = matmul_scratch(call) + MATMUL_TURNED;
    transpose(sums, plan->columns, plan->m, columns, turned);
    native_epilogue(&context->epilogue, scalars, call->buffers + 2, turned, (size_t)plan->m, batch,
                    column, columns, 0, plan->m, call->scratch);
}

void matmul_join_parts(const struct native_call *call) {
    const struct matmul_plan *plan = (const struct matmul_plan *)call->scalars;
    int64_t units = plan->total / plan->parts, floats = plan->m * plan->columns;
    for (size_t begin, end; native_take(call, 1, &begin, &end);)
        for (int64_t unit = (int64_t)begin; unit < units; unit += (int64_t)call->units) {
            float *sums = matmul_part_sums(call, plan, unit * plan->parts);
            for (int64_t part = 1; part < plan->parts; part++)
                for (int64_t i = 0; i < floats; i++)
                    sums[i] += sums[part * floats + i];
            matmul_finish_unit(call, unit, sums);
        }
}
