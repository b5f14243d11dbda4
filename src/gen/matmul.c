/* Selects who multiplies two matrices: the vendor's library or a generated kernel.
 *
 * The library is best at large products with dense operands, but supports only a few epilogues
 * and no quantized weights. Products with few rows or few columns are bound by reading the
 * larger matrix: our kernels handle those, with any epilogue. The library only gets products
 * that it certainly accepts, since a refusal comes too late for another choice.
 */
#include <string.h>

#include "gen/backends.h"
#include "gen/emit/matmul.h"

/* What of an epilogue the library can do: activation(A x B + bias), stored. */
struct library_epilogue {
    int d, bias; /* operands; bias is -1 if there is none */
    enum ridge_activation activation;
};

/* The value that an activation of the library is applied to, or `value` itself. */
static unsigned peel_activation(const struct program *program, unsigned value,
                                enum ridge_activation *activation) {
    const struct program_instruction *last = &program->instructions[value];
    *activation = last->op == OP_RELU        ? RIDGE_ACTIVATION_RELU
                  : last->op == OP_GELU_TANH ? RIDGE_ACTIVATION_GELU
                                             : RIDGE_ACTIVATION_NONE;
    return *activation == RIDGE_ACTIVATION_NONE ? value : last->a;
}

static int only_store(const struct program *program) {
    int store = -1;
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (program->instructions[i].op == OP_STORE) {
            if (store >= 0)
                return -1;
            store = (int)i;
        }
    return store;
}

/* The operand that is added to the accumulator by instruction `add`, or -1. */
static int added_operand(const struct program *program, const struct program_instruction *add) {
    const struct program_instruction *a = &program->instructions[add->a];
    const struct program_instruction *b = &program->instructions[add->b];
    if (a->op == OP_LOAD && b->op == OP_ACCUMULATOR)
        return a->slot;
    return a->op == OP_ACCUMULATOR && b->op == OP_LOAD ? b->slot : -1;
}

static bool match_epilogue(const struct program *program, struct library_epilogue *match) {
    int store = only_store(program);
    if (store < 0)
        return false;
    match->d = program->instructions[store].slot;
    match->bias = -1;
    unsigned value = peel_activation(program, program->instructions[store].a, &match->activation);
    const struct program_instruction *instruction = &program->instructions[value];
    if (instruction->op == OP_ADD_RELU && match->activation == RIDGE_ACTIVATION_NONE)
        match->activation = RIDGE_ACTIVATION_RELU;
    else if (instruction->op != OP_ADD)
        return instruction->op == OP_ACCUMULATOR;
    match->bias = added_operand(program, instruction);
    return match->bias >= 0;
}

static bool library_stores(const struct matmul_work *work, const struct library_epilogue *match) {
    const struct program_operand *operands = work->epilogue.operands;
    const int64_t *d = work->shape.strides[match->d];
    enum ridge_dtype type = operands[match->d].dtype;
    if ((type != work->a_type && type != RIDGE_F32) || work->shape.alignment[match->d] < 16 ||
        (d[2] != 1 && work->n > 1) || d[1] < work->n || (work->batch > 1 && d[0] <= 0))
        return false;
    if (match->bias < 0)
        return true;
    const int64_t *bias = work->shape.strides[match->bias];
    return operands[match->bias].dtype == type && work->shape.alignment[match->bias] >= 16 &&
           (bias[0] == 0 || work->batch == 1) && bias[1] == 0 && (bias[2] == 1 || work->n == 1);
}

/* Dense as the library requires: one stride is 1 and the other at least a line long. The stride
 * of an axis of size 1 is arbitrary and set to a suitable value. */
static bool dense(int64_t rows, int64_t columns, int64_t *row, int64_t *column) {
    if (columns == 1 && *row >= 1)
        *column = 1;
    else if (rows == 1 && *column == 1)
        *row = columns;
    else if (rows == 1 && *column >= 1)
        *row = 1;
    return (*column == 1 && *row >= columns) || (*row == 1 && *column >= rows);
}

/* Whether the library accepts the operands; fills in everything but the epilogue. */
static bool library_product(const struct matmul_work *work,
                            const struct device_capabilities *device,
                            struct device_matmul *matmul) {
    bool type =
        work->a_type == work->b_type &&
        (work->a_type == RIDGE_F32 || work->a_type == RIDGE_F16 || work->a_type == RIDGE_BF16);
    bool size = work->m <= INT32_MAX && work->n <= INT32_MAX && work->k <= INT32_MAX &&
                work->batch <= INT32_MAX && work->k > 0;
    if (!device->library_matmul || !type || !size || work->a_alignment < 16 ||
        work->b_alignment < 16)
        return false;
    bool one = work->batch == 1;
    *matmul = (struct device_matmul){
        .ab_type = work->a_type,
        .m = work->m,
        .n = work->n,
        .k = work->k,
        .batch = work->batch,
        .a_row = work->a_row,
        .a_column = work->a_column,
        .a_batch = one ? 0 : work->a_batch,
        .b_row = work->b_row,
        .b_column = work->b_column,
        .b_batch = one ? 0 : work->b_batch,
    };
    return dense(work->m, work->k, &matmul->a_row, &matmul->a_column) &&
           dense(work->k, work->n, &matmul->b_row, &matmul->b_column) && matmul->a_batch >= 0 &&
           matmul->b_batch >= 0;
}

static bool library_is_best(const struct matmul_work *work,
                            const struct device_capabilities *device,
                            struct device_matmul *matmul) {
    return device->language != LANGUAGE_NATIVE && library_product(work, device, matmul) &&
           !source_matmul_skinny(work, device);
}

bool kernel_matmul(const struct matmul_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, unsigned buffers[2], struct status *status) {
    memset(request, 0, sizeof *request);
    if (device->language == LANGUAGE_NATIVE)
        return native_matmul(work, device, request, status);
    struct library_epilogue match;
    struct device_matmul matmul;
    if (!library_is_best(work, device, &matmul) || !match_epilogue(&work->epilogue, &match) ||
        !library_stores(work, &match))
        return source_matmul(work, device, request, status);
    matmul.d_type = work->epilogue.operands[match.d].dtype;
    matmul.d_row = work->shape.strides[match.d][1];
    matmul.d_batch = work->batch == 1 ? 0 : work->shape.strides[match.d][0];
    matmul.bias = match.bias >= 0;
    matmul.activation = match.activation;
    request->library = true;
    request->matmul = matmul;
    request->spec.family = KERNEL_MATMUL;
    request->spec.types[0] = request->spec.types[1] = (uint8_t)work->a_type;
    buffers[0] = (unsigned)match.d;
    buffers[1] = match.bias >= 0 ? (unsigned)match.bias : 0;
    return true;
}

bool kernel_matmul_splits(const struct matmul_work *work,
                          const struct device_capabilities *device) {
    struct library_epilogue match;
    struct device_matmul matmul;
    return library_is_best(work, device, &matmul) &&
           !(match_epilogue(&work->epilogue, &match) && library_stores(work, &match));
}
