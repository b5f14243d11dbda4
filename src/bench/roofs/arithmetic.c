/* How many operations a second does the device do when nothing has to be fetched? Chains of
 * multiply-adds in registers: functions of this program for the CPU (bench/roofs/native_chains.h),
 * source for others (arithmetic_source.c).
 */
#include "bench/roofs/arithmetic.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "bench/roofs/native_chains.h"
#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

/* Chains of multiply-adds as source: the sections of chains.cl, for each type and language. */

extern const unsigned char embedded_chains_cl[];

static const struct source_chain chains[] = {
    {ROOF_F32, LANGUAGE_CUDA, "f32", 2, "multiply-adds in registers", ""},
    {ROOF_F16, LANGUAGE_CUDA, "cuda_f16", 4, "multiply-adds of pairs",
     "the GPU has no f16 arithmetic"},
    {ROOF_BF16, LANGUAGE_CUDA, "cuda_bf16", 4, "multiply-adds of pairs",
     "the GPU has no bf16 arithmetic"},
    {ROOF_INT8, LANGUAGE_CUDA, "cuda_int8", 8, "dp4a, four products of bytes",
     "the GPU has no dp4a"},
    {ROOF_F32, LANGUAGE_OPENCL, "f32", 2, "multiply-adds in registers", ""},
    {ROOF_F32, LANGUAGE_OPENCL, "opencl_f32x16", 32, "multiply-adds of vectors of 16 in registers",
     ""},
    {ROOF_F16, LANGUAGE_OPENCL, "opencl_f16x2", 4, "multiply-adds of pairs",
     "the driver has no cl_khr_fp16"},
    {ROOF_F16, LANGUAGE_OPENCL, "opencl_f16x16", 32, "multiply-adds of vectors of 16",
     "the driver has no cl_khr_fp16"},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_dot", 8, "dot products of four bytes",
     "the driver has no dot products of bytes"},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_char16", 32, "multiply-adds of vectors of 16", ""},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_mad24", 2, "multiply-adds of bytes in words", ""},
    {ROOF_F32, LANGUAGE_METAL, "f32", 2, "multiply-adds in registers", ""},
    {ROOF_F32, LANGUAGE_METAL, "metal_matrix_f32", 32, "SIMD-group matrices", ""},
    {ROOF_F16, LANGUAGE_METAL, "metal_f16", 4, "multiply-adds of pairs", ""},
    {ROOF_BF16, LANGUAGE_METAL, "metal_bf16", 4, "multiply-adds of pairs",
     "bfloat needs macOS 14 and an Apple GPU"},
    {ROOF_MATRIX_F16, LANGUAGE_METAL, "metal_matrix_f16", 32, "SIMD-group matrices",
     "the GPU has no SIMD-group matrices"},
    {ROOF_MATRIX_BF16, LANGUAGE_METAL, "metal_matrix_bf16", 32, "SIMD-group matrices",
     "bfloat needs macOS 14 and an Apple GPU"},
};

const struct source_chain *source_chains(unsigned *count) {
    *count = ARRAY_COUNT(chains);
    return chains;
}

static bool is_matrix(enum roof_id roof) {
    return roof >= ROOF_MATRIX_F32 && roof <= ROOF_MATRIX_INT8;
}

/* On Metal's SIMD-group matrices. */
static bool by_matrices(const struct source_chain *chain) {
    return strncmp(chain->section, "metal_matrix", strlen("metal_matrix")) == 0;
}

static void write_kernel(struct buffer *out, const struct device_capabilities *device,
                         const struct source_chain *chain, unsigned threads, unsigned steps,
                         const char *name) {
    enum { ACCUMULATORS = 8 };
    const struct source_parameter result = {.name = "result", .dtype = RIDGE_I32, .stored = true};
    const struct source_kernel kernel = {
        .name = name, .buffers = &result, .buffer_count = 1, .scalar_count = 1, .threads = threads};
    source_prelude(out, device);
    source_define(out, "ABSENT", SOURCE_CHAIN_ABSENT);
    source_define(out, "HAS_BFLOAT", device->bfloat);
    source_define(out, "HAS_MATRICES", device_has_simdgroup_matrices(device));
    source_section(out, embedded_chains_cl, "macros");
    source_section(out, embedded_chains_cl, chain->section);
    if (by_matrices(chain))
        source_section(out, embedded_chains_cl, "metal_matrix");
    source_kernel_begin(out, device, &kernel);
    source_kernel_body(out, device, &kernel);
    source_section(out, embedded_chains_cl, "begin");
    for (unsigned step = 0; step < steps; step += ACCUMULATORS)
        source_section(out, embedded_chains_cl, "steps");
    source_section(out, embedded_chains_cl, "end");
    buffer_string(out, "}\n");
}

bool source_chain_load(const struct roof_bench *bench, const struct source_chain *chain,
                       unsigned threads, unsigned steps, struct device_kernel **kernel,
                       struct status *status) {
    static const char name[] = "chain";
    struct buffer text = {0};
    write_kernel(&text, bench->capabilities, chain, threads, steps, name);
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = name, .source = text.data, .source_length = text.length};
    bool loaded =
        buffer_ok(&text, status) && bench->device->ops->load(bench->device, &code, kernel, status);
    buffer_finish(&text);
    return loaded;
}

enum {
    CPU_ROUNDS = 10000,    /* of a unit: tens of microseconds */
    CPU_UNITS = 16,        /* for each thread, so that one that was interrupted does fewer */
    TILE_ROUNDS_SHARE = 8, /* matrix instructions take longer */
    GPU_ROUNDS = 1024,
    GPU_STEPS = 128, /* per round: enough that the loop overhead does not matter */
    GPU_THREADS = 256,
    DRIVER_ROUNDS = 128, /* of OpenCL on a CPU */
    DRIVER_STEPS = 32,
    DRIVER_THREADS = 64,
};

/* A method that is ready to run. */
struct chain {
    struct device_kernel *kernel;
    struct launch launch;
    struct roof_launches turns;
    int64_t rounds;
};

struct chains {
    const struct roof_bench *bench;
    const struct launch_buffer *result;
    struct chain loaded[ROOF_METHODS_MAX];
    struct roof_method methods[ROOF_METHODS_MAX];
    unsigned count;
};

static void add_method(struct chains *chains, uint32_t blocks, uint32_t threads, double operations,
                       const char *how) {
    struct chain *chain = &chains->loaded[chains->count];
    struct roof_method *method = &chains->methods[chains->count++];
    chain->launch = (struct launch){
        .kernel = chain->kernel,
        .grid = {blocks, 1, 1},
        .block = {threads, 1, 1},
        .buffer_count = 1,
        .scalar_count = 1,
        .buffers = chains->result,
        .scalars = &chain->rounds,
    };
    chain->turns = (struct roof_launches){chains->bench->device, &chain->launch, 1, NULL};
    method->work = (struct measured_work){&chain->turns, roof_launch_batch};
    method->amount = (double)blocks * threads * (double)chain->rounds * operations;
    snprintf(method->how, sizeof method->how, "%s", how);
}

/* ---- The CPU ---------------------------------------------------------------------------- */

static void run_chain(const struct native_call *call) {
    const struct native_chain *chain = *(const struct native_chain *const *)call->context;
    uint32_t *state = call->scratch, random = call->thread + 1;
    size_t begin, end;
    for (size_t i = 0; i < CHAIN_STATE / sizeof *state; i++)
        state[i] = random = random * 1664525u + 1013904223u;
    while (native_take(call, 1, &begin, &end))
        chain->run((size_t)call->scalars[0], state);
}

static bool add_native(struct chains *chains, const struct native_chain *row,
                       struct status *status) {
    struct chain *chain = &chains->loaded[chains->count];
    struct kernel_code code = {
        .kind = CODE_NATIVE,
        .name = "chain",
        .function = run_chain,
        .context = &row,
        .context_size = sizeof row,
        .scratch_bytes = CHAIN_STATE,
    };
    if (!chains->bench->device->ops->load(chains->bench->device, &code, &chain->kernel, status))
        return false;
    chain->rounds = is_matrix(row->roof) ? CPU_ROUNDS / TILE_ROUNDS_SHARE : CPU_ROUNDS;
    add_method(chains, CPU_UNITS * chains->bench->capabilities->compute_units, 1, row->operations,
               row->how);
    return true;
}

static bool add_native_methods(struct chains *chains, enum roof_id roof, struct status *status) {
    unsigned count;
    const struct native_chain *rows = native_chains(&count);
    for (unsigned i = 0; i < count; i++)
        if (rows[i].roof == roof && chains->count < ROOF_METHODS_MAX && rows[i].supported() &&
            !add_native(chains, &rows[i], status))
            return false;
    if (chains->count == 0)
        roof_absent(&chains->bench->roofs->of[roof], native_chain_absent(roof));
    return true;
}

/* ---- Devices that run source -------------------------------------------------------------- */

/* Whether the kernel has its arithmetic: it reports that even without work. */
static bool is_present(struct chains *chains, struct chain *chain, unsigned threads, bool *present,
                       struct status *status) {
    struct device *device = chains->bench->device;
    struct device_memory result = chains->result->memory;
    int32_t value = 0;
    struct launch launch = {
        .kernel = chain->kernel,
        .grid = {1, 1, 1},
        .block = {threads, 1, 1},
        .buffer_count = 1,
        .scalar_count = 1,
        .buffers = chains->result,
        .scalars = &(int64_t){0},
    };
    bool asked = device->ops->copy_in(device, 0, result, 0, &value, sizeof value, NULL, status) &&
                 device->ops->launch(device, 0, &launch, NULL, status) &&
                 device->ops->copy_out(device, 0, &value, result, 0, sizeof value, NULL, status);
    *present = value != SOURCE_CHAIN_ABSENT;
    return asked;
}

/* Fewer rounds on a slow GPU, as in a virtual machine, so that a launch takes no longer than
 * LAUNCH_NS. */
static bool fit_rounds(struct chains *chains, struct chain *chain, uint32_t blocks,
                       unsigned threads, struct status *status) {
    enum { LAUNCH_NS = 50000000, SHARE = 64 };
    struct device *device = chains->bench->device;
    int64_t rounds = chain->rounds / SHARE + 1;
    struct launch launch = {
        .kernel = chain->kernel,
        .grid = {blocks, 1, 1},
        .block = {threads, 1, 1},
        .buffer_count = 1,
        .scalar_count = 1,
        .buffers = chains->result,
        .scalars = &rounds,
    };
    int64_t start = clock_now();
    if (!device->ops->launch(device, 0, &launch, NULL, status) ||
        !device->ops->finish(device, status))
        return false;
    int64_t each = (clock_now() - start) / rounds + 1;
    if (chain->rounds > LAUNCH_NS / each)
        chain->rounds = LAUNCH_NS / each + 1;
    return true;
}

static bool add_source(struct chains *chains, const struct source_chain *row,
                       struct status *status) {
    const struct device_capabilities *capabilities = chains->bench->capabilities;
    struct chain *chain = &chains->loaded[chains->count];
    unsigned threads = capabilities->is_gpu ? GPU_THREADS : DRIVER_THREADS;
    unsigned per_unit = capabilities->is_gpu && capabilities->threads_per_unit > threads
                            ? capabilities->threads_per_unit / threads
                            : 8;
    unsigned steps = capabilities->is_gpu ? GPU_STEPS : DRIVER_STEPS;
    bool present;
    if (!source_chain_load(chains->bench, row, threads, steps, &chain->kernel, status) ||
        !is_present(chains, chain, threads, &present, status))
        return false;
    if (!present) {
        chains->bench->device->ops->unload(chains->bench->device, chain->kernel);
        chain->kernel = NULL;
        if (chains->bench->roofs->of[row->roof].value == 0)
            roof_absent(&chains->bench->roofs->of[row->roof], row->absent);
        return true;
    }
    chain->rounds = capabilities->is_gpu ? GPU_ROUNDS : DRIVER_ROUNDS;
    if (by_matrices(row))
        chain->rounds /= TILE_ROUNDS_SHARE;
    uint32_t blocks =
        per_unit * (capabilities->compute_units > 0 ? capabilities->compute_units : 1);
    if (!fit_rounds(chains, chain, blocks, threads, status))
        return false;
    add_method(chains, blocks, threads, steps * row->operations, row->how);
    return true;
}

static bool add_source_methods(struct chains *chains, enum roof_id roof, struct status *status) {
    unsigned count;
    const struct source_chain *rows = source_chains(&count);
    if (chains->bench->roofs->of[roof].value == 0)
        roof_absent(&chains->bench->roofs->of[roof], "the language has no such arithmetic");
    for (unsigned i = 0; i < count; i++)
        if (rows[i].roof == roof && rows[i].language == chains->bench->capabilities->language &&
            chains->count < ROOF_METHODS_MAX && !add_source(chains, &rows[i], status))
            return false;
    return true;
}

/* ---- Roofs ------------------------------------------------------------------------------ */

static bool measure_roof(const struct roof_bench *bench, enum roof_id roof,
                         const struct launch_buffer *result, struct status *status) {
    bool native = bench->capabilities->language == LANGUAGE_NATIVE;
    struct chains chains = {.bench = bench, .result = result};
    bool measured = (native ? add_native_methods(&chains, roof, status)
                            : add_source_methods(&chains, roof, status)) &&
                    (chains.count == 0 || roof_best(bench, chains.methods, chains.count,
                                                    &bench->roofs->of[roof], status));
    for (unsigned i = 0; i < ROOF_METHODS_MAX; i++)
        if (chains.loaded[i].kernel)
            bench->device->ops->unload(bench->device, chains.loaded[i].kernel);
    return measured;
}

bool roof_measure_arithmetic(const struct roof_bench *bench, struct status *status) {
    static const enum roof_id ordinary[] = {ROOF_F32, ROOF_F16, ROOF_BF16, ROOF_INT8};
    static const enum roof_id matrix[] = {ROOF_MATRIX_F32, ROOF_MATRIX_F16, ROOF_MATRIX_BF16,
                                          ROOF_MATRIX_INT8};
    const struct device_ops *ops = bench->device->ops;
    struct launch_buffer result = {0};
    bool has_matrices = bench->capabilities->language == LANGUAGE_NATIVE ||
                        bench->capabilities->language == LANGUAGE_METAL;
    if (!ops->allocate(bench->device, 64, &result.memory, status))
        return status_context(status, "measuring arithmetic");
    bool measured = true;
    for (unsigned i = 0; i < 4 && measured; i++)
        measured = measure_roof(bench, ordinary[i], &result, status);
    for (unsigned i = 0; i < 4 && measured && has_matrices; i++)
        measured = measure_roof(bench, matrix[i], &result, status);
    ops->release(bench->device, result.memory);
    return measured || status_context(status, "measuring arithmetic");
}
