/* Frames can be in any order and refer to their callers by any id, so they are collected first and
 * written callers first, as a trace needs them. A missing or cyclic caller ends the stack. */
#include "import/kineto/kineto_samples.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"
#include "base/memory.h"

#define NO_FRAME SIZE_MAX

struct stack_frame {
    uint64_t parent; /* hash of its id; 0 = none */
    uint32_t function, module;
    uint32_t row;
    bool on_path; /* on the path that is being followed */
};

/* A parsed frame or sample. */
struct sample_text {
    struct scan_string name, category;
    struct text frame; /* the parent's id, or the sampled frame's */
    struct event_id process, thread;
    bool has_process, time_ok;
    int64_t time;
};

/* An id is a string or a number; 5 and "5" are equal. */
static const char *scan_frame_id(struct scan *scan, const char *at, struct text *id) {
    const char *after = scan_skip(scan, at);
    size_t quoted = *at == '"';
    if (after)
        *id = (struct text){at + quoted, (size_t)(after - at) - 2 * quoted};
    return after;
}

static uint64_t id_hash(struct text id) {
    return id.length ? checksum64(id.data, id.length) | 1 : 0;
}

static const char *scan_string_or_skip(struct scan *scan, const char *at,
                                       struct scan_string *string) {
    return *at == '"' ? scan_string(scan, at, string) : scan_skip(scan, at);
}

static const char *scan_event_id(struct scan *scan, const char *at, struct event_id *id) {
    bool is_number = false;
    *id = (struct event_id){0};
    const char *after = scan_integer(scan, at, &id->number, &is_number);
    if (after && !is_number && *at == '"')
        id->word = (struct text){at + 1, (size_t)(after - at) - 2};
    return after;
}

static const char *scan_member(struct scan *scan, const char *at, struct text key,
                               struct sample_text *text) {
    if (text_is(key, "name"))
        return scan_string_or_skip(scan, at, &text->name);
    if (text_is(key, "category"))
        return scan_string_or_skip(scan, at, &text->category);
    if (text_is(key, "parent") || text_is(key, "sf"))
        return scan_frame_id(scan, at, &text->frame);
    if (text_is(key, "ts"))
        return scan_microseconds(scan, at, &text->time, &text->time_ok);
    if (text_is(key, "tid"))
        return scan_event_id(scan, at, &text->thread);
    if (!text_is(key, "pid"))
        return scan_skip(scan, at);
    text->has_process = true;
    return scan_event_id(scan, at, &text->process);
}

static const char *scan_object(struct scan *scan, const char *at, struct sample_text *text) {
    bool closed;
    *text = (struct sample_text){0};
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(scan, at, &key)) || !(at = scan_member(scan, at, key, text)) ||
            !(at = scan_next_member(scan, at, &closed)))
            return NULL;
    }
    return at;
}

/* Parses the object at scan->at. The caller sets scan->at to *after when it no longer needs the
 * slices. */
static bool take_object(struct scan *scan, const char *what, struct sample_text *text,
                        const char **after, struct status *status) {
    if (*scan->at != '{')
        return scan_unexpected(scan, what, status);
    while (!(*after = scan_object(scan, scan->at, text)))
        if (!scan_more(scan, what, status))
            return false;
    return true;
}

static bool read_frame(struct kineto_samples *samples, struct kineto_rows *rows,
                       struct status *status) {
    struct scan *scan = rows->scan;
    struct text id, none = TEXT("");
    struct sample_text text;
    const char *after;
    if (!scan_key_copy(scan, &samples->key, &id, status) ||
        !take_object(scan, "a stack frame (an object)", &text, &after, status))
        return false;
    if (samples->count >= UINT32_MAX)
        return status_fail(status, STATUS_INPUT, "has more than 4294967294 stack frames");
    if (!GROW(samples->frames, &samples->capacity, samples->count + 1, status) ||
        !map_set(&samples->by_id, id_hash(id), samples->count, status))
        return false;
    samples->frames[samples->count++] = (struct stack_frame){
        .parent = id_hash(text.frame.data ? text.frame : none),
        .function = text.name.raw.data ? rows_string(rows, &text.name) : 0,
        .module = text.category.raw.data ? rows_string(rows, &text.category) : 0,
    };
    scan->at = after;
    return true;
}

static size_t parent_of(const struct kineto_samples *samples, const struct stack_frame *frame) {
    const uint64_t *index = frame->parent ? map_find(&samples->by_id, frame->parent) : NULL;
    return index ? (size_t)*index : NO_FRAME;
}

/* Collects the path from a frame toward its root, up to a frame that has a row. */
static bool follow(struct kineto_samples *samples, size_t from, size_t **path, size_t *capacity,
                   size_t *length, struct status *status) {
    *length = 0;
    for (size_t at = from; at != NO_FRAME;) {
        struct stack_frame *frame = &samples->frames[at];
        if (frame->row)
            return true;
        if (frame->on_path) { /* a cycle is cut where it closes */
            samples->frames[(*path)[*length - 1]].parent = 0;
            samples->cut++;
            return true;
        }
        if (!GROW(*path, capacity, *length + 1, status))
            return false;
        frame->on_path = true;
        (*path)[(*length)++] = at;
        at = parent_of(samples, frame);
        samples->cut += at == NO_FRAME && frame->parent != 0;
    }
    return true;
}

/* Writes rows for all frames that have none, callers first. Each frame is on one path only. */
static bool write_frames(struct kineto_samples *samples, struct trace_writer *writer,
                         struct status *status) {
    size_t *path = NULL, capacity = 0, length = 0;
    bool ok = true;
    for (; samples->written < samples->count && ok; samples->written++) {
        ok = follow(samples, samples->written, &path, &capacity, &length, status);
        while (ok && length > 0) {
            struct stack_frame *frame = &samples->frames[path[--length]];
            size_t parent = parent_of(samples, frame);
            struct row_stack row = {
                .parent = parent == NO_FRAME ? 0 : samples->frames[parent].row,
                .function = frame->function,
                .module = frame->module,
            };
            frame->row = trace_write_stack(writer, &row);
            frame->on_path = false;
        }
        ok = ok && !trace_writer_failed(writer);
    }
    memory_free(path);
    return ok || trace_writer_failed(writer);
}

bool kineto_samples_read_frames(struct kineto_samples *samples, struct kineto_rows *rows,
                                struct status *status) {
    bool more, ok = scan_enter(rows->scan, '}', &more, status);
    samples->has_frames = true;
    while (ok && more && !trace_writer_failed(rows->writer))
        ok = read_frame(samples, rows, status) && scan_next(rows->scan, '}', &more, status);
    return ok && write_frames(samples, rows->writer, status);
}

static const char *sample_time_error(const struct sample_text *text) {
    if (!text->time_ok)
        return "has no time (ts), or one that is not a number or too large";
    if (text->time < 0)
        return "is before time zero (ts)";
    if (text->time > TRACE_TIME_LIMIT)
        return "has a time (ts) beyond 73 years";
    return NULL;
}

static uint32_t stack_of(struct kineto_samples *samples, struct text id) {
    const uint64_t *index = id.length ? map_find(&samples->by_id, id_hash(id)) : NULL;
    samples->unknown += id.length && !index;
    return index ? samples->frames[*index].row : 0;
}

static void add_sample(struct kineto_samples *samples, struct kineto_rows *rows,
                       const struct sample_text *text) {
    struct row_sample row = {
        .time = text->time,
        .thread = text->has_process
                      ? entities_thread(&rows->entities, &text->process, &text->thread)
                      : entities_thread_of_any_process(&rows->entities, &text->thread),
        .stack = stack_of(samples, text->frame),
    };
    rows->used_events++;
    trace_write_sample(rows->writer, &row);
}

static bool read_sample(struct kineto_samples *samples, struct kineto_rows *rows,
                        struct status *status) {
    struct scan *scan = rows->scan;
    struct sample_text text;
    const char *after;
    if (!take_object(scan, "a sample (an object)", &text, &after, status))
        return false;
    const char *error = sample_time_error(&text);
    if (error && !rows->options->skip_invalid)
        return status_fail(status, STATUS_INPUT,
                           "the sample at byte %" PRIu64 " %s; --skip-invalid drops such events",
                           scan_offset(scan), error);
    if (error)
        trace_writer_dropped(rows->writer, 1);
    else
        add_sample(samples, rows, &text);
    if (rows->entities.failed) {
        *status = rows->entities.why;
        return false;
    }
    scan->at = after;
    return true;
}

bool kineto_samples_read(struct kineto_samples *samples, struct kineto_rows *rows,
                         struct status *status) {
    if (!samples->has_frames) {
        samples->too_early++;
        return json_skip(rows->scan, status);
    }
    bool more, ok = scan_enter(rows->scan, ']', &more, status);
    while (ok && more && !trace_writer_failed(rows->writer))
        ok = read_sample(samples, rows, status) && scan_next(rows->scan, ']', &more, status);
    return ok;
}

static void warn_count(struct trace_writer *writer, uint64_t count, const char *what) {
    char sentence[120];
    if (count == 0)
        return;
    snprintf(sentence, sizeof sentence, "%s: %" PRIu64, what, count);
    trace_writer_meta(writer, META_WARNING, text_of(sentence));
}

void kineto_samples_end(const struct kineto_samples *samples, struct trace_writer *writer) {
    if (samples->too_early)
        trace_writer_meta(writer, META_WARNING,
                          TEXT("skipped samples that precede stackFrames in the file"));
    warn_count(writer, samples->cut, "stack frames whose parent is missing or cyclic");
    warn_count(writer, samples->unknown, "samples of an unknown stack frame");
}

void kineto_samples_finish(struct kineto_samples *samples) {
    memory_free(samples->frames);
    map_finish(&samples->by_id);
    buffer_finish(&samples->key);
}
