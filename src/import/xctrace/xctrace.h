/* Shared by the parts of the Instruments importer: the table of contents and the state of one
 * import. xctrace_files.c finds the files, xctrace_bundle.c makes them from a .trace bundle,
 * xctrace_toc.c and xctrace_table.c parse them, xctrace.c imports them in order. xctrace_metal.c
 * handles rows of the GPU, xctrace_shaders.c those of shaders, xctrace_machine.c states of the
 * machine, xctrace_memory.c allocations, xctrace_host.c rows of the CPU; xctrace_waits.c infers
 * the waits between both. */
#ifndef RIDGE_IMPORT_XCTRACE_XCTRACE_H
#define RIDGE_IMPORT_XCTRACE_XCTRACE_H

#include "base/intern.h"
#include "base/map.h"
#include "import/import.h"
#include "import/xctrace/xctrace_table.h"

/* The table of contents of the first run. Texts are "" when absent and live in the arena. A zeroed
 * struct stands for a missing table of contents. */
struct xctrace_toc {
    struct arena arena;
    unsigned run_count;
    uint64_t run_number;
    struct text target_name, target_arguments;
    uint64_t target_pid; /* 0 = unknown: all processes were recorded */
    struct text exit_status, termination;
    struct text host, model, system, system_version;
    struct text start_date, end_reason, instruments_version, template_name, recording_mode;
    uint64_t sample_ns; /* sampling interval of the time-sample table; 0 = unknown */
    struct intern schemas;
};
bool xctrace_toc_read(const char *path, struct xctrace_toc *toc, struct status *status);
void xctrace_toc_finish(struct xctrace_toc *toc);
/* "2026-03-30T18:55:31.999-07:00" as nanoseconds since 1970; false without a zone or a sane year.
 */
bool xctrace_date(struct text date, int64_t *unix_ns);

struct xctrace_signposts {
    struct intern keys; /* of open intervals: process, identifier, name, subsystem */
    size_t *open;       /* by key: index + 1 of the innermost begin, 0 = none */
    size_t open_capacity;
    struct xctrace_begin *begins;
    size_t begin_count, begin_capacity;
};

/* Intervals that are used after their table was read. */
struct xctrace_intervals {
    struct xctrace_interval *intervals;
    size_t count, capacity;
    int64_t longest;
    bool sorted;
};

struct xctrace_waits {
    struct xctrace_encoding *encodings;
    size_t count, capacity;
    struct map completed; /* command buffer -> time */
};

struct xctrace {
    const struct import_options *options;
    struct trace_writer *writer;
    struct xctrace_toc toc;
    int64_t time_limit; /* maximum of start + duration */
    unsigned run;       /* the run that is imported; 0 until a table names one */

    uint64_t target_pid;
    uint32_t process;
    struct map threads;               /* tid -> thread */
    struct intern devices, queues;    /* labels, and labels with channels, in order of appearance */
    struct map device_ids, queue_ids; /* their rows */
    struct map command_buffers;       /* of the target */
    struct map counter_names;         /* counter id -> string */
    struct map frames, stacks;        /* (function, module) -> frame; (parent, frame) -> stack */
    struct xctrace_signposts signposts;
    struct xctrace_waits waits;
    struct xctrace_intervals shaders, compilations;
    struct intern shader_names;
    struct intern schemas_read;    /* of the tables that had rows to read */
    struct intern schemas_unknown; /* of tables that ridge has no use for */
    struct map samples;            /* (time, thread) of the samples that were written */

    bool has_time_profile, has_signpost_intervals;
    uint64_t rows;                              /* of tables that were read */
    uint64_t gpu_intervals;                     /* of the target */
    uint64_t encoded_buffers, executed_buffers; /* command buffers; those with a GPU interval */
    uint64_t foreign;                           /* GPU rows of other processes or of none */
    uint64_t nested;                            /* nested or inactive GPU rows */
    uint64_t incomplete;                        /* rows without a time */
    uint64_t unresolved;                        /* references to undefined ids */
    uint64_t unpaired;                          /* signposts without a begin or an end */
    uint64_t other_runs;                        /* tables of other runs */
};

/* Runs xctrace to export the tables that ridge reads into a new folder, which the caller removes
 * with xctrace_bundle_remove() and frees. */
bool xctrace_bundle_export(struct xctrace *import, const char *bundle, char **folder,
                           struct status *status);
void xctrace_bundle_remove(const char *folder);

/* A schema that is imported: its columns by mnemonic, and the function that handles a row. */
struct xctrace_kind {
    const char *schema;
    const char *const *columns;
    bool (*row)(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                struct status *status);
    const char *xpath; /* of a view below the run; NULL: the table with that schema */
};

/* The schema that the rows of the Allocations instrument's list are given. */
#define XCTRACE_ALLOCATIONS "allocations-list"

/* In reading order: dependencies come first. Ends with NULL. */
extern const struct xctrace_kind *const xctrace_kinds[];
/* The kind of a schema, or NULL; *rank is its index in xctrace_kinds. */
const struct xctrace_kind *xctrace_kind_of(struct text schema, unsigned *rank);

extern const struct xctrace_kind xctrace_gpu_intervals, xctrace_encoders, xctrace_submissions,
    xctrace_completions, xctrace_driver_intervals, xctrace_application_intervals,
    xctrace_gpu_states, xctrace_counter_info, xctrace_counter_values, xctrace_counter_intervals,
    xctrace_time_profile, xctrace_time_sample, xctrace_signpost_events, xctrace_signpost_intervals,
    xctrace_thermal_states, xctrace_performance_states, xctrace_allocated_size, xctrace_resources,
    xctrace_heap, xctrace_shader_intervals, xctrace_compilations;

/* Counts unmatched begins and frees the state. */
void xctrace_signposts_finish(struct xctrace *import);

/* What the inference of waits is based on: encodings of the target, completions of its command
 * buffers. xctrace_waits_infer() writes the waits when all tables are read. */
bool xctrace_waits_encoding(struct xctrace *import, uint32_t thread, uint64_t command_buffer,
                            int64_t start, int64_t duration, struct status *status);
bool xctrace_waits_completion(struct xctrace *import, uint64_t command_buffer, int64_t time,
                              struct status *status);
bool xctrace_waits_infer(struct xctrace *import, struct status *status);
void xctrace_waits_finish(struct xctrace *import);
/* The thread with the most command buffers, once the waits are inferred; 0: none encodes. */
uint32_t xctrace_waits_thread(const struct xctrace *import);

/* The name of a GPU interval: its label, or where that is Metal's own and the shader timeline was
 * recorded, the shader that runs longest in it. */
struct text xctrace_shader_of(struct xctrace *import, struct text label, int64_t start,
                              int64_t duration);
/* Writes the compilations, after the waits are inferred. */
void xctrace_compilations_write(struct xctrace *import);
void xctrace_shaders_finish(struct xctrace *import);

/* The time of a row. *use is false for a row to skip: without a time, or with an invalid one that
 * is dropped. With `duration` NULL, only the start is read. */
bool xctrace_span(struct xctrace *import, const struct xctrace_table *table, uint32_t start_cell,
                  uint32_t duration_cell, int64_t *start, int64_t *duration, bool *use,
                  struct status *status);
/* The pid of a process or thread cell, 0 when it has none. */
uint64_t xctrace_pid(const struct xctrace_table *table, uint32_t cell);
/* The target's thread of a thread cell; 0 for NULL and for another process's thread. */
bool xctrace_thread(struct xctrace *import, const struct xctrace_table *table, uint32_t cell,
                    uint32_t *thread, struct status *status);
/* Whether a row belongs to the target, by its process or its thread. */
bool xctrace_is_target(const struct xctrace *import, const struct xctrace_table *table,
                       uint32_t process_cell, uint32_t thread_cell);
/* The id of an object; 0 for none, which Instruments writes as 2^64-1. */
uint64_t xctrace_object_id(const struct xctrace_table *table, uint32_t cell);
/* The device with this label; "" is the only one. */
bool xctrace_device(struct xctrace *import, struct text label, uint32_t *device,
                    struct status *status);
/* Replaces *stack by the stack of the function that it called. */
bool xctrace_push_frame(struct xctrace *import, uint32_t function, uint32_t module, uint32_t *stack,
                        struct status *status);
/* The string id of a cell's text. */
uint32_t xctrace_string(struct xctrace *import, const struct xctrace_table *table, uint32_t cell);
/* The first non-empty text of a label cell: a child's or its own. */
struct text xctrace_label(const struct xctrace_table *table, uint32_t cell);

#endif
