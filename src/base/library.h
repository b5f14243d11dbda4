/* Shared libraries that may or may not be on this machine. */
#ifndef RIDGE_BASE_LIBRARY_H
#define RIDGE_BASE_LIBRARY_H

#include <stddef.h>

/* Opens the first of the names (NULL ends the list) that there is; NULL when there is none. When
 * memory is short it returns NULL and errno is ENOMEM. */
void *library_open(const char *const *names);
/* The first of the names that this process has loaded already; NULL when it has none of them. */
void *library_loaded(const char *const *names);
/* The symbol's address, or NULL; also when the library is NULL. */
void *library_symbol(void *library, const char *symbol);
/* The file that has this code or data, or "". It lives as long as the library is loaded. */
const char *library_path(const void *address);

/* Fills a table of function pointers: each symbol's address goes to its member. A row without a
 * name ends the list. NULL, or the name of the first symbol that is not there. */
struct library_symbol {
    const char *name;
    size_t member; /* offset in the table */
};
const char *library_fill(void *library, const struct library_symbol *symbols, void *table);

#endif
