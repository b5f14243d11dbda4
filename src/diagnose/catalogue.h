/* The catalogue of remedies: what an expert recognizes in a run, and what to write instead.
 *
 * The rows are in catalogue_rows.c; catalogue.c recognizes them and adds their fixes to findings.
 */
#ifndef RIDGE_DIAGNOSE_CATALOGUE_H
#define RIDGE_DIAGNOSE_CATALOGUE_H

#include "diagnose/facts.h"

/* What a clause is about, and what its minimum counts. */
enum catalogue_where {
    CATALOGUE_NONE,
    CATALOGUE_KERNELS,   /* names of kernels: share of the kernel time */
    CATALOGUE_LAUNCHES,  /* names of kernels: share of the number of kernels */
    CATALOGUE_OPERATORS, /* names of ranges: share of the judged time */
    CATALOGUE_CALLS,     /* names of API calls: number in each step */
    CATALOGUE_CALLERS,   /* files, functions and lines of stacks: their API calls in each step */
    CATALOGUE_CODE,      /* files, functions and lines of stacks: share of the calls, of the device
                            time that they launch or of the samples of their threads, whichever is
                            largest */
};

struct clause {
    enum catalogue_where where;
    const char *words; /* parts of names: "nchwToNhwc|nhwcToNchw"; "a&b": both in one name */
    double min;
};

enum { CATALOGUE_CLAUSES = 3 };

struct pattern {
    enum framework framework; /* FRAMEWORK_CUDA: any */
    struct clause all[CATALOGUE_CLAUSES];
    const char *unless;        /* parts of names of kernels and ranges that rule it out */
    const char *unless_code;   /* the same of files, functions and lines */
    bool reads;                /* only where data is copied to the host */
    bool eager;                /* not where compiled functions launch several kernels each */
    uint64_t belongs;          /* findings whose fix it is, a bit each */
    enum finding_kind if_none; /* the finding to add if there is none of them; or 0 */
    enum effort effort;
    /* The gain as a multiple of the time of what the first clause names, launching included, as
     * measured for programs that were fixed; 0: not known, no gain is predicted. */
    double saves;
    bool chain;        /* what it names becomes one kernel in each step, which remains */
    const char *what;  /* of what the kernel time is in, or NULL: adds no finding */
    const char *words; /* the fix, an imperative sentence without its full stop */
    const char *where; /* the versions that have it, and where it does not apply; or NULL */
};

extern const struct pattern catalogue_rows[];
extern const size_t catalogue_row_count;
enum { CATALOGUE_ROWS_MAX = 192 };

#endif
