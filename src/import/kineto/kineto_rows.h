/* Turns parsed events of a Chrome trace into rows. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ROWS_H
#define RIDGE_IMPORT_KINETO_KINETO_ROWS_H

#include "import/import.h"
#include "import/kineto/kineto_event.h"
#include "import/kineto/kineto_entities.h"
#include "import/kineto/kineto_execution.h"
#include "import/kineto/kineto_onnx.h"
#include "import/kineto/kineto_rocprof.h"
#include "import/kineto/kineto_tensorflow.h"
#include "import/kineto/kineto_unitrace.h"

/* Open ranges whose begin and end are two events: B and E on a thread, b and e of one asynchronous
 * id. Each key has its own stack: an end closes the innermost open begin of its key. */
struct open_ranges {
    struct open_range *ranges;
    size_t count, capacity;
    size_t free;    /* index + 1 of a free entry */
    struct map top; /* by key: index + 1 of the innermost, 0 = none */
    uint64_t open;  /* number of open ranges */
};

/* Cache of the `detail` columns. */
enum { DETAIL_CACHE = 4096 };

struct details {
    struct trace_writer *writer;
    struct buffer text;
    bool out_of_memory;   /* a detail is missing */
    struct detail_entry { /* direct-mapped */
        uint64_t hash;
        uint32_t string;
    } facts[DETAIL_CACHE];
};

enum { NAME_CACHE = 1024 };

struct kineto_rows {
    struct scan *scan; /* source of the events */
    struct trace_writer *writer;
    const struct import_options *options;
    struct kineto_entities entities;
    struct open_ranges open;
    struct tensorflow tensorflow;
    struct onnx onnx;
    struct rocprof rocprof;
    struct execution_trace execution; /* of the same run; empty: none */
    uint64_t shapes_added;            /* operators that got theirs from it */
    struct details details;
    struct buffer name_text, meta_text;
    bool out_of_memory; /* a name is incomplete */

    /* Classification of a name, direct-mapped. */
    struct name_info {
        uint32_t name;
        uint8_t class, direction, from, to;
    } name_cache[NAME_CACHE];

    uint64_t used_events;     /* that became a row */
    uint64_t proton_events;   /* with arguments that only Proton writes */
    uint64_t kineto_events;   /* with categories that only Kineto writes */
    uint64_t unitrace_events; /* commands of devices that unitrace recorded */
    uint64_t complete_events; /* ph X */
    uint64_t unmatched_ends;
    uint64_t unsupported_events; /* with phases that have no row type */
    uint64_t cuda_calls, hip_calls;
};

void rows_init(struct kineto_rows *rows, struct scan *scan, struct trace_writer *writer,
               const struct import_options *options);
void rows_finish(struct kineto_rows *rows);

/* The unescaped string; valid until the next call. */
/* The queue of an event on a device. */
uint32_t rows_queue(struct kineto_rows *rows, const struct kineto_event *event);
struct text rows_text(struct kineto_rows *rows, const struct scan_string *string);
/* The unescaped string as a string id of the trace. */
uint32_t rows_string(struct kineto_rows *rows, const struct scan_string *string);
/* The event's arguments as a detail: all of them, or those of some groups. */
uint32_t rows_detail(struct kineto_rows *rows, const struct kineto_event *event);
uint32_t rows_detail_of(struct kineto_rows *rows, const struct kineto_event *event,
                        unsigned groups);
/* `offset` and `number` of the event are for error messages. */
bool rows_add(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
              uint64_t number, struct status *status);
/* Whether all names and details could be stored. */
bool rows_ok(const struct kineto_rows *rows, struct status *status);
/* Writes what was kept back, warnings and the vendor after the last event. */
bool rows_end(struct kineto_rows *rows, struct status *status);

#endif
