/* Submits work to a device, optionally recording it.
 *
 * Each function calls the device's function of the same name. A recorder (NULL: none, at the
 * cost of one branch) gets one row for the call and one for the resulting device activity, with
 * its times.
 */
#ifndef RIDGE_DEVICE_WORK_H
#define RIDGE_DEVICE_WORK_H

#include "device/device.h"
#include "device/recorder.h"

bool work_launch_recorded(struct device *device, struct recorder *recorder, unsigned queue,
                          const struct launch *launch, struct status *status);

static inline bool work_launch(struct device *device, struct recorder *recorder, unsigned queue,
                               const struct launch *launch, struct status *status) {
    if (recorder)
        return work_launch_recorded(device, recorder, queue, launch, status);
    return device->ops->launch(device, queue, launch, NULL, status);
}

bool work_copy_in(struct device *device, struct recorder *recorder, unsigned queue,
                  struct device_memory to, size_t offset, const void *from, size_t bytes,
                  struct status *status);
bool work_copy_out(struct device *device, struct recorder *recorder, unsigned queue, void *to,
                   struct device_memory from, size_t offset, size_t bytes, struct status *status);
bool work_copy_within(struct device *device, struct recorder *recorder, unsigned queue,
                      struct device_memory to, size_t to_offset, struct device_memory from,
                      size_t from_offset, size_t bytes, struct status *status);
bool work_load(struct device *device, struct recorder *recorder, const struct kernel_code *code,
               struct device_kernel **kernel, struct status *status);
bool work_wait(struct device *device, struct recorder *recorder, struct status *status);
bool work_allocate(struct device *device, struct recorder *recorder, size_t bytes,
                   struct device_memory *memory, struct status *status);
void work_release(struct device *device, struct recorder *recorder, struct device_memory memory);

/* Replays the graph. A replay has no times of its parts, so under a recorder the launches that it
 * was made of, in their order, are launched one by one instead. */
bool work_graph_replay(struct device *device, struct recorder *recorder, unsigned queue,
                       void *graph, const struct launch *launches, unsigned count,
                       struct status *status);

#endif
