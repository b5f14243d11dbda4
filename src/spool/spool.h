/* The spool: how what happens in a recorded process gets out of it.
 *
 * The probe (src/probe) runs inside other people's programs and must cost them next to nothing, so
 * it only puts small fixed records into memory that it shares with the recorder (src/record): files
 * in a private folder, mapped by both. What a thread has put there survives the process, however
 * that ends. The recorder drains them all the time and writes the trace.
 *
 * A lane is what one thread (or CUPTI's own) writes: a chain of segments, each a file of fixed
 * length whose blocks are allocated before it is mapped, so that a full disk is an error here and
 * not a SIGBUS there. The writer publishes by storing the number of bytes in use, after the bytes;
 * the reader says which segments it is done with, and the writer fills those again, so that two
 * serve a lane for hours when the recorder keeps up. When there is no room (the disk, a limit, a
 * recorder that is gone) records are dropped and counted in the process's header file.
 * src/spool/layout.h has the bytes.
 *
 * Names: PID-START.head (one a process), PID-START-LANE-NUMBER.seg. Everything is created with mode
 * 0600 and O_EXCL in the folder that the environment variable RIDGE_SPOOL names, which must be the
 * user's own with mode 0700.
 */
#ifndef RIDGE_SPOOL_SPOOL_H
#define RIDGE_SPOOL_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"
#include "base/text.h"

#define SPOOL_VARIABLE "RIDGE_SPOOL" /* the folder */
#define SPOOL_OPTIONS "RIDGE_PROBE"  /* what to record: see src/probe/probe.h */
enum {
    SPOOL_VERSION = 2,
    SPOOL_SEGMENT_BYTES = 1 << 20, /* the longest; a lane's first ones are shorter */
    SPOOL_RECORD_MAX = 8192,
    SPOOL_TEXT_MAX = 4096,
    SPOOL_TEXTS = 1 << 15, /* that a lane knows at a time: their numbers are 1 .. SPOOL_TEXTS */
};

/* The clock of every record. */
static inline int64_t spool_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Records ---------------------------------------------------------------------------- */

enum spool_kind {
    SPOOL_END,        /* nothing follows in this segment */
    SPOOL_TEXT,       /* a text and its number, before its first use in this lane. A lane that has
                         seen very many texts gives their numbers to others */
    SPOOL_THREAD,     /* this lane's records are of that thread from here on */
    SPOOL_CALL,       /* struct spool_call */
    SPOOL_KERNEL,     /* struct spool_kernel */
    SPOOL_COPY,       /* struct spool_copy: copies and sets */
    SPOOL_RANGE,      /* struct spool_range: complete */
    SPOOL_RANGE_OPEN, /* a range that has begun: its end may come, or the process may end first */
    SPOOL_RANGE_END,
    SPOOL_MARK,
    SPOOL_WAIT,   /* a synchronisation as the driver recorded it */
    SPOOL_MEMORY, /* struct spool_memory */
    SPOOL_DEVICE, /* struct spool_device: before its first activity */
    SPOOL_QUEUE,
    SPOOL_CLOCK,   /* the device's clock against CLOCK_MONOTONIC, with an error bound */
    SPOOL_DROPPED, /* so many records of the source were lost, and why */
    SPOOL_META,    /* key and value */
    SPOOL_PAUSED,  /* struct spool_paused: nothing of the process is recorded meanwhile */
    SPOOL_KINDS
};

/* Begins every record. `bytes` counts it whole and is a multiple of 8. */
struct spool_head {
    uint16_t kind, bytes;
    uint32_t text; /* the number of its name, or 0 */
};

/* All times are nanoseconds on CLOCK_MONOTONIC. */
struct spool_text {
    struct spool_head head; /* head.text: the number that it gets */
    uint32_t length;        /* the bytes follow, then zeros */
};
/* The thread that this lane's records are of from here on, and its name; text 0: no name is known,
 * or as before. A thread that names another switches to that one's tid and at once back. */
struct spool_thread {
    struct spool_head head;
    int64_t tid;
};
/* A call of more than four seconds is two records: one with the duration UINT32_MAX, and one with
 * the class SPOOL_CALL_END, whose start is the call's end. */
enum { SPOOL_CALL_END = 255 };
struct spool_call {
    struct spool_head head;
    int64_t start;
    uint32_t duration; /* UINT32_MAX: see above */
    uint32_t correlation;
    int32_t result;
    uint8_t class; /* enum call_class of trace/schema.h */
    uint8_t unused[3];
};
struct spool_kernel {
    struct spool_head head;
    int64_t start, end;
    uint32_t correlation, device, context, stream;
    uint32_t grid[3], block[3];
    uint32_t registers, shared_static, shared_dynamic;
    uint32_t graph; /* 0: not of a graph */
    uint64_t graph_node;
};
struct spool_copy {
    struct spool_head head;
    int64_t start, end;
    uint64_t bytes;
    uint32_t correlation, device, context, stream;
    uint8_t is_set, direction, from_memory, to_memory; /* as in trace/schema.h */
    uint32_t graph;
};
enum spool_payload {
    SPOOL_PAYLOAD_NONE,
    SPOOL_PAYLOAD_SIGNED,
    SPOOL_PAYLOAD_UNSIGNED,
    SPOOL_PAYLOAD_DOUBLE /* its bits */
};
struct spool_range {
    struct spool_head head;
    int64_t start, end;           /* SPOOL_RANGE_OPEN has only start, SPOOL_RANGE_END only end */
    uint64_t id;                  /* joins an open range with its end, in another lane perhaps (and
                                     then drained before it); unique in the process; 0: complete */
    uint32_t domain;              /* number of a text, or 0 */
    uint32_t category;            /* likewise */
    int64_t payload;              /* as has_payload says */
    uint32_t has_payload, colour; /* enum spool_payload; ARGB, 0: none */
};
struct spool_mark {
    struct spool_head head;
    int64_t time;
    uint32_t domain, category;
    int64_t payload;
    uint32_t has_payload, colour;
};
struct spool_wait {
    struct spool_head head;
    int64_t start, end;
    uint32_t correlation, device, context, stream, kind, event;
    uint32_t awaited_device, awaited_context, awaited_stream, record_correlation;
};
struct spool_memory {
    struct spool_head head;
    int64_t time;
    uint64_t bytes, address;
    uint32_t device; /* 0: host, else index + 1 */
    uint8_t released, memory_kind, unused[2];
    int64_t tid; /* of the thread that asked for it; 0: not known */
};
struct spool_device {
    struct spool_head head; /* its name */
    uint32_t index, multiprocessors, clock_khz, major, minor, warp, threads_per_multiprocessor,
        registers_per_multiprocessor, shared_per_multiprocessor, blocks_per_multiprocessor,
        shared_per_block_reserved, unused;
    uint64_t memory_bytes, bandwidth;
    uint8_t uuid[16];
};
struct spool_queue {
    struct spool_head head;
    uint32_t device, context, stream, priority;
};
struct spool_clock {
    struct spool_head head;
    int64_t time, error_ns;
};
struct spool_dropped {
    struct spool_head head; /* why */
    uint64_t count;
};
struct spool_meta {
    struct spool_head head; /* the key */
    uint32_t value, unused; /* number of a text */
};
/* Told twice: when the pause begins, without an end, and when it is over. */
struct spool_paused {
    struct spool_head head;
    int64_t start, end; /* end 0: it goes on */
};

/* ---- Writing, inside the target ---------------------------------------------------------- */

struct spool;      /* a process's */
struct spool_lane; /* a thread's */

/* Nothing here prints, allocates with malloc(), raises a signal, keeps a descriptor open or changes
 * errno, and nothing waits for anybody. */

/* Takes the folder from the environment. NULL when nothing is to be recorded or it cannot be; then
 * nothing has happened. */
struct spool *spool_open(void);
/* The most bytes of files that the process may have at a time. */
void spool_limit(struct spool *spool, uint64_t bytes);
/* In a child of fork(): a spool of its own under its own pid; the parent's is left alone. All lanes
 * are gone. False when it cannot be: every later record is then dropped. */
bool spool_reopen(struct spool *spool);
/* No thread may use a lane afterwards. */
void spool_close(struct spool *spool);

/* A lane of the calling thread, perhaps one that another has closed; NULL when there is no room.
 * The first thing to put there is a SPOOL_THREAD. Every function below takes a NULL lane. */
struct spool_lane *spool_lane_open(struct spool *spool);
/* For the next thread. Takes NULL. */
void spool_lane_close(struct spool *spool, struct spool_lane *lane);
/* Room for a record of `bytes` (with its head filled in, and otherwise not initialised), to be
 * completed and then published. NULL: dropped and counted; also when the lane has a record that is
 * begun and not published, which a signal handler interrupted. Only the lane's own thread calls
 * these. */
void *spool_begin(struct spool_lane *lane, enum spool_kind kind, uint32_t text, size_t bytes);
void spool_publish(struct spool_lane *lane);
/* The number of a text in this lane, 0 when it is empty or could not be put there; texts over
 * SPOOL_TEXT_MAX are cut. By content, or for texts that never change and never move by address,
 * which is quicker. Ask for the numbers before spool_begin(), all of a record's in a row. */
uint32_t spool_text(struct spool_lane *lane, struct text text);
uint32_t spool_constant(struct spool_lane *lane, const char *text);
void spool_drop(struct spool *spool, uint64_t records);
/* The recorder has closed: whatever is put here, nobody will read it. */
bool spool_is_stopped(const struct spool *spool);
/* Tells the recorder that the process ends in order. */
void spool_mark_ended(struct spool *spool);

/* ---- Reading, in the recorder ------------------------------------------------------------- */

struct spool_reader;

struct spool_process {
    int64_t pid, start;  /* CLOCK_MONOTONIC at its first record */
    struct text command; /* as in /proc, of the moment; may be empty */
    bool ended;          /* in order */
    uint64_t dropped;
};

/* Told of each record but SPOOL_END in the order of its lane. `process` and `lane` are small
 * numbers that never change; texts of a lane are looked up with spool_reader_text(), at once, as a
 * later SPOOL_TEXT may give the number to another. The record is a copy, as long as its struct at
 * least, and otherwise any bytes. Returns false to stop. */
typedef bool spool_sink(void *context, unsigned process, unsigned lane,
                        const struct spool_head *record, struct status *status);

struct spool_reader *spool_reader_open(const char *folder, struct status *status);
/* Takes NULL. Removes the files and tells processes that still write to stop. */
void spool_reader_close(struct spool_reader *reader);
/* Takes what is there: call it a few times a second and once when all processes have ended. Files
 * of processes that are gone are removed when they are drained. */
bool spool_reader_drain(struct spool_reader *reader, spool_sink *sink, void *context,
                        struct status *status);
struct text spool_reader_text(const struct spool_reader *reader, unsigned lane, uint32_t number);
/* Stays where it is until the reader is closed. */
const struct spool_process *spool_reader_process(const struct spool_reader *reader,
                                                 unsigned process);
unsigned spool_reader_processes(const struct spool_reader *reader);
/* Damage that was passed over: records that no probe can have written. */
uint64_t spool_reader_damaged(const struct spool_reader *reader);

#endif
