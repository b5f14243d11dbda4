/* What a step repeats. */
#include "../test.h"
#include "build.h"

#include "analysis/layers.h"

struct scene {
    struct build build;
    int64_t now;
};

static void run(struct scene *scene, const char *name, int64_t time) {
    scene->now += 1;
    build_activity(&scene->build, 0, ACTIVITY_KERNEL, scene->now, scene->now + time, name, 0);
    scene->now += time;
}

static void begin_step(struct scene *scene) {
    scene->now += 100;
    run(scene, "embed", 50);
}

/* Ends the scene. */
static void find(struct scene *scene, struct layers *layers) {
    struct status status = {0};
    struct model model;
    struct steps steps = {0};
    struct trace *trace = build_end(&scene->build);
    struct selection all = {0};
    CHECK_OK(model_build(&model, trace, &status), status);
    CHECK_OK(steps_find(&model, NULL, &steps, &status), status);
    CHECK_OK(selection_add(&all, 0, INT64_MAX, &status), status);
    CHECK_OK(layers_find(&model, &steps, 1, &all, layers, &status), status);
    selection_finish(&all);
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
}

TEST(layers_are_what_a_step_repeats_and_are_timed_by_place_and_by_repetition) {
    struct scene scene = {0};
    struct layers layers;
    build_begin(&scene.build);
    for (int step = 0; step < 20; step++) {
        begin_step(&scene);
        for (int layer = 0; layer < 4; layer++) {
            run(&scene, "norm", 10);
            run(&scene, "matmul", layer == 2 ? 300 : 100);
            run(&scene, "gelu", 20);
        }
        run(&scene, "head", 70);
    }
    find(&scene, &layers);
    CHECK_INT(layers.period, 3);
    CHECK_INT(layers.count, 4);
    CHECK(layers.steps >= 10);
    int64_t steps = (int64_t)layers.steps;
    int64_t sum = layers.before + layers.after, matmul = 0;
    for (size_t i = 0; i < layers.period && layers.kernels; i++) {
        sum += layers.kernels[i].total;
        if (layers.kernels[i].total > matmul)
            matmul = layers.kernels[i].total;
    }
    CHECK_INT(sum, layers.total);
    CHECK_INT(matmul, steps * 600);
    CHECK_INT(layers.before + layers.after, steps * 120);
    CHECK_INT(layers.kernels_before + layers.kernels_after, 2);
    layers_finish(&layers);
}

TEST(a_step_of_different_kernels_has_no_layers) {
    struct scene scene = {0};
    struct layers layers;
    build_begin(&scene.build);
    for (int step = 0; step < 20; step++) {
        begin_step(&scene);
        run(&scene, "a", 10);
        run(&scene, "b", 10);
        run(&scene, "a", 10);
        run(&scene, "c", 100);
    }
    find(&scene, &layers);
    CHECK(!layers.kernels);
    layers_finish(&layers);
}

TEST(a_small_part_that_a_step_repeats_is_no_layer) {
    struct scene scene = {0};
    struct layers layers;
    build_begin(&scene.build);
    for (int step = 0; step < 20; step++) {
        begin_step(&scene);
        for (int i = 0; i < 4; i++) {
            run(&scene, "a", 10);
            run(&scene, "b", 10);
        }
        run(&scene, "c", 5000);
        run(&scene, "d", 5000);
    }
    find(&scene, &layers);
    CHECK(!layers.kernels);
    layers_finish(&layers);
}
