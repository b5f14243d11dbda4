/* Builds fused programs, and computes their flops, bytes and keys. */
#include "gen/program.h"

#include <string.h>

int program_instruction(struct program *program, struct program_instruction instruction) {
    if (program->instruction_count == PROGRAM_INSTRUCTIONS_MAX)
        return -1;
    program->instructions[program->instruction_count] = instruction;
    return program->instruction_count++;
}

int program_operand(struct program *program, enum ridge_dtype dtype, bool stored) {
    if (program->operand_count == PROGRAM_OPERANDS_MAX)
        return -1;
    program->operands[program->operand_count] =
        (struct program_operand){.dtype = (uint8_t)dtype, .stored = stored};
    return program->operand_count++;
}

/* Whether walking axis `axis` and then axis + 1 is, for all operands, walking one longer axis. */
static bool joins(const struct program *program, const struct program_shape *shape, unsigned axis) {
    for (unsigned i = 0; i < program->operand_count; i++)
        if (shape->strides[i][axis] != shape->strides[i][axis + 1] * shape->sizes[axis + 1])
            return false;
    return true;
}

static void drop_axis(struct program *program, struct program_shape *shape, unsigned axis) {
    for (unsigned next = axis; next + 1 < program->rank; next++) {
        shape->sizes[next] = shape->sizes[next + 1];
        for (unsigned i = 0; i < program->operand_count; i++)
            shape->strides[i][next] = shape->strides[i][next + 1];
    }
    program->rank--;
    if (axis < program->outer)
        program->outer--;
}

/* Merges the axes first .. last - 1 where possible, leaving at least `min`. Returns the new
 * last. */
static unsigned collapse(struct program *program, struct program_shape *shape, unsigned first,
                         unsigned last, unsigned min) {
    for (unsigned axis = first; axis < last && last - first > min;) {
        if (shape->sizes[axis] == 1) {
            drop_axis(program, shape, axis);
            last--;
        } else {
            axis++;
        }
    }
    for (unsigned axis = first; axis + 1 < last;) {
        if (!joins(program, shape, axis)) {
            axis++;
            continue;
        }
        shape->sizes[axis + 1] *= shape->sizes[axis];
        drop_axis(program, shape, axis);
        last--;
    }
    return last;
}

void program_set_strides(struct program *program, const struct program_shape *shape) {
    for (unsigned i = 0; i < program->operand_count; i++)
        for (unsigned axis = 0; axis < program->rank; axis++) {
            int64_t stride = shape->strides[i][axis];
            program->operands[i].strides[axis] =
                stride == 0 || shape->sizes[axis] == 1      ? STRIDE_ZERO
                : stride == 1 && axis == program->rank - 1u ? STRIDE_ONE
                                                            : STRIDE_ANY;
        }
}

void program_collapse(struct program *program, struct program_shape *shape) {
    bool rows = program->rank > program->outer;
    unsigned outer = collapse(program, shape, 0, program->outer, rows ? 0 : 1);
    collapse(program, shape, outer, program->rank, 1);
    program_set_strides(program, shape);
}

uint64_t program_flops(const struct program *program, const struct program_shape *shape) {
    uint64_t rows = 1, elements = 1;
    for (unsigned axis = 0; axis < program->rank; axis++)
        *(axis < program->outer ? &rows : &elements) *= (uint64_t)shape->sizes[axis];
    uint64_t flops = 0;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        bool of_row = instruction->of_row && !op_is_reduction(instruction->op);
        flops += op_info(instruction->op)->flops * rows * (of_row ? 1 : elements);
    }
    return flops;
}

size_t program_key(const struct program *program, unsigned char *key, size_t capacity) {
    size_t head = offsetof(struct program, operands);
    size_t operands = program->operand_count * sizeof program->operands[0];
    size_t instructions = program->instruction_count * sizeof program->instructions[0];
    if (head + operands + instructions > capacity)
        return 0;
    memcpy(key, program, head);
    memcpy(key + head, program->operands, operands);
    memcpy(key + head + operands, program->instructions, instructions);
    return head + operands + instructions;
}
