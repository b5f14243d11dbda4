/* Options of a device, and the time of a region. */
#include <ridge.h>
#include <stdint.h>
#include <string.h>

#include "../test.h"

TEST(threads_and_ordinal_are_options) {
    struct ridge_device_options options = {.name = "cpu", .threads = 3};
    struct ridge_device_info info = {.name = ""};
    ridge_device *device = ridge_device_open_with(&options);
    CHECK(ridge_device_describe(device, &info));
    CHECK_INT(info.compute_units, 3);
    ridge_device_close(device);
    options.ordinal = 1;
    CHECK(!ridge_device_open_with(&options));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_USAGE);
    options = (struct ridge_device_options){.ordinal = 1};
    CHECK(!ridge_device_open_with(&options));
    options = (struct ridge_device_options){.name = "cpu", .threads = 100000};
    CHECK(!ridge_device_open_with(&options));
    ridge_error_clear();
    device = ridge_device_open_with(NULL);
    CHECK(device);
    ridge_device_close(device);
}

TEST(the_memory_limit_counts_tensors_and_idle_buffers) {
    struct ridge_device_options options = {.name = "cpu", .memory_limit = 3 << 20};
    ridge_device *device = ridge_device_open_with(&options);
    const int64_t one[] = {1 << 18}, two[] = {2 << 18};
    ridge_release(ridge_zeros(device, RIDGE_F32, 1, two)); /* idle: makes room */
    ridge_tensor *kept[3];
    for (int i = 0; i < 3; i++)
        CHECK((kept[i] = ridge_zeros(device, RIDGE_F32, 1, one)));
    CHECK(!ridge_zeros(device, RIDGE_F32, 1, one));
    CHECK_INT(ridge_error_code(), RIDGE_ERROR_MEMORY);
    CHECK(strstr(ridge_error_message(), "memory limit of 3"));
    ridge_error_clear();
    ridge_release(kept[0]);
    CHECK(ridge_zeros(device, RIDGE_F32, 1, one));
    ridge_device_close(device);
}

/* Sums of long rows, products that are cut along k, and attention whose keys are cut. */
static void results(unsigned threads, float *out) {
    struct ridge_device_options options = {
        .name = "cpu", .threads = threads, .deterministic = true};
    ridge_device *device = ridge_device_open_with(&options);
    const int64_t row[] = {1 << 20}, a[] = {2, 16384}, b[] = {16384, 24}, q[] = {1, 1, 1, 64},
                  k[] = {1, 1, 4096, 64};
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 1, row, 1);
    CHECK(ridge_to_floats(ridge_sum(x, 0, NULL, false), out, 1));
    ridge_tensor *product = ridge_matmul(ridge_randn(device, RIDGE_F32, 2, a, 2),
                                         ridge_randn(device, RIDGE_F32, 2, b, 3));
    CHECK(ridge_to_floats(product, out + 1, 48));
    ridge_tensor *keys = ridge_randn(device, RIDGE_F32, 4, k, 4);
    ridge_tensor *mixed =
        ridge_attention(ridge_randn(device, RIDGE_F32, 4, q, 5), keys, keys, 0.125f, false);
    CHECK(ridge_to_floats(mixed, out + 49, 64));
    ridge_device_close(device);
}

TEST(deterministic_results_do_not_depend_on_the_number_of_threads) {
    float one[113], other[113];
    results(1, one);
    for (unsigned threads = 2; threads <= 24; threads += 11) {
        results(threads, other);
        CHECK(memcmp(one, other, sizeof one) == 0);
    }
}

TEST(a_region_has_the_time_and_work_of_what_ran_in_it) {
    ridge_device *device = ridge_device_open("cpu");
    const int64_t sizes[] = {64, 64};
    float values[64 * 64];
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, sizes, 1);
    struct ridge_region region;
    CHECK(!ridge_region_end(device, &region));
    ridge_error_clear();
    CHECK(ridge_region_begin(device));
    CHECK(!ridge_region_begin(device));
    CHECK(!ridge_trace_begin(device, test_temporary(".ridge")));
    ridge_error_clear();
    ridge_tensor *y = ridge_matmul(x, x);
    CHECK(ridge_to_host(y, values, sizeof values));
    CHECK(ridge_region_end(device, &region));
    CHECK_INT(region.kernels, 1);
    CHECK_INT(region.copies, 1);
    CHECK_INT(region.flops, 2 * 64 * 64 * 64);
    CHECK_INT(region.kernel_bytes,
              3 * sizeof values); /* an operand that is read twice counts twice */
    CHECK_INT(region.copy_bytes, sizeof values);
    CHECK(region.busy_seconds > 0 && region.seconds >= region.busy_seconds);
    CHECK(ridge_region_begin(device));
    CHECK(ridge_region_end(device, &region));
    CHECK(region.kernels == 0 && region.seconds == 0);
    CHECK(ridge_region_begin(device));
    ridge_add(x, x);
    ridge_device_close(device);
}

TEST(a_region_within_a_trace_leaves_the_trace_whole) {
    ridge_device *device = ridge_device_open("cpu");
    const char *path = test_temporary(".ridge");
    struct ridge_region region;
    CHECK(ridge_trace_begin(device, path));
    ridge_tensor *x = ridge_arange(device, RIDGE_F32, 100, 0, 1);
    CHECK(ridge_region_begin(device));
    ridge_add(x, x);
    CHECK(!ridge_trace_end(device));
    ridge_error_clear();
    CHECK(ridge_region_end(device, &region));
    CHECK_INT(region.kernels, 1);
    CHECK(ridge_trace_end(device));
    ridge_device_close(device);
}
