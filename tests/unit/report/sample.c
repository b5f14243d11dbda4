/* Writes the sample into a temporary .ridge file and reports on it as the command does. */
#include "sample.h"

#include <fcntl.h>
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"

static uint32_t string(struct trace_writer *writer, const char *text) {
    return trace_writer_string(writer, text_of(text ? text : ""));
}

static void write_work(struct trace_writer *writer, uint32_t queue,
                       const struct sample_names *names) {
    uint32_t kernel = string(writer, names->kernel);
    trace_write_activity(
        writer,
        &(struct row_activity){
            .start = 100, .duration = 20, .queue = queue, .name = kernel, .correlation = 1});
    trace_write_activity(
        writer,
        &(struct row_activity){
            .start = 150, .duration = 20, .queue = queue, .name = kernel, .correlation = 2});
    trace_write_activity(writer, &(struct row_activity){.start = 180,
                                                        .duration = 10,
                                                        .queue = queue,
                                                        .kind = ACTIVITY_COPY,
                                                        .name = string(writer, "Memcpy HtoD"),
                                                        .correlation = 3,
                                                        .bytes = 1000,
                                                        .direction = COPY_HTOD,
                                                        .from_memory = MEMORY_PAGEABLE,
                                                        .to_memory = MEMORY_DEVICE});
}

void sample_write(struct trace_writer *writer, const struct sample_names *names) {
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
    uint32_t thread =
        trace_write_thread(writer, &(struct row_thread){.process = process, .tid = 7});
    uint32_t device =
        trace_write_device(writer, &(struct row_device){.label = string(writer, names->label),
                                                        .name = string(writer, names->device),
                                                        .listed = 1});
    uint32_t queue = trace_write_queue(
        writer, &(struct row_queue){.device = device, .process = process, .stream = 1});
    trace_write_call(writer, &(struct row_call){.start = 125,
                                                .duration = 5,
                                                .thread = thread,
                                                .name = string(writer, "cudaLaunchKernel"),
                                                .class = CALL_LAUNCH,
                                                .correlation = 2});
    trace_write_call(writer, &(struct row_call){.start = 160,
                                                .duration = 40,
                                                .thread = thread,
                                                .name = string(writer, "cudaMemcpy"),
                                                .class = CALL_COPY,
                                                .correlation = 3});
    trace_write_range(writer, &(struct row_range){.start = 90,
                                                  .duration = 50,
                                                  .thread = thread,
                                                  .name = string(writer, names->range),
                                                  .category = RANGE_ANNOTATION});
    write_work(writer, queue, names);
    if (names->warning)
        trace_writer_meta(writer, META_WARNING, text_of(names->warning));
}

static bool write_file(const char *path, void (*fill)(struct trace_writer *),
                       struct status *status) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, status);
    if (writer)
        fill(writer);
    bool ok = writer && trace_writer_finish(writer, status);
    trace_writer_destroy(writer);
    close(fd);
    return ok;
}

bool sample_report(void (*fill)(struct trace_writer *), const struct report_options *options,
                   sample_report_writer *write, struct buffer *written, struct status *status) {
    static const struct report_options whole = {.trace_name = "sample.ridge", .top = 10};
    const char *path = test_temporary(".ridge");
    struct trace *trace;
    struct report report;
    struct output output = output_into(written);
    if (!write_file(path, fill, status) || !trace_open(path, &trace, status))
        return false;
    bool ok = report_build(&report, trace, options ? options : &whole, status);
    if (ok) {
        ok = write(&report, &output, status) && buffer_ok(written, status);
        report_finish(&report);
    }
    trace_close(trace);
    buffer_byte(written, '\0'); /* to compare as a string */
    return ok && buffer_ok(written, status);
}

void sample_check_out_of_memory(void (*fill)(struct trace_writer *), sample_report_writer *write) {
    const char *path = test_temporary(".ridge");
    struct status status = {0};
    struct trace *trace;
    struct report report;
    REQUIRE(write_file(path, fill, &status) && trace_open(path, &trace, &status));
    REQUIRE(report_build(&report, trace, &(struct report_options){.trace_name = "s", .top = 10},
                         &status));
    enum { ENOUGH = 100000 };
    uint64_t nth = 1;
    for (bool ok = false; !ok && nth < ENOUGH; nth++) {
        struct buffer written = {0};
        struct output output = output_into(&written);
        status = (struct status){0};
        memory_fail_from(nth);
        ok = write(&report, &output, &status) && buffer_ok(&written, &status) && !output.failed;
        memory_fail_from(0);
        if (!ok && !output.failed)
            CHECK_INT(status.code, STATUS_MEMORY);
        buffer_finish(&written);
    }
    CHECK(nth > 3);
    CHECK(nth < ENOUGH);
    report_finish(&report);
    trace_close(trace);
}
