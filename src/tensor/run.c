/* One run of a plan: allocates memory for its results and sets the addresses of its launches. */
#include <string.h>

#include "tensor/plan.h"
#include "tensor/replay.h"

enum { STORAGES_AT_HAND = 8, BUFFERS_AT_HAND = 64, LAUNCHES_AT_HAND = 8 };

struct run {
    struct plan *plan;
    struct tensor *const *inputs;
    struct storage **storages; /* of outputs */
    unsigned storage_count;
    struct pool_block arena;
};

static struct launch_buffer locate(const struct run *run, const struct place *place) {
    const struct tensor *input;
    switch (place->kind) {
    case PLACE_INPUT:
        input = run->inputs[place->index];
        return (struct launch_buffer){input->storage->block.memory,
                                      place->offset +
                                          tensor_byte_offset(input->dtype, input->view.offset)};
    case PLACE_CAPTURE:
        return (struct launch_buffer){run->plan->captures[place->index]->block.memory,
                                      place->offset};
    case PLACE_OUTPUT:
        return (struct launch_buffer){run->storages[place->index]->block.memory, place->offset};
    default:
        return (struct launch_buffer){run->arena.memory, place->offset};
    }
}

static void fill_launches(const struct run *run, struct launch *launches,
                          struct launch_buffer *buffers) {
    for (unsigned i = 0; i < run->plan->step_count; i++) {
        const struct plan_step *step = &run->plan->steps[i];
        for (unsigned b = 0; b < step->place_count; b++)
            buffers[b] = locate(run, &step->places[b]);
        launches[i] = (struct launch){
            .kernel = step->kernel,
            .grid = {step->grid[0], step->grid[1], step->grid[2]},
            .block = {step->block[0], step->block[1], step->block[2]},
            .shared_bytes = step->shared_bytes,
            .buffer_count = step->place_count,
            .scalar_count = step->scalar_count,
            .buffers = buffers,
            .scalars = step->scalars,
            .flops = step->flops,
            .bytes = step->bytes,
            .detail = step->detail,
        };
        buffers += step->place_count;
    }
}

static bool launch_all(const struct run *run, struct status *status) {
    const struct plan *plan = run->plan;
    struct launch_buffer buffers_at_hand[BUFFERS_AT_HAND], *buffers = buffers_at_hand;
    struct launch launches_at_hand[LAUNCHES_AT_HAND], *launches = launches_at_hand;
    size_t buffer_count = 0;
    for (unsigned i = 0; i < plan->step_count; i++)
        buffer_count += plan->steps[i].place_count;
    if (buffer_count > BUFFERS_AT_HAND)
        buffers = memory_allocate(buffer_count, sizeof *buffers, status);
    if (plan->step_count > LAUNCHES_AT_HAND)
        launches = memory_allocate(plan->step_count, sizeof *launches, status);
    bool ok = buffers && launches;
    if (ok) {
        fill_launches(run, launches, buffers);
        ok = plan_replay(run->plan, launches, status);
    }
    if (buffers != buffers_at_hand)
        memory_free(buffers);
    if (launches != launches_at_hand)
        memory_free(launches);
    return ok;
}

/* Memory used on another queue than its own must not be reused too early. */
static void mark_used(const struct run *run) {
    unsigned queue = run->plan->device->queue;
    for (unsigned i = 0; i < run->plan->input_count; i++) {
        run->inputs[i]->storage->queue = queue;
        pool_used(&run->inputs[i]->storage->block, queue);
    }
    for (unsigned i = 0; i < run->plan->capture_count; i++) {
        run->plan->captures[i]->queue = queue;
        pool_used(&run->plan->captures[i]->block, queue);
    }
}

/* An assignment makes what a tape recorded of the tensor invalid. */
static void count_writes(const struct run *run) {
    for (unsigned i = 0; i < run->plan->write_count; i++) {
        const struct place *place = &run->plan->writes[i];
        if (place->kind == PLACE_INPUT)
            run->inputs[place->index]->storage->version++;
        else if (place->kind == PLACE_CAPTURE)
            run->plan->captures[place->index]->version++;
    }
}

static bool make_outputs(const struct run *run, struct tensor **outputs, struct status *status) {
    const struct plan *plan = run->plan;
    for (unsigned i = 0; i < plan->output_count; i++) {
        const struct plan_output *output = &plan->outputs[i];
        struct view view = output->view;
        struct storage *storage;
        if (output->place.kind == PLACE_INPUT) {
            storage = run->inputs[output->place.index]->storage;
            view.offset += run->inputs[output->place.index]->view.offset;
        } else if (output->place.kind == PLACE_CAPTURE) {
            storage = plan->captures[output->place.index];
        } else {
            storage = run->storages[output->place.index];
        }
        outputs[i] = tensor_create(plan->device, output->dtype, &view, storage, status);
        if (!outputs[i]) {
            while (i-- > 0) {
                tensor_destroy(outputs[i]);
                outputs[i] = NULL;
            }
            return false;
        }
    }
    return true;
}

static bool allocate_storages(struct run *run, struct status *status) {
    const struct plan *plan = run->plan;
    for (; run->storage_count < plan->storage_count; run->storage_count++)
        if (!storage_create(plan->device, plan->storage_bytes[run->storage_count],
                            &run->storages[run->storage_count], status))
            return false;
    return true;
}

bool plan_run(struct plan *plan, struct tensor *const *inputs, struct tensor **outputs,
              struct status *status) {
    struct storage *storages_at_hand[STORAGES_AT_HAND];
    struct run run = {.plan = plan, .inputs = inputs, .storages = storages_at_hand};
    if (plan->storage_count > STORAGES_AT_HAND) {
        run.storages = memory_allocate(plan->storage_count, sizeof *run.storages, status);
        if (!run.storages)
            return false;
    }
    ridge_device *device = plan->device;
    bool arena = false;
    bool ok =
        allocate_storages(&run, status) &&
        (plan->arena_bytes == 0 || (arena = pool_allocate(device->pool, plan->arena_bytes,
                                                          device->queue, &run.arena, status))) &&
        launch_all(&run, status) && make_outputs(&run, outputs, status);
    mark_used(&run);
    count_writes(&run);
    if (arena)
        pool_release(device->pool, run.arena, device->queue);
    for (unsigned i = 0; i < run.storage_count; i++)
        storage_release(run.storages[i]);
    if (run.storages != storages_at_hand)
        memory_free(run.storages);
    return ok;
}
