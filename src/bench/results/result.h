/* Measured results: one per case, findings about them, and a set of both as a file. */
#ifndef RIDGE_BENCH_RESULTS_RESULT_H
#define RIDGE_BENCH_RESULTS_RESULT_H

#include "bench/case.h"
#include "bench/measure.h"

enum { ROUNDS_MAX = 96 };

/* Work on the device in the traced calls, from the first one's start on. */
struct span {
    int64_t start, end;
    bool copy;
};

struct result {
    char experiment[24], device[32], label[56], variant[24];
    enum ridge_dtype dtype;
    int64_t size, batch, numbers[CASE_NUMBERS_MAX];
    bool compare, curve; /* as in struct bench_case */

    struct amount amount;
    struct limit limit;
    struct measurement time;          /* wall time of a call, in batches */
    double round_medians[ROUNDS_MAX]; /* when it was measured in rounds, minutes apart */
    double round_fastest[ROUNDS_MAX], round_pace[ROUNDS_MAX],
        round_width[ROUNDS_MAX];        /* of struct measurement; of no width: 0 */
    double round_disturbed[ROUNDS_MAX]; /* share of CPU time taken by other programs */
    unsigned round_count;
    double device_ns; /* device busy time of a call, by its own clock; 0: unknown */
    double kernels;   /* of a call, as traced */
    bool checked;
    bool wrong;        /* the output was wrong; see `problem` */
    double error;      /* of the output, see struct case_kind */
    char problem[200]; /* why it has no figures; "" when it has */
    char notes[200];   /* "noisy", "throttled: power" ...; or "" */

    bool has_peer;
    struct measurement peer;

    struct span *spans; /* of the traced calls, if requested; not stored */
    size_t span_count;
};

/* A finding about the results of an experiment on a device. */
struct result_finding {
    char experiment[24], device[32];
    char key[40]; /* "speedup", "best_block", "verdict" */
    double value; /* NaN: the text is all there is */
    char *text;   /* a sentence */
};

struct result_set {
    struct result *results;
    size_t count, capacity;
    struct result_finding *findings;
    size_t finding_count, finding_capacity;
    struct roofs *roofs; /* of each device */
    size_t roofs_count, roofs_capacity;
    char ridge[24];     /* the version that measured them; "": this one */
    char machine[128];  /* host's processor, system */
    char peer[128];     /* "" when there was none */
    int64_t started_at; /* seconds of Unix time */
    double *reference;  /* times of a reference loop between the cases: the speed of the machine */
    size_t reference_count, reference_capacity;
};

/* Appends a copy, which owns the spans from then on. Results move when the next is added: keep
 * their numbers, not their addresses. NULL on failure. */
struct result *result_add(struct result_set *set, const struct result *result,
                          struct status *status);
bool finding_add(struct result_set *set, const char *experiment, const char *device,
                 const char *key, double value, struct status *status, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* The result of that experiment, device, label and variant, or NULL. */
const struct result *result_find(const struct result_set *set, const struct result *like);
void result_set_finish(struct result_set *set);

/* One JSON document, docs/bench-json.md; result_set_read() reads it back, into an empty set, which
 * stays empty when it fails. */
void result_set_write(const struct result_set *set, struct output *output);
bool result_set_read(struct result_set *set, const char *path, struct status *status);

#endif
