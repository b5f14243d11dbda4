/* Public matrix products, and the layers that are made of them. */
#include "tensor/dual_gemm.h"
#include "tensor/operation.h"

static struct tensor *transposed(struct builder *build, struct tensor *x) {
    struct view view = x->view;
    unsigned last = view.rank - 1;
    view.sizes[last] = x->view.sizes[last - 1];
    view.sizes[last - 1] = x->view.sizes[last];
    view.strides[last] = x->view.strides[last - 1];
    view.strides[last - 1] = x->view.strides[last];
    return build_view(build, x, &view);
}

/* Inputs: a, b, bias. The integers: activation, whether b is transposed. */
static bool build_product(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *b = inputs[1];
    if (operation->integers[1] && b->view.rank != 2)
        return status_fail(build->status, STATUS_USAGE, "the weight must have two axes, [out, in]");
    if (operation->integers[1])
        b = transposed(build, b);
    struct tensor *y = build_matmul(build, inputs[0], b);
    if (inputs[2])
        y = build_expression(build, OP_ADD, y, inputs[2], NULL);
    outputs[0] = build_activation(build, y, (enum ridge_activation)operation->integers[0]);
    return outputs[0] != NULL;
}

static ridge_tensor *product(const char *name, ridge_tensor *a, ridge_tensor *b, ridge_tensor *bias,
                             enum ridge_activation activation, bool transpose) {
    struct operation operation = {.name = name,
                                  .build = build_product,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {a, b, bias},
                                  .optional = 4,
                                  .integers = {activation, transpose}};
    return operation_result(&operation);
}

ridge_tensor *ridge_matmul(ridge_tensor *a, ridge_tensor *b) {
    return product("ridge_matmul", a, b, NULL, RIDGE_ACTIVATION_NONE, false);
}

ridge_tensor *ridge_matmul_activation(ridge_tensor *a, ridge_tensor *b, ridge_tensor *bias,
                                      enum ridge_activation activation) {
    return product("ridge_matmul_activation", a, b, bias, activation, false);
}

ridge_tensor *ridge_linear(ridge_tensor *x, ridge_tensor *w, ridge_tensor *bias,
                           enum ridge_activation activation) {
    return product("ridge_linear", x, w, bias, activation, true);
}

/* The operation as one kernel, where the device has one for it; *y stays NULL elsewhere. */
static bool build_dual_gemm(struct builder *build, enum op op, struct tensor *const *operands,
                            unsigned count, float scale, struct tensor **y) {
    struct node_input inputs[4];
    struct dual_gemm_work work;
    for (unsigned i = 0; i < count; i++)
        if (!graph_operand(build->graph, operands[i], &inputs[i], build->status))
            return false;
    if (!dual_gemm_work_of(build->graph, op, inputs, scale, &work) ||
        !kernel_dual_gemm_fits(&work, &build->graph->device->device->capabilities))
        return true;
    struct node_parameters parameters = {.scale = scale};
    struct view shape = operands[0]->view;
    shape.sizes[shape.rank - 1] = work.n;
    *y = build_kernel(build, op, work.type, &shape, operands, count, &parameters);
    return *y != NULL;
}

/* x, and the weights [out, in] as right matrices. */
static bool turn_weights(struct builder *build, struct tensor *const *inputs, unsigned count,
                         struct tensor **turned) {
    turned[0] = inputs[0];
    for (unsigned i = 1; i < count; i++) {
        if (inputs[i]->view.rank != 2)
            return status_fail(build->status, STATUS_USAGE,
                               "weights must have two axes, [out, in]");
        if (!(turned[i] = transposed(build, inputs[i])))
            return false;
    }
    return true;
}

static bool build_gated_mlp(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    struct tensor *y = NULL, *turned[4];
    if (!turn_weights(build, inputs, inputs[3] ? 4 : 3, turned) ||
        !build_dual_gemm(build, OP_GATED, turned, 3, 0, &y))
        return false;
    if (!y) {
        struct tensor *gate = build_activation(build, build_matmul(build, turned[0], turned[1]),
                                               RIDGE_ACTIVATION_SILU);
        y = build_expression(build, OP_MUL, gate, build_matmul(build, turned[0], turned[2]), NULL);
    }
    outputs[0] = inputs[3] ? build_matmul(build, y, turned[3]) : y;
    return outputs[0] != NULL;
}

ridge_tensor *ridge_gated_mlp(ridge_tensor *x, ridge_tensor *gate, ridge_tensor *up,
                              ridge_tensor *down) {
    struct operation operation = {.name = "ridge_gated_mlp",
                                  .build = build_gated_mlp,
                                  .input_count = 4,
                                  .output_count = 1,
                                  .inputs = {x, gate, up, down},
                                  .optional = 8};
    return operation_result(&operation);
}

static bool build_lora(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *in[4];
    outputs[0] = NULL;
    if (!turn_weights(build, inputs, 4, in) ||
        !build_dual_gemm(build, OP_LORA, in, 4, (float)operation->numbers[0], &outputs[0]))
        return false;
    if (outputs[0])
        return true;
    struct tensor *low = build_matmul(build, build_matmul(build, in[0], in[2]), in[3]);
    struct tensor *scaled = build_scalar(build, OP_MUL, low, operation->numbers[0]);
    outputs[0] = build_expression(build, OP_ADD, scaled, build_matmul(build, in[0], in[1]), NULL);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_lora(ridge_tensor *x, ridge_tensor *w, ridge_tensor *a, ridge_tensor *b,
                         float scale) {
    struct operation operation = {.name = "ridge_lora",
                                  .build = build_lora,
                                  .input_count = 4,
                                  .output_count = 1,
                                  .inputs = {x, w, a, b},
                                  .numbers = {scale}};
    return operation_result(&operation);
}

/* ---- Quantized types ---------------------------------------------------------------------- */

static bool build_quantized(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    enum ridge_dtype dtype = (enum ridge_dtype)operation->integers[0];
    enum op op = (enum op)operation->integers[1];
    struct tensor *x = inputs[0];
    enum ridge_dtype packed = op == OP_QUANTIZE ? dtype : x->dtype;
    enum ridge_dtype plain = op == OP_QUANTIZE ? x->dtype : dtype;
    if (!dtype_is_quantized(packed) || !dtype_is_float(plain))
        return status_fail(build->status, STATUS_USAGE,
                           "it converts between a float type and a quantized one, not from %s to %s",
                           ridge_dtype_name(x->dtype), ridge_dtype_name(dtype));
    int64_t block = dtype_block(packed);
    if (x->view.rank == 0 || x->view.sizes[x->view.rank - 1] % block != 0)
        return status_fail(build->status, STATUS_USAGE,
                           "%s has blocks of %lld: the last size must be a multiple of that",
                           ridge_dtype_name(packed), (long long)block);
    x = build_contiguous(build, x);
    outputs[0] = x ? build_kernel(build, op, dtype, &x->view, &x, 1, NULL) : NULL;
    return outputs[0] != NULL;
}

static ridge_tensor *quantized(const char *name, enum op op, ridge_tensor *x,
                               enum ridge_dtype dtype) {
    if (x && !dtype_check(dtype, name))
        return NULL;
    struct operation operation = {.name = name,
                                  .build = build_quantized,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {dtype, op}};
    return operation_result(&operation);
}

ridge_tensor *ridge_quantize(ridge_tensor *x, enum ridge_dtype dtype) {
    return quantized("ridge_quantize", OP_QUANTIZE, x, dtype);
}

ridge_tensor *ridge_dequantize(ridge_tensor *x, enum ridge_dtype dtype) {
    return quantized("ridge_dequantize", OP_DEQUANTIZE, x, dtype);
}
