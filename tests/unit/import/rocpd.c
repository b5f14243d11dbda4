/* rocpd databases of rocprofv3: real ones against independent figures, and small ones for the
 * pitfalls of the format. */
#include "../test.h"

#ifdef RIDGE_HAVE_SQLITE

#include "database.h"

TEST(the_rocpd_fixtures_have_their_true_figures) {
    static const struct {
        const char *path;
        int64_t kernels, kernel_ns, calls;
    } files[] = {{"rocpd/trace_20251121_15_results.db", 301, 11029243, 623},
                 {"rocpd/ck_bmm_28_results.db", 151, 2604546, 629}};
    for (size_t i = 0; i < 2; i++) {
        struct trace *trace = must_import(&import_rocpd, test_fixture(files[i].path));
        if (!trace)
            return;
        struct figures figures = figures_of(trace);
        CHECK_INT(figures.kernels, files[i].kernels);
        CHECK_INT(figures.kernel_ns, files[i].kernel_ns);
        CHECK_INT(figures.calls, files[i].calls);
        CHECK_INT(figures.matched, files[i].kernels);
        CHECK_INT(trace->device.count, 2); /* the one with work of eight */
        CHECK_TEXT(trace_text(trace, trace->device.name[1]), "AMD Instinct MI300X");
        CHECK_INT(trace->device.multiprocessors[1], 304);
        trace_close(trace);
    }
}

#define U "_0000ab"
#define SCHEMA                                                                                     \
    "CREATE TABLE rocpd_metadata" U " (id, tag, value);"                                           \
    "INSERT INTO rocpd_metadata" U " VALUES (1, 'schema_version', '3');"                           \
    "CREATE VIEW rocpd_metadata AS SELECT * FROM rocpd_metadata" U ";"                             \
    "CREATE TABLE rocpd_string" U " (id INTEGER PRIMARY KEY, guid, string);"                       \
    "INSERT INTO rocpd_string" U " VALUES (1, 'g', 'HIP_RUNTIME_API_EXT'),"                        \
    "(2, 'g', 'MARKER_CORE_API'), (3, 'g', 'hipLaunchKernel'), (4, 'g', 'step'),"                  \
    "(5, 'g', 'MEMORY_COPY_HOST_TO_DEVICE');"                                                      \
    "CREATE TABLE rocpd_info_process" U " (id, pid, command, environment);"                        \
    "INSERT INTO rocpd_info_process" U " VALUES (1, 77, './gemm', '{\"SECRET\":\"x\"}');"          \
    "CREATE TABLE rocpd_info_thread" U " (id, tid);"                                               \
    "INSERT INTO rocpd_info_thread" U " VALUES (3, 78);"                                           \
    "CREATE TABLE rocpd_info_agent" U " (id, type, absolute_index, name, product_name, extdata);"  \
    "INSERT INTO rocpd_info_agent" U " VALUES (0, 'CPU', 0, 'cpu', 'cpu', '{}'),"                  \
    "(2, 'GPU', 4, 'gfx942', 'MI300X', '{\"cu_count\":304,\"wave_front_size\":64}'),"              \
    "(3, 'GPU', 5, 'gfx942', 'MI300X', '{}');"                                                     \
    "CREATE TABLE rocpd_info_kernel_symbol" U " (id, kernel_name, display_name,"                   \
    "arch_vgpr_count); INSERT INTO rocpd_info_kernel_symbol" U " VALUES (9, 'f.kd', 'f', 24);"     \
    "CREATE TABLE rocpd_event" U " (id, category_id, stack_id, correlation_id);"                   \
    "INSERT INTO rocpd_event" U " VALUES (1, 1, 50, 0), (2, 2, 51, 0), (3, 1, 50, 0),"             \
    "(4, 1, 52, 0);"                                                                               \
    "CREATE TABLE rocpd_region" U " (id, pid, tid, start, end, name_id, event_id);"                \
    "CREATE TABLE rocpd_kernel_dispatch" U " (id, pid, agent_id, kernel_id, queue_id, start, end," \
    "group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"       \
    "grid_size_y, grid_size_z, event_id);"                                                         \
    "CREATE TABLE rocpd_memory_copy" U " (id, pid, start, end, name_id, dst_agent_id,"             \
    "src_agent_id, size, queue_id, event_id);"

TEST(rocpd_dispatches_find_their_call_by_the_stack_of_their_event) {
    const char *path = database_of(
        SCHEMA "INSERT INTO rocpd_region" U " VALUES (1, 1, 3, 10, 30, 3, 1), (2, 1, 3, 5, 60, 4,"
               "2); INSERT INTO rocpd_kernel_dispatch" U
               " VALUES (1, 1, 2, 9, 16, 40, 55, 512, 64, 2, 3, 130, 4, 7, 3);"
               "INSERT INTO rocpd_memory_copy" U " VALUES (1, 1, 1, 4, 5, 2, 0, 4096, 0, 4);");
    struct trace *trace = must_import(&import_rocpd, path);
    REQUIRE(trace && trace->activity.count == 2 && trace->call.count == 1);
    CHECK_INT(trace->range.count, 1);
    CHECK_TEXT(trace_text(trace, trace->range.name[0]), "step");
    CHECK_INT(trace->call.class[0], CALL_LAUNCH);
    CHECK_INT(trace->call.correlation[0], 50);
    CHECK_INT(trace->thread.tid[trace->call.thread[0]], 78);
    CHECK_INT(trace->activity.correlation[0], 50);
    CHECK_TEXT(trace_text(trace, trace->activity.name[0]), "f");
    CHECK_INT(trace->activity.grid_x[0], 3);
    CHECK_INT(trace->activity.grid_y[0], 2);
    CHECK_INT(trace->activity.grid_z[0], 3);
    CHECK_INT(trace->activity.registers[0], 24);
    CHECK_INT(trace->activity.shared_dynamic[0], 512);
    CHECK_INT(trace->activity.direction[1], COPY_HTOD);
    CHECK_INT((int64_t)trace->activity.bytes[1], 4096);
    uint32_t queue = trace->activity.queue[0], device = trace->queue.device[queue];
    CHECK_INT(trace->queue.stream[queue], 16);
    CHECK_INT(trace->process.pid[trace->queue.process[queue]], 77);
    CHECK_INT(trace->device.count, 2);
    CHECK_TEXT(trace_text(trace, trace->device.label[device]), "4");
    CHECK_INT(trace->device.multiprocessors[device], 304);
    CHECK_INT(trace->device.warp_size[device], 64);
    trace_close(trace);
}

/* The environment may hold secrets. */
TEST(rocpd_environments_stay_in_the_database) {
    struct trace *trace = must_import(&import_rocpd, database_of(SCHEMA));
    REQUIRE(trace);
    CHECK_TEXT(trace_meta(trace, META_COMMAND), "./gemm");
    for (size_t i = 0; i < trace->meta.count; i++)
        CHECK(text_find(trace_text(trace, trace->meta.value[i]), "SECRET") < 0);
    trace_close(trace);
}

TEST(rocpd_and_rpd_are_told_apart) {
    const char *path = database_of(SCHEMA);
    REQUIRE(path);
    CHECK_INT(sureness_of(&import_rocpd, path), 3);
    CHECK_INT(sureness_of(&import_rpd, path), 2);
    struct status status = {0};
    const char *views = database_of("CREATE TABLE rocpd_metadata_x (tag, value);"
                                    "CREATE VIEW rocpd_kernel_dispatch AS SELECT 1;");
    CHECK(!import_database(&import_rocpd, views, false, &status));
    CHECK(strstr(status.message, "has no table rocpd_kernel_dispatch"));
}

#endif
