/* Weights to Q8_0 and Q4_K blocks on GPUs: the algorithm at the head of
 * src/gen/native/simd/quantize.c, with the same order of operations.
 *
 * Q8_0: one thread per block of weights. Q4_K: one block of threads per block of weights; the
 * sixteen roundings of a part are tried by sixteen neighboring threads.
 */
#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"
#include "gen/emit/weights.h"
#include "gen/quant_types.h"

extern const unsigned char embedded_quantize_cl[], embedded_quantize_blocks_cl[];

static const struct quant_type {
    const char *kind;
    long levels, part, multiples;
} quant_types[RIDGE_DTYPES] = {
#define ROW(NAME, kind, levels, part, multiples, weights, bytes)                                   \
    [RIDGE_##NAME] = {#kind, levels, part, multiples},
    QUANT_TYPES(ROW)
#undef ROW
};

/* The macros of the types that one thread to a block makes. */
static void define_blocks(struct buffer *out, enum ridge_dtype to) {
    const struct quant_type *type = &quant_types[to];
    buffer_printf(out, "#define QUANTIZE_%s 1\n", type->kind);
    source_define(out, "LEVELS", type->levels);
    source_define(out, "PART", type->part);
    source_define(out, "MULTIPLES", type->multiples);
    source_define(out, "WEIGHTS", (long)dtype_block(to));
    source_define(out, "BYTES", (long)ridge_dtype_bytes(to, dtype_block(to)));
    buffer_string(out, "#define FOR_EACH(e, count) for (INT64 e = CAST(INT64, BLOCK_X) * THREADS_X "
                       "+ THREAD_X; e < (count); e += CAST(INT64, GRID_X) * THREADS_X)\n");
    if (to == RIDGE_IQ4_XS) {
        source_define(out, "QUANTIZE_LEVELS", 1);
        source_weights(out, to);
    }
}

enum { Q8_0_THREADS = 128, Q4_K_THREADS = 128, BLOCKS_PER_UNIT = 32 };

bool source_quantize(const struct quantize_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status) {
    (void)status;
    bool q4 = work->to == RIDGE_Q4_K;
    request->spec.family = KERNEL_QUANTIZE;
    request->spec.types[0] = (uint8_t)work->to;
    request->spec.types[1] = (uint8_t)work->from;
    request->scalars[0] = work->blocks;
    request->scalar_count = 1;
    double blocks = (double)(q4 ? work->blocks : divide_up(work->blocks, Q8_0_THREADS));
    double max = (double)BLOCKS_PER_UNIT * device->compute_units;
    source_geometry(request, blocks < max ? blocks : max, q4 ? Q4_K_THREADS : Q8_0_THREADS);
    return true;
}

bool source_quantize_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    enum ridge_dtype to = (enum ridge_dtype)spec->types[0], from = (enum ridge_dtype)spec->types[1];
    bool q4 = to == RIDGE_Q4_K;
    if (!source_is_quantized(to) || !source_is_float(from))
        return status_fail(status, STATUS_USAGE, "%s cannot be quantized to %s",
                           ridge_dtype_name(from), ridge_dtype_name(to));
    struct buffer *out = &generated->source;
    source_device_prelude(out, device);
    source_element_macros(out, from);
    if (q4)
        source_section(out, embedded_quantize_cl, "q4_k_macros");
    if (quant_types[to].kind)
        define_blocks(out, to);
    struct source_parameter buffers[] = {
        {.name = "x", .dtype = from},
        {.name = "result", .dtype = to, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 2,
        .scalar_count = 1,
        .threads = q4 ? Q4_K_THREADS : Q8_0_THREADS,
    };
    source_kernel_begin(out, device, &kernel);
    if (q4)
        source_section(out, embedded_quantize_cl, "q4_k_shared");
    source_kernel_body(out, device, &kernel);
    if (q4) {
        source_section(out, embedded_quantize_cl, "q4_k_fit");
        source_section(out, embedded_quantize_cl, "q4_k_store");
    } else {
        bool blocks = quant_types[to].kind != NULL;
        source_section(out, blocks ? embedded_quantize_blocks_cl : embedded_quantize_cl,
                       blocks ? "body" : "q8_0");
    }
    return true;
}
