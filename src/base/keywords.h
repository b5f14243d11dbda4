/* Looks up a word in a fixed list, with one multiplication and one comparison.
 *
 * Words with equal length and equal first eight bytes collide and are slower: lists should have few
 * of them.
 */
#ifndef RIDGE_BASE_KEYWORDS_H
#define RIDGE_BASE_KEYWORDS_H

#include <stdint.h>

#include "base/text.h"

enum { KEYWORDS_SLOTS = 256, KEYWORDS_MAX = 128 };

struct keyword {
    const char *word;
    uint8_t kind, slot; /* for the list's owner */
};

struct keywords {
    const struct keyword *list;
    uint64_t first[KEYWORDS_MAX]; /* eight bytes of each word */
    uint8_t length[KEYWORDS_MAX];
    uint8_t slots[KEYWORDS_SLOTS]; /* index + 1, 0 = free */
};

/* `list`, which is referenced, has `count` (at most KEYWORDS_MAX) distinct words of 1 to 255 bytes.
 */
void keywords_init(struct keywords *keywords, const struct keyword *list, size_t count);

/* The first eight bytes of a word, zero-padded. At least seven readable bytes must follow the word.
 */
static inline uint64_t keywords_first(const char *data, size_t length) {
    uint64_t first = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&first, data, 8);
    if (length < 8)
        first &= ((uint64_t)1 << 8 * length) - 1;
#else
    memcpy(&first, data, length < 8 ? length : 8);
#endif
    return first;
}

static inline unsigned keywords_slot(uint64_t first, size_t length) {
    return (unsigned)(((first ^ length) * 0x9E3779B97F4A7C15u) >> 56);
}

/* The word's entry, or NULL. At least seven readable bytes must follow the text. */
static inline const struct keyword *keywords_find(const struct keywords *keywords,
                                                  struct text word) {
    uint64_t first = keywords_first(word.data, word.length);
    for (unsigned at = keywords_slot(first, word.length); keywords->slots[at];
         at = (at + 1) % KEYWORDS_SLOTS) {
        unsigned index = keywords->slots[at] - 1u;
        if (keywords->first[index] == first && keywords->length[index] == word.length &&
            (word.length <= 8 ||
             memcmp(word.data + 8, keywords->list[index].word + 8, word.length - 8) == 0))
            return &keywords->list[index];
    }
    return NULL;
}

#endif
