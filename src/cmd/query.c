/* `ridge query`: runs one SQL statement over a trace and writes the rows. */
#include "base/array.h"
#include "cmd/command.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/table.h"
#include "cmd/interrupt.h"
#include "cmd/terminal.h"
#include "import/import.h"

static const struct command_option options[] = {
    {"format", 0, "text|md|json|csv", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "output file (default: standard output)"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop events with invalid times when importing"},
    {0},
};

#ifdef RIDGE_HAVE_SQLITE

#include <sqlite3.h>

#include "query/query.h"
#include "query/result.h"

static struct query *volatile running; /* the query that Ctrl-C interrupts */

static void interrupt(int signal_number) {
    struct query *query = running;
    (void)signal_number;
    if (query)
        query_interrupt(query);
}

static void catch_interrupts(struct query *query) {
    struct sigaction action = {.sa_handler = interrupt}, before;
    sigemptyset(&action.sa_mask);
    running = query;
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

static enum result_format chosen_format(const struct command_line *line) {
    static const char *const names[] = {"text", "md", "csv", "json"};
    const char *name = command_value(line, "format");
    if (command_flag(line, "json"))
        return RESULT_JSON;
    for (unsigned i = 0; name && i < ARRAY_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum result_format)i;
    return RESULT_TEXT;
}

static bool write_rows(const struct command_line *line, struct query *query,
                       struct sqlite3_stmt *statement, struct status *status) {
    const char *path = command_value(line, "output");
    struct output output;
    if (!output_open(&output, path, command_flag(line, "force"), status))
        return false;
    catch_interrupts(query);
    bool ok = result_write(query, statement, chosen_format(line), terminal_width(&output), &output,
                           status);
    running = NULL;
    struct status ignored;
    if (!ok && !output.path)
        output_flush(&output, &ignored); /* the rows before the failure */
    return output_close(&output, ok, status);
}

static bool execute_query(const struct command_line *line, struct trace *trace, const char *sql,
                          bool *interrupted, struct status *status) {
    struct query *query = NULL;
    struct sqlite3_stmt *statement = NULL;
    bool ok = query_open(trace, &query, status) && query_prepare(query, sql, &statement, status) &&
              write_rows(line, query, statement, status);
    *interrupted = !ok && query && query_interrupted(query);
    sqlite3_finalize(statement);
    query_close(query);
    return ok;
}

static int run_query(const struct command_line *line) {
    struct import_options import = {.skip_invalid = command_flag(line, "skip-invalid")};
    const char *const *arguments = command_arguments(line, NULL);
    struct status status = {0};
    struct trace *trace;
    bool interrupted = false;
    if (!import_open(arguments[0], &import, &trace, &status))
        return command_fail(line, &status);
    bool ok = execute_query(line, trace, arguments[1], &interrupted, &status);
    trace_close(trace);
    if (interrupted) {
        interrupt_arm();
        raise(SIGINT); /* so that the shell sees a program that was ended by the signal */
    }
    return ok ? 0 : command_fail(line, &status);
}

#else

static int run_query(const struct command_line *line) {
    struct status status;
    status_fail(&status, STATUS_UNSUPPORTED,
                "this build has no SQLite; install libsqlite3-dev and run make again");
    return command_fail(line, &status);
}

#endif

const struct command command_query = {
    .name = "query",
    .arguments = "TRACE SQL",
    .summary = "Run SQL over a trace",
    .details =
        "Runs one SELECT over the tables of a trace and prints the rows. The tables are read "
        "directly from the trace without a copy: activity (work on a device), call (API calls), "
        "range (operators and annotations) and so on. The views kernel, copy and launch join an "
        "activity "
        "with its device, its stream and the call that launched it. Times are integer nanoseconds; "
        "unknown values are NULL.\n\n"
        "'.tables' instead of SQL lists the tables with their sizes, '.schema' all columns and "
        "'.schema TABLE' those of one table. Ctrl-C stops a query that takes too long. A "
        "query can only read.",
    .examples =
        "ridge query t.ridge \"SELECT name, count(*), sum(duration) FROM kernel GROUP BY name "
        "ORDER BY 3 DESC LIMIT 10\"\tthe kernels that take the most time\n"
        "ridge query t.ridge \"SELECT direction, sum(bytes) FROM copy GROUP BY 1\"\tbytes moved in "
        "each direction\n"
        "ridge query t.ridge \"SELECT * FROM launch ORDER BY delay DESC LIMIT 5\"\tthe slowest "
        "launches\n"
        "ridge query t.ridge \".schema activity\"\tthe columns of a table",
    .options = options,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run_query,
};
