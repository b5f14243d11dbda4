/* A thousand stacks a second and thread are looked up, nearly all of which were there before. What
 * calls the innermost function comes again as it was, so that the row of a whole chain of callers
 * is found with one look; only the innermost frame differs from sample to sample.
 *
 * Keys are 64-bit hashes. Among a million of them two are alike once in ten million recordings. */
#include "record/perf_stacks.h"

#include "base/checksum.h"

enum { CACHE_MAX = 1 << 20 };

void stack_rows_finish(struct stack_rows *stacks) {
    map_finish(&stacks->frames);
    map_finish(&stacks->rows);
    map_finish(&stacks->chains);
}

static void remember(struct map *map, uint64_t key, uint64_t value) {
    struct status ignored;
    if (map->count >= CACHE_MAX)
        map_finish(map);
    map_set(map, key, value, &ignored);
}

struct frame {
    uint32_t function, module;
    bool mapped;  /* something that can run is at the address */
    bool settled; /* asked again, it would be the same */
};

static struct frame name_frame(struct symbols *symbols, pid_t pid, uint64_t address, bool in_kernel,
                               struct trace_writer *writer) {
    struct symbol symbol = symbols_find(symbols, pid, address, in_kernel);
    bool named = symbol.function.length > 0;
    return (struct frame){
        .function = trace_writer_string(writer, named ? symbol.function : TEXT(STACK_UNKNOWN)),
        .module = trace_writer_string(writer, symbol.module),
        .mapped = symbol.module.length > 0,
        .settled = named || (symbol.module.length > 0 && !text_is(symbol.module, "[anon]")),
    };
}

static struct frame find_frame(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                               uint64_t generation, uint64_t address, bool in_kernel,
                               struct trace_writer *writer) {
    uint64_t parts[2] = {in_kernel ? UINT64_MAX : generation, address};
    uint64_t key = checksum64(parts, sizeof parts), *known = map_find(&stacks->frames, key);
    if (known)
        return (struct frame){(uint32_t)(*known >> 32), (uint32_t)*known, true, true};
    struct frame frame = name_frame(symbols, pid, address, in_kernel, writer);
    if (frame.settled)
        remember(&stacks->frames, key, (uint64_t)frame.function << 32 | frame.module);
    return frame;
}

static uint32_t push(struct stack_rows *stacks, uint32_t parent, struct frame frame,
                     struct trace_writer *writer) {
    uint32_t parts[4] = {parent, frame.function, frame.module, 0};
    uint64_t key = checksum64(parts, sizeof parts), *known = map_find(&stacks->rows, key);
    if (known)
        return (uint32_t)*known;
    uint32_t row = trace_write_stack(
        writer,
        &(struct row_stack){.parent = parent, .function = frame.function, .module = frame.module});
    remember(&stacks->rows, key, row);
    return row;
}

struct lookup {
    struct stack_rows *stacks;
    struct symbols *symbols;
    pid_t pid;
    uint64_t generation;
    struct trace_writer *writer;
};

/* A caller's address is that of the instruction behind its call, perhaps of the next function. */
static struct frame frame_of(const struct lookup *lookup, const struct perf_chain *chain,
                             size_t index) {
    bool in_kernel = index < chain->kernel_count;
    bool innermost = index == 0 || index == chain->kernel_count;
    uint64_t address = chain->addresses[index];
    return find_frame(lookup->stacks, lookup->symbols, lookup->pid, lookup->generation,
                      innermost || address == 0 ? address : address - 1, in_kernel, lookup->writer);
}

/* Code without frame pointers leaves arbitrary values where a caller's address should be: the stack
 * is trusted up to the first that is not code. */
static uint32_t callers_row(const struct lookup *lookup, const struct perf_chain *chain) {
    uint64_t key =
        checksum64(chain->addresses + 1, (chain->count - 1) * sizeof chain->addresses[0]);
    uint64_t parts[3] = {key, lookup->generation, chain->kernel_count};
    key = checksum64(parts, sizeof parts);
    uint64_t *known = map_find(&lookup->stacks->chains, key);
    if (known)
        return (uint32_t)*known;
    struct frame frames[STACK_FRAMES_MAX];
    size_t count = 0;
    bool settled = true;
    for (size_t i = 1; i < chain->count; i++) {
        frames[count] = frame_of(lookup, chain, i);
        if (!frames[count].mapped)
            break;
        settled &= frames[count++].settled;
    }
    uint32_t row = 0;
    while (count > 0)
        row = push(lookup->stacks, row, frames[--count], lookup->writer);
    if (settled)
        remember(&lookup->stacks->chains, key, row);
    return row;
}

uint32_t stack_rows_find(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                         const struct perf_chain *chain, struct trace_writer *writer) {
    if (chain->count == 0)
        return 0;
    struct lookup lookup = {stacks, symbols, pid, symbols_generation(symbols, pid), writer};
    uint32_t callers = chain->count > 1 ? callers_row(&lookup, chain) : 0;
    return push(stacks, callers, frame_of(&lookup, chain, 0), writer);
}
