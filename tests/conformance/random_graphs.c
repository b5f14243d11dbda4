/* Random expression graphs, compiled against eager: unforeseen fusions. A graph is a function of
 * its seed; one that fails is run again with --filter "random graph SEED". */
#include "compiled.h"

enum { GRAPHS = 200, QUICK_GRAPHS = 2, NODES = 18, VALUES = NODES + 3 };

struct growing {
    uint64_t seed, drawn;
    bool integers; /* i32, and exact; else f32 */
    ridge_tensor *values[VALUES];
    unsigned count;
};

static unsigned draw(struct growing *graph, unsigned below) {
    return (unsigned)(noise_bits(graph->seed, graph->drawn++) % below);
}

static ridge_tensor *any(struct growing *graph) {
    return graph->values[draw(graph, graph->count)];
}

/* One that broadcasts with x: of the same shape, a row or column of it, or a scalar. */
static ridge_tensor *partner(struct growing *graph, ridge_tensor *x) {
    for (int i = 0; i < 6; i++) {
        ridge_tensor *y = any(graph);
        if (ridge_tensor_rank(y) != ridge_tensor_rank(x))
            continue;
        bool fits = true;
        for (int axis = 0; axis < (int)ridge_tensor_rank(x); axis++) {
            int64_t a = ridge_tensor_size(x, axis), b = ridge_tensor_size(y, axis);
            fits = fits && (a == b || a == 1 || b == 1);
        }
        if (fits)
            return y;
    }
    return x;
}

/* Functions that keep values between about -10 and 10, and have no jumps that a last bit decides.
 */
static ridge_tensor *float_step(struct growing *graph, ridge_tensor *x) {
    switch (draw(graph, 16)) {
    case 0:
        return ridge_tanh(x);
    case 1:
        return ridge_sin(x);
    case 2:
        return ridge_sigmoid(x);
    case 3:
        return ridge_gelu(ridge_tanh(x));
    case 4:
        return ridge_mul_scalar(ridge_abs(x), 0.5);
    case 5:
        return ridge_sqrt(ridge_add_scalar(ridge_square(x), 0.1));
    case 6:
        return ridge_tanh(ridge_add(x, partner(graph, x)));
    case 7:
        return ridge_sub(ridge_tanh(x), ridge_cos(partner(graph, x)));
    case 8:
        return ridge_mul(ridge_sigmoid(x), ridge_tanh(partner(graph, x)));
    case 9:
        return ridge_max(x, partner(graph, x));
    case 10:
        return ridge_affine(ridge_tanh(x), ridge_sin(partner(graph, x)), x);
    case 11:
        return ridge_softmax(x, draw(graph, 2) ? -1 : 0);
    case 12:
        return ridge_layer_norm(ridge_add_scalar(x, 0.3), NULL, NULL, 0.1f);
    case 13:
        return ridge_mul_scalar(ridge_neg(x), 0.7);
    case 14:
        return ridge_tanh(
            ridge_mul_scalar(ridge_matmul(x, ridge_transpose(ridge_contiguous(x), 0, 1)), 0.1));
    default:
        return ridge_clamp(x, ridge_mul_scalar(x, 0.5), ridge_add_scalar(ridge_abs(x), 1));
    }
}

static ridge_tensor *integer_step(struct growing *graph, ridge_tensor *x) {
    switch (draw(graph, 11)) {
    case 0:
        return ridge_add(x, partner(graph, x));
    case 1:
        return ridge_sub(partner(graph, x), x);
    case 2:
        return ridge_mul(x, partner(graph, x));
    case 3:
        return ridge_div(x, partner(graph, x));
    case 4:
        return ridge_mod(x, partner(graph, x));
    case 5:
        return ridge_where(ridge_less(x, partner(graph, x)), x, ridge_neg(x));
    case 6:
        return ridge_min(ridge_abs(x), partner(graph, x));
    case 7:
        return ridge_cast(ridge_cast(x, RIDGE_U8), RIDGE_I32);
    case 8:
        return ridge_sign(x);
    case 9:
        return ridge_add_scalar(ridge_square(x), 3);
    default:
        return ridge_cast(ridge_logical_and(x, partner(graph, x)), RIDGE_I32);
    }
}

/* Views and reductions, which every type supports. */
static ridge_tensor *shape_step(struct growing *graph, ridge_tensor *x) {
    int axis = (int)draw(graph, 2);
    int64_t size = ridge_tensor_size(x, axis);
    switch (draw(graph, 7)) {
    case 0:
        return ridge_transpose(x, 0, 1);
    case 1:
        return size > 2 ? ridge_slice(x, axis, 1, INT64_MAX, 2) : x;
    case 2:
        return ridge_amax(x, 1, &axis, true);
    case 3:
        return graph->integers ? ridge_sum(x, 1, &axis, true) : ridge_mean(x, 1, &axis, true);
    case 4: {
        ridge_tensor *parts[2] = {x, x};
        return size < 20 ? ridge_cat(parts, 2, axis) : x;
    }
    case 5:
        return ridge_reshape(ridge_reshape(x, SIZES(-1)), 2,
                             (const int64_t[]){ridge_tensor_size(x, 1), ridge_tensor_size(x, 0)});
    default:
        return ridge_contiguous(ridge_slice(x, axis, 0, size > 1 ? size - 1 : size, 1));
    }
}

static bool grow(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct growing graph = *(const struct growing *)context;
    for (unsigned i = 0; i < 3; i++)
        graph.values[graph.count++] = inputs[i];
    for (unsigned i = 0; i < NODES; i++) {
        ridge_tensor *x = any(&graph), *y;
        if (draw(&graph, 4) == 0)
            y = shape_step(&graph, x);
        else
            y = graph.integers ? integer_step(&graph, x) : float_step(&graph, x);
        if (!y)
            return false;
        graph.values[graph.count++] = y;
    }
    outputs[0] = graph.values[graph.count - 1];
    outputs[1] = any(&graph);
    outputs[2] = graph.values[graph.count - 3];
    return true;
}

static void check_graph(uint64_t seed) {
    struct growing graph = {.seed = seed, .integers = seed % 4 == 3};
    if (!case_begin("random graph %llu", (unsigned long long)seed))
        return;
    enum ridge_dtype dtype = graph.integers ? RIDGE_I32 : RIDGE_F32;
    int64_t rows = 1 + (int64_t)draw(&graph, 12), columns = 1 + (int64_t)draw(&graph, 40);
    struct array arrays[3] = {array_noise(dtype, SIZES(rows, columns), -3, 3, seed),
                              array_noise(dtype, SIZES(1, columns), -3, 3, seed + 1),
                              array_noise(dtype, SIZES(rows, columns), -3, 3, seed + 2)};
    ridge_tensor *inputs[3];
    for (unsigned i = 0; i < 3; i++)
        inputs[i] = array_tensor(&arrays[i], dtype, (enum layout)draw(&graph, LAYOUTS));
    expect_as_eager(grow, &graph, inputs, 3, 3, 1e-4, 1, NULL);
    case_end();
}

void check_random_graphs(void) {
    uint64_t count = session.quick ? QUICK_GRAPHS : session.native ? GRAPHS : GRAPHS / 4;
    for (uint64_t seed = 0; seed < count; seed++)
        check_graph(seed);
}
