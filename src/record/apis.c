/* A library that is loaded need not be used, so the notes state what was seen. perf reports every
 * mapping; without it, the maps of running processes are read now and then.
 */
#include "record/apis.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "record/record.h"

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

void apis_mapped(struct apis *apis, struct text path) {
    size_t start = path.length;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    struct text name = {path.data + start, path.length - start};
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        if (text_starts(name, table[i].library))
            apis->loaded |= 1u << i;
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
