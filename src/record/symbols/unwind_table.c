/* Copies the search table and as much of .eh_frame as it refers to. The length of .eh_frame is only
 * in the section headers, which a file need not have. */
#include "record/symbols/unwind_table.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

enum {
    EH_FRAME_HDR_VERSION = 1,
    DW_EH_PE_udata4 = 0x03,
    DW_EH_PE_datarel_sdata4 = 0x3b,
    ROW_BYTES = 8
};
#define HEADER_BYTES_MAX ((uint64_t)1 << 28)
#define FRAMES_BYTES_MAX ((uint64_t)1 << 30)

static int64_t read_offset(const uint8_t *at) {
    struct dwarf_bytes bytes = {at, at + 4, false};
    return dwarf_read_fixed_signed(&bytes, 4);
}

static uint64_t function_address(const struct unwind_table *table, size_t index) {
    return table->eh_frame_hdr_address + (uint64_t)read_offset(table->rows + index * ROW_BYTES);
}

static uint64_t fde_address(const struct unwind_table *table, size_t index) {
    return table->eh_frame_hdr_address + (uint64_t)read_offset(table->rows + index * ROW_BYTES + 4);
}

static bool read_header(struct unwind_table *table, size_t length) {
    struct dwarf_bytes bytes = {table->eh_frame_hdr, table->eh_frame_hdr + length, false};
    uint8_t version = (uint8_t)dwarf_read_fixed(&bytes, 1),
            eh_frame = (uint8_t)dwarf_read_fixed(&bytes, 1),
            count = (uint8_t)dwarf_read_fixed(&bytes, 1),
            rows = (uint8_t)dwarf_read_fixed(&bytes, 1);
    if (version != EH_FRAME_HDR_VERSION || count != DW_EH_PE_udata4 ||
        rows != DW_EH_PE_datarel_sdata4)
        return false;
    table->eh_frame_address = cfi_read_pointer(
        &bytes, eh_frame, table->eh_frame_hdr_address + (uint64_t)(bytes.at - table->eh_frame_hdr));
    table->count = dwarf_read_fixed(&bytes, 4);
    table->rows = bytes.at;
    return !bytes.failed && table->count > 0 &&
           table->count <= (size_t)(bytes.end - bytes.at) / ROW_BYTES;
}

static bool copy_eh_frame(struct unwind_table *table, const struct elf *elf,
                          const struct elf_source *source, struct status *status) {
    uint64_t last = 0, offset, last_offset;
    uint8_t length[4];
    for (size_t i = 0; i < table->count; i++)
        if (fde_address(table, i) > last)
            last = fde_address(table, i);
    if (last < table->eh_frame_address || !elf_offset(elf, table->eh_frame_address, &offset) ||
        !elf_offset(elf, last, &last_offset) || last_offset < offset ||
        !elf_source_read(source, last_offset, length, sizeof length))
        return status_fail(status, STATUS_INPUT, ".eh_frame lies outside the file");
    struct dwarf_bytes bytes = {length, length + 4, false};
    table->eh_frame_bytes = last_offset - offset + 4 + dwarf_read_fixed(&bytes, 4);
    table->eh_frame =
        elf_source_copy(source, offset, table->eh_frame_bytes, FRAMES_BYTES_MAX, status);
    return table->eh_frame != NULL;
}

bool unwind_table_read(struct unwind_table *table, const struct elf *elf,
                       const struct elf_source *source, struct status *status) {
    const struct elf_segment *segment = &elf->eh_frame_hdr;
    *table = (struct unwind_table){.eh_frame_hdr_address = segment->address};
    if (segment->bytes == 0)
        return status_fail(status, STATUS_UNSUPPORTED, "the file has no .eh_frame_hdr");
    table->eh_frame_hdr =
        elf_source_copy(source, segment->offset, segment->bytes, HEADER_BYTES_MAX, status);
    bool ok = table->eh_frame_hdr != NULL;
    if (ok && !read_header(table, (size_t)segment->bytes))
        ok = status_fail(status, STATUS_UNSUPPORTED, "unknown encoding in .eh_frame_hdr");
    ok = ok && copy_eh_frame(table, elf, source, status);
    if (!ok)
        unwind_table_finish(table);
    return ok;
}

void unwind_table_finish(struct unwind_table *table) {
    memory_free(table->eh_frame_hdr);
    memory_free(table->eh_frame);
    *table = (struct unwind_table){0};
}

bool unwind_table_find(const struct unwind_table *table, uint64_t address, struct cfi_fde *fde) {
    size_t low = 0;
    PARTITION_POINT(low, table->count, i, function_address(table, i) <= address);
    return low > 0 &&
           cfi_fde_read(table->eh_frame, table->eh_frame_bytes, table->eh_frame_address,
                        fde_address(table, low - 1) - table->eh_frame_address, fde) &&
           address >= fde->start && address < fde->end;
}
