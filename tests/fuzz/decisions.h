/* The fuzzer's bytes as a sequence of decisions. When the bytes run out every decision is 0. */
#ifndef RIDGE_TESTS_FUZZ_DECISIONS_H
#define RIDGE_TESTS_FUZZ_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decisions {
    const uint8_t *at, *end;
};

static inline bool decisions_left(const struct decisions *decisions) {
    return decisions->at < decisions->end;
}

/* The next `bytes` bytes as a number, most significant first. */
static inline uint64_t decide_bits(struct decisions *decisions, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (decisions_left(decisions) ? *decisions->at++ : 0);
    return value;
}

/* A number below `choices`; 0 when there is no choice. */
static inline size_t decide(struct decisions *decisions, size_t choices) {
    uint64_t bits = decide_bits(decisions, choices > 256 ? 3 : 1);
    return choices ? (size_t)(bits % choices) : 0;
}

/* A value at a limit, or a random one. */
uint64_t decide_value(struct decisions *decisions);
/* A text that some reader treats specially: empty, long, invalid UTF-8, markup, a known name.
 * *length bytes that live as long as the program. */
const char *decide_text(struct decisions *decisions, size_t *length);

#endif
