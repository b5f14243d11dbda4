/* Kernels that a user wrote: kept for the life of the process, and known by a number, which is part
 * of a kernel's specification. */
#ifndef RIDGE_GEN_CUSTOM_H
#define RIDGE_GEN_CUSTOM_H

#include "gen/kernel.h"

enum { CUSTOM_INPUTS_MAX = 8, CUSTOM_SCALARS_MAX = 16, CUSTOM_NAME_MAX = 64 };

struct custom_kernel {
    char name[CUSTOM_NAME_MAX + 1];        /* a C identifier */
    const char *bodies[LANGUAGE_GLSL + 1]; /* by language, NULL: none */
    ridge_cpu_function *cpu;
    unsigned input_count, scalar_count, threads;
    enum ridge_dtype types[CUSTOM_INPUTS_MAX + 1]; /* of the inputs and the result */
};

/* The number of an equal kernel, which is copied at the first time; -1 on failure. */
int32_t custom_keep(const struct custom_kernel *kernel, struct status *status);
const struct custom_kernel *custom_get(int32_t number);

/* Buffers: the inputs, the result; all contiguous. */
struct custom_work {
    int32_t number;
    uint32_t blocks;
    const int64_t *scalars;
};
bool kernel_custom(const struct custom_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, struct status *status);
bool custom_native_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status);
bool custom_source_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status);

#endif
