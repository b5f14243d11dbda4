/* The format of a spool's files, shared by writer and reader.
 *
 * Both sides are of one build on one machine, so the structs are the format. The writer maps the
 * files. The reader uses pread() and pwrite() only: the owner of a file can truncate it, and access
 * to a truncated mapping raises SIGBUS.
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
    SPOOL_DATA = 256, /* offset of the records in a segment */
    SPOOL_SEGMENT_MIN = 64 << 10,
    SPOOL_LANES = 1 << 16, /* per process */
};

/* PID-START.head */
struct spool_header {
    char magic[8];
    uint32_t version, command_length;
    int64_t pid, start;
    uint64_t pid_space; /* pid namespace, in which the pid is valid */
    _Atomic uint64_t dropped;
    _Atomic uint32_t ended;
    _Atomic uint32_t stopped;       /* set by the reader: it has stopped reading */
    _Atomic int64_t reader_seen_at; /* set by the reader: time of its last drain */
    _Atomic uint32_t ready;         /* the process records everything that it can */
    _Atomic uint32_t finish;        /* set by the reader: write what is left and end */
    char command[SPOOL_COMMAND_MAX];
};

/* PID-START-LANE-NUMBER.seg. Drained segments are reused, so the sequence number identifies which
 * part of the lane's stream a segment holds. Sequence numbers start with 1. One word holds the
 * sequence number and the bytes in use, so that both are read together. */
struct spool_segment {
    char magic[8];
    uint32_t version, bytes; /* of the file */
    uint32_t lane, number;
    _Atomic uint64_t published; /* sequence << 32 | bytes in use from SPOOL_DATA on */
    _Atomic uint32_t released;  /* the writer will not reuse it */
    uint32_t unused[23];
    _Atomic uint64_t
        drained; /* set by the reader: the sequence number that it has read completely */
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

_Static_assert(sizeof(struct spool_segment) <= SPOOL_DATA, "records follow the header");
_Static_assert(SPOOL_RECORD_MAX < SPOOL_SEGMENT_MIN / 2, "every record fits into every segment");

/* The inode of this process's pid namespace; 0 without namespaces. */
uint64_t spool_pid_space(void);

#endif
