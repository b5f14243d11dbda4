/* See cause.h. A cause is only named if it explains most of the time by which the rank is later. */
#include "ranks/cause.h"

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"

/* The part of the excess that a cause must explain. */
static const double EXPLAINED_MIN = 0.5;
/* Of the work's excess, the part in one function that makes it more work there. */
static const double ONE_PLACE_MIN = 0.6;

const char *cause_name(enum late_kind kind) {
    static const char *const names[LATE_KINDS] = {
        [LATE_UNKNOWN] = "unknown",
        [LATE_SLOWER] = "slower",
        [LATE_MORE_WORK] = "more-work",
        [LATE_INPUT] = "input",
        [LATE_COLLECTOR] = "garbage-collection",
        [LATE_SLEEP] = "sleep",
        [LATE_BLOCKED] = "blocked",
        [LATE_PROCESSOR] = "no-processor",
        [LATE_HOST] = "host-code",
        [LATE_COPY] = "copies",
    };
    return names[kind];
}

/* A part of this rank, and the same part of the others. */
struct compared {
    const struct rank_part *part;
    int64_t typical;
    uint64_t typical_count;
};

struct comparison {
    const struct job *job;
    size_t rank;
    struct compared *parts;
    size_t count;
    int64_t by_kind[PART_KINDS]; /* excess */
    uint64_t kernels, typical_kernels;
};

static uint64_t part_key(size_t rank, const struct rank_part *part) {
    uint64_t key[4] = {rank, (uint64_t)part->kind << 8 | part->blocked_on, part->label,
                       part->place};
    return checksum64(key, sizeof key);
}

static bool index_parts(const struct job *job, struct map *index, struct status *status) {
    for (size_t r = 0; r < job->rank_count; r++)
        for (size_t i = 0; i < job->ranks[r].part_count; i++)
            if (!map_set(index, part_key(r, &job->ranks[r].parts[i]), i, status))
                return false;
    return true;
}

/* The lower median over the other ranks. */
static bool compare_parts(struct comparison *comparison, struct status *status) {
    const struct job *job = comparison->job;
    const struct rank *rank = &job->ranks[comparison->rank];
    struct map index = {0};
    int64_t *times = memory_allocate(job->rank_count + 1, sizeof *times, status);
    int64_t *counts = memory_allocate(job->rank_count + 1, sizeof *counts, status);
    comparison->parts = memory_allocate(rank->part_count + 1, sizeof *comparison->parts, status);
    bool ok = times && counts && comparison->parts && index_parts(job, &index, status);
    for (size_t i = 0; ok && i < rank->part_count; i++) {
        size_t others = 0;
        for (size_t r = 0; r < job->rank_count; r++) {
            const uint64_t *found =
                r == comparison->rank ? NULL : map_find(&index, part_key(r, &rank->parts[i]));
            if (r == comparison->rank)
                continue;
            times[others] = found ? job->ranks[r].parts[*found].time : 0;
            counts[others++] = found ? (int64_t)job->ranks[r].parts[*found].count : 0;
        }
        struct compared *compared = &comparison->parts[comparison->count++];
        compared->part = &rank->parts[i];
        compared->typical = others ? sort_select(times, others, (others - 1) / 2) : 0;
        compared->typical_count =
            others ? (uint64_t)sort_select(counts, others, (others - 1) / 2) : 0;
        comparison->by_kind[rank->parts[i].kind] += rank->parts[i].time - compared->typical;
        if (rank->parts[i].kind == PART_KERNEL) {
            comparison->kernels += rank->parts[i].count;
            comparison->typical_kernels += compared->typical_count;
        }
    }
    memory_free(times);
    memory_free(counts);
    map_finish(&index);
    return ok;
}

static int64_t typical_of(const struct job *job, size_t rank, size_t member, int64_t *times) {
    size_t others = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (r != rank)
            times[others++] = *(const int64_t *)((const char *)&job->ranks[r].account + member);
    return others ? sort_select(times, others, (others - 1) / 2) : 0;
}

/* The part of a kind, or any of two kinds, with the largest excess. */
static const struct compared *largest(const struct comparison *comparison, enum rank_part_kind a,
                                      enum rank_part_kind b) {
    const struct compared *best = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compared *at = &comparison->parts[i];
        if ((at->part->kind == a || at->part->kind == b) &&
            (!best || at->part->time - at->typical > best->part->time - best->typical))
            best = at;
    }
    return best;
}

/* The excess of parts of a kind that load input, or collect garbage. */
static int64_t excess_where(const struct comparison *comparison, bool input) {
    int64_t sum = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compared *at = &comparison->parts[i];
        if (at->part->kind != PART_KERNEL &&
            (input ? at->part->is_input && !at->part->is_collector : at->part->is_collector))
            sum += at->part->time - at->typical;
    }
    return sum;
}

static void name_part(struct rank_cause *cause, enum late_kind kind,
                      const struct compared *compared, int64_t explained) {
    cause->kind = kind;
    cause->explained = explained;
    if (!compared)
        return;
    cause->label = compared->part->label;
    cause->place = compared->part->place;
    cause->blocked_on = compared->part->blocked_on;
}

static void explain_work(const struct comparison *comparison, enum rank_part_kind kind,
                         int64_t excess, struct rank_cause *cause) {
    const struct compared *top = largest(comparison, kind, kind);
    int64_t own = 0, typical = 0;
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->parts[i].part->kind == kind) {
            own += comparison->parts[i].part->time;
            typical += comparison->parts[i].typical;
        }
    int64_t of_top = top ? top->part->time - top->typical : 0;
    double share = own > typical ? (double)of_top / (double)(own - typical) : 0;
    bool more_kernels =
        kind == PART_KERNEL &&
        comparison->kernels > comparison->typical_kernels + comparison->typical_kernels / 50;
    bool in_one_place = kind == PART_RUNNING && share >= ONE_PLACE_MIN &&
                        (double)top->typical < 0.8 * (double)typical;
    if (more_kernels || in_one_place) {
        name_part(cause, LATE_MORE_WORK, top, excess);
        cause->count = more_kernels ? comparison->kernels : 0;
        cause->typical_count = more_kernels ? comparison->typical_kernels : 0;
        return;
    }
    name_part(cause, LATE_SLOWER, top, excess);
    cause->ratio = typical > 0 ? (double)own / (double)typical : 0;
}

static void explain_idle(const struct comparison *comparison, bool has_device, int64_t excess,
                         struct rank_cause *cause) {
    const struct compared *top = largest(comparison, PART_BLOCKED, PART_READY);
    const struct compared *running =
        has_device ? largest(comparison, PART_RUNNING, PART_RUNNING) : NULL;
    int64_t of_top = top ? top->part->time - top->typical : 0;
    int64_t of_running = running ? comparison->by_kind[PART_RUNNING] : 0;
    if (of_running > of_top && of_running > 0)
        name_part(cause, LATE_HOST, running, MIN(of_running, excess));
    else if (top && top->part->kind == PART_READY)
        name_part(cause, LATE_PROCESSOR, NULL, MIN(of_top, excess));
    else if (top && of_top > 0)
        name_part(cause, top->part->blocked_on == BLOCKED_SLEEP ? LATE_SLEEP : LATE_BLOCKED, top,
                  MIN(of_top, excess));
}

static void explain(const struct comparison *comparison, int64_t compute, int64_t copy,
                    int64_t idle, struct rank_cause *cause) {
    const struct rank *rank = &comparison->job->ranks[comparison->rank];
    bool has_device = rank->device != 0;
    int64_t collector = excess_where(comparison, false), input = excess_where(comparison, true);
    double most = (double)cause->excess * EXPLAINED_MIN;
    if ((double)collector >= most)
        name_part(cause, LATE_COLLECTOR, NULL, MIN(collector, cause->excess));
    else if ((double)input >= most)
        name_part(cause, LATE_INPUT, largest(comparison, PART_RUNNING, PART_BLOCKED),
                  MIN(input, cause->excess));
    else if (copy > compute && copy > idle)
        name_part(cause, LATE_COPY, NULL, MIN(copy, cause->excess));
    else if (compute >= idle)
        explain_work(comparison, has_device ? PART_KERNEL : PART_RUNNING,
                     MIN(compute, cause->excess), cause);
    else
        explain_idle(comparison, has_device, idle, cause);
    if ((double)cause->explained < most)
        cause->kind = LATE_UNKNOWN;
}

bool cause_find(const struct job *job, size_t rank, struct rank_cause *cause,
                struct status *status) {
    struct comparison comparison = {.job = job, .rank = rank};
    const struct rank_account *own = &job->ranks[rank].account;
    int64_t *times = memory_allocate(job->rank_count + 1, sizeof *times, status);
    *cause = (struct rank_cause){0};
    bool ok = times && compare_parts(&comparison, status);
    if (ok) {
        int64_t compute =
            own->compute - typical_of(job, rank, offsetof(struct rank_account, compute), times);
        int64_t copy =
            own->copy - typical_of(job, rank, offsetof(struct rank_account, copy), times);
        int64_t idle =
            own->idle - typical_of(job, rank, offsetof(struct rank_account, idle), times);
        cause->excess = compute + copy + idle;
        if (cause->excess > 0)
            explain(&comparison, compute, copy, idle, cause);
    }
    memory_free(times);
    memory_free(comparison.parts);
    return ok;
}
