/* The tables behind the Markdown report's findings. A question without an answer in this trace (no
 * copies, no steps) has no table. */
#include "report/markdown.h"

static void cell_duration(struct table *table, int64_t ns) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_duration(ns, text)));
}
static void cell_count(struct table *table, uint64_t count) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_count(count, text)));
}
static void cell_bytes(struct table *table, uint64_t bytes) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_bytes(bytes, text)));
}
static void cell_share(struct table *table, int64_t part, int64_t whole) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_percent(wording_share(part, whole), text)));
}

/* Titles that begin with '<' are left aligned, all others right. */
static void add_columns(struct table *table, const char *const *titles, size_t count) {
    for (size_t i = 0; i < count; i++)
        table_column(table, titles[i] + (titles[i][0] == '<'),
                     titles[i][0] == '<' ? TABLE_LEFT : TABLE_RIGHT);
}
#define COLUMNS(table, ...)                                                                        \
    add_columns(table, (const char *const[]){__VA_ARGS__},                                         \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- a device ---- */

static void account_row(struct table *table, const char *name, int64_t time, int64_t window,
                        const struct report_device *device, int64_t steady_time) {
    table_cell(table, text_of(name));
    cell_duration(table, time);
    cell_share(table, time, window);
    if (device->has_steady) {
        cell_duration(table, steady_time);
        cell_share(table, steady_time, device->steady.window);
    }
}

static void write_account(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    const struct account *account = &device->account, *steady = &device->steady;
    struct table table = {0};
    COLUMNS(&table, "<Where the time went", "Time", "Share");
    if (device->has_steady)
        COLUMNS(&table, "Steady steps", "Share of them");
    account_row(&table, "busy", account->busy, account->window, device, steady->busy);
    account_row(&table, "exposed copy", account->exposed_copy, account->window, device,
                steady->exposed_copy);
    account_row(&table, "idle", account->idle, account->window, device, steady->idle);
    account_row(&table, "window", account->window, account->window, device, steady->window);
    markdown_device_heading(document, "Account", index);
    markdown_table(document, &table);
}

static void write_causes(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    const struct gaps *gaps = &device->gaps;
    enum gap_cause order[CAUSE_COUNT];
    struct table table = {0};
    if (gaps->count == 0)
        return;
    COLUMNS(&table, "<Cause", "Time", "Share of idle", "Share of window", "Gaps", "<While");
    gaps_rank_causes(gaps, order);
    for (size_t i = 0; i < CAUSE_COUNT && gaps->cause_time[order[i]] > 0; i++) {
        table_cell(&table, text_of(gap_cause_name(order[i])));
        cell_duration(&table, gaps->cause_time[order[i]]);
        cell_share(&table, gaps->cause_time[order[i]], gaps->total);
        cell_share(&table, gaps->cause_time[order[i]], device->account.window);
        cell_count(&table, gaps->cause_gaps[order[i]]);
        table_cell(&table, text_of(wording_cause(order[i])));
    }
    markdown_device_heading(document, "Causes of Idle Time", index);
    markdown_table(document, &table);
    char a[WORDING_COUNT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], d[FORMAT_SIZE];
    markdown_line(document, "\n%s: median %s, 99th percentile %s, longest %s, variation %.2f.",
                  wording_count(gaps->count, "gap", "gaps", a), format_duration(gaps->median, b),
                  format_duration(gaps->p99, c), format_duration(gaps->max, d), gaps->variation);
}

static void write_host_names(struct markdown *document, size_t index) {
    const struct gaps *gaps = &document->report->devices[index].gaps;
    struct table table = {0};
    if (gaps->host_name_count == 0)
        return;
    COLUMNS(&table, "<Host code while the device was idle", "Time", "Share of idle", "Times");
    for (size_t i = 0; i < gaps->host_name_count && i < document->top; i++) {
        struct text name = trace_text(document->report->model.trace, gaps->host_names[i].name);
        table_cell(&table, name.length ? name : TEXT("outside every range"));
        cell_duration(&table, gaps->host_names[i].time);
        cell_share(&table, gaps->host_names[i].time, gaps->total);
        cell_count(&table, gaps->host_names[i].gaps);
    }
    markdown_line(document, "%s", "");
    markdown_table(document, &table);
    markdown_left_out(document, gaps->host_name_count, "names");
}

static void write_kernels(struct markdown *document, size_t index) {
    const struct kernels *kernels = &document->report->devices[index].kernels;
    struct table table = {0};
    if (kernels->group_count == 0)
        return;
    COLUMNS(&table, "<Kernel", "Share", "Total", "Count", "Mean", "Median", "Min", "Max");
    for (size_t i = 0; i < kernels->group_count && i < document->top; i++) {
        const struct kernel_group *group = &kernels->groups[i];
        table_cell(&table, group->short_name);
        cell_share(&table, group->total, kernels->total);
        cell_duration(&table, group->total);
        cell_count(&table, group->count);
        cell_duration(&table, group->total / (int64_t)group->count);
        cell_duration(&table, group->median);
        cell_duration(&table, group->min);
        cell_duration(&table, group->max);
    }
    markdown_device_heading(document, "Kernels by Time", index);
    markdown_table(document, &table);
    markdown_left_out(document, kernels->group_count, "kernels");
}

static void write_launches(struct markdown *document, size_t index) {
    const struct launches *launches = &document->report->devices[index].launches;
    char a[WORDING_COUNT_SIZE], b[WORDING_COUNT_SIZE];
    if (launches->matched == 0)
        return;
    int64_t matched = (int64_t)launches->matched;
    markdown_device_heading(document, "Launches", index);
    markdown_line(
        document, "- %s launched by %s, of %s on average",
        wording_count(launches->matched, "kernel", "kernels", a),
        wording_count(launches->calls, "call", "calls", b),
        format_duration(launches->call_total / (int64_t)launches->calls, (char[FORMAT_SIZE]){0}));
    markdown_line(document, "- A kernel starts %s after its call began (mean), %s (median)",
                  format_duration(launches->delay_sum / matched, a),
                  format_duration(launches->delay_median, b));
    markdown_line(document, "- %s of the kernels are shorter than the call that launched them",
                  format_percent(wording_share((int64_t)launches->call_longer, matched), a));
    if (launches->graph_kernels)
        markdown_line(document, "- %s kernels came from calls that launch more than one",
                      format_count(launches->graph_kernels, a));
    markdown_line(
        document,
        "- A launch found %.1f activities queued or running on average, %s at most; %s "
        "of the launches found none",
        launches->depth_mean, format_count(launches->depth_max, a),
        format_percent(
            wording_share((int64_t)launches->found_empty, (int64_t)launches->depth_count), b));
}

static void copy_row(struct table *table, const char *name, const struct copy_group *group) {
    char rate[FORMAT_SIZE];
    if (group->count == 0)
        return;
    table_cell(table, text_of(name));
    cell_count(table, group->count);
    cell_bytes(table, group->bytes);
    cell_duration(table, group->time);
    table_cell(table, group->time_with_bytes > 0
                          ? text_of(format_rate(copy_group_rate(group), rate))
                          : TEXT("-"));
    cell_share(table, (int64_t)group->small, (int64_t)group->count);
    cell_count(table, group->pageable);
    cell_count(table, group->pinned);
}

static void write_copies(struct markdown *document, size_t index) {
    const struct copies *copies = &document->report->devices[index].copies;
    struct table table = {0};
    if (copies->all.count + copies->sets.count == 0)
        return;
    COLUMNS(&table, "<Copies", "Count", "Bytes", "Time", "Rate", "Small", "Pageable", "Pinned");
    for (unsigned direction = 1; direction <= COPY_DIRECTIONS; direction++) {
        unsigned shown = direction % COPY_DIRECTIONS; /* unknown last */
        copy_row(&table, copy_direction_name(shown), &copies->direction[shown]);
    }
    copy_row(&table, "memset", &copies->sets);
    markdown_device_heading(document, "Memory Transfers", index);
    markdown_table(document, &table);
}

void markdown_device_tables(struct markdown *document, size_t index) {
    write_account(document, index);
    write_causes(document, index);
    write_host_names(document, index);
    write_kernels(document, index);
    write_launches(document, index);
    write_copies(document, index);
}

/* ---- the host ---- */

static void write_syncs(struct markdown *document) {
    const struct report *report = document->report;
    const struct trace *trace = report->model.trace;
    const struct syncs *syncs = &report->syncs;
    char count[WORDING_COUNT_SIZE], time[FORMAT_SIZE];
    struct table table = {0};
    if (syncs->count == 0)
        return;
    COLUMNS(&table, "<Call", "<Inside", "Count", "Time", "Longest");
    for (size_t i = 0; i < syncs->site_count && i < document->top; i++) {
        const struct sync_site *site = &syncs->sites[i];
        table_cell(&table, trace_text(trace, site->call));
        table_cell(&table, site->range ? trace_text(trace, site->range) : TEXT("-"));
        cell_count(&table, site->count);
        cell_duration(&table, site->total);
        cell_duration(&table, site->max);
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
    COLUMNS(&table, "<API calls", "Count", "Time", "Share");
    for (unsigned kind = 1; kind <= CALL_CLASSES; kind++) {
        unsigned shown = kind % CALL_CLASSES; /* "other" last */
        if (calls->class_count[shown] == 0)
            continue;
        table_cell(&table, text_of(call_class_name(shown)));
        cell_count(&table, calls->class_count[shown]);
        cell_duration(&table, calls->class_time[shown]);
        cell_share(&table, calls->class_time[shown], calls->total);
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
    COLUMNS(&table, "<Name", "Count", "Host time", "Host self", "Device time", "Share", "Launched");
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range_group *group = &ranges->groups[i];
        if (group->category != category || ++found > document->top)
            continue;
        table_cell(&table, trace_text(document->report->model.trace, group->name));
        cell_count(&table, group->count);
        cell_duration(&table, group->host_time);
        cell_duration(&table, group->host_self);
        cell_duration(&table, group->device_time);
        cell_share(&table, group->device_time, ranges->device_time);
        cell_count(&table, group->activities);
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
    COLUMNS(&table, "<Memory of", "High water", "Reserved", "Allocations", "Allocated", "Frees",
            "Freed");
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
        cell_count(&table, use->allocations);
        cell_bytes(&table, use->allocated_bytes);
        cell_count(&table, use->frees);
        cell_bytes(&table, use->freed_bytes);
    }
    if (table_rows(&table) == 0) {
        table_finish(&table);
        return;
    }
    markdown_line(document, "\n### Memory\n");
    markdown_table(document, &table);
}

static void write_samples(struct markdown *document) {
    const struct report *report = document->report;
    const struct samples *samples = &report->samples;
    struct table table = {0};
    if (samples->count == 0)
        return;
    COLUMNS(&table, "<Function", "<Module", "Samples", "Share", "With callees");
    for (size_t i = 0; i < samples->function_count && i < document->top; i++) {
        const struct sample_function *function = &samples->functions[i];
        char text[FORMAT_SIZE];
        table_cell(&table, trace_text(report->model.trace, function->function));
        table_cell(&table, trace_text(report->model.trace, function->module));
        table_cellf(&table, "%s", format_count(function->self_samples, text));
        table_cellf(
            &table, "%s",
            format_percent(samples_share(samples, function->self, function->self_samples), text));
        table_cellf(
            &table, "%s",
            format_percent(samples_share(samples, function->total, function->total_samples), text));
    }
    markdown_line(document, "\n### CPU Samples\n");
    markdown_table(document, &table);
    markdown_left_out(document, samples->function_count, "functions");
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
}
