/* A matrix product with the elementwise work that follows it: in one kernel where the device can,
 * otherwise the product and then a program over its result. */
#include <string.h>

#include "tensor/lower.h"

/* The operand's strides along all axes of the product's result, ones included. */
static void result_strides(const struct view *result, const int64_t *space, int64_t *strides) {
    unsigned position = 0;
    for (unsigned axis = 0; axis < result->rank; axis++)
        strides[axis] = result->sizes[axis] == 1 ? 0 : space[position++];
}

static bool set_epilogue(const struct node *node, const struct group_program *group,
                         struct matmul_work *work) {
    unsigned batch_rank = node->shape.rank - 2;
    work->epilogue = group->program;
    work->epilogue.rank = work->epilogue.outer = 3;
    work->shape.sizes[0] = work->batch;
    work->shape.sizes[1] = work->m;
    work->shape.sizes[2] = work->n;
    for (unsigned i = 0; i < group->program.operand_count; i++) {
        int64_t strides[RIDGE_RANK_MAX];
        result_strides(&node->shape, group->operands[i].strides, strides);
        if (!view_batch_stride(batch_rank, node->shape.sizes, strides, &work->shape.strides[i][0]))
            return false;
        work->shape.strides[i][1] = strides[batch_rank];
        work->shape.strides[i][2] = strides[batch_rank + 1];
    }
    return true;
}

static void set_product(const struct lowering *lowering, const struct node *node,
                        struct matmul_work *work) {
    const struct node_input *a = &node->inputs[0], *b = &node->inputs[1];
    unsigned batch_rank = node->shape.rank - 2;
    work->a_type = lowering->fusion->graph->nodes[a->node].dtype;
    work->b_type = lowering->fusion->graph->nodes[b->node].dtype;
    work->batch = 1;
    for (unsigned axis = 0; axis < batch_rank; axis++)
        work->batch *= node->shape.sizes[axis];
    work->m = a->view.sizes[batch_rank];
    work->k = a->view.sizes[batch_rank + 1];
    work->n = b->view.sizes[batch_rank + 1];
    work->a_row = a->view.strides[batch_rank];
    work->a_column = a->view.strides[batch_rank + 1];
    work->b_row = b->view.strides[batch_rank];
    work->b_column = b->view.strides[batch_rank + 1];
    view_batch_stride(batch_rank, a->view.sizes, a->view.strides, &work->a_batch);
    view_batch_stride(batch_rank, b->view.sizes, b->view.strides, &work->b_batch);
    work->a_alignment = graph_alignment(lowering->fusion->graph, a->node, a->view.offset);
    work->b_alignment = graph_alignment(lowering->fusion->graph, b->node, b->view.offset);
}

/* Many small products with one right matrix are one product with more rows. */
static void fold_batch(struct matmul_work *work) {
    if (work->batch == 1 || work->b_batch != 0)
        return;
    /* With one row each, the rows' stride is free to be the batches'. */
    int64_t a_row = work->m == 1 ? work->a_batch : work->a_row;
    if (work->a_batch != a_row * work->m)
        return;
    for (unsigned i = 0; i < work->epilogue.operand_count; i++) {
        int64_t *strides = work->shape.strides[i];
        if (strides[0] != (work->m == 1 ? strides[0] : strides[1]) * work->m)
            return;
    }
    for (unsigned i = 0; i < work->epilogue.operand_count; i++) {
        int64_t *strides = work->shape.strides[i];
        strides[1] = work->m == 1 ? strides[0] : strides[1];
        strides[0] = 0;
    }
    work->a_row = a_row;
    work->m *= work->batch;
    work->shape.sizes[0] = work->batch = 1;
    work->shape.sizes[1] = work->m;
    work->a_batch = 0;
}

static uint64_t product_bytes(const struct matmul_work *work) {
    int64_t a_sizes[3] = {work->batch, work->m, work->k};
    int64_t a_strides[3] = {work->a_batch, work->a_row, work->a_column};
    int64_t b_sizes[3] = {work->batch, work->k, work->n};
    int64_t b_strides[3] = {work->b_batch, work->b_row, work->b_column};
    uint64_t bytes =
        ridge_dtype_bytes(work->a_type, (int64_t)lower_touched(3, a_sizes, a_strides)) +
        ridge_dtype_bytes(work->b_type, (int64_t)lower_touched(3, b_sizes, b_strides));
    for (unsigned i = 0; i < work->epilogue.operand_count; i++)
        bytes += lower_touched(3, work->shape.sizes, work->shape.strides[i]) *
                 ridge_dtype_bytes(work->epilogue.operands[i].dtype, 1);
    return bytes;
}

/* One launch for the product and its epilogue; the epilogue's operand i is at places[2 + i]. */
static bool lower_product(struct lowering *lowering, struct matmul_work *work, struct place *places,
                          const char *detail) {
    program_set_strides(&work->epilogue, &work->shape);
    const struct device_capabilities *device = &lowering->plan->device->device->capabilities;
    uint64_t flops =
        2 * (uint64_t)work->batch * (uint64_t)work->m * (uint64_t)work->n * (uint64_t)work->k +
        program_flops(&work->epilogue, &work->shape);
    uint64_t bytes = product_bytes(work);
    struct kernel_request request;
    unsigned library[2] = {0, 0}, count = 2u + work->epilogue.operand_count;
    if (!kernel_matmul(work, device, &request, library, lowering->status))
        return false;
    if (request.library) {
        struct place result = places[2 + library[0]], bias = places[2 + library[1]];
        places[2] = result;
        places[3] = bias;
        count = request.matmul.bias ? 4 : 3;
    }
    return plan_add_step(lowering->plan, &request, places, count, flops, bytes, detail,
                         lowering->status);
}

/* The place of the product if the epilogue is separate: its own, that of a result of the same
 * type that overwrites it element by element, or temporary memory. */
static struct place product_place(struct lowering *lowering, uint32_t product,
                                  const struct group_program *group) {
    const struct graph *graph = lowering->fusion->graph;
    const struct node *node = &graph->nodes[product];
    if (lowering->fusion->stored[product])
        return lower_place(lowering, product, 0);
    for (unsigned i = 0; i < group->program.operand_count; i++)
        if (group->operands[i].stored && graph->nodes[group->operands[i].node].dtype == node->dtype)
            return lower_place(lowering, group->operands[i].node, 0);
    size_t bytes = ridge_dtype_bytes(node->dtype, view_count(&node->shape));
    if (lowering->scratch_bytes < bytes)
        lowering->scratch_bytes = bytes;
    return (struct place){PLACE_ARENA, 0, lowering->scratch};
}

static bool lower_apart(struct lowering *lowering, const struct group *group,
                        struct group_program *rest, struct place *places, const char *detail) {
    const struct node *node = &lowering->fusion->graph->nodes[group->matmul];
    struct place product = product_place(lowering, group->matmul, rest);
    struct group_program plain = {0};
    program_operand(&plain.program, node->dtype, true);
    plain.operands[0] = (struct group_operand){.node = group->matmul, .stored = true};
    group_strides(group, group_all_axes(group), &node->shape, plain.operands[0].strides);
    program_instruction(&plain.program,
                        (struct program_instruction){.op = OP_ACCUMULATOR, .type = VALUE_F32});
    program_instruction(&plain.program,
                        (struct program_instruction){.op = OP_STORE, .type = VALUE_F32});
    struct matmul_work work = {0};
    set_product(lowering, node, &work);
    set_epilogue(node, &plain, &work);
    work.shape.alignment[0] = 16;
    fold_batch(&work);
    struct place product_places[4] = {places[0], places[1], product};
    if (!lower_product(lowering, &work, product_places, detail))
        return false;

    int slot = program_operand(&rest->program, node->dtype, false);
    rest->operands[slot] = plain.operands[0];
    struct program_shape shape = {0};
    lower_constants(rest, &shape);
    struct place rest_places[PROGRAM_OPERANDS_MAX];
    memcpy(rest_places, places + 2, sizeof rest_places);
    rest_places[slot] = product;
    for (unsigned i = 0; i < rest->program.instruction_count; i++)
        if (rest->program.instructions[i].op == OP_ACCUMULATOR) {
            rest->program.instructions[i].op = OP_LOAD;
            rest->program.instructions[i].slot = (uint8_t)slot;
        }
    for (unsigned i = 0; i < rest->program.operand_count; i++) {
        memcpy(shape.strides[i], rest->operands[i].strides, sizeof shape.strides[i]);
        shape.alignment[i] = i == (unsigned)slot
                                 ? 16
                                 : graph_alignment(lowering->fusion->graph, rest->operands[i].node,
                                                   rest->operands[i].offset);
    }
    memcpy(shape.sizes, group->sizes, sizeof group->sizes);
    rest->program.rank = rest->program.outer = (uint8_t)group->rank;
    if (group->rank == 0) {
        rest->program.rank = rest->program.outer = 1;
        shape.sizes[0] = 1;
    }
    return lower_program(lowering, &rest->program, &shape, rest_places, detail);
}

bool lower_matmul(struct lowering *lowering, const struct group *group) {
    const struct node *node = &lowering->fusion->graph->nodes[group->matmul];
    struct group_program rest;
    if (!group_program(lowering->fusion, group, &rest))
        return status_fail(lowering->status, STATUS_UNSUPPORTED,
                           "the operation has more operands than a kernel supports");
    struct place places[2 + PROGRAM_OPERANDS_MAX];
    for (unsigned i = 0; i < 2; i++)
        places[i] = lower_place(lowering, node->inputs[i].node, node->inputs[i].view.offset);
    for (unsigned i = 0; i < rest.program.operand_count; i++)
        places[2 + i] = lower_place(lowering, rest.operands[i].node, rest.operands[i].offset);
    const char *detail = lower_detail(lowering, group, &rest, node);

    struct matmul_work work = {0};
    set_product(lowering, node, &work);
    if (!set_epilogue(node, &rest, &work))
        return lower_apart(lowering, group, &rest, places, detail);
    lower_constants(&rest, &work.shape);
    for (unsigned i = 0; i < rest.program.operand_count; i++)
        work.shape.alignment[i] = graph_alignment(lowering->fusion->graph, rest.operands[i].node,
                                                  rest.operands[i].offset);
    fold_batch(&work);
    program_set_strides(&work.epilogue, &work.shape);
    if (kernel_matmul_splits(&work, &lowering->plan->device->device->capabilities))
        return lower_apart(lowering, group, &rest, places, detail);
    return lower_product(lowering, &work, places, detail);
}
