/* Convolutions, pooling, padding, group_norm, log_softmax, vectors as matrices and scalars as
 * operands. */
#include <math.h>
#include <string.h>

#include "arrays.h"

static const enum ridge_dtype floats[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

struct geometry {
    int64_t batch, in, out, height, width, down, across;
    struct ridge_window window;
};

static int64_t one(int64_t value) {
    return value ? value : 1;
}

/* For each element of the convolution of x: the plain one, or with x and y taking turns. */
static void add_product(const struct geometry *g, const struct array *x, const struct array *w,
                        struct array *y, double *slack, bool transposed) {
    const struct ridge_window *n = &g->window;
    int64_t groups = one(n->groups), in = g->in / groups, out = g->out / groups;
    const struct array *large = transposed ? y : x, *small = transposed ? x : y;
    int64_t height = large->sizes[2], width = large->sizes[3];
    int64_t rows = small->sizes[2], columns = small->sizes[3];
    for (int64_t at = 0; at < g->batch * groups * in * out; at++) {
        int64_t i = at % in, o = at / in % out, group = at / in / out % groups;
        int64_t batch = at / in / out / groups;
        int64_t of_x = batch * g->in + group * in + i, of_y = batch * g->out + group * out + o;
        int64_t of_w = transposed ? (group * in + i) * out + o : (group * out + o) * in + i;
        for (int64_t e = 0; e < rows * columns * g->down * g->across; e++) {
            int64_t a = e % g->across, d = e / g->across % g->down;
            int64_t column = e / g->across / g->down % columns;
            int64_t row = e / g->across / g->down / columns;
            int64_t r = row * one(n->stride[0]) + d * one(n->dilation[0]) - n->padding[0];
            int64_t c = column * one(n->stride[1]) + a * one(n->dilation[1]) - n->padding[1];
            if (r < 0 || r >= height || c < 0 || c >= width)
                continue;
            int64_t in_large = r * width + c, in_small = row * columns + column;
            int64_t from = of_x * (transposed ? rows * columns : height * width) +
                           (transposed ? in_small : in_large);
            int64_t to = of_y * (transposed ? height * width : rows * columns) +
                         (transposed ? in_large : in_small);
            double term = x->values[from] * w->values[(of_w * g->down + d) * g->across + a];
            y->values[to] += term;
            slack[to] += fabs(term);
        }
    }
}

static void check_convolution(enum ridge_dtype dtype, const struct geometry *g, bool transposed) {
    const struct ridge_window *n = &g->window;
    if (!case_begin("%s %s %lldx%lld window %lldx%lld stride %lld padding %lld dilation %lld "
                    "groups %lld",
                    transposed ? "conv_transpose2d" : "conv2d", ridge_dtype_name(dtype),
                    (long long)g->height, (long long)g->width, (long long)g->down,
                    (long long)g->across, (long long)one(n->stride[0]), (long long)n->padding[0],
                    (long long)one(n->dilation[0]), (long long)one(n->groups)))
        return;
    int64_t groups = one(n->groups), size[2], from[2] = {g->height, g->width},
            window[2] = {g->down, g->across};
    for (int i = 0; i < 2; i++) {
        int64_t reach = one(n->dilation[i]) * (window[i] - 1) + 1;
        size[i] = transposed ? (from[i] - 1) * one(n->stride[i]) + reach - 2 * n->padding[i] +
                                   n->output_padding[i]
                             : (from[i] + 2 * n->padding[i] - reach) / one(n->stride[i]) + 1;
    }
    struct array x = array_noise(dtype, SIZES(g->batch, g->in, g->height, g->width), -1, 1, 21);
    struct array w = array_noise(dtype,
                                 SIZES(transposed ? g->in : g->out,
                                       (transposed ? g->out : g->in) / groups, g->down, g->across),
                                 -1, 1, 22);
    struct array bias = array_noise(dtype, SIZES(g->out), -1, 1, 23);
    struct array y = array_make(SIZES(g->batch, g->out, size[0], size[1]));
    double *slack = case_memory((size_t)y.count, sizeof *slack);
    add_product(g, &x, &w, &y, slack, transposed);
    double unit = dtype == RIDGE_F32 ? 0x1p-24 : dtype == RIDGE_F16 ? 0x1p-11 : 0x1p-8;
    for (int64_t i = 0; i < y.count; i++) {
        /* The product is rounded to the type before the bias; windows that overlap, each. */
        slack[i] = slack[i] * (8 * 0x1p-24 + (transposed ? unit : 0)) + unit * fabs(y.values[i]);
        y.values[i] += bias.values[i / (size[0] * size[1]) % g->out];
    }
    ridge_tensor *of_x = array_tensor(&x, dtype, PADDED),
                 *of_w = array_tensor(&w, dtype, CONTIGUOUS);
    ridge_tensor *of_bias = array_tensor(&bias, dtype, CONTIGUOUS);
    expect_array(transposed ? ridge_conv_transpose2d(of_x, of_w, of_bias, n)
                            : ridge_conv2d(of_x, of_w, of_bias, n),
                 dtype, &y, 1, slack);
    if (g->height == 1 && g->down == 1) {
        struct ridge_window line = {.groups = n->groups,
                                    .stride = {n->stride[1]},
                                    .padding = {n->padding[1]},
                                    .dilation = {n->dilation[1]},
                                    .output_padding = {n->output_padding[1]}};
        ridge_tensor *sequence = ridge_squeeze(of_x, 2), *filter = ridge_squeeze(of_w, 2);
        y.rank = 3;
        y.sizes[2] = y.sizes[3];
        expect_array(transposed ? ridge_conv_transpose1d(sequence, filter, of_bias, &line)
                                : ridge_conv1d(sequence, filter, of_bias, &line),
                     dtype, &y, 1, slack);
    }
    case_end();
}

static void check_pool(enum ridge_dtype dtype, int64_t size, const struct ridge_window *n) {
    if (!case_begin("pool2d %s size %lld stride %lld padding %lld", ridge_dtype_name(dtype),
                    (long long)size, (long long)n->stride[0], (long long)n->padding[0]))
        return;
    enum { LINES = 6, HEIGHT = 13, WIDTH = 10 };
    struct array x = array_noise(dtype, SIZES(2, 3, HEIGHT, WIDTH), -5, 5, 24);
    int64_t stride = n->stride[0] ? n->stride[0] : size, step = one(n->dilation[0]);
    int64_t reach = (size - 1) * step + 1;
    int64_t rows = (HEIGHT + 2 * n->padding[0] - reach) / stride + 1;
    int64_t columns = (WIDTH + 2 * n->padding[0] - reach) / stride + 1;
    struct array max = array_make(SIZES(2, 3, rows, columns)),
                 mean = array_make(max.rank, max.sizes);
    double *slack = case_memory((size_t)max.count, sizeof *slack);
    for (int64_t i = 0; i < max.count; i++) {
        max.values[i] = -INFINITY;
        for (int64_t e = 0; e < size * size; e++) {
            int64_t r = i / columns % rows * stride + e / size * step - n->padding[0];
            int64_t c = i % columns * stride + e % size * step - n->padding[0];
            if (r < 0 || r >= HEIGHT || c < 0 || c >= WIDTH)
                continue;
            double value = x.values[(i / columns / rows * HEIGHT + r) * WIDTH + c];
            max.values[i] = fmax(max.values[i], value);
            mean.values[i] += value / (double)(size * size);
            slack[i] += 4 * 0x1p-24 * fabs(value) / (double)(size * size);
        }
    }
    ridge_tensor *tensor = array_tensor(&x, dtype, PADDED);
    int64_t sizes[2] = {size, size};
    expect_array(ridge_max_pool2d(tensor, sizes, n), dtype, &max, 0, NULL);
    /* A sum of f16 is rounded before it is divided. */
    for (int64_t i = 0; i < mean.count && dtype != RIDGE_F32; i++)
        slack[i] += (dtype == RIDGE_F16 ? 0x1p-11 : 0x1p-8) * fabs(mean.values[i]);
    expect_array(ridge_avg_pool2d(tensor, sizes, n), dtype, &mean, 2, slack);
    case_end();
}

static void check_lines(void) {
    if (!case_begin("pool1d and unfold"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(2, 3, 9), -5, 5, 25);
    struct array max = array_make(SIZES(2, 3, 4));
    for (int64_t i = 0; i < max.count; i++) {
        const double *pair = x.values + i / 4 * 9 + i % 4 * 2;
        max.values[i] = fmax(pair[0], pair[1]);
    }
    int64_t two[2] = {2, 3};
    expect_exactly(ridge_max_pool1d(array_tensor(&x, RIDGE_F32, PADDED), two, NULL), RIDGE_F32,
                   &max);
    struct array image = array_noise(RIDGE_I32, SIZES(1, 2, 4, 5), 0, 90, 26);
    struct array windows = array_make(SIZES(1, 2 * 2 * 3, 3 * 3));
    for (int64_t i = 0; i < windows.count; i++) {
        int64_t window = i % 9, part = i / 9;
        int64_t row = window / 3 + part / 3 % 2, column = window % 3 + part % 3;
        windows.values[i] = image.values[(part / 6 * 4 + row) * 5 + column];
    }
    expect_exactly(ridge_unfold(array_tensor(&image, RIDGE_I32, TRANSPOSED), two, NULL), RIDGE_I32,
                   &windows);
    case_end();
}

static void check_pad(enum ridge_dtype dtype) {
    if (!case_begin("pad %s", ridge_dtype_name(dtype)))
        return;
    struct array x = array_noise(dtype, SIZES(4, 5, 6), 0, 90, 27);
    struct array expected = array_make(SIZES(7, 4, 6));
    const int64_t before[3] = {1, 0, -2}, after[3] = {2, -1, 2};
    for (int64_t i = 0; i < expected.count; i++) {
        int64_t a = i / 24 - 1, b = i / 6 % 4, c = i % 6 + 2;
        bool inside = a >= 0 && a < 4 && b < 5 && c < 6;
        expected.values[i] = inside ? x.values[(a * 5 + b) * 6 + c] : 7;
    }
    expect_exactly(ridge_pad(array_tensor(&x, dtype, REVERSED), before, after, 7), dtype,
                   &expected);
    case_end();
}

static void check_group_norm(enum ridge_dtype dtype, unsigned groups) {
    if (!case_begin("group_norm %s %u groups", ridge_dtype_name(dtype), groups))
        return;
    enum { CHANNELS = 6, AREA = 20 };
    struct array x = array_noise(dtype, SIZES(2, CHANNELS, 4, 5), -2, 3, 28);
    struct array w = array_noise(dtype, SIZES(CHANNELS), -1, 1, 29);
    struct array b = array_noise(dtype, SIZES(CHANNELS), -1, 1, 30);
    struct array expected = array_make(x.rank, x.sizes);
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    int64_t width = x.count / 2 / groups;
    for (int64_t i = 0; i < x.count; i++) {
        const double *group = x.values + i / width * width;
        double mean = 0, variance = 0;
        for (int64_t j = 0; j < width; j++)
            mean += group[j] / (double)width;
        for (int64_t j = 0; j < width; j++)
            variance += (group[j] - mean) * (group[j] - mean) / (double)width;
        int64_t channel = i / AREA % CHANNELS;
        expected.values[i] =
            (x.values[i] - mean) / sqrt(variance + 1e-5) * w.values[channel] + b.values[channel];
        slack[i] = 0x1p-24 * 40 * (1 + fabs(b.values[channel]));
        if (dtype != RIDGE_F32)
            slack[i] += (dtype == RIDGE_F16 ? 0x1p-11 : 0x1p-8) * 6;
    }
    expect_array(ridge_group_norm(array_tensor(&x, dtype, PADDED), groups,
                                  array_tensor(&w, dtype, CONTIGUOUS),
                                  array_tensor(&b, dtype, CONTIGUOUS), 1e-5f),
                 dtype, &expected, 4, slack);
    case_end();
}

static void check_log_softmax(enum ridge_dtype dtype) {
    if (!case_begin("log_softmax %s", ridge_dtype_name(dtype)))
        return;
    struct array x = array_noise(dtype, SIZES(3, 40), -20, 20, 31);
    struct array expected = array_make(x.rank, x.sizes);
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    for (int64_t i = 0; i < x.count; i++) {
        const double *row = x.values + i / 40 * 40;
        double max = -INFINITY, sum = 0;
        for (int j = 0; j < 40; j++)
            max = fmax(max, row[j]);
        for (int j = 0; j < 40; j++)
            sum += exp(row[j] - max);
        expected.values[i] = row[i % 40] - max - log(sum);
        slack[i] = 0x1p-24 * 8 * (40 + fabs(row[i % 40]));
    }
    expect_array(ridge_log_softmax(array_tensor(&x, dtype, STEPPED), 1), dtype, &expected, 2,
                 slack);
    case_end();
}

/* Vectors in products, and numbers in place of the second operand. */
static void check_small_operands(void) {
    if (!case_begin("products of vectors and scalar forms"))
        return;
    struct array a = array_noise(RIDGE_F32, SIZES(17), -1, 1, 32);
    struct array m = array_noise(RIDGE_F32, SIZES(17, 5), -1, 1, 33);
    struct array dot = array_make(0, NULL), row = array_make(SIZES(5)),
                 compared = array_make(SIZES(17));
    double slack[17];
    for (int64_t i = 0; i < 17; i++) {
        dot.values[0] += a.values[i] * a.values[i];
        for (int64_t j = 0; j < 5; j++)
            row.values[j] += a.values[i] * m.values[i * 5 + j];
        compared.values[i] = a.values[i] >= 0.25;
        slack[i] = 17 * 0x1p-24;
    }
    ridge_tensor *vector = array_tensor(&a, RIDGE_F32, STEPPED);
    ridge_tensor *matrix = array_tensor(&m, RIDGE_F32, CONTIGUOUS);
    expect_array(ridge_matmul(vector, vector), RIDGE_F32, &dot, 2, slack);
    expect_array(ridge_matmul(vector, matrix), RIDGE_F32, &row, 2, slack);
    expect_array(ridge_matmul(ridge_transpose(matrix, 0, 1), vector), RIDGE_F32, &row, 2, slack);
    expect_exactly(ridge_greater_equal_scalar(vector, 0.25), RIDGE_U8, &compared);
    for (int64_t i = 0; i < 17; i++)
        compared.values[i] = fmin(a.values[i], 0.5);
    expect_exactly(ridge_min_scalar(vector, 0.5), RIDGE_F32, &compared);
    for (int64_t i = 0; i < 17; i++)
        compared.values[i] = a.values[i] / 4;
    expect_exactly(ridge_div_scalar(vector, 4), RIDGE_F32, &compared);
    case_end();
}

static const struct geometry geometries[] = {
    {2, 3, 5, 9, 8, 3, 3, {.padding = {1, 1}}},
    {1, 4, 6, 11, 7, 3, 2, {.stride = {2, 3}, .padding = {2, 1}, .groups = 2}},
    {2, 4, 4, 10, 12, 2, 3, {.dilation = {2, 2}, .groups = 4}},
    {2, 6, 5, 7, 7, 1, 1, {.groups = 1}},
    {2, 3, 4, 1, 30, 1, 5, {.stride = {1, 2}, .padding = {0, 2}, .dilation = {1, 2}}},
    {1, 2, 3, 5, 4, 3, 3, {.stride = {2, 2}, .padding = {1, 1}, .output_padding = {1, 1}}},
};

void check_convolutions(void) {
    unsigned count = sizeof geometries / sizeof geometries[0];
    struct ridge_window pools[] = {{.groups = 0},
                                   {.stride = {2, 2}, .padding = {1, 1}},
                                   {.stride = {1, 1}, .dilation = {2, 2}}};
    if (session.quick) {
        check_convolution(RIDGE_F32, &geometries[1], false);
        check_convolution(RIDGE_F32, &geometries[5], true);
        check_pool(RIDGE_F32, 3, &pools[1]);
        check_lines();
        check_pad(RIDGE_F32);
        return;
    }
    for (unsigned t = 0; t < sizeof floats / sizeof floats[0]; t++) {
        for (unsigned i = 0; i < count; i++)
            for (int transposed = 0; transposed < 2; transposed++)
                check_convolution(floats[t], &geometries[i], transposed);
        for (unsigned i = 0; i < 3; i++)
            check_pool(floats[t], i == 0 ? 2 : 3, &pools[i]);
        check_group_norm(floats[t], 1);
        check_group_norm(floats[t], 3);
        check_log_softmax(floats[t]);
        check_pad(floats[t]);
    }
    check_pad(RIDGE_I32);
    check_pad(RIDGE_U8);
    check_lines();
    check_small_operands();
}
