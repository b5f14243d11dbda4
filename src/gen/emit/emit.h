/* The building blocks of kernels of fused programs: values, operands' elements, scalars.
 * Instruction i's value is called value<i>, operand i's pointer at the row is row<i>. */
#ifndef RIDGE_GEN_EMIT_EMIT_H
#define RIDGE_GEN_EMIT_EMIT_H

#include "gen/emit/passes.h"
#include "gen/emit/program.h"

/* Where a program's launch scalars are. */
struct scalar_layout {
    unsigned rows, count; /* how many rows, and elements in each */
    unsigned sizes;       /* by axis */
    unsigned divisors;    /* by axis, for divide(); only when indices are narrow */
    unsigned strides;     /* of the STRIDE_ANY axes in turn, two in a scalar when narrow */
    unsigned constants;
    unsigned total;
    int16_t stride[PROGRAM_OPERANDS_MAX][RIDGE_RANK_MAX]; /* its number, or -1 */
};
void scalar_layout_make(const struct program *program, struct scalar_layout *layout);

/* The elements that a thread processes at once, and their positions. */
struct tile {
    unsigned vector;      /* neighbors */
    unsigned count;       /* vectors */
    const char *position; /* of vector `u` of this thread in the row, an expression; or NULL when */
    const char *axes;     /* these statements define the indices axis<n> instead */
    const char *condition; /* whether vector `u` exists; NULL: it does */
};

struct emitter {
    struct buffer *out;
    const struct program *program;
    struct passes passes;
    struct scalar_layout scalars;
    unsigned aligned;     /* bit i: operand i's vectors are aligned to their size (at most 16) */
    unsigned across;      /* bit i: operand i is read through shared memory, see emit_transpose.c */
    unsigned row_threads; /* threads of a row */
    bool keep;            /* as in passes_plan() */
    unsigned scratch;     /* words of shared memory that a reduction needs; 0: none */
    bool partial;         /* some rows of the block may not exist: see `inside` */
};

/* "float" or "int". */
const char *emit_type(enum value_type type);
/* The dtype's name in the prelude's macros: "F32". */
const char *emit_dtype(enum ridge_dtype dtype);
/* The expression of an operation, on the values of its operands. */
void emit_expression(struct buffer *out, const struct program *program, unsigned instruction);
/* The sum of index * stride over the axes first .. last - 1; the indices are called axis<n>. */
void emit_offset(const struct emitter *emitter, unsigned slot, unsigned first, unsigned last);
/* The operand's stride along an axis that is STRIDE_ANY. */
void emit_stride(const struct emitter *emitter, unsigned slot, unsigned axis);
/* Splits the index `index` into axis<first> .. axis<last - 1>. */
void emit_axes(const struct emitter *emitter, const char *index, unsigned first, unsigned last);
/* Declares the constants' values. */
void emit_constants(const struct emitter *emitter);

/* Declares row<i>, the operands' pointers at the row whose outer indices are axis<n>. */
void emit_row_pointers(const struct emitter *emitter);
/* Declares the values of the row (or of all elements) that need `level` reductions, except the
 * reductions themselves. */
void emit_uniform(const struct emitter *emitter, unsigned level);
/* Declares the divisors that all elements of the pass' tiles share. */
void emit_divisors(const struct emitter *emitter, const bool wanted[PROGRAM_INSTRUCTIONS_MAX]);
/* One tile of a pass: loads, computes, accumulates reductions (sum<i>, and carry<i> or
 * index<i>), stores. */
void emit_tile(const struct emitter *emitter, const struct tile *tile,
               const bool wanted[PROGRAM_INSTRUCTIONS_MAX]);

#endif
