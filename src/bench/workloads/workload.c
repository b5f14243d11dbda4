/* Turns a function of tensors into work that can be timed. It gets inputs, several sets of them
 * if one would stay in a cache, and is called eager or compiled.
 *
 * Outputs alternate as well: each is held until its set is used again, so that the pool does
 * not return the same hot block every time. If a program's own memory has the output's size
 * class, the two would swap in each call and no two calls would have the same addresses; the
 * output is then released at once.
 */
#include "bench/workloads/workload.h"

#include "base/memory.h"
#include "bench/run.h"
#include "bench/workloads/workload_check.h"
#include "tensor/tensor.h"

enum {
    TURNS_MAX = 64,
    /* A program keeps graphs for 16 sets of addresses; an output that goes back at once can have
     * two for each set of inputs. */
    TURNS_OF_A_PROGRAM = 8,
    PROGRAMS = TURNS_MAX / TURNS_OF_A_PROGRAM,
    CACHE_PARTS = 32, /* inputs that are smaller than that are meant to stay in the cache */
};

struct state {
    ridge_device *device;
    const struct workload *workload;
    struct workload_shape shape;
    bool compiled, holds_outputs;
    unsigned turns;
    ridge_tensor *inputs[TURNS_MAX][WORKLOAD_INPUTS_MAX];
    ridge_tensor *outputs[TURNS_MAX];
    ridge_program *programs[PROGRAMS];
};

/* ---- Sizes ------------------------------------------------------------------------------ */

/* Of one set: what each turn has of its own, and what all share. Sizes come from the user: sums
 * that no memory could hold are all of memory. */
struct set_bytes {
    uint64_t own, fixed, output;
    uint64_t largest; /* input */
};

static uint64_t add_up(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t input_bytes(const struct workload_input *input) {
    uint64_t count = 1;
    for (unsigned i = 0; i < input->rank; i++)
        if (__builtin_mul_overflow(count, (uint64_t)input->sizes[i], &count))
            return UINT64_MAX;
    return count > INT64_MAX / 8 ? UINT64_MAX : ridge_dtype_bytes(input->dtype, (int64_t)count);
}

static struct set_bytes bytes_of(const struct workload_shape *shape) {
    struct set_bytes bytes = {0};
    for (unsigned i = 0; i < shape->input_count; i++) {
        uint64_t *sum = shape->inputs[i].fixed ? &bytes.fixed : &bytes.own;
        uint64_t input = input_bytes(&shape->inputs[i]);
        *sum = add_up(*sum, input);
        if (input > bytes.largest)
            bytes.largest = input;
    }
    bytes.output = shape->outputs > INT64_MAX / 8
                       ? UINT64_MAX
                       : ridge_dtype_bytes(shape->inputs[0].dtype, shape->outputs);
    return bytes;
}

static uint64_t bytes_needed(const struct set_bytes *bytes) {
    return add_up(add_up(bytes->own, bytes->fixed), bytes->output);
}

void workload_size_up(struct bench_case *work) {
    const struct workload *workload = work->subject;
    struct workload_shape shape = {0};
    workload->shape(work, &shape);
    struct set_bytes bytes = bytes_of(&shape);
    work->memory_bytes = bytes_needed(&bytes);
}

/* As many sets as fill twice the cache, unless they are small and belong in it, or one alone is
 * that large. Small is judged by the largest input, so that the lines of a table that differ in
 * their batch alone are of one kind. */
static unsigned turns_for(const struct stage *stage, const struct set_bytes *bytes,
                          bool with_output) {
    const struct device_capabilities *capabilities = &stage->device->device->capabilities;
    uint64_t cache = capabilities->cache_bytes, memory = capabilities->memory_bytes;
    uint64_t set = add_up(bytes->own, with_output ? bytes->output : 0);
    if (cache == 0)
        cache = stage->roofs.cache_bytes;
    if (set == 0 || bytes->largest < cache / CACHE_PARTS || set / 2 >= cache)
        return 1;
    uint64_t turns = 2 * cache / set + 1;
    if (memory > 0 && turns > memory / 4 / set)
        turns = memory / 4 / set;
    return turns < 1 ? 1 : turns > TURNS_MAX ? TURNS_MAX : (unsigned)turns;
}

/* ---- Inputs and programs ------------------------------------------------------------------ */

static ridge_tensor *make_input(ridge_device *device, const struct workload_input *input,
                                uint64_t seed) {
    bool quantized = dtype_is_quantized(input->dtype);
    ridge_scope_begin();
    ridge_tensor *x =
        ridge_randn(device, quantized ? RIDGE_F32 : input->dtype, input->rank, input->sizes, seed);
    if (input->scale != 1)
        x = ridge_mul_scalar(x, input->scale);
    if (quantized)
        x = ridge_quantize(x, input->dtype);
    ridge_keep(x);
    ridge_scope_end();
    return x;
}

static bool make_set(struct state *state, unsigned turn, struct status *status) {
    const struct workload_shape *shape = &state->shape;
    for (unsigned i = 0; i < shape->input_count; i++) {
        bool shared = turn > 0 && shape->inputs[i].fixed;
        state->inputs[turn][i] =
            shared ? ridge_retain(state->inputs[0][i])
                   : make_input(state->device, &shape->inputs[i], turn * 64 + i + 1);
        if (!state->inputs[turn][i])
            return run_tensor_failed(status);
    }
    return true;
}

static ridge_program *workload_compile(struct state *state) {
    return ridge_compile(state->workload->function, &state->shape, state->inputs[0],
                         state->shape.input_count, 1);
}

static bool compile_all(struct state *state, struct status *status) {
    for (unsigned i = 0; i * TURNS_OF_A_PROGRAM < state->turns; i++)
        if (!state->programs[i] && !(state->programs[i] = workload_compile(state)))
            return run_tensor_failed(status);
    return true;
}

/* Whether outputs can be held without moving the addresses of later calls: see above. */
static bool can_hold_outputs(const struct state *state, const struct ridge_program_info *info,
                             uint64_t output) {
    return !state->compiled || info->intermediate_bytes == 0 ||
           pool_class_bytes(info->intermediate_bytes) != pool_class_bytes(output);
}

/* A single operation runs eager as it does compiled. The bytes of several operations are known
 * if each is a single node of the graph: a norm, for example, is several nodes but one kernel. */
static void amount_of_launches(const struct state *state, const struct ridge_program_info *info,
                               struct amount *amount) {
    unsigned operations = state->shape.operations;
    if (state->compiled) {
        amount->replays = 1;
        amount->graph_kernels = info->kernels;
        amount->moved_bytes = info->bytes;
    } else if (operations <= 1) {
        amount->kernels = info->kernels;
        amount->moved_bytes = info->bytes;
    } else {
        amount->kernels = operations;
        amount->moved_bytes = operations == info->operations ? info->eager_bytes : 0;
    }
}

static void amount_of(const struct stage *stage, const struct bench_case *work,
                      const struct state *state, const struct ridge_program_info *info,
                      const struct set_bytes *bytes, struct amount *amount) {
    *amount = (struct amount){
        .bytes = bytes_needed(bytes),
        .touched = state->turns * (bytes->own + (state->holds_outputs ? bytes->output : 0)) +
                   bytes->fixed + (state->holds_outputs ? 0 : bytes->output),
        .flops = info->flops,
        .trigonometry = state->shape.trigonometry,
        .exponentials = state->shape.exponentials,
        .arithmetic =
            state->shape.product ? roofs_product_unit(&stage->roofs, work->dtype) : ROOF_F32,
    };
    amount_of_launches(state, info, amount);
}

static bool fill(struct stage *stage, const struct bench_case *work, struct state *state,
                 struct amount *amount, struct status *status) {
    struct set_bytes bytes = bytes_of(&state->shape);
    struct ridge_program_info info;
    state->turns = 1;
    if (!make_set(state, 0, status) || !compile_all(state, status))
        return false;
    if (!ridge_program_describe(state->programs[0], &info))
        return run_tensor_failed(status);
    state->holds_outputs = can_hold_outputs(state, &info, bytes.output);
    unsigned turns = turns_for(stage, &bytes, state->holds_outputs);
    for (; state->turns < turns; state->turns++)
        if (!make_set(state, state->turns, status))
            return false;
    if (state->compiled && !compile_all(state, status))
        return false;
    amount_of(stage, work, state, &info, &bytes, amount);
    return true;
}

/* ---- The case kinds ----------------------------------------------------------------------- */

static void workload_finish(void *context) {
    struct state *state = context;
    for (unsigned i = 0; i < PROGRAMS; i++)
        ridge_program_release(state->programs[i]);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        ridge_release(state->outputs[turn]);
        for (unsigned i = 0; i < WORKLOAD_INPUTS_MAX; i++)
            ridge_release(state->inputs[turn][i]);
    }
    memory_free(state);
}

static bool workload_prepare(struct stage *stage, const struct bench_case *work, bool compiled,
                             void **made, struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    state->workload = work->subject;
    state->compiled = compiled;
    state->workload->shape(work, &state->shape);
    if (fill(stage, work, state, amount, status)) {
        *made = state;
        return true;
    }
    workload_finish(state);
    return false;
}

static bool prepare_eager(struct stage *stage, const struct bench_case *work, void **state,
                          struct amount *amount, struct status *status) {
    return workload_prepare(stage, work, false, state, amount, status);
}

static bool prepare_compiled(struct stage *stage, const struct bench_case *work, void **state,
                             struct amount *amount, struct status *status) {
    return workload_prepare(stage, work, true, state, amount, status);
}

static ridge_tensor *call_function(struct state *state, unsigned turn) {
    ridge_tensor *output = NULL;
    if (state->compiled) {
        ridge_program_run(state->programs[turn / TURNS_OF_A_PROGRAM], state->inputs[turn], &output);
        return output;
    }
    ridge_scope_begin();
    if (!state->workload->function(&state->shape, state->inputs[turn], &output))
        output = NULL;
    ridge_keep(output);
    ridge_scope_end();
    return output;
}

static bool workload_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    turn %= state->turns;
    ridge_release(state->outputs[turn]);
    state->outputs[turn] = NULL;
    ridge_tensor *output = call_function(state, turn);
    if (!output)
        return run_tensor_failed(status);
    if (state->holds_outputs)
        state->outputs[turn] = output;
    else
        ridge_release(output);
    return true;
}

static bool check(void *context, double *error, struct status *status) {
    struct state *state = context;
    *error = 0;
    if (!state->workload->reference)
        return true;
    ridge_tensor *output = call_function(state, 0);
    bool ok = output ? workload_check(state->workload, &state->shape, state->inputs[0], output,
                                      error, status)
                     : run_tensor_failed(status);
    ridge_release(output);
    return ok;
}

static bool peer(const struct stage *stage, const struct bench_case *work, struct peer_work *peer) {
    const struct workload *workload = work->subject;
    struct workload_shape shape = {0};
    if (workload->no_peer)
        return false;
    workload->shape(work, &shape);
    *peer = (struct peer_work){.name = workload->name,
                               .compiled = work->kind == &workload_compiled,
                               .input_count = shape.input_count};
    for (unsigned i = 0; i < shape.input_count; i++) {
        const struct workload_input *input = &shape.inputs[i];
        if (dtype_is_quantized(input->dtype))
            return false;
        peer->inputs[i] =
            (struct peer_input){.dtype = input->dtype, .rank = input->rank, .scale = input->scale};
        for (unsigned axis = 0; axis < input->rank; axis++)
            peer->inputs[i].sizes[axis] = input->sizes[axis];
    }
    for (unsigned i = 0; i < PEER_NUMBERS_MAX; i++)
        peer->numbers[i] = shape.numbers[i];
    struct set_bytes bytes = bytes_of(&shape);
    peer->turns = turns_for(stage, &bytes, true);
    return true;
}

const struct case_kind workload_eager = {.prepare = prepare_eager,
                                         .call = workload_call,
                                         .check = check,
                                         .finish = workload_finish,
                                         .peer = peer};
const struct case_kind workload_compiled = {.prepare = prepare_compiled,
                                            .call = workload_call,
                                            .check = check,
                                            .finish = workload_finish,
                                            .peer = peer};
