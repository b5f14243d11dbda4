/* Rotary positions on GPUs, without doubles.
 *
 * What sine and cosine need of position * frequency is its fraction of a turn, and that is exact
 * in integers: the frequency as a 64-bit fraction of a turn, times the position, modulo 2^64. The
 * frequency of pair i is base^(-i / pairs), the product over the bits of i of powers that the host
 * computes in double. A thread does a token's pair for several heads, which share the angle.
 */
#include <math.h>

#include "gen/backends.h"
#include "gen/source/elements.h"

enum {
    THREADS = 128,
    BITS_MAX = 24, /* of a pair's number */
    FIXED_SCALARS = 10,
};

static unsigned bits_of(int64_t pairs) {
    unsigned bits = 0;
    while (bits < BITS_MAX && (int64_t)1 << bits < pairs)
        bits++;
    return bits;
}

/* 2^63 is 1. */
static int64_t fixed_power(double base, double exponent) {
    return (int64_t)(uint64_t)(pow(base, exponent) * 0x1p63);
}

bool source_rope(const struct rope_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status) {
    int64_t pairs = work->width / 2;
    unsigned bits = bits_of(pairs);
    if (!(work->base >= 1) || isinf(work->base) || (int64_t)1 << bits < pairs)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "rope: a base of %g with a width of %lld cannot be done on this device: "
                           "the base is at least 1 and the width at most %d",
                           work->base, (long long)work->width, 2 << BITS_MAX);
    request->spec.family = KERNEL_ROPE;
    request->spec.types[0] = (uint8_t)work->type;
    request->spec.choices[0] = work->interleaved;
    request->spec.choices[1] = (int32_t)bits;
    int64_t lines = work->batch * work->heads, places = work->tokens * pairs;
    /* Heads that share an angle, as long as enough threads are left. */
    int64_t shared = 1;
    double threads = (double)lines * (double)places;
    while (shared < lines && shared < 16 &&
           threads / (double)shared > 2048.0 * device->compute_units)
        shared *= 2;
    int64_t fixed[FIXED_SCALARS] = {
        work->heads,      work->tokens,     work->width, pairs, work->strides[0],
        work->strides[1], work->strides[2], work->start, lines, shared};
    for (unsigned i = 0; i < FIXED_SCALARS; i++)
        request->scalars[i] = fixed[i];
    for (unsigned i = 0; i < bits; i++)
        request->scalars[FIXED_SCALARS + i] =
            fixed_power(work->base, -(double)((int64_t)1 << i) / (double)pairs);
    request->scalar_count = FIXED_SCALARS + bits;
    double blocks =
        (double)divide_up(lines, shared) * (double)divide_up(places > 0 ? places : 1, THREADS);
    source_geometry(request, blocks, THREADS);
    return true;
}

static const char words_text[] =
    /* The upper 64 bits of the product, but for the last one or two. */
    "INLINE UINT64 multiply_high(UINT64 a, UINT64 b) {\n"
    "    UINT64 a_high = a >> 32, a_low = a & 0xffffffffu, b_high = b >> 32, b_low = b & "
    "0xffffffffu;\n"
    "    return a_high * b_high + ((a_high * b_low) >> 32) + ((a_low * b_high) >> 32);\n"
    "}\n";

static const char body_text[] =
    "INT64 heads = scalars.v[0], tokens = scalars.v[1], width = scalars.v[2], pairs = "
    "scalars.v[3];\n"
    "INT64 lines = scalars.v[8], sharing = scalars.v[9];\n"
    "INT64 places = tokens * pairs, work = (lines + sharing - 1) / sharing * places;\n"
    "INT64 stride = (INT64)GRID_X * THREADS_X;\n"
    "for (INT64 e = (INT64)BLOCK_X * THREADS_X + THREAD_X; e < work; e += stride) {\n"
    "    INT64 pair = e % pairs, token = e / pairs % tokens, line = e / places * sharing;\n"
    "    UINT64 frequency = (UINT64)1 << 63;\n"
    "    UNROLL for (int i = 0; i < BITS; i++)\n"
    "        if ((pair >> i) & 1)\n"
    "            frequency = multiply_high(frequency, (UINT64)scalars.v[10 + i]) << 1;\n"
    /* 1 / (2 pi) of 2^64, times a frequency of which 2^63 is 1, halves it: hence the shift. */
    "    UINT64 turn = multiply_high(frequency, 2935890503282001226u) << 1;\n"
    "    UINT64 angle = turn * (UINT64)(scalars.v[7] + token);\n"
    "    float radians = (float)(int)(UINT32)(angle >> 32) * 1.46291807926715968e-9f;\n"
    "    float cosine = COS(radians), sine = SIN(radians);\n"
    "    INT64 end = line + sharing < lines ? line + sharing : lines;\n"
    "    for (; line < end; line++) {\n"
    "        INT64 from = line / heads * scalars.v[4] + line % heads * scalars.v[5] +\n"
    "                     token * scalars.v[6];\n"
    "        INT64 to = (line * tokens + token) * width;\n"
    "        INT64 first = INTERLEAVED ? pair * 2 : pair;\n"
    "        INT64 second = INTERLEAVED ? pair * 2 + 1 : pair + pairs;\n"
    "        float a = LOAD(x, from + first), b = LOAD(x, from + second);\n"
    "        STORE(result, to + first, a * cosine - b * sine);\n"
    "        STORE(result, to + second, b * cosine + a * sine);\n"
    "        if (pair == 0 && width % 2 != 0)\n"
    "            result[to + width - 1] = x[from + width - 1];\n"
    "    }\n"
    "}\n"
    "}\n";

bool source_rope_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    source_words(out, device);
    source_element_words(out, type);
    source_define(out, "INTERLEAVED", spec->choices[0]);
    source_define(out, "BITS", spec->choices[1]);
    buffer_string(out, words_text);
    struct source_parameter buffers[] = {
        {.name = "x", .dtype = type},
        {.name = "result", .dtype = type, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 2,
        .scalar_count = FIXED_SCALARS + (unsigned)spec->choices[1],
        .threads = THREADS,
    };
    source_kernel_begin(out, device->language, &kernel);
    buffer_string(out, body_text);
    return true;
}
