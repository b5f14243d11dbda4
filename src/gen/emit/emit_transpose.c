/* A transposition inside a program: a block processes a square of the space, reads the
 * transposed operands along their own axis into shared memory, and continues along the result's
 * axis. Both directions use whole lines of memory. The square has one extra column, so that
 * accesses in either direction hit different banks. */
#include "gen/emit/emit_transpose.h"

#include <stdio.h>

#include "gen/emit/schedule.h"

/* Thread (x, y) of the block, in step u: x along a line of memory, y counts lines. */
#define ALONG "(THREAD_X & 31)"
#define LINE "(THREAD_X / 32 + u * 8)"
_Static_assert(SQUARE_SIDE == 32, "the source above has this size");

void emit_transpose_load(const struct emitter *emitter, unsigned i) {
    const struct program_instruction *self = &emitter->program->instructions[i];
    buffer_printf(emitter->out, "kept%u[u] = %s(square%u[" LINE " * 33 + " ALONG "]);\n", i,
                  self->type == VALUE_F32 ? "AS_FLOAT" : "AS_INT", self->slot);
}

/* The loop over squares; which one, from the last axis to the first. */
static void open_squares(const struct emitter *emitter, unsigned axis) {
    struct buffer *out = emitter->out;
    unsigned last = emitter->program->rank - 1, sizes = emitter->scalars.sizes;
    buffer_printf(out, "const INDEX size%u = CAST(INDEX, scalars.v[%u]);\n", axis, sizes + axis);
    buffer_printf(out, "const INDEX size%u = CAST(INDEX, scalars.v[%u]);\n", last, sizes + last);
    buffer_printf(out, "const INDEX across%u = (size%u + 31) / 32;\n", axis, axis);
    buffer_printf(out, "const INDEX across%u = (size%u + 31) / 32;\n", last, last);
    buffer_printf(out, "const INDEX squares = across%u * across%u", axis, last);
    for (unsigned other = 0; other < last; other++)
        if (other != axis)
            buffer_printf(out, " * CAST(INDEX, scalars.v[%u])", sizes + other);
    buffer_string(out, ";\nfor (INDEX square = BLOCK_X; square < squares; square += GRID_X) {\n"
                       "INDEX rest = square;\n");
    buffer_printf(out, "const INDEX first%u = rest %% across%u * 32;\nrest /= across%u;\n", last,
                  last, last);
    buffer_printf(out, "const INDEX first%u = rest %% across%u * 32;\nrest /= across%u;\n", axis,
                  axis, axis);
    for (unsigned other = last; other-- > 0;)
        if (other != axis)
            buffer_printf(out,
                          "const INDEX axis%u = rest %% CAST(INDEX, scalars.v[%u]);\n"
                          "rest /= CAST(INDEX, scalars.v[%u]);\n",
                          other, sizes + other, sizes + other);
}

/* Fills the squares: threads along `axis`. */
static void emit_squares(const struct emitter *emitter, unsigned axis) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    unsigned last = program->rank - 1;
    buffer_printf(out, "UNROLL for (UINT32 u = 0; u < %u; u++) {\n", program->schedule.per_thread);
    buffer_printf(out, "const INDEX axis%u = first%u + " ALONG ", axis%u = first%u + " LINE ";\n",
                  axis, axis, last, last);
    buffer_printf(out, "if (axis%u < size%u && axis%u < size%u) {\n", axis, axis, last, last);
    for (unsigned i = 0; i < program->operand_count; i++) {
        if (!(emitter->across >> i & 1))
            continue;
        buffer_printf(out, "square%u[" ALONG " * 33 + " LINE "] = %s(LOAD_%s(row%u, ", i,
                      value_type_of(program->operands[i].dtype) == VALUE_F32 ? "AS_UINT"
                                                                             : "INT_AS_UINT",
                      emit_dtype(program->operands[i].dtype), i);
        emit_offset(emitter, i, 0, program->rank);
        buffer_string(out, "));\n");
    }
    buffer_string(out, "}\n}\n");
}

void emit_transpose_shared(const struct emitter *emitter) {
    for (unsigned i = 0; i < emitter->program->operand_count; i++)
        if (emitter->across >> i & 1)
            buffer_printf(emitter->out, "SHARED UINT32 square%u[32 * 33];\n", i);
}

void emit_transpose(const struct emitter *emitter, unsigned axis) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    unsigned last = program->rank - 1;
    bool wanted[PROGRAM_INSTRUCTIONS_MAX];
    passes_wanted(program, &emitter->passes, true, 0, wanted);
    emit_row_pointers(emitter);
    emit_uniform(emitter, 0);
    emit_divisors(emitter, wanted);
    open_squares(emitter, axis);
    emit_squares(emitter, axis);
    char axes[160], condition[64];
    snprintf(axes, sizeof axes,
             "const INDEX axis%u = first%u + " LINE ", axis%u = first%u + " ALONG ";\n", axis, axis,
             last, last);
    snprintf(condition, sizeof condition, "axis%u < size%u && axis%u < size%u", axis, axis, last,
             last);
    struct tile tile = {
        .vector = 1, .count = program->schedule.per_thread, .axes = axes, .condition = condition};
    buffer_string(out, "BARRIER();\n");
    emit_tile(emitter, &tile, wanted);
    buffer_string(out, "BARRIER();\n}\n");
}
