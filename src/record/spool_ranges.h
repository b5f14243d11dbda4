/* Ranges of the recorded processes: begun and ended by two records, which may come from two threads
 * and in either order, or never ended at all.
 */
#ifndef RIDGE_RECORD_SPOOL_RANGES_H
#define RIDGE_RECORD_SPOOL_RANGES_H

#include "base/map.h"
#include "spool/spool.h"
#include "trace/writer.h"

/* A zeroed one is empty. */
struct spool_ranges {
    struct half_range *halves; /* begun and not ended, or the other way round */
    size_t count, capacity;
    struct map positions; /* process and id -> position + 1; 0: it has gone */
    uint64_t written, never_ended, never_begun;
};

/* What the user attached to a range or a mark; zero means nothing. */
struct spool_attributes {
    uint32_t domain; /* string of the trace */
    struct text category;
    uint32_t colour, payload_kind;
    int64_t payload;
};

/* The row of a range but for its times, from its name and what is attached. A framework's operator
 * under a profiler's NVTX (torch.autograd.profiler.emit_nvtx) becomes one: "aten::mm, seq = 3". */
struct row_range spool_range_row(struct trace_writer *writer, struct text name, uint32_t thread,
                                 const struct spool_attributes *attributes);
/* What is attached as a JSON object; 0 when there is nothing. */
uint32_t spool_range_detail(struct trace_writer *writer, const struct spool_attributes *attributes,
                            struct text shapes);

bool spool_range_begin(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                       uint64_t id, const struct row_range *row, struct status *status);
bool spool_range_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                     uint64_t id, int64_t end, struct status *status);
void spool_range_write(struct spool_ranges *ranges, struct trace_writer *writer,
                       struct row_range *row, int64_t end);
/* Those of a process that were never ended end here. */
void spool_ranges_end(struct spool_ranges *ranges, struct trace_writer *writer, unsigned process,
                      int64_t time);
void spool_ranges_finish(struct spool_ranges *ranges);

#endif
