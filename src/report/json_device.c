/* The JSON of each device: the figures that other tools have too, under their usual names, then
 * ridge's own account, gaps with their causes, kernels, launches and copies. Whatever divides idle
 * time here sums to it exactly. */
#include "base/array.h"
#include "report/json_parts.h"
#include "report/limits.h"

static void write_usual_figures(struct json *json, const struct report *report,
                                const struct account *account) {
    int64_t gpu_busy = account->kernel_union + account->exposed_copy;
    json_member_unsigned(json, "kernel_count", account->kernels);
    json_member_integer(json, "kernel_sum_ns", account->kernel_sum);
    json_member_integer(json, "kernel_busy_ns", account->kernel_union);
    json_member_integer(json, "kernel_span_ns", account->kernel_span);
    json_member_number(json, "kernel_util",
                       wording_share(account->kernel_union, account->kernel_span));
    json_member_unsigned(json, "streams", account->queues);
    json_member_unsigned(json, "merged_intervals", account->kernel_blocks);
    json_member_unsigned(json, "n_gaps", account->kernel_gaps);
    json_member_integer(json, "gap_total_ns", account->kernel_gap_total);
    json_member_number(json, "mean_gap_ns",
                       wording_share(account->kernel_gap_total, (int64_t)account->kernel_gaps));
    json_member_integer(json, "max_gap_ns", account->kernel_gap_max);
    json_member_unsigned(json, "stream_gap_count", account->queue_gaps);
    json_member_unsigned(json, "stream_gap_positive", account->queue_gaps_positive);
    json_member_integer(json, "stream_gap_total_ns", account->queue_gap_total);
    json_member_number(json, "stream_mean_gap_ns",
                       wording_share(account->queue_gap_total, (int64_t)account->queue_gaps));
    json_member_integer(json, "gpu_busy_ns", gpu_busy);
    json_member_integer(json, "gpu_span_ns", account->activity_span);
    json_member_number(json, "gpu_util", wording_share(gpu_busy, account->activity_span));
    json_member_number(json, "trace_util",
                       wording_share(gpu_busy, report->model.last - report->model.first));
}

static void write_account(struct json *json, const struct account *account, int64_t wall) {
    json_member_integer(json, "window_ns", account->window);
    json_member_integer(json, "busy_ns", account->busy);
    json_member_integer(json, "exposed_communication_ns", account->exposed_communication);
    json_member_integer(json, "exposed_copy_ns", account->exposed_copy);
    json_member_integer(json, "idle_ns", account->idle);
    json_member_ratio(json, "utilisation", account->busy, account->window);
    json_member_ratio(json, "launch_efficiency", account->kernel_sum, wall);
    json_member_integer(json, "copy_union_ns", account->copy_union);
    json_member_integer(json, "copy_hidden_ns", account->copy_hidden);
    json_member_ratio(json, "overlap", account->copy_hidden, account->copy_union);
    json_member_unsigned(json, "kernels", account->kernels);
    json_member_unsigned(json, "copies", account->copies);
    json_member_unsigned(json, "sets", account->sets);
    json_member_integer(json, "kernel_sum_ns", account->kernel_sum);
    json_member_integer(json, "copy_sum_ns", account->copy_sum);
    json_member_integer(json, "set_sum_ns", account->set_sum);
    json_member_unsigned(json, "collectives", account->collectives);
    json_member_integer(json, "communication_sum_ns", account->communication_sum);
    json_member_integer(json, "communication_union_ns", account->communication_union);
}

static void write_steady(struct json *json, const struct report *report,
                         const struct report_device *device) {
    json_key(json, "steady");
    if (!device->has_steady) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_member_integer(json, "start_ns", json_report_time(report, device->steady_window.start));
    json_member_integer(json, "end_ns", json_report_time(report, device->steady_window.end));
    write_account(json, &device->steady, device->steady.window);
    json_end_object(json);
}

static void write_selected(struct json *json, const struct report *report,
                           const struct selection *selection) {
    json_key(json, "selected");
    json_begin_object(json);
    json_member_unsigned(json, "windows", selection->count);
    if (selection->count) {
        const struct window *last = &selection->windows[selection->count - 1];
        json_member_integer(json, "start_ns",
                            json_report_time(report, selection->windows[0].start));
        json_member_integer(json, "end_ns", json_report_time(report, last->end));
    }
    json_member_integer(json, "length_ns", selection_length(selection));
    json_end_object(json);
}

static void write_names(struct json *json, const char *key, const struct report *report,
                        const struct gap_names *names) {
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < names->count; i++) {
        json_begin_object(json);
        json_member_text(json, "name", trace_text(report->model.trace, names->list[i].name));
        json_member_integer(json, "time_ns", names->list[i].time);
        json_member_unsigned(json, "count", names->list[i].gaps);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_causes(struct json *json, const struct gaps *gaps) {
    json_key(json, "causes");
    json_begin_object(json);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        json_key(json, gap_cause_name(cause));
        json_begin_object(json);
        json_member_integer(json, "time_ns", gaps->cause_time[cause]);
        json_member_unsigned(json, "gaps", gaps->cause_gaps[cause]);
        json_member_number(json, "share", wording_share(gaps->cause_time[cause], gaps->total));
        json_end_object(json);
    }
    json_end_object(json);
}

/* Null if thread states were not recorded. */
static void write_host_states(struct json *json, const struct report *report,
                              const struct gaps *gaps) {
    json_key(json, "host_states");
    if (!gaps->states_known) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    for (unsigned state = 0; state < STATES; state++) {
        const struct host_state *part = &gaps->host_state[state];
        json_key(json, states_name(state));
        json_begin_object(json);
        json_member_integer(json, "time_ns", part->time);
        json_member_number(json, "share", wording_share(part->time, gaps->cause_time[CAUSE_HOST]));
        write_names(json, "names", report, &part->names);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_histogram(struct json *json, const struct gaps *gaps) {
    int64_t below = 1000;
    json_key(json, "histogram");
    json_begin_array(json);
    for (unsigned bucket = 0; bucket < GAP_BUCKETS; bucket++, below *= 10) {
        json_begin_object(json);
        json_key(json, "below_ns");
        if (bucket + 1 < GAP_BUCKETS)
            json_integer(json, below);
        else
            json_null(json);
        json_member_unsigned(json, "count", gaps->histogram[bucket]);
        json_member_integer(json, "time_ns", gaps->histogram_time[bucket]);
        json_end_object(json);
    }
    json_end_array(json);
}

/* The short name of what ended a gap, among the device's kernels; copies have only their own. */
static struct text next_name(const struct report *report, const struct kernels *kernels,
                             uint32_t next) {
    const struct trace *trace = report->model.trace;
    if (next == NO_ROW)
        return TEXT("");
    uint32_t name = trace->activity.name[next];
    for (size_t i = 0; i < kernels->variant_count; i++)
        if (kernels->variants[i].name == name && trace->activity.kind[next] == ACTIVITY_KERNEL)
            return kernels->groups[kernels->variants[i].group].short_name;
    return trace_text(trace, name);
}

static void write_longest(struct json *json, const struct report *report,
                          const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    json_key(json, "longest");
    json_begin_array(json);
    for (size_t i = 0; i < gaps->top_count; i++) {
        const struct gap *gap = &gaps->top[i];
        json_begin_object(json);
        json_member_integer(json, "start_ns", json_report_time(report, gap->start));
        json_member_integer(json, "duration_ns", gap->end - gap->start);
        json_member_text(json, "next", next_name(report, &device->kernels, gap->next));
        json_key(json, "causes");
        json_begin_object(json);
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            if (gap->cause[cause])
                json_member_integer(json, gap_cause_name(cause), gap->cause[cause]);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_gaps(struct json *json, const struct report *report,
                       const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    json_key(json, "gaps");
    json_begin_object(json);
    json_member_unsigned(json, "count", gaps->count);
    json_member_integer(json, "total_ns", gaps->total);
    json_member_mean(json, "mean_ns", gaps->total, gaps->count);
    json_member_measure(json, "median_ns", gaps->median, gaps->count);
    json_member_measure(json, "p99_ns", gaps->p99, gaps->count);
    json_member_measure(json, "min_ns", gaps->min, gaps->count);
    json_member_measure(json, "max_ns", gaps->max, gaps->count);
    json_key(json, "variation");
    if (gaps->count)
        json_number(json, gaps->variation);
    else
        json_null(json);
    json_member_bool(json, "regular", wording_gaps_regular(gaps));
    write_causes(json, gaps);
    write_names(json, "host", report, &gaps->host_names);
    write_host_states(json, report, gaps);
    write_names(json, "sync_calls", report, &gaps->sync_names);
    write_histogram(json, gaps);
    write_longest(json, report, device);
    json_end_object(json);
}

static bool write_layers(struct json *json, const struct report_source *source,
                         struct status *status) {
    const struct layers *layers = &source->device->layers;
    json_key(json, "layers");
    json_begin_object(json);
    json_member_unsigned(json, "steps", layers->steps);
    json_member_unsigned(json, "repetitions", layers->count);
    json_key(json, "repetition_ns");
    json_begin_array(json);
    for (size_t i = 0; i < layers->count; i++)
        json_number(json, (double)layers->repetitions[i] / (double)layers->steps);
    json_end_array(json);
    json_member_unsigned(json, "kernels_before", layers->kernels_before);
    json_member_mean(json, "before_ns", layers->before, layers->steps);
    json_member_unsigned(json, "kernels_after", layers->kernels_after);
    json_member_mean(json, "after_ns", layers->after, layers->steps);
    json_key(json, "kernels");
    bool ok = section_write_json(&section_layers, source, json, status);
    json_end_object(json);
    return ok;
}

static void write_launches(struct json *json, const struct launches *launches) {
    json_key(json, "launches");
    json_begin_object(json);
    json_member_unsigned(json, "kernels_matched", launches->matched);
    json_member_unsigned(json, "kernels_unmatched", launches->unmatched);
    json_member_unsigned(json, "distinct_launch_calls", launches->calls);
    json_member_integer(json, "launch_api_total_ns", launches->call_total);
    json_member_mean(json, "mean_launch_api_ns", launches->call_total, launches->calls);
    json_member_mean(json, "mean_launch_api_by_kernel_ns", launches->call_time_sum,
                     launches->matched);
    json_member_mean(json, "mean_launch_delay_ns", launches->delay_sum, launches->matched);
    json_member_measure(json, "median_launch_delay_ns", launches->delay_median, launches->matched);
    json_member_measure(json, "max_launch_delay_ns", launches->delay_max, launches->matched);
    json_member_unsigned(json, "negative_delays", launches->negative_delays);
    json_member_unsigned(json, "call_longer_than_kernel", launches->call_longer);
    json_member_unsigned(json, "call_shorter_than_kernel", launches->call_shorter);
    json_member_unsigned(json, "graph_kernels", launches->graph_kernels);
    json_key(json, "queue_depth");
    json_begin_object(json);
    json_member_unsigned(json, "launches", launches->depth_count);
    json_key(json, "mean");
    if (launches->depth_count)
        json_number(json, launches->depth_mean);
    else
        json_null(json);
    json_member_unsigned(json, "max", launches->depth_max);
    json_member_unsigned(json, "found_empty", launches->found_empty);
    json_end_object(json);
    json_end_object(json);
}

static void write_part(struct json *json, const char *key, bool known, uint64_t count,
                       bool bytes_known, uint64_t bytes, int64_t time, uint64_t whole) {
    json_key(json, key);
    json_begin_object(json);
    json_member_measure(json, "count", (int64_t)count, known);
    json_member_measure(json, "bytes", (int64_t)bytes, bytes_known);
    json_member_measure(json, "time_ns", time, known);
    json_key(json, "share");
    if (known)
        json_number(json, whole ? (double)count / (double)whole : 0);
    else
        json_null(json);
    json_end_object(json);
}

void json_copy_group(struct json *json, const struct copy_group *group) {
    bool sized = copy_group_is_sized(group);
    bool placed = copy_group_memory_is_known(group);
    bool pageable_sized = group->pageable == 0 || group->pageable_without_bytes < group->pageable;
    bool pinned_sized = group->pinned == 0 || group->pinned_without_bytes < group->pinned;
    json_begin_object(json);
    json_member_unsigned(json, "count", group->count);
    json_member_measure(json, "bytes", (int64_t)group->bytes, sized);
    json_member_integer(json, "time_ns", group->time);
    json_member_unsigned(json, "without_bytes", group->without_bytes);
    json_key(json, "gb_per_s");
    if (group->time_with_bytes > 0)
        json_number(json, copy_group_rate(group) * 1e-9);
    else
        json_null(json);
    write_part(json, "small", sized, group->small, sized, group->small_bytes, group->small_time,
               group->count - group->without_bytes);
    write_part(json, "pageable", placed, group->pageable, placed && pageable_sized,
               group->pageable_bytes, group->pageable_time, group->count);
    write_part(json, "pinned", placed, group->pinned, placed && pinned_sized, group->pinned_bytes,
               group->pinned_time, group->count);
    json_end_object(json);
}

static void write_copies(struct json *json, const struct copies *copies) {
    json_key(json, "copies");
    json_begin_object(json);
    for (unsigned direction = 0; direction < COPY_DIRECTIONS; direction++)
        if (copies->direction[direction].count) {
            json_key(json, copy_direction_name(direction));
            json_copy_group(json, &copies->direction[direction]);
        }
    json_end_object(json);
    json_key(json, "memsets");
    json_copy_group(json, &copies->sets);
}

/* What is known of the device itself; 0 in the trace means unknown and is left out. */
static void write_identity(struct json *json, const struct report *report, uint32_t id) {
    const struct trace *trace = report->model.trace;
    const struct columns_device *device = &trace->device;
    const struct {
        const char *key;
        uint64_t value;
    } known[] = {
        {"memory_bytes", device->memory_bytes[id]},
        {"multiprocessors", device->multiprocessors[id]},
        {"clock_hz", device->clock_hz[id]},
        {"bandwidth_bytes_per_s", device->bandwidth[id]},
    };
    json_member_text(json, "label", trace_text(trace, device->label[id]));
    json_member_unsigned(json, "index", device->index[id]);
    json_member_unsigned(json, "session", trace->device_session[id]);
    json_member_text(json, "name", trace_text(trace, device->name[id]));
    json_member_text(json, "vendor", trace_text(trace, device->vendor[id]));
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (known[i].value)
            json_member_unsigned(json, known[i].key, known[i].value);
}

bool json_report_devices(struct json *json, const struct report *report, struct status *status) {
    bool ok = true;
    json_key(json, "devices");
    json_begin_object(json);
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *device = &report->devices[i];
        struct report_source source = {report, device};
        json_key_text(json, model_device_key(&report->model, device->id));
        json_begin_object(json);
        write_identity(json, report, device->id);
        write_usual_figures(json, report, &device->account);
        write_selected(json, report, device->selection);
        json_key(json, "account");
        json_begin_object(json);
        write_account(json, &device->account, report_device_wall(report, device));
        json_end_object(json);
        write_steady(json, report, device);
        write_gaps(json, report, device);
        limits_of_device(json, &report->limits[device->id]);
        json_key(json, "kernels");
        ok = section_write_json(&section_kernels, &source, json, status) && ok;
        json_key(json, "kernel_variants");
        ok = section_write_json(&section_kernel_variants, &source, json, status) && ok;
        if (device->layers.kernels)
            ok = write_layers(json, &source, status) && ok;
        write_launches(json, &device->launches);
        write_copies(json, &device->copies);
        json_end_object(json);
    }
    json_end_object(json);
    return ok;
}
