/* Which operations of a compiled function end up in one kernel, and that grouping never changes a
 * result. On the CPU, where a kernel does not depend on what libraries are there. */
#include <math.h>
#include <ridge.h>
#include <stdint.h>
#include <stdlib.h>

#include "../test.h"

enum { ROWS = 24, WIDTH = 40, COUNT = ROWS * WIDTH };

/* Captured tensors of the functions below. */
struct setting {
    ridge_device *device;
    ridge_tensor *x, *y;   /* [ROWS, WIDTH] */
    ridge_tensor *row;     /* [WIDTH] */
    ridge_tensor *column;  /* [ROWS, 1] */
    ridge_tensor *weight;  /* [WIDTH, WIDTH] */
    ridge_tensor *weight2; /* another */
};

static void finish(struct setting *setting) {
    ridge_device_close(setting->device);
    ridge_error_clear();
}

static bool begin(struct setting *setting) {
    ridge_device *device = setting->device = ridge_device_open("cpu");
    const int64_t sizes[] = {ROWS, WIDTH}, square[] = {WIDTH, WIDTH}, column[] = {ROWS, 1};
    setting->x = ridge_randn(device, RIDGE_F32, 2, sizes, 1);
    setting->y = ridge_randn(device, RIDGE_F32, 2, sizes, 2);
    setting->row = ridge_randn(device, RIDGE_F32, 1, &sizes[1], 3);
    setting->column = ridge_randn(device, RIDGE_F32, 2, column, 4);
    setting->weight = ridge_randn(device, RIDGE_F32, 2, square, 5);
    setting->weight2 = ridge_randn(device, RIDGE_F32, 2, square, 6);
    if (setting->weight2)
        return true;
    test_failed(__FILE__, __LINE__, "%s", ridge_error_message());
    finish(setting);
    return false;
}

/* Compiles the function of x and y, compares its output with the function's own, and returns how
 * many kernels it has; -1 when something failed. */
static int kernels(struct setting *setting, ridge_function *function) {
    ridge_tensor *inputs[] = {setting->x, setting->y}, *compiled = NULL, *eager = NULL;
    struct ridge_program_info info;
    ridge_program *program = ridge_compile(function, setting, inputs, 2, 1);
    if (!ridge_program_run(program, inputs, &compiled) || !function(setting, inputs, &eager) ||
        !ridge_program_describe(program, &info)) {
        test_failed(__FILE__, __LINE__, "%s", ridge_error_message());
        return -1;
    }
    size_t count = (size_t)ridge_tensor_count(eager);
    float *a = calloc(2 * count + 1, sizeof *a), *b = a + count;
    if (!a || !ridge_to_floats(compiled, a, count) || !ridge_to_floats(eager, b, count))
        test_failed(__FILE__, __LINE__, "%s", ridge_error_message());
    for (size_t i = 0; a && i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-4f * (1 + fabsf(b[i])))) {
            test_failed(__FILE__, __LINE__, "element %zu is %g compiled and %g eager", i,
                        (double)a[i], (double)b[i]);
            break;
        }
    free(a);
    return (int)info.kernels;
}

/* FUNCTION(name) { ... return a tensor; } is a function to be compiled. */
#define FUNCTION(name)                                                                             \
    static ridge_tensor *name##_result(const struct setting *s, ridge_tensor *x, ridge_tensor *y); \
    static bool name(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {         \
        outputs[0] = name##_result(context, inputs[0], inputs[1]);                                 \
        return outputs[0] != NULL;                                                                 \
    }                                                                                              \
    static ridge_tensor *name##_result(const struct setting *s, ridge_tensor *x, ridge_tensor *y)
#define UNUSED (void)s, (void)x, (void)y

static const int last[] = {-1}, first[] = {0};

/* ---- Joined ------------------------------------------------------------------------------- */

FUNCTION(chain) {
    UNUSED;
    return ridge_exp(ridge_mul_scalar(ridge_cos(ridge_sin(ridge_add(x, y))), 0.5));
}
FUNCTION(broadcast_operands) {
    return ridge_affine(ridge_mul(x, s->column), ridge_sigmoid(s->row), ridge_square(y));
}
FUNCTION(softmax_between) {
    UNUSED;
    return ridge_mul(ridge_softmax(ridge_add(x, y), -1), y);
}
FUNCTION(two_norms) {
    return ridge_rms_norm(ridge_add(ridge_layer_norm(x, s->row, NULL, 1e-5f), y), s->row, 1e-5f);
}
FUNCTION(reduction_of_a_chain) {
    UNUSED;
    return ridge_sqrt(ridge_sum(ridge_square(ridge_sub(x, y)), 1, last, false));
}
FUNCTION(rows_back_to_elements) {
    UNUSED;
    return ridge_div(ridge_relu(x), ridge_add_scalar(ridge_amax(ridge_abs(y), 1, last, true), 1));
}
FUNCTION(epilogue) {
    ridge_tensor *product = ridge_add(ridge_matmul(x, s->weight), s->row);
    return ridge_add(ridge_mul(ridge_gelu(product), s->column), y);
}
FUNCTION(computed_twice) {
    UNUSED;
    return ridge_add(ridge_tanh(ridge_add(x, y)), ridge_mul(ridge_tanh(ridge_add(x, y)), x));
}
FUNCTION(reshaped_the_same_way) {
    UNUSED;
    const int64_t parts[] = {ROWS, 1, WIDTH};
    return ridge_tanh(ridge_reshape(ridge_exp(x), 3, parts));
}

TEST(elementwise_operations_and_reductions_of_one_space_are_one_kernel) {
    struct setting s;
    if (!begin(&s))
        return;
    CHECK_INT(kernels(&s, chain), 1);
    CHECK_INT(kernels(&s, broadcast_operands), 1);
    CHECK_INT(kernels(&s, softmax_between), 1);
    CHECK_INT(kernels(&s, two_norms), 1);
    CHECK_INT(kernels(&s, reduction_of_a_chain), 1);
    CHECK_INT(kernels(&s, rows_back_to_elements), 1);
    CHECK_INT(kernels(&s, computed_twice), 1);
    CHECK_INT(kernels(&s, reshaped_the_same_way), 1);
    finish(&s);
}

TEST(a_matrix_product_takes_the_elementwise_work_behind_it) {
    struct setting s;
    if (!begin(&s))
        return;
    CHECK_INT(kernels(&s, epilogue), 1);
    finish(&s);
}

/* ---- Kept apart --------------------------------------------------------------------------- */

FUNCTION(transposed_between) {
    UNUSED;
    return ridge_add(ridge_transpose(ridge_exp(x), 0, 1), ridge_transpose(y, 0, 1));
}
FUNCTION(transposed_square) {
    UNUSED;
    ridge_tensor *square = ridge_exp(ridge_slice(x, 1, 0, ROWS, 1));
    return ridge_add(square, ridge_transpose(square, 0, 1));
}
FUNCTION(sliced_between) {
    UNUSED;
    return ridge_neg(ridge_slice(ridge_exp(x), 1, 1, INT64_MAX, 2));
}
FUNCTION(different_axes) {
    UNUSED;
    return ridge_mul(ridge_sum(x, 1, last, true), ridge_sum(ridge_mul(x, y), 1, first, true));
}
FUNCTION(before_a_product) {
    UNUSED;
    return ridge_matmul(ridge_relu(x), s->weight);
}
FUNCTION(reduction_behind_a_product) {
    UNUSED;
    return ridge_softmax(ridge_matmul(x, s->weight), -1);
}
FUNCTION(rows_reduced_and_read_by_columns) {
    UNUSED;
    ridge_tensor *rows = ridge_sum(x, 1, last, false);
    return ridge_mul(ridge_slice(y, 1, 0, ROWS, 1), rows);
}
/* exp(x) is needed by the product and by the sum behind it: the sum cannot join exp(x), for the
 * product runs between them, but it can join the product. */
FUNCTION(product_in_between) {
    UNUSED;
    ridge_tensor *e = ridge_tanh(x);
    return ridge_add(ridge_matmul(e, s->weight), e);
}
FUNCTION(two_products) {
    UNUSED;
    return ridge_mul(ridge_silu(ridge_matmul(x, s->weight)), ridge_matmul(x, s->weight2));
}
FUNCTION(joined_parts) {
    UNUSED;
    ridge_tensor *parts[] = {ridge_exp(x), y};
    return ridge_neg(ridge_cat(parts, 2, 0));
}

TEST(what_moves_elements_or_reduces_other_axes_is_another_kernel) {
    struct setting s;
    if (!begin(&s))
        return;
    CHECK_INT(kernels(&s, transposed_between), 2);
    CHECK_INT(kernels(&s, transposed_square), 2);
    CHECK_INT(kernels(&s, sliced_between), 2);
    CHECK(kernels(&s, different_axes) >= 2);
    CHECK_INT(kernels(&s, rows_reduced_and_read_by_columns), 2);
    CHECK_INT(kernels(&s, before_a_product), 2);
    CHECK_INT(kernels(&s, reduction_behind_a_product), 2);
    CHECK_INT(kernels(&s, product_in_between), 2);
    CHECK_INT(kernels(&s, two_products), 2);
    CHECK_INT(kernels(&s, joined_parts), 4);
    finish(&s);
}

/* ---- Limits, and what is left out ------------------------------------------------------------ */

enum { MANY = 40 };

FUNCTION(many_operands) {
    UNUSED;
    ridge_tensor *sum = x;
    for (int i = 0; i < MANY; i++)
        sum = ridge_add(ridge_mul_scalar(sum, 0.5), ridge_slice(s->weight, 0, i, i + 1, 1));
    return ridge_add(sum, y);
}
FUNCTION(long_chain) {
    UNUSED;
    for (int i = 0; i < 8 * MANY; i++)
        x = ridge_add(ridge_mul(x, s->row), y), x = ridge_tanh(x);
    return x;
}
FUNCTION(many_constants) {
    UNUSED;
    for (int i = 0; i < MANY; i++)
        x = ridge_add_scalar(x, 1.0 / (i + 1));
    return x;
}

TEST(more_than_a_kernel_can_hold_is_several_kernels) {
    struct setting s;
    if (!begin(&s))
        return;
    int count = kernels(&s, many_operands);
    CHECK(count > 1 && count < MANY);
    count = kernels(&s, long_chain);
    CHECK(count > 1 && count < 8 * MANY);
    count = kernels(&s, many_constants);
    CHECK(count > 1 && count < MANY);
    finish(&s);
}

FUNCTION(mostly_unused) {
    UNUSED;
    ridge_softmax(ridge_matmul(x, s->weight), 0);
    ridge_argmax(y, 0, false);
    return ridge_neg(x);
}
FUNCTION(its_input) {
    UNUSED;
    return ridge_transpose(x, 0, 1);
}

TEST(what_nothing_needs_is_not_run) {
    struct setting s;
    if (!begin(&s))
        return;
    CHECK_INT(kernels(&s, mostly_unused), 1);
    CHECK_INT(kernels(&s, its_input), 0);
    finish(&s);
}

/* What is read before and after an assignment to the same memory differs; the input is all ones. */
static bool assigns(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct setting *s = context;
    ridge_tensor *before = ridge_mul(s->row, inputs[0]);
    if (!ridge_assign(s->row, inputs[0]))
        return false;
    outputs[0] = ridge_sub(ridge_mul(s->row, inputs[0]), before);
    return outputs[0] != NULL;
}

TEST(an_assignment_parts_what_was_read_before_from_what_is_read_after_it) {
    struct setting s;
    if (!begin(&s))
        return;
    ridge_tensor *ones = ridge_full(s.device, RIDGE_F32, 1, (int64_t[]){WIDTH}, 1), *output;
    CHECK(ridge_assign(s.row, ridge_full(s.device, RIDGE_F32, 1, (int64_t[]){WIDTH}, 5)));
    ridge_program *program = ridge_compile(assigns, &s, &ones, 1, 1);
    float values[WIDTH];
    for (int run = 0; run < 3; run++) {
        REQUIRE(ridge_program_run(program, &ones, &output) &&
                ridge_to_host(output, values, sizeof values));
        CHECK(values[0] == (run == 0 ? -4 : 0) && values[WIDTH - 1] == values[0]);
    }
    finish(&s);
}
