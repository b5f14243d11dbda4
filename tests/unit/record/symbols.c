/* Symbolization of this program, the vDSO and generated code, and overlapping mappings. */
#include "../test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "record/symbols/symbols.h"
#include "record/symbols/address_spaces.h"

int symbols_test_function(int x);
__attribute__((noinline)) int symbols_test_function(int x) {
    return x * 3 + 1;
}

static uint64_t address_of(int (*function)(int)) {
    return (uint64_t)(uintptr_t)function;
}

/* Adds all mappings of this process; returns the address of the vDSO, or 0. */
static uint64_t map_self(struct symbols *symbols) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    uint64_t vdso = 0;
    struct status status;
    while (maps && fgets(line, sizeof line, maps)) {
        uint64_t start, end, offset;
        char rights[8], path[3000] = "//anon";
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %2999[^\n]", &start, &end,
                   rights, &offset, path) < 4 ||
            rights[2] != 'x')
            continue;
        CHECK_OK(symbols_map(symbols, getpid(), start, end - start, offset, text_of(path), &status),
                 status);
        if (strcmp(path, "[vdso]") == 0)
            vdso = start;
    }
    if (maps)
        fclose(maps);
    return vdso;
}

static bool found(struct symbols *symbols, pid_t pid, uint64_t address, const char *function,
                  const char *module) {
    struct symbol symbol = symbols_find(symbols, pid, address, false);
    if (text_is(symbol.function, function) && text_is(symbol.module, module))
        return true;
    fprintf(stderr, "found \"%.*s\" in \"%.*s\"\n", TEXT_ARGS(symbol.function),
            TEXT_ARGS(symbol.module));
    return false;
}

TEST(an_address_of_a_mapped_program_is_found_by_its_function) {
#ifdef __linux__
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    map_self(symbols);
    char path[4096] = "";
    CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    CHECK(found(symbols, getpid(), address_of(symbols_test_function), "symbols_test_function",
                strrchr(path, '/') + 1));
    /* the C library is stripped: its exported functions have names */
    struct symbol symbol = symbols_find(symbols, getpid(), (uint64_t)(uintptr_t)&qsort, false);
    CHECK(text_find(symbol.function, "qsort") >= 0);
    /* of another process nothing is known, and nothing is at the lowest addresses */
    CHECK(found(symbols, getpid() + 1, address_of(symbols_test_function), "", ""));
    CHECK(found(symbols, getpid(), 16, "", ""));
    symbols_destroy(symbols);
#else
    test_skip("only Linux tells what is mapped in this way");
#endif
}

TEST(a_forked_process_has_its_parents_functions_until_it_executes_another_program) {
#ifdef __linux__
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    map_self(symbols);
    pid_t child = getpid() + 1;
    CHECK_OK(symbols_fork(symbols, getpid(), child, &status), status);
    uint64_t generation = symbols_generation(symbols, child);
    struct symbol symbol = symbols_find(symbols, child, address_of(symbols_test_function), false);
    CHECK(text_is(symbol.function, "symbols_test_function"));
    symbols_exec(symbols, child);
    CHECK(found(symbols, child, address_of(symbols_test_function), "", ""));
    CHECK(symbols_generation(symbols, child) != generation);
    symbols_destroy(symbols);
#else
    test_skip("only Linux tells what is mapped in this way");
#endif
}

TEST(functions_of_the_vdso_have_names) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    uint64_t vdso = map_self(symbols);
    unsigned named = 0;
    for (uint64_t at = 0; vdso && at < 8192; at += 16)
        named += symbols_find(symbols, getpid(), vdso + at, false).function.length > 0;
    if (vdso)
        CHECK(named > 0);
    else
        test_skip("there is no vDSO");
    symbols_destroy(symbols);
}

TEST(files_that_are_gone_or_are_no_programs_have_a_name_but_no_functions) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    const char *path = test_temporary(".so");
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("#!/bin/sh\n", file);
    fclose(file);
    CHECK_OK(symbols_map(symbols, 7, 0x1000, 0x1000, 0, text_of(path), &status), status);
    CHECK_OK(symbols_map(symbols, 7, 0x2000, 0x1000, 0, TEXT("/tmp/gone.so (deleted)"), &status),
             status);
    CHECK_OK(symbols_map(symbols, 7, 0x3000, 0x1000, 0, TEXT("/dev/null"), &status), status);
    CHECK_OK(symbols_map(symbols, 7, UINT64_MAX - 10, 100, 0, TEXT("/x"), &status), status);
    CHECK(found(symbols, 7, 0x1010, "", strrchr(path, '/') + 1));
    CHECK(found(symbols, 7, 0x2010, "", "gone.so"));
    CHECK(found(symbols, 7, 0x3010, "", "null"));
    CHECK(found(symbols, 7, UINT64_MAX - 5, "", ""));
    symbols_destroy(symbols);
}

static void pause_for_the_next_look(void) {
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void write_map(const char *path, const char *mode, const char *lines) {
    FILE *file = fopen(path, mode);
    if (file) {
        fputs(lines, file);
        fclose(file);
    }
}

TEST(addresses_of_a_map_are_hexadecimal_in_either_case) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    char path[64];
    pid_t pid = getpid();
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)pid);
    write_map(path, "w",
              "9a0fA 6 low\n9AF90 F high\n0X9b000 10 prefix\n9c00g 10 letter\n9d000:10 colon\n"
              "9e000 1` accent\n9f000 1@ at\n9f100 0 empty\n fffff 10 blank\n");
    CHECK_OK(symbols_map(symbols, pid, 0x90000, 0x10000, 0, TEXT("//anon"), &status), status);
    CHECK(found(symbols, pid, 0x9a0f9, "", "[anon]"));
    CHECK(found(symbols, pid, 0x9a0fa, "low", "[jit]"));
    CHECK(found(symbols, pid, 0x9a0ff, "low", "[jit]"));
    CHECK(found(symbols, pid, 0x9a100, "", "[anon]"));
    CHECK(found(symbols, pid, 0x9af90, "high", "[jit]"));
    CHECK(found(symbols, pid, 0x9af9e, "high", "[jit]"));
    CHECK(found(symbols, pid, 0x9af9f, "", "[anon]"));
    static const uint64_t none[] = {0x9b000, 0x9c000, 0x9d000, 0x9e000, 0x9f000, 0x9f100};
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        CHECK(found(symbols, pid, none[i], "", "[anon]"));
    unlink(path);
    symbols_destroy(symbols);
}

TEST(made_code_is_named_by_the_map_that_its_program_writes) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    char path[64];
    pid_t pid = getpid();
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)pid);
    write_map(path, "w",
              "10000 100 py::Trainer.step:/home/ada/train.py\n"
              "10100 80 py::run:/home/ada/model/__init__.py\n"
              "0x10200 10 jitted\nnonsense\n99999999999999999999 1 x\n10300\n\n10400 10 not whole");
    CHECK_OK(symbols_map(symbols, pid, 0x10000, 0x1000, 0, TEXT("//anon"), &status), status);
    CHECK(found(symbols, pid, 0x100ff, "Trainer.step (train.py)", "[python]"));
    CHECK(found(symbols, pid, 0x10100, "run (model/__init__.py)", "[python]"));
    CHECK(found(symbols, pid, 0x10200, "jitted", "[jit]"));
    CHECK(found(symbols, pid, 0x10180, "", "[anon]"));
    CHECK(found(symbols, pid, 0x10400, "", "[anon]"));

    pause_for_the_next_look();
    write_map(path, "a", "\n10000 100 py::Trainer.again:train.py\n");
    CHECK(found(symbols, pid, 0x10400, "not whole", "[jit]"));
    CHECK(found(symbols, pid, 0x10000, "Trainer.again (train.py)", "[python]"));

    /* what a fork runs its parent made */
    CHECK_OK(symbols_fork(symbols, pid, 1 << 30, &status), status);
    CHECK(found(symbols, 1 << 30, 0x10200, "jitted", "[jit]"));
    unlink(path);
    symbols_destroy(symbols);
}

/* The first function of the kernel with a unique address. */
static uint64_t some_kernel_function(char name[256]) {
    FILE *file = fopen("/proc/kallsyms", "r");
    char line[512], found[256], kind;
    uint64_t before = 0, candidate = 0, address;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNx64 " %c %255s", &address, &kind, found) != 3 ||
            !strchr("tTwW", kind))
            continue;
        if (candidate && candidate != address)
            break;
        candidate = address && before && address != before ? address : 0;
        before = address;
        snprintf(name, 256, "%s", found);
    }
    if (file)
        fclose(file);
    return candidate;
}

TEST(an_address_of_the_kernel_is_found_by_its_function) {
    struct kernel_symbols symbols = {0};
    struct text module;
    char name[256];
    uint64_t address = some_kernel_function(name);
    if (!address) {
        test_skip("addresses of the kernel are not shown here");
        return;
    }
    CHECK(text_is(kernel_symbols_find(&symbols, address, &module), name));
    CHECK(text_is(module, "[kernel]"));
    CHECK(!text_is(kernel_symbols_find(&symbols, address - 1, &module), name));
    CHECK_INT(kernel_symbols_find(&symbols, 1, &module).length, 0);
    kernel_symbols_finish(&symbols);
}

/* The recorder may be another user than the program: it reads maps that the program's user owns. */
TEST(a_map_is_read_when_it_belongs_to_the_user_of_its_program) {
    enum { USER = 65534, OTHER = 65533 };
    char path[64];
    if (geteuid() != 0) {
        test_skip("only root can become another user");
        return;
    }
    for (unsigned round = 0; round < 2; round++) {
        struct status status;
        struct symbols *symbols = symbols_create(&status);
        REQUIRE(symbols);
        int ready[2];
        char byte;
        REQUIRE(pipe(ready) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            if (setuid(USER) != 0 || write(ready[1], "r", 1) != 1)
                _exit(1);
            pause();
        }
        REQUIRE(pid > 0 && read(ready[0], &byte, 1) == 1);
        snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)pid);
        write_map(path, "w", "10000 100 made\n");
        CHECK_INT(chown(path, round ? OTHER : USER, (gid_t)-1), 0);
        CHECK_OK(symbols_map(symbols, pid, 0x10000, 0x1000, 0, TEXT("//anon"), &status), status);
        CHECK(round ? found(symbols, pid, 0x10000, "", "[anon]")
                    : found(symbols, pid, 0x10000, "made", "[jit]"));
        unlink(path);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(ready[0]);
        close(ready[1]);
        symbols_destroy(symbols);
    }
}

TEST(a_map_that_is_a_link_is_not_followed) {
    struct status status;
    struct symbols *symbols = symbols_create(&status);
    REQUIRE(symbols);
    char link[64];
    const char *path = test_temporary(".map");
    snprintf(link, sizeof link, "/tmp/perf-%ld.map", (long)getpid());
    write_map(path, "w", "10000 100 other\n");
    CHECK_OK(symbols_map(symbols, getpid(), 0x10000, 0x1000, 0, TEXT("//anon"), &status), status);
    CHECK_INT(symlink(path, link), 0);
    CHECK(found(symbols, getpid(), 0x10000, "", "[anon]"));
    unlink(link);
    symbols_destroy(symbols);
}

TEST(without_memory_symbols_are_missing_and_nothing_else_happens) {
    for (uint64_t nth = 1; nth < 60; nth++) {
        struct status status;
        memory_fail_from(nth);
        struct symbols *symbols = symbols_create(&status);
        if (symbols) {
            symbols_map(symbols, 7, 0x1000, 0x1000, 0, TEXT("//anon"), &status);
            symbols_map(symbols, 7, 0x2000, 0x1000, 0, TEXT("[vdso]"), &status);
            symbols_map(symbols, 7, 0x3000, 0x1000, 0, TEXT("/proc/self/exe"), &status);
            symbols_fork(symbols, 7, 8, &status);
            for (uint64_t at = 0x1000; at < 0x4000; at += 0x200)
                symbols_find(symbols, 8, at, false);
        }
        symbols_destroy(symbols);
    }
    memory_fail_from(0);
}

enum { PAGES = 64 };

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

TEST(the_last_mapping_of_a_page_is_the_one_that_counts) {
    struct status status;
    unsigned state = 5;
    for (unsigned round = 0; round < 50; round++) {
        struct address_spaces spaces = {0};
        struct {
            uint32_t file;
            uint64_t offset;
        } pages[PAGES] = {{0}};
        for (uint32_t file = 1; file < 30; file++) {
            uint64_t start = next_random(&state) % PAGES;
            uint64_t count = 1 + next_random(&state) % (PAGES - start);
            uint64_t offset = next_random(&state) % 1000;
            CHECK_OK(address_spaces_map(&spaces, 7, start, count, offset, file, &status), status);
            for (uint64_t i = 0; i < count; i++) {
                pages[start + i].file = file;
                pages[start + i].offset = offset + i;
            }
        }
        const struct address_space *space = address_spaces_find(&spaces, 7);
        REQUIRE(space);
        for (uint64_t i = 0; i < PAGES; i++) {
            const struct mapping *mapping = address_space_mapping(space, i);
            CHECK_INT(mapping ? mapping->file : 0, pages[i].file);
            if (mapping)
                CHECK_INT(i - mapping->start + mapping->offset, pages[i].offset);
        }
        address_spaces_finish(&spaces);
    }
}
