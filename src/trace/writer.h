/* Writes a trace. All events in .ridge files are written here.
 *
 * Usable inside another program's process: all memory is bounded and allocated when the writer is
 * created or a table is first used; every chunk is written by one write(); nothing prints, exits or
 * throws. After a failure rows are dropped and counted, and trace_writer_finish() reports why. A
 * writer belongs to one thread at a time; several writers (threads, processes) may share a file
 * opened with O_APPEND.
 *
 *   struct trace_writer *writer = trace_writer_create(fd, &options, &status);
 *   uint32_t name = trace_writer_string(writer, TEXT("gemm"));
 *   uint32_t device = trace_write_device(writer, &(struct row_device){.label = label});
 *   uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device});
 *   trace_write_activity(writer, &(struct row_activity){.start = 5, .queue = queue});
 *   ok = trace_writer_finish(writer, &status);
 *   trace_writer_destroy(writer);
 */
#ifndef RIDGE_TRACE_WRITER_H
#define RIDGE_TRACE_WRITER_H

#include "base/status.h"
#include "base/text.h"
#include "trace/schema.h"

struct trace_writer_options {
    uint64_t session; /* shared by the writers of one recording: equal numbers then mean equal
                         processes, devices and queues */
    uint64_t writer;  /* unique within the file */
    int level;        /* zstd level; 0 stores without compressing */
};

struct trace_writer;

struct trace_writer *trace_writer_create(int fd, const struct trace_writer_options *options,
                                         struct status *status);
/* Takes NULL. Does not finish. */
void trace_writer_destroy(struct trace_writer *writer);

/* Writes out all rows and marks the end. The descriptor stays open. */
bool trace_writer_finish(struct trace_writer *writer, struct status *status);
/* Finishes the current recording and begins another in the same file: ids start again at 1 in a new
 * session, in which equal numbers mean other processes, devices and queues. */
void trace_writer_next_session(struct trace_writer *writer);
/* Writes out pending rows, so that a later crash does not lose them. */
void trace_writer_flush(struct trace_writer *writer);
/* Whether a write has failed, for loops that should stop early. */
bool trace_writer_failed(const struct trace_writer *writer);

/* The id of a text within this writer; 0 for the empty text. */
uint32_t trace_writer_string(struct trace_writer *writer, struct text text);
void trace_writer_meta(struct trace_writer *writer, const char *key, struct text value);
void trace_writer_meta_integer(struct trace_writer *writer, const char *key, int64_t value);
/* The same for a text in a buffer: a failed buffer fails the writer. */
uint32_t trace_writer_string_of(struct trace_writer *writer, const struct buffer *buffer);
void trace_writer_meta_of(struct trace_writer *writer, const char *key, const struct buffer *value);
/* Adds to the number of events lost by the source; stored as meta "drops". */
void trace_writer_dropped(struct trace_writer *writer, uint64_t events);

/* uint32_t trace_write_TABLE(writer, const struct row_TABLE *row), for every table of the schema.
 * Returns the row's id, counted from 1, for use in columns of that table's type. */
#define SCHEMA_WRITE(table, TABLE, fourcc)                                                         \
    uint32_t trace_write_##table(struct trace_writer *writer, const struct row_##table *row);
TRACE_TABLES(SCHEMA_WRITE)

/* Meta keys that readers interpret (`ridge info` shows others as they are). */
#define META_CLOCK_OFFSET "clock.offset_ns" /* added to every time of this writer */
#define META_CLOCK_BASE "clock.base"        /* "unix", "monotonic" or "trace": what time 0 is */
#define META_CLOCK_ERROR "clock.error_ns"   /* bound of device time against host time */
#define META_DROPS "drops"
#define META_SOURCE_FILE "source.file"
#define META_SOURCE_FORMAT "source.format" /* kineto, chrome, nsys, xctrace, ... */
#define META_SOURCE_TOOL "source.tool"     /* the recorder and its version */
#define META_TRUNCATED "source.truncated"  /* why, when the source ended early */
#define META_NOT_READ                                                                              \
    "source.tables_not_read" /* tables of the source that ridge has no use for                     \
                              */
#define META_NOT_FOUND                                                                             \
    "source.tables_not_found"  /* tables that ridge reads and were not exported                    \
                                */
#define META_WARNING "warning" /* one sentence; may repeat */
#define META_COMMAND "command"
#define META_HOST "host"
#define META_PROCESSORS "processors"              /* that the recorded program may use */
#define META_STATES_INTERVAL "states.interval_ns" /* thread states were read that often */
#define META_SAMPLES_CLOCK "samples.clock"        /* "wall": samples also count waiting threads */
#define META_CUDA_GRAPHS "cuda.graphs"            /* recorded "as a whole", or */
#define CUDA_GRAPHS_BY_NODE "by node"
#define META_STARTS_LATE "recording.starts_late" /* the program ran before; "yes" */
#define META_ENDS_EARLY "recording.ends_early"   /* and after, or it was killed; "yes" */
/* "none": the source has durations without start times, and activities were laid end to end.
 * "counters": it has only counters of the launches of another recording. */
#define META_TIMELINE "timeline"
/* "memory.fragmented.LABEL": bytes that are free at the end in segments of a device that are in
 * use */
#define META_FRAGMENTED "memory.fragmented."
#define META_RANK "rank"
#define META_FILE_RANK "source.rank" /* from the name of the file, where nothing else has it */
#define META_WORLD_SIZE "world_size"
/* Totals of hardware counters: "counter.cycles" of all processes, "counter.4711.cycles" of one. */
#define META_COUNTER "counter."
#define META_COUNTERS_MISSING "counter.missing" /* why there are none, as a sentence */
/* Measured limits of a device: "roof.LABEL.memory_copy" and so on (keys in analysis/limits.h),
 * after "roof.LABEL.name" with the device's name. */
#define META_ROOF "roof."
#define META_ROOF_NAME "name"

#endif
