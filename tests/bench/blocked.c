/* Measures its own waits: a timer, a lock, a pipe, the disk. Prints nanoseconds by kind.
 *
 * tests/bench/blocked compares them with the CPU account of ridge. The times include the time from
 * a wakeup until the thread runs, and the system call itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 100 };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *hold(void *unused) {
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        pthread_barrier_wait(&barrier);
        usleep(5000);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static int64_t wait_for_lock(void) {
    pthread_t thread;
    int64_t waited = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold, NULL);
    for (int i = 0; i < TURNS; i++) {
        int64_t start = now();
        pthread_barrier_wait(&barrier);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&barrier);
        waited += now() - start;
    }
    int64_t start = now();
    pthread_join(thread, NULL);
    return waited + now() - start;
}

static int64_t wait_for_timer(void) {
    int64_t start = now();
    for (int i = 0; i < TURNS; i++)
        usleep(5000);
    return now() - start;
}

static int64_t wait_for_pipe(void) {
    int ends[2];
    char byte = 0;
    int64_t waited = 0;
    if (pipe(ends) != 0)
        return 0;
    if (fork() == 0) {
        for (int i = 0; i < TURNS; i++) {
            usleep(5000);
            if (write(ends[1], &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < TURNS; i++) {
        int64_t start = now();
        if (read(ends[0], &byte, 1) != 1)
            break;
        waited += now() - start;
    }
    wait(NULL);
    return waited;
}

static int64_t wait_for_disk(const char *path) {
    static char block[1 << 16];
    int64_t waited = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < TURNS && fd >= 0; i++) {
        if (write(fd, block, sizeof block) < 0)
            break;
        int64_t start = now();
        fsync(fd);
        waited += now() - start;
    }
    unlink(path);
    return waited;
}

int main(int count, char **words) {
    int64_t timer = wait_for_timer(), locked = wait_for_lock(), piped = wait_for_pipe();
    int64_t disk = wait_for_disk(count > 1 ? words[1] : "blocked.bytes");
    printf("sleep %" PRId64 "\nlock %" PRId64 "\npipe %" PRId64 "\ndisk %" PRId64 "\n", timer,
           locked, piped, disk);
    return 0;
}
