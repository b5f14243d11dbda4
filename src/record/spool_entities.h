/* Where did it happen? The processes, threads, devices and queues that the spool's records name by
 * small numbers of their own, as rows of the trace.
 *
 * Two processes that use one GPU mean one device, whatever number each gives it: devices are told
 * apart by their identity.
 */
#ifndef RIDGE_RECORD_SPOOL_ENTITIES_H
#define RIDGE_RECORD_SPOOL_ENTITIES_H

#include "base/intern.h"
#include "base/map.h"
#include "record/gpu_counters.h"
#include "record/processes.h"
#include "record/record.h"
#include "spool/spool.h"
#include "trace/writer.h"

enum { SPOOL_DEVICES_MAX = 256 }; /* of a process */

struct spool_entities {
    const struct spool_reader *reader;
    struct trace_writer *writer;
    struct processes *processes;
    struct gpu_counters *gpus;
    record_device_facts *device_facts; /* or NULL */

    struct spool_lane_state {
        uint32_t *strings; /* the trace's number of each text, 0: not yet */
        size_t string_capacity;
        unsigned process;
        uint32_t thread;           /* row */
        struct spool_call pending; /* one whose end did not fit; head.kind 0: none */
    } * *lanes;                    /* by number; NULL: not met yet */
    size_t lane_capacity;

    struct spool_process_state {
        uint32_t row;
        int64_t cost_ns;     /* as the probe told last; -1: never */
        int64_t ended_at;    /* when it was seen to have ended; 0: it has not */
        bool closed;         /* what it left open has been ended */
        struct spool_pause { /* of its recording, see spool_rows.c */
            int64_t since;   /* one that has no end yet; 0: none */
            int64_t last;    /* when the latest began that has one */
            uint32_t thread;
            int64_t captures_from; /* the end of the latest; 0: it is paused, or never was */
        } pause;
        uint32_t devices[SPOOL_DEVICES_MAX];
    } * *process_states; /* by number; NULL: not met yet */
    size_t process_state_capacity;

    struct map threads; /* process and tid -> row */

    struct intern devices; /* by identity */
    uint32_t *device_rows;
    size_t device_row_capacity;
    bool label_used[SPOOL_DEVICES_MAX];

    struct intern queues; /* by process, device, context and stream */
    uint32_t *queue_rows;
    size_t queue_row_capacity;
};

/* NULL when out of memory. */
struct spool_lane_state *spool_lane_state(struct spool_entities *entities, unsigned process,
                                          unsigned lane, struct status *status);
struct spool_process_state *spool_process_state(struct spool_entities *entities, unsigned process,
                                                struct status *status);
/* The trace's number of a lane's text; the lane may give the number to another text. */
uint32_t spool_entity_string(struct spool_entities *entities, unsigned lane_number,
                             struct spool_lane_state *lane, uint32_t text);
void spool_entity_reset_string(struct spool_lane_state *lane, uint32_t text);

bool spool_entity_set_thread(struct spool_entities *entities, struct spool_lane_state *lane,
                             const struct spool_thread *thread, uint32_t name,
                             struct status *status);
bool spool_entity_add_device(struct spool_entities *entities, unsigned process,
                             const struct spool_device *device, struct text name,
                             struct status *status);
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
