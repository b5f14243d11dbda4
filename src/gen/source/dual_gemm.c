/* Products of few rows of x by two matrices at once, on CUDA's matrix units: the kernels of
 * gated_mlp and lora, which are bound by reading the matrices.
 *
 * The matrices are the left ones of the units' products and x the right one, so that 8 rows of x
 * fill them. A lane loads a few neighbouring columns of each of its four k (tensor_words.h) and
 * exchanges halves of words to bring two k of a column together. The warps of a block share the
 * columns and divide k; their sums are added up in shared memory in the order in which lanes hold
 * them: word j of a lane is two neighbouring columns, by two rows of x. Where there are too few
 * columns for all units, two blocks of a cluster divide k as well.
 */
#include "gen/backends.h"
#include "gen/source/elements.h"
#include "gen/source/mma.h"

enum joint_choice {
    THREADS,
    ROWS,   /* 8 or 16 */
    VECTOR, /* columns of the first matrix that a lane has */
    STEPS,  /* products along k whose loads are in flight together */
    RANK,   /* lora: columns of the second matrix */
    SPLIT,  /* blocks of a cluster that divide k */
};

enum joint_scalar {
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
    FEW_RANK = 16, /* more of it takes the registers of half the warps */
    COLUMN_GROUPS = 8,
    WARPS_MAX = 16,
    LENGTH_MAX = 1 << 29,     /* indices have 32 bits */
    COLUMNS_OF_UNIT = 48,     /* at most, and */
    READ_AGAIN_MAX = 1 << 29, /* n k rank: a block for 32 columns reads k rank elements again */
};

/* Whether lines of `length` can be loaded `vector` elements at a time, with indices of 32 bits. */
static bool loads(const struct joint_matrix *matrix, int64_t length, int64_t vector) {
    return matrix->row >= INT32_MIN && matrix->row <= INT32_MAX && length <= LENGTH_MAX &&
           matrix->alignment >= vector * 2 && matrix->row % vector == 0 && length % vector == 0;
}

static bool matrices_load(const struct joint_work *work, int64_t vector) {
    if (!loads(&work->first, work->n, vector))
        return false;
    if (work->family == KERNEL_LORA)
        return loads(&work->second, work->rank, 2) && loads(&work->third, work->n, 1);
    return loads(&work->second, work->n, vector);
}

bool kernel_joint_fits(const struct joint_work *work, const struct device_capabilities *device) {
    /* One block sums up all of k: with few outputs and many terms the device would stay empty. */
    bool fills = work->n >= 256 || work->k <= 8192;
    /* Products with kernels of their own are as fast where they keep the device busy for long, and
     * where all blocks together would read much of lora's second matrix again. */
    bool pays = (double)work->n <= COLUMNS_OF_UNIT * (double)device->compute_units &&
                (double)work->n * (double)work->k * (double)work->rank <= READ_AGAIN_MAX;
    return tensor_units(device) && device->block_max >= WARPS_MAX * 32 &&
           (work->type == RIDGE_F16 || work->type == RIDGE_BF16) && work->m >= 1 &&
           work->m <= ROWS_MAX && work->k >= 1 && work->n >= 1 && fills && pays &&
           (work->family != KERNEL_LORA || (work->rank >= 1 && work->rank <= RANK_MAX)) &&
           loads(&work->x, work->k, 4) && matrices_load(work, 2);
}

static void plan(const struct joint_work *work, const struct device_capabilities *device,
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

bool source_joint(const struct joint_work *work, const struct device_capabilities *device,
                  struct kernel_request *request, struct status *status) {
    if (!kernel_joint_fits(work, device))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "these products cannot be one kernel on this device");
    union {
        float f32;
        uint32_t bits;
    } scale = {.f32 = work->scale};
    request->spec.family = work->family;
    request->spec.types[0] = (uint8_t)work->type;
    plan(work, device, request);
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

static const char words_text[] =
    "#define SIZE_M (int)scalars.v[0]\n"
    "#define SIZE_N (int)scalars.v[1]\n"
    "#define SIZE_K (int)scalars.v[2]\n"
    "#define X_ROW (int)scalars.v[3]\n"
    "#define FIRST_ROW (int)scalars.v[4]\n"
    "#define SECOND_ROW (int)scalars.v[5]\n"
    "#define THIRD_ROW (int)scalars.v[6]\n"
    "#define SCALE AS_FLOAT((UINT32)scalars.v[7])\n"
    "#define WARPS (THREADS / 32)\n"
    "#define COLUMNS (8 * VECTOR)\n"
    "#define SETS (ROWS / 8)\n"
    "#define WORDS (VECTOR / 2)\n"
    "#define ALL_WORDS (WORDS + SECOND_WORDS)\n"
    "INLINE void load_columns(UINT32 *y, const UINT16 *p) {\n"
    "#if VECTOR == 4\n"
    "    WORDS2 w = LOAD8_ONCE(p);\n"
    "    y[0] = w.x, y[1] = w.y;\n"
    "#else\n"
    "    y[0] = LOAD4_ONCE(p);\n"
    "#endif\n"
    "}\n"
    /* Where the sum of a row of x and the upper or lower column of a lane's word lies. */
    "#define SUM_AT(word, upper, row, group) \\\n"
    "    ((((word) * 2 + (upper)) * 2 + (row) % 2) * 32 + (group) * 4 + (row) % 8 / 2)\n"
    "#define IN_STRIP(row, low) SUM_AT((low) % VECTOR / 2, (low) % 2, row, (low) / VECTOR)\n"
    "#define FIRST_SUM(row, low) totals[(row) / 8][IN_STRIP(row, low)]\n"
    "#define READ_NEXT(from) \\\n"
    "    UNROLL for (int s = 0; s < STEPS; s++) { \\\n"
    "        int k = (from) + s * (WARPS * SPLIT * 16) + part * 4; \\\n"
    "        UNROLL for (int r = 0; r < 4; r++) { \\\n"
    "            UNROLL for (int j = 0; j < ALL_WORDS; j++) \\\n"
    "                next_y[s][r][j] = 0u; \\\n"
    "            if (k < SIZE_K) { \\\n"
    "                load_columns(next_y[s][r], first_lane + (INT64)(k + r) * FIRST_ROW); \\\n"
    "                LOAD_SECOND(next_y[s][r] + WORDS, second_lane + (INT64)(k + r) * SECOND_ROW) "
    "\\\n"
    "            } \\\n"
    "        } \\\n"
    "        UNROLL for (int i = 0; i < SETS; i++) { \\\n"
    "            next_x[s][i] = MAKE_WORDS2(0u, 0u); \\\n"
    "            if (group + i * 8 < SIZE_M && k < SIZE_K) \\\n"
    "                next_x[s][i] = LOAD8(x_lane + (INT64)(i * 8) * X_ROW + k); \\\n"
    "        } \\\n"
    "    }\n";

/* Arriving publishes what a thread wrote; after waiting, all blocks of the cluster have arrived. */
static const char cluster_text[] =
    "#define CLUSTER_ARRIVE() asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: "
    "\"memory\")\n"
    "#define CLUSTER_WAIT() asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: "
    "\"memory\")\n"
    "INLINE float load_of_block(const float *shared, int block) {\n"
    "    UINT32 here = (UINT32)__cvta_generic_to_shared(shared), there;\n"
    "    float value;\n"
    "    asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\"\n"
    "                 : \"=r\"(there) : \"r\"(here), \"r\"(block));\n"
    "    asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(value) : \"r\"(there));\n"
    "    return value;\n"
    "}\n";

/* gated_mlp: the second matrix is like the first. */
static const char gated_words_text[] =
    "#define SECOND_WORDS WORDS\n"
    "#define SECOND_COLUMN lane_column\n"
    "#define LOAD_SECOND(y, p) load_columns(y, p);\n"
    "#define SECOND_SUM(row, low) totals[(row) / 8][WORDS * 128 + IN_STRIP(row, low)]\n";

/* lora: the second matrix is 16 columns to a word, and every block needs all of it. */
static const char lora_words_text[] =
    "#define SECOND_WORDS ((RANK + 15) / 16)\n"
    "#define SECOND_COLUMN group * 2\n"
    "#define LOAD_SECOND(y, p) \\\n"
    "    UNROLL for (int j = 0; j < SECOND_WORDS; j++) \\\n"
    "        if (j * 16 + group * 2 < RANK) \\\n"
    "            (y)[j] = LOAD4((p) + j * 16);\n"
    "#define SECOND_SUM(row, c) \\\n"
    "    totals[(row) / 8][WORDS * 128 + SUM_AT((c) / 16, (c) % 2, row, (c) % 16 / 2)]\n";

/* Columns past the end are read from the beginning, and their sums left alone. */
static const char head_text[] =
    "__shared__ float partial[WARPS][ALL_WORDS * 128];\n"
    "__shared__ float sums[SETS][ALL_WORDS * 128];\n"
    "int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;\n"
    "const UINT16 *x_lane = x + (INT64)group * X_ROW;\n"
    "int slice = BLOCK_X % SPLIT;\n"
    "for (int first = BLOCK_X / SPLIT * COLUMNS; first < SIZE_N; first += GRID_X / SPLIT * "
    "COLUMNS) {\n"
    "    int lane_column = first + group * VECTOR < SIZE_N ? first + group * VECTOR : 0;\n"
    "    const UINT16 *first_lane = first_matrix + lane_column;\n"
    "    const UINT16 *second_lane = second_matrix + SECOND_COLUMN;\n"
    "    float sum[SETS][ALL_WORDS][4];\n"
    "    UNROLL for (int set = 0; set < SETS; set++)\n"
    "        UNROLL for (int j = 0; j < ALL_WORDS; j++)\n"
    "            UNROLL for (int i = 0; i < 4; i++)\n"
    "                sum[set][j][i] = 0.0f;\n"
    "    UINT32 next_y[STEPS][4][ALL_WORDS];\n"
    "    WORDS2 next_x[STEPS][SETS];\n"
    "    int k0 = (slice * WARPS + warp) * 16;\n"
    "    READ_NEXT(k0)\n";

/* The strip of the third matrix is on its way together with the first loads of the others. */
static const char third_text[] =
    "    for (int e = THREAD_X; e < RANK * COLUMNS; e += THREADS) {\n"
    "        int column = first + e % COLUMNS < SIZE_N ? first + e % COLUMNS : 0;\n"
    "        third[e] = third_matrix[e / COLUMNS * (INT64)THIRD_ROW + column];\n"
    "    }\n";

/* The next step's loads are on their way while this one's products are made. */
static const char loop_text[] =
    "    for (; k0 < SIZE_K; k0 += WARPS * SPLIT * STEPS * 16) {\n"
    "        UINT32 y[STEPS][4][ALL_WORDS];\n"
    "        WORDS2 z[STEPS][SETS];\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            UNROLL for (int r = 0; r < 4; r++)\n"
    "                UNROLL for (int j = 0; j < ALL_WORDS; j++)\n"
    "                    y[s][r][j] = next_y[s][r][j];\n"
    "            UNROLL for (int i = 0; i < SETS; i++)\n"
    "                z[s][i] = next_x[s][i];\n"
    "        }\n"
    "        READ_NEXT(k0 + WARPS * SPLIT * STEPS * 16)\n"
    "        UNROLL for (int s = 0; s < STEPS; s++)\n"
    "            UNROLL for (int j = 0; j < ALL_WORDS; j++) {\n"
    "                UINT32 lower[2] = {__byte_perm(y[s][0][j], y[s][1][j], 0x5410u),\n"
    "                                   __byte_perm(y[s][2][j], y[s][3][j], 0x5410u)};\n"
    "                UINT32 upper[2] = {__byte_perm(y[s][0][j], y[s][1][j], 0x7632u),\n"
    "                                   __byte_perm(y[s][2][j], y[s][3][j], 0x7632u)};\n"
    "                UNROLL for (int i = 0; i < SETS; i++)\n"
    "                    tensor_multiply(sum[i][j], lower[0], upper[0], lower[1], upper[1],\n"
    "                                    z[s][i].x, z[s][i].y);\n"
    "            }\n"
    "    }\n"
    "    UNROLL for (int set = 0; set < SETS; set++) {\n"
    "        UNROLL for (int j = 0; j < ALL_WORDS; j++)\n"
    "            UNROLL for (int i = 0; i < 4; i++)\n"
    "                partial[warp][(j * 4 + i) * 32 + lane] = sum[set][j][i];\n"
    "        BARRIER();\n"
    "        for (int e = THREAD_X; e < ALL_WORDS * 128; e += THREADS) {\n"
    "            float total = 0.0f;\n"
    "            UNROLL for (int w = 0; w < WARPS; w++)\n"
    "                total += partial[w][e];\n"
    "            sums[set][e] = total;\n"
    "        }\n"
    "        BARRIER();\n"
    "    }\n"
    "#if SPLIT > 1\n"
    "    float (*totals)[ALL_WORDS * 128] = partial;\n"
    "    CLUSTER_ARRIVE();\n"
    "    CLUSTER_WAIT();\n"
    "    for (int e = THREAD_X; e < SETS * ALL_WORDS * 128; e += THREADS) {\n"
    "        float total = 0.0f;\n"
    "        UNROLL for (int block = 0; block < SPLIT; block++)\n"
    "            total += load_of_block(&sums[0][e], block);\n"
    "        partial[0][e] = total;\n"
    "    }\n"
    "    CLUSTER_ARRIVE();\n"
    "    BARRIER();\n"
    "#else\n"
    "    float (*totals)[ALL_WORDS * 128] = sums;\n"
    "#endif\n"
    "    for (int e = THREAD_X * SPLIT + slice; e < ROWS * COLUMNS; e += THREADS * SPLIT) {\n"
    "        int row = e / COLUMNS, low = e % COLUMNS;\n"
    "        if (row >= SIZE_M || first + low >= SIZE_N)\n"
    "            continue;\n";

static const char lora_result_text[] =
    "        float low_rank = 0.0f;\n"
    "        UNROLL for (int c = 0; c < RANK; c++)\n"
    "            low_rank = FMA(SECOND_SUM(row, c), LOAD(third, c * COLUMNS + low), low_rank);\n"
    "        float value = FMA(SCALE, low_rank, FIRST_SUM(row, low));\n";

/* No block leaves, or begins another strip, while a neighbour reads its sums. */
static const char end_text[] = "        STORE(result, (INT64)row * SIZE_N + first + low, value);\n"
                               "    }\n"
                               "    BARRIER();\n"
                               "#if SPLIT > 1\n"
                               "    CLUSTER_WAIT();\n"
                               "#endif\n"
                               "}\n"
                               "}\n";

static void gated_result(struct buffer *out) {
    buffer_printf(out,
                  "        const float x = FIRST_SUM(row, low);\n"
                  "        float value = (%s) * SECOND_SUM(row, low);\n",
                  op_info(OP_SILU)->f32);
}

static void begin(const struct kernel_spec *spec, const struct device_capabilities *device,
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
    source_kernel_begin(&generated->source, device->language, &kernel);
}

bool source_joint_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                       struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    bool lora = spec->family == KERNEL_LORA;
    source_words(out, device);
    source_element_words(out, spec->types[0]);
    source_tensor_words(out, spec->types[0]);
    source_define(out, "THREADS", spec->choices[THREADS]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "STEPS", spec->choices[STEPS]);
    source_define(out, "RANK", spec->choices[RANK]);
    source_define(out, "SPLIT", spec->choices[SPLIT]);
    buffer_string(out, words_text);
    if (spec->choices[SPLIT] > 1)
        buffer_string(out, cluster_text);
    buffer_string(out, lora ? lora_words_text : gated_words_text);
    begin(spec, device, generated);
    if (lora)
        buffer_string(out, "__shared__ UINT16 third[RANK * COLUMNS];\n");
    buffer_string(out, head_text);
    if (lora)
        buffer_string(out, third_text);
    buffer_string(out, loop_text);
    if (lora)
        buffer_string(out, lora_result_text);
    else
        gated_result(out);
    buffer_string(out, end_text);
    return true;
}
