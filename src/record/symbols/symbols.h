/* Which function is at an address of a process? ELF symbol tables of what is mapped there, the
 * kernel's symbols where they may be read, and perf-PID.map files, which Python 3.12 and JIT
 * compilers write.
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
    struct text function; /* demangled where the mangling is that of C++ or the older one of Rust */
    struct text module;   /* the file's name without its folder; "[vdso]", "[kernel]" or a driver of
                             it, "[python]", "[jit]", "[anon]": memory whose content nobody tells;
                             or "": nothing that could run is mapped there */
};

struct symbols *symbols_create(struct status *status);
void symbols_destroy(struct symbols *symbols);

/* What is mapped from now on: an mmap record. `path` may be "//anon", "[vdso]", deleted files. */
bool symbols_map(struct symbols *symbols, pid_t pid, uint64_t start, uint64_t length,
                 uint64_t offset, struct text path, struct status *status);
bool symbols_fork(struct symbols *symbols, pid_t parent, pid_t child, struct status *status);
void symbols_exec(struct symbols *symbols, pid_t pid); /* the old mappings are gone */

/* Reads the kernel's symbols, which takes a tenth of a second, before they are needed. */
void symbols_prepare_kernel(struct symbols *symbols);

/* Texts live as long as `symbols`. Never fails: an address that nothing is known of gives "". */
struct symbol symbols_find(struct symbols *symbols, pid_t pid, uint64_t address, bool in_kernel);
/* Another number when an address of that process may mean something else than before. */
uint64_t symbols_generation(const struct symbols *symbols, pid_t pid);
/* The tables for unwinding of the file that is mapped at an address, and the address as they have
 * it; NULL when there are none. */
const struct unwind_table *symbols_unwind_table(struct symbols *symbols, pid_t pid,
                                                uint64_t address, uint64_t *in_file);

/* ---- The kernel ---- */

/* Zeroed ones are empty, and are filled when first asked. */
struct kernel_symbols {
    struct kernel_function *items;
    size_t count, capacity;
    struct arena names;
    bool is_read;
};

void kernel_symbols_finish(struct kernel_symbols *symbols);
/* "" when it is not known; `module` is "[kernel]" or a driver's, such as "[nvidia]". */
struct text kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address,
                                struct text *module);

#endif
