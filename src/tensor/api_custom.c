/* ridge_custom(): a kernel of the user's own as an operation. A launch is kept for the life of the
 * process, as plans and tapes refer to it; equal ones are kept once. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "base/checksum.h"
#include "base/map.h"
#include "gen/custom.h"
#include "tensor/custom.h"
#include "tensor/operation.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map calls; /* hash to the first */

static struct custom_call *keep(const struct custom_call *call, struct status *status) {
    uint64_t hash = checksum64(call, sizeof *call);
    pthread_mutex_lock(&lock);
    uint64_t *found = map_find(&calls, hash);
    struct custom_call *first = found ? (struct custom_call *)(uintptr_t)*found : NULL;
    struct custom_call *kept = first;
    while (kept && memcmp(kept, call, offsetof(struct custom_call, next)) != 0)
        kept = kept->next;
    if (!kept && (kept = memory_allocate(1, sizeof *kept, status))) {
        *kept = *call;
        kept->next = first;
        if (!map_set(&calls, hash, (uint64_t)(uintptr_t)kept, status)) {
            memory_free(kept);
            kept = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return kept;
}

static bool build_custom(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    const struct custom_call *call = (const struct custom_call *)(uintptr_t)operation->integers[0];
    struct tensor *operands[CUSTOM_INPUTS_MAX];
    struct view shape;
    if (!view_contiguous(call->rank, call->sizes, &shape, build->status))
        return false;
    for (unsigned i = 0; i < operation->input_count; i++)
        if (!(operands[i] = build_contiguous(build, inputs[i])))
            return false;
    struct node_parameters parameters = {.seed = (uint64_t)(uintptr_t)call};
    outputs[0] = build_kernel(build, OP_CUSTOM, call->dtype, &shape, operands,
                              operation->input_count, &parameters);
    return outputs[0] != NULL;
}

static bool is_identifier(const char *name) {
    size_t length = strlen(name);
    bool ok = length > 0 && length <= CUSTOM_NAME_MAX && !isdigit((unsigned char)name[0]);
    for (size_t i = 0; i < length && ok; i++)
        ok = isalnum((unsigned char)name[i]) || name[i] == '_';
    return ok;
}

static bool check(const struct ridge_custom_kernel *kernel, ridge_tensor *const *inputs,
                  unsigned count, enum ridge_dtype dtype, struct status *status) {
    if (!kernel || !kernel->name || (count > 0 && !inputs) ||
        (kernel->scalar_count > 0 && !kernel->scalars))
        return tensor_null("ridge_custom", !kernel         ? "kernel"
                                           : !kernel->name ? "name of the kernel"
                                           : !inputs       ? "array of inputs"
                                                           : "array of scalars");
    if (!is_identifier(kernel->name))
        return status_fail(status, STATUS_USAGE,
                           "ridge_custom: the name must be a C identifier of up to %d characters",
                           CUSTOM_NAME_MAX);
    if (count == 0 || count > CUSTOM_INPUTS_MAX || kernel->scalar_count > CUSTOM_SCALARS_MAX)
        return status_fail(status, STATUS_USAGE,
                           "ridge_custom: %s has %u inputs and %u scalars; it may have 1 to %d and "
                           "up to %d",
                           kernel->name, count, kernel->scalar_count, CUSTOM_INPUTS_MAX,
                           CUSTOM_SCALARS_MAX);
    if (kernel->blocks == 0 || kernel->threads == 0 || kernel->threads > 1024)
        return status_fail(status, STATUS_USAGE,
                           "ridge_custom: %s needs at least one block, and 1 to 1024 threads in it",
                           kernel->name);
    return dtype_check(dtype, "ridge_custom");
}

/* The kernel with the types of its operands. */
static bool describe(const struct ridge_custom_kernel *kernel, ridge_tensor *const *inputs,
                     unsigned count, enum ridge_dtype dtype, struct custom_kernel *out) {
    memset(out, 0, sizeof *out);
    memcpy(out->name, kernel->name, strlen(kernel->name));
    out->bodies[LANGUAGE_CUDA] = kernel->cuda ? kernel->cuda : kernel->portable;
    out->bodies[LANGUAGE_OPENCL] = kernel->opencl ? kernel->opencl : kernel->portable;
    out->bodies[LANGUAGE_METAL] = kernel->metal ? kernel->metal : kernel->portable;
    out->bodies[LANGUAGE_GLSL] = kernel->glsl ? kernel->glsl : kernel->portable;
    out->cpu = kernel->cpu;
    out->input_count = count;
    out->scalar_count = kernel->scalar_count;
    out->threads = kernel->threads;
    for (unsigned i = 0; i < count; i++) {
        const struct tensor *input = tensor_of("ridge_custom", inputs[i]);
        if (!input)
            return false;
        out->types[i] = input->dtype;
    }
    out->types[count] = dtype;
    return true;
}

ridge_tensor *ridge_custom(const struct ridge_custom_kernel *kernel, ridge_tensor *const *inputs,
                           unsigned count, enum ridge_dtype dtype, unsigned rank,
                           const int64_t *sizes) {
    struct status *status = tensor_status();
    struct custom_kernel described;
    struct custom_call call;
    struct view shape;
    if (!check(kernel, inputs, count, dtype, status) ||
        !describe(kernel, inputs, count, dtype, &described))
        return NULL;
    if (!view_contiguous(rank, sizes, &shape, status)) {
        status_context(status, "ridge_custom");
        return NULL;
    }
    memset(&call, 0, sizeof call);
    call.number = custom_keep(&described, status);
    call.blocks = kernel->blocks;
    call.dtype = dtype;
    call.rank = rank;
    memcpy(call.sizes, shape.sizes, sizeof call.sizes);
    if (kernel->scalar_count > 0)
        memcpy(call.scalars, kernel->scalars, kernel->scalar_count * sizeof *call.scalars);
    call.flops = kernel->flops;
    call.bytes = kernel->bytes;
    const struct custom_call *kept = call.number >= 0 ? keep(&call, status) : NULL;
    if (!kept)
        return NULL;
    struct operation operation = {.name = "ridge_custom",
                                  .build = build_custom,
                                  .input_count = count,
                                  .output_count = 1,
                                  .integers = {(int64_t)(uintptr_t)kept}};
    memcpy(operation.inputs, inputs, count * sizeof *inputs);
    return operation_result(&operation);
}
