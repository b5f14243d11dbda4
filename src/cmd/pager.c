/* The pager is a child process that reads a pipe; ridge's standard output is the other end. */
#include "cmd/pager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

static const char *pager_command(void) {
    const char *command = getenv("RIDGE_PAGER");
    if (!command)
        command = getenv("PAGER");
    return command ? command : "less";
}

static void run_pager(const char *command, const int ends[2]) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("LESS", "FRX", 0); /* quit if it fits, keep colours, leave the text on the screen */
    setenv("LESSCHARSET", "utf-8", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Without the command the text would be lost with it. */
static bool is_there(const char *command) {
    char check[512];
    int length = snprintf(check, sizeof check, "command -v %.*s > /dev/null 2>&1",
                          (int)strcspn(command, " "), command);
    return length > 0 && length < (int)sizeof check && system(check) == 0;
}

bool pager_start(void) {
    const char *command = pager_command(), *terminal = getenv("TERM");
    int ends[2];
    if (!isatty(STDOUT_FILENO) || (terminal && strcmp(terminal, "dumb") == 0) || !*command ||
        strcmp(command, "cat") == 0 || !is_there(command) || pipe(ends) != 0)
        return false;
    fflush(stdout);
    pager = fork();
    if (pager == 0)
        run_pager(command, ends);
    if (pager > 0)
        dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    return pager > 0;
}

void pager_finish(void) {
    if (pager <= 0)
        return;
    close(STDOUT_FILENO);
    waitpid(pager, NULL, 0);
    pager = 0;
}
