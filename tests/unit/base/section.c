/* Tables described once: text, Markdown, CSV and JSON of the same columns. */
#include "../test.h"

#include "base/memory.h"
#include "base/section.h"

struct line {
    const char *label, *how;
    int64_t ns; /* 0: unknown */
    double share;
};

struct lines {
    const struct line *lines;
    size_t count;
};

static const void *line_row(const void *source, size_t index) {
    const struct lines *lines = source;
    return index < lines->count ? &lines->lines[index] : NULL;
}

#define LINE(name, ...) SECTION_VALUE(name, struct lines, struct line, __VA_ARGS__)
LINE(line_label, value_string(at->label))
LINE(line_how, at->how ? value_string(at->how) : value_none())
LINE(line_time, value_if(at->ns > 0, value_integer(at->ns)))
LINE(line_share, value_real(at->share))
LINE(line_nothing, value_unknown())
LINE(line_yes, value_integer(1))

static const struct column columns[] = {
    {"label", "what", UNIT_TEXT, COLUMN_LABEL | COLUMN_FLEXIBLE | COLUMN_IN_PLACE | COLUMN_RANK(2),
     line_label},
    {"how", "how", UNIT_TEXT, COLUMN_OPTIONAL, line_how},
    {"time_ns", "time", UNIT_NS, 0, line_time},
    {"share", "share", UNIT_SHARE, COLUMN_RANK(3), line_share},
    {NULL, "nothing", UNIT_COUNT, 0, line_nothing},
    {"known", NULL, UNIT_BOOL, 0, line_yes},
    {0},
};
static const struct section section = {
    .key = "lines", .title = "Lines", .columns = columns, .row = line_row, .rows = "lines"};

static const struct line rows[] = {
    {"a chain of operations", "eager", 2000, 0.5},
    {"a chain of operations", "compiled", 1000, 0.25},
    {"a product", NULL, 0, 0.125},
};
static const struct lines all = {rows, 3};

static const char *written(const struct section_style *style) {
    static struct buffer text;
    struct output output = output_into(&text);
    struct status status = {0};
    buffer_clear(&text);
    CHECK_OK(section_write(&section, &all, style, &output, &status), status);
    buffer_byte(&text, '\0');
    return text.data;
}

TEST(a_section_as_text_prints_unknown_and_none_and_leaves_out_empty_columns) {
    CHECK_STRING(written(&(struct section_style){.width = 80}),
                 "what                   how          time   share\n"
                 "─────────────────────  ────────  ───────  ──────\n"
                 "a chain of operations  eager     2.00 µs  50.0 %\n"
                 "a chain of operations  compiled  1.00 µs  25.0 %\n"
                 "a product              -               ?  12.5 %\n");
}

TEST(columns_leave_by_rank_and_a_label_for_a_line_above_its_rows) {
    /* 48 columns and the indent do not fit 45: the share leaves. */
    CHECK_STRING(written(&(struct section_style){.width = 45, .indent = 2}),
                 "  what                   how          time\n"
                 "  ─────────────────────  ────────  ───────\n"
                 "  a chain of operations  eager     2.00 µs\n"
                 "  a chain of operations  compiled  1.00 µs\n"
                 "  a product              -               ?\n");
    /* Neither does the label in 30: it leaves, and the share comes back. */
    CHECK_STRING(written(&(struct section_style){.width = 30, .indent = 2}),
                 "  how          time   share\n"
                 "  ────────  ───────  ──────\n"
                 "a chain of operations\n"
                 "  eager     2.00 µs  50.0 %\n"
                 "  compiled  1.00 µs  25.0 %\n"
                 "a product\n"
                 "  -               ?  12.5 %\n");
}

TEST(a_section_says_how_many_rows_are_left_out) {
    CHECK_STRING(written(&(struct section_style){.style = TABLE_MARKDOWN, .rows = 1}),
                 "| what | how | time | share |\n|---|---|---:|---:|\n"
                 "| a chain of operations | eager | 2.00 µs | 50.0 % |\n\n2 more lines\n");
}

TEST(a_section_as_csv_and_json_has_keys_and_plain_numbers) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    struct status status = {0};
    CHECK_STRING(written(&(struct section_style){.style = TABLE_CSV}),
                 "label,how,time_ns,share,known\r\na chain of operations,eager,2000,0.5,1\r\n"
                 "a chain of operations,compiled,1000,0.25,1\r\na product,,,0.125,1\r\n");
    CHECK_OK(section_write_json(&section, &all, &json, &status), status);
    buffer_byte(&text, '\0');
    CHECK(strstr(text.data, "\"how\":\"eager\",\"time_ns\":2000,\"share\":0.5,\"known\":true}"));
    CHECK(strstr(text.data, "{\"label\":\"a product\",\"time_ns\":null,"));
    buffer_finish(&text);
}

TEST(a_section_as_a_table_in_json_is_what_text_shows) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    struct status status = {0};
    json_begin_array(&json);
    CHECK_OK(section_write_json_table(&section, "some", &all, 2, &json, &status), status);
    CHECK_OK(section_write_json_table(&section, "none", &(struct lines){0}, 2, &json, &status),
             status);
    json_end_array(&json);
    buffer_byte(&text, '\0');
    CHECK_STRING(text.data,
                 "[{\"part\":\"some\",\"key\":\"lines\",\"title\":\"Lines\",\"note\":\"\","
                 "\"columns\":[{\"title\":\"what\",\"unit\":\"text\",\"is_name\":true},"
                 "{\"title\":\"how\",\"unit\":\"text\",\"is_name\":false},"
                 "{\"title\":\"time\",\"unit\":\"ns\",\"is_name\":false},"
                 "{\"title\":\"share\",\"unit\":\"share\",\"is_name\":false}],"
                 "\"rows\":[[\"a chain of operations\",\"eager\",2000,0.5],"
                 "[\"a chain of operations\",\"compiled\",1000,0.25]],"
                 "\"more\":1,\"sentences\":[]}]");
    buffer_clear(&text);
    json_begin_array(&json);
    CHECK_OK(section_write_json_table(&section, "all", &all, 3, &json, &status), status);
    json_end_array(&json);
    buffer_byte(&text, '\0');
    CHECK(strstr(text.data, "[\"a product\",false,null,0.125]"));
    buffer_finish(&text);
}

TEST(a_section_without_memory_fails) {
    struct section_style style = {.width = 30, .indent = 2};
    bool ok = false;
    unsigned failures = 0;
    for (uint64_t nth = 1; nth < 500 && !ok; nth++) {
        struct buffer text = {0};
        struct output output = output_into(&text);
        struct status status = {0};
        memory_fail_from(nth);
        ok = section_write(&section, &all, &style, &output, &status) && !output.failed &&
             !text.failed;
        memory_fail_from(0);
        failures += !ok;
        buffer_finish(&text);
    }
    CHECK(ok && failures > 3);
}
