/* The RWKV-7 recurrence on the CPU: how the work is cut. The arithmetic is in simd/wkv7.c. */
#include "gen/native/wkv7.h"

#include "gen/backends.h"

enum { ROWS_MIN = 16 };

bool native_wkv7(const struct wkv7_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status) {
    if (work->width > WKV7_WIDTH_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "wkv7 with heads of width %lld; the CPU supports up to %d",
                           (long long)work->width, WKV7_WIDTH_MAX);
    struct wkv7_plan plan = {
        .type = work->type,
        .batch = work->batch,
        .tokens = work->tokens,
        .heads = work->heads,
        .width = work->width,
        .unit_rows = WKV7_ROWS,
    };
    int64_t heads = plan.batch * plan.heads;
    while (plan.unit_rows > ROWS_MIN &&
           heads * plan_units(plan.width, plan.unit_rows) < device->compute_units)
        plan.unit_rows /= 2;
    plan.units_per_head = plan_units(plan.width, plan.unit_rows);
    plan_request(request, KERNEL_WKV7, work->type, heads * plan.units_per_head, &plan, sizeof plan);
    request->spec.choices[0] = (int32_t)work->width;
    return true;
}

static native_function *const functions[] = SIMD_ROWS(wkv7);

bool native_wkv7_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    generated->code.scratch_bytes = (size_t)wkv7_scratch_floats(spec->choices[0]) * sizeof(float);
    return true;
}
