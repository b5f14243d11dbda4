/* Where the bytes of an ELF file come from: a file, or memory. Every offset and size is checked
 * against the length.
 */
#ifndef RIDGE_RECORD_SYMBOLS_ELF_SOURCE_H
#define RIDGE_RECORD_SYMBOLS_ELF_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct elf_source {
    int fd; /* or -1: the bytes */
    const uint8_t *bytes;
    uint64_t length;
};

/* False when it is no regular file. The descriptor stays the caller's. */
bool elf_source_file(struct elf_source *source, int fd, struct status *status);
bool elf_source_read(const struct elf_source *source, uint64_t offset, void *to, uint64_t bytes);
/* A part with a zero behind it; NULL when there is no such part, it is longer than the limit, or
 * there is no memory. */
void *elf_source_copy(const struct elf_source *source, uint64_t offset, uint64_t bytes,
                      uint64_t limit, struct status *status);

#endif
