/* Rows as events of a Chrome trace, with Kineto's categories and arguments, so that whatever reads
 * torch.profiler's traces reads these. A row's detail becomes arguments too. What Kineto has no
 * place for stands in arguments that begin with "ridge"; import/kineto/kineto_own_rows.c reads them
 * back.
 */
#include "export/chrome.h"

#include <inttypes.h>

#include "import/import.h"
#include "base/json_read.h"
#include "import/kineto/kineto_event.h"
#include "import/kineto/kineto_own.h"

static void begin_event(struct chrome *chrome, const char *phase, struct text category,
                        struct text name) {
    struct json *json = &chrome->json;
    json_begin_object(json);
    json_member_string(json, "ph", phase);
    json_member_text(json, "cat", category);
    json_member_text(json, "name", name);
}

/* -1 is Kineto's "nowhere" too. */
static void put_nowhere(struct chrome *chrome) {
    json_member_integer(&chrome->json, "pid", OWN_NOWHERE);
    json_member_integer(&chrome->json, "tid", 0);
}

/* Where the host's part of the trace happens. */
static void put_thread(struct chrome *chrome, uint32_t thread) {
    struct json *json = &chrome->json;
    uint32_t process = chrome->trace->thread.process[thread];
    if (thread == 0) {
        put_nowhere(chrome);
        return;
    }
    json_member_unsigned(json, "pid", chrome->ids.pid[process]);
    json_member_integer(json, "tid", chrome->trace->thread.tid[thread]);
}

static void put_queue(struct chrome *chrome, uint32_t queue) {
    uint32_t device = chrome->trace->queue.device[queue];
    if (queue == 0) {
        put_nowhere(chrome);
        return;
    }
    json_member_integer(&chrome->json, "pid", chrome->ids.device[device]);
    json_member_integer(&chrome->json, "tid", chrome->ids.stream[queue]);
}

static void put_span(struct chrome *chrome, int64_t start, int64_t duration) {
    chrome_time(chrome, "ts", start);
    chrome_time(chrome, "dur", chrome->base + duration);
}

/* The members of a row's detail, which is an object, come before all other arguments, and a mark
 * tells where they end; a detail that is no object is kept as a string. */
static void put_detail(struct chrome *chrome, uint32_t detail) {
    struct text text = trace_text(chrome->trace, detail);
    struct buffer *compact = &chrome->detail;
    if (text.length == 0)
        return;
    buffer_clear(compact);
    bool valid = text.data[0] == '{' && text_utf8_valid(text) == text.length &&
                 scan_compact(text, compact) && compact->length >= 2;
    if (!valid) {
        json_member_text(&chrome->json, "ridge detail", text);
        return;
    }
    if (compact->length > 2)
        json_raw(&chrome->json, (struct text){compact->data + 1, compact->length - 2});
    json_member_bool(&chrome->json, "ridge detail", true);
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

static void put_if(struct chrome *chrome, const char *key, uint64_t value) {
    if (value)
        json_member_unsigned(&chrome->json, key, value);
}

/* Numbers of 64 bits that readers take for signed. */
static void put_signed_if(struct chrome *chrome, const char *key, uint64_t value) {
    if (value)
        json_member_integer(&chrome->json, key, (int64_t)value);
}

/* Under Kineto's key and ours. */
static const char *const launch_keys[] = {"correlation", "ridge correlation"};
static const char *const record_keys[] = {"wait_on_cuda_event_record_corr_id",
                                          "ridge record correlation"};

/* The file's id, and the trace's where that is another. The ids of several recordings would not be
 * unique in one, so that they cannot be given back. */
static void put_launch(struct chrome *chrome, const char *const keys[2], uint64_t id,
                       uint64_t original) {
    put_signed_if(chrome, keys[0], id);
    if (id != original && chrome->trace->session_count == 1)
        put_signed_if(chrome, keys[1], original);
}

static uint64_t call_launch(struct chrome *chrome, size_t row) {
    const struct columns_call *call = &chrome->trace->call;
    uint64_t id = 0;
    if (!chrome_ids_of_call(&chrome->ids, chrome->trace, call->thread[row], call->correlation[row],
                            &id, chrome->status))
        chrome->failed = true;
    return id;
}

static uint64_t queue_launch(struct chrome *chrome, uint32_t queue, uint64_t correlation) {
    uint64_t id = 0;
    if (!chrome_ids_of_activity(&chrome->ids, chrome->trace, queue, correlation, &id,
                                chrome->status))
        chrome->failed = true;
    return id;
}

static bool note_launch(struct chrome *chrome, uint64_t id, uint64_t end) {
    uint64_t *known = map_find(&chrome->launched, id);
    if (known) {
        *known |= end;
        return true;
    }
    return map_set(&chrome->launched, id, end, chrome->status);
}

bool chrome_collect_launches(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    for (size_t row = 0; row < trace->activity.count; row++) {
        uint64_t id =
            queue_launch(chrome, trace->activity.queue[row], trace->activity.correlation[row]);
        if (id && !note_launch(chrome, id, LAUNCH_OF_ACTIVITY))
            return false;
    }
    for (size_t row = 0; row < trace->call.count; row++) {
        uint64_t id = call_launch(chrome, row);
        /* calls that launch nothing need no note */
        if (id && map_find(&chrome->launched, id) && !note_launch(chrome, id, LAUNCH_OF_CALL))
            return false;
    }
    return !chrome->failed;
}

static bool has_arrow(const struct chrome *chrome, uint64_t id) {
    const uint64_t *ends = id ? map_find(&chrome->launched, id) : NULL;
    return ends && *ends == (LAUNCH_OF_ACTIVITY | LAUNCH_OF_CALL);
}

/* One end of an arrow from a call to what it launched. */
static void begin_arrow(struct chrome *chrome, const char *phase, uint64_t id) {
    begin_event(chrome, phase, TEXT("ac2g"), TEXT("ac2g"));
    json_member_unsigned(&chrome->json, "id", id);
}

static void end_arrow(struct chrome *chrome, int64_t time, bool last) {
    chrome_time(chrome, "ts", time);
    if (last)
        json_member_string(&chrome->json, "bp", "e");
    json_end_object(&chrome->json);
    output_write(chrome->json.output, "\n", 1);
}

/* cuLaunchKernel is the driver's, cudaLaunchKernel the runtime's. */
static struct text call_category(struct text name) {
    bool driver =
        name.length > 2 && text_starts(name, "cu") && name.data[2] >= 'A' && name.data[2] <= 'Z';
    return driver ? TEXT("cuda_driver") : TEXT("cuda_runtime");
}

void chrome_write_calls(struct chrome *chrome) {
    const struct columns_call *call = &chrome->trace->call;
    for (size_t row = 0; row < call->count && !chrome->failed; row++) {
        struct text name = trace_text(chrome->trace, call->name[row]);
        uint64_t id = call_launch(chrome, row);
        begin_event(chrome, "X", call_category(name), name);
        put_thread(chrome, call->thread[row]);
        put_span(chrome, call->start[row], call->duration[row]);
        begin_args(chrome);
        put_detail(chrome, call->detail[row]);
        put_launch(chrome, launch_keys, id, call->correlation[row]);
        if (call->class[row] != import_call_class(name))
            json_member_string(&chrome->json, "ridge class", call_class_name(call->class[row]));
        if (call->result[row])
            json_member_integer(&chrome->json, "ridge result", call->result[row]);
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

static void put_place(struct chrome *chrome, uint32_t queue) {
    const struct trace *trace = chrome->trace;
    if (queue == 0)
        return;
    json_member_integer(&chrome->json, "device", chrome->ids.device[trace->queue.device[queue]]);
    put_signed_if(chrome, "context", trace->queue.context[queue]);
    json_member_integer(&chrome->json, "stream", chrome->ids.stream[queue]);
}

static void put_shape(struct chrome *chrome, size_t row) {
    const struct columns_activity *activity = &chrome->trace->activity;
    uint64_t shared = (uint64_t)activity->shared_static[row] + activity->shared_dynamic[row];
    put_triple(chrome, "grid", activity->grid_x[row], activity->grid_y[row], activity->grid_z[row]);
    put_triple(chrome, "block", activity->block_x[row], activity->block_y[row],
               activity->block_z[row]);
    put_if(chrome, "registers per thread", activity->registers[row]);
    put_if(chrome, "shared memory", shared);
    put_if(chrome, "ridge dynamic shared memory", activity->shared_dynamic[row]);
    put_if(chrome, "ridge flops", activity->flops[row]);
}

/* Kineto tells a copy's direction and memory by its name alone; where this one's does not, "kind"
 * says it in the same words. */
static void put_direction(struct chrome *chrome, size_t row) {
    const struct columns_activity *activity = &chrome->trace->activity;
    enum copy_direction direction = COPY_UNKNOWN;
    enum memory_kind from = MEMORY_UNKNOWN, to = MEMORY_UNKNOWN;
    if (activity->kind[row] == ACTIVITY_COPY)
        import_copy_name(trace_text(chrome->trace, activity->name[row]), &direction, &from, &to);
    if (direction == activity->direction[row] && from == activity->from_memory[row] &&
        to == activity->to_memory[row])
        return;
    buffer_clear(&chrome->text);
    buffer_printf(&chrome->text, "%s (%s -> %s)", copy_direction_name(activity->direction[row]),
                  memory_kind_name(activity->from_memory[row]),
                  memory_kind_name(activity->to_memory[row]));
    json_member_text(&chrome->json, "kind", buffer_as_text(&chrome->text));
}

void chrome_write_activities(struct chrome *chrome) {
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
        put_place(chrome, queue);
        put_launch(chrome, launch_keys, id, activity->correlation[row]);
        put_if(chrome, "graph id", activity->graph[row]);
        put_shape(chrome, row);
        if (activity->bytes[row] != BYTES_UNKNOWN)
            json_member_unsigned(&chrome->json, kind == ACTIVITY_KERNEL ? "ridge bytes" : "bytes",
                                 activity->bytes[row]);
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

static void put_awaited(struct chrome *chrome, uint32_t queue, uint32_t awaited) {
    const uint32_t *device = chrome->trace->queue.device;
    if (awaited == 0)
        return;
    json_member_integer(&chrome->json, "wait_on_stream", chrome->ids.stream[awaited]);
    if (queue == 0 || device[queue] != device[awaited])
        json_member_integer(&chrome->json, "ridge awaited device",
                            chrome->ids.device[device[awaited]]);
}

void chrome_write_waits(struct chrome *chrome) {
    const struct columns_wait *wait = &chrome->trace->wait;
    for (size_t row = 0; row < wait->count && !chrome->failed; row++) {
        uint32_t queue = wait->queue[row];
        const char *kind = sync_kind(wait->kind[row]);
        begin_event(chrome, "X", TEXT("cuda_sync"), text_of(kind));
        put_queue(chrome, queue);
        put_span(chrome, wait->start[row], wait->duration[row]);
        begin_args(chrome);
        json_member_string(&chrome->json, "cuda_sync_kind", kind);
        put_place(chrome, queue);
        put_launch(chrome, launch_keys, queue_launch(chrome, queue, wait->correlation[row]),
                   wait->correlation[row]);
        put_awaited(chrome, queue, wait->awaited[row]);
        put_signed_if(chrome, "wait_on_cuda_event_id", wait->event[row]);
        put_launch(chrome, record_keys, queue_launch(chrome, queue, wait->record_correlation[row]),
                   wait->record_correlation[row]);
        end_event(chrome);
    }
}

/* Kineto's name for a kind of range; ranges that it does not know keep their own. */
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
        return range->queue[row] ? TEXT("gpu_user_annotation") : TEXT("ridge_device");
    case RANGE_DRIVER:
        return TEXT("ridge_driver");
    default:
        return event_category_known(domain) ? TEXT("ridge_other") : domain;
    }
}

/* The thread of an event that is drawn on another track. */
static void put_own_thread(struct chrome *chrome, uint32_t thread) {
    const struct columns_thread *threads = &chrome->trace->thread;
    if (thread == 0)
        return;
    json_member_unsigned(&chrome->json, "ridge pid", chrome->ids.pid[threads->process[thread]]);
    json_member_integer(&chrome->json, "ridge tid", threads->tid[thread]);
}

static void put_range_place(struct chrome *chrome, size_t row) {
    uint32_t queue = chrome->trace->range.queue[row];
    if (queue == 0)
        return;
    put_place(chrome, queue);
    put_own_thread(chrome, chrome->trace->range.thread[row]);
}

void chrome_write_ranges(struct chrome *chrome) {
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
        put_range_place(chrome, row);
        if (domain.length && !text_equal(domain, category))
            json_member_text(&chrome->json, "ridge domain", domain);
        end_event(chrome);
    }
}

/* On a track beside the thread's, whose slices they would cut. */
static void put_state_track(struct chrome *chrome, uint32_t thread) {
    const struct columns_thread *threads = &chrome->trace->thread;
    if (thread == 0) {
        put_nowhere(chrome);
        return;
    }
    buffer_clear(&chrome->text);
    buffer_printf(&chrome->text, "%" PRId64 " states", threads->tid[thread]);
    json_member_unsigned(&chrome->json, "pid", chrome->ids.pid[threads->process[thread]]);
    json_member_text(&chrome->json, "tid", buffer_as_text(&chrome->text));
}

void chrome_write_states(struct chrome *chrome) {
    const struct columns_state *state = &chrome->trace->state;
    for (size_t row = 0; row < state->count && !chrome->failed; row++) {
        begin_event(chrome, "X", TEXT("ridge_state"),
                    text_of(thread_state_name(state->state[row])));
        put_state_track(chrome, state->thread[row]);
        put_span(chrome, state->start[row], state->duration[row]);
        begin_args(chrome);
        put_own_thread(chrome, state->thread[row]);
        put_if(chrome, "ridge processor", state->processor[row]);
        end_event(chrome);
    }
}

void chrome_write_marks(struct chrome *chrome) {
    const struct columns_mark *mark = &chrome->trace->mark;
    for (size_t row = 0; row < mark->count && !chrome->failed; row++) {
        begin_event(chrome, "i", trace_text(chrome->trace, mark->domain[row]),
                    trace_text(chrome->trace, mark->name[row]));
        json_member_string(&chrome->json, "s", "t");
        put_thread(chrome, mark->thread[row]);
        chrome_time(chrome, "ts", mark->time[row]);
        begin_args(chrome);
        put_detail(chrome, mark->detail[row]);
        end_event(chrome);
    }
}

/* A release is an allocation of a negative size, where the sign can tell. */
static void put_bytes(struct chrome *chrome, unsigned operation, uint64_t bytes) {
    bool release = operation == MEMORY_FREE, telling = bytes <= INT64_MAX && (bytes || !release);
    json_member_integer(&chrome->json, "Bytes", (int64_t)(release && telling ? 0 - bytes : bytes));
    if (!telling)
        json_member_string(&chrome->json, "ridge operation", memory_operation_name(operation));
}

void chrome_write_memory(struct chrome *chrome) {
    const struct columns_memory *memory = &chrome->trace->memory;
    for (size_t row = 0; row < memory->count && !chrome->failed; row++) {
        uint32_t device = memory->device[row];
        begin_event(chrome, "i", TEXT("cpu_instant_event"), TEXT("[memory]"));
        json_member_string(&chrome->json, "s", "t");
        put_thread(chrome, memory->thread[row]);
        chrome_time(chrome, "ts", memory->time[row]);
        begin_args(chrome);
        json_member_integer(&chrome->json, "Device Type", device ? 1 : 0);
        json_member_integer(&chrome->json, "Device Id", device ? chrome->ids.device[device] : -1);
        put_bytes(chrome, memory->operation[row], memory->bytes[row]);
        put_signed_if(chrome, "Addr", memory->address[row]);
        put_signed_if(chrome, "Total Allocated", memory->allocated[row]);
        put_signed_if(chrome, "Total Reserved", memory->reserved[row]);
        end_event(chrome);
    }
}

void chrome_write_counters(struct chrome *chrome) {
    const struct columns_counter *counter = &chrome->trace->counter;
    for (size_t row = 0; row < counter->count && !chrome->failed; row++) {
        uint32_t device = counter->device[row];
        begin_event(chrome, "C", TEXT(""), trace_text(chrome->trace, counter->name[row]));
        json_member_integer(&chrome->json, "pid",
                            device ? chrome->ids.device[device] : OWN_NOWHERE);
        chrome_time(chrome, "ts", counter->time[row]);
        begin_args(chrome);
        json_member_number(&chrome->json, "value", counter->value[row]);
        end_event(chrome);
    }
}
