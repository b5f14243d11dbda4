/* Splitting a line of comma-separated values. */
#include "base/csv.h"

#include "base/min_max.h"

/* The end of the field that starts at `at`, inside its quotes if it has any. */
static size_t field_end(struct text line, size_t at, bool quoted) {
    while (at < line.length) {
        bool quote = line.data[at] == '"';
        bool doubled = quoted && quote && at + 1 < line.length && line.data[at + 1] == '"';
        if (quoted ? quote && !doubled : line.data[at] == ',')
            break;
        at += doubled ? 2 : 1;
    }
    return MIN(at, line.length);
}

size_t csv_split(struct text line, struct text *fields, size_t max) {
    size_t count = 0, at = 0;
    while (at <= line.length && count < max) {
        bool quoted = at < line.length && line.data[at] == '"';
        size_t end = field_end(line, at + quoted, quoted);
        fields[count++] = (struct text){line.data + at + quoted, end - MIN(at + quoted, end)};
        while (end < line.length && line.data[end] != ',')
            end++;
        at = end + 1;
    }
    return count;
}
