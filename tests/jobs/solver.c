/* An MPI program with one late rank: solver KIND RANK MILLISECONDS STEPS. Each rank writes when it
 * arrived at each collective and when that ended, by its own clock, to times-RANK. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* CPU time, so that another program on the processor does not shorten the work. */
static int64_t used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static volatile double sink;

__attribute__((noinline)) static void relax(int64_t ns) {
    for (int64_t until = used() + ns; used() < until;)
        for (int i = 0; i < 2000; i++)
            sink += i * 0.5;
}

__attribute__((noinline)) static void extra_cells(int64_t ns) {
    for (int64_t until = used() + ns; used() < until;)
        for (int i = 0; i < 2000; i++)
            sink -= i * 0.25;
}

/* Blocked in read() until the other end, a child, writes. */
__attribute__((noinline)) static void read_batch(int64_t ns) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    if (fork() == 0) {
        usleep((useconds_t)(ns / 1000));
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        _exit(0);
    }
    if (read(ends[0], &byte, 1) != 1)
        abort();
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv) {
    int rank, count = 20000;
    static double in[20000], out[20000];
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *kind = argv[1];
    int late = atoi(argv[2]), steps = atoi(argv[4]);
    int64_t ns = atoll(argv[3]) * 1000000;
    snprintf(name, sizeof name, "times-%d", rank);
    FILE *times = fopen(name, "w");
    for (int step = 0; step < steps; step++) {
        relax(5000000);
        if (rank == late && strcmp(kind, "sleep") == 0)
            usleep((useconds_t)(ns / 1000));
        if (rank == late && strcmp(kind, "work") == 0)
            extra_cells(ns);
        if (rank == late && strcmp(kind, "input") == 0)
            read_batch(ns);
        int64_t arrival = now();
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        fprintf(times, "%lld %lld\n", (long long)arrival, (long long)now());
    }
    fclose(times);
    MPI_Finalize();
    return 0;
}
