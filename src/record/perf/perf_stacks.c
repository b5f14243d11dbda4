/* A thousand stacks per second and thread are looked up, and nearly all of them repeat. Usually
 * only the innermost frame differs from the sample before, so the row of the whole chain of callers
 * is cached and found with one lookup.
 *
 * Keys are 64-bit hashes. Among a million keys a collision occurs once in ten million recordings.
 */
#include "record/perf/perf_stacks.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "record/python/python_lines.h"

enum { CACHE_MAX = 1 << 20 };

/* A frame without its caller: members of its row. */
struct stack_frame {
    uint32_t function, module;
    uint32_t file, line, function_line, statement, source, loops;
    uint32_t offset;   /* 0 in samples, which have a row for each line */
    bool is_evaluator; /* the interpreter's loop */
    bool is_stripped;  /* of the interpreter, without a name */
    bool is_python;    /* a Python frame that was read from memory */
    bool mapped;       /* code is mapped at the address */
    bool is_final;     /* a later lookup gives the same result */
};

void stack_rows_finish(struct stack_rows *stacks) {
    map_finish(&stacks->frames);
    memory_free(stacks->known);
    source_files_finish(&stacks->sources);
    map_finish(&stacks->rows);
    map_finish(&stacks->chains);
    map_finish(&stacks->python);
    map_finish(&stacks->code_frames);
    map_finish(&stacks->modules);
    *stacks = (struct stack_rows){0};
}

static void cache_set(struct map *map, uint64_t key, uint64_t value) {
    struct status ignored;
    if (map->count >= CACHE_MAX)
        map_finish(map);
    map_set(map, key, value, &ignored);
}

/* ---- Python ------------------------------------------------------------------------------ */

enum module_kind { MODULE_OTHER, MODULE_PYTHON, MODULE_INTERPRETER };

/* Later frames are classified by their string ids. */
static void classify_strings(struct stack_rows *stacks, const struct stack_frame *frame,
                             struct symbol symbol) {
    if (text_is(symbol.module, STACK_PYTHON))
        cache_set(&stacks->modules, frame->module, MODULE_PYTHON);
    else if (text_starts(symbol.module, "libc.so") || text_starts(symbol.module, "ld-linux"))
        cache_set(&stacks->modules, frame->module,
                  MODULE_INTERPRETER); /* when the interpreter calls it */
    if (text_is(symbol.function, "py_trampoline_evaluator"))
        stacks->evaluator = frame->function;
}

static uint64_t cache_get(const struct map *map, uint64_t key) {
    const uint64_t *found = map_find((struct map *)map, key);
    return found ? *found : 0;
}

enum stack_python stack_rows_python(const struct stack_rows *stacks, uint32_t row) {
    return (enum stack_python)(cache_get(&stacks->python, row) >> 32);
}

/* py_trampoline_evaluator() calls a Python function's trampoline, which calls the interpreter. Code
 * of the interpreter below a trampoline runs a Python function, until it calls another library. */
static enum stack_python classify(struct stack_rows *stacks, uint32_t parent,
                                  const struct stack_frame *frame) {
    uint64_t kind = cache_get(&stacks->modules, frame->module);
    if (kind == MODULE_PYTHON) {
        uint32_t caller = (uint32_t)cache_get(&stacks->python, parent);
        if (caller && cache_get(&stacks->modules, caller) == MODULE_OTHER)
            cache_set(&stacks->modules, caller, MODULE_INTERPRETER);
        return STACK_TRAMPOLINE;
    }
    bool is_evaluator = stacks->evaluator && frame->function == stacks->evaluator;
    stacks->evaluator_is_known |= is_evaluator;
    enum stack_python before = stack_rows_python(stacks, parent);
    if (kind != MODULE_INTERPRETER || before == STACK_NO_PYTHON)
        return STACK_NO_PYTHON;
    bool in_evaluator = before == STACK_TRAMPOLINE &&
                        cache_get(&stacks->modules, (uint32_t)cache_get(&stacks->python, parent)) ==
                            MODULE_INTERPRETER;
    return is_evaluator || in_evaluator ? STACK_TRAMPOLINE : STACK_INTERPRETER;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static struct stack_frame name_frame(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                                     uint64_t address, bool in_kernel,
                                     struct trace_writer *writer) {
    struct symbol symbol = symbols_find(symbols, pid, address, in_kernel);
    bool named = symbol.function.length > 0;
    struct stack_frame frame = {
        .function = trace_writer_string(writer, named ? symbol.function : TEXT(STACK_UNKNOWN)),
        .module = trace_writer_string(writer, symbol.module),
        .mapped = symbol.module.length > 0,
        .is_final = named || (symbol.module.length > 0 && !text_is(symbol.module, "[anon]")),
        .offset = symbol.offset,
        .is_evaluator = text_starts(symbol.function, "_PyEval_EvalFrameDefault") ||
                        text_starts(symbol.function, "_TAIL_CALL_"), /* 3.14, by clang */
        .is_stripped = !named && (text_starts(symbol.module, "python3") ||
                                  text_starts(symbol.module, "libpython3")),
    };
    if (symbol.line) {
        struct source_files *sources = &stacks->sources;
        frame.file = trace_writer_string(writer, symbol.file);
        frame.line = symbol.line;
        frame.function_line = symbol.function_line;
        frame.statement = source_files_statement(sources, symbol.file, symbol.line);
        frame.source =
            trace_writer_string(writer, source_files_line(sources, symbol.file, symbol.line));
        frame.loops =
            trace_writer_string(writer, source_files_loops(sources, symbol.file, symbol.line));
    }
    classify_strings(stacks, &frame, symbol);
    return frame;
}

static void remember_frame(struct stack_rows *stacks, struct map *map, uint64_t key,
                           const struct stack_frame *frame) {
    struct status ignored;
    if (stacks->known_count >= CACHE_MAX) {
        map_finish(&stacks->frames);
        map_finish(&stacks->code_frames);
        stacks->known_count = 0;
    }
    if (!GROW(stacks->known, &stacks->known_capacity, stacks->known_count + 1, &ignored))
        return;
    stacks->known[stacks->known_count] = *frame;
    map_set(map, key, stacks->known_count++, &ignored);
}

static struct stack_frame find_frame(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                                     uint64_t generation, uint64_t address, bool in_kernel,
                                     struct trace_writer *writer) {
    uint64_t parts[2] = {in_kernel ? UINT64_MAX : generation, address};
    uint64_t key = checksum64(parts, sizeof parts), *known = map_find(&stacks->frames, key);
    if (known)
        return stacks->known[*known];
    struct stack_frame frame = name_frame(stacks, symbols, pid, address, in_kernel, writer);
    if (frame.is_final)
        remember_frame(stacks, &stacks->frames, key, &frame);
    return frame;
}

static uint32_t push_frame(struct stack_rows *stacks, uint32_t parent,
                           const struct stack_frame *frame, struct trace_writer *writer) {
    uint32_t parts[6] = {parent,      frame->function, frame->module,
                         frame->file, frame->line,     frame->offset};
    uint64_t key = checksum64(parts, sizeof parts), *known = map_find(&stacks->rows, key);
    if (known)
        return (uint32_t)*known;
    uint32_t row = trace_write_stack(writer, &(struct row_stack){
                                                 .parent = parent,
                                                 .function = frame->function,
                                                 .module = frame->module,
                                                 .file = frame->file,
                                                 .line = frame->line,
                                                 .offset = frame->offset,
                                                 .function_line = frame->function_line,
                                                 .statement = frame->statement,
                                                 .source = frame->source,
                                                 .loops = frame->loops,
                                             });
    cache_set(&stacks->rows, key, row);
    enum stack_python kind = frame->is_python ? STACK_NO_PYTHON : classify(stacks, parent, frame);
    cache_set(&stacks->python, row, (uint64_t)kind << 32 | frame->module);
    return row;
}

struct lookup {
    struct stack_rows *stacks;
    struct symbols *symbols;
    pid_t pid;
    uint64_t generation;
    struct trace_writer *writer;
};

/* A return address follows the call and may belong to the next function, hence the - 1. */
static struct stack_frame chain_frame(const struct lookup *lookup, const struct perf_chain *chain,
                                      size_t index) {
    bool in_kernel = index < chain->kernel_count;
    bool innermost = !chain->is_call && (index == 0 || index == chain->kernel_count);
    uint64_t address = chain->addresses[index];
    struct stack_frame frame =
        find_frame(lookup->stacks, lookup->symbols, lookup->pid, lookup->generation,
                   innermost || address == 0 ? address : address - 1, in_kernel, lookup->writer);
    if (!chain->is_call)
        frame.offset = 0;
    return frame;
}

/* Code without frame pointers leaves arbitrary values in the chain: it is cut at the first address
 * without code. */
static uint32_t callers_row(const struct lookup *lookup, const struct perf_chain *chain) {
    uint64_t key =
        checksum64(chain->addresses + 1, (chain->count - 1) * sizeof chain->addresses[0]);
    uint64_t parts[3] = {key, lookup->generation, chain->kernel_count << 1 | chain->is_call};
    key = checksum64(parts, sizeof parts);
    uint64_t *known = map_find(&lookup->stacks->chains, key);
    if (known)
        return (uint32_t)*known;
    struct stack_frame frames[STACK_FRAMES_MAX];
    size_t count = 0;
    bool is_final = true;
    for (size_t i = 1; i < chain->count; i++) {
        frames[count] = chain_frame(lookup, chain, i);
        if (!frames[count].mapped)
            break;
        is_final &= frames[count++].is_final;
    }
    uint32_t row = 0;
    while (count > 0)
        row = push_frame(lookup->stacks, row, &frames[--count], lookup->writer);
    if (is_final)
        cache_set(&lookup->stacks->chains, key, row);
    return row;
}

/* ---- Python frames that were read ---------------------------------------------------------- */

static struct stack_frame name_python_frame(struct stack_rows *stacks,
                                            const struct python_code *code, int32_t offset,
                                            struct trace_writer *writer) {
    struct python_line_table table = {code->format, code->first_line, code->table,
                                      code->table_bytes};
    struct text path = text_of(code->path);
    struct buffer name = {0};
    symbols_python_name(text_of(code->name), path, &name);
    struct stack_frame frame = {
        .function = trace_writer_string(writer, buffer_as_text(&name)),
        .module = trace_writer_string(writer, TEXT(STACK_PYTHON)),
        .file = trace_writer_string(writer, path),
        .line = python_line(&table, offset),
        .function_line = code->first_line > 0 ? (uint32_t)code->first_line : 0,
        .is_python = true,
        .mapped = true,
        .is_final = true,
    };
    buffer_finish(&name);
    frame.statement = source_files_statement(&stacks->sources, path, frame.line);
    frame.source =
        trace_writer_string(writer, source_files_line(&stacks->sources, path, frame.line));
    frame.loops =
        trace_writer_string(writer, source_files_loops(&stacks->sources, path, frame.line));
    return frame;
}

static uint32_t push_python_frame(const struct lookup *lookup, uint32_t parent,
                                  const struct perf_python_stack *python, size_t index) {
    struct stack_rows *stacks = lookup->stacks;
    const struct python_frame *read = &python->frames[index];
    uint64_t key = (uint64_t)read->code << 32 | (uint32_t)read->offset;
    const uint64_t *known = map_find(&stacks->code_frames, key);
    if (known)
        return push_frame(stacks, parent, &stacks->known[*known], lookup->writer);
    const struct python_code *code = python_samples_code(python->samples, read->code);
    if (!code)
        return parent;
    struct stack_frame frame = name_python_frame(stacks, code, read->offset, lookup->writer);
    remember_frame(stacks, &stacks->code_frames, key, &frame);
    return push_frame(stacks, parent, &frame, lookup->writer);
}

/* Where Python's frames meet the native ones. */
struct junction {
    size_t native; /* native frames inside the innermost Python frame */
    size_t python; /* first Python frame that is used; 0: all are */
};

/* Each run of the interpreter's loop executes the Python frames from an entry on. The stacks are of
 * different moments: only as many runs are used as both have. */
static struct junction find_junction(const struct perf_chain *chain,
                                     const struct stack_frame *frames,
                                     const struct perf_python_stack *python) {
    size_t evaluators = 0, runs = 0, innermost = chain->count;
    struct junction junction = {chain->count, 0};
    for (size_t i = chain->count; i > 0; i--)
        if (frames[i - 1].is_evaluator) {
            evaluators++;
            innermost = i - 1;
        }
    if (evaluators == 0) /* an interpreter without symbols: its unnamed functions run the loop */
        for (size_t i = chain->count; i > 0; i--)
            if (frames[i - 1].is_stripped)
                innermost = i - 1;
    if (evaluators == 0)
        return (struct junction){innermost, 0};
    for (size_t i = 0; i < python->count; i++)
        runs += python->frames[i].is_entry;
    if (!chain->is_complete || evaluators == runs) {
        junction.native = innermost;
        return junction;
    }
    size_t used = evaluators < runs ? evaluators : runs, seen = 0;
    for (size_t i = chain->count; i > 0 && seen < used; i--)
        if (frames[i - 1].is_evaluator && ++seen == used)
            junction.native = i - 1;
    for (size_t i = python->count, run = 0; i > 0; i--) {
        run += python->frames[i - 1].is_entry;
        if (run <= used)
            junction.python = i - 1;
    }
    return junction;
}

/* Another thread collects if this one runs outside the interpreter's library. */
static bool runs_collector(const struct perf_chain *chain, const struct stack_frame *frames) {
    size_t first = chain->kernel_count;
    for (size_t i = first; i < chain->count; i++)
        if (frames[i].is_evaluator)
            return frames[first].module == frames[i].module;
    return false;
}

/* 0: the thread was not in the interpreter, or the frames of trampolines name Python's functions
 * already. */
static uint32_t python_row(const struct lookup *lookup, const struct perf_chain *chain,
                           const struct perf_python_stack *python) {
    struct stack_frame frames[STACK_FRAMES_MAX];
    uint32_t row = 0;
    for (size_t i = 0; i < chain->count; i++) {
        frames[i] = chain_frame(lookup, chain, i);
        if (cache_get(&lookup->stacks->modules, frames[i].module) == MODULE_PYTHON)
            return 0;
    }
    struct junction junction = find_junction(chain, frames, python);
    if (chain->is_complete && junction.native == chain->count)
        return 0;
    for (size_t i = python->count; i > junction.python; i--)
        if (!python->frames[i - 1].is_collector || runs_collector(chain, frames))
            row = push_python_frame(lookup, row, python, i - 1);
    for (size_t i = junction.native; i > 0; i--)
        row = push_frame(lookup->stacks, row, &frames[i - 1], lookup->writer);
    return row;
}

uint32_t stack_rows_find(struct stack_rows *stacks, struct symbols *symbols, pid_t pid,
                         const struct perf_chain *chain, const struct perf_python_stack *python,
                         struct trace_writer *writer) {
    if (chain->count == 0)
        return 0;
    struct lookup lookup = {stacks, symbols, pid, symbols_generation(symbols, pid), writer};
    uint32_t row = python && python->count ? python_row(&lookup, chain, python) : 0;
    if (row)
        return row;
    uint32_t callers = chain->count > 1 ? callers_row(&lookup, chain) : 0;
    struct stack_frame frame = chain_frame(&lookup, chain, 0);
    return push_frame(stacks, callers, &frame, writer);
}
