/* 'perf record' files (perf.data), as the perf tool documents them (perf.data-file-format.txt), and
 * what it writes to a pipe.
 *
 *   "PERFILE2", sizes, sections: attributes of the events, records, features
 *   records: type, misc, size, content; the layout of a sample follows the attribute's sample_type
 *
 * Samples of the first event are read, and those of others counted, as of perf script. Files have
 * no symbols: address_space.h names functions. Compressed records (zstd) are decompressed.
 *
 * The buffers of CPUs are written one after another, so a sample may come before the record of its
 * mapping: mappings are read in a first pass.
 *
 * Times are of perf's clock, which is CLOCK_MONOTONIC only after 'perf record -k mono'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/format.h"
#include "base/input.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "import/address_space.h"
#include "import/profile.h"

/* Of enum perf_event_type and of the perf tool. */
enum record_type {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_HEADER_ATTR = 64,
    RECORD_HEADER_BUILD_ID = 67,
    RECORD_AUXTRACE = 71,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
};

enum sample_bit {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_IDENTIFIER = 1 << 16,
};

enum {
    MAGIC_BYTES = 8,
    PIPE_HEADER = 16,
    FILE_HEADER = 104,
    RECORD_HEADER = 8,
    ATTR_MIN = 64, /* the first version of struct perf_event_attr */
    ATTR_MAX = 4096,
    EVENTS_MAX = 4096,
    FEATURE_BUILD_ID = 2,
    FRAMES_MAX = 4096,
    MMAP_ID_BYTES = 20,
    MISC_BUILD_ID = 1 << 14, /* of MMAP2: a build id instead of device and inode */
    MISC_KERNEL = 1,
    MISC_MODE = 7,
};
#define CONTEXT_FIRST                                                                              \
    ((uint64_t)-4095) /* from here on, call chains have markers, not addresses                     \
                       */
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define PLAIN_MAX ((size_t)1 << 28) /* of one compressed record, decompressed */

struct event {
    uint64_t type, config, sample_type, read_format;
    bool frequency; /* period is one */
    uint64_t period;
    bool mono;    /* clock is CLOCK_MONOTONIC */
    bool stamped; /* records other than samples end with the fields of a sample, too */
};

struct perf_data {
    struct profile profile;
    struct trace_writer *writer;
    const struct import_options *options;
    struct input input;
    struct event *events;
    size_t event_count, event_capacity;
    struct map event_of_id; /* 1 + index */
    struct address_space space;
    struct intern names; /* of threads */
    struct map commands; /* tid -> id in `names` */
    bool first_pass;
    ZSTD_DStream *decoder;
    struct buffer plain; /* decompressed records that are not complete */
    uint64_t samples, other_events, idle, lost, resolved, frames;
    bool truncated;
};

/* ---- Bytes of a record ---- */

/* What is left of a record; reading behind its end gives 0 and sets `bad`. */
struct bytes {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take(struct bytes *bytes, size_t size) {
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < size) {
        bytes->bad = true;
        bytes->at = bytes->end;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes->at[i] << 8 * i;
    bytes->at += size;
    return value;
}

static uint32_t take32(struct bytes *bytes) {
    return (uint32_t)take(bytes, 4);
}

static uint64_t take64(struct bytes *bytes) {
    return take(bytes, 8);
}

/* A text up to its zero or the end. */
static struct text take_text(struct bytes *bytes) {
    size_t left = (size_t)(bytes->end - bytes->at);
    struct text text = {(const char *)bytes->at, strnlen((const char *)bytes->at, left)};
    bytes->at = bytes->end;
    return text;
}

/* ---- Events ---- */

/* struct perf_event_attr, of any length. */
static bool add_event(struct perf_data *import, struct bytes attr, size_t *index,
                      struct status *status) {
    struct event event = {0};
    event.type = take32(&attr);
    take32(&attr); /* its size */
    event.config = take64(&attr);
    event.period = take64(&attr);
    event.sample_type = take64(&attr);
    event.read_format = take64(&attr);
    uint64_t flags = take64(&attr);
    enum { FREQUENCY = 10, STAMPED = 18, CLOCK_ID = 25 };
    event.frequency = flags >> FREQUENCY & 1;
    event.stamped = flags >> STAMPED & 1;
    attr.at = attr.end - attr.at >= 52 ? attr.at + 44 : attr.end; /* to clockid */
    event.mono = (flags >> CLOCK_ID & 1) && take32(&attr) == 1;
    if (import->event_count >= EVENTS_MAX ||
        !GROW(import->events, &import->event_capacity, import->event_count + 1, status))
        return import->event_count >= EVENTS_MAX
                   ? status_fail(status, STATUS_INPUT, "has more than %d events", EVENTS_MAX)
                   : false;
    *index = import->event_count;
    import->events[import->event_count++] = event;
    return true;
}

static bool add_ids(struct perf_data *import, struct bytes ids, size_t event,
                    struct status *status) {
    while (ids.end - ids.at >= 8)
        if (!map_set(&import->event_of_id, take64(&ids), event + 1, status))
            return false;
    return true;
}

/* The event of a sample, by its id; the first without one. */
static size_t event_of(const struct perf_data *import, const unsigned char *at,
                       const unsigned char *end) {
    uint64_t type = import->events[0].sample_type;
    size_t before = 0;
    if (import->event_count < 2)
        return 0;
    if (!(type & SAMPLE_IDENTIFIER)) {
        if (!(type & SAMPLE_ID))
            return 0;
        before = 8 * (size_t)__builtin_popcountll(
                         type & (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR));
    }
    struct bytes bytes = {at + MIN(before, (size_t)(end - at)), end, false};
    const uint64_t *event = map_find(&import->event_of_id, take64(&bytes));
    return event && *event <= import->event_count ? (size_t)*event - 1 : 0;
}

/* ---- Processes and their files ---- */

/* The time of a record other than a sample: among the fields at its end. */
static uint64_t time_of(const struct perf_data *import, const struct bytes *record) {
    const struct event *event = import->event_count ? &import->events[0] : NULL;
    if (!event || !event->stamped || !(event->sample_type & SAMPLE_TIME))
        return 0;
    uint64_t behind =
        event->sample_type & (SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER);
    size_t offset = 8 * ((size_t)__builtin_popcountll(behind) + 1);
    if ((size_t)(record->end - record->at) < offset)
        return 0;
    struct bytes at = {record->end - offset, record->end, false};
    return take64(&at);
}

static void read_identity(struct bytes *bytes, uint16_t misc, struct file_identity *file) {
    if (misc & MISC_BUILD_ID) {
        size_t length = (size_t)take(bytes, 1);
        take(bytes, 3);
        if (bytes->end - bytes->at >= MMAP_ID_BYTES) {
            file->build_id_length = MIN(length, (size_t)MMAP_ID_BYTES);
            memcpy(file->build_id, bytes->at, file->build_id_length);
        }
        for (unsigned i = 0; i < MMAP_ID_BYTES; i++)
            take(bytes, 1);
    } else {
        file->device_major = take32(bytes);
        file->device_minor = take32(bytes);
        file->inode = take64(bytes);
        take64(bytes); /* generation */
    }
    take64(bytes); /* protection and flags */
}

static bool read_mapping(struct perf_data *import, struct bytes bytes, uint16_t misc, bool second,
                         struct status *status) {
    struct mapping mapping = {.time = time_of(import, &bytes)};
    struct file_identity identity = {0};
    mapping.pid = take32(&bytes);
    take32(&bytes); /* tid */
    mapping.start = take64(&bytes);
    uint64_t length = take64(&bytes);
    mapping.offset = take64(&bytes);
    if (second)
        read_identity(&bytes, misc, &identity);
    struct text path = take_text(&bytes);
    return bytes.bad || __builtin_add_overflow(mapping.start, length, &mapping.end) ||
           address_space_map(&import->space, &mapping, path, &identity, status);
}

static bool read_fork(struct perf_data *import, struct bytes bytes, struct status *status) {
    uint32_t pid = take32(&bytes), parent = take32(&bytes);
    return bytes.bad || address_space_fork(&import->space, pid, parent, status);
}

static bool read_comm(struct perf_data *import, struct bytes bytes, struct status *status) {
    uint32_t id, tid;
    take32(&bytes); /* pid */
    tid = take32(&bytes);
    struct text name = take_text(&bytes);
    return bytes.bad || (intern_add(&import->names, name, &id, status) &&
                         map_set(&import->commands, tid, id, status));
}

/* Entries of struct build_id_event. */
static bool read_build_ids(struct perf_data *import, struct bytes bytes, struct status *status) {
    enum { ID_BYTES = 20 };
    while (bytes.end - bytes.at > RECORD_HEADER) {
        const unsigned char *entry = bytes.at;
        take32(&bytes);
        uint16_t misc = (uint16_t)take(&bytes, 2), size = (uint16_t)take(&bytes, 2);
        if (size < RECORD_HEADER + 28 || size > bytes.end - entry)
            return true;
        struct bytes rest = {entry + RECORD_HEADER, entry + size, false};
        const unsigned char *id = rest.at + 4;
        rest.at += 4 + 24;
        size_t length = misc & (1 << 15) ? id[ID_BYTES] : ID_BYTES;
        struct text path = take_text(&rest);
        if (!address_space_build_id(&import->space, path, id, MIN(length, (size_t)ID_BYTES),
                                    status))
            return false;
        bytes.at = entry + size;
    }
    return true;
}

/* ---- Samples ---- */

struct raw_sample {
    uint64_t ip, time, period;
    uint32_t pid, tid;
    const unsigned char *chain; /* addresses, innermost first; or NULL */
    uint64_t chain_length;
};

/* Functions of the kernel are addresses. */
static uint32_t add_frame(struct perf_data *import, uint32_t parent, const struct raw_sample *raw,
                          uint64_t address, bool in_kernel, struct status *status) {
    struct buffer name = {0};
    struct text module = TEXT("[kernel]");
    uint32_t frame = 0;
    import->frames++;
    if (in_kernel)
        buffer_printf(&name, "0x%llx", (unsigned long long)address);
    else
        import->resolved +=
            address_space_find(&import->space, raw->pid, raw->time, address, &name, &module);
    if (buffer_ok(&name, status))
        frame = profile_frame(&import->profile, parent, buffer_as_text(&name), module, TEXT(""), 0,
                              status);
    buffer_finish(&name);
    return frame;
}

/* The values of counters in a sample. */
static void skip_read(struct bytes *bytes, uint64_t format) {
    enum { TOTAL_ENABLED = 1, TOTAL_RUNNING = 2, FORMAT_ID = 4, GROUP = 8, FORMAT_LOST = 16 };
    uint64_t values = format & GROUP ? take64(bytes) : 1;
    unsigned times = !!(format & TOTAL_ENABLED) + !!(format & TOTAL_RUNNING);
    unsigned each = 1 + !!(format & FORMAT_ID) + !!(format & FORMAT_LOST);
    if (values > (uint64_t)(bytes->end - bytes->at) / 8) {
        bytes->bad = true;
        return;
    }
    for (uint64_t i = 0; i < times + values * each; i++)
        take64(bytes);
}

static bool parse_sample(struct bytes bytes, const struct event *event, struct raw_sample *sample) {
    uint64_t type = event->sample_type;
    *sample = (struct raw_sample){.period = event->frequency ? 0 : event->period};
    if (type & SAMPLE_IDENTIFIER)
        take64(&bytes);
    if (type & SAMPLE_IP)
        sample->ip = take64(&bytes);
    if (type & SAMPLE_TID) {
        sample->pid = take32(&bytes);
        sample->tid = take32(&bytes);
    }
    if (type & SAMPLE_TIME)
        sample->time = take64(&bytes);
    if (type & SAMPLE_ADDR)
        take64(&bytes);
    if (type & SAMPLE_ID)
        take64(&bytes);
    if (type & SAMPLE_STREAM_ID)
        take64(&bytes);
    if (type & SAMPLE_CPU)
        take64(&bytes);
    if (type & SAMPLE_PERIOD)
        sample->period = take64(&bytes);
    if (type & SAMPLE_READ)
        skip_read(&bytes, event->read_format);
    if (type & SAMPLE_CALLCHAIN) {
        sample->chain_length = take64(&bytes);
        sample->chain = bytes.at;
        if (sample->chain_length > (uint64_t)(bytes.end - bytes.at) / 8)
            return false;
    }
    return !bytes.bad;
}

/* Outermost frame first. */
static bool make_stack(struct perf_data *import, const struct raw_sample *raw, bool in_kernel,
                       uint32_t *stack, struct status *status) {
    uint64_t addresses[FRAMES_MAX];
    bool kernel[FRAMES_MAX];
    size_t count = 0;
    bool mode = in_kernel;
    for (uint64_t i = 0; i < raw->chain_length && count < FRAMES_MAX; i++) {
        struct bytes at = {raw->chain + 8 * i, raw->chain + 8 * i + 8, false};
        uint64_t address = take64(&at);
        if (address >= CONTEXT_FIRST) {
            mode = address == CONTEXT_KERNEL;
            continue;
        }
        kernel[count] = mode;
        addresses[count++] = address;
    }
    if (count == 0 && raw->ip) {
        kernel[0] = in_kernel;
        addresses[count++] = raw->ip;
    }
    for (size_t i = count; i-- > 0;)
        /* a return address is behind its call */
        if (!(*stack = add_frame(import, *stack, raw, addresses[i] - (i > 0), kernel[i], status)))
            return false;
    return true;
}

static struct text command_of(const struct perf_data *import, uint32_t tid) {
    const uint64_t *id = map_find(&import->commands, tid);
    return id ? intern_text(&import->names, (uint32_t)*id) : TEXT("");
}

static bool read_sample(struct perf_data *import, struct bytes bytes, uint16_t misc,
                        struct status *status) {
    struct raw_sample raw;
    struct profile_sample sample = {0};
    if (import->event_count == 0)
        return status_fail(status, STATUS_INPUT, "has samples before the first event");
    size_t event = event_of(import, bytes.at, bytes.end);
    import->other_events += event != 0;
    if (event != 0)
        return true;
    if (!parse_sample(bytes, &import->events[event], &raw) || raw.time > TRACE_TIME_LIMIT) {
        trace_writer_dropped(import->writer, 1);
        return import->options->skip_invalid ||
               status_fail(status, STATUS_INPUT,
                           "sample %llu has an impossible time or length; --skip-invalid drops "
                           "such samples",
                           (unsigned long long)import->samples + 1);
    }
    if (raw.pid == 0 && raw.tid == 0) {
        import->idle++;
        return true;
    }
    struct entities *entities = &import->profile.entities;
    uint32_t process = entity_process(entities, raw.pid, command_of(import, raw.pid), status);
    sample.thread =
        process ? entity_thread(entities, process, raw.tid, command_of(import, raw.tid), status)
                : 0;
    sample.time = (int64_t)raw.time;
    sample.period = raw.period <= INT64_MAX ? (int64_t)raw.period : 0;
    import->samples++;
    return sample.thread &&
           make_stack(import, &raw, (misc & MISC_MODE) == MISC_KERNEL, &sample.stack, status) &&
           profile_add(&import->profile, &sample, status);
}

/* ---- Records ---- */

static bool read_record(struct perf_data *import, const unsigned char *record, size_t size,
                        struct status *status);

/* Whole records of what was decompressed; a rest waits for the next block. */
static bool read_plain(struct perf_data *import, struct status *status) {
    size_t at = 0;
    const unsigned char *data = (const unsigned char *)import->plain.data;
    while (import->plain.length - at >= RECORD_HEADER) {
        size_t size = data[at + 6] | (size_t)data[at + 7] << 8;
        if (size < RECORD_HEADER)
            return status_fail(status, STATUS_INPUT, "is damaged: a record of %zu bytes", size);
        if (size > import->plain.length - at)
            break;
        uint32_t type = data[at] | (uint32_t)data[at + 1] << 8 | (uint32_t)data[at + 2] << 16;
        if (type != RECORD_COMPRESSED && type != RECORD_COMPRESSED2 &&
            !read_record(import, data + at, size, status))
            return false;
        at += size;
    }
    memmove(import->plain.data, import->plain.data + at, import->plain.length - at);
    import->plain.length -= at;
    return true;
}

static bool read_compressed(struct perf_data *import, struct bytes bytes, bool second,
                            struct status *status) {
    size_t length = (size_t)(bytes.end - bytes.at);
    if (second) {
        uint64_t given = take64(&bytes);
        length = (size_t)MIN(given, (uint64_t)(bytes.end - bytes.at));
    }
    if (!import->decoder && !(import->decoder = ZSTD_createDStream()))
        return status_no_memory(status);
    ZSTD_inBuffer in = {bytes.at, length, 0};
    while (in.pos < in.size) {
        char block[64 * 1024];
        ZSTD_outBuffer out = {block, sizeof block, 0};
        size_t result = ZSTD_decompressStream(import->decoder, &out, &in);
        if (ZSTD_isError(result) || import->plain.length + out.pos > PLAIN_MAX)
            return status_fail(status, STATUS_INPUT,
                               "is damaged: a compressed record cannot be "
                               "decompressed");
        buffer_append(&import->plain, block, out.pos);
        if (!buffer_ok(&import->plain, status))
            return false;
        if (out.pos == 0 && in.pos == in.size)
            break;
        if (!read_plain(import, status))
            return false;
    }
    return true;
}

/* An attribute in a pipe: struct perf_event_attr, then ids. */
static bool read_header_attr(struct perf_data *import, struct bytes bytes, struct status *status) {
    struct bytes size = {bytes.at + MIN((ptrdiff_t)4, bytes.end - bytes.at), bytes.end, false};
    uint32_t length = take32(&size);
    size_t event;
    if (length < ATTR_MIN || length > bytes.end - bytes.at)
        return status_fail(status, STATUS_INPUT, "is damaged: an event of %u bytes", length);
    return add_event(import, (struct bytes){bytes.at, bytes.at + length, false}, &event, status) &&
           add_ids(import, (struct bytes){bytes.at + length, bytes.end, false}, event, status);
}

static bool read_record(struct perf_data *import, const unsigned char *record, size_t size,
                        struct status *status) {
    struct bytes bytes = {record, record + size, false};
    uint32_t type = take32(&bytes);
    uint16_t misc = (uint16_t)take(&bytes, 2);
    take(&bytes, 2);
    if (type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2)
        return read_compressed(import, bytes, type == RECORD_COMPRESSED2, status);
    if (!import->first_pass)
        return type != RECORD_SAMPLE || read_sample(import, bytes, misc, status);
    switch (type) {
    case RECORD_MMAP:
    case RECORD_MMAP2:
        return read_mapping(import, bytes, misc, type == RECORD_MMAP2, status);
    case RECORD_COMM:
        return read_comm(import, bytes, status);
    case RECORD_FORK:
        return read_fork(import, bytes, status);
    case RECORD_LOST:
        take64(&bytes);
        import->lost += take64(&bytes);
        return true;
    case RECORD_LOST_SAMPLES:
        import->lost += take64(&bytes);
        return true;
    case RECORD_HEADER_ATTR:
        return read_header_attr(import, bytes, status);
    case RECORD_HEADER_BUILD_ID:
        return read_build_ids(import, (struct bytes){record, record + size, false}, status);
    default:
        return true;
    }
}

/* ---- The file ---- */

/* At least `size` unread bytes; false at the end of the file and on failure. */
static bool need(struct perf_data *import, size_t size, struct status *status) {
    while (import->input.length < size && !import->input.at_end)
        if (!input_more(&import->input, size + (1 << 20), status))
            return false;
    return import->input.length >= size;
}

static bool skip(struct perf_data *import, uint64_t size, struct status *status) {
    while (size > 0 && need(import, 1, status)) {
        size_t part = (size_t)MIN(size, (uint64_t)import->input.length);
        input_consume(&import->input, part);
        size -= part;
    }
    return size == 0;
}

/* Behind the record follow as many bytes as it says: hardware traces, which are skipped. */
static bool skip_auxtrace(struct perf_data *import, const unsigned char *record, size_t size,
                          uint64_t *left, struct status *status) {
    struct bytes bytes = {record + RECORD_HEADER, record + size, false};
    uint64_t data = take64(&bytes);
    input_consume(&import->input, size);
    *left -= size;
    data = MIN(data, *left);
    *left -= data;
    return skip(import, data, status);
}

/* `left`: bytes of the data section. A file that ends early keeps its complete records. */
static bool read_records(struct perf_data *import, uint64_t left, struct status *status) {
    while (left >= RECORD_HEADER) {
        if (!need(import, RECORD_HEADER, status))
            break;
        const unsigned char *record = (const unsigned char *)import->input.data;
        size_t size = record[6] | (size_t)record[7] << 8;
        if (size < RECORD_HEADER)
            return status_fail(status, STATUS_INPUT, "is damaged: a record of %zu bytes at %llu",
                               size, (unsigned long long)import->input.offset);
        if (!need(import, size, status))
            break;
        record = (const unsigned char *)import->input.data;
        if (record[0] == RECORD_AUXTRACE && record[1] == 0) {
            if (!skip_auxtrace(import, record, size, &left, status))
                break;
            continue;
        }
        if (!read_record(import, record, size, status))
            return false;
        input_consume(&import->input, size);
        left -= MIN((uint64_t)size, left);
    }
    import->truncated = left > 0 && left != UINT64_MAX && import->input.at_end;
    return status->code == STATUS_OK;
}

struct section {
    uint64_t offset, size;
};

static struct section take_section(struct bytes *bytes) {
    struct section section = {.offset = take64(bytes)};
    section.size = take64(bytes);
    return section;
}

/* A part of the file from another pass over it: attributes, their ids and features may be anywhere.
 */
static bool read_part(const char *path, struct section part, size_t limit, struct buffer *bytes,
                      struct status *status) {
    struct input input;
    buffer_reset(bytes);
    if (part.size > limit || !input_open(&input, path, status))
        return part.size > limit
                   ? status_fail(status, STATUS_INPUT, "is damaged: a section is too long")
                   : false;
    struct perf_data window = {.input = input};
    bool ok = skip(&window, part.offset, status) && need(&window, (size_t)part.size, status);
    if (ok)
        buffer_append(bytes, window.input.data, (size_t)part.size);
    else if (status->code == STATUS_OK)
        status_fail(status, STATUS_INPUT, "ends early: a section is missing");
    input_close(&window.input);
    return ok && buffer_ok(bytes, status);
}

static struct bytes bytes_of(const struct buffer *buffer) {
    const unsigned char *data = (const unsigned char *)buffer->data;
    return (struct bytes){data, data + buffer->length, false};
}

static bool read_attributes(struct perf_data *import, const char *path, uint64_t attr_size,
                            struct section attrs, struct status *status) {
    enum { SECTION_BYTES = 16, PART_MAX = 1 << 24 };
    struct buffer all = {0}, ids = {0};
    bool ok = attr_size >= ATTR_MIN + SECTION_BYTES && attr_size <= ATTR_MAX
                  ? read_part(path, attrs, PART_MAX, &all, status)
                  : status_fail(status, STATUS_INPUT, "is damaged: an event of %llu bytes",
                                (unsigned long long)attr_size);
    for (size_t at = 0; ok && all.length - at >= attr_size; at += attr_size) {
        const unsigned char *data = (const unsigned char *)all.data + at;
        struct bytes tail = {data + attr_size - SECTION_BYTES, data + attr_size, false};
        struct section part = take_section(&tail);
        size_t event;
        ok = add_event(import, (struct bytes){data, data + attr_size - SECTION_BYTES, false},
                       &event, status) &&
             (part.size == 0 || (read_part(path, part, PART_MAX, &ids, status) &&
                                 add_ids(import, bytes_of(&ids), event, status)));
    }
    buffer_finish(&all);
    buffer_finish(&ids);
    return ok;
}

/* Features follow the data: a section for each bit, in order. Only build ids are read; a file that
 * ends before them is still of use. */
static void read_features(struct perf_data *import, const char *path, struct section data,
                          uint64_t features) {
    struct status ignored = {0};
    struct buffer bytes = {0};
    uint64_t before = features & ((1 << FEATURE_BUILD_ID) - 1);
    struct section header = {data.offset + data.size + 16 * (uint64_t)__builtin_popcountll(before),
                             16};
    if (features >> FEATURE_BUILD_ID & 1 && read_part(path, header, 16, &bytes, &ignored)) {
        struct bytes at = bytes_of(&bytes);
        struct section part = take_section(&at);
        if (read_part(path, part, 1 << 24, &bytes, &ignored))
            read_build_ids(import, bytes_of(&bytes), &ignored);
    }
    buffer_finish(&bytes);
}

/* The header of a file, or of a pipe, where attributes are records; *data is where records are. */
static bool read_header(struct perf_data *import, const char *path, struct section *data,
                        struct status *status) {
    *data = (struct section){PIPE_HEADER, UINT64_MAX};
    if (!need(import, PIPE_HEADER, status))
        return status_fail(status, STATUS_INPUT, "ends inside its header");
    struct bytes header = {(const unsigned char *)import->input.data + MAGIC_BYTES,
                           (const unsigned char *)import->input.data + PIPE_HEADER, false};
    if (take64(&header) == PIPE_HEADER)
        return true;
    if (!need(import, FILE_HEADER, status))
        return status_fail(status, STATUS_INPUT, "ends inside its header");
    header = (struct bytes){(const unsigned char *)import->input.data + PIPE_HEADER,
                            (const unsigned char *)import->input.data + FILE_HEADER, false};
    uint64_t attr_size = take64(&header), end;
    struct section attrs = take_section(&header);
    *data = take_section(&header);
    take_section(&header); /* event types, of old versions */
    uint64_t features = take64(&header);
    if (data->size == 0 || __builtin_add_overflow(data->offset, data->size, &end))
        return status_fail(status, STATUS_INPUT,
                           "has no samples: perf was stopped before it completed the file");
    if (!read_attributes(import, path, attr_size, attrs, status))
        return false;
    read_features(import, path, *data, features);
    return true;
}

static bool read_pass(struct perf_data *import, const char *path, struct section data,
                      struct status *status) {
    input_close(&import->input);
    buffer_reset(&import->plain);
    if (import->decoder)
        ZSTD_initDStream(import->decoder);
    if (!input_open(&import->input, path, status))
        return false;
    if (!skip(import, data.offset, status))
        return status->code == STATUS_OK
                   ? status_fail(status, STATUS_INPUT, "ends before its samples")
                   : false;
    return read_records(import, data.size, status);
}

static bool read_file(struct perf_data *import, const char *path, struct status *status) {
    struct section data;
    struct stat info;
    if (stat(path, &info) == 0)
        import->space.written = info.st_mtime;
    import->first_pass = true;
    if (!read_header(import, path, &data, status) || !read_pass(import, path, data, status))
        return false;
    address_space_ready(&import->space);
    import->first_pass = false;
    return read_pass(import, path, data, status);
}

/* `start` and the words after it. */
static void warn(const struct perf_data *import, const char *start, const char *rest) {
    char words[240];
    snprintf(words, sizeof words, "%s %s", start, rest);
    trace_writer_meta(import->writer, META_WARNING, text_of(words));
}

static void write_meta(struct perf_data *import) {
    bool mono = import->event_count && import->events[0].mono;
    char count[FORMAT_PLURAL_SIZE];
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("perf"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("perf record"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, mono ? TEXT("monotonic") : TEXT("trace"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->samples);
    if (import->resolved < import->frames)
        warn(import,
             format_plural(import->frames - import->resolved, "frame has", "frames have", count),
             "no function name: perf.data has no symbols, and their files are not here or have "
             "other build ids; 'perf script' where it was recorded has the names");
    if (import->other_events)
        warn(import,
             format_plural(import->other_events, "sample of another event was",
                           "samples of other events were", count),
             "not read: the first event counts");
    if (import->idle)
        warn(import,
             format_plural(import->idle, "sample of an idle CPU was", "samples of idle CPUs were",
                           count),
             "not read");
    if (import->truncated)
        trace_writer_meta(import->writer, META_TRUNCATED,
                          TEXT("the file ends early; complete records were read"));
    trace_writer_dropped(import->writer, import->lost);
}

/* PERF_TYPE_SOFTWARE: cpu-clock and task-clock count nanoseconds. */
static bool counts_time(const struct event *event) {
    return event->type == 1 && event->config <= 1;
}

static bool write_samples(struct perf_data *import, struct status *status) {
    char time[FORMAT_SIZE];
    int64_t interval = 0;
    if (import->samples == 0)
        return status_fail(status, STATUS_INPUT, "is a perf.data file without samples");
    if (counts_time(&import->events[0]))
        profile_write(&import->profile);
    else
        interval = profile_write_scaled(&import->profile, status);
    if (interval > 0)
        warn(import, format_duration(interval, time),
             "is the time of the median sample, by the median time between samples of a thread: "
             "samples count events, not time");
    write_meta(import);
    return status->code == STATUS_OK;
}

static void finish(struct perf_data *import) {
    address_space_finish(&import->space);
    memory_free(import->events);
    map_finish(&import->event_of_id);
    map_finish(&import->commands);
    intern_finish(&import->names);
    buffer_finish(&import->plain);
    ZSTD_freeDStream(import->decoder);
    input_close(&import->input);
    profile_finish(&import->profile);
}

static bool perf_data_run(const struct import_source *source, const struct import_options *options,
                          struct trace_writer *writer, struct status *status) {
    struct perf_data import = {
        .profile.entities.writer = writer, .writer = writer, .options = options};
    bool ok = input_open(&import.input, source->path, status) &&
              read_file(&import, source->path, status) && write_samples(&import, status);
    finish(&import);
    return ok;
}

static int perf_data_detect(const struct import_source *source) {
    return source->head_length >= PIPE_HEADER && memcmp(source->head, "PERFILE2", MAGIC_BYTES) == 0
               ? 3
               : 0;
}

const struct importer import_perf_data = {
    .format = "perf", .detect = perf_data_detect, .run = perf_data_run};
