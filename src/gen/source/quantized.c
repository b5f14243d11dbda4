/* Products with few rows by a quantised B, in any language: a group of threads shares a few columns
 * of B and goes along their blocks together, each thread 32 weights of Q4_K or 8 of Q8_0 at a time.
 *
 * The 4 bits q of a Q4_K weight are put into the mantissa of a float that is 1 + q / 16, which
 * spares a conversion; the sum of x, needed for the minimums in any case, takes the 1 away again.
 */
#include "gen/dtype.h"
#include "gen/source/matmul.h"

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

static bool plan(const struct matmul_work *work, const struct device_capabilities *device,
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

static const char head_text[] =
    "SHARED float partial[ROWS * ACROSS][THREADS / SHUFFLED];\n"
    "int lane = (int)THREAD_X % LANES, group = (int)THREAD_X / LANES;\n"
    "INT64 strips = (SIZE_N + GROUPS * ACROSS - 1) / (GROUPS * ACROSS);\n"
    "INT64 line = SIZE_K / BLOCK_WEIGHTS * BLOCK_BYTES;\n"
    "for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {\n"
    "    INT64 batch = strip / strips, first_column = strip % strips * (GROUPS * ACROSS);\n"
    "    INT64 first = first_column + group * ACROSS;\n"
    "    GLOBAL const TYPE_A *a_batch = a + batch * A_BATCH;\n"
    "    GLOBAL const UCHAR *b_batch = b + batch * (B_BATCH / BLOCK_WEIGHTS * BLOCK_BYTES);\n"
    "    GLOBAL const UCHAR *lines[ACROSS];\n"
    "    UNROLL for (int j = 0; j < ACROSS; j++)\n"
    "        lines[j] = b_batch + (first + j < SIZE_N ? first + j : SIZE_N - 1) * line;\n"
    "    float sum[ROWS][ACROSS];\n"
    "    UNROLL for (int i = 0; i < ROWS; i++)\n"
    "        UNROLL for (int j = 0; j < ACROSS; j++)\n"
    "            sum[i][j] = 0.0f;\n";

static const char q4_k_text[] =
    "    for (INT64 piece = lane; piece < SIZE_K / 32; piece += LANES) {\n"
    "        INT64 k = (piece >> 3) * 256 + ((piece >> 1) & 3) * 64 + (piece & 1) * 16;\n"
    "        WORDS4 head[ACROSS], quants[ACROSS];\n"
    "        UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "            head[j] = LOAD16(lines[j] + (piece >> 3) * 144);\n"
    "            quants[j] = LOAD16(lines[j] + (piece >> 3) * 144 + 16 + (piece & 7) * 16);\n"
    "        }\n"
    "        float low[ROWS][ACROSS], high[ROWS][ACROSS], x_low[ROWS], x_high[ROWS];\n"
    "        UNROLL for (int i = 0; i < ROWS; i++) {\n"
    "            x_low[i] = x_high[i] = 0.0f;\n"
    "            UNROLL for (int j = 0; j < ACROSS; j++)\n"
    "                low[i][j] = high[i][j] = 0.0f;\n"
    "        }\n"
    "        UNROLL for (int word = 0; word < 4; word++) {\n"
    "            float w[ACROSS][8];\n"
    "            UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "                UINT32 u = word == 0   ? quants[j].x\n"
    "                           : word == 1 ? quants[j].y\n"
    "                           : word == 2 ? quants[j].z\n"
    "                                       : quants[j].w;\n"
    "                w[j][0] = ONE_AND(u << 19), w[j][1] = ONE_AND(u << 11);\n"
    "                w[j][2] = ONE_AND(u << 3), w[j][3] = ONE_AND(u >> 5);\n"
    "                w[j][4] = ONE_AND(u << 15), w[j][5] = ONE_AND(u << 7);\n"
    "                w[j][6] = ONE_AND(u >> 1), w[j][7] = ONE_AND(u >> 9);\n"
    "            }\n"
    "            UNROLL for (int i = 0; i < ROWS; i++)\n"
    "                if (i < SIZE_M) {\n"
    "                    float x[8];\n"
    "                    LOAD_FOUR(a_batch + i * A_ROW, k + word * 4, x);\n"
    "                    LOAD_FOUR(a_batch + i * A_ROW, k + word * 4 + 32, x + 4);\n"
    "                    x_low[i] += (x[0] + x[1]) + (x[2] + x[3]);\n"
    "                    x_high[i] += (x[4] + x[5]) + (x[6] + x[7]);\n"
    "                    UNROLL for (int j = 0; j < ACROSS; j++)\n"
    "                        UNROLL for (int v = 0; v < 4; v++) {\n"
    "                            low[i][j] = FMA(w[j][v], x[v], low[i][j]);\n"
    "                            high[i][j] = FMA(w[j][v + 4], x[v + 4], high[i][j]);\n"
    "                        }\n"
    "                }\n"
    "        }\n"
    "        UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "            WORDS2 packed = q4_k_scales(head[j].y, head[j].z, head[j].w,\n"
    "                                        (UINT32)(piece >> 1) & 3u);\n"
    "            float d = U32_LO_F16(head[j].x), least = U32_HI_F16(head[j].x);\n"
    "            float scale_low = d * 16.0f * (float)(packed.x & 255u);\n"
    "            float scale_high = d * 16.0f * (float)(packed.x >> 8);\n"
    "            float least_low = least * (float)(packed.y & 255u);\n"
    "            float least_high = least * (float)(packed.y >> 8);\n"
    "            UNROLL for (int i = 0; i < ROWS; i++) {\n"
    "                sum[i][j] = FMA(scale_low, low[i][j] - x_low[i], sum[i][j]);\n"
    "                sum[i][j] = FMA(scale_high, high[i][j] - x_high[i], sum[i][j]);\n"
    "                sum[i][j] = FMA(-least_low, x_low[i], sum[i][j]);\n"
    "                sum[i][j] = FMA(-least_high, x_high[i], sum[i][j]);\n"
    "            }\n"
    "        }\n"
    "    }\n";

/* A block of 34 bytes begins at an even address only, so that eight weights are taken from two or
 * three aligned words; which, is the same for all pieces of a lane. */
static const char q8_0_text[] = "    GLOBAL const UCHAR *words_at[ACROSS], *scale_at[ACROSS];\n"
                                "    bool odd[ACROSS];\n"
                                "    UNROLL for (int j = 0; j < ACROSS; j++) {\n"
                                "        scale_at[j] = lines[j] + (lane >> 2) * 34;\n"
                                "        INT64 at = (scale_at[j] - b) + 2 + (lane & 3) * 8;\n"
                                "        words_at[j] = b + (at & ~(INT64)3);\n"
                                "        odd[j] = (at & 2) != 0;\n"
                                "    }\n"
                                "    INT64 piece = lane;\n";

/* Goes on as long as there are COUNT pieces, whose loads are in flight together: a branch would end
 * that, so rows past the last one are computed like the first. */
static const char q8_0_loop_text[] =
    "    for (; piece + (COUNT - 1) * LANES < SIZE_K / 8; piece += COUNT * LANES) {\n"
    "        UINT32 words[COUNT][ACROSS][3];\n"
    "        UINT16 scales[COUNT][ACROSS];\n"
    "        UNROLL for (int s = 0; s < COUNT; s++)\n"
    "            UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "                words[s][j][0] = LOAD4(words_at[j] + s * APART);\n"
    "                words[s][j][1] = LOAD4(words_at[j] + s * APART + 4);\n"
    "                words[s][j][2] = 0u;\n"
    "                if (odd[j])\n"
    "                    words[s][j][2] = LOAD4(words_at[j] + s * APART + 8);\n"
    "                scales[s][j] = *(GLOBAL const UINT16 *)(scale_at[j] + s * APART);\n"
    "            }\n"
    "        UNROLL for (int s = 0; s < COUNT; s++) {\n"
    "            float w[ACROSS][8];\n"
    "            UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "                UINT32 first = words[s][j][0], second = words[s][j][1];\n"
    "                first = odd[j] ? first >> 16 | second << 16 : first;\n"
    "                second = odd[j] ? second >> 16 | words[s][j][2] << 16 : second;\n"
    "                UNROLL for (int v = 0; v < 4; v++) {\n"
    "                    w[j][v] = (float)((int)(first << (24 - v * 8)) >> 24);\n"
    "                    w[j][v + 4] = (float)((int)(second << (24 - v * 8)) >> 24);\n"
    "                }\n"
    "            }\n"
    "            UNROLL for (int i = 0; i < ROWS; i++) {\n"
    "                float x[8];\n"
    "                LOAD_EIGHT(a_batch + (i < SIZE_M ? i : 0) * A_ROW, (piece + s * LANES) * 8, "
    "x);\n"
    "                UNROLL for (int j = 0; j < ACROSS; j++) {\n"
    "                    float part = 0.0f;\n"
    "                    UNROLL for (int v = 0; v < 8; v++)\n"
    "                        part = FMA(w[j][v], x[v], part);\n"
    "                    sum[i][j] = FMA(f16_to_f32(scales[s][j]), part, sum[i][j]);\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "        UNROLL for (int j = 0; j < ACROSS; j++)\n"
    "            words_at[j] += COUNT * APART, scale_at[j] += COUNT * APART;\n"
    "    }\n";

/* Blocks of a unit. When it is not told, CUDA's compiler saves registers by loading late. */
static unsigned q8_0_blocks(int32_t rows) {
    return rows == 1 ? 8 : rows == 4 ? 3 : 4;
}

static void q8_0_loops(struct buffer *out, int32_t steps) {
    buffer_string(out, q8_0_text);
    source_define(out, "COUNT", steps);
    buffer_string(out, q8_0_loop_text);
    buffer_string(out, "#undef COUNT\n");
    source_define(out, "COUNT", 1);
    buffer_string(out, q8_0_loop_text);
}

static const char words_text[] = "#define SHUFFLED (SUBGROUP < LANES ? SUBGROUP : LANES)\n"
                                 "#define ONE_AND(u) AS_FLOAT(0x3f800000u | ((u) & 0x780000u))\n";

static const char vector_text[] = "#define LOAD_FOUR(p, k, x) LOAD_A_4((p) + (k), x)\n"
                                  "#define LOAD_EIGHT(p, k, x) LOAD_A_8((p) + (k), x)\n";
static const char gather_text[] = "#define LOAD_FOUR(p, k, x) GATHER(4, p, k, x)\n"
                                  "#define LOAD_EIGHT(p, k, x) GATHER(8, p, k, x)\n"
                                  "#define GATHER(count, p, k, x) \\\n"
                                  "    UNROLL for (int v = 0; v < count; v++) \\\n"
                                  "        (x)[v] = LOAD_A(p, ((k) + v) * A_COLUMN)\n";

static void code(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    bool q4 = spec->types[1] == RIDGE_Q4_K;
    source_matmul_words(out, spec);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "ACROSS", spec->choices[ACROSS]);
    source_define(out, "LANES", spec->choices[LANES]);
    source_define(out, "GROUPS", THREADS / spec->choices[LANES]);
    /* From one piece of a lane to the next. A lane of fewer than eight has one piece only. */
    source_define(out, "APART", spec->choices[LANES] / 4 * 34);
    source_define(out, "BLOCK_WEIGHTS", (long)dtype_block(spec->types[1]));
    source_define(out, "BLOCK_BYTES", q4 ? 144 : 34);
    buffer_string(out, words_text);
    buffer_string(out, spec->choices[A_VECTOR] ? vector_text : gather_text);
    source_matmul_begin(spec, device, generated, q4 ? 0 : q8_0_blocks(spec->choices[ROWS]));
    buffer_string(out, head_text);
    if (q4)
        buffer_string(out, q4_k_text);
    else
        q8_0_loops(out, spec->choices[STEPS]);
    buffer_string(out, source_lanes_tail);
    source_matmul_epilogue(out, spec, device, "total");
    buffer_string(out, "}\nBARRIER();\n}\n}\n");
}

const struct matmul_maker matmul_quantized = {plan, code};
