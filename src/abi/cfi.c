/* Parses .eh_frame, executes call frame instructions and DWARF expressions, and unwinds one frame.
 *
 * Expressions (DWARF 5, section 2.5) occur in functions that realign their stack, in PLT entries
 * and in signal trampolines.
 */
#include "abi/cfi.h"

#include <string.h>

/* ---- Values ------------------------------------------------------------------------------ */

/* Pointer encodings: the low four bits are the value format, the others the application. */
enum {
    DW_EH_PE_absptr = 0x00,
    DW_EH_PE_uleb128 = 0x01,
    DW_EH_PE_udata2 = 0x02,
    DW_EH_PE_udata4 = 0x03,
    DW_EH_PE_udata8 = 0x04,
    DW_EH_PE_sleb128 = 0x09,
    DW_EH_PE_sdata2 = 0x0a,
    DW_EH_PE_sdata4 = 0x0b,
    DW_EH_PE_sdata8 = 0x0c,
    ENCODING_FORMAT_MASK = 0x0f,
    DW_EH_PE_pcrel = 0x10,
    ENCODING_APPLICATION_MASK = 0x70,
};

uint64_t cfi_read_pointer(struct dwarf_bytes *bytes, uint8_t encoding, uint64_t address) {
    uint8_t application = encoding & ENCODING_APPLICATION_MASK;
    uint64_t value = 0, base = application == DW_EH_PE_pcrel ? address : 0;
    bool known = application == DW_EH_PE_absptr || application == DW_EH_PE_pcrel;
    switch (encoding & ENCODING_FORMAT_MASK) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = dwarf_read_fixed(bytes, 8);
        break;
    case DW_EH_PE_uleb128:
        value = dwarf_read_uleb128(bytes);
        break;
    case DW_EH_PE_sleb128:
        value = (uint64_t)dwarf_read_sleb128(bytes);
        break;
    case DW_EH_PE_udata2:
        value = dwarf_read_fixed(bytes, 2);
        break;
    case DW_EH_PE_udata4:
        value = dwarf_read_fixed(bytes, 4);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)dwarf_read_fixed_signed(bytes, 2);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)dwarf_read_fixed_signed(bytes, 4);
        break;
    default:
        known = false;
    }
    bytes->failed |= !known;
    return bytes->failed ? 0 : value + base;
}

/* ---- CIE and FDE ------------------------------------------------------------------------- */

static bool read_cie(struct dwarf_bytes bytes, uint64_t address, struct cfi_fde *fde,
                     bool *has_augmentation_length) {
    const uint8_t *start = bytes.at;
    uint8_t version = (uint8_t)dwarf_read_fixed(&bytes, 1);
    const char *augmentation = (const char *)bytes.at;
    size_t length = strnlen(augmentation, (size_t)(bytes.end - bytes.at));
    bytes.at += length;
    dwarf_read_fixed(&bytes, 1);
    fde->code_alignment_factor = dwarf_read_uleb128(&bytes);
    fde->data_alignment_factor = dwarf_read_sleb128(&bytes);
    fde->return_address_register =
        (uint8_t)(version == 1 ? dwarf_read_fixed(&bytes, 1) : dwarf_read_uleb128(&bytes));
    *has_augmentation_length = length > 0 && augmentation[0] == 'z';
    if (bytes.failed || (version != 1 && version != 3) || (length > 0 && !*has_augmentation_length))
        return false;
    uint64_t data_length = *has_augmentation_length ? dwarf_read_uleb128(&bytes) : 0;
    if (bytes.failed || data_length > (uint64_t)(bytes.end - bytes.at))
        return false;
    const uint8_t *instructions = bytes.at + data_length;
    for (size_t i = 1; i < length; i++)
        switch (augmentation[i]) {
        case 'R':
            fde->pointer_encoding = (uint8_t)dwarf_read_fixed(&bytes, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)dwarf_read_fixed(&bytes, 1);
            /* skip the personality routine; it may be indirect */
            cfi_read_pointer(&bytes, encoding & ENCODING_FORMAT_MASK,
                             address + (uint64_t)(bytes.at - start));
            break;
        }
        case 'L':
            dwarf_read_fixed(&bytes, 1);
            break;
        case 'S':
            fde->is_signal_frame = true;
            break;
        case 'B': /* arm64: return addresses are signed with the B key */
            break;
        default: /* unknown, but the end of the data is known */
            i = length;
        }
    fde->initial_instructions = (struct dwarf_bytes){instructions, bytes.end, false};
    return !bytes.failed && fde->return_address_register < CFI_REGISTERS;
}

/* The CIE or FDE at an offset of the section, without its length field. */
static bool entry_at(const uint8_t *section, size_t length, uint64_t offset,
                     struct dwarf_bytes *entry) {
    enum { EXTENDED_LENGTH = 0xfffffff0 /* 64-bit DWARF */ };
    if (offset >= length)
        return false;
    *entry = (struct dwarf_bytes){section + offset, section + length, false};
    uint64_t bytes = dwarf_read_fixed(entry, 4);
    if (entry->failed || bytes < 4 || bytes >= EXTENDED_LENGTH ||
        bytes > (uint64_t)(entry->end - entry->at))
        return false;
    entry->end = entry->at + bytes;
    return true;
}

bool cfi_fde_read(const uint8_t *section, size_t length, uint64_t address, uint64_t offset,
                  struct cfi_fde *fde) {
    struct dwarf_bytes bytes, cie;
    bool has_augmentation_length = false;
    *fde = (struct cfi_fde){0};
    if (!entry_at(section, length, offset, &bytes))
        return false;
    uint64_t at = (uint64_t)(bytes.at - section), cie_offset = dwarf_read_fixed(&bytes, 4);
    if (cie_offset == 0 || cie_offset > at || !entry_at(section, length, at - cie_offset, &cie) ||
        dwarf_read_fixed(&cie, 4) != 0 ||
        !read_cie(cie, address + (uint64_t)(cie.at - section), fde, &has_augmentation_length))
        return false;
    fde->start =
        cfi_read_pointer(&bytes, fde->pointer_encoding, address + (uint64_t)(bytes.at - section));
    uint64_t code_bytes = cfi_read_pointer(&bytes, fde->pointer_encoding & ENCODING_FORMAT_MASK, 0);
    uint64_t augmentation_bytes = has_augmentation_length ? dwarf_read_uleb128(&bytes) : 0;
    if (bytes.failed || augmentation_bytes > (uint64_t)(bytes.end - bytes.at) ||
        __builtin_add_overflow(fde->start, code_bytes, &fde->end))
        return false;
    bytes.at += augmentation_bytes;
    fde->instructions = bytes;
    fde->instructions_address = address + (uint64_t)(bytes.at - section);
    return true;
}

/* ---- Expressions ------------------------------------------------------------------------- */

bool cfi_memory_read(const struct cfi_memory *memory, uint64_t address, uint64_t *value) {
    uint64_t offset = address - memory->start;
    if (address < memory->start || offset > memory->length ||
        memory->length - offset < sizeof *value)
        return false;
    memcpy(value, memory->bytes + offset, sizeof *value);
    return true;
}

/* Operations of DWARF expressions. */
enum {
    DW_OP_deref = 0x06,
    DW_OP_const1u = 0x08, /* to DW_OP_const8s: 1, 2, 4, 8 bytes, each unsigned and signed */
    DW_OP_constu = 0x10,
    DW_OP_consts = 0x11,
    DW_OP_dup = 0x12,
    DW_OP_drop = 0x13,
    DW_OP_over = 0x14,
    DW_OP_pick = 0x15,
    DW_OP_swap = 0x16,
    DW_OP_rot = 0x17,
    DW_OP_abs = 0x19,
    DW_OP_and = 0x1a,
    DW_OP_div = 0x1b,
    DW_OP_minus = 0x1c,
    DW_OP_mod = 0x1d,
    DW_OP_mul = 0x1e,
    DW_OP_neg = 0x1f,
    DW_OP_not = 0x20,
    DW_OP_or = 0x21,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_shl = 0x24,
    DW_OP_shr = 0x25,
    DW_OP_shra = 0x26,
    DW_OP_xor = 0x27,
    DW_OP_bra = 0x28,
    DW_OP_eq = 0x29,
    DW_OP_ge = 0x2a,
    DW_OP_gt = 0x2b,
    DW_OP_le = 0x2c,
    DW_OP_lt = 0x2d,
    DW_OP_ne = 0x2e,
    DW_OP_skip = 0x2f,
    DW_OP_lit0 = 0x30,
    DW_OP_lit31 = 0x4f,
    DW_OP_breg0 = 0x70,
    DW_OP_breg31 = 0x8f,
    DW_OP_bregx = 0x92,
    DW_OP_deref_size = 0x94,
    DW_OP_nop = 0x96,
};
enum { EXPRESSION_STACK_MAX = 32, OPERATIONS_MAX = 1000 };

struct expression {
    uint64_t values[EXPRESSION_STACK_MAX];
    unsigned count;
    bool failed;
    const uint64_t *registers;
    const struct cfi_memory *memory;
};

static void push(struct expression *expression, uint64_t value) {
    expression->failed |= expression->count == EXPRESSION_STACK_MAX;
    if (!expression->failed)
        expression->values[expression->count++] = value;
}

static uint64_t pop(struct expression *expression) {
    expression->failed |= expression->count == 0;
    return expression->failed ? 0 : expression->values[--expression->count];
}

static void pick(struct expression *expression, uint64_t depth) {
    bool exists = depth < expression->count;
    expression->failed |= !exists;
    push(expression, exists ? expression->values[expression->count - 1 - depth] : 0);
}

static void deref(struct expression *expression, uint64_t width) {
    uint64_t value = 0;
    expression->failed |=
        width == 0 || width > 8 || !cfi_memory_read(expression->memory, pop(expression), &value);
    push(expression, width < 8 ? value & (((uint64_t)1 << (8 * width % 64)) - 1) : value);
}

static void push_register(struct expression *expression, uint64_t number, int64_t offset) {
    expression->failed |= number >= CFI_REGISTERS;
    push(expression, expression->failed ? 0 : expression->registers[number] + (uint64_t)offset);
}

/* Operations that replace the two topmost values by one. False: it is another operation. */
static bool execute_binary(struct expression *expression, uint8_t opcode) {
    if (opcode < DW_OP_and || opcode > DW_OP_ne || opcode == DW_OP_neg || opcode == DW_OP_not ||
        opcode == DW_OP_plus_uconst || opcode == DW_OP_bra)
        return false;
    uint64_t b = pop(expression), a = pop(expression), result = 0;
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (opcode) {
    case DW_OP_and:
        result = a & b;
        break;
    case DW_OP_div:
        expression->failed |= y == 0 || (x == INT64_MIN && y == -1);
        result = expression->failed ? 0 : (uint64_t)(x / y);
        break;
    case DW_OP_minus:
        result = a - b;
        break;
    case DW_OP_mod:
        expression->failed |= b == 0;
        result = expression->failed ? 0 : a % b;
        break;
    case DW_OP_mul:
        result = a * b;
        break;
    case DW_OP_or:
        result = a | b;
        break;
    case DW_OP_plus:
        result = a + b;
        break;
    case DW_OP_shl:
        result = b < 64 ? a << b : 0;
        break;
    case DW_OP_shr:
        result = b < 64 ? a >> b : 0;
        break;
    case DW_OP_shra:
        result = (uint64_t)(x >> (b < 63 ? b : 63));
        break;
    case DW_OP_xor:
        result = a ^ b;
        break;
    case DW_OP_eq:
        result = a == b;
        break;
    case DW_OP_ge:
        result = x >= y;
        break;
    case DW_OP_gt:
        result = x > y;
        break;
    case DW_OP_le:
        result = x <= y;
        break;
    case DW_OP_lt:
        result = x < y;
        break;
    default:
        result = a != b;
    }
    push(expression, result);
    return true;
}

/* Operations that push a constant, or a register with an offset. False: it is another operation. */
static bool execute_push(struct expression *expression, uint8_t opcode, struct dwarf_bytes *bytes) {
    if (opcode >= DW_OP_const1u && opcode < DW_OP_constu) {
        size_t width = (size_t)1 << (opcode - DW_OP_const1u) / 2;
        push(expression, opcode % 2 ? (uint64_t)dwarf_read_fixed_signed(bytes, width)
                                    : dwarf_read_fixed(bytes, width));
    } else if (opcode == DW_OP_constu) {
        push(expression, dwarf_read_uleb128(bytes));
    } else if (opcode == DW_OP_consts) {
        push(expression, (uint64_t)dwarf_read_sleb128(bytes));
    } else if (opcode >= DW_OP_lit0 && opcode <= DW_OP_lit31) {
        push(expression, opcode - (unsigned)DW_OP_lit0);
    } else if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31) {
        push_register(expression, opcode - (unsigned)DW_OP_breg0, dwarf_read_sleb128(bytes));
    } else if (opcode == DW_OP_bregx) {
        uint64_t number = dwarf_read_uleb128(bytes);
        push_register(expression, number, dwarf_read_sleb128(bytes));
    } else {
        return false;
    }
    return true;
}

static void branch(struct dwarf_bytes *bytes, const uint8_t *first, bool taken) {
    int64_t distance = dwarf_read_fixed_signed(bytes, 2);
    if (bytes->failed || !taken)
        return;
    bytes->failed = distance < first - bytes->at || distance > bytes->end - bytes->at;
    if (!bytes->failed)
        bytes->at += distance;
}

static void execute_operation(struct expression *expression, uint8_t opcode,
                              struct dwarf_bytes *bytes, const uint8_t *first) {
    uint64_t a, b, c;
    if (execute_push(expression, opcode, bytes) || execute_binary(expression, opcode))
        return;
    switch (opcode) {
    case DW_OP_nop:
        break;
    case DW_OP_deref:
        deref(expression, 8);
        break;
    case DW_OP_deref_size:
        deref(expression, dwarf_read_fixed(bytes, 1));
        break;
    case DW_OP_dup:
        pick(expression, 0);
        break;
    case DW_OP_drop:
        pop(expression);
        break;
    case DW_OP_over:
        pick(expression, 1);
        break;
    case DW_OP_pick:
        pick(expression, dwarf_read_fixed(bytes, 1));
        break;
    case DW_OP_swap:
        a = pop(expression), b = pop(expression);
        push(expression, a), push(expression, b);
        break;
    case DW_OP_rot:
        a = pop(expression), b = pop(expression), c = pop(expression);
        push(expression, a), push(expression, c), push(expression, b);
        break;
    case DW_OP_abs:
        a = pop(expression);
        push(expression, a >> 63 ? 0 - a : a);
        break;
    case DW_OP_neg:
        push(expression, 0 - pop(expression));
        break;
    case DW_OP_not:
        push(expression, ~pop(expression));
        break;
    case DW_OP_plus_uconst:
        push(expression, pop(expression) + dwarf_read_uleb128(bytes));
        break;
    case DW_OP_bra:
        branch(bytes, first, pop(expression) != 0);
        break;
    case DW_OP_skip:
        branch(bytes, first, true);
        break;
    default:
        expression->failed = true;
    }
}

bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t registers[CFI_REGISTERS],
                  const struct cfi_memory *memory, const uint64_t *initial, uint64_t *value) {
    struct expression expression = {.registers = registers, .memory = memory};
    struct dwarf_bytes bytes = {rule->expression, rule->expression + rule->length, false};
    if (initial)
        push(&expression, *initial);
    for (unsigned i = 0; bytes.at < bytes.end && !bytes.failed && !expression.failed; i++) {
        if (i == OPERATIONS_MAX)
            return false;
        uint8_t opcode = (uint8_t)dwarf_read_fixed(&bytes, 1);
        execute_operation(&expression, opcode, &bytes, rule->expression);
    }
    if (bytes.failed || expression.failed || expression.count == 0)
        return false;
    *value = pop(&expression);
    return true;
}

/* ---- call frame instructions
 * ---------------------------------------------------------------------------------- */

/* The first three have their operand in the lower six bits. */
enum {
    DW_CFA_advance_loc = 0x40,
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
    DW_CFA_AARCH64_negate_ra_state = 0x2d,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_GNU_negative_offset_extended = 0x2f,
};
enum { STATE_STACK_MAX = 8, INSTRUCTIONS_MAX = 100000 };

struct cfa_program {
    const struct cfi_fde *fde;
    struct cfi_row *row;
    const struct cfi_row *initial; /* after the initial instructions; NULL while they execute */
    struct cfi_row states[STATE_STACK_MAX]; /* of DW_CFA_remember_state */
    unsigned state_count;
    uint64_t location;
    struct cfi_rule ignored; /* for registers that unwinding does not need: vectors, flags */
};

static struct cfi_rule *register_rule(struct cfa_program *program, uint64_t number) {
    return number < CFI_REGISTERS ? &program->row->registers[number] : &program->ignored;
}

static void set_register_rule(struct cfa_program *program, uint64_t number, uint8_t kind,
                              int64_t value) {
    *register_rule(program, number) = (struct cfi_rule){.kind = kind, .value = value};
}

static void set_cfa(struct cfa_program *program, uint64_t number, int64_t value, bool *failed) {
    *failed |= number >= CFI_REGISTERS;
    program->row->cfa = (struct cfi_rule){
        .kind = CFI_REGISTER, .register_number = (uint8_t)number % CFI_REGISTERS, .value = value};
}

static struct cfi_rule read_expression(struct dwarf_bytes *bytes, uint8_t kind) {
    uint64_t length = dwarf_read_uleb128(bytes);
    struct cfi_rule rule = {.kind = kind, .expression = bytes->at};
    if (length > (uint64_t)(bytes->end - bytes->at) || length > UINT32_MAX) {
        bytes->failed = true;
        return rule;
    }
    rule.length = (uint32_t)length;
    bytes->at += length;
    return rule;
}

static void restore_register(struct cfa_program *program, uint64_t number) {
    if (program->initial && number < CFI_REGISTERS)
        program->row->registers[number] = program->initial->registers[number];
}

/* Offsets wrap around, whatever a file contains. */
static int64_t factored(const struct cfa_program *program, uint64_t offset) {
    return (int64_t)(offset * (uint64_t)program->fde->data_alignment_factor);
}

static void execute_extended(struct cfa_program *program, uint8_t opcode,
                             struct dwarf_bytes *bytes) {
    struct cfi_row *row = program->row;
    uint64_t number;
    switch (opcode) {
    case DW_CFA_nop:
        break;
    case DW_CFA_GNU_args_size:
        dwarf_read_uleb128(bytes);
        break;
    case DW_CFA_offset_extended:
        number = dwarf_read_uleb128(bytes);
        set_register_rule(program, number, CFI_OFFSET,
                          factored(program, dwarf_read_uleb128(bytes)));
        break;
    case DW_CFA_offset_extended_sf:
        number = dwarf_read_uleb128(bytes);
        set_register_rule(program, number, CFI_OFFSET,
                          factored(program, (uint64_t)dwarf_read_sleb128(bytes)));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        number = dwarf_read_uleb128(bytes);
        set_register_rule(program, number, CFI_OFFSET,
                          factored(program, 0 - dwarf_read_uleb128(bytes)));
        break;
    case DW_CFA_val_offset:
        number = dwarf_read_uleb128(bytes);
        set_register_rule(program, number, CFI_VAL_OFFSET,
                          factored(program, dwarf_read_uleb128(bytes)));
        break;
    case DW_CFA_val_offset_sf:
        number = dwarf_read_uleb128(bytes);
        set_register_rule(program, number, CFI_VAL_OFFSET,
                          factored(program, (uint64_t)dwarf_read_sleb128(bytes)));
        break;
    case DW_CFA_restore_extended:
        restore_register(program, dwarf_read_uleb128(bytes));
        break;
    case DW_CFA_undefined:
        set_register_rule(program, dwarf_read_uleb128(bytes), CFI_UNDEFINED, 0);
        break;
    case DW_CFA_same_value:
        set_register_rule(program, dwarf_read_uleb128(bytes), CFI_SAME_VALUE, 0);
        break;
    case DW_CFA_register:
        number = dwarf_read_uleb128(bytes);
        *register_rule(program, number) = (struct cfi_rule){
            .kind = CFI_REGISTER,
            .register_number = (uint8_t)(dwarf_read_uleb128(bytes) % CFI_REGISTERS)};
        break;
    case DW_CFA_remember_state:
        bytes->failed |= program->state_count == STATE_STACK_MAX;
        if (program->state_count < STATE_STACK_MAX)
            program->states[program->state_count++] = *row;
        break;
    case DW_CFA_restore_state:
        bytes->failed |= program->state_count == 0;
        if (program->state_count > 0)
            *row = program->states[--program->state_count];
        break;
    case DW_CFA_def_cfa:
        number = dwarf_read_uleb128(bytes);
        set_cfa(program, number, (int64_t)dwarf_read_uleb128(bytes), &bytes->failed);
        break;
    case DW_CFA_def_cfa_sf:
        number = dwarf_read_uleb128(bytes);
        set_cfa(program, number, factored(program, (uint64_t)dwarf_read_sleb128(bytes)),
                &bytes->failed);
        break;
    case DW_CFA_def_cfa_register:
        bytes->failed |= row->cfa.kind != CFI_REGISTER;
        set_cfa(program, dwarf_read_uleb128(bytes), row->cfa.value, &bytes->failed);
        break;
    case DW_CFA_def_cfa_offset:
        set_cfa(program, row->cfa.register_number, (int64_t)dwarf_read_uleb128(bytes),
                &bytes->failed);
        break;
    case DW_CFA_def_cfa_offset_sf:
        set_cfa(program, row->cfa.register_number,
                factored(program, (uint64_t)dwarf_read_sleb128(bytes)), &bytes->failed);
        break;
    case DW_CFA_def_cfa_expression:
        row->cfa = read_expression(bytes, CFI_CFA_EXPRESSION);
        break;
    case DW_CFA_expression:
        number = dwarf_read_uleb128(bytes);
        *register_rule(program, number) = read_expression(bytes, CFI_EXPRESSION);
        break;
    case DW_CFA_val_expression:
        number = dwarf_read_uleb128(bytes);
        *register_rule(program, number) = read_expression(bytes, CFI_VAL_EXPRESSION);
        break;
    case DW_CFA_AARCH64_negate_ra_state:
    case DW_CFA_AARCH64_negate_ra_state_with_pc:
        row->ra_signed = !row->ra_signed;
        break;
    default:
        bytes->failed = true;
    }
}

/* Advances the location; false: it is another instruction. */
static bool execute_advance(struct cfa_program *program, uint8_t opcode,
                            struct dwarf_bytes *bytes) {
    uint64_t count;
    if ((opcode & 0xc0) == DW_CFA_advance_loc)
        count = opcode & 0x3f;
    else if (opcode == DW_CFA_advance_loc1 || opcode == DW_CFA_advance_loc2)
        count = dwarf_read_fixed(bytes, opcode == DW_CFA_advance_loc1 ? 1 : 2);
    else if (opcode == DW_CFA_advance_loc4)
        count = dwarf_read_fixed(bytes, 4);
    else
        return false;
    program->location += count * program->fde->code_alignment_factor;
    return true;
}

/* Executes call frame instructions up to and including `address`. */
static bool execute_instructions(struct cfa_program *program, struct dwarf_bytes bytes,
                                 uint64_t address) {
    for (unsigned i = 0; bytes.at < bytes.end && i < INSTRUCTIONS_MAX && !bytes.failed; i++) {
        uint8_t opcode = (uint8_t)dwarf_read_fixed(&bytes, 1);
        if (opcode == DW_CFA_set_loc) {
            const uint8_t *start = program->fde->instructions.at;
            program->location =
                cfi_read_pointer(&bytes, program->fde->pointer_encoding,
                                 program->fde->instructions_address + (uint64_t)(bytes.at - start));
        }
        if (opcode == DW_CFA_set_loc || execute_advance(program, opcode, &bytes)) {
            if (program->location > address)
                break;
        } else if ((opcode & 0xc0) == DW_CFA_offset) {
            set_register_rule(program, opcode & 0x3f, CFI_OFFSET,
                              factored(program, dwarf_read_uleb128(&bytes)));
        } else if ((opcode & 0xc0) == DW_CFA_restore) {
            restore_register(program, opcode & 0x3f);
        } else {
            execute_extended(program, opcode, &bytes);
        }
    }
    return !bytes.failed;
}

bool cfi_row_at(const struct cfi_fde *fde, uint64_t address, struct cfi_row *row) {
    struct cfa_program program;
    program.fde = fde;
    program.row = row;
    program.initial = NULL;
    program.state_count = 0; /* the states themselves are large and stay uninitialized */
    program.location = fde->start;
    *row = (struct cfi_row){.return_address_register = fde->return_address_register};
    if (address < fde->start || address >= fde->end ||
        !execute_instructions(&program, fde->initial_instructions, address))
        return false;
    struct cfi_row initial = *row;
    program.initial = &initial;
    return execute_instructions(&program, fde->instructions, address);
}

/* ---- Unwinding --------------------------------------------------------------------------- */

static bool compute_cfa(const struct cfi_row *row, const uint64_t registers[CFI_REGISTERS],
                        const struct cfi_memory *memory, uint64_t *cfa) {
    if (row->cfa.kind == CFI_CFA_EXPRESSION)
        return cfi_evaluate(&row->cfa, registers, memory, NULL, cfa);
    if (row->cfa.kind != CFI_REGISTER)
        return false;
    *cfa = registers[row->cfa.register_number] + (uint64_t)row->cfa.value;
    return true;
}

static bool recover_register(const struct cfi_rule *rule, uint64_t cfa,
                             const uint64_t registers[CFI_REGISTERS],
                             const struct cfi_memory *memory, uint64_t *value) {
    uint64_t address;
    switch (rule->kind) {
    case CFI_OFFSET:
        return cfi_memory_read(memory, cfa + (uint64_t)rule->value, value);
    case CFI_VAL_OFFSET:
        *value = cfa + (uint64_t)rule->value;
        return true;
    case CFI_REGISTER:
        *value = registers[rule->register_number];
        return true;
    case CFI_EXPRESSION:
        return cfi_evaluate(rule, registers, memory, &cfa, &address) &&
               cfi_memory_read(memory, address, value);
    case CFI_VAL_EXPRESSION:
        return cfi_evaluate(rule, registers, memory, &cfa, value);
    default:
        return true; /* same value or undefined */
    }
}

/* Removes the pointer authentication code, which arm64 keeps above the 48 bits of an address. */
static uint64_t strip_pac(uint64_t address) {
    return address & (((uint64_t)1 << 48) - 1);
}

bool cfi_step(const struct cfi_row *row, unsigned stack_pointer, unsigned program_counter,
              const struct cfi_memory *memory, uint64_t registers[CFI_REGISTERS]) {
    uint64_t cfa, caller[CFI_REGISTERS];
    if (!compute_cfa(row, registers, memory, &cfa) ||
        row->registers[row->return_address_register].kind == CFI_UNDEFINED)
        return false;
    memcpy(caller, registers, sizeof caller);
    caller[stack_pointer] = cfa;
    /* registers that are saved beyond the copied stack keep their value */
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        if (!recover_register(&row->registers[i], cfa, registers, memory, &caller[i]) &&
            i == row->return_address_register)
            return false;
    uint64_t address = caller[row->return_address_register];
    caller[program_counter] = row->ra_signed ? strip_pac(address) : address;
    memcpy(registers, caller, sizeof caller);
    return address != 0;
}
