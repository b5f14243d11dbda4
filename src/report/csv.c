/* The kernel table for spreadsheets and data frames: one row for each kernel group of each device,
 * in order of device and time. RFC 4180; times in nanoseconds. */
#include "report/report.h"

#include <inttypes.h>

#include "base/table.h"
#include "report/wording.h"

static void write_group(struct output *output, const struct trace *trace, struct text device_key,
                        const struct report_device *device, const struct kernel_group *group) {
    const struct text texts[] = {
        device_key,
        trace_text(trace, trace->device.name[device->id]),
        group->short_name,
        trace_text(trace, group->full_name),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        table_csv_text(output, texts[i]);
        output_write(output, ",", 1);
    }
    output_printf(
        output,
        "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%.15g,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.15g\r\n",
        group->full_names, group->count, group->total, (double)group->total / (double)group->count,
        group->median, group->min, group->max, wording_share(group->total, device->kernels.total));
}

bool report_write_csv(const struct report *report, struct output *output, struct status *status) {
    struct intern device_keys = {0};
    bool ok = wording_device_keys(report, &device_keys, status);
    output_printf(output, "device,device_name,kernel,full_name,full_names,count,total_ns,mean_ns,"
                          "median_ns,min_ns,max_ns,share\r\n");
    for (size_t i = 0; i < report->device_count && ok; i++) {
        const struct report_device *device = &report->devices[i];
        struct text key = intern_text(&device_keys, (uint32_t)i + 1);
        for (size_t group = 0; group < device->kernels.group_count; group++)
            write_group(output, report->model.trace, key, device, &device->kernels.groups[group]);
    }
    intern_finish(&device_keys);
    return ok;
}
