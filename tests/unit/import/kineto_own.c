/* Chrome traces that say themselves that ridge exported them. */
#include "imported.h"

#include <fcntl.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/kineto/kineto.h"

static struct trace *import(const char *json, struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(&import_kineto, text_of(json), false, status);
    for (unsigned table = TABLE_ACTIVITY; trace && table < TABLE_COUNT; table++)
        if (!trace_load(trace, (enum trace_table)table, NULL, status))
            test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

#define IMPORT(json)                                                                               \
    struct status status;                                                                          \
    struct trace *trace = import(json, &status);                                                   \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

static bool is(const struct trace *trace, uint32_t string, const char *want) {
    return text_is(trace_text(trace, string), want);
}

TEST(notes_of_an_export_stand_instead_of_what_its_form_suggests) {
    IMPORT("{\"ridge\":{\"layout\":1,\"meta\":[{\"key\":\"source.format\",\"value\":\"nsys\"},"
           "{\"key\":\"clock.offset_ns\",\"value\":\"5\"},{\"key\":\"drops\",\"value\":\"3\"},"
           "{\"key\":\"clock.base\",\"value\":\"trace\"}]},\"schemaVersion\":1,"
           "\"host_name\":\"elsewhere\",\"baseTimeNanoseconds\":-7,\"traceEvents\":["
           "{\"ph\":\"i\",\"name\":\"m\",\"pid\":-1,\"tid\":0,\"ts\":1}]}");
    CHECK(text_is(trace_meta(trace, META_SOURCE_FORMAT), "nsys"));
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "trace"));
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 3);
    CHECK_INT(trace_meta(trace, META_HOST).length, 0);
    CHECK_INT(trace_meta(trace, "kineto.schemaVersion").length, 0);
    CHECK_INT(trace_meta(trace, "source.events").length, 0);
    REQUIRE(trace->mark.count == 1);
    CHECK_INT(trace->mark.time[0], 993);
    CHECK_INT(trace->mark.thread[0], 0);
    trace_close(trace);
}

TEST(entities_of_an_export_are_those_that_it_lists) {
    IMPORT("{\"ridge\":{\"process\":[{\"pid\":5,\"name\":\"p\",\"host\":\"h\"}],"
           "\"device\":[{\"at_pid\":0,\"index\":4,\"label\":\"M1\",\"clock_hz\":9,\"uuid\":\"u\"}],"
           "\"thread\":[{\"at_pid\":5,\"at_tid\":6,\"process\":1,\"tid\":6},"
           "{\"at_pid\":99,\"at_tid\":6,\"process\":7,\"tid\":6}],"
           "\"queue\":[{\"at_pid\":0,\"at_tid\":1000000,\"device\":1,\"process\":1,\"stream\":7,"
           "\"context\":2,\"name\":\"q\"}]},\"traceEvents\":["
           "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":6,\"args\":{\"name\":\"no\"}},"
           "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":1000000,\"ts\":1,"
           "\"dur\":1,\"args\":{\"x\":[1, 2],\"ridge detail\":true,\"device\":0,"
           "\"stream\":1000000}},"
           "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"r\",\"pid\":99,\"tid\":6,\"ts\":1,"
           "\"dur\":1,\"args\":{\"stream\":3,\"ridge detail\":true}},"
           "{\"ph\":\"C\",\"name\":\"watts\",\"pid\":0,\"ts\":1,\"args\":{\"value\":1.5}}]}");
    CHECK_INT(trace->process.count, 2);
    CHECK_INT(trace->device.count, 2);
    CHECK_INT(trace->thread.count, 3);
    REQUIRE(trace->queue.count == 2);
    CHECK(is(trace, trace->process.host[1], "h"));
    CHECK(is(trace, trace->device.label[1], "M1") && is(trace, trace->device.uuid[1], "u"));
    CHECK_INT(trace->device.index[1], 4);
    CHECK_INT(trace->device.clock_hz[1], 9);
    CHECK_INT(trace->queue.stream[1], 7);
    CHECK_INT(trace->queue.process[1], 1);
    CHECK_INT(trace->thread.name[1], 0);
    CHECK_INT(trace->thread.process[2], 0);
    CHECK_INT(trace->activity.queue[0], 1);
    CHECK(is(trace, trace->activity.detail[0], "{\"x\":[1,2]}"));
    CHECK_INT(trace->range.thread[0], 2);
    CHECK_INT(trace->range.queue[0], 0);
    CHECK(is(trace, trace->range.detail[0], "{\"stream\":3}"));
    CHECK_INT(trace->counter.device[0], 1);
    trace_close(trace);
}

TEST(an_export_that_was_rearranged_loads_as_any_chrome_trace_and_says_so) {
    IMPORT(
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}],"
        "\"ridge\":{\"meta\":[{\"key\":\"source.format\",\"value\":\"nsys\"}]}}");
    CHECK_INT(trace->range.count, 1);
    CHECK(text_is(trace_meta(trace, META_SOURCE_FORMAT), "chrome"));
    CHECK(text_find(trace_meta(trace, META_WARNING), "rearranged") >= 0);
    trace_close(trace);
}

TEST(an_export_of_a_newer_ridge_is_refused) {
    struct status status;
    CHECK(!import("{\"ridge\":{\"layout\":2},\"traceEvents\":[]}", &status));
    CHECK(strstr(status.message, "update ridge"));
}

TEST(running_out_of_memory_in_an_export_is_reported_wherever_it_happens) {
    static const char json[] =
        "{\"ridge\":{\"meta\":[{\"key\":\"k\",\"value\":\"a\\nb\"}],\"process\":[{\"pid\":5}],"
        "\"device\":[{\"at_pid\":0,\"label\":\"M1\"}],\"thread\":[{\"at_pid\":5,\"at_tid\":6,"
        "\"process\":1,\"tid\":6}],\"queue\":[{\"at_pid\":0,\"at_tid\":7,\"device\":1}]},"
        "\"stackFrames\":{\"1\":{\"name\":\"a\",\"parent\":2},\"2\":{\"name\":\"b\"}},"
        "\"samples\":[{\"pid\":5,\"tid\":6,\"ts\":1,\"sf\":1}],\"traceEvents\":[{\"ph\":\"X\","
        "\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{"
        "\"x\":[1, 2],\"ridge detail\":true,\"device\":0,\"stream\":7}}]}";
    struct import_options options = {0};
    int fd = open("/dev/null", O_WRONLY);
    uint64_t nth = 1;
    for (; nth < 300; nth++) {
        struct status status = {0};
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
        REQUIRE(writer);
        struct input input;
        memory_fail_from(nth);
        bool ok = input_open_bytes(&input, json, strlen(json), &status) &&
                  kineto_import(&input, &options, writer, &status) &&
                  trace_writer_finish(writer, &status);
        memory_fail_from(0);
        trace_writer_destroy(writer);
        if (ok)
            break;
        if (status.code != STATUS_MEMORY)
            test_failed(__FILE__, __LINE__, "allocation %llu: %s", (unsigned long long)nth,
                        status.message);
    }
    CHECK(nth > 15 && nth < 300);
    close(fd);
}
