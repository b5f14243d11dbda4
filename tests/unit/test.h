/* A test is a sentence about behavior and a body that checks it:
 *
 *   TEST(a_gap_is_owned_by_the_launching_thread) { CHECK(gap.cause == CAUSE_HOST); }
 *
 * Tests register themselves; tests/unit/main.c runs them all, or those whose names contain an
 * argument. A failed check is reported with its place and the test goes on; REQUIRE ends the test.
 */
#ifndef RIDGE_TESTS_UNIT_TEST_H
#define RIDGE_TESTS_UNIT_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void test_register(const char *name, const char *file, void (*run)(void));
/* Records a failed check. */
void test_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Marks the running test as skipped; return from it afterwards. */
void test_skip(const char *reason);
/* The running test. */
const char *test_name(void);
/* Path of a file among the shared fixtures, or NULL (and the test is skipped) when it is absent. */
const char *test_fixture(const char *name);
/* A fresh path in the build's temporary folder, removed when the test ends. */
const char *test_temporary(const char *suffix);

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void register_##name(void) {                               \
        test_register(#name, __FILE__, name);                                                      \
    }                                                                                              \
    static void name(void)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            test_failed(__FILE__, __LINE__, "%s", #condition);                                     \
    } while (0)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            test_failed(__FILE__, __LINE__, "%s", #condition);                                     \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define CHECK_INT(actual, expected)                                                                \
    do {                                                                                           \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected);                \
        if (actual_ != expected_)                                                                  \
            test_failed(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, actual_, expected_);  \
    } while (0)
#define CHECK_STRING(actual, expected)                                                             \
    do {                                                                                           \
        const char *actual_ = (actual), *expected_ = (expected);                                   \
        if (strcmp(actual_, expected_) != 0)                                                       \
            test_failed(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #actual, actual_,          \
                        expected_);                                                                \
    } while (0)
/* A status-returning call that must succeed. */
#define CHECK_OK(call, status)                                                                     \
    do {                                                                                           \
        if (!(call))                                                                               \
            test_failed(__FILE__, __LINE__, "%s: %s", #call, (status).message);                    \
    } while (0)

#endif
