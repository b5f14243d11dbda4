/* The views kernel, copy, launch and line, which shorten common queries. */
#ifndef RIDGE_QUERY_VIEWS_H
#define RIDGE_QUERY_VIEWS_H

struct view_column {
    const char *name, *expression;
    const char *type;    /* as `.schema` prints it */
    const char *meaning; /* one line */
};

struct view_info {
    const char *name, *meaning;
    const char *from; /* what follows FROM */
    unsigned column_count;
    const struct view_column *columns;
};

enum { VIEW_COUNT = 4 };
extern const struct view_info query_views[VIEW_COUNT];

#endif
