/* Optimizers: their state on the device, and the step, eager or as part of a compiled function.
 *
 * The update of a parameter and its moments is one elementwise kernel that writes in place. What
 * changes from step to step (rate, powers of the betas, loss scale) is on the device, so that a
 * compiled step serves them all. */
#include <math.h>
#include <string.h>

#include "base/slab.h"
#include "tensor/operation.h"

enum { SCALAR_RATE, SCALAR_POWER1, SCALAR_POWER2, SCALAR_SIZE, SCALAR_CORRECTION, SCALARS };

struct optimizer {
    ridge_device *device;
    struct ridge_optimizer_options options;
    unsigned count;
    ridge_tensor **parameters, **first, **second; /* the moments; NULL if there are none */
    ridge_tensor **sums;                          /* of gradients; NULL until needed */
    ridge_tensor *scalars[SCALARS];
    ridge_tensor *scale, *good_steps; /* loss scaling, or NULL */
    struct optimizer *next, **link;   /* all of the device */
};

static struct slab optimizers = SLAB(struct optimizer, 3);

static struct optimizer *optimizer_of(const char *name, const ridge_optimizer *handle) {
    struct optimizer *optimizer = slab_find(&optimizers, handle);
    if (!optimizer)
        handle ? tensor_released(name, "optimizer") : tensor_null(name, "optimizer");
    return optimizer;
}

/* ---- State ------------------------------------------------------------------------------ */

/* A tensor that belongs to no scope. */
static ridge_tensor *own(ridge_tensor *tensor) {
    struct tensor *found = tensor_find(tensor);
    while (found && found->scope)
        tensor_keep(found);
    return tensor;
}

static void release_all(ridge_tensor **tensors, unsigned count) {
    for (unsigned i = 0; tensors && i < count; i++)
        ridge_release(tensors[i]);
    memory_free(tensors);
}

void optimizer_destroy(struct optimizer *optimizer) {
    *optimizer->link = optimizer->next;
    if (optimizer->next)
        optimizer->next->link = optimizer->link;
    release_all(optimizer->parameters, optimizer->count);
    release_all(optimizer->first, optimizer->count);
    release_all(optimizer->second, optimizer->count);
    release_all(optimizer->sums, optimizer->count);
    for (unsigned i = 0; i < SCALARS; i++)
        ridge_release(optimizer->scalars[i]);
    ridge_release(optimizer->scale);
    ridge_release(optimizer->good_steps);
    slab_free(&optimizers, optimizer);
}

/* Zeros like the parameters, in f32. */
static bool make_zeros(const struct optimizer *optimizer, ridge_tensor ***made) {
    *made = memory_allocate(optimizer->count, sizeof **made, tensor_status());
    for (unsigned i = 0; *made && i < optimizer->count; i++) {
        const struct tensor *parameter = tensor_find(optimizer->parameters[i]);
        (*made)[i] = own(
            ridge_zeros(optimizer->device, RIDGE_F32, parameter->view.rank, parameter->view.sizes));
        if (!(*made)[i])
            return false;
    }
    return *made != NULL;
}

static bool make_scalar(const struct optimizer *optimizer, double value, ridge_tensor **made) {
    *made = own(ridge_full(optimizer->device, RIDGE_F32, 0, NULL, value));
    return *made != NULL;
}

static bool make_state(struct optimizer *optimizer) {
    const struct ridge_optimizer_options *options = &optimizer->options;
    bool adam = options->kind != RIDGE_SGD;
    if ((adam || options->momentum != 0) && !make_zeros(optimizer, &optimizer->first))
        return false;
    if (adam && !make_zeros(optimizer, &optimizer->second))
        return false;
    for (unsigned i = 0; i < SCALARS; i++)
        if (!make_scalar(optimizer, i == SCALAR_RATE ? options->rate : 1, &optimizer->scalars[i]))
            return false;
    return options->loss_scale == 0 ||
           (make_scalar(optimizer, options->loss_scale, &optimizer->scale) &&
            make_scalar(optimizer, 0, &optimizer->good_steps));
}

static bool check_parameters(ridge_tensor *const *parameters, unsigned count,
                             ridge_device **device) {
    struct status *status = tensor_status();
    if (count == 0 || !parameters)
        return status_fail(status, STATUS_USAGE, "ridge_optimizer_create: no parameters");
    for (unsigned i = 0; i < count; i++) {
        const struct tensor *parameter = tensor_of("ridge_optimizer_create", parameters[i]);
        if (!parameter)
            return false;
        if (parameter->graph || graph_current())
            return status_fail(status, STATUS_USAGE,
                               "ridge_optimizer_create: create it before the function is compiled");
        if (!dtype_is_float(parameter->dtype))
            return status_fail(status, STATUS_USAGE,
                               "ridge_optimizer_create: parameter %u holds %s, not floats", i,
                               ridge_dtype_name(parameter->dtype));
        if (*device && parameter->device != *device)
            return status_fail(status, STATUS_USAGE,
                               "ridge_optimizer_create: parameter %u is on another device", i);
        *device = parameter->device;
    }
    return true;
}

static bool check_options(struct ridge_optimizer_options *options) {
    options->beta1 = options->beta1 == 0 ? 0.9 : options->beta1;
    options->beta2 = options->beta2 == 0 ? 0.999 : options->beta2;
    options->epsilon = options->epsilon == 0 ? 1e-8 : options->epsilon;
    options->growth_interval = options->growth_interval ? options->growth_interval : 2000;
    bool ok = (unsigned)options->kind <= RIDGE_ADAMW && options->rate >= 0 &&
              options->momentum >= 0 && options->momentum < 1 && options->beta1 > 0 &&
              options->beta1 < 1 && options->beta2 > 0 && options->beta2 < 1 &&
              options->epsilon > 0 && options->weight_decay >= 0 && options->clip_norm >= 0 &&
              options->loss_scale >= 0;
    return ok || status_fail(tensor_status(), STATUS_USAGE,
                             "ridge_optimizer_create: an option is out of range");
}

ridge_optimizer *ridge_optimizer_create(ridge_tensor *const *parameters, unsigned count,
                                        const struct ridge_optimizer_options *options) {
    ridge_device *device = NULL;
    struct status *status = tensor_status();
    if (!options) {
        tensor_null("ridge_optimizer_create", "options");
        return NULL;
    }
    struct ridge_optimizer_options checked = *options;
    if (!check_options(&checked) || !check_parameters(parameters, count, &device))
        return NULL;
    struct optimizer *optimizer = slab_allocate(&optimizers, status);
    if (!optimizer)
        return NULL;
    *optimizer = (struct optimizer){.device = device,
                                    .options = checked,
                                    .count = count,
                                    .next = device->optimizers,
                                    .link = &device->optimizers};
    if (device->optimizers)
        device->optimizers->link = &optimizer->next;
    device->optimizers = optimizer;
    optimizer->parameters = memory_allocate(count, sizeof *optimizer->parameters, status);
    bool ok = optimizer->parameters != NULL;
    for (unsigned i = 0; i < count && ok; i++)
        ok = (optimizer->parameters[i] = own(ridge_retain(parameters[i]))) != NULL;
    if (ok && make_state(optimizer))
        return slab_handle(&optimizers, optimizer);
    optimizer_destroy(optimizer);
    return NULL;
}

void ridge_optimizer_release(ridge_optimizer *handle) {
    struct optimizer *optimizer = handle ? optimizer_of("ridge_optimizer_release", handle) : NULL;
    if (optimizer)
        optimizer_destroy(optimizer);
}

bool ridge_optimizer_set_rate(ridge_optimizer *handle, double rate) {
    struct optimizer *optimizer = optimizer_of("ridge_optimizer_set_rate", handle);
    if (!optimizer)
        return false;
    if (graph_current())
        return status_fail(tensor_status(), STATUS_USAGE,
                           "ridge_optimizer_set_rate: set it between runs, not in the function");
    ridge_tensor *value = ridge_full(optimizer->device, RIDGE_F32, 0, NULL, rate);
    bool ok = value && ridge_assign(optimizer->scalars[SCALAR_RATE], value);
    ridge_release(value);
    return ok;
}

/* ---- The update of one parameter --------------------------------------------------------------
 */

static struct tensor *apply(struct builder *build, enum op op, struct tensor *x, struct tensor *y) {
    return build_expression(build, op, x, y, NULL);
}

/* scale * x + y */
static struct tensor *blend(struct builder *build, struct tensor *x, double scale,
                            struct tensor *y) {
    return build_expression(build, OP_AFFINE, x, build_constant(build, RIDGE_F32, scale), y);
}

/* A value to be assigned, and the tensor to which. All are computed before one is assigned: what
 * is computed after an assignment runs in another kernel. */
struct assignment {
    struct tensor *target, *value;
};

/* The new value, or the old one if the step is skipped. */
static struct assignment new_value(struct builder *build, struct tensor *target,
                                   struct tensor *value, struct tensor *old,
                                   struct tensor *finite) {
    if (finite)
        value = build_expression(build, OP_WHERE, finite, value, old);
    return (struct assignment){target, build_cast(build, value, target->dtype)};
}

static bool assign_all(struct builder *build, const struct assignment *all, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!all[i].value || !build_assign(build, all[i].target, all[i].value, build->graph->apart))
            return false;
    return true;
}

enum {
    UPDATE_PARAMETER,
    UPDATE_GRADIENT,
    UPDATE_FIRST,
    UPDATE_SECOND,
    UPDATE_RATE,
    UPDATE_SIZE,
    UPDATE_CORRECTION,
    UPDATE_FACTOR,
    UPDATE_FINITE,
    UPDATE_INPUTS
};

/* integers: kind, whether all storages differ, the bits of beta2, epsilon and the decay; numbers:
 * momentum or beta1, rest. */
static double number_at(const struct operation *operation, unsigned index) {
    double number;
    memcpy(&number, &operation->integers[index], sizeof number);
    return number;
}

static bool build_update(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    (void)outputs;
    double beta1 = number_at(operation, 2), beta2 = number_at(operation, 3);
    double epsilon = number_at(operation, 4), decay = number_at(operation, 5);
    int64_t kind = operation->integers[0];
    if (!view_same_sizes(&inputs[UPDATE_PARAMETER]->view, &inputs[UPDATE_GRADIENT]->view))
        return status_fail(build->status, STATUS_USAGE,
                           "the gradient must have the parameter's sizes");
    if (operation->integers[1] && !graph_current())
        build->graph->apart = true;
    struct tensor *old = build_cast(build, inputs[UPDATE_PARAMETER], RIDGE_F32), *p = old;
    struct tensor *g = build_cast(build, inputs[UPDATE_GRADIENT], RIDGE_F32);
    struct tensor *first = inputs[UPDATE_FIRST], *second = inputs[UPDATE_SECOND];
    struct tensor *finite = inputs[UPDATE_FINITE], *change, *moved = NULL, *spread = NULL;
    if (inputs[UPDATE_FACTOR])
        g = apply(build, OP_MUL, g, inputs[UPDATE_FACTOR]);
    if (decay != 0 && kind != RIDGE_ADAMW)
        g = blend(build, p, decay, g);
    if (kind == RIDGE_SGD) {
        moved = first ? blend(build, first, beta1, g) : NULL;
        change = apply(build, OP_MUL, moved ? moved : g, inputs[UPDATE_RATE]);
    } else {
        moved = blend(build, first, beta1, build_scalar(build, OP_MUL, g, 1 - beta1));
        spread = blend(build, second, beta2,
                       build_scalar(build, OP_MUL,
                                    build_expression(build, OP_SQUARE, g, NULL, NULL), 1 - beta2));
        struct tensor *deviation =
            apply(build, OP_MUL, build_expression(build, OP_SQRT, spread, NULL, NULL),
                  inputs[UPDATE_CORRECTION]);
        change = apply(build, OP_DIV, apply(build, OP_MUL, moved, inputs[UPDATE_SIZE]),
                       build_scalar(build, OP_ADD, deviation, epsilon));
        if (decay != 0 && kind == RIDGE_ADAMW)
            p = apply(
                build, OP_SUB, p,
                apply(build, OP_MUL, p, build_scalar(build, OP_MUL, inputs[UPDATE_RATE], decay)));
    }
    p = apply(build, OP_SUB, p, change);
    struct assignment all[3];
    unsigned count = 0;
    if (moved)
        all[count++] = new_value(build, first, moved, first, finite);
    if (spread)
        all[count++] = new_value(build, second, spread, second, finite);
    all[count++] = new_value(build, inputs[UPDATE_PARAMETER], p, old, finite);
    return assign_all(build, all, count);
}

/* Whether the tensors that are there have a storage each. */
static bool are_apart(ridge_tensor *const *handles, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct tensor *a = tensor_find(handles[i]), *b = tensor_find(handles[k]);
            if (a && b && (!a->storage || a->storage == b->storage))
                return false;
        }
    return true;
}

static bool update_parameter(const struct optimizer *optimizer, unsigned i, ridge_tensor *g,
                             ridge_tensor *factor, ridge_tensor *finite) {
    const struct ridge_optimizer_options *options = &optimizer->options;
    bool adam = options->kind != RIDGE_SGD;
    double numbers[4] = {adam ? options->beta1 : options->momentum, options->beta2,
                         options->epsilon, options->weight_decay};
    ridge_tensor *inputs[UPDATE_INPUTS] = {
        [UPDATE_PARAMETER] = optimizer->parameters[i],
        [UPDATE_GRADIENT] = g,
        [UPDATE_FIRST] = optimizer->first ? optimizer->first[i] : NULL,
        [UPDATE_SECOND] = optimizer->second ? optimizer->second[i] : NULL,
        [UPDATE_RATE] = optimizer->scalars[SCALAR_RATE],
        [UPDATE_SIZE] = optimizer->scalars[SCALAR_SIZE],
        [UPDATE_CORRECTION] = optimizer->scalars[SCALAR_CORRECTION],
        [UPDATE_FACTOR] = factor,
        [UPDATE_FINITE] = finite,
    };
    struct operation operation = {.name = "ridge_optimizer_step",
                                  .build = build_update,
                                  .input_count = UPDATE_INPUTS,
                                  .many = inputs,
                                  .optional = 1u << UPDATE_FIRST | 1u << UPDATE_SECOND |
                                              1u << UPDATE_FACTOR | 1u << UPDATE_FINITE,
                                  .integers = {options->kind, are_apart(inputs, UPDATE_INPUTS)}};
    memcpy(&operation.integers[2], numbers, sizeof numbers);
    return operation_run(&operation, NULL);
}

/* ---- The step --------------------------------------------------------------------------- */

/* Powers of the betas, and what follows from them and the rate. */
static bool build_advance(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    (void)outputs;
    struct tensor *finite = inputs[SCALARS];
    struct assignment all[4];
    build->graph->apart = build->graph->apart || !graph_current();
    for (unsigned i = 0; i < 2; i++) {
        struct tensor *old = inputs[SCALAR_POWER1 + i];
        struct tensor *power = build_scalar(build, OP_MUL, old, operation->numbers[i]);
        struct tensor *left =
            build_scalar(build, OP_ADD, build_expression(build, OP_NEG, power, NULL, NULL), 1);
        struct tensor *derived = i == 0 ? apply(build, OP_DIV, inputs[SCALAR_RATE], left)
                                        : build_expression(build, OP_RSQRT, left, NULL, NULL);
        all[2 * i] = new_value(build, inputs[SCALAR_SIZE + i], derived, NULL, NULL);
        all[2 * i + 1] = new_value(build, old, power, old, finite);
    }
    return assign_all(build, all, 4);
}

static bool advance(const struct optimizer *optimizer, ridge_tensor *finite) {
    ridge_tensor *inputs[SCALARS + 1];
    memcpy(inputs, optimizer->scalars, sizeof optimizer->scalars);
    inputs[SCALARS] = finite;
    struct operation operation = {.name = "ridge_optimizer_step",
                                  .build = build_advance,
                                  .input_count = SCALARS + 1,
                                  .many = inputs,
                                  .optional = 1u << SCALARS,
                                  .numbers = {optimizer->options.beta1, optimizer->options.beta2}};
    return optimizer->options.kind == RIDGE_SGD || operation_run(&operation, NULL);
}

static bool build_norm(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *sum = NULL;
    for (unsigned i = 0; i < operation->input_count; i++) {
        struct tensor *x = build_cast(build, inputs[i], RIDGE_F32);
        uint32_t all = (1u << inputs[i]->view.rank) - 1;
        struct tensor *part =
            build_squeeze(build,
                          build_reduce(build, OP_REDUCE_SUM,
                                       build_expression(build, OP_SQUARE, x, NULL, NULL), all),
                          all);
        sum = i == 0 ? part : apply(build, OP_ADD, sum, part);
        if (!sum)
            return false;
    }
    outputs[0] = build_expression(build, OP_SQRT, sum, NULL, NULL);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_gradient_norm(ridge_tensor *const *gradients, unsigned count) {
    struct operation operation = {.name = "ridge_gradient_norm",
                                  .build = build_norm,
                                  .input_count = count,
                                  .output_count = 1,
                                  .many = gradients};
    if (count > 0 && gradients)
        return operation_result(&operation);
    tensor_null("ridge_gradient_norm", "array of gradients");
    return NULL;
}

/* The largest float counts as infinite too: comparing with it also finds NaN. */
static ridge_tensor *is_finite(ridge_tensor *norm) {
    ridge_tensor *limit = ridge_full(ridge_tensor_device(norm), RIDGE_F32, 0, NULL, 0x1p127);
    return ridge_less(norm, limit);
}

/* The scale doubles after growth_interval good steps, and halves after a bad one. */
static bool adapt_scale(const struct optimizer *optimizer, ridge_tensor *finite) {
    ridge_device *device = optimizer->device;
    ridge_tensor *zero = ridge_zeros(device, RIDGE_F32, 0, NULL);
    ridge_tensor *interval =
        ridge_full(device, RIDGE_F32, 0, NULL, (double)optimizer->options.growth_interval);
    ridge_tensor *good = ridge_where(finite, ridge_add_scalar(optimizer->good_steps, 1), zero);
    ridge_tensor *grows = ridge_greater_equal(good, interval);
    ridge_tensor *up = ridge_where(grows, ridge_mul_scalar(optimizer->scale, 2), optimizer->scale);
    ridge_tensor *scale = ridge_where(finite, up, ridge_mul_scalar(optimizer->scale, 0.5));
    return ridge_assign(optimizer->good_steps, ridge_where(grows, zero, good)) &&
           ridge_assign(optimizer->scale, scale);
}

/* What gradients are multiplied with: 1 / loss scale, and less if their norm is too large. */
static ridge_tensor *gradient_factor(const struct optimizer *optimizer, ridge_tensor *norm) {
    double clip = optimizer->options.clip_norm;
    ridge_tensor *factor = optimizer->scale ? ridge_reciprocal(optimizer->scale) : NULL;
    if (clip == 0)
        return factor;
    if (factor)
        norm = ridge_mul(norm, factor);
    ridge_tensor *limit = ridge_full(optimizer->device, RIDGE_F32, 0, NULL, clip);
    ridge_tensor *one = ridge_full(optimizer->device, RIDGE_F32, 0, NULL, 1);
    ridge_tensor *clipped = ridge_min(one, ridge_div(limit, ridge_add_scalar(norm, 1e-6)));
    return factor ? ridge_mul(factor, clipped) : clipped;
}

static bool step(const struct optimizer *optimizer, ridge_tensor *const *gradients) {
    const struct ridge_optimizer_options *options = &optimizer->options;
    ridge_tensor *factor = NULL, *finite = NULL;
    if (options->clip_norm != 0 || optimizer->scale) {
        ridge_tensor *norm = ridge_gradient_norm(gradients, optimizer->count);
        factor = gradient_factor(optimizer, norm);
        finite = optimizer->scale && norm ? is_finite(norm) : NULL;
        if (!factor || (optimizer->scale && !finite))
            return false;
    }
    if (!advance(optimizer, finite))
        return false;
    for (unsigned i = 0; i < optimizer->count; i++)
        if (!update_parameter(optimizer, i, gradients[i], factor, finite))
            return false;
    return !finite || adapt_scale(optimizer, finite);
}

/* The library's own work is not recorded on a tape. */
static bool with_scope(const struct optimizer *optimizer, ridge_tensor *const *gradients,
                       bool (*work)(const struct optimizer *, ridge_tensor *const *)) {
    struct scope scope;
    struct tape *tape = optimizer->device->tape;
    optimizer->device->tape = NULL;
    scope_begin(&scope);
    bool ok = work(optimizer, gradients);
    scope_end(&scope);
    optimizer->device->tape = tape;
    return ok;
}

static bool clear_sums(const struct optimizer *optimizer, ridge_tensor *const *unused) {
    (void)unused;
    for (unsigned i = 0; i < optimizer->count; i++) {
        const struct tensor *sum = tensor_find(optimizer->sums[i]);
        if (!ridge_assign(optimizer->sums[i], ridge_zeros(optimizer->device, RIDGE_F32,
                                                          sum->view.rank, sum->view.sizes)))
            return false;
    }
    return true;
}

bool ridge_optimizer_step(ridge_optimizer *handle, ridge_tensor *const *gradients) {
    struct optimizer *optimizer = optimizer_of("ridge_optimizer_step", handle);
    if (!optimizer)
        return false;
    if (gradients)
        return with_scope(optimizer, gradients, step);
    if (!optimizer->sums)
        return status_fail(tensor_status(), STATUS_USAGE,
                           "ridge_optimizer_step: there are no gradients, and none were "
                           "accumulated");
    return with_scope(optimizer, optimizer->sums, step) && with_scope(optimizer, NULL, clear_sums);
}

static bool add_sums(const struct optimizer *optimizer, ridge_tensor *const *gradients) {
    for (unsigned i = 0; i < optimizer->count; i++)
        if (!ridge_assign(optimizer->sums[i],
                          ridge_add(optimizer->sums[i], ridge_cast(gradients[i], RIDGE_F32))))
            return false;
    return true;
}

bool ridge_optimizer_accumulate(ridge_optimizer *handle, ridge_tensor *const *gradients) {
    struct optimizer *optimizer = optimizer_of("ridge_optimizer_accumulate", handle);
    if (!optimizer)
        return false;
    if (!gradients)
        return tensor_null("ridge_optimizer_accumulate", "array of gradients");
    if (!optimizer->sums) {
        struct graph *outer = graph_set_current(NULL); /* the sums outlive the function */
        bool made = make_zeros(optimizer, &optimizer->sums);
        graph_set_current(outer);
        if (!made) {
            release_all(optimizer->sums, optimizer->count);
            optimizer->sums = NULL;
            return false;
        }
    }
    return with_scope(optimizer, gradients, add_sums);
}

ridge_tensor *ridge_optimizer_scale_loss(ridge_optimizer *handle, ridge_tensor *loss) {
    struct optimizer *optimizer = optimizer_of("ridge_optimizer_scale_loss", handle);
    if (!optimizer)
        return NULL;
    if (!optimizer->scale)
        return ridge_retain(loss);
    return ridge_mul(ridge_cast(loss, RIDGE_F32), optimizer->scale);
}

double ridge_optimizer_loss_scale(const ridge_optimizer *handle) {
    const struct optimizer *optimizer = optimizer_of("ridge_optimizer_loss_scale", handle);
    float scale = 1;
    if (!optimizer || !optimizer->scale)
        return optimizer ? 1 : 0;
    return ridge_to_floats(optimizer->scale, &scale, 1) ? (double)scale : 0;
}

/* ---- Learning rates --------------------------------------------------------------------- */

double ridge_schedule_rate(const struct ridge_schedule *schedule, uint64_t at) {
    if (!schedule)
        return tensor_null("ridge_schedule_rate", "schedule") ? 1 : 0;
    if (at < schedule->warmup)
        return schedule->rate * (double)(at + 1) / (double)schedule->warmup;
    uint64_t after = at - schedule->warmup;
    uint64_t length = schedule->steps > schedule->warmup ? schedule->steps - schedule->warmup : 0;
    double done = length == 0 || after >= length ? 1 : (double)after / (double)length;
    double range = schedule->rate - schedule->final_rate;
    switch (schedule->kind) {
    case RIDGE_SCHEDULE_LINEAR:
        return schedule->final_rate + range * (1 - done);
    case RIDGE_SCHEDULE_COSINE:
        return schedule->final_rate + range * 0.5 * (1 + cos(3.14159265358979323846 * done));
    case RIDGE_SCHEDULE_STEPS:
        return schedule->interval == 0
                   ? schedule->rate
                   : schedule->rate * pow(schedule->decay, (double)(after / schedule->interval));
    default:
        return schedule->rate;
    }
}
