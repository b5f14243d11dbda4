/* Quantising on the CPU: what to launch. The arithmetic is in simd/quantize.c. */
#include "gen/native/quantize.h"

#include "gen/families.h"

bool native_quantize(const struct quantize_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    struct quantize_plan plan = {
        .from = work->from,
        .to = work->to,
        .blocks = work->blocks,
        .unit_blocks = work->to == RIDGE_Q4_K ? 16 : 512,
    };
    plan_request(request, KERNEL_QUANTIZE, work->to, plan_units(plan.blocks, plan.unit_blocks),
                 &plan, sizeof plan);
    return true;
}

static native_function *const functions[] = SIMD_ROWS(quantize);

bool native_quantize_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    return true;
}
