/* See findings.h. Here are the rules about hosts, experts and overlap; pipeline.c and links.c have
 * the others. */
#include "ranks/findings.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"
#include "ranks/replay.h"

/* Of the job's time. */
static const double COST_MIN = 0.02;

const char *job_finding_name(enum job_finding_kind kind) {
    static const char *const names[JOB_FINDING_KINDS] = {
        [JOB_PIPELINE] = "pipeline-bubbles",     [JOB_STAGES] = "stage-imbalance",
        [JOB_EXPERTS] = "expert-imbalance",      [JOB_OVERLAP] = "exposed-communication",
        [JOB_SLOW_LINK] = "slow-link",           [JOB_LINK_LIMIT] = "below-link-limit",
        [JOB_SLOW_HOST] = "slow-host",           [JOB_TOPOLOGY] = "topology",
        [JOB_SMALL_MESSAGES] = "small-messages",
    };
    return names[kind];
}

bool job_finding_add(struct job_findings *findings, const struct job *job,
                     struct job_finding finding, struct status *status) {
    if ((double)finding.cost < COST_MIN * (double)job->replayed)
        return true;
    if (!GROW(findings->list, &findings->capacity, findings->count + 1, status))
        return false;
    findings->list[findings->count++] = finding;
    return true;
}

static int64_t own_time(const struct rank *rank) {
    return rank->account.compute + rank->account.copy + rank->account.idle;
}

/* ---- hosts ---- */

/* The lower median of the ranks of a host, or of all others; 0: there are none. */
static int64_t host_time(const struct job *job, uint32_t host, bool others, int64_t *times) {
    size_t count = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].host && (job->ranks[r].host == host) != others)
            times[count++] = own_time(&job->ranks[r]);
    return count ? sort_select(times, count, (count - 1) / 2) : 0;
}

/* Three quarters of its ranks must be slower: one of them alone is a late rank. */
static bool is_slower(const struct job *job, uint32_t host, int64_t typical) {
    static const double margin = 1.03;
    size_t slower = 0, count = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].host == host) {
            count++;
            slower += (double)own_time(&job->ranks[r]) > margin * (double)typical;
        }
    return count >= 2 && 4 * slower >= 3 * count;
}

static bool judge_host(struct job_findings *findings, const struct job *job, uint32_t host,
                       int64_t *times, double *scale, struct status *status) {
    int64_t typical = host_time(job, host, true, times), own = host_time(job, host, false, times);
    int64_t gain;
    if (typical <= 0 || !is_slower(job, host, typical))
        return true;
    for (size_t r = 0; r < job->rank_count; r++) {
        int64_t time = own_time(&job->ranks[r]);
        scale[r] =
            job->ranks[r].host == host && time > typical ? (double)typical / (double)time : 1;
    }
    struct job_change change = {.without_straggler = SIZE_MAX, .lane_scale = scale};
    struct job_finding finding = {.kind = JOB_SLOW_HOST,
                                  .host = host,
                                  .ratio = (double)own / (double)typical,
                                  .sender = -1,
                                  .receiver = -1};
    if (!job_gain(job, &change, &gain, status))
        return false;
    finding.cost = gain;
    return job_finding_add(findings, job, finding, status);
}

static bool find_slow_hosts(struct job_findings *findings, const struct job *job,
                            struct status *status) {
    int64_t *times = memory_allocate(job->rank_count + 1, sizeof *times, status);
    double *scale = memory_allocate(job->rank_count + 1, sizeof *scale, status);
    bool ok = times && scale;
    for (size_t c = 0; ok && c < job->clock_count && job->clock_count > 1; c++)
        if (job->clocks[c].host)
            ok = judge_host(findings, job, job->clocks[c].host, times, scale, status);
    memory_free(times);
    memory_free(scale);
    return ok;
}

/* ---- experts ---- */

/* The time of each rank from its event before an operation to that operation, summed. */
static void sum_lanes(const struct job *job, uint32_t operation, int64_t *lanes) {
    for (size_t r = 0; r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        for (size_t e = 1; e < rank->event_count; e++)
            if (rank->events[e].operation == operation &&
                rank->events[e].collective != NO_COLLECTIVE)
                lanes[r] += MAX(rank->events[e].start - rank->events[e - 1].end, 0);
    }
}

/* Experts get different numbers of tokens: the ranks reach the all-to-alls at different times. */
static bool find_experts(struct job_findings *findings, const struct job *job,
                         struct status *status) {
    uint32_t operation = 0;
    int64_t gain, *lanes;
    for (size_t i = 0; i < job->collective_count && !operation; i++)
        if (job->collectives[i].count > 1 &&
            text_is(job_text(job, job->collectives[i].operation), "alltoall"))
            operation = job->collectives[i].operation;
    if (!operation)
        return true;
    struct job_change change = {.without_straggler = SIZE_MAX, .redistributed_at = operation};
    if (!job_gain(job, &change, &gain, status) ||
        !(lanes = memory_allocate(job->rank_count + 1, sizeof *lanes, status)))
        return false;
    sum_lanes(job, operation, lanes);
    size_t most = 0;
    double sum = 0;
    for (size_t r = 0; r < job->rank_count; r++) {
        most = lanes[r] > lanes[most] ? r : most;
        sum += (double)lanes[r];
    }
    double mean = sum / (double)MAX(job->rank_count, 1);
    struct job_finding finding = {.kind = JOB_EXPERTS,
                                  .cost = gain,
                                  .rank = most,
                                  .ratio = mean > 0 ? (double)lanes[most] / mean : 0,
                                  .sender = -1,
                                  .receiver = -1};
    memory_free(lanes);
    return job_finding_add(findings, job, finding, status);
}

/* ---- overlap ---- */

/* Computing can hide no more than it lasts. */
static bool find_overlap(struct job_findings *findings, const struct job *job,
                         struct status *status) {
    int64_t transfer = job->account.transfer, compute = job->account.compute, gain;
    if (transfer <= 0 || compute <= 0)
        return true;
    double *scale = memory_allocate(job->collective_count + 1, sizeof *scale, status);
    if (!scale)
        return false;
    for (size_t i = 0; i < job->collective_count; i++)
        scale[i] = MAX(0.0, 1 - (double)compute / (double)transfer);
    struct job_change change = {.without_straggler = SIZE_MAX, .transfer_scale = scale};
    struct job_finding finding = {.kind = JOB_OVERLAP,
                                  .transfer = transfer / (int64_t)job->rank_count,
                                  .sender = -1,
                                  .receiver = -1};
    bool ok = job_gain(job, &change, &gain, status);
    finding.cost = gain;
    memory_free(scale);
    return ok && job_finding_add(findings, job, finding, status);
}

/* ---- all ---- */

static int by_cost(const void *a, const void *b) {
    const struct job_finding *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

bool job_findings_build(struct job_findings *findings, const struct job *job,
                        struct status *status) {
    *findings = (struct job_findings){0};
    if (job->replayed <= 0)
        return true;
    bool ok = find_pipeline(findings, job, status) && find_links(findings, job, status) &&
              find_slow_hosts(findings, job, status) && find_experts(findings, job, status) &&
              find_overlap(findings, job, status);
    if (ok && findings->count)
        qsort(findings->list, findings->count, sizeof *findings->list, by_cost);
    return ok;
}

void job_findings_finish(struct job_findings *findings) {
    memory_free(findings->list);
    *findings = (struct job_findings){0};
}
