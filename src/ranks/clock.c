/* What offset and drift has the clock of each host?
 *
 * No collective ends before its last member has arrived, and no message is received before it is
 * sent. Each operation between two clocks therefore bounds the offset of one against the other at
 * that time, from below or from above:
 *
 *   end on the reference >= start on the other clock - offset
 *   end on the other clock - offset >= start on the reference
 *
 * The offset is a line over time: offset + drift * time. A line that violates no bound is possible.
 * For a given drift the possible offsets lie between the highest lower bound, which is convex in
 * the drift, and the lowest upper bound, which is concave; so the widest place and the extremes at
 * a given time are found by searches over the drift.
 *
 * Collectives that depend on all ranks end nearly at the same time everywhere. Of the possible
 * lines the one closest to that is chosen. Its error bound is the distance to the farthest possible
 * line, at the start or the end of the run: it holds whenever the true clock runs straight.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/ranks.h"

/* Clocks of computers run at most this far from the true rate, adjustments included. */
#define DRIFT_MAX 1e-3
enum { SEARCH_STEPS = 200 };

struct bound {
    double time, offset; /* time of the other clock, from its origin */
};

struct bounds {
    struct bound *lower, *upper;
    size_t lower_count, upper_count, lower_capacity, upper_capacity;
    struct bound *ends; /* the offset at which an operation ends on both clocks at once */
    size_t end_count, end_capacity;
    int64_t origin;
    double first, last; /* of the run, from the origin */
    double slack;       /* error of the aligned times that the bounds come from */
};

/* ---- mapping ---- */

int64_t clock_aligned(const struct job *job, const struct rank *rank, int64_t time) {
    const struct job_clock *clock = &job->clocks[rank->clock];
    if (clock->state != CLOCK_SOLVED)
        return time;
    return time - (int64_t)llround(clock->offset + clock->drift * (double)(time - clock->origin));
}

int64_t clock_local(const struct job *job, const struct rank *rank, int64_t aligned) {
    const struct job_clock *clock = &job->clocks[rank->clock];
    if (clock->state != CLOCK_SOLVED)
        return aligned;
    double since = (double)(aligned - clock->origin);
    return clock->origin + (int64_t)llround((since + clock->offset) / (1 - clock->drift));
}

bool clock_is_aligned(const struct job *job, const struct rank *rank) {
    return job->clocks[rank->clock].state != CLOCK_UNSOLVED;
}

/* ---- bounds ---- */

/* The extremes of an operation on the two clocks. Members of a collective that depends on all
 * bound each other; other operations bound in one direction. */
struct extremes {
    bool known;
    int64_t earliest_end, latest_start; /* over members that wait, and over those awaited */
    bool waits, is_awaited;
};

static bool member_waits(const struct job *job, const struct collective *collective,
                         const struct rank_event *event) {
    switch (collective->dependence) {
    case DEPENDS_ALL:
    case DEPENDS_ROOT:
        return true;
    case DEPENDS_GATHER:
        return event->root >= 0 && event->root == event->group_rank;
    case DEPENDS_SENDER:
        return text_is(job_text(job, event->operation), "recv");
    default:
        return false;
    }
}

static bool member_is_awaited(const struct job *job, const struct collective *collective,
                              const struct rank_event *event) {
    switch (collective->dependence) {
    case DEPENDS_ALL:
    case DEPENDS_GATHER:
        return true;
    case DEPENDS_ROOT:
        return event->root >= 0 && event->root == event->group_rank;
    case DEPENDS_SENDER:
        return text_is(job_text(job, event->operation), "send");
    default:
        return false;
    }
}

static struct extremes extremes_of(const struct job *job, const struct collective *collective,
                                   size_t clock, bool aligned) {
    struct extremes found = {.earliest_end = INT64_MAX, .latest_start = INT64_MIN};
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        const struct rank_event *event = &rank->events[member->event];
        if (rank->clock != clock && !(aligned && clock_is_aligned(job, rank) &&
                                      job->clocks[rank->clock].state != CLOCK_CONSISTENT))
            continue;
        int64_t start = aligned ? clock_aligned(job, rank, event->start) : event->start;
        int64_t end = aligned ? clock_aligned(job, rank, event->end) : event->end;
        if (member_waits(job, collective, event)) {
            found.waits = true;
            found.earliest_end = MIN(found.earliest_end, end);
        }
        if (member_is_awaited(job, collective, event)) {
            found.is_awaited = true;
            found.latest_start = MAX(found.latest_start, start);
        }
    }
    found.known = found.waits || found.is_awaited;
    return found;
}

/* Times on the other clock are counted from its origin, so that doubles hold nanoseconds. */
static bool add_bounds(const struct job *job, struct bounds *bounds, size_t reference, size_t other,
                       struct status *status) {
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        struct extremes there = extremes_of(job, collective, reference, true);
        struct extremes here = extremes_of(job, collective, other, false);
        if (!there.known || !here.known)
            continue;
        if (collective->dependence == DEPENDS_ALL) {
            if (!GROW(bounds->ends, &bounds->end_capacity, bounds->end_count + 1, status))
                return false;
            bounds->ends[bounds->end_count++] =
                (struct bound){(double)(here.earliest_end - bounds->origin),
                               (double)(here.earliest_end - there.earliest_end)};
        }
        if (there.waits && here.is_awaited) {
            if (!GROW(bounds->lower, &bounds->lower_capacity, bounds->lower_count + 1, status))
                return false;
            bounds->lower[bounds->lower_count++] =
                (struct bound){(double)(here.latest_start - bounds->origin),
                               (double)(here.latest_start - there.earliest_end) - bounds->slack};
        }
        if (here.waits && there.is_awaited) {
            if (!GROW(bounds->upper, &bounds->upper_capacity, bounds->upper_count + 1, status))
                return false;
            bounds->upper[bounds->upper_count++] =
                (struct bound){(double)(here.earliest_end - bounds->origin),
                               (double)(here.earliest_end - there.latest_start) + bounds->slack};
        }
    }
    return true;
}

/* ---- the search ---- */

/* The highest lower bound at this drift: of the offset at the origin. */
static double lowest_offset(const struct bounds *bounds, double drift) {
    double highest = -DBL_MAX;
    for (size_t i = 0; i < bounds->lower_count; i++)
        highest = fmax(highest, bounds->lower[i].offset - drift * bounds->lower[i].time);
    return highest;
}

static double highest_offset(const struct bounds *bounds, double drift) {
    double lowest = DBL_MAX;
    for (size_t i = 0; i < bounds->upper_count; i++)
        lowest = fmin(lowest, bounds->upper[i].offset - drift * bounds->upper[i].time);
    return lowest;
}

static double room(const struct bounds *bounds, double drift) {
    return highest_offset(bounds, drift) - lowest_offset(bounds, drift);
}

/* The drift at which the room is widest. The room is concave in the drift. */
static double widest(const struct bounds *bounds) {
    double low = -DRIFT_MAX, high = DRIFT_MAX;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (room(bounds, a) < room(bounds, b))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* The farthest drift from `inside` towards `limit` with room. */
static double edge(const struct bounds *bounds, double inside, double limit) {
    if (room(bounds, limit) >= 0)
        return limit;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double middle = (inside + limit) / 2;
        if (room(bounds, middle) >= 0)
            inside = middle;
        else
            limit = middle;
    }
    return limit;
}

/* The largest value at `time` of all possible lines: concave in the drift. */
static double highest_at(const struct bounds *bounds, double low, double high, double time) {
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (highest_offset(bounds, a) + a * time < highest_offset(bounds, b) + b * time)
            low = a;
        else
            high = b;
    }
    double drift = (low + high) / 2;
    return highest_offset(bounds, drift) + drift * time;
}

static double lowest_at(const struct bounds *bounds, double low, double high, double time) {
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (lowest_offset(bounds, a) + a * time > lowest_offset(bounds, b) + b * time)
            low = a;
        else
            high = b;
    }
    double drift = (low + high) / 2;
    return lowest_offset(bounds, drift) + drift * time;
}

/* The distance of the clock's line to the farthest possible one: it is convex over time, so the
 * larger of those at both ends. Two nanoseconds are for rounding. */
static double error_of(const struct bounds *bounds, const struct job_clock *clock, double from,
                       double until) {
    double worst = 0, times[2] = {bounds->first, bounds->last};
    for (int i = 0; i < 2; i++) {
        double value = clock->offset + clock->drift * times[i];
        worst = fmax(worst, highest_at(bounds, from, until, times[i]) - value);
        worst = fmax(worst, value - lowest_at(bounds, from, until, times[i]));
    }
    return worst + 2;
}

/* Only the bounds on their hulls can bind; the others are dropped, so that each evaluation is
 * fast. `sign` 1 keeps the highest points, -1 the lowest. */
static int by_time(const void *a, const void *b) {
    const struct bound *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static size_t keep_hull(struct bound *points, size_t count, double sign) {
    size_t kept = 0;
    qsort(points, count, sizeof *points, by_time);
    for (size_t i = 0; i < count; i++) {
        while (kept >= 2) {
            const struct bound *a = &points[kept - 2], *b = &points[kept - 1], *c = &points[i];
            double turn = (b->time - a->time) * (c->offset - a->offset) -
                          (b->offset - a->offset) * (c->time - a->time);
            if (sign * turn < 0)
                break;
            kept--;
        }
        points[kept++] = points[i];
    }
    return kept;
}

static int by_offset(const void *a, const void *b) {
    const struct bound *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The medians of a third of the points. */
static struct bound median_of(struct bound *points, size_t count) {
    qsort(points, count, sizeof *points, by_time);
    double time = points[count / 2].time;
    qsort(points, count, sizeof *points, by_offset);
    return (struct bound){time, points[count / 2].offset};
}

/* The possible line that is closest to simultaneous ends: through the medians of the first and the
 * last third of them. */
static void choose_line(struct bounds *bounds, double from, double until, struct job_clock *clock) {
    size_t third = bounds->end_count / 3;
    clock->offset =
        (lowest_offset(bounds, clock->drift) + highest_offset(bounds, clock->drift)) / 2;
    if (third == 0)
        return;
    qsort(bounds->ends, bounds->end_count, sizeof *bounds->ends, by_time);
    struct bound first = median_of(bounds->ends, third);
    struct bound last = median_of(bounds->ends + bounds->end_count - third, third);
    double drift =
        last.time > first.time ? (last.offset - first.offset) / (last.time - first.time) : 0;
    clock->drift = fmin(fmax(drift, from), until);
    double middle = (first.offset + last.offset) / 2 - clock->drift * (first.time + last.time) / 2;
    clock->offset = fmin(fmax(middle, lowest_offset(bounds, clock->drift)),
                         highest_offset(bounds, clock->drift));
}

static void solve(struct bounds *bounds, struct job_clock *clock, bool host_known) {
    clock->constraints = bounds->lower_count + bounds->upper_count;
    if (bounds->lower_count == 0 || bounds->upper_count == 0)
        return; /* the offset is not bounded on both sides */
    bounds->lower_count = keep_hull(bounds->lower, bounds->lower_count, 1);
    bounds->upper_count = keep_hull(bounds->upper, bounds->upper_count, -1);
    double best = widest(bounds);
    if (room(bounds, best) < 0) {
        clock->contradicts = true;
        return;
    }
    double from = edge(bounds, best, -DRIFT_MAX), until = edge(bounds, best, DRIFT_MAX);
    clock->state = CLOCK_SOLVED;
    clock->origin = bounds->origin;
    clock->drift = best;
    choose_line(bounds, from, until, clock);
    if (!host_known && room(bounds, 0) >= 0 && lowest_offset(bounds, 0) <= 0 &&
        highest_offset(bounds, 0) >= 0) {
        clock->state = CLOCK_CONSISTENT;
        clock->drift = clock->offset = 0;
    }
    clock->error = error_of(bounds, clock, from, until);
}

/* ---- all clocks ---- */

static bool list_clocks(struct job *job, struct status *status) {
    job->clocks = memory_allocate(job->rank_count + 1, sizeof *job->clocks, status);
    if (!job->clocks)
        return false;
    for (size_t r = 0; r < job->rank_count; r++) {
        struct rank *rank = &job->ranks[r];
        size_t at = job->clock_count;
        for (size_t i = 0; rank->host && i < job->clock_count; i++)
            if (job->clocks[i].host == rank->host)
                at = i;
        if (at == job->clock_count)
            job->clocks[job->clock_count++] = (struct job_clock){
                .host = rank->host, .reference = r, .state = CLOCK_UNSOLVED, .error = 0};
        rank->clock = at;
    }
    return true;
}

static struct interval clock_span(const struct job *job, size_t clock) {
    struct interval span = {INT64_MAX, INT64_MIN};
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].clock == clock && job->ranks[r].span.start <= job->ranks[r].span.end) {
            span.start = MIN(span.start, job->ranks[r].span.start);
            span.end = MAX(span.end, job->ranks[r].span.end);
        }
    return span;
}

/* Against all clocks that are aligned already, with an error of at most `slack`. */
static bool solve_clock(struct job *job, size_t clock, double slack, struct status *status) {
    struct interval span = clock_span(job, clock);
    struct bounds bounds = {.origin = span.start, .slack = slack};
    if (span.start > span.end)
        return true;
    bounds.last = (double)(span.end - span.start);
    bool ok = add_bounds(job, &bounds, 0, clock, status);
    if (ok)
        solve(&bounds, &job->clocks[clock], job->clocks[clock].host != 0);
    memory_free(bounds.lower);
    memory_free(bounds.upper);
    memory_free(bounds.ends);
    return ok;
}

/* Bounds against clocks that were solved earlier are only as good as those. */
static double error_of_solved(const struct job *job, size_t clock) {
    double worst = 0;
    for (size_t i = 0; i < job->clock_count; i++)
        if (i != clock && job->clocks[i].state == CLOCK_SOLVED)
            worst = fmax(worst, job->clocks[i].error);
    return worst;
}

static bool touches(const struct job *job, const struct collective *collective, size_t clock) {
    for (size_t i = 0; i < collective->count; i++)
        if (job->ranks[job->members[collective->first + i].rank].clock == clock)
            return true;
    return false;
}

/* Whether the clock shares operations with the reference itself. */
static bool meets_reference(const struct job *job, size_t clock) {
    for (size_t i = 0; i < job->collective_count; i++)
        if (touches(job, &job->collectives[i], 0) && touches(job, &job->collectives[i], clock))
            return true;
    return false;
}

/* Clocks that meet the reference are solved against it alone, so that no error adds up. The others
 * are then solved against those. */
bool job_align(struct job *job, struct status *status) {
    if (job->rank_count == 0 || !list_clocks(job, status))
        return job->rank_count == 0;
    job->clocks[0].state = CLOCK_REFERENCE;
    bool *direct = memory_allocate(job->clock_count, sizeof *direct, status);
    bool ok = direct != NULL;
    struct job_clock *solved =
        ok ? memory_allocate(job->clock_count, sizeof *solved, status) : NULL;
    ok = solved != NULL;
    for (size_t c = 1; ok && c < job->clock_count; c++) {
        direct[c] = meets_reference(job, c);
        ok = !direct[c] || solve_clock(job, c, 0, status);
        solved[c] = job->clocks[c];
        job->clocks[c].state = CLOCK_UNSOLVED; /* until all of these are solved */
    }
    for (size_t c = 1; ok && c < job->clock_count; c++)
        if (direct[c])
            job->clocks[c] = solved[c];
    for (size_t c = 1; ok && c < job->clock_count; c++)
        if (!direct[c])
            ok = solve_clock(job, c, error_of_solved(job, c), status);
    memory_free(direct);
    memory_free(solved);
    return ok;
}
