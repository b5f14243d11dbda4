/* An operator's inputs are read from the JSON that was recorded with it. The importer made the JSON
 * valid and compact, but a .ridge file may hold anything: unexpected bytes end the reading, and
 * nothing is read beyond the text's end. Nesting is at most three deep (a list of tensors' sizes),
 * so no recursion is needed.
 *
 * Argument positions follow the operators' signatures in PyTorch's native_functions.yaml. Where the
 * result's size or the number of operations depends on something that was not recorded (a
 * convolution's stride, whether attention is causal), the work is unknown.
 *
 * Operators that touch every element once are rows of a table: the number of tensors read, what is
 * written, and the operations per element. A tensor beyond those read is the caller's result
 * ("out=") and is not read.
 */
#include "analysis/operator_work.h"

#include <math.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/min_max.h"

/* ---- Arguments ---- */

struct cursor {
    const char *at, *end;
};

static void pass_spaces(struct cursor *cursor) {
    while (cursor->at < cursor->end && *cursor->at == ' ')
        cursor->at++;
}

static bool take(struct cursor *cursor, char byte) {
    pass_spaces(cursor);
    if (cursor->at == cursor->end || *cursor->at != byte)
        return false;
    cursor->at++;
    return true;
}

/* Places the cursor after the opening bracket of an array member. */
static bool find_array(struct text detail, const char *key, struct cursor *cursor) {
    ptrdiff_t place = text_find(detail, key);
    if (place < 0)
        return false;
    cursor->at = detail.data + place + strlen(key);
    cursor->end = detail.data + detail.length;
    return take(cursor, ':') && take(cursor, '[');
}

static bool take_number(struct cursor *cursor, double *number) {
    pass_spaces(cursor);
    const char *start = cursor->at;
    int64_t value;
    while (cursor->at < cursor->end && strchr("+-.0123456789eE", *cursor->at) && *cursor->at)
        cursor->at++;
    if (!decimal_scaled((struct text){start, (size_t)(cursor->at - start)}, 0, &value))
        return false;
    *number = (double)value;
    return true;
}

/* A string without its quotes; escapes are kept, since no relevant word has any. */
static bool take_string(struct cursor *cursor, struct text *text) {
    if (!take(cursor, '"'))
        return false;
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"')
        cursor->at += *cursor->at == '\\' && cursor->at + 1 < cursor->end ? 2 : 1;
    *text = (struct text){start, (size_t)(cursor->at - start)};
    return take(cursor, '"');
}

/* The sizes of one tensor, after its opening bracket. */
static bool take_sizes(struct cursor *cursor, struct argument *argument) {
    argument->rank = 0;
    argument->elements = 1;
    if (take(cursor, ']'))
        return true;
    do {
        double size;
        if (argument->rank == ARGUMENT_RANK_MAX || !take_number(cursor, &size) || size < 0)
            return false;
        argument->dims[argument->rank++] = size;
        argument->elements *= size;
    } while (take(cursor, ','));
    return take(cursor, ']');
}

/* The tensors of a list, after the opening bracket of the first. */
static bool take_list(struct cursor *cursor, struct argument *list) {
    double elements = 0;
    do {
        if (!take_sizes(cursor, list))
            return false;
        elements += list->elements;
    } while (take(cursor, ',') && take(cursor, '['));
    list->is_list = true;
    list->rank = 0;
    list->elements = elements;
    return take(cursor, ']');
}

static bool take_dims(struct cursor *cursor, struct arguments *arguments) {
    if (take(cursor, ']'))
        return false;
    do {
        if (arguments->count == ARGUMENTS_MAX)
            return true;
        struct argument *argument = &arguments->list[arguments->count];
        if (!take(cursor, '['))
            return false;
        if (!(take(cursor, '[') ? take_list(cursor, argument) : take_sizes(cursor, argument)))
            return false;
        arguments->count++;
    } while (take(cursor, ','));
    return take(cursor, ']');
}

static const struct {
    const char *name;
    enum element_type type;
    unsigned size;
} types[] = {
    {"float", ELEMENT_F32, 4},
    {"c10::Half", ELEMENT_F16, 2},
    {"c10::BFloat16", ELEMENT_BF16, 2},
    {"double", ELEMENT_F64, 8},
    {"long int", ELEMENT_OTHER, 8},
    {"long", ELEMENT_OTHER, 8},
    {"int", ELEMENT_OTHER, 4},
    {"short int", ELEMENT_OTHER, 2},
    {"short", ELEMENT_OTHER, 2},
    {"unsigned short", ELEMENT_OTHER, 2},
    {"unsigned int", ELEMENT_OTHER, 4},
    {"unsigned long", ELEMENT_OTHER, 8},
    {"signed char", ELEMENT_OTHER, 1},
    {"unsigned char", ELEMENT_OTHER, 1},
    {"char", ELEMENT_OTHER, 1},
    {"bool", ELEMENT_OTHER, 1},
    {"c10::Float8_e4m3fn", ELEMENT_OTHER, 1},
    {"c10::Float8_e5m2", ELEMENT_OTHER, 1},
    {"c10::Float8_e4m3fnuz", ELEMENT_OTHER, 1},
    {"c10::Float8_e5m2fnuz", ELEMENT_OTHER, 1},
    {"c10::complex<float>", ELEMENT_OTHER, 8},
    {"c10::complex<double>", ELEMENT_OTHER, 16},
};

/* Scalars have a capitalised type or none ("Scalar", "Int", ""). */
static void set_type(struct argument *argument, struct text name) {
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (text_is(name, types[i].name)) {
            argument->type = types[i].type;
            argument->size = types[i].size;
        }
}

bool arguments_read(struct text detail, struct arguments *arguments) {
    struct cursor cursor;
    struct text text;
    memset(arguments, 0, sizeof *arguments);
    if (!find_array(detail, "\"Input Dims\"", &cursor) || !take_dims(&cursor, arguments))
        return false;
    arguments->untyped = !find_array(detail, "\"Input type\"", &cursor);
    for (unsigned i = 0; !arguments->untyped && i < arguments->count && take_string(&cursor, &text);
         i++) {
        set_type(&arguments->list[i], text);
        if (!take(&cursor, ','))
            break;
    }
    if (find_array(detail, "\"Concrete Inputs\"", &cursor))
        for (unsigned i = 0; i < arguments->count && take_string(&cursor, &text); i++) {
            arguments->list[i].concrete = text;
            if (!take(&cursor, ','))
                break;
        }
    return true;
}

void arguments_assume(struct arguments *arguments, enum element_type type) {
    for (unsigned i = 0; i < arguments->count; i++) {
        struct argument *argument = &arguments->list[i];
        if (argument->rank == 0 || argument->is_list)
            continue;
        argument->type = type;
        argument->size = type == ELEMENT_F32 ? 4 : type == ELEMENT_F64 ? 8 : 2;
    }
}

/* The numbers of "[2, 2]" or "2", at most `capacity`; returns how many, 0 for other text. */
static unsigned argument_numbers(struct text concrete, double *numbers, unsigned capacity) {
    struct cursor cursor = {concrete.data, concrete.data + concrete.length};
    unsigned count = 0;
    take(&cursor, '[');
    do {
        if (count == capacity || !take_number(&cursor, &numbers[count]))
            break;
        count++;
    } while (take(&cursor, ','));
    return count;
}

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

/* mm, bmm, and addmm and the like, whose first argument is the added matrix. */
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

/* Any number of dimensions on the left; on the right a matrix, or a batch of equal size. */
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
    unsigned first; /* index of the left matrix */
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

/* Positions of stride, padding and dilation among the arguments; 0: absent. */
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

/* One number per dimension, from a list or a single number for all. */
static bool directions(const struct arguments *arguments, unsigned place, unsigned count,
                       double *numbers) {
    if (place >= arguments->count)
        return false;
    unsigned found = argument_numbers(arguments->list[place].concrete, numbers, ARGUMENT_RANK_MAX);
    for (unsigned i = 1; found == 1 && i < count; i++)
        numbers[i] = numbers[0];
    return found == count || (found == 1 && count > 0);
}

/* Elements of the result: output channels times the positions of the window. */
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

/* Gradients of the input, the weight, or both: each costs as much as the convolution. */
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
    double both = bytes_of(input) + bytes_of(weight); /* one is read, the other written */
    if (!of_input && !of_weight)
        return (struct operator_work){0};
    return (struct operator_work){
        .kind = OPERATOR_CONVOLUTION,
        .type = gradient->type,
        .flops = (of_input + of_weight) * each,
        .bytes = bytes_of(gradient) + (of_input + of_weight) * both,
    };
}

/* In older versions: the result's size, the output's gradient, the weight. The result's element
 * size is not recorded. */
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

/* Positions of query, key and value and of the causal flag; heads come before or after positions.
 * The backward pass has five products instead of two, as attention weights are recomputed. */
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

/* A flag, or the number of a mask type where 0 is none. */
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

static struct operator_work product_work(struct text name, const struct arguments *arguments) {
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

/* ---- Every element once ---- */

/* How the result's size follows from the inputs. */
enum pattern {
    BROADCAST, /* element-wise */
    COPIED,    /* the second input is copied to the first */
    WRITTEN,   /* the first is only written */
    REDUCED,   /* over the dimensions of the second argument, or over all */
    WHOLE,     /* all tensors are read, one of the first's size is written */
    SELECTED,  /* rows of the first, indexed by another */
    JOINED,    /* lists of tensors */
};

struct row {
    const char *name;
    enum pattern pattern;
    unsigned tensors;      /* read: the leading arguments; SELECTED: position of the indexes;
                              JOINED: accesses per element */
    unsigned flops;        /* per element of the largest */
    unsigned result_bytes; /* per element of the result; 0: as the inputs */
};

#define UNARY(name)                                                                                \
    { name, BROADCAST, 1, 1, 0 }
#define BINARY(name)                                                                               \
    { name, BROADCAST, 2, 1, 0 }
#define TERNARY(name)                                                                              \
    { name, BROADCAST, 3, 2, 0 }
#define COMPARISON(name)                                                                           \
    { name, BROADCAST, 2, 1, 1 }
#define REDUCTION(name)                                                                            \
    { name, REDUCED, 1, 1, 0 }

static const struct row rows[] = {
    UNARY("abs"),
    UNARY("neg"),
    UNARY("exp"),
    UNARY("exp2"),
    UNARY("expm1"),
    UNARY("log"),
    UNARY("log2"),
    UNARY("log10"),
    UNARY("log1p"),
    UNARY("sqrt"),
    UNARY("rsqrt"),
    UNARY("reciprocal"),
    UNARY("square"),
    UNARY("sin"),
    UNARY("cos"),
    UNARY("tan"),
    UNARY("tanh"),
    UNARY("erf"),
    UNARY("sigmoid"),
    UNARY("relu"),
    UNARY("gelu"),
    UNARY("silu"),
    UNARY("mish"),
    UNARY("elu"),
    UNARY("leaky_relu"),
    UNARY("hardswish"),
    UNARY("hardsigmoid"),
    UNARY("hardtanh"),
    UNARY("softplus"),
    UNARY("floor"),
    UNARY("ceil"),
    UNARY("round"),
    UNARY("trunc"),
    UNARY("sign"),
    UNARY("clamp"),
    UNARY("clamp_min"),
    UNARY("clamp_max"),
    UNARY("threshold"),
    UNARY("nan_to_num"),
    UNARY("cumsum"),
    UNARY("triu"),
    UNARY("tril"),
    UNARY("flip"),
    UNARY("roll"),
    {"logical_not", BROADCAST, 1, 1, 1},
    {"bitwise_not", BROADCAST, 1, 1, 0},
    {"isnan", BROADCAST, 1, 1, 1},
    {"isinf", BROADCAST, 1, 1, 1},
    BINARY("add"),
    BINARY("sub"),
    BINARY("rsub"),
    BINARY("mul"),
    BINARY("div"),
    BINARY("pow"),
    BINARY("maximum"),
    BINARY("minimum"),
    BINARY("remainder"),
    BINARY("fmod"),
    BINARY("floor_divide"),
    BINARY("atan2"),
    BINARY("bitwise_and"),
    BINARY("bitwise_or"),
    BINARY("bitwise_xor"),
    BINARY("masked_fill"),
    BINARY("mse_loss"),
    BINARY("threshold_backward"),
    BINARY("tanh_backward"),
    BINARY("sigmoid_backward"),
    BINARY("gelu_backward"),
    BINARY("silu_backward"),
    BINARY("hardswish_backward"),
    BINARY("leaky_relu_backward"),
    BINARY("native_dropout_backward"),
    COMPARISON("eq"),
    COMPARISON("ne"),
    COMPARISON("lt"),
    COMPARISON("le"),
    COMPARISON("gt"),
    COMPARISON("ge"),
    COMPARISON("logical_and"),
    COMPARISON("logical_or"),
    TERNARY("where"),
    TERNARY("lerp"),
    TERNARY("addcmul"),
    TERNARY("addcdiv"),
    TERNARY("mse_loss_backward"),
    {"copy", COPIED, 2, 0, 0},
    {"fill", WRITTEN, 1, 0, 0},
    {"zero", WRITTEN, 1, 0, 0},
    {"uniform", WRITTEN, 1, 0, 0},
    {"normal", WRITTEN, 1, 0, 0},
    {"bernoulli", WRITTEN, 1, 0, 0},
    REDUCTION("sum"),
    REDUCTION("mean"),
    REDUCTION("prod"),
    REDUCTION("max"),
    REDUCTION("min"),
    REDUCTION("amax"),
    REDUCTION("amin"),
    REDUCTION("argmax"),
    REDUCTION("argmin"),
    REDUCTION("all"),
    REDUCTION("any"),
    {"norm", REDUCED, 1, 2, 0},
    {"linalg_vector_norm", REDUCED, 1, 2, 0},
    {"var", REDUCED, 1, 3, 0},
    {"std", REDUCED, 1, 3, 0},
    {"_softmax", WHOLE, 1, 5, 0},
    {"_log_softmax", WHOLE, 1, 5, 0},
    {"softmax", WHOLE, 1, 5, 0},
    {"log_softmax", WHOLE, 1, 5, 0},
    {"_softmax_backward_data", WHOLE, 2, 4, 0},
    {"_log_softmax_backward_data", WHOLE, 2, 4, 0},
    {"layer_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"native_layer_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"native_layer_norm_backward", WHOLE, ARGUMENTS_MAX, 12, 0},
    {"rms_norm", WHOLE, ARGUMENTS_MAX, 5, 0},
    {"_fused_rms_norm", WHOLE, ARGUMENTS_MAX, 5, 0},
    {"native_group_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"native_group_norm_backward", WHOLE, ARGUMENTS_MAX, 12, 0},
    {"batch_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"native_batch_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"native_batch_norm_backward", WHOLE, ARGUMENTS_MAX, 12, 0},
    {"cudnn_batch_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"cudnn_batch_norm_backward", WHOLE, ARGUMENTS_MAX, 12, 0},
    {"miopen_batch_norm", WHOLE, ARGUMENTS_MAX, 8, 0},
    {"miopen_batch_norm_backward", WHOLE, ARGUMENTS_MAX, 12, 0},
    {"embedding", SELECTED, 1, 0, 0},
    {"index_select", SELECTED, 2, 0, 0},
    {"cat", JOINED, 2, 0, 0},
    {"_foreach_add", JOINED, 1, 1, 0},
    {"_foreach_sub", JOINED, 1, 1, 0},
    {"_foreach_mul", JOINED, 1, 1, 0},
    {"_foreach_div", JOINED, 1, 1, 0},
    {"_foreach_sqrt", JOINED, 1, 1, 0},
    {"_foreach_addcmul", JOINED, 1, 2, 0},
    {"_foreach_addcdiv", JOINED, 1, 2, 0},
    {"_foreach_lerp", JOINED, 1, 2, 0},
};

static bool is_tensor(const struct argument *argument) {
    return argument->size > 0 && !argument->is_list;
}

static double tensor_bytes(const struct argument *argument) {
    return is_tensor(argument) ? argument->elements * argument->size : 0;
}

/* Elements of the broadcast shape, aligned at the last dimension. */
static double broadcast_elements(const struct arguments *arguments, unsigned tensors) {
    double dims[ARGUMENT_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1}, elements = 1;
    for (unsigned i = 0; i < tensors; i++) {
        const struct argument *argument = &arguments->list[i];
        for (unsigned d = 0; is_tensor(argument) && d < argument->rank; d++) {
            double size = argument->dims[argument->rank - 1 - d];
            dims[d] = size != 1 ? size : dims[d];
        }
    }
    for (unsigned d = 0; d < ARGUMENT_RANK_MAX; d++)
        elements *= dims[d];
    return elements;
}

/* The widest type; scalars do not widen tensors. */
static unsigned result_size(const struct arguments *arguments, unsigned tensors) {
    unsigned wide = 0, wide_number = 0;
    for (unsigned i = 0; i < tensors; i++) {
        const struct argument *argument = &arguments->list[i];
        unsigned *widest = argument->rank > 0 ? &wide : &wide_number;
        if (is_tensor(argument) && argument->size > *widest)
            *widest = argument->size;
    }
    return wide ? wide : wide_number;
}

static struct operator_work streaming(double bytes, double flops) {
    return (struct operator_work){
        .kind = OPERATOR_STREAMING, .type = ELEMENT_F32, .bytes = bytes, .flops = flops};
}

static struct operator_work broadcast(const struct row *row, const struct arguments *arguments,
                                      bool in_place) {
    unsigned tensors = MIN(row->tensors, arguments->count);
    double elements = broadcast_elements(arguments, tensors), bytes = 0;
    unsigned size = row->result_bytes ? row->result_bytes : result_size(arguments, tensors);
    if (in_place)
        size = arguments->list[0].size;
    for (unsigned i = 0; i < tensors; i++)
        bytes += tensor_bytes(&arguments->list[i]);
    return streaming(bytes + elements * size, elements * row->flops);
}

/* Elements of the result; dimensions that are not recorded count as reduced. */
static double reduced_elements(const struct arguments *arguments) {
    const struct argument *input = &arguments->list[0];
    double dims[ARGUMENT_RANK_MAX], elements = input->elements;
    unsigned count = arguments->count > 1
                         ? argument_numbers(arguments->list[1].concrete, dims, ARGUMENT_RANK_MAX)
                         : 0;
    if (count == 0)
        return 1;
    for (unsigned i = 0; i < count; i++) {
        double place = dims[i] < 0 ? dims[i] + input->rank : dims[i];
        if (place < 0 || place >= input->rank || input->dims[(unsigned)place] == 0)
            return 1;
        elements /= input->dims[(unsigned)place];
    }
    return elements;
}

static struct operator_work whole(const struct row *row, const struct arguments *arguments) {
    const struct argument *first = &arguments->list[0];
    double bytes = tensor_bytes(first); /* written */
    for (unsigned i = 0; i < MIN(row->tensors, arguments->count); i++)
        bytes += tensor_bytes(&arguments->list[i]);
    return streaming(bytes, first->elements * row->flops);
}

/* One row per index: all dimensions but the indexed one, usually the first. */
static struct operator_work selected(const struct row *row, const struct arguments *arguments) {
    const struct argument *table = &arguments->list[0];
    double dimension = 0;
    if (arguments->count <= row->tensors)
        return (struct operator_work){0};
    const struct argument *numbers = &arguments->list[row->tensors];
    if (row->tensors == 2 && argument_numbers(arguments->list[1].concrete, &dimension, 1) == 0)
        return (struct operator_work){0};
    if (dimension < 0)
        dimension += table->rank;
    if (!is_tensor(numbers) || dimension < 0 || dimension >= table->rank ||
        table->dims[(unsigned)dimension] == 0)
        return (struct operator_work){0};
    double elements = numbers->elements * (table->elements / table->dims[(unsigned)dimension]);
    return streaming(tensor_bytes(numbers) + 2 * elements * table->size, 0);
}

/* The type of a list's tensors is not recorded. All lists are read, results are written for the
 * first. */
static struct operator_work joined(const struct row *row, const struct arguments *arguments) {
    struct operator_work work = {.kind = OPERATOR_STREAMING, .type = ELEMENT_F32};
    if (!arguments->list[0].is_list)
        return (struct operator_work){0};
    for (unsigned i = 0; i < arguments->count; i++)
        if (arguments->list[i].is_list)
            work.elements += arguments->list[i].elements;
    if (row->tensors == 1)
        work.elements += arguments->list[0].elements;
    else
        work.elements *= row->tensors;
    work.flops = arguments->list[0].elements * row->flops;
    return work;
}

/* A generated kernel: each tensor argument is read or written, or both. */
static struct operator_work generated(const struct arguments *arguments) {
    double bytes = 0;
    for (unsigned i = 0; i < arguments->count; i++)
        bytes += tensor_bytes(&arguments->list[i]);
    return streaming(bytes, 0);
}

static struct operator_work by_row(const struct row *row, const struct arguments *arguments,
                                   bool in_place) {
    const struct argument *first = &arguments->list[0];
    if (row->pattern == JOINED)
        return joined(row, arguments);
    if (arguments->count == 0 || !is_tensor(first))
        return (struct operator_work){0};
    switch (row->pattern) {
    case BROADCAST:
        return broadcast(row, arguments, in_place);
    case COPIED:
        return arguments->count < 2 ? (struct operator_work){0}
                                    : streaming(tensor_bytes(first) + tensor_bytes(first + 1), 0);
    case WRITTEN:
        return streaming(tensor_bytes(first), 0);
    case REDUCED:
        return streaming(tensor_bytes(first) + reduced_elements(arguments) * first->size,
                         first->elements * row->flops);
    case SELECTED:
        return selected(row, arguments);
    default:
        return whole(row, arguments);
    }
}

static struct operator_work find_work(struct text name, const struct arguments *arguments) {
    if (text_starts(name, "triton_poi_") || text_starts(name, "triton_red_") ||
        text_starts(name, "triton_per_"))
        return generated(arguments);
    if (!text_starts(name, "aten::"))
        return (struct operator_work){0};
    name = (struct text){name.data + 6, name.length - 6};
    bool in_place = name.length > 1 && name.data[name.length - 1] == '_';
    name.length -= in_place;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (text_is(name, rows[i].name))
            return by_row(&rows[i], arguments, in_place);
    return product_work(name, arguments);
}

struct operator_work operator_work(struct text name, const struct arguments *arguments) {
    struct operator_work work = find_work(name, arguments);
    bool sane = work.flops < OPERATOR_WORK_MAX && work.bytes < OPERATOR_WORK_MAX &&
                work.elements < OPERATOR_WORK_MAX;
    bool nothing = work.flops <= 0 && work.bytes <= 0 && work.elements <= 0;
    return sane && !nothing ? work : (struct operator_work){0};
}
