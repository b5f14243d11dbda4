/* See path.h. On a rank the path goes back to where it last waited; from there to the rank whose
 * arrival ended the wait. */
#include "ranks/path.h"

#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"

/* Where the walk is. */
struct place {
    size_t rank;
    int64_t time; /* of the rank's clock */
};

/* The last exposed communication of the rank that ends at the time or before; NULL: none. */
static const struct interval *last_exposed(const struct rank *rank, int64_t time) {
    size_t at = 0;
    PARTITION_POINT(at, rank->exposed.count, i, rank->exposed.list[i].end <= time);
    if (at == 0 || rank->exposed.list[at - 1].end <= rank->window.start)
        return NULL;
    return &rank->exposed.list[at - 1];
}

/* The operation that ends last inside the interval: the rank waited for it; -1: none. */
static int64_t awaited_event(const struct rank *rank, const struct interval *exposed) {
    size_t at = 0;
    int64_t found = -1;
    PARTITION_POINT(at, rank->event_count, i, rank->events[i].start < exposed->end);
    for (size_t back = 0; at > 0 && back < 64; back++) {
        const struct rank_event *event = &rank->events[--at];
        if (event->end == exposed->end)
            return (int64_t)at;
        if (event->end > exposed->start && event->end < exposed->end &&
            (found < 0 || event->end > rank->events[found].end))
            found = (int64_t)at;
    }
    return found;
}

/* The member whose arrival let the operation complete at `own`. */
static const struct member *releasing_member(const struct job *job,
                                             const struct collective *collective,
                                             const struct member *own) {
    const struct rank_event *event = &job->ranks[own->rank].events[own->event];
    const struct member *last = own;
    int64_t release = clock_aligned(job, &job->ranks[own->rank], event->start);
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *other = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[other->rank];
        int64_t arrival = clock_aligned(job, rank, rank->events[other->event].start);
        if (arrival > release &&
            collective_depends(job, collective, event, &rank->events[other->event])) {
            release = arrival;
            last = other;
        }
    }
    return last;
}

/* Goes back over one wait. False: the path has come to the beginning. */
static bool step_back(const struct job *job, struct job_path *path, struct place *place) {
    const struct rank *rank = &job->ranks[place->rank];
    const struct interval *exposed = last_exposed(rank, place->time);
    if (!exposed) {
        path->own[place->rank] += MAX(place->time - rank->window.start, 0);
        return false;
    }
    path->own[place->rank] += place->time - exposed->end;
    int64_t index = awaited_event(rank, exposed);
    const struct rank_event *event = index >= 0 ? &rank->events[index] : NULL;
    int64_t start = MAX(exposed->start, rank->window.start);
    if (!event || event->collective == NO_COLLECTIVE) {
        path->unmatched += exposed->end - start;
        place->time = start;
        return start > rank->window.start;
    }
    const struct collective *collective = &job->collectives[event->collective];
    struct member own = {(uint32_t)place->rank, (uint32_t)index};
    const struct member *by = releasing_member(job, collective, &own);
    const struct rank *from = &job->ranks[by->rank];
    int64_t arrival = from->events[by->event].start;
    int64_t release = clock_local(job, rank, clock_aligned(job, from, arrival));
    path->transfer += exposed->end - MAX(MIN(release, exposed->end), rank->window.start);
    *place = (struct place){
        by->rank, MIN(arrival, clock_local(job, from, clock_aligned(job, rank, exposed->end)))};
    return place->time > from->window.start;
}

bool job_path_find(const struct job *job, struct job_path *path, struct status *status) {
    struct place place = {SIZE_MAX, 0};
    int64_t last = INT64_MIN;
    uint64_t steps = 0;
    *path = (struct job_path){.length = job->window.end - job->window.start};
    path->own = memory_allocate(job->rank_count + 1, sizeof *path->own, status);
    if (!path->own)
        return false;
    for (size_t r = 0; r < job->rank_count; r++) {
        int64_t end = clock_aligned(job, &job->ranks[r], job->ranks[r].window.end);
        if (end > last) {
            last = end;
            place = (struct place){r, job->ranks[r].window.end};
        }
    }
    /* each wait is passed at most once on each rank */
    while (place.rank != SIZE_MAX && steps++ <= 2 * job->events + 2 &&
           step_back(job, path, &place)) {
    }
    return true;
}

void job_path_finish(struct job_path *path) {
    memory_free(path->own);
    *path = (struct job_path){0};
}
