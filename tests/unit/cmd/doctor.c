/* What `ridge doctor` says on machines that are not here. */
#include "../test.h"

#include <signal.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/doctor.h"

static struct fact there(const char *version) {
    struct fact fact = {.there = true};
    snprintf(fact.version, sizeof fact.version, "%s", version);
    return fact;
}

static struct fact lacking(const char *problem) {
    struct fact fact = {0};
    snprintf(fact.problem, sizeof fact.problem, "%s", problem);
    return fact;
}

/* A machine on which all is well. */
static struct doctor_facts healthy(void) {
    return (struct doctor_facts){
        .is_linux = true,
        .probe = there(""),
        .cuda = there("NVIDIA H200"),
        .cuda_driver = "580.65",
        .cupti = there("13.0"),
        .gpu_counters_restricted = 0,
        .sampling = there(""),
        .hardware_counters = there(""),
        .paranoid = 1,
        .kernel_symbols = true,
        .python = there("3.12.4"),
        .python_major = 3,
        .python_minor = 12,
        .reads_memory = true,
        .opencl = there("NVIDIA H200"),
        .opencl_layers = there(""),
        .vulkan = there("NVIDIA H200 and 1 more"),
        .ncu = there("/usr/bin/ncu"),
        .reads_sqlite = true,
        .reads_xml = true,
    };
}

static struct doctor_finding ask(const struct doctor_facts *facts, const char *name) {
    struct doctor_finding finding = {0};
    for (const struct doctor_row *row = doctor_rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            doctor_examine(facts, row, &finding);
    if (!finding.name)
        test_failed(__FILE__, __LINE__, "the doctor does not look at %s", name);
    return finding;
}

static void check_step(const struct doctor_facts *facts, const char *name, const char *words) {
    struct doctor_finding finding = ask(facts, name);
    CHECK(!finding.can);
    if (!strstr(finding.step, words))
        test_failed(__FILE__, __LINE__, "%s: \"%s\" does not say \"%s\"", name, finding.step,
                    words);
}

TEST(the_doctor_names_versions_where_all_is_well) {
    struct doctor_facts facts = healthy();
    static const char *const fine[] = {
        "cuda",         "nvtx",   "cpu sampling", "kernel symbols", "hardware counters",
        "gpu counters", "opencl", "nsys traces",  "xctrace traces", "python functions"};
    for (size_t i = 0; i < ARRAY_COUNT(fine); i++) {
        struct doctor_finding finding = ask(&facts, fine[i]);
        CHECK(finding.can);
        CHECK(finding.found[0] && !finding.step[0]);
    }
    CHECK_STRING(
        ask(&facts, "cuda").found,
        "NVIDIA H200, driver 580.65, CUPTI 13.0; ridge yields CUPTI to a profiler in the program "
        "(torch.profiler), unless that finds CUPTI by dlsym (JAX, Proton)");
}

TEST(each_thing_that_is_missing_has_its_step) {
    struct doctor_facts facts = healthy();
    facts.cupti = lacking("CUPTI was not found; pip install nvidia-cuda-cupti");
    check_step(&facts, "cuda", "pip install nvidia-cuda-cupti");
    facts.probe = lacking("libridge-probe.so is nowhere; run make install");
    check_step(&facts, "cuda", "make install");
    check_step(&facts, "nvtx", "make install");
    facts = healthy();
    snprintf(facts.other_injection, sizeof facts.other_injection, "/opt/other.so");
    check_step(&facts, "cuda", "/opt/other.so");
    facts.opencl_layers = lacking("its loader is old");
    check_step(&facts, "opencl", "found NVIDIA H200, but its loader is old; install ocl-icd");
    facts.opencl = lacking("no OpenCL driver was found");
    check_step(&facts, "opencl", "no OpenCL driver");
    facts.vulkan = lacking("no Vulkan device was found");
    check_step(&facts, "vulkan", "no Vulkan device");
    facts.sampling = lacking("sudo sysctl kernel.perf_event_paranoid=2");
    check_step(&facts, "cpu sampling", "sysctl kernel.perf_event_paranoid=2");
    check_step(&facts, "hardware counters", "needs cpu sampling");
    facts = healthy();
    facts.hardware_counters = lacking("this machine has no hardware counters");
    check_step(&facts, "hardware counters", "no hardware counters");
    facts.paranoid = 2;
    check_step(&facts, "kernel symbols", "kernel.perf_event_paranoid=1");
    facts.paranoid = 1;
    facts.kernel_symbols = false;
    check_step(&facts, "kernel symbols", "kernel.kptr_restrict=0");
    facts.python_minor = 7;
    check_step(&facts, "python functions", "3.8");
    facts.python_minor = 8;
    facts.reads_memory = false;
    check_step(&facts, "python functions", "ptrace_scope");
    facts.ncu.there = false;
    check_step(&facts, "gpu counters", "https://developer.nvidia.com/nsight-compute");
    facts.reads_sqlite = facts.reads_xml = false;
    check_step(&facts, "nsys traces", "SQLite");
    check_step(&facts, "xctrace traces", "expat");
}

static void crash(struct doctor_facts *facts) {
    snprintf(facts->cupti_path, sizeof facts->cupti_path, "/opt/libcupti.so");
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report it */
    raise(SIGSEGV);
}

static void leave(struct doctor_facts *facts) {
    (void)facts;
    _exit(3);
}

static void find_opencl(struct doctor_facts *facts) {
    facts->opencl = there("a device");
}

TEST(a_library_that_crashes_is_a_finding) {
    struct doctor_facts facts = {0};
    char failure[FACT_TEXT];
    CHECK(!doctor_gather_in_child(crash, &facts, failure));
    CHECK_STRING(failure, "crashes when loaded: Segmentation fault");
    CHECK_STRING(facts.cupti_path, "/opt/libcupti.so"); /* what was known before */
    CHECK(!doctor_gather_in_child(leave, &facts, failure));
    CHECK_STRING(failure, "exits when loaded: status 3");
    CHECK(doctor_gather_in_child(find_opencl, &facts, failure));
    CHECK_STRING(failure, "");
    CHECK(facts.opencl.there);
    CHECK_STRING(facts.opencl.version, "a device");
}

TEST(counters_that_only_administrators_may_read_are_told_apart) {
    struct doctor_facts facts = healthy();
    facts.gpu_counters_restricted = 1;
    check_step(&facts, "gpu counters", "NVreg_RestrictProfilingToAdminUsers=0");
    facts.is_administrator = true;
    CHECK(ask(&facts, "gpu counters").can);
    facts.paranoid = 3; /* no matter to administrators */
    CHECK(ask(&facts, "kernel symbols").can);
}

TEST(xctrace_is_missed_only_where_it_could_be) {
    struct doctor_facts facts = healthy();
    facts.xctrace.there = facts.instruments.there = false;
    check_step(&facts, "metal", "only on macOS");
    facts.is_macos = true;
    facts.probe.there = false;
    check_step(&facts, "metal", "install Xcode");
    facts.xctrace.there = true;
    snprintf(facts.instruments.problem, FACT_TEXT, "xctrace requires Xcode: ...");
    check_step(&facts, "metal", "requires Xcode");
    facts.probe.there = true;
    struct doctor_finding by_probe = ask(&facts, "metal");
    CHECK(by_probe.can && strstr(by_probe.found, "by the probe") &&
          strstr(by_probe.found, "requires Xcode"));
    facts.instruments.there = true;
    facts.developer_mode = 0;
    check_step(&facts, "metal", "DevToolsSecurity -enable");
    facts.developer_mode = -1;
    facts.integrity_protection = 1;
    struct doctor_finding finding = ask(&facts, "metal");
    CHECK(finding.can && strstr(finding.found, "System Integrity Protection"));
}
