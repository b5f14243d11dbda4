/* ridge_compile(): functions of tensors, traced once for each set of shapes. */
#include <string.h>

#include "tensor/operation.h"
#include "tensor/plan.h"

enum { VARIANTS_MAX = 64 };

struct variant {
    struct variant *next;
    struct plan *plan;
    struct buffer key;
};

struct ridge_program {
    ridge_device *device;
    ridge_function *function;
    void *context;
    unsigned input_count, output_count;
    struct variant *variants; /* the last used first */
    unsigned variant_count;
    ridge_program *next, **link; /* all of the device */
};

static void release_variant(struct variant *variant) {
    plan_destroy(variant->plan);
    buffer_finish(&variant->key);
    memory_free(variant);
}

/* Outputs as tensors of the graph: a function may hand on what it got from outside. */
static bool adopt_outputs(struct graph *graph, ridge_tensor **outputs, unsigned count,
                          struct status *status) {
    for (unsigned i = 0; i < count; i++) {
        struct node_input operand;
        if (!outputs[i])
            return status_fail(status, STATUS_USAGE, "the function did not set output %u", i);
        if (!graph_operand(graph, outputs[i], &operand, status))
            return false;
        outputs[i] = tensor_of_node(graph, operand.node, &operand.view, status);
        if (!outputs[i])
            return false;
    }
    return true;
}

static bool call_function(const ridge_program *program, struct graph *graph,
                          ridge_tensor *const *inputs, ridge_tensor **traced,
                          ridge_tensor **outputs, struct status *status) {
    for (unsigned i = 0; i < program->input_count; i++) {
        uint32_t node;
        struct view view = inputs[i]->view;
        view.offset = 0;
        if (!graph_input(graph, inputs[i]->dtype, tensor_alignment(inputs[i]), &node, status) ||
            !(traced[i] = tensor_of_node(graph, node, &view, status)))
            return false;
    }
    enum status_code before = status->code;
    status->code = STATUS_OK;
    struct graph *outer = graph_set_current(graph);
    bool ok = program->function(program->context, traced, outputs);
    graph_set_current(outer);
    if (!ok) {
        if (status->code == STATUS_OK)
            status_fail(status, STATUS_USAGE, "the function to be compiled returned false");
        return false;
    }
    /* A failure that the function let pass would be missing in each run. */
    if (graph->failed) {
        *status = graph->failure;
        return false;
    }
    status->code = before;
    return adopt_outputs(graph, outputs, program->output_count, status);
}

static bool trace_variant(const ridge_program *program, ridge_tensor *const *inputs,
                          struct plan **plan, struct status *status) {
    struct graph graph;
    graph_init(&graph, program->device);
    unsigned count = program->input_count + program->output_count;
    ridge_tensor **tensors = memory_allocate(count, sizeof *tensors, status);
    ridge_scope_begin();
    bool ok =
        tensors &&
        call_function(program, &graph, inputs, tensors, tensors + program->input_count, status) &&
        plan_create(&graph, tensors + program->input_count, program->output_count, plan, status);
    ridge_scope_end();
    memory_free(tensors);
    graph_finish(&graph);
    if (ok)
        (*plan)->may_replay = true;
    return ok;
}

/* The variant for these inputs, in front of the others. */
static bool find_variant(ridge_program *program, ridge_tensor *const *inputs,
                         struct status *status) {
    struct buffer key = {0};
    for (unsigned i = 0; i < program->input_count; i++)
        operation_key_tensor(&key, inputs[i]);
    if (!buffer_ok(&key, status)) {
        buffer_finish(&key);
        return false;
    }
    for (struct variant **link = &program->variants; *link; link = &(*link)->next) {
        struct variant *variant = *link;
        if (!text_equal(buffer_as_text(&variant->key), buffer_as_text(&key)))
            continue;
        *link = variant->next;
        variant->next = program->variants;
        program->variants = variant;
        buffer_finish(&key);
        return true;
    }
    struct variant *variant = memory_allocate(1, sizeof *variant, status);
    if (!variant || !trace_variant(program, inputs, &variant->plan, status)) {
        memory_free(variant);
        buffer_finish(&key);
        return false;
    }
    variant->key = key;
    variant->next = program->variants;
    program->variants = variant;
    if (++program->variant_count > VARIANTS_MAX) {
        struct variant **last = &program->variants;
        while ((*last)->next)
            last = &(*last)->next;
        release_variant(*last);
        *last = NULL;
        program->variant_count--;
    }
    return true;
}

static bool check_inputs(ridge_device *device, ridge_tensor *const *inputs, unsigned count,
                         const char *name, struct status *status) {
    for (unsigned i = 0; i < count; i++) {
        if (!inputs[i])
            return status->code != STATUS_OK
                       ? false
                       : status_fail(status, STATUS_USAGE, "%s: input %u is NULL", name, i);
        if (inputs[i]->device != device)
            return status_fail(status, STATUS_USAGE, "%s: input %u is on %s, not on %s", name, i,
                               inputs[i]->device->name, device->name);
        if (inputs[i]->graph)
            return status_fail(status, STATUS_USAGE,
                               "%s: input %u is being traced: call the function itself instead of "
                               "its compiled form",
                               name, i);
    }
    return true;
}

ridge_program *ridge_compile(ridge_function *function, void *context, ridge_tensor *const *inputs,
                             unsigned input_count, unsigned output_count) {
    struct status *status = tensor_status();
    if (input_count == 0 || output_count == 0 || !function) {
        status_fail(status, STATUS_USAGE,
                    "ridge_compile: it takes a function with at least one input and one output");
        return NULL;
    }
    if (!inputs[0] ||
        !check_inputs(inputs[0]->device, inputs, input_count, "ridge_compile", status))
        return NULL;
    ridge_program *program = memory_allocate(1, sizeof *program, status);
    if (!program)
        return NULL;
    ridge_device *device = inputs[0]->device;
    *program = (ridge_program){.device = device,
                               .function = function,
                               .context = context,
                               .input_count = input_count,
                               .output_count = output_count};
    if (!find_variant(program, inputs, status)) {
        status_context(status, "ridge_compile");
        memory_free(program);
        return NULL;
    }
    program->next = device->programs;
    program->link = &device->programs;
    if (device->programs)
        device->programs->link = &program->next;
    device->programs = program;
    return program;
}

bool ridge_program_run(ridge_program *program, ridge_tensor *const *inputs,
                       ridge_tensor **outputs) {
    struct status *status = tensor_status();
    if (!program)
        return status->code == STATUS_OK
                   ? status_fail(status, STATUS_USAGE, "ridge_program_run: the program is NULL")
                   : false;
    for (unsigned i = 0; i < program->output_count; i++)
        outputs[i] = NULL;
    if (graph_current())
        return status_fail(
            status, STATUS_USAGE,
            "ridge_program_run: a function that is being compiled calls the function "
            "itself, not its compiled form");
    if (!check_inputs(program->device, inputs, program->input_count, "ridge_program_run", status))
        return false;
    if (!find_variant(program, inputs, status) ||
        !plan_run(program->variants->plan, inputs, outputs, status))
        return status_context(status, "ridge_program_run");
    return true;
}

void ridge_program_release(ridge_program *program) {
    if (!program)
        return;
    *program->link = program->next;
    if (program->next)
        program->next->link = program->link;
    while (program->variants) {
        struct variant *variant = program->variants;
        program->variants = variant->next;
        release_variant(variant);
    }
    memory_free(program);
}

bool ridge_program_describe(const ridge_program *program, struct ridge_program_info *info) {
    if (!program || !info)
        return false;
    *info = program->variants->plan->info;
    return true;
}
