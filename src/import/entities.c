/* One table interns the keys of all kinds of rows. */
#include "import/entities.h"

#include <stdio.h>

enum entity { ENTITY_PROCESS, ENTITY_THREAD, ENTITY_DEVICE, ENTITY_QUEUE, ENTITY_FRAME };

struct key {
    enum entity entity;
    uint32_t parent;
    int64_t number;
    uint32_t owner;                        /* of queues: the process */
    uint32_t function, module, file, line; /* of frames */
};

/* The place of the key's id; 0 there: the row has to be written. */
static uint32_t *find_id(struct entities *entities, const struct key *key, struct status *status) {
    struct text bytes = {(const char *)key, sizeof *key};
    size_t before = entities->keys.count;
    uint32_t place;
    if (!intern_add(&entities->keys, bytes, &place, status) ||
        !GROW(entities->ids, &entities->capacity, (size_t)place + 1, status))
        return NULL;
    if (entities->keys.count > before)
        entities->ids[place] = 0;
    return &entities->ids[place];
}

/* Bytes between the members of a key are part of it, so all are set. */
static struct key key_of(enum entity entity, uint32_t parent, int64_t number) {
    struct key key;
    memset(&key, 0, sizeof key);
    key.entity = entity;
    key.parent = parent;
    key.number = number;
    return key;
}

uint32_t entity_process(struct entities *entities, uint64_t pid, struct text name,
                        struct status *status) {
    struct key key = key_of(ENTITY_PROCESS, 0, (int64_t)pid);
    uint32_t *id = find_id(entities, &key, status);
    if (id && *id == 0)
        *id = trace_write_process(
            entities->writer,
            &(struct row_process){.pid = pid, .name = trace_writer_string(entities->writer, name)});
    return id ? *id : 0;
}

uint32_t entity_thread(struct entities *entities, uint32_t process, int64_t tid, struct text name,
                       struct status *status) {
    struct key key = key_of(ENTITY_THREAD, process, tid);
    uint32_t *id = find_id(entities, &key, status);
    if (id && *id == 0)
        *id = trace_write_thread(
            entities->writer,
            &(struct row_thread){.process = process,
                                 .tid = tid,
                                 .name = trace_writer_string(entities->writer, name)});
    return id ? *id : 0;
}

uint32_t entity_device(struct entities *entities, int64_t number, const struct row_device *row,
                       struct status *status) {
    struct key key = key_of(ENTITY_DEVICE, 0, number);
    uint32_t *id = find_id(entities, &key, status);
    if (id && *id == 0) {
        struct row_device numbered = *row;
        char label[32];
        snprintf(label, sizeof label, "%lld", (long long)number);
        numbered.index = number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
        numbered.label = trace_writer_string(entities->writer, text_of(label));
        *id = trace_write_device(entities->writer, &numbered);
    }
    return id ? *id : 0;
}

uint32_t entity_queue(struct entities *entities, uint32_t device, uint32_t process, int64_t stream,
                      struct status *status) {
    struct key key = key_of(ENTITY_QUEUE, device, stream);
    key.owner = process;
    uint32_t *id = find_id(entities, &key, status);
    if (id && *id == 0)
        *id = trace_write_queue(
            entities->writer,
            &(struct row_queue){.device = device, .process = process, .stream = stream});
    return id ? *id : 0;
}

uint32_t entity_frame(struct entities *entities, const struct row_stack *row,
                      struct status *status) {
    struct key key = key_of(ENTITY_FRAME, row->parent, row->offset);
    key.function = row->function;
    key.module = row->module;
    key.file = row->file;
    key.line = row->line;
    uint32_t *id = find_id(entities, &key, status);
    if (id && *id == 0)
        *id = trace_write_stack(entities->writer, row);
    return id ? *id : 0;
}

void entities_release(struct entities *entities) {
    intern_finish(&entities->keys);
    memory_free(entities->ids);
}
