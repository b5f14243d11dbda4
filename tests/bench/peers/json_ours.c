/* Reads the events of a Chrome trace with ridge's scanner, as json.cc does with simdjson.
 *
 *   json_ours FILE
 */
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/json_read.h"

static size_t events;
static double sum;

/* One event: an object in the window. NULL: more bytes are needed. */
static const char *read_event(struct scan *scan, const char *at) {
    struct scan_string name = {0};
    int64_t start = 0, duration = 0;
    bool closed, is_number;
    at = scan_first_member(at, &closed);
    while (at && !closed) {
        struct text key;
        at = scan_key(scan, at, &key);
        if (!at)
            break;
        if (text_is(key, "name") && *at == '"')
            at = scan_string(scan, at, &name);
        else if (text_is(key, "ts"))
            at = scan_microseconds(scan, at, &start, &is_number);
        else if (text_is(key, "dur"))
            at = scan_microseconds(scan, at, &duration, &is_number);
        else
            at = scan_skip(scan, at);
        if (at)
            at = scan_next_member(scan, at, &closed);
    }
    if (at) {
        events++;
        sum += (double)start / 1e3 + (double)duration / 1e3 + (double)name.raw.length;
    }
    return at;
}

static bool read_events(struct scan *scan, struct status *status) {
    char byte;
    bool more;
    bool ok = scan_peek(scan, &byte, status) && scan_enter(scan, ']', &more, status);
    while (ok && more) {
        const char *after;
        while (!(after = read_event(scan, scan->at)))
            if (!scan_more(scan, "an event", status))
                return false;
        scan->at = after;
        ok = scan_next(scan, ']', &more, status);
    }
    return ok;
}

static bool read_file(const char *path, struct status *status) {
    struct input input;
    struct scan scan;
    struct buffer buffer = {0};
    struct text key;
    char byte;
    bool more;
    if (!input_open(&input, path, status))
        return false;
    scan_open(&scan, &input);
    bool ok = scan_peek(&scan, &byte, status) && scan_enter(&scan, '}', &more, status);
    while (ok && more) {
        ok = scan_key_copy(&scan, &buffer, &key, status);
        if (ok)
            ok =
                text_is(key, "traceEvents") ? read_events(&scan, status) : json_skip(&scan, status);
        ok = ok && scan_next(&scan, '}', &more, status);
    }
    scan_close(&scan);
    buffer_finish(&buffer);
    return ok;
}

int main(int argc, char **argv) {
    struct status status = {0};
    struct rusage usage;
    int64_t start = clock_read(CLOCK_PROCESS_CPUTIME_ID);
    if (argc != 2 || !read_file(argv[1], &status)) {
        fprintf(stderr, "%s\n", argc == 2 ? status.message : "json_ours FILE");
        return 1;
    }
    double took = (double)(clock_read(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
    getrusage(RUSAGE_SELF, &usage);
    printf("ridge     %zu events  %.3f s  %ld MiB  (%g)\n", events, took, usage.ru_maxrss / 1024,
           sum);
    return 0;
}
