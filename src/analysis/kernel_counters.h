/* What did the GPU's hardware counters show about each kernel?
 *
 * Counters come from Nsight Compute, launch by launch (table metric). Its names of counters differ
 * between versions and chips: a figure is the first of several expressions whose counters are
 * there. A figure without counters is unknown.
 *
 * A measured launch belongs to the activity of the same kernel, grid and block, in order. If fewer
 * launches were measured than the trace has, the measured ones repeat.
 */
#ifndef RIDGE_ANALYSIS_KERNEL_COUNTERS_H
#define RIDGE_ANALYSIS_KERNEL_COUNTERS_H

#include "analysis/kernel_lines.h"
#include "analysis/model.h"
#include "base/intern.h"

/* X(ID, key, merge): shares are 0 to 1. Of several launches, SUM figures are added up and MEAN
 * figures are weighted by duration. */
#define KERNEL_FIGURES(X)                                                                          \
    X(DURATION, duration_ns, SUM)                                                                  \
    X(SM, sm_throughput, MEAN)                                                                     \
    X(MEMORY, memory_throughput, MEAN)                                                             \
    X(DRAM, dram_throughput, MEAN)                                                                 \
    X(L1, l1_throughput, MEAN)                                                                     \
    X(L1_HITS, l1_hit_rate, MEAN)                                                                  \
    X(L2_HITS, l2_hit_rate, MEAN)                                                                  \
    X(OCCUPANCY, achieved_occupancy, MEAN)                                                         \
    X(THEORETICAL, theoretical_occupancy, MEAN)                                                    \
    X(TENSOR, tensor_pipe, MEAN)                                                                   \
    X(WARPS, warp_execution_efficiency, MEAN)                                                      \
    X(BRANCHES, branch_efficiency, MEAN)                                                           \
    X(DRAM_BYTES, dram_bytes, SUM)                                                                 \
    X(LOAD_SECTORS, load_sectors, SUM)                                                             \
    X(LOAD_REQUESTS, load_requests, SUM)                                                           \
    X(STORE_SECTORS, store_sectors, SUM)                                                           \
    X(STORE_REQUESTS, store_requests, SUM)                                                         \
    X(LOAD_USED, load_sector_use, MEAN)                                                            \
    X(STORE_USED, store_sector_use, MEAN)                                                          \
    X(BANK_CONFLICTS, bank_conflicts, SUM)                                                         \
    X(SHARED_WAVEFRONTS, shared_wavefronts, SUM)                                                   \
    X(LOCAL_ACCESSES, local_memory_instructions, SUM)                                              \
    X(INSTRUCTIONS, instructions, SUM)                                                             \
    X(F16_FLOPS, f16_flops, SUM)                                                                   \
    X(F32_FLOPS, f32_flops, SUM)                                                                   \
    X(F64_FLOPS, f64_flops, SUM)                                                                   \
    X(TENSOR_FLOPS, tensor_flops, SUM)                                                             \
    X(REGISTERS, registers_per_thread, MEAN)                                                       \
    X(SHARED, shared_bytes_per_block, MEAN)                                                        \
    X(WAVES, waves_per_multiprocessor, MEAN)                                                       \
    X(LIMIT_REGISTERS, block_limit_registers, MEAN)                                                \
    X(LIMIT_SHARED, block_limit_shared_memory, MEAN)                                               \
    X(LIMIT_WARPS, block_limit_warps, MEAN)                                                        \
    X(LIMIT_BLOCKS, block_limit_blocks, MEAN)                                                      \
    X(LIMIT_BARRIERS, block_limit_barriers, MEAN)

#define KERNEL_FIGURE_ENUM(ID, key, merge) KERNEL_##ID##_FIGURE,
enum kernel_figure { KERNEL_FIGURES(KERNEL_FIGURE_ENUM) KERNEL_FIGURE_COUNT };
const char *kernel_figure_key(unsigned figure);

/* "long_scoreboard", and what it means: "a load from global, local or texture memory". */
const char *stall_name(unsigned reason);
const char *stall_meaning(unsigned reason);
/* The reason whose stalls a counter counts, or -1. `sampled`: it counts samples, not cycles. */
int stall_of_counter(struct text name, bool *sampled);

/* Of one launch, or of several together. */
struct kernel_figures {
    double value[KERNEL_FIGURE_COUNT];
    uint64_t known;              /* bit by figure */
    double stall[STALL_REASONS]; /* cycles per issued instruction, or samples; 0: none or unknown */
};

struct measured_launch {
    uint32_t kernel; /* string id */
    uint32_t device, grid[3], block[3];
    uint32_t measured; /* index in the kernels */
    size_t first_row;  /* of the table metric */
    struct kernel_figures figures;
};

struct measured_kernel {
    struct text short_name; /* owned by the table */
    uint32_t kernel;        /* string id of a full name */
    uint32_t name_id;       /* private */
    uint64_t launches;
    struct kernel_figures figures;
};

struct kernel_counters {
    struct measured_launch *launches; /* in order */
    size_t launch_count;
    struct measured_kernel *kernels; /* most time first */
    size_t kernel_count;
    uint32_t *launch_of; /* by activity: index in launches, or NO_ROW; NULL without launches */
    struct kernel_lines lines;
    struct intern names;
};

bool kernel_counters_find(const struct model *model, struct kernel_counters *counters,
                          struct status *status);
void kernel_counters_finish(struct kernel_counters *counters);

/* False: unknown. */
static inline bool kernel_figure(const struct kernel_figures *figures, enum kernel_figure figure,
                                 double *value) {
    *value = figures->value[figure];
    return figures->known >> figure & 1;
}

/* 32-byte sectors for each request of a warp to global memory; 4 is a full warp of f32. */
bool kernel_sectors_per_request(const struct kernel_figures *figures, bool stores, double *value);
/* The share of shared-memory wavefronts that only bank conflicts cause. */
bool kernel_conflict_share(const struct kernel_figures *figures, double *value);
/* Floating-point operations; unknown if a kind that the kernel uses was not counted. */
bool kernel_figures_flops(const struct kernel_figures *figures, double *value);
/* What limits the number of resident blocks: "registers", "shared memory", "warps", "blocks",
 * "barriers"; NULL: unknown. */
const char *kernel_occupancy_limiter(const struct kernel_figures *figures);
/* The reason with the most stalled cycles, other than an issued instruction itself; its share of
 * all; false: unknown. */
bool kernel_top_stall(const struct kernel_figures *figures, unsigned *reason, double *share);

/* Targets of the figures that have one. */
struct kernel_target {
    enum kernel_figure figure;
    const char *title; /* "occupancy" */
    double target;
    bool above; /* good from the target on; else up to it */
};
extern const struct kernel_target kernel_targets[];
extern const size_t kernel_target_count;

#endif
