/* See cause.h. A cause is only named if it explains most of the time by which the rank is later. */
#include "ranks/cause.h"

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"

/* The part of the excess that a cause must explain. */
static const double EXPLAINED_MIN = 0.5;
/* Of the work's excess, the part in one function that is named. */
static const double ONE_FUNCTION_MIN = 0.6;
/* A function is the rank's own if the others spend at most this part of its time in it. */
static const double ELSEWHERE_MAX = 0.05;
/* Differences of counts, of thread blocks and of clocks that matter. */
static const double COUNT_MARGIN = 0.02, CLOCK_MARGIN = 0.03;

const char *cause_name(enum late_kind kind) {
    static const char *const names[LATE_KINDS] = {
        [LATE_UNKNOWN] = "unknown",
        [LATE_SLOWER] = "slower",
        [LATE_LONGER] = "longer",
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

/* A part of this rank, and the same part of the others: the lower medians. */
struct compared {
    const struct rank_part *part;
    struct rank_part typical;
};

/* Why the rank is later, in nanoseconds beyond the typical. */
enum group {
    GROUP_WORK,      /* running in functions, or kernels */
    GROUP_PROCESSOR, /* ready to run, beyond what its work explains */
    GROUP_INPUT,
    GROUP_COLLECTOR,
    GROUP_SLEEP,
    GROUP_BLOCKED,
    GROUPS
};

struct comparison {
    const struct job *job;
    size_t rank;
    struct compared *parts;
    size_t count;
    int64_t excess[GROUPS];             /* of the host */
    const struct compared *top[GROUPS]; /* the part with the largest excess */
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

static int64_t lower_median(int64_t *values, size_t count) {
    return count ? sort_select(values, count, (count - 1) / 2) : 0;
}

/* `values` has room for four of each rank. */
static struct rank_part typical_part(const struct comparison *comparison, const struct map *index,
                                     const struct rank_part *part, int64_t *values) {
    const struct job *job = comparison->job;
    size_t others = 0, ranks = job->rank_count;
    for (size_t r = 0; r < ranks; r++) {
        const uint64_t *found =
            r == comparison->rank ? NULL : map_find((struct map *)index, part_key(r, part));
        const struct rank_part *other = found ? &job->ranks[r].parts[*found] : NULL;
        if (r == comparison->rank)
            continue;
        values[others] = other ? other->time : 0;
        values[ranks + others] = other ? (int64_t)other->count : 0;
        values[2 * ranks + others] = other ? other->ready : 0;
        values[3 * ranks + others++] = other ? (int64_t)other->blocks : 0;
    }
    struct rank_part typical = *part;
    typical.time = lower_median(values, others);
    typical.count = (uint64_t)lower_median(values + ranks, others);
    typical.ready = lower_median(values + 2 * ranks, others);
    typical.blocks = (uint64_t)lower_median(values + 3 * ranks, others);
    return typical;
}

static void add_excess(struct comparison *comparison, enum group group,
                       const struct compared *compared, int64_t excess) {
    const struct compared *top = comparison->top[group];
    comparison->excess[group] += excess;
    if (!top || compared->part->time + compared->part->ready - compared->typical.time -
                        compared->typical.ready >
                    top->part->time + top->part->ready - top->typical.time - top->typical.ready)
        comparison->top[group] = compared;
}

/* A thread that works longer also loses its processor more often: of the time without a processor
 * in a function, the part of the time that it runs there beyond the typical is due to the work. */
static void add_running(struct comparison *comparison, const struct compared *compared) {
    const struct rank_part *own = compared->part, *typical = &compared->typical;
    int64_t longer = own->time - typical->time, ready = own->ready - typical->ready, of_work = 0;
    if (longer > 0 && ready > 0 && own->time > 0)
        of_work = MIN((int64_t)((double)own->ready * (double)longer / (double)own->time), ready);
    add_excess(comparison, GROUP_WORK, compared, longer + of_work);
    add_excess(comparison, GROUP_PROCESSOR, compared, ready - of_work);
}

static void group_part(struct comparison *comparison, const struct compared *compared) {
    const struct rank_part *own = compared->part, *typical = &compared->typical;
    int64_t excess = own->time + own->ready - typical->time - typical->ready;
    if (own->kind == PART_KERNEL)
        return;
    if (own->is_collector)
        add_excess(comparison, GROUP_COLLECTOR, compared, excess);
    else if (own->is_input)
        add_excess(comparison, GROUP_INPUT, compared, excess);
    else if (own->kind == PART_BLOCKED)
        add_excess(comparison, own->blocked_on == BLOCKED_SLEEP ? GROUP_SLEEP : GROUP_BLOCKED,
                   compared, excess);
    else
        add_running(comparison, compared);
}

static bool compare_parts(struct comparison *comparison, struct status *status) {
    const struct job *job = comparison->job;
    const struct rank *rank = &job->ranks[comparison->rank];
    struct map index = {0};
    int64_t *values = memory_allocate(4 * job->rank_count + 1, sizeof *values, status);
    comparison->parts = memory_allocate(rank->part_count + 1, sizeof *comparison->parts, status);
    bool ok = values && comparison->parts && index_parts(job, &index, status);
    for (size_t i = 0; ok && i < rank->part_count; i++) {
        struct compared *compared = &comparison->parts[comparison->count++];
        compared->part = &rank->parts[i];
        compared->typical = typical_part(comparison, &index, &rank->parts[i], values);
        group_part(comparison, compared);
    }
    memory_free(values);
    map_finish(&index);
    return ok;
}

static int64_t typical_of(const struct job *job, size_t rank, size_t member, int64_t *times) {
    size_t others = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (r != rank)
            times[others++] = *(const int64_t *)((const char *)&job->ranks[r].account + member);
    return lower_median(times, others);
}

static void name_part(struct rank_cause *cause, enum late_kind kind,
                      const struct compared *compared, int64_t explained) {
    cause->kind = kind;
    cause->explained = MIN(explained, cause->excess);
    if (!compared)
        return;
    cause->label = compared->part->label;
    cause->place = compared->part->place;
    cause->blocked_on = compared->part->blocked_on;
}

/* ---- work ---- */

/* Time of a function or kernel: of all its lines. */
static void sum_label(const struct comparison *comparison, enum rank_part_kind kind, uint32_t label,
                      bool all, struct rank_part *own, struct rank_part *typical) {
    *own = *typical = (struct rank_part){.kind = kind};
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compared *at = &comparison->parts[i];
        if (at->part->kind != kind || at->part->is_input || at->part->is_collector ||
            (!all && at->part->label != label))
            continue;
        own->time += at->part->time;
        own->count += at->part->count;
        own->blocks += at->part->blocks;
        typical->time += at->typical.time;
        typical->count += at->typical.count;
        typical->blocks += at->typical.blocks;
    }
}

static const struct compared *top_part(const struct comparison *comparison,
                                       enum rank_part_kind kind) {
    const struct compared *best = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compared *at = &comparison->parts[i];
        if (at->part->kind == kind && !at->part->is_input && !at->part->is_collector &&
            (!best || at->part->time - at->typical.time > best->part->time - best->typical.time))
            best = at;
    }
    return best;
}

static bool is_first_of_label(const struct comparison *comparison, size_t index) {
    const struct rank_part *part = comparison->parts[index].part;
    for (size_t i = 0; i < index; i++)
        if (comparison->parts[i].part->kind == part->kind &&
            comparison->parts[i].part->label == part->label)
            return false;
    return true;
}

/* Time in functions that the others hardly run. A few samples in a rare function are chance. */
static int64_t time_of_its_own(const struct comparison *comparison, enum rank_part_kind kind,
                               int64_t excess) {
    enum { SAMPLES_MIN = 8, PARTS_MAX = 10 };
    struct rank_part own, typical;
    int64_t sum = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct rank_part *part = comparison->parts[i].part;
        if (part->kind != kind || !is_first_of_label(comparison, i))
            continue;
        sum_label(comparison, kind, part->label, false, &own, &typical);
        if (own.count >= SAMPLES_MIN && own.time >= excess / PARTS_MAX &&
            (double)typical.time <= ELSEWHERE_MAX * (double)own.time)
            sum += own.time - typical.time;
    }
    return sum;
}

static double ratio_of(int64_t own, int64_t typical) {
    return typical > 0 ? (double)own / (double)typical : 0;
}

static bool is_more(uint64_t own, uint64_t typical) {
    return (double)own > (double)typical * (1 + COUNT_MARGIN);
}

static void compare_clocks(const struct job *job, size_t rank, struct rank_cause *cause) {
    double best = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (r != rank)
            best = MAX(best, job->ranks[r].clock_mhz);
    if (job->ranks[rank].clock_mhz > 0 && job->ranks[rank].clock_mhz < best * (1 - CLOCK_MARGIN)) {
        cause->clock_mhz = job->ranks[rank].clock_mhz;
        cause->typical_mhz = best;
    }
}

/* Which kernels or functions: more of them, larger ones, or the same for longer? */
static void explain_work(const struct comparison *comparison, enum rank_part_kind kind,
                         int64_t excess, struct rank_cause *cause) {
    const struct compared *top = top_part(comparison, kind);
    struct rank_part all, typical, own, of_others;
    if (!top)
        return;
    sum_label(comparison, kind, 0, true, &all, &typical);
    sum_label(comparison, kind, top->part->label, false, &own, &of_others);
    bool in_one =
        (double)(own.time - of_others.time) >= ONE_FUNCTION_MIN * (double)(all.time - typical.time);
    bool is_own = (double)time_of_its_own(comparison, kind, all.time - typical.time) >=
                  ONE_FUNCTION_MIN * (double)(all.time - typical.time);
    bool more_kernels = kind == PART_KERNEL && is_more(all.count, typical.count);
    bool more_blocks = kind == PART_KERNEL && is_more(own.blocks, of_others.blocks);
    if (more_kernels || more_blocks || is_own) {
        name_part(cause, LATE_MORE_WORK, top, excess);
        cause->count = more_kernels ? all.count : 0;
        cause->typical_count = typical.count;
        cause->blocks = more_blocks ? own.blocks : 0;
        cause->typical_blocks = of_others.blocks;
        return;
    }
    bool same_work = kind == PART_KERNEL && all.blocks > 0 && all.blocks == typical.blocks;
    name_part(cause, same_work && !in_one ? LATE_SLOWER : LATE_LONGER, in_one ? top : NULL, excess);
    cause->ratio = in_one ? ratio_of(own.time, of_others.time) : ratio_of(all.time, typical.time);
    if (kind == PART_KERNEL)
        compare_clocks(comparison->job, comparison->rank, cause);
    if (cause->clock_mhz > 0)
        cause->kind = LATE_SLOWER;
}

/* ---- all ---- */

static enum group largest_group(const struct comparison *comparison) {
    enum group best = GROUP_WORK;
    for (enum group group = 0; group < GROUPS; group++)
        if (comparison->excess[group] > comparison->excess[best])
            best = group;
    return best;
}

/* What the host did more; with a device, while that was idle. */
static void explain_host(const struct comparison *comparison, bool has_device,
                         struct rank_cause *cause) {
    static const enum late_kind kinds[GROUPS] = {
        [GROUP_WORK] = LATE_HOST,   [GROUP_PROCESSOR] = LATE_PROCESSOR,
        [GROUP_INPUT] = LATE_INPUT, [GROUP_COLLECTOR] = LATE_COLLECTOR,
        [GROUP_SLEEP] = LATE_SLEEP, [GROUP_BLOCKED] = LATE_BLOCKED,
    };
    enum group group = largest_group(comparison);
    int64_t excess = comparison->excess[group];
    if (excess <= 0)
        return;
    if (group == GROUP_WORK && !has_device)
        explain_work(comparison, PART_RUNNING, excess, cause);
    else
        name_part(cause, kinds[group],
                  group == GROUP_PROCESSOR || group == GROUP_COLLECTOR ? NULL
                                                                       : comparison->top[group],
                  excess);
}

static void explain(const struct comparison *comparison, int64_t compute, int64_t copy,
                    int64_t idle, struct rank_cause *cause) {
    bool has_device = comparison->job->ranks[comparison->rank].has_device;
    if (copy > compute && copy > idle)
        name_part(cause, LATE_COPY, NULL, copy);
    else if (has_device && compute >= idle)
        explain_work(comparison, PART_KERNEL, compute, cause);
    else
        explain_host(comparison, has_device, cause);
    if ((double)cause->explained < (double)cause->excess * EXPLAINED_MIN)
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
