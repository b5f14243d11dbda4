/* Any bytes as an input file: detected, imported into a .ridge file together with a copy of itself,
 * and opened again. Covers detection, messages and joining files; the parsers have their own
 * fuzzers. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/output.h"
#include "import/import.h"
#include "targets.h"

static char input_path[64], output_path[64];

static void remove_files(void) {
    unlink(input_path);
    unlink(output_path);
}

static void name_files(void) {
    snprintf(input_path, sizeof input_path, "/tmp/ridge-fuzz-%ld.in", (long)getpid());
    snprintf(output_path, sizeof output_path, "/tmp/ridge-fuzz-%ld.ridge", (long)getpid());
    atexit(remove_files);
}

static int write_input(const uint8_t *data, size_t size) {
    struct status status;
    int fd = open(input_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !output_write_fd(fd, data, size, &status))
        abort();
    close(fd);
    return open(output_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

int fuzz_open(const uint8_t *data, size_t size) {
    static const struct import_options options = {.skip_invalid = true};
    struct status status = {0};
    struct trace *trace = NULL;
    if (!input_path[0])
        name_files();
    int fd = write_input(data, size);
    const char *paths[] = {input_path, input_path};
    if (import_files(paths, 2, fd, &options, &status)) {
        /* The output must be readable. */
        if (trace_open_fd(fd, "joined", &trace, &status))
            trace_close(trace);
        else if (!trace_detect(data, size))
            abort();
    }
    close(fd);
    return 0;
}
