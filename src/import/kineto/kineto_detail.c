/* Which of an event's arguments are worth keeping as text, and in what form? They become a JSON
 * object: compact, strictly valid, and written down once per distinct content. Recognising content
 * by the hash of its bytes spares composing the object again for every event that has the same.
 */
#include "import/kineto/kineto_detail.h"

#include "base/checksum.h"

enum { DETAIL_BYTES_MAX = 64 * 1024 };

void details_finish(struct details *details) {
    buffer_finish(&details->text);
    buffer_finish(&details->joined);
}

static uint32_t remember(struct details *details, uint64_t hash) {
    struct text text = buffer_as_text(&details->text);
    details->out_of_memory |= details->text.failed;
    bool valid = !details->text.failed && text.length <= DETAIL_BYTES_MAX &&
                 text_utf8_valid(text) == text.length;
    uint32_t string = valid ? trace_writer_string(details->writer, text) : 0;
    details->facts[hash % DETAIL_FACTS] = (struct detail_fact){hash, string};
    return string;
}

/* The canonical spelling of keys that older files write differently. */
static const char *detail_key(const struct keyword *key) {
    return strcmp(key->word, "Input dims") == 0 ? "Input Dims" : key->word;
}

uint32_t details_chosen(struct details *details, const struct kineto_event *event,
                        unsigned groups) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < event->detail_count; i++) {
        const struct event_detail *detail = &event->details[i];
        if (detail->key->slot & groups)
            hash = hash_u64(hash + (uintptr_t)detail->key) ^
                   checksum64(detail->value.data, detail->value.length);
    }
    if (hash == 0)
        return 0;
    const struct detail_fact *known = &details->facts[hash % DETAIL_FACTS];
    if (known->hash == hash)
        return known->string;

    struct buffer *out = &details->text;
    buffer_clear(out);
    for (unsigned i = 0; i < event->detail_count; i++) {
        const struct event_detail *detail = &event->details[i];
        if (!(detail->key->slot & groups))
            continue;
        size_t before = out->length;
        buffer_printf(out, "%c\"%s\":", before ? ',' : '{', detail_key(detail->key));
        if (!scan_compact(detail->value, out))
            out->length = before;
    }
    if (out->length)
        buffer_byte(out, '}');
    return remember(details, hash);
}

static uint32_t own_string(struct details *details, struct text raw) {
    buffer_clear(&details->text);
    scan_decode(raw, &details->text);
    details->out_of_memory |= details->text.failed;
    return trace_writer_string(details->writer, buffer_as_text(&details->text));
}

uint32_t details_own(struct details *details, const struct kineto_event *event) {
    struct text members = event->own_detail;
    if (!members.data || members.length > DETAIL_BYTES_MAX)
        return 0;
    if (event->own_detail_is_string)
        return own_string(details, members);
    uint64_t hash = checksum64(members.data, members.length);
    const struct detail_fact *known = &details->facts[hash % DETAIL_FACTS];
    if (known->hash == hash)
        return known->string;
    while (members.length > 1 && (members.data[members.length - 1] == ',' ||
                                  scan_is_space(members.data[members.length - 1])))
        members.length--;
    buffer_clear(&details->joined);
    buffer_text(&details->joined, members);
    buffer_byte(&details->joined, '}');
    details->out_of_memory |= details->joined.failed;
    buffer_clear(&details->text);
    if (!scan_compact(buffer_as_text(&details->joined), &details->text))
        buffer_clear(&details->text);
    return remember(details, hash);
}

uint32_t details_whole(struct details *details, const struct kineto_event *event) {
    if (event->args.length <= 2 || event->args.length > DETAIL_BYTES_MAX)
        return 0;
    uint64_t hash = checksum64(event->args.data, event->args.length);
    const struct detail_fact *known = &details->facts[hash % DETAIL_FACTS];
    if (known->hash == hash)
        return known->string;
    buffer_clear(&details->text);
    if (!scan_compact(event->args, &details->text))
        buffer_clear(&details->text);
    return remember(details, hash);
}
