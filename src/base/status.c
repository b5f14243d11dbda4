/* A code and a message in a fixed buffer. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool status_fail(struct status *status, enum status_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    status->code = code;
    vsnprintf(status->message, sizeof status->message, format, arguments);
    va_end(arguments);
    return false;
}

bool status_fail_errno(struct status *status, const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    status->code = STATUS_IO;
    int length = vsnprintf(status->message, sizeof status->message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof status->message)
        snprintf(status->message + length, sizeof status->message - (size_t)length, ": %s",
                 strerror(error));
    return false;
}

bool status_no_memory(struct status *status) {
    return status_fail(status, STATUS_MEMORY, "out of memory");
}

bool status_context(struct status *status, const char *format, ...) {
    char rest[sizeof status->message - 2];
    memcpy(rest, status->message, sizeof rest);
    rest[sizeof rest - 1] = 0;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(status->message, sizeof status->message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof status->message)
        snprintf(status->message + length, sizeof status->message - (size_t)length, ": %s", rest);
    return false;
}
