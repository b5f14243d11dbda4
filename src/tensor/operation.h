/* How a public operation runs: its builder is traced into a graph, either the one of the function
 * that is being compiled or one of its own, whose plan is kept for the next call with the same
 * shapes. */
#ifndef RIDGE_TENSOR_OPERATION_H
#define RIDGE_TENSOR_OPERATION_H

#include "tensor/build.h"

enum { OPERATION_INPUTS_MAX = 8, OPERATION_OUTPUTS_MAX = 2, OPERATION_INTEGERS_MAX = 12 };

struct operation;
typedef bool operation_builder(struct builder *build, const struct operation *operation,
                               struct tensor *const *inputs, struct tensor **outputs);

struct operation {
    const char *name; /* as the user calls it: "ridge_softmax" */
    operation_builder *build;
    ridge_device *device; /* where there are no inputs; else theirs is taken */
    unsigned input_count, output_count;
    ridge_tensor *inputs[OPERATION_INPUTS_MAX];
    ridge_tensor *const *many; /* instead of inputs, for any number of them */
    unsigned optional;         /* bit by input that may be NULL */
    /* What the builder needs besides; all of it tells calls apart. */
    int64_t integers[OPERATION_INTEGERS_MAX];
    double numbers[2];
};

/* Runs or traces it. False (and all outputs NULL) on failure, which the thread's status explains
 * unless an input was NULL: then the failure that made it so does. */
bool operation_run(const struct operation *operation, ridge_tensor **outputs);
/* The same for one output. */
ridge_tensor *operation_result(const struct operation *operation);

struct plan_store *plan_store_create(struct status *status);
void plan_store_destroy(struct plan_store *store); /* takes NULL */
/* Forgets all plans: they hold kernels' arguments, no tensors. */
void plan_store_clear(struct plan_store *store);

/* What a plan depends on of an input: dtype, sizes, strides, alignment. */
void operation_key_tensor(struct buffer *key, const struct tensor *tensor);
/* 1..16: what the address of the first element is a multiple of. */
uint32_t tensor_alignment(const struct tensor *tensor);

#endif
