/* Parses .eh_frame, executes CFA instructions and DWARF expressions, and unwinds one frame.
 *
 * Expressions (DWARF 5, section 2.5) occur in functions that realign their stack, in PLT entries
 * and in signal trampolines.
 */
#include "record/symbols/cfi.h"

#include <string.h>

/* ---- Bytes -------------------------------------------------------------------------------- */

/* DW_EH_PE_: how a pointer is written, and what it is relative to. */
enum {
    FORM_ABSOLUTE = 0x00,
    FORM_UNSIGNED = 0x01,
    FORM_2 = 0x02,
    FORM_4 = 0x03,
    FORM_8 = 0x04,
    FORM_SIGNED = 0x09,
    FORM_SIGNED_2 = 0x0a,
    FORM_SIGNED_4 = 0x0b,
    FORM_SIGNED_8 = 0x0c,
    FORMS = 0x0f,
    FROM_HERE = 0x10,
    FROM = 0x70,
};

uint64_t cfi_fixed(struct cfi_bytes *bytes, size_t width) {
    uint64_t value = 0;
    if (bytes->failed || (size_t)(bytes->end - bytes->at) < width) {
        bytes->failed = true;
        return 0;
    }
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)bytes->at[i] << (8 * i);
    bytes->at += width;
    return value;
}

int64_t cfi_fixed_signed(struct cfi_bytes *bytes, size_t width) {
    unsigned unused = (unsigned)(64 - 8 * width);
    return (int64_t)(cfi_fixed(bytes, width) << unused) >> unused;
}

static uint64_t read_leb(struct cfi_bytes *bytes, bool is_signed) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)cfi_fixed(bytes, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return value;
}

uint64_t cfi_unsigned(struct cfi_bytes *bytes) {
    return read_leb(bytes, false);
}

int64_t cfi_signed(struct cfi_bytes *bytes) {
    return (int64_t)read_leb(bytes, true);
}

uint64_t cfi_pointer(struct cfi_bytes *bytes, uint8_t encoding, uint64_t address) {
    uint64_t value = 0, from = (encoding & FROM) == FROM_HERE ? address : 0;
    bool known = (encoding & FROM) == 0 || (encoding & FROM) == FROM_HERE;
    switch (encoding & FORMS) {
    case FORM_ABSOLUTE:
    case FORM_8:
    case FORM_SIGNED_8:
        value = cfi_fixed(bytes, 8);
        break;
    case FORM_UNSIGNED:
        value = cfi_unsigned(bytes);
        break;
    case FORM_SIGNED:
        value = (uint64_t)cfi_signed(bytes);
        break;
    case FORM_2:
        value = cfi_fixed(bytes, 2);
        break;
    case FORM_4:
        value = cfi_fixed(bytes, 4);
        break;
    case FORM_SIGNED_2:
        value = (uint64_t)cfi_fixed_signed(bytes, 2);
        break;
    case FORM_SIGNED_4:
        value = (uint64_t)cfi_fixed_signed(bytes, 4);
        break;
    default:
        known = false;
    }
    bytes->failed |= !known;
    return bytes->failed ? 0 : value + from;
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* What entries have in common: a CIE. */
static bool read_common(struct cfi_bytes bytes, uint64_t address, struct cfi_entry *entry,
                        bool *has_length) {
    const uint8_t *section = bytes.at;
    uint8_t version = (uint8_t)cfi_fixed(&bytes, 1);
    const char *augmentation = (const char *)bytes.at;
    size_t length = strnlen(augmentation, (size_t)(bytes.end - bytes.at));
    bytes.at += length;
    cfi_fixed(&bytes, 1);
    entry->code_alignment_factor = cfi_unsigned(&bytes);
    entry->data_alignment_factor = cfi_signed(&bytes);
    entry->return_register = (uint8_t)(version == 1 ? cfi_fixed(&bytes, 1) : cfi_unsigned(&bytes));
    *has_length = length > 0 && augmentation[0] == 'z';
    if (bytes.failed || (version != 1 && version != 3) || (length > 0 && !*has_length))
        return false;
    uint64_t rest = *has_length ? cfi_unsigned(&bytes) : 0;
    if (bytes.failed || rest > (uint64_t)(bytes.end - bytes.at))
        return false;
    const uint8_t *program = bytes.at + rest;
    for (size_t i = 1; i < length; i++)
        switch (augmentation[i]) {
        case 'R':
            entry->encoding = (uint8_t)cfi_fixed(&bytes, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)cfi_fixed(&bytes, 1);
            /* only its length matters: it may lie behind another pointer */
            cfi_pointer(&bytes, encoding & FORMS, address + (uint64_t)(bytes.at - section));
            break;
        }
        case 'L':
            cfi_fixed(&bytes, 1);
            break;
        case 'S':
            entry->is_signal_frame = true;
            break;
        case 'B': /* return addresses are signed with arm64's second key */
            break;
        default: /* what it means is not known, but where it ends is */
            i = length;
        }
    entry->begins = (struct cfi_bytes){program, bytes.end, false};
    return !bytes.failed && entry->return_register < CFI_REGISTERS;
}

/* The bytes of the record at an offset, without its length. */
static bool record_at(const uint8_t *section, size_t length, uint64_t offset,
                      struct cfi_bytes *record) {
    enum { LONGER = 0xfffffff0 };
    if (offset >= length)
        return false;
    *record = (struct cfi_bytes){section + offset, section + length, false};
    uint64_t bytes = cfi_fixed(record, 4);
    if (record->failed || bytes < 4 || bytes >= LONGER ||
        bytes > (uint64_t)(record->end - record->at))
        return false;
    record->end = record->at + bytes;
    return true;
}

bool cfi_entry_read(const uint8_t *section, size_t length, uint64_t address, uint64_t offset,
                    struct cfi_entry *entry) {
    struct cfi_bytes bytes, common;
    bool has_length = false;
    *entry = (struct cfi_entry){0};
    if (!record_at(section, length, offset, &bytes))
        return false;
    uint64_t at = (uint64_t)(bytes.at - section), back = cfi_fixed(&bytes, 4);
    if (back == 0 || back > at || !record_at(section, length, at - back, &common) ||
        cfi_fixed(&common, 4) != 0 ||
        !read_common(common, address + (uint64_t)(common.at - section), entry, &has_length))
        return false;
    entry->start = cfi_pointer(&bytes, entry->encoding, address + (uint64_t)(bytes.at - section));
    uint64_t code = cfi_pointer(&bytes, entry->encoding & FORMS, 0);
    uint64_t skipped = has_length ? cfi_unsigned(&bytes) : 0;
    if (bytes.failed || skipped > (uint64_t)(bytes.end - bytes.at) ||
        __builtin_add_overflow(entry->start, code, &entry->end))
        return false;
    bytes.at += skipped;
    entry->changes = bytes;
    entry->changes_address = address + (uint64_t)(bytes.at - section);
    return true;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

bool cfi_read(const struct cfi_memory *memory, uint64_t address, uint64_t *value) {
    uint64_t offset = address - memory->start;
    if (address < memory->start || offset > memory->length ||
        memory->length - offset < sizeof *value)
        return false;
    memcpy(value, memory->bytes + offset, sizeof *value);
    return true;
}

enum { DEPTH = 32, STEPS = 1000 };

struct machine {
    uint64_t values[DEPTH];
    unsigned count;
    bool failed;
    const uint64_t *registers;
    const struct cfi_memory *memory;
};

static void push(struct machine *machine, uint64_t value) {
    machine->failed |= machine->count == DEPTH;
    if (!machine->failed)
        machine->values[machine->count++] = value;
}

static uint64_t pop(struct machine *machine) {
    machine->failed |= machine->count == 0;
    return machine->failed ? 0 : machine->values[--machine->count];
}

static void pick(struct machine *machine, uint64_t depth) {
    bool there = depth < machine->count;
    machine->failed |= !there;
    push(machine, there ? machine->values[machine->count - 1 - depth] : 0);
}

static void load(struct machine *machine, uint64_t width) {
    uint64_t value = 0;
    machine->failed |= width == 0 || width > 8 || !cfi_read(machine->memory, pop(machine), &value);
    push(machine, width < 8 ? value & (((uint64_t)1 << (8 * width % 64)) - 1) : value);
}

static void push_register(struct machine *machine, uint64_t number, int64_t offset) {
    machine->failed |= number >= CFI_REGISTERS;
    push(machine, machine->failed ? 0 : machine->registers[number] + (uint64_t)offset);
}

/* Operations on the two topmost values: DW_OP_and to DW_OP_ne. False: it is none. */
static bool combine(struct machine *machine, uint8_t code) {
    enum { AND = 0x1a, DIVIDE, MINUS, MODULO, TIMES, NEGATE, NOT, OR, PLUS, PLUS_CONSTANT };
    enum { LEFT = 0x24, RIGHT, RIGHT_SIGNED, EXCLUSIVE_OR, BRANCH, EQUAL, GREATER_EQUAL };
    enum { GREATER = 0x2b, LESS_EQUAL, LESS, UNEQUAL };
    if (code < AND || code > UNEQUAL || code == NEGATE || code == NOT || code == PLUS_CONSTANT ||
        code == BRANCH)
        return false;
    uint64_t b = pop(machine), a = pop(machine), result = 0;
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (code) {
    case AND:
        result = a & b;
        break;
    case DIVIDE:
        machine->failed |= y == 0 || (x == INT64_MIN && y == -1);
        result = machine->failed ? 0 : (uint64_t)(x / y);
        break;
    case MINUS:
        result = a - b;
        break;
    case MODULO:
        machine->failed |= b == 0;
        result = machine->failed ? 0 : a % b;
        break;
    case TIMES:
        result = a * b;
        break;
    case OR:
        result = a | b;
        break;
    case PLUS:
        result = a + b;
        break;
    case LEFT:
        result = b < 64 ? a << b : 0;
        break;
    case RIGHT:
        result = b < 64 ? a >> b : 0;
        break;
    case RIGHT_SIGNED:
        result = (uint64_t)(x >> (b < 63 ? b : 63));
        break;
    case EXCLUSIVE_OR:
        result = a ^ b;
        break;
    case EQUAL:
        result = a == b;
        break;
    case GREATER_EQUAL:
        result = x >= y;
        break;
    case GREATER:
        result = x > y;
        break;
    case LESS_EQUAL:
        result = x <= y;
        break;
    case LESS:
        result = x < y;
        break;
    default:
        result = a != b;
    }
    push(machine, result);
    return true;
}

/* Constants, and registers with an offset. False: it is none. */
static bool push_constant(struct machine *machine, uint8_t code, struct cfi_bytes *bytes) {
    enum { FIXED = 0x08, UNSIGNED = 0x10, SIGNED = 0x11, LITERAL = 0x30, REGISTER = 0x50 };
    enum { BASE = 0x70, BASE_END = 0x90, BASE_EXTENDED = 0x92 };
    if (code >= FIXED && code < UNSIGNED) { /* of 1, 2, 4 or 8 bytes, without and with a sign */
        size_t width = (size_t)1 << (code - FIXED) / 2;
        push(machine,
             code % 2 ? (uint64_t)cfi_fixed_signed(bytes, width) : cfi_fixed(bytes, width));
    } else if (code == UNSIGNED) {
        push(machine, cfi_unsigned(bytes));
    } else if (code == SIGNED) {
        push(machine, (uint64_t)cfi_signed(bytes));
    } else if (code >= LITERAL && code < REGISTER) {
        push(machine, code - (unsigned)LITERAL);
    } else if (code >= BASE && code < BASE_END) {
        push_register(machine, code - (unsigned)BASE, cfi_signed(bytes));
    } else if (code == BASE_EXTENDED) {
        uint64_t number = cfi_unsigned(bytes);
        push_register(machine, number, cfi_signed(bytes));
    } else {
        return false;
    }
    return true;
}

static void move(struct cfi_bytes *bytes, const uint8_t *first, bool taken) {
    int64_t distance = cfi_fixed_signed(bytes, 2);
    if (bytes->failed || !taken)
        return;
    bytes->failed = distance < first - bytes->at || distance > bytes->end - bytes->at;
    if (!bytes->failed)
        bytes->at += distance;
}

static void run_one(struct machine *machine, uint8_t code, struct cfi_bytes *bytes,
                    const uint8_t *first) {
    enum { LOAD = 0x06, DUPLICATE = 0x12, DROP, OVER, PICK, SWAP, ROTATE, ABSOLUTE = 0x19 };
    enum { NEGATE = 0x1f, NOT, PLUS_CONSTANT = 0x23, BRANCH = 0x28, SKIP = 0x2f };
    enum { LOAD_SIZE = 0x94, NOTHING = 0x96 };
    uint64_t a, b, c;
    if (push_constant(machine, code, bytes) || combine(machine, code))
        return;
    switch (code) {
    case NOTHING:
        break;
    case LOAD:
        load(machine, 8);
        break;
    case LOAD_SIZE:
        load(machine, cfi_fixed(bytes, 1));
        break;
    case DUPLICATE:
        pick(machine, 0);
        break;
    case DROP:
        pop(machine);
        break;
    case OVER:
        pick(machine, 1);
        break;
    case PICK:
        pick(machine, cfi_fixed(bytes, 1));
        break;
    case SWAP:
        a = pop(machine), b = pop(machine);
        push(machine, a), push(machine, b);
        break;
    case ROTATE:
        a = pop(machine), b = pop(machine), c = pop(machine);
        push(machine, a), push(machine, c), push(machine, b);
        break;
    case ABSOLUTE:
        a = pop(machine);
        push(machine, a >> 63 ? 0 - a : a);
        break;
    case NEGATE:
        push(machine, 0 - pop(machine));
        break;
    case NOT:
        push(machine, ~pop(machine));
        break;
    case PLUS_CONSTANT:
        push(machine, pop(machine) + cfi_unsigned(bytes));
        break;
    case BRANCH:
        move(bytes, first, pop(machine) != 0);
        break;
    case SKIP:
        move(bytes, first, true);
        break;
    default:
        machine->failed = true;
    }
}

bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t registers[CFI_REGISTERS],
                  const struct cfi_memory *memory, const uint64_t *first, uint64_t *value) {
    struct machine machine = {.registers = registers, .memory = memory};
    struct cfi_bytes bytes = {rule->expression, rule->expression + rule->length, false};
    if (first)
        push(&machine, *first);
    for (unsigned i = 0; bytes.at < bytes.end && !bytes.failed && !machine.failed; i++) {
        if (i == STEPS)
            return false;
        uint8_t code = (uint8_t)cfi_fixed(&bytes, 1);
        run_one(&machine, code, &bytes, rule->expression);
    }
    if (bytes.failed || machine.failed || machine.count == 0)
        return false;
    *value = pop(&machine);
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* DW_CFA_: the upper two bits are one of these, or all eight are the number. */
enum {
    ADVANCE = 0x40,
    SAVED = 0x80,
    RESTORE = 0xc0,
    NOTHING = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    SAVED_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME = 0x08,
    REGISTER = 0x09,
    REMEMBER = 0x0a,
    RECALL = 0x0b,
    FRAME = 0x0c,
    FRAME_REGISTER = 0x0d,
    FRAME_OFFSET = 0x0e,
    FRAME_EXPRESSION = 0x0f,
    SAVED_AT = 0x10,
    SAVED_SIGNED = 0x11,
    FRAME_SIGNED = 0x12,
    FRAME_OFFSET_SIGNED = 0x13,
    DISTANCE = 0x14,
    DISTANCE_SIGNED = 0x15,
    VALUE_OF = 0x16,
    SIGN_WITH_CODE_ADDRESS = 0x2c,
    SIGN = 0x2d,
    ARGUMENTS = 0x2e,
    SAVED_NEGATIVE = 0x2f,
};
enum { REMEMBERED = 8, PROGRAM_STEPS = 100000 };

struct program {
    const struct cfi_entry *entry;
    struct cfi_row *row;
    const struct cfi_row *first; /* what is restored; NULL while it is made */
    struct cfi_row remembered[REMEMBERED];
    unsigned remembers;
    uint64_t location;
    struct cfi_rule nobody; /* registers that are of no interest: vectors, flags */
};

static struct cfi_rule *rule_of(struct program *program, uint64_t number) {
    return number < CFI_REGISTERS ? &program->row->registers[number] : &program->nobody;
}

static void set_rule(struct program *program, uint64_t number, uint8_t kind, int64_t value) {
    *rule_of(program, number) = (struct cfi_rule){.kind = kind, .value = value};
}

static void set_frame(struct program *program, uint64_t number, int64_t value, bool *failed) {
    *failed |= number >= CFI_REGISTERS;
    program->row->frame = (struct cfi_rule){
        .kind = CFI_REGISTER, .other = (uint8_t)number % CFI_REGISTERS, .value = value};
}

static struct cfi_rule read_expression(struct cfi_bytes *bytes, uint8_t kind) {
    uint64_t length = cfi_unsigned(bytes);
    struct cfi_rule rule = {.kind = kind, .expression = bytes->at};
    if (length > (uint64_t)(bytes->end - bytes->at) || length > UINT32_MAX) {
        bytes->failed = true;
        return rule;
    }
    rule.length = (uint32_t)length;
    bytes->at += length;
    return rule;
}

static void restore(struct program *program, uint64_t number) {
    if (program->first && number < CFI_REGISTERS)
        program->row->registers[number] = program->first->registers[number];
}

/* Steps are those of a two's complement, whatever a file says. */
static int64_t steps(uint64_t count, int64_t step) {
    return (int64_t)(count * (uint64_t)step);
}

static void run_extended(struct program *program, uint8_t code, struct cfi_bytes *bytes) {
    const struct cfi_entry *entry = program->entry;
    struct cfi_row *row = program->row;
    uint64_t number;
    switch (code) {
    case NOTHING:
        break;
    case ARGUMENTS:
        cfi_unsigned(bytes);
        break;
    case SAVED_EXTENDED:
        number = cfi_unsigned(bytes);
        set_rule(program, number, CFI_SAVED,
                 steps(cfi_unsigned(bytes), entry->data_alignment_factor));
        break;
    case SAVED_SIGNED:
        number = cfi_unsigned(bytes);
        set_rule(program, number, CFI_SAVED,
                 steps((uint64_t)cfi_signed(bytes), entry->data_alignment_factor));
        break;
    case SAVED_NEGATIVE:
        number = cfi_unsigned(bytes);
        set_rule(program, number, CFI_SAVED,
                 steps(0 - cfi_unsigned(bytes), entry->data_alignment_factor));
        break;
    case DISTANCE:
        number = cfi_unsigned(bytes);
        set_rule(program, number, CFI_DISTANCE,
                 steps(cfi_unsigned(bytes), entry->data_alignment_factor));
        break;
    case DISTANCE_SIGNED:
        number = cfi_unsigned(bytes);
        set_rule(program, number, CFI_DISTANCE,
                 steps((uint64_t)cfi_signed(bytes), entry->data_alignment_factor));
        break;
    case RESTORE_EXTENDED:
        restore(program, cfi_unsigned(bytes));
        break;
    case UNDEFINED:
        set_rule(program, cfi_unsigned(bytes), CFI_UNDEFINED, 0);
        break;
    case SAME:
        set_rule(program, cfi_unsigned(bytes), CFI_SAME, 0);
        break;
    case REGISTER:
        number = cfi_unsigned(bytes);
        *rule_of(program, number) = (struct cfi_rule){
            .kind = CFI_REGISTER, .other = (uint8_t)(cfi_unsigned(bytes) % CFI_REGISTERS)};
        break;
    case REMEMBER:
        bytes->failed |= program->remembers == REMEMBERED;
        if (program->remembers < REMEMBERED)
            program->remembered[program->remembers++] = *row;
        break;
    case RECALL:
        bytes->failed |= program->remembers == 0;
        if (program->remembers > 0)
            *row = program->remembered[--program->remembers];
        break;
    case FRAME:
        number = cfi_unsigned(bytes);
        set_frame(program, number, (int64_t)cfi_unsigned(bytes), &bytes->failed);
        break;
    case FRAME_SIGNED:
        number = cfi_unsigned(bytes);
        set_frame(program, number, steps((uint64_t)cfi_signed(bytes), entry->data_alignment_factor),
                  &bytes->failed);
        break;
    case FRAME_REGISTER:
        bytes->failed |= row->frame.kind != CFI_REGISTER;
        set_frame(program, cfi_unsigned(bytes), row->frame.value, &bytes->failed);
        break;
    case FRAME_OFFSET:
        set_frame(program, row->frame.other, (int64_t)cfi_unsigned(bytes), &bytes->failed);
        break;
    case FRAME_OFFSET_SIGNED:
        set_frame(program, row->frame.other,
                  steps((uint64_t)cfi_signed(bytes), entry->data_alignment_factor), &bytes->failed);
        break;
    case FRAME_EXPRESSION:
        row->frame = read_expression(bytes, CFI_EXPRESSION);
        break;
    case SAVED_AT:
        number = cfi_unsigned(bytes);
        *rule_of(program, number) = read_expression(bytes, CFI_SAVED_AT);
        break;
    case VALUE_OF:
        number = cfi_unsigned(bytes);
        *rule_of(program, number) = read_expression(bytes, CFI_VALUE_OF);
        break;
    case SIGN:
    case SIGN_WITH_CODE_ADDRESS:
        row->is_signed = !row->is_signed;
        break;
    default:
        bytes->failed = true;
    }
}

/* Whether the instruction was one that goes on in the code, and how far. */
static bool read_advance(struct program *program, uint8_t code, struct cfi_bytes *bytes) {
    uint64_t count;
    if ((code & 0xc0) == ADVANCE)
        count = code & 0x3f;
    else if (code == ADVANCE_1 || code == ADVANCE_2)
        count = cfi_fixed(bytes, code == ADVANCE_1 ? 1 : 2);
    else if (code == ADVANCE_4)
        count = cfi_fixed(bytes, 4);
    else
        return false;
    program->location += count * program->entry->code_alignment_factor;
    return true;
}

/* Runs the program as far as it speaks of what is before the address or at it. */
static bool run(struct program *program, struct cfi_bytes bytes, uint64_t address) {
    for (unsigned i = 0; bytes.at < bytes.end && i < PROGRAM_STEPS && !bytes.failed; i++) {
        uint8_t code = (uint8_t)cfi_fixed(&bytes, 1);
        if (code == SET_LOCATION) {
            const uint8_t *from = program->entry->changes.at;
            program->location =
                cfi_pointer(&bytes, program->entry->encoding,
                            program->entry->changes_address + (uint64_t)(bytes.at - from));
        }
        if (code == SET_LOCATION || read_advance(program, code, &bytes)) {
            if (program->location > address)
                break;
        } else if ((code & 0xc0) == SAVED) {
            set_rule(program, code & 0x3f, CFI_SAVED,
                     steps(cfi_unsigned(&bytes), program->entry->data_alignment_factor));
        } else if ((code & 0xc0) == RESTORE) {
            restore(program, code & 0x3f);
        } else {
            run_extended(program, code, &bytes);
        }
    }
    return !bytes.failed;
}

bool cfi_row_at(const struct cfi_entry *entry, uint64_t address, struct cfi_row *row) {
    struct program program;
    program.entry = entry;
    program.row = row;
    program.first = NULL;
    program.remembers = 0; /* what is remembered is long, and seldom anything */
    program.location = entry->start;
    *row = (struct cfi_row){.return_register = entry->return_register};
    if (address < entry->start || address >= entry->end || !run(&program, entry->begins, address))
        return false;
    struct cfi_row first = *row;
    program.first = &first;
    return run(&program, entry->changes, address);
}

/* ---- Steps --------------------------------------------------------------------------------- */

static bool find_frame(const struct cfi_row *row, const uint64_t registers[CFI_REGISTERS],
                       const struct cfi_memory *memory, uint64_t *frame) {
    if (row->frame.kind == CFI_EXPRESSION)
        return cfi_evaluate(&row->frame, registers, memory, NULL, frame);
    if (row->frame.kind != CFI_REGISTER)
        return false;
    *frame = registers[row->frame.other] + (uint64_t)row->frame.value;
    return true;
}

static bool find_register(const struct cfi_rule *rule, uint64_t frame,
                          const uint64_t registers[CFI_REGISTERS], const struct cfi_memory *memory,
                          uint64_t *value) {
    uint64_t where;
    switch (rule->kind) {
    case CFI_SAVED:
        return cfi_read(memory, frame + (uint64_t)rule->value, value);
    case CFI_DISTANCE:
        *value = frame + (uint64_t)rule->value;
        return true;
    case CFI_REGISTER:
        *value = registers[rule->other];
        return true;
    case CFI_SAVED_AT:
        return cfi_evaluate(rule, registers, memory, &frame, &where) &&
               cfi_read(memory, where, value);
    case CFI_VALUE_OF:
        return cfi_evaluate(rule, registers, memory, &frame, value);
    default:
        return true; /* it is what it was, or nobody needs it */
    }
}

/* The bits above an address of the user's, in which arm64 keeps its signature. */
static uint64_t strip_pac(uint64_t address) {
    return address & (((uint64_t)1 << 48) - 1);
}

bool cfi_step(const struct cfi_row *row, unsigned stack_pointer, unsigned code_address,
              const struct cfi_memory *memory, uint64_t registers[CFI_REGISTERS]) {
    uint64_t frame, caller[CFI_REGISTERS];
    if (!find_frame(row, registers, memory, &frame) ||
        row->registers[row->return_register].kind == CFI_UNDEFINED)
        return false;
    memcpy(caller, registers, sizeof caller);
    caller[stack_pointer] = frame;
    for (unsigned i = 0; i < CFI_REGISTERS; i++) /* what lies beyond the copied stack stays */
        if (!find_register(&row->registers[i], frame, registers, memory, &caller[i]) &&
            i == row->return_register)
            return false;
    uint64_t address = caller[row->return_register];
    caller[code_address] = row->is_signed ? strip_pac(address) : address;
    memcpy(registers, caller, sizeof caller);
    return address != 0;
}
