/* A graph fixes the addresses of all buffers. The pool gives a steady program the same ones again
 * and again, often a few sets in turn, so a few graphs are kept; a set that was not seen before is
 * launched step by step, and becomes a graph when it comes a second time. Once memory went back to
 * the device the same address may be another buffer: graphs from before are not used any more. */
#include "tensor/replay.h"

#include <string.h>

#include "base/checksum.h"
#include "device/work.h"

enum { REPLAYS_KEPT = 16, CANDIDATES_KEPT = 32 };

struct replay {
    struct {
        uint64_t key; /* hash of all addresses */
        void *graph;
        uint64_t used; /* when, to find the one unused for longest */
    } graphs[REPLAYS_KEPT];
    uint64_t candidates[CANDIDATES_KEPT];
    uint64_t clock;
};

static uint64_t address_key(const struct plan *plan, const struct launch *launches) {
    uint64_t hash = pool_returns(plan->device->pool);
    for (unsigned i = 0; i < plan->step_count; i++)
        for (unsigned b = 0; b < launches[i].buffer_count; b++)
            hash = hash_u64(hash ^ launches[i].buffers[b].memory.handle) +
                   launches[i].buffers[b].offset;
    return hash ? hash : 1;
}

static bool launch_steps(struct plan *plan, const struct launch *launches, struct status *status) {
    ridge_device *device = plan->device;
    for (unsigned i = 0; i < plan->step_count; i++)
        if (!work_launch(device->device, device->recorder, device->queue, &launches[i], status))
            return false;
    return true;
}

/* Whether the set of addresses came before; it is remembered from now on. */
static bool came_before(struct replay *replay, uint64_t key) {
    for (unsigned i = 0; i < CANDIDATES_KEPT; i++)
        if (replay->candidates[i] == key)
            return true;
    replay->candidates[replay->clock % CANDIDATES_KEPT] = key;
    return false;
}

bool plan_replay(struct plan *plan, const struct launch *launches, struct status *status) {
    struct device *device = plan->device->device;
    unsigned queue = plan->device->queue;
    if (plan->step_count == 0 || !plan->may_replay || plan->device->recorder)
        return launch_steps(plan, launches, status);
    if (!plan->replay) {
        plan->replay = memory_allocate(1, sizeof *plan->replay, status);
        if (!plan->replay)
            return false;
    }
    struct replay *replay = plan->replay;
    uint64_t key = address_key(plan, launches);
    replay->clock++;
    unsigned oldest = 0;
    for (unsigned i = 0; i < REPLAYS_KEPT; i++) {
        if (replay->graphs[i].graph && replay->graphs[i].key == key) {
            replay->graphs[i].used = replay->clock;
            return device->ops->graph_replay(device, queue, replay->graphs[i].graph, status);
        }
        if (replay->graphs[i].used < replay->graphs[oldest].used)
            oldest = i;
    }
    if (!came_before(replay, key))
        return launch_steps(plan, launches, status);
    void *graph;
    struct status refused;
    if (!device->ops->graph_create(device, launches, plan->step_count, &graph, &refused)) {
        plan->may_replay = false;
        return launch_steps(plan, launches, status);
    }
    if (replay->graphs[oldest].graph)
        device->ops->graph_destroy(device, replay->graphs[oldest].graph);
    replay->graphs[oldest].key = key;
    replay->graphs[oldest].graph = graph;
    replay->graphs[oldest].used = replay->clock;
    return device->ops->graph_replay(device, queue, graph, status);
}

void plan_replay_destroy(struct replay *replay, ridge_device *device) {
    if (!replay)
        return;
    for (unsigned i = 0; i < REPLAYS_KEPT; i++)
        if (replay->graphs[i].graph)
            device->device->ops->graph_destroy(device->device, replay->graphs[i].graph);
    memory_free(replay);
}
