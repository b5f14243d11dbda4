/* A device of the same name is taken to be as fast. Our own runtime's traces say which backend a
 * device belongs to ("opencl:0"); the devices of other sources are first looked for among CUDA's.
 */
#include "cmd/peaks_option.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/roofs/roof_cache.h"

/* "opencl" of "opencl:0"; "" of others. */
static void backend_of(struct text label, char backend[32]) {
    ptrdiff_t colon = text_find(label, ":");
    snprintf(backend, 32, "%.*s", colon > 0 ? (int)colon : 0, label.data);
}

/* "cpu:0" is OpenCL's or Vulkan's CPU in a recording. */
static bool find_kept(const char *backend, const char *description, const char *driver,
                      struct roofs *roofs) {
    if (backend && strcmp(backend, "cpu") == 0)
        return roofs_cache_find("opencl", description, driver, roofs) ||
               roofs_cache_find("vulkan", description, driver, roofs);
    return roofs_cache_find(backend, description, driver, roofs);
}

static bool find(struct text label, struct text name, struct roofs *roofs) {
    char backend[32], description[sizeof roofs->description];
    if (name.length == 0 || name.length >= sizeof description)
        return false;
    backend_of(label, backend);
    snprintf(description, sizeof description, "%.*s", TEXT_ARGS(name));
    return find_kept(*backend ? backend : NULL, description, NULL, roofs);
}

bool peaks_option_find(const struct trace *trace, struct limits **given, struct status *status) {
    struct roofs roofs;
    *given = memory_allocate(trace->device.count, sizeof **given, status);
    if (!*given)
        return false;
    for (uint32_t id = 1; id < trace->device.count; id++)
        if (find(trace_text(trace, trace->device.label[id]),
                 trace_text(trace, trace->device.name[id]), &roofs))
            roofs_as_limits(&roofs, &(*given)[id]);
    return true;
}

/* The version of the driver that is loaded; false if unknown. */
static bool read_driver(char *version, size_t capacity) {
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (!file)
        return false;
    bool told = fgets(version, (int)capacity, file) != NULL;
    fclose(file);
    version[told ? strcspn(version, "\n") : 0] = 0;
    return *version != 0;
}

/* What a recording keeps for good was measured with the driver that it is made with. */
void peaks_option_facts(const char *name, const char *label, record_fact *add, void *to) {
    struct roofs roofs;
    char driver[64], backend[32];
    backend_of(text_of(label), backend);
    bool checks_driver = !*backend && read_driver(driver, sizeof driver);
    if (find_kept(*backend ? backend : "cuda", name, checks_driver ? driver : NULL, &roofs))
        roofs_as_meta(&roofs, label, add, to);
}
