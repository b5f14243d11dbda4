/* Properties of any trace, however odd: the unchanged replay equals the measured run, nothing gets
 * slower by being made faster, and accounts sum up. Also checked for every trace of the test data.
 */
#include "scene.h"

#include <dirent.h>
#include <stdio.h>

#include "../test.h"
#include "base/array.h"
#include "base/memory.h"
#include "import/import.h"

static uint32_t state = 12345;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

/* Calls and activities at any times: overlapping, nested, out of order, launched in the future. */
static struct trace *random_trace(void) {
    static const char *const names[] = {"gemm", "elementwise_kernel", "cudaMemcpyAsync", "load"};
    struct build build;
    build_begin(&build);
    unsigned rows = random_below(60);
    for (unsigned i = 0; i < rows; i++) {
        int64_t start = random_below(2000), end = start + random_below(80);
        const char *name = names[random_below(4)];
        uint64_t correlation = random_below(30);
        if (random_below(2))
            build_activity(&build, (int)random_below(BUILD_QUEUES), (int)random_below(3), start,
                           end, name, correlation);
        else
            build_call(&build, (int)random_below(BUILD_THREADS), (int)random_below(CALL_CLASSES),
                       start, end, name, correlation);
        if (random_below(8) == 0)
            build_range(&build, 0, RANGE_ANNOTATION, start, end + 100, "DataLoader");
        if (random_below(20) == 0)
            build_range(&build, 1, RANGE_OVERHEAD, start, end, RANGE_PAUSED);
    }
    return build_end(&build);
}

static void check_account(const struct outcome *outcome) {
    for (size_t i = 0; i < outcome->device_count; i++) {
        const struct outcome_device *device = &outcome->devices[i];
        int64_t causes = 0;
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            causes += device->cause[cause];
        CHECK_INT(device->busy + device->exposed_communication + device->exposed_copy +
                      device->idle,
                  device->window);
        CHECK_INT(causes, device->idle);
        CHECK(device->busy >= 0 && device->exposed_copy >= 0 && device->idle >= 0);
    }
}

/* Every change on its own: it works, and its account sums up. */
static void check_changes(const struct scene *scene) {
    struct status status = {0};
    struct ranked_change *ranked;
    size_t count;
    if (!replay_rank(scene->replay, &ranked, &count, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_account(&ranked[i].outcome);
        CHECK(ranked[i].outcome.after >= 0 && ranked[i].outcome.error >= 0);
        if (ranked[i].change.kind == CHANGE_FASTER)
            CHECK(ranked[i].outcome.after <= ranked[i].outcome.before);
    }
    replay_rank_finish(ranked, count);
}

TEST(whatever_the_trace_its_unchanged_replay_is_the_measured_run) {
    for (unsigned round = 0; round < 400; round++) {
        struct scene scene;
        if (scene_open(&scene, random_trace())) {
            scene_check_exact(&scene, "a random trace");
            check_changes(&scene);
        }
        scene_close(&scene);
    }
}

TEST(making_any_kernel_faster_never_makes_the_run_longer) {
    for (unsigned round = 0; round < 200; round++) {
        struct scene scene;
        if (scene_open(&scene, random_trace()) && scene.replay->activities) {
            struct run run;
            struct status status = {0};
            run_begin(&run, scene.replay);
            size_t row = random_below((uint32_t)scene.replay->activities);
            if (run_edit_activities(&run, &status)) {
                run.duration[row] /= 1 + random_below(5);
                CHECK_OK(replay_evaluate(&run, &status), status);
                CHECK(run_wall(&run) <= scene.replay->measured);
            }
            run_finish(&run);
        }
        scene_close(&scene);
    }
}

TEST(running_out_of_memory_anywhere_in_a_replay_is_reported_and_leaks_nothing) {
    static const struct loop loop = {.steps = 4,
                                     .kernels = 3,
                                     .host_time = 10,
                                     .launch = 10,
                                     .duration = 50,
                                     .sync = 10,
                                     .input = 30,
                                     .copy = 40,
                                     .copy_bytes = 4096,
                                     .pageable = true};
    struct scene scene;
    if (scene_loop(&scene, &loop)) {
        const struct replay_source source = scene.replay->source;
        for (uint64_t nth = 1; nth < 400; nth++) {
            struct status status = {0};
            struct outcome outcome;
            struct change all[] = {{.kind = CHANGE_GRAPH},
                                   {.kind = CHANGE_NO_SYNC},
                                   {.kind = CHANGE_QUEUES},
                                   {.kind = CHANGE_OVERLAP_COPIES},
                                   {.kind = CHANGE_PREFETCH}};
            memory_fail_from(nth);
            struct replay *replay = replay_create(&source, &status);
            bool ok = replay && replay_run(replay, all, 5, &outcome, &status);
            memory_fail_from(0);
            if (ok)
                outcome_finish(&outcome);
            else
                CHECK_INT(status.code, STATUS_MEMORY);
            replay_destroy(replay);
            if (ok)
                break;
        }
    }
    scene_close(&scene);
}

static void check_file(const char *path) {
    struct import_options options = {0};
    struct status status = {0};
    struct trace *trace;
    struct scene scene;
    if (!import_open(path, &options, &trace, &status))
        return; /* covered by another test */
    if (scene_open(&scene, trace)) {
        scene_check_exact(&scene, path);
        check_changes(&scene);
    }
    scene_close(&scene);
}

static void check_folder(const char *folder) {
    char path[1400];
    DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open && (entry = readdir(open)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            check_file(path);
        }
    if (open)
        closedir(open);
}

TEST(the_unchanged_replay_of_every_shared_fixture_is_the_measured_run) {
    static const char *const folders[] = {"kineto", "nsys", "rocprof", "xplane", "xctrace"};
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        const char *folder = test_fixture(folders[i]);
        if (!folder)
            return;
        check_folder(folder);
    }
}

TEST(the_unchanged_replay_of_the_example_is_the_measured_run) {
    check_folder("examples");
}
