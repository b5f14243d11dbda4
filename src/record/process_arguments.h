/* The command line of a process on macOS, as sysctl KERN_PROCARGS2 returns it. */
#ifndef RIDGE_RECORD_PROCESS_ARGUMENTS_H
#define RIDGE_RECORD_PROCESS_ARGUMENTS_H

#include <stddef.h>

/* Copies the words, each zero-terminated, as far as they fit. Returns their length without the last
 * zero; 0 when `content` is not complete. */
size_t process_arguments_parse(const char *content, size_t size, char *words, size_t capacity);

#endif
