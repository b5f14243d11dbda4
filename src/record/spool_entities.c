/* Numbers of the spool are dense, so arrays map them; what is shared between processes (devices) or
 * has a compound name (queues) is interned by its bytes.
 */
#include "record/spool_entities.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"

enum { NUMBERS_MAX = 1 << 22 }; /* of lanes and processes: beyond is damage */

/* The place of number `at` in an array of pointers, grown as needed; NULL when out of memory. */
static void **entry_of(void ***array, size_t *capacity, unsigned at, struct status *status) {
    size_t before = *capacity;
    if (at >= NUMBERS_MAX) {
        status_fail(status, STATUS_INPUT, "the spool has more lanes than there can be");
        return NULL;
    }
    if (!GROW(*array, capacity, (size_t)at + 1, status))
        return NULL;
    memset(*array + before, 0, (*capacity - before) * sizeof **array);
    return &(*array)[at];
}

struct spool_place_process *spool_place_process(struct spool_places *places, unsigned process,
                                                struct status *status) {
    void **entry = entry_of((void ***)&places->members, &places->member_capacity, process, status);
    if (!entry || *entry)
        return entry ? *entry : NULL;
    struct spool_place_process *member = memory_allocate(1, sizeof *member, status);
    if (!member)
        return NULL;
    *entry = member;
    const struct spool_process *known = spool_reader_process(places->reader, process);
    struct text name = known ? known->command : TEXT("");
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] == 0)
            name.length = i;
    for (size_t i = name.length; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = (struct text){name.data + i, name.length - i};
            break;
        }
    member->row = processes_row(places->processes, known ? known->pid : 0, name);
    member->cost_ns = -1;
    return member;
}

struct spool_place_lane *spool_place_lane(struct spool_places *places, unsigned process,
                                          unsigned lane_number, struct status *status) {
    void **entry = entry_of((void ***)&places->lanes, &places->lane_capacity, lane_number, status);
    if (!entry || *entry)
        return entry ? *entry : NULL;
    struct spool_place_lane *lane = memory_allocate(1, sizeof *lane, status);
    if (!lane)
        return NULL;
    lane->process = process;
    *entry = lane;
    return lane;
}

uint32_t spool_place_string(struct spool_places *places, unsigned lane_number,
                            struct spool_place_lane *lane, uint32_t text) {
    size_t before = lane->string_capacity;
    struct status ignored; /* without memory to remember it, it is looked up each time */
    if (text == 0 || text > SPOOL_TEXTS)
        return 0;
    if (text < before && lane->strings[text])
        return lane->strings[text];
    uint32_t string =
        trace_writer_string(places->writer, spool_reader_text(places->reader, lane_number, text));
    if (!GROW(lane->strings, &lane->string_capacity, (size_t)text + 1, &ignored))
        return string;
    memset(lane->strings + before, 0, (lane->string_capacity - before) * sizeof *lane->strings);
    return lane->strings[text] = string;
}

void spool_place_text(struct spool_place_lane *lane, uint32_t text) {
    if (text < lane->string_capacity)
        lane->strings[text] = 0;
}

static uint64_t thread_key(unsigned process, int64_t tid) {
    uint64_t parts[2] = {process, (uint64_t)tid};
    return checksum64(parts, sizeof parts);
}

static uint32_t write_thread(struct spool_places *places, unsigned process, int64_t tid,
                             uint32_t name, struct status *status) {
    struct spool_place_process *member = spool_place_process(places, process, status);
    struct status ignored; /* a thread written twice is one thread to readers */
    if (!member)
        return 0;
    uint32_t row = trace_write_thread(
        places->writer, &(struct row_thread){.process = member->row, .tid = tid, .name = name});
    map_set(&places->threads, thread_key(process, tid), row, &ignored);
    return row;
}

bool spool_place_thread(struct spool_places *places, struct spool_place_lane *lane,
                        const struct spool_thread *thread, uint32_t name, struct status *status) {
    lane->thread = write_thread(places, lane->process, thread->tid, name, status);
    return lane->thread != 0;
}

uint32_t spool_place_thread_row(struct spool_places *places, unsigned process, int64_t tid,
                                struct status *status) {
    const uint64_t *known = map_find(&places->threads, thread_key(process, tid));
    return known ? (uint32_t)*known : write_thread(places, process, tid, 0, status);
}

/* ---- Devices ------------------------------------------------------------------------------ */

/* The number that its process gives the device, or another when two processes give one number to
 * different devices. */
static uint32_t free_label(struct spool_places *places, uint32_t index) {
    if (index < SPOOL_DEVICES_MAX && !places->label_used[index])
        return index;
    for (uint32_t other = 0; other < SPOOL_DEVICES_MAX; other++)
        if (!places->label_used[other])
            return other;
    return index;
}

static void write_uuid(const uint8_t bytes[16], char text[GPU_UUID_SIZE]) {
    char *at = text;
    for (unsigned i = 0; i < 16; i++)
        at += snprintf(at, (size_t)(text + GPU_UUID_SIZE - at),
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

static void add_fact(void *to, const char *key, const char *value) {
    trace_writer_meta(to, key, text_of(value));
}

static void write_device_meta(struct spool_places *places, struct text name, const char *label) {
    char terminated[256];
    if (!places->device_facts || name.length >= sizeof terminated)
        return;
    snprintf(terminated, sizeof terminated, "%.*s", TEXT_ARGS(name));
    places->device_facts(terminated, label, add_fact, places->writer);
}

static uint32_t write_device(struct spool_places *places, const struct spool_device *device,
                             struct text name, const char *uuid) {
    uint32_t index = free_label(places, device->index);
    char label[16];
    snprintf(label, sizeof label, "%u", index);
    if (index < SPOOL_DEVICES_MAX)
        places->label_used[index] = true;
    write_device_meta(places, name, label);
    return trace_write_device(
        places->writer, &(struct row_device){
                            .index = index,
                            .label = trace_writer_string(places->writer, text_of(label)),
                            .name = trace_writer_string(places->writer, name),
                            .vendor = trace_writer_string(places->writer, TEXT("NVIDIA")),
                            .uuid = trace_writer_string(places->writer, text_of(uuid)),
                            .memory_bytes = device->memory_bytes,
                            .multiprocessors = device->multiprocessors,
                            .clock_hz = (uint64_t)device->clock_khz * 1000,
                            .bandwidth = device->bandwidth,
                            .compute_major = device->major,
                            .compute_minor = device->minor,
                            .warp_size = device->warp,
                            .threads_per_multiprocessor = device->threads_per_multiprocessor,
                            .registers_per_multiprocessor = device->registers_per_multiprocessor,
                            .shared_per_multiprocessor = device->shared_per_multiprocessor,
                            .listed = 1,
                            .blocks_per_multiprocessor = device->blocks_per_multiprocessor,
                            .shared_reserved_per_block = device->shared_per_block_reserved,
                        });
}

/* Keeps the row of an interned key: true when there is one already. */
static bool row_of(uint32_t **rows, size_t *capacity, uint32_t id, struct status *status,
                   uint32_t **row) {
    size_t before = *capacity;
    *row = NULL;
    if (!GROW(*rows, capacity, (size_t)id + 1, status))
        return false;
    memset(*rows + before, 0, (*capacity - before) * sizeof **rows);
    *row = &(*rows)[id];
    return **row != 0;
}

bool spool_place_add_device(struct spool_places *places, unsigned process,
                            const struct spool_device *device, struct text name,
                            struct status *status) {
    static const uint8_t none[16];
    struct spool_place_process *member = spool_place_process(places, process, status);
    uint32_t id, *row;
    char uuid[GPU_UUID_SIZE] = "";
    if (!member)
        return false;
    if (device->index >= SPOOL_DEVICES_MAX)
        return true;
    struct {
        uint8_t uuid[16];
        uint32_t index; /* of one without identity */
    } key = {.index = UINT32_MAX};
    memcpy(key.uuid, device->uuid, sizeof key.uuid);
    if (memcmp(device->uuid, none, sizeof none) == 0)
        key.index = device->index;
    else
        write_uuid(device->uuid, uuid);
    if (!intern_add(&places->devices, (struct text){(const char *)&key, sizeof key}, &id, status))
        return false;
    if (!row_of(&places->device_rows, &places->device_row_capacity, id, status, &row) && !row)
        return false;
    if (!*row)
        *row = write_device(places, device, name, uuid);
    member->devices[device->index] = *row;
    if (*uuid && *row)
        gpus_add(places->gpus, uuid, *row);
    return true;
}

uint32_t spool_place_device(struct spool_places *places, unsigned process, uint32_t index,
                            struct status *status) {
    struct spool_place_process *member = spool_place_process(places, process, status);
    if (!member)
        return 0;
    index %= SPOOL_DEVICES_MAX;
    /* one that was never announced: its announcement was lost */
    if (!member->devices[index] &&
        !spool_place_add_device(places, process, &(struct spool_device){.index = index}, TEXT(""),
                                status))
        return 0;
    return member->devices[index];
}

uint32_t spool_place_queue(struct spool_places *places, unsigned process, uint32_t device,
                           uint32_t context, uint32_t stream, uint32_t name,
                           struct status *status) {
    struct spool_place_process *member = spool_place_process(places, process, status);
    uint32_t key[4] = {process, device, context, stream}, id, *row;
    if (!member ||
        !intern_add(&places->queues, (struct text){(const char *)key, sizeof key}, &id, status))
        return 0;
    bool known = row_of(&places->queue_rows, &places->queue_row_capacity, id, status, &row);
    if (!row || (known && !name))
        return row ? *row : 0;
    uint32_t device_row = spool_place_device(places, process, device, status);
    if (!device_row)
        return 0;
    uint32_t written = trace_write_queue(places->writer, &(struct row_queue){.device = device_row,
                                                                             .process = member->row,
                                                                             .context = context,
                                                                             .stream = stream,
                                                                             .name = name});
    return *row = written;
}

void spool_places_finish(struct spool_places *places) {
    for (size_t i = 0; i < places->lane_capacity; i++) {
        if (places->lanes[i])
            memory_free(places->lanes[i]->strings);
        memory_free(places->lanes[i]);
    }
    for (size_t i = 0; i < places->member_capacity; i++)
        memory_free(places->members[i]);
    memory_free(places->lanes);
    memory_free(places->members);
    memory_free(places->device_rows);
    memory_free(places->queue_rows);
    map_finish(&places->threads);
    intern_finish(&places->devices);
    intern_finish(&places->queues);
    memset(places, 0, sizeof *places);
}
