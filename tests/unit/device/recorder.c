/* The recorder: the trace matches the work given to the device. */
#include "../test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/pool.h"
#include "device/recorder.h"
#include "device/work.h"
#include "trace/launch.h"
#include "trace/reader.h"
#include "trace/writer.h"

static void do_nothing(const struct native_call *call) {
    (void)call;
}

static struct device *open_cpu(void) {
    struct status status = {0};
    struct device *device = NULL;
    CHECK_OK(device_cpu.open(0, &device, &status), status);
    return device;
}

static const struct kernel_code code = {
    .kind = CODE_NATIVE, .name = "fused_test", .function = do_nothing};

static bool is_text(const struct trace *trace, uint32_t string, const char *expected) {
    return text_is(trace_text(trace, string), expected);
}

/* A load, two launches, three copies, a wait, a block and the calls for it, two ranges. */
static bool do_work(struct device *device, struct recorder *recorder, struct status *status) {
    struct pool *pool = pool_create(device, status);
    if (!pool)
        return false;
    pool_set_recorder(pool, recorder);
    struct pool_block block = {0};
    struct device_kernel *kernel = NULL;
    char bytes[1000] = {0};
    recorder_range_begin(recorder, "outer");
    bool ok = pool_allocate(pool, 1000, 0, &block, status);
    if (ok) {
        struct device_memory memory = block.memory;
        struct launch launch = {.grid = {3, 2, 1},
                                .block = {1, 1, 1},
                                .shared_bytes = 64,
                                .flops = 12345,
                                .bytes = 678,
                                .detail = "{\"shapes\":[[4,5]]}"};
        ok = work_copy_in(device, recorder, 0, memory, 0, bytes, 1000, status) &&
             work_load(device, recorder, &code, &kernel, status);
        launch.kernel = kernel;
        recorder_range_begin(recorder, "inner");
        ok = ok && work_launch(device, recorder, 0, &launch, status);
        recorder_range_end(recorder);
        launch.detail = NULL;
        ok = ok && work_graph_replay(device, recorder, 1, NULL, &launch, 1, status) &&
             work_copy_within(device, recorder, 1, memory, 0, memory, 500, 500, status) &&
             work_copy_out(device, recorder, 0, bytes, memory, 0, 999, status) &&
             work_wait(device, recorder, status);
        pool_release(pool, block, 0);
    }
    pool_destroy(pool);
    return ok;
}

static void check_activities(struct trace *trace) {
    static const struct {
        const char *name;
        int kind, direction;
        uint64_t bytes, flops;
        int64_t stream;
    } expected[] = {
        {"copy to the device", ACTIVITY_COPY, COPY_HTOD, 1000, 0, 0},
        {"fused_test", ACTIVITY_KERNEL, COPY_UNKNOWN, 678, 12345, 0},
        {"fused_test", ACTIVITY_KERNEL, COPY_UNKNOWN, 678, 12345, 1},
        {"copy within the device", ACTIVITY_COPY, COPY_DTOD, 500, 0, 1},
        {"copy to the host", ACTIVITY_COPY, COPY_DTOH, 999, 0, 0},
    };
    const struct columns_activity *rows = &trace->activity;
    CHECK_INT(rows->count, 5);
    for (size_t i = 0; i < rows->count && i < 5; i++) {
        CHECK(is_text(trace, rows->name[i], expected[i].name));
        CHECK_INT(rows->kind[i], expected[i].kind);
        CHECK_INT(rows->direction[i], expected[i].direction);
        CHECK_INT(rows->bytes[i], expected[i].bytes);
        CHECK_INT(rows->flops[i], expected[i].flops);
        CHECK_INT(trace->queue.stream[rows->queue[i]], expected[i].stream);
        CHECK(rows->start[i] > 0 && rows->duration[i] >= 0);
    }
    CHECK_INT(rows->grid_x[1], 3);
    CHECK_INT(rows->grid_y[1], 2);
    CHECK_INT(rows->shared_dynamic[1], 64);
    CHECK(is_text(trace, rows->detail[1], "{\"shapes\":[[4,5]]}"));
    CHECK_INT(rows->detail[2], 0);
    CHECK_INT(rows->from_memory[0], MEMORY_PAGEABLE);
}

/* Each activity lies within the call that has its correlation, as the CPU works at once. */
static void check_calls(struct trace *trace) {
    static const struct {
        const char *name;
        int class;
    } expected[] = {
        {"ridge_allocate", CALL_ALLOC}, {"ridge_copy_in", CALL_COPY},
        {"ridge_load", CALL_COMPILE},   {"ridge_launch", CALL_LAUNCH},
        {"ridge_launch", CALL_LAUNCH},  {"ridge_copy_within", CALL_COPY},
        {"ridge_copy_out", CALL_COPY},  {"ridge_synchronize", CALL_SYNC},
        {"ridge_release", CALL_ALLOC},
    };
    const struct columns_call *calls = &trace->call;
    CHECK_INT(calls->count, 9);
    for (size_t i = 0; i < calls->count && i < 9; i++) {
        CHECK(is_text(trace, calls->name[i], expected[i].name));
        CHECK_INT(calls->class[i], expected[i].class);
        CHECK_INT(calls->result[i], 0);
        CHECK(calls->thread[i] == 1);
    }
    CHECK(is_text(trace, calls->detail[2], "{\"kernel\":\"fused_test\"}"));
    struct status status = {0};
    uint32_t *launch = launch_find(trace, &status);
    REQUIRE(launch);
    for (size_t i = 0; i < trace->activity.count; i++) {
        REQUIRE(launch[i] != NO_ROW);
        int64_t start = trace->activity.start[i], end = start + trace->activity.duration[i];
        CHECK(calls->start[launch[i]] <= start);
        CHECK(calls->start[launch[i]] + calls->duration[launch[i]] >= end);
    }
    memory_free(launch);
}

static void check_entities(const struct trace *trace, const struct device *device) {
    CHECK_INT(trace->device.count, 2);
    CHECK(is_text(trace, trace->device.label[1], "cpu:0"));
    CHECK(is_text(trace, trace->device.name[1], device->capabilities.description));
    CHECK_INT(trace->device.memory_bytes[1], device->capabilities.memory_bytes);
    CHECK_INT(trace->device.multiprocessors[1], device->capabilities.compute_units);
    CHECK_INT(trace->queue.count, 3);
    CHECK_INT(trace->process.count, 2);
    CHECK_INT(trace->process.pid[1], getpid());
    CHECK_INT(trace->thread.count, 2);
    CHECK(trace->thread.tid[1] != 0);
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "unix"));
    CHECK(text_starts(trace_meta(trace, META_SOURCE_TOOL), "ridge "));
    CHECK(trace_meta(trace, META_COMMAND).length > 0);
    CHECK(text_is(trace_meta(trace, META_CLOCK_ERROR), "0"));
    CHECK_INT(trace->writers_unfinished, 0);
}

/* The only annotation of that name. Ranges of the recorder's own overhead may lie around it. */
static size_t find_range(const struct trace *trace, const char *name) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] == RANGE_ANNOTATION &&
            is_text(trace, trace->range.name[i], name)) {
            CHECK(found == SIZE_MAX);
            found = i;
        }
    return found;
}

/* The outer one was left open: it ends with the recording. */
static void check_ranges(const struct trace *trace) {
    size_t inner = find_range(trace, "inner"), outer = find_range(trace, "outer");
    REQUIRE(inner != SIZE_MAX && outer != SIZE_MAX);
    const int64_t *start = trace->range.start, *duration = trace->range.duration;
    CHECK(start[outer] <= start[inner]);
    CHECK(start[outer] + duration[outer] >= start[inner] + duration[inner]);
    CHECK_INT(trace->range.thread[inner], 1);
}

static void check_memory(const struct trace *trace) {
    REQUIRE(trace->memory.count == 2);
    CHECK_INT(trace->memory.operation[0], MEMORY_ALLOC);
    CHECK_INT(trace->memory.operation[1], MEMORY_FREE);
    CHECK_INT(trace->memory.bytes[0], 1024);
    CHECK_INT(trace->memory.allocated[0], 1024);
    CHECK_INT(trace->memory.allocated[1], 0);
    CHECK_INT(trace->memory.device[0], 1);
    CHECK(trace->memory.address[0] != 0 && trace->memory.address[0] == trace->memory.address[1]);
}

static struct trace *read_back(const char *path) {
    struct status status = {0};
    struct trace *trace = NULL;
    if (!trace_open(path, &trace, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return NULL;
    }
    const enum trace_table tables[] = {TABLE_ACTIVITY, TABLE_CALL, TABLE_RANGE, TABLE_MEMORY};
    for (unsigned i = 0; i < 4; i++)
        CHECK_OK(trace_load(trace, tables[i], NULL, &status), status);
    return trace;
}

TEST(a_recording_says_what_the_device_was_given) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    struct device *device = open_cpu();
    REQUIRE(device);
    struct recorder *recorder = recorder_create(device, path, &status);
    REQUIRE(recorder);
    CHECK_OK(do_work(device, recorder, &status), status);
    CHECK(access(path, F_OK) != 0); /* nothing half-written has the name */
    CHECK_OK(recorder_finish(recorder, &status), status);
    struct trace *trace = read_back(path);
    REQUIRE(trace);
    check_entities(trace, device);
    check_activities(trace);
    check_calls(trace);
    check_ranges(trace);
    check_memory(trace);
    trace_close(trace);
    device_close(device);
}

TEST(a_trace_that_cannot_be_written_is_refused_and_leaves_no_file) {
    struct status status = {0};
    struct device *device = open_cpu();
    REQUIRE(device);
    const char *const wrong[] = {"/dev/null/run.ridge", "/nowhere/at/all/run.ridge", "", "-", NULL};
    for (unsigned i = 0; i < 5; i++) {
        status = (struct status){0};
        CHECK(!recorder_create(device, wrong[i], &status));
        CHECK(status.code == STATUS_IO || status.code == STATUS_USAGE);
        CHECK(*status.message);
        if (i < 2)
            CHECK(strstr(status.message, wrong[i]));
    }
    /* a disk that is full turns out at the end */
    if (access("/dev/full", W_OK) == 0) {
        struct recorder *recorder = recorder_create(device, "/dev/full", &status);
        REQUIRE(recorder);
        CHECK_OK(do_work(device, recorder, &status), status);
        CHECK(!recorder_finish(recorder, &status));
        CHECK_INT(status.code, STATUS_IO);
        CHECK(strstr(status.message, "/dev/full"));
    }
    CHECK_OK(recorder_finish(NULL, &status), status);
    device_close(device);
}

/* A device that is behind: events are reached when it is waited for. */
static unsigned records, forgets, finishes, resolves, resolves_before_the_end;
static bool is_done, resolve_fails;

static bool late_record(struct device *device, unsigned queue, struct device_event *event,
                        struct status *status) {
    (void)device;
    (void)queue;
    (void)status;
    records++;
    event->handle = finishes;
    return true;
}

static void late_forget(struct device *device, struct device_event event) {
    (void)device;
    (void)event;
    forgets++;
}

static bool late_reached(struct device *device, struct device_event event) {
    (void)device;
    return is_done || event.handle < finishes;
}

static bool late_finish(struct device *device, struct status *status) {
    (void)device;
    (void)status;
    finishes++;
    return true;
}

static bool late_resolve(struct device *device, struct device_stamp *stamp, int64_t *start,
                         int64_t *end, struct status *status) {
    resolves++;
    if (resolve_fails && resolves % 10 == 0)
        return status_fail(status, STATUS_IO, "the device was lost");
    return device_cpu.resolve(device, stamp, start, end, status);
}

static struct device *open_late(struct device_ops *ops) {
    struct device *device = open_cpu();
    if (!device)
        return NULL;
    *ops = device_cpu;
    ops->record = late_record;
    ops->event_release = late_forget;
    ops->reached = late_reached;
    ops->finish = late_finish;
    ops->resolve = late_resolve;
    device->ops = ops;
    records = forgets = finishes = resolves = 0;
    is_done = resolve_fails = false;
    return device;
}

/* Launches that often and reads the trace. */
static struct trace *record_launches(struct device *device, size_t count) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    struct device_kernel *kernel;
    CHECK_OK(device->ops->load(device, &code, &kernel, &status), status);
    struct launch launch = {.kernel = kernel, .grid = {1, 1, 1}};
    struct recorder *recorder = recorder_create(device, path, &status);
    if (!recorder)
        return NULL;
    for (size_t i = 0; i < count; i++)
        CHECK_OK(work_launch(device, recorder, i & 1, &launch, &status), status);
    resolves_before_the_end = resolves;
    CHECK_OK(recorder_finish(recorder, &status), status);
    return read_back(path);
}

TEST(recording_waits_for_the_device_only_when_very_much_is_pending) {
    struct device_ops ops;
    struct device *device = open_late(&ops);
    REQUIRE(device);
    struct trace *trace = record_launches(device, 60000);
    REQUIRE(trace);
    CHECK_INT(finishes, 1); /* at the end */
    CHECK_INT(resolves_before_the_end, 0);
    CHECK_INT(trace->activity.count, 60000);
    CHECK_INT(resolves, 60000);
    CHECK_INT(records, forgets);
    CHECK(records > 0);
    trace_close(trace);
    trace = record_launches(device, 70000);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 70000);
    CHECK_INT(finishes, 3);
    CHECK_INT(records, forgets);
    trace_close(trace);
    device->ops = &device_cpu;
    device_close(device);
}

TEST(times_are_written_as_the_device_gets_there) {
    struct device_ops ops;
    struct device *device = open_late(&ops);
    REQUIRE(device);
    is_done = true;
    struct trace *trace = record_launches(device, 5000);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 5000);
    CHECK(resolves_before_the_end > 4000);
    CHECK_INT(records, forgets);
    size_t wrong = 0;
    for (size_t i = 1; i < 5000; i++)
        wrong += trace->activity.correlation[i] != trace->activity.correlation[i - 1] + 1;
    CHECK_INT(wrong, 0);
    trace_close(trace);
    device->ops = &device_cpu;
    device_close(device);
}

TEST(times_that_the_device_does_not_tell_count_as_lost) {
    struct device_ops ops;
    struct device *device = open_late(&ops);
    REQUIRE(device);
    resolve_fails = true;
    struct trace *trace = record_launches(device, 1000);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 900);
    CHECK_INT(trace->call.count, 1000);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 100);
    CHECK(text_find(trace_meta(trace, META_WARNING), "the device was lost") >= 0);
    trace_close(trace);
    device->ops = &device_cpu;
    device_close(device);
}

TEST(a_launch_that_fails_is_a_call_without_an_activity) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    struct device *device = open_cpu();
    REQUIRE(device);
    struct device_kernel *kernel;
    CHECK_OK(device->ops->load(device, &code, &kernel, &status), status);
    struct recorder *recorder = recorder_create(device, path, &status);
    REQUIRE(recorder);
    struct launch launch = {.kernel = kernel, .buffer_count = LAUNCH_BUFFERS_MAX + 1};
    CHECK(!work_launch(device, recorder, 0, &launch, &status));
    recorder_range_end(recorder); /* of a range that was never begun */
    CHECK_OK(recorder_finish(recorder, &status), status);
    struct trace *trace = read_back(path);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 0);
    CHECK_INT(trace->call.count, 1);
    CHECK_INT(trace->call.result[0], 1);
    trace_close(trace);
    device_close(device);
}

TEST(without_a_recorder_work_is_the_device_s_own) {
    struct status status = {0};
    struct device *device = open_cpu();
    REQUIRE(device);
    struct device_kernel *kernel;
    struct device_memory memory;
    char in[4] = "abc", out[4] = "";
    void *graph;
    CHECK_OK(device->ops->allocate(device, 8, &memory, &status), status);
    CHECK_OK(work_load(device, NULL, &code, &kernel, &status), status);
    struct launch launch = {.kernel = kernel, .grid = {1, 1, 1}};
    CHECK_OK(device->ops->graph_create(device, &launch, 1, &graph, &status), status);
    CHECK_OK(work_copy_in(device, NULL, 0, memory, 0, in, 4, &status), status);
    CHECK_OK(work_copy_within(device, NULL, 0, memory, 4, memory, 0, 4, &status), status);
    CHECK_OK(work_launch(device, NULL, 0, &launch, &status), status);
    CHECK_OK(work_graph_replay(device, NULL, 0, graph, &launch, 1, &status), status);
    CHECK_OK(work_copy_out(device, NULL, 0, out, memory, 4, 4, &status), status);
    CHECK_OK(work_wait(device, NULL, &status), status);
    CHECK_STRING(out, "abc");
    device_close(device);
}

TEST(a_recorder_survives_the_failure_of_any_allocation) {
    struct device *device = open_cpu();
    REQUIRE(device);
    const char *path = test_temporary(".ridge");
    bool ok = false;
    unsigned nth = 0;
    while (!ok && nth < 2000) {
        struct status status = {0}, first = {0};
        memory_fail_from(++nth);
        struct recorder *recorder = recorder_create(device, path, &status);
        ok = recorder && do_work(device, recorder, &status);
        first = status;
        ok = recorder_finish(recorder, &status) && ok;
        memory_fail_from(0);
        if (!ok && first.code != STATUS_MEMORY && status.code != STATUS_MEMORY)
            test_failed(__FILE__, __LINE__, "allocation %u: %s", nth, status.message);
    }
    CHECK(ok);
    CHECK(nth > 20);
    device_close(device);
}
