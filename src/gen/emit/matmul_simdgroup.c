/* Matrix products of any shape and strides on the SIMD-group matrices of Apple's GPUs, family 7 and
 * later (M1): four SIMD groups share a tile of the result, each has a quarter of it in matrices of
 * 8 x 8. Tiles of A and B go through threadgroup memory as half or bfloat if both are of that type,
 * else as float: the products of halves are exact, and all sums are in float.
 */
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_matmul_tiled_cl[], embedded_matmul_simdgroup_cl[];

enum simdgroup_choice {
    TILE = MATMUL_OTHERS, /* rows and columns of the block's tile */
    ELEMENT,              /* enum tile_element */
    A_ALONG_K,            /* neighbors in memory are neighbors along k */
    B_ALONG_K,
};

enum tile_element { ELEMENT_FLOAT, ELEMENT_HALF, ELEMENT_BFLOAT };
static const char *const element_names[] = {"float", "half", "bfloat"};

enum { THREADS = 128, DEPTH = 16, LARGE = 64, SMALL = 32 };

static enum tile_element element_of(const struct matmul_work *work,
                                    const struct device_capabilities *device) {
    if (work->a_type == RIDGE_F16 && work->b_type == RIDGE_F16)
        return ELEMENT_HALF;
    if (work->a_type == RIDGE_BF16 && work->b_type == RIDGE_BF16 && device->bfloat)
        return ELEMENT_BFLOAT;
    return ELEMENT_FLOAT;
}

static double tile_count(const struct matmul_work *work, int64_t tile) {
    return (double)divide_up(work->m, tile) * (double)divide_up(work->n, tile) *
           (double)work->batch;
}

static bool matmul_simdgroup_plan(const struct matmul_work *work,
                                  const struct device_capabilities *device,
                                  struct kernel_request *request) {
    if (!device_has_simdgroup_matrices(device) || device->block_max < THREADS)
        return false;
    int32_t *choices = request->spec.choices;
    bool large = work->m > LARGE / 2 && work->n > LARGE / 2 &&
                 tile_count(work, LARGE) >= device->compute_units;
    choices[TILE] = large ? LARGE : SMALL;
    choices[ELEMENT] = (int32_t)element_of(work, device);
    choices[A_ALONG_K] = work->a_row != 1 || work->a_column == 1;
    choices[B_ALONG_K] = work->b_row == 1 && work->b_column != 1;
    choices[MATMUL_THREADS] = THREADS;
    double blocks = tile_count(work, choices[TILE]);
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
    return true;
}

static void matmul_simdgroup_code(const struct kernel_spec *spec,
                                  const struct device_capabilities *device,
                                  struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_macros(out, spec);
    source_define(out, "TILE_ROWS", spec->choices[TILE]);
    source_define(out, "TILE_COLUMNS", spec->choices[TILE]);
    source_define(out, "TILE_DEPTH", DEPTH);
    source_define(out, "PADDING", spec->choices[ELEMENT] == ELEMENT_FLOAT ? 4 : 8);
    source_define(out, "A_ALONG_K", spec->choices[A_ALONG_K]);
    source_define(out, "B_ALONG_K", spec->choices[B_ALONG_K]);
    buffer_printf(out, "#define TILE_TYPE %s\n", element_names[spec->choices[ELEMENT]]);
    source_section(out, embedded_matmul_tiled_cl, "macros");
    source_section(out, embedded_matmul_simdgroup_cl, "macros");
    source_matmul_begin(spec, device, generated, 0, embedded_matmul_simdgroup_cl, "shared");
    source_section(out, embedded_matmul_simdgroup_cl, "body");
    source_matmul_epilogue(out, spec, device, "stage[e]");
    source_section(out, embedded_matmul_simdgroup_cl, "end");
}

const struct matmul_kernel matmul_simdgroup = {matmul_simdgroup_plan, matmul_simdgroup_code};
