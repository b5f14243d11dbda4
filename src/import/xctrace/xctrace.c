/* Instruments traces: a folder of `xctrace export` tables with their table of contents, a single
 * table, or a .trace bundle, which xctrace exports first.
 *
 * File names are chosen by users, so files are classified by content. Names inside a .trace bundle
 * are fixed.
 *
 * Instruments records the whole machine; only rows of the target process become events. The table
 * of contents names the target; without it, the process with the most rows is used, with a warning.
 * Tables are read one after another as streams, in order of their dependencies.
 *
 * The format of a .trace bundle is not public, so Apple's xctrace exports the table of contents and
 * each table that ridge reads into a temporary folder. Without xctrace (not on a Mac with Xcode),
 * the message has the commands to run there. */
#include "import/xctrace/xctrace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef RIDGE_HAVE_EXPAT
#include <expat.h>
#endif

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/temporary.h"

/* ---- the files of an export ---- */

struct xctrace_file {
    char *path;
    enum xctrace_file_kind kind;
    unsigned rank; /* index of its schema in xctrace_kinds */
};

struct xctrace_files {
    struct xctrace_file *files; /* tables of contents first, then tables in the order to read */
    size_t count, capacity;
    bool is_bundle; /* the folder is a .trace bundle */
};

enum { HEAD_BYTES = 4096, FILES_MAX = 10000 };

static struct text from(struct text text, ptrdiff_t at) {
    return (struct text){text.data + at, text.length - (size_t)at};
}

/* The value of the name attribute of the first <schema>. */
static struct text schema_name(struct text head) {
    ptrdiff_t at = text_find(head, "<schema ");
    if (at < 0)
        return TEXT("");
    head = from(head, at);
    at = text_find(head, "name=");
    if (at < 0 || head.length < (size_t)at + sizeof "name=")
        return TEXT("");
    head = from(head, at + (ptrdiff_t)strlen("name="));
    const char *end = memchr(head.data + 1, head.data[0], head.length - 1);
    if (!end)
        return TEXT("");
    return (struct text){head.data + 1, (size_t)(end - head.data - 1)};
}

/* The kind of a file by its beginning; *schema points into `head`, or is "". */
enum xctrace_file_kind xctrace_file_kind(struct text head, struct text *schema) {
    *schema = TEXT("");
    if (head.length == 0)
        return XCTRACE_EMPTY;
    if (text_starts(head, "version https://git-lfs"))
        return XCTRACE_LFS_POINTER;
    while (head.length && (strchr("\xEF\xBB\xBF \t\r\n", head.data[0]) && head.data[0]))
        head = from(head, 1);
    if (!text_starts(head, "<"))
        return XCTRACE_OTHER;
    struct text beginning = {head.data, head.length < 1024 ? head.length : 1024};
    if (text_find(beginning, "<trace-toc") >= 0)
        return XCTRACE_TOC;
    if (text_find(beginning, "<trace-query-result") < 0)
        return XCTRACE_OTHER;
    *schema = schema_name(head);
    return XCTRACE_TABLE;
}

static unsigned rank_of(struct text schema) {
#ifdef RIDGE_HAVE_EXPAT
    unsigned rank;
    xctrace_kind_of(schema, &rank);
    return rank;
#else
    (void)schema;
    return 0;
#endif
}

/* Sets kind and rank of the file. A file that cannot be opened or decompressed is XCTRACE_OTHER;
 * fails when memory is short or reading fails. */
static bool xctrace_file_inspect(struct xctrace_file *file, struct status *status) {
    struct input input;
    struct status why = {0};
    struct text schema;
    if (!input_open(&input, file->path, &why)) {
        if (why.code == STATUS_MEMORY)
            *status = why;
        return why.code != STATUS_MEMORY;
    }
    while (!input.at_end && input.length < HEAD_BYTES)
        if (!input_more(&input, 1 << 20, &why))
            break;
    if (why.code == STATUS_MEMORY || why.code == STATUS_IO) {
        *status = why;
        input_close(&input);
        return false;
    }
    file->kind = xctrace_file_kind((struct text){input.data, input.length}, &schema);
    file->rank = rank_of(schema);
    input_close(&input);
    return true;
}

static bool ends_in_xml(const char *name) {
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".xml") == 0;
}

static bool is_bundle_entry(const char *name) {
    return strcmp(name, "form.template") == 0 || strcmp(name, "instrument_data") == 0 ||
           strcmp(name, "corespace") == 0 || strcmp(name, "Trace1.run") == 0;
}

static bool add_file(struct xctrace_files *files, const char *folder, const char *name,
                     struct status *status) {
    struct stat info;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return true;
    if (!GROW(files->files, &files->capacity, files->count + 1, status))
        return false;
    struct xctrace_file *file = &files->files[files->count];
    *file = (struct xctrace_file){.path = text_copy(text_of(path), status)};
    if (!file->path)
        return false;
    if (!xctrace_file_inspect(file, status)) {
        memory_free(file->path);
        return status_context(status, "%s", name);
    }
    bool stands_for_xml = file->kind == XCTRACE_LFS_POINTER || file->kind == XCTRACE_EMPTY;
    if (file->kind == XCTRACE_OTHER || (stands_for_xml && !ends_in_xml(name)))
        memory_free(file->path);
    else
        files->count++;
    return true;
}

static int by_reading_order(const void *left, const void *right) {
    const struct xctrace_file *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Lists the files of a folder, without XCTRACE_OTHER. Call xctrace_files_finish() even after a
 * failure. */
static bool xctrace_files_list(const char *folder, struct xctrace_files *files,
                               struct status *status) {
    DIR *directory = opendir(folder);
    if (!directory)
        return status_fail_errno(status, "cannot read the folder %s", folder);
    bool ok = true;
    unsigned seen = 0;
    for (struct dirent *entry; ok && seen < FILES_MAX && (entry = readdir(directory)); seen++) {
        if (is_bundle_entry(entry->d_name))
            files->is_bundle = true;
        if (entry->d_name[0] != '.')
            ok = add_file(files, folder, entry->d_name, status);
    }
    closedir(directory);
    if (files->count)
        qsort(files->files, files->count, sizeof *files->files, by_reading_order);
    return ok;
}

static void xctrace_files_finish(struct xctrace_files *files) {
    for (size_t i = 0; i < files->count; i++)
        memory_free(files->files[i].path);
    memory_free(files->files);
}

static int detect_folder(const char *path) {
    struct xctrace_files files = {0};
    struct status ignored = {0};
    int confidence = 0;
    if (xctrace_files_list(path, &files, &ignored)) {
        if (files.is_bundle)
            confidence = 3;
        for (size_t i = 0; i < files.count; i++)
            if (files.files[i].kind == XCTRACE_TOC || files.files[i].kind == XCTRACE_TABLE)
                confidence = 3;
        if (files.count && confidence == 0)
            confidence = 1;
    }
    xctrace_files_finish(&files);
    return confidence;
}

static int xctrace_detect(const struct import_source *source) {
    struct text schema;
    if (source->is_folder)
        return detect_folder(source->path);
    switch (xctrace_file_kind((struct text){(const char *)source->head, source->head_length},
                              &schema)) {
    case XCTRACE_TOC:
    case XCTRACE_TABLE:
        return 3;
    default:
        return 0;
    }
}

#ifdef RIDGE_HAVE_EXPAT

/* ---- table of contents ---- */

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

static bool xctrace_toc_read(const char *path, struct xctrace_toc *toc, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = parse_toc(&input, toc, status);
    input_close(&input);
    return ok;
}

static void xctrace_toc_finish(struct xctrace_toc *toc) {
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

/* "2026-03-30T18:55:31.999-07:00" as nanoseconds since 1970; false without a zone or a sane year.
 */
static bool xctrace_date(struct text date, int64_t *unix_ns) {
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

/* ---- .trace bundles ---- */

extern char **environ;

static bool no_xctrace(const char *bundle, struct status *status) {
    return status_fail(
        status, STATUS_UNSUPPORTED,
        "is an Instruments bundle, which only Apple's xctrace can read; on a Mac run `mkdir x; "
        "xctrace export --input %s --toc --output x/toc.xml; for t in metal-gpu-intervals "
        "metal-application-encoders-list metal-command-buffer-completed metal-driver-intervals "
        "time-profile; do xctrace export --input %s --xpath "
        "\"/trace-toc/run[1]/data/table[@schema='$t']\" --output x/$t.xml; done` and pass the "
        "folder x",
        bundle, bundle);
}

/* Runs xctrace without output. *found is false when there is no such program. */
static bool run_xctrace(char *const *arguments, bool *found, int *result, struct status *status) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return status_no_memory(status);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    *found = failure != ENOENT;
    if (failure) {
        errno = failure;
        return status_fail_errno(status, "cannot run xctrace");
    }
    int wait_status;
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return status_fail_errno(status, "cannot wait for xctrace");
    *result = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128;
    *found = *result != 127;
    return true;
}

static bool export_one(const char *bundle, const char *xpath, const char *path,
                       struct status *status) {
    char *const whole[] = {"xctrace", "export",   "--input",    (char *)bundle,
                           "--toc",   "--output", (char *)path, NULL};
    char *const table[] = {"xctrace",      "export",     "--input",
                           (char *)bundle, "--xpath",    (char *)xpath,
                           "--output",     (char *)path, NULL};
    bool found = true;
    int result = 0;
    bool ran = run_xctrace(xpath ? table : whole, &found, &result, status);
    if (!found)
        return no_xctrace(bundle, status);
    if (ran && result != 0)
        return status_fail(status, STATUS_IO,
                           "xctrace export ended with status %d; run `xctrace export --input %s "
                           "--toc` to see why",
                           result, bundle);
    return ran;
}

static bool export_tables(const char *bundle, const char *folder, const struct xctrace_toc *toc,
                          struct status *status) {
    char path[4096], xpath[256];
    for (size_t i = 0; xctrace_kinds[i]; i++) {
        const char *schema = xctrace_kinds[i]->schema;
        if (intern_find(&toc->schemas, text_of(schema)) == UINT32_MAX)
            continue;
        snprintf(path, sizeof path, "%s/%s.xml", folder, schema);
        snprintf(xpath, sizeof xpath, "/trace-toc/run[@number=\"%llu\"]/data/table[@schema=\"%s\"]",
                 (unsigned long long)toc->run_number, schema);
        if (!export_one(bundle, xpath, path, status))
            return false;
    }
    return true;
}

static bool export_into(const char *bundle, const char *folder, struct status *status) {
    struct xctrace_toc toc = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/toc.xml", folder);
    bool ok = export_one(bundle, NULL, path, status) && xctrace_toc_read(path, &toc, status) &&
              export_tables(bundle, folder, &toc, status);
    xctrace_toc_finish(&toc);
    return ok;
}

static void xctrace_bundle_remove(const char *folder) {
    DIR *directory = opendir(folder);
    char path[4096];
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (directory)
        closedir(directory);
    rmdir(folder);
}

/* Runs xctrace to export the tables that ridge reads into a new folder, which the caller removes
 * with xctrace_bundle_remove() and frees. */
static bool xctrace_bundle_export(const char *bundle, char **folder, struct status *status) {
    if (!temporary_folder(folder, status))
        return false;
    if (export_into(bundle, *folder, status))
        return true;
    xctrace_bundle_remove(*folder);
    memory_free(*folder);
    return false;
}

/* ---- import ---- */

/* Rows per process, to choose a target when no table of contents names one. */
struct census {
    struct map rows; /* by pid */
    uint64_t best_pid, best_rows;
};

static const char *const census_columns[] = {"process", "thread", NULL};

static const char *const *census_schema(void *context, struct text name, unsigned run) {
    (void)context, (void)run;
    unsigned rank;
    return xctrace_kind_of(name, &rank) ? census_columns : NULL;
}

static bool census_row(void *context, const struct xctrace_table *table, const uint32_t *cells,
                       struct status *status) {
    struct census *census = context;
    uint64_t pid = xctrace_pid(table, cells[0] ? cells[0] : cells[1]);
    if (pid == 0)
        return true;
    const uint64_t *known = map_find(&census->rows, pid);
    uint64_t rows = known ? *known + 1 : 1;
    if (rows > census->best_rows) {
        census->best_rows = rows;
        census->best_pid = pid;
    }
    return map_set(&census->rows, pid, rows, status);
}

static bool read_table(const char *path, struct xctrace_reader *reader, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = xctrace_table_read(&input, reader, status);
    input_close(&input);
    return ok;
}

/* The table that is being imported. */
struct document {
    struct xctrace *import;
    const struct xctrace_kind *kind;
};

static const char *const *document_schema(void *context, struct text name, unsigned run) {
    struct document *document = context;
    struct xctrace *import = document->import;
    unsigned rank;
    document->kind = xctrace_kind_of(name, &rank);
    if (import->run == 0)
        import->run = run;
    if (run && run != import->run) {
        import->other_runs++;
        return NULL;
    }
    return document->kind ? document->kind->columns : NULL;
}

static bool document_row(void *context, const struct xctrace_table *table, const uint32_t *cells,
                         struct status *status) {
    struct document *document = context;
    struct xctrace *import = document->import;
    import->rows++;
    if (import->rows % 4096 == 0 && trace_writer_failed(import->writer))
        return false;
    return document->kind->row(import, table, cells, status);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool import_table(struct xctrace *import, const char *path, struct status *status) {
    struct document document = {.import = import};
    struct xctrace_reader reader = {
        .schema = document_schema, .row = document_row, .context = &document};
    bool ok = read_table(path, &reader, status);
    import->unresolved += reader.unresolved;
    return ok;
}

static bool read_toc(const char *path, struct xctrace_toc *toc, struct status *status) {
    return xctrace_toc_read(path, toc, status) || status_context(status, "%s", base_name(path));
}

static bool count_processes(const struct xctrace_file *tables, size_t count, struct census *census,
                            struct status *status) {
    struct xctrace_reader reader = {.schema = census_schema, .row = census_row, .context = census};
    for (unsigned wanted = 0; xctrace_kinds[wanted] && census->best_pid == 0; wanted++)
        for (size_t i = 0; i < count; i++)
            if (tables[i].kind == XCTRACE_TABLE && tables[i].rank == wanted &&
                !read_table(tables[i].path, &reader, status))
                return count > 1 ? status_context(status, "%s", base_name(tables[i].path)) : false;
    return true;
}

static bool guess_target(struct xctrace *import, const struct xctrace_file *tables, size_t count,
                         struct status *status) {
    struct census census = {0};
    bool ok = count_processes(tables, count, &census, status);
    import->target_pid = census.best_pid;
    if (ok && census.rows.count > 0) {
        struct buffer warning = {0};
        buffer_printf(&warning,
                      "no table of contents names the target process; using process %llu, which "
                      "has the most rows",
                      (unsigned long long)census.best_pid);
        trace_writer_meta_of(import->writer, META_WARNING, &warning);
        buffer_finish(&warning);
    }
    map_finish(&census.rows);
    return ok;
}

/* Chooses the table of contents whose target has rows in the table. */
static bool choose_toc(struct xctrace *import, const struct xctrace_files *beside,
                       const struct xctrace_file *table, struct status *status) {
    struct census census = {0};
    size_t toc_count = 0;
    while (toc_count < beside->count && beside->files[toc_count].kind == XCTRACE_TOC)
        toc_count++;
    bool ok = toc_count < 2 || count_processes(table, 1, &census, status);
    bool chosen = false;
    for (size_t i = 0; ok && !chosen && i < toc_count; i++) {
        struct xctrace_toc toc = {0};
        ok = read_toc(beside->files[i].path, &toc, status);
        chosen = ok && (toc_count == 1 || map_find(&census.rows, toc.target_pid));
        if (chosen)
            import->toc = toc;
        else
            xctrace_toc_finish(&toc);
    }
    map_finish(&census.rows);
    return ok;
}

static void write_text(struct xctrace *import, const char *key, struct text value) {
    if (value.length)
        trace_writer_meta(import->writer, key, value);
}

static void write_joined(struct xctrace *import, const char *key, struct text first,
                         const char *between, struct text second) {
    struct buffer joined = {0};
    buffer_text(&joined, first);
    if (second.length) {
        buffer_string(&joined, between);
        buffer_text(&joined, second);
    }
    if (joined.length || joined.failed)
        trace_writer_meta_of(import->writer, key, &joined);
    buffer_finish(&joined);
}

static void write_clock(struct xctrace *import) {
    int64_t start;
    import->time_limit = TRACE_TIME_LIMIT;
    if (import->toc.start_date.length && xctrace_date(import->toc.start_date, &start)) {
        trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("unix"));
        trace_writer_meta_integer(import->writer, META_CLOCK_OFFSET, start);
        import->time_limit -= start;
    } else {
        trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    }
}

static void write_header(struct xctrace *import) {
    const struct xctrace_toc *toc = &import->toc;
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("xctrace"));
    write_joined(import, META_SOURCE_TOOL, TEXT("Instruments"), " ", toc->instruments_version);
    write_joined(import, META_COMMAND, toc->target_name, " ", toc->target_arguments);
    write_text(import, META_HOST, toc->host);
    write_text(import, "host.model", toc->model);
    write_joined(import, "host.system", toc->system, " ", toc->system_version);
    write_text(import, "source.template", toc->template_name);
    write_text(import, "source.recording_mode", toc->recording_mode);
    write_text(import, "source.end_reason", toc->end_reason);
    write_text(import, "source.start_date", toc->start_date);
    write_clock(import);
    if (toc->run_count > 1)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the trace contains several runs; only the first was imported"));
}

static void write_count(struct xctrace *import, const char *key, uint64_t count) {
    if (count)
        trace_writer_meta_integer(import->writer, key, (int64_t)count);
}

static void write_counts(struct xctrace *import) {
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    write_count(import, "xctrace.foreign_gpu_rows", import->foreign);
    write_count(import, "xctrace.nested_gpu_rows", import->nested);
    write_count(import, "xctrace.rows_without_time", import->incomplete);
    write_count(import, "xctrace.unresolved_references", import->unresolved);
    write_count(import, "xctrace.unpaired_signposts", import->unpaired);
    write_count(import, "xctrace.tables_of_other_runs", import->other_runs);
    if (import->unresolved)
        trace_writer_meta(
            import->writer, META_WARNING,
            TEXT("some values refer to ids that the XML does not define and are missing"));
}

static void write_target(struct xctrace *import) {
    import->process = trace_write_process(
        import->writer, &(struct row_process){
                            .pid = import->target_pid,
                            .name = trace_writer_string(import->writer, import->toc.target_name),
                            .host = trace_writer_string(import->writer, import->toc.host),
                        });
}

static bool import_tables(struct xctrace *import, const struct xctrace_file *tables, size_t count,
                          struct status *status) {
    write_header(import);
    if (import->toc.run_count > 1)
        import->run = 1;
    import->target_pid = import->toc.target_pid;
    if (import->target_pid == 0 && !guess_target(import, tables, count, status))
        return false;
    write_target(import);
    for (size_t i = 0; i < count; i++)
        if (tables[i].kind == XCTRACE_TABLE && !import_table(import, tables[i].path, status))
            return count > 1 ? status_context(status, "%s", base_name(tables[i].path)) : false;
    xctrace_signposts_finish(import);
    write_counts(import);
    return xctrace_waits_infer(import, status);
}

static bool check_files(const struct xctrace_files *files, struct status *status) {
    size_t tables = 0, contents = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct xctrace_file *file = &files->files[i];
        if (file->kind == XCTRACE_LFS_POINTER)
            return status_fail(status, STATUS_INPUT,
                               "%s is a Git LFS pointer, not the table itself; run `git lfs pull`",
                               base_name(file->path));
        if (file->kind == XCTRACE_EMPTY)
            return status_fail(status, STATUS_INPUT, "%s is empty; export that table again",
                               base_name(file->path));
        tables += file->kind == XCTRACE_TABLE;
        contents += file->kind == XCTRACE_TOC;
    }
    if (contents > 1)
        return status_fail(status, STATUS_INPUT,
                           "the folder holds %zu tables of contents (%s, %s); put each recording "
                           "into its own folder",
                           contents, base_name(files->files[0].path),
                           base_name(files->files[1].path));
    if (tables == 0)
        return status_fail(
            status, STATUS_INPUT,
            "is a folder without tables that xctrace exported; pass a trace file, or run `xctrace "
            "export --xpath` for tables such as metal-gpu-intervals");
    return true;
}

static bool import_exports(struct xctrace *import, const struct xctrace_files *files,
                           struct status *status) {
    return check_files(files, status) &&
           (files->files[0].kind != XCTRACE_TOC ||
            read_toc(files->files[0].path, &import->toc, status)) &&
           import_tables(import, files->files, files->count, status);
}

static bool import_bundle(struct xctrace *import, const char *bundle, struct status *status) {
    struct xctrace_files files = {0};
    char *folder;
    if (!xctrace_bundle_export(bundle, &folder, status))
        return false;
    bool ok = xctrace_files_list(folder, &files, status) && import_exports(import, &files, status);
    xctrace_files_finish(&files);
    xctrace_bundle_remove(folder);
    memory_free(folder);
    return ok;
}

static bool import_folder(struct xctrace *import, const char *folder, struct status *status) {
    struct xctrace_files files = {0};
    bool ok = xctrace_files_list(folder, &files, status);
    if (ok && files.is_bundle && files.count == 0)
        ok = import_bundle(import, folder, status);
    else if (ok)
        ok = import_exports(import, &files, status);
    xctrace_files_finish(&files);
    return ok;
}

/* The folder of a file. */
static char *folder_of(const char *path, struct status *status) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return text_copy(TEXT("."), status);
    return text_copy((struct text){path, slash == path ? 1 : (size_t)(slash - path)}, status);
}

static bool import_one(struct xctrace *import, const char *path, struct status *status) {
    struct xctrace_file table = {.path = (char *)path};
    if (!xctrace_file_inspect(&table, status))
        return false;
    if (table.kind == XCTRACE_TOC)
        return status_fail(status, STATUS_INPUT,
                           "is a table of contents without events; pass the folder that contains "
                           "it and the exported tables");
    table.kind = XCTRACE_TABLE;
    struct xctrace_files beside = {0};
    struct status unlisted = {0};
    char *folder = folder_of(path, status);
    if (!folder)
        return false;
    bool listed = xctrace_files_list(folder, &beside, &unlisted);
    bool ok = listed || unlisted.code != STATUS_MEMORY || status_no_memory(status);
    ok = ok && choose_toc(import, &beside, &table, status) &&
         import_tables(import, &table, 1, status);
    xctrace_files_finish(&beside);
    memory_free(folder);
    return ok;
}

static void xctrace_finish(struct xctrace *import) {
    xctrace_signposts_finish(import);
    xctrace_toc_finish(&import->toc);
    intern_finish(&import->devices);
    intern_finish(&import->queues);
    map_finish(&import->threads);
    map_finish(&import->device_ids);
    map_finish(&import->queue_ids);
    map_finish(&import->command_buffers);
    xctrace_waits_finish(import);
    map_finish(&import->counter_names);
    map_finish(&import->frames);
    map_finish(&import->stacks);
}

static bool xctrace_run(const struct import_source *source, const struct import_options *options,
                        struct trace_writer *writer, struct status *status) {
    struct xctrace import = {.options = options, .writer = writer};
    bool ok = source->is_folder ? import_folder(&import, source->path, status)
                                : import_one(&import, source->path, status);
    xctrace_finish(&import);
    return ok;
}

const struct importer import_xctrace = {"xctrace", xctrace_detect, xctrace_run, NULL};

#else

const struct importer import_xctrace = {"xctrace", xctrace_detect, NULL, "expat"};

#endif
