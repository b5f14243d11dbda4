/* Writes a trace in another program's format.
 *
 * Each format is one function. It loads what it needs from the trace and streams to the output; the
 * caller opens and commits the output:
 *
 *   const struct export_format *format = export_find("chrome");
 *   if (output_open(&output, path, replace, &status))
 *       if (format->write(trace, &options, &output, &status))
 *           ok = output_commit(&output, &status);
 *       else
 *           output_abandon(&output);
 *
 * An export is for other programs: to keep a trace, keep the .ridge file. Times are exact to the
 * nanosecond in every format.
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

bool export_folded(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status);
bool export_speedscope(struct trace *trace, const struct export_options *options,
                       struct output *output, struct status *status);
bool export_pprof(struct trace *trace, const struct export_options *options, struct output *output,
                  struct status *status);

/* Ends with a format whose name is NULL. */
extern const struct export_format export_formats[];
/* NULL when there is no such format. */
const struct export_format *export_find(const char *name);

/* One value of a column as 64 bits; narrow values are zero-extended. */
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

/* What an id of this type becomes where each row stands for itself: suffixes of the columns' names,
 * ended by NULL. A value that is no id becomes one column, "". */
const char *const *export_parts(enum column_type type);

/* Appends the functions of a stack, outermost first, separated by ";", with "(FILE:LINE)" behind
 * those whose line is known. A longer stack loses the outermost frames. */
enum { EXPORT_FRAMES_MAX = 1024 };
void export_stack(const struct trace *trace, uint32_t stack, struct buffer *text);

/* Unloads the columns of a table of events. */
void export_unload(struct trace *trace, enum trace_table table);

#endif
