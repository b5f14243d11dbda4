/* An MPI program with one late rank: stencil KIND RANK MILLISECONDS STEPS.
 *
 * Each step relaxes the rank's part of a grid, gathers the border rows and reduces the residual.
 * Each rank writes, by its own clock, when it arrived at each collective, when that ended, and how
 * long what was planted took since the one before, to times-RANK. */
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 512, ROWS = 96 };

static double grid[ROWS + 2][WIDTH], next[ROWS + 2][WIDTH];
static volatile double sink;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* One pass over the rows. */
__attribute__((noinline)) static void sweep(void) {
    for (int y = 1; y <= ROWS; y++)
        for (int x = 1; x + 1 < WIDTH; x++)
            next[y][x] = 0.25 * (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]);
}

__attribute__((noinline)) static double residual(void) {
    double sum = 0;
    for (int y = 1; y <= ROWS; y++)
        for (int x = 1; x + 1 < WIDTH; x++)
            sum += fabs(next[y][x] - grid[y][x]);
    return sum;
}

__attribute__((noinline)) static void refine_mesh(int64_t ns) {
    for (int64_t until = used() + ns; used() < until;)
        for (int i = 1; i < 3000; i++)
            sink += sqrt(i + sink * 1e-9);
}

__attribute__((noinline)) static void throttle(int64_t ns) {
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

__attribute__((noinline)) static void settle(int64_t ns) {
    poll(NULL, 0, (int)(ns / 1000000));
}

/* A block that a child writes late into a pipe. */
__attribute__((noinline)) static void load_boundary(int64_t ns) {
    int ends[2];
    char block[4096];
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        usleep((useconds_t)(ns / 1000));
        memset(block, 1, sizeof block);
        _exit(write(ends[1], block, sizeof block) != sizeof block);
    }
    if (read(ends[0], block, sizeof block) <= 0)
        abort();
    close(ends[0]);
    close(ends[1]);
    waitpid(child, NULL, 0);
}

/* A file that another process has locked. */
__attribute__((noinline)) static void write_checkpoint(int64_t ns, int rank) {
    char name[32], byte;
    int ready[2];
    snprintf(name, sizeof name, "lock-%d", rank);
    int own = open(name, O_CREAT | O_RDWR, 0600);
    if (own < 0 || pipe(ready) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        int other = open(name, O_RDWR);
        flock(other, LOCK_EX);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        usleep((useconds_t)(ns / 1000));
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
    flock(own, LOCK_EX);
    close(own);
    close(ready[0]);
    close(ready[1]);
    waitpid(child, NULL, 0);
}

/* How many passes take about as long as `ns` of CPU time. */
static int passes_of(int64_t ns) {
    for (int i = 0; i < 20; i++)
        sweep();
    int64_t begin = used();
    for (int i = 0; i < 20; i++)
        sweep();
    int64_t one = (used() - begin) / 20;
    return (int)(ns / (one > 0 ? one : 1)) + 1;
}

static void plant(const char *kind, int64_t ns, int rank, int extra, int step) {
    if (strcmp(kind, "nap") == 0)
        throttle(ns);
    else if (strcmp(kind, "poll") == 0 && step % 3 == 0)
        settle(ns * 3);
    else if (strcmp(kind, "refine") == 0)
        refine_mesh(ns);
    else if (strcmp(kind, "fifo") == 0)
        load_boundary(ns);
    else if (strcmp(kind, "lock") == 0)
        write_checkpoint(ns, rank);
    else if (strcmp(kind, "rows") == 0)
        for (int i = 0; i < extra; i++)
            sweep();
}

int main(int argc, char **argv) {
    int rank, size;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *kind = argv[1];
    int late = rank == atoi(argv[2]), steps = atoi(argv[4]);
    int64_t ns = atoll(argv[3]) * 1000000;
    double *borders = calloc((size_t)size, sizeof *borders * WIDTH);
    for (int y = 0; y < ROWS + 2; y++)
        for (int x = 0; x < WIDTH; x++)
            grid[y][x] = 1 + x * 0.001;
    int own = passes_of(5000000), extra = passes_of(ns);
    /* the same passes; in some rows over values close to zero, which take longer */
    int slow = late && strcmp(kind, "slow") == 0;
    for (int y = 0; slow && y < 2 + ns / 10000000; y++)
        for (int x = 0; x < WIDTH; x++)
            grid[y][x] = 1e-310;
    snprintf(name, sizeof name, "times-%d", rank);
    FILE *times = fopen(name, "w");
    for (int step = 0; step < steps; step++) {
        double part, whole;
        int64_t planted = now();
        if (late)
            plant(kind, ns, rank, extra, step);
        planted = now() - planted;
        int64_t begin = now();
        for (int i = 0; i < own; i++)
            sweep();
        part = residual();
        if (slow)
            planted = now() - begin - 5000000;
        int64_t arrival = now();
        MPI_Allgather(next[1], WIDTH, MPI_DOUBLE, borders, WIDTH, MPI_DOUBLE, MPI_COMM_WORLD);
        fprintf(times, "%lld %lld %lld\n", (long long)arrival, (long long)now(),
                (long long)planted);
        arrival = now();
        MPI_Allreduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        fprintf(times, "%lld %lld 0\n", (long long)arrival, (long long)now());
    }
    fclose(times);
    MPI_Finalize();
    return 0;
}
