/* Q8_0 and Q4_K blocks to floats on GPUs: a thread converts four neighboring quants of a
 * sub-block, and for Q4_K the four that share their bytes. */
#include "gen/dtype.h"
#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_dequantize_cl[];

enum { THREADS = 256, BLOCKS_PER_UNIT = 16 };

/* Threads to a block of weights. */
static int64_t threads_of(enum ridge_dtype type) {
    return type == RIDGE_Q4_K ? 32 : type == RIDGE_Q8_0 ? 8 : dtype_block(type);
}

bool source_dequantize(const struct quantize_work *work, const struct device_capabilities *device,
                       struct kernel_request *request, struct status *status) {
    (void)status;
    request->spec.family = KERNEL_DEQUANTIZE;
    request->spec.types[0] = (uint8_t)work->from;
    request->spec.types[1] = (uint8_t)work->to;
    request->scalars[0] = work->blocks;
    request->scalar_count = 1;
    double blocks = (double)work->blocks * (double)threads_of(work->from) / THREADS + 1;
    double max = (double)BLOCKS_PER_UNIT * device->compute_units;
    source_geometry(request, blocks < max ? blocks : max, THREADS);
    return true;
}

bool source_dequantize_code(const struct kernel_spec *spec,
                            const struct device_capabilities *device,
                            struct kernel_generated *generated, struct status *status) {
    enum ridge_dtype from = (enum ridge_dtype)spec->types[0], to = (enum ridge_dtype)spec->types[1];
    if (!source_is_quantized(from) || !source_is_float(to))
        return status_fail(status, STATUS_USAGE, "%s cannot be dequantized to %s",
                           ridge_dtype_name(from), ridge_dtype_name(to));
    struct buffer *out = &generated->source;
    source_device_prelude(out, device);
    source_element_macros(out, from);
    buffer_printf(out, "#define STORE(p, i, x) STORE_%s(p, i, x)\n", source_type_name(to));
    source_define(out, "PER_BLOCK", (long)threads_of(from));
    source_define(out, "BLOCK_WEIGHTS", (long)dtype_block(from));
    source_define(out, "BLOCK_BYTES", (long)ridge_dtype_bytes(from, dtype_block(from)));
    struct source_parameter buffers[] = {
        {.name = "x", .dtype = from},
        {.name = "result", .dtype = to, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 2,
        .scalar_count = 1,
        .threads = THREADS,
    };
    source_kernel_begin(out, device, &kernel);
    source_kernel_body(out, device, &kernel);
    if (!dtype_has_products(from)) {
        source_section(out, embedded_dequantize_cl, "elements");
        return true;
    }
    source_section(out, embedded_dequantize_cl, "loop");
    source_section(out, embedded_dequantize_cl, from == RIDGE_Q4_K ? "q4_k" : "q8_0");
    return true;
}
