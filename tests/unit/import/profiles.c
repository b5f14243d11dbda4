/* Sampling profiles of the CPU: perf script, folded stacks, speedscope. */
#include "imported.h"

#include "base/text.h"

static struct trace *import(const struct importer *importer, const char *text,
                            struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(importer, text_of(text), false, status);
    if (trace && !trace_load(trace, TABLE_SAMPLE, NULL, status))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

#define IMPORT(importer, text)                                                                     \
    struct status status;                                                                          \
    struct trace *trace = import(&importer, text, &status);                                        \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

/* "leaf (module) < caller" */
static void check_stack(const struct trace *trace, uint32_t stack, const char *expected) {
    struct buffer frames = {0};
    for (; stack; stack = trace->stack.parent[stack]) {
        struct text module = trace_text(trace, trace->stack.module[stack]);
        struct text file = trace_text(trace, trace->stack.file[stack]);
        buffer_string(&frames, frames.length ? " < " : "");
        buffer_text(&frames, trace_text(trace, trace->stack.function[stack]));
        if (module.length)
            buffer_printf(&frames, " (%.*s)", TEXT_ARGS(module));
        if (file.length)
            buffer_printf(&frames, " %.*s:%u", TEXT_ARGS(file), trace->stack.line[stack]);
    }
    if (!text_is(buffer_as_text(&frames), expected))
        test_failed(__FILE__, __LINE__, "the stack is %.*s, not %s", (int)frames.length,
                    frames.data, expected);
    buffer_finish(&frames);
}

static bool warns(const struct trace *trace, const char *words) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), META_WARNING) &&
            text_find(trace_text(trace, trace->meta.value[i]), words) >= 0)
            return true;
    return false;
}

/* Whether exactly this importer is certain, or thinks it likely. */
static void check_detected(const struct importer *importer, const char *text, int expected) {
    struct import_source source = {
        .path = "file", .head = (const unsigned char *)text, .head_length = strlen(text)};
    CHECK_INT(importer->detect(&source), expected);
}

/* ---- perf script ---------------------------------------------------------------------------- */

#define PERF_CLOCK                                                                                 \
    "# cmdline : perf record\n"                                                                    \
    "V8 Worker 12  4711/4712 [003] 10.000001: 1001001 cpu-clock:ppp: \n"                           \
    "\t   63c operator()(int, float)+0x1c (/opt/app (1).so)\n"                                     \
    "\t   695 main+0x0 (/opt/app)\n"                                                               \
    "\n"                                                                                           \
    "swapper     0 [000] 10.000002: 1001001 cpu-clock:ppp: \n"                                     \
    "\tffffffff8dac439b default_idle ([kernel.kallsyms])\n"                                        \
    "\n"                                                                                           \
    "app  4711 10.5:  1001001 cpu-clock:ppp: \n"                                                   \
    "\t 6ce258d4c544155 [unknown] ([unknown])"

TEST(perf_script_headers_are_read_from_the_time_backwards) {
    check_detected(&import_perf_script, PERF_CLOCK, 3);
    IMPORT(import_perf_script, PERF_CLOCK);
    REQUIRE(trace->sample.count == 2);
    check_stack(trace, trace->sample.stack[0],
                "operator()(int, float) (/opt/app (1).so) < main "
                "(/opt/app)");
    check_stack(trace, trace->sample.stack[1], "[unknown]");
    CHECK_INT(trace->sample.time[0], 10000001000);
    CHECK_INT(trace->sample.time[1], 10500000000);
    CHECK_INT(trace->sample.weight[0], 1001001);
    uint32_t thread = trace->sample.thread[0];
    CHECK_INT(trace->thread.tid[thread], 4712);
    CHECK_INT(trace->process.pid[trace->thread.process[thread]], 4711);
    CHECK(text_is(trace_text(trace, trace->thread.name[thread]), "V8 Worker 12"));
    CHECK(warns(trace, "samples of idle CPUs are left out: 1"));
    trace_close(trace);
}

/* 100 ns apart, so the sample of the median period, 2000 cycles, stands for 100 ns. */
TEST(perf_script_periods_of_cycles_become_time_by_the_distance_of_samples) {
    IMPORT(import_perf_script, "a 1 1.000000100: 1000 cycles:u: \n\t 1 f (m)\n\n"
                               "a 1 1.000000200: 2000 cycles:u: \n\t 1 f (m)\n\n"
                               "a 1 1.000000150: 7 cache-misses: \n\t 1 f (m)\n\n"
                               "a 1 1.000000300: 4000 cycles:u: \n\t 1 g (inlined)\n\n");
    REQUIRE(trace->sample.count == 3);
    CHECK_INT(trace->sample.weight[0], 50);
    CHECK_INT(trace->sample.weight[1], 100);
    CHECK_INT(trace->sample.weight[2], 200);
    check_stack(trace, trace->sample.stack[2], "g");
    CHECK(warns(trace, "samples of events other than cycles:u are not read: 1"));
    CHECK(warns(trace, "samples count cycles:u, not time"));
    trace_close(trace);
}

TEST(prose_with_times_is_no_perf_script) {
    check_detected(&import_perf_script, "at 10 we met 3 12.5: it was late\n  and dark (very)\n", 0);
    check_detected(&import_perf_script, "", 0);
}

/* ---- folded stacks -------------------------------------------------------------------------- */

TEST(folded_stacks_keep_places_and_shares) {
    const char *text = "main;run all;step (train.py:42) 30\nmain;idle 10\n\n";
    check_detected(&import_folded, text, 2);
    IMPORT(import_folded, text);
    REQUIRE(trace->sample.count == 2);
    check_stack(trace, trace->sample.stack[0], "step ([python]) train.py:42 < run all < main");
    CHECK_INT(trace->sample.weight[0], 30000000);
    CHECK_INT(trace->sample.weight[1], 10000000);
    CHECK_INT(trace->sample.time[1], 30000000);
    CHECK(warns(trace, "only shares are meaningful"));
    trace_close(trace);
}

TEST(text_that_is_not_folded_is_not_taken_for_it) {
    check_detected(&import_folded, "chapter 1\nchapter 2\n", 0); /* no stack of two frames */
    check_detected(&import_folded, "a;b\n", 0);
    check_detected(&import_folded, "a,b,c\n1;2;3 x\n", 0);
    struct status status = {0};
    CHECK(!import(&import_folded, "a;b 1\nbroken\n", &status));
    CHECK(strstr(status.message, "line 2 is not a folded stack"));
}

/* ---- speedscope ----------------------------------------------------------------------------- */

#define SPEEDSCOPE(profile)                                                                        \
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[" profile   \
    "],\"exporter\":\"tool@1\",\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"a.py\","      \
    "\"line\":7},{\"name\":\"f\\\"\",\"col\":null}]}}"

TEST(speedscope_samples_follow_each_other) {
    const char *text =
        SPEEDSCOPE("{\"type\":\"sampled\",\"name\":\"T1\",\"samples\":[[0,1],[],[0]],"
                   "\"weights\":[0.01,0.5,0.02],\"unit\":\"seconds\"}");
    check_detected(&import_speedscope, text, 3);
    IMPORT(import_speedscope, text);
    REQUIRE(trace->sample.count == 2);
    check_stack(trace, trace->sample.stack[0], "f\" < main a.py:7");
    CHECK_INT(trace->sample.time[1], 510000000);
    CHECK_INT(trace->sample.weight[1], 20000000);
    CHECK(text_is(trace_meta(trace, META_SAMPLES_CLOCK), "wall"));
    CHECK(text_is(trace_text(trace, trace->thread.name[trace->sample.thread[0]]), "T1"));
    trace_close(trace);
}

TEST(speedscope_events_become_the_stacks_between_them) {
    IMPORT(import_speedscope,
           SPEEDSCOPE("{\"type\":\"evented\",\"unit\":\"microseconds\",\"events\":["
                      "{\"type\":\"O\",\"at\":0,\"frame\":0},{\"type\":\"O\",\"at\":3,\"frame\":1},"
                      "{\"type\":\"C\",\"at\":10,\"frame\":1},{\"type\":\"C\",\"at\":12,"
                      "\"frame\":0},{\"type\":\"C\",\"at\":13,\"frame\":0}]}"));
    REQUIRE(trace->sample.count == 3);
    check_stack(trace, trace->sample.stack[0], "main a.py:7");
    check_stack(trace, trace->sample.stack[1], "f\" < main a.py:7");
    CHECK_INT(trace->sample.weight[0], 3000);
    CHECK_INT(trace->sample.weight[1], 7000);
    CHECK_INT(trace->sample.weight[2], 2000);
    trace_close(trace);
}

TEST(speedscope_profiles_of_bytes_are_allocations) {
    const char *text =
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
        "\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"f\"}]},\"profiles\":["
        "{\"unit\":\"bytes\",\"samples\":[[0,1],[0]],\"weights\":[500,20]},"
        "{\"unit\":\"none\",\"samples\":[[0,1],[0]],\"weights\":[5,2]}],"
        "\"exporter\":\"memray@1.20.0\"}";
    IMPORT(import_speedscope, text)
    CHECK_OK(trace_load(trace, TABLE_ALLOCATION, NULL, &status), status);
    CHECK_INT(trace->sample.count, 0); /* their number is not CPU time */
    REQUIRE(trace->allocation.count == 2);
    CHECK_INT(trace->allocation.bytes[0], 500);
    CHECK_INT(trace->allocation.bytes[1], 20);
    check_stack(trace, trace->allocation.stack[0], "f < main");
    trace_close(trace);
}

TEST(speedscope_refuses_what_it_cannot_show) {
    struct status status = {0};
    CHECK(!import(&import_speedscope,
                  SPEEDSCOPE("{\"unit\":\"bytes\",\"samples\":[[0]],\"weights\":[0]}"), &status));
    CHECK(strstr(status.message, "without samples"));
    CHECK(!import(&import_speedscope,
                  SPEEDSCOPE("{\"unit\":\"none\",\"samples\":[[9]],\"weights\":[5]}"), &status));
    CHECK(strstr(status.message, "refers to frame 9 of 2"));
    CHECK(!import(&import_speedscope, "{\"profiles\":[[]]}", &status));
}
