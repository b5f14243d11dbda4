/* The macros of an element type, and the launch geometry along x. */
#include "gen/emit/elements.h"

#include "gen/emit/weights.h"

static const char *const type_names[RIDGE_DTYPES] = {
    [RIDGE_F32] = "F32",   [RIDGE_F16] = "F16",   [RIDGE_BF16] = "BF16", [RIDGE_I32] = "I32",
    [RIDGE_U8] = "U8",     [RIDGE_Q8_0] = "Q8_0", [RIDGE_Q4_K] = "Q4_K", [RIDGE_Q4_0] = "Q4_0",
    [RIDGE_Q4_1] = "Q4_1", [RIDGE_Q5_0] = "Q5_0", [RIDGE_Q5_1] = "Q5_1", [RIDGE_Q2_K] = "Q2_K",
    [RIDGE_Q3_K] = "Q3_K", [RIDGE_Q5_K] = "Q5_K", [RIDGE_Q6_K] = "Q6_K", [RIDGE_IQ4_XS] = "IQ4_XS",
};

const char *source_type_name(enum ridge_dtype type) {
    return type_names[type];
}

void source_define(struct buffer *out, const char *name, long value) {
    buffer_printf(out, "#define %s %ld\n", name, value);
}

void source_device_prelude(struct buffer *out, const struct device_capabilities *device) {
    source_prelude(out, device);
    if (device->language != LANGUAGE_CUDA && !device->is_gpu)
        buffer_string(out, "#undef UNROLL\n#define UNROLL\n");
}

void source_element_macros(struct buffer *out, enum ridge_dtype type) {
    const char *word = type_names[type];
    buffer_printf(out, "#define TYPE %s\n#define LOAD(p, i) LOAD_%s(p, i)\n", source_storage(type),
                  word);
    if (source_is_quantized(type)) {
        source_weights(out, type);
        return;
    }
    buffer_printf(out, "#define STORE(p, i, x) STORE_%s(p, i, x)\n", word);
    buffer_string(out, "#define LOAD_1(p, x, first) ((x)[first] = LOAD(p, 0))\n");
    for (int width = 2; width <= 8; width *= 2)
        buffer_printf(out, "#define LOAD_%d(p, x, first) LOAD_%s_%d(p, x, first)\n", width, word,
                      width);
}

void source_geometry(struct kernel_request *request, double blocks, unsigned threads) {
    request->grid[0] = blocks < 1 ? 1 : blocks < INT32_MAX ? (uint32_t)blocks : INT32_MAX;
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = threads;
    request->block[1] = request->block[2] = 1;
}
