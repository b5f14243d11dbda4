/* Operators that touch every element of their inputs once, as rows of a table: how many tensors
 * they read, what they write, and how many operations an element costs. A tensor in a place beyond
 * those is the result that the caller provided ("out="), and is not read.
 */
#include "analysis/operator.h"

#include "analysis/operator_products.h"
#include "base/array.h"

/* How the size of the result follows from the inputs. */
enum pattern {
    BROADCAST, /* element-wise */
    COPIED,    /* the second input becomes the first */
    WRITTEN,   /* the first is only written */
    REDUCED,   /* over the dimensions of the second argument, or over all */
    WHOLE,     /* all tensors are read, and one as large as the first is written */
    SELECTED,  /* rows of the first, numbered by the elements of another */
    JOINED,    /* lists of tensors, read and written so many times in all */
};

struct row {
    const char *name;
    enum pattern pattern;
    unsigned tensors;      /* read: the first so many arguments; SELECTED: where the numbers are;
                              JOINED: how often each element is read or written */
    unsigned flops;        /* an element of the largest */
    unsigned result_bytes; /* an element of the result; 0: as the inputs */
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

static double bytes_of(const struct argument *argument) {
    return is_tensor(argument) ? argument->elements * argument->size : 0;
}

static unsigned fewer(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Elements of what results from shapes that are stretched to each other, aligned at the end. */
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

/* The wider of the types; numbers without dimensions do not widen tensors that have some. */
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
    unsigned tensors = fewer(row->tensors, arguments->count);
    double elements = broadcast_elements(arguments, tensors), bytes = 0;
    unsigned size = row->result_bytes ? row->result_bytes : result_size(arguments, tensors);
    if (in_place)
        size = arguments->list[0].size;
    for (unsigned i = 0; i < tensors; i++)
        bytes += bytes_of(&arguments->list[i]);
    return streaming(bytes + elements * size, elements * row->flops);
}

/* Elements that are left; what is not told to be left is taken not to be written. */
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
    double bytes = bytes_of(first); /* written */
    for (unsigned i = 0; i < fewer(row->tensors, arguments->count); i++)
        bytes += bytes_of(&arguments->list[i]);
    return streaming(bytes, first->elements * row->flops);
}

/* A row of the table for each number: all but the dimension that is numbered, mostly the first. */
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
    return streaming(bytes_of(numbers) + 2 * elements * table->size, 0);
}

/* The type of a list's tensors is not recorded. Lists are read, and the first one's results are
 * written. */
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

/* A generated kernel's arguments: each of its tensors is read or written, or both. */
static struct operator_work generated(const struct arguments *arguments) {
    double bytes = 0;
    for (unsigned i = 0; i < arguments->count; i++)
        bytes += bytes_of(&arguments->list[i]);
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
                                    : streaming(bytes_of(first) + bytes_of(first + 1), 0);
    case WRITTEN:
        return streaming(bytes_of(first), 0);
    case REDUCED:
        return streaming(bytes_of(first) + reduced_elements(arguments) * first->size,
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
    bool sane = work.flops < OPERATOR_WORK_MOST && work.bytes < OPERATOR_WORK_MOST &&
                work.elements < OPERATOR_WORK_MOST;
    bool nothing = work.flops <= 0 && work.bytes <= 0 && work.elements <= 0;
    return sane && !nothing ? work : (struct operator_work){0};
}
