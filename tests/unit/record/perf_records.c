/* Records of perf events as rows of a trace. This process plays the kernel: the ring buffers are
 * plain memory. No process has the pids, so that /proc has nothing about them. */
#ifdef __linux__
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../import/rows.h"
#include "../test.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "record/apis.h"
#include "record/perf/perf.h"
#include "record/perf/perf_ring.h"
#include "record/symbols/perf_unwind.h"
#include "trace/reader.h"

enum { RINGS = 2, BYTES = 1 << 16, RATE = 1000, PERIOD = 1000000, SWITCH_ID = 77 };
enum { PID = 4194400, TID = 4194401, CHILD = 4194500 }; /* above the largest of Linux */

struct stage {
    struct perf_ring rings[RINGS]; /* copies: perf owns the array */
    struct perf *perf;
    struct trace_writer *writer;
    struct trace *trace;
    const char *path;
    int fd;
    struct status status;
};

static void ring_init(struct perf_ring *ring, unsigned processor) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ring = (struct perf_ring){.fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                               .processor = processor,
                               .bytes = BYTES,
                               .samplers = {-1, -1, -1, -1}};
    void *map =
        mmap(NULL, page + BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ring->page = map == MAP_FAILED ? NULL : map;
}

static bool stage_open(struct stage *stage, enum perf_stacks stacks) {
    struct perf_options options = {.rate = RATE, .stacks = stacks};
    struct perf_rings rings = {.count = RINGS, .fill_ms = 1000};
    *stage = (struct stage){.path = test_temporary(".ridge")};
    rings.items = memory_allocate(RINGS, sizeof *rings.items, &stage->status);
    for (unsigned i = 0; rings.items && i < RINGS; i++) {
        ring_init(&rings.items[i], i);
        stage->rings[i] = rings.items[i];
    }
    if (!rings.items || !map_set(&rings.switch_ids, SWITCH_ID, 1, &stage->status))
        return false;
    stage->perf = perf_open_rings(&rings, &options, &stage->status);
    stage->fd = open(stage->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    stage->writer = trace_writer_create(
        stage->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &stage->status);
    return stage->perf && stage->writer;
}

/* Reads all records and opens the trace. */
static bool stage_end(struct stage *stage) {
    CHECK_OK(perf_finish(stage->perf, stage->writer, &stage->status), stage->status);
    CHECK_OK(trace_writer_finish(stage->writer, &stage->status), stage->status);
    trace_writer_destroy(stage->writer);
    close(stage->fd);
    if (!trace_open(stage->path, &stage->trace, &stage->status))
        return false;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        CHECK_OK(trace_load(stage->trace, table, NULL, &stage->status), stage->status);
    rows_check_events(stage->trace);
    return true;
}

static void stage_close(struct stage *stage) {
    trace_close(stage->trace);
    perf_close(stage->perf);
}

struct id {
    uint32_t pid, tid;
    int64_t time;
    uint64_t id;
};

/* Puts a record of whole words into a ring. */
static void put(struct stage *stage, unsigned ring, uint32_t type, uint16_t misc, struct id id,
                const void *body, size_t bytes) {
    struct perf_event_mmap_page *page = stage->rings[ring].page;
    uint8_t *data = (uint8_t *)page + sysconf(_SC_PAGESIZE);
    size_t padded = (bytes + 7) / 8 * 8, at = page->data_head % BYTES;
    struct perf_event_header header = {type, misc, (uint16_t)(sizeof header + sizeof id + padded)};
    bool first = type == PERF_RECORD_SAMPLE;
    CHECK(at + header.size <= BYTES);
    memset(data + at, 0, header.size);
    memcpy(data + at, &header, sizeof header);
    memcpy(data + at + sizeof header + (first ? 0 : padded), &id, sizeof id);
    if (bytes)
        memcpy(data + at + sizeof header + (first ? sizeof id : 0), body, bytes);
    __atomic_store_n(&page->data_head, page->data_head + header.size, __ATOMIC_RELEASE);
}

static void put_name(struct stage *stage, struct id id, const char *name, bool exec) {
    struct {
        uint32_t pid, tid;
        char name[16];
    } body = {id.pid, id.tid, ""};
    snprintf(body.name, sizeof body.name, "%s", name);
    put(stage, 0, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, id, &body, sizeof body);
}

/* Of a fork, or of an exit: the task, its parent. */
static void put_task(struct stage *stage, uint32_t type, struct id id, uint32_t parent,
                     uint32_t parent_tid) {
    uint32_t body[] = {id.pid, parent, id.tid, parent_tid, 0, 0};
    put(stage, 1, type, 0, id, body, sizeof body);
}

static void put_mapping(struct stage *stage, uint32_t pid, uint64_t start, uint64_t length,
                        const char *path) {
    struct {
        uint32_t pid, tid;
        uint64_t start, length, offset, device, inode, generation, flags;
        char path[64];
    } body = {.pid = pid, .tid = pid, .start = start, .length = length};
    snprintf(body.path, sizeof body.path, "%s", path);
    put(stage, 0, PERF_RECORD_MMAP2, 0, (struct id){pid, pid, 1001, 1}, &body, sizeof body);
}

static void put_switch(struct stage *stage, struct id id, unsigned ring, uint16_t misc) {
    put(stage, ring, PERF_RECORD_SWITCH, misc, id, NULL, 0);
}

static void put_sample(struct stage *stage, struct id id, const uint64_t *chain, uint64_t count) {
    uint64_t body[32] = {count};
    memcpy(body + 1, chain, count * sizeof *chain);
    put(stage, 0, PERF_RECORD_SAMPLE, 0, id, body, (count + 1) * sizeof *body);
}

enum { OUT = PERF_RECORD_MISC_SWITCH_OUT, PREEMPTED = OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT };

TEST(context_switches_are_the_states_of_threads_until_they_exit) {
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    struct id id = {PID, PID, 1000, 1};
    put_name(&stage, id, "program", true);
    id.time = 1500;
    put_switch(&stage, id, 0, OUT);
    id.time = 1800;
    put_switch(&stage, id, 1, 0);
    id.time = 2500;
    put_switch(&stage, id, 1, PREEMPTED);
    id.time = 2600;
    put_switch(&stage, id, 0, 0);
    struct id other = {PID, TID, 2000, 1};
    put_task(&stage, PERF_RECORD_FORK, other, PID, PID);
    other.time = 2300;
    put_switch(&stage, other, 0, 0);
    other.time = 2400;
    put_task(&stage, PERF_RECORD_EXIT, other, PID, PID);
    id.time = 3000;
    put_task(&stage, PERF_RECORD_EXIT, id, PID, PID);
    REQUIRE(stage_end(&stage));
    const struct columns_state *state = &stage.trace->state;
    static const int64_t expected[][3] = {{1000, 500, STATE_RUNNING}, {1500, 300, STATE_BLOCKED},
                                          {1800, 700, STATE_RUNNING}, {2500, 100, STATE_READY},
                                          {2600, 400, STATE_RUNNING}, {2000, 300, STATE_READY},
                                          {2300, 100, STATE_RUNNING}};
    CHECK_INT(state->count, ARRAY_COUNT(expected));
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
        size_t found = 0;
        for (size_t row = 0; row < state->count; row++)
            found += state->start[row] == expected[i][0] &&
                     state->duration[row] == expected[i][1] && state->state[row] == expected[i][2];
        CHECK_INT(found, 1);
    }
    CHECK_INT(perf_processes(stage.perf), 1);
    stage_close(&stage);
}

TEST(a_new_thread_has_the_name_of_its_creator_until_it_is_renamed) {
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    struct id id = {PID, PID, 1000, 1}, thread = {PID, TID, 1100, 1},
              child = {CHILD, CHILD, 1200, 1};
    put_name(&stage, id, "program", true);
    put_task(&stage, PERF_RECORD_FORK, thread, PID, PID);
    put_task(&stage, PERF_RECORD_FORK, child, PID, TID);
    thread.time = 1300;
    put_name(&stage, thread, "worker", false);
    thread.time = child.time = id.time = 2000;
    put_task(&stage, PERF_RECORD_EXIT, thread, PID, PID);
    put_task(&stage, PERF_RECORD_EXIT, child, PID, PID);
    put_task(&stage, PERF_RECORD_EXIT, id, PID, PID);
    REQUIRE(stage_end(&stage));
    const struct trace *trace = stage.trace;
    for (size_t i = 1; i < trace->thread.count; i++) {
        const char *name = trace->thread.tid[i] == TID ? "worker" : "program";
        CHECK(text_is(trace_text(trace, trace->thread.name[i]), name));
    }
    CHECK_INT(trace->thread.count, 4); /* and row 0 */
    CHECK_INT(trace->process.count, 3);
    CHECK_INT(perf_processes(stage.perf), 2);
    struct map pids = {0};
    CHECK_OK(perf_list_processes(stage.perf, &pids, &stage.status), stage.status);
    CHECK(map_find(&pids, PID) && map_find(&pids, CHILD) && pids.count == 2);
    map_finish(&pids);
    stage_close(&stage);
}

/* The frames of a sample, outermost first, as functions and modules. */
static void describe_stack(const struct trace *trace, uint32_t stack, struct buffer *out) {
    if (trace->stack.parent[stack])
        describe_stack(trace, trace->stack.parent[stack], out);
    struct text module = trace_text(trace, trace->stack.module[stack]);
    buffer_append(out, module.data, module.length);
    buffer_append(out, ";", 1);
}

TEST(a_sample_has_the_modules_of_its_callers_and_counts_one_period) {
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x400100, 12 /* no code */, 0x7000100,
                              0x400200};
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    struct id id = {PID, PID, 1000, 1};
    put_name(&stage, id, "program", true);
    put_mapping(&stage, PID, 0x400000, 0x1000, "/absent/program");
    put_mapping(&stage, PID, 0x7000000, 0x1000, "/absent/libwork.so");
    id.time = 5000;
    put_sample(&stage, id, chain, ARRAY_COUNT(chain));
    id.time = 5001;
    put_sample(&stage, id, chain, 2);
    put_task(&stage, PERF_RECORD_EXIT, id, PID, PID);
    REQUIRE(stage_end(&stage));
    const struct trace *trace = stage.trace;
    REQUIRE(trace->sample.count == 2);
    struct buffer frames = {0};
    describe_stack(trace, trace->sample.stack[0], &frames);
    CHECK(text_is(buffer_as_text(&frames), "program;libwork.so;program;"));
    CHECK_INT(trace->sample.weight[0], PERIOD);
    CHECK_INT(trace->sample.time[0], 5000);
    buffer_clear(&frames);
    describe_stack(trace, trace->sample.stack[1], &frames);
    CHECK(text_is(buffer_as_text(&frames), "program;"));
    buffer_finish(&frames);
    CHECK_INT(perf_samples(stage.perf), 2);
    stage_close(&stage);
}

TEST(a_thread_that_blocks_has_the_stack_of_its_last_sample_at_a_switch) {
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x400100};
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    struct id id = {PID, PID, 1000, 1}, at_switch = {PID, PID, 1500, SWITCH_ID};
    put_name(&stage, id, "program", true);
    put_mapping(&stage, PID, 0x400000, 0x1000, "/absent/program");
    put_sample(&stage, at_switch, chain, 2);
    id.time = 1501;
    put_switch(&stage, id, 0, OUT);
    id.time = 1600;
    put_switch(&stage, id, 0, 0);
    id.time = 1700;
    put_switch(&stage, id, 0, OUT);
    id.time = 1800;
    put_task(&stage, PERF_RECORD_EXIT, id, PID, PID);
    REQUIRE(stage_end(&stage));
    const struct columns_state *state = &stage.trace->state;
    CHECK_INT(stage.trace->sample.count, 0);
    for (size_t i = 0; i < state->count; i++)
        CHECK_INT(state->stack[i] != 0, state->start[i] == 1501);
    stage_close(&stage);
}

TEST(samples_and_states_outside_the_window_are_left_out) {
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x400100};
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    perf_set_window(stage.perf, 2000, 3000);
    struct id id = {PID, PID, 1000, 1};
    put_name(&stage, id, "program", true);
    static const int64_t times[] = {1999, 2000, 2500, 3000, 3001};
    for (size_t i = 0; i < ARRAY_COUNT(times); i++)
        put_sample(&stage, (struct id){PID, PID, times[i], 1}, chain, 2);
    id.time = 4000;
    put_task(&stage, PERF_RECORD_EXIT, id, PID, PID);
    REQUIRE(stage_end(&stage));
    CHECK_INT(stage.trace->sample.count, perf_samples(stage.perf));
    for (size_t i = 0; i < stage.trace->sample.count; i++)
        CHECK(stage.trace->sample.time[i] >= 2000 && stage.trace->sample.time[i] <= 3000);
    REQUIRE(stage.trace->state.count == 1);
    CHECK_INT(stage.trace->state.start[0], 2000);
    CHECK_INT(stage.trace->state.duration[0], 1000);
    stage_close(&stage);
}

TEST(lost_records_are_counted_and_named_with_their_remedy) {
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    const uint64_t of_samples[] = {1, 5}, of_switches[] = {SWITCH_ID, 1000}, samples[] = {3};
    struct id id = {PID, PID, 1000, 1};
    put(&stage, 0, PERF_RECORD_LOST, 0, id, of_samples, sizeof of_samples);
    put(&stage, 0, PERF_RECORD_LOST, 0, id, of_switches, sizeof of_switches);
    put(&stage, 1, PERF_RECORD_LOST_SAMPLES, 0, id, samples, sizeof samples);
    REQUIRE(stage_end(&stage));
    CHECK_INT(perf_lost(stage.perf), 8);
    CHECK_INT(trace_meta_sum(stage.trace, META_DROPS), 8);
    REQUIRE(perf_note(stage.perf, 0));
    CHECK_STRING(perf_note(stage.perf, 0),
                 "8 of them are CPU samples and context switches; use a lower --sample-rate");
    CHECK(!perf_note(stage.perf, 1));
    stage_close(&stage);
}

TEST(records_are_read_in_the_order_of_their_times_and_late_ones_wait) {
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    int64_t later = clock_now() + 3600 * (int64_t)1000000000;
    put_switch(&stage, (struct id){PID, PID, later, 1}, 1, OUT);
    put_switch(&stage, (struct id){PID, PID, later - 500, 1}, 0, 0);
    CHECK_OK(perf_drain(stage.perf, stage.writer, &stage.status), stage.status);
    put_task(&stage, PERF_RECORD_EXIT, (struct id){PID, PID, later + 70, 1}, PID, PID);
    CHECK_OK(perf_finish(stage.perf, stage.writer, &stage.status), stage.status);
    CHECK_OK(trace_writer_finish(stage.writer, &stage.status), stage.status);
    trace_writer_destroy(stage.writer);
    close(stage.fd);
    REQUIRE(trace_open(stage.path, &stage.trace, &stage.status));
    REQUIRE(trace_load(stage.trace, TABLE_STATE, NULL, &stage.status));
    REQUIRE(stage.trace->state.count == 2);
    CHECK_INT(stage.trace->state.start[0], later - 500);
    CHECK_INT(stage.trace->state.duration[0], 500);
    CHECK_INT(stage.trace->state.processor[0], 0);
    CHECK_INT(stage.trace->state.duration[1], 70);
    CHECK_INT(stage.trace->state.state[1], STATE_BLOCKED);
    stage_close(&stage);
}

/* A sample with registers and a copy of the stack. */
static void put_copy(struct stage *stage, int64_t time, uint64_t size, uint64_t used) {
    static uint64_t body[2048];
    uint64_t mask = perf_unwind_registers();
    size_t at = 0;
    body[at++] = 0; /* no chain */
    body[at++] = PERF_SAMPLE_REGS_ABI_64;
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            body[at++] = 0x400100 + 8 * i;
    body[at++] = size;
    memset(body + at, 0, size);
    at += size / 8;
    body[at++] = used;
    put(stage, 0, PERF_RECORD_SAMPLE, 0, (struct id){PID, PID, time, 1}, body, at * 8);
}

TEST(stacks_that_did_not_fit_and_samples_of_two_sizes_are_told_apart) {
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x400100};
    struct stage stage;
    if (!perf_unwind_is_supported()) {
        test_skip("stacks are not unwound on this processor");
        return;
    }
    REQUIRE(stage_open(&stage, PERF_STACKS_DWARF));
    put_name(&stage, (struct id){PID, PID, 1000, 1}, "program", true);
    put_copy(&stage, PERIOD, 1024, 1024);                                   /* truncated */
    put_copy(&stage, PERIOD + PERIOD / 2, 512, 512);                        /* a duplicate */
    put_copy(&stage, 2 * PERIOD, 1024, 512);                                /* whole */
    put_copy(&stage, 3 * PERIOD, 512, 512);                                 /* truncated */
    put_sample(&stage, (struct id){PID, PID, 4 * PERIOD, 1}, chain, 2);     /* frame pointers */
    put_sample(&stage, (struct id){PID, PID, 4 * PERIOD + 9, 1}, chain, 2); /* the same size */
    put_copy(&stage, 4 * PERIOD + 3 * PERIOD / 4 + 8, 1024, 8);             /* a duplicate */
    put_copy(&stage, 4 * PERIOD + 3 * PERIOD / 4 + 9, 1024, 8);
    put_task(&stage, PERF_RECORD_EXIT, (struct id){PID, PID, 6 * PERIOD, 1}, PID, PID);
    REQUIRE(stage_end(&stage));
    CHECK_INT(perf_samples(stage.perf), 6);
    REQUIRE(perf_note(stage.perf, 0) && perf_note(stage.perf, 1));
    CHECK(strncmp(perf_note(stage.perf, 0), "2 samples lack their outermost callers", 38) == 0);
    CHECK(strncmp(perf_note(stage.perf, 1), "2 samples have only the callers", 31) == 0);
    CHECK(strstr(perf_note(stage.perf, 0), "use --stacks fp or a lower --sample-rate"));
    CHECK(!perf_note(stage.perf, 2));
    CHECK_INT(perf_python(stage.perf).interpreted, 0);
    stage_close(&stage);
}

TEST(the_row_of_a_thread_or_stack_is_one_however_often_it_is_asked_for) {
    const uint64_t addresses[] = {0x400100, 0x400200};
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    uint32_t row = perf_thread_row(stage.perf, stage.writer, PID, TID);
    CHECK(row != 0);
    CHECK_INT(perf_thread_row(stage.perf, stage.writer, PID, TID), row);
    CHECK_INT(perf_thread_row(stage.perf, stage.writer, PID, PID), row + 1);
    uint32_t stack = perf_stack_row(stage.perf, stage.writer, PID, addresses, 2);
    CHECK(stack != 0);
    CHECK_INT(perf_stack_row(stage.perf, stage.writer, PID, addresses, 2), stack);
    perf_reset_rows(stage.perf);
    CHECK_INT(perf_thread_row(stage.perf, stage.writer, PID, TID), row + 2);
    REQUIRE(stage_end(&stage));
    stage_close(&stage);
}

TEST(malformed_records_are_dropped_and_counted) {
    struct stage stage;
    REQUIRE(stage_open(&stage, PERF_STACKS_FP));
    put_switch(&stage, (struct id){PID, PID, 1000, 1}, 0, 0);
    struct perf_event_mmap_page *page = stage.rings[0].page;
    struct perf_event_header header = {PERF_RECORD_SWITCH, 0, 12}; /* no multiple of 8 */
    memcpy((uint8_t *)page + sysconf(_SC_PAGESIZE) + page->data_head, &header, sizeof header);
    __atomic_store_n(&page->data_head, page->data_head + 64, __ATOMIC_RELEASE);
    put_task(&stage, PERF_RECORD_EXIT, (struct id){PID, PID, 2000, 1}, PID, PID);
    REQUIRE(stage_end(&stage));
    CHECK_INT(perf_lost(stage.perf), 1);
    CHECK_INT(stage.trace->state.count, 1);
    stage_close(&stage);
}
#endif
