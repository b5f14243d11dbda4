/* speedscope's own JSON: frames shared by profiles, one profile for each thread, either sampled
 * (stacks, outermost frame first, with weights) or evented (frames that open and close).
 *
 * The frames may follow the profiles, so the file is read twice. Profiles of one file need not
 * share a clock: py-spy counts each thread's own samples. Each profile is a thread, with its own
 * times. A profile without a unit counts samples: one is read as COUNT_NS, which a warning says.
 * A profile of bytes is one of the heap: its stacks are allocations. memray writes beside it a
 * profile of their number, which is left out. */
#include <stdio.h>

#include "base/array.h"
#include "base/json_read.h"
#include "base/min_max.h"
#include "import/profile.h"

enum { STACK_FRAMES_MAX = 16384 };
#define COUNT_NS 1e6

struct shared_frame {
    uint32_t function, file, line;
};

struct frame_event {
    double at, frame;
    bool opens;
};

struct speedscope {
    struct profile profile;
    struct trace_writer *writer;
    struct scan scan;
    struct buffer key, word;
    struct shared_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t process;
    uint64_t profiles, of_counts, allocations;
    char exporter[80];
    /* The current profile. */
    double unit_ns; /* 0: bytes */
    bool is_count;
    uint32_t thread;
    double start;
    uint32_t *stacks; /* of a sampled one */
    double *weights;
    struct frame_event *events; /* of an evented one */
    size_t stack_count, stack_capacity, weight_count, weight_capacity, event_count, event_capacity;
};

typedef bool member_reader(struct speedscope *import, struct text key, struct status *status);

static bool read_object(struct speedscope *import, member_reader *read, struct status *status) {
    struct scan *scan = &import->scan;
    struct text key;
    bool more = false;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != '{')
        return scan_unexpected(scan, "an object", status);
    bool ok = scan_enter(scan, '}', &more, status);
    while (ok && more)
        ok = scan_key_copy(scan, &import->key, &key, status) && read(import, key, status) &&
             scan_next(scan, '}', &more, status);
    return ok;
}

typedef bool element_reader(struct speedscope *import, struct status *status);

static bool read_array(struct speedscope *import, element_reader *read, struct status *status) {
    struct scan *scan = &import->scan;
    bool more = false;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != '[')
        return scan_unexpected(scan, "a list", status);
    bool ok = scan_enter(scan, ']', &more, status);
    while (ok && more)
        ok = read(import, status) && scan_next(scan, ']', &more, status);
    return ok;
}

/* The decoded string at the position; "" for any other value. */
static bool read_word(struct speedscope *import, struct text *word, struct status *status) {
    struct scan *scan = &import->scan;
    struct scan_string string;
    const char *after;
    char byte;
    buffer_clear(&import->word);
    *word = TEXT("");
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != '"')
        return json_skip(scan, status);
    while (!(after = scan_string(scan, scan->at, &string)))
        if (!scan_more(scan, "a string", status))
            return false;
    scan_decode(string.raw, &import->word);
    scan->at = after;
    *word = buffer_as_text(&import->word);
    return buffer_ok(&import->word, status);
}

static bool read_number(struct speedscope *import, double *value, struct status *status) {
    struct scan *scan = &import->scan;
    const char *after;
    bool is_number = false;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    while (!(after = scan_double(scan, scan->at, value, &is_number)))
        if (!scan_more(scan, "a number", status))
            return false;
    scan->at = after;
    if (!is_number || !(*value >= -1e18 && *value <= 1e18))
        *value = 0;
    return true;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static bool read_frame_member(struct speedscope *import, struct text key, struct status *status) {
    struct shared_frame *frame = &import->frames[import->frame_count];
    struct text word;
    double line;
    if (text_is(key, "line")) {
        if (!read_number(import, &line, status))
            return false;
        frame->line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
        return true;
    }
    bool is_name = text_is(key, "name");
    if (!is_name && !text_is(key, "file"))
        return json_skip(&import->scan, status);
    if (!read_word(import, &word, status))
        return false;
    *(is_name ? &frame->function : &frame->file) = trace_writer_string(import->writer, word);
    return true;
}

static bool read_frame(struct speedscope *import, struct status *status) {
    if (!GROW(import->frames, &import->frame_capacity, import->frame_count + 1, status))
        return false;
    import->frames[import->frame_count] = (struct shared_frame){0};
    if (!read_object(import, read_frame_member, status))
        return false;
    import->frame_count++;
    return true;
}

static bool read_shared_member(struct speedscope *import, struct text key, struct status *status) {
    return text_is(key, "frames") ? read_array(import, read_frame, status)
                                  : json_skip(&import->scan, status);
}

static bool read_frames_member(struct speedscope *import, struct text key, struct status *status) {
    struct text word;
    if (text_is(key, "shared"))
        return read_object(import, read_shared_member, status);
    if (!text_is(key, "exporter"))
        return json_skip(&import->scan, status);
    if (!read_word(import, &word, status))
        return false;
    snprintf(import->exporter, sizeof import->exporter, "%.*s",
             (int)MIN(word.length, sizeof import->exporter - 1), word.data);
    return true;
}

static bool add_frame(struct speedscope *import, double number, uint32_t parent, uint32_t *stack,
                      struct status *status) {
    if (!(number >= 0 && number < (double)import->frame_count))
        return status_fail(status, STATUS_INPUT,
                           "refers to frame %.0f of %zu; the profile is damaged", number,
                           import->frame_count);
    const struct shared_frame *frame = &import->frames[(size_t)number];
    struct row_stack row = {
        .parent = parent, .function = frame->function, .file = frame->file, .line = frame->line};
    return (*stack = entity_frame(&import->profile.entities, &row, status)) != 0;
}

/* ---- Sampled profiles ---------------------------------------------------------------------- */

static bool read_stack(struct speedscope *import, struct status *status) {
    struct scan *scan = &import->scan;
    uint32_t stack = 0;
    unsigned depth = 0;
    bool more = false;
    double number;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != '[')
        return scan_unexpected(scan, "a stack (a list of frames)", status);
    bool ok = scan_enter(scan, ']', &more, status);
    while (ok && more) {
        ok = read_number(import, &number, status);
        if (ok && depth++ < STACK_FRAMES_MAX)
            ok = add_frame(import, number, stack, &stack, status);
        ok = ok && scan_next(scan, ']', &more, status);
    }
    if (!ok || !GROW(import->stacks, &import->stack_capacity, import->stack_count + 1, status))
        return false;
    import->stacks[import->stack_count++] = stack;
    return true;
}

static int64_t to_ns(const struct speedscope *import, double value) {
    double ns = value * import->unit_ns;
    return ns > 0 && ns < (double)(TRACE_TIME_LIMIT / 4) ? (int64_t)(ns + 0.5) : 0;
}

static bool read_weight(struct speedscope *import, struct status *status) {
    double weight;
    if (!read_number(import, &weight, status) ||
        !GROW(import->weights, &import->weight_capacity, import->weight_count + 1, status))
        return false;
    import->weights[import->weight_count++] = weight;
    return true;
}

static bool add_allocation(struct speedscope *import, double bytes, uint32_t stack) {
    if (stack == 0 || !(bytes >= 1))
        return true;
    trace_write_allocation(import->writer,
                           &(struct row_allocation){.thread = import->thread,
                                                    .operation = MEMORY_ALLOC,
                                                    .bytes = (uint64_t)bytes,
                                                    .address = ++import->allocations,
                                                    .stack = stack});
    return !trace_writer_failed(import->writer);
}

/* Stacks follow each other in time. */
static bool add_stack(struct speedscope *import, double at, double weight, uint32_t stack,
                      struct status *status) {
    if (import->unit_ns == 0)
        return add_allocation(import, weight, stack);
    struct profile_sample sample = {.time = to_ns(import, at),
                                    .thread = import->thread,
                                    .stack = stack,
                                    .period = to_ns(import, weight)};
    return stack == 0 || sample.period == 0 || profile_add(&import->profile, &sample, status);
}

static bool add_samples(struct speedscope *import, struct status *status) {
    double at = import->start;
    for (size_t i = 0; i < MIN(import->stack_count, import->weight_count); i++) {
        if (!add_stack(import, at, import->weights[i], import->stacks[i], status))
            return false;
        at += import->weights[i];
    }
    return true;
}

/* ---- Evented profiles ---------------------------------------------------------------------- */

static bool read_event_member(struct speedscope *import, struct text key, struct status *status) {
    struct frame_event *event = &import->events[import->event_count];
    struct text word;
    if (text_is(key, "at"))
        return read_number(import, &event->at, status);
    if (text_is(key, "frame"))
        return read_number(import, &event->frame, status);
    if (!text_is(key, "type"))
        return json_skip(&import->scan, status);
    if (!read_word(import, &word, status))
        return false;
    event->opens = text_is(word, "O");
    return true;
}

static bool read_event(struct speedscope *import, struct status *status) {
    if (!GROW(import->events, &import->event_capacity, import->event_count + 1, status))
        return false;
    import->events[import->event_count] = (struct frame_event){.frame = -1};
    if (!read_object(import, read_event_member, status))
        return false;
    import->event_count++;
    return true;
}

/* The stack between two events has the time between them as its weight. */
static bool add_events(struct speedscope *import, struct status *status) {
    uint32_t open[STACK_FRAMES_MAX];
    size_t depth = 0, ignored = 0;
    for (size_t i = 0; i < import->event_count; i++) {
        const struct frame_event *event = &import->events[i];
        double before = i ? import->events[i - 1].at : event->at;
        uint32_t stack = depth ? open[depth - 1] : 0;
        if (!add_stack(import, before, event->at - before, stack, status))
            return false;
        if (!event->opens) {
            ignored ? ignored-- : (depth -= depth > 0);
        } else if (depth == STACK_FRAMES_MAX) {
            ignored++;
        } else {
            if (!add_frame(import, event->frame, stack, &open[depth], status))
                return false;
            depth++;
        }
    }
    return true;
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static void set_unit(struct speedscope *import, struct text unit) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6},
                 {"seconds", 1e9},   {"bytes", 0},          {"none", COUNT_NS}};
    for (size_t i = 0; i < ARRAY_COUNT(units); i++)
        if (text_is(unit, units[i].name))
            import->unit_ns = units[i].ns;
    import->is_count = text_is(unit, "none");
}

static bool set_thread(struct speedscope *import, struct text name, struct status *status) {
    import->thread = entity_thread(&import->profile.entities, import->process,
                                   (int64_t)import->profiles, name, status);
    return import->thread != 0;
}

static bool read_profile_member(struct speedscope *import, struct text key, struct status *status) {
    struct text word;
    if (text_is(key, "samples"))
        return read_array(import, read_stack, status);
    if (text_is(key, "weights"))
        return read_array(import, read_weight, status);
    if (text_is(key, "events"))
        return read_array(import, read_event, status);
    if (text_is(key, "startValue"))
        return read_number(import, &import->start, status);
    if (text_is(key, "name"))
        return read_word(import, &word, status) && set_thread(import, word, status);
    if (!text_is(key, "unit"))
        return json_skip(&import->scan, status);
    if (!read_word(import, &word, status))
        return false;
    set_unit(import, word);
    return true;
}

static bool read_profile(struct speedscope *import, struct status *status) {
    import->profiles++;
    import->stack_count = import->weight_count = import->event_count = 0;
    import->start = 0;
    import->unit_ns = COUNT_NS;
    import->is_count = false;
    import->thread = 0;
    if (!read_object(import, read_profile_member, status) ||
        (!import->thread && !set_thread(import, TEXT(""), status)))
        return false;
    if (import->is_count && text_starts(text_of(import->exporter), "memray"))
        return true;
    import->of_counts += import->is_count;
    return add_samples(import, status) && add_events(import, status);
}

static bool read_profiles_member(struct speedscope *import, struct text key,
                                 struct status *status) {
    return text_is(key, "profiles") ? read_array(import, read_profile, status)
                                    : json_skip(&import->scan, status);
}

/* ---- File ---------------------------------------------------------------------------------- */

static bool read_file(struct speedscope *import, const char *path, member_reader *read,
                      struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    scan_open(&import->scan, &input);
    bool ok = read_object(import, read, status);
    scan_close(&import->scan);
    return ok;
}

static void write_meta(struct speedscope *import) {
    char line[160];
    snprintf(line, sizeof line, "%s%s", import->exporter,
             *import->exporter ? " (speedscope)" : "speedscope");
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("speedscope"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, text_of(line));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta(import->writer, META_SAMPLES_CLOCK, TEXT("wall"));
    trace_writer_meta_integer(import->writer, "source.events",
                              (int64_t)(import->profile.count + import->allocations));
    if (import->profiles > 1 && import->profile.count)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the profiles of a speedscope file need not share a clock: times "
                               "of different threads may not line up"));
    if (import->of_counts > 0)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("samples have counts without a unit: a count is shown as 1 ms, and "
                               "only shares are meaningful"));
    if (import->allocations > 0)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("a profile of bytes has allocations by stack, without times"));
}

static bool speedscope_run(const struct import_source *source, const struct import_options *options,
                           struct trace_writer *writer, struct status *status) {
    (void)options; /* weights out of range become 0 */
    struct speedscope import = {.writer = writer, .profile.entities.writer = writer};
    import.process = entity_process(&import.profile.entities, 0, TEXT(""), status);
    bool ok = import.process && read_file(&import, source->path, read_frames_member, status) &&
              read_file(&import, source->path, read_profiles_member, status);
    if (ok && import.profile.count == 0 && import.allocations == 0)
        ok = status_fail(status, STATUS_INPUT, "is a speedscope file without samples");
    if (ok) {
        profile_write(&import.profile);
        write_meta(&import);
    }
    buffer_finish(&import.key);
    buffer_finish(&import.word);
    memory_free(import.frames);
    memory_free(import.stacks);
    memory_free(import.weights);
    memory_free(import.events);
    profile_finish(&import.profile);
    return ok;
}

static int speedscope_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && text_starts(head, "{") &&
                   text_find(head, "speedscope.app/file-format-schema.json") >= 0
               ? 3
               : 0;
}

const struct importer import_speedscope = {
    .format = "speedscope", .detect = speedscope_detect, .run = speedscope_run};
