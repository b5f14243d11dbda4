/* Reading, writing and copying with the widest vectors there are.
 *
 * The fastest method differs between CPUs: one stream or several, regular or non-temporal
 * stores. All are implemented and tried. The bodies are written once and compiled for each ISA
 * by a function attribute.
 */
#include "bench/roofs/native_streams.h"

#include <string.h>

#include "base/array.h"
#include "base/x86.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Eight vectors at a time: V the vector, LOAD, STORE and STREAM of one, ADD of two. */
#define READ_PASS(name, target, V, LOAD, ADD)                                                      \
    target static uint64_t name(char *to, const char *from, size_t bytes) {                        \
        const V *p = (const V *)(const void *)from, *end = p + bytes / sizeof(V);                  \
        V a = LOAD(p), b = a, c = a, d = a;                                                        \
        (void)to;                                                                                  \
        for (; p < end; p += 8) {                                                                  \
            a = ADD(a, ADD(LOAD(p), LOAD(p + 4)));                                                 \
            b = ADD(b, ADD(LOAD(p + 1), LOAD(p + 5)));                                             \
            c = ADD(c, ADD(LOAD(p + 2), LOAD(p + 6)));                                             \
            d = ADD(d, ADD(LOAD(p + 3), LOAD(p + 7)));                                             \
        }                                                                                          \
        uint64_t sum;                                                                              \
        a = ADD(ADD(a, b), ADD(c, d));                                                             \
        memcpy(&sum, &a, sizeof sum);                                                              \
        return sum;                                                                                \
    }

#define READ_FOUR_PASS(name, target, V, LOAD, ADD)                                                 \
    target static uint64_t name(char *to, const char *from, size_t bytes) {                        \
        const V *p = (const V *)(const void *)from;                                                \
        size_t quarter = bytes / sizeof(V) / 4;                                                    \
        V a = LOAD(p), b = a, c = a, d = a;                                                        \
        (void)to;                                                                                  \
        for (size_t i = 0; i < quarter; i += 2) {                                                  \
            a = ADD(a, ADD(LOAD(p + i), LOAD(p + i + 1)));                                         \
            b = ADD(b, ADD(LOAD(p + i + quarter), LOAD(p + i + quarter + 1)));                     \
            c = ADD(c, ADD(LOAD(p + i + 2 * quarter), LOAD(p + i + 2 * quarter + 1)));             \
            d = ADD(d, ADD(LOAD(p + i + 3 * quarter), LOAD(p + i + 3 * quarter + 1)));             \
        }                                                                                          \
        uint64_t sum;                                                                              \
        a = ADD(ADD(a, b), ADD(c, d));                                                             \
        memcpy(&sum, &a, sizeof sum);                                                              \
        return sum;                                                                                \
    }

#define WRITE_PASS(name, target, V, STORE, FENCE)                                                  \
    target static uint64_t name(char *to, const char *from, size_t bytes) {                        \
        V *p = (V *)(void *)to, *end = p + bytes / sizeof(V), value;                               \
        (void)from;                                                                                \
        memset(&value, 0x5a, sizeof value);                                                        \
        for (; p < end; p += 8) {                                                                  \
            STORE(p, value);                                                                       \
            STORE(p + 1, value);                                                                   \
            STORE(p + 2, value);                                                                   \
            STORE(p + 3, value);                                                                   \
            STORE(p + 4, value);                                                                   \
            STORE(p + 5, value);                                                                   \
            STORE(p + 6, value);                                                                   \
            STORE(p + 7, value);                                                                   \
        }                                                                                          \
        FENCE;                                                                                     \
        return 0;                                                                                  \
    }

#define COPY_PASS(name, target, V, LOAD, STORE, FENCE)                                             \
    target static uint64_t name(char *to, const char *from, size_t bytes) {                        \
        const V *p = (const V *)(const void *)from, *end = p + bytes / sizeof(V);                  \
        V *q = (V *)(void *)to;                                                                    \
        for (; p < end; p += 8, q += 8) {                                                          \
            V a = LOAD(p), b = LOAD(p + 1), c = LOAD(p + 2), d = LOAD(p + 3);                      \
            V e = LOAD(p + 4), f = LOAD(p + 5), g = LOAD(p + 6), h = LOAD(p + 7);                  \
            STORE(q, a);                                                                           \
            STORE(q + 1, b);                                                                       \
            STORE(q + 2, c);                                                                       \
            STORE(q + 3, d);                                                                       \
            STORE(q + 4, e);                                                                       \
            STORE(q + 5, f);                                                                       \
            STORE(q + 6, g);                                                                       \
            STORE(q + 7, h);                                                                       \
        }                                                                                          \
        FENCE;                                                                                     \
        return 0;                                                                                  \
    }

#define COPY_FOUR_PASS(name, target, V, LOAD, STORE, FENCE)                                        \
    target static uint64_t name(char *to, const char *from, size_t bytes) {                        \
        const V *p = (const V *)(const void *)from;                                                \
        V *q = (V *)(void *)to;                                                                    \
        size_t quarter = bytes / sizeof(V) / 4;                                                    \
        for (size_t i = 0; i < quarter; i += 2)                                                    \
            for (size_t k = i; k < 4 * quarter; k += quarter) {                                    \
                V a = LOAD(p + k), b = LOAD(p + k + 1);                                            \
                STORE(q + k, a);                                                                   \
                STORE(q + k + 1, b);                                                               \
            }                                                                                      \
        FENCE;                                                                                     \
        return 0;                                                                                  \
    }

/* The system's memcpy, which may be tuned for the machine. */
static uint64_t copy_library(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
    return 0;
}

static uint64_t write_library(char *to, const char *from, size_t bytes) {
    (void)from;
    memset(to, 0x5a, bytes);
    return 0;
}

#define ROWS(set, width)                                                                           \
    {STREAM_READ, false, read_##set, width " loads"},                                              \
        {STREAM_READ, false, read_four_##set, width " loads, 4 streams"},                          \
        {STREAM_WRITE, false, write_##set, width " stores"},                                       \
        {STREAM_WRITE, false, write_library, "memset()"},                                          \
        {STREAM_COPY, false, copy_##set, width " loads and stores"}, {                             \
        STREAM_COPY, false, copy_library, "memcpy()"                                               \
    }
#define STREAMED_ROWS(set, width)                                                                  \
    ROWS(set, width), {STREAM_WRITE, true, write_past_##set, width " stores past the caches"},     \
        {STREAM_COPY, true, copy_past_##set, width " loads, stores past the caches"}, {            \
        STREAM_COPY, true, copy_four_past_##set, width " loads, stores past the caches, 4 streams" \
    }

#if defined(__x86_64__)
#define PASSES(set, target, V, LOAD, STORE, STREAM, ADD)                                           \
    READ_PASS(read_##set, target, V, LOAD, ADD)                                                    \
    READ_FOUR_PASS(read_four_##set, target, V, LOAD, ADD)                                          \
    WRITE_PASS(write_##set, target, V, STORE, (void)0)                                             \
    WRITE_PASS(write_past_##set, target, V, STREAM, _mm_sfence())                                  \
    COPY_PASS(copy_##set, target, V, LOAD, STORE, (void)0)                                         \
    COPY_PASS(copy_past_##set, target, V, LOAD, STREAM, _mm_sfence())                              \
    COPY_FOUR_PASS(copy_four_past_##set, target, V, LOAD, STREAM, _mm_sfence())                    \
    static const struct native_stream streams_##set[] = {STREAMED_ROWS(set, WIDTH_##set)};
#define WIDTH_sse2 "16-byte"
#define WIDTH_avx2 "32-byte"
#define WIDTH_avx512 "64-byte"

PASSES(sse2, , __m128i, _mm_load_si128, _mm_store_si128, _mm_stream_si128, _mm_add_epi64)
PASSES(avx2, __attribute__((target("avx2"))), __m256i, _mm256_load_si256, _mm256_store_si256,
       _mm256_stream_si256, _mm256_add_epi64)
PASSES(avx512, __attribute__((target("avx512f"))), __m512i, _mm512_load_si512, _mm512_store_si512,
       _mm512_stream_si512, _mm512_add_epi64)

const struct native_stream *native_streams(unsigned *count) {
    *count = ARRAY_COUNT(streams_sse2);
    return x86_supports("avx512f") ? streams_avx512
           : x86_supports("avx2")  ? streams_avx2
                                   : streams_sse2;
}
#else
typedef uint64_t words __attribute__((vector_size(16)));
#define LOAD_WORDS(p) (*(p))
#define STORE_WORDS(p, value) (*(p) = (value))
#define ADD_WORDS(a, b) ((a) + (b))

READ_PASS(read_words, , words, LOAD_WORDS, ADD_WORDS)
READ_FOUR_PASS(read_four_words, , words, LOAD_WORDS, ADD_WORDS)
WRITE_PASS(write_words, , words, STORE_WORDS, (void)0)
COPY_PASS(copy_words, , words, LOAD_WORDS, STORE_WORDS, (void)0)
static const struct native_stream streams[] = {ROWS(words, "16-byte")};

const struct native_stream *native_streams(unsigned *count) {
    *count = ARRAY_COUNT(streams);
    return streams;
}
#endif
