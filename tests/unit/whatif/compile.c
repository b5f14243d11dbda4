/* Compilation before a load is removed with it: by its name, or because every load has it. */
#include "scene.h"

#include <stdlib.h>

#include "../test.h"

static const struct loop without = {.steps = 10,
                                    .kernels = 20,
                                    .host_time = 3000,
                                    .launch = 4000,
                                    .lag = 1500,
                                    .gap = 800,
                                    .duration = 2500,
                                    .sync = 5000,
                                    .sync_lag = 2000};
static const struct change no_compile = {.kind = CHANGE_NO_COMPILE};

static struct loop compiling(const char *range) {
    struct loop loop = without;
    loop.compile = 5000000;
    loop.load = 100000;
    loop.compiler = range;
    return loop;
}

static void check_time(const struct loop *loop, int64_t expected) {
    struct scene scene;
    if (scene_loop(&scene, loop)) {
        int64_t predicted = scene_predict(&scene, &no_compile, 1);
        if (llabs(predicted - expected) > expected / 20)
            test_failed(__FILE__, __LINE__, "%lld predicted, %lld expected", (long long)predicted,
                        (long long)expected);
    }
    scene_close(&scene);
}

TEST(unnamed_host_code_before_all_loads_is_removed_with_them) {
    struct loop loop = compiling(NULL);
    check_time(&loop, loop_time(&without));
}

TEST(host_code_named_after_a_compiler_is_removed_with_the_load) {
    struct loop loop = compiling("nvrtc compile");
    check_time(&loop, loop_time(&without));
}

TEST(host_code_of_another_name_stays_when_the_load_is_removed) {
    struct loop loop = compiling("augment");
    /* that of the first step is before the thread's first call */
    check_time(&loop, loop_time(&without) + (loop.steps - 1) * loop.compile);
}
