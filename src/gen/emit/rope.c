/* Rotary position embedding on GPUs, without doubles.
 *
 * Sine and cosine only need the fraction of a turn of position * frequency, which is exact in
 * integers: the frequency as a 64-bit fraction of a turn, times the position, modulo 2^64. The
 * frequency of pair i is base^(-i / pairs), the product over the bits of i of powers that the
 * host computes in double. A thread does a token's pair for several heads, which share the
 * angle.
 */
#include <math.h>

#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_rope_cl[];

enum {
    THREADS = 128,
    BITS_MAX = 24, /* of a pair's number */
    FIXED_SCALARS = 11,
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
                           "rope: this device does not support a base of %g with a width of %lld: "
                           "the base must be at least 1 and the width at most %d",
                           work->base, (long long)work->width, 2 << BITS_MAX);
    request->spec.family = KERNEL_ROPE;
    request->spec.types[0] = (uint8_t)work->type;
    request->spec.choices[0] = work->interleaved;
    request->spec.choices[1] = (int32_t)bits;
    int64_t lines = work->batch * work->heads, places = work->tokens * pairs;
    /* Heads of a batch share an angle as long as enough threads remain. */
    int64_t shared = 1;
    double threads = (double)lines * (double)places;
    while (shared < 16 && work->heads % (2 * shared) == 0 &&
           threads / (double)shared > 2048.0 * device->compute_units)
        shared *= 2;
    int64_t fixed[FIXED_SCALARS] = {work->heads,
                                    work->tokens,
                                    work->width,
                                    pairs,
                                    work->strides[0],
                                    work->strides[1],
                                    work->strides[2],
                                    lines,
                                    shared,
                                    work->position_strides[0],
                                    work->position_strides[1]};
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

bool source_rope_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)status;
    struct buffer *out = &generated->source;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    source_device_prelude(out, device);
    source_element_macros(out, type);
    source_define(out, "INTERLEAVED", spec->choices[0]);
    source_define(out, "BITS", spec->choices[1]);
    source_section(out, embedded_rope_cl, "macros");
    struct source_parameter buffers[] = {
        {.name = "x", .dtype = type},
        {.name = "positions", .dtype = RIDGE_I32},
        {.name = "result", .dtype = type, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 3,
        .scalar_count = FIXED_SCALARS + (unsigned)spec->choices[1],
        .threads = THREADS,
    };
    source_kernel_begin(out, device, &kernel);
    source_kernel_body(out, device, &kernel);
    source_section(out, embedded_rope_cl, "body");
    return true;
}
