/* Makes rows of a trace from the events of a Chrome trace: which event is a kernel, a call, a
 * range, and whose. The caller counts and locates the events; messages name both. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ROWS_H
#define RIDGE_IMPORT_KINETO_KINETO_ROWS_H

#include "import/import.h"
#include "import/kineto/kineto_event.h"
#include "import/kineto/kineto_entities.h"

/* Ranges whose begin and end are two events: B and E on a thread, b and e of one asynchronous id.
 * Each key has its own stack: an end closes the youngest open begin of its key. */
struct open_ranges {
    struct open_range *ranges;
    size_t count, capacity;
    size_t free;    /* index + 1 of a range that can be used again */
    struct map top; /* by key: index + 1 of the youngest, 0 = none */
    uint64_t open;  /* begun and not ended yet */
};

/* An event's arguments as strings of the trace: the `detail` columns. */
enum { DETAIL_CACHE = 4096 };

struct details {
    struct trace_writer *writer;
    struct buffer text;
    bool out_of_memory;   /* some detail is missing */
    struct detail_entry { /* a cache: replaced at will */
        uint64_t hash;
        uint32_t string;
    } facts[DETAIL_CACHE];
};

enum { NAME_CACHE = 1024 };

struct kineto_rows {
    struct scan *scan; /* that events come from */
    struct trace_writer *writer;
    const struct import_options *options;
    struct kineto_entities entities;
    struct open_ranges open;
    struct details details;
    struct buffer name_text, meta_text;
    bool out_of_memory; /* some name is incomplete */

    /* What is known about a name, so that it is not worked out for every event again. */
    struct name_info {
        uint32_t name;
        uint8_t class, direction, from, to;
    } name_cache[NAME_CACHE];

    uint64_t kineto_events;   /* in categories that only Kineto writes */
    uint64_t complete_events; /* ph X */
    uint64_t unmatched_ends;
    uint64_t unsupported_events; /* in phases that have no place in a trace */
    uint64_t cuda_calls, hip_calls;
};

void rows_init(struct kineto_rows *rows, struct scan *scan, struct trace_writer *writer,
               const struct import_options *options);
void rows_finish(struct kineto_rows *rows);

/* The string without escapes; good until the next call. */
struct text rows_text(struct kineto_rows *rows, const struct scan_string *string);
/* The same, as one of the trace's. */
uint32_t rows_string(struct kineto_rows *rows, const struct scan_string *string);
/* `offset` and `number` say which event it is, for messages. */
bool rows_add(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
              uint64_t number, struct status *status);
/* Whether memory sufficed for all names and details. */
bool rows_ok(const struct kineto_rows *rows, struct status *status);
/* After the last event: what was left over becomes warnings. */
void rows_end(struct kineto_rows *rows);

#endif
