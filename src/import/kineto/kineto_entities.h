/* Where events happen: the processes, threads, devices and queues of a Chrome trace.
 *
 * The source names them by pid, tid, device and stream, numbers or words; here they become rows,
 * written when they are first used and again when their names turn up later. Functions return the
 * row's id, or 0 after a failure, which is kept in places.why.
 */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H
#define RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H

#include "base/map.h"
#include "import/kineto/kineto_event.h"
#include "trace/writer.h"

struct places {
    struct trace_writer *writer;
    struct map process_by_key, thread_by_key, device_by_key, queue_by_key;
    struct map first_by_tid; /* the first thread of that tid in any process */
    struct process_place *processes;
    struct thread_place *threads;
    struct device_place *devices;
    struct queue_place *queues;
    size_t process_count, process_capacity, thread_count, thread_capacity;
    size_t device_count, device_capacity, queue_count, queue_capacity;
    uint64_t named;            /* ids that are words, numbered in order of appearance */
    bool has_device_processes; /* some process is named as XLA names a device's */
    bool failed;
    struct status why;
};

/* What XLA's trace.json says by names alone: which device and stream a thread stands for. */
struct place_device {
    bool on_device; /* the thread belongs to a device's process */
    bool is_stream; /* and is one of its streams */
    int64_t device, stream;
    bool copies; /* the stream's name says that it carries copies only */
};

void places_init(struct places *places, struct trace_writer *writer);
void places_finish(struct places *places);

uint32_t places_thread(struct places *places, const struct event_id *process,
                       const struct event_id *thread);
/* The first thread with this tid in whatever process; where there is none, one of process 0. */
uint32_t places_thread_anywhere(struct places *places, const struct event_id *thread);
uint32_t places_device(struct places *places, const struct event_id *device);
/* The context is only noted with a new queue: a stream's number tells it apart on its device. */
uint32_t places_queue(struct places *places, const struct event_id *device,
                      const struct event_id *stream, uint64_t context);

/* The names that metadata events give. */
void places_name_process(struct places *places, const struct event_id *process, struct text name);
void places_name_thread(struct places *places, const struct event_id *process,
                        const struct event_id *thread, struct text name);
/* A device as the source lists it; index and label are filled in from `device`. */
void places_describe_device(struct places *places, const struct event_id *device,
                            struct row_device *row);
/* Gives every device of unknown maker this one. */
void places_set_vendor(struct places *places, struct text vendor);

struct place_device places_device_of(struct places *places, const struct event_id *process,
                                     const struct event_id *thread);

#endif
