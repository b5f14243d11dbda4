/* Operations with their own kernels: their work, flops and bytes. */
#include <string.h>

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
    const struct view *x = &node->inputs[0].view;
    struct rope_work work = {
        .type = node->dtype,
        .batch = x->sizes[0],
        .heads = x->sizes[1],
        .tokens = x->sizes[2],
        .width = x->sizes[3],
        .strides = {x->strides[0], x->strides[1], x->strides[2]},
        .start = node->parameters.start,
        .base = node->parameters.base,
        .interleaved = node->parameters.flags != 0,
    };
    out->flops = 3 * (uint64_t)view_count(x);
    out->bytes = input_bytes(lowering, &node->inputs[0]) + node_bytes(node);
    return kernel_rope(&work, device, &out->request, lowering->status);
}

static bool lower_attention(struct lowering *lowering, const struct node *node,
                            const struct device_capabilities *device, struct lowered *out) {
    const struct view *q = &node->inputs[0].view, *k = &node->inputs[1].view,
                      *v = &node->inputs[2].view;
    struct attention_work work = {
        .type = node->dtype,
        .batch = q->sizes[0],
        .heads = q->sizes[1],
        .kv_heads = k->sizes[1],
        .queries = q->sizes[2],
        .keys = k->sizes[2],
        .width = q->sizes[3],
        .scale = node->parameters.scale,
        .causal = node->parameters.flags != 0,
    };
    memcpy(work.q_strides, q->strides, sizeof work.q_strides);
    memcpy(work.k_strides, k->strides, sizeof work.k_strides);
    memcpy(work.v_strides, v->strides, sizeof work.v_strides);
    /* Two products, and exp, sum and scale of each score; a causal query sees fewer keys. */
    uint64_t queries = (uint64_t)work.queries, keys = (uint64_t)work.keys;
    uint64_t seen = queries * keys;
    if (work.causal)
        seen -= queries * (queries - 1) / 2;
    out->flops = (uint64_t)(work.batch * work.heads) * seen * (4 * (uint64_t)work.width + 4);
    out->bytes = inputs_bytes(lowering, node) + node_bytes(node);
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

typedef bool lower_function(struct lowering *, const struct node *,
                            const struct device_capabilities *, struct lowered *);
static lower_function *const functions[OP_COUNT] = {
    [OP_ARANGE] = lower_generate,     [OP_RAND] = lower_generate,
    [OP_RANDN] = lower_generate,      [OP_EMBEDDING] = lower_embedding,
    [OP_ROPE] = lower_rope,           [OP_ATTENTION] = lower_attention,
    [OP_WKV7] = lower_wkv7,           [OP_QUANTIZE] = lower_quantize,
    [OP_DEQUANTIZE] = lower_quantize, [OP_GATED] = lower_dual_gemm,
    [OP_LORA] = lower_dual_gemm,
};

/* The node of the second result, if anything needs it. */
static uint32_t second_result(const struct lowering *lowering, uint32_t n) {
    const struct graph *graph = lowering->fusion->graph;
    for (uint32_t other = n + 1; other < graph->count; other++)
        if (graph->nodes[other].kind == NODE_RESULT && graph->nodes[other].inputs[0].node == n)
            return other;
    return n;
}

bool lower_kernel(struct lowering *lowering, uint32_t n) {
    const struct node *node = &lowering->fusion->graph->nodes[n];
    struct lowered lowered = {.flops = 0};
    struct place places[12];
    unsigned count = 0;
    if (view_count(&node->shape) == 0)
        return true;
    for (uint32_t i = 0; i < node->input_count; i++)
        places[count++] = lower_place(lowering, node->inputs[i].node, node->inputs[i].view.offset);
    places[count++] = lower_place(lowering, n, 0);
    if (node->op == OP_WKV7)
        places[count++] = lower_place(lowering, second_result(lowering, n), 0);
    struct group_program shapes = {0};
    const char *detail = lower_detail(lowering, NULL, &shapes, node);
    return functions[node->op](lowering, node, &lowering->plan->device->device->capabilities,
                               &lowered) &&
           plan_add_step(lowering->plan, &lowered.request, places, count, lowered.flops,
                         lowered.bytes, detail, lowering->status);
}
