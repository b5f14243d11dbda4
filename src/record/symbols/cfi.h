/* Where is a function's caller, when it keeps no frame pointer? What compilers write for exceptions
 * and debuggers, call frame information, says for each instruction where the registers of the
 * caller are. Format: DWARF 5, section 6.4, as .eh_frame has it.
 *
 * Everything here is bytes of other people's files and stacks: nothing is trusted, nothing is
 * allocated, and every loop ends.
 */
#ifndef RIDGE_RECORD_SYMBOLS_CFI_H
#define RIDGE_RECORD_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers have DWARF's numbers. Those of arm64 have no number for the address of the code: it is
 * the last, as it is x86-64's. */
enum { CFI_REGISTERS = 33 };

struct cfi_bytes {
    const uint8_t *at, *end;
    bool failed; /* something was read beyond the end; what was read is 0 */
};

uint64_t cfi_fixed(struct cfi_bytes *bytes, size_t width);
int64_t cfi_fixed_signed(struct cfi_bytes *bytes, size_t width);
uint64_t cfi_unsigned(struct cfi_bytes *bytes); /* LEB128 */
int64_t cfi_signed(struct cfi_bytes *bytes);
/* A pointer in one of the encodings of .eh_frame that need no memory; `address` is that of the
 * bytes themselves. 0 and failed in any other encoding. */
uint64_t cfi_pointer(struct cfi_bytes *bytes, uint8_t encoding, uint64_t address);

/* A function's entry. Points into the bytes that it was read from. */
struct cfi_entry {
    uint64_t start, end; /* of its code */
    uint64_t code_alignment_factor;
    int64_t data_alignment_factor;
    uint8_t return_register;
    uint8_t encoding;     /* of pointers */
    bool is_signal_frame; /* it returns to an instruction that has not run yet */
    struct cfi_bytes begins, changes;
    uint64_t changes_address;
};

/* The entry that begins at `offset` of the section, which is loaded at `address`. */
bool cfi_entry_read(const uint8_t *section, size_t length, uint64_t address, uint64_t offset,
                    struct cfi_entry *entry);

enum cfi_rule_kind {
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_SAVED,      /* in memory, `value` from the frame's address */
    CFI_DISTANCE,   /* it is the frame's address and `value` */
    CFI_REGISTER,   /* in another register, or for the frame's address: that and `value` */
    CFI_EXPRESSION, /* the frame's address is what the expression gives */
    CFI_SAVED_AT,   /* in memory, where the expression says */
    CFI_VALUE_OF,   /* what the expression gives */
};
struct cfi_rule {
    uint8_t kind, other; /* a register */
    uint32_t length;     /* of the expression */
    union {
        int64_t value;
        const uint8_t *expression;
    };
};
/* How the frame looks at one instruction. */
struct cfi_row {
    struct cfi_rule frame;
    struct cfi_rule registers[CFI_REGISTERS];
    uint8_t return_register;
    bool is_signed; /* the return address, by arm64 */
};
bool cfi_row_at(const struct cfi_entry *entry, uint64_t address, struct cfi_row *row);

/* What there is of the stack. */
struct cfi_memory {
    const uint8_t *bytes;
    uint64_t start;
    size_t length;
};
bool cfi_read(const struct cfi_memory *memory, uint64_t address, uint64_t *value);

/* What an expression gives, with one value on its stack to begin with or none (NULL). */
bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t registers[CFI_REGISTERS],
                  const struct cfi_memory *memory, const uint64_t *first, uint64_t *value);

/* Makes the registers those of the caller: the stack pointer is that number, the code address comes
 * at last. False at the end of the stack, or where it cannot be told. */
bool cfi_step(const struct cfi_row *row, unsigned stack_pointer, unsigned code_address,
              const struct cfi_memory *memory, uint64_t registers[CFI_REGISTERS]);

#endif
