/* Memory of the host that copies go from and to directly: on the CPU, and on fakes of the two
 * drivers, which also show that nothing is left when a device closes. Signed bytes as a product's
 * type, on a GPU. */
#include "../test.h"

#include <stdlib.h>

#include "device/device.h"
#include "abi/opencl_driver.h"
#include "fake_cuda.h"
#include "fake_opencl.h"

enum { BYTES = 384 << 10 };

/* There and back through pinned memory, of which one piece is left to the device's closing. */
static void check_round_trip(const struct device_ops *ops) {
    struct status status = {0};
    struct device *device = NULL;
    struct device_memory memory;
    void *host = NULL, *left = NULL;
    CHECK_OK(ops->open(0, &device, &status), status);
    if (!device)
        return;
    CHECK_OK(ops->allocate(device, BYTES, &memory, &status), status);
    CHECK_OK(ops->host_allocate(device, BYTES, &host, &status), status);
    CHECK_OK(ops->host_allocate(device, 100, &left, &status), status);
    REQUIRE(host && left);
    for (int i = 0; i < BYTES; i++)
        ((char *)host)[i] = (char)(i * 31 >> 3);
    CHECK_OK(ops->copy_in(device, 0, memory, 0, host, BYTES, NULL, &status), status);
    CHECK_OK(ops->finish(device, &status), status);
    memset(host, 0, BYTES);
    CHECK_OK(ops->copy_out(device, 0, host, memory, 0, BYTES, NULL, &status), status);
    for (int i = 0; i < BYTES; i += 997)
        CHECK_INT(((char *)host)[i], (char)(i * 31 >> 3));
    ops->host_release(device, host);
    ops->host_release(device, NULL);
    ops->close(device);
}

TEST(pinned_memory_of_the_cpu_is_plain_memory) {
    check_round_trip(&device_cpu);
}

TEST(pinned_memory_is_copied_without_a_detour_on_cuda) {
    fake_cuda_use();
    check_round_trip(&device_cuda);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda_remove();
}

TEST(a_copy_from_pinned_memory_is_under_way_until_the_device_is_waited_for) {
    struct status status = {0};
    struct device *device = NULL;
    struct device_memory memory;
    void *host;
    char back = 0;
    fake_cuda_use();
    CHECK_OK(device_cuda.open(0, &device, &status), status);
    REQUIRE(device);
    CHECK_OK(device_cuda.allocate(device, 16, &memory, &status), status);
    CHECK_OK(device_cuda.host_allocate(device, 16, &host, &status), status);
    memset(host, 1, 16);
    CHECK_OK(device_cuda.copy_in(device, 0, memory, 0, host, 16, NULL, &status), status);
    memset(host, 2, 16); /* too early */
    CHECK_OK(device_cuda.copy_out(device, 0, &back, memory, 0, 1, NULL, &status), status);
    CHECK_INT(back, 2);
    device_cuda.close(device);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda_remove();
}

TEST(pinned_memory_of_opencl_is_a_mapped_buffer) {
    int live = fake_opencl.live;
    opencl_driver_replace(fake_opencl_start());
    check_round_trip(&device_opencl);
    CHECK_INT(fake_opencl.live, live);
    opencl_driver_replace(NULL);
}

TEST(pinned_memory_that_cannot_be_had_leaves_nothing) {
    struct status status = {0};
    struct device *device = NULL;
    void *host;
    fake_cuda_use();
    CHECK_OK(device_cuda.open(0, &device, &status), status);
    REQUIRE(device);
    fake_cuda.error = 2; /* out of memory */
    fake_cuda.fail_at = fake_cuda.calls + 1;
    CHECK(!device_cuda.host_allocate(device, 16, &host, &status));
    CHECK(strstr(status.message, "pinned memory"));
    fake_cuda.fail_at = 0;
    device_cuda.close(device);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda_remove();
}

/* ---- Products of signed bytes ------------------------------------------------------------- */

TEST(a_product_of_signed_bytes_takes_no_epilogue) {
    struct status status = {0};
    struct device *device = NULL;
    struct device_kernel *kernel;
    struct kernel_code code = {.kind = CODE_MATMUL,
                               .name = "product",
                               .matmul = {.signed_bytes = true,
                                          .m = 16,
                                          .n = 16,
                                          .k = 16,
                                          .batch = 1,
                                          .a_row = 16,
                                          .a_column = 1,
                                          .b_row = 1,
                                          .b_column = 16,
                                          .d_row = 16,
                                          .activation = RIDGE_ACTIVATION_RELU}};
    fake_cuda_use();
    CHECK_OK(device_cuda.open(0, &device, &status), status);
    REQUIRE(device);
    CHECK(!device_cuda.load(device, &code, &kernel, &status));
    CHECK(status.code == STATUS_UNSUPPORTED && strstr(status.message, "signed bytes"));
    device_cuda.close(device);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda_remove();
}

TEST(products_of_signed_bytes_are_exact_on_a_gpu) {
    enum { SIZE = 64 };
    struct status status = {0};
    struct device *device = NULL;
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[3] = {0};
    int8_t a[SIZE * SIZE], b[SIZE * SIZE];
    int32_t d[SIZE * SIZE];
    struct kernel_code code = {.kind = CODE_MATMUL,
                               .name = "product",
                               .matmul = {.signed_bytes = true,
                                          .m = SIZE,
                                          .n = SIZE,
                                          .k = SIZE,
                                          .batch = 1,
                                          .a_row = SIZE,
                                          .a_column = 1,
                                          .b_row = 1,
                                          .b_column = SIZE,
                                          .d_row = SIZE}};
    if (!device_cuda.open(0, &device, &status) || !device->capabilities.library_matmul) {
        test_skip("no CUDA GPU with cuBLASLt here");
        device_close(device);
        return;
    }
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (int8_t)(i * 37 >> 2);
        b[i] = (int8_t)(i * 53 >> 3);
    }
    for (unsigned i = 0; i < 3; i++)
        CHECK_OK(device_cuda.allocate(device, sizeof d, &buffers[i].memory, &status), status);
    CHECK_OK(device_cuda.copy_in(device, 0, buffers[0].memory, 0, a, sizeof a, NULL, &status),
             status);
    CHECK_OK(device_cuda.copy_in(device, 0, buffers[1].memory, 0, b, sizeof b, NULL, &status),
             status);
    CHECK_OK(device_cuda.load(device, &code, &kernel, &status), status);
    if (kernel) {
        struct launch launch = {.kernel = kernel,
                                .grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .buffer_count = 3,
                                .buffers = buffers};
        CHECK_OK(device_cuda.launch(device, 0, &launch, NULL, &status), status);
        CHECK_OK(device_cuda.copy_out(device, 0, d, buffers[2].memory, 0, sizeof d, NULL, &status),
                 status);
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                int32_t sum = 0;
                for (int k = 0; k < SIZE; k++)
                    sum += a[i * SIZE + k] * b[j * SIZE + k];
                CHECK_INT(d[i * SIZE + j], sum);
            }
    }
    device_cuda.close(device);
}
