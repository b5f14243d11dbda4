/* Ten times a second: the spool, the samples, memory and the GPUs' health become rows, and the rows
 * leave for the file, so that what a killed recorder loses is less than 200 ms old.
 *
 * Nothing that goes wrong here may stop the program that is recorded, or hold it up: the first
 * failure is kept for the summary, and draining goes on so that the spool does not fill the disk.
 */
#include "record/drain.h"

#include <string.h>

#include "base/clock.h"
#include "base/format.h"

enum {
    POLL_INTERVAL_MS = 100,
    GPU_TURNS = 2,  /* the GPUs are looked at every other turn */
    LATE_MS = 1000, /* how long after --duration records may come of what began before */
    RING_SLACK =
        1 << 20, /* bytes that a ring may always be too long by, so that it is cut rarely */
};

/* Of all that goes wrong the first is told. */
static void keep_first_error(struct recording *recording) {
    if (recording->trouble.code == STATUS_OK)
        recording->trouble = recording->latest;
}

static struct text base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return text_of(slash ? slash + 1 : path);
}

void drain_start(struct recording *recording, int64_t started) {
    const struct record_options *options = recording->options;
    recording->from = started + (int64_t)(options->delay * 1e9);
    recording->until =
        options->duration > 0 ? recording->from + (int64_t)(options->duration * 1e9) : INT64_MAX;
    recording->waiting = options->delay > 0;
    recording->rows.from = recording->waiting ? recording->from : INT64_MIN;
    recording->rows.until = recording->until;
    if (recording->perf && (recording->waiting || options->duration > 0))
        perf_window(recording->perf, recording->from, recording->until);
    if (recording->perf && options->capture_range)
        perf_capture(recording->perf, &recording->rows.captures);
    /* the program itself has a row however short it is */
    processes_row(&recording->processes, recording->summary->target.pid,
                  base_name(options->command[0]));
    trace_writer_flush(recording->writer);
}

unsigned drain_pause(const struct recording *recording) {
    int64_t now = clock_now(), next = recording->next_turn;
    if (recording->perf && now + PERF_PAUSE_MS * (int64_t)1000000 < next)
        next = now + PERF_PAUSE_MS * (int64_t)1000000;
    if (recording->waiting && recording->from < next)
        next = recording->from;
    if (!recording->over && recording->until < next)
        next = recording->until;
    return next > now ? (unsigned)((next - now) / 1000000 + 1) : 1;
}

/* ---- Sources ------------------------------------------------------------------------------ */

static uint64_t dropped_in_processes(const struct recording *recording) {
    uint64_t dropped = 0;
    for (unsigned i = 0; i < spool_reader_processes(recording->reader); i++)
        dropped += spool_reader_process(recording->reader, i)->dropped;
    return dropped;
}

/* The probes are told to stop; those of programs that start later find no folder. */
static void close_reader(struct recording *recording) {
    if (!recording->reader)
        return;
    uint64_t dropped = dropped_in_processes(recording) + spool_reader_damaged(recording->reader);
    trace_writer_dropped(recording->writer, dropped);
    recording->summary->lost += dropped;
    spool_reader_close(recording->reader);
    recording->reader = NULL;
    recording->rows.places.reader = NULL;
    spool_folder_remove(recording->folder);
}

static void drain_spool(struct recording *recording) {
    const struct target *target = &recording->summary->target;
    if (!recording->reader)
        return;
    spool_rows_look(&recording->rows, target->pid, target->ended ? target->ended_at : 0,
                    clock_now());
    if (spool_reader_drain(recording->reader, spool_rows_take, &recording->rows,
                           &recording->latest)) {
        spool_rows_close_ended(&recording->rows);
        return;
    }
    keep_first_error(recording);
    close_reader(recording);
}

static void close_perf(struct recording *recording) {
    if (!recording->perf)
        return;
    if (!perf_finish(recording->perf, recording->writer, &recording->latest))
        keep_first_error(recording);
    recording->summary->samples = perf_samples(recording->perf);
    recording->summary->python = perf_python(recording->perf);
    recording->summary->processes = perf_processes(recording->perf);
    recording->summary->lost += perf_lost(recording->perf);
    for (unsigned i = 0; i < PERF_NOTES && perf_note(recording->perf, i); i++)
        record_note(recording->summary, "%s", perf_note(recording->perf, i));
    if (!perf_list_processes(recording->perf, &recording->sampled, &recording->latest))
        keep_first_error(recording);
    perf_close(recording->perf);
    recording->perf = NULL;
}

static void drain_perf(struct recording *recording) {
    if (!recording->perf || perf_drain(recording->perf, recording->writer, &recording->latest))
        return;
    keep_first_error(recording);
    close_perf(recording);
}

static void watch(struct recording *recording) {
    if (recording->over)
        return;
    if (!processes_watch(&recording->processes, clock_now(), &recording->latest))
        keep_first_error(recording);
    if (recording->turns % GPU_TURNS == 0)
        gpus_watch(&recording->gpus, recording->writer);
}

/* ---- Limits ------------------------------------------------------------------------------- */

static void trim(struct recording *recording, uint64_t keep, uint64_t *rows) {
    recording->trimmed = true;
    if (!record_file_trim(&recording->file, keep, rows, &recording->latest))
        keep_first_error(recording);
}

/* What was drained until here was before --delay was over: only what the rest refers to stays. */
static void drop_early(struct recording *recording) {
    uint64_t early = 0;
    trim(recording, 0, &early);
}

static void keep_ring(struct recording *recording) {
    uint64_t ring = recording->options->ring_bytes;
    uint64_t slack = ring / 2 > RING_SLACK ? ring / 2 : RING_SLACK;
    if (ring && !recording->over && record_file_bytes(&recording->file) > ring + slack)
        trim(recording, ring, &recording->trimmed_rows);
}

/* What the spool still holds may have begun in time. */
static void stop_sampling(struct recording *recording) {
    recording->over = true;
    close_perf(recording);
}

static void stop_full(struct recording *recording) {
    char size[FORMAT_SIZE];
    stop_sampling(recording);
    recording->rows.stopped = true;
    record_note(recording->summary, "recording stopped when the file had %s (--max-size)",
                format_bytes(record_file_bytes(&recording->file), size));
    close_reader(recording);
}

static void check_limits(struct recording *recording) {
    uint64_t most = recording->options->max_bytes;
    int64_t now = clock_now();
    if (recording->waiting && now >= recording->from) {
        recording->waiting = false;
        drop_early(recording);
    }
    keep_ring(recording);
    if (!recording->over && now >= recording->until)
        stop_sampling(recording);
    else if (!recording->over && most && record_file_bytes(&recording->file) >= most)
        stop_full(recording);
    if (recording->over && recording->until < now - LATE_MS * (int64_t)1000000)
        close_reader(recording);
}

/* With --capture-range the spool says which samples are wanted. */
static void drain_samples(struct recording *recording) {
    if (recording->options->capture_range)
        drain_spool(recording);
    drain_perf(recording);
}

static void turn(struct recording *recording) {
    drain_samples(recording);
    drain_spool(recording);
    watch(recording);
    trace_writer_flush(recording->writer);
    recording->turns++;
    recording->next_turn = clock_now() + POLL_INTERVAL_MS * (int64_t)1000000;
}

/* Whether it is time to start or to stop recording. */
static bool is_boundary(const struct recording *recording, int64_t now) {
    return (recording->waiting && now >= recording->from) ||
           (!recording->over && now >= recording->until);
}

/* The rings of the samples may ask to be drained more often than the rest. */
void drain_poll(struct recording *recording) {
    int64_t now = clock_now();
    if (now < recording->next_turn && !is_boundary(recording, now)) {
        drain_samples(recording);
        return;
    }
    turn(recording);
    check_limits(recording);
}

void drain_end(struct recording *recording) {
    turn(recording);
    close_perf(recording);
    spool_rows_end(&recording->rows, clock_now());
    close_reader(recording);
    trace_writer_flush(recording->writer);
    if (recording->waiting)
        drop_early(recording);
    else if (recording->options->ring_bytes)
        trim(recording, recording->options->ring_bytes, &recording->trimmed_rows);
}
