/* A table of a trace as Parquet. Several traces, such as the ranks of a job, may go to one file.
 * docs/commands/export.md has the schema.
 *
 *   struct parquet_table table;
 *   bool ok = parquet_table_begin(&table, TABLE_ACTIVITY, keys, &output, &status);
 *   ok = ok && parquet_table_rows(&table, trace, &part, &status) && ...
 *   ok = ok && parquet_table_end(&table, "0.1", &status);
 *   parquet_table_finish(&table);
 */
#ifndef RIDGE_EXPORT_PARQUET_H
#define RIDGE_EXPORT_PARQUET_H

#include "export/parquet_file.h"
#include "trace/reader.h"

/* Columns in front of those of the trace. A column whose value is in the path of the file is not in
 * the file. */
enum parquet_keys { PARQUET_RANK = 1, PARQUET_STEP = 2 };

/* The rows to write, in this order. Rows of entity tables begin with 1. */
struct parquet_part {
    const uint32_t *rows;
    size_t count;
    int64_t rank;         /* -1: null */
    const uint32_t *step; /* by row of the table, 0 = null; NULL: all null */
};

enum { PARQUET_COLUMNS_MAX = 3 * TABLE_COLUMNS_MAX };

struct parquet_table {
    enum trace_table table;
    struct parquet_file file;
    struct parquet_schema schema[PARQUET_COLUMNS_MAX];
    struct parquet_source {
        int column; /* of the trace's table, or a key: -PARQUET_RANK, -PARQUET_STEP */
        unsigned part;
    } sources[PARQUET_COLUMNS_MAX];
    unsigned count;
    uint64_t *bits; /* of one column in a row group */
    uint8_t *present;
    struct intern dictionary;
    struct buffer text;
};

/* On failure nothing is left to finish. */
bool parquet_table_begin(struct parquet_table *table, enum trace_table which, unsigned keys,
                         struct output *output, struct status *status);
/* All columns of the trace's table must be loaded. */
bool parquet_table_rows(struct parquet_table *table, const struct trace *trace,
                        const struct parquet_part *part, struct status *status);
bool parquet_table_end(struct parquet_table *table, const char *version, struct status *status);
void parquet_table_finish(struct parquet_table *table);

#endif
