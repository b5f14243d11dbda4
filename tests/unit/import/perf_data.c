/* perf.data: a real file against independent figures, and small ones for the parts of the format.
 */
#include "imported.h"

#include "base/text.h"

/* ---- Writing ---- */

static void put(struct buffer *bytes, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        buffer_byte(bytes, (char)(value >> 8 * i));
}

static void put_record(struct buffer *bytes, uint32_t type, uint16_t misc,
                       const struct buffer *content) {
    put(bytes, type, 4);
    put(bytes, misc, 2);
    put(bytes, content->length + 8, 2);
    buffer_text(bytes, buffer_as_text(content));
}

enum { IP_TID_TIME_PERIOD = 0x107, CHAIN = 0x20, IDENTIFIER = 1 << 16 };

/* cpu-clock, with a fixed period of a millisecond. */
static void put_attr(struct buffer *bytes, uint64_t sample_type) {
    put(bytes, 1, 4);
    put(bytes, 112, 4);
    put(bytes, 0, 8);
    put(bytes, 1000000, 8);
    put(bytes, sample_type, 8);
    put(bytes, 0, 8);
    put(bytes, 0, 8);
    for (unsigned i = 48; i < 112; i += 8)
        put(bytes, 0, 8);
}

static void put_mapping(struct buffer *bytes, uint32_t pid, uint64_t start, const char *path) {
    struct buffer content = {0};
    put(&content, pid, 4);
    put(&content, pid, 4);
    put(&content, start, 8);
    put(&content, 0x1000, 8);
    put(&content, 0x400, 8);
    buffer_append(&content, path, strlen(path) + 1);
    put_record(bytes, 1, 2, &content);
    buffer_finish(&content);
}

static void put_sample(struct buffer *bytes, uint64_t sample_type, uint64_t id, uint32_t pid,
                       uint64_t ip, uint64_t time) {
    struct buffer content = {0};
    if (sample_type & IDENTIFIER)
        put(&content, id, 8);
    put(&content, ip, 8);
    put(&content, pid, 4);
    put(&content, pid + 1, 4);
    put(&content, time, 8);
    put(&content, 1000000, 8);
    if (sample_type & CHAIN) {
        put(&content, 3, 8);
        put(&content, (uint64_t)-512, 8);
        put(&content, ip, 8);
        put(&content, ip + 0x101, 8); /* a return address */
    }
    put_record(bytes, 9, 2, &content);
    buffer_finish(&content);
}

static void put_comm(struct buffer *bytes, uint32_t pid, const char *name) {
    struct buffer content = {0};
    put(&content, pid, 4);
    put(&content, pid + 1, 4);
    buffer_append(&content, name, strlen(name) + 1);
    put_record(bytes, 3, 0, &content);
    buffer_finish(&content);
}

/* A file with these records. */
static void put_file(struct buffer *bytes, const struct buffer *attrs, uint64_t attr_count,
                     const struct buffer *records) {
    enum { HEADER = 104 };
    buffer_string(bytes, "PERFILE2");
    put(bytes, HEADER, 8);
    put(bytes, attr_count ? attrs->length / attr_count : 128, 8);
    put(bytes, HEADER, 8);
    put(bytes, attrs->length, 8);
    put(bytes, HEADER + attrs->length, 8);
    put(bytes, records->length, 8);
    for (unsigned i = 0; i < 6; i++)
        put(bytes, 0, 8);
    buffer_text(bytes, buffer_as_text(attrs));
    buffer_text(bytes, buffer_as_text(records));
}

static struct trace *import(struct text bytes, struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(&import_perf_data, bytes, false, status);
    if (trace && !trace_load(trace, TABLE_SAMPLE, NULL, status))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

#define IMPORT(bytes)                                                                              \
    struct status status;                                                                          \
    struct trace *trace = import(bytes, &status);                                                  \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

static struct text function_of(const struct trace *trace, uint32_t stack) {
    return trace_text(trace, trace->stack.function[stack]);
}

/* ---- Tests ---- */

TEST(the_perf_data_fixture_has_its_true_figures) {
    struct status status = {0};
    const char *path = test_fixture("perf/zstd_perf.data");
    if (!path)
        return;
    struct trace *trace = imported_file(&import_perf_data, path, false, &status);
    if (!trace || !trace_load(trace, TABLE_SAMPLE, NULL, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    size_t count = trace->sample.count;
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < count; i++) {
        first = trace->sample.time[i] < first ? trace->sample.time[i] : first;
        last = trace->sample.time[i] > last ? trace->sample.time[i] : last;
    }
    CHECK_INT(count, 15922);
    CHECK_INT(first, 540079165035321);
    CHECK_INT(last, 540083156416678);
    trace_close(trace);
}

TEST(a_perf_sample_before_its_mapping_finds_it) {
    struct buffer bytes = {0}, attrs = {0}, records = {0};
    put_attr(&attrs, IP_TID_TIME_PERIOD | CHAIN);
    put(&attrs, 0, 8);
    put(&attrs, 0, 8);
    put_sample(&records, IP_TID_TIME_PERIOD | CHAIN, 0, 7, 0x10010, 5000);
    put_mapping(&records, 7, 0x10000, "/no/such/libfast.so");
    put_comm(&records, 7, "worker");
    put_file(&bytes, &attrs, 1, &records);
    IMPORT(buffer_as_text(&bytes))
    CHECK_INT(trace->sample.count, 1);
    CHECK_INT(trace->sample.weight[0], 1000000);
    uint32_t leaf = trace->sample.stack[0];
    CHECK(text_is(function_of(trace, leaf), "0x410")); /* the offset in the file */
    CHECK(text_is(trace_text(trace, trace->stack.module[leaf]), "libfast.so"));
    CHECK(text_is(function_of(trace, trace->stack.parent[leaf]), "0x510")); /* the call */
    CHECK(text_is(trace_text(trace, trace->thread.name[1]), "worker"));
    trace_close(trace);
    buffer_finish(&bytes);
    buffer_finish(&attrs);
    buffer_finish(&records);
}

TEST(samples_of_the_first_perf_event_are_read) {
    struct buffer bytes = {0}, attrs = {0}, records = {0};
    uint64_t type = IP_TID_TIME_PERIOD | IDENTIFIER, ids = 104 + 2 * 128;
    for (unsigned i = 0; i < 2; i++) {
        put_attr(&attrs, type);
        put(&attrs, ids + 8 * i, 8);
        put(&attrs, 8, 8);
    }
    put_sample(&records, type, 90, 7, 0x10, 5000);
    put_sample(&records, type, 91, 7, 0x20, 6000);
    put_file(&bytes, &attrs, 2, &(struct buffer){0});
    /* the ids come before the records */
    bytes.length = 0;
    struct buffer both = {0};
    put(&both, 90, 8);
    put(&both, 91, 8);
    buffer_text(&both, buffer_as_text(&records));
    put_file(&bytes, &attrs, 2, &both);
    uint64_t data = ids + 16, size = records.length;
    for (unsigned i = 0; i < 8; i++) {
        bytes.data[40 + i] = (char)(data >> 8 * i);
        bytes.data[48 + i] = (char)(size >> 8 * i);
    }
    IMPORT(buffer_as_text(&bytes))
    CHECK_INT(trace->sample.count, 1);
    CHECK_INT(trace->sample.time[0], 5000);
    trace_close(trace);
    buffer_finish(&bytes);
    buffer_finish(&both);
    buffer_finish(&attrs);
    buffer_finish(&records);
}

TEST(what_perf_writes_to_a_pipe_has_its_events_among_the_records) {
    struct buffer bytes = {0}, attr = {0};
    buffer_string(&bytes, "PERFILE2");
    put(&bytes, 16, 8);
    put_attr(&attr, IP_TID_TIME_PERIOD);
    put_record(&bytes, 64, 0, &attr);
    put_sample(&bytes, IP_TID_TIME_PERIOD, 0, 7, 0x10010, 5000);
    put_sample(&bytes, IP_TID_TIME_PERIOD, 0, 7, 0x10010, 6000);
    IMPORT(buffer_as_text(&bytes))
    CHECK_INT(trace->sample.count, 2);
    trace_close(trace);
    buffer_finish(&bytes);
    buffer_finish(&attr);
}

TEST(a_perf_data_file_that_was_not_completed_is_explained) {
    struct buffer bytes = {0}, attrs = {0}, records = {0};
    struct status status;
    put_attr(&attrs, IP_TID_TIME_PERIOD);
    put(&attrs, 0, 8);
    put(&attrs, 0, 8);
    put_file(&bytes, &attrs, 1, &records);
    CHECK(!import(buffer_as_text(&bytes), &status));
    CHECK(strstr(status.message, "stopped before it completed") != NULL);
    buffer_finish(&bytes);
    buffer_finish(&attrs);
}

/* ---- A file of every kind of record ---- */

enum {
    EVERY_FIELD = 0x103ff, /* ip tid time addr read chain id cpu period stream_id identifier */
    FREQUENCY = 1 << 10,
    STAMPED = 1 << 18,
    CLOCK_GIVEN = 1 << 25,
    READ_FORMAT = 31, /* both times, ids, a group, lost */
    KERNEL = 1,
    USER = 2,
};
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)

/* CPU cycles at a frequency, by CLOCK_MONOTONIC. */
static void put_cycles_attr(struct buffer *bytes) {
    put(bytes, 0, 4);
    put(bytes, 112, 4);
    put(bytes, 0, 8);
    put(bytes, 4000, 8);
    put(bytes, EVERY_FIELD, 8);
    put(bytes, READ_FORMAT, 8);
    put(bytes, FREQUENCY | STAMPED | CLOCK_GIVEN, 8);
    for (unsigned i = 48; i < 92; i += 4)
        put(bytes, 0x11, 4);
    put(bytes, 1, 4); /* CLOCK_MONOTONIC */
    for (unsigned i = 96; i < 112; i += 8)
        put(bytes, 0, 8);
}

/* What a record other than a sample ends with. */
static void put_stamp(struct buffer *content, uint32_t pid, uint64_t time) {
    put(content, pid, 4);
    put(content, pid + 1, 4);
    put(content, time, 8);
    for (unsigned i = 0; i < 4; i++) /* id, stream id, CPU, identifier */
        put(content, 90, 8);
}

static void put_full_sample(struct buffer *bytes, uint64_t id, uint16_t mode, uint32_t pid,
                            uint64_t time, const uint64_t *chain, uint64_t chain_length) {
    struct buffer content = {0};
    put(&content, id, 8);
    put(&content, 0x10010, 8);
    put(&content, pid, 4);
    put(&content, pid ? pid + 1 : 0, 4);
    put(&content, time, 8);
    put(&content, 0xADD4, 8);
    put(&content, id, 8);
    put(&content, 0x57, 8); /* stream id */
    put(&content, 3, 8);    /* CPU */
    put(&content, 250 + time % 7, 8);
    put(&content, 2, 8); /* counters of the group */
    for (unsigned i = 0; i < 2 + 2 * 3; i++)
        put(&content, 0xC0 + i, 8);
    put(&content, chain_length, 8);
    for (uint64_t i = 0; i < chain_length; i++)
        put(&content, chain[i], 8);
    put_record(bytes, 9, mode, &content);
    buffer_finish(&content);
}

enum { MMAP2 = 10, WITH_BUILD_ID = 1 << 14 };

static void put_mapping2(struct buffer *bytes, uint32_t pid, uint64_t time, bool build_id,
                         const char *path) {
    struct buffer content = {0};
    put(&content, pid, 4);
    put(&content, pid, 4);
    put(&content, 0x10000, 8);
    put(&content, 0x1000, 8);
    put(&content, 0x400 + time, 8);
    for (unsigned i = 0; i < 3; i++)
        put(&content, build_id && i == 0 ? 20 : 8 + i, 8);
    put(&content, 5, 8);
    buffer_append(&content, path, strlen(path) + 1);
    put_stamp(&content, pid, time);
    put_record(bytes, MMAP2, build_id ? USER | WITH_BUILD_ID : USER, &content);
    buffer_finish(&content);
}

/* A record of numbers of 8 bytes. */
static void put_numbers(struct buffer *bytes, uint32_t type, uint64_t first, uint64_t second) {
    struct buffer content = {0};
    put(&content, first, 8);
    put(&content, second, 8);
    put_record(bytes, type, 0, &content);
    buffer_finish(&content);
}

/* The records in a zstd frame of one raw block, which no version of zstd writes otherwise; in two
 * parts that end inside of a record. */
static void put_compressed(struct buffer *bytes, const struct buffer *records) {
    struct buffer frame = {0}, first = {0}, second = {0};
    size_t length = records->length, half = length / 2;
    put(&frame, 0xFD2FB528, 4);
    put(&frame, 0x60, 1); /* a single segment, a content size of two bytes */
    put(&frame, length - 256, 2);
    put(&frame, length << 3 | 1, 3); /* the last block, raw */
    buffer_text(&frame, buffer_as_text(records));
    buffer_append(&first, frame.data, half);
    put_record(bytes, 81, 0, &first);
    put(&second, frame.length - half, 8);
    buffer_append(&second, frame.data + half, frame.length - half);
    buffer_string(&second, "padding");
    put_record(bytes, 83, 0, &second);
    buffer_finish(&frame);
    buffer_finish(&first);
    buffer_finish(&second);
}

static void put_every_record(struct buffer *records) {
    static const uint64_t both[] = {CONTEXT_KERNEL, 0xffffffff81000010, CONTEXT_USER, 0x10010,
                                    0x10111};
    struct buffer packed = {0};
    put_mapping2(records, 7, 4000, false, "/no/such/before.so");
    put_mapping2(records, 7, 6000, true, "/no/such/after.so");
    put_numbers(records, 7, 8 | (uint64_t)7 << 32, 0); /* 7 forks 8 */
    put_numbers(records, 2, 90, 5);                    /* lost records */
    put_numbers(records, 13, 3, 0);                    /* lost samples */
    put_comm(records, 7, "main");
    put_full_sample(records, 90, USER, 7, 5000, both + 3, 2);
    put_full_sample(records, 91, USER, 7, 5100, both + 3, 2); /* of another event */
    put_full_sample(records, 90, USER, 0, 5200, both + 3, 2); /* of an idle CPU */
    put_numbers(records, 71, 24, 0);                          /* a hardware trace of 24 bytes */
    buffer_append(records, "012345678901234567890123", 24);
    put_full_sample(records, 90, KERNEL, 7, 7000, both, 5);
    put_full_sample(&packed, 90, USER, 8, 7300, both + 4, 1);
    put_full_sample(&packed, 90, KERNEL, 8, 7700, NULL, 0);
    put_full_sample(&packed, 90, USER, 8, 8200, both + 2, 3);
    put_compressed(records, &packed);
    buffer_finish(&packed);
}

/* "/no/such/before.so" has this build id. */
static void put_build_ids(struct buffer *bytes) {
    struct buffer content = {0};
    put(&content, 7, 4);
    buffer_append(&content, "ABCDEFGHIJKLMNOPQRST\24\0\0\0", 24);
    buffer_append(&content, "/no/such/before.so", 19);
    put_record(bytes, 67, 1 << 15, &content);
    buffer_finish(&content);
}

static void put_section(struct buffer *bytes, uint64_t *at, uint64_t size) {
    put(bytes, *at, 8);
    put(bytes, size, 8);
    *at += size;
}

/* Two events with an id each, the records, and two features. */
static void put_whole_file(struct buffer *bytes) {
    struct buffer records = {0}, build_ids = {0}, attrs = {0};
    uint64_t at = 104, ids = 104 + 2 * 128;
    put_every_record(&records);
    put_build_ids(&build_ids);
    for (unsigned i = 0; i < 2; i++) {
        put_cycles_attr(&attrs);
        put_section(&attrs, &ids, 8);
    }
    buffer_string(bytes, "PERFILE2");
    put(bytes, 104, 8);
    put(bytes, 128, 8);
    put_section(bytes, &at, attrs.length);
    at += 16; /* ids */
    put_section(bytes, &at, records.length);
    put(bytes, 0, 8);
    put(bytes, 0, 8);
    put(bytes, 6, 8); /* tracing data and build ids */
    for (unsigned i = 0; i < 3; i++)
        put(bytes, 0, 8);
    buffer_text(bytes, buffer_as_text(&attrs));
    put(bytes, 90, 8);
    put(bytes, 91, 8);
    buffer_text(bytes, buffer_as_text(&records));
    at += 32;
    put_section(bytes, &at, 8);
    put_section(bytes, &at, build_ids.length);
    buffer_string(bytes, "tracing!");
    buffer_text(bytes, buffer_as_text(&build_ids));
    buffer_finish(&attrs);
    buffer_finish(&records);
    buffer_finish(&build_ids);
}

TEST(a_perf_data_file_of_every_record_has_its_samples_and_its_losses) {
    struct buffer bytes = {0};
    put_whole_file(&bytes);
    IMPORT(buffer_as_text(&bytes))
    CHECK_INT(trace->sample.count, 5);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 8);
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "monotonic"));
    uint32_t leaf = trace->sample.stack[0];
    CHECK(text_is(function_of(trace, leaf), "0x13b0"));
    CHECK(text_is(trace_text(trace, trace->stack.module[leaf]), "before.so"));
    leaf = trace->sample.stack[1];
    CHECK(text_is(function_of(trace, leaf), "0xffffffff81000010"));
    CHECK(text_is(trace_text(trace, trace->stack.module[leaf]), "[kernel]"));
    uint32_t caller = trace->stack.parent[leaf];
    CHECK(text_is(trace_text(trace, trace->stack.module[caller]), "after.so"));
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(a_perf_data_file_that_ends_early_keeps_its_complete_records) {
    struct buffer bytes = {0};
    put_whole_file(&bytes);
    struct text whole = buffer_as_text(&bytes);
    ptrdiff_t compressed = text_find(whole, "012345678901234567890123");
    REQUIRE(compressed > 0);
    IMPORT(((struct text){whole.data, (size_t)compressed + 24 + 20}))
    CHECK_INT(trace->sample.count, 1);
    CHECK(trace_meta(trace, META_TRUNCATED).length > 0);
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(damage_in_a_perf_data_file_is_named) {
    struct buffer bytes = {0}, short_record = {0}, unread = {0};
    struct status status;
    put_whole_file(&bytes);
    bytes.data[16] = 79; /* an attribute and its section have 80 bytes or more */
    CHECK(!import(buffer_as_text(&bytes), &status));
    CHECK(strstr(status.message, "an event of 79 bytes"));
    bytes.data[16] = (char)128;
    bytes.data[27] = 2; /* the attributes begin at 32 MB */
    CHECK(!import(buffer_as_text(&bytes), &status));
    CHECK(strstr(status.message, "a section is missing"));
    buffer_string(&short_record, "PERFILE2");
    put(&short_record, 16, 8);
    put(&short_record, (uint64_t)7 << 48, 8);
    CHECK(!import(buffer_as_text(&short_record), &status));
    CHECK(strstr(status.message, "a record of 7 bytes at 16"));
    buffer_string(&unread, "PERFILE2");
    put(&unread, 16, 8);
    put_sample(&unread, IP_TID_TIME_PERIOD, 0, 7, 0x10010, 5000);
    CHECK(!import(buffer_as_text(&unread), &status));
    CHECK(strstr(status.message, "has samples before the first event"));
    buffer_finish(&bytes);
    buffer_finish(&short_record);
    buffer_finish(&unread);
}
