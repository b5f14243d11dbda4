#include "base.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "consume.h"
#include "trace/writer.h"

enum { STEPS = 4, KERNELS = 3, STEP_NS = 100000 };

struct base {
    struct trace_writer *writer;
    uint32_t thread[3], device[2], queue[3], stack[2];
    uint64_t correlation;
};

static uint32_t string(struct base *base, const char *text) {
    return trace_writer_string(base->writer, text_of(text));
}

static void write_entities(struct base *base) {
    struct trace_writer *writer = base->writer;
    uint32_t process = trace_write_process(
        writer, &(struct row_process){
                    .pid = 7, .name = string(base, "python"), .host = string(base, "host")});
    for (unsigned i = 0; i < 3; i++)
        base->thread[i] = trace_write_thread(
            writer, &(struct row_thread){.process = process,
                                         .tid = 7 + i,
                                         .name = string(base, i ? "worker" : "main")});
    for (unsigned i = 0; i < 2; i++)
        base->device[i] =
            trace_write_device(writer, &(struct row_device){.index = i,
                                                            .label = string(base, i ? "1" : "0"),
                                                            .name = string(base, "NVIDIA H100"),
                                                            .memory_bytes = (uint64_t)80 << 30,
                                                            .multiprocessors = 132,
                                                            .clock_hz = 1980000000,
                                                            .bandwidth = 3350000000000,
                                                            .compute_major = 9,
                                                            .warp_size = 32,
                                                            .threads_per_multiprocessor = 2048,
                                                            .registers_per_multiprocessor = 65536,
                                                            .shared_per_multiprocessor = 233472,
                                                            .listed = 1});
    for (unsigned i = 0; i < 3; i++)
        base->queue[i] = trace_write_queue(
            writer,
            &(struct row_queue){
                .device = base->device[i / 2], .process = process, .context = 1, .stream = 7 + i});
    for (uint32_t i = 0, parent = 0; i < 2; i++)
        parent = base->stack[i] = trace_write_stack(
            writer, &(struct row_stack){.parent = parent,
                                        .function = string(base, i ? "load" : "main"),
                                        .module = string(base, "[python]")});
}

/* The activities written next have its correlation id. */
static void write_call(struct base *base, int64_t start, int64_t duration, const char *name,
                       enum call_class class, unsigned thread) {
    trace_write_call(base->writer, &(struct row_call){.start = start,
                                                      .duration = duration,
                                                      .thread = base->thread[thread],
                                                      .name = string(base, name),
                                                      .class = class,
                                                      .correlation = ++base->correlation});
}

static void write_kernel(struct base *base, int64_t start, unsigned queue, const char *name) {
    trace_write_activity(base->writer, &(struct row_activity){.start = start,
                                                              .duration = 4000,
                                                              .queue = base->queue[queue],
                                                              .kind = ACTIVITY_KERNEL,
                                                              .name = string(base, name),
                                                              .correlation = base->correlation,
                                                              .grid_x = 64,
                                                              .grid_y = 1,
                                                              .grid_z = 1,
                                                              .block_x = 256,
                                                              .block_y = 1,
                                                              .block_z = 1,
                                                              .registers = 64,
                                                              .bytes = 1 << 20,
                                                              .flops = 1 << 24});
}

static void write_copy(struct base *base, int64_t start, unsigned direction, unsigned memory) {
    trace_write_activity(base->writer, &(struct row_activity){.start = start,
                                                              .duration = 3000,
                                                              .queue = base->queue[0],
                                                              .kind = ACTIVITY_COPY,
                                                              .name = string(base, "Memcpy"),
                                                              .correlation = base->correlation,
                                                              .bytes = 1 << 16,
                                                              .direction = (uint8_t)direction,
                                                              .from_memory = (uint8_t)memory,
                                                              .to_memory = MEMORY_DEVICE});
}

static void write_range(struct base *base, int64_t start, int64_t duration, const char *name,
                        enum range_category category, const char *detail) {
    trace_write_range(base->writer, &(struct row_range){.start = start,
                                                        .duration = duration,
                                                        .thread = base->thread[0],
                                                        .name = string(base, name),
                                                        .category = category,
                                                        .detail = string(base, detail)});
}

static void write_launches(struct base *base, int64_t time) {
    static const char *const kernels[KERNELS] = {"void gemm<float>(float*)",
                                                 "void elementwise_kernel<4>(int)",
                                                 "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
    for (unsigned i = 0; i < KERNELS; i++, time += 6000) {
        write_range(base, time, 5000, i ? "aten::add" : "aten::mm", RANGE_OP,
                    "{\"Input Dims\":[[64,64],[64,64]],\"Input type\":[\"float\",\"float\"]}");
        write_call(base, time + 1000, 2000, "cudaLaunchKernel", CALL_LAUNCH, 0);
        write_kernel(base, time + 5000, i, kernels[i]);
    }
}

static void write_host(struct base *base, int64_t time) {
    struct trace_writer *writer = base->writer;
    trace_write_mark(
        writer,
        &(struct row_mark){.time = time, .thread = base->thread[0], .name = string(base, "mark")});
    for (unsigned i = 0; i < 3; i++) {
        trace_write_sample(writer, &(struct row_sample){.time = time + i * 10000,
                                                        .thread = base->thread[i],
                                                        .stack = base->stack[i % 2],
                                                        .weight = 10000});
        trace_write_state(writer, &(struct row_state){.start = time + i * 20000,
                                                      .duration = 20000,
                                                      .thread = base->thread[i],
                                                      .state = (uint8_t)i});
    }
    trace_write_counter(writer, &(struct row_counter){.time = time,
                                                      .device = base->device[0],
                                                      .name = string(base, "sm_clock"),
                                                      .value = 1.5e9});
    for (unsigned i = 0; i < 2; i++)
        trace_write_memory(writer, &(struct row_memory){.time = time + i * 50000,
                                                        .thread = base->thread[0],
                                                        .device = base->device[0],
                                                        .operation = (uint8_t)i,
                                                        .bytes = 4096,
                                                        .address = 0x1000,
                                                        .allocated = 4096});
}

static void write_step(struct base *base, int64_t time) {
    write_range(base, time, STEP_NS - 2000, "step", RANGE_ANNOTATION, "");
    write_range(base, time, 9000, "load", RANGE_PYTHON, "");
    write_call(base, time + 10000, 2000, "cudaMalloc", CALL_ALLOC, 0);
    write_call(base, time + 13000, 4000, "cudaMemcpyAsync", CALL_COPY, 0);
    write_copy(base, time + 14000, COPY_HTOD, MEMORY_PAGEABLE);
    write_launches(base, time + 20000);
    write_call(base, time + 42000, 3000, "cuModuleLoadData", CALL_COMPILE, 1);
    write_call(base, time + 46000, 1000, "cudaMemsetAsync", CALL_LAUNCH, 1);
    trace_write_activity(base->writer, &(struct row_activity){.start = time + 48000,
                                                              .duration = 500,
                                                              .queue = base->queue[1],
                                                              .kind = ACTIVITY_SET,
                                                              .correlation = base->correlation,
                                                              .bytes = BYTES_UNKNOWN});
    write_call(base, time + 50000, 9000, "cudaStreamSynchronize", CALL_SYNC, 0);
    trace_write_wait(base->writer, &(struct row_wait){.start = time + 50000,
                                                      .duration = 9000,
                                                      .queue = base->queue[0],
                                                      .kind = WAIT_STREAM,
                                                      .correlation = base->correlation,
                                                      .awaited = base->queue[1]});
    write_call(base, time + 60000, 4000, "cudaMemcpyAsync", CALL_COPY, 0);
    write_copy(base, time + 61000, COPY_DTOH, MEMORY_DEVICE);
    write_host(base, time);
}

void base_trace(int fd) {
    struct status status = {0};
    struct base base = {
        .writer = trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1},
                                      &status)};
    if (!base.writer)
        fuzz_broken("%s", status.message);
    write_entities(&base);
    for (int64_t step = 0; step < STEPS; step++)
        write_step(&base, 1000000 + step * STEP_NS);
    write_range(&base, 1000000 + 2 * STEP_NS + 90000, 5000, RANGE_PAUSED, RANGE_OVERHEAD, "");
    trace_writer_meta(base.writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta_integer(base.writer, META_CLOCK_OFFSET, 1000);
    trace_writer_meta_integer(base.writer, META_CLOCK_ERROR, 10);
    trace_writer_meta(base.writer, "roof.0.name", TEXT("NVIDIA H100"));
    trace_writer_meta(base.writer, "roof.0.memory_copy", TEXT("3000000000000"));
    trace_writer_meta(base.writer, "counter.cycles", TEXT("123456"));
    if (!trace_writer_finish(base.writer, &status))
        fuzz_broken("%s", status.message);
    trace_writer_destroy(base.writer);
}

struct text base_read(int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        fuzz_broken("cannot examine a base file");
    size_t length = (size_t)info.st_size;
    char *bytes = malloc(length + 1);
    if (!bytes || pread(fd, bytes, length, 0) != (ssize_t)length)
        fuzz_broken("cannot read a base file");
    bytes[length] = '\0';
    return (struct text){bytes, length};
}

void base_add(struct base_files *files, struct text bytes) {
    struct text *grown = realloc(files->files, (files->count + 1) * sizeof *grown);
    if (!grown)
        fuzz_broken("out of memory");
    files->files = grown;
    files->files[files->count++] = bytes;
}

/* Decompresses gzip files; others are read as they are. */
static void add_file(struct base_files *files, const char *path, size_t limit) {
    char *bytes = malloc(limit + 1);
    gzFile file = gzopen(path, "rb");
    int length = bytes && file ? gzread(file, bytes, (unsigned)limit + 1) : -1;
    if (file)
        gzclose(file);
    if (length <= 0 || (size_t)length > limit) {
        free(bytes);
        return;
    }
    base_add(files, (struct text){bytes, (size_t)length});
}

void base_add_folder(struct base_files *files, const char *folder, const char *suffix,
                     size_t limit) {
    bool fixtures = strncmp(folder, "fixtures/", 9) == 0;
    const char *root = getenv(fixtures ? "RIDGE_FIXTURES" : "TESTS");
    char path[1024];
    struct dirent **names;
    if (fixtures && !root)
        return;
    snprintf(path, sizeof path, "%s/%s", root ? root : "tests", fixtures ? folder + 9 : folder);
    size_t length = strlen(path);
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct text name = text_of(names[i]->d_name);
        snprintf(path + length, sizeof path - length, "/%s", names[i]->d_name);
        if (name.length >= strlen(suffix) &&
            strcmp(name.data + name.length - strlen(suffix), suffix) == 0)
            add_file(files, path, limit);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}
