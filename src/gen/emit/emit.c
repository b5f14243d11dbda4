/* Expressions, indices and scalars of fused programs as text. */
#include "gen/emit/emit.h"

#include <ctype.h>
#include <stdio.h>

const char *emit_type(enum value_type type) {
    return type == VALUE_F32 ? "float" : "int";
}

const char *emit_dtype(enum ridge_dtype dtype) {
    static const char *const words[] = {[RIDGE_F32] = "F32",
                                        [RIDGE_F16] = "F16",
                                        [RIDGE_BF16] = "BF16",
                                        [RIDGE_I32] = "I32",
                                        [RIDGE_U8] = "U8"};
    return words[dtype];
}

/* Which of an operation's expressions applies: that of its operands' type. */
static const char *expression_of(const struct program *program,
                                 const struct program_instruction *instruction) {
    const struct op_info *info = op_info(instruction->op);
    enum value_type type =
        info->rule == RULE_WHERE ? instruction->type : program->instructions[instruction->a].type;
    return type == VALUE_F32 ? info->f32 : info->i32;
}

void emit_expression(struct buffer *out, const struct program *program, unsigned instruction) {
    const struct program_instruction *self = &program->instructions[instruction];
    const char *text = expression_of(program, self);
    while (text && *text) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '.')
            length++;
        if (length == 1 && *text >= 'x' && *text <= 'z')
            buffer_printf(out, "value%u",
                          *text == 'x'   ? self->a
                          : *text == 'y' ? self->b
                                         : self->c);
        else
            buffer_append(out, text, length ? length : 1);
        text += length ? length : 1;
    }
}

void scalar_layout_make(const struct program *program, struct scalar_layout *layout) {
    unsigned strides = 0;
    for (unsigned i = 0; i < program->operand_count; i++)
        for (unsigned axis = 0; axis < program->rank; axis++)
            layout->stride[i][axis] =
                program->operands[i].strides[axis] == STRIDE_ANY ? (int16_t)strides++ : -1;
    bool wide = program->schedule.wide;
    layout->rows = 0;
    layout->count = 1;
    layout->sizes = 2;
    layout->divisors = layout->sizes + program->rank;
    layout->strides = layout->divisors + (wide ? 0 : program->rank);
    layout->constants = layout->strides + (wide ? strides : (strides + 1) / 2);
    layout->total = layout->constants + program->constant_count;
}

void emit_stride(const struct emitter *emitter, unsigned slot, unsigned axis) {
    unsigned number = (unsigned)emitter->scalars.stride[slot][axis];
    if (emitter->program->schedule.wide)
        buffer_printf(emitter->out, "scalars.v[%u]", emitter->scalars.strides + number);
    else
        buffer_printf(emitter->out, "CAST(int, scalars.v[%u]%s)",
                      emitter->scalars.strides + number / 2, number % 2 ? " >> 32" : "");
}

void emit_offset(const struct emitter *emitter, unsigned slot, unsigned first, unsigned last) {
    const char *plus = "";
    for (unsigned axis = first; axis < last; axis++) {
        enum stride_kind kind = emitter->program->operands[slot].strides[axis];
        if (kind == STRIDE_ZERO)
            continue;
        buffer_printf(emitter->out, "%sCAST(OFFSET, axis%u)", plus, axis);
        if (kind == STRIDE_ANY) {
            buffer_string(emitter->out, " * ");
            emit_stride(emitter, slot, axis);
        }
        plus = " + ";
    }
    if (!*plus)
        buffer_string(emitter->out, "0");
}

void emit_axes(const struct emitter *emitter, const char *index, unsigned first, unsigned last) {
    struct buffer *out = emitter->out;
    if (first == last)
        return;
    bool wide = emitter->program->schedule.wide;
    const char *rest = index;
    char names[RIDGE_RANK_MAX][16];
    for (unsigned axis = last - 1; axis > first; axis--) {
        unsigned size = emitter->scalars.sizes + axis;
        snprintf(names[axis], sizeof names[axis], "above%u", axis);
        if (wide)
            buffer_printf(out, "const INDEX above%u = %s / CAST(INDEX, scalars.v[%u]);\n", axis,
                          rest, size);
        else
            buffer_printf(out, "const INDEX above%u = divide(%s, scalars.v[%u]);\n", axis, rest,
                          emitter->scalars.divisors + axis);
        buffer_printf(out, "const INDEX axis%u = %s - above%u * CAST(INDEX, scalars.v[%u]);\n",
                      axis, rest, axis, size);
        rest = names[axis];
    }
    buffer_printf(out, "const INDEX axis%u = %s;\n", first, rest);
}

void emit_constants(const struct emitter *emitter) {
    for (unsigned i = 0; i < emitter->program->instruction_count; i++) {
        const struct program_instruction *self = &emitter->program->instructions[i];
        if (self->op != OP_CONSTANT || !emitter->passes.needed[i])
            continue;
        unsigned scalar = emitter->scalars.constants + self->slot;
        if (self->type == VALUE_F32)
            buffer_printf(emitter->out,
                          "const float value%u = AS_FLOAT(CAST(UINT32, scalars.v[%u]));\n", i,
                          scalar);
        else
            buffer_printf(emitter->out, "const int value%u = CAST(int, scalars.v[%u]);\n", i,
                          scalar);
    }
}

void emit_row_pointers(const struct emitter *emitter) {
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->operand_count; i++) {
        const struct program_operand *operand = &program->operands[i];
        buffer_printf(emitter->out, "%sPOINTER(%s) row%u = AT(operand%u, ",
                      operand->stored ? "" : "CONST_", source_storage(operand->dtype), i, i);
        emit_offset(emitter, i, 0, emitter->passes.axis);
        buffer_string(emitter->out, ");\n");
    }
}

void emit_uniform(const struct emitter *emitter, unsigned level) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        if (!emitter->passes.needed[i] || !emitter->passes.uniform[i] ||
            emitter->passes.level[i] != level ||
            (self->op != OP_LOAD && self->op >= OP_EXPRESSIONS))
            continue;
        buffer_printf(out, "const %s value%u = ", emit_type(self->type), i);
        if (self->op == OP_LOAD)
            buffer_printf(out, "LOAD_%s(row%u, 0)", emit_dtype(program->operands[self->slot].dtype),
                          self->slot);
        else
            emit_expression(out, program, i);
        buffer_string(out, ";\n");
    }
}
