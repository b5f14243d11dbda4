/* Runs an entry's program up to an instruction, and goes from a frame to its caller's. */
#include "record/symbols/cfi.h"

#include <string.h>

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

/* ---- Rows ---------------------------------------------------------------------------------- */

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

bool cfi_read(const struct cfi_memory *memory, uint64_t address, uint64_t *value) {
    uint64_t offset = address - memory->start;
    if (address < memory->start || offset > memory->length ||
        memory->length - offset < sizeof *value)
        return false;
    memcpy(value, memory->bytes + offset, sizeof *value);
    return true;
}

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
