/* A loop with a fault, after a typical start-up, and checks of its diagnosis. */
#ifndef RIDGE_TESTS_UNIT_DIAGNOSE_LOOP_H
#define RIDGE_TESTS_UNIT_DIAGNOSE_LOOP_H

#include "scene.h"

#define GEMM "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"
#define F32_GEMM "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_ffma"
#define F64_GEMM "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_tensor16x8x8"
#define ADD                                                                                        \
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "       \
    "std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
#define RELU                                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, relu_lambda, std::array<char*, 2ul>>(int, " \
    "relu_lambda, std::array<char*, 2ul>)"
#define STRIDED                                                                                    \
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"              \
    "at::native::direct_copy_kernel_cuda>>(int)"

/* Scales the fault in the loop. */
extern double fault_size;
int64_t sized(int64_t time);

enum { STEPS = 24, LAYERS = 6, MS = 1000000, US = 1000 };

/* Six layers that keep the device busy and the host well ahead of it. */
void layers(struct scene *scene, int64_t time);

typedef void act(struct scene *scene, int step);
/* Steps with a fault that several tests use. */
act tiny, reads_a_value, waits_each_layer, many_small_copies, compiles, chain;

/* Plays start-up and the loop; finish with scene_finish(). */
struct scene_report play(act *step);
/* The verdict leads with `kind`. With a cost (of all steps), its recoverable time is within a fifth
 * of that. */
void check_one(act *step, enum finding_kind kind, int64_t cost);
/* The same with a small, a usual and a large fault. */
void check_fault(act *step, enum finding_kind kind, int64_t cost);
/* Two faults: the larger leads, and the other is a significant finding. */
void check_pair(act *step, enum finding_kind first, enum finding_kind second);
/* The run is healthy, and `kind` is a remark. */
void check_remark(act *step, enum finding_kind kind);

#endif
