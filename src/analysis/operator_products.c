/* Where the arguments lie follows the operators' signatures in PyTorch's native_functions.yaml.
 * What the result's size or the number of operations depends on and was not recorded makes the work
 * unknown: a convolution's stride, whether attention is causal.
 */
#include "analysis/operator_products.h"

#include <math.h>

#include "base/array.h"

static double bytes_of(const struct argument *argument) {
    return argument->elements * argument->size;
}

/* ---- Matrices ---- */

/* batch times (rows x inner) * (inner x columns) */
static struct operator_work product(const struct argument *a, const struct argument *b,
                                    double batch, double rows, double inner, double columns,
                                    double other_bytes) {
    double result = batch * rows * columns;
    if (a->size == 0 || b->size == 0)
        return (struct operator_work){0};
    return (struct operator_work){
        .kind = OPERATOR_PRODUCT,
        .type = a->type,
        .flops = 2 * result * inner,
        .bytes = bytes_of(a) + bytes_of(b) + result * a->size + other_bytes,
    };
}

/* mm, bmm and what adds another matrix to it, which then comes first. */
static struct operator_work matrices(const struct arguments *arguments, unsigned first) {
    if (arguments->count < first + 2)
        return (struct operator_work){0};
    const struct argument *a = &arguments->list[first], *b = a + 1;
    double added = first > 0 ? bytes_of(&arguments->list[0]) : 0;
    unsigned batches = a->rank == 3;
    if (a->rank != b->rank || a->rank < 2 || a->rank > 3 ||
        a->dims[batches + 1] != b->dims[batches] || (batches && a->dims[0] != b->dims[0]))
        return (struct operator_work){0};
    return product(a, b, batches ? a->dims[0] : 1, a->dims[batches], b->dims[batches],
                   b->dims[batches + 1], added);
}

static struct operator_work matrix_vector(const struct arguments *arguments, unsigned first) {
    if (arguments->count < first + 2)
        return (struct operator_work){0};
    const struct argument *a = &arguments->list[first], *b = a + 1;
    if (a->rank != 2 || b->rank != 1 || a->dims[1] != b->dims[0])
        return (struct operator_work){0};
    return product(a, b, 1, a->dims[0], a->dims[1], 1, 0);
}

/* Any number of dimensions on the left; on the right a matrix, or as many that are equal. */
static struct operator_work matmul(const struct arguments *arguments, unsigned first) {
    if (arguments->count < first + 2)
        return (struct operator_work){0};
    const struct argument *a = &arguments->list[first], *b = a + 1;
    if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return (struct operator_work){0};
    double inner = a->dims[a->rank - 1], columns = b->dims[b->rank - 1];
    if (inner == 0)
        return (struct operator_work){0};
    if (b->rank == 2)
        return product(a, b, 1, a->elements / inner, inner, columns, 0);
    double batch = 1;
    for (unsigned i = 0; i + 2 < a->rank; i++) {
        if (a->rank != b->rank || a->dims[i] != b->dims[i])
            return (struct operator_work){0};
        batch *= a->dims[i];
    }
    return product(a, b, batch, a->dims[a->rank - 2], inner, columns, 0);
}

/* The weight is transposed: outputs x inputs. */
static struct operator_work linear(const struct arguments *arguments, unsigned first) {
    if (arguments->count < first + 2)
        return (struct operator_work){0};
    const struct argument *a = &arguments->list[first], *weight = a + 1;
    if (a->rank < 1 || weight->rank != 2 || a->dims[a->rank - 1] != weight->dims[1] ||
        weight->dims[1] == 0)
        return (struct operator_work){0};
    return product(a, weight, 1, a->elements / weight->dims[1], weight->dims[1], weight->dims[0],
                   0);
}

static const struct {
    const char *name;
    struct operator_work (*work)(const struct arguments *arguments, unsigned first);
    unsigned first; /* where the left matrix is */
} matrix_operators[] = {
    {"mm", matrices, 0},
    {"bmm", matrices, 0},
    {"addmm", matrices, 1},
    {"baddbmm", matrices, 1},
    {"_addmm_activation", matrices, 1},
    {"mv", matrix_vector, 0},
    {"addmv", matrix_vector, 1},
    {"matmul", matmul, 0},
    {"linear", linear, 0},
};

/* ---- Convolutions ---- */

/* Where stride, padding and dilation are among the arguments; 0: there is none. */
static const struct convolution {
    const char *name;
    unsigned stride, padding, dilation, transposed;
} convolutions[] = {
    {"convolution", 3, 4, 5, 6},
    {"convolution_overrideable", 3, 4, 5, 6},
    {"_convolution", 3, 4, 5, 6},
    {"conv1d", 3, 4, 5, 0},
    {"conv2d", 3, 4, 5, 0},
    {"conv3d", 3, 4, 5, 0},
    {"cudnn_convolution", 3, 2, 4, 0},
    {"cudnn_convolution_relu", 3, 4, 5, 0},
    {"mkldnn_convolution", 4, 3, 5, 0},
    {"miopen_convolution", 4, 3, 5, 0},
    {"_conv_depthwise2d", 4, 5, 6, 0},
    {"thnn_conv2d", 4, 5, 0, 0},
    {"_slow_conv2d_forward", 4, 5, 0, 0},
};

/* A number for each of `count` directions, of a list or of one number for all. */
static bool directions(const struct arguments *arguments, unsigned place, unsigned count,
                       double *numbers) {
    if (place >= arguments->count)
        return false;
    unsigned found = argument_numbers(arguments->list[place].concrete, numbers, ARGUMENT_RANK_MAX);
    for (unsigned i = 1; found == 1 && i < count; i++)
        numbers[i] = numbers[0];
    return found == count || (found == 1 && count > 0);
}

/* Elements of the result: those of the output's channels, and what the window's steps leave. */
static bool convolution_result(const struct convolution *row, const struct arguments *arguments,
                               double *elements) {
    const struct argument *input = &arguments->list[0], *weight = &arguments->list[1];
    double stride[ARGUMENT_RANK_MAX], padding[ARGUMENT_RANK_MAX],
        dilation[ARGUMENT_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    unsigned spatial = input->rank - 2;
    if (!directions(arguments, row->stride, spatial, stride) ||
        !directions(arguments, row->padding, spatial, padding) ||
        (row->dilation && !directions(arguments, row->dilation, spatial, dilation)))
        return false;
    *elements = input->dims[0] * weight->dims[0];
    for (unsigned i = 0; i < spatial; i++) {
        double reach = dilation[i] * (weight->dims[2 + i] - 1) + 1;
        double steps = input->dims[2 + i] + 2 * padding[i] - reach;
        if (stride[i] < 1 || steps < 0)
            return false;
        *elements *= floor(steps / stride[i]) + 1;
    }
    return true;
}

static struct operator_work convolution(const struct convolution *row,
                                        const struct arguments *arguments) {
    const struct argument *input = &arguments->list[0], *weight = &arguments->list[1];
    double result;
    bool transposed = row->transposed && row->transposed < arguments->count &&
                      !text_is(arguments->list[row->transposed].concrete, "False");
    if (arguments->count < 2 || input->size == 0 || input->rank < 3 ||
        weight->rank != input->rank || weight->dims[0] == 0 || transposed ||
        !convolution_result(row, arguments, &result))
        return (struct operator_work){0};
    return (struct operator_work){
        .kind = OPERATOR_CONVOLUTION,
        .type = input->type,
        .flops = 2 * result * (weight->elements / weight->dims[0]),
        .bytes = bytes_of(input) + bytes_of(weight) + result * input->size,
    };
}

/* Gradients of the input, of the weight, or of both: each as much work as the convolution. */
static struct operator_work convolution_backward(const struct arguments *arguments) {
    enum { MASK = 10, TRANSPOSED = 7 };
    const struct argument *gradient = &arguments->list[0], *input = &arguments->list[1],
                          *weight = &arguments->list[2];
    if (arguments->count <= MASK || weight->rank < 3 || weight->dims[0] == 0 ||
        gradient->size == 0 || !text_is(arguments->list[TRANSPOSED].concrete, "False"))
        return (struct operator_work){0};
    struct text mask = arguments->list[MASK].concrete;
    bool of_input = text_starts(mask, "[True"),
         of_weight = text_starts(mask, "[True, True") || text_starts(mask, "[False, True");
    double each = 2 * gradient->elements * (weight->elements / weight->dims[0]);
    double both = bytes_of(input) + bytes_of(weight); /* one is read and the other written */
    if (!of_input && !of_weight)
        return (struct operator_work){0};
    return (struct operator_work){
        .kind = OPERATOR_CONVOLUTION,
        .type = gradient->type,
        .flops = (of_input + of_weight) * each,
        .bytes = bytes_of(gradient) + (of_input + of_weight) * both,
    };
}

/* Of older versions: the size of the result, the output's gradient, the weight. The bytes of the
 * result are not told. */
static struct operator_work convolution_backward_input(const struct arguments *arguments) {
    const struct argument *gradient = &arguments->list[1], *weight = &arguments->list[2];
    if (arguments->count < 3 || gradient->size == 0 || weight->rank < 3 ||
        weight->rank != gradient->rank || weight->dims[0] != gradient->dims[1] ||
        weight->dims[0] == 0)
        return (struct operator_work){0};
    return (struct operator_work){
        .kind = OPERATOR_CONVOLUTION,
        .type = gradient->type,
        .flops = 2 * gradient->elements * (weight->elements / weight->dims[0]),
    };
}

/* ---- Attention ---- */

/* Where query, key and value begin and where it says whether later positions are left out; heads
 * come before positions or behind them. Backwards there are five products for two, as the weights
 * of attention are not kept. */
static const struct attention {
    const char *name;
    unsigned query, causal;
    bool heads_last, backward;
} attentions[] = {
    {"scaled_dot_product_attention", 0, 5, false, false},
    {"_scaled_dot_product_flash_attention", 0, 4, false, false},
    {"_scaled_dot_product_efficient_attention", 0, 6, false, false},
    {"_scaled_dot_product_cudnn_attention", 0, 6, false, false},
    {"_cudnn_attention_forward", 0, 10, false, false},
    {"_flash_attention_forward", 0, 8, true, false},
    {"_efficient_attention_forward", 0, 9, true, false},
    {"_scaled_dot_product_flash_attention_backward", 1, 11, false, true},
    {"_scaled_dot_product_efficient_attention_backward", 1, 11, false, true},
    {"_flash_attention_backward", 1, 11, true, true},
};

/* A flag, or the number of a kind of mask of which 0 is none. */
static bool read_causal(struct text concrete, bool *causal) {
    bool no = text_is(concrete, "False") || text_is(concrete, "0");
    *causal = !no;
    return no || text_is(concrete, "True") || text_is(concrete, "1") || text_is(concrete, "2");
}

static struct operator_work attention(const struct attention *row,
                                      const struct arguments *arguments) {
    const struct argument *query = &arguments->list[row->query], *key = query + 1,
                          *value = query + 2;
    unsigned positions = row->heads_last ? 1 : 2, heads = row->heads_last ? 2 : 1;
    bool causal;
    if (arguments->count <= row->causal || query->size == 0 || query->rank != 4 || key->rank != 4 ||
        value->rank != 4 || query->dims[3] != key->dims[3] ||
        !read_causal(arguments->list[row->causal].concrete, &causal))
        return (struct operator_work){0};
    double batch = query->dims[0] * query->dims[heads];
    double pairs = query->dims[positions] * key->dims[positions] * (causal ? 0.5 : 1);
    double result = batch * query->dims[positions] * value->dims[3] * query->size;
    double inputs = bytes_of(query) + bytes_of(key) + bytes_of(value);
    double flops = 2 * batch * pairs * (query->dims[3] + value->dims[3]);
    return (struct operator_work){
        .kind = OPERATOR_PRODUCT,
        .type = query->type,
        .flops = row->backward ? 2.5 * flops : flops,
        .bytes = row->backward ? 2 * (inputs + result) : inputs + result,
    };
}

struct operator_work product_work(struct text name, const struct arguments *arguments) {
    for (size_t i = 0; i < ARRAY_COUNT(matrix_operators); i++)
        if (text_is(name, matrix_operators[i].name))
            return matrix_operators[i].work(arguments, matrix_operators[i].first);
    for (size_t i = 0; i < ARRAY_COUNT(convolutions); i++)
        if (text_is(name, convolutions[i].name))
            return convolution(&convolutions[i], arguments);
    for (size_t i = 0; i < ARRAY_COUNT(attentions); i++)
        if (text_is(name, attentions[i].name))
            return attention(&attentions[i], arguments);
    if (text_is(name, "convolution_backward"))
        return convolution_backward(arguments);
    if (text_is(name, "cudnn_convolution_backward_input"))
        return convolution_backward_input(arguments);
    return (struct operator_work){0};
}
