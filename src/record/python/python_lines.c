/* Three formats: co_lnotab to 3.9, co_linetable of 3.10 (PEP 626), and the location table from 3.11
 * on. The tables come from the recorded process and may contain any bytes.
 */
#include "record/python/python_lines.h"

enum { NO_LINE = -128, UNIT = 2 /* bytes of an instruction */ };

/* Kinds of entries in a location table. */
enum { ONE_LINE_FIRST = 10, NO_COLUMNS = 13, LONG_FORM = 14, NO_LOCATION = 15 };

static uint32_t valid_line(int64_t line) {
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of increments of address and line. */
static uint32_t line_in_lnotab(const struct python_line_table *table, int64_t offset) {
    int64_t line = table->first_line, address = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        address += table->bytes[i];
        if (address > offset)
            break;
        line += (int8_t)table->bytes[i + 1];
    }
    return valid_line(line);
}

/* Pairs of the length of a range of instructions and the increment of its line. */
static uint32_t line_in_linetable(const struct python_line_table *table, int64_t offset) {
    int64_t line = table->first_line, end = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        int8_t increment = (int8_t)table->bytes[i + 1];
        end += table->bytes[i];
        if (increment != NO_LINE)
            line += increment;
        if (offset < end)
            return increment == NO_LINE ? 0 : valid_line(line);
    }
    return 0;
}

/* Six bits a byte, the least significant first; bit 6 is set where more follow. The sign is in the
 * lowest bit. */
static int64_t read_signed(const struct python_line_table *table, size_t at) {
    uint64_t value = 0;
    for (unsigned shift = 0; at < table->length && shift < 36; shift += 6) {
        uint8_t byte = table->bytes[at++];
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* The first byte of an entry has bit 7 set: kind, and the number of instructions. */
static uint32_t line_in_locations(const struct python_line_table *table, int64_t offset) {
    int64_t line = table->first_line, end = 0;
    for (size_t i = 0; i < table->length; i++) {
        uint8_t first = table->bytes[i];
        if (!(first & 0x80))
            continue;
        unsigned kind = first >> 3 & 15;
        end += ((first & 7) + 1) * UNIT;
        if (kind == NO_COLUMNS || kind == LONG_FORM)
            line += read_signed(table, i + 1);
        else if (kind >= ONE_LINE_FIRST && kind < NO_COLUMNS)
            line += kind - ONE_LINE_FIRST;
        if (offset < end)
            return kind == NO_LOCATION ? 0 : valid_line(line);
    }
    return 0;
}

uint32_t python_line(const struct python_line_table *table, int64_t offset) {
    if (offset < 0)
        return valid_line(table->first_line);
    switch (table->format) {
    case SPOOL_LNOTAB:
        return line_in_lnotab(table, offset);
    case SPOOL_LINETABLE:
        return line_in_linetable(table, offset);
    case SPOOL_LOCATIONS:
        return line_in_locations(table, offset);
    default:
        return 0;
    }
}
