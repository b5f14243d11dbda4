/* The loaded kernels of a device, found by what they were made from. */
#ifndef RIDGE_TENSOR_KERNELS_H
#define RIDGE_TENSOR_KERNELS_H

#include "gen/kernel.h"
#include "tensor/tensor.h"

struct kernel_store;

struct kernel_store *kernel_store_create(struct status *status);
/* The kernels themselves go with the device. Takes NULL. */
void kernel_store_destroy(struct kernel_store *store);
/* The kernel that the request asks for, loaded if this is the first time. */
bool kernel_store_get(ridge_device *device, const struct kernel_request *request,
                      struct device_kernel **kernel, struct status *status);

#endif
