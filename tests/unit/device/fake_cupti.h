/* A fake CUPTI for the fake CUDA: it gets callbacks of the fake driver's calls and creates
 * records of the resulting activities.
 *
 * Records can be late, out of order or missing. Its calls count as the fake CUDA's do, so the
 * Nth can be made to fail.
 */
#ifndef RIDGE_TESTS_UNIT_DEVICE_FAKE_CUPTI_H
#define RIDGE_TESTS_UNIT_DEVICE_FAKE_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

struct CUstream_st;

struct fake_cupti {
    /* To set. */
    bool taken;          /* another profiler has it */
    bool late;           /* a flush gives nothing until the device was waited for */
    bool backwards;      /* the newest record comes first */
    bool no_times;       /* records come without times */
    unsigned lose;       /* so many of the next records are dropped */
    int64_t nanoseconds; /* that each activity takes */
    int64_t early;       /* its clock is this much behind the host's */

    /* To look at. */
    unsigned starts, ends, finalized, flushes;
    uint64_t records; /* delivered */
};
extern struct fake_cupti fake_cupti;

void fake_cupti_use(void); /* everything at its beginning */
void fake_cupti_remove(void);
/* It has this version; until then it is too old to be used. */
void fake_cupti_start(uint32_t version);

/* For the fake CUDA: the driver's function with this number was called; whether it is an activity,
 * and of which kind; everything that was launched is over. */
enum fake_activity { FAKE_NOTHING, FAKE_KERNEL, FAKE_COPY };
void fake_cupti_called(uint32_t function, struct CUstream_st *stream, enum fake_activity activity);
void fake_cupti_waited(void);

/* For the fake CUPTI: whether this call is to fail. */
bool fake_cuda_fails(const char *call);

#endif
