/* Public functions of differentiation. */
#include "tensor/gradient/gradient.h"
#include "tensor/gradient/tape.h"
#include "tensor/operation.h"

bool ridge_tape_begin(ridge_device *device) {
    struct status *status = tensor_status();
    if (!device_check(device, "ridge_tape_begin"))
        return false;
    tape_destroy(device->tape);
    device->tape = tape_create(device, status);
    return device->tape != NULL;
}

bool ridge_tape_end(ridge_device *device) {
    if (!device_check(device, "ridge_tape_end"))
        return false;
    tape_destroy(device->tape);
    device->tape = NULL;
    return true;
}

static bool build_alone(struct builder *build, const struct operation *operation,
                        struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    outputs[0] = build_detached(build, inputs[0]);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_detach(ridge_tensor *x) {
    struct operation operation = {.name = "ridge_detach",
                                  .build = build_alone,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .detached = true};
    return operation_result(&operation);
}

/* ---- Gradients -------------------------------------------------------------------------- */

static bool check_loss(const struct tensor *loss, struct status *status) {
    struct buffer shape = {0};
    if (dtype_is_float(loss->dtype) && view_count(&loss->view) == 1)
        return true;
    view_describe(&shape, loss->dtype, &loss->view);
    status_fail(status, STATUS_USAGE,
                "the loss must be a single float, not %.*s: reduce it with ridge_sum() or "
                "ridge_mean()",
                TEXT_ARGS(buffer_as_text(&shape)));
    buffer_finish(&shape);
    return false;
}

/* In a function that is being compiled: more nodes of its graph. */
static bool trace_gradients(struct graph *graph, struct tensor *loss,
                            struct tensor *const *parameters, unsigned count,
                            struct tensor **gradients, struct status *status) {
    struct builder build = {graph, status};
    struct scope scope;
    struct tensor **operands = memory_allocate(count, sizeof *operands, status);
    bool ok = operands != NULL;
    scope_begin(&scope);
    for (unsigned i = 0; i < count && ok; i++) {
        struct node_input operand;
        ok = graph_operand(graph, parameters[i], &operand, status) &&
             (operands[i] = tensor_of_node(graph, operand.node, &operand.view, status));
    }
    struct gradient_request request = {.output_count = 1,
                                       .outputs = &loss,
                                       .parameter_count = count,
                                       .parameters = operands,
                                       .recompute = true,
                                       .gradients = gradients};
    ok = ok && gradient_build(&build, &request);
    for (unsigned i = 0; i < count && ok; i++) {
        gradients[i] = tensor_keep(tensor_view(gradients[i], &gradients[i]->view, status));
        ok = gradients[i] != NULL;
        if (ok)
            graph->nodes[gradients[i]->node].returned = true;
    }
    scope_end(&scope);
    memory_free(operands);
    if (!ok && !graph->failed) {
        graph->failed = true;
        graph->failure = *status;
    }
    return ok;
}

static bool differentiate(struct tensor *loss, struct tensor *const *parameters, unsigned count,
                          struct tensor **gradients, struct status *status) {
    for (unsigned i = 0; i < count; i++) {
        if (parameters[i]->device != loss->device)
            return status_fail(status, STATUS_USAGE, "parameter %u is on %s and the loss on %s", i,
                               parameters[i]->device->name, loss->device->name);
        if (!dtype_is_float(parameters[i]->dtype))
            return status_fail(status, STATUS_USAGE,
                               "parameter %u holds %s: gradients exist for f32, f16 and bf16", i,
                               ridge_dtype_name(parameters[i]->dtype));
    }
    if (tensor_is_gone(loss, status) || !check_loss(loss, status))
        return false;
    if (loss->graph)
        return trace_gradients(loss->graph, loss, parameters, count, gradients, status);
    if (graph_current())
        return status_fail(status, STATUS_USAGE,
                           "the loss was not computed in the function that is being compiled");
    if (!loss->device->tape)
        return status_fail(status, STATUS_USAGE,
                           "the operations were not recorded: call ridge_tape_begin() before them, "
                           "or compile the function");
    return tape_gradients(loss->device->tape, loss, parameters, count, gradients, status);
}

bool ridge_gradients(ridge_tensor *loss_handle, ridge_tensor *const *handles, unsigned count,
                     ridge_tensor **gradients) {
    struct status *status = tensor_status();
    struct tensor *loss = tensor_of("ridge_gradients", loss_handle);
    if (!loss)
        return false;
    if (count == 0 || !handles || !gradients)
        return count ? tensor_null("ridge_gradients", "array of parameters or gradients")
                     : status_fail(status, STATUS_USAGE, "ridge_gradients: no parameters");
    struct tensor **parameters = memory_allocate(count, sizeof *parameters, status);
    struct tensor **made = memory_allocate(count, sizeof *made, status);
    bool ok = parameters && made;
    for (unsigned i = 0; i < count && ok; i++)
        ok = (parameters[i] = tensor_of("ridge_gradients", handles[i])) != NULL;
    if (ok && !differentiate(loss, parameters, count, made, status))
        ok = status_context(status, "ridge_gradients") && false;
    for (unsigned i = 0; i < count; i++)
        gradients[i] = ok ? tensor_handle(made[i]) : NULL;
    memory_free(parameters);
    memory_free(made);
    return ok;
}
