/* Public elementwise functions, made from the table of operations. */
#include "tensor/operation.h"

static bool build_row(struct builder *build, const struct operation *operation,
                      struct tensor *const *inputs, struct tensor **outputs) {
    outputs[0] = build_expression(build, (enum op)operation->integers[0], inputs[0],
                                  operation->input_count > 1 ? inputs[1] : NULL,
                                  operation->input_count > 2 ? inputs[2] : NULL);
    return outputs[0] != NULL;
}

static ridge_tensor *run_elementwise(const char *name, enum op op, unsigned arity, ridge_tensor *x,
                                     ridge_tensor *y, ridge_tensor *z) {
    struct operation operation = {.name = name,
                                  .build = build_row,
                                  .input_count = arity,
                                  .output_count = 1,
                                  .inputs = {x, y, z},
                                  .integers = {op}};
    return operation_result(&operation);
}

#define DEFINE_1(NAME, name)                                                                       \
    ridge_tensor *ridge_##name(ridge_tensor *x) {                                                  \
        return run_elementwise("ridge_" #name, OP_##NAME, 1, x, NULL, NULL);                       \
    }
#define DEFINE_2(NAME, name)                                                                       \
    ridge_tensor *ridge_##name(ridge_tensor *x, ridge_tensor *y) {                                 \
        return run_elementwise("ridge_" #name, OP_##NAME, 2, x, y, NULL);                          \
    }
#define DEFINE_3(NAME, name)                                                                       \
    ridge_tensor *ridge_##name(ridge_tensor *x, ridge_tensor *y, ridge_tensor *z) {                \
        return run_elementwise("ridge_" #name, OP_##NAME, 3, x, y, z);                             \
    }
#define DEFINE(NAME, name, arity, rule, flops, f32, i32) DEFINE_##arity(NAME, name)
ELEMENTWISE_OPS(DEFINE)

static bool build_with_number(struct builder *build, const struct operation *operation,
                              struct tensor *const *inputs, struct tensor **outputs) {
    outputs[0] =
        build_scalar(build, (enum op)operation->integers[0], inputs[0], operation->numbers[0]);
    return outputs[0] != NULL;
}

static ridge_tensor *run_with_number(const char *name, enum op op, ridge_tensor *x, double y) {
    struct operation operation = {.name = name,
                                  .build = build_with_number,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {op},
                                  .numbers = {y}};
    return operation_result(&operation);
}

#define SCALAR_1(NAME, name)
#define SCALAR_2(NAME, name)                                                                       \
    ridge_tensor *ridge_##name##_scalar(ridge_tensor *x, double y) {                               \
        return run_with_number("ridge_" #name "_scalar", OP_##NAME, x, y);                         \
    }
#define SCALAR_3(NAME, name)
#define SCALAR(NAME, name, arity, rule, flops, f32, i32) SCALAR_##arity(NAME, name)
ELEMENTWISE_OPS(SCALAR)

static bool build_converted(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    enum ridge_dtype dtype = (enum ridge_dtype)operation->integers[0];
    outputs[0] = build_cast(build, inputs[0], dtype);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_cast(ridge_tensor *x, enum ridge_dtype dtype) {
    const struct tensor *tensor = tensor_find(x);
    if (tensor && !dtype_check(dtype, "ridge_cast"))
        return NULL;
    if (tensor && tensor->dtype == dtype)
        return ridge_retain(x);
    struct operation operation = {.name = "ridge_cast",
                                  .build = build_converted,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {dtype}};
    return operation_result(&operation);
}
