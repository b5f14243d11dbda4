/* Is the job a pipeline, and how long are its stages idle?
 *
 * Ranks that exchange messages are stages. A step fills the pipeline until every stage has received
 * its first micro-batch, and drains it from where the first stage has sent its last one: time in
 * which a stage does not compute is a bubble of the warm-up, of the steady part or of the drain.
 * Without any bubble a step takes as long as its busiest stage computes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "ranks/findings.h"
#include "ranks/replay.h"

/* The time of a stage between two ends of steps, aligned. */
struct stage_step {
    struct interval span;
    int64_t started, finished; /* the first micro-batch arrived; the last one is done */
    bool has_messages;
};

struct pipeline {
    const struct job *job;
    bool *is_stage; /* by rank */
    size_t stages;
    int64_t *busy;                         /* by rank: computing in all steps */
    int64_t *bubble;                       /* by rank */
    int64_t warm_up, steady, drain, steps; /* sums over stages */
};

static bool is_message(const struct job *job, const struct rank_event *event) {
    return event->collective != NO_COLLECTIVE &&
           job->collectives[event->collective].dependence == DEPENDS_SENDER;
}

/* Ranks that both send and receive, or do either, in most steps: at least one message in three
 * collectives of the rank. */
static void find_stages(struct pipeline *pipeline) {
    const struct job *job = pipeline->job;
    for (size_t r = 0; r < job->rank_count; r++) {
        size_t messages = 0;
        for (size_t e = 0; e < job->ranks[r].event_count; e++)
            messages += is_message(job, &job->ranks[r].events[e]);
        pipeline->is_stage[r] = messages > 0 && 3 * messages >= job->ranks[r].event_count;
        pipeline->stages += pipeline->is_stage[r];
    }
}

static const struct rank_event *shared_event(const struct job *job, size_t rank, size_t index) {
    const struct collective *shared = &job->collectives[job->shared[index]];
    for (size_t i = 0; i < shared->count; i++)
        if (job->members[shared->first + i].rank == rank)
            return &job->ranks[rank].events[job->members[shared->first + i].event];
    return NULL;
}

/* From the end of one shared collective to the end of another. A stage whose first message is sent
 * begins at once; one whose last is received works until it arrives at the last collective. */
static struct stage_step find_step(const struct job *job, size_t number, size_t from, size_t to) {
    const struct rank *rank = &job->ranks[number];
    const struct rank_event *first = shared_event(job, number, from);
    const struct rank_event *last = shared_event(job, number, to);
    struct stage_step step = {{first->end, last->end}, first->end, last->start, false};
    bool before = true;
    for (size_t e = 0; e < rank->event_count; e++) {
        const struct rank_event *event = &rank->events[e];
        if (event->start < first->end || event->end > last->end || !is_message(job, event))
            continue;
        bool receives = text_is(job_text(job, event->operation), "recv");
        if (before && receives)
            step.started = event->end;
        before = false;
        step.has_messages = true;
        step.finished = receives ? last->start : MIN(event->start, last->start);
    }
    step.span.start = clock_aligned(job, rank, step.span.start);
    step.span.end = clock_aligned(job, rank, step.span.end);
    step.started = clock_aligned(job, rank, step.started);
    step.finished = clock_aligned(job, rank, step.finished);
    return step;
}

static int64_t idle_between(const struct job *job, size_t number, int64_t start, int64_t end) {
    const struct rank *rank = &job->ranks[number];
    struct interval window = {clock_local(job, rank, start), clock_local(job, rank, end)};
    if (window.start >= window.end)
        return 0;
    return window.end - window.start - intervals_length(&rank->compute, window);
}

static void add_step(struct pipeline *pipeline, size_t from, size_t to) {
    const struct job *job = pipeline->job;
    int64_t filled = INT64_MIN, drains = INT64_MAX;
    for (size_t r = 0; r < job->rank_count; r++) {
        struct stage_step step = pipeline->is_stage[r] ? find_step(job, r, from, to)
                                                       : (struct stage_step){.has_messages = false};
        if (!step.has_messages)
            continue;
        filled = MAX(filled, step.started);
        drains = MIN(drains, step.finished);
    }
    if (filled == INT64_MIN)
        return;
    drains = MAX(drains, filled);
    pipeline->steps++;
    for (size_t r = 0; r < job->rank_count; r++) {
        if (!pipeline->is_stage[r])
            continue;
        struct stage_step step = find_step(job, r, from, to);
        int64_t warm_up = idle_between(job, r, step.span.start, MIN(filled, step.span.end));
        int64_t steady = idle_between(job, r, filled, drains);
        int64_t drain = idle_between(job, r, MAX(drains, step.span.start), step.span.end);
        pipeline->warm_up += warm_up;
        pipeline->steady += steady;
        pipeline->drain += drain;
        pipeline->bubble[r] += warm_up + steady + drain;
        pipeline->busy[r] += step.span.end - step.span.start - warm_up - steady - drain;
    }
}

/* ---- findings ---- */

static bool add_bubbles(struct job_findings *findings, const struct pipeline *pipeline,
                        struct status *status) {
    const struct job *job = pipeline->job;
    int64_t stages = (int64_t)pipeline->stages;
    struct job_finding finding = {.kind = JOB_PIPELINE,
                                  .cost = INT64_MAX,
                                  .stages = pipeline->stages,
                                  .warm_up = pipeline->warm_up / stages,
                                  .steady = pipeline->steady / stages,
                                  .drain = pipeline->drain / stages,
                                  .sender = -1,
                                  .receiver = -1};
    for (size_t r = 0; r < job->rank_count; r++)
        if (pipeline->is_stage[r])
            finding.cost = MIN(finding.cost, pipeline->bubble[r]);
    return job_finding_add(findings, job, finding, status);
}

static bool add_imbalance(struct job_findings *findings, const struct pipeline *pipeline,
                          struct status *status) {
    const struct job *job = pipeline->job;
    double sum = 0;
    size_t most = SIZE_MAX;
    for (size_t r = 0; r < job->rank_count; r++)
        if (pipeline->is_stage[r]) {
            sum += (double)pipeline->busy[r];
            most = most == SIZE_MAX || pipeline->busy[r] > pipeline->busy[most] ? r : most;
        }
    double mean = sum / (double)pipeline->stages;
    double *scale = memory_allocate(job->rank_count + 1, sizeof *scale, status);
    if (!scale)
        return false;
    for (size_t r = 0; r < job->rank_count; r++)
        scale[r] =
            pipeline->is_stage[r] && pipeline->busy[r] > 0 ? mean / (double)pipeline->busy[r] : 1;
    struct job_finding finding = {.kind = JOB_STAGES,
                                  .rank = most,
                                  .ratio = mean > 0 ? (double)pipeline->busy[most] / mean : 0,
                                  .stages = pipeline->stages,
                                  .sender = -1,
                                  .receiver = -1};
    struct job_change change = {.without_straggler = SIZE_MAX, .lane_scale = scale};
    bool ok = job_gain(job, &change, &finding.cost, status);
    memory_free(scale);
    return ok && job_finding_add(findings, job, finding, status);
}

bool find_pipeline(struct job_findings *findings, const struct job *job, struct status *status) {
    struct pipeline pipeline = {.job = job};
    size_t period = job->steps.period ? job->steps.period : 1;
    pipeline.is_stage = memory_allocate(job->rank_count + 1, sizeof *pipeline.is_stage, status);
    pipeline.busy = memory_allocate(job->rank_count + 1, sizeof *pipeline.busy, status);
    pipeline.bubble = memory_allocate(job->rank_count + 1, sizeof *pipeline.bubble, status);
    bool ok = pipeline.is_stage && pipeline.busy && pipeline.bubble;
    if (ok)
        find_stages(&pipeline);
    if (ok && pipeline.stages >= 2)
        for (size_t i = 0; i + period < job->shared_count; i += period)
            add_step(&pipeline, i, i + period);
    if (ok && pipeline.steps)
        ok = add_bubbles(findings, &pipeline, status) && add_imbalance(findings, &pipeline, status);
    memory_free(pipeline.is_stage);
    memory_free(pipeline.busy);
    memory_free(pipeline.bubble);
    return ok;
}
