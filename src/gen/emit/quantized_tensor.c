/* Products by a Q4_K matrix on CUDA's matrix units, bound by reading the matrix.
 *
 * A warp takes 16 columns of B (lines of the quantized [n][k]) and a block of 256 weights of each
 * at a time: the weights are the left matrix of a product here, x the right one. Weights become f16
 * without a conversion: their 4 bits are a subnormal number, q times 2^-24 (or 2^-20, where they
 * lie 4 bits higher), which a product takes exactly.
 *
 * A product sums over the lanes of a quad, but these hold weights of two sub-blocks (a lane loads
 * 16 bytes, two of them 32, the quants of sub-blocks 2 j and 2 j + 1), whose scales differ. So x is
 * given in two columns, with zeros for the one half of the quad and for the other, and the two
 * columns of the product are the sums of the two. When x has one or two rows only, the columns left
 * over keep apart what else has scales of its own (SLOTS), so that the lanes share the scaling.
 *
 * x lies in shared memory in the order in which the lanes need it. f16 is taken as it is; bf16 and
 * f32 are scaled by a power of two for each 32 elements, and f32 becomes two rows of f16 that add
 * up to it, to 22 bits.
 */
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"
#include "gen/emit/mma.h"

extern const unsigned char embedded_quantized_tensor_cl[];

enum quantized_choice {
    ROWS = MATMUL_OTHERS, /* of A per block: at least m, or as many as fit */
    PARTS,                /* rows of f16 for a row of A */
    SPLIT,                /* warps that divide k */
    STAGE,                /* blocks of 256 k in shared memory at a time */
    A_VECTOR,             /* A's rows can be loaded 8 elements at a time */
};

enum { WARPS = 16, LINES = 16, BLOCK_WEIGHTS = 256, X_ROWS_MAX = 16, SHARED_LIMIT = 96 * 1024 };

/* Shared memory for 256 k of a row of x: f16, and a sum and a unit for each 32. */
static int32_t stage_bytes(int32_t x_rows) {
    return x_rows * (BLOCK_WEIGHTS * 2 + 8 * 4 + 8 * 4);
}

static int32_t rows_of(int64_t m, int32_t parts) {
    int32_t rows = 1;
    while (rows < m && rows * 2 * parts <= X_ROWS_MAX)
        rows *= 2;
    return rows;
}

static uint32_t bounded(int64_t count, int64_t max) {
    return (uint32_t)(count < max ? count : max);
}

static bool a_loads(const struct matmul_work *work) {
    return work->a_column == 1 && work->a_alignment >= 16 &&
           (work->m == 1 || work->a_row % 8 == 0) && (work->batch == 1 || work->a_batch % 8 == 0);
}

static bool matmul_quantized_tensor_plan(const struct matmul_work *work,
                                         const struct device_capabilities *device,
                                         struct kernel_request *request) {
    if (work->b_type != RIDGE_Q4_K || !has_mma(device) || work->k % BLOCK_WEIGHTS != 0 ||
        work->k == 0 || work->b_alignment < 16 || device->block_max < WARPS * 32 ||
        device->shared_max < SHARED_LIMIT)
        return false;
    int32_t parts = work->a_type == RIDGE_F32 ? 2 : 1, split = 1;
    int32_t rows = rows_of(work->m, parts);
    int32_t stage = SHARED_LIMIT / stage_bytes(rows * parts);
    int64_t blocks = work->k / BLOCK_WEIGHTS, tiles = divide_up(work->n, LINES);
    int64_t wanted = (int64_t)device->compute_units * 9 / 10;
    while (split < WARPS && split * 2 <= blocks && tiles * split / WARPS < wanted)
        split *= 2;
    int32_t *choices = request->spec.choices;
    choices[MATMUL_THREADS] = WARPS * 32;
    choices[ROWS] = rows;
    choices[PARTS] = parts;
    choices[SPLIT] = split;
    choices[STAGE] = stage;
    choices[A_VECTOR] = a_loads(work);
    request->shared_bytes = (uint32_t)stage_bytes(rows * parts) * bounded(blocks, stage);
    request->grid[0] = bounded(divide_up(tiles, WARPS / split), device->compute_units);
    request->grid[1] = bounded(divide_up(work->m, rows), 65535);
    request->grid[2] = bounded(work->batch, 65535);
    return true;
}

static void matmul_quantized_tensor_code(const struct kernel_spec *spec,
                                         const struct device_capabilities *device,
                                         struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_macros(out, spec);
    source_mma(out, RIDGE_F16);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "PARTS", spec->choices[PARTS]);
    source_define(out, "SPLIT", spec->choices[SPLIT]);
    source_define(out, "STAGE", spec->choices[STAGE]);
    source_define(out, "SCALED", spec->types[0] != RIDGE_F16);
    source_section(out, embedded_quantized_tensor_cl,
                   spec->choices[A_VECTOR] ? "vector" : "gather");
    source_section(out, embedded_quantized_tensor_cl, "macros");
    source_section(out, embedded_quantized_tensor_cl, "load");
    int32_t x_rows = spec->choices[ROWS] * spec->choices[PARTS];
    generated->code.shared_max = (uint32_t)(spec->choices[STAGE] * stage_bytes(x_rows));
    source_matmul_begin(spec, device, generated, 1, NULL, NULL);
    source_section(out, embedded_quantized_tensor_cl, "head");
    source_section(out, embedded_quantized_tensor_cl, "stage");
    source_section(out, embedded_quantized_tensor_cl, "loop");
    source_section(out, embedded_quantized_tensor_cl, "products");
    source_section(out, embedded_quantized_tensor_cl, "scales");
    source_section(out, embedded_quantized_tensor_cl, "tail");
    source_matmul_epilogue(out, spec, device, "total");
    source_section(out, embedded_quantized_tensor_cl, "end");
}

const struct matmul_kernel matmul_quantized_tensor = {matmul_quantized_tensor_plan,
                                                      matmul_quantized_tensor_code};
