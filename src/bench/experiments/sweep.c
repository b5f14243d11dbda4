/* Sums up the curve of a sweep: its best point, those that are as good, and the worst. */
#include "bench/experiments/sweep.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"

#define AS_GOOD 1.05 /* times the best: no reason to prefer one of them */

double sweep_time(const struct stage *stage, const struct result *result) {
    if (*result->problem)
        return 0;
    return stage->is_gpu && result->device_ns > 0 ? result->device_ns : result->time.time.median;
}

struct curve {
    const struct result *results;
    size_t count;
    size_t best, worst;
    double best_ns, worst_ns; /* 0: nothing was measured */
};

static struct curve curve_of(const struct stage *stage, const struct result *results,
                             size_t count) {
    struct curve curve = {.results = results};
    for (; curve.count < count && strcmp(results[curve.count].label, results->label) == 0;
         curve.count++) {
        double ns = sweep_time(stage, &results[curve.count]);
        if (ns > 0 && (curve.best_ns == 0 || ns < curve.best_ns)) {
            curve.best_ns = ns;
            curve.best = curve.count;
        }
        if (ns > curve.worst_ns) {
            curve.worst_ns = ns;
            curve.worst = curve.count;
        }
    }
    return curve;
}

/* "; 128, 256 are as good": those within a few percent of the best. */
static void list_as_good(const struct stage *stage, const struct curve *curve, unsigned number,
                         char *text, size_t capacity) {
    size_t length = 0, found = 0;
    *text = 0;
    for (size_t i = 0; i < curve->count; i++) {
        double ns = sweep_time(stage, &curve->results[i]);
        if (i == curve->best || ns == 0 || ns > AS_GOOD * curve->best_ns || length >= capacity)
            continue;
        length +=
            (size_t)snprintf(text + length, capacity - length, "%s%lld", found++ ? ", " : "; ",
                             (long long)curve->results[i].numbers[number]);
    }
    if (found > 0 && length < capacity)
        snprintf(text + length, capacity - length,
                 found == 1 ? " is equally good" : " are equally good");
}

static bool add_best(const struct stage *stage, const struct curve *curve, unsigned number,
                     const char *key, const char *noun, struct result_set *set,
                     struct status *status) {
    const struct result *best = &curve->results[curve->best];
    const struct result *worst = &curve->results[curve->worst];
    char time[FORMAT_SIZE], as_good[120], slowest[80] = "";
    list_as_good(stage, curve, number, as_good, sizeof as_good);
    if (curve->worst_ns > AS_GOOD * curve->best_ns)
        snprintf(slowest, sizeof slowest, "; %s %lld takes %.1fx as long", noun,
                 (long long)worst->numbers[number], curve->worst_ns / curve->best_ns);
    return finding_add(set, best->experiment, best->device, key, (double)best->numbers[number],
                       status, "%s: %s %lld is best, with %s%s%s.", best->label, noun,
                       (long long)best->numbers[number],
                       format_duration((int64_t)curve->best_ns, time), as_good, slowest);
}

bool sweep_conclude(const struct stage *stage, const struct result *results, size_t count,
                    unsigned number, const char *key, const char *noun, struct result_set *set,
                    struct status *status) {
    for (size_t i = 0; i < count;) {
        struct curve curve = curve_of(stage, results + i, count - i);
        if (curve.best_ns > 0 && !add_best(stage, &curve, number, key, noun, set, status))
            return false;
        i += curve.count;
    }
    return true;
}
