/* Kernel names of the known libraries: cuBLAS and cuDNN (xmma, nvjet, cutlass, fprop, dgrad,
 * wgrad), rocBLAS (Cijk), flash attention in its variants, PyTorch's own, Triton's, and those of
 * ridge's runtime. Substrings are tried in order, the most specific first: a fused softmax is a
 * compiler's kernel before it is a softmax. */
#include "analysis/kernel_class.h"

#include "base/array.h"

static bool has_any(struct text name, const char *const *parts) {
    for (; *parts; parts++)
        if (text_find(name, *parts) >= 0)
            return true;
    return false;
}

static bool is_product(struct text name) {
    static const char *const parts[] = {
        "gemm",  "Gemm",      "GEMM",        "matmul", "conv",    "wgrad", "dgrad", "fprop",
        "flash", "fmha",      "attention",   "cublas", "cutlass", "Cijk_", "nvjet", "winograd",
        "xmma",  "triton_mm", "triton_tem_", "scudnn", "product", NULL};
    static const char *const not_these[] = {"convert", "elementwise", NULL};
    return has_any(name, parts) && !has_any(name, not_these);
}

/* Ridge's runtime names a kernel after its operations and type: fused_relu_f32 is a single
 * operation. */
static bool is_single_operation(struct text name) {
    size_t parts = 0;
    for (size_t i = 0; i < name.length; i++)
        parts += name.data[i] == '_';
    return text_starts(name, "fused_") && parts == 2;
}

bool kernel_is_f64(struct text name) {
    static const char *const parts[] = {"f64f64_f64f64", "dgemm", NULL};
    return has_any(name, parts);
}

/* f32 products without matrix units, by name, and f64 products, which matrix units do no faster. */
static bool is_plain_f32(struct text name) {
    static const char *const plain[] = {"sgemm",  "scudnn",     "f32f32_f32f32",
                                        "simt_s", "matmul_f32", NULL};
    static const char *const units[] = {"tensorop", "tf32", "1688", "16816", "wgmma", NULL};
    return (kernel_is_f64(name) || has_any(name, plain)) && !has_any(name, units);
}

enum kernel_class kernel_class(struct text name) {
    static const char *const collective[] = {"nccl", "rccl", "AllReduce", "AllGather", NULL};
    static const char *const fused[] = {"triton_poi_", "triton_red_", "triton_per_",
                                        "_fusion",     "fused_",      NULL};
    static const char *const plain[] = {"vectorized_elementwise", "multi_tensor_apply", "fill_",
                                        "unrolled_elementwise", NULL};
    static const char *const strided[] = {
        "elementwise_kernel", "transpose", "Transpose", "permute", "copy_", "_copy", NULL};
    static const char *const solvers[] = {"sort", "Sort", "scan",  "Scan", "cumsum",
                                          "topk", "TopK", "radix", NULL};
    static const char *const streaming[] = {
        "softmax", "SoftMax", "norm", "Norm",  "reduce", "Reduce",      "index",
        "gather",  "scatter", "copy", "Copy",  "CatArr", "embedding",   "dropout",
        "pool",    "bn_",     "cat_", "sum",   "map_",   "elementwise", "add",
        "mul",     "relu",    "gelu", "loop_", "stream", NULL};
    if (has_any(name, collective))
        return KERNEL_COLLECTIVE;
    if (is_product(name))
        return is_plain_f32(name) ? KERNEL_MATMUL_F32 : KERNEL_MATMUL;
    if (is_single_operation(name) || text_find(name, "fused_dropout") >= 0) /* PyTorch's dropout */
        return KERNEL_ELEMENTWISE;
    if (has_any(name, fused))
        return KERNEL_FUSED;
    if (has_any(name, solvers))
        return KERNEL_SORT_SCAN;
    if (has_any(name, plain))
        return KERNEL_ELEMENTWISE;
    if (has_any(name, strided))
        return KERNEL_STRIDED;
    return has_any(name, streaming) ? KERNEL_STREAMING : KERNEL_OTHER;
}

bool kernel_class_moves_memory(unsigned class) {
    return class == KERNEL_ELEMENTWISE || class == KERNEL_STRIDED || class == KERNEL_FUSED ||
           class == KERNEL_STREAMING;
}

/* ---- Element-wise kernels ---- */

/* PyTorch's kernels take their arrays as one argument whose type has their number: "Array<char*,
 * 3>", "array<char*, 3ul>". */
static unsigned arrays_of_type(struct text name) {
    static const char type[] = "rray<char*, ";
    ptrdiff_t at = text_find(name, type);
    size_t digit = (size_t)at + sizeof type - 1;
    if (at < 0 || digit >= name.length || name.data[digit] < '1' || name.data[digit] > '9')
        return 0;
    return (unsigned)(name.data[digit] - '0');
}

static bool is_binary(struct text name) {
    static const char *const parts[] = {"BinaryFunctor", "CUDAFunctor_add", "addcmul", "addcdiv",
                                        "lerp",          "_backward",       "_add_",   "_mul_",
                                        "_sub_",         "_div_",           NULL};
    return has_any(name, parts);
}

unsigned kernel_elementwise_arrays(struct text kernel) {
    static const char *const frameworks[] = {
        "elementwise_kernel", "triton_poi_",  "loop_fusion",   "loop_add",
        "loop_multiply",      "loop_convert", "fused_dropout", NULL};
    static const char *const not_these[] = {"reduce",  "gemm",    "index_", "indexFunc", "gather",
                                            "scatter", "softmax", "norm_",  NULL};
    if (has_any(kernel, not_these))
        return 0;
    /* the runtime's are named fused_add_f32; those that reduce rows, rows_… */
    if (!has_any(kernel, frameworks) &&
        (!text_starts(kernel, "fused_") || text_find(kernel, "_sum_") >= 0 ||
         text_find(kernel, "_amax_") >= 0))
        return 0;
    unsigned arrays = arrays_of_type(kernel);
    return arrays ? arrays : is_binary(kernel) ? 3 : 2;
}

/* ---- Types ---- */

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
    static const char *const fast_algorithms[] = {"winograd", "Winograd", "fft", NULL};
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
        .multiplies = has_any(name, products) && !has_any(name, helpers),
        .fewer_multiplications = has_any(name, fast_algorithms),
        .functions = has_any(name, functions),
        .communicates = has_any(name, communication),
        .matrix_f32 = has_any(name, matrix_f32),
        .bf16 = has_any(name, bf16),
        .size = (uint8_t)element_size(name),
    };
    traits.f16 = !traits.bf16 && has_any(name, f16);
    traits.f32 = !traits.bf16 && !traits.f16 && has_any(name, f32);
    return traits;
}
