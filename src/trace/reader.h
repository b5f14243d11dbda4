/* Reads a .ridge file.
 *
 * Opening verifies every chunk and loads strings and entities. Event columns are loaded by name on
 * request: all rows of all chunks in file order, with global ids and clock offsets applied. Damage
 * is left out and counted, never guessed.
 *
 *   struct trace *trace;
 *   if (trace_open("run.ridge", &trace, &status) &&
 *       trace_load(trace, TABLE_ACTIVITY, "start duration queue", &status))
 *       for (size_t i = 0; i < trace->activity.count; i++) ... trace->activity.start[i] ...
 *   trace_close(trace);
 */
#ifndef RIDGE_TRACE_READER_H
#define RIDGE_TRACE_READER_H

#include "base/intern.h"
#include "base/status.h"
#include "trace/schema.h"

struct trace {
    /* Every table of the schema, as trace->activity and so on. `count` is valid from the start;
     * columns are NULL until loaded. Entity tables (process, thread, device, queue, stack) are
     * indexed by id: row 0 is "none" and included in count. They and meta are loaded on opening. */
#define TRACE_MEMBER(table, TABLE, fourcc) struct columns_##table table;
    TRACE_TABLES(TRACE_MEMBER)
    struct intern strings; /* by STRING id */

    /* The recording of each entity, by id; sessions are numbered from 0. */
    uint32_t *process_session, *thread_session, *device_session, *queue_session;
    uint32_t *meta_session; /* by row of meta */
    uint32_t session_count;

    size_t writer_count;
    size_t writers_unfinished; /* without an end mark: the recorder was stopped or killed */
    uint64_t missing_chunks;   /* gaps in a writer's sequence numbers */
    uint64_t repeated_chunks;  /* duplicates, which are ignored */
    uint64_t damaged_bytes;    /* skipped inside the file */
    uint64_t truncated_bytes;  /* of an unfinished chunk at the end */
    uint64_t unknown_chunks;   /* of unknown types */
    uint64_t file_bytes;

    struct trace_file *file; /* private */
};

/* The file stays open until trace_close(). Another process may append to it, as its size is fixed
 * on opening. If it is truncated or overwritten, loading fails. */
bool trace_open(const char *path, struct trace **trace, struct status *status);
/* As trace_open() for an open file, which may have no name; the descriptor is duplicated. */
bool trace_open_fd(int fd, const char *name, struct trace **trace, struct status *status);
/* The same file once more, with the same ids and, of the event tables, only the chunks with events
 * that start in the window: a sample of a long trace. */
bool trace_open_part(const struct trace *whole, int64_t start, int64_t end, struct trace **part,
                     struct status *status);
/* Takes NULL. */
void trace_close(struct trace *trace);

/* Loads the named columns (space-separated; NULL: all) of an event table, if not yet loaded. */
bool trace_load(struct trace *trace, enum trace_table table, const char *columns,
                struct status *status);
/* Frees one column again. */
void trace_unload(struct trace *trace, enum trace_table table, const char *column);

/* Reorders the rows of an event table: row i becomes the row that was order[i]. Applies to columns
 * loaded before and after. Takes ownership of `order` (from memory_allocate), even on failure; once
 * per table. */
bool trace_reorder(struct trace *trace, enum trace_table table, uint32_t *order,
                   struct status *status);

/* Columns by number, for code that iterates over the schema: values of the column's type, or NULL
 * when not loaded, and the number of rows (row 0 of an entity table is "none"). */
const void *trace_column(const struct trace *trace, enum trace_table table, unsigned column);
size_t trace_rows(const struct trace *trace, enum trace_table table);

/* Whether these bytes are the start of a .ridge file. */
bool trace_detect(const void *bytes, size_t length);

static inline struct text trace_text(const struct trace *trace, uint32_t string) {
    return intern_text(&trace->strings, string);
}
/* The first meta value of that key; empty when there is none. */
struct text trace_meta(const struct trace *trace, const char *key);
/* The first of that key in one recording. */
struct text trace_session_meta(const struct trace *trace, uint32_t session, const char *key);
/* The sum of that key's values as integers, over all writers. */
int64_t trace_meta_sum(const struct trace *trace, const char *key);

#endif
