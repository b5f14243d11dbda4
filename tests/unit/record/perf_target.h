/* The program that the tests of sampling record: see perf_target.c. */
#ifndef RIDGE_TESTS_RECORD_PERF_TARGET_H
#define RIDGE_TESTS_RECORD_PERF_TARGET_H

#define PERF_TARGET_VARIABLE "RIDGE_TEST_PERF_TARGET" /* "threads", "children", "compiler" */

/* Where it works. */
void perf_target_spin(double cpu_seconds);

#endif
