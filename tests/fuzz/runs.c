/* Any bytes as runs of ridge check: read, written and read again with the same values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "compare/measured_runs.h"
#include "targets.h"

static char path[64];

static void remove_file(void) {
    unlink(path);
}

static void write_file(const void *data, size_t size) {
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

int fuzz_runs(const uint8_t *data, size_t size) {
    struct measured_runs runs = {0}, again = {0};
    struct buffer written = {0};
    struct output output = output_into(&written);
    struct status status = {0};
    if (!*path) {
        snprintf(path, sizeof path, "/tmp/ridge-fuzz-runs-%ld", (long)getpid());
        atexit(remove_file);
    }
    write_file(data, size);
    bool read = measured_runs_read(path, &runs, &status);
    if (!read && status.code == STATUS_OK)
        abort(); /* a failure without a reason */
    if (read && runs.count) {
        measured_runs_write(&runs, 0, &output);
        write_file(written.data, written.length);
        if (!measured_runs_read(path, &again, &status) || again.count != runs.count)
            abort();
        for (size_t i = 0; i < runs.count; i++)
            if (memcmp(runs.lines[i].of.known, again.lines[i].of.known,
                       sizeof runs.lines[i].of.known) != 0)
                abort();
    }
    measured_runs_finish(&runs);
    measured_runs_finish(&again);
    buffer_finish(&written);
    return 0;
}
