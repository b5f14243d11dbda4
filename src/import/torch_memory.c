/* PyTorch's snapshots of device memory (torch.cuda.memory._dump_snapshot): a pickle of segments,
 * which the caching allocator holds, of their blocks, and of the history of allocations with the
 * stacks of their callers.
 *
 * The history is a ring that often begins after the weights were allocated. What is freed without
 * an allocation, and what is in use at the end without one, was there before: it is allocated at
 * the start. A file without a history has only the state at its end. */
#include <stdio.h>

#include "base/format.h"
#include "base/input.h"
#include "base/map.h"
#include "import/entities.h"
#include "import/import.h"
#include "import/pickle.h"

enum { FRAMES_MAX = 1024 };
#define FILE_MAX_BYTES ((size_t)2 << 30)

struct torch_memory {
    struct trace_writer *writer;
    const struct import_options *options;
    struct entities entities;
    struct pickle pickle;
    struct map stacks; /* address of a list of frames -> stack id */
    struct map alive;  /* address -> bytes, in the history */
    int64_t first;     /* time of the first event */
    uint64_t allocated, reserved;
    uint64_t rows, out_of_memory, before;
    bool untimed; /* events have no times */
};

/* ---- Stacks ---- */

/* C++ frames have the file "??", or that of their debug information. */
static bool is_python(struct text file) {
    return (file.length > 3 && memcmp(file.data + file.length - 3, ".py", 3) == 0) ||
           (file.length > 2 && file.data[0] == '<');
}

/* Frames are leaf first. */
static bool find_stack(struct torch_memory *import, const struct pickle_value *frames,
                       uint32_t *stack, struct status *status) {
    uint64_t key = (uint64_t)(uintptr_t)frames;
    const uint64_t *known = map_find(&import->stacks, key);
    *stack = known ? (uint32_t)*known : 0;
    if (known)
        return true;
    size_t count = frames->count < FRAMES_MAX ? frames->count : FRAMES_MAX;
    for (size_t i = count; i-- > 0;) {
        const struct pickle_value *frame = frames->items[i];
        struct text name = pickle_text(frame, "name"), file = pickle_text(frame, "filename");
        bool native = !is_python(file);
        int64_t line = pickle_integer(frame, "line");
        struct row_stack row = {
            .parent = *stack,
            .function =
                trace_writer_string(import->writer, name.length ? name : TEXT(STACK_UNKNOWN)),
            .module = trace_writer_string(import->writer, native ? TEXT("") : TEXT(STACK_PYTHON)),
            .file = native ? 0 : trace_writer_string(import->writer, file),
            .line = line > 0 && line <= UINT32_MAX && !native ? (uint32_t)line : 0,
        };
        if (!(*stack = entity_frame(&import->entities, &row, status)))
            return false;
    }
    return map_set(&import->stacks, key, *stack, status);
}

/* ---- Events ---- */

static uint64_t bytes_of(const struct pickle_value *event, const char *key) {
    int64_t bytes = pickle_integer(event, key);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static bool write_row(struct torch_memory *import, uint32_t device, int64_t time, bool allocates,
                      uint64_t bytes, uint64_t address, const struct pickle_value *owner,
                      struct status *status) {
    uint32_t stack = 0;
    if (owner && !find_stack(import, pickle_list(owner, "frames"), &stack, status))
        return false;
    if (allocates)
        import->allocated += bytes;
    else
        import->allocated -= bytes < import->allocated ? bytes : import->allocated;
    import->rows++;
    trace_write_memory(import->writer,
                       &(struct row_memory){.time = time,
                                            .device = device,
                                            .operation = allocates ? MEMORY_ALLOC : MEMORY_FREE,
                                            .bytes = bytes,
                                            .address = address,
                                            .allocated = import->allocated,
                                            .reserved = import->reserved,
                                            .stack = stack});
    return !trace_writer_failed(import->writer);
}

/* Whether an event changes what the allocator holds, and by how much. */
static bool changes_segments(const struct pickle_value *event, int64_t *change) {
    struct text action = pickle_text(event, "action");
    *change = (int64_t)bytes_of(event, "size");
    if (text_is(action, "segment_free") || text_is(action, "segment_unmap"))
        *change = -*change;
    else if (!text_is(action, "segment_alloc") && !text_is(action, "segment_map"))
        return false;
    return true;
}

static int64_t time_of(const struct torch_memory *import, const struct pickle_value *event,
                       size_t index) {
    int64_t microseconds = pickle_integer(event, "time_us");
    if (import->untimed || microseconds <= 0 || microseconds > TRACE_TIME_LIMIT / 1000)
        return import->first + (int64_t)index * 1000;
    return microseconds * 1000;
}

/* ---- What was there before ---- */

/* Frees without an allocation, and blocks in use at the end without one. */
static bool write_earlier(struct torch_memory *import, const struct pickle_value *segments,
                          const struct pickle_value *events, int64_t number, uint32_t device,
                          struct status *status) {
    map_finish(&import->alive);
    import->alive = (struct map){0};
    for (size_t i = 0; i < events->count; i++) {
        const struct pickle_value *event = events->items[i];
        struct text action = pickle_text(event, "action");
        uint64_t address = (uint64_t)pickle_integer(event, "addr");
        bool allocates = text_is(action, "alloc");
        if (!allocates && !text_is(action, "free_completed"))
            continue;
        const uint64_t *bytes = map_find(&import->alive, address);
        bool earlier = !allocates && (!bytes || *bytes == 0);
        if (earlier && !write_row(import, device, import->first, true, bytes_of(event, "size"),
                                  address, NULL, status))
            return false;
        import->before += earlier;
        if (!map_set(&import->alive, address, allocates, status))
            return false;
    }
    for (size_t i = 0; i < segments->count; i++) {
        const struct pickle_value *segment = segments->items[i];
        const struct pickle_value *blocks = pickle_list(segment, "blocks");
        for (size_t k = 0; pickle_integer(segment, "device") == number && k < blocks->count; k++) {
            const struct pickle_value *block = blocks->items[k];
            uint64_t address = (uint64_t)pickle_integer(block, "address");
            const uint64_t *bytes = map_find(&import->alive, address);
            if (!text_starts(pickle_text(block, "state"), "active") || (bytes && *bytes))
                continue;
            import->before++;
            if (!write_row(import, device, import->first, true, bytes_of(block, "size"), address,
                           block, status))
                return false;
        }
    }
    return true;
}

static bool write_events(struct torch_memory *import, const struct pickle_value *events,
                         uint32_t device, struct status *status) {
    for (size_t i = 0; i < events->count; i++) {
        const struct pickle_value *event = events->items[i];
        struct text action = pickle_text(event, "action");
        bool allocates = text_is(action, "alloc");
        int64_t change;
        import->out_of_memory += text_is(action, "oom");
        if (changes_segments(event, &change))
            import->reserved += (uint64_t)change;
        else if ((allocates || text_is(action, "free_completed")) &&
                 !write_row(import, device, time_of(import, event, i), allocates,
                            bytes_of(event, "size"), (uint64_t)pickle_integer(event, "addr"),
                            allocates ? event : NULL, status))
            return false;
    }
    return true;
}

/* ---- Devices ---- */

/* Bytes of a device's segments, and those that are free in segments that are in use: only smaller
 * requests fit there. */
static void sum_segments(const struct pickle_value *segments, int64_t number, uint64_t *reserved,
                         uint64_t *fragmented) {
    *reserved = *fragmented = 0;
    for (size_t i = 0; i < segments->count; i++) {
        const struct pickle_value *segment = segments->items[i];
        uint64_t total = bytes_of(segment, "total_size"), used = bytes_of(segment, "active_size");
        if (pickle_integer(segment, "device") != number)
            continue;
        *reserved += total;
        if (used > 0 && used < total)
            *fragmented += total - used;
    }
}

static uint32_t write_device(struct torch_memory *import, int64_t number, uint64_t fragmented,
                             struct status *status) {
    char key[64];
    snprintf(key, sizeof key, META_FRAGMENTED "%lld", (long long)number);
    trace_writer_meta_integer(import->writer, key, (int64_t)fragmented);
    struct row_device row = {.listed = 1};
    return entity_device(&import->entities, number, &row, status);
}

static bool read_device(struct torch_memory *import, const struct pickle_value *segments,
                        const struct pickle_value *events, int64_t number, struct status *status) {
    uint64_t reserved, fragmented;
    int64_t change, changes = 0;
    sum_segments(segments, number, &reserved, &fragmented);
    if (reserved == 0 && events->count == 0)
        return true;
    uint32_t device = write_device(import, number, fragmented, status);
    import->allocated = 0;
    import->first = 0;
    import->untimed = events->count == 0 || !pickle_member(events->items[0], "time_us");
    for (size_t i = 0; i < events->count; i++) {
        changes += changes_segments(events->items[i], &change) ? change : 0;
        if (i == 0 && !import->untimed)
            import->first = time_of(import, events->items[0], 0);
    }
    import->reserved = (int64_t)reserved > changes ? reserved - (uint64_t)changes : 0;
    return device && write_earlier(import, segments, events, number, device, status) &&
           write_events(import, events, device, status);
}

static int64_t device_count(const struct pickle_value *segments,
                            const struct pickle_value *traces) {
    enum { DEVICES_MAX = 4096 };
    int64_t count = (int64_t)traces->count;
    for (size_t i = 0; i < segments->count; i++) {
        int64_t number = pickle_integer(segments->items[i], "device");
        if (number >= count && number < DEVICES_MAX)
            count = number + 1;
    }
    return count < DEVICES_MAX ? count : DEVICES_MAX;
}

static void write_meta(struct torch_memory *import, bool timed) {
    char words[160], count[FORMAT_PLURAL_SIZE];
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("torch-memory"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("torch.cuda.memory snapshot"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, timed ? TEXT("unix") : TEXT("trace"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    if (!timed)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the snapshot has no times of allocations: only their order, or the "
                               "state at its end, is known"));
    if (import->before) {
        snprintf(words, sizeof words, "%s made before the history began count from its start",
                 format_plural(import->before, "allocation", "allocations", count));
        trace_writer_meta(import->writer, META_WARNING, text_of(words));
    }
    if (import->out_of_memory) {
        snprintf(words, sizeof words, "the device ran out of memory %llu times",
                 (unsigned long long)import->out_of_memory);
        trace_writer_meta(import->writer, META_WARNING, text_of(words));
    }
}

static bool read_snapshot(struct torch_memory *import, struct status *status) {
    static const struct pickle_value none = {.kind = PICKLE_LIST};
    const struct pickle_value *top = import->pickle.value;
    const struct pickle_value *segments = pickle_list(top, "segments");
    const struct pickle_value *traces = pickle_list(top, "device_traces");
    bool timed = false;
    if (!pickle_member(top, "segments"))
        return status_fail(status, STATUS_INPUT,
                           "is a pickle, but not a snapshot of torch.cuda.memory");
    int64_t devices = device_count(segments, traces);
    for (int64_t i = 0; i < devices; i++) {
        const struct pickle_value *events =
            i < (int64_t)traces->count && traces->items[i]->kind == PICKLE_LIST ? traces->items[i]
                                                                                : &none;
        if (!read_device(import, segments, events, i, status))
            return false;
        timed = timed || (events->count && !import->untimed);
    }
    if (import->rows == 0)
        return status_fail(status, STATUS_INPUT,
                           "is a snapshot without a segment or an event; call "
                           "torch.cuda.memory._record_memory_history() before the program runs");
    write_meta(import, timed);
    return true;
}

/* ---- Importer ---- */

static bool torch_memory_run(const struct import_source *source,
                             const struct import_options *options, struct trace_writer *writer,
                             struct status *status) {
    struct torch_memory import = {.writer = writer, .options = options, .entities.writer = writer};
    struct input input = {.fd = -1};
    bool ok = input_read_file(&input, source->path, FILE_MAX_BYTES, status) &&
              pickle_read(&import.pickle, (struct text){input.data, input.length}, status) &&
              read_snapshot(&import, status);
    pickle_finish(&import.pickle);
    input_close(&input);
    map_finish(&import.stacks);
    map_finish(&import.alive);
    entities_release(&import.entities);
    return ok;
}

/* All pickles: what is not a snapshot is explained. */
static int torch_memory_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    if (!pickle_detect(head))
        return 0;
    return text_find(head, "segments") >= 0 || text_find(head, "device_traces") >= 0 ? 3 : 1;
}

const struct importer import_torch_memory = {
    .format = "torch-memory", .detect = torch_memory_detect, .run = torch_memory_run};
