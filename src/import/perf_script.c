/* The text that 'perf script' prints: a line for each sample, its frames below it, innermost first,
 * and an empty line.
 *
 *   python3  4711/4712 [003] 1000431.579406:     501504 cycles:u:
 *       7f81c8643440 _start+0x0 (/usr/lib/ld-linux.so.2)
 *
 * The command may contain blanks and digits, so the line is read from the time backwards. Without
 * a slash, the number is the tid. Samples of the first event are read and those of others counted;
 * samples of process 0 are idle CPUs.
 * Times are of perf's clock, which is CLOCK_MONOTONIC only after 'perf record -k mono'. */
#include <ctype.h>
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "base/text_lines.h"
#include "import/profile.h"

struct perf_script {
    struct profile profile;
    struct text_lines lines;
    struct trace_writer *writer;
    char event[64]; /* of the first sample */
    uint64_t other_events, idle, samples;
    struct row_stack *frames; /* of the current sample, innermost first */
    size_t frame_count, frame_capacity;
};

/* A parsed first line of a sample. */
struct header {
    struct text command, event;
    int64_t pid, tid, time, period;
};

enum { SECONDS_DIGITS_MAX = 10, FRACTION_DIGITS_MAX = 9, FRAMES_MAX = 4096 };

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* "1000431.579406" in nanoseconds. */
static bool parse_time(struct text text, int64_t *time) {
    struct text rest = text, seconds = text_split(&rest, '.');
    int64_t whole, fraction;
    if (seconds.length == 0 || seconds.length > SECONDS_DIGITS_MAX || rest.length == 0 ||
        rest.length > FRACTION_DIGITS_MAX || !text_to_i64(seconds, &whole) ||
        !text_to_i64(rest, &fraction) || whole < 0 || fraction < 0)
        return false;
    for (size_t digits = rest.length; digits < FRACTION_DIGITS_MAX; digits++)
        fraction *= 10;
    *time = whole * 1000000000 + fraction;
    return true;
}

static struct text last_word(struct text *rest) {
    *rest = text_trim(*rest);
    size_t start = rest->length;
    while (start > 0 && rest->data[start - 1] != ' ' && rest->data[start - 1] != '\t')
        start--;
    struct text word = {rest->data + start, rest->length - start};
    rest->length = start;
    return word;
}

/* "command pid/tid [cpu]" */
static bool parse_owner(struct text rest, struct header *header) {
    struct text word = last_word(&rest);
    if (word.length > 0 && word.data[0] == '[')
        word = last_word(&rest);
    struct text tid = word, pid = text_split(&tid, '/');
    if (!text_to_i64(pid, &header->pid) || header->pid < 0)
        return false;
    header->tid = header->pid;
    if (tid.length > 0 && !text_to_i64(tid, &header->tid))
        return false;
    header->command = text_trim(rest);
    return header->tid >= 0;
}

/* "501504 cycles:u:" or "cycles:", and what a tracepoint adds. */
static void parse_event(struct text rest, struct header *header) {
    rest = text_trim(rest);
    struct text after = rest, first = text_split(&after, ' ');
    header->period = 0;
    if (text_to_i64(first, &header->period))
        rest = text_trim(after);
    header->event = text_split(&rest, ' ');
    while (header->event.length > 0 && header->event.data[header->event.length - 1] == ':')
        header->event.length--;
}

/* The time is the first number with a fraction that a colon follows and an owner precedes. */
static bool parse_header(struct text line, struct header *header) {
    if (line.length == 0 || line.data[0] == '#')
        return false;
    for (size_t colon = 1; colon < line.length; colon++) {
        size_t start = colon;
        if (line.data[colon] != ':' || !is_digit(line.data[colon - 1]))
            continue;
        while (start > 0 && (is_digit(line.data[start - 1]) || line.data[start - 1] == '.'))
            start--;
        if (parse_time((struct text){line.data + start, colon - start}, &header->time) &&
            parse_owner((struct text){line.data, start}, header)) {
            parse_event((struct text){line.data + colon + 1, line.length - colon - 1}, header);
            return true;
        }
    }
    return false;
}

/* "7f81c8643440 symbol+0x10 (module)"; the symbol may contain blanks and parentheses. */
static bool parse_frame(struct text line, struct text *function, struct text *module) {
    struct text rest = text_trim(line), address = text_split(&rest, ' ');
    for (size_t i = 0; i < address.length; i++)
        if (!isxdigit((unsigned char)address.data[i]))
            return false;
    if (address.length == 0)
        return false;
    rest = text_trim(rest);
    *module = TEXT("");
    if (rest.length > 0 && rest.data[rest.length - 1] == ')') {
        size_t open = rest.length - 1, depth = 0;
        for (;; open--) {
            depth += rest.data[open] == ')';
            depth -= rest.data[open] == '(';
            if (depth == 0 || open == 0)
                break;
        }
        *module = (struct text){rest.data + open + 1, rest.length - open - 2};
        if (text_is(*module, "inlined"))
            *module = TEXT("");
        rest.length = open;
    }
    *function = text_trim(rest);
    ptrdiff_t offset = text_find(*function, "+0x");
    if (offset > 0)
        function->length = (size_t)offset;
    return true;
}

static bool add_frame(struct perf_script *import, struct text line, struct status *status) {
    struct text function, module;
    if (import->frame_count >= FRAMES_MAX || !parse_frame(line, &function, &module))
        return true;
    if (!GROW(import->frames, &import->frame_capacity, import->frame_count + 1, status))
        return false;
    bool unknown = text_is(function, STACK_UNKNOWN) || function.length == 0;
    import->frames[import->frame_count++] = (struct row_stack){
        .function = trace_writer_string(import->writer, unknown ? TEXT(STACK_UNKNOWN) : function),
        .module =
            trace_writer_string(import->writer, text_is(module, STACK_UNKNOWN) ? TEXT("") : module),
    };
    return true;
}

static bool make_stack(struct perf_script *import, uint32_t *stack, struct status *status) {
    *stack = 0;
    while (import->frame_count > 0) {
        struct row_stack *frame = &import->frames[--import->frame_count];
        frame->parent = *stack;
        if (!(*stack = entity_frame(&import->profile.entities, frame, status)))
            return false;
    }
    return true;
}

static bool is_first_event(struct perf_script *import, struct text event) {
    if (import->samples == 0)
        snprintf(import->event, sizeof import->event, "%.*s",
                 event.length < sizeof import->event ? (int)event.length
                                                     : (int)sizeof import->event - 1,
                 event.data);
    return text_is(event, import->event) || event.length >= sizeof import->event;
}

/* The header's slices become invalid with the next line, so entities are made first. */
static bool read_sample(struct perf_script *import, const struct header *header,
                        struct status *status) {
    struct entities *entities = &import->profile.entities;
    struct profile_sample sample = {.time = header->time, .period = header->period};
    bool is_first = is_first_event(import, header->event), is_idle = header->pid == 0;
    import->samples++;
    import->other_events += !is_first;
    import->idle += is_first && is_idle;
    uint32_t process = entity_process(entities, (uint64_t)header->pid, header->command, status);
    sample.thread =
        process ? entity_thread(entities, process, header->tid, header->command, status) : 0;
    if (!sample.thread)
        return false;
    struct text line;
    while (text_lines_next(&import->lines, &line, status) && text_trim(line).length > 0)
        if (!add_frame(import, line, status))
            return false;
    return !import->lines.failed && make_stack(import, &sample.stack, status) &&
           (!is_first || is_idle || profile_add(&import->profile, &sample, status));
}

static bool read_samples(struct perf_script *import, struct status *status) {
    struct text line;
    struct header header;
    while (text_lines_next(&import->lines, &line, status)) {
        if (trace_writer_failed(import->writer))
            return false;
        if (parse_header(line, &header) && !read_sample(import, &header, status))
            return false;
    }
    return !import->lines.failed;
}

static bool counts_time(const char *event) {
    return text_starts(text_of(event), "cpu-clock") || text_starts(text_of(event), "task-clock");
}

static void write_meta(struct perf_script *import, int64_t interval) {
    char warning[240], time[FORMAT_SIZE];
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("perf-script"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("perf script"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->samples);
    if (interval > 0) {
        snprintf(warning, sizeof warning,
                 "samples count %s, not time: the median sample is taken for %s, the median "
                 "time between samples of a thread",
                 import->event, format_duration(interval, time));
        trace_writer_meta(import->writer, META_WARNING, text_of(warning));
    }
    if (import->idle > 0) {
        snprintf(warning, sizeof warning, "samples of idle CPUs are left out: %llu",
                 (unsigned long long)import->idle);
        trace_writer_meta(import->writer, META_WARNING, text_of(warning));
    }
    if (import->other_events > 0) {
        snprintf(warning, sizeof warning, "samples of events other than %s are not read: %llu",
                 import->event, (unsigned long long)import->other_events);
        trace_writer_meta(import->writer, META_WARNING, text_of(warning));
    }
}

static bool write_samples(struct perf_script *import, struct status *status) {
    int64_t interval = 0;
    if (import->samples == 0)
        return status_fail(status, STATUS_INPUT, "has no samples");
    if (counts_time(import->event))
        profile_write(&import->profile);
    else
        interval = profile_write_scaled(&import->profile, status);
    write_meta(import, interval);
    return status->code == STATUS_OK;
}

static bool perf_script_run(const struct import_source *source,
                            const struct import_options *options, struct trace_writer *writer,
                            struct status *status) {
    (void)options; /* times are read as unsigned digits */
    struct perf_script import = {.writer = writer, .profile.entities.writer = writer};
    *status = (struct status){0};
    bool ok = text_lines_open(&import.lines, source->path, status) &&
              read_samples(&import, status) && write_samples(&import, status);
    text_lines_close(&import.lines);
    memory_free(import.frames);
    profile_finish(&import.profile);
    return ok;
}

/* Certain when a header and an indented frame follow each other. */
static int perf_script_detect(const struct import_source *source) {
    struct text rest = {(const char *)source->head, source->head_length};
    struct header header;
    enum { LINES_MAX = 400 };
    for (unsigned i = 0; i < LINES_MAX && rest.length > 0; i++) {
        struct text line = text_split(&rest, '\n'), function, module;
        if (!parse_header(line, &header))
            continue;
        line = text_split(&rest, '\n');
        if (line.length > 0 && (line.data[0] == ' ' || line.data[0] == '\t') &&
            parse_frame(line, &function, &module))
            return 3;
    }
    return 0;
}

const struct importer import_perf_script = {
    .format = "perf-script", .detect = perf_script_detect, .run = perf_script_run};
