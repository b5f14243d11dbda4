/* Operations with their own kernels: their work, flops and bytes. */
#include <string.h>

#include "gen/random.h"
#include "tensor/attention.h"
#include "tensor/custom.h"
#include "tensor/dual_gemm.h"
#include "tensor/lower.h"

struct lowered {
    struct kernel_request request;
    uint64_t flops, bytes;
};

static uint64_t node_bytes(const struct node *node) {
    return ridge_dtype_bytes(node->dtype, view_count(&node->shape));
}

static uint64_t input_bytes(const struct lowering *lowering, const struct node_input *input) {
    return ridge_dtype_bytes(lowering->fusion->graph->nodes[input->node].dtype,
                             view_touched(&input->view));
}

static enum ridge_dtype input_type(const struct lowering *lowering, const struct node *node,
                                   unsigned index) {
    return lowering->fusion->graph->nodes[node->inputs[index].node].dtype;
}

static uint64_t inputs_bytes(const struct lowering *lowering, const struct node *node) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        bytes += input_bytes(lowering, &node->inputs[i]);
    return bytes;
}

static bool lower_generate(struct lowering *lowering, const struct node *node,
                           const struct device_capabilities *device, struct lowered *out) {
    struct generate_work work = {
        .kind = node->op == OP_ARANGE ? GENERATE_ARANGE
                : node->op == OP_RAND ? GENERATE_RAND
                                      : GENERATE_RANDN,
        .type = node->dtype,
        .count = view_count(&node->shape),
        .seed = node->parameters.seed,
        .start = node->parameters.value,
        .step = node->parameters.step,
        .stepped = node->input_count > 0,
    };
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_generate_values(&work, device, &out->request, lowering->status);
}

static bool lower_embedding(struct lowering *lowering, const struct node *node,
                            const struct device_capabilities *device, struct lowered *out) {
    const struct view *table = &node->inputs[0].view;
    struct embedding_work work = {
        .type = input_type(lowering, node, 0),
        .rows = table->sizes[0],
        .width = table->sizes[1],
        .count = view_count(&node->inputs[1].view),
        .table_row = table->strides[0],
    };
    out->bytes = ridge_dtype_bytes(work.type, work.width) * (uint64_t)work.count +
                 input_bytes(lowering, &node->inputs[1]) + node_bytes(node);
    return kernel_embedding(&work, device, &out->request, lowering->status);
}

static bool lower_rope(struct lowering *lowering, const struct node *node,
                       const struct device_capabilities *device, struct lowered *out) {
    const struct view *x = &node->inputs[0].view, *positions = &node->inputs[1].view;
    struct rope_work work = {
        .type = node->dtype,
        .batch = x->sizes[0],
        .heads = x->sizes[1],
        .tokens = x->sizes[2],
        .width = x->sizes[3],
        .strides = {x->strides[0], x->strides[1], x->strides[2]},
        .position_strides = {positions->strides[0], positions->strides[1]},
        .base = node->parameters.base,
        .interleaved = node->parameters.flags != 0,
    };
    out->flops = 3 * (uint64_t)view_count(x);
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_rope(&work, device, &out->request, lowering->status);
}

/* The node of the second result, if anything needs it, else n. */
static uint32_t second_result(const struct lowering *lowering, uint32_t n) {
    const struct graph *graph = lowering->fusion->graph;
    for (uint32_t other = n + 1; other < graph->count; other++)
        if (graph->nodes[other].kind == NODE_RESULT && graph->nodes[other].inputs[0].node == n)
            return other;
    return n;
}

/* Of each score: exp, sum and scale; products of the head's width, two of the result, three of dq
 * and four of dk and dv, which compute the scores again. */
static bool lower_attention(struct lowering *lowering, const struct node *node,
                            const struct device_capabilities *device, struct lowered *out) {
    const struct graph *graph = lowering->fusion->graph;
    const struct view *views[5] = {NULL};
    struct attention_work work;
    uint32_t n = (uint32_t)(node - graph->nodes);
    for (uint32_t i = 0; i < node->input_count && i < 5; i++)
        views[i] = &node->inputs[i].view;
    attention_work_of(node->op, node->dtype, &node->parameters, views, &work);
    work.stats = work.result == ATTENTION_OUTPUT && second_result(lowering, n) != n;
    uint64_t products = work.result == ATTENTION_DQ ? 3 : work.result == ATTENTION_DKV ? 4 : 2;
    out->flops = attention_score_count(&work) * (2 * products * (uint64_t)work.width + 4);
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    if (second_result(lowering, n) != n)
        out->bytes += node_bytes(&graph->nodes[second_result(lowering, n)]);
    return kernel_attention(&work, device, &out->request, lowering->status);
}

static bool lower_wkv7(struct lowering *lowering, const struct node *node,
                       const struct device_capabilities *device, struct lowered *out) {
    const struct view *r = &node->inputs[0].view;
    struct wkv7_work work = {
        .type = node->dtype,
        .batch = r->sizes[0],
        .tokens = r->sizes[1],
        .heads = r->sizes[2],
        .width = r->sizes[3],
    };
    /* For each element of the state: S a (2), decay (1), two outer products (4), S r (2). */
    out->flops = 9 * (uint64_t)view_count(r) * (uint64_t)work.width;
    out->bytes =
        inputs_bytes(lowering, node) + node_bytes(node) + input_bytes(lowering, &node->inputs[6]);
    return kernel_wkv7(&work, device, &out->request, lowering->status);
}

static bool lower_quantize(struct lowering *lowering, const struct node *node,
                           const struct device_capabilities *device, struct lowered *out) {
    struct quantize_work work = {.from = input_type(lowering, node, 0), .to = node->dtype};
    enum ridge_dtype quantized = dtype_is_quantized(work.to) ? work.to : work.from;
    work.blocks = view_count(&node->shape) / dtype_block(quantized);
    out->flops = (uint64_t)view_count(&node->shape) * 2;
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return dtype_is_quantized(work.to)
               ? kernel_quantize(&work, device, &out->request, lowering->status)
               : kernel_dequantize(&work, device, &out->request, lowering->status);
}

static bool lower_dual_gemm(struct lowering *lowering, const struct node *node,
                            const struct device_capabilities *device, struct lowered *out) {
    struct dual_gemm_work work;
    if (!dual_gemm_work_of(lowering->fusion->graph, node->op, node->inputs, node->parameters.scale,
                           &work))
        return status_fail(lowering->status, STATUS_UNSUPPORTED,
                           "%s has no kernel for these operands", op_info(node->op)->name);
    uint64_t m = (uint64_t)work.m, n = (uint64_t)work.n, k = (uint64_t)work.k,
             rank = (uint64_t)work.rank;
    uint64_t elementwise =
        node->op == OP_LORA ? 2 : op_info(OP_SILU)->flops + (uint64_t)op_info(OP_MUL)->flops;
    out->flops = node->op == OP_LORA ? 2 * m * n * k + 2 * m * rank * (k + n) : 4 * m * n * k;
    out->flops += elementwise * m * n;
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_dual_gemm(&work, device, &out->request, lowering->status);
}

/* ---- Portable kernels: the scalars of each are named in its file of gen/kernels ------------ */

static void append_axes(struct portable_work *work, const int64_t *values) {
    for (unsigned axis = 0; axis < RIDGE_RANK_MAX; axis++)
        work->scalars[work->scalar_count++] = values[axis];
}

static bool lower_update(struct lowering *lowering, const struct node *node,
                         const struct device_capabilities *device, struct lowered *out) {
    const struct view *target = &node->inputs[0].view, *source = &node->inputs[1].view;
    unsigned axis = node->parameters.axis;
    struct portable_work work = {.op = node->op, .type = node->dtype, .scalar_count = 5};
    work.items = work.scalars[0] = view_count(source);
    work.scalars[1] = source->rank;
    work.scalars[2] = axis;
    work.scalars[3] = target->sizes[axis];
    work.scalars[4] = node->inputs[2].view.strides[0];
    append_axes(&work, source->sizes);
    append_axes(&work, source->strides);
    append_axes(&work, target->strides);
    out->bytes =
        2 * ridge_dtype_bytes(node->dtype, work.items) + input_bytes(lowering, &node->inputs[2]);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

static bool lower_gather(struct lowering *lowering, const struct node *node,
                         const struct device_capabilities *device, struct lowered *out) {
    const struct view *x = &node->inputs[0].view, *indices = &node->inputs[1].view;
    unsigned axis = node->parameters.axis;
    struct portable_work work = {.op = node->op, .type = node->dtype, .scalar_count = 4};
    work.items = work.scalars[0] = view_count(&node->shape);
    work.scalars[1] = x->rank;
    work.scalars[2] = axis;
    work.scalars[3] = x->sizes[axis];
    append_axes(&work, node->shape.sizes);
    append_axes(&work, x->strides);
    append_axes(&work, indices->strides);
    out->bytes = 2 * node_bytes(node) + input_bytes(lowering, &node->inputs[1]);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

static bool lower_scatter_add(struct lowering *lowering, const struct node *node,
                              const struct device_capabilities *device, struct lowered *out) {
    unsigned axis = node->parameters.axis;
    struct portable_work work = {.op = node->op, .type = node->dtype, .scalar_count = 4};
    work.items = work.scalars[0] = view_count(&node->shape);
    work.scalars[1] = node->shape.rank;
    work.scalars[2] = axis;
    work.scalars[3] = node->inputs[3].view.sizes[axis];
    append_axes(&work, node->shape.sizes);
    append_axes(&work, node->inputs[0].view.strides);
    append_axes(&work, node->inputs[1].view.strides);
    append_axes(&work, node->inputs[3].view.strides);
    out->flops = (uint64_t)view_count(&node->inputs[3].view);
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

/* argsort, cumsum: rows of the last axis. */
static bool lower_rows(struct lowering *lowering, const struct node *node,
                       const struct device_capabilities *device, struct lowered *out) {
    const struct view *x = &node->inputs[0].view;
    int64_t length = x->sizes[x->rank - 1];
    struct portable_work work = {.op = node->op,
                                 .type = input_type(lowering, node, 0),
                                 .descending = node->parameters.flags != 0,
                                 .items = view_count(x) / length,
                                 .scalar_count = 2};
    work.scalars[0] = work.items;
    work.scalars[1] = length;
    out->flops = node->op == OP_CUMSUM ? (uint64_t)view_count(x) : 0;
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

static int64_t float_bits(double value) {
    union {
        float f32;
        uint32_t bits;
    } as = {.f32 = (float)value};
    return as.bits;
}

static bool lower_sample(struct lowering *lowering, const struct node *node,
                         const struct device_capabilities *device, struct lowered *out) {
    const struct view *logits = &node->inputs[0].view;
    struct portable_work work = {.op = node->op,
                                 .type = input_type(lowering, node, 0),
                                 .items = logits->sizes[0],
                                 .scalar_count = 7};
    work.scalars[0] = logits->sizes[0];
    work.scalars[1] = logits->sizes[1];
    work.scalars[2] = float_bits(node->parameters.value);
    work.scalars[3] = node->parameters.start;
    work.scalars[4] = float_bits(node->parameters.step);
    work.scalars[5] = (int64_t)random_key(node->parameters.seed);
    work.scalars[6] = node->inputs[1].view.strides[0];
    out->flops = 5 * (uint64_t)view_count(logits); /* scale, noise and comparison */
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

/* Planes [lines, height, width] and windows [lines, down, across, rows, columns], one of which is
 * the operand. parameters.window: strides, dilations, paddings, each down and across. */
static bool lower_windows(struct lowering *lowering, const struct node *node,
                          const struct device_capabilities *device, struct lowered *out) {
    bool fold = node->op == OP_FOLD;
    const struct view *x = &node->inputs[0].view;
    const struct view *planes = fold ? &node->shape : x, *windows = fold ? x : &node->shape;
    struct portable_work work = {.op = node->op, .type = node->dtype, .scalar_count = 14};
    work.items = work.scalars[0] = view_count(&node->shape);
    work.scalars[1] = planes->sizes[1];
    work.scalars[2] = planes->sizes[2];
    memcpy(work.scalars + 3, windows->sizes + 1, 4 * sizeof work.scalars[0]);
    memcpy(work.scalars + 7, node->parameters.window, 6 * sizeof work.scalars[0]);
    work.scalars[13] = value_type_of(node->dtype) == VALUE_I32 ? (int64_t)node->parameters.value
                                                               : float_bits(node->parameters.value);
    out->flops = fold ? (uint64_t)view_count(windows) : 0;
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_portable(&work, device, &out->request, lowering->status);
}

static bool lower_custom(struct lowering *lowering, const struct node *node,
                         const struct device_capabilities *device, struct lowered *out) {
    const struct custom_call *call = (const struct custom_call *)(uintptr_t)node->parameters.seed;
    struct custom_work work = {call->number, call->blocks, call->scalars};
    out->flops = call->flops;
    out->bytes = call->bytes ? call->bytes : inputs_bytes(lowering, node) + node_bytes(node);
    return kernel_custom(&work, device, &out->request, lowering->status);
}

typedef bool lower_function(struct lowering *, const struct node *,
                            const struct device_capabilities *, struct lowered *);
static lower_function *const functions[OP_COUNT] = {
    [OP_ARANGE] = lower_generate,
    [OP_RAND] = lower_generate,
    [OP_RANDN] = lower_generate,
    [OP_EMBEDDING] = lower_embedding,
    [OP_ROPE] = lower_rope,
    [OP_ATTENTION] = lower_attention,
    [OP_ATTENTION_DQ] = lower_attention,
    [OP_ATTENTION_DKV] = lower_attention,
    [OP_WKV7] = lower_wkv7,
    [OP_QUANTIZE] = lower_quantize,
    [OP_DEQUANTIZE] = lower_quantize,
    [OP_GATED] = lower_dual_gemm,
    [OP_LORA] = lower_dual_gemm,
    [OP_UPDATE] = lower_update,
    [OP_GATHER] = lower_gather,
    [OP_SCATTER_ADD] = lower_scatter_add,
    [OP_ARGSORT] = lower_rows,
    [OP_CUMSUM] = lower_rows,
    [OP_SAMPLE] = lower_sample,
    [OP_UNFOLD] = lower_windows,
    [OP_FOLD] = lower_windows,
    [OP_CUSTOM] = lower_custom,
};

/* Memory for a launch only. */
static struct place scratch_place(struct lowering *lowering, size_t bytes) {
    if (lowering->scratch_bytes < bytes)
        lowering->scratch_bytes = bytes;
    return (struct place){PLACE_ARENA, 0, lowering->scratch};
}

bool lower_kernel(struct lowering *lowering, uint32_t n) {
    const struct node *node = &lowering->fusion->graph->nodes[n];
    struct lowered lowered = {.flops = 0};
    struct place places[12];
    unsigned count = 0;
    if (view_count(&node->shape) == 0)
        return true;
    /* An assignment's result is its first input. */
    unsigned first = node->kind == NODE_ASSIGN ? 1 : 0;
    for (uint32_t i = first; i < node->input_count; i++)
        places[count++] = lower_place(lowering, node->inputs[i].node, node->inputs[i].view.offset);
    places[count++] = first
                          ? lower_place(lowering, node->inputs[0].node, node->inputs[0].view.offset)
                          : lower_place(lowering, n, 0);
    if (node->op == OP_ARGSORT)
        places[count++] = scratch_place(lowering, node_bytes(node));
    if (node->op == OP_WKV7 || node->op == OP_ATTENTION || node->op == OP_ATTENTION_DKV) {
        uint32_t second = second_result(lowering, n);
        if (second != n || node->op != OP_ATTENTION)
            places[count++] = lower_place(lowering, second, 0);
    }
    struct group_program shapes = {0};
    const char *detail = lower_detail(lowering, NULL, &shapes, node);
    return functions[node->op](lowering, node, &lowering->plan->device->device->capabilities,
                               &lowered) &&
           plan_add_step(lowering->plan, &lowered.request, places, count, lowered.flops,
                         lowered.bytes, detail, lowering->status);
}
