/* Gradients of a function against finite differences of a reference in double. */
#ifndef RIDGE_TESTS_CONFORMANCE_GRADIENTS_H
#define RIDGE_TESTS_CONFORMANCE_GRADIENTS_H

#include "arrays.h"

enum { GRADIENT_INPUTS_MAX = 7 };

/* y = forward(inputs), and the same in double. `option` is theirs. */
struct gradient_problem {
    const char *name;
    ridge_tensor *(*forward)(ridge_tensor *const *inputs, int option);
    struct array (*reference)(const struct array *inputs, int option);
    int option;
    unsigned input_count;
    unsigned wanted; /* bit by input: with respect to which */
    struct {
        unsigned rank;
        int64_t sizes[RIDGE_RANK_MAX];
        double low, high;
        bool integer; /* i32 instead of the dtype */
    } inputs[GRADIENT_INPUTS_MAX];
};

/* Compiled and, unless the session is quick, eagerly. */
void check_gradient(const struct gradient_problem *problem, enum ridge_dtype dtype,
                    enum layout layout);
/* The same with inputs that were chosen elsewhere. */
void expect_gradients(const struct gradient_problem *problem, enum ridge_dtype dtype,
                      enum layout layout, struct array *inputs);

/* gradient_problems.c */
extern const struct gradient_problem gradient_problems[];
extern const unsigned gradient_problem_count;

#endif
