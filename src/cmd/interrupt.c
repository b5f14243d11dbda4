/* A half-written temporary file must not outlive a Ctrl-C. The handler calls only what POSIX allows
 * in one, then lets the signal have its usual effect, so that the shell sees why ridge ended. */
#include "cmd/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "import/import.h"

enum { DOOMED_MAX = 4 }; /* outputs that are open at a time */
static const char *volatile doomed[DOOMED_MAX];

static void clean_up(int signal_number) {
    for (size_t i = 0; i < DOOMED_MAX; i++)
        if (doomed[i])
            unlink(doomed[i]);
    const char *imported = import_temporary();
    if (imported)
        unlink(imported);
    raise(signal_number); /* the handler was reset on entry */
}

void interrupt_arm(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action = {.sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND}, old;
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

/* The first place that holds `old` gets `path`. */
static void replace_doomed(const char *old, const char *path) {
    for (size_t i = 0; i < DOOMED_MAX; i++)
        if (doomed[i] == old) {
            doomed[i] = path;
            return;
        }
}

bool interrupt_open(struct output *output, const char *path, bool replace, struct status *status) {
    if (!output_open(output, path, replace, status))
        return false;
    if (output->temporary)
        replace_doomed(NULL, output->temporary);
    return true;
}

bool interrupt_close(struct output *output, bool ok, struct status *status) {
    if (output->temporary)
        replace_doomed(output->temporary, NULL);
    if (ok)
        return output_commit(output, status);
    output_abandon(output);
    return false;
}
