/* Synthetic runs for the tests of the replay: a loop on a host with one device queue, simulated
 * event by event with known costs, so that the same loop with another cost gives the true answer.
 */
#ifndef RIDGE_TESTS_UNIT_WHATIF_SCENE_H
#define RIDGE_TESTS_UNIT_WHATIF_SCENE_H

#include "../analysis/build.h"
#include "whatif/run.h"

/* Costs in nanoseconds. */
struct loop {
    int steps, kernels;        /* of each step */
    int64_t host_time, launch; /* before each launch call, and its length */
    int64_t lag, gap;          /* call's end to start on an idle queue; between activities */
    int64_t duration;          /* of a kernel */
    int64_t sync, sync_lag;    /* a synchronization in each step: its own cost; 0: none */
    int64_t fetch;             /* copy of a value to the host before it; 0: none */
    int64_t alloc;             /* an allocating call in each step; 0: none */
    int64_t compile;           /* host code before a call that loads a module in each step */
    int64_t load;              /* that call; 0: none */
    const char *compiler;      /* range around that code; NULL: none */
    int64_t input;             /* host code of a range "DataLoader" in each step */
    int64_t copy;              /* duration of a copy to the device in each step; 0: none */
    uint64_t copy_bytes;
    bool pageable;      /* it blocks the host */
    bool copy_waits;    /* followed by a wait for the queue, as in frameworks */
    int64_t copy_call;  /* duration of its call otherwise */
    bool graph;         /* one call launches all kernels of a step */
    const char *kernel; /* name; NULL: "gemm" */
};

/* Writes the run; returns its length. */
int64_t loop_write(struct build *build, const struct loop *loop);
/* The length of the run, without writing it. */
int64_t loop_time(const struct loop *loop);

/* A trace with all that a replay needs. */
struct scene {
    struct trace *trace;
    struct model model;
    struct host host;
    struct steps steps;
    struct pauses pauses;
    struct limits limits[4];
    struct work work;
    struct replay *replay;
};
/* Takes ownership of the trace. False, and the test has failed, on error. */
bool scene_open(struct scene *scene, struct trace *trace);
bool scene_loop(struct scene *scene, const struct loop *loop);
void scene_close(struct scene *scene);

/* The predicted time; -1 when it failed or the change does not apply. */
int64_t scene_predict(const struct scene *scene, const struct change *changes, size_t count);

/* Checks that every call and activity of the unchanged replay is where it was measured. */
void scene_check_exact(const struct scene *scene, const char *name);

#endif
