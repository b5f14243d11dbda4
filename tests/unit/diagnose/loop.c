/* Plays a loop with a fault and checks its diagnosis. */
#include "loop.h"

#include "../test.h"
#include "base/array.h"

#include "base/array.h"

double fault_size = 1;

int64_t sized(int64_t time) {
    return (int64_t)((double)time * fault_size);
}

void layers(struct scene *scene, int64_t time) {
    for (int i = 0; i < LAYERS; i++) {
        scene_host_code(scene, 6 * US);
        scene_kernel(scene, GEMM, time, 1056);
        scene_host_code(scene, 6 * US);
        scene_kernel(scene, RELU, time / 8, 4096);
    }
}

void tiny(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 20 + sized(40); i++) {
        scene_host_code(scene, 4 * US);
        scene_kernel(scene, i % 2 ? ADD : RELU, 1800, 64);
    }
}

void reads_a_value(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        layers(scene, 40 * US);
        scene_copy(scene, COPY_DTOH, 4, true, 20000);
        scene_sync(scene, "cudaStreamSynchronize");
    }
}

void waits_each_layer(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 8; i++) {
        scene_host_code(scene, 15 * US);
        scene_kernel(scene, GEMM, 60 * US, 1056);
        scene_sync(scene, "cudaDeviceSynchronize");
    }
}

void many_small_copies(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < sized(100); i++) {
        scene_host_code(scene, 3 * US);
        scene_copy(scene, COPY_HTOD, 16384, true, 12000);
        scene_sync(scene, "cudaStreamSynchronize");
    }
    layers(scene, 100 * US);
}

void compiles(struct scene *scene, int step) {
    (void)step;
    layers(scene, 150 * US);
    scene_host_code(scene, 800 * US + sized(6 * MS));
    scene_call(scene, CALL_COMPILE, "cuModuleLoadData", 300 * US, 0);
    scene_kernel(scene, "generated", 50 * US, 1056);
}

void chain(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 8; i++) {
        scene_host_code(scene, 5 * US);
        scene_kernel(scene, i % 2 ? ADD : RELU, sized(300 * US), 65536);
    }
}

/* What a program does before its loop: the context, modules, weights and their initialization. */
static void start(struct scene *scene) {
    static const char *const names[] = {"fill", "uniform", "normal", "copy", "arange"};
    scene_host_code(scene, 30 * MS);
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 80 * MS, 0);
    for (int i = 0; i < 160; i++) {
        unsigned chosen = (unsigned)(scene->random >> 33);
        if (chosen % 6 == 0)
            scene_call(scene, CALL_COMPILE, "cuLibraryLoadData", 2 * MS, 0);
        if (chosen % 5 == 0)
            scene_call(scene, CALL_ALLOC, "cudaMalloc", 300 * US, 0);
        if (chosen % 7 == 0) {
            scene_copy(scene, COPY_HTOD, 4 << 20, true, 6000);
            scene_sync(scene, "cudaStreamSynchronize");
        }
        scene_host_code(scene, 40 * US);
        scene_kernel(scene, names[chosen % 5], 3 * US, 132);
    }
    scene_sync(scene, "cudaDeviceSynchronize");
}

struct scene_report play(act *step) {
    struct scene scene;
    scene_begin(&scene);
    start(&scene);
    for (int i = 0; i < STEPS; i++) {
        scene_host_code(&scene, 20 * US);
        step(&scene, i);
    }
    scene_sync(&scene, "cudaDeviceSynchronize");
    return scene_report(&scene);
}

static void show(const struct verdict *verdict) {
    for (size_t i = 0; i < verdict->count; i++)
        fprintf(stderr, "    %s %.1f%% (%s%s): %s\n", finding_key(verdict->findings[i].kind),
                100.0 * (double)verdict->findings[i].recoverable / (double)verdict->time,
                confidence_name(verdict->findings[i].confidence),
                verdict->findings[i].minor ? ", minor" : "", verdict->findings[i].summary);
}

void check_one(act *step, enum finding_kind kind, int64_t cost) {
    struct scene_report played = play(step);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    if (verdict->count == 0 || verdict->findings[0].kind != kind) {
        test_failed(__FILE__, __LINE__, "at size %g it is %s, not %s", fault_size,
                    verdict->count ? finding_key(verdict->findings[0].kind) : "nothing",
                    finding_key(kind));
        show(verdict);
    } else if (cost && verdict->steps) {
        double off = (double)verdict->findings[0].recoverable / ((double)cost * fault_size);
        if (off < 0.75 || off > 1.2) {
            test_failed(__FILE__, __LINE__, "at size %g %s is said to cost %.2f times what it does",
                        fault_size, finding_key(kind), off);
            show(verdict);
        }
    }
    scene_finish(&played);
}

void check_fault(act *step, enum finding_kind kind, int64_t cost) {
    static const double sizes[] = {0.3, 1, 4};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        fault_size = sizes[i];
        check_one(step, kind, cost);
    }
}

void check_pair(act *step, enum finding_kind first, enum finding_kind second) {
    struct scene_report played = play(step);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    bool found = false;
    for (size_t i = 1; i < verdict->count; i++)
        found |= verdict->findings[i].kind == second && !verdict->findings[i].minor;
    if (verdict->findings[0].kind != first || !found) {
        test_failed(__FILE__, __LINE__, "not %s, then %s", finding_key(first), finding_key(second));
        show(verdict);
    }
    scene_finish(&played);
}

void check_remark(act *step, enum finding_kind kind) {
    struct scene_report played = play(step);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    bool said = false;
    for (size_t i = 1; i < verdict->count; i++)
        said |= verdict->findings[i].kind == kind && verdict->findings[i].minor;
    if (verdict->findings[0].kind != FINDING_HEALTHY || !said) {
        test_failed(__FILE__, __LINE__, "not healthy with a remark on %s", finding_key(kind));
        show(verdict);
    }
    scene_finish(&played);
}
