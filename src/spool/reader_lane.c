/* Reading a lane: which of its segments comes next, and what records it holds.
 *
 * Whoever owns the files can write anything there at any moment. So everything is copied out first
 * and then checked, positions only ever go forward, and what no probe can have written is passed
 * over and counted.
 */
#include "spool/reader.h"

#include <errno.h>
#include <unistd.h>

#include "base/memory.h"

struct seen_segment {
    uint32_t sequence, used, bytes;
    bool released, marked;
};

static const uint16_t least_bytes[SPOOL_KINDS] = {
    [SPOOL_END] = sizeof(struct spool_head),        [SPOOL_TEXT] = sizeof(struct spool_text),
    [SPOOL_THREAD] = sizeof(struct spool_thread),   [SPOOL_CALL] = sizeof(struct spool_call),
    [SPOOL_KERNEL] = sizeof(struct spool_kernel),   [SPOOL_COPY] = sizeof(struct spool_copy),
    [SPOOL_RANGE] = sizeof(struct spool_range),     [SPOOL_RANGE_OPEN] = sizeof(struct spool_range),
    [SPOOL_RANGE_END] = sizeof(struct spool_range), [SPOOL_MARK] = sizeof(struct spool_mark),
    [SPOOL_WAIT] = sizeof(struct spool_wait),       [SPOOL_MEMORY] = sizeof(struct spool_memory),
    [SPOOL_DEVICE] = sizeof(struct spool_device),   [SPOOL_QUEUE] = sizeof(struct spool_queue),
    [SPOOL_CLOCK] = sizeof(struct spool_clock),     [SPOOL_DROPPED] = sizeof(struct spool_dropped),
    [SPOOL_META] = sizeof(struct spool_meta),       [SPOOL_PAUSED] = sizeof(struct spool_paused),
};

/* What a segment's head says at this moment; sequence 0 when it says nothing. */
static struct seen_segment look(int folder, const struct spool_entry *entry) {
    struct spool_segment segment;
    struct seen_segment seen = {0};
    uint64_t bytes;
    int fd = entry_open(folder, entry, SPOOL_SEGMENT_MIN, SPOOL_SEGMENT_BYTES, &bytes);
    if (fd < 0)
        return seen;
    if (pread(fd, &segment, sizeof segment, 0) == (ssize_t)sizeof segment &&
        memcmp(segment.magic, SPOOL_SEGMENT_MAGIC, sizeof segment.magic) == 0 &&
        segment.version == SPOOL_VERSION && segment.bytes == bytes && segment.lane == entry->lane &&
        segment.number == entry->number) {
        uint64_t word = segment.published;
        seen.sequence = spool_word_sequence(word);
        seen.used = spool_word_used(word);
        seen.bytes = segment.bytes;
        seen.released = segment.released != 0;
        seen.marked = segment.drained == seen.sequence;
    }
    close(fd);
    return seen;
}

/* Copies the bytes of the segment from the lane's place on; false when they are not there. */
static bool copy_records(struct spool_reader *reader, int folder, const struct spool_entry *entry,
                         const struct seen_segment *seen, uint32_t at) {
    uint64_t bytes;
    size_t wanted = seen->used - at;
    int fd = entry_open(folder, entry, SPOOL_SEGMENT_MIN, SPOOL_SEGMENT_BYTES, &bytes);
    if (fd < 0)
        return false;
    atomic_thread_fence(memory_order_acquire);
    bool ok = pread(fd, reader->records, wanted, SPOOL_DATA + (off_t)at) == (ssize_t)wanted;
    close(fd);
    return ok;
}

/* Tells the writer that it may fill the segment again. */
static void mark_drained(int folder, const struct spool_entry *entry, uint64_t sequence) {
    uint64_t bytes;
    int fd = entry_open(folder, entry, SPOOL_SEGMENT_MIN, SPOOL_SEGMENT_BYTES, &bytes);
    if (fd < 0)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    ssize_t written = pwrite(fd, &sequence, sizeof sequence, SPOOL_DRAINED_AT);
    (void)written; /* it is tried again */
    close(fd);
}

static bool keep_text(struct reader_lane *lane, const struct spool_text *record,
                      struct status *status) {
    uint32_t number = record->head.text;
    if (!GROW(lane->texts, &lane->texts_capacity, number + 1, status))
        return false;
    while (lane->text_count <= number)
        lane->texts[lane->text_count++] = (struct reader_text){0};
    char *copy = text_copy((struct text){(const char *)(record + 1), record->length}, status);
    if (!copy)
        return false;
    memory_free(lane->texts[number].data);
    lane->texts[number] = (struct reader_text){.data = copy, .length = record->length};
    return true;
}

static bool is_sane_text(const struct spool_text *record) {
    return record->head.text >= 1 && record->head.text <= SPOOL_TEXTS &&
           record->length <= SPOOL_TEXT_MAX &&
           record->length <= record->head.bytes - sizeof *record;
}

/* Hands on the `length` bytes of records that were copied; true in *ended when the segment is over.
 */
static bool take_records(struct spool_reader *reader, unsigned number, uint32_t length, bool *ended,
                         spool_sink *sink, void *context, struct status *status) {
    struct reader_lane *lane = reader->lanes[number];
    *ended = false;
    for (uint32_t at = 0; at < length;) {
        const struct spool_head *record = (const void *)(reader->records + at);
        if (record->bytes < sizeof *record || record->bytes % 8 != 0 ||
            record->bytes > length - at) {
            reader->damaged++;
            return true; /* what is published later begins at a record again */
        }
        at += record->bytes;
        if (record->kind == SPOOL_END) {
            *ended = true;
            return true;
        }
        if (record->kind >= SPOOL_KINDS || record->bytes < least_bytes[record->kind] ||
            (record->kind == SPOOL_TEXT && !is_sane_text((const void *)record))) {
            reader->damaged++;
            continue;
        }
        if (record->kind == SPOOL_TEXT && !keep_text(lane, (const void *)record, status))
            return false;
        if (!sink(context, lane->process, number, record, status))
            return false;
    }
    return true;
}

/* The segment that holds the sequence, or `count`. */
static size_t find_sequence(const struct seen_segment *seen, size_t count, uint32_t sequence) {
    size_t i = 0;
    while (i < count && (seen[i].sequence != sequence || sequence == 0))
        i++;
    return i;
}

/* The lowest sequence behind the lane's, or 0. */
static uint32_t later_sequence(const struct seen_segment *seen, size_t count, uint32_t next) {
    uint32_t lowest = 0;
    for (size_t i = 0; i < count; i++)
        if (seen[i].sequence > next && (lowest == 0 || seen[i].sequence < lowest))
            lowest = seen[i].sequence;
    return lowest;
}

/* A segment is ended before the next one begins, so an end (or a whole segment) that still is not
 * there the second time never comes. True when the lane goes on behind the hole. */
static bool skip_hole(struct spool_reader *reader, struct reader_lane *lane,
                      const struct seen_segment *seen, size_t count, bool is_over) {
    uint32_t later = later_sequence(seen, count, lane->next);
    if (later == 0)
        return false;
    if (!lane->waiting && !is_over) {
        lane->waiting = true;
        return false;
    }
    reader->damaged++;
    lane->waiting = false;
    lane->next = later;
    lane->at = 0;
    return true;
}

static bool read_segments(struct spool_reader *reader, unsigned number, int folder,
                          const struct spool_entry *entries, struct seen_segment *seen,
                          size_t count, bool is_over, spool_sink *sink, void *context,
                          struct status *status) {
    struct reader_lane *lane = reader->lanes[number];
    while (!lane->broken) {
        size_t i = find_sequence(seen, count, lane->next);
        if (i == count) {
            if (!skip_hole(reader, lane, seen, count, is_over))
                return true;
            continue;
        }
        uint32_t used = seen[i].used;
        if (used > seen[i].bytes - SPOOL_DATA || used % 8 != 0 || used < lane->at ||
            !copy_records(reader, folder, &entries[i], &seen[i], lane->at)) {
            reader->damaged++;
            lane->broken = true;
            return true;
        }
        uint32_t length = used - lane->at;
        bool ended;
        lane->at = used;
        lane->waiting = lane->waiting && length == 0;
        if (!take_records(reader, number, length, &ended, sink, context, status))
            return false;
        if (!ended && !skip_hole(reader, lane, seen, count, is_over))
            return true;
        if (!ended)
            continue;
        mark_drained(folder, &entries[i], lane->next);
        seen[i].marked = true;
        lane->broken = lane->next == UINT32_MAX;
        lane->next++;
        lane->at = 0;
    }
    return true;
}

static void remove_released(const struct reader_lane *lane, int folder,
                            const struct spool_entry *entries, const struct seen_segment *seen,
                            size_t count) {
    char name[ENTRY_NAME_MAX];
    for (size_t i = 0; i < count; i++) {
        if (seen[i].sequence == 0 || seen[i].sequence >= lane->next)
            continue;
        if (seen[i].released)
            unlinkat(folder, entry_name(&entries[i], name), 0);
        else if (!seen[i].marked)
            mark_drained(folder, &entries[i], seen[i].sequence);
    }
}

bool lane_drain(struct spool_reader *reader, unsigned number, int folder,
                const struct spool_entry *entries, size_t count, bool is_over, spool_sink *sink,
                void *context, struct status *status) {
    struct seen_segment *seen = memory_allocate(count, sizeof *seen, status);
    if (!seen)
        return false;
    for (size_t i = 0; i < count; i++)
        seen[i] = look(folder, &entries[i]);
    bool ok =
        read_segments(reader, number, folder, entries, seen, count, is_over, sink, context, status);
    if (ok)
        remove_released(reader->lanes[number], folder, entries, seen, count);
    memory_free(seen);
    return ok;
}
