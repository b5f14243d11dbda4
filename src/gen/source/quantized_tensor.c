/* Products by a Q4_K matrix on CUDA's matrix units, bound by reading the matrix.
 *
 * A warp takes 16 columns of B (lines of the quantised [n][k]) and a block of 256 weights of each
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
#include "gen/source/matmul.h"
#include "gen/source/mma.h"

enum quantized_choice {
    ROWS = MATMUL_OTHERS, /* of A that a block takes: at least m, or as many as there is room for */
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

static uint32_t bounded(int64_t count, int64_t most) {
    return (uint32_t)(count < most ? count : most);
}

static bool a_loads(const struct matmul_work *work) {
    return work->a_column == 1 && work->a_alignment >= 16 &&
           (work->m == 1 || work->a_row % 8 == 0) && (work->batch == 1 || work->a_batch % 8 == 0);
}

static bool plan(const struct matmul_work *work, const struct device_capabilities *device,
                 struct kernel_request *request) {
    if (work->b_type != RIDGE_Q4_K || !tensor_units(device) || work->k % BLOCK_WEIGHTS != 0 ||
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

static const char words_text[] =
    "#define WARPS (THREADS / 32)\n"
    "#define TILES (WARPS / SPLIT)\n"
    "#define X_ROWS (ROWS * PARTS)\n"
    "#define SETS ((X_ROWS + 3) / 4)\n"
    /* Of the four combinations of l (which 16 bytes of a line) and h (which half of them), those
     * that the columns keep apart, and sums for the others. */
    "#define SLOTS (X_ROWS == 1 ? 4 : X_ROWS == 2 ? 2 : 1)\n"
    "#define SUMS (4 / SLOTS)\n"
    "#define SUM_OF(l, h) (SLOTS == 4 ? 0 : SLOTS == 2 ? (h) : (l) * 2 + (h))\n"
    /* Of a column pair: its row of x in a set, and whether it is for this l and h. */
    "#define X_ROW(pair) (SLOTS == 4 ? 0 : SLOTS == 2 ? (pair) & 1 : (pair))\n"
    "#define SLOT_IS(pair, l, h) \\\n"
    "    (SLOTS == 4 ? (pair) == (l) * 2 + (h) : SLOTS == 2 ? (pair) / 2 == (l) : true)\n"
    "#define SLOT_L(pair, sum) (SLOTS == 1 ? (sum) / 2 : (pair) / 2)\n"
    "#define SLOT_H(pair, sum) (SLOTS == 4 ? (pair) & 1 : (sum) & 1)\n"
    "#define LOW_QUANTS(u) ((u) & 0x000f000fu)\n"
    "#define HIGH_QUANTS(u) ((u) & 0x00f000f0u)\n"
    /* A small integer as a float times `unit`, without a conversion. */
    "INLINE float scaled_byte(UINT32 bytes, int byte, float unit) {\n"
    "    float with_offset = AS_FLOAT(__byte_perm(bytes, 0x4b000000u, 0x7540u + byte));\n"
    "    return FMA(with_offset, unit, -8388608.0f * unit);\n"
    "}\n"
    /* The 6-bit scales (first) or minimums (second) of sub-blocks 4 l .. 4 l + 3. */
    "INLINE UINT32 four_scales(UINT32 whole, UINT32 quarters, int l) {\n"
    "    UINT32 later = (quarters & 0x0f0f0f0fu) | ((whole >> 2) & 0x30303030u);\n"
    "    return l ? later : whole & 0x3f3f3f3fu;\n"
    "}\n"
    "INLINE UINT32 nth_word(WORDS4 words, int i) {\n"
    "    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;\n"
    "}\n";

static const char vector_text[] = "#define LOAD_EIGHT(p, x) LOAD_A_8(p, x)\n";
static const char gather_text[] = "#define LOAD_EIGHT(p, x) \\\n"
                                  "    UNROLL for (int v = 0; v < 8; v++) \\\n"
                                  "        x[v] = LOAD_A(p, v * A_COLUMN)\n";

/* Fills the stage with `count` blocks from `base` on, 8 elements of a row of A by a thread. Four
 * neighbouring threads have the 32 that share a sum and a unit. */
static const char stage_text[] =
    "for (int e = THREAD_X; e < count * ROWS * 32; e += THREADS) {\n"
    "    int unit = e % 32, block = e / 32 % count, i = e / 32 / count;\n"
    "    float x[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};\n"
    "    if (first_row + i < SIZE_M) {\n"
    "        LOAD_EIGHT(a_batch + (first_row + i) * A_ROW +\n"
    "                   ((INT64)(base + block) * 256 + unit * 8) * A_COLUMN, x);\n"
    "    }\n"
    "    float total = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));\n"
    "    total += SHUFFLE_XOR(total, 1);\n"
    "    total += SHUFFLE_XOR(total, 2);\n"
    "    float back = 1.0f;\n"
    "    if (SCALED) {\n"
    "        float most = 0.0f;\n"
    "        UNROLL for (int v = 0; v < 8; v++)\n"
    "            most = fmaxf(most, ABS(x[v]));\n"
    "        most = fmaxf(most, SHUFFLE_XOR(most, 1));\n"
    "        most = fmaxf(most, SHUFFLE_XOR(most, 2));\n"
    /* The power of two that takes the greatest to below 2^15. */
    "        UINT32 exponent = AS_UINT(most) >> 23;\n"
    "        exponent = exponent < 15u ? 15u : exponent;\n"
    "        float there = AS_FLOAT((268u - exponent) << 23);\n"
    "        back = AS_FLOAT((exponent - 14u) << 23);\n"
    "        UNROLL for (int v = 0; v < 8; v++)\n"
    "            x[v] *= there;\n"
    "    }\n"
    "    int l = unit >> 4, h = (unit >> 2) & 1, t = ((unit >> 3) & 1) * 2 + ((unit >> 1) & 1);\n"
    "    int place = ((block * 2 + l) * 2 + h) * 2 + (unit & 1), sub_block = unit >> 2;\n"
    "    UNROLL for (int p = 0; p < PARTS; p++) {\n"
    "        int r = i * PARTS + p;\n"
    "        *(WORDS4 *)(x_words + ((place * X_ROWS + r) * 4 + t) * 4) =\n"
    "            MAKE_WORDS4(PACK_F16(x[0], x[2]), PACK_F16(x[1], x[3]), PACK_F16(x[4], x[6]),\n"
    "                        PACK_F16(x[5], x[7]));\n"
    "        if (unit % 4 == 0) {\n"
    "            x_sums[(block * X_ROWS + r) * 8 + sub_block] = p == 0 ? total : 0.0f;\n"
    "            x_units[(block * X_ROWS + r) * 8 + sub_block] = back;\n"
    "        }\n"
    "        UNROLL for (int v = 0; v < 8; v++)\n"
    "            x[v] -= ROUND_F16(x[v]);\n"
    "    }\n"
    "}\n";

/* One block of 256 weights of the warp's lines: `quants` and `head` are loaded, `at` is its place
 * in the stage. Lanes for which a column is zero never load into its registers. */
static const char products_text[] =
    "float c[SETS][SUMS][4];\n"
    "UNROLL for (int s = 0; s < SETS; s++)\n"
    "    UNROLL for (int i = 0; i < SUMS; i++)\n"
    "        c[s][i][0] = c[s][i][1] = c[s][i][2] = c[s][i][3] = 0.0f;\n"
    "UNROLL for (int l = 0; l < 2; l++)\n"
    "    UNROLL for (int h = 0; h < 2; h++)\n"
    "        UNROLL for (int s = 0; s < SETS; s++)\n"
    "            UNROLL for (int v = 0; v < 2; v++) {\n"
    "                const UINT32 *from = x_lane +\n"
    "                    ((((at * 2 + l) * 2 + h) * 2 + v) * X_ROWS + s * 4) * 16;\n"
    "                WORDS4 *to = &x[SLOTS == 1 ? s : l * 2 + h][v];\n"
    "                if (mine && SLOT_IS(group / 2, l, h) && s * 4 + X_ROW(group / 2) < X_ROWS)\n"
    "                    *to = *(const WORDS4 *)from;\n"
    "                UNROLL for (int word = v * 2; word < v * 2 + 2; word++) {\n"
    "                    UINT32 upper = nth_word(quants[0][l], word);\n"
    "                    UINT32 lower = nth_word(quants[1][l], word);\n"
    "                    tensor_multiply(c[s][SUM_OF(l, h)],\n"
    "                                    h ? HIGH_QUANTS(upper) : LOW_QUANTS(upper),\n"
    "                                    h ? HIGH_QUANTS(lower) : LOW_QUANTS(lower),\n"
    "                                    h ? HIGH_QUANTS(upper >> 8) : LOW_QUANTS(upper >> 8),\n"
    "                                    h ? HIGH_QUANTS(lower >> 8) : LOW_QUANTS(lower >> 8),\n"
    "                                    word % 2 ? to->z : to->x, word % 2 ? to->w : to->y);\n"
    "                }\n"
    "            }\n";

static const char scales_text[] =
    "UNROLL for (int i = 0; i < 2; i++) {\n"
    "    float d = U32_LO_F16(head[i].x), minimum = U32_HI_F16(head[i].x);\n"
    "    UNROLL for (int sum = 0; sum < SUMS; sum++) {\n"
    "        int l = SLOT_L(part, sum), h = SLOT_H(part, sum);\n"
    "        UINT32 scales = four_scales(head[i].y, head[i].w, l);\n"
    "        UINT32 minimums = four_scales(head[i].z, head[i].w >> 4, l);\n"
    "        float unit = d * (h ? 1048576.0f : 16777216.0f);\n"
    "        UNROLL for (int odd = 0; odd < 2; odd++) {\n"
    "            float scale = scaled_byte(scales, odd * 2 + h, unit);\n"
    "            float least = scaled_byte(minimums, odd * 2 + h, minimum);\n"
    "            UNROLL for (int s = 0; s < SETS; s++) {\n"
    "                int r = s * 4 + X_ROW(part);\n"
    "                int sub_block = (at * X_ROWS + (r < X_ROWS ? r : 0)) * 8 + l * 4 + odd * 2 + "
    "h;\n"
    "                float product = c[s][sum][i * 2 + odd];\n"
    "                if (SCALED)\n"
    "                    product *= x_units[sub_block];\n"
    "                y[s][i] = FMA(scale, product, y[s][i]);\n"
    "                y[s][i] = FMA(-least, x_sums[sub_block], y[s][i]);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n";

static const char head_text[] =
    "__shared__ float sums[WARPS][X_ROWS][16];\n"
    "UINT32 *x_words = (UINT32 *)dynamic_shared;\n"
    "int blocks = (int)(SIZE_K / 256), stage = blocks < STAGE ? blocks : STAGE;\n"
    "float *x_sums = (float *)(x_words + stage * X_ROWS * 128);\n"
    "float *x_units = x_sums + stage * X_ROWS * 8;\n"
    "int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;\n"
    /* Whether the lane's column of x is for its half of the quad. */
    "bool mine = group % 2 == part / 2;\n"
    "const UINT32 *x_lane = x_words + (X_ROW(group / 2) * 4 + part) * 4;\n"
    "INT64 strips = (SIZE_N + TILES * 16 - 1) / (TILES * 16), line = blocks * (INT64)144;\n"
    "for (INT64 batch = BLOCK_Z; batch < BATCHES; batch += GRID_Z)\n"
    "for (INT64 first_row = BLOCK_Y * (INT64)ROWS; first_row < SIZE_M;\n"
    "     first_row += GRID_Y * (INT64)ROWS) {\n"
    "    const TYPE_A *a_batch = a + batch * A_BATCH;\n"
    "    const UCHAR *b_batch = b + batch * (B_BATCH / 256 * 144);\n"
    "    int staged = -1;\n"
    "    for (INT64 strip = BLOCK_X; strip < strips; strip += GRID_X) {\n"
    "        INT64 upper = (strip * TILES + warp / SPLIT) * 16 + group, lower = upper + 8;\n"
    "        const UCHAR *b_upper = b_batch + (upper < SIZE_N ? upper : SIZE_N - 1) * line;\n"
    "        const UCHAR *b_lower = b_batch + (lower < SIZE_N ? lower : SIZE_N - 1) * line;\n"
    "        WORDS4 x[SLOTS == 1 ? SETS : 4][2];\n"
    "        UNROLL for (int i = 0; i < (SLOTS == 1 ? SETS : 4); i++)\n"
    "            x[i][0] = x[i][1] = MAKE_WORDS4(0u, 0u, 0u, 0u);\n"
    "        float y[SETS][2];\n"
    "        UNROLL for (int s = 0; s < SETS; s++)\n"
    "            y[s][0] = y[s][1] = 0.0f;\n"
    "        for (int base = 0; base < blocks; base += stage) {\n"
    "            int count = blocks - base < stage ? blocks - base : stage, at = warp % SPLIT;\n"
    "            WORDS4 next[6];\n"
    "            if (at < count)\n"
    "                LOAD_NEXT(at)\n"
    "            if (staged != base) {\n"
    "                BARRIER();\n";

static const char loop_text[] =
    "                BARRIER();\n"
    "                staged = base;\n"
    "            }\n"
    "            for (; at < count; at += SPLIT) {\n"
    "                WORDS4 quants[2][2] = {{next[0], next[1]}, {next[2], next[3]}};\n"
    "                WORDS4 head[2] = {next[4], next[5]};\n"
    "                if (at + SPLIT < count)\n"
    "                    LOAD_NEXT(at + SPLIT)\n";

static const char load_text[] = "#define LOAD_NEXT(place) { \\\n"
                                "    INT64 offset = (base + (place)) * (INT64)144; \\\n"
                                "    next[0] = LOAD16(b_upper + offset + 16 + part * 16); \\\n"
                                "    next[1] = LOAD16(b_upper + offset + 80 + part * 16); \\\n"
                                "    next[2] = LOAD16(b_lower + offset + 16 + part * 16); \\\n"
                                "    next[3] = LOAD16(b_lower + offset + 80 + part * 16); \\\n"
                                "    next[4] = LOAD16(b_upper + offset); \\\n"
                                "    next[5] = LOAD16(b_lower + offset); \\\n"
                                "}\n";

static const char tail_text[] =
    "            }\n"
    "        }\n"
    "        UNROLL for (int s = 0; s < SETS; s++)\n"
    "            UNROLL for (int i = 0; i < 2; i++) {\n"
    "                float total = y[s][i];\n"
    "                if (SLOTS == 4)\n"
    "                    total += SHUFFLE_XOR(total, 1);\n"
    "                if (SLOTS >= 2)\n"
    "                    total += SHUFFLE_XOR(total, 2);\n"
    "                int r = s * 4 + X_ROW(part);\n"
    "                if (part < SUMS && r < X_ROWS)\n"
    "                    sums[warp][r][i * 8 + group] = total;\n"
    "            }\n"
    "        BARRIER();\n"
    "        for (int e = THREAD_X; e < TILES * ROWS * 16; e += THREADS) {\n"
    "            int tile = e / (ROWS * 16), i = e / 16 % ROWS;\n"
    "            INT64 row = first_row + i, column = (strip * TILES + tile) * 16 + e % 16;\n"
    "            float total = 0.0f;\n"
    "            for (int w = 0; w < SPLIT; w++)\n"
    "                UNROLL for (int p = 0; p < PARTS; p++)\n"
    "                    total += sums[tile * SPLIT + w][i * PARTS + p][e % 16];\n"
    "            if (row >= SIZE_M || column >= SIZE_N)\n"
    "                continue;\n";

static void code(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_words(out, spec);
    source_tensor_words(out, RIDGE_F16);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "PARTS", spec->choices[PARTS]);
    source_define(out, "SPLIT", spec->choices[SPLIT]);
    source_define(out, "STAGE", spec->choices[STAGE]);
    source_define(out, "SCALED", spec->types[0] != RIDGE_F16);
    buffer_string(out, spec->choices[A_VECTOR] ? vector_text : gather_text);
    buffer_string(out, words_text);
    buffer_string(out, load_text);
    int32_t x_rows = spec->choices[ROWS] * spec->choices[PARTS];
    generated->code.shared_max = (uint32_t)(spec->choices[STAGE] * stage_bytes(x_rows));
    source_matmul_begin(spec, device, generated, 1);
    buffer_string(out, head_text);
    buffer_string(out, stage_text);
    buffer_string(out, loop_text);
    buffer_string(out, products_text);
    buffer_string(out, scales_text);
    buffer_string(out, tail_text);
    source_matmul_epilogue(out, spec, device, "total");
    buffer_string(out, "}\nBARRIER();\n}\n}\n}\n");
}

const struct matmul_maker matmul_quantized_tensor = {plan, code};
