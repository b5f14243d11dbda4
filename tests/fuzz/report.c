/* Reports on random traces. The input is a list of small records that become events with
 * overlapping, nested, empty, unmatched and enormous times; they are read as consume.h says. */
#include <stdlib.h>

#include "consume.h"
#include "trace/writer.h"
#include "targets.h"

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
    struct status status;
    fuzz_empty_file(&fd);
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

int fuzz_report(const uint8_t *data, size_t size) {
    enum { CHOICES = 4 };
    size_t choices = size < CHOICES ? size : CHOICES;
    struct decisions decisions = {data, data + choices};
    consume_trace(write_trace(data + choices, size - choices), &decisions);
    return 0;
}
