/* The hand-made kernels in the language of src/gen/emit/dialect.h, for every device that takes
 * source. The three products differ only in READS and COMPUTES. */
#include "bench/kernels/kernel_case.h"
#include "gen/emit/elements.h"

static const char scale_text[] = "INT64 first = ((INT64)BLOCK_X * THREADS + THREAD_X) * 4;\n"
                                 "if (first + 4 <= N) {\n"
                                 "    float v[4];\n"
                                 "    LOAD_F32_4(x + first, v);\n"
                                 "    UNROLL for (int i = 0; i < 4; i++)\n"
                                 "        v[i] = FMA(2.0f, v[i], 1.0f);\n"
                                 "    STORE_F32_4(y + first, v);\n"
                                 "} else {\n"
                                 "    for (INT64 i = first; i < N; i++)\n"
                                 "        y[i] = FMA(2.0f, x[i], 1.0f);\n"
                                 "}\n"
                                 "}\n";

/* A block's sum is stored after the total, which the last launch writes. */
static const char sum_text[] =
    "SHARED UINT32 scratch[THREADS];\n"
    "float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
    "INT64 thread = (INT64)BLOCK_X * THREADS + THREAD_X, whole = N / 4 * 4;\n"
    "for (INT64 i = thread * 4; i < whole; i += (INT64)GRID_X * THREADS * 4) {\n"
    "    float v[4];\n"
    "    LOAD_F32_4(x + i, v);\n"
    "    UNROLL for (int j = 0; j < 4; j++)\n"
    "        sum[j] += v[j];\n"
    "}\n"
    "if (whole + thread < N)\n"
    "    sum[0] += x[whole + thread];\n"
    "float all = BLOCK_SUM(sum[0] + sum[1] + (sum[2] + sum[3]), scratch);\n"
    "if (THREAD_X == 0)\n"
    "    sums[1 + BLOCK_X] = all;\n"
    "}\n";

static const char sum_last_text[] = "SHARED UINT32 scratch[THREADS];\n"
                                    "float sum = 0.0f;\n"
                                    "for (INT64 i = THREAD_X; i < PARTS; i += THREADS)\n"
                                    "    sum += sums[1 + i];\n"
                                    "float all = BLOCK_SUM(sum, scratch);\n"
                                    "if (THREAD_X == 0)\n"
                                    "    sums[0] = all;\n"
                                    "}\n";

/* A thread's rows and columns of a tile lie VECTOR together, and these lie side by side among
 * the threads: so reading them from shared memory takes few loads without conflicts. */
static const char tiles_words[] =
    "#define ACROSS (TILE_COLUMNS / THREAD_COLUMNS)\n"
    "#define DOWN (TILE_ROWS / THREAD_ROWS)\n"
    "#define ROW_OF(i) ((i) / VECTOR * DOWN * VECTOR + down * VECTOR + (i) % VECTOR)\n"
    "#define COLUMN_OF(j) ((j) / VECTOR * ACROSS * VECTOR + across * VECTOR + (j) % VECTOR)\n"
    /* Without reading, the first tile is used for all. */
    "#define READ_ROW (READS ? first_row : 0)\n"
    "#define READ_COLUMN (READS ? first_column : 0)\n"
    "#define A_LINE (TILE_ROWS + 4)\n" /* padded to avoid bank conflicts */
    "#define READ_STEPS 4\n"
    "#define PER_A (TILE_ROWS * DEPTH / THREADS)\n"
    "#define PER_B (TILE_COLUMNS * DEPTH / THREADS)\n"
    "#define LOAD_TILES(k0) \\\n"
    "    UNROLL for (int i = 0; i < PER_A; i++) { \\\n"
    "        int e = thread + i * THREADS, r = READ_ROW + e / DEPTH, t = (k0) + e % DEPTH; \\\n"
    "        next_a[i] = r < M && t < K ? a[r * K + t] : 0.0f; \\\n"
    "    } \\\n"
    "    UNROLL for (int i = 0; i < PER_B; i++) { \\\n"
    "        int e = thread + i * THREADS; \\\n"
    "        int c = READ_COLUMN + e % TILE_COLUMNS, t = (k0) + e / TILE_COLUMNS; \\\n"
    "        next_b[i] = c < N && t < K ? b[t * N + c] : 0.0f; \\\n"
    "    }\n"
    "#define KEEP_TILES() \\\n"
    "    UNROLL for (int i = 0; i < PER_A; i++) { \\\n"
    "        int e = thread + i * THREADS; \\\n"
    "        tile_a[e % DEPTH * A_LINE + e / DEPTH] = next_a[i]; \\\n"
    "    } \\\n"
    "    UNROLL for (int i = 0; i < PER_B; i++) \\\n"
    "        tile_b[thread + i * THREADS] = next_b[i];\n"
    "#if VECTOR == 4\n"
    "#define TAKE(to, from) { \\\n"
    "        WORDS4 w = SHARED_LOAD16(from); \\\n"
    "        (to)[0] = AS_FLOAT(w.x), (to)[1] = AS_FLOAT(w.y); \\\n"
    "        (to)[2] = AS_FLOAT(w.z), (to)[3] = AS_FLOAT(w.w); \\\n"
    "    }\n"
    "#else\n"
    "#define TAKE(to, from) \\\n"
    "    UNROLL for (int v = 0; v < VECTOR; v++) \\\n"
    "        (to)[v] = (from)[v];\n"
    "#endif\n";

static const char tiles_head[] =
    "int thread = (int)THREAD_X, down = thread / ACROSS, across = thread % ACROSS;\n"
    "int tiles_across = (N + TILE_COLUMNS - 1) / TILE_COLUMNS;\n"
    "int first_row = (int)BLOCK_X / tiles_across * TILE_ROWS;\n"
    "int first_column = (int)BLOCK_X % tiles_across * TILE_COLUMNS;\n"
    "float next_a[PER_A], next_b[PER_B];\n"
    "float sum[THREAD_ROWS][THREAD_COLUMNS];\n"
    "UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
    "        sum[i][j] = 0.0f;\n";

/* Several steps at a time, with separate sums per thread: only memory latency counts. */
static const char tiles_read_text[] = "SHARED UINT32 scratch[THREADS];\n"
                                      "float read = 0.0f, of_a[PER_A], of_b[PER_B];\n"
                                      "UNROLL for (int i = 0; i < PER_A; i++)\n"
                                      "    of_a[i] = 0.0f;\n"
                                      "UNROLL for (int i = 0; i < PER_B; i++)\n"
                                      "    of_b[i] = 0.0f;\n"
                                      "for (int k0 = 0; k0 < K; k0 += READ_STEPS * DEPTH)\n"
                                      "    UNROLL for (int step = 0; step < READ_STEPS; step++) {\n"
                                      "        LOAD_TILES(k0 + step * DEPTH)\n"
                                      "        UNROLL for (int i = 0; i < PER_A; i++)\n"
                                      "            of_a[i] += next_a[i];\n"
                                      "        UNROLL for (int i = 0; i < PER_B; i++)\n"
                                      "            of_b[i] += next_b[i];\n"
                                      "    }\n"
                                      "UNROLL for (int i = 0; i < PER_A; i++)\n"
                                      "    read += of_a[i];\n"
                                      "UNROLL for (int i = 0; i < PER_B; i++)\n"
                                      "    read += of_b[i];\n"
                                      "read = BLOCK_SUM(read, scratch);\n"
                                      "UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
                                      "    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
                                      "        sum[i][j] = read;\n";

/* Loads for the next step are issued while this one is computed. Without reading, the barriers
 * remain: they are part of the work, and keep the compiler from moving the tiles into registers. */
static const char tiles_compute_text[] =
    "SHARED WORDS4 words_a[DEPTH * A_LINE / 4], words_b[DEPTH * TILE_COLUMNS / 4];\n"
    "IN_SHARED float *tile_a = (IN_SHARED float *)words_a;\n"
    "IN_SHARED float *tile_b = (IN_SHARED float *)words_b;\n"
    "LOAD_TILES(0)\n"
    "#if !READS\n"
    "KEEP_TILES()\n"
    "#endif\n"
    "for (int k0 = 0; k0 < K; k0 += DEPTH) {\n"
    "#if READS\n"
    "    KEEP_TILES()\n"
    "#endif\n"
    "    BARRIER();\n"
    "#if READS\n"
    "    LOAD_TILES(k0 + DEPTH)\n"
    "#endif\n"
    "    for (int k = 0; k < DEPTH; k++) {\n"
    "        float x[THREAD_ROWS], y[THREAD_COLUMNS];\n"
    "        UNROLL for (int i = 0; i < THREAD_ROWS; i += VECTOR)\n"
    "            TAKE(x + i, tile_a + k * A_LINE + ROW_OF(i))\n"
    "        UNROLL for (int j = 0; j < THREAD_COLUMNS; j += VECTOR)\n"
    "            TAKE(y + j, tile_b + k * TILE_COLUMNS + COLUMN_OF(j))\n"
    "        UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "            UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
    "                sum[i][j] = FMA(x[i], y[j], sum[i][j]);\n"
    "    }\n"
    "    BARRIER();\n"
    "}\n";

static const char tiles_store_text[] =
    "UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {\n"
    "        int row = first_row + ROW_OF(i), column = first_column + COLUMN_OF(j);\n"
    "        if (row < M && column < N)\n"
    "            c[row * N + column] = sum[i][j];\n"
    "    }\n"
    "}\n";

/* A group of threads for each row of B, which is a column of the result. */
static const char rows_text[] =
    "SHARED UINT32 scratch[THREADS];\n"
    "int lane = (int)THREAD_X % LANES;\n"
    "int column = (int)BLOCK_X * (THREADS / LANES) + (int)THREAD_X / LANES;\n"
    "bool inside = column < N;\n"
    "int from = READS ? column : (int)THREAD_X / LANES;\n"
    "GLOBAL const float *line = b + (from < N ? from : 0) * K;\n"
    "float sum[ROWS][VECTOR];\n"
    "UNROLL for (int r = 0; r < ROWS; r++)\n"
    "    UNROLL for (int v = 0; v < VECTOR; v++)\n"
    "        sum[r][v] = 0.0f;\n"
    "#if READS\n"
    "for (int k = lane * VECTOR; k < K; k += LANES * VECTOR) {\n"
    "    float w[VECTOR];\n"
    "    LOAD_LINE(line + k, w);\n"
    "    UNROLL for (int r = 0; r < ROWS; r++) {\n"
    "        float x[VECTOR];\n"
    "        LOAD_LINE(a + r * K + k, x);\n"
    "        UNROLL for (int v = 0; v < VECTOR; v++)\n"
    "#if COMPUTES\n"
    "            sum[r][v] = FMA(x[v], w[v], sum[r][v]);\n"
    "#else\n"
    "            sum[0][v] += x[v] + (r == 0 ? w[v] : 0.0f);\n"
    "#endif\n"
    "    }\n"
    "}\n"
    "#else\n"
    "float w[VECTOR], x[ROWS][VECTOR];\n"
    "UNROLL for (int v = 0; v < VECTOR; v++) {\n"
    "    int k = lane * VECTOR + v;\n"
    "    w[v] = k < K ? line[k] : 0.0f;\n"
    "    UNROLL for (int r = 0; r < ROWS; r++)\n"
    "        x[r][v] = k < K ? a[r * K + k] : 0.0f;\n"
    "}\n"
    "for (int k0 = 0; k0 < K; k0 += LANES * VECTOR)\n"
    "    UNROLL for (int r = 0; r < ROWS; r++)\n"
    "        UNROLL for (int v = 0; v < VECTOR; v++)\n"
    "            sum[r][v] = FMA(x[r][v], w[v], sum[r][v]);\n"
    "#endif\n"
    "for (int r = 0; r < ROWS; r++) {\n"
    "    float total = 0.0f;\n"
    "    UNROLL for (int v = 0; v < VECTOR; v++)\n"
    "        total += sum[COMPUTES ? r : 0][v];\n"
    "    total = GROUP_SUM(total, LANES, scratch);\n"
    "    BARRIER();\n"
    "    if (lane == 0 && inside)\n"
    "        c[r * N + column] = total;\n"
    "}\n"
    "}\n";

static void kernel_text_begin(const struct kernel_plan *plan,
                              const struct device_capabilities *device, bool last,
                              struct buffer *out) {
    struct source_parameter product[] = {
        {.name = "a", .dtype = RIDGE_F32, .no_alias = true},
        {.name = "b", .dtype = RIDGE_F32, .no_alias = true},
        {.name = "c", .dtype = RIDGE_F32, .stored = true, .no_alias = true},
    };
    struct source_parameter simple[] = {
        {.name = "x", .dtype = RIDGE_F32, .no_alias = true},
        {.name = plan->which == HAND_SUM ? "sums" : "y",
         .dtype = RIDGE_F32,
         .stored = true,
         .no_alias = true},
    };
    bool is_product = kernel_is_product(plan->which);
    struct source_kernel kernel = {
        .name = kernel_name_of(plan, last),
        .buffers = is_product ? product : simple,
        .buffer_count = is_product ? 3 : 2,
        .scalar_count = is_product ? 3 : 2,
        .threads = (unsigned)plan->block,
    };
    source_define(out, "THREADS", (long)plan->block);
    source_kernel_begin(out, device->language, &kernel);
}

static void product_text(const struct kernel_plan *plan, const struct device_capabilities *device,
                         struct buffer *out) {
    source_define(out, "READS", plan->which != HAND_COMPUTE);
    source_define(out, "COMPUTES", plan->which != HAND_READ);
    source_define(out, "VECTOR", (long)plan->vector);
    if (plan->few_rows) {
        source_define(out, "ROWS", (long)plan->m);
        source_define(out, "LANES", GROUP_LANES);
        buffer_string(out, plan->vector == 4 ? "#define LOAD_LINE(p, v) LOAD_F32_4(p, v)\n"
                                             : "#define LOAD_LINE(p, v) ((v)[0] = *(p))\n");
    } else {
        source_define(out, "TILE_ROWS", (long)plan->tile_rows);
        source_define(out, "TILE_COLUMNS", (long)plan->tile_columns);
        source_define(out, "THREAD_ROWS", (long)plan->thread_rows);
        source_define(out, "THREAD_COLUMNS", (long)plan->thread_columns);
        source_define(out, "DEPTH", (long)plan->depth);
        buffer_string(out, tiles_words);
    }
    kernel_text_begin(plan, device, false, out);
    buffer_string(out, "int M = (int)scalars.v[0], N = (int)scalars.v[1];\n"
                       "int K = (int)scalars.v[2];\n");
    if (plan->few_rows) {
        buffer_string(out, rows_text);
        return;
    }
    buffer_string(out, tiles_head);
    buffer_string(out, plan->which == HAND_READ ? tiles_read_text : tiles_compute_text);
    buffer_string(out, tiles_store_text);
}

void kernel_text(const struct kernel_plan *plan, const struct device_capabilities *device,
                 bool last, struct buffer *out) {
    source_device_prelude(out, device);
    if (kernel_is_product(plan->which)) {
        product_text(plan, device, out);
        return;
    }
    kernel_text_begin(plan, device, last, out);
    buffer_string(out, "INT64 N = scalars.v[0], PARTS = scalars.v[1];\n");
    buffer_string(out, last ? sum_last_text : plan->which == HAND_SUM ? sum_text : scale_text);
}
