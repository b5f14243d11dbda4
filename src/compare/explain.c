/* The difference in two sentences. The part of the account that moved most decides where to look
 * for the cause; there, facts that were counted (graphs, synchronizations, copies, kernels that
 * came or went) go before times, as one such change moves time in several parts at once. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"
#include "report/wording.h"
#include "trace/writer.h"

enum { WORDS = 400, NAME_SHOWN = 60 };

struct reason {
    const char *key; /* NULL: none found */
    char words[WORDS];
};

struct inquiry {
    const struct diff *diff;
    int sign;                 /* of the change: 1 is slower */
    int64_t idle;             /* change of idle time */
    double more[SIDE_COUNTS]; /* in a unit, after - before; 0 where a side does not know */
    double per[SIDES][SIDE_COUNTS];
};

/* ---- words ---- */

/* A name cut to a length that leaves the sentence readable. */
static struct text shown(struct text name, char cut[NAME_SHOWN * 4 + 4]) {
    size_t points = 0, at = 0;
    while (at < name.length && points < NAME_SHOWN) {
        uint32_t point;
        at += text_decode((struct text){name.data + at, name.length - at}, &point);
        points++;
    }
    if (at >= name.length)
        return name;
    memcpy(cut, name.data, at);
    memcpy(cut + at, "…", sizeof "…");
    return text_of(cut);
}

static const char *number(double count, char text[FORMAT_SIZE]) {
    if (fabs(count - round(count)) < 0.005)
        return format_count((uint64_t)llround(count), text);
    snprintf(text, FORMAT_SIZE, "%.3g", count);
    return text;
}

__attribute__((format(printf, 2, 3))) static struct reason because(const char *key,
                                                                   const char *format, ...) {
    struct reason reason = {.key = key};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason.words, sizeof reason.words, format, arguments);
    va_end(arguments);
    return reason;
}

static struct reason nothing(void) {
    return (struct reason){0};
}

/* ---- busy ---- */

/* More processes on the device where it is slower. */
static bool is_shared_more(const struct inquiry *of) {
    double before = of->diff->processes[BEFORE], after = of->diff->processes[AFTER];
    return before > 0 && after > 0 && (after - before) * of->sign > 0;
}

static const char *words_of_sharing(const struct inquiry *of, char words[WORDS]) {
    words[0] = 0;
    if (is_shared_more(of))
        snprintf(words, WORDS, ", with %.0f compute processes on it instead of %.0f",
                 of->diff->processes[AFTER], of->diff->processes[BEFORE]);
    return words;
}

/* The clock explains it where the same kernels take longer by as much as the clock is lower. */
static struct reason by_clock(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    double before = diff->clock[BEFORE], after = diff->clock[AFTER];
    int64_t by_duration = 0;
    if (before <= 0 || after <= 0 || fabs(after / before - 1) < 0.015 || diff->other_device)
        return nothing();
    for (size_t i = 0; i < diff->row_count; i++)
        if (diff->rows[i].part == PART_BUSY && diff->rows[i].kind == ROW_BOTH)
            by_duration += diff->rows[i].by_duration;
    double expected =
        (double)diff->sides[BEFORE].part_time[PART_BUSY] * (before / after - 1) * of->sign;
    double seen = (double)by_duration * of->sign;
    if (seen * 2 < (double)llabs(diff->part[PART_BUSY]) || expected * 2 < seen)
        return nothing();
    char shared[WORDS];
    return because("clock", "the device ran at %.2f GHz instead of %.2f GHz%s", after / 1e3,
                   before / 1e3, words_of_sharing(of, shared));
}

static bool has_other_blocks(const struct diff *diff, const struct diff_row *row) {
    return !diff->other_device && row->blocks[BEFORE] > 0 && row->blocks[AFTER] > 0 &&
           fabs(row->blocks[AFTER] / row->blocks[BEFORE] - 1) > 0.05;
}

/* Whether the row's kernel takes longer on the slower side only now and then: its fastest launches
 * are about as fast as they were. */
static bool is_slowed_at_times(const struct inquiry *of, const struct diff_row *row) {
    unsigned slow = of->sign > 0 ? AFTER : BEFORE, fast = !slow;
    return row->duration[slow] > 1.1 * row->duration[fast] &&
           (double)row->fastest[slow] < 1.2 * (double)row->fastest[fast];
}

/* Processes that share a device get slices of its time: kernels take longer, short ones rarely, and
 * on average not by more than there are processes. */
static struct reason by_sharing(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    int64_t slowed = 0;
    double before = 0, after = 0;
    char ratio[FORMAT_SIZE];
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->part != PART_BUSY || row->kind != ROW_BOTH || has_other_blocks(diff, row))
            continue;
        slowed += is_slowed_at_times(of, row) ? row->time[BEFORE] : 0;
        before += row->duration[BEFORE] * row->count[BEFORE];
        after += row->duration[AFTER] * row->count[BEFORE];
    }
    if (!is_shared_more(of) || (double)slowed * 3 < before || before <= 0 || after <= 0 ||
        MAX(before, after) / MIN(before, after) >
            1.2 * MAX(diff->processes[BEFORE], diff->processes[AFTER]))
        return nothing();
    return because("processes",
                   "%.0f compute processes had the device open instead of %.0f, and the same "
                   "kernels take %s as long",
                   diff->processes[AFTER], diff->processes[BEFORE],
                   format_ratio(after / before, ratio));
}

static struct reason by_replacement(const struct diff_row *row) {
    char cut[2][NAME_SHOWN * 4 + 4], count[2][FORMAT_SIZE], time[2][FORMAT_SIZE];
    struct text before = shown(row->name[BEFORE], cut[0]), after = shown(row->name[AFTER], cut[1]);
    bool fused = row->count[AFTER] < row->count[BEFORE];
    return because(fused ? "fused" : "replaced",
                   "%s launch%s of %.*s%s (%s each) became %s of %.*s%s (%s each)",
                   number(row->count[BEFORE], count[0]), row->count[BEFORE] > 1 ? "es" : "",
                   TEXT_ARGS(before), row->entries[BEFORE] > 1 ? " and others" : "",
                   format_duration((int64_t)row->duration[BEFORE], time[0]),
                   number(row->count[AFTER], count[1]), TEXT_ARGS(after),
                   row->entries[AFTER] > 1 ? " and others" : "",
                   format_duration((int64_t)row->duration[AFTER], time[1]));
}

static struct reason by_presence(const struct diff_row *row) {
    unsigned at = row->kind == ROW_NEW ? AFTER : BEFORE;
    char cut[NAME_SHOWN * 4 + 4], count[FORMAT_SIZE], time[FORMAT_SIZE];
    return because(row->kind == ROW_NEW ? "new" : "gone", "%.*s is %s (%s launch%s of %s)",
                   TEXT_ARGS(shown(row->name[at], cut)), row_kind_name(row->kind),
                   number(row->count[at], count), row->count[at] > 1 ? "es" : "",
                   format_duration((int64_t)row->duration[at], time));
}

static bool has_other_shapes(const struct diff_row *row) {
    return row->shapes[BEFORE].length && row->shapes[AFTER].length &&
           !text_equal(row->shapes[BEFORE], row->shapes[AFTER]);
}

static struct reason by_row_shapes(const struct inquiry *of, const struct diff_row *row) {
    char cut[NAME_SHOWN * 4 + 4], count[2][FORMAT_SIZE], dims[2][NAME_SHOWN * 4 + 4];
    struct text name = shown(row->name[BEFORE], cut);
    if (has_other_blocks(of->diff, row))
        return because("shapes",
                       "the shapes changed: %.*s has %s instead of %s thread blocks a launch",
                       TEXT_ARGS(name), number(round(row->blocks[AFTER]), count[0]),
                       number(round(row->blocks[BEFORE]), count[1]));
    if (has_other_shapes(row))
        return because("shapes", "the shapes changed: inputs of %.*s are %.*s instead of %.*s",
                       TEXT_ARGS(name), TEXT_ARGS(shown(row->shapes[AFTER], dims[0])),
                       TEXT_ARGS(shown(row->shapes[BEFORE], dims[1])));
    return nothing();
}

/* One kernel on both sides, in numbers and in durations. */
static struct reason by_kernel(const struct inquiry *of, const struct diff_row *row) {
    char cut[NAME_SHOWN * 4 + 4], count[2][FORMAT_SIZE], ratio[FORMAT_SIZE], time[2][FORMAT_SIZE];
    struct text name = shown(row->name[BEFORE], cut);
    if (llabs(row->by_count) > llabs(row->by_duration))
        return because("launches", "%.*s is launched %s instead of %s times", TEXT_ARGS(name),
                       number(row->count[AFTER], count[0]), number(row->count[BEFORE], count[1]));
    double before = row->duration[BEFORE], after = row->duration[AFTER];
    if (fabs(after - before) * row->count[AFTER] * 2 < (double)llabs(row->by_duration))
        return because("overlap", "%.*s overlaps with other kernels %s than before",
                       TEXT_ARGS(name), row->change < 0 ? "more" : "less");
    struct reason shapes = by_row_shapes(of, row);
    if (shapes.key)
        return shapes;
    return because("kernel", "%.*s takes %s instead of %s (%s %s)", TEXT_ARGS(name),
                   format_duration((int64_t)after, time[0]),
                   format_duration((int64_t)before, time[1]),
                   format_ratio(after > before ? after / before : before / after, ratio),
                   after > before ? "slower" : "faster");
}

/* The same kernels, all launched more often by the same factor: layers. */
static struct reason by_layers(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    int64_t by_count = 0;
    double before = 0, after = 0;
    size_t kernels = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->part != PART_BUSY || row->kind != ROW_BOTH || row->by_count * of->sign <= 0)
            continue;
        by_count += row->by_count;
        before += row->count[BEFORE];
        after += row->count[AFTER];
        kernels++;
    }
    if (kernels < 2 || llabs(by_count) * 2 < llabs(diff->part[PART_BUSY]))
        return nothing();
    char count[2][FORMAT_SIZE];
    return because("launches", "the same %zu kernels are launched %s instead of %s times", kernels,
                   number(after, count[0]), number(before, count[1]));
}

static const struct diff_row *largest_row(const struct inquiry *of, unsigned first, unsigned end) {
    for (size_t i = 0; i < of->diff->row_count; i++) {
        const struct diff_row *row = &of->diff->rows[i];
        if (row->part >= first && row->part < end && row->change * of->sign > 0)
            return row;
    }
    return NULL;
}

static struct reason of_busy(const struct inquiry *of) {
    struct reason reason = by_clock(of);
    const struct diff_row *row = largest_row(of, PART_BUSY, PART_BUSY + 1);
    if (!reason.key)
        reason = by_sharing(of);
    if (reason.key || !row)
        return reason;
    if (row->kind == ROW_BOTH)
        reason = by_layers(of);
    if (reason.key)
        return reason;
    return row->kind == ROW_REPLACED ? by_replacement(row)
           : row->kind == ROW_BOTH   ? by_kernel(of, row)
                                     : by_presence(row);
}

/* ---- copies ---- */

/* Copies of one kind of host memory, in a unit. */
static double copies_of(const struct diff *diff, unsigned at, const char *kind) {
    double count = 0;
    const struct side *side = &diff->sides[at];
    for (size_t i = 0; i < side->entry_count; i++)
        if (side->entries[i].part == PART_COPY && text_find(side->entries[i].name, kind) >= 0)
            count += side_entry_count(side, &side->entries[i]);
    return count;
}

static struct reason by_memory_kind(const struct inquiry *of) {
    double before = copies_of(of->diff, BEFORE, "pageable"),
           after = copies_of(of->diff, AFTER, "pageable"),
           pinned_before = copies_of(of->diff, BEFORE, "pinned"),
           pinned_after = copies_of(of->diff, AFTER, "pinned");
    if ((after - before) * of->sign <= 0.4 || (pinned_after - pinned_before) * of->sign >= -0.4)
        return nothing();
    char count[FORMAT_SIZE];
    return because("pinned", "%s %s from or to %s memory instead of %s",
                   number(fabs(after - before), count),
                   fabs(after - before) > 1.01 ? "copies are" : "copy is",
                   of->sign < 0 ? "pinned" : "pageable", of->sign < 0 ? "pageable" : "pinned");
}

static struct reason of_communication(const struct inquiry *of) {
    const struct diff_row *row = largest_row(of, PART_COMMUNICATION, PART_COMMUNICATION + 1);
    if (!row)
        return nothing();
    double before = row->count[BEFORE] * row->duration[BEFORE],
           after = row->count[AFTER] * row->duration[AFTER];
    if (row->kind == ROW_BOTH && fabs(after - before) * 2 < (double)llabs(row->change)) {
        char cut[NAME_SHOWN * 4 + 4];
        return because("hidden-communication", "%.*s overlaps with computation %s than before",
                       TEXT_ARGS(shown(row->name[BEFORE], cut)), row->change < 0 ? "more" : "less");
    }
    return row->kind == ROW_BOTH ? by_kernel(of, row) : by_presence(row);
}

static struct reason of_copy(const struct inquiry *of) {
    struct reason reason = by_memory_kind(of);
    const struct diff_row *row = largest_row(of, PART_COPY, PART_COPY + 1);
    if (reason.key || !row)
        return reason;
    char count[2][FORMAT_SIZE], bytes[2][FORMAT_SIZE], time[2][FORMAT_SIZE];
    unsigned at = row->kind == ROW_NEW ? AFTER : BEFORE;
    struct text name = row->name[at];
    if (row->kind == ROW_GONE || row->kind == ROW_NEW)
        return because("copies", "%s operation%s of %.*s %s %s", number(row->count[at], count[0]),
                       row->count[at] > 1 ? "s" : "", TEXT_ARGS(name),
                       row->count[at] > 1 ? "are" : "is", row_kind_name(row->kind));
    if (llabs(row->by_count) > llabs(row->by_duration))
        return because("copies", "there are %s instead of %s operations of %.*s",
                       number(row->count[AFTER], count[0]), number(row->count[BEFORE], count[1]),
                       TEXT_ARGS(name));
    double total_before = row->count[BEFORE] * row->duration[BEFORE],
           total_after = row->count[AFTER] * row->duration[AFTER];
    if (fabs(total_after - total_before) * 2 < (double)llabs(row->change))
        return because("hidden-copies", "operations of %.*s overlap with kernels %s than before",
                       TEXT_ARGS(name), row->change < 0 ? "more" : "less");
    if (fabs(row->blocks[AFTER] - row->blocks[BEFORE]) > 0.02 * row->blocks[BEFORE])
        return because("copy-size", "each %.*s moves %s instead of %s", TEXT_ARGS(name),
                       format_bytes((uint64_t)row->blocks[AFTER], bytes[0]),
                       format_bytes((uint64_t)row->blocks[BEFORE], bytes[1]));
    return because("copy-speed", "each %.*s takes %s instead of %s", TEXT_ARGS(name),
                   format_duration((int64_t)row->duration[AFTER], time[0]),
                   format_duration((int64_t)row->duration[BEFORE], time[1]));
}

/* ---- idle ---- */

static int64_t cause_change(const struct inquiry *of, enum gap_cause cause) {
    return of->diff->part[PART_IDLE + cause] * of->sign;
}

static struct reason by_graph(const struct inquiry *of) {
    char count[2][FORMAT_SIZE];
    const double *before = of->per[BEFORE], *after = of->per[AFTER];
    if (of->sign < 0 && of->more[SIDE_GRAPH_LAUNCHES] > 0.4)
        return because("graph", "%s CUDA graph launch%s replaced %s kernel launches",
                       number(after[SIDE_GRAPH_LAUNCHES], count[0]),
                       after[SIDE_GRAPH_LAUNCHES] > 1.01 ? "es" : "",
                       number(before[SIDE_LAUNCHES] - before[SIDE_GRAPH_LAUNCHES], count[1]));
    if (of->sign > 0 && of->more[SIDE_GRAPH_LAUNCHES] < -0.4)
        return because("graph", "%s kernel launches replaced %s CUDA graph launch%s",
                       number(after[SIDE_LAUNCHES] - after[SIDE_GRAPH_LAUNCHES], count[0]),
                       number(before[SIDE_GRAPH_LAUNCHES], count[1]),
                       before[SIDE_GRAPH_LAUNCHES] > 1.01 ? "es" : "");
    return nothing();
}

/* Calls that are more or fewer, whatever they did to the time. */
static struct reason by_number(const struct inquiry *of, enum side_count count, const char *key) {
    char after[FORMAT_SIZE], before[FORMAT_SIZE];
    if (of->more[count] * of->sign <= 0.4)
        return nothing();
    return because(key, "the host makes %s instead of %s %s", number(of->per[AFTER][count], after),
                   number(of->per[BEFORE][count], before), side_count_title(count));
}

/* More of what keeps the device idle, or less of it; and in the account, its cause. */
static struct reason by_calls(const struct inquiry *of, enum side_count count, enum gap_cause cause,
                              const char *key) {
    return cause_change(of, cause) * 5 < of->idle * of->sign ? nothing()
                                                             : by_number(of, count, key);
}

/* Many small copies cost the host more than the device. */
static struct reason by_copies(const struct inquiry *of) {
    char count[2][FORMAT_SIZE];
    if (of->more[SIDE_COPIES_HTOD] * of->sign <= 0.4 ||
        fabs(of->more[SIDE_COPIES_HTOD]) < fabs(of->more[SIDE_KERNELS]))
        return nothing();
    return because("copies", "the host issues %s instead of %s copies to the device",
                   number(of->per[AFTER][SIDE_COPIES_HTOD], count[0]),
                   number(of->per[BEFORE][SIDE_COPIES_HTOD], count[1]));
}

static struct reason by_other_copies(const struct inquiry *of) {
    char count[2][FORMAT_SIZE];
    if (of->more[SIDE_COPIES_OTHER] * of->sign <= 0.4 ||
        fabs(of->more[SIDE_COPIES_OTHER]) < fabs(of->more[SIDE_KERNELS]))
        return nothing();
    return because("copies", "there are %s instead of %s copies within the device",
                   number(of->per[AFTER][SIDE_COPIES_OTHER], count[0]),
                   number(of->per[BEFORE][SIDE_COPIES_OTHER], count[1]));
}

/* Frameworks wait for each copy from pageable memory: where there are as many more copies to the
 * device as synchronizations, the copies are what the program does differently. */
static struct reason by_sync(const struct inquiry *of) {
    double syncs = of->more[SIDE_SYNCS] * of->sign, reads = of->more[SIDE_COPIES_DTOH] * of->sign;
    char count[2][FORMAT_SIZE];
    if (syncs <= 0.4 && reads <= 0.4)
        return nothing();
    if (reads <= 0.4 && of->more[SIDE_COPIES_HTOD] * of->sign >= syncs - 0.4)
        return by_copies(of);
    if (syncs > 0.4)
        return because("sync", "the host synchronizes with the device %s instead of %s times",
                       number(of->per[AFTER][SIDE_SYNCS], count[0]),
                       number(of->per[BEFORE][SIDE_SYNCS], count[1]));
    return because("sync", "the host waits for %s instead of %s copies from the device",
                   number(of->per[AFTER][SIDE_COPIES_DTOH], count[0]),
                   number(of->per[BEFORE][SIDE_COPIES_DTOH], count[1]));
}

static int64_t idle_of(const struct diff *diff, unsigned at) {
    int64_t idle = 0;
    for (unsigned part = PART_IDLE; part < PART_COUNT; part++)
        idle += diff->sides[at].part_time[part];
    return idle;
}

/* ", before the work of train.py:88 x.copy_(y)": the line before whose work most of the idle time
 * came or went. */
static const char *words_of_line(const struct inquiry *of, char words[WORDS]) {
    const struct diff_line *largest = NULL;
    int64_t most = of->idle * of->sign / 2;
    words[0] = 0;
    for (size_t i = 0; i < of->diff->line_count; i++) {
        const struct diff_line *line = &of->diff->lines[i];
        int64_t idle = (line->idle[AFTER] - line->idle[BEFORE]) * of->sign;
        if (idle > most) {
            largest = line;
            most = idle;
        }
    }
    if (!largest)
        return words;
    unsigned at = largest->frame[AFTER] ? AFTER : BEFORE;
    const struct trace *trace = of->diff->sides[at].report->model.trace;
    struct text file = trace_text(trace, trace->stack.file[largest->frame[at]]),
                source = trace_text(trace, trace->stack.source[largest->frame[at]]);
    char cut[NAME_SHOWN * 4 + 4];
    for (size_t i = file.length; i > 0; i--)
        if (file.data[i - 1] == '/') {
            file = (struct text){file.data + i, file.length - i};
            break;
        }
    source = shown(source, cut);
    snprintf(words, WORDS, ", before the work of %.*s:%u%s%.*s", TEXT_ARGS(file),
             trace->stack.line[largest->frame[at]], source.length ? " " : "", TEXT_ARGS(source));
    return words;
}

static struct reason by_host(const struct inquiry *of) {
    char cut[NAME_SHOWN * 4 + 4], time[2][FORMAT_SIZE], line[WORDS];
    const struct diff_row *row = largest_row(of, PART_IDLE, PART_COUNT);
    if (!row)
        return nothing();
    struct text name = shown(row->name[row->kind == ROW_NEW ? AFTER : BEFORE], cut);
    return because(part_key(row->part), "the device is idle for %s instead of %s: %s%s%.*s%s",
                   format_duration(row->time[AFTER], time[0]),
                   format_duration(row->time[BEFORE], time[1]), part_title(row->part),
                   name.length ? ", " : "", TEXT_ARGS(name), words_of_line(of, line));
}

/* The recorder slows the host down: another one does so by another amount. */
static struct reason by_tool(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    struct text before = trace_meta(diff->sides[BEFORE].report->model.trace, META_SOURCE_TOOL),
                after = trace_meta(diff->sides[AFTER].report->model.trace, META_SOURCE_TOOL);
    char cut[2][NAME_SHOWN * 4 + 4], time[2][FORMAT_SIZE];
    if (before.length == 0 || after.length == 0 || text_equal(before, after))
        return nothing();
    return because("tool",
                   "the device is idle for %s instead of %s: host code, which another recording "
                   "tool slows down differently (%.*s instead of %.*s)",
                   format_duration(idle_of(diff, AFTER), time[0]),
                   format_duration(idle_of(diff, BEFORE), time[1]), TEXT_ARGS(shown(after, cut[0])),
                   TEXT_ARGS(shown(before, cut[1])));
}

/* The host itself was slower where the same launch calls took longer. */
static struct reason by_host_pace(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    double before = diff->launch_call[BEFORE], after = diff->launch_call[AFTER];
    double step =
        log((double)MAX(diff->sides[AFTER].step, 1) / (double)MAX(diff->sides[BEFORE].step, 1));
    char time[2][FORMAT_SIZE];
    if (before <= 0 || after <= 0 || log(after / before) * of->sign * 2 < fabs(step))
        return nothing();
    return because("host-pace", "the host itself was %s: the same %.*s calls take %s instead of %s",
                   of->sign > 0 ? "slower" : "faster", TEXT_ARGS(diff->launch_name),
                   format_duration((int64_t)after, time[0]),
                   format_duration((int64_t)before, time[1]));
}

static struct reason by_launches(const struct inquiry *of) {
    char count[2][FORMAT_SIZE];
    if (of->more[SIDE_KERNELS] * of->sign <= 0.4)
        return nothing();
    for (size_t i = 0; i < of->diff->row_count; i++) {
        const struct diff_row *row = &of->diff->rows[i];
        if (row->kind == ROW_REPLACED &&
            fabs(row->count[AFTER] - row->count[BEFORE]) * 2 > fabs(of->more[SIDE_KERNELS]))
            return by_replacement(row);
    }
    return because("launches", "the host makes %s instead of %s kernel launches",
                   number(of->per[AFTER][SIDE_KERNELS], count[0]),
                   number(of->per[BEFORE][SIDE_KERNELS], count[1]));
}

static struct reason of_idle(const struct inquiry *of) {
    struct reason reason = by_graph(of);
    if (!reason.key)
        reason = by_calls(of, SIDE_COMPILATIONS, CAUSE_COMPILE, "compile");
    if (!reason.key)
        reason = by_calls(of, SIDE_ALLOCATIONS, CAUSE_ALLOC, "alloc");
    if (!reason.key)
        reason = by_memory_kind(of);
    if (!reason.key)
        reason = by_sync(of);
    if (!reason.key)
        reason = by_copies(of);
    if (!reason.key)
        reason = by_other_copies(of);
    if (!reason.key)
        reason = by_launches(of);
    if (!reason.key)
        reason = by_tool(of);
    if (!reason.key)
        reason = by_host_pace(of);
    return reason.key ? reason : by_host(of);
}

/* Repetitions of one sequence in runs whose steps are not marked. */
static void explain_repetitions(const struct diff *diff, char *words, size_t size) {
    char count[2][FORMAT_SIZE], ratio[FORMAT_SIZE];
    double before = (double)diff->repetitions[BEFORE], after = (double)diff->repetitions[AFTER];
    words[0] = 0;
    if (before > 0 && after > 0)
        snprintf(words, size,
                 "; the run has %s of them instead of %s: if both runs do the same number of "
                 "iterations, each launches %s as many kernels",
                 format_count(diff->repetitions[AFTER], count[0]),
                 format_count(diff->repetitions[BEFORE], count[1]),
                 format_ratio(after / before, ratio));
}

static struct reason by_compilations(const struct inquiry *of) {
    return by_number(of, SIDE_COMPILATIONS, "compile");
}

static struct reason by_allocations(const struct inquiry *of) {
    return by_number(of, SIDE_ALLOCATIONS, "alloc");
}

/* Other inputs or thread blocks of kernels with most of the time. */
static struct reason by_shapes(const struct inquiry *of) {
    const struct diff_row *largest = NULL;
    int64_t all = 0, other = 0;
    for (size_t i = 0; i < of->diff->row_count; i++) {
        const struct diff_row *row = &of->diff->rows[i];
        if (row->part != PART_BUSY || row->kind != ROW_BOTH)
            continue;
        all += row->time[BEFORE];
        if (!has_other_blocks(of->diff, row) && !has_other_shapes(row))
            continue;
        other += row->time[BEFORE];
        largest = largest ? largest : row;
    }
    return largest && other * 2 > all ? by_row_shapes(of, largest) : nothing();
}

/* Something counted that changed, whatever it did to the time. */
static struct reason notable(const struct inquiry *of) {
    static struct reason (*const rules[])(const struct inquiry *) = {
        by_graph,  by_compilations, by_allocations, by_memory_kind, by_sync,
        by_copies, by_other_copies, by_launches,    by_shapes,      by_sharing};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct inquiry as = *of;
            as.sign = sign;
            struct reason reason = rules[i](&as);
            if (reason.key)
                return reason;
        }
    return nothing();
}

/* ---- sentences ---- */

static struct reason find_reason(const struct inquiry *of) {
    const struct diff *diff = of->diff;
    int64_t busy = diff->part[PART_BUSY] * of->sign, copy = diff->part[PART_COPY] * of->sign,
            idle = of->idle * of->sign, communication = diff->part[PART_COMMUNICATION] * of->sign;
    if (communication > busy && communication > copy && communication > idle)
        return of_communication(of);
    if (busy >= copy && busy >= idle)
        return of_busy(of);
    return copy >= idle ? of_copy(of) : of_idle(of);
}

static struct inquiry inquire(const struct diff *diff) {
    struct inquiry of = {.diff = diff, .sign = diff->change < 0 ? -1 : 1};
    for (unsigned part = PART_IDLE; part < PART_COUNT; part++)
        of.idle += diff->part[part];
    for (unsigned i = 0; i < SIDE_COUNTS; i++) {
        for (unsigned at = BEFORE; at < SIDES; at++)
            of.per[at][i] = diff->sides[at].count_mean[i];
        if (diff->sides[BEFORE].counts_known[i] && diff->sides[AFTER].counts_known[i])
            of.more[i] = of.per[AFTER][i] - of.per[BEFORE][i];
    }
    return of;
}

static void explain_noise(const struct diff *diff, char *words, size_t size) {
    const struct noise *noise = &diff->noise;
    char smallest[FORMAT_SIZE];
    bool one = noise->runs[BEFORE] == 1 && noise->runs[AFTER] == 1;
    if (!one)
        snprintf(words, size, "%zu runs before, %zu after: p = %.3f (exact rank test by run%s).",
                 noise->runs[BEFORE], noise->runs[AFTER], noise->probability,
                 noise->best_probability > 0.05 ? "; so few runs cannot give less than 0.05" : "");
    else if (noise->known)
        snprintf(words, size, "One run each: differences below %s are within the noise.",
                 format_percent(fmax(noise->smallest, 0.001), smallest));
    else
        snprintf(words, size, "One run each, with too few steps to estimate the noise.");
}

static void explain_parts(const struct diff *diff, const struct inquiry *of, char *words,
                          size_t size) {
    size_t used = 0;
    for (unsigned i = 0; i <= PART_IDLE; i++) {
        int64_t change = i < PART_IDLE ? diff->part[i] : of->idle;
        char time[FORMAT_SIZE];
        if (change == 0 || used >= size)
            continue;
        used += (size_t)snprintf(words + used, size - used, "%s%s %s%s", used ? ", " : "",
                                 i < PART_IDLE ? part_title(i) : "idle", change < 0 ? "-" : "+",
                                 format_duration(llabs(change), time));
    }
}

void diff_explain(struct diff *diff) {
    struct inquiry of = inquire(diff);
    const struct side *before = &diff->sides[BEFORE], *after = &diff->sides[AFTER];
    char times[2][FORMAT_SIZE], ratio[FORMAT_SIZE], noise[300], parts[200] = "", repeated[300];
    explain_noise(diff, noise, sizeof noise);
    format_duration(before->step, times[BEFORE]);
    format_duration(after->step, times[AFTER]);
    explain_repetitions(diff, repeated, sizeof repeated);
    const char *unit = *repeated ? "repetition" : after->unit;
    if (diff->change == 0 || !diff->noise.significant) {
        double by = before->step ? (double)after->step / (double)before->step - 1 : 0;
        struct reason changed = notable(&of);
        diff->cause = "none";
        snprintf(diff->headline, sizeof diff->headline,
                 "No measurable difference: a %s takes %s before and %s after (%+.1f %%)%s%s%s.",
                 unit, times[BEFORE], times[AFTER], by * 100, changed.key ? ", although " : "",
                 changed.words, repeated);
        snprintf(diff->second, sizeof diff->second, "%s", noise);
        return;
    }
    struct reason reason = find_reason(&of);
    struct reason besides = nothing();
    if (reason.key && (strcmp(reason.key, gap_cause_name(CAUSE_HOST)) == 0 ||
                       strcmp(reason.key, "host-pace") == 0))
        besides = notable(&of);
    int64_t slow = MAX(before->step, after->step), fast = MAX(MIN(before->step, after->step), 1);
    diff->cause = reason.key ? reason.key : "unknown";
    const char *on = diff->other_device ? " on " : "";
    snprintf(diff->headline, sizeof diff->headline,
             "%s %s: a %s takes %s%s%s instead of %s%s%s%s%s%s%s%s.",
             format_ratio((double)slow / (double)fast, ratio), of.sign < 0 ? "faster" : "slower",
             unit, times[AFTER], on, *on ? diff->device[AFTER] : "", times[BEFORE], on,
             *on ? diff->device[BEFORE] : "", reason.key ? ", mostly because " : "",
             reason.key ? reason.words : "", besides.key ? "; besides, " : "", besides.words,
             repeated);
    explain_parts(diff, &of, parts, sizeof parts);
    snprintf(diff->second, sizeof diff->second, "Of the difference: %s. %s", parts, noise);
}
