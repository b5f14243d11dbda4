/* See replay.h. Ranks are advanced in turn until each has come to its end; one that waits for an
 * operation whose members have not all arrived is left for later. If no rank can advance, the order
 * of operations is contradictory. */
#include "ranks/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "base/sort.h"

enum { OP_ARRIVE, OP_RESUME };

struct op {
    uint8_t kind;
    uint32_t event;
    int64_t lane; /* time between the previous op and this one that is not waiting */
};

struct rank_program {
    struct op *ops;
    size_t count, capacity;
    size_t next;
    int64_t now;   /* aligned */
    int64_t *done; /* by event: when it completed at this rank; valid if known */
    uint8_t *known;
    int64_t *arrival; /* by event */
    int64_t start;
    int64_t tail; /* time after the last op */
};

struct replay_state {
    const struct job *job;
    const struct job_change *change;
    struct rank_program *ranks;
    uint32_t *arrived;  /* by collective: members */
    uint8_t *ends_step; /* by collective: the last of a step */
    int64_t *typical;   /* by collective: median lane time before it */
};

/* ---- programs ---- */

/* The operation that ends where the exposed interval ends; UINT32_MAX: none, so that the rank did
 * not wait for one. */
static uint32_t ending_at(const struct rank *rank, struct interval exposed, uint32_t *cursor) {
    uint32_t found = UINT32_MAX;
    while (*cursor < rank->event_count && rank->events[*cursor].end < exposed.start)
        (*cursor)++;
    for (uint32_t i = *cursor; i < rank->event_count && rank->events[i].start < exposed.end; i++)
        if (rank->events[i].end == exposed.end)
            found = i;
    return found;
}

static bool add_op(struct rank_program *program, struct op op, struct status *status) {
    if (!GROW(program->ops, &program->capacity, program->count + 1, status))
        return false;
    program->ops[program->count++] = op;
    return true;
}

struct point {
    int64_t time;
    uint8_t kind;
    uint32_t event;
};

static int by_time(const void *a, const void *b) {
    const struct point *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1; /* resumes first */
    return x->event < y->event ? -1 : x->event > y->event;
}

/* By event: the start of the next one of its lane; INT64_MAX: it is the last. */
static bool find_next(const struct rank *rank, int64_t *next, struct status *status) {
    struct map lanes = {0};
    bool ok = true;
    for (size_t i = rank->event_count; ok && i > 0; i--) {
        const uint64_t *known = map_find(&lanes, rank->events[i - 1].lane);
        next[i - 1] = known ? (int64_t)*known : INT64_MAX;
        ok = map_set(&lanes, rank->events[i - 1].lane, (uint64_t)rank->events[i - 1].start, status);
    }
    map_finish(&lanes);
    return ok;
}

/* Inside exposed communication, an operation that follows another of its lane begins when that has
 * completed. */
static bool list_successions(const struct rank *rank, struct point *points, size_t *count,
                             struct status *status) {
    int64_t *next = memory_allocate(rank->event_count + 1, sizeof *next, status);
    bool ok = next && find_next(rank, next, status);
    for (uint32_t i = 0; ok && i < rank->event_count; i++) {
        const struct rank_event *event = &rank->events[i];
        size_t at = 0;
        if (next[i] == INT64_MAX || next[i] < event->end || event->start < rank->window.start)
            continue;
        PARTITION_POINT(at, rank->exposed.count, k, rank->exposed.list[k].end <= event->end);
        if (at == rank->exposed.count || rank->exposed.list[at].start >= event->end ||
            next[i] >= rank->exposed.list[at].end || event->end >= rank->window.end)
            continue;
        points[(*count)++] = (struct point){event->end, OP_RESUME, i};
    }
    memory_free(next);
    return ok;
}

/* Arrivals and resumes of a rank in its window, in order. */
static bool list_points(const struct rank *rank, struct point **points, size_t *count,
                        struct status *status) {
    uint32_t cursor = 0;
    *count = 0;
    *points =
        memory_allocate(2 * rank->event_count + rank->exposed.count + 1, sizeof **points, status);
    if (!*points || !list_successions(rank, *points, count, status))
        return false;
    for (uint32_t i = 0; i < rank->event_count; i++)
        if (rank->events[i].start >= rank->window.start && rank->events[i].start < rank->window.end)
            (*points)[(*count)++] = (struct point){rank->events[i].start, OP_ARRIVE, i};
    for (size_t i = 0; i < rank->exposed.count; i++) {
        struct interval exposed = rank->exposed.list[i];
        uint32_t event = ending_at(rank, exposed, &cursor);
        if (event == UINT32_MAX || exposed.end > rank->window.end ||
            rank->events[event].start < rank->window.start)
            continue;
        (*points)[(*count)++] = (struct point){exposed.end, OP_RESUME, event};
    }
    qsort(*points, *count, sizeof **points, by_time);
    return true;
}

/* Lane time between points. Before a resume all exposed communication is taken out of it: a thread
 * that wakes for a moment while it waits still waits. */
static bool build_program(const struct job *job, const struct rank *rank,
                          struct rank_program *program, struct status *status) {
    struct point *points;
    size_t count;
    if (!list_points(rank, &points, &count, status)) {
        memory_free(points);
        return false;
    }
    bool ok = true;
    int64_t at = rank->window.start;
    for (size_t i = 0; i < count && ok; i++) {
        struct op op = {.kind = points[i].kind, .event = points[i].event};
        struct interval since = {at, points[i].time};
        op.lane = MAX(since.end - since.start, 0);
        if (op.kind == OP_RESUME && op.lane > 0)
            op.lane -= intervals_length(&rank->exposed, since);
        ok = add_op(program, op, status);
        at = MAX(at, points[i].time);
    }
    program->tail = MAX(rank->window.end - at, 0);
    program->start = clock_aligned(job, rank, rank->window.start);
    program->now = program->start;
    program->done = memory_allocate(rank->event_count + 1, sizeof *program->done, status);
    program->arrival = memory_allocate(rank->event_count + 1, sizeof *program->arrival, status);
    program->known = memory_allocate(rank->event_count + 1, sizeof *program->known, status);
    memory_free(points);
    return ok && program->done && program->arrival && program->known;
}

/* ---- changes ---- */

static bool find_typical(struct replay_state *state, struct status *status) {
    const struct job *job = state->job;
    const struct job_change *change = state->change;
    int64_t *times = memory_allocate(job->rank_count + 1, sizeof *times, status);
    size_t **op_of = memory_allocate(job->rank_count + 1, sizeof *op_of, status);
    bool ok = times && op_of;
    for (size_t r = 0; ok && r < job->rank_count; r++) {
        op_of[r] = memory_allocate(job->ranks[r].event_count + 1, sizeof **op_of, status);
        ok = op_of[r] != NULL;
        for (size_t i = 0; ok && i < state->ranks[r].count; i++)
            if (state->ranks[r].ops[i].kind == OP_ARRIVE)
                op_of[r][state->ranks[r].ops[i].event] = i + 1;
    }
    for (size_t c = 0; ok && c < job->collective_count; c++) {
        const struct collective *collective = &job->collectives[c];
        size_t count = 0;
        int64_t sum = 0;
        for (size_t i = 0; i < collective->count; i++) {
            const struct member *member = &job->members[collective->first + i];
            size_t op = op_of[member->rank][member->event];
            if (!op || (!change->balanced && member->rank == change->without_straggler))
                continue;
            times[count] = state->ranks[member->rank].ops[op - 1].lane;
            sum += times[count++];
        }
        /* the lower median: of two ranks the faster one */
        if (change->redistributed_at)
            state->typical[c] = count == collective->count ? sum / (int64_t)count : -1;
        else
            state->typical[c] = count ? sort_select(times, count, (count - 1) / 2) : INT64_MAX;
    }
    for (size_t r = 0; op_of && r < job->rank_count; r++)
        memory_free(op_of[r]);
    memory_free(op_of);
    memory_free(times);
    return ok;
}

static int64_t changed_lane(const struct replay_state *state, size_t rank, const struct op *op) {
    const struct job_change *change = state->change;
    const struct rank_event *event = &state->job->ranks[rank].events[op->event];
    if (change->lane_scale)
        return (int64_t)llround((double)op->lane * change->lane_scale[rank]);
    if (op->kind != OP_ARRIVE || event->collective == NO_COLLECTIVE)
        return op->lane;
    int64_t typical = state->typical[event->collective];
    if (change->redistributed_at)
        return event->operation == change->redistributed_at && typical >= 0 ? typical : op->lane;
    if (!change->balanced && change->without_straggler != rank)
        return op->lane;
    return MIN(op->lane, typical);
}

static int64_t changed_transfer(const struct replay_state *state,
                                const struct collective *collective, int64_t transfer) {
    const struct job_change *change = state->change;
    if (transfer <= 0)
        return transfer;
    if (change->transfer_scale)
        return (int64_t)llround((double)transfer *
                                change->transfer_scale[collective - state->job->collectives]);
    if (change->faster > 0)
        return (int64_t)llround((double)transfer / change->faster);
    double bytes = change->link > 0 ? collective_link_bytes(state->job, collective) : 0;
    if (bytes > 0)
        return (int64_t)llround(bytes / change->link * 1e9);
    return transfer;
}

/* ---- advancing ---- */

/* The operation is complete at the member once those that it depends on have arrived. */
static void complete(struct replay_state *state, const struct collective *collective) {
    const struct job *job = state->job;
    for (size_t i = 0; i < collective->count; i++) {
        const struct member *member = &job->members[collective->first + i];
        const struct rank *rank = &job->ranks[member->rank];
        const struct rank_event *event = &rank->events[member->event];
        struct rank_program *program = &state->ranks[member->rank];
        int64_t measured = collective_release(job, collective, member);
        int64_t end = clock_aligned(job, rank, event->end);
        int64_t release = program->arrival[member->event];
        for (size_t k = 0; k < collective->count; k++) {
            const struct member *other = &job->members[collective->first + k];
            if (collective_depends(job, collective, event,
                                   &job->ranks[other->rank].events[other->event]))
                release = MAX(release, state->ranks[other->rank].arrival[other->event]);
        }
        program->done[member->event] =
            release + changed_transfer(state, collective, end - measured);
        program->known[member->event] = 1;
    }
}

static void arrive(struct replay_state *state, size_t rank, uint32_t event) {
    const struct job *job = state->job;
    const struct rank_event *own = &job->ranks[rank].events[event];
    struct rank_program *program = &state->ranks[rank];
    program->arrival[event] = program->now;
    if (own->collective == NO_COLLECTIVE) {
        program->done[event] = program->now + (own->end - own->start);
        program->known[event] = 1;
        return;
    }
    const struct collective *collective = &job->collectives[own->collective];
    if (++state->arrived[own->collective] == collective->count)
        complete(state, collective);
}

static bool is_deferred(const struct replay_state *state, size_t rank, uint32_t event) {
    size_t collective = state->job->ranks[rank].events[event].collective;
    return state->change->overlapped && collective != NO_COLLECTIVE &&
           !state->ends_step[collective];
}

/* Until the rank waits or ends. True: it advanced. */
static bool advance(struct replay_state *state, size_t rank) {
    struct rank_program *program = &state->ranks[rank];
    size_t before = program->next;
    for (; program->next < program->count; program->next++) {
        const struct op *op = &program->ops[program->next];
        if (op->kind == OP_RESUME && !program->known[op->event] &&
            !is_deferred(state, rank, op->event))
            break;
        program->now += changed_lane(state, rank, op);
        if (op->kind == OP_ARRIVE)
            arrive(state, rank, op->event);
        else if (!is_deferred(state, rank, op->event))
            program->now = MAX(program->now, program->done[op->event]);
    }
    return program->next > before;
}

static bool run(struct replay_state *state, int64_t *length) {
    size_t ranks = state->job->rank_count;
    int64_t first = INT64_MAX, last = INT64_MIN;
    bool moved = true, ended = true;
    while (moved) {
        moved = false;
        for (size_t r = 0; r < ranks; r++)
            moved |= advance(state, r);
    }
    for (size_t r = 0; r < ranks; r++) {
        const struct rank_program *program = &state->ranks[r];
        ended &= program->next == program->count;
        first = MIN(first, program->start);
        last = MAX(last, program->now + program->tail);
    }
    *length = last - first;
    return ended;
}

/* A collective whose arrival of some rank is outside the window counts those ranks as arrived. */
static void count_outside(struct replay_state *state) {
    const struct job *job = state->job;
    for (size_t r = 0; r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        struct rank_program *program = &state->ranks[r];
        for (uint32_t e = 0; e < rank->event_count; e++) {
            const struct rank_event *event = &rank->events[e];
            if (event->start >= rank->window.start && event->start < rank->window.end)
                continue;
            program->arrival[e] = clock_aligned(job, rank, event->start);
            program->done[e] = clock_aligned(job, rank, event->end);
            program->known[e] = 1;
            if (event->collective != NO_COLLECTIVE)
                state->arrived[event->collective]++;
        }
    }
}

static void mark_step_ends(struct replay_state *state) {
    const struct job_steps *steps = &state->job->steps;
    for (size_t i = 0; i < state->job->shared_count; i++)
        if (!steps->period || (i >= steps->first && (i - steps->first + 1) % steps->period == 0))
            state->ends_step[state->job->shared[i]] = 1;
    if (state->job->shared_count)
        state->ends_step[state->job->shared[state->job->shared_count - 1]] = 1;
}

bool job_replay(const struct job *job, const struct job_change *change, int64_t *length,
                bool *possible, struct status *status) {
    struct replay_state state = {.job = job, .change = change};
    size_t collectives = job->collective_count + 1;
    state.ranks = memory_allocate(job->rank_count + 1, sizeof *state.ranks, status);
    state.arrived = memory_allocate(collectives, sizeof *state.arrived, status);
    state.ends_step = memory_allocate(collectives, sizeof *state.ends_step, status);
    state.typical = memory_allocate(collectives, sizeof *state.typical, status);
    bool ok = state.ranks && state.arrived && state.ends_step && state.typical;
    for (size_t r = 0; ok && r < job->rank_count; r++)
        ok = build_program(job, &job->ranks[r], &state.ranks[r], status);
    if (ok &&
        (change->balanced || change->redistributed_at || change->without_straggler != SIZE_MAX))
        ok = find_typical(&state, status);
    if (ok) {
        mark_step_ends(&state);
        count_outside(&state);
        *possible = run(&state, length);
    }
    for (size_t r = 0; state.ranks && r < job->rank_count; r++) {
        memory_free(state.ranks[r].ops);
        memory_free(state.ranks[r].done);
        memory_free(state.ranks[r].arrival);
        memory_free(state.ranks[r].known);
    }
    memory_free(state.ranks);
    memory_free(state.arrived);
    memory_free(state.ends_step);
    memory_free(state.typical);
    return ok;
}

bool job_gain(const struct job *job, const struct job_change *change, int64_t *gain,
              struct status *status) {
    int64_t length = job->replayed;
    bool possible = false;
    *gain = 0;
    if (job->replayed < 0)
        return true;
    if (!job_replay(job, change, &length, &possible, status))
        return false;
    if (possible)
        *gain = MAX(job->replayed - length, 0);
    return true;
}
