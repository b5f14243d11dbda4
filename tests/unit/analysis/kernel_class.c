/* What kernels are, judging by their names. */
#include "../test.h"

#include "analysis/kernel_class.h"
#include "base/array.h"

TEST(element_wise_kernels_are_known_by_name_with_the_arrays_they_touch) {
    CHECK_INT(kernel_elementwise_arrays(TEXT("void at::native::vectorized_elementwise_kernel<4, "
                                             "at::native::AddFunctor<float>, "
                                             "at::detail::Array<char*, 3> >(int)")),
              3);
    CHECK_INT(kernel_elementwise_arrays(TEXT("triton_poi_fused_gelu_0")), 2);
    CHECK_INT(kernel_elementwise_arrays(TEXT("fused_sin_f32")), 2);
    CHECK_INT(kernel_elementwise_arrays(TEXT("fused_sin_add_f32")), 3);
    CHECK_INT(kernel_elementwise_arrays(TEXT("rows_amax_sub_exp_sum_div_f32")), 0);
    CHECK_INT(kernel_elementwise_arrays(TEXT("void at::native::reduce_kernel<512, 1>")), 0);
    CHECK_INT(kernel_elementwise_arrays(TEXT("sm90_xmma_gemm_bf16bf16")), 0);
}

TEST(a_family_is_known_by_whole_words_of_the_name) {
    static const struct {
        const char *name;
        enum kernel_class class;
    } cases[] = {
        {"simulate_particles", KERNEL_OTHER}, /* contains mul */
        {"resume_addresses", KERNEL_OTHER},   /* contains sum and add */
        {"consortium_step", KERNEL_OTHER},    /* contains sort */
        {"enormous_conversation", KERNEL_OTHER},
        {"mul_kernel", KERNEL_STREAMING},
        {"layerNormForward", KERNEL_STREAMING},
        {"cunn_SoftMaxForwardSmem", KERNEL_STREAMING},
        {"rms_norm_f32", KERNEL_STREAMING},
        {"avg_pool2d_out_cuda_frame", KERNEL_STREAMING},
        {"indexSelectLargeIndex", KERNEL_STREAMING},
        {"mul_mat_vec_q", KERNEL_MATMUL},
        {"flash_fwd_kernel", KERNEL_MATMUL},
        {"conv2d_nchw", KERNEL_MATMUL},
        {"DeviceRadixSortOnesweepKernel", KERNEL_SORT_SCAN},
        {"gatherTopK", KERNEL_SORT_SCAN},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (kernel_class(text_of(cases[i].name)) != cases[i].class)
            test_failed(__FILE__, __LINE__, "%s is of class %d", cases[i].name,
                        kernel_class(text_of(cases[i].name)));
}
