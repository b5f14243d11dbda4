/* Rows of a table by their indices. A thread copies an element at a time, or a word of several
 * where the addresses allow; quantised rows are read as f32. */
#include "gen/backends.h"
#include "gen/source/elements.h"

enum { THREADS = 256, BLOCKS_PER_UNIT = 16 };

bool source_embedding(const struct embedding_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    (void)status;
    request->spec.family = KERNEL_EMBEDDING;
    request->spec.types[0] = (uint8_t)work->type;
    request->scalars[0] = work->rows;
    request->scalars[1] = work->width;
    request->scalars[2] = work->count;
    request->scalars[3] = work->table_row;
    request->scalar_count = 4;
    /* Several blocks share a row only when there are fewer rows than would fill the device. */
    double rows = (double)work->count, most = (double)BLOCKS_PER_UNIT * device->compute_units;
    double across = (double)divide_up(work->width, THREADS * 4);
    source_geometry(request, rows < most ? rows : most, THREADS);
    double wanted = most / (rows < 1 ? 1 : rows);
    double columns = across < wanted ? across : wanted;
    request->grid[1] = columns < 1 ? 1 : (uint32_t)columns;
    return true;
}

static const char body_text[] =
    "INT64 rows = scalars.v[0], width = scalars.v[1], count = scalars.v[2];\n"
    "for (INT64 i = BLOCK_X; i < count; i += GRID_X) {\n"
    "    INT64 index = indices[i];\n"
    "    bool inside = index >= 0 && index < rows;\n"
    "    INT64 from = (inside ? index : 0) * scalars.v[3], to = i * width;\n"
    "    INT64 first = (INT64)BLOCK_Y * THREADS_X + THREAD_X;\n"
    "    INT64 stride = (INT64)GRID_Y * THREADS_X;\n";

/* Whole words when both rows begin at one and hold a whole number of them. */
static const char copy_text[] = "    GLOBAL const TYPE *source = table + from;\n"
                                "    GLOBAL TYPE *target = result + to;\n"
                                "    INT64 done = 0;\n"
                                "    if ((((UINT64)source | (UINT64)target) & 15u) == 0) {\n"
                                "        INT64 words = width / PER_WORD;\n"
                                "        done = words * PER_WORD;\n"
                                "        for (INT64 c = first; c < words; c += stride) {\n"
                                "            WORDS4 word = MAKE_WORDS4(0u, 0u, 0u, 0u);\n"
                                "            if (inside)\n"
                                "                word = LOAD16(source + c * PER_WORD);\n"
                                "            STORE16(target + c * PER_WORD, word);\n"
                                "        }\n"
                                "    }\n"
                                "    for (INT64 c = done + first; c < width; c += stride)\n"
                                "        target[c] = inside ? source[c] : (TYPE)0;\n"
                                "}\n}\n";

static const char quantized_text[] =
    "    for (INT64 c = first; c < width; c += stride)\n"
    "        result[to + c] = inside ? LOAD(table, from + c) : 0.0f;\n"
    "}\n}\n";

bool source_embedding_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)status;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    bool quantized = source_is_quantized(type);
    struct buffer *out = &generated->source;
    source_words(out, device);
    source_element_words(out, type);
    if (!quantized)
        source_define(out, "PER_WORD", (long)(16 / ridge_dtype_bytes(type, 1)));
    struct source_parameter buffers[] = {
        {.name = "table", .dtype = type},
        {.name = "indices", .dtype = RIDGE_I32},
        {.name = "result", .dtype = quantized ? RIDGE_F32 : type, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 3,
        .scalar_count = 4,
        .threads = THREADS,
    };
    source_kernel_begin(out, device->language, &kernel);
    buffer_string(out, body_text);
    buffer_string(out, quantized ? quantized_text : copy_text);
    return true;
}
