/* Matrix products by cuBLASLt.
 *
 * cuBLAS is column-major. A row-major D = A x B is, read by columns, transpose(D) = transpose(B)
 * x transpose(A): its first operand is our B, its second our A, and a row-major matrix of ours
 * needs no transposition. Its bias runs along the rows of transpose(D), which is our n.
 *
 * cuBLASLt orders its algorithms by a heuristic. When the product is first loaded, the best few run
 * on scratch memory and the fastest is kept. Algorithms that would accumulate partial sums in less
 * than f32 are left out, and so are those that need a larger alignment than the addresses have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "device/cuda/cuda.h"

/* An algorithm requires a minimum alignment of the addresses: that of allocations, that of the
 * widest loads, or only that of the elements. */
enum { MATMUL_ALIGNMENTS = 3 };

struct matmul_algorithm {
    bool chosen;
    struct blas_algorithm algorithm;
    size_t workspace_bytes;
};

struct cuda_matmul {
    struct device_matmul shape;
    bool empty; /* the result has no elements */
    blas_description description;
    blas_layout a, b, d; /* in cuBLAS' order: its a is our B, its b is our A */
    struct matmul_algorithm algorithms[MATMUL_ALIGNMENTS];
};

struct matmul_buffers {
    cuda_address a, b, d, bias; /* ours; no bias is 0 */
};

#define BLAS_CALL(cuda, status, function, ...)                                                     \
    blas_succeeded((cuda)->blas->function(__VA_ARGS__), #function, status)
static bool blas_succeeded(cuda_result result, const char *call, struct status *status) {
    return result == BLAS_SUCCEEDED || cuda_blas_failed(result, call, status);
}

/* One of our matrices as cuBLAS sees it. */
struct operand {
    int64_t rows, columns, leading; /* by columns */
    int32_t transposed;
};

/* An axis of size 1 has no stride to speak of. */
static bool can_lead(int64_t stride, int64_t inner, int64_t outer) {
    return stride >= inner || outer <= 1;
}

static int64_t leading_stride(int64_t stride, int64_t inner) {
    return stride > inner ? stride : inner > 1 ? inner : 1;
}

/* A matrix of ours with element (i, j) at i * row_stride + j * column_stride. */
static bool see_operand(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                        struct operand *operand) {
    if ((column_stride == 1 || columns <= 1) && can_lead(row_stride, columns, rows)) {
        *operand = (struct operand){columns, rows, leading_stride(row_stride, columns),
                                    BLAS_OPERAND_AS_IS};
        return true;
    }
    *operand = (struct operand){rows, columns, leading_stride(column_stride, rows),
                                BLAS_OPERAND_TRANSPOSED};
    return (row_stride == 1 || rows <= 1) && can_lead(column_stride, rows, columns);
}

static unsigned blas_type(enum ridge_dtype type) {
    return type == RIDGE_F32 ? BLAS_F32 : type == RIDGE_F16 ? BLAS_F16 : BLAS_BF16;
}

static size_t element_bytes(enum ridge_dtype type) {
    return type == RIDGE_F32 ? 4 : type == RIDGE_F16 || type == RIDGE_BF16 ? 2 : 0;
}

static size_t matmul_ab_bytes(const struct device_matmul *shape) {
    return shape->signed_bytes ? 1 : element_bytes(shape->ab_type);
}

static size_t matmul_d_bytes(const struct device_matmul *shape) {
    return shape->signed_bytes ? 4 : element_bytes(shape->d_type);
}

static int32_t epilogue_of(const struct device_matmul *shape) {
    bool bias = shape->bias;
    switch (shape->activation) {
    case RIDGE_ACTIVATION_NONE:
        return bias ? BLAS_EPILOGUE_BIAS : BLAS_EPILOGUE_DEFAULT;
    case RIDGE_ACTIVATION_RELU:
        return bias ? BLAS_EPILOGUE_RELU_BIAS : BLAS_EPILOGUE_RELU;
    case RIDGE_ACTIVATION_GELU:
        return bias ? BLAS_EPILOGUE_GELU_BIAS : BLAS_EPILOGUE_GELU;
    default:
        return -1;
    }
}

/* f32 is computed exactly unless the user allows TF32, with 10 bits of mantissa. */
static unsigned compute_type(const struct device_matmul *shape) {
    const char *allowed = getenv("RIDGE_TF32");
    if (shape->signed_bytes)
        return BLAS_COMPUTE_I32;
    bool tf32 = shape->tf32 || (allowed && strcmp(allowed, "1") == 0);
    return tf32 && shape->ab_type == RIDGE_F32 ? BLAS_COMPUTE_TF32 : BLAS_COMPUTE_F32;
}

static bool create_layout(struct cuda_device *cuda, unsigned type, const struct operand *operand,
                          const struct device_matmul *shape, int64_t batch_stride,
                          blas_layout *layout, struct status *status) {
    int32_t batch = (int32_t)shape->batch;
    if (!BLAS_CALL(cuda, status, cublasLtMatrixLayoutCreate, layout, type, (uint64_t)operand->rows,
                   (uint64_t)operand->columns, operand->leading))
        return false;
    return batch == 1 || (BLAS_CALL(cuda, status, cublasLtMatrixLayoutSetAttribute, *layout,
                                    BLAS_LAYOUT_BATCH_COUNT, &batch, sizeof batch) &&
                          BLAS_CALL(cuda, status, cublasLtMatrixLayoutSetAttribute, *layout,
                                    BLAS_LAYOUT_BATCH_OFFSET, &batch_stride, sizeof batch_stride));
}

static bool create_description(struct cuda_device *cuda, struct cuda_matmul *matmul,
                               const struct operand *a, const struct operand *b,
                               struct status *status) {
    int32_t epilogue = epilogue_of(&matmul->shape);
    return BLAS_CALL(cuda, status, cublasLtMatmulDescCreate, &matmul->description,
                     compute_type(&matmul->shape),
                     matmul->shape.signed_bytes ? BLAS_I32 : BLAS_F32) &&
           BLAS_CALL(cuda, status, cublasLtMatmulDescSetAttribute, matmul->description,
                     BLAS_DESCRIPTION_TRANSPOSE_A, &b->transposed, sizeof b->transposed) &&
           BLAS_CALL(cuda, status, cublasLtMatmulDescSetAttribute, matmul->description,
                     BLAS_DESCRIPTION_TRANSPOSE_B, &a->transposed, sizeof a->transposed) &&
           BLAS_CALL(cuda, status, cublasLtMatmulDescSetAttribute, matmul->description,
                     BLAS_DESCRIPTION_EPILOGUE, &epilogue, sizeof epilogue);
}

static bool check_shape(const struct device_matmul *shape, struct operand *a, struct operand *b,
                        struct operand *d, struct status *status) {
    if (shape->m < 0 || shape->n < 0 || shape->k <= 0 || shape->batch < 0 ||
        shape->batch > INT32_MAX)
        return status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt does not support the sizes");
    if (matmul_ab_bytes(shape) == 0 || matmul_d_bytes(shape) == 0 ||
        (shape->signed_bytes && epilogue_of(shape) != BLAS_EPILOGUE_DEFAULT))
        return status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt does not support the types");
    if (epilogue_of(shape) < 0)
        return status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt does not support the activation");
    if (!see_operand(shape->m, shape->k, shape->a_row, shape->a_column, a) ||
        !see_operand(shape->k, shape->n, shape->b_row, shape->b_column, b) ||
        !see_operand(shape->m, shape->n, shape->d_row, 1, d) || d->transposed)
        return status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt does not support the strides");
    return true;
}

static void *pointer_of(cuda_address address) {
    return (void *)(uintptr_t)address;
}

static bool matmul_run(struct cuda_device *cuda, struct cuda_matmul *matmul,
                       const struct matmul_buffers *buffers, const struct blas_algorithm *algorithm,
                       const struct cuda_workspace *workspace, cuda_stream stream,
                       struct status *status) {
    static const float float_one = 1;
    static const int32_t integer_one = 1, zero = 0; /* 0 is the same bytes in both types */
    const void *one = matmul->shape.signed_bytes ? (const void *)&integer_one : &float_one;
    void *bias = pointer_of(buffers->bias), *d = pointer_of(buffers->d);
    return (!bias || BLAS_CALL(cuda, status, cublasLtMatmulDescSetAttribute, matmul->description,
                               BLAS_DESCRIPTION_BIAS_POINTER, &bias, sizeof bias)) &&
           BLAS_CALL(cuda, status, cublasLtMatmul, cuda->blas_handle, matmul->description, one,
                     pointer_of(buffers->b), matmul->a, pointer_of(buffers->a), matmul->b, &zero, d,
                     matmul->d, d, matmul->d, algorithm,
                     workspace->bytes > 0 ? pointer_of(workspace->address) : NULL, workspace->bytes,
                     stream);
}

/* ---- Choosing an algorithm ------------------------------------------------------------------- */

enum { CANDIDATES = 8, MEASURED = 5, RUNS = 3 };
static const int64_t scratch_max = (int64_t)1 << 30;
static const float enough_milliseconds = 100;

static uint64_t workspace_limit(const struct cuda_device *cuda) {
    bool large = cuda->base.capabilities.memory_bytes >= (uint64_t)12 << 30;
    return (uint64_t)(large ? 64 : 8) << 20;
}

static bool prefer(struct cuda_device *cuda, blas_preference preference,
                   const struct device_matmul *shape, uint32_t alignment, struct status *status) {
    uint64_t workspace = workspace_limit(cuda);
    uint32_t reductions = BLAS_REDUCTION_IN_F32;
    uint32_t ab = alignment ? alignment : (uint32_t)matmul_ab_bytes(shape);
    uint32_t d = alignment ? alignment : (uint32_t)matmul_d_bytes(shape);
    const struct {
        cuda_choice attribute;
        const void *value;
        size_t bytes;
    } rows[] = {
        {BLAS_PREFER_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {BLAS_PREFER_REDUCTIONS, &reductions, sizeof reductions},
        {BLAS_PREFER_ALIGNMENT_A, &ab, sizeof ab},
        {BLAS_PREFER_ALIGNMENT_B, &ab, sizeof ab},
        {BLAS_PREFER_ALIGNMENT_C, &d, sizeof d},
        {BLAS_PREFER_ALIGNMENT_D, &d, sizeof d},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        cuda_result result = cuda->blas->cublasLtMatmulPreferenceSetAttribute(
            preference, rows[i].attribute, rows[i].value, rows[i].bytes);
        if (result != BLAS_SUCCEEDED)
            return cuda_blas_failed(result, "cublasLtMatmulPreferenceSetAttribute", status);
    }
    return true;
}

/* cuBLASLt only uses the alignment of the bias' address here. */
static bool announce_bias(struct cuda_device *cuda, struct cuda_matmul *matmul, uint32_t alignment,
                          struct status *status) {
    void *address = (void *)(uintptr_t)(alignment ? alignment : matmul_d_bytes(&matmul->shape));
    if (!matmul->shape.bias)
        return true;
    cuda_result result = cuda->blas->cublasLtMatmulDescSetAttribute(
        matmul->description, BLAS_DESCRIPTION_BIAS_POINTER, &address, sizeof address);
    return result == BLAS_SUCCEEDED ||
           cuda_blas_failed(result, "cublasLtMatmulDescSetAttribute", status);
}

static bool query_heuristic(struct cuda_device *cuda, struct cuda_matmul *matmul,
                            blas_preference preference, struct blas_heuristic *candidates,
                            unsigned *count, struct status *status) {
    int found = 0;
    cuda_result result = cuda->blas->cublasLtMatmulAlgoGetHeuristic(
        cuda->blas_handle, matmul->description, matmul->a, matmul->b, matmul->d, matmul->d,
        preference, CANDIDATES, candidates, &found);
    if (result != BLAS_SUCCEEDED && result != BLAS_NOT_SUPPORTED)
        return cuda_blas_failed(result, "cublasLtMatmulAlgoGetHeuristic", status);
    *count = 0;
    for (int i = 0; result == BLAS_SUCCEEDED && i < found && i < CANDIDATES; i++)
        if (candidates[i].state == BLAS_SUCCEEDED)
            candidates[(*count)++] = candidates[i];
    return *count > 0 ||
           status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt has no algorithm for it");
}

static bool list_candidates(struct cuda_device *cuda, struct cuda_matmul *matmul,
                            uint32_t alignment, struct blas_heuristic *candidates, unsigned *count,
                            struct status *status) {
    blas_preference preference = NULL;
    cuda_result result = cuda->blas->cublasLtMatmulPreferenceCreate(&preference);
    if (result != BLAS_SUCCEEDED)
        return cuda_blas_failed(result, "cublasLtMatmulPreferenceCreate", status);
    bool listed = prefer(cuda, preference, &matmul->shape, alignment, status) &&
                  announce_bias(cuda, matmul, alignment, status) &&
                  query_heuristic(cuda, matmul, preference, candidates, count, status);
    cuda->blas->cublasLtMatmulPreferenceDestroy(preference);
    return listed;
}

/* Bytes that a strided matrix spans, up to alignment; more than scratch_max when it does not
 * fit there. */
static int64_t span(const int64_t sizes[3], const int64_t strides[3], size_t element) {
    int64_t last = 0;
    for (unsigned i = 0; i < 3; i++) {
        int64_t product;
        if (strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &product) ||
            __builtin_add_overflow(last, product, &last) || last > scratch_max)
            return scratch_max + 1;
    }
    int64_t bytes = (last + 1) * (int64_t)element;
    return (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
}

/* What measuring runs on. */
struct scratch {
    struct cuda_workspace memory, workspace;
    struct matmul_buffers buffers;
    cuda_event begin, end;
};

static bool scratch_create(struct cuda_device *cuda, const struct device_matmul *shape,
                           size_t workspace_bytes, struct scratch *scratch) {
    struct status ignored;
    size_t ab = matmul_ab_bytes(shape), element = matmul_d_bytes(shape);
    int64_t a = span((int64_t[]){shape->batch, shape->m, shape->k},
                     (int64_t[]){shape->a_batch, shape->a_row, shape->a_column}, ab);
    int64_t b = span((int64_t[]){shape->batch, shape->k, shape->n},
                     (int64_t[]){shape->b_batch, shape->b_row, shape->b_column}, ab);
    int64_t d = span((int64_t[]){shape->batch, shape->m, shape->n},
                     (int64_t[]){shape->d_batch, shape->d_row, 1}, element);
    int64_t bias = span((int64_t[]){1, 1, shape->n}, (int64_t[]){0, 0, 1}, element);
    if (a > scratch_max || b > scratch_max || d > scratch_max || bias > scratch_max ||
        a + b + d + bias > scratch_max ||
        !cuda_workspace_grow(cuda, &scratch->memory, (size_t)(a + b + d + bias), cuda->side,
                             &ignored) ||
        !cuda_workspace_grow(cuda, &scratch->workspace, workspace_bytes, cuda->side, &ignored))
        return false;
    cuda_address start = scratch->memory.address;
    scratch->buffers =
        (struct matmul_buffers){start, start + (cuda_address)a, start + (cuda_address)(a + b),
                                shape->bias ? start + (cuda_address)(a + b + d) : 0};
    scratch->begin = cuda_event_take(cuda, &cuda->times, &ignored);
    scratch->end = cuda_event_take(cuda, &cuda->times, &ignored);
    return scratch->begin && scratch->end;
}

static void scratch_destroy(struct cuda_device *cuda, struct scratch *scratch) {
    if (scratch->memory.bytes > 0)
        cuda_release(&cuda->base, (struct device_memory){.handle = scratch->memory.address});
    if (scratch->workspace.bytes > 0)
        cuda_release(&cuda->base, (struct device_memory){.handle = scratch->workspace.address});
    cuda_event_give(&cuda->times, scratch->begin);
    cuda_event_give(&cuda->times, scratch->end);
}

/* Milliseconds of the fastest of some runs; negative when the algorithm does not run. The first run
 * loads the code and does not count. */
static float measure_one(struct cuda_device *cuda, struct cuda_matmul *matmul,
                         const struct blas_algorithm *algorithm, const struct scratch *scratch) {
    struct status ignored;
    float best = -1;
    for (unsigned run = 0; run <= RUNS; run++) {
        float milliseconds = 0;
        if (!CUDA_CALL(cuda, &ignored, cuEventRecord, scratch->begin, cuda->side) ||
            !matmul_run(cuda, matmul, &scratch->buffers, algorithm, &scratch->workspace, cuda->side,
                        &ignored) ||
            !CUDA_CALL(cuda, &ignored, cuEventRecord, scratch->end, cuda->side) ||
            !CUDA_CALL(cuda, &ignored, cuEventSynchronize, scratch->end) ||
            !CUDA_CALL(cuda, &ignored, cuEventElapsedTime, &milliseconds, scratch->begin,
                       scratch->end))
            return -1;
        if (run > 0 && (best < 0 || milliseconds < best))
            best = milliseconds;
    }
    return best;
}

/* A candidate must be clearly faster than those that cuBLASLt ranks before it. */
static unsigned fastest(struct cuda_device *cuda, struct cuda_matmul *matmul,
                        const struct blas_heuristic *candidates, unsigned count,
                        const struct scratch *scratch) {
    unsigned best = 0;
    float best_time = -1, spent = 0;
    for (unsigned i = 0; i < count && i < MEASURED && spent < enough_milliseconds; i++) {
        float time = measure_one(cuda, matmul, &candidates[i].algorithm, scratch);
        if (time < 0)
            continue;
        spent += time * (RUNS + 1);
        if (best_time < 0 || time < best_time * 0.98f) {
            best = i;
            best_time = time;
        }
    }
    return best;
}

static bool choose_measured(struct cuda_device *cuda, struct cuda_matmul *matmul,
                            const struct blas_heuristic *candidates, unsigned count,
                            unsigned *chosen, struct status *status) {
    struct scratch scratch = {0};
    size_t workspace_bytes = 0;
    for (unsigned i = 0; i < count; i++)
        if (candidates[i].workspace_bytes > workspace_bytes)
            workspace_bytes = candidates[i].workspace_bytes;
    if (!cuda_wait(cuda, status)) /* running work would disturb the times */
        return false;
    if (scratch_create(cuda, &matmul->shape, workspace_bytes, &scratch))
        *chosen = fastest(cuda, matmul, candidates, count, &scratch);
    scratch_destroy(cuda, &scratch);
    return cuda_enter(cuda, status); /* fails if a candidate crashed the device */
}

/* Chooses the algorithm for one alignment: the fastest when `measure` is set and there is memory to
 * try them, else the first of cuBLASLt's. */
static bool matmul_choose(struct cuda_device *cuda, struct cuda_matmul *matmul, unsigned alignment,
                          bool measure, struct status *status) {
    static const uint32_t alignments[MATMUL_ALIGNMENTS] = {CUDA_ALIGNMENT, 16, 0};
    struct blas_heuristic candidates[CANDIDATES];
    unsigned count = 0, chosen = 0;
    memset(candidates, 0, sizeof candidates);
    if (!list_candidates(cuda, matmul, alignments[alignment], candidates, &count, status) ||
        (measure && !choose_measured(cuda, matmul, candidates, count, &chosen, status)))
        return false;
    matmul->algorithms[alignment] = (struct matmul_algorithm){true, candidates[chosen].algorithm,
                                                              candidates[chosen].workspace_bytes};
    return true;
}

/* ---- Creating and running -------------------------------------------------------------------- */

static bool create_objects(struct cuda_device *cuda, struct cuda_matmul *matmul,
                           struct status *status) {
    const struct device_matmul *shape = &matmul->shape;
    unsigned ab_type = shape->signed_bytes ? BLAS_I8 : blas_type(shape->ab_type);
    unsigned d_type = shape->signed_bytes ? BLAS_I32 : blas_type(shape->d_type);
    struct operand a, b, d;
    if (!check_shape(shape, &a, &b, &d, status))
        return false;
    matmul->empty = shape->m == 0 || shape->n == 0 || shape->batch == 0;
    if (matmul->empty)
        return true;
    return create_description(cuda, matmul, &a, &b, status) &&
           create_layout(cuda, ab_type, &b, shape, shape->b_batch, &matmul->a, status) &&
           create_layout(cuda, ab_type, &a, shape, shape->a_batch, &matmul->b, status) &&
           create_layout(cuda, d_type, &d, shape, shape->d_batch, &matmul->d, status) &&
           matmul_choose(cuda, matmul, 0, !cuda->base.capabilities.deterministic, status);
}

static bool ready(struct cuda_device *cuda, struct status *status) {
    if (!cuda->blas)
        return status_fail(status, STATUS_UNSUPPORTED, "cuBLASLt was not found");
    return cuda->blas_handle || BLAS_CALL(cuda, status, cublasLtCreate, &cuda->blas_handle);
}

bool cuda_matmul_create(struct cuda_device *cuda, const struct device_matmul *shape,
                        struct cuda_matmul **matmul, struct status *status) {
    if (!ready(cuda, status))
        return false;
    *matmul = memory_allocate(1, sizeof **matmul, status);
    if (!*matmul)
        return false;
    (*matmul)->shape = *shape;
    return create_objects(cuda, *matmul, status) ||
           status_context(status, "the product of %lld x %lld x %lld (m, n, k) of %s to %s",
                          (long long)shape->m, (long long)shape->n, (long long)shape->k,
                          shape->signed_bytes ? "signed bytes" : ridge_dtype_name(shape->ab_type),
                          ridge_dtype_name(shape->signed_bytes ? RIDGE_I32 : shape->d_type));
}

void cuda_matmul_destroy(struct cuda_device *cuda, struct cuda_matmul *matmul) {
    if (!matmul)
        return;
    if (matmul->description)
        cuda->blas->cublasLtMatmulDescDestroy(matmul->description);
    blas_layout layouts[] = {matmul->a, matmul->b, matmul->d};
    for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
        if (layouts[i])
            cuda->blas->cublasLtMatrixLayoutDestroy(layouts[i]);
    memory_free(matmul);
}

static bool read_buffers(const struct launch *launch, const struct cuda_matmul *matmul,
                         struct matmul_buffers *buffers, struct status *status) {
    unsigned expected = matmul->shape.bias ? 4 : 3;
    cuda_address addresses[4] = {0};
    if (launch->buffer_count != expected)
        return status_fail(status, STATUS_USAGE, "a product takes %u buffers, not %u", expected,
                           launch->buffer_count);
    for (unsigned i = 0; i < expected; i++)
        addresses[i] = launch->buffers[i].memory.handle + launch->buffers[i].offset;
    *buffers = (struct matmul_buffers){addresses[0], addresses[1], addresses[2], addresses[3]};
    return true;
}

/* The algorithm for the alignment of these addresses, chosen when it is first needed. */
static const struct matmul_algorithm *algorithm_for(struct cuda_device *cuda,
                                                    struct cuda_matmul *matmul,
                                                    const struct matmul_buffers *buffers,
                                                    struct status *status) {
    cuda_address all = buffers->a | buffers->b | buffers->d | buffers->bias;
    unsigned alignment = all % CUDA_ALIGNMENT == 0 ? 0 : all % 16 == 0 ? 1 : 2;
    if (!matmul->algorithms[alignment].chosen &&
        !matmul_choose(cuda, matmul, alignment, false, status))
        return NULL;
    return &matmul->algorithms[alignment];
}

bool cuda_matmul_workspace(struct cuda_device *cuda, const struct launch *launch, size_t *bytes,
                           struct status *status) {
    struct cuda_matmul *matmul = ((struct cuda_kernel *)launch->kernel)->matmul;
    struct matmul_buffers buffers;
    *bytes = 0;
    if (matmul->empty)
        return true;
    if (!read_buffers(launch, matmul, &buffers, status))
        return false;
    const struct matmul_algorithm *algorithm = algorithm_for(cuda, matmul, &buffers, status);
    if (algorithm)
        *bytes = algorithm->workspace_bytes;
    return algorithm != NULL;
}

bool cuda_matmul_enqueue(struct cuda_device *cuda, const struct launch *launch, cuda_stream stream,
                         struct cuda_workspace *workspace, struct status *status) {
    struct cuda_matmul *matmul = ((struct cuda_kernel *)launch->kernel)->matmul;
    struct matmul_buffers buffers;
    if (matmul->empty)
        return true;
    if (!read_buffers(launch, matmul, &buffers, status))
        return false;
    const struct matmul_algorithm *algorithm = algorithm_for(cuda, matmul, &buffers, status);
    return algorithm &&
           cuda_workspace_grow(cuda, workspace, algorithm->workspace_bytes, stream, status) &&
           matmul_run(cuda, matmul, &buffers, &algorithm->algorithm, workspace, stream, status);
}
