/* A thread wakes a few times a second and rewrites one line on stderr, so that the work itself need
 * not know about it. Work shorter than a second shows nothing. */
#include "cmd/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/text.h"

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
