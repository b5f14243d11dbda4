/* ridge doctor: reports what can be recorded on this machine, and how to enable the rest.
 *
 * The facts are gathered in the way that recording would use them: perf events are opened, CUPTI is
 * loaded, devices are listed. Nothing is recorded or changed. Vendor libraries are loaded in a
 * child process, because they may crash or hang. Each check turns facts into a finding; a negative
 * finding ends in a step that the user can take.
 */
#include "cmd/doctor.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ridge.h>

#include "abi/cupti_library.h"
#include "abi/vulkan.h"
#include "base/array.h"
#include "base/json_write.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "device/device.h"
#include "record/environment.h"
#include "record/perf/perf.h"
#include "record/python/python_reader.h"
#include "spool/spool.h"

/* ---- Child process ----------------------------------------------------------------------- */

/* The child shares memory with the parent and writes its facts there, so that what it found before
 * a crash is not lost. */
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { POLL_MS = 5, TIMEOUT_MS = 60000 };

static _Noreturn void be_child(doctor_gatherer *gather, struct doctor_facts *facts) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    gather(facts);
    _exit(0);
}

/* False: the child was killed after a timeout. */
static bool wait_for(pid_t child, int *wait_status) {
    for (unsigned waited = 0; waited < TIMEOUT_MS; waited += POLL_MS) {
        pid_t ended = waitpid(child, wait_status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, wait_status, 0);
    return false;
}

static void describe_end(int wait_status, char failure[FACT_TEXT]) {
    if (WIFSIGNALED(wait_status))
        snprintf(failure, FACT_TEXT, "crashes when loaded: %s", strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) != 0)
        snprintf(failure, FACT_TEXT, "exits when loaded: status %d", WEXITSTATUS(wait_status));
}

bool doctor_gather_in_child(doctor_gatherer *gather, struct doctor_facts *facts,
                            char failure[FACT_TEXT]) {
    struct doctor_facts *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int wait_status = 0;
    failure[0] = 0;
    if (shared == MAP_FAILED) {
        snprintf(failure, FACT_TEXT, "cannot be checked: %s", strerror(errno));
        return false;
    }
    *shared = *facts;
    pid_t child = fork();
    if (child == 0)
        be_child(gather, shared);
    if (child < 0)
        snprintf(failure, FACT_TEXT, "cannot be checked: %s", strerror(errno));
    else if (!wait_for(child, &wait_status))
        snprintf(failure, FACT_TEXT, "did not respond within %d s", TIMEOUT_MS / 1000);
    else
        describe_end(wait_status, failure);
    *facts = *shared;
    munmap(shared, sizeof *shared);
    return !failure[0];
}

static void copy_text(char to[FACT_TEXT], const char *from) {
    snprintf(to, FACT_TEXT, "%.*s", FACT_TEXT - 1, from);
}

static void set_there(struct fact *fact, const char *version) {
    fact->there = true;
    copy_text(fact->version, version);
}

static void set_problem(struct fact *fact, const char *problem) {
    copy_text(fact->problem, problem);
}

/* ---- Devices ----------------------------------------------------------------------------- */

/* "NVIDIA H200 and 7 more", or the problem of the first device. */
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
        set_problem(fact, first ? first->problem : "no device was found");
        return;
    }
    if (usable > 1)
        snprintf(more, sizeof more, " and %u more", usable - 1);
    fact->there = true;
    snprintf(fact->version, sizeof fact->version, "%s%s", first->description, more);
    copy_text(driver, first->driver);
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

/* In the child process, the probe is a layer of the loader as in a recording, but records nothing.
 */
static void gather_opencl(struct doctor_facts *facts) {
    static const char *const loaders[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    char probe[ENVIRONMENT_PROBE_SIZE] = "";
    struct status ignored;
    unsetenv(SPOOL_VARIABLE);
    if (environment_find_probe(probe, &ignored))
        setenv("OPENCL_LAYERS", probe, 1);
    gather_kind("opencl", &facts->opencl, facts->opencl_driver);
    facts->opencl_layers.there = *probe && library_loaded((const char *[]){probe, NULL});
    void *loader = library_loaded(loaders);
    if (loader)
        snprintf(facts->opencl_layers.problem, FACT_TEXT, "its loader, %.300s, has no layers",
                 library_path(library_symbol(loader, "clGetPlatformIDs")));
    else
        set_problem(&facts->opencl_layers, "programs use the driver without a loader");
}

typedef vk_result create_vulkan(const struct vk_instance_create_info *, const void *,
                                vk_instance *);
typedef vk_result list_vulkan(vk_instance, uint32_t *, vk_physical_device *);
typedef void describe_vulkan(vk_physical_device, struct vk_physical_device_properties *);

/* "AMD Radeon RX 7900 XTX and 1 more" */
static bool describe_vulkan_devices(vk_get_instance_function *get, vk_instance instance,
                                    struct fact *fact) {
    list_vulkan *list = (list_vulkan *)get(instance, "vkEnumeratePhysicalDevices");
    describe_vulkan *describe = (describe_vulkan *)get(instance, "vkGetPhysicalDeviceProperties");
    struct vk_physical_device_properties properties;
    vk_physical_device devices[64];
    uint32_t count = ARRAY_COUNT(devices);
    char more[32] = "";
    if (!list || !describe || list(instance, &count, devices) < 0 || count == 0)
        return false;
    describe(devices[0], &properties);
    if (count > 1)
        snprintf(more, sizeof more, " and %u more", count - 1);
    fact->there = true;
    snprintf(fact->version, sizeof fact->version, "%.250s%s", properties.deviceName, more);
    return true;
}

static void gather_vulkan(struct doctor_facts *facts) {
    static const char *const vulkan[] = {"libvulkan.so.1", "libvulkan.so", NULL};
    void *library = library_open(vulkan);
    struct vk_application_info application = {.apiVersion = VULKAN_VERSION_1_1};
    struct vk_instance_create_info info = {.sType = 1, .pApplicationInfo = &application};
    vk_instance instance = NULL;
    vk_get_instance_function *get =
        (vk_get_instance_function *)(uintptr_t)library_symbol(library, "vkGetInstanceProcAddr");
    create_vulkan *create = get ? (create_vulkan *)get(NULL, "vkCreateInstance") : NULL;
    if (!library)
        set_problem(&facts->vulkan, "libvulkan.so.1 was not found; install libvulkan1 and a "
                                    "driver (mesa-vulkan-drivers, or that of the GPU)");
    else if (!create || create(&info, NULL, &instance) != VK_SUCCESS ||
             !describe_vulkan_devices(get, instance, &facts->vulkan))
        set_problem(&facts->vulkan, "no Vulkan device was found; install a driver "
                                    "(mesa-vulkan-drivers, or that of the GPU)");
}

/* ---- CUDA -------------------------------------------------------------------------------- */

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

/* ---- Vendor libraries -------------------------------------------------------------------- */

static void set_failure(struct fact *fact, const char *what, const char *failure,
                        const char *step) {
    *fact = (struct fact){0};
    snprintf(fact->problem, sizeof fact->problem, "%.200s %.100s; %s", what, failure, step);
}

static void gather_vendor_libraries(struct doctor_facts *facts) {
    char failure[FACT_TEXT], cupti[FACT_TEXT + sizeof "CUPTI at "];
    if (!doctor_gather_in_child(gather_cuda, facts, failure))
        set_failure(&facts->cuda, "the NVIDIA driver (libcuda.so.1)", failure,
                    "reinstall the driver");
    if (!doctor_gather_in_child(gather_opencl, facts, failure))
        set_failure(&facts->opencl, "OpenCL", failure,
                    "remove the faulty driver from /etc/OpenCL/vendors");
    if (!doctor_gather_in_child(gather_vulkan, facts, failure))
        set_failure(&facts->vulkan, "libvulkan", failure, "reinstall it");
    if (!doctor_gather_in_child(gather_cupti, facts, failure)) {
        snprintf(cupti, sizeof cupti, "%s%s", facts->cupti_path[0] ? "CUPTI at " : "CUPTI",
                 facts->cupti_path);
        set_failure(&facts->cupti, cupti, failure,
                    "install another version, or set RIDGE_CUPTI to one");
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
        copy_text(facts->other_injection, injected);
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

/* ---- CPU --------------------------------------------------------------------------------- */

/* Opens the perf events of a recording for this process, and closes them again. */
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

/* Addresses are zero for unprivileged users. */
static bool kernel_shows_addresses(void) {
    FILE *file = fopen("/proc/kallsyms", "r");
    char line[512];
    bool visible = false;
    for (unsigned i = 0; i < 64 && file && !visible && fgets(line, sizeof line, file); i++)
        visible = strtoull(line, NULL, 16) != 0;
    if (file)
        fclose(file);
    return visible;
}

/* ---- Programs ---------------------------------------------------------------------------- */

/* Searches PATH and the folder of the CUDA toolkit. */
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

/* root in a user namespace has no privileges outside it. */
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
    facts->kernel_symbols = kernel_shows_addresses();
    facts->reads_memory = python_reader_is_permitted();
    gather_python(facts);
    find_program("ncu", &facts->ncu);
    find_program("nsys", &facts->nsys);
    find_program("xctrace", &facts->xctrace);
    doctor_gather_xctrace(facts);
}

/* ---- Checks ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void found(struct doctor_finding *finding,
                                                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->found, sizeof finding->found, format, arguments);
    va_end(arguments);
    finding->can = true;
}

__attribute__((format(printf, 2, 3))) static void step(struct doctor_finding *finding,
                                                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->step, sizeof finding->step, format, arguments);
    va_end(arguments);
}

static void check_cuda(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->cuda.there)
        step(finding, "%s", facts->cuda.problem);
    else if (!facts->probe.there)
        step(finding, "%s", facts->probe.problem);
    else if (!facts->cupti.there)
        step(finding, "%s", facts->cupti.problem);
    else if (facts->other_injection[0])
        step(finding, "CUDA_INJECTION64_PATH is set by another tool (%s); unset it",
             facts->other_injection);
    else
        found(finding,
              "%s, driver %s, CUPTI %s; ridge yields CUPTI to a profiler in the program "
              "(torch.profiler), unless that finds CUPTI by dlsym (JAX, Proton)",
              facts->cuda.version, facts->cuda_driver, facts->cupti.version);
}

static void check_nvtx(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (facts->probe.there)
        found(finding, "ranges and marks of any program, with or without a GPU");
    else
        step(finding, "%s", facts->probe.problem);
}

static void check_sampling(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->sampling.there)
        step(finding, "%s", facts->sampling.problem);
    else if (facts->paranoid == PARANOID_UNKNOWN)
        found(finding, "stacks, thread states");
    else
        found(finding, "stacks, thread states; perf_event_paranoid is %d", facts->paranoid);
}

static void check_hardware_counters(const struct doctor_facts *facts,
                                    struct doctor_finding *finding) {
    if (!facts->sampling.there)
        step(finding, "needs cpu sampling");
    else if (facts->hardware_counters.there)
        found(finding, "IPC, cache misses, branch mispredictions");
    else
        step(finding, "%s", facts->hardware_counters.problem);
}

static void check_kernel_symbols(const struct doctor_facts *facts, struct doctor_finding *finding) {
    bool sampled =
        facts->paranoid == PARANOID_UNKNOWN || facts->paranoid <= 1 || facts->is_administrator;
    if (!facts->sampling.there)
        step(finding, "needs cpu sampling");
    else if (facts->kernel_symbols && sampled)
        found(finding, "/proc/kallsyms");
    else if (!sampled)
        step(finding, "this user may not sample the kernel; sudo sysctl "
                      "kernel.perf_event_paranoid=1 kernel.kptr_restrict=0");
    else
        step(finding, "the kernel hides its addresses; sudo sysctl kernel.kptr_restrict=0");
}

static void check_python(const struct doctor_facts *facts, struct doctor_finding *finding) {
    bool is_known =
        facts->python_major == 3 && facts->python_minor >= 8 && facts->python_minor <= 14;
    if (!facts->python.there)
        step(finding, "python3 was not found in PATH; programs with their own interpreter are "
                      "still recorded");
    else if (!facts->sampling.there)
        step(finding, "needs cpu sampling");
    else if (!is_known)
        step(finding, "Python %s shows only C functions; run the program with Python 3.8 to 3.14",
             facts->python.version);
    else if (!facts->reads_memory)
        step(finding, "the memory of other processes cannot be read; sudo sysctl "
                      "kernel.yama.ptrace_scope=1");
    else
        found(finding, "Python %s", facts->python.version);
}

/* Hardware counters of kernels, which Nsight Compute reads. */
static void check_gpu_counters(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->cuda.there)
        step(finding, "needs an NVIDIA GPU and its driver");
    else if (!facts->ncu.there)
        step(finding, "ncu was not found (ridge itself does not need it); install Nsight Compute "
                      "from https://developer.nvidia.com/nsight-compute");
    else if (facts->gpu_counters_restricted == 1 && !facts->is_administrator)
        step(finding,
             "the driver restricts them to administrators (RmProfilingAdminOnly is 1); sudo -E "
             "ncu ..., or put \"options nvidia NVreg_RestrictProfilingToAdminUsers=0\" into "
             "/etc/modprobe.d/nvidia-profiling.conf and reboot");
    else
        found(finding, "with Nsight Compute, %s", facts->ncu.version);
}

static void check_opencl(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->opencl.there)
        step(finding, "%s", facts->opencl.problem);
    else if (!facts->probe.there)
        step(finding, "%s", facts->probe.problem);
    else if (!facts->opencl_layers.there)
        step(finding,
             "found %s, but %s; install ocl-icd 2.3 or later (ocl-icd-libopencl1) or Khronos' "
             "loader, and put its folder first in LD_LIBRARY_PATH",
             facts->opencl.version, facts->opencl_layers.problem);
    else
        found(finding, "%s, driver %s", facts->opencl.version, facts->opencl_driver);
}

static void check_vulkan(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->vulkan.there)
        step(finding, "%s", facts->vulkan.problem);
    else if (!facts->probe.there)
        step(finding, "%s", facts->probe.problem);
    else
        found(finding, "%s; WebGPU (wgpu, Dawn) included", facts->vulkan.version);
}

static void check_nsys(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (facts->reads_sqlite)
        found(finding, "SQLite exports%s%s", facts->nsys.there ? "; " : "",
              facts->nsys.there ? facts->nsys.version : "");
    else
        step(finding, "this ridge was built without SQLite; install libsqlite3-dev and run make");
}

static void check_instruments(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (facts->reads_xml)
        found(finding, "XML exports of xctrace%s%s", facts->xctrace.there ? "; " : "",
              facts->xctrace.there ? facts->xctrace.version : "");
    else
        step(finding, "this ridge was built without expat; install libexpat1-dev and run make");
}

const struct doctor_row doctor_rows[] = {
    {"cuda", true, check_cuda},
    {"opencl", true, check_opencl},
    {"vulkan", true, check_vulkan},
    {"nvtx", true, check_nvtx},
    {"cpu sampling", true, check_sampling},
    {"hardware counters", false, check_hardware_counters},
    {"kernel symbols", false, check_kernel_symbols},
    {"python functions", false, check_python},
    {"gpu counters", false, check_gpu_counters},
    {"metal", true, doctor_check_metal},
    {"nsys traces", false, check_nsys},
    {"xctrace traces", false, check_instruments},
    {0},
};

void doctor_examine(const struct doctor_facts *facts, const struct doctor_row *row,
                    struct doctor_finding *finding) {
    memset(finding, 0, sizeof *finding);
    finding->name = row->name;
    finding->records = row->records;
    row->check(facts, finding);
}

/* ---- Output ------------------------------------------------------------------------------ */

enum { NAME_WIDTH = 17, INDENT = 2 + 3 + 2 + NAME_WIDTH + 2 };

static void print_machine(struct output *output) {
    struct utsname machine;
    output_printf(output, "ridge %s", RIDGE_VERSION);
    if (uname(&machine) == 0)
        output_printf(output, " on %s %s, %s", machine.sysname, machine.release, machine.machine);
    output_printf(output, "\n\n");
}

static bool print_text(const struct doctor_facts *facts, struct output *output) {
    bool any = false;
    print_machine(output);
    for (const struct doctor_row *row = doctor_rows; row->name; row++) {
        struct doctor_finding finding;
        doctor_examine(facts, row, &finding);
        any |= finding.can && finding.records;
        output_printf(output, "  %-3s  %-*s  ", finding.can ? "yes" : "no", NAME_WIDTH,
                      finding.name);
        print_wrapped(output, finding.can ? finding.found : finding.step, INDENT);
    }
    return any;
}

static bool print_json(const struct doctor_facts *facts, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    bool any = false;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.doctor");
    json_member_integer(&json, "version", 1);
    json_member_string(&json, "ridge", RIDGE_VERSION);
    json_key(&json, "backends");
    json_begin_array(&json);
    for (const struct doctor_row *row = doctor_rows; row->name; row++) {
        struct doctor_finding finding;
        doctor_examine(facts, row, &finding);
        any |= finding.can && finding.records;
        json_begin_object(&json);
        json_member_string(&json, "name", finding.name);
        json_member_bool(&json, "usable", finding.can);
        json_member_string(&json, "found", finding.found);
        json_member_string(&json, "step", finding.step);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_member_bool(&json, "can_record", any);
    json_end_object(&json);
    return any;
}

static int doctor_main(const struct command_line *line) {
    struct status status = {0};
    struct output output;
    struct doctor_facts facts;
    const char *format = command_value(line, "format");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    doctor_gather(&facts);
    bool any = as_json ? print_json(&facts, &output) : print_text(&facts, &output);
    if (!output_commit(&output, &status))
        return command_fail(line, &status);
    return any ? 0 : EXIT_ANSWER_NO;
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "Check what can be recorded on this machine",
    .details =
        "Checks everything that ridge record and ridge import depend on: the CUDA driver, "
        "CUPTI and the probe, OpenCL, Vulkan, Xcode, perf events, Python, and the libraries that "
        "read the "
        "traces of other tools. Prints one line for each: what was found, or what is missing "
        "and how to fix it. Changes nothing. The exit status is 1 when nothing can be "
        "recorded.",
    .examples = "ridge doctor\n"
                "ridge doctor --format json | jq -r '.backends[] | select(.usable | not) | .step'",
    .options = options,
    .run = doctor_main,
};
