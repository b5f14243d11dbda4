/* JSON of profilers that is no Chrome trace: rocprofv3, Proton, Firefox Profiler. */
#include "imported.h"

#include "base/text.h"

static struct trace *import(const struct importer *importer, const char *text,
                            struct status *status) {
    struct import_source source = {
        .path = "file", .head = (const unsigned char *)text, .head_length = strlen(text)};
    *status = (struct status){0};
    CHECK_INT(importer->detect(&source), 3);
    return imported_bytes(importer, text_of(text), false, status);
}

#define IMPORT(importer, text)                                                                     \
    struct status status;                                                                          \
    struct trace *trace = import(&importer, text, &status);                                        \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

#define LOAD(TABLE) CHECK_OK(trace_load(trace, TABLE, NULL, &status), status)

static bool is(const struct trace *trace, uint32_t string, const char *expected) {
    return text_is(trace_text(trace, string), expected);
}

/* ---- rocprofv3 ------------------------------------------------------------------------------ */

#define ROCPROF_NAMES                                                                              \
    "\"metadata\":{\"pid\":77,\"command\":[\"python\",\"train.py\"]},"                             \
    "\"agents\":[{\"id\":{\"handle\":5},\"type\":1,\"logical_node_id\":0},"                        \
    "{\"id\":{\"handle\":18446744073709551615},\"type\":2,\"logical_node_id\":1,"                  \
    "\"product_name\":\"MI300X\",\"cu_count\":304,\"wave_front_size\":64}],"                       \
    "\"counters\":[{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"}],"                                \
    "\"strings\":{\"buffer_records\":[{\"kind\":\"NONE\",\"operations\":[]},"                      \
    "{\"kind\":\"HIP\",\"operations\":[\"hipInit\",\"hipLaunchKernel\"]},"                         \
    "{\"kind\":\"COPY\",\"operations\":[\"none\",\"HOST_TO_DEVICE\"]}],"                           \
    "\"marker_api\":[{\"key\":8,\"value\":\"epoch 1\"}]},"                                         \
    "\"kernel_symbols\":[{\"kernel_id\":3,\"kernel_name\":\"gemm.kd\",\"arch_vgpr_count\":16}]"
#define ROCPROF_DISPATCH                                                                           \
    "\"dispatch_info\":{\"agent_id\":{\"handle\":18446744073709551615},"                           \
    "\"queue_id\":{\"handle\":2},\"kernel_id\":3,\"group_segment_size\":1024,"                     \
    "\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":3},\"grid_size\":{\"x\":1000,\"y\":2,\"z\":7}}"
#define ROCPROF_RECORDS                                                                            \
    "\"callback_records\":{\"counter_collection\":[{\"dispatch_data\":{" ROCPROF_DISPATCH          \
    "},\"records\":[{\"counter_id\":{\"handle\":9},\"value\":12.5}]}]},"                           \
    "\"buffer_records\":{\"kernel_dispatch\":[{\"start_timestamp\":100,\"end_timestamp\":150,"     \
    "\"correlation_id\":{\"internal\":7}," ROCPROF_DISPATCH "}],"                                  \
    "\"hip_api\":[{\"kind\":1,\"operation\":1,\"thread_id\":78,\"start_timestamp\":90,"            \
    "\"end_timestamp\":95,\"correlation_id\":{\"internal\":7}}],"                                  \
    "\"marker_api\":[{\"kind\":1,\"operation\":0,\"thread_id\":78,\"start_timestamp\":80,"         \
    "\"end_timestamp\":200,\"correlation_id\":{\"internal\":8}}],"                                 \
    "\"memory_copy\":[{\"kind\":2,\"operation\":1,\"start_timestamp\":160,\"end_timestamp\":170,"  \
    "\"bytes\":4096,\"dst_agent_id\":{\"handle\":18446744073709551615},"                           \
    "\"src_agent_id\":{\"handle\":5}}],\"scratch_memory\":[]}"
#define ROCPROF "{\"rocprofiler-sdk-tool\":[{" ROCPROF_NAMES "," ROCPROF_RECORDS "}]}"

TEST(rocprofv3_json_joins_dispatches_with_names_devices_and_calls) {
    IMPORT(import_rocprof_json, ROCPROF);
    LOAD(TABLE_ACTIVITY);
    LOAD(TABLE_CALL);
    REQUIRE(trace->activity.count == 2 && trace->call.count == 1);
    CHECK(is(trace, trace->activity.name[0], "gemm"));
    CHECK_INT(trace->activity.start[0], 100);
    CHECK_INT(trace->activity.duration[0], 50);
    CHECK_INT(trace->activity.grid_x[0], 4);
    CHECK_INT(trace->activity.grid_z[0], 3);
    CHECK_INT(trace->activity.registers[0], 16);
    CHECK_INT(trace->activity.shared_dynamic[0], 1024);
    CHECK_INT(trace->activity.correlation[0], 7);
    uint32_t device = trace->queue.device[trace->activity.queue[0]];
    CHECK(is(trace, trace->device.name[device], "MI300X"));
    CHECK_INT(trace->device.multiprocessors[device], 304);
    CHECK(is(trace, trace->call.name[0], "hipLaunchKernel"));
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.correlation[0], 7);
    CHECK_INT(trace->process.pid[trace->thread.process[trace->call.thread[0]]], 77);
    CHECK(text_is(trace_meta(trace, META_COMMAND), "python train.py"));
    trace_close(trace);
}

TEST(rocprofv3_json_has_copies_markers_and_counters) {
    IMPORT(import_rocprof_json, ROCPROF);
    LOAD(TABLE_ACTIVITY);
    LOAD(TABLE_RANGE);
    LOAD(TABLE_METRIC);
    REQUIRE(trace->activity.count == 2 && trace->range.count == 1 && trace->metric.count == 1);
    CHECK_INT(trace->activity.kind[1], ACTIVITY_COPY);
    CHECK_INT(trace->activity.direction[1], COPY_HTOD);
    CHECK_INT(trace->activity.bytes[1], 4096);
    CHECK(is(trace, trace->range.name[0], "epoch 1"));
    CHECK(is(trace, trace->metric.name[0], "SQ_WAVES"));
    CHECK(is(trace, trace->metric.kernel[0], "gemm"));
    CHECK(trace->metric.value[0] == 12.5);
    trace_close(trace);
}

TEST(rocprofv3_json_without_events_or_with_damaged_times_is_an_error) {
    struct status status;
    CHECK(
        !import(&import_rocprof_json, "{\"rocprofiler-sdk-tool\":[{" ROCPROF_NAMES "}]}", &status));
    CHECK(strstr(status.message, "without events") && strstr(status.message, "--kernel-trace"));
    CHECK(!import(&import_rocprof_json,
                  "{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{\"hip_api\":["
                  "{\"start_timestamp\":9,\"end_timestamp\":5}]}}]}",
                  &status));
    CHECK(strstr(status.message, "--skip-invalid"));
}

/* ---- Proton --------------------------------------------------------------------------------- */

#define PROTON                                                                                     \
    "\n[{\"children\":[{\"children\":[{\"children\":[],\"frame\":{\"name\":\"sgemm\"},"            \
    "\"metrics\":{\"count\":3,\"time (ns)\":100,\"device_id\":\"0\",\"device_type\":\"CUDA\"}}],"  \
    "\"frame\":{\"name\":\"cublas\"},\"metrics\":{\"flops16\":3e6,\"bytes\":300}},"                \
    "{\"children\":[],\"frame\":{\"name\":\"fill\"},\"metrics\":{\"Count\":1,\"Time (ns)\":7,"     \
    "\"DeviceId\":\"0\",\"DeviceType\":\"CUDA\"}},"                                                \
    "{\"children\":[{\"children\":[],\"frame\":{\"name\":\"hook\"},\"metrics\":{\"count\":9,"      \
    "\"time (ns)\":9,\"device_id\":\"0\",\"device_type\":\"CUDA\"}}],"                             \
    "\"frame\":{\"name\":\"__proton_launch_metadata\"},\"metrics\":{}}],"                          \
    "\"frame\":{\"name\":\"ROOT\"},\"metrics\":{\"count\":0,\"time (ns)\":0}},"                    \
    "{\"CUDA\":{\"0\":{\"arch\":\"90\",\"bus_width\":6144,\"clock_rate\":1980000,"                 \
    "\"memory_clock_rate\":1593000,\"num_sms\":132}}}]"

TEST(launches_of_a_proton_tree_add_up_to_its_totals) {
    IMPORT(import_proton, PROTON);
    LOAD(TABLE_ACTIVITY);
    REQUIRE(trace->activity.count == 4);
    int64_t sum = 0;
    for (size_t i = 0; i < 3; i++) {
        CHECK(is(trace, trace->activity.name[i], "sgemm"));
        CHECK_INT(trace->activity.flops[i], 1000000);
        CHECK_INT(trace->activity.bytes[i], 100);
        sum += trace->activity.duration[i];
    }
    CHECK_INT(sum, 100);
    CHECK(is(trace, trace->activity.name[3], "fill"));
    CHECK_INT(trace->activity.duration[3], 7);
    CHECK_INT(trace->activity.flops[3], 0);
    CHECK(text_is(trace_meta(trace, META_TIMELINE), "none"));
    uint32_t device = trace->queue.device[trace->activity.queue[0]];
    CHECK_INT(trace->device.compute_major[device], 9);
    CHECK_INT(trace->device.bandwidth[device], 2446848000000);
    trace_close(trace);
}

TEST(a_proton_tree_without_kernels_is_an_error) {
    struct status status;
    CHECK(!import(&import_proton,
                  "[{\"children\":[],\"frame\":{\"name\":\"ROOT\"},\"metrics\":{\"time (ns)\":0}}]",
                  &status));
    CHECK(strstr(status.message, "without kernels"));
    CHECK(!import(&import_proton, "[{\"frame\":{},\"metrics\":{},\"children\":[{", &status));
}

/* ---- Firefox Profiler ----------------------------------------------------------------------- */

/* Columns, and strings for all threads that follow them. */
#define GECKO_PROCESSED                                                                            \
    "{\"meta\":{\"preprocessedProfileVersion\":57,\"interval\":2,\"startTime\":1000,"              \
    "\"product\":\"app\",\"symbolicated\":false},\"threads\":[{\"name\":\"main\",\"pid\":\"41\","  \
    "\"tid\":42,\"samples\":{\"stack\":[1,null,0],\"timeDeltas\":[1,1,1],\"weight\":[1,1,3],"      \
    "\"weightType\":\"samples\"},\"stackTable\":{\"frame\":[0,1],\"prefix\":[null,0]},"            \
    "\"frameTable\":{\"func\":[0,1],\"line\":[null,12]},"                                          \
    "\"funcTable\":{\"name\":[0,1],\"fileName\":[null,2]}}],"                                      \
    "\"shared\":{\"stringArray\":[\"main\",\"work\",\"w.c\"]}}"

/* Rows with a schema. */
#define GECKO_ROWS                                                                                 \
    "{\"meta\":{\"version\":27,\"interval\":1,\"processType\":0,\"startTime\":0},"                 \
    "\"threads\":[{\"name\":\"main\",\"pid\":1,\"tid\":2,"                                         \
    "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"responsiveness\":2},\"data\":[[1,5.5]]},"   \
    "\"frameTable\":{\"schema\":{\"location\":0,\"line\":3},\"data\":[[0],[1,null,null,7]]},"      \
    "\"stackTable\":{\"schema\":{\"prefix\":1,\"frame\":0},\"data\":[[0,null],[1,0]]},"            \
    "\"stringTable\":[\"start\",\"leaf\"]}]}"

TEST(a_processed_profile_has_stacks_weights_and_times) {
    IMPORT(import_gecko, GECKO_PROCESSED);
    LOAD(TABLE_SAMPLE);
    REQUIRE(trace->sample.count == 2);
    CHECK_INT(trace->sample.time[0], 1001000000);
    CHECK_INT(trace->sample.weight[0], 2000000);
    CHECK_INT(trace->sample.time[1], 1003000000);
    CHECK_INT(trace->sample.weight[1], 6000000);
    uint32_t leaf = trace->sample.stack[0], caller = trace->stack.parent[leaf];
    CHECK(is(trace, trace->stack.function[leaf], "work"));
    CHECK(is(trace, trace->stack.file[leaf], "w.c"));
    CHECK_INT(trace->stack.line[leaf], 12);
    CHECK(is(trace, trace->stack.function[caller], "main"));
    CHECK_INT(caller, trace->sample.stack[1]);
    CHECK_INT(trace->process.pid[trace->thread.process[trace->sample.thread[0]]], 41);
    CHECK(text_find(trace_meta(trace, META_WARNING), "not symbolicated") >= 0);
    trace_close(trace);
}

TEST(rows_of_a_gecko_profile_are_read_by_their_schema) {
    IMPORT(import_gecko, GECKO_ROWS);
    LOAD(TABLE_SAMPLE);
    REQUIRE(trace->sample.count == 1);
    CHECK_INT(trace->sample.time[0], 5500000);
    uint32_t leaf = trace->sample.stack[0];
    CHECK(is(trace, trace->stack.function[leaf], "leaf"));
    CHECK_INT(trace->stack.line[leaf], 7);
    CHECK(is(trace, trace->stack.function[trace->stack.parent[leaf]], "start"));
    trace_close(trace);
}

TEST(a_profile_with_cyclic_stacks_or_without_samples_is_safe) {
    struct status status;
    CHECK(!import(&import_gecko,
                  "{\"meta\":{\"preprocessedProfileVersion\":57,\"interval\":1},\"threads\":[]}",
                  &status));
    CHECK(strstr(status.message, "without samples"));
    struct trace *trace =
        import(&import_gecko,
               "{\"meta\":{\"preprocessedProfileVersion\":57,\"interval\":1},\"threads\":["
               "{\"samples\":{\"stack\":[1,7,1e300],\"time\":[0,1,2]},"
               "\"stackTable\":{\"frame\":[0,9],\"prefix\":[1,1]},\"stringTable\":[]}]}",
               &status);
    CHECK_OK(trace != NULL, status);
    trace_close(trace);
}

/* ---- real files ----------------------------------------------------------------------------- */

TEST(totals_of_proton_files_agree_with_an_independent_reading) {
    static const struct {
        const char *file;
        uint64_t launches;
        int64_t time;
    } files[] = {{"proton/htyu_matmul.hatchet", 35, 2146935},
                 {"proton/jongseo_matmul.hatchet", 330003, 346533592610}};
    for (unsigned i = 0; i < 2; i++) {
        struct status status = {0};
        const char *path = test_fixture(files[i].file);
        if (!path)
            return;
        struct trace *trace = imported_file(&import_proton, path, false, &status);
        CHECK_OK(trace && trace_load(trace, TABLE_ACTIVITY, "duration", &status), status);
        int64_t sum = 0;
        for (size_t k = 0; trace && k < trace->activity.count; k++)
            sum += trace->activity.duration[k];
        CHECK_INT(trace ? trace->activity.count : 0, files[i].launches);
        CHECK_INT(sum, files[i].time);
        trace_close(trace);
    }
}
