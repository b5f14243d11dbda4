/* Reads the name of the source file and the workgroup size of an entry point from SPIR-V. The code
 * comes from the program and is not trusted; a length that leaves the module ends the search.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEADER = 5,
    OP_SOURCE = 3,
    OP_STRING = 7,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_FUNCTION = 54,
    OP_DECORATE = 71,
    OP_EXECUTION_MODE_ID = 331,
    MODEL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    DECORATION_SPEC_ID = 1,
    DECORATION_BUILT_IN = 11,
    BUILT_IN_WORKGROUP_SIZE = 25,
};

struct module {
    const uint32_t *code;
    size_t words;
    const struct vk_specialization_info *values;
};

struct instruction {
    uint32_t op, count;
    const uint32_t *words; /* words[0] is the first operand */
};

/* The instruction at *at, which moves to the next. False at the end of the declarations. */
static bool next_instruction(const struct module *module, size_t *at,
                             struct instruction *instruction) {
    if (*at >= module->words)
        return false;
    uint32_t first = module->code[*at], count = first >> 16;
    if (count == 0 || count > module->words - *at || (first & 0xFFFF) == OP_FUNCTION)
        return false;
    *instruction = (struct instruction){first & 0xFFFF, count - 1, module->code + *at + 1};
    *at += count;
    return true;
}

static struct text literal(const uint32_t *words, uint32_t count) {
    const char *bytes = (const char *)words;
    return (struct text){bytes, strnlen(bytes, count * sizeof *words)};
}

/* The operand 1 of the first instruction `op` with this operand 0 and 1; the rest of it. */
static bool find_entry(const struct module *module, const char *name, uint32_t *id) {
    struct instruction at;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);)
        if (at.op == OP_ENTRY_POINT && at.count > 2 && at.words[0] == MODEL_COMPUTE &&
            text_is(literal(at.words + 2, at.count - 2), name)) {
            *id = at.words[1];
            return true;
        }
    return false;
}

static bool find_specialized(const struct module *module, uint32_t spec_id, uint32_t *value) {
    const struct vk_specialization_info *values = module->values;
    for (uint32_t i = 0; values && i < values->mapEntryCount; i++) {
        const struct vk_specialization_map_entry *entry = &values->pMapEntries[i];
        if (entry->constantID != spec_id || entry->size != sizeof *value ||
            entry->offset > values->dataSize || values->dataSize - entry->offset < sizeof *value)
            continue;
        memcpy(value, (const char *)values->pData + entry->offset, sizeof *value);
        return true;
    }
    return false;
}

static uint32_t constant_value(const struct module *module, uint32_t id) {
    struct instruction at;
    uint32_t value = 0;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);) {
        if ((at.op == OP_CONSTANT || at.op == OP_SPEC_CONSTANT) && at.count > 2 &&
            at.words[1] == id && value == 0)
            value = at.words[2];
        if (at.op == OP_DECORATE && at.count > 2 && at.words[0] == id &&
            at.words[1] == DECORATION_SPEC_ID && find_specialized(module, at.words[2], &value))
            return value;
    }
    return value;
}

/* The constant decorated as WorkgroupSize, which overrides the execution mode; 0: none. */
static uint32_t find_workgroup_constant(const struct module *module) {
    struct instruction at;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);)
        if (at.op == OP_DECORATE && at.count > 2 && at.words[1] == DECORATION_BUILT_IN &&
            at.words[2] == BUILT_IN_WORKGROUP_SIZE)
            return at.words[0];
    return 0;
}

static void read_block(const struct module *module, uint32_t entry, uint32_t block[3]) {
    uint32_t constant = find_workgroup_constant(module);
    struct instruction at;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);) {
        bool composite = at.op == OP_CONSTANT_COMPOSITE || at.op == OP_SPEC_CONSTANT_COMPOSITE;
        bool literals = at.op == OP_EXECUTION_MODE && at.count >= 5 && at.words[0] == entry &&
                        at.words[1] == MODE_LOCAL_SIZE;
        bool ids = (at.op == OP_EXECUTION_MODE_ID && at.count >= 5 && at.words[0] == entry &&
                    at.words[1] == MODE_LOCAL_SIZE_ID) ||
                   (composite && constant && at.count >= 5 && at.words[1] == constant);
        for (unsigned i = 0; i < 3 && (literals || ids); i++)
            block[i] = literals ? at.words[2 + i] : constant_value(module, at.words[2 + i]);
    }
}

/* The text of OpString `id`. */
static struct text find_text(const struct module *module, uint32_t id) {
    struct instruction at;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);)
        if (at.op == OP_STRING && at.count > 1 && at.words[0] == id)
            return literal(at.words + 1, at.count - 1);
    return TEXT("");
}

static struct text find_source(const struct module *module) {
    struct instruction at;
    for (size_t place = SPIRV_HEADER; next_instruction(module, &place, &at);)
        if (at.op == OP_SOURCE && at.count > 2)
            return find_text(module, at.words[2]);
    return TEXT("");
}

struct spirv_entry spirv_find_entry(const uint32_t *code, size_t words, const char *name,
                                    const struct vk_specialization_info *values) {
    struct module module = {code, words, values};
    struct spirv_entry entry = {.source = TEXT("")};
    uint32_t id;
    if (words < SPIRV_HEADER || code[0] != SPIRV_MAGIC || !find_entry(&module, name, &id))
        return entry;
    entry.found = true;
    entry.source = find_source(&module);
    read_block(&module, id, entry.block);
    return entry;
}
