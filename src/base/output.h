/* Output that appears whole or not at all: a file is written beside its final name and renamed by
 * output_commit(); anything else leaves the final name untouched. "-" or NULL is standard output.
 *
 * What goes to a terminal is printable: characters that could control it are replaced as by
 * text_next_printable(), except line ends and tabs. Files and pipes get every byte.
 */
#ifndef RIDGE_BASE_OUTPUT_H
#define RIDGE_BASE_OUTPUT_H

#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

struct output {
    int fd;
    char *path;      /* NULL: standard output */
    char *temporary; /* name while it is being written */
    char *pending;
    size_t used;
    bool terminal;   /* control characters are replaced */
    char partial[4]; /* bytes of a character that is not complete yet */
    unsigned partial_length;
    bool failed;
    struct status why; /* the first failure */

    struct buffer *memory; /* set: everything goes there and nowhere else */
};

/* An output that appends to a buffer, for JSON that is a value of something else. It needs neither
 * commit nor abandon; ask the buffer whether it failed. */
static inline struct output output_into(struct buffer *buffer) {
    return (struct output){.fd = -1, .memory = buffer};
}

/* Fails when the file exists and `replace` is false. On success end with commit or abandon. Until
 * then temporary_remove_all() removes what is half written. */
bool output_open(struct output *output, const char *path, bool replace, struct status *status);
/* Failure is sticky and reported by output_commit(). */
void output_write(struct output *output, const void *data, size_t length);
void output_printf(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A control sequence of ridge's own, such as a colour, for outputs that are terminals. */
void output_control(struct output *output, const char *sequence);
/* Fails the output with "out of memory" unless `ok`: for text that was put together elsewhere. */
void output_require(struct output *output, bool ok);
/* Writes out what is buffered, so that someone else may write to output->fd directly. */
bool output_flush(struct output *output, struct status *status);
bool output_commit(struct output *output, struct status *status);
void output_abandon(struct output *output);
/* Commits when all went well so far (`ok`), else abandons; returns whether all went well. */
bool output_close(struct output *output, bool ok, struct status *status);
/* Whether output_open() would succeed, for files that are written after long work. */
bool output_check(const char *path, bool replace, struct status *status);

/* Writes all of `length` bytes to a descriptor, riding out signals and short writes. */
bool output_write_fd(int fd, const void *data, size_t length, struct status *status);

#endif
