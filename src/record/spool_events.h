/* Writes the spool's events to the trace: kernels, copies, calls, ranges, marks, waits, memory.
 * Each function returns false only when out of memory, or when the writer has failed.
 */
#ifndef RIDGE_RECORD_SPOOL_EVENTS_H
#define RIDGE_RECORD_SPOOL_EVENTS_H

#include "record/spool_rows.h"

/* Where a record comes from. */
struct spool_origin {
    struct spool_rows *rows;
    unsigned process, lane_number;
    struct spool_lane_state *lane;
    struct status *status;
};

/* A text of the record's lane: as string id, and its bytes. */
uint32_t spool_origin_string(const struct spool_origin *origin, uint32_t text);
struct text spool_origin_text(const struct spool_origin *origin, uint32_t text);

/* Whether the times are valid; counts invalid ones. */
bool spool_check_span(struct spool_rows *rows, int64_t start, int64_t end);

bool spool_handle_kernel(const struct spool_origin *origin, const struct spool_kernel *kernel);
bool spool_handle_copy(const struct spool_origin *origin, const struct spool_copy *copy);
bool spool_handle_call(const struct spool_origin *origin, const struct spool_call *call);
bool spool_handle_range(const struct spool_origin *origin, const struct spool_range *range);
bool spool_handle_range_begin(const struct spool_origin *origin, const struct spool_range *range);
bool spool_handle_range_end(const struct spool_origin *origin, const struct spool_range *range);
bool spool_handle_queue_range(const struct spool_origin *origin,
                              const struct spool_queue_range *range);
bool spool_handle_collective(const struct spool_origin *origin,
                             const struct spool_collective *event);
bool spool_handle_mark(const struct spool_origin *origin, const struct spool_mark *mark);
bool spool_handle_wait(const struct spool_origin *origin, const struct spool_wait *wait);
bool spool_handle_memory(const struct spool_origin *origin, const struct spool_memory *memory);
bool spool_handle_allocation(const struct spool_origin *origin,
                             const struct spool_allocation *allocation);
/* Writes a long call of the lane whose end was lost. */
void spool_finish_pending_call(const struct spool_origin *origin);

#endif
