/* What does an expression of call frame information give? A small machine with a stack of values:
 * DWARF 5, section 2.5. Compilers use it for frames that were aligned, for the jumps into other
 * libraries and for what a signal left on the stack.
 */
#include "record/symbols/cfi.h"

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
