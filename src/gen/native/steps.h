/* A fused program for the CPU: passes over the elements of a row, each a list of steps over
 * tiles.
 *
 * A pass ends where a reduction must be complete before more can be computed. Element values
 * that a later pass needs are kept if the row is short enough, otherwise computed again: every
 * pass has a list for either case. Row values are computed between passes. Everything here
 * depends only on the program, not on sizes.
 */
#ifndef RIDGE_GEN_NATIVE_STEPS_H
#define RIDGE_GEN_NATIVE_STEPS_H

#include "base/status.h"
#include "gen/program.h"

/* What a value belongs to. */
enum value_class { VALUE_UNIFORM, VALUE_OF_ROW, VALUE_OF_ELEMENT };

enum { STEPS_PASSES_MAX = PROGRAM_INSTRUCTIONS_MAX + 2, STEPS_NO_PLACE = 0xffff };

struct step {
    uint8_t op;
    uint8_t type;     /* enum value_type that chooses the function: of the operands */
    uint8_t arity;    /* of an expression */
    uint8_t slot;     /* OP_LOAD, OP_STORE: the operand; reductions: their number */
    uint8_t direct;   /* the operand + 1 to which the result may be written at once, or 0 */
    uint8_t per_line; /* some operand is a value of the row */
    uint8_t squares;  /* a sum of the operand's squares */
    uint8_t lasting;  /* a load that is the same for all rows and is kept from row to row */
    uint16_t result;  /* number of the instruction */
    uint16_t operands[3];
    uint16_t tile; /* that holds the result */
    uint16_t kept; /* number among the kept values, or STEPS_NO_PLACE */
};

struct step_list {
    uint32_t first, count;
};

struct steps {
    uint8_t operand_count, constant_count, rank, outer;
    uint8_t dtypes[PROGRAM_OPERANDS_MAX];
    uint16_t instruction_count;
    uint16_t passes;      /* over the elements: at least 1 */
    uint16_t tiles;       /* maximum live at once */
    uint16_t kept_count;  /* values kept from pass to pass, or from row to row */
    uint16_t row_count;   /* values of the row or of everything: they have a place each */
    uint16_t reductions;  /* in all */
    uint32_t tile_values; /* elements of a tile */
    uint8_t class_of[PROGRAM_INSTRUCTIONS_MAX];     /* enum value_class */
    uint16_t place[PROGRAM_INSTRUCTIONS_MAX];       /* of values of the row and of everything */
    uint16_t constants[PROGRAM_INSTRUCTIONS_MAX];   /* the constant of an OP_CONSTANT */
    uint16_t kept_values[PROGRAM_INSTRUCTIONS_MAX]; /* instructions, by number among the kept */
    struct step_list uniform;                       /* once */
    struct step_list rows[STEPS_PASSES_MAX + 1];    /* before pass i, and after the last */
    struct step_list elements[2][STEPS_PASSES_MAX]; /* [1]: with values kept */
    struct step_list row_stores;                    /* at the end of the row */
    uint32_t step_count;
    struct step steps[]; /* that all lists are parts of */
};

/* Maximum bytes needed by steps_build(). `side_by_side`: tiles hold many rows, so loading is
 * expensive. */
size_t steps_bytes(const struct program *program);
void steps_build(const struct program *program, bool side_by_side, struct steps *steps);
/* The bytes that are used. */
size_t steps_used_bytes(const struct steps *steps);

#endif
