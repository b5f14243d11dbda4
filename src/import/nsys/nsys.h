/* Shared by the parts of the Nsight Systems importer while one report is read.
 *
 * nsys.c runs the parts in order: processes, threads, devices and queues (nsys_entities.c), then
 * API calls and device activity (nsys_activities.c), then ranges and samples (nsys_host.c). Every
 * function returns false with a status when the import must stop.
 */
#ifndef RIDGE_IMPORT_NSYS_NSYS_H
#define RIDGE_IMPORT_NSYS_NSYS_H

#include "import/sqlite_strings.h"

struct nsys_entities;

struct nsys {
    struct sqlite_source source;
    struct trace_writer *writer;
    const struct import_options *options;
    struct sqlite_strings strings;
    struct nsys_entities *entities;
    uint64_t events;   /* rows of event tables */
    int64_t last_time; /* latest end of any event so far */
};

/* sqlite_rows_next() and sqlite_rows_span() for tables of events: they also count rows, keep the
 * latest time, and stop when the trace cannot be written. */
bool nsys_next(struct nsys *nsys, struct sqlite_rows *rows, struct status *status);
bool nsys_span(struct nsys *nsys, struct sqlite_rows *rows, int64_t *start, int64_t *duration,
               struct status *status);

/* Processes, threads, devices and queues; their rows are written on first use. */
bool nsys_entities_load(struct nsys *nsys, struct status *status);
void nsys_entities_finish(struct nsys *nsys);
/* globalPid or globalTid of the source */
bool nsys_process(struct nsys *nsys, int64_t global, uint32_t *process, struct status *status);
bool nsys_thread(struct nsys *nsys, int64_t global, uint32_t *thread, struct status *status);
/* The device with this number in the process. */
bool nsys_device(struct nsys *nsys, int64_t global, int64_t device, uint32_t *id,
                 struct status *status);
/* The device of TARGET_INFO_GPU.id; 0 when it is not listed. */
uint32_t nsys_gpu_device(const struct nsys *nsys, int64_t gpu);
bool nsys_queue(struct nsys *nsys, int64_t global, int64_t device, int64_t context, int64_t stream,
                uint32_t *queue, struct status *status);

/* The device number of a context. Tables of synchronizations and events have a deviceId of 0 for
 * all rows, so they need this. Only complete after the activities have been read. */
int64_t nsys_context_device(const struct nsys *nsys, int64_t global, int64_t context,
                            int64_t fallback);

bool nsys_calls(struct nsys *nsys, struct map *sync_calls, struct status *status);
bool nsys_activities(struct nsys *nsys, struct status *status);
/* `sync_calls` maps (process, correlation) to the kind of wait of the call. */
bool nsys_waits(struct nsys *nsys, const struct map *sync_calls, struct status *status);
bool nsys_memory(struct nsys *nsys, struct status *status);

bool nsys_ranges(struct nsys *nsys, struct status *status);
bool nsys_samples(struct nsys *nsys, struct status *status);
bool nsys_counters(struct nsys *nsys, struct status *status);

#endif
