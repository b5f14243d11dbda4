/* Portable kernels on the CPU: what to launch. The functions are in simd/portable.c. */
#include "gen/native/portable.h"

#include "gen/backends.h"

bool native_portable(const struct portable_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status) {
    (void)device, (void)status;
    bool by_rows = work->op == OP_ARGSORT || work->op == OP_CUMSUM || work->op == OP_SAMPLE;
    plan_request(request, KERNEL_PORTABLE, work->type,
                 plan_units(work->items, by_rows ? 1 : PORTABLE_UNIT), work->scalars,
                 work->scalar_count * sizeof work->scalars[0]);
    request->spec.choices[0] = (int32_t)work->op;
    request->spec.choices[1] = work->descending;
    return true;
}

static portable_function *const functions[] = SIMD_ROWS(portable_kernel);

bool native_portable_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                          struct kernel_generated *generated, struct status *status) {
    (void)device;
    generated->code.function = functions[simd_best()->index](
        (enum op)spec->choices[0], (enum ridge_dtype)spec->types[0], spec->choices[1] != 0);
    return generated->code.function != NULL ||
           status_fail(status, STATUS_UNSUPPORTED, "%s has no kernel for %s",
                       op_info((enum op)spec->choices[0])->name,
                       ridge_dtype_name((enum ridge_dtype)spec->types[0]));
}
