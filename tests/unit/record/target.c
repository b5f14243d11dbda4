/* Recorded programs run as they would without ridge. */
#ifdef __linux__
#define _XOPEN_SOURCE 700 /* posix_openpt() */
#endif
#include "base/array.h"
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"
#include "perf_target.h"

enum { LONG_MS = 120000 }; /* a bound for waiting: never reached when all is well */

static bool start(struct target *target, const char *script, struct status *status) {
    char *command[] = {"sh", "-c", (char *)script, NULL};
    struct target_variable variables[] = {
        {.name = "RIDGE_TEST_GIVEN", .value = "given"},
        {.name = "RIDGE_TEST_LIST", .value = "b", .append = true}};
    *target = (struct target){0};
    return target_start(target, command, variables, 2, status) && target_exec(target, "sh", status);
}

static int run_script(const char *script) {
    struct target target;
    struct status status = {0};
    unsigned alive;
    if (!start(&target, script, &status))
        return -1;
    bool ended = target_wait(&target, LONG_MS, &alive);
    target_release(&target);
    return ended && target.ended ? target_status(&target) : -2;
}

TEST(a_program_ends_with_its_own_status) {
    CHECK_INT(run_script("exit 0"), 0);
    CHECK_INT(run_script("exit 42"), 42);
    CHECK_INT(run_script("kill -9 $$"), 128 + 9);
    CHECK_INT(run_script("kill -SEGV $$"), 128 + 11);
}

TEST(a_program_gets_the_variables_that_it_should) {
    setenv("RIDGE_TEST_LIST", "a", 1);
    CHECK_INT(run_script("[ \"$RIDGE_TEST_GIVEN\" = given ] && [ \"$RIDGE_TEST_LIST\" = a:b ]"), 0);
    unsetenv("RIDGE_TEST_LIST");
}

TEST(a_program_that_cannot_be_executed_says_why) {
    struct target target = {0};
    struct status status = {0};
    char *none[] = {"ridge-no-such-program", NULL}, *folder[] = {"/", NULL};
    REQUIRE(target_start(&target, none, NULL, 0, &status));
    CHECK(!target_exec(&target, none[0], &status));
    CHECK(strstr(status.message, "ridge-no-such-program"));
    CHECK_INT(target_status(&target), 127);
    target = (struct target){0};
    REQUIRE(target_start(&target, folder, NULL, 0, &status));
    CHECK(!target_exec(&target, folder[0], &status));
    CHECK_INT(target_status(&target), 126);
}

TEST(a_program_that_was_not_let_go_leaves_nothing) {
    struct target target = {0};
    struct status status = {0};
    char *command[] = {"sh", "-c", "exit 3", NULL};
    REQUIRE(target_start(&target, command, NULL, 0, &status));
    target_cancel(&target);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

TEST(signals_that_a_process_sends_to_the_recorder_reach_the_program) {
    static const int sent[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < ARRAY_COUNT(sent); i++) {
        struct target target;
        struct status status = {0};
        REQUIRE(start(&target, "trap 'exit 7' TERM INT HUP USR1; while :; do sleep 0.02; done",
                      &status));
        for (int tries = 0; tries < 1000 && !target.ended; tries++) {
            if (tries > 5)
                kill(getpid(), sent[i]); /* the shell may not have set its trap before */
            target_wait(&target, 20, NULL);
        }
        target_wait(&target, LONG_MS, NULL);
        target_release(&target);
        CHECK(target.ended && (target_status(&target) == 7 || target_status(&target) > 128));
    }
}

#ifdef __linux__
/* A session of its own, with a terminal, in which a program is recorded. */
static _Noreturn void be_recorder(const char *terminal, int output) {
    struct target target = {0};
    struct status status;
    char *command[] = {"/proc/self/exe", NULL};
    struct target_variable part = {.name = PERF_TARGET_VARIABLE, .value = "interrupts"};
    setsid();
    int fd = open(terminal, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0 || dup2(output, PERF_TARGET_PIPE) < 0 ||
        !target_start(&target, command, &part, 1, &status) ||
        !target_exec(&target, command[0], &status))
        _exit(1);
    while (!target_wait(&target, 100, NULL))
        continue;
    _exit(0);
}

static bool is_ready(int fd, int milliseconds) {
    struct pollfd poll_for = {.fd = fd, .events = POLLIN};
    return poll(&poll_for, 1, milliseconds) == 1 && poll_for.revents & POLLIN;
}

/* A second one would follow soon, as the recorder gets the signal at the same time. */
TEST(an_interrupt_from_the_terminal_reaches_the_program_once) {
    enum { SENT = 20, PAUSE_MS = 20 };
    int master = posix_openpt(O_RDWR | O_NOCTTY), ends[2], count = 0;
    char byte = 1;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        test_skip("there are no terminals here");
        return;
    }
    REQUIRE(pipe(ends) == 0);
    pid_t recorder = fork();
    if (recorder == 0)
        be_recorder(ptsname(master), ends[1]);
    close(ends[1]);
    CHECK(is_ready(ends[0], LONG_MS) && read(ends[0], &byte, 1) == 1 && byte == 0);
    for (int i = 0; i < SENT; i++) {
        CHECK(write(master, "\003", 1) == 1);
        int wait = LONG_MS;
        for (; is_ready(ends[0], wait) && read(ends[0], &byte, 1) == 1; wait = PAUSE_MS)
            count++;
    }
    CHECK_INT(count, SENT);
    kill(recorder, SIGTERM); /* passed on; the program ends, and so does the recorder */
    close(master);
    waitpid(recorder, NULL, 0);
    close(ends[0]);
}
#endif

TEST(a_process_that_outlives_the_program_is_known_to_live) {
#ifdef __linux__
    struct target target;
    struct status status = {0};
    unsigned alive = 0;
    REQUIRE(start(&target, "sleep 0.3 & exit 5", &status));
    for (int tries = 0; tries < LONG_MS && !target.ended; tries++)
        target_wait(&target, 1, &alive);
    CHECK_INT(target_status(&target), 5);
    CHECK(target_wait(&target, LONG_MS, &alive));
    CHECK_INT(alive, 0);
    target_release(&target);
#endif
}

#ifdef __linux__
/* The lines of /proc/self/status about blocked and ignored signals. */
static void signals_of_this_process(char *lines, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    lines[0] = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
            snprintf(lines + strlen(lines), size - strlen(lines), "%s", line);
    if (file)
        fclose(file);
}

TEST(a_program_starts_with_the_signals_that_the_recorder_was_started_with) {
    char before[512], script[1024];
    signals_of_this_process(before, sizeof before);
    snprintf(script, sizeof script, "[ \"$(grep -E 'SigBlk|SigIgn' /proc/self/status)\" = '%.*s' ]",
             (int)strlen(before) - 1, before);
    CHECK_INT(run_script(script), 0);
}
#endif
