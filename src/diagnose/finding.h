/* What holds the run back, how sure is that, what is to be done about it, and what will it buy?
 *
 * A verdict is a list of findings, most recoverable time first, and two sentences: one for who pays
 * for the run and one for who will mend it.
 */
#ifndef RIDGE_DIAGNOSE_FINDING_H
#define RIDGE_DIAGNOSE_FINDING_H

#include "analysis/copies.h"
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
    X(LAUNCH_BOUND, "launch-bound", "The host cannot launch fast enough")                          \
    X(TINY_KERNELS, "tiny-kernels", "Many tiny kernels that could be one")                         \
    X(HOST_BOUND, "host-bound", "The device waits for the host's own code")                        \
    X(SYNC_IN_LOOP, "sync-in-loop", "The loop waits for the device")                               \
    X(EXPOSED_TRANSFERS, "exposed-transfers", "Copies run while no kernel does")                   \
    X(SMALL_TRANSFERS, "small-transfers", "Many small copies")                                     \
    X(PAGEABLE, "pageable", "Copies from or to pageable memory")                                   \
    X(ALLOCATION, "allocation", "Memory is allocated inside the loop")                             \
    X(COMPILATION, "compilation", "Code is compiled inside the loop")                              \
    X(MEMORY_BOUND, "memory-bound", "Kernels wait for memory")                                     \
    X(COMPUTE_BOUND, "compute-bound", "Kernels are busy computing")                                \
    X(LATENCY_BOUND, "latency-bound", "Kernels too short or small for a roof")                     \
    X(LOW_OCCUPANCY, "low-occupancy", "Kernels leave multiprocessors half empty")                  \
    X(SMALL_GRID, "small-grid", "Grids smaller than the device")                                   \
    X(TAIL, "tail", "The last wave leaves the device idle")                                        \
    X(ONE_QUEUE, "one-queue", "One queue where two would do")                                      \
    X(INPUT_PIPELINE, "input-pipeline", "The device waits for its input")                          \
    X(IRREGULAR_STEPS, "irregular-steps", "Some steps take much longer than others")               \
    X(THROTTLING, "throttling", "The device ran below its clock")                                  \
    X(MEMORY_PRESSURE, "memory-pressure", "Device memory is full or fragmented")                   \
    X(ON_CPU, "on-cpu", "Work runs on the CPU")                                                    \
    X(HEALTHY, "healthy", "Healthy")                                                               \
    X(UNDECIDED, "undecided", "The trace does not tell")

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
    char *words;   /* "Capture the step with torch.cuda.graph" */
    char *command; /* the what-if options that predict_changes it for the judged part, or NULL:
                      "--steps steady --graph" */
};

/* A thing that a reader would look at: for the page, and for --json. */
enum evidence_kind {
    EVIDENCE_TEXT,
    EVIDENCE_KERNEL,
    EVIDENCE_RANGE,
    EVIDENCE_CALL,
    EVIDENCE_FUNCTION,
    EVIDENCE_GAP
};
struct evidence {
    enum evidence_kind kind;
    char *words;        /* a whole sentence, names from the trace in it as they are */
    uint32_t name;      /* string id of what it is about, or 0 */
    int64_t start, end; /* where to look; 0, 0: nowhere in particular */
};

struct finding {
    enum finding_kind kind;
    enum confidence confidence;
    uint32_t device; /* 0: of the run */
    char *summary;   /* one sentence with the figures */
    char *cause;     /* why, in one or two sentences */
    struct evidence *evidence;
    size_t evidence_count;
    struct fix *fixes; /* least effort first */
    size_t fix_count;

    /* What mending it alone buys, of the measured time; and what is left of that once all findings
     * before it in the list are mended: these do not overlap and may be added up. */
    int64_t recoverable, error;
    int64_t additional;
    struct change changes[4]; /* what the prediction replayed */
    size_t change_count;
    char *assumes; /* or NULL */

    bool remark;  /* it costs nothing, or is as it should be: said, never blamed */
    bool decides; /* it says what the run is about, also where its gain is not known */
    bool holds;   /* it has most of the time, also where no known change takes much of that away */
    bool minor;   /* too little to act on: within its error bar, or a few hundredths of the time */
};

struct verdict {
    int64_t time;             /* measured: of the part of the run that is judged */
    char *part;               /* which that is: "the run", "steps 4 to 30, which are steady" */
    size_t steps;             /* how many steps that part has; 0: it has none */
    struct finding *findings; /* most recoverable time first; at least one */
    size_t count;
    char *manager;     /* one sentence without a term of the trade */
    char *engineer;    /* one sentence to act on */
    char *caution;     /* why the figures may be off: the recording is not whole; or NULL */
    double roof_share; /* time at the roofs / time, as far as known; 0: not known */
    char **missing;    /* what the trace does not tell, and how to record it */
    size_t missing_count;
};

/* What a diagnosis reads: answers of the report, none owned. Arrays by device id have NULL or
 * zeroes for devices that are not asked about. */
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
    const struct replay *replay;
    const struct syncs *syncs;
    const struct ranges *ranges;
    const struct samples *samples;
    const struct memory_use *memory; /* by device id */
    const struct data_quality *quality;
    const struct diagnose_device *devices;
    size_t device_count;
    /* The part that is judged: whether it is less than the run, its words, and its steps (numbers
     * from 0; step_count 0: none). */
    bool narrowed;
    const struct selection *host_part; /* on the host; NULL: the run, or the steady steps */
    const char *part;
    const char *part_options; /* the command line's for that part: "--steps steady"; "": the run */
    size_t first_step, step_count;
};

/* Why one of the findings stands below another that recovers less; NULL: none does. */
const char *verdict_order_words(const struct verdict *verdict);

bool diagnose(const struct diagnose_source *source, struct verdict *verdict, struct status *status);
void verdict_finish(struct verdict *verdict);

#endif
