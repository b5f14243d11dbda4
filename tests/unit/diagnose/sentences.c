/* The figures in sentences of findings: shares are of the right whole. */
#include "../test.h"
#include "loop.h"

#include <string.h>

static const struct finding *find(const struct verdict *verdict, enum finding_kind kind) {
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind)
            return &verdict->findings[i];
    return NULL;
}

/* Copies of about 4 ms and kernels of about 0.9 ms a step, one after another. */
static void large_copies(struct scene *scene, int step) {
    (void)step;
    scene_copy(scene, COPY_HTOD, 64 << 20, false, 16777);
    scene_kernel(scene, GEMM, 900 * US, 1056);
}

TEST(copies_that_fill_the_link_are_a_share_of_the_time) {
    struct scene_report played = play(large_copies);
    REQUIRE(played.ok);
    const struct finding *finding = find(&played.report.verdict, FINDING_EXPOSED_TRANSFERS);
    REQUIRE(finding);
    const char *copies = strstr(finding->summary, "81.6 %");
    CHECK(copies && strstr(copies, "1.54 GB at 16.7 GB/s") && strstr(copies, "18.3 %"));
    scene_finish(&played);
}
