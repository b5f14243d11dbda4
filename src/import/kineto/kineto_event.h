/* One parsed event of a Chrome trace, not yet interpreted: kineto_rows.c turns it into a row.
 * Slices point into the scan's window. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_EVENT_H
#define RIDGE_IMPORT_KINETO_KINETO_EVENT_H

#include "base/json_read.h"
#include "base/keywords.h"

enum event_category {
    CATEGORY_NONE, /* no category */
    CATEGORY_UNKNOWN,
    CATEGORY_KERNEL,
    CATEGORY_COPY,
    CATEGORY_SET,
    CATEGORY_CALL,
    CATEGORY_OP,
    CATEGORY_ANNOTATION,
    CATEGORY_DEVICE_RANGE,
    CATEGORY_PYTHON,
    CATEGORY_SYNC,
    CATEGORY_OVERHEAD,
    CATEGORY_TRACE,
    CATEGORY_INSTANT,
    CATEGORY_FLOW,
    /* Categories of other tools, which other programs may use with another meaning. */
    CATEGORY_TENSORFLOW_OP,
    CATEGORY_ONNX_SESSION,
    CATEGORY_ONNX_NODE,
    CATEGORY_UNITRACE_OP,
};

/* Arguments that are numbers. */
enum event_number {
    NUMBER_DEVICE,
    NUMBER_STREAM,
    NUMBER_CONTEXT,
    NUMBER_CORRELATION,
    NUMBER_BYTES,
    NUMBER_REGISTERS,
    NUMBER_SHARED,
    NUMBER_GRAPH,
    NUMBER_SEQUENCE,
    NUMBER_RECORD_FUNCTION,
    NUMBER_WAIT_STREAM,
    NUMBER_WAIT_EVENT,
    NUMBER_WAIT_RECORD,
    NUMBER_MEMORY_DEVICE_TYPE,
    NUMBER_MEMORY_DEVICE,
    NUMBER_MEMORY_BYTES,
    NUMBER_MEMORY_ADDRESS,
    NUMBER_MEMORY_ALLOCATED,
    NUMBER_MEMORY_RESERVED,
    NUMBER_COUNT
};

/* Arguments that are strings. */
enum event_word {
    WORD_NAME,
    WORD_LABELS,
    WORD_KIND,
    WORD_SYNC_KIND,
    WORD_KERNEL_DETAILS,
    WORD_COPY_DETAILS,
    WORD_OP_NAME,
    WORD_COUNT
};

/* Groups of arguments that are kept as JSON text; a bit set, because a row takes several. */
enum event_detail_group {
    DETAIL_INPUT = 1,
    DETAIL_COLLECTIVE = 2,
    DETAIL_XLA = 4,
    DETAIL_ONNX = 8,
    DETAIL_PROTON = 16,
};

struct event_detail {
    const struct keyword *key; /* its slot is the group */
    struct text value;
};

enum { EVENT_DETAILS_MAX = 24 };

/* A pid, tid or device: a number, or a string when word.length > 0. */
struct event_id {
    int64_t number;
    struct text word;
};

struct kineto_event {
    char phase; /* ph; 0 when absent */
    enum event_category category;
    struct scan_string category_text, name;
    struct event_id process, thread;
    struct text id, id2, scope; /* of asynchronous events, as JSON text; empty when absent */
    bool has_start, has_duration, start_ok, duration_ok;
    int64_t start, duration;
    struct text args; /* the whole JSON object, or empty */
    bool args_read;

    uint32_t has_number, has_word;
    bool has_grid, has_block;
    int64_t numbers[NUMBER_COUNT];
    struct scan_string words[WORD_COUNT];
    uint32_t grid[3], block[3];
    unsigned detail_count;
    struct event_detail details[EVENT_DETAILS_MAX];
};

struct event_keywords {
    struct keywords members, arguments, categories;
};

void event_keywords_init(struct event_keywords *keywords);

/* Parses the object at `at`; returns what all scan functions return. */
const char *event_scan(struct scan *scan, const struct event_keywords *keywords, const char *at,
                       struct kineto_event *event);

static inline bool event_has(const struct kineto_event *event, enum event_number number) {
    return event->has_number >> number & 1;
}
static inline uint64_t event_unsigned(const struct kineto_event *event, enum event_number number) {
    return event_has(event, number) ? (uint64_t)event->numbers[number] : 0;
}
/* Clamps to 32 bits. */
static inline uint32_t clamp_u32(int64_t value) {
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}
static inline uint32_t event_u32(const struct kineto_event *event, enum event_number number) {
    return event_has(event, number) ? clamp_u32(event->numbers[number]) : 0;
}
static inline struct text event_word(const struct kineto_event *event, enum event_word word) {
    return event->has_word >> word & 1 ? event->words[word].raw : TEXT("");
}

#endif
