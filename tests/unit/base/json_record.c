/* Small JSON values by their paths. */
#include "../test.h"

#include <stdio.h>

#include "base/json_record.h"

/* Reads the text as one record. */
static bool read(const char *json, struct json_record *record, struct status *status) {
    const char *path = test_temporary(".json");
    struct input input;
    struct scan scan;
    FILE *file = fopen(path, "wb");
    *status = (struct status){0};
    fwrite(json, 1, strlen(json), file);
    fclose(file);
    if (!input_open(&input, path, status))
        return false;
    scan_open(&scan, &input);
    bool ok = json_record_read(&scan, record, status);
    scan_close(&scan);
    return ok;
}

TEST(values_of_a_record_are_found_by_their_paths) {
    struct json_record record = {0};
    struct status status;
    CHECK_OK(read(" { \"id\": {\"handle\": 18446744073709551615 , \"empty\": {} }, \"list\": [ "
                  "\"a\\n\", [1.5, "
                  "true], [] ], \"last\" : -7 }",
                  &record, &status),
             status);
    CHECK_INT((uint64_t)json_record_integer(&record, "id.handle", 0), UINT64_MAX);
    CHECK(text_is(json_record_text(&record, "list.0"), "a\n"));
    CHECK(json_record_double(&record, "list.1.0", 0) == 1.5);
    CHECK(text_is(json_record_text(&record, "list.1.1"), "true"));
    CHECK_INT(json_record_integer(&record, "last", 0), -7);
    CHECK_INT(json_record_u32(&record, "last"), 0);
    CHECK_INT(json_record_integer(&record, "list.2.0", 5), 5);
    CHECK(!json_record_has(&record, "id.empty"));
    CHECK_INT(record.count, 5);
    CHECK_OK(read("\"alone\"", &record, &status), status);
    CHECK(text_is(json_record_text(&record, ""), "alone"));
    CHECK_INT(record.count, 1);
    json_record_finish(&record);
}

TEST(a_record_that_is_nested_too_deep_or_cut_off_is_safe) {
    char deep[200] = "";
    struct json_record record = {0};
    struct status status;
    for (unsigned i = 0; i < 40; i++)
        strcat(deep, "[");
    strcat(deep, "1");
    for (unsigned i = 0; i < 40; i++)
        strcat(deep, "]");
    CHECK_OK(read(deep, &record, &status), status);
    CHECK_INT(record.count, 0);
    CHECK(!read("{\"a\": [1, ", &record, &status));
    CHECK(!read("{\"a\" 1}", &record, &status) || record.count == 0);
    json_record_finish(&record);
}
