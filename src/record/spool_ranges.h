/* Ranges of the recorded processes. A range is two records, begin and end, which may come from
 * different threads and in either order; the end may be missing.
 */
#ifndef RIDGE_RECORD_SPOOL_RANGES_H
#define RIDGE_RECORD_SPOOL_RANGES_H

#include "base/map.h"
#include "spool/spool.h"
#include "trace/writer.h"

/* Zero-initialized: empty. */
struct spool_ranges {
    struct half_range *halves; /* ranges of which one record has arrived */
    size_t count, capacity;
    struct map positions; /* process and id -> position + 1; 0: removed */
    uint64_t written, never_ended, never_begun;
};

/* NVTX attributes of a range or a mark; zero: absent. */
struct spool_attributes {
    uint32_t domain; /* string id */
    struct text category;
    uint32_t color, payload_kind;
    int64_t payload;
};

/* The row of a range without its times. Ranges of torch.autograd.profiler.emit_nvtx, such as
 * "aten::mm, seq = 3", become operators. */
struct row_range spool_range_row(struct trace_writer *writer, struct text name, uint32_t thread,
                                 const struct spool_attributes *attributes);
/* The attributes as a JSON object; 0 when there are none. */
uint32_t spool_range_detail(struct trace_writer *writer, const struct spool_attributes *attributes,
                            struct text shapes);

bool spool_range_begin(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                       uint64_t id, const struct row_range *row, struct status *status);
bool spool_range_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                     uint64_t id, int64_t end, struct status *status);
void spool_range_write(struct spool_ranges *ranges, struct trace_writer *writer,
                       struct row_range *row, int64_t end);
/* Ends the open ranges of a process. */
void spool_ranges_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                      int64_t time);
void spool_ranges_finish(struct spool_ranges *ranges);

#endif
