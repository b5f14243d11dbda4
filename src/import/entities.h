/* Rows for processes, threads, devices, queues and stack frames, by the numbers and names that a
 * source gives them. The first lookup of a key writes the row, later ones return its id. */
#ifndef RIDGE_IMPORT_ENTITIES_H
#define RIDGE_IMPORT_ENTITIES_H

#include "base/intern.h"
#include "trace/writer.h"

/* Set `writer`, zero the rest. */
struct entities {
    struct trace_writer *writer;
    struct intern keys;
    uint32_t *ids; /* by key */
    size_t capacity;
};

/* These return the id of the row, or 0 and a status when out of memory. */
uint32_t entity_process(struct entities *entities, uint64_t pid, struct text name,
                        struct status *status);
uint32_t entity_thread(struct entities *entities, uint32_t process, int64_t tid, struct text name,
                       struct status *status);
/* `number` identifies the device, and is its index and label. */
uint32_t entity_device(struct entities *entities, int64_t number, const struct row_device *row,
                       struct status *status);
/* process: 0 where the source does not say whose queue it is. */
uint32_t entity_queue(struct entities *entities, uint32_t device, uint32_t process, int64_t stream,
                      struct status *status);
/* A frame and its caller `parent`, 0 for the outermost. */
uint32_t entity_frame(struct entities *entities, const struct row_stack *row,
                      struct status *status);

void entities_release(struct entities *entities);

#endif
