/* Chrome traces as JSON trees: events, members and categories removed, repeated and changed. */
#include <inttypes.h>

#include "ablated.h"
#include "base/json_write.h"
#include "consume.h"
#include "json_check.h"
#include "targets.h"
#include "tree.h"

enum { DEPTH_MAX = 32, FILE_MAX = 60000 };

static char peek(struct text text, size_t *at) {
    while (*at < text.length && strchr(" \t\r\n,:", text.data[*at]))
        ++*at;
    return *at < text.length ? text.data[*at] : 0;
}

/* A string or other scalar, verbatim. */
static struct text take_scalar(struct text text, size_t *at) {
    struct text rest = {text.data + *at, text.length - *at};
    size_t length = json_value_length(rest);
    if (length == 0)
        fuzz_broken("a seed is not JSON");
    *at += length;
    return (struct text){rest.data, length};
}

static void parse(struct tree *tree, struct text text) {
    uint32_t open[DEPTH_MAX] = {TREE_NONE};
    unsigned depth = 0;
    for (size_t at = 0; peek(text, &at);) {
        char byte = peek(text, &at);
        uint32_t parent = open[depth];
        struct tree_node node = {.kind = 's'};
        if (byte == '}' || byte == ']') {
            at++;
            depth--;
            continue;
        }
        if (parent != TREE_NONE && tree->nodes[parent].kind == '{') {
            node.name = take_scalar(text, &at);
            byte = peek(text, &at);
        }
        if (byte != '{' && byte != '[') {
            node.value = take_scalar(text, &at);
            tree_add(tree, parent, node);
            continue;
        }
        node.kind = byte;
        at++;
        if (++depth == DEPTH_MAX)
            fuzz_broken("a seed is nested too deeply");
        open[depth] = tree_add(tree, parent, node);
    }
}

static void print_start(const struct tree_node *node, struct buffer *out) {
    if (node->name.length) {
        buffer_text(out, node->name);
        buffer_byte(out, ':');
    }
    if (node->kind == 's')
        buffer_text(out, node->value.length ? node->value : TEXT("0"));
    else
        buffer_byte(out, node->kind);
}

/* Recursion is bounded by the depth of the seeds. */
static void print(const struct tree *tree, uint32_t index, struct buffer *out) {
    const struct tree_node *node = &tree->nodes[index];
    bool written = false;
    print_start(node, out);
    if (node->kind == 's')
        return;
    for (uint32_t child = node->first; child != TREE_NONE; child = tree->nodes[child].next)
        for (unsigned i = 0; i < tree->nodes[child].copies; i++) {
            if (written)
                buffer_byte(out, ',');
            written = true;
            print(tree, child, out);
        }
    buffer_byte(out, node->kind == '{' ? '}' : ']');
}

static struct text json_value(struct decisions *decisions) {
    static struct buffer value;
    static const char *const others[] = {"null",     "true",  "{}",    "[]",     "1e400",
                                         "-1e-400",  "0.001", "-0",    "\"12\"", "1234567.891",
                                         "\"0x10\"", "1e18",  "-1e18", "\"\""};
    struct output output = output_into(&value);
    struct json json = {.output = &output};
    struct text text;
    buffer_clear(&value);
    switch (decide(decisions, 4)) {
    case 0:
        buffer_printf(&value, "%" PRId64, (int64_t)decide_value(decisions));
        break;
    case 1:
        text.data = decide_text(decisions, &text.length);
        json_text(&json, text);
        break;
    case 2:
        buffer_printf(&value, "%u", (unsigned)decide(decisions, 20));
        break;
    default:
        buffer_string(&value, others[decide(decisions, sizeof others / sizeof others[0])]);
    }
    return buffer_as_text(&value);
}

int fuzz_ablated_kineto(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    struct tree tree = {0};
    struct buffer out = {0};
    if (files.count == 0) {
        base_add_folder(&files, "fuzz/seeds/kineto", ".json", FILE_MAX);
        base_add(&files, ablated_export("chrome"));
        base_add_folder(&files, "fixtures", ".json.gz", FILE_MAX);
        base_add_folder(&files, "corpus/traces", ".json.gz", FILE_MAX);
        base_add_folder(&files, "fixtures/kineto", ".json", FILE_MAX);
        base_add_folder(&files, "fixtures/kineto", ".json.gz", FILE_MAX);
    }
    parse(&tree, ablated_choose(&files, &decisions));
    for (size_t i = decide(&decisions, ABLATED_EDITS_MAX); i > 0; i--)
        tree_edit(&tree, &decisions, json_value);
    print(&tree, 0, &out);
    const char *path = ablated_path("trace.json");
    ablated_write(path, buffer_as_text(&out));
    decisions = (struct decisions){data, data + size};
    ablated_import(path, &decisions);
    buffer_finish(&out);
    tree_finish(&tree);
    return 0;
}
