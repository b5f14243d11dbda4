/* ridge record: what does a program do, on the processors and on the GPU? */
#include <limits.h>

#include "cmd/record_arguments.h"

static int run(const struct command_line *line) {
    static struct record_summary summary;
    int exit_status;
    if (!record_run(line, &summary, &exit_status))
        return exit_status;
    target_end_alike(&summary.target);
}

const struct command command_record = {
    .name = "record",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Record a program, unmodified, with all that it starts",
    .details =
        "Runs the command as it would run alone (its streams, signals and exit status are its own) "
        "and records it and its children: CUDA kernels, copies, calls and synchronisations, NVTX "
        "ranges, samples of all threads' stacks, when each ran or waited, memory, and the GPU's "
        "clocks, power and temperature. Ctrl-C ends the program as ever, and still gives a whole "
        "trace.\n\n"
        "At the end three lines on standard error say what was recorded, what is missing and what "
        "recording cost. 'ridge doctor' tells what can be recorded here.",
    .examples =
        "ridge record -- python train.py\tto python-PID.ridge\n"
        "ridge record -o run.ridge --delay 10 --duration 5 -- ./server\tfive seconds of it\n"
        "ridge record --ring 200M -- ./server\tthe last moments before it ends\n"
        "ridge record --capture-range nvtx:step -- python train.py\tonly these ranges\n"
        "mpirun -n 8 ridge record -o run-%h-%r.ridge -- ./solver\teach rank's own\n"
        "ridge report run.ridge\twhere the time went",
    .options = record_arguments,
    .arguments_min = 1,
    .arguments_max = UINT_MAX,
    .run = run,
    .runs_program = true,
};
