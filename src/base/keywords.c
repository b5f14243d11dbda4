/* Fills the hash table of keywords_find(); collisions go to the next free slot. */
#include "base/keywords.h"

void keywords_init(struct keywords *keywords, const struct keyword *list, size_t count) {
    memset(keywords, 0, sizeof *keywords);
    keywords->list = list;
    for (size_t i = 0; i < count; i++) {
        char padded[8] = {0};
        size_t length = strlen(list[i].word);
        memcpy(padded, list[i].word, length < 8 ? length : 8);
        keywords->first[i] = keywords_first(padded, length);
        keywords->length[i] = (uint8_t)length;
        unsigned at = keywords_slot(keywords->first[i], length);
        while (keywords->slots[at])
            at = (at + 1) % KEYWORDS_SLOTS;
        keywords->slots[at] = (uint8_t)(i + 1);
    }
}
