/* Where did the time of each rank go, from the first collective that all ranks share to the last?
 *
 * An exposed nanosecond is transfer if some operation of the rank that covers it could proceed: all
 * members that it depends on had arrived. Otherwise the rank waits. Sums are of the rank's own
 * clock, so they are exact whatever the alignment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/ranks.h"

static const struct rank_event *event_of(const struct job *job, const struct member *member) {
    return &job->ranks[member->rank].events[member->event];
}

static int64_t arrival_of(const struct job *job, const struct member *member) {
    return clock_aligned(job, &job->ranks[member->rank], event_of(job, member)->start);
}

static bool is_root(const struct rank_event *event) {
    return event->root >= 0 && event->root == event->group_rank;
}

bool collective_depends(const struct job *job, const struct collective *collective,
                        const struct rank_event *own, const struct rank_event *other) {
    switch (collective->dependence) {
    case DEPENDS_ALL:
        return true;
    case DEPENDS_ROOT:
        return is_root(other);
    case DEPENDS_GATHER:
        return is_root(own);
    case DEPENDS_SENDER:
        return text_is(job_text(job, own->operation), "recv");
    default:
        return false;
    }
}

int64_t collective_release(const struct job *job, const struct collective *collective,
                           const struct member *member) {
    const struct rank_event *own = event_of(job, member);
    int64_t release = arrival_of(job, member);
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *other = &job->members[collective->first + i];
        if (collective_depends(job, collective, own, event_of(job, other)) &&
            clock_is_aligned(job, &job->ranks[other->rank]))
            release = MAX(release, arrival_of(job, other));
    }
    return release;
}

double collective_link_bytes(const struct job *job, const struct collective *collective) {
    struct message message = {.operation = job_text(job, collective->operation),
                              .bytes = collective->bytes,
                              .ranks =
                                  collective->expected ? collective->expected : collective->count};
    return message_link_bytes(&message);
}

/* ---- times of collectives ---- */

static void time_collective(struct job *job, struct collective *collective) {
    collective->first_arrival = INT64_MAX;
    collective->last_arrival = collective->end = INT64_MIN;
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        int64_t arrival = arrival_of(job, member);
        int64_t end = clock_aligned(job, rank, event_of(job, member)->end);
        collective->first_arrival = MIN(collective->first_arrival, arrival);
        if (arrival > collective->last_arrival) {
            collective->last_arrival = arrival;
            collective->last_rank = member->rank;
        }
        collective->end = MAX(collective->end, end);
    }
}

/* On one host times are comparable: an end before the last arrival is an error of the devices'
 * clocks. */
static void find_contradictions(struct job *job) {
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        int64_t worst = 0;
        for (size_t k = 0; k < collective->count; k++) {
            const struct member *member = &job->members[collective->first + k];
            const struct rank *rank = &job->ranks[member->rank];
            int64_t end = clock_aligned(job, rank, event_of(job, member)->end);
            worst = MAX(worst, collective_release(job, collective, member) - end);
        }
        job->contradictions += worst > 0;
        job->contradiction_max = MAX(job->contradiction_max, worst);
    }
}

struct arrival {
    int64_t time;
    size_t collective;
};

static int by_time(const void *a, const void *b) {
    const struct arrival *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->collective < y->collective ? -1 : 1;
}

static bool find_shared(struct job *job, struct status *status) {
    struct arrival *order = memory_allocate(job->collective_count + 1, sizeof *order, status);
    job->shared = memory_allocate(job->collective_count + 1, sizeof *job->shared, status);
    if (!order || !job->shared) {
        memory_free(order);
        return false;
    }
    for (size_t i = 0; i < job->collective_count; i++)
        if (job->collectives[i].count == job->rank_count &&
            job->collectives[i].dependence == DEPENDS_ALL)
            order[job->shared_count++] = (struct arrival){job->collectives[i].last_arrival, i};
    qsort(order, job->shared_count, sizeof *order, by_time);
    for (size_t i = 0; i < job->shared_count; i++)
        job->shared[i] = order[i].collective;
    memory_free(order);
    return true;
}

/* ---- windows ---- */

static const struct rank_event *event_in(const struct job *job, size_t rank, size_t collective) {
    const struct collective *shared = &job->collectives[collective];
    for (size_t i = 0; i < shared->count; i++)
        if (job->members[shared->first + i].rank == rank)
            return event_of(job, &job->members[shared->first + i]);
    return NULL;
}

/* From the end of the first shared collective on the rank to the end of the last; without two of
 * them, all that the rank recorded. */
static void find_windows(struct job *job) {
    job->window = (struct interval){INT64_MAX, INT64_MIN};
    for (size_t r = 0; r < job->rank_count; r++) {
        struct rank *rank = &job->ranks[r];
        rank->window = rank->span.start <= rank->span.end ? rank->span : (struct interval){0, 0};
        if (job->shared_count >= 2) {
            const struct rank_event *first = event_in(job, r, job->shared[0]);
            const struct rank_event *last = event_in(job, r, job->shared[job->shared_count - 1]);
            if (first && last && first->end < last->end)
                rank->window = (struct interval){first->end, last->end};
        }
        if (rank->window.start >= rank->window.end)
            continue;
        job->window.start = MIN(job->window.start, clock_aligned(job, rank, rank->window.start));
        job->window.end = MAX(job->window.end, clock_aligned(job, rank, rank->window.end));
    }
    if (job->window.start > job->window.end)
        job->window = (struct interval){0, 0};
}

/* ---- the account ---- */

/* Whether it is known since when the operation could complete. */
static bool is_release_known(const struct job *job, const struct collective *collective) {
    for (size_t i = 0; i < collective->count; i++)
        if (!clock_is_aligned(job, &job->ranks[job->members[collective->first + i].rank]))
            return false;
    return collective->dependence != DEPENDS_UNKNOWN;
}

static bool account_rank(struct job *job, struct rank *rank, uint32_t number,
                         struct status *status) {
    struct intervals moving = {0}, unmatched = {0}, silent = {0}, alone = {0}, exposed_copy = {0};
    struct rank_account *account = &rank->account;
    struct interval window = rank->window;
    bool ok = true;
    for (size_t i = 0; ok && i < rank->event_count; i++) {
        const struct rank_event *event = &rank->events[i];
        if (event->collective == NO_COLLECTIVE ||
            !is_release_known(job, &job->collectives[event->collective])) {
            ok = intervals_add(&unmatched, event->start, event->end, status);
            continue;
        }
        struct member member = {number, (uint32_t)i};
        int64_t release = collective_release(job, &job->collectives[event->collective], &member);
        ok = intervals_add(&moving, MAX(event->start, clock_local(job, rank, release)), event->end,
                           status);
    }
    intervals_sort(&moving);
    intervals_sort(&unmatched);
    ok = ok && intervals_subtract(&unmatched, &moving, &silent, status) &&
         intervals_subtract(&rank->copies, &rank->compute, &alone, status) &&
         intervals_subtract(&alone, &rank->communication, &exposed_copy, status);
    if (ok) {
        int64_t exposed = intervals_length(&rank->exposed, window);
        account->window = window.end - window.start;
        account->compute = intervals_length(&rank->compute, window);
        account->transfer = intervals_overlap(&rank->exposed, &moving, window);
        account->unmatched = intervals_overlap(&rank->exposed, &silent, window);
        account->wait = exposed - account->transfer - account->unmatched;
        account->copy = intervals_length(&exposed_copy, window);
        account->idle = account->window - account->compute - exposed - account->copy;
    }
    intervals_finish(&moving);
    intervals_finish(&unmatched);
    intervals_finish(&silent);
    intervals_finish(&alone);
    intervals_finish(&exposed_copy);
    return ok;
}

bool job_account(struct job *job, struct status *status) {
    for (size_t i = 0; i < job->collective_count; i++)
        time_collective(job, &job->collectives[i]);
    find_contradictions(job);
    if (!find_shared(job, status))
        return false;
    find_windows(job);
    for (uint32_t r = 0; r < job->rank_count; r++) {
        struct rank *rank = &job->ranks[r];
        if (!account_rank(job, rank, r, status))
            return false;
        job->account.window += rank->account.window;
        job->account.compute += rank->account.compute;
        job->account.wait += rank->account.wait;
        job->account.transfer += rank->account.transfer;
        job->account.unmatched += rank->account.unmatched;
        job->account.copy += rank->account.copy;
        job->account.idle += rank->account.idle;
    }
    return true;
}

/* ---- steps ---- */

static bool same_kind(const struct job *job, size_t a, size_t b) {
    const struct collective *x = &job->collectives[job->shared[a]];
    const struct collective *y = &job->collectives[job->shared[b]];
    return x->operation == y->operation && x->group == y->group && x->bytes == y->bytes;
}

/* The smallest period with which the shared collectives repeat in the last four fifths of the run;
 * one in twenty may differ. At least three steps. */
bool job_find_steps(struct job *job, struct status *status) {
    enum { PERIOD_MAX = 4096, STEPS_MIN = 3 };
    size_t count = job->shared_count, from = count / 5;
    (void)status;
    for (size_t period = 1; period <= PERIOD_MAX && period * STEPS_MIN <= count - from; period++) {
        size_t differ = 0, compared = count - from - period;
        for (size_t i = from; i + period < count && differ * 20 <= compared; i++)
            differ += !same_kind(job, i, i + period);
        if (differ * 20 > compared)
            continue;
        size_t first = from;
        while (first >= 1 && same_kind(job, first - 1, first - 1 + period))
            first--;
        job->steps = (struct job_steps){period, first, (count - first) / period};
        return true;
    }
    return true;
}

int64_t job_step_time(const struct job *job, int64_t of) {
    if (job->steps.count == 0 || job->shared_count < 2)
        return 0;
    return (int64_t)llround((double)of * (double)job->steps.period /
                            (double)(job->shared_count - 1));
}
