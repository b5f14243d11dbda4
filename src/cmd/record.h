/* What `ridge record` and `ridge run` share: the options, recording and the summary. */
#ifndef RIDGE_CMD_RECORD_H
#define RIDGE_CMD_RECORD_H

#include "cmd/command.h"
#include "record/record.h"

/* To be included in the options of a command that records. */
/* clang-format off */
#define RECORD_ARGUMENTS \
    {"output", 'o', "FILE", "the trace (default: PROGRAM-%p.ridge); %p pid, %h host, %r rank"}, \
    {"force", 'f', NULL, "replace FILE if it exists"}, \
    {"backend", 0, "auto|cuda|opencl|vulkan|metal|rocm|xctrace|cpu", "all sources (default; on macOS xctrace, with an AMD GPU rocprofv3), or only one"}, \
    {"delay", 0, "SECONDS", "start recording after SECONDS"}, \
    {"duration", 0, "SECONDS", "stop recording after SECONDS; the program continues"}, \
    {"capture-range", 0, "RANGE", "record only inside cudaProfilerApi or nvtx:NAME"}, \
    {"max-size", 0, "BYTES", "stop recording when the trace has BYTES (500M, 2G)"}, \
    {"ring", 0, "BYTES", "keep only the last BYTES of the trace"}, \
    {"sample-rate", 0, "HZ", "samples per second of each running thread (999)"}, \
    {"no-sampling", 0, NULL, "do not sample the CPU"}, \
    {"stacks", 0, "dwarf|fp", "unwind with DWARF CFI (default) or frame pointers"}, \
    {"memory", 0, NULL, "sample the heap: which functions allocate, and what is never freed"}, \
    {"graph", 0, "node|graph", "record each node of CUDA graphs, or each launch (default)"}, \
    {"python-lines", 0, "off|waits|all", "lines (Python or native) of no call, all but launches, or all (default)"}, \
    {"vulkan", 0, "group|dispatch", "time groups of Vulkan commands (default), or each one"}, \
    {"ranks", 0, "LIST", "record only these ranks of a job: 0,4-7, one-per-host or all"}, \
    {"env", 0, "NAME=VALUE", "set an environment variable of the program; repeatable"}, \
    {"keep", 0, NULL, "keep the .trace bundle of xctrace beside the trace"}, \
    {"store-env", 0, NULL, "store the environment in the trace"}, \
    {"quiet", 'q', NULL, "do not print the summary"}
/* clang-format on */

/* Records the program of the command line and prints the summary. True when the program ran: then
 * call target_exit_alike(&summary->target). Otherwise the error has been printed and *exit_status
 * is ridge's own. */
bool record_run(const struct command_line *line, struct record_summary *summary, int *exit_status);

/* Reports on a trace that was just recorded: text, and the page beside it unless --no-page. */
void run_report(const struct command_line *line, const char *trace);

/* Records with xctrace and imports its bundle; fails as record_program() does. */
bool record_run_xctrace(const struct command_line *line, const struct record_options *options,
                        struct record_summary *summary, struct status *status);
/* Whether this recording is one for xctrace: --backend xctrace, or a Mac where it works. */
bool record_uses_xctrace(const struct record_options *options);

/* The same with rocprofv3: --backend rocm, or a machine with an AMD GPU where it is installed. */
bool record_run_rocprof(const struct command_line *line, const struct record_options *options,
                        struct record_summary *summary, struct status *status);
bool record_uses_rocprof(const struct record_options *options);

#endif
