/* Profiles of austin, a sampler of Python programs, as text:
 *
 *   # austin: 3.5.0
 *   # mode: wall
 *   P18142;T18142;/home/ada/prog.py:main:8;/home/ada/prog.py:leaf:3 1042
 *
 * A process, a thread, frames of file, function and line with the outermost first, and microseconds
 * since the thread's last sample; in full mode microseconds, whether it was idle, and bytes. Times
 * of a thread are the sums of its samples. */
#include "base/map.h"
#include "base/text_lines.h"
#include "import/profile.h"

struct austin {
    struct profile profile;
    struct text_lines lines;
    struct map clocks; /* thread -> end of its last sample */
    bool is_cpu;
};

/* Removes the part behind the last `separator`. False without one. */
static bool take_last(struct text *rest, char separator, struct text *last) {
    size_t at = rest->length;
    while (at > 0 && rest->data[at - 1] != separator)
        at--;
    if (at == 0)
        return false;
    *last = (struct text){rest->data + at, rest->length - at};
    rest->length = at - 1;
    return true;
}

/* "T18142", or "T0:18142" with the number of the interpreter. */
static bool read_number(struct text word, char letter, uint64_t *number) {
    struct text last = {word.data + 1, word.length - (word.length > 0)};
    if (word.length < 2 || word.data[0] != letter)
        return false;
    take_last(&word, ':', &last);
    return text_to_u64(last, number);
}

static bool read_frames(struct austin *import, struct text frames, uint32_t *stack,
                        struct status *status) {
    *stack = 0;
    while (frames.length > 0) {
        struct text frame = text_split(&frames, ';'), number, function;
        uint64_t line = 0;
        if (!take_last(&frame, ':', &number) || !text_to_u64(number, &line) ||
            !take_last(&frame, ':', &function))
            continue; /* ":GC:" and other remarks */
        *stack = profile_frame(&import->profile, *stack, function, TEXT(STACK_PYTHON), frame,
                               line <= UINT32_MAX ? (uint32_t)line : 0, status);
        if (!*stack)
            return false;
    }
    return true;
}

static bool add_sample(struct austin *import, uint32_t thread, uint32_t stack, uint64_t us,
                       struct status *status) {
    const uint64_t *clock = map_find(&import->clocks, thread);
    uint64_t start = clock ? *clock : 0, duration = us * 1000;
    if (us > (uint64_t)TRACE_TIME_LIMIT / 4000 || start > (uint64_t)TRACE_TIME_LIMIT / 4 - duration)
        return status_fail(status, STATUS_INPUT, "line %llu has an impossible time",
                           (unsigned long long)import->lines.number);
    struct profile_sample sample = {
        .time = (int64_t)start, .thread = thread, .stack = stack, .period = (int64_t)duration};
    return map_set(&import->clocks, thread, start + duration, status) &&
           (stack == 0 || duration == 0 || profile_add(&import->profile, &sample, status));
}

static bool read_sample(struct austin *import, struct text line, struct status *status) {
    struct text metrics, frames = line;
    uint64_t pid, tid, us;
    uint32_t stack;
    bool ok = take_last(&frames, ' ', &metrics) &&
              read_number(text_split(&frames, ';'), 'P', &pid) &&
              read_number(text_split(&frames, ';'), 'T', &tid) && tid <= INT64_MAX &&
              text_to_u64(text_split(&metrics, ','), &us);
    if (!ok)
        return status_fail(status, STATUS_INPUT, "line %llu is not a sample of austin",
                           (unsigned long long)import->lines.number);
    struct entities *entities = &import->profile.entities;
    uint32_t process = entity_process(entities, pid, TEXT(""), status);
    uint32_t thread =
        process ? entity_thread(entities, process, (int64_t)tid, TEXT(""), status) : 0;
    return thread && read_frames(import, frames, &stack, status) &&
           add_sample(import, thread, stack, us, status);
}

static bool read_remark(struct austin *import, struct text line, struct status *status) {
    if (text_is(line, "# mode: memory"))
        return status_fail(status, STATUS_INPUT,
                           "is a memory profile of austin; ridge reads its profiles of time. "
                           "Record the heap with 'ridge record --memory'");
    import->is_cpu = import->is_cpu || text_is(line, "# mode: cpu");
    return true;
}

static bool read_lines(struct austin *import, struct status *status) {
    struct text line;
    while (text_lines_next(&import->lines, &line, status)) {
        line = text_trim(line);
        if (line.length > 0 && !(line.data[0] == '#' ? read_remark(import, line, status)
                                                     : read_sample(import, line, status)))
            return false;
    }
    if (import->lines.failed)
        return false;
    if (import->profile.count == 0)
        return status_fail(status, STATUS_INPUT,
                           "is a profile of austin without samples; did the program end early?");
    return true;
}

static void write_meta(const struct austin *import, struct trace_writer *writer) {
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("austin"));
    trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("austin"));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("trace"));
    if (!import->is_cpu)
        trace_writer_meta(writer, META_SAMPLES_CLOCK, TEXT("wall"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)import->profile.count);
    trace_writer_meta(writer, META_WARNING,
                      TEXT("samples of austin have durations and no times: times of different "
                           "threads may not line up"));
}

static bool austin_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct austin import = {.profile.entities.writer = writer};
    (void)options; /* there are no times */
    bool ok = text_lines_open(&import.lines, source->path, status) && read_lines(&import, status);
    if (ok) {
        profile_write(&import.profile);
        write_meta(&import, writer);
    }
    text_lines_close(&import.lines);
    map_finish(&import.clocks);
    profile_finish(&import.profile);
    return ok;
}

static int austin_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && text_starts(head, "# austin: ") ? 3 : 0;
}

const struct importer import_austin = {
    .format = "austin", .detect = austin_detect, .run = austin_run};
