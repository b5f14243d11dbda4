/* Which rank do the others wait for, and what would the job gain without it? */
#include <stdlib.h>

#include "base/min_max.h"
#include "ranks/replay.h"

/* At each collective that depends on all: who came last, and how long after the next to last. */
static void count_arrivals(struct job *job) {
    for (size_t i = 0; i < job->collective_count; i++) {
        const struct collective *collective = &job->collectives[i];
        if (collective->dependence != DEPENDS_ALL || collective->count < 2)
            continue;
        int64_t before = INT64_MIN;
        for (size_t k = 0; k < collective->count; k++) {
            const struct member *member = &job->members[collective->first + k];
            const struct rank *rank = &job->ranks[member->rank];
            if (member->rank != collective->last_rank)
                before = MAX(before, clock_aligned(job, rank, rank->events[member->event].start));
        }
        struct rank *last = &job->ranks[collective->last_rank];
        last->last_arrivals++;
        last->lateness += collective->last_arrival - before;
    }
}

static bool all_aligned(const struct job *job) {
    for (size_t c = 0; c < job->clock_count; c++)
        if (job->clocks[c].state == CLOCK_UNSOLVED)
            return false;
    return true;
}

/* The replay of each rank costs as much as one of all: only those with much lateness are asked. */
enum { CANDIDATES = 4 };

bool job_find_stragglers(struct job *job, struct status *status) {
    bool possible = false;
    int64_t length;
    job->replayed = -1;
    for (size_t r = 0; r < job->rank_count; r++)
        job->ranks[r].cost = -1;
    if (!all_aligned(job) || job->rank_count < 2 || job->shared_count < 2)
        return true;
    count_arrivals(job);
    if (!job_replay(job, &(struct job_change){.without_straggler = SIZE_MAX}, &length, &possible,
                    status))
        return false;
    if (!possible)
        return true;
    job->replayed = length;
    for (unsigned i = 0; i < CANDIDATES; i++) {
        size_t best = SIZE_MAX;
        for (size_t r = 0; r < job->rank_count; r++)
            if (job->ranks[r].cost < 0 && job->ranks[r].lateness > 0 &&
                (best == SIZE_MAX || job->ranks[r].lateness > job->ranks[best].lateness))
                best = r;
        if (best == SIZE_MAX)
            break;
        if (!job_replay(job, &(struct job_change){.without_straggler = best}, &length, &possible,
                        status))
            return false;
        job->ranks[best].cost = possible ? MAX(job->replayed - length, 0) : 0;
    }
    return true;
}

size_t job_straggler(const struct job *job) {
    static const double cost_min = 0.02;
    size_t straggler = SIZE_MAX;
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->replayed > 0 && (double)job->ranks[r].cost > cost_min * (double)job->replayed &&
            (straggler == SIZE_MAX || job->ranks[r].cost > job->ranks[straggler].cost))
            straggler = r;
    return straggler;
}
