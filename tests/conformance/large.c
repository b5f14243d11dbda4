/* Tensors of more than 2^31 elements and more than 2^31 bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arrays.h"

static const int64_t count = ((int64_t)1 << 31) + 17;
static const uint64_t needed = (uint64_t)12 << 30;

/* Of the host, whose memory a CPU device has. */
static uint64_t free_bytes(void) {
#if defined(_SC_AVPHYS_PAGES)
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kilobytes = 0;
    char line[200];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    if (kilobytes)
        return kilobytes * 1024;
    return (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
#else
    return 0;
#endif
}

/* Why it is not run; NULL when it is. RIDGE_LARGE=1 insists, RIDGE_LARGE=0 forbids. */
static const char *reason_to_skip(void) {
    const char *wanted = getenv("RIDGE_LARGE");
    if (wanted && strcmp(wanted, "0") == 0)
        return "RIDGE_LARGE is 0";
    if (wanted)
        return NULL;
    struct ridge_device_info info;
    if (session.quick)
        return "not in a quick run";
    if (!session.native && strncmp(session.name, "cuda", 4) != 0)
        return "it takes long on this device: RIDGE_LARGE=1 runs it";
    if (session.native
            ? free_bytes() < needed
            : !ridge_device_describe(session.device, &info) || info.memory_bytes < needed)
        return "less than 12 GiB of memory are free";
    return NULL;
}

/* The last elements, by way of views that begin beyond 2^31. */
static void check_end(ridge_tensor *x, enum ridge_dtype dtype, int64_t elements, double expected) {
    struct array last = array_make(SIZES(20));
    for (int i = 0; i < 20; i++)
        last.values[i] = expected;
    expect_exactly(ridge_slice(x, 0, elements - 20, elements, 1), dtype, &last);
}

static void check_bytes(void) {
    if (!case_begin("large u8 [2^31 + 17]"))
        return;
    const char *reason = reason_to_skip();
    if (reason) {
        case_skip(reason);
        return;
    }
    ridge_tensor *x = ridge_full(session.device, RIDGE_U8, 1, &count, 200);
    CASE_CHECK(ridge_assign(ridge_slice(x, 0, count - 40, INT64_MAX, 1),
                            ridge_full(session.device, RIDGE_U8, 0, NULL, 7)));
    check_end(x, RIDGE_U8, count, 7);
    ridge_tensor *sum = ridge_add(x, x);
    check_end(sum, RIDGE_U8, count, 14);
    struct array middle = array_make(SIZES(20));
    for (int i = 0; i < 20; i++)
        middle.values[i] = 400 & 255;
    expect_exactly(ridge_slice(sum, 0, count - 70, count - 50, 1), RIDGE_U8, &middle);
    expect_exactly(ridge_slice(sum, 0, 0, count - 50, (count - 50) / 19), RIDGE_U8, &middle);
    ridge_release(sum);
    /* Summed in i32: 200 * (2^31 - 23) + 7 * 40, which wraps. */
    struct array total = array_make(0, NULL);
    total.values[0] = (double)wrap_integer(RIDGE_I32, 200 * (count - 40) + 7 * 40);
    expect_exactly(ridge_sum(x, 0, NULL, false), RIDGE_I32, &total);
    case_end();
    ridge_pool_clear(session.device);
}

static void check_halves(void) {
    if (!getenv("RIDGE_LARGE") || reason_to_skip())
        return;
    if (!case_begin("large f16 of more than 2^31 bytes"))
        return;
    int64_t elements = ((int64_t)1 << 30) + 1000;
    ridge_tensor *x = ridge_full(session.device, RIDGE_F16, 1, &elements, 1.5);
    ridge_tensor *y = ridge_neg(x);
    check_end(y, RIDGE_F16, elements, -1.5);
    case_end();
    ridge_pool_clear(session.device);
}

void check_large(void) {
    check_bytes();
    check_halves();
}
