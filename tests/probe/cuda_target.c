/* Programs that use CUDA, one for each name:
 *
 *   cuda_target NAME [COUNT]
 *
 * Each launches COUNT kernels (some of them more) and ends as its name suggests, with status 0 if
 * possible and all kernels have run.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

typedef unsigned long long address;

static struct {
    int (*cuInit)(unsigned);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuMemAlloc_v2)(address *, size_t);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
    int (*cudaLaunchKernel)(void *, void **);
    int (*cuCtxSynchronize)(void);
    int (*cuStreamCreate)(void **, unsigned);
    int (*cuStreamSynchronize)(void *);
    int (*cuEventRecord)(void *, void *);
    int (*cuEventSynchronize)(void *);
    int (*cuStreamWaitEvent)(void *, void *, unsigned);
    int (*cudaStreamSynchronize_ptsz)(void *);
    int (*cuProfilerStart)(void);
    int (*cuProfilerStop)(void);
    int (*cuptiActivityRegisterCallbacks)(void *, void *);
    int (*cuptiSubscribe)(void *, void *, void *);
} cuda;

static int count;
static void *kernel;
static address counter;

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "cuda_target: %s\n", what);
        _exit(99);
    }
}

static void launch(int launches) {
    void *parameters[] = {&counter};
    for (int i = 0; i < launches; i++)
        require(cuda.cuLaunchKernel(kernel, 2, 3, 1, 32, 1, 1, 64, NULL, parameters, NULL) == 0,
                "a launch");
    require(cuda.cuCtxSynchronize() == 0, "a wait");
}

static void require_launched(unsigned expected) {
    require(*(unsigned *)(unsigned long)counter == expected, "all kernels have run");
}

static void start(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *module;
    require(library != NULL, "the driver");
#define LOAD(name) require((*(void **)&cuda.name = dlsym(library, #name)) != NULL, #name)
    LOAD(cuInit);
    LOAD(cuModuleLoadData);
    LOAD(cuModuleGetFunction);
    LOAD(cuMemAlloc_v2);
    LOAD(cuLaunchKernel);
    LOAD(cudaLaunchKernel);
    LOAD(cuCtxSynchronize);
    LOAD(cuStreamCreate);
    LOAD(cuStreamSynchronize);
    LOAD(cuEventRecord);
    LOAD(cuEventSynchronize);
    LOAD(cuStreamWaitEvent);
    LOAD(cudaStreamSynchronize_ptsz);
    LOAD(cuProfilerStart);
    LOAD(cuProfilerStop);
    LOAD(cuptiActivityRegisterCallbacks);
    LOAD(cuptiSubscribe);
    require(cuda.cuInit(0) == 0 && cuda.cuModuleLoadData(&module, "") == 0 &&
                cuda.cuModuleGetFunction(&kernel, module, "count_launch") == 0 &&
                cuda.cuMemAlloc_v2(&counter, sizeof(unsigned)) == 0,
            "the start");
}

static void plain(void) {
    launch(count);
    require_launched((unsigned)count);
}

static void runtime(void) {
    void *parameters[] = {&counter};
    for (int i = 0; i < count; i++)
        require(cuda.cudaLaunchKernel(kernel, parameters) == 0, "a launch");
    require_launched((unsigned)count);
}

/* Streams are numbers to the stand-in; see standin.h. */
static void waiting(void) {
    void *first = (void *)21, *second = (void *)22, *captured = (void *)30, *none = (void *)66;
    void *event = (void *)0x100, *other = (void *)0x200, *never = (void *)0x300;
    cuda.cuEventRecord(event, first);
    cuda.cuStreamWaitEvent(second, event, 0);
    cuda.cuEventSynchronize(event);
    cuda.cuEventRecord(event, NULL);
    cuda.cuStreamWaitEvent(second, event, 0);
    cuda.cuEventRecord(other, captured);
    cuda.cuStreamWaitEvent(captured, other, 0);
    cuda.cuEventSynchronize(other);
    cuda.cuEventSynchronize(never);
    cuda.cuStreamSynchronize(second);
    cuda.cuStreamSynchronize((void *)1);
    cuda.cuStreamSynchronize((void *)2);
    require(cuda.cuStreamSynchronize(none) == 400, "no stream");
    cuda.cudaStreamSynchronize_ptsz(NULL);
    cuda.cuEventRecord(other, (void *)40);
    cuda.cuStreamWaitEvent(first, other, 0);
    cuda.cuStreamSynchronize((void *)40);
    cuda.cuCtxSynchronize();
    for (int i = 0; i < 2; i++) {
        void *reused;
        cuda.cuStreamCreate(&reused, 0);
        cuda.cuStreamSynchronize(reused);
        cuda.cuStreamSynchronize(reused);
    }
}

/* Long enough for the probe's thread to have its turn: see tests/patient.sh. */
static void give_time(unsigned ms) {
    const char *patience = getenv("PATIENCE");
    usleep(1000 * ms * (unsigned)(patience ? atoi(patience) : 1));
}

/* The probe's thread has time to fetch what is complete. */
static void killed(void) {
    launch(count);
    give_time(400);
    kill(getpid(), SIGKILL);
}

static void leaving(void) {
    launch(count);
    give_time(400);
    _exit(3);
}

static void crashing(void) {
    launch(count);
    give_time(400);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void *exit_elsewhere(void *nothing) {
    (void)nothing;
    launch(count);
    exit(4);
}

static void exit_from_thread(void) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, exit_elsewhere, NULL) == 0, "a thread");
    pthread_join(thread, NULL);
}

/* The child may not use CUDA, and ends in order. */
static void forking(void) {
    int status = 1;
    launch(count);
    pid_t child = fork();
    if (child == 0)
        exit(5);
    require(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5, "the child's end");
    launch(count);
    require_launched(2 * (unsigned)count);
}

static void *launch_some(void *nothing) {
    (void)nothing;
    launch(count);
    return NULL;
}

static void threads(void) {
    enum { THREADS = 8 };
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        require(pthread_create(&all[i], NULL, launch_some, NULL) == 0, "a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    require_launched(THREADS * (unsigned)count);
}

static void own_request(unsigned char **buffer, size_t *bytes, size_t *most) {
    *buffer = malloc(1 << 16);
    *bytes = *buffer ? 1 << 16 : 0;
    *most = 0;
}
static void own_complete(void *context, unsigned stream, unsigned char *buffer, size_t bytes,
                         size_t valid) {
    (void)context, (void)stream, (void)bytes, (void)valid;
    free(buffer);
}

/* Twice a tenth of the launches is of interest; who starts twice stops once. */
static void some_parts(void) {
    launch(count);
    for (int i = 0; i < 2; i++) {
        cuda.cuProfilerStart();
        cuda.cuProfilerStart();
        launch(count / 10);
        cuda.cuProfilerStop();
        launch(count);
    }
    cuda.cuProfilerStop();
    launch(count);
}

/* As a profiler in a framework does it. */
static void own_profiler(void) {
    void *subscriber = NULL;
    launch(count);
    give_time(300);
    cuda.cuptiSubscribe(&subscriber, (void *)own_request, NULL);
    require(cuda.cuptiActivityRegisterCallbacks((void *)own_request, (void *)own_complete) == 0,
            "its own buffers");
    launch(count);
    require_launched(2 * (unsigned)count);
}

/* A profiler in a library that is linked against CUPTI: tests/probe/framework.c. */
static struct {
    int (*framework_profiles)(void);
    int (*framework_stops)(int finalizes);
    unsigned (*framework_kernels)(void);
    unsigned (*framework_faults)(void);
} profiler;

/* Before CUDA starts. */
static void load_framework(void) {
    void *library = dlopen("libframework.so", RTLD_NOW);
    require(library != NULL, "a library");
#define FIND(name) require((*(void **)&profiler.name = dlsym(library, #name)) != NULL, #name)
    FIND(framework_profiles);
    FIND(framework_stops);
    FIND(framework_kernels);
    FIND(framework_faults);
}

/* What it tells is what it would tell alone. */
static void profile(int finalizes) {
    unsigned before = profiler.framework_kernels();
    require(profiler.framework_profiles() == 0, "a profiler of one's own");
    launch(count);
    require(profiler.framework_stops(finalizes) == 0, "its end");
    require(profiler.framework_kernels() == before + (unsigned)count, "all its kernels");
    require(profiler.framework_faults() == 0, "its records");
}

/* Long enough for the probe to come back. */
static void let_return(void) {
    give_time(700);
}

/* Twice, with launches before, between and after. */
static void profile_twice(int finalizes) {
    for (int i = 0; i < 2; i++) {
        launch(count);
        profile(finalizes);
        let_return();
    }
    launch(count);
    require_launched(5 * (unsigned)count);
}

static void linked_profiler(void) {
    profile_twice(0);
}

static void finalizing_profiler(void) {
    profile_twice(1);
}

/* It keeps CUPTI to the end. */
static void lasting_profiler(void) {
    launch(count);
    require(profiler.framework_profiles() == 0, "a profiler of one's own");
    launch(count);
    let_return();
    launch(count);
    require_launched(3 * (unsigned)count);
}

static int launching;

static void *launch_all_the_time(void *nothing) {
    void *parameters[] = {&counter};
    while (__atomic_load_n(&launching, __ATOMIC_ACQUIRE))
        require(cuda.cudaLaunchKernel(kernel, parameters) == 0, "a launch");
    return nothing;
}

/* Twenty milliseconds of them; on a busy machine the other threads may not run in that time. */
static void wait_for_launches(void) {
    unsigned *launches = (unsigned *)(unsigned long)counter;
    unsigned before = __atomic_load_n(launches, __ATOMIC_RELAXED);
    do
        usleep(20000);
    while (__atomic_load_n(launches, __ATOMIC_RELAXED) - before < 4);
}

/* It comes and goes while others launch; one that comes back at once is served, too. */
static void restless_profiler(void) {
    enum { THREADS = 4, TIMES = 6 };
    pthread_t all[THREADS];
    launching = 1;
    for (int i = 0; i < THREADS; i++)
        require(pthread_create(&all[i], NULL, launch_all_the_time, NULL) == 0, "a thread");
    for (int i = 0; i < TIMES; i++) {
        unsigned before = profiler.framework_kernels();
        wait_for_launches();
        require(profiler.framework_profiles() == 0, "a profiler of one's own");
        wait_for_launches();
        require(profiler.framework_stops(0) == 0, "its end");
        require(profiler.framework_kernels() > before, "kernels");
        give_time(i % 2 ? 0 : 400);
    }
    __atomic_store_n(&launching, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    require(profiler.framework_faults() == 0, "its records");
}

static void for_a_second(void) {
    for (int i = 0; i < 20; i++) {
        launch(count);
        give_time(50);
    }
    require_launched(20 * (unsigned)count);
}

/* Until the recorder has closed and made this file, and then some more. */
static void until_closed(void) {
    const char *closed = getenv("RECORDER_CLOSED");
    unsigned rounds = 1;
    require(closed != NULL, "RECORDER_CLOSED");
    for (; access(closed, F_OK) != 0; rounds++) {
        launch(count);
        usleep(1000);
    }
    launch(count);
    require_launched(rounds * (unsigned)count);
    printf("all launches %u\n", rounds * (unsigned)count);
}

/* Everything that an attached recorder could disturb, until SIGTERM: waits of all kinds are neither
 * interrupted nor shortened, timers tick, allocators work, and every launch counts. */
static volatile sig_atomic_t ticks, terminated;
static unsigned launched;

static void on_tick(int number) {
    (void)number;
    ticks++;
}
static void on_term(int number) {
    (void)number;
    terminated = 1;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *wait_in_poll(void *nothing) {
    while (!terminated) {
        double before = seconds();
        require(poll(NULL, 0, 40) == 0, "poll() is not interrupted");
        require(seconds() - before >= 0.0399, "poll() waits long enough");
        before = seconds();
        struct timespec time = {.tv_nsec = 30000000};
        require(nanosleep(&time, NULL) == 0, "nanosleep() is not interrupted");
        require(seconds() - before >= 0.0299, "nanosleep() waits long enough");
    }
    return nothing;
}

static int pipes[2];
static void *wait_in_read(void *nothing) {
    char byte;
    require(read(pipes[0], &byte, 1) == 1 && byte == 'x', "read() is not interrupted");
    return nothing;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void *wait_in_condition(void *nothing) {
    pthread_mutex_lock(&held);
    while (!terminated) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&never, &held, &until);
    }
    pthread_mutex_unlock(&held);
    return nothing;
}

static void *allocate(void *nothing) {
    unsigned size = 1;
    while (!terminated) {
        unsigned char *bytes = malloc(size % 200000 + 1);
        require(bytes != NULL, "memory");
        memset(bytes, (int)size, size % 200000 + 1);
        free(bytes);
        size = size * 1103515245 + 12345;
    }
    return nothing;
}

static void attached(void) {
    enum { THREADS = 4 };
    static void *(*const bodies[THREADS])(void *) = {wait_in_poll, wait_in_read, wait_in_condition,
                                                     allocate};
    struct itimerval timer = {{0, 3000}, {0, 3000}};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART},
                     term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    pthread_t all[THREADS];
    sigset_t own;
    sigaction(SIGTERM, &term, NULL);
    require(pipe(pipes) == 0, "a pipe");
    sigemptyset(&own); /* only the main thread gets them */
    sigaddset(&own, SIGALRM);
    sigaddset(&own, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    for (int i = 0; i < THREADS; i++)
        require(pthread_create(&all[i], NULL, bodies[i], NULL) == 0, "a thread");
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    while (!terminated) {
        double sum = 0;
        if (kernel) {
            launch(count);
            launched += (unsigned)count;
        }
        for (int i = 1; i < 20000; i++)
            sum += 1.0 / i;
        require(sum > 10.48 && sum < 10.481, "a sum");
    }
    require(write(pipes[1], "x", 1) == 1, "a byte");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    require(ticks > 0, "a timer");
    if (kernel)
        require_launched(launched);
}

/* What a real CUPTI delivered comes with the wait. */
static void replay(void) {
    launch(0);
}

/* No more memory than there is. */
static void little_memory(void) {
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    require(setrlimit(RLIMIT_AS, &limit) == 0, "a limit");
    launch(count);
    require_launched((unsigned)count);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"plain", plain},
    {"runtime", runtime},
    {"waiting", waiting},
    {"killed", killed},
    {"leaving", leaving},
    {"crashing", crashing},
    {"exit_from_thread", exit_from_thread},
    {"forking", forking},
    {"threads", threads},
    {"some_parts", some_parts},
    {"own_profiler", own_profiler},
    {"replay", replay},
    {"little_memory", little_memory},
    {"linked_profiler", linked_profiler},
    {"finalizing_profiler", finalizing_profiler},
    {"lasting_profiler", lasting_profiler},
    {"restless_profiler", restless_profiler},
    {"for_a_second", for_a_second},
    {"until_closed", until_closed},
    {"attached", attached},
};

int main(int argc, char **argv) {
    count = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc > 1 && strcmp(argv[1], "attached_cpu") == 0) {
        attached();
        return 0;
    }
    load_framework();
    start();
    for (size_t i = 0; i < ARRAY_COUNT(scenarios); i++)
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 96;
}
