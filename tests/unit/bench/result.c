/* Results survive a round trip through a file; damaged files are rejected. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/results/result_members.h"
#include "made_up.h"

#include "base/array.h"

static struct status status;

/* A set with a value of each kind. */
static bool make_set(struct result_set *set) {
    struct result result = made_up_result("fusion", "chain of 20", "eager", 123456.789);
    result.dtype = RIDGE_BF16;
    result.size = 1 << 20;
    result.numbers[2] = -7;
    result.curve = true;
    result.amount.touched = UINT64_MAX;
    result.amount.arithmetic = ROOF_MATRIX_BF16;
    result.limit.kind = LIMIT_ARITHMETIC;
    result.limit.roof = ROOF_MATRIX_BF16;
    result.round_medians[0] = 1.5;
    result.round_medians[1] = 0.1;
    result.round_disturbed[1] = NAN;
    result.round_count = 2;
    result.checked = true;
    result.error = NAN;
    snprintf(result.notes, sizeof result.notes, "noisy \"very\"\n");
    result.has_peer = true;
    result.peer = made_up_times(2e6, 0.02);
    struct result failed = made_up_result("fusion", "chain of 20", "compiled", 1);
    failed.time = (struct measurement){0};
    snprintf(failed.problem, sizeof failed.problem, "no memory");
    snprintf(set->machine, sizeof set->machine, "a machine");
    snprintf(set->peer, sizeof set->peer, "PyTorch");
    set->started_at = 1700000000;
    set->roofs = memory_allocate(1, sizeof *set->roofs, &status);
    set->reference = memory_allocate(2, sizeof *set->reference, &status);
    if (!set->roofs || !set->reference)
        return false;
    snprintf(set->roofs[0].device, sizeof set->roofs[0].device, "cpu");
    set->roofs[0].of[ROOF_MEMORY_COPY].value = 23.5e9;
    set->roofs_count = set->roofs_capacity = 1;
    set->reference[0] = 1e6;
    set->reference[1] = 1.0 / 3;
    set->reference_count = set->reference_capacity = 2;
    return result_add(set, &result, &status) && result_add(set, &failed, &status) &&
           finding_add(set, "fusion", "cpu", "speedup", 7.5, &status, "%s is %.1f times as fast",
                       "it", 7.5) &&
           finding_add(set, "fusion", "cpu", "verdict", NAN, &status, "words alone");
}

static void write_file(const char *path, struct text content) {
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(content.data, 1, content.length, file);
        fclose(file);
    }
}

static void as_json(const struct result_set *set, struct buffer *json) {
    struct output output = output_into(json);
    result_set_write(set, &output);
}

/* The status of reading a file with this content; the set is finished. */
static bool can_read(struct text content, struct result_set *set) {
    const char *path = test_temporary(".json");
    *set = (struct result_set){0};
    status = (struct status){0};
    write_file(path, content);
    bool ok = result_set_read(set, path, &status);
    if (!ok)
        CHECK(set->count == 0 && !set->results && !set->findings);
    return ok;
}

TEST(a_set_of_results_reads_back_as_it_was_written) {
    struct result_set set = {0}, back = {0};
    struct buffer json = {0}, again = {0};
    REQUIRE(make_set(&set));
    as_json(&set, &json);
    CHECK_OK(can_read(buffer_as_text(&json), &back), status);
    REQUIRE(back.count == 2 && back.finding_count == 2 && back.roofs_count == 1);
    const struct result *result = &back.results[0];
    CHECK(result->dtype == RIDGE_BF16);
    CHECK(result->numbers[2] == -7);
    CHECK(result->amount.touched == UINT64_MAX);
    CHECK(result->amount.arithmetic == ROOF_MATRIX_BF16);
    CHECK(result->limit.kind == LIMIT_ARITHMETIC);
    CHECK_INT(result->time.sample_count, 31);
    CHECK(memcmp(&result->time, &set.results[0].time, sizeof result->time) == 0);
    CHECK(result->has_peer && result->peer.time.median == set.results[0].peer.time.median);
    CHECK(isnan(result->error));
    CHECK_STRING(result->notes, "noisy \"very\"\n");
    CHECK_STRING(back.results[1].problem, "no memory");
    CHECK(!back.results[1].has_peer);
    CHECK_STRING(back.findings[0].text, "it is 7.5 times as fast");
    CHECK(isnan(back.findings[1].value));
    CHECK(back.reference_count == 2 && back.reference[1] == 1.0 / 3);
    CHECK(back.roofs[0].of[ROOF_MEMORY_COPY].value == 23.5e9);
    as_json(&back, &again);
    CHECK(text_equal(buffer_as_text(&json), buffer_as_text(&again)));
    buffer_finish(&json);
    buffer_finish(&again);
    result_set_finish(&set);
    result_set_finish(&back);
}

TEST(a_result_is_found_by_experiment_device_label_and_variant) {
    struct result_set set = {0};
    REQUIRE(make_set(&set));
    struct result like = made_up_result("fusion", "chain of 20", "compiled", 1);
    CHECK(result_find(&set, &like) == &set.results[1]);
    snprintf(like.device, sizeof like.device, "cuda:0");
    CHECK(result_find(&set, &like) == NULL);
    result_set_finish(&set);
}

TEST(text_is_cut_between_characters) {
    char small[6];
    result_copy_text(small, sizeof small, TEXT("abcµµ"));
    CHECK_STRING(small, "abcµ");
    result_copy_text(small, sizeof small, TEXT("abcdµ"));
    CHECK_STRING(small, "abcd");
    result_copy_text(small, sizeof small, TEXT(""));
    CHECK_STRING(small, "");
}

TEST(members_may_come_in_any_order_and_unknown_ones_are_passed_over) {
    struct result_set set;
    CHECK_OK(can_read(TEXT("{\"results\": [{\"later\": [1, {\"a\": 2}], \"label\": \"x\","
                           "\"time\": {\"samples_ns\": [3, 1, 2]}}], \"version\": 1,"
                           "\"weather\": \"fine\", \"schema\": \"ridge.bench\"}"),
                      &set),
             status);
    REQUIRE(set.count == 1);
    CHECK_STRING(set.results[0].label, "x");
    CHECK(set.results[0].time.time.median == 2);
    result_set_finish(&set);
}

TEST(a_file_that_is_not_ours_says_so_in_one_line) {
    static const struct {
        struct text content;
        const char *words;
    } files[] = {
        {TEXT(""), "not a file of ridge bench results"},
        {TEXT("hello"), "not a file of ridge bench results"},
        {TEXT("[1, 2]"), "expected an object"},
        {TEXT("{\"traceEvents\": []}"), "schema"},
        {TEXT("{\"schema\": \"other\"}"), "schema"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 2}"), "version 2"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1} more"), "nothing after"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": [{\"size\": \"x\"}]}"),
         "results[0]: size: expected a whole number"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": [{\"dtype\": \"f7\"}]}"),
         "\"f7\" is unknown"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": [{\"numbers\":"
              "[1,2,3,4,5,6,7,8,9]}]}"),
         "more than 8"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": [{\"time\":"
              "{\"calls\": -1}}]}"),
         "non-negative"},
        {TEXT("{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": [{\"time\":"
              "{\"samples_ns\": [1e999]}}]}"),
         "expected a number"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        struct result_set set;
        CHECK(!can_read(files[i].content, &set));
        if (!strstr(status.message, files[i].words))
            test_failed(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", status.message, files[i].words);
        CHECK(!strchr(status.message, '\n'));
    }
    struct result_set set = {0};
    CHECK(!result_set_read(&set, "/nowhere/at/all.json", &status));
    CHECK(strstr(status.message, "/nowhere/at/all.json") != NULL);
}

TEST(more_samples_than_a_result_holds_are_refused) {
    struct buffer json = {0};
    struct result_set set;
    buffer_string(&json, "{\"schema\": \"ridge.bench\", \"version\": 1, \"results\": "
                         "[{\"time\": {\"samples_ns\": [1");
    for (int i = 0; i < MEASURE_SAMPLES; i++)
        buffer_string(&json, ",1");
    buffer_string(&json, "]}}]}");
    CHECK(!can_read(buffer_as_text(&json), &set));
    CHECK(strstr(status.message, "more than 128") != NULL);
    buffer_finish(&json);
}

/* Reads a damaged copy; whether that works is open, that it ends well is not. */
static void read_damaged(const char *path, struct text content) {
    struct result_set set = {0};
    status = (struct status){0};
    write_file(path, content);
    if (!result_set_read(&set, path, &status))
        CHECK(status.message[0] != '\0');
    result_set_finish(&set);
}

TEST(damaged_files_of_results_do_no_harm) {
    struct result_set set = {0};
    struct buffer json = {0}, copy = {0};
    static const char bytes[] = "{}[]\",:-0e9\\\n\x80n";
    const char *path = test_temporary(".json");
    unsigned seed = 1;
    REQUIRE(make_set(&set));
    as_json(&set, &json);
    for (size_t i = 0; i < 400; i++) {
        buffer_clear(&copy);
        buffer_text(&copy, buffer_as_text(&json));
        REQUIRE(!copy.failed);
        for (unsigned changes = i % 2 ? 0 : 1 + (unsigned)i % 3; changes > 0; changes--) {
            seed = seed * 1103515245u + 12345u;
            copy.data[seed / 65536 % copy.length] = bytes[seed / 7 % (sizeof bytes - 1)];
        }
        size_t length = i % 2 ? copy.length * i / 400 : copy.length;
        read_damaged(path, (struct text){copy.data, length});
    }
    buffer_finish(&json);
    buffer_finish(&copy);
    result_set_finish(&set);
}

TEST(running_out_of_memory_while_reading_results_is_reported) {
    struct result_set set = {0};
    struct buffer json = {0};
    const char *path = test_temporary(".json");
    REQUIRE(make_set(&set));
    as_json(&set, &json);
    write_file(path, buffer_as_text(&json));
    bool ok = false;
    for (uint64_t nth = 1; nth < 200 && !ok; nth++) {
        struct result_set back = {0};
        memory_fail_from(nth);
        ok = result_set_read(&back, path, &status);
        memory_fail_from(0);
        CHECK(ok || status.code == STATUS_MEMORY);
        result_set_finish(&back);
    }
    CHECK(ok);
    buffer_finish(&json);
    result_set_finish(&set);
}
