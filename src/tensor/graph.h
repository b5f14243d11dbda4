/* The graph that tracing builds: operations as nodes, in an order in which they can run.
 *
 * A node's result is contiguous. What reads it does so through a view, so reshapes, transposes,
 * slices and broadcasts are no nodes. Equal nodes are made once.
 */
#ifndef RIDGE_TENSOR_GRAPH_H
#define RIDGE_TENSOR_GRAPH_H

#include "base/map.h"
#include "base/memory.h"
#include "gen/kernel.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

enum node_kind {
    NODE_INPUT,      /* a storage passed to each run */
    NODE_CAPTURE,    /* a storage that the graph retains */
    NODE_CONSTANT,   /* a scalar */
    NODE_EXPRESSION, /* op is one with an expression, or OP_LOAD: the operand itself */
    NODE_REDUCE,     /* op over the axes in axis_mask, which stay with size 1 */
    NODE_MATMUL,
    NODE_CAT,    /* inputs one after the other along `axis` */
    NODE_ASSIGN, /* writes input 1 to the view of input 0 in a storage */
    NODE_KERNEL, /* op has its own kernel */
    NODE_RESULT, /* the second result of input 0's node */
};

struct node_input {
    uint32_t node;
    struct view view;
};

/* What only some operations have; zero otherwise. */
struct node_parameters {
    double value;       /* constant; arange's start; sample: 1 / temperature */
    double step;        /* arange's step; sample: top-p */
    uint64_t seed;      /* rand, randn, sample */
    float scale, base;  /* attention; rope */
    int64_t start;      /* attention: the window; sample: top-k */
    uint32_t axis_mask; /* reduce */
    uint32_t axis;      /* cat, update, gather, scatter_add */
    uint32_t index;     /* input, capture: which one */
    uint32_t flags;     /* attention: causal; rope: interleaved */
    int64_t window[6];  /* unfold, fold: see lower_windows() */
    uint32_t alignment; /* input: of its first element's address, bytes: 1..16 */
    /* Differentiation: no gradient passes; a second node that computes the same. */
    bool detached, again;
};

/* Flags of attention: what follows q, k and v among the operands, in this order. */
enum { ATTENTION_CAUSAL = 1, ATTENTION_LENGTHS = 2, ATTENTION_MASK = 4 };

struct node {
    enum node_kind kind;
    enum op op;
    enum ridge_dtype dtype;
    struct view shape; /* sizes of the result, contiguous; inputs and captures: not used */
    uint32_t input_count;
    struct node_input *inputs; /* in the graph's arena */
    struct node_parameters parameters;
    uint32_t epoch; /* number of assignments before it */
    bool returned;  /* an operation returned it: not something that it computed inside */
};

struct graph {
    ridge_device *device;
    struct node *nodes;
    size_t count, capacity;
    struct arena arena;
    struct map unique; /* hash of a node to its number */
    uint32_t input_count, epoch, operations;
    struct storage **captures;
    size_t capture_count, capture_capacity;
    bool apart;  /* no two inputs share a storage */
    bool failed; /* an operation could not be traced */
    struct status failure;
};

void graph_init(struct graph *graph, ridge_device *device);
void graph_finish(struct graph *graph);

/* The graph into which this thread traces a function, or NULL. The setter returns the previous
 * one. */
struct graph *graph_current(void);
struct graph *graph_set_current(struct graph *graph);

/* The number of a node equal to `node`, which is added (its inputs are copied) if there is none. */
bool graph_add(struct graph *graph, const struct node *node, uint32_t *number,
               struct status *status);
bool graph_input(struct graph *graph, enum ridge_dtype dtype, uint32_t alignment, uint32_t *number,
                 struct status *status);
/* A hash of what the node computes. */
uint64_t graph_digest(const struct graph *graph, size_t node);
/* Alignment of the address of an element in the node's storage, 1..16. Storages and planned
 * memory start at multiples of 16 bytes. */
uint32_t graph_alignment(const struct graph *graph, uint32_t node, int64_t offset);
/* The tensor as an operand of this graph: a node of it, or a captured storage. */
bool graph_operand(struct graph *graph, const struct tensor *tensor, struct node_input *operand,
                   struct status *status);

#endif
