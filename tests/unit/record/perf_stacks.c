/* Rows of stacks: equal stacks share them, and stacks of Python are classified. */
#ifdef __linux__
#include "record/perf/perf_stacks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "../test.h"

enum { TRAMPOLINE = 0x10000, OTHER_TRAMPOLINE = 0x10100, LIBRARY = 0x200000 };

/* As CPython calls it; this program plays the interpreter. */
int py_trampoline_evaluator(int x);
__attribute__((noinline)) int py_trampoline_evaluator(int x) {
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}
__attribute__((noinline)) static int interpret(int x) {
    __asm__ volatile("" : "+r"(x));
    return x + 2;
}

struct stacks {
    struct symbols *symbols;
    struct stack_rows rows;
    struct trace_writer *writer;
    char map[64];
    int fd;
};

static void map_self(struct symbols *symbols) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], path[4096], rights[5];
    uint64_t start, end, offset;
    struct status status;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4000[^\n]", &start, &end,
                   rights, &offset, path) == 5 &&
            rights[2] == 'x')
            symbols_map(symbols, getpid(), start, end - start, offset, text_of(path), &status);
    if (maps)
        fclose(maps);
}

static bool open_stacks(struct stacks *stacks) {
    struct status status;
    *stacks = (struct stacks){.symbols = symbols_create(&status)};
    snprintf(stacks->map, sizeof stacks->map, "/tmp/perf-%ld.map", (long)getpid());
    FILE *map = fopen(stacks->map, "w");
    if (!map || !stacks->symbols)
        return false;
    fprintf(map, "%x 80 py::f:a.py\n%x 80 py::g:a.py\n", TRAMPOLINE, OTHER_TRAMPOLINE);
    fclose(map);
    map_self(stacks->symbols);
    symbols_map(stacks->symbols, getpid(), TRAMPOLINE, 4096, 0, TEXT("//anon"), &status);
    symbols_map(stacks->symbols, getpid(), LIBRARY, 4096, 0, TEXT("/none/extension.so"), &status);
    stacks->fd = open(test_temporary(".ridge"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    stacks->writer = trace_writer_create(
        stacks->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    return stacks->writer != NULL;
}

static void close_stacks(struct stacks *stacks) {
    stack_rows_finish(&stacks->rows);
    symbols_destroy(stacks->symbols);
    trace_writer_destroy(stacks->writer);
    close(stacks->fd);
    unlink(stacks->map);
}

static uint32_t find(struct stacks *stacks, const uint64_t *addresses, size_t count) {
    struct perf_chain chain = {.count = count};
    memcpy(chain.addresses, addresses, count * sizeof *addresses);
    return stack_rows_find(&stacks->rows, stacks->symbols, getpid(), &chain, NULL, stacks->writer);
}

static enum stack_python kind_of(struct stacks *stacks, const uint64_t *addresses, size_t count) {
    return stack_rows_python(&stacks->rows, find(stacks, addresses, count));
}

TEST(samples_in_python_calls_are_told_from_those_in_trampolines_and_other_libraries) {
    struct stacks stacks;
    uint64_t run = (uint64_t)(uintptr_t)interpret + 2,
             evaluate = (uint64_t)(uintptr_t)py_trampoline_evaluator + 2;
    /* innermost first: a function of Python's own, called by another one */
    uint64_t nested[] = {run, OTHER_TRAMPOLINE + 8, evaluate, run, TRAMPOLINE + 8, evaluate, run};
    uint64_t in_evaluator[] = {evaluate, run, TRAMPOLINE + 8, evaluate, run};
    uint64_t below_evaluator[] = {run, evaluate, run, TRAMPOLINE + 8, evaluate, run};
    uint64_t in_library[] = {run, LIBRARY + 8, run, TRAMPOLINE + 8, evaluate, run};
    CHECK(interpret(1) + py_trampoline_evaluator(1) == 5);
    REQUIRE(open_stacks(&stacks));
    CHECK_INT(kind_of(&stacks, nested, 7), STACK_INTERPRETER);
    CHECK(stacks.rows.evaluator_is_known);
    CHECK_INT(kind_of(&stacks, nested + 1, 6), STACK_TRAMPOLINE);
    CHECK_INT(kind_of(&stacks, nested + 3, 4), STACK_INTERPRETER);
    CHECK_INT(kind_of(&stacks, nested + 6, 1), STACK_NO_PYTHON); /* before the first call */
    CHECK_INT(kind_of(&stacks, in_evaluator, 5), STACK_TRAMPOLINE);
    CHECK_INT(kind_of(&stacks, below_evaluator, 6), STACK_TRAMPOLINE);
    CHECK_INT(kind_of(&stacks, in_library + 1, 5), STACK_NO_PYTHON);
    CHECK_INT(kind_of(&stacks, in_library, 6), STACK_NO_PYTHON);
    close_stacks(&stacks);
}

TEST(equal_stacks_share_a_row_and_others_do_not) {
    struct stacks stacks;
    uint64_t run = (uint64_t)(uintptr_t)interpret + 2,
             evaluate = (uint64_t)(uintptr_t)py_trampoline_evaluator + 2;
    uint64_t one[] = {run, evaluate, run}, other[] = {evaluate, evaluate, run},
             deeper[] = {run, evaluate, run, run}, callers[] = {run, run, evaluate};
    REQUIRE(open_stacks(&stacks));
    uint32_t row = find(&stacks, one, 3);
    CHECK(row != 0);
    CHECK_INT(find(&stacks, one, 3), row);
    CHECK(find(&stacks, other, 3) != row);
    CHECK(find(&stacks, deeper, 4) != row);
    CHECK(find(&stacks, callers, 3) != row);
    CHECK(find(&stacks, one, 2) != row);
    CHECK_INT(find(&stacks, one, 0), 0);
    close_stacks(&stacks);
}

TEST(an_address_means_something_else_after_another_program_was_executed) {
    struct stacks stacks;
    struct status status;
    uint64_t chain[] = {LIBRARY + 8, LIBRARY + 16};
    REQUIRE(open_stacks(&stacks));
    uint32_t before = find(&stacks, chain, 2);
    symbols_exec(stacks.symbols, getpid());
    symbols_map(stacks.symbols, getpid(), LIBRARY, 4096, 0, TEXT("/none/other.so"), &status);
    CHECK(before != 0 && find(&stacks, chain, 2) != before);
    close_stacks(&stacks);
}

/* An address that nothing is mapped at ends the list of callers. */
TEST(a_stack_is_trusted_up_to_the_first_address_that_is_no_code) {
    struct stacks stacks;
    uint64_t run = (uint64_t)(uintptr_t)interpret + 2,
             evaluate = (uint64_t)(uintptr_t)py_trampoline_evaluator + 2;
    uint64_t whole[] = {run, evaluate}, broken[] = {run, evaluate, 0x7777, run};
    REQUIRE(open_stacks(&stacks));
    uint64_t other[] = {evaluate, run, 0x7777, run};
    CHECK_INT(find(&stacks, broken, 4), find(&stacks, whole, 2));
    CHECK_INT(find(&stacks, other, 4), find(&stacks, (uint64_t[]){evaluate, run}, 2));
    close_stacks(&stacks);
}
#endif
