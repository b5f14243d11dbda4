/* The loaded kernels of a device, by their specification. */
#ifndef RIDGE_TENSOR_KERNELS_H
#define RIDGE_TENSOR_KERNELS_H

#include "gen/kernel.h"
#include "tensor/tensor.h"

struct kernel_store;

struct kernel_store *kernel_store_create(struct status *status);
/* The kernels themselves are freed with the device. Accepts NULL. */
void kernel_store_destroy(struct kernel_store *store);
/* The kernel of the request, loaded on first use. */
bool kernel_store_get(ridge_device *device, const struct kernel_request *request,
                      struct device_kernel **kernel, struct status *status);

#endif
