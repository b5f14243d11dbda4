/* Quantizing on the CPU and back: what to launch. The arithmetic is in simd/quantize.c and
 * simd/dequantize.c. */
#include "gen/native/quantize.h"

#include "gen/backends.h"
#include "gen/dtype.h"

static bool request_blocks(const struct quantize_work *work, enum kernel_family family,
                           enum ridge_dtype quantized, int64_t unit_blocks,
                           struct kernel_request *request) {
    struct quantize_plan plan = {
        .from = work->from,
        .to = work->to,
        .blocks = work->blocks,
        .unit_blocks = unit_blocks,
    };
    plan_request(request, family, quantized, plan_units(plan.blocks, plan.unit_blocks), &plan,
                 sizeof plan);
    return true;
}

bool native_quantize(const struct quantize_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    return request_blocks(work, KERNEL_QUANTIZE, work->to, dtype_block(work->to) == 256 ? 16 : 512,
                          request);
}

bool native_dequantize(const struct quantize_work *work, const struct device_capabilities *device,
                       struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    return request_blocks(work, KERNEL_DEQUANTIZE, work->from,
                          dtype_block(work->from) == 256 ? 64 : 512, request);
}

static native_function *const quantizers[] = SIMD_ROWS(quantize);
static native_function *const dequantizers[] = SIMD_ROWS(dequantize);

bool native_quantize_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = quantizers[simd_best()->index];
    return true;
}

bool native_dequantize_code(const struct kernel_spec *spec,
                            const struct device_capabilities *device,
                            struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = dequantizers[simd_best()->index];
    return true;
}
