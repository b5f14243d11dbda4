/* Shared libraries that may or may not be on this machine. */
#ifndef RIDGE_BASE_LIBRARY_H
#define RIDGE_BASE_LIBRARY_H

/* Opens the first of the names (NULL ends the list) that there is; NULL when there is none. */
void *library_open(const char *const *names);
/* The symbol's address, or NULL; also when the library is NULL. */
void *library_symbol(void *library, const char *symbol);

#endif
