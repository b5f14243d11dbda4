/* A fused program: elementwise operations and reductions over one space of indices.
 *
 * The space has `rank` axes; the first `outer` of them index the rows, the rest (none, for a
 * purely elementwise program) are the elements of a row, over which reductions run. An
 * instruction's value is either of every element or of every row: a reduction gives a value of
 * the row, and so does an operation on nothing but values of the row. softmax is
 *
 *   0 load operand 0        3 exp 2              6 store 5 to operand 1
 *   1 amax 0  (of the row)  4 sum 3  (of the row)
 *   2 sub 0 1               5 div 3 4
 *
 * A program is everything that a kernel's code depends on, so two launches with equal programs
 * share one kernel; sizes, strides and the values of constants come with the launch. Values are f32
 * or i32: f16 and bf16 operands are widened on load and rounded on store, u8 likewise to i32.
 */
#ifndef RIDGE_GEN_PROGRAM_H
#define RIDGE_GEN_PROGRAM_H

#include "gen/ops.h"

enum {
    PROGRAM_OPERANDS_MAX = 16,
    PROGRAM_INSTRUCTIONS_MAX = 160,
    PROGRAM_CONSTANTS_MAX = 32,
};

enum value_type { VALUE_F32, VALUE_I32 };

/* How an operand walks an axis. */
enum stride_kind {
    STRIDE_ZERO, /* broadcast */
    STRIDE_ONE,  /* last axis: neighbors; the axis' stride is 1 */
    STRIDE_ANY,  /* set by the launch */
};

struct program_operand {
    uint8_t dtype;                   /* enum ridge_dtype, not quantized */
    uint8_t stored;                  /* written, else read */
    uint8_t strides[RIDGE_RANK_MAX]; /* enum stride_kind, by axis */
};

struct program_instruction {
    uint8_t op;       /* enum op: an expression, a reduction, OP_LOAD, OP_STORE, OP_CONSTANT,
                         OP_ACCUMULATOR */
    uint8_t type;     /* enum value_type of the result */
    uint8_t of_row;   /* one value for the row, not for each element */
    uint8_t slot;     /* OP_LOAD, OP_STORE: the operand; OP_CONSTANT: the constant */
    uint16_t a, b, c; /* numbers of earlier instructions; OP_STORE stores a */
};

/* How the kernel is laid out on the device: chosen by source_program(). */
enum schedule_kind {
    SCHEDULE_MAP,        /* no rows: a thread per `vector` elements, striding over the grid */
    SCHEDULE_ROW_BLOCK,  /* a block per row, its elements kept in registers */
    SCHEDULE_ROW_GROUP,  /* a subgroup per row */
    SCHEDULE_ROW_STREAM, /* a block per row that reads it once for each reduction */
    SCHEDULE_ROW_THREAD, /* a thread per row, neighboring threads on neighboring rows */
};

struct program_schedule {
    uint8_t kind;
    uint8_t vector;      /* neighboring elements loaded together: 1, 2, 4, 8 */
    uint8_t wide;        /* indices need 64 bits */
    uint8_t rows;        /* rows of a block (ROW_GROUP) */
    uint16_t threads;    /* of a block */
    uint16_t per_thread; /* vectors that each thread holds of a row (ROW_BLOCK, ROW_GROUP) */
};

struct program {
    uint8_t rank, outer;
    uint8_t operand_count, constant_count;
    uint16_t instruction_count;
    struct program_schedule schedule;
    struct program_operand operands[PROGRAM_OPERANDS_MAX];
    struct program_instruction instructions[PROGRAM_INSTRUCTIONS_MAX];
};

/* Set by the launch. Strides are in elements of the operand. */
struct program_shape {
    int64_t sizes[RIDGE_RANK_MAX];
    int64_t strides[PROGRAM_OPERANDS_MAX][RIDGE_RANK_MAX];
    uint32_t alignment[PROGRAM_OPERANDS_MAX]; /* of the first element's address, bytes: 1..16 */
    union {
        float f32;
        int32_t i32;
    } constants[PROGRAM_CONSTANTS_MAX];
};

/* Merges axes that are contiguous in all operands and drops axes of size 1, separately for outer
 * and inner axes (one inner axis remains if there were any), and sets the operands' stride
 * kinds. Call this before scheduling. */
void program_collapse(struct program *program, struct program_shape *shape);

/* Only sets the operands' stride kinds, for programs whose axes must not change. */
void program_set_strides(struct program *program, const struct program_shape *shape);

/* Operations on a value of each element or of each row, as the trace counts them. */
uint64_t program_flops(const struct program *program, const struct program_shape *shape);

/* The key of a program and its length: hash and compare these. */
size_t program_key(const struct program *program, unsigned char *key, size_t capacity);

/* Append an instruction or operand; return its number, or -1 if there is no space. */
int program_instruction(struct program *program, struct program_instruction instruction);
int program_operand(struct program *program, enum ridge_dtype dtype, bool stored);

/* The type in which an element of this dtype is computed. */
static inline enum value_type value_type_of(enum ridge_dtype dtype) {
    return dtype == RIDGE_I32 || dtype == RIDGE_U8 ? VALUE_I32 : VALUE_F32;
}

#endif
