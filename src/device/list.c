/* Which devices are on this machine, and if not, why not? Every kind of device has a row at least,
 * so that a missing driver is told and not passed over. Nothing is opened for work. */
#include "device/list.h"

#include <stdio.h>
#include <string.h>

#include "device/device.h"

/* The message, cut where it does not fit. */
static void set_problem(struct ridge_device_info *row, const struct status *status) {
    snprintf(row->problem, sizeof row->problem, "%.*s", (int)sizeof row->problem - 1,
             status->message);
}

static void describe(const struct device_ops *kind, unsigned index, struct ridge_device_info *row) {
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
    row->compute_units = capabilities.compute_units;
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
            status_fail(&status, STATUS_UNSUPPORTED, "there is none");
        set_problem(&rows[0], &status);
        return 1;
    }
    for (unsigned i = 0; i < count && i < capacity; i++) {
        rows[i] = (struct ridge_device_info){0};
        describe(kind, i, &rows[i]);
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
