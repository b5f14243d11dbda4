/* A file is identified by stat() at the time of the mapping. If its path refers to another file
 * when the symbols are needed, it gets no symbols rather than wrong ones. The vDSO has no file; the
 * recorder's own is the same as every process's. */
#include "record/symbols/symbols_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/elf.h"
#include "base/line_table.h"
#include "record/symbols/unwind_table.h"

enum kind { KIND_FILE, KIND_ANONYMOUS, KIND_VDSO };

struct identity {
    uint64_t device, inode;
    int64_t seconds, nanoseconds; /* modification time */
};

struct symbol_file {
    enum kind kind;
    struct text path, module; /* the path is zero-terminated */
    struct identity identity;
    bool is_read, has_debug, tried_unwind_table, tried_lines;
    struct elf elf, debug; /* debug: only its functions are used */
    struct unwind_table unwind_table;
    struct line_table lines;
};

void symbol_files_finish(struct symbol_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        elf_finish(&files->items[i].elf);
        elf_finish(&files->items[i].debug);
        unwind_table_finish(&files->items[i].unwind_table);
        line_table_finish(&files->items[i].lines);
    }
    memory_free(files->items);
    map_finish(&files->by_identity);
    intern_finish(&files->texts);
    *files = (struct symbol_files){0};
}

static enum kind kind_of(struct text path) {
    if (text_is(path, "[vdso]"))
        return KIND_VDSO;
    bool named = path.length > 0 && path.data[0] == '/' && !text_starts(path, "//") &&
                 !text_starts(path, "/memfd:") && !text_starts(path, "/dev/zero") &&
                 !text_starts(path, "/SYSV") && !text_starts(path, "/anon_hugepage");
    return named ? KIND_FILE : KIND_ANONYMOUS;
}

static struct text module_of(enum kind kind, struct text path) {
    if (kind == KIND_VDSO)
        return TEXT("[vdso]");
    if (kind == KIND_ANONYMOUS)
        return TEXT("[anon]");
    static const char deleted[] = " (deleted)";
    size_t length = sizeof deleted - 1;
    if (path.length > length && memcmp(path.data + path.length - length, deleted, length) == 0)
        path.length -= length;
    size_t start = path.length;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    return (struct text){path.data + start, path.length - start};
}

static struct identity identity_of(const struct stat *about) {
    return (struct identity){
        .device = (uint64_t)about->st_dev,
        .inode = (uint64_t)about->st_ino,
        .seconds = (int64_t)about->st_mtime,
#ifdef __linux__
        .nanoseconds = (int64_t)about->st_mtim.tv_nsec,
#endif
    };
}

bool symbol_files_add(struct symbol_files *files, struct text path, uint32_t *file,
                      struct status *status) {
    struct symbol_file added = {.kind = kind_of(path)};
    uint32_t id;
    char *terminated = text_copy(path, status); /* the path may contain any byte but zero */
    if (!terminated ||
        !intern_add(&files->texts, (struct text){terminated, path.length + 1}, &id, status)) {
        memory_free(terminated);
        return false;
    }
    memory_free(terminated);
    added.path = (struct text){intern_text(&files->texts, id).data, path.length};
    added.module = module_of(added.kind, added.path);
    struct stat about;
    if (added.kind == KIND_FILE && stat(added.path.data, &about) == 0)
        added.identity = identity_of(&about);
    else
        added.identity.inode = (uint64_t)id << 32; /* cannot be opened: identified by its path */
    uint64_t key = checksum64(&added.identity, sizeof added.identity);
    uint64_t *known = map_find(&files->by_identity, key);
    if (known) {
        *file = (uint32_t)*known;
        return true;
    }
    if (!GROW(files->items, &files->capacity, files->count + 1, status) ||
        !map_set(&files->by_identity, key, files->count, status))
        return false;
    *file = (uint32_t)files->count;
    files->items[files->count++] = added;
    return true;
}

struct text symbol_files_module(const struct symbol_files *files, uint32_t file) {
    return files->items[file].module;
}

bool symbol_files_anonymous(const struct symbol_files *files, uint32_t file) {
    return files->items[file].kind == KIND_ANONYMOUS;
}

static int open_to_read(const char *path) {
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* The distribution's debug file; -1: there is none. */
static int open_debug_file(const struct symbol_file *file) {
    const struct elf *elf = &file->elf;
    struct buffer path = {0};
    if (elf->build_id_length < 2)
        return -1;
    buffer_string(&path, "/usr/lib/debug/.build-id/");
    for (size_t i = 0; i < elf->build_id_length; i++)
        buffer_printf(&path, i == 0 ? "%02x/" : "%02x", elf->build_id[i]);
    buffer_append(&path, ".debug", sizeof ".debug");
    int fd = path.failed ? -1 : open_to_read(path.data);
    buffer_finish(&path);
    return fd;
}

static void read_debug_file(struct symbol_file *file) {
    int fd = open_debug_file(file);
    struct elf_source source;
    struct status ignored;
    if (fd < 0)
        return;
    file->has_debug = elf_source_file(&source, fd, &ignored) &&
                      elf_read(&file->debug, &source, &ignored) && file->debug.function_count > 0;
    close(fd);
}

/* -1 when the path now refers to another file. */
static int open_file(const struct symbol_file *file) {
    int fd = open_to_read(file->path.data);
    struct stat about;
    if (fd >= 0 && fstat(fd, &about) == 0) {
        struct identity found = identity_of(&about);
        if (memcmp(&found, &file->identity, sizeof found) == 0)
            return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static void read_file(struct symbol_file *file) {
    int fd = open_file(file);
    struct elf_source source;
    struct status ignored;
    if (fd < 0)
        return;
    if (!elf_source_file(&source, fd, &ignored) || !elf_read(&file->elf, &source, &ignored))
        elf_finish(&file->elf);
    close(fd);
    if (!file->elf.has_symtab)
        read_debug_file(file);
}

/* The vDSO of this process. */
static bool find_vdso(struct elf_source *source) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uint64_t start, end;
        found = strstr(line, "[vdso]") && sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
                end > start;
        if (found)
            *source = (struct elf_source){-1, (const void *)(uintptr_t)start, end - start};
    }
    if (maps)
        fclose(maps);
    return found;
}

static void read_vdso(struct symbol_file *file) {
    struct elf_source source;
    struct status ignored;
    if (find_vdso(&source) && !elf_read(&file->elf, &source, &ignored))
        elf_finish(&file->elf);
}

static void read_once(struct symbol_file *file) {
    if (!file->is_read && file->kind == KIND_FILE)
        read_file(file);
    else if (!file->is_read && file->kind == KIND_VDSO)
        read_vdso(file);
    file->is_read = true;
}

static void read_unwind_table(struct symbol_file *file) {
    int fd = file->kind == KIND_FILE ? open_file(file) : -1;
    struct elf_source source;
    struct status ignored;
    bool there = fd >= 0 ? elf_source_file(&source, fd, &ignored)
                         : file->kind == KIND_VDSO && find_vdso(&source);
    if (there)
        unwind_table_read(&file->unwind_table, &file->elf, &source, &ignored);
    if (fd >= 0)
        close(fd);
}

const struct unwind_table *symbol_files_unwind_table(struct symbol_files *files, uint32_t number,
                                                     uint64_t offset, uint64_t *address) {
    struct symbol_file *file = &files->items[number];
    read_once(file);
    if (!file->tried_unwind_table)
        read_unwind_table(file);
    file->tried_unwind_table = true;
    return file->unwind_table.count > 0 && elf_address(&file->elf, offset, address)
               ? &file->unwind_table
               : NULL;
}

/* True when the file of the descriptor has line tables. Closes it. */
static bool read_lines_of(struct line_table *lines, int fd) {
    struct elf_source source;
    struct status ignored;
    bool ok = fd >= 0 && elf_source_file(&source, fd, &ignored) &&
              line_table_read(lines, &source, &ignored);
    if (fd >= 0)
        close(fd);
    return ok;
}

static void read_lines(struct symbol_file *file) {
    if (!file->tried_lines && file->kind == KIND_FILE &&
        !read_lines_of(&file->lines, open_file(file)))
        read_lines_of(&file->lines, open_debug_file(file));
    file->tried_lines = true;
}

static struct text intern_path(struct symbol_files *files, const struct line_place *place) {
    struct buffer path = {0};
    struct status ignored;
    uint32_t id = 0;
    line_place_path(place, &path);
    bool ok = buffer_ok(&path, &ignored) &&
              intern_add(&files->texts, buffer_as_text(&path), &id, &ignored);
    buffer_finish(&path);
    return ok ? intern_text(&files->texts, id) : TEXT("");
}

static void find_line(struct symbol_files *files, struct symbol_file *file, uint64_t address,
                      uint64_t function, struct symbol_place *found) {
    struct line_place place;
    read_lines(file);
    if (!line_table_find(&file->lines, address, &place))
        return;
    found->source = intern_path(files, &place);
    found->line = found->source.length ? place.line : 0;
    if (line_table_find(&file->lines, function, &place))
        found->function_line = place.line;
}

struct symbol_place symbol_files_find(struct symbol_files *files, uint32_t number,
                                      uint64_t offset) {
    uint64_t address;
    read_once(&files->items[number]);
    if (!elf_address(&files->items[number].elf, offset, &address))
        return (struct symbol_place){.function = TEXT(""), .source = TEXT("")};
    return symbol_files_find_address(files, number, address);
}

struct symbol_place symbol_files_find_address(struct symbol_files *files, uint32_t number,
                                              uint64_t address) {
    struct symbol_place place = {.source = TEXT("")};
    struct symbol_file *file = &files->items[number];
    uint64_t start;
    read_once(file);
    place.function = elf_function_at(file->has_debug ? &file->debug : &file->elf, address, &start);
    place.offset = address - start <= UINT32_MAX ? (uint32_t)(address - start) : 0;
    find_line(files, file, address, start, &place);
    return place;
}
