/* Rows from matched entries, and the exact split of each. */
#include "compare/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"

#define SAME_REPETITIONS_MIN 0.75 /* warm-up is not always found at the same step */
#define SAME_SEQUENCE 0.95
#define MEAN_MAX 1.3 /* of the median */

const char *row_kind_name(unsigned kind) {
    static const char *const names[] = {"both", "gone", "new", "replaced"};
    return names[kind];
}

static void add_to_row(struct diff_row *row, unsigned at, const struct side *side,
                       const struct entry *entry, int64_t *largest) {
    double count = side_entry_count(side, entry), all = row->count[at] + count;
    row->part = entry->part;
    row->entries[at]++;
    row->time[at] += entry->time;
    if (entry->count && entry->part < PART_IDLE) {
        double mean = (double)entry->total / (double)entry->count,
               blocks = (double)entry->blocks / (double)entry->count;
        row->duration[at] = (row->duration[at] * row->count[at] + mean * count) / all;
        row->blocks[at] = (row->blocks[at] * row->count[at] + blocks * count) / all;
        row->fastest[at] =
            row->entries[at] > 1 ? MIN(row->fastest[at], entry->fastest) : entry->fastest;
    }
    row->count[at] = all;
    if (entry->time > *largest || row->entries[at] == 1) {
        *largest = entry->time;
        row->name[at] = entry->name;
        if (entry->part == PART_BUSY) {
            row->shapes[at] = side_argument(side, entry, "\"Input Dims\"");
            row->types[at] = side_argument(side, entry, "\"Input type\"");
        }
    }
}

/* n2 t2 - n1 t1 = (n2 - n1) (t1 + t2) / 2 + (t2 - t1) (n1 + n2) / 2: the first summand is the
 * number's, the second the duration's; swapping the sides negates both. */
static void split_row(struct diff_row *row) {
    double before = row->count[BEFORE], after = row->count[AFTER];
    row->change = row->time[AFTER] - row->time[BEFORE];
    if (row->part >= PART_IDLE || row->kind == ROW_REPLACED) {
        row->by_duration = row->change;
        return;
    }
    if (before <= 0 || after <= 0) {
        row->by_count = row->change;
        return;
    }
    double each = (double)row->time[BEFORE] / before + (double)row->time[AFTER] / after;
    double by_count = (after - before) * each / 2;
    row->by_count = (int64_t)(by_count < 0 ? by_count - 0.5 : by_count + 0.5);
    row->by_duration = row->change - row->by_count;
}

static int64_t size_of(int64_t change) {
    return change < 0 ? -change : change;
}

/* Largest change first; then the largest time; then by name, so that the order is always the same.
 */
static int by_change(const void *a, const void *b) {
    const struct diff_row *x = a, *y = b;
    int64_t x_time = x->time[BEFORE] + x->time[AFTER], y_time = y->time[BEFORE] + y->time[AFTER];
    if (size_of(x->change) != size_of(y->change))
        return size_of(x->change) > size_of(y->change) ? -1 : 1;
    if (x_time != y_time)
        return x_time > y_time ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    struct text x_name = x->name[x->kind == ROW_NEW], y_name = y->name[y->kind == ROW_NEW];
    return text_compare(x_name, y_name);
}

/* Which row each entry is in, once they are sorted. Takes the arrays of the matching. */
static bool number_rows(struct diff *diff, struct matching *matching, struct status *status) {
    uint32_t *number = memory_allocate(matching->groups, sizeof *number, status);
    if (!number)
        return false;
    for (size_t i = 0; i < diff->row_count; i++)
        number[diff->rows[i].group] = (uint32_t)i;
    for (unsigned at = BEFORE; at < SIDES; at++) {
        for (size_t i = 0; i < diff->sides[at].entry_count; i++)
            matching->group[at][i] = number[matching->group[at][i]];
        diff->row_of[at] = matching->group[at];
        matching->group[at] = NULL;
    }
    memory_free(number);
    return true;
}

static bool build_rows(struct diff *diff, struct matching *matching, struct status *status) {
    int64_t *largest = memory_allocate(matching->groups, SIDES * sizeof *largest, status);
    diff->rows = memory_allocate(matching->groups, sizeof *diff->rows, status);
    if (!largest || !diff->rows) {
        memory_free(largest);
        return false;
    }
    diff->row_count = matching->groups;
    for (unsigned at = BEFORE; at < SIDES; at++)
        for (size_t i = 0; i < diff->sides[at].entry_count; i++) {
            uint32_t group = matching->group[at][i];
            add_to_row(&diff->rows[group], at, &diff->sides[at], &diff->sides[at].entries[i],
                       &largest[SIDES * group + at]);
        }
    memory_free(largest);
    for (size_t i = 0; i < diff->row_count; i++) {
        struct diff_row *row = &diff->rows[i];
        row->kind = row->entries[BEFORE] == 0  ? ROW_NEW
                    : row->entries[AFTER] == 0 ? ROW_GONE
                    : text_equal(row->name[BEFORE], row->name[AFTER]) &&
                            row->entries[BEFORE] == 1 && row->entries[AFTER] == 1
                        ? ROW_BOTH
                        : ROW_REPLACED;
        row->place = matching->place[i];
        row->group = (uint32_t)i;
        split_row(row);
    }
    qsort(diff->rows, diff->row_count, sizeof *diff->rows, by_change);
    return number_rows(diff, matching, status);
}

/* ---- units ---- */

/* Launches of the same names that the units of both sides have in common, relative to all: 1 when
 * they are alike. */
static double likeness(const struct diff *diff) {
    double common = 0, all = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->part >= PART_IDLE)
            continue;
        all += MAX(row->count[BEFORE], row->count[AFTER]);
        common += row->kind == ROW_BOTH ? MIN(row->count[BEFORE], row->count[AFTER]) : 0;
    }
    return all > 0 ? common / all : 0;
}

bool side_is_typical(const struct side *side) {
    return side->mean < (double)side->step * MEAN_MAX && side->mean * MEAN_MAX > (double)side->step;
}

static bool are_typical(const struct steps *steps) {
    return steps->mean < (double)steps->median * MEAN_MAX &&
           steps->mean * MEAN_MAX > (double)steps->median;
}

static struct text loop_header(const struct steps *steps) {
    return steps->loops.steps ? steps->loops.list[steps->loops.steps - 1].text : TEXT("");
}

/* Whether the steps are known to be iterations: marked by the program or its profiler, or
 * iterations of the same loop of the program. */
static bool are_marked(const struct steps *first, const struct steps *second) {
    bool marked = first->source < STEPS_LOOP && second->source < STEPS_LOOP;
    bool loops = first->source == STEPS_LOOP && second->source == STEPS_LOOP;
    return marked || (loops && text_equal(loop_header(first), loop_header(second)) &&
                      first->count == second->count);
}

/* Where steps are not marked, a loop or a repeating sequence of activities stands for them. It may
 * be an iteration on one side and a layer on the other: about as many of them, or alike ones, are
 * the same thing. */
static void compare_units(struct diff *diff) {
    const struct side *before = &diff->sides[BEFORE], *after = &diff->sides[AFTER];
    const struct steps *first = &before->report->steps, *second = &after->report->steps;
    diff->same_units = strcmp(before->unit, after->unit) == 0;
    if (!diff->same_units || strcmp(before->unit, "step") != 0 ||
        (first->source < STEPS_LOOP && second->source < STEPS_LOOP))
        return;
    double ratio = (double)second->count / (double)first->count;
    diff->same_units = side_is_typical(before) && side_is_typical(after);
    if (!diff->same_units || are_marked(first, second) ||
        (ratio > SAME_REPETITIONS_MIN && ratio < 1 / SAME_REPETITIONS_MIN))
        return;
    diff->same_units = likeness(diff) >= SAME_SEQUENCE;
    if (diff->same_units) {
        diff->repetitions[BEFORE] = first->count;
        diff->repetitions[AFTER] = second->count;
    }
}

static bool is_selected(const struct report *report) {
    return report->whole || report->options.range || report->options.window ||
           (report->options.steps && !report->steady_by_default);
}

static bool build_all(struct diff *diff, const struct report *const reports[SIDES], bool whole,
                      struct status *status) {
    struct matching matching = {0};
    for (unsigned at = BEFORE; at < SIDES; at++) {
        size_t device = side_main_device(reports[at]);
        if (device == SIZE_MAX)
            return status_fail(status, STATUS_INPUT,
                               "%s: no device did anything in the selected part: nothing to "
                               "compare",
                               reports[at]->options.trace_name);
        if (!side_build(&diff->sides[at], reports[at], device, whole, status))
            return false;
    }
    bool ok = match_entries(diff, &matching, status) && build_rows(diff, &matching, status);
    matching_finish(&matching);
    return ok;
}

static void clear_rows(struct diff *diff) {
    memory_free(diff->rows);
    diff->rows = NULL;
    for (unsigned at = BEFORE; at < SIDES; at++) {
        memory_free(diff->row_of[at]);
        diff->row_of[at] = NULL;
        side_finish(&diff->sides[at]);
    }
}

/* Steps, or the runs where these are not the same thing. */
static bool choose_units(struct diff *diff, const struct report *const reports[SIDES],
                         struct status *status) {
    if (!build_all(diff, reports, false, status))
        return false;
    compare_units(diff);
    if (diff->same_units || is_selected(reports[BEFORE]) || is_selected(reports[AFTER]))
        return true;
    /* The steps show more of the noise than the runs. Iterations that overlap on the device have no
     * length of their own there. */
    const struct steps *first = &reports[BEFORE]->steps, *second = &reports[AFTER]->steps;
    if (are_marked(first, second) && are_typical(first) && are_typical(second)
            ? !noise_of_iterations(diff, status)
            : !noise_find(diff, status))
        return false;
    clear_rows(diff);
    return build_all(diff, reports, true, status);
}

bool diff_build(struct diff *diff, const struct report *before, const struct report *after,
                struct status *status) {
    const struct report *const reports[SIDES] = {before, after};
    *diff = (struct diff){0};
    for (unsigned at = BEFORE; at < SIDES; at++)
        if (!trace_load(reports[at]->model.trace, TABLE_RANGE, "detail", status))
            return false;
    bool ok = choose_units(diff, reports, status);
    if (ok) {
        diff->change = diff->sides[AFTER].step - diff->sides[BEFORE].step;
        for (unsigned part = 0; part < PART_COUNT; part++)
            diff->part[part] =
                diff->sides[AFTER].part_time[part] - diff->sides[BEFORE].part_time[part];
        ok = host_pace_find(diff, status) && conditions_find(diff, status) &&
             noise_find(diff, status) && line_changes_find(diff, status);
    }
    if (!ok) {
        diff_finish(diff);
        return false;
    }
    diff_explain(diff);
    return true;
}

void diff_finish(struct diff *diff) {
    clear_rows(diff);
    memory_free(diff->lines);
    *diff = (struct diff){0};
}
