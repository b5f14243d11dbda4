/* Slices, integers in text, UTF-8, and the growing buffer. */
#include "../test.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

TEST(text_is_found_where_it_first_occurs) {
    CHECK_INT(text_find(TEXT("abcabc"), "bc"), 1);
    CHECK_INT(text_find(TEXT("aaab"), "aab"), 1);
    CHECK_INT(text_find(TEXT("abc"), "abcd"), -1);
    CHECK_INT(text_find(TEXT("abc"), "c"), 2);
    CHECK_INT(text_find(TEXT(""), "c"), -1);
    CHECK_INT(text_find(TEXT("abc"), ""), 0);
    CHECK_INT(text_find(((struct text){"abc", 2}), "c"), -1); /* beyond the slice */
}

TEST(integers_are_read_to_the_edges_of_their_type) {
    int64_t i = 0;
    uint64_t u = 0;
    CHECK(text_to_i64(TEXT("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(text_to_i64(TEXT("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(!text_to_i64(TEXT("9223372036854775808"), &i));
    CHECK(!text_to_i64(TEXT("-9223372036854775809"), &i));
    CHECK(text_to_u64(TEXT("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!text_to_u64(TEXT("18446744073709551616"), &u));
    CHECK(text_to_i64(TEXT("-0"), &i) && i == 0);
}

TEST(what_is_not_wholly_an_integer_is_refused) {
    static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "--1", "1e3"};
    int64_t value;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        if (text_to_i64(text_of(bad[i]), &value))
            test_failed(__FILE__, __LINE__, "'%s' was taken for an integer", bad[i]);
}

TEST(only_valid_utf8_counts_as_valid) {
    static const struct {
        const char *bytes;
        size_t valid;
    } cases[] = {
        {"plain", 5},
        {"\xC2\xB5s", 3},        /* µ */
        {"\xE2\x82\xAC", 3},     /* euro */
        {"\xF0\x9F\x98\x80", 4}, /* beyond 16 bits */
        {"a\x80", 1},            /* continuation without a start */
        {"a\xC2", 1},            /* cut off */
        {"\xC0\xAF", 0},         /* overlong slash */
        {"\xE0\x80\x80", 0},     /* overlong */
        {"\xED\xA0\x80", 0},     /* surrogate */
        {"\xF4\x90\x80\x80", 0}, /* beyond U+10FFFF */
        {"\xFF", 0},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (text_utf8_valid(text_of(cases[i].bytes)) != cases[i].valid)
            test_failed(__FILE__, __LINE__, "case %zu: %zu valid bytes, not %zu", i,
                        text_utf8_valid(text_of(cases[i].bytes)), cases[i].valid);
}

TEST(a_buffer_holds_what_was_appended) {
    struct buffer buffer = {0};
    struct status status;
    for (int i = 0; i < 1000; i++)
        buffer_printf(&buffer, "%d,", i);
    buffer_string(&buffer, "end");
    buffer_byte(&buffer, 0);
    REQUIRE(buffer_ok(&buffer, &status));
    CHECK_INT(buffer.length, 10 * 2 + 90 * 3 + 900 * 4 + 4);
    CHECK(strncmp(buffer.data, "0,1,2,", 6) == 0);
    CHECK_STRING(buffer.data + buffer.length - 8, "999,end");
    buffer_clear(&buffer);
    CHECK_INT(buffer_as_text(&buffer).length, 0);
    buffer_finish(&buffer);
    CHECK(buffer_as_text(&buffer).data != NULL);
}

TEST(a_buffer_remembers_that_memory_ran_out) {
    struct buffer buffer = {0};
    struct status status = {0};
    memory_fail_from(1);
    buffer_string(&buffer, "lost");
    memory_fail_from(0);
    buffer_string(&buffer, "too late");
    CHECK(!buffer_ok(&buffer, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK_INT(buffer.length, 0);
    buffer_clear(&buffer);
    CHECK(!buffer_ok(&buffer, &status));
    buffer_reset(&buffer);
    CHECK(buffer_ok(&buffer, &status));
    buffer_finish(&buffer);
}

TEST(texts_compare_by_bytes_and_an_empty_one_needs_no_data) {
    struct text none = {0};
    CHECK(text_compare(none, none) == 0);
    CHECK(text_compare(none, TEXT("a")) < 0);
    CHECK(text_compare(TEXT("ab"), TEXT("a")) > 0);
    CHECK(text_compare(TEXT("a"), TEXT("b")) < 0);
    CHECK(text_equal(none, TEXT("")));
}

/* The printable form, with U+FFFD as '?' for readability. */
static const char *shown(struct text text) {
    static char line[256], marked[256];
    size_t length = 0;
    text_printable(text, line, sizeof line);
    for (const char *p = line; *p; p++)
        if (strncmp(p, "\xEF\xBF\xBD", 3) == 0)
            marked[length++] = '?', p += 2;
        else
            marked[length++] = *p;
    marked[length] = '\0';
    return marked;
}

TEST(shown_text_holds_nothing_that_controls_a_terminal) {
    CHECK_STRING(shown(TEXT("a\0b\x1b[31m\x7f\x07")), "a?b?[31m??");
    CHECK_STRING(shown(TEXT("a\tb\r\nc")), "a b  c");
    CHECK_STRING(shown(TEXT("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0")), "???\xC2\xA0");
    CHECK_STRING(shown(TEXT("\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F")), "???"); /* U+061C, 200E, 200F */
    CHECK_STRING(shown(TEXT("\xE2\x80\xA8\xE2\x80\xA9")), "  ");          /* U+2028, 2029 */
    CHECK_STRING(shown(TEXT("\xE2\x80\xAA\xE2\x80\xAB\xE2\x80\xAC\xE2\x80\xAD\xE2\x80\xAE")),
                 "?????");
    CHECK_STRING(shown(TEXT("\xE2\x81\xA6\xE2\x81\xA7\xE2\x81\xA8\xE2\x81\xA9")), "????");
    CHECK_STRING(shown(TEXT("\xFFx\xC3(\xE2\x82")), "?x?(??");
    CHECK_STRING(shown(TEXT("größer → 中 😀")), "größer → 中 😀");
}

TEST(shown_text_is_cut_between_characters) {
    char line[6];
    CHECK_STRING(text_printable(TEXT("abc→"), line, sizeof line), "abc");
    CHECK_STRING(text_printable(TEXT("ab→c"), line, sizeof line), "ab→");
}
