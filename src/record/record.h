/* Records a program: everything between its command line and the .ridge file. */
#ifndef RIDGE_RECORD_RECORD_H
#define RIDGE_RECORD_RECORD_H

#include "base/status.h"
#include "base/text.h"
#include "record/perf/perf.h"
#include "record/target.h"

enum record_backend { RECORD_AUTO, RECORD_CUDA, RECORD_CPU };

/* What is known of a device besides what the recording shows, such as its measured roofs: calls
 * `add` for each meta row that the trace should have of the device with this name and label. */
typedef void record_fact(void *to, const char *key, const char *value);
typedef void record_device_facts(const char *name, const char *label, record_fact *add, void *to);

struct record_options {
    char *const *command; /* NULL ends it */
    const char *output;   /* patterns replaced: %p pid, %h host, %r rank ($RANK, SLURM, OMPI...);
                             NULL: named after the program */
    bool replace;
    enum record_backend backend;
    double delay, duration;    /* seconds; 0: none */
    const char *capture_range; /* "cudaProfilerApi", "nvtx:NAME", or NULL */
    uint64_t max_bytes;        /* of the file: recording stops there; 0: no limit */
    uint64_t ring_bytes;       /* keep the last so many instead; 0: no */
    bool graph_nodes;          /* CUDA graphs: each node, not the whole */
    struct perf_options perf;
    bool no_sampling;
    const char *const *variables;      /* NAME=VALUE for the target; NULL ends it */
    bool store_environment;            /* store the target's environment in the trace */
    bool pipe_was_ignored;             /* SIGPIPE, when ridge was started */
    record_device_facts *device_facts; /* NULL: nothing is known */
};

enum { RECORD_NOTES = 8, RECORD_NOTE_SIZE = 400 };

struct record_summary {
    char path[4096];
    struct target target; /* how it ended: target_status(), target_end_alike() */
    uint64_t processes, kernels, copies, calls, ranges, samples;
    uint64_t lost;
    uint64_t bytes;
    int64_t wall_ns;
    int64_t recorder_ns;       /* processor time of the recorder */
    int64_t target_ns;         /* processor time of the program and all that it started */
    struct perf_python python; /* zeroed unless ridge turned trampolines on */
    unsigned python_maps;      /* processes in which they were on */
    int64_t probe_ns;          /* inside the program, as the probe measured it; -1: it did not */
    char notes[RECORD_NOTES][RECORD_NOTE_SIZE]; /* what could not be recorded, and the step that
                                                   mends it */
    unsigned note_count;
};

/* True also when the target failed: see summary->target. False when it did not run: the status is
 * STATUS_USAGE when it must not run, as the program cannot be executed (summary->target.not_started
 * is then 126 or 127) or the command line or the output file is wrong. With any other status
 * recording failed: run it unrecorded. */
bool record_program(const struct record_options *options, struct record_summary *summary,
                    struct status *status);

/* Adds a note; one too many is left out. */
void record_note(struct record_summary *summary, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The three lines for the user: what was recorded, what was not, what it cost. */
void record_describe(const struct record_summary *summary, struct buffer *lines);

#endif
