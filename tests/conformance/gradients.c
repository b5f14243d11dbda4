/* Gradients of every operation, compiled and eager, against central differences in double. */
#include "gradients.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

/* ---- A problem on a device ------------------------------------------------------------------ */

struct setting {
    const struct gradient_problem *problem;
    unsigned wanted;
};

/* Inputs: the problem's, then the weights of the result's elements in the loss. */
static bool gradients_of(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct setting *setting = context;
    const struct gradient_problem *problem = setting->problem;
    ridge_tensor *y = ridge_cast(problem->forward(inputs, problem->option), RIDGE_F32);
    ridge_tensor *loss = ridge_sum(ridge_mul(y, inputs[problem->input_count]), 0, NULL, false);
    ridge_tensor *parameters[GRADIENT_INPUTS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < problem->input_count; i++)
        if (setting->wanted & 1u << i)
            parameters[count++] = inputs[i];
    return ridge_gradients(loss, parameters, count, outputs);
}

static double weighted(const struct gradient_problem *problem, const struct array *inputs,
                       const struct array *weights) {
    struct array y = problem->reference(inputs, problem->option);
    double sum = 0;
    for (int64_t i = 0; i < y.count; i++)
        sum += y.values[i] * weights->values[i];
    return sum;
}

static struct array differences(const struct gradient_problem *problem, struct array *inputs,
                                unsigned which, const struct array *weights) {
    struct array *x = &inputs[which], result = array_make(x->rank, x->sizes);
    const double step = 0x1p-16;
    for (int64_t i = 0; i < x->count; i++) {
        double before = x->values[i];
        x->values[i] = before + step;
        double above = weighted(problem, inputs, weights);
        x->values[i] = before - step;
        double below = weighted(problem, inputs, weights);
        x->values[i] = before;
        result.values[i] = (above - below) / (2 * step);
    }
    return result;
}

/* Relative to the largest element: sums of many terms cancel. */
static double tolerance_of(enum ridge_dtype dtype) {
    return dtype == RIDGE_F32 ? 3e-5 : dtype == RIDGE_F16 ? 8e-3 : 6e-2;
}

static void compare(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected) {
    double largest = 1e-2;
    for (int64_t i = 0; i < expected->count; i++)
        largest = fmax(largest, fabs(expected->values[i]));
    double *slack = case_memory((size_t)expected->count + 1, sizeof *slack);
    for (int64_t i = 0; i < expected->count; i++)
        slack[i] = tolerance_of(dtype) * largest;
    expect_array(got, dtype, expected, 4, slack);
}

static void compare_all(const struct gradient_problem *problem, unsigned wanted, ridge_tensor **got,
                        enum ridge_dtype dtype, const struct array *expected, const char *how) {
    static char about[80];
    unsigned number = 0;
    for (unsigned i = 0; i < problem->input_count; i++) {
        if (!(wanted & 1u << i))
            continue;
        snprintf(about, sizeof about, "%s, operand %u", how, i);
        case_about(about);
        compare(got[number++], dtype, &expected[i]);
    }
}

void expect_gradients(const struct gradient_problem *problem, enum ridge_dtype dtype,
                      enum layout layout, struct array *inputs) {
    ridge_tensor *tensors[GRADIENT_INPUTS_MAX + 1], *got[GRADIENT_INPUTS_MAX] = {NULL};
    struct array expected[GRADIENT_INPUTS_MAX];
    struct setting setting = {problem, problem->wanted};
    unsigned count = problem->input_count, outputs = 0;
    struct array y = problem->reference(inputs, problem->option);
    struct array weights = array_noise(RIDGE_F32, y.rank, y.sizes, -1, 1, 7);
    for (unsigned i = 0; i < count; i++) {
        tensors[i] =
            array_tensor(&inputs[i], problem->inputs[i].integer ? RIDGE_I32 : dtype, layout);
        if (!(setting.wanted & 1u << i))
            continue;
        expected[i] = differences(problem, inputs, i, &weights);
        outputs++;
    }
    tensors[count] = array_tensor(&weights, RIDGE_F32, CONTIGUOUS);
    ridge_program *program = ridge_compile(gradients_of, &setting, tensors, count + 1, outputs);
    if (!program || !ridge_program_run(program, tensors, got))
        case_fail("compiled: %s", ridge_error_message());
    else
        compare_all(problem, setting.wanted, got, dtype, expected, "compiled");
    ridge_program_release(program);
    if (session.quick)
        return;
    CASE_CHECK(ridge_tape_begin(session.device));
    if (!gradients_of(&setting, tensors, got))
        case_fail("eager: %s", ridge_error_message());
    else
        compare_all(problem, setting.wanted, got, dtype, expected, "eager");
    CASE_CHECK(ridge_tape_end(session.device));
}

void check_gradient(const struct gradient_problem *problem, enum ridge_dtype dtype,
                    enum layout layout) {
    if (!case_begin("gradient %s %s %s", problem->name, ridge_dtype_name(dtype),
                    layout_name(layout)))
        return;
    struct array inputs[GRADIENT_INPUTS_MAX];
    for (unsigned i = 0; i < problem->input_count; i++)
        inputs[i] = array_noise(problem->inputs[i].integer ? RIDGE_I32 : dtype,
                                problem->inputs[i].rank, problem->inputs[i].sizes,
                                problem->inputs[i].low, problem->inputs[i].high, 30 + i);
    expect_gradients(problem, dtype, layout, inputs);
    case_end();
}

/* ---- Elementwise: every row of the table ---------------------------------------------------- */

static const struct row *current_row;

static ridge_tensor *row_forward(ridge_tensor *const *inputs, int option) {
    (void)option;
    if (current_row->rule == RULE_WHERE) /* its condition comes last */
        return current_row->call(inputs[2], inputs[0], inputs[1]);
    return current_row->call(inputs[0], current_row->arity > 1 ? inputs[1] : NULL,
                             current_row->arity > 2 ? inputs[2] : NULL);
}

static struct array row_reference(const struct array *inputs, int option) {
    (void)option;
    const struct array *widest = &inputs[0];
    for (unsigned i = 1; i < current_row->arity; i++)
        widest = inputs[i].count > widest->count ? &inputs[i] : widest;
    struct array y = array_make(widest->rank, widest->sizes);
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < y.count; i++) {
        double v[3] = {0};
        for (unsigned k = 0; k < current_row->arity; k++)
            v[k] = inputs[k].values[array_place(&inputs[k], y.rank, index)];
        y.values[i] = current_row->rule == RULE_WHERE
                          ? row_value(current_row, RIDGE_F32, v[2], v[0], v[1])
                          : row_value(current_row, RIDGE_F32, v[0], v[1], v[2]);
        index_advance(y.rank, y.sizes, index);
    }
    return y;
}

/* Values away from where a derivative jumps or is infinite: floor, sign, mod and the like. */
static double smooth_value(const char *name, unsigned operand, uint64_t i, enum ridge_dtype dtype) {
    double part = noise_between(40 + operand, i, 0.15, 0.35);
    double whole = (double)(noise_bits(50 + operand, i) % 4);
    bool positive = strcmp(name, "log") == 0 || strcmp(name, "sqrt") == 0 ||
                    strcmp(name, "rsqrt") == 0 || (strcmp(name, "pow") == 0 && operand == 0);
    bool divides = operand == 1 && (strcmp(name, "div") == 0 || strcmp(name, "mod") == 0);
    if (strcmp(name, "clamp") == 0)
        return number_round(dtype, operand == 0   ? whole - 1.5 + part
                                   : operand == 1 ? -0.9 + 0.1 * part
                                                  : 0.8 + 0.1 * part);
    if (strcmp(name, "mod") == 0 && operand == 1)
        return number_round(dtype, 2 + part);
    if (strcmp(name, "tan") == 0 || strcmp(name, "log1p") == 0)
        return number_round(dtype, part * (whole - 1.5));
    double value = (operand == 1 ? 0.6 : 0.1) + part + (operand == 1 ? 0 : whole) * 0.5;
    bool negative = !positive && !divides && noise_bits(60 + operand, i) % 2;
    return number_round(dtype, negative ? -value : value);
}

static bool has_gradient(const struct row *row) {
    return row->rule != RULE_COMPARE && row->rule != RULE_LOGIC && row->has_float;
}

enum { WIDE, BROADCAST, ARRANGEMENTS };

static void check_row(const struct row *row, enum ridge_dtype dtype, enum layout layout,
                      int arrangement) {
    struct gradient_problem problem = {.name = row->name,
                                       .forward = row_forward,
                                       .reference = row_reference,
                                       .input_count = row->arity,
                                       .wanted = (1u << row->arity) - 1};
    if (row->rule == RULE_WHERE) {
        problem.wanted = 3;
        problem.inputs[2].integer = true;
    }
    if (!case_begin("gradient elementwise %s %s %s%s", row->name, ridge_dtype_name(dtype),
                    layout_name(layout), arrangement == BROADCAST ? " broadcast" : ""))
        return;
    current_row = row;
    struct array inputs[3];
    for (unsigned i = 0; i < row->arity; i++) {
        bool column = arrangement == BROADCAST && i == 1, last = arrangement == BROADCAST && i == 2;
        inputs[i] = column ? array_make(2, (int64_t[]){5, 1})
                    : last ? array_make(1, (int64_t[]){6})
                           : array_make(2, (int64_t[]){5, 6});
        for (int64_t k = 0; k < inputs[i].count; k++)
            inputs[i].values[k] = problem.inputs[i].integer
                                      ? (double)(noise_bits(1, (uint64_t)k) % 2)
                                      : smooth_value(row->name, i, (uint64_t)k, dtype);
    }
    expect_gradients(&problem, dtype, layout, inputs);
    case_end();
}

/* ---- Quantized weights ---------------------------------------------------------------------- */

struct quantized_setting {
    ridge_tensor *weight;
};

static bool through_quantized(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct quantized_setting *setting = context;
    ridge_tensor *y = ridge_linear(inputs[0], setting->weight, NULL, RIDGE_ACTIVATION_NONE);
    ridge_tensor *loss = ridge_sum(ridge_mul(y, inputs[1]), 0, NULL, false);
    return ridge_gradients(loss, inputs, 1, outputs);
}

static void check_quantized_weight(enum ridge_dtype quantized) {
    if (!case_begin("gradient linear %s", ridge_dtype_name(quantized)))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(5, 256), -1, 1, 1);
    struct array w = array_noise(RIDGE_F32, SIZES(9, 256), -1, 1, 2);
    struct array weights = array_noise(RIDGE_F32, SIZES(5, 9), -1, 1, 3);
    struct quantized_setting setting = {
        ridge_quantize(array_tensor(&w, RIDGE_F32, CONTIGUOUS), quantized)};
    struct array used = array_read(ridge_dequantize(setting.weight, RIDGE_F32));
    struct array expected = array_make(x.rank, x.sizes);
    for (int64_t i = 0; i < x.count; i++)
        for (int64_t n = 0; n < 9; n++)
            expected.values[i] += weights.values[i / 256 * 9 + n] * used.values[n * 256 + i % 256];
    ridge_tensor *inputs[2] = {array_tensor(&x, RIDGE_F32, CONTIGUOUS),
                               array_tensor(&weights, RIDGE_F32, CONTIGUOUS)};
    ridge_tensor *got;
    ridge_program *program = ridge_compile(through_quantized, &setting, inputs, 2, 1);
    if (!program || !ridge_program_run(program, inputs, &got))
        case_fail("compiled: %s", ridge_error_message());
    else
        compare(got, RIDGE_F32, &expected);
    ridge_program_release(program);
    CASE_CHECK(ridge_tape_begin(session.device));
    if (!through_quantized(&setting, inputs, &got))
        case_fail("eager: %s", ridge_error_message());
    else
        compare(got, RIDGE_F32, &expected);
    CASE_CHECK(ridge_tape_end(session.device));
    case_end();
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void expect_refusal(bool ok, const char *reason) {
    if (ok)
        case_fail("it did not fail");
    else if (!strstr(ridge_error_message(), reason))
        case_fail("the message is: %s", ridge_error_message());
    ridge_error_clear();
}

static bool assign_inside(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    outputs[0] = ridge_neg(inputs[0]);
    return outputs[0] && ridge_assign(inputs[0], outputs[0]);
}

/* A compiled program assigns to what the tape recorded. */
static void check_program_assigns(ridge_tensor *x) {
    ridge_tensor *square = ridge_mul(x, x), *g, *out;
    ridge_tensor *loss = ridge_sum(square, 0, NULL, false);
    ridge_program *program = ridge_compile(assign_inside, NULL, &x, 1, 1);
    CASE_CHECK(loss && program && ridge_program_run(program, &x, &out));
    expect_refusal(ridge_gradients(loss, &x, 1, &g), "assigned");
    ridge_program_release(program);
}

static void check_refusals(void) {
    if (!case_begin("gradient refusals"))
        return;
    struct array values = array_noise(RIDGE_F32, SIZES(3, 4), -1, 1, 1);
    ridge_tensor *x = array_tensor(&values, RIDGE_F32, CONTIGUOUS), *g;
    ridge_tensor *other = array_tensor(&values, RIDGE_F32, CONTIGUOUS);
    ridge_tensor *loss = ridge_sum(x, 0, NULL, false);
    expect_refusal(ridge_gradients(loss, &x, 1, &g), "ridge_tape_begin");
    CASE_CHECK(ridge_tape_begin(session.device));
    loss = ridge_sum(ridge_square(x), 0, NULL, false);
    expect_refusal(ridge_gradients(ridge_square(x), &x, 1, &g), "single float");
    expect_refusal(ridge_gradients(loss, &other, 1, &g), "does not depend");
    expect_refusal(ridge_gradients(loss, &x, 0, &g), "no parameters");
    expect_refusal(ridge_gradients(NULL, &x, 1, &g), "NULL");
    ridge_tensor *detached = ridge_sum(ridge_detach(x), 0, NULL, false);
    expect_refusal(ridge_gradients(detached, &x, 1, &g), "does not depend");
    ridge_tensor *whole = ridge_cast(x, RIDGE_I32);
    expect_refusal(ridge_gradients(loss, &whole, 1, &g), "i32");
    CASE_CHECK(ridge_assign(x, other));
    expect_refusal(ridge_gradients(loss, &x, 1, &g), "assigned");
    check_program_assigns(other);
    CASE_CHECK(ridge_tape_end(session.device));
    case_end();
}

/* A quick run leaves out what differs only in the operations that a rule is made of. */
static bool is_left_out(const char *name) {
    static const char *const kept[] = {"div",
                                       "max",
                                       "gelu_tanh",
                                       "where",
                                       "sum outer",
                                       "amax",
                                       "layer_norm",
                                       "matmul left batched",
                                       "linear silu",
                                       "lora",
                                       "slice with steps",
                                       "split",
                                       "embedding",
                                       "rope",
                                       "attention causal, grouped"};
    bool found = !session.quick;
    for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
        found = found || strcmp(name, kept[i]) == 0;
    return !found;
}

void check_gradients(void) {
    unsigned types = session.quick ? 1 : sizeof dtypes / sizeof dtypes[0];
    unsigned layouts = session.native ? LAYOUTS : 1;
    for (unsigned t = 0; t < types; t++) {
        for (unsigned r = 0; r < row_count; r++)
            for (unsigned l = 0;
                 has_gradient(&rows[r]) && !is_left_out(rows[r].name) && l < layouts; l++)
                for (int a = 0; a < (session.native ? ARRANGEMENTS : 1); a++)
                    check_row(&rows[r], dtypes[t], (enum layout)l, a);
        for (unsigned p = 0; p < gradient_problem_count; p++)
            for (unsigned l = 0; l < layouts && !is_left_out(gradient_problems[p].name); l++)
                check_gradient(&gradient_problems[p], dtypes[t], (enum layout)l);
    }
    check_quantized_weight(RIDGE_Q8_0);
    if (!session.quick)
        check_quantized_weight(RIDGE_Q4_K);
    check_refusals();
}
