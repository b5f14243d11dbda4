/* Which GPU APIs the program loads, by the libraries in its processes, and which of them are
 * recorded; and which frameworks, in which version.
 */
#ifndef RIDGE_RECORD_APIS_H
#define RIDGE_RECORD_APIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct record_summary;
struct trace_writer;

enum { FRAMEWORKS = 6, FRAMEWORK_VERSION_SIZE = 40 };

/* Zero-initialized: none. One bit for each row of the table in apis.c. */
struct apis {
    uint32_t loaded, recorded;
    char versions[FRAMEWORKS][FRAMEWORK_VERSION_SIZE]; /* "": not loaded, or unknown */
};

/* A file that a process maps. */
void apis_mapped(struct apis *apis, struct text path);
/* Reads all files that a process maps now. */
void apis_read_maps(struct apis *apis, int64_t pid);
/* Meta of a probe: "opencl.recorded" states that the API is recorded. */
void apis_meta(struct apis *apis, struct text key);
/* Writes the versions of the frameworks: "pytorch.version". */
void apis_write_versions(const struct apis *apis, struct trace_writer *writer);
/* Adds a note for each API that was loaded and is not recorded. */
void apis_note(const struct apis *apis, struct record_summary *summary);

#endif
