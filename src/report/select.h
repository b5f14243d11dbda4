/* Which part of the run is a report about? Turns --range, --steps and --window into windows of each
 * device and of the host. */
#ifndef RIDGE_REPORT_SELECT_H
#define RIDGE_REPORT_SELECT_H

#include "report/report.h"

/* Whether the options make sense by themselves: for saying so before a long import. */
bool select_check(const struct report_options *options, struct status *status);
/* Fills report->narrowed and report->host_selection; the steps must be known already. */
bool select_host(struct report *report, struct status *status);
/* The steps of --steps, numbered from 0. */
bool select_steps(const struct report *report, size_t *first, size_t *last, struct status *status);
/* The device's windows; none when it did nothing in the selection. */
bool select_device(const struct report *report, uint32_t device, struct selection *selection,
                   struct status *status);

#endif
