/* Python stacks of sampled threads: read by the thread that drains the ring buffers, as soon as it
 * sees a sample, and used later by the one that writes the trace.
 *
 * A sample gets the first stack read after it, if that was soon enough. If the reader was late, it
 * gets the outer frames that the stacks before and after it share.
 */
#ifndef RIDGE_RECORD_PYTHON_PYTHON_SAMPLES_H
#define RIDGE_RECORD_PYTHON_PYTHON_SAMPLES_H

#include "record/python/python_reader.h"

struct python_samples;

struct python_samples *python_samples_create(struct status *status);
void python_samples_destroy(struct python_samples *samples); /* takes NULL */

/* ---- In the reading thread ----------------------------------------------------------------- */

/* Reads the stack of a thread that was just sampled. */
void python_samples_read(struct python_samples *samples, pid_t pid, pid_t tid);
/* Whether a process with Python was seen: samples should be looked for often. */
bool python_samples_is_active(struct python_samples *samples);

/* ---- In the writing thread ----------------------------------------------------------------- */

/* Takes over what was read so far. Stacks before `before` will not be asked for. */
void python_samples_take(struct python_samples *samples, int64_t before);
/* The stack of a sample, innermost first. Returns the number of frames; 0: none. Valid until the
 * next call of python_samples_take(). */
size_t python_samples_find(struct python_samples *samples, pid_t tid, int64_t time,
                           const struct python_frame **frames);
const struct python_code *python_samples_code(const struct python_samples *samples, uint32_t code);
/* Stacks that changed while they were read. */
uint64_t python_samples_failed(const struct python_samples *samples);
/* See python_reader_reason(). */
const char *python_samples_reason(const struct python_samples *samples);

#endif
