/* Runs a program under Nsight Compute (ncu), which measures hardware counters of its kernels.
 *
 * ncu runs every measured kernel several times and restores memory in between. The program's
 * streams are its own: ncu's messages go to a log. ncu's clock control is off unless requested, so
 * nothing about the device is changed.
 */
#ifndef RIDGE_RECORD_NCU_RUN_H
#define RIDGE_RECORD_NCU_RUN_H

#include "base/status.h"
#include "base/text.h"

struct ncu_options {
    char *const *command; /* NULL ends it */
    const char *sections; /* names of ncu's sections, with commas between them; or NULL */
    const char *metrics;  /* names of metrics, with commas between them; or NULL */
    const char *kernels;  /* a regular expression for names of functions; NULL: all */
    unsigned launches;    /* of each kernel */
    bool base_clocks;     /* lock the clocks of the device while measuring */
    bool application;     /* run the whole program again instead of each kernel */
    const char *report;   /* file to write */
    const char *log;      /* file for ncu's messages */
};

/* In PATH, or where NVIDIA's installers put it. */
bool ncu_is_installed(void);

struct ncu_result {
    int exit_status;   /* of the program, as a shell shows it */
    char problem[400]; /* why ncu did not measure all kernels, in its words; "" */
};

/* Waits for the program. Fails with what ncu reported and what to do about it; with
 * STATUS_UNSUPPORTED where counters cannot be measured here. */
bool ncu_run(const struct ncu_options *options, struct ncu_result *result, struct status *status);

/* Turns ncu's messages into one sentence: what was refused, and what to do. `printed` is its log.
 */
void ncu_explain(struct text printed, struct status *status);

#endif
