/* Which lines of the program launch, wait, copy or allocate more or less often than before? Line
 * numbers shift when a file is edited, so lines are matched by their source text where it is
 * recorded. */
#include <math.h>
#include <stdlib.h>

#include "analysis/lines.h"
#include "base/format.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"

#define IDLE_CHANGED 0.02 /* of the step */

/* What identifies a line on both sides: its file and its text, or its number. */
static bool add_key(const struct trace *trace, uint32_t frame, struct intern *keys, uint32_t *id,
                    struct status *status) {
    struct text source = trace_text(trace, trace->stack.source[frame]),
                file = trace_text(trace, trace->stack.file[frame]);
    size_t name = file.length;
    struct buffer key = {0};
    while (name > 0 && file.data[name - 1] != '/')
        name--;
    buffer_append(&key, file.data + name, file.length - name);
    if (source.length)
        buffer_printf(&key, "\n%.*s", TEXT_ARGS(source));
    else
        buffer_printf(&key, ":%u", trace->stack.line[frame]);
    bool ok = buffer_ok(&key, status) && intern_add(keys, buffer_as_text(&key), id, status);
    buffer_finish(&key);
    return ok;
}

static bool has_other_idle(const struct diff_line *line, int64_t step) {
    return (double)llabs(line->idle[AFTER] - line->idle[BEFORE]) > IDLE_CHANGED * (double)step;
}

/* The count that differs most, in calls or activities of a unit; bytes do not compare with them. */
static double largest_change(const struct diff_line *line) {
    double largest = 0;
    for (unsigned i = 0; i < SIDE_COUNTS; i++)
        largest = fmax(largest, fabs(line->counts[AFTER][i] - line->counts[BEFORE][i]));
    return largest;
}

/* Counts that differ, or idle time that is a part of the step. */
static bool is_changed(const struct diff *diff, const struct diff_line *line) {
    int64_t step = MAX(diff->sides[BEFORE].step, diff->sides[AFTER].step);
    return largest_change(line) >= LINE_CHANGED || has_other_idle(line, step);
}

static int by_change(const void *a, const void *b) {
    const struct diff_line *x = a, *y = b;
    double mine = largest_change(x), other = largest_change(y);
    if (mine != other)
        return mine > other ? -1 : 1;
    int64_t idle = llabs(x->idle[AFTER] - x->idle[BEFORE]),
            other_idle = llabs(y->idle[AFTER] - y->idle[BEFORE]);
    if (idle != other_idle)
        return idle > other_idle ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool add_side(struct diff *diff, unsigned at, struct intern *keys, size_t *capacity,
                     struct status *status) {
    const struct side *side = &diff->sides[at];
    const struct trace *trace = side->report->model.trace;
    for (size_t i = 0; i < side->line_count; i++) {
        const struct side_line *line = &side->lines[i];
        uint32_t key;
        if (!add_key(trace, line->frame, keys, &key, status) ||
            !GROW(diff->lines, capacity, key, status)) /* id 0 is the empty text */
            return false;
        while (diff->line_count < key)
            diff->lines[diff->line_count++] = (struct diff_line){.key = (uint32_t)diff->line_count};
        struct diff_line *to = &diff->lines[key - 1];
        to->frame[at] = to->frame[at] ? to->frame[at] : line->frame;
        to->idle[at] += line->idle;
        for (unsigned count = 0; count < SIDE_COUNTS; count++)
            to->counts[at][count] += line->counts[count];
    }
    return true;
}

bool line_changes_find(struct diff *diff, struct status *status) {
    struct intern keys = {0};
    size_t capacity = 0;
    if (diff->sides[BEFORE].line_count == 0 || diff->sides[AFTER].line_count == 0)
        return true; /* a side without lines has not lost them */
    bool ok = add_side(diff, BEFORE, &keys, &capacity, status) &&
              add_side(diff, AFTER, &keys, &capacity, status);
    if (ok && diff->line_count)
        qsort(diff->lines, diff->line_count, sizeof *diff->lines, by_change);
    size_t kept = 0;
    for (size_t i = 0; ok && i < diff->line_count; i++)
        if (is_changed(diff, &diff->lines[i]))
            diff->lines[kept++] = diff->lines[i];
    diff->line_count = kept;
    intern_finish(&keys);
    return ok;
}

void diff_line_words(const struct diff *diff, const struct diff_line *line, struct buffer *words) {
    unsigned at = line->frame[AFTER] ? AFTER : BEFORE;
    const struct trace *trace = diff->sides[at].report->model.trace;
    struct text source = trace_text(trace, trace->stack.source[line->frame[at]]);
    const char *between = ": ";
    lines_format(trace, line->frame[at], words);
    if (source.length)
        buffer_printf(words, " %.*s", TEXT_ARGS(source));
    for (unsigned i = 0; i < SIDE_COUNTS; i++) {
        double before = line->counts[BEFORE][i], after = line->counts[AFTER][i];
        if (fabs(after - before) < LINE_CHANGED)
            continue;
        buffer_printf(words, "%s%s %.3g -> %.3g", between, side_count_title(i), before, after);
        between = ", ";
    }
    if (has_other_idle(line, MAX(diff->sides[BEFORE].step, diff->sides[AFTER].step))) {
        char time[2][FORMAT_SIZE];
        buffer_printf(words, "%sidle before its work %s -> %s", between,
                      format_duration(line->idle[BEFORE], time[0]),
                      format_duration(line->idle[AFTER], time[1]));
    }
}
