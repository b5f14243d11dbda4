/* Which entries of the two sides are the same thing?
 *
 * Equal names are. Of the kernels that only one side has, those that are launched by the same
 * operator replace each other; then those that stand between the same kernels in the median step: a
 * longest common subsequence of the launches divides the step, and what each division has on
 * either side is one change. All rules treat the sides alike, so that swapping them changes
 * nothing. */
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"

enum { CELLS_MAX = 1 << 26 }; /* of the table of the subsequence, a byte each */

struct matcher {
    const struct diff *diff;
    struct matching *matching;
    struct intern keys;
    uint32_t *parent; /* by group: union-find */
    bool *settled;    /* by group: both sides have it, or an earlier rule has linked it */
    bool *linked;     /* by group: replaced by, or replaces, another */
};

static uint32_t root_of(const struct matcher *matcher, uint32_t group) {
    while (matcher->parent[group] != group)
        group = matcher->parent[group];
    return group;
}

static struct text key_of(const struct matcher *matcher, uint32_t group) {
    return intern_text(&matcher->keys, group + 1);
}

/* The root is the one whose name is first: numbers depend on which side is which. */
static void join(struct matcher *matcher, uint32_t a, uint32_t b, struct text place) {
    struct text *places = matcher->matching->place;
    matcher->linked[a] = matcher->linked[b] = true;
    a = root_of(matcher, a);
    b = root_of(matcher, b);
    if (a == b)
        return;
    bool first = text_compare(key_of(matcher, a), key_of(matcher, b)) < 0;
    uint32_t root = first ? a : b, other = first ? b : a;
    matcher->parent[other] = root;
    if (place.length)
        places[root] = place;
    else if (places[root].length == 0)
        places[root] = places[other];
}

/* ---- equal names ---- */

static bool group_by_name(struct matcher *matcher, struct status *status) {
    struct matching *matching = matcher->matching;
    struct buffer key = {0};
    bool ok = true;
    for (unsigned at = BEFORE; at < SIDES && ok; at++) {
        const struct side *side = &matcher->diff->sides[at];
        matching->group[at] =
            memory_allocate(side->entry_count, sizeof *matching->group[at], status);
        ok = matching->group[at] != NULL;
        for (size_t i = 0; i < side->entry_count && ok; i++) {
            uint32_t id;
            buffer_clear(&key);
            buffer_byte(&key, (char)('A' + side->entries[i].part));
            buffer_text(&key, side->entries[i].name);
            ok = buffer_ok(&key, status) &&
                 intern_add(&matcher->keys, buffer_as_text(&key), &id, status);
            matching->group[at][i] = ok ? id - 1 : 0; /* 0 is the empty text */
        }
    }
    matching->groups = matcher->keys.count ? (uint32_t)matcher->keys.count - 1 : 0;
    buffer_finish(&key);
    return ok;
}

static bool prepare(struct matcher *matcher, struct status *status) {
    struct matching *matching = matcher->matching;
    size_t groups = matching->groups;
    matcher->parent = memory_allocate(groups, sizeof *matcher->parent, status);
    matcher->settled = memory_allocate(groups, sizeof *matcher->settled, status);
    uint8_t *sides = memory_allocate(groups, sizeof *sides, status);
    matcher->linked = memory_allocate(groups, sizeof *matcher->linked, status);
    matching->place = memory_allocate(groups, sizeof *matching->place, status);
    bool ok = matcher->parent && matcher->settled && sides && matcher->linked && matching->place;
    for (unsigned at = BEFORE; ok && at < SIDES; at++)
        for (size_t i = 0; i < matcher->diff->sides[at].entry_count; i++)
            sides[matching->group[at][i]] |= (uint8_t)(1u << at);
    for (uint32_t i = 0; ok && i < groups; i++) {
        matcher->parent[i] = i;
        matcher->settled[i] = sides[i] == 3;
    }
    memory_free(sides);
    return ok;
}

/* What a rule links in one pass must not depend on the order of its links. */
static void settle(struct matcher *matcher) {
    for (uint32_t i = 0; i < matcher->matching->groups; i++)
        matcher->settled[i] |= matcher->linked[i];
}

/* ---- the launching operator ---- */

static bool is_alone(const struct matcher *matcher, unsigned part, unsigned at, size_t entry) {
    return matcher->diff->sides[at].entries[entry].part == part &&
           !matcher->settled[matcher->matching->group[at][entry]];
}

/* The innermost operator or range around the first launch of the entry. */
static struct text launched_by(const struct side *side, const struct entry *entry,
                               bool *is_operator) {
    const struct trace *trace = side->report->model.trace;
    uint32_t range = side_launching_range(side, entry);
    *is_operator = false;
    if (range == NO_ROW)
        return TEXT("");
    *is_operator = trace->range.category[range] == RANGE_OP;
    return trace_text(trace, trace->range.name[range]);
}

static void link_by_place(struct matcher *matcher, bool operators) {
    const struct side *sides = matcher->diff->sides;
    for (size_t i = 0; i < sides[BEFORE].entry_count; i++) {
        bool is_operator, other_is;
        if (!is_alone(matcher, PART_BUSY, BEFORE, i))
            continue;
        struct text place = launched_by(&sides[BEFORE], &sides[BEFORE].entries[i], &is_operator);
        if (place.length == 0 || is_operator != operators)
            continue;
        for (size_t k = 0; k < sides[AFTER].entry_count; k++)
            if (is_alone(matcher, PART_BUSY, AFTER, k) &&
                text_equal(place,
                           launched_by(&sides[AFTER], &sides[AFTER].entries[k], &other_is)) &&
                other_is == operators)
                join(matcher, matcher->matching->group[BEFORE][i],
                     matcher->matching->group[AFTER][k], place);
    }
    settle(matcher);
}

/* ---- copies ---- */

static struct text direction_of(struct text name) {
    ptrdiff_t comma = text_find(name, ",");
    return comma < 0 ? name : (struct text){name.data, (size_t)comma};
}

/* Copies of one direction replace each other when the kind of host memory changes. */
static void link_copies(struct matcher *matcher) {
    const struct side *sides = matcher->diff->sides;
    for (size_t i = 0; i < sides[BEFORE].entry_count; i++)
        for (size_t k = 0; k < sides[AFTER].entry_count; k++)
            if (is_alone(matcher, PART_COPY, BEFORE, i) && is_alone(matcher, PART_COPY, AFTER, k) &&
                text_equal(direction_of(sides[BEFORE].entries[i].name),
                           direction_of(sides[AFTER].entries[k].name)))
                join(matcher, matcher->matching->group[BEFORE][i],
                     matcher->matching->group[AFTER][k], TEXT(""));
    settle(matcher);
}

/* ---- the place in the step ---- */

struct sequence {
    uint32_t *groups;
    size_t count, capacity;
};

static size_t median_unit(const struct side *side) {
    for (size_t i = 0; i < side->unit_count; i++)
        if (side->lengths[i] == side->step)
            return i;
    return 0;
}

static bool list_launches(const struct matcher *matcher, unsigned at, struct sequence *sequence,
                          struct status *status) {
    const struct side *side = &matcher->diff->sides[at];
    const struct model *model = &side->report->model;
    const struct window *unit = &side->units[median_unit(side)];
    size_t end = model->device_first[side->device->id + 1];
    for (size_t i = model->device_first[side->device->id]; i < end; i++) {
        int64_t start = model->trace->activity.start[i];
        if (start >= unit->end)
            break;
        if (start < unit->start || model->trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        uint32_t entry = side->entry_of_name[model->trace->activity.name[i]];
        if (entry == NO_ENTRY || side->entries[entry].part != PART_BUSY)
            continue; /* a collective replaces no kernel that computes */
        if (!GROW(sequence->groups, &sequence->capacity, sequence->count + 1, status))
            return false;
        sequence->groups[sequence->count++] = matcher->matching->group[at][entry];
    }
    return true;
}

/* Joins the groups that only one side has within a division: first..end of each sequence. */
static void link_division(struct matcher *matcher, const struct sequence *a, size_t a_first,
                          size_t a_end, const struct sequence *b, size_t b_first, size_t b_end) {
    uint32_t in_a = UINT32_MAX, in_b = UINT32_MAX;
    for (size_t i = a_first; i < a_end && in_a == UINT32_MAX; i++)
        if (!matcher->settled[a->groups[i]])
            in_a = a->groups[i];
    for (size_t i = b_first; i < b_end && in_b == UINT32_MAX; i++)
        if (!matcher->settled[b->groups[i]])
            in_b = b->groups[i];
    if (in_a == UINT32_MAX || in_b == UINT32_MAX)
        return;
    for (size_t i = a_first; i < a_end; i++)
        if (!matcher->settled[a->groups[i]])
            join(matcher, in_b, a->groups[i], TEXT(""));
    for (size_t i = b_first; i < b_end; i++)
        if (!matcher->settled[b->groups[i]])
            join(matcher, in_a, b->groups[i], TEXT(""));
}

enum { STEP_BOTH, STEP_A, STEP_B };

/* Length of the longest common subsequence of the rests, row by row from the end; `moves` has which
 * way each cell goes. */
static bool fill_moves(const struct sequence *a, const struct sequence *b, uint8_t *moves,
                       struct status *status) {
    size_t width = b->count + 1;
    uint32_t *lengths = memory_allocate(2 * width, sizeof *lengths, status);
    if (!lengths)
        return false;
    for (size_t i = a->count; i-- > 0;) {
        uint32_t *row = &lengths[(i & 1) * width], *below = &lengths[(~i & 1) * width];
        row[b->count] = 0;
        for (size_t k = b->count; k-- > 0;) {
            bool same = a->groups[i] == b->groups[k];
            bool skip_a = below[k] >= row[k + 1];
            row[k] = same ? below[k + 1] + 1 : MAX(below[k], row[k + 1]);
            moves[i * b->count + k] = same ? STEP_BOTH : skip_a ? STEP_A : STEP_B;
        }
    }
    memory_free(lengths);
    return true;
}

static bool divide(struct matcher *matcher, const struct sequence *a, const struct sequence *b,
                   struct status *status) {
    uint8_t *moves = memory_allocate(a->count * b->count + 1, 1, status);
    bool ok = moves && fill_moves(a, b, moves, status);
    size_t i = 0, k = 0, a_first = 0, b_first = 0;
    while (ok && i < a->count && k < b->count) {
        uint8_t move = moves[i * b->count + k];
        if (move == STEP_BOTH) {
            link_division(matcher, a, a_first, i, b, b_first, k);
            a_first = ++i;
            b_first = ++k;
        } else if (move == STEP_A) {
            i++;
        } else {
            k++;
        }
    }
    if (ok)
        link_division(matcher, a, a_first, a->count, b, b_first, b->count);
    memory_free(moves);
    return ok;
}

/* The group that both steps launch, least often of all; or UINT32_MAX. */
static bool rarest_common(const struct matcher *matcher, const struct sequence launches[SIDES],
                          uint32_t *rarest, struct status *status) {
    uint32_t *counts = memory_allocate(matcher->matching->groups, 2 * sizeof *counts, status);
    uint32_t fewest = UINT32_MAX;
    if (!counts)
        return false;
    *rarest = UINT32_MAX;
    for (unsigned at = BEFORE; at < SIDES; at++)
        for (size_t i = 0; i < launches[at].count; i++)
            counts[2 * launches[at].groups[i] + at]++;
    for (uint32_t group = 0; group < matcher->matching->groups; group++) {
        const uint32_t *of = &counts[2 * group];
        bool earlier = *rarest == UINT32_MAX ||
                       text_compare(key_of(matcher, group), key_of(matcher, *rarest)) < 0;
        if (of[0] && of[1] && (of[0] + of[1] < fewest || (of[0] + of[1] == fewest && earlier))) {
            fewest = of[0] + of[1];
            *rarest = group;
        }
    }
    memory_free(counts);
    return true;
}

static void rotate_to(struct sequence *sequence, uint32_t group, uint32_t *scratch) {
    size_t first = 0;
    while (sequence->groups[first] != group)
        first++;
    memcpy(scratch, sequence->groups, first * sizeof *scratch);
    memmove(sequence->groups, sequence->groups + first,
            (sequence->count - first) * sizeof *scratch);
    memcpy(sequence->groups + sequence->count - first, scratch, first * sizeof *scratch);
}

/* Steps are a cycle, and where one begins is a choice: both begin with the same kernel. */
static bool align_starts(const struct matcher *matcher, struct sequence launches[SIDES],
                         struct status *status) {
    uint32_t rarest, *scratch;
    if (!rarest_common(matcher, launches, &rarest, status))
        return false;
    if (rarest == UINT32_MAX)
        return true;
    scratch = memory_allocate(MAX(launches[BEFORE].count, launches[AFTER].count), sizeof *scratch,
                              status);
    for (unsigned at = BEFORE; scratch && at < SIDES; at++)
        rotate_to(&launches[at], rarest, scratch);
    memory_free(scratch);
    return scratch != NULL;
}

/* Sequences in an order that does not depend on which side is which. */
static bool goes_first(const struct matcher *matcher, const struct sequence *a,
                       const struct sequence *b) {
    if (a->count != b->count)
        return a->count < b->count;
    for (size_t i = 0; i < a->count; i++)
        if (a->groups[i] != b->groups[i])
            return text_compare(key_of(matcher, a->groups[i]), key_of(matcher, b->groups[i])) < 0;
    return true;
}

static bool has_alone(const struct matcher *matcher, unsigned at) {
    for (size_t i = 0; i < matcher->diff->sides[at].entry_count; i++)
        if (is_alone(matcher, PART_BUSY, at, i))
            return true;
    return false;
}

static bool link_by_sequence(struct matcher *matcher, struct status *status) {
    struct sequence launches[SIDES] = {{0}};
    if (!has_alone(matcher, BEFORE) || !has_alone(matcher, AFTER))
        return true;
    bool ok = list_launches(matcher, BEFORE, &launches[BEFORE], status) &&
              list_launches(matcher, AFTER, &launches[AFTER], status);
    /* what an operator has matched is an anchor as well */
    for (unsigned at = BEFORE; ok && at < SIDES; at++)
        for (size_t i = 0; i < launches[at].count; i++)
            launches[at].groups[i] = root_of(matcher, launches[at].groups[i]);
    if (ok && matcher->diff->sides[BEFORE].unit_count > 1 &&
        matcher->diff->sides[AFTER].unit_count > 1)
        ok = align_starts(matcher, launches, status);
    if (ok && launches[BEFORE].count && launches[AFTER].count &&
        launches[BEFORE].count < CELLS_MAX / launches[AFTER].count) {
        bool swapped = !goes_first(matcher, &launches[BEFORE], &launches[AFTER]);
        ok = divide(matcher, &launches[swapped ? AFTER : BEFORE],
                    &launches[swapped ? BEFORE : AFTER], status);
    }
    settle(matcher);
    memory_free(launches[BEFORE].groups);
    memory_free(launches[AFTER].groups);
    return ok;
}

/* ---- rows ---- */

/* Numbers the groups that are left from 0. */
static bool renumber(struct matcher *matcher, struct status *status) {
    struct matching *matching = matcher->matching;
    uint32_t *number = memory_allocate(matching->groups, sizeof *number, status), count = 0;
    if (!number)
        return false;
    for (uint32_t i = 0; i < matching->groups; i++)
        if (matcher->parent[i] == i) {
            matching->place[count] = matching->place[i];
            number[i] = count++;
        }
    for (unsigned at = BEFORE; at < SIDES; at++)
        for (size_t i = 0; i < matcher->diff->sides[at].entry_count; i++)
            matching->group[at][i] = number[root_of(matcher, matching->group[at][i])];
    matching->groups = count;
    memory_free(number);
    return true;
}

bool match_entries(const struct diff *diff, struct matching *matching, struct status *status) {
    struct matcher matcher = {.diff = diff, .matching = matching};
    bool ok = group_by_name(&matcher, status) && prepare(&matcher, status);
    if (ok) {
        link_copies(&matcher);
        link_by_place(&matcher, true);
    }
    ok = ok && link_by_sequence(&matcher, status);
    if (ok)
        link_by_place(&matcher, false);
    ok = ok && renumber(&matcher, status);
    intern_finish(&matcher.keys);
    memory_free(matcher.parent);
    memory_free(matcher.settled);
    memory_free(matcher.linked);
    return ok;
}

void matching_finish(struct matching *matching) {
    for (unsigned at = BEFORE; at < SIDES; at++)
        memory_free(matching->group[at]);
    memory_free(matching->place);
    *matching = (struct matching){0};
}
