/* XSpace protobufs: the shared fixture to the nanosecond, and hand-made planes for what it lacks.
 */
#include "../test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/map.h"
#include "import/import.h"
#include "rows.h"

#include "base/array.h"

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

static struct trace *open_bytes(struct buffer *bytes, bool skip_invalid, struct status *status) {
    const char *path = test_temporary(".xplane.pb");
    FILE *file = fopen(path, "wb");
    if (!file)
        return NULL;
    fwrite(bytes->data, 1, bytes->length, file);
    fclose(file);
    buffer_finish(bytes);
    return open_trace(path, skip_invalid, status);
}

static void put_varint(struct buffer *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        buffer_byte(out, (char)(value | 0x80));
    buffer_byte(out, (char)value);
}

static void put_number(struct buffer *out, unsigned field, uint64_t value) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_bytes(struct buffer *out, unsigned field, struct text bytes) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.length);
    buffer_text(out, bytes);
}

static void put_message(struct buffer *out, unsigned field, struct buffer *message) {
    put_bytes(out, field, buffer_as_text(message));
    buffer_finish(message);
}

/* An entry of event_metadata (field 4) or stat_metadata (field 5). */
static void put_name(struct buffer *plane, unsigned field, uint64_t id, const char *name) {
    struct buffer metadata = {0}, entry = {0};
    put_number(&metadata, 1, id);
    put_bytes(&metadata, 2, text_of(name));
    put_number(&entry, 1, id);
    put_message(&entry, 2, &metadata);
    put_message(plane, field, &entry);
}

static void put_text_stat(struct buffer *event, uint64_t id, const char *text) {
    struct buffer stat = {0};
    put_number(&stat, 1, id);
    put_bytes(&stat, 5, text_of(text));
    put_message(event, 4, &stat);
}

static void put_number_stat(struct buffer *event, uint64_t id, uint64_t number) {
    struct buffer stat = {0};
    put_number(&stat, 1, id);
    put_number(&stat, 3, number);
    put_message(event, 4, &stat);
}

static void put_double_stat(struct buffer *event, uint64_t id, double number) {
    struct buffer stat = {0};
    put_number(&stat, 1, id);
    put_varint(&stat, 2 << 3 | 1);
    buffer_append(&stat, (const char *)&number, sizeof number);
    put_message(event, 4, &stat);
}

static struct buffer event_of(uint64_t name, uint64_t offset_ps, uint64_t duration_ps) {
    struct buffer event = {0};
    put_number(&event, 1, name);
    put_number(&event, 2, offset_ps);
    put_number(&event, 3, duration_ps);
    return event;
}

enum { DETAILS = 1, COPY_DETAILS, SET_DETAILS, CORRELATION };

static struct buffer plane_of(const char *name) {
    struct buffer plane = {0};
    put_bytes(&plane, 2, text_of(name));
    put_name(&plane, 5, DETAILS, "kernel_details");
    put_name(&plane, 5, COPY_DETAILS, "memcpy_details");
    put_name(&plane, 5, SET_DETAILS, "memset_details");
    put_name(&plane, 5, CORRELATION, "correlation_id");
    return plane;
}

static struct buffer line_of(const char *name, uint64_t timestamp_ns) {
    struct buffer line = {0};
    put_number(&line, 1, 5);
    put_bytes(&line, 2, text_of(name));
    put_number(&line, 3, timestamp_ns);
    return line;
}

TEST(the_jax_fixture_has_its_kernels_to_the_nanosecond) {
    const char *path = test_fixture("xplane/jax_conv_minimal_legacy.xplane.pb");
    struct status status;
    int64_t sums[9] = {0}, first[9], last[9] = {0};
    size_t counts[9] = {0}, matched = 0;
    struct map calls = {0};
    if (!path)
        return;
    struct trace *trace = open_trace(path, false, &status);
    REQUIRE(trace && trace->activity.count == 78 && trace->device.count == 9);
    for (size_t i = 0; i < 9; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; i < trace->call.count; i++)
        map_set(&calls, trace->call.correlation[i], 1, &status);
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint32_t device = trace->queue.device[trace->activity.queue[i]];
        int64_t start = trace->activity.start[i], end = start + trace->activity.duration[i];
        CHECK_INT(trace->activity.kind[i], ACTIVITY_KERNEL);
        counts[device]++;
        sums[device] += trace->activity.duration[i];
        first[device] = start < first[device] ? start : first[device];
        last[device] = end > last[device] ? end : last[device];
        matched += map_find(&calls, trace->activity.correlation[i]) != NULL;
    }
    CHECK_INT(counts[1], 53);
    CHECK_INT(sums[1], 889028);
    CHECK_INT(last[1] - first[1], 27867728);
    CHECK_INT(counts[8], 25);
    CHECK_INT(sums[8], 3586493);
    CHECK_INT(last[8] - first[8], 15761301);
    CHECK_INT(matched, 78);
    CHECK(text_is(trace_text(trace, trace->device.label[8]), "/device:GPU:7"));
    CHECK_INT(trace->device.index[8], 7);
    CHECK_INT(trace->device.listed[2], 1);
    CHECK_INT(trace->device.bandwidth[8], 2662400000000);
    CHECK_INT(trace->memory.count, 460);
    map_finish(&calls);
    trace_close(trace);
}

TEST(gpu_events_become_kernels_copies_and_sets_by_their_details) {
    struct status status;
    struct buffer plane = plane_of("/device:GPU:3"), space = {0};
    struct buffer line = line_of("Stream #7(Compute,MemcpyH2D)", 1000);
    put_name(&plane, 4, 1, "gemm");
    put_name(&plane, 4, 2, "MemcpyH2D");
    put_name(&plane, 4, 3, "Memset");
    struct buffer kernel = event_of(1, 1500, 2500); /* half to even: 2 and 2 */
    put_text_stat(&kernel, DETAILS,
                  "regs:32 static_shared:16 dynamic_shared:8 grid:4,3,2 block:256,1,1 occ_pct:50");
    put_number_stat(&kernel, CORRELATION, 77);
    put_message(&line, 4, &kernel);
    struct buffer copy = event_of(2, 10000, 3000);
    put_text_stat(&copy, COPY_DETAILS, "kind_src:pinned kind_dst:device size:1024 dest:0 async:1");
    put_message(&line, 4, &copy);
    struct buffer set = event_of(3, 20000, 3000);
    put_text_stat(&set, SET_DETAILS, "kind:device num_bytes:1 size:64");
    put_message(&line, 4, &set);
    struct buffer unset = event_of(1, 30000, 1000); /* what ROCm writes when it does not know */
    put_text_stat(&unset, DETAILS, "regs:2191500840 static_shared:32462 grid:1,1,1 block:64,1,1");
    put_message(&line, 4, &unset);
    struct buffer total = {0}; /* an aggregate has no time */
    put_number(&total, 1, 1);
    put_number(&total, 5, 1000);
    put_message(&line, 4, &total);
    put_message(&plane, 3, &line);
    struct buffer derived = line_of("XLA Ops", 1000);
    struct buffer op = event_of(1, 0, 9000);
    put_message(&derived, 4, &op);
    put_message(&plane, 3, &derived);
    put_message(&space, 1, &plane);

    struct trace *trace = open_bytes(&space, false, &status);
    REQUIRE(trace && trace->activity.count == 4);
    CHECK_INT(trace->activity.start[0], 1002);
    CHECK_INT(trace->activity.duration[0], 2);
    CHECK_INT(trace->activity.grid_y[0], 3);
    CHECK_INT(trace->activity.block_x[0], 256);
    CHECK_INT(trace->activity.registers[0], 32);
    CHECK_INT(trace->activity.shared_dynamic[0], 8);
    CHECK_INT(trace->activity.correlation[0], 77);
    CHECK_INT(trace->activity.kind[1], ACTIVITY_COPY);
    CHECK_INT(trace->activity.direction[1], COPY_HTOD);
    CHECK_INT(trace->activity.from_memory[1], MEMORY_PINNED);
    CHECK_INT(trace->activity.bytes[1], 1024);
    CHECK_INT(trace->activity.kind[2], ACTIVITY_SET);
    CHECK_INT(trace->activity.bytes[2], 64);
    CHECK_INT(trace->activity.registers[3], 0);
    CHECK_INT(trace->activity.shared_static[3], 0);
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 7);
    REQUIRE(trace->range.count == 1);
    CHECK_INT(trace->range.category[0], RANGE_DEVICE);
    CHECK(text_is(trace_meta(trace, "xplane.aggregated_events"), "1"));
    trace_close(trace);
}

TEST(host_events_become_calls_launches_and_ranges) {
    struct status status;
    struct buffer plane = plane_of("/host:CPU"), space = {0};
    struct buffer line = line_of("python3", 0);
    put_name(&plane, 4, 1, "cuStreamSynchronize");
    put_name(&plane, 4, 2, "fusion_3");
    put_name(&plane, 4, 3, "$train.py:7 step");
    put_name(&plane, 4, 4, "cupboard");
    put_name(&plane, 4, 5, "BlockHostUntilReady");
    put_name(&plane, 4, 6, "$api.py:3105 block_until_ready");
    for (uint64_t name = 1; name <= 6; name++) {
        struct buffer event = event_of(name, name * 1000, 500);
        if (name == 2)
            put_number_stat(&event, CORRELATION, 9);
        put_message(&line, 4, &event);
    }
    put_message(&plane, 3, &line);
    put_message(&space, 1, &plane);
    struct trace *trace = open_bytes(&space, false, &status);
    REQUIRE(trace && trace->call.count == 4 && trace->range.count == 2);
    CHECK_INT(trace->call.class[0], CALL_SYNC);
    CHECK_INT(trace->call.class[1], CALL_LAUNCH);
    CHECK_INT(trace->call.class[2], CALL_SYNC);
    CHECK_INT(trace->call.class[3], CALL_SYNC);
    CHECK_INT(trace->call.correlation[1], 9);
    CHECK_INT(trace->range.category[0], RANGE_PYTHON);
    CHECK_INT(trace->range.category[1], RANGE_OTHER);
    trace_close(trace);
}

TEST(memory_of_a_profile_belongs_to_the_device_of_its_allocator) {
    enum { ALLOCATOR = 20, BYTES, ADDRESS, ALLOCATED, RESERVED };
    static const char *const allocators[] = {"GPU_6_bfc", "GPU_0_bfc",    "GPU_12",
                                             "GPU_x_bfc", "gpu_host_bfc", "GPU_99999999999_bfc"};
    static const int64_t indices[] = {6, 0, 12, -1, -1, -1};
    struct status status;
    struct buffer plane = plane_of("/host:CPU"), space = {0};
    struct buffer line = line_of("python3", 0);
    put_name(&plane, 5, ALLOCATOR, "allocator_name");
    put_name(&plane, 5, BYTES, "allocation_bytes");
    put_name(&plane, 5, ADDRESS, "addr");
    put_name(&plane, 5, ALLOCATED, "bytes_allocated");
    put_name(&plane, 5, RESERVED, "bytes_reserved");
    put_name(&plane, 4, 1, "MemoryAllocation");
    put_name(&plane, 4, 2, "MemoryDeallocation");
    for (uint64_t i = 0; i < ARRAY_COUNT(allocators); i++) {
        struct buffer event = event_of(1 + i % 2, i * 1000000, 0);
        put_text_stat(&event, ALLOCATOR, allocators[i]);
        put_number_stat(&event, BYTES, 64 + i);
        put_number_stat(&event, ADDRESS, 4096 * (i + 1));
        put_number_stat(&event, ALLOCATED, 1000 + i);
        put_number_stat(&event, RESERVED, 2000 + i);
        put_message(&line, 4, &event);
    }
    put_message(&plane, 3, &line);
    put_message(&space, 1, &plane);
    struct trace *trace = open_bytes(&space, false, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->memory.count == ARRAY_COUNT(allocators));
    for (size_t i = 0; i < ARRAY_COUNT(allocators); i++) {
        uint32_t device = trace->memory.device[i];
        CHECK_INT(device != 0, indices[i] >= 0);
        CHECK_INT(device ? (int64_t)trace->device.index[device] : -1, indices[i]);
        CHECK_INT(trace->memory.operation[i], i % 2 ? MEMORY_FREE : MEMORY_ALLOC);
        CHECK_INT(trace->memory.bytes[i], 64 + i);
        CHECK_INT(trace->memory.allocated[i], 1000 + i);
        CHECK_INT(trace->memory.reserved[i], 2000 + i);
    }
    trace_close(trace);
}

static struct buffer space_with_event(uint64_t timestamp, uint64_t offset, uint64_t duration) {
    struct buffer plane = plane_of("/device:GPU:0"), space = {0};
    struct buffer line = line_of("Stream #1", timestamp);
    struct buffer event = event_of(1, offset, duration);
    put_message(&line, 4, &event);
    put_message(&plane, 3, &line);
    put_message(&space, 1, &plane);
    return space;
}

TEST(impossible_picoseconds_are_refused_or_dropped) {
    const uint64_t bad[][3] = {
        {1, UINT64_MAX, 1}, {1, 1, UINT64_MAX}, {UINT64_MAX, 1, 1}, {TRACE_TIME_LIMIT, 1000, 1000}};
    struct status status;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct buffer space = space_with_event(bad[i][0], bad[i][1], bad[i][2]);
        CHECK(!open_bytes(&space, false, &status));
        CHECK(strstr(status.message, "--skip-invalid drops such events"));
        space = space_with_event(bad[i][0], bad[i][1], bad[i][2]);
        struct trace *trace = open_bytes(&space, true, &status);
        REQUIRE(trace);
        CHECK_INT(trace->activity.count, 0);
        CHECK_INT(trace_meta_sum(trace, META_DROPS), 1);
        trace_close(trace);
    }
    struct buffer space = space_with_event(1757516928109201518, 1000, 1000);
    struct trace *trace = open_bytes(&space, false, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.start[0], 1757516928109201519); /* epoch ns do not overflow in ps */
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "unix"));
    trace_close(trace);
}

TEST(a_cut_off_profile_is_refused_with_the_byte) {
    struct status status;
    struct buffer space = space_with_event(1, 1, 1);
    size_t length = space.length;
    space.length -= 3;
    CHECK(!open_bytes(&space, false, &status));
    CHECK(strstr(status.message, "begins at byte 0"));
    space = space_with_event(1, 1, 1);
    put_varint(&space, 1 << 3 | 3); /* a group, which no XSpace has */
    CHECK(!open_bytes(&space, false, &status));
    char expected[64];
    snprintf(expected, sizeof expected, "damaged at byte %zu", length);
    CHECK(strstr(status.message, expected));
}

/* Compared row by row with rows.txt. */
TEST(a_number_in_a_double_counts_where_it_is_whole) {
    static const double numbers[] = {77, 0, -1, 1e30, 4294967296};
    static const uint64_t whole[] = {77, 0, 0, 0, 4294967296};
    enum { NUMBERS = ARRAY_COUNT(numbers) };
    struct status status;
    struct buffer plane = plane_of("/device:GPU:0"), space = {0};
    struct buffer line = line_of("Stream #7(Compute)", 1000);
    put_name(&plane, 4, 1, "gemm");
    for (uint64_t i = 0; i < NUMBERS; i++) {
        struct buffer kernel = event_of(1, 10000 * i, 2000);
        put_text_stat(&kernel, DETAILS, "regs:32 grid:4,3,2 block:256,1,1");
        put_double_stat(&kernel, CORRELATION, numbers[i]);
        put_message(&line, 4, &kernel);
    }
    put_message(&plane, 3, &line);
    put_message(&space, 1, &plane);
    struct trace *trace = open_bytes(&space, false, &status);
    REQUIRE(trace && trace->activity.count == NUMBERS);
    for (uint64_t i = 0; i < NUMBERS; i++)
        CHECK_INT(trace->activity.correlation[i], whole[i]);
    trace_close(trace);
}

/* Figures of a device stand in its plane: the last clock, in kHz, is no clock any more. */
TEST(a_device_has_the_figures_of_its_plane_where_they_can_be) {
    enum { CLOCK = 50, CORES, MEMORY };
    static const struct {
        uint64_t clock_khz, cores, clock_hz, multiprocessors;
    } cases[] = {
        {1980000, 132, 1980000000, 132},
        {999999999, UINT32_MAX, 999999999000, UINT32_MAX},
        {1000000000, (uint64_t)UINT32_MAX + 1, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const uint64_t figures[] = {cases[i].clock_khz, cases[i].cores, (uint64_t)80 << 30};
        struct status status;
        struct buffer plane = plane_of("/device:GPU:3"), space = {0};
        put_name(&plane, 5, CLOCK, "clock_rate");
        put_name(&plane, 5, CORES, "core_count");
        put_name(&plane, 5, MEMORY, "memory_size");
        for (uint64_t k = 0; k < 3; k++) {
            struct buffer stat = {0};
            put_number(&stat, 1, CLOCK + k);
            put_number(&stat, 3, figures[k]);
            put_message(&plane, 6, &stat);
        }
        put_message(&space, 1, &plane);
        struct trace *trace = open_bytes(&space, false, &status);
        CHECK_OK(trace, status);
        REQUIRE(trace && trace->device.count == 2);
        CHECK_INT(trace->device.index[1], 3);
        CHECK_INT(trace->device.clock_hz[1], cases[i].clock_hz);
        CHECK_INT(trace->device.multiprocessors[1], cases[i].multiprocessors);
        CHECK_INT(trace->device.memory_bytes[1], (uint64_t)80 << 30);
        trace_close(trace);
    }
}

TEST(copies_of_a_profile_are_told_by_their_names_and_memories) {
    static const char *const copies[] = {
        "kind_src:device kind_dst:pageable size:64",
        "kind_src:device kind_dst:device size:65",
        "kind_src:pageable kind_dst:pinned size:66",
        "kind_src:unknown kind_dst:device size:67",
        "kind_src:device kind_dst:unknown size:68",
        "kind:Unknown size:69",
        "kind:DtoD kind_src:array kind_dst:array",
        "size:no",
        "kind:Unknown kind_src:pinned kind_dst:device size:70",
    };
    struct status status;
    struct buffer plane = plane_of("/device:GPU:1"), space = {0};
    struct buffer line = line_of("Stream #2(MemcpyD2D)", 1000);
    put_name(&plane, 4, 1, "copy");
    put_name(&plane, 4, 2, "MemcpyD2H");
    for (uint64_t i = 0; i < ARRAY_COUNT(copies); i++)
        for (uint64_t name = 1; name <= 2; name++) {
            struct buffer copy = event_of(name, 10000 * i + 4000 * name, 3000);
            put_text_stat(&copy, COPY_DETAILS, copies[i]);
            put_number_stat(&copy, CORRELATION, i + 1);
            put_message(&line, 4, &copy);
        }
    put_message(&plane, 3, &line);
    put_message(&space, 1, &plane);
    put_bytes(&space, 4, TEXT("machine"));
    put_bytes(&space, 4, TEXT("another"));
    struct trace *trace = open_bytes(&space, false, &status);
    REQUIRE(trace);
    CHECK(text_is(trace_meta(trace, META_HOST), "machine"));
    trace_close(trace);
}

static void put_line(struct buffer *plane, const char *name, uint64_t start, uint64_t duration) {
    struct buffer line = line_of(name, start), event = event_of(9, 0, duration * 1000);
    put_message(&line, 4, &event);
    put_message(plane, 3, &line);
}

/* Modules contain ops, and asynchronous ops overlap them: only ops are work. */
TEST(the_ops_of_a_tpu_are_its_work) {
    struct status status;
    struct buffer plane = plane_of("/device:TPU:1"), idle = plane_of("/device:TPU:2"), space = {0};
    put_name(&plane, 4, 9, "fusion.7");
    put_line(&plane, "XLA Modules", 1000, 500);
    put_line(&plane, "XLA Ops", 1100, 300);
    put_line(&plane, "Async XLA Ops", 1000, 900);
    put_message(&space, 1, &plane);
    put_message(&space, 1, &idle);
    struct trace *trace = open_bytes(&space, false, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace_load(trace, TABLE_ACTIVITY, NULL, &status) &&
            trace_load(trace, TABLE_RANGE, NULL, &status));
    REQUIRE(trace->activity.count == 1 && trace->range.count == 2 && trace->device.count == 3);
    CHECK_INT(trace->activity.start[0], 1100);
    CHECK_INT(trace->activity.duration[0], 300);
    CHECK_INT(trace->range.category[0], RANGE_DEVICE);
    CHECK_INT(trace->range.category[1], RANGE_DEVICE);
    trace_close(trace);
}
