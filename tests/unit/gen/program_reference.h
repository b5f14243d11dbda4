/* A simple reference for fused programs: every instruction for every element, in double, with
 * the expressions of the op table as scalars. */
#ifndef RIDGE_TESTS_UNIT_GEN_PROGRAM_REFERENCE_H
#define RIDGE_TESTS_UNIT_GEN_PROGRAM_REFERENCE_H

#include <math.h>
#include <stdlib.h>

#include "gen/program.h"
#include "native_run.h"

#define EXP(x) exp(x)
#define LOG(x) log(x)
#define LOG1P(x) log1p(x)
#define SIN(x) sin(x)
#define COS(x) cos(x)
#define TAN(x) tan(x)
#define TANH(x) tanh(x)
#define ERF(x) erf(x)
#define SQRT(x) sqrt(x)
#define RSQRT(x) (1 / sqrt(x))
#define FLOOR(x) floor(x)
#define CEIL(x) ceil(x)
#define RINT(x) rint(x)
#define ABS(x) fabs(x)
#define POW(x, y) pow(x, y)
#define MOD(x, y) reference_modulo(x, y)
#define TRUTH(comparison) ((comparison) ? 1 : 0)
#define SELECT(t, a, b) ((t) ? (a) : (b))
#define ISELECT(t, a, b) ((t) ? (a) : (b))
#define IABS(x) ((x) < 0 ? -(x) : (x))
#define IDIV(x, y) ((y) == 0 ? 0 : (x) / (y))
#define IMOD(x, y) ((y) == 0 ? 0 : (((x) % (y)) + (y)) % (y))
#define I2F(x) ((double)(float)(x))
#define F2I(x)                                                                                     \
    ((x) != (x) ? 0 : (x) >= 0x1p31 ? INT32_MAX : (x) < -0x1p31 ? INT32_MIN : (int64_t)(x))
#define ROUND_F16(x) rounded_to_type(x, RIDGE_F16)
#define ROUND_BF16(x) rounded_to_type(x, RIDGE_BF16)

static inline double reference_modulo(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

#define X_ARITHMETIC double
#define X_FLOAT double
#define X_COMPARE double
#define X_LOGIC double
#define X_WHERE int64_t
#define F32_TYPE double
#define I32_TYPE int64_t
#define REFERENCE_ROW(NAME, name, arity, rule, flops, f32, i32)                                    \
    case OP_##NAME:                                                                                \
        if (type == VALUE_F32) {                                                                   \
            X_##rule x = (X_##rule)operands[0];                                                    \
            double y = operands[1], z = operands[2];                                               \
            (void)x, (void)y, (void)z;                                                             \
            return (double)(f32);                                                                  \
        } else {                                                                                   \
            int64_t x = (int64_t)operands[0], y = (int64_t)operands[1], z = (int64_t)operands[2];  \
            (void)x, (void)y, (void)z;                                                             \
            return (double)(int32_t)(uint32_t)(uint64_t)(int64_t)(i32);                            \
        }
#define REFERENCE_CONVERSION(NAME, name, from, to, expression)                                     \
    case OP_##NAME: {                                                                              \
        from##_TYPE x = (from##_TYPE)operands[0];                                                  \
        return (double)(expression);                                                               \
    }
/* `type` is that of the operands. Not rounded to float. */
static inline double reference_expression(enum op op, enum value_type type,
                                          const double operands[3]) {
    switch (op) {
        ELEMENTWISE_OPS(REFERENCE_ROW)
        CONVERSION_OPS(REFERENCE_CONVERSION)
    default:
        return NAN;
    }
}

/* The array index of an element of the space. */
static inline int64_t reference_offset(const struct program *program,
                                       const struct program_shape *shape, unsigned operand,
                                       int64_t index) {
    int64_t offset = 0;
    for (unsigned axis = program->rank; axis-- > 0;) {
        int64_t size = shape->sizes[axis] > 0 ? shape->sizes[axis] : 1;
        offset += index % size * shape->strides[operand][axis];
        index /= size;
    }
    return offset;
}

static inline double reference_reduce(enum op op, const double *values, int64_t count) {
    double best = op == OP_REDUCE_SUM ? 0 : NAN;
    int64_t index = -1;
    for (int64_t i = 0; i < count; i++) {
        bool greater = op == OP_REDUCE_MAX || op == OP_REDUCE_ARGMAX;
        if (op == OP_REDUCE_SUM)
            best += values[i];
        else if (index < 0 || (best == best && (values[i] != values[i] ||
                                                (greater ? values[i] > best : values[i] < best))))
            best = values[i], index = i;
    }
    return op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN ? (double)index : best;
}

/* Runs the program. What it stores goes to `results[operand]`, arrays of doubles laid out as the
 * operand. */
static inline void reference_run(const struct program *program, const struct program_shape *shape,
                                 void *const *buffers, double *const *results) {
    int64_t rows = 1, length = 1;
    for (unsigned axis = 0; axis < program->rank; axis++)
        *(axis < program->outer ? &rows : &length) *= shape->sizes[axis];
    if (program->outer == program->rank)
        length = rows, rows = 1;
    size_t room = (size_t)(length > 0 ? length : 1);
    double *values = malloc(program->instruction_count * room * sizeof *values);
    for (int64_t row = 0; row < rows; row++)
        for (unsigned i = 0; i < program->instruction_count; i++) {
            const struct program_instruction *instruction = &program->instructions[i];
            double *own = values + i * room;
            const double *a = values + instruction->a * room;
            bool integers = program->instructions[instruction->a].type == VALUE_I32;
            if (op_is_reduction(instruction->op)) {
                double reduced = reference_reduce(instruction->op, a, length);
                if (instruction->op == OP_REDUCE_SUM && integers)
                    reduced = (double)(int32_t)(uint32_t)(int64_t)reduced;
                for (int64_t j = 0; j < length; j++)
                    own[j] = reduced;
                own[0] = reduced;
                continue;
            }
            int64_t count = instruction->op == OP_STORE && instruction->of_row ? 1 : length;
            for (int64_t j = 0; j < count; j++) {
                int64_t at =
                    instruction->op == OP_LOAD || instruction->op == OP_STORE
                        ? reference_offset(program, shape, instruction->slot, row * length + j)
                        : 0;
                double operands[3] = {a[j], values[instruction->b * room + j],
                                      values[instruction->c * room + j]};
                enum value_type type =
                    program
                        ->instructions[instruction->op == OP_WHERE ? instruction->b
                                                                   : instruction->a]
                        .type;
                if (instruction->op == OP_LOAD)
                    own[j] = element(buffers[instruction->slot],
                                     program->operands[instruction->slot].dtype, at);
                else if (instruction->op == OP_STORE)
                    results[instruction->slot][at] = a[j];
                else if (instruction->op == OP_CONSTANT)
                    own[j] = instruction->type == VALUE_F32
                                 ? shape->constants[instruction->slot].f32
                                 : shape->constants[instruction->slot].i32;
                else
                    own[j] = reference_expression(instruction->op, type, operands);
            }
        }
    free(values);
}

#endif
