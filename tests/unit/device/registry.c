/* Opening devices by name, and listing them: every kind has a row, with the reason where it cannot
 * be used. */
#include "../test.h"

#include <stdlib.h>

#include "device/device.h"
#include "fake_opencl.h"

static void check_refused(const char *name, const char *reason) {
    struct status status = {0};
    struct device *device = NULL;
    CHECK(!device_open(name, &device, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    if (!strstr(status.message, reason))
        test_failed(__FILE__, __LINE__, "%s: %s", name, status.message);
}

TEST(the_cpu_opens_by_its_names) {
    const char *const names[] = {"cpu", "cpu:0"};
    for (size_t i = 0; i < 2; i++) {
        struct status status = {0};
        struct device *device = NULL;
        CHECK_OK(device_open(names[i], &device, &status), status);
        REQUIRE(device);
        CHECK_STRING(device->ops->name, "cpu");
        CHECK_INT(device->index, 0);
        device_close(device);
    }
}

TEST(names_that_are_none_are_refused_with_what_there_is) {
    check_refused("gpu", "unknown device \"gpu\"; the kinds are \"cpu\", \"cuda\"");
    check_refused("", "unknown device \"\"");
    check_refused("cpuX", "unknown device \"cpuX\"");
    check_refused("CPU", "\"cpu\"");
    check_refused("cpu:1", "cpu:1: this machine has only one cpu device: \"cpu:0\"");
    check_refused("cpu:", "\"\" is not a device number; use \"cpu:0\"");
    check_refused("cpu:x", "\"x\" is not a device number");
    check_refused("cpu:-1", "\"-1\" is not a device number");
    check_refused("cpu:99999999999999999999", "is not a device number");
    check_refused("cpu:4294967296", "this machine has only one cpu device");
}

/* Sets RIDGE_DEVICE for one opening of the default device. */
static bool open_by_environment(const char *value, struct device **device, struct status *status) {
    const char *before = getenv("RIDGE_DEVICE");
    char kept[64];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv("RIDGE_DEVICE", value, 1);
    bool ok = device_open(NULL, device, status);
    if (before)
        setenv("RIDGE_DEVICE", kept, 1);
    else
        unsetenv("RIDGE_DEVICE");
    return ok;
}

TEST(the_environment_chooses_the_default_device) {
    struct status status = {0};
    struct device *device = NULL;
    CHECK_OK(open_by_environment("cpu:0", &device, &status), status);
    REQUIRE(device);
    CHECK_STRING(device->ops->name, "cpu");
    device_close(device);
    CHECK(!open_by_environment("abacus", &device, &status));
    CHECK(strstr(status.message, "RIDGE_DEVICE: unknown device \"abacus\""));
}

TEST(without_a_name_some_device_opens) {
    struct status status = {0};
    struct device *device = NULL;
    CHECK_OK(open_by_environment("", &device, &status), status);
    REQUIRE(device);
    CHECK(device->capabilities.is_gpu || device->ops == &device_cpu);
    device_close(device);
}

TEST(every_kind_counts_its_devices_or_says_why_there_are_none) {
    for (unsigned i = 0; device_kinds[i]; i++) {
        struct status status = {0};
        unsigned count = 0;
        if (!device_kinds[i]->count(&count, &status) || count == 0) {
            CHECK(*status.message);
            CHECK(strcmp(device_kinds[i]->name, "cpu") != 0);
        }
    }
}

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
