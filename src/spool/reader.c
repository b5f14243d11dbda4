/* The recorder's end of the spool: lists the files, finds processes and lanes, and reads them.
 *
 * Each drain lists the folder again and keeps no file open, so any number of processes and threads
 * can come and go. A process that has ended is read once more and its files are removed. A pid is
 * only trusted within one pid namespace, and a process that executes another program gets another
 * entry.
 *
 * The owner of the files can write anything there at any moment. Everything is copied out first and
 * then checked, positions only move forward, and records that no probe can have written are skipped
 * and counted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "spool/layout.h"

struct reader_process {
    struct spool_process seen;
    char *command;
    uint64_t pid_space;
    bool has_header;
    bool superseded; /* the process has executed another program */
};

struct reader_text {
    char *data;
    uint32_t length;
};

struct reader_lane {
    unsigned process;
    uint32_t next;             /* sequence number of the current or next segment */
    uint32_t at;               /* bytes of it already read */
    bool waiting;              /* a later segment exists, but not the next one */
    bool broken;               /* damaged: not read any further */
    struct reader_text *texts; /* by number */
    size_t texts_capacity, text_count;
};

struct spool_reader {
    char *folder;
    uint64_t pid_space;
    struct reader_process **processes;
    size_t process_count, processes_capacity;
    struct reader_lane **lanes;
    size_t lane_count, lanes_capacity;
    struct map process_numbers; /* hash of pid and start -> number */
    struct map lane_numbers;    /* process << 32 | lane -> number */
    uint64_t damaged;
    unsigned char *records; /* copy of a segment's records */
};

/* A file of the folder, as parsed from its name. */
struct spool_entry {
    int64_t pid, start;
    uint32_t lane, number; /* of a segment */
    bool is_header;
    unsigned process; /* number in the reader */
};

enum { ENTRY_NAME_MAX = 96 };

/* ---- Files of the folder ----------------------------------------------------------------- */

/* Parses the digits before `end` and removes both from the front of the name. */
static bool take_number(struct text *name, const char *end, int64_t *number) {
    ptrdiff_t length = text_find(*name, end);
    if (length <= 0 || name->data[0] < '0' || name->data[0] > '9' ||
        !text_to_i64((struct text){name->data, (size_t)length}, number))
        return false;
    size_t taken = (size_t)length + strlen(end);
    *name = (struct text){name->data + taken, name->length - taken};
    return true;
}

/* False when it is not a file of the spool. */
static bool entry_parse(struct text name, struct spool_entry *entry) {
    int64_t lane = 0, number = 0;
    *entry = (struct spool_entry){0};
    if (!take_number(&name, "-", &entry->pid))
        return false;
    entry->is_header = text_find(name, "-") < 0;
    if (entry->is_header)
        return take_number(&name, ".head", &entry->start) && name.length == 0;
    if (!take_number(&name, "-", &entry->start) || !take_number(&name, "-", &lane) ||
        !take_number(&name, ".seg", &number) || name.length > 0)
        return false;
    if (lane >= SPOOL_LANES || number > UINT32_MAX)
        return false;
    entry->lane = (uint32_t)lane;
    entry->number = (uint32_t)number;
    return true;
}

static const char *entry_name(const struct spool_entry *entry, char *name) {
    if (entry->is_header)
        snprintf(name, ENTRY_NAME_MAX, "%lld-%lld.head", (long long)entry->pid,
                 (long long)entry->start);
    else
        snprintf(name, ENTRY_NAME_MAX, "%lld-%lld-%u-%u.seg", (long long)entry->pid,
                 (long long)entry->start, entry->lane, entry->number);
    return name;
}

static int compare_integers(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* Processes by start time, headers before segments. */
static int compare_entries(const void *left, const void *right) {
    const struct spool_entry *a = left, *b = right;
    int order = compare_integers(a->start, b->start);
    order = order ? order : compare_integers(a->pid, b->pid);
    order = order ? order : compare_integers(b->is_header, a->is_header);
    order = order ? order : compare_integers(a->lane, b->lane);
    return order ? order : compare_integers(a->number, b->number);
}

/* All files of the spool, sorted by process, lane and number. Free with memory_free(). */
static bool entries_list(const char *folder, struct spool_entry **entries, size_t *count,
                         struct status *status) {
    struct spool_entry entry, *list = NULL;
    size_t length = 0, capacity = 0;
    DIR *directory = opendir(folder);
    if (!directory)
        return status_fail_errno(status, "cannot list the spool %s", folder);
    bool ok = true;
    for (struct dirent *file; ok && (file = readdir(directory));) {
        if (!entry_parse(text_of(file->d_name), &entry))
            continue;
        ok = GROW(list, &capacity, length + 1, status);
        if (ok)
            list[length++] = entry;
    }
    closedir(directory);
    if (!ok) {
        memory_free(list);
        return false;
    }
    if (length > 0)
        qsort(list, length, sizeof *list, compare_entries);
    *entries = list;
    *count = length;
    return true;
}

/* Opens a file for reading and writing; -1 unless it is a regular file of this user with a size of
 * `bytes_min` to `bytes_max`. */
static int entry_open(int folder, const struct spool_entry *entry, uint64_t bytes_min,
                      uint64_t bytes_max, uint64_t *bytes) {
    char name[ENTRY_NAME_MAX];
    struct stat info;
    int fd = openat(folder, entry_name(entry, name), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (uint64_t)info.st_size < bytes_min || (uint64_t)info.st_size > bytes_max) {
        close(fd);
        return -1;
    }
    *bytes = (uint64_t)info.st_size;
    return fd;
}

/* ---- Lanes ------------------------------------------------------------------------------- */

struct segment_state {
    uint32_t sequence, used, bytes;
    bool released, marked;
};

static const uint16_t min_bytes[SPOOL_KINDS] = {
    [SPOOL_END] = sizeof(struct spool_head),
    [SPOOL_TEXT] = sizeof(struct spool_text),
    [SPOOL_THREAD] = sizeof(struct spool_thread),
    [SPOOL_CALL] = sizeof(struct spool_call),
    [SPOOL_KERNEL] = sizeof(struct spool_kernel),
    [SPOOL_COPY] = sizeof(struct spool_copy),
    [SPOOL_RANGE] = sizeof(struct spool_range),
    [SPOOL_RANGE_OPEN] = sizeof(struct spool_range),
    [SPOOL_RANGE_END] = sizeof(struct spool_range),
    [SPOOL_MARK] = sizeof(struct spool_mark),
    [SPOOL_WAIT] = sizeof(struct spool_wait),
    [SPOOL_MEMORY] = sizeof(struct spool_memory),
    [SPOOL_DEVICE] = sizeof(struct spool_device),
    [SPOOL_QUEUE] = sizeof(struct spool_queue),
    [SPOOL_CLOCK] = sizeof(struct spool_clock),
    [SPOOL_DROPPED] = sizeof(struct spool_dropped),
    [SPOOL_META] = sizeof(struct spool_meta),
    [SPOOL_PAUSED] = sizeof(struct spool_paused),
    [SPOOL_CODE] = sizeof(struct spool_code),
    [SPOOL_FRAME] = sizeof(struct spool_frame),
    [SPOOL_CODE_LINES] = sizeof(struct spool_code_lines),
    [SPOOL_QUEUE_RANGE] = sizeof(struct spool_queue_range),
    [SPOOL_ALLOCATION] = sizeof(struct spool_allocation),
    [SPOOL_COLLECTIVE] = sizeof(struct spool_collective),
};

/* The current state of a segment; sequence 0 when it is invalid. */
static struct segment_state read_segment_state(int folder, const struct spool_entry *entry) {
    struct spool_segment segment;
    struct segment_state seen = {0};
    uint64_t bytes;
    int fd = entry_open(folder, entry, SPOOL_SEGMENT_MIN, SPOOL_SEGMENT_BYTES, &bytes);
    if (fd < 0)
        return seen;
    if (pread(fd, &segment, sizeof segment, 0) == (ssize_t)sizeof segment &&
        memcmp(segment.magic, SPOOL_SEGMENT_MAGIC, sizeof segment.magic) == 0 &&
        segment.version == SPOOL_VERSION && segment.bytes == bytes && segment.lane == entry->lane &&
        segment.number == entry->number) {
        uint64_t word = segment.published;
        seen.sequence = spool_published_sequence(word);
        seen.used = spool_published_used(word);
        seen.bytes = segment.bytes;
        seen.released = segment.released != 0;
        seen.marked = segment.drained == seen.sequence;
    }
    close(fd);
    return seen;
}

/* Copies the records of the segment from `at` on; false on failure. */
static bool copy_records(struct spool_reader *reader, int folder, const struct spool_entry *entry,
                         const struct segment_state *seen, uint32_t at) {
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

/* Allows the writer to reuse the segment. */
static void mark_drained(int folder, const struct spool_entry *entry, uint64_t sequence) {
    uint64_t bytes;
    int fd = entry_open(folder, entry, SPOOL_SEGMENT_MIN, SPOOL_SEGMENT_BYTES, &bytes);
    if (fd < 0)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    ssize_t written = pwrite(fd, &sequence, sizeof sequence, SPOOL_DRAINED_AT);
    (void)written; /* it is repeated at the next drain */
    close(fd);
}

static bool store_text(struct reader_lane *lane, const struct spool_text *record,
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

static bool is_valid_text(const struct spool_text *record) {
    return record->head.text >= 1 && record->head.text <= SPOOL_TEXTS &&
           record->length <= SPOOL_TEXT_MAX &&
           record->length <= record->head.bytes - sizeof *record;
}

/* Passes the copied records to the sink. *ended: the segment is complete. */
static bool deliver_records(struct spool_reader *reader, unsigned number, uint32_t length,
                            bool *ended, spool_sink *sink, void *context, struct status *status) {
    struct reader_lane *lane = reader->lanes[number];
    *ended = false;
    for (uint32_t at = 0; at < length;) {
        const struct spool_head *record = (const void *)(reader->records + at);
        if (record->bytes < sizeof *record || record->bytes % 8 != 0 ||
            record->bytes > length - at) {
            reader->damaged++;
            return true; /* later publications start at a record again */
        }
        at += record->bytes;
        if (record->kind == SPOOL_END) {
            *ended = true;
            return true;
        }
        if (record->kind >= SPOOL_KINDS || record->bytes < min_bytes[record->kind] ||
            (record->kind == SPOOL_TEXT && !is_valid_text((const void *)record))) {
            reader->damaged++;
            continue;
        }
        if (record->kind == SPOOL_TEXT && !store_text(lane, (const void *)record, status))
            return false;
        if (!sink(context, lane->process, number, record, status))
            return false;
    }
    return true;
}

/* The index of the segment with that sequence number, or `count`. */
static size_t find_sequence(const struct segment_state *seen, size_t count, uint32_t sequence) {
    size_t i = 0;
    while (i < count && (seen[i].sequence != sequence || sequence == 0))
        i++;
    return i;
}

/* The lowest sequence number after `next`, or 0. */
static uint32_t later_sequence(const struct segment_state *seen, size_t count, uint32_t next) {
    uint32_t lowest = 0;
    for (size_t i = 0; i < count; i++)
        if (seen[i].sequence > next && (lowest == 0 || seen[i].sequence < lowest))
            lowest = seen[i].sequence;
    return lowest;
}

/* The writer ends a segment before it begins the next, so an end (or a segment) that is still
 * missing at the second attempt is lost. True when reading continues after the gap. */
static bool skip_gap(struct spool_reader *reader, struct reader_lane *lane,
                     const struct segment_state *seen, size_t count, bool is_last) {
    uint32_t later = later_sequence(seen, count, lane->next);
    if (later == 0)
        return false;
    if (!lane->waiting && !is_last) {
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
                          const struct spool_entry *entries, struct segment_state *seen,
                          size_t count, bool is_last, spool_sink *sink, void *context,
                          struct status *status) {
    struct reader_lane *lane = reader->lanes[number];
    while (!lane->broken) {
        size_t i = find_sequence(seen, count, lane->next);
        if (i == count) {
            if (!skip_gap(reader, lane, seen, count, is_last))
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
        if (!deliver_records(reader, number, length, &ended, sink, context, status))
            return false;
        if (!ended && !skip_gap(reader, lane, seen, count, is_last))
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
                            const struct spool_entry *entries, const struct segment_state *seen,
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

/* Reads the lane's segments. `is_last`: its process has ended. */
static bool lane_drain(struct spool_reader *reader, unsigned number, int folder,
                       const struct spool_entry *entries, size_t count, bool is_last,
                       spool_sink *sink, void *context, struct status *status) {
    struct segment_state *seen = memory_allocate(count, sizeof *seen, status);
    if (!seen)
        return false;
    for (size_t i = 0; i < count; i++)
        seen[i] = read_segment_state(folder, &entries[i]);
    bool ok =
        read_segments(reader, number, folder, entries, seen, count, is_last, sink, context, status);
    if (ok)
        remove_released(reader->lanes[number], folder, entries, seen, count);
    memory_free(seen);
    return ok;
}

/* ---- Processes --------------------------------------------------------------------------- */

struct spool_reader *spool_reader_open(const char *folder, struct status *status) {
    struct stat info;
    if (stat(folder, &info) != 0) {
        status_fail_errno(status, "cannot open the spool %s", folder);
        return NULL;
    }
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
        status_fail(status, STATUS_IO,
                    "the spool %s is not a private folder of this user; chmod 700 it, or choose "
                    "another",
                    folder);
        return NULL;
    }
    struct spool_reader *reader = memory_allocate(1, sizeof *reader, status);
    if (!reader)
        return NULL;
    reader->pid_space = spool_pid_space();
    reader->folder = text_copy(text_of(folder), status);
    reader->records = memory_allocate(1, SPOOL_SEGMENT_BYTES, status);
    if (reader->folder && reader->records)
        return reader;
    spool_reader_close(reader);
    return NULL;
}

static bool find_process(struct spool_reader *reader, const struct spool_entry *entry,
                         unsigned *number, struct status *status) {
    int64_t name[2] = {entry->pid, entry->start};
    uint64_t key = checksum64(name, sizeof name);
    const uint64_t *known = map_find(&reader->process_numbers, key);
    if (known) {
        *number = (unsigned)*known;
        return true;
    }
    if (!GROW(reader->processes, &reader->processes_capacity, reader->process_count + 1, status))
        return false;
    struct reader_process *process = memory_allocate(1, sizeof *process, status);
    if (!process || !map_set(&reader->process_numbers, key, reader->process_count, status)) {
        memory_free(process);
        return false;
    }
    process->seen.pid = entry->pid;
    process->seen.start = entry->start;
    process->seen.command = TEXT("");
    *number = (unsigned)reader->process_count;
    reader->processes[reader->process_count++] = process;
    return true;
}

static bool find_lane(struct spool_reader *reader, const struct spool_entry *entry,
                      unsigned *number, struct status *status) {
    uint64_t key = (uint64_t)entry->process << 32 | entry->lane;
    const uint64_t *known = map_find(&reader->lane_numbers, key);
    if (known) {
        *number = (unsigned)*known;
        return true;
    }
    if (!GROW(reader->lanes, &reader->lanes_capacity, reader->lane_count + 1, status))
        return false;
    struct reader_lane *lane = memory_allocate(1, sizeof *lane, status);
    if (!lane || !map_set(&reader->lane_numbers, key, reader->lane_count, status)) {
        memory_free(lane);
        return false;
    }
    lane->process = entry->process;
    lane->next = 1;
    *number = (unsigned)reader->lane_count;
    reader->lanes[reader->lane_count++] = lane;
    return true;
}

static bool store_command(struct reader_process *process, const struct spool_header *header,
                          struct status *status) {
    size_t length = header->command_length;
    if (process->command || length == 0 || length > SPOOL_COMMAND_MAX)
        return true;
    process->command = text_copy((struct text){header->command, length}, status);
    if (!process->command)
        return false;
    process->seen.command = (struct text){process->command, length};
    return true;
}

/* Reads the header, and writes the time of this drain to it. */
static bool read_header(struct spool_reader *reader, int folder, const struct spool_entry *entry,
                        struct status *status) {
    struct reader_process *process = reader->processes[entry->process];
    struct spool_header header;
    uint64_t bytes;
    int64_t now = clock_now();
    int fd = entry_open(folder, entry, sizeof header, sizeof header, &bytes);
    if (fd < 0)
        return true;
    bool ok = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
              memcmp(header.magic, SPOOL_HEAD_MAGIC, sizeof header.magic) == 0 &&
              header.version == SPOOL_VERSION && header.pid == entry->pid &&
              pwrite(fd, &now, sizeof now, offsetof(struct spool_header, reader_seen_at)) ==
                  (ssize_t)sizeof now;
    close(fd);
    if (!ok)
        return true;
    process->has_header = true;
    process->pid_space = header.pid_space;
    process->seen.ended = header.ended != 0;
    process->seen.ready = header.ready != 0;
    process->seen.dropped = header.dropped;
    return store_command(process, &header, status);
}

static bool has_ended(const struct spool_reader *reader, const struct reader_process *process) {
    if (!process->has_header || process->pid_space != reader->pid_space)
        return false;
    if (process->superseded)
        return true;
    return process->seen.pid > 1 && kill((pid_t)process->seen.pid, 0) != 0 && errno == ESRCH;
}

/* A process runs one program at a time. Entries are sorted by start time. */
static void find_superseded(struct spool_reader *reader, const struct spool_entry *entries,
                            size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct reader_process *process = reader->processes[entries[i].process];
        for (size_t k = i + 1; k < count && entries[i].is_header && !process->superseded; k++)
            process->superseded =
                entries[k].is_header && entries[k].pid == entries[i].pid &&
                reader->processes[entries[k].process]->has_header &&
                reader->processes[entries[k].process]->pid_space == process->pid_space;
    }
}

static bool read_processes(struct spool_reader *reader, int folder, struct spool_entry *entries,
                           size_t count, struct status *status) {
    for (size_t i = 0; i < count; i++)
        if (!find_process(reader, &entries[i], &entries[i].process, status) ||
            (entries[i].is_header && !read_header(reader, folder, &entries[i], status)))
            return false;
    find_superseded(reader, entries, count);
    return true;
}

static size_t end_of_lane(const struct spool_entry *entries, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && entries[end].process == entries[first].process &&
           !entries[end].is_header && entries[end].lane == entries[first].lane)
        end++;
    return end;
}

static size_t end_of_process(const struct spool_entry *entries, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && entries[end].process == entries[first].process)
        end++;
    return end;
}

static void remove_files(int folder, const struct spool_entry *entries, size_t count) {
    char name[ENTRY_NAME_MAX];
    for (size_t i = 0; i < count; i++)
        unlinkat(folder, entry_name(&entries[i], name), 0);
}

static bool drain_process(struct spool_reader *reader, int folder,
                          const struct spool_entry *entries, size_t count, spool_sink *sink,
                          void *context, struct status *status) {
    size_t at = 0;
    /* checked before reading: a process that has ended cannot write any more */
    bool ended = has_ended(reader, reader->processes[entries[0].process]);
    if (ended && entries[0].is_header && !read_header(reader, folder, &entries[0], status))
        return false;
    while (at < count && entries[at].is_header)
        at++;
    while (at < count) {
        size_t end = end_of_lane(entries, count, at);
        unsigned lane;
        if (!find_lane(reader, &entries[at], &lane, status) ||
            !lane_drain(reader, lane, folder, entries + at, end - at, ended, sink, context, status))
            return false;
        at = end;
    }
    if (ended)
        remove_files(folder, entries, count);
    return true;
}

static int open_folder(const struct spool_reader *reader) {
    return open(reader->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A segment created after the listing is found at the next drain. Processes are therefore checked
 * for their end only after the listing. */
bool spool_reader_drain(struct spool_reader *reader, spool_sink *sink, void *context,
                        struct status *status) {
    struct spool_entry *entries;
    size_t count;
    int folder = open_folder(reader);
    if (folder < 0)
        return status_fail_errno(status, "cannot open the spool %s", reader->folder);
    bool ok = entries_list(reader->folder, &entries, &count, status);
    if (ok) {
        ok = read_processes(reader, folder, entries, count, status);
        for (size_t at = 0; ok && at < count;) {
            size_t end = end_of_process(entries, count, at);
            ok = drain_process(reader, folder, entries + at, end - at, sink, context, status);
            at = end;
        }
        memory_free(entries);
    }
    close(folder);
    return ok;
}

bool spool_reader_poll(struct spool_reader *reader, struct status *status) {
    struct spool_entry *entries;
    size_t count;
    int folder = open_folder(reader);
    if (folder < 0)
        return status_fail_errno(status, "cannot open the spool %s", reader->folder);
    bool ok = entries_list(reader->folder, &entries, &count, status);
    if (ok) {
        ok = read_processes(reader, folder, entries, count, status);
        memory_free(entries);
    }
    close(folder);
    return ok;
}

/* Sets a word of the header, at this offset. */
static void set_word(int folder, const struct spool_entry *entry, size_t offset) {
    uint64_t bytes;
    uint32_t one = 1;
    int fd =
        entry_open(folder, entry, sizeof(struct spool_header), sizeof(struct spool_header), &bytes);
    if (fd < 0)
        return;
    ssize_t written = pwrite(fd, &one, sizeof one, (off_t)offset);
    (void)written; /* on failure it continues until its limit */
    close(fd);
}

/* `removes`: the files, too. */
static void set_words(struct spool_reader *reader, size_t offset, bool removes) {
    struct status status;
    struct spool_entry *entries;
    size_t count;
    int folder = open_folder(reader);
    if (folder < 0)
        return;
    if (entries_list(reader->folder, &entries, &count, &status)) {
        for (size_t i = 0; i < count; i++)
            if (entries[i].is_header)
                set_word(folder, &entries[i], offset);
        if (removes)
            remove_files(folder, entries, count);
        memory_free(entries);
    }
    close(folder);
}

void spool_reader_finish(struct spool_reader *reader) {
    set_words(reader, offsetof(struct spool_header, finish), false);
}

void spool_reader_close(struct spool_reader *reader) {
    if (!reader)
        return;
    if (reader->folder)
        set_words(reader, offsetof(struct spool_header, stopped), true);
    for (size_t i = 0; i < reader->process_count; i++) {
        memory_free(reader->processes[i]->command);
        memory_free(reader->processes[i]);
    }
    for (size_t i = 0; i < reader->lane_count; i++) {
        for (size_t k = 0; k < reader->lanes[i]->text_count; k++)
            memory_free(reader->lanes[i]->texts[k].data);
        memory_free(reader->lanes[i]->texts);
        memory_free(reader->lanes[i]);
    }
    map_finish(&reader->process_numbers);
    map_finish(&reader->lane_numbers);
    memory_free(reader->processes);
    memory_free(reader->lanes);
    memory_free(reader->records);
    memory_free(reader->folder);
    memory_free(reader);
}

struct text spool_reader_text(const struct spool_reader *reader, unsigned lane, uint32_t number) {
    if (lane >= reader->lane_count || number >= reader->lanes[lane]->text_count ||
        !reader->lanes[lane]->texts[number].data)
        return TEXT("");
    const struct reader_text *text = &reader->lanes[lane]->texts[number];
    return (struct text){text->data, text->length};
}

const struct spool_process *spool_reader_process(const struct spool_reader *reader,
                                                 unsigned process) {
    return process < reader->process_count ? &reader->processes[process]->seen : NULL;
}

unsigned spool_reader_processes(const struct spool_reader *reader) {
    return (unsigned)reader->process_count;
}

uint64_t spool_reader_damaged(const struct spool_reader *reader) {
    return reader->damaged;
}
