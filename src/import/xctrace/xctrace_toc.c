/* The table of contents of a recording: its target, machine, times and tables.
 *
 * Only the first run is read. The document is untrusted: no DTD, bounded depth and lengths. */
#include <expat.h>

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"
#include "import/xctrace/xctrace.h"

enum { DEPTH_MAX = 64, TEXT_BYTES_MAX = 64 * 1024, DOCUMENT_BYTES_MAX = 64 << 20 };

struct toc_parser {
    XML_Parser parser;
    struct xctrace_toc *toc;
    struct status *status;
    bool failed;
    unsigned depth;
    bool in_target;
    struct text *destination; /* of the current text, or NULL */
    struct buffer content;
};

static void toc_fail(struct toc_parser *toc, const char *what) {
    if (!toc->failed)
        status_fail(toc->status, STATUS_INPUT, "%s at byte %lld of the table of contents", what,
                    (long long)XML_GetCurrentByteIndex(toc->parser));
    toc->failed = true;
    XML_StopParser(toc->parser, XML_FALSE);
}

static void toc_keep(struct toc_parser *toc, struct text text, struct text *kept) {
    if (text.length == 0 || toc->failed)
        return;
    char *copy = arena_allocate(&toc->toc->arena, text.length, toc->status);
    if (!copy) {
        toc->failed = true;
        XML_StopParser(toc->parser, XML_FALSE);
        return;
    }
    memcpy(copy, text.data, text.length);
    *kept = (struct text){copy, text.length};
}

static const char *attribute(const XML_Char **attributes, const char *name) {
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return "";
}

static void toc_keep_attribute(struct toc_parser *toc, const XML_Char **attributes,
                               const char *name, struct text *kept) {
    toc_keep(toc, text_of(attribute(attributes, name)), kept);
}

static void begin_table(struct toc_parser *toc, const XML_Char **attributes) {
    struct text schema = text_of(attribute(attributes, "schema"));
    uint32_t ignored;
    uint64_t microseconds;
    if (!intern_add(&toc->toc->schemas, schema, &ignored, toc->status)) {
        toc->failed = true;
        XML_StopParser(toc->parser, XML_FALSE);
    }
    if (text_is(schema, "time-sample") &&
        text_to_u64(text_of(attribute(attributes, "sample-rate-micro-seconds")), &microseconds) &&
        microseconds < 1000000000)
        toc->toc->sample_ns = microseconds * 1000;
}

/* The list of allocations is a view of the Allocations instrument, which has no table. */
static void begin_detail(struct toc_parser *toc, const XML_Char **attributes) {
    uint32_t ignored;
    if (strcmp(attribute(attributes, "name"), "Allocations List") == 0 &&
        !intern_add(&toc->toc->schemas, text_of(XCTRACE_ALLOCATIONS), &ignored, toc->status)) {
        toc->failed = true;
        XML_StopParser(toc->parser, XML_FALSE);
    }
}

static void begin_in_target(struct toc_parser *toc, const XML_Char *name,
                            const XML_Char **attributes) {
    struct xctrace_toc *result = toc->toc;
    if (strcmp(name, "device") == 0) {
        toc_keep_attribute(toc, attributes, "name", &result->host);
        toc_keep_attribute(toc, attributes, "model", &result->model);
        toc_keep_attribute(toc, attributes, "platform", &result->system);
        toc_keep_attribute(toc, attributes, "os-version", &result->system_version);
    } else if (strcmp(name, "process") == 0 && result->target_pid == 0 &&
               text_to_u64(text_of(attribute(attributes, "pid")), &result->target_pid)) {
        toc_keep_attribute(toc, attributes, "name", &result->target_name);
        toc_keep_attribute(toc, attributes, "arguments", &result->target_arguments);
        toc_keep_attribute(toc, attributes, "return-exit-status", &result->exit_status);
        toc_keep_attribute(toc, attributes, "termination-reason", &result->termination);
    }
}

/* The destination of a summary element's text. */
static struct text *summary_text(struct xctrace_toc *toc, const XML_Char *name) {
    const struct {
        const char *name;
        struct text *text;
    } members[] = {
        {"start-date", &toc->start_date},
        {"end-reason", &toc->end_reason},
        {"instruments-version", &toc->instruments_version},
        {"template-name", &toc->template_name},
        {"recording-mode", &toc->recording_mode},
    };
    for (size_t i = 0; i < ARRAY_COUNT(members); i++)
        if (strcmp(name, members[i].name) == 0)
            return members[i].text;
    return NULL;
}

static void begin_run(struct toc_parser *toc, const XML_Char **attributes) {
    if (++toc->toc->run_count == 1)
        text_to_u64(text_of(attribute(attributes, "number")), &toc->toc->run_number);
}

static void XMLCALL start_element(void *context, const XML_Char *name,
                                  const XML_Char **attributes) {
    struct toc_parser *toc = context;
    if (toc->failed)
        return;
    toc->depth++;
    toc->destination = NULL;
    if (toc->depth > DEPTH_MAX)
        toc_fail(toc, "elements nested more than 64 deep");
    else if (toc->depth == 1 && strcmp(name, "trace-toc") != 0)
        toc_fail(toc, "a root element that is not <trace-toc>");
    else if (toc->depth == 2 && strcmp(name, "run") == 0)
        begin_run(toc, attributes);
    else if (toc->toc->run_count != 1)
        return;
    else if (strcmp(name, "target") == 0)
        toc->in_target = true;
    else if (toc->in_target)
        begin_in_target(toc, name, attributes);
    else if (strcmp(name, "table") == 0)
        begin_table(toc, attributes);
    else if (strcmp(name, "detail") == 0)
        begin_detail(toc, attributes);
    else
        toc->destination = summary_text(toc->toc, name);
    buffer_clear(&toc->content);
}

static void XMLCALL end_element(void *context, const XML_Char *name) {
    struct toc_parser *toc = context;
    if (toc->failed)
        return;
    toc->depth--;
    if (strcmp(name, "target") == 0)
        toc->in_target = false;
    if (toc->destination)
        toc_keep(toc, buffer_as_text(&toc->content), toc->destination);
    toc->destination = NULL;
}

static void XMLCALL character_data(void *context, const XML_Char *data, int length) {
    struct toc_parser *toc = context;
    if (toc->failed || !toc->destination)
        return;
    buffer_append(&toc->content, data, (size_t)length);
    if (toc->content.length > TEXT_BYTES_MAX)
        toc_fail(toc, "a text of more than 64 KiB");
}

static void XMLCALL start_doctype(void *context, const XML_Char *name, const XML_Char *system,
                                  const XML_Char *public, int internal) {
    (void)name, (void)system, (void)public, (void)internal;
    toc_fail(context, "a document type declaration (xctrace writes none, so it is refused)");
}

static bool parse_window(struct toc_parser *toc, struct input *input) {
    if (input->offset + input->length > DOCUMENT_BYTES_MAX)
        return status_fail(toc->status, STATUS_INPUT, "a table of contents of more than 64 MiB");
    if (XML_Parse(toc->parser, input->data, (int)input->length, input->at_end) ==
            XML_STATUS_ERROR &&
        !toc->failed) {
        toc->failed = true;
        status_fail(toc->status, STATUS_INPUT,
                    "the table of contents is damaged or cut off at byte %lld (%s); export it "
                    "again",
                    (long long)XML_GetCurrentByteIndex(toc->parser),
                    XML_ErrorString(XML_GetErrorCode(toc->parser)));
    }
    input_consume(input, input->length);
    return !toc->failed;
}

static bool parse_toc(struct input *input, struct xctrace_toc *toc, struct status *status) {
    struct toc_parser parser = {.toc = toc, .status = status, .parser = XML_ParserCreate(NULL)};
    if (!parser.parser)
        return status_no_memory(status);
    XML_SetUserData(parser.parser, &parser);
    XML_SetElementHandler(parser.parser, start_element, end_element);
    XML_SetCharacterDataHandler(parser.parser, character_data);
    XML_SetStartDoctypeDeclHandler(parser.parser, start_doctype);
    bool ok = true, ended = false;
    while (ok && !ended) {
        ok = (input->at_end || input_more(input, DOCUMENT_BYTES_MAX, status)) &&
             parse_window(&parser, input);
        ended = input->at_end;
    }
    if (ok)
        ok = buffer_ok(&parser.content, status);
    buffer_finish(&parser.content);
    XML_ParserFree(parser.parser);
    return ok;
}

bool xctrace_toc_read(const char *path, struct xctrace_toc *toc, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = parse_toc(&input, toc, status);
    input_close(&input);
    return ok;
}

void xctrace_toc_finish(struct xctrace_toc *toc) {
    arena_finish(&toc->arena);
    intern_finish(&toc->schemas);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = year / 400, year_of_era = year % 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

/* Parses `digits` digits and, when it is not 0, the byte `after`. */
static bool take_number(struct text *text, size_t digits, char after, int64_t low, int64_t high,
                        int64_t *number) {
    struct text part = {text->data, digits};
    size_t length = digits + (after != 0);
    if (text->length < length || part.data[0] < '0' || part.data[0] > '9' ||
        (after && text->data[digits] != after) || !text_to_i64(part, number) || *number < low ||
        *number > high)
        return false;
    text->data += length;
    text->length -= length;
    return true;
}

/* Parses ".999" as nanoseconds; further digits are ignored. */
static int64_t take_fraction(struct text *text) {
    int64_t nanoseconds = 0, unit = 100000000;
    if (text->length == 0 || text->data[0] != '.')
        return 0;
    do {
        text->data++, text->length--;
        if (text->length == 0 || text->data[0] < '0' || text->data[0] > '9')
            break;
        nanoseconds += (text->data[0] - '0') * unit;
        unit /= 10;
    } while (true);
    return nanoseconds;
}

/* "Z", "-07:00" or "-0700". */
static bool take_zone(struct text text, int64_t *seconds) {
    *seconds = 0;
    if (text_is(text, "Z"))
        return true;
    if (text.length < 5 || (text.data[0] != '+' && text.data[0] != '-'))
        return false;
    int64_t sign = text.data[0] == '-' ? -1 : 1, hours, minutes;
    text.data++, text.length--;
    if (!take_number(&text, 2, text.length == 5 ? ':' : 0, 0, 23, &hours) ||
        !take_number(&text, 2, 0, 0, 59, &minutes) || text.length)
        return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool xctrace_date(struct text date, int64_t *unix_ns) {
    int64_t year, month, day, hour, minute, second, zone;
    if (!take_number(&date, 4, '-', 1971, 2200, &year) ||
        !take_number(&date, 2, '-', 1, 12, &month) || !take_number(&date, 2, 'T', 1, 31, &day) ||
        !take_number(&date, 2, ':', 0, 23, &hour) || !take_number(&date, 2, ':', 0, 59, &minute) ||
        !take_number(&date, 2, 0, 0, 60, &second))
        return false;
    int64_t fraction = take_fraction(&date);
    if (!take_zone(date, &zone))
        return false;
    int64_t seconds = days_to(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone;
    *unix_ns = seconds * 1000000000 + fraction;
    return true;
}
