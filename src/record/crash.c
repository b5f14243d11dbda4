/* Only functions that are safe in a signal handler are called, except backtrace(), which is called
 * once before so that it allocates nothing later. A sanitizer has its own handlers. */
#include "record/crash.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAS_BACKTRACE
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#endif

#include "base/array.h"
#include "base/process.h"

enum { FRAMES_MAX = 40, HANDLER_STACK_BYTES = 64 << 10 };

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static char executable[PROCESS_PATH_SIZE], program[24], message[PROCESS_PATH_SIZE + 200];
static char handler_stack[HANDLER_STACK_BYTES];

static void write_text(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Signals that the recorder blocked would stay blocked after exec. */
static void crashed(int number) {
    char *const arguments[] = {executable, "await", program, NULL};
    sigset_t none;
    (void)number;
    write_text(message);
#ifdef HAS_BACKTRACE
    void *frames[FRAMES_MAX];
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
#endif
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(executable, arguments);
    _exit(2);
}

static void set_handlers(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_COUNT(fatal); i++)
        sigaction(fatal[i], &action, NULL);
}

void crash_guard(pid_t pid, const char *path) {
#ifndef HAS_SANITIZER
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    process_path(executable);
    if (!*executable)
        return;
    snprintf(program, sizeof program, "%ld", (long)pid);
    snprintf(message, sizeof message,
             "ridge: the recorder crashed. The program goes on without being recorded; %s has what "
             "was recorded until now. Please report this, with the lines below.\n",
             path);
#ifdef HAS_BACKTRACE
    void *frames[1];
    backtrace(frames, 1);
#endif
    sigaltstack(&stack, NULL);
    set_handlers(crashed, SA_ONSTACK | (int)SA_RESETHAND);
#else
    (void)pid, (void)path, (void)set_handlers, (void)crashed;
#endif
}

void crash_unguard(void) {
#ifndef HAS_SANITIZER
    set_handlers(SIG_DFL, 0);
#endif
}

void crash_block_others(sigset_t *set) {
    sigfillset(set);
    for (size_t i = 0; i < ARRAY_COUNT(fatal); i++)
        sigdelset(set, fatal[i]);
}
