#include "tree.h"

#include <stdlib.h>

#include "consume.h"

uint32_t tree_add(struct tree *tree, uint32_t parent, struct tree_node node) {
    if (tree->count == tree->capacity) {
        tree->capacity = tree->capacity ? 2 * tree->capacity : 1024;
        tree->nodes = realloc(tree->nodes, tree->capacity * sizeof *tree->nodes);
        if (!tree->nodes)
            fuzz_broken("out of memory");
    }
    uint32_t index = (uint32_t)tree->count++;
    node.parent = parent;
    node.first = node.last = node.next = TREE_NONE;
    node.copies = 1;
    tree->nodes[index] = node;
    if (parent != TREE_NONE) {
        struct tree_node *above = &tree->nodes[parent];
        if (above->first == TREE_NONE)
            above->first = index;
        else
            tree->nodes[above->last].next = index;
        above->last = index;
    }
    return index;
}

void tree_finish(struct tree *tree) {
    free(tree->nodes);
    *tree = (struct tree){0};
}

/* Values that edits make live as long as the tree is edited: a ring of copies. */
static struct text keep(struct text text) {
    enum { KEPT = 64 };
    static struct buffer kept[KEPT];
    static unsigned next;
    struct buffer *buffer = &kept[next++ % KEPT];
    buffer_clear(buffer);
    buffer_text(buffer, text);
    return buffer_as_text(buffer);
}

static bool is_leaf(const struct tree_node *node) {
    return node->first == TREE_NONE;
}

/* A leaf at or after a random place. */
static struct tree_node *choose_leaf(struct tree *tree, struct decisions *decisions) {
    size_t start = decide(decisions, tree->count);
    for (size_t i = 0; i < tree->count; i++) {
        struct tree_node *node = &tree->nodes[(start + i) % tree->count];
        if (is_leaf(node) && node->parent != TREE_NONE)
            return node;
    }
    return NULL;
}

static struct tree_node *choose_node(struct tree *tree, struct decisions *decisions) {
    return tree->count > 1 ? &tree->nodes[1 + decide(decisions, tree->count - 1)] : NULL;
}

/* All events of one category, all rows of one process. */
static void remove_alike(struct tree *tree, const struct tree_node *leaf) {
    struct text name = leaf->name, value = leaf->value;
    for (size_t i = 0; i < tree->count; i++) {
        struct tree_node *node = &tree->nodes[i];
        if (is_leaf(node) && text_equal(node->name, name) && text_equal(node->value, value) &&
            node->parent != TREE_NONE && node->parent != 0)
            tree->nodes[node->parent].copies = 0;
    }
}

static void remove_named(struct tree *tree, struct text name) {
    for (size_t i = 1; i < tree->count && name.length; i++)
        if (text_equal(tree->nodes[i].name, name))
            tree->nodes[i].copies = 0;
}

static void set_named(struct tree *tree, struct text name, struct text value) {
    for (size_t i = 1; i < tree->count; i++)
        if (is_leaf(&tree->nodes[i]) && text_equal(tree->nodes[i].name, name))
            tree->nodes[i].value = value;
}

static void edit_leaf(struct tree *tree, struct decisions *decisions, tree_value *value) {
    struct tree_node *leaf = choose_leaf(tree, decisions);
    struct tree_node *other = choose_leaf(tree, decisions);
    if (!leaf)
        return;
    switch (decide(decisions, 6)) {
    case 0:
        remove_alike(tree, leaf);
        break;
    case 1:
        remove_named(tree, leaf->name);
        break;
    case 2:
        set_named(tree, leaf->name, keep(value(decisions)));
        break;
    case 3:
        leaf->value = other->value;
        break;
    default:
        leaf->value = keep(value(decisions));
    }
}

static void edit_node(struct tree *tree, struct decisions *decisions) {
    struct tree_node *node = choose_node(tree, decisions);
    struct tree_node *other = choose_node(tree, decisions);
    if (!node)
        return;
    switch (decide(decisions, 6)) {
    case 0:
        node->copies = (unsigned)decide(decisions, 20);
        break;
    case 1:
        node->attributes = other->attributes;
        break;
    case 2:
        if (other->name.length && node->name.length)
            node->name = other->name;
        break;
    default:
        node->copies = 0;
    }
}

void tree_edit(struct tree *tree, struct decisions *decisions, tree_value *value) {
    if (decide(decisions, 8) < 5)
        edit_leaf(tree, decisions, value);
    else
        edit_node(tree, decisions);
}
