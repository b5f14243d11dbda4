/* Samples and stack frames of Chrome traces, in good and in bad order. */
#include "imported.h"

#include "base/array.h"
#include "base/text.h"

static struct trace *import(const char *json, bool skip_invalid, struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(&import_kineto, text_of(json), skip_invalid, status);
    if (trace && !trace_load(trace, TABLE_SAMPLE, NULL, status))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

#define IMPORT(json)                                                                               \
    struct status status;                                                                          \
    struct trace *trace = import(json, false, &status);                                            \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

/* "leaf < caller < root" */
static void check_stack(const struct trace *trace, uint32_t stack, const char *expected) {
    struct buffer said = {0};
    for (; stack; stack = trace->stack.parent[stack]) {
        buffer_string(&said, said.length ? " < " : "");
        buffer_text(&said, trace_text(trace, trace->stack.function[stack]));
    }
    if (!text_is(buffer_as_text(&said), expected))
        test_failed(__FILE__, __LINE__, "the stack is %.*s, not %s", (int)said.length, said.data,
                    expected);
    buffer_finish(&said);
}

static bool warns(const struct trace *trace, const char *words) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), META_WARNING) &&
            text_find(trace_text(trace, trace->meta.value[i]), words) >= 0)
            return true;
    return false;
}

#define EVENTS                                                                                     \
    "\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":9,\"tid\":3,\"ts\":1,\"dur\":1}]"

TEST(frames_may_come_before_their_callers_and_ids_be_words_or_numbers) {
    IMPORT("{" EVENTS ",\"stackFrames\":{\"5\":{\"name\":\"leaf\",\"parent\":\"top\","
           "\"category\":\"lib\"},\"top\":{\"name\":\"main\\u0021\"}},"
           "\"samples\":[{\"tid\":3,\"ts\":2.5,\"sf\":5,\"weight\":1},"
           "{\"pid\":8,\"tid\":4,\"ts\":3,\"sf\":\"top\"},{\"tid\":77,\"ts\":4}]}");
    REQUIRE(trace->sample.count == 3);
    check_stack(trace, trace->sample.stack[0], "leaf < main!");
    check_stack(trace, trace->sample.stack[1], "main!");
    CHECK_INT(trace->sample.stack[2], 0);
    CHECK_INT(trace->sample.time[0], 2500);
    CHECK_INT(trace->sample.weight[0], 0); /* its unit is unknown */
    uint32_t known = trace->sample.thread[0], other = trace->sample.thread[1];
    CHECK_INT(trace->process.pid[trace->thread.process[known]], 9);
    CHECK_INT(trace->process.pid[trace->thread.process[other]], 8);
    CHECK_INT(trace->thread.tid[trace->sample.thread[2]], 77);
    trace_close(trace);
}

TEST(a_circle_of_callers_and_a_missing_caller_end_the_stack) {
    IMPORT(
        "{\"stackFrames\":{\"1\":{\"name\":\"a\",\"parent\":2},\"2\":{\"name\":\"b\",\"parent\":3},"
        "\"3\":{\"name\":\"c\",\"parent\":1},\"4\":{\"name\":\"self\",\"parent\":4},"
        "\"5\":{\"name\":\"orphan\",\"parent\":\"gone\"}},\"samples\":[{\"tid\":1,\"ts\":1,\"sf\":"
        "1},"
        "{\"tid\":1,\"ts\":1,\"sf\":3},{\"tid\":1,\"ts\":1,\"sf\":4},{\"tid\":1,\"ts\":1,\"sf\":5},"
        "{\"tid\":1,\"ts\":1,\"sf\":6}]," EVENTS "}");
    REQUIRE(trace->sample.count == 5);
    check_stack(trace, trace->sample.stack[0], "a < b < c");
    check_stack(trace, trace->sample.stack[1], "c");
    check_stack(trace, trace->sample.stack[2], "self");
    check_stack(trace, trace->sample.stack[3], "orphan");
    CHECK_INT(trace->sample.stack[4], 0);
    CHECK(warns(trace, "stack frames whose parent is missing or cyclic: 3"));
    CHECK(warns(trace, "samples of an unknown stack frame: 1"));
    trace_close(trace);
}

TEST(samples_before_their_frames_are_skipped_with_a_warning) {
    IMPORT("{\"samples\":[{\"tid\":1,\"ts\":1,\"sf\":1}],\"stackFrames\":{\"1\":{\"name\":\"a\"}}"
           "," EVENTS "}");
    CHECK_INT(trace->sample.count, 0);
    CHECK(warns(trace, "samples that precede stackFrames"));
    trace_close(trace);
}

TEST(a_sample_without_a_possible_time_is_refused_or_dropped) {
    static const char json[] = "{\"stackFrames\":{},\"samples\":[{\"tid\":1,\"ts\":-1},{\"tid\":1},"
                               "{\"tid\":1,\"ts\":5}]," EVENTS "}";
    struct status status;
    CHECK(!import(json, false, &status));
    CHECK(strstr(status.message, "sample at byte 29") && strstr(status.message, "--skip-invalid"));
    struct trace *trace = import(json, true, &status);
    REQUIRE(trace);
    CHECK_INT(trace->sample.count, 1);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 2);
    trace_close(trace);
}

TEST(damaged_lists_of_samples_are_refused_with_their_place) {
    static const char *const damaged[] = {
        "{\"stackFrames\":{\"1\":7}}",
        "{\"stackFrames\":{\"1\":{\"name\":\"a\"}",
        "{\"stackFrames\":{\"1\":{\"name\":\"a\"} \"2\":{}}}",
        "{\"stackFrames\":{},\"samples\":[1]}",
        "{\"stackFrames\":{},\"samples\":[{\"ts\":1}",
        "{\"stackFrames\":{},\"samples\":[{\"ts\":1}}",
        "{\"stackFrames\":{},\"samples\":[{\"ts\":1",
    };
    for (size_t i = 0; i < ARRAY_COUNT(damaged); i++) {
        struct status status;
        struct trace *trace = import(damaged[i], false, &status);
        if (trace || !strstr(status.message, "at byte"))
            test_failed(__FILE__, __LINE__, "%s: %s", damaged[i], status.message);
        trace_close(trace);
    }
}
