/* Ranks of a distributed job in a trace: which process belongs to which, and one of them alone. */
#ifndef RIDGE_TRACE_RANK_SELECT_H
#define RIDGE_TRACE_RANK_SELECT_H

#include "trace/reader.h"

/* The rank of a process: that of its row, else that of its recording, else that in the name of the
 * recording's file; -1: unknown. A process without a rank in a recording with ranks, such as the
 * launcher, has none. */
int64_t trace_process_rank(const struct trace *trace, uint32_t process);
/* The rank of a recording in which all processes share one, or -1. */
int64_t trace_session_rank(const struct trace *trace, uint32_t session);
/* Whether the trace has several ranks. */
bool trace_has_ranks(const struct trace *trace);

/* Writes what belongs to one rank to the descriptor, as a trace. Fails when the trace does not have
 * that rank. Loads all columns of the trace. */
bool trace_select_rank(struct trace *trace, int64_t rank, int fd, struct status *status);

#endif
