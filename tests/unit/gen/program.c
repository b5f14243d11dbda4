/* Fused programs on the CPU against a simple reference, with every ISA: all types, layouts and
 * distributions of the work. */
#include "program_reference.h"

#include "base/array.h"
#include "gen/kernel.h"

enum { ARRAYS_MAX = 8 };

/* A program, its shape and its arrays. */
struct example {
    struct program program;
    struct program_shape shape;
    void *buffers[ARRAYS_MAX];
    double *results[ARRAYS_MAX];
    int64_t counts[ARRAYS_MAX];
    uint64_t seed;
};

static uint64_t next(struct example *example) {
    example->seed = example->seed * 6364136223846793005u + 1442695040888963407u;
    return example->seed >> 33;
}

static void set_sizes(struct example *example, unsigned outer, unsigned rank,
                      const int64_t *sizes) {
    example->program.rank = (uint8_t)rank;
    example->program.outer = (uint8_t)outer;
    memcpy(example->shape.sizes, sizes, rank * sizeof *sizes);
}

/* Adds an operand with the given strides, and an array for it: small numbers, exact in each type.
 */
static unsigned add_array(struct example *example, enum ridge_dtype dtype, bool stored,
                          const int64_t *strides) {
    struct status status = {0};
    unsigned operand = (unsigned)program_operand(&example->program, dtype, stored);
    int64_t count = 1;
    for (unsigned axis = 0; axis < example->program.rank; axis++) {
        example->shape.strides[operand][axis] = strides[axis];
        count +=
            (example->shape.sizes[axis] > 0 ? example->shape.sizes[axis] - 1 : 0) * strides[axis];
    }
    example->counts[operand] = count;
    void *array = memory_allocate((size_t)count, ridge_dtype_bytes(dtype, 1), &status);
    for (int64_t i = 0; i < count; i++) {
        int value = (int)(next(example) % 33) - 16;
        if (dtype == RIDGE_I32)
            ((int32_t *)array)[i] = value;
        else if (dtype == RIDGE_U8)
            ((uint8_t *)array)[i] = (uint8_t)(value & 15);
        else
            set_element(array, dtype, i, value / 8.0);
    }
    example->buffers[operand] = array;
    example->results[operand] = calloc((size_t)count, sizeof(double));
    return operand;
}

/* The strides of an array whose axes lie in memory in this order, outermost first; an axis with
 * `skip` 0 is broadcast, with more is sliced. */
static void layout(const struct example *example, const unsigned *order, const int64_t *skip,
                   int64_t *strides) {
    int64_t stride = 1;
    for (unsigned i = example->program.rank; i-- > 0;) {
        unsigned axis = order[i];
        strides[axis] = stride * skip[axis];
        if (skip[axis] > 0)
            stride *= example->shape.sizes[axis] * skip[axis];
    }
}

static unsigned add_dense(struct example *example, enum ridge_dtype dtype, bool stored) {
    const unsigned order[RIDGE_RANK_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t skip[RIDGE_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t strides[RIDGE_RANK_MAX];
    layout(example, order, skip, strides);
    return add_array(example, dtype, stored, strides);
}

/* One element for each row. */
static unsigned add_of_rows(struct example *example, enum ridge_dtype dtype, bool stored) {
    const unsigned order[RIDGE_RANK_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t skip[RIDGE_RANK_MAX] = {0}, strides[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis < example->program.outer; axis++)
        skip[axis] = 1;
    layout(example, order, skip, strides);
    return add_array(example, dtype, stored, strides);
}

static unsigned emit(struct example *example, enum op op, enum value_type type, unsigned a,
                     unsigned b, unsigned c) {
    struct program *program = &example->program;
    bool of_row = op_is_reduction(op);
    if (op < OP_EXPRESSIONS) {
        unsigned operands[3] = {a, b, c};
        of_row = program->rank > program->outer;
        for (unsigned i = 0; i < op_info(op)->arity; i++)
            of_row &= program->instructions[operands[i]].of_row;
    }
    return (unsigned)program_instruction(program,
                                         (struct program_instruction){.op = (uint8_t)op,
                                                                      .type = (uint8_t)type,
                                                                      .of_row = of_row,
                                                                      .a = (uint16_t)a,
                                                                      .b = (uint16_t)b,
                                                                      .c = (uint16_t)c});
}

static unsigned emit_load(struct example *example, unsigned operand, bool of_row) {
    enum value_type type = value_type_of(example->program.operands[operand].dtype);
    return (unsigned)program_instruction(
        &example->program,
        (struct program_instruction){
            .op = OP_LOAD, .type = (uint8_t)type, .of_row = of_row, .slot = (uint8_t)operand});
}

static void emit_store(struct example *example, unsigned operand, unsigned value, bool of_row) {
    program_instruction(&example->program, (struct program_instruction){.op = OP_STORE,
                                                                        .of_row = of_row,
                                                                        .slot = (uint8_t)operand,
                                                                        .a = (uint16_t)value});
}

static unsigned emit_constant(struct example *example, enum value_type type, float value) {
    unsigned slot = example->program.constant_count++;
    if (type == VALUE_F32)
        example->shape.constants[slot].f32 = value;
    else
        example->shape.constants[slot].i32 = (int32_t)value;
    return (unsigned)program_instruction(
        &example->program,
        (struct program_instruction){
            .op = OP_CONSTANT, .type = (uint8_t)type, .of_row = 1, .slot = (uint8_t)slot});
}

static void finish(struct example *example) {
    for (unsigned i = 0; i < example->program.operand_count; i++) {
        memory_free(example->buffers[i]);
        free(example->results[i]);
    }
}

static bool run(struct example *example, unsigned threads, struct status *status) {
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    return native_program(&example->program, &example->shape, &device, &request, status) &&
           native_run(&request, native_program_code, example->buffers, threads, status);
}

static bool close_enough(double got, double want, enum ridge_dtype dtype) {
    if (dtype == RIDGE_U8 || dtype == RIDGE_I32)
        return got == (dtype == RIDGE_U8 ? (double)(uint8_t)(int64_t)want : want);
    if (!isfinite(want) || !isfinite(got))
        return got == want || (isnan(got) && isnan(want));
    double unit = dtype == RIDGE_F16 ? 0x1p-10 : dtype == RIDGE_BF16 ? 0x1p-7 : 4e-6;
    return fabs(got - want) <= unit * (0.05 + fabs(want));
}

/* Runs the example in every way, checks what it stored and that nothing else was written. */
static void check(struct example *example, const char *what) {
    struct status status = {0};
    reference_run(&example->program, &example->shape, example->buffers, example->results);
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            if (!run(example, threads, &status)) {
                test_failed(__FILE__, __LINE__, "%s: %s", what, status.message);
                continue;
            }
            unsigned wrong = 0;
            for (unsigned i = 0; i < example->program.operand_count; i++)
                for (int64_t j = 0; j < example->counts[i]; j++) {
                    enum ridge_dtype dtype = example->program.operands[i].dtype;
                    double got = element(example->buffers[i], dtype, j);
                    double want = example->results[i][j];
                    if (example->program.operands[i].stored && !close_enough(got, want, dtype) &&
                        wrong++ == 0)
                        test_failed(__FILE__, __LINE__, "%s, %s, %u threads: [%lld] is %g, not %g",
                                    what, simd_isa(set)->name, threads, (long long)j, got, want);
                }
        }
}

/* Elements of a stored array that the space does not reach count as written with what is there. */
static void expect_gaps_untouched(struct example *example) {
    for (unsigned i = 0; i < example->program.operand_count; i++)
        for (int64_t j = 0; j < example->counts[i]; j++)
            example->results[i][j] =
                element(example->buffers[i], example->program.operands[i].dtype, j);
}

/* ---- Programs made at random ---- */

static void random_layout(struct example *example, bool stored, int64_t *strides) {
    unsigned order[RIDGE_RANK_MAX] = {0, 1, 2, 3, 4, 5, 6, 7}, rank = example->program.rank;
    int64_t skip[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis < rank; axis++)
        skip[axis] = 1;
    unsigned kind = (unsigned)(next(example) % 5);
    for (unsigned i = rank; kind == 1 && i > 1; i--) {
        unsigned other = (unsigned)(next(example) % i), moved = order[i - 1];
        order[i - 1] = order[other];
        order[other] = moved;
    }
    if (kind == 2 && !stored)
        skip[next(example) % rank] = 0;
    if (kind == 2 && !stored)
        skip[next(example) % rank] = 0;
    if (kind == 3)
        skip[next(example) % rank] = 2;
    layout(example, order, skip, strides);
}

static unsigned random_array(struct example *example, enum ridge_dtype dtype, bool stored) {
    int64_t strides[RIDGE_RANK_MAX];
    random_layout(example, stored, strides);
    return add_array(example, dtype, stored, strides);
}

/* Some value of the type so far. */
static unsigned random_value(struct example *example, enum value_type type) {
    const struct program *program = &example->program;
    for (;;) {
        unsigned i = (unsigned)(next(example) % program->instruction_count);
        if (program->instructions[i].type == type && program->instructions[i].op != OP_STORE)
            return i;
    }
}

static void random_operation(struct example *example, bool rows) {
    static const enum op floats[] = {OP_ADD, OP_SUB,  OP_MIN,  OP_MAX,     OP_NEG,
                                     OP_ABS, OP_RELU, OP_TANH, OP_SIGMOID, OP_CLAMP};
    static const enum op ints[] = {OP_ADD, OP_SUB,  OP_MUL,         OP_DIV,         OP_MOD,
                                   OP_MIN, OP_LESS, OP_LOGICAL_AND, OP_LOGICAL_NOT, OP_SIGN};
    enum value_type type = next(example) % 3 ? VALUE_F32 : VALUE_I32;
    unsigned a = random_value(example, type), b = random_value(example, type),
             c = random_value(example, type);
    if (rows && next(example) % 4 == 0) {
        enum op op = OP_REDUCE_SUM + next(example) % TILE_REDUCTIONS;
        /* Numbers that rounding could bring into another order have no first among them. */
        bool arg = op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
        if (!arg || type == VALUE_I32)
            emit(example, op, type, a, 0, 0);
        return;
    }
    if (next(example) % 8 == 0)
        emit(example, OP_WHERE, VALUE_F32, random_value(example, VALUE_I32),
             random_value(example, VALUE_F32), random_value(example, VALUE_F32));
    else if (type == VALUE_F32)
        emit(example, floats[next(example) % (ARRAY_COUNT(floats))], type, a, b, c);
    else
        emit(example, ints[next(example) % (ARRAY_COUNT(ints))], type, a, b, c);
}

static void random_program(struct example *example) {
    static const int64_t lengths[] = {1, 2, 3, 5, 8, 16, 17, 31, 40, 65, 130};
    static const enum ridge_dtype float_types[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};
    int64_t sizes[4], count = 1;
    unsigned rank = 1 + (unsigned)(next(example) % 4);
    for (unsigned axis = 0; axis < rank; axis++) {
        do
            sizes[axis] = lengths[next(example) % (ARRAY_COUNT(lengths))];
        while (count * sizes[axis] > 20000);
        count *= sizes[axis];
    }
    bool rows = next(example) % 2;
    set_sizes(example, rows ? (unsigned)(next(example) % rank) : rank, rank, sizes);
    emit_load(example, random_array(example, float_types[next(example) % 3], false), false);
    emit_load(example, random_array(example, RIDGE_I32, false), false);
    emit_load(example, random_array(example, RIDGE_F32, false), false);
    if (next(example) % 2)
        emit_load(example, random_array(example, RIDGE_U8, false), false);
    if (rows && next(example) % 2)
        emit_load(example, add_of_rows(example, RIDGE_F32, false), true);
    emit_constant(example, VALUE_F32, 0.375f);
    for (unsigned i = 2 + (unsigned)(next(example) % 12); i > 0; i--)
        random_operation(example, rows);
    unsigned last = example->program.instruction_count - 1u;
    bool of_row = example->program.instructions[last].of_row && rows;
    enum ridge_dtype dtype = example->program.instructions[last].type == VALUE_F32
                                 ? float_types[next(example) % 3]
                                 : RIDGE_I32;
    unsigned stored =
        of_row ? add_of_rows(example, dtype, true) : random_array(example, dtype, true);
    emit_store(example, stored, last, of_row);
    unsigned also = random_array(example, RIDGE_F32, true);
    emit_store(example, also, random_value(example, VALUE_F32), false);
    expect_gaps_untouched(example);
}

TEST(any_fused_program_gives_what_its_instructions_say) {
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct example example = {.seed = seed * 0x9E3779B97F4A7C15u};
        char what[40];
        snprintf(what, sizeof what, "program %llu", (unsigned long long)seed);
        random_program(&example);
        check(&example, what);
        finish(&example);
    }
}

/* ---- Shapes that are laid out in a way of their own ---- */

static void make_softmax(struct example *example, enum ridge_dtype dtype) {
    unsigned x = emit_load(example, add_dense(example, dtype, false), false);
    unsigned most = emit(example, OP_REDUCE_MAX, VALUE_F32, x, 0, 0);
    unsigned power =
        emit(example, OP_EXP, VALUE_F32, emit(example, OP_SUB, VALUE_F32, x, most, 0), 0, 0);
    unsigned sum = emit(example, OP_REDUCE_SUM, VALUE_F32, power, 0, 0);
    unsigned share = emit(example, OP_DIV, VALUE_F32, power, sum, 0);
    emit_store(example, add_dense(example, dtype, true), share, false);
}

TEST(softmax_over_rows_of_any_length_is_softmax) {
    static const int64_t shapes[][2] = {{1, 1},   {300, 3},  {40, 32},   {33, 33},
                                        {7, 255}, {5, 2050}, {2, 70001}, {1, 140000}};
    for (unsigned i = 0; i < ARRAY_COUNT(shapes); i++)
        for (enum ridge_dtype dtype = RIDGE_F32; dtype <= RIDGE_BF16; dtype++) {
            struct example example = {.seed = i};
            set_sizes(&example, 1, 2, shapes[i]);
            make_softmax(&example, dtype);
            check(&example, "softmax");
            finish(&example);
        }
}

TEST(weights_that_all_rows_share_apply_to_each_of_them) {
    static const int64_t lengths[] = {40, 64, 700, 5000};
    for (unsigned i = 0; i < 4; i++)
        for (enum ridge_dtype dtype = RIDGE_F32; dtype <= RIDGE_BF16; dtype++) {
            struct example example = {.seed = i};
            set_sizes(&example, 2, 3, (int64_t[]){3, 37, lengths[i]});
            /* The outer axes do not join, so that blocks of rows end at each turn of the first. */
            int64_t spread[3] = {50 * lengths[i], lengths[i], 1}, shared[3] = {0, 0, 1};
            unsigned x = emit_load(&example, add_array(&example, dtype, false, spread), false);
            unsigned w = emit_load(&example, add_array(&example, dtype, false, shared), false);
            unsigned b = emit_load(&example, add_array(&example, dtype, false, shared), false);
            unsigned square = emit(&example, OP_SQUARE, VALUE_F32, x, 0, 0);
            unsigned sum = emit(&example, OP_REDUCE_SUM, VALUE_F32, square, 0, 0);
            unsigned scale = emit(&example, OP_RSQRT, VALUE_F32, sum, 0, 0);
            unsigned scaled = emit(&example, OP_MUL, VALUE_F32, x, scale, 0);
            unsigned product = emit(&example, OP_MUL, VALUE_F32, scaled, w, 0);
            unsigned result = emit(&example, OP_ADD, VALUE_F32, b, product, 0);
            emit_store(&example, add_array(&example, RIDGE_F32, true, spread), result, false);
            expect_gaps_untouched(&example);
            check(&example, "norm");
            finish(&example);
        }
}

TEST(a_reduction_over_the_slow_axis_is_the_same_as_over_the_fast_one) {
    static const int64_t shapes[][2] = {{9, 4}, {100, 33}, {64, 1500}, {3000, 40}, {70000, 3}};
    for (unsigned i = 0; i < ARRAY_COUNT(shapes); i++)
        for (enum op op = OP_REDUCE_SUM; op <= OP_REDUCE_ARGMIN; op++) {
            struct example example = {.seed = 7};
            /* Rows are columns of the array: [columns, rows] with strides 1 and columns. */
            set_sizes(&example, 1, 2, (int64_t[]){shapes[i][1], shapes[i][0]});
            int64_t strides[2] = {1, shapes[i][1]};
            unsigned x = emit_load(&example, add_array(&example, RIDGE_F32, false, strides), false);
            unsigned reduced = emit(&example, op, VALUE_F32, x, 0, 0);
            bool arg = op >= OP_REDUCE_ARGMAX;
            example.program.instructions[reduced].type = arg ? VALUE_I32 : VALUE_F32;
            emit_store(&example, add_of_rows(&example, arg ? RIDGE_I32 : RIDGE_F32, true), reduced,
                       true);
            check(&example, op_info(op)->name);
            finish(&example);
        }
}

TEST(a_whole_array_is_reduced_by_all_threads_together) {
    for (enum op op = OP_REDUCE_SUM; op <= OP_REDUCE_ARGMIN; op++) {
        struct example example = {.seed = 11};
        set_sizes(&example, 0, 1, (int64_t[]){300007});
        unsigned x = emit_load(&example, add_dense(&example, RIDGE_I32, false), false);
        unsigned reduced = emit(&example, op, VALUE_I32, x, 0, 0);
        emit_store(&example, add_of_rows(&example, RIDGE_I32, true), reduced, true);
        check(&example, op_info(op)->name);
        finish(&example);
    }
}

TEST(a_transposed_copy_of_any_type_moves_every_element) {
    static const enum ridge_dtype types[] = {RIDGE_F32, RIDGE_F16, RIDGE_U8};
    for (unsigned i = 0; i < 3; i++) {
        struct example example = {.seed = 5};
        set_sizes(&example, 3, 3, (int64_t[]){67, 5, 131});
        unsigned x = add_array(&example, types[i], false, (int64_t[]){1, 67 * 131, 67});
        unsigned y = add_dense(&example, types[i], true);
        emit_store(&example, y, emit_load(&example, x, false), false);
        check(&example, "transpose");
        finish(&example);
    }
}

TEST(a_program_may_overwrite_what_it_reads) {
    struct example example = {.seed = 3};
    set_sizes(&example, 1, 2, (int64_t[]){6, 1000});
    make_softmax(&example, RIDGE_F32);
    struct status status = {0};
    reference_run(&example.program, &example.shape, example.buffers, example.results);
    void *own = example.buffers[1];
    example.buffers[1] = example.buffers[0];
    CHECK_OK(run(&example, 1, &status), status);
    for (int64_t i = 0; i < example.counts[0]; i++)
        if (!close_enough(element(example.buffers[0], RIDGE_F32, i), example.results[1][i],
                          RIDGE_F32)) {
            test_failed(__FILE__, __LINE__, "element %lld", (long long)i);
            break;
        }
    example.buffers[1] = own;
    finish(&example);
}

TEST(a_long_sum_is_as_precise_as_a_short_one) {
    struct example example = {.seed = 1};
    set_sizes(&example, 0, 1, (int64_t[]){3000000});
    unsigned x = emit_load(&example, add_dense(&example, RIDGE_F32, false), false);
    emit_store(&example, add_of_rows(&example, RIDGE_F32, true),
               emit(&example, OP_REDUCE_SUM, VALUE_F32, x, 0, 0), true);
    double sum = 0;
    for (int64_t i = 0; i < example.counts[0]; i++) {
        ((float *)example.buffers[0])[i] = (float)(1 + 0.5 * noise((uint64_t)i));
        sum += (double)((float *)example.buffers[0])[i];
    }
    struct status status = {0};
    CHECK_OK(run(&example, 2, &status), status);
    CHECK(fabs(*(float *)example.buffers[1] - sum) < 2e-7 * sum);
    finish(&example);
}

TEST(max_and_min_of_a_row_with_nan_are_nan_and_its_arg_is_the_first) {
    for (unsigned columns = 0; columns < 2; columns++)
        for (enum op op = OP_REDUCE_MAX; op <= OP_REDUCE_ARGMIN; op++) {
            struct example example = {.seed = 2};
            set_sizes(&example, 1, 2, (int64_t[]){20, 100});
            int64_t strides[2] = {columns ? 1 : 100, columns ? 20 : 1};
            unsigned array = add_array(&example, RIDGE_F32, false, strides);
            ((float *)example.buffers[array])[777] = NAN;
            ((float *)example.buffers[array])[778] = NAN;
            unsigned x = emit_load(&example, array, false);
            unsigned reduced = emit(&example, op, VALUE_F32, x, 0, 0);
            bool arg = op >= OP_REDUCE_ARGMAX;
            example.program.instructions[reduced].type = arg ? VALUE_I32 : VALUE_F32;
            emit_store(&example, add_of_rows(&example, arg ? RIDGE_I32 : RIDGE_F32, true), reduced,
                       true);
            check(&example, op_info(op)->name);
            finish(&example);
        }
}

TEST(reducing_no_elements_gives_what_adding_none_gives) {
    struct example example = {.seed = 2};
    set_sizes(&example, 1, 2, (int64_t[]){5, 0});
    unsigned x = emit_load(&example, add_dense(&example, RIDGE_F32, false), false);
    emit_store(&example, add_of_rows(&example, RIDGE_F32, true),
               emit(&example, OP_REDUCE_SUM, VALUE_F32, x, 0, 0), true);
    check(&example, "sum of nothing");
    finish(&example);
}

TEST(more_elements_than_can_be_counted_are_refused) {
    struct example example = {.seed = 2};
    set_sizes(&example, 2, 2, (int64_t[]){INT64_MAX / 2, 3});
    struct status status = {0};
    CHECK(!run(&example, 1, &status));
    CHECK(strstr(status.message, "too many elements") != NULL);
}

TEST(equal_programs_of_other_sizes_share_their_code) {
    unsigned char keys[2][sizeof(struct kernel_spec)];
    size_t lengths[2];
    for (int i = 0; i < 2; i++) {
        struct example example = {.seed = 1};
        struct status status = {0};
        struct device_capabilities device = native_device(2);
        struct kernel_request request = {0};
        set_sizes(&example, 1, 2, (int64_t[]){10 + i, 100 * (1 + i)});
        make_softmax(&example, RIDGE_F32);
        CHECK_OK(native_program(&example.program, &example.shape, &device, &request, &status),
                 status);
        lengths[i] = kernel_spec_key(&request.spec, keys[i], sizeof keys[i]);
        finish(&example);
    }
    CHECK_INT(lengths[0], lengths[1]);
    CHECK(memcmp(keys[0], keys[1], lengths[0]) == 0);
}
