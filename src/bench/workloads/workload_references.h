/* The expected outputs of workloads, element by element in double precision. Each function is
 * the `reference` of the workloads that compute the same, fused or not. */
#ifndef RIDGE_BENCH_WORKLOADS_WORKLOAD_REFERENCES_H
#define RIDGE_BENCH_WORKLOADS_WORKLOAD_REFERENCES_H

#include "bench/workloads/workload.h"

enum { CHAIN_ROUNDS = 5 }; /* of sin, cos, exp, log */

typedef double workload_reference(const struct host_inputs *inputs, int64_t index);

workload_reference reference_chain, reference_softmax, reference_layer_norm, reference_rms_norm,
    reference_matmul, reference_matmul_relu, reference_linear, reference_lora, reference_gated_mlp,
    reference_attention, reference_rmsnorm_linear, reference_mlp, reference_sum, reference_row_max,
    reference_add, reference_mul, reference_exp, reference_relu, reference_gelu, reference_add_relu,
    reference_mul_relu, reference_affine;

#endif
