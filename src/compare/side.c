/* Units come from one pass over the device's activities; then the middle ones are accounted for as
 * a report accounts for any selection, and each figure is scaled to the median unit. Scaling rounds
 * running sums, not the figures themselves, so that nothing is lost. */
#include "compare/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_index.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "compare/exposure.h"
#include "compare/side_parts.h"
#include "report/select.h"
#include "report/wording.h"

static const struct {
    const char *key, *title;
} parts[PART_IDLE] = {[PART_BUSY] = {"busy", "busy"},
                      [PART_COMMUNICATION] = {"exposed_communication", "exposed communication"},
                      [PART_COPY] = {"exposed_copy", "exposed copy"}};

const char *part_title(unsigned part) {
    return part < PART_IDLE ? parts[part].title : wording_cause_short(part - PART_IDLE);
}

const char *part_key(unsigned part) {
    return part < PART_IDLE ? parts[part].key : gap_cause_name(part - PART_IDLE);
}

static const struct {
    const char *key, *title;
} count_names[SIDE_COUNTS] = {
    [SIDE_KERNELS] = {"kernels", "kernels"},
    [SIDE_LAUNCHES] = {"launch_calls", "launch calls"},
    [SIDE_GRAPH_LAUNCHES] = {"graph_launches", "graph launches"},
    [SIDE_SYNCS] = {"syncs", "synchronizing calls"},
    [SIDE_COPIES_HTOD] = {"copies_htod", "copies to the device"},
    [SIDE_COPIES_DTOH] = {"copies_dtoh", "copies to the host"},
    [SIDE_COPIES_OTHER] = {"copies_other", "other copies"},
    [SIDE_SETS] = {"memsets", "memsets"},
    [SIDE_BYTES_HTOD] = {"bytes_htod", "bytes to the device"},
    [SIDE_BYTES_DTOH] = {"bytes_dtoh", "bytes to the host"},
    [SIDE_ALLOCATIONS] = {"allocations", "allocation calls"},
    [SIDE_COMPILATIONS] = {"compilations", "compilations and module loads"},
};

const char *side_count_title(unsigned count) {
    return count_names[count].title;
}

const char *side_count_key(unsigned count) {
    return count_names[count].key;
}

size_t side_main_device(const struct report *report) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < report->device_count; i++)
        if (best == SIZE_MAX ||
            report->devices[i].account.kernel_sum + report->devices[i].account.copy_sum >
                report->devices[best].account.kernel_sum + report->devices[best].account.copy_sum)
            best = i;
    return best;
}

/* ---- units ---- */

static bool add_unit(struct side *side, size_t *capacity, size_t *lengths_capacity,
                     struct window window, struct status *status) {
    if (!GROW(side->units, capacity, side->unit_count + 1, status) ||
        !GROW(side->lengths, lengths_capacity, side->unit_count + 1, status))
        return false;
    side->lengths[side->unit_count] = window.end - window.start;
    side->units[side->unit_count++] = window;
    return true;
}

/* The device's window of each step, as steps_window() gives it for one, in a single pass. */
static void find_step_windows(const struct side *side, struct window *windows) {
    const struct model *model = &side->report->model;
    const struct trace *trace = model->trace;
    const struct steps *steps = &side->report->steps;
    uint32_t device = side->device->id;
    size_t step = SIZE_MAX;
    for (size_t i = 0; i < steps->count; i++)
        windows[i] = (struct window){INT64_MAX, INT64_MIN};
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        int64_t start = trace->activity.start[i], issued = start;
        if (steps->source != STEPS_PERIODIC) {
            if (model->launch[i] == NO_ROW)
                continue;
            issued = trace->call.start[model->launch[i]];
        }
        if (step == SIZE_MAX || issued < steps->list[step].start || issued >= steps->list[step].end)
            step = steps_at(steps, issued);
        if (step == SIZE_MAX)
            continue;
        windows[step].start = MIN(windows[step].start, start);
        windows[step].end = MAX(windows[step].end, model_activity_end(model, i));
    }
    int64_t next = INT64_MAX; /* start of the first activity of a later step */
    for (size_t i = steps->count; i-- > 0;) {
        int64_t start = windows[i].start;
        if (start != INT64_MAX && next > start && next != INT64_MAX)
            windows[i].end = next;
        next = MIN(next, start);
    }
}

static bool is_paused(const struct side *side, const struct window *window) {
    const struct report *report = side->report;
    uint32_t session = report->model.trace->device_session[side->device->id];
    return pauses_within(&report->pauses, session, window->start, window->end) > 0;
}

static bool add_steps(struct side *side, struct status *status) {
    const struct report *report = side->report;
    const struct model *model = &report->model;
    size_t first, last, capacity = 0, lengths_capacity = 0;
    if (model->mixed_clocks &&
        model->trace->device_session[side->device->id] != report->steps.session)
        return true; /* times of the device are not comparable with those of the steps */
    first = report->steps.warm_up;
    last = report->steps.count - 1;
    if (report->options.steps && !select_steps(report, &first, &last, status))
        return false;
    struct window *windows = memory_allocate(report->steps.count, sizeof *windows, status);
    bool ok = windows != NULL;
    if (ok)
        find_step_windows(side, windows);
    for (size_t i = first; ok && i <= last; i++)
        if (windows[i].start < windows[i].end && !is_paused(side, &windows[i]) &&
            (side->unit_count == 0 || side->units[side->unit_count - 1].end <= windows[i].start))
            ok = add_unit(side, &capacity, &lengths_capacity, windows[i], status);
    memory_free(windows);
    return ok;
}

static bool add_turns(struct side *side, struct status *status) {
    size_t capacity = 0, lengths_capacity = 0;
    for (size_t i = 0; i < side->device->selection->count; i++)
        if (!add_unit(side, &capacity, &lengths_capacity, side->device->selection->windows[i],
                      status))
            return false;
    return true;
}

/* Steps are the default also of a report about the whole run, such as that of a page. */
static bool wants_steps(const struct report *report) {
    const struct report_options *options = &report->options;
    return !options->range && !options->window &&
           (options->steps || (!report->whole && report->steps.count >= STEADY_STEPS_MIN));
}

static bool find_units(struct side *side, struct status *status) {
    const struct report_options *options = &side->report->options;
    bool ok = true;
    if (wants_steps(side->report)) {
        side->unit = "step";
        ok = add_steps(side, status);
    } else if (options->range && !options->steps && !options->window) {
        side->unit = "turn";
        ok = add_turns(side, status);
    }
    if (ok && side->unit_count == 0)
        side->unit = side->report->narrowed ? "part" : "run";
    return ok;
}

/* ---- the middle ---- */

struct ranked_unit {
    int64_t length;
    size_t at;
};

static int by_length(const void *a, const void *b) {
    const struct ranked_unit *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool select_run(struct side *side, struct status *status) {
    const struct report *report = side->report;
    struct window window;
    return model_device_window(&report->model, side->device->id, &window) &&
           selection_add(&side->selection, window.start, window.end, status) &&
           pauses_leave_out(&report->pauses, &report->model, side->device->id, &side->selection,
                            status);
}

static bool copy_selection(struct side *side, struct status *status) {
    const struct selection *all = side->device->selection;
    for (size_t i = 0; i < all->count; i++)
        if (!selection_add(&side->selection, all->windows[i].start, all->windows[i].end, status))
            return false;
    side->selection.everything = all->everything;
    return true;
}

/* Everything is one unit: its selection, which may have several windows. */
static bool take_all(struct side *side, bool whole, struct status *status) {
    size_t capacity = 0, lengths_capacity = 0;
    const struct selection *all = &side->selection;
    if (!(whole ? select_run(side, status) : copy_selection(side, status)))
        return false;
    if (all->count == 0)
        return status_fail(status, STATUS_INPUT, "%s: the device's work takes no time",
                           side->report->options.trace_name);
    struct window span = {all->windows[0].start, all->windows[all->count - 1].end};
    if (!add_unit(side, &capacity, &lengths_capacity, span, status))
        return false;
    side->step = side->lengths[0] = selection_length(all);
    side->mean = (double)side->step;
    side->middle_count = 1;
    return true;
}

static bool take_middle(struct side *side, struct status *status) {
    size_t count = side->unit_count, skip = count / 4;
    struct ranked_unit *ranked = memory_allocate(count, sizeof *ranked, status);
    bool *kept = memory_allocate(count, sizeof *kept, status);
    bool ok = ranked && kept;
    double sum = 0;
    for (size_t i = 0; ok && i < count; i++) {
        ranked[i] = (struct ranked_unit){side->lengths[i], i};
        sum += (double)side->lengths[i];
    }
    if (ok) {
        qsort(ranked, count, sizeof *ranked, by_length);
        side->step = ranked[(count - 1) / 2].length;
        side->mean = sum / (double)count;
        for (size_t i = skip; i < count - skip; i++)
            kept[ranked[i].at] = true;
        side->middle_count = count - 2 * skip;
    }
    for (size_t i = 0; ok && i < count; i++)
        if (kept[i])
            ok = selection_add(&side->selection, side->units[i].start, side->units[i].end, status);
    memory_free(ranked);
    memory_free(kept);
    return ok;
}

/* ---- entries ---- */

static bool add_entry(struct side *side, size_t *capacity, unsigned part, struct text name,
                      uint32_t *index, struct status *status) {
    uint32_t id;
    if (!intern_add(&side->names, name, &id, status) ||
        !GROW(side->entries, capacity, side->entry_count + 1, status))
        return false;
    if (index)
        *index = (uint32_t)side->entry_count;
    side->entries[side->entry_count++] =
        (struct entry){.part = part, .name = intern_text(&side->names, id), .first_row = SIZE_MAX};
    return true;
}

enum { COPY_KINDS = COPY_DIRECTIONS * 3 };

struct work_walk {
    struct side *side;
    size_t capacity, owned_capacity;
    struct exposure exposure;
    struct key_index families; /* ids of short names in side->names */
    uint32_t *family_entry;    /* by index in families */
    size_t family_capacity;
    uint32_t copies[COPY_KINDS]; /* entry + 1 */
    uint32_t sets;               /* entry + 1 */
};

static bool own_entry(struct work_walk *walk, unsigned part, struct text name, uint32_t *index,
                      struct status *status) {
    if (!add_entry(walk->side, &walk->capacity, part, name, index, status) ||
        !GROW(walk->exposure.owned, &walk->owned_capacity, walk->side->entry_count, status))
        return false;
    walk->exposure.owned[*index] = 0;
    return true;
}

/* The entry of a kernel's family: names that shorten to the same are one. */
static bool kernel_entry(struct work_walk *walk, uint32_t name, uint32_t *entry,
                         struct status *status) {
    struct side *side = walk->side;
    uint32_t id;
    size_t family = 0, known = walk->families.count;
    if (side->entry_of_name[name] != NO_ENTRY) {
        *entry = side->entry_of_name[name];
        return true;
    }
    struct buffer shortened = {0};
    bool ok = kernel_short_name(trace_text(side->report->model.trace, name), &shortened, status) &&
              intern_add(&side->names, buffer_as_text(&shortened), &id, status) &&
              key_index_find(&walk->families, id, &family, status) &&
              GROW(walk->family_entry, &walk->family_capacity, family + 1, status);
    bool communicates = side->report->model.communicates[name];
    if (ok && family == known)
        ok = own_entry(walk, communicates ? PART_COMMUNICATION : PART_BUSY,
                       intern_text(&side->names, id), &walk->family_entry[family], status);
    if (ok)
        *entry = side->entry_of_name[name] = walk->family_entry[family];
    buffer_finish(&shortened);
    return ok;
}

static bool copy_entry(struct work_walk *walk, size_t row, uint32_t *entry, struct status *status) {
    const struct columns_activity *activity = &walk->side->report->model.trace->activity;
    char name[80];
    uint32_t *known = &walk->sets;
    strcpy(name, "memset");
    if (activity->kind[row] == ACTIVITY_COPY) {
        unsigned direction = MIN(activity->direction[row], COPY_DIRECTIONS - 1u);
        unsigned from = activity->from_memory ? activity->from_memory[row] : MEMORY_UNKNOWN;
        unsigned to = activity->to_memory ? activity->to_memory[row] : MEMORY_UNKNOWN;
        unsigned host = from == MEMORY_PAGEABLE || to == MEMORY_PAGEABLE ? 1
                        : from == MEMORY_PINNED || to == MEMORY_PINNED   ? 2
                                                                         : 0;
        static const char *const kinds[] = {"", ", pageable", ", pinned"};
        known = &walk->copies[direction * 3 + host];
        snprintf(name, sizeof name, "%s copy%s", copy_direction_name(direction), kinds[host]);
    }
    if (*known == 0) {
        if (!own_entry(walk, PART_COPY, text_of(name), entry, status))
            return false;
        *known = *entry + 1;
    }
    *entry = *known - 1;
    return true;
}

static void count_activity(struct work_walk *walk, size_t row, struct entry *entry) {
    const struct columns_activity *activity = &walk->side->report->model.trace->activity;
    int64_t duration = activity->duration[row];
    if (entry->count == 0)
        entry->first_row = row;
    entry->fastest = entry->count++ ? MIN(entry->fastest, duration) : duration;
    entry->total += duration;
    if (activity->kind[row] != ACTIVITY_KERNEL) {
        entry->blocks +=
            activity->bytes && activity->bytes[row] != BYTES_UNKNOWN ? activity->bytes[row] : 0;
    } else if (activity->grid_x && activity->grid_y && activity->grid_z) {
        entry->blocks += (uint64_t)activity->grid_x[row] * MAX(activity->grid_y[row], 1u) *
                         MAX(activity->grid_z[row], 1u);
        entry->threads += activity->block_x ? activity->block_x[row] : 0;
    }
}

static bool walk_activities(struct work_walk *walk, struct status *status) {
    const struct side *side = walk->side;
    const struct model *model = &side->report->model;
    const struct columns_activity *activity = &model->trace->activity;
    const struct selection *selection = &side->selection;
    size_t end_row = model->device_first[side->device->id + 1], window = 0;
    int64_t last = selection->windows[selection->count - 1].end;
    for (size_t i = model->device_first[side->device->id]; i < end_row; i++) {
        int64_t start = activity->start[i], end = model_activity_end(model, i);
        bool kernel = activity->kind[i] == ACTIVITY_KERNEL;
        uint32_t entry;
        if (!selection->everything && start >= last)
            break;
        while (!selection->everything && window < selection->count &&
               selection->windows[window].end <= start)
            window++;
        bool inside = selection->everything || selection->windows[window].start <= start;
        if (!inside && end <= selection->windows[window].start)
            continue;
        if (!(kernel ? kernel_entry(walk, activity->name[i], &entry, status)
                     : copy_entry(walk, i, &entry, status)) ||
            !exposure_add(&walk->exposure, side->entries[entry].part, entry, start, end, status))
            return false;
        if (inside)
            count_activity(walk, i, &walk->side->entries[entry]);
    }
    exposure_end(&walk->exposure);
    for (size_t i = 0; i < side->entry_count; i++)
        side->entries[i].sum = walk->exposure.owned[i];
    return true;
}

static bool add_work(struct side *side, size_t *capacity, struct status *status) {
    struct work_walk walk = {.side = side, .capacity = *capacity};
    size_t names = side->report->model.trace->strings.count;
    walk.exposure.selection = &side->selection;
    side->entry_of_name = memory_allocate(names, sizeof *side->entry_of_name, status);
    if (side->entry_of_name)
        memset(side->entry_of_name, 0xFF, names * sizeof *side->entry_of_name);
    bool ok = side->entry_of_name && walk_activities(&walk, status);
    *capacity = walk.capacity;
    exposure_finish(&walk.exposure);
    memory_free(walk.exposure.owned);
    memory_free(walk.family_entry);
    key_index_finish(&walk.families);
    return ok;
}

static bool add_idle_entry(struct side *side, size_t *capacity, unsigned cause, struct text name,
                           int64_t time, uint64_t gaps, struct status *status) {
    if (!add_entry(side, capacity, PART_IDLE + cause, name, NULL, status))
        return false;
    side->entries[side->entry_count - 1].sum = time;
    side->entries[side->entry_count - 1].count = gaps;
    return true;
}

/* "ProfilerStep#12": "ProfilerStep". */
static struct text without_number(struct text name) {
    size_t length = name.length;
    while (length > 0 && name.data[length - 1] >= '0' && name.data[length - 1] <= '9')
        length--;
    while (length > 0 && length < name.length && strchr("# _-:", name.data[length - 1]))
        length--;
    return length ? (struct text){name.data, length} : name;
}

/* The named parts of a cause, and the rest of it without a name. The ranges of all steps are one
 * part: the step's number says nothing about the program. */
static bool add_cause(struct side *side, size_t *capacity, unsigned cause,
                      const struct gap_names *names, const bool *is_step, struct status *status) {
    struct gap_name steps = {.text = TEXT("")};
    int64_t left = side->gaps.cause_time[cause];
    for (size_t i = 0; names && i < names->count; i++) {
        const struct gap_name *name = &names->list[i];
        if (name->text.length == 0)
            continue;
        left -= name->time;
        if (is_step[name->name]) {
            steps.text = without_number(name->text);
            steps.time += name->time;
            steps.gaps += name->gaps;
        } else if (!add_idle_entry(side, capacity, cause, name->text, name->time, name->gaps,
                                   status)) {
            return false;
        }
    }
    if (steps.text.length &&
        !add_idle_entry(side, capacity, cause, steps.text, steps.time, steps.gaps, status))
        return false;
    return left == 0 || add_idle_entry(side, capacity, cause, TEXT(""), left,
                                       side->gaps.cause_gaps[cause], status);
}

static bool add_idle(struct side *side, size_t *capacity, struct status *status) {
    const struct steps *steps = &side->report->steps;
    bool *is_step =
        memory_allocate(side->report->model.trace->strings.count, sizeof *is_step, status);
    bool ok = is_step != NULL;
    for (size_t i = 0; ok && i < steps->count; i++)
        is_step[steps->list[i].name] = steps->list[i].name != 0;
    for (unsigned cause = 0; ok && cause < CAUSE_COUNT; cause++) {
        const struct gap_names *names = cause == CAUSE_HOST   ? &side->gaps.host_names
                                        : cause == CAUSE_SYNC ? &side->gaps.sync_names
                                                              : NULL;
        ok = add_cause(side, capacity, cause, names, is_step, status);
    }
    memory_free(is_step);
    return ok;
}

/* Running sums are scaled and rounded down: the times sum to the median step. */
static void scale_entries(struct side *side) {
    __int128 running = 0;
    int64_t before = 0;
    for (size_t i = 0; i < side->entry_count; i++) {
        struct entry *entry = &side->entries[i];
        running += entry->sum;
        int64_t until =
            side->account.window > 0 ? (int64_t)(running * side->step / side->account.window) : 0;
        entry->time = until - before;
        before = until;
        side->part_time[entry->part] += entry->time;
    }
}

/* ---- all of it ---- */

bool side_build(struct side *side, const struct report *report, size_t device, bool whole,
                struct status *status) {
    size_t capacity = 0;
    *side = (struct side){.report = report, .device = &report->devices[device], .unit = "run"};
    bool ok = (whole || find_units(side, status)) &&
              (side->unit_count ? take_middle(side, status) : take_all(side, whole, status)) &&
              account_device(&report->model, side->device->id, &side->selection, &side->account,
                             status) &&
              gaps_find(&report->model, &report->host, side->device->id, &side->selection,
                        &side->gaps, status) &&
              add_work(side, &capacity, status) && add_idle(side, &capacity, status) &&
              side_count_units(side, status);
    if (!ok) {
        side_finish(side);
        return false;
    }
    scale_entries(side);
    return true;
}

void side_finish(struct side *side) {
    memory_free(side->units);
    memory_free(side->lengths);
    memory_free(side->entries);
    memory_free(side->entry_of_name);
    memory_free(side->lines);
    selection_finish(&side->selection);
    gaps_finish(&side->gaps);
    intern_finish(&side->names);
    *side = (struct side){0};
}

uint32_t side_launching_range(const struct side *side, const struct entry *entry) {
    const struct report *report = side->report;
    const struct trace *trace = report->model.trace;
    uint32_t call = entry->first_row == SIZE_MAX ? NO_ROW : report->model.launch[entry->first_row];
    return call == NO_ROW
               ? NO_ROW
               : host_range_at(&report->host, trace->call.thread[call], trace->call.start[call]);
}

/* The array behind "key": with its brackets. */
static struct text find_array(struct text detail, const char *key) {
    ptrdiff_t place = text_find(detail, key);
    size_t first, depth = 0;
    if (place < 0)
        return TEXT("");
    first = (size_t)place + strlen(key);
    while (first < detail.length && detail.data[first] != '[')
        first++;
    for (size_t i = first; i < detail.length; i++) {
        depth += detail.data[i] == '[';
        depth -= detail.data[i] == ']';
        if (depth == 0)
            return (struct text){detail.data + first, i + 1 - first};
    }
    return TEXT("");
}

struct text side_argument(const struct side *side, const struct entry *entry, const char *key) {
    const struct trace *trace = side->report->model.trace;
    uint32_t range = side_launching_range(side, entry);
    if (range == NO_ROW || !trace->range.detail)
        return TEXT("");
    return find_array(trace_text(trace, trace->range.detail[range]), key);
}
