/* Programs that use CUDA, one for each name:
 *
 *   cuda_target NAME [COUNT]
 *
 * Each launches COUNT kernels (some of them more) and ends as its name says, with 0 where it can
 * choose and all kernels have run.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The probe's thread has time to fetch what is complete. */
static void killed(void) {
    launch(count);
    usleep(400000);
    kill(getpid(), SIGKILL);
}

static void leaving(void) {
    launch(count);
    usleep(400000);
    _exit(3);
}

static void crashing(void) {
    launch(count);
    usleep(400000);
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
    usleep(300000);
    cuda.cuptiSubscribe(&subscriber, (void *)own_request, NULL);
    require(cuda.cuptiActivityRegisterCallbacks((void *)own_request, (void *)own_complete) == 0,
            "its own buffers");
    launch(count);
    require_launched(2 * (unsigned)count);
}

static void *framework; /* loaded before CUDA starts */

/* A profiler in a library that is linked against CUPTI. */
static void linked_profiler(void) {
    enum { TAKEN = 39 };
    int (*begin)(void) = NULL;
    require(framework && (*(void **)&begin = dlsym(framework, "framework_profiles")), "a library");
    launch(count);
    require(begin() == TAKEN && begin() == TAKEN, "a refusal");
    launch(count);
    require_launched(2 * (unsigned)count);
}

/* As long as it takes for the recorder to close, and then some more. */
static void for_a_second(void) {
    for (int i = 0; i < 20; i++) {
        launch(count);
        usleep(50000);
    }
    require_launched(20 * (unsigned)count);
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
    {"for_a_second", for_a_second},
};

int main(int argc, char **argv) {
    count = argc > 2 ? atoi(argv[2]) : 1000;
    framework = dlopen("libframework.so", RTLD_NOW);
    start();
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 96;
}
