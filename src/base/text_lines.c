/* Lines of a text file, read block by block. */
#include "base/text_lines.h"

enum { LINE_MAX_BYTES = 16 << 20 };

bool text_lines_open(struct text_lines *lines, const char *path, struct status *status) {
    *lines = (struct text_lines){0};
    return input_open(&lines->input, path, status);
}

void text_lines_close(struct text_lines *lines) {
    input_close(&lines->input);
}

static bool fail(struct text_lines *lines) {
    lines->failed = true;
    return false;
}

bool text_lines_next(struct text_lines *lines, struct text *line, struct status *status) {
    struct input *input = &lines->input;
    input_consume(input, lines->length);
    lines->length = 0;
    const char *end = NULL;
    for (size_t seen = 0;;) {
        if (input->length > seen)
            end = memchr(input->data + seen, '\n', input->length - seen);
        if (end || input->at_end)
            break;
        seen = input->length;
        if (seen >= LINE_MAX_BYTES) {
            status_fail(status, STATUS_INPUT, "line %llu is longer than %d MiB",
                        (unsigned long long)lines->number + 1, LINE_MAX_BYTES >> 20);
            return fail(lines);
        }
        if (!input_more(input, 2 * LINE_MAX_BYTES, status))
            return fail(lines);
    }
    if (input->length == 0)
        return false;
    *line = (struct text){input->data, end ? (size_t)(end - input->data) : input->length};
    lines->length = line->length + (end != NULL);
    lines->number++;
    if (line->length > 0 && line->data[line->length - 1] == '\r')
        line->length--;
    return true;
}

struct text text_split(struct text *rest, char separator) {
    const char *at = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
    struct text part = {rest->data, at ? (size_t)(at - rest->data) : rest->length};
    size_t taken = part.length + (at != NULL);
    *rest = (struct text){rest->data + taken, rest->length - taken};
    return part;
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

struct text text_trim(struct text text) {
    while (text.length > 0 && is_blank(text.data[0]))
        text = (struct text){text.data + 1, text.length - 1};
    while (text.length > 0 && is_blank(text.data[text.length - 1]))
        text.length--;
    return text;
}
