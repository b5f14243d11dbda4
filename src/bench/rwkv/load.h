/* An RWKV-7 model of examples/rwkv from a file of weights. */
#ifndef RIDGE_BENCH_RWKV_LOAD_H
#define RIDGE_BENCH_RWKV_LOAD_H

#include "base/status.h"
#include "rwkv/model.h"
#include "tensor/weights/weights.h"

/* The shape of the model in a file, from the sizes of its tensors. Fails if there is no model,
 * or with the name of a tensor that is missing or has the wrong shape or type. */
bool rwkv_shape_of_file(const struct weights *file, struct rwkv_shape *shape,
                        struct status *status);
/* The type of its large matrices. */
enum ridge_dtype rwkv_dtype_of_file(const struct weights *file);

/* `file` NULL: random weights. NULL on failure. */
struct rwkv_model *rwkv_model_load(ridge_device *device, const struct rwkv_shape *shape,
                                   enum ridge_dtype dtype, enum ridge_dtype product,
                                   const struct rwkv_extent *extent, const struct weights *file,
                                   struct status *status);
/* The reason of the last failed call of ridge.h, or that memory is short. Always false. */
bool rwkv_failed(struct status *status);

#endif
