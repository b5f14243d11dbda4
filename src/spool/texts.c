/* Numbers the texts of a lane: each text is written once and then referred to by four bytes.
 *
 * A program may generate a name for every range, so the table is bounded. When half of the numbers
 * are used, all texts are forgotten and the other half is used next, so that numbers that a record
 * already has stay valid until it is written.
 */
#include "spool/writer.h"

#include <string.h>

#include "base/checksum.h"

enum { FIRST_CAPACITY = 128, HALF_OF_NUMBERS = SPOOL_TEXTS / 2, BYTES_MAX = 2 << 20 };

struct known_text {
    uint64_t hash;
    const char *data;
    uint32_t length;
};

static size_t table_bytes(uint32_t capacity) {
    return capacity * (sizeof(struct known_text) + 2 * sizeof(uint32_t));
}

static void insert_slot(uint32_t *slots, uint32_t capacity, uint64_t hash, uint32_t number) {
    uint32_t mask = 2 * capacity - 1, at = (uint32_t)hash & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = number;
}

static bool grow_table(struct lane_texts *texts) {
    uint32_t capacity = texts->capacity ? 2 * texts->capacity : FIRST_CAPACITY;
    struct known_text *known = pages_allocate(table_bytes(capacity));
    if (!known)
        return false;
    uint32_t *slots = (uint32_t *)(known + capacity);
    for (uint32_t i = 0; i < texts->count; i++) {
        known[i] = texts->known[i];
        insert_slot(slots, capacity, known[i].hash, i + 1);
    }
    pages_free(texts->known, table_bytes(texts->capacity));
    texts->known = known;
    texts->slots = slots;
    texts->capacity = capacity;
    return true;
}

void lane_texts_finish(struct lane_texts *texts) {
    pages_free(texts->known, table_bytes(texts->capacity));
    page_arena_finish(&texts->bytes);
    *texts = (struct lane_texts){0};
}

static uint32_t find_text(const struct lane_texts *texts, struct text text, uint64_t hash) {
    if (texts->count == 0)
        return 0;
    uint32_t mask = 2 * texts->capacity - 1;
    for (uint32_t at = (uint32_t)hash & mask; texts->slots[at]; at = (at + 1) & mask) {
        const struct known_text *known = &texts->known[texts->slots[at] - 1];
        if (known->hash == hash && known->length == text.length &&
            memcmp(known->data, text.data, text.length) == 0)
            return texts->base + texts->slots[at];
    }
    return 0;
}

static bool is_full(const struct lane_texts *texts) {
    return texts->count >= HALF_OF_NUMBERS || texts->bytes.total > BYTES_MAX;
}

static void reset_texts(struct spool_lane *lane) {
    uint32_t base = lane->texts.base == 0 ? HALF_OF_NUMBERS : 0;
    lane_texts_finish(&lane->texts);
    lane->texts.base = base;
    memset(lane->constants, 0, sizeof lane->constants);
}

/* Returns its number, or 0 when out of memory. */
static uint32_t add_text(struct lane_texts *texts, struct text text, uint64_t hash) {
    if (texts->count == texts->capacity && !grow_table(texts))
        return 0;
    char *copy = page_arena_allocate(&texts->bytes, text.length);
    if (!copy)
        return 0;
    memcpy(copy, text.data, text.length);
    texts->known[texts->count++] =
        (struct known_text){.hash = hash, .data = copy, .length = (uint32_t)text.length};
    insert_slot(texts->slots, texts->capacity, hash, texts->count);
    return texts->base + texts->count;
}

/* It could not be written, so it must not be found. */
static void invalidate_last(struct lane_texts *texts) {
    texts->known[texts->count - 1].length = UINT32_MAX;
}

/* Does not split a UTF-8 character. */
static struct text truncate_text(struct text text) {
    if (text.length <= SPOOL_TEXT_MAX)
        return text;
    text.length = SPOOL_TEXT_MAX;
    while (text.length > SPOOL_TEXT_MAX - 4 && (text.data[text.length] & 0xC0) == 0x80)
        text.length--;
    return text;
}

static bool write_text(struct spool_lane *lane, struct text text, uint32_t number) {
    size_t bytes = (sizeof(struct spool_text) + text.length + 7) & ~(size_t)7;
    struct spool_text *record = spool_begin(lane, SPOOL_TEXT, number, bytes);
    if (!record)
        return false;
    record->length = (uint32_t)text.length;
    memcpy(record + 1, text.data, text.length);
    memset((char *)(record + 1) + text.length, 0, bytes - sizeof *record - text.length);
    spool_publish(lane);
    return true;
}

uint32_t spool_text(struct spool_lane *lane, struct text text) {
    if (!lane || lane->record_bytes || text.length == 0)
        return 0;
    text = truncate_text(text);
    uint64_t hash = checksum64(text.data, text.length);
    uint32_t number = find_text(&lane->texts, text, hash);
    if (number)
        return number;
    if (is_full(&lane->texts))
        reset_texts(lane);
    number = add_text(&lane->texts, text, hash);
    if (number && !write_text(lane, text, number)) {
        invalidate_last(&lane->texts);
        return 0;
    }
    return number;
}

uint32_t spool_constant(struct spool_lane *lane, const char *text) {
    if (!lane || !text)
        return 0;
    struct lane_constant *known = &lane->constants[hash_u64((uintptr_t)text) % LANE_CONSTANTS];
    if (known->address != text) {
        uint32_t number = spool_text(lane, text_of(text));
        if (number == 0)
            return 0;
        *known = (struct lane_constant){.address = text, .number = number};
    }
    return known->number;
}
