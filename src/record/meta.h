/* What a trace says of the run as a whole: which command, where, with which clock. Values of the
 * environment are among it only when asked for: they may be secrets.
 */
#ifndef RIDGE_RECORD_META_H
#define RIDGE_RECORD_META_H

#include "record/environment.h"
#include "trace/writer.h"
void meta_write(struct trace_writer *writer, const struct record_options *options);
void meta_write_environment(struct trace_writer *writer, const struct environment *environment);

#endif
