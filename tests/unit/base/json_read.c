/* JSON from a window: tokens, exact numbers, escapes, depth, and truncation at every byte. */
#include "../test.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/json_read.h"
#include "base/keywords.h"

/* A scan over these bytes, all of them in the window. */
static bool open_text(struct scan *scan, struct text text) {
    struct status status = {0};
    struct input input;
    char byte;
    if (!input_open_bytes(&input, text.data, text.length, &status))
        return false;
    scan_open(scan, &input);
    return scan_peek(scan, &byte, &status);
}

/* As open_text, arriving `piece` bytes at a time. */
static bool open_pieces(struct scan *scan, struct text text, size_t piece) {
    struct status status = {0};
    struct buffer packed = {0};
    char frame[512];
    for (size_t at = 0; at < text.length; at += piece) {
        size_t length = text.length - at < piece ? text.length - at : piece;
        buffer_append(&packed, frame,
                      ZSTD_compress(frame, sizeof frame, text.data + at, length, 1));
    }
    struct input input;
    bool ok = input_open_bytes(&input, packed.data, packed.length, &status);
    if (ok)
        scan_open(scan, &input);
    buffer_finish(&packed);
    return ok;
}

TEST(microseconds_become_exact_nanoseconds) {
    static const struct {
        const char *json;
        int64_t value;
        bool is_number;
    } rows[] = {
        {"0 ", 0, true},
        {"1623143089861 ", 1623143089861000, true},
        {"1661203463029548 ", 1661203463029548000, true},
        {"4203669604613.811,", 4203669604613811, true},
        {"0.04}", 40, true},
        {"0.0005]", 0, true},
        {"0.0015 ", 2, true},
        {"0.0025 ", 2, true},
        {"0.00250001 ", 3, true},
        {"-3.5 ", -3500, true},
        {"1e3 ", 1000000, true},
        {"\"12.5\" ", 12500, true},
        {"9223372036854775.807 ", INT64_MAX, true},
        {"9223372036854775.808 ", 0, false},
        {"99999999999999999999 ", 0, false},
        {"NaN ", 0, false},
        {"null ", 0, false},
        {"\"soon\" ", 0, false},
        {"[1] ", 0, false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct scan scan;
        int64_t value = 0;
        bool is_number = false;
        REQUIRE(open_text(&scan, text_of(rows[i].json)));
        const char *after = scan_microseconds(&scan, scan.at, &value, &is_number);
        CHECK(after && after == scan.end - 1);
        if (is_number != rows[i].is_number || (is_number && value != rows[i].value))
            test_failed(__FILE__, __LINE__, "%s is %lld", rows[i].json, (long long)value);
        scan_close(&scan);
    }
}

TEST(integers_keep_their_bits_or_saturate) {
    static const struct {
        const char *json;
        int64_t value;
        bool is_number;
    } rows[] = {
        {"7,", 7, true},
        {"-1 ", -1, true},
        {"\"25738\" ", 25738, true},
        {"\"-5\" ", -5, true},
        {"4294967295 ", 4294967295, true},
        {"18446744073709551615 ", -1, true},
        {"99999999999999999999 ", INT64_MAX, true},
        {"-99999999999999999999 ", INT64_MIN, true},
        {"2.0 ", 2, true},
        {"1e400 ", INT64_MAX, true},
        {"\"stream 7\" ", 0, false},
        {"\"\" ", 0, false},
        {"\"7 \" ", 0, false},
        {"true ", 0, false},
        {"{\"a\":1} ", 0, false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct scan scan;
        int64_t value = 0;
        bool is_number = false;
        REQUIRE(open_text(&scan, text_of(rows[i].json)));
        const char *after = scan_integer(&scan, scan.at, &value, &is_number);
        CHECK(after && after == scan.end - 1);
        if (is_number != rows[i].is_number || (is_number && value != rows[i].value))
            test_failed(__FILE__, __LINE__, "%s is %lld", rows[i].json, (long long)value);
        scan_close(&scan);
    }
}

TEST(a_skipped_value_ends_where_it_ends) {
    static const char *const values[] = {
        "\"\"",
        "\"a\\\"b\"",
        "\"ends in a backslash \\\\\"",
        "[[], [1, 2]]",
        "{\"]\": \"}\"}",
        "true",
        "-Infinity",
        "{\"a\": [\"\\\"]\"], \"b\": {}}",
        "\"a string that is longer than one block of sixteen bytes\"",
    };
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        struct scan scan;
        struct buffer json = {0};
        buffer_string(&json, values[i]);
        buffer_string(&json, ",\"next\"]");
        REQUIRE(open_text(&scan, buffer_as_text(&json)));
        const char *after = scan_skip(&scan, scan.at);
        CHECK_INT(after ? after - scan.at : -1, strlen(values[i]));
        scan_close(&scan);
        buffer_finish(&json);
    }
}

TEST(a_value_is_passed_whatever_pieces_it_arrives_in) {
    struct text json =
        TEXT(" {\"k\\\\\": [\"a\\\"]}\", {\"deep\": [[[\"\\\\\"]]]}, -1.5e3], \"x\": null} , 7");
    for (size_t piece = 1; piece <= json.length; piece++) {
        struct scan scan;
        struct status status = {0};
        char byte;
        REQUIRE(open_pieces(&scan, json, piece));
        CHECK_OK(json_skip(&scan, &status), status);
        CHECK(scan_peek(&scan, &byte, &status) && byte == ',');
        CHECK_INT(scan_offset(&scan), json.length - 3);
        scan_close(&scan);
    }
}

TEST(a_value_that_is_cut_or_nested_too_deep_is_refused) {
    struct buffer deep = {0};
    for (int i = 0; i < SCAN_DEPTH + 1; i++)
        buffer_byte(&deep, '[');
    static const char *const cut[] = {"{\"a\": [1, 2", "\"abc", "\"abc\\", "[\"x\", \"y"};
    struct scan scan;
    struct status status = {0};
    REQUIRE(open_text(&scan, buffer_as_text(&deep)));
    CHECK(!scan_skip(&scan, scan.at) && scan.error);
    CHECK(!json_skip(&scan, &status) && strstr(status.message, "nested more than 512 deep"));
    scan_close(&scan);
    buffer_finish(&deep);
    for (size_t i = 0; i < ARRAY_COUNT(cut); i++) {
        REQUIRE(open_text(&scan, text_of(cut[i])));
        CHECK(!scan_skip(&scan, scan.at) && !scan.error);
        CHECK(!json_skip(&scan, &status) && strstr(status.message, "truncated"));
        scan_close(&scan);
    }
}

TEST(escapes_become_utf8_and_what_is_no_escape_stays) {
    static const struct {
        const char *raw, *plain;
    } rows[] = {
        {"a\\n\\t\\\"\\\\\\/", "a\n\t\"\\/"},
        {"\\u00e9\\u20AC", "\xC3\xA9\xE2\x82\xAC"},
        {"\\ud83d\\ude00!", "\xF0\x9F\x98\x80!"},
        {"\\ud83d!", "\xEF\xBF\xBD!"},
        {"\\ude00", "\xEF\xBF\xBD"},
        {"C:\\Users\\x", "C:\\Users\\x"},
        {"\\u12g4", "\\u12g4"},
        {"end\\", "end\\"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct buffer out = {0};
        scan_decode(text_of(rows[i].raw), &out);
        buffer_byte(&out, 0);
        CHECK_STRING(out.data, rows[i].plain);
        buffer_finish(&out);
    }
}

TEST(kept_values_are_compact_and_strictly_valid) {
    static const struct {
        const char *raw, *compact; /* NULL: refused */
    } rows[] = {
        {"[ [1, 2],\n [] ]", "[[1,2],[]]"},
        {"{ \"a b\" : { } }", "{\"a b\":{}}"},
        {"[NaN, -inf, 1.5e-3]", "[null,null,1.5e-3]"},
        {"\"C:\\Users\"", "\"C:\\\\Users\""},
        {"\"tab\there\"", "\"tab\\u0009here\""},
        {"\"\\u00e9\\n\"", "\"\\u00e9\\n\""},
        {"[1,]", NULL},
        {"[1 2]", NULL},
        {"{\"a\" 1}", NULL},
        {"{1: 2}", NULL},
        {"[1}", NULL},
        {"[", NULL},
        {"", NULL},
        {"1 2", NULL},
        {"01", NULL},
        {"1.", NULL},
        {"undefined", NULL},
        {"\"open", NULL},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct buffer out = {0};
        bool ok = scan_compact(text_of(rows[i].raw), &out);
        buffer_byte(&out, 0);
        if (ok != (rows[i].compact != NULL))
            test_failed(__FILE__, __LINE__, "%s", rows[i].raw);
        CHECK_STRING(out.data, rows[i].compact ? rows[i].compact : "");
        buffer_finish(&out);
    }
}

TEST(a_keyword_is_found_by_all_of_its_bytes) {
    static const struct keyword list[] = {
        {"ts", 1, 0},         {"tid", 2, 0},         {"Input Dims", 3, 0},
        {"Input Dixx", 4, 0}, {"correlation", 5, 0},
    };
    static const struct {
        char word[24];
        int kind; /* 0: not there */
    } rows[] = {{"ts", 1},          {"tid", 2},
                {"ti", 0},          {"tsx", 0},
                {"Input Dims", 3},  {"Input Dixx", 4},
                {"Input Diyy", 0},  {"correlation", 5},
                {"correlatioN", 0}, {"", 0}};
    struct keywords keywords;
    keywords_init(&keywords, list, ARRAY_COUNT(list));
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct keyword *found = keywords_find(&keywords, text_of(rows[i].word));
        CHECK_INT(found ? found->kind : 0, rows[i].kind);
    }
}
