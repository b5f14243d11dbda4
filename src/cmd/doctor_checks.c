/* From facts to findings, one function for each thing that can be recorded or read. A finding that
 * is bad ends in a step that the user can take as it stands. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/doctor.h"

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
        step(finding, "CUDA_INJECTION64_PATH is another tool's (%s); unset it",
             facts->other_injection);
    else
        found(
            finding,
            "%s, driver %s, CUPTI %s; a profiler in the program (torch.profiler) takes CUPTI over, "
            "except one that finds it by dlsym (JAX, Proton)",
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
        found(finding, "stacks, states");
    else
        found(finding, "stacks, states; perf_event_paranoid is %d", facts->paranoid);
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
        step(finding, "the kernel's own functions are hidden from this user; sudo sysctl "
                      "kernel.perf_event_paranoid=1 kernel.kptr_restrict=0");
    else
        step(finding, "the kernel hides its addresses; sudo sysctl kernel.kptr_restrict=0");
}

static void check_python(const struct doctor_facts *facts, struct doctor_finding *finding) {
    bool names = facts->python_major > 3 || (facts->python_major == 3 && facts->python_minor >= 12);
    if (!facts->python.there)
        step(finding, "there is no python3 on the path; programs that bring their own are "
                      "recorded all the same");
    else if (!facts->sampling.there)
        step(finding, "needs cpu sampling");
    else if (names)
        found(finding, "Python %s", facts->python.version);
    else
        step(finding,
             "Python %s shows its C functions only; run the program with Python 3.12 or "
             "later",
             facts->python.version);
}

/* What CUPTI does not tell: the counters inside a kernel, which another tool reads. */
static void check_gpu_counters(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->cuda.there)
        step(finding, "needs an NVIDIA GPU and its driver");
    else if (!facts->ncu.there)
        step(finding, "ncu was not found (ridge itself does not need it); install Nsight Compute "
                      "from https://developer.nvidia.com/nsight-compute");
    else if (facts->gpu_counters_restricted == 1 && !facts->is_administrator)
        step(finding,
             "the driver lets administrators alone read them (RmProfilingAdminOnly is 1); sudo -E "
             "ncu ..., or put \"options nvidia NVreg_RestrictProfilingToAdminUsers=0\" into "
             "/etc/modprobe.d/nvidia-profiling.conf and restart");
    else
        found(finding, "by Nsight Compute, %s", facts->ncu.version);
}

static void check_opencl(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (facts->opencl.there)
        found(finding, "what ridge's runtime does on %s, driver %s", facts->opencl.version,
              facts->opencl_driver);
    else
        step(finding, "%s", facts->opencl.problem);
}

static void check_vulkan(const struct doctor_facts *facts, struct doctor_finding *finding) {
    step(finding, "%s; give ridge a trace of nsys or Perfetto",
         facts->vulkan.there ? "not recorded" : "no libvulkan");
}

static void check_metal(const struct doctor_facts *facts, struct doctor_finding *finding) {
    if (!facts->is_macos)
        step(finding, "only on macOS; ridge reads what xctrace exports there");
    else if (!facts->xctrace.there)
        step(finding, "xctrace was not found; xcode-select --install");
    else
        step(finding, "record with xcrun xctrace record --template 'Metal System Trace', and give "
                      "ridge its export");
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
    {"nvtx", true, check_nvtx},
    {"cpu sampling", true, check_sampling},
    {"hardware counters", false, check_hardware_counters},
    {"kernel symbols", false, check_kernel_symbols},
    {"python functions", false, check_python},
    {"gpu counters", false, check_gpu_counters},
    {"opencl", false, check_opencl},
    {"vulkan", false, check_vulkan},
    {"metal", false, check_metal},
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
