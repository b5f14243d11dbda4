/* Running a function compiled and eagerly, and comparing. */
#ifndef RIDGE_TESTS_CONFORMANCE_COMPILED_H
#define RIDGE_TESTS_CONFORMANCE_COMPILED_H

#include "arrays.h"

enum { INPUTS_MAX = 4, OUTPUTS_MAX = 4 };

/* Compiles the function for the inputs, runs it twice and once eagerly (in a quick run on the
 * CPU, which avoids compiling each operation), and expects the results to be within `tolerance`
 * (relative to the largest element, or to `least` if that is larger; integers exactly). `info`
 * may be NULL. */
void expect_as_eager(ridge_function *function, void *context, ridge_tensor *const *inputs,
                     unsigned input_count, unsigned output_count, double tolerance, double least,
                     struct ridge_program_info *info);

#endif
