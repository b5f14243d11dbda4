/* Reads the stacks of a Python that waits at known lines. */
#include "record/python/python_reader.h"

#include "../test.h"

#ifdef __linux__
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/python/python_lines.h"

/* Three strings of one, two and four bytes for each character name functions. */
static const char program[] =
    "import sys, threading\n"
    "def wait_for_end():\n"
    "    sys.stdin.read()\n" /* line 3 */
    "def n\xC3\xA4me(depth):\n"
    "    return n\xC3\xA4me(depth - 1) if depth else wait_for_end()\n"
    "def \xF0\x9D\x90\xB1():\n"  /* a mathematical x: Python reads it as x */
    "    yield n\xC3\xA4me(2)\n" /* line 7 */
    "def \xE8\xAF\xBB\xE5\x8F\x96():\n"
    "    return sorted([1], key=lambda one: next(\xF0\x9D\x90\xB1()) or one)\n"
    "def other():\n"
    "    sys.stdout.write('%d %d\\n' % (threading.get_native_id(), sys.version_info[1]))\n"
    "    sys.stdout.flush()\n"
    "    event.wait()\n" /* line 13 */
    "event = threading.Event()\n"
    "threading.Thread(target=other, daemon=True).start()\n"
    "\xE8\xAF\xBB\xE5\x8F\x96()\n";

struct python {
    pid_t pid;
    int in, out;
    long other;
    unsigned minor;
    char script[64];
};

static bool write_script(struct python *python) {
    strcpy(python->script, "/tmp/ridge-unit-python-XXXXXX");
    int fd = mkstemp(python->script);
    bool ok = fd >= 0 && write(fd, program, sizeof program - 1) == (ssize_t)sizeof program - 1;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* False: there is no such interpreter. */
static bool start(struct python *python, const char *name) {
    int in[2], out[2];
    char line[64] = "";
    ssize_t length = 0;
    if (!write_script(python) || pipe(in) != 0 || pipe(out) != 0)
        return false;
    python->pid = fork();
    if (python->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execlp(name, name, "-I", "-B", python->script, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    python->in = in[1];
    python->out = out[0];
    for (ssize_t got = 1; got > 0 && !strchr(line, '\n'); length += got > 0 ? got : 0)
        got = read(python->out, line + length, sizeof line - 1 - (size_t)length);
    return sscanf(line, "%ld %u", &python->other, &python->minor) == 2;
}

static void stop(struct python *python) {
    close(python->in);
    close(python->out);
    if (python->pid > 0) {
        kill(python->pid, SIGKILL);
        waitpid(python->pid, NULL, 0);
    }
    unlink(python->script);
}

struct stack {
    char words[1024]; /* "function:line" of each frame, innermost first; "+" if C code called it */
    bool of_script;   /* all files are the script, where they are not the standard library */
};

static void add_frame(struct stack *stack, const struct python_code *code,
                      const struct python_frame *frame, const char *script) {
    struct python_line_table table = {code->format, code->first_line, code->table,
                                      code->table_bytes};
    size_t used = strlen(stack->words);
    if (strstr(code->path, "threading"))
        return;
    stack->of_script &= strcmp(code->path, script) == 0;
    snprintf(stack->words + used, sizeof stack->words - used, "%s%s:%d%s", used ? " " : "",
             code->name, (int)python_line(&table, frame->offset), frame->is_entry ? "+" : "");
}

/* Tries again while the program goes on to where it waits. */
static bool read_stack(struct python_reader *reader, const struct python *python, pid_t tid,
                       const char *innermost, struct stack *stack) {
    static struct python_code *codes[64];
    static struct python_frame frames[PYTHON_READ_FRAMES_MAX];
    size_t count;
    bool found = false;
    for (int tries = 0; !found && tries < 4000; tries++) {
        enum python_read result = python_reader_read(reader, python->pid, tid, frames, &count);
        for (size_t i = 0; i < python_reader_code_count(reader) && i < 64; i++)
            codes[i] = codes[i] ? codes[i] : python_reader_take_code(reader, i);
        *stack = (struct stack){.of_script = true};
        for (size_t i = 0; result == PYTHON_READ && i < count && frames[i].code < 64; i++)
            add_frame(stack, codes[frames[i].code], &frames[i], python->script);
        found = strncmp(stack->words, innermost, strlen(innermost)) == 0;
        if (!found)
            nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
    for (size_t i = 0; i < 64; i++) {
        python_code_destroy(codes[i]);
        codes[i] = NULL;
    }
    return found;
}

static void check_python(const char *name) {
    struct status status = {0};
    struct python python = {0};
    struct stack stack;
    if (!start(&python, name)) {
        test_skip("there is no python3");
        stop(&python);
        return;
    }
    struct python_reader *reader = python_reader_create(&status);
    if (!reader || !read_stack(reader, &python, python.pid, "wait_for_end:3", &stack)) {
        test_failed(__FILE__, __LINE__, "%s: %s %s", name, stack.words,
                    reader && python_reader_reason(reader) ? python_reader_reason(reader) : "");
    } else if (python.minor >= 11) {
        CHECK_STRING(stack.words,
                     "wait_for_end:3 n\xC3\xA4me:5 n\xC3\xA4me:5 n\xC3\xA4me:5 x:7+ "
                     "\xE8\xAF\xBB\xE5\x8F\x96.<locals>.<lambda>:9+ \xE8\xAF\xBB\xE5\x8F\x96:9 "
                     "<module>:16+");
        CHECK(stack.of_script);
        CHECK(python_reader_has_python(reader));
    }
    python_reader_destroy(reader);
    reader = python_reader_create(&status);
    if (python.minor >= 11) {
        CHECK(reader && read_stack(reader, &python, (pid_t)python.other, "other:13", &stack));
        CHECK(stack.of_script);
    }
    python_reader_destroy(reader);
    stop(&python);
}

TEST(the_frames_of_a_waiting_python_have_functions_files_and_lines) {
    if (!python_reader_is_permitted()) {
        test_skip("the memory of other processes cannot be read");
        return;
    }
    check_python("python3");
}

TEST(a_program_that_is_no_python_has_no_stacks) {
    struct status status = {0};
    struct python_frame frames[PYTHON_READ_FRAMES_MAX];
    struct python_reader *reader = python_reader_create(&status);
    size_t count = 1;
    REQUIRE(reader);
    CHECK_INT(python_reader_read(reader, getpid(), getpid(), frames, &count), PYTHON_READ_NONE);
    CHECK_INT(count, 0);
    CHECK(!python_reader_has_python(reader));
    CHECK(!python_reader_reason(reader));
    CHECK_INT(python_reader_code_count(reader), 0);
    python_reader_destroy(reader);
}
#endif
