/* Compiles MSL as C++ against shim/metal_stdlib.
 *
 * Three steps: the preprocessor expands the kernel's own macros (not those of metal_stdlib); the
 * text is rewritten where C++ has no word for Metal's (variables in threadgroup memory become
 * static, in a section of their own); a function that calls the kernel with its parameters by
 * attribute is added. Compiled kernels are kept by the hash of everything they depend on in
 * METAL_STANDIN_CACHE.
 */
#include "standin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct text {
    char *data;
    size_t length, capacity;
};

static void append(struct text *text, const char *data, size_t length) {
    if (text->length + length + 1 > text->capacity) {
        text->capacity = (text->length + length + 1) * 2;
        text->data = realloc(text->data, text->capacity);
        if (!text->data)
            standin_fail("no memory");
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}
static void append_string(struct text *text, const char *string) {
    append(text, string, strlen(string));
}

static uint64_t hash(const char *data, size_t length) {
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)data[i]) * 1099511628211u;
    return value;
}

/* ---- Running the compiler ---- */

static const char *compiler(void) {
    const char *chosen = getenv("METAL_STANDIN_CXX");
    return chosen && *chosen ? chosen : "c++";
}

static const char *shim_folder(void) {
    const char *folder = getenv("METAL_STANDIN_SHIM");
    if (!folder || !*folder)
        standin_fail("METAL_STANDIN_SHIM is not set to the folder of metal_stdlib");
    return folder;
}

static const char *cache_folder(void) {
    static char folder[512];
    const char *chosen = getenv("METAL_STANDIN_CACHE");
    if (chosen && *chosen) {
        mkdir(chosen, 0700);
        return chosen;
    }
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/ridge-metal.XXXXXX");
        if (!mkdtemp(folder))
            standin_fail("cannot create %s", folder);
    }
    return folder;
}

static char *read_file(const char *path, size_t *length) {
    struct text text = {0};
    char block[16384];
    ssize_t got;
    int file = open(path, O_RDONLY);
    append(&text, "", 0);
    while (file >= 0 && (got = read(file, block, sizeof block)) > 0)
        append(&text, block, (size_t)got);
    if (file >= 0)
        close(file);
    if (length)
        *length = text.length;
    return text.data;
}

static void write_file(const char *path, const struct text *text) {
    FILE *file = fopen(path, "w");
    if (!file || fwrite(text->data, 1, text->length, file) != text->length || fclose(file) != 0)
        standin_fail("cannot write %s", path);
}

static int run(const char *command) {
    unsetenv("LD_PRELOAD");
    int code = system(command);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

#define FLAGS                                                                                      \
    "-std=c++17 -O1 -w -fPIC -ffp-contract=off -fno-math-errno -fno-strict-aliasing -fwrapv"
static const char *flags(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
        return FLAGS " -mavx2 -mfma";
#endif
    return FLAGS;
}

/* ---- The text ---- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}
static const char *skip_space(const char *p) {
    while (isspace((unsigned char)*p))
        p++;
    return p;
}
static const char *word_end(const char *p) {
    while (is_word(*p))
        p++;
    return p;
}
static bool word_is(const char *p, const char *word) {
    size_t length = strlen(word);
    return strncmp(p, word, length) == 0 && !is_word(p[length]);
}

/* Whether the declaration after the word `threadgroup` is a variable in threadgroup memory rather
 * than a pointer to it. */
static bool declares_variable(const char *p) {
    p = skip_space(p);
    while (word_is(p, "const") || word_is(p, "struct") || word_is(p, "volatile"))
        p = skip_space(word_end(p));
    p = skip_space(word_end(p)); /* the type */
    return is_word(*p);
}

/* Variables in threadgroup memory, where a statement begins with the word. */
static void rewrite(const char *source, struct text *out) {
    char before = ';';
    for (const char *p = source; *p;) {
        if (!is_word(*p)) {
            if (!isspace((unsigned char)*p))
                before = *p;
            append(out, p++, 1);
            continue;
        }
        const char *end = word_end(p);
        bool starts = before == ';' || before == '{' || before == '}' || before == ')';
        if (word_is(p, "threadgroup") && starts && declares_variable(end))
            append_string(out, "METAL_SHARED");
        else
            append(out, p, (size_t)(end - p));
        before = 'a';
        p = end;
    }
}

struct parameters {
    uint32_t buffer_mask;
    bool has_dynamic;
};

static bool parse_attribute(const char *parameter, size_t length, struct text *call,
                            struct parameters *parameters) {
    static const char *const positions[][2] = {
        {"thread_position_in_threadgroup", "metal_index(position)"},
        {"threads_per_threadgroup", "metal_index(arguments->threads)"},
        {"threadgroup_position_in_grid", "metal_index(arguments->group)"},
        {"threadgroups_per_grid", "metal_index(arguments->groups)"},
        {"thread_index_in_threadgroup", "metal_number(metal_linear(arguments, position))"},
        {"thread_index_in_simdgroup", "metal_number(metal_linear(arguments, position) % 32)"},
        {"simdgroup_index_in_threadgroup", "metal_number(metal_linear(arguments, position) / 32)"},
    };
    char text[512], piece[128];
    unsigned index;
    snprintf(text, sizeof text, "%.*s", (int)length, parameter);
    char *attribute = strstr(text, "[[");
    if (!attribute)
        return false;
    if (sscanf(attribute, "[[ buffer ( %u ) ]]", &index) == 1 && index < BUFFERS_MAX &&
        !(parameters->buffer_mask >> index & 1)) {
        parameters->buffer_mask |= 1u << index;
        *attribute = 0;
        snprintf(piece, sizeof piece, "%s(arguments->buffers[%u])",
                 strchr(text, '&') ? "metal_reference" : "metal_pointer", index);
        append_string(call, piece);
        return true;
    }
    if (sscanf(attribute, "[[ threadgroup ( %u ) ]]", &index) == 1 && index == 0) {
        parameters->has_dynamic = true;
        append_string(call, "metal_pointer(arguments->dynamic)");
        return true;
    }
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        const char *name = skip_space(attribute + 2);
        if (word_is(name, positions[i][0])) {
            append_string(call, positions[i][1]);
            return true;
        }
    }
    return false;
}

/* Adds the entry of the kernel whose head begins at `p`, after the word `kernel`. */
static bool add_entry(const char *p, struct text *out, struct text *log) {
    struct parameters parameters = {0};
    struct text call = {0};
    char head[700];
    p = skip_space(p);
    if (!word_is(p, "void"))
        return append_string(log, "program_source: error: a kernel must return void\n"), false;
    const char *name = skip_space(word_end(p)), *open = skip_space(word_end(name));
    int length = (int)(word_end(name) - name), depth = 0;
    const char *begin = open + 1, *at = open;
    for (; *at; at++) {
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
        if ((*at == ',' && depth == 1) || (*at == ')' && depth == 0)) {
            if (call.length)
                append_string(&call, ", ");
            if (!parse_attribute(begin, (size_t)(at - begin), &call, &parameters)) {
                append_string(log, "program_source: error: invalid parameter of a kernel: ");
                append(log, begin, (size_t)(at - begin));
                append_string(log, "\n");
                return false;
            }
            begin = at + 1;
        }
        if (depth == 0)
            break;
    }
    snprintf(head, sizeof head,
             "\nextern \"C\" const unsigned metal_mask_%.*s = %uu, metal_dynamic_%.*s = %d;\n"
             "extern \"C\" void metal_run_%.*s(const metal_arguments *arguments, "
             "const unsigned position[3]) {\n    %.*s(",
             length, name, parameters.buffer_mask, length, name, parameters.has_dynamic, length,
             name, length, name);
    append_string(out, head);
    append_string(out, call.data ? call.data : "");
    append_string(out, ");\n}\n");
    free(call.data);
    return true;
}

static bool add_entries(const char *source, struct text *out, struct text *log) {
    bool ok = true;
    for (const char *p = source; *p && ok;) {
        if (!is_word(*p)) {
            p++;
            continue;
        }
        if (word_is(p, "kernel"))
            ok = add_entry(word_end(p), out, log);
        p = word_end(p);
    }
    return ok;
}

/* ---- Compiling ---- */

static bool preprocess(const char *base, const char *source, struct text *out, struct text *log) {
    char path[700], command[3000];
    struct text raw = {0};
    append_string(&raw, source);
    snprintf(path, sizeof path, "%s.metal", base);
    write_file(path, &raw);
    free(raw.data);
    snprintf(command, sizeof command,
             "%s -x c++ -std=c++17 -E -P -w -D__METAL_VERSION__=%d -I %s/empty %s.metal -o %s.i 2> "
             "%s.log",
             compiler(), standin_system() >= 14 ? 310 : 300, shim_folder(), base, base, base);
    int code = run(command);
    snprintf(path, sizeof path, "%s.%s", base, code == 0 ? "i" : "log");
    char *text = read_file(path, NULL);
    append_string(code == 0 ? out : log, text);
    free(text);
    return code == 0;
}

/* What the compiled code depends on besides the text. */
static uint64_t environment_hash(void) {
    static uint64_t value;
    char path[700];
    size_t length;
    if (value)
        return value;
    struct text all = {0};
    snprintf(path, sizeof path, "%s/metal_stdlib", shim_folder());
    char *shim = read_file(path, &length);
    append(&all, shim, length);
    append_string(&all, compiler());
    append_string(&all, flags());
    append_string(&all, standin_system() >= 14 ? "3.1" : "3.0");
    append_string(&all, __DATE__ __TIME__);
    value = hash(all.data, all.length) | 1;
    free(shim);
    free(all.data);
    return value;
}

/* The folder of the precompiled header, which compilers find by its name. */
static const char *precompile(const char *cache) {
    static char folder[600];
    char command[3000];
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "%s/pch-%016llx", cache,
             (unsigned long long)environment_hash());
    mkdir(folder, 0700);
    snprintf(command, sizeof command,
             "test -e %s/metal_stdlib.gch || { %s %s -x c++-header %s/metal_stdlib -o %s/%d 2> "
             "/dev/null && "
             "mv %s/%d %s/metal_stdlib.gch; }",
             folder, compiler(), flags(), shim_folder(), folder, (int)getpid(), folder,
             (int)getpid(), folder);
    run(command);
    return folder;
}

static bool compile_text(const char *base, const char *cache, const struct text *text,
                         struct text *log) {
    char path[700], command[4000];
    snprintf(path, sizeof path, "%s.cc", base);
    write_file(path, text);
    snprintf(command, sizeof command, "%s %s -shared -I %s -I %s -o %s.so %s.cc 2> %s.log",
             compiler(), flags(), precompile(cache), shim_folder(), base, base, base);
    if (run(command) == 0)
        return true;
    snprintf(path, sizeof path, "%s.log", base);
    char *errors = read_file(path, NULL);
    append_string(log, errors);
    free(errors);
    return false;
}

static void remove_files(const char *base) {
    static const char *const endings[] = {"metal", "i", "log", "cc"};
    char path[700];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s.%s", base, endings[i]);
        unlink(path);
    }
}

static bool build(const char *cache, const char *source, const char *path, char **log) {
    char base[600], part[700];
    struct text expanded = {0}, text = {0}, errors = {0};
    static unsigned number;
    snprintf(base, sizeof base, "%s/%d-%u", cache, (int)getpid(), number++);
    append_string(&text, "#include <metal_stdlib>\n");
    append_string(&expanded, "");
    bool ok = preprocess(base, source, &expanded, &errors);
    if (ok) {
        rewrite(expanded.data, &text);
        ok =
            add_entries(expanded.data, &text, &errors) && compile_text(base, cache, &text, &errors);
    }
    if (ok) {
        snprintf(part, sizeof part, "%s.so", base);
        ok = rename(part, path) == 0;
    }
    if (!getenv("METAL_STANDIN_KEEP"))
        remove_files(base);
    free(expanded.data);
    free(text.data);
    if (!ok)
        *log = errors.data ? errors.data : strdup("error: the compiler failed");
    else
        free(errors.data);
    return ok;
}

void *compile_library(const char *source, char **log) {
    char path[600];
    const char *cache = cache_folder();
    uint64_t first = hash(source, strlen(source)), second = first * 31 + strlen(source);
    snprintf(path, sizeof path, "%s/%016llx%016llx.so", cache, (unsigned long long)first,
             (unsigned long long)(second ^ environment_hash()));
    *log = NULL;
    if (access(path, R_OK) != 0 && !build(cache, source, path, log))
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        standin_fail("%s", dlerror());
    void (*bind)(const struct threads_runtime *) = NULL;
    void *symbol = dlsym(library, "metal_bind");
    memcpy(&bind, &symbol, sizeof bind);
    if (!bind)
        standin_fail("%s has no metal_bind()", path);
    bind(&threads_runtime);
    return library;
}

void compile_close(void *library) {
    dlclose(library);
}

bool compile_find(void *library, const char *name, struct kernel_image *image) {
    char symbol[256];
    snprintf(symbol, sizeof symbol, "metal_run_%s", name);
    void *run_symbol = dlsym(library, symbol);
    if (!run_symbol)
        return false;
    memcpy(&image->run, &run_symbol, sizeof run_symbol);
    snprintf(symbol, sizeof symbol, "metal_mask_%s", name);
    image->buffer_mask = *(const unsigned *)dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "metal_dynamic_%s", name);
    image->has_dynamic = *(const int *)dlsym(library, symbol) != 0;
    void (*shared)(char **, size_t *) = NULL;
    void *shared_symbol = dlsym(library, "metal_shared");
    memcpy(&shared, &shared_symbol, sizeof shared);
    shared(&image->shared, &image->shared_bytes);
    image->library = library;
    return true;
}
