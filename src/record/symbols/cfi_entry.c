/* Reads the numbers and pointers of call frame information, and entries of it: an FDE with the CIE
 * that it points to. */
#include "record/symbols/cfi.h"

#include <string.h>

/* DW_EH_PE_: how a pointer is written, and what it is relative to. */
enum {
    FORM_ABSOLUTE = 0x00,
    FORM_UNSIGNED = 0x01,
    FORM_2 = 0x02,
    FORM_4 = 0x03,
    FORM_8 = 0x04,
    FORM_SIGNED = 0x09,
    FORM_SIGNED_2 = 0x0a,
    FORM_SIGNED_4 = 0x0b,
    FORM_SIGNED_8 = 0x0c,
    FORMS = 0x0f,
    FROM_HERE = 0x10,
    FROM = 0x70,
};

uint64_t cfi_fixed(struct cfi_bytes *bytes, size_t width) {
    uint64_t value = 0;
    if (bytes->failed || (size_t)(bytes->end - bytes->at) < width) {
        bytes->failed = true;
        return 0;
    }
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)bytes->at[i] << (8 * i);
    bytes->at += width;
    return value;
}

int64_t cfi_fixed_signed(struct cfi_bytes *bytes, size_t width) {
    unsigned unused = (unsigned)(64 - 8 * width);
    return (int64_t)(cfi_fixed(bytes, width) << unused) >> unused;
}

static uint64_t read_leb(struct cfi_bytes *bytes, bool is_signed) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)cfi_fixed(bytes, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return value;
}

uint64_t cfi_unsigned(struct cfi_bytes *bytes) {
    return read_leb(bytes, false);
}

int64_t cfi_signed(struct cfi_bytes *bytes) {
    return (int64_t)read_leb(bytes, true);
}

uint64_t cfi_pointer(struct cfi_bytes *bytes, uint8_t encoding, uint64_t address) {
    uint64_t value = 0, from = (encoding & FROM) == FROM_HERE ? address : 0;
    bool known = (encoding & FROM) == 0 || (encoding & FROM) == FROM_HERE;
    switch (encoding & FORMS) {
    case FORM_ABSOLUTE:
    case FORM_8:
    case FORM_SIGNED_8:
        value = cfi_fixed(bytes, 8);
        break;
    case FORM_UNSIGNED:
        value = cfi_unsigned(bytes);
        break;
    case FORM_SIGNED:
        value = (uint64_t)cfi_signed(bytes);
        break;
    case FORM_2:
        value = cfi_fixed(bytes, 2);
        break;
    case FORM_4:
        value = cfi_fixed(bytes, 4);
        break;
    case FORM_SIGNED_2:
        value = (uint64_t)cfi_fixed_signed(bytes, 2);
        break;
    case FORM_SIGNED_4:
        value = (uint64_t)cfi_fixed_signed(bytes, 4);
        break;
    default:
        known = false;
    }
    bytes->failed |= !known;
    return bytes->failed ? 0 : value + from;
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* What entries have in common: a CIE. */
static bool read_common(struct cfi_bytes bytes, uint64_t address, struct cfi_entry *entry,
                        bool *has_length) {
    const uint8_t *section = bytes.at;
    uint8_t version = (uint8_t)cfi_fixed(&bytes, 1);
    const char *augmentation = (const char *)bytes.at;
    size_t length = strnlen(augmentation, (size_t)(bytes.end - bytes.at));
    bytes.at += length;
    cfi_fixed(&bytes, 1);
    entry->code_alignment_factor = cfi_unsigned(&bytes);
    entry->data_alignment_factor = cfi_signed(&bytes);
    entry->return_register = (uint8_t)(version == 1 ? cfi_fixed(&bytes, 1) : cfi_unsigned(&bytes));
    *has_length = length > 0 && augmentation[0] == 'z';
    if (bytes.failed || (version != 1 && version != 3) || (length > 0 && !*has_length))
        return false;
    uint64_t rest = *has_length ? cfi_unsigned(&bytes) : 0;
    if (bytes.failed || rest > (uint64_t)(bytes.end - bytes.at))
        return false;
    const uint8_t *program = bytes.at + rest;
    for (size_t i = 1; i < length; i++)
        switch (augmentation[i]) {
        case 'R':
            entry->encoding = (uint8_t)cfi_fixed(&bytes, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)cfi_fixed(&bytes, 1);
            /* only its length matters: it may lie behind another pointer */
            cfi_pointer(&bytes, encoding & FORMS, address + (uint64_t)(bytes.at - section));
            break;
        }
        case 'L':
            cfi_fixed(&bytes, 1);
            break;
        case 'S':
            entry->is_signal_frame = true;
            break;
        case 'B': /* return addresses are signed with arm64's second key */
            break;
        default: /* what it means is not known, but where it ends is */
            i = length;
        }
    entry->begins = (struct cfi_bytes){program, bytes.end, false};
    return !bytes.failed && entry->return_register < CFI_REGISTERS;
}

/* The bytes of the record at an offset, without its length. */
static bool record_at(const uint8_t *section, size_t length, uint64_t offset,
                      struct cfi_bytes *record) {
    enum { LONGER = 0xfffffff0 };
    if (offset >= length)
        return false;
    *record = (struct cfi_bytes){section + offset, section + length, false};
    uint64_t bytes = cfi_fixed(record, 4);
    if (record->failed || bytes < 4 || bytes >= LONGER ||
        bytes > (uint64_t)(record->end - record->at))
        return false;
    record->end = record->at + bytes;
    return true;
}

bool cfi_entry_read(const uint8_t *section, size_t length, uint64_t address, uint64_t offset,
                    struct cfi_entry *entry) {
    struct cfi_bytes bytes, common;
    bool has_length = false;
    *entry = (struct cfi_entry){0};
    if (!record_at(section, length, offset, &bytes))
        return false;
    uint64_t at = (uint64_t)(bytes.at - section), back = cfi_fixed(&bytes, 4);
    if (back == 0 || back > at || !record_at(section, length, at - back, &common) ||
        cfi_fixed(&common, 4) != 0 ||
        !read_common(common, address + (uint64_t)(common.at - section), entry, &has_length))
        return false;
    entry->start = cfi_pointer(&bytes, entry->encoding, address + (uint64_t)(bytes.at - section));
    uint64_t code = cfi_pointer(&bytes, entry->encoding & FORMS, 0);
    uint64_t skipped = has_length ? cfi_unsigned(&bytes) : 0;
    if (bytes.failed || skipped > (uint64_t)(bytes.end - bytes.at) ||
        __builtin_add_overflow(entry->start, code, &entry->end))
        return false;
    bytes.at += skipped;
    entry->changes = bytes;
    entry->changes_address = address + (uint64_t)(bytes.at - section);
    return true;
}
