/* Other tools' traces, and any trace by whatever name.
 *
 * An importer is one file in this folder, or a family that shares a prefix: it recognises its
 * format by content and streams it into a trace_writer. Everything else in ridge opens files
 * through import_open() and sees one model.
 */
#ifndef RIDGE_IMPORT_IMPORT_H
#define RIDGE_IMPORT_IMPORT_H

#include "base/status.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct import_options {
    bool skip_invalid; /* drop (and count) events with impossible times instead of failing */
};

struct import_source {
    const char *path; /* as the user gave it */
    bool is_folder;
    const unsigned char *head; /* first bytes, after gzip or zstd is undone */
    size_t head_length;        /* at most IMPORT_HEAD_BYTES */
};

enum { IMPORT_HEAD_BYTES = 64 * 1024 };

struct importer {
    const char *format; /* as `ridge info` prints it and META_SOURCE_FORMAT holds it */
    /* How sure it is that this is its format: 0 no, 1 as a last resort, 2 likely, 3 certain. */
    int (*detect)(const struct import_source *source);
    /* The caller creates, finishes and destroys the writer, and writes META_SOURCE_FILE. Messages
     * need not name the path: the caller puts it in front. */
    bool (*run)(const struct import_source *source, const struct import_options *options,
                struct trace_writer *writer, struct status *status);
    const char *missing; /* library that this build lacks, so that run is NULL; or NULL */
};

extern const struct importer import_kineto, import_nsys, import_xctrace, import_rpd, import_xplane,
    import_perfetto;

/* Opens any trace: a .ridge file as it is, anything else through its importer into an unnamed
 * temporary file. */
bool import_open(const char *path, const struct import_options *options, struct trace **trace,
                 struct status *status);

/* Imports the files one after another into the descriptor as one .ridge trace; .ridge files are
 * copied chunk by chunk. A failure names the file it is about, except one to write to the
 * descriptor, which begins with "cannot write": the caller knows what is written. */
bool import_files(const char *const *paths, size_t count, int fd,
                  const struct import_options *options, struct status *status);

/* The class of a CUDA, HIP, OpenCL, Vulkan or Metal API call, from its name; a version suffix such
 * as _v7000 is ignored. */
enum call_class import_call_class(struct text name);

/* The direction that a copy's name tells ("Memcpy HtoD (Pinned -> Device)"), and the kinds of
 * memory at both ends where it says so. */
void import_copy_name(struct text name, enum copy_direction *direction, enum memory_kind *from,
                      enum memory_kind *to);

/* For messages: what a file that no importer recognises seems to be. */
bool import_explain_unknown(const struct import_source *source, struct status *status);

#endif
