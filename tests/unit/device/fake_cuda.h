/* A CUDA that is not there: driver, NVRTC and cuBLASLt in plain C on host memory.
 *
 * Copies happen only when something waits for them, as late as a real device might. Kernels do
 * nothing but are counted; f32 matrix products are computed. The Nth call can be made to fail.
 */
#ifndef RIDGE_TESTS_UNIT_DEVICE_FAKE_CUDA_H
#define RIDGE_TESTS_UNIT_DEVICE_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

struct fake_cuda {
    /* To set. */
    uint64_t fail_at;                /* number of the call that fails, from 1; 0: none */
    unsigned error;                  /* what it fails with */
    bool sticky;                     /* all calls after it fail too */
    int devices;                     /* that the driver has */
    int architecture;                /* of the GPU: 90 */
    int newest;                      /* architecture that the compiler knows */
    bool source_is_wrong;            /* the compiler finds an error */
    double clock_rate;               /* of the device against the host */
    unsigned matmul_microseconds[8]; /* what each of cuBLASLt's algorithms takes */

    /* To look at. */
    uint64_t calls;
    const char *failed_call; /* the first that failed */
    int64_t live;            /* objects and allocations that exist */
    uint64_t launches;       /* executed, replays included */
    uint64_t set_current;    /* calls of cuCtxSetCurrent */
    unsigned matmul_algorithm;
    uint64_t first_argument, second_argument; /* of the last launch of a kernel */
    int64_t first_scalar;    /* the parameter after those two, of the last launch */
    unsigned dynamic_shared; /* the last that a kernel was allowed */
};
extern struct fake_cuda fake_cuda;

/* Puts the fakes in place of the machine's libraries, everything at its beginning. */
void fake_cuda_use(void);
/* The machine's own again. */
void fake_cuda_remove(void);

#endif
