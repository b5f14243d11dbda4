/* What does XLA say about a kernel or copy? One string of key:value pairs in any order; a key that
 * is not known is left alone. */
#include "import/kineto/kineto_xla.h"

#include "base/array.h"

/* The next "key:value" of `rest`, which shrinks; false when there is none. */
static bool next_pair(struct text *rest, struct text *key, struct text *value) {
    const char *at = rest->data, *end = at + rest->length;
    while (at < end && *at == ' ')
        at++;
    const char *stop = at;
    while (stop < end && *stop != ' ')
        stop++;
    *rest = (struct text){stop, (size_t)(end - stop)};
    const char *colon = memchr(at, ':', (size_t)(stop - at));
    if (at == stop)
        return false;
    if (!colon)
        colon = stop;
    *key = (struct text){at, (size_t)(colon - at)};
    *value = colon == stop ? TEXT("") : (struct text){colon + 1, (size_t)(stop - colon) - 1};
    return true;
}

static uint32_t number(struct text value) {
    uint64_t n;
    return text_to_u64(value, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

static void triple(struct text value, uint32_t *x, uint32_t *y, uint32_t *z) {
    uint32_t *parts[3] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        const char *comma = memchr(value.data, ',', value.length);
        size_t length = comma ? (size_t)(comma - value.data) : value.length;
        *parts[i] = number((struct text){value.data, length});
        if (!comma)
            return;
        value = (struct text){comma + 1, value.length - length - 1};
    }
}

void xla_read_kernel(struct text details, struct row_activity *row) {
    struct text key, value;
    while (next_pair(&details, &key, &value)) {
        if (text_is(key, "grid"))
            triple(value, &row->grid_x, &row->grid_y, &row->grid_z);
        else if (text_is(key, "block"))
            triple(value, &row->block_x, &row->block_y, &row->block_z);
        else if (text_is(key, "regs"))
            row->registers = number(value);
        else if (text_is(key, "static_shared") || text_is(key, "group_mem"))
            row->shared_static = number(value);
        else if (text_is(key, "dynamic_shared"))
            row->shared_dynamic = number(value);
    }
}

static enum memory_kind memory_named(struct text word) {
    static const struct {
        const char *word;
        enum memory_kind kind;
    } words[] = {
        {"pageable", MEMORY_PAGEABLE}, {"pinned", MEMORY_PINNED},   {"device", MEMORY_DEVICE},
        {"array", MEMORY_ARRAY},       {"managed", MEMORY_MANAGED},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (text_is(word, words[i].word))
            return words[i].kind;
    return MEMORY_UNKNOWN;
}

static bool on_host(enum memory_kind kind) {
    return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

void xla_read_copy(struct text details, struct row_activity *row) {
    struct text key, value;
    while (next_pair(&details, &key, &value)) {
        if (text_is(key, "kind_src"))
            row->from_memory = (uint8_t)memory_named(value);
        else if (text_is(key, "kind_dst"))
            row->to_memory = (uint8_t)memory_named(value);
        else if (text_is(key, "size") && !text_to_u64(value, &row->bytes))
            row->bytes = BYTES_UNKNOWN;
    }
    if (row->direction == COPY_UNKNOWN && row->from_memory && row->to_memory) {
        bool from_host = on_host(row->from_memory), to_host = on_host(row->to_memory);
        row->direction =
            from_host ? (to_host ? COPY_HTOH : COPY_HTOD) : (to_host ? COPY_DTOH : COPY_DTOD);
    }
}
