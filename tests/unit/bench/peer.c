/* Peers that are shell scripts, named by RIDGE_PYTHON: those that answer, and every way in which
 * they fail to. The last tests run peer.py itself, without a framework and with a fake one. */
#include "../test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "bench/peer/peer.h"

static const struct peer_patience long_patience = {.start = 60, .prepare = 60, .batch = 60};
/* Only for a script that never answers: on a busy machine any other could be too late. */
static const struct peer_patience short_patience = {.start = 60, .prepare = 60, .batch = 0.3};

#define GREETING "echo 'ridge-peer ready A 1.0 on B'\n"
#define PREPARED "read line; echo 'ridge-peer prepared 1000'\n"

/* Starts a peer that is this shell script. */
static struct peer *start_script(const char *script, const struct peer_patience *patience,
                                 struct status *status) {
    const char *path = test_temporary(".sh");
    FILE *file = fopen(path, "w");
    if (!file)
        return NULL;
    fprintf(file, "#!/bin/sh\n%s", script);
    fclose(file);
    chmod(path, 0700);
    setenv("RIDGE_PYTHON", path, 1);
    struct peer *peer = peer_start_within("torch", "cpu", patience, status);
    unsetenv("RIDGE_PYTHON");
    return peer;
}

static bool prepare(struct peer *peer, bool *has, struct status *status) {
    struct peer_work work = {
        .name = "add",
        .inputs = {{.rank = 1, .sizes = {16}, .scale = 1}, {.rank = 1, .sizes = {16}, .scale = 1}},
        .input_count = 2,
        .turns = 2};
    return peer_prepare(peer, &work, has, status);
}

/* The number that the script wrote into the file, its own process; then whether that is alive. */
static bool is_alive(const char *path) {
    long id = 0;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &id) != 1 || id <= 1)
        test_failed(__FILE__, __LINE__, "the script left no number");
    if (file)
        fclose(file);
    return id > 1 && (kill((pid_t)id, 0) == 0 || errno != ESRCH);
}

TEST(a_peer_is_described_prepared_and_timed) {
    struct status status = {0};
    double ns = 0;
    bool has = false;
    struct peer *peer = start_script(GREETING PREPARED "read line; echo \"ridge-peer took 12345\"\n"
                                                       "read line\n",
                                     &long_patience, &status);
    REQUIRE(peer);
    CHECK_STRING(peer_description(peer), "A 1.0 on B");
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(has);
    CHECK_OK(peer_batch(peer, 3, &ns, &status), status);
    CHECK_INT(ns, 12345);
    peer_stop(peer);
}

TEST(a_peer_is_told_the_framework_the_device_and_the_work) {
    struct status status = {0};
    bool has = true;
    struct peer *peer = start_script("echo \"ridge-peer ready $3 $4\"\n"
                                     "read line; echo \"ridge-peer failed $line\"\n",
                                     &long_patience, &status);
    REQUIRE(peer);
    CHECK_STRING(peer_description(peer), "torch cpu");
    CHECK(!prepare(peer, &has, &status));
    CHECK(strstr(status.message, "\"name\":\"add\""));
    CHECK(strstr(status.message, "{\"dtype\":\"f32\",\"scale\":1,\"sizes\":[16]}"));
    CHECK(strstr(status.message, "\"turns\":2"));
    peer_stop(peer);
}

TEST(what_a_peer_prints_besides_its_answers_is_passed_over) {
    struct status status = {0};
    double ns = 0;
    bool has = false;
    struct peer *peer =
        start_script("echo 'loading...'; echo 'a warning' >&2\n"
                     "head -c 100000 /dev/zero | tr '\\0' x; echo\n" /* a very long line */
                     GREETING "read line; echo; echo 'and more'; echo 'ridge-peer prepared 5'\n"
                     "read line; printf 'ridge-peer to'; sleep 0.1; echo 'ok 6'\n",
                     &long_patience, &status);
    REQUIRE(peer);
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(has);
    CHECK_OK(peer_batch(peer, 1, &ns, &status), status);
    CHECK_INT(ns, 6);
    peer_stop(peer);
}

TEST(a_framework_that_is_not_installed_is_said_in_its_own_words) {
    struct status status = {0};
    CHECK(!start_script("echo 'ridge-peer unusable X is not installed for Y'\n", &long_patience,
                        &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK_STRING(status.message, "X is not installed for Y");
}

TEST(an_interpreter_that_is_not_there_is_named_with_what_to_do) {
    struct status status = {0};
    setenv("RIDGE_PYTHON", "/nowhere/python3", 1);
    CHECK(!peer_start("jax", "cpu", &status));
    unsetenv("RIDGE_PYTHON");
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK_STRING(status.message,
                 "cannot start /nowhere/python3: No such file or directory; for JAX install "
                 "Python 3 and it, or set RIDGE_PYTHON to an interpreter that has it");
}

TEST(a_framework_that_nobody_knows_is_refused) {
    struct status status = {0};
    CHECK(!peer_start("tensorflow", "cpu", &status));
    CHECK_INT(status.code, STATUS_USAGE);
}

TEST(work_that_a_peer_lacks_is_no_failure) {
    struct status status = {0};
    bool has = true;
    struct peer *peer =
        start_script(GREETING "read line; echo 'ridge-peer lacks it has no q8_0'\nread line\n",
                     &long_patience, &status);
    REQUIRE(peer);
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(!has);
    peer_stop(peer);
}

TEST(a_peer_that_says_why_it_failed_can_be_asked_again) {
    struct status status = {0};
    bool has = false;
    struct peer *peer =
        start_script(GREETING "read line; echo 'ridge-peer failed out of memory'\n" PREPARED,
                     &long_patience, &status);
    REQUIRE(peer);
    CHECK(!prepare(peer, &has, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK_STRING(status.message, "PyTorch, preparing add: out of memory");
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(has);
    peer_stop(peer);
}

TEST(a_peer_that_dies_is_reported_with_its_last_words) {
    struct status status = {0};
    double ns;
    bool has;
    struct peer *peer = start_script(
        GREETING PREPARED "read line; echo 'Traceback:' >&2; printf 'Bad\\033Thing: x\\n\\n' >&2; "
                          "exit 3\n",
        &long_patience, &status);
    REQUIRE(peer);
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(!peer_batch(peer, 1, &ns, &status));
    CHECK_INT(status.code, STATUS_IO);
    CHECK(strstr(status.message, "PyTorch: "));
    CHECK(strstr(status.message, "ended with status 3 before it answered: Bad Thing: x"));
    struct status again = {0};
    CHECK(!peer_batch(peer, 1, &ns, &again)); /* and says the same */
    CHECK_STRING(again.message, status.message);
    peer_stop(peer);
}

TEST(a_peer_that_is_gone_before_it_is_asked_is_reported) {
    struct status status = {0};
    bool has;
    struct peer *peer = start_script(GREETING "kill -9 $$\n", &long_patience, &status);
    REQUIRE(peer);
    usleep(50000); /* it may or may not be gone: both must end well */
    CHECK(!prepare(peer, &has, &status));
    CHECK(strstr(status.message, "was terminated by signal 9"));
    peer_stop(peer);
}

TEST(a_peer_that_hangs_is_given_up_and_ended) {
    struct status status = {0};
    double ns;
    bool has;
    char script[1200];
    const char *number = test_temporary(".pid");
    snprintf(script, sizeof script,
             "echo $$ > %s\n" GREETING PREPARED "read line; exec sleep 1000\n", number);
    struct peer *peer = start_script(script, &short_patience, &status);
    REQUIRE(peer);
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(!peer_batch(peer, 1, &ns, &status));
    CHECK(strstr(status.message, "gave no answer within 0.3 s and was terminated"));
    CHECK(!is_alive(number));
    peer_stop(peer);
}

TEST(a_stopped_peer_is_not_left_behind_even_if_it_would_stay) {
    struct status status = {0};
    char script[1200];
    const char *number = test_temporary(".pid");
    snprintf(script, sizeof script, "echo $$ > %s\n" GREETING "exec sleep 1000\n", number);
    struct peer *peer = start_script(script, &long_patience, &status);
    REQUIRE(peer);
    CHECK(is_alive(number));
    peer_stop(peer);
    CHECK(!is_alive(number));
}

TEST(waiting_for_a_peer_ends_when_ridge_is_told_to_stop) {
    struct status status = {0};
    volatile sig_atomic_t stop = 1;
    bool has;
    struct peer *peer = start_script(GREETING "exec sleep 1000\n", &long_patience, &status);
    REQUIRE(peer);
    peer_watch(peer, &stop);
    CHECK(!prepare(peer, &has, &status));
    CHECK(strstr(status.message, "was stopped"));
    peer_stop(peer);
}

TEST(a_peer_that_prints_without_end_is_given_up) {
    struct status status = {0};
    CHECK(!start_script("exec yes rubbish\n", &long_patience, &status));
    CHECK_INT(status.code, STATUS_IO);
    CHECK(strstr(status.message, "prints endlessly and never answers: "));
    status = (struct status){0};
    CHECK(!start_script("exec yes rubbish >&2\n", &long_patience, &status));
    CHECK(strstr(status.message, "prints endlessly and never answers: "));
}

TEST(an_answer_that_makes_no_sense_ends_the_conversation) {
    static const char *const answers[] = {
        "took -5", "took 99999999999999999999", "took x", "took", "prepared 5", "", "tookk 5"};
    for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
        struct status status = {0};
        char script[400];
        double ns;
        bool has;
        snprintf(script, sizeof script, GREETING PREPARED "read line; echo 'ridge-peer %s'\n",
                 answers[i]);
        struct peer *peer = start_script(script, &long_patience, &status);
        REQUIRE(peer);
        CHECK_OK(prepare(peer, &has, &status), status);
        CHECK(!peer_batch(peer, 1, &ns, &status));
        CHECK_INT(status.code, STATUS_IO);
        CHECK(strstr(status.message, "is not valid here"));
        peer_stop(peer);
    }
}

/* ---- peer.py ------------------------------------------------------------------------------ */

static bool has_python(void) {
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null") == 0)
        return true;
    test_skip("there is no python3");
    return false;
}

TEST(an_interpreter_without_the_framework_says_how_to_get_it) {
    struct status status = {0};
    if (!has_python())
        return;
    CHECK(!start_script("exec python3 -I -S \"$@\"\n", &long_patience, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(text_starts(text_of(status.message), "PyTorch is not installed for "));
    CHECK(strstr(status.message, "-m pip install torch' gets it, or set RIDGE_PYTHON to an "));
}

/* A PyTorch whose tensors are nothing at all. */
static const char made_up_torch[] = "framework='\n"
                                    "import sys\n"
                                    "class Anything:\n"
                                    "    __version__ = \"1.2.3\"\n"
                                    "    def __getattr__(self, name):\n"
                                    "        return self\n"
                                    "    def __call__(self, *arguments, **named):\n"
                                    "        print(\"noise\")\n"
                                    "        return self\n"
                                    "    def __add__(self, other):\n"
                                    "        return self\n"
                                    "    def __enter__(self):\n"
                                    "        return self\n"
                                    "    def __exit__(self, *arguments):\n"
                                    "        pass\n"
                                    "sys.modules[\"torch\"] = Anything()\n"
                                    "'\n"
                                    "exec python3 -I -S -c \"$framework$2\" \"$3\" \"$4\" \"$5\"\n";

TEST(the_script_prepares_and_times_work_and_ends_with_its_conversation) {
    struct status status = {0};
    double ns = 0;
    bool has = false;
    if (!has_python())
        return;
    struct peer *peer = start_script(made_up_torch, &long_patience, &status);
    if (!peer)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    REQUIRE(peer);
    CHECK(strstr(peer_description(peer), "PyTorch 1.2.3 on the CPU, "));
    CHECK(!peer_batch(peer, 5, &ns, &status));
    CHECK_STRING(status.message, "PyTorch: nothing is prepared");
    CHECK_OK(prepare(peer, &has, &status), status);
    CHECK(has);
    CHECK_OK(peer_batch(peer, 5, &ns, &status), status);
    CHECK(ns > 0);
    struct peer_work unknown = {.name = "nonsense", .turns = 1};
    CHECK_OK(peer_prepare(peer, &unknown, &has, &status), status);
    CHECK(!has);
    unknown = (struct peer_work){.name = "relu", .input_count = 1, .turns = 1};
    unknown.inputs[0] = (struct peer_input){.dtype = RIDGE_Q8_0, .rank = 1, .sizes = {32}};
    CHECK_OK(peer_prepare(peer, &unknown, &has, &status), status);
    CHECK(!has);
    peer_stop(peer);
}
