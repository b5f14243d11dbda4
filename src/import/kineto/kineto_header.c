/* What does a Kineto trace say about its run? Members around traceEvents, before it or after it.
 * The known ones become device rows, ranks, the clock's base and warnings; other short scalars are
 * kept as meta "kineto.NAME"; anything else of any size is passed over. Our own exports say all of
 * it elsewhere (kineto_own.c), and more exactly, so that only the clock's base counts in them.
 */
#include "import/kineto/kineto_header.h"

#include <stdio.h>

#include "base/array.h"

enum { NOTES_MAX = 64, NOTE_BYTES_MAX = 1024, WARNINGS_MAX = 8 };

enum header_member {
    HEADER_OTHER,
    HEADER_MARK, /* tells that the file is Kineto's, and is kept as a note */
    HEADER_DEVICES,
    HEADER_RANKS,
    HEADER_BASE,
    HEADER_HOST,
    HEADER_WARNINGS,
};

static const struct keyword member_list[] = {
    {"schemaVersion", HEADER_MARK, 0},       {"traceName", HEADER_MARK, 0},
    {"cupti_version", HEADER_MARK, 0},       {"roctracer_version", HEADER_MARK, 0},
    {"deviceProperties", HEADER_DEVICES, 0}, {"computeProperties", HEADER_DEVICES, 0},
    {"distributedInfo", HEADER_RANKS, 0},    {"baseTimeNanoseconds", HEADER_BASE, 0},
    {"baseTimeNanosecond", HEADER_BASE, 0},  {"host_name", HEADER_HOST, 0},
    {"WARNING", HEADER_WARNINGS, 0},         {"ERROR", HEADER_WARNINGS, 0},
};

enum device_member {
    DEVICE_ID,
    DEVICE_NAME,
    DEVICE_MEMORY,
    DEVICE_MAJOR,
    DEVICE_MINOR,
    DEVICE_WARP,
    DEVICE_THREADS,
    DEVICE_REGISTERS,
    DEVICE_SHARED,
    DEVICE_MULTIPROCESSORS,
    DEVICE_MEMBERS
};

static const struct keyword device_list[] = {
    {"id", DEVICE_ID, 0},
    {"name", DEVICE_NAME, 0},
    {"totalGlobalMem", DEVICE_MEMORY, 0},
    {"computeMajor", DEVICE_MAJOR, 0},
    {"computeMinor", DEVICE_MINOR, 0},
    {"warpSize", DEVICE_WARP, 0},
    {"maxThreadsPerMultiprocessor", DEVICE_THREADS, 0},
    {"regsPerMultiprocessor", DEVICE_REGISTERS, 0},
    {"sharedMemPerMultiprocessor", DEVICE_SHARED, 0},
    {"numSms", DEVICE_MULTIPROCESSORS, 0},
};

enum rank_member { RANK_RANK, RANK_WORLD, RANK_BACKEND, RANK_NCCL };

static const struct keyword rank_list[] = {
    {"rank", RANK_RANK, 0},
    {"world_size", RANK_WORLD, 0},
    {"backend", RANK_BACKEND, 0},
    {"nccl_version", RANK_NCCL, 0},
};

void header_init(struct kineto_header *header) {
    *header = (struct kineto_header){0};
    keywords_init(&header->members, member_list, ARRAY_COUNT(member_list));
    keywords_init(&header->device_members, device_list, ARRAY_COUNT(device_list));
    keywords_init(&header->rank_members, rank_list, ARRAY_COUNT(rank_list));
}

static struct text vendor_of(struct text name) {
    static const char *const nvidia[] = {"NVIDIA", "Tesla", "Quadro", "GeForce", "TITAN"};
    static const char *const amd[] = {"AMD", "Radeon", "gfx", "Instinct"};
    for (size_t i = 0; i < ARRAY_COUNT(nvidia); i++)
        if (text_starts(name, nvidia[i]))
            return TEXT("NVIDIA");
    for (size_t i = 0; i < ARRAY_COUNT(amd); i++)
        if (text_starts(name, amd[i]))
            return TEXT("AMD");
    return TEXT("");
}

static const char *read_device(struct kineto_header *header, struct kineto_rows *rows,
                               const char *at, int64_t order) {
    int64_t values[DEVICE_MEMBERS] = {[DEVICE_ID] = order};
    struct scan_string name = {0};
    bool closed;
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        bool is_number = false;
        if (!(at = scan_key(rows->scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(&header->device_members, key);
        if (keyword && keyword->kind == DEVICE_NAME && *at == '"')
            at = scan_string(rows->scan, at, &name);
        else if (keyword)
            at = scan_integer(rows->scan, at, &values[keyword->kind], &is_number);
        else
            at = scan_skip(rows->scan, at);
        if (!at || !(at = scan_next_member(rows->scan, at, &closed)))
            return NULL;
    }
    struct row_device row = {
        .name = trace_writer_string(rows->writer, rows_text(rows, &name)),
        .vendor = trace_writer_string(rows->writer, vendor_of(name.raw)),
        .memory_bytes = values[DEVICE_MEMORY] < 0 ? 0 : (uint64_t)values[DEVICE_MEMORY],
        .multiprocessors = clamp_u32(values[DEVICE_MULTIPROCESSORS]),
        .compute_major = clamp_u32(values[DEVICE_MAJOR]),
        .compute_minor = clamp_u32(values[DEVICE_MINOR]),
        .warp_size = clamp_u32(values[DEVICE_WARP]),
        .threads_per_multiprocessor = clamp_u32(values[DEVICE_THREADS]),
        .registers_per_multiprocessor = clamp_u32(values[DEVICE_REGISTERS]),
        .shared_per_multiprocessor = clamp_u32(values[DEVICE_SHARED]),
        .listed = 1,
    };
    struct event_id id = {.number = values[DEVICE_ID]};
    places_describe_device(&rows->places, &id, &row);
    return at;
}

static const char *read_devices(struct kineto_header *header, struct kineto_rows *rows,
                                const char *at) {
    if (*at != '[')
        return scan_skip(rows->scan, at);
    at = scan_space(at + 1);
    for (int64_t order = 0; *at != ']'; order++) {
        at = *at == '{' ? read_device(header, rows, at, order) : scan_skip(rows->scan, at);
        if (!at)
            return NULL;
        at = scan_space(at);
        if (*at == ',')
            at = scan_space(at + 1);
        else if (*at != ']')
            return scan_fail(rows->scan, at, "expected a comma or a closing bracket");
    }
    return at + 1;
}

/* A scalar as meta text; containers are passed over. */
static const char *read_note(struct kineto_rows *rows, const char *at, const char *key) {
    struct scan_string string;
    if (*at == '{' || *at == '[')
        return scan_skip(rows->scan, at);
    const char *after = scan_skip(rows->scan, at);
    if (!after || after - at > NOTE_BYTES_MAX)
        return after;
    struct text value = {at, (size_t)(after - at)};
    if (*at == '"' && scan_string(rows->scan, at, &string))
        value = rows_text(rows, &string);
    trace_writer_meta(rows->writer, key, value);
    return after;
}

static const char *read_ranks(struct kineto_header *header, struct kineto_rows *rows,
                              const char *at) {
    static const char *const keys[] = {
        [RANK_RANK] = META_RANK,
        [RANK_WORLD] = META_WORLD_SIZE,
        [RANK_BACKEND] = "kineto.backend",
        [RANK_NCCL] = "kineto.nccl_version",
    };
    bool closed;
    if (*at != '{')
        return scan_skip(rows->scan, at);
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(rows->scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(&header->rank_members, key);
        at = keyword ? read_note(rows, at, keys[keyword->kind]) : scan_skip(rows->scan, at);
        if (!at || !(at = scan_next_member(rows->scan, at, &closed)))
            return NULL;
    }
    return at;
}

/* A base so far off that sums with it could overflow is left out, and said. */
static const char *read_base(struct kineto_header *header, struct kineto_rows *rows,
                             const char *at) {
    int64_t base;
    bool is_number = false;
    const char *after = scan_integer(rows->scan, at, &base, &is_number);
    if (!is_number)
        return after;
    int64_t least = rows->own ? -TRACE_TIME_LIMIT : 0;
    if (base >= least && base <= TRACE_TIME_LIMIT) {
        header->base = base;
        header->has_base = true;
    } else {
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("baseTimeNanoseconds is out of range and not used"));
    }
    return after;
}

/* What the profiler itself complained about. */
static const char *read_warnings(struct kineto_rows *rows, const char *at) {
    const char *after = scan_skip(rows->scan, at);
    if (!after || *at != '[')
        return after;
    at = scan_space(at + 1);
    for (int i = 0; i < WARNINGS_MAX && at < after && *at == '"'; i++) {
        struct scan_string string;
        if (!(at = scan_string(rows->scan, at, &string)))
            return NULL;
        struct buffer *out = &rows->note_text;
        struct text said = rows_text(rows, &string);
        if (said.length > NOTE_BYTES_MAX)
            said.length = NOTE_BYTES_MAX;
        buffer_clear(out);
        buffer_string(out, "the profiler said: ");
        buffer_text(out, said);
        trace_writer_meta(rows->writer, META_WARNING, buffer_as_text(out));
        at = scan_space(at);
        at = scan_space(*at == ',' ? at + 1 : at);
    }
    return after;
}

static const char *read_member(struct kineto_header *header, struct kineto_rows *rows,
                               enum header_member member, const char *key, const char *at) {
    switch (member) {
    case HEADER_DEVICES:
        return read_devices(header, rows, at);
    case HEADER_RANKS:
        return read_ranks(header, rows, at);
    case HEADER_BASE:
        return read_base(header, rows, at);
    case HEADER_HOST:
        return read_note(rows, at, META_HOST);
    case HEADER_WARNINGS:
        return read_warnings(rows, at);
    default:
        header->notes++;
        return read_note(rows, at, key);
    }
}

bool header_read(struct kineto_header *header, struct kineto_rows *rows, struct text key,
                 struct status *status) {
    struct scan *scan = rows->scan;
    const struct keyword *keyword = keywords_find(&header->members, key);
    enum header_member member = keyword ? (enum header_member)keyword->kind : HEADER_OTHER;
    char note[80], byte;
    snprintf(note, sizeof note, "kineto.%.*s", key.length < 64 ? (int)key.length : 64, key.data);
    header->is_kineto |= member != HEADER_OTHER && member != HEADER_HOST;
    if (!scan_peek(scan, &byte, status))
        return false;
    bool scalar = byte != '{' && byte != '[';
    bool known_already = rows->own && member != HEADER_BASE;
    if (known_already || (member == HEADER_OTHER && (!scalar || header->notes >= NOTES_MAX)))
        return json_skip(scan, status);

    /* All of the value first, so that reading it has effects only once. */
    const char *after;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    while (!(after = read_member(header, rows, member, note, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    scan->at = after;
    return true;
}
