/* The lines of the program behind each finding: the calls, copies, launches or idle time that the
 * finding is about, by the line that made them. */
#include <string.h>

#include "analysis/gaps.h"
#include "analysis/lines.h"
#include "base/map.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

enum { LINES_MAX = 3, SHARE_MIN = 8 }; /* a line with less than an eighth is not named */

/* What a finding is about. */
enum subject { NOTHING, CALLS, COPIES, LAUNCHES, KERNELS, IDLE };

static enum subject subject_of(enum finding_kind kind, unsigned *class) {
    switch (kind) {
    case FINDING_SYNC_IN_LOOP:
        *class = CALL_SYNC;
        return CALLS;
    case FINDING_ALLOCATION:
        *class = CALL_ALLOC;
        return CALLS;
    case FINDING_COMPILATION:
        *class = CALL_COMPILE;
        return CALLS;
    case FINDING_EXPOSED_TRANSFERS:
    case FINDING_SMALL_TRANSFERS:
    case FINDING_PAGEABLE:
        return COPIES;
    case FINDING_LAUNCH_BOUND:
    case FINDING_TINY_KERNELS:
        return LAUNCHES;
    case FINDING_HOST_BOUND:
    case FINDING_INPUT_PIPELINE:
        return IDLE;
    case FINDING_MEMORY_BOUND:
    case FINDING_COMPUTE_BOUND:
    case FINDING_LATENCY_BOUND:
    case FINDING_LOW_OCCUPANCY:
    case FINDING_SMALL_GRID:
    case FINDING_TAIL:
        return KERNELS;
    default:
        return NOTHING;
    }
}

/* Of a line, by the first frame seen on it. */
struct line_sum {
    uint64_t count;
    int64_t time;
    int64_t start, end; /* the longest one */
};

struct line_sums {
    const struct diagnosis *diagnosis;
    uint32_t *own;         /* by stack */
    uint32_t *same;        /* by frame: the first frame of the same line */
    struct line_sum *sums; /* by frame */
    struct line_sum all;
};

static void add(struct line_sums *sums, uint32_t frame, int64_t start, int64_t time) {
    sums->all.count++;
    sums->all.time += time;
    if (!frame)
        return;
    struct line_sum *sum = &sums->sums[sums->same[frame]];
    if (sum->count == 0 || time > sum->end - sum->start) {
        sum->start = start;
        sum->end = start + time;
    }
    sum->count++;
    sum->time += time;
}

static bool is_judged(const struct diagnose_source *source, int64_t time) {
    const struct steps *steps = source->steps;
    if (source->step_count)
        return time >= steps->list[source->first_step].start &&
               time < steps->list[source->first_step + source->step_count - 1].end;
    return !source->host_part || selection_contains(source->host_part, time);
}

static void add_calls(struct line_sums *sums, unsigned class) {
    const struct diagnose_source *source = sums->diagnosis->source;
    const struct trace *trace = source->model->trace;
    for (size_t i = 0; i < trace->call.count; i++)
        if (trace->call.class[i] == class && !source->model->call_nested[i] &&
            is_judged(source, trace->call.start[i]))
            add(sums, lines_of_call(source->model, sums->own, i), trace->call.start[i],
                trace->call.duration[i]);
}

static void add_activities(struct line_sums *sums, bool copies) {
    const struct diagnose_source *source = sums->diagnosis->source;
    const struct model *model = source->model;
    const struct diagnose_device *device = &source->devices[0];
    for (size_t i = model->device_first[device->id]; i < model->device_first[device->id + 1]; i++) {
        bool is_kernel = model->trace->activity.kind[i] == ACTIVITY_KERNEL;
        int64_t start = model->trace->activity.start[i];
        if (is_kernel != copies &&
            (!device->selection || selection_contains(device->selection, start)))
            add(sums, lines_of_activity(model, sums->own, i), start,
                model->trace->activity.duration[i]);
    }
}

static bool add_idle(struct line_sums *sums) {
    const struct diagnose_source *source = sums->diagnosis->source;
    const struct diagnose_device *device = &source->devices[0];
    struct gap_intervals gaps = {0};
    if (!device->selection)
        return true;
    bool ok = gaps_list(source->model, source->host, device->id, device->selection, &gaps,
                        sums->diagnosis->status);
    for (size_t i = 0; i < gaps.count && ok; i++)
        if (gaps.list[i].cause == CAUSE_HOST && gaps.list[i].next != NO_ROW)
            add(sums, lines_of_activity(source->model, sums->own, gaps.list[i].next),
                gaps.list[i].start, gaps.list[i].length);
    gap_intervals_finish(&gaps);
    return ok;
}

/* "loss.item()" in quotes, where the text is known. */
static void write_source(const struct trace *trace, uint32_t frame, struct buffer *words) {
    struct text text = trace_text(trace, trace->stack.source[frame]);
    lines_format(trace, frame, words);
    if (text.length)
        buffer_printf(words, " `%.*s`", TEXT_ARGS(text));
}

static void describe(struct diagnosis *diagnosis, struct finding *finding, enum subject subject,
                     uint32_t frame, const struct line_sum *sum) {
    struct buffer words = {0};
    char time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE];
    size_t steps = diagnosis->source->step_count;
    int64_t each = steps ? sum->time / (int64_t)steps : sum->time;
    const char *per = steps ? " a step" : "";
    format_duration(each, time);
    write_source(diagnosis->trace, frame, &words);
    switch (subject) {
    case CALLS:
        buffer_printf(&words, "%s %s%s (%s)",
                      finding->kind == FINDING_SYNC_IN_LOOP ? " waits" : " takes", time, per,
                      format_plural(sum->count, "call", "calls", count));
        break;
    case COPIES:
        buffer_printf(&words, " copies for %s%s (%s)", time, per,
                      format_plural(sum->count, "copy", "copies", count));
        break;
    case LAUNCHES:
        buffer_printf(
            &words, " launches %s%s",
            format_plural(steps ? sum->count / steps : sum->count, "kernel", "kernels", count),
            per);
        break;
    case KERNELS:
        buffer_printf(&words, " runs %s of kernels%s", time, per);
        break;
    default:
        buffer_printf(&words, ": the device is idle for %s%s before it", time, per);
        break;
    }
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_LINE, .start = sum->start, .end = sum->end},
                     "%.*s", TEXT_ARGS(buffer_as_text(&words)));
    diagnosis->failed |= !buffer_ok(&words, diagnosis->status);
    buffer_finish(&words);
}

/* Names the lines with most time; launches by their number. */
static void name_lines(struct line_sums *sums, struct diagnosis *diagnosis, struct finding *finding,
                       enum subject subject) {
    size_t frames = diagnosis->trace->stack.count;
    for (unsigned named = 0; named < LINES_MAX; named++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < frames; i++) {
            const struct line_sum *sum = &sums->sums[i], *most = &sums->sums[best];
            bool more = subject == LAUNCHES ? sum->count > most->count : sum->time > most->time;
            if (sum->count && (!best || more))
                best = i;
        }
        const struct line_sum *sum = &sums->sums[best];
        bool matters = subject == LAUNCHES
                           ? SHARE_MIN * sum->count >= sums->all.count
                           : SHARE_MIN * (double)sum->time >= (double)sums->all.time;
        if (!best || !matters)
            return;
        describe(diagnosis, finding, subject, best, sum);
        sums->sums[best] = (struct line_sum){0};
    }
}

static bool sum_subject(struct line_sums *sums, enum subject subject, unsigned class) {
    switch (subject) {
    case CALLS:
        add_calls(sums, class);
        return true;
    case IDLE:
        return add_idle(sums);
    default:
        add_activities(sums, subject == COPIES);
        return true;
    }
}

static bool find_same(const struct trace *trace, struct line_sums *sums, struct status *status) {
    struct map first = {0};
    bool ok = true;
    for (uint32_t i = 1; i < trace->stack.count && ok; i++) {
        uint64_t key = (uint64_t)trace->stack.file[i] << 32 | trace->stack.line[i];
        const uint64_t *known = map_find(&first, key);
        sums->same[i] = known ? (uint32_t)*known : i;
        ok = known || map_set(&first, key, i, status);
    }
    map_finish(&first);
    return ok;
}

void diagnose_lines(struct diagnosis *diagnosis) {
    const struct trace *trace = diagnosis->trace;
    struct verdict *verdict = diagnosis->verdict;
    struct line_sums sums = {.diagnosis = diagnosis};
    bool named = false;
    for (uint32_t i = 1; i < trace->stack.count && !named; i++)
        named = trace->stack.line[i] != 0;
    if (!named || !trace->call.stack)
        return;
    sums.own = lines_own_frames(trace, diagnosis->status);
    sums.same = memory_allocate(trace->stack.count, sizeof *sums.same, diagnosis->status);
    sums.sums = memory_allocate(trace->stack.count, sizeof *sums.sums, diagnosis->status);
    bool ok = sums.own && sums.same && sums.sums && find_same(trace, &sums, diagnosis->status);
    for (size_t i = 0; i < verdict->count && ok; i++) {
        unsigned class = CALL_OTHER;
        enum subject subject = subject_of(verdict->findings[i].kind, &class);
        if (subject == NOTHING || (subject != CALLS && !diagnosis->source->device_count))
            continue;
        memset(sums.sums, 0, trace->stack.count * sizeof *sums.sums);
        sums.all = (struct line_sum){0};
        ok = sum_subject(&sums, subject, class);
        if (ok)
            name_lines(&sums, diagnosis, &verdict->findings[i], subject);
    }
    diagnosis->failed |= !ok;
    memory_free(sums.own);
    memory_free(sums.same);
    memory_free(sums.sums);
}
