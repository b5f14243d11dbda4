/* The program that the tests of sampling record: see perf_target.c. */
#ifndef RIDGE_TESTS_RECORD_PERF_TARGET_H
#define RIDGE_TESTS_RECORD_PERF_TARGET_H

#define PERF_TARGET_VARIABLE "RIDGE_TEST_PERF_TARGET" /* threads, children, ... */

#include <sys/types.h>

enum { PERF_TARGET_PIPE = 9 };   /* where the part "interrupts" writes to */
enum { PERF_TARGET_CROWD = 64 }; /* threads of the part "crowd" */

/* Where it works. */
void perf_target_spin(double cpu_seconds);

/* Starts it. It waits for a byte in `go` before it plays its part. */
pid_t perf_target_start(const char *part, int *go);

#endif
