/* Loads CUPTI. A library that lacks a symbol of the table, or is older than the oldest known record
 * layout, is not used.
 */
#include "abi/cupti_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/library.h"
#include "abi/cuda_toolkit.h"

#define CUPTI_ROW(name, parameters) {#name, offsetof(struct cupti, name)},
static const struct library_symbol symbols[] = {CUPTI_SYMBOLS(CUPTI_ROW){NULL, 0}};
#undef CUPTI_ROW

static const struct toolkit_library description = {
    "RIDGE_CUPTI",
    NULL,
    {{13, "libcupti.so.13"},
     {12, "libcupti.so.12"},
     {11, "libcupti.so.11.8"},
     {0, "libcupti.so"},
     {0, NULL}},
};

/* Everything below is protected by the lock; the tables themselves do not change. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cupti own;
static bool loaded;
static const struct cupti *in_use = &own;

/* A CUPTI that is already loaded in the process: two copies conflict. */
static void *find_loaded(void) {
    const char *names[TOOLKIT_VERSIONS_MAX];
    size_t count = 0;
    for (; description.versions[count].file; count++)
        names[count] = description.versions[count].file;
    names[count] = NULL;
    return library_loaded(names);
}

static bool check_version(uint32_t version, struct status *status) {
    if (version >= CUPTI_OLDEST)
        return true;
    return status_fail(status, STATUS_UNSUPPORTED,
                       "CUPTI is too old (version %u); CUDA 11.8 or later is needed", version);
}

/* Without the driver even cuptiGetVersion() may crash. */
static bool check_driver(struct status *status) {
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                        "libcuda.so", NULL};
    return library_open(names) ||
           status_fail(
               status, STATUS_UNSUPPORTED,
               "CUPTI needs the NVIDIA driver, but libcuda.so.1 cannot be loaded; install the "
               "driver");
}

/* Loads the library and fills the table; nothing in it is called. */
static bool open_library(int major, struct cupti *table, struct status *status) {
    const char *chosen = getenv(description.variable);
    bool named = chosen && *chosen;
    if (named && strcmp(chosen, "off") == 0)
        return status_fail(status, STATUS_UNSUPPORTED, "%s is off", description.variable);
    if (!check_driver(status))
        return false;
    void *library = named ? NULL : find_loaded();
    *table = (struct cupti){.shared = library != NULL};
    if (!library)
        library = toolkit_library_find(&description, major);
    if (!library && named)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s is %s, which cannot be loaded; correct or unset it",
                           description.variable, chosen);
    if (!library)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "CUPTI was not found (libcupti.so); install the CUDA toolkit, or pip "
                           "install nvidia-cuda-cupti, or set %s to the library's path",
                           description.variable);
    const char *missing = library_fill(library, symbols, table);
    if (missing)
        return status_fail(status, STATUS_UNSUPPORTED, "CUPTI is too old: it lacks %s", missing);
    return true;
}

static bool load_library(int major, struct status *status) {
    struct cupti table;
    if (!open_library(major, &table, status))
        return false;
    cupti_result result = table.cuptiGetVersion(&table.version);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(&table, result, "cuptiGetVersion", status);
    own = table;
    return check_version(own.version, status);
}

bool cupti_locate(int major, char *path, size_t size, struct status *status) {
    struct cupti table;
    pthread_mutex_lock(&lock);
    bool found = open_library(major, &table, status);
    pthread_mutex_unlock(&lock);
    if (found)
        snprintf(path, size, "%s", library_path((const void *)(uintptr_t)table.cuptiGetVersion));
    return found;
}

const struct cupti *cupti_library(int major, struct status *status) {
    const struct cupti *found = NULL;
    pthread_mutex_lock(&lock);
    if (in_use != &own)
        found = check_version(in_use->version, status) ? in_use : NULL;
    else if (loaded || (loaded = load_library(major, status)))
        found = &own;
    pthread_mutex_unlock(&lock);
    return found;
}

bool cupti_call_failed(const struct cupti *cupti, cupti_result result, const char *call,
                       struct status *status) {
    const char *text = NULL;
    switch (result) {
    case CUPTI_TAKEN:
        return status_fail(status, STATUS_UNSUPPORTED,
                           "another profiler uses CUPTI in this process");
    case CUPTI_NEEDS_PRIVILEGES:
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the driver restricts CUPTI to administrators "
                           "(NVreg_RestrictProfilingToAdminUsers)");
    case CUPTI_INCOMPATIBLE:
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "CUPTI is incompatible with the driver; set RIDGE_CUPTI to another version");
    default:
        if (cupti->cuptiGetResultString(result, &text) != CUPTI_SUCCEEDED || !text)
            text = "an unknown error";
        return status_fail(status, STATUS_UNSUPPORTED, "%s failed: %s (%u)", call, text, result);
    }
}

/* Before CUDA 13 versions were consecutive numbers, some shared by several toolkits. */
void cupti_version_text(uint32_t version, char text[CUPTI_VERSION_TEXT]) {
    static const char *const counted[] = {"11.8", "12.0", "12.2", "12.3", "12.4", "12.5",
                                          "12.6", "12.7", "12.8", "12.9", "12.9"};
    if (version >= 100000)
        snprintf(text, CUPTI_VERSION_TEXT, "%u.%u", version / 10000, version / 100 % 100);
    else if (version >= CUPTI_OLDEST && version - CUPTI_OLDEST < ARRAY_COUNT(counted))
        snprintf(text, CUPTI_VERSION_TEXT, "%s", counted[version - CUPTI_OLDEST]);
    else
        snprintf(text, CUPTI_VERSION_TEXT, "version %u", version);
}

void cupti_use(const struct cupti *cupti) {
    pthread_mutex_lock(&lock);
    in_use = cupti ? cupti : &own;
    pthread_mutex_unlock(&lock);
}
