/* The stacks of a lane: its code objects, programs and frames become rows of the trace's table of
 * stacks.
 *
 * Threads number their stacks on their own; equal frames of all threads share one row.
 */
#ifndef RIDGE_RECORD_SPOOL_STACKS_H
#define RIDGE_RECORD_SPOOL_STACKS_H

#include "base/map.h"
#include "base/text.h"
#include "record/source_files.h"
#include "record/symbols/symbols_files.h"
#include "spool/spool.h"
#include "trace/writer.h"

/* Zero-initialized: empty. */
struct spool_stacks {
    struct spool_stack_code {
        uint32_t function, file; /* string ids */
        char *path;              /* text of `file` */
        int32_t first_line;
        uint32_t format;
        uint8_t *table;
        uint32_t table_bytes;
    } * codes; /* by number */
    size_t code_capacity;
    uint32_t *rows; /* by number of the frame; 0: unknown */
    size_t row_capacity;
};

/* Shared by all lanes. Zero-initialized: empty. */
struct spool_frame_rows {
    struct map rows; /* hash of a row -> its id */
    struct source_files sources;
    struct symbol_files objects; /* programs and libraries of native frames */
};
void spool_frame_rows_finish(struct spool_frame_rows *known);

/* False only when out of memory. Impossible numbers are ignored: the frame is then unknown. */
bool spool_stacks_code(struct spool_stacks *stacks, const struct spool_code *code,
                       uint32_t function, uint32_t file, struct text path, struct status *status);
bool spool_stacks_lines(struct spool_stacks *stacks, const struct spool_code_lines *lines);
bool spool_stacks_frame(struct spool_stacks *stacks, struct spool_frame_rows *known,
                        const struct spool_frame *frame, struct trace_writer *writer,
                        struct status *status);
/* The row of a stack; 0: none. */
uint32_t spool_stacks_row(const struct spool_stacks *stacks, uint32_t number);
void spool_stacks_finish(struct spool_stacks *stacks);

#endif
