/* All kinds of devices: listing them, and opening one by its name.
 *
 * The list has at least one row per kind, so that a missing driver is reported. Listing opens no
 * device for work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"

/* In order of preference. */
const struct device_ops *const device_kinds[] = {&device_cuda,   &device_metal, &device_opencl,
                                                 &device_vulkan, &device_cpu,   NULL};

static const struct device_ops *kind_called(struct text name) {
    for (unsigned i = 0; device_kinds[i]; i++)
        if (text_is(name, device_kinds[i]->name))
            return device_kinds[i];
    return NULL;
}

const char *device_nvidia_uuid(const struct device *device) {
    const struct device_capabilities *capabilities = &device->capabilities;
    bool nvidia = capabilities->language == LANGUAGE_CUDA ||
                  strstr(capabilities->vendor, "NVIDIA") ||
                  strstr(capabilities->description, "NVIDIA");
    return nvidia ? capabilities->uuid : NULL;
}

static bool open_kind(const struct device_ops *kind, unsigned index,
                      const struct ridge_device_options *options, struct device **device,
                      struct status *status) {
    if (kind == &device_cpu)
        return device_cpu_open(options->threads, options->deterministic, device, status);
    if (!kind->open(index, device, status))
        return false;
    (*device)->capabilities.deterministic = options->deterministic;
    return true;
}

static bool open_index(const struct device_ops *kind, uint64_t index,
                       const struct ridge_device_options *options, struct device **device,
                       struct status *status) {
    unsigned count = 0;
    if (!kind->count(&count, status))
        return false;
    if (index < count)
        return open_kind(kind, (unsigned)index, options, device, status);
    if (count == 0)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "there is no %s device on this machine; \"cpu\" is always available",
                           kind->name);
    if (count == 1)
        return status_fail(status, STATUS_USAGE, "this machine has only one %s device: \"%s:0\"",
                           kind->name, kind->name);
    return status_fail(status, STATUS_USAGE,
                       "this machine has %u %s devices: \"%s:0\" to \"%s:%u\"", count, kind->name,
                       kind->name, kind->name, count - 1);
}

static bool open_named(const char *name, const struct ridge_device_options *options,
                       struct device **device, struct status *status) {
    const char *colon = strchr(name, ':');
    struct text word = {name, colon ? (size_t)(colon - name) : strlen(name)};
    const struct device_ops *kind = kind_called(word);
    uint64_t index = options->ordinal;
    if (!kind)
        return status_fail(
            status, STATUS_USAGE,
            "unknown device \"%.*s\"; the kinds are \"cpu\", \"cuda\", \"metal\", "
            "\"opencl\" and \"vulkan\", with a number where there are several, as in "
            "\"cuda:1\"",
            word.length > 40 ? 40 : (int)word.length, word.data);
    if (colon && !text_to_u64(text_of(colon + 1), &index))
        return status_fail(status, STATUS_USAGE,
                           "\"%.40s\" is not a device number; use \"%s:0\" for the first device",
                           colon + 1, kind->name);
    return open_index(kind, index, options, device, status) ||
           status_context(status, "%.60s", name);
}

/* An OpenCL or Vulkan device that is not a GPU is most likely this CPU, which "cpu" drives better.
 */
static bool open_first_gpu(const struct device_ops *kind,
                           const struct ridge_device_options *options, struct device **device) {
    struct status ignored;
    unsigned count = 0;
    if (!kind->count(&count, &ignored))
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct device_capabilities capabilities;
        if (kind->probe(i, &capabilities, &ignored) && capabilities.is_gpu &&
            open_kind(kind, i, options, device, &ignored))
            return true;
    }
    return false;
}

static bool open_any(const struct ridge_device_options *options, struct device **device,
                     struct status *status) {
    for (unsigned i = 0; device_kinds[i]; i++)
        if (device_kinds[i] != &device_cpu && open_first_gpu(device_kinds[i], options, device))
            return true;
    return open_kind(&device_cpu, 0, options, device, status);
}

bool device_open_with(const struct ridge_device_options *options, struct device **device,
                      struct status *status) {
    if (options->name)
        return open_named(options->name, options, device, status);
    if (options->ordinal > 0)
        return status_fail(status, STATUS_USAGE,
                           "device %u of which kind? Give a name, such as \"cuda\"",
                           options->ordinal);
    const char *chosen = getenv("RIDGE_DEVICE");
    if (chosen && *chosen)
        return open_named(chosen, options, device, status) ||
               status_context(status, "RIDGE_DEVICE");
    return open_any(options, device, status);
}

bool device_open(const char *name, struct device **device, struct status *status) {
    return device_open_with(&(struct ridge_device_options){.name = name}, device, status);
}

/* ---- Listing ------------------------------------------------------------------------------ */

/* The message, truncated to fit. */
static void set_problem(struct ridge_device_info *row, const struct status *status) {
    snprintf(row->problem, sizeof row->problem, "%.*s", (int)sizeof row->problem - 1,
             status->message);
}

static void describe_device(const struct device_ops *kind, unsigned index,
                            struct ridge_device_info *row) {
    struct device_capabilities capabilities = {0};
    struct status status = {0};
    row->usable = kind->probe(index, &capabilities, &status);
    if (!row->usable)
        set_problem(row, &status);
    if (capabilities.language == LANGUAGE_NATIVE)
        snprintf(row->name, sizeof row->name, "%s", kind->name); /* there is one */
    else
        snprintf(row->name, sizeof row->name, "%s:%u", kind->name, index);
    snprintf(row->description, sizeof row->description, "%s", capabilities.description);
    snprintf(row->driver, sizeof row->driver, "%s", capabilities.driver);
    row->memory_bytes = capabilities.memory_bytes;
    row->compute_units = capabilities.units_assumed ? 0 : capabilities.compute_units;
}

static size_t list_kind(const struct device_ops *kind, struct ridge_device_info *rows,
                        size_t capacity) {
    struct status status = {0};
    unsigned count = 0;
    if (!kind->count(&count, &status) || count == 0) {
        if (capacity == 0)
            return 1;
        rows[0] = (struct ridge_device_info){0};
        snprintf(rows[0].name, sizeof rows[0].name, "%s", kind->name);
        if (status.code == STATUS_OK)
            status_fail(&status, STATUS_UNSUPPORTED, "no such device");
        set_problem(&rows[0], &status);
        return 1;
    }
    for (unsigned i = 0; i < count && i < capacity; i++) {
        rows[i] = (struct ridge_device_info){0};
        describe_device(kind, i, &rows[i]);
    }
    return count;
}

size_t device_list(struct ridge_device_info *rows, size_t capacity) {
    size_t count = 0;
    for (const struct device_ops *const *kind = device_kinds; *kind; kind++)
        count += list_kind(*kind, count < capacity ? rows + count : NULL,
                           count < capacity ? capacity - count : 0);
    return count;
}

size_t device_list_kind(const char *kind, struct ridge_device_info *rows, size_t capacity) {
    for (const struct device_ops *const *each = device_kinds; *each; each++)
        if (strcmp((*each)->name, kind) == 0)
            return list_kind(*each, rows, capacity);
    return 0;
}
