/* The modules of a report: which instruction, and which source line, is at a program counter?
 *
 * A module's message has its id (1), its cubin (4) and the functions that the program used so far
 * (9), each with its mangled name (1) and load address (2). The cubin is in the first message only.
 * Its code is not linked: every function is in a section of its own, at address 0, and relocations
 * of .debug_line refer to the function. Here a function's address is its offset in the cubin, so
 * that all functions share one line table. */
#include <string.h>

#include "base/demangle.h"
#include "base/line_table.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/protobuf.h"
#include "import/ncu/ncu.h"

struct ncu_function {
    uint64_t address, bytes; /* where it was loaded */
    uint64_t offset;         /* in the cubin */
    uint32_t name;           /* string id */
};

struct ncu_module {
    uint64_t id;
    struct elf elf; /* functions of the cubin */
    struct line_table lines;
    struct ncu_function *functions;
    size_t function_count, function_capacity;
    struct ncu_place *places; /* those found so far */
    size_t place_count, place_capacity;
    struct map place_of; /* program counter -> index in places */
};

struct ncu_module *ncu_module_find(const struct ncu_modules *modules, uint64_t id) {
    for (size_t i = 0; i < modules->count; i++)
        if (modules->list[i].id == id)
            return &modules->list[i];
    return NULL;
}

/* ---- Reading ---- */

/* A cubin without line information, or a damaged one, is no failure. */
static bool read_cubin(struct ncu_module *module, struct text bytes, struct status *status) {
    struct elf_source source = {
        .fd = -1, .bytes = (const uint8_t *)bytes.data, .length = bytes.length};
    struct status failure = {0};
    if (bytes.length == 0)
        return true;
    elf_finish(&module->elf);
    line_table_finish(&module->lines);
    if (!elf_read_object(&module->elf, &source, &failure))
        elf_finish(&module->elf);
    else
        line_table_read_object(&module->lines, &source, &failure);
    if (failure.code == STATUS_MEMORY)
        *status = failure;
    return failure.code != STATUS_MEMORY;
}

static const struct elf_function *find_in_cubin(const struct ncu_module *module, struct text name) {
    for (size_t i = 0; i < module->elf.function_count; i++)
        if (text_is(name, module->elf.names + module->elf.functions[i].name))
            return &module->elf.functions[i];
    return NULL;
}

static bool plain_name(struct text mangled, struct trace_writer *writer, uint32_t *id,
                       struct status *status) {
    struct buffer plain = {0};
    if (!demangle(mangled, &plain))
        buffer_text(&plain, mangled);
    bool ok = buffer_ok(&plain, status);
    *id = ok ? trace_writer_string(writer, buffer_as_text(&plain)) : 0;
    buffer_finish(&plain);
    return ok;
}

static bool read_function(struct ncu_module *module, struct text bytes, struct trace_writer *writer,
                          struct status *status) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct text name = TEXT("");
    uint64_t address = 0;
    while (protobuf_next(&message, &field)) {
        if (field.number == 1)
            name = protobuf_text(&field);
        else if (field.number == 2 && field.type == PROTOBUF_VARINT)
            address = field.value;
    }
    const struct elf_function *found = find_in_cubin(module, name);
    if (!found || address == 0 || found->end <= found->address)
        return true;
    struct ncu_function function = {
        .address = address, .bytes = found->end - found->address, .offset = found->address};
    if (!plain_name(name, writer, &function.name, status) ||
        !GROW(module->functions, &module->function_capacity, module->function_count + 1, status))
        return false;
    module->functions[module->function_count++] = function;
    return true;
}

static bool read_functions(struct ncu_module *module, struct text bytes,
                           struct trace_writer *writer, struct status *status) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number == 1 && !read_function(module, protobuf_text(&field), writer, status))
            return false;
    return true;
}

bool ncu_module_read(struct ncu_modules *modules, struct text message, struct trace_writer *writer,
                     struct status *status) {
    struct protobuf fields = protobuf_of(message);
    struct protobuf_field field;
    struct text cubin = TEXT("");
    uint64_t id = 0;
    while (protobuf_next(&fields, &field)) {
        if (field.number == 1 && field.type == PROTOBUF_VARINT)
            id = field.value;
        else if (field.number == 4)
            cubin = protobuf_text(&field);
    }
    struct ncu_module *module = ncu_module_find(modules, id);
    if (!module) {
        if (!GROW(modules->list, &modules->capacity, modules->count + 1, status))
            return false;
        module = &modules->list[modules->count++];
        *module = (struct ncu_module){.id = id};
    }
    if (!read_cubin(module, cubin, status))
        return false;
    fields = protobuf_of(message);
    while (protobuf_next(&fields, &field))
        if (field.number == 9 && !read_functions(module, protobuf_text(&field), writer, status))
            return false;
    return true;
}

/* ---- Looking up ---- */

/* The latest function at an address, which may have been unloaded and loaded again. */
static const struct ncu_function *function_at(const struct ncu_module *module, uint64_t pc) {
    for (size_t i = module->function_count; i-- > 0;) {
        const struct ncu_function *function = &module->functions[i];
        if (pc >= function->address && pc - function->address < function->bytes)
            return function;
    }
    return NULL;
}

static bool find_place(const struct ncu_module *module, uint64_t pc, struct trace_writer *writer,
                       struct ncu_place *place, struct status *status) {
    const struct ncu_function *function = function_at(module, pc);
    struct line_place line;
    struct buffer path = {0};
    *place = (struct ncu_place){0};
    if (!function || pc - function->address > UINT32_MAX)
        return true;
    place->function = function->name;
    place->offset = (uint32_t)(pc - function->address);
    if (line_table_find(&module->lines, function->offset + place->offset, &line)) {
        line_place_path(&line, &path);
        place->line = line.line;
    } else {
        buffer_string(&path, METRIC_NO_FILE);
    }
    bool ok = buffer_ok(&path, status);
    place->file = trace_writer_string(writer, buffer_as_text(&path));
    buffer_finish(&path);
    return ok;
}

bool ncu_module_place(struct ncu_module *module, uint64_t pc, struct trace_writer *writer,
                      struct ncu_place *place, struct status *status) {
    const uint64_t *known = map_find(&module->place_of, pc);
    if (known) {
        *place = module->places[*known];
        return true;
    }
    if (!find_place(module, pc, writer, place, status) ||
        !GROW(module->places, &module->place_capacity, module->place_count + 1, status))
        return false;
    module->places[module->place_count] = *place;
    return map_set(&module->place_of, pc, module->place_count++, status);
}

void ncu_modules_finish(struct ncu_modules *modules) {
    for (size_t i = 0; i < modules->count; i++) {
        struct ncu_module *module = &modules->list[i];
        elf_finish(&module->elf);
        line_table_finish(&module->lines);
        memory_free(module->functions);
        memory_free(module->places);
        map_finish(&module->place_of);
    }
    memory_free(modules->list);
    *modules = (struct ncu_modules){0};
}
