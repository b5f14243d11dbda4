/* The reader on hostile files. Every chunk has checksums that no mutation gets past, so they are
 * mended here; and since a fuzzer would take long to find its way to a whole trace, the first byte
 * of the input says whether the rest is a file or a list of edits to a small true one. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "targets.h"

enum { TEMPLATE_MAX = 1 << 16, EDIT_SIZE = 3 };

static void write_events(struct trace_writer *writer) {
    uint32_t name = trace_writer_string(writer, TEXT("gemm"));
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7, .name = name});
    uint32_t thread = trace_write_thread(writer, &(struct row_thread){.process = process});
    uint32_t device = trace_write_device(writer, &(struct row_device){.label = name});
    uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device, .stream = 3});
    uint32_t stack = trace_write_stack(writer, &(struct row_stack){.function = name});
    stack = trace_write_stack(writer, &(struct row_stack){.parent = stack, .function = name});
    for (int64_t i = 0; i < 20; i++) {
        trace_write_activity(writer, &(struct row_activity){
                                         .start = i * 1000 + i % 3,
                                         .duration = 100 + i * i,
                                         .queue = queue,
                                         .name = name,
                                         .correlation = (uint64_t)i,
                                     });
        trace_write_call(writer, &(struct row_call){.start = i * 1000, .thread = thread});
        trace_write_sample(writer, &(struct row_sample){.time = i, .stack = stack});
    }
    trace_writer_meta_integer(writer, META_CLOCK_OFFSET, 1000);
}

/* A whole trace of two writers; made once. */
static size_t true_trace(int fd, int level, unsigned char *bytes) {
    struct status status;
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    for (uint64_t id = 1; id <= 2; id++) {
        struct trace_writer *writer = trace_writer_create(
            fd, &(struct trace_writer_options){.session = 1, .writer = id, .level = level},
            &status);
        if (!writer)
            abort();
        write_events(writer);
        if (!trace_writer_finish(writer, &status))
            abort();
        trace_writer_destroy(writer);
    }
    ssize_t length = pread(fd, bytes, TEMPLATE_MAX, 0);
    if (length <= 0)
        abort();
    return (size_t)length;
}

static uint64_t get64(const unsigned char *at) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void put64(unsigned char *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static void mend_checksums(unsigned char *bytes, size_t size) {
    size_t at = 0;
    while (size - at >= CHUNK_HEADER_SIZE) {
        unsigned char *chunk = bytes + at;
        uint64_t body = get64(chunk + 64);
        if (memcmp(chunk, chunk_magic, 8) != 0 || body > size - at - CHUNK_HEADER_SIZE) {
            at++;
            continue;
        }
        put64(chunk + 72, checksum64(chunk + CHUNK_HEADER_SIZE, (size_t)body));
        put64(chunk + 80, checksum64(chunk, 80));
        at += CHUNK_HEADER_SIZE + (size_t)body;
    }
}

static void read_all(int fd, const unsigned char *bytes, size_t size) {
    struct status status = {0};
    struct trace *trace;
    if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
        abort();
    if (!trace_open_fd(fd, "fuzzed", &trace, &status))
        return;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        trace_load(trace, (enum trace_table)table, NULL, &status);
    for (size_t i = 0; trace->activity.queue && i < trace->activity.count; i++)
        if (trace->activity.queue[i] >= trace->queue.count ||
            (trace->activity.name && trace->activity.name[i] >= trace->strings.count))
            abort(); /* ids that were not checked */
    trace_close(trace);
}

static void edit(unsigned char *bytes, size_t size, const uint8_t *edits, size_t length) {
    for (; length >= EDIT_SIZE; edits += EDIT_SIZE, length -= EDIT_SIZE) {
        size_t offset = (size_t)edits[0] | (size_t)edits[1] << 8;
        if (offset < size)
            bytes[offset] = edits[2];
    }
}

int fuzz_trace(const uint8_t *data, size_t size) {
    static int fd = -1;
    static unsigned char originals[2][TEMPLATE_MAX];
    static size_t lengths[2];
    if (fd < 0) {
        char path[] = "/tmp/ridge-fuzz-XXXXXX";
        fd = mkstemp(path);
        if (fd < 0)
            abort();
        unlink(path);
        lengths[0] = true_trace(fd, 0, originals[0]);
        lengths[1] = true_trace(fd, 1, originals[1]);
    }
    if (size < 2 || size > TEMPLATE_MAX)
        return 0;
    unsigned kind = data[0] % 4;
    size_t length = kind < 2 ? lengths[kind] : size - 1;
    unsigned char *bytes = malloc(length);
    if (!bytes)
        return 0;
    memcpy(bytes, kind < 2 ? originals[kind] : data + 1, length);
    if (kind < 2)
        edit(bytes, length, data + 1, size - 1);
    if (kind != 3)
        mend_checksums(bytes, length);
    read_all(fd, bytes, length);
    free(bytes);
    return 0;
}
