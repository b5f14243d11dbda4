/* The trace as JSON in the form of torch.profiler (Kineto), for chrome://tracing, ui.perfetto.dev
 * and the many scripts that read it: Kineto's categories and argument names, and plain names for
 * what Kineto does not record. Times are relative to baseTimeNanoseconds, since viewers keep them
 * in doubles.
 *
 * Kineto identifies devices, streams, processes and launches by numbers that are unique in a file.
 * A trace can have duplicates: several recordings, two contexts with a stream 7, two processes with
 * a correlation id 12. The first keeps its number and the others get unused ones. */
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "export/export.h"
#include "trace/writer.h"

/* The pid of events without a thread, queue or device; Kineto's too. */
#define NO_PID ((int64_t)-1)
/* Unused numbers are taken from here: above real pids and streams, exact in a double. */
#define UNUSED_FROM ((int64_t)1 << 41)

struct chrome {
    struct trace *trace;
    struct json json;
    int64_t base; /* time of ts 0 */
    /* by entity: the numbers used in this file */
    int64_t *device, *stream, *pid;
    int64_t unused; /* the next number that nothing has */
    bool *shared; /* by session: some queue has no process, so launches are unique in the session */
    uint64_t launch_span;   /* above every correlation id */
    struct map launch_ends; /* launch id to LAUNCH_ACTIVITY and LAUNCH_CALL */
    struct buffer detail, text;
    struct status *status;
    bool failed;
};

enum { LAUNCH_ACTIVITY = 1, LAUNCH_CALL = 2 };

/* ---- numbers ---- */

/* `wanted`, or an unused number where an earlier entity of this scope has it. */
static bool claim_number(struct chrome *chrome, struct map *taken, uint64_t scope, int64_t wanted,
                         int64_t *number) {
    uint64_t key[2] = {scope, (uint64_t)wanted};
    uint64_t hash = checksum64(key, sizeof key);
    if (wanted == NO_PID || map_find(taken, hash)) {
        *number = chrome->unused++;
        return true;
    }
    *number = wanted;
    return map_set(taken, hash, 1, chrome->status);
}

/* Devices and processes are both pids. */
static bool number_pids(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct map taken = {0};
    bool ok = true;
    for (size_t i = 1; i < trace->device.count && ok; i++) {
        int64_t wanted;
        if (!text_to_i64(trace_text(trace, trace->device.label[i]), &wanted))
            wanted = trace->device.index[i];
        ok = claim_number(chrome, &taken, 0, wanted, &chrome->device[i]);
    }
    for (size_t i = 1; i < trace->process.count && ok; i++)
        ok = claim_number(chrome, &taken, 0, (int64_t)trace->process.pid[i], &chrome->pid[i]);
    chrome->device[0] = chrome->unused++;
    chrome->pid[0] = chrome->unused++;
    map_finish(&taken);
    return ok;
}

static bool number_streams(struct chrome *chrome) {
    const struct columns_queue *queue = &chrome->trace->queue;
    struct map taken = {0};
    bool ok = true;
    for (size_t i = 1; i < queue->count && ok; i++)
        ok = claim_number(chrome, &taken, queue->device[i], queue->stream[i], &chrome->stream[i]);
    map_finish(&taken);
    return ok;
}

static bool number_entities(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    chrome->unused = UNUSED_FROM;
    chrome->device = memory_allocate(trace->device.count, sizeof *chrome->device, chrome->status);
    chrome->stream = memory_allocate(trace->queue.count, sizeof *chrome->stream, chrome->status);
    chrome->pid = memory_allocate(trace->process.count, sizeof *chrome->pid, chrome->status);
    chrome->shared =
        memory_allocate((size_t)trace->session_count + 1, sizeof *chrome->shared, chrome->status);
    if (!chrome->device || !chrome->stream || !chrome->pid || !chrome->shared)
        return false;
    for (size_t i = 1; i < trace->queue.count; i++)
        if (trace->queue.process[i] == 0)
            chrome->shared[trace->queue_session[i]] = true;
    return number_pids(chrome) && number_streams(chrome);
}

/* A correlation id is unique in its process, or in its session where queues have no process. Each
 * such scope gets its own range of numbers. */
static uint64_t launch_id(const struct chrome *chrome, uint32_t session, uint32_t process,
                          uint64_t correlation) {
    const struct trace *trace = chrome->trace;
    if (correlation == 0 || (trace->process.count <= 2 && trace->session_count <= 1))
        return correlation;
    if (session == UINT32_MAX) /* no thread or queue */
        session = 0;
    uint64_t scope = chrome->shared[session] ? trace->process.count + session : process;
    return correlation + scope * chrome->launch_span;
}

static uint64_t call_launch(const struct chrome *chrome, size_t row) {
    const struct trace *trace = chrome->trace;
    uint32_t thread = trace->call.thread[row];
    return launch_id(chrome, trace->thread_session[thread], trace->thread.process[thread],
                     trace->call.correlation[row]);
}

static uint64_t queue_launch(const struct chrome *chrome, uint32_t queue, uint64_t correlation) {
    const struct trace *trace = chrome->trace;
    return launch_id(chrome, trace->queue_session[queue], trace->queue.process[queue], correlation);
}

static bool add_launch_end(struct chrome *chrome, uint64_t id, uint64_t end) {
    uint64_t *known = map_find(&chrome->launch_ends, id);
    if (known) {
        *known |= end;
        return true;
    }
    return map_set(&chrome->launch_ends, id, end, chrome->status);
}

/* Finds the launches that have both ends: those get an arrow. */
static bool collect_launches(struct chrome *chrome) {
    const struct columns_activity *activity = &chrome->trace->activity;
    const struct columns_call *call = &chrome->trace->call;
    for (size_t row = 0; row < activity->count; row++)
        if (activity->correlation[row] >= chrome->launch_span)
            chrome->launch_span = activity->correlation[row] + 1;
    for (size_t row = 0; row < call->count; row++)
        if (call->correlation[row] >= chrome->launch_span)
            chrome->launch_span = call->correlation[row] + 1;
    for (size_t row = 0; row < activity->count; row++) {
        uint64_t id = queue_launch(chrome, activity->queue[row], activity->correlation[row]);
        if (id && !add_launch_end(chrome, id, LAUNCH_ACTIVITY))
            return false;
    }
    for (size_t row = 0; row < call->count; row++) {
        uint64_t id = call_launch(chrome, row);
        if (id && map_find(&chrome->launch_ends, id) && !add_launch_end(chrome, id, LAUNCH_CALL))
            return false;
    }
    return true;
}

static bool has_arrow(const struct chrome *chrome, uint64_t id) {
    const uint64_t *ends = id ? map_find(&chrome->launch_ends, id) : NULL;
    return ends && *ends == (LAUNCH_ACTIVITY | LAUNCH_CALL);
}

/* ---- events ---- */

/* Nanoseconds as microseconds with three decimals. */
static void put_microseconds(struct chrome *chrome, const char *key, uint64_t ns) {
    char digits[40];
    snprintf(digits, sizeof digits, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    json_key(&chrome->json, key);
    json_raw(&chrome->json, text_of(digits));
}

static void put_time(struct chrome *chrome, int64_t time) {
    put_microseconds(chrome, "ts", (uint64_t)time - (uint64_t)chrome->base);
}

static void put_span(struct chrome *chrome, int64_t start, int64_t duration) {
    put_time(chrome, start);
    put_microseconds(chrome, "dur", (uint64_t)duration);
}

static void put_if(struct chrome *chrome, const char *key, uint64_t value) {
    if (value)
        json_member_unsigned(&chrome->json, key, value);
}

/* For 64-bit values that readers take as signed. */
static void put_signed_if(struct chrome *chrome, const char *key, uint64_t value) {
    if (value)
        json_member_integer(&chrome->json, key, (int64_t)value);
}

static void begin_event(struct chrome *chrome, const char *phase, struct text category,
                        struct text name) {
    struct json *json = &chrome->json;
    json_begin_object(json);
    json_member_string(json, "ph", phase);
    json_member_text(json, "cat", category);
    json_member_text(json, "name", name);
}

static void put_track(struct chrome *chrome, int64_t pid, int64_t tid) {
    json_member_integer(&chrome->json, "pid", pid);
    json_member_integer(&chrome->json, "tid", tid);
}

static void put_thread(struct chrome *chrome, uint32_t thread) {
    const struct columns_thread *threads = &chrome->trace->thread;
    if (thread)
        put_track(chrome, chrome->pid[threads->process[thread]], threads->tid[thread]);
    else
        put_track(chrome, NO_PID, 0);
}

static void put_queue(struct chrome *chrome, uint32_t queue) {
    if (queue)
        put_track(chrome, chrome->device[chrome->trace->queue.device[queue]],
                  chrome->stream[queue]);
    else
        put_track(chrome, NO_PID, 0);
}

static void begin_args(struct chrome *chrome) {
    json_key(&chrome->json, "args");
    json_begin_object(&chrome->json);
}

static void end_event(struct chrome *chrome) {
    json_end_object(&chrome->json); /* args */
    json_end_object(&chrome->json);
    output_write(chrome->json.output, "\n", 1);
    chrome->failed |= chrome->json.output->failed || chrome->detail.failed || chrome->text.failed;
}

/* A detail is a JSON object: its members become arguments. One that is not valid JSON is written as
 * a string. */
static void put_detail(struct chrome *chrome, uint32_t detail) {
    struct text text = trace_text(chrome->trace, detail);
    struct buffer *compact = &chrome->detail;
    if (text.length == 0)
        return;
    buffer_clear(compact);
    bool valid = text.data[0] == '{' && text_utf8_valid(text) == text.length &&
                 scan_compact(text, compact) && compact->length >= 2;
    if (!valid)
        json_member_text(&chrome->json, "detail", text);
    else if (compact->length > 2)
        json_raw(&chrome->json, (struct text){compact->data + 1, compact->length - 2});
}

/* One end of an arrow from a call to the activity that it launched. */
static void begin_arrow(struct chrome *chrome, const char *phase, uint64_t id) {
    begin_event(chrome, phase, TEXT("ac2g"), TEXT("ac2g"));
    json_member_unsigned(&chrome->json, "id", id);
}

static void end_arrow(struct chrome *chrome, int64_t time, bool last) {
    put_time(chrome, time);
    if (last)
        json_member_string(&chrome->json, "bp", "e");
    json_end_object(&chrome->json);
    output_write(chrome->json.output, "\n", 1);
}

/* cuLaunchKernel belongs to the driver API, cudaLaunchKernel to the runtime API. */
static struct text call_category(struct text name) {
    bool driver =
        name.length > 2 && text_starts(name, "cu") && name.data[2] >= 'A' && name.data[2] <= 'Z';
    return driver ? TEXT("cuda_driver") : TEXT("cuda_runtime");
}

/* The innermost line, and the whole stack. */
static void put_line(struct chrome *chrome, uint32_t stack) {
    const struct trace *trace = chrome->trace;
    struct buffer text = {0};
    if (!stack)
        return;
    if (trace->stack.line[stack]) {
        buffer_printf(&text, "%.*s:%u", TEXT_ARGS(trace_text(trace, trace->stack.file[stack])),
                      trace->stack.line[stack]);
        json_member_text(&chrome->json, "line", buffer_as_text(&text));
        buffer_clear(&text);
    }
    export_stack(trace, stack, &text);
    json_member_text(&chrome->json, "stack", buffer_as_text(&text));
    chrome->failed |= text.failed;
    buffer_finish(&text);
}

static void write_calls(struct chrome *chrome) {
    const struct columns_call *call = &chrome->trace->call;
    for (size_t row = 0; row < call->count && !chrome->failed; row++) {
        struct text name = trace_text(chrome->trace, call->name[row]);
        uint64_t id = call_launch(chrome, row);
        begin_event(chrome, "X", call_category(name), name);
        put_thread(chrome, call->thread[row]);
        put_span(chrome, call->start[row], call->duration[row]);
        begin_args(chrome);
        put_detail(chrome, call->detail[row]);
        put_line(chrome, call->stack[row]);
        put_signed_if(chrome, "correlation", id);
        put_signed_if(chrome, "result", (uint64_t)call->result[row]);
        end_event(chrome);
        if (has_arrow(chrome, id)) {
            begin_arrow(chrome, "s", id);
            put_thread(chrome, call->thread[row]);
            end_arrow(chrome, call->start[row], false);
        }
    }
}

static void put_triple(struct chrome *chrome, const char *key, uint32_t x, uint32_t y, uint32_t z) {
    if (x == 0 && y == 0 && z == 0)
        return;
    json_key(&chrome->json, key);
    json_begin_array(&chrome->json);
    json_unsigned(&chrome->json, x);
    json_unsigned(&chrome->json, y);
    json_unsigned(&chrome->json, z);
    json_end_array(&chrome->json);
}

static void put_queue_args(struct chrome *chrome, uint32_t queue) {
    const struct columns_queue *queues = &chrome->trace->queue;
    if (queue == 0)
        return;
    json_member_integer(&chrome->json, "device", chrome->device[queues->device[queue]]);
    put_signed_if(chrome, "context", queues->context[queue]);
    json_member_integer(&chrome->json, "stream", chrome->stream[queue]);
}

static void put_launch_shape(struct chrome *chrome, size_t row) {
    const struct columns_activity *activity = &chrome->trace->activity;
    put_triple(chrome, "grid", activity->grid_x[row], activity->grid_y[row], activity->grid_z[row]);
    put_triple(chrome, "block", activity->block_x[row], activity->block_y[row],
               activity->block_z[row]);
    put_if(chrome, "registers per thread", activity->registers[row]);
    put_if(chrome, "shared memory",
           (uint64_t)activity->shared_static[row] + activity->shared_dynamic[row]);
    put_if(chrome, "dynamic shared memory", activity->shared_dynamic[row]);
    put_if(chrome, "flops", activity->flops[row]);
}

/* "HtoD (pinned -> device)", the form of Kineto's names of copies. */
static void put_direction(struct chrome *chrome, size_t row) {
    const struct columns_activity *activity = &chrome->trace->activity;
    if (activity->direction[row] == COPY_UNKNOWN)
        return;
    buffer_clear(&chrome->text);
    buffer_printf(&chrome->text, "%s (%s -> %s)", copy_direction_name(activity->direction[row]),
                  memory_kind_name(activity->from_memory[row]),
                  memory_kind_name(activity->to_memory[row]));
    json_member_text(&chrome->json, "kind", buffer_as_text(&chrome->text));
}

static void write_activities(struct chrome *chrome) {
    static const struct text categories[] = {{"kernel", 6}, {"gpu_memcpy", 10}, {"gpu_memset", 10}};
    const struct columns_activity *activity = &chrome->trace->activity;
    for (size_t row = 0; row < activity->count && !chrome->failed; row++) {
        unsigned kind = activity->kind[row] < ACTIVITY_KINDS ? activity->kind[row] : 0;
        uint32_t queue = activity->queue[row];
        uint64_t id = queue_launch(chrome, queue, activity->correlation[row]);
        begin_event(chrome, "X", categories[kind], trace_text(chrome->trace, activity->name[row]));
        put_queue(chrome, queue);
        put_span(chrome, activity->start[row], activity->duration[row]);
        begin_args(chrome);
        put_detail(chrome, activity->detail[row]);
        put_queue_args(chrome, queue);
        put_signed_if(chrome, "correlation", id);
        put_if(chrome, "graph id", activity->graph[row]);
        put_launch_shape(chrome, row);
        if (activity->bytes[row] != BYTES_UNKNOWN)
            json_member_unsigned(&chrome->json, "bytes", activity->bytes[row]);
        put_direction(chrome, row);
        end_event(chrome);
        if (has_arrow(chrome, id)) {
            begin_arrow(chrome, "f", id);
            put_queue(chrome, queue);
            end_arrow(chrome, activity->start[row], true);
        }
    }
}

static const char *sync_kind(unsigned kind) {
    static const char *const names[WAIT_KINDS] = {
        [WAIT_UNKNOWN] = "Sync",
        [WAIT_EVENT] = "Event Sync",
        [WAIT_STREAM_EVENT] = "Stream Wait Event",
        [WAIT_STREAM] = "Stream Sync",
        [WAIT_CONTEXT] = "Context Sync",
    };
    return names[kind < WAIT_KINDS ? kind : WAIT_UNKNOWN];
}

static void write_waits(struct chrome *chrome) {
    const struct columns_wait *wait = &chrome->trace->wait;
    for (size_t row = 0; row < wait->count && !chrome->failed; row++) {
        uint32_t queue = wait->queue[row];
        const char *kind = sync_kind(wait->kind[row]);
        begin_event(chrome, "X", TEXT("cuda_sync"), text_of(kind));
        put_queue(chrome, queue);
        put_span(chrome, wait->start[row], wait->duration[row]);
        begin_args(chrome);
        json_member_string(&chrome->json, "cuda_sync_kind", kind);
        put_queue_args(chrome, queue);
        put_signed_if(chrome, "correlation", queue_launch(chrome, queue, wait->correlation[row]));
        if (wait->awaited[row])
            json_member_integer(&chrome->json, "wait_on_stream",
                                chrome->stream[wait->awaited[row]]);
        put_signed_if(chrome, "wait_on_cuda_event_id", wait->event[row]);
        put_signed_if(chrome, "wait_on_cuda_event_record_corr_id",
                      queue_launch(chrome, queue, wait->record_correlation[row]));
        end_event(chrome);
    }
}

/* Whether readers of Kineto traces treat this category specially. */
static bool is_kineto_category(struct text category) {
    static const char *const names[] = {
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "cuda_runtime",
        "cuda_driver",
        "user_annotation",
        "gpu_user_annotation",
        "python_function",
        "cpu_op",
        "cuda_sync",
        "overhead",
        "cpu_instant_event",
        "ac2g",
        "Trace",
    };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (text_is(category, names[i]))
            return true;
    return false;
}

static struct text range_category(const struct chrome *chrome, size_t row) {
    const struct columns_range *range = &chrome->trace->range;
    struct text domain = trace_text(chrome->trace, range->domain[row]);
    switch (range->category[row]) {
    case RANGE_OP:
        return TEXT("cpu_op");
    case RANGE_ANNOTATION:
        return TEXT("user_annotation");
    case RANGE_PYTHON:
        return TEXT("python_function");
    case RANGE_OVERHEAD:
        return TEXT("overhead");
    case RANGE_DEVICE:
        return range->queue[row] ? TEXT("gpu_user_annotation") : TEXT("device");
    case RANGE_DRIVER:
        return TEXT("driver");
    default:
        return is_kineto_category(domain) ? TEXT("range") : domain;
    }
}

static void write_ranges(struct chrome *chrome) {
    const struct columns_range *range = &chrome->trace->range;
    for (size_t row = 0; row < range->count && !chrome->failed; row++) {
        struct text domain = trace_text(chrome->trace, range->domain[row]);
        struct text category = range_category(chrome, row);
        begin_event(chrome, "X", category, trace_text(chrome->trace, range->name[row]));
        if (range->queue[row])
            put_queue(chrome, range->queue[row]);
        else
            put_thread(chrome, range->thread[row]);
        put_span(chrome, range->start[row], range->duration[row]);
        begin_args(chrome);
        put_detail(chrome, range->detail[row]);
        put_queue_args(chrome, range->queue[row]);
        if (domain.length && !text_equal(domain, category))
            json_member_text(&chrome->json, "domain", domain);
        end_event(chrome);
    }
}

/* On a track beside the thread's, because states overlap its calls and ranges. */
static void put_state_track(struct chrome *chrome, uint32_t thread) {
    const struct columns_thread *threads = &chrome->trace->thread;
    if (thread == 0) {
        put_track(chrome, NO_PID, 0);
        return;
    }
    buffer_clear(&chrome->text);
    buffer_printf(&chrome->text, "%" PRId64 " states", threads->tid[thread]);
    json_member_integer(&chrome->json, "pid", chrome->pid[threads->process[thread]]);
    json_member_text(&chrome->json, "tid", buffer_as_text(&chrome->text));
}

static void write_states(struct chrome *chrome) {
    const struct columns_state *state = &chrome->trace->state;
    for (size_t row = 0; row < state->count && !chrome->failed; row++) {
        begin_event(chrome, "X", TEXT("thread_state"),
                    text_of(thread_state_name(state->state[row])));
        put_state_track(chrome, state->thread[row]);
        put_span(chrome, state->start[row], state->duration[row]);
        begin_args(chrome);
        put_if(chrome, "processor", state->processor[row]);
        end_event(chrome);
    }
}

static void write_marks(struct chrome *chrome) {
    const struct columns_mark *mark = &chrome->trace->mark;
    for (size_t row = 0; row < mark->count && !chrome->failed; row++) {
        begin_event(chrome, "i", trace_text(chrome->trace, mark->domain[row]),
                    trace_text(chrome->trace, mark->name[row]));
        json_member_string(&chrome->json, "s", "t");
        put_thread(chrome, mark->thread[row]);
        put_time(chrome, mark->time[row]);
        begin_args(chrome);
        put_detail(chrome, mark->detail[row]);
        end_event(chrome);
    }
}

/* Kineto writes a release as an allocation of a negative size. */
static void write_memory(struct chrome *chrome) {
    const struct columns_memory *memory = &chrome->trace->memory;
    for (size_t row = 0; row < memory->count && !chrome->failed; row++) {
        uint32_t device = memory->device[row];
        uint64_t bytes = memory->bytes[row];
        begin_event(chrome, "i", TEXT("cpu_instant_event"), TEXT("[memory]"));
        json_member_string(&chrome->json, "s", "t");
        put_thread(chrome, memory->thread[row]);
        put_time(chrome, memory->time[row]);
        begin_args(chrome);
        json_member_integer(&chrome->json, "Device Type", device ? 1 : 0);
        json_member_integer(&chrome->json, "Device Id", device ? chrome->device[device] : -1);
        json_member_integer(&chrome->json, "Bytes",
                            (int64_t)(memory->operation[row] == MEMORY_FREE ? 0 - bytes : bytes));
        put_signed_if(chrome, "Addr", memory->address[row]);
        put_signed_if(chrome, "Total Allocated", memory->allocated[row]);
        put_signed_if(chrome, "Total Reserved", memory->reserved[row]);
        end_event(chrome);
    }
}

static void write_counters(struct chrome *chrome) {
    const struct columns_counter *counter = &chrome->trace->counter;
    for (size_t row = 0; row < counter->count && !chrome->failed; row++) {
        uint32_t device = counter->device[row];
        begin_event(chrome, "C", TEXT(""), trace_text(chrome->trace, counter->name[row]));
        json_member_integer(&chrome->json, "pid", device ? chrome->device[device] : NO_PID);
        put_time(chrome, counter->time[row]);
        begin_args(chrome);
        json_member_number(&chrome->json, "value", counter->value[row]);
        end_event(chrome);
    }
}

/* ---- samples: "stackFrames", a tree of frames by id, and "samples", which refer to them ---- */

static void format_frame_id(uint32_t id, char digits[16]) {
    snprintf(digits, 16, "%u", id);
}

static void write_stack_frames(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct json *json = &chrome->json;
    char digits[16];
    json_key(json, "stackFrames");
    json_begin_object(json);
    for (uint32_t id = 1; id < trace->stack.count; id++) {
        format_frame_id(id, digits);
        json_key(json, digits);
        json_begin_object(json);
        json_member_text(json, "category", trace_text(trace, trace->stack.module[id]));
        json_member_text(json, "name", trace_text(trace, trace->stack.function[id]));
        if (trace->stack.parent[id]) {
            format_frame_id(trace->stack.parent[id], digits);
            json_member_string(json, "parent", digits);
        }
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_samples(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct json *json = &chrome->json;
    char digits[16];
    if (trace->sample.count == 0)
        return;
    write_stack_frames(chrome);
    json_key(json, "samples");
    json_begin_array(json);
    for (size_t row = 0; row < trace->sample.count && !json->output->failed; row++) {
        json_begin_object(json);
        json_member_integer(json, "cpu", 0);
        put_thread(chrome, trace->sample.thread[row]);
        put_time(chrome, trace->sample.time[row]);
        json_member_string(json, "name", "sample");
        if (trace->sample.stack[row]) {
            format_frame_id(trace->sample.stack[row], digits);
            json_member_string(json, "sf", digits);
        }
        json_member_integer(json, "weight", trace->sample.weight[row]);
        json_end_object(json);
        output_write(json->output, "\n", 1);
    }
    json_end_array(json);
}

/* ---- the document ---- */

static void write_device(struct chrome *chrome, size_t id) {
    const struct columns_device *device = &chrome->trace->device;
    json_begin_object(&chrome->json);
    json_member_integer(&chrome->json, "id", chrome->device[id]);
    json_member_text(&chrome->json, "name", trace_text(chrome->trace, device->name[id]));
    put_if(chrome, "totalGlobalMem", device->memory_bytes[id]);
    put_if(chrome, "computeMajor", device->compute_major[id]);
    put_if(chrome, "computeMinor", device->compute_minor[id]);
    put_if(chrome, "maxThreadsPerMultiprocessor", device->threads_per_multiprocessor[id]);
    put_if(chrome, "warpSize", device->warp_size[id]);
    put_if(chrome, "regsPerMultiprocessor", device->registers_per_multiprocessor[id]);
    put_if(chrome, "sharedMemPerMultiprocessor", device->shared_per_multiprocessor[id]);
    put_if(chrome, "numSms", device->multiprocessors[id]);
    json_end_object(&chrome->json);
}

static void write_devices(struct chrome *chrome) {
    const struct columns_device *device = &chrome->trace->device;
    json_key(&chrome->json, "deviceProperties");
    json_begin_array(&chrome->json);
    for (size_t id = 1; id < device->count; id++)
        if (device->listed[id] || device->name[id])
            write_device(chrome, id);
    json_end_array(&chrome->json);
}

static void write_ranks(struct chrome *chrome) {
    int64_t number;
    if (!text_to_i64(trace_meta(chrome->trace, META_RANK), &number))
        return;
    json_key(&chrome->json, "distributedInfo");
    json_begin_object(&chrome->json);
    json_member_integer(&chrome->json, "rank", number);
    if (text_to_i64(trace_meta(chrome->trace, META_WORLD_SIZE), &number))
        json_member_integer(&chrome->json, "world_size", number);
    json_end_object(&chrome->json);
}

static void write_header(struct chrome *chrome) {
    struct json *json = &chrome->json;
    struct text host = trace_meta(chrome->trace, META_HOST);
    json_member_integer(json, "schemaVersion", 1);
    json_member_string(json, "displayTimeUnit", "ns");
    if (chrome->base != 0)
        json_member_integer(json, "baseTimeNanoseconds", chrome->base);
    if (host.length)
        json_member_text(json, "host_name", host);
    write_devices(chrome);
    write_ranks(chrome);
}

static void begin_metadata(struct chrome *chrome, const char *name) {
    json_begin_object(&chrome->json);
    json_member_string(&chrome->json, "ph", "M");
    json_member_string(&chrome->json, "name", name);
}

static void write_name(struct chrome *chrome, const char *what, int64_t pid, int64_t tid,
                       uint32_t name) {
    if (name == 0)
        return;
    begin_metadata(chrome, what);
    put_track(chrome, pid, tid);
    begin_args(chrome);
    json_member_text(&chrome->json, "name", trace_text(chrome->trace, name));
    end_event(chrome);
}

/* Viewers show processes by their sort index: the host first, then the devices, as Kineto does. */
static void write_process_labels(struct chrome *chrome, int64_t pid, struct text label,
                                 int64_t sort) {
    begin_metadata(chrome, "process_labels");
    json_member_integer(&chrome->json, "pid", pid);
    begin_args(chrome);
    json_member_text(&chrome->json, "labels", label);
    end_event(chrome);
    begin_metadata(chrome, "process_sort_index");
    json_member_integer(&chrome->json, "pid", pid);
    begin_args(chrome);
    json_member_integer(&chrome->json, "sort_index", sort);
    end_event(chrome);
}

static void write_names(struct chrome *chrome) {
    enum { DEVICE_SORT_INDEX = 5000000 };
    const struct trace *trace = chrome->trace;
    for (size_t id = 1; id < trace->device.count; id++) {
        struct text label = trace_text(trace, trace->device.label[id]);
        buffer_clear(&chrome->text);
        buffer_printf(&chrome->text, "GPU %.*s", TEXT_ARGS(label));
        if (trace->device_session[id] > 0)
            buffer_printf(&chrome->text, " (recording %u)", trace->device_session[id] + 1);
        write_process_labels(chrome, chrome->device[id], buffer_as_text(&chrome->text),
                             DEVICE_SORT_INDEX + (int64_t)id);
    }
    for (size_t id = 1; id < trace->process.count; id++) {
        write_process_labels(chrome, chrome->pid[id], TEXT("CPU"), (int64_t)id);
        write_name(chrome, "process_name", chrome->pid[id], 0, trace->process.name[id]);
    }
    for (size_t id = 1; id < trace->queue.count; id++)
        write_name(chrome, "thread_name", chrome->device[trace->queue.device[id]],
                   chrome->stream[id], trace->queue.name[id]);
    for (size_t id = 1; id < trace->thread.count; id++)
        write_name(chrome, "thread_name", chrome->pid[trace->thread.process[id]],
                   trace->thread.tid[id], trace->thread.name[id]);
}

static bool write_table(struct chrome *chrome, enum trace_table table,
                        void (*write)(struct chrome *chrome)) {
    if (!trace_load(chrome->trace, table, NULL, chrome->status))
        return false;
    write(chrome);
    export_unload(chrome->trace, table);
    return !chrome->failed;
}

static bool write_events(struct chrome *chrome) {
    json_key(&chrome->json, "traceEvents");
    json_begin_array(&chrome->json);
    write_names(chrome);
    bool ok = collect_launches(chrome) && write_table(chrome, TABLE_CALL, write_calls) &&
              write_table(chrome, TABLE_ACTIVITY, write_activities) &&
              write_table(chrome, TABLE_RANGE, write_ranges) &&
              write_table(chrome, TABLE_MARK, write_marks) &&
              write_table(chrome, TABLE_WAIT, write_waits) &&
              write_table(chrome, TABLE_MEMORY, write_memory) &&
              write_table(chrome, TABLE_COUNTER, write_counters) &&
              write_table(chrome, TABLE_STATE, write_states);
    json_end_array(&chrome->json);
    return ok;
}

/* ts is relative to the first event when the clock is Unix time or the first event is before zero,
 * else to zero. */
static bool find_base(struct chrome *chrome) {
    struct trace *trace = chrome->trace;
    int64_t first = INT64_MAX;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const char *name = trace_tables[table].columns[0].name;
        if (!trace_load(trace, table, name, chrome->status))
            return false;
        const int64_t *times = trace_column(trace, table, 0);
        for (size_t row = 0; row < trace_rows(trace, table); row++)
            if (times[row] < first)
                first = times[row];
        trace_unload(trace, table, name);
    }
    bool unix_clock = text_is(trace_meta(trace, META_CLOCK_BASE), "unix");
    chrome->base = first == INT64_MAX ? 0 : first < 0 || unix_clock ? first : 0;
    return true;
}

/* In an order that a reader can process in one pass. */
static bool write_document(struct chrome *chrome) {
    struct json *json = &chrome->json;
    json_begin_object(json);
    write_header(chrome);
    if (!write_table(chrome, TABLE_SAMPLE, write_samples) || !write_events(chrome))
        return false;
    json_end_object(json);
    output_write(json->output, "\n", 1);
    return true;
}

bool export_chrome(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status) {
    struct chrome chrome = {.trace = trace, .json = {.output = output}, .status = status};
    (void)options;
    *status = (struct status){0};
    bool ok = find_base(&chrome) &&
              trace_load(trace, TABLE_ACTIVITY, "queue correlation", status) &&
              trace_load(trace, TABLE_CALL, "thread correlation", status) &&
              number_entities(&chrome) && write_document(&chrome);
    if (!ok && status->code == STATUS_OK) {
        if (output->failed)
            *status = output->why;
        else
            status_no_memory(status);
    }
    memory_free(chrome.device);
    memory_free(chrome.stream);
    memory_free(chrome.pid);
    memory_free(chrome.shared);
    map_finish(&chrome.launch_ends);
    buffer_finish(&chrome.detail);
    buffer_finish(&chrome.text);
    return ok;
}
