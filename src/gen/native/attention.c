/* Attention on the CPU: how the work is cut. The arithmetic is in simd/attention.c. */
#include "base/min_max.h"
#include "gen/native/attention.h"

#include "gen/backends.h"

enum {
    UNITS_PER_THREAD = 2, /* wanted at least; else the keys are cut too */
    PART_KEYS_MIN = 256,
    PARTIALS_MAX = 1 << 28, /* floats: beyond, the keys are not cut */
};

/* Into how many parts the keys are cut so that all threads have work. */
static int64_t key_parts(int64_t units, int64_t keys, unsigned threads) {
    int64_t wanted = (int64_t)threads * UNITS_PER_THREAD;
    if (threads < 2 || units == 0 || units >= wanted)
        return 1;
    int64_t parts = MIN((wanted + units - 1) / units, keys / PART_KEYS_MIN);
    return parts > 1 ? parts : 1;
}

bool native_attention(const struct attention_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    if (work->width > ATTENTION_WIDTH_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "attention with heads of width %lld; the CPU supports up to %d",
                           (long long)work->width, ATTENTION_WIDTH_MAX);
    struct attention_plan plan = {
        .type = work->type,
        .batch = work->batch,
        .heads = work->heads,
        .kv_heads = work->kv_heads,
        .queries = work->queries,
        .keys = work->keys,
        .width = work->width,
        .causal = work->causal,
        .window = work->window,
        .length_stride = work->length_stride,
        .scale = work->scale,
        .group = work->kv_heads > 0 ? work->heads / work->kv_heads : 1,
    };
    memcpy(plan.q_strides, work->q_strides, sizeof plan.q_strides);
    memcpy(plan.k_strides, work->k_strides, sizeof plan.k_strides);
    memcpy(plan.v_strides, work->v_strides, sizeof plan.v_strides);
    memcpy(plan.mask_strides, work->mask_strides, sizeof plan.mask_strides);
    plan.lengths = work->has_lengths ? 3 : 0;
    plan.mask = work->has_mask ? 3 + work->has_lengths : 0;
    plan.result = 3 + work->has_lengths + work->has_mask;
    plan.row_blocks = plan_units(plan.group * plan.queries, ATTENTION_ROWS);
    int64_t units = plan.batch * plan.kv_heads * plan.row_blocks;
    plan.parts = key_parts(units, plan.keys, device->compute_units);
    if (units * plan.parts > PARTIALS_MAX / attention_partial_floats(plan.width))
        plan.parts = 1;
    plan_request(request, KERNEL_ATTENTION, work->type, units * plan.parts, &plan, sizeof plan);
    request->spec.choices[0] = (int32_t)attention_padded(work->width);
    if (plan.parts > 1)
        request->shared_bytes =
            (uint32_t)(units * plan.parts * attention_partial_floats(plan.width) *
                       (int64_t)sizeof(float));
    return true;
}

static native_function *const functions[] = SIMD_ROWS(attention);

bool native_attention_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated, struct status *status) {
    (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    generated->code.scratch_bytes =
        (size_t)attention_scratch_floats(spec->choices[0]) * sizeof(float);
    return true;
}
