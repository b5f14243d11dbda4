/* GLSL to SPIR-V: by libshaderc, loaded at run time, else by the program glslang (glslangValidator
 * in older versions). RIDGE_SHADERC is the path of another libshaderc.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "device/vulkan/vulkan.h"

extern char **environ;

/* Of shaderc/shaderc.h. */
enum { SHADERC_COMPUTE = 2, SHADERC_VULKAN = 0, SHADERC_SUCCEEDED = 0 };

/* X(result, name, parameters) */
#define SHADERC_FUNCTIONS(X)                                                                       \
    X(void *, shaderc_compiler_initialize, (void))                                                 \
    X(void, shaderc_compiler_release, (void *))                                                    \
    X(void *, shaderc_compile_options_initialize, (void))                                          \
    X(void, shaderc_compile_options_release, (void *))                                             \
    X(void, shaderc_compile_options_set_target_env, (void *, int, uint32_t))                       \
    X(void *, shaderc_compile_into_spv,                                                            \
      (void *, const char *, size_t, int, const char *, const char *, void *))                     \
    X(int, shaderc_result_get_compilation_status, (void *))                                        \
    X(const char *, shaderc_result_get_error_message, (void *))                                    \
    X(size_t, shaderc_result_get_length, (void *))                                                 \
    X(const char *, shaderc_result_get_bytes, (void *))                                            \
    X(void, shaderc_result_release, (void *))

struct shaderc {
#define POINTER(result, name, parameters) result(*name) parameters;
    SHADERC_FUNCTIONS(POINTER)
#undef POINTER
};

static struct {
    bool has_shaderc;
    struct shaderc shaderc;
    char program[PATH_MAX]; /* of glslang, or "" */
} compiler;

static bool load_shaderc(struct shaderc *shaderc) {
    static const struct library_symbol symbols[] = {
#define SYMBOL(result, name, parameters) {#name, offsetof(struct shaderc, name)},
        SHADERC_FUNCTIONS(SYMBOL){NULL, 0}
#undef SYMBOL
    };
    const char *chosen = getenv("RIDGE_SHADERC");
    const char *const own[] = {chosen, NULL};
    static const char *const names[] = {"libshaderc_shared.so.1",  "libshaderc.so.1",
                                        "libshaderc_shared.so",    "libshaderc.so",
                                        "libshaderc_shared.dylib", NULL};
    void *library = library_open(chosen && *chosen ? own : names);
    return library && !library_fill(library, symbols, shaderc);
}

/* The path of a program in $PATH; "" if there is none. */
static void find_program(const char *name, char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    path[0] = '\0';
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        int written = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folders, name);
        if (written > 0 && written < PATH_MAX && access(path, X_OK) == 0)
            return;
        path[0] = '\0';
        folders += length + (folders[length] == ':');
    }
}

static void find_compiler(void) {
    compiler.has_shaderc = load_shaderc(&compiler.shaderc);
    find_program("glslang", compiler.program);
    if (!compiler.program[0])
        find_program("glslangValidator", compiler.program);
}

bool vulkan_compiler_check(struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_compiler);
    return compiler.has_shaderc || compiler.program[0] ||
           status_fail(status, STATUS_UNSUPPORTED,
                       "no compiler of GLSL was found, which kernels for Vulkan need: install "
                       "libshaderc1 or glslang-tools, or set RIDGE_SHADERC to the library's path");
}

/* The first line with an error. */
static bool rejected(const char *log, struct status *status) {
    const char *line = log;
    while (*line &&
           !(strncmp(line, "ERROR: ", 7) == 0 ||
             (strstr(line, "error: ") && strstr(line, "error: ") < line + strcspn(line, "\n")))) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (!*line)
        line = log;
    return status_fail(status, STATUS_INPUT, "%.*s", (int)strcspn(line, "\n"), line);
}

static bool compile_by_library(const char *source, size_t length, struct buffer *spirv,
                               struct status *status) {
    const struct shaderc *s = &compiler.shaderc;
    void *handle = s->shaderc_compiler_initialize();
    void *options = s->shaderc_compile_options_initialize();
    bool ok = false;
    if (handle && options) {
        s->shaderc_compile_options_set_target_env(options, SHADERC_VULKAN, VULKAN_VERSION_1_2);
        void *result = s->shaderc_compile_into_spv(handle, source, length, SHADERC_COMPUTE,
                                                   "kernel", "main", options);
        ok = result && s->shaderc_result_get_compilation_status(result) == SHADERC_SUCCEEDED;
        if (ok)
            buffer_append(spirv, s->shaderc_result_get_bytes(result),
                          s->shaderc_result_get_length(result));
        else
            rejected(result ? s->shaderc_result_get_error_message(result) : "no result", status);
        if (result)
            s->shaderc_result_release(result);
    } else {
        status_fail(status, STATUS_MEMORY, "libshaderc ran out of memory");
    }
    if (options)
        s->shaderc_compile_options_release(options);
    if (handle)
        s->shaderc_compiler_release(handle);
    return ok && buffer_ok(spirv, status);
}

/* ---- glslang ------------------------------------------------------------------------------ */

/* Source, result and messages. */
struct files {
    char *paths[3];
    int fds[3];
};

static bool read_all(int fd, struct buffer *out, struct status *status) {
    char piece[4096];
    ssize_t got;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return status_fail_errno(status, "cannot read a temporary file");
    while ((got = read(fd, piece, sizeof piece)) > 0)
        buffer_append(out, piece, (size_t)got);
    return (got == 0 || status_fail_errno(status, "cannot read a temporary file")) &&
           buffer_ok(out, status);
}

static bool write_all(int fd, const char *bytes, size_t length, struct status *status) {
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0)
            return status_fail_errno(status, "cannot write a temporary file");
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

static bool run_program(const struct files *files, int *code, struct status *status) {
    const char *const words[] = {compiler.program, "-V", "--target-env",  "vulkan1.2",     "-S",
                                 "comp",           "-o", files->paths[1], files->paths[0], NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int state = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, files->fds[2], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, files->fds[2], STDERR_FILENO);
    int failed =
        posix_spawn(&child, compiler.program, &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return status_fail(status, STATUS_IO, "cannot run %.200s: %s", compiler.program,
                           strerror(failed));
    pid_t ended;
    while ((ended = waitpid(child, &state, 0)) < 0 && errno == EINTR)
        continue;
    if (ended < 0) /* the host program ignores SIGCHLD: there is no status, but a result or none */
        *code = lseek(files->fds[1], 0, SEEK_END) > 0 ? 0 : 1;
    else
        *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return true;
}

static bool compile_in_files(const struct files *files, const char *source, size_t length,
                             struct buffer *spirv, struct status *status) {
    struct buffer log = {0};
    int code = 0;
    if (!write_all(files->fds[0], source, length, status) || !run_program(files, &code, status))
        return false;
    if (code == 0)
        return read_all(files->fds[1], spirv, status);
    bool ok = read_all(files->fds[2], &log, status);
    buffer_byte(&log, '\0');
    if (ok && buffer_ok(&log, status))
        rejected(code < 0 ? "glslang crashed" : log.data, status);
    buffer_finish(&log);
    return false;
}

static bool compile_by_program(const char *source, size_t length, struct buffer *spirv,
                               struct status *status) {
    struct files files = {{NULL, NULL, NULL}, {-1, -1, -1}};
    unsigned made = 0;
    while (made < ARRAY_COUNT(files.fds) &&
           temporary_file(&files.paths[made], &files.fds[made], status))
        made++;
    bool ok =
        made == ARRAY_COUNT(files.fds) && compile_in_files(&files, source, length, spirv, status);
    while (made-- > 0) {
        close(files.fds[made]);
        unlink(files.paths[made]);
        temporary_remove(files.paths[made]);
    }
    return ok;
}

bool vulkan_compile(const char *source, size_t length, struct buffer *spirv,
                    struct status *status) {
    if (!vulkan_compiler_check(status))
        return false;
    return compiler.has_shaderc ? compile_by_library(source, length, spirv, status)
                                : compile_by_program(source, length, spirv, status);
}

const char vulkan_cooperative_extensions[] = "#extension GL_KHR_cooperative_matrix : require\n"
                                             "#extension GL_KHR_memory_scope_semantics : require\n"
                                             "#extension GL_KHR_shader_subgroup_basic : require\n";

/* glslang has them since 2023. */
bool vulkan_compiler_has_matrices(void) {
    static const char body[] =
        "layout(local_size_x = 1) in;\n"
        "void main() { coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum; }\n";
    struct buffer source = {0}, spirv = {0};
    struct status ignored = {0};
    buffer_string(&source, "#version 460\n");
    buffer_string(&source, vulkan_cooperative_extensions);
    buffer_string(&source, body);
    bool has = buffer_ok(&source, &ignored) &&
               vulkan_compile(source.data, source.length, &spirv, &ignored);
    buffer_finish(&source);
    buffer_finish(&spirv);
    return has;
}
