/* RPD traces: a real one against independent figures, and small ones for the pitfalls of the
 * format. */
#include "../test.h"

#ifdef RIDGE_HAVE_SQLITE

#include "database.h"

#define STRINGS                                                                                    \
    "CREATE TABLE rocpd_string (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, string varchar);"   \
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'),"                             \
    "(3, 'hipExtModuleLaunchKernel'), (4, 'UserMarker'), (5, 'KernelExecution'), (6, 'Barrier'),"  \
    "(7, 'gemm'), (8, 'CopyHostToDevice'), (9, 'hipMemcpyAsync'), (10, 'forward');"
#define SCHEMA                                                                                     \
    "CREATE TABLE rocpd_metadata (id, tag, value);"                                                \
    "INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');" STRINGS                        \
    "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id);"  \
    "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id,"   \
    "opType_id);"                                                                                  \
    "CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id, op_id);"                          \
    "CREATE TABLE rocpd_kernelapi (api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY,"       \
    "workgroupZ, groupSegmentSize, kernelName_id);"                                                \
    "CREATE TABLE rocpd_copyapi (api_ptr_id, size, width, height, kind, pinned);"

TEST(the_rpd_fixture_has_its_true_figures) {
    const char *path = test_fixture("rocprof/matmul_result.rpd");
    struct trace *trace = must_import(&import_rpd, path);
    if (!trace)
        return;
    struct figures figures = figures_of(trace);
    CHECK_INT(figures.kernels, 29);
    CHECK_INT(figures.copies, 55);
    CHECK_INT(figures.copy_bytes, 2032000296);
    CHECK_INT(figures.sets, 1);
    CHECK_INT(figures.kernel_ns, 26399795);
    CHECK_INT(figures.calls, 125);
    CHECK_INT(figures.matched, 29);
    CHECK(text_starts(figures.top_kernel, "Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1"));
    CHECK_INT(trace->device.count, 2);
    CHECK_TEXT(trace_text(trace, trace->device.label[1]), "2");
    CHECK_INT(trace->device.index[1], 2);
    CHECK_INT(trace->counter.count, 15);
    CHECK_INT(trace->activity.start[0], INT64_C(8306017670485923));
    CHECK_INT(sureness_of(&import_rpd, path), 3);
    CHECK_INT(sureness_of(&import_nsys, path), 1);
    trace_close(trace);
}

TEST(a_grid_in_work_items_becomes_blocks) {
    const char *path = database_of(
        SCHEMA "INSERT INTO rocpd_api VALUES (1, 9, 9, 1, 2, 2, 1), (2, 9, 9, 3, 4, 3, 1);"
               "INSERT INTO rocpd_op VALUES (1, 2, 0, 5, 6, 7, 5), (2, 2, 0, 7, 8, 1, 5);"
               "INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2);"
               "INSERT INTO rocpd_kernelapi VALUES (1, 10, 1, 1, 256, 1, 1, 64, 7),"
               "(2, 1000, 782, 1, 256, 2, 1, 0, 7);");
    struct trace *trace = must_import(&import_rpd, path);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK_INT(trace->activity.grid_x[0], 10);
    CHECK_INT(trace->activity.shared_dynamic[0], 64);
    CHECK_INT(trace->activity.grid_x[1], 4);
    CHECK_INT(trace->activity.grid_y[1], 391);
    CHECK_INT(trace->activity.correlation[1], 2);
    CHECK_TEXT(trace_text(trace, trace->activity.name[1]), "gemm");
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    trace_close(trace);
}

TEST(a_user_marker_is_a_range_and_a_barrier_is_no_work) {
    const char *path = database_of(SCHEMA "INSERT INTO rocpd_api VALUES (1, 9, 9, 1, 20, 4, 10);"
                                          "INSERT INTO rocpd_op VALUES (1, 2, 0, 5, 6, 1, 6);");
    struct trace *trace = must_import(&import_rpd, path);
    REQUIRE(trace && trace->range.count == 1);
    CHECK_TEXT(trace_text(trace, trace->range.name[0]), "forward");
    CHECK_INT(trace->range.category[0], RANGE_ANNOTATION);
    CHECK_INT(trace->call.count, 0);
    CHECK_INT(trace->activity.count, 0);
    CHECK(has_warning(trace, "not kernels, copies or fills (mostly barriers): 1"));
    trace_close(trace);
}

TEST(a_copy_takes_its_size_from_its_call) {
    const char *path = database_of(
        SCHEMA "INSERT INTO rocpd_api VALUES (4, 9, 9, 1, 20, 9, 1);"
               "INSERT INTO rocpd_op VALUES (1, 2, 0, 5, 6, 1, 8), (2, 2, 0, 7, 8, 1, 8);"
               "INSERT INTO rocpd_api_ops VALUES (1, 4, 1);"
               "INSERT INTO rocpd_copyapi VALUES (4, 4096, '', '', 1, 1), (0, 7, 1, 1, 1, 1);");
    struct trace *trace = must_import(&import_rpd, path);
    REQUIRE(trace && trace->activity.count == 2);
    CHECK_INT(trace->activity.bytes[0], 4096);
    CHECK_INT(trace->activity.direction[0], COPY_HTOD);
    CHECK_INT(trace->activity.from_memory[0], MEMORY_PINNED);
    CHECK(trace->activity.bytes[1] == BYTES_UNKNOWN);
    CHECK_INT(trace->activity.from_memory[1], MEMORY_UNKNOWN);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "CopyHostToDevice");
    trace_close(trace);
}

TEST(a_trace_that_names_no_schema_is_read_and_one_of_another_schema_is_not) {
    struct status status = {0};
    const char *unnamed = database_of(SCHEMA "DELETE FROM rocpd_metadata;"
                                             "INSERT INTO rocpd_api VALUES (1, 9, 9, 1, 2, 2, 1);");
    struct trace *trace = must_import(&import_rpd, unnamed);
    REQUIRE(trace);
    CHECK_INT(trace->call.count, 1);
    trace_close(trace);
    const char *other = database_of(SCHEMA "UPDATE rocpd_metadata SET value = '4';");
    REQUIRE(other);
    CHECK(!import_database(&import_rpd, other, false, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "schema 4; ridge reads schema 2"));
}

/* The page of the strings loses its type: the names of calls cannot be read. */
TEST(a_trace_whose_strings_are_damaged_is_refused) {
    struct status status = {0};
    static char bytes[1 << 18];
    const char *path =
        database_of("PRAGMA page_size=4096;" SCHEMA
                    "INSERT INTO rocpd_api VALUES (1, 9, 9, 1, 2, 2, 1), (2, 9, 9, 3, 4, 2, 1);");
    REQUIRE(path);
    int fd = open(path, O_RDWR);
    ssize_t length = read(fd, bytes, sizeof bytes);
    struct text content = {bytes, length > 0 ? (size_t)length : 0};
    long at = (long)text_find(content, "hipExtModuleLaunchKernel");
    REQUIRE(at >= 0);
    CHECK(pwrite(fd, "\xFF", 1, at / 4096 * 4096) == 1);
    close(fd);
    CHECK(!import_database(&import_rpd, path, false, &status));
    CHECK_INT(status.code, STATUS_INPUT);
}

TEST(an_impossible_operation_names_its_row) {
    const char *path = database_of(SCHEMA "INSERT INTO rocpd_op VALUES (1, 2, 0, 9, 6, 7, 5);");
    struct status status = {0};
    REQUIRE(path);
    CHECK(!import_database(&import_rpd, path, false, &status));
    CHECK(strstr(status.message, "rocpd_op, row 1"));
    struct trace *trace = import_database(&import_rpd, path, true, &status);
    REQUIRE(trace);
    CHECK_INT(trace_meta_sum(trace, META_DROPS), 1);
    trace_close(trace);
}

/* Compared row by row with rows.txt: every kind of operation, joined with a call or not. */
TEST(an_rpd_trace_of_everything_keeps_every_row) {
    const char *path = database_of(
        SCHEMA "INSERT INTO rocpd_string VALUES (11, 'CopyDeviceToHost'), (12, 'FillBuffer'),"
               "(13, 'CopyDeviceToDevice'), (14, 'Copy'), (15, 'hipDeviceSynchronize'),"
               "(16, 'hipMalloc'), (17, 'Task'), (18, 'Memset');"
               "INSERT INTO rocpd_api VALUES (0, 8, 8, 1, 2, 15, 1), (1, 9, 9, 1, 2, 2, 1),"
               "(2, 9, 10, 3, 4, 3, 1), (4, 9, 9, 6, 20, 9, 1), (5, 9, 9, 20, 20, 9, 1),"
               "(6, 9, 9, 21, 25, 9, 1), (7, 9, 9, 25, 30, 15, 1), (8, 9, 9, 30, 31, 16, 1),"
               "(9, 9, 9, 31, 40, 4, 10), (10, 9, 9, 41, 42, 9, 1);"
               "INSERT INTO rocpd_op VALUES (1, 2, 0, 5, 6, 7, 5), (2, 2, 1, 7, 8, 1, 5),"
               "(3, 1, 0, 9, 9, 1, 8), (4, 2, 0, 10, 12, 1, 11), (5, 2, 0, 12, 14, 1, 12),"
               "(6, 2, 0, 14, 15, 1, 13), (7, 2, 0, 16, 17, 1, 14), (8, 2, 0, 18, 19, 1, 14),"
               "(9, 2, 0, 20, 21, 1, 14), (10, 2, 0, 22, 23, 1, 17), (11, 2, 0, 24, 25, 1, 18);"
               "INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2), (3, 4, 3), (4, 5, 7),"
               "(5, 6, 8), (6, 10, 9), (7, 0, 4);"
               "INSERT INTO rocpd_kernelapi VALUES (1, 10, 1, 1, 256, 1, 1, 64, 7),"
               "(2, 1000, 782, 3, 256, 2, 2, 0, 7), (0, 9, 9, 9, 9, 9, 9, 9, 7);"
               "INSERT INTO rocpd_copyapi VALUES (4, 4096, '', '', 1, 1), (5, 7, 2, 3, 0, 1),"
               "(6, 8, 1, 1, 3, 0), (10, 9, 1, 1, 2, 1), (0, 5, 1, 1, 1, 1);"
               "CREATE TABLE rocpd_monitor (id INTEGER PRIMARY KEY, deviceType, deviceId,"
               "monitorType, start, end, value);"
               "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 2, 'sclk', 5, 9, '1700'),"
               "(2, 'gpu', 0, 'a monitor whose name is longer than it is shown', 6, 9, 0.5);");
    struct trace *trace = must_import(&import_rpd, path);
    REQUIRE(trace);
    CHECK_INT(trace->counter.count, 2);
    CHECK_TEXT(trace_text(trace, trace->counter.name[0]), "gpu 2 sclk");
    CHECK_INT(trace->counter.value[0], 1700);
    trace_close(trace);
}

#endif
