/* Which operands suit a dual GEMM kernel. This looks only at the views; the device decides
 * whether it has such a kernel. */
#include "tensor/dual_gemm.h"

/* A matrix [rows, columns] with neighbors along its rows. */
static bool matrix_of(const struct graph *graph, const struct node_input *input, int64_t rows,
                      int64_t columns, struct dual_gemm_matrix *matrix) {
    const struct view *view = &input->view;
    if (view->rank != 2 || view->sizes[0] != rows || view->sizes[1] != columns ||
        view->strides[1] != 1)
        return false;
    matrix->row = view->strides[0];
    matrix->alignment = graph_alignment(graph, input->node, input->view.offset);
    return true;
}

/* The left matrix, its leading axes taken as one. */
static bool left_of(const struct graph *graph, const struct node_input *input,
                    struct dual_gemm_work *work) {
    const struct view *view = &input->view;
    unsigned last = view->rank - 1;
    if (view->rank < 2 || view->strides[last] != 1 || (view->rank > 2 && !view_is_contiguous(view)))
        return false;
    work->k = view->sizes[last];
    work->m = work->k > 0 ? view_count(view) / work->k : 0;
    work->x.row = work->m == 1 ? 0 : view->rank > 2 ? work->k : view->strides[0];
    work->x.alignment = graph_alignment(graph, input->node, input->view.offset);
    return true;
}

static bool same_types(const struct graph *graph, const struct node_input *inputs, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct node *node = &graph->nodes[inputs[i].node];
        if (node->kind == NODE_CONSTANT || node->dtype != graph->nodes[inputs[0].node].dtype)
            return false;
    }
    return true;
}

bool dual_gemm_work_of(const struct graph *graph, enum op op, const struct node_input *inputs,
                       float scale, struct dual_gemm_work *work) {
    bool lora = op == OP_LORA;
    const struct view *first = &inputs[1].view, *second = &inputs[2].view;
    *work = (struct dual_gemm_work){.family = lora ? KERNEL_LORA : KERNEL_GATED,
                                    .type = graph->nodes[inputs[0].node].dtype,
                                    .scale = scale};
    if (!same_types(graph, inputs, lora ? 4 : 3) || first->rank != 2 || second->rank != 2 ||
        !left_of(graph, &inputs[0], work))
        return false;
    work->n = first->sizes[1];
    work->rank = lora ? second->sizes[1] : 0;
    return matrix_of(graph, &inputs[1], work->k, work->n, &work->first) &&
           matrix_of(graph, &inputs[2], work->k, second->sizes[1], &work->second) &&
           (lora ? matrix_of(graph, &inputs[3], work->rank, work->n, &work->third)
                 : second->sizes[1] == work->n);
}
