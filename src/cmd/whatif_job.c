/* ridge whatif of a distributed job: the replay of all ranks with a change. */
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json_write.h"
#include "base/output.h"
#include "cmd/ranks.h"
#include "ranks/replay.h"

static const char *const job_options[] = {"no-straggler", "comm", "overlap-comm", "link", NULL};

bool whatif_is_of_job(const struct command_line *line) {
    for (const char *const *option = job_options; *option; option++)
        if (command_value(line, *option))
            return true;
    return false;
}

/* "2x" or "1.5". */
static bool read_factor(const char *given, double *factor, struct status *status) {
    char *end = NULL;
    *factor = given ? strtod(given, &end) : 0;
    if (given &&
        (end == given || (*end && strcmp(end, "x") != 0) || !(*factor >= 1e-3 && *factor <= 1e6)))
        return status_fail(status, STATUS_USAGE,
                           "--comm takes how many times as fast: 2x; not \"%s\"", given);
    return true;
}

/* "400G": bits per second, as links are sold. */
static bool read_link(const char *given, double *bytes, struct status *status) {
    char *end = NULL;
    double number = given ? strtod(given, &end) : 0, unit = 1;
    if (given && strcmp(end, "T") == 0)
        unit = 1e12;
    else if (given && strcmp(end, "G") == 0)
        unit = 1e9;
    else if (given && strcmp(end, "M") == 0)
        unit = 1e6;
    else if (given && *end)
        number = 0;
    if (given && !(number > 0 && number < 1e15))
        return status_fail(status, STATUS_USAGE,
                           "--link takes bits per second of each rank: 400G; not \"%s\"", given);
    *bytes = number * unit / 8;
    return true;
}

/* Without a number, the rank that the report names. */
static bool find_straggler(const struct job *job, const char *given, size_t *rank,
                           struct status *status) {
    int64_t number;
    *rank = SIZE_MAX;
    if (!given)
        return true;
    if (*given && !text_to_i64(text_of(given), &number))
        return status_fail(status, STATUS_USAGE,
                           "--no-straggler takes the number of a rank, not \"%s\"", given);
    if (!*given) {
        *rank = job_straggler(job);
        return *rank != SIZE_MAX ||
               status_fail(status, STATUS_USAGE,
                           "no rank delays the job by 2 %% or more; name one: --no-straggler=0");
    }
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].number == number)
            *rank = r;
    return *rank != SIZE_MAX ||
           status_fail(status, STATUS_USAGE, "there is no rank %s in this job", given);
}

static void describe(const struct job *job, const struct job_change *change, struct buffer *line) {
    char text[FORMAT_SIZE];
    if (change->without_straggler != SIZE_MAX)
        buffer_printf(line, "%srank %lld as fast as the median of the others",
                      line->length ? ", " : "",
                      (long long)job->ranks[change->without_straggler].number);
    if (change->faster > 0)
        buffer_printf(line, "%stransfers %s as fast", line->length ? ", " : "",
                      format_ratio(change->faster, text));
    if (change->link > 0)
        buffer_printf(line, "%stransfers at %s", line->length ? ", " : "",
                      format_rate(change->link, text));
    if (change->overlapped)
        buffer_printf(line, "%scommunication overlapped inside each step",
                      line->length ? ", " : "");
}

static bool print(const struct job *job, const struct job_change *change, int64_t length,
                  bool as_json, struct output *output, struct status *status) {
    char before[FORMAT_SIZE], after[FORMAT_SIZE], ratio[FORMAT_SIZE];
    struct buffer line = {0};
    describe(job, change, &line);
    if (as_json) {
        struct json json = {.output = output, .pretty = true};
        json_begin_object(&json);
        json_member_text(&json, "change", buffer_as_text(&line));
        json_member_integer(&json, "before_ns", job->replayed);
        json_member_integer(&json, "after_ns", length);
        json_end_object(&json);
    } else {
        output_printf(
            output, "%s -> %s, %s: %.*s\n", format_duration(job->replayed, before),
            format_duration(length, after),
            format_ratio((double)job->replayed / (double)(length > 0 ? length : 1), ratio),
            TEXT_ARGS(buffer_as_text(&line)));
        if (change->link > 0)
            output_printf(output, "Transfers without a known size keep their time; latency is not "
                                  "modeled.\n");
        if (change->overlapped)
            output_printf(output, "At best: nothing in a step waits for a collective before the "
                                  "step's last.\n");
    }
    bool ok = buffer_ok(&line, status);
    buffer_finish(&line);
    return ok;
}

static bool predict(const struct command_line *line, struct job *job, struct output *output,
                    struct status *status) {
    unsigned count;
    const char *const *arguments = command_arguments(line, &count);
    const char *format = command_value(line, "format");
    struct job_change change = {.without_straggler = SIZE_MAX,
                                .overlapped = command_flag(line, "overlap-comm")};
    int64_t length = 0;
    bool possible = false;
    if (!read_factor(command_value(line, "comm"), &change.faster, status) ||
        !read_link(command_value(line, "link"), &change.link, status) ||
        !ranks_read(arguments, count, command_flag(line, "skip-invalid"), job, status) ||
        !find_straggler(job, command_value(line, "no-straggler"), &change.without_straggler,
                        status))
        return false;
    if (change.faster > 0 && change.link > 0)
        return status_fail(status, STATUS_USAGE,
                           "--comm and --link both change the transfers: "
                           "give one of them");
    if (job->replayed < 0)
        return status_fail(status, STATUS_INPUT,
                           "the ranks cannot be replayed: they share fewer than two collectives, "
                           "or their clocks are not aligned; 'ridge ranks' has the details");
    if (!job_replay(job, &change, &length, &possible, status))
        return false;
    if (!possible)
        return status_fail(status, STATUS_INPUT, "the ranks cannot be replayed with this change");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    return print(job, &change, length, as_json, output, status);
}

int whatif_job(const struct command_line *line) {
    struct status status = {0};
    struct output output;
    struct job job = {0};
    if (!output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = predict(line, &job, &output, &status);
    job_finish(&job);
    return output_close(&output, ok, &status) ? 0 : command_fail(line, &status);
}
