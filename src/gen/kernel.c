/* Selects the backend by the device's language, and names kernels. */
#include "gen/kernel.h"

#include <stdio.h>
#include <string.h>

#include "gen/backends.h"
#include "gen/custom.h"
#include "gen/emit/attention.h"
#include "gen/emit/program.h"

/* A request starts zeroed: its specification is compared byte by byte. */
#define FAMILY(function, work_struct, backend_function)                                            \
    bool function(const struct work_struct *work, const struct device_capabilities *device,        \
                  struct kernel_request *request, struct status *status) {                         \
        memset(request, 0, sizeof *request);                                                       \
        return device->language == LANGUAGE_NATIVE                                                 \
                   ? native_##backend_function(work, device, request, status)                      \
                   : source_##backend_function(work, device, request, status);                     \
    }

FAMILY(kernel_generate_values, generate_work, generate_values)
FAMILY(kernel_embedding, embedding_work, embedding)
FAMILY(kernel_rope, rope_work, rope)
FAMILY(kernel_attention, attention_work, attention)
FAMILY(kernel_wkv7, wkv7_work, wkv7)
FAMILY(kernel_quantize, quantize_work, quantize)
FAMILY(kernel_dequantize, quantize_work, dequantize)
FAMILY(kernel_portable, portable_work, portable)

bool kernel_dual_gemm(const struct dual_gemm_work *work, const struct device_capabilities *device,
                      struct kernel_request *request, struct status *status) {
    memset(request, 0, sizeof *request);
    return source_dual_gemm(work, device, request, status);
}

bool kernel_program(const struct program *program, const struct program_shape *shape,
                    const struct device_capabilities *device, struct kernel_request *request,
                    struct status *status) {
    memset(request, 0, sizeof *request);
    return device->language == LANGUAGE_NATIVE
               ? native_program(program, shape, device, request, status)
               : source_program(program, shape, device, request, status);
}

bool kernel_program_parts(const struct program *program, const struct program_shape *shape,
                          const struct device_capabilities *device, int64_t *parts) {
    return device->language != LANGUAGE_NATIVE &&
           source_split_reduction(program, shape, device, parts);
}

typedef bool code_function(const struct kernel_spec *, const struct device_capabilities *,
                           struct kernel_generated *, struct status *);
#define CODE_ROW(FAMILY, name) [KERNEL_##FAMILY] = {native_##name##_code, source_##name##_code}
static code_function *const backends[KERNEL_FAMILIES][2] = {
    CODE_ROW(PROGRAM, program),
    CODE_ROW(MATMUL, matmul),
    CODE_ROW(GENERATE, generate_values),
    CODE_ROW(EMBEDDING, embedding),
    CODE_ROW(ROPE, rope),
    CODE_ROW(ATTENTION, attention),
    CODE_ROW(WKV7, wkv7),
    CODE_ROW(QUANTIZE, quantize),
    CODE_ROW(DEQUANTIZE, dequantize),
    [KERNEL_GATED] = {NULL, source_dual_gemm_code},
    [KERNEL_LORA] = {NULL, source_dual_gemm_code},
    CODE_ROW(PORTABLE, portable),
    [KERNEL_CUSTOM] = {custom_native_code, custom_source_code},
};

bool kernel_generate(const struct kernel_spec *spec, const struct device_capabilities *device,
                     struct kernel_generated *generated, struct status *status) {
    memset(generated, 0, sizeof *generated);
    kernel_name(spec, generated->name, sizeof generated->name);
    generated->code.name = generated->name;
    bool native = device->language == LANGUAGE_NATIVE;
    generated->code.kind = native ? CODE_NATIVE : CODE_SOURCE;
    if (!backends[spec->family][native ? 0 : 1](spec, device, generated, status) ||
        !buffer_ok(&generated->source, status)) {
        kernel_generated_finish(generated);
        return status_context(status, "kernel %s", generated->name);
    }
    generated->code.source = generated->source.data;
    generated->code.source_length = generated->source.length;
    return true;
}

void kernel_generated_finish(struct kernel_generated *generated) {
    buffer_finish(&generated->source);
}

size_t kernel_spec_key(const struct kernel_spec *spec, unsigned char *key, size_t capacity) {
    size_t head = offsetof(struct kernel_spec, program);
    if (head > capacity)
        return 0;
    memcpy(key, spec, head);
    return head +
           (spec->has_program ? program_key(&spec->program, key + head, capacity - head) : 0);
}

static const char *const family_names[KERNEL_FAMILIES] = {
    [KERNEL_PROGRAM] = "fused",
    [KERNEL_MATMUL] = "matmul",
    [KERNEL_GENERATE] = "generate",
    [KERNEL_EMBEDDING] = "embedding",
    [KERNEL_ROPE] = "rope",
    [KERNEL_ATTENTION] = "attention",
    [KERNEL_WKV7] = "wkv7",
    [KERNEL_QUANTIZE] = "quantize",
    [KERNEL_DEQUANTIZE] = "dequantize",
    [KERNEL_GATED] = "gated_mlp",
    [KERNEL_LORA] = "lora",
};

/* Appends "_word" if it fits. */
static void append(char *name, size_t capacity, const char *word) {
    size_t length = strlen(name);
    if (length + 1 + strlen(word) < capacity)
        snprintf(name + length, capacity - length, "_%s", word);
}

static void append_program(char *name, size_t capacity, const struct program *program) {
    for (unsigned i = 0; i < program->instruction_count; i++) {
        enum op op = program->instructions[i].op;
        if (op < OP_ELEMENTWISE_COUNT || op_is_reduction(op))
            append(name, capacity, op_info(op)->name);
    }
}

static const char *family_name(const struct kernel_spec *spec) {
    static const char *const attention[] = {
        [ATTENTION_DQ] = "attention_dq", [ATTENTION_DKV] = "attention_dkv"};
    if (spec->family == KERNEL_PORTABLE)
        return op_info((enum op)spec->choices[0])->name;
    if (spec->family == KERNEL_ATTENTION && spec->choices[ATTENTION_RESULT] != ATTENTION_OUTPUT)
        return attention[spec->choices[ATTENTION_RESULT]];
    return family_names[spec->family];
}

void kernel_name(const struct kernel_spec *spec, char *name, size_t capacity) {
    const struct program *program = &spec->program;
    if (spec->family == KERNEL_CUSTOM) {
        snprintf(name, capacity, "%s", custom_get(spec->choices[0])->name);
        return;
    }
    bool rows = spec->family == KERNEL_PROGRAM && program->rank > program->outer;
    snprintf(name, capacity, "%s", rows ? "rows" : family_name(spec));
    if (spec->family == KERNEL_MATMUL) {
        append(name, capacity, ridge_dtype_name(spec->types[0]));
        if (spec->types[1] != spec->types[0])
            append(name, capacity, ridge_dtype_name(spec->types[1]));
    }
    size_t before = strlen(name);
    if (spec->has_program)
        append_program(name, capacity, program);
    if (spec->family == KERNEL_PROGRAM && strlen(name) == before)
        snprintf(name, capacity, "copy");
    if (spec->family == KERNEL_PROGRAM && program->operand_count > 0)
        append(name, capacity, ridge_dtype_name(program->operands[0].dtype));
    else if (spec->family != KERNEL_MATMUL)
        append(name, capacity, ridge_dtype_name(spec->types[0]));
}
