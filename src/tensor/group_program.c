/* A group of nodes as one program: instructions in the order of the nodes, a load for each
 * outside operand, a store for each result that is needed outside. */
#include <string.h>

#include "tensor/fuse.h"

struct writing {
    const struct fusion *fusion;
    const struct group *group;
    struct group_program *out;
    int values[PROGRAM_INSTRUCTIONS_MAX]; /* instruction of the group's nodes, in order */
    uint32_t nodes[PROGRAM_INSTRUCTIONS_MAX];
    unsigned node_count;
    bool rows; /* the group has reductions */
    bool full; /* something did not fit */
};

static int add(struct writing *writing, struct program_instruction instruction) {
    int number = program_instruction(&writing->out->program, instruction);
    if (number < 0)
        writing->full = true;
    return number < 0 ? 0 : number;
}

static int find_operand(struct writing *writing, const struct group_operand *operand) {
    struct group_program *out = writing->out;
    for (unsigned i = 0; i < out->program.operand_count; i++) {
        const struct group_operand *other = &out->operands[i];
        if (other->node == operand->node && other->stored == operand->stored &&
            other->offset == operand->offset &&
            memcmp(other->strides, operand->strides, sizeof operand->strides) == 0)
            return (int)i;
    }
    int number = program_operand(&out->program, writing->fusion->graph->nodes[operand->node].dtype,
                                 operand->stored);
    if (number < 0) {
        writing->full = true;
        return 0;
    }
    out->operands[number] = *operand;
    return number;
}

static bool repeats_in_row(const struct group *group, const int64_t *strides) {
    for (unsigned axis = 0; axis < group->rank; axis++)
        if ((group->reduced & 1u << axis) && strides[axis] != 0)
            return false;
    return true;
}

/* `axes` are those along which the reader reads. */
static int emit_load_instruction(struct writing *writing, const struct node_input *input,
                                 uint32_t axes, bool for_reduction) {
    struct group_operand operand = {.node = input->node, .offset = input->view.offset};
    group_strides(writing->group, axes, &input->view, operand.strides);
    int slot = find_operand(writing, &operand);
    bool of_row =
        writing->rows && !for_reduction && repeats_in_row(writing->group, operand.strides);
    enum ridge_dtype dtype = writing->fusion->graph->nodes[input->node].dtype;
    struct program *program = &writing->out->program;
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (program->instructions[i].op == OP_LOAD && program->instructions[i].slot == slot &&
            program->instructions[i].of_row == of_row)
            return (int)i;
    return add(writing, (struct program_instruction){.op = OP_LOAD,
                                                     .type = (uint8_t)value_type_of(dtype),
                                                     .of_row = of_row,
                                                     .slot = (uint8_t)slot});
}

static int constant(struct writing *writing, const struct node *node) {
    struct program *program = &writing->out->program;
    enum value_type type = value_type_of(node->dtype);
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *other = &program->instructions[i];
        if (other->op == OP_CONSTANT && other->type == type &&
            memcmp(&writing->out->constants[other->slot], &node->parameters.value,
                   sizeof(double)) == 0)
            return (int)i;
    }
    if (program->constant_count == PROGRAM_CONSTANTS_MAX) {
        writing->full = true;
        return 0;
    }
    writing->out->constants[program->constant_count] = node->parameters.value;
    return add(writing, (struct program_instruction){.op = OP_CONSTANT,
                                                     .type = (uint8_t)type,
                                                     .of_row = writing->rows,
                                                     .slot = program->constant_count++});
}

static int value_of(const struct writing *writing, uint32_t node) {
    for (unsigned i = writing->node_count; i-- > 0;)
        if (writing->nodes[i] == node)
            return writing->values[i];
    return -1;
}

static int operand_value(struct writing *writing, uint32_t reader, unsigned index) {
    const struct fusion *fusion = writing->fusion;
    const struct node *node = &fusion->graph->nodes[reader];
    const struct node_input *input = &node->inputs[index];
    if (fusion->graph->nodes[input->node].kind == NODE_CONSTANT)
        return constant(writing, &fusion->graph->nodes[input->node]);
    int value = value_of(writing, input->node);
    if (value >= 0)
        return value;
    bool reduces = node->kind == NODE_REDUCE;
    return emit_load_instruction(
        writing, input, reduces ? group_all_axes(writing->group) : fusion->axes[reader], reduces);
}

/* Results wider than their type: bytes wrap before further use. */
static int wrap(struct writing *writing, const struct node *node, int value, bool of_row) {
    if (node->dtype != RIDGE_U8 || op_info(node->op)->rule != RULE_ARITHMETIC ||
        node->op >= OP_ELEMENTWISE_COUNT)
        return value;
    return add(writing,
               (struct program_instruction){
                   .op = OP_TO_U8, .type = VALUE_I32, .of_row = of_row, .a = (uint16_t)value});
}

/* Whether the node has one value for a whole row. */
static bool is_of_row(const struct writing *writing, uint32_t n) {
    return writing->rows && !(writing->fusion->axes[n] & writing->group->reduced);
}

static int compute(struct writing *writing, uint32_t n) {
    const struct node *node = &writing->fusion->graph->nodes[n];
    if (node->kind == NODE_MATMUL)
        return add(writing, (struct program_instruction){.op = OP_ACCUMULATOR, .type = VALUE_F32});
    int operands[3] = {0};
    for (uint32_t i = 0; i < node->input_count; i++)
        operands[i] = operand_value(writing, n, i);
    if (node->op == OP_LOAD)
        return operands[0];
    bool of_row = is_of_row(writing, n);
    int value =
        add(writing, (struct program_instruction){.op = (uint8_t)node->op,
                                                  .type = (uint8_t)value_type_of(node->dtype),
                                                  .of_row = of_row,
                                                  .a = (uint16_t)operands[0],
                                                  .b = (uint16_t)operands[1],
                                                  .c = (uint16_t)operands[2]});
    return node->kind == NODE_REDUCE ? value : wrap(writing, node, value, of_row);
}

static void store(struct writing *writing, uint32_t n, int value) {
    const struct node *node = &writing->fusion->graph->nodes[n];
    bool of_row = is_of_row(writing, n);
    struct group_operand operand = {.node = n, .stored = true};
    group_strides(writing->group, writing->fusion->axes[n], &node->shape, operand.strides);
    int slot = find_operand(writing, &operand);
    add(writing, (struct program_instruction){.op = OP_STORE,
                                              .type = (uint8_t)value_type_of(node->dtype),
                                              .of_row = of_row,
                                              .slot = (uint8_t)slot,
                                              .a = (uint16_t)value});
}

bool group_program(const struct fusion *fusion, const struct group *group,
                   struct group_program *out) {
    memset(out, 0, sizeof *out);
    struct writing writing = {
        .fusion = fusion, .group = group, .out = out, .rows = group->reduced != 0};
    if (group->count > PROGRAM_INSTRUCTIONS_MAX)
        return false;
    FOR_EACH_NODE(fusion, group, n) {
        if (writing.full)
            return false;
        int value = compute(&writing, n);
        writing.nodes[writing.node_count] = n;
        writing.values[writing.node_count++] = value;
        if (fusion->stored[n])
            store(&writing, n, value);
    }
    /* Sizes, strides and constants travel as scalars of the launch, beside a few of the kernel's.
     */
    unsigned scalars =
        (out->program.operand_count + 1u) * (group->rank + 1u) + out->program.constant_count;
    if (group->count > 1 && scalars > LAUNCH_SCALARS_MAX - 16)
        return false;
    /* A product with a separate epilogue needs one more: the product itself. */
    return !writing.full &&
           (group->kind != GROUP_MATMUL || out->program.operand_count < PROGRAM_OPERANDS_MAX);
}
