/* ridge_compile(): functions of tensors, traced once for each set of shapes. */
#include <string.h>

#include "base/checksum.h"
#include "base/slab.h"
#include "tensor/operation.h"
#include "tensor/plan.h"

enum { VARIANTS_MAX = 64 };

/* What a trace did: a digest of each node and of each output. */
struct trace {
    uint64_t *digests;
    size_t count;
};

struct variant {
    struct variant *next;
    struct plan *plan;
    struct buffer key;
    struct trace trace;
    uint64_t runs;
};

struct compiled {
    ridge_device *device;
    ridge_function *function;
    void *context;
    unsigned input_count, output_count;
    struct variant *variants; /* the last used first */
    unsigned variant_count;
    bool compiling;
    struct compiled *next, **link; /* all of the device */
};

static struct slab programs = SLAB(struct compiled, 2);

static void release_variant(struct variant *variant) {
    plan_destroy(variant->plan);
    memory_free(variant->trace.digests);
    buffer_finish(&variant->key);
    memory_free(variant);
}

/* Outputs as tensors of the graph: a function may return a tensor from outside. */
static bool adopt_outputs(struct graph *graph, ridge_tensor *const *handles,
                          struct tensor **outputs, unsigned count, struct status *status) {
    for (unsigned i = 0; i < count; i++) {
        struct node_input operand;
        const struct tensor *output = tensor_find(handles[i]);
        if (!output)
            return status_fail(status, STATUS_USAGE, "the function %s output %u",
                               handles[i] ? "released its" : "did not set", i);
        if (!graph_operand(graph, output, &operand, status))
            return false;
        outputs[i] = tensor_of_node(graph, operand.node, &operand.view, status);
        if (!outputs[i])
            return false;
    }
    return true;
}

/* `handles` has the inputs, followed by the outputs. */
static bool call_function(struct compiled *program, struct graph *graph,
                          struct tensor *const *inputs, ridge_tensor **handles,
                          struct tensor **outputs, struct status *status) {
    for (unsigned i = 0; i < program->input_count; i++) {
        uint32_t node;
        struct view view = inputs[i]->view;
        view.offset = 0;
        if (!graph_input(graph, inputs[i]->dtype, tensor_alignment(inputs[i]), &node, status) ||
            !(handles[i] = tensor_handle(tensor_of_node(graph, node, &view, status))))
            return false;
    }
    enum status_code before = status->code;
    status->code = STATUS_OK;
    struct graph *outer = graph_set_current(graph);
    program->compiling = true;
    program->device->compiling++;
    bool ok = program->function(program->context, handles, handles + program->input_count);
    program->device->compiling--;
    program->compiling = false;
    graph_set_current(outer);
    if (!ok) {
        if (status->code == STATUS_OK)
            status_fail(status, STATUS_USAGE, "the compiled function returned false");
        return false;
    }
    /* A failure that the function let pass would be missing in each run. */
    if (graph->failed) {
        *status = graph->failure;
        return false;
    }
    status->code = before;
    return adopt_outputs(graph, handles + program->input_count, outputs, program->output_count,
                         status);
}

static bool describe_trace(const struct graph *graph, struct tensor *const *outputs,
                           unsigned output_count, struct trace *trace, struct status *status) {
    trace->count = graph->count + output_count;
    trace->digests = memory_allocate(trace->count + 1, sizeof *trace->digests, status);
    if (!trace->digests)
        return false;
    for (size_t n = 0; n < graph->count; n++)
        trace->digests[n] = graph_digest(graph, n);
    for (unsigned i = 0; i < output_count; i++) {
        const struct view *view = &outputs[i]->view;
        trace->digests[graph->count + i] =
            outputs[i]->node ^ checksum64(view->sizes, view->rank * sizeof view->sizes[0]) ^
            (uint64_t)view->offset * 0x9E3779B97F4A7C15u;
    }
    return true;
}

/* Whether a later trace did the same; the device's plan has the captures of the first. */
static bool same_trace(const struct variant *variant, const struct graph *graph,
                       const struct trace *later, struct status *status) {
    const char *advice =
        "pass what changes from run to run as an input tensor: positions, lengths, "
        "indices, seeds";
    for (size_t n = 0; n < graph->count; n++)
        if (n >= variant->trace.count || variant->trace.digests[n] != later->digests[n])
            return status_fail(status, STATUS_USAGE,
                               "the function does not do what it did when it was compiled: "
                               "operation %zu (%s) differs; %s",
                               n, op_info(graph->nodes[n].op)->name, advice);
    for (size_t i = 0; i < graph->capture_count && i < variant->plan->capture_count; i++)
        if (graph->captures[i] != variant->plan->captures[i])
            return status_fail(status, STATUS_USAGE,
                               "the function does not do what it did when it was compiled: it uses "
                               "another tensor from outside; %s",
                               advice);
    if (later->count != variant->trace.count ||
        memcmp(later->digests, variant->trace.digests, later->count * sizeof *later->digests) != 0)
        return status_fail(status, STATUS_USAGE,
                           "the function does not do what it did when it was compiled: its results "
                           "differ; %s",
                           advice);
    return true;
}

/* Calls the function: to make the variant's plan, or to check that it still does the same. A
 * function that fails in a check tells nothing: a tensor that the program holds on to may have been
 * released since. */
static bool trace_variant(struct compiled *program, struct tensor *const *inputs,
                          struct variant *variant, bool check, struct status *status) {
    struct graph graph;
    struct scope scope;
    struct trace trace = {0};
    graph_init(&graph, program->device);
    size_t count = (size_t)program->input_count + program->output_count;
    ridge_tensor **handles = memory_allocate(count, sizeof *handles, status);
    struct tensor **outputs = memory_allocate(program->output_count, sizeof *outputs, status);
    scope_begin(&scope);
    struct status before = *status;
    bool called =
        handles && outputs && call_function(program, &graph, inputs, handles, outputs, status);
    bool ok = called && describe_trace(&graph, outputs, program->output_count, &trace, status) &&
              (check ? same_trace(variant, &graph, &trace, status)
                     : plan_create(&graph, outputs, program->output_count, &variant->plan, status));
    if (check && !called) {
        *status = before;
        ok = true;
    }
    scope_end(&scope);
    memory_free(handles);
    memory_free(outputs);
    graph_finish(&graph);
    if (!check && ok) {
        variant->trace = trace;
        variant->plan->may_replay = true;
    } else {
        memory_free(trace.digests);
    }
    return ok;
}

/* A function that depends on something other than its inputs would return wrong results without an
 * error. It is called again in the first two runs, and ever more rarely after them. */
static bool check_function(struct compiled *program, struct tensor *const *inputs,
                           struct status *status) {
    struct variant *variant = program->variants;
    uint64_t run = ++variant->runs;
    if ((run & (run - 1)) != 0 || trace_variant(program, inputs, variant, true, status))
        return true;
    variant->runs = 0;
    return false;
}

/* The variant for these inputs, in front of the others. */
static bool find_variant(struct compiled *program, struct tensor *const *inputs,
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
    if (!variant || !trace_variant(program, inputs, variant, false, status)) {
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

/* The tensors of the handles, or NULL; free them with memory_free(). */
static struct tensor **find_inputs(const char *name, ridge_tensor *const *handles, unsigned count,
                                   struct status *status) {
    if (!handles) {
        tensor_null(name, "array of inputs");
        return NULL;
    }
    struct tensor **inputs = memory_allocate(count, sizeof *inputs, status);
    for (unsigned i = 0; inputs && i < count; i++) {
        inputs[i] = tensor_find(handles[i]);
        if (inputs[i])
            continue;
        if (handles[i])
            status_fail(status, STATUS_USAGE, "%s: input %u was already released", name, i);
        else if (status->code == STATUS_OK)
            status_fail(status, STATUS_USAGE, "%s: input %u is NULL", name, i);
        memory_free(inputs);
        return NULL;
    }
    return inputs;
}

static bool check_inputs(ridge_device *device, struct tensor *const *inputs, unsigned count,
                         const char *name, struct status *status) {
    for (unsigned i = 0; i < count; i++) {
        if (tensor_is_gone(inputs[i], status))
            return status_context(status, "%s: input %u", name, i);
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

static struct compiled *compile_graph(ridge_function *function, void *context,
                                      struct tensor *const *inputs, unsigned input_count,
                                      unsigned output_count, struct status *status) {
    ridge_device *device = inputs[0]->device;
    struct compiled *program = slab_allocate(&programs, status);
    if (!program)
        return NULL;
    *program = (struct compiled){.device = device,
                                 .function = function,
                                 .context = context,
                                 .input_count = input_count,
                                 .output_count = output_count};
    if (!find_variant(program, inputs, status)) {
        status_context(status, "ridge_compile");
        slab_free(&programs, program);
        return NULL;
    }
    program->next = device->programs;
    program->link = &device->programs;
    if (device->programs)
        device->programs->link = &program->next;
    device->programs = program;
    return program;
}

ridge_program *ridge_compile(ridge_function *function, void *context, ridge_tensor *const *handles,
                             unsigned input_count, unsigned output_count) {
    struct status *status = tensor_status();
    if (input_count == 0 || output_count == 0 || !function) {
        status_fail(status, STATUS_USAGE,
                    "ridge_compile: the function needs at least one input and one output");
        return NULL;
    }
    struct tensor **inputs = find_inputs("ridge_compile", handles, input_count, status);
    struct compiled *program = NULL;
    if (inputs && check_inputs(inputs[0]->device, inputs, input_count, "ridge_compile", status))
        program = compile_graph(function, context, inputs, input_count, output_count, status);
    memory_free(inputs);
    return program ? slab_handle(&programs, program) : NULL;
}

static struct compiled *program_of(const char *name, const ridge_program *handle) {
    struct compiled *program = slab_find(&programs, handle);
    if (!program)
        handle ? tensor_released(name, "program") : tensor_null(name, "program");
    return program;
}

/* Compiling calls the user's function, which may release inputs. */
static bool still_there(struct tensor *const *inputs, ridge_tensor *const *handles, unsigned count,
                        struct status *status) {
    for (unsigned i = 0; i < count; i++)
        if (tensor_find(handles[i]) != inputs[i])
            return status_fail(status, STATUS_USAGE, "the function released input %u", i);
    return true;
}

static bool run_program(struct compiled *program, ridge_tensor *const *handles,
                        struct tensor *const *inputs, ridge_tensor **results,
                        struct status *status) {
    struct tensor **outputs = memory_allocate(program->output_count, sizeof *outputs, status);
    bool ok = outputs && find_variant(program, inputs, status) &&
              check_function(program, inputs, status) &&
              still_there(inputs, handles, program->input_count, status) &&
              plan_run(program->variants->plan, inputs, outputs, status);
    for (unsigned i = 0; ok && i < program->output_count; i++)
        results[i] = tensor_handle(outputs[i]);
    memory_free(outputs);
    return ok || status_context(status, "ridge_program_run");
}

bool ridge_program_run(ridge_program *handle, ridge_tensor *const *handles,
                       ridge_tensor **outputs) {
    struct status *status = tensor_status();
    struct compiled *program = program_of("ridge_program_run", handle);
    if (!program)
        return false;
    if (!outputs)
        return tensor_null("ridge_program_run", "array of outputs");
    for (unsigned i = 0; i < program->output_count; i++)
        outputs[i] = NULL;
    if (graph_current())
        return status_fail(status, STATUS_USAGE,
                           "ridge_program_run: inside a function that is being compiled, call the "
                           "function itself, not its compiled form");
    struct tensor **inputs =
        find_inputs("ridge_program_run", handles, program->input_count, status);
    bool ok =
        inputs &&
        check_inputs(program->device, inputs, program->input_count, "ridge_program_run", status) &&
        run_program(program, handles, inputs, outputs, status);
    memory_free(inputs);
    return ok;
}

void compiled_destroy(struct compiled *program) {
    *program->link = program->next;
    if (program->next)
        program->next->link = program->link;
    while (program->variants) {
        struct variant *variant = program->variants;
        program->variants = variant->next;
        release_variant(variant);
    }
    slab_free(&programs, program);
}

void ridge_program_release(ridge_program *handle) {
    struct compiled *program = handle ? program_of("ridge_program_release", handle) : NULL;
    if (program && program->compiling)
        status_fail(tensor_status(), STATUS_USAGE,
                    "ridge_program_release: the program's function is being compiled");
    else if (program)
        compiled_destroy(program);
}

bool ridge_program_describe(const ridge_program *handle, struct ridge_program_info *info) {
    const struct compiled *program = program_of("ridge_program_describe", handle);
    if (!program)
        return false;
    if (!info)
        return tensor_null("ridge_program_describe", "memory for the description");
    *info = program->variants->plan->info;
    return true;
}
