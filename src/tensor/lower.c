/* Fused groups, joins and assignments as programs, and their flops and bytes. */
#include "tensor/lower.h"

#include <string.h>

struct place lower_place(const struct lowering *lowering, uint32_t node, int64_t offset) {
    struct place place = lowering->places[node];
    place.offset += tensor_byte_offset(lowering->fusion->graph->nodes[node].dtype, offset);
    return place;
}

uint64_t lower_touched(unsigned rank, const int64_t *sizes, const int64_t *strides) {
    uint64_t count = 1;
    for (unsigned axis = 0; axis < rank; axis++)
        if (strides[axis] != 0)
            count *= (uint64_t)sizes[axis];
    return count;
}

void lower_constants(const struct group_program *group, struct program_shape *shape) {
    for (unsigned i = 0; i < group->program.instruction_count; i++) {
        const struct program_instruction *instruction = &group->program.instructions[i];
        if (instruction->op != OP_CONSTANT)
            continue;
        double value = group->constants[instruction->slot];
        if (instruction->type == VALUE_F32)
            shape->constants[instruction->slot].f32 = (float)value;
        else
            shape->constants[instruction->slot].i32 = (int32_t)value;
    }
}

/* An operand in an outside storage: the axes of the space along which it differs. */
static void describe_operand(struct buffer *out, const struct group *group,
                             const struct group_operand *operand, const struct node *node) {
    struct view view = {0};
    if (node->kind != NODE_INPUT && node->kind != NODE_CAPTURE)
        view = node->shape;
    else
        for (unsigned axis = 0; axis < group->rank; axis++)
            if (operand->strides[axis] != 0)
                view.sizes[view.rank++] = group->sizes[axis];
    view_describe(out, node->dtype, &view);
}

static void append_shapes(struct buffer *out, const struct lowering *lowering,
                          const struct group *group, const struct group_program *program,
                          bool stored, bool first) {
    for (unsigned i = 0; i < program->program.operand_count; i++) {
        const struct group_operand *operand = &program->operands[i];
        if (operand->stored != stored)
            continue;
        buffer_string(out, first ? "\"" : ", \"");
        describe_operand(out, group, operand, &lowering->fusion->graph->nodes[operand->node]);
        buffer_string(out, "\"");
        first = false;
    }
}

const char *lower_detail(struct lowering *lowering, const struct group *group,
                         const struct group_program *program, const struct node *kernel) {
    struct buffer text = {0};
    buffer_string(&text, "{\"inputs\": [");
    for (unsigned i = 0; kernel && i < kernel->input_count; i++) {
        buffer_string(&text, i ? ", \"" : "\"");
        view_describe(&text, lowering->fusion->graph->nodes[kernel->inputs[i].node].dtype,
                      &kernel->inputs[i].view);
        buffer_string(&text, "\"");
    }
    append_shapes(&text, lowering, group, program, false, !kernel);
    buffer_string(&text, "], \"outputs\": [");
    if (kernel && program->program.operand_count == 0) {
        buffer_string(&text, "\"");
        view_describe(&text, kernel->dtype, &kernel->shape);
        buffer_string(&text, "\"");
    }
    append_shapes(&text, lowering, group, program, true, true);
    buffer_string(&text, "]}");
    struct status ignored;
    char *kept =
        text.failed ? NULL : arena_allocate(&lowering->plan->memory, text.length + 1, &ignored);
    if (kept) {
        memcpy(kept, text.data, text.length);
        kept[text.length] = '\0';
    }
    buffer_finish(&text);
    return kept;
}

static uint64_t program_bytes(const struct program *program, const struct program_shape *shape) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < program->operand_count; i++)
        bytes += lower_touched(program->rank, shape->sizes, shape->strides[i]) *
                 ridge_dtype_bytes(program->operands[i].dtype, 1);
    return bytes;
}

bool lower_program(struct lowering *lowering, struct program *program, struct program_shape *shape,
                   const struct place *places, const char *detail) {
    uint64_t flops = program_flops(program, shape), bytes = program_bytes(program, shape);
    program_collapse(program, shape);
    struct kernel_request request;
    return kernel_program(program, shape, &lowering->plan->device->device->capabilities, &request,
                          lowering->status) &&
           plan_add_step(lowering->plan, &request, places, program->operand_count, flops, bytes,
                         detail, lowering->status);
}

/* Sets the program's axes: those that number the rows first, then the reduced ones. */
static void order_axes(const struct group *group, struct group_program *work,
                       struct program_shape *shape) {
    unsigned rank = 0;
    for (int reduced = 0; reduced < 2; reduced++) {
        for (unsigned axis = 0; axis < group->rank; axis++) {
            if (((group->reduced >> axis) & 1) != (unsigned)reduced)
                continue;
            shape->sizes[rank] = group->sizes[axis];
            for (unsigned i = 0; i < work->program.operand_count; i++)
                shape->strides[i][rank] = work->operands[i].strides[axis];
            rank++;
        }
        if (!reduced)
            work->program.outer = (uint8_t)rank;
    }
    if (rank == 0) {
        shape->sizes[rank++] = 1;
        work->program.outer = 1;
    }
    work->program.rank = (uint8_t)rank;
}

static bool is_empty(const struct group *group) {
    for (unsigned axis = 0; axis < group->rank; axis++)
        if (group->sizes[axis] == 0)
            return true;
    return false;
}

/* ---- Few rows of many elements: partial results first -------------------------------------- */

/* Whether the program is nothing but sums, maxima and minima of what can be computed piece by
 * piece, and values of rows. */
static bool splits(const struct program *program) {
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        if (instruction->op == OP_REDUCE_ARGMAX || instruction->op == OP_REDUCE_ARGMIN)
            return false;
        if (instruction->op == OP_STORE && !instruction->of_row)
            return false;
        if (instruction->of_row || instruction->op == OP_LOAD || instruction->op == OP_STORE)
            continue;
        const uint16_t operands[3] = {instruction->a, instruction->b, instruction->c};
        for (unsigned k = 0; k < op_info(instruction->op)->arity; k++) {
            enum op op = program->instructions[operands[k]].op;
            if (program->instructions[operands[k]].of_row && op != OP_LOAD && op != OP_CONSTANT)
                return false;
        }
    }
    return true;
}

/* The first half: rows split into parts, each partial reduction stored unchanged. */
static bool split_first(const struct program *whole, struct program *first, unsigned *partials) {
    *first = *whole;
    first->instruction_count = 0;
    *partials = 0;
    uint16_t moved[PROGRAM_INSTRUCTIONS_MAX] = {0};
    for (unsigned i = 0; i < whole->instruction_count; i++) {
        struct program_instruction instruction = whole->instructions[i];
        bool reduction = op_is_reduction(instruction.op);
        bool leaf = instruction.op == OP_LOAD || instruction.op == OP_CONSTANT;
        if (instruction.op == OP_STORE || (instruction.of_row && !reduction && !leaf))
            continue;
        instruction.a = moved[instruction.a];
        instruction.b = moved[instruction.b];
        instruction.c = moved[instruction.c];
        int number = program_instruction(first, instruction);
        moved[i] = (uint16_t)number;
        if (!reduction)
            continue;
        int slot =
            program_operand(first, instruction.type == VALUE_F32 ? RIDGE_F32 : RIDGE_I32, true);
        if (slot < 0 || number < 0 ||
            program_instruction(first, (struct program_instruction){.op = OP_STORE,
                                                                    .type = instruction.type,
                                                                    .of_row = 1,
                                                                    .slot = (uint8_t)slot,
                                                                    .a = (uint16_t)number}) < 0)
            return false;
        ++*partials;
    }
    return true;
}

/* The second half: the partial results of each reduction, reduced, and the values of rows. */
static bool split_second(const struct program *whole, struct program *second) {
    *second = *whole;
    second->instruction_count = 0;
    uint16_t moved[PROGRAM_INSTRUCTIONS_MAX] = {0};
    for (unsigned i = 0; i < whole->instruction_count; i++) {
        struct program_instruction instruction = whole->instructions[i];
        if (!instruction.of_row)
            continue;
        if (op_is_reduction(instruction.op)) {
            int slot = program_operand(
                second, instruction.type == VALUE_F32 ? RIDGE_F32 : RIDGE_I32, false);
            int load = program_instruction(
                second, (struct program_instruction){
                            .op = OP_LOAD, .type = instruction.type, .slot = (uint8_t)slot});
            if (slot < 0 || load < 0)
                return false;
            instruction.a = (uint16_t)load;
        } else {
            instruction.a = moved[instruction.a];
            instruction.b = moved[instruction.b];
            instruction.c = moved[instruction.c];
        }
        int number = program_instruction(second, instruction);
        if (number < 0)
            return false;
        moved[i] = (uint16_t)number;
    }
    return true;
}

/* Removes operands that no instruction uses from the program, with their places and strides. */
static void drop_unused(struct program *program, struct program_shape *shape,
                        struct place *places) {
    unsigned count = 0;
    uint8_t moved[PROGRAM_OPERANDS_MAX] = {0};
    for (unsigned i = 0; i < program->operand_count; i++) {
        bool used = false;
        for (unsigned k = 0; k < program->instruction_count && !used; k++)
            used = (program->instructions[k].op == OP_LOAD ||
                    program->instructions[k].op == OP_STORE) &&
                   program->instructions[k].slot == i;
        if (!used)
            continue;
        moved[i] = (uint8_t)count;
        program->operands[count] = program->operands[i];
        memmove(shape->strides[count], shape->strides[i], sizeof shape->strides[i]);
        shape->alignment[count] = shape->alignment[i];
        places[count++] = places[i];
    }
    for (unsigned k = 0; k < program->instruction_count; k++)
        if (program->instructions[k].op == OP_LOAD || program->instructions[k].op == OP_STORE)
            program->instructions[k].slot = moved[program->instructions[k].slot];
    program->operand_count = (uint8_t)count;
}

/* Splits the program in two if it has too few rows to fill the device; sets *done if it did. */
static bool lower_in_parts(struct lowering *lowering, const struct program *whole,
                           const struct program_shape *shape, const struct place *places,
                           const char *detail, bool *done) {
    *done = false;
    struct program program = *whole;
    struct program_shape collapsed = *shape;
    program_collapse(&program, &collapsed);
    int64_t parts;
    if (program.rank != program.outer + 1 || program.rank >= RIDGE_RANK_MAX || !splits(&program) ||
        !kernel_program_parts(&program, &collapsed, &lowering->plan->device->device->capabilities,
                              &parts) ||
        parts < 2)
        return true;
    struct program first, second;
    unsigned partials;
    if (!split_first(&program, &first, &partials) || !split_second(&program, &second))
        return true;
    int64_t rows = 1, length = collapsed.sizes[program.outer];
    for (unsigned axis = 0; axis < program.outer; axis++)
        rows *= collapsed.sizes[axis];
    while (length % parts != 0)
        parts--;
    if (parts < 2)
        return true;
    /* The first program's rows are the rows' parts, the last outer axis. */
    struct program_shape first_shape = collapsed, second_shape = collapsed;
    struct place first_places[PROGRAM_OPERANDS_MAX], second_places[PROGRAM_OPERANDS_MAX];
    memcpy(first_places, places, whole->operand_count * sizeof *places);
    memcpy(second_places, places, whole->operand_count * sizeof *places);
    unsigned outer = program.outer;
    first_shape.sizes[outer] = parts;
    first_shape.sizes[outer + 1] = length / parts;
    second_shape.sizes[outer] = parts;
    for (unsigned i = 0; i < program.operand_count; i++) {
        first_shape.strides[i][outer + 1] = collapsed.strides[i][outer];
        first_shape.strides[i][outer] = collapsed.strides[i][outer] * (length / parts);
    }
    size_t partial_bytes = ((size_t)(rows * parts) * 4 + 255) / 256 * 256;
    for (unsigned p = 0; p < partials; p++) {
        unsigned slot = program.operand_count + p;
        struct place place = {PLACE_ARENA, 0, lowering->scratch + p * partial_bytes};
        first_places[slot] = second_places[slot] = place;
        first_shape.alignment[slot] = second_shape.alignment[slot] = 16;
        int64_t stride = 1;
        for (unsigned axis = outer + 1; axis-- > 0;) {
            first_shape.strides[slot][axis] = second_shape.strides[slot][axis] = stride;
            stride *= first_shape.sizes[axis];
        }
        first_shape.strides[slot][outer + 1] = 0;
    }
    if (lowering->scratch_bytes < partials * partial_bytes)
        lowering->scratch_bytes = partials * partial_bytes;
    first.outer = (uint8_t)(outer + 1);
    first.rank = (uint8_t)(outer + 2);
    drop_unused(&first, &first_shape, first_places);
    drop_unused(&second, &second_shape, second_places);
    *done = true;
    return lower_program(lowering, &first, &first_shape, first_places, detail) &&
           lower_program(lowering, &second, &second_shape, second_places, detail);
}

static bool lower_fused(struct lowering *lowering, const struct group *group) {
    struct group_program work;
    struct program_shape shape = {0};
    struct place places[PROGRAM_OPERANDS_MAX];
    if (!group_program(lowering->fusion, group, &work))
        return status_fail(lowering->status, STATUS_UNSUPPORTED,
                           "the operation has more operands than a kernel supports");
    order_axes(group, &work, &shape);
    lower_constants(&work, &shape);
    for (unsigned i = 0; i < work.program.operand_count; i++) {
        const struct group_operand *operand = &work.operands[i];
        places[i] = lower_place(lowering, operand->node, operand->offset);
        const struct node_input *target = lowering->fusion->written_to[operand->node];
        shape.alignment[i] =
            operand->stored && target
                ? graph_alignment(lowering->fusion->graph, target->node, target->view.offset)
                : graph_alignment(lowering->fusion->graph, operand->node, operand->offset);
    }
    const char *detail = lower_detail(lowering, group, &work, NULL);
    bool done = false;
    if (group->reduced && !lower_in_parts(lowering, &work.program, &shape, places, detail, &done))
        return false;
    return done || lower_program(lowering, &work.program, &shape, places, detail);
}

/* ---- Copies ----------------------------------------------------------------------------- */

/* A copy from one view to another of the same sizes. */
static bool lower_copy(struct lowering *lowering, const struct node_input *from, uint32_t to,
                       const struct view *target) {
    const struct node *source = &lowering->fusion->graph->nodes[from->node];
    struct program program = {0};
    struct program_shape shape = {0};
    struct place places[2];
    unsigned count = 0;
    struct program_instruction load = {.op = OP_LOAD,
                                       .type = (uint8_t)value_type_of(source->dtype)};
    if (source->kind == NODE_CONSTANT) {
        load.op = OP_CONSTANT;
        program.constant_count = 1;
        if (load.type == VALUE_F32)
            shape.constants[0].f32 = (float)source->parameters.value;
        else
            shape.constants[0].i32 = (int32_t)source->parameters.value;
    } else {
        program_operand(&program, source->dtype, false);
        memcpy(shape.strides[count], from->view.strides, sizeof from->view.strides);
        shape.alignment[count] =
            graph_alignment(lowering->fusion->graph, from->node, from->view.offset);
        places[count++] = lower_place(lowering, from->node, from->view.offset);
    }
    program_operand(&program, source->dtype, true);
    memcpy(shape.strides[count], target->strides, sizeof target->strides);
    memcpy(shape.sizes, target->sizes, sizeof target->sizes);
    shape.alignment[count] = graph_alignment(lowering->fusion->graph, to, target->offset);
    places[count] = lower_place(lowering, to, target->offset);
    program_instruction(&program, load);
    program_instruction(&program, (struct program_instruction){
                                      .op = OP_STORE, .type = load.type, .slot = (uint8_t)count});
    program.rank = program.outer = (uint8_t)target->rank;
    if (program.rank == 0) {
        program.rank = program.outer = 1;
        shape.sizes[0] = 1;
    }
    return view_count(target) == 0 || lower_program(lowering, &program, &shape, places, NULL);
}

static bool lower_cat(struct lowering *lowering, uint32_t n) {
    const struct node *node = &lowering->fusion->graph->nodes[n];
    unsigned axis = node->parameters.axis;
    struct view target = node->shape;
    for (uint32_t i = 0; i < node->input_count; i++) {
        target.sizes[axis] = node->inputs[i].view.sizes[axis];
        if (!lower_copy(lowering, &node->inputs[i], n, &target))
            return false;
        target.offset += target.sizes[axis] * target.strides[axis];
    }
    return true;
}

bool lower_group(struct lowering *lowering, const struct group *group) {
    const struct node *node = &lowering->fusion->graph->nodes[group->first];
    if (is_empty(group) && node->kind != NODE_KERNEL && node->kind != NODE_CAT)
        return true;
    if (group->kind == GROUP_FUSED)
        return lower_fused(lowering, group);
    if (group->kind == GROUP_MATMUL)
        return lower_matmul(lowering, group);
    if (node->kind == NODE_CAT)
        return lower_cat(lowering, group->first);
    if (node->kind == NODE_ASSIGN && node->op == OP_LOAD)
        return lower_copy(lowering, &node->inputs[1], node->inputs[0].node, &node->inputs[0].view);
    return lower_kernel(lowering, group->first);
}
