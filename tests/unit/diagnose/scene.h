/* A simulated program: one host thread, one queue of one device, and calls that take time and wait
 * as CUDA's do. The result is a trace with the faults that a test puts into the loop. */
#ifndef RIDGE_TESTS_UNIT_DIAGNOSE_SCENE_H
#define RIDGE_TESTS_UNIT_DIAGNOSE_SCENE_H

#include "report/report.h"
#include "trace/writer.h"

struct scene {
    int fd;
    struct trace_writer *writer;
    uint32_t device, queue, thread;
    int64_t host, device_free; /* current times */
    uint64_t correlation;
    uint64_t random;
    double pace; /* factor on kernel durations */
};

/* Of the device: "0" unless a test sets another. */
extern const char *scene_device_label;

void scene_begin(struct scene *scene);
/* Host code of about that duration. */
void scene_host_code(struct scene *scene, int64_t time);
/* The same inside a range of that name. */
void scene_range(struct scene *scene, unsigned category, const char *name, int64_t time);
/* The same, sampled every millisecond: in a Python function that was called by another, running a
 * function of the interpreter; for a tenth of the time it waits, now and then. */
void scene_python(struct scene *scene, const char *caller, const char *function, int64_t time);
/* A range from `start` until now. */
void scene_annotate(struct scene *scene, const char *name, int64_t start);
void scene_kernel(struct scene *scene, const char *name, int64_t time, uint32_t blocks);
/* At that many bytes per microsecond; from pageable memory the call blocks. */
void scene_copy(struct scene *scene, enum copy_direction direction, uint64_t bytes, bool pageable,
                double rate);
void scene_sync(struct scene *scene, const char *name);
/* A call that does not wait for the device, and one that does. */
void scene_call(struct scene *scene, unsigned class, const char *name, int64_t time,
                int64_t result);
void scene_waiting_call(struct scene *scene, unsigned class, const char *name, int64_t time);
void scene_counter(struct scene *scene, const char *name, double value);

/* Ends the scene and reports on it; finish with scene_finish(). */
struct scene_report {
    struct trace *trace;
    struct report report;
    bool ok;
};
struct scene_report scene_report(struct scene *scene);
void scene_finish(struct scene_report *report);

#endif
