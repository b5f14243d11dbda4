/* Rows from matched entries, and the exact split of each. */
#include "compare/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compare/diff_parts.h"

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
    }
    row->count[at] = all;
    if (entry->time > *largest || row->entries[at] == 1) {
        *largest = entry->time;
        row->name[at] = entry->name;
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

static bool build_rows(struct diff *diff, const struct matching *matching, struct status *status) {
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
        split_row(row);
    }
    qsort(diff->rows, diff->row_count, sizeof *diff->rows, by_change);
    return true;
}

static bool build_sides(struct diff *diff, const struct report *const reports[SIDES],
                        struct status *status) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        size_t device = side_main_device(reports[at]);
        if (device == SIZE_MAX)
            return status_fail(status, STATUS_INPUT,
                               "%s: no device did anything in the selected part: nothing to "
                               "compare",
                               reports[at]->options.trace_name);
        if (!side_build(&diff->sides[at], reports[at], device, status))
            return false;
    }
    return true;
}

bool diff_build(struct diff *diff, const struct report *before, const struct report *after,
                struct status *status) {
    const struct report *const reports[SIDES] = {before, after};
    struct matching matching = {0};
    *diff = (struct diff){0};
    bool ok = build_sides(diff, reports, status) && match_entries(diff, &matching, status) &&
              build_rows(diff, &matching, status);
    matching_finish(&matching);
    if (ok) {
        diff->change = diff->sides[AFTER].step - diff->sides[BEFORE].step;
        for (unsigned part = 0; part < PART_COUNT; part++)
            diff->part[part] =
                diff->sides[AFTER].part_time[part] - diff->sides[BEFORE].part_time[part];
        ok = conditions_find(diff, status) && noise_find(diff, status);
    }
    if (!ok) {
        diff_finish(diff);
        return false;
    }
    diff_explain(diff);
    return true;
}

void diff_finish(struct diff *diff) {
    memory_free(diff->rows);
    for (unsigned at = BEFORE; at < SIDES; at++)
        side_finish(&diff->sides[at]);
    *diff = (struct diff){0};
}
