/* The spool: transfers records from a recorded process to the recorder.
 *
 * The probe (src/probe) runs inside other people's programs and must cost them next to nothing, so
 * it only writes small fixed-size records to files that it maps, in a private folder. What a thread
 * has written survives the process, however it ends. The recorder (src/record) reads the files all
 * the time and writes the trace.
 *
 * A lane is the stream of one thread, or of CUPTI's records: a chain of segments, each a file of
 * fixed length. The blocks of a segment are allocated before it is mapped, so that a full disk is
 * an error and not a SIGBUS. The writer stores the bytes first and then publishes their number. The
 * reader marks the segments that it has drained, and the writer reuses them, so that two segments
 * serve a lane for hours if the recorder keeps up. When there is no space (a full disk, a limit, a
 * dead recorder), records are dropped and counted in the process's header file. layout.h has the
 * file format.
 *
 * Names: PID-START.head (one per process), PID-START-LANE-NUMBER.seg. Files are created with mode
 * 0600 and O_EXCL in the folder $RIDGE_SPOOL, which must belong to the user and have mode 0700.
 */
#ifndef RIDGE_SPOOL_SPOOL_H
#define RIDGE_SPOOL_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"
#include "base/text.h"

#define SPOOL_VARIABLE "RIDGE_SPOOL" /* the folder */
#define SPOOL_OPTIONS "RIDGE_PROBE"  /* options of the probe, see probe/probe.h */
enum {
    SPOOL_VERSION = 4,
    SPOOL_SEGMENT_BYTES = 1 << 20, /* maximum; the first segments of a lane are shorter */
    SPOOL_RECORD_MAX = 8192,
    SPOOL_TEXT_MAX = 4096,
    SPOOL_TEXTS = 1 << 15, /* per lane at a time, numbered 1 .. SPOOL_TEXTS */
};

/* ---- Records ----------------------------------------------------------------------------- */

enum spool_kind {
    SPOOL_END,        /* end of the segment */
    SPOOL_TEXT,       /* a text and its number, before its first use in the lane. A lane with very
                         many texts reuses numbers */
    SPOOL_THREAD,     /* the following records belong to that thread */
    SPOOL_CALL,       /* struct spool_call */
    SPOOL_KERNEL,     /* struct spool_kernel */
    SPOOL_COPY,       /* struct spool_copy: copies and sets */
    SPOOL_RANGE,      /* struct spool_range: complete */
    SPOOL_RANGE_OPEN, /* the begin of a range, whose end may never come */
    SPOOL_RANGE_END,
    SPOOL_MARK,
    SPOOL_WAIT,   /* a synchronization */
    SPOOL_MEMORY, /* struct spool_memory */
    SPOOL_DEVICE, /* struct spool_device: before its first activity */
    SPOOL_QUEUE,
    SPOOL_CLOCK,   /* error bound of the device's clock against CLOCK_MONOTONIC */
    SPOOL_DROPPED, /* number of records lost by the source, and why */
    SPOOL_META,    /* key and value */
    SPOOL_PAUSED,  /* struct spool_paused: the process is not recorded */
    SPOOL_CODE,    /* struct spool_code: before its first frame in the lane */
    SPOOL_CODE_LINES,
    SPOOL_FRAME,       /* struct spool_frame: before the first record of that stack in the lane */
    SPOOL_QUEUE_RANGE, /* struct spool_queue_range: a label of a queue's work */
    SPOOL_ALLOCATION,  /* struct spool_allocation: a sampled allocation, or its release */
    SPOOL_COLLECTIVE,  /* struct spool_collective */
    SPOOL_KINDS
};

/* The head of every record. `bytes` is its total size, a multiple of 8. */
struct spool_head {
    uint16_t kind, bytes;
    uint32_t text; /* text number of its name, or 0 */
};

/* All times are nanoseconds on CLOCK_MONOTONIC. */
struct spool_text {
    struct spool_head head; /* head.text: its number */
    uint32_t length;        /* the bytes follow, padded with zeros */
};
/* The thread of the following records, and its name; text 0: unknown or unchanged. A thread that
 * names another one switches to that tid and back at once. */
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
    uint32_t class : 8;  /* enum call_class */
    uint32_t stack : 24; /* number of a frame, or 0 */
};
struct spool_kernel {
    struct spool_head head;
    int64_t start, end;
    uint32_t correlation, device, context, stream;
    uint32_t grid[3], block[3];
    uint32_t registers, shared_static, shared_dynamic;
    uint32_t graph;       /* 0: not part of a graph */
    uint32_t captured_by; /* correlation id of the call that captured it; 0: unknown */
    uint32_t padding;
};
/* A longer SPOOL_KERNEL, with an estimate of the kernel's work. */
struct spool_kernel_work {
    struct spool_kernel kernel;
    uint64_t bytes, flops; /* 0: unknown */
};
struct spool_copy {
    struct spool_head head;
    int64_t start, end;
    uint64_t bytes;
    uint32_t correlation, device, context, stream;
    uint8_t is_set, direction, from_memory, to_memory; /* enums of trace/schema.h */
    uint32_t graph, captured_by, padding;
};
enum spool_payload {
    SPOOL_PAYLOAD_NONE,
    SPOOL_PAYLOAD_SIGNED,
    SPOOL_PAYLOAD_UNSIGNED,
    SPOOL_PAYLOAD_DOUBLE /* bit pattern */
};
struct spool_range {
    struct spool_head head;
    int64_t start, end;          /* SPOOL_RANGE_OPEN has only start, SPOOL_RANGE_END only end */
    uint64_t id;                 /* joins begin and end, which may be in different lanes and be
                                    drained in either order; unique per process; 0: complete */
    uint32_t domain;             /* text number, or 0 */
    uint32_t category;           /* likewise */
    int64_t payload;             /* interpreted by has_payload */
    uint32_t has_payload, color; /* enum spool_payload; ARGB, 0: none */
};
struct spool_mark {
    struct spool_head head;
    int64_t time;
    uint32_t domain, category;
    int64_t payload;
    uint32_t has_payload, color;
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
    int64_t tid; /* of the calling thread; 0: unknown */
};
/* Each API numbers its devices from its own base. */
enum {
    SPOOL_DEVICES_EACH = 64,
    SPOOL_DEVICES_OPENCL = 64,
    SPOOL_DEVICES_VULKAN = 128,
    SPOOL_DEVICES_METAL = 192
};
struct spool_device {
    struct spool_head head; /* text: the name */
    uint32_t index, multiprocessors, clock_khz, major, minor, warp, threads_per_multiprocessor,
        registers_per_multiprocessor, shared_per_multiprocessor, blocks_per_multiprocessor,
        shared_per_block_reserved;
    uint32_t vendor; /* text number; 0: NVIDIA */
    uint32_t is_cpu, unused;
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
    struct spool_head head; /* text: the reason */
    uint64_t count;
};
struct spool_meta {
    struct spool_head head; /* text: the key */
    uint32_t value, unused; /* text number */
};
struct spool_allocation {
    struct spool_head head;
    int64_t time;
    uint64_t address, bytes; /* bytes that the sample stands for */
    uint32_t released, count;
    uint32_t stack, unused; /* number of a stack of the lane; 0: see `frames` */
    uint64_t frames[];      /* return addresses less one, innermost first */
};
/* A collective or message of MPI or gloo, on the thread that executed it. */
struct spool_collective {
    struct spool_head head; /* text: the function */
    int64_t start, end;
    uint64_t bytes, sequence;           /* UINT64_MAX and 0: unknown */
    uint32_t library, operation, group; /* text numbers */
    uint32_t group_size;                /* 0: unknown */
    int32_t group_rank, root, peer;     /* -1: unknown or none */
    uint32_t unused;
};
/* Written twice: without an end when the pause begins, and again when it ends. */
struct spool_paused {
    struct spool_head head;
    int64_t start, end; /* end 0: not ended */
};

/* How a code object of Python keeps its lines. */
enum spool_line_format {
    SPOOL_LNOTAB,    /* co_lnotab, to 3.9 */
    SPOOL_LINETABLE, /* co_linetable of 3.10 */
    SPOOL_LOCATIONS, /* co_linetable from 3.11 on */
    SPOOL_NATIVE,    /* a loaded program or library; its debug information has the lines */
    SPOOL_LINE_FORMATS
};
/* A Python code object, or a loaded ELF file, of which only the path is given. Its line table
 * follows in parts of SPOOL_CODE_LINES. Numbers of code objects and frames belong to the lane; a
 * lane may use a number again for another one. */
struct spool_code {
    struct spool_head head; /* text: the qualified name */
    uint32_t number;
    uint32_t file; /* text number */
    int32_t first_line;
    uint32_t format; /* enum spool_line_format */
    uint32_t table_bytes, unused;
};
struct spool_code_lines {
    struct spool_head head;
    uint32_t number, offset, bytes, unused; /* the bytes follow */
};
/* A stack: a frame and the stack of its caller. */
struct spool_frame {
    struct spool_head head;
    uint32_t number, parent; /* parent 0: the outermost frame */
    uint32_t code;
    int32_t offset; /* of the instruction, in bytes; SPOOL_NATIVE: unsigned, the return address
                       before relocation */
};

struct spool_queue_range {
    struct spool_head head; /* text: the name */
    int64_t start, end;
    uint32_t device, context, stream, unused;
};

/* ---- Writing, in the target -------------------------------------------------------------- */

struct spool;      /* a process's */
struct spool_lane; /* a thread's */

/* These functions never print, call malloc(), raise a signal, keep a descriptor open, change errno
 * or block. */

/* Opens the folder in the environment. NULL, without side effects, when there is none or it cannot
 * be used. */
struct spool *spool_open(void);
/* A spool without a folder: it is stopped, and stays valid until it is closed. */
struct spool *spool_create(void);
/* Writes to this folder from here on. The spool has none yet, or was detached. */
bool spool_attach(struct spool *spool, const char *folder);
/* Gives up the folder. With `unmaps` no thread may be using a lane, and all memory of lanes is
 * released; else it stays mapped and is not used again. */
void spool_detach(struct spool *spool, bool unmaps);
/* Limits the bytes of files that the process has at a time. */
void spool_limit(struct spool *spool, uint64_t bytes);
/* In a child of fork(): creates a spool for the child's pid. The parent's files are not touched,
 * and all lanes are closed. On failure every later record is dropped. */
bool spool_reopen(struct spool *spool);
/* No thread may use a lane afterwards. */
void spool_close(struct spool *spool);

/* Opens a lane for the calling thread, possibly one that another thread has closed; NULL when there
 * is no space. Its first record must be a SPOOL_THREAD. The functions below accept a NULL lane. */
struct spool_lane *spool_lane_open(struct spool *spool);
/* Makes the lane available to other threads. Takes NULL. */
void spool_lane_close(struct spool *spool, struct spool_lane *lane);
/* Begins a record of `bytes`: its head is filled in, the rest is uninitialized. Fill it in, then
 * publish it. NULL: dropped and counted; also when the lane has an unpublished record, which a
 * signal handler interrupted. To be called by the lane's own thread only. */
void *spool_begin(struct spool_lane *lane, enum spool_kind kind, uint32_t text, size_t bytes);
void spool_publish(struct spool_lane *lane);
/* The number of a text in this lane; 0 when it is empty or cannot be added. Texts longer than
 * SPOOL_TEXT_MAX are truncated. spool_text() compares contents; spool_constant() compares
 * addresses, which is faster, for texts that never change. Get all numbers of a record before
 * spool_begin(). */
uint32_t spool_text(struct spool_lane *lane, struct text text);
uint32_t spool_constant(struct spool_lane *lane, const char *text);
void spool_drop(struct spool *spool, uint64_t records);
/* The recorder has stopped reading. */
bool spool_is_stopped(const struct spool *spool);
/* The recorder wants the rest of the records, has stopped, or does not read any more. */
bool spool_is_finishing(const struct spool *spool);
/* Everything that the process can record is being recorded. */
void spool_mark_ready(struct spool *spool);
bool spool_is_ready(const struct spool *spool);
/* Marks a normal end of the process, or of its recording. */
void spool_mark_ended(struct spool *spool);

/* ---- Reading, in the recorder ------------------------------------------------------------ */

struct spool_reader;

struct spool_process {
    int64_t pid, start;  /* CLOCK_MONOTONIC at its first record */
    struct text command; /* from /proc/PID/cmdline; may be empty */
    bool ended;          /* normally */
    bool ready;          /* see spool_mark_ready() */
    uint64_t dropped;
};

/* Receives each record except SPOOL_END, in the order of its lane. `process` and `lane` are small
 * numbers that never change. Look up texts with spool_reader_text() at once, because a later
 * SPOOL_TEXT may reuse the number. The record is a copy, at least as long as its struct, with
 * untrusted content. Returns false to stop. */
typedef bool spool_sink(void *context, unsigned process, unsigned lane,
                        const struct spool_head *record, struct status *status);

struct spool_reader *spool_reader_open(const char *folder, struct status *status);
/* Takes NULL. Removes the files and requests running processes to stop. */
void spool_reader_close(struct spool_reader *reader);
/* Reads all published records. Call it a few times a second, and once after all processes have
 * ended. Files of ended processes are removed once they are drained. */
bool spool_reader_drain(struct spool_reader *reader, spool_sink *sink, void *context,
                        struct status *status);
/* Updates what is known of the processes, without reading records. */
bool spool_reader_poll(struct spool_reader *reader, struct status *status);
/* Requests all processes to write what is left and to end the recording. */
void spool_reader_finish(struct spool_reader *reader);
struct text spool_reader_text(const struct spool_reader *reader, unsigned lane, uint32_t number);
/* Valid until the reader is closed. */
const struct spool_process *spool_reader_process(const struct spool_reader *reader,
                                                 unsigned process);
unsigned spool_reader_processes(const struct spool_reader *reader);
/* The number of skipped records that no probe can have written. */
uint64_t spool_reader_damaged(const struct spool_reader *reader);

#endif
