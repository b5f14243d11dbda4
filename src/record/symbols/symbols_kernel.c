/* Lines are `ADDRESS TYPE NAME [MODULE]`, of which those of code count. To users who may not see
 * the addresses all of them are zero. */
#include "record/symbols/symbols_kernel.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"

struct kernel_function {
    uint64_t address;
    struct text name, module;
};

void kernel_symbols_finish(struct kernel_symbols *symbols) {
    memory_free(symbols->items);
    arena_finish(&symbols->names);
    *symbols = (struct kernel_symbols){0};
}

static struct text keep(struct kernel_symbols *symbols, const char *word) {
    struct status ignored;
    size_t length = strcspn(word, " \t\n");
    char *copy = arena_allocate(&symbols->names, length, &ignored);
    if (!copy)
        return TEXT("");
    memcpy(copy, word, length);
    return (struct text){copy, length};
}

static void add_line(struct kernel_symbols *symbols, const char *line) {
    char *type;
    uint64_t address = strtoull(line, &type, 16);
    struct status ignored;
    if (address == 0 || strlen(type) < 4 || !strchr("tTwW", type[1]) ||
        !GROW(symbols->items, &symbols->capacity, symbols->count + 1, &ignored))
        return;
    const char *name = type + 3, *module = strchr(name, '[');
    symbols->items[symbols->count++] = (struct kernel_function){
        address, keep(symbols, name), module ? keep(symbols, module) : TEXT("[kernel]")};
}

static int by_address(const void *a, const void *b) {
    const struct kernel_function *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void read_all(struct kernel_symbols *symbols) {
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[512];
    symbols->looked = true;
    while (file && fgets(line, sizeof line, file))
        add_line(symbols, line);
    if (file)
        fclose(file);
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof *symbols->items, by_address);
}

struct text kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address,
                                struct text *module) {
    if (!symbols->looked)
        read_all(symbols);
    size_t low = 0;
    PARTITION_POINT(low, symbols->count, i, symbols->items[i].address <= address);
    *module = low ? symbols->items[low - 1].module : TEXT("[kernel]");
    return low ? symbols->items[low - 1].name : TEXT("");
}
