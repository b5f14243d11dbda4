/* What to clean up when the user stops ridge with Ctrl-C or a signal, and how work that
 * can end in order learns of it.
 */
#ifndef RIDGE_CMD_INTERRUPT_H
#define RIDGE_CMD_INTERRUPT_H

#include <signal.h>

/* From now on SIGINT, SIGTERM and SIGHUP remove temporary and half-written files before they
 * end ridge. */
void interrupt_arm(void);

/* From now on the first of those signals only sets the flag that is returned: the work is expected
 * to look at it and to end. The second one has its usual effect. interrupt_arm() ends this. */
const volatile sig_atomic_t *interrupt_defer(void);
/* Ends ridge by the signal that was deferred, so that the shell sees why; returns if none was. */
void interrupt_end(void);

#endif
