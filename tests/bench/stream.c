/* A memory copy by all cores, as a reference for `ridge peaks` in tests/bench/roofs. As in
 * STREAM, each thread copies the part that it touched first, between two barriers, and the best
 * time counts, from the first thread's start to the last one's end. There are two variants,
 * since CPUs differ: the compiler's optimized loop, and non-temporal stores. Prints the best of
 * each in bytes per second, read + written.
 *
 *   stream [MEGABYTES of each array] [THREADS]
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum { ROUNDS = 20, THREADS_MAX = 1024 };

static double *to, *from;
static size_t count; /* of elements, a multiple of 8 for each thread */
static unsigned threads;
static bool past_caches;
static pthread_barrier_t barrier;
static double starts[THREADS_MAX], ends[THREADS_MAX];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void copy_part(double *restrict a, const double *restrict b, size_t n) {
#if defined(__x86_64__)
    if (past_caches) {
        for (size_t i = 0; i < n; i += 2)
            _mm_stream_pd(a + i, _mm_load_pd(b + i));
        _mm_sfence();
        return;
    }
#endif
    for (size_t i = 0; i < n; i++)
        a[i] = b[i];
}

static void *work(void *argument) {
    size_t number = (size_t)argument, part = count / threads;
    double *a = to + number * part, *b = from + number * part;
    for (size_t i = 0; i < part; i++) {
        b[i] = (double)(i * 2654435761u % 1000003);
        a[i] = 1;
    }
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        starts[number] = now();
        copy_part(a, b, part);
        ends[number] = now();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* At large pages where the system has them, as the runtime's memory is: the copy is compared and
 * not the finding of pages. */
static double *allocate(size_t bytes) {
    void *memory;
    if (posix_memalign(&memory, 2 << 20, bytes) != 0)
        return NULL;
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static double longest(void) {
    double start = starts[0], end = ends[0];
    for (unsigned i = 1; i < threads; i++) {
        start = starts[i] < start ? starts[i] : start;
        end = ends[i] > end ? ends[i] : end;
    }
    return end - start;
}

int main(int argc, char **argv) {
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 600;
    long online = argc > 2 ? strtol(argv[2], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t ids[THREADS_MAX];
    threads = online < 1 ? 1 : online > THREADS_MAX ? THREADS_MAX : (unsigned)online;
    count = (megabytes << 20) / sizeof *to / (8 * threads) * (8 * threads);
    to = allocate(count * sizeof *to);
    from = allocate(count * sizeof *from);
    if (!to || !from) {
        fprintf(stderr, "stream: no memory for two arrays of %zu MB\n", megabytes);
        return 1;
    }
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (size_t i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)i) != 0) {
            fprintf(stderr, "stream: no %u threads to be had\n", threads);
            return 1;
        }
    double best[2] = {1e9, 1e9};
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        unsigned manner = round % 2;
        past_caches = manner == 1;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        double taken = longest(); /* threads wait at the next barrier for this one */
        if (taken < best[manner])
            best[manner] = taken;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    double bytes = 2.0 * (double)count * sizeof *to;
    printf("plain\t%.6g\npast caches\t%.6g\n", bytes / best[0], bytes / best[1]);
    return 0;
}
