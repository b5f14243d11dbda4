/* Folded stacks: "outermost;...;innermost COUNT" on each line, as flame graph tools, py-spy
 * (--format raw) and 'ridge export --format folded' write them.
 *
 * A count has no unit and a line has no time: a count is read as COUNT_NS, and the lines follow
 * each other. Only shares are meaningful, which a warning says. Files of two counts are differences
 * of two profiles. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text_lines.h"
#include "import/profile.h"

#define COUNT_NS 1000000
/* A larger sum is not a profile. */
#define COUNTS_MAX (TRACE_TIME_LIMIT / COUNT_NS / 64)

struct folded {
    struct profile profile;
    struct text_lines lines;
    int64_t total; /* counts so far */
    uint32_t thread;
};

/* Removes the count from the end of a line. Counts may have a fraction. */
static bool take_count(struct text *line, double *count) {
    char digits[32];
    size_t start = line->length;
    while (start > 0 && line->data[start - 1] != ' ')
        start--;
    size_t length = line->length - start;
    if (start < 2 || length == 0 || length >= sizeof digits || line->data[start] < '0' ||
        line->data[start] > '9')
        return false;
    memcpy(digits, line->data + start, length);
    digits[length] = 0;
    char *end;
    *count = strtod(digits, &end);
    *line = text_trim((struct text){line->data, start});
    return *end == 0 && line->length > 0;
}

/* py-spy writes "function (file:line)". */
static void split_place(struct text frame, struct text *function, struct text *file,
                        uint32_t *line) {
    *function = frame;
    *file = TEXT("");
    *line = 0;
    if (frame.length < 4 || frame.data[frame.length - 1] != ')')
        return;
    size_t open = frame.length, colon = 0;
    while (open > 0 && frame.data[open - 1] != '(') {
        open--;
        if (frame.data[open] == ':' && colon == 0)
            colon = open;
    }
    int64_t number;
    if (open < 2 || frame.data[open - 2] != ' ' || colon <= open ||
        !text_to_i64((struct text){frame.data + colon + 1, frame.length - colon - 2}, &number) ||
        number < 0 || number > UINT32_MAX)
        return;
    *function = (struct text){frame.data, open - 2};
    *file = (struct text){frame.data + open, colon - open};
    *line = (uint32_t)number;
}

static bool read_line(struct folded *import, struct text line, struct status *status) {
    double count;
    struct profile_sample sample = {.time = import->total * COUNT_NS, .thread = import->thread};
    line = text_trim(line);
    if (line.length == 0 || line.data[0] == '#')
        return true;
    if (!take_count(&line, &count) || count > (double)(COUNTS_MAX - import->total))
        return status_fail(status, STATUS_INPUT,
                           "line %llu is not a folded stack (frames separated by semicolons, a "
                           "blank and a count)",
                           (unsigned long long)import->lines.number);
    while (line.length > 0) {
        struct text frame = text_trim(text_split(&line, ';')), function, file;
        uint32_t number;
        split_place(frame, &function, &file, &number);
        sample.stack =
            profile_frame(&import->profile, sample.stack, function,
                          file.length ? TEXT(STACK_PYTHON) : TEXT(""), file, number, status);
        if (!sample.stack)
            return false;
    }
    sample.period = (int64_t)(count * COUNT_NS);
    import->total += (int64_t)count;
    return profile_add(&import->profile, &sample, status);
}

static bool read_lines(struct folded *import, struct status *status) {
    struct text line;
    while (text_lines_next(&import->lines, &line, status))
        if (!read_line(import, line, status))
            return false;
    return !import->lines.failed;
}

static void write_meta(struct trace_writer *writer, const struct folded *import) {
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("folded"));
    trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("folded stacks"));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta(writer, META_SAMPLES_CLOCK, TEXT("wall"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)import->profile.count);
    trace_writer_meta(writer, META_WARNING,
                      TEXT("folded stacks have counts without a unit and no times: a count is "
                           "shown as 1 ms, and only shares are meaningful"));
}

static bool folded_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    (void)options; /* there are no times to be invalid */
    struct folded import = {.profile.entities.writer = writer};
    struct entities *entities = &import.profile.entities;
    uint32_t process = entity_process(entities, 0, TEXT(""), status);
    import.thread = process ? entity_thread(entities, process, 0, TEXT(""), status) : 0;
    bool ok = import.thread && text_lines_open(&import.lines, source->path, status) &&
              read_lines(&import, status);
    if (ok) {
        profile_write(&import.profile);
        write_meta(writer, &import);
    }
    text_lines_close(&import.lines);
    profile_finish(&import.profile);
    return ok;
}

/* All complete lines of the head must be stacks, and one of several frames: a line of text that
 * ends with a number is not enough. */
static int folded_detect(const struct import_source *source) {
    struct text rest = {(const char *)source->head, source->head_length};
    size_t stacks = 0;
    bool nested = false, whole = source->head_length < IMPORT_HEAD_BYTES;
    while (rest.length > 0) {
        struct text line = text_split(&rest, '\n');
        double count;
        if (rest.length == 0 && !whole && stacks > 0)
            break;
        if (line.length > 0 && line.data[line.length - 1] == '\r')
            line.length--;
        line = text_trim(line);
        if (line.length == 0 || line.data[0] == '#')
            continue;
        if (text_utf8_valid(line) < line.length || !take_count(&line, &count))
            return 0;
        nested = nested || memchr(line.data, ';', line.length);
        stacks++;
    }
    return stacks > 0 && nested ? 2 : 0;
}

const struct importer import_folded = {
    .format = "folded", .detect = folded_detect, .run = folded_run};
