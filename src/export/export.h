/* A trace as a file that another program opens.
 *
 * Each format is one function: it loads what it needs from the trace, streams to the output and
 * leaves opening and committing the output to its caller:
 *
 *   const struct export_format *format = export_find("chrome");
 *   if (output_open(&output, path, replace, &status))
 *       if (format->write(trace, &options, &output, &status))
 *           ok = output_commit(&output, &status);
 *       else
 *           output_abandon(&output);
 *
 * What is written reads back through ridge's own importers to the same account: times to the
 * nanosecond, entities, correlation, every column that the format has a place for.
 */
#ifndef RIDGE_EXPORT_EXPORT_H
#define RIDGE_EXPORT_EXPORT_H

#include <string.h>

#include "base/output.h"
#include "base/status.h"
#include "trace/reader.h"

struct export_options {
    enum trace_table table; /* csv: the one to write */
};

struct export_format {
    const char *name;
    bool binary; /* not for terminals */
    bool (*write)(struct trace *trace, const struct export_options *options, struct output *output,
                  struct status *status);
};

bool export_perfetto(struct trace *trace, const struct export_options *options,
                     struct output *output, struct status *status);
bool export_chrome(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status);
bool export_sqlite(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status);
bool export_csv(struct trace *trace, const struct export_options *options, struct output *output,
                struct status *status);

/* The formats, ended by one without a name. */
extern const struct export_format export_formats[];
/* NULL when there is none of that name. */
const struct export_format *export_find(const char *name);

/* The key under which an export keeps a meta row: the source's file becomes "original.source.file",
 * since whoever reads the export back has a file of their own. False when the row must not be
 * written: clock offsets are part of the times already, and the first original file is the one that
 * counts. */
bool export_meta_key(const struct trace *trace, size_t row, struct buffer *key);

/* One value of a column as bits, whatever its width; signed and floating ones as their 64 bits. */
static inline uint64_t export_cell(const void *values, const struct column_info *info, size_t row) {
    const char *at = (const char *)values + row * info->size;
    uint64_t wide = 0;
    uint32_t middle;
    if (info->size == 8)
        memcpy(&wide, at, sizeof wide);
    else if (info->size == 4) {
        memcpy(&middle, at, sizeof middle);
        wide = middle;
    } else
        wide = *(const unsigned char *)at;
    return wide;
}

/* Frees the event columns of a table that has been written. */
void export_unload(struct trace *trace, enum trace_table table);

#endif
