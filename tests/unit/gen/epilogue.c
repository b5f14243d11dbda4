/* The epilogue of a matrix product, on tiles of it, against a simple reference. */
#include <stdlib.h>

#include "program_reference.h"

#include "gen/native/epilogue.h"

enum { BATCHES = 2, ROWS = 13, COLUMNS = 70, COUNT = BATCHES * ROWS * COLUMNS };

static int add(struct program *program, enum op op, unsigned slot, int a, int b) {
    return program_instruction(
        program, (struct program_instruction){
                     .op = (uint8_t)op, .slot = (uint8_t)slot, .a = (uint16_t)a, .b = (uint16_t)b});
}

static void set_strides(struct program_shape *shape, unsigned operand, int64_t batch, int64_t row,
                        int64_t column) {
    memcpy(shape->strides[operand], (int64_t[]){batch, row, column}, 3 * sizeof(int64_t));
}

/* Runs the program on a product cut into tiles of this size. */
static void run_in_tiles(const struct program *program, const struct program_shape *shape,
                         void *const *buffers, const float *product, int64_t rows,
                         int64_t columns) {
    struct status status = {0};
    int64_t scalars[LAUNCH_SCALARS_MAX];
    native_program_scalars(program, shape, scalars);
    void *scratch = memory_allocate_aligned(NATIVE_EPILOGUE_SCRATCH, 64, &status);
    for (int64_t batch = 0; batch < BATCHES; batch++)
        for (int64_t row = 0; row < ROWS; row += rows)
            for (int64_t column = 0; column < COLUMNS; column += columns)
                native_epilogue(program, scalars, buffers,
                                product + (batch * ROWS + row) * COLUMNS + column, COLUMNS, batch,
                                row, row + rows < ROWS ? rows : ROWS - row, column,
                                column + columns < COLUMNS ? columns : COLUMNS - column, scratch);
    memory_free(scratch);
}

static void check_epilogue(enum ridge_dtype type, bool bias, bool transposed) {
    struct status status = {0};
    struct program program = {.rank = 3, .outer = 3};
    struct program_shape shape = {.sizes = {BATCHES, ROWS, COLUMNS}};
    unsigned result = (unsigned)program_operand(&program, type, true);
    unsigned addend = (unsigned)program_operand(&program, RIDGE_F16, false);
    if (transposed)
        set_strides(&shape, result, ROWS * COLUMNS, 1, ROWS);
    else
        set_strides(&shape, result, ROWS * COLUMNS, COLUMNS, 1);
    set_strides(&shape, addend, 0, 0, 1);
    int value = add(&program, OP_ACCUMULATOR, 0, 0, 0);
    if (bias)
        value = add(&program, OP_RELU, 0,
                    add(&program, OP_ADD, 0, value, add(&program, OP_LOAD, addend, 0, 0)), 0);
    add(&program, OP_STORE, result, value, 0);
    float *product = noise_array(RIDGE_F32, COUNT, 1, &status);
    void *buffers[2] = {noise_array(type, COUNT, 2, &status),
                        noise_array(RIDGE_F16, COLUMNS, 3, &status)};
    static const int64_t tiles[][2] = {{1, 1}, {4, 16}, {6, 33}, {ROWS, COLUMNS}};
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned t = 0; t < 4; t++) {
            memset(buffers[0], 0xff, COUNT * ridge_dtype_bytes(type, 1));
            run_in_tiles(&program, &shape, buffers, product, tiles[t][0], tiles[t][1]);
            unsigned wrong = 0;
            for (int64_t i = 0; i < COUNT; i++) {
                int64_t batch = i / (ROWS * COLUMNS), row = i / COLUMNS % ROWS,
                        column = i % COLUMNS;
                double want = product[i];
                if (bias)
                    want = fmax(0, (float)(want + element(buffers[1], RIDGE_F16, column)));
                double got =
                    element(buffers[0], type,
                            batch * shape.strides[result][0] + row * shape.strides[result][1] +
                                column * shape.strides[result][2]);
                wrong += got != rounded_to_type(want, type);
            }
            CHECK_INT(wrong, 0);
        }
    memory_free(product);
    memory_free(buffers[0]);
    memory_free(buffers[1]);
}

TEST(an_epilogue_stores_each_tile_in_its_place_and_type) {
    for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_BF16; type++)
        for (unsigned way = 0; way < 4; way++)
            check_epilogue(type, way & 1, way & 2);
}

TEST(an_epilogue_of_very_many_live_values_fits_its_scratch_memory) {
    struct program program = {.rank = 3, .outer = 3};
    struct program_shape shape = {.sizes = {BATCHES, ROWS, COLUMNS}};
    unsigned result = (unsigned)program_operand(&program, RIDGE_F32, true);
    set_strides(&shape, result, ROWS * COLUMNS, COLUMNS, 1);
    int values[70] = {add(&program, OP_ACCUMULATOR, 0, 0, 0)};
    for (int i = 1; i < 70; i++)
        values[i] = add(&program, OP_ADD, 0, values[i - 1], values[0]);
    int sum = values[0];
    for (int i = 1; i < 70; i++)
        sum = add(&program, OP_ADD, 0, sum, values[i]);
    add(&program, OP_STORE, result, sum, 0);
    struct status status = {0};
    float *product = noise_array(RIDGE_F32, COUNT, 1, &status);
    float *stored = noise_array(RIDGE_F32, COUNT, 2, &status);
    run_in_tiles(&program, &shape, (void *[]){stored}, product, ROWS, COLUMNS);
    for (int i = 0; i < COUNT; i++)
        if (fabs(stored[i] - 2485.0 * product[i]) > 1e-2 * fabs(product[i])) {
            test_failed(__FILE__, __LINE__, "element %d", i);
            break;
        }
    memory_free(product);
    memory_free(stored);
}
