/* The Instruments importer on hostile XML. A whole table is hard for a fuzzer to find, so inputs
 * whose last byte is odd are rows that get the document and schema around them. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "import/import.h"
#include "targets.h"

#define COLUMN(name) "<col><mnemonic>" name "</mnemonic></col>"
static const char *const beginnings[] = {
    "<trace-query-result><node><schema name='metal-gpu-intervals'>" COLUMN("start")
        COLUMN("duration") COLUMN("channel-name") COLUMN("event-depth") COLUMN("event-label")
            COLUMN("state") COLUMN("process") COLUMN("gpu") COLUMN("encoder-id") "</schema>",
    "<trace-query-result><node><schema name='time-profile'>" COLUMN("time") COLUMN("thread")
        COLUMN("process") COLUMN("weight") COLUMN("stack") "</schema>",
    "<trace-query-result><node><schema name='os-signpost'>" COLUMN("time") COLUMN("thread")
        COLUMN("process") COLUMN("event-type") COLUMN("identifier") COLUMN("name") "</schema>",
    "<trace-query-result><node><schema name='time-sample'>" COLUMN("time") COLUMN("thread")
        COLUMN("cp-user-callstack") COLUMN("sample-type") "</schema>",
    "<trace-query-result><node><schema name='gpu-performance-state-intervals'>" COLUMN("start")
        COLUMN("gpu-performance-state") COLUMN("narrative") COLUMN("track-label") "</schema>",
    "<trace-query-result><node><schema name='metal-resource-allocations'>" COLUMN("timestamp")
        COLUMN("thread") COLUMN("resource-id") COLUMN("resource-size") COLUMN("gpu")
            COLUMN("event-type") "</schema>",
    "<trace-query-result><node><schema name='metal-shader-profiler-intervals'>" COLUMN("start")
        COLUMN("duration") COLUMN("name") "</schema>",
    "<trace-query-result><node><schema name='graphics-compiler-activity-intervals'>" COLUMN("start")
        COLUMN("duration") COLUMN("process") COLUMN("program-type") "</schema>",
    "<trace-query-result><node xpath='//trace-toc[1]/run[1]/tracks[1]'>", /* rows with attributes */
};

#ifdef RIDGE_HAVE_EXPAT
static char folder[] = "/tmp/ridge-fuzz-xctrace-XXXXXX", path[64];

static void clean_up(void) {
    unlink(path);
    rmdir(folder);
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

static void write_document(int fd, const uint8_t *data, size_t size) {
    struct status status = {0};
    uint8_t choice = data[size - 1];
    const char *beginning =
        choice % 2 ? beginnings[choice / 2 % (sizeof beginnings / sizeof *beginnings)] : "";
    const char *end = choice % 2 ? "</node></trace-query-result>" : "";
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
        !output_write_fd(fd, beginning, strlen(beginning), &status) ||
        !output_write_fd(fd, data, size - 1, &status) ||
        !output_write_fd(fd, end, strlen(end), &status))
        abort();
}

int fuzz_xctrace(const uint8_t *data, size_t size) {
    static int input = -1, output = -1;
    struct status status = {0};
    if (size == 0)
        return 0;
    if (input < 0) {
        if (!mkdtemp(folder))
            abort();
        strcat(strcpy(path, folder), "/t.xml");
        input = open(path, O_RDWR | O_CREAT, 0600);
        output = open("/dev/null", O_WRONLY);
        if (input < 0 || output < 0)
            abort();
        atexit(clean_up);
    }
    write_document(input, data, size);
    struct import_source source = {.path = path, .head = data, .head_length = size};
    struct import_options options = {.skip_invalid = size % 2};
    struct trace_writer *writer = writer_of(output);
    import_xctrace.detect(&source);
    bool good = import_xctrace.run(&source, &options, writer, &status);
    if (!good && status.code == STATUS_OK)
        abort(); /* a failure without a message */
    return 0;
}
#else
int fuzz_xctrace(const uint8_t *data, size_t size) {
    (void)data, (void)size, (void)beginnings;
    return 0;
}
#endif
