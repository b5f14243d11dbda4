/* Cells are stored as bytes with their ends; widths are computed when the table is written. If a
 * text table is too wide, the widest flexible columns are narrowed until it fits or every flexible
 * column has its minimum width. */
#include "base/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    COLUMN_GAP = 2,
    FLEXIBLE_MIN = 8,
    TELL_APART_ROWS = 256, /* maximum: in longer tables cells are only cut at their end */
};

void table_column(struct table *table, const char *title, unsigned flags) {
    struct status ignored;
    char *copy = text_copy(text_of(title), &ignored);
    if (!copy ||
        !GROW(table->columns, &table->columns_capacity, table->column_count + 1, &ignored)) {
        memory_free(copy);
        table->failed = true;
        return;
    }
    table->columns[table->column_count++] = (struct table_head){copy, flags};
}

static void end_cell(struct table *table) {
    struct status ignored;
    table->failed |= table->bytes.failed ||
                     !GROW(table->ends, &table->ends_capacity, table->cell_count + 1, &ignored);
    if (!table->failed)
        table->ends[table->cell_count++] = table->bytes.length;
}

void table_cell(struct table *table, struct text cell) {
    if (table->failed)
        return;
    buffer_text(&table->bytes, cell);
    end_cell(table);
}

void table_cellf(struct table *table, const char *format, ...) {
    if (table->failed)
        return;
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&table->bytes, format, arguments);
    va_end(arguments);
    end_cell(table);
}

void table_group(struct table *table, struct text words) {
    struct status ignored;
    char *copy = text_copy(words, &ignored);
    if (!copy || !GROW(table->groups, &table->groups_capacity, table->group_count + 1, &ignored)) {
        memory_free(copy);
        table->failed = true;
        return;
    }
    table->groups[table->group_count++] = (struct table_group){copy, table_rows(table)};
}

size_t table_rows(const struct table *table) {
    size_t columns = table->column_count;
    return columns ? table->cell_count / columns + (table->cell_count % columns != 0) : 0;
}

static struct text cell_at(const struct table *table, size_t row, size_t column) {
    size_t index = row * table->column_count + column;
    if (index >= table->cell_count)
        return TEXT("");
    size_t from = index ? table->ends[index - 1] : 0;
    return (struct text){buffer_as_text(&table->bytes).data + from, table->ends[index] - from};
}

size_t table_text_width(struct text text) {
    size_t width = 0;
    while (text.length > 0) {
        text_next_printable(&text);
        width++;
    }
    return width;
}

unsigned table_terminal_width(int fd) {
    struct winsize size = {0};
    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void write_repeated(struct output *output, const char *what, size_t times) {
    size_t length = strlen(what);
    for (size_t i = 0; i < times; i++)
        output_write(output, what, length);
}

/* Writes at most `width` columns of a text, padded unless it is the last cell. */
static void write_fitted(struct output *output, struct text cell, size_t width, unsigned flags,
                         bool last) {
    size_t needed = table_text_width(cell);
    size_t shown = needed > width ? width - 1 : needed;
    size_t padding = needed < width ? width - needed : 0;
    if (flags & TABLE_RIGHT)
        write_repeated(output, " ", padding);
    for (size_t i = 0; i < shown; i++) {
        struct text character = text_next_printable(&cell);
        output_write(output, character.data, character.length);
    }
    if (needed > width)
        output_write(output, "…", strlen("…"));
    if (!(flags & TABLE_RIGHT) && !last)
        write_repeated(output, " ", padding);
}

static size_t common_prefix(struct text a, struct text b) {
    size_t length = 0;
    while (length < a.length && length < b.length && a.data[length] == b.data[length])
        length++;
    return length;
}

/* The bytes at the start of a cell that some other, different cell of its column starts with too.
 */
static size_t shared_prefix(const struct table *table, size_t row, size_t column) {
    struct text cell = cell_at(table, row, column);
    size_t rows = table_rows(table), longest = 0;
    for (size_t other = 0; other < rows && rows <= TELL_APART_ROWS; other++) {
        struct text text = cell_at(table, other, column);
        size_t length = common_prefix(cell, text);
        if (length > longest && !text_equal(cell, text))
            longest = length;
    }
    return longest;
}

static bool is_in_word(char byte) {
    return isalnum((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

/* Back to the first byte of the character of UTF-8 that `at` is in. */
static size_t character_start(struct text text, size_t at) {
    while (at > 0 && at < text.length && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* The first word and what ends it, at most half of the width. */
static size_t distinct_head(struct text cell, size_t width) {
    size_t head = 0;
    while (head < cell.length && is_in_word(cell.data[head]))
        head++;
    return character_start(cell, head + 1 < width / 2 ? head + 1 : width / 2);
}

/* Writes a cell that would be cut where it still equals another one: how it begins, "…", and the
 * part that differs, as in "elementwise_kernel…MulFunctor<float>". False if it need not be. */
static bool write_distinct(const struct table *table, size_t row, size_t column, size_t width,
                           struct output *output) {
    struct text cell = cell_at(table, row, column);
    size_t differs = shared_prefix(table, row, column), word = differs;
    if (table_text_width((struct text){cell.data, differs}) + 1 < width)
        return false;
    size_t head = distinct_head(cell, width), start = character_start(cell, differs);
    while (word > head && is_in_word(cell.data[word - 1]))
        word--;
    if (word > head)
        start = word;
    struct text first = {cell.data, head};
    size_t head_width = table_text_width(first), left = width - head_width - 1;
    while (start > head &&
           table_text_width((struct text){cell.data + start, cell.length - start}) < left)
        start = character_start(cell, start - 1);
    write_fitted(output, first, head_width, TABLE_LEFT, true);
    output_write(output, "…", strlen("…"));
    write_fitted(output, (struct text){cell.data + start, cell.length - start}, left, TABLE_LEFT,
                 false);
    return true;
}

static void measure(const struct table *table, bool header, size_t *widths) {
    for (size_t column = 0; column < table->column_count; column++)
        widths[column] = header ? table_text_width(text_of(table->columns[column].title)) : 0;
    size_t rows = table_rows(table);
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < table->column_count; column++) {
            size_t width = table_text_width(cell_at(table, row, column));
            if (width > widths[column])
                widths[column] = width;
        }
}

static size_t min_width(const struct table *table, size_t column) {
    size_t title = table_text_width(text_of(table->columns[column].title));
    return title > FLEXIBLE_MIN ? title : FLEXIBLE_MIN;
}

/* Repeatedly narrows the widest flexible column to the width of the next widest until the total is
 * at most `limit`. */
static void shrink(const struct table *table, size_t limit, size_t *widths) {
    size_t total = table->column_count ? (table->column_count - 1) * COLUMN_GAP : 0;
    for (size_t column = 0; column < table->column_count; column++)
        total += widths[column];
    while (total > limit) {
        size_t widest = SIZE_MAX, next = 0;
        for (size_t column = 0; column < table->column_count; column++) {
            if (!(table->columns[column].flags & TABLE_FLEXIBLE) ||
                widths[column] <= min_width(table, column))
                continue;
            if (widest == SIZE_MAX || widths[column] > widths[widest]) {
                next = widest == SIZE_MAX ? 0 : widths[widest];
                widest = column;
            } else if (widths[column] > next) {
                next = widths[column];
            }
        }
        if (widest == SIZE_MAX)
            return;
        size_t min = min_width(table, widest);
        size_t target = next > min ? next : min;
        if (target == widths[widest])
            target--; /* equally wide columns alternate */
        size_t gain = widths[widest] - target;
        if (gain > total - limit)
            gain = total - limit;
        widths[widest] -= gain;
        total -= gain;
    }
}

static void write_text_row(const struct table *table, size_t row, bool header, unsigned indent,
                           const size_t *widths, struct output *output) {
    write_repeated(output, " ", indent);
    for (size_t column = 0; column < table->column_count; column++) {
        const struct table_head *head = &table->columns[column];
        struct text cell = header ? text_of(head->title) : cell_at(table, row, column);
        bool last = column + 1 == table->column_count;
        bool cut = !header && table_text_width(cell) > widths[column];
        if (!cut || !write_distinct(table, row, column, widths[column], output))
            write_fitted(output, cell, widths[column], head->flags, last);
        if (!last)
            write_repeated(output, " ", COLUMN_GAP);
    }
    output_write(output, "\n", 1);
}

static void write_rule(const struct table *table, unsigned indent, const size_t *widths,
                       struct output *output) {
    write_repeated(output, " ", indent);
    for (size_t column = 0; column < table->column_count; column++) {
        if (column > 0)
            write_repeated(output, " ", COLUMN_GAP);
        write_repeated(output, "─", widths[column]);
    }
    output_write(output, "\n", 1);
}

static void write_group(const struct table_group *group, unsigned width, struct output *output) {
    struct text words = text_of(group->words);
    write_fitted(output, words, width ? width : table_text_width(words), TABLE_LEFT, true);
    output_write(output, "\n", 1);
}

static void write_text(const struct table *table, const struct table_layout *layout, size_t *widths,
                       struct output *output) {
    measure(table, !layout->no_header, widths);
    if (layout->width > 0)
        shrink(table, layout->width > layout->indent ? layout->width - layout->indent : 1, widths);
    if (!layout->no_header) {
        write_text_row(table, 0, true, layout->indent, widths, output);
        write_rule(table, layout->indent, widths, output);
    }
    size_t rows = table_rows(table), group = 0;
    for (size_t row = 0; row < rows; row++) {
        for (; group < table->group_count && table->groups[group].row <= row; group++)
            write_group(&table->groups[group], layout->width, output);
        write_text_row(table, row, false, layout->indent, widths, output);
    }
}

static bool is_word(struct text rest) {
    return rest.length > 0 &&
           (isalnum((unsigned char)rest.data[0]) || (unsigned char)rest.data[0] >= 0x80);
}

/* Escapes what Markdown would interpret: bars, tags, links, code, emphasis and the escape itself.
 * An underscore inside a word is left alone, so that kernel names stay readable as source. */
void table_markdown_text(struct output *output, struct text text) {
    bool after_word = false;
    while (text.length > 0) {
        bool word = is_word(text);
        struct text character = text_next_printable(&text);
        bool inside_word = character.data[0] == '_' && after_word && is_word(text);
        if (strchr("|\\<`*_[", character.data[0]) && !inside_word)
            output_write(output, "\\", 1);
        output_write(output, character.data, character.length);
        after_word = word;
    }
}

static void write_markdown_row(const struct table *table, size_t row, bool header,
                               struct output *output) {
    for (size_t column = 0; column < table->column_count; column++) {
        output_write(output, "| ", 2);
        table_markdown_text(output, header ? text_of(table->columns[column].title)
                                           : cell_at(table, row, column));
        output_write(output, " ", 1);
    }
    output_write(output, "|\n", 2);
}

static void write_markdown(const struct table *table, bool header, struct output *output) {
    if (header)
        write_markdown_row(table, 0, true, output);
    for (size_t column = 0; header && column < table->column_count; column++) {
        bool right = table->columns[column].flags & TABLE_RIGHT;
        output_printf(output, right ? "|---:" : "|---");
    }
    if (header)
        output_write(output, "|\n", 2);
    size_t rows = table_rows(table), group = 0;
    for (size_t row = 0; row < rows; row++) {
        for (; group < table->group_count && table->groups[group].row <= row; group++) {
            output_write(output, "| **", 4);
            table_markdown_text(output, text_of(table->groups[group].words));
            output_write(output, "** |\n", 5);
        }
        write_markdown_row(table, row, false, output);
    }
}

static bool is_number(struct text text) {
    char copy[64];
    if (text.length == 0 || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    char *end;
    strtod(copy, &end);
    return end == copy + text.length && copy[strspn(copy, "+-0123456789.eEINFinf")] == '\0';
}

static bool is_formula(struct text field) {
    return field.length > 0 && memchr("=+-@\t\r\n", field.data[0], 7) && !is_number(field);
}

void table_csv_field(struct output *output, struct text field) {
    bool formula = is_formula(field), quote = false;
    for (size_t i = 0; i < field.length && !quote; i++)
        quote = strchr(",\"\r\n", field.data[i]) && field.data[i];
    if (quote)
        output_write(output, "\"", 1);
    if (formula)
        output_write(output, "'", 1);
    while (field.length > 0) {
        const char *mark = memchr(field.data, '"', field.length);
        size_t length = mark ? (size_t)(mark - field.data) + 1 : field.length;
        output_write(output, field.data, length);
        if (mark)
            output_write(output, "\"", 1);
        field.data += length;
        field.length -= length;
    }
    if (quote)
        output_write(output, "\"", 1);
}

static void write_csv_row(const struct table *table, size_t row, bool header,
                          struct output *output) {
    for (size_t column = 0; column < table->column_count; column++) {
        if (column > 0)
            output_write(output, ",", 1);
        table_csv_field(output, header ? text_of(table->columns[column].title)
                                       : cell_at(table, row, column));
    }
    output_write(output, "\r\n", 2);
}

static void write_csv(const struct table *table, bool header, struct output *output) {
    if (header)
        write_csv_row(table, 0, true, output);
    size_t rows = table_rows(table);
    for (size_t row = 0; row < rows; row++)
        write_csv_row(table, row, false, output);
}

void table_write(const struct table *table, enum table_style style,
                 const struct table_layout *layout, struct output *output) {
    static const struct table_layout plain;
    if (!layout)
        layout = &plain;
    output_require(output, !table->failed);
    if (style == TABLE_MARKDOWN) {
        write_markdown(table, !layout->no_header, output);
    } else if (style == TABLE_CSV) {
        write_csv(table, !layout->no_header, output);
    } else {
        struct status status;
        size_t *widths = memory_allocate(table->column_count, sizeof *widths, &status);
        if (widths)
            write_text(table, layout, widths, output);
        output_require(output, widths != NULL);
        memory_free(widths);
    }
}

bool table_ok(const struct table *table, struct status *status) {
    return table->failed ? status_no_memory(status) : true;
}

void table_finish(struct table *table) {
    for (size_t column = 0; column < table->column_count; column++)
        memory_free(table->columns[column].title);
    for (size_t group = 0; group < table->group_count; group++)
        memory_free(table->groups[group].words);
    memory_free(table->columns);
    memory_free(table->groups);
    memory_free(table->ends);
    buffer_finish(&table->bytes);
    *table = (struct table){0};
}
