/* The looks are at 6, 8, 11, 15, 20 and 30 runs: each adds about a third, so that six of them cover
 * what five times as many runs can show. */
#include "compare/gate.h"

#include <math.h>

#include "base/array.h"
#include "base/min_max.h"
#include "base/rank_test.h"

static const unsigned looks[] = {GATE_FIRST_LOOK, 8, 11, 15, 20, GATE_LAST_LOOK};

const char *gate_verdict_name(unsigned verdict) {
    static const char *const names[] = {"within the gate", "regressed", "not decidable"};
    return names[verdict];
}

bool gate_is_look(unsigned runs) {
    for (size_t i = 0; i < ARRAY_COUNT(looks); i++)
        if (looks[i] == runs)
            return true;
    return false;
}

bool gate_decide(const double *before, size_t before_count, const double *after, size_t after_count,
                 double gate, unsigned metrics, struct gate_result *result, struct status *status) {
    struct rank_ratio alarm, miss;
    before_count = MIN(before_count, RANK_VALUES_MAX);
    after_count = MIN(after_count, RANK_VALUES_MAX);
    double each = 2.0 / ARRAY_COUNT(looks); /* both ways together: twice the chance of one */
    if (!rank_ratio(before, before_count, after, after_count,
                    GATE_FALSE_ALARM * each / MAX(metrics, 1u), &alarm, status) ||
        !rank_ratio(before, before_count, after, after_count, GATE_MISS * each, &miss, status))
        return false;
    *result = (struct gate_result){
        .verdict = GATE_UNDECIDED, .low = alarm.low, .ratio = alarm.ratio, .high = miss.high};
    result->smallest =
        alarm.confident ? gate + (1 + gate) * (alarm.ratio / alarm.low - 1) : INFINITY;
    if (miss.confident && miss.high < 1 + gate)
        result->verdict = GATE_WITHIN;
    else if (alarm.confident && alarm.low > 1 + gate)
        result->verdict = GATE_REGRESSED;
    return true;
}
