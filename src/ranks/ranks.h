/* A distributed job: several ranks, their collectives, and who waits for whom.
 *
 * A job holds no trace. Each rank is read from its trace once (job_add), which may then be closed:
 * of a rank only its communication, its exposed communication and what its host did are kept, so
 * that a job of many ranks fits into memory. job_join() matches the collectives, aligns the
 * clocks and accounts for the time.
 *
 *   struct job job = {0};
 *   ok = job_add(&job, trace, "rank0.ridge", &status) && ... && job_join(&job, &status);
 *   ... job.ranks, job.collectives ...
 *   job_finish(&job);
 *
 * Times of a rank are those of its own clock; clock_aligned() maps them to the common one.
 */
#ifndef RIDGE_RANKS_RANKS_H
#define RIDGE_RANKS_RANKS_H

#include "base/intern.h"
#include "base/status.h"
#include "trace/reader.h"

#define NO_COLLECTIVE SIZE_MAX

struct interval {
    int64_t start, end; /* [start, end) */
};

struct intervals {
    struct interval *list; /* sorted, disjoint, not empty */
    size_t count, capacity;
};

/* How the end of an operation depends on its members. */
enum dependence {
    DEPENDS_ALL,    /* it ends everywhere after all have arrived: all-reduce, barrier */
    DEPENDS_ROOT,   /* after the root has arrived: broadcast, scatter */
    DEPENDS_GATHER, /* at the root after all have arrived: reduce, gather */
    DEPENDS_SENDER, /* a message: at the receiver after the sender has arrived */
    DEPENDS_UNKNOWN /* its root is not recorded, or the operation is not known */
};

/* An operation of one rank. */
struct rank_event {
    int64_t start, end;
    uint64_t bytes;                 /* the larger of input and output of one rank; 0: unknown */
    uint64_t sequence;              /* in its group; 0: not recorded */
    uint32_t operation, group;      /* names, in job->names; group 0: unknown */
    uint32_t group_size;            /* 0: unknown */
    int32_t group_rank, root, peer; /* -1: unknown or none */
    uint32_t lane;     /* its queue or thread: operations of one lane follow each other */
    uint8_t is_device; /* a kernel */
    size_t collective; /* index in job->collectives, or NO_COLLECTIVE */
};

/* What a rank did while it did not communicate. */
enum rank_part_kind {
    PART_KERNEL,  /* kernels of a name */
    PART_RUNNING, /* the main thread ran in a function */
    PART_BLOCKED, /* it was blocked in a function */
    PART_KINDS
};
struct rank_part {
    enum rank_part_kind kind;
    uint32_t label;              /* kernel or function, in job->names */
    uint32_t place;              /* "file:line", in job->names; 0: unknown */
    uint8_t blocked_on;          /* enum blocked_on */
    bool is_input, is_collector; /* a data loader; a garbage collector */
    int64_t time;
    uint64_t count;
    int64_t ready;   /* of PART_RUNNING: in that function, ready to run without a processor */
    uint64_t blocks; /* of PART_KERNEL: thread blocks of all launches; 0: unknown */
};

/* window = compute + wait + transfer + unmatched + copy + idle, exactly. */
struct rank_account {
    int64_t window;
    int64_t compute;   /* a kernel computes, or the main thread runs */
    int64_t wait;      /* exposed communication until the last rank has arrived */
    int64_t transfer;  /* and after that */
    int64_t unmatched; /* exposed communication of which the other ranks are not known */
    int64_t copy;      /* exposed copies */
    int64_t idle;
};

struct rank {
    int64_t number;       /* -1: unknown */
    int64_t local, world; /* -1: unknown */
    uint32_t host;        /* name, in job->names; 0: unknown */
    uint32_t source;      /* name of its file, in job->names */
    bool has_device;      /* kernels or copies were recorded */
    uint32_t device;      /* name of its device; 0: unknown */
    uint64_t pid;
    bool is_cut;               /* its recording has no end, or has damage */
    uint64_t drops;            /* events that were lost */
    struct interval span;      /* of everything that was read */
    struct rank_event *events; /* in order of start */
    size_t event_count, event_capacity;
    struct intervals compute, communication, copies; /* unions */
    struct intervals exposed;                        /* communication without computing */
    struct rank_part *parts;
    size_t part_count, part_capacity;
    double clock_mhz; /* mean of its device; 0: unknown */

    /* Set by job_join(). */
    size_t clock; /* index in job->clocks */
    struct interval window;
    struct rank_account account;
    uint64_t last_arrivals; /* collectives at which it arrived last */
    int64_t lateness;       /* summed over those: after the next to last */
    int64_t cost;           /* that the job gains if it takes as long as the median; see replay.h */
};

/* A clock: of a host, or of a rank whose host is not known. Aligned time is local time minus
 * offset + drift * (local time - origin). */
enum clock_state {
    CLOCK_REFERENCE,
    CLOCK_SHARED,     /* the same host as the reference */
    CLOCK_CONSISTENT, /* the host is unknown, and the times agree with the reference */
    CLOCK_SOLVED,
    CLOCK_UNSOLVED /* no operation connects it, or its operations contradict each other */
};
struct job_clock {
    uint32_t host;
    size_t reference; /* rank of the first member */
    enum clock_state state;
    int64_t origin;
    double offset, drift;
    double error; /* bound of the aligned times, in nanoseconds */
    size_t constraints;
    bool contradicts; /* of CLOCK_UNSOLVED: there are operations, but no line satisfies them */
};

/* A collective or message that was matched over ranks. */
struct collective {
    uint32_t operation, group;
    uint64_t bytes;
    uint64_t sequence;
    enum dependence dependence;
    size_t first, count; /* members: job->members[first ..] */
    uint32_t expected;   /* size of its group; 0: unknown */
    bool is_device;
    /* Aligned time; set by job_join(). */
    int64_t first_arrival, last_arrival, end;
    uint32_t last_rank; /* index in job->ranks */
};
struct member {
    uint32_t rank; /* index in job->ranks */
    uint32_t event;
};

/* Steps of the job: it repeats the same collectives. */
struct job_steps {
    size_t period; /* collectives in a step; 0: none were found */
    size_t first;  /* index in `shared` of the first step's first collective */
    size_t count;
};

struct job {
    struct intern names;
    struct rank *ranks; /* in order of number */
    size_t rank_count, rank_capacity;
    int64_t world; /* -1: unknown */
    struct job_clock *clocks;
    size_t clock_count;
    struct collective *collectives; /* by last arrival */
    size_t collective_count, collective_capacity;
    struct member *members;
    size_t member_count, member_capacity;
    uint64_t events, matched; /* operations of all ranks, and those with a complete match */
    uint64_t partial;         /* in a match that lacks a rank */
    uint64_t waits;           /* waits for requests, which are matched with nothing */
    size_t *shared;           /* indexes of the collectives in which all ranks take part */
    size_t shared_count;
    struct job_steps steps;
    struct interval window; /* aligned: from the first shared collective's end to the last one's */
    struct rank_account account; /* sums over the ranks */
    bool contradiction;          /* on one host: a collective ends before its last rank arrives */
    int64_t contradiction_max;
    uint64_t contradictions;
    int64_t replayed; /* length of the job as replayed without a change; -1: not possible */
};

/* Reads all ranks of a trace; the trace may be closed afterwards. `name` is that of its file. */
bool job_add(struct job *job, struct trace *trace, const char *name, struct status *status);
/* Matches, aligns and accounts. */
bool job_join(struct job *job, struct status *status);
void job_finish(struct job *job);

static inline struct text job_text(const struct job *job, uint32_t name) {
    return intern_text(&job->names, name);
}
/* Ranks that the job should have and that were not read: the nth; -1: there are no more. */
int64_t job_missing(const struct job *job, size_t nth);

/* The part of a time of the whole window that falls on a step; 0 without steps. */
int64_t job_step_time(const struct job *job, int64_t of);

int64_t clock_aligned(const struct job *job, const struct rank *rank, int64_t time);
int64_t clock_local(const struct job *job, const struct rank *rank, int64_t aligned);
bool clock_is_aligned(const struct job *job, const struct rank *rank);
/* Whether an operation can complete at one member only after the other has arrived. */
bool collective_depends(const struct job *job, const struct collective *collective,
                        const struct rank_event *own, const struct rank_event *other);
/* When an operation can complete at a member: the last arrival that it depends on, aligned; that of
 * itself for one without a match. */
int64_t collective_release(const struct job *job, const struct collective *collective,
                           const struct member *member);
/* Bytes that each rank sends, by the ring algorithm; 0: unknown. */
double collective_link_bytes(const struct job *job, const struct collective *collective);

/* The rank that costs most, if the job gains at least 2 % of its time without it; or SIZE_MAX. */
size_t job_straggler(const struct job *job);

/* The steps of job_join(), for their tests. */
bool job_match(struct job *job, struct status *status);
bool job_align(struct job *job, struct status *status);
bool job_account(struct job *job, struct status *status);
bool job_find_steps(struct job *job, struct status *status);
bool job_find_stragglers(struct job *job, struct status *status);

/* Sets of intervals. Intervals may be added in any order; sort them afterwards. */
bool intervals_add(struct intervals *set, int64_t start, int64_t end, struct status *status);
void intervals_sort(struct intervals *set);
bool intervals_subtract(const struct intervals *from, const struct intervals *what,
                        struct intervals *result, struct status *status);
int64_t intervals_overlap(const struct intervals *set, const struct intervals *other,
                          struct interval window);
int64_t intervals_length(const struct intervals *set, struct interval window);
void intervals_finish(struct intervals *set);

#endif
