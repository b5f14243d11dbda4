/* Metal: the GPU, the application's encoders and submissions, the driver, and GPU counters.
 *
 * The finest GPU interval is an encoder, so an encoder is a kernel (or, for a blit, a copy), and
 * encoding it is the call that launches it; both have the encoder's id. Tables of the GPU and the
 * driver have rows of all processes; only the target's are used. Completions have no process and
 * are matched by the target's command buffers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "import/xctrace/xctrace.h"

uint64_t xctrace_object_id(const struct xctrace_table *table, uint32_t cell) {
    uint64_t id;
    return xctrace_integer(table, cell, &id) && id != UINT64_MAX ? id : 0;
}

bool xctrace_is_target(const struct xctrace *import, const struct xctrace_table *table,
                       uint32_t process_cell, uint32_t thread_cell) {
    uint64_t pid = xctrace_pid(table, process_cell ? process_cell : thread_cell);
    return pid != 0 && pid == import->target_pid;
}

/* What is known of a command buffer of the target. */
enum { ENCODED = 1, EXECUTED = 2 };

static bool remember_command_buffer(struct xctrace *import, const struct xctrace_table *table,
                                    uint32_t cell, uint64_t fact, struct status *status) {
    uint64_t id = xctrace_object_id(table, cell);
    const uint64_t *known = id ? map_find(&import->command_buffers, id) : NULL;
    uint64_t before = known ? *known : 0, after = before | fact;
    if (id == 0 || after == before)
        return true;
    import->encoded_buffers += (after & ENCODED) > (before & ENCODED);
    import->executed_buffers += after == (ENCODED | EXECUTED);
    return map_set(&import->command_buffers, id, after, status);
}

bool xctrace_device(struct xctrace *import, struct text label, uint32_t *device,
                    struct status *status) {
    struct trace_writer *writer = import->writer;
    size_t known = import->devices.count;
    uint32_t key;
    if (label.length == 0)
        label = TEXT("GPU");
    if (!intern_add(&import->devices, label, &key, status))
        return false;
    if (import->devices.count == known) {
        *device = (uint32_t)*map_find(&import->device_ids, key);
        return true;
    }
    uint32_t name = trace_writer_string(writer, label);
    *device = trace_write_device(writer, &(struct row_device){
                                             .index = (uint32_t)import->device_ids.count,
                                             .label = name,
                                             .name = name,
                                             .vendor = trace_writer_string(writer, TEXT("Apple")),
                                         });
    return map_set(&import->device_ids, key, *device, status);
}

static bool queue_of(struct xctrace *import, uint32_t device, struct text channel, uint32_t *queue,
                     struct status *status) {
    struct buffer name = {0};
    buffer_printf(&name, "%u %.*s", device, TEXT_ARGS(channel));
    size_t known = import->queues.count;
    uint32_t key = 0;
    bool ok = buffer_ok(&name, status) &&
              intern_add(&import->queues, buffer_as_text(&name), &key, status);
    buffer_finish(&name);
    if (!ok)
        return false;
    if (import->queues.count == known) {
        *queue = (uint32_t)*map_find(&import->queue_ids, key);
        return true;
    }
    *queue =
        trace_write_queue(import->writer, &(struct row_queue){
                                              .device = device,
                                              .process = import->process,
                                              .stream = (int64_t)import->queue_ids.count,
                                              .name = trace_writer_string(import->writer, channel),
                                          });
    return map_set(&import->queue_ids, key, *queue, status);
}

enum {
    GPU_START,
    GPU_DURATION,
    GPU_CHANNEL,
    GPU_DEPTH,
    GPU_LABEL,
    GPU_STATE,
    GPU_PROCESS,
    GPU_DEVICE,
    GPU_BYTES,
    GPU_COMMAND_BUFFER,
    GPU_ENCODER,
};
static const char *const gpu_columns[] = {
    "start",   "duration", "channel-name", "event-depth",  "event-label", "state",
    "process", "gpu",      "bytes",        "cmdbuffer-id", "encoder-id",  NULL,
};

static bool is_outermost_and_active(const struct xctrace_table *table, const uint32_t *cells) {
    return text_is(xctrace_text(table, cells[GPU_STATE]), "Active") &&
           text_is(xctrace_text(table, cells[GPU_DEPTH]), "0");
}

static bool gpu_row(struct xctrace *import, const struct xctrace_table *table,
                    const uint32_t *cells, struct status *status) {
    struct row_activity activity = {.bytes = BYTES_UNKNOWN};
    bool use;
    if (!xctrace_is_target(import, table, cells[GPU_PROCESS], 0)) {
        import->foreign++;
        return true;
    }
    if (!remember_command_buffer(import, table, cells[GPU_COMMAND_BUFFER], EXECUTED, status))
        return false;
    if (!is_outermost_and_active(table, cells)) {
        import->nested++;
        return true;
    }
    if (!xctrace_span(import, table, cells[GPU_START], cells[GPU_DURATION], &activity.start,
                      &activity.duration, &use, status))
        return false;
    if (!use)
        return true;
    struct text name = xctrace_shader_of(import, xctrace_label(table, cells[GPU_LABEL]),
                                         activity.start, activity.duration);
    struct text channel = xctrace_text(table, cells[GPU_CHANNEL]);
    uint32_t device;
    if (!xctrace_device(import, xctrace_text(table, cells[GPU_DEVICE]), &device, status) ||
        !queue_of(import, device, channel, &activity.queue, status))
        return false;
    activity.name = trace_writer_string(import->writer, name.length ? name : channel);
    activity.correlation = xctrace_object_id(table, cells[GPU_ENCODER]);
    if (text_find(name, "Blit") >= 0) {
        uint64_t bytes = xctrace_object_id(table, cells[GPU_BYTES]);
        activity.kind = ACTIVITY_COPY;
        activity.bytes = bytes ? bytes : BYTES_UNKNOWN;
    }
    trace_write_activity(import->writer, &activity);
    import->gpu_intervals++;
    return true;
}

const struct xctrace_kind xctrace_gpu_intervals = {"metal-gpu-intervals", gpu_columns, gpu_row,
                                                   NULL};

enum {
    ENCODER_START,
    ENCODER_DURATION,
    ENCODER_THREAD,
    ENCODER_PROCESS,
    ENCODER_BUFFER_LABEL,
    ENCODER_LABEL,
    ENCODER_COMMAND_BUFFER,
    ENCODER_ID,
};
static const char *const encoder_columns[] = {
    "start",         "duration",     "thread",     "process", "cmdbuffer-label",
    "encoder-label", "cmdbuffer-id", "encoder-id", NULL,
};

/* {"encoder": label, "command_buffer": label} */
static uint32_t encoder_detail(struct xctrace *import, struct text encoder,
                               struct text command_buffer) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    json_begin_object(&json);
    json_member_text(&json, "encoder", encoder);
    json_member_text(&json, "command_buffer", command_buffer);
    json_end_object(&json);
    uint32_t detail = trace_writer_string_of(import->writer, &text);
    buffer_finish(&text);
    return detail;
}

static bool encoder_row(struct xctrace *import, const struct xctrace_table *table,
                        const uint32_t *cells, struct status *status) {
    struct row_call call = {.class = CALL_LAUNCH};
    bool use;
    if (!xctrace_is_target(import, table, cells[ENCODER_PROCESS], cells[ENCODER_THREAD]))
        return true;
    if (!xctrace_span(import, table, cells[ENCODER_START], cells[ENCODER_DURATION], &call.start,
                      &call.duration, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[ENCODER_THREAD], &call.thread, status) ||
        !remember_command_buffer(import, table, cells[ENCODER_COMMAND_BUFFER], ENCODED, status))
        return false;
    call.name = trace_writer_string(import->writer, TEXT("MTLCommandEncoder encoding"));
    call.correlation = xctrace_object_id(table, cells[ENCODER_ID]);
    call.detail = encoder_detail(import, xctrace_text(table, cells[ENCODER_LABEL]),
                                 xctrace_text(table, cells[ENCODER_BUFFER_LABEL]));
    trace_write_call(import->writer, &call);
    return xctrace_waits_encoding(import, call.thread,
                                  xctrace_object_id(table, cells[ENCODER_COMMAND_BUFFER]),
                                  call.start, call.duration, status);
}

const struct xctrace_kind xctrace_encoders = {"metal-application-encoders-list", encoder_columns,
                                              encoder_row, NULL};

enum {
    SUBMISSION_START,
    SUBMISSION_DURATION,
    SUBMISSION_THREAD,
    SUBMISSION_PROCESS,
    SUBMISSION_COMMAND_BUFFER
};
static const char *const submission_columns[] = {"start",   "duration",     "thread",
                                                 "process", "cmdbuffer-id", NULL};

static bool submission_row(struct xctrace *import, const struct xctrace_table *table,
                           const uint32_t *cells, struct status *status) {
    struct row_call call = {.class = CALL_LAUNCH};
    bool use;
    if (!xctrace_is_target(import, table, cells[SUBMISSION_PROCESS], cells[SUBMISSION_THREAD]))
        return true;
    if (!xctrace_span(import, table, cells[SUBMISSION_START], cells[SUBMISSION_DURATION],
                      &call.start, &call.duration, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[SUBMISSION_THREAD], &call.thread, status) ||
        !remember_command_buffer(import, table, cells[SUBMISSION_COMMAND_BUFFER], ENCODED, status))
        return false;
    call.name = trace_writer_string(import->writer, TEXT("MTLCommandBuffer commit"));
    call.correlation = xctrace_object_id(table, cells[SUBMISSION_COMMAND_BUFFER]);
    trace_write_call(import->writer, &call);
    return true;
}

const struct xctrace_kind xctrace_submissions = {"metal-application-command-buffer-submissions",
                                                 submission_columns, submission_row, NULL};

enum { COMPLETION_TIME, COMPLETION_COMMAND_BUFFER };
static const char *const completion_columns[] = {"timestamp", "cmdbuffer-id", NULL};

static bool completion_row(struct xctrace *import, const struct xctrace_table *table,
                           const uint32_t *cells, struct status *status) {
    struct row_mark mark = {0};
    bool use;
    uint64_t id = xctrace_object_id(table, cells[COMPLETION_COMMAND_BUFFER]);
    if (id == 0 || !map_find(&import->command_buffers, id))
        return true;
    if (!xctrace_span(import, table, cells[COMPLETION_TIME], 0, &mark.time, NULL, &use, status))
        return false;
    if (!use)
        return true;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"command_buffer\":%llu}", (unsigned long long)id);
    mark.name = trace_writer_string(import->writer, TEXT("MTLCommandBuffer completed"));
    mark.domain = trace_writer_string(import->writer, TEXT("Metal"));
    mark.detail = trace_writer_string(import->writer, text_of(detail));
    trace_write_mark(import->writer, &mark);
    return xctrace_waits_completion(import, id, mark.time, status);
}

const struct xctrace_kind xctrace_completions = {"metal-command-buffer-completed",
                                                 completion_columns, completion_row, NULL};

enum {
    INTERVAL_START,
    INTERVAL_DURATION,
    INTERVAL_THREAD,
    INTERVAL_PROCESS,
    INTERVAL_TYPE,
    INTERVAL_LABELS, /* and the following: the first non-empty one is the name */
    INTERVAL_COLUMNS = INTERVAL_LABELS + 3,
};
static const char *const interval_columns[] = {
    "start", "duration", "thread", "process", "event-type", "event-label", "label", "name", NULL,
};

static bool write_interval(struct xctrace *import, const struct xctrace_table *table,
                           const uint32_t *cells, enum range_category category,
                           struct status *status) {
    struct row_range range = {.category = (uint8_t)category};
    bool use;
    if (!xctrace_is_target(import, table, cells[INTERVAL_PROCESS], cells[INTERVAL_THREAD]))
        return true;
    if (!xctrace_span(import, table, cells[INTERVAL_START], cells[INTERVAL_DURATION], &range.start,
                      &range.duration, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[INTERVAL_THREAD], &range.thread, status))
        return false;
    struct text type = xctrace_text(table, cells[INTERVAL_TYPE]);
    struct text name = TEXT("");
    for (int i = INTERVAL_LABELS; i < INTERVAL_COLUMNS && name.length == 0; i++)
        name = xctrace_label(table, cells[i]);
    range.name = trace_writer_string(import->writer, name.length ? name : type);
    range.domain = trace_writer_string(import->writer, type);
    trace_write_range(import->writer, &range);
    return true;
}

static bool driver_row(struct xctrace *import, const struct xctrace_table *table,
                       const uint32_t *cells, struct status *status) {
    return write_interval(import, table, cells, RANGE_DRIVER, status);
}

static bool application_row(struct xctrace *import, const struct xctrace_table *table,
                            const uint32_t *cells, struct status *status) {
    return write_interval(import, table, cells, RANGE_OTHER, status);
}

const struct xctrace_kind xctrace_driver_intervals = {"metal-driver-intervals", interval_columns,
                                                      driver_row, NULL};
const struct xctrace_kind xctrace_application_intervals = {"metal-application-intervals",
                                                           interval_columns, application_row, NULL};

enum { STATE_START, STATE_STATE, STATE_CHANNELS, STATE_DEVICE };
static const char *const state_columns[] = {"start", "state", "num-events", "gpu", NULL};

/* Of the whole machine: the number of busy channels from this time on. */
static bool state_row(struct xctrace *import, const struct xctrace_table *table,
                      const uint32_t *cells, struct status *status) {
    struct row_counter counter = {0};
    uint64_t channels = 0;
    bool use;
    if (!xctrace_span(import, table, cells[STATE_START], 0, &counter.time, NULL, &use, status))
        return false;
    if (!use)
        return true;
    if (text_is(xctrace_text(table, cells[STATE_STATE]), "Active") &&
        !xctrace_integer(table, cells[STATE_CHANNELS], &channels))
        channels = 1;
    if (!xctrace_device(import, xctrace_text(table, cells[STATE_DEVICE]), &counter.device, status))
        return false;
    counter.name = trace_writer_string(import->writer, TEXT("GPU channels active (all processes)"));
    counter.value = (double)channels;
    trace_write_counter(import->writer, &counter);
    return true;
}

const struct xctrace_kind xctrace_gpu_states = {"metal-gpu-state-intervals", state_columns,
                                                state_row, NULL};

/* ---- GPU counters ---- */

/* gpu-counter-info names the counters that gpu-counter-value reads. A trace has these tables only
 * when a counter set was recorded; they belong to the whole machine. */

enum { INFO_ID, INFO_NAME };
static const char *const info_columns[] = {"counter-id", "name", NULL};

static bool info_row(struct xctrace *import, const struct xctrace_table *table,
                     const uint32_t *cells, struct status *status) {
    uint64_t id;
    if (!xctrace_integer(table, cells[INFO_ID], &id))
        return true;
    return map_set(&import->counter_names, id, xctrace_string(import, table, cells[INFO_NAME]),
                   status);
}

const struct xctrace_kind xctrace_counter_info = {"gpu-counter-info", info_columns, info_row, NULL};

/* False unless it is a finite number. */
static bool number_of(const struct xctrace_table *table, uint32_t cell, double *number) {
    char digits[64];
    struct text text = xctrace_text(table, cell);
    if (text.length == 0 || text.length >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.length);
    digits[text.length] = 0;
    char *end;
    *number = strtod(digits, &end);
    return *end == 0 && isfinite(*number);
}

static uint32_t counter_name(struct xctrace *import, uint64_t id) {
    const uint64_t *known = map_find(&import->counter_names, id);
    if (known)
        return (uint32_t)*known;
    char name[48];
    snprintf(name, sizeof name, "GPU counter %llu", (unsigned long long)id);
    return trace_writer_string(import->writer, text_of(name));
}

enum { VALUE_TIME, VALUE_ID, VALUE_VALUE };
static const char *const value_columns[] = {"timestamp", "counter-id", "value", NULL};

static bool value_row(struct xctrace *import, const struct xctrace_table *table,
                      const uint32_t *cells, struct status *status) {
    struct row_counter counter = {0};
    uint64_t id;
    bool use;
    if (!xctrace_span(import, table, cells[VALUE_TIME], 0, &counter.time, NULL, &use, status))
        return false;
    if (!use || !xctrace_integer(table, cells[VALUE_ID], &id) ||
        !number_of(table, cells[VALUE_VALUE], &counter.value))
        return true;
    counter.name = counter_name(import, id);
    trace_write_counter(import->writer, &counter);
    return true;
}

const struct xctrace_kind xctrace_counter_values = {"gpu-counter-value", value_columns, value_row,
                                                    NULL};

enum {
    COUNTER_INTERVAL_START,
    COUNTER_INTERVAL_NAME,
    COUNTER_INTERVAL_COUNTER_NAME,
    COUNTER_INTERVAL_LABEL,
    COUNTER_INTERVAL_VALUE,
    COUNTER_INTERVAL_PERCENT,
};
static const char *const counter_interval_columns[] = {
    "start", "name", "counter-name", "label", "value", "percent-value", NULL,
};

static bool counter_interval_row(struct xctrace *import, const struct xctrace_table *table,
                                 const uint32_t *cells, struct status *status) {
    struct row_counter counter = {0};
    struct text name = TEXT("");
    bool use;
    if (!xctrace_span(import, table, cells[COUNTER_INTERVAL_START], 0, &counter.time, NULL, &use,
                      status))
        return false;
    if (!use || (!number_of(table, cells[COUNTER_INTERVAL_VALUE], &counter.value) &&
                 !number_of(table, cells[COUNTER_INTERVAL_PERCENT], &counter.value)))
        return true;
    for (int i = COUNTER_INTERVAL_NAME; i <= COUNTER_INTERVAL_LABEL && name.length == 0; i++)
        name = xctrace_label(table, cells[i]);
    counter.name = trace_writer_string(import->writer, name);
    trace_write_counter(import->writer, &counter);
    return true;
}

const struct xctrace_kind xctrace_counter_intervals = {
    "metal-gpu-counter-intervals", counter_interval_columns, counter_interval_row, NULL};
