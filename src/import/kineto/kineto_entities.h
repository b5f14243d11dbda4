/* Processes, threads, devices and queues of a Chrome trace.
 *
 * The source identifies them by pid, tid, device and stream, numbers or strings. Their rows are
 * written on first use, and again when a name appears later. Functions return the row's id, or 0 on
 * failure, which is kept in entities.why. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H
#define RIDGE_IMPORT_KINETO_KINETO_ENTITIES_H

#include "base/map.h"
#include "import/kineto/kineto_event.h"
#include "trace/writer.h"

struct kineto_entities {
    struct trace_writer *writer;
    struct map process_by_key, thread_by_key, device_by_key, queue_by_key;
    struct map first_by_tid; /* the first thread with a tid, in any process */
    struct kineto_process *processes;
    struct kineto_thread *threads;
    struct kineto_device *devices;
    struct kineto_queue *queues;
    size_t process_count, process_capacity, thread_count, thread_capacity;
    size_t device_count, device_capacity, queue_count, queue_capacity;
    uint64_t string_ids;       /* ids that are strings, numbered in order of appearance */
    bool has_device_processes; /* some process has the name of an XLA device */
    bool failed;
    struct status why;
};

/* The device and stream of a thread in XLA's trace.json, which has them only in names. */
struct xla_track {
    bool on_device; /* the thread belongs to the process of a device */
    bool is_stream; /* and is a stream */
    int64_t device, stream;
    bool copies; /* the stream has only copies, by its name */
};

void entities_init(struct kineto_entities *entities, struct trace_writer *writer);
void entities_finish(struct kineto_entities *entities);

uint32_t entities_thread(struct kineto_entities *entities, const struct event_id *process,
                         const struct event_id *thread);
/* The first thread with this tid in any process; else one of process 0. */
uint32_t entities_thread_of_any_process(struct kineto_entities *entities,
                                        const struct event_id *thread);
uint32_t entities_device(struct kineto_entities *entities, const struct event_id *device);
/* `context` is stored with a new queue only; a stream's number is unique on its device. */
uint32_t entities_queue(struct kineto_entities *entities, const struct event_id *device,
                        const struct event_id *stream, uint64_t context);

/* Names from metadata events. `may_be_device`: the name can be that of an XLA device. */
void entities_name_process(struct kineto_entities *entities, const struct event_id *process,
                           struct text name, bool may_be_device);
void entities_name_thread(struct kineto_entities *entities, const struct event_id *process,
                          const struct event_id *thread, struct text name);
/* A device from the source's list; sets the row's index and label from `device`. */
void entities_describe_device(struct kineto_entities *entities, const struct event_id *device,
                              struct row_device *row);
/* Sets the vendor of devices without one. */
void entities_set_vendor(struct kineto_entities *entities, struct text vendor);

struct xla_track entities_xla_track(struct kineto_entities *entities,
                                    const struct event_id *process, const struct event_id *thread);

#endif
