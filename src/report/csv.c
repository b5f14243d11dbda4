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
    bool ok = true, of_kernels = part->data == &section_counters && report->counters.count == 0 &&
                                 report->kernel_counters.kernel_count > 0;
    const struct section *data = of_kernels ? &section_kernel_counters : part->data;
    section_write_csv_head(data, output);
    for (size_t i = 0; ok && i < (part->per_device ? report->device_count : 1); i++) {
        struct report_source source = {report, part->per_device ? &report->devices[i] : NULL};
        ok = section_write_csv(data, &source, output, status);
    }
    return ok;
}
