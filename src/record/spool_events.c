/* One function for each kind of event. The recorded process can write to the shared memory of the
 * spool, so every time is checked before use, and lookups of texts, devices and queues tolerate
 * wrong numbers.
 */
#include "record/spool_events.h"

#include <stdio.h>

#include "base/json_write.h"

static struct trace_writer *writer_of(const struct spool_origin *origin) {
    return origin->rows->entities.writer;
}

uint32_t spool_origin_string(const struct spool_origin *origin, uint32_t text) {
    return spool_entity_string(&origin->rows->entities, origin->lane_number, origin->lane, text);
}

struct text spool_origin_text(const struct spool_origin *origin, uint32_t text) {
    return spool_reader_text(origin->rows->entities.reader, origin->lane_number, text);
}

/* Fails when out of memory: an activity without a queue is not written. */
static bool find_queue(const struct spool_origin *origin, uint32_t device, uint32_t context,
                       uint32_t stream, uint32_t *queue) {
    *queue = spool_entity_queue(&origin->rows->entities, origin->process, device, context, stream,
                                0, origin->status);
    return *queue != 0;
}

bool spool_check_span(struct spool_rows *rows, int64_t start, int64_t end) {
    bool sane = start > 0 && start <= end && end < TRACE_TIME_LIMIT / 2;
    rows->invalid += !sane;
    return sane;
}

static bool is_in_window(const struct spool_rows *rows, int64_t start) {
    return start >= rows->from && start < rows->until;
}

bool spool_handle_kernel(const struct spool_origin *origin, const struct spool_kernel *kernel) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, kernel->start, kernel->end) || !is_in_window(rows, kernel->start))
        return true;
    struct row_activity row = {
        .start = kernel->start,
        .duration = kernel->end - kernel->start,
        .kind = ACTIVITY_KERNEL,
        .name = spool_origin_string(origin, kernel->head.text),
        .correlation = kernel->correlation,
        .grid_x = kernel->grid[0],
        .grid_y = kernel->grid[1],
        .grid_z = kernel->grid[2],
        .block_x = kernel->block[0],
        .block_y = kernel->block[1],
        .block_z = kernel->block[2],
        .registers = kernel->registers,
        .shared_static = kernel->shared_static,
        .shared_dynamic = kernel->shared_dynamic,
        .bytes = BYTES_UNKNOWN,
        .graph = kernel->graph,
        .captured_by = kernel->captured_by,
    };
    if (kernel->head.bytes >= sizeof(struct spool_kernel_work)) {
        const struct spool_kernel_work *work = (const void *)kernel;
        row.bytes = work->bytes ? work->bytes : BYTES_UNKNOWN;
        row.flops = work->flops;
    }
    if (!find_queue(origin, kernel->device, kernel->context, kernel->stream, &row.queue))
        return false;
    rows->kernels++;
    trace_write_activity(writer_of(origin), &row);
    return true;
}

static uint32_t copy_name(const struct spool_origin *origin, const struct spool_copy *copy,
                          unsigned direction) {
    char name[64];
    if (copy->head.text)
        return spool_origin_string(origin, copy->head.text);
    if (copy->is_set)
        snprintf(name, sizeof name, "Memset");
    else
        snprintf(name, sizeof name, "Memcpy %s", copy_direction_name(direction));
    return trace_writer_string(writer_of(origin), text_of(name));
}

bool spool_handle_copy(const struct spool_origin *origin, const struct spool_copy *copy) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, copy->start, copy->end) || !is_in_window(rows, copy->start))
        return true;
    uint8_t direction = copy->direction < COPY_DIRECTIONS ? copy->direction : COPY_UNKNOWN;
    struct row_activity row = {
        .start = copy->start,
        .duration = copy->end - copy->start,
        .kind = copy->is_set ? ACTIVITY_SET : ACTIVITY_COPY,
        .name = copy_name(origin, copy, direction),
        .correlation = copy->correlation,
        .bytes = copy->bytes,
        .direction = direction,
        .from_memory = copy->from_memory < MEMORY_KINDS ? copy->from_memory : MEMORY_UNKNOWN,
        .to_memory = copy->to_memory < MEMORY_KINDS ? copy->to_memory : MEMORY_UNKNOWN,
        .graph = copy->graph,
        .captured_by = copy->captured_by,
    };
    if (!find_queue(origin, copy->device, copy->context, copy->stream, &row.queue))
        return false;
    rows->copies++;
    trace_write_activity(writer_of(origin), &row);
    return true;
}

static void write_call(const struct spool_origin *origin, const struct spool_call *call,
                       int64_t end) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, call->start, end) || !is_in_window(rows, call->start))
        return;
    struct row_call row = {
        .start = call->start,
        .duration = end - call->start,
        .thread = origin->lane->thread,
        .name = spool_origin_string(origin, call->head.text),
        .class = call->class < CALL_CLASSES ? call->class : CALL_OTHER,
        .correlation = call->correlation,
        .result = call->result,
        .stack = spool_stacks_row(&origin->lane->stacks, call->stack),
    };
    rows->calls++;
    trace_write_call(writer_of(origin), &row);
}

void spool_finish_pending_call(const struct spool_origin *origin) {
    struct spool_call *pending = &origin->lane->pending;
    if (pending->head.kind && pending->start < TRACE_TIME_LIMIT / 2)
        write_call(origin, pending, pending->start + pending->duration);
    pending->head.kind = 0;
}

/* A call of more than four seconds is two records, see struct spool_call. */
bool spool_handle_call(const struct spool_origin *origin, const struct spool_call *call) {
    struct spool_call *pending = &origin->lane->pending;
    if (call->class == SPOOL_CALL_END) {
        if (pending->head.kind)
            write_call(origin, pending, call->start);
        pending->head.kind = 0;
        return true;
    }
    spool_finish_pending_call(origin);
    if (call->duration == UINT32_MAX)
        *pending = *call;
    else if (call->start < TRACE_TIME_LIMIT / 2)
        write_call(origin, call, call->start + call->duration);
    else
        origin->rows->invalid++;
    return true;
}

static struct row_range range_row(const struct spool_origin *origin,
                                  const struct spool_range *range) {
    struct spool_attributes attributes = {
        .domain = spool_origin_string(origin, range->domain),
        .category = spool_origin_text(origin, range->category),
        .color = range->color,
        .payload_kind = range->has_payload,
        .payload = range->payload,
    };
    struct row_range row =
        spool_range_row(writer_of(origin), spool_origin_text(origin, range->head.text),
                        origin->lane->thread, &attributes);
    row.start = range->start;
    return row;
}

bool spool_handle_range(const struct spool_origin *origin, const struct spool_range *range) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, range->start, range->end) || range->end < rows->from ||
        range->start >= rows->until)
        return true;
    struct row_range row = range_row(origin, range);
    spool_range_write(&rows->ranges, writer_of(origin), &row, range->end);
    return true;
}

bool spool_handle_range_begin(const struct spool_origin *origin, const struct spool_range *range) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, range->start, range->start) || range->start >= rows->until)
        return true;
    struct row_range row = range_row(origin, range);
    return spool_range_begin(&rows->ranges, writer_of(origin), origin->process, range->id, &row,
                             origin->status);
}

bool spool_handle_range_end(const struct spool_origin *origin, const struct spool_range *range) {
    struct spool_rows *rows = origin->rows;
    return !spool_check_span(rows, range->end, range->end) ||
           spool_range_end(&rows->ranges, writer_of(origin), origin->process, range->id, range->end,
                           origin->status);
}

bool spool_handle_queue_range(const struct spool_origin *origin,
                              const struct spool_queue_range *range) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, range->start, range->end) || !is_in_window(rows, range->start))
        return true;
    struct row_range row = {
        .start = range->start,
        .duration = range->end - range->start,
        .name = spool_origin_string(origin, range->head.text),
        .category = RANGE_ANNOTATION,
    };
    if (!find_queue(origin, range->device, range->context, range->stream, &row.queue))
        return false;
    trace_write_range(writer_of(origin), &row);
    rows->ranges.written++;
    return true;
}

/* With the keys that torch.profiler uses. */
static uint32_t collective_detail(const struct spool_origin *origin,
                                  const struct spool_collective *event) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    struct text group = spool_origin_text(origin, event->group);
    json_begin_object(&json);
    json_member_text(&json, "Collective name", spool_origin_text(origin, event->operation));
    if (event->bytes != UINT64_MAX)
        json_member_unsigned(&json, "bytes", event->bytes);
    if (group.length)
        json_member_text(&json, "Process Group Name", group);
    if (event->group_size)
        json_member_unsigned(&json, "Group size", event->group_size);
    if (event->sequence)
        json_member_unsigned(&json, "Seq", event->sequence);
    if (event->group_rank >= 0)
        json_member_integer(&json, "Group Rank", event->group_rank);
    if (event->root >= 0)
        json_member_integer(&json, "Root", event->root);
    if (event->peer >= 0)
        json_member_integer(&json, "Peer", event->peer);
    json_end_object(&json);
    uint32_t string =
        text.failed ? 0 : trace_writer_string(writer_of(origin), buffer_as_text(&text));
    buffer_finish(&text);
    return string;
}

bool spool_handle_collective(const struct spool_origin *origin,
                             const struct spool_collective *event) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, event->start, event->end) || !is_in_window(rows, event->start))
        return true;
    struct row_range row = {
        .start = event->start,
        .thread = origin->lane->thread,
        .name = spool_origin_string(origin, event->head.text),
        .category = RANGE_OP,
        .domain = spool_origin_string(origin, event->library),
        .detail = collective_detail(origin, event),
    };
    spool_range_write(&rows->ranges, writer_of(origin), &row, event->end);
    return true;
}

bool spool_handle_mark(const struct spool_origin *origin, const struct spool_mark *mark) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, mark->time, mark->time) || !is_in_window(rows, mark->time))
        return true;
    struct spool_attributes attributes = {
        .category = spool_origin_text(origin, mark->category),
        .color = mark->color,
        .payload_kind = mark->has_payload,
        .payload = mark->payload,
    };
    struct row_mark row = {
        .time = mark->time,
        .thread = origin->lane->thread,
        .name = spool_origin_string(origin, mark->head.text),
        .domain = spool_origin_string(origin, mark->domain),
        .detail = spool_range_detail(writer_of(origin), &attributes, TEXT("")),
    };
    trace_write_mark(writer_of(origin), &row);
    return true;
}

bool spool_handle_wait(const struct spool_origin *origin, const struct spool_wait *wait) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, wait->start, wait->end) || !is_in_window(rows, wait->start))
        return true;
    struct row_wait row = {
        .start = wait->start,
        .duration = wait->end - wait->start,
        .kind = wait->kind < WAIT_KINDS ? (uint8_t)wait->kind : WAIT_UNKNOWN,
        .correlation = wait->correlation,
        .event = wait->event,
        .record_correlation = wait->record_correlation,
    };
    if (wait->stream != UINT32_MAX &&
        !find_queue(origin, wait->device, wait->context, wait->stream, &row.queue))
        return false;
    if (wait->awaited_stream != UINT32_MAX &&
        !find_queue(origin, wait->awaited_device, wait->awaited_context, wait->awaited_stream,
                    &row.awaited))
        return false;
    trace_write_wait(writer_of(origin), &row);
    return true;
}

bool spool_handle_memory(const struct spool_origin *origin, const struct spool_memory *memory) {
    struct spool_rows *rows = origin->rows;
    if (!spool_check_span(rows, memory->time, memory->time) || !is_in_window(rows, memory->time))
        return true;
    struct row_memory row = {
        .time = memory->time,
        .thread = memory->tid > 0 ? spool_entity_thread(&rows->entities, origin->process,
                                                        memory->tid, origin->status)
                                  : origin->lane->thread, /* the main thread */
        .operation = memory->released ? MEMORY_FREE : MEMORY_ALLOC,
        .bytes = memory->bytes,
        .address = memory->address,
    };
    if (memory->device)
        row.device = spool_entity_device(&rows->entities, origin->process, memory->device - 1,
                                         origin->status);
    if ((memory->tid > 0 && !row.thread) || (memory->device && !row.device))
        return false;
    trace_write_memory(writer_of(origin), &row);
    return true;
}

/* The addresses of a stack are symbolized with the mappings that perf has seen. */
bool spool_handle_allocation(const struct spool_origin *origin,
                             const struct spool_allocation *allocation) {
    struct spool_rows *rows = origin->rows;
    size_t room = (allocation->head.bytes - sizeof *allocation) / sizeof allocation->frames[0];
    size_t count = allocation->count < room ? allocation->count : room;
    if (!spool_check_span(rows, allocation->time, allocation->time) ||
        !is_in_window(rows, allocation->time))
        return true;
    int64_t pid = spool_reader_process(rows->entities.reader, origin->process)->pid;
    uint32_t stack = spool_stacks_row(&origin->lane->stacks, allocation->stack);
    if (!stack && rows->perf && count)
        stack = perf_stack_row(rows->perf, writer_of(origin), pid, allocation->frames, count);
    trace_write_allocation(writer_of(origin),
                           &(struct row_allocation){
                               .time = allocation->time,
                               .thread = origin->lane->thread,
                               .operation = allocation->released ? MEMORY_FREE : MEMORY_ALLOC,
                               .bytes = allocation->bytes,
                               .address = allocation->address,
                               .stack = stack,
                           });
    rows->allocations += !allocation->released;
    return true;
}
