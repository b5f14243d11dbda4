/* The two sentences at the top: what a manager would understand, and what an engineer would do. */
#include <stdio.h>

#include "diagnose/diagnosis.h"

/* The rest of "For N % of the time ..." or a whole clause of what is wrong, without a term of the
 * trade. */
static const char *plain_words(enum finding_kind kind) {
    static const char *const words[FINDING_COUNT] = {
        [FINDING_LAUNCH_BOUND] = "@ waits for the program to tell it what to do",
        [FINDING_TINY_KERNELS] = "the work comes in pieces that are too small",
        [FINDING_HOST_BOUND] = "@ waits while the program does something else",
        [FINDING_SYNC_IN_LOOP] = "the program and @ wait for each other in turn",
        [FINDING_EXPOSED_TRANSFERS] = "@ waits for data to be moved",
        [FINDING_SMALL_TRANSFERS] = "data is moved in pieces that are too small",
        [FINDING_PAGEABLE] = "data is moved by a slow way",
        [FINDING_ALLOCATION] = "memory is asked for and given back again and again",
        [FINDING_COMPILATION] = "the program translates parts of itself while it should run",
        [FINDING_MEMORY_BOUND] = "@ waits for its own memory",
        [FINDING_COMPUTE_BOUND] = "@ calculates in a slower way than it could",
        [FINDING_LATENCY_BOUND] = "the pieces of work are too short for @",
        [FINDING_LOW_OCCUPANCY] = "@ cannot take on enough work at once",
        [FINDING_SMALL_GRID] = "only a part of @ has work",
        [FINDING_TAIL] = "a part of @ is done early and waits for the rest",
        [FINDING_ONE_QUEUE] = "work that could be done side by side is done in turn",
        [FINDING_INPUT_PIPELINE] = "@ waits for its input to be prepared",
        [FINDING_IRREGULAR_STEPS] = "some turns take much longer than the others",
        [FINDING_THROTTLING] = "@ runs slower than it can",
        [FINDING_MEMORY_PRESSURE] = "@'s memory is too full",
        [FINDING_ON_CPU] = "work is done by the slower processor",
    };
    return words[kind] ? words[kind] : "something holds it up";
}

/* What does the work, in a manager's word. */
static const char *worker(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    if (source->device_count == 0)
        return "the GPU";
    const struct trace *trace = diagnosis->trace;
    struct text label = trace_text(trace, trace->device.label[source->devices[0].id]);
    return text_starts(label, "cpu") ? "the processor" : "the GPU";
}

/* plain_words() with the worker in place of '@'. */
static void add_words(struct buffer *words, const struct diagnosis *diagnosis,
                      enum finding_kind kind) {
    for (const char *c = plain_words(kind); *c; c++)
        if (*c == '@')
            buffer_string(words, worker(diagnosis));
        else
            buffer_byte(words, *c);
    buffer_byte(words, 0);
}

/* Of a fault whose gain is known. */
static void say_gain(struct diagnosis *diagnosis, const struct finding *first, const char *words) {
    struct verdict *verdict = diagnosis->verdict;
    double left = share_of(verdict->time - first->recoverable, verdict->time);
    char part[FORMAT_SIZE];
    snprintf(part, sizeof part, "%.0f%%", 100 * share_of(first->recoverable, verdict->time));
    if (left > 0.02 && left < 0.87)
        diagnose_say(diagnosis, &verdict->manager,
                     "For about %s of the time %s; mending that would make it about %.*f times as "
                     "fast.",
                     part, words, 1 / left < 10 ? 1 : 0, 1 / left);
    else
        diagnose_say(diagnosis, &verdict->manager,
                     "For about %s of the time %s; mending that would save as much.", part, words);
}

static void say_manager(struct diagnosis *diagnosis, const struct finding *first) {
    struct verdict *verdict = diagnosis->verdict;
    const struct facts *facts = &diagnosis->facts;
    struct buffer words = {0};
    char used[FORMAT_SIZE];
    add_words(&words, diagnosis, first->kind);
    if (!buffer_ok(&words, diagnosis->status))
        diagnosis->failed = true;
    else if (first->kind == FINDING_HEALTHY)
        diagnose_say(diagnosis, &verdict->manager, "%c%s is at work %s of the time, and %s.", 'T',
                     worker(diagnosis) + 1,
                     format_percent(share_of(facts->busy, facts->window), used),
                     gain_is_small(verdict)
                         ? "no simple change would make it much faster"
                         : "what could be gained is too unsure, or too much work, to call a fault");
    else if (first->kind == FINDING_UNDECIDED && kernels_are_missing(facts))
        diagnose_say(diagnosis, &verdict->manager,
                     "This recording does not show what the GPU did: it has GPU API calls, but no "
                     "kernels.");
    else if (first->kind == FINDING_UNDECIDED)
        diagnose_say(diagnosis, &verdict->manager,
                     "This recording does not tell what holds the run back.");
    else if (first->kind == FINDING_ON_CPU && diagnosis->source->device_count == 0)
        diagnose_say(diagnosis, &verdict->manager,
                     "No GPU activity was recorded; this is a profile of the CPU.");
    else if (first->holds)
        diagnose_say(diagnosis, &verdict->manager,
                     "For about %s of the time %s; only moving less would change that.",
                     format_percent(share_of(facts->exposed_copy, facts->window), used),
                     words.data);
    else if (first->recoverable < verdict->time / 100)
        diagnose_say(diagnosis, &verdict->manager,
                     "What takes the time: %s; how much mending that would save is not known.",
                     words.data);
    else
        say_gain(diagnosis, first, words.data);
    buffer_finish(&words);
}

/* What was lost or cut, in a few words; NULL: nothing. */
static void say_caution(struct diagnosis *diagnosis) {
    const struct data_quality *quality = diagnosis->source->quality;
    char **caution = &diagnosis->verdict->caution;
    char lost[FORMAT_SIZE];
    if (!quality)
        return;
    if (quality->truncated_bytes || quality->damaged_bytes || quality->missing_chunks ||
        quality->truncated_source.length)
        diagnose_say(diagnosis, caution,
                     "Caution: the recording is cut or damaged, so this is a verdict on what is "
                     "left of it; see the last section.");
    else if (quality->dropped)
        diagnose_say(diagnosis, caution,
                     "Caution: %s events were lost while recording, so figures may be off.",
                     format_count(quality->dropped, lost));
}

void diagnose_sentences(struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    const struct finding *first = &verdict->findings[0];
    const char *summary = first->summary ? first->summary : "";
    say_manager(diagnosis, first);
    say_caution(diagnosis);
    if (kernels_are_missing(&diagnosis->facts) && first->fix_count)
        diagnose_say(diagnosis, &verdict->engineer, "%s. %s.", summary, first->fixes[0].words);
    else if (first->kind == FINDING_HEALTHY || first->kind == FINDING_UNDECIDED ||
             !first->fix_count)
        diagnose_say(diagnosis, &verdict->engineer, "%s.", summary);
    else if (first->kind == FINDING_ON_CPU)
        diagnose_say(diagnosis, &verdict->engineer, "%s. %s.", summary, first->fixes[0].words);
    else
        diagnose_say(diagnosis, &verdict->engineer, "%s: %s.", first->fixes[0].words, summary);
}
