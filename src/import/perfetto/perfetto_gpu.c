/* GPU packets of Perfetto traces: render stages become activities, Vulkan submissions the calls
 * that launched them (the submission id is the correlation id), and counter events counters. */
#include "import/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"

enum {
    STAGE_DURATION = 2,
    STAGE_HW_QUEUE = 3,
    STAGE_CONTEXT = 5,
    STAGE_SUBMISSION = 10,
    STAGE_GPU = 11,
    STAGE_HW_QUEUE_ID = 13,
    STAGE_STAGE_ID = 14,
    STAGE_NAME = 17,
    STAGE_KERNEL_ID = 19,
    STAGE_NAME_ID = 20,
    STAGE_LAUNCH = 21,

    LAUNCH_GRID = 1,
    LAUNCH_BLOCK = 2,

    COUNTERS_DESCRIPTOR = 1,
    COUNTERS_VALUE = 2,
    COUNTERS_GPU = 3,
    DESCRIPTOR_SPEC = 1,
    SPEC_ID = 1,
    SPEC_NAME = 2,
    VALUE_ID = 1,
    VALUE_INT = 2,
    VALUE_DOUBLE = 3,

    VULKAN_SUBMIT = 2,
    SUBMIT_DURATION = 1,
    SUBMIT_PID = 2,
    SUBMIT_TID = 3,
    SUBMIT_ID = 6,
};

/* Rows of devices, queues and threads are written once and found by their key. */
static uint64_t entity_key(enum trace_table table, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t parts[4] = {table, a, b, c};
    return checksum64(parts, sizeof parts);
}

static uint32_t entity_find(const struct perfetto_import *import, uint64_t key) {
    const uint64_t *known = map_find(&import->entities, key);
    return known ? (uint32_t)*known : 0;
}

/* Without memory for the key, the row is written again later, which is harmless. */
static uint32_t entity_add(struct perfetto_import *import, uint64_t key, uint32_t id) {
    struct status ignored;
    map_set(&import->entities, key, id, &ignored);
    return id;
}

static uint32_t find_device(struct perfetto_import *import, int64_t gpu) {
    uint64_t key = entity_key(TABLE_DEVICE, (uint64_t)gpu, 0, 0);
    uint32_t known = entity_find(import, key);
    if (known)
        return known;
    char label[24];
    snprintf(label, sizeof label, "%" PRId64, gpu);
    struct row_device row = {
        .index = (uint32_t)gpu,
        .label = trace_writer_string(import->writer, text_of(label)),
    };
    return entity_add(import, key, trace_write_device(import->writer, &row));
}

static uint32_t find_queue(struct perfetto_import *import, int64_t gpu, uint64_t context,
                           uint64_t queue, uint32_t name) {
    uint64_t key = entity_key(TABLE_QUEUE, (uint64_t)gpu, context, queue);
    uint32_t known = entity_find(import, key);
    if (known)
        return known;
    struct row_queue row = {
        .device = find_device(import, gpu),
        .context = context,
        .stream = (int64_t)queue,
        .name = perfetto_string(import, name),
    };
    return entity_add(import, key, trace_write_queue(import->writer, &row));
}

uint32_t perfetto_gpu_queue(struct perfetto_import *import, int64_t gpu, uint64_t queue) {
    return find_queue(import, gpu, 0, queue, 0);
}

static uint32_t find_thread(struct perfetto_import *import, uint64_t pid, int64_t tid) {
    uint64_t key = entity_key(TABLE_THREAD, pid, (uint64_t)tid, 0);
    uint32_t known = entity_find(import, key);
    if (known)
        return known;
    uint32_t process = trace_write_process(import->writer, &(struct row_process){.pid = pid});
    struct row_thread row = {.process = process, .tid = tid};
    return entity_add(import, key, trace_write_thread(import->writer, &row));
}

static void read_dimensions(struct text bytes, uint32_t *x, uint32_t *y, uint32_t *z) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        uint32_t value = (uint32_t)protobuf_integer(&field);
        if (field.number == 1)
            *x = value;
        else if (field.number == 2)
            *y = value;
        else if (field.number == 3)
            *z = value;
    }
}

static void read_launch(struct text bytes, struct row_activity *row) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == LAUNCH_GRID)
            read_dimensions(protobuf_text(&field), &row->grid_x, &row->grid_y, &row->grid_z);
        else if (field.number == LAUNCH_BLOCK)
            read_dimensions(protobuf_text(&field), &row->block_x, &row->block_y, &row->block_z);
    }
}

struct stage {
    int64_t gpu;
    uint64_t queue, context;
    uint32_t queue_name, stage_name, kernel_name, event_name; /* text ids */
    struct text name;
};

static void read_stage(const struct perfetto_packet *packet, struct text bytes, struct stage *stage,
                       struct row_activity *row) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        switch (field.number) {
        case STAGE_DURATION:
            row->duration = (int64_t)value;
            break;
        case STAGE_HW_QUEUE:
            stage->queue = value;
            break;
        case STAGE_HW_QUEUE_ID:
            stage->queue = value;
            stage->queue_name = perfetto_name(packet->sequence, NAME_GPU, value);
            break;
        case STAGE_CONTEXT:
            stage->context = value;
            break;
        case STAGE_SUBMISSION:
            row->correlation = value;
            break;
        case STAGE_GPU:
            stage->gpu = (int64_t)(int32_t)value;
            break;
        case STAGE_STAGE_ID:
            stage->stage_name = perfetto_name(packet->sequence, NAME_GPU, value);
            break;
        case STAGE_NAME:
            stage->name = protobuf_text(&field);
            break;
        case STAGE_KERNEL_ID:
            stage->kernel_name = perfetto_name(packet->sequence, NAME_KERNEL, value);
            break;
        case STAGE_NAME_ID:
            stage->event_name = perfetto_name(packet->sequence, NAME_EVENT, value);
            break;
        case STAGE_LAUNCH:
            read_launch(protobuf_text(&field), row);
            break;
        }
    }
}

static uint32_t name_of_stage(struct perfetto_import *import, const struct stage *stage) {
    if (stage->kernel_name)
        return perfetto_string(import, stage->kernel_name);
    if (stage->name.length)
        return trace_writer_string(import->writer, stage->name);
    return perfetto_string(import, stage->event_name ? stage->event_name : stage->stage_name);
}

bool perfetto_gpu_stage(struct perfetto_import *import, const struct perfetto_packet *packet,
                        struct text bytes) {
    struct stage stage = {0};
    struct row_activity row = {.start = packet->time, .kind = ACTIVITY_KERNEL};
    bool drop;
    read_stage(packet, bytes, &stage, &row);
    import->has_events = true;
    row.name = name_of_stage(import, &stage);
    row.queue = find_queue(import, stage.gpu, stage.context, stage.queue, stage.queue_name);
    if (!perfetto_check_times(import, TABLE_ACTIVITY, row.start, row.duration, &drop))
        return false;
    if (!drop)
        trace_write_activity(import->writer, &row);
    return true;
}

static bool read_counter_names(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes), spec;
    struct protobuf_field field, part;
    while (protobuf_next(&message, &field)) {
        uint64_t id = 0;
        uint32_t name = 0;
        if (field.number != DESCRIPTOR_SPEC)
            continue;
        spec = protobuf_of(protobuf_text(&field));
        while (protobuf_next(&spec, &part))
            if (part.number == SPEC_ID)
                id = (uint64_t)protobuf_integer(&part);
            else if (part.number == SPEC_NAME &&
                     !perfetto_intern(import, protobuf_text(&part), &name))
                return false;
        if (!map_set(&import->counter_names, id, name, import->status))
            return false;
    }
    return true;
}

static bool write_counter(struct perfetto_import *import, const struct perfetto_packet *packet,
                          struct text bytes, uint32_t device) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct row_counter row = {.time = packet->time, .device = device};
    bool drop;
    while (protobuf_next(&message, &field)) {
        if (field.number == VALUE_ID) {
            uint64_t *name = map_find(&import->counter_names, (uint64_t)protobuf_integer(&field));
            row.name = name ? perfetto_string(import, (uint32_t)*name) : 0;
        } else if (field.number == VALUE_INT) {
            row.value = (double)protobuf_integer(&field);
        } else if (field.number == VALUE_DOUBLE) {
            row.value = protobuf_number(&field);
        }
    }
    if (!perfetto_check_times(import, TABLE_COUNTER, row.time, 0, &drop))
        return false;
    if (!drop)
        trace_write_counter(import->writer, &row);
    return true;
}

bool perfetto_gpu_counters(struct perfetto_import *import, const struct perfetto_packet *packet,
                           struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    int64_t gpu = 0;
    import->has_events = true;
    while (protobuf_next(&message, &field))
        if (field.number == COUNTERS_GPU)
            gpu = (int64_t)(int32_t)protobuf_integer(&field);
        else if (field.number == COUNTERS_DESCRIPTOR &&
                 !read_counter_names(import, protobuf_text(&field)))
            return false;
    uint32_t device = find_device(import, gpu);
    message = protobuf_of(bytes);
    while (protobuf_next(&message, &field))
        if (field.number == COUNTERS_VALUE &&
            !write_counter(import, packet, protobuf_text(&field), device))
            return false;
    return true;
}

static bool write_submit(struct perfetto_import *import, const struct perfetto_packet *packet,
                         struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t pid = 0;
    int64_t tid = 0;
    struct row_call row = {.start = packet->time, .class = CALL_LAUNCH};
    bool drop;
    while (protobuf_next(&message, &field)) {
        int64_t value = protobuf_integer(&field);
        if (field.number == SUBMIT_DURATION)
            row.duration = value;
        else if (field.number == SUBMIT_PID)
            pid = (uint64_t)value;
        else if (field.number == SUBMIT_TID)
            tid = value;
        else if (field.number == SUBMIT_ID)
            row.correlation = (uint64_t)value;
    }
    row.thread = find_thread(import, pid, tid);
    row.name = trace_writer_string(import->writer, TEXT("vkQueueSubmit"));
    if (!perfetto_check_times(import, TABLE_CALL, row.start, row.duration, &drop))
        return false;
    if (!drop)
        trace_write_call(import->writer, &row);
    return true;
}

bool perfetto_vulkan_call(struct perfetto_import *import, const struct perfetto_packet *packet,
                          struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    import->has_events = true;
    while (protobuf_next(&message, &field))
        if (field.number == VULKAN_SUBMIT && !write_submit(import, packet, protobuf_text(&field)))
            return false;
    return true;
}
