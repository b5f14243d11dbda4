/* Which entry of call frame information is that of an address? The section .eh_frame_hdr of a file
 * lists them in order. Addresses are those of the file, before the image is moved to its place.
 */
#ifndef RIDGE_RECORD_SYMBOLS_UNWIND_TABLE_H
#define RIDGE_RECORD_SYMBOLS_UNWIND_TABLE_H

#include "record/symbols/cfi.h"
#include "record/symbols/elf.h"

/* A zeroed one has no entries. */
struct unwind_table {
    uint8_t *eh_frame_hdr, *eh_frame; /* copies, as the file may change */
    uint64_t eh_frame_hdr_address, eh_frame_address;
    size_t eh_frame_bytes;
    const uint8_t *rows; /* in the eh_frame_hdr: code and entry, as distances from it */
    size_t count;
};

/* False when the file has none, or one of an unknown form. */
bool unwind_table_read(struct unwind_table *table, const struct elf *elf,
                       const struct elf_source *source, struct status *status);
void unwind_table_finish(struct unwind_table *table);
bool unwind_table_find(const struct unwind_table *table, uint64_t address, struct cfi_fde *entry);

#endif
