/* Checks the output of a workload. A few elements of a few rows are compared with the
 * double-precision reference: the first and last, where kernels fail at edges, and random ones.
 * Rows are few because some references compute a whole row to get one element.
 *
 * The inputs are read back from the device, so that rounding them to their type is no error.
 */
#include "bench/workloads/workload_check.h"

#include <math.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "bench/run.h"
#include "tensor/tensor.h"

enum { ROWS = 8, COLUMNS = 8 };

struct comparison_of_elements {
    double largest;    /* reference */
    double difference; /* the largest, and where: */
    int64_t index;
    double got, expected;
};

/* What rounding results (and intermediate results, in eager runs) to the type adds. Q8_0 and Q4_K
 * stand for f16 activations, which kernels may themselves bring to eight bits. */
static const double rounding[RIDGE_DTYPES] = {
    [RIDGE_F16] = 4e-3, [RIDGE_BF16] = 3e-2, [RIDGE_Q8_0] = 2e-2, [RIDGE_Q4_K] = 2e-2};

static double tolerance_of(const struct workload *workload, const struct workload_shape *shape) {
    double widest = 0;
    for (unsigned i = 0; i < shape->input_count; i++)
        widest = fmax(widest, rounding[shape->inputs[i].dtype]);
    return workload->tolerance + widest;
}

/* The first, the last, and others at random; all of them when there are no more. */
static int64_t pick(unsigned nth, unsigned of, int64_t count, uint64_t seed) {
    if (nth == 0 || count <= of)
        return nth;
    if (nth == of - 1)
        return count - 1;
    return (int64_t)(hash_u64(seed * 64 + nth) % (uint64_t)count);
}

static void compare_element(const struct workload *workload, const struct host_inputs *inputs,
                            const float *output, int64_t index,
                            struct comparison_of_elements *comparison) {
    double expected = workload->reference(inputs, index);
    double difference = fabs((double)output[index] - expected);
    comparison->largest = fmax(comparison->largest, fabs(expected));
    if (difference <= comparison->difference)
        return;
    /* NaN ends up here too. */
    comparison->difference = isnan(difference) ? INFINITY : difference;
    comparison->index = index;
    comparison->got = (double)output[index];
    comparison->expected = expected;
}

static bool compare(const struct workload *workload, const struct host_inputs *inputs,
                    const float *output, int64_t width, double *error, struct status *status) {
    int64_t count = inputs->shape->outputs, rows = count / width;
    struct comparison_of_elements comparison = {.largest = inputs->shape->magnitude};
    unsigned row_count = rows < ROWS ? (unsigned)rows : ROWS;
    unsigned column_count = rows < ROWS ? ROWS * COLUMNS / row_count : COLUMNS;
    if (width < column_count)
        column_count = (unsigned)width;
    for (unsigned r = 0; r < row_count; r++) {
        int64_t row = pick(r, row_count, rows, 1);
        for (unsigned c = 0; c < column_count; c++)
            compare_element(workload, inputs, output,
                            row * width + pick(c, column_count, width, 2 + r), &comparison);
    }
    *error = comparison.difference > 0 ? comparison.difference / comparison.largest : 0;
    double tolerance = tolerance_of(workload, inputs->shape);
    if (*error <= tolerance)
        return true;
    return status_fail(status, STATUS_INPUT,
                       "%s: element %lld of the result is %g, not %g: the error is %.2g, and "
                       "rounding explains %.2g",
                       workload->name, (long long)comparison.index, comparison.got,
                       comparison.expected, *error, tolerance);
}

static bool read_back(ridge_tensor *tensor, float **floats, struct status *status) {
    size_t count = (size_t)ridge_tensor_count(tensor);
    *floats = memory_allocate(count, sizeof **floats, status);
    return *floats && (ridge_to_floats(tensor, *floats, count) || run_tensor_failed(status));
}

bool workload_check(const struct workload *workload, const struct workload_shape *shape,
                    ridge_tensor *const *inputs, ridge_tensor *output, double *error,
                    struct status *status) {
    float *data[WORKLOAD_INPUTS_MAX] = {0}, *result = NULL;
    struct reference_row kept = {.row = -1};
    struct host_inputs host = {.shape = shape, .kept = &kept};
    *error = 0;
    if (ridge_tensor_count(output) != shape->outputs)
        return status_fail(status, STATUS_INPUT, "%s: the result has %lld elements, not %lld",
                           workload->name, (long long)ridge_tensor_count(output),
                           (long long)shape->outputs);
    if (shape->outputs <= 0)
        return true;
    kept.values = memory_allocate((size_t)shape->row_values, sizeof *kept.values, status);
    bool ok = kept.values && read_back(output, &result, status);
    for (unsigned i = 0; ok && i < shape->input_count; i++) {
        ok = read_back(inputs[i], &data[i], status);
        host.data[i] = data[i];
    }
    unsigned rank = ridge_tensor_rank(output);
    int64_t width = rank > 0 ? ridge_tensor_size(output, -1) : 1;
    ok = ok && compare(workload, &host, result, width, error, status);
    for (unsigned i = 0; i < shape->input_count; i++)
        memory_free(data[i]);
    memory_free(result);
    memory_free(kept.values);
    return ok;
}
