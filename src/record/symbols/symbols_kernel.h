/* Which function of the kernel is at an address? /proc/kallsyms says, to those who may know. */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_KERNEL_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

/* Zeroed ones are empty, and are filled when first asked. */
struct kernel_symbols {
    struct kernel_function *items;
    size_t count, capacity;
    struct arena names;
    bool looked;
};

void kernel_symbols_finish(struct kernel_symbols *symbols);
/* "" when it is not known; `module` is "[kernel]" or a driver's, such as "[nvidia]". */
struct text kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address,
                                struct text *module);

#endif
