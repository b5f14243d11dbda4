/* The parts of a finding: its texts, evidence and fixes. */
#include "diagnose/finding.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

static const struct {
    const char *key, *title;
} kinds[] = {
#define FINDING_ROW(ID, key, title) {key, title},
    FINDINGS(FINDING_ROW)};

const char *finding_key(unsigned kind) {
    return kind < FINDING_COUNT ? kinds[kind].key : "?";
}

const char *finding_title(unsigned kind) {
    return kind < FINDING_COUNT ? kinds[kind].title : "?";
}

const char *confidence_name(unsigned confidence) {
    static const char *const names[] = {"low", "medium", "high"};
    return confidence <= CONFIDENCE_HIGH ? names[confidence] : "?";
}

const char *effort_name(unsigned effort) {
    static const char *const names[] = {"a setting", "some lines", "a change of design"};
    return effort <= EFFORT_DESIGN ? names[effort] : "?";
}

/* ---- texts ---- */

static char *format_text(struct diagnosis *diagnosis, const char *format, va_list arguments) {
    struct buffer words = {0};
    buffer_vprintf(&words, format, arguments);
    char *copy = buffer_ok(&words, diagnosis->status)
                     ? text_copy(buffer_as_text(&words), diagnosis->status)
                     : NULL;
    diagnosis->failed |= !copy;
    buffer_finish(&words);
    return copy;
}

void diagnose_set_text(struct diagnosis *diagnosis, char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *words = format_text(diagnosis, format, arguments);
    va_end(arguments);
    memory_free(*text);
    *text = words;
}

void finding_summary(struct diagnosis *diagnosis, struct finding *finding, const char *format,
                     ...) {
    va_list arguments;
    va_start(arguments, format);
    memory_free(finding->summary);
    finding->summary = format_text(diagnosis, format, arguments);
    va_end(arguments);
    diagnose_set_text(diagnosis, &finding->observation, "%s",
                      finding->summary ? finding->summary : "");
}

void finding_gain(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...) {
    va_list arguments;
    if (finding->recoverable <= 0)
        return;
    va_start(arguments, format);
    memory_free(finding->gain);
    finding->gain = format_text(diagnosis, format, arguments);
    va_end(arguments);
    diagnose_set_text(diagnosis, &finding->summary, "%s; %s",
                      finding->observation ? finding->observation : "",
                      finding->gain ? finding->gain : "");
}

void finding_best_gain(struct diagnosis *diagnosis, struct finding *finding, const char *format,
                       ...) {
    char change[FROM_TO_SIZE];
    va_list arguments;
    va_start(arguments, format);
    char *how = format_text(diagnosis, format, arguments);
    va_end(arguments);
    finding->at_best = true;
    if (how)
        finding_gain(diagnosis, finding, "%s, at best %s", how,
                     from_to(diagnosis, finding->recoverable, change));
    memory_free(how);
}

void finding_cause(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    memory_free(finding->cause);
    finding->cause = format_text(diagnosis, format, arguments);
    va_end(arguments);
}

void finding_evidence(struct diagnosis *diagnosis, struct finding *finding, struct evidence about,
                      const char *format, ...) {
    va_list arguments;
    size_t capacity = finding->evidence_count;
    if (!GROW(finding->evidence, &capacity, finding->evidence_count + 1, diagnosis->status)) {
        diagnosis->failed = true;
        return;
    }
    va_start(arguments, format);
    about.words = format_text(diagnosis, format, arguments);
    va_end(arguments);
    if (about.words)
        finding->evidence[finding->evidence_count++] = about;
}

/* The prefix of a kernel's short name that needs no quotes in a shell, as a what-if pattern. */
static struct text kernel_pattern(struct text name, char text[NAME_SIZE], bool *failed) {
    struct buffer buffer = {0};
    struct status ignored;
    *failed |= !kernel_short_name(name, &buffer, &ignored);
    struct text words = buffer_as_text(&buffer);
    size_t length = 0;
    while (length < words.length && length < NAME_SIZE - 1 &&
           (words.data[length] == '_' || words.data[length] == ':' ||
            (words.data[length] >= '0' && words.data[length] <= '9') ||
            ((words.data[length] | 32) >= 'a' && (words.data[length] | 32) <= 'z')))
        length++;
    if (length)
        memcpy(text, words.data, length);
    text[length] = 0;
    buffer_finish(&buffer);
    return (struct text){text, length};
}

struct text change_pattern(const struct change *change, char text[NAME_SIZE], bool *failed) {
    bool kernels = change->kind == CHANGE_FASTER || change->kind == CHANGE_AT_ROOF ||
                   change->kind == CHANGE_FUSE;
    return kernels && kernel_pattern(change->pattern, text, failed).length ? text_of(text)
                                                                           : change->pattern;
}

static void write_change(struct buffer *words, const struct change *change) {
    char text[NAME_SIZE];
    struct text pattern = change_pattern(change, text, &words->failed);
    const char *quote = pattern.data == text || text_find(pattern, "'") >= 0 ? "" : "'";
    buffer_printf(words, "%s--%s", words->length ? " " : "", change_option(change->kind));
    if (change->kind == CHANGE_FASTER)
        buffer_printf(words, " %s%.*s%s=%.3gx", quote, TEXT_ARGS(pattern), quote, change->factor);
    else if (change->kind == CHANGE_BATCH)
        buffer_printf(words, " %.0f", change->factor);
    else if (pattern.length)
        buffer_printf(words, "=%s%.*s%s", quote, TEXT_ARGS(pattern), quote);
}

static bool is_replayed(const struct finding *finding, const char *option) {
    for (size_t i = 0; i < finding->change_count; i++)
        if (strcmp(option + 2, change_option(finding->changes[i].kind)) == 0)
            return true;
    return false;
}

/* The options that reproduce the finding's gain if `option` belongs to one of its changes. */
static char *write_command(struct diagnosis *diagnosis, const struct finding *finding,
                           const char *option) {
    struct buffer words = {0};
    bool replayed = is_replayed(finding, option);
    buffer_string(&words, diagnosis->source->part_options ? diagnosis->source->part_options : "");
    for (size_t i = 0; replayed && i < finding->change_count; i++)
        write_change(&words, &finding->changes[i]);
    if (!replayed)
        buffer_printf(&words, "%s%s", words.length ? " " : "", option);
    char *command = buffer_ok(&words, diagnosis->status)
                        ? text_copy(buffer_as_text(&words), diagnosis->status)
                        : NULL;
    diagnosis->failed |= !command;
    buffer_finish(&words);
    return command;
}

void finding_fix(struct diagnosis *diagnosis, struct finding *finding, enum effort effort,
                 const char *command, const char *format, ...) {
    va_list arguments;
    size_t capacity = finding->fix_count;
    if (!GROW(finding->fixes, &capacity, finding->fix_count + 1, diagnosis->status)) {
        diagnosis->failed = true;
        return;
    }
    va_start(arguments, format);
    char *words = format_text(diagnosis, format, arguments);
    va_end(arguments);
    if (words)
        finding->fixes[finding->fix_count++] =
            (struct fix){.effort = effort,
                         .words = words,
                         .command = command ? write_command(diagnosis, finding, command) : NULL,
                         .replayed = command && is_replayed(finding, command)};
}

void diagnose_add_missing(struct diagnosis *diagnosis, const char *format, ...) {
    struct verdict *verdict = diagnosis->verdict;
    va_list arguments;
    if (!GROW(verdict->missing, &diagnosis->missing_capacity, verdict->missing_count + 1,
              diagnosis->status)) {
        diagnosis->failed = true;
        return;
    }
    va_start(arguments, format);
    char *words = format_text(diagnosis, format, arguments);
    va_end(arguments);
    if (words)
        verdict->missing[verdict->missing_count++] = words;
}

char *from_to(const struct diagnosis *diagnosis, int64_t gain, char text[FROM_TO_SIZE]) {
    return from_to_after(diagnosis, 0, gain, text);
}

char *from_to_after(const struct diagnosis *diagnosis, int64_t gained, int64_t gain,
                    char text[FROM_TO_SIZE]) {
    char before[FORMAT_SIZE], after[FORMAT_SIZE];
    int64_t time = diagnosis->verdict->time - gained;
    snprintf(text, FROM_TO_SIZE, "%s -> %s%s", format_duration(per_step(diagnosis, time), before),
             format_duration(per_step(diagnosis, time - gain), after),
             diagnosis->source->step_count ? " a step" : "");
    return text;
}

/* "dir/file.py(12): function" without its directories. */
static struct text without_directories(struct text words) {
    size_t start = words.length;
    if (text_find(words, ".py(") < 0)
        return words;
    while (start > 0 && words.data[start - 1] != '/')
        start--;
    return (struct text){words.data + start, words.length - start};
}

char *short_name(struct text words, char text[NAME_SIZE]) {
    if (words.length > 60)
        words = without_directories(words);
    bool cut = words.length > 60;
    if (cut)
        words.length = text_utf8_valid((struct text){words.data, 57});
    snprintf(text, NAME_SIZE, "%.*s%s", TEXT_ARGS(words), cut ? "…" : "");
    return text;
}

char *short_kernel(struct diagnosis *diagnosis, uint32_t name, char text[NAME_SIZE]) {
    struct buffer buffer = {0};
    diagnosis->failed |=
        !kernel_short_name(trace_text(diagnosis->trace, name), &buffer, diagnosis->status);
    short_name(buffer_as_text(&buffer), text);
    buffer_finish(&buffer);
    return text;
}

/* ---- findings ---- */

struct finding *diagnose_add(struct diagnosis *diagnosis, enum finding_kind kind,
                             enum confidence confidence) {
    struct verdict *verdict = diagnosis->verdict;
    struct finding *finding = &diagnosis->discarded;
    if (memory_grow((void **)&verdict->findings, &diagnosis->findings_capacity, verdict->count + 1,
                    sizeof *verdict->findings, diagnosis->status))
        finding = &verdict->findings[verdict->count++];
    else
        finding_finish(finding);
    diagnosis->failed |= finding == &diagnosis->discarded;
    *finding = (struct finding){.kind = kind, .confidence = confidence};
    return finding;
}

void diagnose_lead(struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    if (diagnosis->failed || verdict->count == 0)
        return;
    struct finding last = verdict->findings[verdict->count - 1];
    memmove(verdict->findings + 1, verdict->findings,
            (verdict->count - 1) * sizeof *verdict->findings);
    verdict->findings[0] = last;
}

void finding_finish(struct finding *finding) {
    for (size_t i = 0; i < finding->evidence_count; i++)
        memory_free(finding->evidence[i].words);
    for (size_t i = 0; i < finding->fix_count; i++) {
        memory_free(finding->fixes[i].words);
        memory_free(finding->fixes[i].command);
    }
    memory_free(finding->evidence);
    memory_free(finding->fixes);
    memory_free(finding->headline);
    memory_free(finding->observation);
    memory_free(finding->gain);
    memory_free(finding->summary);
    memory_free(finding->cause);
    memory_free(finding->assumes);
    *finding = (struct finding){0};
}

void finding_change(struct finding *finding, enum change_kind kind, struct text pattern,
                    double factor) {
    if (kind == CHANGE_FASTER && pattern.length == 0)
        return; /* a kernel without a name cannot be selected */
    if (finding->change_count < ARRAY_COUNT(finding->changes))
        finding->changes[finding->change_count++] = (struct change){
            .kind = kind, .pattern = pattern, .factor = factor, .device = finding->device};
}

const char *verdict_order_words(const struct verdict *verdict) {
    for (size_t i = 1; i < verdict->count; i++)
        if (!verdict->findings[i].minor && verdict->findings[i - 1].kind != FINDING_UNDECIDED &&
            !verdict->findings[i - 1].holds &&
            verdict->findings[i].recoverable > verdict->findings[i - 1].recoverable)
            return "Findings are ranked by gain times confidence; within the error bars the more "
                   "specific one comes first, and a setting that gains nearly as much.";
    return NULL;
}

void verdict_finish(struct verdict *verdict) {
    for (size_t i = 0; i < verdict->count; i++)
        finding_finish(&verdict->findings[i]);
    for (size_t i = 0; i < verdict->missing_count; i++)
        memory_free(verdict->missing[i]);
    memory_free(verdict->missing);
    memory_free(verdict->findings);
    memory_free(verdict->part);
    memory_free(verdict->manager);
    memory_free(verdict->engineer);
    memory_free(verdict->caution);
    *verdict = (struct verdict){0};
}
