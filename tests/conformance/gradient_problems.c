/* The operations whose gradients are checked, other than those of the elementwise table, with a
 * reference in double for each. */
#include <math.h>
#include <string.h>

#include "gradients.h"

/* ---- Reductions and norms ------------------------------------------------------------------- */

/* Options of a reduction: which one, and the axes of [3, 4, 5]. */
enum { SUM, MEAN, AMAX, AMIN };
#define REDUCE(kind, mask) ((kind) << 4 | (mask))

static ridge_tensor *reduce_forward(ridge_tensor *const *in, int option) {
    int axes[3], count = 0;
    for (int axis = 0; axis < 3; axis++)
        if (option & 1 << axis)
            axes[count++] = axis;
    switch (option >> 4) {
    case SUM:
        return ridge_sum(in[0], (unsigned)count, axes, false);
    case MEAN:
        return ridge_mean(in[0], (unsigned)count, axes, true);
    case AMAX:
        return ridge_amax(in[0], (unsigned)count, axes, true);
    default:
        return ridge_amin(in[0], (unsigned)count, axes, false);
    }
}

static struct array reduce_reference(const struct array *in, int option) {
    int kind = option >> 4;
    bool keep = kind == MEAN || kind == AMAX;
    int64_t sizes[3], counted = 1;
    unsigned rank = 0;
    for (unsigned axis = 0; axis < 3; axis++) {
        bool reduced = option & 1 << axis;
        counted *= reduced ? in->sizes[axis] : 1;
        if (!reduced || keep)
            sizes[rank++] = reduced ? 1 : in->sizes[axis];
    }
    struct array y = array_make(rank, sizes);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] = kind == AMAX ? -INFINITY : kind == AMIN ? INFINITY : 0;
    int64_t index[3] = {0};
    for (int64_t i = 0; i < in->count; i++) {
        int64_t at = 0;
        for (unsigned axis = 0; axis < 3; axis++)
            if (!(option & 1 << axis))
                at = at * in->sizes[axis] + index[axis];
        double *to = &y.values[at], x = in->values[i];
        *to = kind == AMAX ? fmax(*to, x) : kind == AMIN ? fmin(*to, x) : *to + x;
        index_advance(3, in->sizes, index);
    }
    for (int64_t i = 0; i < y.count && kind == MEAN; i++)
        y.values[i] /= (double)counted;
    return y;
}

static ridge_tensor *softmax_forward(ridge_tensor *const *in, int option) {
    return ridge_softmax(in[0], option);
}

/* Rows along the last axis (-1) or the first (0) of a matrix. */
static struct array softmax_reference(const struct array *in, int option) {
    struct array y = array_make(in->rank, in->sizes);
    int64_t rows = in->sizes[0], columns = in->sizes[1];
    int64_t outer = option == 0 ? columns : rows, inner = option == 0 ? rows : columns;
    for (int64_t o = 0; o < outer; o++) {
        double sum = 0;
        for (int64_t i = 0; i < inner; i++)
            sum += exp(in->values[option == 0 ? i * columns + o : o * columns + i]);
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = option == 0 ? i * columns + o : o * columns + i;
            y.values[at] = exp(in->values[at]) / sum;
        }
    }
    return y;
}

enum { LAYER, RMS };

static ridge_tensor *norm_forward(ridge_tensor *const *in, int option) {
    return option == LAYER ? ridge_layer_norm(in[0], in[1], in[2], 1e-3f)
                           : ridge_rms_norm(in[0], in[1], 1e-3f);
}

static struct array norm_reference(const struct array *in, int option) {
    struct array y = array_make(in->rank, in->sizes);
    int64_t width = in->sizes[in->rank - 1];
    for (int64_t row = 0; row < in->count / width; row++) {
        const double *x = in->values + row * width;
        double mean = 0, square = 0;
        for (int64_t i = 0; i < width && option == LAYER; i++)
            mean += x[i] / (double)width;
        for (int64_t i = 0; i < width; i++)
            square += (x[i] - mean) * (x[i] - mean) / (double)width;
        for (int64_t i = 0; i < width; i++)
            y.values[row * width + i] = (x[i] - mean) / sqrt(square + 1e-3) * in[1].values[i] +
                                        (option == LAYER ? in[2].values[i] : 0);
    }
    return y;
}

/* ---- Products --------------------------------------------------------------------------- */

/* [..., m, k] x [..., k, n]; the batches of either may be absent. */
static struct array product(const struct array *a, const struct array *b) {
    int64_t m = a->sizes[a->rank - 2], k = a->sizes[a->rank - 1], n = b->sizes[b->rank - 1];
    const struct array *wide = a->rank >= b->rank ? a : b;
    int64_t sizes[RIDGE_RANK_MAX];
    memcpy(sizes, wide->sizes, sizeof sizes);
    sizes[wide->rank - 2] = m;
    sizes[wide->rank - 1] = n;
    struct array y = array_make(wide->rank, sizes);
    for (int64_t i = 0; i < y.count; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        const double *left = a->values + (a->rank > 2 ? batch * m * k : 0) + row * k;
        const double *right = b->values + (b->rank > 2 ? batch * k * n : 0) + column;
        for (int64_t j = 0; j < k; j++)
            y.values[i] += left[j] * right[j * n];
    }
    return y;
}

static struct array turned(const struct array *x) {
    int64_t rows = x->sizes[x->rank - 2], columns = x->sizes[x->rank - 1];
    int64_t sizes[RIDGE_RANK_MAX];
    memcpy(sizes, x->sizes, sizeof sizes);
    sizes[x->rank - 2] = columns;
    sizes[x->rank - 1] = rows;
    struct array y = array_make(x->rank, sizes);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t within = i % (rows * columns);
        y.values[i - within + within % columns * rows + within / columns] = x->values[i];
    }
    return y;
}

static ridge_tensor *matmul_forward(ridge_tensor *const *in, int option) {
    (void)option;
    return ridge_matmul(in[0], in[1]);
}

static struct array matmul_reference(const struct array *in, int option) {
    (void)option;
    return product(&in[0], &in[1]);
}

static ridge_tensor *turned_matmul_forward(ridge_tensor *const *in, int option) {
    (void)option;
    return ridge_matmul(ridge_transpose(in[0], -1, -2), ridge_transpose(in[1], -1, -2));
}

static struct array turned_matmul_reference(const struct array *in, int option) {
    (void)option;
    struct array a = turned(&in[0]), b = turned(&in[1]);
    return product(&a, &b);
}

static double activate(double x, int activation) {
    switch (activation) {
    case RIDGE_ACTIVATION_RELU:
        return fmax(x, 0);
    case RIDGE_ACTIVATION_GELU:
        return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case RIDGE_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

static ridge_tensor *linear_forward(ridge_tensor *const *in, int option) {
    return ridge_linear(in[0], in[1], in[2], (enum ridge_activation)option);
}

static struct array linear_reference(const struct array *in, int option) {
    struct array w = turned(&in[1]), y = product(&in[0], &w);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] = activate(y.values[i] + in[2].values[i % in[2].count], option);
    return y;
}

static ridge_tensor *activation_forward(ridge_tensor *const *in, int option) {
    return ridge_matmul_activation(in[0], in[1], in[2], (enum ridge_activation)option);
}

static struct array activation_reference(const struct array *in, int option) {
    struct array y = product(&in[0], &in[1]);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] = activate(y.values[i] + in[2].values[i % in[2].count], option);
    return y;
}

static ridge_tensor *gated_forward(ridge_tensor *const *in, int option) {
    return ridge_gated_mlp(in[0], ridge_transpose(in[1], 0, 1), ridge_transpose(in[2], 0, 1),
                           option ? ridge_transpose(in[3], 0, 1) : NULL);
}

static struct array gated_reference(const struct array *in, int option) {
    struct array gate = product(&in[0], &in[1]), up = product(&in[0], &in[2]);
    for (int64_t i = 0; i < up.count; i++)
        up.values[i] *= activate(gate.values[i], RIDGE_ACTIVATION_SILU);
    return option ? product(&up, &in[3]) : up;
}

static ridge_tensor *lora_forward(ridge_tensor *const *in, int option) {
    (void)option;
    return ridge_lora(in[0], ridge_transpose(in[1], 0, 1), ridge_transpose(in[2], 0, 1),
                      ridge_transpose(in[3], 0, 1), 0.5f);
}

static struct array lora_reference(const struct array *in, int option) {
    (void)option;
    struct array y = product(&in[0], &in[1]), low = product(&in[0], &in[2]);
    low = product(&low, &in[3]);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] += 0.5 * low.values[i];
    return y;
}

/* ---- Views and joins ------------------------------------------------------------------------ */

enum {
    RESHAPED,
    PERMUTED,
    SLICED,
    STEPPING,
    SELECTED,
    REPEATED,
    COPIED,
    JOINED,
    STACKED,
    PARTED,
    OVERLAPPING,
    UNSTACKED,
    CAST
};

static ridge_tensor *view_forward(ridge_tensor *const *in, int option) {
    ridge_tensor *x = in[0], *parts[6];
    switch (option) {
    case RESHAPED:
        return ridge_square(ridge_reshape(x, 2, (int64_t[]){6, 10}));
    case PERMUTED:
        return ridge_square(ridge_permute(x, (unsigned[]){2, 0, 1}));
    case SLICED:
        return ridge_square(ridge_slice(ridge_slice(x, 1, 1, 3, 1), 2, 2, 5, 1));
    case STEPPING:
        return ridge_square(ridge_slice(ridge_slice(x, 2, 1, 5, 2), 0, 0, 3, 2));
    case SELECTED:
        return ridge_square(ridge_select(x, 1, 2));
    case REPEATED:
        return ridge_square(ridge_broadcast(ridge_unsqueeze(x, 0), 4, (int64_t[]){2, 3, 4, 5}));
    case COPIED:
        return ridge_square(ridge_contiguous(ridge_transpose(x, 0, 2)));
    case JOINED:
        return ridge_square(ridge_cat((ridge_tensor *[]){x, in[1], x}, 3, 1));
    case STACKED:
        return ridge_square(ridge_stack((ridge_tensor *[]){in[1], x}, 2, -1));
    case PARTED:
        return ridge_split(x, 2, 1, parts) ? ridge_mul(parts[0], ridge_sin(parts[1])) : NULL;
    case OVERLAPPING:
        return ridge_mul(ridge_slice(x, 1, 0, 3, 1), ridge_slice(x, 1, 1, 4, 1));
    case UNSTACKED:
        return ridge_unstack(x, 0, parts) ? ridge_affine(parts[0], parts[2], parts[1]) : NULL;
    default:
        return ridge_square(
            ridge_cast(ridge_mul_scalar(ridge_cast(x, RIDGE_F32), 2), ridge_tensor_dtype(x)));
    }
}

static double square_of(double x) {
    return x * x;
}

/* x is [3, 4, 5]. */
static double at(const struct array *x, int64_t i, int64_t j, int64_t k) {
    return x->values[(i * 4 + j) * 5 + k];
}

static struct array view_reference(const struct array *in, int option) {
    static const struct {
        unsigned rank;
        int64_t sizes[4];
    } shapes[] = {
        [RESHAPED] = {2, {6, 10}},   [PERMUTED] = {3, {5, 3, 4}},    [SLICED] = {3, {3, 2, 3}},
        [STEPPING] = {3, {2, 4, 2}}, [SELECTED] = {2, {3, 5}},       [REPEATED] = {4, {2, 3, 4, 5}},
        [COPIED] = {3, {5, 4, 3}},   [JOINED] = {3, {3, 12, 5}},     [STACKED] = {4, {3, 4, 5, 2}},
        [PARTED] = {3, {3, 2, 5}},   [OVERLAPPING] = {3, {3, 3, 5}}, [UNSTACKED] = {2, {4, 5}},
        [CAST] = {3, {3, 4, 5}}};
    struct array y = array_make(shapes[option].rank, shapes[option].sizes);
    int64_t n[RIDGE_RANK_MAX] = {0};
    const struct array *x = in;
    for (int64_t i = 0; i < y.count; i++) {
        double value = 0;
        switch (option) {
        case RESHAPED:
        case REPEATED:
            value = square_of(x->values[i % x->count]);
            break;
        case PERMUTED:
            value = square_of(at(x, n[1], n[2], n[0]));
            break;
        case SLICED:
            value = square_of(at(x, n[0], n[1] + 1, n[2] + 2));
            break;
        case STEPPING:
            value = square_of(at(x, 2 * n[0], n[1], 1 + 2 * n[2]));
            break;
        case SELECTED:
            value = square_of(at(x, n[0], 2, n[1]));
            break;
        case COPIED:
            value = square_of(at(x, n[2], n[1], n[0]));
            break;
        case JOINED:
            value = square_of(at(n[1] / 4 == 1 ? &in[1] : x, n[0], n[1] % 4, n[2]));
            break;
        case STACKED:
            value = square_of(at(n[3] ? x : &in[1], n[0], n[1], n[2]));
            break;
        case PARTED:
            value = at(x, n[0], n[1], n[2]) * sin(at(x, n[0], n[1] + 2, n[2]));
            break;
        case OVERLAPPING:
            value = at(x, n[0], n[1], n[2]) * at(x, n[0], n[1] + 1, n[2]);
            break;
        case UNSTACKED:
            value = at(x, 0, n[0], n[1]) * at(x, 2, n[0], n[1]) + at(x, 1, n[0], n[1]);
            break;
        default:
            value = square_of(2 * x->values[i]);
        }
        y.values[i] = value;
        index_advance(y.rank, y.sizes, n);
    }
    return y;
}

/* ---- Models ----------------------------------------------------------------------------- */

static ridge_tensor *embedding_forward(ridge_tensor *const *in, int option) {
    (void)option;
    return ridge_embedding(in[0], in[1]);
}

static struct array embedding_reference(const struct array *in, int option) {
    (void)option;
    int64_t width = in[0].sizes[1];
    int64_t sizes[3] = {in[1].sizes[0], in[1].sizes[1], width};
    struct array y = array_make(3, sizes);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] = in[0].values[(int64_t)in[1].values[i / width] * width + i % width];
    return y;
}

static ridge_tensor *rope_forward(ridge_tensor *const *in, int option) {
    ridge_tensor *positions =
        ridge_arange(ridge_tensor_device(in[0]), RIDGE_I32, ridge_tensor_size(in[0], 2), 3, 1);
    return ridge_rope(in[0], positions, 100.0f, option != 0);
}

static struct array rope_reference(const struct array *in, int option) {
    struct array y = array_make(in->rank, in->sizes);
    int64_t tokens = in->sizes[2], width = in->sizes[3];
    for (int64_t i = 0; i < in->count; i += width) {
        double position = 3 + (double)(i / width % tokens);
        for (int64_t pair = 0; pair < width / 2; pair++) {
            double angle = position * pow(100, -2.0 * (double)pair / (double)width);
            int64_t a = i + (option ? 2 * pair : pair);
            int64_t b = i + (option ? 2 * pair + 1 : pair + width / 2);
            y.values[a] = in->values[a] * cos(angle) - in->values[b] * sin(angle);
            y.values[b] = in->values[a] * sin(angle) + in->values[b] * cos(angle);
        }
    }
    return y;
}

static ridge_tensor *attention_forward(ridge_tensor *const *in, int option) {
    return ridge_attention(in[0], in[1], in[2], 0.4f, option != 0);
}

static void attend(const double *q, const double *k, const double *v, int64_t keys, int64_t width,
                   double *y) {
    double sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        double score = 0;
        for (int64_t i = 0; i < width; i++)
            score += q[i] * k[j * width + i];
        double weight = exp((double)0.4f * score);
        sum += weight;
        for (int64_t i = 0; i < width; i++)
            y[i] += weight * v[j * width + i];
    }
    for (int64_t i = 0; i < width; i++)
        y[i] /= sum;
}

static struct array attention_reference(const struct array *in, int option) {
    const int64_t *q = in[0].sizes, *k = in[1].sizes;
    struct array y = array_make(4, q);
    for (int64_t row = 0; row < q[0] * q[1] * q[2]; row++) {
        int64_t query = row % q[2], head = row / q[2] % q[1], batch = row / q[2] / q[1];
        int64_t shared = (batch * k[1] + head / (q[1] / k[1])) * k[2] * k[3];
        attend(in[0].values + row * q[3], in[1].values + shared, in[2].values + shared,
               option ? k[2] - q[2] + query + 1 : k[2], q[3], y.values + row * q[3]);
    }
    return y;
}

/* What hides keys: a mask and lengths, or with the option a window and lengths. */
static ridge_tensor *hidden_forward(ridge_tensor *const *in, int option) {
    struct ridge_attention_mask mask = {.lengths = in[4]};
    if (option)
        mask.causal = true, mask.window = 3;
    else
        mask.added = in[3];
    return ridge_attention_masked(in[0], in[1], in[2], 0.4f, &mask);
}

/* The keys that a query sees are copied, with the mask as one more element: q has 1 there. */
static struct array hidden_reference(const struct array *in, int option) {
    const int64_t *q = in[0].sizes, *k = in[1].sizes;
    int64_t width = q[3] + 1;
    struct array y = array_make(4, q);
    double *of_q = case_memory((size_t)width, sizeof *of_q);
    double *of_k = case_memory((size_t)(k[2] * width), sizeof *of_k);
    double *of_v = case_memory((size_t)(k[2] * width), sizeof *of_v);
    double *of_y = case_memory((size_t)width, sizeof *of_y);
    for (int64_t row = 0; row < q[0] * q[1] * q[2]; row++) {
        int64_t query = row % q[2], head = row / q[2] % q[1], batch = row / q[2] / q[1], seen = 0;
        int64_t shared = (batch * k[1] + head / (q[1] / k[1])) * k[2];
        int64_t end = (int64_t)in[4].values[batch] - (option ? q[2] - query - 1 : 0);
        memset(of_y, 0, (size_t)width * sizeof *of_y);
        of_q[q[3]] = 1;
        memcpy(of_q, in[0].values + row * q[3], (size_t)q[3] * sizeof *of_q);
        for (int64_t key = option && end > 3 ? end - 3 : 0; key < end; key++, seen++) {
            memcpy(of_k + seen * width, in[1].values + (shared + key) * q[3],
                   (size_t)q[3] * sizeof *of_k);
            memcpy(of_v + seen * width, in[2].values + (shared + key) * q[3],
                   (size_t)q[3] * sizeof *of_v);
            of_k[seen * width + q[3]] =
                option ? 0 : in[3].values[query * k[2] + key] / (double)0.4f;
        }
        if (seen > 0)
            attend(of_q, of_k, of_v, seen, width, of_y);
        memcpy(y.values + row * q[3], of_y, (size_t)q[3] * sizeof *of_y);
    }
    return y;
}

static ridge_tensor *shift_forward(ridge_tensor *const *in, int option) {
    return ridge_token_shift(in[0], in[1], option ? in[2] : NULL);
}

static struct array shift_reference(const struct array *in, int option) {
    struct array y = array_make(3, in[0].sizes);
    int64_t tokens = in[0].sizes[1], width = in[0].sizes[2];
    for (int64_t i = 0; i < y.count; i++) {
        int64_t token = i / width % tokens, batch = i / width / tokens;
        double before = token ? in[0].values[i - width] : in[1].values[batch * width + i % width];
        y.values[i] = option
                          ? in[0].values[i] + (before - in[0].values[i]) * in[2].values[i % width]
                          : before;
    }
    return y;
}

/* ---- Indices ---------------------------------------------------------------------------- */

enum { GATHER, GATHER_ROWS, SCATTER_ADD, CUMSUM, TOPK };

/* x is [3, 4], indices [3, 5] or [5, 1], the source [3, 5]. */
static ridge_tensor *index_forward(ridge_tensor *const *in, int option) {
    switch (option) {
    case GATHER:
        return ridge_square(ridge_gather(in[0], 1, in[1]));
    case GATHER_ROWS:
        return ridge_square(ridge_gather(in[0], 0, in[1]));
    case SCATTER_ADD:
        return ridge_square(ridge_scatter_add(in[0], 1, in[1], in[2]));
    case CUMSUM:
        return ridge_square(ridge_cumsum(in[0], 1));
    default:
        return ridge_square(ridge_topk(in[0], 2, -1, NULL));
    }
}

static struct array gather_reference(const struct array *in, bool rows) {
    struct array y = array_make(2, (int64_t[]){rows ? 5 : 3, rows ? 4 : 5});
    for (int64_t i = 0; i < y.count; i++) {
        int64_t at =
            rows ? (int64_t)in[1].values[i / 4] * 4 + i % 4 : i / 5 * 4 + (int64_t)in[1].values[i];
        y.values[i] = square_of(in[0].values[at]);
    }
    return y;
}

static double second_largest(const double *row) {
    double largest = fmax(row[0], row[1]), second = fmin(row[0], row[1]);
    for (int i = 2; i < 4; i++) {
        second = row[i] > largest ? largest : fmax(second, row[i]);
        largest = fmax(largest, row[i]);
    }
    return second;
}

static struct array index_reference(const struct array *in, int option) {
    if (option == GATHER || option == GATHER_ROWS)
        return gather_reference(in, option == GATHER_ROWS);
    struct array y = array_make(2, (int64_t[]){3, option == TOPK ? 2 : 4});
    for (int64_t row = 0; row < 3; row++) {
        const double *x = in[0].values + row * 4;
        double sum = 0;
        for (int64_t i = 0; i < 4 && option != TOPK; i++) {
            double value = option == CUMSUM ? (sum += x[i]) : x[i];
            for (int64_t k = 0; option == SCATTER_ADD && k < 5; k++)
                value += in[1].values[row * 5 + k] == (double)i ? in[2].values[row * 5 + k] : 0;
            y.values[row * 4 + i] = square_of(value);
        }
        if (option == TOPK) {
            y.values[row * 2] = square_of(fmax(fmax(x[0], x[1]), fmax(x[2], x[3])));
            y.values[row * 2 + 1] = square_of(second_largest(x));
        }
    }
    return y;
}

/* ---- Windows ---------------------------------------------------------------------------- */

enum { CONVOLVED, TURNED_AROUND, LARGEST, AVERAGED, SURROUNDED };
static const struct ridge_window geometry = {
    .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2};
static const struct ridge_window pooling = {.stride = {2, 1}, .padding = {1, 0}};

/* x is [2, 4, 5, 6], the weight [6, 2, 3, 2] or [4, 3, 3, 2]. */
static ridge_tensor *window_forward(ridge_tensor *const *in, int option) {
    const int64_t size[2] = {3, 2};
    switch (option) {
    case CONVOLVED:
        return ridge_conv2d(in[0], in[1], in[2], &geometry);
    case TURNED_AROUND:
        return ridge_conv_transpose2d(in[0], in[1], in[2], &geometry);
    case LARGEST:
        return ridge_max_pool2d(in[0], size, &pooling);
    case AVERAGED:
        return ridge_avg_pool2d(in[0], size, &pooling);
    default:
        return ridge_square(ridge_pad(in[0], (int64_t[]){0, 0, 1, -1}, (int64_t[]){0, 0, 2, 3}, 1));
    }
}

static double image(const struct array *x, int64_t n, int64_t c, int64_t i, int64_t j,
                    double outside) {
    if (i < 0 || j < 0 || i >= x->sizes[2] || j >= x->sizes[3])
        return outside;
    return x->values[((n * x->sizes[1] + c) * x->sizes[2] + i) * x->sizes[3] + j];
}

static double convolved(const struct array *in, const int64_t *at) {
    const struct array *w = &in[1];
    double sum = in[2].values[at[1]];
    for (int64_t c = 0; c < 2; c++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 2; j++)
                sum += image(&in[0], at[0], at[1] / 3 * 2 + c, at[2] * 2 - 1 + i, at[3] - 2 + 2 * j,
                             0) *
                       w->values[((at[1] * 2 + c) * 3 + i) * 2 + j];
    return sum;
}

static double turned_around(const struct array *in, const int64_t *at) {
    const struct array *w = &in[1];
    double sum = in[2].values[at[1]];
    for (int64_t c = 0; c < 2; c++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 2; j++) {
                int64_t down = at[2] + 1 - i, across = at[3] + 2 - 2 * j;
                int64_t channel = at[1] / 3 * 2 + c;
                if (down % 2 == 0)
                    sum += image(&in[0], at[0], channel, down / 2, across, 0) *
                           w->values[((channel * 3 + at[1] % 3) * 3 + i) * 2 + j];
            }
    return sum;
}

static double pooled(const struct array *x, const int64_t *at, int option) {
    double result = option == LARGEST ? -INFINITY : 0;
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 2; j++) {
            double value = image(x, at[0], at[1], at[2] * 2 - 1 + i, at[3] + j,
                                 option == LARGEST ? -INFINITY : 0);
            result = option == LARGEST ? fmax(result, value) : result + value / 6;
        }
    return result;
}

static struct array window_reference(const struct array *in, int option) {
    static const int64_t sizes[][4] = {[CONVOLVED] = {2, 6, 3, 8},
                                       [TURNED_AROUND] = {2, 6, 9, 4},
                                       [LARGEST] = {2, 4, 3, 5},
                                       [AVERAGED] = {2, 4, 3, 5},
                                       [SURROUNDED] = {2, 4, 8, 8}};
    struct array y = array_make(4, sizes[option]);
    int64_t at[4] = {0};
    for (int64_t i = 0; i < y.count; i++) {
        y.values[i] = option == CONVOLVED       ? convolved(in, at)
                      : option == TURNED_AROUND ? turned_around(in, at)
                      : option == SURROUNDED
                          ? square_of(image(in, at[0], at[1], at[2] - 1, at[3] + 1, 1))
                          : pooled(in, at, option);
        index_advance(4, y.sizes, at);
    }
    return y;
}

static ridge_tensor *log_softmax_forward(ridge_tensor *const *in, int option) {
    return ridge_log_softmax(in[0], option);
}

static struct array log_softmax_reference(const struct array *in, int option) {
    struct array y = softmax_reference(in, option);
    for (int64_t i = 0; i < y.count; i++)
        y.values[i] = log(y.values[i]);
    return y;
}

/* ---- Losses ----------------------------------------------------------------------------- */

enum { CROSS_ENTROPY, MSE, L1, BCE, KL };

static ridge_tensor *loss_forward(ridge_tensor *const *in, int option) {
    switch (option) {
    case CROSS_ENTROPY:
        return ridge_cross_entropy(in[0], in[1]);
    case MSE:
        return ridge_mse_loss(in[0], in[1]);
    case L1:
        return ridge_l1_loss(in[0], in[1]);
    case BCE:
        return ridge_bce_loss(in[0], in[1]);
    default:
        return ridge_kl_loss(in[0], in[1]);
    }
}

static double loss_term(double x, double y, int option) {
    switch (option) {
    case MSE:
        return (x - y) * (x - y);
    case L1:
        return fabs(x - y);
    case BCE:
        return -y * log(1 / (1 + exp(-x))) - (1 - y) * log(1 / (1 + exp(x)));
    default:
        return y * (log(y) - x);
    }
}

/* Rows of which one has a target that is out of range. */
static double cross_entropy(const struct array *x, const struct array *targets) {
    int64_t classes = x->sizes[x->rank - 1];
    double sum = 0, rows = 0;
    for (int64_t row = 0; row < targets->count; row++) {
        int64_t target = (int64_t)targets->values[row];
        double total = 0;
        if (target < 0 || target >= classes)
            continue;
        for (int64_t i = 0; i < classes; i++)
            total += exp(x->values[row * classes + i]);
        sum += log(total) - x->values[row * classes + target];
        rows++;
    }
    return sum / fmax(rows, 1);
}

static struct array loss_reference(const struct array *in, int option) {
    struct array y = array_make(0, NULL);
    if (option == CROSS_ENTROPY) {
        y.values[0] = cross_entropy(&in[0], &in[1]);
        return y;
    }
    double parts = (double)(option == KL ? in->sizes[0] : in->count);
    for (int64_t i = 0; i < in->count; i++)
        y.values[0] += loss_term(in[0].values[i], in[1].values[i], option) / parts;
    return y;
}

/* ---- The list --------------------------------------------------------------------------- */

#define X345                                                                                       \
    { .rank = 3, .sizes = {3, 4, 5}, .low = -1.2, .high = 1.2 }
#define MATRIX(a, b)                                                                               \
    { .rank = 2, .sizes = {a, b}, .low = -1, .high = 1 }
#define CUBE(a, b, c)                                                                              \
    { .rank = 3, .sizes = {a, b, c}, .low = -1, .high = 1 }
/* Of keys in use, from two on. */
#define LENGTHS(batch)                                                                             \
    { .rank = 1, .sizes = {batch}, .low = 2, .high = 4.9, .integer = true }
#define HEADS(a, b, c, d)                                                                          \
    { .rank = 4, .sizes = {a, b, c, d}, .low = -1, .high = 1 }
#define ROW(a)                                                                                     \
    { .rank = 1, .sizes = {a}, .low = -1, .high = 1 }
#define REDUCTION(text, kind, mask)                                                                \
    {                                                                                              \
        text, reduce_forward, reduce_reference, REDUCE(kind, mask), 1, 1, {                        \
            X345                                                                                   \
        }                                                                                          \
    }
#define VIEW(text, option)                                                                         \
    {                                                                                              \
        text, view_forward, view_reference, option, 1, 1, {                                        \
            X345                                                                                   \
        }                                                                                          \
    }

const struct gradient_problem gradient_problems[] = {
    REDUCTION("sum all", SUM, 7),
    REDUCTION("sum last", SUM, 4),
    REDUCTION("sum first", SUM, 1),
    REDUCTION("sum outer", SUM, 5),
    REDUCTION("mean", MEAN, 6),
    REDUCTION("amax", AMAX, 4),
    REDUCTION("amin", AMIN, 3),
    {"softmax", softmax_forward, softmax_reference, -1, 1, 1, {MATRIX(4, 9)}},
    {"softmax of columns", softmax_forward, softmax_reference, 0, 1, 1, {MATRIX(4, 9)}},
    {"layer_norm", norm_forward, norm_reference, LAYER, 3, 7, {CUBE(2, 3, 8), ROW(8), ROW(8)}},
    {"rms_norm", norm_forward, norm_reference, RMS, 2, 3, {CUBE(2, 3, 8), ROW(8)}},
    {"matmul", matmul_forward, matmul_reference, 0, 2, 3, {MATRIX(4, 7), MATRIX(7, 5)}},
    {"matmul batched", matmul_forward, matmul_reference, 0, 2, 3, {CUBE(3, 4, 6), CUBE(3, 6, 5)}},
    {"matmul left batched",
     matmul_forward,
     matmul_reference,
     0,
     2,
     3,
     {CUBE(3, 4, 6), MATRIX(6, 5)}},
    {"matmul right batched",
     matmul_forward,
     matmul_reference,
     0,
     2,
     3,
     {MATRIX(4, 6), CUBE(3, 6, 5)}},
    {"matmul transposed",
     turned_matmul_forward,
     turned_matmul_reference,
     0,
     2,
     3,
     {CUBE(2, 6, 4), CUBE(2, 5, 6)}},
    {"matmul relu",
     activation_forward,
     activation_reference,
     RIDGE_ACTIVATION_RELU,
     3,
     7,
     {MATRIX(5, 6), MATRIX(6, 4), ROW(4)}},
    {"matmul gelu",
     activation_forward,
     activation_reference,
     RIDGE_ACTIVATION_GELU,
     3,
     7,
     {CUBE(2, 3, 6), MATRIX(6, 4), ROW(4)}},
    {"linear",
     linear_forward,
     linear_reference,
     RIDGE_ACTIVATION_NONE,
     3,
     7,
     {CUBE(2, 3, 6), MATRIX(4, 6), ROW(4)}},
    {"linear silu",
     linear_forward,
     linear_reference,
     RIDGE_ACTIVATION_SILU,
     3,
     7,
     {MATRIX(5, 6), MATRIX(4, 6), ROW(4)}},
    {"gated_mlp",
     gated_forward,
     gated_reference,
     1,
     4,
     15,
     {CUBE(2, 3, 4), MATRIX(4, 6), MATRIX(4, 6), MATRIX(6, 4)}},
    {"gated_mlp without down",
     gated_forward,
     gated_reference,
     0,
     3,
     7,
     {MATRIX(3, 4), MATRIX(4, 6), MATRIX(4, 6)}},
    {"lora",
     lora_forward,
     lora_reference,
     0,
     4,
     15,
     {MATRIX(5, 8), MATRIX(8, 6), MATRIX(8, 2), MATRIX(2, 6)}},
    VIEW("reshape", RESHAPED),
    VIEW("permute", PERMUTED),
    VIEW("slice", SLICED),
    VIEW("slice with steps", STEPPING),
    VIEW("select", SELECTED),
    VIEW("broadcast", REPEATED),
    VIEW("contiguous", COPIED),
    {"cat", view_forward, view_reference, JOINED, 2, 3, {X345, X345}},
    {"stack", view_forward, view_reference, STACKED, 2, 3, {X345, X345}},
    VIEW("split", PARTED),
    VIEW("overlapping slices", OVERLAPPING),
    VIEW("unstack", UNSTACKED),
    VIEW("cast", CAST),
    {"embedding",
     embedding_forward,
     embedding_reference,
     0,
     2,
     1,
     {MATRIX(5, 4), {.rank = 2, .sizes = {3, 3}, .low = 0, .high = 4.9, .integer = true}}},
    {"rope", rope_forward, rope_reference, 0, 1, 1, {HEADS(2, 2, 3, 8)}},
    {"rope interleaved", rope_forward, rope_reference, 1, 1, 1, {HEADS(2, 2, 3, 8)}},
    {"attention",
     attention_forward,
     attention_reference,
     0,
     3,
     7,
     {HEADS(2, 2, 3, 4), HEADS(2, 2, 5, 4), HEADS(2, 2, 5, 4)}},
    {"attention causal, grouped",
     attention_forward,
     attention_reference,
     1,
     3,
     7,
     {HEADS(2, 4, 3, 4), HEADS(2, 2, 5, 4), HEADS(2, 2, 5, 4)}},
    {"attention of several tiles",
     attention_forward,
     attention_reference,
     1,
     3,
     7,
     {HEADS(1, 2, 20, 8), HEADS(1, 1, 36, 8), HEADS(1, 1, 36, 8)}},
    {"attention with a mask and lengths",
     hidden_forward,
     hidden_reference,
     0,
     5,
     15,
     {HEADS(2, 2, 3, 8), HEADS(2, 1, 5, 8), HEADS(2, 1, 5, 8), MATRIX(3, 5), LENGTHS(2)}},
    {"attention with a window and lengths",
     hidden_forward,
     hidden_reference,
     1,
     5,
     7,
     {HEADS(2, 4, 3, 8), HEADS(2, 2, 9, 8), HEADS(2, 2, 9, 8), MATRIX(3, 9), LENGTHS(2)}},
    {"log_softmax", log_softmax_forward, log_softmax_reference, -1, 1, 1, {MATRIX(4, 9)}},
    {"gather",
     index_forward,
     index_reference,
     GATHER,
     2,
     1,
     {MATRIX(3, 4), {.rank = 2, .sizes = {3, 5}, .low = 0, .high = 3.9, .integer = true}}},
    {"gather rows",
     index_forward,
     index_reference,
     GATHER_ROWS,
     2,
     1,
     {MATRIX(3, 4), {.rank = 2, .sizes = {5, 1}, .low = 0, .high = 2.9, .integer = true}}},
    {"scatter_add",
     index_forward,
     index_reference,
     SCATTER_ADD,
     3,
     5,
     {MATRIX(3, 4),
      {.rank = 2, .sizes = {3, 5}, .low = 0, .high = 3.9, .integer = true},
      MATRIX(3, 5)}},
    {"cumsum", index_forward, index_reference, CUMSUM, 1, 1, {MATRIX(3, 4)}},
    {"topk", index_forward, index_reference, TOPK, 1, 1, {MATRIX(3, 4)}},
    {"conv2d",
     window_forward,
     window_reference,
     CONVOLVED,
     3,
     7,
     {HEADS(2, 4, 5, 6), HEADS(6, 2, 3, 2), ROW(6)}},
    {"conv_transpose2d",
     window_forward,
     window_reference,
     TURNED_AROUND,
     3,
     7,
     {HEADS(2, 4, 5, 6), HEADS(4, 3, 3, 2), ROW(6)}},
    {"max_pool2d", window_forward, window_reference, LARGEST, 1, 1, {HEADS(2, 4, 5, 6)}},
    {"avg_pool2d", window_forward, window_reference, AVERAGED, 1, 1, {HEADS(2, 4, 5, 6)}},
    {"pad", window_forward, window_reference, SURROUNDED, 1, 1, {HEADS(2, 4, 5, 6)}},
    {"cross_entropy",
     loss_forward,
     loss_reference,
     CROSS_ENTROPY,
     2,
     1,
     {CUBE(2, 3, 7), {.rank = 2, .sizes = {2, 3}, .low = -1, .high = 8, .integer = true}}},
    {"mse_loss", loss_forward, loss_reference, MSE, 2, 3, {MATRIX(3, 5), MATRIX(3, 5)}},
    {"l1_loss", loss_forward, loss_reference, L1, 2, 3, {MATRIX(3, 5), MATRIX(3, 5)}},
    {"bce_loss",
     loss_forward,
     loss_reference,
     BCE,
     2,
     3,
     {MATRIX(3, 5), {.rank = 2, .sizes = {3, 5}, .low = 0, .high = 1}}},
    {"kl_loss",
     loss_forward,
     loss_reference,
     KL,
     2,
     3,
     {MATRIX(3, 5), {.rank = 2, .sizes = {3, 5}, .low = 0.1, .high = 0.9}}},
    {"token_shift", shift_forward, shift_reference, 1, 3, 7, {CUBE(2, 3, 4), MATRIX(2, 4), ROW(4)}},
    {"token_shift without mix",
     shift_forward,
     shift_reference,
     0,
     2,
     3,
     {CUBE(2, 3, 4), MATRIX(2, 4)}},
};
const unsigned gradient_problem_count = sizeof gradient_problems / sizeof gradient_problems[0];
