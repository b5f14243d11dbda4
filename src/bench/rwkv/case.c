/* Times a part of an RWKV-7 model on a device.
 *
 * Calls cycle through the layers, each with its own weights, state and program, so that weights
 * come from the same memory level as in the whole model. A step of one token feeds its states
 * and its token into the next step: it generates. A prompt starts from zero each time.
 */
#include "bench/rwkv/case.h"

#include "base/memory.h"
#include "bench/run.h"
#include "bench/rwkv/check.h"
#include "tensor/tensor.h"

struct state {
    ridge_device *device;
    struct rwkv_model *model;
    bool is_step, generates, small;
    unsigned turns; /* layers that alternate; 1 for a step */
    struct rwkv_place *places;
    ridge_program **programs;
    ridge_tensor **inputs; /* of all turns */
    ridge_tensor **outputs;
    ridge_function *function;
    unsigned input_count, output_count;
};

bool rwkv_case_model(const struct stage *stage, int64_t size, enum ridge_dtype dtype,
                     struct weights **file, struct rwkv_shape *shape, struct status *status) {
    const char *path = stage->options.model;
    *file = NULL;
    if (!path) {
        if (!stage->options.small)
            return rwkv_shape_published(size, shape) ||
                   status_fail(status, STATUS_USAGE,
                               "there is no RWKV-7 of %lld million parameters: use 100, 400, 1500 "
                               "or 2900",
                               (long long)size);
        *shape = rwkv_shape_small(dtype);
        return true;
    }
    *file = weights_open(path, status);
    if (!*file)
        return false;
    if (rwkv_shape_of_file(*file, shape, status))
        return true;
    weights_close(*file);
    *file = NULL;
    return status_context(status, "%s", path);
}

enum ridge_dtype rwkv_case_product(const struct stage *stage, enum ridge_dtype dtype) {
    if (!rwkv_is_quantized(dtype))
        return dtype;
    return stage->is_gpu ? RIDGE_F16 : RIDGE_F32;
}

/* ---- Preparing -------------------------------------------------------------------------- */

static void rwkv_case_finish(void *context) {
    struct state *state = context;
    for (unsigned turn = 0; turn < state->turns; turn++) {
        if (state->programs)
            ridge_program_release(state->programs[turn]);
        for (unsigned i = 0; state->inputs && i < state->input_count; i++)
            ridge_release(state->inputs[turn * state->input_count + i]);
    }
    rwkv_model_finish(state->model);
    memory_free(state->places);
    memory_free(state->programs);
    memory_free(state->inputs);
    memory_free(state->outputs);
    memory_free(state);
}

/* Tokens of a prompt without repeated neighbors. */
static ridge_tensor *make_tokens(ridge_device *device, const struct rwkv_shape *shape,
                                 int64_t batch, int64_t tokens, struct status *status) {
    int32_t *ids = memory_allocate((size_t)batch, (size_t)tokens * sizeof *ids, status);
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < batch * tokens; i++)
        ids[i] = (int32_t)((i * 7919 + 11) % shape->sizes[RWKV_VOCABULARY]);
    ridge_tensor *made = ridge_from_host(device, RIDGE_I32, 2, (int64_t[]){batch, tokens}, ids);
    memory_free(ids);
    if (!made)
        run_tensor_failed(status);
    return made;
}

static bool make_step_inputs(struct state *state, const struct bench_case *work,
                             struct status *status) {
    const struct rwkv_shape *shape = &state->model->shape;
    state->inputs[0] =
        make_tokens(state->device, shape, work->batch, work->numbers[RWKV_CASE_TOKENS], status);
    if (!state->inputs[0])
        return false;
    for (unsigned i = RWKV_STEP_INPUTS; i < state->input_count; i++) {
        unsigned which = (i - RWKV_STEP_INPUTS) % RWKV_LAYER_STATES;
        state->inputs[i] = rwkv_make_state(which, state->device, shape, work->batch);
        if (!state->inputs[i])
            return run_tensor_failed(status);
    }
    return true;
}

static bool make_part_inputs(struct state *state, const struct bench_case *work,
                             struct status *status) {
    enum rwkv_part part = (enum rwkv_part)work->numbers[RWKV_CASE_WHAT];
    for (unsigned i = 0; i < state->turns * state->input_count; i++) {
        state->inputs[i] = rwkv_part_make_input(part, i % state->input_count, state->device,
                                                &state->model->shape, work->batch);
        if (!state->inputs[i])
            return run_tensor_failed(status);
    }
    return true;
}

static void *context_of(struct state *state, unsigned turn) {
    return state->is_step ? (void *)state->model : (void *)&state->places[turn];
}

static bool make_programs(struct state *state, const struct bench_case *work,
                          struct status *status) {
    state->places = memory_allocate(state->turns, sizeof *state->places, status);
    state->programs = memory_allocate(state->turns, sizeof *state->programs, status);
    state->outputs = memory_allocate(state->output_count, sizeof *state->outputs, status);
    state->inputs =
        memory_allocate(state->turns, state->input_count * sizeof *state->inputs, status);
    if (!state->places || !state->programs || !state->outputs || !state->inputs)
        return false;
    if (!(state->is_step ? make_step_inputs : make_part_inputs)(state, work, status))
        return false;
    for (unsigned turn = 0; turn < state->turns; turn++) {
        state->places[turn] = (struct rwkv_place){state->model, turn};
        state->programs[turn] = ridge_compile(state->function, context_of(state, turn),
                                              state->inputs + turn * state->input_count,
                                              state->input_count, state->output_count);
        if (!state->programs[turn])
            return run_tensor_failed(status);
    }
    return true;
}

static bool make_model(struct stage *stage, const struct bench_case *work, struct state *state,
                       struct status *status) {
    enum rwkv_part part = (enum rwkv_part)work->numbers[RWKV_CASE_WHAT];
    struct weights *file;
    struct rwkv_shape shape;
    if (!rwkv_case_model(stage, work->size, work->dtype, &file, &shape, status))
        return false;
    struct rwkv_extent extent =
        state->is_step ? rwkv_extent_whole(&shape) : rwkv_part_extent(part, &shape);
    state->model = rwkv_model_load(stage->device, &shape, work->dtype,
                                   rwkv_case_product(stage, work->dtype), &extent, file, status);
    if (!state->model && file)
        status_context(status, "%s", stage->options.model);
    weights_close(file);
    if (!state->model)
        return false;
    unsigned states = (unsigned)shape.layers * RWKV_LAYER_STATES;
    state->turns = state->is_step || part == RWKV_HEAD ? 1 : (unsigned)extent.layers;
    state->function = state->is_step ? rwkv_step : rwkv_part_function(part);
    state->input_count = state->is_step ? RWKV_STEP_INPUTS + states : rwkv_part_inputs(part);
    state->output_count = state->is_step ? RWKV_STEP_OUTPUTS + states : rwkv_part_outputs(part);
    return true;
}

static bool rwkv_case_run(struct state *state, unsigned turn, struct status *status) {
    return ridge_program_run(state->programs[turn], state->inputs + turn * state->input_count,
                             state->outputs) ||
           run_tensor_failed(status);
}

static uint64_t bytes_of(ridge_tensor *const *tensors, unsigned count) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += ridge_tensor_bytes(tensors[i]);
    return bytes;
}

static void release_outputs(struct state *state) {
    for (unsigned i = state->output_count; i-- > 0;)
        ridge_release(state->outputs[i]);
}

/* Weights and inputs are read and outputs written, once each. */
static bool amount_of(const struct stage *stage, const struct bench_case *work, struct state *state,
                      struct amount *amount, struct status *status) {
    enum rwkv_part part = (enum rwkv_part)work->numbers[RWKV_CASE_WHAT];
    struct ridge_program_info info;
    unsigned middle = state->turns / 2;
    if (!ridge_program_describe(state->programs[middle], &info))
        return run_tensor_failed(status);
    if (!rwkv_case_run(state, middle, status))
        return false;
    uint64_t written = bytes_of(state->outputs, state->output_count);
    release_outputs(state);
    uint64_t weights =
        state->is_step
            ? rwkv_step_bytes(state->model, work->batch * work->numbers[RWKV_CASE_TOKENS])
            : rwkv_part_bytes(&state->places[middle], part);
    uint64_t read = bytes_of(state->inputs + middle * state->input_count, state->input_count);
    *amount = (struct amount){
        .bytes = weights + read + written,
        .touched = state->turns * (weights + read) + written,
        .moved_bytes = info.bytes,
        .flops = info.flops,
        .arithmetic =
            part == RWKV_WKV ? ROOF_F32 : roofs_product_unit(&stage->roofs, state->model->product),
        .replays = 1,
        .graph_kernels = info.kernels,
    };
    return true;
}

static bool rwkv_case_prepare(struct stage *stage, const struct bench_case *work, void **made,
                              struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    state->small = stage->options.small;
    state->is_step = work->numbers[RWKV_CASE_WHAT] == RWKV_STEP;
    state->generates = state->is_step && work->numbers[RWKV_CASE_TOKENS] == 1;
    if (make_model(stage, work, state, status) && make_programs(state, work, status) &&
        amount_of(stage, work, state, amount, status)) {
        *made = state;
        return true;
    }
    rwkv_case_finish(state);
    return false;
}

/* ---- Running ---------------------------------------------------------------------------- */

/* The outputs except the logits become the inputs. Memory is released in reverse order, so that
 * the next step's outputs reuse it in order and the addresses repeat every other step. */
static void feed_back(struct state *state) {
    for (unsigned i = state->input_count; i-- > 0;) {
        ridge_release(state->inputs[i]);
        state->inputs[i] = state->outputs[i + 1];
    }
    ridge_release(state->outputs[0]);
}

static bool rwkv_case_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    if (!rwkv_case_run(state, turn % state->turns, status))
        return false;
    if (state->generates)
        feed_back(state);
    else
        release_outputs(state);
    return true;
}

static bool rwkv_case_check(void *context, double *error, struct status *status) {
    struct state *state = context;
    unsigned middle = state->turns / 2;
    struct rwkv_check work = {.model = state->model,
                              .program = state->programs[middle],
                              .function = state->function,
                              .layer = state->is_step ? -1 : state->places[middle].layer,
                              .inputs = state->inputs + middle * state->input_count,
                              .input_count = state->input_count,
                              .output_count = state->output_count,
                              .on_cpu = state->small};
    return rwkv_check(&work, error, status);
}

const struct case_kind rwkv_case = {.prepare = rwkv_case_prepare,
                                    .call = rwkv_case_call,
                                    .check = rwkv_case_check,
                                    .finish = rwkv_case_finish};
