/* Frames of 3.11 and later lie one behind the other in chunks of memory, so one system call copies
 * most of a stack at nearly one moment. Code objects are read once and identified by their address
 * and names, which are compared again with each stack.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "record/python/python_reader.h"

#include "base/memory.h"

void python_code_destroy(struct python_code *code) {
    if (!code)
        return;
    memory_free(code->name);
    memory_free(code->path);
    memory_free(code->table);
    memory_free(code);
}

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/cpython.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/elf.h"
#include "trace/schema.h"

enum {
    LOOK_INTERVAL_NS = 20000000,   /* of looking for an interpreter, or for a thread */
    LOOK_INTERVAL_MAX = 500000000, /* in a process without one */
    THREADS_MAX = 4096,
    TEXT_BYTES_MAX = 4096,
    TABLE_BYTES_MAX = 1 << 20,
    WINDOW_BELOW = 3840, /* bytes below a frame that are copied with it */
    FRAME_BYTES = 128,   /* of a frame: its members that matter */
    VERIFIED_MAX = 512,  /* pointers to names that are compared at once */
#ifdef __x86_64__
    PTHREAD_TID = 720, /* offset of tid in glibc's struct pthread */
#else
    PTHREAD_TID = 208,
#endif
};

enum process_state { LOOKING, FOUND, REFUSED };

struct process {
    pid_t pid;
    enum process_state state;
    int64_t next_look, look_interval;
    struct cpython_layout layout;
    uint64_t runtime, code_type, text_type, bytes_type;
    struct map threads; /* tid -> thread state; 0: none was found */
    struct map looked;  /* tid -> time of the last search */
    struct map codes;   /* address -> index + 1 of `known` */
};

/* A code object that was read. */
struct known_code {
    uint64_t file, name; /* pointers in the process */
    int32_t first_line;
    uint32_t index;
    uint64_t start, size; /* of its instructions */
};

struct python_reader {
    struct process **processes;
    size_t count, capacity;
    struct map by_pid; /* -> index + 1 */
    struct known_code *known;
    size_t known_count, known_capacity;
    struct python_code **codes;
    size_t code_count, code_capacity;
    uint32_t collector; /* index + 1 of the code that stands for the collector; 0: none yet */
    bool has_python;
    char reason[160];
    char window[WINDOW_BELOW + FRAME_BYTES];
    uint64_t window_start, window_end;
};

struct python_reader *python_reader_create(struct status *status) {
    return memory_allocate(1, sizeof(struct python_reader), status);
}

void python_reader_destroy(struct python_reader *reader) {
    if (!reader)
        return;
    for (size_t i = 0; i < reader->count; i++) {
        map_finish(&reader->processes[i]->threads);
        map_finish(&reader->processes[i]->looked);
        map_finish(&reader->processes[i]->codes);
        memory_free(reader->processes[i]);
    }
    for (size_t i = 0; i < reader->code_count; i++)
        python_code_destroy(reader->codes[i]);
    memory_free(reader->processes);
    memory_free(reader->known);
    memory_free(reader->codes);
    map_finish(&reader->by_pid);
    memory_free(reader);
}

bool python_reader_has_python(const struct python_reader *reader) {
    return reader->has_python;
}

const char *python_reader_reason(const struct python_reader *reader) {
    return reader->reason[0] ? reader->reason : NULL;
}

size_t python_reader_code_count(const struct python_reader *reader) {
    return reader->code_count;
}

struct python_code *python_reader_take_code(struct python_reader *reader, size_t index) {
    struct python_code *code = reader->codes[index];
    reader->codes[index] = NULL;
    return code;
}

/* ---- Memory of the process ----------------------------------------------------------------- */

static bool read_memory(pid_t pid, void *to, uint64_t from, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
    return from && process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static bool read_word(pid_t pid, uint64_t from, uint64_t *word) {
    return from % 8 == 0 && read_memory(pid, word, from, sizeof *word);
}

/* Yama's scopes 2 and 3 keep all but administrators from it, and a seccomp filter anyone. */
bool python_reader_is_permitted(void) {
    uint64_t word = 1, copy = 0;
    struct iovec local = {&copy, sizeof copy}, remote = {&word, sizeof word};
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file) {
        if (fscanf(file, "%d", &scope) != 1)
            scope = 0;
        fclose(file);
    }
    return (scope < 2 || (scope == 2 && geteuid() == 0)) &&
           process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof word;
}

/* ---- The interpreter ----------------------------------------------------------------------- */

/* "python3.12", "python3.13t", "python3", "libpython3.12.so.1.0" */
static bool is_interpreter(const char *path) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, "libpython3.", 11) == 0 || strncmp(name, "python", 6) == 0;
}

struct image {
    char path[4096];
    uint64_t start; /* of the mapping with offset 0 */
};

/* A library takes precedence over the executable that loads it. */
static bool find_image(pid_t pid, struct image *image) {
    char name[64], line[4352], path[4096];
    uint64_t start, offset;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    FILE *maps = fopen(name, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %4095[^\n]", &start, &offset,
                   path) != 3 ||
            offset != 0 || path[0] != '/' || !is_interpreter(path) ||
            (found && !strstr(path, "libpython3.")))
            continue;
        snprintf(image->path, sizeof image->path, "%s", path);
        image->start = start;
        found = true;
        if (strstr(path, "libpython3."))
            break;
    }
    if (maps)
        fclose(maps);
    return found;
}

static unsigned minor_of_path(const char *path) {
    const char *name = strrchr(path, '/'), *dot = name ? strstr(name, "python3.") : NULL;
    return dot ? (unsigned)strtoul(dot + 8, NULL, 10) : 0;
}

/* The addresses of the interpreter's variables in the process. */
static bool find_variables(const struct image *image, uint64_t addresses[5]) {
    static const char *const names[] = {"_PyRuntime", "PyCode_Type", "PyUnicode_Type",
                                        "PyBytes_Type", "Py_Version"};
    int fd = open(image->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct elf_source source;
    struct status ignored;
    struct elf elf = {0};
    uint64_t base = 0;
    bool ok = fd >= 0 && elf_source_file(&source, fd, &ignored) &&
              elf_read(&elf, &source, &ignored) && elf_address(&elf, 0, &base) &&
              elf_find_symbols(&source, names, ARRAY_COUNT(names), addresses, &ignored) &&
              addresses[0] && addresses[1] && addresses[2] && addresses[3];
    for (size_t i = 0; ok && i < ARRAY_COUNT(names); i++)
        addresses[i] += addresses[i] ? image->start - base : 0;
    elf_finish(&elf);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool find_layout(struct process *process, unsigned minor) {
    char runtime[CPYTHON_OFFSETS_BYTES];
    if (minor < CPYTHON_OFFSETS_SINCE)
        return cpython_layout_of_version(minor, &process->layout);
    return read_memory(process->pid, runtime, process->runtime, sizeof runtime) &&
           cpython_layout_of_runtime(runtime, minor, &process->layout);
}

static void refuse(struct python_reader *reader, struct process *process, const char *reason) {
    process->state = REFUSED;
    if (!reader->reason[0])
        snprintf(reader->reason, sizeof reader->reason, "%s", reason);
}

/* The first look may be too early: before exec, or before the interpreter is initialized. */
static void look_for_interpreter(struct python_reader *reader, struct process *process) {
    struct image image;
    uint64_t addresses[5], version = 0;
    process->next_look = clock_now() + process->look_interval;
    if (process->look_interval < LOOK_INTERVAL_MAX)
        process->look_interval *= 2;
    if (!find_image(process->pid, &image) || !find_variables(&image, addresses))
        return;
    unsigned minor = minor_of_path(image.path);
    if (addresses[4] && !read_word(process->pid, addresses[4], &version)) {
        if (errno == EPERM || errno == ENOSYS)
            refuse(reader, process, "the program's memory cannot be read (ptrace is restricted)");
        return;
    }
    if (version >> 24 == 3)
        minor = version >> 16 & 255;
    process->runtime = addresses[0];
    process->code_type = addresses[1];
    process->text_type = addresses[2];
    process->bytes_type = addresses[3];
    reader->has_python = true;
    if (find_layout(process, minor)) {
        process->state = FOUND;
    } else if (minor >= CPYTHON_OFFSETS_SINCE ? minor > 14 : minor > 0) {
        char reason[80];
        snprintf(reason, sizeof reason, "the layout of CPython 3.%u's frames is not known", minor);
        refuse(reader, process, reason);
    }
}

static struct process *find_process(struct python_reader *reader, pid_t pid) {
    struct status ignored;
    const uint64_t *known = map_find(&reader->by_pid, (uint64_t)pid);
    struct process *process = known ? reader->processes[*known - 1] : NULL;
    if (!process) {
        process = memory_allocate(1, sizeof *process, &ignored);
        if (!process || !GROW(reader->processes, &reader->capacity, reader->count + 1, &ignored) ||
            !map_set(&reader->by_pid, (uint64_t)pid, reader->count + 1, &ignored)) {
            memory_free(process);
            return NULL;
        }
        reader->processes[reader->count++] = process;
        *process = (struct process){.pid = pid, .look_interval = LOOK_INTERVAL_NS};
    }
    if (process->state == LOOKING && clock_now() >= process->next_look)
        look_for_interpreter(reader, process);
    return process;
}

/* The program of the process has changed, or has ended: everything is looked for again. */
static void forget_process(struct process *process) {
    map_finish(&process->threads);
    map_finish(&process->looked);
    map_finish(&process->codes);
    process->state = LOOKING;
    process->look_interval = LOOK_INTERVAL_NS;
    process->next_look = clock_now() + LOOK_INTERVAL_NS;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Before 3.11 a thread state has the address of struct pthread only. */
static bool is_of_thread(const struct process *process, uint64_t state, pid_t tid) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t id;
    uint32_t found;
    if (layout->native_thread_id)
        return read_word(process->pid, state + layout->native_thread_id, &id) &&
               id == (uint64_t)tid;
    return read_word(process->pid, state + layout->thread_id, &id) &&
           read_memory(process->pid, &found, id + PTHREAD_TID, sizeof found) &&
           found == (uint32_t)tid;
}

/* Walks the thread states of the main interpreter. 0: not found. */
static uint64_t search_state(const struct process *process, pid_t tid) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t interpreter, state;
    if (!read_word(process->pid, process->runtime + layout->interpreters, &interpreter) ||
        !read_word(process->pid, interpreter + layout->interpreter_threads, &state))
        return 0;
    for (unsigned i = 0; state && i < THREADS_MAX; i++) {
        if (is_of_thread(process, state, tid))
            return state;
        if (!read_word(process->pid, state + layout->thread_next, &state))
            return 0;
    }
    return 0;
}

static uint64_t find_state(struct process *process, pid_t tid) {
    struct status ignored;
    int64_t now = clock_now();
    const uint64_t *known = map_find(&process->threads, (uint64_t)tid),
                   *looked = map_find(&process->looked, (uint64_t)tid);
    if (known && *known && is_of_thread(process, *known, tid))
        return *known;
    if (looked && now - (int64_t)*looked < LOOK_INTERVAL_NS)
        return 0;
    uint64_t state = search_state(process, tid);
    map_set(&process->looked, (uint64_t)tid, (uint64_t)now, &ignored);
    map_set(&process->threads, (uint64_t)tid, state, &ignored);
    return state;
}

/* ---- Frames -------------------------------------------------------------------------------- */

/* The first bytes of the frame; NULL: no memory is there. */
static const char *frame_bytes(struct python_reader *reader, const struct process *process,
                               uint64_t address) {
    bool is_contiguous = process->layout.instruction == CPYTHON_POINTER;
    size_t below = is_contiguous && address > WINDOW_BELOW ? WINDOW_BELOW : 0;
    if (address % 8 != 0)
        return NULL;
    if (address >= reader->window_start && address < reader->window_end &&
        reader->window_end - address >= FRAME_BYTES)
        return reader->window + (address - reader->window_start);
    struct iovec local[2] = {{reader->window + below, FRAME_BYTES}, {reader->window, below}};
    struct iovec remote[2] = {{(void *)(uintptr_t)address, FRAME_BYTES},
                              {(void *)(uintptr_t)(address - below), below}};
    ssize_t got = process_vm_readv(process->pid, local, below ? 2 : 1, remote, below ? 2 : 1, 0);
    reader->window_start = reader->window_end = 0;
    if (got < FRAME_BYTES)
        return NULL;
    if ((size_t)got == below + FRAME_BYTES) {
        reader->window_start = address - below;
        reader->window_end = address + FRAME_BYTES;
    }
    return reader->window + below;
}

static uint64_t word_at(const char *bytes, size_t offset) {
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

struct read_frame {
    uint64_t address, code, at;
    int32_t copy;
    bool has_code, is_entry;
};

/* A frame of the C stack separates what one run of the interpreter's loop executes from what its
 * caller does. Before 3.12 there is a flag, and before 3.11 each frame is a run of its own. */
static void parse_frame(const struct cpython_layout *layout, const char *bytes,
                        struct read_frame *frame) {
    uint8_t owner = (uint8_t)bytes[layout->owner];
    frame->code = word_at(bytes, layout->code) & ~(uint64_t)layout->tag_mask;
    frame->has_code = layout->owner_skip == CPYTHON_OWNER_NONE || owner < layout->owner_skip;
    frame->is_entry = layout->minor < 11 || (layout->minor == 11 && bytes[layout->owner - 1]);
    if (layout->instruction == CPYTHON_POINTER) {
        frame->at = word_at(bytes, layout->at);
    } else {
        int32_t at;
        memcpy(&at, bytes + layout->at, sizeof at);
        frame->at = (uint64_t)(int64_t)at;
    }
    if (layout->copies)
        memcpy(&frame->copy, bytes + layout->copy_index, sizeof frame->copy);
}

/* Frames with code, innermost first. False: they do not end, or memory is missing. */
static bool walk_frames(struct python_reader *reader, const struct process *process, uint64_t state,
                        struct read_frame frames[PYTHON_READ_FRAMES_MAX], size_t *count) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t holder = state, address;
    *count = 0;
    if ((layout->has_cframe && !read_word(process->pid, state + layout->cframe, &holder)) ||
        !read_word(process->pid, holder + layout->current_frame, &address))
        return false;
    reader->window_start = reader->window_end = 0;
    for (unsigned i = 0; address && i < 2 * PYTHON_READ_FRAMES_MAX; i++) {
        const char *bytes = frame_bytes(reader, process, address);
        if (!bytes)
            return false;
        struct read_frame frame = {.address = address};
        parse_frame(layout, bytes, &frame);
        if (frame.has_code && *count == PYTHON_READ_FRAMES_MAX)
            return true;
        if (frame.has_code)
            frames[(*count)++] = frame;
        else if (*count > 0)
            frames[*count - 1].is_entry = true;
        uint64_t previous = word_at(bytes, layout->previous);
        if (previous == address)
            return false;
        address = previous;
    }
    if (*count > 0)
        frames[*count - 1].is_entry = true;
    return address == 0;
}

/* ---- Code objects -------------------------------------------------------------------------- */

static size_t put_utf8(char *to, uint32_t c) {
    if (c >= 0xD800 && c < 0xE000)
        c = 0xFFFD; /* an undecodable byte of a file name */
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    unsigned bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = bytes - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 63));
    to[0] = (char)(0xF00u >> bytes | (c & (0x7Fu >> bytes)));
    return bytes;
}

/* The string as UTF-8; NULL: it is none. */
static char *read_string(const struct process *process, uint64_t object) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t type, length;
    uint32_t state;
    struct status ignored;
    char bytes[TEXT_BYTES_MAX];
    if (!read_word(process->pid, object + layout->type, &type) || type != process->text_type ||
        !read_memory(process->pid, &state, object + layout->text_state, sizeof state) ||
        !read_word(process->pid, object + layout->text_length, &length))
        return NULL;
    unsigned shift = layout->kind_shift == CPYTHON_SHIFT_UNKNOWN ? cpython_find_shift(state)
                                                                 : layout->kind_shift;
    if (shift == CPYTHON_SHIFT_UNKNOWN || !cpython_text_state_fits(state, shift))
        return NULL;
    unsigned kind = state >> shift & 7;
    bool is_ascii = state >> (shift + 4) & 1;
    if (length > sizeof bytes / kind)
        length = sizeof bytes / kind;
    char *text = memory_allocate(4 * length + 1, 1, &ignored);
    uint64_t data = object + (is_ascii ? layout->ascii_data : layout->text_data);
    if (!text || (length && !read_memory(process->pid, bytes, data, length * kind))) {
        memory_free(text);
        return NULL;
    }
    size_t used = 0;
    for (uint64_t i = 0; i < length; i++) {
        uint32_t character = 0;
        memcpy(&character, bytes + i * kind, kind); /* little-endian */
        if (character)
            used += put_utf8(text + used, character);
    }
    return text;
}

static bool read_table(const struct process *process, uint64_t object, struct python_code *code) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t type, size;
    struct status ignored;
    if (!read_word(process->pid, object + layout->type, &type) || type != process->bytes_type ||
        !read_word(process->pid, object + layout->size, &size) || size > TABLE_BYTES_MAX)
        return false;
    code->table = memory_allocate(size + 1, 1, &ignored);
    code->table_bytes = code->table ? (uint32_t)size : 0;
    return code->table &&
           (!size || read_memory(process->pid, code->table, object + layout->bytes_data, size));
}

static bool read_identity(const struct process *process, uint64_t address,
                          struct known_code *known) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t type;
    return read_word(process->pid, address + layout->type, &type) && type == process->code_type &&
           read_word(process->pid, address + layout->filename, &known->file) &&
           read_word(process->pid, address + (layout->qualname ? layout->qualname : layout->name),
                     &known->name) &&
           read_memory(process->pid, &known->first_line, address + layout->first_line,
                       sizeof known->first_line);
}

/* Where the instructions are, and their bytes. */
static bool read_extent(const struct process *process, uint64_t address, struct known_code *known) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t bytes;
    if (layout->instruction == CPYTHON_POINTER) {
        known->start = address + layout->instructions;
        bool ok = read_word(process->pid, address + layout->size, &known->size);
        known->size *= 2;
        return ok && known->size <= TABLE_BYTES_MAX * 16;
    }
    return read_word(process->pid, address + layout->instructions, &bytes) &&
           read_word(process->pid, bytes + layout->size, &known->size);
}

static struct python_code *read_code(const struct process *process, uint64_t address,
                                     struct known_code *known) {
    const struct cpython_layout *layout = &process->layout;
    struct status ignored;
    uint64_t table;
    struct python_code *code = memory_allocate(1, sizeof *code, &ignored);
    if (!code)
        return NULL;
    bool ok = read_identity(process, address, known) && known->first_line >= 0 &&
              read_extent(process, address, known) &&
              read_word(process->pid, address + layout->line_table, &table) &&
              read_table(process, table, code) &&
              (code->path = read_string(process, known->file)) &&
              (code->name = read_string(process, known->name));
    code->first_line = known->first_line;
    code->format = layout->lines;
    if (!ok) {
        python_code_destroy(code);
        return NULL;
    }
    return code;
}

/* A code object may have been freed and another may have its address: forgets those whose names are
 * others now, with one system call. */
static void verify_codes(struct python_reader *reader, struct process *process,
                         const struct read_frame *frames, size_t count) {
    const struct cpython_layout *layout = &process->layout;
    struct iovec local[VERIFIED_MAX], remote[VERIFIED_MAX];
    uint64_t words[VERIFIED_MAX], *indices[VERIFIED_MAX / 2];
    size_t used = 0;
    for (size_t i = 0; i < count && used < VERIFIED_MAX; i++) {
        uint64_t code = frames[i].code, *index = map_find(&process->codes, code);
        if (!index || !*index)
            continue;
        indices[used / 2] = index;
        remote[used++].iov_base = (void *)(uintptr_t)(code + layout->filename);
        remote[used++].iov_base =
            (void *)(uintptr_t)(code + (layout->qualname ? layout->qualname : layout->name));
    }
    for (size_t i = 0; i < used; i++) {
        local[i] = (struct iovec){&words[i], sizeof words[i]};
        remote[i].iov_len = sizeof words[i];
    }
    ssize_t got = used ? process_vm_readv(process->pid, local, used, remote, used, 0) : 0;
    for (size_t i = 0; i < used; i += 2) {
        const struct known_code *known =
            *indices[i / 2] ? &reader->known[*indices[i / 2] - 1] : NULL;
        if (known && ((size_t)(got < 0 ? 0 : got) < (i + 2) * sizeof words[0] ||
                      words[i] != known->file || words[i + 1] != known->name))
            *indices[i / 2] = 0;
    }
}

/* NULL: not a code object. */
static const struct known_code *find_code(struct python_reader *reader, struct process *process,
                                          uint64_t address) {
    struct status ignored;
    const uint64_t *index = map_find(&process->codes, address);
    struct known_code now = {0};
    if (index && *index)
        return &reader->known[*index - 1];
    struct python_code *code = read_code(process, address, &now);
    if (!code || !GROW(reader->known, &reader->known_capacity, reader->known_count + 1, &ignored) ||
        !GROW(reader->codes, &reader->code_capacity, reader->code_count + 1, &ignored) ||
        !map_set(&process->codes, address, reader->known_count + 1, &ignored)) {
        python_code_destroy(code);
        return NULL;
    }
    now.index = (uint32_t)reader->code_count;
    reader->codes[reader->code_count++] = code;
    reader->known[reader->known_count] = now;
    return &reader->known[reader->known_count++];
}

/* ---- Stacks -------------------------------------------------------------------------------- */

/* With free threading a thread executes a copy of the code. */
static bool find_start(const struct process *process, const struct read_frame *frame,
                       uint64_t *start) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t copies, count;
    if (!layout->copies)
        return true;
    return read_word(process->pid, frame->code + layout->copies, &copies) &&
           read_word(process->pid, copies, &count) && frame->copy >= 0 &&
           (uint64_t)frame->copy < count &&
           read_word(process->pid, copies + 8 + 8 * (uint64_t)frame->copy, start);
}

static bool check_frame(struct python_reader *reader, struct process *process,
                        const struct read_frame *read, struct python_frame *frame) {
    const struct known_code *code = find_code(reader, process, read->code);
    if (!code)
        return false;
    int64_t offset = (int64_t)read->at;
    if (process->layout.instruction == CPYTHON_POINTER) {
        uint64_t start = code->start;
        if (!find_start(process, read, &start))
            return false;
        offset = (int64_t)(read->at - start);
    } else if (process->layout.instruction == CPYTHON_UNIT_OFFSET) {
        offset *= 2;
    }
    *frame =
        (struct python_frame){read->address, code->index, (int32_t)offset, read->is_entry, false};
    return offset >= -2 && offset < (int64_t)code->size;
}

/* ---- The collector ------------------------------------------------------------------------- */

static bool is_collecting(const struct process *process) {
    const struct cpython_layout *layout = &process->layout;
    uint64_t interpreter;
    int32_t collecting = 0;
    return layout->collecting &&
           read_word(process->pid, process->runtime + layout->interpreters, &interpreter) &&
           read_memory(process->pid, &collecting, interpreter + layout->collecting,
                       sizeof collecting) &&
           collecting == 1;
}

static bool add_collector(struct python_reader *reader) {
    struct status ignored;
    if (reader->collector)
        return true;
    struct python_code *code = memory_allocate(1, sizeof *code, &ignored);
    if (!code || !(code->name = text_copy(TEXT(STACK_COLLECTOR), &ignored)) ||
        !(code->path = text_copy(TEXT(""), &ignored)) ||
        !GROW(reader->codes, &reader->code_capacity, reader->code_count + 1, &ignored)) {
        python_code_destroy(code);
        return false;
    }
    reader->codes[reader->code_count++] = code;
    reader->collector = (uint32_t)reader->code_count;
    return true;
}

/* Only the thread with the GIL collects. A thread that runs without it is told apart by its native
 * frames, in perf_stacks.c. */
static void note_collector(struct python_reader *reader, const struct process *process,
                           struct python_frame frames[PYTHON_READ_FRAMES_MAX], size_t *count) {
    if (!*count || !is_collecting(process) || !add_collector(reader))
        return;
    if (*count == PYTHON_READ_FRAMES_MAX)
        --*count;
    memmove(frames + 1, frames, *count * sizeof *frames);
    frames[0] = (struct python_frame){.code = reader->collector - 1, .is_collector = true};
    ++*count;
}

enum python_read python_reader_read(struct python_reader *reader, pid_t pid, pid_t tid,
                                    struct python_frame frames[PYTHON_READ_FRAMES_MAX],
                                    size_t *count) {
    struct read_frame read[PYTHON_READ_FRAMES_MAX];
    struct process *process = find_process(reader, pid);
    *count = 0;
    if (!process || process->state != FOUND)
        return process && process->state == REFUSED ? PYTHON_READ_REFUSED : PYTHON_READ_NONE;
    uint64_t state = find_state(process, tid);
    if (!state)
        return PYTHON_READ_NONE;
    errno = 0;
    if (!walk_frames(reader, process, state, read, count)) {
        if (errno == ESRCH || !is_of_thread(process, state, tid))
            forget_process(process);
        return PYTHON_READ_FAILED;
    }
    verify_codes(reader, process, read, *count);
    for (size_t i = 0; i < *count; i++)
        if (!check_frame(reader, process, &read[i], &frames[i]))
            return PYTHON_READ_FAILED;
    note_collector(reader, process, frames, count);
    return *count ? PYTHON_READ : PYTHON_READ_NONE;
}
#else
struct python_reader *python_reader_create(struct status *status) {
    status_fail(status, STATUS_UNSUPPORTED, "Python stacks are read on Linux only");
    return NULL;
}
void python_reader_destroy(struct python_reader *reader) {
    (void)reader;
}
bool python_reader_is_permitted(void) {
    return false;
}
bool python_reader_has_python(const struct python_reader *reader) {
    (void)reader;
    return false;
}
const char *python_reader_reason(const struct python_reader *reader) {
    (void)reader;
    return NULL;
}
size_t python_reader_code_count(const struct python_reader *reader) {
    (void)reader;
    return 0;
}
struct python_code *python_reader_take_code(struct python_reader *reader, size_t index) {
    (void)reader, (void)index;
    return NULL;
}
enum python_read python_reader_read(struct python_reader *reader, pid_t pid, pid_t tid,
                                    struct python_frame frames[PYTHON_READ_FRAMES_MAX],
                                    size_t *count) {
    (void)reader, (void)pid, (void)tid, (void)frames;
    *count = 0;
    return PYTHON_READ_NONE;
}
#endif
