/* Two passes over the rows of a device: where the peak is, and what is alive there. */
#include "analysis/memory_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"

struct builder {
    const struct trace *trace;
    struct memory_lines *lines;
    uint32_t *order;    /* rows by device and time; NULL: as they are */
    uint32_t *frame_of; /* by stack row: see find_frames() */
    size_t capacity;
    struct map line_of; /* device and place of a frame: 1 + index in lines */
    struct status *status;
};

static size_t row_at(const struct builder *builder, size_t index) {
    return builder->order ? builder->order[index] : index;
}

static bool is_library(struct text file) {
    static const char *const parts[] = {"/site-packages/", "\\site-packages\\", "/dist-packages/",
                                        "/torch/", "<frozen"};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        if (text_find(file, parts[i]) >= 0)
            return true;
    return file.length == 0;
}

/* The innermost frame outside of libraries; of a stack without one, the innermost with a file. */
static bool find_frames(struct builder *builder) {
    const struct trace *trace = builder->trace;
    builder->frame_of =
        memory_allocate(trace->stack.count + 1, sizeof *builder->frame_of, builder->status);
    for (uint32_t i = 1; builder->frame_of && i < trace->stack.count; i++) {
        uint32_t caller = builder->frame_of[trace->stack.parent[i]];
        struct text file = trace_text(trace, trace->stack.file[i]);
        bool caller_is_own = caller && !is_library(trace_text(trace, trace->stack.file[caller]));
        builder->frame_of[i] = !is_library(file) ? i
                               : caller_is_own   ? caller
                               : file.length > 0 ? i
                                                 : caller;
    }
    return builder->frame_of != NULL;
}

static struct memory_line *find_line(struct builder *builder, uint32_t device, uint32_t frame) {
    const struct trace *trace = builder->trace;
    struct memory_lines *lines = builder->lines;
    uint32_t parts[] = {device, trace->stack.file[frame], trace->stack.line[frame],
                        trace->stack.function[frame]};
    uint64_t key = checksum64(parts, sizeof parts);
    const uint64_t *place = map_find(&builder->line_of, key);
    if (place)
        return &lines->lines[*place - 1];
    if (!GROW(lines->lines, &builder->capacity, lines->count + 1, builder->status) ||
        !map_set(&builder->line_of, key, lines->count + 1, builder->status))
        return NULL;
    lines->lines[lines->count] = (struct memory_line){.device = device, .frame = frame};
    return &lines->lines[lines->count++];
}

/* Where the device has the most memory in use; its rows are from `first` to `end`. */
static size_t find_peak(const struct builder *builder, size_t first, size_t end, uint64_t *peak) {
    const struct columns_memory *memory = &builder->trace->memory;
    uint64_t level = 0;
    size_t at = first;
    *peak = 0;
    for (size_t i = first; i < end; i++) {
        size_t row = row_at(builder, i);
        bool allocates = memory->operation[row] == MEMORY_ALLOC;
        level = allocates                    ? level + memory->bytes[row]
                : level > memory->bytes[row] ? level - memory->bytes[row]
                                             : 0;
        if (level > *peak) {
            *peak = level;
            at = i;
        }
    }
    return at;
}

static bool add_alive(struct builder *builder, size_t first, size_t peak) {
    const struct columns_memory *memory = &builder->trace->memory;
    struct map alive = {0}; /* address -> 1 + row */
    bool ok = true;
    for (size_t i = first; i <= peak && ok; i++) {
        size_t row = row_at(builder, i);
        ok = map_set(&alive, memory->address[row],
                     memory->operation[row] == MEMORY_ALLOC ? row + 1 : 0, builder->status);
    }
    for (size_t i = first; i <= peak && ok; i++) {
        size_t row = row_at(builder, i);
        const uint64_t *last = map_find(&alive, memory->address[row]);
        if (!last || *last != row + 1)
            continue;
        struct memory_line *line =
            find_line(builder, memory->device[row], builder->frame_of[memory->stack[row]]);
        ok = line != NULL;
        if (ok) {
            line->bytes += memory->bytes[row];
            line->count++;
        }
    }
    map_finish(&alive);
    return ok;
}

static int by_bytes(const void *a, const void *b) {
    const struct memory_line *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static bool has_callers(const struct trace *trace) {
    for (size_t i = 0; i < trace->memory.count; i++)
        if (trace->memory.stack[i])
            return true;
    return false;
}

static bool add_devices(struct builder *builder) {
    const struct columns_memory *memory = &builder->trace->memory;
    for (size_t first = 0, end; first < memory->count; first = end) {
        uint32_t device = memory->device[row_at(builder, first)];
        for (end = first; end < memory->count && memory->device[row_at(builder, end)] == device;)
            end++;
        size_t peak = find_peak(builder, first, end, &builder->lines->peak[device]);
        if (!add_alive(builder, first, peak))
            return false;
    }
    return true;
}

bool memory_lines_find(const struct model *model, struct memory_lines *lines,
                       struct status *status) {
    struct trace *trace = model->trace;
    struct builder builder = {.trace = trace, .lines = lines, .status = status};
    memset(lines, 0, sizeof *lines);
    if (!trace_load(trace, TABLE_MEMORY, "time device operation bytes address stack", status))
        return false;
    if (!has_callers(trace))
        return true;
    lines->peak = memory_allocate(trace->device.count, sizeof *lines->peak, status);
    bool ok = lines->peak &&
              sort_rows(trace->memory.device, (uint32_t)trace->device.count, trace->memory.time,
                        NULL, trace->memory.count, &builder.order, status) &&
              find_frames(&builder) && add_devices(&builder);
    if (ok && lines->count)
        qsort(lines->lines, lines->count, sizeof *lines->lines, by_bytes);
    memory_free(builder.order);
    memory_free(builder.frame_of);
    map_finish(&builder.line_of);
    if (!ok)
        memory_lines_finish(lines);
    return ok;
}

void memory_lines_finish(struct memory_lines *lines) {
    memory_free(lines->lines);
    memory_free(lines->peak);
    memset(lines, 0, sizeof *lines);
}
