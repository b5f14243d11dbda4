/* Matrix products with few rows of A on CUDA's matrix units, so that arithmetic never waits: a
 * warp multiplies up to 16 rows by 16 k of B at once, whatever the number of rows.
 *
 * A lane's four k (tensor_words.h) are neighbours in memory. When B is [k][n] a lane loads a few
 * neighbouring columns of each of its four k and exchanges halves of words to bring two k of one
 * column together; when B is [n][k] it loads eight k of one column, which is two products' worth,
 * as they are. The warps of a block share the columns and divide k; their sums are added up in
 * shared memory in the order in which lanes hold them.
 */
#include "gen/source/matmul.h"
#include "gen/source/mma.h"

enum tensor_choice {
    ROWS = MATMUL_OTHERS, /* 8 or 16 */
    VECTOR,               /* columns of a lane */
    STEPS,                /* products along k whose loads are in flight together */
    A_VECTOR,             /* A's rows can be loaded as B's words */
};

enum { WARPS_MAX = 32, COLUMN_GROUPS = 8 };

static bool halves(const struct matmul_work *work, const struct device_capabilities *device) {
    return tensor_units(device) && device->block_max >= WARPS_MAX * 32 &&
           work->a_type == work->b_type &&
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

/* Enough warps to keep the device reading, no more than there are steps along k for. */
static int32_t warps_of(double strips, int64_t steps, int32_t least, int32_t most,
                        const struct device_capabilities *device) {
    int32_t warps = 1;
    while (warps < most && warps * 2 <= steps &&
           (warps < least || strips * warps < 32.0 * device->compute_units))
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

static bool plan_rows(const struct matmul_work *work, const struct device_capabilities *device,
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
    int32_t most = vector == 2 ? WARPS_MAX : WARPS_MAX / 2;
    int32_t warps = warps_of(per_vector / vector, divide_up(work->k, 16), 8, most, device);
    request->spec.choices[A_VECTOR] = a_loads(work, 4);
    request->spec.choices[STEPS] = vector == 4 ? 4 : 2;
    finish_plan(work, request, warps, vector);
    return true;
}

static bool plan_columns(const struct matmul_work *work, const struct device_capabilities *device,
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

static const char words_text[] =
    "#define WARPS (THREADS / 32)\n"
    "#define COLUMNS (8 * VECTOR)\n"
    "#define FRAGMENT (64 * VECTOR)\n"
    "#define PAIR(low, high) ((UINT32)(low) | (UINT32)(high) << 16)\n"
    /* Halves k and k + 1 of a row of A, zero outside of it. */
    "INLINE UINT32 load_pair(const UINT16 *line, INT64 k, INT64 size, INT64 stride, bool inside) "
    "{\n"
    "    UINT32 low = inside && k < size ? line[k * stride] : 0u;\n"
    "    UINT32 high = inside && k + 1 < size ? line[(k + 1) * stride] : 0u;\n"
    "    return PAIR(low, high);\n"
    "}\n";

/* Loads the A of `count` words of a lane, beginning at `k`, from rows group and group + 8. */
static const char a_text[] =
    "#if A_VECTOR\n"
    "#define LOAD_LINE(words, line, k, inside) \\\n"
    "    UNROLL for (int i = 0; i < A_WORDS; i++) \\\n"
    "        words[i] = 0u; \\\n"
    "    if ((inside) && (k) < SIZE_K) \\\n"
    "        load_words(words, (line) + (k))\n"
    "#else\n"
    "#define LOAD_LINE(words, line, k, inside) \\\n"
    "    UNROLL for (int i = 0; i < A_WORDS; i++) \\\n"
    "        words[i] = load_pair(line, (k) + 2 * i, SIZE_K, A_COLUMN, inside)\n"
    "#endif\n"
    "INLINE void load_words(UINT32 *words, const UINT16 *p) {\n"
    "#if A_WORDS == 4\n"
    "    WORDS4 w = LOAD16(p);\n"
    "    words[2] = w.z, words[3] = w.w;\n"
    "#else\n"
    "    WORDS2 w = LOAD8(p);\n"
    "#endif\n"
    "    words[0] = w.x, words[1] = w.y;\n"
    "}\n";

static const char rows_load_text[] = "INLINE void load_columns(UINT32 *y, const UINT16 *p) {\n"
                                     "#if VECTOR == 8\n"
                                     "    WORDS4 w = LOAD16_ONCE(p);\n"
                                     "    y[0] = w.x, y[1] = w.y, y[2] = w.z, y[3] = w.w;\n"
                                     "#elif VECTOR == 4\n"
                                     "    WORDS2 w = LOAD8_ONCE(p);\n"
                                     "    y[0] = w.x, y[1] = w.y;\n"
                                     "#else\n"
                                     "    y[0] = LOAD4_ONCE(p);\n"
                                     "#endif\n"
                                     "}\n"
                                     "#define READ_NEXT(from) \\\n"
                                     "    UNROLL for (int s = 0; s < STEPS; s++) { \\\n"
                                     "        INT64 k = (from) + s * (WARPS * 16) + part * 4; \\\n"
                                     "        const UINT16 *p = b_lane + k * B_ROW; \\\n"
                                     "        UNROLL for (int r = 0; r < 4; r++, p += B_ROW) { \\\n"
                                     "            UNROLL for (int i = 0; i < VECTOR / 2; i++) \\\n"
                                     "                next_y[s][r][i] = 0u; \\\n"
                                     "            if (k + r < end) \\\n"
                                     "                load_columns(next_y[s][r], p); \\\n"
                                     "        } \\\n"
                                     "        LOAD_LINE(next_x0[s], line0, k, inside0); \\\n"
                                     "        next_x1[s][0] = next_x1[s][1] = 0u; \\\n"
                                     "        if (ROWS > 8) { \\\n"
                                     "            LOAD_LINE(next_x1[s], line1, k, inside1); \\\n"
                                     "        } \\\n"
                                     "    }\n";

static const char head_text[] =
    "__shared__ float partial[WARPS * FRAGMENT];\n"
    "__shared__ float sums[ROWS / 8][FRAGMENT];\n"
    "int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;\n"
    "INT64 strips = (SIZE_N + COLUMNS - 1) / COLUMNS;\n"
    "for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {\n"
    "    INT64 batch = strip / strips, first = strip % strips * COLUMNS;\n"
    "    const UINT16 *line0 = a + batch * A_BATCH + group * A_ROW, *line1 = line0 + 8 * A_ROW;\n"
    "    bool inside0 = group < SIZE_M, inside1 = group + 8 < SIZE_M;\n"
    "    float sum[VECTOR][4];\n"
    "    UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "        UNROLL for (int i = 0; i < 4; i++)\n"
    "            sum[j][i] = 0.0f;\n";

/* The next step's loads are on their way while this one's products are made. */
static const char rows_text[] =
    "    const UINT16 *b_lane = b + batch * B_BATCH + first + group * VECTOR;\n"
    "    INT64 end = first + group * VECTOR < SIZE_N ? SIZE_K : 0;\n"
    "    UINT32 next_y[STEPS][4][VECTOR / 2], next_x0[STEPS][2], next_x1[STEPS][2];\n"
    "    INT64 k0 = warp * 16;\n"
    "    READ_NEXT(k0)\n"
    "    for (; k0 < SIZE_K; k0 += WARPS * STEPS * 16) {\n"
    "        UINT32 y[STEPS][4][VECTOR / 2], x0[STEPS][2], x1[STEPS][2];\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            UNROLL for (int r = 0; r < 4; r++)\n"
    "                UNROLL for (int i = 0; i < VECTOR / 2; i++)\n"
    "                    y[s][r][i] = next_y[s][r][i];\n"
    "            UNROLL for (int i = 0; i < 2; i++)\n"
    "                x0[s][i] = next_x0[s][i], x1[s][i] = next_x1[s][i];\n"
    "        }\n"
    "        READ_NEXT(k0 + WARPS * STEPS * 16)\n"
    "        UNROLL for (int s = 0; s < STEPS; s++)\n"
    "            UNROLL for (int j = 0; j < VECTOR; j++) {\n"
    "                UINT32 halves = j % 2 ? 0x7632u : 0x5410u;\n"
    "                tensor_multiply(sum[j], x0[s][0], x1[s][0], x0[s][1], x1[s][1],\n"
    "                                __byte_perm(y[s][0][j / 2], y[s][1][j / 2], halves),\n"
    "                                __byte_perm(y[s][2][j / 2], y[s][3][j / 2], halves));\n"
    "            }\n"
    "    }\n";

static const char columns_text[] =
    "    const UINT16 *b_lane = b + batch * B_BATCH + (first + group) * B_COLUMN;\n"
    "    INT64 end = first + group < SIZE_N ? SIZE_K : 0;\n"
    "    for (INT64 k0 = warp * 32; k0 < SIZE_K; k0 += WARPS * STEPS * 32) {\n"
    "        WORDS4 y[STEPS];\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            INT64 k = k0 + s * (WARPS * 32) + part * 8;\n"
    "            y[s] = MAKE_WORDS4(0u, 0u, 0u, 0u);\n"
    "            if (k < end)\n"
    "                y[s] = LOAD16_ONCE(b_lane + k);\n"
    "        }\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            INT64 k = k0 + s * (WARPS * 32) + part * 8;\n"
    "            UINT32 x0[4], x1[4] = {0u, 0u, 0u, 0u};\n"
    "            LOAD_LINE(x0, line0, k, inside0);\n"
    "            if (ROWS > 8) {\n"
    "                LOAD_LINE(x1, line1, k, inside1);\n"
    "            }\n"
    "            tensor_multiply(sum[0], x0[0], x1[0], x0[1], x1[1], y[s].x, y[s].y);\n"
    "            tensor_multiply(sum[0], x0[2], x1[2], x0[3], x1[3], y[s].z, y[s].w);\n"
    "        }\n"
    "    }\n";

static const char tail_text[] =
    "    UNROLL for (int half = 0; half < ROWS / 8; half++) {\n"
    "        UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "            UNROLL for (int i = 0; i < 2; i++)\n"
    "                partial[warp * FRAGMENT + (j * 2 + i) * 32 + lane] = sum[j][half * 2 + i];\n"
    "        BARRIER();\n"
    "        for (int e = THREAD_X; e < FRAGMENT; e += THREADS) {\n"
    "            float total = 0.0f;\n"
    "            UNROLL for (int w = 0; w < WARPS; w++)\n"
    "                total += partial[w * FRAGMENT + e];\n"
    "            sums[half][e] = total;\n"
    "        }\n"
    "        BARRIER();\n"
    "    }\n"
    "    for (int e = THREAD_X; e < ROWS * COLUMNS; e += THREADS) {\n"
    "        int low = e % COLUMNS, source = e / COLUMNS % 8 * 4 + low / VECTOR / 2;\n"
    "        INT64 row = e / COLUMNS, column = first + low;\n"
    "        float total =\n"
    "            sums[row / 8][(low % VECTOR * 2 + low / VECTOR % 2) * 32 + source];\n"
    "        if (row >= SIZE_M || column >= SIZE_N)\n"
    "            continue;\n";

static void code(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated, bool rows) {
    struct buffer *out = &generated->source;
    source_matmul_words(out, spec);
    source_tensor_words(out, spec->types[0]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "STEPS", spec->choices[STEPS]);
    source_define(out, "A_VECTOR", spec->choices[A_VECTOR]);
    source_define(out, "A_WORDS", rows ? 2 : 4);
    buffer_string(out, words_text);
    buffer_string(out, a_text);
    if (rows)
        buffer_string(out, rows_load_text);
    source_matmul_begin(spec, device, generated, 0);
    buffer_string(out, head_text);
    buffer_string(out, rows ? rows_text : columns_text);
    buffer_string(out, tail_text);
    source_matmul_epilogue(out, spec, device, "total");
    buffer_string(out, "}\nBARRIER();\n}\n}\n");
}

static void code_rows(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated) {
    code(spec, device, generated, true);
}

static void code_columns(const struct kernel_spec *spec, const struct device_capabilities *device,
                         struct kernel_generated *generated) {
    code(spec, device, generated, false);
}

const struct matmul_maker matmul_tensor_rows = {plan_rows, code_rows};
const struct matmul_maker matmul_tensor_columns = {plan_columns, code_columns};
