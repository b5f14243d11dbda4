/* Records a program to a .ridge file. */
#ifndef RIDGE_RECORD_RECORD_H
#define RIDGE_RECORD_RECORD_H

#include "base/status.h"
#include "base/text.h"
#include "record/perf/perf.h"
#include "record/target.h"

enum record_backend {
    RECORD_AUTO,
    RECORD_CUDA,
    RECORD_OPENCL,
    RECORD_VULKAN,
    RECORD_METAL,
    RECORD_CPU,
    RECORD_XCTRACE, /* Metal, with Apple's xctrace: see xctrace_record.h */
    RECORD_ROCM     /* HIP, with AMD's rocprofv3: see cmd/record_rocprof.c */
};

/* Adds known facts about a device, such as its measured roofs: calls `add` for each meta row of the
 * device with this name and label. */
typedef void record_fact(void *to, const char *key, const char *value);
typedef void record_device_facts(const char *name, const char *label, record_fact *add, void *to);

struct record_options {
    char *const *command; /* terminated by NULL */
    pid_t attach;         /* record this running process instead of the command; 0: none */
    const char *output;   /* with %p, %h and %r, see path_template.h; NULL: named after the
                             program */
    bool replace;
    enum record_backend backend;
    double delay, duration;    /* seconds; 0: none */
    const char *capture_range; /* "cudaProfilerApi", "nvtx:NAME", or NULL */
    uint64_t max_bytes;        /* stop at this file size; 0: no limit */
    uint64_t ring_bytes;       /* keep only the last bytes; 0: all */
    bool memory;               /* sample the heap */
    bool graph_nodes;          /* record each node of CUDA graphs */
    const char *python_lines;  /* "off", "waits" or "all"; NULL: all */
    bool vulkan_dispatches;    /* times for each Vulkan command instead of groups */
    bool python_trampolines;   /* let Python name its functions to perf: slow, but its memory need
                                  not be read */
    struct perf_options perf;
    bool no_sampling;
    const char *ranks;                 /* of a job, see base/job_place.h; NULL: all */
    const char *const *variables;      /* NAME=VALUE for the target; terminated by NULL */
    bool store_environment;            /* store the target's environment in the trace */
    bool pipe_was_ignored;             /* SIGPIPE was ignored when ridge started */
    record_device_facts *device_facts; /* may be NULL */
};

enum { RECORD_NOTES = 8, RECORD_NOTE_SIZE = 400 };

struct record_summary {
    char path[4096];
    struct target target; /* how it ended: target_status(), target_exit_alike() */
    uint64_t processes, kernels, copies, calls, ranges, samples;
    uint64_t lost;
    uint64_t bytes;
    int64_t wall_ns;
    int64_t recorder_ns;       /* CPU time of the recorder */
    int64_t target_ns;         /* CPU time of the program and its descendants */
    struct perf_python python; /* zeroed unless ridge turned trampolines on */
    unsigned python_maps;      /* processes with trampolines */
    int64_t probe_ns;          /* inside the program, measured by the probe; -1: unknown */
    char notes[RECORD_NOTES][RECORD_NOTE_SIZE]; /* what could not be recorded, and how to fix it */
    unsigned note_count;
    bool no_trace; /* the program ran, but there is no trace; the notes say why */
};

/* Returns true if the program ran, even if it failed: see summary->target. With STATUS_USAGE it did
 * not run and must not: it cannot be executed (summary->target.exec_status is 126 or 127), or the
 * command line or the output file is wrong. With any other status recording failed: run the program
 * unrecorded. */
bool record_program(const struct record_options *options, struct record_summary *summary,
                    struct status *status);

/* Records a running process, options->attach, until it ends, --duration has passed or ridge gets
 * SIGINT. It continues when the recording ends. */
bool record_attach(const struct record_options *options, struct record_summary *summary,
                   struct status *status);

struct record_file;
/* Opens the trace that the options name for this process. */
bool record_open_output(struct record_file *file, const struct record_options *options, pid_t pid,
                        struct status *status);
/* Adds a note. Notes beyond RECORD_NOTES are ignored. */
void record_note(struct record_summary *summary, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes the command (quoted for a shell), the host, the clock and the rank to the trace. */
void record_write_meta(struct trace_writer *writer, const struct record_options *options);
/* The words of a command, quoted for a shell. */
void record_command_text(char *const *words, struct buffer *command);
/* The three lines of the summary: what was recorded, what was lost, what it cost. */
void record_describe(const struct record_summary *summary, struct buffer *lines);

#endif
