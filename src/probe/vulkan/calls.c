/* Records calls, waits and descriptions on the calling thread. Correlation ids start at 2^31, where
 * those of CUDA never arrive.
 */
#include "probe/vulkan/vulkan.h"

#include <stdio.h>

#include "base/clock.h"
#include "probe/capture.h"
#include "probe/nvtx/nvtx_names.h"

#define FIRST_CORRELATION 0x80000000u
enum { CORRELATIONS = 0x40000000 };

uint32_t vulkan_next_correlation(void) {
    static _Atomic uint32_t serial;
    return FIRST_CORRELATION + atomic_fetch_add(&serial, 1) % CORRELATIONS;
}

static void put_call(struct spool_lane *lane, uint32_t text, const struct spool_call *filled) {
    struct spool_call *call = spool_begin(lane, SPOOL_CALL, text, sizeof *call);
    if (!call)
        return;
    struct spool_head head = call->head;
    *call = *filled;
    call->head = head;
    spool_publish(lane);
}

int64_t vulkan_put_call(const struct vulkan_call *call) {
    int64_t end = clock_now(), duration = end - call->start;
    if (!capture_is_on() || !capture_has_started(call->start))
        return end;
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return end;
    struct spool_call record = {
        .start = call->start,
        .duration = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX,
        .correlation = call->correlation,
        .result = call->result,
        .class = call->class,
        .stack = probe_stack(thread, call->class) & 0xFFFFFF,
    };
    put_call(thread->lane, spool_constant(thread->lane, call->name), &record);
    if (record.duration == UINT32_MAX) {
        struct spool_call rest = {.start = end, .class = SPOOL_CALL_END};
        put_call(thread->lane, 0, &rest);
    }
    probe_leave(thread);
    return end;
}

#define NO_STREAM UINT32_MAX

void vulkan_put_wait(const struct vulkan_wait *from) {
    if (!capture_is_on() || !capture_has_started(from->start))
        return;
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    struct spool_wait *wait = vulkan_device_put(thread->lane, from->device)
                                  ? spool_begin(thread->lane, SPOOL_WAIT, 0, sizeof *wait)
                                  : NULL;
    if (wait) {
        *wait = (struct spool_wait){
            .head = wait->head,
            .start = from->start,
            .end = from->end,
            .correlation = from->correlation,
            .device = from->device->index,
            .context = from->device->number,
            .stream = from->queue ? from->queue->stream : NO_STREAM,
            .kind = from->kind,
            .event = from->event,
            .awaited_device = from->device->index,
            .awaited_context = from->device->number,
            .awaited_stream = from->awaited ? from->awaited->stream : NO_STREAM,
            .record_correlation = from->awaited_correlation,
        };
        spool_publish(thread->lane);
    }
    probe_leave(thread);
}

void vulkan_put_meta(const char *key, struct text value) {
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    probe_put_meta(thread, key, value);
    probe_leave(thread);
}

const char *vulkan_intern(struct text text) {
    struct probe_thread *thread = probe_enter();
    const char *string = thread ? nvtx_intern(text) : NULL;
    if (thread)
        probe_leave(thread);
    return string;
}
