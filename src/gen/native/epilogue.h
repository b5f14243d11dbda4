/* The epilogue of a matrix product: a program without rows, run on one tile of it.
 *
 * The program has rank 3, [batch, m, n], not collapsed; OP_ACCUMULATOR is the product. `scalars`
 * are what native_program_scalars() wrote, `buffers` the program's operands. The tile covers
 * row_count rows from `row` and column_count columns from `column`; its element (i, j) is
 * accumulator[i * accumulator_stride + j]. Nothing outside of it is read or written.
 */
#ifndef RIDGE_GEN_NATIVE_EPILOGUE_H
#define RIDGE_GEN_NATIVE_EPILOGUE_H

#include <stddef.h>
#include <stdint.h>

#include "gen/program.h"

/* Bytes that `scratch` needs, 64-byte aligned. */
enum { NATIVE_EPILOGUE_SCRATCH = 128 * 1024 };

void native_epilogue(const struct program *program, const int64_t *scalars, void *const *buffers,
                     const float *accumulator, size_t accumulator_stride, int64_t batch,
                     int64_t row, int64_t row_count, int64_t column, int64_t column_count,
                     void *scratch);

/* Writes sizes, strides and constants, and returns how many scalars that takes. With `scalars` NULL
 * it only counts: compare with LAUNCH_SCALARS_MAX before writing. */
unsigned native_program_scalars(const struct program *program, const struct program_shape *shape,
                                int64_t *scalars);

#endif
