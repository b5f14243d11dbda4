/* Has it become slower than a gate allows? A sequential test over runs of both sides.
 *
 * The ratio of the sides has a confidence interval from an exact rank test. It is within the gate
 * when the interval lies below 1 + gate, regressed when it lies above, and not decidable while the
 * gate lies inside. The interval is looked at after few runs and again after more; the chances of
 * error are divided among the looks and the metrics.
 */
#ifndef RIDGE_COMPARE_GATE_H
#define RIDGE_COMPARE_GATE_H

#include <stddef.h>

#include "base/status.h"

enum gate_verdict { GATE_WITHIN, GATE_REGRESSED, GATE_UNDECIDED };
const char *gate_verdict_name(unsigned verdict);

#define GATE_FALSE_ALARM 0.01 /* chance to fail a change below the gate, over looks and metrics */
#define GATE_MISS 0.05        /* chance to pass a change above the gate, for each metric */

struct gate_result {
    enum gate_verdict verdict;
    double low, ratio, high; /* after / before; higher is slower */
    double smallest;         /* slowdown that these runs could have found; infinite: none */
};

/* Values are positive and better when lower. `metrics` are gated together. */
bool gate_decide(const double *before, size_t before_count, const double *after, size_t after_count,
                 double gate, unsigned metrics, struct gate_result *result, struct status *status);

/* Whether to look after this many runs of each side. */
bool gate_is_look(unsigned runs);
/* The first and the last look. */
enum { GATE_FIRST_LOOK = 6, GATE_LAST_LOOK = 30 };

#endif
