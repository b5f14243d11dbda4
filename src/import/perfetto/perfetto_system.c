/* What Perfetto records of the system: the scheduler (ftrace), names of processes and threads, and
 * samples of the CPU (traced_perf).
 *
 * Each CPU has its own stream of scheduler events, so they are collected and replayed in order of
 * time at the end, when the names of all threads are known. A thread runs from the switch to it
 * until the next switch of its CPU; it is then ready if it could go on, and otherwise blocked until
 * it is woken. A sample stands for the median time between two of a thread. The state before a
 * thread's first switch and after its last one is unknown. */
#include "import/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/sort.h"

enum {
    BUNDLE_CPU = 1,
    BUNDLE_EVENT = 2,
    BUNDLE_COMPACT = 4,
    FTRACE_TIME = 1,
    FTRACE_SWITCH = 4,
    FTRACE_WAKEUP = 17,
    FTRACE_WAKING = 20,
    SWITCH_PREVIOUS = 2,
    SWITCH_STATE = 4,
    SWITCH_NEXT_NAME = 5,
    SWITCH_NEXT = 6,
    WAKE_PID = 2,
    COMPACT_TIME = 1,
    COMPACT_STATE = 2,
    COMPACT_NEXT = 3,
    COMPACT_NAME = 6,
    COMPACT_WAKE_TIME = 7,
    COMPACT_WAKE_PID = 8,
    COMPACT_NAMES = 5,

    TREE_PROCESS = 1,
    TREE_THREAD = 2,
    TREE_PID = 1,
    TREE_COMMAND = 3,
    TREE_TID = 1,
    TREE_NAME = 2,
    TREE_GROUP = 3,

    SAMPLE_PID = 2,
    SAMPLE_TID = 3,
    SAMPLE_CALLSTACK = 4,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_MAPPINGS = 19,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_ADDRESS = 4,
    MAPPING_PATH = 7,
    CALLSTACK_FRAMES = 2,
    FRAMES_MAX = 1024,
};

/* ---- threads ---- */

struct task {
    int64_t tid;
    uint64_t pid;           /* 0: unknown */
    uint32_t name, command; /* text ids; command: of the process */
    uint32_t thread;        /* row of the trace; 0: not written */
    /* Of the replay. */
    enum thread_state state;
    int64_t since; /* INT64_MIN: unknown */
    uint32_t cpu;
};

static struct task *find_task(struct perfetto_import *import, int64_t tid) {
    uint64_t *known = map_find(&import->task_by_tid, (uint64_t)tid);
    if (known)
        return &import->tasks[*known];
    if (!GROW(import->tasks, &import->task_capacity, import->task_count + 1, import->status) ||
        !map_set(&import->task_by_tid, (uint64_t)tid, import->task_count, import->status))
        return NULL;
    struct task *task = &import->tasks[import->task_count++];
    *task = (struct task){.tid = tid, .since = INT64_MIN};
    return task;
}

static bool read_tree_process(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct text command = TEXT("");
    int64_t pid = 0;
    while (protobuf_next(&message, &field))
        if (field.number == TREE_PID)
            pid = protobuf_integer(&field);
        else if (field.number == TREE_COMMAND && command.length == 0)
            command = protobuf_text(&field);
    struct task *task = find_task(import, pid);
    if (!task)
        return false;
    task->pid = (uint64_t)pid;
    return perfetto_intern(import, command, &task->command);
}

static bool read_tree_thread(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct text name = TEXT("");
    int64_t tid = 0, pid = 0;
    while (protobuf_next(&message, &field))
        if (field.number == TREE_TID)
            tid = protobuf_integer(&field);
        else if (field.number == TREE_GROUP)
            pid = protobuf_integer(&field);
        else if (field.number == TREE_NAME)
            name = protobuf_text(&field);
    struct task *task = find_task(import, tid);
    if (!task)
        return false;
    task->pid = (uint64_t)pid;
    return name.length == 0 || perfetto_intern(import, name, &task->name);
}

bool perfetto_process_tree(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    bool ok = true;
    while (ok && protobuf_next(&message, &field))
        if (field.number == TREE_PROCESS)
            ok = read_tree_process(import, protobuf_text(&field));
        else if (field.number == TREE_THREAD)
            ok = read_tree_thread(import, protobuf_text(&field));
    return ok;
}

/* The row of a thread. Without a process tree, a thread is its own process. */
static uint32_t thread_row(struct perfetto_import *import, struct task *task) {
    if (task->thread)
        return task->thread;
    uint64_t pid = task->pid ? task->pid : (uint64_t)task->tid;
    uint64_t *main = map_find(&import->task_by_tid, pid);
    uint32_t command = main ? import->tasks[*main].command : 0;
    uint32_t process = trace_write_process(
        import->writer,
        &(struct row_process){.pid = pid, .name = perfetto_string(import, command)});
    struct row_thread row = {
        .process = process, .tid = task->tid, .name = perfetto_string(import, task->name)};
    return task->thread = trace_write_thread(import->writer, &row);
}

/* ---- the scheduler ---- */

/* A switch to a thread, or a wakeup of it. */
struct sched_event {
    int64_t tid, previous; /* previous -1: that of the CPU's last switch */
    uint32_t cpu;
    bool wakes, previous_ready;
};

static bool add_sched(struct perfetto_import *import, int64_t time,
                      const struct sched_event *event) {
    bool drop;
    if (!perfetto_check_times(import, TABLE_STATE, time, 0, &drop))
        return false;
    if (drop)
        return true;
    if (!GROW(import->sched, &import->sched_capacity, import->sched_count + 1, import->status) ||
        !GROW(import->sched_times, &import->sched_time_capacity, import->sched_count + 1,
              import->status))
        return false;
    import->sched[import->sched_count] = *event;
    import->sched_times[import->sched_count++] = time;
    import->events++;
    import->has_events = true;
    return true;
}

/* Linux: 0 is running; a preempted thread has a high bit (256 in newer kernels) besides. */
static bool is_ready(int64_t state) {
    return (state & 0xff) == 0;
}

static bool name_task(struct perfetto_import *import, int64_t tid, struct text name) {
    struct task *task = find_task(import, tid);
    return task && (task->name || name.length == 0 || perfetto_intern(import, name, &task->name));
}

static bool read_switch(struct perfetto_import *import, int64_t time, uint32_t cpu,
                        struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct sched_event event = {.cpu = cpu};
    struct text name = TEXT("");
    while (protobuf_next(&message, &field))
        if (field.number == SWITCH_PREVIOUS)
            event.previous = (int32_t)protobuf_integer(&field);
        else if (field.number == SWITCH_STATE)
            event.previous_ready = is_ready(protobuf_integer(&field));
        else if (field.number == SWITCH_NEXT)
            event.tid = (int32_t)protobuf_integer(&field);
        else if (field.number == SWITCH_NEXT_NAME)
            name = protobuf_text(&field);
    return name_task(import, event.tid, name) && add_sched(import, time, &event);
}

static bool read_wakeup(struct perfetto_import *import, int64_t time, uint32_t cpu,
                        struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct sched_event event = {.cpu = cpu, .wakes = true};
    while (protobuf_next(&message, &field))
        if (field.number == WAKE_PID)
            event.tid = (int32_t)protobuf_integer(&field);
    return find_task(import, event.tid) && add_sched(import, time, &event);
}

static bool read_ftrace_event(struct perfetto_import *import, uint32_t cpu, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    int64_t time = 0;
    bool ok = true;
    while (ok && protobuf_next(&message, &field))
        if (field.number == FTRACE_TIME)
            time = protobuf_integer(&field);
        else if (field.number == FTRACE_SWITCH)
            ok = read_switch(import, time, cpu, protobuf_text(&field));
        else if (field.number == FTRACE_WAKEUP || field.number == FTRACE_WAKING)
            ok = read_wakeup(import, time, cpu, protobuf_text(&field));
    return ok;
}

/* The next value of a packed field; 0 at its end. */
static uint64_t next_packed(struct protobuf *packed) {
    uint64_t value = 0;
    if (packed->at < packed->end && !protobuf_varint(packed, &value))
        packed->at = packed->end;
    return value;
}

/* Columns of switches and wakeups. Times are differences. */
static bool read_compact(struct perfetto_import *import, uint32_t cpu, struct text bytes) {
    struct protobuf message = protobuf_of(bytes), columns[COMPACT_WAKE_PID + 1] = {{0}};
    struct protobuf_field field;
    struct text names[256];
    size_t name_count = 0;
    uint64_t time = 0;
    while (protobuf_next(&message, &field))
        if (field.number == COMPACT_NAMES && field.type == PROTOBUF_BYTES && name_count < 256)
            names[name_count++] = field.bytes;
        else if (field.number <= COMPACT_WAKE_PID && field.type == PROTOBUF_BYTES)
            columns[field.number] = protobuf_of(field.bytes);
    while (columns[COMPACT_TIME].at < columns[COMPACT_TIME].end) {
        time += next_packed(&columns[COMPACT_TIME]);
        struct sched_event event = {.cpu = cpu, .previous = -1};
        event.previous_ready = is_ready((int64_t)next_packed(&columns[COMPACT_STATE]));
        event.tid = (int32_t)next_packed(&columns[COMPACT_NEXT]);
        uint64_t name = next_packed(&columns[COMPACT_NAME]);
        if (!name_task(import, event.tid, name < name_count ? names[name] : TEXT("")) ||
            !add_sched(import, (int64_t)time, &event))
            return false;
    }
    time = 0;
    while (columns[COMPACT_WAKE_TIME].at < columns[COMPACT_WAKE_TIME].end) {
        time += next_packed(&columns[COMPACT_WAKE_TIME]);
        struct sched_event event = {.cpu = cpu, .wakes = true};
        event.tid = (int32_t)next_packed(&columns[COMPACT_WAKE_PID]);
        if (!find_task(import, event.tid) || !add_sched(import, (int64_t)time, &event))
            return false;
    }
    return true;
}

bool perfetto_ftrace(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint32_t cpu = 0;
    bool ok = true;
    while (protobuf_next(&message, &field))
        if (field.number == BUNDLE_CPU)
            cpu = (uint32_t)protobuf_integer(&field);
    message = protobuf_of(bytes);
    while (ok && protobuf_next(&message, &field))
        if (field.number == BUNDLE_EVENT)
            ok = read_ftrace_event(import, cpu, protobuf_text(&field));
        else if (field.number == BUNDLE_COMPACT)
            ok = read_compact(import, cpu, protobuf_text(&field));
    return ok;
}

/* Ends the state that a thread was in. */
static void change_state(struct perfetto_import *import, struct task *task, int64_t time,
                         enum thread_state state, uint32_t cpu) {
    if (task->since != INT64_MIN && time > task->since) {
        struct row_state row = {.start = task->since,
                                .duration = time - task->since,
                                .thread = thread_row(import, task),
                                .state = (uint8_t)task->state,
                                .processor = task->cpu};
        trace_write_state(import->writer, &row);
    }
    task->since = time;
    task->state = state;
    task->cpu = cpu;
}

static bool replay(struct perfetto_import *import, const struct sched_event *event, int64_t time) {
    uint64_t *last = map_find(&import->running, event->cpu);
    int64_t previous = event->previous >= 0 ? event->previous : last ? (int64_t)*last : 0;
    struct task *task = event->tid > 0 ? find_task(import, event->tid) : NULL;
    if (event->wakes) {
        if (task && task->since != INT64_MIN && task->state == STATE_BLOCKED)
            change_state(import, task, time, STATE_READY, task->cpu);
        return true;
    }
    if (previous > 0) { /* 0 is the idle thread */
        struct task *left = find_task(import, previous);
        if (!left)
            return false;
        change_state(import, left, time, event->previous_ready ? STATE_READY : STATE_BLOCKED,
                     event->cpu);
        task = event->tid > 0 ? find_task(import, event->tid) : NULL; /* the array may have moved */
    }
    if (task)
        change_state(import, task, time, STATE_RUNNING, event->cpu);
    return map_set(&import->running, event->cpu, (uint64_t)event->tid, import->status);
}

bool perfetto_system_end(struct perfetto_import *import) {
    uint32_t *order = NULL;
    if (!sort_rows(NULL, 1, import->sched_times, NULL, import->sched_count, &order, import->status))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < import->sched_count; i++) {
        size_t row = order ? order[i] : i;
        ok = replay(import, &import->sched[row], import->sched_times[row]);
    }
    memory_free(order);
    if (ok && import->samples.count > 0)
        profile_write_scaled(&import->samples, import->status);
    return ok && import->status->code == STATUS_OK;
}

void perfetto_system_finish(struct perfetto_import *import) {
    memory_free(import->tasks);
    memory_free(import->sched);
    memory_free(import->sched_times);
    map_finish(&import->task_by_tid);
    map_finish(&import->running);
    map_finish(&import->frames);
    profile_finish(&import->samples);
}

/* ---- samples ---- */

/* A frame: function, or an address in a mapped file. */
static bool read_frame(struct perfetto_import *import, struct perfetto_sequence *sequence,
                       struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t id = 0, function = 0, mapping = 0, address = 0;
    char text[32];
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        if (field.number == INTERNED_ENTRY_ID)
            id = value;
        else if (field.number == FRAME_FUNCTION)
            function = value;
        else if (field.number == FRAME_MAPPING)
            mapping = value;
        else if (field.number == FRAME_ADDRESS)
            address = value;
    }
    uint32_t name = perfetto_name(sequence, NAME_FUNCTION, function);
    uint32_t module = perfetto_name(sequence, NAME_MAPPING, mapping);
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    if ((!name || intern_text(&import->texts, name).length == 0) &&
        !perfetto_intern(import, text_of(text), &name))
        return false;
    return map_set(&sequence->names[NAME_FRAME], id, (uint64_t)module << 32 | name, import->status);
}

/* The path of a mapping is a list of its parts. */
static bool read_mapping(struct perfetto_import *import, struct perfetto_sequence *sequence,
                         struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct buffer path = {0};
    uint64_t id = 0;
    uint32_t text = 0;
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        if (field.number == INTERNED_ENTRY_ID)
            id = value;
        if (field.number != MAPPING_PATH || path.length > 4096)
            continue;
        buffer_byte(&path, '/');
        buffer_text(&path, intern_text(&import->texts, perfetto_name(sequence, NAME_PATH, value)));
    }
    bool ok = buffer_ok(&path, import->status) &&
              perfetto_intern(import, buffer_as_text(&path), &text) &&
              map_set(&sequence->names[NAME_MAPPING], id, text, import->status);
    buffer_finish(&path);
    return ok;
}

static uint32_t write_frame(struct perfetto_import *import, uint64_t frame, uint32_t parent) {
    uint32_t name = (uint32_t)frame, module = (uint32_t)(frame >> 32);
    uint64_t key = (uint64_t)parent * 0x9E3779B97F4A7C15 ^ frame;
    uint64_t *known = map_find(&import->frames, key);
    if (known)
        return (uint32_t)*known;
    struct row_stack row = {.parent = parent,
                            .function =
                                name ? perfetto_string(import, name)
                                     : trace_writer_string(import->writer, TEXT(STACK_UNKNOWN)),
                            .module = perfetto_string(import, module)};
    uint32_t stack = trace_write_stack(import->writer, &row);
    return map_set(&import->frames, key, stack, import->status) ? stack : 0;
}

/* Outermost frame first; the ids may be packed. */
static bool read_callstack(struct perfetto_import *import, struct perfetto_sequence *sequence,
                           struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t id = 0;
    uint32_t stack = 0;
    unsigned depth = 0;
    while (protobuf_next(&message, &field)) {
        if (field.number == INTERNED_ENTRY_ID)
            id = (uint64_t)protobuf_integer(&field);
        if (field.number != CALLSTACK_FRAMES)
            continue;
        struct protobuf packed = protobuf_of(protobuf_text(&field));
        bool is_packed = field.type == PROTOBUF_BYTES;
        do {
            uint64_t frame = is_packed ? next_packed(&packed) : (uint64_t)protobuf_integer(&field);
            uint64_t *known = map_find(&sequence->names[NAME_FRAME], frame);
            if (depth++ < FRAMES_MAX && !(stack = write_frame(import, known ? *known : 0, stack)))
                return false;
        } while (is_packed && packed.at < packed.end);
    }
    return map_set(&sequence->names[NAME_CALLSTACK], id, stack, import->status);
}

/* Call stacks refer to frames, and frames to mappings, which may follow them. */
bool perfetto_interned_stacks(struct perfetto_import *import, struct perfetto_sequence *sequence,
                              struct text bytes) {
    static bool (*const readers[])(struct perfetto_import *, struct perfetto_sequence *,
                                   struct text) = {read_mapping, read_frame, read_callstack};
    static const uint32_t fields[] = {INTERNED_MAPPINGS, INTERNED_FRAMES, INTERNED_CALLSTACKS};
    for (unsigned i = 0; i < 3; i++) {
        struct protobuf message = protobuf_of(bytes);
        struct protobuf_field field;
        while (protobuf_next(&message, &field))
            if (field.number == fields[i] && field.type == PROTOBUF_BYTES &&
                !readers[i](import, sequence, field.bytes))
                return false;
    }
    return true;
}

bool perfetto_sample(struct perfetto_import *import, const struct perfetto_packet *packet,
                     struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t callstack = 0, pid = 0;
    int64_t tid = 0;
    bool drop;
    while (protobuf_next(&message, &field))
        if (field.number == SAMPLE_PID)
            pid = (uint64_t)protobuf_integer(&field);
        else if (field.number == SAMPLE_TID)
            tid = protobuf_integer(&field);
        else if (field.number == SAMPLE_CALLSTACK)
            callstack = (uint64_t)protobuf_integer(&field);
    uint32_t stack = perfetto_name(packet->sequence, NAME_CALLSTACK, callstack);
    if (!stack) /* a sample that was skipped, or lost its names */
        return true;
    struct task *task = find_task(import, tid);
    if (!task || !perfetto_check_times(import, TABLE_SAMPLE, packet->time, 0, &drop))
        return false;
    task->pid = pid;
    struct profile_sample sample = {
        .time = packet->time, .thread = thread_row(import, task), .stack = stack, .period = 1};
    import->events++;
    import->has_events = true;
    return drop || profile_add(&import->samples, &sample, import->status);
}
