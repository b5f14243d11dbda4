/* The width of text, wrapped lines, the pager and the progress line. Wide lines are hard to read:
 * text is limited to COLUMNS_MAX. */
#include "cmd/terminal.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

/* A thread wakes a few times a second and rewrites one line on stderr, so that the work itself need
 * not know about it. Work shorter than a second shows nothing. */

struct progress {
    char what[64]; /* with the seconds behind it, it fits on a line */
    int fd;
    bool shown, ended;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void show(struct progress *progress, unsigned tenths) {
    char size[FORMAT_SIZE];
    struct stat info;
    fprintf(stderr, "\r\033[K%s... %u s", progress->what, tenths / 10);
    if (progress->fd >= 0 && fstat(progress->fd, &info) == 0 && info.st_size > 0)
        fprintf(stderr, ", %s written", format_bytes((uint64_t)info.st_size, size));
    fflush(stderr);
    progress->shown = true;
}

static void *watch(void *argument) {
    struct progress *progress = argument;
    unsigned tenths = 0;
    pthread_mutex_lock(&progress->lock);
    while (!progress->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000 * 1000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&progress->wake, &progress->lock, &until);
        tenths += 2;
        if (!progress->ended && tenths >= 10)
            show(progress, tenths);
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

struct progress *progress_begin(const char *what, int fd) {
    struct status ignored;
    if (!isatty(STDERR_FILENO))
        return NULL;
    struct progress *progress = memory_allocate(1, sizeof *progress, &ignored);
    if (!progress)
        return NULL;
    text_printable(text_of(what), progress->what, sizeof progress->what);
    progress->fd = fd;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->wake, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the thread that works */
    int failed = pthread_create(&progress->thread, NULL, watch, progress);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        memory_free(progress);
        return NULL;
    }
    return progress;
}

void progress_say(struct progress *progress, const char *what) {
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    text_printable(text_of(what), progress->what, sizeof progress->what);
    pthread_mutex_unlock(&progress->lock);
}

void progress_end(struct progress *progress) {
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    if (progress->shown)
        fputs("\r\033[K", stderr);
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->lock);
    memory_free(progress);
}

/* The pager is a child process that reads a pipe; ridge's standard output is the other end. */

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
    setenv("LESS", "FRX", 0); /* quit if it fits, keep colors, leave the text on the screen */
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

/* Breaks at white space only: paths and commands stay whole, to be copied. */
void print_text_wrapped(struct output *output, struct text text, size_t indent) {
    const char *word = text.data, *end = text.data + text.length;
    size_t column = indent;
    while (word < end) {
        size_t length = 0;
        while (word + length < end && word[length] != ' ' && word[length] != '\n')
            length++;
        size_t width = table_text_width((struct text){word, length});
        if (column > indent && column + 1 + width > WRAPPED_WIDTH) {
            output_printf(output, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            output_printf(output, " ");
            column++;
        }
        output_write(output, word, length);
        column += width;
        word += length;
        while (word < end && (*word == ' ' || *word == '\n'))
            word++;
    }
    output_printf(output, "\n");
}

void print_wrapped(struct output *output, const char *text, size_t indent) {
    print_text_wrapped(output, (struct text){text, strlen(text)}, indent);
}

enum { COLUMNS_MAX = 160, COLUMNS_ELSEWHERE = 80 };

unsigned terminal_width(const struct output *output) {
    return output->path ? 0 : table_terminal_width(output->fd);
}

unsigned terminal_columns(const struct output *output) {
    unsigned width = terminal_width(output);
    return width == 0 ? COLUMNS_ELSEWHERE : width < COLUMNS_MAX ? width : COLUMNS_MAX;
}
