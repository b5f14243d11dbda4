/* RWKV-7's recurrence on GPUs: for each token S = S diag(w) + (S a) b' + v k', y = S r.
 *
 * The rows of the state are independent of each other, so a block takes some rows of a head and
 * keeps them in registers over all tokens, a few lanes to a row. The five vectors that the rows
 * share go through shared memory; the next token's are read while this one's are used.
 */
#include "gen/backends.h"
#include "gen/source/elements.h"

enum wkv7_choice { WIDTH, LANES, ROWS, THREADS };
enum { SHARED_VECTORS = 5 };

bool source_wkv7(const struct wkv7_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status) {
    uint32_t shared = device->shared_bytes ? device->shared_bytes : 16384;
    int64_t widest = shared / (2 * SHARED_VECTORS * 4) * 3 / 4;
    if (work->width > widest)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "wkv7: heads of width %lld do not fit on this device; at most %lld",
                           (long long)work->width, (long long)widest);
    int32_t width = (int32_t)work->width, lanes = 1, rows = 16;
    /* Without shuffles a sum over lanes costs more than the lanes gain. */
    if (device->language == LANGUAGE_CUDA && device->subgroup >= 4)
        lanes = width >= 128 ? 8 : width >= 16 ? 4 : 1;
    while (rows > 1 && rows / 2 >= width)
        rows /= 2;
    if (lanes == 1)
        rows = width < 64 ? width : 64;
    int32_t *choices = request->spec.choices;
    choices[WIDTH] = width;
    choices[LANES] = lanes;
    choices[ROWS] = rows;
    choices[THREADS] = rows * lanes;
    request->spec.family = KERNEL_WKV7;
    request->spec.types[0] = (uint8_t)work->type;
    request->scalars[0] = work->batch;
    request->scalars[1] = work->tokens;
    request->scalars[2] = work->heads;
    request->scalar_count = 3;
    double blocks = (double)work->batch * (double)work->heads * (double)divide_up(width, rows);
    source_geometry(request, blocks, (unsigned)choices[THREADS]);
    return true;
}

static const char words_text[] =
    "#define PER_LANE ((WIDTH + LANES - 1) / LANES)\n"
    "#define PER_LOAD ((5 * WIDTH + THREADS - 1) / THREADS)\n"
    "#define PARTS ((WIDTH + ROWS - 1) / ROWS)\n"
    /* Element e of the five vectors of a token, one after the other. */
    "#define READ_NEXT(place) \\\n"
    "    UNROLL for (int i = 0; i < PER_LOAD; i++) { \\\n"
    "        int e = thread + i * THREADS; \\\n"
    "        if (e < 5 * WIDTH) { \\\n"
    "            int which = e / WIDTH; \\\n"
    "            GLOBAL const TYPE *from = which == 0 ? r : which == 1 ? w : which == 2 ? k : \\\n"
    "                                      which == 3 ? a : b; \\\n"
    "            next[i] = LOAD(from, (place) + e % WIDTH); \\\n"
    "        } \\\n"
    "    }\n"
    "#define KEEP_NEXT(side) \\\n"
    "    UNROLL for (int i = 0; i < PER_LOAD; i++) \\\n"
    "        if (thread + i * THREADS < 5 * WIDTH) \\\n"
    "            vectors[side][thread + i * THREADS] = next[i];\n";

static const char body_text[] =
    "SHARED float vectors[2][5 * WIDTH];\n"
    "SHARED UINT32 scratch[2][THREADS];\n"
    "int thread = (int)THREAD_X, lane = thread % LANES;\n"
    "INT64 batches = scalars.v[0], tokens = scalars.v[1], heads = scalars.v[2];\n"
    "for (INT64 task = BLOCK_X; task < batches * heads * PARTS; task += GRID_X) {\n"
    "    INT64 line = task / PARTS, batch = line / heads, head = line % heads;\n"
    "    int row = (int)(task % PARTS) * ROWS + thread / LANES;\n"
    "    bool inside = row < WIDTH;\n"
    "    INT64 at = (batch * tokens * heads + head) * WIDTH, token_stride = heads * WIDTH;\n"
    "    INT64 state_at = (line * WIDTH + (inside ? row : 0)) * WIDTH;\n"
    "    float s[PER_LANE], next[PER_LOAD], of_v = 0.0f, next_v = 0.0f;\n"
    "    UNROLL for (int i = 0; i < PER_LANE; i++)\n"
    "        s[i] = lane + i * LANES < WIDTH ? state[state_at + lane + i * LANES] : 0.0f;\n"
    "    if (tokens > 0) {\n"
    "        READ_NEXT(at)\n"
    "        KEEP_NEXT(0)\n"
    "        of_v = inside ? LOAD(v, at + row) : 0.0f;\n"
    "    }\n"
    "    BARRIER();\n"
    "    for (INT64 token = 0; token < tokens; token++, at += token_stride) {\n"
    "        int side = (int)(token & 1);\n"
    "        if (token + 1 < tokens) {\n"
    "            READ_NEXT(at + token_stride)\n"
    "            next_v = inside ? LOAD(v, at + token_stride + row) : 0.0f;\n"
    "        }\n"
    "        IN_SHARED const float *of_r = vectors[side], *of_w = of_r + WIDTH;\n"
    "        IN_SHARED const float *of_k = of_w + WIDTH, *of_a = of_k + WIDTH;\n"
    "        IN_SHARED const float *of_b = of_a + WIDTH;\n"
    "        float sum = 0.0f, y_sum = 0.0f;\n"
    "        UNROLL for (int i = 0; i < PER_LANE; i++)\n"
    "            if (lane + i * LANES < WIDTH)\n"
    "                sum = FMA(s[i], of_a[lane + i * LANES], sum);\n"
    "        sum = GROUP_SUM(sum, LANES, scratch[0]);\n"
    "        UNROLL for (int i = 0; i < PER_LANE; i++)\n"
    "            if (lane + i * LANES < WIDTH) {\n"
    "                int j = lane + i * LANES;\n"
    "                s[i] = FMA(s[i], of_w[j], FMA(sum, of_b[j], of_v * of_k[j]));\n"
    "                y_sum = FMA(s[i], of_r[j], y_sum);\n"
    "            }\n"
    "        y_sum = GROUP_SUM(y_sum, LANES, scratch[1]);\n"
    "        if (inside && lane == 0)\n"
    "            STORE(y, at + row, y_sum);\n"
    "        if (token + 1 < tokens) {\n"
    "            KEEP_NEXT(1 - side)\n"
    "        }\n"
    "        of_v = next_v;\n"
    "        BARRIER();\n"
    "    }\n"
    "    UNROLL for (int i = 0; i < PER_LANE; i++)\n"
    "        if (inside && lane + i * LANES < WIDTH)\n"
    "            state_after[state_at + lane + i * LANES] = s[i];\n"
    "}\n"
    "}\n";

bool source_wkv7_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)status;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    struct buffer *out = &generated->source;
    source_words(out, device);
    source_element_words(out, type);
    source_define(out, "WIDTH", spec->choices[WIDTH]);
    source_define(out, "LANES", spec->choices[LANES]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "THREADS", spec->choices[THREADS]);
    buffer_string(out, words_text);
    struct source_parameter buffers[] = {
        {.name = "r", .dtype = type},
        {.name = "w", .dtype = type},
        {.name = "k", .dtype = type},
        {.name = "v", .dtype = type},
        {.name = "a", .dtype = type},
        {.name = "b", .dtype = type},
        {.name = "state", .dtype = RIDGE_F32},
        {.name = "y", .dtype = type, .stored = true},
        {.name = "state_after", .dtype = RIDGE_F32, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 9,
        .scalar_count = 3,
        .threads = (unsigned)spec->choices[THREADS],
    };
    source_kernel_begin(out, device->language, &kernel);
    buffer_string(out, body_text);
    return true;
}
