/* Command buffers and encoders, from their creation to their completion.
 *
 * What is encoded is kept in the state of the command buffer until its completion handler runs,
 * which Metal calls once for each committed buffer, on a thread of its own. A buffer that is never
 * committed has no handler; its state is reused when a later buffer has the same address.
 */
#include "probe/metal/metal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/capture.h"
#include "spool/pages.h"

enum {
    BUCKETS = 1024,
    ALLOCATED_TOGETHER = 64,
    ENCODERS_MAX = 64, /* of a buffer; with more, it is one activity */
    SIGNALS_MAX = 8,   /* of a buffer */
    PIPELINES = 16384,
};
enum { STATUS_ERROR = 5 }; /* MTLCommandBufferStatusError */
#define NO_STREAM UINT32_MAX

static const char no_times[] = "Metal: the driver has no times for some command buffers";
static const char failed[] = "Metal: command buffers failed on the GPU: they have no times";
static const char indirect_commands[] = "indirect commands";
static const char at_exit[] = "Metal: the program ended while command buffers were running";

struct size {
    uint64_t width, height, depth;
};
struct range {
    uint64_t location, length;
};

/* What was encoded, in an encoder or in a whole buffer. */
struct work {
    const char *name;                              /* of the first kernel; NULL: unknown */
    uint32_t dispatches, kernels, copies, renders; /* renders: encoders */
    bool is_mixed;                                 /* kernels of several names */
    struct size grid, block;
    uint64_t bytes;
};

struct encoder {
    objc_id object; /* NULL: ended */
    enum metal_kind kind;
    int slot; /* of counter samples */
    const char *label;
    struct work work;
};

struct commands {
    struct commands *next; /* in its bucket, or unused */
    objc_id object;
    struct metal_queue *queue;
    uint64_t serial; /* 0: unused */
    uint32_t correlation, encoder_count, too_many;
    bool is_committed;
    const char *label, *pipeline;
    struct work work; /* of encoders that are too many */
    uint32_t signal_count;
    struct signal {
        objc_id event;
        uint64_t value;
    } signals[SIGNALS_MAX]; /* the last ones */
    struct encoder encoders[ENCODERS_MAX];
};

static struct commands *buckets[BUCKETS], *unused;
static uint64_t last_serial;
static _Atomic int64_t running; /* committed and not completed */

/* ---- Pipelines --------------------------------------------------------------------------- */

static struct {
    _Atomic(objc_id) object;
    _Atomic(const char *) name;
} pipelines[PIPELINES];

static size_t place_of(objc_id object, size_t count) {
    return ((uintptr_t)object * (uint64_t)0x9E3779B97F4A7C15u >> 32) % count;
}

/* A later pipeline at the same address has another name. A full table forgets the oldest. */
void metal_pipeline_created(objc_id pipeline, objc_id function, objc_id descriptor) {
    const char *name = metal_text(function, "name");
    if (!name)
        name = metal_text(descriptor, "label");
    if (!pipeline || !name)
        return;
    size_t at = place_of(pipeline, PIPELINES);
    for (unsigned i = 0; i < 16; i++) {
        objc_id there = atomic_load(&pipelines[(at + i) % PIPELINES].object);
        if (there && there != pipeline)
            continue;
        at = (at + i) % PIPELINES;
        break;
    }
    atomic_store(&pipelines[at].name, name);
    atomic_store(&pipelines[at].object, pipeline);
}

static const char *pipeline_name(objc_id pipeline) {
    size_t at = place_of(pipeline, PIPELINES);
    for (unsigned i = 0; pipeline && i < 16; i++)
        if (atomic_load(&pipelines[(at + i) % PIPELINES].object) == pipeline)
            return atomic_load(&pipelines[(at + i) % PIPELINES].name);
    return metal_text(pipeline, "label");
}

/* ---- States: with the lock --------------------------------------------------------------- */

static struct commands *find_buffer(objc_id object) {
    struct commands *buffer = buckets[place_of(object, BUCKETS)];
    while (buffer && buffer->object != object)
        buffer = buffer->next;
    return buffer;
}

static void remove_buffer(struct commands *buffer) {
    struct commands **at = &buckets[place_of(buffer->object, BUCKETS)];
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (*at)
        *at = buffer->next;
    buffer->serial = 0;
    buffer->next = unused;
    unused = buffer;
}

static struct commands *take_buffer(void) {
    struct commands *many = unused ? NULL : pages_allocate(ALLOCATED_TOGETHER * sizeof *many);
    for (unsigned i = 0; many && i < ALLOCATED_TOGETHER; i++) {
        many[i].next = unused;
        unused = &many[i];
    }
    struct commands *buffer = unused;
    if (buffer)
        unused = buffer->next;
    return buffer;
}

static void free_slots(struct commands *buffer) {
    for (uint32_t i = 0; i < buffer->encoder_count; i++)
        if (buffer->encoders[i].slot != METAL_NO_SLOT)
            metal_free_slot(buffer->queue->device, buffer->encoders[i].slot);
}

/* The encoder and its buffer. There are few buffers with open encoders: the search ends early. */
PROBE_THREAD_LOCAL struct last_encoder {
    objc_id object;
    struct commands *buffer;
    uint64_t serial;
    uint32_t index;
} last;

static struct encoder *find_encoder(objc_id object, struct commands **in) {
    if (last.object == object && last.buffer->serial == last.serial &&
        last.buffer->encoders[last.index].object == object) {
        *in = last.buffer;
        return &last.buffer->encoders[last.index];
    }
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct commands *buffer = buckets[b]; buffer; buffer = buffer->next)
            for (uint32_t i = buffer->encoder_count; i > 0 && !buffer->is_committed; i--)
                if (buffer->encoders[i - 1].object == object) {
                    last = (struct last_encoder){object, buffer, buffer->serial, i - 1};
                    *in = buffer;
                    return &buffer->encoders[i - 1];
                }
    return NULL;
}

static void add_kernel(struct work *work, const char *name, struct size grid, struct size block) {
    if (work->dispatches == 0) {
        work->name = name;
        work->grid = grid;
        work->block = block;
    }
    work->is_mixed |= work->name != name;
    work->dispatches++;
}

static void add_work(struct work *to, const struct work *from) {
    if (from->dispatches) {
        add_kernel(to, from->name, from->grid, from->block);
        to->is_mixed |= from->is_mixed;
        to->dispatches += from->dispatches - 1;
    }
    to->copies += from->copies;
    to->renders += from->renders;
    to->bytes += from->bytes;
}

/* ---- Records, in the completion handler -------------------------------------------------- */

/* "name", "name and 3 more", the label, or the kind. Render encoders count as one more each. */
static const char *describe(const struct work *work, const char *label, const char *fallback,
                            char text[256]) {
    uint32_t more = work->dispatches + work->renders;
    if (work->dispatches && work->name && !work->is_mixed && !work->renders)
        return work->name;
    if (label)
        return label;
    if (more < 2 || (!work->name && !work->renders))
        return work->name ? work->name : fallback;
    snprintf(text, 256, "%.200s and %u more", work->name ? work->name : "render", more - 1);
    return text;
}

static uint32_t clipped(uint64_t value) {
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void put_kernel(struct spool_lane *lane, const struct commands *buffer,
                       const struct work *work, const char *name, int64_t start, int64_t end) {
    uint32_t text = spool_text(lane, text_of(name));
    struct spool_kernel *kernel = spool_begin(lane, SPOOL_KERNEL, text, sizeof *kernel);
    if (!kernel)
        return;
    *kernel = (struct spool_kernel){
        .head = kernel->head,
        .start = start,
        .end = end,
        .correlation = buffer->correlation,
        .device = buffer->queue->device->index,
        .stream = buffer->queue->stream,
    };
    if (work->dispatches == 1) { /* of several kernels the sizes differ */
        const struct size sizes[] = {work->grid, work->block};
        uint32_t *to[] = {kernel->grid, kernel->block};
        for (unsigned i = 0; i < 2; i++) {
            to[i][0] = clipped(sizes[i].width);
            to[i][1] = clipped(sizes[i].height);
            to[i][2] = clipped(sizes[i].depth);
        }
    }
    spool_publish(lane);
}

static void put_copy(struct spool_lane *lane, const struct commands *buffer,
                     const struct work *work, const char *name, int64_t start, int64_t end) {
    uint32_t text = spool_text(lane, text_of(name));
    struct spool_copy *copy = spool_begin(lane, SPOOL_COPY, text, sizeof *copy);
    if (!copy)
        return;
    *copy = (struct spool_copy){
        .head = copy->head,
        .start = start,
        .end = end,
        .bytes = work->bytes,
        .correlation = buffer->correlation,
        .device = buffer->queue->device->index,
        .stream = buffer->queue->stream,
        .direction = COPY_DTOD,
        .from_memory = MEMORY_DEVICE,
        .to_memory = MEMORY_DEVICE,
    };
    spool_publish(lane);
}

static void put_activity(struct spool_lane *lane, const struct commands *buffer,
                         const struct work *work, const char *label, const char *fallback,
                         int64_t start, int64_t end) {
    char text[256];
    if (work->copies && !work->dispatches && !work->renders)
        put_copy(lane, buffer, work, label ? label : "blit", start, end);
    else
        put_kernel(lane, buffer, work, describe(work, label, fallback, text), start, end);
}

static void put_label(struct spool_lane *lane, const struct commands *buffer, const char *label,
                      int64_t start, int64_t end) {
    uint32_t text = label ? spool_text(lane, text_of(label)) : 0;
    struct spool_queue_range *range =
        text ? spool_begin(lane, SPOOL_QUEUE_RANGE, text, sizeof *range) : NULL;
    if (!range)
        return;
    *range = (struct spool_queue_range){
        .head = range->head,
        .start = start,
        .end = end,
        .device = buffer->queue->device->index,
        .stream = buffer->queue->stream,
    };
    spool_publish(lane);
}

/* Encoders that do nothing leave no samples, and need none. */
static bool is_empty(const struct encoder *encoder) {
    return encoder->kind != METAL_RENDER && !encoder->work.dispatches && !encoder->work.copies;
}

struct span {
    int64_t start, end;
};

/* All or none: a buffer whose encoders are partly timed would look partly idle. */
static bool read_encoders(const struct commands *buffer, struct span whole, struct span *spans) {
    struct metal_device *device = buffer->queue->device;
    uint32_t timed = 0;
    if (buffer->too_many)
        return false;
    const struct metal_clock clock = metal_read_clock(device);
    for (uint32_t i = 0; i < buffer->encoder_count; i++) {
        const struct encoder *encoder = &buffer->encoders[i];
        spans[i] = (struct span){0};
        if (is_empty(encoder))
            continue;
        if (encoder->slot == METAL_NO_SLOT ||
            !metal_read_samples(device, &clock, encoder->slot, whole.start, whole.end,
                                &spans[i].start, &spans[i].end))
            return false;
        timed++;
    }
    return timed > 0;
}

static void put_encoders(struct spool_lane *lane, const struct commands *buffer,
                         const struct span *spans) {
    static const char *const kinds[METAL_KINDS] = {
        [METAL_COMPUTE] = "compute", [METAL_BLIT] = "blit", [METAL_RENDER] = "render"};
    for (uint32_t i = 0; i < buffer->encoder_count; i++) {
        const struct encoder *encoder = &buffer->encoders[i];
        if (is_empty(encoder))
            continue;
        put_activity(lane, buffer, &encoder->work, encoder->label, kinds[encoder->kind],
                     spans[i].start, spans[i].end);
        put_label(lane, buffer, encoder->label, spans[i].start, spans[i].end);
    }
}

static void put_buffer(struct spool_lane *lane, const struct commands *buffer, struct span whole) {
    struct work sum = {0};
    const char *label = buffer->label;
    for (uint32_t i = 0; i < buffer->encoder_count; i++) {
        if (i + 1 == buffer->encoder_count) /* those that are too many came before the last */
            add_work(&sum, &buffer->work);
        add_work(&sum, &buffer->encoders[i].work);
    }
    if (!label && buffer->encoder_count == 1)
        label = buffer->encoders[0].label;
    put_activity(lane, buffer, &sum, label, sum.renders ? "render" : "command buffer", whole.start,
                 whole.end);
}

/* Says once how activities are timed. */
static void put_timing(struct probe_thread *thread, const struct metal_device *device) {
    static _Atomic bool said;
    const char *missing = metal_counters_missing(device);
    char text[300];
    if (!missing || atomic_exchange(&said, true))
        return;
    snprintf(text, sizeof text,
             "Metal: each command buffer is one activity, because encoders are not timed: %s",
             missing);
    probe_put_meta(thread, "warning", text_of(text));
}

static void put_queue(struct spool_lane *lane, struct metal_queue *queue) {
    const char *label = atomic_load(&queue->label);
    if (!label || atomic_exchange(&queue->is_named, true))
        return;
    uint32_t text = spool_text(lane, text_of(label));
    struct spool_queue *record = spool_begin(lane, SPOOL_QUEUE, text, sizeof *record);
    if (!record)
        return;
    *record = (struct spool_queue){
        .head = record->head, .device = queue->device->index, .stream = queue->stream};
    spool_publish(lane);
}

static void put_completed(const struct commands *buffer, struct span whole, uint64_t status) {
    struct span spans[ENCODERS_MAX];
    bool has_times = whole.start > 0 && whole.end >= whole.start;
    bool are_timed = has_times && status != STATUS_ERROR && read_encoders(buffer, whole, spans);
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    if (status == STATUS_ERROR || !has_times) {
        metal_put_dropped(thread, status == STATUS_ERROR ? failed : no_times, 1);
    } else if (metal_announce(thread->lane, buffer->queue->device)) {
        put_queue(thread->lane, buffer->queue);
        if (are_timed)
            put_encoders(thread->lane, buffer, spans);
        else
            put_buffer(thread->lane, buffer, whole);
        put_label(thread->lane, buffer, buffer->label, whole.start, whole.end);
        put_timing(thread, buffer->queue->device);
    }
    probe_leave(thread);
}

/* ---- Completion -------------------------------------------------------------------------- */

/* The ABI of blocks. This one captures two words and needs no help to be copied. */
struct completion {
    void *isa;
    int flags, reserved;
    void (*invoke)(struct completion *self, objc_id buffer);
    const struct block_descriptor *descriptor;
    struct commands *state;
    uint64_t serial;
};
static const struct block_descriptor {
    unsigned long reserved, size;
} completion_descriptor = {0, sizeof(struct completion)};

/* GPU times are seconds of Mach absolute time, as clock_now() is. */
static int64_t seconds_to_ns(double seconds) {
    return seconds > 0 && seconds < 9e9 ? (int64_t)(seconds * 1e9) : 0;
}

static void completed(struct completion *completion, objc_id object) {
    int error = errno;
    struct commands *buffer = completion->state;
    if (buffer->serial == completion->serial && object) {
        void *pool = objc.objc_autoreleasePoolPush();
        struct span whole = {seconds_to_ns(OBJC_GET(double, object, "GPUStartTime")),
                             seconds_to_ns(OBJC_GET(double, object, "GPUEndTime"))};
        put_completed(buffer, whole, OBJC_GET(uint64_t, object, "status"));
        objc.objc_autoreleasePoolPop(pool);
        if (metal_lock()) {
            free_slots(buffer);
            remove_buffer(buffer);
            metal_unlock();
        }
        atomic_fetch_sub(&running, 1);
    }
    errno = error;
}

/* The parent's buffers are not the child's. */
void metal_commands_forked(void) {
    atomic_store(&running, 0);
}

/* What is still running is lost: its handlers will not be called. */
static void count_running(void) {
    int64_t count = atomic_exchange(&running, 0);
    struct probe_thread *thread = count > 0 ? probe_enter() : NULL;
    if (!thread)
        return;
    metal_put_dropped(thread, at_exit, (uint64_t)count);
    probe_leave(thread);
}

static void add_handler(struct commands *buffer) {
    static _Atomic bool registered;
    if (!atomic_exchange(&registered, true))
        atexit(count_running);
    struct completion completion = {.isa = objc.stack_block,
                                    .invoke = completed,
                                    .descriptor = &completion_descriptor,
                                    .state = buffer,
                                    .serial = buffer->serial};
    OBJC_SEND(void, (objc_id, objc_sel, void *), buffer->object,
              metal_selector("addCompletedHandler:"), &completion);
    atomic_fetch_add(&running, 1);
}

/* ---- Command buffers --------------------------------------------------------------------- */

static objc_id buffer_created(objc_id queue, objc_id object) {
    struct metal_queue *known = object ? metal_find_queue(queue) : NULL;
    bool is_recorded = known && metal_is_recording(clock_now());
    if (is_recorded)
        metal_install(METAL_BUFFER, object);
    if (!object || !metal_lock())
        return object;
    struct commands *buffer = find_buffer(object);
    if (buffer) { /* that one was never committed */
        free_slots(buffer);
        remove_buffer(buffer);
    }
    buffer = is_recorded ? take_buffer() : NULL;
    if (buffer) {
        struct commands **bucket = &buckets[place_of(object, BUCKETS)];
        memset(buffer, 0, offsetof(struct commands, encoders));
        buffer->object = object;
        buffer->queue = known;
        buffer->serial = ++last_serial;
        buffer->next = *bucket;
        *bucket = buffer;
    }
    metal_unlock();
    return object;
}

static objc_id command_buffer(objc_imp original, objc_id self, objc_sel selector) {
    bool outermost = metal_enter();
    objc_id buffer = METAL_ORIGINAL(objc_id, (objc_id, objc_sel), original)(self, selector);
    metal_leave();
    return outermost ? buffer_created(self, buffer) : buffer;
}
METAL_HOOK(objc_id, command_buffer, (objc_id self, objc_sel selector), (self, selector))

static objc_id command_buffer_unretained(objc_imp original, objc_id self, objc_sel selector) {
    return command_buffer(original, self, selector);
}
METAL_HOOK(objc_id, command_buffer_unretained, (objc_id self, objc_sel selector), (self, selector))

static objc_id command_buffer_descriptor(objc_imp original, objc_id self, objc_sel selector,
                                         objc_id descriptor) {
    bool outermost = metal_enter();
    objc_id buffer =
        METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id), original)(self, selector, descriptor);
    metal_leave();
    return outermost ? buffer_created(self, buffer) : buffer;
}
METAL_HOOK(objc_id, command_buffer_descriptor,
           (objc_id self, objc_sel selector, objc_id descriptor), (self, selector, descriptor))

/* The state of a buffer that is about to be committed, no longer changed by others. */
static struct commands *take_for_commit(objc_id object, uint32_t correlation) {
    if (!correlation || !metal_lock())
        return NULL;
    struct commands *buffer = find_buffer(object);
    if (buffer && buffer->is_committed)
        buffer = NULL;
    if (buffer) {
        buffer->is_committed = true;
        buffer->correlation = correlation;
    }
    metal_unlock();
    return buffer;
}

static void commit(objc_imp original, objc_id self, objc_sel selector) {
    bool outermost = metal_enter();
    struct metal_call call = outermost ? metal_call_begin() : (struct metal_call){0};
    struct commands *buffer = take_for_commit(self, call.correlation);
    if (buffer) {
        buffer->label = metal_text(self, "label");
        if (!atomic_load(&buffer->queue->label))
            atomic_store(&buffer->queue->label, metal_text(buffer->queue->object, "label"));
        add_handler(buffer);
    }
    METAL_ORIGINAL(void, (objc_id, objc_sel), original)(self, selector);
    metal_call_end(&call, "commit", CALL_LAUNCH, 0);
    metal_leave();
}
METAL_HOOK(void, commit, (objc_id self, objc_sel selector), (self, selector))

/* ---- Waits ------------------------------------------------------------------------------- */

static void put_wait(const struct metal_call *call, struct metal_queue *queue, uint32_t launched) {
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    struct spool_wait *wait = metal_announce(thread->lane, queue->device)
                                  ? spool_begin(thread->lane, SPOOL_WAIT, 0, sizeof *wait)
                                  : NULL;
    if (wait) {
        *wait = (struct spool_wait){
            .head = wait->head,
            .start = call->start,
            .end = clock_now(),
            .correlation = call->correlation,
            .device = queue->device->index,
            .stream = queue->stream,
            .kind = WAIT_EVENT,
            .awaited_device = queue->device->index,
            .awaited_stream = queue->stream,
            .record_correlation = launched,
        };
        spool_publish(thread->lane);
    }
    probe_leave(thread);
}

/* The command buffer that a call waits for. */
struct awaited {
    struct metal_queue *queue; /* NULL: none is known, or it is completed */
    uint32_t launched;
};

static struct awaited awaited_buffer(const struct commands *buffer) {
    return buffer && buffer->is_committed ? (struct awaited){buffer->queue, buffer->correlation}
                                          : (struct awaited){0};
}

static void end_wait(const struct metal_call *call, const char *name, int result,
                     struct awaited awaited) {
    metal_call_end(call, name, CALL_SYNC, result);
    if (awaited.queue)
        put_wait(call, awaited.queue, awaited.launched);
}

static void wait_completed(objc_imp original, objc_id self, objc_sel selector) {
    bool outermost = metal_enter();
    struct metal_call call = outermost ? metal_call_begin() : (struct metal_call){0};
    struct awaited awaited = {0};
    if (call.start && metal_lock()) {
        awaited = awaited_buffer(find_buffer(self));
        metal_unlock();
    }
    METAL_ORIGINAL(void, (objc_id, objc_sel), original)(self, selector);
    end_wait(&call, "waitUntilCompleted", 0, awaited);
    metal_leave();
}
METAL_HOOK(void, wait_completed, (objc_id self, objc_sel selector), (self, selector))

/* Scheduled work need not have run: the host waits for the driver. */
static void wait_scheduled(objc_imp original, objc_id self, objc_sel selector) {
    bool outermost = metal_enter();
    struct metal_call call = outermost ? metal_call_begin() : (struct metal_call){0};
    METAL_ORIGINAL(void, (objc_id, objc_sel), original)(self, selector);
    metal_call_end(&call, "waitUntilScheduled", CALL_OTHER, 0);
    metal_leave();
}
METAL_HOOK(void, wait_scheduled, (objc_id self, objc_sel selector), (self, selector))

static void signal_event(objc_imp original, objc_id self, objc_sel selector, objc_id event,
                         uint64_t value) {
    if (metal_enter() && metal_lock()) {
        struct commands *buffer = find_buffer(self);
        if (buffer && !buffer->is_committed)
            buffer->signals[buffer->signal_count++ % SIGNALS_MAX] = (struct signal){event, value};
        metal_unlock();
    }
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, uint64_t), original)
    (self, selector, event, value);
    metal_leave();
}
METAL_HOOK(void, signal_event, (objc_id self, objc_sel selector, objc_id event, uint64_t value),
           (self, selector, event, value))

/* With the lock. The committed buffer that gives an event a value, or the next higher one. */
static const struct commands *find_signaler(objc_id event, uint64_t value) {
    const struct commands *found = NULL;
    uint64_t nearest = UINT64_MAX;
    for (unsigned b = 0; b < BUCKETS; b++)
        for (const struct commands *buffer = buckets[b]; buffer; buffer = buffer->next)
            for (uint32_t i = 0; i < buffer->signal_count && i < SIGNALS_MAX; i++) {
                const struct signal *signal = &buffer->signals[i];
                if (!buffer->is_committed || signal->event != event || signal->value < value ||
                    signal->value > nearest)
                    continue;
                nearest = signal->value;
                found = buffer;
            }
    return found;
}

/* How MLX waits for the results of mx.eval(). */
static bool wait_event(objc_imp original, objc_id self, objc_sel selector, uint64_t value,
                       uint64_t timeout_ms) {
    bool outermost = metal_enter();
    struct metal_call call = outermost ? metal_call_begin() : (struct metal_call){0};
    struct awaited awaited = {0};
    if (call.start && metal_lock()) {
        awaited = awaited_buffer(find_signaler(self, value));
        metal_unlock();
    }
    bool is_signaled = METAL_ORIGINAL(bool, (objc_id, objc_sel, uint64_t, uint64_t),
                                      original)(self, selector, value, timeout_ms);
    end_wait(&call, "waitUntilSignaledValue", is_signaled ? 0 : -1, awaited);
    metal_leave();
    return is_signaled;
}
METAL_HOOK(bool, wait_event, (objc_id self, objc_sel selector, uint64_t value, uint64_t timeout_ms),
           (self, selector, value, timeout_ms))

/* ---- Encoders ---------------------------------------------------------------------------- */

/* The device of a buffer whose next encoder is timed; NULL: it is not. */
static struct metal_device *sampled_device(objc_id object) {
    struct metal_device *device = NULL;
    if (metal_lock()) {
        struct commands *buffer = find_buffer(object);
        if (buffer && !buffer->is_committed && buffer->encoder_count < ENCODERS_MAX)
            device = buffer->queue->device;
        metal_unlock();
    }
    return device;
}

/* With the lock. Of too many encoders the last one replaces the one before it, and keeps its slot:
 * the GPU has yet to write there. */
static void add_encoder(struct commands *buffer, struct encoder added) {
    if (buffer->encoder_count < ENCODERS_MAX) {
        buffer->encoders[buffer->encoder_count++] = added;
        return;
    }
    struct encoder *before = &buffer->encoders[ENCODERS_MAX - 1];
    buffer->too_many++;
    add_work(&buffer->work, &before->work);
    added.slot = before->slot;
    *before = added;
}

static void encoder_created(objc_id buffer_object, enum metal_kind kind, objc_id object,
                            struct metal_device *device, int slot) {
    if (!object || !metal_install(kind, object) || !metal_lock())
        return; /* a slot is lost */
    struct commands *buffer = find_buffer(buffer_object);
    if (buffer && !buffer->is_committed)
        add_encoder(buffer, (struct encoder){.object = object,
                                             .kind = kind,
                                             .slot = slot,
                                             .work.renders = kind == METAL_RENDER});
    else if (slot != METAL_NO_SLOT)
        metal_free_slot(device, slot);
    metal_unlock();
}

/* A sampled encoder of the program's descriptor, or of one with its dispatch type; NULL: the
 * caller makes it without samples. */
static objc_id sampled_encoder(struct metal_device *device, objc_id buffer, enum metal_kind kind,
                               objc_id given, int64_t dispatch_type, int *slot) {
    const char *selector = kind == METAL_BLIT ? "blitCommandEncoderWithDescriptor:"
                                              : "computeCommandEncoderWithDescriptor:";
    objc_id descriptor = device && metal_responds(buffer, selector)
                             ? metal_sampled_descriptor(device, kind, given, slot)
                             : NULL;
    if (!descriptor)
        return NULL;
    if (dispatch_type >= 0)
        OBJC_SEND(void, (objc_id, objc_sel, uint64_t), descriptor,
                  metal_selector("setDispatchType:"), (uint64_t)dispatch_type);
    objc_id encoder = OBJC_SEND(objc_id, (objc_id, objc_sel, objc_id), buffer,
                                metal_selector(selector), descriptor);
    OBJC_GET(void, descriptor, "release");
    if (encoder)
        return encoder;
    if (metal_lock()) {
        metal_free_slot(device, *slot);
        metal_unlock();
    }
    *slot = METAL_NO_SLOT;
    return NULL;
}

static objc_id make_encoder(enum metal_kind kind, objc_imp original, objc_id self,
                            objc_sel selector) {
    bool outermost = metal_enter();
    struct metal_device *device = outermost ? sampled_device(self) : NULL;
    int slot = METAL_NO_SLOT;
    objc_id encoder = sampled_encoder(device, self, kind, NULL, -1, &slot);
    if (!encoder)
        encoder = METAL_ORIGINAL(objc_id, (objc_id, objc_sel), original)(self, selector);
    if (outermost)
        encoder_created(self, kind, encoder, device, slot);
    metal_leave();
    return encoder;
}

static objc_id compute_encoder(objc_imp original, objc_id self, objc_sel selector) {
    return make_encoder(METAL_COMPUTE, original, self, selector);
}
METAL_HOOK(objc_id, compute_encoder, (objc_id self, objc_sel selector), (self, selector))

static objc_id blit_encoder(objc_imp original, objc_id self, objc_sel selector) {
    return make_encoder(METAL_BLIT, original, self, selector);
}
METAL_HOOK(objc_id, blit_encoder, (objc_id self, objc_sel selector), (self, selector))

static objc_id compute_encoder_type(objc_imp original, objc_id self, objc_sel selector,
                                    uint64_t type) {
    bool outermost = metal_enter();
    struct metal_device *device = outermost ? sampled_device(self) : NULL;
    int slot = METAL_NO_SLOT;
    objc_id encoder = sampled_encoder(device, self, METAL_COMPUTE, NULL, (int64_t)type, &slot);
    if (!encoder)
        encoder =
            METAL_ORIGINAL(objc_id, (objc_id, objc_sel, uint64_t), original)(self, selector, type);
    if (outermost)
        encoder_created(self, METAL_COMPUTE, encoder, device, slot);
    metal_leave();
    return encoder;
}
METAL_HOOK(objc_id, compute_encoder_type, (objc_id self, objc_sel selector, uint64_t type),
           (self, selector, type))

static objc_id make_by_descriptor(enum metal_kind kind, objc_imp original, objc_id self,
                                  objc_sel selector, objc_id descriptor) {
    bool outermost = metal_enter();
    struct metal_device *device = outermost ? sampled_device(self) : NULL;
    int slot = METAL_NO_SLOT;
    objc_id encoder = kind == METAL_RENDER || !descriptor
                          ? NULL
                          : sampled_encoder(device, self, kind, descriptor, -1, &slot);
    if (!encoder)
        encoder = METAL_ORIGINAL(objc_id, (objc_id, objc_sel, objc_id), original)(self, selector,
                                                                                  descriptor);
    if (outermost)
        encoder_created(self, kind, encoder, device, slot);
    metal_leave();
    return encoder;
}

#define BY_DESCRIPTOR(name, kind)                                                                  \
    static objc_id name(objc_imp original, objc_id self, objc_sel selector, objc_id descriptor) {  \
        return make_by_descriptor(kind, original, self, selector, descriptor);                     \
    }                                                                                              \
    METAL_HOOK(objc_id, name, (objc_id self, objc_sel selector, objc_id descriptor),               \
               (self, selector, descriptor))

BY_DESCRIPTOR(compute_encoder_descriptor, METAL_COMPUTE)
BY_DESCRIPTOR(blit_encoder_descriptor, METAL_BLIT)
BY_DESCRIPTOR(render_encoder_descriptor, METAL_RENDER)
BY_DESCRIPTOR(parallel_encoder_descriptor, METAL_RENDER)

static void set_pipeline(objc_imp original, objc_id self, objc_sel selector, objc_id pipeline) {
    struct commands *buffer;
    bool outermost = metal_enter();
    const char *name = outermost ? pipeline_name(pipeline) : NULL;
    if (outermost && metal_lock()) {
        if (find_encoder(self, &buffer))
            buffer->pipeline = name;
        metal_unlock();
    }
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id), original)(self, selector, pipeline);
    metal_leave();
}
METAL_HOOK(void, set_pipeline, (objc_id self, objc_sel selector, objc_id pipeline),
           (self, selector, pipeline))

static void count_dispatch(objc_id encoder_object, struct size grid, struct size block) {
    struct commands *buffer;
    if (!metal_lock())
        return;
    struct encoder *encoder = find_encoder(encoder_object, &buffer);
    if (encoder)
        add_kernel(&encoder->work, buffer->pipeline, grid, block);
    metal_unlock();
}

static void dispatch_groups(objc_imp original, objc_id self, objc_sel selector, struct size groups,
                            struct size threads) {
    if (metal_enter())
        count_dispatch(self, groups, threads);
    METAL_ORIGINAL(void, (objc_id, objc_sel, struct size, struct size), original)
    (self, selector, groups, threads);
    metal_leave();
}
METAL_HOOK(void, dispatch_groups,
           (objc_id self, objc_sel selector, struct size groups, struct size threads),
           (self, selector, groups, threads))

static uint64_t divide_up(uint64_t all, uint64_t each) {
    return each ? all / each + (all % each != 0) : 0;
}

static void dispatch_threads(objc_imp original, objc_id self, objc_sel selector, struct size all,
                             struct size threads) {
    struct size groups = {divide_up(all.width, threads.width),
                          divide_up(all.height, threads.height),
                          divide_up(all.depth, threads.depth)};
    if (metal_enter())
        count_dispatch(self, groups, threads);
    METAL_ORIGINAL(void, (objc_id, objc_sel, struct size, struct size), original)
    (self, selector, all, threads);
    metal_leave();
}
METAL_HOOK(void, dispatch_threads,
           (objc_id self, objc_sel selector, struct size all, struct size threads),
           (self, selector, all, threads))

static void dispatch_indirect(objc_imp original, objc_id self, objc_sel selector, objc_id arguments,
                              uint64_t offset, struct size threads) {
    if (metal_enter())
        count_dispatch(self, (struct size){0}, threads);
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, uint64_t, struct size), original)
    (self, selector, arguments, offset, threads);
    metal_leave();
}
METAL_HOOK(void, dispatch_indirect,
           (objc_id self, objc_sel selector, objc_id arguments, uint64_t offset,
            struct size threads),
           (self, selector, arguments, offset, threads))

/* The kernels and sizes of indirect commands are in memory of the GPU. */
static void count_indirect(objc_id encoder_object, uint64_t commands) {
    const struct size unknown = {0};
    struct commands *buffer;
    if (commands == 0 || !metal_lock())
        return;
    struct encoder *encoder = find_encoder(encoder_object, &buffer);
    if (encoder) {
        add_kernel(&encoder->work, indirect_commands, unknown, unknown);
        encoder->work.dispatches += clipped(commands - 1);
    }
    metal_unlock();
}

static void execute_commands(objc_imp original, objc_id self, objc_sel selector, objc_id commands,
                             struct range range) {
    if (metal_enter())
        count_indirect(self, range.length);
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, struct range), original)
    (self, selector, commands, range);
    metal_leave();
}
METAL_HOOK(void, execute_commands,
           (objc_id self, objc_sel selector, objc_id commands, struct range range),
           (self, selector, commands, range))

static void execute_indirect(objc_imp original, objc_id self, objc_sel selector, objc_id commands,
                             objc_id range, uint64_t offset) {
    if (metal_enter())
        count_indirect(self, 1);
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, objc_id, uint64_t), original)
    (self, selector, commands, range, offset);
    metal_leave();
}
METAL_HOOK(void, execute_indirect,
           (objc_id self, objc_sel selector, objc_id commands, objc_id range, uint64_t offset),
           (self, selector, commands, range, offset))

static void count_copy(objc_id encoder_object, uint64_t bytes) {
    struct commands *buffer;
    if (!metal_lock())
        return;
    struct encoder *encoder = find_encoder(encoder_object, &buffer);
    if (encoder) {
        encoder->work.copies++;
        encoder->work.bytes += bytes;
    }
    metal_unlock();
}

static void copy_buffer(objc_imp original, objc_id self, objc_sel selector, objc_id from,
                        uint64_t from_offset, objc_id to, uint64_t to_offset, uint64_t bytes) {
    if (metal_enter())
        count_copy(self, bytes);
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, uint64_t, objc_id, uint64_t, uint64_t),
                   original)
    (self, selector, from, from_offset, to, to_offset, bytes);
    metal_leave();
}
METAL_HOOK(void, copy_buffer,
           (objc_id self, objc_sel selector, objc_id from, uint64_t from_offset, objc_id to,
            uint64_t to_offset, uint64_t bytes),
           (self, selector, from, from_offset, to, to_offset, bytes))

static void fill_buffer(objc_imp original, objc_id self, objc_sel selector, objc_id buffer,
                        struct range range, uint8_t value) {
    if (metal_enter())
        count_copy(self, range.length);
    METAL_ORIGINAL(void, (objc_id, objc_sel, objc_id, struct range, uint8_t), original)
    (self, selector, buffer, range, value);
    metal_leave();
}
METAL_HOOK(void, fill_buffer,
           (objc_id self, objc_sel selector, objc_id buffer, struct range range, uint8_t value),
           (self, selector, buffer, range, value))

static void end_encoding(objc_id self) {
    struct commands *buffer;
    const char *label = metal_text(self, "label");
    if (!metal_lock())
        return;
    struct encoder *encoder = find_encoder(self, &buffer);
    if (encoder) {
        encoder->label = label;
        encoder->object = NULL;
        buffer->pipeline = NULL;
    }
    metal_unlock();
}

#define END_ENCODING(name)                                                                         \
    static void name(objc_imp original, objc_id self, objc_sel selector) {                         \
        if (metal_enter())                                                                         \
            end_encoding(self);                                                                    \
        METAL_ORIGINAL(void, (objc_id, objc_sel), original)(self, selector);                       \
        metal_leave();                                                                             \
    }                                                                                              \
    METAL_HOOK(void, name, (objc_id self, objc_sel selector), (self, selector))

END_ENCODING(end_compute)
END_ENCODING(end_blit)
END_ENCODING(end_render)

const struct metal_hook metal_command_hooks[] = {
    METAL_ROW(METAL_QUEUE, "commandBuffer", "@", command_buffer),
    METAL_ROW(METAL_QUEUE, "commandBufferWithUnretainedReferences", "@", command_buffer_unretained),
    METAL_ROW(METAL_QUEUE, "commandBufferWithDescriptor:", "@@", command_buffer_descriptor),
    METAL_ROW(METAL_BUFFER, "commit", "v", commit),
    METAL_ROW(METAL_BUFFER, "waitUntilCompleted", "v", wait_completed),
    METAL_ROW(METAL_BUFFER, "waitUntilScheduled", "v", wait_scheduled),
    METAL_ROW(METAL_BUFFER, "encodeSignalEvent:value:", "v@Q", signal_event),
    METAL_ROW(METAL_EVENT, "waitUntilSignaledValue:timeoutMS:", "BQQ", wait_event),
    METAL_ROW(METAL_BUFFER, "computeCommandEncoder", "@", compute_encoder),
    METAL_ROW(METAL_BUFFER, "computeCommandEncoderWithDispatchType:", "@Q", compute_encoder_type),
    METAL_ROW(METAL_BUFFER, "computeCommandEncoderWithDescriptor:", "@@",
              compute_encoder_descriptor),
    METAL_ROW(METAL_BUFFER, "blitCommandEncoder", "@", blit_encoder),
    METAL_ROW(METAL_BUFFER, "blitCommandEncoderWithDescriptor:", "@@", blit_encoder_descriptor),
    METAL_ROW(METAL_BUFFER, "renderCommandEncoderWithDescriptor:", "@@", render_encoder_descriptor),
    METAL_ROW(METAL_BUFFER, "parallelRenderCommandEncoderWithDescriptor:", "@@",
              parallel_encoder_descriptor),
    METAL_ROW(METAL_COMPUTE, "setComputePipelineState:", "v@", set_pipeline),
    METAL_ROW(METAL_COMPUTE, "dispatchThreadgroups:threadsPerThreadgroup:", "vSS", dispatch_groups),
    METAL_ROW(METAL_COMPUTE, "dispatchThreads:threadsPerThreadgroup:", "vSS", dispatch_threads),
    METAL_ROW(METAL_COMPUTE,
              "dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:",
              "v@QS", dispatch_indirect),
    METAL_ROW(METAL_COMPUTE, "executeCommandsInBuffer:withRange:", "v@R", execute_commands),
    METAL_ROW(METAL_COMPUTE, "executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:", "v@@Q",
              execute_indirect),
    METAL_ROW(METAL_COMPUTE, "endEncoding", "v", end_compute),
    METAL_ROW(METAL_BLIT, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", "v@Q@QQ",
              copy_buffer),
    METAL_ROW(METAL_BLIT, "fillBuffer:range:value:", "v@RC", fill_buffer),
    METAL_ROW(METAL_BLIT, "endEncoding", "v", end_blit),
    METAL_ROW(METAL_RENDER, "endEncoding", "v", end_render),
    {0},
};
