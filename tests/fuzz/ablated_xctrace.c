/* Instruments tables as XML trees: rows, cells and attributes removed, repeated and changed. */
#include <inttypes.h>

#include "ablated.h"
#include "consume.h"
#include "targets.h"
#include "tree.h"

enum { DEPTH_MAX = 32, FILE_MAX = 60000 };

static size_t find(struct text text, size_t at, char byte) {
    const char *hit = memchr(text.data + at, byte, text.length - at);
    return hit ? (size_t)(hit - text.data) : text.length;
}

/* One tag, from behind its '<' to its '>'. */
static struct tree_node read_tag(struct text tag) {
    size_t name = 0;
    while (name < tag.length && !strchr(" \t\r\n/", tag.data[name]))
        name++;
    bool alone = tag.length && tag.data[tag.length - 1] == '/';
    return (struct tree_node){
        .kind = alone ? '/' : 'e',
        .name = {tag.data, name},
        .attributes = {tag.data + name, tag.length - name - alone},
    };
}

static void parse(struct tree *tree, struct text text) {
    uint32_t open[DEPTH_MAX] = {tree_add(tree, TREE_NONE, (struct tree_node){.kind = 'r'})};
    unsigned depth = 0;
    for (size_t at = find(text, 0, '<'); at < text.length; at = find(text, at, '<')) {
        size_t end = find(text, at, '>');
        struct text tag = {text.data + at + 1, end - at - 1};
        at = end;
        if (tag.length == 0 || tag.data[0] == '?' || tag.data[0] == '!')
            continue;
        if (tag.data[0] == '/') {
            depth -= depth > 0;
            continue;
        }
        struct tree_node node = read_tag(tag);
        size_t next = find(text, at, '<');
        if (node.kind == 'e' && next > at + 1)
            node.value = (struct text){text.data + at + 1, next - at - 1};
        uint32_t index = tree_add(tree, open[depth], node);
        if (node.kind == '/')
            continue;
        if (++depth == DEPTH_MAX)
            fuzz_broken("a seed is nested too deeply");
        open[depth] = index;
    }
}

static void print(const struct tree *tree, uint32_t index, struct buffer *out) {
    const struct tree_node *node = &tree->nodes[index];
    if (node->kind != 'r')
        buffer_printf(out, "<%.*s%.*s>%.*s", TEXT_ARGS(node->name), TEXT_ARGS(node->attributes),
                      TEXT_ARGS(node->value));
    for (uint32_t child = node->first; child != TREE_NONE; child = tree->nodes[child].next)
        for (unsigned i = 0; i < tree->nodes[child].copies; i++)
            print(tree, child, out);
    if (node->kind != 'r')
        buffer_printf(out, "</%.*s>", TEXT_ARGS(node->name));
}

static struct text xml_value(struct decisions *decisions) {
    static struct buffer value;
    struct text text;
    buffer_clear(&value);
    switch (decide(decisions, 3)) {
    case 0:
        buffer_printf(&value, "%" PRId64, (int64_t)decide_value(decisions));
        break;
    case 1:
        text.data = decide_text(decisions, &text.length);
        if (text_utf8_valid(text) < text.length)
            text.length = 0;
        for (size_t i = 0; i < text.length; i++)
            if ((unsigned char)text.data[i] >= 0x20)
                buffer_printf(&value, strchr("<>&", text.data[i]) ? "&#%d;" : "%c", text.data[i]);
        break;
    default:
        buffer_printf(&value, "%u", (unsigned)decide(decisions, 200));
    }
    return buffer_as_text(&value);
}

int fuzz_ablated_xctrace(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    struct tree tree = {0};
    struct buffer out = {0};
    if (files.count == 0) {
        base_add_folder(&files, "fuzz/seeds/xctrace", ".xml", FILE_MAX);
        base_add_folder(&files, "fixtures/xctrace", ".xml", FILE_MAX);
    }
    parse(&tree, ablated_choose(&files, &decisions));
    for (size_t i = decide(&decisions, ABLATED_EDITS_MAX); i > 0; i--)
        tree_edit(&tree, &decisions, xml_value);
    buffer_string(&out, "<?xml version=\"1.0\"?>\n");
    print(&tree, 0, &out);
    const char *path = ablated_path("trace.xml");
    ablated_write(path, buffer_as_text(&out));
    decisions = (struct decisions){data, data + size};
    ablated_import(path, &decisions);
    buffer_finish(&out);
    tree_finish(&tree);
    return 0;
}
