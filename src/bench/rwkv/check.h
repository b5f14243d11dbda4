/* Checks the output of a program of an RWKV-7 model. */
#ifndef RIDGE_BENCH_RWKV_CHECK_H
#define RIDGE_BENCH_RWKV_CHECK_H

#include "base/status.h"
#include "rwkv/forward.h"

struct rwkv_check {
    const struct rwkv_model *model;
    ridge_program *program;
    ridge_function *function;
    int64_t layer; /* of the part; -1: the function is rwkv_step() */
    ridge_tensor *const *inputs;
    unsigned input_count, output_count;
    /* Compare with f32 on the CPU; otherwise with the same device, one operation at a time. */
    bool on_cpu;
};

/* error is the largest difference relative to the largest value, of the output where that is
 * most. STATUS_INPUT if rounding of the model's types does not explain it, or a value is not
 * finite. */
bool rwkv_check(const struct rwkv_check *check, double *error, struct status *status);

#endif
