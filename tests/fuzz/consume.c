/* Each part opens the trace again, as each command does: a report reorders tables, and an export
 * frees what it has written. */
#include "consume.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "compare/diff.h"
#include "report/info.h"
#include "report/whatif.h"
#include "export/export.h"
#include "import/import.h"
#include "json_check.h"
#include "report/report.h"
#include "trace/chunk.h"

_Noreturn void fuzz_broken(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("broken: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* ---- figures ---- */

uint64_t fuzz_figures;

static bool ends_word(char byte) {
    return byte == '"' || byte == ',' || byte == ' ' || byte == '\n';
}

/* Adds the numbers of one word. */
static void add_word(struct text word) {
    unsigned digits = 0;
    bool fraction = text_find(word, ".") >= 0;
    if (text_find(word, "ridge-fuzz") >= 0)
        return;
    for (size_t i = 0; i < word.length; i++) {
        bool digit = word.data[i] >= '0' && word.data[i] <= '9';
        digits = digit || word.data[i] == '.' ? digits + digit : 0;
        if (digit && !(fraction && digits > 6))
            fuzz_figures = hash_u64(fuzz_figures) ^ (uint64_t)word.data[i];
    }
}

static void add_figures(struct text text) {
    size_t start = 0;
    for (size_t i = 0; i <= text.length; i++)
        if (i == text.length || ends_word(text.data[i])) {
            add_word((struct text){text.data + start, i - start});
            start = i + 1;
        }
}

void fuzz_check_reason(const struct status *status, const char *what) {
    if (status->code == STATUS_OK || status->message[0] == '\0')
        fuzz_broken("%s failed without a reason", what);
    fuzz_figures = hash_u64(fuzz_figures) ^ (uint64_t)status->code;
    add_figures(text_of(status->message));
    if (getenv("RIDGE_FUZZ_REASONS"))
        fprintf(stderr, "%s: %s\n", what, status->message);
}

int fuzz_empty_file(int *fd) {
    if (*fd < 0) {
        char path[512];
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/ridge-fuzz-XXXXXX", folder ? folder : "/tmp");
        *fd = mkstemp(path);
        if (*fd < 0)
            fuzz_broken("cannot create %s", path);
        unlink(path);
    }
    if (ftruncate(*fd, 0) != 0 || lseek(*fd, 0, SEEK_SET) != 0)
        fuzz_broken("cannot empty a file");
    return *fd;
}

/* What one pass over the trace printed, as a checksum. */
struct consumer {
    int fd;
    struct buffer written;
    uint64_t checksum;
};

static void take_written(struct consumer *consumer) {
    if (consumer->written.failed)
        fuzz_broken("out of memory");
    struct text text = buffer_as_text(&consumer->written);
    consumer->checksum = hash_u64(consumer->checksum) ^ checksum64(text.data, text.length);
    buffer_clear(&consumer->written);
}

/* Of reports, what-if and exports as text: their numbers do not depend on a library. */
static void take_figures(struct consumer *consumer) {
    add_figures(buffer_as_text(&consumer->written));
    take_written(consumer);
}

static struct trace *open_again(const struct consumer *consumer) {
    struct status status = {0};
    struct trace *trace = NULL;
    if (trace_open_fd(consumer->fd, "damaged", &trace, &status))
        return trace;
    fuzz_check_reason(&status, "opening");
    return NULL;
}

/* ---- what must hold ---- */

static void check_sum(const char *what, int64_t window, int64_t busy, int64_t communication,
                      int64_t copy, int64_t idle) {
    if (busy < 0 || communication < 0 || copy < 0 || idle < 0 ||
        busy + communication + copy + idle != window)
        fuzz_broken("%s: busy %lld + communication %lld + copy %lld + idle %lld is not the window "
                    "%lld",
                    what, (long long)busy, (long long)communication, (long long)copy,
                    (long long)idle, (long long)window);
}

static void check_device(const struct report_device *device) {
    const struct account *account = &device->account;
    const struct gaps *gaps = &device->gaps;
    int64_t causes = 0, kernels = 0;
    check_sum("account", account->window, account->busy, account->exposed_communication,
              account->exposed_copy, account->idle);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        if (gaps->cause_time[cause] < 0)
            fuzz_broken("a cause has a negative time");
        causes += gaps->cause_time[cause];
    }
    if (gaps->total != account->idle || causes != account->idle)
        fuzz_broken("causes of gaps sum to %lld, idle is %lld", (long long)causes,
                    (long long)account->idle);
    for (size_t i = 0; i < device->kernels.group_count; i++)
        kernels += device->kernels.groups[i].total;
    if (kernels != account->kernel_sum)
        fuzz_broken("kernels sum to %lld, not %lld", (long long)kernels,
                    (long long)account->kernel_sum);
}

static void check_outcome(const struct outcome *outcome) {
    if (outcome->after < 0 || outcome->before < 0)
        fuzz_broken("a predicted time is negative");
    for (size_t i = 0; i < outcome->device_count; i++) {
        const struct outcome_device *device = &outcome->devices[i];
        check_sum("outcome", device->window, device->busy, device->exposed_communication,
                  device->exposed_copy, device->idle);
    }
}

/* The number that ends before `at`, or -1. */
static double number_before(struct text text, size_t at) {
    size_t start = at;
    if (start > 0 && text.data[start - 1] == ' ')
        at = --start;
    while (start > 0 && strchr("0123456789.,", text.data[start - 1]) && text.data[start - 1])
        start--;
    char digits[64];
    size_t length = 0;
    for (; start < at && length + 1 < sizeof digits; start++)
        if (text.data[start] != ',')
            digits[length++] = text.data[start];
    digits[length] = '\0';
    return length ? strtod(digits, NULL) : -1;
}

/* The line that the byte is in. */
static struct text line_at(struct text text, size_t at) {
    size_t start = at, end = at;
    while (start > 0 && text.data[start - 1] != '\n')
        start--;
    while (end < text.length && text.data[end] != '\n')
        end++;
    return (struct text){text.data + start, end - start};
}

/* A variation is a standard deviation over a mean: no share. */
static void check_shares(struct text text, const char *what) {
    for (size_t at = 0; at < text.length; at++)
        if (text.data[at] == '%' && number_before(text, at) > 100) {
            struct text line = line_at(text, at);
            if (text_find(line, "variation") < 0)
                fuzz_broken("%s prints a share above 100 %%: %.*s", what, TEXT_ARGS(line));
        }
}

static void check_json(struct text text, const char *what) {
    if (!json_is_valid(text))
        fuzz_broken("%s is not JSON", what);
}

/* ---- the page ---- */

static int letter_value(char letter) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? (int)(found - letters) : -1;
}

static void decode_base64(struct text text, struct buffer *out) {
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < text.length && text.data[i] != '='; i++) {
        int value = letter_value(text.data[i]);
        if (value < 0)
            fuzz_broken("the page's data is not base64");
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8)
            buffer_byte(out, (char)(bits >> (count -= 8)));
    }
}

static void inflate_all(const struct buffer *packed, struct buffer *out) {
    z_stream stream = {.next_in = (unsigned char *)packed->data,
                       .avail_in = (unsigned)packed->length};
    unsigned char block[16384];
    int code = inflateInit(&stream);
    while (code == Z_OK) {
        stream.next_out = block;
        stream.avail_out = sizeof block;
        code = inflate(&stream, Z_NO_FLUSH);
        buffer_append(out, block, sizeof block - stream.avail_out);
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END)
        fuzz_broken("the page's data cannot be decompressed");
}

/* The content of the page's script element of that id. */
static void page_element(struct text page, const char *id, struct buffer *out) {
    struct buffer packed = {0};
    ptrdiff_t start = text_find(page, id);
    if (start < 0)
        fuzz_broken("the page has no %s", id);
    struct text rest = {page.data + start + strlen(id), page.length - (size_t)start - strlen(id)};
    ptrdiff_t end = text_find(rest, "</script>");
    if (end < 0)
        fuzz_broken("the page's data has no end");
    decode_base64((struct text){rest.data, (size_t)end}, &packed);
    inflate_all(&packed, out);
    buffer_finish(&packed);
}

/* The events: a length, JSON of that length, and chunks. */
static void check_events(const struct buffer *events) {
    const unsigned char *bytes = (const unsigned char *)events->data;
    if (events->length < 4)
        fuzz_broken("the page's events have no header");
    size_t length =
        bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    if (length > events->length - 4)
        fuzz_broken("the page's header is cut off");
    check_json((struct text){events->data + 4, length}, "the page's header");
    size_t at = 4 + length;
    while (at < events->length) {
        struct chunk_header header;
        if (events->length - at < CHUNK_HEADER_SIZE || !chunk_read_header(bytes + at, &header) ||
            header.body_size > events->length - at - CHUNK_HEADER_SIZE)
            fuzz_broken("the page has a damaged chunk");
        at += CHUNK_HEADER_SIZE + header.body_size;
    }
}

static void check_page(struct text page) {
    struct buffer data = {0};
    page_element(page, "id=\"report-0\">", &data);
    check_json(buffer_as_text(&data), "the page's report");
    buffer_clear(&data);
    page_element(page, "id=\"events-0\">", &data);
    check_events(&data);
    buffer_finish(&data);
}

/* ---- the commands ---- */

static void write_report(struct consumer *consumer, const struct report *report) {
    struct output output = output_into(&consumer->written);
    struct report_style style = {.width = 80};
    struct page_summary summary;
    struct status status = {0};
    if (!report_write_json(report, &output, &status))
        fuzz_broken("json: %s", status.message);
    check_json(buffer_as_text(&consumer->written), "the report");
    take_figures(consumer);
    if (!report_write_text(report, &style, &output, &status))
        fuzz_broken("text: %s", status.message);
    check_shares(buffer_as_text(&consumer->written), "text");
    take_written(consumer);
    if (!report_write_markdown(report, &output, &status))
        fuzz_broken("markdown: %s", status.message);
    check_shares(buffer_as_text(&consumer->written), "markdown");
    take_written(consumer);
    if (!report_write_csv(report, NULL, &output, &status))
        fuzz_broken("csv: %s", status.message);
    take_figures(consumer);
    if (!report_write_html(&report, 1, &output, &summary, &status))
        fuzz_check_reason(&status, "the page");
    else
        check_page(buffer_as_text(&consumer->written));
    take_written(consumer);
}

/* A trace against itself: sums hold and nothing differs, whatever is in it. */
static void compare_with_itself(struct consumer *consumer, const struct report *report) {
    struct output output = output_into(&consumer->written);
    struct report_style style = {.width = 80};
    struct status status = {0};
    struct diff diff;
    if (!diff_build(&diff, report, report, &status)) {
        fuzz_check_reason(&status, "the diff");
        return;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < diff.sides[BEFORE].entry_count; i++)
        sum += diff.sides[BEFORE].entries[i].time;
    for (size_t i = 0; i < diff.row_count; i++)
        if (diff.rows[i].change)
            fuzz_broken("a trace differs from itself");
    if (diff.change || sum != diff.sides[BEFORE].step)
        fuzz_broken("the parts of a step do not sum to it");
    if (!diff_write_json(&diff, &output, &status))
        fuzz_broken("diff: %s", status.message);
    check_json(buffer_as_text(&consumer->written), "the diff");
    take_written(consumer);
    if (!diff_write_text(&diff, &style, 10, &output, &status) ||
        !diff_write_markdown(&diff, 10, &output, &status))
        fuzz_broken("diff: %s", status.message);
    take_written(consumer);
    diff_finish(&diff);
}

static void make_report(struct consumer *consumer, const struct report_options *options) {
    struct status status = {0};
    struct report report;
    struct trace *trace = open_again(consumer);
    if (!trace)
        return;
    if (report_build(&report, trace, options, &status)) {
        for (size_t i = 0; i < report.device_count; i++)
            check_device(&report.devices[i]);
        write_report(consumer, &report);
        compare_with_itself(consumer, &report);
        report_finish(&report);
    } else {
        fuzz_check_reason(&status, "the report");
    }
    trace_close(trace);
}

static void print_whatif(struct consumer *consumer, const struct whatif *whatif) {
    struct output output = output_into(&consumer->written);
    struct status status = {0};
    if (!whatif_print_json(whatif, &output, &status))
        fuzz_broken("whatif: %s", status.message);
    check_json(buffer_as_text(&consumer->written), "whatif");
    take_figures(consumer);
    for (unsigned markdown = 0; markdown < 2; markdown++) {
        if (!whatif_print(whatif, markdown, 80, &output, &status))
            fuzz_broken("whatif: %s", status.message);
        check_shares(buffer_as_text(&consumer->written), "whatif");
        take_written(consumer);
    }
}

/* One change with and without a pattern, and all changes there are. */
static void run_whatif(struct consumer *consumer, const struct report *report, size_t choice) {
    struct whatif whatif = {.report = report, .count = 1};
    struct status status = {0};
    whatif.changes[0] =
        (struct change){.kind = (enum change_kind)(choice % CHANGE_COUNT),
                        .factor = 2,
                        .pattern = choice / CHANGE_COUNT % 2 ? TEXT("*a*") : TEXT("")};
    whatif.alone[0].change = whatif.changes[0];
    whatif.unchanged.change.kind = CHANGE_COUNT;
    bool ok = replay_run(report->replay, NULL, 0, &whatif.unchanged.outcome, &status) &&
              replay_run(report->replay, whatif.changes, 1, &whatif.alone[0].outcome, &status);
    if (ok) {
        check_outcome(&whatif.unchanged.outcome);
        check_outcome(&whatif.alone[0].outcome);
        print_whatif(consumer, &whatif);
        whatif.count = 0;
        ok = replay_rank(report->replay, &whatif.ranked, &whatif.ranked_count, &status);
    }
    if (ok) {
        for (size_t i = 0; i < whatif.ranked_count; i++)
            check_outcome(&whatif.ranked[i].outcome);
        print_whatif(consumer, &whatif);
        replay_rank_finish(whatif.ranked, whatif.ranked_count);
    }
    outcome_finish(&whatif.unchanged.outcome);
    outcome_finish(&whatif.alone[0].outcome);
    if (!ok)
        fuzz_check_reason(&status, "whatif");
}

static void make_whatif(struct consumer *consumer, const struct report_options *narrowed,
                        size_t choice) {
    struct report_options options = *narrowed;
    struct status status = {0};
    struct report report;
    struct trace *trace = open_again(consumer);
    if (!trace)
        return;
    options.keep_replay = options.no_verdict = true;
    if (report_build(&report, trace, &options, &status)) {
        run_whatif(consumer, &report, choice);
        report_finish(&report);
    } else {
        fuzz_check_reason(&status, "the report");
    }
    trace_close(trace);
}

static void make_info(struct consumer *consumer) {
    struct output output = output_into(&consumer->written);
    struct status status = {0};
    struct info info = {.path = "damaged", .trace = open_again(consumer)};
    if (!info.trace)
        return;
    if (info_gather(&info, &status)) {
        if (!info_print_json(&info, &output, &status))
            fuzz_broken("info: %s", status.message);
        check_json(buffer_as_text(&consumer->written), "info");
        take_written(consumer);
        if (!info_print_text(&info, &output, &status))
            fuzz_broken("info: %s", status.message);
        check_shares(buffer_as_text(&consumer->written), "info");
        take_written(consumer);
    } else {
        fuzz_check_reason(&status, "info");
    }
    info_finish(&info);
    trace_close(info.trace);
}

static char export_path[512];

static void remove_export(void) {
    unlink(export_path);
}

static void write_export(struct text bytes) {
    struct status status = {0};
    if (!export_path[0]) {
        const char *folder = getenv("TMPDIR");
        snprintf(export_path, sizeof export_path, "%s/ridge-fuzz-%ld.export",
                 folder ? folder : "/tmp", (long)getpid());
        atexit(remove_export);
    }
    int fd = open(export_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !output_write_fd(fd, bytes.data, bytes.length, &status))
        fuzz_broken("cannot write %s", export_path);
    close(fd);
}

/* Chrome and Perfetto exports are valid files of those formats, so their importers read them. A
 * file without events is refused. */
static void check_export(struct consumer *consumer, const struct export_format *format) {
    static int imported = -1;
    static const struct import_options options = {.skip_invalid = true};
    const char *paths[] = {export_path};
    struct status status = {0};
    write_export(buffer_as_text(&consumer->written));
    if (!import_files(paths, 1, fuzz_empty_file(&imported), &options, &status) &&
        !strstr(status.message, "has no event"))
        fuzz_broken("an export as %s cannot be read: %s", format->name, status.message);
}

static void make_export(struct consumer *consumer, const struct export_format *format,
                        enum trace_table table, bool read_back) {
    struct output output = output_into(&consumer->written);
    struct status status = {0};
    struct export_options options = {.table = table};
    struct trace *trace = open_again(consumer);
    if (!trace)
        return;
    bool ok = format->write(trace, &options, &output, &status);
    trace_close(trace);
    if (!ok)
        fuzz_check_reason(&status, format->name);
    else if (strcmp(format->name, "chrome") == 0)
        check_json(buffer_as_text(&consumer->written), format->name);
    bool foreign = strcmp(format->name, "chrome") == 0 || strcmp(format->name, "perfetto") == 0;
    if (ok && read_back && foreign)
        check_export(consumer, format);
    if (strcmp(format->name, "chrome") == 0 || strcmp(format->name, "csv") == 0)
        take_figures(consumer);
    take_written(consumer);
}

struct plan {
    const struct report_options *narrowed;
    size_t change, table;
    bool read_back;
};

static uint64_t consume_once(int fd, const struct plan *plan) {
    static const struct report_options whole = {.trace_name = "whole", .top = 10};
    struct consumer consumer = {.fd = fd};
    make_report(&consumer, &whole);
    make_whatif(&consumer, &whole, plan->change);
    if (plan->narrowed) {
        make_report(&consumer, plan->narrowed);
        make_whatif(&consumer, plan->narrowed, plan->change);
    }
    make_info(&consumer);
    for (const struct export_format *format = export_formats; format->name; format++)
        make_export(&consumer, format, (enum trace_table)plan->table, plan->read_back);
    buffer_finish(&consumer.written);
    return consumer.checksum;
}

void consume_trace(int fd, struct decisions *decisions) {
    static const struct report_options choices[] = {
        {.trace_name = "range", .top = 2, .range = "step"},
        {.trace_name = "steps", .top = 3, .steps = "steady"},
        {.trace_name = "steps", .top = 1, .steps = "2"},
        {.trace_name = "window", .top = 10, .window = "100ns,90us"},
        {.trace_name = "device", .top = 10, .device = "0"},
    };
    enum { CHOICES = sizeof choices / sizeof choices[0] };
    size_t choice = decide(decisions, CHOICES * 2);
    struct plan plan = {.narrowed = choice < CHOICES ? &choices[choice] : NULL,
                        .change = decide(decisions, 2 * CHANGE_COUNT),
                        .table = decide(decisions, TABLE_COUNT),
                        .read_back = decide(decisions, 4) == 1};
    struct status status = {0};
    struct trace *trace = NULL;
    if (!trace_open_fd(fd, "damaged", &trace, &status)) {
        fuzz_check_reason(&status, "opening");
        return;
    }
    trace_close(trace);
    uint64_t first = consume_once(fd, &plan);
    if (decide(decisions, 4) == 1 && consume_once(fd, &plan) != first)
        fuzz_broken("a second run prints something else");
}
