/* Feeds any bytes to the reader of call frame information: the first are a stack and registers, the
 * rest is a section. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/cfi.h"
#include "targets.h"

enum { STACK_BYTES = 64, ENTRIES = 64 };

int fuzz_unwind(const uint8_t *bytes, size_t length) {
    if (length < STACK_BYTES)
        return 0;
    struct cfi_memory memory = {bytes, 0x8000, STACK_BYTES};
    const uint8_t *section = bytes + STACK_BYTES;
    length -= STACK_BYTES;
    for (uint64_t offset = 0; offset < length && offset < ENTRIES; offset++) {
        struct cfi_fde entry;
        struct cfi_row row;
        uint64_t registers[CFI_REGISTERS];
        for (unsigned i = 0; i < CFI_REGISTERS; i++)
            registers[i] = 0x8000 + 8 * (i % 8);
        if (!cfi_fde_read(section, length, 0x5000, offset, &entry))
            continue;
        for (uint64_t address = entry.start; address < entry.end && address < entry.start + 8;
             address++)
            if (cfi_row_at(&entry, address, &row))
                cfi_step(&row, 7, 16, &memory, registers);
    }
    return 0;
}
