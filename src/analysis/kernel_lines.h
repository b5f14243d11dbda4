/* Which lines of a kernel do its hardware counters point to?
 *
 * Nsight Compute counts some events by instruction (rows of the table metric with a file).
 * Instructions of one line are added up; without line information each instruction is a line of its
 * own. Launches of one kernel are added up.
 */
#ifndef RIDGE_ANALYSIS_KERNEL_LINES_H
#define RIDGE_ANALYSIS_KERNEL_LINES_H

#include "trace/reader.h"

struct kernel_counters;

/* Reasons why a warp did not issue, as ncu names them. */
enum { STALL_REASONS = 19, STALL_SELECTED = STALL_REASONS - 1 };

/* X(ID, key, counter): events of a line. */
#define LINE_EVENTS(X)                                                                             \
    X(INSTRUCTIONS, instructions, "inst_executed")                                                 \
    X(THREADS, thread_instructions, "thread_inst_executed")                                        \
    X(SECTORS, global_sectors, "memory_l2_theoretical_sectors_global")                             \
    X(SECTORS_IDEAL, global_sectors_ideal, "memory_l2_theoretical_sectors_global_ideal")           \
    X(WAVEFRONTS, shared_wavefronts, "memory_l1_wavefronts_shared")                                \
    X(WAVEFRONTS_IDEAL, shared_wavefronts_ideal, "memory_l1_wavefronts_shared_ideal")              \
    X(LOCAL_SECTORS, local_sectors, "memory_l2_theoretical_sectors_local")                         \
    X(DIVERGENT, divergent_branches, "smsp__branch_targets_threads_divergent")

#define LINE_EVENT_ENUM(ID, key, counter) LINE_##ID##_EVENT,
enum line_event { LINE_EVENTS(LINE_EVENT_ENUM) LINE_EVENT_COUNT };

struct kernel_line {
    uint32_t kernel;         /* index in the measured kernels */
    uint32_t function, file; /* string ids; METRIC_NO_FILE: only the instruction is known */
    uint32_t line, offset;   /* the offset is that of the first instruction */
    double event[LINE_EVENT_COUNT];
    double stall[STALL_REASONS]; /* samples */
    double stall_share;          /* of the kernel's stall samples; 0 without any */
    double weight;               /* the share, times the kernel's time */
};

struct kernel_lines {
    struct kernel_line *items; /* largest weight first */
    size_t count;
};

/* `counters` has its kernels and launches. */
bool kernel_lines_find(const struct trace *trace, const struct kernel_counters *counters,
                       struct kernel_lines *lines, struct status *status);
void kernel_lines_finish(struct kernel_lines *lines);

/* What a line costs. */
enum line_cost {
    LINE_UNCOALESCED, /* sectors of global memory beyond what its accesses need */
    LINE_CONFLICTS,   /* wavefronts of shared memory beyond what its accesses need */
    LINE_DIVERGENCE,  /* divergent branches */
    LINE_SPILLS,      /* sectors of local memory */
    LINE_STALLS,      /* samples of warps that did not issue */
    LINE_COSTS
};
double kernel_line_cost(const struct kernel_line *line, enum line_cost cost);
/* The reason of most of its stall samples; false: it has none. */
bool kernel_line_top_stall(const struct kernel_line *line, unsigned *reason);
/* The line of a kernel with the largest cost, and its share of the kernel's; NULL: none. */
const struct kernel_line *kernel_lines_top(const struct kernel_lines *lines, uint32_t kernel,
                                           enum line_cost cost, double *share);
/* Appends "matmul.cu:42", or "matmul+0x1f0" without line information. */
bool kernel_line_format(const struct trace *trace, const struct kernel_line *line,
                        struct buffer *text, struct status *status);

#endif
