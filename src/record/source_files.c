/* Only what the blocks of a Python file need is parsed: strings, comments, brackets, indentation,
 * and the first word of a statement. One pass gives each line its innermost loop, and each loop its
 * enclosing one in the same function. Files of other languages are parsed by brace_blocks.c.
 */
#include "record/source_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "record/source_blocks.h"

enum {
    FILE_BYTES_MAX = 16 << 20,
    FILES_MAX = 1 << 16,
    BLOCKS_MAX = 100, /* CPython's own limit of nested blocks */
    TEXT_MAX = 160,   /* bytes of a line's text */
    TAB = 8,
};

/* ---- Parsing -------------------------------------------------------------------------------- */

/* A statement: the lines up to the end of its brackets, strings and continuations. */
struct statement {
    size_t first, end; /* lines */
    unsigned indent;
    struct text word; /* first word; empty: a blank line */
    bool has_comprehension;
};

struct scanner {
    struct source_file *file;
    size_t line;
};

bool source_blocks_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 128;
}

/* Behind the string that begins at `at`; at most `length`. */
static size_t skip_string(const char *bytes, size_t at, size_t length) {
    char quote = bytes[at];
    bool triple = at + 2 < length && bytes[at + 1] == quote && bytes[at + 2] == quote;
    at += triple ? 3 : 1;
    while (at < length) {
        if (bytes[at] == '\\') {
            at += 2;
            continue;
        }
        if (bytes[at] == '\n' && !triple)
            return at;
        if (bytes[at] == quote && !triple)
            return at + 1;
        if (triple && at + 2 < length && bytes[at] == quote && bytes[at + 1] == quote &&
            bytes[at + 2] == quote)
            return at + 3;
        at++;
    }
    return length;
}

struct text source_blocks_word(const struct source_file *file, size_t at) {
    size_t end = at;
    while (end < file->length && source_blocks_is_word(file->bytes[end]))
        end++;
    return (struct text){file->bytes + at, end - at};
}

static size_t line_at(const struct source_file *file, size_t line, size_t at) {
    while (line + 1 < file->line_count && file->starts[line + 1] <= at)
        line++;
    return line;
}

/* Reads from the first word on to the end of the statement; returns the offset of its newline. */
static size_t scan_statement(const struct source_file *file, size_t at,
                             struct statement *statement) {
    const char *bytes = file->bytes;
    unsigned depth = 0;
    while (at < file->length) {
        char c = bytes[at];
        if (c == '\n' && depth == 0)
            return at;
        if (c == '#') {
            while (at < file->length && bytes[at] != '\n')
                at++;
        } else if (c == '\'' || c == '"') {
            at = skip_string(bytes, at, file->length);
        } else if (source_blocks_is_word(c)) {
            struct text word = source_blocks_word(file, at);
            statement->has_comprehension |= depth > 0 && text_is(word, "for");
            at += word.length;
        } else {
            depth += c == '(' || c == '[' || c == '{';
            depth -= depth > 0 && (c == ')' || c == ']' || c == '}');
            at += c == '\\' ? 2 : 1;
        }
    }
    return file->length;
}

static bool next_statement(struct scanner *scanner, struct statement *statement) {
    const struct source_file *file = scanner->file;
    if (scanner->line >= file->line_count)
        return false;
    *statement = (struct statement){.first = scanner->line};
    size_t at = file->starts[scanner->line];
    for (; at < file->length && (file->bytes[at] == ' ' || file->bytes[at] == '\t' ||
                                 file->bytes[at] == '\f' || file->bytes[at] == '\r');
         at++)
        statement->indent =
            file->bytes[at] == '\t' ? (statement->indent / TAB + 1) * TAB : statement->indent + 1;
    bool blank = at >= file->length || file->bytes[at] == '\n' || file->bytes[at] == '#';
    if (!blank) {
        statement->word = source_blocks_word(file, at);
        if (text_is(statement->word, "async")) {
            size_t next = at + statement->word.length;
            while (next < file->length && file->bytes[next] == ' ')
                next++;
            statement->word = source_blocks_word(file, next);
        }
        at = scan_statement(file, at, statement);
    }
    statement->end = line_at(file, scanner->line, at) + 1;
    if (blank)
        statement->indent = UINT32_MAX;
    scanner->line = statement->end;
    return true;
}

struct block {
    unsigned indent;
    uint32_t loop; /* innermost loop of its function inside it */
};

bool source_blocks_add_loop(struct source_file *file, size_t line, uint32_t around,
                            uint32_t *number, struct status *status) {
    if (!GROW(file->loops, &file->loop_capacity, file->loop_count + 1, status))
        return false;
    file->loops[file->loop_count++] = (struct source_loop){(uint32_t)line + 1, around};
    *number = (uint32_t)file->loop_count;
    return true;
}

/* Blocks end where a statement is indented no more than their first. */
static bool find_loops(struct source_file *file, struct status *status) {
    struct scanner scanner = {.file = file};
    struct statement statement;
    struct block blocks[BLOCKS_MAX];
    unsigned depth = 0;
    while (next_statement(&scanner, &statement)) {
        while (depth > 0 && blocks[depth - 1].indent >= statement.indent)
            depth--;
        uint32_t loop = depth ? blocks[depth - 1].loop : 0;
        bool begins_loop = text_is(statement.word, "for") || text_is(statement.word, "while");
        bool begins_scope = text_is(statement.word, "def") || text_is(statement.word, "class");
        if (begins_loop || (statement.has_comprehension && !begins_scope))
            if (!source_blocks_add_loop(file, statement.first, loop, &loop, status))
                return false;
        for (size_t line = statement.first; line < statement.end; line++) {
            file->loop[line] = loop;
            file->first[line] = (uint32_t)statement.first + 1;
        }
        if ((begins_loop || begins_scope) && depth < BLOCKS_MAX)
            blocks[depth++] = (struct block){statement.indent, begins_scope ? 0 : loop};
    }
    return true;
}

static bool find_lines(struct source_file *file, struct status *status) {
    size_t count = 1;
    for (size_t i = 0; i < file->length; i++)
        count += file->bytes[i] == '\n';
    file->starts = memory_allocate(count, sizeof *file->starts, status);
    file->loop = memory_allocate(count, sizeof *file->loop, status);
    file->first = memory_allocate(count, sizeof *file->first, status);
    if (!file->starts || !file->loop || !file->first)
        return false;
    file->line_count = 1;
    for (size_t i = 0; i < file->length; i++)
        if (file->bytes[i] == '\n')
            file->starts[file->line_count++] = (uint32_t)i + 1;
    return true;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void close_file(struct source_file *file) {
    if (!file)
        return;
    memory_free(file->bytes);
    memory_free(file->starts);
    memory_free(file->loop);
    memory_free(file->first);
    memory_free(file->loops);
    buffer_finish(&file->chain);
    memory_free(file);
}

static bool read_bytes(struct source_file *file, int fd, size_t length) {
    while (file->length < length) {
        ssize_t got = read(fd, file->bytes + file->length, length - file->length);
        if (got <= 0)
            break;
        file->length += (size_t)got;
    }
    return file->length == length;
}

/* A relative path is one to the folder in which the recorder and the program were started. */
static struct source_file *open_file(struct text path, struct status *status) {
    char name[4096];
    struct stat info;
    if (path.length == 0 || path.length >= sizeof name || path.data[0] == '<')
        return NULL;
    memcpy(name, path.data, path.length);
    name[path.length] = 0;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    struct source_file *file = NULL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        info.st_size < FILE_BYTES_MAX && (file = memory_allocate(1, sizeof *file, status))) {
        file->bytes = memory_allocate((size_t)info.st_size + 1, 1, status);
        file->has_braces = brace_blocks_is_language(path);
        if (!file->bytes || !read_bytes(file, fd, (size_t)info.st_size) ||
            !find_lines(file, status) ||
            !(file->has_braces ? brace_blocks_find(file, path, status)
                               : find_loops(file, status))) {
            close_file(file);
            file = NULL;
        }
    }
    close(fd);
    return file;
}

/* NULL: the file or the line is unknown. */
static struct source_file *find_file(struct source_files *files, struct text path, uint32_t line) {
    struct status ignored = {0};
    uint64_t key = checksum64(path.data, path.length), *known = map_find(&files->by_name, key);
    size_t number = known ? *known : 0;
    if (!known && files->count < FILES_MAX) {
        struct source_file *file = open_file(path, &ignored);
        if (file && GROW(files->files, &files->capacity, files->count + 1, &ignored)) {
            files->files[files->count++] = file;
            number = files->count;
        } else {
            close_file(file);
        }
        map_set(&files->by_name, key, number, &ignored);
    }
    struct source_file *file = number ? files->files[number - 1] : NULL;
    return file && line > 0 && line <= file->line_count ? file : NULL;
}

static bool is_comment(const struct source_file *file, size_t at) {
    if (!file->has_braces)
        return file->bytes[at] == '#';
    return file->bytes[at] == '/' && at + 1 < file->length &&
           (file->bytes[at + 1] == '/' || file->bytes[at + 1] == '*');
}

/* Behind the string or character at `at`, which must not hide a comment. */
static size_t behind_token(const struct source_file *file, size_t at, size_t end) {
    if (file->has_braces) {
        size_t next = brace_blocks_skip(file, at);
        return next == at ? at + 1 : next < end ? next : end;
    }
    bool is_string = file->bytes[at] == '\'' || file->bytes[at] == '"';
    return is_string ? skip_string(file->bytes, at, end) : at + 1;
}

static struct text text_of_line(const struct source_file *file, uint32_t line) {
    size_t at = file->starts[line - 1],
           end = line < file->line_count ? file->starts[line] : file->length;
    while (at < end && (file->bytes[at] == ' ' || file->bytes[at] == '\t'))
        at++;
    size_t stop = at;
    while (stop < end && file->bytes[stop] != '\n' && file->bytes[stop] != '\r' &&
           !is_comment(file, stop))
        stop = behind_token(file, stop, end);
    while (stop > at && (file->bytes[stop - 1] == ' ' || file->bytes[stop - 1] == '\n'))
        stop--;
    if (stop - at > TEXT_MAX)
        for (stop = at + TEXT_MAX; stop > at && ((unsigned char)file->bytes[stop] & 0xC0) == 0x80;)
            stop--;
    return (struct text){file->bytes + at, stop - at};
}

struct text source_files_line(struct source_files *files, struct text path, uint32_t line) {
    const struct source_file *file = find_file(files, path, line);
    return file ? text_of_line(file, line) : TEXT("");
}

uint32_t source_files_statement(struct source_files *files, struct text path, uint32_t line) {
    const struct source_file *file = find_file(files, path, line);
    return file ? file->first[line - 1] : 0;
}

struct text source_files_loops(struct source_files *files, struct text path, uint32_t line) {
    struct source_file *file = find_file(files, path, line);
    uint32_t chain[BLOCKS_MAX];
    unsigned count = 0;
    if (!file || !file->loop[line - 1])
        return TEXT("");
    for (uint32_t loop = file->loop[line - 1]; loop && count < BLOCKS_MAX;
         loop = file->loops[loop - 1].around)
        chain[count++] = loop;
    buffer_clear(&file->chain);
    while (count > 0) {
        uint32_t header = file->loops[chain[--count] - 1].line;
        struct text text = text_of_line(file, header);
        buffer_printf(&file->chain, "%s%u %.*s", file->chain.length ? "\n" : "", header,
                      TEXT_ARGS(text));
    }
    return buffer_as_text(&file->chain);
}

void source_files_finish(struct source_files *files) {
    for (size_t i = 0; i < files->count; i++)
        close_file(files->files[i]);
    memory_free(files->files);
    map_finish(&files->by_name);
    *files = (struct source_files){0};
}
