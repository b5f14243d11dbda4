/* Kernel names of the known libraries: cuBLAS and cuDNN (xmma, nvjet, cutlass, fprop, dgrad,
 * wgrad), rocBLAS (Cijk), flash attention in its variants, PyTorch's own, Triton's, ggml's, and
 * those of ridge's runtime. Families are tried in order, the most specific first: a fused softmax
 * is a compiler's kernel before it is a softmax.
 *
 * A distinctive part ("cutlass") may stand anywhere in a name. An ordinary word ("mul", "conv")
 * must be a whole word of it: simulate_particles multiplies nothing that is known here. */
#include "analysis/kernel_class.h"

#include <ctype.h>
#include <string.h>

#include "analysis/communication.h"
#include "base/array.h"

static bool has_any(struct text name, const char *const *parts) {
    for (; *parts; parts++)
        if (text_find(name, *parts) >= 0)
            return true;
    return false;
}

/* Names are written as snake_case, camelCase or both: a word begins after anything that is not a
 * letter or digit, where a digit meets a letter, and where an upper-case letter follows a
 * lower-case one or ends an acronym (CUDAFunctor). */
static bool is_boundary(struct text name, size_t at) {
    if (at == 0 || at >= name.length)
        return true;
    unsigned char before = (unsigned char)name.data[at - 1], after = (unsigned char)name.data[at];
    if (!isalnum(before) || !isalnum(after) || !isdigit(before) != !isdigit(after))
        return true;
    if (!isupper(after))
        return false;
    return islower(before) || (at + 1 < name.length && islower((unsigned char)name.data[at + 1]));
}

static bool equal_ignoring_case(const char *a, const char *lower, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)a[i]) != lower[i])
            return false;
    return true;
}

static bool has_word(struct text name, const char *word) {
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= name.length; at++)
        if (equal_ignoring_case(name.data + at, word, length) && is_boundary(name, at) &&
            is_boundary(name, at + length))
            return true;
    return false;
}

/* `words` in lower case. */
static bool has_any_word(struct text name, const char *const *words) {
    for (; *words; words++)
        if (has_word(name, *words))
            return true;
    return false;
}

static bool is_product(struct text name) {
    static const char *const parts[] = {
        "gemm",       "Gemm",      "GEMM",        "matmul", "wgrad",  "dgrad",     "fprop",
        "fmha",       "cublas",    "cutlass",     "Cijk_",  "nvjet",  "winograd",  "xmma",
        "scudnn",     "mul_mat",   "mat_mul",     "matMul", "MatMul", "matrixMul", "MatrixMul",
        "matrix_mul", "triton_mm", "triton_tem_", NULL};
    static const char *const words[] = {"conv",    "convolve", "convolution", "conv2d", "conv1d",
                                        "conv3d",  "flash",    "attention",   "attn",   "mha",
                                        "product", "fattn",    "mmq",         "mmvq",   NULL};
    return (has_any(name, parts) || has_any_word(name, words)) &&
           text_find(name, "elementwise") < 0;
}

static bool is_collective(struct text name) {
    static const char *const parts[] = {"nccl",       "rccl",      "AllReduce", "AllGather",
                                        "all_reduce", "allreduce", NULL};
    return has_any(name, parts) || kernel_communicates(name);
}

/* Ridge's runtime names a kernel after its operations and type: fused_relu_f32 is a single
 * operation. */
static bool is_single_operation(struct text name) {
    size_t parts = 0;
    for (size_t i = 0; i < name.length; i++)
        parts += name.data[i] == '_';
    return text_starts(name, "fused_") && parts == 2;
}

/* The kernels of MLX and candle, on Metal: the number of arrays that an element-wise one accesses;
 * 0 for any other. MLX: "v_Sinfloat32float32", "vv_Addfloat32", with s for a scalar, g for a
 * strided array, and a digit for variants. candle: "usin_f32", "badd_f16". */
static unsigned metal_elementwise_arrays(struct text name) {
    static const char *const unary[] = {"uabs_", "uceil_", "ucos_",   "uerf_",  "uexp_",  "ugelu_",
                                        "ulog_", "uneg_",  "urecip_", "urelu_", "usilu_", "usin_",
                                        "usqr_", "usqrt_", "utanh_",  "usigm",  NULL};
    static const char *const binary[] = {"badd_", "bsub_",     "bmul_",     "bdiv_",
                                         "beq_",  "bmaximum_", "bminimum_", NULL};
    size_t operands = 0, at;
    for (size_t i = 0; unary[i]; i++)
        if (text_starts(name, unary[i]))
            return 2;
    for (size_t i = 0; binary[i]; i++)
        if (text_starts(name, binary[i]))
            return 3;
    while (operands < name.length && operands < 2 && strchr("vsg", name.data[operands]))
        operands++;
    for (at = operands; at < name.length && name.data[at] >= '1' && name.data[at] <= '9';)
        at++;
    if (operands == 0 || at + 2 >= name.length || at > operands + 1 || name.data[at] != '_')
        return 0;
    struct text operation = {name.data + at + 1, name.length - at - 1};
    bool named = operation.data[0] >= 'A' && operation.data[0] <= 'Z';
    if (!named && !text_starts(operation, "copy"))
        return 0;
    return operands == 2 && text_starts(name, "vv") ? 3 : 2;
}

bool kernel_is_f64(struct text name) {
    static const char *const parts[] = {"f64f64_f64f64", "dgemm", NULL};
    return has_any(name, parts);
}

/* f32 products without matrix units, by name, and f64 products, which matrix units do no faster. */
static bool is_plain_f32(struct text name) {
    static const char *const plain[] = {
        "sgemm", "scudnn", "f32f32_f32f32", "cf32cf32_f32f32", "simt_s", "matmul_f32", NULL};
    static const char *const units[] = {"tensorop", "tf32", "1688", "16816", "wgmma", NULL};
    return (kernel_is_f64(name) || has_any(name, plain)) && !has_any(name, units);
}

enum kernel_class kernel_class(struct text name) {
    static const char *const fused[] = {"triton_poi_", "triton_red_", "triton_per_",
                                        "_fusion",     "fused_",      NULL};
    static const char *const plain[] = {"vectorized_elementwise", "multi_tensor_apply", "fill_",
                                        "unrolled_elementwise", NULL};
    static const char *const strided[] = {
        "elementwise_kernel", "transpose", "Transpose", "permute", "copy_", "_copy", NULL};
    static const char *const solvers[] = {"sort",    "scan", "cumsum", "cumprod",
                                          "argsort", "topk", "radix",  NULL};
    static const char *const streaming_parts[] = {
        "layernorm",  "LayerNorm",   "rmsnorm",   "RMSNorm", "batchnorm",
        "BatchNorm",  "groupnorm",   "GroupNorm", "CatArr",  "elementwise",
        "vector_fft", "regular_fft", NULL};
    static const char *const streaming[] = {
        "softmax", "soft_max", "norm",   "reduce",  "reduction", "index", "gather", "scatter",
        "copy",    "cpy",      "concat", "cat",     "embedding", "rope",  "pool",   "pooling",
        "bn",      "sum",      "map",    "dropout", "add",       "mul",   "relu",   "gelu",
        "loop",    "stream",   "silu",   "sub",     "div",       "scale", NULL};
    if (is_collective(name))
        return KERNEL_COLLECTIVE;
    if (is_product(name))
        return is_plain_f32(name) ? KERNEL_MATMUL_F32 : KERNEL_MATMUL;
    if (is_single_operation(name) || metal_elementwise_arrays(name) ||
        text_find(name, "fused_dropout") >= 0) /* PyTorch's dropout */
        return KERNEL_ELEMENTWISE;
    if (has_any(name, fused))
        return KERNEL_FUSED;
    if (has_any_word(name, solvers))
        return KERNEL_SORT_SCAN;
    if (has_any(name, plain))
        return KERNEL_ELEMENTWISE;
    if (has_any(name, strided))
        return KERNEL_STRIDED;
    return has_any(name, streaming_parts) || has_any_word(name, streaming) ? KERNEL_STREAMING
                                                                           : KERNEL_OTHER;
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
    if (metal_elementwise_arrays(kernel))
        return metal_elementwise_arrays(kernel);
    /* the runtime's are named fused_add_f32; those that reduce rows, rows_… */
    if (!has_any(kernel, frameworks) &&
        (!text_starts(kernel, "fused_") || text_find(kernel, "_sum_") >= 0 ||
         text_find(kernel, "_amax_") >= 0))
        return 0;
    unsigned arrays = arrays_of_type(kernel);
    return arrays ? arrays : is_binary(kernel) ? 3 : 2;
}

unsigned kernel_elements_per_thread(struct text name) {
    static const char vectorized[] = "vectorized_elementwise_kernel<";
    static const char *const mixed[] = {"bool", "Compare", "Cast", "copy", NULL};
    ptrdiff_t at = text_find(name, vectorized);
    bool wide = text_find(name, "double") >= 0 && text_find(name, "float") >= 0;
    if (has_any(name, mixed) || wide)
        return 0;
    if (at < 0)
        return text_find(name, "unrolled_elementwise_kernel<") >= 0 ? 4 : 0;
    size_t digit = (size_t)at + sizeof vectorized - 1;
    struct text width = {name.data + digit, name.length - digit};
    return text_starts(width, "16,")  ? 16
           : text_starts(width, "8,") ? 8
           : text_starts(width, "4,") ? 4
                                      : 0;
}

/* ---- Types ---- */

static unsigned element_size(struct text name) {
    static const struct {
        const char *word;
        unsigned size;
    } words[] = {
        {"OpaqueType<1", 1}, {"OpaqueType<2", 2}, {"OpaqueType<4", 4}, {"OpaqueType<8", 8},
        {"BFloat16", 2},     {"bfloat16", 2},     {"Half", 2},         {"half", 2},
        {"float16", 2},      {"double", 8},       {"float", 4},
    };
    if (text_find(name, "float16") >= 0 && text_find(name, "float32") >= 0)
        return 0; /* MLX's copies between types */
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (text_find(name, words[i].word) >= 0)
            return words[i].size;
    return 0;
}

struct kernel_traits kernel_traits_of(struct text name) {
    static const char *const products[] = {
        "gemm",  "Gemm",  "GEMM",         "gemv", "nvjet",   "Cijk_",  "matmul", "fprop",
        "dgrad", "wgrad", "implicit_con", "fmha", "mul_mat", "matMul", "MatMul", NULL};
    static const char *const product_words[] = {"conv2d", "flash", "attention", "attn", NULL};
    static const char *const helpers[] = {"splitKreduce", "splitk_reduce", "SplitKReduce", NULL};
    static const char *const fast_algorithms[] = {"winograd", "Winograd", "fft", NULL};
    static const char *const functions[] = {
        "_sin_",  "_cos_",  "_tan_", "_exp_",  "_log_",      "_tanh_",   "_sigmoid_", "_gelu_",
        "_silu_", "_erf_",  "_pow_", "sin_ke", "cos_ke",     "exp_ke",   "log_ke",    "tanh_ke",
        "erf_ke", "pow_te", "Gelu",  "silu",   "sigmoid_ke", "softplus", NULL};
    static const char *const matrix_f32[] = {"tf32", "TF32", "tensorop", "s1688", NULL};
    static const char *const bf16[] = {"bf16", "BFloat16", "bfloat16", "nvjet_tst", NULL};
    static const char *const f16[] = {"f16", "float16", "half", "Half", "hgemm", "nvjet_hsh", NULL};
    static const char *const f32[] = {"f32", "float", "sgemm", NULL};
    struct kernel_traits traits = {
        .read = true,
        .multiplies = (has_any(name, products) || has_any_word(name, product_words)) &&
                      !has_any(name, helpers),
        .fewer_multiplications = has_any(name, fast_algorithms),
        .functions = has_any(name, functions),
        .communicates = is_collective(name),
        .matrix_f32 = has_any(name, matrix_f32),
        .bf16 = has_any(name, bf16),
        .size = (uint8_t)element_size(name),
        .arrays = (uint8_t)kernel_elementwise_arrays(name),
        .per_thread = (uint8_t)kernel_elements_per_thread(name),
    };
    traits.f16 = !traits.bf16 && has_any(name, f16);
    traits.f32 = !traits.bf16 && !traits.f16 && has_any(name, f32);
    return traits;
}
