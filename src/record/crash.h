/* Keeps the recorded program alive when the recorder crashes.
 *
 * The handler prints where it happened and executes `ridge await PID`, which is the same process
 * with the same children: it waits for the program, forwards signals and exits as the program did.
 */
#ifndef RIDGE_RECORD_CRASH_H
#define RIDGE_RECORD_CRASH_H

#include <signal.h>
#include <sys/types.h>

/* From here on a fatal signal leads to `ridge await`. `path` is where the trace is. */
void crash_guard(pid_t program, const char *path);
/* The program has ended, or there is none. */
void crash_unguard(void);
/* All signals but the fatal ones: a thread that blocks those is killed without its handler. */
void crash_block_others(sigset_t *set);

#endif
