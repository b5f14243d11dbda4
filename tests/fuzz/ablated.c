#include "ablated.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "consume.h"
#include "export/export.h"
#include "import/import.h"

static char folder[512], path[600];

static void clean_up(void) {
    unlink(path);
    rmdir(folder);
}

const char *ablated_path(const char *name) {
    if (folder[0] == '\0') {
        const char *above = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/ridge-fuzz-XXXXXX", above ? above : "/tmp");
        if (!mkdtemp(folder))
            fuzz_broken("cannot create %s", folder);
        atexit(clean_up);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void ablated_write(const char *to, struct text bytes) {
    struct status status = {0};
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !output_write_fd(fd, bytes.data, bytes.length, &status))
        fuzz_broken("cannot write %s", to);
    close(fd);
}

void ablated_import(const char *from, struct decisions *decisions) {
    static int fd = -1;
    struct status status = {0};
    struct import_options options = {.skip_invalid = decide(decisions, 4) != 0};
    if (import_files(&from, 1, fuzz_empty_file(&fd), &options, &status))
        consume_trace(fd, decisions);
    else
        fuzz_check_reason(&status, "the import");
}

struct text ablated_export(const char *format) {
    static int fd = -1;
    struct status status = {0};
    struct buffer bytes = {0};
    struct output output = output_into(&bytes);
    struct export_options options = {.table = TABLE_ACTIVITY};
    struct trace *trace;
    base_trace(fuzz_empty_file(&fd));
    if (!trace_open_fd(fd, "base", &trace, &status) ||
        !export_find(format)->write(trace, &options, &output, &status) ||
        !buffer_ok(&bytes, &status))
        fuzz_broken("%s: %s", format, status.message);
    trace_close(trace);
    return buffer_as_text(&bytes);
}

struct text ablated_choose(const struct base_files *files, struct decisions *decisions) {
    if (files->count == 0)
        fuzz_broken("there is nothing to ablate");
    return files->files[decide(decisions, files->count)];
}
