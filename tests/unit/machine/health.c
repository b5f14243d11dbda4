/* Readings from recorded system files, and the disturbances between two readings. */
#include "../test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "abi/nvml.h"
#include "device/device.h"
#include "machine/health.h"

static const struct health nothing = {
    .clock_mhz = -1,
    .clock_max_mhz = -1,
    .memory_clock_mhz = -1,
    .temperature_c = -1,
    .power_w = -1,
    .power_limit_w = -1,
    .throttle_reasons = -1,
    .throttle_count = -1,
    .stolen_ns = -1,
    .other_ns = -1,
    .process_count = -1,
};

/* ---- Recorded files ------------------------------------------------------------------------- */

#ifdef __linux__
static const struct {
    const char *path, *content;
} recorded[] = {
    {"/proc", NULL},
    {"/proc/stat", "cpu  5000 100 900 100000 50 10 90 300 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"},
    {"/proc/77", NULL},
    {"/proc/77/task", NULL},
    {"/proc/77/task/77", NULL},
    {"/proc/77/task/77/children", "78 79 "},
    {"/proc/78", NULL},
    {"/proc/78/stat", "78 (a (b) c) S 77 77 77 0 -1 4194304 10 0 0 0 150 50 9 9 20 0 1 0 5 6 7\n"},
    {"/sys", NULL},
    {"/sys/devices", NULL},
    {"/sys/devices/system", NULL},
    {"/sys/devices/system/cpu", NULL},
    {"/sys/devices/system/cpu/cpu0", NULL},
    {"/sys/devices/system/cpu/cpu0/cpufreq", NULL},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4900000\n"},
    {"/sys/devices/system/cpu/cpu0/thermal_throttle", NULL},
    {"/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"},
    {"/sys/devices/system/cpu/cpu1", NULL},
    {"/sys/devices/system/cpu/cpu1/cpufreq", NULL},
    {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3600000\n"},
    {"/sys/devices/system/cpu/cpu1/thermal_throttle", NULL},
    {"/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n"},
};
enum { RECORDED = ARRAY_COUNT(recorded) };

static bool write_recorded(const char *root, unsigned number, const char *content) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, recorded[number].path);
    if (!recorded[number].content)
        return mkdir(path, 0700) == 0;
    FILE *file = fopen(path, "w");
    return file && fputs(content, file) >= 0 && fclose(file) == 0;
}

static char *lay_out(void) {
    struct status status = {0};
    char *root = NULL;
    if (!temporary_folder(&root, &status))
        return NULL;
    for (unsigned i = 0; i < RECORDED; i++)
        CHECK(write_recorded(root, i, recorded[i].content));
    return root;
}

static void clear_away(char *root) {
    for (unsigned i = RECORDED; i-- > 0;) {
        char path[512];
        snprintf(path, sizeof path, "%s%s", root, recorded[i].path);
        remove(path);
    }
    rmdir(root);
    memory_free(root);
}

TEST(a_reading_tells_clocks_throttling_and_who_used_the_processors) {
    char *root = lay_out();
    REQUIRE(root);
    struct health reading = nothing;
    double tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
    health_read_processor(root, 77, 1000 * tick, &reading);
    CHECK(reading.clock_mhz == 3600);
    CHECK(reading.clock_max_mhz == 4900);
    CHECK_INT(reading.throttle_count, 7);
    CHECK(reading.stolen_ns == 300 * tick);
    /* 6100 busy, of which 1000 are ours and 200 our child's; the other child is gone. */
    CHECK(reading.other_ns == 4900 * tick);
    CHECK(reading.power_w == -1 && reading.throttle_reasons == -1);
    clear_away(root);
}

TEST(damaged_system_files_tell_nothing) {
    static const char *const damaged[] = {"", "cpu", "cpu  1 2 3", "intr 1 2 3 4 5 6 7 8 9",
                                          "\n\n"};
    char *root = lay_out();
    REQUIRE(root);
    for (unsigned i = 0; i < ARRAY_COUNT(damaged); i++) {
        struct health reading = nothing;
        CHECK(write_recorded(root, 1, damaged[i]));
        health_read_processor(root, 77, 0, &reading);
        CHECK(reading.other_ns == -1 && reading.stolen_ns == -1);
    }
    clear_away(root);
}
#endif

TEST(a_system_without_such_files_tells_nothing) {
    struct health reading = nothing;
    health_read_processor("/nonexistent", 1, 0, &reading);
    CHECK(memcmp(&reading, &nothing, sizeof reading) == 0);
}

/* ---- Two readings --------------------------------------------------------------------------- */

static bool says(const struct health *before, const struct health *after, const char *expected) {
    char words[160];
    bool disturbed = health_disturbed(before, after, words, sizeof words);
    CHECK_STRING(words, expected);
    return disturbed;
}

TEST(a_quiet_machine_is_not_disturbed) {
    struct health before = nothing, after = nothing;
    after.time = 1000000000;
    CHECK(!says(&before, &after, ""));
    before.other_ns = after.other_ns = 5e9;
    after.other_ns += 15e6; /* one tick or so */
    before.throttle_reasons = after.throttle_reasons = NVML_IDLE;
    CHECK(!says(&before, &after, ""));
}

TEST(throttling_is_named_with_its_reason) {
    struct health before = nothing, after = nothing;
    after.throttle_reasons = NVML_POWER_CAP;
    CHECK(says(&before, &after, "throttled: power cap"));
    before.throttle_reasons = NVML_HARDWARE_HEAT;
    CHECK(says(&before, &after, "throttled: power cap; throttled: temperature"));
    before = after = nothing;
    before.throttle_count = 3;
    after.throttle_count = 4;
    CHECK(says(&before, &after, "throttled: CPU temperature"));
}

TEST(a_clock_that_fell_is_told_unless_the_gpu_went_idle) {
    struct health before = nothing, after = nothing;
    before.clock_mhz = 1980;
    after.clock_mhz = 1200;
    CHECK(says(&before, &after, "the clock dropped from 1980 to 1200 MHz"));
    after.throttle_reasons = NVML_IDLE;
    CHECK(!says(&before, &after, ""));
}

TEST(others_that_use_the_processors_are_told_by_their_share) {
    struct health before = nothing, after = nothing;
    double all = 1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    before.other_ns = before.stolen_ns = 7e9;
    after.other_ns = 7e9 + all / 4;
    after.stolen_ns = 7e9 + all / 10;
    after.time = 1000000000;
    CHECK(says(&before, &after,
               "other programs used about 30 % of the CPU time; the hypervisor took about 10 % "
               "of the CPU time"));
    char words[16];
    CHECK(health_disturbed(&before, &after, words, sizeof words));
    CHECK_INT(strlen(words), sizeof words - 1);
}

TEST(a_watch_reads_this_machine) {
    struct device *device;
    struct status status = {0};
    struct health before, after;
    REQUIRE(device_open("cpu", &device, &status));
    struct health_watch *watch = health_open(device_nvidia_uuid(device));
    REQUIRE(watch);
    health_read(watch, &before);
    health_read(watch, &after);
    CHECK(after.time >= before.time);
#ifdef __linux__
    CHECK(before.other_ns >= 0 && after.other_ns >= 0);
#endif
    health_close(watch);
    health_close(NULL);
    device_close(device);
}

/* ---- Other processes on the GPU ---- */

TEST(a_busy_process_that_is_there_without_the_program_shares_the_gpu) {
    struct gpu_users none = {.count = 0}, unknown = {.count = -1},
                     idle = {.count = 1, .list = {{4000000001u, 0}}},
                     unsure = {.count = 1, .list = {{4000000001u, -1}}},
                     busy = {.count = 2, .list = {{4000000001u, 0}, {4000000002u, 0.4}}};
    char words[100];
    CHECK(!health_gpu_shared(&none, &none, words, sizeof words));
    CHECK(!health_gpu_shared(&unknown, &unknown, words, sizeof words));
    CHECK(!health_gpu_shared(&idle, &idle, words, sizeof words));
    CHECK_STRING(words, "");
    CHECK(health_gpu_shared(&unsure, &unsure, words, sizeof words));
    CHECK_STRING(words, "another process used the GPU (pid 4000000001)");
    CHECK(health_gpu_shared(&unsure, &none, words, sizeof words)); /* it ended */
    CHECK(health_gpu_shared(&none, &busy, words, sizeof words));
    CHECK_STRING(words, "another process used the GPU (pid 4000000002)");
    CHECK(health_gpu_shared(&unsure, &busy, words, sizeof words));
}
