/* Any bytes as a Perfetto trace: the importer never crashes, hangs or leaks, and failures have a
 * message. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "targets.h"

/* Creating a writer takes longer than a small import, so one is reused. */
static struct trace_writer *shared_writer(void) {
    static struct trace_writer *writer;
    static unsigned served;
    static int nowhere = -1;
    struct status status = {0};
    if (served++ % 256 != 0 && !trace_writer_failed(writer))
        return writer;
    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY);
    trace_writer_destroy(writer);
    writer = trace_writer_create(nowhere, &(struct trace_writer_options){.session = 1, .writer = 1},
                                 &status);
    if (!writer)
        abort();
    return writer;
}

static const char *write_input(const uint8_t *data, size_t size) {
    static char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ridge-fuzz-%ld.pftrace", folder ? folder : "/tmp",
             (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    return path;
}

int fuzz_perfetto(const uint8_t *data, size_t size) {
    struct trace_writer *writer = shared_writer();
    struct import_source source = {.path = write_input(data, size), .head = data};
    struct import_options options = {.skip_invalid = size % 2};
    struct status status = {0};
    source.head_length = size < IMPORT_HEAD_BYTES ? size : IMPORT_HEAD_BYTES;
    import_perfetto.detect(&source);
    if (!import_perfetto.run(&source, &options, writer, &status) && !trace_writer_failed(writer) &&
        (status.code == STATUS_OK || status.message[0] == '\0'))
        abort(); /* it failed without a message */
    unlink(source.path);
    return 0;
}
