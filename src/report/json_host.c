/* The JSON of the host: API time, synchronization, memory, steps, ranges and samples, each complete
 * and in the order of the analysis. */
#include "base/array.h"
#include "report/json_parts.h"

static bool write_api(struct json *json, const struct report *report, struct status *status) {
    const struct calls *calls = &report->calls;
    json_key(json, "api");
    json_begin_object(json);
    json_member_unsigned(json, "count", calls->count);
    json_member_integer(json, "total_ns", calls->total);
    json_key(json, "classes");
    json_begin_object(json);
    for (unsigned kind = 0; kind < CALL_CLASSES; kind++) {
        json_key(json, call_class_name(kind));
        json_begin_object(json);
        json_member_unsigned(json, "count", calls->class_count[kind]);
        json_member_integer(json, "time_ns", calls->class_time[kind]);
        json_member_number(json, "share", wording_share(calls->class_time[kind], calls->total));
        json_end_object(json);
    }
    json_end_object(json);
    json_key(json, "names");
    bool ok =
        section_write_json(&section_calls, &(struct report_source){.report = report}, json, status);
    json_end_object(json);
    return ok;
}

static bool write_lines(struct json *json, const struct report *report, struct status *status) {
    const struct lines *lines = &report->lines;
    json_key(json, "lines");
    if (lines->count == 0) {
        json_null(json);
        return true;
    }
    json_begin_object(json);
    json_member_unsigned(json, "calls", lines->calls);
    json_member_unsigned(json, "named_calls", lines->named_calls);
    json_member_integer(json, "device_ns", lines->device_time);
    json_member_integer(json, "named_device_ns", lines->named_time);
    json_member_integer(json, "idle_ns", lines->idle);
    json_member_integer(json, "cpu_ns", lines->cpu_time);
    json_member_integer(json, "named_cpu_ns", lines->named_cpu_time);
    json_key(json, "list");
    bool ok =
        section_write_json(&section_lines, &(struct report_source){.report = report}, json, status);
    json_end_object(json);
    return ok;
}

static bool write_syncs(struct json *json, const struct report *report, struct status *status) {
    const struct syncs *syncs = &report->syncs;
    json_key(json, "syncs");
    json_begin_object(json);
    json_member_unsigned(json, "count", syncs->count);
    json_member_integer(json, "total_ns", syncs->total);
    json_key(json, "sites");
    bool ok =
        section_write_json(&section_syncs, &(struct report_source){.report = report}, json, status);
    json_key(json, "records");
    json_begin_object(json);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++) {
        json_key(json, wording_wait_kind(kind));
        json_begin_object(json);
        json_member_unsigned(json, "count", syncs->records[kind]);
        json_member_integer(json, "time_ns", syncs->record_time[kind]);
        json_end_object(json);
    }
    json_end_object(json);
    json_end_object(json);
    return ok;
}

static void write_memory_use(struct json *json, const struct report *report,
                             const struct memory_use *use) {
    json_member_unsigned(json, "allocations", use->allocations);
    json_member_unsigned(json, "frees", use->frees);
    json_member_unsigned(json, "allocated_bytes", use->allocated_bytes);
    json_member_unsigned(json, "freed_bytes", use->freed_bytes);
    json_member_unsigned(json, "high_water_bytes", use->high_water);
    json_member_measure(json, "high_water_at_ns", json_report_time(report, use->high_water_time),
                        use->high_water);
    json_member_measure(json, "reserved_max_bytes", (int64_t)use->reserved_max, use->reserved_max);
    json_member_measure(json, "compared_allocations", (int64_t)use->compared, use->compared);
    json_member_measure(json, "reused_allocations", (int64_t)use->reused, use->compared);
    json_member_bool(json, "absolute", use->absolute);
}

/* Devices may hold memory without doing any work, so these are not only the reported ones. */
static void write_memory(struct json *json, const struct report *report) {
    const struct trace *trace = report->model.trace;
    json_key(json, "memory");
    json_begin_object(json);
    json_key(json, "host");
    json_begin_object(json);
    write_memory_use(json, report, &report->memory[0]);
    json_end_object(json);
    json_key(json, "devices");
    json_begin_array(json);
    for (uint32_t id = 1; id < trace->device.count; id++) {
        const struct memory_use *use = &report->memory[id];
        if (use->allocations + use->frees == 0)
            continue;
        json_begin_object(json);
        json_member_text(json, "label", model_device_key(&report->model, id));
        json_member_unsigned(json, "session", trace->device_session[id]);
        write_memory_use(json, report, use);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* Those whose iterations were counted; `depth` counts these around it. */
static void write_loops(struct json *json, const struct report *report) {
    const struct loops *loops = &report->steps.loops;
    const struct trace *trace = report->model.trace;
    json_key(json, "loops");
    json_begin_array(json);
    for (size_t i = 0; i < loops->count; i++) {
        const struct program_loop *loop = &loops->list[i];
        if (!loop->turns)
            continue;
        json_begin_object(json);
        json_member_text(json, "file", trace_text(trace, trace->stack.file[loop->frame]));
        json_member_unsigned(json, "line", loop->line);
        json_member_text(json, "source", loop->text);
        json_member_unsigned(json, "depth", loops_depth(loops, loop));
        json_member_unsigned(json, "turns", loop->turns);
        json_member_unsigned(json, "launches", loop->calls);
        json_member_bool(json, "is_step",
                         loops->steps == i + 1 && report->steps.source == STEPS_LOOP);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_steps(struct json *json, const struct report *report) {
    static const char *const sources[] = {"none", "profiler", "ranges", "loop", "periodic"};
    const struct steps *steps = &report->steps;
    uint64_t steady = steps->count - steps->warm_up;
    json_key(json, "steps");
    json_begin_object(json);
    json_member_string(json, "source", sources[steps->source]);
    json_member_unsigned(json, "count", steps->count);
    json_member_unsigned(json, "warm_up", steps->warm_up);
    json_member_unsigned(json, "partial",
                         (uint64_t)steps->partial_first + (uint64_t)steps->partial_last);
    json_member_bool(json, "settled", steps->settled);
    json_member_unsigned(json, "period", steps->period);
    write_loops(json, report);
    json_member_measure(json, "min_ns", steps->min, steady);
    json_member_measure(json, "median_ns", steps->median, steady);
    json_member_mean(json, "mean_ns", steps->total, steady);
    json_member_measure(json, "max_ns", steps->max, steady);
    json_member_integer(json, "total_ns", steps->total);
    json_key(json, "variation");
    if (steady)
        json_number(json, steps->variation);
    else
        json_null(json);
    json_key(json, "list");
    json_begin_array(json);
    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        json_begin_object(json);
        json_member_text(json, "name", trace_text(report->model.trace, step->name));
        json_member_integer(json, "start_ns", json_report_time(report, step->start));
        json_member_integer(json, "duration_ns", step->end - step->start);
        json_member_bool(json, "warm_up", i < steps->warm_up);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static bool write_ranges(struct json *json, const struct report *report, struct status *status) {
    const struct ranges *ranges = &report->ranges;
    json_key(json, "ranges");
    json_begin_object(json);
    json_member_integer(json, "device_ns", ranges->device_time);
    json_member_integer(json, "device_outside_ns", ranges->device_outside);
    json_key(json, "list");
    bool ok = section_write_json(&section_ranges, &(struct report_source){.report = report}, json,
                                 status);
    json_end_object(json);
    return ok;
}

/* null where the source tells no time for its samples */
static void write_weight(struct json *json, const char *key, const struct samples *samples,
                         int64_t time) {
    json_key(json, key);
    if (samples->weight > 0)
        json_integer(json, time);
    else
        json_null(json);
}

static bool write_samples(struct json *json, const struct report *report, struct status *status) {
    const struct samples *samples = &report->samples;
    json_key(json, "samples");
    json_begin_object(json);
    json_member_unsigned(json, "count", samples->count);
    write_weight(json, "weight_ns", samples, samples->weight);
    json_key(json, "functions");
    bool ok = section_write_json(&section_samples, &(struct report_source){.report = report}, json,
                                 status);
    json_end_object(json);
    return ok;
}

/* Left out where no thread states were recorded. */
static bool write_cpu(struct json *json, const struct report *report, struct status *status) {
    const struct cpu_account *cpu = &report->cpu;
    const struct section *const sections[] = {&section_cpu_processes, &section_cpu_threads,
                                              &section_cpu_waits, &section_cpu_parallelism};
    const struct report_source source = {.report = report};
    bool ok = true;
    if (cpu->thread_count == 0)
        return true;
    json_key(json, "cpu");
    json_begin_object(json);
    json_member_integer(json, "wall_ns", cpu->wall);
    json_member_measure(json, "processors", cpu->processors, cpu->processors != 0);
    json_member_integer(json, "main_tid",
                        report->model.trace->thread.tid[cpu->threads[cpu->main].thread]);
    for (size_t i = 0; i < ARRAY_COUNT(sections); i++) {
        json_key(json, sections[i]->key);
        ok = section_write_json(sections[i], &source, json, status) && ok;
    }
    json_end_object(json);
    return ok;
}

/* Each is left out where nothing of it was recorded. */
static bool write_host_memory(struct json *json, const struct report *report,
                              struct status *status) {
    const struct report_source source = {.report = report};
    bool ok = true;
    if (report->heap.process_count) {
        json_key(json, "resident");
        ok = section_write_json(&section_resident, &source, json, status);
    }
    if (report->memory_lines.count) {
        json_key(json, "memory_lines");
        ok = section_write_json(&section_memory_lines, &source, json, status) && ok;
    }
    if (report->operators.count) {
        json_key(json, "operators");
        ok = section_write_json(&section_cpu_operators, &source, json, status) && ok;
    }
    if (report->heap.is_sampled) {
        json_key(json, "heap");
        ok = section_write_json(&section_heap, &source, json, status) && ok;
    }
    return ok;
}

static void write_processors(struct json *json, const struct counters *counters) {
    json_key(json, "processors");
    json_begin_object(json);
    json_member_text(json, "missing", counters->missing);
    json_key(json, "processes");
    json_begin_array(json);
    for (size_t i = 0; i < counters->count; i++) {
        const struct process_counters *process = &counters->processes[i];
        json_begin_object(json);
        json_member_measure(json, "pid", process->pid, process->pid != 0);
        json_member_text(json, "name", process->name);
        for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++) {
            double value;
            json_key(json, counter_figures[figure].key);
            if (counters_figure(process, figure, &value))
                json_number(json, value);
            else
                json_null(json);
        }
        json_key(json, "counters");
        json_begin_object(json);
        for (unsigned counter = 0; counter < HARDWARE_COUNTERS; counter++)
            if (process->has[counter])
                json_member_number(json, hardware_counter_name(counter), process->total[counter]);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

bool json_report_host(struct json *json, const struct report *report, struct status *status) {
    bool ok = write_api(json, report, status);
    ok = write_lines(json, report, status) && ok;
    ok = write_syncs(json, report, status) && ok;
    write_memory(json, report);
    write_steps(json, report);
    ok = write_ranges(json, report, status) && ok;
    ok = write_samples(json, report, status) && ok;
    ok = write_cpu(json, report, status) && ok;
    ok = write_host_memory(json, report, status) && ok;
    write_processors(json, &report->counters);
    if (report->kernel_counters.kernel_count) {
        json_key(json, "kernel_counters");
        ok = section_write_json(&section_kernel_counters, &(struct report_source){.report = report},
                                json, status) &&
             ok;
    }
    if (report->kernel_counters.lines.count) {
        json_key(json, "kernel_lines");
        ok = section_write_json(&section_kernel_lines, &(struct report_source){.report = report},
                                json, status) &&
             ok;
    }
    return ok;
}
