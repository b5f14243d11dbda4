/* Which row did this event come from? In a Chrome trace that ridge exported nothing has to be
 * guessed: the category tells the table, the lists of entities whose it is, and arguments that
 * begin with "ridge" what Kineto has no place for. export/chrome_events.c is the other half. */
#include <math.h>

#include "import/kineto/kineto_own.h"

static bool nowhere(const struct event_id *process) {
    return process->word.length == 0 && process->number == OWN_NOWHERE;
}

static struct event_id device_id(const struct kineto_event *event) {
    if (event_has(event, NUMBER_DEVICE))
        return (struct event_id){.number = event->numbers[NUMBER_DEVICE]};
    return event->process;
}

static uint32_t queue_of(struct kineto_rows *rows, const struct kineto_event *event) {
    struct event_id device = device_id(event), stream = event->thread;
    if (event_has(event, NUMBER_STREAM))
        stream = (struct event_id){.number = event->numbers[NUMBER_STREAM]};
    return nowhere(&device) ? 0
                            : places_queue(&rows->places, &device, &stream,
                                           event_unsigned(event, NUMBER_CONTEXT));
}

static uint32_t thread_of(struct kineto_rows *rows, const struct kineto_event *event) {
    return rows_thread(rows, &event->process, &event->thread);
}

/* The trace's own correlation id, where the file has another that is unique in it. */
static uint64_t launch_of(const struct kineto_event *event, enum event_number here,
                          enum event_number own) {
    return event_unsigned(event, event_has(event, own) ? own : here);
}

/* The number of the name that this is, or 0. */
static uint8_t number_named(struct text word, column_namer *names, unsigned count) {
    for (unsigned number = 0; number < count; number++)
        if (text_is(word, names(number)))
            return (uint8_t)number;
    return 0;
}

static bool is_letter(char byte) {
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

/* "HtoD (pinned -> device)": three words, where the name does not say it. */
static void read_kind(struct text kind, struct row_activity *row) {
    struct text words[3] = {TEXT(""), TEXT(""), TEXT("")};
    size_t at = 0;
    for (unsigned i = 0; i < 3; i++) {
        while (at < kind.length && !is_letter(kind.data[at]))
            at++;
        words[i].data = kind.data + at;
        while (at < kind.length && is_letter(kind.data[at]))
            at++;
        words[i].length = (size_t)(kind.data + at - words[i].data);
    }
    row->direction = number_named(words[0], copy_direction_name, COPY_DIRECTIONS);
    row->from_memory = number_named(words[1], memory_kind_name, MEMORY_KINDS);
    row->to_memory = number_named(words[2], memory_kind_name, MEMORY_KINDS);
}

static void read_direction(const struct kineto_event *event, struct row_activity *row) {
    enum copy_direction direction = COPY_UNKNOWN;
    enum memory_kind from = MEMORY_UNKNOWN, to = MEMORY_UNKNOWN;
    if (event->has_word >> WORD_KIND & 1) {
        read_kind(event->words[WORD_KIND].raw, row);
        return;
    }
    if (row->kind == ACTIVITY_COPY)
        import_copy_name(event->name.raw, &direction, &from, &to);
    row->direction = (uint8_t)direction;
    row->from_memory = (uint8_t)from;
    row->to_memory = (uint8_t)to;
}

static void add_activity(struct kineto_rows *rows, const struct kineto_event *event,
                         enum activity_kind kind) {
    enum event_number bytes = kind == ACTIVITY_KERNEL ? NUMBER_RIDGE_BYTES : NUMBER_BYTES;
    uint64_t shared = event_unsigned(event, NUMBER_SHARED);
    struct row_activity row = {
        .start = event->start,
        .duration = event->duration,
        .queue = queue_of(rows, event),
        .kind = (uint8_t)kind,
        .name = rows_string(rows, &event->name),
        .correlation = launch_of(event, NUMBER_CORRELATION, NUMBER_RIDGE_CORRELATION),
        .registers = event_u32(event, NUMBER_REGISTERS),
        .shared_dynamic = event_u32(event, NUMBER_RIDGE_SHARED),
        .flops = event_unsigned(event, NUMBER_RIDGE_FLOPS),
        .graph = event_u32(event, NUMBER_GRAPH),
        .bytes = event_has(event, bytes) ? (uint64_t)event->numbers[bytes] : BYTES_UNKNOWN,
        .detail = details_own(&rows->details, event),
    };
    shared -= shared < row.shared_dynamic ? shared : row.shared_dynamic;
    row.shared_static = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared;
    rows_shape(event, &row);
    read_direction(event, &row);
    trace_write_activity(rows->writer, &row);
}

static void add_call(struct kineto_rows *rows, const struct kineto_event *event) {
    bool told = event->has_word >> WORD_RIDGE_CLASS & 1;
    struct row_call row = {
        .start = event->start,
        .duration = event->duration,
        .thread = thread_of(rows, event),
        .name = rows_string(rows, &event->name),
        .class =
            told ? number_named(event->words[WORD_RIDGE_CLASS].raw, call_class_name, CALL_CLASSES)
                 : rows_call_class(rows, event),
        .correlation = launch_of(event, NUMBER_CORRELATION, NUMBER_RIDGE_CORRELATION),
        .result = (int64_t)event_unsigned(event, NUMBER_RIDGE_RESULT),
        .detail = details_own(&rows->details, event),
    };
    trace_write_call(rows->writer, &row);
}

static void add_wait(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_wait row = {
        .start = event->start,
        .duration = event->duration,
        .queue = queue_of(rows, event),
        .kind = (uint8_t)rows_wait_kind(event),
        .correlation = launch_of(event, NUMBER_CORRELATION, NUMBER_RIDGE_CORRELATION),
        .event = event_unsigned(event, NUMBER_WAIT_EVENT),
        .record_correlation = launch_of(event, NUMBER_WAIT_RECORD, NUMBER_RIDGE_WAIT_RECORD),
    };
    struct event_id device = device_id(event), stream = {0};
    if (event_has(event, NUMBER_RIDGE_AWAITED))
        device = (struct event_id){.number = event->numbers[NUMBER_RIDGE_AWAITED]};
    stream.number = event->numbers[NUMBER_WAIT_STREAM];
    if (event_has(event, NUMBER_WAIT_STREAM))
        row.awaited = places_queue(&rows->places, &device, &stream, 0);
    trace_write_wait(rows->writer, &row);
}

static enum range_category range_category(enum event_category category) {
    switch (category) {
    case CATEGORY_OP:
        return RANGE_OP;
    case CATEGORY_ANNOTATION:
        return RANGE_ANNOTATION;
    case CATEGORY_PYTHON:
        return RANGE_PYTHON;
    case CATEGORY_DEVICE_RANGE:
    case CATEGORY_DEVICE_PART:
        return RANGE_DEVICE;
    case CATEGORY_DRIVER:
        return RANGE_DRIVER;
    case CATEGORY_OVERHEAD:
        return RANGE_OVERHEAD;
    default:
        return RANGE_OTHER;
    }
}

/* On a queue, on a thread, or on both. */
static void add_range(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = {
        .start = event->start,
        .duration = event->duration,
        .name = rows_string(rows, &event->name),
        .category = (uint8_t)range_category(event->category),
        .detail = details_own(&rows->details, event),
    };
    struct event_id pid = {.number = event->numbers[NUMBER_RIDGE_PID]};
    struct event_id tid = {.number = event->numbers[NUMBER_RIDGE_TID]};
    if (event->has_word >> WORD_RIDGE_DOMAIN & 1)
        row.domain = rows_string(rows, &event->words[WORD_RIDGE_DOMAIN]);
    else if (event->category == CATEGORY_UNKNOWN)
        row.domain = rows_string(rows, &event->category_text);
    if (!event_has(event, NUMBER_STREAM)) {
        row.thread = thread_of(rows, event);
    } else {
        row.queue = queue_of(rows, event);
        if (event_has(event, NUMBER_RIDGE_PID) && event_has(event, NUMBER_RIDGE_TID))
            row.thread = rows_thread(rows, &pid, &tid);
    }
    trace_write_range(rows->writer, &row);
}

/* Drawn on a track of its own, so the thread stands in the arguments. */
static void add_state(struct kineto_rows *rows, const struct kineto_event *event) {
    struct event_id pid = {.number = event->numbers[NUMBER_RIDGE_PID]};
    struct event_id tid = {.number = event->numbers[NUMBER_RIDGE_TID]};
    struct row_state row = {
        .start = event->start,
        .duration = event->duration,
        .state = number_named(event->name.raw, thread_state_name, STATE_KINDS),
        .processor = event_u32(event, NUMBER_RIDGE_PROCESSOR),
    };
    if (event_has(event, NUMBER_RIDGE_PID) && event_has(event, NUMBER_RIDGE_TID))
        row.thread = rows_thread(rows, &pid, &tid);
    trace_write_state(rows->writer, &row);
}

static void add_mark(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_mark row = {
        .time = event->start,
        .thread = thread_of(rows, event),
        .name = rows_string(rows, &event->name),
        .domain = rows_string(rows, &event->category_text),
        .detail = details_own(&rows->details, event),
    };
    trace_write_mark(rows->writer, &row);
}

/* A release is an allocation of a negative size, unless it says itself what it is. */
static void add_memory(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_memory row = rows_memory(rows, event);
    if (event->has_word >> WORD_RIDGE_OPERATION & 1) {
        row.bytes = event_unsigned(event, NUMBER_MEMORY_BYTES);
        row.operation = number_named(event->words[WORD_RIDGE_OPERATION].raw, memory_operation_name,
                                     MEMORY_OPERATIONS);
    }
    trace_write_memory(rows->writer, &row);
}

/* JSON has no numbers but finite ones: null is none of them. */
static void add_counter(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_counter row = {
        .time = event->start,
        .device = nowhere(&event->process) ? 0 : places_device(&rows->places, &event->process),
        .name = rows_string(rows, &event->name),
        .value = NAN,
    };
    struct text key;
    bool is_number = false, closed = true;
    const char *at = event->args.length ? scan_first_member(event->args.data, &closed) : NULL;
    double value;
    if (!closed && (at = scan_key(rows->scan, at, &key)) &&
        scan_double(rows->scan, at, &value, &is_number) && is_number)
        row.value = value;
    trace_write_counter(rows->writer, &row);
}

static void add_complete(struct kineto_rows *rows, const struct kineto_event *event) {
    switch (event->category) {
    case CATEGORY_KERNEL:
        add_activity(rows, event, ACTIVITY_KERNEL);
        break;
    case CATEGORY_COPY:
        add_activity(rows, event, ACTIVITY_COPY);
        break;
    case CATEGORY_SET:
        add_activity(rows, event, ACTIVITY_SET);
        break;
    case CATEGORY_CALL:
        add_call(rows, event);
        break;
    case CATEGORY_SYNC:
        add_wait(rows, event);
        break;
    case CATEGORY_STATE:
        add_state(rows, event);
        break;
    default:
        add_range(rows, event);
    }
}

bool own_add(struct kineto_rows *rows, const struct kineto_event *event) {
    if (event->phase == 'X')
        add_complete(rows, event);
    else if (event->phase == 'C')
        add_counter(rows, event);
    else if (event->phase != 'i')
        return false;
    else if (event_has(event, NUMBER_MEMORY_BYTES))
        add_memory(rows, event);
    else
        add_mark(rows, event);
    return true;
}
