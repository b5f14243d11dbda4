/* A report: every question asked once, the answers in one struct, and one writer per format.
 *
 *   struct report report;
 *   if (report_build(&report, trace, &options, &status)) {
 *       report_write_text(&report, &output, &style);
 *       report_finish(&report);
 *   }
 */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include "analysis/account.h"
#include "analysis/calls.h"
#include "analysis/copies.h"
#include "analysis/counters.h"
#include "analysis/cpu_account.h"
#include "analysis/gaps.h"
#include "analysis/heap.h"
#include "analysis/host.h"
#include "analysis/kernel_counters.h"
#include "analysis/kernels.h"
#include "analysis/launches.h"
#include "analysis/layers.h"
#include "analysis/lines.h"
#include "analysis/memory_lines.h"
#include "analysis/memory_use.h"
#include "analysis/model.h"
#include "analysis/operators.h"
#include "analysis/pauses.h"
#include "analysis/ranges.h"
#include "analysis/samples.h"
#include "analysis/steps.h"
#include "analysis/syncs.h"
#include "analysis/data_quality.h"
#include "analysis/work.h"
#include "base/output.h"
#include "diagnose/finding.h"
#include "whatif/whatif.h"

/* A run of fewer steps has no steady ones to judge. */
enum { STEADY_STEPS_MIN = 3 };

struct report_options {
    const char *trace_name;     /* as the user gave it */
    const char *device;         /* label of the one device to report on; NULL: all that worked */
    const char *rank;           /* number of the one rank of a job to report on; NULL: all */
    const char *range;          /* NULL: the whole run */
    const char *steps;          /* "A-B", "A", "steady" or "all"; steps count from 1; or "FILE:LINE"
                                   of a loop, whose steady iterations are then meant */
    const char *window;         /* "T1,T2" from the run's start: 10ms,1.5s */
    bool steady;                /* without any of these: the part that a verdict is about */
    unsigned top;               /* rows of each table */
    const struct limits *given; /* by device id: measured where the trace has no roofs; or NULL */
    bool keep_replay;           /* so that what if can be asked of the selection */
    bool no_verdict;            /* leave the verdict out: only the account */
    size_t replay_events;       /* calls and activities that are replayed one by one; 0: default */
};

struct report_device {
    uint32_t id;
    const struct selection *selection; /* among report->selections */
    struct account account;
    struct gaps gaps;
    struct kernels kernels;
    struct launches launches;
    struct layers layers;
    struct copies copies;
    bool has_steady; /* the steps after warm-up, when the report is about the whole run */
    struct window steady_window;
    struct account steady;
};

struct report {
    struct report_options options;
    struct model model;
    struct host host;
    struct gap_totals gap_totals;
    struct occupancy occupancy;
    struct pauses pauses;
    struct selection *selections;  /* by device id */
    struct report_device *devices; /* that did something in the selection, in order of id */
    size_t device_count;
    bool narrowed;                   /* by --range, --steps or --window */
    bool whole;                      /* --steps all; options.steps is NULL then */
    bool steps_judged;               /* the verdict is about the steady steps by default */
    bool steps_remark;               /* steps were found, but are less than half of the run */
    bool steady_by_default;          /* options.steps is "steady" because of options.steady */
    struct selection host_selection; /* host time of the selection; used when narrowed */

    /* Over all reported devices. */
    struct kernels kernels;
    struct launches launches;
    struct copies copies;
    int64_t kernel_busy; /* summed over the devices */

    /* Of the host. */
    struct calls calls;
    struct lines lines;
    struct syncs syncs;
    struct ranges ranges;
    struct samples samples;
    struct cpu_account cpu;
    struct heap heap;
    struct operators operators; /* on the CPU; empty where a device worked */
    struct counters counters;
    struct kernel_counters kernel_counters;
    struct memory_use *memory; /* by device id; [0] host */
    struct memory_lines memory_lines;
    const char *loop; /* options.steps named it; options.steps is "steady" then; or NULL */
    struct steps steps;
    struct data_quality quality;

    struct limits *limits; /* by device id */
    struct work work;
    struct replay *replay;  /* of the selection; NULL unless options.keep_replay */
    struct verdict verdict; /* no findings where it was left out */
};

/* The report keeps using the trace. On failure there is nothing to finish. */
bool report_build(struct report *report, struct trace *trace, const struct report_options *options,
                  struct status *status);
void report_finish(struct report *report);
/* The steps that a selection consists of, by index; none if first > last. */
struct step_range {
    size_t first, last;
};
/* A replay that measures these selections (by device id); `narrowed`: they are less than the run.
 * It keeps using the report and them. A long run is replayed by a sample of its steps. NULL on
 * failure. */
struct replay *report_replay(const struct report *report, const struct selection *selections,
                             bool narrowed, struct step_range steps, struct status *status);

struct report_style {
    bool color;
    unsigned width;       /* columns; at least 60 */
    bool full;            /* every part */
    const char *sections; /* names of parts, with commas between them; NULL: a summary, or all */
};

/* Whether `sections` names parts of the report only. */
bool report_check_sections(const char *sections, struct status *status);

/* Writers put everything into the output; its failure shows at output_commit(). They fail only when
 * out of memory. */
bool report_write_text(const struct report *report, const struct report_style *style,
                       struct output *output, struct status *status);
bool report_write_markdown(const struct report *report, struct output *output,
                           struct status *status);
bool report_write_json(const struct report *report, struct output *output, struct status *status);
/* The table of one part, as report_style.sections names it; NULL: the kernels. */
bool report_write_csv(const struct report *report, const char *section, struct output *output,
                      struct status *status);

/* What the page does not show one by one. */
struct page_summary {
    uint64_t merged_events; /* drawn merged with their neighbors; 0: every event is there */
    int64_t shorter;        /* all of them are shorter than this */
};
/* A page for browsers about one or two traces. */
bool report_write_html(const struct report *const *reports, size_t count, struct output *output,
                       struct page_summary *summary, struct status *status);

/* The same about two traces, with what changed between them: JSON of ridge diff. */
bool report_write_difference_html(const struct report *const reports[2], struct text difference,
                                  struct output *output, struct page_summary *summary,
                                  struct status *status);
/* The page of a job, whose data is `json`. */
bool report_write_job_html(struct text json, struct output *output, struct status *status);

/* Length of the run without pauses: of all recordings in the trace, one after another. */
int64_t report_wall(const struct report *report);
/* Length of the recording that the device is in, without pauses: summed kernel time over it is the
 * launch efficiency. */
int64_t report_device_wall(const struct report *report, const struct report_device *device);

#endif
