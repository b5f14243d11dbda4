/* Importers of one file on hostile bytes, from file to trace. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/output.h"
#include "import/import.h"
#include "targets.h"

static char path[] = "/tmp/ridge-fuzz-import-XXXXXX";

static void clean_up(void) {
    unlink(path);
}

/* Creating a writer takes longer than most inputs, so one is reused. */
static struct trace_writer *writer_of(int fd) {
    static struct trace_writer *writer;
    static unsigned used;
    struct status status = {0};
    if (used++ % 1000 == 0) {
        trace_writer_destroy(writer);
        writer = trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1},
                                     &status);
    }
    if (!writer)
        abort();
    return writer;
}

static int import(const struct importer *importer, const uint8_t *data, size_t size) {
    static int input = -1, output = -1;
    struct status status = {0};
    if (input < 0) {
        input = mkstemp(path);
        output = open("/dev/null", O_WRONLY);
        if (input < 0 || output < 0)
            abort();
        atexit(clean_up);
    }
    if (ftruncate(input, 0) != 0 || lseek(input, 0, SEEK_SET) != 0 ||
        !output_write_fd(input, data, size, &status))
        abort();
    struct import_source source = {.path = path, .head = data, .head_length = size};
    struct import_options options = {.skip_invalid = size % 2};
    struct trace_writer *writer = writer_of(output);
    importer->detect(&source);
    bool good = importer->run(&source, &options, writer, &status);
    if (!good && status.code == STATUS_OK)
        abort(); /* a failure without a message */
    return 0;
}

#define IMPORTER(name)                                                                             \
    int fuzz_##name(const uint8_t *data, size_t size) {                                            \
        return import(&import_##name, data, size);                                                 \
    }
IMPORTER(ncu_report)
IMPORTER(ncu_text)
IMPORTER(perf_data)
IMPORTER(pstats)
IMPORTER(torch_memory)
IMPORTER(rocpd)
IMPORTER(rocprof)
IMPORTER(xplane)
IMPORTER(perf_script)
IMPORTER(folded)
IMPORTER(speedscope)
IMPORTER(rocprof_json)
IMPORTER(proton)
IMPORTER(gecko)
IMPORTER(austin)
IMPORTER(memray)
IMPORTER(tracemalloc)
