/* Searches the loader's path, the folders of CUDA toolkits and Python's site-packages (pip install
 * nvidia-cuda-nvrtc), in that order for each version. A library that cannot be loaded counts as
 * missing.
 */
#include "abi/cuda_toolkit.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/library.h"

/* Library folders below a toolkit and below a Python prefix. */
static const char *const toolkit_folders[] = {"lib64", "lib", "targets/*/lib", "extras/CUPTI/lib64",
                                              NULL};
static const char *const python_folders[] = {
    "lib/python3*/site-packages/nvidia/*/lib",
    "lib/python3*/dist-packages/nvidia/*/lib",
    "lib/python3/dist-packages/nvidia/*/lib",
    NULL,
};

static void *open_file(const char *path) {
    return library_open((const char *const[]){path, NULL});
}

/* The loader satisfies a dependency by name with a library that is already open, so companions that
 * are not on its path are opened first. */
static void open_companions(const char *path, const char *companion) {
    glob_t found;
    char pattern[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || !companion ||
        (size_t)snprintf(pattern, sizeof pattern, "%.*s/%s", (int)(slash - path), path,
                         companion) >= sizeof pattern ||
        glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        open_file(found.gl_pathv[i]);
    globfree(&found);
}

static bool is_world_writable(const char *path) {
    struct stat found;
    return stat(path, &found) != 0 || (found.st_mode & S_IWOTH);
}

/* A file that others can replace must not run as this user. */
static bool is_trusted(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path || (size_t)(slash - path) >= sizeof folder)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return !is_world_writable(folder) && !is_world_writable(path);
}

static void *open_matching(const char *pattern, const char *companion) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    void *library = NULL;
    for (size_t i = found.gl_pathc; i > 0 && !library; i--) { /* the highest version sorts last */
        if (is_trusted(found.gl_pathv[i - 1]))
            library = open_file(found.gl_pathv[i - 1]);
        if (library)
            open_companions(found.gl_pathv[i - 1], companion);
    }
    globfree(&found);
    return library;
}

/* The file name of one version of a library. */
struct library_file {
    const char *file, *companion;
};

static void *open_below(const char *prefix, const char *const *folders,
                        const struct library_file *library_file) {
    void *library = NULL;
    char pattern[PATH_MAX];
    for (; prefix && prefix[0] == '/' && *folders && !library; folders++)
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s/%s", prefix, *folders,
                             library_file->file) < sizeof pattern)
            library = open_matching(pattern, library_file->companion);
    return library;
}

/* "/usr/bin/python3" -> "/usr"; false when the path is not of that form. */
static bool prefix_of_program(char *path) {
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
    return path[0] == '/';
}

/* The first python3 on PATH. */
static bool find_python(char path[PATH_MAX]) {
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        size_t length = strcspn(rest, ":");
        if (length < PATH_MAX - 16) {
            snprintf(path, PATH_MAX, "%.*s/python3", (int)length, rest);
            if (access(path, X_OK) == 0)
                return true;
        }
        rest += length + (rest[length] == ':');
    }
    return false;
}

/* The python3 of a virtual environment is a link to another Python: both may have the packages. */
static void *open_in_python_on_path(const struct library_file *library_file) {
    char path[PATH_MAX], resolved[PATH_MAX];
    if (!find_python(path))
        return NULL;
    bool linked = realpath(path, resolved) != NULL;
    void *library = NULL;
    if (prefix_of_program(path))
        library = open_below(path, python_folders, library_file);
    if (!library && linked && prefix_of_program(resolved))
        library = open_below(resolved, python_folders, library_file);
    return library;
}

/* pyenv puts wrapper scripts on PATH. */
static void *open_in_home(const struct library_file *library_file) {
    const char *home = getenv("HOME"), *pyenv = getenv("PYENV_ROOT");
    char prefix[PATH_MAX];
    void *library = NULL;
    if (pyenv && strlen(pyenv) < PATH_MAX - 16) {
        snprintf(prefix, sizeof prefix, "%s/versions/*", pyenv);
        library = open_below(prefix, python_folders, library_file);
    }
    if (!library && home && strlen(home) < PATH_MAX - 32) {
        snprintf(prefix, sizeof prefix, "%s/.local", home);
        library = open_below(prefix, python_folders, library_file);
        snprintf(prefix, sizeof prefix, "%s/.pyenv/versions/*", home);
        library = library ? library : open_below(prefix, python_folders, library_file);
    }
    return library;
}

static void *find_file(const struct library_file *library_file) {
    const char *toolkits[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), getenv("CONDA_PREFIX"),
                              "/usr/local/cuda",   "/usr/local/cuda-*", "/opt/cuda"};
    const char *pythons[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
    void *library = open_file(library_file->file);
    for (size_t i = 0; i < ARRAY_COUNT(toolkits) && !library; i++)
        library = open_below(toolkits[i], toolkit_folders, library_file);
    for (size_t i = 0; i < ARRAY_COUNT(pythons) && !library; i++)
        library = open_below(pythons[i], python_folders, library_file);
    if (!library)
        library = open_in_python_on_path(library_file);
    if (!library)
        library = open_in_home(library_file);
    if (!library)
        library = open_below("/usr/local", python_folders, library_file);
    return library ? library : open_below("/usr", python_folders, library_file);
}

void *toolkit_library_find(const struct toolkit_library *library, int major) {
    const char *chosen = getenv(library->variable);
    if (chosen && *chosen)
        return strchr(chosen, '/') ? open_matching(chosen, library->companion) : open_file(chosen);
    void *found = NULL;
    for (int newer = 0; newer < 2 && !found; newer++)
        for (size_t i = 0; library->versions[i].file && !found; i++)
            if ((major != 0 && library->versions[i].major > major) == (newer == 1))
                found = find_file(
                    &(struct library_file){library->versions[i].file, library->companion});
    return found;
}
