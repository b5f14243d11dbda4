/* gated_mlp and lora as one kernel, against sums in double; and for which operands there is one. */
#include "source_run.h"

#include "base/array.h"

static const struct device_capabilities hopper = {
    .language = LANGUAGE_CUDA,
    .compute_units = 132,
    .subgroup = 32,
    .block_max = 1024,
    .shared_bytes = 48 * 1024,
    .shared_max = 227 * 1024,
    .major = 9,
};

static struct dual_gemm_work work_of(enum kernel_family family, enum ridge_dtype type, int64_t m,
                                     int64_t n, int64_t k, int64_t rank, int64_t padding) {
    int64_t second = family == KERNEL_LORA ? rank : n;
    return (struct dual_gemm_work){
        .family = family,
        .type = type,
        .m = m,
        .n = n,
        .k = k,
        .rank = rank,
        .x = {k + padding, 16},
        .first = {n + padding, 16},
        .second = {second + padding, 16},
        .third = {n + padding, 16},
        .scale = 0.75f,
    };
}

/* Element (row, column) of a product in double, and the sum of its terms' magnitudes. */
static double product(const struct dual_gemm_work *work, const void *x, const void *matrix,
                      int64_t line, int64_t row, int64_t column, double *magnitude) {
    double sum = 0;
    for (int64_t k = 0; k < work->k; k++) {
        double term = element(x, work->type, row * work->x.row + k) *
                      element(matrix, work->type, k * line + column);
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static double expected_of(const struct dual_gemm_work *work, void *const *arrays, int64_t row,
                          int64_t column, double *magnitude) {
    double first = product(work, arrays[0], arrays[1], work->first.row, row, column, magnitude);
    if (work->family == KERNEL_GATED) {
        double second =
            product(work, arrays[0], arrays[2], work->second.row, row, column, magnitude);
        return first / (1 + exp(-first)) * second;
    }
    double low = 0;
    for (int64_t c = 0; c < work->rank; c++)
        low += product(work, arrays[0], arrays[2], work->second.row, row, c, magnitude) *
               element(arrays[3], work->type, c * work->third.row + column);
    return first + work->scale * low;
}

static void check_joint(struct device *device, const struct dual_gemm_work *work) {
    struct status status = {0};
    bool lora = work->family == KERNEL_LORA;
    int64_t counts[5] = {work->m * work->x.row, work->k * work->first.row,
                         work->k * work->second.row, work->rank * work->third.row};
    unsigned count = lora ? 5 : 4;
    counts[count - 1] = work->m * work->n;
    void *arrays[5] = {NULL};
    struct source_array buffers[5];
    for (unsigned i = 0; i < count; i++) {
        arrays[i] = noise_array(work->type, counts[i], i + 1, &status);
        REQUIRE(arrays[i]);
        buffers[i] = (struct source_array){arrays[i], ridge_dtype_bytes(work->type, counts[i]), 16};
    }
    struct kernel_request request;
    CHECK_OK(kernel_dual_gemm(work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, buffers, count, &status),
             status);
    double worst = 0;
    for (int64_t e = 0; e < work->m * work->n; e++) {
        double magnitude = 1;
        double expected = expected_of(work, arrays, e / work->n, e % work->n, &magnitude);
        double error = fabs(expected - element(arrays[count - 1], work->type, e));
        double allowed =
            (work->type == RIDGE_F16 ? 1e-3 : 8e-3) * (fabs(expected) + 0.01) + 1e-5 * magnitude;
        worst = fmax(worst, isnan(error) ? INFINITY : error / allowed);
    }
    if (worst > 1)
        test_failed(__FILE__, __LINE__,
                    "%s %s (%lld, %lld, %lld) rank %lld: %g of the allowed error",
                    lora ? "lora" : "gated", ridge_dtype_name(work->type), (long long)work->m,
                    (long long)work->n, (long long)work->k, (long long)work->rank, worst);
    for (unsigned i = 0; i < count; i++)
        memory_free(arrays[i]);
}

TEST(joint_products_agree_with_sums_in_double) {
    const struct dual_gemm_work works[] = {
        work_of(KERNEL_GATED, RIDGE_F16, 1, 64, 32, 0, 0),
        work_of(KERNEL_GATED, RIDGE_F16, 8, 100, 260, 0, 8),
        work_of(KERNEL_GATED, RIDGE_BF16, 16, 34, 68, 0, 4),
        work_of(KERNEL_GATED, RIDGE_BF16, 3, 4300, 20, 0, 0),
        work_of(KERNEL_GATED, RIDGE_F16, 9, 5000, 36, 0, 4),
        work_of(KERNEL_LORA, RIDGE_F16, 1, 256, 512, 8, 0),
        work_of(KERNEL_LORA, RIDGE_BF16, 5, 50, 64, 2, 4),
        work_of(KERNEL_LORA, RIDGE_F16, 16, 36, 100, 20, 0),
        work_of(KERNEL_LORA, RIDGE_BF16, 12, 130, 48, 64, 8),
        work_of(KERNEL_LORA, RIDGE_F16, 2, 4300, 16, 16, 0),
    };
    FOR_EACH_SOURCE_DEVICE(device)
    for (unsigned i = 0; i < ARRAY_COUNT(works); i++)
        if (kernel_dual_gemm_fits(&works[i], &device->capabilities))
            check_joint(device, &works[i]);
}

TEST(there_is_a_joint_kernel_for_few_rows_of_halves_on_matrix_units_alone) {
    struct dual_gemm_work work = work_of(KERNEL_LORA, RIDGE_F16, 16, 128, 64, 8, 0);
    struct device_capabilities device = hopper;
    CHECK(kernel_dual_gemm_fits(&work, &device));
    device.language = LANGUAGE_OPENCL;
    CHECK(!kernel_dual_gemm_fits(&work, &device));
    device = hopper;
    device.major = 7;
    CHECK(!kernel_dual_gemm_fits(&work, &device));
    work.m = 17;
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_LORA, RIDGE_F32, 1, 128, 64, 8, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_LORA, RIDGE_F16, 1, 128, 64, 0, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_GATED, RIDGE_F16, 1, 128, 0, 0, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
}

TEST(large_products_have_kernels_of_their_own) {
    struct dual_gemm_work work = work_of(KERNEL_GATED, RIDGE_F16, 8, 5120, 5120, 0, 0);
    CHECK(kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_GATED, RIDGE_F16, 8, 14336, 4096, 0, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_LORA, RIDGE_F16, 1, 4096, 4096, 32, 0);
    CHECK(kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_LORA, RIDGE_F16, 1, 4096, 4096, 64, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
}

TEST(joint_kernels_are_for_operands_that_load_in_words) {
    struct dual_gemm_work work = work_of(KERNEL_LORA, RIDGE_F16, 4, 128, 64, 7, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_LORA, RIDGE_F16, 4, 128, 64, 66, 0);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_GATED, RIDGE_F16, 4, 127, 64, 0, 1);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_GATED, RIDGE_F16, 4, 128, 62, 0, 2);
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work = work_of(KERNEL_GATED, RIDGE_F16, 4, 128, 64, 0, 0);
    work.second.alignment = 2;
    CHECK(!kernel_dual_gemm_fits(&work, &hopper));
    work.second.alignment = 4;
    CHECK(kernel_dual_gemm_fits(&work, &hopper));
    struct kernel_request request;
    struct status status = {0};
    work.m = 17;
    CHECK(!kernel_dual_gemm(&work, &hopper, &request, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
}

static bool generates(const struct dual_gemm_work *work, const struct device_capabilities *device,
                      const char *word, struct kernel_request *request) {
    struct status status = {0};
    struct kernel_generated generated = {0};
    CHECK_OK(kernel_dual_gemm(work, device, request, &status) &&
                 kernel_generate(&request->spec, device, &generated, &status),
             status);
    bool found = generated.code.source && strstr(generated.code.source, word);
    kernel_generated_finish(&generated);
    return found;
}

TEST(blocks_divide_the_terms_in_clusters_where_columns_are_few_and_the_device_can) {
    struct dual_gemm_work work = work_of(KERNEL_LORA, RIDGE_F16, 1, 2048, 2048, 8, 0);
    struct device_capabilities ampere = hopper;
    ampere.major = 8;
    struct kernel_request request;
    CHECK(generates(&work, &hopper, "__cluster_dims__(2, 1, 1)", &request));
    CHECK_INT(request.grid[0], 128);
    CHECK(!generates(&work, &ampere, "__cluster_dims__", &request));
    work = work_of(KERNEL_GATED, RIDGE_F16, 8, 4096, 4096, 0, 0);
    CHECK(!generates(&work, &hopper, "__cluster_dims__", &request));
    CHECK_INT(request.grid[0], 128);
}
