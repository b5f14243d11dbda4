/* Atomic output: a file is written under a temporary name and renamed by output_commit(); in any
 * other case the final name is untouched. "-" or NULL is standard output.
 *
 * Output to a terminal is printable: characters that could control it are replaced as by
 * text_next_printable(), except newlines and tabs. Files and pipes get every byte.
 */
#ifndef RIDGE_BASE_OUTPUT_H
#define RIDGE_BASE_OUTPUT_H

#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

struct output {
    int fd;
    char *path;      /* NULL: standard output */
    char *temporary; /* name until it is renamed */
    char *pending;
    size_t used;
    bool terminal;   /* control characters are replaced */
    char partial[4]; /* bytes of an incomplete character */
    unsigned partial_length;
    bool failed;
    struct status why; /* the first failure */

    struct buffer *memory; /* if set, everything is appended here */
};

/* An output that appends to a buffer, for JSON inside another value. It needs neither commit nor
 * abandon; check the buffer for failure. */
static inline struct output output_into(struct buffer *buffer) {
    return (struct output){.fd = -1, .memory = buffer};
}

/* Fails when the file exists and `replace` is false. On success end with commit or abandon; until
 * then temporary_remove_all() removes the partial file. */
bool output_open(struct output *output, const char *path, bool replace, struct status *status);
/* Failure is sticky and reported by output_commit(). */
void output_write(struct output *output, const void *data, size_t length);
void output_printf(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A control sequence, such as a color; only written to terminals. */
void output_control(struct output *output, const char *sequence);
/* Fails the output with "out of memory" unless `ok`: for text assembled elsewhere. */
void output_require(struct output *output, bool ok);
/* Flushes the buffer, so that the caller may write to output->fd directly. */
bool output_flush(struct output *output, struct status *status);
bool output_commit(struct output *output, struct status *status);
void output_abandon(struct output *output);
/* Commits if `ok`, else abandons; returns whether everything succeeded. */
bool output_close(struct output *output, bool ok, struct status *status);
/* Whether output_open() would succeed, to check before long work. */
bool output_check(const char *path, bool replace, struct status *status);

/* Writes all `length` bytes to a descriptor, resuming after signals and short writes. */
bool output_write_fd(int fd, const void *data, size_t length, struct status *status);

#endif
