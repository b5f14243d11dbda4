/* What processor is this, and how many threads should work on it? */
#ifndef RIDGE_DEVICE_CPU_PROCESSOR_H
#define RIDGE_DEVICE_CPU_PROCESSOR_H

#include "device/device.h"

enum { THREADS_MAX = 1024 };

/* Cores that this process may use: its affinity and the container's share bound them. */
unsigned machine_cores(void);
/* One per core, or RIDGE_THREADS; fails if that is not a number. */
bool machine_threads(unsigned *threads, struct status *status);
/* All capabilities of the CPU device. */
bool machine_describe(struct device_capabilities *capabilities, struct status *status);

#endif
