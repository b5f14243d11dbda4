/* The report as the PROFILING_RESULTS.md that profiling guides ask people to write by hand: date,
 * configuration, the metric table with its targets, key findings and opportunities, then the tables
 * they rest on. The bottleneck and the opportunities of the judged device are those of the verdict;
 * of any other device, its idle time by cause. */
#include "report/markdown.h"

#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "report/limits.h"
#include "report/sections.h"
#include "trace/writer.h"

/* The guide's target for utilization. */
#define UTILIZATION_TARGET 0.8

void markdown_line(struct markdown *document, const char *format, ...) {
    struct buffer line = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&line, format, arguments);
    va_end(arguments);
    buffer_byte(&line, '\n');
    document->failed |= line.failed;
    if (!line.failed)
        output_write(document->output, line.data, line.length);
    buffer_finish(&line);
}

void markdown_text(struct markdown *document, struct text text) {
    table_markdown_text(document->output, text);
}

static void write_device_name(struct markdown *document, size_t device) {
    struct buffer name = {0};
    wording_device(document->report, device, &name);
    markdown_text(document, buffer_as_text(&name));
    document->failed |= name.failed;
    buffer_finish(&name);
}

void markdown_device_heading(struct markdown *document, const char *title, size_t device) {
    output_printf(document->output, "\n### %s", title);
    if (document->report->device_count > 1) {
        output_printf(document->output, ": ");
        write_device_name(document, device);
    }
    output_printf(document->output, "\n\n");
}

void markdown_table(struct markdown *document, struct table *table) {
    document->failed |= table->failed;
    if (!table->failed)
        table_write(table, TABLE_MARKDOWN, NULL, document->output);
    table_finish(table);
}

/* Title, note, table and sentences of a section, where it applies. */
static void write_section(struct markdown *document, const struct section *section,
                          const struct report_device *device) {
    struct report_source source = {document->report, device};
    struct buffer line = {0};
    struct table table = {0};
    char count[FORMAT_SIZE];
    if (!section->note || section->note(&source, &line)) {
        if (device)
            markdown_device_heading(document, section->title,
                                    (size_t)(device - document->report->devices));
        else
            markdown_line(document, "\n### %s\n", section->title);
        if (line.length) {
            markdown_text(document, buffer_as_text(&line));
            markdown_line(document, section->columns ? "\n" : "");
        }
        size_t left_out =
            section->columns ? section_table(section, &source, document->top, 0, &table) : 0;
        if (table_rows(&table) || table.failed)
            markdown_table(document, &table);
        else
            table_finish(&table);
        if (left_out && section->rows)
            markdown_line(document, "\n%s more %s.", format_count(left_out, count), section->rows);
        for (size_t i = 0; section->sentence; i++) {
            buffer_clear(&line);
            if (!section->sentence(&source, i, &line))
                break;
            output_printf(document->output, section->columns ? "\n" : "- ");
            markdown_text(document, buffer_as_text(&line));
            output_printf(document->output, "\n");
        }
    }
    document->failed |= line.failed;
    buffer_finish(&line);
}

/* ---- the head ---- */

static void write_fact(struct markdown *document, const char *name, struct text value) {
    if (value.length == 0)
        return;
    output_printf(document->output, "- %s: ", name);
    markdown_text(document, value);
    output_printf(document->output, "\n");
}

static void write_known_device(struct markdown *document, size_t device) {
    const struct columns_device *known = &document->report->model.trace->device;
    uint32_t id = document->report->devices[device].id;
    char text[FORMAT_SIZE];
    output_printf(document->output, "- Device: ");
    write_device_name(document, device);
    if (known->multiprocessors[id])
        output_printf(document->output, ", %u multiprocessors", known->multiprocessors[id]);
    if (known->memory_bytes[id])
        output_printf(document->output, ", %s of memory",
                      format_bytes(known->memory_bytes[id], text));
    if (known->bandwidth[id])
        output_printf(document->output, ", memory bandwidth %s (vendor)",
                      format_rate((double)known->bandwidth[id], text));
    output_printf(document->output, "\n");
}

static void write_head(struct markdown *document) {
    const struct report *report = document->report;
    const struct trace *trace = report->model.trace;
    char date[WORDING_DATE_SIZE];
    struct buffer part = {0};
    markdown_line(document, "# Profiling Results\n");
    markdown_line(document, "## Date: %s\n",
                  wording_date(report, date) ? date : "not recorded in the trace");
    markdown_line(document, "### Configuration\n");
    for (size_t i = 0; i < report->device_count; i++)
        write_known_device(document, i);
    if (report->device_count == 0)
        markdown_line(document, "- Device: none active in this part of the trace");
    write_fact(document, "Trace",
               text_of(report->options.trace_name ? report->options.trace_name : ""));
    struct text tool = trace_meta(trace, META_SOURCE_TOOL);
    write_fact(document, "Recorded by", tool.length ? tool : trace_meta(trace, META_SOURCE_FORMAT));
    write_fact(document, "Command", trace_meta(trace, META_COMMAND));
    write_fact(document, "Host", trace_meta(trace, META_HOST));
    wording_selection(report, &part);
    write_fact(document, "Part reported", buffer_as_text(&part));
    document->failed |= part.failed;
    buffer_finish(&part);
}

/* ---- findings ---- */

/* "name 1.234 ms, name 56.78 µs" of the names that most of a cause's time goes to. */
static void write_culprits(struct markdown *document, const char *what,
                           const struct gap_names *names) {
    enum { SHOWN = 3 };
    char time[FORMAT_SIZE];
    if (names->count == 0)
        return;
    output_printf(document->output, "   - %s: ", what);
    for (size_t i = 0; i < names->count && i < SHOWN; i++) {
        struct text name = trace_text(document->report->model.trace, names->list[i].name);
        output_printf(document->output, "%s", i ? ", " : "");
        markdown_text(document, name.length ? name : TEXT("(no range or sample)"));
        output_printf(document->output, " %s", format_duration(names->list[i].time, time));
    }
    output_printf(document->output, "\n");
}

/* What keeps compute kernels from running: a cause of idle time, or copies and communication that
 * none of them hides. */
enum { LOSS_COPY = CAUSE_COUNT, LOSS_COMMUNICATION, LOSSES };

static int64_t loss_time(const struct report_device *device, unsigned loss) {
    if (loss == LOSS_COMMUNICATION)
        return device->account.exposed_communication;
    return loss == LOSS_COPY ? device->account.exposed_copy : device->gaps.cause_time[loss];
}

static const char *loss_name(unsigned loss) {
    if (loss == LOSS_COMMUNICATION)
        return "exposed communication";
    return loss == LOSS_COPY ? "exposed copy" : gap_cause_name(loss);
}

/* All losses, most time first. */
static void rank_losses(const struct report_device *device, unsigned order[LOSSES]) {
    for (unsigned loss = 0; loss < LOSSES; loss++) {
        unsigned at = loss;
        for (; at > 0 && loss_time(device, order[at - 1]) < loss_time(device, loss); at--)
            order[at] = order[at - 1];
        order[at] = loss;
    }
}

static void write_loss(struct markdown *document, const struct report_device *device,
                       unsigned loss) {
    char time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE];
    format_duration(loss_time(device, loss), time);
    if (loss == LOSS_COPY)
        markdown_line(document, "   - Evidence: copies and memsets ran for %s while no kernel ran",
                      time);
    else if (loss == LOSS_COMMUNICATION)
        markdown_line(document, "   - Evidence: collectives ran for %s while no compute kernel ran",
                      time);
    else
        markdown_line(document, "   - Evidence: idle for %s in %s: %s", time,
                      format_plural(device->gaps.cause_gaps[loss], "gap", "gaps", count),
                      wording_cause(loss));
}

/* The verdict is about one device, or about the run. One that names no fault leaves the device's
 * largest loss. */
static bool is_judged(const struct markdown *document, const struct report_device *device) {
    const struct verdict *verdict = &document->report->verdict;
    return verdict->count > 0 && verdict->findings[0].kind != FINDING_UNDECIDED &&
           verdict->findings[0].kind != FINDING_HEALTHY &&
           (verdict->device == device->id || verdict->device == 0);
}

static void write_text_line(struct markdown *document, const char *label, const char *words) {
    if (!words || !*words)
        return;
    output_printf(document->output, "   - %s: ", label);
    markdown_text(document, text_of(words));
    output_printf(document->output, "\n");
}

/* As the verdict ranks it. */
static void write_judged_bottleneck(struct markdown *document, unsigned number) {
    const struct verdict *verdict = &document->report->verdict;
    const struct finding *first = &verdict->findings[0];
    char share[FORMAT_SIZE];
    markdown_line(document, "%u. **Bottleneck Identified**: %s", number,
                  finding_title(first->kind));
    write_text_line(document, "Evidence", first->observation);
    if (first->recoverable > 0)
        markdown_line(document, "   - Impact: %s of total time",
                      format_percent(wording_share(first->recoverable, verdict->time), share));
    else
        markdown_line(document, "   - Impact: not known");
    write_text_line(document, "Root cause", first->cause);
}

static void write_bottleneck(struct markdown *document, unsigned number,
                             const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    unsigned order[LOSSES];
    char share[FORMAT_SIZE];
    if (is_judged(document, device)) {
        write_judged_bottleneck(document, number);
        return;
    }
    rank_losses(device, order);
    int64_t time = loss_time(device, order[0]);
    double busy = wording_share(device->account.busy, device->account.window);
    if (busy > UTILIZATION_TARGET) {
        markdown_line(document, "%u. **Bottleneck Identified**: the kernels themselves", number);
        markdown_line(document, "   - Evidence: they ran for %s of the device's window",
                      format_percent(busy, share));
        if (time > 0)
            markdown_line(document, "   - Largest loss outside kernels: %s, %s of the window",
                          loss_name(order[0]),
                          format_percent(wording_share(time, device->account.window), share));
        return;
    }
    markdown_line(document, "%u. **Bottleneck Identified**: %s", number, loss_name(order[0]));
    write_loss(document, device, order[0]);
    markdown_line(document, "   - Impact: %s of the device's window",
                  format_percent(wording_share(time, device->account.window), share));
    if (order[0] == CAUSE_HOST)
        write_culprits(document, "Host code", &gaps->host_names);
    else if (order[0] == CAUSE_SYNC)
        write_culprits(document, "Calls", &gaps->sync_names);
}

static void write_utilization(struct markdown *document, unsigned number,
                              const struct report_device *device) {
    const struct account *account = &device->account;
    char share[FORMAT_SIZE], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    char count[FORMAT_PLURAL_SIZE];
    markdown_line(document, "%u. **GPU Utilization**: %s", number,
                  format_percent(wording_share(account->busy, account->window), share));
    markdown_line(document, "   - Expected: >80 %%");
    markdown_line(document, "   - Kernels ran for %s, copies alone for %s; idle for %s",
                  format_duration(account->busy, a), format_duration(account->exposed_copy, b),
                  format_duration(account->idle, c));
    if (device->gaps.count)
        markdown_line(document, "   - Gap: %s, %s on average, %s at most; %s",
                      format_plural(device->gaps.count, "gap", "gaps", count),
                      format_duration(device->gaps.total / (int64_t)device->gaps.count, b),
                      format_duration(device->gaps.max, c),
                      wording_gaps_regular(&device->gaps) ? "of similar lengths"
                                                          : "of very different lengths");
}

static void write_rates(struct markdown *document, const struct copies *copies) {
    char rate[FORMAT_SIZE];
    output_printf(document->output, "   - Bandwidth: %s",
                  format_rate(copy_group_rate(&copies->all), rate));
    for (unsigned direction = 0; direction < COPY_DIRECTIONS; direction++)
        if (copies->direction[direction].time_with_bytes > 0)
            output_printf(document->output, ", %s %s", copy_direction_name(direction),
                          format_rate(copy_group_rate(&copies->direction[direction]), rate));
    output_printf(document->output, "\n");
}

/* Kernels reach less than the published peak. */
static void write_roof(struct markdown *document, const struct report_device *device) {
    const struct limits *limits = document->report->limits;
    double rate = limits ? limits[device->id].of[DEVICE_LIMIT_MEMORY] : 0;
    char text[FORMAT_SIZE], reached[FORMAT_SIZE];
    if (rate <= 0)
        return;
    limits += device->id;
    if (limits->source[DEVICE_LIMIT_MEMORY] == LIMIT_PUBLISHED)
        markdown_line(document,
                      "   - Memory bandwidth of the device: %s (published), of which kernels reach "
                      "about %s",
                      format_rate(limits_published_peak(limits, DEVICE_LIMIT_MEMORY), text),
                      format_rate(rate, reached));
    else
        markdown_line(document, "   - Memory bandwidth of the device: %s (%s)",
                      format_rate(rate, text),
                      limit_source_name(limits->source[DEVICE_LIMIT_MEMORY]));
}

static void write_memory_patterns(struct markdown *document, unsigned number,
                                  const struct report_device *device) {
    const struct copy_group *all = &device->copies.all;
    const struct account *account = &device->account;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE];
    if (all->count == 0) {
        markdown_line(document, "%u. **Memory Patterns**:", number);
        markdown_line(document, "   - Transfers: none");
        write_roof(document, device);
        return;
    }
    markdown_line(document, "%u. **Memory Patterns**:", number);
    markdown_line(document, "   - Transfers: %s%s%s, %s",
                  copy_group_is_sized(all) ? format_bytes(all->bytes, a) : "",
                  copy_group_is_sized(all) ? " total in " : "",
                  format_plural(all->count, "copy", "copies", count),
                  format_duration(all->time, c));
    if (all->without_bytes)
        markdown_line(document, "   - Of unknown size: %s",
                      format_plural(all->without_bytes, "copy", "copies", count));
    if (all->time_with_bytes > 0)
        write_rates(document, &device->copies);
    write_roof(document, device);
    if (copy_group_is_sized(all))
        markdown_line(
            document, "   - Small (below 64 KiB): %s of the copies, with %s of their time",
            format_percent(
                wording_share((int64_t)all->small, (int64_t)(all->count - all->without_bytes)), a),
            format_percent(wording_share(all->small_time, all->time_with_bytes), b));
    if (all->pageable)
        markdown_line(document, "   - From or to pageable memory: %s, %s, %s",
                      format_plural(all->pageable, "copy", "copies", count),
                      all->pageable_without_bytes < all->pageable
                          ? format_bytes(all->pageable_bytes, b)
                          : "?",
                      format_duration(all->pageable_time, c));
    markdown_line(document, "   - Overlapped with kernels: %s of the copy and memset time",
                  format_percent(wording_share(account->copy_hidden, account->copy_union), a));
}

static void write_top_kernel(struct markdown *document, unsigned number,
                             const struct report_device *device) {
    const struct kernels *kernels = &device->kernels;
    char share[FORMAT_SIZE], time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE];
    if (kernels->group_count == 0)
        return;
    const struct kernel_group *first = &kernels->groups[0];
    output_printf(document->output, "%u. **Top kernel**: ", number);
    markdown_text(document, first->short_name);
    markdown_line(document, "\n   - %s of the kernel time: %s in %s",
                  format_percent(wording_share(first->total, kernels->total), share),
                  format_duration(first->total, time),
                  format_plural(first->count, "launch", "launches", count));
}

static void write_findings(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    markdown_device_heading(document, "Key Findings", index);
    write_bottleneck(document, 1, device);
    write_utilization(document, 2, device);
    write_memory_patterns(document, 3, device);
    write_top_kernel(document, 4, device);
}

/* The fixes of the findings that are worth acting on. */
static void write_judged_opportunities(struct markdown *document) {
    const struct verdict *verdict = &document->report->verdict;
    char share[FORMAT_SIZE];
    unsigned number = 0;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct finding *finding = &verdict->findings[i];
        if (finding->minor || finding->fix_count == 0)
            continue;
        markdown_line(document, "%u. %s", ++number, finding_title(finding->kind));
        if (finding->recoverable > 0)
            markdown_line(
                document, "   - Potential gain: %s",
                format_percent(wording_share(finding->recoverable, verdict->time), share));
        else
            markdown_line(document, "   - Potential gain: not known");
        markdown_line(document, "   - Effort: %s", effort_name(finding->fixes[0].effort));
        write_text_line(document, "Approach", finding->fixes[0].words);
    }
    if (number == 0)
        markdown_line(document, "None that the trace shows.");
}

static void write_opportunities(struct markdown *document, size_t index) {
    const struct report_device *device = &document->report->devices[index];
    unsigned order[LOSSES];
    char time[FORMAT_SIZE], share[FORMAT_SIZE];
    markdown_device_heading(document, "Optimization Opportunities", index);
    if (is_judged(document, device)) {
        write_judged_opportunities(document);
        return;
    }
    rank_losses(device, order);
    if (loss_time(device, order[0]) == 0) {
        markdown_line(document, "None outside the kernels: kernels run all the time.");
        return;
    }
    markdown_line(document, "Removing a cause saves at most the time listed for it.\n");
    for (unsigned i = 0; i < LOSSES && loss_time(device, order[i]) > 0; i++) {
        int64_t lost = loss_time(device, order[i]);
        markdown_line(document, "%u. %s%s", i + 1, order[i] == LOSS_COPY ? "" : "Idle, ",
                      order[i] == LOSS_COPY ? "Copies that do not overlap with kernels"
                                            : gap_cause_name(order[i]));
        markdown_line(document, "   - Potential gain: at most %s, %s of the window",
                      format_duration(lost, time),
                      format_percent(wording_share(lost, device->account.window), share));
        write_loss(document, device, order[i]);
    }
}

static void write_trust(struct markdown *document) {
    const struct data_quality *quality = &document->report->quality;
    struct buffer note = {0};
    markdown_line(document, "\n### Trust\n");
    markdown_line(document, data_quality_is_clean(quality) ? "Nothing is known to be lost."
                                                           : "Known problems of this trace:");
    bool any = false;
    for (size_t cursor = 0; wording_quality_note(quality, &cursor, &note); any = true) {
        output_printf(document->output, any ? "- " : "\n- ");
        markdown_text(document, buffer_as_text(&note));
        output_printf(document->output, "\n");
    }
    document->failed |= note.failed;
    buffer_finish(&note);
}

static void write_part(struct markdown *document, const struct report_part *part) {
    size_t devices = document->report->device_count;
    for (size_t i = 0; i < (part->per_device ? devices : 1); i++) {
        if (strcmp(part->name, "account") == 0)
            write_section(document, &section_account, &document->report->devices[i]);
        for (size_t k = 0; part->sections[k]; k++)
            write_section(document, part->sections[k],
                          part->per_device ? &document->report->devices[i] : NULL);
    }
}

static void write_document(struct markdown *document) {
    size_t devices = document->report->device_count;
    write_head(document);
    markdown_verdict(document);
    for (size_t i = 0; i < devices; i++)
        write_findings(document, i);
    for (size_t i = 0; i < devices; i++)
        write_opportunities(document, i);
    for (const struct report_part *part = report_parts; part->name; part++)
        write_part(document, part);
    write_trust(document);
}

bool report_write_markdown(const struct report *report, struct output *output,
                           struct status *status) {
    enum { ROWS_DEFAULT = 10 };
    struct markdown document = {
        .report = report,
        .output = output,
        .top = report->options.top ? report->options.top : ROWS_DEFAULT,
    };
    write_document(&document);
    return document.failed ? status_no_memory(status) : true;
}
