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
