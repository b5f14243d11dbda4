/* Copies the list and as much of .eh_frame as it points to: how long that section is says only a
 * table of sections, which a file need not have. */
#include "record/symbols/unwind_table.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

enum { VERSION = 1, COUNT_OF_4_BYTES = 0x03, PAIRS_FROM_HEADER = 0x3b, PAIR_BYTES = 8 };
#define HEADER_BYTES_MAX ((uint64_t)1 << 28)
#define FRAMES_BYTES_MAX ((uint64_t)1 << 30)

static int64_t distance_at(const uint8_t *at) {
    struct cfi_bytes bytes = {at, at + 4, false};
    return cfi_fixed_signed(&bytes, 4);
}

static uint64_t code_of(const struct unwind_table *table, size_t index) {
    return table->header_address + (uint64_t)distance_at(table->pairs + index * PAIR_BYTES);
}

static uint64_t entry_of(const struct unwind_table *table, size_t index) {
    return table->header_address + (uint64_t)distance_at(table->pairs + index * PAIR_BYTES + 4);
}

static bool read_header(struct unwind_table *table, size_t length) {
    struct cfi_bytes bytes = {table->header, table->header + length, false};
    uint8_t version = (uint8_t)cfi_fixed(&bytes, 1), frames = (uint8_t)cfi_fixed(&bytes, 1),
            count = (uint8_t)cfi_fixed(&bytes, 1), pairs = (uint8_t)cfi_fixed(&bytes, 1);
    if (version != VERSION || count != COUNT_OF_4_BYTES || pairs != PAIRS_FROM_HEADER)
        return false;
    table->frames_address =
        cfi_pointer(&bytes, frames, table->header_address + (uint64_t)(bytes.at - table->header));
    table->count = cfi_fixed(&bytes, 4);
    table->pairs = bytes.at;
    return !bytes.failed && table->count > 0 &&
           table->count <= (size_t)(bytes.end - bytes.at) / PAIR_BYTES;
}

static bool copy_frames(struct unwind_table *table, const struct elf *elf,
                        const struct elf_source *source, struct status *status) {
    uint64_t last = 0, offset, last_offset;
    uint8_t length[4];
    for (size_t i = 0; i < table->count; i++)
        if (entry_of(table, i) > last)
            last = entry_of(table, i);
    if (last < table->frames_address || !elf_offset(elf, table->frames_address, &offset) ||
        !elf_offset(elf, last, &last_offset) || last_offset < offset ||
        !elf_source_read(source, last_offset, length, sizeof length))
        return status_fail(status, STATUS_INPUT, "the tables for unwinding lie outside the file");
    struct cfi_bytes bytes = {length, length + 4, false};
    table->frames_bytes = last_offset - offset + 4 + cfi_fixed(&bytes, 4);
    table->frames = elf_source_copy(source, offset, table->frames_bytes, FRAMES_BYTES_MAX, status);
    return table->frames != NULL;
}

bool unwind_table_read(struct unwind_table *table, const struct elf *elf,
                       const struct elf_source *source, struct status *status) {
    const struct elf_segment *where = &elf->unwinding;
    *table = (struct unwind_table){.header_address = where->address};
    if (where->bytes == 0)
        return status_fail(status, STATUS_UNSUPPORTED, "the file has no tables for unwinding");
    table->header = elf_source_copy(source, where->offset, where->bytes, HEADER_BYTES_MAX, status);
    bool ok = table->header != NULL;
    if (ok && !read_header(table, (size_t)where->bytes))
        ok = status_fail(status, STATUS_UNSUPPORTED,
                         "the file's tables for unwinding have an unknown form");
    ok = ok && copy_frames(table, elf, source, status);
    if (!ok)
        unwind_table_finish(table);
    return ok;
}

void unwind_table_finish(struct unwind_table *table) {
    memory_free(table->header);
    memory_free(table->frames);
    *table = (struct unwind_table){0};
}

bool unwind_table_find(const struct unwind_table *table, uint64_t address,
                       struct cfi_entry *entry) {
    size_t low = 0;
    PARTITION_POINT(low, table->count, i, code_of(table, i) <= address);
    return low > 0 &&
           cfi_entry_read(table->frames, table->frames_bytes, table->frames_address,
                          entry_of(table, low - 1) - table->frames_address, entry) &&
           address >= entry->start && address < entry->end;
}
