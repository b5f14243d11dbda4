/* An activity's times are known once the device has completed it, which may be much later. Until
 * then its row is pending, in batches. A full batch is closed by an event on each queue that it
 * uses. Once these are reached, all its times can be read without waiting, so recording does not
 * change the timing of the program. It only waits for a device that is tens of thousands of
 * activities behind. */
#include "device/recorder.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/process.h"
#include "trace/writer.h"

enum {
    BATCH_ROWS = 512,
    BATCHES_MAX = 128, /* waiting; 65,536 activities */
    QUEUES_MAX = 64,
    TIME_SOURCE_SIZE = 256,
    OVERHEAD_SHOWN = 20000, /* nanoseconds */
    COMPRESSION = 1,        /* the recorded program is to have the processor */
};

struct pending {
    struct row_activity row;
    struct device_stamp stamp;
};

struct batch {
    struct batch *next;
    uint64_t queues; /* that it has work on */
    uint64_t marked; /* of those, the ones whose event is not known to be reached */
    struct device_event marks[QUEUES_MAX];
    unsigned count;
    struct pending rows[BATCH_ROWS];
};

struct open_range {
    int64_t start;
    uint32_t thread, name;
};

struct recorder {
    struct device *device;
    struct output output;
    struct trace_writer *writer;

    uint32_t process, device_row;
    uint32_t queues[QUEUES_MAX];
    uint32_t call_names[CALLED_KINDS];
    uint32_t overhead_name, pause_name;
    int64_t paused_since; /* 0: it is not paused */
    uint64_t correlation; /* the last one given */

    struct map threads; /* thread id -> row */
    pthread_t last_thread;
    uint32_t last_thread_row;

    struct batch *filling;         /* always there */
    struct batch *oldest, *newest; /* waiting to be resolved, or NULL */
    struct batch *spare;
    unsigned waiting;
    struct status first_error; /* the first failure of the device while its times were collected */

    recorder_observer *observer;
    void *observer_context;

    struct open_range *ranges;
    size_t range_count, range_capacity;
    uint64_t ranges_lost; /* ranges that began unrecorded: their ends are ignored */
};

static const struct {
    const char *name;
    enum call_class class;
} calls[CALLED_KINDS] = {
    [CALLED_LAUNCH] = {"ridge_launch", CALL_LAUNCH},
    [CALLED_COPY_IN] = {"ridge_copy_in", CALL_COPY},
    [CALLED_COPY_OUT] = {"ridge_copy_out", CALL_COPY},
    [CALLED_COPY_WITHIN] = {"ridge_copy_within", CALL_COPY},
    [CALLED_SYNCHRONIZE] = {"ridge_synchronize", CALL_SYNC},
    [CALLED_LOAD] = {"ridge_load", CALL_COMPILE},
    [CALLED_ALLOCATE] = {"ridge_allocate", CALL_ALLOC},
    [CALLED_RELEASE] = {"ridge_release", CALL_ALLOC},
};

uint32_t recorder_string(struct recorder *recorder, const char *text) {
    return trace_writer_string(recorder->writer, text_of(text));
}

static uint32_t thread_row(struct recorder *recorder) {
    pthread_t self = pthread_self();
    if (recorder->last_thread_row && pthread_equal(self, recorder->last_thread))
        return recorder->last_thread_row;
    uint64_t id = (uint64_t)process_thread_id();
    const uint64_t *known = map_find(&recorder->threads, id);
    uint32_t row;
    if (known) {
        row = (uint32_t)*known;
    } else {
        char name[PROCESS_NAME_SIZE];
        struct status ignored; /* a thread written twice is one thread to readers */
        process_thread_name(name);
        row = trace_write_thread(recorder->writer,
                                 &(struct row_thread){.process = recorder->process,
                                                      .tid = (int64_t)id,
                                                      .name = recorder_string(recorder, name)});
        map_set(&recorder->threads, id, row, &ignored);
    }
    recorder->last_thread = self;
    recorder->last_thread_row = row;
    return row;
}

void recorder_label(const struct device *device, char label[RECORDER_LABEL_SIZE]) {
    snprintf(label, RECORDER_LABEL_SIZE, "%s:%u", device->ops->name, device->index);
}

static void write_device(struct recorder *recorder) {
    const struct device *device = recorder->device;
    const struct device_capabilities *known = &device->capabilities;
    char label[RECORDER_LABEL_SIZE];
    recorder_label(device, label);
    recorder->device_row = trace_write_device(
        recorder->writer,
        &(struct row_device){
            .index = device->index,
            .label = recorder_string(recorder, label),
            .name = recorder_string(recorder, known->description),
            .vendor = recorder_string(recorder, known->vendor),
            .uuid = recorder_string(recorder, known->uuid),
            .memory_bytes = known->memory_bytes,
            .multiprocessors = known->threads ? known->threads : known->compute_units,
            .clock_hz = (uint64_t)known->clock_khz * 1000,
            .bandwidth = known->bandwidth,
            .compute_major = known->major,
            .compute_minor = known->minor,
            .warp_size = known->subgroup,
            .threads_per_multiprocessor = known->threads_per_unit,
            .registers_per_multiprocessor = known->registers_per_unit,
            .shared_per_multiprocessor = known->shared_per_unit,
            .listed = 1,
        });
    for (unsigned i = 0; i < known->queues && i < QUEUES_MAX; i++) {
        char name[24];
        snprintf(name, sizeof name, "queue %u", i);
        recorder->queues[i] = trace_write_queue(
            recorder->writer, &(struct row_queue){.device = recorder->device_row,
                                                  .process = recorder->process,
                                                  .stream = i,
                                                  .name = recorder_string(recorder, name)});
    }
}

static void write_process(struct recorder *recorder) {
    char name[PROCESS_NAME_SIZE], host[PROCESS_NAME_SIZE];
    struct buffer command = {0};
    process_name(name);
    process_host(host);
    process_command(&command);
    recorder->process =
        trace_write_process(recorder->writer, &(struct row_process){
                                                  .pid = (uint64_t)getpid(),
                                                  .name = recorder_string(recorder, name),
                                                  .host = recorder_string(recorder, host),
                                              });
    trace_writer_meta(recorder->writer, META_HOST, text_of(host));
    trace_writer_meta(recorder->writer, META_COMMAND, buffer_as_text(&command));
    buffer_finish(&command);
}

static void write_meta(struct recorder *recorder) {
    const struct device_capabilities *known = &recorder->device->capabilities;
    char tool[64];
    snprintf(tool, sizeof tool, "ridge %s", ridge_version());
    trace_writer_meta(recorder->writer, META_SOURCE_FORMAT, TEXT("ridge"));
    trace_writer_meta(recorder->writer, META_SOURCE_TOOL, text_of(tool));
    trace_writer_meta(recorder->writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta_integer(recorder->writer, META_CLOCK_OFFSET, process_clock_offset());
    if (*known->driver)
        trace_writer_meta(recorder->writer, "device.driver", text_of(known->driver));
    for (unsigned i = 0; i < CALLED_KINDS; i++)
        recorder->call_names[i] = recorder_string(recorder, calls[i].name);
    recorder->overhead_name = recorder_string(recorder, "ridge: recording");
    recorder->pause_name = recorder_string(recorder, RANGE_PAUSED);
}

static void write_time_source(struct recorder *recorder) {
    char how[TIME_SOURCE_SIZE] = "";
    recorder->device->ops->prepare_stamps(recorder->device, how, sizeof how);
    trace_writer_meta(recorder->writer, "device.times", text_of(how));
}

static void recorder_destroy(struct recorder *recorder) {
    memory_free(recorder->filling);
    while (recorder->spare) {
        struct batch *next = recorder->spare->next;
        memory_free(recorder->spare);
        recorder->spare = next;
    }
    trace_writer_destroy(recorder->writer);
    map_finish(&recorder->threads);
    memory_free(recorder->ranges);
    memory_free(recorder);
}

struct recorder *recorder_create(struct device *device, const char *path, struct status *status) {
    if (!path || !*path || strcmp(path, "-") == 0) {
        status_fail(status, STATUS_USAGE, "a trace needs an output file, such as \"run.ridge\"");
        return NULL;
    }
    struct recorder *recorder = memory_allocate(1, sizeof *recorder, status);
    if (!recorder)
        return NULL;
    recorder->device = device;
    recorder->filling = memory_allocate(1, sizeof *recorder->filling, status);
    if (!recorder->filling || !output_open(&recorder->output, path, true, status)) {
        recorder_destroy(recorder);
        return NULL;
    }
    recorder->writer =
        trace_writer_create(recorder->output.fd,
                            &(struct trace_writer_options){
                                .session = process_session(), .writer = 1, .level = COMPRESSION},
                            status);
    if (!recorder->writer) {
        output_abandon(&recorder->output);
        recorder_destroy(recorder);
        return NULL;
    }
    write_process(recorder);
    write_device(recorder);
    write_meta(recorder);
    write_time_source(recorder);
    return recorder;
}

static void keep_first_error(struct recorder *recorder, const struct status *status) {
    if (recorder->first_error.code == STATUS_OK)
        recorder->first_error = *status;
}

static void write_batch(struct recorder *recorder, struct batch *batch) {
    struct device *device = recorder->device;
    for (unsigned i = 0; i < batch->count; i++) {
        struct pending *pending = &batch->rows[i];
        struct status status = {0};
        int64_t start, end;
        if (!device->ops->resolve(device, &pending->stamp, &start, &end, &status)) {
            keep_first_error(recorder, &status);
            trace_writer_dropped(recorder->writer, 1);
            continue;
        }
        pending->row.start = start;
        pending->row.duration = end > start ? end - start : 0;
        trace_write_activity(recorder->writer, &pending->row);
        if (recorder->observer)
            recorder->observer(recorder->observer_context, &pending->row);
    }
    for (unsigned queue = 0; batch->marked >> queue; queue++)
        if (batch->marked >> queue & 1)
            device->ops->event_release(device, batch->marks[queue]);
    batch->count = 0;
    batch->queues = batch->marked = 0;
}

/* Writes the oldest batch and reuses its memory. */
static void write_oldest(struct recorder *recorder) {
    struct batch *batch = recorder->oldest;
    recorder->oldest = batch->next;
    if (!recorder->oldest)
        recorder->newest = NULL;
    recorder->waiting--;
    write_batch(recorder, batch);
    batch->next = recorder->spare;
    recorder->spare = batch;
}

static bool is_reached(struct recorder *recorder, struct batch *batch) {
    struct device *device = recorder->device;
    for (unsigned queue = 0; batch->marked >> queue; queue++) {
        if (!(batch->marked >> queue & 1))
            continue;
        if (!device->ops->reached(device, batch->marks[queue]))
            return false;
        device->ops->event_release(device, batch->marks[queue]);
        batch->marked &= ~((uint64_t)1 << queue);
    }
    return true;
}

static void wait_and_write_all(struct recorder *recorder) {
    struct status status = {0};
    if (!recorder->device->ops->finish(recorder->device, &status))
        keep_first_error(recorder, &status);
    while (recorder->oldest)
        write_oldest(recorder);
    write_batch(recorder, recorder->filling);
}

void recorder_settle(struct recorder *recorder) {
    wait_and_write_all(recorder);
}

void recorder_set_observer(struct recorder *recorder, recorder_observer *observer, void *context) {
    recorder->observer = observer;
    recorder->observer_context = context;
}

static bool mark_queues(struct recorder *recorder, struct batch *batch) {
    struct device *device = recorder->device;
    for (unsigned queue = 0; batch->queues >> queue; queue++) {
        struct status status = {0};
        if (!(batch->queues >> queue & 1))
            continue;
        if (!device->ops->record(device, queue, &batch->marks[queue], &status)) {
            keep_first_error(recorder, &status);
            return false;
        }
        batch->marked |= (uint64_t)1 << queue;
    }
    return true;
}

static struct batch *empty_batch(struct recorder *recorder) {
    struct status ignored;
    struct batch *batch = recorder->spare;
    if (!batch)
        return memory_allocate(1, sizeof *batch, &ignored);
    recorder->spare = batch->next;
    batch->next = NULL;
    return batch;
}

/* Closes the full batch and writes those that the device is done with. */
static void turn_over(struct recorder *recorder) {
    struct batch *full = recorder->filling, *empty = NULL;
    if (recorder->waiting < BATCHES_MAX && mark_queues(recorder, full))
        empty = empty_batch(recorder);
    if (!empty) {
        wait_and_write_all(recorder);
        return;
    }
    recorder->filling = empty;
    if (recorder->newest)
        recorder->newest->next = full;
    else
        recorder->oldest = full;
    recorder->newest = full;
    recorder->waiting++;
    while (recorder->oldest && is_reached(recorder, recorder->oldest))
        write_oldest(recorder);
}

/* The cost of recording, if it is large enough to be visible, so that a reader can separate it
 * from the program's time. */
static void write_overhead(struct recorder *recorder, int64_t start) {
    int64_t duration = clock_now() - start;
    if (duration < OVERHEAD_SHOWN)
        return;
    trace_write_range(recorder->writer, &(struct row_range){.start = start,
                                                            .duration = duration,
                                                            .thread = thread_row(recorder),
                                                            .name = recorder->overhead_name,
                                                            .category = RANGE_OVERHEAD});
}

void recorder_activity(struct recorder *recorder, unsigned queue, const struct row_activity *row,
                       struct device_stamp stamp) {
    struct batch *batch = recorder->filling;
    struct pending *pending = &batch->rows[batch->count++];
    queue %= QUEUES_MAX;
    pending->row = *row;
    pending->row.queue = recorder->queues[queue];
    pending->stamp = stamp;
    batch->queues |= (uint64_t)1 << queue;
    if (batch->count < BATCH_ROWS)
        return;
    int64_t start = clock_now();
    turn_over(recorder);
    write_overhead(recorder, start);
}

static uint32_t kernel_detail(struct recorder *recorder, const char *kernel) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    json_begin_object(&json);
    json_member_string(&json, "kernel", kernel);
    json_end_object(&json);
    uint32_t id = text.failed ? 0 : trace_writer_string(recorder->writer, buffer_as_text(&text));
    buffer_finish(&text);
    return id;
}

uint64_t recorder_call(struct recorder *recorder, enum recorded_call kind, int64_t start, bool ok,
                       const char *kernel) {
    int64_t end = clock_now();
    struct row_call row = {
        .start = start,
        .duration = end - start,
        .thread = thread_row(recorder),
        .name = recorder->call_names[kind],
        .class = (uint8_t)calls[kind].class,
        .correlation = ++recorder->correlation,
        .result = ok ? 0 : 1,
    };
    if (kernel)
        row.detail = kernel_detail(recorder, kernel);
    trace_write_call(recorder->writer, &row);
    write_overhead(recorder, end); /* sometimes a chunk of the file is full */
    return row.correlation;
}

void recorder_memory(void *context, const struct pool_block *block, bool released,
                     uint64_t used_bytes, uint64_t reserved_bytes) {
    struct recorder *recorder = context;
    trace_write_memory(recorder->writer, &(struct row_memory){
                                             .time = clock_now(),
                                             .thread = thread_row(recorder),
                                             .device = recorder->device_row,
                                             .operation = released ? MEMORY_FREE : MEMORY_ALLOC,
                                             .bytes = block->memory.bytes,
                                             .address = block->memory.handle,
                                             .allocated = used_bytes,
                                             .reserved = reserved_bytes,
                                         });
}

void recorder_meta(struct recorder *recorder, const char *key, const char *value) {
    trace_writer_meta(recorder->writer, key, text_of(value));
}

void recorder_range_begin(struct recorder *recorder, const char *name) {
    struct status ignored;
    if (!GROW(recorder->ranges, &recorder->range_capacity, recorder->range_count + 1, &ignored)) {
        recorder->ranges_lost++;
        trace_writer_dropped(recorder->writer, 1);
        return;
    }
    recorder->ranges[recorder->range_count++] = (struct open_range){
        .thread = thread_row(recorder),
        .name = recorder_string(recorder, name ? name : ""),
        .start = clock_now(),
    };
}

static void end_range(struct recorder *recorder, size_t i) {
    const struct open_range range = recorder->ranges[i];
    int64_t end = clock_now();
    trace_write_range(recorder->writer, &(struct row_range){.start = range.start,
                                                            .duration = end - range.start,
                                                            .thread = range.thread,
                                                            .name = range.name,
                                                            .category = RANGE_ANNOTATION});
    recorder->range_count--;
    memmove(&recorder->ranges[i], &recorder->ranges[i + 1],
            (recorder->range_count - i) * sizeof range);
}

void recorder_range_end(struct recorder *recorder) {
    uint32_t thread = thread_row(recorder);
    if (recorder->ranges_lost > 0) {
        recorder->ranges_lost--;
        return;
    }
    for (size_t i = recorder->range_count; i-- > 0;)
        if (recorder->ranges[i].thread == thread) {
            end_range(recorder, i);
            return;
        }
}

void recorder_pause(struct recorder *recorder) {
    recorder->paused_since = clock_now();
}

static void end_pause(struct recorder *recorder) {
    int64_t start = recorder->paused_since;
    if (start == 0)
        return;
    recorder->paused_since = 0;
    trace_write_range(recorder->writer, &(struct row_range){.start = start,
                                                            .duration = clock_now() - start,
                                                            .thread = thread_row(recorder),
                                                            .name = recorder->pause_name,
                                                            .category = RANGE_OVERHEAD});
}

void recorder_resume(struct recorder *recorder) {
    char ignored[TIME_SOURCE_SIZE];
    recorder->device->ops->prepare_stamps(recorder->device, ignored, sizeof ignored);
    end_pause(recorder);
}

/* A device failure is recorded in the trace, where it is most needed. */
static void write_first_error(struct recorder *recorder) {
    struct buffer text = {0};
    if (recorder->first_error.code == STATUS_OK)
        return;
    buffer_printf(&text, "the device failed during recording: %s", recorder->first_error.message);
    trace_writer_meta(recorder->writer, META_WARNING, buffer_as_text(&text));
    buffer_finish(&text);
}

bool recorder_finish(struct recorder *recorder, struct status *status) {
    if (!recorder)
        return true;
    wait_and_write_all(recorder);
    end_pause(recorder);
    while (recorder->range_count > 0)
        end_range(recorder, recorder->range_count - 1);
    trace_writer_meta_integer(recorder->writer, META_CLOCK_ERROR,
                              recorder->device->ops->clock_error(recorder->device));
    write_first_error(recorder);
    bool ok = trace_writer_finish(recorder->writer, status);
    if (!ok) {
        status_context(status, "the trace %s", recorder->output.path);
        output_abandon(&recorder->output);
    } else {
        ok = output_commit(&recorder->output, status);
    }
    recorder_destroy(recorder);
    return ok;
}
