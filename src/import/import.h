/* Opens and imports traces of any format.
 *
 * An importer is one file in this folder, or a folder of files with a common prefix. It detects its
 * format from the content and streams the source into a trace_writer. All other code opens files
 * with import_open() and sees only the trace model. */
#ifndef RIDGE_IMPORT_IMPORT_H
#define RIDGE_IMPORT_IMPORT_H

#include "base/status.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct import_options {
    bool skip_invalid; /* drop and count events with invalid times instead of failing */
    /* Called when the import begins another long part of its work; NULL: not. */
    void (*progress)(void *context, const char *what);
    void *progress_context;
    const char *execution_trace; /* of PyTorch, for the shapes that a Kineto trace lacks; or NULL */
    const char *command;         /* of the recorded program, where it is known better; or NULL */
    /* Of a report of counters, only these are imported, at this time: those of another trace. */
    bool counters_only;
    int64_t counters_time;
};

struct import_source {
    const char *path; /* as the user passed it */
    bool is_folder;
    const unsigned char *head; /* first bytes, decompressed */
    size_t head_length;        /* at most IMPORT_HEAD_BYTES */
};

enum { IMPORT_HEAD_BYTES = 64 * 1024 };

struct importer {
    const char *format; /* value of META_SOURCE_FORMAT */
    /* Confidence that the source has this format: 0 no, 1 as a last resort, 2 likely, 3 certain. */
    int (*detect)(const struct import_source *source);
    /* The caller creates, finishes and destroys the writer, writes META_SOURCE_FILE, and puts the
     * path in front of error messages. */
    bool (*run)(const struct import_source *source, const struct import_options *options,
                struct trace_writer *writer, struct status *status);
    const char *missing; /* the library that this build lacks when run is NULL */
};

extern const struct importer import_kineto, import_nsys, import_xctrace, import_rpd, import_xplane,
    import_perfetto, import_perf_script, import_folded, import_speedscope, import_rocprof,
    import_rocpd, import_ncu_report, import_ncu_text, import_perf_data, import_torch_memory,
    import_pstats, import_rocprof_json, import_proton, import_gecko, import_tracemalloc,
    import_memray, import_austin;

/* Opens a .ridge file in place, and any other trace through its importer and an unnamed temporary
 * file. */
bool import_open(const char *path, const struct import_options *options, struct trace **trace,
                 struct status *status);

/* Imports the files in order into the descriptor as one .ridge trace; .ridge files are copied chunk
 * by chunk. Error messages begin with the path of the file, except for failed writes to the
 * descriptor, which begin with "cannot write". */
bool import_files(const char *const *paths, size_t count, int fd,
                  const struct import_options *options, struct status *status);

/* The class of a CUDA, HIP, OpenCL, Vulkan or Metal API call by its name, without version suffixes
 * such as _v7000. */
enum call_class import_call_class(struct text name);

/* The direction of a copy by its name ("Memcpy HtoD (Pinned -> Device)"), and the kinds of memory
 * at both ends where the name has them. */
void import_copy_name(struct text name, enum copy_direction *direction, enum memory_kind *from,
                      enum memory_kind *to);

/* The direction of a copy between two devices; 0 is the host. */
static inline void import_copy_ends(struct row_activity *row, uint32_t from, uint32_t to) {
    row->direction = to && from ? (to == from ? COPY_DTOD : COPY_PTOP)
                     : to       ? COPY_HTOD
                     : from     ? COPY_DTOH
                                : COPY_HTOH;
    row->from_memory = from ? MEMORY_DEVICE : MEMORY_UNKNOWN;
    row->to_memory = to ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

/* AMD's tools have grids in work items: how many blocks those are. */
static inline uint32_t import_blocks(uint32_t items, uint32_t block) {
    return block ? items / block + (items % block != 0) : items;
}

/* What a JSON file is that is known not to be a trace, and what to do; or NULL. */
const char *import_known_json(const struct import_source *source);
/* Fails with a message that describes a file of unknown format. */
bool import_explain_unknown(const struct import_source *source, struct status *status);

#endif
