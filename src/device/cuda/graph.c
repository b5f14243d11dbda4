/* CUDA graphs: launches are captured once on a separate stream, then replayed with one driver
 * call. */
#include <string.h>

#include "base/memory.h"
#include "device/cuda/cuda.h"

struct cuda_replay {
    struct cuda_replay *previous, *next;
    cuda_executable executable;
    struct cuda_workspace workspace; /* its own: replays may overlap with other queues' products */
    unsigned launches;
    unsigned queues;     /* that it was replayed on, one bit each */
    char last_name[120]; /* of the last kernel */
};

static void link_replay(struct cuda_device *cuda, struct cuda_replay *replay) {
    replay->next = cuda->replays;
    if (replay->next)
        replay->next->previous = replay;
    cuda->replays = replay;
}

static void unlink_replay(struct cuda_device *cuda, struct cuda_replay *replay) {
    if (replay->previous)
        replay->previous->next = replay->next;
    else if (cuda->replays == replay)
        cuda->replays = replay->next;
    if (replay->next)
        replay->next->previous = replay->previous;
}

/* Memory cannot be allocated during the capture. */
static bool graph_prepare(struct cuda_device *cuda, struct cuda_replay *replay,
                          const struct launch *launches, unsigned count, struct status *status) {
    size_t max = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = 0;
        if (((const struct cuda_kernel *)launches[i].kernel)->matmul &&
            !cuda_matmul_workspace(cuda, &launches[i], &bytes, status))
            return false;
        max = bytes > max ? bytes : max;
    }
    return cuda_workspace_grow(cuda, &replay->workspace, max, cuda->side, status);
}

static bool capture(struct cuda_device *cuda, struct cuda_replay *replay,
                    const struct launch *launches, unsigned count, cuda_graph *graph,
                    struct status *status) {
    /* A captured kernel does not run, so it is not a suspect when the device is lost. */
    uint64_t launches_before = cuda->launches;
    const char *last_before = cuda->last_launch;
    struct status ignored;
    bool captured = true;
    if (!CUDA_CALL(cuda, status, cuStreamBeginCapture, cuda->side, CUDA_CAPTURE_RELAXED))
        return false;
    for (unsigned i = 0; i < count && captured; i++)
        captured = cuda_enqueue(cuda, &launches[i], cuda->side, &replay->workspace, status);
    cuda->launches = launches_before;
    cuda->last_launch = last_before;
    /* The stream is unusable until its capture has ended, even after a failure. */
    bool ended =
        CUDA_CALL(cuda, captured ? status : &ignored, cuStreamEndCapture, cuda->side, graph);
    return captured && ended;
}

static bool build(struct cuda_device *cuda, struct cuda_replay *replay,
                  const struct launch *launches, unsigned count, struct status *status) {
    cuda_graph graph = NULL;
    bool built = graph_prepare(cuda, replay, launches, count, status) &&
                 capture(cuda, replay, launches, count, &graph, status) &&
                 CUDA_CALL(cuda, status, cuGraphInstantiate, &replay->executable, graph, 0);
    if (graph)
        cuda->driver->cuGraphDestroy(graph);
    return built;
}

static void graph_destroy(struct cuda_device *cuda, struct cuda_replay *replay) {
    if (replay->executable)
        cuda->driver->cuGraphExecDestroy(replay->executable);
    if (replay->workspace.bytes > 0)
        cuda_release(&cuda->base, (struct device_memory){.handle = replay->workspace.address});
    memory_free(replay);
}

bool cuda_graph_create(struct device *device, const struct launch *launches, unsigned count,
                       void **graph, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter(cuda, status))
        return false;
    struct cuda_replay *replay = memory_allocate(1, sizeof *replay, status);
    if (!replay)
        return false;
    replay->launches = count;
    if (count > 0)
        memcpy(replay->last_name, launches[count - 1].kernel->name, sizeof replay->last_name);
    if (!build(cuda, replay, launches, count, status)) {
        graph_destroy(cuda, replay);
        return status_context(status, "creating a graph of %u launches", count);
    }
    link_replay(cuda, replay);
    *graph = replay;
    return true;
}

bool cuda_graph_replay(struct device *device, unsigned queue, void *graph, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    struct cuda_replay *replay = graph;
    if (!cuda_enter_queue(cuda, queue, status) ||
        !cuda_stamp_begin(cuda, cuda->streams[queue], NULL, status))
        return false;
    cuda->launches += replay->launches;
    cuda->last_launch = replay->last_name;
    replay->queues |= 1u << queue;
    return CUDA_CALL(cuda, status, cuGraphLaunch, replay->executable, cuda->streams[queue]);
}

void cuda_graph_destroy(struct device *device, void *graph) {
    struct cuda_device *cuda = cuda_of(device);
    struct cuda_replay *replay = graph;
    struct status ignored;
    if (!replay)
        return;
    cuda_enter(cuda, &ignored);
    for (unsigned queue = 0; queue < CUDA_QUEUES; queue++)
        if (replay->queues & 1u << queue)
            CUDA_CALL(cuda, &ignored, cuStreamSynchronize, cuda->streams[queue]);
    if (cuda->last_launch == replay->last_name)
        cuda->last_launch = "of a graph that was destroyed";
    unlink_replay(cuda, replay);
    graph_destroy(cuda, replay);
}
