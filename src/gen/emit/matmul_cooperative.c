/* Products of f16 matrices of any shape and strides on the cooperative matrices of Vulkan: four
 * subgroups share a tile of the result, each has a quarter of it in matrices of 16 x 16. Tiles of A
 * and B go through shared memory. Products of halves are exact in float, and all sums are in float.
 */
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_matmul_tiled_cl[], embedded_matmul_cooperative_cl[];

enum cooperative_choice {
    A_ALONG_K = MATMUL_OTHERS, /* neighbors in memory are neighbors along k */
    B_ALONG_K,
};

enum { SUBGROUPS = 4, TILE = 64, DEPTH = 16, PADDING = 8 };

/* Tiles of A and B, and the sums. */
enum { SHARED_BYTES = 2 * (TILE * (DEPTH + PADDING) + DEPTH * (TILE + PADDING)) + 4 * TILE * TILE };

static bool matmul_cooperative_plan(const struct matmul_work *work,
                                    const struct device_capabilities *device,
                                    struct kernel_request *request) {
    uint32_t threads = SUBGROUPS * device->subgroup;
    if (!device->cooperative || work->a_type != RIDGE_F16 || work->b_type != RIDGE_F16 ||
        device->block_max < threads || device->shared_bytes < SHARED_BYTES ||
        TILE * DEPTH % threads != 0)
        return false;
    int32_t *choices = request->spec.choices;
    choices[A_ALONG_K] = work->a_row != 1 || work->a_column == 1;
    choices[B_ALONG_K] = work->b_row == 1 && work->b_column != 1;
    choices[MATMUL_THREADS] = (int32_t)threads;
    double blocks =
        (double)divide_up(work->m, TILE) * (double)divide_up(work->n, TILE) * (double)work->batch;
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
    return true;
}

static void matmul_cooperative_code(const struct kernel_spec *spec,
                                    const struct device_capabilities *device,
                                    struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_macros(out, spec);
    source_define(out, "TILE_ROWS", TILE);
    source_define(out, "TILE_COLUMNS", TILE);
    source_define(out, "TILE_DEPTH", DEPTH);
    source_define(out, "PADDING", PADDING);
    source_define(out, "A_ALONG_K", spec->choices[A_ALONG_K]);
    source_define(out, "B_ALONG_K", spec->choices[B_ALONG_K]);
    source_section(out, embedded_matmul_tiled_cl, "macros");
    source_section(out, embedded_matmul_cooperative_cl, "macros");
    source_matmul_begin(spec, device, generated, 0, embedded_matmul_cooperative_cl, "shared");
    source_section(out, embedded_matmul_cooperative_cl, "body");
    source_matmul_epilogue(out, spec, device, "stage[e]");
    source_section(out, embedded_matmul_cooperative_cl, "end");
}

const struct matmul_kernel matmul_cooperative = {matmul_cooperative_plan, matmul_cooperative_code};
