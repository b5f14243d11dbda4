/* What did the user ask a command to do? Parses GNU-style options against the command's own table:
 * long (--name VALUE, --name=VALUE; --name and --name=VALUE where it is optional), short (-o VALUE,
 * -oVALUE), clustered flags (-fq), and "--". A word such as -5 is a value or an argument, never an
 * option. Choices ("text|json") are checked here, so that a command sees only values that its table
 * allows. */
#include "base/min_max.h"
#include "cmd/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { NAMES_MAX = 64 };

const struct command *command_find(const struct command *const *table, const char *name) {
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

/* Insertions, deletions and changes of one letter that turn a into b. */
static unsigned edits_between(const char *a, const char *b) {
    enum { LONGEST = 40 };
    size_t a_length = strlen(a), b_length = strlen(b);
    unsigned row[LONGEST + 1];
    if (a_length > LONGEST || b_length > LONGEST)
        return UINT_MAX;
    for (unsigned j = 0; j <= b_length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_length];
}

const char *command_suggest(const char *word, const char *const *names, unsigned count) {
    const char *best = NULL;
    unsigned best_edits = UINT_MAX;
    size_t length = strlen(word);
    for (unsigned i = 0; i < count; i++) {
        unsigned edits = edits_between(word, names[i]);
        if (length >= 2 && strncmp(word, names[i], length) == 0)
            edits = 0;
        if (edits < best_edits) {
            best_edits = edits;
            best = names[i];
        }
    }
    return best_edits <= 1 + length / 4 && best_edits < length ? best : NULL;
}

bool command_is_choice(const char *value) {
    return value && strchr(value, '|') != NULL;
}

bool command_choice_has(const char *choice, const char *word) {
    size_t length = strlen(word);
    while (*choice) {
        size_t part = strcspn(choice, "|");
        if (part == length && memcmp(choice, word, part) == 0)
            return true;
        choice += part + (choice[part] == '|');
    }
    return false;
}

static const struct command_option *find_long(const struct command *command, const char *name,
                                              size_t length) {
    const struct command_option *option = command->options;
    for (; option && option->name; option++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const struct command_option *find_short(const struct command *command, char letter) {
    const struct command_option *option = command->options;
    for (; option && option->name; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static bool unknown_long(const struct command *command, const char *name, size_t length,
                         struct status *status) {
    const char *names[NAMES_MAX] = {"help"};
    unsigned count = 1;
    const struct command_option *option = command->options;
    for (; option && option->name && count < NAMES_MAX; option++)
        names[count++] = option->name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), name);
    const char *meant = command_suggest(word, names, count);
    if (meant)
        return status_fail(status, STATUS_USAGE,
                           "unknown option --%s; did you mean --%s? ('ridge help %s' lists them)",
                           word, meant, command->name);
    return status_fail(status, STATUS_USAGE, "unknown option --%s ('ridge help %s' lists them)",
                       word, command->name);
}

/* A word that cannot be meant as a value: it looks like an option. */
static bool looks_like_option(const char *word) {
    return word[0] == '-' && (isalpha((unsigned char)word[1]) || word[1] == '-');
}

static bool keep(struct command_line *line, const struct command_option *option, const char *value,
                 struct status *status) {
    if (command_is_choice(option->value) && !command_choice_has(option->value, value))
        return status_fail(status, STATUS_USAGE, "--%s must be %s, not '%s' (see 'ridge help %s')",
                           option->name, option->value, value, line->command->name);
    line->given[line->given_count++] = (struct command_given){option, value, line->argument_count};
    return true;
}

/* Takes the option's value from the next word. */
static bool keep_next(struct command_line *line, const struct command_option *option,
                      const char *next, struct status *status) {
    if (!next || looks_like_option(next))
        return status_fail(status, STATUS_USAGE, "--%s needs a value: --%s=%s", option->name,
                           option->name, option->value);
    return keep(line, option, next, status);
}

static bool parse_long(struct command_line *line, const char *word, const char *next,
                       bool *took_next, struct status *status) {
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct command_option *option = find_long(line->command, name, length);
    if (!option && length == 4 && memcmp(name, "help", 4) == 0 && !value) {
        line->wants_help = true;
        return true;
    }
    if (!option)
        return unknown_long(line->command, name, length, status);
    if (!option->value) {
        if (value)
            return status_fail(status, STATUS_USAGE, "--%s takes no value", option->name);
        return keep(line, option, "", status);
    }
    if (value)
        return keep(line, option, value, status);
    if (command_value_is_optional(option))
        return keep(line, option, "", status);
    *took_next = true;
    return keep_next(line, option, next, status);
}

static bool parse_cluster(struct command_line *line, const char *word, const char *next,
                          bool *took_next, struct status *status) {
    for (const char *letter = word + 1; *letter; letter++) {
        const struct command_option *option = find_short(line->command, *letter);
        if (!option && *letter == 'h') {
            line->wants_help = true;
            continue;
        }
        if (!option)
            return status_fail(status, STATUS_USAGE,
                               "unknown option -%c ('ridge help %s' lists them)", *letter,
                               line->command->name);
        if (option->value && letter[1])
            return keep(line, option, letter + 1, status);
        if (option->value) {
            *took_next = true;
            return keep_next(line, option, next, status);
        }
        if (!keep(line, option, "", status))
            return false;
    }
    return true;
}

static bool check_arguments(const struct command_line *line, struct status *status) {
    const struct command *command = line->command;
    if (line->argument_count < command->arguments_min)
        return status_fail(status, STATUS_USAGE, "needs %s: ridge %s %s (see 'ridge help %s')",
                           line->argument_count ? "more arguments" : "an argument", command->name,
                           command->arguments, command->name);
    if (line->argument_count > command->arguments_max)
        return status_fail(status, STATUS_USAGE, "unexpected argument '%s' (see 'ridge help %s')",
                           line->arguments[command->arguments_max], command->name);
    return true;
}

bool command_line_parse(struct command_line *line, const struct command *command, int argc,
                        char **argv, struct status *status) {
    size_t letters = 1;
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]); /* a cluster gives at most one option a letter */
    line->command = command;
    line->arguments = memory_allocate((size_t)argc + 1, sizeof *line->arguments, status);
    line->given = memory_allocate(letters, sizeof *line->given, status);
    if (!line->arguments || !line->given)
        return false;
    bool only_arguments = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool took_next = false, ok = true;
        if (only_arguments || !looks_like_option(word)) {
            line->arguments[line->argument_count++] = word;
            only_arguments |= command->runs_program;
        } else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (word[1] == '-')
            ok = parse_long(line, word, next, &took_next, status);
        else
            ok = parse_cluster(line, word, next, &took_next, status);
        if (!ok)
            return false;
        i += took_next;
    }
    return line->wants_help || check_arguments(line, status);
}

void command_line_finish(struct command_line *line) {
    memory_free(line->arguments);
    memory_free(line->given);
}

const char *const *command_arguments(const struct command_line *line, unsigned *count) {
    if (count)
        *count = line->argument_count;
    return line->arguments;
}

const char *command_value(const struct command_line *line, const char *option) {
    for (unsigned i = line->given_count; i > 0; i--)
        if (strcmp(line->given[i - 1].option->name, option) == 0)
            return line->given[i - 1].value;
    return NULL;
}

const char *command_value_at(const struct command_line *line, const char *option, unsigned nth) {
    for (unsigned i = 0; i < line->given_count; i++)
        if (strcmp(line->given[i].option->name, option) == 0 && nth-- == 0)
            return line->given[i].value;
    return NULL;
}

unsigned command_position(const struct command_line *line, const char *option) {
    for (unsigned i = 0; i < line->given_count; i++)
        if (strcmp(line->given[i].option->name, option) == 0)
            return line->given[i].position;
    return line->argument_count;
}

bool command_pipe_was_ignored(const struct command_line *line) {
    return line->pipe_was_ignored;
}

/* Without allocation: it also reports that memory ran out. */
void command_message(const char *format, ...) {
    enum { LONGEST = 2 * sizeof((struct status *)0)->message };
    char message[LONGEST], shown[3 * LONGEST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", text_printable(text_of(message), shown, sizeof shown));
}

int command_fail(const struct command_line *line, const struct status *status) {
    command_message("ridge %s: %s", line->command->name, status->message);
    return EXIT_ERROR;
}

int command_usage(const struct command_line *line, const char *format, ...) {
    struct status status;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(status.message, sizeof status.message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof status.message)
        snprintf(status.message + length, sizeof status.message - (size_t)length,
                 " (see 'ridge help %s')", line->command->name);
    return command_fail(line, &status);
}

const char *command_format(const struct command_line *line, const struct format_suffix *suffixes) {
    const char *given = command_value(line, "format"), *path = command_value(line, "output");
    size_t length = path ? strlen(path) : 0;
    for (; !given && suffixes->suffix; suffixes++) {
        size_t suffix = strlen(suffixes->suffix);
        if (length > suffix && strcmp(path + length - suffix, suffixes->suffix) == 0)
            given = suffixes->format;
    }
    return given;
}

bool command_count(const struct command_line *line, const char *option, unsigned *value,
                   struct status *status) {
    const char *given = command_value(line, option);
    uint64_t count;
    if (!given)
        return true;
    if (!text_to_u64(text_of(given), &count) || count == 0 || count > UINT_MAX)
        return status_fail(status, STATUS_USAGE, "--%s is a count (1, 2, ...), not '%s'", option,
                           given);
    *value = (unsigned)count;
    return true;
}
