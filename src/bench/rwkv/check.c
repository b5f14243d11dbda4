/* Checks the output of a program of an RWKV-7 model.
 *
 * The program's outputs are compared with those of the same function called one operation at a
 * time: on the CPU in f32 with the rounded weights, or, if the model is too large for that, on
 * the same device. A whole step is done twice, the second time from the states of the first,
 * since states of zero would hide half of the recurrence.
 */
#include "bench/rwkv/check.h"

#include <math.h>

#include "base/memory.h"
#include "bench/run.h"
#include "bench/rwkv/load.h"

/* Relative to the largest value. Products of f16 and bf16 round their inputs and results, and a
 * model does a dozen in a row in each layer; kernels for quantized weights may quantize what they
 * are multiplied with. */
static double tolerance_of(const struct rwkv_model *model) {
    switch (model->dtype) {
    case RIDGE_F32:
        return 2e-3;
    case RIDGE_F16:
        return 3e-2;
    default:
        return 1e-1;
    }
}

struct side {
    ridge_program *program; /* NULL: call the function */
    ridge_function *function;
    void *context;
    ridge_tensor **inputs, **outputs;
};

static bool run_once(const struct side *side, struct status *status) {
    bool ok = side->program ? ridge_program_run(side->program, side->inputs, side->outputs)
                            : side->function(side->context, side->inputs, side->outputs);
    return ok || run_tensor_failed(status);
}

static bool run_side(const struct rwkv_check *check, const struct side *side,
                     struct status *status) {
    if (!run_once(side, status))
        return false;
    if (check->layer >= 0)
        return true;
    for (unsigned i = RWKV_STEP_INPUTS; i < check->input_count; i++)
        side->inputs[i] = side->outputs[i + RWKV_STEP_OUTPUTS - RWKV_STEP_INPUTS];
    return run_once(side, status);
}

static bool compare_values(const float *values, const float *expected, size_t count, double *error,
                           struct status *status) {
    double difference = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]) || !isfinite(expected[i]))
            return status_fail(status, STATUS_INPUT, "there is a value that is not finite");
        difference = fmax(difference, fabs((double)values[i] - (double)expected[i]));
        largest = fmax(largest, fabs((double)expected[i]));
    }
    if (difference > 0)
        *error = fmax(*error, difference / largest);
    return true;
}

static bool compare_output(ridge_tensor *output, ridge_tensor *expected, double *error,
                           struct status *status) {
    size_t count = (size_t)ridge_tensor_count(output);
    float *values = memory_allocate(2 * count, sizeof *values, status);
    if (!values)
        return false;
    bool ok =
        ridge_to_floats(output, values, count) && ridge_to_floats(expected, values + count, count);
    ok = ok ? compare_values(values, values + count, count, error, status)
            : run_tensor_failed(status);
    memory_free(values);
    return ok;
}

/* The likeliest token is left out: two may be equally likely up to rounding. */
static bool compare_sides(const struct rwkv_check *check, const struct side *program,
                          const struct side *reference, double *error, struct status *status) {
    double tolerance = tolerance_of(check->model);
    for (unsigned i = 0; i < check->output_count; i++)
        if (ridge_tensor_dtype(program->outputs[i]) == RIDGE_F32 &&
            !compare_output(program->outputs[i], reference->outputs[i], error, status))
            return false;
    if (*error <= tolerance)
        return true;
    return status_fail(status, STATUS_INPUT,
                       "it differs by %.2g of the largest value; rounding explains %.2g", *error,
                       tolerance);
}

static bool copy_inputs(const struct rwkv_check *check, ridge_device *device, ridge_tensor **inputs,
                        struct status *status) {
    for (unsigned i = 0; i < check->input_count; i++)
        if (!(inputs[i] = rwkv_copy_tensor(check->inputs[i], device)))
            return rwkv_failed(status);
    return true;
}

static bool check_against(const struct rwkv_check *check, const struct rwkv_model *model,
                          struct side *program, struct side *reference, double *error,
                          struct status *status) {
    struct rwkv_place place = {model, check->layer};
    reference->context = check->layer < 0 ? (void *)model : (void *)&place;
    if (check->on_cpu && !copy_inputs(check, model->device, reference->inputs, status))
        return false;
    return run_side(check, program, status) && run_side(check, reference, status) &&
           compare_sides(check, program, reference, error, status);
}

static bool check_on_cpu(const struct rwkv_check *check, struct side *program,
                         struct side *reference, double *error, struct status *status) {
    ridge_device *device = ridge_device_open("cpu");
    if (!device)
        return run_tensor_failed(status);
    struct rwkv_model *copy = rwkv_model_copy(check->model, device);
    bool ok =
        copy ? check_against(check, copy, program, reference, error, status) : rwkv_failed(status);
    rwkv_model_finish(copy);
    ridge_device_close(device);
    return ok;
}

bool rwkv_check(const struct rwkv_check *check, double *error, struct status *status) {
    unsigned count = 2 * (check->input_count + check->output_count);
    ridge_tensor **tensors = memory_allocate(count, sizeof *tensors, status);
    if (!tensors)
        return false;
    struct side program = {
        .program = check->program, .inputs = tensors, .outputs = tensors + check->input_count};
    struct side reference = {.function = check->function,
                             .inputs = tensors + count / 2,
                             .outputs = tensors + count / 2 + check->input_count};
    for (unsigned i = 0; i < check->input_count; i++)
        program.inputs[i] = reference.inputs[i] = check->inputs[i];
    *error = 0;
    ridge_scope_begin();
    bool ok = check->on_cpu
                  ? check_on_cpu(check, &program, &reference, error, status)
                  : check_against(check, check->model, &program, &reference, error, status);
    ridge_scope_end();
    memory_free(tensors);
    return ok;
}
