/* Who waits for what? A wait names an event; which queue it stands for is told when the event is
 * recorded. The latest recording of each is kept, in a table in which a later event may take the
 * place of an older one.
 */
#include "probe/cuda.h"

enum { EVENTS = 4096 };
#define NO_STREAM UINT32_MAX

static struct recorded {
    uint32_t event, context, stream, correlation; /* correlation 0: nothing is here */
} events[EVENTS];

static struct recorded *place_of(uint32_t context, uint32_t event) {
    uint32_t hash = (event ^ context << 20) * 0x9E3779B1u;
    return &events[(hash >> 16) % EVENTS];
}

void cuda_event_recorded(const struct cupti_record *record) {
    *place_of(record->context, record->event) =
        (struct recorded){record->event, record->context, record->stream, record->correlation};
}

/* The kinds of waits have the numbers of trace/schema.h. */
static bool waits_for_event(uint32_t kind) {
    enum { EVENT = 1, STREAM_EVENT = 2 };
    return kind == EVENT || kind == STREAM_EVENT;
}

void cuda_put_wait(struct spool_lane *lane, const struct cupti_record *record) {
    const struct recorded *recorded = place_of(record->context, record->event);
    bool known = waits_for_event(record->type) && recorded->correlation != 0 &&
                 recorded->event == record->event && recorded->context == record->context;
    if (record->start == 0 || record->end < record->start)
        return;
    struct spool_wait *wait = spool_begin(lane, SPOOL_WAIT, 0, sizeof *wait);
    if (!wait)
        return;
    *wait = (struct spool_wait){
        .head = wait->head,
        .start = (int64_t)record->start,
        .end = (int64_t)record->end,
        .correlation = record->correlation,
        .device = cuda_context_device(record->context),
        .context = record->context,
        .stream = record->stream,
        .kind = record->type,
        .event = waits_for_event(record->type) ? record->event : 0,
        .awaited_stream = known ? recorded->stream : NO_STREAM,
        .record_correlation = known ? recorded->correlation : 0,
    };
    spool_publish(lane);
}
