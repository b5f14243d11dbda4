/* The chains form a forest, because a thread's first call may follow a call of another thread.
 * Jumps are those of a skew-binary list: each call has one, and they double in length.
 *
 * The sums hold where no call starts before the one before it. Otherwise they are not built, and
 * gaps are walked. */
#include "whatif/call_sums.h"

#include <string.h>

#include "base/memory.h"

#define UNKNOWN_DEPTH UINT32_MAX

enum gap_cause call_cause(const struct replay *replay, uint32_t call) {
    switch (replay->class[call]) {
    case CALL_SYNC:
        return CAUSE_SYNC;
    case CALL_ALLOC:
        return CAUSE_ALLOC;
    case CALL_COMPILE:
        return CAUSE_COMPILE;
    case CALL_COPY:
        return replay->blocks[call] ? CAUSE_COPY_CALL : CAUSE_LAUNCH;
    case CALL_LAUNCH:
        return CAUSE_LAUNCH;
    default:
        return CAUSE_HOST;
    }
}

/* Sums and jump of a call whose chain is complete. False: it starts before the one before it. */
static bool add_call(struct call_sums *sums, uint32_t call) {
    const struct run *run = sums->run;
    uint32_t before = run_call_before(run->replay, call);
    int64_t *time = sums->time + (size_t)call * CAUSE_COUNT;
    if (before == NO_ROW) {
        sums->depth[call] = 0;
        sums->jump[call] = call;
        return true;
    }
    int64_t start = run->call_start[before], end = run->call_start[call];
    int64_t left = MIN(MAX(run->call_end[before], start), end);
    uint32_t jump = sums->jump[before];
    if (start > end)
        return false;
    memcpy(time, sums->time + (size_t)before * CAUSE_COUNT, CAUSE_COUNT * sizeof *time);
    time[call_cause(run->replay, before)] += left - start;
    time[CAUSE_HOST] += end - left;
    bool doubles = sums->depth[before] - sums->depth[jump] ==
                   sums->depth[jump] - sums->depth[sums->jump[jump]];
    sums->depth[call] = sums->depth[before] + 1;
    sums->jump[call] = doubles ? sums->jump[jump] : before;
    return true;
}

/* All calls, each after the one before it. False: a chain has no first call, or add_call() failed.
 */
static bool add_calls(struct call_sums *sums, uint32_t *chain, size_t calls) {
    const struct replay *replay = sums->run->replay;
    for (uint32_t first = 0; first < calls; first++) {
        size_t length = 0;
        uint32_t call = first;
        while (call != NO_ROW && sums->depth[call] == UNKNOWN_DEPTH) {
            if (length == calls)
                return false;
            chain[length++] = call;
            call = run_call_before(replay, call);
        }
        while (length > 0)
            if (!add_call(sums, chain[--length]))
                return false;
    }
    return true;
}

bool call_sums_build(struct call_sums *sums, const struct run *run, struct status *status) {
    enum { DEVICES_MIN = 32 };
    size_t calls = run->replay->trace->call.count;
    memset(sums, 0, sizeof *sums);
    if (run->replay->devices < DEVICES_MIN)
        return true;
    sums->run = run;
    sums->depth = memory_allocate(calls, sizeof *sums->depth, status);
    sums->jump = memory_allocate(calls, sizeof *sums->jump, status);
    sums->time = memory_allocate(calls, CAUSE_COUNT * sizeof *sums->time, status);
    uint32_t *chain = memory_allocate(calls, sizeof *chain, status);
    bool ok = sums->depth && sums->jump && sums->time && chain;
    if (ok)
        memset(sums->depth, 0xff, calls * sizeof *sums->depth);
    if (!ok || !add_calls(sums, chain, calls))
        call_sums_finish(sums);
    memory_free(chain);
    return ok;
}

void call_sums_finish(struct call_sums *sums) {
    memory_free(sums->depth);
    memory_free(sums->jump);
    memory_free(sums->time);
    memset(sums, 0, sizeof *sums);
}

uint32_t call_sums_skip(const struct call_sums *sums, uint32_t call, int64_t start,
                        int64_t *cause) {
    if (!sums->run)
        return call;
    const int64_t *call_start = sums->run->call_start;
    uint32_t at = call;
    for (;;) {
        uint32_t before = run_call_before(sums->run->replay, at);
        if (before == NO_ROW || call_start[before] <= start)
            break;
        at = call_start[sums->jump[at]] > start ? sums->jump[at] : before;
    }
    for (unsigned i = 0; i < CAUSE_COUNT; i++)
        cause[i] +=
            sums->time[(size_t)call * CAUSE_COUNT + i] - sums->time[(size_t)at * CAUSE_COUNT + i];
    return at;
}
