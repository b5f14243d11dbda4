/* The epilogue of a matrix product: a program without rows, applied to one element by a kernel that
 * knows its indices. */
#include <stddef.h>

#include "gen/emit/emit.h"

unsigned source_program_scalars(const struct program *program, const struct program_shape *shape,
                                int64_t *scalars) {
    unsigned count = 0;
    for (unsigned i = 0; i < program->operand_count; i++)
        for (unsigned axis = 0; axis < program->rank; axis++) {
            if (program->operands[i].strides[axis] != STRIDE_ANY)
                continue;
            if (scalars)
                scalars[count] = shape->strides[i][axis];
            count++;
        }
    for (unsigned i = 0; i < program->constant_count; i++, count++)
        if (scalars)
            scalars[count] = (uint32_t)shape->constants[i].i32;
    return count;
}

/* Indices are 64 bits wide here: one element's worth of them is little beside the product. */
static void emit_place(struct buffer *out, const struct program *program, unsigned slot,
                       unsigned first_scalar) {
    static const char *const indices[3] = {"epilogue_batch", "epilogue_row", "epilogue_column"};
    unsigned scalar = first_scalar;
    for (unsigned i = 0; i < slot; i++)
        for (unsigned axis = 0; axis < program->rank; axis++)
            scalar += program->operands[i].strides[axis] == STRIDE_ANY;
    buffer_string(out, "0");
    for (unsigned axis = 0; axis < program->rank; axis++) {
        enum stride_kind kind = program->operands[slot].strides[axis];
        if (kind == STRIDE_ONE)
            buffer_printf(out, " + %s", indices[axis]);
        if (kind == STRIDE_ANY)
            buffer_printf(out, " + %s * scalars.v[%u]", indices[axis], scalar++);
    }
}

static void emit_epilogue_value(struct buffer *out, const struct program *program, unsigned i,
                                unsigned first_scalar) {
    const struct program_instruction *self = &program->instructions[i];
    const struct program_operand *operand = &program->operands[self->slot];
    if (self->op == OP_STORE) {
        buffer_printf(out, "STORE_%s(operand%u, ", emit_dtype(operand->dtype), self->slot);
        emit_place(out, program, self->slot, first_scalar);
        buffer_printf(out, ", value%u);\n", self->a);
        return;
    }
    buffer_printf(out, "const %s value%u = ", emit_type(self->type), i);
    if (self->op == OP_LOAD) {
        buffer_printf(out, "LOAD_%s(operand%u, ", emit_dtype(operand->dtype), self->slot);
        emit_place(out, program, self->slot, first_scalar);
        buffer_string(out, ")");
    } else if (self->op == OP_CONSTANT) {
        unsigned scalar = first_scalar + source_program_scalars(program, NULL, NULL) -
                          program->constant_count + self->slot;
        buffer_printf(out,
                      self->type == VALUE_F32 ? "AS_FLOAT(CAST(UINT32, scalars.v[%u]))"
                                              : "CAST(int, scalars.v[%u])",
                      scalar);
    } else if (self->op == OP_ACCUMULATOR) {
        buffer_string(out, "epilogue_accumulator");
    } else {
        emit_expression(out, program, i);
    }
    buffer_string(out, ";\n");
}

bool source_epilogue(struct buffer *out, const struct program *program,
                     enum device_language language, unsigned first_scalar, const char *accumulator,
                     const char *batch, const char *row, const char *column) {
    (void)language;
    if (program->rank > 3)
        return false;
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (op_is_reduction(program->instructions[i].op))
            return false;
    buffer_printf(out,
                  "{\nconst float epilogue_accumulator = %s;\nconst INT64 epilogue_batch = %s, "
                  "epilogue_row = %s, epilogue_column = %s;\n",
                  accumulator, batch, row, column);
    for (unsigned i = 0; i < program->instruction_count; i++)
        emit_epilogue_value(out, program, i, first_scalar);
    buffer_string(out, "}\n");
    return true;
}
