/* ncu's command line, its process, and what its errors mean. */
#include "record/ncu_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/program.h"
#include "base/text_lines.h"

extern char **environ;

/* ---- Where it is ---- */

static bool find_program(struct buffer *path) {
    static const char *const places[] = {"/usr/local/cuda/bin/ncu",
                                         "/opt/nvidia/nsight-compute/*/ncu", NULL};
    return program_find("ncu", places, path);
}

bool ncu_is_installed(void) {
    struct buffer path = {0};
    bool found = find_program(&path);
    buffer_finish(&path);
    return found;
}

/* ---- Its command line ---- */

struct words {
    const char **list;
    size_t count, capacity;
    bool failed;
};

static void add_word(struct words *words, const char *word, struct status *status) {
    words->failed = words->failed || !GROW(words->list, &words->capacity, words->count + 1, status);
    if (!words->failed)
        words->list[words->count++] = word;
}

static void add_pair(struct words *words, const char *option, const char *value,
                     struct status *status) {
    add_word(words, option, status);
    add_word(words, value, status);
}

/* Each section is an option of its own. */
static void add_sections(struct words *words, char *sections, struct status *status) {
    for (char *name = strtok(sections, ","); name; name = strtok(NULL, ","))
        add_pair(words, "--section", name, status);
}

/* The first launches of each kernel: context, stream, name and invocation. */
static void write_filter(const struct ncu_options *options, struct buffer *filter) {
    buffer_printf(filter, "::regex:%s:", options->kernels ? options->kernels : ".*");
    buffer_string(filter, "^(");
    for (unsigned i = 1; i <= options->launches; i++)
        buffer_printf(filter, "%s%u", i > 1 ? "|" : "", i);
    buffer_append(filter, ")$", 3);
}

static void add_options(struct words *words, const struct ncu_options *options, const char *filter,
                        char *sections, struct status *status) {
    add_pair(words, "--export", options->report, status);
    add_word(words, "--force-overwrite", status);
    add_pair(words, "--log-file", options->log, status);
    add_pair(words, "--target-processes", "all", status);
    add_pair(words, "--clock-control", options->base_clocks ? "base" : "none", status);
    add_pair(words, "--replay-mode", options->application ? "application" : "kernel", status);
    add_pair(words, "--kernel-id", filter, status);
    add_sections(words, sections, status);
    if (options->metrics)
        add_pair(words, "--metrics", options->metrics, status);
}

/* ---- Its process ---- */

/* Ctrl-C is for the program: it ends, and ncu writes what it has. */
static bool spawn(const char *const *words, int *wait_status, struct status *status) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, saved[2];
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t pid;
    if (posix_spawnattr_init(&attributes) != 0)
        return status_no_memory(status);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    sigaction(SIGINT, &ignore, &saved[0]);
    sigaction(SIGQUIT, &ignore, &saved[1]);
    int error = posix_spawn(&pid, words[0], NULL, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
    while (error == 0 && waitpid(pid, wait_status, 0) < 0)
        if (errno != EINTR)
            error = errno;
    sigaction(SIGINT, &saved[0], NULL);
    sigaction(SIGQUIT, &saved[1], NULL);
    errno = error;
    return error == 0 || status_fail_errno(status, "cannot run %s", words[0]);
}

/* ---- Its messages ---- */

static const struct {
    const char *pattern;
    enum status_code code;
    const char *message;
} explanations[] = {
    {"ERR_NVGPUCTRPERM", STATUS_UNSUPPORTED,
     "the driver permits hardware counters only to administrators (ERR_NVGPUCTRPERM): run ridge as "
     "root (sudo -E), or let the administrator set NVreg_RestrictProfilingToAdminUsers=0 for the "
     "nvidia kernel module"},
    {"Driver resource was unavailable", STATUS_UNSUPPORTED,
     "the counters are in use by another tool: stop other profilers, and pause DCGM (dcgmi profile "
     "--pause)"},
    {"vGPU", STATUS_UNSUPPORTED,
     "the virtual GPU of this machine does not permit profiling; its administrator can enable it "
     "(enable_profiling of the vGPU)"},
    {"is not supported on", STATUS_UNSUPPORTED,
     "this GPU, or this virtual machine, has no hardware counters that ncu can measure"},
    {"No metrics to collect", STATUS_USAGE, "ncu knows none of the metrics that were requested"},
    {"Failed to find metric", STATUS_USAGE, NULL},
    {"No kernels were profiled", STATUS_INPUT,
     "no kernel was measured: the program launched none, or -k matches none of their names"},
};

/* The text of ncu's first message of a kind, without its prefix. */
static struct text message_of(struct text printed, const char *prefix) {
    while (printed.length > 0) {
        struct text line = text_split(&printed, '\n');
        if (text_starts(line, prefix))
            return text_trim(
                (struct text){line.data + strlen(prefix), line.length - strlen(prefix)});
    }
    return TEXT("");
}

void ncu_explain(struct text printed, struct status *status) {
    char shown[400];
    struct text error = message_of(printed, "==ERROR== ");
    text_printable(error, shown, sizeof shown);
    for (size_t i = 0; i < ARRAY_COUNT(explanations); i++)
        if (text_find(printed, explanations[i].pattern) >= 0) {
            const char *message = explanations[i].message;
            status_fail(status, explanations[i].code, "%s", message ? message : shown);
            return;
        }
    if (error.length)
        status_fail(status, STATUS_INPUT, "ncu failed: %s", shown);
    else
        status_fail(status, STATUS_INPUT, "ncu wrote no report");
}

static bool read_log(const char *path, struct buffer *log) {
    char block[4096];
    size_t got;
    FILE *file = fopen(path, "r");
    while (file && (got = fread(block, 1, sizeof block, file)) > 0 && log->length < 1 << 20)
        buffer_append(log, block, got);
    if (file)
        fclose(file);
    return file != NULL;
}

/* "==ERROR== The application returned an error code (3)." */
static int program_status(struct text log, int wait_status) {
    static const char words[] = "The application returned an error code (";
    ptrdiff_t at = text_find(log, words);
    if (at >= 0)
        return atoi(log.data + at + sizeof words - 1);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* The first error of a run that wrote a report. That the program failed is its own matter. */
static void find_problem(struct text printed, struct ncu_result *result) {
    static const char prefix[] = "==ERROR== ";
    while (printed.length > 0) {
        struct text line = text_split(&printed, '\n');
        if (!text_starts(line, prefix) || text_find(line, "The application returned") >= 0)
            continue;
        line = (struct text){line.data + sizeof prefix - 1, line.length - (sizeof prefix - 1)};
        text_printable(text_trim(line), result->problem, sizeof result->problem);
        return;
    }
}

bool ncu_run(const struct ncu_options *options, struct ncu_result *result, struct status *status) {
    struct buffer program = {0}, filter = {0}, log = {0};
    struct words words = {0};
    int wait_status = 0;
    if (!find_program(&program)) {
        buffer_finish(&program);
        return status_fail(status, STATUS_UNSUPPORTED,
                           "Nsight Compute (ncu) is not installed; it is part of the CUDA toolkit "
                           "(nsight-compute), and measures the counters of NVIDIA GPUs");
    }
    write_filter(options, &filter);
    char *sections = text_copy(text_of(options->sections ? options->sections : ""), status);
    add_word(&words, program.data, status);
    if (sections)
        add_options(&words, options, filter.data, sections, status);
    for (char *const *word = options->command; *word; word++)
        add_word(&words, *word, status);
    add_word(&words, NULL, status);
    bool ok = sections && !words.failed && buffer_ok(&program, status) &&
              buffer_ok(&filter, status) && spawn(words.list, &wait_status, status);
    if (ok) {
        read_log(options->log, &log);
        buffer_byte(&log, 0);
        struct text printed = {log.data ? log.data : "", log.length ? log.length - 1 : 0};
        result->exit_status = program_status(printed, wait_status);
        ok = access(options->report, R_OK) == 0;
        if (ok)
            find_problem(printed, result);
        else
            ncu_explain(printed, status);
    }
    memory_free(words.list);
    memory_free(sections);
    buffer_finish(&program);
    buffer_finish(&filter);
    buffer_finish(&log);
    return ok;
}
