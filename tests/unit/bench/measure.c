/* measure() with works whose batch times the test sets: no real time passes, except for the
 * reference loop between batches. */
#include "../test.h"

#include <math.h>
#include <stdint.h>

#include "base/array.h"
#include "bench/measure.h"

struct made {
    double call_ns;
    double first_ns;    /* the first call on top */
    double overhead_ns; /* of each batch */
    double cold;        /* the first `cold_calls` calls take this many times as long */
    unsigned cold_calls;
    unsigned hiccup; /* the batch of this number takes a fifth of a second longer; 0: none */
    unsigned batches, calls;
    unsigned largest;
    unsigned fails_at; /* a batch; 0: none */
    double says;       /* what each batch is said to take, if not 0 */
};

static bool made_batch(void *context, unsigned calls, double *ns, struct status *status) {
    struct made *made = context;
    *ns = made->overhead_ns + (made->calls == 0 ? made->first_ns : 0);
    for (unsigned i = 0; made->says == 0 && i < calls; i++)
        *ns += made->call_ns * (made->calls + i < made->cold_calls ? made->cold : 1);
    made->calls += calls;
    made->largest = calls > made->largest ? calls : made->largest;
    if (++made->batches == made->hiccup)
        *ns += 200e6;
    if (made->says != 0)
        *ns = made->says;
    return made->batches != made->fails_at || status_fail(status, STATUS_IO, "the device is gone");
}

static struct measurement measured(struct made *made, const struct measure_plan *plan) {
    struct measurement result;
    struct measured_work work = {.context = made, .batch = made_batch};
    struct status status = {0};
    CHECK_OK(measure(plan, &work, 1, &result, &status), status);
    return result;
}

static const struct measure_plan second = {.seconds = 1, .precision = 0.01};

TEST(a_steady_call_is_measured_exactly_and_quickly) {
    struct made made = {.call_ns = 1000, .first_ns = 5e8};
    struct measurement result = measured(&made, &second);
    CHECK(result.steady && fabs(result.time.median - 1000) < 1e-6);
    CHECK(result.sample_count >= 15 && result.sample_count < 40);
    CHECK(result.calls * 1000.0 >= 1e6); /* a batch is much longer than the waiting */
    CHECK(result.pace > 0 && result.own_ns > 0);
}

TEST(what_a_batch_costs_besides_its_calls_hardly_shows) {
    struct made made = {.call_ns = 100, .overhead_ns = 5000};
    struct measurement result = measured(&made, &second);
    CHECK(result.time.median < 101);
}

TEST(a_hiccup_while_calls_are_counted_does_not_leave_batches_of_one_call) {
    for (unsigned hiccup = 1; hiccup < 8; hiccup++) {
        struct made made = {.call_ns = 1000, .overhead_ns = 5000, .hiccup = hiccup};
        struct measurement result = measured(&made, &second);
        CHECK(result.calls >= 500);
        CHECK(result.time.median < 1020);
    }
}

TEST(a_warm_up_lasts_until_calls_stop_getting_faster) {
    struct made made = {.call_ns = 1e5, .cold = 3, .cold_calls = 200};
    struct measurement result = measured(&made, &second);
    CHECK(result.warm_up_calls > 200);
    CHECK(fabs(result.time.median - 1e5) < 1);
}

TEST(a_call_of_many_seconds_is_made_only_a_few_times) {
    struct made made = {.call_ns = 5e9};
    struct measurement result = measured(&made, &second);
    CHECK(made.calls <= 5);
    CHECK_INT(result.sample_count, 3);
    CHECK_INT(made.largest, 1);
    struct made shorter = {.call_ns = 3e8};
    result = measured(&shorter, &second);
    CHECK(shorter.calls <= 12 && result.sample_count >= 7);
}

TEST(exactly_the_iterations_that_were_asked_for_are_timed) {
    static const unsigned wanted[] = {1, 2, 3, 7, 29, 30, 31, 100, 128, 1000, 12345};
    static const double lengths[] = {50, 1e5, 4e7};
    for (unsigned i = 0; i < ARRAY_COUNT(wanted); i++)
        for (unsigned l = 0; l < 3; l++) {
            struct made made = {.call_ns = lengths[l]};
            struct measure_plan plan = {.seconds = 1, .precision = 0.01, .iterations = wanted[i]};
            struct measurement result = measured(&made, &plan);
            CHECK_INT(made.calls - result.warm_up_calls, wanted[i]);
            CHECK(result.sample_count >= (wanted[i] < 7 ? wanted[i] : 7));
            CHECK(result.calls >= 1 && fabs(result.time.median - lengths[l]) < 1e-6 * lengths[l]);
        }
}

TEST(works_measured_together_get_as_many_samples_and_take_turns) {
    struct made fast = {.call_ns = 1e4}, slow = {.call_ns = 7e4};
    struct measured_work works[2] = {{&fast, made_batch}, {&slow, made_batch}};
    struct measurement results[2];
    struct status status = {0};
    CHECK_OK(measure(&second, works, 2, results, &status), status);
    CHECK_INT(results[0].sample_count, results[1].sample_count);
    CHECK(fabs(results[0].time.median - 1e4) < 1e-3 && fabs(results[1].time.median - 7e4) < 1e-3);
}

TEST(a_batch_that_fails_or_takes_no_possible_time_ends_the_measurement) {
    static const double said[] = {NAN, INFINITY};
    struct measurement result;
    for (unsigned at = 1; at < 20; at += 6) {
        struct made made = {.call_ns = 1000, .fails_at = at};
        struct measured_work work = {&made, made_batch};
        struct status status = {0};
        CHECK(!measure(&second, &work, 1, &result, &status));
        CHECK_STRING(status.message, "the device is gone");
        CHECK_INT(made.batches, at);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct made made = {.says = said[i]};
        struct measured_work work = {&made, made_batch};
        struct status status = {0};
        CHECK(!measure(&second, &work, 1, &result, &status));
    }
}

TEST(calls_that_take_no_time_at_all_end_too) {
    struct made made = {.says = -5};
    struct measurement result = measured(&made, &second);
    CHECK(result.time.median > 0 && result.sample_count > 0);
    struct measure_plan nothing = {0};
    struct made again = {.call_ns = 1000};
    result = measured(&again, &nothing);
    CHECK(result.sample_count > 0);
}

TEST(every_round_has_the_same_weight_in_their_sum) {
    struct measurement sum = {0};
    unsigned of_round[10] = {0};
    for (unsigned r = 0; r < 10; r++) {
        struct measurement round = {.calls = 1, .pace = 50 - r, .own_ns = 1, .steady = r != 4};
        round.sample_count = 100;
        for (unsigned i = 0; i < 100; i++)
            round.samples[i] = r + 1;
        measurement_add(&sum, &round);
        CHECK(sum.sample_count <= MEASURE_SAMPLES);
    }
    for (unsigned i = 0; i < sum.sample_count; i++)
        of_round[(unsigned)sum.samples[i] - 1]++;
    for (unsigned r = 0; r < 10; r++)
        CHECK(of_round[r] >= 5 && of_round[r] + 2 >= of_round[0] && of_round[r] <= of_round[0] + 2);
    CHECK(sum.pace == 41 && sum.own_ns == 10 && !sum.steady && sum.time.count == sum.sample_count);
}

TEST(sums_of_rounds_add_up_whichever_has_more_samples_left_out) {
    struct measurement few = {.sample_count = 64}, many = {.sample_count = 64, .thinned = 2};
    for (unsigned i = 0; i < 64; i++) {
        few.samples[i] = 1;
        many.samples[i] = 2;
    }
    struct measurement sum = few, other = many;
    measurement_add(&sum, &many);
    measurement_add(&other, &few);
    CHECK_INT(sum.sample_count, 16 + 64);
    CHECK_INT(other.sample_count, sum.sample_count);
    CHECK(sum.thinned == 2 && other.thinned == 2);
    few.thinned = 4000000000u; /* as a file may say */
    measurement_add(&sum, &few);
    CHECK(sum.sample_count <= MEASURE_SAMPLES);
}
