/* A long run is replayed by a sample of its steps: the replay needs as much memory for an event as
 * the rest of the report, and steps in the middle of a loop are like the others.
 */
#ifndef RIDGE_REPORT_SAMPLE_H
#define RIDGE_REPORT_SAMPLE_H

#include "report/report.h"

/* Whether the run is too long to be replayed, and which of the steps stand for all of them. */
bool sample_choose(const struct report *report, struct step_range steps, struct step_range *chosen);
/* A replay of the chosen steps that stands for the selections, which are of `steps`; NULL on
 * failure. */
struct replay *sample_replay(const struct report *report, const struct selection *selections,
                             struct step_range steps, struct step_range chosen,
                             struct status *status);

#endif
