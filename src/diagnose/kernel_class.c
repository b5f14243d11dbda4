/* Searches for substrings of names, the most specific first: a fused softmax is a compiler's kernel
 * before it is a softmax. */
#include "diagnose/kernel_class.h"

#include <stddef.h>

const char *kernel_class_name(unsigned class) {
    static const char *const names[KERNEL_CLASS_COUNT] = {
        "other",  "element-wise", "strided",         "fused",      "streaming",
        "matrix", "f32 matrix",   "sorts and scans", "collective",
    };
    return class < KERNEL_CLASS_COUNT ? names[class] : "?";
}

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

/* The ridge runtime names kernels after their operations and type: one operation, fused_relu_f32.
 */
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

/* f32 products whose names exclude tensor cores, or f64 products: tensor cores run f64 as well, but
 * no faster than f32. */
static bool is_plain_f32(struct text name) {
    static const char *const plain[] = {"sgemm",  "scudnn",     "f32f32_f32f32",
                                        "simt_s", "matmul_f32", NULL};
    static const char *const tensor_cores[] = {"tensorop", "tf32", "1688", "16816", "wgmma", NULL};
    return (kernel_is_f64(name) || has_any(name, plain)) && !has_any(name, tensor_cores);
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
    if (is_single_operation(name) ||
        text_find(name, "fused_dropout") >= 0) /* in PyTorch, not a fused kernel */
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
