/* Where does a sequence repeat, and with which period? A loop is most likely in the middle, or in
 * ever shorter suffixes after a long start. The repetition found there may still be minor, such as
 * a start-up beside a loop of one row per iteration: if it has less than a third of the work, parts
 * of equal work are searched as well. */
#include "analysis/cycle.h"

#include "base/array.h"
#include "base/memory.h"

enum { PERIOD_ROWS_MAX = 3 << 20 };

/* The smallest period of names[0..count), by the Knuth–Morris–Pratt failure function: the sequence
 * equals itself shifted by it. */
static bool smallest_period(const uint32_t *names, size_t count, size_t *period,
                            struct status *status) {
    uint32_t *fail = memory_allocate(count + 1, sizeof *fail, status);
    if (!fail)
        return false;
    for (size_t i = 1, k = 0; i < count; i++) {
        while (k > 0 && names[i] != names[k])
            k = fail[k];
        if (names[i] == names[k])
            k++;
        fail[i + 1] = (uint32_t)k;
    }
    *period = count - fail[count];
    memory_free(fail);
    return true;
}

/* The cycle that contains names[from .. from + length), extended in both directions; period 0 when
 * they do not repeat. */
static bool follow_cycle(const uint32_t *names, size_t count, size_t from, size_t length,
                         struct cycle *cycle, struct status *status) {
    size_t period = 0;
    *cycle = (struct cycle){0};
    if (!smallest_period(names + from, length, &period, status))
        return false;
    if (period * 2 > length)
        return true;
    size_t first = from, end = from + length;
    while (first > 0 && names[first - 1] == names[first - 1 + period])
        first--;
    while (end < count && names[end] == names[end - period])
        end++;
    if ((end - first) / period >= 3)
        *cycle = (struct cycle){first, end, period};
    return true;
}

/* A loop after a long start: ever shorter suffixes, without their own end, where the run has left
 * the loop. Equal neighbors count if nothing else repeats. */
static bool find_late_cycle(const uint32_t *names, size_t count, struct cycle *cycle,
                            struct status *status) {
    enum { ROWS_MIN = 8, PARTS = 4 };
    struct cycle equal = {0};
    for (unsigned part = 1; part <= PARTS; part++) {
        size_t length = count >> part;
        length = length < PERIOD_ROWS_MAX ? length : PERIOD_ROWS_MAX;
        if (length < ROWS_MIN)
            break;
        if (!follow_cycle(names, count, count - length, length - length / 4, cycle, status))
            return false;
        if (cycle->period >= 2)
            return true;
        if (cycle->period == 1 && equal.period == 0)
            equal = *cycle;
    }
    *cycle = equal;
    return true;
}

/* The middle is usually past the warm-up and before the end. */
static bool find_by_rows(const uint32_t *names, size_t count, struct cycle *cycle,
                         struct status *status) {
    size_t third = count / 3;
    if (count < 32) /* too short to extrapolate from a part */
        return follow_cycle(names, count, 0, count, cycle, status);
    size_t length = third < PERIOD_ROWS_MAX ? third : PERIOD_ROWS_MAX;
    if (!follow_cycle(names, count, third, length, cycle, status))
        return false;
    return cycle->period > 0 || find_late_cycle(names, count, cycle, status);
}

static double work_between(const int64_t *work, size_t first, size_t end) {
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += (double)work[i];
    return sum;
}

/* Uses the cycle that contains names[first..end) if it has more work than the best so far. */
static bool take_heavier(const uint32_t *names, const int64_t *work, size_t count, size_t first,
                         size_t end, struct cycle *cycle, double *max_work, struct status *status) {
    enum { ROWS_MIN = 8, ITERATIONS_MIN = 4 };
    struct cycle found;
    size_t length = end - first < PERIOD_ROWS_MAX ? end - first : PERIOD_ROWS_MAX;
    if (length < ROWS_MIN)
        return true;
    if (!follow_cycle(names, count, first, length, &found, status))
        return false;
    if (found.period == 0 || (found.end - found.first) / found.period < ITERATIONS_MIN)
        return true;
    double inside = work_between(work, found.first, found.end);
    if (inside > *max_work) {
        *cycle = found;
        *max_work = inside;
    }
    return true;
}

/* The heaviest of the cycles around parts of equal work: a loop with half of the work contains
 * whole quarters and eighths of it, wherever it begins. */
static bool find_by_work(const uint32_t *names, const int64_t *work, size_t count, double all,
                         struct cycle *cycle, double *max_work, struct status *status) {
    static const unsigned divisions[] = {2, 3, 4, 8, 16};
    for (size_t d = 0; d < ARRAY_COUNT(divisions); d++) {
        double done = 0, share = all / divisions[d];
        size_t first = 0;
        unsigned part = 1;
        for (size_t i = 0; i < count; i++) {
            done += (double)work[i];
            if (done < part * share && i + 1 < count)
                continue;
            if (!take_heavier(names, work, count, first, i + 1, cycle, max_work, status))
                return false;
            first = i + 1;
            while (part * share <= done && part < divisions[d])
                part++;
        }
    }
    return true;
}

bool cycle_find(const uint32_t *names, const int64_t *work, size_t count, struct cycle *cycle,
                struct status *status) {
    *cycle = (struct cycle){0};
    if (count < 3)
        return true;
    if (!find_by_rows(names, count, cycle, status))
        return false;
    if (!work)
        return true;
    double all = work_between(work, 0, count),
           max_work = work_between(work, cycle->first, cycle->end);
    if (3 * max_work >= all)
        return true;
    max_work *= 2; /* a cycle with many rows is the loop unless another has far more work */
    return find_by_work(names, work, count, all, cycle, &max_work, status);
}
