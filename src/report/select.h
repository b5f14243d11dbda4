/* Which part of the run is a report about? Turns --range, --steps and --window into windows of each
 * device and of the host; of several, what all of them select. */
#ifndef RIDGE_REPORT_SELECT_H
#define RIDGE_REPORT_SELECT_H

#include "report/report.h"

/* Whether a value of --steps names a loop: "FILE:LINE". */
bool select_is_loop(const char *steps);
/* Whether the options make sense by themselves: for saying so before a long import. */
bool select_check(const struct report_options *options, struct status *status);
/* Fills report->narrowed and report->host_selection; the steps must be known already. */
bool select_host(struct report *report, struct status *status);
/* The steps of --steps, numbered from 0. */
bool select_steps(const struct report *report, size_t *first, size_t *last, struct status *status);
/* The windows of these devices, into selections[id]; none for one that did nothing in the part. */
bool select_devices(const struct report *report, const uint32_t *devices, size_t count,
                    struct selection *selections, struct status *status);

#endif
