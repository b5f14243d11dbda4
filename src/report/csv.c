/* One table for spreadsheets and data frames: RFC 4180, times in nanoseconds. */
#include <string.h>

#include "report/sections.h"

bool report_write_csv(const struct report *report, const char *section, struct output *output,
                      struct status *status) {
    const struct report_part *part = report_parts;
    while (part->name && strcmp(part->name, section ? section : "kernels") != 0)
        part++;
    if (!part->name || !part->data)
        return status_fail(status, STATUS_USAGE, "there is no table '%s' in CSV", section);
    section_write_csv_head(part->data, output);
    bool ok = true;
    for (size_t i = 0; ok && i < (part->per_device ? report->device_count : 1); i++) {
        struct report_source source = {report, part->per_device ? &report->devices[i] : NULL};
        ok = section_write_csv(part->data, &source, output, status);
    }
    return ok;
}
