/* Reads the state of the CPU and of one GPU before and after a measurement, and describes what
 * disturbed it.
 *
 * The CPU's values come from /proc and /sys on Linux; on macOS only the load is known. The GPU's
 * come from NVML, NVIDIA's management library, which is loaded here and nowhere else. A reading
 * takes some microseconds and is made outside of what is timed.
 */
#include "machine/health.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <libproc.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#endif

#include "abi/nvml.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/library.h"
#include "base/memory.h"

/* ---- GPU --------------------------------------------------------------------------------- */

struct health_gpu {
#define POINTER(name, symbol, parameters) nvml_result(*name) parameters;
    NVML_SYMBOLS(POINTER) NVML_OPTIONAL_SYMBOLS(POINTER) nvml_device device;
};

/* NVML stays loaded. */
static bool load_nvml(struct health_gpu *gpu) {
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    void *library = library_open(names);
#define FIND(name, symbol, parameters) *(void **)&gpu->name = library_symbol(library, symbol);
    NVML_SYMBOLS(FIND)
    NVML_OPTIONAL_SYMBOLS(FIND)
    if (!gpu->nvmlDeviceGetComputeRunningProcesses) /* the same structure */
        *(void **)&gpu->nvmlDeviceGetComputeRunningProcesses =
            library_symbol(library, "nvmlDeviceGetComputeRunningProcesses_v2");
    if (!gpu->nvmlDeviceGetCurrentClocksThrottleReasons)
        *(void **)&gpu->nvmlDeviceGetCurrentClocksThrottleReasons =
            library_symbol(library, "nvmlDeviceGetCurrentClocksEventReasons");
#define FOUND(name, symbol, parameters) &&gpu->name
    return library NVML_SYMBOLS(FOUND);
}

static bool find_uuid(struct health_gpu *gpu, const char *uuid) {
    char name[64];
    snprintf(name, sizeof name, "GPU-%s", uuid);
    return gpu->nvmlDeviceGetHandleByUUID(name, &gpu->device) == NVML_SUCCEEDED;
}

static bool find_only_gpu(struct health_gpu *gpu) {
    unsigned int count = 0;
    return gpu->nvmlDeviceGetCount(&count) == NVML_SUCCEEDED && count == 1 &&
           gpu->nvmlDeviceGetHandleByIndex(0, &gpu->device) == NVML_SUCCEEDED;
}

/* By UUID, without "GPU-"; "": the only GPU. NULL when NVML is missing or does not know it. */
static struct health_gpu *health_gpu_open(const char *uuid) {
    struct status ignored;
    struct health_gpu *gpu = memory_allocate(1, sizeof *gpu, &ignored);
    if (!gpu)
        return NULL;
    if (load_nvml(gpu) && gpu->nvmlInit() == NVML_SUCCEEDED) {
        if (*uuid ? find_uuid(gpu, uuid) : find_only_gpu(gpu))
            return gpu;
        gpu->nvmlShutdown();
    }
    memory_free(gpu);
    return NULL;
}

static void health_gpu_close(struct health_gpu *gpu) {
    if (!gpu)
        return;
    gpu->nvmlShutdown();
    memory_free(gpu);
}

/* The number of compute processes; -1: unknown. */
static int list_processes(struct health_gpu *gpu, struct nvml_process list[GPU_USERS_MAX]) {
    unsigned int count = GPU_USERS_MAX;
    return gpu->nvmlDeviceGetComputeRunningProcesses &&
                   gpu->nvmlDeviceGetComputeRunningProcesses(gpu->device, &count, list) ==
                       NVML_SUCCEEDED &&
                   count <= GPU_USERS_MAX
               ? (int)count
               : -1;
}

static void health_gpu_read(struct health_gpu *gpu, struct health *reading) {
    unsigned int value;
    unsigned long long throttle_reasons;
    reading->clock_mhz = reading->clock_max_mhz = -1; /* replaces the CPU's values */
    if (gpu->nvmlDeviceGetClockInfo(gpu->device, NVML_SM_CLOCK, &value) == NVML_SUCCEEDED)
        reading->clock_mhz = value;
    if (gpu->nvmlDeviceGetMaxClockInfo(gpu->device, NVML_SM_CLOCK, &value) == NVML_SUCCEEDED)
        reading->clock_max_mhz = value;
    if (gpu->nvmlDeviceGetClockInfo(gpu->device, NVML_MEMORY_CLOCK, &value) == NVML_SUCCEEDED)
        reading->memory_clock_mhz = value;
    if (gpu->nvmlDeviceGetTemperature(gpu->device, NVML_GPU_SENSOR, &value) == NVML_SUCCEEDED)
        reading->temperature_c = value;
    if (gpu->nvmlDeviceGetPowerUsage(gpu->device, &value) == NVML_SUCCEEDED)
        reading->power_w = value / 1e3;
    if (gpu->nvmlDeviceGetEnforcedPowerLimit(gpu->device, &value) == NVML_SUCCEEDED)
        reading->power_limit_w = value / 1e3;
    if (gpu->nvmlDeviceGetCurrentClocksThrottleReasons(gpu->device, &throttle_reasons) ==
        NVML_SUCCEEDED)
        reading->throttle_reasons = (int64_t)(throttle_reasons & INT64_MAX);
    reading->process_count = list_processes(gpu, (struct nvml_process[GPU_USERS_MAX]){{0}});
}

/* ---- CPU --------------------------------------------------------------------------------- */

#ifdef __linux__

enum {
    CPUS_READ_MAX = 16, /* reading a clock is slow */
    PROCESSORS_MAX = 1024,
    CHILDREN_MAX = 64,
};

/* The first bytes of a file, zero-terminated. */
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

/* A number in a sysfs file of a CPU. */
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

/* The fastest clock, because idle CPUs may be slow. */
static void read_clocks(const char *root, struct health *reading) {
    double khz;
    for (unsigned i = 0; i < CPUS_READ_MAX; i++) {
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

/* CPU time of a process: utime and stime of /proc/PID/stat, after the name, which may contain any
 * character. */
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

/* "cpu  user nice system idle iowait irq softirq steal ...", in ticks since boot. */
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

#elif defined(__APPLE__)

/* The CPU time of a running child, in nanoseconds. The kernel counts in ticks of Mach time. */
static double child_ns(pid_t pid) {
    struct rusage_info_v2 used;
    mach_timebase_info_data_t base;
    if (proc_pid_rusage(pid, RUSAGE_INFO_V2, (rusage_info_t *)&used) != 0 ||
        mach_timebase_info(&base) != KERN_SUCCESS || base.denom == 0)
        return 0;
    return (double)(used.ri_user_time + used.ri_system_time) * base.numer / base.denom;
}

static double children_ns(long process) {
    enum { CHILDREN_MAX = 64 };
    pid_t children[CHILDREN_MAX];
    int count = proc_listchildpids((pid_t)process, children, sizeof children);
    double sum = 0;
    for (int i = 0; i < count && i < CHILDREN_MAX; i++)
        sum += child_ns(children[i]);
    return sum;
}

/* Ticks of all CPUs since boot, 10 ms each. Clocks and throttling are not public on macOS. */
void health_read_processor(const char *root, long process, double own_ns, struct health *reading) {
    host_cpu_load_info_data_t load;
    mach_msg_type_number_t count = HOST_CPU_LOAD_INFO_COUNT;
    mach_port_t host = mach_host_self();
    (void)root;
    if (host_statistics(host, HOST_CPU_LOAD_INFO, (host_info_t)&load, &count) == KERN_SUCCESS) {
        double busy = (double)load.cpu_ticks[CPU_STATE_USER] +
                      (double)load.cpu_ticks[CPU_STATE_SYSTEM] +
                      (double)load.cpu_ticks[CPU_STATE_NICE];
        double other = busy * 1e9 / (double)sysconf(_SC_CLK_TCK) - own_ns - children_ns(process);
        reading->other_ns = other > 0 ? other : 0;
    }
    mach_port_deallocate(mach_task_self(), host);
}

#else
void health_read_processor(const char *root, long process, double own_ns, struct health *reading) {
    (void)root, (void)process, (void)own_ns, (void)reading;
}
#endif

/* ---- Readings ---------------------------------------------------------------------------- */

#define OTHER_LOAD_MIN 0.10 /* of the CPU time */
#define STEAL_MIN 0.02
#define CLOCK_DROP_MIN 0.8          /* of the clock before */
#define CPU_TIME_RESOLUTION_NS 20e6 /* two ticks of 10 ms */

struct health_watch {
    struct health_gpu *gpu; /* NULL: none */
};

struct health_watch *health_open(const char *uuid) {
    struct status ignored;
    struct health_watch *watch = memory_allocate(1, sizeof *watch, &ignored);
    if (watch && uuid)
        watch->gpu = health_gpu_open(uuid);
    return watch;
}

struct health_watch *health_open_gpu(const char *uuid) {
    struct health_watch *watch = *uuid ? health_open(uuid) : NULL;
    if (watch && watch->gpu)
        return watch;
    health_close(watch);
    return NULL;
}

void health_close(struct health_watch *watch) {
    if (!watch)
        return;
    health_gpu_close(watch->gpu);
    memory_free(watch);
}

static double timeval_seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* CPU time of this process and its ended children. */
static double own_time_ns(void) {
    struct rusage own = {0}, children = {0};
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (timeval_seconds(own.ru_utime) + timeval_seconds(own.ru_stime) +
            timeval_seconds(children.ru_utime) + timeval_seconds(children.ru_stime)) *
           1e9;
}

void health_read(struct health_watch *watch, struct health *reading) {
    *reading = (struct health){
        .time = clock_now(),
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
    health_read_processor("", (long)getpid(), own_time_ns(), reading);
    if (watch && watch->gpu)
        health_gpu_read(watch->gpu, reading);
}

/* ---- Disturbances ------------------------------------------------------------------------ */

struct phrases {
    char *text;
    size_t used, capacity;
};

__attribute__((format(printf, 2, 3))) static void append_phrase(struct phrases *phrases,
                                                                const char *format, ...) {
    va_list arguments;
    if (phrases->used > 0 && phrases->used + 2 < phrases->capacity)
        phrases->used += (size_t)snprintf(phrases->text + phrases->used,
                                          phrases->capacity - phrases->used, "; ");
    va_start(arguments, format);
    int length = vsnprintf(phrases->text + phrases->used, phrases->capacity - phrases->used, format,
                           arguments);
    va_end(arguments);
    phrases->used += length > 0 ? (size_t)length : 0;
    if (phrases->used >= phrases->capacity)
        phrases->used = phrases->capacity - 1;
}

static const struct {
    int64_t bits;
    const char *name;
} throttle_reasons[] = {
    {NVML_POWER_CAP, "power cap"},     {NVML_SOFTWARE_HEAT | NVML_HARDWARE_HEAT, "temperature"},
    {NVML_POWER_BRAKE, "power brake"}, {NVML_HARDWARE_SLOWDOWN, "hardware slowdown"},
    {NVML_SYNC_BOOST, "sync boost"},
};

static void describe_throttling(const struct health *before, const struct health *after,
                                struct phrases *phrases) {
    int64_t seen = 0;
    if (before->throttle_reasons > 0)
        seen |= before->throttle_reasons;
    if (after->throttle_reasons > 0)
        seen |= after->throttle_reasons;
    for (size_t i = 0; i < ARRAY_COUNT(throttle_reasons); i++)
        if (seen & throttle_reasons[i].bits)
            append_phrase(phrases, "throttled: %s", throttle_reasons[i].name);
    if (before->throttle_count >= 0 && after->throttle_count > before->throttle_count)
        append_phrase(phrases, "throttled: CPU temperature");
}

static bool is_gpu_idle(const struct health *reading) {
    return reading->throttle_reasons > 0 && (reading->throttle_reasons & NVML_IDLE);
}

static void describe_clocks(const struct health *before, const struct health *after,
                            struct phrases *phrases) {
    if (before->clock_mhz > 0 && after->clock_mhz > 0 && !is_gpu_idle(after) &&
        after->clock_mhz < CLOCK_DROP_MIN * before->clock_mhz)
        append_phrase(phrases, "the clock dropped from %.0f to %.0f MHz", before->clock_mhz,
                      after->clock_mhz);
}

/* A share of the CPU time; 0 when unknown or below the resolution. */
static double cpu_share(double before, double after, int64_t elapsed) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double used = after - before;
    if (before < 0 || after < 0 || elapsed <= 0 || used < CPU_TIME_RESOLUTION_NS)
        return 0;
    return used / ((double)elapsed * (double)(processors > 0 ? processors : 1));
}

static void describe_cpu_load(const struct health *before, const struct health *after,
                              struct phrases *phrases) {
    int64_t elapsed = after->time - before->time;
    double other = cpu_share(before->other_ns, after->other_ns, elapsed);
    double stolen = cpu_share(before->stolen_ns, after->stolen_ns, elapsed);
    if (other > OTHER_LOAD_MIN)
        append_phrase(phrases, "other programs used about %.0f %% of the CPU time",
                      10 * ceil(10 * other));
    if (stolen > STEAL_MIN)
        append_phrase(phrases, "the hypervisor took about %.0f %% of the CPU time",
                      10 * ceil(10 * stolen));
}

bool health_disturbed(const struct health *before, const struct health *after, char *text,
                      size_t capacity) {
    struct phrases phrases = {.text = text, .capacity = capacity};
    if (capacity == 0)
        return false;
    *text = 0;
    describe_throttling(before, after, &phrases);
    describe_clocks(before, after, &phrases);
    describe_cpu_load(before, after, &phrases);
    return phrases.used > 0;
}

/* ---- Other processes on the GPU ---------------------------------------------------------- */

enum { UTILIZATION_SAMPLES = 512 };
#define GPU_USE_MIN 0.01 /* of a sample: an idle context disturbs nobody */

static void read_utilization(struct health_gpu *gpu, int64_t since, struct gpu_users *users) {
    struct nvml_utilization samples[UTILIZATION_SAMPLES] = {{0}};
    unsigned int count = UTILIZATION_SAMPLES;
    if (!gpu->nvmlDeviceGetProcessUtilization || since == 0)
        return;
    nvml_result result =
        gpu->nvmlDeviceGetProcessUtilization(gpu->device, samples, &count, (uint64_t)since);
    if (result != NVML_SUCCEEDED && result != NVML_NO_SAMPLES)
        return;
    for (int i = 0; i < users->count; i++)
        users->list[i].busy = 0;
    for (unsigned k = 0; result == NVML_SUCCEEDED && k < count && k < UTILIZATION_SAMPLES; k++)
        for (int i = 0; i < users->count; i++)
            if (users->list[i].pid == samples[k].pid && samples[k].time >= (uint64_t)since)
                users->list[i].busy = fmax(users->list[i].busy, samples[k].sm / 100.0);
}

void health_read_gpu_users(struct health_watch *watch, int64_t since, struct gpu_users *users) {
    struct nvml_process list[GPU_USERS_MAX] = {{0}};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *users =
        (struct gpu_users){.count = -1, .time = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
    if (!watch || !watch->gpu)
        return;
    users->count = list_processes(watch->gpu, list);
    for (int i = 0; i < users->count; i++)
        users->list[i] = (struct gpu_user){.pid = list[i].pid, .busy = -1};
    if (users->count > 0)
        read_utilization(watch->gpu, since, users);
}

static const struct gpu_user *find_user(const struct gpu_users *users, unsigned pid) {
    for (int i = 0; i < users->count; i++)
        if (users->list[i].pid == pid)
            return &users->list[i];
    return NULL;
}

/* The MPS server does the work of its clients, this program among them. */
static bool is_mps_server(unsigned pid) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof name, file))
        name[0] = 0;
    if (file)
        fclose(file);
    return strncmp(name, "nvidia-cuda-mps", 15) == 0;
}

bool health_gpu_shared(const struct gpu_users *before, const struct gpu_users *after, char *words,
                       size_t capacity) {
    struct phrases phrases = {.text = words, .capacity = capacity};
    unsigned pid = 0, others = 0;
    if (capacity == 0)
        return false;
    *words = 0;
    for (int i = 0; i < after->count; i++)
        if (after->list[i].busy < 0 || after->list[i].busy >= GPU_USE_MIN)
            if (!is_mps_server(after->list[i].pid) && ++others)
                pid = after->list[i].pid;
    for (int i = 0; i < before->count; i++) /* those that ended meanwhile */
        if (!find_user(after, before->list[i].pid) && !is_mps_server(before->list[i].pid) &&
            ++others)
            pid = before->list[i].pid;
    if (others == 1)
        append_phrase(&phrases, "another process used the GPU (pid %u)", pid);
    else if (others > 1)
        append_phrase(&phrases, "%u other processes used the GPU", others);
    return others > 0;
}

void health_driver_version(struct health_watch *watch, char version[DRIVER_VERSION_SIZE]) {
    struct health_gpu *gpu = watch ? watch->gpu : NULL;
    memset(version, 0, DRIVER_VERSION_SIZE);
    if (gpu && gpu->nvmlSystemGetDriverVersion &&
        gpu->nvmlSystemGetDriverVersion(version, DRIVER_VERSION_SIZE - 1) != NVML_SUCCEEDED)
        *version = 0;
}
