/* Eager operations, recorded so that they can be differentiated.
 *
 * The tape keeps operands and results alive. On the way back each operation is traced again
 * together with its rule, as an eager operation of its own, whose plan is cached. */
#ifndef RIDGE_TENSOR_GRADIENT_TAPE_H
#define RIDGE_TENSOR_GRADIENT_TAPE_H

#include "tensor/operation.h"

struct tape;

struct tape *tape_create(ridge_device *device, struct status *status);
void tape_destroy(struct tape *tape); /* accepts NULL */
/* Appends an operation that has run; inputs may be NULL where the operation allows it. */
bool tape_record(struct tape *tape, const struct operation *operation, struct tensor *const *inputs,
                 struct tensor *const *outputs, struct status *status);
/* Gradients of the loss, a tensor with one element, as new tensors of the current scope. */
bool tape_gradients(struct tape *tape, struct tensor *loss, struct tensor *const *parameters,
                    unsigned count, struct tensor **gradients, struct status *status);

#endif
