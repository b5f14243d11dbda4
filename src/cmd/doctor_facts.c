/* What is on this machine? Asks what recording itself would use, in the way that it would use it:
 * perf events are opened, CUPTI is loaded, devices are listed. Nothing is recorded or changed.
 * Libraries of vendors are loaded in a child process. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"
#include "base/memory.h"
#include "base/text.h"
#include "cmd/doctor.h"
#include "abi/cupti_library.h"
#include "device/device.h"
#include "record/environment.h"
#include "record/perf/perf.h"

static void copy(char to[FACT_TEXT], const char *from) {
    snprintf(to, FACT_TEXT, "%.*s", FACT_TEXT - 1, from);
}

static void set_there(struct fact *fact, const char *version) {
    fact->there = true;
    copy(fact->version, version);
}

static void set_problem(struct fact *fact, const char *problem) {
    copy(fact->problem, problem);
}

/* ---- Devices ------------------------------------------------------------------------------ */

/* "NVIDIA H200 and 7 more" of the usable devices of a kind, or what the first one lacks. */
static void describe_kind(const char *kind, const struct ridge_device_info *rows, size_t count,
                          struct fact *fact, char driver[FACT_TEXT]) {
    const struct ridge_device_info *first = NULL;
    unsigned usable = 0;
    char more[32] = "";
    for (size_t i = 0; i < count; i++) {
        if (strncmp(rows[i].name, kind, strlen(kind)) != 0)
            continue;
        usable += rows[i].usable;
        if (!first || (rows[i].usable && !first->usable))
            first = &rows[i];
    }
    if (!first || !first->usable) {
        set_problem(fact, first ? first->problem : "there is none");
        return;
    }
    if (usable > 1)
        snprintf(more, sizeof more, " and %u more", usable - 1);
    fact->there = true;
    snprintf(fact->version, sizeof fact->version, "%s%s", first->description, more);
    copy(driver, first->driver);
}

static void gather_kind(const char *kind, struct fact *fact, char driver[FACT_TEXT]) {
    struct status ignored;
    size_t capacity = device_list_kind(kind, NULL, 0);
    struct ridge_device_info *rows = memory_allocate(capacity, sizeof *rows, &ignored);
    if (rows) {
        size_t count = device_list_kind(kind, rows, capacity);
        describe_kind(kind, rows, count < capacity ? count : capacity, fact, driver);
    }
    memory_free(rows);
}

static void gather_cuda(struct doctor_facts *facts) {
    gather_kind("cuda", &facts->cuda, facts->cuda_driver);
}

static void gather_opencl(struct doctor_facts *facts) {
    gather_kind("opencl", &facts->opencl, facts->opencl_driver);
}

static void gather_vulkan(struct doctor_facts *facts) {
    static const char *const vulkan[] = {"libvulkan.so.1", "libvulkan.so", NULL};
    facts->vulkan.there = library_open(vulkan) != NULL;
}

/* ---- CUDA --------------------------------------------------------------------------------- */

static void gather_cupti(struct doctor_facts *facts) {
    struct status status = {0};
    if (!cupti_locate(0, facts->cupti_path, FACT_TEXT, &status)) {
        set_problem(&facts->cupti, status.message);
        return;
    }
    const struct cupti *cupti = cupti_library(0, &status);
    if (!cupti) {
        set_problem(&facts->cupti, status.message);
        return;
    }
    facts->cupti.there = true;
    cupti_version_text(cupti->version, facts->cupti.version);
}

/* ---- Vendor libraries --------------------------------------------------------------------- */

/* A library that crashes or hangs is a problem like any other. */
static void set_failure(struct fact *fact, const char *what, const char *failure,
                        const char *step) {
    *fact = (struct fact){0};
    snprintf(fact->problem, sizeof fact->problem, "%.200s %.100s; %s", what, failure, step);
}

static void gather_vendor_libraries(struct doctor_facts *facts) {
    char failure[FACT_TEXT], cupti[FACT_TEXT + sizeof "CUPTI at "];
    if (!doctor_gather_in_child(gather_cuda, facts, failure))
        set_failure(&facts->cuda, "the NVIDIA driver (libcuda.so.1)", failure,
                    "install the driver again");
    if (!doctor_gather_in_child(gather_opencl, facts, failure))
        set_failure(&facts->opencl, "OpenCL", failure,
                    "remove the faulty driver from /etc/OpenCL/vendors");
    if (!doctor_gather_in_child(gather_vulkan, facts, failure))
        set_failure(&facts->vulkan, "libvulkan", failure, "install it again");
    if (!doctor_gather_in_child(gather_cupti, facts, failure)) {
        snprintf(cupti, sizeof cupti, "%s%s", facts->cupti_path[0] ? "CUPTI at " : "CUPTI",
                 facts->cupti_path);
        set_failure(&facts->cupti, cupti, failure, "install another, or set RIDGE_CUPTI to one");
    }
}

static void gather_probe(struct doctor_facts *facts) {
    char path[ENVIRONMENT_PROBE_SIZE];
    struct status status = {0};
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    if (environment_find_probe(path, &status))
        set_there(&facts->probe, "");
    else
        set_problem(&facts->probe, status.message);
    if (injected && *injected && strcmp(injected, path) != 0)
        copy(facts->other_injection, injected);
}

/* "RmProfilingAdminOnly: 1" among the driver's parameters. */
static int read_restriction(void) {
    static const char name[] = "RmProfilingAdminOnly:";
    FILE *file = fopen("/proc/driver/nvidia/params", "r");
    char line[256];
    int restricted = -1;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, sizeof name - 1) == 0)
            restricted = atoi(line + sizeof name - 1) != 0;
    if (file)
        fclose(file);
    return restricted;
}

/* ---- The processor ------------------------------------------------------------------------ */

/* Opens what recording would open, for this process, and closes it again. */
static void try_perf(struct fact *fact, struct fact *counters) {
    struct status status = {0};
    struct perf_options wanted = {.rate = 99, .counters = true};
    struct perf *perf = perf_open(getpid(), &wanted, &status);
    if (!perf) {
        set_problem(fact, status.message);
        return;
    }
    set_there(fact, "");
    const char *missing = perf_counters_missing(perf);
    if (missing)
        set_problem(counters, missing);
    else
        set_there(counters, "");
    perf_close(perf);
}

static int read_paranoid(void) {
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    int level = PARANOID_UNKNOWN;
    if (file && fscanf(file, "%d", &level) != 1)
        level = PARANOID_UNKNOWN;
    if (file)
        fclose(file);
    return level;
}

/* Addresses are zeros for those who may not know them. */
static bool kernel_tells_addresses(void) {
    FILE *file = fopen("/proc/kallsyms", "r");
    char line[512];
    bool told = false;
    for (unsigned i = 0; i < 64 && file && !told && fgets(line, sizeof line, file); i++)
        told = strtoull(line, NULL, 16) != 0;
    if (file)
        fclose(file);
    return told;
}

/* ---- Programs ----------------------------------------------------------------------------- */

/* The program on the path, or in one of the places where its installer puts it. */
static void find_program(const char *name, struct fact *fact) {
    const char *path = getenv("PATH");
    char places[8192], file[PATH_MAX];
    snprintf(places, sizeof places, "%s:/usr/local/cuda/bin", path ? path : "/usr/bin:/bin");
    for (char *rest = places, *folder; (folder = strsep(&rest, ":"));)
        if (*folder && (size_t)snprintf(file, sizeof file, "%s/%s", folder, name) < sizeof file &&
            access(file, X_OK) == 0) {
            set_there(fact, file);
            return;
        }
}

/* "Python 3.12.4" */
static void gather_python(struct doctor_facts *facts) {
    char line[FACT_TEXT] = "";
    FILE *pipe = popen("python3 --version 2> /dev/null", "r");
    if (!pipe)
        return;
    if (fgets(line, sizeof line, pipe) &&
        sscanf(line, "Python %u.%u", &facts->python_major, &facts->python_minor) == 2) {
        line[strcspn(line, "\r\n")] = 0;
        set_there(&facts->python, line + strlen("Python "));
    }
    pclose(pipe);
}

/* Root of a user namespace has no rights outside it. */
static bool is_administrator(void) {
    unsigned long long inside, outside, count = UINT32_MAX;
    FILE *map = fopen("/proc/self/uid_map", "r");
    if (map && fscanf(map, "%llu %llu %llu", &inside, &outside, &count) != 3)
        count = 0;
    if (map)
        fclose(map);
    return geteuid() == 0 && count == UINT32_MAX;
}

void doctor_gather(struct doctor_facts *facts) {
    memset(facts, 0, sizeof *facts);
#ifdef __linux__
    facts->is_linux = true;
#endif
#ifdef __APPLE__
    facts->is_macos = true;
#endif
#ifdef RIDGE_HAVE_SQLITE
    facts->reads_sqlite = true;
#endif
#ifdef RIDGE_HAVE_EXPAT
    facts->reads_xml = true;
#endif
    facts->is_administrator = is_administrator();
    gather_vendor_libraries(facts);
    gather_probe(facts);
    facts->gpu_counters_restricted = read_restriction();
    try_perf(&facts->sampling, &facts->hardware_counters);
    facts->paranoid = read_paranoid();
    facts->kernel_symbols = kernel_tells_addresses();
    gather_python(facts);
    find_program("ncu", &facts->ncu);
    find_program("nsys", &facts->nsys);
    find_program("xctrace", &facts->xctrace);
}
