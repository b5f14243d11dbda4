/* Writes records to a lane. This is the cost per event in the target.
 *
 * spool_begin() and spool_publish() take a comparison, a few stores, and one store that makes the
 * record visible. When a segment is full, lane_next_segment() reuses a drained one or creates
 * another.
 */
#include "spool/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

enum {
    RETRY_INTERVAL = 1024,    /* dropped records between two attempts to get a segment */
    STALLED_LIMIT = 16 << 20, /* bytes of records for a recorder that does not read */
    SPARE_SEGMENTS = 2,       /* drained segments that are kept for reuse */
    HEAD_BYTES = (int)sizeof(struct spool_head),
};

static void publish_records(struct spool_lane *lane) {
    atomic_store_explicit(&lane->segment->published, spool_published(lane->sequence, lane->used),
                          memory_order_release);
}

static void end_segment(struct spool_lane *lane) {
    if (!lane->segment)
        return;
    struct spool_head end = {.kind = SPOOL_END, .bytes = HEAD_BYTES};
    memcpy(lane->records + lane->used, &end, sizeof end);
    lane->used += HEAD_BYTES;
    publish_records(lane);
    lane->segment = NULL;
    lane->records = NULL;
    lane->used = lane->capacity = 0;
}

static bool is_drained(const struct lane_segment *segment) {
    return atomic_load_explicit(&segment->file->drained, memory_order_acquire) == segment->sequence;
}

static void release_segment(struct spool_lane *lane, struct lane_segment *segment) {
    atomic_store_explicit(&segment->file->released, 1, memory_order_release);
    munmap(segment->file, segment->bytes);
    atomic_fetch_sub(&lane->spool->bytes, segment->bytes);
    *segment = lane->segments[--lane->segment_count];
}

/* Releases the shortest drained segment if there are more than needed. It was created while the
 * reader was behind. */
static void release_spare(struct spool_lane *lane) {
    struct lane_segment *shortest = NULL;
    unsigned drained = 0;
    for (unsigned i = 0; i < lane->segment_count; i++) {
        struct lane_segment *segment = &lane->segments[i];
        if (!is_drained(segment))
            continue;
        drained++;
        if (!shortest || segment->bytes < shortest->bytes)
            shortest = segment;
    }
    if (drained > SPARE_SEGMENTS)
        release_segment(lane, shortest);
}

/* The longest drained segment, or NULL. */
static struct lane_segment *take_drained(struct spool_lane *lane) {
    struct lane_segment *longest = NULL;
    release_spare(lane);
    for (unsigned i = 0; i < lane->segment_count; i++) {
        struct lane_segment *segment = &lane->segments[i];
        if (is_drained(segment) && (!longest || segment->bytes > longest->bytes))
            longest = segment;
    }
    return longest;
}

/* Reserves bytes within the limit of the process. */
static bool reserve_bytes(struct spool *spool, uint64_t bytes) {
    const struct spool_header *header = spool->header;
    uint64_t limit = atomic_load(&spool->limit);
    if (atomic_load(&header->stopped))
        return false;
    if (clock_now() - atomic_load(&header->reader_seen_at) > spool_reader_timeout_ns &&
        limit > STALLED_LIMIT)
        limit = STALLED_LIMIT;
    if (atomic_fetch_add(&spool->bytes, bytes) + bytes <= limit)
        return true;
    atomic_fetch_sub(&spool->bytes, bytes);
    return false;
}

/* Short at first, because most threads record little. */
static uint32_t segment_length(uint32_t number) {
    uint32_t bytes = number < 4 ? (uint32_t)SPOOL_SEGMENT_MIN << 2 * number : SPOOL_SEGMENT_BYTES;
    return bytes < SPOOL_SEGMENT_BYTES ? bytes : SPOOL_SEGMENT_BYTES;
}

static struct lane_segment *make_segment(struct spool_lane *lane) {
    struct spool *spool = lane->spool;
    uint32_t number = lane->next_segment, bytes = segment_length(number);
    char name[96];
    if (lane->segment_count == LANE_SEGMENTS || !reserve_bytes(spool, bytes))
        return NULL;
    snprintf(name, sizeof name, "%lld-%lld-%u-%u.seg", (long long)spool->pid,
             (long long)spool->start, lane->number, number);
    struct spool_segment *file = folder_map_file(&spool->folder, name, bytes, NULL);
    if (!file) {
        atomic_fetch_sub(&spool->bytes, bytes);
        return NULL;
    }
    memcpy(file->magic, SPOOL_SEGMENT_MAGIC, sizeof file->magic);
    file->version = SPOOL_VERSION;
    file->bytes = bytes;
    file->lane = lane->number;
    file->number = number;
    lane->next_segment++;
    struct lane_segment *segment = &lane->segments[lane->segment_count++];
    *segment = (struct lane_segment){.file = file, .bytes = bytes};
    return segment;
}

bool lane_next_segment(struct spool_lane *lane) {
    end_segment(lane);
    struct lane_segment *segment = take_drained(lane);
    if (!segment)
        segment = make_segment(lane);
    if (!segment)
        return false;
    segment->sequence = ++lane->sequence;
    lane->segment = segment->file;
    lane->records = (unsigned char *)segment->file + SPOOL_DATA;
    lane->used = 0;
    lane->capacity = segment->bytes - SPOOL_DATA - HEAD_BYTES;
    lane->failed_attempts = 0;
    publish_records(lane);
    return true;
}

void lane_reset(struct spool_lane *lane) {
    for (unsigned i = 0; i < lane->segment_count; i++)
        munmap(lane->segments[i].file, lane->segments[i].bytes);
    lane_texts_finish(&lane->texts);
    memset(lane->constants, 0, sizeof lane->constants);
    lane->segment = NULL;
    lane->records = NULL;
    lane->used = lane->capacity = lane->record_bytes = lane->sequence = 0;
    lane->segment_count = lane->next_segment = lane->failed_attempts = 0;
}

/* The slow path. After a failure it retries only now and then, because each attempt costs several
 * system calls. */
static bool find_segment(struct spool_lane *lane) {
    if (!lane->segment && ++lane->failed_attempts % RETRY_INTERVAL != 0)
        return false;
    int error = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool found = lane_next_segment(lane);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return found;
}

void *spool_begin(struct spool_lane *lane, enum spool_kind kind, uint32_t text, size_t bytes) {
    if (!lane)
        return NULL;
    if (lane->record_bytes || bytes > SPOOL_RECORD_MAX) {
        spool_drop(lane->spool, 1);
        return NULL;
    }
    bytes = (bytes + 7) & ~(size_t)7;
    lane->record_bytes = (uint32_t)bytes; /* first, because a signal handler may check it */
    atomic_signal_fence(memory_order_seq_cst);
    if (lane->used + bytes > lane->capacity && !find_segment(lane)) {
        lane->record_bytes = 0;
        spool_drop(lane->spool, 1);
        return NULL;
    }
    struct spool_head *head = (struct spool_head *)(lane->records + lane->used);
    *head = (struct spool_head){.kind = (uint16_t)kind, .bytes = (uint16_t)bytes, .text = text};
    return head;
}

void spool_publish(struct spool_lane *lane) {
    if (!lane || !lane->record_bytes)
        return;
    lane->used += lane->record_bytes;
    publish_records(lane);
    atomic_signal_fence(memory_order_seq_cst);
    lane->record_bytes = 0;
}
