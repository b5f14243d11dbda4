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

/* Why it is skipped; NULL if it runs. RIDGE_LARGE=1 forces it, RIDGE_LARGE=0 disables it. */
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

/* Positions at both ends and across 2^31, and the values written there; the rest is not filled. */
static const struct {
    int64_t begin;
    double value;
} marks[] = {{0, 200}, {((int64_t)1 << 31) - 10, 7}, {((int64_t)1 << 31) - 3, 9}};
enum { MARKS = sizeof marks / sizeof marks[0], MARK = 20 };

static ridge_tensor *mark(ridge_tensor *x, unsigned which) {
    return ridge_slice(x, 0, marks[which].begin, marks[which].begin + MARK, 1);
}

static void check_bytes(void) {
    if (!case_begin("large u8 [2^31 + 17]"))
        return;
    const char *reason = reason_to_skip();
    if (reason) {
        case_skip(reason);
        return;
    }
    ridge_tensor *x = ridge_from_host(session.device, RIDGE_U8, 1, &count, NULL);
    for (unsigned i = 0; i < MARKS; i++)
        CASE_CHECK(ridge_assign(mark(x, i),
                                ridge_full(session.device, RIDGE_U8, 0, NULL, marks[i].value)));
    ridge_tensor *sum = ridge_add(x, x);
    for (unsigned i = 0; i < MARKS; i++) {
        struct array expected = array_make(SIZES(MARK));
        /* The second is half covered by the third. */
        for (int64_t j = 0; j < MARK; j++) {
            double value = i == 1 && marks[1].begin + j >= marks[2].begin ? 9 : marks[i].value;
            expected.values[j] = (double)((int64_t)(2 * value) & 255);
        }
        expect_exactly(mark(sum, i), RIDGE_U8, &expected);
    }
    case_end();
    ridge_pool_clear(session.device);
}

/* The sum of bytes in i32, which wraps. */
static void check_sum(void) {
    if (!getenv("RIDGE_LARGE") || reason_to_skip() || !case_begin("large u8 sum"))
        return;
    struct array total = array_make(0, NULL);
    total.values[0] = (double)wrap_integer(RIDGE_I32, 200 * count);
    ridge_tensor *x = ridge_full(session.device, RIDGE_U8, 1, &count, 200);
    expect_exactly(ridge_sum(x, 0, NULL, false), RIDGE_I32, &total);
    case_end();
    ridge_pool_clear(session.device);
}

static void check_halves(void) {
    if (!getenv("RIDGE_LARGE") || reason_to_skip() ||
        !case_begin("large f16 of more than 2^31 bytes"))
        return;
    int64_t elements = ((int64_t)1 << 30) + 1000;
    ridge_tensor *x = ridge_full(session.device, RIDGE_F16, 1, &elements, 1.5);
    ridge_tensor *y = ridge_neg(x);
    struct array last = array_make(SIZES(20));
    for (int i = 0; i < 20; i++)
        last.values[i] = -1.5;
    expect_exactly(ridge_slice(y, 0, elements - 20, elements, 1), RIDGE_F16, &last);
    case_end();
    ridge_pool_clear(session.device);
}

void check_large(void) {
    check_bytes();
    check_sum();
    check_halves();
}
