/* The list of devices: every kind has a row, and one that cannot be used says why. */
#include "device/list.h"

#include "../test.h"
#include "device/device.h"
#include "fake_opencl.h"

enum { CAPACITY = 64 };

static const struct ridge_device_info *row_called(const struct ridge_device_info *rows,
                                                  size_t count, const char *name) {
    for (size_t i = 0; i < count && i < CAPACITY; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

TEST(the_list_has_every_device_usable_or_with_a_reason) {
    static struct ridge_device_info rows[CAPACITY];
    opencl_driver_replace(fake_opencl_start());
    size_t count = device_list(rows, CAPACITY);
    const struct ridge_device_info *gpu = row_called(rows, count, "opencl:0");
    const struct ridge_device_info *old = row_called(rows, count, "opencl:1");
    const struct ridge_device_info *cpu = row_called(rows, count, "cpu");
    opencl_driver_replace(NULL);
    REQUIRE(gpu && old && cpu);
    CHECK(gpu->usable && cpu->usable && !old->usable);
    CHECK_STRING(gpu->description, "Fake GPU");
    CHECK_STRING(gpu->problem, "");
    CHECK_INT(gpu->memory_bytes, FAKE_MEMORY);
    CHECK_STRING(old->description, "Old Board");
    CHECK(strstr(old->problem, "needs OpenCL 1.2"));
}

TEST(a_kind_without_devices_has_a_row_that_says_why) {
    static struct ridge_device_info rows[CAPACITY];
    opencl_driver_replace(fake_opencl_start());
    fake_opencl.empty = true;
    size_t count = device_list(rows, CAPACITY);
    const struct ridge_device_info *row = row_called(rows, count, "opencl");
    opencl_driver_replace(NULL);
    REQUIRE(row);
    CHECK(!row->usable && strstr(row->problem, "install"));
}

TEST(the_list_counts_what_does_not_fit_and_writes_no_more_than_fits) {
    struct ridge_device_info rows[3];
    memset(rows, 0x55, sizeof rows);
    opencl_driver_replace(fake_opencl_start());
    size_t all = device_list(NULL, 0);
    CHECK_INT(device_list(rows, 2), all);
    opencl_driver_replace(NULL);
    CHECK(all >= 5); /* cuda's row, three of the fake driver, the CPU */
    CHECK(rows[1].name[0] != 0x55);
    CHECK_INT(rows[2].name[0], 0x55);
}
