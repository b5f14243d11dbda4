/* The CSV files of rocprof: columns by title, in the order and spelling of each version. */
#include "imported.h"

#include <sys/stat.h>

#include "base/text.h"

static struct trace *load(struct trace *trace, struct status *status) {
    if (trace && (!trace_load(trace, TABLE_ACTIVITY, NULL, status) ||
                  !trace_load(trace, TABLE_CALL, NULL, status) ||
                  !trace_load(trace, TABLE_RANGE, NULL, status)))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

static struct trace *import(const char *csv, bool skip_invalid, struct status *status) {
    *status = (struct status){0};
    return load(imported_bytes(&import_rocprof, text_of(csv), skip_invalid, status), status);
}

#define IMPORT(csv)                                                                                \
    struct status status;                                                                          \
    struct trace *trace = import(csv, false, &status);                                             \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

#define KERNELS_3                                                                                  \
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","              \
    "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\"," \
    "\"VGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\","               \
    "\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\r\n"

TEST(rocprof_3_kernels_have_grids_in_blocks) {
    IMPORT(KERNELS_3 "\"KERNEL_DISPATCH\",\"Agent 4\",\"2\",\"0\",\"77\",\"1\","
                     "\"void f<int, 2>(int*, \"\"x\"\")\",\"9\",\"100\",\"350\",\"512\",\"24\","
                     "\"64\",\"2\",\"3\",\"130\",\"4\",\"7\"\r\n");
    REQUIRE(trace->activity.count == 1);
    CHECK_INT(trace->activity.start[0], 100);
    CHECK_INT(trace->activity.duration[0], 250);
    CHECK_INT(trace->activity.kind[0], ACTIVITY_KERNEL);
    CHECK_INT(trace->activity.correlation[0], 9);
    CHECK_INT(trace->activity.grid_x[0], 3);
    CHECK_INT(trace->activity.grid_y[0], 2);
    CHECK_INT(trace->activity.grid_z[0], 3);
    CHECK_INT(trace->activity.block_x[0], 64);
    CHECK_INT(trace->activity.registers[0], 24);
    CHECK_INT(trace->activity.shared_dynamic[0], 512);
    CHECK(text_starts(trace_text(trace, trace->activity.name[0]), "void f<int, 2>(int*, "));
    uint32_t queue = trace->activity.queue[0], device = trace->queue.device[queue];
    CHECK_INT(trace->queue.stream[queue], 2);
    CHECK(text_is(trace_text(trace, trace->device.label[device]), "4"));
    CHECK(text_is(trace_text(trace, trace->device.vendor[device]), "AMD"));
    trace_close(trace);
}

TEST(rocprof_1_has_other_titles_and_flat_grids) {
    IMPORT("Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,vgpr,DispatchNs,BeginNs,EndNs,"
           "CompleteNs\n0,\"fill.kd\",1,5,10,11,1000,256,64,4,90,100,120,130\n\n"
           "1,\"void g(int) [clone .kd]\",1,5,10,11,256,256,0,4,130,140,141,150\n");
    REQUIRE(trace->activity.count == 2);
    CHECK(text_is(trace_text(trace, trace->activity.name[0]), "fill"));
    CHECK(text_is(trace_text(trace, trace->activity.name[1]), "void g(int)"));
    CHECK_INT(trace->activity.grid_x[0], 4);
    CHECK_INT(trace->activity.grid_z[0], 1);
    CHECK_INT(trace->activity.duration[0], 20);
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 5);
    trace_close(trace);
}

TEST(rocprof_calls_and_markers) {
    IMPORT("\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","
           "\"Start_Timestamp\",\"End_Timestamp\"\n"
           "\"HIP_RUNTIME_API\",\"hipLaunchKernel\",238,239,7,10,30\n"
           "\"MARKER_CORE_API\",\"step 1\",238,239,8,5,50\n");
    REQUIRE(trace->call.count == 1 && trace->range.count == 1);
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.correlation[0], 7);
    CHECK_INT(trace->range.category[0], RANGE_ANNOTATION);
    CHECK_INT(trace->process.pid[trace->thread.process[trace->call.thread[0]]], 238);
    CHECK_INT(trace->thread.tid[trace->range.thread[0]], 239);
    trace_close(trace);
}

TEST(rocprof_copies_have_a_direction_and_no_bytes) {
    IMPORT("Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,"
           "End_Timestamp\n"
           "MEMORY_COPY,MEMORY_COPY_HOST_TO_DEVICE,0,4,1,10,30\n"
           "MEMORY_COPY,MEMORY_COPY_DEVICE_TO_HOST,5,0,2,40,45\n"
           "MEMORY_COPY,MEMORY_COPY_DEVICE_TO_DEVICE,4,5,3,50,60\n");
    REQUIRE(trace->activity.count == 3);
    CHECK_INT(trace->activity.direction[0], COPY_HTOD);
    CHECK_INT(trace->activity.direction[1], COPY_DTOH);
    CHECK_INT(trace->activity.direction[2], COPY_DTOD);
    CHECK(trace->activity.bytes[0] == BYTES_UNKNOWN);
    static const char *const devices[] = {"4", "5", "5"};
    for (size_t i = 0; i < 3; i++) {
        uint32_t device = trace->queue.device[trace->activity.queue[i]];
        CHECK(text_is(trace_text(trace, trace->device.label[device]), devices[i]));
    }
    trace_close(trace);
}

TEST(rocprof_rows_with_invalid_times_fail_or_are_dropped) {
    static const char csv[] = "KernelName,BeginNs,EndNs\nf,5,4\ng,5,6\nh,,\n";
    struct status status;
    CHECK(!import(csv, false, &status));
    CHECK(strstr(status.message, "line 2 starts at \"5\" and ends at \"4\""));
    struct trace *trace = import(csv, true, &status);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK(text_is(trace_meta(trace, META_DROPS), "2"));
    trace_close(trace);
}

TEST(rocprof_counters_belong_to_their_dispatches) {
    static const char csv[] = "Dispatch_Id,Agent_Id,Kernel_Name,Grid_Size,Workgroup_Size,"
                              "Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
                              "1,Agent 1,f.kd,256,64,FETCH_SIZE,2.5,10,30\n"
                              "1,Agent 1,f.kd,256,64,WRITE_SIZE,1,10,30\n"
                              "2,Agent 1,f.kd,256,64,FETCH_SIZE,4,40,50\n";
    struct status status;
    struct trace *trace = import(csv, false, &status);
    REQUIRE(trace && trace_load(trace, TABLE_METRIC, NULL, &status));
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->metric.count, 3);
    CHECK_INT(trace->metric.launch[2], 2);
    CHECK_INT(trace->metric.grid_x[0], 4);
    CHECK(trace->metric.value[0] == 2.5);
    CHECK(text_is(trace_text(trace, trace->metric.kernel[0]), "f"));
    trace_close(trace);
}

TEST(rocprof_tables_have_a_column_for_each_counter) {
    struct status status;
    struct trace *trace = import("KernelName,BeginNs,EndNs,SQ_WAVES,arch_vgpr,TCC_HIT_sum\n"
                                 "f,5,6,7,8,9\n",
                                 false, &status);
    REQUIRE(trace && trace_load(trace, TABLE_METRIC, NULL, &status));
    CHECK_INT(trace->metric.count, 2);
    CHECK(text_is(trace_text(trace, trace->metric.name[1]), "TCC_HIT_sum"));
    CHECK(trace->metric.value[1] == 9);
    trace_close(trace);
}

TEST(rocprof_files_without_events_say_what_to_pass) {
    struct status status;
    CHECK(!import("\"Name\",\"Calls\",\"TotalDurationNs\"\n\"a\",4,20\n", false, &status));
    CHECK(strstr(status.message, "has rocprof's totals and no events"));
    CHECK(!import("Kernel_Name,Start_Timestamp,End_Timestamp\n", false, &status));
    CHECK(strstr(status.message, "has no events of rocprof"));
    struct import_source source = {
        .path = "x.csv", .head = (const unsigned char *)"a,b\n1,2\n", .head_length = 8};
    CHECK_INT(import_rocprof.detect(&source), 0);
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void remove_folder(const char *folder, const char *const *names) {
    char path[600];
    for (; *names; names++) {
        snprintf(path, sizeof path, "%s/%s", folder, *names);
        unlink(path);
    }
    rmdir(folder);
}

/* Two processes use the same ids: a launch belongs to the process of its prefix. */
TEST(rocprof_files_of_a_folder_belong_together_by_prefix) {
    static const char *const names[] = {"1_agent_info.csv",
                                        "1_hip_api_trace.csv",
                                        "1_kernel_trace.csv",
                                        "2_hip_api_trace.csv",
                                        "2_kernel_trace.csv",
                                        "notes.csv",
                                        NULL};
    static const char calls[] = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,"
                                "Start_Timestamp,End_Timestamp\nHIP,hipLaunchKernel,%s,1,7,10,30\n";
    static const char kernels[] = "Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,"
                                  "End_Timestamp\nAgent 4,1,f,7,40,60\n";
    char folder[512], text[300];
    int fd = imported_temporary(folder, sizeof folder);
    close(fd);
    unlink(folder);
    REQUIRE(mkdir(folder, 0700) == 0);
    write_file(folder, names[0],
               "Node_Id,Agent_Type,Cu_Count,Product_Name\n4,GPU,304,AMD Instinct MI300X\n");
    for (int process = 1; process <= 2; process++) {
        snprintf(text, sizeof text, calls, process == 1 ? "101" : "102");
        write_file(folder, names[2 * process - 1], text);
        write_file(folder, names[2 * process], kernels);
    }
    write_file(folder, "notes.csv", "a,b\n1,2\n");
    struct status status = {0};
    struct import_source source = {.path = folder, .is_folder = true};
    CHECK_INT(import_rocprof.detect(&source), 2);
    int out = imported_temporary(text, sizeof text);
    unlink(text);
    struct trace *trace = NULL;
    struct import_options options = {0};
    struct trace_writer *writer = trace_writer_create(
        out, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    CHECK(import_rocprof.run(&(struct import_source){.path = folder, .is_folder = true}, &options,
                             writer, &status));
    CHECK(trace_writer_finish(writer, &status) && trace_open_fd(out, "folder", &trace, &status));
    trace_writer_destroy(writer);
    close(out);
    remove_folder(folder, names);
    REQUIRE(load(trace, &status) && trace->activity.count == 2 && trace->call.count == 2);
    for (size_t i = 0; i < 2; i++) {
        uint32_t queue = trace->activity.queue[i], device = trace->queue.device[queue];
        CHECK_INT(trace->process.pid[trace->queue.process[queue]], 101 + (int)i);
        CHECK(text_is(trace_text(trace, trace->device.name[device]), "AMD Instinct MI300X"));
        CHECK_INT(trace->device.multiprocessors[device], 304);
    }
    trace_close(trace);
}
