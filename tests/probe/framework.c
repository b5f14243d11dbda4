/* A library with a profiler, linked against CUPTI like a framework's. It counts kernels.
 *
 * It fails when it receives a buffer that is not its own or was not zeroed, or times of another
 * clock than CUPTI's default: a profiler that runs alone can rely on these.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cupti.h"
#include "abi/cupti_symbols.h"

#define DECLARE(name, parameters) cupti_result name parameters;
CUPTI_SYMBOLS(DECLARE)
#undef DECLARE

int framework_profiles(void);
int framework_stops(int finalizes);
unsigned framework_kernels(void);
unsigned framework_faults(void);

enum { BUFFER_BYTES = 1 << 16, BUFFERS = 4096, KERNEL_BYTES = 256 };

static cupti_subscriber subscriber;
static uint8_t *given[BUFFERS];
static unsigned given_count, kernels, faults;

static void called(void *user, cupti_choice domain, uint32_t function, const void *data) {
    (void)user, (void)domain, (void)function, (void)data;
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *records_most) {
    *buffer = given_count < BUFFERS ? malloc(BUFFER_BYTES) : NULL;
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records_most = 0;
    if (*buffer) {
        memset(*buffer, 0xff, BUFFER_BYTES);
        given[given_count++] = *buffer;
    }
}

static int is_own(const uint8_t *buffer) {
    for (unsigned i = 0; i < given_count; i++)
        if (given[i] == buffer) {
            given[i] = NULL;
            return 1;
        }
    return 0;
}

static void look_at(const struct cupti_kernel_record *kernel) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    uint64_t now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
    kernels++;
    faults += kernel->start > now || now - kernel->start > (uint64_t)60 * 1000000000;
    faults += ((const uint8_t *)kernel)[KERNEL_BYTES - 1] != 0;
}

static void completed(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes) {
    void *record = NULL;
    (void)context, (void)stream, (void)bytes;
    if (!is_own(buffer)) {
        faults++;
        return;
    }
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCEEDED)
        look_at(record);
    free(buffer);
}

int framework_profiles(void) {
    cupti_result result = cuptiSubscribe(&subscriber, called, NULL);
    if (result == CUPTI_SUCCEEDED)
        result = cuptiActivityRegisterCallbacks(requested, completed);
    if (result == CUPTI_SUCCEEDED)
        result = cuptiActivityEnable(CUPTI_KIND_KERNEL);
    return (int)result;
}

int framework_stops(int finalizes) {
    cupti_result result = cuptiActivityDisable(CUPTI_KIND_KERNEL);
    if (result == CUPTI_SUCCEEDED)
        result = cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
    if (result == CUPTI_SUCCEEDED)
        result = cuptiUnsubscribe(subscriber);
    if (result == CUPTI_SUCCEEDED && finalizes)
        result = cuptiFinalize();
    return (int)result;
}

unsigned framework_kernels(void) {
    return kernels;
}

unsigned framework_faults(void) {
    return faults;
}
