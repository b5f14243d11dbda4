/* Writes an Apache Parquet file: https://parquet.apache.org/docs/file-format/
 *
 * A file is one table. Rows are written in row groups, each column by column in the order of the
 * schema; the file ends with a footer that describes them:
 *
 *   struct parquet_file file;
 *   bool ok = parquet_begin(&file, &output, columns, count, &status);
 *   for (each row group)
 *       for (each column)
 *           ok = ok && parquet_column(&file, &values, &status);
 *   ok = ok && parquet_end(&file, "activity", "0.1", &status);
 *   parquet_finish(&file);
 *
 * Texts are dictionary-encoded, numbers are plain; pages are compressed with zstd. Columns of
 * integers have their minimum and maximum, so that readers can skip row groups.
 */
#ifndef RIDGE_EXPORT_PARQUET_FILE_H
#define RIDGE_EXPORT_PARQUET_FILE_H

#include "base/intern.h"
#include "base/output.h"

enum parquet_type { PARQUET_I64, PARQUET_U64, PARQUET_U32, PARQUET_DOUBLE, PARQUET_TEXT };

struct parquet_schema {
    char name[48];
    enum parquet_type type;
    bool optional; /* may be null */
};

/* The values of one column in one row group. */
struct parquet_values {
    size_t rows;
    const uint64_t *bits;            /* by row: the number's bits, or an id of `dictionary` */
    const uint8_t *present;          /* by row, 0 = null; NULL: no nulls */
    const struct intern *dictionary; /* of texts, valid UTF-8 */
};

enum { PARQUET_GROUP_ROWS = 1 << 20 };

struct parquet_file {
    struct output *output;
    const struct parquet_schema *columns; /* the caller's */
    unsigned count, next;                 /* `next`: the column that is written next */
    uint64_t written;                     /* bytes so far */
    uint64_t rows, groups;
    uint64_t group_bytes;
    struct buffer page, packed; /* of one page: before and after compression */
    struct buffer chunks;       /* ColumnChunk of the columns in this row group */
    struct buffer row_groups;   /* RowGroup of the complete ones */
    void *zstd;                 /* ZSTD_CCtx */
};

/* On failure nothing is left to finish. */
bool parquet_begin(struct parquet_file *file, struct output *output,
                   const struct parquet_schema *columns, unsigned count, struct status *status);
/* At most PARQUET_GROUP_ROWS; all columns of a row group have the same number of rows. */
bool parquet_column(struct parquet_file *file, const struct parquet_values *values,
                    struct status *status);
/* Writes the footer. `table` is stored as "ridge.table" in its key-value metadata; `version` is
 * that of ridge. */
bool parquet_end(struct parquet_file *file, const char *table, const char *version,
                 struct status *status);
void parquet_finish(struct parquet_file *file);

#endif
