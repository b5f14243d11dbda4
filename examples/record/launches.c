/* A loop of kernels that do next to nothing: what a launch costs, and what recording adds to it.
 * Only the CUDA driver is needed, and it is loaded when the program runs.
 *
 *   cc launches.c -ldl -o launches
 *   ./launches [COUNT]        and: ridge record -- ./launches
 *
 * Every launch adds one to a counter on the device, so the program knows whether all of them ran.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct CUctx_st *context;
typedef struct CUmod_st *module;
typedef struct CUfunc_st *function;
typedef struct CUstream_st *stream;
typedef unsigned long long address;

static struct driver {
    int (*cuInit)(unsigned);
    int (*cuDevicePrimaryCtxRetain)(context *, int);
    int (*cuCtxSetCurrent)(context);
    int (*cuModuleLoadData)(module *, const void *);
    int (*cuModuleGetFunction)(function *, module, const char *);
    int (*cuMemAlloc_v2)(address *, size_t);
    int (*cuMemFree_v2)(address);
    int (*cuMemsetD32Async)(address, unsigned, size_t, stream);
    int (*cuMemcpyDtoH_v2)(void *, address, size_t);
    int (*cuLaunchKernel)(function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, stream, void **, void **);
    int (*cuCtxSynchronize)(void);
} driver;

static const char source[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry count_launch(.param .u64 counter) {\n"
                             "  .reg .u64 %address;\n"
                             "  .reg .u32 %before;\n"
                             "  ld.param.u64 %address, [counter];\n"
                             "  atom.global.add.u32 %before, [%address], 1;\n"
                             "  ret;\n"
                             "}\n";

static void require(int result, const char *what) {
    if (result != 0) {
        fprintf(stderr, "launches: %s failed with %d\n", what, result);
        exit(1);
    }
}
#define CALL(name, ...) require(driver.name(__VA_ARGS__), #name)

static void load_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "launches: this machine has no CUDA driver\n");
        exit(77);
    }
#define LOAD(name) require(!(*(void **)&driver.name = dlsym(library, #name)), #name)
    LOAD(cuInit);
    LOAD(cuDevicePrimaryCtxRetain);
    LOAD(cuCtxSetCurrent);
    LOAD(cuModuleLoadData);
    LOAD(cuModuleGetFunction);
    LOAD(cuMemAlloc_v2);
    LOAD(cuMemFree_v2);
    LOAD(cuMemsetD32Async);
    LOAD(cuMemcpyDtoH_v2);
    LOAD(cuLaunchKernel);
    LOAD(cuCtxSynchronize);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* As a program would: it waits now and then, so the device's queue is never full. */
static void launch(function kernel, address counter, long count) {
    enum { BETWEEN_WAITS = 500 };
    void *parameters[] = {&counter};
    for (long i = 1; i <= count; i++) {
        CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
        if (i % BETWEEN_WAITS == 0)
            CALL(cuCtxSynchronize);
    }
    CALL(cuCtxSynchronize);
}

int main(int argc, char **argv) {
    enum { ROUNDS = 5 };
    long count = argc > 1 ? atol(argv[1]) : 100000;
    context context;
    module module;
    function kernel;
    address counter;
    unsigned launched = 0;
    load_driver();
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, source);
    CALL(cuModuleGetFunction, &kernel, module, "count_launch");
    CALL(cuMemAlloc_v2, &counter, sizeof launched);
    CALL(cuMemsetD32Async, counter, 0, 1, NULL);
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        launch(kernel, counter, count / ROUNDS);
        double taken = (seconds() - start) / (double)(count / ROUNDS);
        best = round == 0 || taken < best ? taken : best;
    }
    CALL(cuMemcpyDtoH_v2, &launched, counter, sizeof launched);
    CALL(cuMemFree_v2, counter);
    printf("%u launches, %.2f us each in the best round\n", launched, best * 1e6);
    return launched == (unsigned)(count / ROUNDS) * ROUNDS ? 0 : 1;
}
