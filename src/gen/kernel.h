/* From a piece of work to code and launch: the interface of src/gen.
 *
 * For each family of kernels there is a struct that describes the work, sizes and all, and a
 * function that turns it into a request: the specification on which the code depends (equal
 * specifications share a loaded kernel), the launch geometry and the scalars. kernel_generate()
 * makes the code of a specification in the language of the device: source for GPUs
 * (src/gen/emit), functions for the CPU (src/gen/native).
 *
 * The buffers of a launch are, in order, those that each struct names.
 */
#ifndef RIDGE_GEN_KERNEL_H
#define RIDGE_GEN_KERNEL_H

#include "base/status.h"
#include "base/text.h"
#include "device/device.h"
#include "gen/program.h"

enum kernel_family {
    KERNEL_PROGRAM,
    KERNEL_MATMUL,
    KERNEL_GENERATE,
    KERNEL_EMBEDDING,
    KERNEL_ROPE,
    KERNEL_ATTENTION,
    KERNEL_WKV7,
    KERNEL_QUANTIZE,
    KERNEL_DEQUANTIZE,
    KERNEL_GATED,
    KERNEL_LORA,
    KERNEL_PORTABLE,
    KERNEL_CUSTOM, /* gen/custom.h */
    KERNEL_FAMILIES
};

enum { KERNEL_TYPES_MAX = 8, KERNEL_CHOICES_MAX = 12 };

/* Everything that the code depends on. */
struct kernel_spec {
    enum kernel_family family;
    uint8_t
        types[KERNEL_TYPES_MAX]; /* enum ridge_dtype of the buffers that are not the program's */
    int32_t choices[KERNEL_CHOICES_MAX]; /* the family's own: tile sizes, flags, ... */
    bool has_program;                    /* PROGRAM, and MATMUL's epilogue */
    struct program program;
};

struct kernel_request {
    struct kernel_spec spec;
    bool library; /* CODE_MATMUL, described by `matmul`, instead of generated code */
    struct device_matmul matmul;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    unsigned scalar_count;
    int64_t scalars[LAUNCH_SCALARS_MAX];
};

/* ---- Families: what the work is ----------------------------------------------------------- */

/* A fused program. Buffers: its operands. */
bool kernel_program(const struct program *program, const struct program_shape *shape,
                    const struct device_capabilities *device, struct kernel_request *request,
                    struct status *status);

/* Whether a program with reductions has too few rows to fill the device, and into how many parts
 * each row should then be cut, to be reduced in two launches. The program is collapsed. */
bool kernel_program_parts(const struct program *program, const struct program_shape *shape,
                          const struct device_capabilities *device, int64_t *parts);

/* C = epilogue(A x B), with f32 accumulation. A and B are f32, f16 or bf16 with any strides; or B
 * is quantized, its k elements of a column together (b_row is 1, b_column is k). The epilogue is a
 * program without rows over the axes [batch, m, n] (rank 3, not collapsed) in which OP_ACCUMULATOR
 * is the product; it stores the result. Buffers: A, B, then the epilogue's operands. */
struct matmul_work {
    enum ridge_dtype a_type, b_type;
    int64_t batch, m, n, k;
    int64_t a_batch, a_row, a_column; /* strides in elements */
    int64_t b_batch, b_row, b_column;
    uint32_t a_alignment, b_alignment; /* of the first elements' addresses, bytes: 1..16 */
    struct program epilogue;
    struct program_shape shape;
};
/* When the request is for the library, the epilogue is one that it can do, and the buffers are A,
 * B, D and the bias if there is one: `buffers` gets the numbers of the epilogue's operands that are
 * D and the bias. */
bool kernel_matmul(const struct matmul_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, unsigned buffers[2], struct status *status);
/* Whether the library supports this product but not its epilogue, and a separate program for the
 * epilogue is faster than a generated kernel. */
bool kernel_matmul_splits(const struct matmul_work *work, const struct device_capabilities *device);

/* Products of few rows of x by several matrices, as one kernel:
 *   KERNEL_GATED   silu(x first) * (x second); both are [k, n]
 *   KERNEL_LORA    x first + scale * ((x second) third); second is [k, rank], third [rank, n]
 * All of one type. Rows are contiguous. Buffers: x, the matrices, the result [m, n], contiguous.
 * Only some devices have such kernels: check kernel_dual_gemm_fits() first. */
struct dual_gemm_matrix {
    int64_t row;        /* from one row to the next, in elements */
    uint32_t alignment; /* of the first element's address, bytes: 1..16 */
};
struct dual_gemm_work {
    enum kernel_family family;
    enum ridge_dtype type;
    int64_t m, n, k, rank;
    struct dual_gemm_matrix x, first, second, third;
    float scale;
};
bool kernel_dual_gemm_fits(const struct dual_gemm_work *work,
                           const struct device_capabilities *device);
bool kernel_dual_gemm(const struct dual_gemm_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status);

/* Buffers: with `stepped` (rand, randn) an i32, by which the numbers differ as by the seed; the
 * result, contiguous. */
enum generate_kind { GENERATE_ARANGE, GENERATE_RAND, GENERATE_RANDN };
struct generate_work {
    enum generate_kind kind;
    enum ridge_dtype type;
    int64_t count;
    uint64_t seed;
    double start, step;
    bool stepped;
};
bool kernel_generate_values(const struct generate_work *work,
                            const struct device_capabilities *device,
                            struct kernel_request *request, struct status *status);

/* Buffers: table (rows contiguous, `table_row` elements apart), indices (i32, contiguous), result
 * [count, width] contiguous, of the table's type, f32 when that is quantized. */
struct embedding_work {
    enum ridge_dtype type;
    int64_t rows, width, count, table_row;
};
bool kernel_embedding(const struct embedding_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status);

/* Buffers: x [batch, heads, tokens, width] with strides (last one 1), positions [batch, tokens] i32
 * with strides, result contiguous. */
struct rope_work {
    enum ridge_dtype type;
    int64_t batch, heads, tokens, width;
    int64_t strides[3], position_strides[2];
    float base;
    bool interleaved;
};
bool kernel_rope(const struct rope_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status);

/* Buffers: q, k, v with strides of their first three axes (the last one is 1); lengths [batch] i32,
 * if there are; the mask [batch, heads, queries, keys], if there is one; result [batch, heads,
 * queries, width] contiguous. All others of one type, f32, f16 or bf16; computed in f32, except
 * that CUDA's matrix units take the weights of the keys in the type of the operands.
 *
 * With `stats` a second result follows, f32 [batch, heads, queries]: the logarithm to base 2 of the
 * sum of the exponentials. The gradients have three more operands after the mask: that of the
 * result, contiguous; the stats; and f32 [batch, heads, queries], the sum over the width of the
 * result times its gradient. DQ is like q, contiguous; DKV is like k, contiguous, and the gradient
 * of v follows it. Only some devices have `stats` and gradients: check kernel_attention_fits()
 * first. */
enum attention_result { ATTENTION_OUTPUT, ATTENTION_DQ, ATTENTION_DKV };
struct attention_work {
    enum attention_result result;
    bool stats;
    enum ridge_dtype type;
    int64_t batch, heads, kv_heads, queries, keys, width;
    int64_t q_strides[3], k_strides[3], v_strides[3];
    float scale;
    bool causal;
    int64_t window; /* keys that a query sees at most; 0: no limit */
    bool has_lengths, has_mask;
    int64_t length_stride, mask_strides[4];
};
bool kernel_attention_fits(const struct attention_work *work,
                           const struct device_capabilities *device);
bool kernel_attention(const struct attention_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status);

/* Buffers: r, w, k, v, a, b [batch, tokens, heads, width] contiguous; state [batch, heads, width
 * (of v), width (of k)] f32 contiguous; y like r; the state after, like state. */
struct wkv7_work {
    enum ridge_dtype type;
    int64_t batch, tokens, heads, width;
};
bool kernel_wkv7(const struct wkv7_work *work, const struct device_capabilities *device,
                 struct kernel_request *request, struct status *status);

/* Buffers: x, result; both contiguous, `blocks` whole blocks in all. */
struct quantize_work {
    enum ridge_dtype from, to; /* one of them quantized, the other f32, f16 or bf16 */
    int64_t blocks;
};
bool kernel_quantize(const struct quantize_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status);
bool kernel_dequantize(const struct quantize_work *work, const struct device_capabilities *device,
                       struct kernel_request *request, struct status *status);

/* Kernels written once for every language and the CPU: gen/portable.h. Buffers: those of the
 * operation's row there. */
enum { PORTABLE_SCALARS_MAX = 40 };
struct portable_work {
    enum op op;
    enum ridge_dtype type;
    bool descending; /* argsort */
    int64_t items;   /* elements of the result, or rows */
    unsigned scalar_count;
    int64_t scalars[PORTABLE_SCALARS_MAX];
};
bool kernel_portable(const struct portable_work *work, const struct device_capabilities *device,
                     struct kernel_request *request, struct status *status);

/* ---- Code ------------------------------------------------------------------------------- */

/* Code for load(). It points into `generated`, which owns source and context. */
struct kernel_generated {
    struct kernel_code code;
    char name[120];
    struct buffer source;
};
bool kernel_generate(const struct kernel_spec *spec, const struct device_capabilities *device,
                     struct kernel_generated *generated, struct status *status);
void kernel_generated_finish(struct kernel_generated *generated);

/* The key of a specification; returns its length, at most sizeof(struct kernel_spec). */
size_t kernel_spec_key(const struct kernel_spec *spec, unsigned char *key, size_t capacity);

/* A readable name, also a C identifier: "fused_sin_cos_exp", "softmax-like" rows are
 * "rows_amax_sub_exp_sum_div", "matmul_f16_bias_relu". At most 119 characters. */
void kernel_name(const struct kernel_spec *spec, char *name, size_t capacity);

#endif
