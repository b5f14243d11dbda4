/* The bytes of a spool's files, for the writer and the reader.
 *
 * Both are of one build on one machine, so the structs are the format. The writer maps the files.
 * The reader only ever reads and writes them as files: what is mapped can be cut short by anybody
 * who owns it, and that is a signal for whoever touches it next.
 */
#ifndef RIDGE_SPOOL_LAYOUT_H
#define RIDGE_SPOOL_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "spool/spool.h"

#define SPOOL_HEAD_MAGIC "ridgehd1"
#define SPOOL_SEGMENT_MAGIC "ridgesg1"
enum {
    SPOOL_COMMAND_MAX = 3968,
    SPOOL_DATA = 256, /* where a segment's records begin */
    SPOOL_SEGMENT_MIN = 64 << 10,
    SPOOL_LANES = 1 << 16, /* of a process */
};

/* PID-START.head */
struct spool_header {
    char magic[8];
    uint32_t version, command_length;
    int64_t pid, start;
    uint64_t pid_space; /* the pid means that process only to those of the same namespace */
    _Atomic uint64_t dropped;
    _Atomic uint32_t ended;
    _Atomic uint32_t stopped;       /* the reader's: nobody listens any more */
    _Atomic int64_t reader_seen_at; /* the reader's: when it last looked */
    char command[SPOOL_COMMAND_MAX];
};

/* PID-START-LANE-NUMBER.seg. A segment is filled again when the reader is done with it, so it is
 * its sequence that says which piece of the lane's stream it holds. Sequences start with 1; one
 * word has both the sequence and the bytes in use, so that they are always seen together. */
struct spool_segment {
    char magic[8];
    uint32_t version, bytes; /* of the file */
    uint32_t lane, number;
    _Atomic uint64_t published; /* sequence << 32 | bytes in use from SPOOL_DATA on */
    _Atomic uint32_t released;  /* the writer will not fill it again */
    uint32_t unused[23];
    _Atomic uint64_t drained; /* the reader's: the sequence that it has read to its end */
};

#define SPOOL_DRAINED_AT ((off_t)offsetof(struct spool_segment, drained))

static inline uint64_t spool_published(uint32_t sequence, uint32_t used) {
    return (uint64_t)sequence << 32 | used;
}
static inline uint32_t spool_published_sequence(uint64_t word) {
    return (uint32_t)(word >> 32);
}
static inline uint32_t spool_published_used(uint64_t word) {
    return (uint32_t)word;
}

_Static_assert(sizeof(struct spool_segment) <= SPOOL_DATA, "records begin behind the head");
_Static_assert(SPOOL_RECORD_MAX < SPOOL_SEGMENT_MIN / 2, "every record fits into every segment");

/* The inode of this process's pid namespace, 0 where there are none. */
uint64_t spool_pid_space(void);

#endif
