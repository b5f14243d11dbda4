/* Small collectives, against the rate of the large ones: every figure of the finding. */
#include "../test.h"
#include "loop.h"

#include <string.h>

#include "base/min_max.h"

enum { SMALL_PER_STEP = 6, JUDGED = STEPS - 1 };
static int64_t small_time;

static void collective(struct scene *scene, uint64_t elements, int64_t time) {
    char detail[200];
    snprintf(detail, sizeof detail,
             "{\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":%llu,"
             "\"Out msg nelems\":%llu,\"Group size\":8}",
             (unsigned long long)elements, (unsigned long long)elements);
    int64_t start = MAX(scene->host, scene->device_free);
    trace_write_activity(
        scene->writer,
        &(struct row_activity){.start = start,
                               .duration = time,
                               .queue = scene->queue,
                               .name = trace_writer_string(
                                   scene->writer, TEXT("ncclDevKernel_AllReduce_Sum_f32_RING_LL")),
                               .detail = trace_writer_string(scene->writer, text_of(detail)),
                               .bytes = BYTES_UNKNOWN});
    scene->device_free = start + time;
}

/* 16 MiB in 1 ms is 16.8 GB/s, at which 512 KiB take 31.25 us. */
static void small_collectives(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    collective(scene, 4 << 20, 1 * MS);
    for (int i = 0; i < SMALL_PER_STEP; i++)
        collective(scene, 128 << 10, small_time);
}

static const struct finding *find(const struct verdict *verdict, enum finding_kind kind) {
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind)
            return &verdict->findings[i];
    return NULL;
}

TEST(small_collectives_cost_what_they_take_above_the_rate_of_large_ones) {
    small_time = 200 * US;
    struct scene_report played = play(small_collectives);
    REQUIRE(played.ok);
    const struct finding *finding = find(&played.report.verdict, FINDING_SMALL_MESSAGES);
    REQUIRE(finding);
    int64_t cost = JUDGED * SMALL_PER_STEP * (small_time - 31250);
    CHECK_INT(finding->recoverable, cost);
    CHECK_INT(finding->error, cost / 2);
    CHECK(strstr(finding->summary, "138 of 161 collectives"));
    CHECK(strstr(finding->summary, "524 KB") && strstr(finding->summary, "27.6 ms"));
    CHECK(strstr(finding->summary, "2.89 ms -> 1.87 ms"));
    scene_finish(&played);
}

TEST(small_collectives_at_the_rate_of_large_ones_cost_nothing) {
    small_time = 31250;
    struct scene_report played = play(small_collectives);
    REQUIRE(played.ok);
    CHECK(!find(&played.report.verdict, FINDING_SMALL_MESSAGES));
    scene_finish(&played);
}
