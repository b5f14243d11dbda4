/* The JSON writer: commas, nesting, escapes, numbers, and text that is not UTF-8. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"

/* What `write` prints, in a fresh string. */
static char *printed(bool pretty, void (*write)(struct json *)) {
    const char *path = test_temporary(".json");
    struct output output;
    struct status status;
    static char text[4096];
    text[0] = 0;
    if (!output_open(&output, path, true, &status))
        return text;
    struct json json = {.output = &output, .pretty = pretty};
    write(&json);
    if (!output_commit(&output, &status))
        return text;
    FILE *file = fopen(path, "rb");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    return text;
}

static void write_nested(struct json *json) {
    json_begin_object(json);
    json_member_integer(json, "a", -1);
    json_key(json, "b");
    json_begin_array(json);
    json_unsigned(json, UINT64_MAX);
    json_begin_object(json);
    json_end_object(json);
    json_begin_array(json);
    json_end_array(json);
    json_null(json);
    json_bool(json, true);
    json_end_array(json);
    json_key(json, "c");
    json_raw(json, TEXT("{\"x\":1}"));
    json_end_object(json);
}

TEST(members_and_elements_are_parted_by_commas) {
    CHECK_STRING(printed(false, write_nested),
                 "{\"a\":-1,\"b\":[18446744073709551615,{},[],null,true],\"c\":{\"x\":1}}");
}

TEST(pretty_json_has_a_member_a_line) {
    CHECK_STRING(
        printed(true, write_nested),
        "{\n  \"a\": -1,\n  \"b\": [\n    18446744073709551615,\n    {},\n    [],\n    null,\n"
        "    true\n  ],\n  \"c\": {\"x\":1}\n}\n");
}

static void write_escapes(struct json *json) {
    json_begin_array(json);
    json_text(json, ((struct text){"q\" b\\ n\n t\t r\r z\0 d\x7F e\x1B", 23}));
    json_string(json, "\xC2\xB5s");
    json_end_array(json);
}

TEST(control_characters_and_quotes_are_escaped) {
    CHECK_STRING(printed(false, write_escapes),
                 "[\"q\\\" b\\\\ n\\n t\\t r\\u000d z\\u0000 d\\u007f e\\u001b\",\"\xC2\xB5s\"]");
}

static void write_bad_utf8(struct json *json) {
    json_text(json, TEXT("a\xFF"
                         "b\xC2"));
}

static void write_controls(struct json *json) {
    json_string(json, "\xC2\x9B\xD8\x9C\xE2\x80\x8E\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA9→");
}

TEST(controls_beyond_ascii_are_escaped_too) {
    CHECK_STRING(printed(false, write_controls), "\"\\u009b\\u061c\\u200e\\u2028\\u202e\\u2069→\"");
}

TEST(bytes_that_are_not_utf8_become_replacement_characters) {
    CHECK_STRING(printed(false, write_bad_utf8), "\"a\xEF\xBF\xBD"
                                                 "b\xEF\xBF\xBD\"");
}

static void write_numbers(struct json *json) {
    json_begin_array(json);
    json_number(json, 0.1);
    json_number(json, 1.0 / 3);
    json_number(json, 1e300);
    json_number(json, 3);
    json_number(json, NAN);
    json_number(json, -INFINITY);
    json_end_array(json);
}

TEST(numbers_read_back_as_the_same_double) {
    char *text = printed(false, write_numbers);
    CHECK(strncmp(text, "[0.1,", 5) == 0);
    char *next;
    CHECK(strtod(text + 5, &next) == 1.0 / 3);
    CHECK_STRING(next, ",1e+300,3,null,null]");
}
