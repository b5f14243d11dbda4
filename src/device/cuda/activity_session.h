/* The process' one session with CUPTI, shared by all CUDA devices that listen. */
#ifndef RIDGE_DEVICE_CUDA_ACTIVITY_SESSION_H
#define RIDGE_DEVICE_CUDA_ACTIVITY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "abi/cupti_decode.h"
#include "abi/cuda.h"

/* The first to join starts CUPTI for this major version of the driver; the last to leave stops it
 * and, when it may, takes it out of the process. */
bool session_join(int driver_major, struct status *status);
void session_leave(bool take_out);

/* For those that have joined. */
bool session_context_number(cuda_context context, uint32_t *number, struct status *status);
bool session_stream_number(cuda_context context, cuda_stream stream, uint32_t *number,
                           struct status *status);
/* The records that CUPTI thinks complete arrive before it returns. */
bool session_flush(struct status *status);
/* Records that CUPTI could not keep since it was started. */
uint64_t session_dropped(void);
/* "13.0" */
void session_version(char *text, size_t capacity);

/* How many CUDA devices there are: CUPTI is only taken out when no other one may be in the middle
 * of a call. */
void session_device_opened(void);
void session_device_closed(void);

/* ---- What the session tells: activity.c ------------------------------------------------------ */

/* A call of the driver by this thread begins; `launches`: it puts an activity on the device. */
void activity_call_begins(uint32_t correlation, bool launches);
/* From any thread. */
void activity_arrived(const struct cupti_record *record);

#endif
