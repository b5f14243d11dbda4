/* What else holds a job back than one late rank? Each finding has its cost: what the job would gain
 * by the replay of all ranks without it. */
#ifndef RIDGE_RANKS_FINDINGS_H
#define RIDGE_RANKS_FINDINGS_H

#include "ranks/ranks.h"

enum job_finding_kind {
    JOB_PIPELINE,       /* stages wait for their first and after their last micro-batch */
    JOB_STAGES,         /* stages of a pipeline have different amounts of work */
    JOB_EXPERTS,        /* ranks come to all-to-alls at different times */
    JOB_OVERLAP,        /* transfers while nothing computes */
    JOB_SLOW_LINK,      /* some ranks transfer slower than others do the same */
    JOB_LINK_LIMIT,     /* transfers are far below the published limit of the links */
    JOB_SLOW_HOST,      /* all ranks of a host are slower */
    JOB_TOPOLOGY,       /* groups with much traffic span hosts, those with little do not */
    JOB_SMALL_MESSAGES, /* many small collectives in each step */
    JOB_FINDING_KINDS
};
/* "pipeline-bubbles", ...; for JSON. */
const char *job_finding_name(enum job_finding_kind kind);

/* Times are of the whole window, as those of the accounts. */
struct job_finding {
    enum job_finding_kind kind;
    int64_t cost;
    uint32_t host;                  /* of JOB_SLOW_HOST, in job->names */
    uint32_t group;                 /* whose ranks transfer slowly, or span hosts; in job->names */
    uint32_t operation;             /* likewise */
    size_t rank;                    /* of JOB_STAGES and JOB_EXPERTS: the one with the most work */
    int64_t sender, receiver;       /* of JOB_SLOW_LINK with messages: ranks; else -1 */
    double ratio;                   /* of that rank, host or link to the others */
    double rate, typical_rate;      /* bytes per second over a link; 0: unknown */
    size_t stages;                  /* of JOB_PIPELINE */
    int64_t warm_up, steady, drain; /* likewise: idle time, a mean over the stages */
    int64_t transfer;               /* of JOB_OVERLAP: exposed, a mean over the ranks */
    double count;                   /* of JOB_SMALL_MESSAGES: in a step */
    uint64_t bytes;                 /* likewise: mean size */
};

struct job_findings {
    struct job_finding *list; /* largest cost first */
    size_t count, capacity;
};

/* Findings with a cost of at least 2 % of the job. None if the job cannot be replayed. */
bool job_findings_build(struct job_findings *findings, const struct job *job,
                        struct status *status);
void job_findings_finish(struct job_findings *findings);

/* Adds the finding if it is worth reporting. */
bool job_finding_add(struct job_findings *findings, const struct job *job,
                     struct job_finding finding, struct status *status);
/* Rules of a file of their own: pipelines, links. */
bool find_pipeline(struct job_findings *findings, const struct job *job, struct status *status);
bool find_links(struct job_findings *findings, const struct job *job, struct status *status);

#endif
