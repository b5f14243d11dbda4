/* Which of the repeating activities are the run's loop, and where its iterations begin. */
#include "../test.h"
#include "build.h"

#include "analysis/steps.h"
#include "base/array.h"

struct scene {
    struct build build;
    int64_t now;
};

static void run_kernel(struct scene *scene, const char *name, int64_t idle, int64_t time) {
    scene->now += idle;
    build_activity(&scene->build, 0, ACTIVITY_KERNEL, scene->now, scene->now + time, name, 0);
    scene->now += time;
}

/* Kernels of as many names, one after another. */
static void run_kernels(struct scene *scene, const char *kind, int count, int64_t time) {
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s %d", kind, i);
        run_kernel(scene, name, 2, time);
    }
}

/* Ends the scene; the result is returned without its list. */
static struct steps find_steps(struct scene *scene, int64_t *first_start) {
    struct status status = {0};
    struct model model;
    struct steps steps = {0};
    struct trace *trace = build_end(&scene->build);
    if (!trace)
        return steps;
    CHECK_OK(model_build(&model, trace, &status), status);
    CHECK_OK(steps_find(&model, NULL, &steps, &status), status);
    struct steps found = steps;
    found.list = NULL;
    if (first_start)
        *first_start = steps.count ? steps.list[0].start : -1;
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
    return found;
}

TEST(the_loop_is_what_has_the_work_and_not_what_has_the_rows) {
    struct scene scene = {0};
    build_begin(&scene.build);
    run_kernels(&scene, "start", 60, 5);
    for (int i = 0; i < 12; i++)
        run_kernels(&scene, "layer", 14, 10);
    int64_t replays = scene.now + 100, start;
    for (int i = 0; i < 45; i++)
        run_kernel(&scene, "graph", 100, 1000);
    struct steps steps = find_steps(&scene, &start);
    CHECK_INT(steps.count, 45);
    CHECK_INT(steps.period, 1);
    CHECK_INT(start, replays);
}

TEST(a_loop_with_the_rows_stays_one_beside_a_little_more_work) {
    struct scene scene = {0};
    build_begin(&scene.build);
    for (int i = 0; i < 100; i++)
        run_kernel(&scene, "heat up", 1, 50);
    for (int i = 0; i < 12; i++)
        run_kernels(&scene, "kernel", 40, 9);
    CHECK_INT(find_steps(&scene, NULL).period, 40);
}

TEST(a_small_part_that_repeats_is_no_loop_of_a_run_that_does_not) {
    struct scene scene = {0};
    build_begin(&scene.build);
    for (int i = 0; i < 200; i++)
        run_kernel(&scene, "fill", 5, 10);
    run_kernels(&scene, "work", 100, 1000);
    CHECK_INT(find_steps(&scene, NULL).count, 0);
}

/* Iterations of four layers, with a longer pause before some of the layers. */
static struct steps find_paused(const int *pauses, size_t count, int64_t *start) {
    struct scene scene = {0};
    build_begin(&scene.build);
    for (int i = 0; i < 80; i++) {
        for (size_t k = 0; k < count; k++)
            scene.now += pauses[k] == i ? 1500 : 0;
        scene.now += count == 0 && i % 4 == 0 ? 1500 : 0;
        run_kernels(&scene, "layer", 3, 50);
    }
    return find_steps(&scene, start);
}

TEST(layers_are_one_step_up_to_where_the_device_always_pauses) {
    int64_t start;
    struct steps steps = find_paused(NULL, 0, &start);
    CHECK_INT(steps.period, 12);
    CHECK_INT(steps.count, 20);
    CHECK_INT(start, 1502);
}

TEST(pauses_now_and_then_make_no_steps_of_layers) {
    static const int pauses[] = {3, 5, 20, 33, 37, 60, 71};
    struct steps steps = find_paused(pauses, ARRAY_COUNT(pauses), NULL);
    CHECK_INT(steps.period, 3);
    CHECK(steps.count >= 79);
}

/* Before each eighth layer, and before three others. */
TEST(a_few_pauses_more_leave_the_steps_what_they_are) {
    static const int pauses[] = {4, 12, 20, 22, 28, 36, 39, 44, 52, 57, 60, 68, 76};
    struct steps steps = find_paused(pauses, ARRAY_COUNT(pauses), NULL);
    CHECK_INT(steps.period, 24);
}

/* Twenty iterations of ten kernels, with copies after kernel `at` of the eighth. */
static struct steps find_interrupted(int at, int copies) {
    struct scene scene = {0};
    char name[32];
    build_begin(&scene.build);
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < 10; i++) {
            snprintf(name, sizeof name, "kernel %d", i);
            run_kernel(&scene, name, i ? 1 : 30, 10);
            for (int k = 0; turn == 7 && i == at && k < copies; k++, scene.now += 5)
                build_activity(&scene.build, 0, ACTIVITY_COPY, scene.now + 1, scene.now + 5, "copy",
                               0);
        }
    return find_steps(&scene, NULL);
}

TEST(a_few_rows_in_or_after_an_iteration_do_not_end_the_loop) {
    for (int at = 0; at < 10; at++) {
        struct steps steps = find_interrupted(at, 2);
        CHECK_INT(steps.period, 10);
        CHECK_INT(steps.count, 20);
    }
}

TEST(an_interruption_as_long_as_an_iteration_ends_the_loop) {
    struct steps steps = find_interrupted(9, 10);
    CHECK_INT(steps.period, 10);
    CHECK_INT(steps.count, 12);
}

/* What is created at its first use adds rows inside the first iterations. */
TEST(iterations_after_several_interrupted_ones_are_found) {
    struct scene scene = {0};
    build_begin(&scene.build);
    run_kernels(&scene, "load", 40, 3);
    for (int i = 0; i < 12; i++) {
        run_kernels(&scene, "first", 15, 10);
        if (i < 3)
            run_kernels(&scene, "fill", 8, 2);
        run_kernels(&scene, "second", 15, 10);
        scene.now += 500;
    }
    struct steps steps = find_steps(&scene, NULL);
    CHECK_INT(steps.period, 30);
    CHECK_INT(steps.count, 12);
}
