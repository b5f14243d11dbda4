/* RWKV-7's recurrence on GPUs: for each token S = S diag(w) + (S a) b' + v k', y = S r.
 *
 * The rows of the state are independent, so a block keeps some rows of a head in registers over
 * all tokens, a few lanes per row. The five vectors that the rows share are staged in shared
 * memory; the next token's are loaded while the current ones are used.
 */
#include "gen/backends.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_wkv7_cl[];

enum wkv7_choice { WIDTH, LANES, ROWS, THREADS };
enum { SHARED_VECTORS = 5 };

bool source_wkv7(const struct wkv7_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status) {
    uint32_t shared = device->shared_bytes ? device->shared_bytes : 16384;
    int64_t widest = shared / (2 * SHARED_VECTORS * 4) * 3 / 4;
    if (work->width > widest)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "wkv7: heads of width %lld do not fit on this device; at most %lld",
                           (long long)work->width, (long long)widest);
    int32_t width = (int32_t)work->width, lanes = 1, rows = 16;
    /* Without shuffles a sum over lanes costs more than it gains. */
    if (source_subgroup(device) >= 4)
        lanes = width >= 128 ? 8 : width >= 16 ? 4 : 1;
    while (rows > 1 && rows / 2 >= width)
        rows /= 2;
    if (lanes == 1)
        rows = width < 64 ? width : 64;
    int32_t *choices = request->spec.choices;
    choices[WIDTH] = width;
    choices[LANES] = lanes;
    choices[ROWS] = rows;
    choices[THREADS] = rows * lanes;
    request->spec.family = KERNEL_WKV7;
    request->spec.types[0] = (uint8_t)work->type;
    request->scalars[0] = work->batch;
    request->scalars[1] = work->tokens;
    request->scalars[2] = work->heads;
    request->scalar_count = 3;
    double blocks = (double)work->batch * (double)work->heads * (double)divide_up(width, rows);
    source_geometry(request, blocks, (unsigned)choices[THREADS]);
    return true;
}

bool source_wkv7_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)status;
    enum ridge_dtype type = (enum ridge_dtype)spec->types[0];
    struct buffer *out = &generated->source;
    source_device_prelude(out, device);
    source_element_macros(out, type);
    source_define(out, "WIDTH", spec->choices[WIDTH]);
    source_define(out, "LANES", spec->choices[LANES]);
    source_define(out, "ROWS", spec->choices[ROWS]);
    source_define(out, "THREADS", spec->choices[THREADS]);
    source_section(out, embedded_wkv7_cl, "macros");
    struct source_parameter buffers[] = {
        {.name = "r", .dtype = type},
        {.name = "w", .dtype = type},
        {.name = "k", .dtype = type},
        {.name = "v", .dtype = type},
        {.name = "a", .dtype = type},
        {.name = "b", .dtype = type},
        {.name = "state", .dtype = RIDGE_F32},
        {.name = "y", .dtype = type, .stored = true},
        {.name = "state_after", .dtype = RIDGE_F32, .stored = true},
    };
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 9,
        .scalar_count = 3,
        .threads = (unsigned)spec->choices[THREADS],
        .scratch_words = (unsigned)spec->choices[THREADS],
        .scratch_arrays = 2,
    };
    source_kernel_begin(out, device, &kernel);
    source_section(out, embedded_wkv7_cl, "shared");
    source_kernel_body(out, device, &kernel);
    source_section(out, embedded_wkv7_cl, "body");
    return true;
}
