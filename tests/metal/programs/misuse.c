/* Does the stand-in notice what Metal forbids? Every case breaks one rule in a process of its own,
 * which must end with the expected message.
 *
 *   misuse                prints what was not noticed and `N passed, N failed`
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/metal_library.h"

static const struct metal_library *metal;
static metal_id device, queue;

static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void twice(device float *x [[buffer(0)]], constant long &n [[buffer(1)]],\n"
    "                  uint3 position [[thread_position_in_threadgroup]]) {\n"
    "    if (n > 1 && position.x == 0) return;\n"
    "    if (n > 0) threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    x[position.x] *= 2.0f;\n"
    "}\n";

static metal_id text(const char *string) {
    return SEND(metal, string_with_utf8, metal->objc_getClass("NSString"), string);
}
static metal_id pipeline(void) {
    metal_id error = NULL;
    metal_id options = SEND(metal, new, metal->objc_getClass("MTLCompileOptions"));
    SEND(metal, set_math_mode, options, MTL_MATH_MODE_SAFE);
    metal_id library = SEND(metal, new_library, device, text(source), options, &error);
    metal_id function = SEND(metal, new_function, library, text("twice"));
    metal_id state = SEND(metal, new_pipeline, device, function, &error);
    SEND(metal, release, function);
    SEND(metal, release, library);
    SEND(metal, release, options);
    return state;
}
static metal_id buffer_of(metal_uint bytes) {
    return SEND(metal, new_buffer, device, bytes, MTL_RESOURCE_STORAGE_SHARED);
}
static metal_id command_buffer(void) {
    return SEND(metal, command_buffer, queue);
}

static void unknown_selector(void) {
    SEND(metal, commit, queue);
}
static void released_object(void) {
    metal_id buffer = buffer_of(64);
    SEND(metal, release, buffer);
    SEND(metal, contents, buffer);
}
static void over_release(void) {
    metal_id buffer = buffer_of(64);
    SEND(metal, release, buffer);
    SEND(metal, release, buffer);
}
static void leak(void) {
    buffer_of(64);
}
static void kept_without_retain(void) {
    void *pool = metal->objc_autoreleasePoolPush();
    metal_id buffer = command_buffer();
    metal->objc_autoreleasePoolPop(pool);
    SEND(metal, commit, buffer);
}
static void pools_out_of_order(void) {
    void *outer = metal->objc_autoreleasePoolPush();
    metal->objc_autoreleasePoolPush();
    metal->objc_autoreleasePoolPop(outer);
}
static void wrong_class(void) {
    metal_id encoder = SEND(metal, compute_encoder, command_buffer());
    SEND(metal, set_buffer, encoder, queue, 0, 0);
}
static void encoder_not_ended(void) {
    metal_id buffer = command_buffer();
    SEND(metal, compute_encoder, buffer);
    SEND(metal, commit, buffer);
}
static void two_encoders(void) {
    metal_id buffer = command_buffer();
    SEND(metal, compute_encoder, buffer);
    SEND(metal, blit_encoder, buffer);
}
static void committed_twice(void) {
    metal_id buffer = command_buffer();
    SEND(metal, commit, buffer);
    SEND(metal, commit, buffer);
}
static void waited_for_too_early(void) {
    SEND(metal, wait, command_buffer());
}
static void dispatch(int64_t n, bool with_buffer, metal_uint threads) {
    metal_id state = pipeline(), x = buffer_of(4096), buffer = command_buffer();
    metal_id encoder = SEND(metal, compute_encoder, buffer);
    SEND(metal, set_pipeline, encoder, state);
    if (with_buffer)
        SEND(metal, set_buffer, encoder, x, 0, 0);
    SEND(metal, set_bytes, encoder, &n, sizeof n, 1);
    SEND(metal, dispatch, encoder, ((metal_size){1, 1, 1}), ((metal_size){threads, 1, 1}));
    SEND(metal, end_encoding, encoder);
    SEND(metal, commit, buffer);
    SEND(metal, wait, buffer);
    SEND(metal, release, state);
    SEND(metal, release, x);
}
static void missing_parameter(void) {
    dispatch(0, false, 32);
}
static void large_threadgroup(void) {
    dispatch(0, true, 2048);
}
static void divergent_barrier(void) {
    dispatch(2, true, 32);
}
static void unaligned_blit(void) {
    metal_id x = buffer_of(64), encoder = SEND(metal, blit_encoder, command_buffer());
    SEND(metal, copy, encoder, x, 1, x, 32, 3);
}
static void blit_outside(void) {
    metal_id x = buffer_of(64), encoder = SEND(metal, blit_encoder, command_buffer());
    SEND(metal, copy, encoder, x, 0, x, 32, 64);
}
static void deadlock(void) {
    metal_id event = SEND(metal, new_shared_event, device), buffer = command_buffer();
    SEND(metal, wait_for_event, buffer, event, 1);
    SEND(metal, commit, buffer);
    SEND(metal, wait, buffer);
}
static void misaligned_threadgroup_memory(void) {
    SEND(metal, set_threadgroup_memory, SEND(metal, compute_encoder, command_buffer()), 20, 0);
}
static void fast_math(void) {
    metal_id error = NULL, options = SEND(metal, new, metal->objc_getClass("MTLCompileOptions"));
    SEND(metal, new_library, device, text(source), options, &error);
}
static void struct_without_stret(void) {
#ifdef __x86_64__
    metal->call.name(device, metal->selector.threads_max);
#else
    fprintf(stderr, "needs objc_msgSend_stret\n"); /* only on x86-64 */
    abort();
#endif
}
static void correct(void) {
    dispatch(1, true, 64);
    fprintf(stderr, "metal stand-in: no rule was broken\n");
    abort();
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *expected;
} cases[] = {
    {"an unknown selector", unknown_selector, "MTLCommandQueue has no method commit"},
    {"a message to a released object", released_object, "sent to a MTLBuffer that was released"},
    {"one release too many", over_release, "release sent to a MTLBuffer that was released"},
    {"a leak", leak, "leak: a MTLBuffer"},
    {"an autoreleased object kept without retain", kept_without_retain,
     "sent to a MTLCommandBuffer that was released"},
    {"pools popped out of order", pools_out_of_order, "not the innermost"},
    {"an object of the wrong class", wrong_class, "a MTLCommandQueue instead of a MTLBuffer"},
    {"an encoder that is not ended", encoder_not_ended, "has an open encoder"},
    {"two encoders at a time", two_encoders, "has an open encoder"},
    {"a second commit", committed_twice, "is committed"},
    {"a wait before the commit", waited_for_too_early, "is not committed"},
    {"a missing parameter", missing_parameter, "are set"},
    {"too many threads", large_threadgroup, "2048 threads in a threadgroup"},
    {"a barrier that some threads miss", divergent_barrier, "31 of 32 threads are at a barrier"},
    {"an unaligned blit", unaligned_blit, "multiples of 4"},
    {"a blit outside of a buffer", blit_outside, "outside of a buffer"},
    {"a deadlock", deadlock, "deadlock"},
    {"threadgroup memory of 20 bytes", misaligned_threadgroup_memory,
     "setThreadgroupMemoryLength: 20"},
    {"fast math", fast_math, "fast math"},
    {"a struct through objc_msgSend", struct_without_stret, "needs objc_msgSend_stret"},
    {"a correct program", correct, "no rule was broken"},
};

/* In a child: sets up, breaks the rule, ends. */
static void child(size_t i, int errors) {
    struct status status;
    dup2(errors, 2);
    if (!metal_library(&metal, &status)) {
        fprintf(stderr, "%s\n", status.message);
        exit(2);
    }
    void *pool = metal->objc_autoreleasePoolPush();
    device = metal->MTLCreateSystemDefaultDevice();
    queue = SEND(metal, new_queue, device, 8);
    cases[i].run();
    SEND(metal, release, queue);
    SEND(metal, release, device);
    metal->objc_autoreleasePoolPop(pool);
    exit(0);
}

static bool is_noticed(size_t i, char *printed, size_t size) {
    int pipes[2], code = 0;
    if (pipe(pipes) != 0)
        return false;
    pid_t process = fork();
    if (process == 0)
        child(i, pipes[1]);
    close(pipes[1]);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < size && (got = read(pipes[0], printed + length, size - 1 - length)) > 0)
        length += (size_t)got;
    printed[length] = 0;
    close(pipes[0]);
    waitpid(process, &code, 0);
    return code != 0 && strstr(printed, cases[i].expected);
}

int main(void) {
    unsigned passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static char printed[8192];
        if (is_noticed(i, printed, sizeof printed)) {
            passed++;
            continue;
        }
        failed++;
        printf("FAILED %s: expected \"%s\", not \"%s\"\n", cases[i].name, cases[i].expected,
               printed);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
