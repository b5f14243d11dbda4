/* Start-up and exit: what does the host do before the device's first activity and after its last?
 * The driver creates a context and loads code in the first calls. In a short program that is most
 * of the time, and no change of its kernels matters. */
#include "base/memory.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"

static int64_t overlap(int64_t start, int64_t end, struct window part) {
    return MAX(MIN(end, part.end) - MAX(start, part.start), 0);
}

/* Of one thread: the time of its outermost calls in the part, and the name with the most of it. */
static void sum_thread(const struct model *model, uint32_t thread, int64_t *by_name,
                       struct outside_part *part) {
    const struct columns_call *call = &model->trace->call;
    size_t first = model->thread_calls[thread], end = model->thread_calls[thread + 1];
    struct outside_part sum = {.window = part->window, .thread = thread};
    for (size_t i = first; i < end; i++)
        if (!model->call_nested[i])
            by_name[call->name[i]] = 0;
    for (size_t i = first; i < end && call->start[i] < part->window.end; i++) {
        int64_t inside = model->call_nested[i]
                             ? 0
                             : overlap(call->start[i], model_call_end(model, i), part->window);
        sum.calls += inside;
        by_name[call->name[i]] += inside;
        if (by_name[call->name[i]] > sum.named) {
            sum.named = by_name[call->name[i]];
            sum.name = call->name[i];
        }
    }
    if (sum.calls > part->calls)
        *part = sum;
}

/* The innermost range of the thread with most of the part. Driver threads of a process also have
 * ranges, which show nothing about the program. */
static void find_range(const struct model *model, struct outside_part *part) {
    const struct columns_range *range = &model->trace->range;
    int64_t length = part->window.end - part->window.start, shortest = INT64_MAX;
    for (size_t i = 0; i < range->count; i++) {
        int64_t inside = overlap(range->start[i], model_range_end(model, i), part->window);
        if (2 * inside <= length || range->duration[i] >= shortest ||
            range->category[i] == RANGE_DEVICE || range->category[i] == RANGE_OVERHEAD ||
            (part->thread && range->thread[i] != part->thread))
            continue;
        shortest = range->duration[i];
        part->named = inside;
        part->name = range->name[i];
        part->is_range = true;
    }
}

static void find_part(const struct model *model, int64_t *by_name, struct outside_part *part) {
    const struct trace *trace = model->trace;
    int64_t length = part->window.end - part->window.start;
    if (length <= 0)
        return;
    for (uint32_t thread = 1; thread < trace->thread.count; thread++)
        sum_thread(model, thread, by_name, part);
    if (2 * part->named > length)
        return;
    part->name = 0;
    find_range(model, part);
}

bool outside_find(const struct diagnose_source *source, struct outside *outside,
                  struct status *status) {
    const struct model *model = source->model;
    struct window device;
    if (source->device_count != 1 || model->recordings > 1 || model->no_timeline ||
        !model_device_window(model, source->devices[0].id, &device))
        return true;
    int64_t *by_name = memory_allocate(model->trace->strings.count + 1, sizeof *by_name, status);
    if (!by_name)
        return false;
    outside->run = model->last - model->first;
    outside->device = device.end - device.start;
    outside->before.window = (struct window){model->first, device.start};
    outside->after.window = (struct window){device.end, model->last};
    find_part(model, by_name, &outside->before);
    find_part(model, by_name, &outside->after);
    memory_free(by_name);
    return true;
}

static int64_t part_length(const struct outside_part *part) {
    return MAX(part->window.end - part->window.start, 0);
}

/* The part with more of the run; NULL: neither is known to have half of it. */
static const struct outside_part *main_part(const struct diagnosis *diagnosis) {
    const struct outside *outside = &diagnosis->outside;
    bool late = part_length(&outside->after) > part_length(&outside->before);
    const struct outside_part *part = late ? &outside->after : &outside->before;
    return part->name && 2 * part_length(part) > diagnosis->verdict->time ? part : NULL;
}

bool starts_most_of_the_time(const struct diagnosis *diagnosis) {
    const struct verdict *verdict = diagnosis->verdict;
    const struct outside_part *part = main_part(diagnosis);
    int64_t first = verdict->count ? verdict->findings[0].recoverable : 0;
    return part && !kernels_are_missing(&diagnosis->facts) && !diagnosis->source->narrowed &&
           diagnosis->source->step_count == 0 && 4 * first < part_length(part);
}

void diagnose_startup(struct diagnosis *diagnosis) {
    const struct outside_part *part = main_part(diagnosis);
    struct finding *finding = diagnose_add(diagnosis, FINDING_STARTUP, CONFIDENCE_HIGH);
    bool late = part == &diagnosis->outside.after;
    char percent[FORMAT_SIZE], time[FORMAT_SIZE], named[FORMAT_SIZE], name[NAME_SIZE];
    finding->decides = true;
    short_name(trace_text(diagnosis->trace, part->name), name);
    diagnose_set_text(diagnosis, &finding->headline, "%s takes %s of the run, most of it in %s.",
                      late ? "Exit" : "Start-up",
                      whole_percent(share_of(part_length(part), diagnosis->verdict->time), percent),
                      name);
    format_duration(part_length(part), time);
    finding_summary(diagnosis, finding,
                    late ? "%s passes after the device's last activity, %s of it in %s"
                         : "%s passes before the device's first activity, %s of it in %s",
                    time, format_duration(part->named, named), name);
    finding_cause(diagnosis, finding, "%s",
                  part->is_range ? "The device has no work while the host does this."
                  : late ? "The last calls also release memory and unload code, once per process."
                         : "The first calls also create the context and load code, once per "
                           "process.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = part->is_range ? EVIDENCE_RANGE : EVIDENCE_CALL,
                                       .name = part->name,
                                       .start = part->window.start,
                                       .end = part->window.end},
                     "%s: %s", name, named);
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "To judge the work itself, record more of it; to save this time, do more work in "
                "one process");
    diagnose_lead(diagnosis);
}
