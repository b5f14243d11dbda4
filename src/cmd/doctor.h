/* The facts and findings of `ridge doctor`.
 *
 * Facts are gathered once. Every check is a function from facts to a finding, so that a test can
 * check the output for any machine.
 */
#ifndef RIDGE_CMD_DOCTOR_H
#define RIDGE_CMD_DOCTOR_H

#include <stdbool.h>

enum { FACT_TEXT = 512, FINDING_TEXT = 700 };

/* Something that is present (`version` may identify it) or missing (`problem` is the reason and the
 * remedy). */
struct fact {
    bool there;
    char version[FACT_TEXT], problem[FACT_TEXT];
};

struct doctor_facts {
    bool is_linux, is_macos;
    bool is_administrator;
    char other_injection[FACT_TEXT]; /* $CUDA_INJECTION64_PATH of another tool, or "" */
    struct fact probe;               /* libridge-probe.so */
    struct fact cuda;                /* its GPUs */
    char cuda_driver[FACT_TEXT], opencl_driver[FACT_TEXT];
    struct fact cupti;
    char cupti_path[FACT_TEXT];  /* of the library that was found */
    int gpu_counters_restricted; /* to administrators: 1, 0, or -1 when unknown */
    struct fact sampling, hardware_counters;
    int paranoid;        /* perf_event_paranoid; PARANOID_UNKNOWN */
    bool kernel_symbols; /* /proc/kallsyms shows addresses */
    struct fact python;
    unsigned python_major, python_minor;
    bool reads_memory; /* of its children */
    struct fact opencl, vulkan;
    struct fact opencl_layers;                /* the ICD loader loads the probe as a layer */
    struct fact ncu, nsys, xctrace;           /* other tools, by their path */
    struct fact instruments;                  /* xctrace runs: Xcode is there */
    int developer_mode, integrity_protection; /* of macOS: 1, 0, or -1 when unknown */
    bool reads_sqlite, reads_xml;             /* in this build */
};
enum { PARANOID_UNKNOWN = -1000 };

void doctor_gather(struct doctor_facts *facts);

/* Runs `gather` in a child process, because vendor libraries may crash or hang when they are
 * loaded. The facts that it wrote are kept. False when it failed: `failure` is the predicate of a
 * sentence about the library. */
typedef void doctor_gatherer(struct doctor_facts *facts);
bool doctor_gather_in_child(doctor_gatherer *gather, struct doctor_facts *facts,
                            char failure[FACT_TEXT]);

struct doctor_finding {
    const char *name;
    bool can;                /* it can be recorded (or read) here */
    bool records;            /* it is a backend of `ridge record` by itself */
    char found[FACT_TEXT];   /* versions, devices, paths */
    char step[FINDING_TEXT]; /* what is missing and how to fix it, or "" */
};

typedef void doctor_check(const struct doctor_facts *facts, struct doctor_finding *finding);
struct doctor_row {
    const char *name;
    bool records;
    doctor_check *check;
};
/* In doctor_xctrace.c: facts->xctrace is known. */
void doctor_gather_xctrace(struct doctor_facts *facts);
doctor_check doctor_check_metal;
extern const struct doctor_row doctor_rows[]; /* terminated by a row without a name */
void doctor_examine(const struct doctor_facts *facts, const struct doctor_row *row,
                    struct doctor_finding *finding);

#endif
