/* What `ridge info` prints, as text or JSON. */
#ifndef RIDGE_REPORT_INFO_H
#define RIDGE_REPORT_INFO_H

#include "base/output.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct info_span {
    unsigned table; /* TABLE_* */
    size_t rows;
    int64_t first, last; /* over all rows; 0 when there are none */
};

struct info_work {
    uint64_t count[ACTIVITY_KINDS];
};

struct info {
    const char *path;
    struct trace *trace;
    uint64_t file_bytes; /* of the user's file, not of a temporary import */
    struct info_span spans[TABLE_COUNT], all;
    struct info_work *queues, *devices; /* by id */
};

/* Sets spans, queues and devices of info->trace. Call info_finish() even after a failure. */
bool info_gather(struct info *info, struct status *status);
void info_finish(struct info *info);

bool info_print_text(const struct info *info, struct output *output, struct status *status);
bool info_print_json(const struct info *info, struct output *output, struct status *status);

#endif
