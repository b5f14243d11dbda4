/* Texts and next steps of outcomes. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#include "../test.h"
#include "base/array.h"
#include "base/format.h"
#include "whatif/run.h"

static const struct loop plain = {.steps = 12,
                                  .kernels = 20,
                                  .host_time = 3000,
                                  .launch = 4000,
                                  .lag = 1500,
                                  .gap = 800,
                                  .duration = 30000,
                                  .sync = 5000,
                                  .sync_lag = 2000};

static bool run_changes(const struct scene *scene, const struct change *changes, size_t count,
                        struct outcome *outcome) {
    struct status status = {0};
    bool ok = replay_run(scene->replay, changes, count, outcome, &status);
    CHECK_OK(ok, status);
    return ok;
}

TEST(copies_with_most_of_the_time_are_next_with_direction_and_rate) {
    struct loop copies = plain;
    struct scene scene;
    struct outcome outcome;
    copies.kernels = 2;
    copies.copy = 4000000;
    copies.copy_bytes = 40000000;
    copies.copy_call = 4000;
    if (scene_loop(&scene, &copies) && run_changes(&scene, NULL, 0, &outcome)) {
        CHECK(outcome.copy_bound);
        CHECK_INT(outcome.next_direction, COPY_HTOD);
        CHECK_INT((int64_t)(outcome.next_rate / 1e6 + 0.5), 10000);
        outcome_finish(&outcome);
    }
    scene_close(&scene);
    if (scene_loop(&scene, &plain) && run_changes(&scene, NULL, 0, &outcome)) {
        CHECK(!outcome.copy_bound);
        CHECK(text_is(outcome.next_kernel, "gemm"));
        CHECK(outcome.next_kernel_share == 1);
        outcome_finish(&outcome);
    }
    scene_close(&scene);
}

TEST(a_name_that_nothing_has_is_answered_with_those_there_are) {
    static const struct {
        enum change_kind kind;
        const char *says;
    } cases[] = {
        {CHANGE_NO_SYNC, "no synchronizing call in the loop is named zzz; the trace has "
                         "cudaStreamSynchronize"},
        {CHANGE_NO_ALLOC, "no allocating or freeing call in the loop is named zzz; the trace has "
                          "cudaMalloc"},
        {CHANGE_NO_COMPILE, "nothing is compiled or loaded inside the loop"},
        {CHANGE_FUSE, "no kernel is named zzz; the trace has gemm"},
        {CHANGE_FASTER, "no kernel, range or sampled function is named zzz; the trace has gemm"},
    };
    struct loop with = plain;
    struct scene scene;
    struct outcome outcome;
    with.alloc = 20000;
    if (scene_loop(&scene, &with))
        for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
            struct change change = {.kind = cases[i].kind, .pattern = TEXT("zzz"), .factor = 2};
            if (run_changes(&scene, &change, 1, &outcome)) {
                CHECK(!outcome.applicable);
                CHECK_STRING(outcome.why_not, cases[i].says);
                outcome_finish(&outcome);
            }
        }
    scene_close(&scene);
}

TEST(what_becomes_slower_takes_more_not_less_than_nothing) {
    struct scene scene;
    struct outcome outcome;
    struct change kernels = {.kind = CHANGE_FASTER, .pattern = TEXT("gemm"), .factor = 0.5};
    struct change host = {.kind = CHANGE_FASTER, .pattern = TEXT("host"), .factor = 0.5};
    if (scene_loop(&scene, &plain)) {
        if (run_changes(&scene, &kernels, 1, &outcome)) {
            CHECK_STRING(outcome.what, "240 kernels take 7.20 ms more in total");
            CHECK(outcome.after > outcome.before);
            outcome_finish(&outcome);
        }
        if (run_changes(&scene, &host, 1, &outcome)) {
            CHECK(outcome.applicable);
            CHECK(strstr(outcome.what, " more") != NULL);
            CHECK(outcome.after > outcome.before);
            outcome_finish(&outcome);
        }
    }
    scene_close(&scene);
}

TEST(input_of_two_names_is_prepared_by_one_loader) {
    struct loop with = plain;
    struct scene scene;
    struct change both = {.kind = CHANGE_PREFETCH},
                  apart[] = {{.kind = CHANGE_PREFETCH, .pattern = TEXT("DataLoader")},
                             {.kind = CHANGE_PREFETCH, .pattern = TEXT("collate")}};
    with.input = 100000;
    with.compile = 50000;
    with.load = 1000;
    with.compiler = "collate";
    if (scene_loop(&scene, &with))
        CHECK_INT(scene_predict(&scene, apart, 2), scene_predict(&scene, &both, 1));
    scene_close(&scene);
}

TEST(the_order_in_which_input_is_named_does_not_matter) {
    struct loop with = plain;
    struct scene scene;
    struct change both = {.kind = CHANGE_PREFETCH},
                  apart[] = {{.kind = CHANGE_PREFETCH, .pattern = TEXT("collate")},
                             {.kind = CHANGE_PREFETCH, .pattern = TEXT("DataLoader")}};
    with.input = 5000000; /* the loader is the bottleneck */
    with.alloc = 1000;    /* between the two */
    with.compile = 3000000;
    with.load = 1000;
    with.compiler = "collate";
    if (scene_loop(&scene, &with))
        CHECK_INT(scene_predict(&scene, apart, 2), scene_predict(&scene, &both, 1));
    scene_close(&scene);
}

TEST(one_of_a_thing_is_singular) {
    char text[FORMAT_PLURAL_SIZE];
    CHECK_STRING(format_plural(1, "graph", "graphs", text), "1 graph");
    CHECK_STRING(format_plural(1234, "graph", "graphs", text), "1,234 graphs");
    CHECK_STRING(format_plural(0, "graph", "graphs", text), "0 graphs");
}

TEST(joined_texts_that_have_no_room_end_at_a_word) {
    char text[OUTCOME_TEXT] = "";
    for (int i = 0; i < 100; i++)
        text_join(text, "shapes do not change");
    size_t length = strlen(text);
    CHECK(length < OUTCOME_TEXT);
    CHECK(length > OUTCOME_TEXT - 40);
    CHECK_STRING(text + length - 3, "\xE2\x80\xA6");
    static const char *const words[] = {"change;", "shapes", "do", "not"};
    bool whole = false;
    for (size_t i = 0; i < 4; i++) {
        size_t word = strlen(words[i]);
        whole |= memcmp(text + length - 3 - word, words[i], word) == 0;
    }
    CHECK(whole);
    CHECK(strncmp(text, "shapes do not change; shapes", 28) == 0);
}

TEST(however_many_assumptions_a_prediction_makes_it_is_not_off_by_more_than_its_gain) {
    enum { CHANGES = 40 };
    struct change changes[CHANGES];
    struct scene scene;
    struct outcome outcome;
    for (unsigned i = 0; i < CHANGES; i++)
        changes[i] =
            (struct change){.kind = CHANGE_FASTER, .pattern = TEXT("gemm"), .factor = 1.01};
    if (scene_loop(&scene, &plain) && run_changes(&scene, changes, CHANGES, &outcome)) {
        CHECK(outcome.after < outcome.before);
        CHECK_INT(outcome.error, outcome.before - outcome.after);
        outcome_finish(&outcome);
    }
    scene_close(&scene);
}
