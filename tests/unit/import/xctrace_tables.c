/* Instruments' further tables: states of the machine, memory, shaders, the compiler, the list of
 * allocations; which tables are not read; whether the GPU's part of a recording is complete. The
 * tables are those of tests/fuzz/seeds/xctrace. */
#include "../test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "rows.h"

#ifdef RIDGE_HAVE_EXPAT

#define COLUMN(name) "<col><mnemonic>" name "</mnemonic><name>x</name></col>"
#define PROCESS "<process fmt=\"app (7)\"><pid>7</pid></process>"
#define OTHER "<process fmt=\"other (8)\"><pid>8</pid></process>"
#define ENCODERS                                                                                   \
    "<trace-query-result><node><schema name=\"metal-application-encoders-list\">" COLUMN("start")  \
        COLUMN("duration") COLUMN("thread") COLUMN("process") COLUMN("cmdbuffer-id")               \
            COLUMN("encoder-id") "</schema>"
#define ENCODER(start, buffer, encoder)                                                            \
    "<row><t>" start "</t><d>100</d><thread fmt=\"Main\"><tid>11</tid>" PROCESS                    \
    "</thread>" PROCESS "<b>" buffer "</b><e>" encoder "</e></row>"
#define INTERVALS                                                                                  \
    "<trace-query-result><node><schema name=\"metal-gpu-intervals\">" COLUMN("start")              \
        COLUMN("duration") COLUMN("channel-name") COLUMN("event-depth") COLUMN("event-label")      \
            COLUMN("state") COLUMN("process") COLUMN("gpu") COLUMN("cmdbuffer-id")                 \
                COLUMN("encoder-id") "</schema>"
#define INTERVAL(start, process, buffer, encoder)                                                  \
    "<row><t>" start "</t><d>2000</d><c>Compute</c><n>0</n><l fmt=\"x\"><string>Command Buffer "   \
    "0:Compute Command 0</string></l><s>Active</s>" process "<g>M1</g><b>" buffer                  \
    "</b><e>" encoder "</e></row>"
#define END "</node></trace-query-result>"
#define CONTENTS                                                                                   \
    "<trace-toc><run number=\"1\"><info><target><process name=\"app\" pid=\"7\"/></target></info>" \
    "<data><table schema=\"metal-gpu-intervals\"/><table schema=\"tick\"/>"                        \
    "<table schema=\"device-thermal-state-intervals\"/></data><tracks><track "                     \
    "name=\"Allocations\"><details><detail name=\"Statistics\"/><detail name=\"Allocations "       \
    "List\"/></details></track></tracks></run></trace-toc>"

static const char *folder;

static void begin_folder(void) {
    folder = test_temporary("");
    mkdir(folder, 0700);
}

static void put(const char *name, const char *content) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(content, file);
        fclose(file);
    }
}

/* Copies a table from the seeds of the fuzzer. */
static void put_seed(const char *name) {
    char path[256], content[16384];
    snprintf(path, sizeof path, "tests/fuzz/seeds/xctrace/%s", name);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
    if (file)
        fclose(file);
    content[length] = 0;
    put(name, content);
}

/* Imports the folder and removes it. */
static struct trace *import_folder(void) {
    struct trace *trace = NULL;
    struct status status = {0};
    char path[1024];
    CHECK_OK(import_open(folder, &(struct import_options){0}, &trace, &status), status);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory)
        closedir(directory);
    rmdir(folder);
    for (unsigned table = 0; trace && table < TABLE_COUNT; table++)
        trace_load(trace, (enum trace_table)table, NULL, &status);
    if (trace)
        rows_check(trace);
    return trace;
}

static bool is_counter(const struct trace *trace, size_t row, const char *name, int64_t time,
                       double value) {
    return text_is(trace_text(trace, trace->counter.name[row]), name) &&
           trace->counter.time[row] == time && trace->counter.value[row] == value;
}

static bool warns(const struct trace *trace, const char *what) {
    return text_find(trace_meta(trace, META_WARNING), what) >= 0;
}

TEST(thermal_and_performance_states_are_counters) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("thermal.xml");
    put_seed("performance.xml");
    put_seed("allocated.xml");
    struct trace *trace = import_folder();
    REQUIRE(trace && trace->counter.count == 6);
    CHECK(is_counter(trace, 0, "GPU performance state", 0, 3));
    CHECK(is_counter(trace, 1, "GPU performance state", 6000, 1));
    CHECK(trace->counter.device[0] != 0);
    CHECK(is_counter(trace, 2, "thermal state", 0, 0));
    CHECK(is_counter(trace, 3, "thermal state", 5000, 2)); /* by its description */
    CHECK(is_counter(trace, 4, "Metal allocated size", 100, 81920));
    CHECK(is_counter(trace, 5, "Metal allocated size", 150, 212992));
    trace_close(trace);
}

TEST(metal_resources_are_memory_of_the_device) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("resources.xml");
    struct trace *trace = import_folder();
    REQUIRE(trace && trace->memory.count == 2);
    CHECK_INT(trace->memory.operation[0], MEMORY_ALLOC);
    CHECK_INT(trace->memory.operation[1], MEMORY_FREE);
    CHECK_INT(trace->memory.bytes[0], 16384);
    CHECK_INT(trace->memory.address[0], 91487768605);
    CHECK(trace->memory.device[0] != 0 && trace->memory.thread[0] != 0);
    trace_close(trace);
}

/* Rows with attributes. A freed block has no address, as the time of its release is not known. */
TEST(the_list_of_allocations_is_the_heap) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("allocations.xml");
    struct trace *trace = import_folder();
    REQUIRE(trace && trace->allocation.count == 2);
    CHECK_INT(trace->allocation.time[0], 1000000);
    CHECK_INT(trace->allocation.time[1], 1002003000);
    CHECK_INT(trace->allocation.bytes[0], 80);
    CHECK_INT(trace->allocation.address[0], 0x600002b00ff0);
    CHECK_INT(trace->allocation.address[1], 0);
    uint32_t first = trace->allocation.stack[0], second = trace->allocation.stack[1];
    CHECK(text_is(trace_text(trace, trace->stack.function[first]), "allocate()"));
    CHECK(text_is(trace_text(trace, trace->stack.module[first]), "app"));
    CHECK(text_is(trace_text(trace, trace->stack.function[second]), "Malloc 96 Bytes"));
    trace_close(trace);
}

TEST(an_encoder_without_a_label_is_named_after_its_shader) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("shaders.xml");
    put("gpu.xml",
        INTERVALS INTERVAL("900", PROCESS, "1", "2") INTERVAL("9000", PROCESS, "3", "4") END);
    struct trace *trace = import_folder();
    REQUIRE(trace && trace->activity.count == 2);
    CHECK(text_is(trace_text(trace, trace->activity.name[0]), "vv_Addfloat32"));
    CHECK(
        text_is(trace_text(trace, trace->activity.name[1]), "Command Buffer 0:Compute Command 0"));
    trace_close(trace);
}

TEST(the_shader_compiler_blocks_the_thread_that_encodes) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("compiler.xml");
    put("encoders.xml", ENCODERS ENCODER("10", "1", "2") ENCODER("9000", "3", "4") END);
    struct trace *trace = import_folder();
    REQUIRE(trace && trace->call.count == 3);
    CHECK_INT(trace->call.class[2], CALL_COMPILE);
    CHECK(text_is(trace_text(trace, trace->call.name[2]), "Compile Compute shader"));
    CHECK_INT(trace->call.thread[2], trace->call.thread[0]);
    CHECK_INT(trace->call.duration[2], 5000);
    trace_close(trace);
}

TEST(tables_that_are_not_read_or_not_exported_are_named) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put("gpu.xml", INTERVALS INTERVAL("900", PROCESS, "1", "2") END);
    put("info.xml", "<trace-query-result><node><schema name=\"metal-gpu-info\">" COLUMN(
                        "timestamp") "</schema><row><t>0</t></row></node></trace-query-result>");
    struct trace *trace = import_folder();
    REQUIRE(trace);
    CHECK(text_is(trace_meta(trace, META_NOT_READ), "metal-gpu-info, tick"));
    CHECK(text_is(trace_meta(trace, META_NOT_FOUND),
                  "device-thermal-state-intervals, allocations-list"));
    trace_close(trace);
}

TEST(command_buffers_without_a_gpu_interval_are_reported) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put("encoders.xml", ENCODERS ENCODER("10", "1", "2") ENCODER("9000", "3", "4") END);
    put("gpu.xml", INTERVALS INTERVAL("900", OTHER, "8", "9") END);
    struct trace *trace = import_folder();
    REQUIRE(trace);
    CHECK(warns(trace, "committed 2 command buffers, but Instruments recorded no GPU interval"));
    trace_close(trace);

    begin_folder();
    put("contents.xml", CONTENTS);
    put("encoders.xml", ENCODERS ENCODER("10", "1", "2") ENCODER("9000", "3", "4") END);
    put("gpu.xml", INTERVALS INTERVAL("900", PROCESS, "1", "2") END);
    trace = import_folder();
    REQUIRE(trace);
    CHECK(warns(trace, "1 of 2 command buffers of the program have no GPU interval"));
    CHECK(text_is(trace_meta(trace, "xctrace.command_buffers"), "2"));
    trace_close(trace);
}

TEST(a_recording_without_gpu_work_of_the_target_says_so) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put("gpu.xml", INTERVALS INTERVAL("900", OTHER, "8", "9") END);
    struct trace *trace = import_folder();
    REQUIRE(trace);
    CHECK(warns(trace, "no GPU work of process 7, and 1 GPU intervals of other processes"));
    trace_close(trace);
}

/* The templates Metal System Trace and Time Profiler together have the table twice. */
TEST(a_sample_that_two_instruments_recorded_counts_once) {
    begin_folder();
    put("contents.xml", CONTENTS);
    put_seed("profile.xml");
    char from[1024], to[1024];
    snprintf(from, sizeof from, "%s/profile.xml", folder);
    snprintf(to, sizeof to, "%s/again.xml", folder);
    CHECK(link(from, to) == 0);
    struct trace *trace = import_folder();
    REQUIRE(trace);
    CHECK_INT(trace->sample.count, 4);
    trace_close(trace);
}

#endif
