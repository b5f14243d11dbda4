/* What `ridge peaks` measured on this machine, for traces: given to a report of one that has no
 * roofs in it, and to a recording that is being made. No device is opened for it.
 */
#ifndef RIDGE_CMD_PEAKS_OPTION_H
#define RIDGE_CMD_PEAKS_OPTION_H

#include "analysis/limits.h"
#include "record/record.h"

/* By device id, for limits_find(); free with memory_free(). */
bool peaks_option_find(const struct trace *trace, struct limits **given, struct status *status);

/* For record_options. */
record_device_facts peaks_option_facts;

#endif
