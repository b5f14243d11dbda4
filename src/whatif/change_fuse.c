/* What if chains of element-wise kernels were one kernel each? A chain is a run of element-wise
 * kernels of equal size in a queue, launched by one thread with nothing but launches of the chain
 * between them. Each kernel writes arrays that the next reads again; the fused kernel keeps those
 * in registers. */
#include <stdio.h>

#include "analysis/kernel_class.h"
#include "base/min_max.h"
#include "base/format.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

/* Relative to the time at the memory bandwidth: kernels that move data do not quite reach it. */
#define NEAR_RATE 2.0

struct chain {
    uint32_t first, last;
    unsigned count;
    double units; /* arrays read and written by all of them */
    double bytes; /* the same in bytes; 0: unknown */
    double min_bytes;
    double min_per_unit, min_per_byte; /* time above that of an empty kernel */
    int64_t time;
};

struct fuser {
    struct run *run;
    struct text pattern;
    uint8_t *arrays; /* by string: arrays that kernels of that name access, + 1; 0: not looked up */
    uint64_t kernels, chains;
};

/* 0: not to be fused. */
static unsigned kernel_arrays(struct fuser *fuser, size_t activity) {
    const struct replay *replay = fuser->run->replay;
    if (replay->trace->activity.kind[activity] != ACTIVITY_KERNEL)
        return 0;
    uint8_t *known = &fuser->arrays[replay->trace->activity.name[activity]];
    if (*known == 0) {
        struct text name = activity_name(replay, activity);
        unsigned arrays = kernel_elementwise_arrays(name);
        if (fuser->pattern.length)
            arrays = name_matches(name, fuser->pattern) ? MAX(arrays, 2) : 0;
        *known = (uint8_t)(arrays + 1);
    }
    return *known - 1;
}

static double bytes_of(const struct replay *replay, size_t activity) {
    const struct work *work = replay->source.work;
    return work && work->bytes ? work->bytes[activity] : 0;
}

static bool is_apple(const struct replay *replay, uint32_t row) {
    const struct columns_device *device = &replay->trace->device;
    return text_is(trace_text(replay->trace, device->vendor[activity_device(replay, row)]),
                   "Apple");
}

/* Equal numbers of elements: by launched threads or, if unknown, by bytes. Metal's GPU intervals
 * have neither: element-wise kernels that take about as long access about as much. */
static bool same_amount(const struct fuser *fuser, uint32_t a, uint32_t b) {
    const struct replay *replay = fuser->run->replay;
    uint64_t x = grid_threads(replay, a), y = grid_threads(replay, b);
    if (fuser->pattern.length)
        return true;
    if (x && y)
        return x == y;
    double p = bytes_of(replay, a), q = bytes_of(replay, b);
    if (p == 0 && q == 0 && is_apple(replay, a)) {
        const int64_t *duration = replay->trace->activity.duration;
        return duration[a] < 2 * duration[b] && duration[b] < 2 * duration[a];
    }
    return p > 0 && q > 0 && p < 2 * q && q < 2 * p;
}

/* Only launches of the chain, or calls without device work, between the two. */
static bool nothing_between(const struct run *run, uint32_t a, uint32_t b) {
    enum { FAR = 256 };
    const struct replay *replay = run->replay;
    uint32_t from = replay->launch[a], until = replay->launch[b];
    if (from == NO_ROW || until == NO_ROW || from == until)
        return from == until;
    if (until < from || until - from > FAR ||
        replay->trace->call.thread[from] != replay->trace->call.thread[until] ||
        !same_step(replay, from, until))
        return false;
    for (uint32_t i = from + 1; i < until; i++)
        if (is_outer(replay, i) && !run_call_removed(run, i) && replay->class[i] != CALL_OTHER)
            return false;
    return true;
}

static bool chain_continues(struct fuser *fuser, const struct chain *chain, uint32_t row) {
    const struct replay *replay = fuser->run->replay;
    uint32_t call = replay->launch[row];
    return chain->count && replay->previous[row] == chain->last &&
           !run_activity_removed(fuser->run, row) && kernel_arrays(fuser, row) &&
           (call == NO_ROW || in_loop(replay, replay->call_step[call])) &&
           same_amount(fuser, chain->last, row) && nothing_between(fuser->run, chain->last, row);
}

/* The time of an empty kernel. */
static int64_t empty_kernel_time(const struct replay *replay, uint32_t row) {
    uint32_t device = activity_device(replay, row);
    const struct limits *limits = replay->source.limits;
    double limit = limits ? limits[device].of[DEVICE_LIMIT_GRAPH_KERNEL] : 0;
    int64_t shortest = replay->typical[device].shortest_kernel;
    if (replay->from_start[row])
        return 0; /* it runs inside its call, like a function */
    /* the shortest of this trace, unless all kernels are long */
    int64_t much = limit > 0 && limit < 1e9 ? (int64_t)limit : replay->launch_call / 2;
    return shortest <= 2 * much ? shortest : much;
}

static void chain_add(struct fuser *fuser, struct chain *chain, uint32_t row) {
    const struct run *run = fuser->run;
    double bytes = bytes_of(run->replay, row), units = kernel_arrays(fuser, row);
    double above = (double)(run->duration[row] - empty_kernel_time(run->replay, row));
    if (chain->count == 0)
        *chain = (struct chain){.first = row,
                                .bytes = bytes,
                                .min_bytes = bytes,
                                .min_per_unit = above / units,
                                .min_per_byte = bytes > 0 ? above / bytes : 0};
    else
        chain->bytes = chain->bytes > 0 && bytes > 0 ? chain->bytes + bytes : 0;
    chain->last = row;
    chain->count++;
    chain->units += units;
    chain->min_bytes = MIN(chain->min_bytes, bytes);
    chain->min_per_unit = MIN(chain->min_per_unit, above / units);
    if (bytes > 0)
        chain->min_per_byte = MIN(chain->min_per_byte, above / bytes);
    chain->time += run->duration[row];
}

/* Data movement takes as long per byte as in the fastest kernel of the chain if that is near the
 * memory bandwidth (arithmetic is then hidden), else as at that bandwidth. The rest of the time is
 * arithmetic, which stays. Movement shrinks by the arrays that are no longer written and read
 * again: one of each per join. */
static int64_t fused_time(const struct fuser *fuser, const struct chain *chain) {
    const struct replay *replay = fuser->run->replay;
    const struct limits *limits = replay->source.limits;
    uint32_t device = activity_device(replay, chain->first);
    double rate = limits ? limits[device].of[DEVICE_LIMIT_MEMORY] : 0;
    double joins = chain->count - 1, base = (double)empty_kernel_time(replay, chain->first);
    double left, moving, above = (double)chain->time - base * chain->count;
    if (chain->bytes > 0) {
        left = 1 - joins * chain->min_bytes / chain->bytes;
        moving = chain->min_per_byte * chain->bytes;
        double at_rate = rate > 0 ? chain->bytes / rate * 1e9 : moving;
        if (moving > NEAR_RATE * at_rate)
            moving = at_rate;
    } else {
        left = (chain->units - 2 * joins) / chain->units;
        moving = chain->min_per_unit * chain->units;
    }
    left = left < 1.0 / chain->count ? 1.0 / chain->count : left;
    moving = moving > 0 ? moving : 0;
    above = above > 0 ? above : 0;
    return MIN((int64_t)(base + above - moving * (1 - left)), chain->time);
}

static void fuse_chain(struct fuser *fuser, const struct chain *chain) {
    struct run *run = fuser->run;
    const struct replay *replay = run->replay;
    uint32_t row = chain->last;
    if (chain->count < 2)
        return;
    run->duration[chain->first] = fused_time(fuser, chain);
    while (row != chain->first) {
        uint32_t before = replay->previous[row];
        uint32_t call = replay->launch[row];
        if (call != NO_ROW && call != replay->launch[chain->first])
            for (uint32_t i = replay->launch[before] + 1; i <= call; i++)
                if (is_outer(replay, i))
                    run_drop_call(run, i, true);
        run_drop_activity(run, row);
        row = before;
    }
    fuser->kernels += chain->count;
    fuser->chains++;
}

/* Whether the chain spans iterations of an unmarked loop: it is longer than the period. */
static bool spans_iterations(const struct replay *replay, const struct chain *chain) {
    const struct steps *steps = replay->source.steps;
    if (replay->launch[chain->first] == NO_ROW)
        return false;
    return steps->count == 0 || (steps->source == STEPS_PERIODIC && chain->count > steps->period);
}

/* The host time before each launch of the chain. */
static void collect_launches(const struct replay *replay, const struct chain *chain, uint32_t *rows,
                             int64_t *pauses) {
    uint32_t row = chain->last;
    for (size_t i = chain->count; i-- > 0; row = replay->previous[row]) {
        uint32_t call = replay->launch[row], before;
        rows[i] = row;
        if (i == 0)
            break;
        before = replay->launch[replay->previous[row]];
        pauses[i] = replay->call_start[call] - replay->call_end[before];
    }
}

/* A chain that spans iterations becomes one chain per iteration, split at the host's pauses or,
 * without those, at the repetitions of the sequence. */
static bool fuse_iterations(struct fuser *fuser, const struct chain *chain, struct status *status) {
    const struct replay *replay = fuser->run->replay;
    if (chain->count < 2 || !spans_iterations(replay, chain)) {
        fuse_chain(fuser, chain);
        return true;
    }
    uint32_t *rows = memory_allocate(chain->count, sizeof *rows, status);
    int64_t *pauses = memory_allocate(chain->count, sizeof *pauses, status);
    size_t period = 0, phase = 0;
    bool ok = rows && pauses;
    if (ok) {
        collect_launches(replay, chain, rows, pauses);
        ok = loop_period_find(pauses, chain->count, &period, &phase, status);
    }
    struct chain part = {0};
    for (size_t i = 0; i < chain->count && ok; i++) {
        bool begins = period ? i % period == phase
                             : i > 0 && replay->call_step[replay->launch[rows[i]]] !=
                                            replay->call_step[replay->launch[rows[i - 1]]];
        if (begins) {
            fuse_chain(fuser, &part);
            part = (struct chain){0};
        }
        chain_add(fuser, &part, rows[i]);
    }
    if (ok)
        fuse_chain(fuser, &part);
    memory_free(rows);
    memory_free(pauses);
    return ok;
}

static bool find_chains(struct fuser *fuser, struct status *status) {
    const struct replay *replay = fuser->run->replay;
    struct chain *chains = memory_allocate(replay->queues, sizeof *chains, status);
    if (!chains)
        return false;
    bool ok = true;
    for (uint32_t row = 0; row < replay->activities && ok; row++) {
        struct chain *chain = &chains[replay->trace->activity.queue[row]];
        if (!chain_continues(fuser, chain, row)) {
            ok = fuse_iterations(fuser, chain, status);
            *chain = (struct chain){0};
            uint32_t call = replay->launch[row];
            if (kernel_arrays(fuser, row) == 0 || run_activity_removed(fuser->run, row) ||
                (call != NO_ROW && !in_loop(replay, replay->call_step[call])))
                continue;
        }
        chain_add(fuser, chain, row);
    }
    for (size_t queue = 0; queue < replay->queues && ok; queue++)
        ok = fuse_iterations(fuser, &chains[queue], status);
    memory_free(chains);
    return ok;
}

bool change_fuse(struct run *run, const struct change *change, struct outcome *outcome,
                 struct status *status) {
    struct fuser fuser = {.run = run, .pattern = change->pattern};
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    fuser.arrays = memory_allocate(run->replay->trace->strings.count, 1, status);
    bool ok = fuser.arrays && run_edit_calls(run, status) && run_edit_activities(run, status) &&
              find_chains(&fuser, status);
    memory_free(fuser.arrays);
    outcome->applicable = fuser.chains > 0;
    if (!ok)
        return false;
    if (!fuser.chains)
        return explain_no_kernel(run, "kernel", change->pattern,
                                 change->pattern.length
                                     ? "no two kernels of that name run back to back"
                                     : "no two element-wise kernels of equal size run back to back",
                                 outcome, status);
    snprintf(outcome->what, OUTCOME_TEXT, "%s kernels become %s", format_count(fuser.kernels, a),
             format_count(fuser.chains, b));
    snprintf(
        outcome->assumes, OUTCOME_TEXT,
        "each kernel of a chain reads what the previous one wrote, and no other kernel reads it");
    run->assumption_error += 0.15;
    return true;
}
