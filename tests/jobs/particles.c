/* An MPI program with one late rank: particles KIND RANK MILLISECONDS STEPS.
 *
 * Each step moves particles, exchanges some with every other rank and meets at a barrier. Each rank
 * writes, by its own clock, when it arrived at each collective, when that ended, and how long what
 * was planted took since the one before, to times-RANK. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { PARTICLES = 20000, SHARED = 2000 };

static float position[PARTICLES], speed[PARTICLES];

static int64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t now(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t used(void) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((noinline)) static void move_particles(int64_t ns) {
    for (int64_t until = used() + ns; used() < until;)
        for (int i = 0; i < PARTICLES; i++) {
            speed[i] = 0.99f * speed[i] + 0.01f * sinf(position[i]);
            position[i] += speed[i];
        }
}

static int by_position(const void *a, const void *b) {
    float x = position[*(const int *)a], y = position[*(const int *)b];
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void sort_cells(int64_t ns) {
    static int order[PARTICLES];
    for (int64_t until = used() + ns; used() < until;) {
        for (int i = 0; i < PARTICLES; i++)
            order[i] = (int)((uint64_t)i * 7919 % PARTICLES);
        qsort(order, PARTICLES / 8, sizeof *order, by_position);
    }
}

__attribute__((noinline)) static void wait_for_timer(int64_t ns) {
    select(0, NULL, NULL, NULL, &(struct timeval){0, ns / 1000});
}

__attribute__((noinline)) static void run_helper(int64_t ns) {
    pid_t child = fork();
    if (child == 0) {
        usleep((useconds_t)(ns / 1000));
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* A named pipe whose other end is opened late. */
__attribute__((noinline)) static void read_input(int64_t ns, int rank) {
    char name[32], block[512];
    snprintf(name, sizeof name, "pipe-%d", rank);
    mkfifo(name, 0600);
    pid_t child = fork();
    if (child == 0) {
        int end = open(name, O_WRONLY);
        usleep((useconds_t)(ns / 1000));
        _exit(write(end, name, sizeof name) < 0);
    }
    int end = open(name, O_RDONLY);
    if (end < 0 || read(end, block, sizeof block) < 0)
        abort();
    close(end);
    waitpid(child, NULL, 0);
}

static void plant(const char *kind, int64_t ns, int rank) {
    if (strcmp(kind, "timer") == 0)
        wait_for_timer(ns);
    else if (strcmp(kind, "sort") == 0)
        sort_cells(ns);
    else if (strcmp(kind, "crowd") == 0)
        move_particles(ns);
    else if (strcmp(kind, "helper") == 0)
        run_helper(ns);
    else if (strcmp(kind, "pipe") == 0)
        read_input(ns, rank);
}

int main(int argc, char **argv) {
    int rank, size;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int late = rank == atoi(argv[2]), steps = atoi(argv[4]);
    int64_t ns = atoll(argv[3]) * 1000000;
    float *sent = calloc((size_t)size * SHARED, sizeof *sent);
    float *received = calloc((size_t)size * SHARED, sizeof *received);
    for (int i = 0; i < PARTICLES; i++)
        position[i] = (float)i;
    snprintf(name, sizeof name, "times-%d", rank);
    FILE *times = fopen(name, "w");
    for (int step = 0; step < steps; step++) {
        move_particles(6000000);
        int64_t planted = now();
        if (late)
            plant(argv[1], ns, rank);
        planted = now() - planted;
        int64_t arrival = now();
        MPI_Alltoall(sent, SHARED, MPI_FLOAT, received, SHARED, MPI_FLOAT, MPI_COMM_WORLD);
        fprintf(times, "%lld %lld %lld\n", (long long)arrival, (long long)now(),
                (long long)planted);
        move_particles(1000000);
        arrival = now();
        MPI_Barrier(MPI_COMM_WORLD);
        fprintf(times, "%lld %lld 0\n", (long long)arrival, (long long)now());
    }
    fclose(times);
    MPI_Finalize();
    return 0;
}
