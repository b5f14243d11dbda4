/* What the kernels of attention have in common. */
#ifndef RIDGE_GEN_EMIT_ATTENTION_H
#define RIDGE_GEN_EMIT_ATTENTION_H

#include "gen/emit/elements.h"
#include "gen/kernel.h"

enum attention_method {
    METHOD_QUERIES, /* a block per query */
    METHOD_TILES,   /* a block per tile of queries */
    METHOD_TENSOR,  /* the same on CUDA's matrix units; see attention_tensor.c */
};

enum attention_choice {
    ATTENTION_METHOD,
    ATTENTION_WIDTH,
    ATTENTION_THREADS,
    ATTENTION_CAUSAL,
    ATTENTION_VECTOR, /* elements that are loaded together where the addresses allow */
    ATTENTION_LANES,  /* of a key (a block per query); row tiles of a warp (matrix units) */
    ATTENTION_TILE,   /* queries and keys; lines that are staged together (matrix units) */
    ATTENTION_WINDOW, /* whether there is one */
    ATTENTION_LENGTHS,
    ATTENTION_MASK,
    ATTENTION_STATS,
    ATTENTION_RESULT, /* enum attention_result */
};

enum { ATTENTION_SCALARS = 21 };

/* The macros of the work and of attention.cl. */
void attention_macros(struct buffer *out, const struct kernel_spec *spec);
/* The operands in order: q, k, v, lengths, mask. Returns their number, at most 5. */
unsigned attention_operands(const struct kernel_spec *spec, struct source_parameter *buffers);

/* Sets the choices and the geometry of the kernel on the matrix units. */
bool attention_tensor_plan(const struct attention_work *work,
                           const struct device_capabilities *device,
                           struct kernel_request *request);
void attention_tensor_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                           struct kernel_generated *generated);

#endif
