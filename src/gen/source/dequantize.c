/* Q8_0 and Q4_K blocks to floats on GPUs: a thread takes four neighbouring quants of a sub-block,
 * and for Q4_K the four that share their bytes. */
#include "gen/dtype.h"
#include "gen/backends.h"
#include "gen/source/elements.h"

enum { THREADS = 256, BLOCKS_PER_UNIT = 16 };

/* Threads to a block of weights. */
static int64_t threads_of(enum ridge_dtype type) {
    return type == RIDGE_Q4_K ? 32 : 8;
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
    double most = (double)BLOCKS_PER_UNIT * device->compute_units;
    source_geometry(request, blocks < most ? blocks : most, THREADS);
    return true;
}

static const char loop_text[] =
    "INT64 stride = (INT64)GRID_X * THREADS_X;\n"
    "for (INT64 e = (INT64)BLOCK_X * THREADS_X + THREAD_X; e < scalars.v[0] * PER_BLOCK;\n"
    "     e += stride) {\n"
    "    int piece = (int)(e % PER_BLOCK);\n"
    "    GLOBAL const UCHAR *block = x + e / PER_BLOCK * BLOCK_BYTES;\n"
    "    INT64 to = e / PER_BLOCK * BLOCK_WEIGHTS;\n";

static const char q8_0_text[] =
    "    float scale = weights_half(block);\n"
    "    UNROLL for (int i = 0; i < 4; i++) {\n"
    "        int quant = block[2 + piece * 4 + i];\n"
    "        STORE(result, to + piece * 4 + i, scale * (float)(quant - ((quant & 128) << 1)));\n"
    "    }\n"
    "}\n"
    "}\n";

static const char q4_k_text[] =
    "    UINT32 pair = (UINT32)piece / 8, packed[3];\n"
    "    UNROLL for (int i = 0; i < 3; i++) {\n"
    "        GLOBAL const UCHAR *p = block + 4 + i * 4;\n"
    "        packed[i] = (UINT32)p[0] | (UINT32)p[1] << 8 | (UINT32)p[2] << 16 |\n"
    "                    (UINT32)p[3] << 24;\n"
    "    }\n"
    "    WORDS2 scales = q4_k_scales(packed[0], packed[1], packed[2], pair);\n"
    "    float unit = weights_half(block), least = weights_half(block + 2);\n"
    "    float scale_low = unit * (float)(scales.x & 255u), scale_high = unit * (float)(scales.x "
    ">> 8);\n"
    "    float low = least * (float)(scales.y & 255u), high = least * (float)(scales.y >> 8);\n"
    "    to += pair * 64u + (UINT32)piece % 8u * 4u;\n"
    "    UNROLL for (int i = 0; i < 4; i++) {\n"
    "        int quants = block[16 + piece * 4 + i];\n"
    "        STORE(result, to + i, FMA(scale_low, (float)(quants & 15), -low));\n"
    "        STORE(result, to + 32 + i, FMA(scale_high, (float)(quants >> 4), -high));\n"
    "    }\n"
    "}\n"
    "}\n";

bool source_dequantize_code(const struct kernel_spec *spec,
                            const struct device_capabilities *device,
                            struct kernel_generated *generated, struct status *status) {
    enum ridge_dtype from = (enum ridge_dtype)spec->types[0], to = (enum ridge_dtype)spec->types[1];
    bool q4 = from == RIDGE_Q4_K;
    if (!source_is_quantized(from) || !source_is_float(to))
        return status_fail(status, STATUS_USAGE, "%s cannot be dequantised to %s",
                           ridge_dtype_name(from), ridge_dtype_name(to));
    struct buffer *out = &generated->source;
    source_words(out, device);
    source_element_words(out, from);
    buffer_printf(out, "#define STORE(p, i, x) STORE_%s(p, i, x)\n", source_type_word(to));
    source_define(out, "PER_BLOCK", (long)threads_of(from));
    source_define(out, "BLOCK_WEIGHTS", (long)dtype_block(from));
    source_define(out, "BLOCK_BYTES", q4 ? 144 : 34);
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
    source_kernel_begin(out, device->language, &kernel);
    buffer_string(out, loop_text);
    buffer_string(out, q4 ? q4_k_text : q8_0_text);
    return true;
}
