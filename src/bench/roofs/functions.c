/* How many sines, cosines, exponentials and logarithms a second do ridge's own kernels compute? A
 * chain of all four in equal parts, fused into one kernel as the runtime would, over so few
 * elements on a CPU that they stay in its caches.
 */
#include <stdio.h>
#include <string.h>

#include "bench/roofs/ways.h"

enum { CHAIN_LENGTH = 20, CPU_ELEMENTS = 16 << 10, GPU_ELEMENTS = 1 << 24 };

static void write_chain(int64_t elements, struct program *program, struct program_shape *shape) {
    static const enum op functions[] = {OP_SIN, OP_COS, OP_EXP, OP_LOG};
    *program = (struct program){.rank = 1, .outer = 1};
    *shape = (struct program_shape){.sizes = {elements}};
    program_operand(program, RIDGE_F32, false);
    program_operand(program, RIDGE_F32, true);
    for (unsigned i = 0; i < 2; i++) {
        shape->strides[i][0] = 1;
        shape->alignment[i] = 16;
    }
    int last = program_instruction(program, (struct program_instruction){.op = OP_LOAD});
    for (unsigned i = 0; i < CHAIN_LENGTH; i++)
        last = program_instruction(
            program,
            (struct program_instruction){.op = (uint8_t)functions[i % 4], .a = (uint16_t)last});
    program_instruction(
        program, (struct program_instruction){.op = OP_STORE, .slot = 1, .a = (uint16_t)last});
    program_collapse(program, shape);
}

static bool measure_kernel(const struct roof_bench *bench, const struct kernel_request *request,
                           struct device_kernel *kernel, const struct launch_buffer buffers[2],
                           double functions, struct status *status) {
    struct launch launch = {
        .kernel = kernel,
        .shared_bytes = request->shared_bytes,
        .buffer_count = 2,
        .scalar_count = request->scalar_count,
        .buffers = buffers,
        .scalars = request->scalars,
    };
    memcpy(launch.grid, request->grid, sizeof launch.grid);
    memcpy(launch.block, request->block, sizeof launch.block);
    struct roof_launches launches = {bench->device, &launch, 1, NULL};
    struct roof_way way = {.work = {&launches, roof_launch_batch}, .amount = functions};
    snprintf(way.how, sizeof way.how, "a fused chain of all four, in equal parts");
    return roof_fill(bench, buffers[0].memory, RIDGE_F32, true, status) &&
           roof_best(bench, &way, 1, &bench->roofs->of[ROOF_FUNCTIONS], status);
}

bool roof_measure_functions(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    int64_t elements = bench->capabilities->is_gpu
                           ? GPU_ELEMENTS
                           : CPU_ELEMENTS * (int64_t)(bench->capabilities->compute_units + 1);
    struct program program;
    struct program_shape shape;
    struct kernel_request request;
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[2] = {0};
    write_chain(elements, &program, &shape);
    bool measured =
        kernel_program(&program, &shape, bench->capabilities, &request, status) &&
        roof_load_request(bench, &request, &kernel, status) &&
        ops->allocate(bench->device, (size_t)elements * 4, &buffers[0].memory, status) &&
        ops->allocate(bench->device, (size_t)elements * 4, &buffers[1].memory, status) &&
        measure_kernel(bench, &request, kernel, buffers, (double)elements * CHAIN_LENGTH, status);
    for (unsigned i = 0; i < 2; i++)
        if (buffers[i].memory.handle)
            ops->release(bench->device, buffers[i].memory);
    if (kernel)
        ops->unload(bench->device, kernel);
    return measured || status_context(status, "measuring sin, cos, exp and log");
}
