/* Records of the spool as rows of a trace. This process plays the probe. */
#include "record/spool_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../import/rows.h"
#include "../test.h"
#include "base/memory.h"
#include "record/spool_folder.h"
#include "trace/reader.h"

/* Both ends of a spool, and the trace between. */
struct stage {
    struct spool_folder folder;
    struct spool *spool;
    struct spool_lane *lane;
    struct spool_reader *reader;
    struct trace_writer *writer;
    struct processes processes;
    struct gpu_counters gpus;
    struct spool_rows rows;
    const char *path;
    int fd;
    struct status status;
    struct trace *trace;
};

static bool stage_open_at(struct stage *stage, const char *path) {
    *stage = (struct stage){.path = path};
    if (!spool_folder_create(&stage->folder, &stage->status))
        return false;
    setenv(SPOOL_VARIABLE, stage->folder.path, 1);
    stage->spool = spool_open();
    stage->lane = stage->spool ? spool_lane_open(stage->spool) : NULL;
    stage->reader = spool_reader_open(stage->folder.path, &stage->status);
    stage->fd = open(stage->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    stage->writer = trace_writer_create(
        stage->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &stage->status);
    if (!stage->lane || !stage->reader || !stage->writer)
        return false;
    stage->processes.writer = stage->writer;
    spool_rows_init(&stage->rows, stage->reader, stage->writer, &stage->processes, &stage->gpus);
    struct spool_thread *thread = spool_begin(stage->lane, SPOOL_THREAD, 0, sizeof *thread);
    if (!thread)
        return false;
    thread->tid = 77;
    spool_publish(stage->lane);
    return true;
}

static bool stage_open(struct stage *stage) {
    return stage_open_at(stage, test_temporary(".ridge"));
}

static void drain(struct stage *stage) {
    CHECK_OK(spool_reader_drain(stage->reader, spool_rows_handle, &stage->rows, &stage->status),
             stage->status);
}

/* Completes the trace and opens it. */
static bool stage_open_trace(struct stage *stage) {
    spool_rows_end(&stage->rows, 1000000);
    spool_close(stage->spool);
    spool_reader_close(stage->reader);
    spool_folder_remove(&stage->folder);
    unsetenv(SPOOL_VARIABLE);
    CHECK_OK(trace_writer_finish(stage->writer, &stage->status), stage->status);
    trace_writer_destroy(stage->writer);
    processes_finish(&stage->processes);
    close(stage->fd);
    if (!trace_open(stage->path, &stage->trace, &stage->status))
        return false;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        CHECK_OK(trace_load(stage->trace, table, NULL, &stage->status), stage->status);
    return true;
}

/* And compares its rows with those of tests/unit/import/rows.txt. */
static bool stage_end(struct stage *stage) {
    if (!stage_open_trace(stage))
        return false;
    rows_check_events(stage->trace);
    return true;
}

static bool stage_read(struct stage *stage) {
    drain(stage);
    return stage_end(stage);
}

static void stage_close(struct stage *stage) {
    trace_close(stage->trace);
    spool_rows_finish(&stage->rows);
}

/* Puts a whole record there; its head is filled in. */
static void put(struct stage *stage, enum spool_kind kind, const char *name, void *record,
                size_t bytes) {
    uint32_t text = name ? spool_text(stage->lane, text_of(name)) : 0;
    struct spool_head *room = spool_begin(stage->lane, kind, text, bytes);
    if (!room) {
        CHECK(!"there is room in the spool");
        return;
    }
    memcpy(room + 1, (struct spool_head *)record + 1, bytes - sizeof *room);
    spool_publish(stage->lane);
}
#define PUT(stage, kind, name, ...) put(stage, kind, name, &(__VA_ARGS__), sizeof(__VA_ARGS__))

enum { STREAMS = 100 };

static void put_work(struct stage *stage, uint32_t stream) {
    PUT(stage, SPOOL_KERNEL, "gemm",
        (struct spool_kernel){.start = 100, .end = 300, .stream = stream});
    PUT(stage, SPOOL_COPY, NULL, (struct spool_copy){.start = 100, .end = 300, .stream = stream});
    PUT(stage, SPOOL_WAIT, NULL,
        (struct spool_wait){.start = 1, .end = 2, .stream = stream, .awaited_stream = stream + 1});
    PUT(stage, SPOOL_MEMORY, NULL,
        (struct spool_memory){.time = 10, .bytes = 64, .tid = stream, .device = stream % 64 + 1});
}

static void check_places(const struct trace *trace) {
    for (size_t i = 0; i < trace->activity.count; i++)
        CHECK(trace->activity.queue[i] != 0);
    for (size_t i = 0; i < trace->wait.count; i++)
        CHECK(trace->wait.queue[i] != 0 && trace->wait.awaited[i] != 0);
    for (size_t i = 0; i < trace->memory.count; i++)
        CHECK(trace->memory.thread[i] != 0 && trace->memory.device[i] != 0);
}

/* The first drain makes the writer's buffers, so that only queues, devices and threads need memory
 * in the second. */
TEST(a_row_without_memory_for_its_queue_fails_and_is_not_written) {
    const char *path = test_temporary(".ridge");
    bool failed = true;
    for (unsigned nth = 1; failed; nth++) {
        struct stage stage;
        REQUIRE(stage_open_at(&stage, path));
        put_work(&stage, 1);
        drain(&stage);
        for (uint32_t stream = 2; stream < STREAMS; stream++)
            put_work(&stage, stream);
        memory_fail_from(nth);
        bool drained =
            spool_reader_drain(stage.reader, spool_rows_handle, &stage.rows, &stage.status);
        memory_fail_from(0);
        failed = !drained;
        CHECK(drained || stage.status.message[0]);
        REQUIRE(!trace_writer_failed(stage.writer) && stage_open_trace(&stage));
        check_places(stage.trace);
        CHECK(failed || stage.trace->wait.count == STREAMS - 1);
        stage_close(&stage);
    }
}

TEST(a_kernel_of_the_spool_is_an_activity_on_its_queue_and_device) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_DEVICE, "GPU X",
        (struct spool_device){.index = 1, .multiprocessors = 132, .uuid = {0xAB, 1}});
    PUT(&stage, SPOOL_CALL, "cuLaunchKernel",
        (struct spool_call){
            .start = 50, .duration = 20, .correlation = 9, .class = CALL_LAUNCH, .result = 0});
    PUT(&stage, SPOOL_KERNEL, "gemm",
        (struct spool_kernel){.start = 100,
                              .end = 300,
                              .correlation = 9,
                              .device = 1,
                              .context = 2,
                              .stream = 7,
                              .grid = {4, 5, 6},
                              .block = {128, 1, 1},
                              .registers = 40});
    REQUIRE(stage_read(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->activity.count == 1 && trace->call.count == 1);
    CHECK_INT(trace->activity.duration[0], 200);
    CHECK_INT(trace->activity.grid_z[0], 6);
    CHECK_INT(trace->activity.correlation[0], trace->call.correlation[0]);
    CHECK(text_is(trace_text(trace, trace->activity.name[0]), "gemm"));
    uint32_t queue = trace->activity.queue[0];
    CHECK_INT(trace->queue.stream[queue], 7);
    uint32_t device = trace->queue.device[queue];
    CHECK(text_is(trace_text(trace, trace->device.name[device]), "GPU X"));
    CHECK(text_is(trace_text(trace, trace->device.uuid[device]),
                  "ab010000-0000-0000-0000-000000000000"));
    CHECK_INT(trace->process.pid[trace->queue.process[queue]], getpid());
    CHECK_INT(trace->thread.tid[trace->call.thread[0]], 77);
    CHECK_INT(stage.rows.kernels, 1);
    stage_close(&stage);
}

/* The only known fact of a device is its name. */
static void tell_name(const char *name, const char *label, record_fact *add, void *to) {
    char key[64];
    snprintf(key, sizeof key, "roof.%s.name", label);
    add(to, key, name);
}

TEST(what_is_known_of_a_device_is_kept_under_the_label_that_the_trace_gives_it) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    stage.rows.entities.device_facts = tell_name;
    PUT(&stage, SPOOL_DEVICE, "GPU X", (struct spool_device){.index = 1, .uuid = {1}});
    PUT(&stage, SPOOL_DEVICE, "GPU X", (struct spool_device){.index = 1, .uuid = {1}});
    PUT(&stage, SPOOL_DEVICE, "GPU Y", (struct spool_device){.index = 1, .uuid = {2}});
    REQUIRE(stage_read(&stage));
    CHECK(text_is(trace_meta(stage.trace, "roof.1.name"), "GPU X"));
    CHECK(text_is(trace_meta(stage.trace, "roof.0.name"), "GPU Y"));
    unsigned told = 0;
    for (size_t i = 0; i < stage.trace->meta.count; i++)
        told += text_starts(trace_text(stage.trace, stage.trace->meta.key[i]), "roof.");
    CHECK_INT(told, 2);
    stage_close(&stage);
}

TEST(a_call_of_many_seconds_has_its_whole_length) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_CALL, "cudaDeviceSynchronize",
        (struct spool_call){.start = 10, .duration = UINT32_MAX, .class = CALL_SYNC});
    PUT(&stage, SPOOL_CALL, NULL, (struct spool_call){.start = 60000000010, .class = 255});
    PUT(&stage, SPOOL_CALL, "last",
        (struct spool_call){.start = 60000000020, .duration = UINT32_MAX});
    REQUIRE(stage_read(&stage));
    REQUIRE(stage.trace->call.count == 2);
    CHECK_INT(stage.trace->call.duration[0], 60000000000);
    CHECK_INT(stage.trace->call.duration[1], UINT32_MAX);
    stage_close(&stage);
}

TEST(the_halves_of_a_range_may_come_in_either_order_and_one_left_open_is_counted) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_RANGE_END, NULL, (struct spool_range){.end = 90, .id = 1});
    PUT(&stage, SPOOL_RANGE_OPEN, "early end", (struct spool_range){.start = 40, .id = 1});
    PUT(&stage, SPOOL_RANGE_OPEN, "usual", (struct spool_range){.start = 50, .id = 2});
    PUT(&stage, SPOOL_RANGE_OPEN, "left open", (struct spool_range){.start = 60, .id = 3});
    PUT(&stage, SPOOL_RANGE_END, NULL, (struct spool_range){.end = 80, .id = 2});
    PUT(&stage, SPOOL_RANGE_END, NULL, (struct spool_range){.end = 80, .id = 99});
    REQUIRE(stage_read(&stage));
    REQUIRE(stage.trace->range.count == 3);
    CHECK_INT(stage.trace->range.duration[0], 50);
    CHECK_INT(stage.trace->range.duration[1], 30);
    CHECK_INT(stage.trace->range.duration[2], 1000000 - 60);
    CHECK_INT(stage.rows.ranges.never_ended, 1);
    CHECK_INT(stage.rows.ranges.never_begun, 1);
    stage_close(&stage);
}

TEST(a_framework_operator_under_nvtx_has_its_name_and_shapes) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_RANGE, "aten::mm, seq = 12, sizes = [[2, 3], [3, 4]]",
        (struct spool_range){.start = 1, .end = 2});
    PUT(&stage, SPOOL_RANGE, "aten::mm, seq = 13, sizes = [[2, \"x",
        (struct spool_range){.start = 3, .end = 4});
    PUT(&stage, SPOOL_RANGE, "my step, seq is fine",
        (struct spool_range){
            .start = 5, .end = 6, .payload = -3, .has_payload = SPOOL_PAYLOAD_SIGNED});
    REQUIRE(stage_read(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->range.count == 3);
    CHECK(text_is(trace_text(trace, trace->range.name[0]), "aten::mm"));
    CHECK_INT(trace->range.category[0], RANGE_OP);
    CHECK(text_is(trace_text(trace, trace->range.detail[0]), "{\"Input Dims\":[[2, 3], [3, 4]]}"));
    CHECK_INT(trace->range.detail[1], 0);
    CHECK_INT(trace->range.category[2], RANGE_ANNOTATION);
    CHECK(text_is(trace_text(trace, trace->range.detail[2]), "{\"payload\":-3}"));
    stage_close(&stage);
}

TEST(times_that_cannot_be_are_counted_and_left_out) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_KERNEL, "back", (struct spool_kernel){.start = 100, .end = 50});
    PUT(&stage, SPOOL_KERNEL, "far", (struct spool_kernel){.start = 1, .end = INT64_MAX});
    PUT(&stage, SPOOL_COPY, NULL, (struct spool_copy){.start = INT64_MIN, .end = 5});
    PUT(&stage, SPOOL_CALL, "never", (struct spool_call){.start = INT64_MAX, .duration = 5});
    PUT(&stage, SPOOL_RANGE, "no", (struct spool_range){.start = 9, .end = 8});
    PUT(&stage, SPOOL_MARK, "no", (struct spool_mark){.time = -1});
    PUT(&stage, SPOOL_MEMORY, NULL, (struct spool_memory){.time = -1});
    PUT(&stage, SPOOL_WAIT, NULL, (struct spool_wait){.start = 2, .end = 1});
    PUT(&stage, SPOOL_CLOCK, NULL, (struct spool_clock){.error_ns = -1});
    REQUIRE(stage_read(&stage));
    CHECK_INT(stage.rows.invalid, 9);
    CHECK_INT(stage.trace->activity.count + stage.trace->call.count + stage.trace->range.count, 0);
    stage_close(&stage);
}

TEST(only_what_begins_in_the_window_is_recorded) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    stage.rows.from = 100;
    stage.rows.until = 200;
    for (int64_t start = 50; start < 300; start += 50) {
        PUT(&stage, SPOOL_KERNEL, "k", (struct spool_kernel){.start = start, .end = start + 1});
        PUT(&stage, SPOOL_MARK, "m", (struct spool_mark){.time = start});
        PUT(&stage, SPOOL_MEMORY, NULL, (struct spool_memory){.time = start, .bytes = 64});
        PUT(&stage, SPOOL_WAIT, NULL, (struct spool_wait){.start = start, .end = start + 5});
    }
    REQUIRE(stage_read(&stage));
    CHECK_INT(stage.trace->activity.count, 2);
    CHECK_INT(stage.trace->mark.count, 2);
    stage_close(&stage);
}

TEST(time_outside_captures_is_a_paused_range_whatever_comes_first) {
    struct stage stage;
    static const int64_t expected[3][2] = {{100, 200}, {300, 400}, {500, 999500}};
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 100});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 100, .end = 200});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 300, .end = 400});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 300});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 500});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 700, .end = 600});
    REQUIRE(stage_read(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->range.count == 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(trace->range.start[i], expected[i][0]);
        CHECK_INT(trace->range.duration[i], i < 2 ? 100 : expected[i][1]);
        CHECK_INT(trace->range.category[i], RANGE_OVERHEAD);
        CHECK(text_is(trace_text(trace, trace->range.name[i]), RANGE_PAUSED));
        CHECK_INT(trace->thread.tid[trace->range.thread[i]], 77);
    }
    CHECK_INT(stage.rows.invalid, 1);
    REQUIRE(stage.rows.captures.count == 2);
    CHECK(stage.rows.captures.list[0].start == 200 && stage.rows.captures.list[0].end == 300);
    CHECK(stage.rows.captures.list[1].start == 400 && stage.rows.captures.list[1].end == 500);
    stage_close(&stage);
}

/* Two threads end one range each; the records of the second are read first. */
TEST(captures_are_found_when_their_records_come_out_of_order) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 300});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 300, .end = 400});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 100});
    PUT(&stage, SPOOL_PAUSED, NULL, (struct spool_paused){.start = 100, .end = 200});
    drain(&stage);
    CHECK_INT(stage.rows.captures.open_from, 400);
    REQUIRE(stage_end(&stage));
    REQUIRE(stage.rows.captures.count == 2);
    CHECK(stage.rows.captures.list[0].start == 200 && stage.rows.captures.list[0].end == 300);
    CHECK(stage.rows.captures.list[1].start == 400 && stage.rows.captures.list[1].end == 1000000);
    stage_close(&stage);
}

static void put_meta(struct stage *stage, const char *key, const char *value) {
    uint32_t text = spool_text(stage->lane, text_of(value));
    PUT(stage, SPOOL_META, key, (struct spool_meta){.value = text});
}

TEST(the_first_takeover_of_cupti_and_its_last_end_are_kept_whatever_comes_first) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    put_meta(&stage, "cuda.taken_over", "libtorch_cpu.so");
    put_meta(&stage, "cuda.given_back_at", "900");
    put_meta(&stage, "cuda.taken_over_at", "700");
    put_meta(&stage, "cuda.taken_over_at", "300");
    put_meta(&stage, "cuda.given_back_at", "500");
    put_meta(&stage, "cuda.taken_over_at", "800");
    put_meta(&stage, "cuda.taken_over_at", "-1");
    put_meta(&stage, "cuda.taken_over_at", "soon");
    REQUIRE(stage_read(&stage));
    const struct takeover *takeover = &stage.rows.takeover;
    CHECK_STRING(takeover->library, "libtorch_cpu.so");
    CHECK_INT(takeover->first, 300);
    CHECK_INT(takeover->last_end, 900);
    CHECK_INT(takeover->begun, 3);
    CHECK_INT(takeover->ended, 2);
    stage_close(&stage);
}

TEST(memory_belongs_to_the_thread_that_asked_for_it) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    PUT(&stage, SPOOL_MEMORY, NULL, (struct spool_memory){.time = 10, .bytes = 64, .tid = 99});
    PUT(&stage, SPOOL_MEMORY, NULL, (struct spool_memory){.time = 20, .bytes = 64, .tid = 99});
    PUT(&stage, SPOOL_MEMORY, NULL, (struct spool_memory){.time = 30, .bytes = 64});
    REQUIRE(stage_read(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->memory.count == 3);
    CHECK_INT(trace->thread.tid[trace->memory.thread[0]], 99);
    CHECK_INT(trace->memory.thread[1], trace->memory.thread[0]);
    CHECK_INT(trace->thread.tid[trace->memory.thread[2]], 77);
    stage_close(&stage);
}

TEST(a_thread_that_a_lane_named_keeps_its_row) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    drain(&stage);
    struct spool_lane_state *lane = spool_lane_state(&stage.rows.entities, 0, 0, &stage.status);
    REQUIRE(lane && lane->thread);
    uint32_t row = spool_entity_thread(&stage.rows.entities, lane->process, 77, &stage.status);
    CHECK_INT(row, lane->thread);
    uint32_t other = spool_entity_thread(&stage.rows.entities, lane->process, 78, &stage.status);
    CHECK(other != row);
    CHECK_INT(spool_entity_thread(&stage.rows.entities, lane->process, 78, &stage.status), other);
    REQUIRE(stage_end(&stage));
    stage_close(&stage);
}

/* It was killed and could not mark its end. */
static unsigned files_of(const struct stage *stage) {
    unsigned count = 0;
    DIR *folder = opendir(stage->folder.path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

TEST(a_process_that_is_gone_has_ended_when_it_is_looked_for) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    unsigned own_files = files_of(&stage);
    pid_t pid = fork();
    if (pid == 0) {
        struct spool *spool = spool_open();
        struct spool_lane *lane = spool ? spool_lane_open(spool) : NULL;
        struct spool_thread *thread =
            lane ? spool_begin(lane, SPOOL_THREAD, 0, sizeof *thread) : NULL;
        if (!thread)
            _exit(1);
        thread->tid = 5;
        spool_publish(lane);
        _exit(0);
    }
    int ended;
    REQUIRE(pid > 0 && waitpid(pid, &ended, 0) == pid);
    CHECK_INT(ended, 0);
    CHECK(files_of(&stage) > own_files);
    drain(&stage);
    drain(&stage);
    CHECK_INT(files_of(&stage), own_files); /* those of the process that is gone are drained */
    spool_rows_find_ended(&stage.rows, getpid(), 0, 4321);
    unsigned gone = 0, alive = 0;
    for (unsigned i = 0; i < stage.rows.entities.process_state_capacity; i++) {
        const struct spool_process_state *state = stage.rows.entities.process_states[i];
        gone += state && state->ended_at == 4321;
        alive += state && !state->ended_at;
    }
    CHECK_INT(gone, 1);
    CHECK_INT(alive, 1);
    REQUIRE(stage_open_trace(&stage));
    stage_close(&stage);
}

TEST(one_gpu_that_has_two_numbers_is_one_device_and_two_that_have_one_are_two) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    struct spool_device first = {.index = 0, .uuid = {1}}, again = {.index = 3, .uuid = {1}},
                        other = {.index = 0, .uuid = {2}};
    PUT(&stage, SPOOL_DEVICE, "A", first);
    PUT(&stage, SPOOL_DEVICE, "A", again);
    PUT(&stage, SPOOL_DEVICE, "B", other);
    REQUIRE(stage_read(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->device.count == 1 + 2);
    CHECK(!text_equal(trace_text(trace, trace->device.label[1]),
                      trace_text(trace, trace->device.label[2])));
    stage_close(&stage);
}

TEST(a_process_cannot_change_how_its_trace_is_read) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    uint32_t value = spool_text(stage.lane, TEXT("12345"));
    PUT(&stage, SPOOL_META, "clock.offset_ns", (struct spool_meta){.value = value});
    PUT(&stage, SPOOL_META, "cuda.version", (struct spool_meta){.value = value});
    PUT(&stage, SPOOL_META, "cuda.version", (struct spool_meta){.value = value});
    PUT(&stage, SPOOL_META, "probe.cost_ns", (struct spool_meta){.value = value});
    PUT(&stage, SPOOL_DROPPED, "the buffer was full", (struct spool_dropped){.count = 7});
    REQUIRE(stage_read(&stage));
    CHECK_INT(trace_meta(stage.trace, "clock.offset_ns").length, 0);
    CHECK_INT(trace_meta_sum(stage.trace, "cuda.version"), 12345);
    CHECK_INT(trace_meta_sum(stage.trace, META_DROPS), 7);
    CHECK_INT(spool_rows_probe_cost(&stage.rows), 12345);
    stage_close(&stage);
}

TEST(records_of_any_bytes_do_no_harm) {
    struct stage stage;
    REQUIRE(stage_open(&stage));
    uint64_t state = 1;
    spool_text(stage.lane, TEXT("a text"));
    for (unsigned i = 0; i < 20000; i++) {
        union {
            struct spool_head head;
            uint64_t words[32];
        } record;
        for (unsigned w = 0; w < 32; w++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            record.words[w] = state >> (state >> 58); /* small numbers as often as large ones */
        }
        unsigned kind = 2 + i % (SPOOL_KINDS - 2); /* all but texts, which the spool checks */
        put(&stage, kind, i % 3 ? "a text" : NULL, &record, sizeof record);
        if (i % 1000 == 999)
            drain(&stage);
    }
    REQUIRE(stage_read(&stage));
    CHECK(stage.rows.invalid > 0);
    stage_close(&stage);
}
