/* Which of cuBLASLt's algorithms a product uses.
 *
 * cuBLASLt orders its candidates by a model. When the product is first loaded the best few are run
 * on scratch memory and the fastest is kept. Algorithms that would add up partial sums in less than
 * f32 are left out, and so are those that need a better alignment than the addresses have.
 */
#include <string.h>

#include "base/array.h"
#include "device/cuda/matmul.h"

enum { CANDIDATES = 8, MEASURED = 5, RUNS = 3 };
static const int64_t scratch_most = (int64_t)1 << 30;
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

/* cuBLASLt takes the bias' alignment from its address, and looks at no more of it here. */
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

static bool ask(struct cuda_device *cuda, struct cuda_matmul *matmul, blas_preference preference,
                struct blas_heuristic *candidates, unsigned *count, struct status *status) {
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
                  ask(cuda, matmul, preference, candidates, count, status);
    cuda->blas->cublasLtMatmulPreferenceDestroy(preference);
    return listed;
}

/* Bytes that a strided matrix spans, up to alignment; more than scratch_most when it does not
 * fit there. */
static int64_t span(const int64_t sizes[3], const int64_t strides[3], size_t element) {
    int64_t last = 0;
    for (unsigned i = 0; i < 3; i++) {
        int64_t product;
        if (strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &product) ||
            __builtin_add_overflow(last, product, &last) || last > scratch_most)
            return scratch_most + 1;
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
    if (a > scratch_most || b > scratch_most || d > scratch_most || bias > scratch_most ||
        a + b + d + bias > scratch_most ||
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

/* A candidate must be clearly faster than those that cuBLASLt puts before it. */
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
    if (!cuda_wait(cuda, status)) /* what is running would disturb the times */
        return false;
    if (scratch_create(cuda, &matmul->shape, workspace_bytes, &scratch))
        *chosen = fastest(cuda, matmul, candidates, count, &scratch);
    scratch_destroy(cuda, &scratch);
    return cuda_enter(cuda, status); /* false when a candidate took the device down */
}

bool matmul_choose(struct cuda_device *cuda, struct cuda_matmul *matmul, unsigned alignment,
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
