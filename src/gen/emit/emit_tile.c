/* One pass over one tile: the loads of all its vectors first, so that they are in flight together,
 * then each element's arithmetic in registers, then the stores.
 *
 * Loaded and held values are arrays of the tile called kept<i>, stored ones arrays of a vector;
 * all other values are local to an element. All loops have constant bounds and are unrolled, so
 * arrays become registers.
 */
#include "gen/emit/emit.h"
#include "gen/emit/emit_transpose.h"

static void open_vectors(const struct emitter *emitter, const struct tile *tile) {
    buffer_printf(emitter->out, "UNROLL for (UINT32 u = 0; u < %u; u++) {\n", tile->count);
    if (tile->position)
        buffer_printf(emitter->out, "const INDEX at = %s;\n", tile->position);
    else
        buffer_string(emitter->out, tile->axes);
    if (tile->condition)
        buffer_printf(emitter->out, "if (%s) {\n", tile->condition);
    if (tile->position)
        emit_axes(emitter, "at", emitter->passes.axis, emitter->program->rank);
}

static void close_vectors(const struct emitter *emitter, const struct tile *tile) {
    buffer_string(emitter->out, tile->condition ? "}\n}\n" : "}\n");
}

static enum stride_kind last_stride(const struct program *program, unsigned slot) {
    return program->rank ? program->operands[slot].strides[program->rank - 1] : STRIDE_ZERO;
}

/* The place of element `e` of a vector, from `offset` on. */
static void emit_element(const struct emitter *emitter, unsigned slot) {
    enum stride_kind last = last_stride(emitter->program, slot);
    buffer_string(emitter->out, "offset");
    if (last == STRIDE_ONE)
        buffer_string(emitter->out, " + CAST(OFFSET, e)");
    if (last == STRIDE_ANY) {
        buffer_string(emitter->out, " + CAST(OFFSET, e) * ");
        emit_stride(emitter, slot, emitter->program->rank - 1);
    }
}

static void open_access(const struct emitter *emitter, unsigned slot) {
    buffer_string(emitter->out, "{\nconst OFFSET offset = ");
    emit_offset(emitter, slot, emitter->passes.axis, emitter->program->rank);
    buffer_string(emitter->out, ";\n");
}

static bool whole(const struct emitter *emitter, const struct tile *tile, unsigned slot) {
    return tile->vector > 1 && last_stride(emitter->program, slot) == STRIDE_ONE &&
           (emitter->aligned >> slot & 1);
}

/* Loads a vector: whole, as one element that is broadcast, or one element after the other. */
static void emit_load(const struct emitter *emitter, const struct tile *tile, unsigned i) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    unsigned slot = program->instructions[i].slot, vector = tile->vector;
    const char *dtype = emit_dtype(program->operands[slot].dtype);
    if (emitter->across >> slot & 1) {
        emit_transpose_load(emitter, i);
        return;
    }
    open_access(emitter, slot);
    if (whole(emitter, tile, slot)) {
        buffer_printf(out, "LOAD_%s_%u(AT(row%u, offset), kept%u, u * %u);\n}\n", dtype, vector,
                      slot, i, vector);
        return;
    }
    bool once = last_stride(program, slot) == STRIDE_ZERO;
    if (once)
        buffer_printf(out, "const %s once = LOAD_%s(row%u, offset);\n",
                      emit_type(program->instructions[i].type), dtype, slot);
    buffer_printf(out, "UNROLL for (UINT32 e = 0; e < %u; e++)\nkept%u[u * %u + e] = ", vector, i,
                  vector);
    if (once) {
        buffer_string(out, "once;\n}\n");
        return;
    }
    buffer_printf(out, "LOAD_%s(row%u, ", dtype, slot);
    emit_element(emitter, slot);
    buffer_string(out, ");\n}\n");
}

static void emit_store(const struct emitter *emitter, const struct tile *tile, unsigned i) {
    struct buffer *out = emitter->out;
    unsigned slot = emitter->program->instructions[i].slot;
    const char *dtype = emit_dtype(emitter->program->operands[slot].dtype);
    open_access(emitter, slot);
    if (whole(emitter, tile, slot)) {
        buffer_printf(out, "STORE_%s_%u(AT(row%u, offset), stored%u);\n}\n", dtype, tile->vector,
                      slot, i);
        return;
    }
    buffer_printf(out, "UNROLL for (UINT32 e = 0; e < %u; e++)\nSTORE_%s(row%u, ", tile->vector,
                  dtype, slot);
    emit_element(emitter, slot);
    buffer_printf(out, ", stored%u[e]);\n}\n", i);
}

static void emit_loads(const struct emitter *emitter, const struct tile *tile, const bool *wanted) {
    const struct program *program = emitter->program;
    bool any = false;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        if (!wanted[i] || program->instructions[i].op != OP_LOAD)
            continue;
        any = true;
        if (!emitter->passes.held[i])
            buffer_printf(emitter->out, "%s kept%u[%u];\n",
                          emit_type(program->instructions[i].type), i, tile->count * tile->vector);
    }
    if (!any)
        return;
    open_vectors(emitter, tile);
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (wanted[i] && program->instructions[i].op == OP_LOAD)
            emit_load(emitter, tile, i);
    close_vectors(emitter, tile);
}

/* Sums are accumulated per vector first: shorter chains of additions, smaller errors. */
static bool sums_floats(const struct program *program, unsigned i) {
    return program->instructions[i].op == OP_REDUCE_SUM &&
           program->instructions[i].type == VALUE_F32;
}

static void emit_reduction(const struct emitter *emitter, unsigned i) {
    const struct program *program = emitter->program;
    const struct program_instruction *self = &program->instructions[i];
    const char *suffix = program->instructions[self->a].type == VALUE_I32 ? "_INT" : "";
    switch ((enum op)self->op) {
    case OP_REDUCE_SUM:
        if (sums_floats(program, i))
            buffer_printf(emitter->out, "part%u += value%u;\n", i, self->a);
        else
            buffer_printf(emitter->out, "sum%u = COMBINE_SUM_INT(sum%u, value%u);\n", i, i,
                          self->a);
        break;
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
        buffer_printf(emitter->out, "sum%u = COMBINE_%s%s(sum%u, value%u);\n", i,
                      self->op == OP_REDUCE_MAX ? "MAX" : "MIN", suffix, i, self->a);
        break;
    default:
        buffer_printf(emitter->out,
                      "if (AFTER_%s(sum%u, value%u))\n"
                      "sum%u = value%u, index%u = CAST(int, at + e);\n",
                      self->op == OP_REDUCE_ARGMAX ? "ARGMAX" : "ARGMIN", i, self->a, i, self->a,
                      i);
    }
}

/* A quotient whose divisor is the same for all elements. */
static bool divides_by_one(const struct emitter *emitter, unsigned i) {
    const struct program_instruction *self = &emitter->program->instructions[i];
    return self->op == OP_DIV && self->type == VALUE_F32 && emitter->passes.uniform[self->b];
}

void emit_divisors(const struct emitter *emitter, const bool wanted[PROGRAM_INSTRUCTIONS_MAX]) {
    for (unsigned i = 0; i < emitter->program->instruction_count; i++)
        if (wanted[i] && divides_by_one(emitter, i))
            buffer_printf(emitter->out, "const DIVISOR divisor%u = divisor_of(value%u);\n", i,
                          emitter->program->instructions[i].b);
}

/* Element `e` of vector `u`: its values in order. */
static void emit_values(const struct emitter *emitter, const struct tile *tile, const bool *wanted,
                        const bool *read) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        const char *type = emit_type(self->type);
        if (read[i]) {
            buffer_printf(out, "const %s value%u = kept%u[u * %u + e];\n", type, i, i,
                          tile->vector);
        } else if (!wanted[i] || self->op == OP_LOAD) {
            continue; /* a load that only later passes read is in its array already */
        } else if (op_is_reduction(self->op)) {
            emit_reduction(emitter, i);
        } else if (self->op == OP_STORE) {
            buffer_printf(out, "stored%u[e] = value%u;\n", i, self->a);
        } else {
            buffer_printf(out, "const %s value%u = ", type, i);
            if (divides_by_one(emitter, i))
                buffer_printf(out, "divide_by(value%u, divisor%u)", self->a, i);
            else
                emit_expression(out, program, i);
            buffer_string(out, ";\n");
            if (emitter->passes.held[i])
                buffer_printf(out, "kept%u[u * %u + e] = value%u;\n", i, tile->vector, i);
        }
    }
}

/* The values that the pass reads from arrays: its own loads, and those of earlier passes. */
static void find_read(const struct emitter *emitter, const bool *wanted, bool *read) {
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        read[i] = false;
        uint16_t operands[3];
        unsigned count = instruction_operands(&program->instructions[i], operands);
        for (unsigned k = 0; k < count && wanted[i]; k++) {
            unsigned from = operands[k];
            if (!emitter->passes.uniform[from])
                read[from] = !wanted[from] || program->instructions[from].op == OP_LOAD;
        }
    }
}

void emit_tile(const struct emitter *emitter, const struct tile *tile,
               const bool wanted[PROGRAM_INSTRUCTIONS_MAX]) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    bool read[PROGRAM_INSTRUCTIONS_MAX];
    find_read(emitter, wanted, read);
    emit_loads(emitter, tile, wanted);
    open_vectors(emitter, tile);
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        if (wanted[i] && self->op == OP_STORE)
            buffer_printf(out, "%s stored%u[%u];\n", emit_type(program->instructions[self->a].type),
                          i, tile->vector);
        if (wanted[i] && sums_floats(program, i))
            buffer_printf(out, "float part%u = 0.0f;\n", i);
    }
    buffer_printf(out, "UNROLL for (UINT32 e = 0; e < %u; e++) {\n", tile->vector);
    emit_values(emitter, tile, wanted, read);
    buffer_string(out, "}\n");
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (wanted[i] && sums_floats(program, i))
            buffer_printf(out,
                          emitter->keep ? "sum%u += part%u;\n"
                                        : "ADD_COMPENSATED(sum%u, carry%u, part%u);\n",
                          i, i, i);
    if (emitter->partial)
        buffer_string(out, "if (inside) {\n");
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (wanted[i] && program->instructions[i].op == OP_STORE)
            emit_store(emitter, tile, i);
    if (emitter->partial)
        buffer_string(out, "}\n");
    close_vectors(emitter, tile);
}
