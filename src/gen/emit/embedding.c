/* Rows of a table by their indices. A thread copies one element at a time, or a 16-byte word if
 * the addresses allow it; quantized rows are read as f32. */
#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_embedding_cl[];

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
    /* Several blocks share a row only if there are too few rows to fill the device. */
    double rows = (double)work->count, max = (double)BLOCKS_PER_UNIT * device->compute_units;
    double across = (double)divide_up(work->width, THREADS * 4);
    source_geometry(request, rows < max ? rows : max, THREADS);
    double wanted = max / (rows < 1 ? 1 : rows);
    double columns = across < wanted ? across : wanted;
    request->grid[1] = columns < 1 ? 1 : (uint32_t)columns;
    return true;
}

bool source_embedding_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)status;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    bool quantized = source_is_quantized(type);
    struct buffer *out = &generated->source;
    source_device_prelude(out, device);
    source_element_macros(out, type);
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
    source_kernel_begin(out, device, &kernel);
    source_kernel_body(out, device, &kernel);
    source_section(out, embedded_embedding_cl, "loop");
    source_section(out, embedded_embedding_cl, quantized ? "quantized" : "copy");
    return true;
}
