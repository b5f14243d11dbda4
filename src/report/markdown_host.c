/* The host's tables of the Markdown report: synchronisations, API time, steps, ranges, memory,
 * samples, processors. A question without an answer in this trace has no table. */
#include "report/markdown.h"

static void write_syncs(struct markdown *document) {
    const struct report *report = document->report;
    const struct trace *trace = report->model.trace;
    const struct syncs *syncs = &report->syncs;
    char count[WORDING_COUNT_SIZE], time[FORMAT_SIZE];
    struct table table = {0};
    if (syncs->count == 0)
        return;
    MARKDOWN_COLUMNS(&table, "<Call", "<Inside", "Count", "Time", "Longest");
    for (size_t i = 0; i < syncs->site_count && i < document->top; i++) {
        const struct sync_site *site = &syncs->sites[i];
        table_cell(&table, trace_text(trace, site->call));
        table_cell(&table, site->range ? trace_text(trace, site->range) : TEXT("-"));
        markdown_count(&table, site->count);
        markdown_duration(&table, site->total);
        markdown_duration(&table, site->max);
    }
    markdown_line(document, "\n### Synchronization Points\n");
    markdown_line(document, "%s, %s on all threads together.\n",
                  wording_count(syncs->count, "call", "calls", count),
                  format_duration(syncs->total, time));
    markdown_table(document, &table);
    markdown_left_out(document, syncs->site_count, "places");
}

static void write_calls(struct markdown *document) {
    const struct calls *calls = &document->report->calls;
    struct table table = {0};
    if (calls->count == 0)
        return;
    MARKDOWN_COLUMNS(&table, "<API calls", "Count", "Time", "Share");
    for (unsigned kind = 1; kind <= CALL_CLASSES; kind++) {
        unsigned shown = kind % CALL_CLASSES; /* "other" last */
        if (calls->class_count[shown] == 0)
            continue;
        table_cell(&table, text_of(call_class_name(shown)));
        markdown_count(&table, calls->class_count[shown]);
        markdown_duration(&table, calls->class_time[shown]);
        markdown_share(&table, calls->class_time[shown], calls->total);
    }
    markdown_line(document, "\n### API Time\n");
    markdown_table(document, &table);
}

static void write_steps(struct markdown *document) {
    const struct steps *steps = &document->report->steps;
    char a[WORDING_COUNT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], d[FORMAT_SIZE];
    if (steps->count == 0)
        return;
    markdown_line(document, "\n### Steps\n");
    markdown_line(document, "- %s, found by %s", wording_count(steps->count, "step", "steps", a),
                  steps_source_name(steps->source));
    if (steps->source == STEPS_PERIODIC)
        markdown_line(document, "- A step is %s",
                      wording_count(steps->period, "activity", "activities", a));
    if (steps->warm_up) {
        int64_t time = steps->list[steps->warm_up - 1].end - steps->list[0].start;
        markdown_line(document, "- Warm-up: the first %s, %s", format_count(steps->warm_up, a),
                      format_duration(time, b));
    }
    if (!steps->settled)
        markdown_line(document, "- The run never settled: no step is called warm-up");
    markdown_line(document, "- %s: median %s, from %s to %s, variation %s",
                  steps->warm_up ? "Steady steps" : "All steps", format_duration(steps->median, a),
                  format_duration(steps->min, b), format_duration(steps->max, c),
                  format_percent(steps->variation, d));
}

static void write_ranges(struct markdown *document, unsigned category, const char *title) {
    const struct ranges *ranges = &document->report->ranges;
    struct table table = {0};
    size_t found = 0;
    MARKDOWN_COLUMNS(&table, "<Name", "Count", "Host time", "Host self", "Device time", "Share",
                     "Launched");
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range_group *group = &ranges->groups[i];
        if (group->category != category || ++found > document->top)
            continue;
        table_cell(&table, trace_text(document->report->model.trace, group->name));
        markdown_count(&table, group->count);
        markdown_duration(&table, group->host_time);
        markdown_duration(&table, group->host_self);
        markdown_duration(&table, group->device_time);
        markdown_share(&table, group->device_time, ranges->device_time);
        markdown_count(&table, group->activities);
    }
    if (found == 0) {
        table_finish(&table);
        return;
    }
    markdown_line(document, "\n### %s\n", title);
    markdown_table(document, &table);
    markdown_left_out(document, found, "names");
}

static void write_memory(struct markdown *document) {
    const struct report *report = document->report;
    const struct trace *trace = report->model.trace;
    struct table table = {0};
    MARKDOWN_COLUMNS(&table, "<Memory of", "High water", "Reserved", "Allocations", "Allocated",
                     "Frees", "Freed");
    for (uint32_t id = 0; id < trace->device.count; id++) {
        const struct memory_use *use = &report->memory[id];
        char text[FORMAT_SIZE];
        if (use->allocations + use->frees == 0)
            continue;
        struct text label = model_device_key(&report->model, id);
        if (id)
            table_cellf(&table, "device %.*s", TEXT_ARGS(label));
        else
            table_cell(&table, TEXT("host"));
        table_cellf(&table, "%s%s", use->absolute ? "" : "at least ",
                    format_bytes(use->high_water, text));
        table_cell(&table,
                   use->reserved_max ? text_of(format_bytes(use->reserved_max, text)) : TEXT("-"));
        markdown_count(&table, use->allocations);
        markdown_bytes(&table, use->allocated_bytes);
        markdown_count(&table, use->frees);
        markdown_bytes(&table, use->freed_bytes);
    }
    if (table_rows(&table) == 0 && !table.failed) {
        table_finish(&table);
        return;
    }
    markdown_line(document, "\n### Memory\n");
    markdown_table(document, &table);
}

static void put_function(struct table *table, const struct samples *samples,
                         const struct sample_function *function, int64_t time, uint64_t count) {
    char text[FORMAT_SIZE];
    table_cell(table, function->function_text);
    table_cell(table, function->module_text);
    table_cellf(table, "%s", format_count(count, text));
    table_cellf(table, "%s", format_percent(samples_share(samples, time, count), text));
    table_cellf(
        table, "%s",
        format_percent(samples_share(samples, function->total, function->total_samples), text));
}

/* What a Python function does itself is in other functions below it: those of the interpreter. */
static void write_python_samples(struct markdown *document) {
    const struct samples *samples = &document->report->samples;
    struct table table = {0};
    size_t rows = 0;
    MARKDOWN_COLUMNS(&table, "<Function", "<Module", "Samples", "Share", "With callees");
    for (size_t i = 0; i < samples->function_count && rows < document->top; i++) {
        const struct sample_function *function = &samples->functions[samples->by_own[i]];
        if (function->own_samples == 0 || !sample_is_python(function))
            continue;
        put_function(&table, samples, function, function->own, function->own_samples);
        rows++;
    }
    if (rows > 0) {
        markdown_line(document, "\n### Python Functions\n");
        markdown_table(document, &table);
    } else {
        table_finish(&table);
    }
}

static void write_samples(struct markdown *document) {
    const struct samples *samples = &document->report->samples;
    struct table table = {0};
    if (samples->count == 0)
        return;
    write_python_samples(document);
    MARKDOWN_COLUMNS(&table, "<Function", "<Module", "Samples", "Share", "With callees");
    for (size_t i = 0; i < samples->function_count && i < document->top; i++) {
        const struct sample_function *function = &samples->functions[i];
        put_function(&table, samples, function, function->self, function->self_samples);
    }
    markdown_line(document, "\n### CPU Samples\n");
    markdown_table(document, &table);
    markdown_left_out(document, samples->function_count, "functions");
}

static void write_processors(struct markdown *document) {
    const struct counters *counters = &document->report->counters;
    if (counters->count + counters->missing.length == 0)
        return;
    markdown_line(document, "\n### Processors\n");
    if (counters->missing.length) {
        markdown_text(document, counters->missing);
        markdown_line(document, "%s", "");
        return;
    }
    struct table table = {0};
    struct buffer name = {0};
    char text[FORMAT_SIZE];
    MARKDOWN_COLUMNS(&table, "<Hardware counters of");
    for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
        table_column(&table, counter_figures[figure].title, TABLE_RIGHT);
    for (size_t i = 0; i < counters->count && i < document->top; i++) {
        buffer_clear(&name);
        wording_counted(&counters->processes[i], &name);
        table_cell(&table, buffer_as_text(&name));
        for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
            table_cell(&table, text_of(wording_figure(&counters->processes[i], figure, text)));
    }
    table_cell(&table, TEXT("target"));
    for (unsigned figure = 0; figure < COUNTER_FIGURES; figure++)
        table_cell(&table, text_of(wording_figure_target(figure, text)));
    document->failed |= name.failed;
    buffer_finish(&name);
    markdown_table(document, &table);
}

void markdown_host_tables(struct markdown *document) {
    write_syncs(document);
    write_calls(document);
    write_steps(document);
    write_ranges(document, RANGE_ANNOTATION, "Annotated Ranges");
    write_ranges(document, RANGE_OP, "Operators");
    write_ranges(document, RANGE_PYTHON, "Python Functions");
    write_ranges(document, RANGE_OTHER, "Other Ranges");
    write_memory(document);
    write_samples(document);
    write_processors(document);
}
