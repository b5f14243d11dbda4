/* The page's tables as columns: the same chunks that a trace file is made of, not compressed one by
 * one but deflated together. web/data.js has the same columns in the same order. */
#include "base/array.h"
#include "report/html_parts.h"

#include "base/memory.h"
#include "base/sort.h"
#include "trace/chunk.h"

enum { PAGE_CHUNK_ROWS = 1 << 16 };

/* What becomes of a value on its way into the page. */
enum page_how {
    AS_IS,
    TIME,     /* counted from the page's time 0 */
    LENGTH,   /* never negative */
    SIGNED,   /* zigzag: 0, -1, 1, -2 ... */
    NAME,     /* a string's number in the page */
    ROW,      /* a row + 1, 0 is none; `map` tells where the page has it */
    SIZE,     /* bytes + 1, 0 is not known */
    PERMILLE, /* of a float from 0 to 1 */
};

struct page_column {
    enum page_how how;
    const void *values; /* NULL: all 0 */
    size_t size;        /* of a value: 1, 4 or 8 bytes */
    size_t stride;      /* from one to the next; 0: as the size */
    const uint32_t *map, *plus;
    bool by_place; /* values are by place in the page, not by row of the trace */
};
#define COLUMN(how, array)                                                                         \
    { how, array, sizeof *(array), 0, NULL, NULL, false }
#define MEMBER(how, array, member)                                                                 \
    {                                                                                              \
        how, (array) ? &(array)->member : NULL, sizeof(array)->member, sizeof *(array), NULL,      \
            NULL, true                                                                             \
    }

struct page_table {
    uint32_t type;
    size_t count;
    const uint32_t *rows; /* by place in the page; NULL: as they are */
    const struct page_column *columns;
    unsigned column_count;
};
#define FOURCC(a, b, c, d)                                                                         \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct page_writer {
    struct page_stream *stream;
    const struct report *report;
    const struct trace *trace;
    struct page_events *events;
    struct page_names names;
    struct chunk_builder builder;
    uint64_t *values; /* of one column of a chunk */
    int64_t zero;     /* the page's time 0: the earliest of all events */
    struct gap_intervals gaps;
    uint32_t *memory_order;
};

static uint64_t raw_value(const struct page_column *column, size_t at) {
    const char *value =
        (const char *)column->values + at * (column->stride ? column->stride : column->size);
    uint32_t word;
    uint64_t wide;
    if (column->size == 8) {
        memcpy(&wide, value, sizeof wide);
        return wide;
    }
    if (column->size == 1)
        return (uint8_t)*value;
    memcpy(&word, value, sizeof word);
    return word;
}

static uint64_t page_value(const struct page_writer *writer, const struct page_column *column,
                           size_t at) {
    uint64_t raw = raw_value(column, at);
    switch (column->how) {
    case TIME:
        return raw - (uint64_t)writer->zero;
    case LENGTH:
        return (int64_t)raw < 0 ? 0 : raw;
    case SIGNED:
        return raw << 1 ^ (0 - (raw >> 63));
    case NAME:
        return writer->names.number[raw];
    case ROW:
        return raw == NO_ROW ? 0 : (uint64_t)(column->map ? column->map[raw] : raw) + 1;
    case SIZE:
        return raw == BYTES_UNKNOWN ? 0 : raw + 1;
    case PERMILLE: {
        uint32_t bits = (uint32_t)raw;
        float share;
        memcpy(&share, &bits, sizeof share);
        return (uint64_t)(share * 1000.0f + 0.5f);
    }
    default:
        return column->plus ? raw + column->plus[at] : raw;
    }
}

static void write_table(struct page_writer *writer, const struct page_table *table) {
    for (size_t first = 0; first < table->count; first += PAGE_CHUNK_ROWS) {
        size_t rows =
            table->count - first < PAGE_CHUNK_ROWS ? table->count - first : PAGE_CHUNK_ROWS;
        struct chunk_header header = {.type = table->type, .rows = (uint32_t)rows};
        chunk_begin(&writer->builder, table->column_count);
        for (unsigned i = 0; i < table->column_count; i++) {
            const struct page_column *column = &table->columns[i];
            for (size_t row = 0; row < rows; row++) {
                size_t place = first + row;
                size_t at = column->by_place || !table->rows ? place : table->rows[place];
                writer->values[row] = column->values ? page_value(writer, column, at) : 0;
            }
            chunk_add_column(&writer->builder, i, writer->values, sizeof *writer->values, rows);
        }
        chunk_seal(&writer->builder, &header);
        page_stream_write(writer->stream, writer->builder.bytes, writer->builder.length);
    }
}
#define WRITE_TABLE(writer, code, row_count, order, list)                                          \
    write_table(writer, &(struct page_table){.type = code,                                         \
                                             .count = row_count,                                   \
                                             .rows = order,                                        \
                                             .columns = list,                                      \
                                             .column_count = ARRAY_COUNT(list)})

/* Durations are those of the merged intervals, where there are any. */
static struct page_column duration_column(const struct page_rows *rows, const int64_t *durations) {
    return (struct page_column){
        .how = LENGTH,
        .values = rows->duration ? rows->duration : durations,
        .size = sizeof *durations,
        .by_place = rows->duration != NULL,
    };
}
static struct page_column merged_column(const struct page_rows *rows) {
    return (struct page_column){
        .values = rows->merged, .size = sizeof *rows->merged, .by_place = true};
}

static void write_activities(struct page_writer *writer) {
    const struct columns_activity *activity = &writer->trace->activity;
    const struct page_rows *rows = &writer->events->activities;
    const struct page_column columns[] = {
        COLUMN(TIME, activity->start),
        duration_column(rows, activity->duration),
        COLUMN(AS_IS, activity->queue),
        COLUMN(AS_IS, activity->kind),
        COLUMN(NAME, activity->name),
        {.how = ROW,
         .values = writer->report->model.launch,
         .size = sizeof(uint32_t),
         .map = writer->events->calls.place},
        COLUMN(AS_IS, activity->grid_x),
        COLUMN(AS_IS, activity->grid_y),
        COLUMN(AS_IS, activity->grid_z),
        COLUMN(AS_IS, activity->block_x),
        COLUMN(AS_IS, activity->block_y),
        COLUMN(AS_IS, activity->block_z),
        COLUMN(AS_IS, activity->registers),
        {.how = AS_IS,
         .values = activity->shared_static,
         .size = sizeof(uint32_t),
         .plus = activity->shared_dynamic},
        COLUMN(SIZE, activity->bytes),
        COLUMN(AS_IS, activity->direction),
        COLUMN(AS_IS, activity->from_memory),
        COLUMN(AS_IS, activity->to_memory),
        COLUMN(AS_IS, activity->flops),
        COLUMN(AS_IS, activity->graph),
        COLUMN(PERMILLE, writer->report->occupancy.share),
        merged_column(rows),
    };
    WRITE_TABLE(writer, FOURCC('A', 'C', 'T', 'I'), rows->count, rows->rows, columns);
}

static void write_calls(struct page_writer *writer) {
    const struct columns_call *call = &writer->trace->call;
    const struct page_rows *rows = &writer->events->calls;
    const struct page_column columns[] = {
        COLUMN(TIME, call->start),   duration_column(rows, call->duration),
        COLUMN(AS_IS, call->thread), COLUMN(NAME, call->name),
        COLUMN(AS_IS, call->class),  COLUMN(SIGNED, call->result),
        merged_column(rows),         COLUMN(AS_IS, call->stack),
    };
    WRITE_TABLE(writer, FOURCC('C', 'A', 'L', 'L'), rows->count, rows->rows, columns);
}

static void write_ranges(struct page_writer *writer) {
    const struct columns_range *range = &writer->trace->range;
    const struct page_rows *rows = &writer->events->ranges;
    const struct page_column columns[] = {
        COLUMN(TIME, range->start),   duration_column(rows, range->duration),
        COLUMN(AS_IS, range->thread), COLUMN(AS_IS, range->queue),
        COLUMN(NAME, range->name),    COLUMN(AS_IS, range->category),
        merged_column(rows),
    };
    WRITE_TABLE(writer, FOURCC('R', 'A', 'N', 'G'), rows->count, rows->rows, columns);
}

static void write_gaps(struct page_writer *writer) {
    const struct gap_interval *gaps = writer->gaps.list;
    struct page_column columns[] = {
        MEMBER(TIME, gaps, start),  MEMBER(LENGTH, gaps, length), MEMBER(AS_IS, gaps, device),
        MEMBER(AS_IS, gaps, cause), MEMBER(ROW, gaps, next),
    };
    columns[4].map = writer->events->activities.place;
    WRITE_TABLE(writer, FOURCC('G', 'A', 'P', 'S'), writer->gaps.count, NULL, columns);
}

/* A caller has a smaller number than what it calls; anything else is damage, and no caller. */
static bool write_stacks(struct page_writer *writer, struct status *status) {
    const struct columns_stack *stack = &writer->trace->stack;
    uint32_t *parents = memory_allocate(stack->count, sizeof *parents, status);
    if (!parents)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        parents[i] = stack->parent[i] < i ? stack->parent[i] : 0;
    const struct page_column columns[] = {
        COLUMN(AS_IS, parents),    COLUMN(NAME, stack->function), COLUMN(NAME, stack->module),
        COLUMN(NAME, stack->file), COLUMN(AS_IS, stack->line),    COLUMN(NAME, stack->source),
    };
    WRITE_TABLE(writer, FOURCC('S', 'T', 'A', 'K'), stack->count, NULL, columns);
    memory_free(parents);
    return true;
}

static void write_samples(struct page_writer *writer) {
    const struct columns_sample *sample = &writer->trace->sample;
    const struct page_column columns[] = {
        COLUMN(TIME, sample->time),
        COLUMN(AS_IS, sample->thread),
        COLUMN(AS_IS, sample->stack),
        COLUMN(LENGTH, sample->weight),
    };
    WRITE_TABLE(writer, FOURCC('S', 'A', 'M', 'P'), sample->count,
                writer->report->host.sample_order, columns);
}

static void write_counters(struct page_writer *writer) {
    const struct columns_counter *counter = &writer->trace->counter;
    const struct page_column columns[] = {
        COLUMN(TIME, counter->time),
        COLUMN(AS_IS, counter->device),
        COLUMN(NAME, counter->name),
        COLUMN(AS_IS, counter->value),
    };
    WRITE_TABLE(writer, FOURCC('C', 'O', 'U', 'N'), counter->count, NULL, columns);
}

static void write_memory(struct page_writer *writer) {
    const struct columns_memory *memory = &writer->trace->memory;
    const struct page_column columns[] = {
        COLUMN(TIME, memory->time),      COLUMN(AS_IS, memory->thread),
        COLUMN(AS_IS, memory->device),   COLUMN(AS_IS, memory->operation),
        COLUMN(AS_IS, memory->bytes),    COLUMN(AS_IS, memory->allocated),
        COLUMN(AS_IS, memory->reserved),
    };
    WRITE_TABLE(writer, FOURCC('M', 'E', 'M', 'O'), memory->count, writer->memory_order, columns);
}

static void write_states(struct page_writer *writer) {
    const struct columns_state *state = &writer->trace->state;
    const struct page_column columns[] = {
        COLUMN(TIME, state->start),
        COLUMN(LENGTH, state->duration),
        COLUMN(AS_IS, state->thread),
        COLUMN(AS_IS, state->state),
    };
    WRITE_TABLE(writer, FOURCC('S', 'T', 'A', 'T'), state->count, writer->report->host.states.order,
                columns);
}

static bool write_steps(struct page_writer *writer, struct status *status) {
    const struct steps *steps = &writer->report->steps;
    int64_t *lengths = memory_allocate(steps->count, sizeof *lengths, status);
    uint8_t *warm_up = memory_allocate(steps->count, sizeof *warm_up, status);
    bool ok = lengths && warm_up;
    for (size_t i = 0; ok && i < steps->count; i++) {
        lengths[i] = steps->list[i].end - steps->list[i].start;
        warm_up[i] = i < steps->warm_up;
    }
    if (ok) {
        const struct page_column columns[] = {
            MEMBER(TIME, steps->list, start),
            COLUMN(LENGTH, lengths),
            MEMBER(NAME, steps->list, name),
            COLUMN(AS_IS, warm_up),
        };
        WRITE_TABLE(writer, FOURCC('S', 'T', 'E', 'P'), steps->count, NULL, columns);
    }
    memory_free(lengths);
    memory_free(warm_up);
    return ok;
}

static bool load_columns(struct trace *trace, struct status *status) {
    return trace_load(trace, TABLE_ACTIVITY,
                      "start duration queue kind name grid_x grid_y grid_z block_x block_y block_z "
                      "registers shared_static shared_dynamic bytes direction from_memory "
                      "to_memory flops graph",
                      status) &&
           trace_load(trace, TABLE_CALL, "start duration thread name class result", status) &&
           trace_load(trace, TABLE_RANGE, "start duration thread queue name category", status) &&
           trace_load(trace, TABLE_SAMPLE, NULL, status) &&
           trace_load(trace, TABLE_COUNTER, NULL, status) &&
           trace_load(trace, TABLE_MEMORY, "time thread device operation bytes allocated reserved",
                      status) &&
           trace_load(trace, TABLE_STATE, "start duration thread state", status);
}

static int64_t earliest(int64_t so_far, const int64_t *times, size_t count) {
    for (size_t i = 0; i < count; i++)
        so_far = times[i] < so_far ? times[i] : so_far;
    return so_far;
}

static int64_t find_zero(const struct report *report) {
    const struct trace *trace = report->model.trace;
    int64_t zero = report->model.first;
    zero = earliest(zero, trace->activity.start, trace->activity.count);
    zero = earliest(zero, trace->call.start, trace->call.count);
    zero = earliest(zero, trace->range.start, trace->range.count);
    zero = earliest(zero, trace->sample.time, trace->sample.count);
    zero = earliest(zero, trace->counter.time, trace->counter.count);
    zero = earliest(zero, trace->memory.time, trace->memory.count);
    return earliest(zero, trace->state.start, trace->state.count);
}

static bool find_gaps(struct page_writer *writer, struct status *status) {
    const struct report *report = writer->report;
    for (size_t i = 0; i < report->device_count; i++)
        if (!gaps_list(&report->model, &report->host, report->devices[i].id,
                       report->devices[i].selection, &writer->gaps, status))
            return false;
    return true;
}

static bool prepare(struct page_writer *writer, struct status *status) {
    struct trace *trace = writer->report->model.trace;
    if (!load_columns(trace, status) ||
        !page_events_choose(writer->events, writer->report, PAGE_EVENTS_MAX, status) ||
        !page_names_find(&writer->names, writer->report, writer->events, status) ||
        !find_gaps(writer, status))
        return false;
    uint32_t *together = memory_allocate(trace->memory.count, sizeof *together, status);
    bool ok = together && sort_rows(together, 1, trace->memory.time, NULL, trace->memory.count,
                                    &writer->memory_order, status);
    memory_free(together);
    writer->zero = find_zero(writer->report);
    writer->values = memory_allocate(PAGE_CHUNK_ROWS, sizeof *writer->values, status);
    return ok && writer->values &&
           chunk_builder_init(&writer->builder, PAGE_CHUNK_ROWS, 0, 0, status);
}

static bool write_tables(struct page_writer *writer, struct status *status) {
    write_activities(writer);
    write_calls(writer);
    write_ranges(writer);
    write_gaps(writer);
    write_samples(writer);
    write_counters(writer);
    write_memory(writer);
    write_states(writer);
    return write_stacks(writer, status) && write_steps(writer, status);
}

bool page_write_data(struct page_stream *stream, const struct report *report,
                     struct page_events *events, struct status *status) {
    const struct trace *trace = report->model.trace;
    struct page_writer writer = {
        .stream = stream, .report = report, .trace = trace, .events = events};
    bool ok = prepare(&writer, status);
    if (ok) {
        const struct page_counts counts = {
            .activities = events->activities.count,
            .calls = events->calls.count,
            .ranges = events->ranges.count,
            .gaps = writer.gaps.count,
            .stacks = trace->stack.count,
            .samples = trace->sample.count,
            .counters = trace->counter.count,
            .memory = trace->memory.count,
            .states = trace->state.count,
            .steps = report->steps.count,
        };
        ok = page_write_header(stream, report, &writer.names, events, &counts,
                               report->model.first - writer.zero, status) &&
             write_tables(&writer, status);
    }
    chunk_builder_finish(&writer.builder);
    page_names_finish(&writer.names);
    gap_intervals_finish(&writer.gaps);
    memory_free(writer.memory_order);
    memory_free(writer.values);
    return ok;
}
