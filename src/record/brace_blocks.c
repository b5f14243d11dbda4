/* Loops and statements of C, C++, CUDA and Rust, from words, brackets and semicolons alone.
 * Preprocessor lines are skipped, so a loop whose braces come from a macro is not seen.
 *
 * A bracket opens a level, and so does a loop whose body is a single statement.
 */
#include <string.h>

#include "base/array.h"
#include "record/source_blocks.h"

enum { LEVELS_MAX = 200, RAW_DELIMITER_MAX = 16 };

bool brace_blocks_is_language(struct text path) {
    static const char *const endings[] = {".c",   ".h",   ".cc", ".cpp", ".cxx", ".hpp", ".hh",
                                          ".hxx", ".inl", ".cu", ".cuh", ".rs",  ".C",   ".c++"};
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        size_t length = strlen(endings[i]);
        if (path.length > length &&
            memcmp(path.data + path.length - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

/* ---- Comments and literals ----------------------------------------------------------------- */

static bool is_at(const struct source_file *file, size_t at, const char *text) {
    size_t length = strlen(text);
    return file->length - at >= length && memcmp(file->bytes + at, text, length) == 0;
}

static size_t find_from(const struct source_file *file, size_t at, const char *text) {
    while (at < file->length && !is_at(file, at, text))
        at++;
    return at < file->length ? at + strlen(text) : file->length;
}

static size_t skip_quoted(const struct source_file *file, size_t at) {
    char quote = file->bytes[at++];
    while (at < file->length && file->bytes[at] != quote)
        at += file->bytes[at] == '\\' ? 2 : 1;
    return at < file->length ? at + 1 : file->length;
}

/* R"x(...)x" of C++ and r#"..."# of Rust. */
static size_t skip_raw(const struct source_file *file, size_t at) {
    char end[RAW_DELIMITER_MAX + 3];
    size_t length = 0, next = at + 1;
    bool of_rust = file->bytes[at] == 'r';
    while (next < file->length && length < RAW_DELIMITER_MAX && file->bytes[next] == '#')
        end[length++] = file->bytes[next++];
    if (next >= file->length || file->bytes[next] != '"' || (length > 0 && !of_rust))
        return at;
    next++;
    if (of_rust) {
        memmove(end + 1, end, length);
        end[0] = '"';
        end[length + 1] = 0;
        return find_from(file, next, end);
    }
    end[length++] = ')';
    while (next < file->length && length < RAW_DELIMITER_MAX && file->bytes[next] != '(')
        end[length++] = file->bytes[next++];
    end[length++] = '"';
    end[length] = 0;
    return find_from(file, next, end);
}

/* 'x' and '\n', but not the lifetime 'a of Rust nor the separator in 1'000. */
static bool is_character(const struct source_file *file, size_t at) {
    if (at > 0 && source_blocks_is_word(file->bytes[at - 1]) && file->bytes[at - 1] != 'L' &&
        file->bytes[at - 1] != 'u' && file->bytes[at - 1] != 'U' && file->bytes[at - 1] != 'b')
        return false;
    return is_at(file, at, "'\\") || (file->length - at > 2 && file->bytes[at + 2] == '\'') ||
           (file->length - at > 1 && (unsigned char)file->bytes[at + 1] >= 128);
}

static size_t line_end(const struct source_file *file, size_t at, bool continues) {
    while (at < file->length && file->bytes[at] != '\n')
        at += continues && file->bytes[at] == '\\' ? 2 : 1;
    return at < file->length ? at : file->length;
}

size_t brace_blocks_skip(const struct source_file *file, size_t at) {
    char c = file->bytes[at];
    bool in_word = at > 0 && source_blocks_is_word(file->bytes[at - 1]);
    if (is_at(file, at, "//"))
        return line_end(file, at, false);
    if (is_at(file, at, "/*"))
        return find_from(file, at + 2, "*/");
    if (c == '"' || (c == '\'' && is_character(file, at)))
        return skip_quoted(file, at);
    if ((c == 'R' || c == 'r') && !in_word)
        return skip_raw(file, at);
    return at;
}

/* ---- Levels -------------------------------------------------------------------------------- */

struct level {
    char bracket;  /* '(', '[', '{'; 0: the body of a loop without braces */
    uint32_t loop; /* innermost loop inside it */
    bool ends_do;  /* the body of a do loop: a `while` follows */
};

struct parser {
    struct source_file *file;
    struct status *status;
    bool is_rust, failed;
    size_t at, line, statement; /* statement: its first line */
    bool begins;                /* the next token begins a statement */
    struct level levels[LEVELS_MAX];
    unsigned depth;
    uint32_t pending;        /* loop whose header was begun; its body has not */
    unsigned header_depth;   /* level of its keyword */
    bool pending_do, header; /* header: its parentheses are still to come */
    bool was_do;             /* the last token ended the body of a do loop */
};

static uint32_t loop_of(const struct parser *parser) {
    return parser->pending ? parser->pending
                           : (parser->depth ? parser->levels[parser->depth - 1].loop : 0);
}

static unsigned nesting(const struct source_file *file, uint32_t loop) {
    unsigned count = 0;
    for (; loop; loop = file->loops[loop - 1].around)
        count++;
    return count;
}

/* A line belongs to the innermost loop of its tokens and to the statement of its first. */
static void mark_line(struct parser *parser) {
    struct source_file *file = parser->file;
    uint32_t loop = loop_of(parser);
    if (loop != file->loop[parser->line] &&
        nesting(file, loop) > nesting(file, file->loop[parser->line]))
        file->loop[parser->line] = loop;
    if (!file->first[parser->line])
        file->first[parser->line] = (uint32_t)parser->statement + 1;
}

static void push(struct parser *parser, struct level level) {
    if (parser->depth < LEVELS_MAX)
        parser->levels[parser->depth++] = level;
    else
        parser->failed = true;
}

static bool next_is(const struct parser *parser, const char *word) {
    size_t at = parser->at;
    while (at < parser->file->length) {
        size_t next = brace_blocks_skip(parser->file, at);
        if (next == at && !strchr(" \t\r\n", parser->file->bytes[at]))
            return text_is(source_blocks_word(parser->file, at), word);
        at = next == at ? at + 1 : next;
    }
    return false;
}

/* The end of a statement also ends the loops whose body it is. */
static void end_statement(struct parser *parser) {
    parser->begins = true;
    while (parser->depth && parser->levels[parser->depth - 1].bracket == 0 &&
           !next_is(parser, "else"))
        parser->depth--;
}

static void begin_loop(struct parser *parser, bool is_do) {
    uint32_t around = loop_of(parser);
    parser->failed |= !source_blocks_add_loop(parser->file, parser->line, around, &parser->pending,
                                              parser->status);
    parser->header_depth = parser->depth;
    parser->pending_do = is_do;
    parser->header = !is_do && !parser->is_rust;
}

/* The loop's body begins. */
static void begin_body(struct parser *parser, char bracket) {
    push(parser, (struct level){bracket, parser->pending, parser->pending_do});
    parser->pending = 0;
    parser->begins = true;
}

static bool body_is_due(const struct parser *parser) {
    return parser->pending && !parser->header && !parser->is_rust &&
           parser->depth == parser->header_depth;
}

static void read_word(struct parser *parser) {
    struct text word = source_blocks_word(parser->file, parser->at);
    bool begins = parser->begins, was_do = parser->was_do;
    parser->at += word.length;
    parser->begins = false;
    parser->was_do = false;
    if (!begins || (was_do && text_is(word, "while")))
        return;
    bool is_do = text_is(word, "do") && !parser->is_rust;
    if (text_is(word, "for") || text_is(word, "while") || is_do ||
        (parser->is_rust && text_is(word, "loop")))
        begin_loop(parser, is_do);
    else if (text_is(word, "else"))
        parser->begins = true;
}

static void open_bracket(struct parser *parser, char c) {
    bool is_body =
        c == '{' && parser->pending && !parser->header && parser->depth == parser->header_depth;
    parser->at++;
    if (is_body)
        begin_body(parser, c);
    else
        push(parser, (struct level){c, loop_of(parser), false});
    parser->begins = c == '{';
}

static void close_bracket(struct parser *parser, char c) {
    char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    unsigned depth = parser->depth;
    parser->at++;
    while (depth > 0 && parser->levels[depth - 1].bracket != open)
        depth--;
    if (depth == 0)
        return;
    parser->was_do = parser->levels[depth - 1].ends_do;
    parser->depth = depth - 1;
    if (c == '}' && !parser->was_do)
        end_statement(parser);
    parser->begins |= parser->was_do;
    if (c == ')' && parser->pending && parser->depth == parser->header_depth)
        parser->header = false;
    else if (c == ')') /* of a condition, as in if (x) for (...) */
        parser->begins =
            next_is(parser, "for") || next_is(parser, "while") || next_is(parser, "do");
}

static void read_token(struct parser *parser) {
    char c = parser->file->bytes[parser->at];
    if (body_is_due(parser) && c != '{')
        begin_body(parser, 0);
    if (parser->begins)
        parser->statement = parser->line;
    if (source_blocks_is_word(c)) {
        size_t line = parser->line;
        read_word(parser);
        parser->line = line;
    } else if (c == '(' || c == '[' || c == '{') {
        mark_line(parser);
        open_bracket(parser, c);
    } else if (c == ')' || c == ']' || c == '}') {
        mark_line(parser);
        close_bracket(parser, c);
    } else {
        parser->at++;
        bool label = c == ':' && !parser->is_rust;
        if (c == ';' && !(parser->pending && parser->depth > parser->header_depth)) {
            mark_line(parser);
            end_statement(parser);
        } else if (c != '\'' && !label) {
            parser->begins = parser->is_rust && c == ':' ? true : false;
        }
    }
    mark_line(parser);
}

static void advance_line(struct parser *parser) {
    while (parser->line + 1 < parser->file->line_count &&
           parser->file->starts[parser->line + 1] <= parser->at)
        parser->line++;
}

static bool is_directive(const struct parser *parser) {
    const struct source_file *file = parser->file;
    size_t at = file->starts[parser->line];
    while (at < parser->at && (file->bytes[at] == ' ' || file->bytes[at] == '\t'))
        at++;
    return at == parser->at && !parser->is_rust;
}

bool brace_blocks_find(struct source_file *file, struct text path, struct status *status) {
    struct parser parser = {.file = file, .status = status, .begins = true};
    parser.is_rust = path.length > 3 && memcmp(path.data + path.length - 3, ".rs", 3) == 0;
    while (parser.at < file->length && !parser.failed) {
        advance_line(&parser);
        char c = file->bytes[parser.at];
        size_t next = brace_blocks_skip(file, parser.at);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f')
            parser.at++;
        else if (c == '#' && is_directive(&parser))
            parser.at = line_end(file, parser.at, true);
        else if (next > parser.at)
            parser.at = next;
        else
            read_token(&parser);
    }
    for (size_t i = 0; i < file->line_count; i++)
        if (!file->first[i])
            file->first[i] = (uint32_t)i + 1;
    return !parser.failed || parser.depth == LEVELS_MAX;
}
