/* The report as JSON, "ridge-report" version 1: everything the analysis found, nothing rounded and
 * nothing left out. Times are integer nanoseconds, counted from the start of the run; a figure that
 * is not known is null. docs/report-json.md describes every member; a member's meaning never
 * changes within a version, and new ones may appear. */
#include "report/report.h"

#include "base/min_max.h"
#include "base/json_write.h"
#include "report/json_parts.h"
#include "trace/rank_select.h"
#include "trace/writer.h"

enum { REPORT_JSON_VERSION = 1 };

void json_report_meta(struct json *json, const struct trace *trace) {
    json_key(json, "meta");
    json_begin_array(json);
    for (size_t i = 0; i < trace->meta.count; i++) {
        json_begin_object(json);
        json_member_text(json, "key", trace_text(trace, trace->meta.key[i]));
        json_member_text(json, "value", trace_text(trace, trace->meta.value[i]));
        json_end_object(json);
    }
    json_end_array(json);
}

/* The only rank of the trace, and the size of its job; null if there are several or none. */
static void write_rank(struct json *json, const struct trace *trace) {
    int64_t rank = -1, world = -1, number;
    bool several = false;
    for (uint32_t p = 1; p < trace->process.count; p++) {
        number = trace_process_rank(trace, p);
        several |= rank >= 0 && number >= 0 && number != rank;
        rank = MAX(rank, number);
        if (text_to_i64(trace_text(trace, trace->process.world_size[p]), &number))
            world = MAX(world, number);
    }
    for (uint32_t s = 0; s < trace->session_count && trace->process.count <= 1; s++) {
        number = trace_session_rank(trace, s);
        several |= rank >= 0 && number >= 0 && number != rank;
        rank = MAX(rank, number);
    }
    if (text_to_i64(trace_meta(trace, META_WORLD_SIZE), &number))
        world = MAX(world, number);
    json_key(json, "rank");
    if (rank >= 0 && !several)
        json_integer(json, rank);
    else
        json_null(json);
    json_key(json, "world_size");
    if (world > 0)
        json_integer(json, world);
    else
        json_null(json);
}

static void write_trace(struct json *json, const struct report *report) {
    const struct trace *trace = report->model.trace;
    char date[WORDING_DATE_SIZE];
    json_key(json, "trace");
    json_begin_object(json);
    json_member_string(json, "name", report->options.trace_name ? report->options.trace_name : "");
    json_member_text(json, "format", trace_meta(trace, META_SOURCE_FORMAT));
    json_member_text(json, "tool", trace_meta(trace, META_SOURCE_TOOL));
    json_member_text(json, "command", trace_meta(trace, META_COMMAND));
    json_member_text(json, "host", trace_meta(trace, META_HOST));
    json_member_text(json, "clock", trace_meta(trace, META_CLOCK_BASE));
    json_member_integer(json, "first_ns", report->model.first);
    json_member_integer(json, "last_ns", report->model.last);
    json_key(json, "date");
    if (wording_date(report, date))
        json_string(json, date);
    else
        json_null(json);
    json_member_unsigned(json, "sessions", trace->session_count);
    write_rank(json, trace);
    json_report_meta(json, trace);
    json_end_object(json);
}

static void write_option(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    if (value)
        json_string(json, value);
    else
        json_null(json);
}

static void write_selection(struct json *json, const struct report *report) {
    json_key(json, "selection");
    json_begin_object(json);
    json_member_bool(json, "narrowed", report->narrowed);
    write_option(json, "device", report->options.device);
    write_option(json, "range", report->options.range);
    write_option(json, "steps", report->options.steps);
    write_option(json, "window", report->options.window);
    json_member_integer(json, "wall_ns", report_wall(report));
    json_end_object(json);
}

static void write_kernel_totals(struct json *json, const struct report *report) {
    const struct kernels *kernels = &report->kernels;
    json_member_integer(json, "kernel_sum_ns", kernels->total);
    json_member_mean(json, "mean_kernel_ns", kernels->total, kernels->count);
    json_member_measure(json, "min_kernel_ns", kernels->min, kernels->count);
    json_member_measure(json, "median_kernel_ns", kernels->median, kernels->count);
    json_member_measure(json, "max_kernel_ns", kernels->max, kernels->count);
    json_member_unsigned(json, "distinct_kernel_names", kernels->variant_count);
    json_key(json, "top_kernel");
    if (kernels->variant_count == 0) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_member_text(json, "name", trace_text(report->model.trace, kernels->variants[0].name));
    json_member_integer(json, "time_ns", kernels->variants[0].total);
    json_end_object(json);
}

static void write_bytes(struct json *json, const char *key, const struct copy_group *group) {
    json_member_measure(json, key, (int64_t)group->bytes, copy_group_is_sized(group));
}

static void write_copy_totals(struct json *json, const struct copies *copies) {
    json_member_unsigned(json, "memcpy_count", copies->all.count);
    write_bytes(json, "memcpy_bytes", &copies->all);
    json_member_integer(json, "memcpy_sum_ns", copies->all.time);
    json_member_unsigned(json, "memcpy_without_bytes", copies->all.without_bytes);
    json_member_unsigned(json, "memset_count", copies->sets.count);
    write_bytes(json, "memset_bytes", &copies->sets);
    json_key(json, "memcpy_by_kind");
    json_begin_object(json);
    for (unsigned direction = 0; direction < COPY_DIRECTIONS; direction++)
        if (copies->direction[direction].count) {
            json_key(json, copy_direction_name(direction));
            json_copy_group(json, &copies->direction[direction]);
        }
    json_end_object(json);
}

static void write_launch_totals(struct json *json, const struct launches *launches) {
    json_key(json, "launch");
    json_begin_object(json);
    json_member_unsigned(json, "kernels_matched", launches->matched);
    json_member_unsigned(json, "kernels_unmatched", launches->unmatched);
    json_member_unsigned(json, "distinct_launch_calls", launches->calls);
    json_member_mean(json, "mean_launch_api_ns", launches->call_total, launches->calls);
    json_member_mean(json, "mean_launch_delay_ns", launches->delay_sum, launches->matched);
    json_member_measure(json, "median_launch_delay_ns", launches->delay_median, launches->matched);
    json_member_unsigned(json, "negative_delays", launches->negative_delays);
    json_member_unsigned(json, "graph_kernels", launches->graph_kernels);
    json_end_object(json);
}

static void write_sync_totals(struct json *json, const struct report *report) {
    json_key(json, "sync");
    json_begin_object(json);
    json_member_unsigned(json, "count", report->calls.syncs);
    json_member_integer(json, "total_ns", report->calls.sync_time);
    json_end_object(json);
    json_key(json, "sync_records");
    json_begin_object(json);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        json_member_unsigned(json, wording_wait_kind(kind), report->syncs.records[kind]);
    json_end_object(json);
}

static void write_range_totals(struct json *json, const struct report *report) {
    const struct trace *trace = report->model.trace;
    const struct selection *selection = report->narrowed ? &report->host_selection : NULL;
    uint64_t counts[RANGE_CATEGORIES] = {0};
    for (size_t i = 0; i < trace->range.count; i++) {
        unsigned category = trace->range.category[i];
        if (!selection || selection_contains(selection, trace->range.start[i]))
            counts[category < RANGE_CATEGORIES ? category : RANGE_OTHER]++;
    }
    json_key(json, "ranges_by_category");
    json_begin_object(json);
    for (unsigned category = 0; category < RANGE_CATEGORIES; category++)
        json_member_unsigned(json, range_category_name(category), counts[category]);
    json_end_object(json);
}

static uint64_t memory_events(const struct report *report) {
    uint64_t events = 0;
    for (size_t id = 0; id < report->model.trace->device.count; id++)
        events += report->memory[id].allocations + report->memory[id].frees;
    return events;
}

static void write_listed_devices(struct json *json, const struct trace *trace) {
    json_key(json, "devices_listed");
    json_begin_array(json);
    for (size_t id = 1; id < trace->device.count; id++)
        if (trace->device.listed[id])
            json_text(json, trace_text(trace, trace->device.name[id]));
    json_end_array(json);
}

static void write_totals(struct json *json, const struct report *report) {
    const struct trace *trace = report->model.trace;
    bool counted = trace_meta(trace, "source.events").length > 0;
    json_key(json, "totals");
    json_begin_object(json);
    json_member_measure(json, "events_total", trace_meta_sum(trace, "source.events"), counted);
    json_member_integer(json, "trace_span_ns", report->model.last - report->model.first);
    json_member_unsigned(json, "kernel_count", report->kernels.count);
    json_member_integer(json, "kernel_busy_ns", report->kernel_busy);
    write_kernel_totals(json, report);
    write_copy_totals(json, &report->copies);
    json_member_unsigned(json, "api_call_count", report->calls.count);
    write_launch_totals(json, &report->launches);
    write_sync_totals(json, report);
    write_range_totals(json, report);
    json_member_unsigned(json, "memory_events", memory_events(report));
    write_listed_devices(json, trace);
    json_end_object(json);
}

static void write_trust(struct json *json, const struct data_quality *quality,
                        struct buffer *note) {
    json_key(json, "trust");
    json_begin_object(json);
    json_member_bool(json, "clean", data_quality_is_clean(quality));
    json_member_unsigned(json, "dropped", quality->dropped);
    json_member_unsigned(json, "unfinished_writers", quality->unfinished);
    json_member_unsigned(json, "missing_chunks", quality->missing_chunks);
    json_member_unsigned(json, "repeated_chunks", quality->repeated_chunks);
    json_member_unsigned(json, "damaged_bytes", quality->damaged_bytes);
    json_member_unsigned(json, "truncated_bytes", quality->truncated_bytes);
    json_member_unsigned(json, "unknown_chunks", quality->unknown_chunks);
    json_member_unsigned(json, "without_launch_early", quality->without_launch_early);
    json_member_unsigned(json, "without_launch", quality->without_launch);
    json_member_unsigned(json, "starts_before_launch", quality->starts_before_launch);
    json_member_integer(json, "starts_before_launch_worst_ns", quality->starts_before_worst);
    json_member_unsigned(json, "zero_length_kernels", quality->zero_length);
    json_member_unsigned(json, "queue_overlaps", quality->queue_overlaps);
    json_member_measure(json, "clock_error_ns", quality->clock_error, quality->clock_error_known);
    json_member_unsigned(json, "pauses", quality->pauses);
    json_member_integer(json, "paused_ns", quality->paused);
    json_member_bool(json, "mixed_clocks", quality->mixed_clocks);
    json_member_bool(json, "no_calls", quality->no_calls);
    json_member_bool(json, "no_bytes", quality->no_bytes);
    json_member_text(json, "truncated_source", quality->truncated_source);
    json_key(json, "warnings");
    json_begin_array(json);
    for (size_t i = 0; i < quality->warning_count; i++)
        json_text(json, quality->warnings[i]);
    json_end_array(json);
    json_key(json, "notes");
    json_begin_array(json);
    for (size_t cursor = 0; wording_quality_note(quality, &cursor, note);)
        json_text(json, buffer_as_text(note));
    json_end_array(json);
    json_end_object(json);
}

bool report_write_json(const struct report *report, struct output *output, struct status *status) {
    struct json json = {.output = output, .pretty = true};
    struct buffer note = {0};
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge-report");
    json_member_integer(&json, "version", REPORT_JSON_VERSION);
    write_trace(&json, report);
    write_selection(&json, report);
    json_report_verdict(&json, report);
    write_totals(&json, report);
    bool ok = json_report_devices(&json, report, status);
    ok = json_report_host(&json, report, status) && ok;
    write_trust(&json, &report->quality, &note);
    json_end_object(&json);
    ok = buffer_ok(&note, status) && ok;
    buffer_finish(&note);
    return ok;
}
