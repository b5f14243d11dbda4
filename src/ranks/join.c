/* Joins the ranks of a job: orders them, matches their collectives, aligns their clocks, accounts
 * for their time, and finds those that the others wait for. */
#include <stdlib.h>

#include "base/min_max.h"
#include "ranks/ranks.h"

static int by_number(const void *a, const void *b) {
    const struct rank *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool is_taken(const struct job *job, int64_t number) {
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].number == number)
            return true;
    return false;
}

/* Recordings without a rank get the free numbers in the order in which they were read. */
static bool number_ranks(struct job *job, struct status *status) {
    int64_t next = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].number >= 0)
            continue;
        while (is_taken(job, next))
            next++;
        job->ranks[i].number = next;
    }
    if (job->rank_count)
        qsort(job->ranks, job->rank_count, sizeof *job->ranks, by_number);
    for (size_t i = 1; i < job->rank_count; i++)
        if (job->ranks[i].number == job->ranks[i - 1].number) {
            struct text one = job_text(job, job->ranks[i - 1].source);
            struct text other = job_text(job, job->ranks[i].source);
            return status_fail(status, STATUS_INPUT,
                               "rank %lld is there twice, in %.*s and %.*s; pass the traces of one "
                               "run",
                               (long long)job->ranks[i].number, TEXT_ARGS(one), TEXT_ARGS(other));
        }
    return true;
}

static void find_world(struct job *job) {
    job->world = -1;
    for (size_t i = 0; i < job->rank_count; i++)
        job->world = MAX(job->world, job->ranks[i].world);
    if (job->rank_count)
        job->world = MAX(job->world, job->ranks[job->rank_count - 1].number + 1);
}

int64_t job_missing(const struct job *job, size_t nth) {
    size_t at = 0;
    for (int64_t number = 0; number < job->world; number++) {
        while (at < job->rank_count && job->ranks[at].number < number)
            at++;
        if (at < job->rank_count && job->ranks[at].number == number)
            continue;
        if (nth-- == 0)
            return number;
    }
    return -1;
}

bool job_join(struct job *job, struct status *status) {
    if (!number_ranks(job, status))
        return false;
    find_world(job);
    return job_match(job, status) && job_align(job, status) && job_account(job, status) &&
           job_find_steps(job, status) && job_find_stragglers(job, status);
}
