/* Where does a loop's turn begin, when all that it launches looks alike? A loop does a little more
 * between two turns than within one: of the host's pauses before launches one that stands out among
 * those around it then comes at even distances. */
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "whatif/run.h"

/* A pause this many times the median of those around it stands out. */
#define STANDS_OUT 1.4
enum { AROUND = 8, TURN_MAX = 4096, TURNS_MIN = 3 };

static bool stands_out(const int64_t *pauses, size_t count, size_t at) {
    int64_t around[2 * AROUND + 1];
    size_t from = at > AROUND ? at - AROUND : 1;
    size_t until = at + AROUND < count ? at + AROUND + 1 : count;
    memcpy(around, pauses + from, (until - from) * sizeof *around);
    int64_t median = sort_select(around, until - from, (until - from) / 2);
    return (double)pauses[at] > STANDS_OUT * (double)MAX(median, 0);
}

/* How often two that stand out are d launches apart, in of[d]. */
static size_t count_distances(const uint8_t *out, size_t count, uint32_t *of) {
    size_t last = 0, distances = 0;
    for (size_t i = 1; i < count; i++) {
        if (!out[i])
            continue;
        if (last > 0) {
            distances++;
            of[i - last < TURN_MAX ? i - last : 0]++;
        }
        last = i;
    }
    return distances;
}

/* The remainder that most of those that stand out have when their place is divided by `turn`. */
static size_t find_phase(const uint8_t *out, size_t count, size_t turn, uint32_t *of) {
    size_t best = 0;
    memset(of, 0, turn * sizeof *of);
    for (size_t i = 1; i < count; i++)
        of[i % turn] += out[i];
    for (size_t i = 1; i < turn; i++)
        if (of[i] > of[best])
            best = i;
    return best;
}

bool loop_period_find(const int64_t *pauses, size_t count, size_t *turn, size_t *phase,
                      struct status *status) {
    *turn = *phase = 0;
    if (count < 2 * TURNS_MIN)
        return true;
    uint8_t *out = memory_allocate(count, 1, status);
    size_t most = count < TURN_MAX ? count : TURN_MAX; /* no turn is longer */
    uint32_t *of = memory_allocate(most, sizeof *of, status);
    bool ok = out && of;
    if (ok) {
        size_t best = 1;
        for (size_t i = 1; i < count; i++)
            out[i] = stands_out(pauses, count, i);
        size_t distances = count_distances(out, count, of);
        for (size_t i = 2; i < most; i++)
            if (of[i] > of[best])
                best = i;
        /* most of them are that far apart, and as often as there are turns */
        if (best > 1 && of[best] >= TURNS_MIN && 2 * (size_t)of[best] > distances &&
            2 * (size_t)of[best] * best > count) {
            *turn = best;
            *phase = find_phase(out, count, best, of);
        }
    }
    memory_free(out);
    memory_free(of);
    return ok;
}
