/* A trace that goes out through an export and comes back through the importer is the same trace. */
#include "../test.h"

#include "compare.h"

static void round_trip(struct trace *before, const char *format, const char *ending,
                       const char *except) {
    if (!before)
        return;
    struct trace *after = compare_round_trip(before, format, ending);
    if (after)
        compare_traces(before, after, except);
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

TEST(a_perfetto_trace_gives_every_column_back) {
    for (unsigned recordings = 1; recordings <= 3; recordings++) {
        struct trace *trace = compare_generate(recordings, 300);
        round_trip(trace, "perfetto", ".pftrace", recordings > 1 ? "stack.*" : "");
        trace_close(trace);
    }
}

/* Kineto has no place for these. Entities that no event uses are not in it either. */
static const char kineto_lacks[] =
    "process.* thread.* device.* queue.* stack.* sample.* "
    "activity.queue activity.correlation activity.shared_static activity.shared_dynamic "
    "activity.flops activity.bytes activity.detail activity.from_memory activity.to_memory "
    "activity.direction activity.grid_x activity.grid_y activity.grid_z activity.block_x "
    "activity.block_y activity.block_z activity.registers activity.graph "
    "call.thread call.class call.correlation call.result call.detail "
    "range.thread range.queue range.category range.domain range.detail mark.thread mark.domain "
    "mark.detail wait.* memory.* counter.device";

TEST(a_chrome_trace_gives_times_and_names_back_whatever_they_are) {
    struct trace *trace = compare_generate(2, 300);
    round_trip(trace, "chrome", ".json", kineto_lacks);
    trace_close(trace);
}

static void fixture_round_trips(const char *name, const char *chrome_except) {
    const char *path = test_fixture(name);
    struct status status = {0};
    struct trace *trace = NULL;
    if (!path)
        return;
    CHECK_OK(import_open(path, &(struct import_options){0}, &trace, &status), status);
    if (!trace)
        return;
    round_trip(trace, "sqlite", ".sqlite", "");
    round_trip(trace, "perfetto", ".pftrace", "");
    round_trip(trace, "chrome", ".json", chrome_except);
    trace_close(trace);
}

/* From Kineto to Kineto everything that an event tells survives; rows of threads and processes come
 * in the order of events. */
#define KINETO_TO_KINETO "process.* thread.* device.* queue.*"

TEST(a_torch_trace_of_an_h100_survives_every_format) {
    fixture_round_trips("kineto/h100+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", KINETO_TO_KINETO);
}

TEST(a_torch_trace_of_an_mi300_survives_every_format) {
    fixture_round_trips("kineto/mi300+Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", KINETO_TO_KINETO);
}

TEST(a_torch_trace_of_2021_survives_every_format) {
    fixture_round_trips("kineto/resnet50_num_workers_0+worker0.1623143089861.pt.trace.json.gz",
                        KINETO_TO_KINETO);
}

TEST(waits_of_several_streams_survive_every_format) {
    fixture_round_trips(
        "kineto/critical_path+cuda_event_sync_multi_stream+event_sync_trace.json.gz",
        KINETO_TO_KINETO);
}

TEST(a_collective_trace_survives_every_format) {
    fixture_round_trips("kineto/nccl_parser_config+nccl_data.json.gz", KINETO_TO_KINETO);
}

/* Kineto cannot tell which process a queue belongs to, nor static from dynamic shared memory. */
#define NSYS_TO_KINETO                                                                             \
    KINETO_TO_KINETO                                                                               \
    " stack.* sample.* activity.queue activity.correlation "                                       \
    "activity.shared_static activity.shared_dynamic activity.detail activity.to_memory "           \
    "call.correlation call.result call.detail range.domain range.detail "                          \
    "wait.correlation wait.queue wait.awaited wait.record_correlation"

TEST(a_trace_of_nsight_systems_with_two_devices_survives_every_format) {
    fixture_round_trips("nsys/h100_2gpu_1s.sqlite", NSYS_TO_KINETO);
}

TEST(a_trace_of_nsight_systems_with_mpi_ranks_survives_every_format) {
    fixture_round_trips("nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite", NSYS_TO_KINETO);
}

TEST(an_instruments_trace_survives_the_exact_formats) {
    const char *path = test_fixture("xctrace/m1-compute-baseline");
    struct status status = {0};
    struct trace *trace = NULL;
    if (!path)
        return;
    CHECK_OK(import_open(path, &(struct import_options){0}, &trace, &status), status);
    round_trip(trace, "sqlite", ".sqlite", "");
    round_trip(trace, "perfetto", ".pftrace", "");
    trace_close(trace);
}
