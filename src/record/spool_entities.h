/* Maps the spool's numbers of processes, threads, devices and queues to rows of the trace.
 *
 * Devices are identified by uuid: two processes that use the same GPU share one row, whatever index
 * each has for it.
 */
#ifndef RIDGE_RECORD_SPOOL_ENTITIES_H
#define RIDGE_RECORD_SPOOL_ENTITIES_H

#include "base/intern.h"
#include "base/map.h"
#include "record/gpu_counters.h"
#include "record/processes.h"
#include "record/record.h"
#include "record/spool_stacks.h"
#include "spool/spool.h"
#include "trace/writer.h"

enum { SPOOL_DEVICES_MAX = 256 }; /* per process */

struct spool_entities {
    const struct spool_reader *reader;
    struct trace_writer *writer;
    struct processes *processes;
    struct gpu_counters *gpus;
    record_device_facts *device_facts; /* or NULL */

    struct spool_lane_state {
        uint32_t *strings; /* string ids by text number; 0: not written yet */
        size_t string_capacity;
        unsigned process;
        uint32_t thread;           /* row */
        struct spool_call pending; /* a long call without its end; head.kind 0: none */
        struct spool_stacks stacks;
    } * *lanes; /* by number; NULL: unknown */
    size_t lane_capacity;

    struct spool_process_state {
        uint32_t row;
        int64_t cost_ns;     /* last reported by the probe; -1: never */
        int64_t ended_at;    /* 0: running */
        bool closed;         /* its open ranges and pauses were ended */
        struct spool_pause { /* see spool_rows.c */
            int64_t since;   /* start of the pause without an end; 0: none */
            int64_t last;    /* start of the latest ended pause */
            uint32_t thread;
            int64_t captures_from; /* end of the latest pause; 0: paused, or never paused */
        } pause;
        uint32_t devices[SPOOL_DEVICES_MAX];
    } * *process_states; /* by number; NULL: unknown */
    size_t process_state_capacity;

    struct map threads; /* process and tid -> row */
    struct spool_frame_rows frames;

    struct intern devices; /* by uuid */
    uint32_t *device_rows;
    size_t device_row_capacity;
    bool index_used[SPOOL_DEVICES_MAX];

    struct intern queues; /* by process, device, context and stream */
    uint32_t *queue_rows;
    size_t queue_row_capacity;
};

/* NULL when out of memory. */
struct spool_lane_state *spool_lane_state(struct spool_entities *entities, unsigned process,
                                          unsigned lane, struct status *status);
struct spool_process_state *spool_process_state(struct spool_entities *entities, unsigned process,
                                                struct status *status);
/* The string id of a lane's text. A lane may reuse the number for another text: then reset it. */
uint32_t spool_entity_string(struct spool_entities *entities, unsigned lane_number,
                             struct spool_lane_state *lane, uint32_t text);
void spool_entity_reset_string(struct spool_lane_state *lane, uint32_t text);

bool spool_entity_set_thread(struct spool_entities *entities, struct spool_lane_state *lane,
                             const struct spool_thread *thread, uint32_t name,
                             struct status *status);
bool spool_entity_add_device(struct spool_entities *entities, unsigned process,
                             const struct spool_device *device, struct text name,
                             struct text vendor, struct status *status);
/* Rows; 0 only when out of memory. */
uint32_t spool_entity_thread(struct spool_entities *entities, unsigned process, int64_t tid,
                             struct status *status);
uint32_t spool_entity_device(struct spool_entities *entities, unsigned process, uint32_t index,
                             struct status *status);
uint32_t spool_entity_queue(struct spool_entities *entities, unsigned process, uint32_t device,
                            uint32_t context, uint32_t stream, uint32_t name,
                            struct status *status);

void spool_entities_finish(struct spool_entities *entities);

#endif
