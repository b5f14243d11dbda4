/* The driver loads the library that CUDA_INJECTION64_PATH names, and NVTX the one that
 * NVTX_INJECTION64_PATH names: one each. Another tool's stays where it is, and the user is told. A
 * library gets all that the program may do, so it must be one that nobody else can write to.
 */
#include "record/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "record/owner.h"
#include "spool/spool.h"

#define LIBRARY "libridge-probe.so"

/* ---- The probe ---------------------------------------------------------------------------- */

/* Neither the file nor its name in its folder can be another's. */
static bool check_safe(const char *path, struct status *status) {
    char folder[ENVIRONMENT_PROBE_SIZE];
    struct stat file, place;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(path, &file) != 0 || stat(folder, &place) != 0)
        return status_fail_errno(status, "%s", path);
    if (!S_ISREG(file.st_mode))
        return status_fail(status, STATUS_USAGE, "%s is not a library", path);
    if (!owner_is_trusted(file.st_uid) || !owner_is_trusted(place.st_uid))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s or its folder belongs to another user; set RIDGE_PROBE_LIBRARY to a "
                           "copy of your own",
                           path);
    if (file.st_mode & S_IWOTH)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s can be written to by others; chmod o-w it, or set "
                           "RIDGE_PROBE_LIBRARY to your own",
                           path);
    if ((place.st_mode & S_IWOTH) && !(place.st_mode & S_ISVTX))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s lies in a folder that others can write to; set RIDGE_PROBE_LIBRARY "
                           "to a copy elsewhere",
                           path);
    return true;
}

/* The folder that this program lies in, with the slash; "" when it cannot be told. */
static void own_folder(char folder[ENVIRONMENT_PROBE_SIZE]) {
    ssize_t length = readlink("/proc/self/exe", folder, ENVIRONMENT_PROBE_SIZE - 1);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = 0;
}

bool environment_find_probe(char path[ENVIRONMENT_PROBE_SIZE], struct status *status) {
    static const char *const places[] = {LIBRARY, "../lib/ridge/" LIBRARY};
    const char *given = getenv("RIDGE_PROBE_LIBRARY");
    char folder[ENVIRONMENT_PROBE_SIZE], tried[2 * ENVIRONMENT_PROBE_SIZE];
    if (given && *given) {
        if (realpath(given, path))
            return check_safe(path, status);
        return status_fail_errno(status, "RIDGE_PROBE_LIBRARY names %s", given);
    }
    own_folder(folder);
    for (size_t i = 0; i < sizeof places / sizeof *places && *folder; i++) {
        snprintf(tried, sizeof tried, "%s%s", folder, places[i]);
        if (realpath(tried, path))
            return check_safe(path, status);
    }
    path[0] = 0;
    return status_fail(status, STATUS_UNSUPPORTED,
                       LIBRARY " is neither beside ridge nor in ../lib/ridge; run make install, or "
                               "set RIDGE_PROBE_LIBRARY");
}

/* ---- Variables ---------------------------------------------------------------------------- */

/* The last value that was given it here, else the one that it has. */
static const char *value_of(const struct environment *environment, const char *name) {
    for (size_t i = environment->count; i > 0; i--)
        if (strcmp(environment->variables[i - 1].name, name) == 0)
            return environment->variables[i - 1].value;
    return getenv(name);
}

static bool set_variable(struct environment *environment, const char *name, const char *value,
                         struct status *status) {
    if (!memory_grow((void **)&environment->variables, &environment->capacity,
                     environment->count + 1, sizeof *environment->variables, status))
        return false;
    environment->variables[environment->count++] =
        (struct target_variable){.name = name, .value = value};
    return true;
}

static char *own_copy(struct environment *environment, struct text text, struct status *status) {
    if (!memory_grow((void **)&environment->owned, &environment->owned_capacity,
                     environment->owned_count + 1, sizeof *environment->owned, status))
        return NULL;
    char *copy = text_copy(text, status);
    if (copy)
        environment->owned[environment->owned_count++] = copy;
    return copy;
}

/* NAME=VALUE, as the user gave it. */
static bool set_user_variable(struct environment *environment, const char *given,
                              struct status *status) {
    const char *equals = strchr(given, '=');
    if (!equals || equals == given)
        return status_fail(status, STATUS_USAGE, "--env is NAME=VALUE, not '%s'", given);
    char *name = own_copy(environment, (struct text){given, (size_t)(equals - given)}, status);
    return name && set_variable(environment, name, equals + 1, status);
}

/* A place where only one tool's library fits. */
static bool set_injection_path(struct environment *environment, const char *name, const char *what,
                               struct record_summary *summary, struct status *status) {
    const char *there = value_of(environment, name);
    if (there && *there && strcmp(there, environment->probe) != 0) {
        record_note(summary, "%s not recorded: %s is another tool's (%s); unset it", what, name,
                    there);
        return true;
    }
    return set_variable(environment, name, environment->probe, status);
}

/* As src/probe/probe.h reads it; the range's name comes last, as it may hold commas. */
static char *probe_options(struct environment *environment, const struct record_options *options,
                           struct status *status) {
    struct buffer text = {0};
    buffer_printf(&text, "cuda=%d,graph=%s", options->backend != RECORD_CPU,
                  options->graph_nodes ? "node" : "graph");
    /* the program begins a little later: what comes too early is left out when it is drained */
    if (options->delay > 0)
        buffer_printf(&text, ",from=%lld",
                      (long long)(spool_now() + (int64_t)(options->delay * 1e9)));
    if (options->capture_range)
        buffer_printf(&text, ",capture=%s", options->capture_range);
    char *copy =
        buffer_ok(&text, status) ? own_copy(environment, buffer_as_text(&text), status) : NULL;
    buffer_finish(&text);
    return copy;
}

static bool set_probe(struct environment *environment, const struct record_options *options,
                      const char *spool, struct record_summary *summary, struct status *status) {
    char *words = probe_options(environment, options, status);
    return words && set_variable(environment, SPOOL_VARIABLE, spool, status) &&
           set_variable(environment, SPOOL_OPTIONS, words, status) &&
           (options->backend == RECORD_CPU ||
            set_injection_path(environment, "CUDA_INJECTION64_PATH", "CUDA is", summary, status)) &&
           set_injection_path(environment, "NVTX_INJECTION64_PATH", "NVTX ranges are", summary,
                              status);
}

bool environment_build(struct environment *environment, const struct record_options *options,
                       const char *spool, struct record_summary *summary, struct status *status) {
    const char *const *given = options->variables;
    for (; given && *given; given++)
        if (!set_user_variable(environment, *given, status))
            return false;
    if (spool && !set_probe(environment, options, spool, summary, status))
        return false;
    /* Python 3.12 and later then write down where their functions are */
    environment->enables_python_names =
        !options->no_sampling && !value_of(environment, "PYTHONPERFSUPPORT");
    return !environment->enables_python_names ||
           set_variable(environment, "PYTHONPERFSUPPORT", "1", status);
}

void environment_finish(struct environment *environment) {
    for (size_t i = 0; i < environment->owned_count; i++)
        memory_free(environment->owned[i]);
    memory_free(environment->owned);
    memory_free(environment->variables);
    memset(environment, 0, sizeof *environment);
}
