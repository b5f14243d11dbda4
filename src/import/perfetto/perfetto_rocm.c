/* Slices of AMD's tools: rocprofv3 --output-format pftrace and rocprofiler-systems write API calls,
 * dispatches and copies as track events. The category tells what a slice is, and annotations have
 * the rest; the correlation id is that of the launching call. */
#include "import/perfetto/perfetto.h"

#include <stdlib.h>

#include "base/array.h"

/* With "rocm_" in front in rocprofiler-systems. */
static const struct {
    const char *category;
    enum slice_kind kind;
} categories[] = {
    {"kernel_dispatch", SLICE_KERNEL}, {"memory_copy", SLICE_COPY}, {"hip_api", SLICE_CALL},
    {"hip_runtime_api", SLICE_CALL},   {"hsa_api", SLICE_CALL},     {"rccl_api", SLICE_CALL},
    {"hip_compiler_api", SLICE_CALL},  {"hip_stream", SLICE_RANGE}, {"marker_api", SLICE_RANGE},
};

/* Whether it is a category of AMD's tools. */
static bool find_kind(struct text category, enum slice_kind *kind) {
    if (text_starts(category, "rocm_"))
        category = (struct text){category.data + 5, category.length - 5};
    for (size_t i = 0; i < ARRAY_COUNT(categories); i++)
        if (text_is(category, categories[i].category)) {
            *kind = categories[i].kind;
            return true;
        }
    return false;
}

/* "(256,1,1)", or the product of all dimensions. */
static void read_sizes(const struct perfetto_annotation *value, uint32_t sizes[3]) {
    if (value->text.length == 0) {
        sizes[0] = value->bits <= UINT32_MAX ? (uint32_t)value->bits : 0;
        sizes[1] = sizes[2] = 1;
        return;
    }
    unsigned place = 0;
    for (size_t i = 0; i < value->text.length; i++) {
        char c = value->text.data[i];
        if (c >= '0' && c <= '9' && place < 3 && sizes[place] < UINT32_MAX / 10)
            sizes[place] = sizes[place] * 10 + (uint32_t)(c - '0');
        else if (c == ',')
            place++;
    }
}

static void read_value(struct perfetto_import *import, const struct perfetto_annotation *value,
                       struct open_slice *slice) {
    struct text name = intern_text(&import->texts, value->name);
    if (text_is(name, "corr_id"))
        slice->correlation = value->bits;
    else if (text_is(name, "agent") || text_is(name, "dst_agent"))
        slice->gpu = (int64_t)value->bits;
    else if (text_is(name, "src_agent"))
        slice->from_gpu = (int64_t)value->bits;
    else if (text_is(name, "queue") || text_is(name, "queue_id"))
        slice->queue = value->bits;
    else if (text_is(name, "copy_bytes") || text_is(name, "size"))
        slice->bytes = value->bits;
    else if (text_is(name, "group_segment_size"))
        slice->shared = value->bits <= UINT32_MAX ? (uint32_t)value->bits : 0;
    else if (text_is(name, "workgroup_size"))
        read_sizes(value, slice->block);
    else if (text_is(name, "grid_size"))
        read_sizes(value, slice->grid);
    else if (text_is(name, "dispatch_id") && slice->kind == SLICE_RANGE)
        slice->kind = SLICE_KERNEL; /* grouped by stream, all share a category */
}

void perfetto_rocm_read(struct perfetto_import *import, const struct perfetto_packet *packet,
                        const struct perfetto_event *event, struct open_slice *slice) {
    struct protobuf message = protobuf_of(event->message);
    struct protobuf_field field;
    if (!find_kind(intern_text(&import->texts, event->category), &slice->kind))
        return;
    slice->gpu = slice->from_gpu = -1;
    slice->bytes = BYTES_UNKNOWN;
    while (protobuf_next(&message, &field)) {
        struct perfetto_annotation value;
        if (field.number != EVENT_ANNOTATION || field.type != PROTOBUF_BYTES)
            continue;
        perfetto_annotation(import, packet->sequence, field.bytes, &value);
        read_value(import, &value, slice);
    }
}

/* The first number in "GPU Kernel Dispatch [1] Queue 0" or "COPY to AGENT [2] ...". */
static int64_t number_in(struct text name) {
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] >= '0' && name.data[i] <= '9')
            return strtoll(name.data + i, NULL, 10); /* interned texts are terminated */
    return 0;
}

static enum copy_direction direction_of(const struct open_slice *slice, struct text name) {
    if (text_find(name, "HOST_TO_DEVICE") >= 0)
        return COPY_HTOD;
    if (text_find(name, "DEVICE_TO_HOST") >= 0)
        return COPY_DTOH;
    if (text_find(name, "DEVICE_TO_DEVICE") >= 0)
        return slice->from_gpu == slice->gpu ? COPY_DTOD : COPY_PTOP;
    return text_find(name, "HOST_TO_HOST") >= 0 ? COPY_HTOH : COPY_UNKNOWN;
}

/* A copy to the host is work of the device that it comes from. Copies have no queue. */
static int64_t gpu_of(const struct perfetto_import *import, const struct perfetto_track *track,
                      const struct open_slice *slice, enum copy_direction direction) {
    int64_t gpu = direction == COPY_DTOH && slice->from_gpu >= 0 ? slice->from_gpu : slice->gpu;
    return gpu >= 0 ? gpu : number_in(intern_text(&import->texts, track->name));
}

bool perfetto_rocm_write(struct perfetto_import *import, const struct perfetto_track *track,
                         uint32_t thread, const struct open_slice *slice, int64_t duration) {
    struct text name = intern_text(&import->texts, slice->text);
    enum copy_direction direction = direction_of(slice, name);
    bool drop, is_call = slice->kind == SLICE_CALL;
    if (!perfetto_check_times(import, is_call ? TABLE_CALL : TABLE_ACTIVITY, slice->start, duration,
                              &drop))
        return false;
    if (drop)
        return true;
    if (is_call) {
        trace_write_call(import->writer,
                         &(struct row_call){.start = slice->start,
                                            .duration = duration,
                                            .thread = thread,
                                            .name = slice->name,
                                            .class = (uint8_t)import_call_class(name),
                                            .correlation = slice->correlation});
        return true;
    }
    bool is_copy = slice->kind == SLICE_COPY;
    struct row_activity row = {
        .start = slice->start,
        .duration = duration,
        .queue = perfetto_gpu_queue(import, gpu_of(import, track, slice, direction),
                                    is_copy ? UINT64_MAX : slice->queue),
        .kind = is_copy ? ACTIVITY_COPY : ACTIVITY_KERNEL,
        .name = slice->name,
        .correlation = slice->correlation,
        .bytes = slice->bytes,
        .direction = is_copy ? (uint8_t)direction : COPY_UNKNOWN,
        .shared_dynamic = slice->shared,
        .block_x = slice->block[0],
        .block_y = slice->block[1],
        .block_z = slice->block[2],
        .grid_x = import_blocks(slice->grid[0], slice->block[0]),
        .grid_y = import_blocks(slice->grid[1], slice->block[1]),
        .grid_z = import_blocks(slice->grid[2], slice->block[2]),
    };
    trace_write_activity(import->writer, &row);
    return true;
}
