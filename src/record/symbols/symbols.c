/* Combines the mappings (address_spaces.h) with the symbols of files, the kernel and JIT compilers,
 * and shortens the names. */
#include "record/symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/demangle.h"
#include "base/memory.h"
#include "base/search.h"
#include "record/symbols/symbols_files.h"
#include "record/symbols/symbols_jit.h"
#include "record/symbols/address_spaces.h"
#include "trace/schema.h"

/* ---- The kernel -------------------------------------------------------------------------- */

/* A line of /proc/kallsyms is `ADDRESS TYPE NAME [MODULE]`. Only code symbols are kept. To users
 * without the right to see addresses all of them are zero. */
struct kernel_function {
    uint64_t address;
    struct text name, module;
};

void kernel_symbols_finish(struct kernel_symbols *symbols) {
    memory_free(symbols->items);
    arena_finish(&symbols->names);
    *symbols = (struct kernel_symbols){0};
}

static struct text copy_word(struct kernel_symbols *symbols, const char *word) {
    struct status ignored;
    size_t length = strcspn(word, " \t\n");
    char *copy = arena_allocate(&symbols->names, length, &ignored);
    if (!copy)
        return TEXT("");
    memcpy(copy, word, length);
    return (struct text){copy, length};
}

static void add_kallsyms_line(struct kernel_symbols *symbols, const char *line) {
    char *type;
    uint64_t address = strtoull(line, &type, 16);
    struct status ignored;
    if (address == 0 || strlen(type) < 4 || !strchr("tTwW", type[1]) ||
        !GROW(symbols->items, &symbols->capacity, symbols->count + 1, &ignored))
        return;
    const char *name = type + 3, *module = strchr(name, '[');
    symbols->items[symbols->count++] = (struct kernel_function){
        address, copy_word(symbols, name), module ? copy_word(symbols, module) : TEXT("[kernel]")};
}

static int by_address(const void *a, const void *b) {
    const struct kernel_function *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void read_kallsyms(struct kernel_symbols *symbols) {
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[512];
    symbols->is_read = true;
    while (file && fgets(line, sizeof line, file))
        add_kallsyms_line(symbols, line);
    if (file)
        fclose(file);
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof *symbols->items, by_address);
}

struct text kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address,
                                struct text *module) {
    if (!symbols->is_read)
        read_kallsyms(symbols);
    size_t low = 0;
    PARTITION_POINT(low, symbols->count, i, symbols->items[i].address <= address);
    *module = low ? symbols->items[low - 1].module : TEXT("[kernel]");
    return low ? symbols->items[low - 1].name : TEXT("");
}

/* ---- Processes --------------------------------------------------------------------------- */

enum { FORK_DEPTH_MAX = 8 };

struct symbols {
    struct address_spaces spaces;
    struct symbol_files files;
    struct jit_maps jit;
    struct kernel_symbols kernel;
    struct intern names;   /* as printed */
    struct buffer scratch; /* to build a name */
};

struct symbols *symbols_create(struct status *status) {
    return memory_allocate(1, sizeof(struct symbols), status);
}

void symbols_destroy(struct symbols *symbols) {
    if (!symbols)
        return;
    address_spaces_finish(&symbols->spaces);
    symbol_files_finish(&symbols->files);
    jit_maps_finish(&symbols->jit);
    kernel_symbols_finish(&symbols->kernel);
    intern_finish(&symbols->names);
    buffer_finish(&symbols->scratch);
    memory_free(symbols);
}

bool symbols_map(struct symbols *symbols, pid_t pid, uint64_t start, uint64_t length,
                 uint64_t offset, struct text path, struct status *status) {
    uint32_t file;
    return symbol_files_add(&symbols->files, path, &file, status) &&
           address_spaces_map(&symbols->spaces, pid, start, length, offset, file, status);
}

bool symbols_fork(struct symbols *symbols, pid_t parent, pid_t child, struct status *status) {
    return address_spaces_fork(&symbols->spaces, parent, child, status);
}

void symbols_exec(struct symbols *symbols, pid_t pid) {
    address_spaces_exec(&symbols->spaces, pid);
    jit_maps_forget(&symbols->jit, pid);
}

void symbols_prepare_kernel(struct symbols *symbols) {
    struct text module;
    kernel_symbols_find(&symbols->kernel, 0, &module);
}

uint64_t symbols_generation(const struct symbols *symbols, pid_t pid) {
    const struct address_space *space = address_spaces_find(&symbols->spaces, pid);
    return space ? space->generation : 0;
}

const struct unwind_table *symbols_unwind_table(struct symbols *symbols, pid_t pid,
                                                uint64_t address, uint64_t *in_file) {
    const struct address_space *space = address_spaces_find(&symbols->spaces, pid);
    const struct mapping *mapping = space ? address_space_mapping(space, address) : NULL;
    if (!mapping)
        return NULL;
    return symbol_files_unwind_table(&symbols->files, mapping->file,
                                     address - mapping->start + mapping->offset, in_file);
}

/* Interns the content of the scratch buffer. */
static struct text intern_scratch(struct symbols *symbols) {
    struct status ignored;
    uint32_t id = 0;
    if (!buffer_ok(&symbols->scratch, &ignored) ||
        !intern_add(&symbols->names, buffer_as_text(&symbols->scratch), &id, &ignored))
        return TEXT("");
    return intern_text(&symbols->names, id);
}

static struct text demangled_name(struct symbols *symbols, struct text name) {
    buffer_reset(&symbols->scratch);
    if (demangle(name, &symbols->scratch))
        name = intern_scratch(symbols);
    return name;
}

/* The base name of a path; for __init__.py with its folder. */
static struct text short_path(struct text path) {
    bool vague = path.length >= 12 && memcmp(path.data + path.length - 12, "/__init__.py", 12) == 0;
    for (size_t at = path.length, slashes = 0; at > 0; at--)
        if (path.data[at - 1] == '/' && slashes++ == vague)
            return (struct text){path.data + at, path.length - at};
    return path;
}

void symbols_python_name(struct text function, struct text path, struct buffer *name) {
    buffer_text(name, function);
    if (path.length) {
        buffer_string(name, " (");
        buffer_text(name, short_path(path));
        buffer_byte(name, ')');
    }
}

/* "py::Trainer.step:/home/ada/train.py" becomes "Trainer.step (train.py)". */
static struct symbol python_symbol(struct symbols *symbols, struct text name) {
    struct text function = {name.data + 4, name.length - 4}, path = {"", 0};
    ptrdiff_t colon = text_find(function, ":");
    if (colon >= 0) {
        path = (struct text){function.data + colon + 1, function.length - (size_t)colon - 1};
        function.length = (size_t)colon;
    }
    buffer_reset(&symbols->scratch);
    symbols_python_name(function, path, &symbols->scratch);
    return (struct symbol){
        .function = intern_scratch(symbols), .module = TEXT(STACK_PYTHON), .file = TEXT("")};
}

/* A forked process runs JIT code that its parent generated. */
static struct symbol jit_symbol(struct symbols *symbols, const struct address_space *space,
                                uint64_t address) {
    struct text name = {"", 0};
    for (unsigned i = 0; space && name.length == 0 && i < FORK_DEPTH_MAX; i++) {
        name = jit_maps_find(&symbols->jit, space->pid, address);
        space = space->parent ? address_spaces_find(&symbols->spaces, space->parent) : NULL;
    }
    if (name.length == 0)
        return (struct symbol){.function = name, .module = TEXT("[anon]"), .file = name};
    if (text_starts(name, "py::"))
        return python_symbol(symbols, name);
    return (struct symbol){
        .function = demangled_name(symbols, name), .module = TEXT("[jit]"), .file = TEXT("")};
}

struct symbol symbols_find(struct symbols *symbols, pid_t pid, uint64_t address, bool in_kernel) {
    struct symbol found = {.function = TEXT(""), .module = TEXT(""), .file = TEXT("")};
    if (in_kernel) {
        found.function = kernel_symbols_find(&symbols->kernel, address, &found.module);
        return found;
    }
    const struct address_space *space = address_spaces_find(&symbols->spaces, pid);
    const struct mapping *mapping = space ? address_space_mapping(space, address) : NULL;
    if (!mapping)
        return found;
    if (symbol_files_anonymous(&symbols->files, mapping->file))
        return jit_symbol(symbols, space, address);
    struct symbol_place place = symbol_files_find(&symbols->files, mapping->file,
                                                  address - mapping->start + mapping->offset);
    return (struct symbol){
        .function = demangled_name(symbols, place.function),
        .module = symbol_files_module(&symbols->files, mapping->file),
        .file = place.source,
        .line = place.line,
        .function_line = place.function_line,
        .offset = place.offset,
    };
}
