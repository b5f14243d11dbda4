/* Optional shared libraries. */
#ifndef RIDGE_BASE_LIBRARY_H
#define RIDGE_BASE_LIBRARY_H

#include <stddef.h>

/* Opens the first library of a NULL-terminated list that exists; else NULL. When out of memory it
 * returns NULL and errno is ENOMEM. */
void *library_open(const char *const *names);
/* The first library of the list that this process has already loaded; else NULL. */
void *library_loaded(const char *const *names);
/* The symbol's address, or NULL, also if the library is NULL. */
void *library_symbol(void *library, const char *symbol);
/* The file that contains this code or data, or "". Valid while the library is loaded. */
const char *library_path(const void *address);

/* Fills a table of function pointers: each symbol's address is stored in its member. An entry
 * without a name ends the list. Returns NULL, or the name of the first missing symbol. */
struct library_symbol {
    const char *name;
    size_t member; /* offset in the table */
};
const char *library_fill(void *library, const struct library_symbol *symbols, void *table);

#endif
