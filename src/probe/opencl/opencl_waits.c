/* Records which queue waits for which, and what the host waits for. An event stands for the call
 * that made it: a table has the latest call of each event, in which a later event may replace an
 * older one. An event without an entry is a user event, or too old: no wait is recorded for it.
 */
#include "probe/opencl/opencl.h"
#include "spool/lock.h"

enum { EVENTS = 4096, WAITS_MAX = 16 /* per command */ };
#define NO_STREAM UINT32_MAX

struct made_event {
    cl_event event;
    struct opencl_queue queue;
    uint32_t correlation;
};
static struct made_event made[EVENTS];
static _Atomic uint32_t made_lock;

static struct made_event *slot_of(cl_event event) {
    uint64_t hash = (uint64_t)(uintptr_t)event * 0x9E3779B97F4A7C15u;
    return &made[(hash >> 32) % EVENTS];
}

void opencl_event_made(cl_event event, const struct opencl_queue *queue, uint32_t correlation) {
    if (!lock_acquire(&made_lock))
        return;
    *slot_of(event) = (struct made_event){event, *queue, correlation};
    lock_release(&made_lock);
}

static bool find_event(cl_event event, struct made_event *found) {
    if (!event || !lock_acquire(&made_lock))
        return false;
    *found = *slot_of(event);
    lock_release(&made_lock);
    return found->event == event && found->queue.device;
}

bool opencl_announce_once(struct spool_lane *lane, const struct opencl_device *device) {
    PROBE_THREAD_LOCAL uint64_t announced;
    PROBE_THREAD_LOCAL const struct spool_lane *to;
    uint64_t bit = (uint64_t)1 << (device->description.index - SPOOL_DEVICES_OPENCL);
    if (to != lane)
        announced = 0;
    to = lane;
    if (!(announced & bit) && opencl_announce(lane, device))
        announced |= bit;
    return announced & bit;
}

struct wait {
    enum wait_kind kind;
    const struct opencl_queue *queue, *awaited; /* awaited may be NULL */
    uint32_t correlation, record_correlation;
    int64_t start, end;
};

static void put_wait(struct spool_lane *lane, const struct wait *from) {
    if (!opencl_announce_once(lane, from->queue->device) ||
        (from->awaited && !opencl_announce_once(lane, from->awaited->device)))
        return;
    struct spool_wait *wait = spool_begin(lane, SPOOL_WAIT, 0, sizeof *wait);
    if (!wait)
        return;
    *wait = (struct spool_wait){
        .head = wait->head,
        .start = from->start,
        .end = from->end,
        .correlation = from->correlation,
        .device = from->queue->device->description.index,
        .stream = from->queue->stream,
        .kind = from->kind,
        .awaited_device = from->awaited ? from->awaited->device->description.index : 0,
        .awaited_stream = from->awaited ? from->awaited->stream : NO_STREAM,
        .record_correlation = from->record_correlation,
    };
    spool_publish(lane);
}

void opencl_put_queue_wait(struct spool_lane *lane, const struct opencl_queue *queue,
                           uint32_t correlation, int64_t start, int64_t end) {
    if (queue->device)
        put_wait(lane, &(struct wait){.kind = WAIT_STREAM,
                                      .queue = queue,
                                      .correlation = correlation,
                                      .start = start,
                                      .end = end});
}

/* A queue waits for its own commands anyway. */
void opencl_put_waits(struct spool_lane *lane, const struct opencl_queue *queue,
                      uint32_t correlation, int64_t start, int64_t end, cl_uint count,
                      const cl_event *events) {
    struct made_event found;
    for (cl_uint i = 0; events && queue->device && i < count && i < WAITS_MAX; i++)
        if (find_event(events[i], &found) && found.queue.stream != queue->stream)
            put_wait(lane, &(struct wait){.kind = WAIT_STREAM_EVENT,
                                          .queue = queue,
                                          .awaited = &found.queue,
                                          .correlation = correlation,
                                          .record_correlation = found.correlation,
                                          .start = start,
                                          .end = end});
}

/* Events of one in-order queue are complete with the latest of them. For others no record is
 * written: the last activity that ended before the call is the best guess. */
void opencl_put_event_wait(struct spool_lane *lane, uint32_t correlation, int64_t start,
                           int64_t end, cl_uint count, const cl_event *events) {
    struct made_event latest = {0}, found;
    for (cl_uint i = 0; events && i < count; i++) {
        if (!find_event(events[i], &found) || (count > 1 && found.queue.out_of_order) ||
            (latest.event && found.queue.stream != latest.queue.stream))
            return;
        if (!latest.event || found.correlation > latest.correlation)
            latest = found;
    }
    if (latest.event)
        put_wait(lane, &(struct wait){.kind = WAIT_EVENT,
                                      .queue = &latest.queue,
                                      .awaited = &latest.queue,
                                      .correlation = correlation,
                                      .record_correlation = latest.correlation,
                                      .start = start,
                                      .end = end});
}
