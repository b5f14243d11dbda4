/* Operations of the user's own: expressions against the same in double, and kernels whose body is
 * in the words that all languages share. */
#include <math.h>

#include "cases.h"

enum { COUNT = 1027, THREADS = 64 };

static double multiply_add(double a, double b) {
    return a * b + 0.5;
}
static double chosen(double a, double b) {
    return a > b && a > 0 ? a : -b;
}
static double curve(double a, double b) {
    return tanh(a) / (1 + exp(-b)) - sqrt(fabs(a - b)) * 2;
}
static double clipped(double a, double b) {
    return fmin(fmax(a, -1), 1) - trunc(b);
}

static const struct {
    const char *text;
    double (*value)(double a, double b);
} rows[] = {
    {"a * b + 0.5", multiply_add},
    {"where(a > b && a > 0, a, -b)", chosen},
    {"tanh(a) * sigmoid(b) - sqrt(abs(a - b)) * 2", curve},
    {"clamp(a, -1, 1) - where(b < 0, ceil(b), floor(b))", clipped},
};

static void check_expression(unsigned row, enum ridge_dtype dtype) {
    static const double steps[] = {[RIDGE_F32] = 2e-6, [RIDGE_F16] = 2e-3, [RIDGE_BF16] = 2e-2};
    if (!case_begin("expression %s %s", rows[row].text, ridge_dtype_name(dtype)))
        return;
    const int64_t sizes[] = {COUNT};
    float *values[3];
    for (unsigned i = 0; i < 3; i++)
        values[i] = case_memory(COUNT, sizeof(float));
    ridge_tensor *operands[2];
    for (unsigned k = 0; k < 2; k++) {
        for (int i = 0; i < COUNT; i++)
            values[k][i] = (float)noise_between(k + 1, (uint64_t)i, -3, 3);
        operands[k] = ridge_from_floats(session.device, dtype, 1, sizes, values[k]);
        CASE_CHECK(ridge_to_floats(operands[k], values[k], COUNT)); /* as rounded */
    }
    ridge_tensor *made = ridge_expression(rows[row].text, operands, 2);
    if (!ridge_to_floats(made, values[2], COUNT))
        case_fail("%s", ridge_error_message());
    else
        for (int i = 0; i < COUNT; i++) {
            double expected = rows[row].value((double)values[0][i], (double)values[1][i]);
            if (!(fabs((double)values[2][i] - expected) <= steps[dtype] * (1 + fabs(expected))))
                case_fail("element %d is %g, not %g", i, (double)values[2][i], expected);
        }
    case_end();
}

/* result[i] = in0[i] * scalar - in1[n - 1 - i], with i32 and f16 operands. */
static const char body[] =
    "    INT64 i = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X;\n"
    "    if (i < scalars.v[0])\n"
    "        ELEMENT(result, i) = CAST(float, ELEMENT(in0, i)) * CAST(float, scalars.v[1]) -\n"
    "                             LOAD_F16(in1, scalars.v[0] - 1 - i);\n";

static float half_to_float(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float value =
        exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return half & 0x8000 ? -value : value;
}

static void on_cpu(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
    const int32_t *whole = buffers[0];
    const uint16_t *halves = buffers[1];
    float *result = buffers[2];
    for (int64_t i = begin * THREADS; i < end * THREADS && i < scalars[0]; i++)
        result[i] = (float)whole[i] * (float)scalars[1] - half_to_float(halves[scalars[0] - 1 - i]);
}

static void check_kernel(void) {
    if (!case_begin("custom kernel of i32 and f16"))
        return;
    const int64_t sizes[] = {COUNT}, scalars[] = {COUNT, 3};
    struct ridge_custom_kernel kernel = {.name = "conformance_custom",
                                         .portable = body,
                                         .cpu = on_cpu,
                                         .blocks = (COUNT + THREADS - 1) / THREADS,
                                         .threads = THREADS,
                                         .scalars = scalars,
                                         .scalar_count = 2};
    ridge_tensor *inputs[] = {ridge_arange(session.device, RIDGE_I32, COUNT, -7, 1),
                              ridge_arange(session.device, RIDGE_F16, COUNT, 0, 0.5)};
    ridge_tensor *made = ridge_custom(&kernel, inputs, 2, RIDGE_F32, 1, sizes);
    float *values = case_memory(COUNT, sizeof *values);
    if (!ridge_to_floats(made, values, COUNT))
        case_fail("%s", ridge_error_message());
    else
        for (int i = 0; i < COUNT; i++)
            if (values[i] != (float)(i - 7) * 3 - (float)(COUNT - 1 - i) * 0.5f)
                case_fail("element %d is %g", i, (double)values[i]);
    case_end();
}

void check_custom(void) {
    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (enum ridge_dtype dtype = RIDGE_F32; dtype <= RIDGE_BF16; dtype++)
            if (!session.quick || dtype == RIDGE_F16)
                check_expression(row, dtype);
    check_kernel();
}
