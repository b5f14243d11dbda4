/* Runs fuzz targets without libFuzzer, so that any compiler will do:
 *
 *   fuzz-driver TARGET --random COUNT [SEED]   COUNT inputs that follow from SEED (1)
 *   fuzz-driver TARGET --figures COUNT [SEED]  prints a checksum of the numbers that they lead to
 *   fuzz-driver TARGET --one NUMBER [SEED]     only that input, in this process, for a debugger
 *   fuzz-driver TARGET FILE...                 the content of files
 *   fuzz-driver --list                         the targets
 *
 * Inputs run in child processes, many in each. When a child fails, each of its inputs runs again in
 * a child of its own: what crashes, hangs, leaks or breaks a rule is named, and the rest goes on.
 * The last line is `N passed, N failed`. */
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "consume.h"
#include "targets.h"

enum { BATCH = 50, GROUP = 10, INPUT_MAX = 160, PROCESSOR_SECONDS_MAX = 30, SECONDS_MAX = 900 };

struct inputs {
    const struct fuzz_target *target;
    char **files; /* NULL: random */
    uint64_t seed;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t value = *state += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

/* A loop uses processor time, whatever else the machine does; a deadlock does not. */
static void limit_time(void) {
    struct itimerval limit = {.it_value = {.tv_sec = PROCESSOR_SECONDS_MAX}};
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(SECONDS_MAX);
}

static void run_input(const struct inputs *inputs, size_t number) {
    uint8_t bytes[INPUT_MAX];
    limit_time();
    if (inputs->files) {
        int fd = open(inputs->files[number], O_RDONLY | O_CLOEXEC);
        struct text content = base_read(fd);
        close(fd);
        inputs->target->run((const uint8_t *)content.data, content.length);
        free((void *)content.data);
        return;
    }
    uint64_t state = inputs->seed * 1000003 + number;
    size_t length = 8 + next_random(&state) % (INPUT_MAX - 8);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)next_random(&state);
    inputs->target->run(bytes, length);
}

/* Whether inputs first to last - 1 all pass. */
static int run_child(const struct inputs *inputs, size_t first, size_t last, bool quiet) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (quiet && !freopen("/dev/null", "w", stderr))
            exit(1);
        for (size_t i = first; i < last; i++)
            run_input(inputs, i);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = -1;
    return status;
}

static void print_failure(const struct inputs *inputs, size_t number, int status) {
    const char *why = "an error or a leak";
    if (WIFSIGNALED(status))
        why = WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF
                  ? "a hang"
                  : strsignal(WTERMSIG(status));
    if (inputs->files)
        printf("FAILED %s %s: %s\n", inputs->target->name, inputs->files[number], why);
    else
        printf("FAILED %s --one %zu %llu: %s\n", inputs->target->name, number,
               (unsigned long long)inputs->seed, why);
}

static int run_all(const struct inputs *inputs, size_t count) {
    size_t failed = 0;
    for (size_t first = 0; first < count; first += BATCH) {
        size_t last = count - first < BATCH ? count : first + BATCH, before = failed;
        if (run_child(inputs, first, last, true) == 0)
            continue;
        for (size_t i = first; i < last; i++) {
            int status = run_child(inputs, i, i + 1, false);
            if (status == 0)
                continue;
            print_failure(inputs, i, status);
            failed++;
        }
        if (failed == before) {
            printf("FAILED %s: inputs %zu to %zu fail only together\n", inputs->target->name, first,
                   last - 1);
            failed++;
        }
    }
    printf("%zu passed, %zu failed\n", count - failed, failed);
    return failed != 0;
}

/* A line for each GROUP of inputs: in this process, as inputs that pass are expected. */
static int print_figures(const struct inputs *inputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        run_input(inputs, i);
        if (i % GROUP == GROUP - 1 || i == count - 1) {
            printf("%s %zu: %016llx\n", inputs->target->name, i / GROUP * GROUP,
                   (unsigned long long)fuzz_figures);
            fuzz_figures = 0;
        }
    }
    return 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: fuzz-driver TARGET --random|--figures COUNT [SEED] | TARGET --one NUMBER "
            "[SEED] | TARGET FILE... | --list\n");
    return 2;
}

static int list_targets(void) {
    for (const struct fuzz_target *target = fuzz_targets; target->name; target++)
        printf("%s\n", target->name);
    return 0;
}

int main(int argc, char **argv) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* hundreds of writers: fresh pages need no zeroing */
#endif
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list_targets();
    struct inputs inputs = {.target = fuzz_find(argc > 2 ? argv[1] : NULL), .seed = 1};
    if (!inputs.target)
        return usage();
    bool one = strcmp(argv[2], "--one") == 0, figures = strcmp(argv[2], "--figures") == 0;
    if (!one && !figures && strcmp(argv[2], "--random") != 0) {
        inputs.files = argv + 2;
        return run_all(&inputs, (size_t)argc - 2);
    }
    if (argc < 4)
        return usage();
    size_t number = strtoull(argv[3], NULL, 10);
    inputs.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    if (figures)
        return print_figures(&inputs, number);
    if (!one)
        return run_all(&inputs, number);
    run_input(&inputs, number);
    return 0;
}
