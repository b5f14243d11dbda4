/* Public losses, and dropout. Losses are computed in f32, whatever their operands are. */
#include "tensor/operation.h"

static struct tensor *apply(struct builder *build, enum op op, struct tensor *x, struct tensor *y) {
    return build_expression(build, op, x, y, NULL);
}

/* The mean of all elements, without axes. */
static struct tensor *mean_of_all(struct builder *build, struct tensor *x) {
    uint32_t all = x ? (1u << x->view.rank) - 1 : 0;
    return build_squeeze(build, build_mean(build, x, all), all);
}

static bool check_floats(struct builder *build, struct tensor *const *inputs, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!dtype_is_float(inputs[i]->dtype))
            return status_fail(build->status, STATUS_USAGE, "operand %u must hold floats, not %s",
                               i, ridge_dtype_name(inputs[i]->dtype));
    for (unsigned i = 1; i < count; i++)
        if (!view_same_sizes(&inputs[0]->view, &inputs[i]->view))
            return status_fail(build->status, STATUS_USAGE, "the sizes must be the same");
    if (view_count(&inputs[0]->view) == 0)
        return status_fail(build->status, STATUS_USAGE, "the loss of no elements is undefined");
    return true;
}

/* ---- Cross entropy ---------------------------------------------------------------------- */

/* 1 where the column's number is the target of the row. */
static struct tensor *is_target(struct builder *build, const struct tensor *logits,
                                struct tensor *targets) {
    struct node_parameters parameters = {.step = 1};
    struct view view;
    int64_t classes = logits->view.sizes[logits->view.rank - 1];
    if (!view_contiguous(1, &classes, &view, build->status))
        return NULL;
    struct tensor *numbers = build_kernel(build, OP_ARANGE, RIDGE_I32, &view, NULL, 0, &parameters);
    return apply(build, OP_EQUAL, targets, numbers);
}

static bool check_targets(struct builder *build, const struct tensor *logits,
                          const struct tensor *targets) {
    struct view rows = logits->view;
    if (!dtype_is_float(logits->dtype) || rows.rank == 0 || targets->dtype != RIDGE_I32)
        return status_fail(build->status, STATUS_USAGE,
                           "it takes floats [..., classes] and i32 targets [...]");
    rows.rank--;
    if (!view_same_sizes(&rows, &targets->view))
        return status_fail(build->status, STATUS_USAGE,
                           "the targets must have the sizes of the logits without the last axis");
    return view_count(&logits->view) > 0 ||
           status_fail(build->status, STATUS_USAGE, "the loss of no elements is undefined");
}

/* log(sum(exp(x))) of each row, minus x of the target; rows with a target out of range count 0. */
static bool build_cross_entropy(struct builder *build, const struct operation *operation,
                                struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    if (!check_targets(build, inputs[0], inputs[1]))
        return false;
    struct tensor *x = build_cast(build, inputs[0], RIDGE_F32);
    struct view wide = inputs[1]->view;
    uint32_t row = 1u << (inputs[0]->view.rank - 1);
    double classes = (double)inputs[0]->view.sizes[inputs[0]->view.rank - 1];
    if (!x || !view_insert_axis(&wide, wide.rank, build->status))
        return false;
    struct tensor *targets = build_view(build, inputs[1], &wide);
    struct tensor *largest = build_detached(build, build_reduce(build, OP_REDUCE_MAX, x, row));
    struct tensor *low = apply(build, OP_SUB, x, largest);
    struct tensor *total =
        build_reduce(build, OP_REDUCE_SUM, build_expression(build, OP_EXP, low, NULL, NULL), row);
    struct tensor *zero = build_constant(build, RIDGE_F32, 0);
    struct tensor *chosen = build_reduce(
        build, OP_REDUCE_SUM,
        build_expression(build, OP_WHERE, is_target(build, x, targets), low, zero), row);
    struct tensor *loss =
        apply(build, OP_SUB, build_expression(build, OP_LOG, total, NULL, NULL), chosen);
    struct tensor *valid =
        apply(build, OP_LOGICAL_AND, build_scalar(build, OP_GREATER_EQUAL, targets, 0),
              build_scalar(build, OP_LESS, targets, classes));
    loss = build_expression(build, OP_WHERE, valid, loss, zero);
    uint32_t all = (1u << inputs[0]->view.rank) - 1;
    struct tensor *count =
        build_reduce(build, OP_REDUCE_SUM, build_cast(build, valid, RIDGE_F32), all);
    struct tensor *mean = apply(build, OP_DIV, build_reduce(build, OP_REDUCE_SUM, loss, all),
                                build_scalar(build, OP_MAX, count, 1));
    outputs[0] = build_squeeze(build, mean, all);
    return outputs[0] != NULL;
}

/* ---- The others ------------------------------------------------------------------------- */

enum loss { LOSS_MSE, LOSS_L1, LOSS_BCE, LOSS_KL };

/* max(x, 0) - x y + log(1 + exp(-|x|)) */
static struct tensor *binary_cross_entropy(struct builder *build, struct tensor *x,
                                           struct tensor *y) {
    struct tensor *small =
        build_expression(build, OP_NEG, build_expression(build, OP_ABS, x, NULL, NULL), NULL, NULL);
    struct tensor *rest = build_expression(
        build, OP_LOG1P, build_expression(build, OP_EXP, small, NULL, NULL), NULL, NULL);
    struct tensor *linear = apply(build, OP_SUB, build_expression(build, OP_RELU, x, NULL, NULL),
                                  apply(build, OP_MUL, x, y));
    return apply(build, OP_ADD, linear, rest);
}

/* y (log(y) - x), which is 0 where y is. */
static struct tensor *divergence(struct builder *build, struct tensor *x, struct tensor *y) {
    struct tensor *logarithm =
        build_expression(build, OP_LOG, build_scalar(build, OP_MAX, y, 0x1p-126), NULL, NULL);
    return apply(build, OP_MUL, y, apply(build, OP_SUB, logarithm, x));
}

static bool build_loss(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    if (!check_floats(build, inputs, 2))
        return false;
    struct tensor *x = build_cast(build, inputs[0], RIDGE_F32);
    struct tensor *y = build_cast(build, inputs[1], RIDGE_F32), *terms = NULL;
    switch (operation->integers[0]) {
    case LOSS_MSE:
        terms = build_expression(build, OP_SQUARE, apply(build, OP_SUB, x, y), NULL, NULL);
        break;
    case LOSS_L1:
        terms = build_expression(build, OP_ABS, apply(build, OP_SUB, x, y), NULL, NULL);
        break;
    case LOSS_BCE:
        terms = binary_cross_entropy(build, x, y);
        break;
    default:
        if (inputs[0]->view.rank == 0)
            return status_fail(build->status, STATUS_USAGE, "it takes rows of probabilities");
        terms = build_reduce(build, OP_REDUCE_SUM, divergence(build, x, y),
                             1u << (inputs[0]->view.rank - 1));
    }
    outputs[0] = mean_of_all(build, terms);
    return outputs[0] != NULL;
}

static ridge_tensor *loss(const char *name, operation_builder *build, enum loss kind,
                          ridge_tensor *x, ridge_tensor *target) {
    struct operation operation = {.name = name,
                                  .build = build,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {x, target},
                                  .integers = {kind}};
    return operation_result(&operation);
}

ridge_tensor *ridge_cross_entropy(ridge_tensor *logits, ridge_tensor *targets) {
    return loss("ridge_cross_entropy", build_cross_entropy, 0, logits, targets);
}

ridge_tensor *ridge_mse_loss(ridge_tensor *x, ridge_tensor *target) {
    return loss("ridge_mse_loss", build_loss, LOSS_MSE, x, target);
}

ridge_tensor *ridge_l1_loss(ridge_tensor *x, ridge_tensor *target) {
    return loss("ridge_l1_loss", build_loss, LOSS_L1, x, target);
}

ridge_tensor *ridge_bce_loss(ridge_tensor *logits, ridge_tensor *target) {
    return loss("ridge_bce_loss", build_loss, LOSS_BCE, logits, target);
}

ridge_tensor *ridge_kl_loss(ridge_tensor *log_probabilities, ridge_tensor *target) {
    return loss("ridge_kl_loss", build_loss, LOSS_KL, log_probabilities, target);
}

/* ---- Dropout ---------------------------------------------------------------------------- */

/* Inputs: x, the step. integers[0] is the seed, numbers[0] the probability. */
static bool build_dropout(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0], *step = inputs[1];
    double probability = operation->numbers[0];
    if (!dtype_is_float(x->dtype) || !(probability >= 0 && probability < 1))
        return status_fail(build->status, STATUS_USAGE,
                           "it takes floats and a probability from 0 to less than 1, not %g",
                           probability);
    if (step && (step->dtype != RIDGE_I32 || view_count(&step->view) != 1))
        return status_fail(build->status, STATUS_USAGE, "the step must be one i32");
    struct node_parameters parameters = {.seed = (uint64_t)operation->integers[0]};
    step = step ? build_contiguous(build, step) : NULL;
    if (inputs[1] && !step)
        return false;
    struct tensor *numbers =
        build_kernel(build, OP_RAND, RIDGE_F32, &x->view, &step, step != NULL, &parameters);
    struct tensor *kept = build_scalar(build, OP_GREATER_EQUAL, numbers, probability);
    struct tensor *zero = build_constant(build, x->dtype, 0);
    outputs[0] = build_expression(build, OP_WHERE, kept,
                                  build_scalar(build, OP_MUL, x, 1 / (1 - probability)), zero);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_dropout(ridge_tensor *x, double probability, uint64_t seed,
                            ridge_tensor *step) {
    struct operation operation = {.name = "ridge_dropout",
                                  .build = build_dropout,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {x, step},
                                  .optional = 2,
                                  .integers = {(int64_t)seed},
                                  .numbers = {probability}};
    return operation_result(&operation);
}
