/* Takes the UUIDs of devices out of .ridge files: strings that are one become zeros. Everything
 * else stays as it is.
 *
 *   make build/compare/neutralize && build/compare/neutralize FILE...
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/chunk.h"

enum { UUID_LENGTH = 36, FILE_MAX = 1 << 28 };

static bool is_uuid(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return length == UUID_LENGTH;
}

/* Writes the string to `to`, at most as long as it was; its length. */
static size_t neutral_string(const char *text, size_t length, char *to) {
    static const char library[] = "/lib/python3", folder[] = "/usr";
    size_t at = 0;
    if (is_uuid(text, length)) {
        for (size_t i = 0; i < length; i++)
            to[i] = text[i] == '-' ? '-' : '0';
        return length;
    }
    while (at + sizeof library <= length && memcmp(text + at, library, sizeof library - 1) != 0)
        at++;
    bool found =
        length > 0 && text[0] == '/' && at >= sizeof folder - 1 && at + sizeof library <= length;
    if (!found) {
        memcpy(to, text, length);
        return length;
    }
    memcpy(to, folder, sizeof folder - 1);
    memcpy(to + sizeof folder - 1, text + at, length - at);
    return sizeof folder - 1 + length - at;
}

/* In place; whether anything changed. */
static bool neutralize_strings(char *text, uint64_t *lengths, size_t count, size_t *size) {
    char *from = text, *to = text;
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        char *neutral = malloc(lengths[i] + 1);
        size_t length = neutral ? neutral_string(from, lengths[i], neutral) : 0;
        changed |= length != lengths[i] || memcmp(from, neutral, length) != 0;
        from += lengths[i];
        memcpy(to, neutral, length);
        to += length;
        lengths[i] = length;
        free(neutral);
    }
    *size = (size_t)(to - text);
    return changed;
}

/* Both columns of a chunk of strings: lengths and text. */
static bool read_strings(const unsigned char *body, const struct chunk_header *header,
                         struct chunk_decoder *decoder, uint64_t *lengths, char *text, size_t *size,
                         struct status *status) {
    struct chunk_entry length_entry = chunk_read_entry(body, 0),
                       text_entry = chunk_read_entry(body, 1);
    const unsigned char *data = body + (size_t)header->columns * CHUNK_ENTRY_SIZE;
    struct text bytes;
    if (!chunk_decode_column(decoder, &length_entry, data, header->rows, sizeof *lengths, lengths,
                             status))
        return false;
    data += length_entry.encoding == ENCODING_CONSTANT ? 0 : length_entry.stored_size;
    if (!chunk_decode_bytes(decoder, &text_entry, data, &bytes, status))
        return false;
    memcpy(text, bytes.data, bytes.length);
    *size = bytes.length;
    return true;
}

static bool write_strings(struct chunk_header *header, const unsigned char *body,
                          struct chunk_builder *builder, struct chunk_decoder *decoder, FILE *to,
                          bool *written, struct status *status) {
    uint64_t *lengths = malloc(CHUNK_ROWS_MAX * sizeof *lengths);
    char *text = malloc(FILE_MAX);
    size_t size = 0;
    bool ok = lengths && text && read_strings(body, header, decoder, lengths, text, &size, status);
    *written = ok && neutralize_strings(text, lengths, header->rows, &size);
    if (*written) {
        chunk_begin(builder, 2);
        chunk_add_column(builder, 0, lengths, sizeof *lengths, header->rows);
        chunk_add_bytes(builder, 1, text, size);
        chunk_seal(builder, header);
        fwrite(builder->bytes, 1, builder->length, to);
    }
    free(lengths);
    free(text);
    return ok;
}

static bool neutralize(const char *path, struct chunk_builder *builder,
                       struct chunk_decoder *decoder, struct status *status) {
    unsigned char *bytes = malloc(FILE_MAX);
    FILE *file = fopen(path, "rb");
    size_t length = file && bytes ? fread(bytes, 1, FILE_MAX, file) : 0, at = 0;
    struct chunk_header header;
    bool ok = file && length < FILE_MAX && (!file || fclose(file) == 0);
    file = ok ? fopen(path, "wb") : NULL;
    while (ok && file && at + CHUNK_HEADER_SIZE <= length &&
           chunk_read_header(bytes + at, &header)) {
        size_t size = CHUNK_HEADER_SIZE + header.body_size;
        bool written = false;
        if (header.type == CHUNK_STRINGS)
            ok = write_strings(&header, bytes + at + CHUNK_HEADER_SIZE, builder, decoder, file,
                               &written, status);
        if (!written)
            fwrite(bytes + at, 1, size, file);
        at += size;
    }
    free(bytes);
    return file && fclose(file) == 0 && ok && at == length;
}

int main(int argc, char **argv) {
    struct chunk_builder builder = {0};
    struct chunk_decoder decoder = {0};
    struct status status = {0};
    bool ok = chunk_builder_init(&builder, 1 << 16, 1 << 26, 3, &status);
    for (int i = 1; i < argc && ok; i++)
        if (!neutralize(argv[i], &builder, &decoder, &status)) {
            fprintf(stderr, "%s: %s\n", argv[i], status.message);
            ok = false;
        }
    chunk_builder_finish(&builder);
    chunk_decoder_finish(&decoder);
    return ok ? 0 : 1;
}
