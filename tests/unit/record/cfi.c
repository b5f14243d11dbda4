/* Call frame information, instruction by instruction: DWARF 5, section 6.4 and 2.5. */
#include "base/array.h"
#include "abi/cfi.h"

#include "../test.h"

enum { CODE = 0x1000, CODE_STEP = 4, DATA_STEP = -8 };

/* The row at an address of a function whose CIE defines the frame as register 7 and 8, and register
 * 16 as saved at -8. */
static bool run(const uint8_t *program, size_t length, uint64_t address, struct cfi_row *row) {
    static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1};
    struct cfi_fde entry = {
        .start = CODE,
        .end = CODE + 0x1000000,
        .code_alignment_factor = CODE_STEP,
        .data_alignment_factor = DATA_STEP,
        .return_address_register = 16,
        .initial_instructions = {initial, initial + sizeof initial, false},
        .instructions = {program, program + length, false},
        .instructions_address = 0x9000,
    };
    return cfi_row_at(&entry, address, row);
}

struct expected {
    uint8_t program[8];
    size_t length;
    unsigned number; /* of the register */
    uint8_t kind;
    int64_t value;
};

TEST(each_instruction_sets_the_rule_that_the_standard_says) {
    static const struct expected table[] = {
        {{0x83, 2}, 2, 3, CFI_OFFSET, -16},               /* DW_CFA_offset */
        {{0x05, 3, 2}, 3, 3, CFI_OFFSET, -16},            /* DW_CFA_offset_extended */
        {{0x11, 3, 0x7e}, 3, 3, CFI_OFFSET, 16},          /* DW_CFA_offset_extended_sf: -2 */
        {{0x2f, 3, 2}, 3, 3, CFI_OFFSET, 16},             /* DW_CFA_GNU_negative_offset_extended */
        {{0x14, 3, 2}, 3, 3, CFI_VAL_OFFSET, -16},        /* DW_CFA_val_offset */
        {{0x15, 3, 0x7e}, 3, 3, CFI_VAL_OFFSET, 16},      /* DW_CFA_val_offset_sf */
        {{0x07, 16}, 2, 16, CFI_UNDEFINED, 0},            /* DW_CFA_undefined */
        {{0x08, 16}, 2, 16, CFI_SAME_VALUE, 0},           /* DW_CFA_same_value */
        {{0x83, 2, 0xc3}, 3, 3, CFI_SAME_VALUE, 0},       /* DW_CFA_restore */
        {{0x08, 16, 0xd0}, 3, 16, CFI_OFFSET, -8},        /* to the CIE's rule */
        {{0x08, 16, 0x06, 16}, 4, 16, CFI_OFFSET, -8},    /* DW_CFA_restore_extended */
        {{0x00, 0x2e, 5, 0x83, 1}, 5, 3, CFI_OFFSET, -8}, /* DW_CFA_nop, DW_CFA_GNU_args_size */
    };
    struct cfi_row row;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        REQUIRE(run(table[i].program, table[i].length, CODE, &row));
        CHECK_INT(row.registers[table[i].number].kind, table[i].kind);
        CHECK_INT(row.registers[table[i].number].value, table[i].value);
        CHECK_INT(row.cfa.register_number, 7);
        CHECK_INT(row.cfa.value, 8);
    }
}

TEST(each_instruction_defines_the_frame_as_the_standard_says) {
    static const struct expected table[] = {
        {{0x0c, 6, 16}, 3, 6, CFI_REGISTER, 16},         /* DW_CFA_def_cfa */
        {{0x12, 6, 0x7e}, 3, 6, CFI_REGISTER, 16},       /* DW_CFA_def_cfa_sf */
        {{0x0d, 6}, 2, 6, CFI_REGISTER, 8},              /* DW_CFA_def_cfa_register */
        {{0x0e, 24}, 2, 7, CFI_REGISTER, 24},            /* DW_CFA_def_cfa_offset */
        {{0x13, 0x7d}, 2, 7, CFI_REGISTER, 24},          /* DW_CFA_def_cfa_offset_sf */
        {{0x0a, 0x0e, 32, 0x0b}, 4, 7, CFI_REGISTER, 8}, /* DW_CFA_remember_state, restore_state */
    };
    struct cfi_row row;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        REQUIRE(run(table[i].program, table[i].length, CODE, &row));
        CHECK_INT(row.cfa.kind, table[i].kind);
        CHECK_INT(row.cfa.register_number, table[i].number);
        CHECK_INT(row.cfa.value, table[i].value);
    }
}

TEST(registers_and_expressions_are_rules_too) {
    static const uint8_t copied[] = {0x09, 3, 12}, saved[] = {0x10, 3, 2, 0x77, 8},
                         value[] = {0x16, 3, 2, 0x77, 8}, frame[] = {0x0f, 2, 0x77, 8, 0x83, 1},
                         sign[] = {0x2d}, twice[] = {0x2d, 0x2c};
    struct cfi_row row;
    REQUIRE(run(copied, sizeof copied, CODE, &row));
    CHECK(row.registers[3].kind == CFI_REGISTER && row.registers[3].register_number == 12);
    REQUIRE(run(saved, sizeof saved, CODE, &row));
    CHECK(row.registers[3].kind == CFI_EXPRESSION && row.registers[3].length == 2);
    CHECK(row.registers[3].expression == saved + 3);
    REQUIRE(run(value, sizeof value, CODE, &row));
    CHECK(row.registers[3].kind == CFI_VAL_EXPRESSION && row.registers[3].expression == value + 3);
    REQUIRE(run(frame, sizeof frame, CODE, &row));
    CHECK(row.cfa.kind == CFI_CFA_EXPRESSION && row.cfa.length == 2);
    CHECK(row.registers[3].kind == CFI_OFFSET); /* what follows the expression is run */
    REQUIRE(run(sign, sizeof sign, CODE, &row));
    CHECK(row.ra_signed);
    REQUIRE(run(twice, sizeof twice, CODE, &row));
    CHECK(!row.ra_signed);
}

TEST(a_row_holds_from_the_address_that_its_instruction_advances_to) {
    static const struct {
        uint8_t program[12];
        size_t length;
        uint64_t from;
    } table[] = {
        {{0x43, 0x83, 1}, 3, CODE + 3 * CODE_STEP},                   /* DW_CFA_advance_loc */
        {{0x02, 200, 0x83, 1}, 4, CODE + 200 * CODE_STEP},            /* DW_CFA_advance_loc1 */
        {{0x03, 0x34, 0x12, 0x83, 1}, 5, CODE + 0x1234 * CODE_STEP},  /* DW_CFA_advance_loc2 */
        {{0x04, 1, 0, 1, 0, 0x83, 1}, 7, CODE + 0x10001 * CODE_STEP}, /* DW_CFA_advance_loc4 */
        {{0x01, 0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x83, 1}, 11, 0x2000},  /* DW_CFA_set_loc */
    };
    struct cfi_row row;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        REQUIRE(run(table[i].program, table[i].length, table[i].from - 1, &row));
        CHECK_INT(row.registers[3].kind, CFI_SAME_VALUE);
        REQUIRE(run(table[i].program, table[i].length, table[i].from, &row));
        CHECK_INT(row.registers[3].kind, CFI_OFFSET);
    }
}

TEST(programs_that_cannot_be_run_give_no_row) {
    static const struct {
        uint8_t program[24];
        size_t length;
    } table[] = {
        {{0x3f}, 1},                               /* no instruction */
        {{0x0b}, 1},                               /* nothing was remembered */
        {{0x0c, 33, 0}, 3},                        /* a frame by a register that there is not */
        {{0x10, 3, 3, 0x77, 8}, 5},                /* an expression beyond the end */
        {{0x05, 3}, 2},                            /* an operand beyond the end */
        {{0x0f, 1, 0x57, 0x0d, 6}, 5},             /* an expression has no register to replace */
        {{10, 10, 10, 10, 10, 10, 10, 10, 10}, 9}, /* remembers more than there is room for */
    };
    static const uint8_t eight[] = {10, 10, 10, 10, 10, 10, 10, 10};
    struct cfi_row row;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        CHECK(!run(table[i].program, table[i].length, CODE, &row));
    CHECK(run(eight, sizeof eight, CODE, &row));
    CHECK(run(eight, 0, CODE + 0x1000000 - 1, &row));
    CHECK(!run(eight, 0, CODE + 0x1000000, &row));
    CHECK(!run(eight, 0, CODE - 1, &row));
}

/* ---- Steps --------------------------------------------------------------------------------- */

TEST(memory_is_read_only_where_all_of_a_word_was_copied) {
    uint64_t words[] = {1, 2}, value = 0;
    struct cfi_memory memory = {(const uint8_t *)words, 0x8000, sizeof words};
    CHECK(cfi_memory_read(&memory, 0x8000, &value) && value == 1);
    CHECK(cfi_memory_read(&memory, 0x8008, &value) && value == 2);
    CHECK(!cfi_memory_read(&memory, 0x8009, &value));
    CHECK(!cfi_memory_read(&memory, 0x8010, &value));
    CHECK(!cfi_memory_read(&memory, 0x8011, &value));
    CHECK(!cfi_memory_read(&memory, 0x8017, &value));
    CHECK(!cfi_memory_read(&memory, 0x8018, &value));
    CHECK(!cfi_memory_read(&memory, 0x7fff, &value));
    CHECK(!cfi_memory_read(&memory, 0x7ff8, &value));
}

TEST(each_kind_of_rule_gives_the_callers_register) {
    static const uint8_t expression[] = {0x23, 8}; /* what it initial_instructions with, and 8 */
    uint64_t words[] = {100, 200, 300, 400};
    struct cfi_memory memory = {(const uint8_t *)words, 0x8000, sizeof words};
    uint64_t registers[CFI_REGISTERS] = {[2] = 22, [3] = 33, [7] = 0x8000, [16] = 0x1234};
    struct cfi_row row = {.return_address_register = 16,
                          .cfa = {.kind = CFI_REGISTER, .register_number = 7, .value = 16}};
    row.registers[0] = (struct cfi_rule){.kind = CFI_VAL_OFFSET, .value = -4};
    row.registers[1] = (struct cfi_rule){.kind = CFI_REGISTER, .register_number = 3};
    row.registers[4] =
        (struct cfi_rule){.kind = CFI_EXPRESSION, .length = 2, .expression = expression};
    row.registers[5] =
        (struct cfi_rule){.kind = CFI_VAL_EXPRESSION, .length = 2, .expression = expression};
    row.registers[6] = (struct cfi_rule){.kind = CFI_OFFSET, .value = 1 << 20}; /* not copied */
    row.registers[16] = (struct cfi_rule){.kind = CFI_OFFSET, .value = -8};
    REQUIRE(cfi_step(&row, 7, 16, &memory, registers));
    CHECK_INT(registers[0], 0x8010 - 4);
    CHECK_INT(registers[1], 33);
    CHECK_INT(registers[2], 22);
    CHECK_INT(registers[4], 400);
    CHECK_INT(registers[5], 0x8018);
    CHECK_INT(registers[7], 0x8010);
    CHECK_INT(registers[16], 200);
}

TEST(a_signed_return_address_is_stripped_and_an_undefined_one_ends_the_stack) {
    uint64_t words[] = {0xabcd000000001234u};
    struct cfi_memory memory = {(const uint8_t *)words, 0x8000, sizeof words};
    uint64_t registers[CFI_REGISTERS] = {[31] = 0x8000};
    struct cfi_row row = {.return_address_register = 30,
                          .cfa = {.kind = CFI_REGISTER, .register_number = 31, .value = 8}};
    row.registers[30] = (struct cfi_rule){.kind = CFI_OFFSET, .value = -8};
    row.ra_signed = true;
    REQUIRE(cfi_step(&row, 31, 32, &memory, registers));
    CHECK_INT(registers[32], 0x1234);
    CHECK_INT(registers[31], 0x8008);
    row.registers[30].kind = CFI_UNDEFINED;
    CHECK(!cfi_step(&row, 31, 32, &memory, registers));
    row.registers[30].kind = CFI_SAME_VALUE;
    row.cfa.kind = CFI_SAME_VALUE; /* the frame is unknown */
    CHECK(!cfi_step(&row, 31, 32, &memory, registers));
}

/* ---- Numbers and expressions --------------------------------------------------------------- */

TEST(numbers_are_read_in_every_form) {
    static const uint8_t bytes[] = {0xe5, 0x8e, 0x26, 0x80, 0x7f, 0xff,
                                    0x00, 0x3f, 0x40, 0xfe, 0xff};
    struct dwarf_bytes at = {bytes, bytes + sizeof bytes, false};
    CHECK_INT(dwarf_read_uleb128(&at), 624485);
    CHECK_INT(dwarf_read_sleb128(&at), -128);
    CHECK_INT(dwarf_read_sleb128(&at), 127);
    CHECK_INT(dwarf_read_sleb128(&at), 63);
    CHECK_INT(dwarf_read_sleb128(&at), -64);
    CHECK_INT(dwarf_read_fixed_signed(&at, 2), -2);
    CHECK(!at.failed);
    CHECK_INT(dwarf_read_fixed(&at, 1), 0);
    CHECK(at.failed);
}

TEST(pointers_are_read_in_every_encoding) {
    static const uint8_t bytes[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const struct {
        uint8_t encoding;
        uint64_t value, used;
    } table[] = {
        {0x00, (uint64_t)-2, 8}, {0x02, 0xfffe, 2},       {0x03, 0xfffffffe, 4},
        {0x04, (uint64_t)-2, 8}, {0x0a, (uint64_t)-2, 2}, {0x0b, (uint64_t)-2, 4},
        {0x0c, (uint64_t)-2, 8}, {0x1b, 0x4ffe, 4},       {0x12, 0x5000 + 0xfffe, 2},
    };
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        struct dwarf_bytes at = {bytes, bytes + sizeof bytes, false};
        CHECK(cfi_read_pointer(&at, table[i].encoding, 0x5000) == table[i].value);
        CHECK(!at.failed && at.at == bytes + table[i].used);
    }
    static const uint8_t leb[] = {0x81, 1, 0x7f};
    struct dwarf_bytes at = {leb, leb + sizeof leb, false};
    CHECK_INT(cfi_read_pointer(&at, 0x01, 0), 129);
    CHECK(cfi_read_pointer(&at, 0x09, 0) == (uint64_t)-1);
    static const uint8_t unknown[] = {0x05, 0x23, 0x3b};
    for (size_t i = 0; i < sizeof unknown; i++) {
        struct dwarf_bytes again = {bytes, bytes + sizeof bytes, false};
        CHECK_INT(cfi_read_pointer(&again, unknown[i], 0x5000), 0);
        CHECK(again.failed);
    }
}

TEST(each_operation_of_an_expression_gives_what_the_standard_says) {
    static const struct {
        uint8_t code[8];
        size_t length;
        int64_t value;
    } table[] = {
        {{0x3c, 0x3a, 0x1a}, 3, 8},
        {{0x09, 0xf8, 0x33, 0x1b}, 4, -2},
        {{0x33, 0x35, 0x1c}, 3, -2},
        {{0x37, 0x34, 0x1d}, 3, 3},
        {{0x33, 0x35, 0x1e}, 3, 15},
        {{0x33, 0x1f}, 2, -3},
        {{0x33, 0x20}, 2, -4},
        {{0x3c, 0x3a, 0x21}, 3, 14},
        {{0x33, 0x35, 0x22}, 3, 8},
        {{0x33, 0x23, 9}, 3, 12},
        {{0x33, 0x32, 0x24}, 3, 12},
        {{0x3c, 0x32, 0x25}, 3, 3},
        {{0x09, 0xf8, 0x32, 0x26}, 4, -2},
        {{0x3c, 0x3a, 0x27}, 3, 6},
        {{0x33, 0x33, 0x29}, 3, 1},
        {{0x33, 0x34, 0x2a}, 3, 0},
        {{0x33, 0x33, 0x2a}, 3, 1},
        {{0x33, 0x33, 0x2b}, 3, 0},
        {{0x34, 0x33, 0x2b}, 3, 1},
        {{0x33, 0x33, 0x2c}, 3, 1},
        {{0x34, 0x33, 0x2c}, 3, 0},
        {{0x33, 0x33, 0x2d}, 3, 0},
        {{0x33, 0x34, 0x2d}, 3, 1},
        {{0x33, 0x33, 0x2e}, 3, 0},
        {{0x31, 0x32, 0x16, 0x1c}, 4, 1},
        {{0x31, 0x32, 0x33, 0x17, 0x13}, 5, 1},
        {{0x31, 0x32, 0x33, 0x17}, 4, 2},
        {{0x31, 0x32, 0x33, 0x17, 0x13, 0x13}, 6, 3},
        {{0x31, 0x32, 0x14}, 3, 1},
        {{0x31, 0x32, 0x33, 0x15, 2}, 5, 1},
        {{0x31, 0x32, 0x13}, 3, 1},
        {{0x08, 200}, 2, 200},
        {{0x09, 200}, 2, -56},
        {{0x0a, 0xfe, 0xff}, 3, 0xfffe},
        {{0x0b, 0xfe, 0xff}, 3, -2},
        {{0x10, 0x80, 1}, 3, 128},
        {{0x11, 0x7f}, 2, -1},
        {{0x4f}, 1, 31},
        {{0x73, 0x7f}, 2, 32},
        {{0x92, 3, 1}, 3, 34},
        {{0x36, 0x31, 0x28, 1, 0, 0x35}, 6, 6},
        {{0x30, 0x28, 1, 0, 0x35}, 5, 5},
        {{0x2f, 1, 0, 0x35}, 4, 21},
        {{0x77, 0, 0x94, 2}, 4, 0x0807},
        {{0x77, 0, 0x94, 1}, 4, 7},
    };
    static const uint8_t stack[8] = {7, 8, 9, 10, 11, 12, 13, 14};
    struct cfi_memory memory = {stack, 0x8000, sizeof stack};
    uint64_t registers[CFI_REGISTERS] = {[3] = 33, [7] = 0x8000}, first = 21, value;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        struct cfi_rule rule = {.length = (uint32_t)table[i].length, .expression = table[i].code};
        value = 0;
        CHECK(cfi_evaluate(&rule, registers, &memory, &first, &value));
        if ((int64_t)value != table[i].value)
            test_failed(__FILE__, __LINE__, "expression %zu gives %lld, not %lld", i,
                        (long long)value, (long long)table[i].value);
    }
}

TEST(expressions_that_need_more_values_than_there_are_fail) {
    static const uint8_t table[][3] = {
        {0x14}, {0x15, 1}, {0x16}, {0x22}, {0x17}, {0x13, 0x12}, {0x13, 0x06}, {0x94, 9},
    };
    static const uint32_t lengths[] = {1, 2, 1, 1, 1, 2, 2, 2};
    static const uint8_t stack[8];
    struct cfi_memory memory = {stack, 21, sizeof stack};
    uint64_t registers[CFI_REGISTERS] = {0}, first = 21, value;
    for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
        struct cfi_rule rule = {.length = lengths[i], .expression = table[i]};
        CHECK(!cfi_evaluate(&rule, registers, &memory, &first, &value));
    }
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* As C++ has them: a personality, a table of handlers, pointers relative to themselves. The return
 * register is a number of two bytes, as version 3 allows. */
TEST(an_entry_with_a_personality_is_read_to_its_end) {
    static const uint8_t section[] = {
        28,   0,    0,    0,    0,    0,    0,  0, 3, 'z', 'P', 'L', 'R', 0, 2, 0x78, /* CIE */
        0x90, 0x00, 7,    0x03, 1,    2,    3,  4, /* register 16; personality */
        0x0b, 0x1b, 0x0c, 7,    8,    0,    0,  0, /* handlers, pointers; program */
        24,   0,    0,    0,    36,   0,    0,  0, /* FDE, back to the CIE */
        0xd8, 0xff, 0xff, 0xff, 64,   0,    0,  0, /* 40 before this word; 64 bytes */
        4,    0x3f, 0x3f, 0x3f, 0x3f, 0x0e, 16, 0, /* handlers; program */
        0,    0,    0,    0,
    };
    struct cfi_fde entry;
    struct cfi_row row;
    REQUIRE(cfi_fde_read(section, sizeof section, 0x5000, 32, &entry));
    CHECK_INT(entry.start, 0x5000);
    CHECK_INT(entry.end, 0x5040);
    CHECK_INT(entry.return_address_register, 16);
    CHECK_INT(entry.code_alignment_factor, 2);
    CHECK_INT(entry.data_alignment_factor, -8);
    REQUIRE(cfi_row_at(&entry, 0x5000, &row));
    CHECK_INT(row.cfa.value, 16);
    CHECK(!cfi_fde_read(section, sizeof section, 0x5000, 0, &entry)); /* a CIE, not an FDE */
    CHECK(!cfi_fde_read(section, sizeof section - 1, 0x5000, 32, &entry));
    CHECK(!cfi_fde_read(section, sizeof section, 0x5000, sizeof section, &entry));
}
