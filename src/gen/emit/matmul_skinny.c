/* Matrix products with few rows of A, in any language: B is read once, in wide loads, and every
 * thread has partial sums for all rows.
 *
 * If B is [k][n], a thread handles a few neighboring columns and k at a fixed stride; if it is
 * [n][k], a group of threads shares a few columns and walks k together. Either way k is divided
 * among the threads of one block, whose sums are combined in shared memory at the end.
 */
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_matmul_skinny_cl[];

enum skinny_choice {
    ROWS = MATMUL_OTHERS, /* at least m: a power of two */
    VECTOR,               /* elements of B that are loaded together */
    ACROSS,               /* [k][n]: threads side by side; [n][k]: columns of a group */
    LANES,                /* [n][k]: threads of a group */
    A_VECTOR,             /* whether A's rows can be loaded VECTOR elements at a time */
};

enum { SUMS_MAX = 64, LANES_MIN = 8 };

static int64_t element_bytes(enum ridge_dtype type) {
    return type == RIDGE_F32 ? 4 : 2;
}

/* The widest vector load, up to 16 bytes, that is aligned everywhere along lines that are `line`
 * and `batch` elements apart and `length` long. */
static int32_t vector_of(enum ridge_dtype type, uint32_t alignment, int64_t length, int64_t line,
                         int64_t batch) {
    int64_t bytes = element_bytes(type);
    int64_t vector = 16 / bytes;
    while (vector > 1 && (alignment < vector * bytes || length % vector != 0 ||
                          line % vector != 0 || batch % vector != 0))
        vector /= 2;
    return (int32_t)vector;
}

static int32_t rows_of(int64_t m) {
    int32_t rows = 1;
    while (rows < m)
        rows *= 2;
    return rows;
}

/* Without shuffles all sums go through shared memory, so use fewer threads. */
static int32_t threads_of(const struct device_capabilities *device) {
    int32_t max = source_subgroup(device) > 1 ? 256 : 128;
    return (int32_t)device->block_max >= max ? max : device->block_max >= 64 ? 64 : 1;
}

static void set_grid(struct kernel_request *request, double blocks) {
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
}

static bool matmul_skinny_plan_rows(const struct matmul_work *work,
                                    const struct device_capabilities *device,
                                    struct kernel_request *request) {
    int32_t *choices = request->spec.choices, threads = threads_of(device);
    if ((work->b_column != 1 && work->n > 1) || !source_is_float(work->b_type) || threads == 1)
        return false;
    int32_t rows = rows_of(work->m);
    int32_t vector =
        vector_of(work->b_type, work->b_alignment, work->n, work->b_row, work->b_batch);
    while (vector > 1 && rows * vector > SUMS_MAX)
        vector /= 2;
    int32_t across = 32;
    while (across > 4 && (double)divide_up(work->n, across * vector) * (double)work->batch <
                             2.0 * device->compute_units)
        across /= 2;
    choices[MATMUL_THREADS] = threads;
    choices[ROWS] = rows;
    choices[VECTOR] = vector;
    choices[ACROSS] = across;
    set_grid(request, (double)divide_up(work->n, across * vector) * (double)work->batch);
    return true;
}

static bool matmul_skinny_plan_columns(const struct matmul_work *work,
                                       const struct device_capabilities *device,
                                       struct kernel_request *request) {
    int32_t *choices = request->spec.choices, threads = threads_of(device);
    if ((work->b_row != 1 && work->k > 1) || !source_is_float(work->b_type) || threads == 1)
        return false;
    int32_t rows = rows_of(work->m);
    int32_t vector =
        vector_of(work->b_type, work->b_alignment, work->k, work->b_column, work->b_batch);
    int32_t a_vector = work->a_column == 1 ? vector_of(work->a_type, work->a_alignment, work->k,
                                                       work->a_row, work->a_batch)
                                           : 1;
    int32_t columns = rows >= 16 ? 2 : 4, lanes = threads;
    while (columns > 1 && work->n < (int64_t)columns * device->compute_units * 2)
        columns /= 2;
    while (lanes > LANES_MIN &&
           (lanes * vector * 2 > work->k ||
            (double)divide_up(work->n, columns) * lanes > 2.0 * threads * device->compute_units))
        lanes /= 2;
    choices[MATMUL_THREADS] = threads;
    choices[ROWS] = rows;
    choices[VECTOR] = vector;
    choices[ACROSS] = columns;
    choices[LANES] = lanes;
    choices[A_VECTOR] = a_vector >= vector;
    int64_t groups = divide_up(work->n, columns);
    set_grid(request, (double)divide_up(groups, threads / lanes) * (double)work->batch);
    return true;
}

static void define_loads(struct buffer *out, const struct kernel_spec *spec) {
    int vector = spec->choices[VECTOR];
    buffer_printf(out, "#define LOAD_B_VECTOR(p, x) LOAD_B_%d(p, x, 0)\n", vector);
    if (spec->choices[A_VECTOR])
        buffer_printf(out, "#define LOAD_A_VECTOR(p, x) LOAD_A_%d(p, x, 0)\n", vector);
    else
        source_section(out, embedded_matmul_skinny_cl, "gather_a");
}

static void define(struct buffer *out, const struct kernel_spec *spec) {
    source_matmul_macros(out, spec);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "ACROSS", spec->choices[ACROSS]);
    define_loads(out, spec);
}

static void matmul_skinny_code_rows(const struct kernel_spec *spec,
                                    const struct device_capabilities *device,
                                    struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    define(out, spec);
    source_section(out, embedded_matmul_skinny_cl, "rows_macros");
    source_matmul_begin(spec, device, generated, 0, embedded_matmul_skinny_cl, "rows_shared");
    source_section(out, embedded_matmul_skinny_cl, "rows");
    source_matmul_epilogue(out, spec, device, "sums[e / COLUMNS][e % COLUMNS]");
    source_section(out, embedded_matmul_skinny_cl, "end");
}

static void matmul_skinny_code_columns(const struct kernel_spec *spec,
                                       const struct device_capabilities *device,
                                       struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    define(out, spec);
    source_define(out, "LANES", spec->choices[LANES]);
    source_section(out, embedded_matmul_skinny_cl, "columns_macros");
    source_matmul_begin(spec, device, generated, 0, embedded_matmul_skinny_cl, "columns_shared");
    source_section(out, embedded_matmul_skinny_cl, "columns");
    source_lanes_tail(out);
    source_matmul_epilogue(out, spec, device, "total");
    source_section(out, embedded_matmul_skinny_cl, "end");
}

const struct matmul_kernel matmul_skinny_rows = {matmul_skinny_plan_rows, matmul_skinny_code_rows};
const struct matmul_kernel matmul_skinny_columns = {matmul_skinny_plan_columns,
                                                    matmul_skinny_code_columns};
