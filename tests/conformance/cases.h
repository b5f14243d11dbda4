/* Test cases: running, counting and printing.
 *
 *   if (case_begin("sum f32 [3, 4] axis %d", axis)) {
 *       ...ridge calls, case_fail() where something is wrong...
 *       case_end();
 *   }
 *
 * Everything created in a case is freed with it: its tensors (a scope), its memory
 * (case_memory()). A case that leaves device memory in use fails.
 */
#ifndef RIDGE_TESTS_CONFORMANCE_CASES_H
#define RIDGE_TESTS_CONFORMANCE_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ridge.h>

struct session {
    ridge_device *device;
    char name[32];      /* of the device, as it calls itself */
    const char *filter; /* only cases whose name contains this; NULL: all */
    bool quick;         /* a subset of the cases, with as few kernels as useful */
    bool native;        /* the device is the CPU: kernels need no compilation */
    unsigned passed, failed, skipped;
};
extern struct session session;

/* False if the filter excludes the case. */
bool case_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints only the first few failures of a case. */
void case_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Names the part of the case that is checked next. */
void case_about(const char *part);
void case_end(void);
/* Instead of case_end(). */
void case_skip(const char *reason);

/* Zeroed, and freed when the case ends; exits when out of memory. */
void *case_memory(size_t count, size_t size);

#define CASE_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            case_fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition);                        \
    } while (0)

/* A number that depends only on its arguments. */
uint64_t noise_bits(uint64_t seed, uint64_t index);
/* Uniform in [low, high). */
double noise_between(uint64_t seed, uint64_t index, double low, double high);

/* The parts of the program, each in a file of the same name. */
void check_elementwise(void);
void check_special_values(void);
void check_casts(void);
void check_creation(void);
void check_views(void);
void check_joining(void);
void check_reductions(void);
void check_norms(void);
void check_matmul(void);
void check_layers(void);
void check_quantized(void);
void check_models(void);
void check_attention(void);
void check_indices(void);
void check_convolutions(void);
void check_decoding(void);
void check_custom(void);
void check_compiled(void);
void check_random_graphs(void);
void check_misuse(void);
void check_misuse_of_handles(void); /* a part of the above */
void check_large(void);
void check_failing_memory(void);
void check_gradients(void);
void check_training(void);

#endif
