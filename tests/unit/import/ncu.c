/* Nsight Compute: real reports against independent figures, and small ones for the pitfalls of the
 * formats. */
#include "imported.h"

#include "base/protobuf.h"
#include "base/text.h"

static struct trace *import(const struct importer *importer, struct text bytes,
                            struct status *status) {
    *status = (struct status){0};
    struct trace *trace = imported_bytes(importer, bytes, false, status);
    if (trace && (!trace_load(trace, TABLE_METRIC, NULL, status) ||
                  !trace_load(trace, TABLE_ACTIVITY, NULL, status)))
        test_failed(__FILE__, __LINE__, "%s", status->message);
    return trace;
}

#define IMPORT(importer, bytes)                                                                    \
    struct status status;                                                                          \
    struct trace *trace = import(&importer, bytes, &status);                                       \
    if (!trace) {                                                                                  \
        test_failed(__FILE__, __LINE__, "%s", status.message);                                     \
        return;                                                                                    \
    }

/* The value of a counter of a launch, from 1; -1 where it has none. */
static double value_of(const struct trace *trace, uint64_t launch, const char *name) {
    for (size_t i = 0; i < trace->metric.count; i++)
        if (trace->metric.launch[i] == launch &&
            text_is(trace_text(trace, trace->metric.name[i]), name))
            return trace->metric.value[i];
    return -1;
}

static const char *unit_of(const struct trace *trace, const char *name) {
    for (size_t i = 0; i < trace->metric.count; i++)
        if (text_is(trace_text(trace, trace->metric.name[i]), name)) {
            static char unit[64];
            struct text text = trace_text(trace, trace->metric.unit[i]);
            snprintf(unit, sizeof unit, "%.*s", TEXT_ARGS(text));
            return unit;
        }
    return "none";
}

static int64_t total_time(const struct trace *trace) {
    int64_t sum = 0;
    for (size_t i = 0; i < trace->activity.count; i++)
        sum += trace->activity.duration[i];
    return sum;
}

TEST(the_ncu_fixtures_have_their_true_figures) {
    static const struct {
        const struct importer *importer;
        const char *path;
        int64_t launches, duration;
        uint32_t grid;
        const char *metric;
        double value; /* of the first launch */
    } files[] = {
        {&import_ncu_report, "ncu/readWriteOffset_cg.ncu-rep", 3, 686080, 32768,
         "dram__bytes_read.sum", 134230144},
        {&import_ncu_report, "ncu/kprattis_profile.ncu-rep", 6, 825898944, 4432,
         "sm__warps_active.avg.pct_of_peak_sustained_active", 85.94820845033502},
        {&import_ncu_report, "ncu/montecarlo_profile.ncu-rep", 2, 85310880, 1220,
         "sm__throughput.avg.pct_of_peak_sustained_elapsed", 25.512687807041623},
        {&import_ncu_report, "ncu/silu-triton.ncu-rep", 1, 141920, 1056,
         "launch__registers_per_thread", 56},
        {&import_ncu_text, "ncu/readWriteOffset_cg.csv", 6, 1348576, 32768, "dram__bytes_read.sum",
         140029824},
        {&import_ncu_text, "ncu/silu-pytorch-ncu-report.txt", 10, 6013400, 1056,
         "sm__warps_active.avg.pct_of_peak_sustained_active", 50.40},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct status status = {0};
        const char *path = test_fixture(files[i].path);
        if (!path)
            return;
        struct trace *trace = imported_file(files[i].importer, path, false, &status);
        if (!trace || !trace_load(trace, TABLE_METRIC, NULL, &status) ||
            !trace_load(trace, TABLE_ACTIVITY, NULL, &status)) {
            test_failed(__FILE__, __LINE__, "%s: %s", path, status.message);
            continue;
        }
        CHECK_INT(trace->activity.count, files[i].launches);
        CHECK_INT(total_time(trace), files[i].duration);
        CHECK_INT(trace->activity.grid_x[0], files[i].grid);
        CHECK(value_of(trace, 1, files[i].metric) == files[i].value);
        trace_close(trace);
    }
}

/* ---- Reports ---- */

static void put_length(struct buffer *bytes, size_t length) {
    for (unsigned i = 0; i < 4; i++)
        buffer_byte(bytes, (char)(length >> 8 * i));
}

static void put_framed(struct buffer *bytes, struct buffer *message) {
    put_length(bytes, message->length);
    buffer_text(bytes, buffer_as_text(message));
    buffer_finish(message);
}

static void put_metric(struct buffer *result, uint64_t name, double value) {
    size_t metric = protobuf_begin(result, 13);
    protobuf_put_integer(result, 1, name);
    size_t number = protobuf_begin(result, 2);
    protobuf_put_double(result, 3, value);
    protobuf_end(result, number);
    protobuf_end(result, metric);
}

/* A block with a source, new names and one launch that uses all names so far. */
static void put_block(struct buffer *bytes, const char *const *names, size_t known, size_t count,
                      double first_value) {
    struct buffer header = {0}, source = {0}, result = {0};
    protobuf_put_integer(&header, 1, 1);
    protobuf_put_integer(&header, 2, 1);
    size_t table = protobuf_begin(&header, 4);
    for (size_t i = known; i < count; i++)
        protobuf_put_text(&header, 1, text_of(names[i]));
    protobuf_end(&header, table);
    put_framed(bytes, &header);
    buffer_string(&source, "cubin");
    put_framed(bytes, &source);
    protobuf_put_text(&result, 7, TEXT("void copy<float>(float *)"));
    size_t grid = protobuf_begin(&result, 10);
    protobuf_put_integer(&result, 1, 1024); /* threads, as in 2020 */
    protobuf_end(&result, grid);
    for (size_t i = 0; i < count; i++)
        put_metric(&result, i, first_value + (double)i);
    put_framed(bytes, &result);
}

static void put_report(struct buffer *bytes) {
    static const char *const names[] = {"gpu__time_duration.sum", "launch__grid_dim_x",
                                        "launch__block_dim_x", "dram__bytes_read.sum"};
    struct buffer header = {0};
    buffer_append(bytes, "NVR", 4);
    protobuf_put_integer(&header, 1, 7);
    put_framed(bytes, &header);
    put_block(bytes, names, 0, 3, 100);
    put_block(bytes, names, 3, 4, 200);
}

TEST(names_of_ncu_metrics_are_those_of_all_blocks) {
    struct buffer bytes = {0};
    put_report(&bytes);
    IMPORT(import_ncu_report, buffer_as_text(&bytes))
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.duration[0], 100);
    CHECK_INT(trace->activity.start[1], 100);
    CHECK_INT(trace->activity.grid_x[0], 101);
    CHECK_INT(trace->activity.block_x[1], 202);
    CHECK(value_of(trace, 2, "dram__bytes_read.sum") == 203);
    CHECK(value_of(trace, 1, "dram__bytes_read.sum") == -1);
    CHECK_STRING(unit_of(trace, "gpu__time_duration.sum"), "ns");
    trace_close(trace);
    buffer_finish(&bytes);
}

#define ATTRIBUTE(name) "device__attribute_" name

TEST(the_device_and_the_shape_of_a_launch_are_metrics_of_ncu) {
    static const char *const names[] = {
        ATTRIBUTE("multiprocessor_count"),
        ATTRIBUTE("clock_rate"), /* kHz */
        ATTRIBUTE("compute_capability_major"),
        ATTRIBUTE("compute_capability_minor"),
        ATTRIBUTE("warp_size"),
        ATTRIBUTE("max_threads_per_multiprocessor"),
        ATTRIBUTE("max_registers_per_multiprocessor"),
        ATTRIBUTE("max_shared_memory_per_multiprocessor"),
        ATTRIBUTE("max_blocks_per_multiprocessor"),
        ATTRIBUTE("reserved_shared_memory_per_block"),
        ATTRIBUTE("total_memory"),
        ATTRIBUTE("unheard_of"),
        "launch__grid_dim_x",
        "launch__grid_dim_y",
        "launch__grid_dim_z",
        "launch__block_dim_x",
        "launch__block_dim_y",
        "launch__block_dim_z",
        "launch__grid_dim_w",
        "gpu__time_duration.sum",
    };
    struct buffer bytes = {0}, header = {0};
    buffer_append(&bytes, "NVR", 4);
    protobuf_put_integer(&header, 1, 7);
    put_framed(&bytes, &header);
    put_block(&bytes, names, 0, sizeof names / sizeof *names, 10);
    IMPORT(import_ncu_report, buffer_as_text(&bytes))
    REQUIRE(trace->activity.count == 1 && trace->device.count == 2);
    CHECK_INT(trace->device.multiprocessors[1], 10);
    CHECK_INT(trace->device.clock_hz[1], 11000);
    CHECK_INT(trace->device.compute_major[1], 12);
    CHECK_INT(trace->device.compute_minor[1], 13);
    CHECK_INT(trace->device.warp_size[1], 14);
    CHECK_INT(trace->device.threads_per_multiprocessor[1], 15);
    CHECK_INT(trace->device.registers_per_multiprocessor[1], 16);
    CHECK_INT(trace->device.shared_per_multiprocessor[1], 17);
    CHECK_INT(trace->device.blocks_per_multiprocessor[1], 18);
    CHECK_INT(trace->device.shared_reserved_per_block[1], 19);
    CHECK_INT(trace->device.memory_bytes[1], 20);
    CHECK_INT(trace->activity.grid_x[0], 22);
    CHECK_INT(trace->activity.grid_y[0], 23);
    CHECK_INT(trace->activity.grid_z[0], 24);
    CHECK_INT(trace->activity.block_x[0], 25);
    CHECK_INT(trace->activity.block_y[0], 26);
    CHECK_INT(trace->activity.block_z[0], 27);
    CHECK_INT(trace->activity.duration[0], 29);
    CHECK(value_of(trace, 1, ATTRIBUTE("warp_size")) == -1); /* it belongs to the device */
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(sizes_of_an_ncu_report_that_cannot_be_are_unknown) {
    static const char *const names[] = {"launch__grid_dim_x", "launch__grid_dim_y",
                                        "launch__grid_dim_z", ATTRIBUTE("total_memory")};
    static const double firsts[] = {-1, 4294967294.0, 1e18};
    static const uint32_t expected[][3] = {{0, 0, 1}, {4294967294, UINT32_MAX, 0}, {0, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct buffer bytes = {0}, header = {0};
        buffer_append(&bytes, "NVR", 4);
        protobuf_put_integer(&header, 1, 7);
        put_framed(&bytes, &header);
        put_block(&bytes, names, 0, 4, firsts[i]);
        IMPORT(import_ncu_report, buffer_as_text(&bytes))
        REQUIRE(trace->activity.count == 1 && trace->device.count == 2);
        CHECK_INT(trace->activity.grid_x[0], expected[i][0]);
        CHECK_INT(trace->activity.grid_y[0], expected[i][1]);
        CHECK_INT(trace->activity.grid_z[0], expected[i][2]);
        CHECK_INT(trace->device.memory_bytes[1], i == 2 ? 0 : i == 0 ? 2 : 4294967297);
        trace_close(trace);
        buffer_finish(&bytes);
    }
}

TEST(an_ncu_report_that_ends_early_keeps_its_complete_launches) {
    struct buffer bytes = {0};
    put_report(&bytes);
    IMPORT(import_ncu_report, ((struct text){bytes.data, bytes.length - 3}))
    CHECK_INT(trace->activity.count, 1);
    CHECK(trace_meta(trace, META_TRUNCATED).length > 0);
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(an_ncu_report_without_a_launch_is_an_error) {
    struct status status;
    CHECK(!import(&import_ncu_report, (struct text){"NVR\0\0\0\0\0", 8}, &status));
    CHECK(strstr(status.message, "without a kernel") != NULL);
}

/* ---- CSV ---- */

#define TITLES                                                                                     \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\","            \
    "\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\","                  \
    "\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
#define ROW(id, metric, unit, value)                                                               \
    "\"" id "\",\"7\",\"app\",\"host\",\"f(int, \"\"x\"\")\",\"1\",\"7\",\"(32, 2, 1)\","          \
    "\"(8, 1, 1)\",\"0\",\"8.9\",\"Section\",\"" metric "\",\"" unit "\",\"" value "\"\n"

TEST(values_of_ncu_csv_have_base_units) {
    IMPORT(import_ncu_text,
           TEXT("program output\n==PROF== Connected\n" TITLES ROW("0", "Duration", "us", "1,234.50")
                    ROW("0", "Memory Throughput", "Gbyte/second", "2.5")
                        ROW("0", "Memory Throughput", "%", "9,25") ROW("0", "SM Frequency",
                                                                       "cycle/nsecond", "1.5")
                            ROW("0", "L1/TEX Hit Rate", "",
                                "n/a") "==PROF== Disconnected\n" ROW("1", "Duration", "ms", "2")))
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.duration[0], 1234500);
    CHECK_INT(trace->activity.duration[1], 2000000);
    CHECK_INT(trace->activity.block_y[0], 2);
    CHECK_INT(trace->activity.grid_x[0], 8);
    CHECK(value_of(trace, 1, "dram__bytes.sum.per_second") == 2.5e9);
    CHECK(value_of(trace, 1, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed") ==
          9.25);
    CHECK(value_of(trace, 1, "gpc__cycles_elapsed.avg.per_second") == 1.5e9);
    CHECK(value_of(trace, 1, "l1tex__t_sector_hit_rate.pct") == -1);
    CHECK_STRING(unit_of(trace, "dram__bytes.sum.per_second"), "byte/s");
    CHECK_STRING(unit_of(trace, "gpc__cycles_elapsed.avg.per_second"), "Hz");
    CHECK_INT(trace->device.compute_major[1], 8);
    CHECK_INT(trace->device.compute_minor[1], 9);
    trace_close(trace);
}

TEST(raw_ncu_csv_has_a_column_for_each_metric) {
    IMPORT(import_ncu_text, TEXT("\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid "
                                 "Size\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n"
                                 "\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"usecond\"\n"
                                 "\"0\",\"7\",\"f\",\"(32, 1, 1)\",\"(8, 1, 1)\",\"1.5\",\"10\"\n"
                                 "\"1\",\"7\",\"f\",\"(32, 1, 1)\",\"(8, 1, 1)\",\"3\",\"20\"\n"))
    CHECK_INT(trace->activity.count, 2);
    CHECK_INT(trace->activity.duration[1], 20000);
    CHECK(value_of(trace, 1, "dram__bytes_read.sum") == 1500);
    trace_close(trace);
}

TEST(ncu_errors_without_a_kernel_are_reported) {
    struct status status;
    CHECK(!import(&import_ncu_text,
                  TEXT("==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - The user "
                       "does not have permission\n"),
                  &status));
    CHECK(strstr(status.message, "ERR_NVGPUCTRPERM") != NULL);
}

/* ---- Text ---- */

TEST(the_details_page_of_ncu_is_read_by_its_columns) {
    IMPORT(import_ncu_text,
           TEXT("[31440] python3.10@127.0.0.1\n"
                "  void f<int>(int, T1) (1056, 2, 1)x(256, 1, 1), Context 1, Stream 7, Device 1, "
                "CC 9.0\n"
                "    Section: GPU Speed Of Light Throughput\n"
                "    ----------------------- ----------- ------------\n"
                "    Metric Name             Metric Unit Metric Value\n"
                "    ----------------------- ----------- ------------\n"
                "    Duration                         us       777.95\n"
                "    Registers Per Thread register/thread              42\n"
                "    Function Cache                          PreferNone\n"
                "    ----------------------- ----------- ------------\n\n"
                "    OPT   a paragraph of 100 % advice\n\n"))
    CHECK_INT(trace->activity.count, 1);
    CHECK_INT(trace->activity.duration[0], 777950);
    CHECK_INT(trace->activity.grid_y[0], 2);
    CHECK_INT(trace->process.pid[1], 31440);
    CHECK(text_is(trace_text(trace, trace->activity.name[0]), "void f<int>(int, T1)"));
    CHECK(text_is(trace_text(trace, trace->device.label[1]), "1"));
    trace_close(trace);
}

/* ---- Parts of both ---- */

/* A session, values as integers and texts, and sizes of a launch that metrics do not repeat. */
TEST(a_launch_of_an_ncu_report_has_its_stream_sizes_and_device_name) {
    static const char *const names[] = {"launch__waves_per_multiprocessor",
                                        "device__attribute_display_name", "group:memory", ""};
    struct buffer bytes = {0}, header = {0}, block = {0}, result = {0};
    buffer_append(&bytes, "NVR", 4);
    protobuf_put_integer(&header, 1, 7);
    put_framed(&bytes, &header);
    protobuf_put_integer(&block, 2, 1);
    size_t session = protobuf_begin(&block, 3);
    protobuf_put_text(&block, 7, TEXT("host"));
    for (unsigned i = 0; i < 2; i++) {
        size_t pair = protobuf_begin(&block, 8);
        protobuf_put_text(&block, 1, i ? TEXT("Driver") : TEXT("Nsight Compute Target"));
        protobuf_put_text(&block, 2, i ? TEXT("580") : TEXT("2026.1"));
        protobuf_end(&block, pair);
    }
    protobuf_end(&block, session);
    size_t table = protobuf_begin(&block, 4);
    for (size_t i = 0; i < 4; i++)
        protobuf_put_text(&block, 1, text_of(names[i]));
    protobuf_end(&block, table);
    put_framed(&bytes, &block);
    protobuf_put_text(&result, 5, TEXT("mangled"));
    protobuf_put_text(&result, 6, TEXT("short"));
    for (unsigned field = 10; field <= 11; field++) {
        size_t size = protobuf_begin(&result, field);
        for (unsigned axis = 1; axis <= 3; axis++)
            protobuf_put_integer(&result, axis, 10 * field + axis);
        protobuf_put_integer(&result, 4, 99);
        protobuf_end(&result, size);
    }
    for (uint64_t i = 0; i < 5; i++) { /* name 4 is not in the table */
        size_t metric = protobuf_begin(&result, 13), value;
        protobuf_put_integer(&result, 1, i);
        value = protobuf_begin(&result, 2);
        if (i == 1)
            protobuf_put_text(&result, 1, TEXT("NVIDIA H200"));
        else
            protobuf_put_integer(&result, 5, 40 + i);
        protobuf_end(&result, value);
        protobuf_end(&result, metric);
    }
    protobuf_put_integer(&result, 23, 13);
    put_framed(&bytes, &result);
    IMPORT(import_ncu_report, buffer_as_text(&bytes))
    REQUIRE(trace->activity.count == 1 && trace->device.count == 2);
    CHECK(text_is(trace_meta(trace, META_SOURCE_TOOL), "Nsight Compute 2026.1"));
    CHECK(text_is(trace_text(trace, trace->activity.name[0]), "short"));
    CHECK_INT(trace->queue.stream[trace->activity.queue[0]], 13);
    CHECK_INT(trace->activity.grid_x[0], 101);
    CHECK_INT(trace->activity.grid_z[0], 103);
    CHECK_INT(trace->activity.block_x[0], 111);
    CHECK_INT(trace->activity.block_z[0], 113);
    CHECK(text_is(trace_text(trace, trace->device.name[1]), "NVIDIA H200"));
    CHECK_INT(trace->metric.count, 1);
    CHECK(value_of(trace, 1, "launch__waves_per_multiprocessor") == 40);
    trace_close(trace);
    buffer_finish(&bytes);
}

TEST(output_of_ncu_is_recognized_by_its_titles_its_tables_or_its_messages) {
    static const struct {
        const char *head;
        int confidence;
    } cases[] = {
        {"\"ID\",\"Kernel Name\",\"x\"\n", 3},
        {"started\n\"ID\",\"Kernel Name\",\"x\"\n", 3},
        {"\"ID\",\"Name\",\"x\"\n", 0},
        {"  f (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\n    Metric Name  Metric Unit\n", 3},
        {"  f (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\nMetric Name\n", 3},
        {"  f (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\n", 0},
        {"f (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\n    Metric Name  Metric Unit\n", 0},
        {"==PROF== Connected\nsome text\n", 2},
        {"some text\n==ERROR== no\n", 2},
        {"== some text\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_source source = {.head = (const unsigned char *)cases[i].head,
                                       .head_length = strlen(cases[i].head)};
        CHECK_INT(import_ncu_text.detect(&source), cases[i].confidence);
    }
}

TEST(printed_numbers_of_ncu_have_groups_decimals_and_lists) {
    IMPORT(import_ncu_text,
           TEXT(TITLES ROW("0", "Duration", "ns", "90") ROW("0", "a1", "", "1,099,900")
                    ROW("0", "a2", "", "9,09") ROW("0", "a3", "", "77,900.5")
                        ROW("0", "a4", "", "12 (1; 2; 3)") ROW("0", "a5", "", "4.0e-05")
                            ROW("0", "a6", "", "-9") ROW("0", "a7", "", "+9")
                                ROW("0", "a8", "", "9x") ROW("0", "a9", "", "9,0900")))
    CHECK(value_of(trace, 1, "a1") == 1099900);
    CHECK(value_of(trace, 1, "a2") == 9.09);
    CHECK(value_of(trace, 1, "a3") == 77900.5);
    CHECK(value_of(trace, 1, "a4") == 12);
    CHECK(value_of(trace, 1, "a5") == 4e-5);
    CHECK(value_of(trace, 1, "a6") == -9);
    CHECK(value_of(trace, 1, "a7") == -1); /* not a number */
    CHECK(value_of(trace, 1, "a8") == -1);
    CHECK(value_of(trace, 1, "a9") == 9.09);
    trace_close(trace);
}
