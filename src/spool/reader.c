/* The recorder's end of the spool: which processes and lanes there are, and reading them all.
 *
 * Each drain lists the folder anew and keeps no file open between two, so that any number of
 * processes and threads can come and go. A process that is gone is read once more and its files are
 * removed; pids are only believed within one namespace, and those that start another program get
 * another entry.
 */
#include "spool/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/memory.h"

struct spool_reader *spool_reader_open(const char *folder, struct status *status) {
    struct stat info;
    if (stat(folder, &info) != 0) {
        status_fail_errno(status, "cannot open the spool %s", folder);
        return NULL;
    }
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
        status_fail(status, STATUS_IO,
                    "the spool %s is not a folder that only its user may enter: 'chmod 700' it, or "
                    "choose another",
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

static bool keep_command(struct reader_process *process, const struct spool_header *header,
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

/* What the process says of itself; and tells it that somebody listens. */
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
              pwrite(fd, &now, sizeof now, offsetof(struct spool_header, listened_at)) ==
                  (ssize_t)sizeof now;
    close(fd);
    if (!ok)
        return true;
    process->has_header = true;
    process->pid_space = header.pid_space;
    process->seen.ended = header.ended != 0;
    process->seen.dropped = header.dropped;
    return keep_command(process, &header, status);
}

static bool is_gone(const struct spool_reader *reader, const struct reader_process *process) {
    if (!process->has_header || process->pid_space != reader->pid_space)
        return false;
    if (process->superseded)
        return true;
    return process->seen.pid > 1 && kill((pid_t)process->seen.pid, 0) != 0 && errno == ESRCH;
}

/* One process has one program at a time: entries are in the order of their start. */
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

static bool meet_processes(struct spool_reader *reader, int folder, struct spool_entry *entries,
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
    /* asked before anything is read: who was gone then cannot have written since */
    bool gone = is_gone(reader, reader->processes[entries[0].process]);
    if (gone && entries[0].is_header && !read_header(reader, folder, &entries[0], status))
        return false;
    while (at < count && entries[at].is_header)
        at++;
    while (at < count) {
        size_t end = end_of_lane(entries, count, at);
        unsigned lane;
        if (!find_lane(reader, &entries[at], &lane, status) ||
            !lane_drain(reader, lane, folder, entries + at, end - at, gone, sink, context, status))
            return false;
        at = end;
    }
    if (gone)
        remove_files(folder, entries, count);
    return true;
}

static int open_folder(const struct spool_reader *reader) {
    return open(reader->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A segment that was made after the folder was listed is found the next time, when its process may
 * be gone; so nobody is asked whether they are before the list is made. */
bool spool_reader_drain(struct spool_reader *reader, spool_sink *sink, void *context,
                        struct status *status) {
    struct spool_entry *entries;
    size_t count;
    int folder = open_folder(reader);
    if (folder < 0)
        return status_fail_errno(status, "cannot open the spool %s", reader->folder);
    bool ok = entries_list(reader->folder, &entries, &count, status);
    if (ok) {
        ok = meet_processes(reader, folder, entries, count, status);
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

static void request_stop(int folder, const struct spool_entry *entry) {
    uint64_t bytes;
    uint32_t stopped = 1;
    int fd =
        entry_open(folder, entry, sizeof(struct spool_header), sizeof(struct spool_header), &bytes);
    if (fd < 0)
        return;
    ssize_t written = pwrite(fd, &stopped, sizeof stopped, offsetof(struct spool_header, stopped));
    (void)written; /* then it goes on until its limit */
    close(fd);
}

static void leave_folder(struct spool_reader *reader) {
    struct status status;
    struct spool_entry *entries;
    size_t count;
    int folder = open_folder(reader);
    if (folder < 0)
        return;
    if (entries_list(reader->folder, &entries, &count, &status)) {
        for (size_t i = 0; i < count; i++)
            if (entries[i].is_header)
                request_stop(folder, &entries[i]);
        remove_files(folder, entries, count);
        memory_free(entries);
    }
    close(folder);
}

void spool_reader_close(struct spool_reader *reader) {
    if (!reader)
        return;
    if (reader->folder)
        leave_folder(reader);
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
