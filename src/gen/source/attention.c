/* Attention on GPUs, in f32, with the softmax kept up as the keys come.
 *
 * Few queries (decoding): a block to each query, whose keys are divided among groups of lanes. A
 * group keeps its own greatest score, sum of exponentials and weighted sum of values; the groups'
 * are brought together at the end. Many queries: a block to a tile of queries; tiles of keys, then
 * of values, pass through shared memory.
 *
 * A query that sees no key gets zeros.
 */
#include "gen/backends.h"
#include "gen/source/elements.h"

enum attention_choice {
    TILED, /* else a block per query */
    WIDTH,
    THREADS,
    CAUSAL,
    VECTOR, /* elements that are loaded together where the addresses allow */
    LANES,  /* of a key (a block per query) */
    TILE,   /* queries and keys */
};

enum {
    SCALARS = 15,
    WIDTH_MAX = 256,
    FEW_QUERIES = 8,
    GROUP_BYTES = 32768, /* of shared memory for what the groups bring together */
    GROUP_THREADS = 512,
};

static uint32_t shared_of(const struct device_capabilities *device) {
    return device->shared_bytes ? device->shared_bytes : 16384;
}

static bool divides(const struct attention_work *work, int64_t vector) {
    for (int i = 0; i < 3; i++)
        if (work->q_strides[i] % vector || work->k_strides[i] % vector ||
            work->v_strides[i] % vector)
            return false;
    return work->width % vector == 0;
}

static int32_t vector_of(const struct attention_work *work) {
    int32_t vector = work->type == RIDGE_F32 ? 4 : 8;
    while (!divides(work, vector))
        vector /= 2;
    return vector;
}

/* Lanes to a key: one piece each, but no more than can shuffle cheaply. Where none can, a thread
 * does all of a key. */
static int32_t lanes_of(int64_t pieces, const struct device_capabilities *device) {
    int32_t lanes = 1, most = device->language == LANGUAGE_CUDA ? 16 : 1;
    while (lanes < most && lanes < pieces)
        lanes *= 2;
    return lanes;
}

static void plan_queries(const struct attention_work *work,
                         const struct device_capabilities *device, struct kernel_request *request) {
    int32_t *choices = request->spec.choices;
    int32_t vector = choices[VECTOR], lanes = lanes_of(work->width / vector, device);
    int64_t bytes = shared_of(device) < GROUP_BYTES ? shared_of(device) / 2 : GROUP_BYTES;
    int32_t threads = GROUP_THREADS;
    while (threads > lanes && (threads > (int32_t)device->block_max ||
                               threads / lanes * (work->width + 2) * 4 > bytes ||
                               (threads > 32 && threads / lanes / 2 >= work->keys)))
        threads /= 2;
    choices[LANES] = lanes;
    choices[THREADS] = threads;
    source_geometry(request, (double)work->batch * (double)work->heads * (double)work->queries,
                    (unsigned)threads);
}

static int64_t tile_bytes(int64_t tile, int64_t width) {
    return 4 * (2 * tile * (width + 1) + tile * (tile + 1) + 3 * tile + 128);
}

static void plan_tiles(const struct attention_work *work, const struct device_capabilities *device,
                       struct kernel_request *request) {
    int32_t *choices = request->spec.choices, tile = 32;
    while (tile > 8 && tile_bytes(tile, work->width) > shared_of(device))
        tile /= 2;
    choices[TILED] = 1;
    choices[TILE] = tile;
    choices[THREADS] = tile == 8 ? 64 : 128;
    source_geometry(
        request, (double)work->batch * (double)work->heads * (double)divide_up(work->queries, tile),
        (unsigned)choices[THREADS]);
}

bool source_attention(const struct attention_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    if (work->width > WIDTH_MAX || work->width < 1)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "attention: heads of width %lld cannot be done on this device; at most %d",
            (long long)work->width, WIDTH_MAX);
    int32_t *choices = request->spec.choices;
    request->spec.family = KERNEL_ATTENTION;
    request->spec.types[0] = (uint8_t)work->type;
    choices[WIDTH] = (int32_t)work->width;
    choices[CAUSAL] = work->causal;
    choices[VECTOR] = vector_of(work);
    if (work->queries <= FEW_QUERIES)
        plan_queries(work, device, request);
    else
        plan_tiles(work, device, request);
    union {
        float f32;
        uint32_t bits;
    } scale = {.f32 = work->scale};
    int64_t scalars[SCALARS] = {work->batch,        work->heads,        work->kv_heads,
                                work->queries,      work->keys,         scale.bits,
                                work->q_strides[0], work->q_strides[1], work->q_strides[2],
                                work->k_strides[0], work->k_strides[1], work->k_strides[2],
                                work->v_strides[0], work->v_strides[1], work->v_strides[2]};
    for (unsigned i = 0; i < SCALARS; i++)
        request->scalars[i] = scalars[i];
    request->scalar_count = SCALARS;
    return true;
}

static const char words_text[] =
    "#define BATCHES scalars.v[0]\n"
    "#define HEADS scalars.v[1]\n"
    "#define HEADS_PER_KV (scalars.v[1] / scalars.v[2])\n"
    "#define QUERIES scalars.v[3]\n"
    "#define KEYS scalars.v[4]\n"
    "#define SCALE AS_FLOAT((UINT32)scalars.v[5])\n"
    "#define Q_STRIDE(i) scalars.v[6 + (i)]\n"
    "#define K_STRIDE(i) scalars.v[9 + (i)]\n"
    "#define V_STRIDE(i) scalars.v[12 + (i)]\n"
    /* The keys that query i sees are those before this one. */
    "#define KEYS_SEEN(i) (CAUSAL ? KEYS - QUERIES + (i) + 1 : KEYS)\n"
    "INLINE void load_piece(GLOBAL const TYPE *p, PRIVATE float *x, bool aligned) {\n"
    "    if (aligned) {\n"
    "        LOAD_VECTOR(p, x);\n"
    "    } else {\n"
    "        UNROLL for (int i = 0; i < VECTOR; i++)\n"
    "            x[i] = LOAD(p, i);\n"
    "    }\n"
    "}\n"
    "#define ALIGNED(p) (((UINT64)(p) & (VECTOR * sizeof(TYPE) - 1)) == 0)\n"
    /* exp(x - greatest), where both may be minus infinity. */
    "#define EXP_BELOW(x, greatest) ((x) == -INFINITE ? 0.0f : EXP((x) - (greatest)))\n";

static const char query_words[] =
    "#define GROUPS (THREADS / LANES)\n"
    "#define PIECES ((WIDTH / VECTOR + LANES - 1) / LANES)\n"
    "#define STEPS (PIECES * VECTOR > 32 ? 1 : 4)\n"
    /* Piece i of a lane, or one that exists in place of one that does not. */
    "#define PIECE_AT(i) ((lane + (i) * LANES) * VECTOR < WIDTH ? (lane + (i) * LANES) * VECTOR : "
    "0)\n"
    "#define HAS_PIECE(i) ((lane + (i) * LANES) * VECTOR < WIDTH)\n";

static const char query_text[] =
    "SHARED float sums[GROUPS][WIDTH];\n"
    "SHARED float greatest_of[GROUPS], total_of[GROUPS];\n"
    "SHARED UINT32 scratch[2][THREADS];\n"
    "int thread = (int)THREAD_X, lane = thread % LANES, group = thread / LANES;\n"
    "bool aligned = ALIGNED(q) && ALIGNED(k) && ALIGNED(v);\n"
    "for (INT64 task = BLOCK_X; task < BATCHES * HEADS * QUERIES; task += GRID_X) {\n"
    "    INT64 query = task % QUERIES, head = task / QUERIES % HEADS, batch = task / QUERIES / "
    "HEADS;\n"
    "    INT64 kv_head = head / HEADS_PER_KV, seen = KEYS_SEEN(query);\n"
    "    GLOBAL const TYPE *q_line =\n"
    "        q + batch * Q_STRIDE(0) + head * Q_STRIDE(1) + query * Q_STRIDE(2);\n"
    "    GLOBAL const TYPE *k_head = k + batch * K_STRIDE(0) + kv_head * K_STRIDE(1);\n"
    "    GLOBAL const TYPE *v_head = v + batch * V_STRIDE(0) + kv_head * V_STRIDE(1);\n"
    "    float of_q[PIECES][VECTOR], sum[PIECES][VECTOR], greatest = -INFINITE, total = 0.0f;\n"
    "    UNROLL for (int i = 0; i < PIECES; i++) {\n"
    "        load_piece(q_line + PIECE_AT(i), of_q[i], aligned);\n"
    "        UNROLL for (int j = 0; j < VECTOR; j++) {\n"
    "            of_q[i][j] = HAS_PIECE(i) ? of_q[i][j] * SCALE : 0.0f;\n"
    "            sum[i][j] = 0.0f;\n"
    "        }\n"
    "    }\n"
    "    for (INT64 first = 0; first < seen; first += GROUPS * STEPS) {\n"
    "        float score[STEPS], of_v[STEPS][PIECES][VECTOR], before = greatest;\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            INT64 key = first + s * GROUPS + group;\n"
    "            GLOBAL const TYPE *k_line = k_head + (key < seen ? key : 0) * K_STRIDE(2);\n"
    "            score[s] = 0.0f;\n"
    "            UNROLL for (int i = 0; i < PIECES; i++) {\n"
    "                float of_k[VECTOR];\n"
    "                load_piece(k_line + PIECE_AT(i), of_k, aligned);\n"
    "                UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "                    score[s] = FMA(of_q[i][j], of_k[j], score[s]);\n"
    "            }\n"
    "        }\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            INT64 key = first + s * GROUPS + group;\n"
    "            GLOBAL const TYPE *v_line = v_head + (key < seen ? key : 0) * V_STRIDE(2);\n"
    "            UNROLL for (int i = 0; i < PIECES; i++)\n"
    "                load_piece(v_line + PIECE_AT(i), of_v[s][i], aligned);\n"
    "        }\n"
    "        UNROLL for (int s = 0; s < STEPS; s++) {\n"
    "            score[s] = GROUP_SUM(score[s], LANES, scratch[s % 2]);\n"
    "            if (first + s * GROUPS + group >= seen)\n"
    "                score[s] = -INFINITE;\n"
    "            greatest = MAX_NAN(greatest, score[s]);\n"
    "        }\n"
    "        float keep = EXP_BELOW(before, greatest);\n"
    "        total *= keep;\n"
    "        UNROLL for (int i = 0; i < PIECES; i++)\n"
    "            UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "                sum[i][j] *= keep;\n"
    "        UNROLL for (int s = 0; s < STEPS; s++)\n"
    "            if (score[s] != -INFINITE) {\n"
    "                float weight = EXP(score[s] - greatest);\n"
    "                total += weight;\n"
    "                UNROLL for (int i = 0; i < PIECES; i++)\n"
    "                    UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "                        sum[i][j] = FMA(weight, of_v[s][i][j], sum[i][j]);\n"
    "            }\n"
    "    }\n"
    "    UNROLL for (int i = 0; i < PIECES; i++)\n"
    "        if (HAS_PIECE(i))\n"
    "            UNROLL for (int j = 0; j < VECTOR; j++)\n"
    "                sums[group][PIECE_AT(i) + j] = sum[i][j];\n"
    "    if (lane == 0) {\n"
    "        greatest_of[group] = greatest;\n"
    "        total_of[group] = total;\n"
    "    }\n"
    "    BARRIER();\n"
    "    for (int c = thread; c < WIDTH; c += THREADS) {\n"
    "        float most = -INFINITE, all = 0.0f, x = 0.0f;\n"
    "        for (int g = 0; g < GROUPS; g++)\n"
    "            most = MAX_NAN(most, greatest_of[g]);\n"
    "        for (int g = 0; g < GROUPS; g++) {\n"
    "            float part = EXP_BELOW(greatest_of[g], most);\n"
    "            all = FMA(part, total_of[g], all);\n"
    "            x = FMA(part, sums[g][c], x);\n"
    "        }\n"
    "        STORE(result, task * WIDTH + c, all == 0.0f ? 0.0f : x / all);\n"
    "    }\n"
    "    BARRIER();\n"
    "}\n"
    "}\n";

static const char tile_words[] =
    "#define DOWN (TILE < 16 ? TILE : 16)\n"
    "#define ACROSS (THREADS / DOWN)\n"
    "#define MY_ROWS (TILE / DOWN)\n"
    "#define MY_KEYS (TILE / ACROSS)\n"
    "#define MY_COLUMNS ((WIDTH + ACROSS - 1) / ACROSS)\n"
    "#define ROW_LANES (THREADS / TILE)\n"
    /* TILE lines from `first` on of a head, zeros from `end` on. */
    "#define LOAD_TILE(tile, head, stride, first, end, factor) \\\n"
    "    for (int e = thread * VECTOR; e < TILE * WIDTH; e += THREADS * VECTOR) { \\\n"
    "        float piece[VECTOR]; \\\n"
    "        INT64 line = (first) + e / WIDTH; \\\n"
    "        load_piece((head) + (line < (end) ? line : 0) * (stride) + e % WIDTH, piece, "
    "aligned); \\\n"
    "        UNROLL for (int j = 0; j < VECTOR; j++) \\\n"
    "            tile[e / WIDTH][e % WIDTH + j] = line < (end) ? piece[j] * (factor) : 0.0f; \\\n"
    "    }\n";

static const char tile_head_text[] =
    "SHARED float of_q[TILE][WIDTH + 1], of_kv[TILE][WIDTH + 1], scores[TILE][TILE + 1];\n"
    "SHARED float greatest[TILE], total[TILE], keep[TILE];\n"
    "SHARED UINT32 scratch[2][THREADS];\n"
    "int thread = (int)THREAD_X, down = thread / ACROSS, across = thread % ACROSS;\n"
    "bool aligned = ALIGNED(q) && ALIGNED(k) && ALIGNED(v);\n"
    "INT64 tiles = (QUERIES + TILE - 1) / TILE;\n"
    "for (INT64 task = BLOCK_X; task < BATCHES * HEADS * tiles; task += GRID_X) {\n"
    /* The last queries see most: they go first, so that the device is busy to the end. */
    "    INT64 first_query = (tiles - 1 - task / (BATCHES * HEADS)) * TILE;\n"
    "    INT64 line = task % (BATCHES * HEADS), head = line % HEADS, batch = line / HEADS;\n"
    "    INT64 kv_head = head / HEADS_PER_KV;\n"
    "    GLOBAL const TYPE *q_head = q + batch * Q_STRIDE(0) + head * Q_STRIDE(1);\n"
    "    GLOBAL const TYPE *k_head = k + batch * K_STRIDE(0) + kv_head * K_STRIDE(1);\n"
    "    GLOBAL const TYPE *v_head = v + batch * V_STRIDE(0) + kv_head * V_STRIDE(1);\n"
    "    INT64 last_query = first_query + TILE <= QUERIES ? first_query + TILE - 1 : QUERIES - 1;\n"
    "    INT64 end = KEYS_SEEN(last_query);\n"
    "    LOAD_TILE(of_q, q_head, Q_STRIDE(2), first_query, QUERIES, SCALE)\n"
    "    if (thread < TILE)\n"
    "        greatest[thread] = -INFINITE, total[thread] = 0.0f;\n"
    "    float sum[MY_ROWS][MY_COLUMNS];\n"
    "    UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "        UNROLL for (int j = 0; j < MY_COLUMNS; j++)\n"
    "            sum[i][j] = 0.0f;\n";

static const char tile_scores_text[] =
    "    for (INT64 first = 0; first < end; first += TILE) {\n"
    "        LOAD_TILE(of_kv, k_head, K_STRIDE(2), first, KEYS, 1.0f)\n"
    "        BARRIER();\n"
    "        float score[MY_ROWS][MY_KEYS];\n"
    "        UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "            UNROLL for (int j = 0; j < MY_KEYS; j++)\n"
    "                score[i][j] = 0.0f;\n"
    "        for (int c = 0; c < WIDTH; c++) {\n"
    "            float x[MY_ROWS], y[MY_KEYS];\n"
    "            UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "                x[i] = of_q[down + i * DOWN][c];\n"
    "            UNROLL for (int j = 0; j < MY_KEYS; j++)\n"
    "                y[j] = of_kv[across + j * ACROSS][c];\n"
    "            UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "                UNROLL for (int j = 0; j < MY_KEYS; j++)\n"
    "                    score[i][j] = FMA(x[i], y[j], score[i][j]);\n"
    "        }\n"
    "        UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "            UNROLL for (int j = 0; j < MY_KEYS; j++) {\n"
    "                int row = down + i * DOWN, column = across + j * ACROSS;\n"
    "                bool visible = first + column < KEYS_SEEN(first_query + row) &&\n"
    "                               first + column < KEYS;\n"
    "                scores[row][column] = visible ? score[i][j] : -INFINITE;\n"
    "            }\n"
    "        BARRIER();\n"
    "        LOAD_TILE(of_kv, v_head, V_STRIDE(2), first, KEYS, 1.0f)\n"
    "        int row = thread / ROW_LANES;\n"
    "        float most = greatest[row], part = 0.0f;\n"
    "        for (int c = thread % ROW_LANES; c < TILE; c += ROW_LANES)\n"
    "            most = MAX_NAN(most, scores[row][c]);\n"
    "        most = GROUP_MAX(most, ROW_LANES, scratch[0]);\n"
    "        for (int c = thread % ROW_LANES; c < TILE; c += ROW_LANES) {\n"
    "            scores[row][c] = EXP_BELOW(scores[row][c], most);\n"
    "            part += scores[row][c];\n"
    "        }\n"
    "        part = GROUP_SUM(part, ROW_LANES, scratch[1]);\n"
    "        BARRIER();\n"
    "        if (thread % ROW_LANES == 0) {\n"
    "            keep[row] = EXP_BELOW(greatest[row], most);\n"
    "            total[row] = FMA(total[row], keep[row], part);\n"
    "            greatest[row] = most;\n"
    "        }\n"
    "        BARRIER();\n";

static const char tile_values_text[] =
    "        UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "            UNROLL for (int j = 0; j < MY_COLUMNS; j++)\n"
    "                sum[i][j] *= keep[down + i * DOWN];\n"
    "        for (int c = 0; c < TILE; c++) {\n"
    "            float x[MY_ROWS];\n"
    "            UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "                x[i] = scores[down + i * DOWN][c];\n"
    "            UNROLL for (int j = 0; j < MY_COLUMNS; j++) {\n"
    "                int column = across + j * ACROSS;\n"
    "                float y = of_kv[c][column < WIDTH ? column : 0];\n"
    "                UNROLL for (int i = 0; i < MY_ROWS; i++)\n"
    "                    sum[i][j] = FMA(x[i], y, sum[i][j]);\n"
    "            }\n"
    "        }\n"
    "        BARRIER();\n"
    "    }\n"
    "    UNROLL for (int i = 0; i < MY_ROWS; i++) {\n"
    "        INT64 query = first_query + down + i * DOWN;\n"
    "        float all = total[down + i * DOWN];\n"
    "        UNROLL for (int j = 0; j < MY_COLUMNS; j++)\n"
    "            if (query < QUERIES && across + j * ACROSS < WIDTH)\n"
    "                STORE(result, (line * QUERIES + query) * WIDTH + across + j * ACROSS,\n"
    "                      all == 0.0f ? 0.0f : sum[i][j] / all);\n"
    "    }\n"
    "    BARRIER();\n"
    "}\n"
    "}\n";

bool source_attention_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    bool tiled = spec->choices[TILED];
    source_words(out, device);
    source_element_words(out, type);
    source_define(out, "WIDTH", spec->choices[WIDTH]);
    source_define(out, "THREADS", spec->choices[THREADS]);
    source_define(out, "CAUSAL", spec->choices[CAUSAL]);
    source_define(out, "VECTOR", spec->choices[VECTOR]);
    source_define(out, "LANES", spec->choices[LANES]);
    source_define(out, "TILE", spec->choices[TILE]);
    buffer_printf(out, "#define LOAD_VECTOR(p, x) LOAD_%d(p, x)\n", spec->choices[VECTOR]);
    buffer_string(out, words_text);
    buffer_string(out, tiled ? tile_words : query_words);
    struct source_parameter buffers[] = {
        {.name = "q", .dtype = type},
        {.name = "k", .dtype = type},
        {.name = "v", .dtype = type},
        {.name = "result", .dtype = type, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 4,
        .scalar_count = SCALARS,
        .threads = (unsigned)spec->choices[THREADS],
    };
    source_kernel_begin(out, device->language, &kernel);
    buffer_string(out, tiled ? tile_head_text : query_text);
    if (tiled) {
        buffer_string(out, tile_scores_text);
        buffer_string(out, tile_values_text);
    }
    return true;
}
