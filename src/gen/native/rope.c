/* Rotary positions on the CPU: how the work is cut. The arithmetic is in simd/rope.c. */
#include "gen/native/rope.h"

#include "gen/backends.h"

enum { UNIT_ELEMENTS = 16384 }; /* at least, so that angles are not computed for too few */

static int64_t clamp(int64_t value, int64_t min, int64_t max) {
    return value < min ? min : value > max ? max : value;
}

bool native_rope(const struct rope_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status) {
    if (work->width > ROPE_WIDTH_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "rope on heads of width %lld; the CPU supports up to %d",
                           (long long)work->width, ROPE_WIDTH_MAX);
    struct rope_plan plan = {
        .type = work->type,
        .batch = work->batch,
        .heads = work->heads,
        .tokens = work->tokens,
        .width = work->width,
        .base = work->base,
        .interleaved = work->interleaved,
    };
    memcpy(plan.strides, work->strides, sizeof plan.strides);
    memcpy(plan.position_strides, work->position_strides, sizeof plan.position_strides);
    int64_t all_heads = plan.batch * plan.heads, threads = device->compute_units;
    /* Tokens are shared out before heads: a token's angles serve all heads. */
    plan.unit_tokens = clamp(plan.tokens / (2 * clamp(threads, 1, 1 << 16)), 1, ROPE_TOKENS);
    plan.token_units = plan_units(plan.tokens, plan.unit_tokens);
    int64_t enough = UNIT_ELEMENTS / clamp(plan.width * plan.unit_tokens, 1, UNIT_ELEMENTS);
    plan.unit_heads =
        plan.token_units >= threads ? clamp(all_heads, 1, INT64_MAX) : clamp(enough, 1, INT64_MAX);
    plan.head_units = plan_units(all_heads, plan.unit_heads);
    plan_request(request, KERNEL_ROPE, work->type, plan.token_units * plan.head_units, &plan,
                 sizeof plan);
    request->spec.choices[0] = (int32_t)work->width;
    return true;
}

static native_function *const functions[] = SIMD_ROWS(rope);

bool native_rope_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                      struct kernel_generated *generated, struct status *status) {
    (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    generated->code.scratch_bytes = (size_t)rope_scratch_bytes(spec->choices[0]);
    return true;
}
