/* Products of few rows of x by two matrices at once, on CUDA's matrix units: the kernels of
 * gated_mlp and lora, which are bound by reading the matrices.
 *
 * The matrices are the left ones of the units' products and x the right one, so that 8 rows of
 * x fill them. A lane loads a few neighboring columns of each of its four k (mma.h) and
 * exchanges halves of words to combine two k of a column. The warps of a block share the
 * columns and divide k; their sums are added up in shared memory in the order in which lanes
 * hold them: word j of a lane is two neighboring columns, by two rows of x. If there are too
 * few columns for all units, two blocks of a cluster divide k as well.
 */
#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"
#include "gen/emit/mma.h"

extern const unsigned char embedded_dual_gemm_cl[];

enum dual_gemm_choice {
    THREADS,
    ROWS,   /* 8 or 16 */
    VECTOR, /* columns of the first matrix that a lane has */
    STEPS,  /* products along k whose loads are in flight together */
    RANK,   /* lora: columns of the second matrix */
    SPLIT,  /* blocks of a cluster that divide k */
};

enum dual_gemm_scalar {
    SIZE_M,
    SIZE_N,
    SIZE_K,
    X_ROW,
    FIRST_ROW,
    SECOND_ROW,
    THIRD_ROW,
    SCALE,
    SCALARS,
};

enum {
    ROWS_MAX = 16,
    RANK_MAX = 64,
    FEW_RANK = 16, /* a larger rank needs the registers of half the warps */
    COLUMN_GROUPS = 8,
    WARPS_MAX = 16,
    LENGTH_MAX = 1 << 29,     /* indices have 32 bits */
    COLUMNS_OF_UNIT = 48,     /* at most, and */
    READ_AGAIN_MAX = 1 << 29, /* n k rank: a block for 32 columns reads k rank elements again */
};

/* Whether lines of `length` can be loaded `vector` elements at a time, with indices of 32 bits. */
static bool loads(const struct dual_gemm_matrix *matrix, int64_t length, int64_t vector) {
    return matrix->row >= INT32_MIN && matrix->row <= INT32_MAX && length <= LENGTH_MAX &&
           matrix->alignment >= vector * 2 && matrix->row % vector == 0 && length % vector == 0;
}

static bool matrices_load(const struct dual_gemm_work *work, int64_t vector) {
    if (!loads(&work->first, work->n, vector))
        return false;
    if (work->family == KERNEL_LORA)
        return loads(&work->second, work->rank, 2) && loads(&work->third, work->n, 1);
    return loads(&work->second, work->n, vector);
}

bool kernel_dual_gemm_fits(const struct dual_gemm_work *work,
                           const struct device_capabilities *device) {
    /* One block sums over all of k: with few outputs and many terms the device would be
     * mostly idle. */
    bool fills = work->n >= 256 || work->k <= 8192;
    /* Separate kernels are as fast for long-running products, and if the blocks together
     * would read much of lora's second matrix again. */
    bool pays = (double)work->n <= COLUMNS_OF_UNIT * (double)device->compute_units &&
                (double)work->n * (double)work->k * (double)work->rank <= READ_AGAIN_MAX;
    return has_mma(device) && device->block_max >= WARPS_MAX * 32 &&
           (work->type == RIDGE_F16 || work->type == RIDGE_BF16) && work->m >= 1 &&
           work->m <= ROWS_MAX && work->k >= 1 && work->n >= 1 && fills && pays &&
           (work->family != KERNEL_LORA || (work->rank >= 1 && work->rank <= RANK_MAX)) &&
           loads(&work->x, work->k, 4) && matrices_load(work, 2);
}

static void dual_gemm_plan(const struct dual_gemm_work *work,
                           const struct device_capabilities *device,
                           struct kernel_request *request) {
    int32_t *choices = request->spec.choices;
    double units = device->compute_units, per_vector = (double)work->n / COLUMN_GROUPS;
    int32_t vector = matrices_load(work, 4) ? 4 : 2, split = 1;
    if (per_vector / vector < 0.9 * units && device->major >= 9)
        split = 2;
    if (per_vector / vector * split < 0.9 * units)
        vector = 2;
    bool few_warps = per_vector / vector > units || work->rank > FEW_RANK;
    choices[THREADS] = (few_warps ? WARPS_MAX / 2 : WARPS_MAX) * 32;
    choices[ROWS] = work->m > 8 ? 16 : 8;
    choices[VECTOR] = vector;
    choices[STEPS] = work->m > 8 ? 1 : 2;
    choices[RANK] = (int32_t)work->rank;
    choices[SPLIT] = split;
    source_geometry(request, (double)(split * divide_up(work->n, COLUMN_GROUPS * vector)),
                    (unsigned)choices[THREADS]);
}

bool source_dual_gemm(const struct dual_gemm_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    if (!kernel_dual_gemm_fits(work, device))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "this device has no fused kernel for these products");
    union {
        float f32;
        uint32_t bits;
    } scale = {.f32 = work->scale};
    request->spec.family = work->family;
    request->spec.types[0] = (uint8_t)work->type;
    dual_gemm_plan(work, device, request);
    request->scalars[SIZE_M] = work->m;
    request->scalars[SIZE_N] = work->n;
    request->scalars[SIZE_K] = work->k;
    request->scalars[X_ROW] = work->x.row;
    request->scalars[FIRST_ROW] = work->first.row;
    request->scalars[SECOND_ROW] = work->second.row;
    request->scalars[THIRD_ROW] = work->third.row;
    request->scalars[SCALE] = scale.bits;
    request->scalar_count = SCALARS;
    return true;
}

static void gated_result(struct buffer *out) {
    buffer_printf(out,
                  "        const float x = FIRST_SUM(row, low);\n"
                  "        float value = (%s) * SECOND_SUM(row, low);\n",
                  op_info(OP_SILU)->f32);
}

static void dual_gemm_begin(const struct kernel_spec *spec,
                            const struct device_capabilities *device,
                            struct kernel_generated *generated) {
    enum ridge_dtype type = spec->types[0];
    struct source_parameter buffers[5] = {
        {.name = "x", .dtype = type},
        {.name = "first_matrix", .dtype = type},
        {.name = "second_matrix", .dtype = type},
    };
    unsigned count = 3;
    if (spec->family == KERNEL_LORA)
        buffers[count++] = (struct source_parameter){.name = "third_matrix", .dtype = type};
    buffers[count++] = (struct source_parameter){.name = "result", .dtype = type, .stored = true};
    /* Two blocks of half the warps, where their sums leave enough registers. */
    bool halved = spec->choices[THREADS] < WARPS_MAX * 32;
    unsigned blocks = halved && spec->choices[RANK] <= FEW_RANK ? 2 : 1;
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = count,
        .scalar_count = SCALARS,
        .threads = (unsigned)spec->choices[THREADS],
        .blocks_per_unit = blocks,
        .cluster = (unsigned)spec->choices[SPLIT],
    };
    source_kernel_begin(&generated->source, device, &kernel);
    source_kernel_body(&generated->source, device, &kernel);
}

bool source_dual_gemm_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    bool lora = spec->family == KERNEL_LORA;
    source_device_prelude(out, device);
    source_element_macros(out, spec->types[0]);
    source_mma(out, spec->types[0]);
    source_define(out, "THREADS", spec->choices[THREADS]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "STEPS", spec->choices[STEPS]);
    source_define(out, "RANK", spec->choices[RANK]);
    source_define(out, "SPLIT", spec->choices[SPLIT]);
    source_section(out, embedded_dual_gemm_cl, "macros");
    if (spec->choices[SPLIT] > 1)
        source_section(out, embedded_dual_gemm_cl, "cluster");
    source_section(out, embedded_dual_gemm_cl, lora ? "lora_macros" : "gated_macros");
    dual_gemm_begin(spec, device, generated);
    if (lora)
        source_section(out, embedded_dual_gemm_cl, "lora_shared");
    source_section(out, embedded_dual_gemm_cl, "head");
    if (lora)
        source_section(out, embedded_dual_gemm_cl, "lora_load");
    source_section(out, embedded_dual_gemm_cl, "loop");
    if (lora)
        source_section(out, embedded_dual_gemm_cl, "lora_result");
    else
        gated_result(out);
    source_section(out, embedded_dual_gemm_cl, "end");
    return true;
}
