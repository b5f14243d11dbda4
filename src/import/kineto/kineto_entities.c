/* Where does an event happen? Ids of the source are hashed to keys; a key finds the place's record,
 * and the record its row. An id that is a word gets a number above all that operating systems use.
 */
#include "import/kineto/kineto_entities.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"
#include "base/memory.h"

#define NAMED_IDS_FROM ((int64_t)1 << 40)

struct process_place {
    int64_t pid;
    uint32_t row, name;
    bool is_device;
    int64_t device;
};

struct thread_place {
    uint32_t process; /* index of its process_place */
    uint32_t row, name;
    int64_t tid;
    bool is_stream, copies;
    int64_t stream;
};

struct device_place {
    struct row_device row;
    uint32_t id;
};

struct queue_place {
    struct row_queue row;
    uint32_t id;
};

void places_init(struct places *places, struct trace_writer *writer) {
    *places = (struct places){.writer = writer};
}

void places_finish(struct places *places) {
    map_finish(&places->process_by_key);
    map_finish(&places->thread_by_key);
    map_finish(&places->device_by_key);
    map_finish(&places->queue_by_key);
    map_finish(&places->first_by_tid);
    memory_free(places->processes);
    memory_free(places->threads);
    memory_free(places->devices);
    memory_free(places->queues);
}

static uint64_t key_of(const struct event_id *id) {
    return id->word.length ? checksum64(id->word.data, id->word.length)
                           : hash_u64((uint64_t)id->number);
}

static uint64_t key_of_pair(const struct event_id *a, const struct event_id *b) {
    return hash_u64(key_of(a) * 0x9E3779B97F4A7C15u + key_of(b));
}

static int64_t number_of(struct places *places, const struct event_id *id) {
    return id->word.length ? NAMED_IDS_FROM + (int64_t)places->named++ : id->number;
}

/* Room for one more record under `key`; its index, or SIZE_MAX after a failure. */
static size_t add_record(struct places *places, struct map *map, uint64_t key, void **records,
                         size_t *count, size_t *capacity, size_t size) {
    if (places->failed || !memory_grow(records, capacity, *count + 1, size, &places->why) ||
        !map_set(map, key, *count, &places->why)) {
        places->failed = true;
        return SIZE_MAX;
    }
    memset((char *)*records + *count * size, 0, size);
    return (*count)++;
}

static struct process_place *find_process(struct places *places, const struct event_id *process) {
    uint64_t key = key_of(process);
    uint64_t *known = map_find(&places->process_by_key, key);
    if (known)
        return &places->processes[*known];
    size_t index =
        add_record(places, &places->process_by_key, key, (void **)&places->processes,
                   &places->process_count, &places->process_capacity, sizeof *places->processes);
    if (index == SIZE_MAX)
        return NULL;
    struct process_place *place = &places->processes[index];
    place->pid = number_of(places, process);
    place->name = trace_writer_string(places->writer, process->word);
    return place;
}

static void note_tid(struct places *places, const struct event_id *thread, size_t index) {
    uint64_t key = key_of(thread);
    if (!map_find(&places->first_by_tid, key) &&
        !map_set(&places->first_by_tid, key, index, &places->why))
        places->failed = true;
}

static struct thread_place *find_thread(struct places *places, const struct event_id *process,
                                        const struct event_id *thread) {
    uint64_t key = key_of_pair(process, thread);
    uint64_t *known = map_find(&places->thread_by_key, key);
    if (known)
        return &places->threads[*known];
    struct process_place *owner = find_process(places, process);
    size_t index = !owner ? SIZE_MAX
                          : add_record(places, &places->thread_by_key, key,
                                       (void **)&places->threads, &places->thread_count,
                                       &places->thread_capacity, sizeof *places->threads);
    if (index == SIZE_MAX)
        return NULL;
    note_tid(places, thread, index);
    struct thread_place *place = &places->threads[index];
    place->process = (uint32_t)(owner - places->processes);
    place->tid = number_of(places, thread);
    place->name = trace_writer_string(places->writer, thread->word);
    return place;
}

/* The first row's id stays the place's: readers fold later rows into it. */
static void write_process(struct places *places, struct process_place *place) {
    uint32_t row = trace_write_process(
        places->writer, &(struct row_process){.pid = (uint64_t)place->pid, .name = place->name});
    if (place->row == 0)
        place->row = row;
}

static void write_thread(struct places *places, struct thread_place *place) {
    struct process_place *process = &places->processes[place->process];
    if (process->row == 0)
        write_process(places, process);
    uint32_t row = trace_write_thread(
        places->writer,
        &(struct row_thread){.process = process->row, .tid = place->tid, .name = place->name});
    if (place->row == 0)
        place->row = row;
}

uint32_t places_thread(struct places *places, const struct event_id *process,
                       const struct event_id *thread) {
    struct thread_place *place = find_thread(places, process, thread);
    if (!place)
        return 0;
    if (place->row == 0)
        write_thread(places, place);
    return place->row;
}

uint32_t places_thread_anywhere(struct places *places, const struct event_id *thread) {
    const uint64_t *first = map_find(&places->first_by_tid, key_of(thread));
    if (!first)
        return places_thread(places, &(struct event_id){0}, thread);
    if (places->threads[*first].row == 0)
        write_thread(places, &places->threads[*first]);
    return places->threads[*first].row;
}

/* The number at the end of a word such as "GPU 3" or "stream 7"; false when it has none. */
static bool trailing_number(struct text word, int64_t *number) {
    size_t from = word.length;
    while (from > 0 && word.data[from - 1] >= '0' && word.data[from - 1] <= '9')
        from--;
    return text_to_i64((struct text){word.data + from, word.length - from}, number);
}

static struct device_place *find_device(struct places *places, const struct event_id *device) {
    uint64_t key = key_of(device);
    uint64_t *known = map_find(&places->device_by_key, key);
    if (known)
        return &places->devices[*known];
    size_t index =
        add_record(places, &places->device_by_key, key, (void **)&places->devices,
                   &places->device_count, &places->device_capacity, sizeof *places->devices);
    if (index == SIZE_MAX)
        return NULL;
    struct device_place *place = &places->devices[index];
    char digits[24];
    int64_t number = device->number;
    snprintf(digits, sizeof digits, "%" PRId64, number);
    struct text label = device->word.length ? device->word : text_of(digits);
    if (device->word.length && !trailing_number(device->word, &number))
        number = (int64_t)index;
    place->row.index = (uint32_t)number;
    place->row.label = trace_writer_string(places->writer, label);
    return place;
}

uint32_t places_device(struct places *places, const struct event_id *device) {
    struct device_place *place = find_device(places, device);
    if (!place)
        return 0;
    if (place->id == 0)
        place->id = trace_write_device(places->writer, &place->row);
    return place->id;
}

uint32_t places_queue(struct places *places, const struct event_id *device,
                      const struct event_id *stream, uint64_t context) {
    struct event_id numbered = *stream;
    if (stream->word.length && trailing_number(stream->word, &numbered.number))
        numbered.word = TEXT("");
    uint64_t key = key_of_pair(device, &numbered);
    uint64_t *known = map_find(&places->queue_by_key, key);
    if (known)
        return places->queues[*known].id;
    uint32_t device_row = places_device(places, device);
    size_t index =
        add_record(places, &places->queue_by_key, key, (void **)&places->queues,
                   &places->queue_count, &places->queue_capacity, sizeof *places->queues);
    if (index == SIZE_MAX)
        return 0;
    struct queue_place *place = &places->queues[index];
    uint64_t *thread = map_find(&places->thread_by_key, key_of_pair(device, stream));
    place->row = (struct row_queue){
        .device = device_row,
        .context = context,
        .stream = number_of(places, &numbered),
        .name = thread ? places->threads[*thread].name
                       : trace_writer_string(places->writer, numbered.word),
    };
    place->id = trace_write_queue(places->writer, &place->row);
    return place->id;
}

void places_name_process(struct places *places, const struct event_id *process, struct text name) {
    struct process_place *place = find_process(places, process);
    if (!place || name.length == 0)
        return;
    place->name = trace_writer_string(places->writer, name);
    ptrdiff_t device = text_find(name, "/device:");
    if (device >= 0) {
        places->has_device_processes = place->is_device = true;
        if (!trailing_number(name, &place->device))
            place->device = place->pid;
    }
    if (place->row)
        write_process(places, place);
}

/* "Stream #16(MemcpyH2D)": the number, and whether all that it carries are copies. */
static void read_stream_name(struct thread_place *place, struct text name) {
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

void places_name_thread(struct places *places, const struct event_id *process,
                        const struct event_id *thread, struct text name) {
    struct thread_place *place = find_thread(places, process, thread);
    if (!place || name.length == 0)
        return;
    place->name = trace_writer_string(places->writer, name);
    read_stream_name(place, name);
    if (place->row)
        write_thread(places, place);
    uint64_t *queue = map_find(&places->queue_by_key, key_of_pair(process, thread));
    if (queue) {
        struct queue_place *known = &places->queues[*queue];
        known->row.name = place->name;
        trace_write_queue(places->writer, &known->row);
    }
}

void places_describe_device(struct places *places, const struct event_id *device,
                            struct row_device *row) {
    struct device_place *place = find_device(places, device);
    if (!place)
        return;
    row->index = place->row.index;
    row->label = place->row.label;
    place->row = *row;
    uint32_t id = trace_write_device(places->writer, row);
    if (place->id == 0)
        place->id = id;
}

void places_adopt_device(struct places *places, const struct event_id *device,
                         const struct row_device *row, uint32_t id) {
    size_t index =
        add_record(places, &places->device_by_key, key_of(device), (void **)&places->devices,
                   &places->device_count, &places->device_capacity, sizeof *places->devices);
    if (index != SIZE_MAX)
        places->devices[index] = (struct device_place){.row = *row, .id = id};
}

void places_adopt_thread(struct places *places, const struct event_id *process,
                         const struct event_id *thread, const struct row_thread *row, uint32_t id) {
    struct thread_place *place = find_thread(places, process, thread);
    if (!place)
        return;
    place->tid = row->tid;
    place->name = row->name;
    place->row = id;
}

void places_adopt_queue(struct places *places, const struct event_id *device,
                        const struct event_id *stream, const struct row_queue *row, uint32_t id) {
    size_t index = add_record(places, &places->queue_by_key, key_of_pair(device, stream),
                              (void **)&places->queues, &places->queue_count,
                              &places->queue_capacity, sizeof *places->queues);
    if (index != SIZE_MAX)
        places->queues[index] = (struct queue_place){.row = *row, .id = id};
}

bool places_are_empty(const struct places *places) {
    return places->process_count == 0 && places->device_count == 0 && places->queue_count == 0;
}

void places_set_vendor(struct places *places, struct text vendor) {
    for (size_t i = 0; i < places->device_count; i++) {
        struct device_place *place = &places->devices[i];
        if (place->row.vendor == 0) {
            place->row.vendor = trace_writer_string(places->writer, vendor);
            trace_write_device(places->writer, &place->row);
        }
    }
}

struct place_device places_device_of(struct places *places, const struct event_id *process,
                                     const struct event_id *thread) {
    struct process_place *owner = find_process(places, process);
    if (!owner || !owner->is_device)
        return (struct place_device){0};
    struct thread_place *place = find_thread(places, process, thread);
    owner = find_process(places, process);
    return (struct place_device){
        .on_device = true,
        .is_stream = place && place->is_stream,
        .device = owner ? owner->device : 0,
        .stream = place ? place->stream : 0,
        .copies = place && place->copies,
    };
}
