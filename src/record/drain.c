/* Ten times a second the spool, the samples, the memory counters and the GPU counters are written
 * to the file, so that a killed recorder loses at most the last 200 ms.
 *
 * An error here never stops or delays the recorded program: the first one is kept for the summary,
 * and draining continues so that the spool does not fill the disk.
 */
#include "record/drain.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/min_max.h"

enum {
    POLL_INTERVAL_MS = 100,
    GPU_POLL_DIVISOR = 2,   /* GPU counters are read at every second poll */
    LATE_RECORDS_MS = 1000, /* after --duration: records of earlier events may still arrive */
    SESSION_END_MS = 10000, /* a probe that has not ended by then does not respond */
    SESSION_POLL_NS = 5000000,
    RING_SLACK = 1 << 20, /* bytes by which --ring may be exceeded, so that trimming is rare */
};

static void keep_first_error(struct recording *recording) {
    if (recording->error.code == STATUS_OK)
        recording->error = recording->status;
}

static struct text file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return text_of(slash ? slash + 1 : path);
}

void drain_start(struct recording *recording, int64_t started) {
    const struct record_options *options = recording->options;
    recording->from = started + (int64_t)(options->delay * 1e9);
    recording->until =
        options->duration > 0 ? recording->from + (int64_t)(options->duration * 1e9) : INT64_MAX;
    recording->delayed = options->delay > 0;
    recording->rows.from = recording->delayed || options->attach ? recording->from : INT64_MIN;
    recording->rows.until = recording->until;
    if (recording->perf && (recording->delayed || options->duration > 0 || options->attach))
        perf_set_window(recording->perf, recording->from, recording->until);
    struct perf_threads *polled =
        recording->thread_poll ? thread_poll_threads(recording->thread_poll) : NULL;
    if (polled && (recording->delayed || options->duration > 0 || options->attach)) {
        polled->from = recording->from;
        polled->until = recording->until;
    }
    if (polled && options->capture_range)
        polled->captures = &recording->rows.captures;
    if (recording->perf && options->capture_range)
        perf_set_captures(recording->perf, &recording->rows.captures);
    /* the program has a row even if it ends at once */
    processes_row(&recording->processes, recording->summary->target.pid,
                  file_name(options->command[0]));
    trace_writer_flush(recording->writer);
}

unsigned drain_timeout(const struct recording *recording) {
    int64_t now = clock_now(), next = recording->next_poll;
    int64_t interval =
        (recording->perf_interval ? recording->perf_interval : PERF_DRAIN_INTERVAL_MS) *
        (int64_t)1000000;
    if ((recording->perf || recording->thread_poll) && now + interval < next)
        next = now + interval;
    if (recording->delayed && recording->from < next)
        next = recording->from;
    if (!recording->stopped && recording->until < next)
        next = recording->until;
    return next > now ? (unsigned)((next - now) / 1000000 + 1) : 1;
}

/* ---- Sources ----------------------------------------------------------------------------- */

static uint64_t dropped_in_processes(const struct recording *recording) {
    uint64_t dropped = 0;
    for (unsigned i = 0; i < spool_reader_processes(recording->reader); i++)
        dropped += spool_reader_process(recording->reader, i)->dropped;
    return dropped;
}

/* Probes are requested to stop. Those in programs that start later find no folder. */
static void close_reader(struct recording *recording) {
    if (!recording->reader)
        return;
    uint64_t dropped = dropped_in_processes(recording) + spool_reader_damaged(recording->reader);
    trace_writer_dropped(recording->writer, dropped);
    recording->summary->lost += dropped;
    recording->has_no_probe = spool_reader_processes(recording->reader) == 0;
    spool_reader_close(recording->reader);
    recording->reader = NULL;
    recording->rows.entities.reader = NULL;
    spool_folder_remove(recording->folder);
}

static void drain_spool(struct recording *recording) {
    const struct target *target = &recording->summary->target;
    if (!recording->reader)
        return;
    spool_rows_find_ended(&recording->rows, target->pid, target->ended ? target->ended_at : 0,
                          clock_now());
    recording->rows.perf = recording->perf;
    if (spool_reader_drain(recording->reader, spool_rows_handle, &recording->rows,
                           &recording->status)) {
        spool_rows_close_ended(&recording->rows);
        return;
    }
    keep_first_error(recording);
    close_reader(recording);
}

static void close_perf(struct recording *recording) {
    if (!recording->perf)
        return;
    if (!perf_finish(recording->perf, recording->writer, &recording->status))
        keep_first_error(recording);
    recording->summary->samples = perf_samples(recording->perf);
    recording->summary->python = perf_python(recording->perf);
    recording->summary->processes = perf_processes(recording->perf);
    recording->summary->lost += perf_lost(recording->perf);
    for (unsigned i = 0; i < PERF_NOTES && perf_note(recording->perf, i); i++)
        record_note(recording->summary, "%s", perf_note(recording->perf, i));
    if (!perf_list_processes(recording->perf, &recording->sampled, &recording->status))
        keep_first_error(recording);
    perf_close(recording->perf);
    recording->perf = NULL;
}

static void close_polls(struct recording *recording) {
    if (recording->thread_poll)
        thread_poll_finish(recording->thread_poll, recording->writer);
    thread_poll_destroy(recording->thread_poll);
    recording->thread_poll = NULL;
}

static void drain_perf(struct recording *recording) {
    if (recording->thread_poll &&
        !thread_poll_read(recording->thread_poll, recording->writer, &recording->status)) {
        keep_first_error(recording);
        close_polls(recording);
    }
    if (!recording->perf || perf_drain(recording->perf, recording->writer, &recording->status))
        return;
    keep_first_error(recording);
    close_perf(recording);
}

static void sample_counters(struct recording *recording) {
    if (recording->stopped)
        return;
    if (!processes_sample(&recording->processes, clock_now(), &recording->status))
        keep_first_error(recording);
    if (recording->polls % GPU_POLL_DIVISOR == 0)
        gpu_counters_write(&recording->gpus, recording->writer);
}

/* ---- Limits ------------------------------------------------------------------------------ */

static void trim_file(struct recording *recording, uint64_t keep, uint64_t *rows) {
    recording->trimmed = true;
    if (!record_file_trim(&recording->file, keep, rows, &recording->status))
        keep_first_error(recording);
}

/* Removes the events before the end of --delay. Entities stay: later events refer to them. */
static void drop_before_delay(struct recording *recording) {
    uint64_t early = 0;
    trim_file(recording, 0, &early);
}

static void trim_ring(struct recording *recording) {
    uint64_t ring = recording->options->ring_bytes;
    uint64_t slack = ring / 2 > RING_SLACK ? ring / 2 : RING_SLACK;
    if (ring && !recording->stopped && record_file_bytes(&recording->file) > ring + slack)
        trim_file(recording, ring, &recording->trimmed_rows);
}

/* The spool may still hold records of events that began in time. */
static void stop_sampling(struct recording *recording) {
    recording->stopped = true;
    close_polls(recording);
    close_perf(recording);
}

static void stop_at_max_size(struct recording *recording) {
    char size[FORMAT_SIZE];
    stop_sampling(recording);
    recording->rows.stopped = true;
    record_note(recording->summary, "recording stopped at a file size of %s (--max-size)",
                format_bytes(record_file_bytes(&recording->file), size));
    close_reader(recording);
}

static void check_limits(struct recording *recording) {
    uint64_t max_bytes = recording->options->max_bytes;
    int64_t now = clock_now();
    if (recording->delayed && now >= recording->from) {
        recording->delayed = false;
        drop_before_delay(recording);
    }
    trim_ring(recording);
    if (!recording->stopped && now >= recording->until)
        stop_sampling(recording);
    else if (!recording->stopped && max_bytes && record_file_bytes(&recording->file) >= max_bytes)
        stop_at_max_size(recording);
    if (recording->stopped && recording->until < now - LATE_RECORDS_MS * (int64_t)1000000)
        close_reader(recording);
}

/* With --capture-range the spool determines which samples are written. */
static void drain_samples(struct recording *recording) {
    if (recording->options->capture_range)
        drain_spool(recording);
    drain_perf(recording);
}

static void poll_sources(struct recording *recording) {
    drain_samples(recording);
    drain_spool(recording);
    sample_counters(recording);
    trace_writer_flush(recording->writer);
    recording->polls++;
    recording->next_poll = clock_now() + POLL_INTERVAL_MS * (int64_t)1000000;
}

/* Whether it is time to start or to stop recording. */
static bool is_boundary(const struct recording *recording, int64_t now) {
    return (recording->delayed && now >= recording->from) ||
           (!recording->stopped && now >= recording->until);
}

/* The ring buffers may need to be drained more often than the rest. */
void drain_poll(struct recording *recording) {
    int64_t now = clock_now();
    if (now < recording->next_poll && !is_boundary(recording, now)) {
        drain_samples(recording);
        return;
    }
    poll_sources(recording);
    check_limits(recording);
}

static bool sessions_have_ended(const struct recording *recording) {
    for (unsigned i = 0; i < spool_reader_processes(recording->reader); i++) {
        const struct spool_process *process = spool_reader_process(recording->reader, i);
        if (process->ready && !process->ended)
            return false;
    }
    return true;
}

void drain_finish_sessions(struct recording *recording) {
    int64_t now = clock_now(), deadline = now + SESSION_END_MS * (int64_t)1000000;
    if (!recording->reader)
        return;
    recording->rows.until = MIN(recording->rows.until, now);
    spool_reader_finish(recording->reader);
    while (recording->reader && !sessions_have_ended(recording) && clock_now() < deadline) {
        nanosleep(&(struct timespec){.tv_nsec = SESSION_POLL_NS}, NULL);
        drain_spool(recording);
    }
    if (recording->reader && !sessions_have_ended(recording))
        record_note(recording->summary, "the probe did not end in time: the last kernels and "
                                        "copies may be missing");
}

void drain_end(struct recording *recording) {
    poll_sources(recording);
    close_polls(recording);
    close_perf(recording);
    spool_rows_end(&recording->rows, clock_now());
    close_reader(recording);
    trace_writer_flush(recording->writer);
    if (recording->delayed)
        drop_before_delay(recording);
    else if (recording->options->ring_bytes)
        trim_file(recording, recording->options->ring_bytes, &recording->trimmed_rows);
}
