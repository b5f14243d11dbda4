/* What the reader's files share: what is known of processes and lanes, and what is in the folder.
 */
#ifndef RIDGE_SPOOL_READER_H
#define RIDGE_SPOOL_READER_H

#include "base/map.h"
#include "spool/layout.h"

struct reader_process {
    struct spool_process seen;
    char *command;
    uint64_t pid_space;
    bool has_header;
    bool superseded; /* the pid has another program by now */
};

struct reader_text {
    char *data;
    uint32_t length;
};

struct reader_lane {
    unsigned process;
    uint32_t next;             /* the sequence that is read, or comes next */
    uint32_t at;               /* bytes of it that are read */
    bool waiting;              /* a later sequence was there before the next one */
    bool broken;               /* nothing that makes sense can follow */
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
    unsigned char *records; /* a segment's, copied */
};

/* A file of the folder, by its name. */
struct spool_entry {
    int64_t pid, start;
    uint32_t lane, number; /* of a segment */
    bool is_header;
    unsigned process; /* the reader's number */
};

/* False when the name is not one of ours. */
bool entry_parse(struct text name, struct spool_entry *entry);
/* The name, in a buffer of ENTRY_NAME_MAX. */
enum { ENTRY_NAME_MAX = 96 };
const char *entry_name(const struct spool_entry *entry, char *name);
/* All files of ours, in the order of process, lane and number. Free with memory_free(). */
bool entries_list(const char *folder, struct spool_entry **entries, size_t *count,
                  struct status *status);
/* A file of ours in the folder, for reading and writing; -1 when it is not there or not a plain
 * file of this user's that is `bytes_min` to `bytes_max` long. */
int entry_open(int folder, const struct spool_entry *entry, uint64_t bytes_min, uint64_t bytes_max,
               uint64_t *bytes);

/* Reads what is in the lane's segments. `is_over`: its process writes no more. */
bool lane_drain(struct spool_reader *reader, unsigned lane, int folder,
                const struct spool_entry *entries, size_t count, bool is_over, spool_sink *sink,
                void *context, struct status *status);

#endif
