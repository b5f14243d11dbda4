/* Expressions as text: their grammar, values, fusion and gradients. */
#include <math.h>
#include <ridge.h>
#include <string.h>

#include "../test.h"

static const float a[] = {-2, -0.5f, 0, 1, 3}, b[] = {4, 2, 1, -1, 0.5f};
enum { COUNT = 5 };

static ridge_tensor *of(ridge_device *device, const float *values) {
    const int64_t sizes[] = {COUNT};
    return ridge_from_floats(device, RIDGE_F32, 1, sizes, values);
}

static void check_values(ridge_device *device, const char *text, const float *expected) {
    ridge_tensor *operands[] = {of(device, a), of(device, b)};
    float values[COUNT];
    ridge_tensor *made = ridge_expression(text, operands, 2);
    if (!made || !ridge_to_floats(made, values, COUNT)) {
        test_failed(__FILE__, __LINE__, "%s: %s", text, ridge_error_message());
        ridge_error_clear();
        return;
    }
    for (int i = 0; i < COUNT; i++)
        if (!(fabsf(values[i] - expected[i]) <= 1e-6f * fabsf(expected[i])))
            test_failed(__FILE__, __LINE__, "%s: element %d is %g, not %g", text, i,
                        (double)values[i], (double)expected[i]);
}

#define VALUES(text, expression)                                                                   \
    do {                                                                                           \
        float expected[COUNT];                                                                     \
        for (int i = 0; i < COUNT; i++)                                                            \
            expected[i] = (float)(expression);                                                     \
        check_values(device, text, expected);                                                      \
    } while (0)

TEST(an_expression_has_the_precedence_of_c) {
    ridge_device *device = ridge_device_open("cpu");
    VALUES("a+b*2", a[i] + b[i] * 2);
    VALUES(" ( a + b ) * 2 ", (a[i] + b[i]) * 2);
    VALUES("a-b-1", a[i] - b[i] - 1);
    VALUES("a-(b-1)", a[i] - (b[i] - 1));
    VALUES("a/b/2", a[i] / b[i] / 2);
    VALUES("-a*b", -a[i] * b[i]);
    VALUES("--a", a[i]);
    VALUES("2 - -a", 2 + a[i]);
    VALUES("1.5e-1 * a + .25", 0.15f * a[i] + 0.25f);
    VALUES("2*3-1 + a", 5 + a[i]);
    VALUES("a < b", a[i] < b[i]);
    VALUES("a < b == 1", a[i] < b[i]);
    VALUES("a > 0 && b > 0 || a < 0-1", (a[i] > 0 && b[i] > 0) || a[i] < -1);
    VALUES("!(a > 0)", !(a[i] > 0));
    VALUES("where(a > 0, a, -1)", a[i] > 0 ? a[i] : -1);
    VALUES("max(min(a, b), 0.5)", fmaxf(fminf(a[i], b[i]), 0.5f));
    VALUES("f32(i32(a)) + 1", truncf(a[i]) + 1);
    VALUES("clamp(a, 0, 1)", fminf(fmaxf(a[i], 0), 1));
    VALUES("exp(a) * tanh(b)", expf(a[i]) * tanhf(b[i]));
    VALUES("((((((((a))))))))", a[i]);
    ridge_device_close(device);
}

TEST(a_wrong_expression_is_refused_with_its_place) {
    static const char *const wrong[] = {
        "",         "a +",     "+ a",       "a b",     "(a",    "a)",        "c",
        "sinus(a)", "sin a",   "sin()",     "min(a)",  "a,b",   "sin(a, b)", "1",
        "1 + 2",    "sqrt(2)", "1..5 + a",  "a ? b",   "a & b", "a(b)",      "max(a,",
        "()",       "a = b",   "1e999 + a", "a + f32", "\x80",  "A",
    };
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *operands[] = {of(device, a), of(device, b)};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (ridge_expression(wrong[i], operands, 2))
            test_failed(__FILE__, __LINE__, "\"%s\" is accepted", wrong[i]);
        CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
        CHECK(strncmp(ridge_error_message(), "ridge_expression", 16) == 0);
        ridge_error_clear();
    }
    char deep[300], twice[700] = "a";
    memset(deep, '(', sizeof deep);
    strcpy(deep + 298, "a");
    CHECK(!ridge_expression(deep, operands, 2));
    for (int i = 0; i < 200; i++)
        strcat(twice, "+a");
    CHECK(!ridge_expression(twice, operands, 2));
    CHECK(!ridge_expression("a", operands, 0));
    CHECK(!ridge_expression("a", operands, 9));
    CHECK(!ridge_expression(NULL, operands, 2));
    ridge_error_clear();
    ridge_device_close(device);
}

static bool around(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    ridge_tensor *gated = ridge_expression("a * sigmoid(b) + 0.5", inputs, 2);
    outputs[0] = ridge_sum(ridge_square(gated), 0, NULL, false);
    return outputs[0] != NULL;
}

TEST(an_expression_fuses_with_what_is_around_it) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *inputs[] = {of(device, a), of(device, b)}, *eager, *output;
    struct ridge_program_info info;
    ridge_program *program = ridge_compile(around, NULL, inputs, 2, 1);
    float values[2];
    CHECK(ridge_program_run(program, inputs, &output) && around(NULL, inputs, &eager));
    CHECK(ridge_to_floats(output, values, 1) && ridge_to_floats(eager, values + 1, 1));
    CHECK(fabsf(values[0] - values[1]) < 1e-5f);
    CHECK(ridge_program_describe(program, &info));
    CHECK_INT(info.kernels, 1);
    struct ridge_region region;
    CHECK(ridge_region_begin(device));
    CHECK(ridge_expression("a * sigmoid(b) + 0.5", inputs, 2));
    CHECK(ridge_region_end(device, &region));
    CHECK_INT(region.kernels, 1);
    CHECK_INT(region.flops, 6 * COUNT); /* 4 of sigmoid, as in the table */
    ridge_device_close(device);
}

TEST(an_expression_has_gradients) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x[] = {of(device, a), of(device, b)}, *gradients[2];
    float values[2][COUNT];
    CHECK(ridge_tape_begin(device));
    ridge_tensor *loss = ridge_sum(ridge_expression("a * a * b - exp(b)", x, 2), 0, NULL, false);
    CHECK(ridge_gradients(loss, x, 2, gradients));
    for (int i = 0; i < 2; i++)
        CHECK(ridge_to_floats(gradients[i], values[i], COUNT));
    for (int i = 0; i < COUNT; i++) {
        CHECK(fabsf(values[0][i] - 2 * a[i] * b[i]) < 1e-4f);
        CHECK(fabsf(values[1][i] - (a[i] * a[i] - expf(b[i]))) < 1e-3f);
    }
    ridge_device_close(device);
}
