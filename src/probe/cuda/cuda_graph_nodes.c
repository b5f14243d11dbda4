/* Which call captured a node of a graph? CUPTI reports nodes when they are created and cloned, and
 * the records of a graph's kernels have the id of their node.
 *
 * The table has a fixed size: of a program with more nodes the oldest are forgotten, and the
 * kernels of these only belong to the line that launches the graph. */
#include "probe/cuda/cuda.h"

enum { NODES_BITS = 15, NODES = 1 << NODES_BITS, GRAPHS = 1024 };

static struct {
    _Atomic uint64_t node;
    _Atomic uint32_t correlation;
} nodes[NODES];

/* In the upper half the id, in the lower one the number of nodes. */
static _Atomic uint64_t graphs[GRAPHS];

static unsigned slot_of(uint64_t node) {
    return (unsigned)(node * 0x9E3779B97F4A7C15u >> (64 - NODES_BITS));
}

static void remember(struct CUgraphNode_st *handle, uint32_t correlation) {
    uint64_t node;
    if (!correlation || cuda_probe.cupti->cuptiGetGraphNodeId(handle, &node) != CUPTI_SUCCEEDED)
        return;
    unsigned slot = slot_of(node);
    atomic_store_explicit(&nodes[slot].node, 0, memory_order_relaxed);
    atomic_store_explicit(&nodes[slot].correlation, correlation, memory_order_release);
    atomic_store_explicit(&nodes[slot].node, node, memory_order_release);
}

void cuda_node_created(const struct cupti_resource_data *data, uint32_t correlation) {
    if (data->described)
        remember(data->described->node, correlation);
}

static void count_node(struct CUgraph_st *graph) {
    uint32_t id;
    if (!graph || cuda_probe.cupti->cuptiGetGraphId(graph, &id) != CUPTI_SUCCEEDED)
        return;
    _Atomic uint64_t *slot = &graphs[id % GRAPHS];
    uint64_t counted = atomic_load(slot);
    while (!atomic_compare_exchange_weak(
        slot, &counted, counted >> 32 == id ? counted + 1 : ((uint64_t)id << 32) + 1))
        ;
}

void cuda_node_cloned(const struct cupti_resource_data *data) {
    uint64_t original;
    const struct cupti_graph_data *described = data->described;
    if (described)
        count_node(described->graph);
    if (described && cuda_probe.cupti->cuptiGetGraphNodeId(described->original_node, &original) ==
                         CUPTI_SUCCEEDED)
        remember(described->node, cuda_node_captured_by(original));
}

uint32_t cuda_node_captured_by(uint64_t node) {
    unsigned slot = slot_of(node);
    if (!node || atomic_load_explicit(&nodes[slot].node, memory_order_acquire) != node)
        return 0;
    uint32_t correlation = atomic_load_explicit(&nodes[slot].correlation, memory_order_acquire);
    return atomic_load(&nodes[slot].node) == node ? correlation : 0;
}

uint32_t cuda_graph_nodes(uint32_t graph) {
    uint64_t counted = atomic_load(&graphs[graph % GRAPHS]);
    return graph && counted >> 32 == graph ? (uint32_t)counted : 0;
}
