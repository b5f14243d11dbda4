/* One line of an experiment's table before it is measured: what to run and how.
 *
 * A case is plain data; its kind implements it on a device. Most are tensor workloads
 * (bench/workloads/workload.h).
 */
#ifndef RIDGE_BENCH_CASE_H
#define RIDGE_BENCH_CASE_H

#include "bench/peer/peer.h"
#include "bench/roofs/roofs.h"

enum { CASE_NUMBERS_MAX = 8, LIST_MAX = 32 };

/* The user's options; an empty list selects the experiment's defaults. */
struct bench_options {
    enum ridge_dtype dtypes[LIST_MAX];
    unsigned dtype_count;
    int64_t sizes[LIST_MAX];
    unsigned size_count;
    int64_t batches[LIST_MAX];
    unsigned batch_count;
    const char *model; /* a file of weights; NULL: random */
    bool small;        /* sizes for a test of the machinery, not for figures */
};

/* Where cases run. */
struct stage {
    ridge_device *device;
    struct ridge_device_info info;
    bool is_gpu;
    struct roofs roofs;
    struct bench_options options;
};

struct case_kind;
struct bench_case {
    const struct case_kind *kind;
    char label[56];   /* "softmax 4096x4096": with the variant, unique in the experiment */
    char variant[24]; /* "eager", "compiled", "block 256"; or "" */
    enum ridge_dtype dtype;
    int64_t size, batch;               /* as --size and --batch count; 0: has none */
    int64_t numbers[CASE_NUMBERS_MAX]; /* the kind's own */
    const void *subject;               /* likewise: often a struct workload */
    uint64_t memory_bytes;             /* of the device, at least */
    bool compare;  /* its line is compared with the one before it: "1.8 times as fast" */
    bool curve;    /* one of a sweep: drawn as a bar */
    bool timeline; /* record the times of each kernel, for a timeline */
};

struct case_kind {
    /* Creates inputs and programs, and sets the amount of work of one call. Cleans up on
     * failure. */
    bool (*prepare)(struct stage *stage, const struct bench_case *work, void **state,
                    struct amount *amount, struct status *status);
    /* Queues one call, without waiting. `turn` counts up. */
    bool (*call)(void *state, unsigned turn, struct status *status);
    /* Makes one call and compares its output with a double-precision reference: *error is
     * the largest difference relative to the largest value. Fails if rounding does not
     * explain it. */
    bool (*check)(void *state, double *error, struct status *status);
    void (*finish)(void *state);
    /* The same work for a peer; false if there is none. May be NULL. */
    bool (*peer)(const struct stage *stage, const struct bench_case *work, struct peer_work *peer);
};

struct case_list {
    struct bench_case *cases;
    size_t count, capacity;
};
/* Appends a copy. */
bool case_add(struct case_list *list, const struct bench_case *work, struct status *status);

#endif
