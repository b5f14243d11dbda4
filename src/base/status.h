/* How functions fail in ridge.
 *
 * A function that can fail returns bool and takes a `struct status *` last. On failure it fills the
 * status and returns false; the caller either handles it or adds context with status_context() and
 * returns it. Nothing is allocated, so running out of memory can be reported too. Only src/cmd/
 * prints a status.
 */
#ifndef RIDGE_BASE_STATUS_H
#define RIDGE_BASE_STATUS_H

#include <stdbool.h>

enum status_code {
    STATUS_OK,
    STATUS_USAGE,       /* invalid request by the caller */
    STATUS_INPUT,       /* damaged or invalid file content */
    STATUS_UNSUPPORTED, /* valid, but not supported by this build or machine */
    STATUS_IO,          /* operating system error; the message has the reason */
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

/* Prepends "context: " to the message of a failed status; returns false. */
bool status_context(struct status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
