/* Any bytes as a source file of the recorded program: Python, C++ or Rust. Every line has a text, a
 * statement that begins at it or before, and loops that begin at it or before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "record/source_files.h"
#include "targets.h"

enum { LINES_MAX = 300 };

static void check_line(struct source_files *files, struct text path, uint32_t line) {
    struct text text = source_files_line(files, path, line);
    if (memchr(text.data, '\n', text.length) || source_files_statement(files, path, line) > line)
        abort();
    struct text loops = source_files_loops(files, path, line);
    for (const char *at = loops.data, *end = loops.data + loops.length; loops.length && at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        unsigned long header = strtoul(at, NULL, 10);
        if (header == 0 || header > line)
            abort();
        at = next ? next + 1 : end;
    }
}

int fuzz_sources(const uint8_t *data, size_t size) {
    static const char *const endings[] = {".py", ".cc", ".rs"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[64];
        struct source_files files = {0};
        struct status status = {0};
        snprintf(path, sizeof path, "/tmp/ridge-fuzz-XXXXXX%s", endings[i]);
        int fd = mkstemps(path, 3);
        if (fd < 0 || !output_write_fd(fd, data, size, &status))
            abort();
        close(fd);
        for (uint32_t line = 0; line < LINES_MAX; line++)
            check_line(&files, text_of(path), line);
        source_files_finish(&files);
        unlink(path);
    }
    return 0;
}
