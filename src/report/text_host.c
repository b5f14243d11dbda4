/* The host's side: steps, ranges, synchronisations, API time, memory, samples; and what to doubt.
 */
#include <string.h>

#include "base/format.h"
#include "report/text.h"
#include "report/wording.h"

static void write_steps(struct text_writer *writer) {
    const struct steps *steps = &writer->report->steps;
    char median[FORMAT_SIZE], least[FORMAT_SIZE], most[FORMAT_SIZE], variation[FORMAT_SIZE];
    if (steps->count == 0)
        return;
    text_section(writer, "Steps", "%zu by %s%s", steps->count, steps_source_name(steps->source),
                 steps->settled ? "" : "; the run never settled");
    if (steps->source == STEPS_PERIODIC)
        text_line(writer, "  a step is %zu activit%s", steps->period,
                  steps->period == 1 ? "y" : "ies");
    if (steps->warm_up) {
        int64_t time = 0;
        for (size_t i = 0; i < steps->warm_up; i++)
            time += steps->list[i].end - steps->list[i].start;
        if (steps->warm_up == 1)
            text_line(writer, "  warm-up: the first took %s", format_duration(time, median));
        else
            text_line(writer, "  warm-up: the first %zu took %s", steps->warm_up,
                      format_duration(time, median));
    }
    text_line(writer, "  %s: median %s, from %s to %s, variation %s",
              steps->warm_up ? "steady" : "all", format_duration(steps->median, median),
              format_duration(steps->min, least), format_duration(steps->max, most),
              format_percent(steps->variation, variation));
}

/* The user's own ranges where there are any, else modules, else operators: the level at which
 * people think about a model. */
static unsigned level_of_interest(const struct ranges *ranges) {
    static const unsigned levels[] = {RANGE_ANNOTATION, RANGE_OP, RANGE_PYTHON, RANGE_OTHER};
    for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
        size_t count = 0;
        for (size_t i = 0; i < ranges->count; i++)
            count += ranges->groups[i].category == levels[level];
        if (count > (levels[level] == RANGE_ANNOTATION ? 1 : 0))
            return levels[level];
    }
    return RANGE_ANNOTATION;
}

/* Ranges are ranked by device time; where no device worked, the host's own time is the question. */
static const struct range_group *next_by_host(const struct ranges *ranges, unsigned level,
                                              const struct range_group *last) {
    const struct range_group *best = NULL;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range_group *group = &ranges->groups[i];
        bool later = !last || group->host_time < last->host_time ||
                     (group->host_time == last->host_time && group > last);
        if (group->category == level && later && (!best || group->host_time > best->host_time))
            best = group;
    }
    return best;
}

static const struct range_group *next_by_device(const struct ranges *ranges, unsigned level,
                                                const struct range_group *last) {
    const struct range_group *group = last ? last + 1 : ranges->groups;
    while (group < ranges->groups + ranges->count && group->category != level)
        group++;
    return group < ranges->groups + ranges->count ? group : NULL;
}

static void write_ranges(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct ranges *ranges = &report->ranges;
    unsigned level = level_of_interest(ranges);
    bool device = ranges->device_time > 0;
    const struct range_group *group = NULL;
    char text[FORMAT_SIZE];
    if (ranges->count == 0)
        return;
    text_section(writer, "Ranges", "%s%s",
                 level == RANGE_ANNOTATION ? "annotations"
                 : level == RANGE_OP       ? "operators"
                                           : "functions",
                 device ? "; device time is of what was launched inside" : "");
    struct table table = {0};
    if (device) {
        table_column(&table, "device", TABLE_RIGHT);
        table_column(&table, "share", TABLE_RIGHT);
    }
    table_column(&table, "host", TABLE_RIGHT);
    table_column(&table, "host self", TABLE_RIGHT);
    table_column(&table, "count", TABLE_RIGHT);
    if (device)
        table_column(&table, "launched", TABLE_RIGHT);
    table_column(&table, "range", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t shown = 0; shown < report->options.top; shown++) {
        group = device ? next_by_device(ranges, level, group) : next_by_host(ranges, level, group);
        if (!group)
            break;
        if (device) {
            table_cellf(&table, "%s", format_duration(group->device_time, text));
            table_cellf(&table, "%s",
                        format_percent(ratio(group->device_time, ranges->device_time), text));
        }
        table_cellf(&table, "%s", format_duration(group->host_time, text));
        table_cellf(&table, "%s", format_duration(group->host_self, text));
        table_cellf(&table, "%s", format_count(group->count, text));
        if (device)
            table_cellf(&table, "%s", format_count(group->activities, text));
        table_cell(&table, trace_text(report->model.trace, group->name));
    }
    text_table(writer, &table);
}

static void write_syncs(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct syncs *syncs = &report->syncs;
    char count[FORMAT_SIZE], text[FORMAT_SIZE];
    if (syncs->count == 0)
        return;
    text_section(writer, "Synchronisations", "%s call%s, %s", format_count(syncs->count, count),
                 syncs->count == 1 ? "" : "s", format_duration(syncs->total, text));
    struct table table = {0};
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "longest", TABLE_RIGHT);
    table_column(&table, "call", TABLE_LEFT);
    table_column(&table, "inside", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < syncs->site_count && i < report->options.top; i++) {
        const struct sync_site *site = &syncs->sites[i];
        table_cellf(&table, "%s", format_duration(site->total, text));
        table_cellf(&table, "%s", format_count(site->count, text));
        table_cellf(&table, "%s", format_duration(site->max, text));
        table_cell(&table, trace_text(report->model.trace, site->call));
        table_cell(&table, site->range ? trace_text(report->model.trace, site->range) : TEXT("-"));
    }
    text_table(writer, &table);
}

static void write_calls(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct calls *calls = &report->calls;
    char text[FORMAT_SIZE], total[FORMAT_SIZE];
    if (calls->count == 0)
        return;
    text_section(writer, "API time", "%s call%s, %s", format_count(calls->count, text),
                 calls->count == 1 ? "" : "s", format_duration(calls->total, total));
    struct buffer line = {0};
    for (unsigned class = 1; class <= CALL_CLASSES; class ++) {
        unsigned shown = class % CALL_CLASSES; /* "other" last */
        if (calls->class_count[shown])
            buffer_printf(&line, "%s%s %s", line.length ? ", " : "", call_class_name(shown),
                          format_duration(calls->class_time[shown], text));
    }
    text_wrapped(writer, "  ", "  ", buffer_as_text(&line));
    writer->failed |= line.failed;
    buffer_finish(&line);
    struct table table = {0};
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "median", TABLE_RIGHT);
    table_column(&table, "max", TABLE_RIGHT);
    table_column(&table, "class", TABLE_LEFT);
    table_column(&table, "call", TABLE_LEFT | TABLE_FLEXIBLE);
    size_t top = report->options.top < 6 ? report->options.top : 6;
    for (size_t i = 0; i < calls->name_count && i < top; i++) {
        const struct call_name *name = &calls->names[i];
        table_cellf(&table, "%s", format_duration(name->total, text));
        table_cellf(&table, "%s", format_count(name->count, text));
        table_cellf(&table, "%s", format_duration(name->median, text));
        table_cellf(&table, "%s", format_duration(name->max, text));
        table_cellf(&table, "%s", call_class_name(name->class));
        table_cell(&table, trace_text(report->model.trace, name->name));
    }
    text_table(writer, &table);
}

static void write_memory(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct trace *trace = report->model.trace;
    char text[FORMAT_SIZE];
    if (trace->memory.count == 0)
        return;
    struct table table = {0};
    table_column(&table, "memory of", TABLE_LEFT);
    table_column(&table, "high water", TABLE_RIGHT);
    table_column(&table, "reserved", TABLE_RIGHT);
    table_column(&table, "allocations", TABLE_RIGHT);
    table_column(&table, "allocated", TABLE_RIGHT);
    table_column(&table, "freed", TABLE_RIGHT);
    for (uint32_t id = 0; id < trace->device.count; id++) {
        const struct memory_use *use = &report->memory[id];
        if (use->allocations + use->frees == 0)
            continue;
        if (id)
            table_cellf(&table, "device %.*s", TEXT_ARGS(model_device_key(&report->model, id)));
        else
            table_cell(&table, TEXT("host"));
        table_cellf(&table, "%s%s",
                    use->absolute ? "" : ">= ", format_bytes(use->high_water, text));
        table_cellf(&table, "%s", use->reserved_max ? format_bytes(use->reserved_max, text) : "-");
        table_cellf(&table, "%s", format_count(use->allocations, text));
        table_cellf(&table, "%s", format_bytes(use->allocated_bytes, text));
        table_cellf(&table, "%s", format_bytes(use->freed_bytes, text));
    }
    text_section(writer, "Memory", "%s", "");
    text_table(writer, &table);
}

static void put_share(struct table *table, const struct samples *samples, int64_t time,
                      uint64_t count) {
    char text[FORMAT_SIZE];
    table_cellf(table, "%s", format_percent(samples_share(samples, time, count), text));
}

/* What a Python function does itself is in other functions below it: those of the interpreter. */
static void write_python_samples(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct samples *samples = &report->samples;
    struct table table = {0};
    size_t rows = 0;
    table_column(&table, "own", TABLE_RIGHT);
    table_column(&table, "with callees", TABLE_RIGHT);
    table_column(&table, "Python function", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < samples->function_count && rows < report->options.top; i++) {
        const struct sample_function *function = &samples->functions[samples->by_own[i]];
        if (function->own_samples == 0 || !sample_is_python(function))
            continue;
        put_share(&table, samples, function->own, function->own_samples);
        put_share(&table, samples, function->total, function->total_samples);
        table_cell(&table, function->function_text);
        rows++;
    }
    if (rows > 0) {
        text_section(writer, "Python functions", "by the innermost in each sample");
        text_table(writer, &table);
    } else {
        table_finish(&table);
    }
}

static void write_samples(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct samples *samples = &report->samples;
    const struct trace *trace = report->model.trace;
    char count[FORMAT_SIZE], text[FORMAT_SIZE];
    if (samples->count == 0)
        return;
    write_python_samples(writer);
    text_section(writer, "CPU samples", "%s%s%s", format_count(samples->count, count),
                 samples->weight ? ", standing for " : "; the source tells no time for them",
                 samples->weight ? format_duration(samples->weight, text) : "");
    struct table table = {0};
    table_column(&table, "self", TABLE_RIGHT);
    table_column(&table, "with callees", TABLE_RIGHT);
    table_column(&table, "function", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(&table, "module", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < samples->function_count && i < report->options.top; i++) {
        const struct sample_function *function = &samples->functions[i];
        if (function->self_samples == 0)
            break;
        put_share(&table, samples, function->self, function->self_samples);
        put_share(&table, samples, function->total, function->total_samples);
        table_cell(&table, trace_text(trace, function->function));
        table_cell(&table, trace_text(trace, function->module));
    }
    text_table(writer, &table);
}

static void write_processors(struct text_writer *writer) {
    const struct counters *counters = &writer->report->counters;
    if (counters->count + counters->missing.length == 0)
        return;
    text_section(writer, "Processors", "%s", counters->count ? "hardware counters" : "");
    if (counters->missing.length) {
        text_wrapped(writer, "  ", "  ", counters->missing);
        return;
    }
    struct table table = {0};
    struct buffer name = {0};
    char text[FORMAT_SIZE];
    for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
        table_column(&table, counter_figures[figure].title, TABLE_RIGHT);
    table_column(&table, "of", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < counters->count && i < writer->report->options.top; i++) {
        for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
            table_cell(&table, text_of(wording_figure(&counters->processes[i], figure, text)));
        buffer_clear(&name);
        wording_counted(&counters->processes[i], &name);
        table_cell(&table, buffer_as_text(&name));
    }
    for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
        table_cell(&table, text_of(wording_figure_target(figure, text)));
    table_cell(&table, TEXT("target"));
    writer->failed |= name.failed;
    buffer_finish(&name);
    text_table(writer, &table);
}

void text_host(struct text_writer *writer) {
    write_steps(writer);
    write_ranges(writer);
    write_syncs(writer);
    write_calls(writer);
    write_memory(writer);
    write_samples(writer);
    write_processors(writer);
}

void text_trust(struct text_writer *writer) {
    const struct trust *trust = &writer->report->trust;
    struct buffer note = {0};
    size_t cursor = 0;
    text_section(writer, "Trust", "%s",
                 trust_is_clean(trust) ? "nothing is known to be lost"
                                       : "what the figures above do not know");
    while (wording_trust_note(trust, &cursor, &note))
        text_wrapped(writer, "  - ", "    ", buffer_as_text(&note));
    writer->failed |= note.failed;
    buffer_finish(&note);
}
