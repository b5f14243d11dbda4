/* Dequantising on the CPU: what to launch. The arithmetic is in simd/dequantize.c. */
#include "gen/native/quantize.h"

#include "gen/families.h"

bool native_dequantize(const struct quantize_work *work, const struct device_capabilities *device,
                       struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    struct quantize_plan plan = {
        .from = work->from,
        .to = work->to,
        .blocks = work->blocks,
        .unit_blocks = work->from == RIDGE_Q4_K ? 64 : 512,
    };
    plan_request(request, KERNEL_DEQUANTIZE, work->from, plan_units(plan.blocks, plan.unit_blocks),
                 &plan, sizeof plan);
    return true;
}

static native_function *const functions[] = SIMD_ROWS(dequantize);

bool native_dequantize_code(const struct kernel_spec *spec,
                            const struct device_capabilities *device,
                            struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    return true;
}
