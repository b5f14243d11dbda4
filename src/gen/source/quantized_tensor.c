/* Products by a Q4_K matrix on CUDA's matrix units, bound by reading the matrix.
 *
 * A warp takes 8 columns of B (lines of the quantised [n][k]) and a block of 256 weights of each at
 * a time. Weights become halves without a conversion: as f16 the 4 bits are a subnormal number, q
 * times 2^-24 (or 2^-20, where they lie 4 bits higher), which a product takes exactly; as bf16 they
 * are the mantissa of 128 + q, and the sum of x takes the 128 away.
 *
 * A product sums over the lanes of a quad, but these hold weights of two sub-blocks (a lane loads
 * 16 bytes, two of them 32, the quants of sub-blocks 2 g and 2 g + 1), whose scales differ. So each
 * row of x is given twice, with zeros for the one half of the quad and for the other, and its two
 * rows of the product are the sums of the two: half of a warp's 16 rows would be idle anyway.
 *
 * x is laid out in shared memory in the order in which the lanes need it. f16 and bf16 are taken as
 * they are; f32 as three rows of bf16 that add up to it.
 */
#include "gen/source/matmul.h"
#include "gen/source/tensor_words.h"

enum quantized_choice {
    ROWS = MATMUL_OTHERS, /* of A that a block takes: at least m, or as many as there is room for */
    PARTS,                /* rows of halves for a row of A */
    SPLIT,                /* warps that divide k */
    STAGE,                /* blocks of 256 k in shared memory at a time */
};

enum { WARPS = 16, BLOCK_WEIGHTS = 256, X_ROWS_MAX = 16, SHARED_LIMIT = 96 * 1024 };

/* Shared memory for 256 k: the halves of each row, and their 8 sums. */
static int32_t stage_bytes(int32_t x_rows) {
    return x_rows * (BLOCK_WEIGHTS * 2 + 8 * 4);
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

static bool plan(const struct matmul_work *work, const struct device_capabilities *device,
                 struct kernel_request *request) {
    if (work->b_type != RIDGE_Q4_K || !tensor_units(device) || work->k % BLOCK_WEIGHTS != 0 ||
        work->k == 0 || work->b_alignment < 16 || device->block_max < WARPS * 32 ||
        device->shared_max < SHARED_LIMIT)
        return false;
    int32_t parts = work->a_type == RIDGE_F32 ? 3 : 1, split = 1;
    int32_t rows = rows_of(work->m, parts);
    int32_t stage = SHARED_LIMIT / stage_bytes(rows * parts);
    int64_t blocks = work->k / BLOCK_WEIGHTS, tiles = divide_up(work->n, 8);
    int64_t wanted = 2 * (int64_t)device->compute_units * 9 / 10;
    while (split < WARPS && split * 2 <= blocks && tiles * split / WARPS < wanted)
        split *= 2;
    int32_t *choices = request->spec.choices;
    choices[MATMUL_THREADS] = WARPS * 32;
    choices[ROWS] = rows;
    choices[PARTS] = parts;
    choices[SPLIT] = split;
    choices[STAGE] = stage;
    request->shared_bytes =
        (uint32_t)stage_bytes(rows * parts) * bounded(blocks, stage);
    request->grid[0] =
        bounded(divide_up(tiles, WARPS / split), 2 * (int64_t)device->compute_units);
    request->grid[1] = bounded(divide_up(work->m, rows), 65535);
    request->grid[2] = bounded(work->batch, 65535);
    return true;
}

static const char f16_text[] =
    "#define LOW_QUANTS(u) ((u) & 0x000f000fu)\n"
    "#define HIGH_QUANTS(u) ((u) & 0x00f000f0u)\n"
    "#define LOW_UNIT 16777216.0f\n"
    "#define HIGH_UNIT 1048576.0f\n"
    "#define QUANT_OFFSET 0.0f\n";

static const char bf16_text[] =
    "#define LOW_QUANTS(u) (((u) & 0x000f000fu) | 0x43004300u)\n"
    "#define HIGH_QUANTS(u) ((((u) >> 4) & 0x000f000fu) | 0x43004300u)\n"
    "#define LOW_UNIT 1.0f\n"
    "#define HIGH_UNIT 1.0f\n"
    "#define QUANT_OFFSET 128.0f\n";

/* The bits of part `part` of x, and its value. */
static const char whole_part_text[] =
    "INLINE UINT32 part_bits(const TYPE_A *p, int part) { return *p; }\n"
    "INLINE float part_value(const TYPE_A *p, int part) { return LOAD_A(p, 0); }\n";
static const char three_parts_text[] =
    "INLINE UINT32 part_bits(const float *p, int part) {\n"
    "    float x = *p;\n"
    "    for (int i = 0; i < part; i++)\n"
    "        x -= ROUND_BF16(x);\n"
    "    return f32_to_bf16(x);\n"
    "}\n"
    "INLINE float part_value(const float *p, int part) { return U32_LO_BF16(part_bits(p, part)); }\n";

static const char words_text[] =
    "#define WARPS (THREADS / 32)\n"
    "#define TILES (WARPS / SPLIT)\n"
    "#define X_ROWS (ROWS * PARTS)\n"
    "#define SETS ((X_ROWS + 7) / 8)\n"
    /* Small integers as floats times `unit`, without a conversion. */
    "INLINE float scaled_byte(UINT32 bytes, int byte, float unit) {\n"
    "    float with_offset = AS_FLOAT(__byte_perm(bytes, 0x4b000000u, 0x7540u + byte));\n"
    "    return FMA(with_offset, unit, -8388608.0f * unit);\n"
    "}\n"
    /* The scales and minimums that a lane needs of a line: sub-blocks 4 l + 2 odd + h at [l][h]. */
    "INLINE void line_scales(WORDS4 head, int odd, float scale[2][2], float least[2][2]) {\n"
    "    float d = U32_LO_F16(head.x), minimum = U32_HI_F16(head.x);\n"
    "    UINT32 first = head.y >> (odd * 16), second = head.z >> (odd * 16);\n"
    "    UINT32 third = head.w >> (odd * 16);\n"
    "    UINT32 scales[2], minimums[2];\n"
    "    scales[0] = first & 0x3f3fu;\n"
    "    scales[1] = (third & 0x0f0fu) | ((first >> 2) & 0x3030u);\n"
    "    minimums[0] = second & 0x3f3fu;\n"
    "    minimums[1] = ((third >> 4) & 0x0f0fu) | ((second >> 2) & 0x3030u);\n"
    "    UNROLL for (int l = 0; l < 2; l++)\n"
    "        UNROLL for (int h = 0; h < 2; h++) {\n"
    "            scale[l][h] = scaled_byte(scales[l], h, d * (h ? HIGH_UNIT : LOW_UNIT));\n"
    "            least[l][h] = scaled_byte(minimums[l], h, minimum);\n"
    "            least[l][h] = FMA(QUANT_OFFSET, scale[l][h], least[l][h]);\n"
    "        }\n"
    "}\n"
    "INLINE UINT32 nth_word(WORDS4 words, int i) {\n"
    "    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;\n"
    "}\n";

/* Fills the stage with `count` blocks from `base` on. Words of x are in the order block, l, h,
 * pair of words, row, part of the quad, word: what a quad reads together lies together. */
static const char stage_text[] =
    "for (int e = THREAD_X; e < count * X_ROWS * 128; e += THREADS) {\n"
    "    int t = (e >> 2) & 3, rest = e >> 4;\n"
    "    int r = rest % X_ROWS;\n"
    "    rest /= X_ROWS;\n"
    "    int word = (rest & 1) * 2 + ((e >> 1) & 1), h = (rest >> 1) & 1, l = (rest >> 2) & 1;\n"
    "    INT64 k = (base + (rest >> 3)) * 256 + (l * 2 + (t >> 1)) * 64 + h * 32 +\n"
    "              (t & 1) * 16 + word * 4 + (e & 1);\n"
    "    INT64 i = first_row + r / PARTS;\n"
    "    UINT32 low = 0u, high = 0u;\n"
    "    if (i < SIZE_M) {\n"
    "        low = part_bits(a_batch + i * A_ROW + k * A_COLUMN, r % PARTS);\n"
    "        high = part_bits(a_batch + i * A_ROW + (k + 2) * A_COLUMN, r % PARTS);\n"
    "    }\n"
    "    x_words[e] = low | high << 16;\n"
    "}\n"
    "for (int e = THREAD_X; e < count * X_ROWS * 8; e += THREADS) {\n"
    "    int r = e / 8 % X_ROWS, block = e / 8 / X_ROWS;\n"
    "    INT64 i = first_row + r / PARTS, k = (base + block) * 256 + e % 8 * 32;\n"
    "    float total = 0.0f;\n"
    "    if (i < SIZE_M)\n"
    "        UNROLL for (int v = 0; v < 32; v++)\n"
    "            total += part_value(a_batch + i * A_ROW + (k + v) * A_COLUMN, r % PARTS);\n"
    "    x_sums[e] = total;\n"
    "}\n";

/* One block of 256 weights of 8 lines: `head` and `quants` are loaded, `at` is its place in the
 * stage. */
static const char block_text[] =
    "float c[SETS][2][2][4];\n"
    "UNROLL for (int l = 0; l < 2; l++)\n"
    "    UNROLL for (int word = 0; word < 4; word++) {\n"
    "        UINT32 u = nth_word(quants[l], word);\n"
    "        UNROLL for (int h = 0; h < 2; h++) {\n"
    "            UINT32 b0 = h ? HIGH_QUANTS(u) : LOW_QUANTS(u);\n"
    "            UINT32 b1 = h ? HIGH_QUANTS(u >> 8) : LOW_QUANTS(u >> 8);\n"
    "            UNROLL for (int s = 0; s < SETS; s++) {\n"
    "                int unit = (((at * 2 + l) * 2 + h) * 2 + word / 2) * X_ROWS + s * 8;\n"
    "                int place = ((unit + group / 2) * 4 + part) * 4 + word % 2 * 2;\n"
    "                if (mine && s * 8 + group / 2 < X_ROWS) {\n"
    "                    WORDS2 w = *(const WORDS2 *)(x_words + place);\n"
    "                    x0[s][0] = w.x, x0[s][1] = w.y;\n"
    "                }\n"
    "                if (X_ROWS > s * 8 + 4 && mine && s * 8 + 4 + group / 2 < X_ROWS) {\n"
    "                    WORDS2 w = *(const WORDS2 *)(x_words + place + 64);\n"
    "                    x1[s][0] = w.x, x1[s][1] = w.y;\n"
    "                }\n"
    "                if (word == 0)\n"
    "                    tensor_begin(c[s][l][h], x0[s][0], x1[s][0], x0[s][1], x1[s][1], b0, b1);\n"
    "                else\n"
    "                    tensor_multiply(c[s][l][h], x0[s][0], x1[s][0], x0[s][1], x1[s][1], b0,\n"
    "                                    b1);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "UNROLL for (int column = 0; column < 2; column++) {\n"
    "    float scale[2][2], least[2][2];\n"
    "    line_scales(head[column], odd, scale, least);\n"
    "    UNROLL for (int s = 0; s < SETS; s++)\n"
    "        UNROLL for (int upper = 0; upper < 2; upper++)\n"
    "            if (X_ROWS > s * 8 + upper * 4) {\n"
    "                int r = s * 8 + upper * 4 + group / 2;\n"
    "                const float *of_row = x_sums + (at * X_ROWS + (r < X_ROWS ? r : 0)) * 8;\n"
    "                UNROLL for (int l = 0; l < 2; l++)\n"
    "                    UNROLL for (int h = 0; h < 2; h++) {\n"
    "                        float x_sum = of_row[l * 4 + odd * 2 + h];\n"
    "                        float total = y[s][upper][column];\n"
    "                        total = FMA(scale[l][h], c[s][l][h][upper * 2 + column], total);\n"
    "                        y[s][upper][column] = FMA(-least[l][h], x_sum, total);\n"
    "                    }\n"
    "            }\n"
    "}\n";

static const char head_text[] =
    "__shared__ float sums[WARPS][X_ROWS][8];\n"
    "UINT32 *x_words = (UINT32 *)dynamic_shared;\n"
    "int blocks = (int)(SIZE_K / 256), stage = blocks < STAGE ? blocks : STAGE;\n"
    "float *x_sums = (float *)(x_words + stage * X_ROWS * 128);\n"
    "int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;\n"
    /* Which half of the quad a lane's rows of A are for. */
    "int odd = group % 2;\n"
    "bool mine = odd == part / 2;\n"
    "INT64 strips = (SIZE_N + TILES * 8 - 1) / (TILES * 8);\n"
    "for (INT64 batch = BLOCK_Z; batch < BATCHES; batch += GRID_Z)\n"
    "for (INT64 first_row = BLOCK_Y * (INT64)ROWS; first_row < SIZE_M;\n"
    "     first_row += GRID_Y * (INT64)ROWS) {\n"
    "    const TYPE_A *a_batch = a + batch * A_BATCH;\n"
    "    const UCHAR *b_batch = b + batch * (B_BATCH / 256 * 144);\n"
    "    int staged = -1;\n"
    "    for (INT64 strip = BLOCK_X; strip < strips; strip += GRID_X) {\n"
    "        INT64 first = (strip * TILES + warp / SPLIT) * 8;\n"
    "        INT64 last = SIZE_N - 1, line = blocks * (INT64)144;\n"
    "        const UCHAR *b_quants =\n"
    "            b_batch + (first + group < last ? first + group : last) * line + part * 16;\n"
    "        const UCHAR *b_head0 =\n"
    "            b_batch + (first + part * 2 < last ? first + part * 2 : last) * line;\n"
    "        const UCHAR *b_head1 =\n"
    "            b_batch + (first + part * 2 + 1 < last ? first + part * 2 + 1 : last) * line;\n"
    "        float y[SETS][2][2];\n"
    "        UINT32 x0[SETS][2], x1[SETS][2];\n"
    "        UNROLL for (int s = 0; s < SETS; s++)\n"
    "            UNROLL for (int i = 0; i < 2; i++)\n"
    "                y[s][i][0] = y[s][i][1] = 0.0f, x0[s][i] = x1[s][i] = 0u;\n"
    "        for (int base = 0; base < blocks; base += stage) {\n"
    "            int count = blocks - base < stage ? blocks - base : stage;\n"
    "            if (staged != base) {\n"
    "                BARRIER();\n";

static const char loop_text[] =
    "                BARRIER();\n"
    "                staged = base;\n"
    "            }\n"
    "            int at = warp % SPLIT;\n"
    "            WORDS4 next[4];\n"
    "            if (at < count)\n"
    "                LOAD_NEXT(at)\n"
    "            for (; at < count; at += SPLIT) {\n"
    "                WORDS4 quants[2] = {next[0], next[1]}, head[2] = {next[2], next[3]};\n"
    "                if (at + SPLIT < count)\n"
    "                    LOAD_NEXT(at + SPLIT)\n";

static const char load_text[] =
    "#define LOAD_NEXT(place) { \\\n"
    "    INT64 offset = (base + (place)) * (INT64)144; \\\n"
    "    next[0] = LOAD16_ONCE(b_quants + offset + 16); \\\n"
    "    next[1] = LOAD16_ONCE(b_quants + offset + 80); \\\n"
    "    next[2] = LOAD16(b_head0 + offset); \\\n"
    "    next[3] = LOAD16(b_head1 + offset); \\\n"
    "}\n";

static const char tail_text[] =
    "            }\n"
    "        }\n"
    "        UNROLL for (int s = 0; s < SETS; s++)\n"
    "            UNROLL for (int upper = 0; upper < 2; upper++)\n"
    "                UNROLL for (int column = 0; column < 2; column++) {\n"
    "                    int r = s * 8 + upper * 4 + group / 2;\n"
    "                    float total = y[s][upper][column];\n"
    "                    total += SHUFFLE_XOR(total, 4);\n"
    "                    if (odd == 0 && r < X_ROWS)\n"
    "                        sums[warp][r][part * 2 + column] = total;\n"
    "                }\n"
    "        BARRIER();\n"
    "        for (int e = THREAD_X; e < TILES * ROWS * 8; e += THREADS) {\n"
    "            int tile = e / (ROWS * 8), i = e / 8 % ROWS;\n"
    "            INT64 row = first_row + i, column = (strip * TILES + tile) * 8 + e % 8;\n"
    "            float total = 0.0f;\n"
    "            for (int w = 0; w < SPLIT; w++)\n"
    "                UNROLL for (int p = 0; p < PARTS; p++)\n"
    "                    total += sums[tile * SPLIT + w][i * PARTS + p][e % 8];\n"
    "            if (row >= SIZE_M || column >= SIZE_N)\n"
    "                continue;\n";

static void code(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    bool f16 = spec->types[0] == RIDGE_F16;
    source_matmul_words(out, spec);
    source_tensor_words(out, f16 ? RIDGE_F16 : RIDGE_BF16);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "PARTS", spec->choices[PARTS]);
    source_define(out, "SPLIT", spec->choices[SPLIT]);
    source_define(out, "STAGE", spec->choices[STAGE]);
    buffer_string(out, f16 ? f16_text : bf16_text);
    buffer_string(out, spec->choices[PARTS] == 1 ? whole_part_text : three_parts_text);
    buffer_string(out, words_text);
    buffer_string(out, load_text);
    generated->code.shared_max = (uint32_t)(spec->choices[STAGE] *
                                            stage_bytes(spec->choices[ROWS] * spec->choices[PARTS]));
    source_matmul_begin(out, spec, device, generated->name, generated->code.shared_max);
    buffer_string(out, head_text);
    buffer_string(out, stage_text);
    buffer_string(out, loop_text);
    buffer_string(out, block_text);
    buffer_string(out, tail_text);
    source_matmul_epilogue(out, spec, device, "total");
    buffer_string(out, "}\nBARRIER();\n}\n}\n}\n");
}

const struct matmul_maker matmul_quantized_tensor = {plan, code};
