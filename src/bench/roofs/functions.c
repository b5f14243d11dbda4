/* How many sines and cosines, exponentials and logarithms a second do ridge's own kernels compute?
 *
 * Kernels of one function each, as the runtime makes them for a single call and for a compiled
 * program: one application or two, which compilers of CPUs turn into the best loops, and many,
 * which keep a GPU from waiting for memory. A CPU has so few elements that they stay in its
 * caches. The best of all is the roof: no combination can be faster.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/roofs/methods.h"

enum { CPU_ELEMENTS = 64 << 10, GPU_ELEMENTS = 1 << 24, OPERANDS = 2, FEW = 2 };

/* One method: a function applied repeatedly to each element. */
static const struct method {
    enum roof_id roof;
    enum op function;
    unsigned applications;
    const char *how;
} methods[] = {
    {ROOF_TRIGONOMETRY, OP_SIN, 1, "sin of each element"},
    {ROOF_TRIGONOMETRY, OP_COS, 1, "cos of each element"},
    {ROOF_TRIGONOMETRY, OP_SIN, 2, "sin of sin of each element"},
    {ROOF_TRIGONOMETRY, OP_COS, 2, "cos of cos of each element"},
    {ROOF_TRIGONOMETRY, OP_SIN, 20, "20 times sin, one after another"},
    {ROOF_TRIGONOMETRY, OP_COS, 20, "20 times cos, one after another"},
    {ROOF_EXPONENTIALS, OP_EXP, 1, "exp of each element"},
    {ROOF_EXPONENTIALS, OP_LOG, 1, "log of each element"},
    {ROOF_EXPONENTIALS, OP_EXP, 2, "exp of -exp of each element"},
    {ROOF_EXPONENTIALS, OP_EXP, 20, "20 times exp of the negative, one after another"},
};
enum { METHODS = ARRAY_COUNT(methods) };
_Static_assert((int)METHODS <= (int)ROOF_METHODS_MAX, "all are tried");

/* A method that is ready to run. */
struct kernel {
    struct kernel_request request;
    struct device_kernel *loaded;
    struct launch launch;
    struct roof_launches turns;
};

struct functions {
    const struct roof_bench *bench;
    int64_t elements;
    struct launch_buffer buffers[OPERANDS];
    struct kernel *kernels; /* ROOF_METHODS_MAX of them */
    struct roof_method methods[ROOF_METHODS_MAX];
    unsigned count;
};

/* Exponentials of exponentials would soon be infinite: those of their negatives stay below 1. */
static void write_program(const struct method *method, int64_t elements, struct program *program,
                          struct program_shape *shape) {
    *program = (struct program){.rank = 1, .outer = 1};
    *shape = (struct program_shape){.sizes = {elements}};
    for (unsigned i = 0; i < OPERANDS; i++) {
        program_operand(program, RIDGE_F32, i > 0);
        shape->strides[i][0] = 1;
        shape->alignment[i] = 16;
    }
    int last = program_instruction(program, (struct program_instruction){.op = OP_LOAD});
    for (unsigned i = 0; i < method->applications; i++) {
        if (method->function == OP_EXP && i > 0)
            last = program_instruction(
                program, (struct program_instruction){.op = OP_NEG, .a = (uint16_t)last});
        last = program_instruction(
            program,
            (struct program_instruction){.op = (uint8_t)method->function, .a = (uint16_t)last});
    }
    program_instruction(
        program, (struct program_instruction){.op = OP_STORE, .slot = 1, .a = (uint16_t)last});
    program_collapse(program, shape);
}

static bool add_method(struct functions *functions, const struct method *method,
                       struct status *status) {
    const struct roof_bench *bench = functions->bench;
    struct kernel *kernel = &functions->kernels[functions->count];
    struct program program;
    struct program_shape shape;
    write_program(method, functions->elements, &program, &shape);
    if (!kernel_program(&program, &shape, bench->capabilities, &kernel->request, status) ||
        !roof_load_request(bench, &kernel->request, &kernel->loaded, status))
        return false;
    kernel->launch = (struct launch){
        .kernel = kernel->loaded,
        .shared_bytes = kernel->request.shared_bytes,
        .buffer_count = OPERANDS,
        .scalar_count = kernel->request.scalar_count,
        .buffers = functions->buffers,
        .scalars = kernel->request.scalars,
    };
    memcpy(kernel->launch.grid, kernel->request.grid, sizeof kernel->launch.grid);
    memcpy(kernel->launch.block, kernel->request.block, sizeof kernel->launch.block);
    kernel->turns = (struct roof_launches){bench->device, &kernel->launch, 1, NULL};
    struct roof_method *row = &functions->methods[functions->count++];
    row->work = (struct measured_work){&kernel->turns, roof_launch_batch};
    row->amount = (double)functions->elements * method->applications;
    snprintf(row->how, sizeof row->how, "%s", method->how);
    return true;
}

static bool measure_roof(struct functions *functions, enum roof_id roof, struct status *status) {
    const struct roof_bench *bench = functions->bench;
    /* CPU drivers take seconds to compile long ones, which are slow there too. */
    bool many = bench->capabilities->is_gpu || bench->capabilities->language == LANGUAGE_NATIVE;
    bool measured = true;
    functions->count = 0;
    memset(functions->kernels, 0, ROOF_METHODS_MAX * sizeof *functions->kernels);
    for (unsigned i = 0; i < METHODS && measured; i++)
        measured = methods[i].roof != roof || (methods[i].applications > FEW && !many) ||
                   add_method(functions, &methods[i], status);
    measured = measured && roof_best(bench, functions->methods, functions->count,
                                     &bench->roofs->of[roof], status);
    for (unsigned i = 0; i < ROOF_METHODS_MAX; i++)
        if (functions->kernels[i].loaded)
            bench->device->ops->unload(bench->device, functions->kernels[i].loaded);
    return measured;
}

bool roof_measure_functions(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct functions functions = {
        .bench = bench,
        .elements = bench->capabilities->is_gpu
                        ? GPU_ELEMENTS
                        : CPU_ELEMENTS * (int64_t)(bench->capabilities->compute_units + 1),
    };
    size_t bytes = (size_t)functions.elements * sizeof(float);
    functions.kernels = memory_allocate(ROOF_METHODS_MAX, sizeof *functions.kernels, status);
    bool measured = functions.kernels &&
                    ops->allocate(bench->device, bytes, &functions.buffers[0].memory, status) &&
                    ops->allocate(bench->device, bytes, &functions.buffers[1].memory, status) &&
                    roof_fill(bench, functions.buffers[0].memory, RIDGE_F32, false, status) &&
                    measure_roof(&functions, ROOF_TRIGONOMETRY, status) &&
                    measure_roof(&functions, ROOF_EXPONENTIALS, status);
    for (unsigned i = 0; i < OPERANDS; i++)
        if (functions.buffers[i].memory.handle)
            ops->release(bench->device, functions.buffers[i].memory);
    memory_free(functions.kernels);
    return measured || status_context(status, "measuring sin, cos, exp and log");
}
