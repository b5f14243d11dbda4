/* Which names a pattern means, and what names say of kernels and ranges. */
#include "base/array.h"
#include "whatif/names.h"

#include "../test.h"

static bool matches(const char *name, const char *pattern) {
    return name_matches(text_of(name), text_of(pattern));
}

TEST(a_pattern_with_wildcards_means_whole_names_and_one_without_a_part) {
    CHECK(matches("sm90_gemm_f16", "gemm"));
    CHECK(!matches("sm90_gemm_f16", "gem?"));
    CHECK(matches("sm90_gemm_f16", "*gem?*"));
    CHECK(matches("abcabd", "*ab?"));
    CHECK(!matches("abcabd", "*abc"));
    CHECK(matches("anything", ""));
    CHECK(matches("", "*"));
    CHECK(!matches("", "?"));
}

TEST(element_wise_kernels_are_known_by_name_with_the_arrays_they_touch) {
    CHECK_INT(name_elementwise_arrays(TEXT("void at::native::vectorized_elementwise_kernel<4, "
                                           "at::native::AddFunctor<float>, "
                                           "at::detail::Array<char*, 3> >(int)")),
              3);
    CHECK_INT(name_elementwise_arrays(TEXT("triton_poi_fused_gelu_0")), 2);
    CHECK_INT(name_elementwise_arrays(TEXT("fused_sin_f32")), 2);
    CHECK_INT(name_elementwise_arrays(TEXT("fused_sin_add_f32")), 3);
    CHECK_INT(name_elementwise_arrays(TEXT("rows_amax_sub_exp_sum_div_f32")), 0);
    CHECK_INT(name_elementwise_arrays(TEXT("void at::native::reduce_kernel<512, 1>")), 0);
    CHECK_INT(name_elementwise_arrays(TEXT("sm90_xmma_gemm_bf16bf16")), 0);
}

TEST(ranges_that_prepare_input_or_compile_are_known_by_name) {
    CHECK(name_is_input(TEXT("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")));
    CHECK(!name_is_input(TEXT("aten::add")));
    static const char *const input[] = {"data",       "next batch", "load_data",
                                        "fetchInput", "get batch",  "wait for input",
                                        "next",       "Load",       "collate"};
    static const char *const other[] = {
        "batch",     "batch 12", "batch_norm", "DataParallel", "load model", "augment batch",
        "nextLayer", "read",     "aten::data", "step",         "",           "cuModuleLoad"};
    for (size_t i = 0; i < ARRAY_COUNT(input); i++)
        CHECK(name_is_input(text_of(input[i])));
    for (size_t i = 0; i < ARRAY_COUNT(other); i++)
        CHECK(!name_is_input(text_of(other[i])));
    CHECK(name_is_compilation(TEXT("compile_fx_inner")));
    CHECK(!name_is_compilation(TEXT("Torch-Compiled Region: 0/0")));
}
