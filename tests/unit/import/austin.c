/* Profiles of austin. */
#include "imported.h"

#include "base/text.h"

static struct trace *import(const char *text, struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(&import_austin, text_of(text), false, status);
    if (trace && !trace_load(trace, TABLE_SAMPLE, NULL, status))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

TEST(samples_of_austin_have_processes_threads_and_microseconds) {
    static const char text[] = "# austin: 3.5.0\n# interval: 1000\n# mode: wall\n\n"
                               "P7;T7 2204\n"
                               "P7;T7;/a b/prog.py:main:8;<frozen x>:C:leaf:3 1042\n"
                               "P7;T0:9;/a b/prog.py:main:9;:GC: 5\n"
                               "P7;T7;/a b/prog.py:main:8 10\n\n# duration: 3261\n";
    struct status status;
    struct import_source source = {
        .path = "a", .head = (const unsigned char *)text, .head_length = sizeof text - 1};
    CHECK_INT(import_austin.detect(&source), 3);
    struct trace *trace = import(text, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->sample.count == 3);
    CHECK_INT(trace->sample.weight[0], 1042000);
    CHECK_INT(trace->sample.time[0], 2204000);
    uint32_t leaf = trace->sample.stack[0], caller = trace->stack.parent[leaf];
    CHECK(text_is(trace_text(trace, trace->stack.function[leaf]), "leaf"));
    CHECK(text_is(trace_text(trace, trace->stack.file[leaf]), "<frozen x>:C"));
    CHECK_INT(trace->stack.line[leaf], 3);
    CHECK(text_is(trace_text(trace, trace->stack.file[caller]), "/a b/prog.py"));
    trace_close(trace);
}

TEST(samples_of_austin_in_full_mode_have_their_time_first) {
    struct status status;
    struct trace *trace =
        import("# austin: 3.5.0\n# mode: full\nP7;T7;a.py:main:8 948,0,-135168\n", &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->sample.count == 1);
    CHECK_INT(trace->sample.weight[0], 948000);
    trace_close(trace);
}

TEST(profiles_of_austin_without_time_are_errors) {
    struct status status;
    CHECK(!import("# austin: 3.5.0\n# mode: memory\nP7;T7;a.py:main:8 4096\n", &status));
    CHECK(strstr(status.message, "memory profile"));
    CHECK(!import("# austin: 3.5.0\n# mode: wall\n", &status));
    CHECK(strstr(status.message, "without samples"));
    CHECK(!import("# austin: 3.5.0\nP7;a.py:main:8 1\n", &status));
    CHECK(strstr(status.message, "line 2 is not a sample"));
    CHECK(!import("# austin: 3.5.0\nP7;T7;a.py:main:8 99999999999999999\n", &status));
    CHECK(strstr(status.message, "impossible time"));
}
