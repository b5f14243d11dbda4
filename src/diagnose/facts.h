/* Facts that the rules need beyond the tables of the report: the purpose of each wait, copies by
 * size and memory, kernel time by kind. Collected over the judged part in one pass over calls and
 * one over activities.
 */
#ifndef RIDGE_DIAGNOSE_FACTS_H
#define RIDGE_DIAGNOSE_FACTS_H

#include "analysis/kernel_class.h"
#include "diagnose/finding.h"

enum framework {
    FRAMEWORK_CUDA, /* no known framework */
    FRAMEWORK_TORCH,
    FRAMEWORK_JAX,
    FRAMEWORK_RIDGE,
    FRAMEWORK_METAL,
    FRAMEWORK_ROCM,
    FRAMEWORK_VULKAN,
    FRAMEWORK_OPENCL,
};

/* An API without a tensor framework, and without CUDA's graphs and driver. */
static inline bool framework_is_plain(enum framework framework) {
    return framework == FRAMEWORK_OPENCL || framework == FRAMEWORK_VULKAN;
}

/* Purpose of a synchronizing call. */
enum sync_purpose {
    SYNC_PLAIN,  /* explicit: cudaDeviceSynchronize, an event */
    SYNC_SCALAR, /* to read a value after a small copy to the host: .item() */
    SYNC_COPY,   /* to wait for a data copy */
    SYNC_PURPOSES
};
struct sync_facts {
    uint64_t count;
    int64_t time;
    uint32_t call; /* row of the longest */
    int64_t longest;
};

/* Copies between host and device. */
enum copy_class { COPIES_SCALAR, COPIES_SMALL, COPIES_PAGEABLE, COPIES_PINNED, COPY_CLASSES };
struct copy_facts {
    uint64_t count, bytes;
    int64_t time, call_time; /* on the device; of the calls and their waits */
    uint32_t activity;       /* the longest */
    int64_t longest;
};

struct kernel_facts {
    int64_t time[KERNEL_CLASS_COUNT];
    int64_t total_time;
    uint64_t count, short_count; /* short: shorter than the launch cost */
    int64_t short_time;
    int64_t small_grid_time, small_grid_saved; /* long kernels, see check_grid() */
    uint32_t small_grid_name;                  /* string id of the largest */
    uint64_t small_grid_blocks;
    int64_t small_block_time, small_block_saved; /* many short blocks, see check_blocks() */
    uint32_t small_block_name;
    uint64_t small_block_threads;
    int64_t tail_time, tail_saved; /* kernels with a partly filled last wave */
    uint32_t tail_name;
    int64_t low_occupancy_time;
    uint32_t low_occupancy_name;
    int64_t known_time, known_roof_time; /* kernels with known work and roof */
    int64_t bound_time[KERNEL_BOUNDS], bound_roof_time[KERNEL_BOUNDS];
    /* Matrix products: those that may have too few rows to be compute-bound; those with known work;
     * of the latter, those that do have too few rows. */
    int64_t skinny_matmul_time, known_matmul_time, known_skinny_time;
    uint32_t class_top_name[KERNEL_CLASS_COUNT]; /* string id of the largest kernel */
};

/* A run without steps is divided into quarters of its kernel time: what a loop does recurs in the
 * last two, start-up does not. */
enum { QUARTERS = 4 };

/* Contents of the whole trace, whatever part is judged. */
struct recorded {
    uint64_t activities, kernels;
    uint64_t calls[CALL_CLASSES]; /* outermost calls of a GPU API */
    uint64_t all_calls;           /* their sum */
    uint64_t operators;           /* ranges of a framework's operators */
    uint64_t modules;             /* executions of modules that XLA compiled */
};

/* Kernels that slow down during the run, as they do when a device lowers its clock. */
struct drift {
    double ratio; /* last quarter / first quarter, over kernels that slow down */
    double part;  /* share of the kernel time that slows down */
    int64_t lost; /* time above the speed of the first quarter */
};

struct facts {
    enum framework framework;
    int64_t host_start, host_end; /* the judged part on the host */
    /* Account of the judged device. */
    int64_t window, busy, exposed_communication, exposed_copy, idle;
    int64_t kernel_union; /* busy + exposed_communication */
    int64_t cause[CAUSE_COUNT];
    int64_t short_idle; /* in gaps comparable to the launch cost */
    struct sync_facts syncs[SYNC_PURPOSES];
    struct copy_facts copies[COPY_CLASSES];
    struct copy_facts directed[COPY_CLASSES][COPY_DIRECTIONS];
    uint64_t calls[CALL_CLASSES];
    int64_t call_time[CALL_CLASSES];
    int64_t call_longest[CALL_CLASSES];
    /* By quarter of the first device's kernel time: calls that start in it, and their time. */
    uint64_t quarter_calls[CALL_CLASSES][QUARTERS];
    int64_t quarter_time[CALL_CLASSES][QUARTERS];
    int64_t quarter_end[QUARTERS - 1]; /* end of each quarter but the last */
    int64_t launch_call_time;          /* median; 0: not known */
    int64_t launch_cost; /* from one launch to the next: measured, or launch_call_time */
    int64_t host_time_before_compile; /* host code right before compile or load calls */
    uint64_t compile_calls;
    uint64_t loading_launches; /* first launches of kernels that load their code */
    int64_t loading_time;
    uint32_t compile_name, alloc_name; /* string ids of the calls with the most time */
    int64_t compile_ranges;            /* time in ranges that compile, by name */
    uint32_t compile_range;            /* string id of one of them */
    uint64_t failed_allocations;
    uint64_t frees, allocations; /* number of calls */
    uint64_t graph_kernels;
    uint64_t multiprocessors; /* of the first device */
    struct kernel_facts kernels;
    struct drift drift;
    struct recorded recorded;
};

/* A part of the run without device activity, and what one thread does in it. */
struct outside_part {
    struct window window;
    uint32_t thread; /* with the most time in calls; 0: no calls */
    int64_t calls;   /* its time in calls */
    int64_t named;   /* in the calls or the range of the name below */
    uint32_t name;   /* string id of what has most of the part; 0: not known */
    bool is_range;   /* the name of a range */
};
/* The run before the device's first activity and after its last; zero: not known. */
struct outside {
    int64_t run, device; /* lengths of the run and of the device's part of it */
    struct outside_part before, after;
};

/* The trace has GPU API calls but no kernels: what the device did is not known. Operators that only
 * query the device or wait for it ran on the CPU. */
static inline bool kernels_are_missing(const struct facts *facts) {
    const struct recorded *recorded = &facts->recorded;
    bool queries =
        recorded->operators && recorded->calls[CALL_COPY] == 0 && recorded->calls[CALL_ALLOC] == 0;
    return recorded->kernels == 0 &&
           (recorded->calls[CALL_LAUNCH] > 0 ||
            (recorded->activities == 0 && recorded->all_calls > 0 && !queries));
}

bool facts_find(const struct diagnose_source *source, struct facts *facts, struct status *status);
bool outside_find(const struct diagnose_source *source, struct outside *outside,
                  struct status *status);
/* Of the first judged device; its grids must be loaded. */
bool drift_find(const struct diagnose_source *source, struct drift *drift, struct status *status);

#endif
