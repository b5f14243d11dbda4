/* Unwinding with CFI: of this program, compared with libgcc's unwinder; single rules and
 * expressions; and damaged input. */
#if defined __linux__ && !defined _GNU_SOURCE
#define _GNU_SOURCE /* names of registers */
#endif
#include "../test.h"

#include "abi/cfi.h"
#include "record/symbols/unwind_table.h"

#include <stdlib.h>
#include <string.h>

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "record/symbols/perf_unwind.h"

enum { FRAMES = 64, STACK_BYTES = 60 << 10 }; /* a signal frame with AMX state has 11 KB */

struct seen {
    struct symbols *symbols;
    uint64_t stack_end;
    uint64_t code, code_end; /* of this program */
    uint64_t ours[FRAMES];
    void *theirs[FRAMES];
    size_t our_count, their_count;
    bool complete;
};

static void map_code(struct seen *seen) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], path[4096];
    struct status status;
    while (maps && fgets(line, sizeof line, maps)) {
        uint64_t start, end, offset;
        char rights[5];
        path[0] = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4000[^\n]", &start, &end,
                   rights, &offset, path) >= 4 &&
            rights[2] == 'x')
            symbols_map(seen->symbols, getpid(), start, end - start, offset, text_of(path),
                        &status);
        if (strcmp(path, "[stack]") == 0)
            seen->stack_end = end;
        if (start <= (uint64_t)(uintptr_t)map_code && (uint64_t)(uintptr_t)map_code < end) {
            seen->code = start;
            seen->code_end = end;
        }
    }
    if (maps)
        fclose(maps);
}

/* The registers by the kernel's numbers. */
static void put_registers(const ucontext_t *context, uint64_t registers[64]) {
#ifdef __x86_64__
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                REG_RDI, REG_RBP, REG_RSP, REG_RIP};
    static const int others[] = {REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 9; i++)
        registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    for (unsigned i = 0; i < 8; i++)
        registers[16 + i] = (uint64_t)context->uc_mcontext.gregs[others[i]];
#else
    for (unsigned i = 0; i < 31; i++)
        registers[i] = context->uc_mcontext.regs[i];
    registers[31] = context->uc_mcontext.sp;
    registers[32] = context->uc_mcontext.pc;
#endif
}

/* The copy of the stack has only as much as there is. */
__attribute__((noinline, no_sanitize("address"))) static void look(struct seen *seen) {
    static uint8_t stack[STACK_BYTES];
    uint64_t registers[64] = {0};
    ucontext_t context;
    struct status status;
    seen->their_count = (size_t)backtrace(seen->theirs, FRAMES);
    getcontext(&context);
    put_registers(&context, registers);
#ifdef __x86_64__
    uint64_t pointer = registers[7];
#else
    uint64_t pointer = registers[31];
#endif
    struct perf_stack_snapshot snapshot = {getpid(), registers, stack, 0, NULL};
    uint64_t bytes = seen->stack_end > pointer ? seen->stack_end - pointer : 0;
    if (bytes > STACK_BYTES)
        bytes = STACK_BYTES;
    for (uint64_t i = 0; i < bytes; i++)
        stack[i] = ((const uint8_t *)(uintptr_t)pointer)[i];
    snapshot.stack_bytes = bytes;
    struct perf_unwinder *unwinder = perf_unwinder_create(seen->symbols, &status);
    REQUIRE(unwinder);
    seen->our_count = perf_unwind(unwinder, &snapshot, seen->ours, FRAMES, &seen->complete);
    perf_unwinder_destroy(unwinder);
}

__attribute__((noinline)) static int deep(struct seen *seen, int depth, int *places) {
    int own[8] = {depth, places[0]};
    if (depth == 0)
        look(seen);
    else
        own[2] = deep(seen, depth - 1, own);
    __asm__ volatile("" : : "r"(own) : "memory");
    return own[2] + own[1];
}

TEST(tables_lead_from_a_function_to_all_of_its_callers) {
    struct seen seen = {0};
    struct status status;
    int places[1] = {0};
    seen.symbols = symbols_create(&status);
    REQUIRE(seen.symbols);
    map_code(&seen);
    deep(&seen, 12, places);
    REQUIRE(seen.their_count > 13 && seen.our_count > 13);
    /* both begin in look(), theirs perhaps in something that a sanitizer has put there */
    size_t ahead = 0;
    while (ahead + 1 < seen.their_count && (uintptr_t)seen.theirs[ahead + 1] != seen.ours[1])
        ahead++;
    REQUIRE(seen.their_count - ahead > 13);
    CHECK(seen.complete);
    for (size_t i = 1; ahead + i < seen.their_count && i < seen.our_count; i++)
        CHECK(seen.ours[i] == (uint64_t)(uintptr_t)seen.theirs[ahead + i]);
    symbols_destroy(seen.symbols);
}

/* ---- Stacks made by hand --------------------------------------------------------------------- */

#ifdef __x86_64__
enum { KERNEL_FRAME = 6, KERNEL_STACK = 7, KERNEL_CODE = 8, STACK_NUMBER = 7, CODE_NUMBER = 16 };
#else
enum {
    KERNEL_FRAME = 29,
    KERNEL_STACK = 31,
    KERNEL_CODE = 32,
    STACK_NUMBER = 31,
    CODE_NUMBER = 32
};
#endif
enum { STACK_AT = 0x8000, WORDS = 512 };

struct made {
    uint64_t words[WORDS], registers[64];
    struct perf_unwinder *unwinder;
    uint64_t found[FRAMES];
    bool complete;
};

static size_t unwind_made(struct made *made) {
    struct perf_stack_snapshot snapshot = {getpid(), made->registers, (const uint8_t *)made->words,
                                           sizeof made->words, NULL};
    return perf_unwind(made->unwinder, &snapshot, made->found, FRAMES, &made->complete);
}

/* Frame pointers at words 4 and 10. No table describes any of this. */
static void make_frames(struct made *made) {
    memset(made->words, 0, sizeof made->words);
    memset(made->registers, 0, sizeof made->registers);
    made->registers[KERNEL_STACK] = STACK_AT;
    made->registers[KERNEL_FRAME] = STACK_AT + 4 * 8;
    made->registers[KERNEL_CODE] = 0x1001;
    made->words[4] = STACK_AT + 10 * 8;
    made->words[5] = 0x2002;
    made->words[10] = STACK_AT + 4 * 8; /* not further out: the end */
    made->words[11] = 0x3003;
}

TEST(without_tables_frame_pointers_lead_to_the_callers) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    static struct made made;
    REQUIRE(symbols);
    made.unwinder = perf_unwinder_create(symbols, &status);
    REQUIRE(made.unwinder);
    make_frames(&made);
    CHECK_INT(unwind_made(&made), 3);
    CHECK(made.found[0] == 0x1001 && made.found[1] == 0x2002 && made.found[2] == 0x3003);
    CHECK(!made.complete);
    make_frames(&made); /* the frame pointer is the stack pointer: just pushed */
    made.registers[KERNEL_STACK] = STACK_AT;
    made.registers[KERNEL_FRAME] = STACK_AT;
    made.words[0] = STACK_AT + 4 * 8;
    made.words[1] = 0x1501;
    CHECK_INT(unwind_made(&made), 4);
    CHECK(made.found[1] == 0x1501 && made.found[3] == 0x3003);
    make_frames(&made); /* no pointer to a frame */
    made.registers[KERNEL_FRAME] = STACK_AT + 4 * 8 + 1;
    CHECK_INT(unwind_made(&made), 1);
    made.registers[KERNEL_FRAME] = STACK_AT + WORDS * 8 - 8;
    CHECK_INT(unwind_made(&made), 1);
    make_frames(&made); /* the next frame would overlap this one */
    made.words[4] = STACK_AT + 5 * 8;
    made.words[6] = 0x7007;
    CHECK_INT(unwind_made(&made), 2);
    make_frames(&made); /* a caller at 0: the outermost */
    made.words[11] = 0;
    CHECK_INT(unwind_made(&made), 2);
    CHECK(made.complete);
    perf_unwinder_destroy(made.unwinder);
    symbols_destroy(symbols);
}

/* Python's trampolines have two words on the stack, and keep the frame pointer or not. */
TEST(trampolines_of_python_lead_to_their_caller) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    static struct made made;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    FILE *map = fopen(path, "w");
    REQUIRE(symbols && map);
    fprintf(map, "70000 100 py::f:a.py\n");
    fclose(map);
    symbols_map(symbols, getpid(), 0x70000, 4096, 0, TEXT("//anon"), &status);
    made.unwinder = perf_unwinder_create(symbols, &status);
    REQUIRE(made.unwinder);
    make_frames(&made);
    made.registers[KERNEL_CODE] = 0x70010;
    made.registers[KERNEL_FRAME] = STACK_AT; /* it keeps it */
    made.words[0] = STACK_AT + 4 * 8;
    made.words[1] = 0x1501;
    CHECK_INT(unwind_made(&made), 4);
    CHECK(made.found[1] == 0x1501 && made.found[2] == 0x2002 && made.found[3] == 0x3003);
    made.registers[KERNEL_FRAME] = STACK_AT + 10 * 8; /* it is the caller's */
    CHECK_INT(unwind_made(&made), 3);
    CHECK(made.found[1] == 0x1501 && made.found[2] == 0x3003);
    made.registers[KERNEL_FRAME] = STACK_AT + 8; /* within the trampoline's frame: no frame */
    made.words[2] = 0x6666;
    CHECK_INT(unwind_made(&made), 2);
    unlink(path);
    perf_unwinder_destroy(made.unwinder);
    symbols_destroy(symbols);
}

#ifdef __x86_64__
/* A signal may interrupt a function at its first instruction. The byte before it is another's,
 * whose frame is elsewhere. */
void unwind_test_trap(void);
__asm__(".text\n"
        ".type unwind_test_before, @function\n"
        "unwind_test_before:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 1024\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size unwind_test_before, . - unwind_test_before\n"
        ".globl unwind_test_trap\n"
        ".type unwind_test_trap, @function\n"
        "unwind_test_trap:\n"
        ".cfi_startproc\n"
        "ud2\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size unwind_test_trap, . - unwind_test_trap\n");

/* After a call at the end of a function, the return address is the start of the next one. */
TEST(a_caller_is_the_function_that_the_call_is_in) {
    struct seen seen = {0};
    struct status status;
    static struct made made;
    seen.symbols = symbols_create(&status);
    REQUIRE(seen.symbols);
    map_code(&seen);
    made.unwinder = perf_unwinder_create(seen.symbols, &status);
    REQUIRE(made.unwinder);
    made.registers[KERNEL_STACK] = STACK_AT;
    made.registers[KERNEL_CODE] = made.words[0] = (uint64_t)(uintptr_t)unwind_test_trap;
    made.words[1] = 0x6006;
    made.words[128] = 0x5005;
    CHECK(unwind_made(&made) >= 3);
    CHECK(made.found[1] == made.words[0] && made.found[2] == 0x5005);
    perf_unwinder_destroy(made.unwinder);
    symbols_destroy(seen.symbols);
}

static struct seen trapped;

static void look_and_go_on(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    look(&trapped);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* after ud2 */
}

TEST(tables_lead_through_a_signal_to_the_function_that_it_interrupted) {
    struct status status;
    struct sigaction action = {.sa_sigaction = look_and_go_on, .sa_flags = SA_SIGINFO}, before;
    trapped = (struct seen){.symbols = symbols_create(&status)};
    REQUIRE(trapped.symbols);
    map_code(&trapped);
    sigaction(SIGILL, &action, &before);
    unwind_test_trap();
    sigaction(SIGILL, &before, NULL);
    size_t at = 0;
    while (at < trapped.our_count && trapped.ours[at] != (uint64_t)(uintptr_t)unwind_test_trap)
        at++;
    REQUIRE(at + 2 < trapped.our_count);
#ifndef __SANITIZE_ADDRESS__ /* whose own frames have no tables */
    CHECK(trapped.complete);
#endif
    size_t there = 0;
    while (there < trapped.their_count &&
           (uint64_t)(uintptr_t)trapped.theirs[there] != trapped.ours[at])
        there++;
    for (size_t i = 0; at + i < trapped.our_count && there + i < trapped.their_count; i++)
        CHECK(trapped.ours[at + i] == (uint64_t)(uintptr_t)trapped.theirs[there + i]);
    CHECK(there + 2 < trapped.their_count);
    symbols_destroy(trapped.symbols);
}
#endif

/* The caller by the tables alone; false where they do not give it. */
static bool step_directly(struct made *made, struct symbols *symbols, uint64_t address,
                          uint64_t *caller) {
    uint64_t in_file, registers[CFI_REGISTERS] = {0};
    const struct unwind_table *table = symbols_unwind_table(symbols, getpid(), address, &in_file);
    struct cfi_memory memory = {(const uint8_t *)made->words, STACK_AT, sizeof made->words};
    struct cfi_fde entry;
    struct cfi_row row;
    registers[STACK_NUMBER] = STACK_AT;
    registers[CODE_NUMBER] = address;
    if (!table || !unwind_table_find(table, in_file, &entry) ||
        !cfi_row_at(&entry, in_file, &row) ||
        !cfi_step(&row, STACK_NUMBER, CODE_NUMBER, &memory, registers))
        return false;
    *caller = registers[CODE_NUMBER];
    return true;
}

/* Many more than the unwinder keeps: each takes the place of another one. */
TEST(rows_that_are_kept_are_those_of_the_address) {
    struct seen seen = {0};
    struct status status;
    static struct made made;
    size_t compared = 0;
    seen.symbols = symbols_create(&status);
    REQUIRE(seen.symbols);
    map_code(&seen);
    made.unwinder = perf_unwinder_create(seen.symbols, &status);
    REQUIRE(made.unwinder);
    for (size_t i = 0; i < WORDS; i++)
        made.words[i] = 0x100000 + i;
    uint64_t stride = (seen.code_end - seen.code) / 40000 | 1, caller;
    for (uint64_t address = seen.code; address < seen.code_end; address += stride) {
        if (!step_directly(&made, seen.symbols, address, &caller))
            continue;
        memset(made.registers, 0, sizeof made.registers);
        made.registers[KERNEL_STACK] = STACK_AT;
        made.registers[KERNEL_CODE] = address;
        size_t count = unwind_made(&made);
        if (count < 2 || made.found[1] != caller) {
            test_failed(__FILE__, __LINE__, "another caller at %zu of this program's code",
                        (size_t)(address - seen.code));
            break;
        }
        compared++;
    }
#ifndef __SANITIZE_ADDRESS__ /* few functions of a sanitized program use the stack pointer */
    CHECK(compared > 10000);
#endif
    perf_unwinder_destroy(made.unwinder);
    symbols_destroy(seen.symbols);
}
#endif

/* ---- Entries made by hand -------------------------------------------------------------------- */

enum { SECTION_AT = 0x5000, CODE_AT = 0x1000, ENTRY = 20 };

/* One with what all have, and a function of 64 bytes: its frame is register 7 and 8, and 16 after
 * its first byte, where it has saved register 6. */
static size_t make_section(uint8_t *to) {
    static const uint8_t common[ENTRY] = {16, 0,   0,    0, /* length */
                                          0,  0,   0,    0, /* what all have */
                                          1,  'z', 'R',  0,    1, 0x78,
                                          16, 1,   0x04, 0x0c, 7, 8};           /* frame: 7 and 8 */
    static const uint8_t function[] = {36,   0,    0,  0,    24, 0,    0,    0, /* back */
                                       0x00, 0x10, 0,  0,    0,  0,    0,    0, /* code */
                                       64,   0,    0,  0,    0,  0,    0,    0,    0, /* length */
                                       0x41, 0x0e, 16, 0x86, 2,  0x0a, 0x42, 0x0e, 32,
                                       0x0b, 0,    0,  0,    0,  0};
    memcpy(to, common, sizeof common);
    memcpy(to + sizeof common, function, sizeof function);
    return sizeof common + sizeof function;
}

static bool row_of(uint64_t address, struct cfi_row *row) {
    static uint8_t section[128];
    struct cfi_fde entry;
    size_t length = make_section(section);
    return cfi_fde_read(section, length, SECTION_AT, ENTRY, &entry) && entry.start == CODE_AT &&
           entry.end == CODE_AT + 64 && cfi_row_at(&entry, address, row);
}

TEST(a_row_is_what_the_program_says_up_to_an_instruction) {
    struct cfi_row row;
    REQUIRE(row_of(CODE_AT, &row));
    CHECK_INT(row.cfa.register_number, 7);
    CHECK_INT(row.cfa.value, 8);
    CHECK_INT(row.registers[6].kind, CFI_SAME_VALUE);
    REQUIRE(row_of(CODE_AT + 1, &row));
    CHECK_INT(row.cfa.value, 16);
    CHECK_INT(row.registers[6].kind, CFI_OFFSET);
    CHECK_INT(row.registers[6].value, -16);
    REQUIRE(row_of(CODE_AT + 4, &row)); /* DW_CFA_restore_state */
    CHECK_INT(row.cfa.value, 16);
    CHECK(!row_of(CODE_AT + 64, &row));
    CHECK(!row_of(CODE_AT - 1, &row));
}

/* A list of two functions with their entries: 0x1000 to 0x1040 and 0x1040 to 0x1080. The second
 * entry is the last of the section and a signal handler's. */
enum { HEADER_AT = 0x100, FRAMES_AT = 0x200 };

static void put(uint8_t *at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static size_t put_function(uint8_t *at, size_t offset, size_t common, uint64_t start) {
    put(at + offset, 24, 4);
    put(at + offset + 4, offset + 4 - common, 4);
    put(at + offset + 8, start, 8);
    put(at + offset + 16, 0x40, 8);
    put(at + offset + 24, 0x3f01, 4); /* a byte of augmentation data to skip; DW_CFA_nop */
    return offset + 28;
}

static size_t make_table(uint8_t *file) {
    static const uint8_t plain[] = {16,  0, 0, 0,    0,  0, 0, 0,    1, 'z',
                                    'R', 0, 1, 0x78, 16, 1, 4, 0x0c, 7, 8};
    static const uint8_t handler[] = {16,  0,   0, 0, 0,    0,  0, 0, 1, 'z',
                                      'R', 'S', 0, 1, 0x78, 16, 1, 4, 0, 0};
    uint8_t *header = file + HEADER_AT, *frames = file + FRAMES_AT;
    static const uint8_t forms[] = {1, 0x04, 0x03, 0x3b}; /* version, frames, count, pairs */
    memcpy(frames, plain, sizeof plain);
    size_t first = sizeof plain, second = put_function(frames, first, 0, 0x1000);
    memcpy(frames + second, handler, sizeof handler);
    size_t last = second + sizeof handler, end = put_function(frames, last, second, 0x1040);
    memcpy(header, forms, sizeof forms);
    put(header + 4, FRAMES_AT, 8);
    put(header + 12, 2, 4);
    put(header + 16, 0x1000 - HEADER_AT, 4);
    put(header + 20, FRAMES_AT + first - HEADER_AT, 4);
    put(header + 24, 0x1040 - HEADER_AT, 4);
    put(header + 28, FRAMES_AT + last - HEADER_AT, 4);
    return FRAMES_AT + end;
}

TEST(a_table_finds_the_function_of_an_address) {
    static uint8_t file[1024];
    size_t length = make_table(file);
    struct elf_source source = {.fd = -1, .bytes = file, .length = length};
    struct elf_segment all = {0, 0, length};
    struct elf elf = {
        .segments = &all, .segment_count = 1, .eh_frame_hdr = {HEADER_AT, HEADER_AT, 32}};
    struct unwind_table table;
    struct cfi_fde entry;
    struct cfi_row row;
    struct status status;
    REQUIRE(unwind_table_read(&table, &elf, &source, &status));
    CHECK_INT(table.eh_frame_bytes, length - FRAMES_AT);
    CHECK(unwind_table_find(&table, 0x1000, &entry) && entry.start == 0x1000);
    CHECK(cfi_row_at(&entry, 0x1000, &row));
    CHECK(unwind_table_find(&table, 0x103f, &entry) && entry.start == 0x1000);
    CHECK(!entry.is_signal_frame);
    CHECK(unwind_table_find(&table, 0x1040, &entry) && entry.start == 0x1040);
    CHECK(entry.is_signal_frame);
    CHECK(unwind_table_find(&table, 0x107f, &entry) && entry.start == 0x1040);
    CHECK(!unwind_table_find(&table, 0x1080, &entry));
    CHECK(!unwind_table_find(&table, 0xfff, &entry));
    unwind_table_finish(&table);
}

TEST(a_step_takes_the_callers_registers_from_the_stack) {
    struct cfi_row row;
    uint64_t registers[CFI_REGISTERS] = {[7] = 0x8000, [6] = 1, [16] = CODE_AT + 1};
    uint64_t stack[] = {0x9000, 0x2000, 0};
    struct cfi_memory memory = {(const uint8_t *)stack, 0x8000, sizeof stack};
    REQUIRE(row_of(CODE_AT + 1, &row));
    row.registers[16] = (struct cfi_rule){.kind = CFI_OFFSET, .value = -8};
    REQUIRE(cfi_step(&row, 7, 16, &memory, registers));
    CHECK(registers[7] == 0x8010 && registers[6] == 0x9000 && registers[16] == 0x2000);
    memory.length = 8; /* the address to return to is not in the copy */
    registers[7] = 0x8000;
    CHECK(!cfi_step(&row, 7, 16, &memory, registers));
}

static bool evaluate(const uint8_t *code, uint32_t length, uint64_t *value) {
    static const uint64_t stack[] = {11, 0x8000};
    struct cfi_memory memory = {(const uint8_t *)stack, 0x8000, sizeof stack};
    uint64_t registers[CFI_REGISTERS] = {[7] = 0x8000, [16] = 0x100b}, first = 5;
    struct cfi_rule rule = {.kind = CFI_VAL_EXPRESSION, .length = length, .expression = code};
    return cfi_evaluate(&rule, registers, &memory, &first, value);
}

TEST(expressions_compute_what_they_say) {
    uint64_t value = 0;
    /* as for jumps into other libraries: register 7 and 8, and 8 more from byte 11 on */
    static const uint8_t jump[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    REQUIRE(evaluate(jump, sizeof jump, &value));
    CHECK(value == 0x8010);
    static const uint8_t load[] = {0x77, 8, 0x06, 0x06}; /* *(*(register 7 + 8)) */
    REQUIRE(evaluate(load, sizeof load, &value));
    CHECK_INT(value, 11);
    static const uint8_t sum[] = {0x23, 3, 0x12, 0x1e}; /* (5 + 3) squared */
    REQUIRE(evaluate(sum, sizeof sum, &value));
    CHECK_INT(value, 64);
    static const uint8_t negative[] = {0x09, 0xf0, 0x1f, 0x19}; /* |-(-16)| */
    REQUIRE(evaluate(negative, sizeof negative, &value));
    CHECK_INT(value, 16);
    static const uint8_t endless[] = {0x2f, 0xfd, 0xff};
    CHECK(!evaluate(endless, sizeof endless, &value));
    static const uint8_t empty[] = {0x13}, division[] = {0x30, 0x1b}, outside[] = {0x31, 0x06};
    CHECK(!evaluate(empty, sizeof empty, &value));
    CHECK(!evaluate(division, sizeof division, &value));
    CHECK(!evaluate(outside, sizeof outside, &value));
}

TEST(damaged_call_frame_information_is_refused_or_read_but_never_overrun) {
    uint8_t good[128];
    size_t length = make_section(good);
    unsigned state = 1;
    for (unsigned round = 0; round < 50000; round++) {
        uint8_t *section = malloc(length); /* a sanitizer sees its end */
        REQUIRE(section);
        memcpy(section, good, length);
        for (unsigned change = 0; change <= round % 4; change++) {
            state = state * 1664525u + 1013904223u;
            section[(state >> 8) % length] = (uint8_t)(state >> 20);
        }
        struct cfi_fde entry;
        struct cfi_row row;
        uint64_t registers[CFI_REGISTERS] = {[7] = 0x8000}, stack[4] = {1, 2, 3, 4};
        struct cfi_memory memory = {(const uint8_t *)stack, 0x8000, sizeof stack};
        if (cfi_fde_read(section, length, SECTION_AT, ENTRY, &entry) &&
            cfi_row_at(&entry, entry.start + 3, &row))
            cfi_step(&row, 7, 16, &memory, registers);
        free(section);
    }
}
