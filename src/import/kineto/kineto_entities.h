/* Where events happen: the processes, threads, devices and queues of a Chrome trace.
 *
 * The source names them by pid, tid, device and stream, numbers or words; here they become rows,
 * written when they are first used and again when their names turn up later. Functions return the
 * row's id, or 0 after a failure, which is kept in entities.why.
 */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H
#define RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H

#include "base/map.h"
#include "import/kineto/kineto_event.h"
#include "trace/writer.h"

struct kineto_entities {
    struct trace_writer *writer;
    struct map process_by_key, thread_by_key, device_by_key, queue_by_key;
    struct map first_by_tid; /* the first thread of that tid in any process */
    struct kineto_process *processes;
    struct kineto_thread *threads;
    struct kineto_device *devices;
    struct kineto_queue *queues;
    size_t process_count, process_capacity, thread_count, thread_capacity;
    size_t device_count, device_capacity, queue_count, queue_capacity;
    uint64_t string_ids;       /* ids that are words, numbered in order of appearance */
    bool has_device_processes; /* some process is named as XLA names a device's */
    bool failed;
    struct status why;
};

/* What XLA's trace.json says by names alone: which device and stream a thread stands for. */
struct xla_track {
    bool on_device; /* the thread belongs to a device's process */
    bool is_stream; /* and is one of its streams */
    int64_t device, stream;
    bool copies; /* the stream's name says that it carries copies only */
};

void entities_init(struct kineto_entities *entities, struct trace_writer *writer);
void entities_finish(struct kineto_entities *entities);

uint32_t entities_thread(struct kineto_entities *entities, const struct event_id *process,
                         const struct event_id *thread);
/* The first thread with this tid in whatever process; where there is none, one of process 0. */
uint32_t entities_thread_of_any_process(struct kineto_entities *entities,
                                        const struct event_id *thread);
uint32_t entities_device(struct kineto_entities *entities, const struct event_id *device);
/* The context is only noted with a new queue: a stream's number tells it apart on its device. */
uint32_t entities_queue(struct kineto_entities *entities, const struct event_id *device,
                        const struct event_id *stream, uint64_t context);

/* The names that metadata events give. */
void entities_name_process(struct kineto_entities *entities, const struct event_id *process,
                           struct text name);
void entities_name_thread(struct kineto_entities *entities, const struct event_id *process,
                          const struct event_id *thread, struct text name);
/* A device as the source lists it; index and label are filled in from `device`. */
void entities_describe_device(struct kineto_entities *entities, const struct event_id *device,
                              struct row_device *row);
/* Gives every device of unknown maker this one. */
void entities_set_vendor(struct kineto_entities *entities, struct text vendor);

struct xla_track entities_xla_track(struct kineto_entities *entities,
                                    const struct event_id *process, const struct event_id *thread);

#endif
