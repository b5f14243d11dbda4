/* The page's data: what is in its elements comes out again, and nothing of a trace stands in the
 * file as it is. What a browser makes of it is tested in tests/page. */
#include "../test.h"

#include <zlib.h>

#include "base/memory.h"
#include "report/html_parts.h"
#include "sample.h"
#include "trace/chunk.h"

static const char *const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

static void fill_plain(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){"0", "H100", "gemm", "forward", NULL});
}

static void fill_hostile(struct trace_writer *writer) {
    sample_write(writer, &(struct sample_names){hostile, hostile, hostile, hostile, hostile});
}

static void fill_nothing(struct trace_writer *writer) {
    (void)writer;
}

static bool write_page(const struct report *report, struct output *output, struct status *status) {
    struct page_summary summary;
    return report_write_html(&report, 1, output, &summary, status);
}

static bool write_two(const struct report *report, struct output *output, struct status *status) {
    const struct report *const both[] = {report, report};
    struct page_summary summary;
    return report_write_html(both, 2, output, &summary, status);
}

static unsigned letter_value(char letter) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(letters, letter);
    return at && letter ? (unsigned)(at - letters) : 0;
}

/* The bytes that the element of that id holds, inflated; its failure shows as an empty buffer. */
static struct buffer unpacked(const struct buffer *page, const char *id) {
    struct buffer packed = {0}, bytes = {0};
    struct text text = buffer_as_text(page);
    char mark[40];
    snprintf(mark, sizeof mark, "id=\"%s\">", id);
    ptrdiff_t begin = text_find(text, mark);
    if (begin < 0)
        return bytes;
    const char *at = text.data + begin + strlen(mark);
    for (; at[0] != '<'; at += 4) {
        unsigned bits = letter_value(at[0]) << 18 | letter_value(at[1]) << 12 |
                        letter_value(at[2]) << 6 | letter_value(at[3]);
        for (int shift = 16; shift >= 0; shift -= 8)
            buffer_byte(&packed, (char)(bits >> shift));
    }
    uLongf size = 1 << 20;
    char *inflated = memory_allocate(size, 1, NULL);
    z_stream stream = {.next_in = (Bytef *)packed.data,
                       .avail_in = (uInt)packed.length,
                       .next_out = (Bytef *)inflated,
                       .avail_out = (uInt)size};
    if (inflated && inflateInit(&stream) == Z_OK) {
        if (inflate(&stream, Z_FINISH) == Z_STREAM_END)
            buffer_append(&bytes, inflated, stream.total_out);
        inflateEnd(&stream);
    }
    memory_free(inflated);
    buffer_finish(&packed);
    return bytes;
}

static bool contains(const struct buffer *bytes, const char *text) {
    return text_find(buffer_as_text(bytes), text) >= 0;
}

/* The chunk of that type among the events' bytes, or NULL. */
static const unsigned char *find_chunk(const struct buffer *events, const char *type,
                                       struct chunk_header *header) {
    const unsigned char *bytes = (const unsigned char *)events->data;
    size_t at = 4 + (bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16);
    while (at + CHUNK_HEADER_SIZE <= events->length && chunk_read_header(bytes + at, header)) {
        if (memcmp(bytes + at + 8, type, 4) == 0)
            return bytes + at + CHUNK_HEADER_SIZE;
        at += CHUNK_HEADER_SIZE + header->body_size;
    }
    return NULL;
}

static void read_column(const unsigned char *body, const struct chunk_header *header,
                        unsigned column, uint64_t *values) {
    struct chunk_decoder decoder = {0};
    struct status status = {0};
    const unsigned char *data = body + (size_t)header->columns * CHUNK_ENTRY_SIZE;
    for (unsigned i = 0; i < header->columns; i++) {
        struct chunk_entry entry = chunk_read_entry(body, i);
        if (entry.column == column)
            CHECK_OK(chunk_decode_column(&decoder, &entry, data, header->rows, sizeof *values,
                                         values, &status),
                     status);
        data += entry.stored_size;
    }
    chunk_decoder_finish(&decoder);
}

TEST(a_page_holds_the_events_of_its_trace) {
    struct buffer page = {0};
    struct status status = {0};
    struct chunk_header header;
    uint64_t values[8] = {0};
    CHECK_OK(sample_report(fill_plain, NULL, write_page, &page, &status), status);
    struct buffer events = unpacked(&page, "events-0");
    REQUIRE(events.length > 0);
    CHECK(contains(&events, "\"gemm\"") && contains(&events, "\"forward\""));
    CHECK(contains(&events, "\"ACTI\":3,\"CALL\":2,\"RANG\":1"));
    const unsigned char *body = find_chunk(&events, "ACTI", &header);
    REQUIRE(body && header.rows == 3);
    read_column(body, &header, 0, values); /* from the range's start at 90, the earliest */
    CHECK(values[0] == 10 && values[1] == 60 && values[2] == 90);
    read_column(body, &header, 5, values); /* launching calls, from 1 */
    CHECK(values[0] == 0 && values[1] == 1 && values[2] == 2);
    buffer_finish(&events);
    buffer_finish(&page);
}

TEST(a_page_holds_every_gap_with_its_causes) {
    struct buffer page = {0};
    struct status status = {0};
    struct chunk_header header;
    uint64_t lengths[8] = {0}, total = 0;
    CHECK_OK(sample_report(fill_plain, NULL, write_page, &page, &status), status);
    struct buffer events = unpacked(&page, "events-0");
    REQUIRE(events.length > 0);
    const unsigned char *body = find_chunk(&events, "GAPS", &header);
    REQUIRE(body && header.rows <= 8);
    read_column(body, &header, 1, lengths);
    for (unsigned i = 0; i < header.rows; i++)
        total += lengths[i];
    CHECK_INT(total, 40); /* the account's idle time */
    buffer_finish(&events);
    buffer_finish(&page);
}

TEST(a_page_holds_the_json_report) {
    struct buffer page = {0}, json = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, write_page, &page, &status), status);
    CHECK_OK(sample_report(fill_plain, NULL, report_write_json, &json, &status), status);
    struct buffer report = unpacked(&page, "report-0");
    CHECK(contains(&report, "\"ridge-report\""));
    CHECK(report.length + 200 > json.length && json.length + 200 > report.length);
    buffer_finish(&report);
    buffer_finish(&json);
    buffer_finish(&page);
}

TEST(names_of_a_trace_never_stand_in_a_page_as_they_are) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_hostile, NULL, write_page, &page, &status), status);
    CHECK(!contains(&page, "alert("));
    CHECK(!contains(&page, "onerror="));
    struct buffer events = unpacked(&page, "events-0");
    CHECK(contains(&events, "alert(1)"));
    buffer_finish(&events);
    buffer_finish(&page);
}

TEST(a_page_allows_its_own_script_and_nothing_else) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, write_page, &page, &status), status);
    CHECK(contains(&page, "default-src 'none'; script-src 'sha256-"));
    CHECK(!contains(&page, "unsafe-"));
    CHECK(!contains(&page, "_HASH"));
    CHECK(!contains(&page, "innerHTML") && !contains(&page, "document.write"));
    CHECK(!contains(&page, "https://"));
    buffer_finish(&page);
}

TEST(a_page_of_two_traces_holds_both) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, write_two, &page, &status), status);
    CHECK(contains(&page, "id=\"report-0\"") && contains(&page, "id=\"events-0\""));
    CHECK(contains(&page, "id=\"report-1\"") && contains(&page, "id=\"events-1\""));
    buffer_finish(&page);
}

TEST(a_page_of_an_empty_trace_is_whole) {
    struct buffer page = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_nothing, NULL, write_page, &page, &status), status);
    struct buffer events = unpacked(&page, "events-0");
    CHECK(contains(&events, "\"ACTI\":0"));
    CHECK(contains(&page, "</html>"));
    buffer_finish(&events);
    buffer_finish(&page);
}

/* At most two events of each table: everything of a lane becomes one stretch. */
static bool check_merging(const struct report *report, struct output *output,
                          struct status *status) {
    struct page_events events;
    output_write(output, "", 1);
    bool ok = page_events_choose(&events, report, 3, status);
    if (ok) {
        CHECK_INT(events.activities.count, 1);
        CHECK_INT(events.activities.merged[0], 3);
        CHECK_INT(events.activities.duration[0], 90);
        CHECK_INT(events.activities.place[2], 0);
        CHECK_INT(events.calls.count, 1);
        CHECK_INT(events.ranges.count, 1);
        CHECK_INT(events.merged_events, 5);
        CHECK(events.shorter > 40);
    }
    page_events_finish(&events);
    return ok;
}

TEST(short_events_of_too_many_are_merged_and_counted) {
    struct buffer nothing = {0};
    struct status status = {0};
    CHECK_OK(sample_report(fill_plain, NULL, check_merging, &nothing, &status), status);
    buffer_finish(&nothing);
}

TEST(a_page_survives_running_out_of_memory) {
    sample_check_out_of_memory(fill_plain, write_page);
}
