/* Perfetto traces of other producers, made here packet by packet. */
#include "../test.h"
#include "base/array.h"
#include "rows.h"

#include <math.h>
#include <zlib.h>

#include "base/output.h"
#include "base/protobuf.h"
#include "import/import.h"
#include "import/perfetto/perfetto.h"

static void put_interned(struct buffer *packet, uint32_t kind, uint64_t id, const char *text) {
    size_t interned = protobuf_begin(packet, PACKET_INTERNED);
    size_t entry = protobuf_begin(packet, kind);
    protobuf_put_integer(packet, INTERNED_ENTRY_ID, id);
    protobuf_put_text(packet, INTERNED_ENTRY_TEXT, text_of(text));
    protobuf_end(packet, entry);
    protobuf_end(packet, interned);
}

static void put_clock(struct buffer *packet, uint64_t id, uint64_t time, uint64_t multiplier,
                      bool incremental) {
    size_t clock = protobuf_begin(packet, 1);
    protobuf_put_integer(packet, 1, id);
    protobuf_put_integer(packet, 2, time);
    if (incremental)
        protobuf_put_integer(packet, 3, 1);
    if (multiplier)
        protobuf_put_integer(packet, 4, multiplier);
    protobuf_end(packet, clock);
}

struct packet {
    struct buffer *file;
    size_t begun;
};

static struct packet begin_packet(struct buffer *file, uint64_t sequence, uint64_t time,
                                  uint64_t clock) {
    struct packet packet = {file, protobuf_begin(file, TRACE_PACKET)};
    protobuf_put_integer(file, PACKET_SEQUENCE, sequence);
    if (time)
        protobuf_put_integer(file, PACKET_TIMESTAMP, time);
    if (clock)
        protobuf_put_integer(file, PACKET_CLOCK, clock);
    return packet;
}

static void end_packet(struct packet packet) {
    protobuf_end(packet.file, packet.begun);
}

static void put_event(struct buffer *file, uint64_t sequence, uint64_t time, uint64_t clock,
                      unsigned type, uint64_t track, uint64_t name) {
    struct packet packet = begin_packet(file, sequence, time, clock);
    size_t event = protobuf_begin(file, PACKET_TRACK_EVENT);
    protobuf_put_integer(file, EVENT_TYPE, type);
    protobuf_put_integer(file, EVENT_TRACK, track);
    if (name)
        protobuf_put_integer(file, EVENT_NAME_ID, name);
    protobuf_end(file, event);
    end_packet(packet);
}

static void put_names(struct buffer *file, uint64_t sequence, uint64_t id, const char *name,
                      bool cleared) {
    struct packet packet = begin_packet(file, sequence, 0, 0);
    if (cleared)
        protobuf_put_integer(file, PACKET_FLAGS, FLAG_CLEARED);
    put_interned(file, INTERNED_NAMES, id, name);
    end_packet(packet);
}

static void put_thread(struct buffer *file, uint64_t track, uint64_t pid, uint64_t tid,
                       const char *name) {
    struct packet packet = begin_packet(file, 1, 0, 0);
    size_t descriptor = protobuf_begin(file, PACKET_TRACK);
    protobuf_put_integer(file, TRACK_UUID, track);
    size_t thread = protobuf_begin(file, TRACK_THREAD);
    protobuf_put_integer(file, THREAD_PID, pid);
    protobuf_put_integer(file, THREAD_TID, tid);
    protobuf_put_text(file, THREAD_NAME, text_of(name));
    protobuf_end(file, thread);
    protobuf_end(file, descriptor);
    end_packet(packet);
}

static struct trace *open_bytes(const struct buffer *file, const struct import_options *options,
                                struct status *status) {
    const char *path = test_temporary(".pftrace");
    struct output output;
    struct trace *trace = NULL;
    *status = (struct status){0};
    if (!output_open(&output, path, true, status))
        return NULL;
    output_write(&output, file->data, file->length);
    if (!output_commit(&output, status) || !import_open(path, options, &trace, status))
        return NULL;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        CHECK_OK(trace_load(trace, table, NULL, status), *status);
    rows_check(trace);
    return trace;
}

static const char *name_at(const struct trace *trace, uint32_t string) {
    static char copy[100];
    struct text text = trace_text(trace, string);
    snprintf(copy, sizeof copy, "%.*s", TEXT_ARGS(text));
    return copy;
}

TEST(nested_slices_of_a_thread_become_ranges_on_it) {
    struct buffer file = {0};
    struct status status;
    put_thread(&file, 9, 42, 43, "worker");
    put_names(&file, 1, 1, "outer", true);
    put_names(&file, 1, 2, "inner", false);
    put_event(&file, 1, 1000, 0, TYPE_BEGIN, 9, 1);
    put_event(&file, 1, 1100, 0, TYPE_BEGIN, 9, 2);
    put_event(&file, 1, 1300, 0, TYPE_END, 9, 0);
    put_event(&file, 1, 1350, 0, TYPE_INSTANT, 9, 2);
    put_event(&file, 1, 2000, 0, TYPE_END, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->range.count, 2);
    CHECK_INT(trace->range.start[0], 1100);
    CHECK_INT(trace->range.duration[0], 200);
    CHECK_STRING(name_at(trace, trace->range.name[0]), "inner");
    CHECK_INT(trace->range.start[1], 1000);
    CHECK_INT(trace->range.duration[1], 1000);
    CHECK_INT(trace->mark.count, 1);
    CHECK_INT(trace->mark.time[0], 1350);
    uint32_t thread = trace->range.thread[0];
    CHECK_INT(trace->thread.tid[thread], 43);
    CHECK_STRING(name_at(trace, trace->thread.name[thread]), "worker");
    CHECK_INT(trace->process.pid[trace->thread.process[thread]], 42);
    trace_close(trace);
}

TEST(interned_names_die_when_the_state_is_cleared) {
    struct buffer file = {0};
    struct status status;
    put_names(&file, 1, 1, "old", true);
    put_event(&file, 1, 10, 0, TYPE_INSTANT, 9, 1);
    put_names(&file, 1, 2, "other", true);
    put_event(&file, 1, 20, 0, TYPE_INSTANT, 9, 1);
    put_names(&file, 2, 1, "of another sequence", true);
    put_event(&file, 2, 30, 0, TYPE_INSTANT, 9, 1);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->mark.count, 3);
    CHECK_STRING(name_at(trace, trace->mark.name[0]), "old");
    CHECK_STRING(name_at(trace, trace->mark.name[1]), "");
    CHECK_STRING(name_at(trace, trace->mark.name[2]), "of another sequence");
    trace_close(trace);
}

/* Boot clock 5000 = monotonic 2000 = a clock of sequence 1 at 7 units of 100 ns, in differences. */
TEST(every_clock_is_turned_into_the_traces) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t snapshot = protobuf_begin(&file, PACKET_CLOCK_SNAPSHOT);
    put_clock(&file, 6, 5000, 0, false);
    put_clock(&file, 3, 2000, 0, false);
    put_clock(&file, 64, 7, 100, true);
    protobuf_end(&file, snapshot);
    end_packet(packet);
    put_event(&file, 1, 5010, 0, TYPE_INSTANT, 9, 0);
    put_event(&file, 1, 2020, 3, TYPE_INSTANT, 9, 0);
    put_event(&file, 1, 3, 64, TYPE_INSTANT, 9, 0);
    put_event(&file, 1, 4, 64, TYPE_INSTANT, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->mark.count, 4);
    CHECK_INT(trace->mark.time[0], 5010);
    CHECK_INT(trace->mark.time[1], 5020);
    CHECK_INT(trace->mark.time[2], 5300);
    CHECK_INT(trace->mark.time[3], 5700);
    trace_close(trace);
}

/* Realtime is 1 ns ahead of the trace's clock, at the beginning of 1970. */
TEST(the_clock_of_the_day_places_a_trace_in_time) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t snapshot = protobuf_begin(&file, PACKET_CLOCK_SNAPSHOT);
    put_clock(&file, 6, 5000, 0, false);
    put_clock(&file, 1, 5001, 0, false);
    protobuf_end(&file, snapshot);
    end_packet(packet);
    put_event(&file, 1, 5010, 0, TYPE_INSTANT, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "unix"));
    CHECK(text_is(trace_meta(trace, META_CLOCK_OFFSET), "1"));
    trace_close(trace);
}

static void put_stage(struct buffer *file, uint64_t time, uint64_t duration) {
    struct packet packet = begin_packet(file, 1, time, 0);
    size_t stage = protobuf_begin(file, PACKET_GPU_STAGE);
    protobuf_put_integer(file, 2, duration);
    protobuf_put_integer(file, 13, 5);
    protobuf_put_integer(file, 10, 77);
    protobuf_put_text(file, 17, TEXT("shade"));
    size_t launch = protobuf_begin(file, 21);
    size_t grid = protobuf_begin(file, 1);
    protobuf_put_integer(file, 1, 8);
    protobuf_put_integer(file, 2, 4);
    protobuf_put_integer(file, 3, 2);
    protobuf_end(file, grid);
    size_t block = protobuf_begin(file, 2);
    protobuf_put_integer(file, 1, 32);
    protobuf_put_integer(file, 2, 6);
    protobuf_put_integer(file, 3, 3);
    protobuf_end(file, block);
    protobuf_end(file, launch);
    protobuf_end(file, stage);
    end_packet(packet);
}

/* A packet of GPU counters: names by id in a descriptor, then values. Compared with rows.txt. */
TEST(gpu_counters_keep_their_names_values_and_device) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 100, 0);
    size_t event = protobuf_begin(&file, PACKET_GPU_COUNTER);
    size_t descriptor = protobuf_begin(&file, 1);
    static const char *const names[] = {"busy", "clock"};
    for (uint64_t i = 0; i < 2; i++) {
        size_t spec = protobuf_begin(&file, 1);
        protobuf_put_integer(&file, 1, 10 + i);
        protobuf_put_text(&file, 2, text_of(names[i]));
        protobuf_end(&file, spec);
    }
    protobuf_end(&file, descriptor);
    protobuf_put_integer(&file, 3, 1);
    for (uint64_t i = 0; i < 3; i++) {
        size_t value = protobuf_begin(&file, 2);
        protobuf_put_integer(&file, 1, 10 + i);
        if (i == 0)
            protobuf_put_double(&file, 3, 0.25);
        else
            protobuf_put_integer(&file, 2, 500 + i);
        protobuf_end(&file, value);
    }
    protobuf_end(&file, event);
    end_packet(packet);
    put_stage(&file, 200, 50);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    REQUIRE(trace->counter.count == 3);
    CHECK_STRING(name_at(trace, trace->counter.name[1]), "clock");
    CHECK(trace->counter.value[0] == 0.25);
    CHECK_INT(trace->counter.value[1], 501);
    CHECK_INT(trace->counter.name[2], 0);
    trace_close(trace);
}

/* Compared row by row with rows.txt. */
TEST(counter_tracks_of_a_process_keep_integers_and_fractions) {
    struct buffer file = {0};
    struct status status;
    static const char *const names[] = {"depth", "load"};
    for (uint64_t i = 0; i < 2; i++) {
        struct packet packet = begin_packet(&file, 1, 0, 0);
        size_t track = protobuf_begin(&file, PACKET_TRACK);
        protobuf_put_integer(&file, TRACK_UUID, 20 + i);
        protobuf_put_text(&file, TRACK_NAME, text_of(names[i]));
        size_t counter = protobuf_begin(&file, TRACK_COUNTER);
        protobuf_end(&file, counter);
        protobuf_end(&file, track);
        end_packet(packet);
    }
    put_thread(&file, 9, 42, 43, "worker");
    put_names(&file, 1, 1, "outer", true);
    for (uint64_t i = 0; i < 4; i++) {
        struct packet packet = begin_packet(&file, 1, 100 + 10 * i, 0);
        size_t event = protobuf_begin(&file, PACKET_TRACK_EVENT);
        protobuf_put_integer(&file, EVENT_TYPE, TYPE_COUNTER);
        protobuf_put_integer(&file, EVENT_TRACK, 20 + i % 2);
        if (i % 2)
            protobuf_put_double(&file, EVENT_COUNTER_DOUBLE, 0.25 * (double)i);
        else
            protobuf_put_integer(&file, EVENT_COUNTER, 7 * i);
        protobuf_end(&file, event);
        end_packet(packet);
    }
    put_event(&file, 1, 200, 0, TYPE_BEGIN, 9, 1);
    put_event(&file, 1, 250, 0, TYPE_END, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    REQUIRE(trace->counter.count == 4);
    CHECK_STRING(name_at(trace, trace->counter.name[1]), "load");
    CHECK(trace->counter.value[2] == 14 && trace->counter.value[3] == 0.75);
    trace_close(trace);
}

TEST(gpu_render_stages_become_activities_launched_by_their_submission) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    put_interned(&file, INTERNED_GPU_SPECIFICATIONS, 5, "compute queue");
    end_packet(packet);
    packet = begin_packet(&file, 1, 100, 0);
    size_t vulkan = protobuf_begin(&file, PACKET_VULKAN), submit = protobuf_begin(&file, 2);
    protobuf_put_integer(&file, 1, 30);
    protobuf_put_integer(&file, 2, 42);
    protobuf_put_integer(&file, 3, 43);
    protobuf_put_integer(&file, 6, 77);
    protobuf_end(&file, submit);
    protobuf_end(&file, vulkan);
    end_packet(packet);
    put_stage(&file, 200, 50);
    put_stage(&file, 300, 60);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.start[1], 300);
    CHECK_INT(trace->activity.duration[1], 60);
    CHECK_INT(trace->activity.grid_x[1], 8);
    CHECK_INT(trace->activity.grid_z[1], 2);
    CHECK_INT(trace->activity.block_x[1], 32);
    CHECK_INT(trace->activity.block_y[1], 6);
    CHECK_INT(trace->activity.block_z[1], 3);
    CHECK_STRING(name_at(trace, trace->activity.name[0]), "shade");
    CHECK_STRING(name_at(trace, trace->queue.name[trace->activity.queue[0]]), "compute queue");
    CHECK_INT(trace->queue.count - 1, 1);
    CHECK_INT(trace->call.count, 1);
    CHECK_INT(trace->call.correlation[0], trace->activity.correlation[0]);
    trace_close(trace);
}

/* A render stage with these fields, as pairs of number and value. */
static void put_stage_of(struct buffer *file, uint64_t time, const uint64_t (*fields)[2],
                         size_t count) {
    struct packet packet = begin_packet(file, 1, time, 0);
    size_t stage = protobuf_begin(file, PACKET_GPU_STAGE);
    for (size_t i = 0; i < count; i++)
        protobuf_put_integer(file, (unsigned)fields[i][0], fields[i][1]);
    protobuf_end(file, stage);
    end_packet(packet);
}

TEST(a_stage_has_the_name_of_its_kernel_then_of_its_event_then_of_its_stage) {
    static const uint64_t kernel[][2] = {{2, 5},  {3, 9},  {5, 4}, {11, 1},
                                         {14, 5}, {20, 8}, {19, 6}};
    static const uint64_t event[][2] = {{2, 6}, {3, 9}, {5, 4}, {11, 1}, {14, 5}, {20, 8}};
    static const uint64_t stage[][2] = {{2, 7}, {3, 9}, {5, 3}, {11, 2}, {14, 5}};
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    put_interned(&file, INTERNED_GPU_SPECIFICATIONS, 5, "compute");
    end_packet(packet);
    packet = begin_packet(&file, 1, 1, 0);
    put_interned(&file, INTERNED_KERNELS, 6, "gemm");
    end_packet(packet);
    put_names(&file, 1, 8, "render", false);
    put_stage_of(&file, 100, kernel, ARRAY_COUNT(kernel));
    put_stage_of(&file, 200, event, ARRAY_COUNT(event));
    put_stage_of(&file, 300, stage, ARRAY_COUNT(stage));
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->activity.count == 3);
    static const char *const names[] = {"gemm", "render", "compute"};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STRING(name_at(trace, trace->activity.name[i]), names[i]);
        CHECK_INT(trace->activity.duration[i], 5 + i);
    }
    uint32_t queue = trace->activity.queue[0], other = trace->activity.queue[2];
    CHECK_INT(trace->activity.queue[1], queue);
    CHECK(other != queue);
    CHECK_INT(trace->queue.context[queue], 4);
    CHECK_INT(trace->queue.stream[queue], 9);
    CHECK_INT(trace->device.index[trace->queue.device[queue]], 1);
    CHECK_INT(trace->device.index[trace->queue.device[other]], 2);
    trace_close(trace);
}

TEST(compressed_packets_are_read_in_their_place) {
    struct buffer inner = {0}, file = {0};
    struct status status;
    unsigned char packed[4096];
    uLongf length = sizeof packed;
    put_names(&inner, 1, 1, "inside", true);
    put_event(&inner, 1, 10, 0, TYPE_BEGIN, 9, 1);
    CHECK_INT(compress(packed, &length, (unsigned char *)inner.data, inner.length), Z_OK);
    struct packet packet = begin_packet(&file, 2, 0, 0);
    protobuf_put_text(&file, PACKET_COMPRESSED, (struct text){(char *)packed, length});
    end_packet(packet);
    put_event(&file, 1, 25, 0, TYPE_END, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    CHECK_OK(trace, status);
    if (trace) {
        CHECK_INT(trace->range.count, 1);
        CHECK_INT(trace->range.duration[0], 15);
    }
    trace_close(trace);
    file.data[file.length / 2 - 8] ^= 1; /* in the zlib stream */
    trace = open_bytes(&file, &(struct import_options){0}, &status);
    CHECK(!trace && strstr(status.message, "damaged"));
    trace_close(trace);
    buffer_finish(&inner);
    buffer_finish(&file);
}

TEST(a_slice_that_ends_before_it_began_fails_or_is_dropped) {
    struct buffer file = {0};
    struct status status;
    put_event(&file, 1, 100, 0, TYPE_BEGIN, 9, 0);
    put_event(&file, 1, 90, 0, TYPE_END, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    CHECK(!trace && strstr(status.message, "--skip-invalid drops such events"));
    trace_close(trace);
    trace = open_bytes(&file, &(struct import_options){.skip_invalid = true}, &status);
    CHECK_OK(trace, status);
    if (trace) {
        CHECK_INT(trace->range.count, 0);
        CHECK_INT(trace_meta_sum(trace, META_DROPS), 1);
    }
    trace_close(trace);
    buffer_finish(&file);
}

TEST(a_slice_without_an_end_ends_with_the_trace_and_a_warning) {
    struct buffer file = {0};
    struct status status;
    put_event(&file, 1, 100, 0, TYPE_END, 9, 0);
    put_event(&file, 1, 110, 0, TYPE_BEGIN, 9, 0);
    put_event(&file, 1, 500, 0, TYPE_INSTANT, 9, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->range.count, 1);
    CHECK_INT(trace->range.duration[0], 390);
    CHECK(trace_meta(trace, META_WARNING).length > 0);
    trace_close(trace);
}

TEST(a_perfetto_trace_cut_in_a_packet_is_read_to_there) {
    struct buffer file = {0};
    struct status status;
    put_event(&file, 1, 100, 0, TYPE_INSTANT, 9, 0);
    put_event(&file, 1, 200, 0, TYPE_INSTANT, 9, 0);
    file.length -= 3;
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->mark.count, 1);
    CHECK(trace_meta(trace, META_TRUNCATED).length > 0);
    trace_close(trace);
}

TEST(times_out_of_range_and_negative_durations_are_refused) {
    static const struct {
        int64_t start, duration;
        bool valid;
    } rows[] = {
        {0, 0, true},
        {TRACE_TIME_LIMIT, TRACE_TIME_LIMIT, true},
        {-TRACE_TIME_LIMIT, 0, true},
        {TRACE_TIME_LIMIT + 1, 0, false},
        {-TRACE_TIME_LIMIT - 1, 0, false},
        {0, -1, false},
        {0, TRACE_TIME_LIMIT + 1, false},
    };
    struct import_options options = {0};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct status status = {0};
        struct perfetto_import import = {.options = &options, .status = &status};
        bool drop;
        CHECK_INT(perfetto_check_times(&import, TABLE_CALL, rows[i].start, rows[i].duration, &drop),
                  rows[i].valid);
        CHECK_INT(drop, !rows[i].valid);
        CHECK_INT(status.message[0] == 0, rows[i].valid);
    }
}

static void put_annotation(struct buffer *file, const char *name, uint32_t field, uint64_t bits) {
    size_t annotation = protobuf_begin(file, EVENT_ANNOTATION);
    protobuf_put_text(file, ANNOTATION_NAME, text_of(name));
    if (field == ANNOTATION_DOUBLE)
        protobuf_put_fixed64(file, field, bits);
    else
        protobuf_put_integer(file, field, bits);
    protobuf_end(file, annotation);
}

static void put_annotation_text(struct buffer *file, const char *name, const char *text) {
    size_t annotation = protobuf_begin(file, EVENT_ANNOTATION);
    protobuf_put_text(file, ANNOTATION_NAME, text_of(name));
    protobuf_put_text(file, ANNOTATION_STRING, text_of(text));
    protobuf_end(file, annotation);
}

TEST(annotations_of_every_type_become_json) {
    static const double numbers[] = {0.25, INFINITY};
    struct buffer file = {0};
    struct status status;
    uint64_t bits[2];
    memcpy(bits, numbers, sizeof bits);
    put_thread(&file, 9, 42, 43, "worker");
    struct packet packet = begin_packet(&file, 1, 1000, 0);
    size_t event = protobuf_begin(&file, PACKET_TRACK_EVENT);
    protobuf_put_integer(&file, EVENT_TYPE, TYPE_INSTANT);
    protobuf_put_integer(&file, EVENT_TRACK, 9);
    protobuf_put_text(&file, EVENT_NAME, TEXT("annotated"));
    put_annotation(&file, "yes", ANNOTATION_BOOL, 1);
    put_annotation(&file, "no", ANNOTATION_BOOL, 0);
    put_annotation(&file, "large", ANNOTATION_UINT, UINT64_MAX);
    put_annotation(&file, "negative", ANNOTATION_INT, (uint64_t)-7);
    put_annotation(&file, "part", ANNOTATION_DOUBLE, bits[0]);
    put_annotation(&file, "endless", ANNOTATION_DOUBLE, bits[1]);
    put_annotation_text(&file, "quoted", "a\"b\\c");
    put_annotation_text(&file, "broken", "x\x01\xFFy\xC3\xA9");
    protobuf_end(&file, event);
    end_packet(packet);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->mark.count, 1);
    CHECK(text_is(trace_text(trace, trace->mark.detail[0]),
                  "{\"yes\":true,\"no\":false,\"large\":18446744073709551615,\"negative\":-7,"
                  "\"part\":0.25,\"endless\":null,\"quoted\":\"a\\\"b\\\\c\","
                  "\"broken\":\"x\\u0001\xEF\xBF\xBDy\xC3\xA9\"}"));
    trace_close(trace);
}

/* A complete event of Chromium's older format: 30 us from its phase, in place of a type. */
static void put_legacy(struct buffer *file, uint64_t time, uint64_t phase, uint64_t duration_us) {
    struct packet packet = begin_packet(file, 1, time, 0);
    size_t event = protobuf_begin(file, PACKET_TRACK_EVENT);
    size_t legacy = protobuf_begin(file, EVENT_LEGACY);
    protobuf_put_integer(file, LEGACY_NAME_ID, 3);
    protobuf_put_integer(file, LEGACY_PHASE, phase);
    protobuf_put_integer(file, LEGACY_DURATION_US, duration_us);
    protobuf_end(file, legacy);
    protobuf_end(file, event);
    end_packet(packet);
}

static void put_default_track(struct buffer *file, uint64_t track) {
    struct packet packet = begin_packet(file, 1, 0, 0);
    size_t defaults = protobuf_begin(file, PACKET_DEFAULTS);
    size_t event = protobuf_begin(file, PACKET_TRACK_EVENT);
    protobuf_put_integer(file, EVENT_TRACK, track);
    protobuf_end(file, event);
    protobuf_end(file, defaults);
    end_packet(packet);
}

TEST(events_without_a_track_take_the_default_and_old_ones_are_ranges) {
    struct buffer file = {0};
    struct status status;
    put_thread(&file, 9, 42, 43, "worker");
    put_names(&file, 1, 3, "old", true);
    put_default_track(&file, 9);
    put_legacy(&file, 1000, 'X', 30);
    put_legacy(&file, 2000, 'Q', 30); /* of no kind that is known */
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->range.count, 1);
    CHECK_INT(trace->range.start[0], 1000);
    CHECK_INT(trace->range.duration[0], 30000);
    CHECK_STRING(name_at(trace, trace->range.name[0]), "old");
    CHECK_INT(trace->thread.tid[trace->range.thread[0]], 43);
    trace_close(trace);
}

/* Times in microseconds since the packet that describes the thread, and absolute ones. */
TEST(times_in_events_are_microseconds_behind_the_last_one) {
    static const struct {
        uint32_t field;
        uint64_t us;
        int64_t time;
    } events[] = {{EVENT_DELTA_US, 5, 105000},
                  {EVENT_DELTA_US, 7, 112000},
                  {EVENT_ABSOLUTE_US, 300, 300000},
                  {EVENT_DELTA_US, 1, 113000}};
    struct buffer file = {0};
    struct status status;
    put_thread(&file, 9, 42, 43, "worker");
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t thread = protobuf_begin(&file, PACKET_THREAD);
    protobuf_put_integer(&file, THREAD_REFERENCE_US, 100);
    protobuf_end(&file, thread);
    end_packet(packet);
    for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
        packet = begin_packet(&file, 1, 0, 0);
        size_t event = protobuf_begin(&file, PACKET_TRACK_EVENT);
        protobuf_put_integer(&file, EVENT_TYPE, TYPE_INSTANT);
        protobuf_put_integer(&file, EVENT_TRACK, 9);
        protobuf_put_integer(&file, events[i].field, events[i].us);
        protobuf_end(&file, event);
        end_packet(packet);
    }
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    CHECK_OK(trace, status);
    if (!trace)
        return;
    CHECK_INT(trace->mark.count, ARRAY_COUNT(events));
    for (size_t i = 0; i < ARRAY_COUNT(events); i++)
        CHECK_INT(trace->mark.time[i], events[i].time);
    trace_close(trace);
}

/* ---- AMD's tools ---- */

struct annotation {
    const char *name, *text; /* text NULL: the number */
    uint64_t number;
};

static void put_rocm_slice(struct buffer *file, uint64_t track, uint64_t start, uint64_t end,
                           const char *category, const char *name,
                           const struct annotation *annotations, size_t count) {
    struct packet packet = begin_packet(file, 1, start, 0);
    size_t event = protobuf_begin(file, PACKET_TRACK_EVENT);
    protobuf_put_integer(file, EVENT_TYPE, TYPE_BEGIN);
    protobuf_put_integer(file, EVENT_TRACK, track);
    protobuf_put_text(file, EVENT_CATEGORY, text_of(category));
    protobuf_put_text(file, EVENT_NAME, text_of(name));
    for (size_t i = 0; i < count; i++) {
        size_t annotation = protobuf_begin(file, EVENT_ANNOTATION);
        protobuf_put_text(file, ANNOTATION_NAME, text_of(annotations[i].name));
        if (annotations[i].text)
            protobuf_put_text(file, ANNOTATION_STRING, text_of(annotations[i].text));
        else
            protobuf_put_integer(file, ANNOTATION_UINT, annotations[i].number);
        protobuf_end(file, annotation);
    }
    protobuf_end(file, event);
    end_packet(packet);
    put_event(file, 1, end, 0, TYPE_END, track, 0);
}

static void put_track(struct buffer *file, uint64_t track, const char *name) {
    struct packet packet = begin_packet(file, 1, 0, 0);
    size_t descriptor = protobuf_begin(file, PACKET_TRACK);
    protobuf_put_integer(file, TRACK_UUID, track);
    protobuf_put_text(file, TRACK_NAME, text_of(name));
    protobuf_end(file, descriptor);
    end_packet(packet);
}

TEST(slices_of_rocprofv3_become_calls_kernels_and_copies) {
    struct buffer file = {0};
    struct status status;
    static const struct annotation call[] = {{"corr_id", NULL, 7}},
                                   kernel[] = {{"corr_id", NULL, 7},
                                               {"agent", NULL, 4},
                                               {"queue", NULL, 2},
                                               {"group_segment_size", NULL, 512},
                                               {"workgroup_size", NULL, 64},
                                               {"grid_size", NULL, 1000}},
                                   copy[] = {{"src_agent", NULL, 0},
                                             {"dst_agent", NULL, 4},
                                             {"copy_bytes", NULL, 4096}};
    put_thread(&file, 9, 42, 43, "main");
    put_track(&file, 10, "COMPUTE AGENT [4] QUEUE [0] (GPU)");
    put_rocm_slice(&file, 9, 1000, 1010, "hip_api", "hipLaunchKernel", call, ARRAY_COUNT(call));
    put_rocm_slice(&file, 9, 900, 2000, "marker_api", "step", NULL, 0);
    put_rocm_slice(&file, 10, 1100, 1300, "kernel_dispatch", "gemm", kernel, ARRAY_COUNT(kernel));
    put_rocm_slice(&file, 11, 1400, 1500, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", copy,
                   ARRAY_COUNT(copy));
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    REQUIRE(trace->call.count == 1 && trace->activity.count == 2 && trace->range.count == 1);
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.correlation[0], 7);
    CHECK_INT(trace->thread.tid[trace->call.thread[0]], 43);
    CHECK_INT(trace->activity.duration[0], 200);
    CHECK_INT(trace->activity.correlation[0], 7);
    CHECK_INT(trace->activity.grid_x[0], 16);
    CHECK_INT(trace->activity.block_x[0], 64);
    CHECK_INT(trace->activity.shared_dynamic[0], 512);
    CHECK_STRING(name_at(trace, trace->device.label[trace->queue.device[trace->activity.queue[0]]]),
                 "4");
    CHECK_INT(trace->activity.kind[1], ACTIVITY_COPY);
    CHECK_INT(trace->activity.direction[1], COPY_HTOD);
    CHECK_INT(trace->activity.bytes[1], 4096);
    trace_close(trace);
}

TEST(slices_of_rocprofiler_systems_have_their_device_in_the_name_of_the_track) {
    struct buffer file = {0};
    struct status status;
    static const struct annotation kernel[] = {{"dispatch_id", NULL, 1},
                                               {"workgroup_size", "(16,16,2)", 0},
                                               {"grid_size", "(1024,512,5,9)", 0}};
    put_track(&file, 10, "GPU Kernel Dispatch [3] Queue 1");
    put_rocm_slice(&file, 10, 1100, 1300, "rocm_kernel_dispatch", "gemm", kernel,
                   ARRAY_COUNT(kernel));
    put_rocm_slice(&file, 12, 1400, 1500, "rocm_hip_stream", "grouped", kernel,
                   ARRAY_COUNT(kernel));
    put_rocm_slice(&file, 13, 1400, 1500, "host", "main()", NULL, 0);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    REQUIRE(trace->activity.count == 2 && trace->range.count == 1);
    CHECK_STRING(name_at(trace, trace->device.label[trace->queue.device[trace->activity.queue[0]]]),
                 "3");
    CHECK_INT(trace->activity.grid_x[0], 64);
    CHECK_INT(trace->activity.grid_y[0], 32);
    CHECK_INT(trace->activity.grid_z[0], 3);
    CHECK_INT(trace->activity.block_y[0], 16);
    trace_close(trace);
}

/* ---- the system ---- */

static void put_switch(struct buffer *file, uint64_t time, uint64_t from, uint64_t state,
                       uint64_t to, const char *name) {
    size_t event = protobuf_begin(file, 2);
    protobuf_put_integer(file, 1, time);
    size_t sched = protobuf_begin(file, 4);
    protobuf_put_integer(file, 2, from);
    protobuf_put_integer(file, 4, state);
    protobuf_put_text(file, 5, text_of(name));
    protobuf_put_integer(file, 6, to);
    protobuf_end(file, sched);
    protobuf_end(file, event);
}

static void put_wakeup(struct buffer *file, uint64_t time, uint64_t tid) {
    size_t event = protobuf_begin(file, 2);
    protobuf_put_integer(file, 1, time);
    size_t sched = protobuf_begin(file, 20);
    protobuf_put_integer(file, 2, tid);
    protobuf_end(file, sched);
    protobuf_end(file, event);
}

static void put_process_tree(struct buffer *file) {
    struct packet packet = begin_packet(file, 1, 0, 0);
    size_t tree = protobuf_begin(file, PACKET_PROCESS_TREE);
    size_t process = protobuf_begin(file, 1);
    protobuf_put_integer(file, 1, 40);
    protobuf_put_text(file, 3, TEXT("train"));
    protobuf_end(file, process);
    size_t thread = protobuf_begin(file, 2);
    protobuf_put_integer(file, 1, 41);
    protobuf_put_text(file, 2, TEXT("loader"));
    protobuf_put_integer(file, 3, 40);
    protobuf_end(file, thread);
    protobuf_end(file, tree);
    end_packet(packet);
}

/* Thread 41 runs on CPU 0, blocks, is woken, waits and goes on on CPU 1, whose bundle comes first.
 */
TEST(switches_of_all_processors_become_states_of_threads) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t bundle = protobuf_begin(&file, PACKET_FTRACE);
    protobuf_put_integer(&file, 1, 1);
    put_switch(&file, 1500, 0, 0, 41, "loader");
    put_switch(&file, 1800, 41, 0, 0, "swapper/1");
    protobuf_end(&file, bundle);
    end_packet(packet);
    packet = begin_packet(&file, 1, 0, 0);
    bundle = protobuf_begin(&file, PACKET_FTRACE);
    put_switch(&file, 1000, 0, 0, 41, "loader");
    put_switch(&file, 1200, 41, 1, 0, "swapper/0");
    put_wakeup(&file, 1450, 41);
    protobuf_end(&file, bundle);
    end_packet(packet);
    put_process_tree(&file);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    static const struct {
        int64_t start, duration;
        enum thread_state state;
        uint32_t processor;
    } want[] = {{1000, 200, STATE_RUNNING, 0},
                {1200, 250, STATE_BLOCKED, 0},
                {1450, 50, STATE_READY, 0},
                {1500, 300, STATE_RUNNING, 1}};
    REQUIRE(trace->state.count == ARRAY_COUNT(want));
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        CHECK_INT(trace->state.start[i], want[i].start);
        CHECK_INT(trace->state.duration[i], want[i].duration);
        CHECK_INT(trace->state.state[i], want[i].state);
        CHECK_INT(trace->state.processor[i], want[i].processor);
    }
    uint32_t thread = trace->state.thread[0];
    CHECK_STRING(name_at(trace, trace->thread.name[thread]), "loader");
    CHECK_INT(trace->process.pid[trace->thread.process[thread]], 40);
    CHECK_STRING(name_at(trace, trace->process.name[trace->thread.process[thread]]), "train");
    trace_close(trace);
}

static void put_packed(struct buffer *file, uint32_t field, const char *bytes, size_t length) {
    protobuf_put_text(file, field, (struct text){bytes, length});
}

TEST(compact_switches_have_differences_of_times_and_indexes_of_names) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t bundle = protobuf_begin(&file, PACKET_FTRACE);
    protobuf_put_integer(&file, 1, 3);
    size_t compact = protobuf_begin(&file, 4);
    protobuf_put_text(&file, 5, TEXT("idle"));
    protobuf_put_text(&file, 5, TEXT("work"));
    put_packed(&file, 1, "\x64\x0a\x05", 3); /* 100, 110, 115 */
    put_packed(&file, 2, "\x01\x00\x01", 3);
    put_packed(&file, 3, "\x07\x08\x00", 3);
    put_packed(&file, 6, "\x01\x01\x00", 3);
    protobuf_end(&file, compact);
    protobuf_end(&file, bundle);
    end_packet(packet);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    REQUIRE(trace->state.count == 2);
    CHECK_INT(trace->state.start[0], 100);
    CHECK_INT(trace->state.duration[0], 10);
    CHECK_INT(trace->thread.tid[trace->state.thread[0]], 7);
    CHECK_INT(trace->state.duration[1], 5);
    CHECK_INT(trace->thread.tid[trace->state.thread[1]], 8);
    CHECK_STRING(name_at(trace, trace->thread.name[trace->state.thread[1]]), "work");
    trace_close(trace);
}

/* 7 runs from 100 to 110, waits for something, is woken at 112 and runs again from 120 on. */
TEST(compact_wakeups_end_the_wait_of_a_thread) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t bundle = protobuf_begin(&file, PACKET_FTRACE);
    protobuf_put_integer(&file, 1, 3);
    size_t compact = protobuf_begin(&file, 4);
    protobuf_put_text(&file, 5, TEXT("work"));
    put_packed(&file, 1, "\x64\x0a\x0a\x05", 4); /* 100, 110, 120, 125 */
    put_packed(&file, 2, "\x01\x01\x00\x01", 4);
    put_packed(&file, 3, "\x07\x08\x07\x00", 4);
    put_packed(&file, 6, "\x00\x00\x00\x01", 4); /* there is one name */
    put_packed(&file, 7, "\x32\x3e", 2);         /* 50, 112 */
    put_packed(&file, 8, "\x09\x07", 2);
    protobuf_end(&file, compact);
    protobuf_end(&file, bundle);
    end_packet(packet);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    static const struct {
        int64_t start, duration;
        int64_t tid;
        enum thread_state state;
    } states[] = {{100, 10, 7, STATE_RUNNING},
                  {110, 2, 7, STATE_BLOCKED},
                  {112, 8, 7, STATE_READY},
                  {120, 5, 7, STATE_RUNNING}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        size_t row = 0;
        while (row < trace->state.count &&
               (trace->state.start[row] != states[i].start ||
                trace->thread.tid[trace->state.thread[row]] != states[i].tid))
            row++;
        REQUIRE(row < trace->state.count);
        CHECK_INT(trace->state.duration[row], states[i].duration);
        CHECK_INT(trace->state.state[row], states[i].state);
    }
    trace_close(trace);
}

static void put_pair(struct buffer *file, uint32_t kind, uint64_t id, uint32_t field,
                     uint64_t value, uint32_t other_field, uint64_t other) {
    size_t entry = protobuf_begin(file, kind);
    protobuf_put_integer(file, 1, id);
    protobuf_put_integer(file, field, value);
    if (other_field)
        protobuf_put_integer(file, other_field, other);
    protobuf_end(file, entry);
}

static void put_sample(struct buffer *file, uint64_t time, uint64_t callstack) {
    struct packet packet = begin_packet(file, 1, time, 0);
    size_t sample = protobuf_begin(file, PACKET_PERF_SAMPLE);
    protobuf_put_integer(file, 2, 40);
    protobuf_put_integer(file, 3, 41);
    protobuf_put_integer(file, 4, callstack);
    protobuf_end(file, sample);
    end_packet(packet);
}

TEST(cpu_samples_have_interned_frames_and_the_median_interval) {
    struct buffer file = {0};
    struct status status;
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t interned = protobuf_begin(&file, PACKET_INTERNED);
    size_t name = protobuf_begin(&file, 5);
    protobuf_put_integer(&file, 1, 1);
    protobuf_put_text(&file, 2, TEXT("main"));
    protobuf_end(&file, name);
    put_pair(&file, 6, 1, 2, 1, 3, 9);    /* main in the mapping */
    put_pair(&file, 6, 2, 3, 9, 4, 0x1f); /* an address in it */
    put_pair(&file, 7, 5, 2, 1, 2, 2);    /* main, then the address */
    size_t path = protobuf_begin(&file, 17);
    protobuf_put_integer(&file, 1, 4);
    protobuf_put_text(&file, 2, TEXT("app"));
    protobuf_end(&file, path);
    put_pair(&file, 19, 9, 7, 4, 0, 0);
    protobuf_end(&file, interned);
    end_packet(packet);
    put_sample(&file, 1000, 5);
    put_sample(&file, 3000, 5);
    put_sample(&file, 4000, 77); /* unknown */
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    buffer_finish(&file);
    REQUIRE(trace);
    REQUIRE(trace->sample.count == 2);
    CHECK_INT(trace->sample.time[0], 1000);
    CHECK_INT(trace->sample.weight[0], 2000);
    uint32_t leaf = trace->sample.stack[0];
    CHECK_STRING(name_at(trace, trace->stack.function[leaf]), "0x1f");
    CHECK_STRING(name_at(trace, trace->stack.module[leaf]), "/app");
    CHECK_STRING(name_at(trace, trace->stack.function[trace->stack.parent[leaf]]), "main");
    CHECK_INT(trace->thread.tid[trace->sample.thread[0]], 41);
    trace_close(trace);
}

/* As ridge exports a trace without rows. */
TEST(a_trace_of_tracks_alone_is_empty_and_one_of_other_payloads_is_refused) {
    enum { SYSTEM_INFO = 45 };
    struct buffer file = {0};
    struct status status;
    put_thread(&file, 9, 42, 43, "worker");
    put_names(&file, 1, 1, "unused", true);
    struct trace *trace = open_bytes(&file, &(struct import_options){0}, &status);
    CHECK_OK(trace, status);
    if (trace)
        CHECK_INT(trace->range.count + trace->mark.count, 0);
    trace_close(trace);
    struct packet packet = begin_packet(&file, 1, 0, 0);
    size_t info = protobuf_begin(&file, SYSTEM_INFO);
    protobuf_put_integer(&file, 1, 1);
    protobuf_end(&file, info);
    end_packet(packet);
    trace = open_bytes(&file, &(struct import_options){0}, &status);
    CHECK(!trace && strstr(status.message, "has no event that ridge reads"));
    trace_close(trace);
    buffer_finish(&file);
}
