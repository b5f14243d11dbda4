/* Nsight Systems exports: real ones against independent figures, and small ones for the pitfalls of
 * the format. */
#include "../test.h"

#include <sys/stat.h>
#include <zlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "import/import.h"

#ifdef RIDGE_HAVE_SQLITE

#include "database.h"

/* pid 16 and 17 of the same machine */
#define P16 "281475245146112"
#define T16 "281475245146128" /* thread 16 of it */
#define P17 "281475261923328"
#define T17 "281475261923345"

#define STRINGS                                                                                    \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "INSERT INTO StringIds VALUES (1, 'void gemm<float>(float *)'), (2, 'gemm'), (3, '_Z4gemm'),"  \
    "(4, 'cudaLaunchKernel_v7000'), (5, 'cudaDeviceSynchronize_v3020'), (6, 'MPI_Bcast'),"         \
    "(7, 'main'), (8, 'step'), (9, 'a.out'), (10, 'worker');"
#define KERNELS                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"       \
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"               \
    "demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX INTEGER);"
#define CALLS                                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"    \
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
#define NVTX                                                                                       \
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"          \
    "globalTid INTEGER, textId INTEGER, domainId INTEGER);"
#define ONE_KERNEL "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"

TEST(the_two_gpu_report_has_its_true_figures) {
    const char *path = test_fixture("nsys/h100_2gpu_1s.sqlite");
    struct trace *trace = must_import(&import_nsys, path);
    if (!trace)
        return;
    struct figures figures = figures_of(trace);
    CHECK_INT(figures.kernels, 3442);
    CHECK_INT(figures.copies, 904);
    CHECK_INT(figures.copy_bytes, 110318980178);
    CHECK_INT(figures.sets, 22);
    CHECK_INT(figures.kernel_ns, 44829522);
    CHECK_INT(figures.calls, 5796);
    CHECK_INT(figures.matched, 1632);
    CHECK_INT(trace->range.count, 16782 + 198);
    CHECK_INT(trace->wait.count, 244);
    CHECK(text_starts(figures.top_kernel, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256"));
    size_t per_device[2] = {0}, stream_event_waits = 0;
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint32_t device = trace->queue.device[trace->activity.queue[i]];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL && trace->device.index[device] < 2)
            per_device[trace->device.index[device]]++;
    }
    for (size_t i = 0; i < trace->wait.count; i++)
        stream_event_waits += trace->wait.kind[i] == WAIT_STREAM_EVENT;
    CHECK_INT(per_device[0], 1721);
    CHECK_INT(per_device[1], 1721);
    CHECK_INT(stream_event_waits, 236);
    /* The table says device 0 of every wait; the second process's context is on device 1. */
    for (size_t i = 0; i < trace->wait.count; i++) {
        uint32_t queue = trace->wait.queue[i];
        CHECK_INT(trace->device.index[trace->queue.device[queue]],
                  trace->queue.context[queue] == 2);
    }
    CHECK_TEXT(trace_meta(trace, META_CLOCK_BASE), "unix");
    CHECK_TEXT(trace_meta(trace, META_SOURCE_TOOL),
               "NVIDIA Nsight Systems 2026.2.1.210 (schema 3.25.0)");
    trace_close(trace);
}

TEST(the_report_with_a_device_row_has_its_true_figures) {
    const char *path = test_fixture("nsys/mock.sqlite");
    struct trace *trace = must_import(&import_nsys, path);
    if (!trace)
        return;
    struct figures figures = figures_of(trace);
    CHECK_INT(figures.kernels, 2);
    CHECK_INT(figures.copies, 1);
    CHECK_INT(figures.copy_bytes, 4);
    CHECK_INT(figures.kernel_ns, 4129);
    CHECK_INT(figures.calls, 9);
    CHECK_INT(figures.matched, 2);
    CHECK_INT(figures.sync_calls, 1);
    CHECK(text_starts(figures.top_kernel, "void at::native::reduce_kernel<(int)512, (int)1"));
    CHECK_INT(trace->device.count, 2);
    CHECK_TEXT(trace_text(trace, trace->device.name[1]), "NVIDIA GeForce RTX 3080");
    CHECK_INT(trace->device.multiprocessors[1], 68);
    CHECK_INT(trace->device.memory_bytes[1], 10736893952);
    CHECK_INT(trace->device.bandwidth[1], 760080000000);
    CHECK_INT(trace->device.threads_per_multiprocessor[1], 1536);
    CHECK_INT(trace->device.listed[1], 1);
    /* Its sync row says 2 (a stream waits for an event) for a cudaStreamSynchronize. */
    CHECK_INT(trace->wait.count, 1);
    CHECK_INT(trace->wait.kind[0], WAIT_STREAM);
    CHECK_INT(trace->activity.start[0], 1517727052 + INT64_C(1776781226557295056));
    CHECK(text_find(trace_meta(trace, META_COMMAND), "import torch") > 0);
    CHECK(has_warning(trace, "Unified Memory cannot be traced"));
    CHECK(!has_warning(trace, "Profiling has started"));
    trace_close(trace);
}

TEST(the_oldest_schema_has_its_true_figures_and_no_backtrace_calls) {
    const char *path = test_fixture("nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite");
    struct trace *trace = must_import(&import_nsys, path);
    if (!trace)
        return;
    struct figures figures = figures_of(trace);
    CHECK_INT(figures.kernels, 5);
    CHECK_INT(figures.copies, 15);
    CHECK_INT(figures.copy_bytes, 3932160000);
    CHECK_INT(figures.kernel_ns, 88573480);
    CHECK_INT(figures.calls, 57);
    CHECK_INT(figures.matched, 5);
    CHECK_TEXT(figures.top_kernel, "saxpy(double *, double *, double *, double, int)");
    CHECK_TEXT(trace_text(trace, trace->device.name[1]), "NVIDIA A100-SXM4-40GB");
    CHECK_INT(trace->activity.from_memory[5], MEMORY_PAGEABLE);
    CHECK_INT(trace->activity.direction[5], COPY_HTOD);
    CHECK_INT(trace->sample.count, 5451);
    size_t with_stack = 0, in_mpi = 0, named = 0;
    for (size_t i = 0; i < trace->sample.count; i++)
        with_stack += trace->sample.stack[i] != 0;
    for (size_t i = 0; i < trace->range.count; i++)
        in_mpi += text_is(trace_text(trace, trace->range.domain[i]), "MPI");
    for (size_t i = 1; i < trace->thread.count; i++)
        named += text_is(trace_text(trace, trace->thread.name[i]), "MPI Rank 0");
    CHECK(with_stack > 5000);
    CHECK_INT(in_mpi, 17);
    CHECK_INT(named, 1);
    trace_close(trace);
}

#define ABOUT                                                                                      \
    STRINGS KERNELS CALLS NVTX                                                                     \
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"                                   \
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.1'),"                \
        "('EXPORT_SCHEMA_VERSION', '3.25.0'), ('EXPORT_PARAM_TIME_NORMALIZE', 'false'),"           \
        "('EXPORT_PRODUCT_NAME', 'Nsight');"                                                       \
        "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"                                  \
        "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENV_1', 'SECRET=1'),"                    \
        "('PROCESS_0:COMMAND', 'train'), ('PROCESS_0:ARGUMENT_0', '--steps'),"                     \
        "('PROCESS_0:ARGUMENT_1', '5'), ('PROCESS_1:COMMAND', 'other');"                           \
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"                        \
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (0), (1700000000000000000), (5);"       \
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"                             \
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Kernel', '6.1'), ('Hostname', ''),"           \
        "('Hostname', 'node3'), ('Hostname', 'node4');"                                            \
        "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"                      \
        "INSERT INTO PROCESSES VALUES (" P16 ", 1016, 'trainer'), (" P17 ", NULL, 'loader');"      \
        "CREATE TABLE ThreadNames (globalTid INTEGER, nameId INTEGER, priority INTEGER);"          \
        "INSERT INTO ThreadNames VALUES (" T16 ", 9, 10), (" T16 ", 10, 5), (" T16 ", 7, 5),"      \
        "(" T17 ", 9, 10);"                                                                        \
        "INSERT INTO NVTX_EVENTS VALUES (1, 1, 39, 'input', " T17 ", NULL, 0);"                    \
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 0, " T16 ", 1, 4, 0),"          \
        "(200, 220, 0, " T17 ", 2, 4, 0);" ONE_KERNEL "(120, 150, 0, 1, 7, 1, " P16                \
        ", 1, 2, 8, 64);"                                                                          \
        "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);"                             \
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'Profiling has started'), (2, 'no root'),"        \
        "(2, 'no root'), (3, 'lost events'), (4, 'later'), (2, '');"

TEST(a_report_has_its_tool_command_clock_names_and_warnings) {
    struct trace *trace = must_import(&import_nsys, database_of(ABOUT));
    REQUIRE(trace && trace->thread.count == 3 && trace->process.count == 3);
    CHECK_TEXT(trace_meta(trace, META_SOURCE_TOOL), "Nsight 2026.1 (schema 3.25.0)");
    CHECK_TEXT(trace_meta(trace, META_COMMAND), "train --steps 5");
    CHECK_TEXT(trace_meta(trace, META_CLOCK_BASE), "unix");
    CHECK_TEXT(trace_meta(trace, META_CLOCK_OFFSET), "1700000000000000000");
    CHECK_TEXT(trace_meta(trace, META_HOST), "node3");
    CHECK_INT(trace->process.pid[1], 1016);
    CHECK_TEXT(trace_text(trace, trace->process.name[1]), "trainer");
    CHECK_INT(trace->process.pid[2], 17);
    CHECK_TEXT(trace_text(trace, trace->thread.name[1]), "worker"); /* the first of priority 5 */
    CHECK_TEXT(trace_text(trace, trace->thread.name[2]), "input");
    CHECK(has_warning(trace, "nsys warning: no root"));
    CHECK(has_warning(trace, "nsys error: lost events"));
    CHECK(!has_warning(trace, "Profiling has started"));
    CHECK(!has_warning(trace, "later"));
    trace_close(trace);
}

TEST(normalized_times_of_a_report_are_not_shifted_again) {
    struct trace *trace = must_import(
        &import_nsys, database_of(ABOUT "UPDATE META_DATA_EXPORT SET value = 'true' WHERE name ="
                                        "'EXPORT_PARAM_TIME_NORMALIZE'"));
    REQUIRE(trace);
    CHECK_TEXT(trace_meta(trace, META_CLOCK_BASE), "unix");
    CHECK(trace_meta(trace, META_CLOCK_OFFSET).length == 0);
    trace_close(trace);
    trace = must_import(&import_nsys,
                        database_of(ABOUT "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs ="
                                          "900000000000000000")); /* 1998 */
    REQUIRE(trace);
    CHECK_TEXT(trace_meta(trace, META_CLOCK_BASE), "trace");
    trace_close(trace);
}

TEST(twenty_different_warnings_of_a_report_are_kept) {
    struct trace *trace = must_import(
        &import_nsys,
        database_of(ABOUT "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <"
                          "30) INSERT INTO DIAGNOSTIC_EVENT SELECT 2, 'number ' || i FROM n;"));
    REQUIRE(trace);
    CHECK(has_warning(trace, "nsys warning: number 18"));
    CHECK(!has_warning(trace, "nsys warning: number 19"));
    trace_close(trace);
}

TEST(a_kernel_takes_the_fullest_name_there_is) {
    const char *path =
        database_of(STRINGS KERNELS ONE_KERNEL "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
                                               "(20, 30, 0, 1, 7, 6, " P16 ", NULL, 2, 3, 4),"
                                               "(30, 40, 0, 1, 7, 7, " P16 ", 99, NULL, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 3);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "void gemm<float>(float *)");
    CHECK_TEXT(trace_text(trace, trace->activity.name[1]), "gemm");
    CHECK_TEXT(trace_text(trace, trace->activity.name[2]), "(kernel without a name)");
    CHECK_INT(trace->activity.grid_x[0], 3);
    CHECK_INT(trace->activity.block_x[0], 4);
    CHECK_INT(trace->activity.registers[0], 0);
    CHECK_TEXT(trace_meta(trace, META_CLOCK_BASE), "trace");
    trace_close(trace);
}

/* Compared row by row with rows.txt: every column of kernels, fills and copies has a value. */
TEST(every_column_of_an_activity_is_kept) {
    const char *path = database_of(
        STRINGS
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
        "correlationId, globalPid, demangledName, shortName, mangledName, gridX, gridY,"
        "gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory,"
        "dynamicSharedMemory, graphId, graphNodeId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
        "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0),"
        "(20, 30, 1, 2, 8, 6, " P17 ", NULL, NULL, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 21, 0),"
        "(30, 30, 0, 1, 0, 7, " P16 ", 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 94489280522),"
        "(31, 32, 0, 1, 0, 8, " P16 ", 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 23);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId,"
        "correlationId, globalPid, value, bytes, graphNodeId, memKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES"
        "(40, 41, 0, 1, 7, 9, " P16 ", 0, 256, 24, 2), (42, 43, 0, 1, 7, 10, " P16
        ", 0, NULL, NULL, 1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId,"
        "correlationId, globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
        "(50, 51, 0, 1, 7, 11, " P16 ", 64, 1, 0, 2, 25), (52, 53, 0, 1, 7, 12, " P16
        ", 65, 2, 2, 1, 0), (54, 55, 0, 1, 7, 13, " P16 ", 66, 8, 2, 2, 0), (56, 57, 0, 1,"
        "7, 14, " P16 ", 67, 10, 2, 2, 0), (58, 59, 0, 1, 7, 15, " P16
        ", 68, 9, 1, 0, 0), (60, 61, 0, 1, 7, 16, " P16 ", 69, 11, 0, 4, 0);" CALLS
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 0, " T16 ", 5, 4, 0),"
        "(8, 8, 1, " T17 ", 6, 4, 2), (9, 12, 1, " T16 ", 0, 5, 0);"
        "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name, busLocation, smCount, totalMemory,"
        "clockRate, computeMajor, computeMinor, cuDevice, memoryBandwidth,"
        "maxWarpsPerSm, maxRegistersPerSm, maxShmemPerSm, uuid);"
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'left', '0000:17:00.0', 132, 4096, 1980,"
        "9, 0, 0, 3350, 64, 65536, 1024, 'GPU-1'), (1, 'right', '0000:65:00.0', 108, 2048,"
        "1410, 8, 0, 1, 2039, 64, 65536, 1024, 'GPU-2');");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 12);
    CHECK_INT(trace->activity.block_y[0], 15);
    CHECK_INT(trace->activity.shared_dynamic[0], 19);
    trace_close(trace);
}

/* Compared row by row with rows.txt: every type of event, contexts and memory. */
TEST(every_type_of_nvtx_event_and_of_memory_is_kept_or_left_out) {
    const char *path = database_of(
        STRINGS KERNELS NVTX ONE_KERNEL
        "(10, 500, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
        "(20, 30, 0, 2, 9, 6, " P17 ", 1, 2, 3, 4);"
        "INSERT INTO NVTX_EVENTS VALUES (1, 2, 34, 'mark', " T16 ", NULL, 0),"
        "(3, 4, 59, 'push', " T16 ", NULL, 0), (5, 6, 60, 'start', " T16 ", NULL, 1),"
        "(7, 8, 65, 'text mark', " T16 ", NULL, 0), (9, 10, 70, 'text push', " T16 ", NULL, 0),"
        "(11, 12, 71, 'text start', " T16 ", NULL, 0), (13, NULL, 75, 'domain', " T16 ", NULL, 1),"
        "(15, 16, 33, 'category', " T16 ", NULL, 0), (17, 18, 59, NULL, " T17 ", 8, 0),"
        "(19, 19, 59, NULL, " T17 ", NULL, 0), (21, NULL, 34, 'late mark', " T17 ", NULL, 7);"
        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (processId, contextId, deviceId);"
        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (16, 1, 1), (17, 2, 0), (16, NULL, 1);"
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId,"
        "address, bytes, memKind, memoryOperationType);"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (NULL, " P16 ", 0, 1, 1, 1, 2, 0),"
        "(2, " P16 ", 0, 1, 4096, 100, 2, 0), (3, " P16 ", 0, 1, 4096, -5, 0, 1),"
        "(4, " P17 ", 0, 2, 8192, 7, 4, 1);");
    struct status status = {0};
    REQUIRE(path);
    struct trace *trace = import_database(&import_nsys, path, true, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace);
    CHECK_INT(trace->memory.count, 3);
    trace_close(trace);
}

TEST(operators_under_nvtx_lose_their_numbers_and_the_host_is_named) {
    const char *path = database_of(
        STRINGS KERNELS NVTX ONE_KERNEL
        "(10, 500, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);"
        "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'aten::mm, op_id = 7, sizes = [[2, 3]]', " T16
        ", NULL, 0),"
        "(3, 4, 59, 'aten::add, seq = 4, op_id = 8', " T16 ", NULL, 0),"
        "(5, 6, 59, ', op_id = 9', " T16 ", NULL, 0), (7, 8, 59, 'step, other = 1', " T16
        ", NULL, 0);"
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value);"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', ''), ('OS', 'Linux'),"
        "('Hostname', 'node1'), ('Hostname', 'node2');");
    struct status status = {0};
    REQUIRE(path);
    struct trace *trace = import_database(&import_nsys, path, true, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace && trace->range.count == 4);
    const struct columns_range *range = &trace->range;
    CHECK(text_is(trace_text(trace, range->name[0]), "aten::mm"));
    CHECK(
        text_is(trace_text(trace, range->detail[0]), "{\"nvtx\":\"op_id = 7, sizes = [[2, 3]]\"}"));
    CHECK(text_is(trace_text(trace, range->name[1]), "aten::add"));
    CHECK(text_is(trace_text(trace, range->detail[1]), "{\"nvtx\":\"seq = 4, op_id = 8\"}"));
    CHECK(text_is(trace_text(trace, range->name[2]), ", op_id = 9"));
    CHECK(text_is(trace_text(trace, range->name[3]), "step, other = 1"));
    CHECK_INT(range->category[1], RANGE_OP);
    CHECK_INT(range->category[3], RANGE_ANNOTATION);
    CHECK(text_is(trace_meta(trace, META_HOST), "node1"));
    trace_close(trace);
}

TEST(strings_without_a_primary_key_are_found) {
    const char *path =
        database_of("CREATE TABLE StringIds (id INT, value TEXT);"
                    "INSERT INTO StringIds VALUES (9, 'other'), (1, 'gemm');" KERNELS ONE_KERNEL
                    "(1, 2, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "gemm");
    trace_close(trace);
}

TEST(a_call_loses_its_version_suffix_and_gets_its_class) {
    const char *path = database_of(STRINGS CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "
                                                 "(1, 2, 0, " T16 ", 5, 4, 0),"
                                                 "(1, 2, 67, " T16 ", 5, 4, 0),"
                                                 "(3, 9, 1, " T16 ", 6, 5, 700);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->call.count == 2);
    CHECK_TEXT(trace_text(trace, trace->call.name[0]), "cudaLaunchKernel");
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.class[1], CALL_SYNC);
    CHECK_INT(trace->call.result[1], 700);
    CHECK_INT(trace->thread.tid[trace->call.thread[0]], 16);
    trace_close(trace);
}

TEST(a_wait_is_judged_by_its_call_and_by_its_number_only_without_one) {
    const char *path =
        database_of(STRINGS CALLS
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 9, 0, " T16 ", 5, 5, 0);"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end "
                    "INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
                    "correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES "
                    "(2, 8, 0, 1, 4294967295, 5, " P16 ", 1, 4294967295),"
                    "(2, 8, 0, 1, 7, 5, " P17 ", 3, 12);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->wait.count == 2);
    CHECK_INT(trace->wait.kind[0], WAIT_CONTEXT);
    CHECK_INT(trace->wait.queue[0], 0);
    CHECK_INT(trace->wait.event[0], 0);
    CHECK_INT(trace->wait.kind[1], WAIT_STREAM);
    CHECK_INT(trace->queue.stream[trace->wait.queue[1]], 7);
    CHECK_INT(trace->wait.event[1], 12);
    trace_close(trace);
}

TEST(a_wait_for_an_event_names_the_stream_that_recorded_it) {
    const char *path = database_of(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, contextId, streamId, correlationId,"
        "globalPid, eventId, eventSyncId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 13, 40, " P16 ", 3, 100),"
        "(0, 1, 14, 41, " P16 ", 3, 101);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId,"
        "streamId, correlationId, globalPid, syncType, eventId, eventSyncId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
        "(1, 2, 0, 1, 7, 50, " P16 ", 2, 3, 100), (1, 2, 0, 1, 7, 51, " P16 ", 2, 3, 102);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->wait.count == 2);
    CHECK_INT(trace->wait.kind[0], WAIT_STREAM_EVENT);
    CHECK_INT(trace->queue.stream[trace->wait.awaited[0]], 13);
    CHECK_INT(trace->wait.record_correlation[0], 40);
    CHECK_INT(trace->wait.awaited[1], 0);
    trace_close(trace);
}

/* The wait has no device of its own. */
TEST(a_wait_is_of_the_device_that_the_table_of_contexts_gives_its_context) {
    const char *path = database_of(
        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (processId, contextId, deviceId);"
        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (16, 1, 3), (17, 1, 4);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, contextId, streamId,"
        "correlationId, globalPid, syncType, eventId, eventSyncId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
        "(1, 2, 1, 7, 50, " P16 ", 3, 0, 0), (1, 2, 1, 7, 51, " P17 ", 3, 0, 0);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->wait.count == 2);
    CHECK_INT(trace->device.index[trace->queue.device[trace->wait.queue[0]]], 3);
    CHECK_INT(trace->device.index[trace->queue.device[trace->wait.queue[1]]], 4);
    trace_close(trace);
}

TEST(streams_of_two_processes_are_two_queues_of_one_device) {
    const char *path =
        database_of(STRINGS KERNELS ONE_KERNEL "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
                                               "(20, 30, 0, 1, 7, 5, " P17 ", 1, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK(trace->activity.queue[0] != trace->activity.queue[1]);
    CHECK_INT(trace->process.pid[trace->queue.process[trace->activity.queue[0]]], 16);
    CHECK_INT(trace->process.pid[trace->queue.process[trace->activity.queue[1]]], 17);
    CHECK_INT(trace->device.count, 2);
    trace_close(trace);
}

#define TWO_BOARDS                                                                                 \
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, smCount INTEGER);"            \
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'left', '00000000-0000', 10), (1, 'right', 'ab-1', "   \
    "20);"
#define CUDA_DEVICES                                                                               \
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"

TEST(one_number_for_two_boards_makes_two_devices) {
    const char *path =
        database_of(STRINGS KERNELS TWO_BOARDS CUDA_DEVICES
                    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 16),"
                    "(1, 0, 17);" ONE_KERNEL "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
                    "(20, 30, 0, 1, 7, 5, " P17 ", 1, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 2);
    uint32_t first = trace->queue.device[trace->activity.queue[0]];
    uint32_t second = trace->queue.device[trace->activity.queue[1]];
    CHECK_TEXT(trace_text(trace, trace->device.name[first]), "left");
    CHECK_TEXT(trace_text(trace, trace->device.name[second]), "right");
    CHECK_TEXT(trace_text(trace, trace->device.label[second]), "1");
    CHECK_TEXT(trace_text(trace, trace->device.uuid[first]), "");
    CHECK_TEXT(trace_text(trace, trace->device.uuid[second]), "ab-1");
    trace_close(trace);
}

TEST(a_hidden_gpu_is_listed_beside_the_one_that_cuda_calls_0) {
    const char *path =
        database_of(STRINGS KERNELS TWO_BOARDS CUDA_DEVICES
                    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 16);" ONE_KERNEL
                    "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 1 && trace->device.count == 3);
    uint32_t used = trace->queue.device[trace->activity.queue[0]];
    CHECK_TEXT(trace_text(trace, trace->device.label[used]), "0");
    CHECK_TEXT(trace_text(trace, trace->device.name[used]), "right");
    CHECK_TEXT(trace_text(trace, trace->device.label[3 - used]), "gpu 0");
    trace_close(trace);
}

TEST(an_open_range_ends_with_the_capture) {
    const char *path =
        database_of(STRINGS KERNELS NVTX ONE_KERNEL "(10, 500, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);"
                                                    "INSERT INTO NVTX_EVENTS VALUES"
                                                    "(5, NULL, 75, 'layers', " T16 ", NULL, 3),"
                                                    "(100, NULL, 59, NULL, " T16 ", 8, 3),"
                                                    "(110, 120, 60, 'inner', " T16 ", NULL, 0),"
                                                    "(115, NULL, 34, 'here', " T16 ", NULL, 0),"
                                                    "(116, NULL, 39, 'loader', " T16 ", NULL, 0);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->range.count == 2 && trace->mark.count == 1);
    size_t open = trace->range.start[0] == 100 ? 0 : 1;
    CHECK_INT(trace->range.duration[open], 400);
    CHECK_TEXT(trace_text(trace, trace->range.name[open]), "step");
    CHECK_TEXT(trace_text(trace, trace->range.domain[open]), "layers");
    CHECK_TEXT(trace_text(trace, trace->range.name[1 - open]), "inner");
    CHECK_TEXT(trace_text(trace, trace->range.domain[1 - open]), "");
    CHECK_TEXT(trace_text(trace, trace->mark.name[0]), "here");
    CHECK_TEXT(trace_text(trace, trace->thread.name[trace->range.thread[0]]), "loader");
    CHECK(has_warning(trace, "closed at its end: 1"));
    trace_close(trace);
}

TEST(libraries_become_ranges_of_their_own_domain) {
    const char *path = database_of(
        STRINGS "CREATE TABLE MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId);"
                "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (1, 2, " T16 ", 6);"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, globalTid, nameId,"
                "overheadType);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1, 2, " T16 ", 7, 3),"
                "(3, 4, " T16 ", 7, 6);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->range.count == 3);
    CHECK_TEXT(trace_text(trace, trace->range.name[0]), "MPI_Bcast");
    CHECK_TEXT(trace_text(trace, trace->range.domain[0]), "MPI");
    CHECK_INT(trace->range.category[1], RANGE_OVERHEAD);
    CHECK_INT(trace->range.category[2], RANGE_DRIVER);
    trace_close(trace);
}

TEST(a_whole_graph_is_one_kernel) {
    const char *path = database_of(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId,"
        "correlationId, globalPid, graphId, graphExecId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 9, 0, 1, 7, 5, " P16 ", 12, 13);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_INT(trace->activity.kind[0], ACTIVITY_KERNEL);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "CUDA graph 12");
    CHECK_INT(trace->activity.graph[0], 12);
    CHECK_INT(trace->activity.correlation[0], 5);
    trace_close(trace);
}

TEST(a_sampled_chain_becomes_a_stack_from_its_root) {
    const char *path = database_of(
        STRINGS "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);"
                "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, " T16 "), (2, 20, " T16 "),"
                "(3, 30, " T16 ");"
                "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
                "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 10, 9, 1), (1, 8, 9, 0), (1, 7, 9, 2),"
                "(2, 10, 9, 0), (2, 7, 9, 1);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->sample.count == 3);
    uint32_t leaf = trace->sample.stack[0], middle = trace->stack.parent[leaf];
    CHECK_TEXT(trace_text(trace, trace->stack.function[leaf]), "step");
    CHECK_TEXT(trace_text(trace, trace->stack.module[leaf]), "a.out");
    CHECK_TEXT(trace_text(trace, trace->stack.function[middle]), "worker");
    CHECK_INT(trace->stack.parent[trace->stack.parent[middle]], 0);
    CHECK_INT(trace->sample.stack[1], middle);
    CHECK_INT(trace->sample.stack[2], 0);
    CHECK_INT(trace->stack.count, 4);
    trace_close(trace);
}

TEST(metrics_become_counters_of_their_board) {
    const char *path = database_of(
        TWO_BOARDS "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);"
                   "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (257, 4, 'SMs Active');"
                   "CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
                   "CREATE TABLE NVTX_EVENTS (start);"
                   "INSERT INTO GPU_METRICS VALUES (-5, 257, 4, 9), (5, 257, 4, 41),"
                   "(6, 257, 8, 2.5);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->counter.count == 3);
    CHECK_TEXT(trace_text(trace, trace->counter.name[0]), "SMs Active");
    CHECK_TEXT(trace_text(trace, trace->counter.name[2]), "metric 8");
    CHECK_TEXT(trace_text(trace, trace->device.name[trace->counter.device[0]]), "right");
    CHECK(trace->counter.value[1] == 41 && trace->counter.value[2] == 2.5);
    trace_close(trace);
}

TEST(allocations_keep_their_device_and_order) {
    const char *path = database_of(
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address,"
        "bytes, memKind, memoryOperationType);"
        "CREATE TABLE NVTX_EVENTS (start);"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, " P16 ", 0, 1, 4096, 100, 2, 0),"
        "(2, " P16 ", 0, 1, 8192, 50, 1, 0), (3, " P16 ", 0, 1, 4096, 100, 2, 1);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->memory.count == 3);
    CHECK(trace->memory.device[0] != 0);
    CHECK_INT(trace->memory.device[1], 0);
    CHECK_INT(trace->memory.bytes[0], 100);
    CHECK_INT(trace->memory.operation[0], MEMORY_ALLOC);
    CHECK_INT(trace->memory.operation[2], MEMORY_FREE);
    trace_close(trace);
}

TEST(copies_know_their_direction_and_memories) {
    const char *path = database_of(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId,"
        "correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 1, 7, 1, " P16 ", 64, 1, 1, 2),"
        "(3, 4, 0, 1, 7, 2, " P16 ", NULL, 12, 4, 0), (5, 6, 0, 1, 7, 3, " P16 ", 1, 77, 77, -1);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 3);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "Memcpy HtoD (Pinned -> Device)");
    CHECK_INT(trace->activity.bytes[0], 64);
    CHECK(trace->activity.bytes[1] == BYTES_UNKNOWN);
    CHECK_INT(trace->activity.direction[1], COPY_DTOH);
    CHECK_INT(trace->activity.from_memory[1], MEMORY_MANAGED);
    CHECK_INT(trace->activity.to_memory[1], MEMORY_PAGEABLE);
    CHECK_INT(trace->activity.direction[2], COPY_UNKNOWN);
    CHECK_INT(trace->activity.from_memory[2], MEMORY_UNKNOWN);
    trace_close(trace);
}

TEST(an_impossible_time_is_refused_or_on_demand_dropped_and_counted) {
    static const char *const rows[] = {"(20, 10,", "(-9000000000000, 10,",
                                       "(1, 9000000000000000000,",
                                       "(9000000000000000000, 9000000000000000001,"};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        char sql[2000];
        struct status status = {0};
        snprintf(sql, sizeof sql,
                 "%s %s (1, 2, 0, 1, 7, 4, " P16 ", 1, 2, 3, 4), %s 0, 1, 7, 5, " P16
                 ", 1, 2, 3, 4);",
                 STRINGS KERNELS, ONE_KERNEL, rows[i]);
        const char *path = database_of(sql);
        REQUIRE(path);
        CHECK(!import_database(&import_nsys, path, false, &status));
        CHECK(strstr(status.message, "CUPTI_ACTIVITY_KIND_KERNEL, row 2"));
        CHECK(strstr(status.message, "--skip-invalid drops such events"));
        struct trace *trace = import_database(&import_nsys, path, true, &status);
        REQUIRE(trace);
        CHECK_INT(trace->activity.count, 1);
        CHECK_INT(trace_meta_sum(trace, META_DROPS), 1);
        trace_close(trace);
    }
}

TEST(what_began_just_before_the_capture_keeps_its_negative_start) {
    const char *path =
        database_of(STRINGS KERNELS ONE_KERNEL " (-3000, 10, 0, 1, 7, 4, " P16 ", 1, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    struct status status = {0};
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_OK(trace_load(trace, TABLE_ACTIVITY, "start duration", &status), status);
    CHECK_INT(trace->activity.start[0], -3000);
    CHECK_INT(trace->activity.duration[0], 3010);
    trace_close(trace);
}

TEST(a_row_without_a_timestamp_is_skipped_and_counted) {
    const char *path = database_of(STRINGS KERNELS ONE_KERNEL
                                   "(10, NULL, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
                                   "('x', 30, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4),"
                                   "(20, 30, NULL, NULL, NULL, NULL, NULL, NULL, 2, 3, 4);");
    struct trace *trace = must_import(&import_nsys, path);
    REQUIRE(trace && trace->activity.count == 1);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 2);
    CHECK(has_warning(trace, "rows without a timestamp: 2"));
    CHECK_INT(trace->activity.correlation[0], 0);
    CHECK_INT(trace->queue.process[trace->activity.queue[0]], 0);
    trace_close(trace);
}

TEST(a_database_of_somebody_else_is_refused_by_its_tables) {
    const char *path = database_of("CREATE TABLE customers (id); CREATE TABLE orders (id);");
    struct status status = {0};
    REQUIRE(path);
    CHECK_INT(sureness_of(&import_nsys, path), 1);
    CHECK_INT(sureness_of(&import_rpd, path), 0);
    CHECK(!import_database(&import_nsys, path, false, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "customers, orders"));
    CHECK(!strchr(status.message, '\n'));
}

TEST(an_export_is_certain_even_when_it_is_trimmed_to_kernels) {
    const char *path = database_of(KERNELS);
    REQUIRE(path);
    CHECK_INT(sureness_of(&import_nsys, path), 3);
    CHECK_INT(sureness_of(&import_rpd, path), 0);
}

TEST(a_cut_off_or_scribbled_database_is_refused_without_a_crash) {
    char sql[4000];
    struct status status = {0};
    snprintf(sql, sizeof sql,
             "%s WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 1, 7, i, " P16
             ", 1, 2, 3, 4 FROM n;",
             STRINGS KERNELS);
    const char *path = database_of(sql);
    REQUIRE(path);
    CHECK(truncate(path, 20000) == 0);
    CHECK(!import_database(&import_nsys, path, false, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "truncated"));
    CHECK_INT(sureness_of(&import_nsys, path) > 0, 1);
    CHECK(truncate(path, 60) == 0);
    CHECK(!import_database(&import_nsys, path, false, &status));
}

TEST(a_database_that_lost_its_last_page_is_refused_though_no_table_reaches_there) {
    const char *path = database_of(STRINGS KERNELS "CREATE TABLE notes (text)");
    struct status status = {0};
    struct stat info;
    char said[128];
    REQUIRE(path && stat(path, &info) == 0);
    struct trace *whole = import_database(&import_nsys, path, false, &status);
    CHECK_OK(whole != NULL, status);
    trace_close(whole);
    CHECK(truncate(path, info.st_size - 1) == 0);
    CHECK(!import_database(&import_nsys, path, false, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    snprintf(said, sizeof said, "truncated: the SQLite database has %lld of its %lld bytes",
             (long long)info.st_size - 1, (long long)info.st_size);
    CHECK(strstr(status.message, said));
}

/* An interior page whose children are all the same leaf: few bytes, very many rows. */
TEST(a_tree_that_repeats_its_pages_ends) {
    char sql[4000];
    struct status status = {0};
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = 512; %s WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
             "FROM n WHERE i < 40000) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 1,"
             "7, i, " P16 ", 1, 2, 3, 4 FROM n;",
             STRINGS KERNELS);
    const char *path = database_of(sql);
    REQUIRE(path);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0);
    enum { PAGE = 512 };
    unsigned char page[PAGE];
    for (off_t at = PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        if (page[0] != 5) /* an interior page of a table */
            continue;
        unsigned cells = page[3] << 8 | page[4];
        for (unsigned i = 0; i < cells; i++) {
            unsigned cell = page[12 + 2 * i] << 8 | page[13 + 2 * i];
            if (cell + 4 <= PAGE)
                memcpy(page + cell, page + 8, 4); /* the rightmost child instead of its own */
        }
        CHECK(pwrite(fd, page, PAGE, at) == PAGE);
    }
    close(fd);
    struct trace *trace = import_database(&import_nsys, path, false, &status);
    CHECK(trace || strstr(status.message, "damaged"));
    trace_close(trace);
}

TEST(a_compressed_export_is_read) {
    const char *path =
        database_of(STRINGS KERNELS ONE_KERNEL "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);");
    const char *packed = test_temporary(".sqlite.gz");
    unsigned char bytes[65536];
    struct status status = {0};
    REQUIRE(path);
    int fd = open(path, O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof bytes);
    close(fd);
    REQUIRE(length > 0);
    gzFile file = gzopen(packed, "wb");
    REQUIRE(file);
    CHECK_INT(gzwrite(file, bytes, (unsigned)length), length);
    gzclose(file);
    struct import_source source = {.path = packed, .head = bytes, .head_length = 4096};
    CHECK_INT(import_nsys.detect(&source), 3);
    struct trace *trace = import_database(&import_nsys, packed, false, &status);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 1);
    trace_close(trace);
}

TEST(rows_in_a_write_ahead_log_are_reported_as_missing) {
    const char *path = database_of(STRINGS KERNELS);
    char log[600];
    REQUIRE(path);
    snprintf(log, sizeof log, "%s-wal", path);
    for (int bytes = 0; bytes <= 1; bytes++) { /* an empty log holds nothing */
        FILE *file = fopen(log, "w");
        REQUIRE(file);
        fprintf(file, "%.*s", bytes, "x");
        fclose(file);
        struct trace *trace = must_import(&import_nsys, path);
        if (trace)
            CHECK_INT(has_warning(trace, "-wal"), bytes);
        trace_close(trace);
    }
    unlink(log);
}

TEST(a_path_with_the_signs_of_an_address_is_opened) {
    const char *path =
        database_of(STRINGS KERNELS ONE_KERNEL "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);");
    const char *strange = test_temporary(" 100%25?mode=rw#1.sqlite");
    REQUIRE(path && rename(path, strange) == 0);
    struct trace *trace = must_import(&import_nsys, strange);
    REQUIRE(trace);
    CHECK_INT(trace->activity.count, 1);
    trace_close(trace);
}

/* Its query would never end. */
TEST(a_view_in_place_of_a_table_is_refused_by_name) {
    static const char *const views[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "StringIds",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"};
    for (size_t i = 0; i < ARRAY_COUNT(views); i++) {
        char sql[4096];
        struct status status = {0};
        snprintf(sql, sizeof sql,
                 "%s%s DROP TABLE %s; CREATE VIEW %s AS WITH RECURSIVE n(start) AS "
                 "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT * FROM n;",
                 STRINGS KERNELS CALLS, NVTX, views[i], views[i]);
        const char *path = database_of(sql);
        REQUIRE(path);
        struct trace *trace = import_database(&import_nsys, path, false, &status);
        CHECK(!trace);
        CHECK_INT(status.code, STATUS_UNSUPPORTED);
        CHECK(strstr(status.message, views[i]));
        CHECK(strstr(status.message, "is a view or a virtual table"));
        CHECK(strstr(status.message, "export the trace again"));
        trace_close(trace);
    }
}

TEST(running_out_of_memory_anywhere_in_an_import_is_an_error) {
    const char *path =
        database_of(STRINGS KERNELS CALLS NVTX TWO_BOARDS ONE_KERNEL
                    "(10, 20, 0, 1, 7, 5, " P16 ", 1, 2, 3, 4);"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " T16 ", 5, 5, 0);"
                    "INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'a', " T16 ", NULL, 2),"
                    "(1, NULL, 75, 'a', " T16 ", NULL, 2);"
                    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);"
                    "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, " T16 ");"
                    "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
                    "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 10, 9, 0);");
    REQUIRE(path);
    unsigned char head[4096];
    struct import_source source = source_of(path, head, sizeof head);
    struct import_options options = {0};
    bool done = false;
    unsigned failures = 0;
    for (uint64_t nth = 1; nth < 2000 && !done; nth++) {
        struct status status = {0};
        int fd = open("/dev/null", O_WRONLY);
        struct trace_writer *writer =
            trace_writer_create(fd, &(struct trace_writer_options){.writer = 1}, &status);
        REQUIRE(writer);
        memory_fail_from(nth);
        done = import_nsys.run(&source, &options, writer, &status);
        memory_fail_from(0);
        if (!done) {
            failures++;
            CHECK_INT(status.code, STATUS_MEMORY);
        }
        done = done && !trace_writer_failed(writer);
        trace_writer_destroy(writer);
        close(fd);
    }
    CHECK(done);
    CHECK(failures > 10);
}

#endif

TEST(a_name_alone_makes_a_report_only_of_binary_data) {
    static const unsigned char pointer[] = "version https://git-lfs.github.com/spec/v1\n";
    static const unsigned char binary[] = "\1\0\2";
    struct import_source text = {
        .path = "a.nsys-rep", .head = pointer, .head_length = sizeof pointer - 1};
    struct import_source data = {
        .path = "a.nsys-rep", .head = binary, .head_length = sizeof binary - 1};
    CHECK_INT(import_nsys.detect(&text), 0);
    CHECK_INT(import_nsys.detect(&data), 1);
}

TEST(a_closed_report_gets_the_line_that_exports_it) {
    static const unsigned char head[] = "NVIDIA Tegra Profiler Report 1.\n";
    struct import_source source = {
        .path = "runs/a.b/train.nsys-rep", .head = head, .head_length = sizeof head - 1};
    struct import_source renamed = {.path = "train", .head = head, .head_length = sizeof head - 1};
    struct import_options options = {0};
    struct status status = {0};
    CHECK_INT(import_nsys.detect(&source), 3);
    CHECK_INT(import_nsys.detect(&renamed), 3);
    if (access("/usr/local/cuda/bin/nsys", X_OK) == 0 ||
        system("command -v nsys > /dev/null") == 0) {
        test_skip("nsys is installed");
        return;
    }
    CHECK(!import_nsys.run(&source, &options, NULL, &status));
    CHECK(strstr(status.message,
                 "nsys export --type sqlite -o runs/a.b/train.sqlite runs/a.b/train.nsys-rep"));
    CHECK(!import_nsys.run(&renamed, &options, NULL, &status));
    CHECK(strstr(status.message, "-o train.sqlite train"));
}
