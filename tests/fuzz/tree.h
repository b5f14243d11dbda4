/* A document of named values (JSON, XML) as a tree that decisions edit. The edits keep it
 * well-formed: they remove, repeat, exchange and replace whole nodes. */
#ifndef RIDGE_TESTS_FUZZ_TREE_H
#define RIDGE_TESTS_FUZZ_TREE_H

#include "base/text.h"
#include "decisions.h"

enum { TREE_NONE = UINT32_MAX };

struct tree_node {
    char kind;              /* the parser's own */
    struct text name;       /* a member's key, an element's name; empty in an array */
    struct text attributes; /* of an element, as they stand in the document */
    struct text value;      /* of a node without children, as it stands in the document */
    uint32_t parent, first, last, next;
    unsigned copies; /* 0: removed */
};

struct tree {
    struct tree_node *nodes; /* 0 is the root; parents come before children */
    size_t count, capacity;
};

/* The index of a node added as the last child of `parent`. */
uint32_t tree_add(struct tree *tree, uint32_t parent, struct tree_node node);
void tree_finish(struct tree *tree);

/* A replacement for a node's value, as it stands in a document. It lives until the next call. */
typedef struct text tree_value(struct decisions *decisions);
/* Makes one edit. */
void tree_edit(struct tree *tree, struct decisions *decisions, tree_value *value);

#endif
