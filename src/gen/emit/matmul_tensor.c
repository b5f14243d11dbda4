/* Matrix products with few rows of A on CUDA's matrix units, so that arithmetic is never the
 * bottleneck: a warp multiplies up to 16 rows by 16 k of B at once.
 *
 * A lane's four k (mma.h) are neighbors in memory. When B is [k][n] a lane loads a few
 * neighboring columns of each of its four k and exchanges halves of words to bring two k of
 * one column together; when B is [n][k] it loads eight k of one column, which is two products'
 * worth, as they are. The warps of a block share the columns and divide k; their sums are added
 * up in shared memory in the order in which lanes hold them.
 */
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"
#include "gen/emit/mma.h"

extern const unsigned char embedded_matmul_tensor_cl[];

enum tensor_choice {
    ROWS = MATMUL_OTHERS, /* 8 or 16 */
    VECTOR,               /* columns of a lane */
    STEPS,                /* products along k whose loads are in flight together */
    A_VECTOR,             /* A's rows can be loaded as B's words */
};

enum { WARPS_MAX = 32, COLUMN_GROUPS = 8 };

static bool halves(const struct matmul_work *work, const struct device_capabilities *device) {
    return has_mma(device) && device->block_max >= WARPS_MAX * 32 && work->a_type == work->b_type &&
           (work->a_type == RIDGE_F16 || work->a_type == RIDGE_BF16);
}

/* Whether lines of A can be loaded `vector` elements at a time. */
static bool a_loads(const struct matmul_work *work, int64_t vector) {
    return work->a_column == 1 && work->a_alignment >= vector * 2 && work->k % vector == 0 &&
           (work->m == 1 || work->a_row % vector == 0) &&
           (work->batch == 1 || work->a_batch % vector == 0);
}

static bool b_loads(const struct matmul_work *work, int64_t vector, int64_t length, int64_t line) {
    return work->b_alignment >= vector * 2 && length % vector == 0 && line % vector == 0 &&
           (work->batch == 1 || work->b_batch % vector == 0);
}

/* Enough warps to saturate memory, but no more than there are steps along k. */
static int32_t warps_of(double strips, int64_t steps, int32_t min, int32_t max,
                        const struct device_capabilities *device) {
    int32_t warps = 1;
    while (warps < max && warps * 2 <= steps &&
           (warps < min || strips * warps < 32.0 * device->compute_units))
        warps *= 2;
    return warps;
}

static void finish_plan(const struct matmul_work *work, struct kernel_request *request,
                        int32_t warps, int32_t vector) {
    int32_t *choices = request->spec.choices;
    choices[MATMUL_THREADS] = warps * 32;
    choices[ROWS] = work->m > 8 ? 16 : 8;
    choices[VECTOR] = vector;
    double strips =
        (double)divide_up(work->n, (int64_t)COLUMN_GROUPS * vector) * (double)work->batch;
    request->grid[0] = (uint32_t)(strips < INT32_MAX ? strips : INT32_MAX);
}

static bool matmul_tensor_plan_rows(const struct matmul_work *work,
                                    const struct device_capabilities *device,
                                    struct kernel_request *request) {
    if (!halves(work, device) || work->b_column != 1)
        return false;
    int32_t vector = 8;
    while (vector >= 2 && !b_loads(work, vector, work->n, work->b_row))
        vector /= 2;
    if (vector < 2)
        return false;
    double per_vector = (double)work->n / COLUMN_GROUPS * (double)work->batch;
    while (vector > 2 && per_vector / vector < 0.9 * device->compute_units)
        vector /= 2;
    int32_t max = vector == 2 ? WARPS_MAX : WARPS_MAX / 2;
    int32_t warps = warps_of(per_vector / vector, divide_up(work->k, 16), 8, max, device);
    request->spec.choices[A_VECTOR] = a_loads(work, 4);
    request->spec.choices[STEPS] = vector == 4 ? 4 : 2;
    finish_plan(work, request, warps, vector);
    return true;
}

static bool matmul_tensor_plan_columns(const struct matmul_work *work,
                                       const struct device_capabilities *device,
                                       struct kernel_request *request) {
    if (!halves(work, device) || work->b_row != 1 || !b_loads(work, 8, work->k, work->b_column))
        return false;
    double strips = (double)divide_up(work->n, COLUMN_GROUPS) * (double)work->batch;
    int32_t warps = warps_of(strips, divide_up(work->k, 64), 4, 16, device);
    request->spec.choices[A_VECTOR] = a_loads(work, 8);
    request->spec.choices[STEPS] = 4;
    finish_plan(work, request, warps, 1);
    return true;
}

static void matmul_tensor_code(const struct kernel_spec *spec,
                               const struct device_capabilities *device,
                               struct kernel_generated *generated, bool rows) {
    struct buffer *out = &generated->source;
    source_matmul_macros(out, spec);
    source_mma(out, spec->types[0]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "STEPS", spec->choices[STEPS]);
    source_define(out, "A_VECTOR", spec->choices[A_VECTOR]);
    source_define(out, "A_WORDS", rows ? 2 : 4);
    source_section(out, embedded_matmul_tensor_cl, "macros");
    source_section(out, embedded_matmul_tensor_cl, "load_a");
    if (rows)
        source_section(out, embedded_matmul_tensor_cl, "rows_load");
    source_matmul_begin(spec, device, generated, 0, NULL, NULL);
    source_section(out, embedded_matmul_tensor_cl, "head");
    source_section(out, embedded_matmul_tensor_cl, rows ? "rows" : "columns");
    source_section(out, embedded_matmul_tensor_cl, "tail");
    source_matmul_epilogue(out, spec, device, "total");
    source_section(out, embedded_matmul_tensor_cl, "end");
}

static void matmul_tensor_code_rows(const struct kernel_spec *spec,
                                    const struct device_capabilities *device,
                                    struct kernel_generated *generated) {
    matmul_tensor_code(spec, device, generated, true);
}

static void matmul_tensor_code_columns(const struct kernel_spec *spec,
                                       const struct device_capabilities *device,
                                       struct kernel_generated *generated) {
    matmul_tensor_code(spec, device, generated, false);
}

const struct matmul_kernel matmul_tensor_rows = {matmul_tensor_plan_rows, matmul_tensor_code_rows};
const struct matmul_kernel matmul_tensor_columns = {matmul_tensor_plan_columns,
                                                    matmul_tensor_code_columns};
