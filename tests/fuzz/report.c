/* Reports on random traces. The input is a list of small records that become events with
 * overlapping, nested, empty, unmatched and enormous times; whatever they are, the parts must sum
 * to the whole and every writer must cope. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/report.h"
#include "trace/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD_SIZE = 8, RECORDS_MAX = 512, PLACES = 3 };

struct random_trace {
    struct trace_writer *writer;
    uint32_t queue[PLACES], thread[PLACES], device[PLACES];
    unsigned shift; /* of times: how large they are */
};

static uint32_t pick_name(struct trace_writer *writer, uint8_t byte) {
    static const char *const names[] = {"",     "gemm<float>", "a|b\n", "ProfilerStep#1",
                                        "step", "=1+1",        "\xff",  "cudaStreamSynchronize"};
    return trace_writer_string(writer, text_of(names[byte % 8]));
}

static void write_places(struct random_trace *random) {
    struct trace_writer *writer = random->writer;
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 1});
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t label = trace_writer_string(writer, i ? TEXT("0") : TEXT("M1"));
        random->device[i] =
            trace_write_device(writer, &(struct row_device){.index = i, .label = label});
        random->queue[i] = trace_write_queue(
            writer,
            &(struct row_queue){.device = random->device[i / 2], .process = process, .stream = i});
        random->thread[i] =
            trace_write_thread(writer, &(struct row_thread){.process = process, .tid = i});
    }
}

static void write_record(struct random_trace *random, const uint8_t *b) {
    struct trace_writer *writer = random->writer;
    int64_t start = (int64_t)((uint64_t)(b[1] | b[2] << 8) << random->shift);
    int64_t duration = (int64_t)((uint64_t)b[3] << random->shift);
    uint32_t place = b[4] % PLACES, name = pick_name(writer, b[5]);
    uint64_t bytes = b[7] == 255 ? BYTES_UNKNOWN : (uint64_t)b[7] << (b[6] % 56);
    switch (b[0] % 8) {
    case 0:
    case 1:
        trace_write_activity(writer, &(struct row_activity){.start = start,
                                                            .duration = duration,
                                                            .queue = random->queue[place],
                                                            .kind = b[6] % 4 % 3,
                                                            .name = name,
                                                            .correlation = b[7] % 32,
                                                            .bytes = bytes,
                                                            .direction = b[6] % COPY_DIRECTIONS,
                                                            .from_memory = b[4] % MEMORY_KINDS});
        break;
    case 2:
        trace_write_call(writer, &(struct row_call){.start = start,
                                                    .duration = duration,
                                                    .thread = random->thread[place],
                                                    .name = name,
                                                    .class = b[6] % CALL_CLASSES,
                                                    .correlation = b[7] % 32});
        break;
    case 3:
        trace_write_range(writer, &(struct row_range){.start = start,
                                                      .duration = duration,
                                                      .thread = random->thread[place],
                                                      .name = name,
                                                      .category = b[6] % RANGE_CATEGORIES});
        break;
    case 4:
        trace_write_wait(writer, &(struct row_wait){.start = start,
                                                    .duration = duration,
                                                    .queue = random->queue[place],
                                                    .kind = b[6] % WAIT_KINDS,
                                                    .awaited = random->queue[b[7] % PLACES]});
        break;
    case 5:
        trace_write_memory(writer, &(struct row_memory){.time = start,
                                                        .device = b[4] % 2 ? random->device[0] : 0,
                                                        .operation = b[5] % MEMORY_OPERATIONS,
                                                        .bytes = bytes,
                                                        .allocated = b[3]});
        break;
    case 6:
        trace_write_sample(writer, &(struct row_sample){.time = start,
                                                        .thread = random->thread[place],
                                                        .weight = (int64_t)bytes});
        break;
    default:
        if (b[1] % 16 == 0) {
            trace_writer_next_session(writer);
            write_places(random);
        }
        random->shift = b[2] % 47;
    }
}

static int write_trace(const uint8_t *data, size_t size) {
    static int fd = -1;
    char path[] = "/tmp/ridge-fuzz-report-XXXXXX";
    struct status status;
    if (fd < 0) {
        fd = mkstemp(path);
        unlink(path);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    struct random_trace random = {
        .writer = trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1},
                                      &status)};
    if (!random.writer)
        abort();
    write_places(&random);
    for (size_t i = 0; i < RECORDS_MAX && (i + 1) * RECORD_SIZE <= size; i++)
        write_record(&random, data + i * RECORD_SIZE);
    if (!trace_writer_finish(random.writer, &status))
        abort();
    trace_writer_destroy(random.writer);
    return fd;
}

static void check_device(const struct report_device *device) {
    const struct account *account = &device->account;
    const struct gaps *gaps = &device->gaps;
    int64_t causes = 0, kernels = 0;
    if (account->busy < 0 || account->exposed_copy < 0 || account->idle < 0 ||
        account->busy + account->exposed_copy + account->idle != account->window)
        abort();
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        if (gaps->cause_time[cause] < 0)
            abort();
        causes += gaps->cause_time[cause];
    }
    if (gaps->total != account->idle || causes != account->idle)
        abort();
    for (size_t i = 0; i < device->kernels.group_count; i++)
        kernels += device->kernels.groups[i].total;
    if (kernels != account->kernel_sum)
        abort();
}

static void write_all(const struct report *report) {
    struct buffer written = {0};
    struct output output = output_into(&written);
    struct report_style style = {.width = 80};
    struct status status;
    if (!report_write_json(report, &output, &status) ||
        !report_write_markdown(report, &output, &status) ||
        !report_write_csv(report, &output, &status) ||
        !report_write_text(report, &style, &output, &status))
        abort();
    buffer_finish(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    static const struct report_options choices[] = {
        {.trace_name = "whole", .top = 10},
        {.trace_name = "range", .top = 2, .range = "step"},
        {.trace_name = "steps", .top = 10, .steps = "steady"},
        {.trace_name = "window", .top = 10, .window = "100,9000"},
        {.trace_name = "device", .top = 10, .device = "0"},
    };
    struct status status = {0};
    struct trace *trace;
    struct report report;
    if (!trace_open_fd(write_trace(data + 1, size - 1), "random", &trace, &status))
        abort();
    size_t choice = data[0] % (sizeof choices / sizeof choices[0]);
    if (report_build(&report, trace, &choices[choice], &status)) {
        for (size_t i = 0; i < report.device_count; i++)
            check_device(&report.devices[i]);
        write_all(&report);
        report_finish(&report);
    } else if (status.code == STATUS_OK || status.message[0] == 0) {
        abort();
    }
    trace_close(trace);
    return 0;
}
