/* What the parts of the Perfetto importer share: perfetto.c reads packets, their clocks and
 * interned names; perfetto_events.c makes ranges, marks and counters of any producer's track
 * events; perfetto_gpu.c makes activities of GPU render stages; perfetto_own.c puts the rows of
 * ridge's own exports back together. */
#ifndef RIDGE_IMPORT_PERFETTO_PERFETTO_H
#define RIDGE_IMPORT_PERFETTO_PERFETTO_H

#include "base/intern.h"
#include "base/map.h"
#include "import/perfetto/perfetto_layout.h"
#include "import/import.h"
#include "base/protobuf.h"
#include "import/row.h"

enum name_kind {
    NAME_CATEGORY,
    NAME_EVENT,
    NAME_ANNOTATION,
    NAME_STRING,
    NAME_GPU,
    NAME_KERNEL,
    NAME_KINDS
};

/* One producer's stream of packets: what it has interned, and what holds unless a packet says
 * otherwise. */
struct perfetto_sequence {
    struct map names[NAME_KINDS]; /* interned id to text id */
    uint64_t default_track, default_clock;
    int64_t reference_us;
    bool own; /* written by ridge */
};

struct open_slice {
    int64_t start;
    uint32_t name, domain, detail; /* the writer's strings */
};

struct perfetto_track {
    uint64_t uuid, parent;
    uint64_t pid;
    int64_t tid;
    uint32_t name; /* text id */
    bool is_process, is_thread;
    bool named;      /* the thread's row has this name */
    uint32_t thread; /* the writer's, 0 = none yet */
    struct open_slice *open;
    size_t depth, capacity;
};

struct perfetto_clock {
    uint64_t multiplier;
    bool incremental;
    uint64_t last;
    int64_t offset; /* from this clock, in ns, to the trace's */
};

/* Rows of one table that are to be put into another order at the end. */
struct held_rows {
    unsigned char *rows;
    int64_t *numbers;
    size_t count, rows_capacity, numbers_capacity;
};

struct perfetto_import {
    const struct import_options *options;
    struct trace_writer *writer;
    struct status *status;
    uint64_t offset; /* of the packet being read, for messages */
    uint64_t events;
    struct intern texts;
    struct map sequence_by_id, track_by_uuid, clock_by_id;
    struct perfetto_sequence *sequences;
    struct perfetto_track *tracks;
    struct perfetto_clock *clocks;
    size_t sequence_count, sequence_capacity;
    size_t track_count, track_capacity;
    size_t clock_count, clock_capacity;
    uint64_t primary_clock;
    int64_t realtime; /* minus the trace's clock */
    bool has_realtime, has_own, has_foreign, unknown_clock, in_compressed;
    int64_t last_time;
    uint64_t unclosed, unopened;
    uint64_t unread; /* packets of system events */
    struct buffer json;
    /* perfetto_gpu.c */
    struct map counter_names;
    struct map places; /* of the current session: devices, queues and threads that have rows */
    /* perfetto_own.c */
    struct map entities[TABLE_ACTIVITY]; /* the file's ids to the writer's */
    struct map columns;                  /* (table, text id) to column + 1 */
    struct held_rows held[TABLE_COUNT];
    struct import_row pending; /* a slice whose end is the next packet */
    bool has_pending;
    uint64_t pending_track;
    int64_t pending_number;
    int64_t own_offset;
    unsigned recordings; /* begun after the first */
    bool has_format;     /* the export says what the trace was made from */
};

/* One packet's fields that events need. */
struct perfetto_packet {
    struct perfetto_sequence *sequence;
    int64_t time;
};

/* One debug annotation: its name and the last value it has. */
struct perfetto_annotation {
    uint32_t name; /* text id */
    uint32_t field;
    uint64_t bits;
    struct text text;
};

/* A track event taken apart; annotations and repeated fields stay in `message`. */
struct perfetto_event {
    unsigned type;
    uint64_t track;
    uint32_t name, category; /* text ids */
    bool has_value;
    double value;
    int32_t phase; /* of a legacy event, 0 = none */
    int64_t duration_us;
    struct text message;
};

/* Text id of an interned name of this sequence; 0 when it is not known. */
uint32_t perfetto_name(const struct perfetto_sequence *sequence, enum name_kind kind,
                       uint64_t interned);
bool perfetto_keep(struct perfetto_import *import, struct text text, uint32_t *id);
uint32_t perfetto_string(struct perfetto_import *import, uint32_t text);
/* The track of that uuid, made where it is not known; NULL when out of memory. */
struct perfetto_track *perfetto_track(struct perfetto_import *import, uint64_t uuid);
void perfetto_annotation(struct perfetto_import *import, const struct perfetto_sequence *sequence,
                         struct text message, struct perfetto_annotation *annotation);

/* Relates the clocks of a snapshot to the trace's. */
bool perfetto_read_snapshot(struct perfetto_import *import, uint64_t sequence, struct text message);
/* The trace's time of a reading of that clock. */
int64_t perfetto_time(struct perfetto_import *import, uint64_t sequence, uint64_t clock,
                      uint64_t value);

/* Whether the row's times are possible; *drop says that it is to be left out. */
bool perfetto_check_row(struct perfetto_import *import, const struct import_row *row, bool *drop);

bool perfetto_foreign_event(struct perfetto_import *import, const struct perfetto_packet *packet,
                            const struct perfetto_event *event);
/* Ends what is still open. */
bool perfetto_close_slices(struct perfetto_import *import);

bool perfetto_gpu_stage(struct perfetto_import *import, const struct perfetto_packet *packet,
                        struct text message);
bool perfetto_gpu_counters(struct perfetto_import *import, const struct perfetto_packet *packet,
                           struct text message);
bool perfetto_vulkan_call(struct perfetto_import *import, const struct perfetto_packet *packet,
                          struct text message);

/* Whether the event begins a recording of ridge's. */
bool perfetto_is_header(const struct perfetto_import *import, const struct perfetto_event *event);
bool perfetto_own_header(struct perfetto_import *import, const struct perfetto_packet *packet,
                         const struct perfetto_event *event);
bool perfetto_own_event(struct perfetto_import *import, const struct perfetto_packet *packet,
                        const struct perfetto_event *event);
/* Writes the rows that were held back. */
bool perfetto_own_end(struct perfetto_import *import);

#endif
