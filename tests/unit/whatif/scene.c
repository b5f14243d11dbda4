/* The simulation is the definition: a host with host time, calls and waits, and a queue. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"

struct simulation {
    struct build *build; /* NULL: only the time */
    const struct loop *loop;
    int64_t host, device; /* how far they are */
    uint64_t correlation;
};

static void call(struct simulation *s, int class, int64_t end, const char *name) {
    if (s->build)
        build_call(s->build, 0, class, s->host, end, name, s->correlation);
    s->host = end;
}

static void activity(struct simulation *s, int64_t ready, int64_t duration,
                     const struct row_activity *row, const char *name) {
    int64_t start = MAX(ready, s->device + s->loop->gap);
    struct row_activity written = *row;
    if (s->build) {
        written.start = start;
        written.duration = duration;
        written.queue = s->build->queue[0];
        written.name = trace_writer_string(s->build->writer, text_of(name));
        written.correlation = s->correlation;
        trace_write_activity(s->build->writer, &written);
    }
    s->device = start + duration;
}

static void launch(struct simulation *s) {
    static const struct row_activity kernel = {.kind = ACTIVITY_KERNEL,
                                               .grid_x = 1000,
                                               .grid_y = 1,
                                               .grid_z = 1,
                                               .block_x = 256,
                                               .block_y = 1,
                                               .block_z = 1};
    const struct loop *loop = s->loop;
    const char *name = loop->kernel ? loop->kernel : "gemm";
    int many = loop->graph ? loop->kernels : 1;
    s->host += loop->host_time;
    s->correlation++;
    call(s, CALL_LAUNCH, s->host + loop->launch, "cudaLaunchKernel");
    for (int i = 0; i < many; i++)
        activity(s, s->host + loop->lag, loop->duration, &kernel, name);
}

static void copy_in(struct simulation *s) {
    const struct loop *loop = s->loop;
    struct row_activity copy = {.kind = ACTIVITY_COPY,
                                .direction = COPY_HTOD,
                                .bytes = loop->copy_bytes,
                                .from_memory = loop->pageable ? MEMORY_PAGEABLE : MEMORY_PINNED,
                                .to_memory = MEMORY_DEVICE};
    s->correlation++;
    int64_t called = s->host;
    int64_t ready = called + loop->lag + (loop->pageable ? 0 : loop->copy_call);
    activity(s, ready, loop->copy, &copy, "Memcpy HtoD");
    call(s, CALL_COPY, loop->pageable ? s->device + 500 : called + loop->copy_call,
         "cudaMemcpyAsync");
}

static void fetch(struct simulation *s) {
    static const struct row_activity copy = {.kind = ACTIVITY_COPY,
                                             .direction = COPY_DTOH,
                                             .bytes = 4,
                                             .from_memory = MEMORY_DEVICE,
                                             .to_memory = MEMORY_PINNED};
    s->correlation++;
    call(s, CALL_COPY, s->host + 3000, "cudaMemcpyAsync");
    activity(s, s->host + s->loop->lag, s->loop->fetch, &copy, "Memcpy DtoH");
}

static void synchronize(struct simulation *s, int64_t cost) {
    s->correlation++;
    call(s, CALL_SYNC, MAX(s->host + cost, s->device + s->loop->sync_lag), "cudaStreamSynchronize");
}

static void load_module(struct simulation *s) {
    const struct loop *loop = s->loop;
    int64_t began = s->host;
    s->host += loop->compile;
    if (s->build && loop->compiler)
        build_range(s->build, 0, RANGE_ANNOTATION, began, s->host, loop->compiler);
    s->correlation++;
    call(s, CALL_COMPILE, s->host + loop->load, "cuModuleLoadData");
}

static int64_t simulate(struct build *build, const struct loop *loop) {
    struct simulation s = {.build = build, .loop = loop, .device = -loop->gap};
    for (int step = 0; step < loop->steps; step++) {
        int64_t began = s.host;
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        s.host += loop->input;
        if (build && loop->input)
            build_range(build, 0, RANGE_ANNOTATION, began, s.host, "DataLoader");
        if (loop->alloc) {
            s.correlation++;
            call(&s, CALL_ALLOC, s.host + loop->alloc, "cudaMalloc");
        }
        if (loop->load)
            load_module(&s);
        if (loop->copy)
            copy_in(&s);
        if (loop->copy && loop->copy_waits)
            synchronize(&s, 2000);
        for (int i = 0; i < (loop->graph ? 1 : loop->kernels); i++)
            launch(&s);
        if (loop->fetch)
            fetch(&s);
        if (loop->sync)
            synchronize(&s, loop->sync);
        if (build)
            build_range(build, 0, RANGE_ANNOTATION, began, s.host, name);
    }
    synchronize(&s, 1000);
    return s.host;
}

int64_t loop_write(struct build *build, const struct loop *loop) {
    return simulate(build, loop);
}

int64_t loop_time(const struct loop *loop) {
    return simulate(NULL, loop);
}

bool scene_open(struct scene *scene, struct trace *trace) {
    struct status status = {0};
    memset(scene, 0, sizeof *scene);
    scene->trace = trace;
    if (!trace)
        return false;
    struct replay_source source = {
        .model = &scene->model,
        .host = &scene->host,
        .steps = &scene->steps,
        .pauses = &scene->pauses,
        .limits = trace->device.count <= 4 ? scene->limits : NULL,
        .work = &scene->work,
    };
    if (model_build(&scene->model, trace, &status) &&
        pauses_find(&scene->model, &scene->pauses, &status) &&
        host_build(&scene->host, &scene->model, &status) &&
        steps_find(&scene->model, NULL, &scene->steps, &status))
        scene->replay = replay_create(&source, &status);
    if (!scene->replay)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return scene->replay != NULL;
}

bool scene_loop(struct scene *scene, const struct loop *loop) {
    struct build build;
    build_begin(&build);
    loop_write(&build, loop);
    return scene_open(scene, build_end(&build));
}

void scene_close(struct scene *scene) {
    replay_destroy(scene->replay);
    if (scene->model.trace) {
        steps_finish(&scene->steps);
        host_finish(&scene->host);
        if (scene->pauses.by_session)
            pauses_finish(&scene->pauses, &scene->model);
        model_finish(&scene->model);
    }
    trace_close(scene->trace);
}

int64_t scene_predict(const struct scene *scene, const struct change *changes, size_t count) {
    struct status status = {0};
    struct outcome outcome;
    if (!replay_run(scene->replay, changes, count, &outcome, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return -1;
    }
    int64_t after = outcome.applicable || count == 0 ? outcome.after : -1;
    outcome_finish(&outcome);
    return after;
}

void scene_check_exact(const struct scene *scene, const char *name) {
    const struct replay *replay = scene->replay;
    struct status status = {0};
    struct run run;
    size_t wrong = 0;
    run_begin(&run, replay);
    if (!replay_evaluate(&run, &status))
        test_failed(__FILE__, __LINE__, "%s: %s", name, status.message);
    for (size_t i = 0; i < replay->activities && run.start; i++)
        wrong += run.start[i] != replay->start[i];
    for (size_t i = 0; i < replay->calls && run.call_end; i++)
        wrong += is_outer(replay, i) && (run.call_start[i] != replay->call_start[i] ||
                                         run.call_end[i] != replay->call_end[i]);
    if (wrong)
        test_failed(__FILE__, __LINE__, "%s: %zu calls and activities are elsewhere", name, wrong);
    if (replay->unchanged != replay->measured)
        test_failed(__FILE__, __LINE__, "%s: %lld ns, measured %lld", name,
                    (long long)replay->unchanged, (long long)replay->measured);
    run_finish(&run);
}
