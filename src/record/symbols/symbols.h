/* Symbolizes addresses of processes: from the ELF symbol tables of mapped files, /proc/kallsyms
 * where it is readable, and the perf-PID.map files of Python 3.12 and JIT compilers.
 */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "record/symbols/unwind_table.h"

struct symbols;

struct symbol {
    struct text function; /* demangled: C++ and Rust's legacy mangling */
    struct text module;   /* the file's base name; "[vdso]", "[kernel]" or a kernel module,
                             "[python]", "[jit]", "[anon]" for other anonymous memory, or "" when no
                             code is mapped there */
    struct text file;     /* path of the source file; "" unless there is debug information */
    uint32_t line, function_line; /* 0: unknown */
    uint32_t offset;              /* in the function, in bytes */
};

struct symbols *symbols_create(struct status *status);
void symbols_destroy(struct symbols *symbols);

/* Takes an mmap record. `path` may be "//anon", "[vdso]" or a deleted file. */
bool symbols_map(struct symbols *symbols, pid_t pid, uint64_t start, uint64_t length,
                 uint64_t offset, struct text path, struct status *status);
bool symbols_fork(struct symbols *symbols, pid_t parent, pid_t child, struct status *status);
void symbols_exec(struct symbols *symbols, pid_t pid); /* discards the mappings */

/* Reads the kernel's symbols ahead of their first use, because that takes a tenth of a second. */
void symbols_prepare_kernel(struct symbols *symbols);

/* The texts live as long as `symbols`. Never fails: an unknown address gives "". */
struct symbol symbols_find(struct symbols *symbols, pid_t pid, uint64_t address, bool in_kernel);
/* Appends the name of a Python function: "Trainer.step (train.py)". */
void symbols_python_name(struct text function, struct text path, struct buffer *name);
/* Changes whenever the mappings of the process change. */
uint64_t symbols_generation(const struct symbols *symbols, pid_t pid);
/* The unwind table of the file mapped at an address, and the address in that file; NULL when there
 * is none. */
const struct unwind_table *symbols_unwind_table(struct symbols *symbols, pid_t pid,
                                                uint64_t address, uint64_t *in_file);

/* Symbols of /proc/kallsyms. Zero-initialized; read at the first lookup. */
struct kernel_symbols {
    struct kernel_function *items;
    size_t count, capacity;
    struct arena names;
    bool is_read;
};

void kernel_symbols_finish(struct kernel_symbols *symbols);
/* "" when unknown; `module` is "[kernel]" or a kernel module such as "[nvidia]". */
struct text kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address,
                                struct text *module);

#endif
