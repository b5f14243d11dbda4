/* One pass over all programs finds the sequences of rows and their addresses. A lookup executes the
 * one sequence that contains the address, so that no table of all rows is kept. Format: DWARF 5,
 * section 6.2.
 */
#include "base/line_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/dwarf_bytes.h"
#include "base/memory.h"
#include "base/search.h"

#define SECTION_BYTES_MAX ((uint64_t)1 << 28)

enum {
    DW_LNS_copy = 1,
    DW_LNS_advance_pc,
    DW_LNS_advance_line,
    DW_LNS_set_file,
    DW_LNS_set_column,
    DW_LNS_negate_stmt,
    DW_LNS_set_basic_block,
    DW_LNS_const_add_pc,
    DW_LNS_fixed_advance_pc,
    DW_LNE_end_sequence = 1,
    DW_LNE_set_address = 2,
    DW_LNCT_path = 1,
    DW_LNCT_directory_index = 2,
};

enum {
    DW_FORM_block2 = 0x03,
    DW_FORM_block4 = 0x04,
    DW_FORM_data2 = 0x05,
    DW_FORM_data4 = 0x06,
    DW_FORM_data8 = 0x07,
    DW_FORM_string = 0x08,
    DW_FORM_block = 0x09,
    DW_FORM_block1 = 0x0a,
    DW_FORM_data1 = 0x0b,
    DW_FORM_sdata = 0x0d,
    DW_FORM_strp = 0x0e,
    DW_FORM_udata = 0x0f,
    DW_FORM_data16 = 0x1e,
    DW_FORM_line_strp = 0x1f,
};

/* A sequence: rows of increasing addresses. */
struct line_sequence {
    uint64_t start, end;
    uint32_t unit;    /* offset of its header in the section */
    uint32_t program; /* offset of its first opcode */
};

struct header {
    unsigned version;
    size_t offset_bytes;                    /* 4, or 8 in the 64-bit format */
    uint64_t instruction_bytes, operations; /* minimum length; operations of an instruction */
    int8_t line_base;
    uint8_t line_range, opcode_base;
    const uint8_t *opcode_lengths;
    struct dwarf_bytes tables, program; /* folders and files; opcodes */
};

/* ---- Headers ------------------------------------------------------------------------------- */

static struct dwarf_bytes bytes_from(const struct line_table *table, size_t offset) {
    const uint8_t *end = table->line.bytes + table->line.length;
    return (struct dwarf_bytes){table->line.bytes + offset, end, false};
}

static void skip(struct dwarf_bytes *bytes, uint64_t count) {
    if (bytes->failed || count > (uint64_t)(bytes->end - bytes->at))
        bytes->failed = true;
    else
        bytes->at += count;
}

/* The unit's content; *next is the offset of the unit after it. */
static bool read_unit(const struct line_table *table, size_t offset, struct dwarf_bytes *unit,
                      size_t *offset_bytes, size_t *next) {
    *unit = bytes_from(table, offset);
    uint64_t length = dwarf_read_fixed(unit, 4);
    *offset_bytes = length == 0xffffffff ? 8 : 4;
    if (*offset_bytes == 8)
        length = dwarf_read_fixed(unit, 8);
    if (unit->failed || length > (uint64_t)(unit->end - unit->at))
        return false;
    unit->end = unit->at + length;
    *next = (size_t)(unit->end - table->line.bytes);
    return true;
}

static bool read_header(struct dwarf_bytes unit, size_t offset_bytes, struct header *header) {
    *header = (struct header){.offset_bytes = offset_bytes};
    header->version = (unsigned)dwarf_read_fixed(&unit, 2);
    if (header->version < 2 || header->version > 5)
        return false;
    if (header->version == 5)
        skip(&unit, 2); /* sizes of addresses and of segment selectors */
    uint64_t length = dwarf_read_fixed(&unit, offset_bytes);
    if (unit.failed || length > (uint64_t)(unit.end - unit.at))
        return false;
    header->program = (struct dwarf_bytes){unit.at + length, unit.end, false};
    unit.end = unit.at + length;
    header->instruction_bytes = dwarf_read_fixed(&unit, 1);
    header->operations = header->version >= 4 ? dwarf_read_fixed(&unit, 1) : 1;
    skip(&unit, 1); /* default_is_stmt */
    header->line_base = (int8_t)dwarf_read_fixed(&unit, 1);
    header->line_range = (uint8_t)dwarf_read_fixed(&unit, 1);
    header->opcode_base = (uint8_t)dwarf_read_fixed(&unit, 1);
    header->opcode_lengths = unit.at;
    skip(&unit, header->opcode_base ? header->opcode_base - 1u : 0);
    header->tables = unit;
    return !unit.failed && header->line_range > 0 && header->opcode_base > 0 &&
           header->operations > 0;
}

/* ---- Folders and files --------------------------------------------------------------------- */

static struct text read_string(struct dwarf_bytes *bytes) {
    size_t length =
        bytes->failed ? 0 : strnlen((const char *)bytes->at, (size_t)(bytes->end - bytes->at));
    struct text text = {(const char *)bytes->at, length};
    skip(bytes, length + 1);
    return bytes->failed ? TEXT("") : text;
}

static struct text string_at(const struct elf_section *section, uint64_t offset) {
    if (offset >= section->length)
        return TEXT("");
    const char *text = (const char *)section->bytes + offset;
    return (struct text){text, strnlen(text, section->length - offset)};
}

/* A value of an entry: a string or a number. */
struct value {
    struct text text;
    uint64_t number;
};

static struct value read_value(const struct line_table *table, const struct header *header,
                               uint64_t form, struct dwarf_bytes *bytes) {
    struct value value = {.text = TEXT("")};
    switch (form) {
    case DW_FORM_string:
        value.text = read_string(bytes);
        break;
    case DW_FORM_line_strp:
        value.text = string_at(&table->line_strings, dwarf_read_fixed(bytes, header->offset_bytes));
        break;
    case DW_FORM_strp:
        value.text = string_at(&table->strings, dwarf_read_fixed(bytes, header->offset_bytes));
        break;
    case DW_FORM_data1:
        value.number = dwarf_read_fixed(bytes, 1);
        break;
    case DW_FORM_data2:
        value.number = dwarf_read_fixed(bytes, 2);
        break;
    case DW_FORM_data4:
        value.number = dwarf_read_fixed(bytes, 4);
        break;
    case DW_FORM_data8:
        value.number = dwarf_read_fixed(bytes, 8);
        break;
    case DW_FORM_udata:
        value.number = dwarf_read_uleb128(bytes);
        break;
    case DW_FORM_sdata:
        dwarf_read_sleb128(bytes);
        break;
    case DW_FORM_data16:
        skip(bytes, 16);
        break;
    case DW_FORM_block:
        skip(bytes, dwarf_read_uleb128(bytes));
        break;
    case DW_FORM_block1:
        skip(bytes, dwarf_read_fixed(bytes, 1));
        break;
    case DW_FORM_block2:
        skip(bytes, dwarf_read_fixed(bytes, 2));
        break;
    case DW_FORM_block4:
        skip(bytes, dwarf_read_fixed(bytes, 4));
        break;
    default:
        bytes->failed = true;
    }
    return value;
}

struct entry {
    struct text path;
    uint64_t folder;
};

/* Version 5: a table describes its own entries. Reads one table and leaves `bytes` behind it. */
static bool read_described_table(const struct line_table *table, const struct header *header,
                                 struct dwarf_bytes *bytes, uint64_t index, struct entry *entry) {
    unsigned columns = (unsigned)dwarf_read_fixed(bytes, 1);
    struct dwarf_bytes format = *bytes;
    for (unsigned i = 0; i < columns; i++) {
        dwarf_read_uleb128(bytes);
        dwarf_read_uleb128(bytes);
    }
    uint64_t count = dwarf_read_uleb128(bytes);
    *entry = (struct entry){.path = TEXT("")};
    for (uint64_t i = 0; i < count && columns && !bytes->failed; i++) {
        struct dwarf_bytes column = format;
        const uint8_t *start = bytes->at;
        for (unsigned c = 0; c < columns; c++) {
            uint64_t content = dwarf_read_uleb128(&column), form = dwarf_read_uleb128(&column);
            struct value value = read_value(table, header, form, bytes);
            if (i == index && content == DW_LNCT_path)
                entry->path = value.text;
            else if (i == index && content == DW_LNCT_directory_index)
                entry->folder = value.number;
        }
        if (bytes->at == start)
            return false;
    }
    return !bytes->failed && index < count;
}

static bool find_described_file(const struct line_table *table, const struct header *header,
                                uint64_t index, struct line_place *place) {
    struct dwarf_bytes folders = header->tables, files = folders;
    struct entry entry, folder, base;
    read_described_table(table, header, &files, UINT64_MAX, &base);
    if (!read_described_table(table, header, &files, index, &entry))
        return false;
    struct dwarf_bytes again = folders;
    if (!read_described_table(table, header, &folders, 0, &base) ||
        !read_described_table(table, header, &again, entry.folder, &folder))
        base.path = folder.path = TEXT("");
    place->base = base.path;
    place->folder = entry.folder ? folder.path : TEXT("");
    place->file = entry.path;
    return entry.path.length > 0;
}

/* To version 4: folders, then files with three numbers each; an empty string ends a table. Folder 0
 * is that of the compilation, which is not in the table. */
static bool find_listed_file(const struct header *header, uint64_t index,
                             struct line_place *place) {
    struct dwarf_bytes folders = header->tables, files = folders;
    while (read_string(&files).length > 0)
        ;
    struct text name = {"", 0};
    uint64_t folder = 0;
    for (uint64_t i = 1; i <= index; i++) {
        name = read_string(&files);
        if (name.length == 0)
            return false;
        folder = dwarf_read_uleb128(&files);
        dwarf_read_uleb128(&files); /* modification time */
        dwarf_read_uleb128(&files); /* bytes */
    }
    place->base = place->folder = TEXT("");
    for (uint64_t i = 1; i <= folder; i++) {
        place->folder = read_string(&folders);
        if (place->folder.length == 0)
            break;
    }
    place->file = name;
    return name.length > 0;
}

/* ---- Programs ------------------------------------------------------------------------------ */

struct row {
    uint64_t address, file;
    int64_t line;
    bool ends_sequence;
};

struct machine {
    const struct header *header;
    struct dwarf_bytes bytes;
    struct row row;
    uint64_t operation; /* index in the instruction */
};

static struct machine machine_at(const struct header *header, const uint8_t *opcode) {
    return (struct machine){
        .header = header,
        .bytes = {opcode, header->program.end, false},
        .row = {.file = 1, .line = 1},
    };
}

static void advance(struct machine *machine, uint64_t operations) {
    const struct header *header = machine->header;
    uint64_t at = machine->operation + operations;
    machine->row.address += header->instruction_bytes * (at / header->operations);
    machine->operation = at % header->operations;
}

static void execute_special(struct machine *machine, unsigned opcode) {
    unsigned adjusted = opcode - machine->header->opcode_base;
    advance(machine, adjusted / machine->header->line_range);
    machine->row.line =
        (int64_t)((uint64_t)machine->row.line + (uint64_t)(int64_t)machine->header->line_base +
                  adjusted % machine->header->line_range);
}

static void execute_extended(struct machine *machine) {
    uint64_t length = dwarf_read_uleb128(&machine->bytes);
    struct dwarf_bytes content = machine->bytes;
    skip(&machine->bytes, length);
    if (machine->bytes.failed || length == 0)
        return;
    content.end = machine->bytes.at;
    uint8_t opcode = (uint8_t)dwarf_read_fixed(&content, 1);
    if (opcode == DW_LNE_end_sequence) {
        machine->row.ends_sequence = true;
    } else if (opcode == DW_LNE_set_address && length <= 9) {
        machine->row.address = dwarf_read_fixed(&content, length - 1);
        machine->operation = 0;
    }
}

/* True when the opcode emits a row. */
static bool execute_standard(struct machine *machine, unsigned opcode) {
    struct dwarf_bytes *bytes = &machine->bytes;
    switch (opcode) {
    case DW_LNS_copy:
        return true;
    case DW_LNS_advance_pc:
        advance(machine, dwarf_read_uleb128(bytes));
        return false;
    case DW_LNS_advance_line:
        machine->row.line =
            (int64_t)((uint64_t)machine->row.line + (uint64_t)dwarf_read_sleb128(bytes));
        return false;
    case DW_LNS_set_file:
        machine->row.file = dwarf_read_uleb128(bytes);
        return false;
    case DW_LNS_const_add_pc:
        advance(machine, (255u - machine->header->opcode_base) / machine->header->line_range);
        return false;
    case DW_LNS_fixed_advance_pc:
        machine->row.address += dwarf_read_fixed(bytes, 2);
        machine->operation = 0;
        return false;
    default:
        for (unsigned i = machine->header->opcode_lengths[opcode - 1]; i > 0; i--)
            dwarf_read_uleb128(bytes);
        return false;
    }
}

/* Executes opcodes up to the next row. False at the end of the program, or where it is damaged. */
static bool next_row(struct machine *machine) {
    machine->row.ends_sequence = false;
    while (!machine->bytes.failed && machine->bytes.at < machine->bytes.end) {
        unsigned opcode = *machine->bytes.at++;
        bool emits = false;
        if (opcode >= machine->header->opcode_base) {
            execute_special(machine, opcode);
            emits = true;
        } else if (opcode == 0) {
            execute_extended(machine);
            emits = machine->row.ends_sequence;
        } else {
            emits = execute_standard(machine, opcode);
        }
        if (emits)
            return !machine->bytes.failed;
    }
    return false;
}

/* ---- Index --------------------------------------------------------------------------------- */

static bool add_sequence(struct line_table *table, const struct line_sequence *sequence,
                         struct status *status) {
    if (!GROW(table->sequences, &table->capacity, table->count + 1, status))
        return false;
    table->sequences[table->count++] = *sequence;
    return true;
}

/* Functions that the linker has discarded have the address 0 or the highest ones. */
static bool is_linked(const struct line_sequence *sequence) {
    return sequence->start > 0 && sequence->end > sequence->start && sequence->end < UINT64_MAX - 8;
}

static bool index_unit(struct line_table *table, const struct header *header, size_t unit,
                       struct status *status) {
    struct machine machine = machine_at(header, header->program.at);
    const uint8_t *section = table->line.bytes, *first = machine.bytes.at;
    struct line_sequence sequence = {.unit = (uint32_t)unit};
    bool is_open = false;
    while (next_row(&machine)) {
        if (!is_open)
            sequence.start = machine.row.address;
        is_open = true;
        if (!machine.row.ends_sequence)
            continue;
        sequence.end = machine.row.address;
        sequence.program = (uint32_t)(first - section);
        if (is_linked(&sequence) && !add_sequence(table, &sequence, status))
            return false;
        first = machine.bytes.at;
        machine = machine_at(header, first);
        is_open = false;
    }
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct line_sequence *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->program < y->program ? -1 : x->program > y->program;
}

bool line_table_index(struct line_table *table, struct status *status) {
    size_t offset = 0, next, offset_bytes;
    struct dwarf_bytes unit;
    while (offset < table->line.length && read_unit(table, offset, &unit, &offset_bytes, &next)) {
        struct header header;
        if (read_header(unit, offset_bytes, &header) && !index_unit(table, &header, offset, status))
            return false;
        offset = next;
    }
    if (table->count)
        qsort(table->sequences, table->count, sizeof *table->sequences, by_start);
    return true;
}

/* A section that need not be there. */
static bool read_optional(const struct elf_source *source, const char *name,
                          struct elf_section *section, struct status *status) {
    struct status failure = {0};
    if (elf_section_copy(source, name, SECTION_BYTES_MAX, section, &failure) ||
        failure.code != STATUS_MEMORY)
        return true;
    *status = failure;
    return false;
}

static bool read_strings_and_index(struct line_table *table, const struct elf_source *source,
                                   struct status *status) {
    if (read_optional(source, ".debug_line_str", &table->line_strings, status) &&
        read_optional(source, ".debug_str", &table->strings, status) &&
        line_table_index(table, status))
        return true;
    line_table_finish(table);
    return false;
}

bool line_table_read(struct line_table *table, const struct elf_source *source,
                     struct status *status) {
    *table = (struct line_table){0};
    return elf_section_copy(source, ".debug_line", SECTION_BYTES_MAX, &table->line, status) &&
           read_strings_and_index(table, source, status);
}

bool line_table_read_object(struct line_table *table, const struct elf_source *source,
                            struct status *status) {
    *table = (struct line_table){0};
    return elf_object_section_copy(source, ".debug_line", SECTION_BYTES_MAX, &table->line,
                                   status) &&
           read_strings_and_index(table, source, status);
}

void line_table_finish(struct line_table *table) {
    memory_free(table->line.bytes);
    memory_free(table->line_strings.bytes);
    memory_free(table->strings.bytes);
    memory_free(table->sequences);
    *table = (struct line_table){0};
}

/* ---- Lookup -------------------------------------------------------------------------------- */

static bool find_row(const struct header *header, const uint8_t *program, uint64_t address,
                     struct row *found) {
    struct machine machine = machine_at(header, program);
    bool is_found = false;
    while (next_row(&machine) && machine.row.address <= address && !machine.row.ends_sequence) {
        *found = machine.row;
        is_found = true;
    }
    return is_found && found->line > 0 && found->line <= INT32_MAX;
}

bool line_table_find(const struct line_table *table, uint64_t address, struct line_place *place) {
    size_t low = 0, offset_bytes, next;
    PARTITION_POINT(low, table->count, i, table->sequences[i].start <= address);
    if (low == 0 || address >= table->sequences[low - 1].end)
        return false;
    const struct line_sequence *sequence = &table->sequences[low - 1];
    struct dwarf_bytes unit;
    struct header header;
    struct row row;
    if (!read_unit(table, sequence->unit, &unit, &offset_bytes, &next) ||
        !read_header(unit, offset_bytes, &header) ||
        !find_row(&header, table->line.bytes + sequence->program, address, &row))
        return false;
    place->line = (uint32_t)row.line;
    return header.version == 5 ? find_described_file(table, &header, row.file, place)
                               : find_listed_file(&header, row.file, place);
}

static bool is_absolute(struct text path) {
    return path.length > 0 && path.data[0] == '/';
}

void line_place_path(const struct line_place *place, struct buffer *path) {
    const struct text parts[] = {place->base, place->folder, place->file};
    unsigned first = is_absolute(place->file) ? 2 : is_absolute(place->folder) ? 1 : 0;
    for (unsigned i = first; i < 3; i++) {
        buffer_text(path, parts[i]);
        if (i < 2 && parts[i].length > 0)
            buffer_byte(path, '/');
    }
}
