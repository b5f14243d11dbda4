/* Runs the unit tests and prints `N passed, N failed[, N skipped]`.
 *
 *   unit [--shard I/N] [WORD...]   every Nth test from the Ith on; tests whose names contain a WORD
 *
 * TIMES=1 prints the processor time of each test that takes 0.1 s or more, with that of its
 * children.
 */
#include "test.h"

#include <dirent.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

struct test {
    const char *name, *file;
    void (*run)(void);
};

static struct test tests[4096];
static size_t test_count;
static bool current_failed;
static const char *current_skip, *current_name;
static char temporary[256][512];
static size_t temporary_count;

void test_register(const char *name, const char *file, void (*run)(void)) {
    if (test_count == ARRAY_COUNT(tests))
        abort();
    tests[test_count++] = (struct test){name, file, run};
}

void test_failed(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    current_failed = true;
}

void test_skip(const char *reason) {
    current_skip = reason;
}

const char *test_name(void) {
    return current_name;
}

const char *test_fixture(const char *name) {
    static char path[4][1024];
    static unsigned next;
    const char *folder = getenv("RIDGE_FIXTURES");
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder ? folder : "../shared/fixtures", name);
    if (access(p, R_OK) != 0) {
        test_skip("the shared fixtures are not here");
        return NULL;
    }
    return p;
}

const char *test_temporary(const char *suffix) {
    static unsigned serial;
    const char *folder = getenv("TMPDIR");
    if (temporary_count == ARRAY_COUNT(temporary))
        abort();
    char *p = temporary[temporary_count++];
    snprintf(p, sizeof temporary[0], "%s/ridge-test-%ld-%u%s", folder ? folder : "/tmp",
             (long)getpid(), serial++, suffix);
    return p;
}

static double processor_seconds(void) {
    double seconds = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(i == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage);
        seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    return seconds;
}

static void run_test(const struct test *test) {
    double before = processor_seconds();
    current_failed = false;
    current_skip = NULL;
    current_name = test->name;
    test->run();
    while (temporary_count > 0)
        unlink(temporary[--temporary_count]);
    double seconds = processor_seconds() - before;
    if (seconds >= 0.1 && getenv("TIMES"))
        printf("%.1f s of processor time: %s\n", seconds, test->name);
}

/* Without words, every test. */
static bool is_wanted(const char *name, int count, char **words) {
    bool wanted = count == 0;
    for (int i = 0; i < count && !wanted; i++)
        wanted = strstr(name, words[i]) != NULL;
    return wanted;
}

int main(int argc, char **argv) {
    size_t passed = 0, failed = 0, skipped = 0, shard = 1, shards = 1;
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* hundreds of writers: fresh pages need no zeroing */
#endif
    if (argc > 2 && strcmp(argv[1], "--shard") == 0) {
        if (sscanf(argv[2], "%zu/%zu", &shard, &shards) != 2 || shard < 1 || shard > shards) {
            fprintf(stderr, "unit: --shard takes I/N, such as 1/4\n");
            return 2;
        }
        argv += 2;
        argc -= 2;
    }
    for (size_t i = shard - 1; i < test_count; i += shards) {
        if (!is_wanted(tests[i].name, argc - 1, argv + 1))
            continue;
        run_test(&tests[i]);
        if (current_failed) {
            fprintf(stderr, "FAILED %s (%s)\n", tests[i].name, tests[i].file);
            failed++;
        } else if (current_skip) {
            printf("skipped %s: %s\n", tests[i].name, current_skip);
            skipped++;
        } else {
            passed++;
        }
    }
    printf("%zu passed, %zu failed", passed, failed);
    if (skipped)
        printf(", %zu skipped", skipped);
    printf("\n");
    return failed != 0;
}
