/* Ids of the source are hashed to keys that find an entity's record, and the record its row. An id
 * that is not a number gets one above all that operating systems use. */
#include "import/kineto/kineto_entities.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"
#include "base/memory.h"

#define STRING_IDS_FROM ((int64_t)1 << 40)

struct kineto_process {
    int64_t pid;
    uint32_t row, name;
    bool is_device;
    int64_t device;
};

struct kineto_thread {
    uint32_t process; /* index of its kineto_process */
    uint32_t row, name;
    int64_t tid;
    bool is_stream, copies;
    int64_t stream;
};

struct kineto_device {
    struct row_device row;
    uint32_t id;
};

struct kineto_queue {
    struct row_queue row;
    uint32_t id;
};

void entities_init(struct kineto_entities *entities, struct trace_writer *writer) {
    *entities = (struct kineto_entities){.writer = writer};
}

void entities_finish(struct kineto_entities *entities) {
    map_finish(&entities->process_by_key);
    map_finish(&entities->thread_by_key);
    map_finish(&entities->device_by_key);
    map_finish(&entities->queue_by_key);
    map_finish(&entities->first_by_tid);
    memory_free(entities->processes);
    memory_free(entities->threads);
    memory_free(entities->devices);
    memory_free(entities->queues);
}

static uint64_t key_of(const struct event_id *id) {
    return id->word.length ? checksum64(id->word.data, id->word.length)
                           : hash_u64((uint64_t)id->number);
}

static uint64_t key_of_pair(const struct event_id *a, const struct event_id *b) {
    return hash_u64(key_of(a) * 0x9E3779B97F4A7C15u + key_of(b));
}

static int64_t number_of(struct kineto_entities *entities, const struct event_id *id) {
    return id->word.length ? STRING_IDS_FROM + (int64_t)entities->string_ids++ : id->number;
}

/* Adds a zeroed record under `key`; returns its index, or SIZE_MAX on failure. */
static size_t add_record(struct kineto_entities *entities, struct map *map, uint64_t key,
                         void **records, size_t *count, size_t *capacity, size_t size) {
    if (entities->failed || !memory_grow(records, capacity, *count + 1, size, &entities->why) ||
        !map_set(map, key, *count, &entities->why)) {
        entities->failed = true;
        return SIZE_MAX;
    }
    memset((char *)*records + *count * size, 0, size);
    return (*count)++;
}

static struct kineto_process *find_process(struct kineto_entities *entities,
                                           const struct event_id *process) {
    uint64_t key = key_of(process);
    uint64_t *known = map_find(&entities->process_by_key, key);
    if (known)
        return &entities->processes[*known];
    size_t index = add_record(entities, &entities->process_by_key, key,
                              (void **)&entities->processes, &entities->process_count,
                              &entities->process_capacity, sizeof *entities->processes);
    if (index == SIZE_MAX)
        return NULL;
    struct kineto_process *place = &entities->processes[index];
    place->pid = number_of(entities, process);
    place->name = trace_writer_string(entities->writer, process->word);
    return place;
}

static void add_first_tid(struct kineto_entities *entities, const struct event_id *thread,
                          size_t index) {
    uint64_t key = key_of(thread);
    if (!map_find(&entities->first_by_tid, key) &&
        !map_set(&entities->first_by_tid, key, index, &entities->why))
        entities->failed = true;
}

static struct kineto_thread *find_thread(struct kineto_entities *entities,
                                         const struct event_id *process,
                                         const struct event_id *thread) {
    uint64_t key = key_of_pair(process, thread);
    uint64_t *known = map_find(&entities->thread_by_key, key);
    if (known)
        return &entities->threads[*known];
    struct kineto_process *owner = find_process(entities, process);
    size_t index = !owner ? SIZE_MAX
                          : add_record(entities, &entities->thread_by_key, key,
                                       (void **)&entities->threads, &entities->thread_count,
                                       &entities->thread_capacity, sizeof *entities->threads);
    if (index == SIZE_MAX)
        return NULL;
    add_first_tid(entities, thread, index);
    struct kineto_thread *place = &entities->threads[index];
    place->process = (uint32_t)(owner - entities->processes);
    place->tid = number_of(entities, thread);
    place->name = trace_writer_string(entities->writer, thread->word);
    return place;
}

/* The first row's id stays the entity's: readers merge later rows into it. */
static void write_process(struct kineto_entities *entities, struct kineto_process *place) {
    uint32_t row = trace_write_process(
        entities->writer, &(struct row_process){.pid = (uint64_t)place->pid, .name = place->name});
    if (place->row == 0)
        place->row = row;
}

static void write_thread(struct kineto_entities *entities, struct kineto_thread *place) {
    struct kineto_process *process = &entities->processes[place->process];
    if (process->row == 0)
        write_process(entities, process);
    uint32_t row = trace_write_thread(
        entities->writer,
        &(struct row_thread){.process = process->row, .tid = place->tid, .name = place->name});
    if (place->row == 0)
        place->row = row;
}

uint32_t entities_thread(struct kineto_entities *entities, const struct event_id *process,
                         const struct event_id *thread) {
    struct kineto_thread *place = find_thread(entities, process, thread);
    if (!place)
        return 0;
    if (place->row == 0)
        write_thread(entities, place);
    return place->row;
}

uint32_t entities_thread_of_any_process(struct kineto_entities *entities,
                                        const struct event_id *thread) {
    const uint64_t *first = map_find(&entities->first_by_tid, key_of(thread));
    if (!first)
        return entities_thread(entities, &(struct event_id){0}, thread);
    if (entities->threads[*first].row == 0)
        write_thread(entities, &entities->threads[*first]);
    return entities->threads[*first].row;
}

/* The number at the end of "GPU 3" or "stream 7"; false when there is none. */
static bool trailing_number(struct text word, int64_t *number) {
    size_t from = word.length;
    while (from > 0 && word.data[from - 1] >= '0' && word.data[from - 1] <= '9')
        from--;
    return text_to_i64((struct text){word.data + from, word.length - from}, number);
}

static struct kineto_device *find_device(struct kineto_entities *entities,
                                         const struct event_id *device) {
    uint64_t key = key_of(device);
    uint64_t *known = map_find(&entities->device_by_key, key);
    if (known)
        return &entities->devices[*known];
    size_t index =
        add_record(entities, &entities->device_by_key, key, (void **)&entities->devices,
                   &entities->device_count, &entities->device_capacity, sizeof *entities->devices);
    if (index == SIZE_MAX)
        return NULL;
    struct kineto_device *place = &entities->devices[index];
    char digits[24];
    int64_t number = device->number;
    snprintf(digits, sizeof digits, "%" PRId64, number);
    struct text label = device->word.length ? device->word : text_of(digits);
    if (device->word.length && !trailing_number(device->word, &number))
        number = (int64_t)index;
    place->row.index = (uint32_t)number;
    place->row.label = trace_writer_string(entities->writer, label);
    return place;
}

uint32_t entities_device(struct kineto_entities *entities, const struct event_id *device) {
    struct kineto_device *place = find_device(entities, device);
    if (!place)
        return 0;
    if (place->id == 0)
        place->id = trace_write_device(entities->writer, &place->row);
    return place->id;
}

uint32_t entities_queue(struct kineto_entities *entities, const struct event_id *device,
                        const struct event_id *stream, uint64_t context) {
    struct event_id numbered = *stream;
    if (stream->word.length && trailing_number(stream->word, &numbered.number))
        numbered.word = TEXT("");
    uint64_t key = key_of_pair(device, &numbered);
    uint64_t *known = map_find(&entities->queue_by_key, key);
    if (known)
        return entities->queues[*known].id;
    uint32_t device_row = entities_device(entities, device);
    size_t index =
        add_record(entities, &entities->queue_by_key, key, (void **)&entities->queues,
                   &entities->queue_count, &entities->queue_capacity, sizeof *entities->queues);
    if (index == SIZE_MAX)
        return 0;
    struct kineto_queue *place = &entities->queues[index];
    uint64_t *thread = map_find(&entities->thread_by_key, key_of_pair(device, stream));
    place->row = (struct row_queue){
        .device = device_row,
        .context = context,
        .stream = number_of(entities, &numbered),
        .name = thread ? entities->threads[*thread].name
                       : trace_writer_string(entities->writer, numbered.word),
    };
    place->id = trace_write_queue(entities->writer, &place->row);
    return place->id;
}

void entities_name_process(struct kineto_entities *entities, const struct event_id *process,
                           struct text name, bool may_be_device) {
    struct kineto_process *place = find_process(entities, process);
    if (!place || name.length == 0)
        return;
    place->name = trace_writer_string(entities->writer, name);
    if (may_be_device && text_find(name, "/device:") >= 0) {
        entities->has_device_processes = place->is_device = true;
        if (!trailing_number(name, &place->device))
            place->device = place->pid;
    }
    if (place->row)
        write_process(entities, place);
}

/* "Stream #16(MemcpyH2D)": the stream's number, and whether it has only copies. */
static void read_stream_name(struct kineto_thread *place, struct text name) {
    if (!text_starts(name, "Stream #"))
        return;
    size_t at = 8;
    int64_t number = 0;
    while (at < name.length && name.data[at] >= '0' && name.data[at] <= '9' && number < 1 << 30)
        number = number * 10 + (name.data[at++] - '0');
    place->is_stream = at > 8;
    place->stream = number;
    place->copies = text_find(name, "Memcpy") >= 0 && text_find(name, "Kernel") < 0 &&
                    text_find(name, "Compute") < 0;
}

void entities_name_thread(struct kineto_entities *entities, const struct event_id *process,
                          const struct event_id *thread, struct text name) {
    struct kineto_thread *place = find_thread(entities, process, thread);
    if (!place || name.length == 0)
        return;
    place->name = trace_writer_string(entities->writer, name);
    read_stream_name(place, name);
    if (place->row)
        write_thread(entities, place);
    uint64_t *queue = map_find(&entities->queue_by_key, key_of_pair(process, thread));
    if (queue) {
        struct kineto_queue *known = &entities->queues[*queue];
        known->row.name = place->name;
        trace_write_queue(entities->writer, &known->row);
    }
}

void entities_describe_device(struct kineto_entities *entities, const struct event_id *device,
                              struct row_device *row) {
    struct kineto_device *place = find_device(entities, device);
    if (!place)
        return;
    row->index = place->row.index;
    row->label = place->row.label;
    place->row = *row;
    uint32_t id = trace_write_device(entities->writer, row);
    if (place->id == 0)
        place->id = id;
}

void entities_set_vendor(struct kineto_entities *entities, struct text vendor) {
    for (size_t i = 0; i < entities->device_count; i++) {
        struct kineto_device *place = &entities->devices[i];
        if (place->row.vendor == 0) {
            place->row.vendor = trace_writer_string(entities->writer, vendor);
            trace_write_device(entities->writer, &place->row);
        }
    }
}

struct xla_track entities_xla_track(struct kineto_entities *entities,
                                    const struct event_id *process, const struct event_id *thread) {
    struct kineto_process *owner = find_process(entities, process);
    if (!owner || !owner->is_device)
        return (struct xla_track){0};
    struct kineto_thread *place = find_thread(entities, process, thread);
    owner = find_process(entities, process);
    return (struct xla_track){
        .on_device = true,
        .is_stream = place && place->is_stream,
        .device = owner ? owner->device : 0,
        .stream = place ? place->stream : 0,
        .copies = place && place->copies,
    };
}
