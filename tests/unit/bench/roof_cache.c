/* Cached roofs are found by the device's name in a trace, and become its limits. */
#include "../test.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/roofs/roof_cache.h"

static struct roofs made_up(const char *description, bool quick) {
    struct roofs roofs = {.quick = quick, .cache_bytes = 50 << 20, .transfer_count = 3};
    snprintf(roofs.description, sizeof roofs.description, "%s", description);
    snprintf(roofs.driver, sizeof roofs.driver, "CUDA 13.0 (driver 580.1)");
    roofs.of[ROOF_MEMORY_COPY].value = quick ? 3e12 : 4e12;
    roofs.of[ROOF_MEMORY_READ].value = 5e12; /* no limit of the analysis */
    roofs.of[ROOF_LAUNCH].value = 2990.5;
    roofs.transfers[0] =
        (struct transfer_roof){.bytes = 64 << 20, .to_device = true, .pinned = true};
    roofs.transfers[0].roof.value = 55e9;
    roofs.transfers[1] =
        (struct transfer_roof){.bytes = 4 << 10, .to_device = true, .pinned = true};
    roofs.transfers[1].roof.value = 1e9;
    roofs.transfers[2] = (struct transfer_roof){.bytes = 4 << 10};
    roofs.transfers[2].roof.value = 2e9;
    return roofs;
}

TEST(roofs_become_limits_with_the_rate_of_the_largest_transfer) {
    struct roofs roofs = made_up("GPU X", false);
    struct limits limits;
    roofs_as_limits(&roofs, &limits);
    CHECK(limits.of[DEVICE_LIMIT_MEMORY] == 4e12);
    CHECK(limits.of[DEVICE_LIMIT_LAUNCH] == 2990.5);
    CHECK(limits.of[DEVICE_LIMIT_TO_DEVICE_PINNED] == 55e9);
    CHECK(limits.of[DEVICE_LIMIT_TO_HOST_PAGEABLE] == 2e9);
    CHECK(limits.of[DEVICE_LIMIT_CACHE_BYTES] == 50 << 20);
    CHECK_INT(limits.source[DEVICE_LIMIT_MEMORY], LIMIT_MEASURED);
    CHECK_INT(limits.source[DEVICE_LIMIT_TO_HOST_PINNED], LIMIT_UNKNOWN);
}

struct rows {
    unsigned count;
    char first[64], memory[64];
};

static void take_row(void *to, const char *key, const char *value) {
    struct rows *rows = to;
    if (rows->count++ == 0)
        snprintf(rows->first, sizeof rows->first, "%s=%s", key, value);
    if (strcmp(key, "roof.0.memory_copy") == 0)
        snprintf(rows->memory, sizeof rows->memory, "%s", value);
}

TEST(roofs_become_meta_rows_behind_the_devices_name) {
    struct roofs roofs = made_up("GPU X", false);
    struct rows rows = {0};
    roofs_as_meta(&roofs, "0", take_row, &rows);
    CHECK_INT(rows.count, 6);
    CHECK_STRING(rows.first, "roof.0.name=GPU X");
    CHECK_STRING(rows.memory, "4e+12");
}

static void remove_folder(const char *folder) {
    char path[1024];
    DIR *listing = opendir(folder);
    struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (listing)
        closedir(listing);
    rmdir(folder);
}

static void check_found_by_name(void) {
    struct roofs roofs, quick = made_up("GPU X", true), thorough = made_up("GPU X", false);
    CHECK(!roofs_cache_find(NULL, "GPU X", NULL, &roofs));
    roofs_cache_store("cuda", &quick);
    CHECK(roofs_cache_find("cuda", "GPU X", NULL, &roofs));
    CHECK(roofs.of[ROOF_MEMORY_COPY].value == 3e12);
    roofs_cache_store("cuda", &thorough);
    CHECK(roofs_cache_find(NULL, "GPU X", "580.1", &roofs));
    CHECK(roofs.of[ROOF_MEMORY_COPY].value == 4e12);
    CHECK(!roofs_cache_find(NULL, "GPU X", "999.9", &roofs));
    CHECK(!roofs_cache_find("opencl", "GPU X", NULL, &roofs));
    CHECK(!roofs_cache_find(NULL, "GPU Y", NULL, &roofs));
    CHECK(!roofs_cache_find(NULL, "", NULL, &roofs));
}

TEST(kept_roofs_are_found_by_name_thorough_ones_first) {
    const char *folder = test_temporary("-cache"), *set = getenv("RIDGE_CACHE");
    char *before = set ? strdup(set) : NULL;
    setenv("RIDGE_CACHE", folder, 1);
    check_found_by_name();
    remove_folder(folder);
    if (before)
        setenv("RIDGE_CACHE", before, 1);
    else
        unsetenv("RIDGE_CACHE");
    free(before);
}
