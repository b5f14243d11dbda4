/* Reads the processor's properties: /proc and /sys on Linux, sysctl on macOS. None is needed for
 * correctness: unknown ones stay 0 or "". */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity() */
#endif
#include "device/cpu/processor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

#include "base/text.h"
#include "base/x86.h"

enum { CPU_ALIGNMENT = 64, CPU_QUEUES = 2, SHARED_MAX = 1 << 30 };

#ifdef __linux__
/* The first bytes of a kernel file, terminated; "" if it does not exist. */
static void read_start(const char *path, char *content, size_t capacity) {
    ssize_t length = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, content, capacity - 1);
        close(fd);
    }
    content[length > 0 ? length : 0] = 0;
}

/* The decimal number at the start of a file; 0 if there is none. */
static uint64_t read_number(const char *path) {
    char content[64];
    read_start(path, content, sizeof content);
    return strtoull(content, NULL, 10);
}

static unsigned affinity_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    return 0; /* more cores than a cpu_set_t holds */
}

/* The container's share of processor time, in whole cores; 0 when it is not bounded. */
static unsigned share_of_cores(void) {
    char content[64], *after;
    read_start("/sys/fs/cgroup/cpu.max", content, sizeof content);
    uint64_t quota = strtoull(content, &after, 10), period = strtoull(after, NULL, 10);
    if (quota == 0) {
        quota = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        period = read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    }
    if (quota == 0 || period == 0 || quota / period >= THREADS_MAX)
        return 0;
    return (unsigned)((quota + period - 1) / period);
}
#else
static unsigned affinity_cores(void) {
    return 0;
}

static unsigned share_of_cores(void) {
    return 0;
}
#endif

unsigned machine_cores(void) {
    unsigned cores = affinity_cores(), share = share_of_cores();
    if (cores == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        cores = online > 0 ? (unsigned)online : 1;
    }
    if (share > 0 && share < cores)
        cores = share;
    return cores < THREADS_MAX ? cores : THREADS_MAX;
}

bool machine_threads(unsigned *threads, struct status *status) {
    const char *wanted = getenv("RIDGE_THREADS");
    *threads = machine_cores();
    if (!wanted || !*wanted)
        return true;
    int64_t number;
    if (!text_to_i64(text_of(wanted), &number) || number < 1 || number > THREADS_MAX)
        return status_fail(status, STATUS_USAGE,
                           "RIDGE_THREADS is \"%.40s\"; set it to a number of threads from 1 to "
                           "%d, or unset it for one thread per core",
                           wanted, THREADS_MAX);
    *threads = (unsigned)number;
    return true;
}

/* The widest set of vector instructions that native kernels are built for and this processor has.
 */
static const char *instruction_set(void) {
#if defined(__x86_64__)
    if (!x86_supports("avx2") || !x86_supports("fma") || !x86_supports("bmi2"))
        return "sse2";
    return x86_supports("avx512f") && x86_supports("avx512bw") && x86_supports("avx512dq") &&
                   x86_supports("avx512vl")
               ? "avx512"
               : "avx2";
#elif defined(__aarch64__)
    return "neon";
#else
    return "generic";
#endif
}

#if defined(__APPLE__)
static uint64_t system_number(const char *name) {
    uint64_t value = 0; /* the system writes 4 or 8 bytes and is little-endian */
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

static void describe_system(struct device_capabilities *capabilities) {
    size_t size = sizeof capabilities->description;
    sysctlbyname("machdep.cpu.brand_string", capabilities->description, &size, NULL, 0);
    size = sizeof capabilities->vendor;
    if (sysctlbyname("machdep.cpu.vendor", capabilities->vendor, &size, NULL, 0) != 0)
        snprintf(capabilities->vendor, sizeof capabilities->vendor, "Apple");
    capabilities->memory_bytes = system_number("hw.memsize");
    capabilities->cache_bytes = system_number("hw.l3cachesize");
    if (capabilities->cache_bytes == 0)
        capabilities->cache_bytes = system_number("hw.l2cachesize");
    capabilities->clock_khz = (uint32_t)(system_number("hw.cpufrequency_max") / 1000);
}
#elif defined(__linux__)
/* The value of a line "key : value" of /proc/cpuinfo; empty if there is none. */
static struct text cpuinfo_value(const char *cpuinfo, const char *key) {
    const char *line = strstr(cpuinfo, key);
    const char *value = line ? strchr(line, ':') : NULL;
    if (!value)
        return TEXT("");
    value += strspn(value, ": \t");
    return (struct text){value, strcspn(value, "\n")};
}

/* The cache of the highest level; the kernel lists them from the first level on. */
static uint64_t last_cache_bytes(void) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; i++) {
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", i);
        uint64_t kilobytes = read_number(path);
        if (kilobytes == 0)
            break;
        bytes = kilobytes * 1024;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (bytes == 0 && sysconf(_SC_LEVEL3_CACHE_SIZE) > 0)
        bytes = (uint64_t)sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes;
}

static uint64_t memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    uint64_t bound = read_number("/sys/fs/cgroup/memory.max");
    if (bound == 0)
        bound = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    return bound > 0 && bound < bytes ? bound : bytes;
}

static void describe_system(struct device_capabilities *capabilities) {
    char cpuinfo[4096];
    read_start("/proc/cpuinfo", cpuinfo, sizeof cpuinfo);
    struct text name = cpuinfo_value(cpuinfo, "model name");
    struct text vendor = cpuinfo_value(cpuinfo, "vendor_id");
    struct text megahertz = cpuinfo_value(cpuinfo, "cpu MHz");
    snprintf(capabilities->description, sizeof capabilities->description, "%.*s", TEXT_ARGS(name));
    snprintf(capabilities->vendor, sizeof capabilities->vendor, "%.*s", TEXT_ARGS(vendor));
    capabilities->memory_bytes = memory_bytes();
    capabilities->cache_bytes = last_cache_bytes();
    uint64_t khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (khz == 0 && megahertz.length > 0)
        khz = strtoull(megahertz.data, NULL, 10) * 1000;
    capabilities->clock_khz = khz <= UINT32_MAX ? (uint32_t)khz : 0;
}
#else
static void describe_system(struct device_capabilities *capabilities) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    capabilities->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}
#endif

bool machine_describe(struct device_capabilities *capabilities, struct status *status) {
    unsigned threads;
    if (!machine_threads(&threads, status))
        return false;
    *capabilities = (struct device_capabilities){
        .language = LANGUAGE_NATIVE,
        .compute_units = threads,
        .subgroup = 1,
        .block_max = 1,
        .shared_bytes = SHARED_MAX,
        .shared_max = SHARED_MAX,
        .threads_per_unit = 1,
        .queues = CPU_QUEUES,
        .alignment = CPU_ALIGNMENT,
        .half = true,
        .host_memory = true,
    };
    describe_system(capabilities);
    if (!*capabilities->description)
        snprintf(capabilities->description, sizeof capabilities->description, "CPU");
    snprintf(capabilities->driver, sizeof capabilities->driver, "%s", instruction_set());
    return true;
}
