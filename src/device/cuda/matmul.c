/* Matrix products by cuBLASLt.
 *
 * cuBLAS counts by columns. A row-major D = A x B is, read by columns, transpose(D) = transpose(B)
 * x transpose(A): its first operand is our B and its second our A, and what lies by rows for us
 * needs no transposing for it. Its bias runs along the rows of transpose(D), which is our n.
 */
#include "device/cuda/matmul.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

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

size_t matmul_ab_bytes(const struct device_matmul *shape) {
    return shape->signed_bytes ? 1 : element_bytes(shape->ab_type);
}

size_t matmul_d_bytes(const struct device_matmul *shape) {
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

/* f32 keeps all its bits unless the user says that 10 of them are enough. */
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
        return status_fail(status, STATUS_UNSUPPORTED, "the sizes are not for cuBLASLt");
    if (matmul_ab_bytes(shape) == 0 || matmul_d_bytes(shape) == 0 ||
        (shape->signed_bytes && epilogue_of(shape) != BLAS_EPILOGUE_DEFAULT))
        return status_fail(status, STATUS_UNSUPPORTED, "the types are not for cuBLASLt");
    if (epilogue_of(shape) < 0)
        return status_fail(status, STATUS_UNSUPPORTED, "the activation is not for cuBLASLt");
    if (!see_operand(shape->m, shape->k, shape->a_row, shape->a_column, a) ||
        !see_operand(shape->k, shape->n, shape->b_row, shape->b_column, b) ||
        !see_operand(shape->m, shape->n, shape->d_row, 1, d) || d->transposed)
        return status_fail(status, STATUS_UNSUPPORTED, "the strides are not for cuBLASLt");
    return true;
}

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
           matmul_choose(cuda, matmul, 0, true, status);
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

static void *pointer_of(cuda_address address) {
    return (void *)(uintptr_t)address;
}

bool matmul_run(struct cuda_device *cuda, struct cuda_matmul *matmul,
                const struct matmul_buffers *buffers, const struct blas_algorithm *algorithm,
                const struct cuda_workspace *workspace, cuda_stream stream, struct status *status) {
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
