/* Small traces with known figures, and what a report's writers make of them. */
#ifndef RIDGE_TESTS_UNIT_REPORT_SAMPLE_H
#define RIDGE_TESTS_UNIT_REPORT_SAMPLE_H

#include "report/report.h"
#include "trace/writer.h"

struct sample_names {
    const char *label, *device, *kernel, *range, *warning;
};

/* One device from 100 to 190: kernels of that name in [100, 120) and [150, 170), a copy of 1000
 * bytes from pageable memory in [180, 190). The second kernel is launched by a call in [125, 130),
 * inside a range of that name over [90, 140); the first one before recording began; the copy by a
 * call in [160, 200). */
void sample_write(struct trace_writer *writer, const struct sample_names *names);

typedef bool sample_report_writer(const struct report *report, struct output *output,
                                  struct status *status);

/* The trace that `fill` writes, as a report that `write` puts into `written`. False on failure. */
bool sample_report(void (*fill)(struct trace_writer *writer), const struct report_options *options,
                   sample_report_writer *write, struct buffer *written, struct status *status);

/* Lets every allocation of the writer fail in turn: it must say so each time, and succeed at last.
 */
void sample_check_out_of_memory(void (*fill)(struct trace_writer *writer),
                                sample_report_writer *write);

#endif
