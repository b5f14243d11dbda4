/* Compiles with NVRTC, through the cache on disk.
 *
 * The binary is built for the exact GPU, so that loading it compiles nothing. Sources have no
 * includes, so no header folder is needed. The cache key is the source, the options and NVRTC's
 * version.
 */
#include "device/cuda/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/cache.h"
#include "abi/cuda_driver.h"

enum { OPTIONS_MAX = 4, ARCHITECTURES_MAX = 64 };

struct target {
    int version[2]; /* NVRTC's */
    char architecture[48];
    bool is_ptx;
    const char *options[OPTIONS_MAX];
    int option_count;
};

static bool nvrtc_failed(cuda_result result, const char *call, struct status *status) {
    if (result == NVRTC_OUT_OF_MEMORY)
        return status_fail(status, STATUS_MEMORY, "NVRTC ran out of memory in %s", call);
    if (result == NVRTC_BUILTIN_OPERATION_FAILURE)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "NVRTC cannot load libnvrtc-builtins, which must be in the same folder "
                           "as libnvrtc; install NVRTC again");
    return status_fail(status, STATUS_IO, "%s failed with NVRTC error %u", call, result);
}

/* The newest architecture up to `wanted` that NVRTC compiles for; 0 when it has dropped all of
 * them. */
static bool find_architecture(const struct cuda_nvrtc *nvrtc, int wanted, int *best,
                              struct status *status) {
    int count = 0, architectures[ARCHITECTURES_MAX];
    cuda_result result = nvrtc->nvrtcGetNumSupportedArchs(&count);
    if (result != NVRTC_SUCCEEDED)
        return nvrtc_failed(result, "nvrtcGetNumSupportedArchs", status);
    if (count < 0 || count > ARCHITECTURES_MAX)
        return status_fail(status, STATUS_IO, "NVRTC reports %d architectures", count);
    result = nvrtc->nvrtcGetSupportedArchs(architectures);
    if (result != NVRTC_SUCCEEDED)
        return nvrtc_failed(result, "nvrtcGetSupportedArchs", status);
    *best = 0;
    for (int i = 0; i < count; i++)
        if (architectures[i] <= wanted && architectures[i] > *best)
            *best = architectures[i];
    return true;
}

/* Hopper's own instructions are only in the architecture called sm_90a. */
static bool choose_target(const struct cuda_nvrtc *nvrtc, unsigned major, unsigned minor,
                          struct target *target, struct status *status) {
    int wanted = (int)(major * 10 + minor), best;
    cuda_result result = nvrtc->nvrtcVersion(&target->version[0], &target->version[1]);
    if (result != NVRTC_SUCCEEDED)
        return nvrtc_failed(result, "nvrtcVersion", status);
    if (!find_architecture(nvrtc, wanted, &best, status))
        return false;
    if (best == 0)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "NVRTC %d.%d does not support compute capability %u.%u; install an "
                           "older CUDA toolkit, or set RIDGE_NVRTC to an older NVRTC",
                           target->version[0], target->version[1], major, minor);
    target->is_ptx = best != wanted;
    bool with_suffix = wanted == 90 && !target->is_ptx && target->version[0] >= 12;
    snprintf(target->architecture, sizeof target->architecture, "--gpu-architecture=%s_%d%s",
             target->is_ptx ? "compute" : "sm", best, with_suffix ? "a" : "");
    return true;
}

static void set_options(struct target *target, bool no_contraction) {
    target->options[target->option_count++] = target->architecture;
    target->options[target->option_count++] = "--std=c++17";
    target->options[target->option_count++] = "-default-device";
    if (no_contraction)
        target->options[target->option_count++] = "--fmad=false";
}

bool cuda_compiler_ready(unsigned major, unsigned minor, struct status *status) {
    const struct cuda_nvrtc *nvrtc = cuda_nvrtc(status);
    struct target target = {0};
    return nvrtc && choose_target(nvrtc, major, minor, &target, status);
}

static void append_key(struct buffer *key, const struct target *target, struct text source) {
    buffer_printf(key, "nvrtc %d.%d", target->version[0], target->version[1]);
    for (int i = 0; i < target->option_count; i++)
        buffer_printf(key, " %s", target->options[i]);
    buffer_byte(key, '\n');
    buffer_text(key, source);
}

/* The first line of the log that contains an error; otherwise the first line. */
static struct text first_error(const char *log) {
    const char *found = strstr(log, "error:");
    const char *line = found ? found : log;
    while (line > log && line[-1] != '\n')
        line--;
    return (struct text){line, strcspn(line, "\n")};
}

static bool compile_failed(const struct cuda_nvrtc *nvrtc, nvrtc_program program, const char *name,
                           struct status *status) {
    size_t length = 0;
    char *log = NULL;
    if (nvrtc->nvrtcGetProgramLogSize(program, &length) == NVRTC_SUCCEEDED)
        log = memory_allocate(length + 1, 1, status);
    if (!log || nvrtc->nvrtcGetProgramLog(program, log) != NVRTC_SUCCEEDED)
        status_fail(status, STATUS_INPUT, "kernel %s does not compile, and NVRTC gives no reason",
                    name);
    else
        status_fail(status, STATUS_INPUT, "kernel %s does not compile: %.*s", name,
                    TEXT_ARGS(first_error(log)));
    memory_free(log);
    return false;
}

static bool append_result(const struct cuda_nvrtc *nvrtc, nvrtc_program program, bool is_ptx,
                          struct buffer *binary, struct status *status) {
    size_t length = 0;
    cuda_result result = is_ptx ? nvrtc->nvrtcGetPTXSize(program, &length)
                                : nvrtc->nvrtcGetCUBINSize(program, &length);
    if (result != NVRTC_SUCCEEDED)
        return nvrtc_failed(result, is_ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", status);
    char *bytes = memory_allocate(length, 1, status);
    if (!bytes)
        return false;
    result = is_ptx ? nvrtc->nvrtcGetPTX(program, bytes) : nvrtc->nvrtcGetCUBIN(program, bytes);
    bool got = result == NVRTC_SUCCEEDED ||
               nvrtc_failed(result, is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", status);
    if (got)
        buffer_append(binary, bytes, length);
    memory_free(bytes);
    return got && buffer_ok(binary, status);
}

/* `source` is terminated. */
static bool nvrtc_compile_program(const struct cuda_nvrtc *nvrtc, const struct target *target,
                                  const char *source, const char *name, struct buffer *binary,
                                  struct status *status) {
    char file[160];
    nvrtc_program program = NULL;
    snprintf(file, sizeof file, "%s.cu", name);
    cuda_result result = nvrtc->nvrtcCreateProgram(&program, source, file, 0, NULL, NULL);
    if (result != NVRTC_SUCCEEDED)
        return nvrtc_failed(result, "nvrtcCreateProgram", status);
    bool compiled = false;
    result = nvrtc->nvrtcCompileProgram(program, target->option_count, target->options);
    if (result == NVRTC_COMPILATION)
        compile_failed(nvrtc, program, name, status);
    else if (result != NVRTC_SUCCEEDED)
        nvrtc_failed(result, "nvrtcCompileProgram", status);
    else
        compiled = append_result(nvrtc, program, target->is_ptx, binary, status);
    nvrtc->nvrtcDestroyProgram(&program);
    return compiled;
}

bool cuda_compile(const char *source, size_t length, const char *name, unsigned major,
                  unsigned minor, bool no_contraction, struct buffer *binary,
                  struct status *status) {
    const struct cuda_nvrtc *nvrtc = cuda_nvrtc(status);
    struct target target = {0};
    if (!nvrtc || !choose_target(nvrtc, major, minor, &target, status))
        return false;
    set_options(&target, no_contraction);
    struct buffer key = {0};
    append_key(&key, &target, (struct text){source, length});
    buffer_byte(&key, 0);
    if (!buffer_ok(&key, status)) {
        buffer_finish(&key);
        return false;
    }
    size_t start = binary->length, key_length = key.length - 1;
    bool ready = cache_load(key.data, key_length, binary);
    if (!ready) {
        const char *terminated = key.data + key_length - length;
        ready = nvrtc_compile_program(nvrtc, &target, terminated, name, binary, status);
        if (ready)
            cache_store(key.data, key_length, binary->data + start, binary->length - start);
    }
    buffer_finish(&key);
    return ready;
}
