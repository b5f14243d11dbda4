/* libdw of the elfutils does the work. It is told of the files that are mapped as their addresses
 * turn up, and asks back for registers and for memory, of which there is only the copied piece of
 * the stack. One session of it serves a process until its mappings change.
 *
 * Python 3.12 puts a few instructions between its own functions and those of the program that it
 * interprets, one piece for each, which is how they have names. No table describes these, but they
 * are always the same: behind them libdw is set going again. */
#include "record/perf_unwind.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

#if defined __x86_64__
/* Registers as the kernel numbers them (AX BX CX DX SI DI BP SP IP, R8 to R15 from 16 on), in the
 * order in which DWARF does; the last is the address of the code. */
static const uint8_t kernel_numbers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
enum { DWARF_STACK_POINTER = 7, DWARF_FRAME_POINTER = 6 };
#elif defined __aarch64__
static const uint8_t kernel_numbers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
enum { DWARF_STACK_POINTER = 31, DWARF_FRAME_POINTER = 29 };
#else
static const uint8_t kernel_numbers[] = {0};
#endif
enum { REGISTERS = sizeof kernel_numbers, CODE_ADDRESS = REGISTERS - 1 };

uint64_t perf_unwind_registers(void) {
    uint64_t mask = 0;
    for (size_t i = 0; i < REGISTERS; i++)
        mask |= (uint64_t)1 << kernel_numbers[i];
    return mask;
}

#if defined RIDGE_HAVE_DW && defined __linux__ && (defined __x86_64__ || defined __aarch64__)
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>

enum { SESSIONS = 32 };

struct session {
    pid_t pid;
    uint64_t generation;
    Dwfl *dwfl;
    bool attached;
};

struct perf_unwinder {
    struct symbols *symbols;
    struct session sessions[SESSIONS];
    unsigned next; /* to be replaced */
    struct session *session;
    /* the sample at hand */
    const struct perf_snapshot *snapshot;
    uint64_t stack_start;
    uint64_t registers[REGISTERS]; /* in DWARF's order; where the unwinding begins */
    bool again;                    /* it begins again from the registers */
    uint64_t *addresses;
    size_t count, limit;
};

struct perf_unwinder *perf_unwinder_create(struct symbols *symbols, struct status *status) {
    struct perf_unwinder *unwinder = memory_allocate(1, sizeof *unwinder, status);
    if (unwinder)
        unwinder->symbols = symbols;
    return unwinder;
}

void perf_unwinder_destroy(struct perf_unwinder *unwinder) {
    for (size_t i = 0; unwinder && i < SESSIONS; i++)
        if (unwinder->sessions[i].dwfl)
            dwfl_end(unwinder->sessions[i].dwfl);
    memory_free(unwinder);
}

/* The tables for unwinding are in the files themselves; debug files, which libdw might even fetch
 * from the network, are not wanted. */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word checksum, char **found) {
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum;
    (void)found;
    return -1;
}

static int no_elf_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                       char **found, Elf **elf) {
    (void)module, (void)data, (void)name, (void)base, (void)found, (void)elf;
    return -1;
}

static const Dwfl_Callbacks file_callbacks = {
    .find_elf = no_elf_file,
    .find_debuginfo = no_debug_file,
    .section_address = dwfl_offline_section_address,
};

static struct session *find_session(struct perf_unwinder *unwinder, pid_t pid) {
    uint64_t generation = symbols_generation(unwinder->symbols, pid);
    struct session *session = NULL;
    for (size_t i = 0; i < SESSIONS && !session; i++)
        if (unwinder->sessions[i].dwfl && unwinder->sessions[i].pid == pid)
            session = &unwinder->sessions[i];
    if (session && session->generation == generation)
        return session;
    if (!session)
        session = &unwinder->sessions[unwinder->next++ % SESSIONS];
    if (session->dwfl)
        dwfl_end(session->dwfl);
    *session = (struct session){pid, generation, dwfl_begin(&file_callbacks), false};
    return session->dwfl ? session : NULL;
}

/* Tells libdw of the file at an address; false when there is none. */
static bool report_file(struct perf_unwinder *unwinder, uint64_t address) {
    struct session *session = unwinder->session;
    struct text path;
    uint64_t base;
    if (dwfl_addrmodule(session->dwfl, address))
        return true;
    if (!symbols_image(unwinder->symbols, session->pid, address, &path, &base))
        return false;
    dwfl_report_begin_add(session->dwfl);
    Dwfl_Module *module = dwfl_report_elf(session->dwfl, path.data, path.data, -1, base, false);
    dwfl_report_end(session->dwfl, NULL, NULL);
    return module != NULL;
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread) {
    (void)dwfl;
    struct perf_unwinder *unwinder = context;
    if (*thread)
        return 0;
    *thread = unwinder;
    return unwinder->snapshot->tid;
}

static bool set_registers(Dwfl_Thread *thread, void *context) {
    struct perf_unwinder *unwinder = context;
#ifdef __aarch64__
    dwfl_thread_state_register_pc(thread, unwinder->registers[CODE_ADDRESS]);
    return dwfl_thread_state_registers(thread, 0, CODE_ADDRESS, unwinder->registers);
#else
    return dwfl_thread_state_registers(thread, 0, REGISTERS, unwinder->registers);
#endif
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *value, void *context) {
    (void)dwfl;
    const struct perf_unwinder *unwinder = context;
    const struct perf_snapshot *snapshot = unwinder->snapshot;
    uint64_t start = unwinder->stack_start;
    if (address < start || address - start > snapshot->stack_bytes ||
        snapshot->stack_bytes - (address - start) < sizeof *value)
        return false;
    memcpy(value, snapshot->stack + (address - start), sizeof *value);
    return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
};

/* The code that Python makes has a frame of two words, the second of which is the address that it
 * returns to; the first is its caller's frame pointer, if it keeps one. */
static bool skip_python(struct perf_unwinder *unwinder, Dwfl_Frame *frame) {
#if _ELFUTILS_PREREQ(0, 188)
    uint64_t *registers = unwinder->registers;
    for (unsigned i = 0; i < CODE_ADDRESS; i++) {
        Dwarf_Word value;
        if (dwfl_frame_reg(frame, i, &value) == 0)
            registers[i] = value;
    }
    uint64_t stack = registers[DWARF_STACK_POINTER], words[2];
    if (!read_memory(NULL, stack, &words[0], unwinder) ||
        !read_memory(NULL, stack + 8, &words[1], unwinder))
        return false;
    if (registers[DWARF_FRAME_POINTER] == stack)
        registers[DWARF_FRAME_POINTER] = words[0];
    registers[DWARF_STACK_POINTER] = stack + sizeof words;
    registers[CODE_ADDRESS] = words[1];
    return true;
#else
    (void)unwinder, (void)frame;
    return false;
#endif
}

static int take_frame(Dwfl_Frame *frame, void *context) {
    struct perf_unwinder *unwinder = context;
    pid_t pid = unwinder->snapshot->pid;
    Dwarf_Addr address;
    if (unwinder->count == unwinder->limit || !dwfl_frame_pc(frame, &address, NULL))
        return DWARF_CB_ABORT;
    unwinder->addresses[unwinder->count++] = address;
    if (report_file(unwinder, address))
        return DWARF_CB_OK;
    if (text_is(symbols_find(unwinder->symbols, pid, address, false).module, "[python]"))
        unwinder->again = skip_python(unwinder, frame);
    return DWARF_CB_ABORT;
}

/* Adds the frames from where the registers are; false when they are the last. */
static bool unwind_on(struct perf_unwinder *unwinder) {
    struct session *session = unwinder->session;
    unwinder->again = false;
    if (!report_file(unwinder, unwinder->registers[CODE_ADDRESS]))
        return false;
    if (!session->attached)
        session->attached =
            dwfl_attach_state(session->dwfl, NULL, session->pid, &thread_callbacks, unwinder);
    if (session->attached)
        dwfl_getthread_frames(session->dwfl, unwinder->snapshot->tid, take_frame, unwinder);
    return unwinder->again && unwinder->count < unwinder->limit;
}

size_t perf_unwind(struct perf_unwinder *unwinder, const struct perf_snapshot *snapshot,
                   uint64_t *addresses, size_t limit) {
    for (size_t i = 0; i < REGISTERS; i++)
        unwinder->registers[i] = snapshot->registers[kernel_numbers[i]];
    unwinder->snapshot = snapshot;
    unwinder->stack_start = unwinder->registers[DWARF_STACK_POINTER];
    unwinder->addresses = addresses;
    unwinder->count = 0;
    unwinder->limit = limit;
    unwinder->session = find_session(unwinder, snapshot->pid);
    while (unwinder->session && unwind_on(unwinder))
        continue;
    if (unwinder->count == 0 && limit > 0)
        addresses[unwinder->count++] = snapshot->registers[kernel_numbers[CODE_ADDRESS]];
    return unwinder->count;
}

#else

struct perf_unwinder *perf_unwinder_create(struct symbols *symbols, struct status *status) {
    (void)symbols;
    status_fail(status, STATUS_UNSUPPORTED,
                "this ridge was built without libdw, which unwinds by DWARF tables; install "
                "libdw-dev (elfutils-devel) and build it again, or leave --stacks at fp");
    return NULL;
}

void perf_unwinder_destroy(struct perf_unwinder *unwinder) {
    (void)unwinder;
}

size_t perf_unwind(struct perf_unwinder *unwinder, const struct perf_snapshot *snapshot,
                   uint64_t *addresses, size_t limit) {
    (void)unwinder, (void)snapshot, (void)addresses, (void)limit;
    return 0;
}
#endif
