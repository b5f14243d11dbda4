/* What do the rules of the diagnosis need to know that no table of the report tells? Which waits
 * are for what, which copies are small and whose, what kind of kernels the time goes to; over the
 * judged part, in one walk over its calls and one over its activities.
 */
#ifndef RIDGE_DIAGNOSE_FACTS_H
#define RIDGE_DIAGNOSE_FACTS_H

#include "analysis/kernel_class.h"
#include "diagnose/finding.h"

enum framework {
    FRAMEWORK_CUDA, /* none that is known */
    FRAMEWORK_TORCH,
    FRAMEWORK_JAX,
    FRAMEWORK_RIDGE,
    FRAMEWORK_METAL,
    FRAMEWORK_ROCM,
};

/* What a synchronising call was made for. */
enum sync_purpose {
    SYNC_PLAIN,  /* itself: cudaDeviceSynchronize, an event */
    SYNC_SCALAR, /* to read a value that was just copied to the host: .item() */
    SYNC_COPY,   /* to finish a copy of more than a value */
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
    int64_t time, call_time; /* on the device; of the calls, with the waits that belong to them */
    uint32_t activity;       /* the longest */
    int64_t longest;
};

/* Kernels of one name and grid. */
struct kernel_facts {
    int64_t time[KERNEL_CLASS_COUNT];
    int64_t total_time;
    uint64_t count, short_count; /* those that last less than launching them costs */
    int64_t short_time;
    int64_t small_grid_time, small_grid_saved; /* long ones on less than the device */
    uint32_t small_grid_name;                  /* that most of it is of */
    uint64_t small_grid_blocks;
    int64_t tail_time, tail_saved; /* last waves that fill only a part of the device */
    uint32_t tail_name;
    int64_t low_occupancy_time;
    uint32_t low_occupancy_name;
    int64_t known_time, known_roof_time; /* of those whose work and roof are known */
    int64_t bound_time[KERNEL_BOUNDS], bound_roof_time[KERNEL_BOUNDS];
    /* Of products: those that may have too few rows for arithmetic to be their limit; and of those
     * whose work is known, all and those with so few. */
    int64_t skinny_matmul_time, known_matmul_time, known_skinny_time;
    uint32_t class_top_name[KERNEL_CLASS_COUNT]; /* string id of the kernel with most of its time */
};

/* A run without steps is cut into quarter_end of its kernel time: what a loop does comes back in
 * the later ones, what a start does is over by then. */
enum { QUARTERS = 4 };

/* What the whole trace holds, whatever part of it is judged. */
struct recorded {
    uint64_t activities, kernels;
    uint64_t calls[CALL_CLASSES]; /* outermost calls of a GPU API */
    uint64_t all_calls;           /* their sum */
};

/* Kernels that slow down during the run, as they do when a device lowers its clock. */
struct drift {
    double ratio; /* the last quarter against the first, over the kernels that slow down */
    double part;  /* of the kernel time that slows down */
    int64_t lost; /* beyond the pace of the fastest quarter */
};
/* Whether kernels of one name and grid slow down over the judged part. */
bool drift_find(const struct diagnose_source *source, struct drift *drift, struct status *status);

struct facts {
    enum framework framework;
    int64_t host_start, host_end; /* the judged part on the host's side */
    /* Of the judged device. */
    int64_t window, busy, exposed_copy, idle;
    int64_t cause[CAUSE_COUNT];
    int64_t short_idle; /* in gaps of not many times what a launch costs */
    struct sync_facts syncs[SYNC_PURPOSES];
    struct copy_facts copies[COPY_CLASSES];
    /* Of the pageable and of the pinned ones, those in each direction. */
    struct copy_facts directed[COPY_CLASSES][COPY_DIRECTIONS];
    uint64_t calls[CALL_CLASSES];
    int64_t call_time[CALL_CLASSES];
    int64_t call_longest[CALL_CLASSES];
    /* By quarter of the first device's kernel time: calls that began in it, and their time. */
    uint64_t quarter_calls[CALL_CLASSES][QUARTERS];
    int64_t quarter_time[CALL_CLASSES][QUARTERS];
    int64_t quarter_end[QUARTERS - 1]; /* when each but the last ends */
    int64_t launch_call_time;          /* a usual one; 0: not known */
    int64_t launch_cost; /* from one launch to the next: measured, or as the trace has it */
    int64_t
        host_time_before_compile; /* the host's own code right before compiling or loading calls */
    uint64_t compile_calls;
    uint32_t compile_name, alloc_name; /* string ids of the calls with most time */
    int64_t compile_ranges;            /* time in ranges that say they compile */
    uint32_t compile_range;            /* string id of such a range */
    uint64_t failed_allocations;
    uint64_t frees, allocations; /* calls */
    uint64_t graph_kernels;
    uint64_t multiprocessors; /* of the first device */
    struct kernel_facts kernels;
    struct drift drift;
    struct recorded recorded;
};

/* Whether the trace holds GPU API calls and no kernels. Then nothing is known of what the device
 * did: it may have run kernels that were not recorded. */
static inline bool kernels_are_missing(const struct facts *facts) {
    const struct recorded *recorded = &facts->recorded;
    return recorded->kernels == 0 && (recorded->calls[CALL_LAUNCH] > 0 ||
                                      (recorded->activities == 0 && recorded->all_calls > 0));
}

bool facts_find(const struct diagnose_source *source, struct facts *facts, struct status *status);

#endif
