/* Symbols of a file are read when the first address in it is asked for. */
#include "import/address_space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/sysmacros.h> /* major() */
#endif
#include <sys/types.h> /* major() on macOS */
#include <unistd.h>

#include "base/demangle.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"

struct module {
    uint32_t path; /* id in `paths` */
    struct text name;
    struct file_identity identity;
    struct elf elf;
    bool tried, readable;
};

/* ---- Files ---- */

/* The base name of a path; names such as "[vdso]" stay. */
static struct text module_name(struct text path) {
    size_t start = path.length;
    if (text_starts(path, "//anon"))
        return TEXT("[anon]");
    while (path.length && path.data[0] == '/' && start > 0 && path.data[start - 1] != '/')
        start--;
    return start < path.length ? (struct text){path.data + start, path.length - start} : path;
}

static bool find_module(struct address_space *space, struct text path, uint32_t *module,
                        struct status *status) {
    uint32_t id;
    if (!intern_add(&space->paths, path.length ? path : TEXT("[unknown]"), &id, status) ||
        !GROW(space->modules, &space->module_capacity, (size_t)id, status))
        return false;
    while (space->module_count < id) {
        uint32_t path_id = (uint32_t)space->module_count + 1;
        space->modules[space->module_count++] = (struct module){
            .path = path_id, .name = module_name(intern_text(&space->paths, path_id))};
    }
    *module = id - 1;
    return true;
}

static bool is_profiled_file(const struct address_space *space, const struct module *module,
                             int fd) {
    const struct file_identity *identity = &module->identity;
    struct stat info;
    if (identity->build_id_length)
        return module->elf.build_id_length > 0 &&
               memcmp(module->elf.build_id, identity->build_id,
                      MIN(identity->build_id_length, module->elf.build_id_length)) == 0;
    return identity->inode && fstat(fd, &info) == 0 && info.st_ino == identity->inode &&
           (uint64_t)major(info.st_dev) == identity->device_major &&
           (uint64_t)minor(info.st_dev) == identity->device_minor && info.st_mtime < space->written;
}

/* Reads the symbols of a mapped file, if it is the one that was profiled. */
static void read_symbols(struct address_space *space, struct module *module) {
    struct text path = intern_text(&space->paths, module->path);
    struct status ignored = {0};
    struct elf_source source;
    char name[4096];
    module->tried = true;
    if (path.length == 0 || path.data[0] != '/' || path.length >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", TEXT_ARGS(path));
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    module->readable = elf_source_file(&source, fd, &ignored) &&
                       elf_read(&module->elf, &source, &ignored) &&
                       is_profiled_file(space, module, fd);
    close(fd);
}

/* ---- Mappings ---- */

static void set_build_id(struct file_identity *identity, const void *id, size_t length) {
    identity->build_id_length = MIN(length, (size_t)ELF_BUILD_ID_MAX);
    memcpy(identity->build_id, id, identity->build_id_length);
}

bool address_space_map(struct address_space *space, const struct mapping *mapping, struct text path,
                       const struct file_identity *identity, struct status *status) {
    uint32_t id;
    if (!find_module(space, path, &id, status) ||
        !GROW(space->mappings, &space->mapping_capacity, space->mapping_count + 1, status))
        return false;
    struct file_identity *known = &space->modules[id].identity;
    if (identity->build_id_length)
        set_build_id(known, identity->build_id, identity->build_id_length);
    if (identity->inode) {
        known->device_major = identity->device_major;
        known->device_minor = identity->device_minor;
        known->inode = identity->inode;
    }
    space->mappings[space->mapping_count] = *mapping;
    space->mappings[space->mapping_count++].module = id;
    return true;
}

bool address_space_build_id(struct address_space *space, struct text path, const void *id,
                            size_t length, struct status *status) {
    uint32_t module;
    if (!find_module(space, path, &module, status))
        return false;
    set_build_id(&space->modules[module].identity, id, length);
    return true;
}

bool address_space_fork(struct address_space *space, uint64_t pid, uint64_t parent,
                        struct status *status) {
    return pid == parent || map_set(&space->parents, pid, parent, status);
}

static int by_process_and_time(const void *a, const void *b) {
    const struct mapping *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

void address_space_ready(struct address_space *space) {
    if (space->mapping_count)
        qsort(space->mappings, space->mapping_count, sizeof *space->mappings, by_process_and_time);
}

/* The first mapping of a process. */
static size_t first_of(const struct address_space *space, uint64_t pid) {
    size_t first = 0;
    PARTITION_POINT(first, space->mapping_count, i, space->mappings[i].pid < pid);
    return first;
}

/* The mapping of an address at a time: the last before it, else the first. */
static const struct mapping *find_mapping(const struct address_space *space, uint64_t pid,
                                          uint64_t address, uint64_t time) {
    enum { ANCESTORS_MAX = 16 };
    const struct mapping *found = NULL;
    for (unsigned i = 0; i < ANCESTORS_MAX && !found; i++) {
        for (size_t k = first_of(space, pid);
             k < space->mapping_count && space->mappings[k].pid == pid; k++) {
            const struct mapping *mapping = &space->mappings[k];
            if (address >= mapping->start && address < mapping->end &&
                (!found || mapping->time <= time))
                found = mapping;
        }
        const uint64_t *parent = map_find(&space->parents, pid);
        if (!parent)
            break;
        pid = *parent;
    }
    return found;
}

/* ---- Functions ---- */

bool address_space_find(struct address_space *space, uint64_t pid, uint64_t time, uint64_t address,
                        struct buffer *name, struct text *module_name) {
    const struct mapping *mapping = find_mapping(space, pid, address, time);
    struct module *module = mapping ? &space->modules[mapping->module] : NULL;
    struct text function = TEXT("");
    uint64_t in_file = address, start;
    *module_name = module ? module->name : TEXT("");
    if (module && !module->tried)
        read_symbols(space, module);
    if (mapping)
        in_file = address - mapping->start + mapping->offset;
    if (module && module->readable && elf_address(&module->elf, in_file, &in_file))
        function = elf_function_at(&module->elf, in_file, &start);
    if (function.length == 0)
        buffer_printf(name, "0x%llx", (unsigned long long)in_file);
    else if (!demangle(function, name))
        buffer_text(name, function);
    return function.length > 0;
}

void address_space_finish(struct address_space *space) {
    for (size_t i = 0; i < space->module_count; i++)
        elf_finish(&space->modules[i].elf);
    memory_free(space->modules);
    memory_free(space->mappings);
    map_finish(&space->parents);
    intern_finish(&space->paths);
}
