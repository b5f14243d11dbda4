/* The thread that reads results from the rings and writes activities to a lane of its own.
 *
 * It looks at the rings every few milliseconds while there is work, so that a killed program loses
 * little; when the program exits or destroys a device, what is complete is read at once.
 *
 * The submissions of a queue are read in their order, and its activities do not overlap. A
 * timestamp at the top of the pipe may be earlier than the end of the work before. And the clock of
 * a submission may be another one than that of the submission before, so that times differ by the
 * error of the clocks: then an activity is moved to the end of the one before, and keeps its
 * duration.
 */
#include "probe/vulkan/vulkan.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "spool/lock.h"

enum {
    BUSY_INTERVAL_NS = 4000000,
    IDLE_INTERVAL_NS = 40000000,
    IDLE_AFTER = 250, /* passes without results */
    LABELS = 32,
    REASONS = 16,
    LOOKS_MAX = 100, /* for a result after its marker */
};

static _Atomic uint32_t lock;
static bool finished; /* with the lock */
static pid_t owner;
static struct spool_lane *lane;
static unsigned lane_attempts;
static uint64_t pass; /* over all rings */

/* ---- Commands without times ---------------------------------------------------------------- */

static struct reason {
    _Atomic(const char *) why;
    _Atomic uint64_t commands;
} reasons[REASONS];

void vulkan_count_untimed(const char *why, uint64_t commands) {
    for (unsigned i = 0; i < REASONS; i++) {
        const char *none = NULL;
        if (atomic_load(&reasons[i].why) == why ||
            atomic_compare_exchange_strong(&reasons[i].why, &none, why)) {
            atomic_fetch_add(&reasons[i].commands, commands);
            return;
        }
    }
}

static void put_dropped(const char *why, uint64_t count) {
    uint32_t text = spool_constant(lane, why);
    struct spool_dropped *dropped = spool_begin(lane, SPOOL_DROPPED, text, sizeof *dropped);
    if (!dropped)
        return;
    dropped->count = count;
    spool_publish(lane);
}

static void put_untimed(void) {
    for (unsigned i = 0; i < REASONS; i++) {
        const char *why = atomic_load(&reasons[i].why);
        uint64_t count = why ? atomic_exchange(&reasons[i].commands, 0) : 0;
        if (count > 0)
            put_dropped(why, count);
    }
}

/* ---- Activities ----------------------------------------------------------------------------- */

struct open_label {
    const char *name;
    int64_t start, end; /* start 0: nothing happened in it */
};

/* One submission, as its results are read. */
struct reading {
    struct vulkan_device *device;
    struct vulkan_queue *queue;
    const struct vulkan_submission *submission;
    const uint64_t *at; /* the results of the next recording */
    uint32_t valid_bits;
    int64_t now;
    struct open_label labels[LABELS];
    uint32_t depth; /* labels beyond LABELS are only counted */
};

static void put_kernel(const struct reading *reading, const struct vulkan_entry *entry,
                       int64_t start, int64_t end) {
    uint32_t name = spool_constant(lane, entry->name ? entry->name : "dispatch");
    struct spool_kernel_work *work = spool_begin(lane, SPOOL_KERNEL, name, sizeof *work);
    if (!work)
        return;
    struct spool_kernel *kernel = &work->kernel;
    *kernel = (struct spool_kernel){
        .head = kernel->head,
        .start = start,
        .end = end,
        .correlation = reading->submission->correlation,
        .device = reading->device->index,
        .context = reading->device->number,
        .stream = reading->queue->stream,
    };
    memcpy(kernel->grid, entry->grid, sizeof kernel->grid);
    memcpy(kernel->block, entry->block, sizeof kernel->block);
    work->bytes = entry->bytes == BYTES_UNKNOWN ? 0 : entry->bytes;
    work->flops = entry->flops;
    spool_publish(lane);
}

static void put_copy(const struct reading *reading, const struct vulkan_entry *entry, int64_t start,
                     int64_t end) {
    struct spool_copy *copy = spool_begin(lane, SPOOL_COPY, 0, sizeof *copy);
    if (!copy)
        return;
    *copy = (struct spool_copy){
        .head = copy->head,
        .start = start,
        .end = end,
        .bytes = entry->bytes,
        .correlation = reading->submission->correlation,
        .device = reading->device->index,
        .context = reading->device->number,
        .stream = reading->queue->stream,
        .is_set = entry->kind == VULKAN_SET,
        .direction = entry->direction,
        .from_memory = entry->from_memory,
        .to_memory = entry->to_memory,
    };
    spool_publish(lane);
}

static int64_t convert(const struct reading *reading, uint64_t ticks) {
    return vulkan_clock_convert(reading->device, reading->valid_bits, ticks, reading->now);
}

/* The times of the queue's next activity. */
static void read_times(const struct reading *reading, const uint64_t ticks[2], int64_t *start,
                       int64_t *end) {
    struct vulkan_queue *queue = reading->queue;
    uint64_t from = ticks[0];
    *start = convert(reading, from);
    if (*start < queue->last_end) {
        *start = queue->last_end;
        if (clock_ticks_between(queue->last_ticks, from, reading->valid_bits) < 0)
            from = queue->last_ticks;
    }
    int64_t length = clock_ticks_between(from, ticks[1], reading->valid_bits);
    *end = *start + (length > 0 ? (int64_t)((double)length * reading->device->clock.period) : 0);
    queue->last_end = *end;
    queue->last_ticks = length > 0 ? ticks[1] : from;
}

static void put_activity(struct reading *reading, const struct vulkan_entry *entry,
                         const uint64_t *results) {
    int64_t start, end;
    read_times(reading, &results[entry->query], &start, &end);
    for (uint32_t i = 0; i < reading->depth && i < LABELS; i++) {
        if (!reading->labels[i].start)
            reading->labels[i].start = start;
        reading->labels[i].end = end;
    }
    if (!reading->submission->captured)
        return;
    if (entry->kind == VULKAN_KERNEL)
        put_kernel(reading, entry, start, end);
    else
        put_copy(reading, entry, start, end);
}

static void put_label(const struct reading *reading, const struct open_label *label) {
    uint32_t name = label->name ? spool_constant(lane, label->name) : 0;
    struct spool_queue_range *range =
        label->start && name && reading->submission->captured
            ? spool_begin(lane, SPOOL_QUEUE_RANGE, name, sizeof *range)
            : NULL;
    if (!range)
        return;
    *range = (struct spool_queue_range){
        .head = range->head,
        .start = label->start,
        .end = label->end,
        .device = reading->device->index,
        .context = reading->device->number,
        .stream = reading->queue->stream,
    };
    spool_publish(lane);
}

static void end_label(struct reading *reading) {
    if (reading->depth == 0)
        return;
    if (--reading->depth < LABELS)
        put_label(reading, &reading->labels[reading->depth]);
}

static void begin_label(struct reading *reading, const char *name) {
    if (reading->depth < LABELS)
        reading->labels[reading->depth] = (struct open_label){.name = name};
    reading->depth++;
}

/* The results of a recording come before those of its children. */
static void read_recording(struct reading *reading, const struct vulkan_recording *recording) {
    const uint64_t *results = reading->at;
    reading->at += recording->query_count;
    for (uint32_t i = 0; i < recording->count; i++) {
        const struct vulkan_entry *entry = &recording->entries[i];
        if (entry->kind == VULKAN_CHILD)
            read_recording(reading, entry->child);
        else if (entry->kind == VULKAN_LABEL)
            begin_label(reading, entry->name);
        else if (entry->kind == VULKAN_LABEL_END)
            end_label(reading);
        else if (entry->query != VULKAN_NO_QUERY)
            put_activity(reading, entry, results);
    }
}

static void put_clock_error(struct vulkan_clock *device_clock) {
    if (device_clock->error <= device_clock->reported)
        return;
    struct spool_clock *clock = spool_begin(lane, SPOOL_CLOCK, 0, sizeof *clock);
    if (!clock)
        return;
    device_clock->reported = device_clock->error;
    clock->time = clock_now();
    clock->error_ns = device_clock->error;
    spool_publish(lane);
}

/* Work cannot begin before its submission, or end after it was read. */
static void check_clock(const struct reading *reading) {
    const struct vulkan_submission *submission = reading->submission;
    int64_t first = convert(reading, submission->results[0]), last = first;
    for (uint32_t i = 0; i < submission->words; i++) {
        int64_t time = convert(reading, submission->results[i]);
        first = time < first ? time : first;
        last = time > last ? time : last;
    }
    vulkan_clock_check(reading->device, submission->submitted_at - first, last - reading->now);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* All results have arrived, the marker last. A result that stays 0 is one. */
static bool is_complete(struct vulkan_submission *submission) {
    uint64_t *results = submission->results;
    if (__atomic_load_n(&results[submission->words], __ATOMIC_ACQUIRE) == 0)
        return false;
    for (uint32_t i = 0; i < submission->words; i++)
        if (__atomic_load_n(&results[i], __ATOMIC_RELAXED) == 0)
            return submission->looks++ > LOOKS_MAX;
    return true;
}

static void read_submission(struct vulkan_device *device, struct vulkan_submission *submission) {
    struct reading reading = {
        .device = device,
        .queue = submission->queue,
        .submission = submission,
        .at = submission->results,
        .valid_bits = device->families[submission->queue->family].timestampValidBits,
        .now = clock_now(),
    };
    check_clock(&reading);
    put_clock_error(&device->clock);
    for (uint32_t i = 0; i < submission->count; i++)
        read_recording(&reading, submission->recordings[i]);
    while (reading.depth > 0)
        end_label(&reading);
    atomic_store(&submission->done, true);
}

static void put_queue_names(struct vulkan_device *device) {
    for (struct vulkan_queue *queue = device->queues; queue; queue = queue->next) {
        const char *name = atomic_exchange(&queue->name, NULL);
        uint32_t text = name ? spool_constant(lane, name) : 0;
        struct spool_queue *record =
            text ? spool_begin(lane, SPOOL_QUEUE, text, sizeof *record) : NULL;
        if (!record)
            continue;
        *record = (struct spool_queue){.head = record->head,
                                       .device = device->index,
                                       .context = device->number,
                                       .stream = queue->stream};
        spool_publish(lane);
    }
}

/* Returns the number of submissions that were read. */
static uint64_t read_device(struct vulkan_device *device) {
    uint64_t read = 0;
    for (uint32_t i = 0; i < device->ring_count; i++) {
        struct vulkan_ring *ring = &device->rings[i];
        struct vulkan_submission *at = NULL;
        while ((at = vulkan_ring_next(device, ring, at))) {
            if (atomic_load(&at->done))
                continue;
            if (!is_complete(at))
                at->queue->incomplete_in = pass;
            if (at->queue->incomplete_in == pass)
                continue;
            if (read++ == 0) {
                vulkan_device_put(lane, device);
                put_queue_names(device);
                vulkan_clock_update(device);
            }
            read_submission(device, at);
        }
        vulkan_ring_collect(device, ring);
    }
    return read;
}

/* The lane belongs to no thread in particular; it uses the main thread's tid. */
static bool take_lane(void) {
    enum { RETRY_INTERVAL = 64 };
    if (lane)
        return true;
    if (lane_attempts++ % RETRY_INTERVAL != 0)
        return false;
    lane = spool_lane_open(probe_start()->spool);
    struct spool_thread *thread = spool_begin(lane, SPOOL_THREAD, 0, sizeof *thread);
    if (thread) {
        thread->tid = getpid();
        spool_publish(lane);
    }
    return lane != NULL;
}

static uint64_t read_all(void) {
    uint64_t read = 0;
    int64_t before = clock_read(CLOCK_THREAD_CPUTIME_ID);
    if (!take_lane())
        return 0;
    pass++;
    for (unsigned i = 0; i < VULKAN_DEVICES; i++) {
        struct vulkan_device *device = vulkan_device_at(i);
        if (device)
            read += read_device(device);
    }
    put_untimed();
    cost_add_ns(clock_read(CLOCK_THREAD_CPUTIME_ID) - before);
    return read;
}

static bool reader_lock(void) {
    return getpid() == owner && lock_acquire(&lock);
}

static void *read_periodically(void *nothing) {
    unsigned idle = 0;
    (void)nothing;
    for (;;) {
        struct timespec pause = {.tv_nsec =
                                     idle < IDLE_AFTER ? BUSY_INTERVAL_NS : IDLE_INTERVAL_NS};
        nanosleep(&pause, NULL);
        if (!reader_lock())
            continue;
        bool go_on = !finished && !spool_is_stopped(probe_start()->spool);
        idle = go_on && read_all() > 0 ? 0 : idle + 1;
        lock_release(&lock);
        if (!go_on)
            return NULL;
    }
}

static uint64_t count_commands(const struct vulkan_recording *recording) {
    uint64_t commands = recording->commands - recording->untimed;
    for (uint32_t i = 0; recording->children > 0 && i < recording->count; i++)
        if (recording->entries[i].child)
            commands += count_commands(recording->entries[i].child);
    return commands;
}

/* Counts the commands whose results have not arrived. */
static void put_unfinished(struct vulkan_device *device) {
    uint64_t commands = 0;
    for (uint32_t i = 0; i < device->ring_count; i++) {
        struct vulkan_submission *at = NULL;
        while ((at = vulkan_ring_next(device, &device->rings[i], at)))
            for (uint32_t k = 0; k < at->count && !atomic_load(&at->done); k++)
                commands += count_commands(at->recordings[k]);
    }
    if (commands > 0 && lane)
        put_dropped("the program ended while work was running on the device", commands);
}

/* At exit(), on any thread, before the drivers shut down. */
static void read_at_exit(void) {
    int error = errno;
    if (!reader_lock())
        return;
    if (!finished) {
        read_all();
        for (unsigned i = 0; i < VULKAN_DEVICES; i++) {
            struct vulkan_device *device = vulkan_device_at(i);
            if (device)
                put_unfinished(device);
        }
    }
    finished = true;
    lock_release(&lock);
    errno = error;
}

void vulkan_reader_remove(struct vulkan_device *device) {
    bool locked = reader_lock();
    if (locked && !finished && !spool_is_stopped(probe_start()->spool)) {
        read_all();
        put_unfinished(device);
    }
    device->records = false;
    if (locked)
        lock_release(&lock);
}

static void start_once(void) {
    owner = getpid();
    atexit(read_at_exit);
    probe_start_thread(read_periodically);
}

void vulkan_reader_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = errno;
    pthread_once(&once, start_once);
    errno = error;
}
