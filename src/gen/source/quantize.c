/* Weights to Q8_0 and Q4_K blocks on GPUs: the algorithm at the head of
 * src/gen/native/simd/quantize.c, with the same order of operations.
 *
 * Q8_0: a thread to each block of weights. Q4_K: a block of threads to each block of weights; a
 * part's sixteen ways to round are sixteen neighbouring threads.
 */
#include "gen/backends.h"
#include "gen/source/elements.h"

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
    double most = (double)BLOCKS_PER_UNIT * device->compute_units;
    source_geometry(request, blocks < most ? blocks : most, q4 ? Q4_K_THREADS : Q8_0_THREADS);
    return true;
}

static const char q8_0_text[] =
    "INT64 stride = (INT64)GRID_X * THREADS_X;\n"
    "for (INT64 block = (INT64)BLOCK_X * THREADS_X + THREAD_X; block < scalars.v[0];\n"
    "     block += stride) {\n"
    "    GLOBAL const TYPE *from = x + block * 32;\n"
    "    GLOBAL UCHAR *to = result + block * 34;\n"
    "    float magnitude = 0.0f;\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        float value = ABS(LOAD(from, i));\n"
    "        magnitude = value > magnitude ? value : magnitude;\n"
    "    }\n"
    "    float scale = magnitude / 127.0f < 65504.0f ? magnitude / 127.0f : 65504.0f;\n"
    "    float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;\n"
    "    ((GLOBAL UINT16 *)to)[0] = f32_to_f16(scale);\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        float value = LOAD(from, i), quant = ABS(value) * inverse;\n"
    "        quant = 127.0f < quant ? 127.0f : quant;\n"
    "        int whole = (int)(quant > 0.0f ? quant : 0.0f);\n"
    "        whole += quant - (float)whole >= 0.5f ? 1 : 0;\n"
    "        to[2 + i] = (UCHAR)(value < 0.0f ? -whole : whole);\n"
    "    }\n"
    "}\n"
    "}\n";

static const char q4_k_words[] =
    "INLINE float nearest_quant(float x) {\n"
    "    x = x > 0.0f ? x : 0.0f;\n"
    "    return RINT(x < 15.0f ? x : 15.0f);\n"
    "}\n"
    "INLINE UINT32 multiple_of(float value, float unit) {\n"
    "    float multiple = unit > 0.0f ? RINT(value / unit) : 0.0f;\n"
    "    return multiple > 0.0f ? (UINT32)(multiple < 63.0f ? multiple : 63.0f) : 0u;\n"
    "}\n"
    "INLINE UINT16 unit_of(float greatest) {\n"
    "    return f32_to_f16(greatest / 63.0f < 65504.0f ? greatest / 63.0f : 65504.0f);\n"
    "}\n";

static const char q4_k_fit_text[] =
    "SHARED float part[8][33];\n"
    "SHARED float errors[8][16], scales[8][16], offsets[8][16];\n"
    "SHARED float best_scale[8], best_offset[8];\n"
    "SHARED UCHAR quants[256];\n"
    "SHARED UINT32 multiples[16];\n"
    "int thread = (int)THREAD_X, p = thread / 16, way = thread % 16;\n"
    "for (INT64 block = BLOCK_X; block < scalars.v[0]; block += GRID_X) {\n"
    "    for (int i = thread; i < 256; i += 128)\n"
    "        part[i / 32][i % 32] = LOAD(x, block * 256 + i);\n"
    "    BARRIER();\n"
    "    float low = 0.0f, high = part[p][0], squares = 0.0f;\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        float value = part[p][i];\n"
    "        low = value < low ? value : low;\n"
    "        high = value > high ? value : high;\n"
    "        squares += value * value;\n"
    "    }\n"
    "    float rms = SQRT(squares / 32.0f), inverse = (14.0f + (float)way / 8.0f) / (high - low);\n"
    "    float sum_w = 0.0f, sum_wx = 0.0f, wq = 0.0f, wqq = 0.0f, wxq = 0.0f;\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        float value = part[p][i], w = rms + ABS(value);\n"
    "        float q = nearest_quant((value - low) * inverse);\n"
    "        sum_w += w;\n"
    "        sum_wx += w * value;\n"
    "        wq += w * q;\n"
    "        wqq += w * q * q;\n"
    "        wxq += w * value * q;\n"
    "    }\n"
    "    float determinant = sum_w * wqq - wq * wq;\n"
    "    float scale = (sum_w * wxq - sum_wx * wq) / determinant;\n"
    "    float offset = (wqq * sum_wx - wq * wxq) / determinant;\n"
    "    if (determinant <= 1e-6f * sum_w * wqq || offset > 0.0f) {\n"
    "        scale = wxq / wqq;\n"
    "        offset = 0.0f;\n"
    "    }\n"
    "    float error = 0.0f;\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        float value = part[p][i];\n"
    "        float off = scale * nearest_quant((value - low) * inverse) + offset - value;\n"
    "        error += (rms + ABS(value)) * off * off;\n"
    "    }\n"
    "    errors[p][way] = error;\n"
    "    scales[p][way] = scale;\n"
    "    offsets[p][way] = offset;\n"
    "    BARRIER();\n"
    "    if (way == 0) {\n"
    "        float least = INFINITE;\n"
    "        float best = high > low ? (high - low) / 15.0f : 0.0f, at = low;\n"
    "        for (int i = 0; i < 16 && high > low; i++)\n"
    "            if (errors[p][i] < least) {\n"
    "                least = errors[p][i];\n"
    "                best = scales[p][i];\n"
    "                at = offsets[p][i];\n"
    "            }\n"
    "        best_scale[p] = best;\n"
    "        best_offset[p] = at;\n"
    "    }\n"
    "    BARRIER();\n";

static const char q4_k_store_text[] =
    "    float scale_unit = 0.0f, minimum_unit = 0.0f;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        scale_unit = scale_unit > best_scale[i] ? scale_unit : best_scale[i];\n"
    "        minimum_unit = minimum_unit > -best_offset[i] ? minimum_unit : -best_offset[i];\n"
    "    }\n"
    "    UINT32 scale_bits = unit_of(scale_unit), minimum_bits = unit_of(minimum_unit);\n"
    "    scale_unit = U32_LO_F16(scale_bits);\n"
    "    minimum_unit = U32_LO_F16(minimum_bits);\n"
    "    UINT32 scale_multiple = multiple_of(best_scale[p], scale_unit);\n"
    "    UINT32 minimum_multiple = multiple_of(-best_offset[p], minimum_unit);\n"
    "    float step = scale_unit * (float)scale_multiple;\n"
    "    float minimum = minimum_unit * (float)minimum_multiple;\n"
    "    float per_step = step > 0.0f ? 1.0f / step : 0.0f;\n"
    "    for (int i = way; i < 32; i += 16)\n"
    "        quants[p * 32 + i] = (UCHAR)(int)nearest_quant((part[p][i] + minimum) * per_step);\n"
    "    if (way == 0) {\n"
    "        multiples[p] = scale_multiple;\n"
    "        multiples[8 + p] = minimum_multiple;\n"
    "    }\n"
    "    BARRIER();\n"
    "    GLOBAL UCHAR *to = result + block * 144;\n"
    "    if (thread == 0) {\n"
    "        to[0] = (UCHAR)(scale_bits & 255u);\n"
    "        to[1] = (UCHAR)(scale_bits >> 8);\n"
    "        to[2] = (UCHAR)(minimum_bits & 255u);\n"
    "        to[3] = (UCHAR)(minimum_bits >> 8);\n"
    "    }\n"
    "    if (thread < 4) {\n"
    "        UINT32 s = multiples[thread + 4], m = multiples[thread + 12];\n"
    "        to[4 + thread] = (UCHAR)(multiples[thread] | (s >> 4) << 6);\n"
    "        to[8 + thread] = (UCHAR)(multiples[thread + 8] | (m >> 4) << 6);\n"
    "        to[12 + thread] = (UCHAR)((s & 15u) | (m & 15u) << 4);\n"
    "    }\n"
    "    int pair = thread / 32 * 64 + thread % 32;\n"
    "    to[16 + thread] = (UCHAR)(quants[pair] | quants[pair + 32] << 4);\n"
    "    BARRIER();\n"
    "}\n"
    "}\n";

bool source_quantize_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    enum ridge_dtype to = (enum ridge_dtype)spec->types[0], from = (enum ridge_dtype)spec->types[1];
    bool q4 = to == RIDGE_Q4_K;
    if (!source_is_quantized(to) || !source_is_float(from))
        return status_fail(status, STATUS_USAGE, "%s cannot be quantised to %s",
                           ridge_dtype_name(from), ridge_dtype_name(to));
    struct buffer *out = &generated->source;
    source_words(out, device);
    source_element_words(out, from);
    if (q4)
        buffer_string(out, q4_k_words);
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
    source_kernel_begin(out, device->language, &kernel);
    if (q4) {
        buffer_string(out, q4_k_fit_text);
        buffer_string(out, q4_k_store_text);
    } else {
        buffer_string(out, q8_0_text);
    }
    return true;
}
