/* The options that `ridge record` and `ridge run` share, and what both say when the program has
 * ended.
 */
#ifndef RIDGE_CMD_RECORD_H
#define RIDGE_CMD_RECORD_H

#include "cmd/command.h"
#include "record/record.h"

/* A command that records puts these among its own options. */
/* clang-format off */
#define RECORD_ARGUMENTS \
    {"output", 'o', "FILE", "the trace (PROGRAM-%p.ridge); %p process, %h host, %r rank"}, \
    {"force", 'f', NULL, "replace FILE if it exists"}, \
    {"backend", 0, "auto|cuda|cpu", "all that there is (default), only CUDA, only processors"}, \
    {"delay", 0, "SECONDS", "begin so long after the program"}, \
    {"duration", 0, "SECONDS", "stop after so long; the program goes on"}, \
    {"capture-range", 0, "RANGE", "only inside cudaProfilerApi or nvtx:NAME"}, \
    {"max-size", 0, "BYTES", "stop recording when the trace has so many (500M, 2G)"}, \
    {"ring", 0, "BYTES", "keep the last so many instead of all"}, \
    {"sample-rate", 0, "HZ", "samples a second of each running thread (999)"}, \
    {"no-sampling", 0, NULL, "do not sample the processors"}, \
    {"stacks", 0, "dwarf|fp", "find callers by the tables for exceptions (default) or frame pointers"}, \
    {"graph", 0, "node|graph", "CUDA graphs node by node, or each launch as a whole (default)"}, \
    {"env", 0, "NAME=VALUE", "set a variable for the program; may be repeated"}, \
    {"store-env", 0, NULL, "store the values of the environment in the trace"}, \
    {"quiet", 'q', NULL, "say nothing about the recording"}
/* clang-format on */

/* Records as the command line says and prints the three lines. True when the program ran: then end
 * with target_end_alike(&summary->target). Else *exit_status is ridge's own, and all is said. */
bool record_run(const struct command_line *line, struct record_summary *summary, int *exit_status);

#endif
