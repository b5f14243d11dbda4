/* The kernel table for spreadsheets and data frames: one row for each kernel group of each device,
 * in order of device and time. RFC 4180; times in nanoseconds. */
#include "report/report.h"

#include <inttypes.h>

#include "base/table.h"
#include "report/limits.h"
#include "report/wording.h"

static void write_group(struct output *output, const struct model *model,
                        const struct report_device *device, const struct kernel_group *group) {
    const struct trace *trace = model->trace;
    const struct text texts[] = {
        model_device_key(model, device->id),
        trace_text(trace, trace->device.name[device->id]),
        group->short_name,
        trace_text(trace, group->full_name),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        table_csv_field(output, texts[i]);
        output_write(output, ",", 1);
    }
    output_printf(
        output,
        "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%.15g,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.15g,",
        group->full_names, group->count, group->total, (double)group->total / (double)group->count,
        group->median, group->min, group->max, wording_share(group->total, device->kernels.total));
    if (kernel_occupancy_known(&group->occupancy))
        output_printf(output, "%.6g,%s", kernel_occupancy_mean(&group->occupancy),
                      occupancy_limit_name(kernel_occupancy_limit(&group->occupancy)));
    else
        output_write(output, ",", 1);
    limits_csv(output, &group->limits);
    output_write(output, "\r\n", 2);
}

bool report_write_csv(const struct report *report, struct output *output, struct status *status) {
    (void)status;
    output_printf(output,
                  "device,device_name,kernel,full_name,full_names,count,total_ns,mean_ns,"
                  "median_ns,min_ns,max_ns,share,occupancy,occupancy_limit%s\r\n",
                  limits_csv_head);
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *device = &report->devices[i];
        for (size_t group = 0; group < device->kernels.group_count; group++)
            write_group(output, &report->model, device, &device->kernels.groups[group]);
    }
    return true;
}
