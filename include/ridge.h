/* ridge.h: tensors on a CPU, an NVIDIA GPU or any OpenCL device, eager or compiled.
 *
 * A whole program:
 *
 *   #include <ridge.h>
 *   #include <stdio.h>
 *
 *   int main(void) {
 *       ridge_device *device = ridge_device_open("cpu");      // or "cuda", "opencl:1", NULL
 *       ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){4, 256}, 1);
 *       ridge_tensor *w = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){256, 10}, 2);
 *       ridge_tensor *y = ridge_softmax(ridge_matmul(x, w), -1);
 *       float out[40];
 *       if (!ridge_to_host(y, out, sizeof out))
 *           fprintf(stderr, "%s\n", ridge_error_message());
 *       ridge_device_close(device);                           // releases the tensors too
 *   }
 *
 * Failure. An operation that fails returns NULL (or false) and leaves a message that names the
 * operation, the shapes and the reason; ridge_error_message() gives it. Operations given NULL
 * return NULL and keep the message, so a chain of calls needs one check at its end. Nothing
 * here prints, exits or aborts.
 *
 * Misuse. Wrong arguments fail with RIDGE_ERROR_USAGE and never crash: NULL handles and arrays,
 * shapes, ranks and enumerators out of range, and handles that were released, whether by
 * ridge_release(), the end of a scope or ridge_device_close(). A tensor or program handle is
 * not an address, and its value is never used again; closed devices cost a few hundred bytes
 * each. Not checked: the length of the caller's arrays and memory, and use of one device in
 * several threads at once.
 *
 * Ownership. Every function that returns a tensor returns a handle that the caller owns and
 * releases with ridge_release(). For intermediates, open a scope: tensors created in it are
 * released when it closes, except those passed to ridge_keep(). ridge_device_close() releases
 * the rest. Views (reshape, slice, ...) share their data, which lives as long as any of them.
 *
 * Threads. A device, its tensors and its programs belong to one thread at a time. The message
 * and the scopes are per thread.
 *
 * Devices are asynchronous: an operation returns when its work is queued. ridge_to_host() and
 * ridge_synchronize() wait.
 */
#ifndef RIDGE_H
#define RIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RIDGE_API __attribute__((visibility("default")))
#else
#define RIDGE_API
#endif

typedef struct ridge_device ridge_device;
typedef struct ridge_tensor ridge_tensor;
typedef struct ridge_program ridge_program;
typedef struct ridge_optimizer ridge_optimizer;

#define RIDGE_VERSION "0.1.0"

enum { RIDGE_RANK_MAX = 8 };

/* ---- Failure ---------------------------------------------------------------------------- */

enum ridge_error {
    RIDGE_OK,
    RIDGE_ERROR_USAGE,       /* invalid or inconsistent shapes, types or arguments */
    RIDGE_ERROR_INPUT,       /* data that is damaged */
    RIDGE_ERROR_UNSUPPORTED, /* this machine, device or build cannot do it */
    RIDGE_ERROR_IO,          /* the operating system or the driver refused */
    RIDGE_ERROR_MEMORY,      /* the host or the device is out of memory */
};

/* The last failure of this thread; "" and RIDGE_OK if there was none since the last clear.
 * Functions that return nothing, or a count, report misuse only here. */
RIDGE_API const char *ridge_error_message(void);
RIDGE_API enum ridge_error ridge_error_code(void);
RIDGE_API void ridge_error_clear(void);

/* ---- Devices ---------------------------------------------------------------------------- */

struct ridge_device_info {
    char name[32];         /* what ridge_device_open() takes: "cuda:0" */
    char description[128]; /* what the driver calls it: "NVIDIA H200" */
    char driver[128];      /* the driver's version */
    char problem[256];     /* why it cannot be used, and what to do; "" when it can */
    uint64_t memory_bytes; /* 0 if unknown */
    uint32_t compute_units;
    bool usable;
};

/* The devices of this machine, usable or not: writes up to `capacity` rows and returns the
 * number of devices. Every kind of device has at least one row. */
RIDGE_API size_t ridge_device_list(struct ridge_device_info *rows, size_t capacity);

/* "cpu", "cuda", "cuda:1", "metal", "opencl", "opencl:0", "vulkan"; NULL selects the environment's
 * RIDGE_DEVICE or else the first usable of cuda, metal, opencl and vulkan (a GPU), cpu.
 * RIDGE_THREADS sets the threads of "cpu". */
RIDGE_API ridge_device *ridge_device_open(const char *name);

/* Members that are 0 have the default. */
struct ridge_device_options {
    const char *name;      /* as ridge_device_open() takes it */
    unsigned ordinal;      /* if the name has no number: "cuda" with 1 is "cuda:1" */
    unsigned threads;      /* of the CPU, instead of RIDGE_THREADS; other devices ignore it */
    uint64_t memory_limit; /* bytes of tensors and idle buffers together; beyond it allocations
                              fail with RIDGE_ERROR_MEMORY */
    bool deterministic;    /* Results are the same bits in every run. The CPU's do then not depend
                              on the number of threads, of which it uses at most 16; CUDA's library
                              products are chosen by rule and not by measuring. */
};
RIDGE_API ridge_device *ridge_device_open_with(const struct ridge_device_options *options);
/* Waits for the device, releases all its tensors, programs and optimizers. Takes NULL. Fails while
 * a function is being compiled on it. */
RIDGE_API void ridge_device_close(ridge_device *device);
/* The row that ridge_device_list() would have for it. */
RIDGE_API bool ridge_device_describe(const ridge_device *device, struct ridge_device_info *info);
/* Waits until all work of all queues is done. */
RIDGE_API bool ridge_synchronize(ridge_device *device);

/* Work goes to the current queue, 0 unless set. Work on different queues may overlap. ridge
 * orders memory reuse by the pool; order all other accesses across queues with
 * ridge_queue_wait(). */
RIDGE_API unsigned ridge_queue_count(const ridge_device *device);
RIDGE_API bool ridge_queue_use(ridge_device *device, unsigned queue);
/* Later work of the current queue starts after the work that is now on `queue`. */
RIDGE_API bool ridge_queue_wait(ridge_device *device, unsigned queue);

/* ---- The buffer pool -------------------------------------------------------------------- */

/* Memory of released tensors is kept for the next ones of the same size class. */
struct ridge_pool_stats {
    uint64_t pooled_buffers; /* idle, ready to be reused */
    uint64_t size_classes;   /* with at least one idle buffer */
    uint64_t pooled_bytes;
    uint64_t used_bytes;       /* in live tensors, as allocated */
    uint64_t requested_bytes;  /* of that, as requested */
    uint64_t high_water_bytes; /* maximum allocated from the device at one time */
    uint64_t allocations;      /* requests */
    uint64_t reuses;           /* of those, served from the pool */
    uint64_t flushes;          /* times the pool was emptied because the device was full */
    double reuse_rate;         /* reuses / allocations, 0 to 1 */
};
RIDGE_API bool ridge_pool_stats(const ridge_device *device, struct ridge_pool_stats *stats);
/* At most this many idle buffers are kept in each size class (64 at first; 0 keeps none). */
RIDGE_API bool ridge_pool_set_capacity(ridge_device *device, unsigned buffers_per_class);
/* Frees idle buffers, largest first, until at most `bytes` are idle. */
RIDGE_API bool ridge_pool_shrink_to_fit(ridge_device *device, uint64_t bytes);
/* Frees all idle buffers. */
RIDGE_API bool ridge_pool_clear(ridge_device *device);
/* Frees the idle buffers of the size class of `bytes`. */
RIDGE_API bool ridge_pool_clear_size(ridge_device *device, uint64_t bytes);

/* ---- Tensors ---------------------------------------------------------------------------- */

enum ridge_dtype {
    RIDGE_F32,
    RIDGE_F16,
    RIDGE_BF16,
    RIDGE_I32,
    RIDGE_U8,     /* also the result of comparisons: 0 or 1 */
    RIDGE_Q8_0,   /* this and all below: blocks of weights, as in GGUF; here of 32 in 34 bytes */
    RIDGE_Q4_K,   /* 256 in 144 bytes */
    RIDGE_Q4_0,   /* 32 in 18 */
    RIDGE_Q4_1,   /* 32 in 20 */
    RIDGE_Q5_0,   /* 32 in 22 */
    RIDGE_Q5_1,   /* 32 in 24 */
    RIDGE_Q2_K,   /* 256 in 84 */
    RIDGE_Q3_K,   /* 256 in 110 */
    RIDGE_Q5_K,   /* 256 in 176 */
    RIDGE_Q6_K,   /* 256 in 210 */
    RIDGE_IQ4_XS, /* 256 in 136 */
    RIDGE_DTYPES
};
RIDGE_API const char *ridge_dtype_name(enum ridge_dtype dtype);
/* Bytes of `count` elements; of a quantized type, of `count` rounded up to whole blocks. 0 when
 * there is no such dtype, the count is negative or the bytes do not fit into a size_t. */
RIDGE_API size_t ridge_dtype_bytes(enum ridge_dtype dtype, int64_t count);

/* `data` (NULL: uninitialized) is in row-major order and may be reused on return. Quantized types
 * have a last size that is a whole number of blocks. */
RIDGE_API ridge_tensor *ridge_from_host(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                        const int64_t *sizes, const void *data);
/* As from_host(), converted from f32 on the way. */
RIDGE_API ridge_tensor *ridge_from_floats(ridge_device *device, enum ridge_dtype dtype,
                                          unsigned rank, const int64_t *sizes, const float *data);
/* Waits, and copies in row-major order; `bytes` must be the tensor's size. */
RIDGE_API bool ridge_to_host(ridge_tensor *tensor, void *data, size_t bytes);
/* As to_host(), converted to f32; `count` must be the tensor's number of elements. */
RIDGE_API bool ridge_to_floats(ridge_tensor *tensor, float *data, size_t count);

RIDGE_API ridge_tensor *ridge_zeros(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                    const int64_t *sizes);
RIDGE_API ridge_tensor *ridge_full(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                   const int64_t *sizes, double value);
/* start, start + step, ... ; `count` elements. */
RIDGE_API ridge_tensor *ridge_arange(ridge_device *device, enum ridge_dtype dtype, int64_t count,
                                     double start, double step);
/* Uniform in [0, 1) and standard normal. An element depends only on the seed and its position:
 * the same bits on every device. */
RIDGE_API ridge_tensor *ridge_rand(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                   const int64_t *sizes, uint64_t seed);
RIDGE_API ridge_tensor *ridge_randn(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                    const int64_t *sizes, uint64_t seed);

/* A tensor on the caller's memory: nothing is copied, and both read and write the same bytes. On
 * devices that use host memory ("cpu"); others fail with RIDGE_ERROR_UNSUPPORTED. Strides count
 * elements, NULL is row-major; `data` is aligned to the element. `release`, unless NULL, is called
 * with `context` when no tensor needs the memory any more, at the latest by ridge_device_close();
 * the memory must exist until then. It is not called if this fails. Do not wrap memory twice. */
RIDGE_API ridge_tensor *ridge_wrap_host(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                        const int64_t *sizes, const int64_t *strides, void *data,
                                        void (*release)(void *context), void *context);
/* The address of the first element, after waiting for the device; NULL on devices that do not use
 * host memory. Valid as long as the tensor. */
RIDGE_API void *ridge_tensor_data(ridge_tensor *tensor);

/* DLPack, the exchange of tensors between libraries (dlpack.h declares these structs), without a
 * copy: memory of the host on "cpu", of an NVIDIA GPU on the "cuda" device of its number. On
 * success ridge_from_dlpack() owns `managed` and calls its deleter as ridge_wrap_host() calls
 * release. Its data must be complete: wait for the stream that makes it. ridge_to_dlpack() waits
 * for the device. The device cannot be closed before the deleter of what it returns was called,
 * which may happen in any thread. bool becomes u8; quantized types have no form in DLPack. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
RIDGE_API ridge_tensor *ridge_from_dlpack(ridge_device *device, struct DLManagedTensor *managed);
RIDGE_API struct DLManagedTensor *ridge_to_dlpack(ridge_tensor *tensor);
/* The same in DLPack 1. Read-only tensors are refused. */
RIDGE_API ridge_tensor *ridge_from_dlpack_versioned(ridge_device *device,
                                                    struct DLManagedTensorVersioned *managed);
RIDGE_API struct DLManagedTensorVersioned *ridge_to_dlpack_versioned(ridge_tensor *tensor);

RIDGE_API enum ridge_dtype ridge_tensor_dtype(const ridge_tensor *tensor);
RIDGE_API unsigned ridge_tensor_rank(const ridge_tensor *tensor);
/* The size of an axis; negative axes count from the end. 0 if the axis does not exist. */
RIDGE_API int64_t ridge_tensor_size(const ridge_tensor *tensor, int axis);
RIDGE_API int64_t ridge_tensor_stride(const ridge_tensor *tensor, int axis); /* in elements */
RIDGE_API int64_t ridge_tensor_count(const ridge_tensor *tensor);            /* of elements */
RIDGE_API size_t ridge_tensor_bytes(const ridge_tensor *tensor); /* as ridge_to_host() counts */
RIDGE_API bool ridge_tensor_contiguous(const ridge_tensor *tensor);
/* The device that it is on. */
RIDGE_API ridge_device *ridge_tensor_device(const ridge_tensor *tensor);

/* Another handle of the same tensor, in the current scope; to move a tensor out of a scope use
 * ridge_keep(). */
RIDGE_API ridge_tensor *ridge_retain(ridge_tensor *tensor);
RIDGE_API void ridge_release(ridge_tensor *tensor); /* accepts NULL */

/* Tensors created in this thread between begin and end are released at the end. Scopes nest. */
RIDGE_API void ridge_scope_begin(void);
RIDGE_API void ridge_scope_end(void);
/* Moves the tensor to the enclosing scope, or to the caller; returns it. */
RIDGE_API ridge_tensor *ridge_keep(ridge_tensor *tensor);

/* ---- Views: the same data under another shape, nothing is copied -------------------------- */

/* One size may be -1: it is inferred. Copies if no strides can express the shape. */
RIDGE_API ridge_tensor *ridge_reshape(ridge_tensor *x, unsigned rank, const int64_t *sizes);
/* Swaps two axes. */
RIDGE_API ridge_tensor *ridge_transpose(ridge_tensor *x, int axis_a, int axis_b);
/* Axis i of the result is axis axes[i] of x. */
RIDGE_API ridge_tensor *ridge_permute(ridge_tensor *x, const unsigned *axes);
/* Elements begin, begin + step, ... before end; begin and end may be negative (from the end), end
 * may be INT64_MAX. step is at least 1. */
RIDGE_API ridge_tensor *ridge_slice(ridge_tensor *x, int axis, int64_t begin, int64_t end,
                                    int64_t step);
/* The axis is dropped. */
RIDGE_API ridge_tensor *ridge_select(ridge_tensor *x, int axis, int64_t index);
/* To these sizes: axes of size 1, and missing ones in front, are repeated. */
RIDGE_API ridge_tensor *ridge_broadcast(ridge_tensor *x, unsigned rank, const int64_t *sizes);
/* A new axis of size 1 before `axis`. */
RIDGE_API ridge_tensor *ridge_unsqueeze(ridge_tensor *x, int axis);
/* Drops an axis of size 1. */
RIDGE_API ridge_tensor *ridge_squeeze(ridge_tensor *x, int axis);

/* ---- Joining and parting ---------------------------------------------------------------- */

RIDGE_API ridge_tensor *ridge_contiguous(ridge_tensor *x); /* a copy unless it is already */
RIDGE_API ridge_tensor *ridge_cat(ridge_tensor *const *parts, unsigned count, int axis);
RIDGE_API ridge_tensor *ridge_stack(ridge_tensor *const *parts, unsigned count, int axis);
/* Views of `count` equal parts; the axis' size must divide. False and all NULL on failure. */
RIDGE_API bool ridge_split(ridge_tensor *x, unsigned count, int axis, ridge_tensor **parts);
/* Views of each index of the axis, which is dropped. `parts` holds as many as the axis' size. */
RIDGE_API bool ridge_unstack(ridge_tensor *x, int axis, ridge_tensor **parts);
/* Copies `source` (broadcast and cast as needed) into the data of `target`, often a slice. */
RIDGE_API bool ridge_assign(ridge_tensor *target, ridge_tensor *source);

/* ---- Elementwise ------------------------------------------------------------------------
 * Operands broadcast as in NumPy and have one dtype; cast first. Each binary operation has a
 * _scalar form, whose y is a number: ridge_add_scalar(x, 0.5). f16 and bf16 are computed in f32 and
 * rounded once. Comparisons give u8. The whole list is the table in
 * src/gen/ops.h, from which these are made. */

#define RIDGE_UNARY(name) RIDGE_API ridge_tensor *ridge_##name(ridge_tensor *x);
#define RIDGE_BINARY(name)                                                                         \
    RIDGE_API ridge_tensor *ridge_##name(ridge_tensor *x, ridge_tensor *y);                        \
    RIDGE_API ridge_tensor *ridge_##name##_scalar(ridge_tensor *x, double y);
#define RIDGE_TERNARY(name)                                                                        \
    RIDGE_API ridge_tensor *ridge_##name(ridge_tensor *x, ridge_tensor *y, ridge_tensor *z);

RIDGE_BINARY(add)
RIDGE_BINARY(sub)
RIDGE_BINARY(mul)
RIDGE_BINARY(div) /* integers: toward zero; by zero gives 0 */
RIDGE_BINARY(mod) /* exact but for one rounding; the sign of y, as in Python */
RIDGE_BINARY(pow)
RIDGE_BINARY(min) /* NaN if either is */
RIDGE_BINARY(max)
RIDGE_BINARY(equal)
RIDGE_BINARY(not_equal)
RIDGE_BINARY(less)
RIDGE_BINARY(less_equal)
RIDGE_BINARY(greater)
RIDGE_BINARY(greater_equal)
RIDGE_BINARY(logical_and)
RIDGE_BINARY(logical_or)
RIDGE_UNARY(logical_not)
RIDGE_UNARY(neg)
RIDGE_UNARY(abs)
RIDGE_UNARY(sign)
RIDGE_UNARY(square)
RIDGE_UNARY(reciprocal)
RIDGE_UNARY(floor)
RIDGE_UNARY(ceil)
RIDGE_UNARY(round) /* halves to even */
RIDGE_UNARY(sin)
RIDGE_UNARY(cos)
RIDGE_UNARY(tan)
RIDGE_UNARY(exp)
RIDGE_UNARY(log)
RIDGE_UNARY(log1p)
RIDGE_UNARY(sqrt)
RIDGE_UNARY(rsqrt)
RIDGE_UNARY(tanh)
RIDGE_UNARY(erf)
RIDGE_UNARY(sigmoid)
RIDGE_UNARY(relu)
RIDGE_UNARY(gelu)      /* x / 2 * (1 + erf(x / sqrt 2)) */
RIDGE_UNARY(gelu_tanh) /* its tanh approximation */
RIDGE_UNARY(silu)
RIDGE_TERNARY(where)   /* x, a u8 or i32, chooses y where it is not 0, else z */
RIDGE_TERNARY(clamp)   /* x between y and z */
RIDGE_BINARY(add_relu) /* relu(x + y) */
RIDGE_BINARY(mul_relu) /* relu(x * y) */
RIDGE_TERNARY(affine)  /* x * y + z */

/* An elementwise operation of one's own, as text: ridge_expression("a * sigmoid(b) + 0.5",
 * operands, 2). Operands are a to h, in the order of the array; numbers take the dtype of what they
 * meet. There are + - * / % == != < <= > >= && || ! with the precedence of C, parentheses, the
 * functions of this section without "ridge_", and the names of dtypes as casts: where(a > 0, a,
 * f32(b)). It is one kernel, fuses with what is around it in compiled functions, runs on every
 * device and has gradients. Each expression is parsed once and kept. */
RIDGE_API ridge_tensor *ridge_expression(const char *expression, ridge_tensor *const *operands,
                                         unsigned count);

/* As in C: to i32 toward zero, saturating; to u8 the low 8 bits of that. A view of x when it has
 * that dtype already. */
RIDGE_API ridge_tensor *ridge_cast(ridge_tensor *x, enum ridge_dtype dtype);

/* ---- Reductions and norms --------------------------------------------------------------- */

/* Over `count` axes (0: all of them). keep leaves the reduced axes with size 1. Floats accumulate
 * in f32, or better. The sum of integers wraps. max and min give NaN if there is one; the arg forms
 * take one axis, give i32 and the first of equals. Reducing nothing: sum 0, mean NaN; max, min and
 * arg of nothing fail. */
RIDGE_API ridge_tensor *ridge_sum(ridge_tensor *x, unsigned count, const int *axes, bool keep);
RIDGE_API ridge_tensor *ridge_mean(ridge_tensor *x, unsigned count, const int *axes, bool keep);
RIDGE_API ridge_tensor *ridge_amax(ridge_tensor *x, unsigned count, const int *axes, bool keep);
RIDGE_API ridge_tensor *ridge_amin(ridge_tensor *x, unsigned count, const int *axes, bool keep);
RIDGE_API ridge_tensor *ridge_argmax(ridge_tensor *x, int axis, bool keep);
RIDGE_API ridge_tensor *ridge_argmin(ridge_tensor *x, int axis, bool keep);

RIDGE_API ridge_tensor *ridge_softmax(ridge_tensor *x, int axis);
RIDGE_API ridge_tensor *ridge_log_softmax(ridge_tensor *x, int axis);
/* Running sums; of u8 in i32. */
RIDGE_API ridge_tensor *ridge_cumsum(ridge_tensor *x, int axis);
/* Over the last axis; weight and bias (of its size) may be NULL. */
RIDGE_API ridge_tensor *ridge_layer_norm(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                                         float epsilon);
RIDGE_API ridge_tensor *ridge_rms_norm(ridge_tensor *x, ridge_tensor *weight, float epsilon);
/* x [batch, channels, ...]: each of `groups` runs of channels is normalized; weight and bias
 * [channels] may be NULL. */
RIDGE_API ridge_tensor *ridge_group_norm(ridge_tensor *x, unsigned groups, ridge_tensor *weight,
                                         ridge_tensor *bias, float epsilon);

/* ---- Indices ------------------------------------------------------------------------------
 * Indices are i32 tensors. They have x's rank; along the other axes they have x's sizes or 1, which
 * repeats. */

/* y[.., i, ..] = x[.., indices[.., i, ..], ..]; 0 where an index is out of range. */
RIDGE_API ridge_tensor *ridge_gather(ridge_tensor *x, int axis, ridge_tensor *indices);
/* x with source[.., i, ..] added at indices[.., i, ..]; out of range is ignored. Equal indices add
 * up in their order, so the result is the same in every run. */
RIDGE_API ridge_tensor *ridge_scatter_add(ridge_tensor *x, int axis, ridge_tensor *indices,
                                          ridge_tensor *source);
/* The indices that sort x, i32. Stable; NaN counts as the greatest. */
RIDGE_API ridge_tensor *ridge_argsort(ridge_tensor *x, int axis, bool descending);
/* The `count` greatest, in descending order, and their indices if wanted. */
RIDGE_API ridge_tensor *ridge_topk(ridge_tensor *x, int64_t count, int axis,
                                   ridge_tensor **indices);
/* Writes source into target from `position` on along the axis: a step of a cache. position is one
 * i32, or one for each index of axis 0. Elements outside the target are not written. */
RIDGE_API bool ridge_update(ridge_tensor *target, ridge_tensor *source, int axis,
                            ridge_tensor *position);
/* One choice for each row of logits [rows, choices], i32 [rows]: drawn from softmax(logits /
 * temperature) among the top_k greatest (0: all) and then the fewest that have the probability
 * top_p (1: all), with those equal to the last. Temperature 0 is argmax. The draw depends on the
 * seed, the step (one i32, or one for each row) and the row: a compiled function that takes the
 * step as an input draws anew in each run. */
RIDGE_API ridge_tensor *ridge_sample(ridge_tensor *logits, ridge_tensor *step, float temperature,
                                     int64_t top_k, float top_p, uint64_t seed);

/* ---- Convolution --------------------------------------------------------------------------
 * Images are [batch, channels, height, width], sequences [batch, channels, length]. */

/* How windows are placed, along the height and the width; along a sequence [0] counts. 0 stands for
 * a stride, dilation or group of 1. NULL is a zeroed struct. */
struct ridge_window {
    int64_t stride[2], padding[2], dilation[2];
    int64_t groups;            /* convolutions */
    int64_t output_padding[2]; /* transposed convolutions: added at the end */
};

/* weight [out, in / groups, height, width] or [out, in / groups, length]; bias [out] may be NULL.
 */
RIDGE_API ridge_tensor *ridge_conv1d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                                     const struct ridge_window *window);
RIDGE_API ridge_tensor *ridge_conv2d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                                     const struct ridge_window *window);
/* weight [in, out / groups, height, width] or [in, out / groups, length]. */
RIDGE_API ridge_tensor *ridge_conv_transpose1d(ridge_tensor *x, ridge_tensor *weight,
                                               ridge_tensor *bias,
                                               const struct ridge_window *window);
RIDGE_API ridge_tensor *ridge_conv_transpose2d(ridge_tensor *x, ridge_tensor *weight,
                                               ridge_tensor *bias,
                                               const struct ridge_window *window);
/* Over windows of size[0] x size[1], or of size[0]; the stride is the size unless it is set. The
 * average counts padding as zeros. */
RIDGE_API ridge_tensor *ridge_max_pool1d(ridge_tensor *x, const int64_t *size,
                                         const struct ridge_window *window);
RIDGE_API ridge_tensor *ridge_max_pool2d(ridge_tensor *x, const int64_t *size,
                                         const struct ridge_window *window);
RIDGE_API ridge_tensor *ridge_avg_pool1d(ridge_tensor *x, const int64_t *size,
                                         const struct ridge_window *window);
RIDGE_API ridge_tensor *ridge_avg_pool2d(ridge_tensor *x, const int64_t *size,
                                         const struct ridge_window *window);
/* The windows of an image: [batch, channels * size[0] * size[1], windows]. */
RIDGE_API ridge_tensor *ridge_unfold(ridge_tensor *x, const int64_t *size,
                                     const struct ridge_window *window);
/* before[i] and after[i] elements of `value` at the ends of axis i; negative ones take away. */
RIDGE_API ridge_tensor *ridge_pad(ridge_tensor *x, const int64_t *before, const int64_t *after,
                                  double value);

/* ---- Matrices --------------------------------------------------------------------------- */

enum ridge_activation {
    RIDGE_ACTIVATION_NONE,
    RIDGE_ACTIVATION_RELU,
    RIDGE_ACTIVATION_GELU, /* the tanh form */
    RIDGE_ACTIVATION_SILU,
};

/* [..., m, k] x [..., k, n]; the axes before the last two broadcast. A vector is a row on the left
 * and a column on the right, and its axis is dropped from the result. Views made by
 * ridge_transpose() are read in place. b may be the transpose of a quantized [n, k]. */
RIDGE_API ridge_tensor *ridge_matmul(ridge_tensor *a, ridge_tensor *b);
/* activation(a x b + bias) in one kernel; bias (broadcast to the result) may be NULL. */
RIDGE_API ridge_tensor *ridge_matmul_activation(ridge_tensor *a, ridge_tensor *b,
                                                ridge_tensor *bias,
                                                enum ridge_activation activation);
/* activation(x x transpose(w) + bias): w is [out, in], of x's dtype or quantized. */
RIDGE_API ridge_tensor *ridge_linear(ridge_tensor *x, ridge_tensor *w, ridge_tensor *bias,
                                     enum ridge_activation activation);
/* linear(silu(linear(x, gate)) * linear(x, up), down), without the last if down is NULL. Weights
 * are [out, in]. */
RIDGE_API ridge_tensor *ridge_gated_mlp(ridge_tensor *x, ridge_tensor *gate, ridge_tensor *up,
                                        ridge_tensor *down);
/* linear(x, w) + scale * linear(linear(x, a), b): w is [out, in], a [rank, in], b [out, rank]. */
RIDGE_API ridge_tensor *ridge_lora(ridge_tensor *x, ridge_tensor *w, ridge_tensor *a,
                                   ridge_tensor *b, float scale);

/* f32, f16 or bf16 to a quantized type and back, by rows of the last axis. Products with weights of
 * Q8_0 and Q4_K read the blocks; with others they dequantize the weight first. */
RIDGE_API ridge_tensor *ridge_quantize(ridge_tensor *x, enum ridge_dtype dtype);
RIDGE_API ridge_tensor *ridge_dequantize(ridge_tensor *x, enum ridge_dtype dtype);

/* ---- Models ----------------------------------------------------------------------------- */

/* Rows of table [n, width] (any dtype) at indices (i32): [..., width]. Quantized rows come as f32.
 * An index out of range gives a row of zeros. */
RIDGE_API ridge_tensor *ridge_embedding(ridge_tensor *table, ridge_tensor *indices);

/* Rotary positions on [batch, heads, tokens, width]; positions are i32, [tokens] or [batch,
 * tokens]. Pairs are (i, i + width / 2), or neighbors when interleaved. */
RIDGE_API ridge_tensor *ridge_rope(ridge_tensor *x, ridge_tensor *positions, float base,
                                   bool interleaved);

/* softmax(q x transpose(k) * scale) x v: q [batch, heads, queries, width]; k and v [batch,
 * kv_heads, keys, width], often slices of a cache, kv_heads dividing heads. When causal the last
 * query sees all keys and each one before it one less. */
RIDGE_API ridge_tensor *ridge_attention(ridge_tensor *q, ridge_tensor *k, ridge_tensor *v,
                                        float scale, bool causal);

/* The keys that a query sees; zeroed: all. A query without keys gives zeros. */
struct ridge_attention_mask {
    bool causal;
    int64_t window;        /* with causal: at most the last `window` keys that it sees; 0: all */
    ridge_tensor *lengths; /* i32, one or [batch]: the keys in use, others are not read; or NULL */
    ridge_tensor *added;   /* added to the scores, broadcast to [batch, heads, queries, keys]: 0, or
                              -INFINITY to hide; of q's dtype; or NULL */
};
RIDGE_API ridge_tensor *ridge_attention_masked(ridge_tensor *q, ridge_tensor *k, ridge_tensor *v,
                                               float scale,
                                               const struct ridge_attention_mask *mask);

/* RWKV-7: for each token, with the state S [batch, heads, width, width]:
 *   S = S diag(w) + (S a) b' + v k',   y = S r
 * r, w (the decay, 0 to 1), k, v, a, b are [batch, tokens, heads, width]; gives y, and the state
 * after the last token in *state_out. f32 state. */
RIDGE_API ridge_tensor *ridge_wkv7(ridge_tensor *r, ridge_tensor *w, ridge_tensor *k,
                                   ridge_tensor *v, ridge_tensor *a, ridge_tensor *b,
                                   ridge_tensor *state, ridge_tensor **state_out);
/* The token before each: x [batch, tokens, width], previous [batch, width] is what precedes the
 * first. x + (shifted - x) * mix; mix [width] may be NULL: shifted alone. */
RIDGE_API ridge_tensor *ridge_token_shift(ridge_tensor *x, ridge_tensor *previous,
                                          ridge_tensor *mix);

/* ---- Custom kernels -----------------------------------------------------------------------
 * ridge_expression() is the simpler way where it suffices. */

/* Blocks `begin` to `end` of a launch on the CPU. Several threads call it, each for other blocks.
 * buffers: the inputs, then the result. */
typedef void ridge_cpu_function(void *const *buffers, const int64_t *scalars, int64_t begin,
                                int64_t end);

/* A kernel of one's own. A body is the statements between the braces of a kernel in that language.
 * Its head comes from ridge: buffers are pointers in0, in1, ... and result, to float (f32), int
 * (i32), 16 bits (f16, bf16) or bytes; scalars.v[i] are 64-bit integers. The words of
 * src/gen/emit/dialect.h are defined in every language (BLOCK_X, THREAD_X, THREADS_X, LOAD_F16(p,
 * i), ELEMENT(p, i), BARRIER()...): a body that uses only these is `portable` and serves all four
 * languages. A language without a body, or a CPU without a function, is refused when it is needed.
 */
struct ridge_custom_kernel {
    const char *name; /* a C identifier, the kernel's name on the trace */
    const char *portable;
    const char *cuda, *opencl, *metal, *glsl; /* instead of the portable one; or NULL */
    ridge_cpu_function *cpu;
    uint32_t blocks, threads; /* of a launch; threads of a block, which the CPU does not have */
    const int64_t *scalars;
    unsigned scalar_count; /* up to 16 */
    uint64_t flops, bytes; /* of a launch, for traces; bytes 0: of inputs and result */
};
/* Runs it on 1 to 8 inputs, which it reads contiguous; the result is new and has these sizes. Works
 * eagerly and in compiled functions, where it is a kernel of its own in the plan. No gradient
 * passes through it. Each kernel and each launch with other sizes is kept. */
RIDGE_API ridge_tensor *ridge_custom(const struct ridge_custom_kernel *kernel,
                                     ridge_tensor *const *inputs, unsigned count,
                                     enum ridge_dtype dtype, unsigned rank, const int64_t *sizes);

/* ---- Model files --------------------------------------------------------------------------
 * GGUF (versions 2 and 3) and safetensors, told apart by content. All sizes and offsets are checked
 * when the file is opened; a file that is damaged or truncated, even while it is being read, is an
 * error and not a crash. Pointers that these functions return are valid until the file is closed.
 * A file belongs to one thread at a time. */

typedef struct ridge_weights ridge_weights;

struct ridge_weight_info {
    const char *name;
    const char *type; /* as the file calls it: "Q6_K" */
    bool loadable;    /* ridge has this type: */
    enum ridge_dtype dtype;
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX]; /* row-major: weights of ridge_linear() are [out, in] */
    uint64_t bytes;
};

RIDGE_API ridge_weights *ridge_weights_open(const char *path);
RIDGE_API void ridge_weights_close(ridge_weights *file);               /* accepts NULL */
RIDGE_API const char *ridge_weights_format(const ridge_weights *file); /* "GGUF", "safetensors" */
/* Tensors by name in byte order. */
RIDGE_API size_t ridge_weights_count(const ridge_weights *file);
RIDGE_API bool ridge_weights_info(const ridge_weights *file, size_t index,
                                  struct ridge_weight_info *info);
/* False, without an error, if there is no tensor of that name. */
RIDGE_API bool ridge_weights_find(const ridge_weights *file, const char *name,
                                  struct ridge_weight_info *info);
/* The tensor on the device, with the type of the file. */
RIDGE_API ridge_tensor *ridge_weights_load(const ridge_weights *file, ridge_device *device,
                                           const char *name);

/* Metadata by key; false or NULL, without an error, if there is none of that kind. Text may contain
 * zeros: its length, if wanted, says where it ends. */
RIDGE_API const char *ridge_weights_text(const ridge_weights *file, const char *key,
                                         size_t *length);
RIDGE_API bool ridge_weights_integer(const ridge_weights *file, const char *key, int64_t *value);
RIDGE_API bool ridge_weights_number(const ridge_weights *file, const char *key, double *value);
/* Arrays of GGUF, such as the vocabulary: how many elements, and each as text or number. */
RIDGE_API size_t ridge_weights_array(const ridge_weights *file, const char *key);
RIDGE_API const char *ridge_weights_array_text(const ridge_weights *file, const char *key,
                                               size_t index, size_t *length);
RIDGE_API bool ridge_weights_array_number(const ridge_weights *file, const char *key, size_t index,
                                          double *value);

/* Writes a GGUF file, or safetensors if the path ends in ".safetensors". Values and tensors are
 * added in any order; the file appears, whole, with ridge_weights_finish(), which ends the writer
 * either way. Safetensors have only text as metadata and no quantized tensors. */
typedef struct ridge_weights_writer ridge_weights_writer;
RIDGE_API ridge_weights_writer *ridge_weights_create(const char *path);
RIDGE_API bool ridge_weights_put_text(ridge_weights_writer *writer, const char *key,
                                      const char *value);
RIDGE_API bool ridge_weights_put_integer(ridge_weights_writer *writer, const char *key,
                                         int64_t value);
RIDGE_API bool ridge_weights_put_number(ridge_weights_writer *writer, const char *key,
                                        double value);
RIDGE_API bool ridge_weights_put_texts(ridge_weights_writer *writer, const char *key,
                                       const char *const *values, size_t count);
RIDGE_API bool ridge_weights_put_numbers(ridge_weights_writer *writer, const char *key,
                                         const float *values, size_t count);
RIDGE_API bool ridge_weights_put_integers(ridge_weights_writer *writer, const char *key,
                                          const int32_t *values, size_t count);
RIDGE_API bool ridge_weights_put(ridge_weights_writer *writer, const char *name,
                                 ridge_tensor *tensor);
RIDGE_API bool ridge_weights_finish(ridge_weights_writer *writer);
RIDGE_API void ridge_weights_abandon(ridge_weights_writer *writer); /* accepts NULL */

/* ---- Compiling --------------------------------------------------------------------------
 * A function of tensors, traced once and fused: chains of elementwise operations become one kernel,
 * also with the reductions, norms and matrix products around them; what is computed twice is
 * computed once, what is not used not at all; intermediates share planned memory; and running it
 * costs the host next to nothing (one graph launch on CUDA). The function must do the same
 * operations for every input of the same shapes; other tensors that it uses are captured as they
 * are. What changes from run to run (positions, lengths, seeds) must be an input: a run calls the
 * function again now and then and fails if it does something else. Running with other shapes,
 * dtypes or layouts calls it too, so the context and what it captures must live as long as the
 * program. While it is being compiled nothing can be read back, only tensors from outside can be
 * assigned to, and handles made in it are good for nothing afterwards. This is also how to make a
 * fused operation of one's own: see examples/custom_kernel.c. */

typedef bool ridge_function(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs);

RIDGE_API ridge_program *ridge_compile(ridge_function *function, void *context,
                                       ridge_tensor *const *inputs, unsigned input_count,
                                       unsigned output_count);
/* Runs it; `outputs` gets as many tensors as it was compiled for. */
RIDGE_API bool ridge_program_run(ridge_program *program, ridge_tensor *const *inputs,
                                 ridge_tensor **outputs);
RIDGE_API void ridge_program_release(ridge_program *program); /* accepts NULL */

struct ridge_program_info {
    unsigned operations;               /* as traced, before fusion */
    unsigned kernels;                  /* launched by one run */
    uint64_t flops;                    /* of one run */
    uint64_t bytes;                    /* that the kernels of one run read and write */
    uint64_t eager_bytes;              /* what the operations would, one by one */
    uint64_t intermediate_bytes;       /* the planned memory */
    uint64_t eager_intermediate_bytes; /* if each intermediate had its own */
};
/* Of the shapes last run or compiled for. */
RIDGE_API bool ridge_program_describe(const ridge_program *program,
                                      struct ridge_program_info *info);

/* ---- Training ---------------------------------------------------------------------------
 * Gradients exist of f32, f16 and bf16 tensors. Within a function that is being compiled, the way
 * back becomes part of its program: forward pass, gradients and update are one plan. Eager
 * operations are differentiated if they are recorded, between ridge_tape_begin() and
 * ridge_tape_end(). Where the derivative jumps: relu, abs and clamp as in PyTorch, equal maxima
 * share the gradient. Integers, comparisons and quantized weights have none; gradients pass
 * through a product with quantized weights to its other operand. */

/* Gradients of the loss (one float) with respect to `count` parameters, in their sizes and dtypes.
 * Fails if the loss does not depend on one of them, or if an operation between has no gradient. */
RIDGE_API bool ridge_gradients(ridge_tensor *loss, ridge_tensor *const *parameters, unsigned count,
                               ridge_tensor **gradients);
/* x, through which no gradient passes. */
RIDGE_API ridge_tensor *ridge_detach(ridge_tensor *x);
/* Records the eager operations of the device from here on, and keeps their operands; begins anew
 * if it did already. A recorded operand must not be assigned to before the gradients are taken. */
RIDGE_API bool ridge_tape_begin(ridge_device *device);
RIDGE_API bool ridge_tape_end(ridge_device *device);

/* Losses, one f32: the mean over all elements, or over the rows of cross entropy and KL. Targets of
 * cross entropy are i32 [...] for logits [..., classes]; rows with a target out of range do not
 * count. BCE takes logits. KL is the sum over the last axis of target (log(target) - x), x being
 * logarithms of probabilities. */
RIDGE_API ridge_tensor *ridge_cross_entropy(ridge_tensor *logits, ridge_tensor *targets);
RIDGE_API ridge_tensor *ridge_mse_loss(ridge_tensor *x, ridge_tensor *target);
RIDGE_API ridge_tensor *ridge_l1_loss(ridge_tensor *x, ridge_tensor *target);
RIDGE_API ridge_tensor *ridge_bce_loss(ridge_tensor *logits, ridge_tensor *target);
RIDGE_API ridge_tensor *ridge_kl_loss(ridge_tensor *log_probabilities, ridge_tensor *target);

/* Each element is 0 with this probability, else divided by 1 - probability. The same seed and step
 * give the same elements. In a compiled function the step (one i32, or NULL) must be a tensor that
 * changes from run to run, or each run drops the same elements. */
RIDGE_API ridge_tensor *ridge_dropout(ridge_tensor *x, double probability, uint64_t seed,
                                      ridge_tensor *step);

enum ridge_optimizer_kind {
    RIDGE_SGD,   /* with momentum, if it is not 0 */
    RIDGE_ADAM,  /* weight decay is added to the gradient */
    RIDGE_ADAMW, /* weight decay is apart from it */
};
/* Members that are 0 have the default. */
struct ridge_optimizer_options {
    enum ridge_optimizer_kind kind;
    double rate;
    double momentum;              /* SGD */
    double beta1, beta2, epsilon; /* Adam: 0.9, 0.999, 1e-8 */
    double weight_decay;
    double clip_norm;  /* gradients are scaled down to this norm of all together */
    double loss_scale; /* first factor of ridge_optimizer_scale_loss(): 65536 for f16 */
    unsigned
        growth_interval; /* steps without an infinite gradient until the loss scale doubles: 2000 */
};
/* Moments are f32, whatever the parameters are. The parameters are retained. */
RIDGE_API ridge_optimizer *ridge_optimizer_create(ridge_tensor *const *parameters, unsigned count,
                                                  const struct ridge_optimizer_options *options);
/* Updates the parameters, one kernel each, eagerly or as part of a function that is being compiled.
 * `gradients` in the order of the parameters; NULL takes the accumulated ones and clears them. */
RIDGE_API bool ridge_optimizer_step(ridge_optimizer *optimizer, ridge_tensor *const *gradients);
/* Adds to the sums for a later step. */
RIDGE_API bool ridge_optimizer_accumulate(ridge_optimizer *optimizer,
                                          ridge_tensor *const *gradients);
/* Mixed precision: the loss times the loss scale; the step divides the gradients by it. If a
 * gradient is infinite or NaN the step changes nothing but the scale, which it halves. */
RIDGE_API ridge_tensor *ridge_optimizer_scale_loss(ridge_optimizer *optimizer, ridge_tensor *loss);
RIDGE_API double ridge_optimizer_loss_scale(const ridge_optimizer *optimizer); /* waits */
/* For the steps from now on, also of compiled functions. */
RIDGE_API bool ridge_optimizer_set_rate(ridge_optimizer *optimizer, double rate);
RIDGE_API void ridge_optimizer_release(ridge_optimizer *optimizer); /* accepts NULL */
/* The norm of all gradients together, f32. */
RIDGE_API ridge_tensor *ridge_gradient_norm(ridge_tensor *const *gradients, unsigned count);

enum ridge_schedule_kind {
    RIDGE_SCHEDULE_CONSTANT,
    RIDGE_SCHEDULE_LINEAR, /* from rate to final_rate */
    RIDGE_SCHEDULE_COSINE,
    RIDGE_SCHEDULE_STEPS, /* times decay every `interval` steps */
};
struct ridge_schedule {
    enum ridge_schedule_kind kind;
    double rate, final_rate, decay;
    uint64_t warmup; /* steps in which the rate grows from 0 */
    uint64_t steps;  /* in all */
    uint64_t interval;
};
/* The learning rate of a step, counted from 0. */
RIDGE_API double ridge_schedule_rate(const struct ridge_schedule *schedule, uint64_t step);

/* ---- Tracing ---------------------------------------------------------------------------- */

/* Records each launch, kernel, copy, wait and allocation of the device to a .ridge file, with
 * shapes, flops, bytes and the device's own times, for `ridge report`. One trace per device at a
 * time. */
RIDGE_API bool ridge_trace_begin(ridge_device *device, const char *path);
/* Waits for the device and completes the file. */
RIDGE_API bool ridge_trace_end(ridge_device *device);
/* Between the two nothing is recorded and nothing slowed down; a trace can be paused at once after
 * its beginning, to record parts of a run alone. */
RIDGE_API bool ridge_trace_pause(ridge_device *device);
RIDGE_API bool ridge_trace_resume(ridge_device *device);
/* Names what happens in this thread between the two, on the device's trace; they nest. */
RIDGE_API void ridge_range_begin(ridge_device *device, const char *name);
RIDGE_API void ridge_range_end(ridge_device *device);

/* The device's own time of what is queued between the two, with or without a trace. As with a
 * trace, each kernel is timed, so programs run kernel by kernel. Regions do not nest, and a trace
 * cannot begin, pause, resume or end within one. */
struct ridge_region {
    double seconds;      /* from the start of the first kernel or copy to the end of the last */
    double busy_seconds; /* of that, while at least one was running */
    uint64_t kernels, copies;
    uint64_t flops;        /* of the kernels */
    uint64_t kernel_bytes; /* that they read and write */
    uint64_t copy_bytes;
};
RIDGE_API bool ridge_region_begin(ridge_device *device);
/* Waits for the device. */
RIDGE_API bool ridge_region_end(ridge_device *device, struct ridge_region *region);

/* The library's RIDGE_VERSION, which may be newer than the header's. */
RIDGE_API const char *ridge_version(void);

#ifdef __cplusplus
}
#endif
#endif
