/* Misuse: every function rejects invalid arguments with a message that names it and the shapes,
 * returns NULL or false, and leaks nothing. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "arrays.h"

/* A call that must return NULL or false, with this text in the message. */
#define REFUSED(call, ...)                                                                         \
    refused(#call, (call) ? true : false, (const char *[]){__VA_ARGS__, NULL})

static void refused(const char *call, bool succeeded, const char *const *words) {
    if (succeeded)
        case_fail("%s was not refused", call);
    if (ridge_error_code() == RIDGE_OK || ridge_error_code() == RIDGE_ERROR_MEMORY)
        case_fail("%s left the error %d: %s", call, (int)ridge_error_code(), ridge_error_message());
    for (; *words; words++)
        if (!strstr(ridge_error_message(), *words))
            case_fail("%s says \"%s\", without \"%s\"", call, ridge_error_message(), *words);
    ridge_error_clear();
}

static ridge_tensor *zeros(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes) {
    return ridge_zeros(session.device, dtype, rank, sizes);
}

static void check_creating(void) {
    if (!case_begin("misuse of creation"))
        return;
    ridge_device *device = session.device;
    int64_t huge[3] = {(int64_t)1 << 40, (int64_t)1 << 40, 2}, negative[2] = {3, -1};
    int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    REFUSED(ridge_zeros(NULL, RIDGE_F32, SIZES(3)), "ridge_zeros", "device");
    REFUSED(ridge_zeros(device, (enum ridge_dtype)99, SIZES(3)), "ridge_zeros", "99");
    REFUSED(ridge_zeros(device, RIDGE_F32, 3, huge), "ridge_zeros");
    REFUSED(ridge_zeros(device, RIDGE_F32, 2, negative), "ridge_zeros", "-1");
    REFUSED(ridge_zeros(device, RIDGE_F32, 9, nine), "ridge_zeros", "9");
    REFUSED(ridge_from_host(device, RIDGE_Q8_0, SIZES(33), NULL), "ridge_from_host", "32");
    REFUSED(ridge_from_host(device, RIDGE_Q4_K, 0, NULL, NULL), "ridge_from_host", "256");
    REFUSED(ridge_full(device, RIDGE_I32, SIZES(3), 1e10), "ridge_full");
    REFUSED(ridge_full(device, RIDGE_U8, SIZES(3), NAN), "ridge_full");
    REFUSED(ridge_arange(device, RIDGE_Q8_0, 32, 0, 1), "ridge_arange");
    REFUSED(ridge_arange(device, RIDGE_F32, -5, 0, 1), "ridge_arange", "-5");
    REFUSED(ridge_arange(device, RIDGE_F32, 5, 0, NAN), "ridge_arange");
    REFUSED(ridge_rand(device, RIDGE_I32, SIZES(3), 1), "ridge_rand", "i32");
    REFUSED(ridge_randn(device, RIDGE_Q4_K, SIZES(256), 1), "ridge_randn", "q4_k");
    float three[3];
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(4));
    REFUSED(ridge_to_host(x, three, sizeof three), "ridge_to_host", "16", "12");
    REFUSED(ridge_to_floats(x, three, 3), "ridge_to_floats", "4", "3");
    REFUSED(ridge_to_host(NULL, three, sizeof three), "ridge_to_host");
    REFUSED(ridge_from_floats(device, (enum ridge_dtype) - 1, SIZES(3), three), "dtype");
    case_end();
}

static void check_elements(void) {
    if (!case_begin("misuse of elementwise operations"))
        return;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(3, 4)), *y = zeros(RIDGE_F32, SIZES(4, 3));
    ridge_tensor *half = zeros(RIDGE_F16, SIZES(3, 4)), *whole = zeros(RIDGE_I32, SIZES(3, 4));
    ridge_tensor *packed = zeros(RIDGE_Q8_0, SIZES(3, 32));
    REFUSED(ridge_add(x, y), "ridge_add", "[3, 4]", "[4, 3]");
    REFUSED(ridge_add(x, half), "ridge_add", "f32", "f16", "cast");
    REFUSED(ridge_affine(x, x, whole), "ridge_affine", "f32", "i32");
    REFUSED(ridge_sin(whole), "ridge_sin", "i32");
    REFUSED(ridge_pow(whole, whole), "ridge_pow", "i32");
    REFUSED(ridge_logical_not(x), "ridge_logical_not", "f32");
    REFUSED(ridge_where(x, x, x), "ridge_where", "f32");
    REFUSED(ridge_where(whole, x, half), "ridge_where", "f16");
    REFUSED(ridge_neg(packed), "ridge_neg", "q8_0", "ridge_dequantize");
    REFUSED(ridge_cast(packed, RIDGE_F32), "ridge_cast", "ridge_dequantize");
    REFUSED(ridge_cast(x, RIDGE_Q8_0), "ridge_cast", "ridge_quantize");
    REFUSED(ridge_cast(x, (enum ridge_dtype)77), "ridge_cast", "77");
    REFUSED(ridge_pow_scalar(whole, 2), "ridge_pow_scalar", "i32");
    case_end();
}

/* NULL propagates through operations and keeps the first message. */
static void check_null(void) {
    if (!case_begin("misuse: NULL in chains"))
        return;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(3, 4)), *y = zeros(RIDGE_F32, SIZES(5));
    ridge_tensor *bad = ridge_softmax(ridge_tanh(ridge_mul(ridge_add(x, y), x)), -1);
    float value;
    CASE_CHECK(!bad && !ridge_to_host(bad, &value, 4));
    CASE_CHECK(strstr(ridge_error_message(), "ridge_add") && strstr(ridge_error_message(), "[5]"));
    CASE_CHECK(!ridge_matmul(NULL, x) && !ridge_sum(NULL, 0, NULL, false) && !ridge_neg(NULL));
    CASE_CHECK(!ridge_reshape(NULL, 0, NULL) && !ridge_transpose(NULL, 0, 1));
    CASE_CHECK(!ridge_slice(NULL, 0, 0, 1, 1) && !ridge_select(NULL, 0, 0));
    CASE_CHECK(!ridge_broadcast(NULL, 0, NULL) && !ridge_unsqueeze(NULL, 0));
    CASE_CHECK(!ridge_squeeze(NULL, 0) && !ridge_contiguous(NULL) && !ridge_permute(NULL, NULL));
    CASE_CHECK(!ridge_cat((ridge_tensor *[]){x, NULL}, 2, 0));
    CASE_CHECK(!ridge_stack((ridge_tensor *[]){NULL, x}, 2, 0));
    CASE_CHECK(!ridge_split(NULL, 2, 0, (ridge_tensor *[2]){NULL}));
    CASE_CHECK(!ridge_unstack(NULL, 0, (ridge_tensor *[2]){NULL}));
    CASE_CHECK(!ridge_assign(x, NULL) && !ridge_assign(NULL, x));
    CASE_CHECK(!ridge_cast(NULL, RIDGE_F16) && !ridge_add_scalar(NULL, 1));
    CASE_CHECK(!ridge_layer_norm(NULL, NULL, NULL, 0) && !ridge_rms_norm(NULL, NULL, 0));
    CASE_CHECK(!ridge_linear(x, NULL, NULL, RIDGE_ACTIVATION_NONE));
    CASE_CHECK(!ridge_gated_mlp(x, NULL, x, NULL) && !ridge_lora(x, x, NULL, x, 1));
    CASE_CHECK(!ridge_quantize(NULL, RIDGE_Q8_0) && !ridge_dequantize(NULL, RIDGE_F32));
    CASE_CHECK(!ridge_embedding(NULL, x) && !ridge_rope(NULL, x, 1, false));
    CASE_CHECK(!ridge_attention(x, NULL, x, 1, false) && !ridge_token_shift(x, NULL, NULL));
    CASE_CHECK(!ridge_wkv7(x, x, x, x, x, x, NULL, NULL));
    CASE_CHECK(strstr(ridge_error_message(), "ridge_add") && strstr(ridge_error_message(), "[5]"));
    ridge_error_clear();
    CASE_CHECK(ridge_error_code() == RIDGE_OK && !*ridge_error_message());
    REFUSED(ridge_neg(NULL), "ridge_neg", "NULL");
    ridge_release(NULL);
    ridge_program_release(NULL);
    ridge_device_close(NULL);
    CASE_CHECK(!ridge_retain(NULL) && !ridge_keep(NULL));
    CASE_CHECK(ridge_tensor_rank(NULL) == 0 && ridge_tensor_count(NULL) == 0);
    CASE_CHECK(ridge_tensor_size(NULL, 0) == 0 && ridge_tensor_bytes(NULL) == 0);
    CASE_CHECK(!ridge_tensor_contiguous(NULL) && !ridge_tensor_device(NULL));
    CASE_CHECK(!ridge_program_run(NULL, NULL, NULL) && !ridge_program_describe(NULL, NULL));
    case_end();
}

static void check_viewing(void) {
    if (!case_begin("misuse of views"))
        return;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(3, 4)), *packed = zeros(RIDGE_Q8_0, SIZES(3, 64));
    ridge_tensor *parts[4];
    REFUSED(ridge_reshape(x, SIZES(5, -1)), "ridge_reshape", "[3, 4]");
    REFUSED(ridge_reshape(x, SIZES(13)), "ridge_reshape", "[3, 4]", "13");
    REFUSED(ridge_reshape(x, SIZES(-1, -1)), "ridge_reshape", "[3, 4]");
    REFUSED(ridge_reshape(x, SIZES(-2, 6)), "ridge_reshape", "[3, 4]");
    REFUSED(ridge_transpose(x, 0, 2), "ridge_transpose", "2", "[3, 4]");
    REFUSED(ridge_permute(x, (const unsigned[]){0, 0}), "ridge_permute", "[3, 4]");
    REFUSED(ridge_permute(x, (const unsigned[]){0, 7}), "ridge_permute", "[3, 4]");
    REFUSED(ridge_slice(x, 2, 0, 1, 1), "ridge_slice", "[3, 4]");
    REFUSED(ridge_slice(x, 0, 0, 1, 0), "ridge_slice", "[3, 4]");
    REFUSED(ridge_slice(x, 0, 0, 1, -1), "ridge_slice", "[3, 4]");
    REFUSED(ridge_select(x, 1, 4), "ridge_select", "4", "[3, 4]");
    REFUSED(ridge_select(x, 1, -5), "ridge_select", "-5", "[3, 4]");
    REFUSED(ridge_select(x, 5, 0), "ridge_select", "[3, 4]");
    REFUSED(ridge_broadcast(x, SIZES(3, 5)), "ridge_broadcast", "[3, 4]");
    REFUSED(ridge_broadcast(x, SIZES(4)), "ridge_broadcast", "[3, 4]");
    REFUSED(ridge_unsqueeze(x, 4), "ridge_unsqueeze", "4", "[3, 4]");
    REFUSED(ridge_unsqueeze(zeros(RIDGE_F32, SIZES(1, 1, 1, 1, 1, 1, 1, 1)), 0), "ridge_unsqueeze");
    REFUSED(ridge_squeeze(x, 0), "ridge_squeeze", "3", "[3, 4]");
    REFUSED(ridge_slice(packed, 1, 0, 16, 1), "ridge_slice", "q8_0", "32");
    REFUSED(ridge_cat((ridge_tensor *[]){x}, 0, 0), "ridge_cat");
    REFUSED(ridge_cat((ridge_tensor *[]){x, x}, 2, 2), "ridge_cat", "[3, 4]");
    REFUSED(ridge_cat((ridge_tensor *[]){x, zeros(RIDGE_F32, SIZES(3, 5))}, 2, 0), "ridge_cat",
            "[3, 4]", "[3, 5]");
    REFUSED(ridge_cat((ridge_tensor *[]){x, zeros(RIDGE_I32, SIZES(3, 4))}, 2, 0), "ridge_cat",
            "i32");
    REFUSED(ridge_stack((ridge_tensor *[]){x, zeros(RIDGE_F32, SIZES(3, 5))}, 2, 0), "ridge_stack",
            "[3, 5]");
    REFUSED(ridge_split(x, 3, 1, parts), "ridge_split", "[3, 4]", "3");
    CASE_CHECK(!parts[0] && !parts[1] && !parts[2]);
    REFUSED(ridge_split(x, 0, 1, parts), "ridge_split", "[3, 4]");
    REFUSED(ridge_unstack(x, 2, parts), "ridge_unstack", "[3, 4]");
    REFUSED(ridge_assign(x, zeros(RIDGE_F32, SIZES(5))), "ridge_assign", "[3, 4]", "[5]");
    REFUSED(ridge_assign(ridge_broadcast(x, SIZES(2, 3, 4)), x), "ridge_assign", "[2, 3, 4]");
    REFUSED(ridge_assign(packed, x), "ridge_assign", "q8_0");
    case_end();
}

static void check_reducing(void) {
    if (!case_begin("misuse of reductions and norms"))
        return;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(3, 4)), *whole = zeros(RIDGE_I32, SIZES(3, 4));
    ridge_tensor *four = zeros(RIDGE_F32, SIZES(4)), *three = zeros(RIDGE_F32, SIZES(3));
    REFUSED(ridge_sum(x, 1, (int[]){2}, false), "ridge_sum", "2", "[3, 4]");
    REFUSED(ridge_amax(x, 2, (int[]){0, -2}, false), "ridge_amax", "twice", "[3, 4]");
    REFUSED(ridge_mean(whole, 0, NULL, false), "ridge_mean", "i32");
    REFUSED(ridge_amin(zeros(RIDGE_Q8_0, SIZES(32)), 0, NULL, false), "ridge_amin", "q8_0");
    REFUSED(ridge_argmax(x, -3, false), "ridge_argmax", "-3", "[3, 4]");
    REFUSED(ridge_softmax(whole, 0), "ridge_softmax", "i32");
    REFUSED(ridge_softmax(x, 2), "ridge_softmax", "[3, 4]");
    REFUSED(ridge_layer_norm(x, three, NULL, 0), "ridge_layer_norm", "[3, 4]", "[3]");
    REFUSED(ridge_layer_norm(x, four, three, 0), "ridge_layer_norm", "[3]");
    REFUSED(ridge_rms_norm(x, zeros(RIDGE_F16, SIZES(4)), 0), "ridge_rms_norm", "f16");
    REFUSED(ridge_rms_norm(zeros(RIDGE_F32, 0, NULL), NULL, 0), "ridge_rms_norm", "last axis");
    case_end();
}

static void check_matrices(void) {
    if (!case_begin("misuse of matrices"))
        return;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(3, 64)), *w = zeros(RIDGE_F32, SIZES(64, 5));
    ridge_tensor *packed = zeros(RIDGE_Q8_0, SIZES(5, 64)), *half = zeros(RIDGE_F16, SIZES(64, 5));
    enum ridge_activation none = RIDGE_ACTIVATION_NONE;
    REFUSED(ridge_matmul(x, x), "ridge_matmul", "[3, 64]");
    REFUSED(ridge_matmul(x, half), "ridge_matmul", "f16", "ridge_cast");
    REFUSED(ridge_matmul(zeros(RIDGE_F32, SIZES(63)), w), "ridge_matmul", "[63]");
    REFUSED(ridge_matmul(zeros(RIDGE_F32, 0, NULL), w), "ridge_matmul", "scalar");
    REFUSED(ridge_matmul(zeros(RIDGE_I32, SIZES(3, 64)), w), "ridge_matmul", "i32");
    REFUSED(ridge_matmul(zeros(RIDGE_F32, SIZES(2, 3, 64)), zeros(RIDGE_F32, SIZES(3, 64, 5))),
            "ridge_matmul", "[2, 3, 64]", "[3, 64, 5]");
    REFUSED(ridge_matmul(x, packed), "ridge_matmul", "q8_0");
    REFUSED(ridge_matmul(packed, w), "ridge_matmul", "q8_0");
    REFUSED(ridge_matmul_activation(x, w, zeros(RIDGE_F32, SIZES(4)), none),
            "ridge_matmul_activation", "[4]");
    REFUSED(ridge_matmul_activation(x, w, NULL, (enum ridge_activation)9), "9");
    REFUSED(ridge_linear(x, w, NULL, none), "ridge_linear", "[3, 64]", "[64, 5]");
    REFUSED(ridge_linear(x, zeros(RIDGE_F32, SIZES(2, 5, 64)), NULL, none), "ridge_linear");
    REFUSED(ridge_linear(zeros(RIDGE_F32, SIZES(3, 32)), packed, NULL, none), "ridge_linear", "64");
    REFUSED(ridge_gated_mlp(x, w, zeros(RIDGE_F32, SIZES(64, 6)), NULL), "ridge_gated_mlp");
    REFUSED(ridge_gated_mlp(x, w, w, w), "ridge_gated_mlp", "[64, 5]");
    REFUSED(ridge_lora(x, w, w, w, 1), "ridge_lora", "[64, 5]");
    REFUSED(ridge_quantize(x, RIDGE_F16), "ridge_quantize", "f16");
    REFUSED(ridge_quantize(zeros(RIDGE_I32, SIZES(32)), RIDGE_Q8_0), "ridge_quantize", "i32");
    REFUSED(ridge_quantize(x, RIDGE_Q4_K), "ridge_quantize", "256", "[3, 64]");
    REFUSED(ridge_dequantize(x, RIDGE_F32), "ridge_dequantize", "f32");
    REFUSED(ridge_dequantize(packed, RIDGE_I32), "ridge_dequantize", "i32");
    case_end();
}

static void check_modeling(void) {
    if (!case_begin("misuse of model operations"))
        return;
    ridge_tensor *table = zeros(RIDGE_F32, SIZES(10, 4)), *x = zeros(RIDGE_F32, SIZES(1, 4, 5, 8));
    ridge_tensor *k = zeros(RIDGE_F32, SIZES(1, 3, 6, 8)),
                 *state = zeros(RIDGE_F32, SIZES(1, 5, 8, 8));
    REFUSED(ridge_embedding(table, table), "ridge_embedding", "i32", "[10, 4]");
    REFUSED(ridge_embedding(zeros(RIDGE_F32, SIZES(10)), zeros(RIDGE_I32, SIZES(2))),
            "ridge_embedding", "[10]");
    ridge_tensor *places = zeros(RIDGE_I32, SIZES(5));
    REFUSED(ridge_rope(table, places, 1e4f, false), "ridge_rope", "[10, 4]");
    REFUSED(ridge_rope(zeros(RIDGE_F32, SIZES(1, 1, 1, 3)), places, 1e4f, false), "ridge_rope",
            "even");
    REFUSED(ridge_rope(x, places, 0, false), "ridge_rope", "base");
    REFUSED(ridge_rope(x, zeros(RIDGE_I32, SIZES(6)), 1e4f, false), "ridge_rope", "6");
    REFUSED(ridge_rope(x, zeros(RIDGE_F32, SIZES(5)), 1e4f, false), "ridge_rope", "i32");
    struct ridge_attention_mask mask = {.window = 3};
    REFUSED(ridge_attention_masked(x, x, x, 1, &mask), "ridge_attention", "window");
    mask = (struct ridge_attention_mask){.lengths = table};
    REFUSED(ridge_attention_masked(x, x, x, 1, &mask), "ridge_attention", "lengths");
    mask = (struct ridge_attention_mask){.added = places};
    REFUSED(ridge_attention_masked(x, x, x, 1, &mask), "ridge_attention", "mask");
    REFUSED(ridge_attention(x, k, k, 1, false), "ridge_attention", "4", "3");
    REFUSED(ridge_attention(x, table, k, 1, false), "ridge_attention", "[10, 4]");
    REFUSED(ridge_attention(zeros(RIDGE_F32, SIZES(1, 3, 7, 8)), k, k, 1, true), "ridge_attention",
            "7", "6");
    REFUSED(ridge_attention(zeros(RIDGE_F16, SIZES(1, 3, 6, 8)), k, k, 1, true), "ridge_attention",
            "f16");
    REFUSED(ridge_wkv7(x, x, x, x, x, x, k, NULL), "ridge_wkv7", "[1, 5, 8, 8]");
    REFUSED(ridge_wkv7(x, x, x, x, x, k, state, NULL), "ridge_wkv7", "[1, 3, 6, 8]");
    REFUSED(ridge_token_shift(zeros(RIDGE_F32, SIZES(2, 3, 4)), table, NULL), "ridge_token_shift",
            "[2, 3, 4]", "[10, 4]");
    case_end();
}

static bool refuses(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    return (out[0] = ridge_matmul(ridge_sin(in[0]), in[1])) != NULL;
}

static bool sets_nothing(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context, (void)in, (void)out;
    return true;
}

static bool reads_back(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    float value[12];
    out[0] = ridge_sin(in[0]);
    return ridge_to_host(out[0], value, sizeof value);
}

static void check_compiling(void) {
    if (!case_begin("misuse of compiled functions"))
        return;
    ridge_tensor *inputs[2] = {zeros(RIDGE_F32, SIZES(3, 4)), zeros(RIDGE_F32, SIZES(3, 4))};
    ridge_tensor *outputs[2];
    REFUSED(ridge_compile(NULL, NULL, inputs, 2, 1), "ridge_compile");
    REFUSED(ridge_compile(refuses, NULL, inputs, 2, 0), "ridge_compile");
    REFUSED(ridge_compile(refuses, NULL, inputs, 2, 1), "ridge_compile", "ridge_matmul", "[3, 4]");
    REFUSED(ridge_compile(sets_nothing, NULL, inputs, 2, 1), "ridge_compile", "output 0");
    REFUSED(ridge_compile(reads_back, NULL, inputs, 2, 1), "ridge_compile", "ridge_to_host");
    inputs[1] = zeros(RIDGE_F32, SIZES(4, 5));
    ridge_program *program = ridge_compile(refuses, NULL, inputs, 2, 1);
    CASE_CHECK(program && ridge_program_run(program, inputs, outputs));
    inputs[1] = inputs[0];
    REFUSED(ridge_program_run(program, inputs, outputs), "ridge_program_run", "ridge_matmul");
    CASE_CHECK(!outputs[0]);
    inputs[1] = NULL;
    REFUSED(ridge_program_run(program, inputs, outputs), "ridge_program_run", "NULL");
    ridge_program_release(program);
    case_end();
}

static void check_devices(void) {
    if (!case_begin("misuse of devices"))
        return;
    REFUSED(ridge_device_open("abacus"), "abacus");
    REFUSED(ridge_device_open("cpu:7777"), "cpu");
    REFUSED(ridge_queue_use(session.device, 1000), "1000");
    REFUSED(ridge_queue_wait(session.device, 1000), "1000");
    REFUSED(ridge_synchronize(NULL), "NULL");
    REFUSED(ridge_trace_end(session.device), "trace");
    ridge_device *other = ridge_device_open("cpu");
    if (!other)
        case_fail("%s", ridge_error_message());
    ridge_tensor *here = zeros(RIDGE_F32, SIZES(3)),
                 *there = ridge_zeros(other, RIDGE_F32, SIZES(3));
    REFUSED(ridge_add(here, there), "ridge_add", "different devices", "[3]");
    REFUSED(ridge_cat((ridge_tensor *[]){here, there}, 2, 0), "ridge_cat", "different devices");
    REFUSED(ridge_assign(here, there), "ridge_assign", "different devices");
    ridge_release(there);
    ridge_device_close(other);
    case_end();
}

/* NULL instead of an array or memory, and invalid enumerators. */
static void check_arguments(void) {
    if (!case_begin("misuse: NULL arrays and values out of range"))
        return;
    ridge_device *device = session.device;
    enum ridge_dtype no_dtype[] = {RIDGE_DTYPES, (enum ridge_dtype)50, (enum ridge_dtype) - 1};
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(4, 32)), *packed = zeros(RIDGE_Q8_0, SIZES(4, 32));
    float values[4] = {0};
    for (unsigned i = 0; i < sizeof no_dtype / sizeof no_dtype[0]; i++) {
        enum ridge_dtype dtype = no_dtype[i];
        REFUSED(ridge_from_host(device, dtype, SIZES(4), NULL), "ridge_from_host", "dtype");
        REFUSED(ridge_from_floats(device, dtype, SIZES(4), values), "ridge_from_floats", "dtype");
        REFUSED(ridge_zeros(device, dtype, SIZES(4)), "ridge_zeros", "dtype");
        REFUSED(ridge_full(device, dtype, SIZES(4), 1), "ridge_full", "dtype");
        REFUSED(ridge_arange(device, dtype, 4, 0, 1), "ridge_arange", "dtype");
        REFUSED(ridge_rand(device, dtype, SIZES(4), 1), "ridge_rand", "dtype");
        REFUSED(ridge_randn(device, dtype, SIZES(4), 1), "ridge_randn", "dtype");
        REFUSED(ridge_cast(x, dtype), "ridge_cast", "dtype");
        REFUSED(ridge_quantize(x, dtype), "ridge_quantize", "dtype");
        REFUSED(ridge_dequantize(packed, dtype), "ridge_dequantize", "dtype");
        CASE_CHECK(strcmp(ridge_dtype_name(dtype), "?") == 0 && ridge_dtype_bytes(dtype, 4) == 0);
    }
    CASE_CHECK(ridge_dtype_bytes(RIDGE_F32, -1) == 0);
    CASE_CHECK(ridge_dtype_bytes(RIDGE_F32, INT64_MAX) == 0);
    REFUSED(ridge_from_host(device, RIDGE_F32, 2, NULL, values), "ridge_from_host", "sizes",
            "NULL");
    REFUSED(ridge_from_floats(device, RIDGE_F16, 2, NULL, values), "ridge_from_floats", "sizes");
    REFUSED(ridge_zeros(device, RIDGE_F32, 1, NULL), "ridge_zeros", "sizes");
    REFUSED(ridge_full(device, RIDGE_F32, 1, NULL, 1), "ridge_full", "sizes");
    REFUSED(ridge_rand(device, RIDGE_F32, 1, NULL, 1), "ridge_rand", "sizes");
    REFUSED(ridge_randn(device, RIDGE_F32, 1, NULL, 1), "ridge_randn", "sizes");
    REFUSED(ridge_zeros(device, RIDGE_F32, UINT_MAX, NULL), "ridge_zeros", "rank");
    REFUSED(ridge_to_host(x, NULL, 512), "ridge_to_host", "NULL");
    REFUSED(ridge_to_floats(x, NULL, 128), "ridge_to_floats", "NULL");
    REFUSED(ridge_to_floats(packed, NULL, 128), "ridge_to_floats", "NULL");
    REFUSED(ridge_reshape(x, 2, NULL), "ridge_reshape", "sizes");
    REFUSED(ridge_reshape(x, UINT_MAX, NULL), "ridge_reshape", "rank");
    REFUSED(ridge_reshape(x, SIZES(INT64_MAX, INT64_MAX)), "ridge_reshape");
    REFUSED(ridge_permute(x, NULL), "ridge_permute", "axes");
    REFUSED(ridge_broadcast(x, 2, NULL), "ridge_broadcast", "sizes");
    REFUSED(ridge_broadcast(x, SIZES(INT64_MAX, 4, 32)), "ridge_broadcast");
    REFUSED(ridge_transpose(x, INT_MIN, INT_MAX), "ridge_transpose");
    REFUSED(ridge_slice(x, 0, INT64_MIN, INT64_MAX, 1), "ridge_slice");
    REFUSED(ridge_slice(x, 0, INT64_MAX, INT64_MIN, INT64_MAX), "ridge_slice");
    REFUSED(ridge_select(x, 0, INT64_MIN), "ridge_select");
    REFUSED(ridge_unsqueeze(x, INT_MIN), "ridge_unsqueeze");
    REFUSED(ridge_squeeze(x, INT_MAX), "ridge_squeeze");
    REFUSED(ridge_cat(NULL, 2, 0), "ridge_cat", "NULL");
    REFUSED(ridge_stack(NULL, 2, 0), "ridge_stack", "NULL");
    REFUSED(ridge_stack((ridge_tensor *[]){x, x}, 2, INT_MIN), "ridge_unsqueeze");
    REFUSED(ridge_split(x, 2, 0, NULL), "ridge_split", "NULL");
    REFUSED(ridge_unstack(x, 0, NULL), "ridge_unstack", "NULL");
    REFUSED(ridge_sum(x, 1, NULL, false), "ridge_sum", "axes");
    REFUSED(ridge_mean(x, UINT_MAX, NULL, false), "ridge_mean", "axes");
    REFUSED(ridge_amax(x, 1, (int[]){INT_MIN}, false), "ridge_amax");
    REFUSED(ridge_argmax(x, INT_MAX, false), "ridge_argmax");
    REFUSED(ridge_softmax(x, INT_MIN), "ridge_softmax");
    REFUSED(ridge_matmul_activation(x, ridge_transpose(x, 0, 1), NULL, (enum ridge_activation) - 1),
            "ridge_matmul_activation", "-1");
    REFUSED(ridge_linear(x, x, NULL, (enum ridge_activation)4), "ridge_linear", "4");
    CASE_CHECK(ridge_tensor_size(x, INT_MIN) == 0 && ridge_tensor_size(x, INT_MAX) == 0);
    CASE_CHECK(ridge_tensor_stride(x, INT_MIN) == 0 && ridge_tensor_stride(x, 2) == 0);
    case_end();
}

static void check_device_arguments(void) {
    if (!case_begin("misuse: NULL and large values given to devices"))
        return;
    ridge_device *device = session.device;
    ridge_tensor *x = zeros(RIDGE_F32, SIZES(4)), *outputs[1];
    CASE_CHECK(ridge_device_list(NULL, 100) == ridge_device_list(NULL, 0));
    REFUSED(ridge_device_describe(device, NULL), "ridge_device_describe", "NULL");
    REFUSED(ridge_pool_stats(device, NULL), "ridge_pool_stats", "NULL");
    REFUSED(ridge_trace_begin(device, NULL), "ridge_trace_begin", "NULL");
    REFUSED(ridge_queue_use(device, UINT_MAX), "queue");
    REFUSED(ridge_device_open(""), "device");
    REFUSED(ridge_device_open("cpu:99999999999999999999"), "cpu");
    CASE_CHECK(ridge_pool_shrink_to_fit(device, UINT64_MAX));
    CASE_CHECK(ridge_pool_clear_size(device, UINT64_MAX) || ridge_error_code() != RIDGE_OK);
    CASE_CHECK(ridge_pool_clear_size(device, 0) || ridge_error_code() != RIDGE_OK);
    ridge_error_clear();
    ridge_range_begin(device, NULL);
    REFUSED(false, "ridge_range_begin", "NULL");
    ridge_range_end(device);
    REFUSED(ridge_compile(refuses, NULL, NULL, 2, 1), "ridge_compile", "NULL");
    REFUSED(ridge_compile(sets_nothing, NULL, &x, 1, 1), "ridge_compile", "output 0");
    REFUSED(ridge_compile(NULL, NULL, &x, 1, 1), "ridge_compile");
    REFUSED(ridge_program_run(NULL, &x, outputs), "ridge_program_run", "NULL");
    ridge_scope_begin();
    ridge_scope_end();
    CASE_CHECK(ridge_error_code() == RIDGE_OK);
    case_end();
}

/* An end without a begin, in a thread that has no scope open. */
static void *end_scope(void *said) {
    ridge_scope_end();
    snprintf(said, 200, "%s", ridge_error_message());
    return NULL;
}

static void check_scopes(void) {
    if (!case_begin("misuse of scopes"))
        return;
    char said[200] = "";
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_scope, said) == 0)
        pthread_join(thread, NULL);
    CASE_CHECK(strstr(said, "ridge_scope_end"));
    case_end();
}

void check_misuse(void) {
    check_creating();
    check_elements();
    check_null();
    check_viewing();
    check_reducing();
    check_matrices();
    check_modeling();
    check_compiling();
    check_devices();
    check_arguments();
    check_device_arguments();
    check_scopes();
    check_misuse_of_handles();
}
