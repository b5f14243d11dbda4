/* A half-written temporary file must not outlive a Ctrl-C. The handler calls only what POSIX allows
 * in one, then lets the signal have its usual effect, so that the shell sees why ridge ended. */
#include "cmd/interrupt.h"

#include <stddef.h>

#include "base/array.h"
#include "base/temporary.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = ARRAY_COUNT(signals) };
static volatile sig_atomic_t stopped;

static void clean_up(int signal_number) {
    temporary_remove_all();
    raise(signal_number); /* the handler was reset on entry */
}

/* A signal that is ignored, as under nohup, stays ignored. */
static void set_handler(int signal_number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL);
}

void interrupt_arm(void) {
    for (size_t i = 0; i < SIGNALS; i++)
        set_handler(signals[i], clean_up, (int)SA_RESETHAND);
}

static void stop(int signal_number) {
    stopped = signal_number;
    interrupt_arm();
}

const volatile sig_atomic_t *interrupt_defer(void) {
    for (size_t i = 0; i < SIGNALS; i++)
        set_handler(signals[i], stop, 0);
    return &stopped;
}

void interrupt_end(void) {
    if (stopped)
        raise(stopped);
}
