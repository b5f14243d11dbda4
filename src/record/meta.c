/* The command is written as a shell would take it back. */
#include "record/meta.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ridge.h>

#include "base/process.h"
#include "record/path_template.h"

extern char **environ;

static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:=,@%";
    return *word && word[strspn(word, plain)] == 0;
}

static void add_word(struct buffer *command, const char *word) {
    if (is_plain(word)) {
        buffer_string(command, word);
        return;
    }
    buffer_byte(command, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buffer_string(command, "'\\''");
        else
            buffer_byte(command, *word);
    buffer_byte(command, '\'');
}

static void write_command(struct trace_writer *writer, char *const *words) {
    struct buffer command = {0};
    for (char *const *word = words; *word; word++) {
        if (word != words)
            buffer_byte(&command, ' ');
        add_word(&command, *word);
    }
    trace_writer_meta(writer, META_COMMAND, buffer_as_text(&command));
    buffer_finish(&command);
}

void meta_write(struct trace_writer *writer, const struct record_options *options) {
    char host[PROCESS_NAME_SIZE], tool[64];
    const char *rank = patterns_rank(), *world = patterns_world();
    process_host(host);
    snprintf(tool, sizeof tool, "ridge %s", RIDGE_VERSION);
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("ridge"));
    trace_writer_meta(writer, META_SOURCE_TOOL, text_of(tool));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta_integer(writer, META_CLOCK_OFFSET, process_clock_offset());
    trace_writer_meta(writer, META_HOST, text_of(host));
    write_command(writer, options->command);
    if (rank)
        trace_writer_meta(writer, META_RANK, text_of(rank));
    if (world)
        trace_writer_meta(writer, META_WORLD_SIZE, text_of(world));
}

static void write_variable(struct trace_writer *writer, struct text name, const char *value) {
    char key[256];
    snprintf(key, sizeof key, "environment.%.*s", TEXT_ARGS(name));
    trace_writer_meta(writer, key, text_of(value));
}

void meta_write_environment(struct trace_writer *writer, const struct environment *environment) {
    for (char **variable = environ; *variable; variable++) {
        size_t length = strcspn(*variable, "=");
        bool replaced = false;
        for (size_t i = 0; i < environment->count; i++)
            replaced |= text_is((struct text){*variable, length}, environment->variables[i].name);
        if (!replaced && (*variable)[length])
            write_variable(writer, (struct text){*variable, length}, *variable + length + 1);
    }
    for (size_t i = 0; i < environment->count; i++)
        write_variable(writer, text_of(environment->variables[i].name),
                       environment->variables[i].value);
}
