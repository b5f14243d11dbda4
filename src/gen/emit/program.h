/* Fused programs as kernel source: the part that others use. */
#ifndef RIDGE_GEN_EMIT_PROGRAM_H
#define RIDGE_GEN_EMIT_PROGRAM_H

#include "gen/kernel.h"
#include "gen/emit/dialect.h"

/* The parameters of a program's operands, called operand0, operand1, ...: operand_count rows. */
void source_program_parameters(const struct program *program, struct source_parameter *parameters);

/* ---- The epilogue of a matrix product ----------------------------------------------------
 * A program without rows over [batch, m, n], not collapsed, in which OP_ACCUMULATOR is the product.
 * Its operands are parameters as above; its scalars stand together in the launch's. */

enum { SOURCE_EPILOGUE_SCALARS_MAX = 3 * PROGRAM_OPERANDS_MAX + PROGRAM_CONSTANTS_MAX };

/* The epilogue's scalars; `scalars` (room for SOURCE_EPILOGUE_SCALARS_MAX) may be NULL to count
 * them. The number depends only on the program, so `shape` may be NULL then too. */
unsigned source_program_scalars(const struct program *program, const struct program_shape *shape,
                                int64_t *scalars);

/* A block statement that applies the program to one element. The last four are expressions:
 * a float, and the element's indices, integers of any type. The first of the epilogue's scalars is
 * scalars.v[first_scalar]. False, with nothing written, when the program has a reduction in it. */
bool source_epilogue(struct buffer *out, const struct program *program,
                     enum device_language language, unsigned first_scalar, const char *accumulator,
                     const char *batch, const char *row, const char *column);

/* ---- Splitting --------------------------------------------------------------------------- */

/* Whether a program with reductions has too few rows to fill the device, and into how many parts
 * each row should then be cut: the first inner axis of the collapsed program, evenly wherever its
 * size has a suitable divisor. */
bool source_split_reduction(const struct program *program, const struct program_shape *shape,
                            const struct device_capabilities *device, int64_t *parts);

#endif
