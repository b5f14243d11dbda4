/* How a public operation runs: its builder is traced into a graph, either that of the function
 * that is being compiled or its own, whose plan is cached for the next call with the same
 * shapes. */
#ifndef RIDGE_TENSOR_OPERATION_H
#define RIDGE_TENSOR_OPERATION_H

#include "tensor/build.h"

enum { OPERATION_INPUTS_MAX = 8, OPERATION_OUTPUTS_MAX = 8, OPERATION_INTEGERS_MAX = 12 };

struct operation;
typedef bool operation_builder(struct builder *build, const struct operation *operation,
                               struct tensor *const *inputs, struct tensor **outputs);

struct operation {
    const char *name; /* as the user calls it: "ridge_softmax" */
    operation_builder *build;
    ridge_device *device; /* if there are no inputs; else theirs is used */
    unsigned input_count, output_count;
    ridge_tensor *inputs[OPERATION_INPUTS_MAX];
    ridge_tensor *const *many; /* instead of inputs, for any number of them */
    unsigned optional;         /* bit by input that may be NULL */
    /* The operation that this one differentiates, part of the key; or NULL. */
    const struct operation *forward;
    bool detached; /* no gradient passes */
    /* Further arguments of the builder; all are part of the key. */
    int64_t integers[OPERATION_INTEGERS_MAX];
    double numbers[2];
};

/* Runs or traces it. False (and all outputs NULL) on failure, which the thread's status explains
 * unless an input was NULL: then the failure that made it so does. */
bool operation_run(const struct operation *operation, ridge_tensor **outputs);
/* The same for one output. */
ridge_tensor *operation_result(const struct operation *operation);

struct plan_store *plan_store_create(struct status *status);
void plan_store_destroy(struct plan_store *store); /* accepts NULL */
/* Discards all plans: they hold kernel arguments, no tensors. */
void plan_store_clear(struct plan_store *store);

/* The properties of an input that a plan depends on: dtype, sizes, strides, alignment. */
void operation_key_tensor(struct buffer *key, const struct tensor *tensor);
/* Alignment of the first element's address, 1..16. */
uint32_t tensor_alignment(const struct tensor *tensor);

#endif
