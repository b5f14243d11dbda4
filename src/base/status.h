/* How every function in ridge fails.
 *
 * A function that can fail returns bool and takes a `struct status *` last. On failure it fills the
 * status and returns false; the caller either handles it or adds what it knew with status_context()
 * and passes it up. Nothing is allocated, so running out of memory can be reported too. Only
 * src/cmd/ prints a status.
 */
#ifndef RIDGE_BASE_STATUS_H
#define RIDGE_BASE_STATUS_H

#include <stdbool.h>

enum status_code {
    STATUS_OK,
    STATUS_USAGE,       /* the caller asked for something that makes no sense */
    STATUS_INPUT,       /* a file's content is damaged or not what it claims to be */
    STATUS_UNSUPPORTED, /* recognised, but this build or machine cannot do it */
    STATUS_IO,          /* the operating system refused: message holds its reason */
    STATUS_MEMORY,      /* out of memory */
};

struct status {
    enum status_code code;
    char message[1000];
};

/* Records a failure and returns false, so that `return status_fail(...)` reads well. */
bool status_fail(struct status *status, enum status_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As status_fail(STATUS_IO), with ": " and the text of errno appended. */
bool status_fail_errno(struct status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The standard out-of-memory failure. */
bool status_no_memory(struct status *status);

/* Puts "context: " in front of the message of a failed status; returns false. */
bool status_context(struct status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
