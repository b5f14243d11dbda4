/* How is the processor doing? Its clock, whether heat slowed it down, and who else used it, as
 * Linux tells below /proc and /sys. Other systems tell nothing here.
 */
#include "machine/health_parts.h"

#ifdef __linux__
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLOCKS_READ = 16, /* processors whose clocks are looked at: reading one takes its time */
    PROCESSORS_MAX = 1024,
    CHILDREN_MAX = 64,
};

/* The first bytes of a file, terminated; false when there is none. */
static bool read_start(const char *root, const char *name, char *content, size_t capacity) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, content, capacity - 1);
    close(fd);
    content[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* A number of a file about a processor; false when there is none. */
static bool processor_number(const char *root, unsigned processor, const char *name,
                             double *number) {
    char path[128], content[64], *end;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", processor, name);
    if (!read_start(root, path, content, sizeof content))
        return false;
    *number = strtod(content, &end);
    return end != content;
}

static double nanoseconds_of_ticks(double ticks) {
    long rate = sysconf(_SC_CLK_TCK);
    return ticks * 1e9 / (double)(rate > 0 ? rate : 100);
}

/* The fastest: one that is idle may be slow without harm. */
static void read_clocks(const char *root, struct health *reading) {
    double khz;
    for (unsigned i = 0; i < CLOCKS_READ; i++) {
        if (processor_number(root, i, "cpufreq/scaling_cur_freq", &khz) &&
            khz / 1e3 > reading->clock_mhz)
            reading->clock_mhz = khz / 1e3;
        if (processor_number(root, i, "cpufreq/cpuinfo_max_freq", &khz) &&
            khz / 1e3 > reading->clock_max_mhz)
            reading->clock_max_mhz = khz / 1e3;
    }
}

static void read_throttling(const char *root, struct health *reading) {
    double count;
    for (unsigned i = 0; i < PROCESSORS_MAX &&
                         processor_number(root, i, "thermal_throttle/core_throttle_count", &count);
         i++)
        reading->throttle_count = (reading->throttle_count < 0 ? 0 : reading->throttle_count) +
                                  (int64_t)(count > 0 && count < 1e15 ? count : 0);
}

/* Time that a process has used, from its stat line: what follows the name, which may hold anything,
 * is the state and then numbers, of which the 11th and 12th are meant. */
static double process_ns(const char *root, long process) {
    char path[64], content[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    if (!read_start(root, path, content, sizeof content))
        return 0;
    const char *at = strrchr(content, ')');
    unsigned long long user = 0, system = 0;
    if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user,
                      &system) != 2)
        return 0;
    return nanoseconds_of_ticks((double)user + (double)system);
}

static double children_ns(const char *root, long process) {
    char path[96], content[1024], *end;
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", process, process);
    if (!read_start(root, path, content, sizeof content))
        return 0;
    const char *at = content;
    for (unsigned i = 0; i < CHILDREN_MAX; i++, at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            break;
        sum += process_ns(root, child);
    }
    return sum;
}

/* "cpu  user nice system idle iowait irq softirq steal ...", in ticks since the start. */
static void read_use(const char *root, long process, double own_ns, struct health *reading) {
    char content[512];
    unsigned long long user, nice, system, idle, waiting, interrupts, soft, stolen;
    if (!read_start(root, "/proc/stat", content, sizeof content) ||
        sscanf(content, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &waiting, &interrupts, &soft, &stolen) != 8)
        return;
    double busy = (double)user + (double)nice + (double)system + (double)interrupts + (double)soft;
    double other = nanoseconds_of_ticks(busy) - own_ns - children_ns(root, process);
    reading->stolen_ns = nanoseconds_of_ticks((double)stolen);
    reading->other_ns = other > 0 ? other : 0;
}

void health_read_processor(const char *root, long process, double own_ns, struct health *reading) {
    read_clocks(root, reading);
    read_throttling(root, reading);
    read_use(root, process, own_ns, reading);
}

#else
void health_read_processor(const char *root, long process, double own_ns, struct health *reading) {
    (void)root, (void)process, (void)own_ns, (void)reading;
}
#endif
