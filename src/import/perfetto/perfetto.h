/* Shared by the parts of the Perfetto importer: perfetto.c reads packets, clocks, interned names
 * and track events; perfetto_gpu.c turns GPU render stages into activities, perfetto_rocm.c slices
 * of AMD's tools into calls and activities, perfetto_system.c the scheduler's events into states
 * and CPU samples into samples. */
#ifndef RIDGE_IMPORT_PERFETTO_PERFETTO_H
#define RIDGE_IMPORT_PERFETTO_PERFETTO_H

#include "base/intern.h"
#include "base/map.h"
#include "import/import.h"
#include "import/profile.h"
#include "base/protobuf.h"

/* Field numbers and values of Perfetto's protocol buffers. */
enum {
    TRACE_PACKET = 1,

    PACKET_FTRACE = 1,
    PACKET_PROCESS_TREE = 2,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLEARED = 41,
    PACKET_THREAD = 44,
    PACKET_COMPRESSED = 50,
    PACKET_GPU_COUNTER = 52,
    PACKET_GPU_STAGE = 53,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_VULKAN = 65,
    PACKET_PERF_SAMPLE = 66,

    FLAG_CLEARED = 1,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_GPU_SPECIFICATIONS = 24,
    INTERNED_KERNELS = 1000,
    INTERNED_STRINGS = 29,
    INTERNED_FUNCTIONS = 5,
    INTERNED_PATHS = 17,
    INTERNED_ENTRY_ID = 1,
    INTERNED_ENTRY_TEXT = 2,

    EVENT_DELTA_US = 1,
    EVENT_CATEGORY_ID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_LEGACY = 6,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_ABSOLUTE_US = 16,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_COUNTER_DOUBLE = 44,

    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    LEGACY_NAME_ID = 1,
    LEGACY_PHASE = 2,
    LEGACY_DURATION_US = 3,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,
    ANNOTATION_STRING_ID = 17,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_STATIC_NAME = 10,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    THREAD_REFERENCE_US = 6,
};

enum name_kind {
    NAME_CATEGORY,
    NAME_EVENT,
    NAME_ANNOTATION,
    NAME_STRING,
    NAME_GPU,
    NAME_KERNEL,
    NAME_FUNCTION,
    NAME_PATH,
    /* Not texts: of mapped files, of frames (function, file << 32) and rows of stacks. */
    NAME_MAPPING,
    NAME_FRAME,
    NAME_CALLSTACK,
    NAME_KINDS
};

/* One producer's packet sequence: its interned names and defaults. */
struct perfetto_sequence {
    struct map names[NAME_KINDS]; /* interned id to text id */
    uint64_t default_track, default_clock;
    int64_t reference_us;
};

enum slice_kind { SLICE_RANGE, SLICE_CALL, SLICE_KERNEL, SLICE_COPY };

struct open_slice {
    int64_t start;
    uint32_t name, domain, detail; /* string ids of the trace */
    uint32_t text;                 /* text id of the name */
    enum slice_kind kind;
    /* What annotations of AMD's tools say. */
    uint64_t correlation, queue, bytes;
    int64_t gpu, from_gpu; /* -1: unknown */
    uint32_t grid[3], block[3], shared;
};

struct perfetto_track {
    uint64_t uuid, parent;
    uint64_t pid;
    int64_t tid;
    uint32_t name; /* text id */
    bool is_process, is_thread;
    bool named;      /* the thread's row has this name */
    uint32_t thread; /* row of the trace, 0 = none yet */
    struct open_slice *open;
    size_t depth, capacity;
};

struct perfetto_clock {
    uint64_t multiplier;
    bool incremental;
    uint64_t last;
    int64_t offset; /* add to get the trace's clock, in ns */
};

struct perfetto_import {
    const struct import_options *options;
    struct trace_writer *writer;
    struct status *status;
    uint64_t offset; /* of the current packet, for messages */
    uint64_t events;
    uint64_t unread; /* payloads of kinds that are not read */
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
    bool has_realtime, has_events, unknown_clock, in_compressed;
    int64_t last_time;
    uint64_t without_end, without_begin;
    uint64_t unsupported; /* packets of system events */
    struct buffer json;
    /* perfetto_gpu.c */
    struct map counter_names;
    struct map entities; /* rows of devices, queues and threads, by key */
    /* perfetto_system.c */
    struct task *tasks;
    size_t task_count, task_capacity;
    struct map task_by_tid;
    struct sched_event *sched;
    int64_t *sched_times;
    size_t sched_count, sched_capacity, sched_time_capacity;
    struct map running; /* tid by CPU */
    struct map frames;  /* rows of stacks, by parent and frame */
    struct profile samples;
};

/* What events need of their packet. */
struct perfetto_packet {
    struct perfetto_sequence *sequence;
    int64_t time;
};

/* A debug annotation. */
struct perfetto_annotation {
    uint32_t name; /* text id */
    uint32_t field;
    uint64_t bits;
    struct text text;
};

/* A parsed track event; annotations and repeated fields stay in `message`. */
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

/* The text id of an interned name; 0 when it is unknown. */
uint32_t perfetto_name(const struct perfetto_sequence *sequence, enum name_kind kind,
                       uint64_t interned);
bool perfetto_intern(struct perfetto_import *import, struct text text, uint32_t *id);
uint32_t perfetto_string(struct perfetto_import *import, uint32_t text);
/* The track with this uuid, created on first use; NULL when out of memory. */
struct perfetto_track *perfetto_track(struct perfetto_import *import, uint64_t uuid);
void perfetto_annotation(struct perfetto_import *import, const struct perfetto_sequence *sequence,
                         struct text message, struct perfetto_annotation *annotation);

/* Checks the times of a row of `table`. Invalid times fail, or set *drop with --skip-invalid. */
bool perfetto_check_times(struct perfetto_import *import, enum trace_table table, int64_t time,
                          int64_t duration, bool *drop);

bool perfetto_gpu_stage(struct perfetto_import *import, const struct perfetto_packet *packet,
                        struct text message);
bool perfetto_gpu_counters(struct perfetto_import *import, const struct perfetto_packet *packet,
                           struct text message);
uint32_t perfetto_gpu_queue(struct perfetto_import *import, int64_t gpu, uint64_t queue);

/* perfetto_rocm.c: recognizes calls and device work of AMD's tools by the event's category, and
 * writes them when they end. */
void perfetto_rocm_read(struct perfetto_import *import, const struct perfetto_packet *packet,
                        const struct perfetto_event *event, struct open_slice *slice);
bool perfetto_rocm_write(struct perfetto_import *import, const struct perfetto_track *track,
                         uint32_t thread, const struct open_slice *slice, int64_t duration);

/* perfetto_system.c */
bool perfetto_ftrace(struct perfetto_import *import, struct text message);
bool perfetto_process_tree(struct perfetto_import *import, struct text message);
/* The mappings, frames and call stacks of an InternedData, after its names. */
bool perfetto_interned_stacks(struct perfetto_import *import, struct perfetto_sequence *sequence,
                              struct text message);
bool perfetto_sample(struct perfetto_import *import, const struct perfetto_packet *packet,
                     struct text message);
/* Writes what was collected. */
bool perfetto_system_end(struct perfetto_import *import);
void perfetto_system_finish(struct perfetto_import *import);

bool perfetto_vulkan_call(struct perfetto_import *import, const struct perfetto_packet *packet,
                          struct text message);

#endif
