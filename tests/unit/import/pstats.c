/* Dumps of cProfile: real ones against independent figures, and a small one for references. */
#include "imported.h"

#include "base/text.h"

static int64_t self_time(const struct trace *trace) {
    int64_t sum = 0;
    for (size_t i = 0; i < trace->sample.count; i++)
        sum += trace->sample.weight[i];
    return sum;
}

TEST(the_pstats_fixtures_have_their_true_figures) {
    static const struct {
        const char *path;
        int64_t functions, microseconds;
        const char *calls;
    } files[] = {{"pstats/gprof2dot_cProfile.pstats", 28, 3869287, "1100070"},
                 {"pstats/hatchet_cprofile-cycle.pstats", 9, 23045403, "101204007"}};
    for (size_t i = 0; i < 2; i++) {
        struct status status = {0};
        const char *path = test_fixture(files[i].path);
        if (!path)
            return;
        struct trace *trace = imported_file(&import_pstats, path, false, &status);
        if (!trace || !trace_load(trace, TABLE_SAMPLE, NULL, &status)) {
            test_failed(__FILE__, __LINE__, "%s: %s", path, status.message);
            continue;
        }
        CHECK_INT(trace->sample.count, files[i].functions);
        CHECK_INT((self_time(trace) + 500) / 1000, files[i].microseconds);
        CHECK(text_is(trace_meta(trace, "source.calls"), files[i].calls));
        trace_close(trace);
    }
}

/* Version 4: a dict of one function, whose file is referred to by its caller. */
static const char small[] = "\xFB\xA9\x03\xFA\x06"
                            "run.py\xE9\x07\x00\x00\x00\xDA\x04step"
                            "\xA9\x05\xE9\x02\x00\x00\x00\x69\x02\x00\x00\x00"
                            "g\x00\x00\x00\x00\x00\x00\xF8\x3F"
                            "g\x00\x00\x00\x00\x00\x00\x00\x40"
                            "{\x29\x03r\x02\x00\x00\x00i\x01\x00\x00\x00Z\x04main"
                            "\x29\x04i\x01\x00\x00\x00i\x01\x00\x00\x00"
                            "g\x00\x00\x00\x00\x00\x00\xF8\x3Fg\x00\x00\x00\x00\x00\x00\x00\x40"
                            "0"
                            "0";

TEST(a_function_of_a_cprofile_dump_has_its_self_time) {
    struct status status = {0};
    struct trace *trace =
        imported_bytes(&import_pstats, (struct text){small, sizeof small - 1}, false, &status);
    if (!trace || !trace_load(trace, TABLE_SAMPLE, NULL, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    CHECK_INT(trace->sample.count, 1);
    CHECK_INT(trace->sample.weight[0], 1500000000);
    uint32_t frame = trace->sample.stack[0];
    CHECK(text_is(trace_text(trace, trace->stack.function[frame]), "step"));
    CHECK(text_is(trace_text(trace, trace->stack.file[frame]), "run.py"));
    CHECK_INT(trace->stack.line[frame], 7);
    trace_close(trace);
}

TEST(a_damaged_cprofile_dump_is_an_error) {
    for (size_t length = 1; length + 1 < sizeof small; length += 7) {
        struct status status = {0};
        CHECK(!imported_bytes(&import_pstats, (struct text){small, length}, false, &status));
        CHECK(status.message[0] != 0);
    }
}

/* Versions 0 to 2: long tuples, interned texts and their references, numbers in every form. */
static const char old[] =
    "{(\x03\x00\x00\x00t\x06\x00\x00\x00old.pyi\x09\x00\x00\x00t\x04\x00\x00\x00work"
    "(\x05\x00\x00\x00l\x02\x00\x00\x00\x05\x00\x01\x00" /* 5 + 32768 calls */
    "I\x03\x00\x00\x00\x00\x00\x00\x00"
    "f\x03"
    "2.5f\x01"
    "4N"
    "(\x03\x00\x00\x00R\x00\x00\x00\x00l\xFF\xFF\xFF\xFF\x02\x00R\x01\x00\x00\x00" /* line -2 */
    "(\x05\x00\x00\x00i\x01\x00\x00\x00l\x02\x00\x00\x00\x05\x00\x01\x00g"
    "\x00\x00\x00\x00\x00\x00\xE0\x3F"
    "TF"
    ")\x03s\x01\x00\x00\x00~i\x07\x00\x00\x00u\x05\x00\x00\x00<len>"
    "\x29\x05i\x01\x00\x00\x00i\xFF\xFF\xFF\xFFg\x00\x00\x00\x00\x00\x00\xF0\xBF"
    "NN"
    ")\x01i\x01\x00\x00\x00N" /* an entry of another tool */
    "0";

TEST(an_old_cprofile_dump_has_numbers_and_texts_in_every_form) {
    struct status status = {0};
    struct trace *trace =
        imported_bytes(&import_pstats, (struct text){old, sizeof old - 1}, false, &status);
    if (!trace || !trace_load(trace, TABLE_SAMPLE, NULL, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    REQUIRE(trace->sample.count == 3);
    CHECK_INT(trace->sample.weight[0], 2500000000);
    CHECK_INT(trace->sample.weight[1], 500000000);
    CHECK_INT(trace->sample.weight[2], 0); /* less than no time */
    CHECK_INT(trace->stack.line[trace->sample.stack[0]], 9);
    CHECK_INT(trace->stack.line[trace->sample.stack[1]], 0);
    CHECK(text_is(trace_text(trace, trace->stack.file[trace->sample.stack[1]]), "old.py"));
    CHECK(text_is(trace_text(trace, trace->stack.file[trace->sample.stack[2]]), ""));
    CHECK(text_is(trace_meta(trace, "source.calls"), "32776")); /* 3, 32,773 and none */
    trace_close(trace);
}

TEST(a_cprofile_dump_is_a_dict_of_tuples_that_begin_with_a_text) {
    static const struct {
        const char *head;
        int confidence;
    } cases[] = {
        {"{)\3s....", 3},     {"\xFB\xA9\3\xF3....", 3}, {"{)\3Z....", 3},    {"{(\3\0\0\0t.", 3},
        {"{)\4s....", 0},     {"{)\3i....", 0},          {"{(\4\0\0\0t.", 0}, {"{(\3\1\0\0t.", 0},
        {"{(\3\0\1\0t.", 0},  {"{(\3\0\0\1t.", 0},       {"[)\3s....", 0},    {"{(\3\0\0\0i.", 0},
        {"{s\3\0\0\0tt.", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_source source = {.head = (const unsigned char *)cases[i].head,
                                       .head_length = 8};
        CHECK_INT(import_pstats.detect(&source), cases[i].confidence);
        source.head_length = 7;
        CHECK_INT(import_pstats.detect(&source), 0);
    }
}

TEST(a_cprofile_dump_without_functions_is_an_error) {
    struct status status = {0};
    CHECK(!imported_bytes(&import_pstats, (struct text){"{0", 2}, false, &status));
    CHECK(strstr(status.message, "without functions"));
}
