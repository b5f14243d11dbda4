/* The tables behind the Markdown report's findings on each device. A question without an answer in
 * this trace (no copies, no gaps) has no table. */
#include "report/limits.h"
#include "report/markdown.h"
#include "report/value.h"

static void account_row(struct table *table, const char *name, int64_t time, int64_t window,
                        const struct report_device *device, int64_t steady_time) {
    table_cell(table, text_of(name));
    markdown_duration(table, time);
    markdown_share(table, time, window);
    if (device->has_steady) {
        markdown_duration(table, steady_time);
        markdown_share(table, steady_time, device->steady.window);
    }
}

static void write_account(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    const struct account *account = &device->account, *steady = &device->steady;
    struct table table = {0};
    MARKDOWN_COLUMNS(&table, "<Where the time went", "Time", "Share");
    if (device->has_steady)
        MARKDOWN_COLUMNS(&table, "Steady steps", "Share of them");
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
    MARKDOWN_COLUMNS(&table, "<Cause", "Time", "Share of idle", "Share of window", "Gaps",
                     "<While");
    gaps_rank_causes(gaps, order);
    for (size_t i = 0; i < CAUSE_COUNT && gaps->cause_time[order[i]] > 0; i++) {
        table_cell(&table, text_of(gap_cause_name(order[i])));
        markdown_duration(&table, gaps->cause_time[order[i]]);
        markdown_share(&table, gaps->cause_time[order[i]], gaps->total);
        markdown_share(&table, gaps->cause_time[order[i]], device->account.window);
        markdown_count(&table, gaps->cause_gaps[order[i]]);
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
    if (gaps->host_names.count == 0)
        return;
    MARKDOWN_COLUMNS(&table, "<Host code while the device was idle", "Time", "Share of idle",
                     "Times");
    for (size_t i = 0; i < gaps->host_names.count && i < document->top; i++) {
        struct text name = trace_text(document->report->model.trace, gaps->host_names.list[i].name);
        table_cell(&table, name.length ? name : TEXT("outside every range"));
        markdown_duration(&table, gaps->host_names.list[i].time);
        markdown_share(&table, gaps->host_names.list[i].time, gaps->total);
        markdown_count(&table, gaps->host_names.list[i].gaps);
    }
    markdown_line(document, "%s", "");
    markdown_table(document, &table);
    markdown_left_out(document, gaps->host_names.count, "names");
}

static void write_host_states(struct markdown *document, size_t index) {
    const struct gaps *gaps = &document->report->devices[index].gaps;
    struct table table = {0};
    if (!gaps->states_known || gaps->cause_time[CAUSE_HOST] == 0)
        return;
    MARKDOWN_COLUMNS(&table, "<The launching thread meanwhile was", "Time", "Share of host",
                     "<Mostly in");
    for (unsigned state = 0; state < STATES; state++) {
        const struct host_state *part = &gaps->host_state[state];
        if (part->time == 0)
            continue;
        struct text name = part->names.list[0].text;
        table_cell(&table, text_of(wording_state(state)));
        markdown_duration(&table, part->time);
        markdown_share(&table, part->time, gaps->cause_time[CAUSE_HOST]);
        table_cell(&table, name.length ? name : TEXT("-"));
    }
    markdown_line(document, "%s", "");
    markdown_table(document, &table);
}

static void write_kernels(struct markdown *document, size_t index) {
    const struct kernels *kernels = &document->report->devices[index].kernels;
    struct table table = {0};
    if (kernels->group_count == 0)
        return;
    MARKDOWN_COLUMNS(&table, "<Kernel", "Share", "Total", "Count", "Mean", "Median", "Min", "Max");
    bool occupancy = kernel_occupancy_known(&kernels->occupancy);
    if (occupancy)
        MARKDOWN_COLUMNS(&table, "Occupancy (>75%)");
    for (size_t i = 0; i < kernels->group_count && i < document->top; i++) {
        const struct kernel_group *group = &kernels->groups[i];
        table_cell(&table, group->short_name);
        markdown_share(&table, group->total, kernels->total);
        markdown_duration(&table, group->total);
        markdown_count(&table, group->count);
        markdown_duration(&table, group->total / (int64_t)group->count);
        markdown_duration(&table, group->median);
        markdown_duration(&table, group->min);
        markdown_duration(&table, group->max);
        if (occupancy) {
            char text[WORDING_OCCUPANCY_SIZE];
            table_cell(&table, text_of(wording_occupancy(&group->occupancy, text)));
        }
    }
    markdown_device_heading(document, "Kernels by Time", index);
    markdown_table(document, &table);
    markdown_left_out(document, kernels->group_count, "kernels");
    if (occupancy)
        markdown_line(document, "\nOccupancy is theoretical: the part of a multiprocessor's warps "
                                "that the launch configuration lets be resident, and what allows "
                                "no more.");
}

static void write_limits(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    const struct limits *limits = &document->report->limits[device->id];
    const struct kernels *kernels = &device->kernels;
    struct table table = {0};
    struct buffer words = {0}, roofs = {0};
    if (!limits_known(&kernels->limits))
        return;
    MARKDOWN_COLUMNS(&table, "<Kernel", "Of its roof", "Time at the roof", "Bytes/s", "FLOP/s",
                     "FLOP/byte", "<Bound");
    for (size_t i = 0; i < kernels->group_count && i < document->top; i++) {
        table_cell(&table, kernels->groups[i].short_name);
        limits_cells(&table, &kernels->groups[i].limits, true);
    }
    markdown_device_heading(document, "Limits", index);
    markdown_table(document, &table);
    markdown_left_out(document, kernels->group_count, "kernels");
    limits_summary(kernels, limits, &words);
    limits_roofs(limits, &roofs);
    markdown_line(document, "\nOf this run, %.*s.%s%.*s%s", TEXT_ARGS(buffer_as_text(&words)),
                  roofs.length ? " Roofs " : "", TEXT_ARGS(buffer_as_text(&roofs)),
                  roofs.length ? "." : "");
    document->failed |= words.failed || roofs.failed;
    buffer_finish(&words);
    buffer_finish(&roofs);
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

static void write_copies(struct markdown *document, size_t index) {
    const struct copies *copies = &document->report->devices[index].copies;
    struct table table = {0};
    if (copies->all.count + copies->sets.count == 0)
        return;
    for (unsigned i = 0; i < COPIES_COLUMNS; i++)
        table_column(&table, copies_columns[i].markdown_title,
                     copies_columns[i].get ? TABLE_RIGHT : TABLE_LEFT);
    copies_rows(copies, &table);
    markdown_device_heading(document, "Memory Transfers", index);
    markdown_table(document, &table);
}

void markdown_device_tables(struct markdown *document, size_t index) {
    write_account(document, index);
    write_causes(document, index);
    write_host_names(document, index);
    write_host_states(document, index);
    write_kernels(document, index);
    write_limits(document, index);
    write_launches(document, index);
    write_copies(document, index);
}
