/* Process and lane numbers of the spool are dense, so they index arrays. Devices, which processes
 * share, and queues, which have a compound key, are interned.
 */
#include "record/spool_entities.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"

enum { ENTITY_NUMBERS_MAX = 1 << 22 }; /* lanes and processes; larger numbers are damage */

/* The element `at` of an array of pointers, which grows as needed; NULL when out of memory. */
static void **pointer_slot(void ***array, size_t *capacity, unsigned at, struct status *status) {
    size_t before = *capacity;
    if (at >= ENTITY_NUMBERS_MAX) {
        status_fail(status, STATUS_INPUT, "the spool has too many lanes");
        return NULL;
    }
    if (!GROW(*array, capacity, (size_t)at + 1, status))
        return NULL;
    memset(*array + before, 0, (*capacity - before) * sizeof **array);
    return &(*array)[at];
}

struct spool_process_state *spool_process_state(struct spool_entities *entities, unsigned process,
                                                struct status *status) {
    void **entry = pointer_slot((void ***)&entities->process_states,
                                &entities->process_state_capacity, process, status);
    if (!entry || *entry)
        return entry ? *entry : NULL;
    struct spool_process_state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return NULL;
    *entry = state;
    const struct spool_process *known = spool_reader_process(entities->reader, process);
    struct text name = known ? known->command : TEXT("");
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] == 0)
            name.length = i;
    for (size_t i = name.length; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = (struct text){name.data + i, name.length - i};
            break;
        }
    state->row = processes_row(entities->processes, known ? known->pid : 0, name);
    state->cost_ns = -1;
    return state;
}

struct spool_lane_state *spool_lane_state(struct spool_entities *entities, unsigned process,
                                          unsigned lane_number, struct status *status) {
    void **entry =
        pointer_slot((void ***)&entities->lanes, &entities->lane_capacity, lane_number, status);
    if (!entry || *entry)
        return entry ? *entry : NULL;
    struct spool_lane_state *lane = memory_allocate(1, sizeof *lane, status);
    if (!lane)
        return NULL;
    lane->process = process;
    *entry = lane;
    return lane;
}

uint32_t spool_entity_string(struct spool_entities *entities, unsigned lane_number,
                             struct spool_lane_state *lane, uint32_t text) {
    size_t before = lane->string_capacity;
    struct status ignored; /* without memory it is looked up each time */
    if (text == 0 || text > SPOOL_TEXTS)
        return 0;
    if (text < before && lane->strings[text])
        return lane->strings[text];
    uint32_t string = trace_writer_string(entities->writer,
                                          spool_reader_text(entities->reader, lane_number, text));
    if (!GROW(lane->strings, &lane->string_capacity, (size_t)text + 1, &ignored))
        return string;
    memset(lane->strings + before, 0, (lane->string_capacity - before) * sizeof *lane->strings);
    return lane->strings[text] = string;
}

void spool_entity_reset_string(struct spool_lane_state *lane, uint32_t text) {
    if (text < lane->string_capacity)
        lane->strings[text] = 0;
}

static uint64_t thread_key(unsigned process, int64_t tid) {
    uint64_t parts[2] = {process, (uint64_t)tid};
    return checksum64(parts, sizeof parts);
}

static uint32_t write_thread(struct spool_entities *entities, unsigned process, int64_t tid,
                             uint32_t name, struct status *status) {
    struct spool_process_state *state = spool_process_state(entities, process, status);
    struct status ignored; /* readers merge rows of the same thread */
    if (!state)
        return 0;
    uint32_t row = trace_write_thread(
        entities->writer, &(struct row_thread){.process = state->row, .tid = tid, .name = name});
    map_set(&entities->threads, thread_key(process, tid), row, &ignored);
    return row;
}

bool spool_entity_set_thread(struct spool_entities *entities, struct spool_lane_state *lane,
                             const struct spool_thread *thread, uint32_t name,
                             struct status *status) {
    lane->thread = write_thread(entities, lane->process, thread->tid, name, status);
    return lane->thread != 0;
}

uint32_t spool_entity_thread(struct spool_entities *entities, unsigned process, int64_t tid,
                             struct status *status) {
    const uint64_t *known = map_find(&entities->threads, thread_key(process, tid));
    return known ? (uint32_t)*known : write_thread(entities, process, tid, 0, status);
}

/* ---- Devices ----------------------------------------------------------------------------- */

/* The index of the device among those of its API in its process, or another one when two processes
 * use the same index for different devices. */
static uint32_t take_index(struct spool_entities *entities, uint32_t index) {
    bool *used = &entities->index_used[index - index % SPOOL_DEVICES_EACH];
    uint32_t taken = index % SPOOL_DEVICES_EACH;
    for (uint32_t other = 0; other < SPOOL_DEVICES_EACH && used[taken]; other++)
        taken = other;
    used[taken] = true;
    return taken;
}

/* "0" is CUDA's first device, "opencl:0" OpenCL's. A CPU as a device is "cpu:0". */
static void write_label(const struct spool_device *device, uint32_t index, char label[24]) {
    static const char *const prefixes[SPOOL_DEVICES_MAX / SPOOL_DEVICES_EACH] = {
        [SPOOL_DEVICES_OPENCL / SPOOL_DEVICES_EACH] = "opencl:",
        [SPOOL_DEVICES_VULKAN / SPOOL_DEVICES_EACH] = "vulkan:",
        [SPOOL_DEVICES_METAL / SPOOL_DEVICES_EACH] = "metal:",
    };
    const char *prefix = device->is_cpu ? "cpu:" : prefixes[device->index / SPOOL_DEVICES_EACH];
    snprintf(label, 24, "%s%u", prefix ? prefix : "", index);
}

static void write_uuid(const uint8_t bytes[16], char text[GPU_UUID_SIZE]) {
    char *at = text;
    for (unsigned i = 0; i < 16; i++)
        at += snprintf(at, (size_t)(text + GPU_UUID_SIZE - at),
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

static void write_meta(void *to, const char *key, const char *value) {
    trace_writer_meta(to, key, text_of(value));
}

static void write_device_meta(struct spool_entities *entities, struct text name,
                              const char *label) {
    char terminated[256];
    if (!entities->device_facts || name.length >= sizeof terminated)
        return;
    snprintf(terminated, sizeof terminated, "%.*s", TEXT_ARGS(name));
    entities->device_facts(terminated, label, write_meta, entities->writer);
}

static uint32_t write_device(struct spool_entities *entities, const struct spool_device *device,
                             struct text name, struct text vendor, const char *uuid) {
    uint32_t index = take_index(entities, device->index);
    char label[24];
    write_label(device, index, label);
    write_device_meta(entities, name, label);
    return trace_write_device(
        entities->writer, &(struct row_device){
                              .index = index,
                              .label = trace_writer_string(entities->writer, text_of(label)),
                              .name = trace_writer_string(entities->writer, name),
                              .vendor = trace_writer_string(
                                  entities->writer, vendor.length ? vendor : TEXT("NVIDIA")),
                              .uuid = trace_writer_string(entities->writer, text_of(uuid)),
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

/* The row of an interned key. True when it exists already. */
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

bool spool_entity_add_device(struct spool_entities *entities, unsigned process,
                             const struct spool_device *device, struct text name,
                             struct text vendor, struct status *status) {
    static const uint8_t none[16];
    struct spool_process_state *state = spool_process_state(entities, process, status);
    uint32_t id, *row;
    char uuid[GPU_UUID_SIZE] = "";
    if (!state)
        return false;
    if (device->index >= SPOOL_DEVICES_MAX)
        return true;
    struct {
        uint8_t uuid[16];
        uint32_t index; /* of a device without uuid */
    } key = {.index = UINT32_MAX};
    memcpy(key.uuid, device->uuid, sizeof key.uuid);
    if (memcmp(device->uuid, none, sizeof none) == 0)
        key.index = device->index;
    else
        write_uuid(device->uuid, uuid);
    if (!intern_add(&entities->devices, (struct text){(const char *)&key, sizeof key}, &id, status))
        return false;
    if (!row_of(&entities->device_rows, &entities->device_row_capacity, id, status, &row) && !row)
        return false;
    if (!*row)
        *row = write_device(entities, device, name, vendor, uuid);
    state->devices[device->index] = *row;
    if (*uuid && *row)
        gpu_counters_add(entities->gpus, uuid, *row, entities->writer);
    return true;
}

uint32_t spool_entity_device(struct spool_entities *entities, unsigned process, uint32_t index,
                             struct status *status) {
    struct spool_process_state *state = spool_process_state(entities, process, status);
    if (!state)
        return 0;
    index %= SPOOL_DEVICES_MAX;
    /* its SPOOL_DEVICE record was lost */
    if (!state->devices[index] &&
        !spool_entity_add_device(entities, process, &(struct spool_device){.index = index},
                                 TEXT(""), TEXT(""), status))
        return 0;
    return state->devices[index];
}

uint32_t spool_entity_queue(struct spool_entities *entities, unsigned process, uint32_t device,
                            uint32_t context, uint32_t stream, uint32_t name,
                            struct status *status) {
    struct spool_process_state *state = spool_process_state(entities, process, status);
    uint32_t key[4] = {process, device, context, stream}, id, *row;
    if (!state ||
        !intern_add(&entities->queues, (struct text){(const char *)key, sizeof key}, &id, status))
        return 0;
    bool known = row_of(&entities->queue_rows, &entities->queue_row_capacity, id, status, &row);
    if (!row || (known && !name))
        return row ? *row : 0;
    uint32_t device_row = spool_entity_device(entities, process, device, status);
    if (!device_row)
        return 0;
    uint32_t written =
        trace_write_queue(entities->writer, &(struct row_queue){.device = device_row,
                                                                .process = state->row,
                                                                .context = context,
                                                                .stream = stream,
                                                                .name = name});
    return *row = written;
}

void spool_entities_finish(struct spool_entities *entities) {
    for (size_t i = 0; i < entities->lane_capacity; i++) {
        if (entities->lanes[i]) {
            memory_free(entities->lanes[i]->strings);
            spool_stacks_finish(&entities->lanes[i]->stacks);
        }
        memory_free(entities->lanes[i]);
    }
    for (size_t i = 0; i < entities->process_state_capacity; i++)
        memory_free(entities->process_states[i]);
    memory_free(entities->lanes);
    memory_free(entities->process_states);
    memory_free(entities->device_rows);
    memory_free(entities->queue_rows);
    map_finish(&entities->threads);
    spool_frame_rows_finish(&entities->frames);
    intern_finish(&entities->devices);
    intern_finish(&entities->queues);
    memset(entities, 0, sizeof *entities);
}
