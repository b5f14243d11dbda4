/* Compiles kernels from source and keeps the pipelines.
 *
 * Metal caches compiled code on disk itself, so ridge does not.
 */
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/metal/metal.h"

enum { SIMD_WIDTH = 32 }; /* SUBGROUP of prelude_metal.h */

/* Fast math would assume that there are no NaNs. */
bool metal_options_create(struct metal_device *device, struct status *status) {
    const struct metal_library *library = device->library;
    metal_id class = library->objc_getClass("MTLCompileOptions");
    metal_id options = class ? SEND(library, new, class) : NULL;
    if (!options)
        return status_fail(status, STATUS_UNSUPPORTED, "Metal has no MTLCompileOptions");
    device->options = options;
    if (SEND(library, responds_to, options, library->selector.set_math_mode))
        SEND(library, set_math_mode, options, MTL_MATH_MODE_SAFE); /* macOS 15 */
    else
        SEND(library, set_fast_math, options, false);
    if (device->base.capabilities.bfloat)
        SEND(library, set_language, options, MTL_LANGUAGE_3_1);
    return true;
}

/* NSError of a compiler: its log. */
static bool fail_to_compile(const struct metal_library *library, metal_id error,
                            struct status *status) {
    metal_id text = error ? SEND(library, localized_description, error) : NULL;
    const char *log = text ? SEND(library, utf8_string, text) : NULL;
    struct text line = text_line_with(text_of(log ? log : "Metal gives no reason"), "error");
    return status_fail(status, STATUS_INPUT, "the source does not compile: %.*s", TEXT_ARGS(line));
}

/* The MTLFunction `name` of the source; owned by the caller. */
static metal_id compile(struct metal_device *device, const char *source, const char *name,
                        struct status *status) {
    const struct metal_library *library = device->library;
    metal_id strings = library->objc_getClass("NSString"), error = NULL, function = NULL;
    metal_id text = SEND(library, string_with_utf8, strings, source);
    metal_id entry = SEND(library, string_with_utf8, strings, name);
    if (!text || !entry) {
        status_fail(status, STATUS_INPUT, "the source is not UTF-8");
        return NULL;
    }
    metal_id compiled = SEND(library, new_library, device->device, text, device->options, &error);
    if (!compiled) {
        fail_to_compile(library, error, status);
        return NULL;
    }
    function = SEND(library, new_function, compiled, entry);
    SEND(library, release, compiled);
    if (!function)
        status_fail(status, STATUS_INPUT, "the source has no kernel with that name");
    return function;
}

static bool check_width(const struct metal_device *device, metal_id state, struct status *status) {
    metal_uint width = SEND(device->library, execution_width, state);
    return width % SIMD_WIDTH == 0 ||
           status_fail(status, STATUS_UNSUPPORTED,
                       "%s runs SIMD groups of %lu threads; ridge's kernels need %d",
                       device->base.capabilities.description, width, SIMD_WIDTH);
}

static bool fill_pipeline(struct metal_device *device, const char *source,
                          struct metal_pipeline *pipeline, struct status *status) {
    const struct metal_library *library = device->library;
    metal_id error = NULL, function = compile(device, source, pipeline->name, status);
    if (!function)
        return false;
    pipeline->state = SEND(library, new_pipeline, device->device, function, &error);
    SEND(library, release, function);
    if (!pipeline->state)
        return metal_fail(library, error, STATUS_INPUT, "the kernel cannot be built", status);
    pipeline->threads_max = (uint32_t)SEND(library, pipeline_threads_max, pipeline->state);
    pipeline->static_memory = (uint32_t)SEND(library, static_memory, pipeline->state);
    return check_width(device, pipeline->state, status);
}

void metal_pipeline_free(struct metal_device *device, struct metal_link *link) {
    struct metal_pipeline *pipeline = (struct metal_pipeline *)link;
    metal_link_remove(link);
    if (pipeline->state)
        SEND(device->library, release, pipeline->state);
    memory_free(pipeline);
}

static const struct metal_pipeline *find_pipeline(const struct metal_device *device,
                                                  const struct metal_pipeline *wanted) {
    for (struct metal_link *link = device->pipelines; link; link = link->next) {
        const struct metal_pipeline *pipeline = (const struct metal_pipeline *)link;
        if (pipeline->hash == wanted->hash && pipeline->length == wanted->length &&
            strcmp(pipeline->name, wanted->name) == 0)
            return pipeline;
    }
    return NULL;
}

/* A pipeline for the code: from the list, or compiled and added to it. */
static const struct metal_pipeline *
pipeline_of(struct metal_device *device, const struct kernel_code *code, struct status *status) {
    struct metal_pipeline wanted = {.hash = checksum64(code->source, code->source_length),
                                    .length = code->source_length};
    int length = snprintf(wanted.name, sizeof wanted.name, "%s", code->name);
    if (length < 0 || (size_t)length >= sizeof wanted.name) {
        status_fail(status, STATUS_USAGE, "a name of %d characters is too long", length);
        return NULL;
    }
    const struct metal_pipeline *found = find_pipeline(device, &wanted);
    if (found)
        return found;
    struct metal_pipeline *made = memory_allocate(1, sizeof *made, status);
    char *source = text_copy((struct text){code->source, code->source_length}, status);
    bool ok = made && source;
    if (made) {
        *made = wanted;
        metal_link_add(&device->pipelines, &made->link);
        ok = ok && fill_pipeline(device, source, made, status);
    }
    memory_free(source);
    if (made && !ok)
        metal_pipeline_free(device, &made->link);
    return ok ? made : NULL;
}

bool metal_load(struct device *base, const struct kernel_code *code, struct device_kernel **loaded,
                struct status *status) {
    struct metal_device *device = metal_of(base);
    if (code->kind != CODE_SOURCE)
        return status_fail(status, STATUS_UNSUPPORTED, "kernel %s: Metal devices need source",
                           code->name);
    struct metal_kernel *kernel = memory_allocate(1, sizeof *kernel, status);
    if (!kernel)
        return false;
    void *pool = device->library->objc_autoreleasePoolPush();
    kernel->pipeline = pipeline_of(device, code, status);
    device->library->objc_autoreleasePoolPop(pool);
    if (!kernel->pipeline) {
        memory_free(kernel);
        return status_context(status, "kernel %s", code->name);
    }
    memcpy(kernel->base.name, kernel->pipeline->name, sizeof kernel->base.name);
    kernel->base.shared_static = kernel->pipeline->static_memory;
    kernel->has_dynamic = code->shared_max > 0;
    metal_link_add(&device->kernels, &kernel->link);
    *loaded = &kernel->base;
    return true;
}

void metal_unload(struct device *base, struct device_kernel *loaded) {
    struct metal_kernel *kernel = (struct metal_kernel *)loaded;
    (void)base;
    if (!kernel)
        return;
    metal_link_remove(&kernel->link);
    memory_free(kernel);
}
