/* Instruments exports: the shared fixtures to the nanosecond, and the pitfalls of the format. */
#include "../test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "import/import.h"
#include "import/xctrace/xctrace.h"
#include "import/xctrace/xctrace_files.h"
#include "rows.h"

#ifdef RIDGE_HAVE_EXPAT

#define XML "<?xml version=\"1.0\"?>\n"
#define COLUMN(name) "<col><mnemonic>" name "</mnemonic><name>x</name></col>"
#define GPU_SCHEMA                                                                                 \
    "<schema name=\"metal-gpu-intervals\">" COLUMN("start") COLUMN("duration")                     \
        COLUMN("channel-name") COLUMN("event-depth") COLUMN("event-label") COLUMN("state")         \
            COLUMN("process") COLUMN("gpu") COLUMN("encoder-id") "</schema>"
#define GPU_TABLE(rows)                                                                            \
    XML "<trace-query-result><node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>" GPU_SCHEMA     \
        rows "</node></trace-query-result>"
#define REST                                                                                       \
    "<c id=\"100\">Compute</c><d id=\"101\">0</d><formatted-label id=\"102\" fmt=\"gemm ( x )\">"  \
    "<string id=\"103\">gemm </string></formatted-label><s id=\"104\">Active</s>"                  \
    "<process id=\"105\" fmt=\"app (7)\"><pid id=\"106\">7</pid></process><g id=\"107\">M1</g>"    \
    "<e>9</e>"
#define AGAIN                                                                                      \
    "<c ref=\"100\"/><d ref=\"101\"/><formatted-label ref=\"102\"/><s ref=\"104\"/>"               \
    "<process ref=\"105\"/><g ref=\"107\"/><e>10</e>"
#define ROW(start, duration, rest) "<row><t>" start "</t><u>" duration "</u>" rest "</row>\n"
#define TOC(process)                                                                               \
    XML "<trace-toc><run number=\"1\"><info><target><device name=\"mac\" model=\"Mac\"/>" process  \
        "</target><summary><start-date>2026-03-30T18:55:31.999-07:00</start-date>"                 \
        "<instruments-version>26.0</instruments-version></summary></info><processes>"              \
        "<process name=\"other\" pid=\"5\"/></processes><data>"                                    \
        "<table schema=\"metal-gpu-intervals\"/></data></run></trace-toc>"
#define APP "<process name=\"app\" pid=\"7\" arguments=\"-n 1\"/>"

static const char *make_folder(void) {
    const char *folder = test_temporary("");
    mkdir(folder, 0700);
    return folder;
}

static void remove_folder(const char *folder) {
    DIR *directory = opendir(folder);
    char path[1024];
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory)
        closedir(directory);
    rmdir(folder);
}

static const char *put_file(const char *folder, const char *name, const char *content) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(content, file);
        fclose(file);
    }
    return path;
}

static struct trace *open_trace(const char *path, bool skip_invalid, struct status *status) {
    struct trace *trace = NULL;
    *status = (struct status){0};
    if (!import_open(path, &(struct import_options){.skip_invalid = skip_invalid}, &trace, status))
        return NULL;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        trace_load(trace, (enum trace_table)table, NULL, status);
    if (strstr(path, "ridge-test-")) /* not a shared fixture */
        rows_check(trace);
    return trace;
}

/* One table alone in a folder of its own. */
static struct trace *open_table(const char *content, bool skip_invalid, struct status *status) {
    const char *folder = make_folder();
    struct trace *trace = open_trace(put_file(folder, "t.xml", content), skip_invalid, status);
    remove_folder(folder);
    return trace;
}

static void check_refused(const char *content, const char *why) {
    struct status status;
    struct trace *trace = open_table(content, false, &status);
    CHECK(!trace);
    if (!strstr(status.message, why))
        test_failed(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", status.message, why);
    trace_close(trace);
}

static struct text name_of(const struct trace *trace, size_t activity) {
    return trace_text(trace, trace->activity.name[activity]);
}

static bool meta_is(const struct trace *trace, const char *key, const char *value) {
    return text_is(trace_meta(trace, key), value);
}

static void check_baseline_kernels(const struct trace *trace) {
    int64_t sum = 0, shortest = INT64_MAX, longest = 0, first = INT64_MAX, last = 0;
    REQUIRE(trace->activity.count == 1000);
    for (size_t i = 0; i < trace->activity.count; i++) {
        int64_t start = trace->activity.start[i], duration = trace->activity.duration[i];
        sum += duration;
        shortest = duration < shortest ? duration : shortest;
        longest = duration > longest ? duration : longest;
        first = start < first ? start : first;
        last = start + duration > last ? start + duration : last;
        CHECK(trace->activity.kind[i] == ACTIVITY_KERNEL && trace->activity.correlation[i] != 0);
        CHECK(text_is(name_of(trace, i), "Command Buffer 0:Compute Command 0"));
    }
    CHECK_INT(sum, 8228820);
    CHECK_INT(shortest, 6125);
    CHECK_INT(longest, 813334);
    CHECK_INT(last - first, 215793625);
    CHECK_INT(trace->device.count, 2);
    CHECK(text_is(trace_text(trace, trace->device.label[1]), "M1"));
    CHECK(text_is(trace_text(trace, trace->queue.name[trace->activity.queue[0]]), "Compute"));
    CHECK_INT(trace->process.pid[1], 17804);
}

TEST(one_metal_table_gives_the_target_process_kernels_to_the_nanosecond) {
    const char *path =
        test_fixture("xctrace/m1-compute-baseline/xctrace_gpu_baseline_metal-gpu-intervals.xml");
    struct status status;
    if (!path)
        return;
    struct trace *trace = open_trace(path, false, &status);
    REQUIRE(trace);
    check_baseline_kernels(trace);
    CHECK_INT(trace->call.count, 0);
    CHECK(meta_is(trace, "source.events", "1289"));
    CHECK(meta_is(trace, "xctrace.foreign_gpu_rows", "288"));
    CHECK(meta_is(trace, META_SOURCE_TOOL, "Instruments 26.0 (17A5295f)"));
    trace_close(trace);
}

TEST(a_folder_of_tables_joins_kernels_to_the_encoders_that_launched_them) {
    const char *path = test_fixture("xctrace/m1-compute-baseline");
    struct status status;
    struct map encoders = {0};
    size_t matched = 0;
    if (!path)
        return;
    struct trace *trace = open_trace(path, false, &status);
    REQUIRE(trace);
    check_baseline_kernels(trace);
    CHECK_INT(trace->call.count, 999 + 998); /* and the waits between them */
    for (size_t i = 0; i < trace->call.count; i++)
        if (trace->call.class[i] == CALL_LAUNCH)
            map_set(&encoders, trace->call.correlation[i], (uint64_t)trace->call.start[i], &status);
    CHECK_INT(encoders.count, 999);
    for (size_t i = 0; i < trace->activity.count; i++) {
        const uint64_t *start = map_find(&encoders, trace->activity.correlation[i]);
        matched += start != NULL;
        CHECK(!start || (int64_t)*start < trace->activity.start[i]);
    }
    CHECK_INT(matched, 999);
    CHECK_INT(trace->range.count, 2006);
    CHECK_INT(trace->range.category[0], RANGE_DRIVER);
    CHECK_INT(trace->mark.count, 1000);
    CHECK_INT(trace->counter.count, 2491);
    CHECK_INT(trace->sample.count, 86);
    CHECK_INT(trace->thread.count, 4); /* 3, and row 0 */
    CHECK(meta_is(trace, META_CLOCK_BASE, "unix"));
    CHECK_INT(trace->activity.start[0], 1774922131999000000 + 867016000);
    map_finish(&encoders);
    trace_close(trace);
}

TEST(time_profile_samples_have_symbols_from_leaf_to_root) {
    const char *path = test_fixture("xctrace/m1-cpu-time-profile");
    struct status status;
    if (!path)
        return;
    struct trace *trace = open_trace(path, false, &status);
    REQUIRE(trace);
    REQUIRE(trace->sample.count == 68); /* of time-profile: time-sample is not read as well */
    CHECK_INT(trace->sample.weight[1], 1000000);
    uint32_t leaf = trace->sample.stack[1];
    CHECK(
        text_starts(trace_text(trace, trace->stack.function[leaf]), "dyld3::MachOFile::trieWalk"));
    CHECK(text_is(trace_text(trace, trace->stack.module[leaf]), "dyld"));
    uint32_t caller = trace->stack.parent[leaf];
    CHECK(text_starts(trace_text(trace, trace->stack.function[caller]),
                      "dyld4::Loader::hasExportedSymbol"));
    CHECK(text_is(trace_text(trace, trace->thread.name[trace->sample.thread[1]]), "Main Thread"));
    trace_close(trace);
}

TEST(raw_samples_are_read_where_there_is_no_time_profile) {
    const char *path =
        test_fixture("xctrace/m1-cpu-time-profile/xctrace_cpu_time_profiler_time-sample.xml");
    struct status status;
    if (!path)
        return;
    struct trace *trace = open_trace(path, false, &status);
    REQUIRE(trace);
    REQUIRE(trace->sample.count == 68); /* 70 rows less two stack shots */
    uint32_t leaf = trace->sample.stack[0];
    CHECK(text_is(trace_text(trace, trace->stack.function[leaf]), "0x10255e3d4"));
    CHECK(text_is(trace_text(trace, trace->stack.function[trace->stack.parent[leaf]]),
                  "0x1025930a8"));
    trace_close(trace);
}

/* The table of contents says how far apart samples are; without it they are 1 ms apart. */
TEST(a_raw_sample_weighs_what_the_table_of_contents_says) {
    static const char contents[] =
        XML "<trace-toc><run number=\"1\"><info><target>" APP "</target></info><data><table "
            "schema=\"time-sample\" sample-rate-micro-seconds=\"250\"/></data></run></trace-toc>";
    static const char samples[] =
        XML "<trace-query-result><node><schema name=\"time-sample\">" COLUMN("time")
            COLUMN("thread") COLUMN("cp-kernel-callstack") COLUMN("cp-user-callstack")
                COLUMN("sample-type") "</schema><row><t>105</t><thread fmt=\"Main\"><tid>71</tid>"
                                      "<process><pid>7</pid></process></thread><k/><u>"
                                      "<text-address>4096</text-address>"
                                      "<text-addresses>4096 8192 0</text-addresses></u><s>0</s>"
                                      "</row></node></trace-query-result>";
    const char *folder = make_folder();
    struct status status;
    put_file(folder, "contents", contents);
    put_file(folder, "samples.xml", samples);
    struct trace *trace = open_trace(folder, false, &status);
    remove_folder(folder);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->sample.count == 1);
    CHECK_INT(trace->sample.time[0], 105);
    CHECK_INT(trace->sample.weight[0], 250000);
    uint32_t leaf = trace->sample.stack[0];
    CHECK(text_is(trace_text(trace, trace->stack.function[leaf]), "0x1000"));
    CHECK(text_is(trace_text(trace, trace->stack.function[trace->stack.parent[leaf]]), "0x2000"));
    trace_close(trace);
}

TEST(without_a_table_of_contents_the_busiest_process_is_taken_with_a_warning) {
    struct status status;
    struct trace *trace =
        open_table(GPU_TABLE(ROW("10", "5", REST) ROW("20", "6", AGAIN)), false, &status);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK_INT(trace->process.pid[1], 7);
    CHECK_INT(trace->activity.start[1], 20);
    CHECK_INT(trace->activity.duration[1], 6);
    CHECK_INT(trace->activity.correlation[1], 10);
    CHECK(text_is(name_of(trace, 1), "gemm"));
    CHECK(text_starts(trace_meta(trace, META_WARNING), "no table of contents"));
    CHECK(meta_is(trace, META_CLOCK_BASE, "trace"));
    trace_close(trace);
}

TEST(the_table_of_contents_beside_a_table_names_the_target) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "contents", TOC("<process name=\"x\" pid=\"8\"/>"));
    struct trace *trace =
        open_trace(put_file(folder, "t.xml", GPU_TABLE(ROW("10", "5", REST))), false, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 0);
    CHECK(meta_is(trace, "xctrace.foreign_gpu_rows", "1"));
    CHECK(meta_is(trace, META_HOST, "mac"));
    trace_close(trace);
    put_file(folder, "more.xml", TOC(APP));
    trace = open_trace(put_file(folder, "t.xml", GPU_TABLE(ROW("10", "5", REST))), false, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 1); /* of two, the one whose target is in the table */
    CHECK(meta_is(trace, META_COMMAND, "app -n 1"));
    trace_close(trace);
    remove_folder(folder);
}

/* As a shell reports it. */
TEST(the_target_of_a_recording_has_its_exit_status) {
    static const struct {
        const char *attributes, *status;
    } cases[] = {
        {"return-exit-status=\"3\" termination-reason=\"exit(3)\"", "3"},
        {"return-exit-status=\"0\" termination-reason=\"exit(0)\"", "0"},
        {"return-exit-status=\"255\"", "255"},
        {"return-exit-status=\"256\"", ""},
        {"return-exit-status=\"-1\"", ""},
        {"return-exit-status=\"0\" termination-reason=\"signal(9)\"", "137"},
        {"termination-reason=\"Terminated due to Signal (11) SIGSEGV\"", "139"},
        {"termination-reason=\"signal(127)\"", "255"},
        {"termination-reason=\"signal(128)\"", ""},
        {"termination-reason=\"signal(0)\"", ""},
        {"termination-reason=\"signal(\"", ""},
        {"return-exit-status=\"4\" termination-reason=\"signal\"", "4"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status status;
        char contents[2048];
        const char *folder = make_folder();
        snprintf(contents, sizeof contents, TOC("<process name=\"app\" pid=\"7\" %s/>"),
                 cases[i].attributes);
        put_file(folder, "contents", contents);
        struct trace *trace =
            open_trace(put_file(folder, "t.xml", GPU_TABLE(ROW("10", "5", REST))), false, &status);
        REQUIRE(trace);
        CHECK(meta_is(trace, "target.status", cases[i].status));
        trace_close(trace);
        remove_folder(folder);
    }
}

TEST(cyclic_and_forward_references_are_null_and_counted) {
    struct status status;
    struct trace *trace =
        open_table(GPU_TABLE(ROW("10", "5", REST)
                                 ROW("20", "6",
                                     "<c id=\"1\"><b ref=\"1\"/></c><d ref=\"101\"/>"
                                     "<l id=\"3\" ref=\"3\"/><s ref=\"104\"/><process ref=\"105\"/>"
                                     "<g ref=\"99999999999999999999\"/><e ref=\"77\"/>")),
                   false, &status);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK_INT(trace->activity.correlation[1], 0);
    CHECK(meta_is(trace, "xctrace.unresolved_references", "4"));
    trace_close(trace);
}

TEST(references_reach_into_composite_values_of_the_same_row) {
    struct status status;
    struct trace *trace = open_table(
        XML "<trace-query-result><node><schema name=\"metal-application-encoders-list\">" COLUMN(
            "start") COLUMN("duration") COLUMN("thread") COLUMN("process")
            COLUMN("encoder-id") "</schema>"
                                 "<row><a>5</a><b>6</b><thread id=\"1\" fmt=\"Main 0x1 (app, pid: "
                                 "7)\">"
                                 "<tid>17</tid><process id=\"2\"><pid>7</pid></process></thread>"
                                 "<process ref=\"2\"/><e>3</e></row></node><node>"
                                 "<row><a>7</a><b>8</b><thread ref=\"1\"/><process "
                                 "ref=\"2\"/><e>4</e></row>"
                                 "</node></trace-query-result>",
        false, &status);
    REQUIRE(trace && trace->call.count == 2); /* the second node inherits the schema */
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.correlation[1], 4);
    CHECK_INT(trace->thread.tid[trace->call.thread[1]], 17);
    CHECK(text_is(trace_text(trace, trace->thread.name[1]), "Main"));
    trace_close(trace);
}

TEST(impossible_times_are_refused_or_dropped_and_counted) {
    struct status status;
    check_refused(GPU_TABLE(ROW("-5", "5", REST)), "--skip-invalid drops such events");
    check_refused(GPU_TABLE(ROW("5", "-1", REST)), "row 1 of metal-gpu-intervals");
    check_refused(GPU_TABLE(ROW("5", "18446744073709551615", REST)), "duration");
    check_refused(GPU_TABLE(ROW("2305843009213693951", "1", REST)), "duration");
    struct trace *trace = open_table(
        GPU_TABLE(ROW("5", "99999999999999999999", REST) ROW("20", "6", AGAIN)), true, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 1);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 1);
    trace_close(trace);
}

TEST(rows_without_a_time_are_skipped_and_counted) {
    struct status status;
    struct trace *trace = open_table(
        GPU_TABLE("<row><sentinel/><u>1</u>" REST "</row>" ROW("1", "2", AGAIN)), false, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 1);
    CHECK(meta_is(trace, "xctrace.rows_without_time", "1"));
    trace_close(trace);
}

TEST(damaged_and_hostile_documents_are_refused_in_one_sentence) {
    check_refused(XML "<trace-query-result><node>", "cut off at byte");
    check_refused(XML "<!DOCTYPE a [<!ENTITY b \"c\">]><trace-query-result/>",
                  "document type declaration");
    char *deep = malloc(70 * 3 + 2000);
    REQUIRE(deep);
    strcpy(deep, XML "<trace-query-result><node>" GPU_SCHEMA "<row>");
    for (int i = 0; i < 70; i++)
        strcat(deep, "<a>");
    check_refused(deep, "nested more than 64 deep");
    free(deep);
    enum { LONG = 6 << 20 };
    char *wide = calloc(1, LONG + 2000);
    REQUIRE(wide);
    strcpy(wide, XML "<trace-query-result><node>" GPU_SCHEMA "<row><a fmt=\"");
    memset(wide + strlen(wide), 'x', LONG);
    check_refused(wide, "more than 4 MiB");
    free(wide);
    check_refused(TOC(APP), "pass the folder");
}

TEST(a_value_of_many_mebibytes_is_refused) {
    enum { LONG = 9 << 20 };
    char *content = calloc(1, LONG + 2000);
    REQUIRE(content);
    strcpy(content, XML "<trace-query-result><node>" GPU_SCHEMA "<row><a>");
    memset(content + strlen(content), 'x', LONG);
    check_refused(content, "a value of more than 4 MiB");
    free(content);
}

TEST(a_damaged_table_of_contents_is_refused) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "toc.xml", XML "<trace-toc><run number=\"1\"></ran></trace-toc>");
    put_file(folder, "gpu.xml", GPU_TABLE(ROW("100", "50", REST)));
    struct trace *trace = open_trace(folder, false, &status);
    remove_folder(folder);
    CHECK(!trace);
    CHECK(strstr(status.message, "the table of contents is damaged or cut off at byte"));
    trace_close(trace);
}

TEST(a_git_lfs_pointer_in_place_of_a_table_is_named) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "toc.xml", TOC(APP));
    put_file(folder, "gpu.xml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    CHECK(!open_trace(folder, false, &status));
    CHECK(strstr(status.message, "gpu.xml is a Git LFS pointer"));
    remove_folder(folder);
}

TEST(an_empty_file_in_place_of_a_table_is_named) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "toc.xml", TOC(APP));
    put_file(folder, "gpu.xml", "");
    put_file(folder, "notes.txt", "");
    CHECK(!open_trace(folder, false, &status));
    CHECK(strstr(status.message, "gpu.xml is empty; export that table again"));
    remove_folder(folder);
}

TEST(a_folder_with_two_recordings_is_refused) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "a.xml", TOC(APP));
    put_file(folder, "b.xml", TOC(APP));
    CHECK(!open_trace(folder, false, &status));
    CHECK(strstr(status.message, "2 tables of contents (a.xml, b.xml)"));
    remove_folder(folder);
}

#define TABLE_OF_RUN(run, rows)                                                                    \
    XML "<trace-query-result><node xpath='//trace-toc[1]/run[" run                                 \
        "]/data[1]/table[1]'>" GPU_SCHEMA rows "</node></trace-query-result>"

/* Command buffers of one thread: every one is committed 5 ns after its encoding starts, complete
 * `latency` later (which varies), and followed by the next encoding `pause` after the completion,
 * or `period` after the commit where that is not 0. The number of waits that are inferred. */
static size_t waits_inferred(int count, int pause, int period) {
    struct buffer encoders = {0}, completions = {0};
    struct status status = {0};
    const char *folder = make_folder();
    buffer_string(
        &encoders,
        XML "<trace-query-result><node><schema name=\"metal-application-encoders-list\">" COLUMN(
            "start") COLUMN("duration") COLUMN("thread") COLUMN("process") COLUMN("cmdbuffer-id")
            COLUMN("encoder-id") "</schema>");
    buffer_string(
        &completions,
        XML "<trace-query-result><node><schema name=\"metal-command-buffer-completed\">" COLUMN(
            "timestamp") COLUMN("cmdbuffer-id") "</schema>");
    for (int i = 0, time = 100; i < count; i++) {
        int latency = 100 + i * 37 % 50, completed = time + 5 + latency;
        buffer_printf(
            &encoders,
            "<row><a>%d</a><b>5</b><thread fmt=\"Main\"><tid>17</tid><process><pid>7</pid>"
            "</process></thread><process><pid>7</pid></process><c>%d</c><e>%d</e></row>",
            time, 1000 + i, 5000 + i);
        buffer_printf(&completions, "<row><a>%d</a><c>%d</c></row>", completed, 1000 + i);
        time = period ? time + period + i % 3 : completed + pause + i % 3;
    }
    buffer_string(&encoders, "</node></trace-query-result>");
    buffer_byte(&encoders, 0);
    buffer_string(&completions, "</node></trace-query-result>");
    buffer_byte(&completions, 0);
    put_file(folder, "toc.xml", TOC(APP));
    put_file(folder, "a.xml", encoders.data);
    put_file(folder, "b.xml", completions.data);
    struct trace *trace = open_trace(folder, false, &status);
    size_t waits = 0;
    remove_folder(folder);
    buffer_finish(&encoders);
    buffer_finish(&completions);
    if (!trace) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return 0;
    }
    for (size_t i = 0; i < trace->call.count; i++) {
        if (trace->call.class[i] != CALL_SYNC)
            continue;
        if (waits++ == 0) /* from the commit to the completion */
            CHECK_INT(trace->call.duration[i], 100);
    }
    CHECK(!waits || text_find(trace_meta(trace, META_WARNING), "waitUntilCompleted") >= 0);
    trace_close(trace);
    return waits;
}

TEST(a_wait_is_inferred_where_encoding_follows_the_completion_and_not_its_own_pace) {
    CHECK_INT(waits_inferred(40, 20, 0), 39);
    CHECK_INT(waits_inferred(40, 0, 200), 0); /* slower than the GPU */
    CHECK_INT(waits_inferred(40, 0, 60), 0);  /* ahead of the GPU */
    CHECK_INT(waits_inferred(10, 20, 0), 0);  /* too few to tell */
}

/* The table of the second run comes first in the folder. */
TEST(only_the_first_of_several_runs_is_imported) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "contents",
             XML "<trace-toc><run number=\"1\"><info><target>" APP "</target></info></run>"
                 "<run number=\"2\"/></trace-toc>");
    put_file(folder, "a.xml", TABLE_OF_RUN("2", ROW("20", "6", REST)));
    put_file(folder, "b.xml", TABLE_OF_RUN("1", ROW("10", "5", REST)));
    struct trace *trace = open_trace(folder, false, &status);
    remove_folder(folder);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_INT(trace->activity.start[0], 10);
    CHECK(meta_is(trace, "xctrace.tables_of_other_runs", "1"));
    CHECK(text_starts(trace_meta(trace, META_WARNING), "the trace contains several runs"));
    trace_close(trace);
}

/* A file may be another one by the time that it is imported. */
TEST(a_file_that_is_no_table_any_more_is_refused) {
    struct status status = {0};
    const struct import_options options = {0};
    const char *folder = make_folder();
    struct import_source source = {.path = put_file(folder, "t.xml", "<other/>")};
    FILE *file = fopen("/dev/null", "w");
    REQUIRE(file);
    struct trace_writer *writer = trace_writer_create(
        fileno(file), &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    CHECK(!import_xctrace.run(&source, &options, writer, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    trace_writer_destroy(writer);
    fclose(file);
    remove_folder(folder);
}

TEST(the_schema_of_a_table_is_named_when_its_beginning_holds_the_name) {
    static const char head[] = "<trace-query-result><schema name=\"gpu\">";
    size_t name = strlen("<trace-query-result><schema name=");
    for (size_t length = name - 1; length < sizeof head; length++) {
        struct text schema = TEXT("none");
        CHECK_INT(xctrace_file_kind((struct text){head, length}, &schema), XCTRACE_TABLE);
        CHECK(text_is(schema, length < name + strlen("\"gpu\"") ? "" : "gpu"));
    }
}

/* Memory is taken for the ids that follow each other, not for the gaps between others. */
TEST(ids_of_any_size_are_defined_and_referred_to) {
    struct status status;
    struct trace *trace = open_table(
        GPU_TABLE(ROW("10", "5",
                      "<c id=\"1000000000000000\">Compute</c><d id=\"1\">0</d>"
                      "<formatted-label id=\"18446744073709551615\" fmt=\"gemm\"/>"
                      "<s id=\"4097\">Active</s><process id=\"4101\"><pid>7</pid></process>"
                      "<g id=\"5\">M1</g><e id=\"4294967296\">9</e>")
                      ROW("20", "6",
                          "<c ref=\"1000000000000000\"/><d ref=\"1\"/>"
                          "<formatted-label ref=\"18446744073709551615\"/><s ref=\"4097\"/>"
                          "<process ref=\"4101\"/><g ref=\"5\"/><e ref=\"4294967296\"/>")),
        false, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK(text_is(name_of(trace, 1), "gemm"));
    CHECK_INT(trace->activity.correlation[1], 9);
    CHECK(meta_is(trace, "xctrace.unresolved_references", ""));
    trace_close(trace);
}

#define SIGNPOST(time, type, name)                                                                 \
    "<row><a>" time "</a><thread><tid>3</tid><process><pid>7</pid></process></thread><process>"    \
    "<pid>7</pid></process><t>" type "</t><i>1</i><n>" name "</n><s>sub</s></row>"

TEST(signposts_pair_innermost_first_and_lone_ones_are_counted) {
    struct status status;
    struct trace *trace = open_table(
        XML "<trace-query-result><node><schema name=\"os-signpost\">" COLUMN("time")
            COLUMN("thread") COLUMN("process") COLUMN("event-type") COLUMN("identifier")
                COLUMN("name") COLUMN("subsystem") "</schema>" SIGNPOST("1", "Begin", "step")
                    SIGNPOST("2", "Begin", "step") SIGNPOST("3", "Begin", "load")
                        SIGNPOST("4", "End", "step") SIGNPOST("5", "Event", "tick")
                            SIGNPOST("9", "End", "step")
                                SIGNPOST("10", "End", "never") "</node></trace-query-result>",
        false, &status);
    REQUIRE(trace && trace->range.count == 2);
    CHECK_INT(trace->range.start[0], 2);
    CHECK_INT(trace->range.duration[0], 2);
    CHECK_INT(trace->range.start[1], 1);
    CHECK_INT(trace->range.duration[1], 8);
    CHECK_INT(trace->range.category[0], RANGE_ANNOTATION);
    CHECK_INT(trace->mark.count, 1);
    CHECK(meta_is(trace, "xctrace.unpaired_signposts", "2"));
    trace_close(trace);
}

/* Compared row by row with rows.txt: names end in another order than they began. */
TEST(signposts_of_several_names_pair_by_name) {
    struct status status;
    struct trace *trace = open_table(
        XML "<trace-query-result><node><schema name=\"os-signpost\">" COLUMN("time")
            COLUMN("thread") COLUMN("process") COLUMN("event-type") COLUMN("identifier")
                COLUMN("name") COLUMN("subsystem") "</schema>" SIGNPOST("1", "Begin", "a")
                    SIGNPOST("2", "Begin", "b") SIGNPOST("3", "End", "a")
                        SIGNPOST("4", "Begin", "c") SIGNPOST("5", "Begin", "a")
                            SIGNPOST("6", "End", "b") SIGNPOST("7", "End", "a")
                                SIGNPOST("8", "Begin", "b") SIGNPOST("9", "End", "b")
                                    SIGNPOST("12", "End", "c") "</node></trace-query-result>",
        false, &status);
    REQUIRE(trace && trace->range.count == 5);
    CHECK_INT(trace->range.start[4], 4);
    CHECK_INT(trace->range.duration[4], 8);
    trace_close(trace);
}

TEST(a_blit_is_a_copy_of_unknown_size) {
    struct status status;
    struct trace *trace = open_table(
        GPU_TABLE("<row><t>1</t><u>2</u><c>Compute</c><d>0</d><l><string>CB:Blit Command 0</string>"
                  "</l><s>Active</s><process><pid>7</pid></process><g>M2</g><e>1</e></row>"),
        false, &status);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_INT(trace->activity.kind[0], ACTIVITY_COPY);
    CHECK(trace->activity.bytes[0] == BYTES_UNKNOWN);
    trace_close(trace);
}

/* Compared row by row with rows.txt. */
TEST(counters_states_and_profiles_of_instruments_are_kept) {
    const char *folder = make_folder();
    struct status status;
    put_file(folder, "contents", TOC(APP));
    put_file(folder, "gpu.xml", GPU_TABLE(ROW("100", "50", REST) ROW("200", "60", AGAIN)));
    put_file(folder, "info.xml",
             XML "<trace-query-result><node><schema name=\"gpu-counter-info\">" COLUMN("counter-id")
                 COLUMN("name") "</schema>"
                                "<row><i>3</i><s>ALU busy</s></row><row><i>x</i><s>none</s></row>"
                                "</node></trace-query-result>");
    put_file(folder, "values.xml",
             XML "<trace-query-result><node><schema name=\"gpu-counter-value\">" COLUMN("timestamp")
                 COLUMN("counter-id") COLUMN(
                     "value") "</schema>"
                              "<row><t>110</t><i>3</i><v>12.5</v></row><row><t>120</t><i>4</"
                              "i><v>7</v></row>"
                              "<row><t>130</t><i>3</i><v>no</v></row></node></trace-query-result>");
    put_file(folder, "states.xml",
             XML
             "<trace-query-result><node><schema name=\"metal-gpu-state-intervals\">" COLUMN("start")
                 COLUMN("state") COLUMN("num-events")
                     COLUMN("gpu") "</schema>"
                                   "<row><t>100</t><s>Active</s><n>3</n><g>M2</g></row>"
                                   "<row><t>150</t><s>Idle</s><n>2</n><g>M2</g></row>"
                                   "<row><t>160</t><s>Active</s><n>many</n><g>M2</g></row>"
                                   "</node></trace-query-result>");
    put_file(
        folder, "profile.xml",
        XML "<trace-query-result><node><schema name=\"time-profile\">" COLUMN("time")
            COLUMN("thread") COLUMN("process") COLUMN("weight") COLUMN(
                "stack") "</schema>"
                         "<row><t>105</t><thread fmt=\"Main\"><tid>71</tid></thread>"
                         "<process><pid>7</pid></process><w>1000</w><tagged-backtrace><backtrace>"
                         "<frame name=\"leaf\"><binary name=\"app\"/></frame>"
                         "<frame name=\"main\"><binary name=\"app\"/></frame>"
                         "</backtrace></tagged-backtrace></row>"
                         "<row><t>106</t><thread fmt=\"Main\"><tid>71</tid></thread>"
                         "<process><pid>7</pid></process><w>1000</w><backtrace>"
                         "<frame name=\"main\"><binary name=\"app\"/></frame></backtrace></row>"
                         "<row><t>107</t><thread fmt=\"x\"><tid>72</tid></thread>"
                         "<process><pid>8</pid></process><w>1000</w><backtrace>"
                         "<frame name=\"other\"/></backtrace></row></node></trace-query-result>");
    struct trace *trace = open_trace(folder, false, &status);
    remove_folder(folder);
    CHECK_OK(trace, status);
    REQUIRE(trace);
    CHECK_INT(trace->counter.count, 5);
    CHECK_INT(trace->sample.count, 2);
    trace_close(trace);
}

#define TABLE(name, columns, rows)                                                                 \
    XML "<trace-query-result><node><schema name=\"" name "\">" columns "</schema>" rows            \
        "</node></trace-query-result>"
#define THREAD_OF(tid, pid)                                                                        \
    "<thread fmt=\"t\"><tid>" tid "</tid><process><pid>" pid "</pid></process></thread>"
#define PROCESS_OF(pid) "<process><pid>" pid "</pid></process>"

/* Rows of another process are left out of each. */
TEST(submissions_intervals_and_signposts_of_the_target_are_kept) {
    const char *folder = make_folder();
    struct status status;
    put_file(folder, "contents", TOC(APP));
    put_file(folder, "gpu.xml", GPU_TABLE(ROW("100", "50", REST) ROW("200", "60", AGAIN)));
    put_file(folder, "submissions.xml",
             TABLE("metal-application-command-buffer-submissions",
                   COLUMN("start") COLUMN("duration") COLUMN("thread") COLUMN("process")
                       COLUMN("cmdbuffer-id"),
                   "<row><t>10</t><u>4</u>" THREAD_OF("71", "7")
                       PROCESS_OF("7") "<e>31</e></row>"
                                       "<row><t>20</t><u>4</u>" THREAD_OF("81", "8")
                                           PROCESS_OF("8") "<e>32</e></row>"));
    put_file(folder, "completions.xml",
             TABLE("metal-command-buffer-completed", COLUMN("timestamp") COLUMN("cmdbuffer-id"),
                   "<row><t>300</t><e>31</e></row><row><t>310</t><e>32</e></row>"));
    put_file(folder, "driver.xml",
             TABLE("metal-driver-intervals",
                   COLUMN("start") COLUMN("duration") COLUMN("thread") COLUMN("process")
                       COLUMN("event-type") COLUMN("event-label") COLUMN("label") COLUMN("name"),
                   "<row><t>11</t><u>2</u>" THREAD_OF("71", "7") PROCESS_OF(
                       "7") "<s>Driver</s><s></s><s>Processing</s><s>last</s></row>"
                            "<row><t>12</t><u>3</u>" THREAD_OF("71", "7") PROCESS_OF(
                                "7") "<s>Wire</s><s></s><s></s><s></s></row>"
                                     "<row><t>13</t><u>3</u>" THREAD_OF("81", "8")
                                         PROCESS_OF("8") "<s>Wire</s><s></s><s></s><s></s></row>"));
    put_file(folder, "signposts.xml",
             TABLE("OSSignpostIntervals",
                   COLUMN("start") COLUMN("duration") COLUMN("thread") COLUMN("start-thread")
                       COLUMN("process") COLUMN("start-process") COLUMN("name") COLUMN("subsystem"),
                   "<row><t>14</t><u>9</u>" THREAD_OF("71", "7") "<sentinel/>" PROCESS_OF(
                       "7") "<sentinel/><s>step</s><s>com.app</s></row>"
                            "<row><t>15</t><u>8</u><sentinel/>" THREAD_OF(
                                "72",
                                "7") "<sentinel/>" PROCESS_OF("7") "<s>load</s><s>com.app</s></row>"
                                                                   "<row><t>16</t><u>8</"
                                                                   "u>" THREAD_OF(
                                                                       "81", "8") "<sentinel/"
                                                                                  ">" PROCESS_OF(
                                                                                      "8") "<s"
                                                                                           "en"
                                                                                           "ti"
                                                                                           "ne"
                                                                                           "l/"
                                                                                           "><"
                                                                                           "s>"
                                                                                           "ot"
                                                                                           "he"
                                                                                           "r<"
                                                                                           "/s"
                                                                                           "><"
                                                                                           "s>"
                                                                                           "co"
                                                                                           "m."
                                                                                           "ap"
                                                                                           "p<"
                                                                                           "/s"
                                                                                           "><"
                                                                                           "/r"
                                                                                           "ow"
                                                                                           ">"));
    put_file(folder, "counters.xml",
             TABLE("metal-gpu-counter-intervals",
                   COLUMN("start") COLUMN("name") COLUMN("counter-name") COLUMN("label")
                       COLUMN("value") COLUMN("percent-value"),
                   "<row><t>17</t><s>ALU</s><s>x</s><s>y</s><v>3.5</v><p>9</p></row>"
                   "<row><t>18</t><s></s><s></s><s>Occupancy</s><sentinel/><p>40</p></row>"
                   "<row><t>19</t><s>none</s><s></s><s></s><v>no</v><p>no</p></row>"));
    struct trace *trace = open_trace(folder, false, &status);
    remove_folder(folder);
    CHECK_OK(trace, status);
    REQUIRE(trace);
    CHECK_INT(trace->range.count, 4);
    CHECK_INT(trace->mark.count, 1);
    CHECK_INT(trace->call.count, 1);
    REQUIRE(trace->counter.count == 2 && trace->call.count == 1);
    CHECK_INT(trace->call.correlation[0], 31);
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->counter.value[0] * 10, 35);
    CHECK_INT(trace->counter.value[1], 40);
    CHECK(text_is(trace_text(trace, trace->counter.name[1]), "Occupancy"));
    static const char *const names[] = {"Processing", "Wire", "step", "load"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        size_t found = 0;
        for (size_t row = 0; row < trace->range.count; row++)
            found += text_is(trace_text(trace, trace->range.name[row]), names[i]);
        CHECK_INT(found, 1);
    }
    trace_close(trace);
}

TEST(the_start_of_a_recording_is_read_in_every_month_and_zone) {
    static const struct {
        const char *date, *offset;
    } cases[] = {
        {"2024-02-29T12:00:00.000+00:00", "1709208000000000000"},
        {"2023-12-31T23:59:59.500-01:30", "1704072599500000000"},
        {"2000-03-01T00:00:00.000+00:00", "951868800000000000"},
        {"2025-01-15T06:07:08.009+05:45", "1736900528009000000"},
        {"1999-02-28T23:00:00.250-12:00", "920286000250000000"},
        {"2024-02-29T12:00:00.000+24:00", ""},
        {"2024-02-29T12:00:00.000+00:60", ""},
        {"2024-02-29T12:00:00.000+0x:00", ""},
        {"2024-02-29T12:00:00.000 00:00", ""},
        {"2024-02-29T12:00:00.00+070000", ""},
        {"2024-02-29T12:00:00.0000+0700", "1709182800000000000"},
        {"2024-13-29T12:00:00.000+00:00", ""},
        {"2024-00-29T12:00:00.000+00:00", ""},
        {"2024-02-32T12:00:00.000+00:00", ""},
        {"2024-02-29T24:00:00.000+00:00", ""},
        {"2024-02-29T12:60:00.000+00:00", ""},
        {"2024-02-29T12:00:61.000+00:00", ""},
        {"1970-02-28T12:00:00.000+00:00", ""},
    };
    static const char usual[] = "2026-03-30T18:55:31.999-07:00";
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char contents[] = TOC(APP);
        const char *folder = make_folder();
        struct status status;
        memcpy(strstr(contents, usual), cases[i].date, sizeof usual - 1);
        put_file(folder, "contents", contents);
        put_file(folder, "gpu.xml", GPU_TABLE(ROW("100", "50", REST)));
        struct trace *trace = open_trace(folder, false, &status);
        remove_folder(folder);
        REQUIRE(trace);
        if (!meta_is(trace, META_CLOCK_OFFSET, cases[i].offset))
            test_failed(__FILE__, __LINE__, "%s is %.*s", cases[i].date,
                        TEXT_ARGS(trace_meta(trace, META_CLOCK_OFFSET)));
        trace_close(trace);
    }
}

/* A stand-in for Apple's program: the first export is the table of contents, others the table. */
static void put_xctrace(const char *folder) {
    const char *script = "#!/bin/sh\nfor last; do :; done\n"
                         "if [ \"$4\" = --toc ]; then cp \"${0%/*}/toc\" \"$last\";\n"
                         "else cp \"${0%/*}/table\" \"$last\"; fi\n";
    chmod(put_file(folder, "xctrace", script), 0700);
}

TEST(a_trace_bundle_is_exported_by_xctrace_or_says_how_to_export_it) {
    struct status status;
    const char *folder = make_folder(), *bundle = make_folder();
    char path[2048], *old = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
    put_file(bundle, "form.template", "");
    setenv("PATH", folder, 1);
    CHECK(!open_trace(bundle, false, &status));
    CHECK(strstr(status.message, "xctrace export --input"));
    put_xctrace(folder);
    snprintf(path, sizeof path, "%s:/bin:/usr/bin", folder);
    setenv("PATH", path, 1);
    CHECK(!open_trace(bundle, false, &status));
    CHECK(strstr(status.message, "xctrace export ended with status 1"));
    put_file(folder, "toc", TOC(APP));
    put_file(folder, "table", GPU_TABLE(ROW("10", "5", REST)));
    struct trace *trace = open_trace(bundle, false, &status);
    CHECK(trace && trace->activity.count == 1);
    trace_close(trace);
    if (old)
        setenv("PATH", old, 1);
    free(old);
    remove_folder(folder);
    remove_folder(bundle);
}

TEST(running_out_of_memory_anywhere_is_a_failure_and_not_a_crash) {
    struct status status;
    const char *folder = make_folder();
    put_file(folder, "toc.xml", TOC(APP));
    put_file(folder, "gpu.xml", GPU_TABLE(ROW("10", "5", REST) ROW("20", "6", AGAIN)));
    struct trace *trace = NULL;
    for (uint64_t nth = 1; !trace && nth < 5000; nth++) {
        memory_fail_from(nth);
        status = (struct status){0};
        bool good = import_open(folder, &(struct import_options){0}, &trace, &status);
        memory_fail_from(0);
        CHECK(good == (trace != NULL));
        CHECK(good || status.code != STATUS_OK);
        if (!good)
            trace = NULL;
    }
    CHECK(trace != NULL);
    trace_close(trace);
    remove_folder(folder);
}

#endif
