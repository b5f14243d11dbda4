/* NULL and released handles in every handle argument of every public function: NULL or false,
 * and a message that explains it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "gen/ops.h"

/* The valid arguments of the calls below. */
static struct {
    ridge_device *device;
    ridge_tensor *x, *whole, *packed, *cube, *heads, *state; /* f32 [4, 4], i32 [4, 4], ... */
    ridge_tensor *outputs[8];
    float room[256];
    struct ridge_device_info info;
    struct ridge_pool_stats stats;
    struct ridge_program_info program;
    int64_t sizes[2];
    unsigned axes[2];
    int axis[1];
} good;

static bool keeps(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    return (out[0] = ridge_neg(in[0])) != NULL;
}

/* Calls with a required tensor t. */
#define TENSOR_CALLS(X)                                                                            \
    X(ridge_to_host, ridge_to_host(t, good.room, 64))                                              \
    X(ridge_to_floats, ridge_to_floats(t, good.room, 16))                                          \
    X(ridge_tensor_dtype, ridge_tensor_dtype(t) != RIDGE_F32)                                      \
    X(ridge_tensor_rank, ridge_tensor_rank(t) != 0)                                                \
    X(ridge_tensor_size, ridge_tensor_size(t, 0) != 0)                                             \
    X(ridge_tensor_stride, ridge_tensor_stride(t, 0) != 0)                                         \
    X(ridge_tensor_count, ridge_tensor_count(t) != 0)                                              \
    X(ridge_tensor_bytes, ridge_tensor_bytes(t) != 0)                                              \
    X(ridge_tensor_contiguous, ridge_tensor_contiguous(t))                                         \
    X(ridge_tensor_device, ridge_tensor_device(t))                                                 \
    X(ridge_retain, ridge_retain(t))                                                               \
    X(ridge_keep, ridge_keep(t))                                                                   \
    X(ridge_reshape, ridge_reshape(t, 2, good.sizes))                                              \
    X(ridge_transpose, ridge_transpose(t, 0, 1))                                                   \
    X(ridge_permute, ridge_permute(t, good.axes))                                                  \
    X(ridge_slice, ridge_slice(t, 0, 0, 1, 1))                                                     \
    X(ridge_select, ridge_select(t, 0, 0))                                                         \
    X(ridge_broadcast, ridge_broadcast(t, 2, good.sizes))                                          \
    X(ridge_unsqueeze, ridge_unsqueeze(t, 0))                                                      \
    X(ridge_squeeze, ridge_squeeze(t, 0))                                                          \
    X(ridge_contiguous, ridge_contiguous(t))                                                       \
    X(ridge_cat, ridge_cat((ridge_tensor *[]){good.x, t}, 2, 0))                                   \
    X(ridge_stack, ridge_stack((ridge_tensor *[]){good.x, t}, 2, 0))                               \
    X(ridge_split, ridge_split(t, 2, 0, good.outputs))                                             \
    X(ridge_unstack, ridge_unstack(t, 0, good.outputs))                                            \
    X(ridge_assign, ridge_assign(t, good.x))                                                       \
    X(ridge_assign_source, ridge_assign(good.x, t))                                                \
    X(ridge_add_scalar, ridge_add_scalar(t, 1))                                                    \
    X(ridge_mul_scalar, ridge_mul_scalar(t, 1))                                                    \
    X(ridge_pow_scalar, ridge_pow_scalar(t, 1))                                                    \
    X(ridge_cast, ridge_cast(t, RIDGE_F16))                                                        \
    X(ridge_sum, ridge_sum(t, 1, good.axis, false))                                                \
    X(ridge_mean, ridge_mean(t, 1, good.axis, false))                                              \
    X(ridge_amax, ridge_amax(t, 1, good.axis, false))                                              \
    X(ridge_amin, ridge_amin(t, 1, good.axis, false))                                              \
    X(ridge_argmax, ridge_argmax(t, 0, false))                                                     \
    X(ridge_argmin, ridge_argmin(t, 0, false))                                                     \
    X(ridge_softmax, ridge_softmax(t, 0))                                                          \
    X(ridge_layer_norm, ridge_layer_norm(t, NULL, NULL, 0))                                        \
    X(ridge_rms_norm, ridge_rms_norm(t, NULL, 0))                                                  \
    X(ridge_matmul, ridge_matmul(t, good.x))                                                       \
    X(ridge_matmul_right, ridge_matmul(good.x, t))                                                 \
    X(ridge_matmul_activation, ridge_matmul_activation(t, good.x, NULL, RIDGE_ACTIVATION_RELU))    \
    X(ridge_linear, ridge_linear(t, good.x, NULL, RIDGE_ACTIVATION_NONE))                          \
    X(ridge_linear_weight, ridge_linear(good.x, t, NULL, RIDGE_ACTIVATION_NONE))                   \
    X(ridge_gated_mlp, ridge_gated_mlp(t, good.x, good.x, NULL))                                   \
    X(ridge_gated_mlp_up, ridge_gated_mlp(good.x, good.x, t, NULL))                                \
    X(ridge_lora, ridge_lora(t, good.x, good.x, good.x, 1))                                        \
    X(ridge_lora_b, ridge_lora(good.x, good.x, good.x, t, 1))                                      \
    X(ridge_quantize, ridge_quantize(t, RIDGE_Q8_0))                                               \
    X(ridge_dequantize, ridge_dequantize(t, RIDGE_F32))                                            \
    X(ridge_embedding, ridge_embedding(t, good.whole))                                             \
    X(ridge_embedding_indices, ridge_embedding(good.x, t))                                         \
    X(ridge_rope, ridge_rope(t, good.x, 1e4f, false))                                              \
    X(ridge_attention, ridge_attention(t, good.heads, good.heads, 1, false))                       \
    X(ridge_attention_v, ridge_attention(good.heads, good.heads, t, 1, false))                     \
    X(ridge_wkv7, ridge_wkv7(t, good.heads, good.heads, good.heads, good.heads, good.heads,        \
                             good.state, good.outputs))                                            \
    X(ridge_wkv7_state, ridge_wkv7(good.heads, good.heads, good.heads, good.heads, good.heads,     \
                                   good.heads, t, good.outputs))                                   \
    X(ridge_token_shift, ridge_token_shift(t, good.x, NULL))                                       \
    X(ridge_token_shift_previous, ridge_token_shift(good.cube, t, NULL))                           \
    X(ridge_compile, ridge_compile(keeps, NULL, &t, 1, 1))

/* Calls with a tensor t that may be NULL, but not released. */
#define OPTIONAL_CALLS(X)                                                                          \
    X(ridge_release, (ridge_release(t), false))                                                    \
    X(ridge_layer_norm_weight, ridge_layer_norm(good.x, t, NULL, 0))                               \
    X(ridge_layer_norm_bias, ridge_layer_norm(good.x, NULL, t, 0))                                 \
    X(ridge_rms_norm_weight, ridge_rms_norm(good.x, t, 0))                                         \
    X(ridge_matmul_bias, ridge_matmul_activation(good.x, good.x, t, RIDGE_ACTIVATION_NONE))        \
    X(ridge_linear_bias, ridge_linear(good.x, good.x, t, RIDGE_ACTIVATION_NONE))                   \
    X(ridge_gated_mlp_down, ridge_gated_mlp(good.x, good.x, good.x, t))                            \
    X(ridge_token_shift_mix, ridge_token_shift(good.cube, good.x, t))

#define DEVICE_CALLS(X)                                                                            \
    X(ridge_device_describe, ridge_device_describe(d, &good.info))                                 \
    X(ridge_synchronize, ridge_synchronize(d))                                                     \
    X(ridge_queue_count, ridge_queue_count(d) != 0)                                                \
    X(ridge_queue_use, ridge_queue_use(d, 0))                                                      \
    X(ridge_queue_wait, ridge_queue_wait(d, 0))                                                    \
    X(ridge_pool_stats, ridge_pool_stats(d, &good.stats))                                          \
    X(ridge_pool_set_capacity, ridge_pool_set_capacity(d, 1))                                      \
    X(ridge_pool_shrink_to_fit, ridge_pool_shrink_to_fit(d, 0))                                    \
    X(ridge_pool_clear, ridge_pool_clear(d))                                                       \
    X(ridge_pool_clear_size, ridge_pool_clear_size(d, 64))                                         \
    X(ridge_from_host, ridge_from_host(d, RIDGE_F32, 2, good.sizes, NULL))                         \
    X(ridge_from_floats, ridge_from_floats(d, RIDGE_F16, 2, good.sizes, NULL))                     \
    X(ridge_zeros, ridge_zeros(d, RIDGE_F32, 2, good.sizes))                                       \
    X(ridge_full, ridge_full(d, RIDGE_F32, 2, good.sizes, 1))                                      \
    X(ridge_arange, ridge_arange(d, RIDGE_F32, 4, 0, 1))                                           \
    X(ridge_rand, ridge_rand(d, RIDGE_F32, 2, good.sizes, 1))                                      \
    X(ridge_randn, ridge_randn(d, RIDGE_F32, 2, good.sizes, 1))                                    \
    X(ridge_trace_begin, ridge_trace_begin(d, "never.ridge"))                                      \
    X(ridge_trace_end, ridge_trace_end(d))                                                         \
    X(ridge_trace_pause, ridge_trace_pause(d))                                                     \
    X(ridge_trace_resume, ridge_trace_resume(d))                                                   \
    X(ridge_range_begin, (ridge_range_begin(d, "name"), false))                                    \
    X(ridge_range_end, (ridge_range_end(d), false))

#define PROGRAM_CALLS(X)                                                                           \
    X(ridge_program_run, ridge_program_run(p, &good.x, good.outputs))                              \
    X(ridge_program_describe, ridge_program_describe(p, &good.program))

#define DEFINE_TENSOR(name, call)                                                                  \
    static bool with_##name(ridge_tensor *t) {                                                     \
        return call;                                                                               \
    }
#define DEFINE_DEVICE(name, call)                                                                  \
    static bool on_##name(ridge_device *d) {                                                       \
        return call;                                                                               \
    }
#define DEFINE_PROGRAM(name, call)                                                                 \
    static bool of_##name(ridge_program *p) {                                                      \
        return call;                                                                               \
    }
#define DEFINE_ELEMENTWISE_1(name) DEFINE_TENSOR(elementwise_##name, ridge_##name(t))
#define DEFINE_ELEMENTWISE_2(name) DEFINE_TENSOR(elementwise_##name, ridge_##name(good.x, t))
#define DEFINE_ELEMENTWISE_3(name)                                                                 \
    DEFINE_TENSOR(elementwise_##name, ridge_##name(good.x, good.x, t))
#define DEFINE_ELEMENTWISE(NAME, name, arity, rule, flops, f32, i32)                               \
    DEFINE_ELEMENTWISE_##arity(name)
TENSOR_CALLS(DEFINE_TENSOR)
OPTIONAL_CALLS(DEFINE_TENSOR)
DEVICE_CALLS(DEFINE_DEVICE)
PROGRAM_CALLS(DEFINE_PROGRAM)
ELEMENTWISE_OPS(DEFINE_ELEMENTWISE)

#define ROW_TENSOR(name, call) {#name, with_##name, false},
#define ROW_OPTIONAL(name, call) {#name, with_##name, true},
#define ROW_DEVICE(name, call) {#name, on_##name},
#define ROW_PROGRAM(name, call) {#name, of_##name},
#define ROW_ELEMENTWISE(NAME, name, arity, rule, flops, f32, i32)                                  \
    {"ridge_" #name, with_elementwise_##name, false},
static const struct {
    const char *name;
    bool (*call)(ridge_tensor *t);
    bool takes_null;
} tensor_calls[] = {TENSOR_CALLS(ROW_TENSOR) OPTIONAL_CALLS(ROW_OPTIONAL)
                        ELEMENTWISE_OPS(ROW_ELEMENTWISE)};
static const struct {
    const char *name;
    bool (*call)(ridge_device *d);
} device_calls[] = {DEVICE_CALLS(ROW_DEVICE)};
static const struct {
    const char *name;
    bool (*call)(ridge_program *p);
} program_calls[] = {PROGRAM_CALLS(ROW_PROGRAM)};

/* The call failed, with the word in a message that starts with the function's name. */
static void check_refused(const char *name, bool succeeded, const char *word) {
    const char *message = ridge_error_message();
    size_t shared = 0; /* a row's name may have a suffix */
    while (message[shared] && message[shared] == name[shared])
        shared++;
    if (succeeded)
        case_fail("%s takes a handle that is %s", name, word);
    else if (ridge_error_code() != RIDGE_ERROR_USAGE || !strstr(message, word))
        case_fail("%s says \"%s\", without \"%s\"", name, message, word);
    else if (shared < strlen("ridge_") + 3)
        case_fail("%s says \"%s\", without its name", name, message);
    ridge_error_clear();
}

static void check_tensor(ridge_tensor *bad, const char *word) {
    ridge_error_clear();
    for (size_t i = 0; i < sizeof tensor_calls / sizeof tensor_calls[0]; i++)
        if (bad || !tensor_calls[i].takes_null)
            check_refused(tensor_calls[i].name, tensor_calls[i].call(bad), word);
}

static void check_device(ridge_device *bad, const char *word) {
    ridge_error_clear();
    for (size_t i = 0; i < sizeof device_calls / sizeof device_calls[0]; i++)
        check_refused(device_calls[i].name, device_calls[i].call(bad), word);
}

static void check_program(ridge_program *bad, const char *word) {
    ridge_error_clear();
    for (size_t i = 0; i < sizeof program_calls / sizeof program_calls[0]; i++)
        check_refused(program_calls[i].name, program_calls[i].call(bad), word);
}

static void prepare(void) {
    ridge_device *device = good.device = session.device;
    good.sizes[0] = good.sizes[1] = 4;
    good.axes[0] = 0, good.axes[1] = 1;
    good.axis[0] = 0;
    good.x = ridge_zeros(device, RIDGE_F32, SIZES(4, 4));
    good.whole = ridge_zeros(device, RIDGE_I32, SIZES(4, 4));
    good.cube = ridge_zeros(device, RIDGE_F32, SIZES(4, 2, 4));
    good.heads = ridge_zeros(device, RIDGE_F32, SIZES(1, 2, 4, 8));
    good.state = ridge_zeros(device, RIDGE_F32, SIZES(1, 4, 8, 8));
}

static void check_tensors(void) {
    if (!case_begin("misuse: tensors that are NULL or were released"))
        return;
    prepare();
    check_tensor(NULL, "NULL");
    ridge_tensor *released = ridge_zeros(session.device, RIDGE_F32, SIZES(4, 4));
    ridge_release(released);
    check_tensor(released, "already released");
    /* another tensor has its memory now */
    ridge_tensor *next = ridge_zeros(session.device, RIDGE_F32, SIZES(4, 4));
    check_tensor(released, "already released");
    CASE_CHECK(next && ridge_tensor_count(next) == 16);
    ridge_scope_begin();
    ridge_tensor *scoped = ridge_zeros(session.device, RIDGE_F32, SIZES(4, 4));
    ridge_scope_end();
    check_tensor(scoped, "already released");
    check_tensor((ridge_tensor *)(uintptr_t)0x7fff12345678, "already released");
    check_tensor((ridge_tensor *)(uintptr_t)UINTPTR_MAX, "already released");
    check_tensor((ridge_tensor *)session.device, "already released");
    case_end();
}

static void check_closed(void) {
    if (!case_begin("misuse: devices that are NULL or closed, and what was on them"))
        return;
    prepare();
    check_device(NULL, "NULL");
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x = ridge_zeros(device, RIDGE_F32, SIZES(4, 4));
    ridge_program *program = ridge_compile(keeps, NULL, &x, 1, 1);
    CASE_CHECK(program != NULL);
    ridge_device_close(device);
    check_tensor(x, "already released");
    check_program(program, "already released");
    check_device(device, "already closed");
    ridge_device *next = ridge_device_open("cpu");
    check_device(device, "already closed");
    ridge_device_close(device);
    check_refused("ridge_device_close", false, "already closed");
    ridge_device_close(next);
    CASE_CHECK(ridge_error_code() == RIDGE_OK);
    case_end();
}

static void check_programs(void) {
    if (!case_begin("misuse: programs that are NULL or were released"))
        return;
    prepare();
    check_program(NULL, "NULL");
    ridge_program *program = ridge_compile(keeps, NULL, &good.x, 1, 1);
    ridge_tensor *released = ridge_zeros(session.device, RIDGE_F32, SIZES(4, 4)), *outputs[1];
    ridge_release(released);
    CASE_CHECK(!ridge_program_run(program, &released, outputs) && !outputs[0]);
    check_refused("ridge_program_run", false, "already released");
    CASE_CHECK(!ridge_program_run(program, NULL, outputs));
    check_refused("ridge_program_run", false, "NULL");
    CASE_CHECK(!ridge_program_run(program, &good.x, NULL));
    check_refused("ridge_program_run", false, "NULL");
    CASE_CHECK(!ridge_program_describe(program, NULL));
    check_refused("ridge_program_describe", false, "NULL");
    ridge_program_release(program);
    CASE_CHECK(ridge_error_code() == RIDGE_OK);
    check_program(program, "already released");
    ridge_program_release(program);
    check_refused("ridge_program_release", false, "already released");
    check_program((ridge_program *)good.x, "already released");
    case_end();
}

/* ---- Functions that misbehave while they are compiled -------------------------------------- */

struct mischief {
    ridge_program *program;
    ridge_tensor *outside, *traced;
    int act;
};

enum {
    RELEASE_INPUT,
    RELEASE_OUTPUT,
    RELEASE_OUTSIDE,
    OUTPUT_FROM_BEFORE,
    OUTPUT_GARBAGE,
    END_SCOPE,
    LEAVE_SCOPE,
    CLOSE_DEVICE,
    RELEASE_PROGRAM,
    ACTS
};

static bool misbehaves(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    struct mischief *mischief = context;
    out[0] = ridge_neg(in[0]);
    switch (mischief->act) {
    case RELEASE_INPUT:
        ridge_release(in[0]);
        break;
    case RELEASE_OUTPUT:
        ridge_release(out[0]);
        break;
    case RELEASE_OUTSIDE:
        ridge_release(mischief->outside);
        break;
    case OUTPUT_FROM_BEFORE:
        out[0] = mischief->traced;
        break;
    case OUTPUT_GARBAGE:
        out[0] = (ridge_tensor *)(uintptr_t)0x123456789;
        break;
    case END_SCOPE:
        ridge_scope_end();
        break;
    case LEAVE_SCOPE:
        ridge_scope_begin();
        ridge_exp(in[0]);
        break;
    case CLOSE_DEVICE:
        ridge_device_close(session.device);
        break;
    case RELEASE_PROGRAM:
        ridge_program_release(mischief->program);
        break;
    }
    mischief->traced = ridge_keep(ridge_keep(ridge_exp(in[0])));
    return true;
}

static void check_mischief(void) {
    if (!case_begin("misuse inside functions that are compiled"))
        return;
    prepare();
    struct mischief mischief = {.act = ACTS};
    ridge_program *program = mischief.program = ridge_compile(misbehaves, &mischief, &good.x, 1, 1);
    CASE_CHECK(program != NULL);
    for (int act = 0; act < ACTS; act++) {
        /* other sizes each time, so that the function is called again */
        ridge_tensor *input = ridge_zeros(session.device, RIDGE_F32, SIZES(3, 5 + act)), *output;
        mischief.act = act;
        mischief.outside = input;
        ridge_error_clear();
        bool ok = ridge_program_run(program, &input, &output);
        bool fine = act == RELEASE_INPUT || act == LEAVE_SCOPE || act == END_SCOPE ||
                    act == CLOSE_DEVICE || act == RELEASE_PROGRAM;
        if (ok != fine || (ok && ridge_tensor_count(output) != 3 * (5 + act)))
            case_fail("act %d: %s", act, ok ? "the run succeeds" : ridge_error_message());
        if (ridge_tensor_count(good.x) != 16)
            case_fail("act %d: a tensor from outside is gone: %s", act, ridge_error_message());
    }
    ridge_error_clear();
    ridge_program_release(program);
    CASE_CHECK(ridge_error_code() == RIDGE_OK);
    ridge_scope_begin();
    ridge_scope_end();
    CASE_CHECK(ridge_error_code() == RIDGE_OK);
    case_end();
}

void check_misuse_of_handles(void) {
    check_tensors();
    check_closed();
    check_programs();
    check_mischief();
}
