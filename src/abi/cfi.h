/* Call frame information (CFI): finds a function's caller without a frame pointer.
 *
 * Compilers emit CFI for exceptions and debuggers. For each instruction it describes how to compute
 * the canonical frame address (CFA) and where the caller's registers are saved. Format: DWARF 5,
 * section 6.4, in the variant of .eh_frame.
 *
 * The input is untrusted: bytes of other people's files and stacks. Nothing is allocated, and every
 * loop is bounded.
 */
#ifndef RIDGE_ABI_CFI_H
#define RIDGE_ABI_CFI_H

#include "base/dwarf_bytes.h"

/* Registers have DWARF's numbers. DWARF has no number for arm64's program counter: here it is the
 * last one, as on x86-64. */
enum { CFI_REGISTERS = 33 };

/* A pointer with a DW_EH_PE_* encoding that needs no memory access; `address` is that of the
 * pointer itself. Fails for any other encoding. */
uint64_t cfi_read_pointer(struct dwarf_bytes *bytes, uint8_t encoding, uint64_t address);

/* A frame description entry with the fields of its common information entry. Points into the bytes
 * that it was read from. */
struct cfi_fde {
    uint64_t start, end; /* of the code */
    uint64_t code_alignment_factor;
    int64_t data_alignment_factor;
    uint8_t return_address_register;
    uint8_t pointer_encoding;
    bool is_signal_frame; /* the return address is that of an instruction that has not run yet */
    struct dwarf_bytes initial_instructions, instructions;
    uint64_t instructions_address;
};

/* The FDE at `offset` of the section .eh_frame, which is loaded at `address`. */
bool cfi_fde_read(const uint8_t *section, size_t length, uint64_t address, uint64_t offset,
                  struct cfi_fde *fde);

/* Register rules of DWARF, and the two of the CFA. */
enum cfi_rule_kind {
    CFI_SAME_VALUE,
    CFI_UNDEFINED,
    CFI_OFFSET,         /* saved at CFA + value */
    CFI_VAL_OFFSET,     /* is CFA + value */
    CFI_REGISTER,       /* in another register; as a rule of the CFA: register + value */
    CFI_CFA_EXPRESSION, /* the CFA is the result of the expression */
    CFI_EXPRESSION,     /* saved at the result of the expression */
    CFI_VAL_EXPRESSION, /* is the result of the expression */
};
struct cfi_rule {
    uint8_t kind, register_number;
    uint32_t length; /* of the expression */
    union {
        int64_t value;
        const uint8_t *expression;
    };
};
/* The row of the CFI table for one instruction. */
struct cfi_row {
    struct cfi_rule cfa;
    struct cfi_rule registers[CFI_REGISTERS];
    uint8_t return_address_register;
    bool ra_signed; /* arm64: the return address has a pointer authentication code */
};
bool cfi_row_at(const struct cfi_fde *fde, uint64_t address, struct cfi_row *row);

/* The copied part of a stack. */
struct cfi_memory {
    const uint8_t *bytes;
    uint64_t start;
    size_t length;
};
bool cfi_memory_read(const struct cfi_memory *memory, uint64_t address, uint64_t *value);

/* Evaluates a rule's expression, with `initial` on its stack unless that is NULL. */
bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t registers[CFI_REGISTERS],
                  const struct cfi_memory *memory, const uint64_t *initial, uint64_t *value);

/* Replaces the registers by the caller's. False at the outermost frame, or where the caller cannot
 * be found. */
bool cfi_step(const struct cfi_row *row, unsigned stack_pointer, unsigned program_counter,
              const struct cfi_memory *memory, uint64_t registers[CFI_REGISTERS]);

#endif
