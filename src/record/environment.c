/* The CUDA driver loads the library in CUDA_INJECTION64_PATH, and NVTX the one in
 * NVTX_INJECTION64_PATH: one each. A library that another tool has set is kept, and the user is
 * notified. OpenCL loaders load all layers in OPENCL_LAYERS. On macOS dyld loads the libraries in
 * DYLD_INSERT_LIBRARIES. The probe runs with the program's
 * rights, so no other user may be able to change it.
 */
#include "record/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/job_place.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "record/owner.h"
#include "record/vulkan_layer.h"
#include "spool/spool.h"

#ifdef __APPLE__
#define LIBRARY "libridge-probe.dylib"
#define PRELOAD "DYLD_INSERT_LIBRARIES"
#else
#define LIBRARY "libridge-probe.so"
#define PRELOAD "LD_PRELOAD"
#endif
#define MEMORY_LIBRARY "libridge-memory.so"
#define COLLECTIVES_LIBRARY "libridge-collectives.so"

/* ---- The probe --------------------------------------------------------------------------- */

/* No other user can change the file, or replace it in its folder. */
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
                           "%s is world-writable; chmod o-w it, or set RIDGE_PROBE_LIBRARY to a "
                           "copy of your own",
                           path);
    if ((place.st_mode & S_IWOTH) && !(place.st_mode & S_ISVTX))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s is in a world-writable folder; set RIDGE_PROBE_LIBRARY to a copy "
                           "elsewhere",
                           path);
    return true;
}

/* The folder of this program with a trailing slash, or "". */
static void own_folder(char folder[ENVIRONMENT_PROBE_SIZE]) {
    process_path(folder);
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
        return status_fail_errno(status, "RIDGE_PROBE_LIBRARY is %s", given);
    }
    own_folder(folder);
    for (size_t i = 0; i < ARRAY_COUNT(places) && *folder; i++) {
        snprintf(tried, sizeof tried, "%s%s", folder, places[i]);
        if (realpath(tried, path))
            return check_safe(path, status);
    }
    path[0] = 0;
    return status_fail(status, STATUS_UNSUPPORTED,
                       LIBRARY " is neither beside ridge nor in ../lib/ridge; run make install, or "
                               "set RIDGE_PROBE_LIBRARY");
}

/* ---- Variables --------------------------------------------------------------------------- */

const char *environment_value(const struct environment *environment, const char *name) {
    for (size_t i = environment->count; i > 0; i--)
        if (strcmp(environment->variables[i - 1].name, name) == 0)
            return environment->variables[i - 1].value;
    return NULL;
}

/* The last value that was set here, or the inherited one. */
static const char *value_of(const struct environment *environment, const char *name) {
    const char *value = environment_value(environment, name);
    return value ? value : getenv(name);
}

static bool set_variable(struct environment *environment, const char *name, const char *value,
                         struct status *status) {
    if (!GROW(environment->variables, &environment->capacity, environment->count + 1, status))
        return false;
    environment->variables[environment->count++] =
        (struct target_variable){.name = name, .value = value};
    return true;
}

static char *own_copy(struct environment *environment, struct text text, struct status *status) {
    if (!GROW(environment->owned, &environment->owned_capacity, environment->owned_count + 1,
              status))
        return NULL;
    char *copy = text_copy(text, status);
    if (copy)
        environment->owned[environment->owned_count++] = copy;
    return copy;
}

/* Whether this API of the device is recorded. */
static bool options_record(const struct record_options *options, enum record_backend api) {
    return options->backend == RECORD_AUTO || options->backend == api;
}

/* `given` is NAME=VALUE. */
static bool set_user_variable(struct environment *environment, const char *given,
                              struct status *status) {
    const char *equals = strchr(given, '=');
    if (!equals || equals == given)
        return status_fail(status, STATUS_USAGE, "--env must be NAME=VALUE, not '%s'", given);
    char *name = own_copy(environment, (struct text){given, (size_t)(equals - given)}, status);
    return name && set_variable(environment, name, equals + 1, status);
}

/* The variable holds the library of a single tool. */
static bool set_injection_path(struct environment *environment, const char *name, const char *what,
                               struct record_summary *summary, struct status *status) {
    const char *there = value_of(environment, name);
    if (there && *there && strcmp(there, environment->probe) != 0) {
        record_note(summary, "%s not recorded: %s is set by another tool (%s); unset it", what,
                    name, there);
        return true;
    }
    return set_variable(environment, name, environment->probe, status);
}

static bool list_has(const char *list, const char *element) {
    size_t length = strlen(element);
    for (const char *at = list; at && *at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL)
        if (strncmp(at, element, length) == 0 && (at[length] == ':' || !at[length]))
            return true;
    return false;
}

/* Appends to a colon-separated list of the user's. */
static bool append_variable(struct environment *environment, const char *name, const char *there,
                            const char *added, struct status *status) {
    struct buffer list = {0};
    buffer_printf(&list, "%s%s%s", there ? there : "", there && *there ? ":" : "", added);
    char *copy =
        buffer_ok(&list, status) ? own_copy(environment, buffer_as_text(&list), status) : NULL;
    buffer_finish(&list);
    return copy && set_variable(environment, name, copy, status);
}

/* Of the layers in the list the last is the first that the program calls: the probe sees the
 * program's calls as they are. */
static bool set_opencl_layers(struct environment *environment, struct status *status) {
    static const char name[] = "OPENCL_LAYERS";
    const char *there = value_of(environment, name);
    return list_has(there, environment->probe) ||
           append_variable(environment, name, there, environment->probe, status);
}

/* The value of $RIDGE_PROBE, see probe/probe.h. The range comes last, because its name may contain
 * commas. */
static char *probe_options(struct environment *environment, const struct record_options *options,
                           struct status *status) {
    struct buffer text = {0};
    const char *vulkan = !options_record(options, RECORD_VULKAN) ? "0"
                         : options->vulkan_dispatches            ? "dispatch"
                                                                 : "group";
    buffer_printf(&text, "cuda=%d,opencl=%d,vulkan=%s,metal=%d,graph=%s",
                  options_record(options, RECORD_CUDA), options_record(options, RECORD_OPENCL),
                  vulkan, options_record(options, RECORD_METAL),
                  options->graph_nodes ? "node" : "graph");
    if (options->ranks) {
        buffer_string(&text, ",ranks=");
        for (const char *at = options->ranks; *at; at++)
            buffer_byte(&text, *at == ',' ? '/' : *at);
    }
    if (options->python_lines)
        buffer_printf(&text, ",python=%s", options->python_lines);
    /* the program starts a little later: events that are still too early are skipped by drain.c */
    if (options->delay > 0)
        buffer_printf(&text, ",from=%lld",
                      (long long)(clock_now() + (int64_t)(options->delay * 1e9)));
    if (options->capture_range)
        buffer_printf(&text, ",capture=%s", options->capture_range);
    char *copy =
        buffer_ok(&text, status) ? own_copy(environment, buffer_as_text(&text), status) : NULL;
    buffer_finish(&text);
    return copy;
}

/* Puts a library before those that the user preloads. */
static bool preload(struct environment *environment, const char *path, struct status *status) {
    struct buffer text = {0};
    const char *there = value_of(environment, PRELOAD);
    buffer_printf(&text, "%s%s%s", path, there && *there ? ":" : "", there ? there : "");
    char *copy =
        buffer_ok(&text, status) ? own_copy(environment, buffer_as_text(&text), status) : NULL;
    buffer_finish(&text);
    return copy && set_variable(environment, PRELOAD, copy, status);
}

/* Preloads a library that lies beside the probe. `what` is not recorded if it cannot be used. */
static bool preload_own(struct environment *environment, const char *library, const char *what,
                        struct record_summary *summary, struct status *status) {
    char path[ENVIRONMENT_PROBE_SIZE + 32];
    const char *slash = strrchr(environment->probe, '/');
    struct status why = {0};
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash ? slash - environment->probe : 0),
             environment->probe, library);
    if (access(path, R_OK) == 0 && check_safe(path, &why))
        return preload(environment, path, status);
    if (why.code)
        record_note(summary, "%s not recorded: %s", what, why.message);
    else
        record_note(summary, "%s not recorded: %s is not installed beside the probe", what,
                    library);
    return true;
}

/* First: another allocator would otherwise keep the calls to itself. */
static bool set_memory_library(struct environment *environment, struct record_summary *summary,
                               struct status *status) {
#ifdef __APPLE__
    record_note(summary, "the heap is not recorded: malloc() is interposed on Linux only; use the "
                         "Allocations template of Instruments");
    return true;
#endif
    return preload_own(environment, MEMORY_LIBRARY, "the heap is", summary, status);
}

/* Programs that start the ranks of a job. */
static bool is_launcher(char *const *command) {
    static const char *const names[] = {"torchrun",  "mpirun",     "mpiexec",    "mpiexec.hydra",
                                        "orterun",   "prterun",    "srun",       "horovodrun",
                                        "deepspeed", "accelerate", "colossalai", "flux"};
    const char *slash = command && command[0] ? strrchr(command[0], '/') : NULL;
    const char *name = slash ? slash + 1 : command ? command[0] : NULL;
    for (size_t i = 0; name && i < ARRAY_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (char *const *word = command; word && *word && word[1]; word++)
        if (strcmp(*word, "-m") == 0 && (strcmp(word[1], "torch.distributed.run") == 0 ||
                                         strcmp(word[1], "torch.distributed.launch") == 0))
            return true;
    return false;
}

/* Only into the processes of a job: the library has the names of MPI's functions, by which a
 * program may find out whether it was linked with MPI. */
static bool set_collectives_library(struct environment *environment,
                                    const struct record_options *options,
                                    struct record_summary *summary, struct status *status) {
#ifdef __APPLE__
    (void)environment, (void)options, (void)summary, (void)status;
    return true;
#endif
    if (!options->ranks && job_place_own().rank < 0 && !is_launcher(options->command))
        return true;
    return preload_own(environment, COLLECTIVES_LIBRARY, "collectives of MPI and gloo are", summary,
                       status);
}

/* dyld loads the probe into the program, which sees Metal's devices from there. */
static bool set_metal(struct environment *environment, struct status *status) {
#ifdef __APPLE__
    const char *there = value_of(environment, PRELOAD);
    return list_has(there, environment->probe) || preload(environment, environment->probe, status);
#else
    (void)environment, (void)status;
    return true;
#endif
}

/* VK_ADD_LAYER_PATH is ignored when VK_LAYER_PATH is set, even if that is empty. ncnn loads a
 * driver without the loader: the probe leads it to the loader. llama.cpp labels its commands on
 * request. */
static bool set_vulkan(struct environment *environment, const char *spool,
                       struct record_summary *summary, struct status *status) {
    struct status why = {0};
    if (!vulkan_layer_write_manifest(spool, environment->probe, &why)) {
        record_note(summary, "Vulkan is not recorded: %s", why.message);
        return true;
    }
    const char *path = value_of(environment, "VK_LAYER_PATH");
    bool replaces = path != NULL;
    if (!replaces) {
        path = vulkan_layer_old_path();
        replaces = path != NULL;
    }
    return append_variable(environment, replaces ? "VK_LAYER_PATH" : "VK_ADD_LAYER_PATH",
                           replaces ? path : value_of(environment, "VK_ADD_LAYER_PATH"), spool,
                           status) &&
           append_variable(environment, "VK_INSTANCE_LAYERS",
                           value_of(environment, "VK_INSTANCE_LAYERS"), VULKAN_LAYER_NAME,
                           status) &&
           (value_of(environment, "NCNN_VULKAN_DRIVER") || !vulkan_layer_has_loader() ||
            set_variable(environment, "NCNN_VULKAN_DRIVER", environment->probe, status)) &&
           (value_of(environment, "GGML_VK_DEBUG_MARKERS") ||
            set_variable(environment, "GGML_VK_DEBUG_MARKERS", "1", status));
}

static bool set_probe(struct environment *environment, const struct record_options *options,
                      const char *spool, struct record_summary *summary, struct status *status) {
    char *words = probe_options(environment, options, status);
    return words && set_variable(environment, SPOOL_VARIABLE, spool, status) &&
           set_collectives_library(environment, options, summary, status) &&
           (!options->memory || set_memory_library(environment, summary, status)) &&
           set_variable(environment, SPOOL_OPTIONS, words, status) &&
           (!options_record(options, RECORD_CUDA) ||
            set_injection_path(environment, "CUDA_INJECTION64_PATH", "CUDA is", summary, status)) &&
           (!options_record(options, RECORD_METAL) || set_metal(environment, status)) &&
           (!options_record(options, RECORD_OPENCL) || set_opencl_layers(environment, status)) &&
           set_injection_path(environment, "NVTX_INJECTION64_PATH", "NVTX ranges are", summary,
                              status) &&
           (!options_record(options, RECORD_VULKAN) ||
            set_vulkan(environment, spool, summary, status));
}

bool environment_build(struct environment *environment, const struct record_options *options,
                       const char *spool, struct record_summary *summary, struct status *status) {
    const char *const *given = options->variables;
    for (; given && *given; given++)
        if (!set_user_variable(environment, *given, status))
            return false;
    if (spool && !set_probe(environment, options, spool, summary, status))
        return false;
    /* makes Python 3.12 and later write perf-PID.map */
    environment->enables_python_names = options->python_trampolines && !options->no_sampling &&
                                        !value_of(environment, "PYTHONPERFSUPPORT");
    return !environment->enables_python_names ||
           set_variable(environment, "PYTHONPERFSUPPORT", "1", status);
}

bool environment_build_session(struct environment *environment,
                               const struct record_options *options, const char *spool,
                               struct status *status) {
    struct record_options session = *options;
    if (session.backend == RECORD_AUTO)
        session.backend = RECORD_CUDA;
    char *words = probe_options(environment, &session, status);
    return words && set_variable(environment, SPOOL_VARIABLE, spool, status) &&
           set_variable(environment, SPOOL_OPTIONS, words, status);
}

void environment_finish(struct environment *environment) {
    for (size_t i = 0; i < environment->owned_count; i++)
        memory_free(environment->owned[i]);
    memory_free(environment->owned);
    memory_free(environment->variables);
    memset(environment, 0, sizeof *environment);
}
