/* A compiled graph: the launches of one run, with their memory layout.
 *
 * A plan fixes kernels, geometry and scalars; the addresses of inputs, outputs and intermediates
 * are filled in by each run. Eager operations and compiled functions both end here.
 */
#ifndef RIDGE_TENSOR_PLAN_H
#define RIDGE_TENSOR_PLAN_H

#include "tensor/fuse.h"

/* The place of a launch's buffer. */
enum place_kind { PLACE_NONE, PLACE_INPUT, PLACE_CAPTURE, PLACE_ARENA, PLACE_OUTPUT };
struct place {
    enum place_kind kind;
    uint32_t index; /* of the input, capture or output storage */
    size_t offset;  /* bytes */
};

struct plan_step {
    struct device_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    unsigned place_count, scalar_count;
    const struct place *places;
    const int64_t *scalars;
    uint64_t flops, bytes;
    const char *detail;
};

struct plan_output {
    struct place place; /* PLACE_INPUT, PLACE_CAPTURE or PLACE_OUTPUT */
    enum ridge_dtype dtype;
    struct view view;
};

struct replay;

struct plan {
    ridge_device *device;
    struct arena memory; /* of all the arrays below */
    struct plan_step *steps;
    unsigned step_count;
    struct plan_output *outputs;
    unsigned output_count;
    size_t *storage_bytes; /* of the output storages */
    unsigned storage_count;
    size_t arena_bytes; /* the intermediates of a run */
    struct storage **captures;
    unsigned capture_count, input_count;
    struct place *writes; /* inputs and captures that are assigned to */
    unsigned write_count;
    struct ridge_program_info info;
    struct replay *replay; /* see replay.h */
    bool may_replay;
};

/* Compiles the graph; `outputs` are tensors of it. The graph is not needed afterwards. */
bool plan_create(struct graph *graph, struct tensor *const *outputs, unsigned output_count,
                 struct plan **plan, struct status *status);
void plan_destroy(struct plan *plan); /* accepts NULL */

/* Queues one run. Inputs are tensors with the views that the plan was made for; outputs are new. */
bool plan_run(struct plan *plan, struct tensor *const *inputs, struct tensor **outputs,
              struct status *status);

/* While a plan is made: adds a launch of the requested kernel. */
bool plan_add_step(struct plan *plan, const struct kernel_request *request,
                   const struct place *places, unsigned place_count, uint64_t flops, uint64_t bytes,
                   const char *detail, struct status *status);

#endif
