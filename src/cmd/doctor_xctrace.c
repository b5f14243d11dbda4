/* Can xctrace record here? It needs Xcode, its license, and the permission to debug; a program
 * under System Integrity Protection cannot be recorded at all. Each is asked for in the way that
 * its own tool answers. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* strcasestr() */
#endif
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/doctor.h"
#include "record/xctrace_record.h"

enum { PRINTED_SIZE = 4096 };

/* The exit status and what the command prints, or -1. */
static int ask(const char *command, char printed[PRINTED_SIZE]) {
    FILE *output = popen(command, "r");
    size_t length = output ? fread(printed, 1, PRINTED_SIZE - 1, output) : 0;
    printed[length] = 0;
    int result = output ? pclose(output) : -1;
    return result >= 0 && WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

/* 1, 0, or -1 when the answer is neither. */
static int is_enabled(const char *command) {
    char printed[PRINTED_SIZE];
    if (ask(command, printed) != 0)
        return -1;
    return strcasestr(printed, "enabled") ? 1 : strcasestr(printed, "disabled") ? 0 : -1;
}

void doctor_gather_xctrace(struct doctor_facts *facts) {
    char printed[PRINTED_SIZE];
    facts->developer_mode = facts->integrity_protection = -1;
    if (!facts->xctrace.there)
        return;
    int result = ask("xctrace version 2>&1", printed);
    if (result == 0) {
        facts->instruments.there = true;
        snprintf(facts->instruments.version, FACT_TEXT, "%.*s", (int)strcspn(printed, "\r\n"),
                 printed);
    } else {
        struct status why = {0};
        xctrace_explain(printed, "xctrace", result, &why);
        snprintf(facts->instruments.problem, FACT_TEXT, "%.*s", FACT_TEXT - 1, why.message);
    }
    if (facts->is_macos) {
        facts->developer_mode = is_enabled("DevToolsSecurity -status 2>&1");
        facts->integrity_protection = is_enabled("csrutil status 2>&1");
    }
}

/* Where xctrace does not run, the probe records. */
static void check_without_xctrace(const struct doctor_facts *facts,
                                  struct doctor_finding *finding) {
    const char *problem = facts->xctrace.there
                              ? facts->instruments.problem
                              : "xctrace was not found: install Xcode from the App Store (the "
                                "command line tools do not include it)";
    finding->can = facts->is_macos && facts->probe.there;
    if (finding->can)
        snprintf(finding->found, sizeof finding->found, "by the probe, without CPU samples; %.*s",
                 FACT_TEXT - 64, problem);
    else
        snprintf(finding->step, sizeof finding->step, "%s", problem);
}

void doctor_check_metal(const struct doctor_facts *facts, struct doctor_finding *finding) {
    finding->can = false;
    if (!facts->is_macos && !facts->xctrace.there)
        snprintf(finding->step, sizeof finding->step, "%s",
                 "only on macOS; ridge imports exports of xctrace");
    else if (!facts->instruments.there)
        check_without_xctrace(facts, finding);
    else if (facts->developer_mode == 0)
        snprintf(finding->step, sizeof finding->step,
                 "developer mode is off: run sudo DevToolsSecurity -enable");
    else {
        finding->can = true;
        snprintf(finding->found, sizeof finding->found, "%.200s%s%s", facts->instruments.version,
                 facts->is_macos ? "" : ", with --backend xctrace",
                 facts->integrity_protection == 1
                     ? "; not programs under System Integrity Protection, such as /usr/bin/python3"
                     : "");
    }
}
