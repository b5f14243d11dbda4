/* Words of the libraries that there are: cuBLAS and cuDNN (xmma, nvjet, cutlass, fprop, dgrad,
 * wgrad), rocBLAS (Cijk), flash attention in its forms, PyTorch's own, our runtime's.
 */
#include "analysis/kernel_traits.h"

#include "base/array.h"

static bool contains_any(struct text name, const char *const *words) {
    for (; *words; words++)
        if (text_find(name, *words) >= 0)
            return true;
    return false;
}

static unsigned element_size(struct text name) {
    static const struct {
        const char *word;
        unsigned size;
    } words[] = {
        {"OpaqueType<1", 1}, {"OpaqueType<2", 2}, {"OpaqueType<4", 4}, {"OpaqueType<8", 8},
        {"BFloat16", 2},     {"bfloat16", 2},     {"Half", 2},         {"half", 2},
        {"double", 8},       {"float", 4},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (text_find(name, words[i].word) >= 0)
            return words[i].size;
    return 0;
}

struct kernel_traits kernel_traits_of(struct text name) {
    static const char *const products[] = {
        "gemm",  "Gemm",  "GEMM",   "gemv",         "nvjet", "Cijk_", "matmul",    "fprop",
        "dgrad", "wgrad", "conv2d", "implicit_con", "flash", "fmha",  "attention", NULL};
    static const char *const helpers[] = {"splitKreduce", "splitk_reduce", "SplitKReduce", NULL};
    static const char *const fewer[] = {"winograd", "Winograd", "fft", NULL};
    static const char *const functions[] = {
        "_sin_",  "_cos_",  "_tan_", "_exp_",  "_log_",      "_tanh_",   "_sigmoid_", "_gelu_",
        "_silu_", "_erf_",  "_pow_", "sin_ke", "cos_ke",     "exp_ke",   "log_ke",    "tanh_ke",
        "erf_ke", "pow_te", "Gelu",  "silu",   "sigmoid_ke", "softplus", NULL};
    static const char *const communication[] = {"nccl",      "rccl",      "all_reduce", "AllReduce",
                                                "AllGather", "allreduce", "nvshmem",    NULL};
    static const char *const matrix_f32[] = {"tf32", "TF32", "tensorop", "s1688", NULL};
    static const char *const bf16[] = {"bf16", "BFloat16", "bfloat16", "nvjet_tst", NULL};
    static const char *const f16[] = {"f16", "half", "Half", "hgemm", "nvjet_hsh", NULL};
    static const char *const f32[] = {"f32", "float", "sgemm", NULL};
    struct kernel_traits traits = {
        .read = true,
        .multiplies = contains_any(name, products) && !contains_any(name, helpers),
        .fewer = contains_any(name, fewer),
        .functions = contains_any(name, functions),
        .communicates = contains_any(name, communication),
        .matrix_f32 = contains_any(name, matrix_f32),
        .bf16 = contains_any(name, bf16),
        .size = (uint8_t)element_size(name),
    };
    traits.f16 = !traits.bf16 && contains_any(name, f16);
    traits.f32 = !traits.bf16 && !traits.f16 && contains_any(name, f32);
    return traits;
}
