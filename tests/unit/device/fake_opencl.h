/* An OpenCL driver made for tests: three devices on two platforms, commands done at once, every
 * object counted, and any call made to fail on request. Give it to opencl_driver_replace().
 */
#ifndef RIDGE_TESTS_UNIT_DEVICE_FAKE_OPENCL_H
#define RIDGE_TESTS_UNIT_DEVICE_FAKE_OPENCL_H

#include "abi/opencl_driver.h"

/* In ridge's numbering: a GPU, an accelerator that is too old, a CPU. */
enum { FAKE_GPU, FAKE_OLD, FAKE_CPU, FAKE_DEVICES };
enum { FAKE_MEMORY = 1 << 20, FAKE_ALLOCATION_MAX = 1 << 19 };

struct fake_opencl {
    int live; /* objects that nobody released */
    unsigned calls;
    unsigned fail_at; /* the call of this number fails; 0: none */
    cl_int error;
    const char *failed; /* the call that did */
    bool held;          /* no event is reached */
    bool empty;         /* there are no platforms */
    bool bad_binaries;  /* no binary is taken */
    size_t used;        /* bytes of buffers in use */
    unsigned sources, binaries, profiling_queues;
    /* the last launch */
    size_t global[3], local[3];
    size_t parameter_sizes[32];
    unsigned parameter_count;
    int64_t first_scalar;
};
extern struct fake_opencl fake_opencl;
/* Forgets everything but live objects; calls none failing. */
const struct opencl_driver *fake_opencl_start(void);

/* How far the fake devices' clock is ahead of the host's. */
#define FAKE_CLOCK_AHEAD INT64_C(5000000000000)

#endif
