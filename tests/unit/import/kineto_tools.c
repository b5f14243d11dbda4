/* Chrome traces of TensorFlow, ONNX Runtime and Proton: what their rows become. The figures of the
 * shared files were computed independently (truth-2.json). */
#include "imported.h"

#include "base/array.h"
#include "import/kineto/kineto.h"

static struct trace *load(struct trace *trace, const struct status *status) {
    struct status failure = *status;
    for (unsigned table = TABLE_ACTIVITY; trace && table < TABLE_COUNT; table++)
        if (!trace_load(trace, (enum trace_table)table, NULL, &failure))
            test_failed(__FILE__, __LINE__, "%s", failure.message);
    if (!trace)
        test_failed(__FILE__, __LINE__, "%s", failure.message);
    return trace;
}

static struct trace *import(const char *json) {
    struct status status = {0};
    struct trace *trace = imported_bytes(&import_kineto, text_of(json), false, &status);
    return load(trace, &status);
}

static bool is(const struct trace *trace, uint32_t string, const char *want) {
    return text_is(trace_text(trace, string), want);
}

static bool warns(const struct trace *trace, const char *part) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (is(trace, trace->meta.key[i], META_WARNING) &&
            text_find(trace_text(trace, trace->meta.value[i]), part) >= 0)
            return true;
    return false;
}

#define PROCESS(pid, name)                                                                         \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid ",\"args\":{\"name\":\"" name "\"}},"
#define ROW(pid, tid, name, ts, dur)                                                               \
    "{\"ph\":\"X\",\"cat\":\"Op\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid              \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"name\":\"node\",\"op\":\"" name "\"}}"

TEST(numbered_streams_of_a_tensorflow_timeline_are_kernels_and_copies) {
    struct trace *trace = import(
        "{\"traceEvents\": [" PROCESS("1", "/device:GPU:1/stream:13 Compute")
            PROCESS("2", "/device:GPU:1/stream:all Compute")
                PROCESS("3", "/device:GPU:1/memcpy Compute")
                    PROCESS("4", "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
                        PROCESS("5", "/job:localhost/replica:0/task:0/device:GPU:1 Compute")
                            ROW("1", "0", "Conv2D", "10", "4") "," ROW("1", "0", "Assign", "20",
                                                                       "1") "," /* a copy */
        ROW("1", "0", "Assign", "30", "1") "," ROW("1", "0", "MEMCPYHtoD", "40", "2") "," ROW(
            "2", "0", "Conv2D", "10",
            "4") "," ROW("2", "0", "Assign", "30",
                         "1") "," ROW("3", "0", "Assign", "20",
                                      "1") "," ROW("3", "0", "MEMCPYHtoD", "40",
                                                   "2") "," ROW("4", "2", "IteratorGetNext", "1",
                                                                "3") "," ROW("5", "0", "Conv2D",
                                                                             "5", "4") "]}");
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    CHECK_INT(a->count, 4);
    static const uint8_t kinds[] = {ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_KERNEL, ACTIVITY_COPY};
    for (size_t i = 0; i < a->count && i < ARRAY_COUNT(kinds); i++) {
        CHECK_INT(a->kind[i], kinds[i]);
        CHECK_INT(trace->queue.stream[a->queue[i]], 13);
        CHECK(a->bytes[i] == BYTES_UNKNOWN);
    }
    CHECK_INT(a->direction[1], COPY_UNKNOWN);
    CHECK_INT(a->direction[3], COPY_HTOD);
    CHECK_INT(trace->device.index[trace->queue.device[a->queue[0]]], 1);
    CHECK(is(trace, a->detail[0], "{\"name\":\"node\",\"op\":\"Conv2D\"}"));
    CHECK_INT(trace->range.count, 2);
    CHECK_INT(trace->range.category[0], RANGE_OP);
    CHECK_INT(trace->range.category[1], RANGE_OP);
    CHECK(trace->range.thread[0] != trace->range.thread[1]);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "TensorFlow (timeline)"));
    CHECK(warns(trace, "whole microseconds"));
    trace_close(trace);
}

TEST(a_timeline_without_numbered_streams_has_its_kernels_in_the_other_lanes) {
    struct trace *trace =
        import("{\"traceEvents\": [" PROCESS("2", "/gpu:0/stream:all Compute")
                   PROCESS("3", "/gpu:0/memcpy Compute")
                       ROW("2", "0", "Mul", "10", "4") "," ROW("3", "0", "Assign", "20", "1") "]}");
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    CHECK_INT(a->count, 2);
    CHECK_INT(a->kind[0], ACTIVITY_KERNEL);
    CHECK_INT(a->kind[1], ACTIVITY_COPY);
    CHECK(is(trace, trace->queue.name[a->queue[0]], "stream:all"));
    CHECK(is(trace, trace->queue.name[a->queue[1]], "memcpy"));
    trace_close(trace);
}

TEST(a_timeline_without_streams_says_that_the_gpu_is_unknown) {
    struct trace *trace =
        import("{\"traceEvents\": [" PROCESS("5", "/job:a/replica:0/task:0/device:GPU:0 Compute")
                   ROW("5", "0", "MatMul", "1", "3") "]}");
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 0);
    CHECK_INT(trace->range.category[0], RANGE_OP);
    CHECK(warns(trace, "recorded no stream of the GPU"));
    trace_close(trace);
}

TEST(rows_of_the_category_op_without_a_timeline_are_ranges) {
    struct trace *trace =
        import("[" PROCESS("1", "/gpu:0/stream:x Compute") PROCESS("2", "Compute")
                   ROW("1", "0", "a", "1", "1") "," ROW("2", "0", "b", "1", "1") "," ROW(
                       "\"p\"", "0", "c", "1", "1") "]");
    REQUIRE(trace);
    CHECK_INT(trace->range.count, 3);
    for (size_t i = 0; i < trace->range.count; i++)
        CHECK_INT(trace->range.category[i], RANGE_OTHER);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "unknown (Chrome trace)"));
    trace_close(trace);
}

#define SESSION(name, ts, dur)                                                                     \
    "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :8,\"dur\" :" dur ",\"ts\" :" ts                    \
    ",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {}},"
#define NODE(name, provider, ts, dur)                                                              \
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :" dur ",\"ts\" :" ts                       \
    ",\"ph\" : \"X\",\"name\" :\"" name                                                            \
    "\",\"args\" : {\"op_name\" : \"Gemm\",\"provider\" : \"" provider                             \
    "ExecutionProvider\",\"input_type_shape\" : [{\"float\":[2, 3]}]}},"

TEST(nodes_of_onnx_runtime_are_operators_and_runs_are_annotations) {
    struct trace *trace = import(
        "[" SESSION("model_loading_uri", "1", "2") SESSION("session_initialization", "4", "2")
            NODE("fc\\\"1_kernel_time", "CPU", "12", "3") NODE("_kernel_time", "CPU", "16", "1")
                NODE("fc_fence_after", "CPU", "18", "0")
                    SESSION("SequentialExecutor::Execute", "11", "8")
                        SESSION("model_run", "10", "10"));
    REQUIRE(trace);
    const struct columns_range *r = &trace->range;
    CHECK_INT(r->count, 7);
    CHECK_INT(r->category[2], RANGE_OP);
    CHECK(is(trace, r->name[2], "Gemm"));
    CHECK_INT(r->duration[2], 3000);
    CHECK(is(trace, r->detail[2],
             "{\"provider\":\"CPUExecutionProvider\",\"input_type_shape\":[{\"float\":[2,3]}],"
             "\"node\":\"fc\\\"1\"}"));
    CHECK(is(trace, r->detail[3],
             "{\"provider\":\"CPUExecutionProvider\",\"input_type_shape\":[{\"float\":[2,3]}]}"));
    CHECK_INT(r->category[4], RANGE_OTHER);
    static const size_t annotations[] = {0, 1, 5, 6};
    for (size_t i = 0; i < ARRAY_COUNT(annotations); i++)
        CHECK_INT(r->category[annotations[i]], RANGE_ANNOTATION);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "ONNX Runtime"));
    CHECK(warns(trace, "whole microseconds"));
    CHECK(!warns(trace, "enqueue"));
    trace_close(trace);
}

TEST(gpu_nodes_of_onnx_runtime_without_kernels_are_enqueue_times) {
    struct trace *trace =
        import("[" SESSION("model_run", "1", "9") NODE("a_kernel_time", "CUDA", "2", "3"));
    REQUIRE(trace);
    CHECK(warns(trace, "time to enqueue"));
    trace_close(trace);
}

TEST(kernels_of_onnx_runtime_are_work_of_the_gpu) {
    struct trace *trace = import("[" SESSION("model_run", "1", "9") NODE(
        "a_kernel_time", "CUDA", "2",
        "3") "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :5,\"ts\" :4,\"ph\" : \"X\","
             "\"name\" :\"sgemm\",\"args\" : {\"op_name\" : \"Gemm\",\"stream\" : \"7\","
             "\"grid_x\" : \"4\",\"grid_y\" : \"2\",\"grid_z\" : \"1\",\"block_x\" : \"128\"}},"
             "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :1,\"ts\" :3,\"ph\" : \"X\","
             "\"name\" :\"MemcpyHostToDevice\",\"args\" : {\"stream\" : \"7\"}}]");
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    CHECK_INT(a->count, 2);
    CHECK_INT(a->kind[0], ACTIVITY_KERNEL);
    CHECK_INT(a->grid_x[0] * 100 + a->grid_y[0] * 10 + a->grid_z[0], 421);
    CHECK_INT(a->block_x[0], 128);
    CHECK_INT(a->block_y[0], 0);
    CHECK_INT(a->kind[1], ACTIVITY_COPY);
    CHECK_INT(a->direction[1], COPY_HTOD);
    CHECK_INT(trace->queue.stream[a->queue[0]], 7);
    CHECK_INT(trace->device.index[trace->queue.device[a->queue[0]]], 0);
    CHECK(!warns(trace, "enqueue"));
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "ONNX Runtime"));
    trace_close(trace);
}

#define PROTON(stream, name)                                                                       \
    "{\"displayTimeUnit\":\"us\",\"traceEvents\":[{\"args\":{\"call_stack\":[\"ROOT\",\"" name     \
    "\"]},\"cat\":\"kernel\",\"dur\":1.5,\"name\":\"" name "\",\"ph\":\"X\",\"tid\":" stream       \
    ",\"ts\":2.0}]}\n"

TEST(proton_writes_an_object_for_each_stream) {
    struct trace *trace = import(PROTON("0", "a") PROTON("7", "b"));
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    CHECK_INT(a->count, 2);
    CHECK_INT(trace->queue.stream[a->queue[0]], 0);
    CHECK_INT(trace->queue.stream[a->queue[1]], 7);
    CHECK_INT(trace->queue.device[a->queue[0]], trace->queue.device[a->queue[1]]);
    CHECK(is(trace, a->detail[1], "{\"call_stack\":[\"ROOT\",\"b\"]}"));
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "Proton (Triton)"));
    trace_close(trace);
}

TEST(unitrace_has_sizes_and_directions_in_the_names_of_commands) {
    struct trace *trace = import(
        "{ \"traceEvents\":[\n"
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 99, \"ts\": 1, \"args\": {\"name\": "
        "\"DEVICE<host>[Max 1550] 0:29:0:0 #0\"}},\n"
        "{\"ph\": \"X\", \"tid\": 7, \"pid\": 99, \"name\": \"gemm<8, a[2]>[SIMD32 {64; 2; 1} "
        "{256; 1; 1}]\", "
        "\"cat\": \"gpu_op\", \"ts\": 10, \"dur\": 5, \"args\": {\"id\": \"1\"}},\n"
        "{\"ph\": \"X\", \"tid\": 8, \"pid\": 99, \"name\": "
        "\"zeCommandListAppendMemoryCopy(M2D)[4096]\", "
        "\"cat\": \"gpu_op\", \"ts\": 20, \"dur\": 5, \"args\": {\"id\": \"2\"}},\n"
        "{\"ph\": \"X\", \"tid\": 3, \"pid\": 2, \"name\": \"zeCommandListAppendLaunchKernel\", "
        "\"cat\": \"cpu_op\", \"ts\": 2, \"dur\": 5, \"id\": 4},\n"
        "{\"ph\": \"X\", \"tid\": 3, \"pid\": 2, \"name\": \"zeros\", "
        "\"cat\": \"cpu_op\", \"ts\": 1, \"dur\": 9, \"id\": 5}]}");
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    REQUIRE(a->count == 2 && trace->call.count == 1 && trace->range.count == 1);
    CHECK(is(trace, a->name[0], "gemm<8, a[2]>"));
    CHECK_INT(a->grid_x[0], 64);
    CHECK_INT(a->grid_y[0], 2);
    CHECK_INT(a->block_x[0], 256);
    CHECK_INT(a->kind[1], ACTIVITY_COPY);
    CHECK_INT(a->direction[1], COPY_HTOD);
    CHECK_INT(a->bytes[1], 4096);
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "unitrace"));
    trace_close(trace);
}

/* A trace of unitrace with one command for each name. */
static struct trace *import_commands(const char *const *names, size_t count) {
    struct buffer json = {0};
    buffer_string(&json, "{\"traceEvents\":[");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&json,
                      "%s{\"ph\":\"X\",\"tid\":7,\"pid\":99,\"name\":\"%s\",\"cat\":\"gpu_op\","
                      "\"ts\":10,\"dur\":5,\"args\":{\"id\":\"1\"}}",
                      i ? "," : "", names[i]);
    buffer_append(&json, "]}", 3);
    struct trace *trace = import(json.data);
    buffer_finish(&json);
    return trace;
}

#define COPY_COMMAND "zeCommandListAppendMemoryCopy"

TEST(commands_of_unitrace_have_every_direction_and_whole_numbers) {
    static const char *const names[] = {
        "k[SIMD16 {10; 9; 90} {19; 2; 3}]",
        "k[SIMD16 {10; 9}]",
        "k[SIMD16 {4294967296; 1; 1} {1; 1; 1}]",
        COPY_COMMAND "(D2M)[90]",
        COPY_COMMAND "(D2H)[90]",
        COPY_COMMAND "(H2D)[90]",
        COPY_COMMAND "(D2D)[90]",
        COPY_COMMAND "(M2M)[90]",
        COPY_COMMAND,
        "zeCommandListAppendMemoryFill[90]",
    };
    struct trace *trace = import_commands(names, ARRAY_COUNT(names));
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    REQUIRE(a->count == 10);
    CHECK_INT(a->grid_x[0], 10);
    CHECK_INT(a->grid_y[0], 9);
    CHECK_INT(a->grid_z[0], 90);
    CHECK_INT(a->block_x[0], 19);
    CHECK_INT(a->block_y[0], 2);
    CHECK_INT(a->block_z[0], 3);
    CHECK_INT(a->grid_x[1], 0); /* two of six sizes */
    CHECK_INT(a->grid_y[2], 0); /* one is too large */
    static const enum copy_direction directions[] = {COPY_DTOH, COPY_DTOH, COPY_HTOD,
                                                     COPY_DTOD, COPY_HTOH, COPY_UNKNOWN};
    for (size_t i = 0; i < ARRAY_COUNT(directions); i++) {
        CHECK_INT(a->kind[3 + i], ACTIVITY_COPY);
        CHECK_INT(a->direction[3 + i], directions[i]);
    }
    CHECK_INT(a->bytes[7], 90);
    CHECK(a->bytes[8] == BYTES_UNKNOWN);
    CHECK_INT(a->kind[9], ACTIVITY_SET);
    CHECK_INT(a->bytes[9], 90);
    trace_close(trace);
}

#define ASYNC(phase, pid, id, ts)                                                                  \
    "{\"ph\":\"" phase "\",\"cat\":\"io\",\"name\":\"read\",\"pid\":" pid                          \
    ",\"tid\":1,\"id2\":{\"" id "\":\"7\"},\"ts\":" ts "}"

/* Both begin before the first ends: only the process tells their ends apart. */
TEST(a_local_id_of_an_asynchronous_range_belongs_to_its_process) {
    static const char json[] = "{\"traceEvents\":[" /* of processes 1 and 2 */
        ASYNC("b", "1", "local", "10") "," ASYNC("b", "2", "local", "20") "," /* both are open */
        ASYNC("e", "1", "local", "40") "," ASYNC("e", "2", "local", "90") "," /* and end */
        ASYNC("b", "1", "global", "100") "," ASYNC("e", "2", "global", "109") "]}";
    struct trace *trace = import(json);
    REQUIRE(trace && trace->range.count == 3);
    for (size_t i = 0; i < 3; i++) {
        int64_t start = trace->range.start[i], duration = trace->range.duration[i];
        CHECK_INT(duration, start == 10000 ? 30000 : start == 20000 ? 70000 : 9000);
    }
    trace_close(trace);
}

TEST(the_json_of_rocprof_1_has_calls_kernels_and_copies_in_processes) {
    struct trace *trace = import(
        "{ \"traceEvents\":[{}\n"
        ",{\"args\":{\"name\":\"CPU HIP "
        "API\"},\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\"}\n"
        ",{\"args\":{\"name\":\"COPY\"},\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\"}\n"
        ",{\"args\":{\"name\":\"GPU4\"},\"ph\":\"M\",\"pid\":10,\"name\":\"process_name\"}\n"
        ",{\"ph\":\"X\",\"name\":\"CopyHostToDevice\",\"pid\":\"1\",\"tid\":\"0\",\"ts\":"
        "\"46\","
        "\"dur\":\"9\",\"args\":{\"BeginNs\":\"46251\",\"EndNs\":\"55698\",\"dev-id\":\"4\"}}\n"
        ",{\"ph\":\"X\",\"name\":\"hipMemcpy\",\"pid\":\"2\",\"tid\":\"19\",\"ts\":\"40\","
        "\"dur\":\"20\",\"args\":{\"BeginNs\":\"40000\",\"EndNs\":\"60001\"}}\n"
        ",{\"ph\":\"X\",\"name\":\"vector_add(float*)\",\"pid\":\"10\",\"tid\":\"1\",\"ts\":"
        "\"70\","
        "\"dur\":\"3\",\"args\":{\"BeginNs\":\"99999999\",\"EndNs\":\"99999999\"}}]}");
    REQUIRE(trace);
    const struct columns_activity *a = &trace->activity;
    REQUIRE(a->count == 2 && trace->call.count == 1 && trace->range.count == 0);
    CHECK_INT(a->kind[0], ACTIVITY_COPY);
    CHECK_INT(a->direction[0], COPY_HTOD);
    CHECK_INT(a->start[0], 46251);
    CHECK_INT(a->duration[0], 9447);
    CHECK_INT(a->start[1], 70000); /* nanoseconds of another clock do not count */
    CHECK_INT(a->duration[1], 3000);
    CHECK(trace->queue.device[a->queue[0]] == trace->queue.device[a->queue[1]]);
    CHECK_INT(trace->call.class[0], CALL_COPY);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "rocprof (JSON)"));
    trace_close(trace);
}

struct expected {
    const char *file;
    int64_t kernels, kernel_time, copies, copy_time, ops, op_time, annotations;
};

static void check_figures(const struct expected *want) {
    struct status status = {0};
    const char *path = test_fixture(want->file);
    struct trace *trace = path ? imported_file(&import_kineto, path, false, &status) : NULL;
    if (!path || !load(trace, &status))
        return;
    struct expected got = {.file = want->file};
    for (size_t i = 0; i < trace->activity.count; i++) {
        bool kernel = trace->activity.kind[i] == ACTIVITY_KERNEL;
        *(kernel ? &got.kernels : &got.copies) += 1;
        *(kernel ? &got.kernel_time : &got.copy_time) += trace->activity.duration[i];
    }
    for (size_t i = 0; i < trace->range.count; i++) {
        bool op = trace->range.category[i] == RANGE_OP;
        got.ops += op;
        got.op_time += op ? trace->range.duration[i] : 0;
        got.annotations += trace->range.category[i] == RANGE_ANNOTATION;
    }
    CHECK_INT(got.kernels, want->kernels);
    CHECK_INT(got.kernel_time, want->kernel_time);
    CHECK_INT(got.copies, want->copies);
    CHECK_INT(got.copy_time, want->copy_time);
    CHECK_INT(got.ops, want->ops);
    CHECK_INT(got.op_time, want->op_time);
    CHECK_INT(got.annotations, want->annotations);
    trace_close(trace);
}

TEST(timelines_and_profiles_of_nodes_give_the_independent_figures) {
    static const struct expected files[] = {
        {"tf-timeline/dlprof_mnist_xla_timeline.ctf.json", 0, 0, 0, 0, 66, 956000, 0},
        {"tf-timeline/mnist-xla_timeline.ctf.json", 81, 1334000, 11, 19000, 145, 5834000, 0},
        {"tf-timeline/dlprof_feeddict_timeline_01.json", 118, 8932000, 14, 81000, 208, 13392000, 0},
        {"onnxruntime/ort_seq.json", 0, 0, 0, 0, 160, 2422000, 42},
        {"onnxruntime/ort_parallel.json", 0, 0, 0, 0, 160, 6666000, 42},
        {"onnxruntime/ort_noopt.json.gz", 0, 0, 0, 0, 320, 4166000, 42},
    };
    for (size_t i = 0; i < ARRAY_COUNT(files); i++)
        check_figures(&files[i]);
}
