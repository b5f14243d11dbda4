/* What an ELF file says about its code: which functions are where, and which bytes of the file are
 * loaded at which address. For 64-bit little-endian files, read on any system.
 *
 * The files are other people's: every offset and size is checked, and the parts that are kept are
 * copies, so that a file may change or shrink meanwhile.
 */
#ifndef RIDGE_RECORD_SYMBOLS_ELF_H
#define RIDGE_RECORD_SYMBOLS_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

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

enum { ELF_BUILD_ID_MAX = 64 };

struct elf_segment {
    uint64_t offset, address, bytes; /* of the file; where they are loaded; how many */
};

struct elf_function {
    uint64_t address, end; /* end == address: the file does not say */
    uint32_t name;         /* offset in `names` */
    uint32_t rank;         /* private: which of several names of an address is shown */
};

struct elf {
    struct elf_segment *segments;
    size_t segment_count;
    struct elf_function *functions; /* by address, each address once */
    size_t function_count;
    char *names; /* terminated by zeros */
    size_t names_length;
    struct elf_segment eh_frame_hdr; /* .eh_frame_hdr; no bytes: there is none */
    bool has_symtab; /* the functions come from a full symbol table, not only from what is exported
                      */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_length;
};

/* A file without symbols is no failure. End with elf_finish(), also when it failed. */
bool elf_read(struct elf *elf, const struct elf_source *source, struct status *status);
void elf_finish(struct elf *elf);

/* The address at which a byte of the file is loaded, before the image is moved to its place. */
bool elf_address(const struct elf *elf, uint64_t offset, uint64_t *address);
/* The byte of the file that is loaded at such an address. */
bool elf_offset(const struct elf *elf, uint64_t address, uint64_t *offset);
/* The name of the function at such an address; "" when there is none. */
struct text elf_function_at(const struct elf *elf, uint64_t address);

#endif
