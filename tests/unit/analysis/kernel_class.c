/* What kernels are, judging by their names. */
#include "../test.h"

#include "analysis/kernel_class.h"

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
