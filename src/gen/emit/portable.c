/* Portable kernels in the languages of GPUs: the files of gen/portable.h with the buffers that each
 * one names. */
#include "gen/portable.h"

#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_update_cl[], embedded_gather_cl[], embedded_scatter_add_cl[],
    embedded_argsort_cl[], embedded_cumsum_cl[], embedded_sample_cl[], embedded_fold_cl[],
    embedded_unfold_cl[];

enum { THREADS = 256, BLOCKS_PER_UNIT = 16 };

#define OWN RIDGE_DTYPES
static const struct portable_kernel kernels[OP_COUNT] = {
    [OP_UPDATE] = {.file = embedded_update_cl,
                   .buffer_count = 3,
                   .buffers = {{"source", OWN, false},
                               {"positions", RIDGE_I32, false},
                               {"target", OWN, true}}},
    [OP_GATHER] = {.file = embedded_gather_cl,
                   .buffer_count = 3,
                   .buffers = {{"x", OWN, false},
                               {"indices", RIDGE_I32, false},
                               {"result", OWN, true}}},
    [OP_SCATTER_ADD] = {.file = embedded_scatter_add_cl,
                        .buffer_count = 5,
                        .buffers = {{"x", OWN, false},
                                    {"indices", RIDGE_I32, false},
                                    {"order", RIDGE_I32, false},
                                    {"source", OWN, false},
                                    {"result", OWN, true}}},
    [OP_ARGSORT] = {.file = embedded_argsort_cl,
                    .by_rows = true,
                    .buffer_count = 3,
                    .buffers = {{"x", OWN, false},
                                {"result", RIDGE_I32, true},
                                {"other", RIDGE_I32, true}}},
    [OP_CUMSUM] = {.file = embedded_cumsum_cl,
                   .by_rows = true,
                   .shared = true,
                   .buffer_count = 2,
                   .buffers = {{"x", OWN, false}, {"result", OWN, true}}},
    [OP_SAMPLE] = {.file = embedded_sample_cl,
                   .by_rows = true,
                   .random = true,
                   .buffer_count = 3,
                   .buffers = {{"logits", OWN, false},
                               {"steps", RIDGE_I32, false},
                               {"result", RIDGE_I32, true}}},
    [OP_UNFOLD] = {.file = embedded_unfold_cl,
                   .buffer_count = 2,
                   .buffers = {{"x", OWN, false}, {"result", OWN, true}}},
    [OP_FOLD] = {.file = embedded_fold_cl,
                 .buffer_count = 2,
                 .buffers = {{"windows", OWN, false}, {"result", OWN, true}}},
};

/* PoCL takes ten seconds to compile the barriers of sample. */
static unsigned threads_of(enum op op, const struct device_capabilities *device) {
    bool slow = op == OP_SAMPLE && device->language == LANGUAGE_OPENCL && !device->is_gpu;
    unsigned threads = slow ? 1 : THREADS;
    while (threads > 1 && threads > device->block_max)
        threads /= 2;
    return threads;
}

bool source_portable(const struct portable_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status) {
    (void)status;
    unsigned threads = threads_of(work->op, device);
    request->spec.family = KERNEL_PORTABLE;
    request->spec.types[0] = (uint8_t)work->type;
    request->spec.choices[0] = (int32_t)work->op;
    request->spec.choices[1] = work->descending;
    request->spec.choices[2] = (int32_t)threads;
    request->spec.choices[3] = (int32_t)work->scalar_count;
    for (unsigned i = 0; i < work->scalar_count; i++)
        request->scalars[i] = work->scalars[i];
    request->scalar_count = work->scalar_count;
    double units = device->compute_units ? device->compute_units : 1;
    double blocks =
        kernels[work->op].by_rows ? (double)work->items : (double)divide_up(work->items, threads);
    double max = units * BLOCKS_PER_UNIT;
    source_geometry(request, blocks < max ? blocks : max, threads);
    return true;
}

static const char loops[] =
    "#define FOR_EACH(e, count) for (INT64 e = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X; "
    "e < (count); e += CAST(INT64, GRID_X) * THREADS_X)\n"
    "#define FOR_EACH_ROW(row, rows) for (INT64 row = BLOCK_X; row < (rows); row += GRID_X)\n";

bool source_portable_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    (void)status;
    const struct portable_kernel *portable = &kernels[spec->choices[0]];
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    struct buffer *out = &generated->source;
    unsigned threads = (unsigned)spec->choices[2];
    source_device_prelude(out, device);
    source_element_macros(out, type);
    bool whole = value_type_of(type) == VALUE_I32;
    buffer_printf(out, "#define VALUE %s\n", whole ? "int" : "float");
    buffer_printf(out, "#define FILL(bits) %s\n",
                  whole ? "CAST(int, bits)" : "AS_FLOAT(CAST(UINT32, bits))");
    buffer_printf(out, "#define STORE_SUM STORE_%s\n",
                  type == RIDGE_U8 ? "I32" : source_type_name(type));
    source_define(out, "THREADS", (long)threads);
    if (spec->choices[1])
        source_define(out, "DESCENDING", 1);
    buffer_string(out, loops);
    if (portable->random)
        source_random_bits(out);
    struct source_parameter buffers[PORTABLE_BUFFERS_MAX];
    for (unsigned i = 0; i < portable->buffer_count; i++) {
        const struct portable_buffer *buffer = &portable->buffers[i];
        bool sum = spec->choices[0] == OP_CUMSUM && type == RIDGE_U8 && buffer->stored;
        buffers[i] = (struct source_parameter){
            .name = buffer->name,
            .dtype = sum                   ? RIDGE_I32
                     : buffer->type == OWN ? type
                                           : buffer->type,
            .stored = buffer->stored,
        };
    }
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = portable->buffer_count,
        .scalar_count = (unsigned)spec->choices[3],
        .threads = threads,
        .scratch_words = portable->by_rows ? 2 * threads : 0,
        .scratch_arrays = 1,
    };
    source_kernel_begin(out, device, &kernel);
    if (portable->shared)
        source_section(out, portable->file, "shared");
    source_kernel_body(out, device, &kernel);
    source_section(out, portable->file, "body");
    return true;
}
