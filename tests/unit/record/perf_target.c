/* The program that the tests of sampling record: this program itself, restarted with a variable
 * that selects a part. The part runs before main() and exits. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "perf_target.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

pid_t perf_target_start(const char *part, int *go) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        setenv(PERF_TARGET_VARIABLE, part, 1);
        if (read(ends[0], &byte, 1) == 1)
            execl("/proc/self/exe", "perf-target", NULL);
        _exit(127);
    }
    close(ends[0]);
    *go = ends[1];
    return pid;
}

static volatile double result;

__attribute__((noinline)) void perf_target_spin(double cpu_seconds) {
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_seconds;
    do {
        double x = 1;
        for (int i = 0; i < 100000; i++)
            x = x * 1.0000001 + 1e-9;
        result = x;
    } while (seconds(CLOCK_THREAD_CPUTIME_ID) < end);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pid_t waiter;

/* On a busy machine the other thread may begin much later. */
static void wait_until_it_waits(void) {
    char path[64], line[256], state = 0;
    while (state != 'S') {
        pid_t thread = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE);
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)thread);
        FILE *file = thread ? fopen(path, "r") : NULL;
        const char *behind = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        state = behind ? behind[2] : 0;
        if (file)
            fclose(file);
        usleep(1000);
    }
}

static void *wait_for_it(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "waiter");
    __atomic_store_n(&waiter, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return NULL;
}

/* One thread works while another waits for it. */
static void play_threads(void) {
    pthread_t thread;
    pthread_mutex_lock(&held);
    if (pthread_create(&thread, NULL, wait_for_it, NULL) != 0)
        _exit(1);
    wait_until_it_waits();
    perf_target_spin(0.15);
    pthread_mutex_unlock(&held);
    pthread_join(thread, NULL);
}

static void *work_in_crowd(void *seconds) {
    perf_target_spin(*(const double *)seconds);
    return NULL;
}

/* Many more threads than processors, all busy. */
static void play_crowd(double seconds) {
    pthread_t threads[PERF_TARGET_CROWD];
    for (unsigned i = 0; i < PERF_TARGET_CROWD; i++)
        if (pthread_create(&threads[i], NULL, work_in_crowd, &seconds) != 0)
            _exit(1);
    for (unsigned i = 0; i < PERF_TARGET_CROWD; i++)
        pthread_join(threads[i], NULL);
}

/* A child that works, and one that executes another program. */
static void play_children(void) {
    if (fork() == 0) {
        perf_target_spin(0.05);
        _exit(0);
    }
    if (fork() == 0) {
        execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", NULL);
        _exit(1);
    }
    while (wait(NULL) > 0)
        continue;
}

static void report_signal(int number) {
    char byte = (char)number;
    if (write(PERF_TARGET_PIPE, &byte, 1) != 1)
        _exit(1);
}

/* Writes a byte for each interrupt to a pipe, and one when it is ready, until it is terminated. */
static void play_interrupts(void) {
    struct sigaction action = {.sa_handler = report_signal};
    sigaction(SIGINT, &action, NULL);
    report_signal(0);
    for (;;)
        pause();
}

/* Counts down in generated code, and writes its name to perf-PID.map. */
static void play_compiler(void) {
#if defined __x86_64__
    static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#elif defined __aarch64__
    static const unsigned code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#else
    static const unsigned char code[] = {0};
    _exit(1);
#endif
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    FILE *map = fopen(path, "w");
    if (memory == MAP_FAILED || !map)
        _exit(1);
    memcpy(memory, code, sizeof code);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
        _exit(1);
    __builtin___clear_cache((char *)memory, (char *)memory + sizeof code);
    fprintf(map, "%lx %zx py::count_down:/home/ada/loop.py\n", (unsigned long)memory, sizeof code);
    fclose(map);
    void (*count_down)(long);
    memcpy(&count_down, &memory, sizeof memory);
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.1;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        count_down(1000000);
}

__attribute__((constructor)) static void play(void) {
    const char *part = getenv(PERF_TARGET_VARIABLE);
    if (!part)
        return;
    if (strcmp(part, "threads") == 0)
        play_threads();
    else if (strcmp(part, "interrupts") == 0)
        play_interrupts();
    else if (strcmp(part, "crowd") == 0)
        play_crowd(0.03);
    else if (strcmp(part, "crowd until killed") == 0)
        play_crowd(60);
    else if (strcmp(part, "children") == 0)
        play_children();
    else if (strcmp(part, "compiler") == 0)
        play_compiler();
    _exit(3);
}
#endif
