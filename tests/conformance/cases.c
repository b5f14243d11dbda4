/* Counting and printing cases; the memory that lives as long as one. */
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session session;

struct piece {
    struct piece *next;
    max_align_t data[];
};

static char name[300];
static const char *part;
static unsigned failures; /* of this case */
enum { FAILURES_SHOWN = 4 };
static struct piece *pieces;
static uint64_t used_before;

static uint64_t used_bytes(void) {
    struct ridge_pool_stats stats = {0};
    ridge_pool_stats(session.device, &stats);
    return stats.used_bytes;
}

bool case_begin(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (session.filter && !strstr(name, session.filter))
        return false;
    failures = 0;
    part = NULL;
    used_before = used_bytes();
    ridge_error_clear();
    ridge_scope_begin();
    return true;
}

void case_about(const char *about) {
    part = about;
}

void case_fail(const char *format, ...) {
    if (failures++ >= FAILURES_SHOWN)
        return;
    printf("FAILED %s%s%s: ", name, part ? ": " : "", part ? part : "");
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

static void release(void) {
    ridge_scope_end();
    while (pieces) {
        struct piece *piece = pieces;
        pieces = piece->next;
        free(piece);
    }
}

void case_end(void) {
    release();
    uint64_t used = used_bytes();
    if (used != used_before)
        case_fail("%lld bytes of the device stay in use", (long long)(used - used_before));
    if (failures)
        session.failed++;
    else
        session.passed++;
}

void case_skip(const char *reason) {
    release();
    printf("skipped %s: %s\n", name, reason);
    session.skipped++;
}

void *case_memory(size_t count, size_t size) {
    size_t bytes = 0;
    struct piece *piece = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes) && bytes < SIZE_MAX - sizeof *piece)
        piece = calloc(1, sizeof *piece + bytes);
    if (!piece) {
        fprintf(stderr, "conformance: no memory for %zu times %zu bytes\n", count, size);
        exit(1);
    }
    piece->next = pieces;
    pieces = piece;
    return piece->data;
}

uint64_t noise_bits(uint64_t seed, uint64_t index) {
    uint64_t x = seed * 0x9E3779B97F4A7C15u + index + 0x632BE59BD9B4E019u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

double noise_between(uint64_t seed, uint64_t index, double low, double high) {
    return low + (high - low) * ((double)(noise_bits(seed, index) >> 11) * 0x1p-53);
}
