/* Chrome traces in all their spellings: what each event becomes, and what is refused. */
#include "imported.h"

#include <fcntl.h>
#include <zstd.h>

#include "base/array.h"
#include "base/memory.h"
#include "import/kineto/kineto.h"

static struct trace *import(const char *json, struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(&import_kineto, text_of(json), false, status);
    for (unsigned table = TABLE_ACTIVITY; trace && table < TABLE_COUNT; table++)
        if (!trace_load(trace, (enum trace_table)table, NULL, status))
            test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

static bool is(const struct trace *trace, uint32_t string, const char *want) {
    return text_is(trace_text(trace, string), want);
}

#define IMPORT(json)                                                                               \
    struct status status;                                                                          \
    struct trace *trace = import(json, &status);                                                   \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

TEST(a_kineto_kernel_keeps_all_that_the_trace_says_of_it) {
    IMPORT("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", "
           "\"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": 5.001, \"dur\": 2.5, \"args\": {"
           "\"device\": 3, \"stream\": 20, \"context\": 1, \"correlation\": 42, "
           "\"registers per thread\": 128, \"shared memory\": 4096, \"grid\": [4, 5, 6], "
           "\"block\": [128, 2, 1], \"graph id\": 9, \"Collective name\": \"allreduce\", "
           "\"In msg nelems\": 10, \"Group size\": 8, \"dtype\": \"Float\"}}]}");
    const struct columns_activity *a = &trace->activity;
    CHECK_INT(a->count, 1);
    CHECK_INT(a->start[0], 5001);
    CHECK_INT(a->duration[0], 2500);
    CHECK_INT(a->kind[0], ACTIVITY_KERNEL);
    CHECK_INT(a->correlation[0], 42);
    CHECK_INT(a->registers[0], 128);
    CHECK_INT(a->shared_static[0], 4096);
    CHECK_INT(a->grid_x[0] * 100 + a->grid_y[0] * 10 + a->grid_z[0], 456);
    CHECK_INT(a->block_x[0] * 100 + a->block_y[0] * 10 + a->block_z[0], 12821);
    CHECK_INT(a->graph[0], 9);
    CHECK(a->bytes[0] == BYTES_UNKNOWN);
    CHECK(is(trace, a->name[0], "gemm"));
    CHECK(is(trace, a->detail[0],
             "{\"Collective name\":\"allreduce\",\"In msg nelems\":10,\"Group size\":8,"
             "\"dtype\":\"Float\"}"));
    uint32_t queue = a->queue[0], device = trace->queue.device[queue];
    CHECK_INT(trace->queue.stream[queue], 20);
    CHECK_INT(trace->queue.context[queue], 1);
    CHECK_INT(trace->device.index[device], 3);
    CHECK(is(trace, trace->device.label[device], "3"));
    CHECK_INT(trace->queue.process[queue], 0);
    trace_close(trace);
}

TEST(messages_of_the_profiler_are_warnings_of_the_trace) {
    IMPORT(
        "{\"schemaVersion\": 1, \"WARNING\": [\"one\" , \"t\\u0077o\",\"three\"], \"ERROR\": [ ], "
        "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, "
        "\"tid\": 1, \"ts\": 1, \"dur\": 1}], \"baseTimeNanoseconds\": -7}");
    static const char *const expected[] = {"profiler message: one", "profiler message: two",
                                           "profiler message: three",
                                           "baseTimeNanoseconds is out of range and was ignored"};
    size_t found = 0;
    for (size_t i = 0; i < trace->meta.count; i++)
        if (is(trace, trace->meta.key[i], META_WARNING)) {
            REQUIRE(found < ARRAY_COUNT(expected));
            CHECK(is(trace, trace->meta.value[i], expected[found]));
            found++;
        }
    CHECK_INT(found, ARRAY_COUNT(expected));
    trace_close(trace);
}

TEST(messages_that_are_no_texts_are_passed_over) {
    IMPORT("{\"schemaVersion\": 1, \"WARNING\": \"alone\", \"ERROR\": [\"first\", {\"a\": [1]}, "
           "\"later\"], "
           "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, "
           "\"tid\": 1, \"ts\": 1, \"dur\": 1}]}");
    CHECK(text_is(trace_meta(trace, META_WARNING), "profiler message: first"));
    CHECK_INT(trace->range.count, 1);
    trace_close(trace);
}

TEST(old_files_name_streams_in_words_and_threads_in_strings) {
    IMPORT("{\"schemaVersion\": 1, \"traceEvents\": ["
           "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"Memcpy HtoD (Pageable -> Device)\", "
           "\"pid\": 1, \"tid\": \"stream 7\", \"ts\": 10, \"dur\": 3, \"args\": {\"bytes\": 64}},"
           "{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"Memset (Device)\", \"pid\": 1, "
           "\"tid\": \"stream 7\", \"ts\": 20, \"dur\": 3, \"args\": {}},"
           "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaMemcpyAsync_v3020\", "
           "\"pid\": 99, \"tid\": \"98\", \"ts\": 9, \"dur\": 1, \"args\": {\"correlation\": 5}},"
           "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"aten::copy_\", \"pid\": 99, "
           "\"tid\": 98, \"ts\": 8, \"dur\": 4, \"args\": {\"Input dims\": [[2, 3], []]}}]}");
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.queue[0], trace->activity.queue[1]);
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 7);
    CHECK_INT(trace->device.index[trace->queue.device[trace->activity.queue[0]]], 1);
    CHECK_INT(trace->activity.direction[0], COPY_HTOD);
    CHECK_INT(trace->activity.from_memory[0], MEMORY_PAGEABLE);
    CHECK_INT(trace->activity.bytes[0], 64);
    CHECK_INT(trace->activity.kind[1], ACTIVITY_SET);
    CHECK(trace->activity.bytes[1] == BYTES_UNKNOWN);
    CHECK(is(trace, trace->call.name[0], "cudaMemcpyAsync"));
    CHECK_INT(trace->call.class[0], CALL_COPY);
    CHECK_INT(trace->call.thread[0], trace->range.thread[0]);
    CHECK_INT(trace->thread.tid[trace->call.thread[0]], 98);
    CHECK_INT(trace->process.pid[trace->thread.process[trace->call.thread[0]]], 99);
    CHECK_INT(trace->range.category[0], RANGE_OP);
    CHECK(is(trace, trace->range.detail[0], "{\"Input Dims\":[[2,3],[]]}"));
    trace_close(trace);
}

TEST(members_come_in_any_order_and_the_last_of_two_counts) {
    IMPORT(
        "{\"traceEvents\": [{\"args\": {\"stream\": 1, \"stream\": 2, \"device\": 0}, \"dur\": 1, "
        "\"ts\": 1, \"ts\": 7, \"name\": \"old\", \"name\": \"k\", \"cat\": \"python_function\", "
        "\"cat\": \"kernel\", \"ph\": \"X\"},],"
        "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 16},"
        "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\", \"totalGlobalMem\": 100, "
        "\"computeMajor\": 9, \"numSms\": 132}, {\"id\": 1, \"name\": \"\"}],"
        "\"baseTimeNanoseconds\": 1000000000000000000}");
    CHECK_INT(trace->activity.count, 1);
    CHECK_INT(trace->activity.start[0], 1000000000000007000);
    CHECK(is(trace, trace->activity.name[0], "k"));
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 2);
    uint32_t device = trace->queue.device[trace->activity.queue[0]];
    CHECK(is(trace, trace->device.name[device], "NVIDIA H100"));
    CHECK(is(trace, trace->device.vendor[device], "NVIDIA"));
    CHECK_INT(trace->device.multiprocessors[device], 132);
    CHECK_INT(trace->device.count, 3);
    CHECK_INT(trace->device.listed[1] + trace->device.listed[2], 2);
    CHECK(text_is(trace_meta(trace, META_RANK), "3"));
    CHECK(text_is(trace_meta(trace, META_WORLD_SIZE), "16"));
    CHECK(text_is(trace_meta(trace, META_CLOCK_BASE), "unix"));
    trace_close(trace);
}

TEST(sync_records_become_waits_for_the_queue_they_name) {
    IMPORT("{\"traceEvents\": ["
           "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"s\", \"pid\": 0, \"tid\": 7, "
           "\"ts\": 1, \"dur\": 1, \"args\": {\"cuda_sync_kind\": \"Stream Wait Event\", "
           "\"stream\": 7, \"device\": 0, \"wait_on_stream\": 20, \"wait_on_cuda_event_id\": 5, "
           "\"wait_on_cuda_event_record_corr_id\": 11, \"correlation\": 12}},"
           "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Context Sync\", \"pid\": 0, "
           "\"tid\": -1, \"ts\": 1, \"dur\": 1, \"args\": {\"stream\": 4294967295, "
           "\"device\": 0, \"wait_on_stream\": 4294967295}}]}");
    CHECK_INT(trace->wait.count, 2);
    CHECK_INT(trace->wait.kind[0], WAIT_STREAM_EVENT);
    CHECK_INT(trace->queue.stream[trace->wait.queue[0]], 7);
    CHECK_INT(trace->queue.stream[trace->wait.awaited[0]], 20);
    CHECK_INT(trace->wait.event[0], 5);
    CHECK_INT(trace->wait.record_correlation[0], 11);
    CHECK_INT(trace->wait.correlation[0], 12);
    CHECK_INT(trace->wait.kind[1], WAIT_CONTEXT);
    CHECK_INT(trace->queue.stream[trace->wait.queue[1]], -1);
    CHECK_INT(trace->wait.awaited[1], 0);
    trace_close(trace);
}

TEST(a_wait_for_stream_0_names_its_queue) {
    IMPORT("{\"traceEvents\": ["
           "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"s\", \"pid\": 0, \"tid\": 7, "
           "\"ts\": 1, \"dur\": 1, \"args\": {\"cuda_sync_kind\": \"Stream Wait Event\", "
           "\"stream\": 7, \"device\": 0, \"wait_on_stream\": 0}},"
           "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Sync\", \"pid\": 0, "
           "\"tid\": 9, \"ts\": 2, \"dur\": 1, \"args\": {\"stream\": 0, \"device\": 0}}]}");
    REQUIRE(trace->wait.count == 2);
    CHECK(trace->wait.awaited[0] != 0);
    CHECK_INT(trace->queue.stream[trace->wait.awaited[0]], 0);
    CHECK_INT(trace->queue.stream[trace->wait.queue[1]], 0);
    CHECK_INT(trace->wait.queue[1], trace->wait.awaited[0]);
    CHECK_INT(trace->wait.awaited[1], 0);
    trace_close(trace);
}

TEST(memory_events_are_memory_and_other_instants_are_marks) {
    IMPORT("{\"traceEvents\": ["
           "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
           "\"pid\": 1, \"tid\": 1, \"ts\": 2, \"args\": {\"Bytes\": -512, \"Addr\": 77, "
           "\"Device Id\": 2, \"Device Type\": 1, \"Total Allocated\": 5, \"Total Reserved\": 6}},"
           "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": 3, "
           "\"args\": {\"Bytes\": 64, \"Device Id\": -1, \"Device Type\": 0}},"
           "{\"ph\": \"i\", \"name\": \"Iteration Start\", \"pid\": \"Traces\", \"tid\": \"T\", "
           "\"ts\": 4}]}");
    CHECK_INT(trace->memory.count, 2);
    CHECK_INT(trace->memory.operation[0], MEMORY_FREE);
    CHECK_INT(trace->memory.bytes[0], 512);
    CHECK_INT(trace->memory.address[0], 77);
    CHECK_INT(trace->memory.allocated[0], 5);
    CHECK_INT(trace->memory.reserved[0], 6);
    CHECK_INT(trace->device.index[trace->memory.device[0]], 2);
    CHECK_INT(trace->memory.operation[1], MEMORY_ALLOC);
    CHECK_INT(trace->memory.device[1], 0);
    CHECK_INT(trace->mark.count, 1);
    CHECK_INT(trace->mark.time[0], 4000);
    CHECK(is(trace, trace->process.name[trace->thread.process[trace->mark.thread[0]]], "Traces"));
    trace_close(trace);
}

TEST(annotations_on_a_device_are_ranges_of_its_queue_and_never_work) {
    IMPORT("{\"traceEvents\": ["
           "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"step\", \"pid\": 0, "
           "\"tid\": 7, \"ts\": 1, \"dur\": 9},"
           "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"step\", \"pid\": 4, "
           "\"tid\": 4, \"ts\": 1, \"dur\": 9},"
           "{\"ph\": \"X\", \"cat\": \"overhead\", \"name\": \"flush\", \"pid\": -1, \"tid\": 0, "
           "\"ts\": 1, \"dur\": 9},"
           "{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"all\", \"pid\": \"Spans\", "
           "\"tid\": \"x\", \"ts\": 0, \"dur\": 99},"
           "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"f\", \"pid\": 4, \"tid\": 4, "
           "\"ts\": 1, \"dur\": 9, \"args\": {\"Python id\": 1}},"
           "{\"ph\": \"X\", \"cat\": \"mtia_other\", \"name\": \"m\", \"pid\": 4, \"tid\": 4, "
           "\"ts\": 1, \"dur\": 9}]}");
    CHECK_INT(trace->activity.count, 0);
    CHECK_INT(trace->range.count, 5);
    CHECK_INT(trace->range.category[0], RANGE_DEVICE);
    CHECK_INT(trace->queue.stream[trace->range.queue[0]], 7);
    CHECK_INT(trace->range.thread[0], 0);
    CHECK_INT(trace->range.category[1], RANGE_ANNOTATION);
    CHECK_INT(trace->range.category[2], RANGE_OVERHEAD);
    CHECK_INT(trace->range.thread[2], 0);
    CHECK_INT(trace->range.category[3], RANGE_PYTHON);
    CHECK_INT(trace->range.category[4], RANGE_OTHER);
    CHECK(is(trace, trace->range.domain[4], "mtia_other"));
    CHECK_INT(trace_meta_sum(trace, "source.events"), 6);
    trace_close(trace);
}

TEST(a_begin_and_its_end_make_one_range) {
    IMPORT(
        "[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"a\":1}},"
        "{\"ph\":\"B\",\"name\":\"elsewhere\",\"pid\":1,\"tid\":2,\"ts\":2},"
        "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":3},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"b\",\"cat\":\"net\",\"id\":\"0x1\",\"name\":\"request\",\"pid\":1,\"tid\":1,"
        "\"ts\":6},"
        "{\"ph\":\"b\",\"cat\":\"net\",\"id\":\"0x2\",\"name\":\"other\",\"pid\":1,\"tid\":1,"
        "\"ts\":7},"
        "{\"ph\":\"e\",\"cat\":\"net\",\"id\":\"0x1\",\"name\":\"request\",\"pid\":1,\"tid\":2,"
        "\"ts\":9},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":3,\"ts\":9}]");
    CHECK_INT(trace->range.count, 3);
    CHECK(is(trace, trace->range.name[0], "inner"));
    CHECK_INT(trace->range.duration[0], 1000);
    CHECK(is(trace, trace->range.name[1], "outer"));
    CHECK_INT(trace->range.duration[1], 4000);
    CHECK(is(trace, trace->range.detail[1], "{\"a\":1}"));
    CHECK(is(trace, trace->thread.name[trace->range.thread[1]], "main"));
    CHECK(is(trace, trace->range.name[2], "request"));
    CHECK_INT(trace->range.duration[2], 3000);
    CHECK(is(trace, trace->range.domain[2], "net"));
    CHECK(text_is(trace_meta(trace, META_SOURCE_FORMAT), "chrome"));
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 3); /* two begins and one end are left over */
    trace_close(trace);
}

/* Compared row by row with rows.txt. */
TEST(names_of_one_letter_odd_ids_and_bytes_that_are_no_text_are_read) {
    static const char json[] =
        "{\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"p\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":6,\"args\":{\"name\":\"t\"}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":5,\"tid\":6,\"ts\":1,\"dur\":2,"
        "\"args\":{\"Input Dims\":[[\"\xFF\"]]}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":-1,\"tid\":6,\"ts\":3,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":\"x\",\"tid\":\"y\",\"ts\":4,"
        "\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait "
        "Event\",\"pid\":0,\"tid\":7,\"ts\":5,"
        "\"dur\":0,\"args\":{\"stream\":7,\"device\":0,\"wait_on_stream\":0,"
        "\"cuda_sync_kind\":\"Stream Wait Event\"}}]}";
    struct status status = {0};
    struct trace *trace = import(json, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->range.count == 3);
    CHECK(trace->range.thread[1] != 0);
    CHECK_INT(trace->wait.count, 1);
    CHECK(trace->wait.awaited[0] != 0); /* stream 0 is a stream */
    trace_close(trace);
}

TEST(counters_give_a_value_for_every_series) {
    IMPORT("[{\"ph\":\"C\",\"name\":\"memory\",\"pid\":1,\"ts\":1,"
           "\"args\":{\"used\":1.5, \"free\": 2, \"note\": \"x\"}},"
           "{\"ph\":\"C\",\"name\":\"load\",\"pid\":1,\"ts\":2,\"args\":{\"value\":-3}}]");
    CHECK_INT(trace->counter.count, 3);
    CHECK(is(trace, trace->counter.name[0], "memory used"));
    CHECK(trace->counter.value[0] == 1.5);
    CHECK(is(trace, trace->counter.name[1], "memory free"));
    CHECK(is(trace, trace->counter.name[2], "load"));
    CHECK(trace->counter.value[2] == -3);
    trace_close(trace);
}

TEST(names_lose_their_escapes) {
    IMPORT("{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
           "\"a \\\"b\\\" \\u00e9 \\ud83d\\ude00 C:\\Users\", \"pid\": 1, \"tid\": 1, \"ts\": 1, "
           "\"dur\": NaN, \"dur\": 1}]}");
    CHECK(is(trace, trace->range.name[0], "a \"b\" \xC3\xA9 \xF0\x9F\x98\x80 C:\\Users"));
    trace_close(trace);
}

TEST(xla_traces_are_understood_by_the_names_of_their_processes) {
    IMPORT(
        "{\"displayTimeUnit\": \"ns\", \"metadata\": {\"x\": [1]}, \"traceEvents\": ["
        "{\"ph\": \"M\", \"pid\": 2, \"name\": \"process_name\", "
        "\"args\": {\"name\": \"/device:GPU:1\"}},"
        "{\"ph\": \"M\", \"pid\": 2, \"tid\": 5, \"name\": \"thread_name\", "
        "\"args\": {\"name\": \"Stream #16(Kernel,MemcpyH2D)\"}},"
        "{\"ph\": \"M\", \"pid\": 2, \"tid\": 6, \"name\": \"thread_name\", "
        "\"args\": {\"name\": \"XLA Ops\"}},"
        "{\"ph\": \"M\", \"pid\": 9, \"name\": \"process_name\", "
        "\"args\": {\"name\": \"/host:CPU\"}},"
        "{\"ph\": \"X\", \"pid\": 2, \"tid\": 5, \"ts\": 1.5, \"dur\": 2, \"name\": \"fusion\", "
        "\"args\": {\"correlation_id\": \"77\", \"hlo_op\": \"fusion.1\", \"kernel_details\": "
        "\"regs:32 static_shared:8 dynamic_shared:16 grid:3,2,1 block:256,1,1 occ_pct:50\"}},"
        "{\"ph\": \"X\", \"pid\": 2, \"tid\": 5, \"ts\": 4, \"dur\": 2, \"name\": \"MemcpyH2D\", "
        "\"args\": {\"memcpy_details\": \"kind_src:pinned kind_dst:device size:1024 async:1\"}},"
        "{\"ph\": \"X\", \"pid\": 2, \"tid\": 6, \"ts\": 1, \"dur\": 3, \"name\": \"fusion\"},"
        "{\"ph\": \"X\", \"pid\": 9, \"tid\": 1, \"ts\": 1, \"dur\": 1, "
        "\"name\": \"cuLaunchKernel\", \"args\": {\"correlation_id\": \"77\"}},"
        "{\"ph\": \"X\", \"pid\": 9, \"tid\": 1, \"ts\": 0, \"dur\": 8, \"name\": \"Execute\"},"
        "{}]}");
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.kind[0], ACTIVITY_KERNEL);
    CHECK_INT(trace->activity.correlation[0], 77);
    CHECK_INT(trace->activity.registers[0], 32);
    CHECK_INT(trace->activity.shared_static[0], 8);
    CHECK_INT(trace->activity.shared_dynamic[0], 16);
    CHECK_INT(trace->activity.grid_y[0], 2);
    CHECK_INT(trace->activity.block_x[0], 256);
    CHECK(is(trace, trace->activity.detail[0], "{\"hlo_op\":\"fusion.1\"}"));
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 16);
    CHECK_INT(trace->device.index[trace->queue.device[trace->activity.queue[0]]], 1);
    CHECK_INT(trace->activity.kind[1], ACTIVITY_COPY);
    CHECK_INT(trace->activity.bytes[1], 1024);
    CHECK_INT(trace->activity.direction[1], COPY_HTOD);
    CHECK_INT(trace->activity.from_memory[1], MEMORY_PINNED);
    CHECK_INT(trace->call.count, 1);
    CHECK_INT(trace->call.correlation[0], 77);
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->range.count, 2);
    CHECK_INT(trace->range.category[0], RANGE_DEVICE);
    CHECK(text_is(trace_meta(trace, META_SOURCE_FORMAT), "chrome"));
    CHECK_INT(trace_meta_sum(trace, "source.events"), 10);
    trace_close(trace);
}

TEST(a_copy_whose_name_has_no_direction_takes_it_from_its_kind) {
    IMPORT(
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"blit\", \"pid\": "
        "0, "
        "\"tid\": 7, \"ts\": 1, \"dur\": 1, \"args\": {\"kind\": \"DtoH (device -> pinned)\"}}]}");
    CHECK_INT(trace->activity.direction[0], COPY_DTOH);
    CHECK_INT(trace->activity.from_memory[0], MEMORY_DEVICE);
    CHECK_INT(trace->activity.to_memory[0], MEMORY_PINNED);
    trace_close(trace);
}

TEST(a_bare_array_may_lack_its_end) {
    static const char *const endings[] = {"", ",", "]", ",\n]", "  ]\n"};
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        struct buffer json = {0};
        struct status status;
        buffer_string(&json, "\xEF\xBB\xBF [{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
                             "\"ts\":1,\"dur\":1}");
        buffer_string(&json, endings[i]);
        buffer_byte(&json, 0);
        struct trace *trace = import(json.data, &status);
        CHECK(trace && trace->range.count == 1);
        trace_close(trace);
        buffer_finish(&json);
    }
}

TEST(what_is_no_trace_is_refused_with_the_reason_and_the_place) {
    static const struct {
        const char *json, *message;
    } rows[] = {
        {"", "the file is empty"},
        {" \n ", "the file is empty"},
        {"{}", "JSON without traceEvents"},
        {"{\"a\": 1, \"traceEvents\": null}", "JSON without traceEvents"},
        {"{\"traceEvents\": []}", "has no events"},
        {"[{\"children\": []}, {}]", "has no event of use: none of its 2 events"},
        {"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},"
         "{\"ph\":\"s\",\"ts\":1}]",
         "has no event of use"},
        {"[{\"ph\":\"E\",\"ts\":1}]", "has no event of use"},
        {"{\"traceEvents\": []} {\"a\": 1", "truncated"},
        {"{\"traceEvents\": [{\"ph\": \"X\"",
         "truncated: the file ends at byte 27 inside an event"},
        {"{\"traceEvents\": [", "truncated: the file ends at byte 17"},
        {"{\"traceEvents\": []", "truncated: the file ends at byte 18"},
        {"{\"traceEvents\": [1]}", "byte 17: expected an event"},
        {"{\"traceEvents\": [{\"ph\" \"X\"}]}", "byte 23: expected a colon"},
        {"{\"traceEvents\": [{} {}]}", "byte 20: expected a comma"},
        {"{\"traceEvents\": []} x", "byte 20: expected nothing"},
        {"{\"trace", "truncated"},
        {"{\"x\": [[[\"", "truncated"},
        {"[{\"ph\":", "truncated"},
        {"[{\"ph\":}]", "byte 7: expected a value"},
        {"\x7F"
         "ELF",
         "byte 0: expected a JSON object"},
        {"{\"traceEvents\": [{\"ph\":\"X\",\"name\":\"k\",\"ts\":1,\"dur\":-1}]}",
         "event 1 (k) at byte 17 has a negative duration (dur); --skip-invalid drops such events"},
        {"[{\"ph\":\"X\",\"ts\":-1,\"dur\":1}]", "before time zero"},
        {"[{\"ph\":\"X\",\"dur\":1}]", "has no time"},
        {"[{\"ph\":\"X\",\"ts\":NaN,\"dur\":1}]", "not a number"},
        {"[{\"ph\":\"X\",\"ts\":4611686018427387.905,\"dur\":1}]", "beyond 73 years"},
        {"[{\"ph\":\"X\",\"ts\":4611686018427387,\"dur\":4611686018427387}]", "beyond 73 years"},
        {"[{\"ph\":\"B\",\"ts\":5},{\"ph\":\"E\",\"ts\":4}]", "before it began"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct status status;
        struct trace *trace = import(rows[i].json, &status);
        if (trace || !strstr(status.message, rows[i].message))
            test_failed(__FILE__, __LINE__, "%s: %s", rows[i].json, status.message);
        trace_close(trace);
    }
}

TEST(events_with_impossible_times_can_be_dropped_and_are_counted) {
    struct status status = {0};
    struct trace *trace = imported_bytes(
        &import_kineto,
        TEXT("[{\"ph\":\"X\",\"ts\":1,\"dur\":-1},{\"ph\":\"X\",\"ts\":-1,\"dur\":1},"
             "{\"ph\":\"X\",\"ts\":1,\"dur\":1}]"),
        true, &status);
    REQUIRE(trace);
    CHECK_INT(trace->range.count, 1);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 2);
    trace_close(trace);
}

TEST(json_nested_a_million_deep_is_refused) {
    static const char *const openings[] = {
        "{\"x\":",
        "{\"deviceProperties\":",
        "{\"traceEvents\":[{\"args\":{\"a\":",
        "[{\"ph\":",
    };
    for (size_t i = 0; i < ARRAY_COUNT(openings); i++) {
        struct buffer json = {0};
        struct status status;
        buffer_string(&json, openings[i]);
        for (int depth = 0; depth < 1000000; depth++)
            buffer_byte(&json, '[');
        buffer_byte(&json, 0);
        struct trace *trace = import(json.data, &status);
        CHECK(!trace && strstr(status.message, "nested more than 512 deep"));
        trace_close(trace);
        buffer_finish(&json);
    }
}

/* `before`, `filling` so many times, `after`, as zstd: large files that are small. */
static struct buffer packed(const char *before, const char *filling, size_t times,
                            const char *after) {
    struct buffer out = {0};
    size_t length = strlen(filling), frame = 1 << 20;
    struct buffer plain = {0};
    char *block = malloc(ZSTD_compressBound(frame + length));
    buffer_append(&out, block, ZSTD_compress(block, frame, before, strlen(before), 1));
    while (times > 0) {
        buffer_clear(&plain);
        for (; times > 0 && plain.length < frame; times--)
            buffer_append(&plain, filling, length);
        buffer_append(
            &out, block,
            ZSTD_compress(block, ZSTD_compressBound(frame + length), plain.data, plain.length, 1));
    }
    buffer_append(&out, block, ZSTD_compress(block, frame, after, strlen(after), 1));
    buffer_finish(&plain);
    free(block);
    return out;
}

TEST(an_event_longer_than_the_limit_is_refused_and_a_long_member_is_passed) {
    struct status status = {0};
    static const char sixteen[] = "0123456789abcdef";
    struct buffer event = packed("{\"traceEvents\": [{\"name\": \"", sixteen, 5 << 20, "\"}]}");
    struct trace *trace = imported_bytes(&import_kineto, buffer_as_text(&event), false, &status);
    CHECK(!trace && strstr(status.message, "an event at byte 17: more than 64 MiB"));
    buffer_finish(&event);
    status = (struct status){0};
    struct buffer member = packed("{\"metadata\": [\"", sixteen, 5 << 20,
                                  "\"], \"traceEvents\": [{\"ph\": \"i\", \"ts\": 1}]}");
    trace = imported_bytes(&import_kineto, buffer_as_text(&member), false, &status);
    CHECK(trace && trace_meta_sum(trace, "source.events") == 1);
    trace_close(trace);
    buffer_finish(&member);
}

static const char pieces_json[] =
    "{\"deviceProperties\": [{\"id\": 0, \"name\": \"A \\\"B\\\"\"}], \"unknown\": {\"a\": "
    "[\"\\\\\"]},"
    "\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\\\\\", \"pid\": 0, "
    "\"tid\": 7, \"ts\": 123456.789, \"dur\": 12.5, \"args\": {\"grid\": [1, 2, 3], \"stream\": 7, "
    "\"correlation\": 1234567}},\n"
    "  {\"args\": {\"Python id\": [1, {\"x\": \"}\"}]}, \"ph\": \"X\", \"cat\": "
    "\"python_function\", "
    "\"name\": \"f\", \"pid\": 1, \"tid\": \"12\", \"ts\": 5, \"dur\": 1}, null],"
    "\"traceName\": \"/tmp/x\", \"baseTimeNanoseconds\": 1000}";

/* The importer over bytes that arrive `piece` at a time, into a trace. */
static struct trace *import_pieces(struct text json, size_t piece, struct status *status) {
    struct buffer frames = {0};
    char frame[256];
    for (size_t at = 0; at < json.length; at += piece) {
        size_t length = json.length - at < piece ? json.length - at : piece;
        buffer_append(&frames, frame,
                      ZSTD_compress(frame, sizeof frame, json.data + at, length, 1));
    }
    struct trace *trace = imported_bytes(&import_kineto, buffer_as_text(&frames), false, status);
    buffer_finish(&frames);
    return trace;
}

TEST(it_does_not_matter_where_the_window_cuts_an_event) {
    for (size_t piece = 1; piece <= 64; piece++) {
        struct status status = {0};
        struct trace *trace = import_pieces(TEXT(pieces_json), piece, &status);
        if (!trace || !trace_load(trace, TABLE_ACTIVITY, NULL, &status)) {
            test_failed(__FILE__, __LINE__, "in pieces of %zu: %s", piece, status.message);
            continue;
        }
        CHECK_INT(trace->activity.count, 1);
        CHECK_INT(trace->range.count, 1);
        CHECK_INT(trace->activity.start[0], 123457789);
        CHECK_INT(trace->activity.grid_z[0], 3);
        CHECK_INT(trace->activity.correlation[0], 1234567);
        CHECK(is(trace, trace->activity.name[0], "k\\"));
        CHECK(is(trace, trace->device.name[1], "A \"B\""));
        CHECK(text_is(trace_meta(trace, "kineto.traceName"), "/tmp/x"));
        CHECK_INT(trace_meta_sum(trace, "source.events"), 3);
        trace_close(trace);
    }
}

TEST(running_out_of_memory_is_reported_wherever_it_happens) {
    struct import_options options = {0};
    int fd = open("/dev/null", O_WRONLY);
    struct status status = {0};
    uint64_t nth = 1;
    for (; nth < 200; nth++) {
        status = (struct status){0};
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
        REQUIRE(writer);
        struct input input;
        memory_fail_from(nth);
        bool ok = input_open_bytes(&input, pieces_json, strlen(pieces_json), &status) &&
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
    CHECK(nth > 5 && nth < 200);
    close(fd);
}
