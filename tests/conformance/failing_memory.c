/* Every allocation of a scenario of many operations is made to fail in turn: each time there
 * must be a NULL or false with RIDGE_ERROR_MEMORY, no crash, and a device that works afterwards.
 * A build with SAN=address finds leaks. */
#include "base/memory.h"
#include "cases.h"

static bool compiled_part(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *product = ridge_gelu(ridge_matmul(in[0], in[1]));
    out[0] = ridge_softmax(ridge_add(product, in[0]), -1);
    out[1] = ridge_sum(product, 1, (int[]){0}, false);
    return out[0] && out[1];
}

static bool compile_and_run(ridge_tensor *x, ridge_tensor *w) {
    ridge_tensor *inputs[2] = {x, w}, *outputs[2];
    ridge_program *program = ridge_compile(compiled_part, NULL, inputs, 2, 2);
    bool ok = program && ridge_program_run(program, inputs, outputs);
    ridge_program_release(program);
    return ok;
}

static bool join_and_part(ridge_tensor *x) {
    ridge_tensor *parts[2], *joined, *turned = ridge_transpose(x, 0, 1);
    if (!ridge_split(x, 2, 0, parts))
        return false;
    joined = ridge_stack(parts, 2, 1);
    return joined && ridge_reshape(turned, 1, (const int64_t[]){-1}) &&
           ridge_assign(parts[0], parts[1]) && ridge_cast(joined, RIDGE_F16) &&
           ridge_argmax(joined, 0, false);
}

static bool models(ridge_tensor *y, ridge_tensor *w) {
    const int64_t heads[4] = {1, 4, 16, 64};
    ridge_tensor *q = ridge_reshape(y, 4, heads);
    ridge_tensor *places = ridge_arange(ridge_tensor_device(y), RIDGE_I32, 16, 0, 1);
    return ridge_attention(ridge_rope(q, places, 1e4f, false), q, q, 0.1f, true) &&
           ridge_linear(y, ridge_quantize(w, RIDGE_Q8_0), NULL, RIDGE_ACTIVATION_SILU) &&
           ridge_layer_norm(y, NULL, NULL, 1e-5f) && ridge_gated_mlp(y, w, w, w);
}

/* Every kind of planning and running; the numbers are checked elsewhere. */
static bool scenario(const char *device_name) {
    float data[64 * 64], back[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        data[i] = (float)(i % 17) - 8;
    const int64_t square[2] = {64, 64};
    ridge_device *device = ridge_device_open(device_name);
    if (!device)
        return false;
    ridge_scope_begin();
    ridge_tensor *x = ridge_from_host(device, RIDGE_F32, 2, square, data);
    ridge_tensor *w = ridge_randn(device, RIDGE_F32, 2, square, 1);
    ridge_tensor *y = ridge_add(ridge_tanh(x), ridge_select(w, 0, 3));
    bool ok = y && (session.quick || models(y, w)) && join_and_part(x) && compile_and_run(x, w) &&
              ridge_to_host(ridge_transpose(y, 0, 1), back, sizeof back) &&
              ridge_synchronize(device);
    ridge_scope_end();
    ridge_device_close(device);
    return ok;
}

static void check_device_works(uint64_t nth) {
    float values[3] = {0};
    ridge_scope_begin();
    ridge_tensor *x = ridge_arange(session.device, RIDGE_F32, 3, 1, 1);
    if (!ridge_to_host(ridge_mul(x, x), values, sizeof values) || values[2] != 9)
        case_fail("after allocation %llu failed the device does not work: %s",
                  (unsigned long long)nth, ridge_error_message());
    ridge_scope_end();
}

void check_failing_memory(void) {
    if (!case_begin("every allocation fails once"))
        return;
    /* Once without failures, so that kernels come from the cache and not from a compiler. */
    if (!scenario(session.name))
        case_fail("the scenario does not run: %s", ridge_error_message());
    bool done = false;
    /* Where a scenario takes long, the later ones are a sample. */
    unsigned step = session.native ? (session.quick ? 8 : 1) : (session.quick ? 97 : 29);
    uint64_t nth = 1;
    for (; !done && nth<100000; nth += nth> 40 ? 1 + noise_bits(5, nth) % step * 2 : 1) {
        ridge_error_clear();
        memory_fail_from(nth);
        bool ok = scenario(session.name);
        memory_fail_from(0);
        enum ridge_error code = ridge_error_code();
        if (!ok && code != RIDGE_ERROR_MEMORY)
            case_fail("allocation %llu failed, and it ended with error %d: %s",
                      (unsigned long long)nth, (int)code, ridge_error_message());
        done = ok && code == RIDGE_OK;
        if (ok && !done)
            continue; /* the failed allocation was not needed, such as a scope */
        if (nth % 16 == 1)
            check_device_works(nth);
    }
    check_device_works(nth);
    CASE_CHECK(done);
    case_end();
}
