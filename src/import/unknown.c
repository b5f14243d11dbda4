/* Describes files of unknown format by their first bytes, and what to do about them: Git LFS
 * pointers, web pages, reports that must be exported first, archives. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "import/import.h"

#define KNOWN_FORMATS                                                                              \
    "ridge reads .ridge, torch.profiler and Chrome JSON, Nsight Systems SQLite, Instruments XML, " \
    "rocprof CSV, JSON and rocpd, rocmProfileData .rpd, JAX .xplane.pb, Perfetto traces, Nsight "  \
    "Compute reports, CSV and text, the CPU profiles of "                                          \
    "perf (perf.data, perf script), cProfile, Firefox Profiler, speedscope, austin and folded "    \
    "stacks, "                                                                                     \
    "Proton .hatchet, PyTorch memory snapshots, and the heap profiles of tracemalloc and memray "  \
    "(CSV)"

#define MEMRAY                                                                                     \
    "is a capture of memray, whose format changes with each of its versions; run 'memray "         \
    "transform csv FILE' and pass the .csv file"

#define SCALENE                                                                                    \
    "is a report of scalene: shares of lines, without a timeline; view it with 'scalene view', "   \
    "or "                                                                                          \
    "record the program with 'ridge record', which has lines and, with --memory, the heap"

#define CALLGRIND                                                                                  \
    "is a profile of callgrind, which counts instructions and no time; record the program with "   \
    "'ridge record'"

#define EXECUTION_TRACE                                                                            \
    "is an execution trace of PyTorch; pass it beside the profiler's trace of the same run: "      \
    "'ridge import TRACE --execution-trace FILE'"

struct signature {
    const char *bytes;
    size_t length, offset;
    const char *message;
};

#define STARTS(literal, message)                                                                   \
    { literal, sizeof(literal) - 1, 0, message }

static const struct signature signatures[] = {
    STARTS("version https://git-lfs",
           "is a Git LFS pointer, not the file itself; run 'git lfs pull' where it came from"),
    STARTS("%PDF", "is a PDF document, not a trace; " KNOWN_FORMATS),
    STARTS("PK\x03\x04", "is a ZIP archive; unpack it and pass the trace inside"),
    STARTS("PK\x05\x06", "is an empty ZIP archive; " KNOWN_FORMATS),
    STARTS("7z\xBC\xAF\x27\x1C", "is a 7-Zip archive; unpack it and pass the trace inside"),
    STARTS("BZh", "is compressed with bzip2; unpack it with bunzip2 first"),
    STARTS("\xFD"
           "7zXZ",
           "is compressed with xz; unpack it with unxz first"),
    {"memray", 6, 13, MEMRAY},
    STARTS("\x04\x22\x4D\x18", "is compressed with lz4; unpack it with unlz4 first"),
    STARTS("memray", MEMRAY),
    STARTS("\x1F\x8B\x08", "is a gzip file inside a gzip file; unpack it once with gunzip first"),
    {"ustar", 5, 257, "is a tar archive; unpack it and pass the trace inside"},
    STARTS("\x7F"
           "ELF",
           "is a program or library, not a trace; " KNOWN_FORMATS),
    STARTS("\x89PNG", "is a picture, not a trace; " KNOWN_FORMATS),
    STARTS("\xFF\xD8\xFF", "is a picture, not a trace; " KNOWN_FORMATS),
    STARTS("\x89HDF", "is an HDF5 file, not a trace; " KNOWN_FORMATS),
    STARTS("PAR1",
           "is a Parquet file; pass the .ridge file that it was exported from, or export the "
           "Nsight report with 'nsys export --type sqlite'"),
    STARTS("2ELIFREP",
           "is a 'perf record' file of a big-endian machine, which ridge does not read; "
           "'perf script -i FILE > profile.txt' there"),
    STARTS("\x93NUMPY", "is a NumPy array, not a trace; " KNOWN_FORMATS),
    STARTS("gmon", "is a profile of gprof, without stacks; record the program with 'ridge record'"),
    STARTS("FLR", "is a recording of Java's Flight Recorder, which ridge does not read"),
    STARTS("JAVA PROFILE", "is a heap dump of Java, which ridge does not read"),
    STARTS("MOJ", "is a profile of austin; convert it with 'mojo2austin FILE profile.austin'"),
    STARTS("# callgrind format", CALLGRIND),
    STARTS("version: 1\ncreator: callgrind", CALLGRIND),
};
enum { SIGNATURES = ARRAY_COUNT(signatures) };

/* JSON that is known not to be a trace, by two of its members. */
static const struct {
    const char *members[2];
    const char *message;
} documents[] = {
    {{"\"start_call_stack\"", "\"min_interval\""},
     "is a session of pyinstrument; convert it with 'pyinstrument --load FILE -r speedscope -o "
     "profile.json', and pass that"},
    {{"\"root_frame\"", "\"target_description\""},
     "is a profile of pyinstrument as JSON; write it with 'pyinstrument -r speedscope -o "
     "profile.json', and pass that"},
    {{"\"alloc_samples\"", "\"elapsed_time_sec\""}, SCALENE},
    {{"\"alloc_samples\"", "\"combined_stacks\""}, SCALENE},
    {{"\"total_num_allocations\"", "\"allocation_size_histogram\""},
     "is statistics of memray without stacks; run 'memray transform csv' on the capture, and pass "
     "the .csv file"},
    {{"\"callchain\"", "\"costs\""},
     "is JSON for gprof2dot, without lines; if memray wrote it, run 'memray transform csv' on the "
     "capture, and pass the .csv file"},
    {{"\"callFrame\"", "\"hitCount\""},
     "is a CPU profile of V8; open it in speedscope, export it there, and pass that file"},
    {{"\"ctrl_deps\"", "\"nodes\""}, EXECUTION_TRACE},
    {{"\"rf_id\"", "\"nodes\""}, EXECUTION_TRACE},
};

const char *import_known_json(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++)
        if (text_find(head, documents[i].members[0]) >= 0 &&
            text_find(head, documents[i].members[1]) >= 0)
            return documents[i].message;
    return NULL;
}

static struct text skip_blanks(struct text head) {
    if (text_starts(head, "\xEF\xBB\xBF"))
        head = (struct text){head.data + 3, head.length - 3};
    while (head.length > 0 && isspace((unsigned char)head.data[0]))
        head = (struct text){head.data + 1, head.length - 1};
    return head;
}

static bool starts_ignoring_case(struct text head, const char *prefix) {
    size_t length = strlen(prefix);
    return head.length >= length && strncasecmp(head.data, prefix, length) == 0;
}

/* Text is valid UTF-8 (the last character may be incomplete) without control characters. */
static bool is_plain_text(struct text head) {
    for (size_t i = 0; i < head.length; i++) {
        unsigned char c = (unsigned char)head.data[i];
        if (c == 0x7F || (c < 0x20 && !isspace(c)))
            return false;
    }
    return head.length - text_utf8_valid(head) < 4;
}

/* pprof's message begins with a sample type: two numbers of strings below 128. */
static bool is_pprof(struct text head) {
    return head.length > 6 && memcmp(head.data, "\x0a\x04\x08", 3) == 0 && head.data[4] == 0x10;
}

static bool explain_folder(struct status *status) {
    return status_fail(status, STATUS_INPUT,
                       "is a folder without a known trace; pass a trace file, or a folder of "
                       "'xctrace export' XML tables");
}

static bool explain_text(struct text head, struct status *status) {
    if (starts_ignoring_case(head, "<!doctype html") || starts_ignoring_case(head, "<html"))
        return status_fail(
            status, STATUS_INPUT,
            "is a web page, not a trace (a download that needed a login?); download the "
            "file itself");
    if (head.data[0] == '{' || head.data[0] == '[')
        return status_fail(status, STATUS_INPUT, "is JSON without trace events; " KNOWN_FORMATS);
    if (head.data[0] == '<')
        return status_fail(status, STATUS_INPUT,
                           "is XML, but not a table that 'xctrace export' wrote; " KNOWN_FORMATS);
    return status_fail(status, STATUS_INPUT, "is plain text, not a trace; " KNOWN_FORMATS);
}

bool import_explain_unknown(const struct import_source *source, struct status *status) {
    struct text head = {(const char *)source->head, source->head_length};
    if (source->is_folder)
        return explain_folder(status);
    if (head.length == 0)
        return status_fail(status, STATUS_INPUT,
                           "is empty; was the program that wrote it stopped early?");
    for (unsigned i = 0; i < SIGNATURES; i++) {
        const struct signature *s = &signatures[i];
        if (head.length >= s->offset + s->length &&
            memcmp(head.data + s->offset, s->bytes, s->length) == 0)
            return status_fail(status, STATUS_INPUT, "%s", s->message);
    }
    if (is_pprof(head))
        return status_fail(status, STATUS_INPUT,
                           "is a profile of pprof (Go, gperftools, memory of JAX); open it in "
                           "speedscope, export it there, and pass that file");
    struct text text = skip_blanks(head);
    if (text.length == 0)
        return status_fail(status, STATUS_INPUT, "contains only white space; " KNOWN_FORMATS);
    if (is_plain_text(head))
        return explain_text(text, status);
    return status_fail(status, STATUS_INPUT, "is not a known trace format; " KNOWN_FORMATS);
}
