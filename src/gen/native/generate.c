/* arange, rand and randn on the CPU: what to launch. The arithmetic is in random.h and arange.h. */
#include "gen/native/generate.h"

#include "gen/backends.h"
#include "gen/random.h"

bool native_generate_values(const struct generate_work *work,
                            const struct device_capabilities *device,
                            struct kernel_request *request, struct status *status) {
    (void)device;
    struct generate_plan plan = {
        .kind = work->kind, .type = work->type, .count = work->count, .stepped = work->stepped};
    bool whole = value_type_of(work->type) == VALUE_I32;
    if (work->kind != GENERATE_ARANGE)
        plan.key = random_key(work->seed);
    else if (!arange_prepare(work->start, work->step, work->count, whole, &plan.arange, status))
        return false;
    plan_request(request, KERNEL_GENERATE, work->type, plan_units(plan.count, GENERATE_UNIT), &plan,
                 sizeof plan);
    return true;
}

static native_function *const functions[] = SIMD_ROWS(generate_values);

bool native_generate_values_code(const struct kernel_spec *spec,
                                 const struct device_capabilities *device,
                                 struct kernel_generated *generated, struct status *status) {
    (void)spec, (void)device, (void)status;
    generated->code.function = functions[simd_best()->index];
    return true;
}
