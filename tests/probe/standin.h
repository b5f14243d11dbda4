/* A fake CUDA driver and CUPTI in one library, without a device, for tests of the probe. Launches
 * run at once on the host, and CUPTI delivers their records.
 *
 * $STANDIN selects a fault: "taken" (another client uses CUPTI), "old" (an old version), "refused"
 * (no kernel records for this user), "lossy" (every tenth record is lost), "slow" (some launches
 * write their record late), "clocks" (every tenth time is from the default clock), "fail:N" (the
 * Nth call to CUPTI, or to the driver by the probe, fails; $STANDIN_FAILED gets its name).
 * $STANDIN_REPLAY is a file of records from a real CUPTI, which are delivered at the first wait.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/cupti.h"

#define STANDIN_CONTEXT ((struct CUctx_st *)0x10)
#define STANDIN_OTHER_CONTEXT ((struct CUctx_st *)0x20)
enum { STANDIN_CONTEXT_NUMBER = 1, STANDIN_STREAM = 7, STANDIN_NS = 1000 };
/* Other streams have their handle for a number: one is being captured, one is of the other context,
 * one is no stream. The handle of one is reused by each new stream, whose number is one more. */
enum { STANDIN_CAPTURED = 30, STANDIN_ELSEWHERE = 40, STANDIN_REUSED = 50, STANDIN_NO_STREAM = 66 };

/* A record for CUPTI to deliver, and a call for it to tell of, if they are wanted. */
void standin_put(cupti_choice kind, const void *record, size_t bytes);
void standin_tell(cupti_choice domain, uint32_t number, const void *data);
bool standin_wants(cupti_choice kind);
void standin_create_stream(void);
uint64_t standin_now(void);
/* Correlations begin again at 1. */
void standin_forget_calls(void);
void standin_replay(void);
bool standin_fails(const char *name);

#endif
