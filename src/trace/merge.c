/* Merges several .ridge files. A chunk has the numbers of its recording and writer, so copying all
 * chunks suffices unless two inputs use the same numbers: then the headers of the later input are
 * rewritten. Files are read as streams (they may be compressed), twice: once to collect the
 * writers, once to copy. Chunks with a wrong checksum are never copied. */
#include "trace/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/input.h"
#include "base/output.h"
#include "trace/chunk.h"
#include "trace/writer.h"

enum { WINDOW_LIMIT = CHUNK_HEADER_SIZE + CHUNK_BODY_MAX };

static uint64_t writer_key(uint64_t session, uint64_t writer) {
    uint64_t parts[2] = {session, writer};
    return checksum64(parts, sizeof parts);
}

bool merge_claim(struct merge *merge, uint64_t session, uint64_t writer, struct status *status) {
    return map_set(&merge->writers, writer_key(session, writer), ++merge->inputs, status);
}

void merge_finish(struct merge *merge) {
    map_finish(&merge->writers);
}

/* Walks the intact chunks of a file; everything between them counts as lost. */
struct walk {
    struct input input;
    struct chunk_header header;
    unsigned char *chunk; /* the whole chunk with its header */
    size_t length;
    uint64_t lost;
    uint64_t rejected; /* bytes of chunks whose checksum is wrong */
    uint64_t chunks;
};

static bool have(struct walk *walk, size_t bytes, struct status *status) {
    while (walk->input.length < bytes && !walk->input.at_end)
        if (!input_more(&walk->input, WINDOW_LIMIT, status))
            return false;
    return true;
}

static void lose(struct walk *walk, size_t bytes) {
    walk->lost += bytes;
    input_consume(&walk->input, bytes);
}

static void skip_rejected(struct walk *walk, size_t size) {
    walk->rejected += size;
    if (!chunk_search_inside(walk->rejected, walk->input.offset + walk->input.length))
        lose(walk, size - 1); /* its last byte is skipped like any damage */
}

/* Whether an intact chunk begins at the start of the window; reads all of it into the window. */
static bool chunk_is_here(struct walk *walk, bool *here, struct status *status) {
    *here = false;
    if (!have(walk, CHUNK_HEADER_SIZE, status))
        return false;
    const unsigned char *bytes = (const unsigned char *)walk->input.data;
    if (walk->input.length < CHUNK_HEADER_SIZE || !chunk_read_header(bytes, &walk->header))
        return true;
    size_t size = CHUNK_HEADER_SIZE + (size_t)walk->header.body_size;
    if (!have(walk, size, status))
        return false;
    bytes = (const unsigned char *)walk->input.data;
    bool whole = walk->input.length >= size;
    *here = whole && checksum64(bytes + CHUNK_HEADER_SIZE, walk->header.body_size) ==
                         walk->header.body_checksum;
    if (whole && !*here)
        skip_rejected(walk, size);
    return true;
}

static void skip_to_magic(struct walk *walk) {
    const char *data = walk->input.data;
    size_t length = walk->input.length, at = 1;
    while (at < length) {
        const char *hit = memchr(data + at, chunk_magic[0], length - at);
        at = hit ? (size_t)(hit - data) : length;
        size_t left = length - at;
        if (hit && memcmp(hit, chunk_magic, left < 8 ? left : 8) == 0)
            break;
        at += hit != NULL;
    }
    lose(walk, at);
}

/* The next intact chunk; false at the end or on failure, see the status. */
static bool next_chunk(struct walk *walk, struct status *status) {
    input_consume(&walk->input, walk->length);
    walk->length = 0;
    for (;;) {
        bool here;
        if (!chunk_is_here(walk, &here, status))
            return false;
        if (here) {
            walk->chunk = (unsigned char *)walk->input.data;
            walk->length = CHUNK_HEADER_SIZE + (size_t)walk->header.body_size;
            walk->chunks++;
            return true;
        }
        if (walk->input.length == 0)
            return false;
        skip_to_magic(walk);
    }
}

/* Whether a writer of this file also occurs in an earlier input. Registers the others. */
static bool find_collision(struct merge *merge, const char *path, bool *collides,
                           struct status *status) {
    struct walk walk = {0};
    uint64_t own = ++merge->inputs;
    bool ok = true;
    *collides = false;
    if (!input_open(&walk.input, path, status))
        return false;
    while (ok && next_chunk(&walk, status)) {
        uint64_t key = writer_key(walk.header.session, walk.header.writer);
        const uint64_t *known = map_find(&merge->writers, key);
        if (known && *known != own)
            *collides = true;
        else if (!known)
            ok = map_set(&merge->writers, key, own, status);
    }
    input_close(&walk.input);
    return ok && status->code == STATUS_OK;
}

static uint64_t renumber(uint64_t session, uint64_t salt) {
    return writer_key(session, salt);
}

static bool copy_chunks(struct walk *walk, uint64_t salt, int fd, bool *write_failed,
                        struct status *status) {
    while (next_chunk(walk, status)) {
        if (walk->header.version > CHUNK_VERSION)
            return status_fail(status, STATUS_UNSUPPORTED,
                               "written by a newer ridge (trace version %u, this one reads %u); "
                               "update ridge",
                               walk->header.version, CHUNK_VERSION);
        if (salt) {
            walk->header.session = renumber(walk->header.session, salt);
            chunk_write_header(walk->chunk, &walk->header);
        }
        if (!output_write_fd(fd, walk->chunk, walk->length, status)) {
            *write_failed = true;
            return false;
        }
    }
    return status->code == STATUS_OK;
}

/* Writes a warning into the merged trace, as a separate writer of the input's recording. */
static bool write_warning(const struct walk *walk, const char *name, uint64_t number, int fd,
                          struct status *status) {
    struct trace_writer *writer = trace_writer_create(
        fd,
        &(struct trace_writer_options){.session = walk->header.session,
                                       .writer = writer_key(walk->header.session, number)},
        status);
    if (!writer)
        return false;
    struct buffer note = {0};
    buffer_printf(&note, "%s: %" PRIu64 " bytes are damaged or truncated and were left out", name,
                  walk->lost);
    trace_writer_meta_of(writer, META_WARNING, &note);
    buffer_finish(&note);
    bool ok = trace_writer_finish(writer, status);
    trace_writer_destroy(writer);
    return ok;
}

bool merge_trace(struct merge *merge, const char *path, const char *name, int fd,
                 bool *write_failed, struct status *status) {
    bool collides;
    *status = (struct status){0};
    if (!find_collision(merge, path, &collides, status))
        return false;
    struct walk walk = {0};
    if (!input_open(&walk.input, path, status))
        return false;
    bool ok = copy_chunks(&walk, collides ? merge->inputs : 0, fd, write_failed, status);
    input_close(&walk.input);
    if (ok && walk.chunks == 0)
        return status_fail(
            status, STATUS_INPUT,
            "starts like a .ridge file but contains no intact data; record or import "
            "it again");
    if (ok && walk.lost > 0) {
        ok = write_warning(&walk, name, merge->inputs, fd, status);
        *write_failed = !ok;
    }
    return ok;
}
