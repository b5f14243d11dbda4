/* A library that is loaded need not be used, so the notes state what was seen. perf reports every
 * mapping; without it, the maps of running processes are read now and then.
 */
#include "record/apis.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "record/record.h"
#include "trace/writer.h"

static const struct {
    const char *library; /* the file's name begins with it */
    const char *name;
    const char *key;  /* meta of a probe that records it; NULL: none can */
    const char *hint; /* what to do */
} table[] = {
    {"libOpenCL.so", "OpenCL", "opencl.recorded",
     "the program made no OpenCL call, or this loader does not support layers (see ridge doctor)"},
    {"libvulkan.so", "Vulkan", "vulkan.recorded",
     "the program created no device, or VK_INSTANCE_LAYERS was changed (see ridge doctor)"},
    {"libamdhip64.so", "HIP", NULL,
     "record with rocprofv3 or torch.profiler, and import the trace"},
    {"libze_loader.so", "Level Zero", NULL, "import a Chrome trace of another tool"},
};

/* ---- Frameworks -------------------------------------------------------------------------- */

/* Python packages, by a library of theirs. The version is that of the package's metadata, a folder
 * beside the package: "torch-2.11.0.dist-info". */
static const struct {
    const char *library; /* part of its path; begins with the package's folder */
    const char *package; /* the metadata's name begins with it */
    const char *key;
} frameworks[] = {
    {"/torch/lib/libtorch_cpu.so", "torch-", "pytorch.version"},
    {"/jaxlib/libjax_common.so", "jaxlib-", "jaxlib.version"},
    {"/jaxlib/xla_extension.so", "jaxlib-", "jaxlib.version"},
    {"/tensorflow/libtensorflow_framework.so", "tensorflow-", "tensorflow.version"},
    {"/triton/_C/libtriton.so", "triton-", "triton.version"},
    {"/cupy/_core/core.", "cupy", "cupy.version"}, /* "cupy_cuda13x-13.6.0.dist-info" */
};
_Static_assert(ARRAY_COUNT(frameworks) == FRAMEWORKS, "one version for each");

/* "torch-2.11.0+cu130.dist-info": "2.11.0+cu130". */
static bool version_of(const char *name, const char *package,
                       char version[FRAMEWORK_VERSION_SIZE]) {
    const char *dash = strchr(name, '-'), *end = strstr(name, ".dist-info");
    if (strncmp(name, package, strlen(package)) != 0 || !dash || !end || end <= dash + 1 ||
        end - dash > FRAMEWORK_VERSION_SIZE)
        return false;
    snprintf(version, FRAMEWORK_VERSION_SIZE, "%.*s", (int)(end - dash - 1), dash + 1);
    return true;
}

static void find_version(struct text folder, const char *package,
                         char version[FRAMEWORK_VERSION_SIZE]) {
    char path[4096];
    const struct dirent *entry;
    if (folder.length >= sizeof path)
        return;
    snprintf(path, sizeof path, "%.*s", TEXT_ARGS(folder));
    DIR *list = opendir(path);
    while (list && (entry = readdir(list)))
        if (version_of(entry->d_name, package, version))
            break;
    if (list)
        closedir(list);
}

static void framework_mapped(struct apis *apis, struct text path) {
    for (size_t at = 0; at < path.length; at++) {
        struct text rest = {path.data + at, path.length - at};
        if (path.data[at] != '/')
            continue;
        for (size_t i = 0; i < FRAMEWORKS; i++)
            if (!apis->versions[i][0] && text_starts(rest, frameworks[i].library))
                find_version((struct text){path.data, at}, frameworks[i].package,
                             apis->versions[i]);
    }
}

void apis_write_versions(const struct apis *apis, struct trace_writer *writer) {
    for (size_t i = 0; i < FRAMEWORKS; i++)
        if (apis->versions[i][0])
            trace_writer_meta(writer, frameworks[i].key, text_of(apis->versions[i]));
}

/* ---- APIs -------------------------------------------------------------------------------- */

void apis_mapped(struct apis *apis, struct text path) {
    size_t start = path.length;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    struct text name = {path.data + start, path.length - start};
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if (text_starts(name, table[i].library))
            apis->loaded |= 1u << i;
    framework_mapped(apis, path);
}

void apis_read_maps(struct apis *apis, int64_t pid) {
    char path[64], line[4352];
    snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *name = strchr(line, '/');
        if (name)
            apis_mapped(apis, (struct text){name, strcspn(name, "\n")});
    }
    if (file)
        fclose(file);
}

void apis_meta(struct apis *apis, struct text key) {
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if (table[i].key && text_is(key, table[i].key))
            apis->recorded |= 1u << i;
}

void apis_note(const struct apis *apis, struct record_summary *summary) {
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if (apis->loaded & ~apis->recorded & 1u << i)
            record_note(summary, "%s was loaded, but %s was not recorded: %s", table[i].library,
                        table[i].name, table[i].hint);
}
