/* Costs are about those of an H200: 5 us per launch call, 6 us until an idle device starts. All
 * vary by a few percent. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"

enum { LAUNCH_CALL = 4500, LAUNCH_LAG = 6000, QUEUE_LAG = 900, SYNC_COST = 2500, SYNC_LAG = 4000 };

static uint32_t string(struct scene *scene, const char *text) {
    return trace_writer_string(scene->writer, text_of(text));
}

/* Varies by a few percent. */
static int64_t about(struct scene *scene, int64_t time) {
    scene->random = scene->random * 6364136223846793005u + 1442695040888963407u;
    double part = (double)(scene->random >> 40) / (double)(1 << 24);
    return (int64_t)((double)time * (0.97 + 0.06 * part));
}

const char *scene_device_label = "0";

void scene_begin(struct scene *scene) {
    struct status status = {0};
    FILE *file = tmpfile();
    if (!file)
        abort();
    *scene = (struct scene){.fd = dup(fileno(file)), .host = 1000, .random = 7, .pace = 1};
    fclose(file);
    scene->writer = trace_writer_create(
        scene->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    if (!scene->writer)
        abort();
    uint32_t process = trace_write_process(scene->writer, &(struct row_process){.pid = 7});
    scene->device = trace_write_device(
        scene->writer, &(struct row_device){.label = string(scene, scene_device_label),
                                            .name = string(scene, "NVIDIA H200"),
                                            .multiprocessors = 132,
                                            .compute_major = 9,
                                            .memory_bytes = (uint64_t)141 << 30,
                                            .threads_per_multiprocessor = 2048});
    scene->queue = trace_write_queue(
        scene->writer,
        &(struct row_queue){.device = scene->device, .process = process, .stream = 7});
    scene->thread =
        trace_write_thread(scene->writer, &(struct row_thread){.process = process, .tid = 7});
}

void scene_host_code(struct scene *scene, int64_t time) {
    scene->host += about(scene, time);
}

static void write_range(struct scene *scene, unsigned category, const char *name, int64_t start) {
    trace_write_range(scene->writer, &(struct row_range){.start = start,
                                                         .duration = scene->host - start,
                                                         .thread = scene->thread,
                                                         .name = string(scene, name),
                                                         .category = (uint8_t)category});
}

void scene_range(struct scene *scene, unsigned category, const char *name, int64_t time) {
    int64_t start = scene->host;
    scene_host_code(scene, time);
    write_range(scene, category, name, start);
}

static uint32_t write_frame(struct scene *scene, uint32_t caller, const char *function,
                            const char *module) {
    return trace_write_stack(scene->writer, &(struct row_stack){.parent = caller,
                                                                .function = string(scene, function),
                                                                .module = string(scene, module)});
}

void scene_python(struct scene *scene, const char *caller, const char *function, int64_t time) {
    enum { PERIOD = 1000000, TURN = 100000 };
    int64_t start = scene->host;
    uint32_t stack = write_frame(scene, 0, "_start", "python3.12");
    stack = write_frame(scene, stack, caller, "[python]");
    stack = write_frame(scene, stack, "_PyEval_EvalFrameDefault", "python3.12");
    stack = write_frame(scene, stack, function, "[python]");
    stack = write_frame(scene, stack, "[unknown]", "python3.12");
    scene_host_code(scene, time);
    for (int64_t at = start; at < scene->host; at += TURN)
        for (int waits = 0; waits < 2; waits++)
            trace_write_state(scene->writer,
                              &(struct row_state){.start = waits ? at + TURN - TURN / 10 : at,
                                                  .duration = waits ? TURN / 10 : TURN - TURN / 10,
                                                  .thread = scene->thread,
                                                  .state = waits ? STATE_BLOCKED : STATE_RUNNING});
    for (int64_t at = start + PERIOD / 4; at < scene->host; at += PERIOD)
        trace_write_sample(scene->writer, &(struct row_sample){.time = at,
                                                               .thread = scene->thread,
                                                               .stack = stack,
                                                               .weight = PERIOD});
}

void scene_annotate(struct scene *scene, const char *name, int64_t start) {
    write_range(scene, RANGE_ANNOTATION, name, start);
}

static void write_call(struct scene *scene, unsigned class, const char *name, int64_t start,
                       uint64_t correlation, int64_t result) {
    trace_write_call(scene->writer, &(struct row_call){.start = start,
                                                       .duration = scene->host - start,
                                                       .thread = scene->thread,
                                                       .name = string(scene, name),
                                                       .class = (uint8_t) class,
                                                       .correlation = correlation,
                                                       .result = result});
}

/* When the device starts what is launched now. */
static int64_t device_start(struct scene *scene, int64_t launched) {
    int64_t arrives = launched + about(scene, LAUNCH_LAG);
    int64_t is_free = scene->device_free + about(scene, QUEUE_LAG);
    return arrives > is_free ? arrives : is_free;
}

void scene_kernel(struct scene *scene, const char *name, int64_t time, uint32_t blocks) {
    int64_t call = scene->host;
    int64_t start = device_start(scene, call);
    int64_t duration = (int64_t)((double)about(scene, time) * scene->pace);
    scene->host += about(scene, LAUNCH_CALL);
    write_call(scene, CALL_LAUNCH, "cudaLaunchKernel", call, ++scene->correlation, 0);
    trace_write_activity(scene->writer, &(struct row_activity){.start = start,
                                                               .duration = duration,
                                                               .queue = scene->queue,
                                                               .kind = ACTIVITY_KERNEL,
                                                               .name = string(scene, name),
                                                               .correlation = scene->correlation,
                                                               .grid_x = blocks,
                                                               .grid_y = 1,
                                                               .grid_z = 1,
                                                               .block_x = 256,
                                                               .block_y = 1,
                                                               .block_z = 1,
                                                               .bytes = BYTES_UNKNOWN});
    scene->device_free = start + duration;
}

void scene_copy(struct scene *scene, enum copy_direction direction, uint64_t bytes, bool pageable,
                double rate) {
    int64_t call = scene->host;
    int64_t start = device_start(scene, call);
    int64_t duration = about(scene, 1200 + (int64_t)((double)bytes / rate * 1000));
    uint8_t host = pageable ? MEMORY_PAGEABLE : MEMORY_PINNED;
    bool up = direction == COPY_HTOD;
    scene->host += about(scene, LAUNCH_CALL);
    scene->device_free = start + duration;
    if (pageable && scene->host < scene->device_free)
        scene->host = scene->device_free + about(scene, 1500);
    write_call(scene, CALL_COPY, "cudaMemcpyAsync", call, ++scene->correlation, 0);
    trace_write_activity(
        scene->writer,
        &(struct row_activity){.start = start,
                               .duration = duration,
                               .queue = scene->queue,
                               .kind = ACTIVITY_COPY,
                               .name = string(scene, up ? "Memcpy HtoD" : "Memcpy DtoH"),
                               .correlation = scene->correlation,
                               .bytes = bytes,
                               .direction = (uint8_t)direction,
                               .from_memory = up ? host : MEMORY_DEVICE,
                               .to_memory = up ? MEMORY_DEVICE : host});
}

void scene_call(struct scene *scene, unsigned class, const char *name, int64_t time,
                int64_t result) {
    int64_t start = scene->host;
    scene->host += about(scene, time);
    write_call(scene, class, name, start, ++scene->correlation, result);
}

void scene_waiting_call(struct scene *scene, unsigned class, const char *name, int64_t time) {
    int64_t start = scene->host;
    if (scene->host < scene->device_free)
        scene->host = scene->device_free + about(scene, SYNC_LAG);
    scene->host += about(scene, time);
    write_call(scene, class, name, start, ++scene->correlation, 0);
}

void scene_sync(struct scene *scene, const char *name) {
    scene_waiting_call(scene, CALL_SYNC, name, SYNC_COST);
}

void scene_counter(struct scene *scene, const char *name, double value) {
    trace_write_counter(scene->writer, &(struct row_counter){.time = scene->host,
                                                             .device = scene->device,
                                                             .name = string(scene, name),
                                                             .value = value});
}

struct scene_report scene_report(struct scene *scene) {
    struct scene_report result = {0};
    struct status status = {0};
    struct report_options options = {.trace_name = "scene", .top = 10};
    bool ok = trace_writer_finish(scene->writer, &status);
    trace_writer_destroy(scene->writer);
    result.ok = ok && trace_open_fd(scene->fd, "scene", &result.trace, &status) &&
                report_build(&result.report, result.trace, &options, &status);
    close(scene->fd);
    if (!result.ok) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        trace_close(result.trace);
    }
    return result;
}

void scene_finish(struct scene_report *result) {
    if (!result->ok)
        return;
    report_finish(&result->report);
    trace_close(result->trace);
}
