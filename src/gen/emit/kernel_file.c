/* Finds the sections of an embedded kernel file. Kernels are generated once per specification, so a
 * file is simply searched from its start. */
#include "gen/emit/kernel_file.h"

#include <assert.h>

static struct text next_line(const char **position) {
    const char *end = strchr(*position, '\n');
    struct text line = {*position, end ? (size_t)(end + 1 - *position) : strlen(*position)};
    *position += line.length;
    return line;
}

static bool is_comment(struct text line) {
    size_t indent = 0;
    while (indent < line.length && line.data[indent] == ' ')
        indent++;
    return text_starts((struct text){line.data + indent, line.length - indent}, "//");
}

/* The name of the section that starts with this line; false: none does. */
static bool section_name(struct text line, struct text *name) {
    struct text prefix = TEXT("// section: ");
    if (!text_starts(line, prefix.data))
        return false;
    *name = (struct text){line.data + prefix.length, line.length - prefix.length - 1};
    return true;
}

/* A section's lines from `position` up to the next section. */
static void append_lines(struct buffer *out, const char *position) {
    struct text name;
    size_t blank = 0;
    bool empty = true;
    while (*position) {
        struct text line = next_line(&position);
        if (section_name(line, &name))
            return;
        if (is_comment(line))
            continue;
        if (text_is(line, "\n")) {
            blank++;
            continue;
        }
        for (; blank > 0; blank--)
            if (!empty)
                buffer_byte(out, '\n');
        buffer_text(out, line);
        empty = false;
    }
}

void source_section(struct buffer *out, const unsigned char *file, const char *section) {
    const char *position = (const char *)file;
    struct text name;
    bool found = section == NULL;
    while (!found && *position)
        found = section_name(next_line(&position), &name) && text_is(name, section);
    assert(found);
    append_lines(out, position);
}
