/* The child shares one page range with the parent and writes its facts there, so that what it found
 * before a crash is not lost. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/doctor.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { POLL_MS = 5, TIMEOUT_MS = 60000 };

static _Noreturn void be_child(doctor_gatherer *gather, struct doctor_facts *facts) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    gather(facts);
    _exit(0);
}

/* False: the child did not end in time, and was killed. */
static bool wait_for(pid_t child, int *wait_status) {
    for (unsigned waited = 0; waited < TIMEOUT_MS; waited += POLL_MS) {
        pid_t ended = waitpid(child, wait_status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, wait_status, 0);
    return false;
}

static void describe_end(int wait_status, char failure[FACT_TEXT]) {
    if (WIFSIGNALED(wait_status))
        snprintf(failure, FACT_TEXT, "crashes when loaded: %s", strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) != 0)
        snprintf(failure, FACT_TEXT, "ends the process when loaded: exit status %d",
                 WEXITSTATUS(wait_status));
}

bool doctor_gather_in_child(doctor_gatherer *gather, struct doctor_facts *facts,
                            char failure[FACT_TEXT]) {
    struct doctor_facts *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int wait_status = 0;
    failure[0] = 0;
    if (shared == MAP_FAILED) {
        snprintf(failure, FACT_TEXT, "cannot be checked: %s", strerror(errno));
        return false;
    }
    *shared = *facts;
    pid_t child = fork();
    if (child == 0)
        be_child(gather, shared);
    if (child < 0)
        snprintf(failure, FACT_TEXT, "cannot be checked: %s", strerror(errno));
    else if (!wait_for(child, &wait_status))
        snprintf(failure, FACT_TEXT, "does not answer within %d s", TIMEOUT_MS / 1000);
    else
        describe_end(wait_status, failure);
    *facts = *shared;
    munmap(shared, sizeof *shared);
    return !failure[0];
}
