/* Where does each step of a job begin on each rank, and in which is a rank late? */
#include "ranks/steps.h"

#include "base/memory.h"
#include "base/sort.h"

/* The shared collective that ends the step before `step`. */
static size_t boundary(const struct job *job, size_t step) {
    const struct job_steps *steps = &job->steps;
    size_t first = steps->first ? steps->first - 1 : steps->period - 1;
    return first + step * steps->period;
}

size_t job_step_count(const struct job *job) {
    if (job->steps.period == 0 || job->shared_count == 0)
        return 0;
    size_t first = boundary(job, 0);
    return first < job->shared_count ? (job->shared_count - 1 - first) / job->steps.period : 0;
}

static const struct rank_event *shared_event(const struct job *job, size_t rank, size_t index) {
    const struct collective *shared = &job->collectives[job->shared[index]];
    for (size_t i = 0; i < shared->count; i++)
        if (job->members[shared->first + i].rank == rank)
            return &job->ranks[rank].events[job->members[shared->first + i].event];
    return NULL;
}

bool job_step_window(const struct job *job, size_t rank, size_t step, struct interval *window) {
    const struct rank_event *before = shared_event(job, rank, boundary(job, step));
    const struct rank_event *last = shared_event(job, rank, boundary(job, step + 1));
    *window = (struct interval){before ? before->end : 0, last ? last->end : 0};
    return before && last && window->start < window->end;
}

int64_t job_step_own(const struct job *job, size_t rank, size_t step) {
    struct interval window;
    if (!job_step_window(job, rank, step, &window))
        return 0;
    return window.end - window.start - intervals_length(&job->ranks[rank].exposed, window);
}

bool job_late_steps(const struct job *job, size_t rank, struct late_steps *late,
                    struct status *status) {
    static const double margin = 0.05;
    int64_t *times = memory_allocate(job->rank_count + 1, sizeof *times, status);
    *late = (struct late_steps){0};
    if (!times)
        return false;
    for (size_t s = 0; s < job_step_count(job) && job->rank_count > 1; s++) {
        struct interval window;
        size_t others = 0;
        for (size_t r = 0; r < job->rank_count; r++)
            if (r != rank)
                times[others++] = job_step_own(job, r, s);
        int64_t later = job_step_own(job, rank, s) - sort_select(times, others, (others - 1) / 2);
        if (!job_step_window(job, rank, s, &window) ||
            (double)later < margin * (double)(window.end - window.start))
            continue;
        late->count++;
        if (later > late->worst_time) {
            late->worst = s;
            late->worst_time = later;
        }
    }
    memory_free(times);
    return true;
}
