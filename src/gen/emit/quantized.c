/* Products with few rows by a quantized B, in any language: a group of threads shares a few
 * columns of B and walks their blocks together, each thread 32 weights of Q4_K or 8 of Q8_0 at
 * a time.
 *
 * The 4 bits q of a Q4_K weight become the mantissa of the float 1 + q / 16, which saves a
 * conversion; the sum of x, needed for the minimums anyway, removes the 1 again.
 */
#include "gen/dtype.h"
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_quantized_cl[];

enum quantized_choice {
    ROWS = MATMUL_OTHERS, /* at least m: a power of two */
    ACROSS,               /* columns of a group */
    LANES,                /* threads of a group */
    STEPS,                /* Q8_0: pieces whose loads are in flight together */
    A_VECTOR,             /* A's rows can be loaded 4 (Q8_0: 8) elements at a time */
};

enum { ROWS_MAX = 8, THREADS = 128 };

static int32_t piece_of(enum ridge_dtype type) {
    return type == RIDGE_Q4_K ? 32 : 8;
}

static bool a_loads(const struct matmul_work *work, int64_t vector) {
    int64_t bytes = vector * (work->a_type == RIDGE_F32 ? 4 : 2);
    return work->a_column == 1 && work->a_alignment >= (bytes < 16 ? bytes : 16) &&
           (work->m == 1 || work->a_row % vector == 0) &&
           (work->batch == 1 || work->a_batch % vector == 0);
}

static bool matmul_quantized_plan(const struct matmul_work *work,
                                  const struct device_capabilities *device,
                                  struct kernel_request *request) {
    bool q4 = work->b_type == RIDGE_Q4_K;
    if (work->m > ROWS_MAX || work->k % dtype_block(work->b_type) != 0 ||
        work->b_alignment < (q4 ? 16u : 4u) || device->block_max < THREADS)
        return false;
    int32_t rows = 1, across = 2, lanes = 32;
    while (rows < work->m)
        rows *= 2;
    if (rows == (q4 ? ROWS_MAX : 1) || work->n < 8 * (int64_t)device->compute_units)
        across = 1;
    while (lanes > 1 && lanes > work->k / piece_of(work->b_type))
        lanes /= 2;
    int32_t *choices = request->spec.choices;
    choices[MATMUL_THREADS] = THREADS;
    choices[ROWS] = rows;
    choices[ACROSS] = across;
    choices[LANES] = lanes;
    choices[STEPS] = q4 ? 1 : rows <= 4 ? 4 : 2;
    choices[A_VECTOR] = a_loads(work, q4 ? 4 : 8);
    double blocks =
        (double)divide_up(work->n, (int64_t)across * (THREADS / lanes)) * (double)work->batch;
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
    return true;
}

/* Blocks per unit. Without this hint, CUDA's compiler saves registers by loading late. */
static unsigned q8_0_blocks(int32_t rows) {
    return rows == 1 ? 8 : rows == 4 ? 3 : 4;
}

static void q8_0_loops(struct buffer *out, int32_t steps) {
    source_section(out, embedded_quantized_cl, "q8_0");
    source_define(out, "COUNT", steps);
    source_section(out, embedded_quantized_cl, "q8_0_loop");
    buffer_string(out, "#undef COUNT\n");
    source_define(out, "COUNT", 1);
    source_section(out, embedded_quantized_cl, "q8_0_loop");
}

static void matmul_quantized_code(const struct kernel_spec *spec,
                                  const struct device_capabilities *device,
                                  struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    bool q4 = spec->types[1] == RIDGE_Q4_K;
    source_matmul_macros(out, spec);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "ACROSS", spec->choices[ACROSS]);
    source_define(out, "LANES", spec->choices[LANES]);
    source_define(out, "GROUPS", THREADS / spec->choices[LANES]);
    /* From one piece of a lane to the next. A lane of fewer than eight has one piece only. */
    source_define(out, "APART", spec->choices[LANES] / 4 * 34);
    source_define(out, "BLOCK_WEIGHTS", (long)dtype_block(spec->types[1]));
    source_define(out, "BLOCK_BYTES", q4 ? 144 : 34);
    source_section(out, embedded_quantized_cl, "macros");
    source_section(out, embedded_quantized_cl, spec->choices[A_VECTOR] ? "vector" : "gather");
    source_matmul_begin(spec, device, generated, q4 ? 0 : q8_0_blocks(spec->choices[ROWS]),
                        embedded_quantized_cl, "shared");
    source_section(out, embedded_quantized_cl, "head");
    if (q4)
        source_section(out, embedded_quantized_cl, "q4_k");
    else
        q8_0_loops(out, spec->choices[STEPS]);
    source_lanes_tail(out);
    source_matmul_epilogue(out, spec, device, "total");
    source_section(out, embedded_quantized_cl, "end");
}

const struct matmul_kernel matmul_quantized = {matmul_quantized_plan, matmul_quantized_code};
