/* The structures are those of the ELF-64 specification. They are declared here because not every
 * system that ridge builds on has <elf.h>. Sections and tables are read one by one, and each is
 * checked against the length of the file before memory is allocated for it. */
#include "base/elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/search.h"

/* ---- Sources ----------------------------------------------------------------------------- */

bool elf_source_file(struct elf_source *source, int fd, struct status *status) {
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return status_fail(status, STATUS_INPUT, "not a regular file");
    *source = (struct elf_source){.fd = fd, .length = (uint64_t)about.st_size};
    return true;
}

bool elf_source_read(const struct elf_source *source, uint64_t offset, void *to, uint64_t bytes) {
    if (offset > source->length || bytes > source->length - offset)
        return false;
    if (source->fd < 0) {
        memcpy(to, source->bytes + offset, bytes);
        return true;
    }
    for (uint64_t got = 0; got < bytes;) {
        ssize_t n = pread(source->fd, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (uint64_t)n;
    }
    return true;
}

void *elf_source_copy(const struct elf_source *source, uint64_t offset, uint64_t bytes,
                      uint64_t limit, struct status *status) {
    if (bytes > limit || offset > source->length || bytes > source->length - offset) {
        status_fail(status, STATUS_INPUT, "a part of the ELF file lies outside the file");
        return NULL;
    }
    char *part = memory_allocate(bytes + 1, 1, status);
    if (part && !elf_source_read(source, offset, part, bytes)) {
        status_fail(status, STATUS_INPUT, "cannot read the whole ELF file");
        memory_free(part);
        return NULL;
    }
    return part;
}

/* ---- Tables ------------------------------------------------------------------------------ */

struct file_header {
    uint8_t identity[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments_at, sections_at;
    uint32_t flags;
    uint16_t header_bytes, segment_bytes, segment_count, section_bytes, section_count,
        names_section;
};

struct segment_header {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};

struct section_header {
    uint32_t name, type;
    uint64_t flags, address, offset, bytes;
    uint32_t link, info;
    uint64_t alignment, entry_bytes;
};

struct symbol_entry {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, bytes;
};

struct note_header {
    uint32_t name_bytes, content_bytes, type;
};

enum {
    ELFCLASS64 = 2,
    ELFDATA2LSB = 1,
    PT_LOAD = 1,
    PT_NOTE = 4,
    PT_GNU_EH_FRAME = 0x6474e550, /* .eh_frame_hdr */
    SHT_SYMTAB = 2,
    SHT_NOTE = 7,
    SHT_DYNSYM = 11,
    NT_GNU_BUILD_ID = 3,
    STT_FUNC = 2,
    STT_GNU_IFUNC = 10,
    STB_GLOBAL = 1,
    STB_WEAK = 2,
    SHN_UNDEF = 0,
    SHN_XINDEX = 0xffff,
    SHT_NOBITS = 8,
    SHF_COMPRESSED = 0x800,
    ELFCOMPRESS_ZLIB = 1,
    ELFCOMPRESS_ZSTD = 2,
};
#define SYMBOLS_BYTES_MAX ((uint64_t)1 << 30)
#define NAMES_BYTES_MAX ((uint64_t)1 << 30)
#define NOTES_BYTES_MAX ((uint64_t)1 << 16)

static bool read_header(const struct elf_source *source, struct file_header *header,
                        struct status *status) {
    if (!elf_source_read(source, 0, header, sizeof *header) ||
        memcmp(header->identity, "\177ELF", 4) != 0)
        return status_fail(status, STATUS_INPUT, "not an ELF file");
    if (header->identity[4] != ELFCLASS64 || header->identity[5] != ELFDATA2LSB)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "only 64-bit little-endian ELF files are supported");
    return true;
}

static void find_build_id(struct elf *elf, const struct elf_source *source, uint64_t offset,
                          uint64_t bytes) {
    struct status ignored;
    char *notes = elf->build_id_length
                      ? NULL
                      : elf_source_copy(source, offset, bytes, NOTES_BYTES_MAX, &ignored);
    for (size_t at = 0; notes && bytes - at >= sizeof(struct note_header);) {
        struct note_header note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        uint64_t name = ((uint64_t)note.name_bytes + 3) & ~(uint64_t)3;
        uint64_t content = ((uint64_t)note.content_bytes + 3) & ~(uint64_t)3;
        if (name > bytes - at || content > bytes - at - name)
            break;
        if (note.type == NT_GNU_BUILD_ID && note.name_bytes == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.content_bytes <= ELF_BUILD_ID_MAX) {
            memcpy(elf->build_id, notes + at + name, note.content_bytes);
            elf->build_id_length = note.content_bytes;
            break;
        }
        at += name + content;
    }
    memory_free(notes);
}

static bool read_segments(struct elf *elf, const struct elf_source *source,
                          const struct file_header *header, struct status *status) {
    if (header->segment_count == 0)
        return true;
    if (header->segment_bytes != sizeof(struct segment_header))
        return status_fail(status, STATUS_INPUT, "unknown program header size in the ELF file");
    elf->segments = memory_allocate(header->segment_count, sizeof *elf->segments, status);
    struct segment_header *all =
        elf_source_copy(source, header->segments_at, (uint64_t)header->segment_count * sizeof *all,
                        SYMBOLS_BYTES_MAX, status);
    if (!elf->segments || !all) {
        memory_free(all);
        return false;
    }
    for (size_t i = 0; i < header->segment_count; i++) {
        if (all[i].type == PT_LOAD)
            elf->segments[elf->segment_count++] =
                (struct elf_segment){all[i].offset, all[i].address, all[i].file_bytes};
        else if (all[i].type == PT_NOTE)
            find_build_id(elf, source, all[i].offset, all[i].file_bytes);
        else if (all[i].type == PT_GNU_EH_FRAME)
            elf->eh_frame_hdr =
                (struct elf_segment){all[i].offset, all[i].address, all[i].file_bytes};
    }
    memory_free(all);
    return true;
}

/* Among aliases, global names come first, then names with fewer leading underscores. */
static uint32_t name_rank(const struct symbol_entry *symbol, const char *name) {
    unsigned binding = symbol->info >> 4, underscores = 0;
    while (underscores < 15 && name[underscores] == '_')
        underscores++;
    return (binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2) * 16 + underscores;
}

/* All section headers, and those of the symbol table and its string table. */
struct sections {
    struct section_header *items;
    uint64_t count;
    const struct section_header *symbols, *names;
    bool is_object; /* addresses are offsets in the file */
};

/* 0: not in a section of the file. */
static uint64_t symbol_address(const struct symbol_entry *symbol, const struct sections *sections) {
    uint64_t address;
    if (!sections->is_object)
        return symbol->value;
    if (symbol->section >= sections->count ||
        __builtin_add_overflow(sections->items[symbol->section].offset, symbol->value, &address))
        return 0;
    return address;
}

static bool is_function(const struct symbol_entry *symbol, const struct sections *sections) {
    unsigned type = symbol->info & 15;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->section != SHN_UNDEF &&
           symbol_address(symbol, sections) != 0;
}

static int by_address(const void *a, const void *b) {
    const struct elf_function *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void remove_aliases(struct elf *elf) {
    size_t kept = 0;
    for (size_t i = 0; i < elf->function_count; i++)
        if (kept == 0 || elf->functions[kept - 1].address != elf->functions[i].address)
            elf->functions[kept++] = elf->functions[i];
    elf->function_count = kept;
}

/* The end of a function. A symbol without a size extends to the end of its section. */
static uint64_t function_end(const struct symbol_entry *symbol, const struct sections *sections) {
    uint64_t address = symbol_address(symbol, sections), end = address;
    if (symbol->bytes == 0 && symbol->section < sections->count && !sections->is_object) {
        const struct section_header *section = &sections->items[symbol->section];
        if (symbol->value - section->address < section->bytes)
            end = section->address + section->bytes;
    } else if (__builtin_add_overflow(address, symbol->bytes, &end)) {
        end = UINT64_MAX;
    }
    return end;
}

static bool add_functions(struct elf *elf, const struct symbol_entry *symbols, size_t count,
                          const struct sections *sections, struct status *status) {
    size_t functions = 0;
    for (size_t i = 0; i < count; i++)
        functions += is_function(&symbols[i], sections);
    elf->functions = memory_allocate(functions, sizeof *elf->functions, status);
    if (!elf->functions)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct symbol_entry *symbol = &symbols[i];
        if (!is_function(symbol, sections) || symbol->name >= elf->names_length)
            continue;
        const char *name = elf->names + symbol->name;
        if (*name)
            elf->functions[elf->function_count++] = (struct elf_function){
                symbol_address(symbol, sections), function_end(symbol, sections), symbol->name,
                name_rank(symbol, name)};
    }
    qsort(elf->functions, elf->function_count, sizeof *elf->functions, by_address);
    remove_aliases(elf);
    return true;
}

static bool read_symbols(struct elf *elf, const struct elf_source *source,
                         const struct sections *sections, struct status *status) {
    const struct section_header *table = sections->symbols, *names = sections->names;
    struct symbol_entry *symbols =
        elf_source_copy(source, table->offset, table->bytes, SYMBOLS_BYTES_MAX, status);
    elf->names = symbols
                     ? elf_source_copy(source, names->offset, names->bytes, NAMES_BYTES_MAX, status)
                     : NULL;
    elf->names_length = elf->names ? names->bytes : 0;
    bool ok =
        elf->names && add_functions(elf, symbols, table->bytes / sizeof *symbols, sections, status);
    memory_free(symbols);
    return ok;
}

/* Prefers .symtab over .dynsym. */
static void choose_symbol_table(struct elf *elf, struct sections *sections) {
    for (uint64_t i = 0; i < sections->count; i++) {
        const struct section_header *section = &sections->items[i];
        bool full = section->type == SHT_SYMTAB;
        if (section->link >= sections->count ||
            section->entry_bytes != sizeof(struct symbol_entry) ||
            !(full || (section->type == SHT_DYNSYM && !sections->symbols)))
            continue;
        sections->symbols = section;
        sections->names = &sections->items[section->link];
        elf->has_symtab = full;
    }
}

/* All section headers; none is not a failure. Free `items` with memory_free(). */
static bool read_section_headers(const struct elf_source *source, const struct file_header *header,
                                 struct sections *sections, struct status *status) {
    struct section_header first;
    *sections = (struct sections){0};
    if (header->sections_at == 0)
        return true;
    if (header->section_bytes != sizeof first ||
        !elf_source_read(source, header->sections_at, &first, sizeof first))
        return status_fail(status, STATUS_INPUT, "unknown section header size in the ELF file");
    uint64_t count = header->section_count ? header->section_count : first.bytes;
    if (count > SYMBOLS_BYTES_MAX / sizeof first)
        return status_fail(status, STATUS_INPUT, "the ELF file has too many sections");
    sections->items = elf_source_copy(source, header->sections_at, count * sizeof first,
                                      SYMBOLS_BYTES_MAX, status);
    sections->count = sections->items ? count : 0;
    return sections->items != NULL;
}

static bool read_sections(struct elf *elf, const struct elf_source *source,
                          const struct file_header *header, bool is_object, struct status *status) {
    struct sections sections;
    if (!read_section_headers(source, header, &sections, status))
        return false;
    sections.is_object = is_object;
    for (uint64_t i = 0; i < sections.count; i++)
        if (sections.items[i].type == SHT_NOTE)
            find_build_id(elf, source, sections.items[i].offset, sections.items[i].bytes);
    choose_symbol_table(elf, &sections);
    bool ok = !sections.symbols || read_symbols(elf, source, &sections, status);
    memory_free(sections.items);
    return ok;
}

static void match_symbols(const struct symbol_entry *symbols, size_t symbol_count,
                          const char *strings, uint64_t length, const char *const *names,
                          size_t count, uint64_t *addresses) {
    for (size_t i = 0; i < symbol_count; i++) {
        if (symbols[i].section == SHN_UNDEF || symbols[i].name >= length)
            continue;
        for (size_t j = 0; j < count; j++)
            if (strcmp(strings + symbols[i].name, names[j]) == 0)
                addresses[j] = symbols[i].value;
    }
}

bool elf_find_symbols(const struct elf_source *source, const char *const *names, size_t count,
                      uint64_t *addresses, struct status *status) {
    struct file_header header;
    struct sections sections;
    struct elf unused = {0};
    memset(addresses, 0, count * sizeof *addresses);
    if (!read_header(source, &header, status) ||
        !read_section_headers(source, &header, &sections, status))
        return false;
    choose_symbol_table(&unused, &sections);
    const struct section_header *table = sections.symbols, *strings = sections.names;
    struct symbol_entry *symbols =
        table ? elf_source_copy(source, table->offset, table->bytes, SYMBOLS_BYTES_MAX, status)
              : NULL;
    char *texts =
        symbols ? elf_source_copy(source, strings->offset, strings->bytes, NAMES_BYTES_MAX, status)
                : NULL;
    if (texts)
        match_symbols(symbols, table->bytes / sizeof *symbols, texts, strings->bytes, names, count,
                      addresses);
    bool ok = texts != NULL || (!table && status_fail(status, STATUS_INPUT, "no symbol table"));
    memory_free(symbols);
    memory_free(texts);
    memory_free(sections.items);
    return ok;
}

/* ---- Content of a section ---------------------------------------------------------------- */

struct compression_header {
    uint32_t type, reserved;
    uint64_t bytes, alignment;
};

static bool decompress(const uint8_t *from, uint64_t length, uint64_t limit,
                       struct elf_section *section, struct status *status) {
    struct compression_header header;
    if (length < sizeof header)
        return status_fail(status, STATUS_INPUT, "a compressed section is truncated");
    memcpy(&header, from, sizeof header);
    if (header.bytes > limit)
        return status_fail(status, STATUS_INPUT, "a section is too long");
    section->bytes = memory_allocate(header.bytes + 1, 1, status);
    if (!section->bytes)
        return false;
    from += sizeof header;
    length -= sizeof header;
    uLongf made = (uLongf)header.bytes;
    bool ok =
        header.type == ELFCOMPRESS_ZLIB
            ? uncompress(section->bytes, &made, from, (uLong)length) == Z_OK && made == header.bytes
            : header.type == ELFCOMPRESS_ZSTD &&
                  ZSTD_decompress(section->bytes, header.bytes, from, length) == header.bytes;
    section->length = header.bytes;
    return ok || status_fail(status, STATUS_INPUT, "a section cannot be decompressed");
}

static const struct section_header *find_section(const struct elf_source *source,
                                                 const struct sections *sections, uint64_t names,
                                                 const char *name) {
    size_t length = strlen(name) + 1;
    char found[32];
    if (names >= sections->count || length > sizeof found)
        return NULL;
    const struct section_header *table = &sections->items[names];
    for (uint64_t i = 1; i < sections->count; i++) {
        const struct section_header *section = &sections->items[i];
        if (section->type != SHT_NOBITS && section->name < table->bytes &&
            table->bytes - section->name >= length &&
            elf_source_read(source, table->offset + section->name, found, length) &&
            memcmp(found, name, length) == 0)
            return section;
    }
    return NULL;
}

bool elf_section_copy(const struct elf_source *source, const char *name, uint64_t limit,
                      struct elf_section *section, struct status *status) {
    struct file_header header;
    struct sections sections;
    *section = (struct elf_section){0};
    if (!read_header(source, &header, status) ||
        !read_section_headers(source, &header, &sections, status))
        return false;
    uint64_t names = header.names_section == SHN_XINDEX && sections.count ? sections.items[0].link
                                                                          : header.names_section;
    const struct section_header *found = find_section(source, &sections, names, name);
    uint8_t *bytes =
        found ? elf_source_copy(source, found->offset, found->bytes, limit, status) : NULL;
    bool ok = bytes || (!found && status_fail(status, STATUS_INPUT, "no section %s", name));
    if (ok && found->flags & SHF_COMPRESSED) {
        ok = decompress(bytes, found->bytes, limit, section, status);
        memory_free(bytes);
    } else if (ok) {
        *section = (struct elf_section){bytes, found->bytes};
    }
    if (!ok) {
        memory_free(section->bytes);
        *section = (struct elf_section){0};
    }
    memory_free(sections.items);
    return ok;
}

/* ---- Relocations ------------------------------------------------------------------------- */

struct relocation {
    uint64_t offset, info;
};

/* The 64-bit absolute address of a symbol, in the ELF files of NVIDIA's compilers. */
enum { R_CUDA_64 = 2 };

static void relocate(struct elf_section *section, const struct relocation *relocations,
                     size_t count, const struct symbol_entry *symbols, size_t symbol_count,
                     const struct sections *sections) {
    for (size_t i = 0; i < count; i++) {
        uint64_t at = relocations[i].offset, symbol = relocations[i].info >> 32, address, addend;
        if ((uint32_t)relocations[i].info != R_CUDA_64 || symbol >= symbol_count ||
            section->length < sizeof address || at > section->length - sizeof address)
            continue;
        address = symbol_address(&symbols[symbol], sections);
        memcpy(&addend, section->bytes + at, sizeof addend);
        if (address == 0 || __builtin_add_overflow(address, addend, &address))
            address = 0;
        memcpy(section->bytes + at, &address, sizeof address);
    }
}

/* Applies the relocations to a copy of their section. */
static bool relocate_section(const struct elf_source *source, const struct elf_section *relocations,
                             struct elf_section *section, struct status *status) {
    struct file_header header;
    struct sections sections;
    struct elf unused = {0};
    if (!read_header(source, &header, status) ||
        !read_section_headers(source, &header, &sections, status))
        return false;
    sections.is_object = true;
    choose_symbol_table(&unused, &sections);
    const struct section_header *table = sections.symbols;
    struct symbol_entry *symbols =
        table ? elf_source_copy(source, table->offset, table->bytes, SYMBOLS_BYTES_MAX, status)
              : NULL;
    if (symbols)
        relocate(section, (const struct relocation *)(const void *)relocations->bytes,
                 relocations->length / sizeof(struct relocation), symbols,
                 table->bytes / sizeof *symbols, &sections);
    memory_free(symbols);
    memory_free(sections.items);
    return symbols || (!table && status_fail(status, STATUS_INPUT, "no symbol table"));
}

bool elf_object_section_copy(const struct elf_source *source, const char *name, uint64_t limit,
                             struct elf_section *section, struct status *status) {
    char relocation_name[32];
    struct elf_section relocations = {0};
    snprintf(relocation_name, sizeof relocation_name, ".rel%s", name);
    bool ok = elf_section_copy(source, name, limit, section, status) &&
              elf_section_copy(source, relocation_name, limit, &relocations, status) &&
              relocate_section(source, &relocations, section, status);
    memory_free(relocations.bytes);
    if (!ok) {
        memory_free(section->bytes);
        *section = (struct elf_section){0};
    }
    return ok;
}

bool elf_read(struct elf *elf, const struct elf_source *source, struct status *status) {
    struct file_header header;
    *elf = (struct elf){0};
    return read_header(source, &header, status) && read_segments(elf, source, &header, status) &&
           read_sections(elf, source, &header, false, status);
}

bool elf_read_object(struct elf *elf, const struct elf_source *source, struct status *status) {
    struct file_header header;
    *elf = (struct elf){0};
    return read_header(source, &header, status) &&
           read_sections(elf, source, &header, true, status);
}

void elf_finish(struct elf *elf) {
    memory_free(elf->segments);
    memory_free(elf->functions);
    memory_free(elf->names);
    *elf = (struct elf){0};
}

bool elf_address(const struct elf *elf, uint64_t offset, uint64_t *address) {
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        if (offset >= segment->offset && offset - segment->offset < segment->bytes) {
            *address = offset - segment->offset + segment->address;
            return true;
        }
    }
    return false;
}

bool elf_offset(const struct elf *elf, uint64_t address, uint64_t *offset) {
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        if (address >= segment->address && address - segment->address < segment->bytes) {
            *offset = address - segment->address + segment->offset;
            return true;
        }
    }
    return false;
}

struct text elf_function_at(const struct elf *elf, uint64_t address, uint64_t *start) {
    size_t low = 0;
    *start = address;
    PARTITION_POINT(low, elf->function_count, i, elf->functions[i].address <= address);
    if (low == 0)
        return TEXT("");
    const struct elf_function *function = &elf->functions[low - 1];
    if (function->end != function->address && address >= function->end)
        return TEXT("");
    const char *name = elf->names + function->name;
    *start = function->address;
    return (struct text){name, strcspn(name, "@")}; /* without the symbol version */
}
