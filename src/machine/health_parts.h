/* The two halves of a reading: the processor's, from the system's files, and a GPU's, from NVML. */
#ifndef RIDGE_MACHINE_HEALTH_PARTS_H
#define RIDGE_MACHINE_HEALTH_PARTS_H

#include "machine/health.h"

/* ---- The processor ------------------------------------------------------------------------ */

/* What /proc and /sys below `root` ("" for this system's own) tell. `own_ns` is the time that this
 * process has used; its children, which work for it, are found below /proc/`process`. */
void health_read_processor(const char *root, long process, double own_ns, struct health *reading);

/* ---- A GPU -------------------------------------------------------------------------------- */

struct health_gpu;
/* By UUID, without "GPU-"; "": the only GPU. NULL when NVML is not here or does not know it. */
struct health_gpu *health_gpu_open(const char *uuid);
void health_gpu_close(struct health_gpu *gpu); /* takes NULL */
void health_gpu_read(struct health_gpu *gpu, struct health *reading);

#endif
