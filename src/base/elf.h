/* Function symbols, load segments and the build id of an ELF file. 64-bit little-endian files, on
 * any system.
 *
 * The files are untrusted: every offset and size is checked against the file's length. What is kept
 * is a copy, because the file may change or shrink.
 */
#ifndef RIDGE_BASE_ELF_H
#define RIDGE_BASE_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Where the bytes of an ELF file come from: a file, or memory. */
struct elf_source {
    int fd; /* -1: read `bytes` */
    const uint8_t *bytes;
    uint64_t length;
};

/* False when it is not a regular file. The caller still owns the descriptor. */
bool elf_source_file(struct elf_source *source, int fd, struct status *status);
bool elf_source_read(const struct elf_source *source, uint64_t offset, void *to, uint64_t bytes);
/* A copy of a part, followed by a zero. NULL when the part lies outside the file or is longer than
 * the limit, or when out of memory. */
void *elf_source_copy(const struct elf_source *source, uint64_t offset, uint64_t bytes,
                      uint64_t limit, struct status *status);

enum { ELF_BUILD_ID_MAX = 64 };

struct elf_segment {
    uint64_t offset, address, bytes; /* file offset, load address, length in the file */
};

struct elf_function {
    uint64_t address, end; /* end == address: unknown */
    uint32_t name;         /* offset in `names` */
    uint32_t rank;         /* private: the preference among aliases */
};

struct elf {
    struct elf_segment *segments;
    size_t segment_count;
    struct elf_function *functions; /* sorted by address, without aliases */
    size_t function_count;
    char *names; /* zero-terminated strings */
    size_t names_length;
    struct elf_segment eh_frame_hdr; /* bytes 0: there is none */
    bool has_symtab;                 /* the functions come from .symtab, not from .dynsym */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_length;
};

/* A file without symbols is not a failure. Call elf_finish() also after a failure. */
bool elf_read(struct elf *elf, const struct elf_source *source, struct status *status);
/* The same of a file whose functions are not linked, each in a section of its own, as in NVIDIA's
 * cubins: addresses are offsets in the file. Segments are not read. */
bool elf_read_object(struct elf *elf, const struct elf_source *source, struct status *status);
void elf_finish(struct elf *elf);

/* A section's content, decompressed. */
struct elf_section {
    uint8_t *bytes;
    uint64_t length;
};
/* Copies the section of that name. False when there is none, or it is longer than the limit. Free
 * `bytes` with memory_free(). */
bool elf_section_copy(const struct elf_source *source, const char *name, uint64_t limit,
                      struct elf_section *section, struct status *status);

/* The same of a cubin: relocated addresses are offsets in the file. False also without relocations.
 */
bool elf_object_section_copy(const struct elf_source *source, const char *name, uint64_t limit,
                             struct elf_section *section, struct status *status);

/* Addresses of variables and functions by name, from .symtab or .dynsym, before relocation; 0: not
 * found. False: no symbol table can be read. */
bool elf_find_symbols(const struct elf_source *source, const char *const *names, size_t count,
                      uint64_t *addresses, struct status *status);

/* The address of a file offset, before relocation. */
bool elf_address(const struct elf *elf, uint64_t offset, uint64_t *address);
/* The file offset of such an address. */
bool elf_offset(const struct elf *elf, uint64_t address, uint64_t *offset);
/* The name of the function at such an address, or "", and where it starts. */
struct text elf_function_at(const struct elf *elf, uint64_t address, uint64_t *start);

#endif
