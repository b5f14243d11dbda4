/* A half-written temporary file must not outlive a Ctrl-C. The handler calls only what POSIX allows
 * in one, then lets the signal have its usual effect, so that the shell sees why ridge ended. */
#include "cmd/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "import/import.h"

static const char *volatile doomed;

static void clean_up(int signal_number) {
    const char *paths[] = {doomed, import_temporary()};
    for (size_t i = 0; i < 2; i++)
        if (paths[i])
            unlink(paths[i]);
    raise(signal_number); /* the handler was reset on entry */
}

static void remove_on_signal(const char *path) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    doomed = path;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action = {.sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND}, old;
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

void interrupt_arm(void) {
    remove_on_signal(NULL);
}

bool interrupt_open(struct output *output, const char *path, bool replace, struct status *status) {
    if (!output_open(output, path, replace, status))
        return false;
    remove_on_signal(output->temporary);
    return true;
}

bool interrupt_close(struct output *output, bool ok, struct status *status) {
    if (ok)
        ok = output_commit(output, status);
    else
        output_abandon(output);
    remove_on_signal(NULL);
    return ok;
}
