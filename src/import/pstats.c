/* Dumps of Python's cProfile and profile (.prof, .pstats): a dict in Python's marshal format,
 *
 *   (file, line, function) -> (primitive calls, calls, self s, cumulative s, callers)
 *
 * There are no times of day, no threads and no stacks. Each function becomes a sample of its own
 * time, one after the other, so shares of self time are right, and cumulative times are not shown.
 * Built-in functions have the file "~". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "import/profile.h"

enum { DEPTH_MAX = 8, FILE_MAX_BYTES = 1 << 28, TUPLE_KEPT = 5 };

enum kind { KIND_OTHER, KIND_TEXT, KIND_NUMBER, KIND_TUPLE };

/* Tuples keep their first members; dicts, which are callers, are skipped. */
struct value {
    enum kind kind;
    struct text text;
    double number;
    size_t members[TUPLE_KEPT]; /* 1 + index in `values`; 0: none */
};

struct pstats {
    struct profile profile;
    struct input input;
    const unsigned char *at, *end;
    struct value *values; /* objects that others may refer to */
    size_t count, capacity;
    size_t *references, *interned; /* indexes in `values` */
    size_t reference_count, reference_capacity, interned_count, interned_capacity;
    uint32_t thread;
    int64_t time;
    uint64_t functions, calls;
    struct status *status;
};

static bool damaged(struct pstats *import) {
    return status_fail(import->status, STATUS_INPUT, "is a damaged cProfile dump");
}

static bool take(struct pstats *import, size_t size, uint64_t *value) {
    *value = 0;
    if ((size_t)(import->end - import->at) < size)
        return damaged(import);
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)import->at[i] << 8 * i;
    import->at += size;
    return true;
}

static bool take_text(struct pstats *import, size_t length_bytes, struct text *text) {
    uint64_t length;
    if (!take(import, length_bytes, &length))
        return false;
    if ((uint64_t)(import->end - import->at) < length)
        return damaged(import);
    *text = (struct text){(const char *)import->at, (size_t)length};
    import->at += length;
    return true;
}

static bool add_value(struct pstats *import, const struct value *value, size_t *index) {
    if (!GROW(import->values, &import->capacity, import->count + 1, import->status))
        return false;
    import->values[import->count] = *value;
    *index = import->count++;
    return true;
}

static bool add_index(struct pstats *import, size_t **list, size_t *count, size_t *capacity,
                      size_t index) {
    if (!GROW(*list, capacity, *count + 1, import->status))
        return false;
    (*list)[(*count)++] = index;
    return true;
}

/* ---- Objects ---- */

static bool read_object(struct pstats *import, unsigned depth, size_t *index, bool *ends);

/* A number of 15-bit digits. */
static bool read_long(struct pstats *import, double *number) {
    uint64_t size, digit;
    if (!take(import, 4, &size))
        return false;
    int64_t digits = (int32_t)(uint32_t)size;
    double scale = 1;
    *number = 0;
    for (int64_t i = 0; i < llabs(digits); i++, scale *= 32768) {
        if (!take(import, 2, &digit))
            return false;
        *number += (double)digit * scale;
    }
    if (digits < 0)
        *number = -*number;
    return true;
}

static bool read_text_real(struct pstats *import, double *number) {
    struct text text;
    char digits[64];
    if (!take_text(import, 1, &text))
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)MIN(text.length, sizeof digits - 1), text.data);
    *number = strtod(digits, NULL);
    return true;
}

static bool read_number(struct pstats *import, char code, double *number) {
    uint64_t bits;
    switch (code) {
    case 'i':
        if (!take(import, 4, &bits))
            return false;
        *number = (int32_t)(uint32_t)bits;
        return true;
    case 'I':
        if (!take(import, 8, &bits))
            return false;
        *number = (double)(int64_t)bits;
        return true;
    case 'g':
        if (!take(import, 8, &bits))
            return false;
        memcpy(number, &bits, sizeof *number);
        return true;
    case 'l':
        return read_long(import, number);
    default:
        return read_text_real(import, number);
    }
}

static bool read_tuple(struct pstats *import, size_t length_bytes, unsigned depth, size_t index) {
    uint64_t count;
    if (!take(import, length_bytes, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        size_t member;
        bool ends = false;
        if (!read_object(import, depth + 1, &member, &ends))
            return false;
        if (ends)
            return damaged(import);
        if (i < TUPLE_KEPT)
            import->values[index].members[i] = member + 1;
    }
    return true;
}

/* Keys and values until the end mark. */
static bool skip_dict(struct pstats *import, unsigned depth) {
    for (;;) {
        size_t member;
        bool ends = false;
        if (!read_object(import, depth + 1, &member, &ends))
            return false;
        if (ends)
            return true;
        if (!read_object(import, depth + 1, &member, &ends))
            return false;
        if (ends)
            return damaged(import);
    }
}

static bool read_reference(struct pstats *import, const size_t *list, size_t count, size_t *index) {
    uint64_t place;
    if (!take(import, 4, &place))
        return false;
    if (place >= count)
        return damaged(import);
    *index = list[place];
    return true;
}

static bool read_content(struct pstats *import, char code, unsigned depth, size_t index) {
    struct value *value = &import->values[index];
    switch (code) {
    case 'N':
    case 'T':
    case 'F':
        return true;
    case 'i':
    case 'I':
    case 'g':
    case 'l':
    case 'f':
        value->kind = KIND_NUMBER;
        return read_number(import, code, &value->number);
    case 's':
    case 't':
    case 'u':
    case 'a':
    case 'A':
        value->kind = KIND_TEXT;
        return take_text(import, 4, &value->text);
    case 'z':
    case 'Z':
        value->kind = KIND_TEXT;
        return take_text(import, 1, &value->text);
    case '(':
    case ')':
        value->kind = KIND_TUPLE;
        return read_tuple(import, code == '(' ? 4 : 1, depth, index);
    case '{':
        return skip_dict(import, depth);
    default:
        return damaged(import);
    }
}

/* An object; `ends`: it is the end mark of a dict. */
static bool read_object(struct pstats *import, unsigned depth, size_t *index, bool *ends) {
    uint64_t byte;
    if (depth > DEPTH_MAX)
        return damaged(import);
    if (!take(import, 1, &byte))
        return false;
    char code = (char)(byte & 0x7F);
    *ends = code == '0';
    if (*ends)
        return true;
    if (code == 'r')
        return read_reference(import, import->references, import->reference_count, index);
    if (code == 'R')
        return read_reference(import, import->interned, import->interned_count, index);
    if (!add_value(import, &(struct value){0}, index))
        return false;
    if (byte & 0x80 && !add_index(import, &import->references, &import->reference_count,
                                  &import->reference_capacity, *index))
        return false;
    if (code == 't' && !add_index(import, &import->interned, &import->interned_count,
                                  &import->interned_capacity, *index))
        return false;
    return read_content(import, code, depth, *index);
}

/* ---- Functions ---- */

static const struct value *member(const struct pstats *import, size_t tuple, unsigned place) {
    const struct value *value = &import->values[tuple];
    return value->kind == KIND_TUPLE && value->members[place]
               ? &import->values[value->members[place] - 1]
               : NULL;
}

static double number_of(const struct value *value) {
    return value && value->kind == KIND_NUMBER && isfinite(value->number) ? value->number : 0;
}

static bool write_function(struct pstats *import, size_t key, size_t stats) {
    const struct value *file = member(import, key, 0), *line = member(import, key, 1);
    const struct value *name = member(import, key, 2);
    double seconds = number_of(member(import, stats, 2)), at = number_of(line);
    if (!file || !name || file->kind != KIND_TEXT || name->kind != KIND_TEXT ||
        import->values[stats].kind != KIND_TUPLE)
        return true; /* another tool's entry */
    bool built_in = text_is(file->text, "~");
    struct profile_sample sample = {.time = import->time, .thread = import->thread};
    double left = (double)(TRACE_TIME_LIMIT - import->time);
    sample.period = seconds > 0 && seconds * 1e9 < left ? (int64_t)(seconds * 1e9 + 0.5) : 0;
    sample.stack = profile_frame(
        &import->profile, 0, name->text, TEXT(STACK_PYTHON), built_in ? TEXT("") : file->text,
        at > 0 && at <= UINT32_MAX && !built_in ? (uint32_t)at : 0, import->status);
    import->functions++;
    import->calls += (uint64_t)MAX(number_of(member(import, stats, 1)), 0.0);
    import->time += sample.period;
    return sample.stack && profile_add(&import->profile, &sample, import->status);
}

static bool read_functions(struct pstats *import) {
    uint64_t code;
    if (!take(import, 1, &code))
        return false;
    if ((code & 0x7F) != '{')
        return damaged(import);
    if (code & 0x80) { /* the dict itself can be referred to */
        size_t dict;
        if (!add_value(import, &(struct value){0}, &dict) ||
            !add_index(import, &import->references, &import->reference_count,
                       &import->reference_capacity, dict))
            return false;
    }
    for (;;) {
        size_t key, stats;
        bool ends = false;
        if (!read_object(import, 1, &key, &ends))
            return false;
        if (ends)
            return true;
        if (!read_object(import, 1, &stats, &ends) || ends)
            return ends ? damaged(import) : false;
        if (!write_function(import, key, stats))
            return false;
    }
}

static bool read_whole(struct pstats *import, const char *path) {
    if (!input_read_file(&import->input, path, FILE_MAX_BYTES, import->status))
        return false;
    import->at = (const unsigned char *)import->input.data;
    import->end = import->at + import->input.length;
    return true;
}

static void write_meta(struct pstats *import) {
    struct trace_writer *writer = import->profile.entities.writer;
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("pstats"));
    trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("cProfile"));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta(writer, META_SAMPLES_CLOCK, TEXT("wall"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)import->functions);
    trace_writer_meta_integer(writer, "source.calls", (int64_t)import->calls);
    trace_writer_meta(writer, META_WARNING,
                      TEXT("cProfile records totals of functions: self times are exact, and there "
                           "are no times of day, threads or stacks"));
}

static bool pstats_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    (void)options; /* there are no times to be invalid */
    struct pstats import = {.profile.entities.writer = writer, .status = status, .input.fd = -1};
    struct entities *entities = &import.profile.entities;
    uint32_t process = entity_process(entities, 0, TEXT(""), status);
    import.thread = process ? entity_thread(entities, process, 0, TEXT(""), status) : 0;
    bool ok = import.thread && read_whole(&import, source->path) && read_functions(&import);
    if (ok && import.functions == 0)
        ok = status_fail(status, STATUS_INPUT, "is a cProfile dump without functions");
    if (ok) {
        profile_write(&import.profile);
        write_meta(&import);
    }
    input_close(&import.input);
    memory_free(import.values);
    memory_free(import.references);
    memory_free(import.interned);
    profile_finish(&import.profile);
    return ok;
}

/* A dict whose first key is a tuple of three that begins with a text. */
static int pstats_detect(const struct import_source *source) {
    const unsigned char *head = source->head;
    if (source->head_length < 8 || (head[0] & 0x7F) != '{')
        return 0;
    unsigned char code = head[1] & 0x7F;
    bool small = code == ')' && head[2] == 3;
    bool large = code == '(' && head[2] == 3 && head[3] == 0 && head[4] == 0 && head[5] == 0;
    unsigned char first = head[small ? 3 : 6] & 0x7F;
    return (small || large) && memchr("stuaAzZ", first, 7) ? 3 : 0;
}

const struct importer import_pstats = {
    .format = "pstats", .detect = pstats_detect, .run = pstats_run};
