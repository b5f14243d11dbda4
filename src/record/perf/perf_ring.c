/* A thread's records are spread over the rings of the processors that it ran on. They are copied
 * out of all rings first and then read in the order of their times. */
#ifdef __linux__
#include "record/perf/perf_ring.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* Every record but a sample ends with these, because of sample_id_all. A sample begins so. */
struct identity {
    uint32_t pid, tid;
    uint64_t time;
};

static bool make_room(struct perf_batch *batch, struct status *status) {
    size_t needed = batch->count + 1;
    if (!GROW(batch->times, &batch->capacity[0], needed, status) ||
        !GROW(batch->offsets, &batch->capacity[1], needed, status) ||
        !GROW(batch->processors, &batch->capacity[2], needed, status) ||
        !GROW(batch->group, &batch->capacity[3], needed, status))
        return false;
    batch->group[batch->count] = 0;
    return true;
}

static struct identity identity_of(const uint8_t *record, const struct perf_event_header *header) {
    struct identity identity;
    size_t at =
        header->type == PERF_RECORD_SAMPLE ? sizeof *header : header->size - sizeof identity;
    memcpy(&identity, record + at, sizeof identity);
    return identity;
}

static bool add(struct perf_batch *batch, size_t offset, unsigned processor,
                struct status *status) {
    struct perf_event_header header;
    if (!buffer_ok(&batch->bytes, status) || !make_room(batch, status))
        return false;
    const uint8_t *record = (const uint8_t *)batch->bytes.data + offset;
    memcpy(&header, record, sizeof header);
    batch->times[batch->count] = (int64_t)identity_of(record, &header).time;
    batch->offsets[batch->count] = offset;
    batch->processors[batch->count++] = processor;
    return true;
}

/* Appends bytes of the ring, which wraps around. */
static void copy_out(const struct perf_ring *ring, const uint8_t *data, uint64_t from, size_t bytes,
                     struct buffer *to) {
    size_t at = (size_t)(from & (ring->bytes - 1)), first = ring->bytes - at;
    if (first > bytes)
        first = bytes;
    buffer_append(to, data + at, first);
    buffer_append(to, data, bytes - first);
}

/* A header never wraps around: sizes of records are multiples of its size. */
static struct perf_event_header header_at(const struct perf_ring *ring, const uint8_t *data,
                                          uint64_t from) {
    struct perf_event_header header;
    memcpy(&header, data + (from & (ring->bytes - 1)), sizeof header);
    return header;
}

bool perf_batch_take(struct perf_batch *batch, struct perf_ring *ring, uint64_t *damaged,
                     double *fullness, struct status *status) {
    const uint8_t *data = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    double used = (double)(head - tail) / (double)ring->bytes;
    bool ok = true;
    if (used > *fullness)
        *fullness = used;
    while (ok && head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header = header_at(ring, data, tail);
        if (header.size < sizeof header + sizeof(struct identity) || header.size % 8 != 0 ||
            header.size > head - tail) {
            ++*damaged;
            break;
        }
        size_t offset = batch->bytes.length;
        copy_out(ring, data, tail, header.size, &batch->bytes);
        ok = add(batch, offset, ring->processor, status);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
    return ok;
}

bool perf_batch_add(struct perf_batch *batch, const struct perf_batch *from, size_t index,
                    struct status *status) {
    struct perf_event_header header;
    const char *record = from->bytes.data + from->offsets[index];
    size_t offset = batch->bytes.length;
    memcpy(&header, record, sizeof header);
    buffer_append(&batch->bytes, record, header.size);
    return add(batch, offset, from->processors[index], status);
}

bool perf_batch_append(struct perf_batch *batch, const struct perf_batch *from,
                       struct status *status) {
    bool ok = true;
    for (size_t i = 0; i < from->count && ok; i++)
        ok = perf_batch_add(batch, from, i, status);
    return ok;
}

struct perf_record perf_batch_record(const struct perf_batch *batch, size_t index) {
    const uint8_t *record = (const uint8_t *)batch->bytes.data + batch->offsets[index];
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    struct identity identity = identity_of(record, &header);
    size_t front = header.type == PERF_RECORD_SAMPLE ? sizeof identity : 0;
    return (struct perf_record){
        .type = header.type,
        .misc = header.misc,
        .time = (int64_t)identity.time,
        .pid = identity.pid,
        .tid = identity.tid,
        .processor = batch->processors[index],
        .body = record + sizeof header + front,
        .length = header.size - sizeof header - sizeof identity,
    };
}

void perf_batch_clear(struct perf_batch *batch) {
    buffer_reset(&batch->bytes);
    batch->count = 0;
}

void perf_batch_finish(struct perf_batch *batch) {
    buffer_finish(&batch->bytes);
    memory_free(batch->times);
    memory_free(batch->offsets);
    memory_free(batch->processors);
    memory_free(batch->group);
    *batch = (struct perf_batch){0};
}
#endif
