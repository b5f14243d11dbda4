/* Launches: parameters, sizes, the queue; and graphs, launches whose parameters are set once. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/opencl/opencl.h"

/* In order; keeps the first failure. */
struct parameters {
    const struct opencl_driver *driver;
    cl_kernel kernel;
    cl_uint count;
    cl_int error;
};

static void set(struct parameters *parameters, size_t size, const void *value) {
    if (parameters->error == CL_SUCCESS)
        parameters->error = parameters->driver->clSetKernelArg(parameters->kernel,
                                                               parameters->count++, size, value);
}

static bool set_parameters(struct opencl_device *device, cl_kernel object,
                           const struct launch *launch, bool has_dynamic, struct status *status) {
    struct parameters parameters = {device->driver, object, 0, CL_SUCCESS};
    for (unsigned i = 0; i < launch->buffer_count; i++) {
        cl_mem memory = opencl_object(launch->buffers[i].memory);
        int64_t offset = (int64_t)launch->buffers[i].offset;
        set(&parameters, sizeof memory, &memory);
        set(&parameters, sizeof offset, &offset);
    }
    if (launch->scalar_count)
        set(&parameters, launch->scalar_count * sizeof *launch->scalars, launch->scalars);
    if (has_dynamic) /* a size of 0 is an error */
        set(&parameters, launch->shared_bytes ? launch->shared_bytes : 1, NULL);
    if (opencl_check(parameters.error, "clSetKernelArg", status))
        return true;
    return status_context(status, "kernel %s, parameter %u", launch->kernel->name,
                          parameters.count - 1);
}

/* The sizes as OpenCL counts them. An empty launch has a size of 0. */
static struct opencl_shape shape_of(const struct launch *launch) {
    struct opencl_shape shape;
    for (unsigned axis = 0; axis < 3; axis++) {
        shape.local[axis] = launch->block[axis];
        shape.global[axis] = (size_t)launch->grid[axis] * launch->block[axis];
    }
    return shape;
}

static bool is_empty(const struct opencl_shape *shape) {
    return !shape->global[0] || !shape->global[1] || !shape->global[2];
}

static bool check_launch(const struct launch *launch, struct status *status) {
    const struct opencl_kernel *kernel = (const struct opencl_kernel *)launch->kernel;
    const uint32_t *block = launch->block;
    uint64_t plane = (uint64_t)block[0] * block[1];
    if (block[2] && plane > kernel->block_max / block[2])
        return status_fail(status, STATUS_USAGE,
                           "kernel %s: blocks of %u x %u x %u threads; compiled for this device, "
                           "it allows at most %zu",
                           launch->kernel->name, block[0], block[1], block[2], kernel->block_max);
    return true;
}

static bool enqueue(struct opencl_device *device, cl_command_queue queue, cl_kernel object,
                    const struct opencl_shape *shape, const char *name, cl_event *event,
                    struct status *status) {
    if (is_empty(shape))
        return true;
    return opencl_check(device->driver->clEnqueueNDRangeKernel(
                            queue, object, 3, NULL, shape->global, shape->local, 0, NULL, event),
                        "clEnqueueNDRangeKernel", status) ||
           status_context(status, "kernel %s", name);
}

bool opencl_launch(struct device *base, unsigned number, const struct launch *launch,
                   struct device_stamp *stamp, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    const struct opencl_kernel *kernel = (const struct opencl_kernel *)launch->kernel;
    struct opencl_shape shape = shape_of(launch);
    cl_command_queue queue;
    cl_event event, *wanted;
    if (!check_launch(launch, status) || !opencl_stamp(device, stamp, &event, &wanted, status) ||
        !opencl_queue(device, number, &queue, status) ||
        !set_parameters(device, kernel->object, launch, kernel->has_dynamic, status) ||
        !enqueue(device, queue, kernel->object, &shape, launch->kernel->name, wanted, status))
        return false;
    if (!opencl_submit(device, number, status)) {
        if (event)
            device->driver->clReleaseEvent(event);
        return false;
    }
    if (stamp)
        stamp->begin = (uintptr_t)event;
    return true;
}

static bool fill_node(struct opencl_device *device, const struct launch *launch,
                      struct opencl_node *node, struct status *status) {
    const struct opencl_kernel *kernel = (const struct opencl_kernel *)launch->kernel;
    cl_int error = CL_SUCCESS;
    if (!check_launch(launch, status))
        return false;
    node->shape = shape_of(launch);
    snprintf(node->name, sizeof node->name, "%s", launch->kernel->name);
    node->object = device->driver->clCreateKernel(kernel->program, launch->kernel->name, &error);
    return opencl_check(error, "clCreateKernel", status) &&
           set_parameters(device, node->object, launch, kernel->has_dynamic, status);
}

bool opencl_graph_create(struct device *base, const struct launch *launches, unsigned count,
                         void **graph, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    struct opencl_graph *made =
        memory_allocate(1, sizeof *made + (size_t)count * sizeof made->nodes[0], status);
    if (!made)
        return false;
    opencl_link_add(&device->graphs, &made->link);
    for (; made->count < count; made->count++)
        if (!fill_node(device, &launches[made->count], &made->nodes[made->count], status)) {
            made->count++; /* the one that failed may have its object */
            opencl_graph_destroy(base, made);
            return false;
        }
    *graph = made;
    return true;
}

bool opencl_graph_replay(struct device *base, unsigned number, void *graph, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    const struct opencl_graph *made = graph;
    cl_command_queue queue;
    if (!opencl_queue(device, number, &queue, status))
        return false;
    for (unsigned i = 0; i < made->count; i++) {
        const struct opencl_node *node = &made->nodes[i];
        if (!enqueue(device, queue, node->object, &node->shape, node->name, NULL, status))
            return false;
    }
    return opencl_check(device->driver->clFlush(queue), "clFlush", status);
}

void opencl_graph_destroy(struct device *base, void *graph) {
    struct opencl_graph *made = graph;
    if (!made)
        return;
    for (unsigned i = 0; i < made->count; i++)
        if (made->nodes[i].object)
            opencl_of(base)->driver->clReleaseKernel(made->nodes[i].object);
    opencl_link_remove(&made->link);
    memory_free(made);
}
