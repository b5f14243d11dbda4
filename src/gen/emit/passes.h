/* The order in which a program's values are computed: passes over the elements of a row, with
 * the values of the row in between.
 *
 * A value's level is the length of the longest chain of reductions before it. Pass L walks the
 * elements and feeds the reductions whose operands have level L; the values of the row of level
 * L are computed just before it.
 */
#ifndef RIDGE_GEN_EMIT_PASSES_H
#define RIDGE_GEN_EMIT_PASSES_H

#include "gen/program.h"

struct passes {
    unsigned axis; /* the first axis of the elements: 0 without rows */
    unsigned levels;
    unsigned passes; /* over the elements; at most `levels` */
    unsigned reductions;
    bool choices;                           /* there is an argmax or argmin */
    bool needed[PROGRAM_INSTRUCTIONS_MAX];  /* something that is stored depends on it */
    bool uniform[PROGRAM_INSTRUCTIONS_MAX]; /* one value for the row (or for all, without rows) */
    uint8_t level[PROGRAM_INSTRUCTIONS_MAX];
    uint8_t pass[PROGRAM_INSTRUCTIONS_MAX]; /* of element values: where it is computed or loaded */
    bool held[PROGRAM_INSTRUCTIONS_MAX];    /* of element values: also used in a later pass */
};

/* When elements are kept, each is computed once and held for later passes; otherwise every pass
 * computes what it uses from the operands, and all stores of elements wait for the last one. */
void passes_plan(const struct program *program, bool keep, struct passes *passes);

/* Which element values (loads and stores included) pass `pass` computes. */
void passes_wanted(const struct program *program, const struct passes *passes, bool keep,
                   unsigned pass, bool wanted[PROGRAM_INSTRUCTIONS_MAX]);

/* Whether the operand has one element for all elements of a row; its store is then the row's. */
bool passes_row_operand(const struct program *program, const struct passes *passes, unsigned slot);

/* Whether OP_STORE instruction `i` is done once for the row. */
bool passes_row_store(const struct program *program, const struct passes *passes, unsigned i);

/* The operands of an instruction: their number, and the instructions that compute them. */
unsigned instruction_operands(const struct program_instruction *instruction, uint16_t operands[3]);

#endif
