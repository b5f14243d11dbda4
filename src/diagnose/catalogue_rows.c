/* The rows of the catalogue, from general to specific. tests/verdicts/catalogue.py has a trace for
 * each. `saves` was measured on an H200 with the programs of tests/holdout, fixed and not. */
#include "diagnose/catalogue.h"

#include "base/array.h"

#define ON(kind) (1ull << FINDING_##kind)
#define MEMORY ON(MEMORY_BOUND)
#define KERNEL (ON(MEMORY_BOUND) | ON(LATENCY_BOUND) | ON(COMPUTE_BOUND))
#define LAUNCH (ON(LAUNCH_BOUND) | ON(TINY_KERNELS))
#define ISSUE (LAUNCH | ON(HOST_BOUND))
#define WAIT (ON(SYNC_IN_LOOP) | ISSUE)
#define HOST (ON(HOST_BOUND) | ON(ON_CPU) | ON(INPUT_PIPELINE))
#define COPY (ON(PAGEABLE) | ON(SMALL_TRANSFERS) | ON(EXPOSED_TRANSFERS))

#define KERNELS(words, min)                                                                        \
    { CATALOGUE_KERNELS, words, min }
#define LAUNCHES(words, min)                                                                       \
    { CATALOGUE_LAUNCHES, words, min }
#define OPERATORS(words, min)                                                                      \
    { CATALOGUE_OPERATORS, words, min }
#define CALLS(words, min)                                                                          \
    { CATALOGUE_CALLS, words, min }
#define CALLERS(words, min)                                                                        \
    { CATALOGUE_CALLERS, words, min }
#define CODE(words, min)                                                                           \
    { CATALOGUE_CODE, words, min }

#define TORCH .framework = FRAMEWORK_TORCH
#define JAX .framework = FRAMEWORK_JAX
#define ANY .framework = FRAMEWORK_CUDA

#define SETTING .effort = EFFORT_SETTING
#define LINES .effort = EFFORT_LINES

const struct pattern catalogue_rows[] = {
    /* kernels that move memory */
    {TORCH, .all = {KERNELS("fprop|dgrad|wgrad|winograd|convolve|fft2d_", 0.4)}, .belongs = KERNEL,
     SETTING,
     .words = "Let cuDNN time its algorithms and keep the fastest "
              "(torch.backends.cudnn.benchmark = True)",
     .where = "fixed shapes; every new shape is timed again"},
    {TORCH, .all = {KERNELS("RadixSort|radixSort|bitonicSort|SegmentedSort|MergeSort", 0.25)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_MEMORY_BOUND, LINES,
     .what = "kernels that sort",
     .words = "Sort less: torch.topk for the largest values, torch.kthvalue or torch.histc for "
              "quantiles; keep the order where it does not change"},
    {TORCH,
     .all = {KERNELS("RadixSort|radixSort|bitonicSort|SegmentedSort|MergeSort", 0.25),
             CODE("sort(&[:|sort(&[..., :", 0.1)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_MEMORY_BOUND, LINES, .saves = 0.8,
     .what = "kernels that sort whole rows",
     .words = "Use torch.topk where only the first values of the order are used"},
    {TORCH, .all = {KERNELS("tensor_kernel_scan|DeviceScan", 0.3)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_MEMORY_BOUND, LINES,
     .what = "cumulative sums",
     .words = "Scan along the last, contiguous dimension (transpose once, before the loop), or "
              "replace cumulative sums by a product with a triangular matrix where rows are short"},
    {ANY, .all = {KERNELS("cupy_sum|cupy_max|cupy_min|cupy_mean|cupy_argm|cupy_prod", 0.3)},
     .belongs = MEMORY | ON(LATENCY_BOUND) | ON(SMALL_GRID), SETTING,
     .words = "Reduce with CUB (CUPY_ACCELERATORS=cub)", .where = "CuPy 8; contiguous axes"},
    {ANY, .all = {KERNELS("cupy_&float64", 0.4)}, .belongs = KERNEL, LINES,
     .words = "Compute in float32 (dtype=cupy.float32): NumPy and CuPy use float64 by default, "
              "which is twice the bytes",
     .where = "not where the accuracy of float64 is needed"},
    {ANY, .all = {KERNELS("bluestein|Bluestein", 0.1)}, .belongs = KERNEL,
     .if_none = FINDING_MEMORY_BOUND, LINES,
     .what = "Fourier transforms of sizes with large primes",
     .words = "Pad the transforms to sizes with the factors 2, 3, 5 and 7 "
              "(scipy.fft.next_fast_len)"},
    {TORCH,
     .all = {KERNELS("elementwise_kernel|reduce_kernel", 0.6), KERNELS("elementwise_kernel", 0.4)},
     .unless = "gemm|nvjet|fprop|_scatter_gather|FillFunctor|index_kernel", .belongs = MEMORY,
     LINES, .saves = 0.85, .chain = true,
     .words = "Fuse the chain with torch.compile, so that its intermediates stay in registers",
     .where = "PyTorch 2.0; not for shapes that change in every step"},
    {TORCH, .all = {KERNELS("elementwise_kernel|reduce_kernel", 0.75)}, .unless = "index_kernel",
     .belongs = MEMORY, LINES, .saves = 0.85, .chain = true,
     .words = "Fuse the chain with torch.compile, or use an operator that does all of it "
              "(torch.nn.functional.cross_entropy, layer_norm, gelu)",
     .where = "PyTorch 2.0; not for shapes that change in every step"},
    {TORCH, .all = {KERNELS("FillFunctor", 0.15)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, SETTING, .what = "kernels that fill tensors",
     .words = "Do not fill what is overwritten: zero_grad(set_to_none=True), torch.empty instead "
              "of torch.zeros",
     .where = "set_to_none is the default since PyTorch 2.0"},
    {TORCH, .all = {KERNELS("ZeroFunctor|FillFunctor", 0.03), CODE("zero_grad(", 0.01)},
     .belongs = MEMORY | ISSUE, .if_none = FINDING_MEMORY_BOUND, SETTING, .saves = 3.5,
     .what = "kernels that set gradients to zero",
     .words = "Drop gradients instead of clearing them (zero_grad(set_to_none=True)): the backward "
              "pass then writes them instead of adding to zeros",
     .where = "the default since PyTorch 2.0; not where gradients of several passes are added"},
    {TORCH, .all = {KERNELS("direct_copy_kernel", 0.25)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .what = "kernels that copy tensors",
     .words = "Avoid copies between layouts and types (.contiguous(), .to(dtype), reshape of a "
              "transposed tensor) in the loop"},
    {TORCH,
     .all = {KERNELS("direct_copy_kernel", 0.15),
             CODE("repeat_interleave(|.repeat(|repeat_kv(|.tile(", 0.1)},
     .belongs = MEMORY, .if_none = FINDING_MEMORY_BOUND, LINES, .saves = 0.95,
     .what = "kernels that repeat tensors",
     .words = "Use expand() and broadcasting instead of repeat(); scaled_dot_product_attention "
              "takes keys and values of fewer heads as they are (enable_gqa=True)",
     .where = "enable_gqa: PyTorch 2.5"},
    {TORCH, .all = {CODE("deepcopy(", 0.05)}, .belongs = MEMORY | ISSUE | ON(ALLOCATION), LINES,
     .words = "Copy into tensors that exist (torch._foreach_copy_) instead of copy.deepcopy()"},
    {TORCH, .all = {KERNELS("bfloat16_copy_kernel|float16_copy_kernel|LoadWithCast", 0.1)},
     .belongs = MEMORY, LINES, .saves = 0.9,
     .words = "Convert types once, outside the loop: tensors of one type need no kernel to convert "
              "them"},
    {TORCH, .all = {CODE("one_hot(", 0.2), KERNELS("_scatter_gather", 0.001)},
     .unless_code = "cross_entropy|log_softmax|.backward()", .belongs = MEMORY | ON(COMPUTE_BOUND),
     LINES, .saves = 0.9,
     .words = "Look rows up (torch.nn.functional.embedding, index_select) instead of multiplying "
              "by one-hot rows"},
    {TORCH, .all = {KERNELS("CatArrayBatchedCopy", 0.2)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .saves = 0.95, .what = "kernels of torch.cat",
     .words =
         "Preallocate the tensor and write into it (a KV cache: StaticCache, index_copy_), or "
         "collect the parts in a list and call torch.cat once, instead of torch.cat in every step"},
    {TORCH, .all = {KERNELS("im2col|col2im", 0.08)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, SETTING, .what = "im2col kernels",
     .words = "Let cuDNN compute the convolutions (torch.backends.cudnn.enabled=True)",
     .where = "not for types and dilations that cuDNN has no kernel for"},
    {TORCH, .all = {KERNELS("distribution_elementwise|fused_dropout", 0.15)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .what = "random numbers and dropout",
     .words = "Fuse dropout with its neighbors (torch.compile), or generate random numbers ahead"},
    {TORCH, .all = {KERNELS("kDequantize|dequantize_block", 0.15)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .what = "dequantization kernels",
     .words = "Use a kernel that multiplies quantized weights directly (torchao, Marlin) instead "
              "of dequantizing them first"},
    {TORCH, .all = {KERNELS("multi_tensor_apply", 0.15)},
     .unless = "FusedAdam|FusedSgd|FusedAdagrad|fused_adam", .belongs = MEMORY | ISSUE,
     .if_none = FINDING_MEMORY_BOUND, SETTING,
     .what = "updates of the optimizer, one kernel for each operation",
     .words = "Use the fused optimizer (fused=True): it reads and writes the parameters once, "
              "foreach=True once for each operation",
     .where = "Adam and AdamW: PyTorch 2.0, SGD: 2.3; not for sparse gradients"},
    {TORCH, .all = {CODE("rsqrt(", 0.1)}, .belongs = MEMORY, LINES, .saves = 1.1,
     .words = "Compute the norm with one operator (torch.nn.functional.rms_norm, layer_norm) "
              "instead of its formula",
     .where = "rms_norm: PyTorch 2.4"},
    {TORCH,
     .all = {CODE("torch.tanh(|.tanh()|torch.erf(", 0.1), KERNELS("tanh_kernel|erf_kernel", 0.02)},
     .belongs = MEMORY, LINES,
     .words = "Use torch.nn.functional.gelu (approximate=\"tanh\") instead of its formula"},
    {TORCH, .all = {CODE("torch.sigmoid(|.sigmoid()", 0.1), KERNELS("sigmoid_kernel", 0.02)},
     .belongs = MEMORY, LINES,
     .words = "Use torch.nn.functional.silu, or torch.compile for other gates, instead of x * "
              "sigmoid(x)"},
    {ANY,
     .all = {KERNELS("cupy_add__|cupy_multiply__|cupy_subtract__|cupy_true_divide__|cupy_power__|"
                     "cupy_exp__|cupy_cos__|cupy_sin__|cupy_sqrt__|cupy_absolute__|cupy_copy__",
                     0.3)},
     .belongs = MEMORY | ISSUE, .if_none = FINDING_MEMORY_BOUND, LINES, .saves = 0.9, .chain = true,
     .what = "element-wise kernels of CuPy, one for each operation",
     .words = "Fuse the expression with @cupy.fuse() or write it as one cupy.ElementwiseKernel",
     .where = "element-wise operations and one reduction at the end"},
    {ANY, .all = {KERNELS("cupy_copy__", 0.1)}, .belongs = MEMORY, LINES,
     .words = "Use out= and in-place operators of CuPy (x += y), and slices without copies"},
    /* attention, convolutions and norms */
    {TORCH,
     .all = {KERNELS("oftmax|oftMax", 0.15),
             KERNELS("MulFunctor|DivFunctor|masked_fill|where_kernel", 0.02)},
     .unless = "flash|sdpa|fmha|nll_loss", .belongs = MEMORY, .if_none = FINDING_MEMORY_BOUND,
     LINES, .saves = 1.8, .what = "softmax kernels between matrix products",
     .words = "Compute attention with torch.nn.functional.scaled_dot_product_attention, which does "
              "not write the scores to memory",
     .where = "PyTorch 2.0; not where the weights of the attention themselves are needed"},
    {TORCH, .all = {CODE("eager_attention_forward", 0.05)}, .belongs = MEMORY, SETTING,
     .saves = 0.9,
     .words = "Load the model with attn_implementation=\"sdpa\" "
              "(torch.nn.functional.scaled_dot_product_attention) instead of \"eager\"",
     .where = "transformers 4.36; not with output_attentions=True"},
    {TORCH, .all = {CODE("multi_head_attention_forward", 0.1), KERNELS("oftmax|oftMax", 0.05)},
     .unless = "flash|sdpa|fmha", .belongs = MEMORY | LAUNCH, SETTING,
     .words = "Call nn.MultiheadAttention with need_weights=False: only then does it use "
              "scaled_dot_product_attention",
     .where = "PyTorch 2.0"},
    {TORCH, .all = {KERNELS("fmha|sdpa", 0.3), CODE("attn_mask=", 0.2)}, .belongs = KERNEL,
     .if_none = FINDING_COMPUTE_BOUND, LINES, .what = "attention with a mask tensor",
     .words = "Pass is_causal=True instead of a causal mask (half of the work), or describe the "
              "mask by a function (flex_attention): flash attention takes no mask tensor",
     .where = "flex_attention: PyTorch 2.5"},
    {TORCH, .all = {KERNELS("nchwToNhwc|nhwcToNchw", 0.08)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .saves = 1.2,
     .what = "layout conversions around convolutions",
     .words = "Keep the model and its input in channels_last "
              "(.to(memory_format=torch.channels_last)), so that no layout is converted",
     .where = "4-D tensors in f16, bf16 or tf32"},
    {TORCH,
     .all = {KERNELS("bn_fw_tr_1C11|bn_bw_1C11", 0.2), KERNELS("nchwToNhwc|nhwcToNchw", 0.05)},
     .belongs = MEMORY, LINES, .saves = 0.9,
     .words = "Keep the model and its input in channels_last: cuDNN has faster kernels for batch "
              "norm in that layout, and no layout is converted"},
    {TORCH, .all = {KERNELS("batch_norm_transform_input|bn_fw_inf", 0.1)}, .belongs = MEMORY,
     .if_none = FINDING_MEMORY_BOUND, LINES, .what = "batch norm in inference",
     .words = "Fold batch norm into the convolution before inference "
              "(torch.nn.utils.fusion.fuse_conv_bn_eval, or torch.compile)",
     .where = "only in eval(): training updates the statistics"},
    {TORCH,
     .all = {KERNELS("fprop_implicit_gemm_f32f32|dgrad_implicit_gemm_f32f32|wgrad_implicit_gemm_"
                     "f32f32|implicit_convolve_sgemm",
                     0.3)},
     .belongs = KERNEL, SETTING,
     .words = "Convolve on tensor cores: torch.backends.cudnn.allow_tf32 = True with channels a "
              "multiple of 4, or torch.autocast with bfloat16"},
    {TORCH, .all = {KERNELS("conv_depthwise", 0.2)}, .belongs = KERNEL,
     .if_none = FINDING_MEMORY_BOUND, LINES, .what = "depthwise convolutions of PyTorch itself",
     .words = "Run depthwise convolutions in channels_last and bf16, for which cuDNN has kernels"},
    {ANY,
     .all = {KERNELS(
         "gemm&align1>|gemm&align1E|gemm&align1_|gemm&align2>|gemm&align2E|gemm&align2_", 0.2)},
     .belongs = KERNEL, .if_none = FINDING_COMPUTE_BOUND, LINES, .saves = 0.82,
     .what = "matrix products of unaligned rows",
     .words = "Pad sizes to a multiple of 8 in f16 and bf16, of 4 in tf32 (a vocabulary of 50257 "
              "to 50304): rows that do not start at 16 bytes need slower kernels"},
    {TORCH, .all = {KERNELS("fmha_cutlassF_f32|fmha_cutlassB_f32", 0.08)}, .belongs = KERNEL,
     SETTING,
     .words =
         "Run attention in bf16 or f16 (torch.autocast), for which flash attention has kernels",
     .where = "PyTorch 2.0; heads of at most 256 values"},
    {TORCH, .all = {KERNELS("gemm_f64|dgemm", 0.3)}, .belongs = KERNEL, SETTING,
     .words = "Check where f64 comes from (NumPy arrays are f64 by default): .float(), or "
              "torch.from_numpy(x.astype(numpy.float32))"},
    {TORCH, .all = {CODE("torch/utils/checkpoint.py", 0.1)}, .belongs = KERNEL | ISSUE,
     .if_none = FINDING_COMPUTE_BOUND, LINES, .saves = 0.15,
     .what = "layers under torch.utils.checkpoint, whose forward pass runs twice",
     .words = "Checkpoint fewer layers, or none, if the memory allows it: the backward pass "
              "computes checkpointed layers again"},
    {ANY,
     .all = {KERNELS("getrf|potrf|geqrf|syevj|gesvd|larf|trsm|trsv|getrs|laswp|steqr|sytrd", 0.2)},
     .belongs = KERNEL | ISSUE | ON(SMALL_GRID), LINES,
     .words = "Factor and solve all matrices as one batch (torch.linalg and cupy.linalg take a "
              "leading dimension), with Cholesky where they are symmetric and positive definite"},
    {ANY, .all = {CODE("linalg.inv(|torch.inverse(|.inverse()", 0.05)}, .belongs = KERNEL | WAIT,
     LINES,
     .words = "Solve (torch.linalg.solve, cho_solve) instead of multiplying by an inverse: fewer "
              "operations, and more accurate"},
    /* scattered access */
    {TORCH, .all = {KERNELS("indexFuncLargeIndex|indexFuncSmallIndex|scatter_add|index_add", 0.3)},
     .belongs = ON(LATENCY_BOUND) | MEMORY, .if_none = FINDING_LATENCY_BOUND, LINES, .saves = 0.89,
     .what = "index_add and scatter kernels, which add with atomics",
     .words =
         "Where many rows add to few, sort by index and reduce segments (torch.segment_reduce), or "
         "multiply by a one-hot matrix: atomics to one address run one after another"},
    {TORCH,
     .all = {KERNELS("indexFuncLargeIndex|indexFuncSmallIndex|index_add|vectorized_gather_kernel|"
                     "scatter_add",
                     0.6),
             KERNELS("vectorized_gather_kernel|index_elementwise_kernel", 0.1),
             KERNELS("indexFunc|index_add|scatter_add", 0.2)},
     .belongs = ON(LATENCY_BOUND) | MEMORY, .if_none = FINDING_LATENCY_BOUND, LINES, .saves = 0.9,
     .what = "gathering rows and adding them with atomics",
     .words = "Multiply by a sparse matrix (torch.sparse_csr_tensor(...) @ x) instead of gathering "
              "rows and adding them with index_add: no copy of each row, and no atomics"},
    {TORCH, .all = {KERNELS("_scatter_gather_elementwise_kernel", 0.3), KERNELS("ReduceAdd", 0.3)},
     .belongs = ON(LATENCY_BOUND) | MEMORY, .if_none = FINDING_LATENCY_BOUND, LINES, .saves = 0.89,
     .what = "scatter kernels, which add with atomics",
     .words = "Count with torch.bincount or compare and sum for each class instead of scatter_add_ "
              "to few addresses: atomics to one address run one after another"},
    {TORCH, .all = {KERNELS("index_elementwise_kernel|vectorized_gather_kernel", 0.3)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_MEMORY_BOUND, LINES,
     .what = "indexing",
     .words = "Index along the first dimension, so that whole rows are read (transpose once, "
              "before the loop), or keep the gathered tensor between steps"},
    {TORCH, .all = {KERNELS("indexing_backward_kernel", 0.1)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_LATENCY_BOUND, LINES,
     .what = "sums by index, which sort the indices first",
     .words =
         "Add rows with index_add_ and select them with embedding, index_select or gather instead "
         "of x[index]: index_put_ with accumulate=True and gradients of indexing sort the indices "
         "first; torch.use_deterministic_algorithms(False) lets them use atomics"},
    {TORCH,
     .all = {KERNELS("embedding_backward|embedding_dense|compute_grad_weight|EmbeddingBag_accGrad|"
                     "krn_partials_per_segment|compute_grad_weight_bags",
                     0.02),
             CODE(".backward()", 0.02)},
     .belongs = MEMORY | ISSUE | ON(LATENCY_BOUND), SETTING,
     .words = "Use sparse gradients for large tables (nn.Embedding(sparse=True), "
              "nn.EmbeddingBag(sparse=True), with SGD or torch.optim.SparseAdam)"},
    {TORCH, .all = {KERNELS("embedding_backward|embedding_dense|compute_grad_weight", 0.2)},
     .belongs = MEMORY | ON(LATENCY_BOUND), .if_none = FINDING_MEMORY_BOUND, SETTING,
     .what = "gradients of embeddings",
     .words = "Use sparse gradients (nn.Embedding(sparse=True) with torch.optim.SparseAdam)"},
    /* optimizers and loops over tensors */
    {TORCH, .all = {LAUNCHES("elementwise_kernel", 0.9)}, .unless = "multi_tensor_apply",
     .belongs = LAUNCH, LINES,
     .words = "Where a Python loop goes over many tensors, use torch._foreach_* "
              "(torch._foreach_add_, torch._foreach_lerp_): one launch for a list"},
    {TORCH,
     .all = {KERNELS("addcdiv", 0.02), KERNELS("addcmul", 0.02), KERNELS("sqrt_kernel", 0.02)},
     .unless = "multi_tensor_apply|FusedAdam|fused_adam", .belongs = ISSUE, SETTING,
     .words = "Use the fused optimizer (torch.optim.AdamW(..., fused=True), or foreach=True)",
     .where = "Adam and AdamW: PyTorch 2.0, SGD: 2.3; not for sparse gradients"},
    {TORCH, .all = {CODE("_single_tensor_", 0.1)}, .belongs = ISSUE, SETTING, .saves = 0.96,
     .words = "Use the fused optimizer (fused=True, or foreach=True), which updates all tensors in "
              "a few launches",
     .where = "Adam and AdamW: PyTorch 2.0, SGD: 2.3; not for sparse gradients"},
    {TORCH, .all = {CODE("p.grad)|* p.grad|param.grad)|p.grad.data|parameter.grad)", 0.3)},
     .unless = "multi_tensor_apply", .unless_code = "isfinite(|isnan(|.grad.norm(",
     .belongs = ISSUE, LINES, .saves = 0.95,
     .words = "Use an optimizer of torch.optim with fused=True (or torch._foreach_add_) instead of "
              "a loop over the parameters",
     .where = "Adam and AdamW: PyTorch 2.0, SGD: 2.3"},
    {TORCH, .all = {CODE("0.999 *|.lerp_(|EMA|update_parameters", 0.3)},
     .unless = "multi_tensor_apply", .belongs = ISSUE, LINES, .saves = 0.97,
     .words = "Average the weights with torch._foreach_lerp_ or torch.optim.swa_utils "
              "(get_ema_multi_avg_fn), one launch for all tensors",
     .where = "get_ema_multi_avg_fn: PyTorch 2.1"},
    {TORCH, .all = {LAUNCHES("NormTwoOps", 0.15), LAUNCHES("reciprocal_kernel|clamp|MinOps", 0.1)},
     .unless = "multi_tensor_apply", .belongs = LAUNCH, SETTING,
     .words = "Clip all gradients at once (torch.nn.utils.clip_grad_norm_(..., foreach=True))",
     .where = "PyTorch 2.0"},
    {TORCH, .all = {CODE(".grad.norm(|grad.data.norm(", 0.2)}, .belongs = ISSUE, SETTING,
     .saves = 0.92,
     .words = "Clip all gradients at once (torch.nn.utils.clip_grad_norm_(..., foreach=True)) "
              "instead of one by one",
     .where = "PyTorch 2.0"},
    /* many small operations */
    {TORCH, .all = {LAUNCHES("splitKreduce", 0.2)}, .belongs = LAUNCH, LINES,
     .words = "Where they are independent, multiply small matrices of one shape in one call "
              "(torch.bmm, torch.baddbmm): each "
              "of these products is split and then summed by a second kernel"},
    {TORCH, .all = {CODE("LSTMCell|GRUCell|RNNCell|_VF.lstm_cell|_VF.gru_cell", 0.3)},
     .belongs = ISSUE, LINES, .saves = 0.82,
     .words = "Run the recurrent network over the whole sequence at once (nn.LSTM, nn.GRU: cuDNN) "
              "instead of cell by cell",
     .where = "not where a step's input depends on its last output, as in decoding"},
    {TORCH, .all = {CODE("torch.stack([", 0.3)}, .belongs = ISSUE, LINES,
     .words = "Process the items of the list as one batch, or with torch.func.vmap, instead of one "
              "by one in a list comprehension",
     .where = "torch.func: PyTorch 2.0; not for items of different shapes"},
    {TORCH, .all = {CODE("torch_dynamo_resume_in", 0.02)}, .belongs = ISSUE | WAIT, LINES,
     .words = "Remove the graph breaks of torch.compile (TORCH_LOGS=graph_breaks lists them, "
              "fullgraph=True makes them errors)"},
    {TORCH, .all = {CODE("SavedVariable::SavedVariable|collect_next_edges", 0.005)},
     .unless_code = "run_backward|autograd::Engine", .belongs = ISSUE | ON(MEMORY_PRESSURE), LINES,
     .words = "Run inference under torch.inference_mode(): otherwise every operator also builds "
              "the graph for gradients"},
    {TORCH, .all = {CODE("data_parallel.py|parallel_apply.py", 0.02)},
     .belongs = ISSUE | COPY | ON(EXPOSED_COMMUNICATION), LINES,
     .words = "Use DistributedDataParallel with one process for each GPU: DataParallel copies the "
              "model in every step and shares one interpreter"},
    {TORCH, .all = {CODE("transformers/", 0.3)}, .belongs = ISSUE, LINES,
     .words = "Pass several inputs at once (padding=True), or compile the model "
              "(torch.compile(model), cache_implementation=\"static\" for generate())"},
    {ANY, .all = {LAUNCHES("cupy_", 0.5)}, .belongs = LAUNCH, LINES,
     .words = "Combine the operations of CuPy: @cupy.fuse(), cupy.ElementwiseKernel, "
              "cupy.ReductionKernel or one cupy.RawKernel; a stream can be captured as a graph "
              "(stream.begin_capture())"},
    {JAX, .all = {LAUNCHES("wrapped_|fusion", 0.2), LAUNCHES("wrapped_", 0.05)}, .eager = true,
     .belongs = ISSUE, LINES, .saves = 0.97,
     .words = "Put the whole function under jax.jit: operations outside of it are dispatched one "
              "by one",
     .where = "not where shapes or Python branches depend on values"},
    {JAX, .all = {CODE("jax.random.|random.py", 0.1)}, .belongs = ISSUE, LINES,
     .words = "Draw random numbers inside the compiled function, with all keys of the step from "
              "one jax.random.split"},
    {JAX, .all = {CODE(".at[", 0.05)}, .belongs = MEMORY | ISSUE | ON(EXPOSED_TRANSFERS), LINES,
     .words = "Update arrays (.at[...].set()) inside jax.jit with donate_argnums: outside of it "
              "every update copies the whole array"},
    {JAX,
     .all = {KERNELS("dynamic_update_slice|wrapped_copy|loop_copy|copy_fusion|MemcpyD2D", 0.15)},
     .belongs = MEMORY | ON(EXPOSED_TRANSFERS), .if_none = FINDING_MEMORY_BOUND, SETTING,
     .what = "kernels that copy arrays to update a part of them",
     .words = "Donate the arrays that the step replaces (jax.jit(..., donate_argnums=...)), so "
              "that they are updated in place",
     .where = "the caller must not use a donated array again"},
    {JAX, .all = {CALLS("cuMemcpyDtoD", 0.5)}, .belongs = MEMORY | ON(EXPOSED_TRANSFERS), SETTING,
     .words = "Donate the arrays that the step replaces (jax.jit(..., donate_argnums=...)), so "
              "that they are not copied first",
     .where = "the caller must not use a donated array again"},
    {JAX, .all = {CODE("WhileThunk", 0.02)}, .belongs = WAIT, LINES,
     .words = "Give the loop a fixed number of iterations (jax.lax.fori_loop, jax.lax.scan): the "
              "host reads the condition of jax.lax.while_loop in each"},
    {JAX, .all = {LAUNCHES("fusion", 0.6)}, .unless_code = "::Linearize|TransposePlan",
     .belongs = ISSUE, LINES, .saves = 0.7,
     .words = "Move the loop into the compiled function (jax.lax.scan, jax.lax.fori_loop), if its "
              "steps do not need the host",
     .where = "the carried values keep their shapes and types"},
    /* communication */
    {TORCH, .all = {KERNELS("_SendRecv", 0.05), OPERATORS("all_to_all|alltoall|All2All", 0.0001)},
     .belongs = ON(EXPOSED_COMMUNICATION), LINES,
     .words =
         "Overlap the all-to-all with the dense layers: exchange the next batch while this one "
         "is computed (TorchRec's TrainPipelineSparseDist), or exchange the batch in two "
         "halves",
     .where = "not where the dense layers take less time than the exchange"},
    {TORCH, .all = {KERNELS("_AllReduce_", 0.1), OPERATORS("DistributedDataParallel", 0.01)},
     .belongs = ON(EXPOSED_COMMUNICATION), SETTING,
     .words = "Pass gradient_as_bucket_view=True and static_graph=True to DistributedDataParallel, "
              "and try larger buckets (bucket_cap_mb, 25 by default)",
     .where = "static_graph: PyTorch 1.11, the same parameters used in every step"},
    /* models of libraries */
    {TORCH, .all = {OPERATORS("vllm::", 0.05)}, .belongs = LAUNCH, SETTING,
     .words = "Let vLLM replay CUDA graphs: start it without enforce_eager=True "
              "(--enforce-eager)",
     .where = "decoding; batches larger than the largest captured size run eagerly"},
    {TORCH, .all = {OPERATORS("apply_rotary_pos_emb|rotate_half", 0.02)},
     .belongs = MEMORY | LAUNCH, LINES,
     .words = "Rotate the positions with one kernel (torch.compile of the function, or a rotary "
              "kernel of flash-attn or Liger) instead of slices, neg and cat",
     .where = "PyTorch 2.0"},
    {TORCH, .all = {OPERATORS("RMSNorm", 0.05), KERNELS("rsqrt_kernel", 0.0001)},
     .belongs = MEMORY | LAUNCH, LINES,
     .words = "Compute RMSNorm with one operator (torch.nn.RMSNorm, "
              "torch.nn.functional.rms_norm) instead of pow, mean, rsqrt and two products",
     .where = "PyTorch 2.4"},
    /* reading values */
    {TORCH, .all = {KERNELS("write_indices|onzero", 0.005)}, .belongs = WAIT | ON(COMPILATION),
     LINES,
     .words = "Use torch.where, masked_fill or topk with a fixed size instead of boolean masks and "
              "nonzero(), whose size the host must wait for",
     .where = "not where the number of selected elements itself is needed"},
    {TORCH, .all = {CODE(".item()|.tolist()", 0.02)}, .belongs = WAIT, LINES,
     .words = "Do not call .item() or .tolist() in every step: collect tensors, and read them "
              "after the loop or "
              "every N steps (torch.stack(values).tolist())"},
    {TORCH, .all = {CODE("isfinite(|isnan(|isinf(", 0.02)}, .belongs = WAIT, LINES,
     .words = "Check for NaN once in many steps, or combine the checks on the device (torch.stack "
              "of isfinite(...).all(), clip_grad_norm_(error_if_nonfinite=True)); each `if` on a "
              "tensor waits"},
    {TORCH, .all = {CODE("AnomalyM|detect_anomaly|torch/fx/traceback.py", 0.01)}, .belongs = WAIT,
     SETTING,
     .words = "Turn anomaly detection off (torch.autograd.set_detect_anomaly(False)) when the bug "
              "is found: it checks every gradient for NaN and keeps a stack for every operator"},
    {TORCH, .all = {CODE("grad_scaler.py", 0.01)}, .belongs = WAIT, LINES,
     .words = "Train in bfloat16 without a GradScaler: its step() reads from the device whether "
              "gradients overflowed",
     .where = "devices with bf16: Ampere and later"},
    {TORCH, .all = {CODE("torch/distributions/", 0.02)}, .belongs = WAIT, SETTING,
     .words = "Pass validate_args=False to torch.distributions "
              "(Distribution.set_default_validate_args(False)): each check reads a value"},
    {TORCH, .all = {CODE("linalg.cholesky(|linalg.solve(|linalg.inv(|linalg.lu_factor(", 0.02)},
     .belongs = WAIT, LINES,
     .words = "Use torch.linalg.cholesky_ex, solve_ex or inv_ex: the others read from the device "
              "whether the matrix was singular",
     .where = "PyTorch 1.11"},
    {TORCH, .all = {CODE("repeat_interleave(", 0.02)}, .belongs = WAIT, LINES,
     .words = "Pass output_size to repeat_interleave: otherwise the host waits for the size of the "
              "result"},
    {TORCH,
     .all = {CODE("masked_select(|torch.unique(|.unique(|unique_consecutive(|.nonzero(|"
                  "torch.nonzero(|argwhere(|bincount(",
                  0.02)},
     .belongs = WAIT, LINES,
     .words = "Avoid results whose size depends on values (masked_select, unique, nonzero, "
              "bincount without minlength): the host waits for their size; pad to a fixed size"},
    {TORCH, .all = {CODE("tensorboard/|wandb/|mlflow/|add_scalar(|add_histogram(|tqdm/", 0.02)},
     .belongs = WAIT | HOST, LINES,
     .words = "Log every N steps, from values that were read for several steps at once"},
    {TORCH, .all = {CODE("torch.save(|torch/serialization.py", 0.02)},
     .belongs = WAIT | HOST | COPY | ON(IRREGULAR_STEPS), LINES,
     .words = "Save checkpoints less often and in the background (copy to pinned memory, write in "
              "a thread; torch.distributed.checkpoint.async_save)",
     .where = "async_save: PyTorch 2.3"},
    {TORCH, .all = {CODE("print(", 0.02)}, .belongs = WAIT, LINES,
     .words = "Print losses every N steps, from a detached tensor that is read later: formatting a "
              "tensor waits for the device"},
    {TORCH, .all = {CALLERS("torch.cuda.synchronize()", 0.5)}, .belongs = WAIT, LINES,
     .words = "Remove torch.cuda.synchronize() from the loop; time with "
              "torch.cuda.Event(enable_timing=True) instead"},
    {JAX,
     .all = {CODE("ArrayImpl._value|ArrayImpl.__float__|float(|.item()|block_until_ready", 0.003)},
     .belongs = WAIT, LINES,
     .words = "Do not read values in the loop (float(), .item(), block_until_ready()): keep them "
              "as arrays, and read them every N steps"},
    {JAX, .all = {CODE("callback.py|pure_callback|io_callback|debug.print", 0.01)}, .belongs = WAIT,
     LINES,
     .words = "Remove host callbacks (jax.debug.print, pure_callback, io_callback) from the "
              "compiled function: the device waits for each"},
    {JAX, .all = {CODE("debug_nans.value and", 0.005)}, .belongs = WAIT, SETTING,
     .words = "Turn jax_debug_nans off: it reads the result of every function"},
    {JAX, .all = {CODE("np.asarray(|numpy.asarray(|np.array(|jax.device_get", 0.05)},
     .belongs = WAIT | COPY, LINES,
     .words = "Keep the values on the device: np.asarray() copies them and waits; use the "
              "functions of jax.numpy"},
    {ANY,
     .all = {LAUNCHES("cupy_", 0.2), CODE("float(|.item()|.get()|cp.asnumpy|cupy.asnumpy", 0.02)},
     .belongs = WAIT, LINES,
     .words = "Test for convergence every N iterations: float(), .item() and .get() wait for the "
              "device"},
    {ANY, .all = {CALLERS(".synchronize()", 0.5)}, .belongs = WAIT, LINES,
     .words = "Order streams on the device (wait_event, wait_stream) instead of synchronize() on "
              "the host"},
    {ANY, .all = {CALLS("EventQuery|StreamQuery", 20)}, .belongs = WAIT, LINES,
     .words = "Wait once (cudaEventSynchronize, cudaLaunchHostFunc) instead of asking again and "
              "again whether the device is done"},
    {ANY, .all = {CALLS("GetDeviceProperties|MemGetInfo", 0.5)}, .belongs = WAIT | ON(ALLOCATION),
     LINES,
     .words = "Read device properties and free memory once, before the loop: these calls take long "
              "and may wait for the device"},
    {ANY, .all = {CALLS("StreamCreate|EventCreate|StreamDestroy", 0.5)},
     .belongs = WAIT | ON(ALLOCATION), LINES,
     .words = "Create streams and events once, before the loop"},
    {ANY, .all = {CALLS("GraphInstantiate", 0.3)}, .belongs = WAIT, LINES,
     .words = "Instantiate the graph once and launch it again, with cudaGraphExecUpdate for new "
              "arguments"},
    {ANY, .all = {CALLS("cudaDeviceSynchronize", 0.5)}, .belongs = ON(SYNC_IN_LOOP), LINES,
     .words = "Leave out cudaDeviceSynchronize between kernels: kernels of one stream run in "
              "order, and the host need not wait"},
    {ANY, .all = {CALLS("cudaStreamSynchronize", 1), CALLS("cudaMemcpy", 1)}, .reads = true,
     .belongs = ON(SYNC_IN_LOOP), LINES,
     .words = "Read results one step late: start the copy, continue with the next step, and wait "
              "for the copy then"},
    /* work on the host */
    {ANY, .all = {CODE("gc.collect(", 0.02)}, .belongs = HOST | ISSUE | ON(ALLOCATION), LINES,
     .words = "Do not call gc.collect() in the loop; gc.freeze() after start-up keeps automatic "
              "collections short"},
    {ANY, .all = {CODE("subprocess.py|pynvml|nvidia-smi|psutil", 0.02)}, .belongs = HOST | ISSUE,
     LINES, .words = "Query the system every N steps, or in another thread"},
    {ANY, .all = {CODE("json/|json.loads(|pickle.load|csv.reader(|pandas/|yaml/", 0.05)},
     .belongs = HOST, LINES,
     .words = "Parse the data once, before the loop, and keep it in arrays (numpy.memmap, Arrow), "
              "or parse in other processes"},
    {ANY, .all = {CODE("PIL/|Image.open(|decode_jpeg(|decode_image(|cv2.|imread(", 0.05)},
     .belongs = HOST, LINES,
     .words = "Decode images in the workers of a DataLoader, or on the GPU "
              "(torchvision.io.decode_jpeg(device=\"cuda\"), DALI)"},
    {ANY, .all = {CODE("np.load(|numpy.load(|torch.load(|h5py/|np.save(|numpy.save(", 0.05)},
     .belongs = HOST, LINES, .words = "Read files ahead and write them behind, in another thread"},
    {ANY, .all = {CODE("librosa/|torchaudio/|torch.stft(|scipy/", 0.05)}, .belongs = HOST, LINES,
     .words =
         "Compute features on the GPU (torchaudio and torch.stft take GPU tensors, cupyx.scipy "
         "has the functions of scipy), or once, before training"},
    {ANY, .all = {CODE(" np.|(np.| numpy.|(numpy.", 0.2)}, .belongs = HOST, LINES,
     .words = "Do this work on the GPU (torch, cupy or jax.numpy have the same functions), or in "
              "another process"},
    {ANY, .all = {CODE("np.sort|numpy.sort|argpartition|argsort|np.unique|np.partition", 0.2)},
     .belongs = HOST | COPY, LINES,
     .words = "Sort on the device (torch.sort, torch.topk, jax.lax.top_k, cupy.sort), so that only "
              "the result is copied"},
    {ANY, .all = {CODE(".astype(|/ 255|- mean) / std", 0.2)}, .belongs = HOST | COPY, LINES,
     .words = "Copy the bytes (uint8) to the device, and convert and normalize there: fewer bytes "
              "to copy, and no host code"},
    {TORCH, .all = {CODE(".cpu().numpy()", 0.2)}, .belongs = HOST | COPY, LINES,
     .words = "Stay on the device: .cpu().numpy() and back copies twice and waits"},
    {TORCH,
     .all = {CODE("3c1012function_refIFvPPc|c10::function_ref<void (char|dnnl::|mkldnn_", 0.02)},
     .belongs = HOST, LINES,
     .words = "Operators on tensors run on the CPU between the launches: move the tensors to the "
              "GPU first (.cuda(), device=\"cuda\") and compute there"},
    {TORCH,
     .all = {CODE("normal_fill|templates::cpu::|mt19937|CPUGeneratorImpl|"
                  "torch.randn(&.cuda(|torch.rand(&.cuda(|torch.randint(&.cuda(|"
                  "torch.zeros(&.cuda(|torch.ones(&.cuda(|torch.full(&.cuda(|"
                  "torch.arange(&.cuda(|torch.eye(&.cuda(|torch.linspace(&.cuda(|"
                  "torch.randn(&.to(|torch.rand(&.to(|torch.randint(&.to(|torch.zeros(&.to(|"
                  "torch.ones(&.to(|torch.full(&.to(|torch.arange(&.to(|torch.eye(&.to(",
                  0.05)},
     .belongs = HOST | COPY | WAIT, LINES,
     .words = "Create tensors on the device (torch.randn(..., device=\"cuda\"), "
              "torch.randn_like(x)) instead of on the host with a copy to the device"},
    {TORCH, .all = {CODE("torch.tensor(", 0.1)}, .belongs = HOST | COPY, LINES,
     .words = "Convert lists once, before the loop (torch.from_numpy(numpy.asarray(x)), pinned); "
              "torch.tensor(list) goes over every element"},
    {TORCH,
     .all = {CODE("torch.tensor(|torch.as_tensor(|torch.FloatTensor(|torch.LongTensor(", 0.02),
             CALLS("cudaMemcpy", 0.5)},
     .belongs = WAIT | HOST | COPY, LINES,
     .words = "Create constants once, before the loop, on the device, or pass Python numbers: each "
              "torch.tensor(...).cuda() in the loop copies and waits"},
    {TORCH, .all = {CODE("(_color.py)|(_geometry.py)|(_misc.py)|gaussian_blur|transforms/", 0.02)},
     .belongs = HOST, LINES,
     .words = "Move the batch to the GPU first and transform it there (transforms.v2 takes GPU "
              "tensors), or transform in the workers of a DataLoader",
     .where =
         "torchvision 0.15; not for decoding of files, and images of one batch need one shape"},
    {TORCH, .all = {CODE("_SingleProcessDataLoaderIter|(fetch.py)|(collate.py)", 0.02)},
     .belongs = HOST, SETTING,
     .words = "Load in worker processes: DataLoader(num_workers=4, pin_memory=True, "
              "persistent_workers=True, prefetch_factor=4)",
     .where = "persistent_workers: PyTorch 1.7; the data set must be picklable where processes are "
              "spawned"},
    {TORCH, .all = {OPERATORS("DataLoader)#_SingleProcess", 0.1)}, .belongs = HOST, SETTING,
     .words = "Load in worker processes: DataLoader(num_workers=4, pin_memory=True, "
              "persistent_workers=True)"},
    {TORCH, .all = {CODE("_MultiProcessingDataLoaderIter|popen_fork|_shutdown_workers", 0.1)},
     .belongs = HOST, SETTING,
     .words = "Keep the workers of the DataLoader between epochs (persistent_workers=True)",
     .where = "PyTorch 1.7; not where the data set changes between epochs"},
    /* copies */
    {TORCH, .all = {CODE(".cpu()|.numpy()|.to(\"cpu\")", 0.2)}, .belongs = COPY, LINES,
     .words = "Copy results into a pinned tensor (torch.empty(..., pin_memory=True).copy_(x, "
              "non_blocking=True)), and use it one step later"},
    {TORCH, .all = {CODE(".cuda()|.to(\"cuda\")|.to(device)|.to(\"cuda\", ", 0.2)}, .belongs = COPY,
     SETTING,
     .words = "Pin the source (DataLoader(pin_memory=True) or .pin_memory()) and pass "
              "non_blocking=True"},
    {TORCH, .all = {CODE("for field in|for key|.items()", 0.1)}, .belongs = ON(SMALL_TRANSFERS),
     LINES,
     .words = "Collate the fields into one pinned tensor on the host, copy it once, and slice it "
              "on the device"},
    {ANY, .all = {CALLS("cudaMemcpy|cuMemcpy|hipMemcpy", 20)}, .belongs = ON(SMALL_TRANSFERS),
     LINES,
     .words = "Write the values into one pinned array and copy that once; pass single values as "
              "arguments of kernels"},
    {JAX, .all = {CODE("device_put|jnp.asarray|jnp.array", 0.1)}, .belongs = COPY | HOST, LINES,
     .words = "Start jax.device_put of the next batch before the result of this one is read"},
    {TORCH, .all = {CODE("accelerate/hooks.py|offload", 0.05)}, .belongs = COPY | HOST, LINES,
     .words = "Keep the layers that fit on the GPU: offloaded ones are copied in every step"},
    {ANY, .all = {CODE("numba/cuda/", 0.1), CALLS("cuMemcpy", 1)}, .belongs = COPY | HOST | ISSUE,
     LINES,
     .words = "Copy arrays once (numba.cuda.to_device, device_array): a kernel of Numba copies "
              "host arrays to the device and back at every call"},
    {ANY, .all = {CALLS("Memcpy2D|Memcpy3D", 0.5)}, .belongs = COPY, LINES,
     .words = "Copy contiguous blocks: a copy with a pitch moves row by row, and pageable memory "
              "makes it slower still"},
    {ANY,
     .all = {CALLS("cudaHostAlloc|cudaMallocHost|cudaHostRegister|cuMemHostAlloc|cuMemAllocHost|"
                   "cuMemHostRegister",
                   0.3)},
     .unless = "RedzoneAllocator", /* XLA pins memory while it compiles */
     .belongs = COPY | WAIT | ON(ALLOCATION), LINES,
     .words = "Pin host memory once, before the loop, and reuse the buffer: pinning takes longer "
              "than a copy"},
    {JAX,
     .all = {CODE("::Linearize|TransposePlan|BufferFromHost|_array_shard_arg", 0.05),
             CALLS("cuMemcpyHtoD", 0.5)},
     .belongs = COPY | HOST | LAUNCH, LINES, .saves = 0.97,
     .words = "Put arrays on the device once, before the loop (jax.device_put, jnp.asarray): "
              "NumPy arguments of a compiled function are copied at every call"},
    /* compilation and allocation */
    {TORCH, .all = {CODE("triton/", 0.2)}, .belongs = ON(COMPILATION) | ON(HOST_BOUND), LINES,
     .words = "Pass sizes that vary as ordinary arguments, not as tl.constexpr, and name them in "
              "@triton.jit(do_not_specialize=[...]): every new constant is compiled"},
    {TORCH, .all = {CODE("autotuner.py", 0.05)}, .belongs = ON(COMPILATION) | WAIT | MEMORY,
     .if_none = FINDING_COMPILATION, LINES, .saves = 0.99,
     .what = "kernels that triton.autotune times",
     .words = "Tune once: name in key= of triton.autotune only what changes the best configuration "
              "(sizes rounded up to powers of two), and offer few configurations"},
    {TORCH, .all = {CODE("convert_frame.py|compile_fx.py", 0.1)},
     .belongs = ON(COMPILATION) | ON(HOST_BOUND), LINES,
     .words =
         "Compile once for all sizes (torch.compile(dynamic=True), torch._dynamo.mark_dynamic), "
         "or pad to a few sizes (TORCH_LOGS=recompiles shows why it recompiles)"},
    {TORCH, .all = {KERNELS("sdpa_sm", 0.1)}, .belongs = ON(COMPILATION), LINES,
     .words =
         "Keep the shapes of attention fixed (a static KV cache, padding): cuDNN builds a plan for "
         "every new shape; torch.nn.attention.sdpa_kernel selects flash attention, which does not"},
    {ANY, .all = {CODE("RawKernel(|RawModule(|cupy/cuda/compiler", 0.2)},
     .belongs = ON(COMPILATION) | ON(HOST_BOUND), LINES,
     .words = "Create the cupy.RawKernel once and pass sizes as arguments: every new source is "
              "compiled"},
    {ANY, .all = {CALLS("cuModuleLoad|cuLibraryLoad|cuLinkCreate", 0.5)},
     .belongs = ON(COMPILATION), LINES,
     .words = "Load modules before the loop and keep them: every load copies code to the device "
              "and synchronizes"},
    {JAX, .all = {CODE("(compiler.py)|(pxla.py)|(mlir.py)|(pjit.py)", 0.003)},
     .belongs = ON(COMPILATION) | ON(HOST_BOUND), LINES,
     .words = "Pad inputs to a few shapes (buckets): jax.jit compiles again for every new shape"},
    {JAX, .all = {CODE("jax.jit(|jit(lambda|jax.grad(|jax.value_and_grad(|jax.vmap(", 0.02)},
     .belongs = ON(COMPILATION) | ON(HOST_BOUND), LINES,
     .words = "Create the compiled function once, outside the loop: jax.jit of a new function or "
              "lambda traces and compiles again"},
    {JAX, .all = {KERNELS("RedzoneAllocator|DelayKernel", 0.3)},
     .belongs = ON(COMPILATION) | ON(HOST_BOUND), SETTING,
     .words = "Keep compiled code between runs (jax_compilation_cache_dir), and pad shapes: for "
              "every new shape XLA times several kernels (XLA_FLAGS=--xla_gpu_autotune_level=0 "
              "switches that off)"},
    {TORCH, .all = {CODE("empty_cache()", 0.005)}, .belongs = ON(ALLOCATION) | ON(HOST_BOUND),
     SETTING,
     .words = "Do not call torch.cuda.empty_cache() in the loop; for fragmentation, set "
              "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     .where = "expandable_segments: PyTorch 2.1"},
    {ANY,
     .all = {CODE("cublasCreate|cudnnCreate|cusolverDnCreate|cufftPlan|cufftMakePlan|"
                  "cusparseCreate|curandCreateGenerator",
                  0.02)},
     .belongs = HOST | WAIT | ON(ALLOCATION) | ON(COMPILATION), LINES,
     .words = "Create the handles and plans of libraries once, before the loop"},
    {ANY, .all = {LAUNCHES("cupy_", 0.2), CALLS("cudaMalloc|cuMemAlloc", 0.5)},
     .belongs = ON(ALLOCATION), SETTING,
     .words = "Keep the memory pool of CuPy "
              "(cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)), or preallocate "
              "and use out="},
    {ANY,
     .all = {CALLS("cudaMalloc|hipMalloc|cuMemAlloc", 0.5),
             CALLS("cudaFree|hipFree|cuMemFree", 0.5)},
     .unless = "cupy_|at::native|2at6native|MallocAsync|AllocAsync", .belongs = ON(ALLOCATION),
     LINES,
     .words = "Allocate the buffers once, before the loop, or from a pool (cudaMallocAsync, "
              "cudaFreeAsync)",
     .where = "cudaMallocAsync: CUDA 11.2"},
    {ANY, .all = {CALLS("MallocAsync|AllocAsync", 0.5)}, .belongs = ON(ALLOCATION), LINES,
     .words = "Raise the release threshold of the memory pool (cudaMemPoolSetAttribute, "
              "cudaMemPoolAttrReleaseThreshold): by default every synchronization returns its "
              "unused memory to the system"},
};
const size_t catalogue_row_count = ARRAY_COUNT(catalogue_rows);
_Static_assert(ARRAY_COUNT(catalogue_rows) <= CATALOGUE_ROWS_MAX, "a bit for each row");
