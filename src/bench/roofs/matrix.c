/* How fast are a GPU's matrix units? As fast as the vendor's library gets them on large products of
 * random numbers: zeros would draw less power and run at a higher clock.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "bench/roofs/methods.h"

struct product {
    enum roof_id roof;
    enum ridge_dtype dtype;
    bool tf32, signed_bytes;
    const char *words;
};

static const struct product products[] = {
    {ROOF_MATRIX_F32, RIDGE_F32, true, false, "tf32"},
    {ROOF_MATRIX_F16, RIDGE_F16, false, false, "f16"},
    {ROOF_MATRIX_BF16, RIDGE_BF16, false, false, "bf16"},
    {ROOF_MATRIX_INT8, RIDGE_F32, false, true, "signed bytes, to i32"},
};
enum { PRODUCTS = ARRAY_COUNT(products), SIZES = 2, BURSTS = 2 };
#define REST_NS 200000000
static const int64_t sizes[SIZES] = {4096, 8192};

/* A x B with the neighbors along k side by side in both, the layout that all types have. */
static struct device_matmul shape_of(const struct product *product, int64_t size) {
    return (struct device_matmul){
        .ab_type = product->dtype,
        .d_type = product->dtype,
        .tf32 = product->tf32,
        .signed_bytes = product->signed_bytes,
        .m = size,
        .n = size,
        .k = size,
        .batch = 1,
        .a_row = size,
        .a_column = 1,
        .b_row = 1,
        .b_column = size,
        .d_row = size,
    };
}

struct library_product {
    struct device_kernel *kernel;
    struct launch launch;
    struct roof_launches launches;
};

static bool load_products(const struct roof_bench *bench, const struct product *product,
                          const struct launch_buffer *buffers, struct library_product *loaded,
                          struct roof_method *methods, unsigned *count, struct status *status) {
    /* Of few measurements, those of the larger product. */
    for (unsigned i = bench->quick ? SIZES - 1 : 0; i < SIZES; i++) {
        struct library_product *row = &loaded[*count];
        struct kernel_code code = {
            .kind = CODE_MATMUL, .name = "product", .matmul = shape_of(product, sizes[i])};
        if (!bench->device->ops->load(bench->device, &code, &row->kernel, status))
            return false;
        row->launch = (struct launch){.kernel = row->kernel,
                                      .grid = {1, 1, 1},
                                      .block = {1, 1, 1},
                                      .buffer_count = 3,
                                      .buffers = buffers};
        row->launches = (struct roof_launches){bench->device, &row->launch, 1, NULL};
        methods[*count] = (struct roof_method){.work = {&row->launches, roof_launch_batch},
                                               .amount = 2.0 * (double)sizes[i] * (double)sizes[i] *
                                                         (double)sizes[i]};
        snprintf(methods[*count].how, sizeof methods->how,
                 "product of %lld x %lld by the library, %s", (long long)sizes[i],
                 (long long)sizes[i], product->words);
        (*count)++;
    }
    return true;
}

static void rest(void) {
    struct timespec time = {.tv_nsec = REST_NS};
    nanosleep(&time, NULL);
}

/* In short bursts after a rest: under a longer load the chip meets its power cap and slows down,
 * and shorter work would exceed the roof. The sustained rate is reported too. */
static bool measure_bursts(const struct roof_bench *bench, const struct roof_method *methods,
                           unsigned count, struct roof *roof, struct status *status) {
    struct roof_bench burst = *bench;
    struct roof sustained = {0};
    burst.quick = true;
    for (unsigned i = 0; i < count * BURSTS; i++) {
        rest();
        if (!roof_best(&burst, &methods[i % count], 1, roof, status))
            return false;
    }
    if (bench->quick)
        return true;
    if (!roof_best(bench, methods, count, &sustained, status))
        return false;
    size_t used = strlen(roof->how);
    snprintf(roof->how + used, sizeof roof->how - used, "; %.0f T when sustained",
             sustained.value / 1e12);
    return true;
}

static bool measure_product(const struct roof_bench *bench, const struct product *product,
                            const struct launch_buffer *buffers, struct status *status) {
    struct library_product loaded[SIZES] = {0};
    struct roof_method methods[SIZES];
    unsigned count = 0;
    bool measured = load_products(bench, product, buffers, loaded, methods, &count, status) &&
                    measure_bursts(bench, methods, count, &bench->roofs->of[product->roof], status);
    for (unsigned i = 0; i < SIZES; i++)
        if (loaded[i].kernel)
            bench->device->ops->unload(bench->device, loaded[i].kernel);
    return measured || roof_without(&bench->roofs->of[product->roof], status);
}

static bool measure_products(const struct roof_bench *bench, const struct launch_buffer *buffers,
                             struct status *status) {
    for (unsigned i = 0; i < PRODUCTS; i++)
        if (!roof_fill(bench, buffers[0].memory, products[i].dtype, true, status) ||
            !roof_fill(bench, buffers[1].memory, products[i].dtype, true, status) ||
            !measure_product(bench, &products[i], buffers, status))
            return false;
    return true;
}

static void all_absent(const struct roof_bench *bench, const char *why) {
    for (unsigned i = 0; i < PRODUCTS; i++)
        roof_absent(&bench->roofs->of[products[i].roof], why);
}

bool roof_measure_matrix(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct launch_buffer buffers[3] = {0};
    if (bench->capabilities->language == LANGUAGE_NATIVE ||
        bench->capabilities->language == LANGUAGE_METAL)
        return true; /* instructions of the processor: measured with its arithmetic */
    if (!bench->capabilities->library_matmul) {
        all_absent(bench, bench->capabilities->language == LANGUAGE_CUDA ? "cuBLASLt was not found"
                          : bench->capabilities->language == LANGUAGE_OPENCL
                              ? "OpenCL offers none"
                              : "not measured on this kind of device");
        return true;
    }
    size_t bytes = (size_t)(sizes[SIZES - 1] * sizes[SIZES - 1]) * 4;
    bool measured = true;
    for (unsigned i = 0; i < 3 && measured; i++)
        measured = ops->allocate(bench->device, bytes, &buffers[i].memory, status);
    if (!measured && status->code == STATUS_MEMORY) {
        all_absent(bench, "the device has too little memory for the matrices");
        *status = (struct status){0};
        measured = true;
    } else {
        measured = measured && measure_products(bench, buffers, status);
    }
    for (unsigned i = 0; i < 3; i++)
        if (buffers[i].memory.handle)
            ops->release(bench->device, buffers[i].memory);
    return measured || status_context(status, "measuring matrix units");
}
