/* What limits the run, how certain is it, what fixes it, and what would the fix gain?
 *
 * A verdict is a ranked list of findings and two texts: a headline, and what to do about it.
 */
#ifndef RIDGE_DIAGNOSE_FINDING_H
#define RIDGE_DIAGNOSE_FINDING_H

#include "analysis/account.h"
#include "analysis/copies.h"
#include "analysis/cpu_account.h"
#include "analysis/heap.h"
#include "analysis/kernels.h"
#include "analysis/launches.h"
#include "analysis/memory_use.h"
#include "analysis/ranges.h"
#include "analysis/samples.h"
#include "analysis/syncs.h"
#include "analysis/data_quality.h"
#include "whatif/whatif.h"

/* X(ID, key, title) */
#define FINDINGS(X)                                                                                \
    X(LAUNCH_BOUND, "launch-bound", "Launch-bound")                                                \
    X(TINY_KERNELS, "tiny-kernels", "Tiny kernels")                                                \
    X(HOST_BOUND, "host-bound", "CPU-bound: host code between launches")                           \
    X(SYNC_IN_LOOP, "sync-in-loop", "Synchronization in the loop")                                 \
    X(EXPOSED_TRANSFERS, "exposed-transfers", "Exposed copies")                                    \
    X(EXPOSED_COMMUNICATION, "exposed-communication", "Exposed communication")                     \
    X(SMALL_MESSAGES, "small-messages", "Small collectives")                                       \
    X(RANK_IMBALANCE, "rank-imbalance", "Imbalance between devices")                               \
    X(SMALL_TRANSFERS, "small-transfers", "Small copies")                                          \
    X(PAGEABLE, "pageable", "Pageable host memory")                                                \
    X(ALLOCATION, "allocation", "Allocation in the loop")                                          \
    X(COMPILATION, "compilation", "Compilation in the loop")                                       \
    X(MEMORY_BOUND, "memory-bound", "Memory-bound kernels")                                        \
    X(COMPUTE_BOUND, "compute-bound", "Compute-bound: slow math path")                             \
    X(LATENCY_BOUND, "latency-bound", "Latency-bound kernels")                                     \
    X(LOW_OCCUPANCY, "low-occupancy", "Low occupancy")                                             \
    X(UNCOALESCED, "uncoalesced", "Uncoalesced memory access")                                     \
    X(BANK_CONFLICTS, "bank-conflicts", "Bank conflicts in shared memory")                         \
    X(DIVERGENCE, "divergence", "Divergent warps")                                                 \
    X(SPILLS, "spills", "Local memory: spilled registers")                                         \
    X(STALLS, "stalls", "Warp stalls")                                                             \
    X(SMALL_GRID, "small-grid", "Small grids")                                                     \
    X(TAIL, "tail", "Tail effect (last wave)")                                                     \
    X(ONE_QUEUE, "one-queue", "Kernels serialized in one stream")                                  \
    X(INPUT_PIPELINE, "input-pipeline", "Input pipeline")                                          \
    X(IRREGULAR_STEPS, "irregular-steps", "Irregular steps")                                       \
    X(THROTTLING, "throttling", "Clock throttling")                                                \
    X(MEMORY_PRESSURE, "memory-pressure", "Memory pressure")                                       \
    X(ON_CPU, "on-cpu", "Work on the CPU")                                                         \
    X(NO_PROCESSOR, "no-processor", "Waiting for a processor")                                     \
    X(BLOCKED, "blocked", "Blocked threads")                                                       \
    X(HOST_MEMORY, "host-memory", "Growing host memory")                                           \
    X(STARTUP, "startup", "Start-up and exit")                                                     \
    X(HEALTHY, "healthy", "Healthy")                                                               \
    X(UNDECIDED, "undecided", "Unknown")

#define FINDING_ENUM(ID, key, title) FINDING_##ID,
enum finding_kind { FINDINGS(FINDING_ENUM) FINDING_COUNT };
const char *finding_key(unsigned kind);
const char *finding_title(unsigned kind);

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
const char *confidence_name(unsigned confidence);

enum effort { EFFORT_SETTING, EFFORT_LINES, EFFORT_DESIGN }; /* minutes, hours, days */
const char *effort_name(unsigned effort);

struct fix {
    enum effort effort;
    char *words;   /* a sentence without its full stop */
    char *command; /* options of ridge whatif that predict it for the judged part, or NULL:
                      "--steps steady --graph" */
    bool replayed; /* the gain of the finding is the gain of this fix */
};

/* What a reader would look at next; the page and the JSON link to it. */
enum evidence_kind {
    EVIDENCE_TEXT,
    EVIDENCE_KERNEL,
    EVIDENCE_RANGE,
    EVIDENCE_CALL,
    EVIDENCE_FUNCTION,
    EVIDENCE_GAP,
    EVIDENCE_LINE /* of the program's source */
};
struct evidence {
    enum evidence_kind kind;
    char *words;        /* a sentence without its full stop; names from the trace are verbatim */
    uint32_t name;      /* string id of the kernel, range, call or function, or 0 */
    int64_t start, end; /* an example on the timeline; 0, 0: none */
};

struct finding {
    enum finding_kind kind;
    enum confidence confidence;
    uint32_t device;   /* 0: the run */
    char *headline;    /* of a run that it leads; NULL: by its kind */
    char *observation; /* what was measured, one sentence without its full stop */
    char *gain;        /* "fused, 11.5 ms -> 9.2 ms a step"; NULL: not known */
    char *summary;     /* the observation and the gain */
    char *cause;       /* one or two sentences */
    struct evidence *evidence;
    size_t evidence_count;
    struct fix *fixes; /* least effort first */
    size_t fix_count;

    /* Gain of fixing this finding alone, with its error bar; and its gain on top of all findings
     * before it in the list. Additional gains do not overlap and can be summed. */
    int64_t recoverable, error;
    int64_t additional;
    struct change changes[4]; /* replayed for the prediction */
    size_t change_count;
    char *assumes; /* or NULL */

    bool remark;      /* expected or free of cost: reported, never the main finding */
    bool decides;     /* characterizes the run even if its gain is not known */
    bool holds;       /* takes most of the time, even if no known change recovers much of it */
    bool minor;       /* too small to act on: within its error bar or a few percent of the time */
    bool unexplained; /* the cause is not recorded: no speed-up is promised in the headline */
    bool at_best;     /* the gain is an upper bound */
};

struct verdict {
    int64_t time;           /* measured, of the judged part */
    uint32_t device;        /* the judged device; 0: none */
    struct account account; /* of that device in the judged part */
    char *part;             /* the judged part: "the run", "steps 4 to 30, which are steady" */
    const char *profiler;   /* whose own time is known; NULL: none. Not owned */
    int64_t profiler_time;  /* of it, where the device waits for the host; and its error */
    int64_t profiler_error;
    size_t steps;             /* in the judged part; 0: none */
    struct finding *findings; /* by rank; at least one */
    size_t count;
    char *manager;     /* the headline: what limits the run, and the gain of fixing it */
    char *engineer;    /* what to do about it, and the evidence */
    char *caution;     /* why figures may be wrong: the recording is incomplete; or NULL */
    double roof_share; /* time at the roofs / time; 0: not known */
    char **missing;    /* sentences: what the trace does not contain and how to record it */
    size_t missing_count;
};

/* Input of a diagnosis: results of the analyses, none owned. Arrays are indexed by device id and
 * have NULL or zeroes for devices that are not selected. */
struct diagnose_device {
    uint32_t id;
    const struct selection *selection;
    const struct account *account;
    const struct gaps *gaps;
    const struct kernels *kernels;
    const struct launches *launches;
    const struct copies *copies;
};
struct diagnose_source {
    const struct model *model;
    const struct host *host;
    const struct steps *steps;
    const struct limits *limits; /* by device id */
    const struct work *work;
    const struct occupancy *occupancy;
    const struct kernel_counters *counters; /* or NULL */
    const struct replay *replay;
    const struct syncs *syncs;
    const struct ranges *ranges;
    const struct samples *samples;
    const struct cpu_account *cpu;
    const struct heap *heap;
    const struct memory_use *memory; /* by device id */
    const struct data_quality *quality;
    const struct diagnose_device *devices;
    size_t device_count;
    /* The judged part. Steps are numbered from 0; step_count 0: none. */
    bool narrowed;                     /* less than the run */
    const struct selection *host_part; /* on the host; NULL: the run, or the steady steps */
    const char *part;                  /* its description */
    const char *part_options;          /* options that select it: "--steps steady"; "": the run */
    size_t first_step, step_count;
};

/* Explains the ranking if a finding ranks below one with a smaller gain; NULL: none does. */
const char *verdict_order_words(const struct verdict *verdict);

bool diagnose(const struct diagnose_source *source, struct verdict *verdict, struct status *status);
void verdict_finish(struct verdict *verdict);

#endif
