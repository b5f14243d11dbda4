/* Writes rows through the real writer into a temporary file and opens it with the real reader. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"

void build_begin(struct build *build) {
    struct status status = {0};
    FILE *file = tmpfile();
    if (!file)
        abort();
    build->fd = dup(fileno(file));
    fclose(file);
    build->writer = trace_writer_create(
        build->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    if (!build->writer)
        abort();
    struct trace_writer *writer = build->writer;
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
    build->device = trace_write_device(
        writer, &(struct row_device){.label = trace_writer_string(writer, TEXT("0"))});
    for (int i = 0; i < BUILD_QUEUES; i++)
        build->queue[i] = trace_write_queue(
            writer, &(struct row_queue){.device = build->device, .process = process, .stream = i});
    for (int i = 0; i < BUILD_THREADS; i++)
        build->thread[i] =
            trace_write_thread(writer, &(struct row_thread){.process = process, .tid = 70 + i});
}

void build_activity(struct build *build, int queue, int kind, int64_t start, int64_t end,
                    const char *name, uint64_t correlation) {
    trace_write_activity(build->writer,
                         &(struct row_activity){
                             .start = start,
                             .duration = end - start,
                             .queue = build->queue[queue],
                             .kind = (uint8_t)kind,
                             .name = trace_writer_string(build->writer, text_of(name)),
                             .correlation = correlation,
                         });
}

void build_call(struct build *build, int thread, int class, int64_t start, int64_t end,
                const char *name, uint64_t correlation) {
    trace_write_call(build->writer, &(struct row_call){
                                        .start = start,
                                        .duration = end - start,
                                        .thread = build->thread[thread],
                                        .name = trace_writer_string(build->writer, text_of(name)),
                                        .class = (uint8_t) class,
                                        .correlation = correlation,
                                    });
}

void build_range(struct build *build, int thread, int category, int64_t start, int64_t end,
                 const char *name) {
    trace_write_range(build->writer, &(struct row_range){
                                         .start = start,
                                         .duration = end - start,
                                         .thread = build->thread[thread],
                                         .name = trace_writer_string(build->writer, text_of(name)),
                                         .category = (uint8_t)category,
                                     });
}

void build_state(struct build *build, int thread, int state, int64_t start, int64_t end) {
    trace_write_state(build->writer, &(struct row_state){.start = start,
                                                         .duration = end - start,
                                                         .thread = build->thread[thread],
                                                         .state = (uint8_t)state});
}

void build_sample(struct build *build, int thread, int64_t time, const char *function) {
    uint32_t stack = trace_write_stack(
        build->writer,
        &(struct row_stack){.function = trace_writer_string(build->writer, text_of(function))});
    trace_write_sample(
        build->writer,
        &(struct row_sample){.time = time, .thread = build->thread[thread], .stack = stack});
}

struct trace *build_end(struct build *build) {
    struct status status = {0};
    struct trace *trace = NULL;
    if (!trace_writer_finish(build->writer, &status) ||
        !trace_open_fd(build->fd, "test trace", &trace, &status))
        test_failed(__FILE__, __LINE__, "%s", status.message);
    trace_writer_destroy(build->writer);
    close(build->fd);
    return trace;
}
