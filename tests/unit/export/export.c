/* The exported files themselves, and what happens when they cannot be written.
 * tests/cli/export_readers reads them with other programs. */
#include "../test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "export/export.h"
#include "generate.h"
#include "import/import.h"
#include "trace/writer.h"

/* One kernel with a name that spreadsheets would run, launched by one call, and a sample. */
static struct trace *small_trace(void) {
    const char *path = test_temporary(".ridge");
    struct status status = {0};
    struct trace *trace = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    struct row_device device = {.label = trace_writer_string(writer, TEXT("0"))};
    struct row_process process = {.pid = 42};
    struct row_thread thread = {.tid = 43, .name = trace_writer_string(writer, TEXT("main"))};
    struct row_queue queue = {.stream = 7};
    queue.device = trace_write_device(writer, &device);
    thread.process = queue.process = trace_write_process(writer, &process);
    struct row_call call = {.start = 1000001, .duration = 1500, .correlation = 5};
    call.thread = trace_write_thread(writer, &thread);
    call.name = trace_writer_string(writer, TEXT("cuLaunchKernel"));
    struct row_activity kernel = {.start = 1002003, .duration = 2, .bytes = BYTES_UNKNOWN};
    kernel.queue = trace_write_queue(writer, &queue);
    kernel.name = trace_writer_string(writer, TEXT("=cmd(\"a,b\")"));
    kernel.correlation = 5;
    uint32_t stack = 0;
    static const char *const frames[] = {"main", "train", "-step"};
    for (int i = 0; i < 3; i++) {
        struct row_stack row = {.parent = stack};
        row.function = trace_writer_string(writer, text_of(frames[i]));
        stack = trace_write_stack(writer, &row);
    }
    trace_write_call(writer, &call);
    trace_write_activity(writer, &kernel);
    trace_write_sample(writer, &(struct row_sample){.time = 7, .thread = 1, .stack = stack});
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    CHECK_OK(trace_open(path, &trace, &status), status);
    return trace;
}

/* The export as text; free with memory_free(). */
static char *export_text(struct trace *trace, const char *format, enum trace_table table) {
    const char *path = test_temporary(".out");
    struct status status = {0};
    struct output output;
    bool ok = output_open(&output, path, true, &status) &&
              export_find(format)->write(trace, &(struct export_options){.table = table}, &output,
                                         &status) &&
              output_commit(&output, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s: %s", format, status.message);
    char *text = memory_allocate(1, 64 * 1024, &status);
    FILE *file = fopen(path, "rb");
    if (file && text)
        text[fread(text, 1, 64 * 1024 - 1, file)] = 0;
    if (file)
        fclose(file);
    return text;
}

TEST(csv_quotes_disarms_formulas_and_resolves_ids) {
    struct trace *trace = small_trace();
    char *text = export_text(trace, "csv", TABLE_ACTIVITY);
    CHECK(strstr(text, "start,duration,queue_device,queue_stream,queue_name,kind,name,") == text);
    CHECK(strstr(text, "\r\n1002003,2,0,7,,kernel,\"'=cmd(\"\"a,b\"\")\",5,"));
    memory_free(text);
    text = export_text(trace, "csv", TABLE_SAMPLE);
    CHECK_STRING(text, "time,thread_pid,thread_tid,thread_name,stack,weight\r\n"
                       "7,42,43,main,main;train;-step,0\r\n");
    memory_free(text);
    trace_close(trace);
}

TEST(chrome_times_have_three_decimals_and_arrows_join_call_and_kernel) {
    struct trace *trace = small_trace();
    char *text = export_text(trace, "chrome", TABLE_ACTIVITY);
    CHECK(strstr(text, "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":"
                       "42,\"tid\":43,\"ts\":1000.001,\"dur\":1.500,"));
    CHECK(strstr(text, "\"pid\":0,\"tid\":7,\"ts\":1002.003,\"dur\":0.002,"));
    CHECK(strstr(text, "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":42,"));
    CHECK(strstr(text, "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":0,"));
    CHECK(strstr(text, "\"sf\":\"3\""));
    memory_free(text);
    trace_close(trace);
}

TEST(every_format_reports_a_full_disk) {
    if (access("/dev/full", W_OK) != 0) {
        test_skip("there is no /dev/full");
        return;
    }
    struct trace *trace = generate_trace(1, 200);
    for (const struct export_format *format = export_formats; format->name; format++) {
        struct status status = {0};
        struct output output;
        if (!output_open(&output, "/dev/full", true, &status)) {
            CHECK_OK(false, status);
            continue;
        }
        bool ok =
            format->write(trace, &(struct export_options){.table = TABLE_CALL}, &output, &status);
        if (ok)
            ok = output_commit(&output, &status);
        else
            output_abandon(&output);
        if (ok || status.message[0] == 0)
            test_failed(__FILE__, __LINE__, "%s: no failure was reported", format->name);
    }
    trace_close(trace);
}

/* Fails each allocation in turn until the export succeeds; a failure leaves no file. */
TEST(every_failing_allocation_of_an_export_is_reported) {
    struct trace *trace = generate_trace(2, 40);
    const char *path = test_temporary(".out");
    for (const struct export_format *format = export_formats; format->name; format++) {
        bool done = false;
        for (uint64_t nth = 1; nth < 100000 && !done; nth += 1 + nth / 8) {
            struct status status = {0};
            struct output output;
            if (!output_open(&output, path, true, &status))
                break;
            memory_fail_from(nth);
            done = format->write(trace, &(struct export_options){.table = TABLE_CALL}, &output,
                                 &status) &&
                   !output.failed;
            memory_fail_from(0);
            if (!done)
                CHECK(output.failed || status.code != STATUS_OK);
            output_abandon(&output);
            CHECK(access(path, F_OK) != 0);
            if (status.code == STATUS_UNSUPPORTED) /* sqlite, in a build without it */
                done = true;
        }
        CHECK(done);
    }
    trace_close(trace);
}

/* Numbers that identify devices, processes and launches in a Chrome trace must be unique in the
 * file. */
TEST(two_recordings_with_equal_ids_do_not_share_them_in_a_chrome_trace) {
    struct trace *trace = generate_trace(2, 3);
    char *text = export_text(trace, "chrome", TABLE_ACTIVITY);
    CHECK(strstr(text, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":"
                       "\"GPU 0\"}}"));
    CHECK(strstr(text, "\"args\":{\"labels\":\"GPU 0 (recording 2)\"}}"));
    CHECK(!strstr(text, "\"pid\":0,\"args\":{\"labels\":\"GPU 0 (recording 2)\"}}"));
    memory_free(text);
    trace_close(trace);
}

TEST(an_sqlite_export_is_not_a_trace_and_the_message_asks_for_the_ridge_file) {
    struct trace *trace = small_trace(), *read = NULL;
    const char *path = test_temporary(".sqlite");
    struct status status = {0};
    struct output output;
    bool ok = output_open(&output, path, true, &status) &&
              export_sqlite(trace, &(struct export_options){0}, &output, &status) &&
              output_commit(&output, &status);
    trace_close(trace);
    if (!ok && status.code == STATUS_UNSUPPORTED) {
        output_abandon(&output);
        test_skip("this build has no SQLite");
        return;
    }
    CHECK_OK(ok, status);
    CHECK(!import_open(path, &(struct import_options){0}, &read, &status));
    CHECK(strstr(status.message, "pass the .ridge file"));
}
