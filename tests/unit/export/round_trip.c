/* A trace that goes out through an export and comes back through the importer is the same trace. */
#include "../test.h"

#include <fcntl.h>
#include <unistd.h>

#include "compare.h"
#include "trace/writer.h"

static bool has_note(const struct trace *trace, struct text key, struct text value) {
    for (size_t row = 0; row < trace->meta.count; row++)
        if (text_equal(trace_text(trace, trace->meta.key[row]), key) &&
            text_equal(trace_text(trace, trace->meta.value[row]), value))
            return true;
    return false;
}

/* All but where the trace was and what its times were counted from. */
static void compare_notes(const struct trace *before, const struct trace *after) {
    static const char *const changed[] = {META_SOURCE_FILE, "original.source.file",
                                          META_CLOCK_OFFSET};
    size_t counts[2] = {0};
    const struct trace *traces[2] = {before, after};
    for (unsigned side = 0; side < 2; side++)
        for (size_t row = 0; row < traces[side]->meta.count; row++) {
            struct text key = trace_text(traces[side], traces[side]->meta.key[row]);
            struct text value = trace_text(traces[side], traces[side]->meta.value[row]);
            if (text_is(key, changed[0]) || text_is(key, changed[1]) || text_is(key, changed[2]))
                continue;
            counts[side]++;
            if (!has_note(traces[!side], key, value))
                test_failed(__FILE__, __LINE__, "only one trace has the note %.*s %.*s",
                            TEXT_ARGS(key), TEXT_ARGS(value));
        }
    CHECK_INT(counts[1], counts[0]);
}

static void round_trip(struct trace *before, const char *format, const char *ending,
                       const char *except) {
    if (!before)
        return;
    struct trace *after = compare_round_trip(before, format, ending);
    if (after) {
        compare_notes(before, after);
        compare_traces(before, after, except);
    }
    trace_close(after);
}

/* Recordings come back one after another; in the trace itself they are so already. */
TEST(a_database_gives_every_column_back) {
    for (unsigned recordings = 1; recordings <= 3; recordings++) {
        struct trace *trace = compare_generate(recordings, 300);
        round_trip(trace, "sqlite", ".sqlite", recordings > 1 ? "stack.*" : "");
        trace_close(trace);
    }
}

TEST(a_trace_of_notes_alone_keeps_them_in_a_database) {
    struct status status = {0};
    struct trace *trace = NULL;
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("nsys"));
    trace_writer_meta(writer, "k", TEXT("v"));
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    REQUIRE(trace_open(path, &trace, &status));
    round_trip(trace, "sqlite", ".sqlite", "");
    trace_close(trace);
}

TEST(a_perfetto_trace_gives_every_column_back) {
    for (unsigned recordings = 1; recordings <= 3; recordings++) {
        struct trace *trace = compare_generate(recordings, 300);
        round_trip(trace, "perfetto", ".pftrace", recordings > 1 ? "stack.*" : "");
        trace_close(trace);
    }
}

TEST(a_chrome_trace_gives_every_column_back) {
    struct trace *trace = compare_generate(1, 300);
    round_trip(trace, "chrome", ".json", "");
    trace_close(trace);
}

/* Recordings share one numbering in a Chrome trace, which changes what tells entities apart. */
static const char renumbered[] =
    "process.pid thread.process device.index device.label queue.device queue.process stack.* "
    "activity.queue activity.correlation call.thread call.correlation range.thread range.queue "
    "mark.thread wait.queue wait.awaited wait.correlation wait.record_correlation memory.thread "
    "memory.device sample.thread counter.device state.thread";

TEST(a_chrome_trace_gives_all_else_back_of_several_recordings) {
    for (unsigned recordings = 2; recordings <= 3; recordings++) {
        struct trace *trace = compare_generate(recordings, 300);
        round_trip(trace, "chrome", ".json", renumbered);
        trace_close(trace);
    }
}

static void fixture_round_trips(const char *name) {
    const char *path = test_fixture(name);
    struct status status = {0};
    struct trace *trace = NULL;
    if (!path)
        return;
    if (!import_open(path, &(struct import_options){0}, &trace, &status)) {
        if (status.code == STATUS_UNSUPPORTED)
            test_skip("this build lacks a library that the format needs");
        else
            test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    round_trip(trace, "sqlite", ".sqlite", "");
    round_trip(trace, "perfetto", ".pftrace", "");
    round_trip(trace, "chrome", ".json", "");
    trace_close(trace);
}

TEST(a_torch_trace_of_an_h100_survives_every_format) {
    fixture_round_trips("kineto/h100+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
}

TEST(a_torch_trace_of_an_mi300_survives_every_format) {
    fixture_round_trips("kineto/mi300+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
}

TEST(a_torch_trace_of_2021_survives_every_format) {
    fixture_round_trips("kineto/resnet50_num_workers_0+worker0.1623143089861.pt.trace.json.gz");
}

TEST(waits_of_several_streams_survive_every_format) {
    fixture_round_trips(
        "kineto/critical_path+cuda_event_sync_multi_stream+event_sync_trace.json.gz");
}

TEST(a_collective_trace_survives_every_format) {
    fixture_round_trips("kineto/nccl_parser_config+nccl_data.json.gz");
}

TEST(a_trace_of_nsight_systems_with_two_devices_survives_every_format) {
    fixture_round_trips("nsys/h100_2gpu_1s.sqlite");
}

TEST(a_trace_of_nsight_systems_with_mpi_ranks_survives_every_format) {
    fixture_round_trips("nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite");
}

TEST(an_instruments_trace_survives_every_format) {
    fixture_round_trips("xctrace/m1-compute-baseline");
}

TEST(samples_of_instruments_survive_every_format) {
    fixture_round_trips("xctrace/m1-cpu-time-profile");
}

TEST(a_trace_of_xla_survives_every_format) {
    fixture_round_trips("xplane/jax_conv_minimal_legacy.xplane.pb");
}

TEST(a_trace_of_rocm_survives_every_format) {
    fixture_round_trips("rocprof/matmul_result.rpd");
}
