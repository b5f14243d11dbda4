/* From the outputs of a graph back to its parameters, node by node.
 *
 * Nodes are numbered in an order in which they can run, so when a node is reached from above all
 * its readers have been visited, and its gradient is the sum of what they contributed. A value
 * that a rule needs is either stored (an operation returned it) or computed again from what is. */
#include <string.h>

#include "tensor/gradient/gradient.h"

/* The gradient of what one reader reads of a node. */
struct contribution {
    struct contribution *next;
    struct tensor *g;
    struct view view;
};

struct differentiation {
    struct builder *build;
    const struct gradient_request *request;
    uint32_t count;  /* of nodes before */
    uint32_t inside; /* from this node on: inside the last operation, not computed again */
    bool *reached;   /* by node: it depends on a parameter */
    bool *live;      /* by node: an output depends on it */
    uint32_t *again; /* by node: its copy, or itself */
    struct contribution **contributions; /* by node */
};

enum { NOT_COPIED = UINT32_MAX };

static void *allocate(struct differentiation *d, size_t count, size_t size) {
    void *memory = arena_allocate(&d->build->graph->arena, (count + 1) * size, d->build->status);
    if (memory)
        memset(memory, 0, (count + 1) * size);
    return memory;
}

static const struct node *node_at(const struct differentiation *d, uint32_t n) {
    return &d->build->graph->nodes[n];
}

static bool is_leaf(const struct node *node) {
    return node->kind == NODE_INPUT || node->kind == NODE_CAPTURE;
}

/* ---- What depends on what ----------------------------------------------------------------- */

static void find_reached(struct differentiation *d) {
    for (unsigned i = 0; i < d->request->parameter_count; i++)
        d->reached[d->request->parameters[i]->node] = true;
    for (uint32_t n = 0; n < d->count; n++) {
        const struct node *node = node_at(d, n);
        for (uint32_t i = 0; i < node->input_count && !d->reached[n]; i++) {
            uint32_t from = node->inputs[i].node;
            d->reached[n] = d->reached[from] && node->kind != NODE_ASSIGN &&
                            gradient_passes(node, i, node_at(d, from)->dtype);
        }
    }
    for (unsigned i = 0; i < d->request->output_count; i++)
        d->live[d->request->outputs[i]->node] = true;
    for (uint32_t n = d->count; n-- > 0;)
        for (uint32_t i = 0; i < node_at(d, n)->input_count && d->live[n]; i++)
            d->live[node_at(d, n)->inputs[i].node] = true;
}

/* Values are read again on the way back: a tensor must not have been assigned to since. */
static bool check_assignments(const struct differentiation *d) {
    for (uint32_t a = 0; a < d->count; a++) {
        const struct node *assign = node_at(d, a);
        if (assign->kind != NODE_ASSIGN)
            continue;
        uint32_t target = assign->inputs[0].node;
        for (uint32_t n = 0; n < d->count; n++) {
            const struct node *node = node_at(d, n);
            for (uint32_t i = 0; i < node->input_count && d->live[n]; i++) {
                if (node->inputs[i].node != target)
                    continue;
                if (d->reached[n] && node->epoch <= assign->epoch)
                    return status_fail(d->build->status, STATUS_USAGE,
                                       "a tensor was assigned to after the loss was computed from "
                                       "it: take the gradients before the assignment");
                if (node->epoch > assign->epoch && d->reached[assign->inputs[1].node])
                    return status_fail(d->build->status, STATUS_UNSUPPORTED,
                                       "gradients do not pass through ridge_assign(): use the "
                                       "assigned value itself");
            }
        }
    }
    return true;
}

/* The last operation's own nodes share a kernel with the first of the way back. */
static uint32_t find_inside(const struct differentiation *d) {
    uint32_t last = 0;
    for (unsigned i = 0; i < d->request->output_count; i++)
        if (last < d->request->outputs[i]->node)
            last = d->request->outputs[i]->node;
    while (last > 0 && !node_at(d, last - 1)->returned && !is_leaf(node_at(d, last - 1)))
        last--;
    return last;
}

/* ---- Values ----------------------------------------------------------------------------- */

/* The number of a node with the value of n: n, or a copy that is computed from stored values.
 * Recursion is as deep as a single operation. */
static bool value_node(struct differentiation *d, uint32_t n, uint32_t *number) {
    struct node node = *node_at(d, n);
    *number = n;
    if (!d->request->recompute || n >= d->inside || node.returned ||
        (node.kind != NODE_EXPRESSION && node.kind != NODE_REDUCE))
        return true;
    if (d->again[n] != NOT_COPIED) {
        *number = d->again[n];
        return true;
    }
    struct node_input inputs[3];
    for (uint32_t i = 0; i < node.input_count; i++) {
        inputs[i] = node.inputs[i];
        if (!value_node(d, node.inputs[i].node, &inputs[i].node))
            return false;
    }
    node.inputs = inputs;
    node.parameters.again = true;
    if (!graph_add(d->build->graph, &node, number, d->build->status))
        return false;
    d->again[n] = *number;
    return true;
}

static struct tensor *value(struct differentiation *d, uint32_t n, const struct view *view) {
    const struct gradient_request *request = d->request;
    for (unsigned i = 0; request->saved && i < request->output_count; i++)
        if (request->outputs[i]->node == n && request->saved[i] &&
            view_is_contiguous(&request->saved[i]->view) && !is_leaf(node_at(d, n)))
            return tensor_of_node(d->build->graph, request->saved[i]->node, view, d->build->status);
    uint32_t number;
    return value_node(d, n, &number)
               ? tensor_of_node(d->build->graph, number, view, d->build->status)
               : NULL;
}

/* ---- Sums ------------------------------------------------------------------------------- */

static bool equal_layouts(const struct view *a, const struct view *b) {
    return view_same_sizes(a, b) && a->offset == b->offset &&
           (a->rank == 0 || memcmp(a->strides, b->strides, a->rank * sizeof a->strides[0]) == 0);
}

static bool contribute(struct differentiation *d, uint32_t n, struct tensor *g,
                       const struct view *view) {
    struct view read = *view;
    while (read.rank > g->view.rank)
        view_drop_axis(&read, 0);
    for (struct contribution *one = d->contributions[n]; one; one = one->next)
        if (equal_layouts(&one->view, &read)) {
            one->g = build_expression(d->build, OP_ADD, one->g, g, NULL);
            return one->g != NULL;
        }
    struct contribution *added =
        arena_allocate(&d->build->graph->arena, sizeof *added, d->build->status);
    if (!added)
        return false;
    *added = (struct contribution){d->contributions[n], g, read};
    d->contributions[n] = added;
    return true;
}

/* A parameter's view as row-major elements in the order of the storage; false if there are gaps. */
static bool dense_base(const struct view *view, struct view_base *base) {
    struct view left = *view;
    *base = (struct view_base){.offset = view->offset};
    int64_t expected = view_count(view);
    for (unsigned axis = 0; axis < left.rank; axis++)
        if (left.sizes[axis] == 1)
            left.strides[axis] = 0;
    for (;;) {
        int best = -1;
        for (unsigned axis = 0; axis < left.rank; axis++)
            if (left.strides[axis] > 0 && (best < 0 || left.strides[axis] > left.strides[best]))
                best = (int)axis;
        if (best < 0)
            return expected == 1;
        if (left.strides[best] * left.sizes[best] != expected)
            return false;
        expected = left.strides[best];
        base->sizes[base->rank++] = left.sizes[best];
        left.strides[best] = 0;
    }
}

/* The range of elements of the storage that a view reaches. */
struct range {
    int64_t first, end;
};

static struct range range_of(const struct view *view) {
    int64_t end = view_extent(view);
    return (struct range){end > 0 ? view->offset : 0, end};
}

static bool within(struct range inner, struct range outer) {
    return inner.first >= outer.first && inner.end <= outer.end;
}

static bool apart(struct range a, struct range b) {
    return a.end <= b.first || b.end <= a.first;
}

/* Whether each reader of the leaf reads the parameter's elements only, or none of them. */
static bool stands_alone(const struct differentiation *d, const struct tensor *parameter) {
    struct range own = range_of(&parameter->view);
    for (const struct contribution *one = d->contributions[parameter->node]; one; one = one->next) {
        struct range read = range_of(&one->view);
        if (!within(read, own) && !apart(read, own))
            return false;
    }
    return true;
}

static void node_base(const struct node *node, struct view_base *base) {
    *base = (struct view_base){.rank = node->shape.rank};
    memcpy(base->sizes, node->shape.sizes, sizeof base->sizes);
}

/* The elements whose gradient contains the parameter's: the parameter's own if possible, else all
 * that a reader or the parameter reaches. */
static void parameter_base(const struct differentiation *d, const struct tensor *parameter,
                           struct view_base *base) {
    if (!is_leaf(node_at(d, parameter->node))) {
        node_base(node_at(d, parameter->node), base);
        return;
    }
    struct range all = range_of(&parameter->view);
    if (all.end > 0 && dense_base(&parameter->view, base) && stands_alone(d, parameter))
        return;
    for (const struct contribution *one = d->contributions[parameter->node]; one; one = one->next) {
        struct range read = range_of(&one->view);
        all.first = read.first < all.first ? read.first : all.first;
        all.end = read.end > all.end ? read.end : all.end;
    }
    *base = (struct view_base){.rank = 1, .offset = all.first, .sizes = {all.end - all.first}};
}

static struct range base_range(const struct view_base *base) {
    int64_t count = 1;
    for (unsigned axis = 0; axis < base->rank; axis++)
        count *= base->sizes[axis];
    return (struct range){base->offset, base->offset + count};
}

/* The sum of the contributions to elements of the base; *total stays NULL if there are none. */
static bool sum_contributions(struct differentiation *d, uint32_t n, const struct view_base *base,
                              struct tensor **total) {
    unsigned count = 0, used = 0;
    for (const struct contribution *one = d->contributions[n]; one; one = one->next)
        count++;
    *total = NULL;
    struct tensor **g = allocate(d, count, sizeof *g);
    struct view *views = allocate(d, count, sizeof *views);
    if (!g || !views)
        return false;
    for (const struct contribution *one = d->contributions[n]; one; one = one->next) {
        if (!within(range_of(&one->view), base_range(base)))
            continue;
        g[used] = one->g;
        views[used++] = one->view;
    }
    if (used > 0)
        *total = build_views_transpose(d->build, g, views, used, base);
    return used == 0 || *total;
}

/* ---- The way back ----------------------------------------------------------------------- */

static bool prepare_step(struct differentiation *d, uint32_t n, struct gradient_step *step) {
    step->build = d->build;
    step->node = *node_at(d, n);
    uint32_t count = step->node.input_count;
    bool *wanted = allocate(d, count, sizeof *wanted);
    step->wanted = wanted;
    step->operands = allocate(d, count, sizeof *step->operands);
    step->results = allocate(d, count, sizeof *step->results);
    if (!wanted || !step->operands || !step->results)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct node_input *input = &step->node.inputs[i];
        wanted[i] = d->reached[input->node] &&
                    gradient_passes(&step->node, i, node_at(d, input->node)->dtype);
        step->operands[i] = value(d, input->node, &input->view);
        if (!step->operands[i])
            return false;
    }
    step->result = value(d, n, &step->node.shape);
    return step->result != NULL;
}

static bool visit(struct differentiation *d, uint32_t n, struct tensor *g, struct tensor *second) {
    struct gradient_step step = {.g = g, .second = second};
    if (!prepare_step(d, n, &step) || !gradient_apply(&step))
        return false;
    for (uint32_t i = 0; i < step.node.input_count; i++)
        if (step.wanted[i] && step.results[i] &&
            !contribute(d, step.node.inputs[i].node, step.results[i], &step.node.inputs[i].view))
            return false;
    return true;
}

/* The gradient of the second result goes to the node that computes both. */
static bool walk_back(struct differentiation *d) {
    struct tensor **seconds = allocate(d, d->count, sizeof *seconds);
    for (uint32_t n = d->count; seconds && n-- > 0;) {
        struct node node = *node_at(d, n);
        struct view_base base;
        struct tensor *g;
        if (!d->reached[n] || !d->live[n] || is_leaf(&node) || node.kind == NODE_ASSIGN ||
            (!d->contributions[n] && !seconds[n]))
            continue;
        node_base(&node, &base);
        if (!sum_contributions(d, n, &base, &g))
            return false;
        if (node.kind == NODE_RESULT)
            seconds[node.inputs[0].node] = g;
        else if (!visit(d, n, g, seconds[n]))
            return false;
    }
    return seconds != NULL;
}

static bool seed(struct differentiation *d) {
    const struct gradient_request *request = d->request;
    for (unsigned i = 0; i < request->output_count; i++) {
        struct tensor *output = request->outputs[i];
        struct tensor *g = request->seeds ? request->seeds[i]
                                          : build_filled(d->build, output->dtype, &output->view, 1);
        if (!g && !request->seeds)
            return false;
        if (g && d->reached[output->node] && !contribute(d, output->node, g, &output->view))
            return false;
    }
    return true;
}

/* The gradient of one parameter, read from that of its node through its view. */
static struct tensor *gradient_of(struct differentiation *d, const struct tensor *parameter) {
    struct view_base base;
    struct tensor *total;
    struct builder *build = d->build;
    parameter_base(d, parameter, &base);
    if (!sum_contributions(d, parameter->node, &base, &total))
        return NULL;
    if (!total)
        return build_copy(build, build_filled(build, parameter->dtype, &parameter->view, 0));
    struct view whole = {.rank = base.rank, .offset = base.offset}, view = parameter->view;
    memcpy(whole.sizes, base.sizes, sizeof whole.sizes);
    view_set_contiguous(&whole);
    view.offset -= base.offset;
    if (view_same_sizes(&whole, &view) && equal_layouts(&whole, &view))
        return node_at(d, total->node)->kind == NODE_CONSTANT ? build_copy(build, total) : total;
    total = build_contiguous(build, total);
    view.offset += total ? total->view.offset : 0;
    return build_view(build, total, &view);
}

static bool check_parameters(struct differentiation *d) {
    const struct gradient_request *request = d->request;
    for (unsigned i = 0; i < request->parameter_count; i++) {
        const struct tensor *parameter = request->parameters[i];
        if (!dtype_is_float(parameter->dtype))
            return status_fail(d->build->status, STATUS_USAGE,
                               "parameter %u holds %s: gradients exist for f32, f16 and bf16", i,
                               ridge_dtype_name(parameter->dtype));
    }
    return true;
}

static bool collect(struct differentiation *d) {
    const struct gradient_request *request = d->request;
    for (unsigned i = 0; i < request->parameter_count; i++) {
        const struct tensor *parameter = request->parameters[i];
        /* A path of operations whose derivative is 0 also counts. */
        bool depends = d->contributions[parameter->node] != NULL;
        for (uint32_t n = parameter->node + 1; n < d->count && !depends; n++)
            for (uint32_t k = 0; k < node_at(d, n)->input_count && d->live[n]; k++)
                depends =
                    depends || (node_at(d, n)->inputs[k].node == parameter->node && d->reached[n]);
        request->gradients[i] = NULL;
        if (!depends && request->allow_unused)
            continue;
        if (!depends)
            return status_fail(d->build->status, STATUS_USAGE,
                               "the loss does not depend on parameter %u, or only through "
                               "integers or comparisons",
                               i);
        request->gradients[i] = gradient_of(d, parameter);
        if (!request->gradients[i])
            return false;
    }
    return true;
}

bool gradient_build(struct builder *build, const struct gradient_request *request) {
    struct differentiation d = {.build = build, .request = request};
    d.count = (uint32_t)build->graph->count;
    d.reached = allocate(&d, d.count, sizeof *d.reached);
    d.live = allocate(&d, d.count, sizeof *d.live);
    d.again = allocate(&d, d.count, sizeof *d.again);
    d.contributions = allocate(&d, d.count, sizeof *d.contributions);
    if (!d.reached || !d.live || !d.again || !d.contributions)
        return false;
    memset(d.again, 0xFF, d.count * sizeof *d.again);
    find_reached(&d);
    d.inside = find_inside(&d);
    return check_parameters(&d) && check_assignments(&d) && seed(&d) && walk_back(&d) &&
           collect(&d);
}
