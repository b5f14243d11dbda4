/* A custom kernel is a body: the head of the kernel, its parameters and the words of
 * gen/emit/dialect.h come from here, so the same body may serve several languages. */
#include "gen/custom.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "gen/emit/dialect.h"
#include "gen/emit/elements.h"

enum { LANGUAGES = LANGUAGE_GLSL + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct custom_kernel **kept;
static size_t count, capacity;

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal(const struct custom_kernel *a, const struct custom_kernel *b) {
    bool same = strcmp(a->name, b->name) == 0 && a->cpu == b->cpu &&
                a->input_count == b->input_count && a->scalar_count == b->scalar_count &&
                a->threads == b->threads &&
                memcmp(a->types, b->types, (a->input_count + 1) * sizeof a->types[0]) == 0;
    for (unsigned i = 0; i < LANGUAGES && same; i++)
        same = same_text(a->bodies[i], b->bodies[i]);
    return same;
}

static void destroy(struct custom_kernel *kernel) {
    for (unsigned i = 0; i < LANGUAGES; i++)
        memory_free((void *)(uintptr_t)kernel->bodies[i]);
    memory_free(kernel);
}

static struct custom_kernel *copy(const struct custom_kernel *kernel, struct status *status) {
    struct custom_kernel *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return NULL;
    *made = *kernel;
    memset(made->bodies, 0, sizeof made->bodies);
    for (unsigned i = 0; i < LANGUAGES; i++) {
        size_t length = kernel->bodies[i] ? strlen(kernel->bodies[i]) + 1 : 0;
        char *body = length ? memory_allocate(1, length, status) : NULL;
        if (length && !body) {
            destroy(made);
            return NULL;
        }
        if (body)
            memcpy(body, kernel->bodies[i], length);
        made->bodies[i] = body;
    }
    return made;
}

int32_t custom_keep(const struct custom_kernel *kernel, struct status *status) {
    int32_t found = -1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && found < 0; i++)
        if (equal(kept[i], kernel))
            found = (int32_t)i;
    if (found < 0 && GROW(kept, &capacity, count + 1, status) &&
        (kept[count] = copy(kernel, status)))
        found = (int32_t)count++;
    pthread_mutex_unlock(&lock);
    return found;
}

const struct custom_kernel *custom_get(int32_t number) {
    pthread_mutex_lock(&lock);
    const struct custom_kernel *kernel = kept[number];
    pthread_mutex_unlock(&lock);
    return kernel;
}

bool kernel_custom(const struct custom_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, struct status *status) {
    static const char *const languages[] = {"the CPU", "CUDA", "OpenCL", "Metal", "GLSL"};
    const struct custom_kernel *kernel = custom_get(work->number);
    bool native = device->language == LANGUAGE_NATIVE;
    memset(request, 0, sizeof *request);
    if (native ? !kernel->cpu : !kernel->bodies[device->language])
        return status_fail(status, STATUS_UNSUPPORTED, "kernel %s has no code for %s", kernel->name,
                           languages[device->language]);
    if (!native && kernel->threads > device->block_max)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "kernel %s has %u threads in a block; the device has up to %u",
                           kernel->name, kernel->threads, device->block_max);
    request->spec.family = KERNEL_CUSTOM;
    request->spec.choices[0] = work->number;
    request->grid[0] = work->blocks;
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = native ? 1 : kernel->threads;
    request->block[1] = request->block[2] = 1;
    request->scalar_count = kernel->scalar_count;
    if (kernel->scalar_count > 0)
        memcpy(request->scalars, work->scalars, kernel->scalar_count * sizeof *work->scalars);
    return true;
}

static void run_native(const struct native_call *call) {
    ridge_cpu_function *function;
    size_t begin, end;
    memcpy(&function, call->context, sizeof function);
    while (native_take(call, 1, &begin, &end))
        function(call->buffers, call->scalars, (int64_t)begin, (int64_t)end);
}

bool custom_native_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status) {
    (void)device, (void)status;
    const struct custom_kernel *kernel = custom_get(spec->choices[0]);
    buffer_append(&generated->source, &kernel->cpu, sizeof kernel->cpu);
    generated->code.function = run_native;
    generated->code.context = generated->source.data;
    generated->code.context_size = sizeof kernel->cpu;
    return true;
}

bool custom_source_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status) {
    (void)status;
    const struct custom_kernel *custom = custom_get(spec->choices[0]);
    struct source_parameter buffers[CUSTOM_INPUTS_MAX + 1];
    char names[CUSTOM_INPUTS_MAX][8];
    for (unsigned i = 0; i < custom->input_count; i++) {
        snprintf(names[i], sizeof names[i], "in%u", i);
        buffers[i] = (struct source_parameter){.name = names[i], .dtype = custom->types[i]};
    }
    buffers[custom->input_count] = (struct source_parameter){
        .name = "result", .dtype = custom->types[custom->input_count], .stored = true};
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = custom->input_count + 1,
        .scalar_count = custom->scalar_count,
        .threads = custom->threads,
    };
    source_device_prelude(&generated->source, device);
    source_kernel_begin(&generated->source, device, &kernel);
    source_kernel_body(&generated->source, device, &kernel);
    buffer_printf(&generated->source, "%s\n}\n", custom->bodies[device->language]);
    return true;
}
