/* Finds the FDE of an address with the binary search table of .eh_frame_hdr. Addresses are those of
 * the ELF file, before relocation.
 */
#ifndef RIDGE_RECORD_SYMBOLS_UNWIND_TABLE_H
#define RIDGE_RECORD_SYMBOLS_UNWIND_TABLE_H

#include "abi/cfi.h"
#include "base/elf.h"

/* Zero-initialized: empty. */
struct unwind_table {
    uint8_t *eh_frame_hdr, *eh_frame; /* copies, because the file may change */
    uint64_t eh_frame_hdr_address, eh_frame_address;
    size_t eh_frame_bytes;
    const uint8_t *rows; /* in eh_frame_hdr: function and FDE, relative to its address */
    size_t count;
};

/* False when the file has no table, or one in an unknown encoding. */
bool unwind_table_read(struct unwind_table *table, const struct elf *elf,
                       const struct elf_source *source, struct status *status);
void unwind_table_finish(struct unwind_table *table);
bool unwind_table_find(const struct unwind_table *table, uint64_t address, struct cfi_fde *fde);

#endif
