/* The report of a distributed job: one screen for all ranks.
 *
 * struct job_report answers what is asked of the joined ranks once; the writers print it.
 */
#ifndef RIDGE_REPORT_JOB_H
#define RIDGE_REPORT_JOB_H

#include "base/output.h"
#include "ranks/cause.h"
#include "ranks/findings.h"
#include "ranks/path.h"
#include "ranks/ranks.h"
#include "ranks/steps.h"

/* Collectives of one operation, group and size. */
struct collective_kind {
    uint32_t operation, group;
    uint64_t bytes; /* 0: unknown */
    uint32_t ranks;
    uint64_t count;
    int64_t skew, skew_max; /* last arrival after the first: sum, and largest */
    int64_t transfer;       /* end after the last arrival: sum */
    double link_bytes;      /* of one; 0: unknown */
    double limit;           /* published, bytes per second of a link; 0: unknown */
    int64_t time, exposed;  /* of all members: sums */
};

struct job_report {
    const struct job *job;
    size_t straggler; /* index of the rank that costs most; SIZE_MAX: none is worth naming */
    struct rank_cause cause;
    struct late_steps late; /* of the straggler */
    struct job_findings findings;
    struct job_path path;
    int64_t balanced;              /* gain if every rank took as long as the median; -1: unknown */
    int64_t overlapped, faster;    /* gain with communication overlapped, and twice as fast */
    struct collective_kind *kinds; /* most exposed time first */
    size_t kind_count;
};

bool job_report_build(struct job_report *report, const struct job *job, struct status *status);
void job_report_finish(struct job_report *report);

bool job_report_text(const struct job_report *report, unsigned width, struct output *output,
                     struct status *status);
bool job_report_json(const struct job_report *report, struct output *output, struct status *status);
/* The page; `name` is what it is about. */
bool job_report_html(const struct job_report *report, const char *name, struct output *output,
                     struct status *status);

#endif
