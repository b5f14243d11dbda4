/* Calls dlopen() and ridge_probe_attach() on a thread of the process, by ptrace().
 *
 * The thread must be at a point where both are safe: they take locks of the C library and call
 * malloc(). It is therefore one that waits in a system call that the kernel restarts, made by a
 * function of the C library that holds none of these locks, called from outside the C library. Its
 * whole stack is unwound: a thread inside a signal handler, the dynamic loader or another allocator
 * is not used, nor one whose stack is not understood. ridge_probe_attach() only starts a thread, so
 * locks of the driver do not matter.
 *
 * The calls run on a stack of their own, with all asynchronous signals blocked. They return to
 * rt_sigreturn(), with a signal frame that holds the thread's state and makes its system call
 * again: if ridge is killed at any moment, the thread finishes the call and goes on by itself. The
 * recorder stops the thread at that system call, and puts its registers, signal mask and
 * interrupted call back as they were. Whatever is not as expected ends the attempt in the same way.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "record/inject.h"

#include <stdio.h>
#include <string.h>

#if defined __linux__ && (defined __x86_64__ || defined __aarch64__)

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "record/perf/perf_attach.h"
#include "record/process_facts.h"
#include "record/symbols/perf_unwind.h"

enum {
    ATTEMPTS_NS = 2000000000, /* how long a suitable thread is looked for */
    RETRY_NS = 10000000,
    STOP_NS = 1000000000, /* a thread that does not stop in this time is not used */
    POLL_NS = 20000,
    RED_ZONE = 128,            /* below the stack pointer; the thread may use it */
    SCRATCH_BYTES = 256 << 10, /* stack and arguments of the calls */
    ARGUMENTS_BYTES = 16 << 10,
    STACK_BYTES = 128 << 10, /* of the thread, for unwinding */
    FRAMES_MAX = 256,
    EXTENDED_BYTES = 32 << 10, /* vector registers */
    LINE_SIZE = 4500,
    FRAME_BYTES = 16 << 10, /* struct saved_frame, and what the kernel may read behind it: all
                               registers that the processor has */
    /* results of ridge_probe_attach() */
    PROBE_IS_RECORDED = 1,
    PROBE_NO_THREAD = 2,
};
static const int64_t call_timeout_ns = 10000000000;

/* The flags of an alternate signal stack that the kernel refuses, and so leaves the thread's. */
enum { INVALID_STACK = 0x70 };

/* ---- Registers --------------------------------------------------------------------------- */

#ifdef __x86_64__

typedef struct user_regs_struct registers;
enum { EXTENDED_REGISTERS = 0x202 /* NT_X86_XSTATE */, SYSTEM_CALL_BYTES = 2, HAS_RESTART = 1 };
static const uint8_t system_call_bytes[] = {0x0f, 0x05};
/* mov $15, %rax; syscall: of the C library. */
static const uint8_t return_bytes[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

static uint64_t stack_pointer(const registers *registers) {
    return registers->rsp;
}

static uint64_t result_of(const registers *registers) {
    return registers->rax;
}

/* The kernel restarts the call when the thread continues with these registers. */
static bool is_interrupted_call(const registers *registers, uint64_t *at) {
    int64_t result = (int64_t)registers->rax;
    *at = registers->rip - SYSTEM_CALL_BYTES;
    return (int64_t)registers->orig_rax >= 0 && result <= -512 && result >= -516 && result != -515;
}

/* Makes the interrupted call again. */
static void set_restart(registers *registers) {
    registers->rip -= SYSTEM_CALL_BYTES;
    registers->rax = registers->orig_rax;
    registers->orig_rax = UINT64_MAX;
}

/* struct rt_sigframe of the kernel. Only the registers of FXSAVE follow it: functions do not
 * preserve the others. */
enum { UC_SIGCONTEXT_SS = 2, UC_STRICT_RESTORE_SS = 4, FX_BYTES = 512, FX_RESERVED = 464 };
struct signal_frame {
    uint64_t restorer;
    uint64_t flags, link, stack, stack_flags, stack_bytes;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, cr2, fpstate, reserved[8];
    uint64_t mask;
    uint8_t siginfo[128];
};
struct saved_frame {
    uint64_t padding;
    struct signal_frame frame; /* the stack pointer of the call */
    uint8_t more[64];
    uint8_t fpstate[FX_BYTES];
};
_Static_assert(offsetof(struct saved_frame, fpstate) % 64 == 0, "the processor requires it");

static uint64_t frame_address(uint64_t base) {
    return base + offsetof(struct saved_frame, frame);
}

static void fill_frame(struct saved_frame *saved, uint64_t base, uint64_t restorer,
                       const registers *from, const uint8_t *extended, uint64_t mask) {
    registers at = *from;
    set_restart(&at);
    *saved = (struct saved_frame){.frame = {.restorer = restorer,
                                            .flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
                                            .stack_flags = INVALID_STACK,
                                            .r8 = at.r8,
                                            .r9 = at.r9,
                                            .r10 = at.r10,
                                            .r11 = at.r11,
                                            .r12 = at.r12,
                                            .r13 = at.r13,
                                            .r14 = at.r14,
                                            .r15 = at.r15,
                                            .rdi = at.rdi,
                                            .rsi = at.rsi,
                                            .rbp = at.rbp,
                                            .rbx = at.rbx,
                                            .rdx = at.rdx,
                                            .rax = at.rax,
                                            .rcx = at.rcx,
                                            .rsp = at.rsp,
                                            .rip = at.rip,
                                            .eflags = at.eflags,
                                            .cs = (uint16_t)at.cs,
                                            .ss = (uint16_t)at.ss,
                                            .fpstate = base + offsetof(struct saved_frame, fpstate),
                                            .mask = mask}};
    memcpy(saved->fpstate, extended, FX_RESERVED);
}

/* Whether the thread is about to return by that frame. */
static bool is_returning(const registers *registers, uint64_t frame) {
    return registers->orig_rax == SYS_rt_sigreturn && registers->rsp == frame + 8;
}

/* The registers also say which system call is made: none. */
static bool cancel_system_call(pid_t tid) {
    (void)tid;
    return true;
}

/* The word at the stack pointer is the return address. */
static void set_call(registers *registers, uint64_t function, uint64_t frame, uint64_t restorer,
                     const uint64_t arguments[6]) {
    (void)restorer; /* in the frame */
    registers->rip = function;
    registers->rsp = frame;
    registers->rbp = 0;
    registers->rax = 0;
    registers->orig_rax = UINT64_MAX;
    registers->eflags &= ~(uint64_t)0x400; /* DF */
    registers->rdi = arguments[0];
    registers->rsi = arguments[1];
    registers->rdx = arguments[2];
    registers->rcx = arguments[3];
    registers->r8 = arguments[4];
    registers->r9 = arguments[5];
}

/* In the order of perf_unwind_registers(). */
static void unwind_registers(const registers *from, uint64_t *to) {
    const uint64_t low[] = {from->rax, from->rbx, from->rcx, from->rdx, from->rsi,
                            from->rdi, from->rbp, from->rsp, from->rip};
    const uint64_t high[] = {from->r8,  from->r9,  from->r10, from->r11,
                             from->r12, from->r13, from->r14, from->r15};
    memcpy(to, low, sizeof low);
    memcpy(to + 16, high, sizeof high);
}

#else

typedef struct user_regs_struct registers;
/* The kernel has already set the program counter back to the call. One with a relative timeout
 * would start again with the whole time. */
enum { EXTENDED_REGISTERS = NT_PRFPREG, SYSTEM_CALL_BYTES = 4, HAS_RESTART = 0 };
static const uint8_t system_call_bytes[] = {0x01, 0x00, 0x00, 0xd4};
/* mov x8, #139; svc #0: of the vDSO. */
static const uint8_t return_bytes[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

static uint64_t stack_pointer(const registers *registers) {
    return registers->sp;
}

static uint64_t result_of(const registers *registers) {
    return registers->regs[0];
}

static bool is_interrupted_call(const registers *registers, uint64_t *at) {
    *at = registers->pc;
    return true;
}

/* The kernel has done that. */
static void set_restart(registers *registers) {
    (void)registers;
}

/* struct rt_sigframe of the kernel, with its struct fpsimd_context. */
enum { VECTOR_BYTES = 512 };
struct saved_frame {
    uint8_t siginfo[128];
    uint64_t flags, link, stack, stack_flags, stack_bytes;
    uint64_t mask, unused[16];
    uint64_t fault_address, registers[31], sp, pc, pstate, padding;
    uint32_t magic, bytes, fpsr, fpcr;
    uint8_t vectors[VECTOR_BYTES];
    uint64_t end[2];
    uint8_t more[3552];
};

static uint64_t frame_address(uint64_t base) {
    return base;
}

static void fill_frame(struct saved_frame *saved, uint64_t base, uint64_t restorer,
                       const registers *from, const uint8_t *extended, uint64_t mask) {
    (void)base, (void)restorer;
    *saved = (struct saved_frame){.stack_flags = INVALID_STACK,
                                  .mask = mask,
                                  .sp = from->sp,
                                  .pc = from->pc,
                                  .pstate = from->pstate,
                                  .magic = FPSIMD_MAGIC,
                                  .bytes = VECTOR_BYTES + 16};
    memcpy(saved->registers, from->regs, sizeof saved->registers);
    memcpy(saved->vectors, extended, VECTOR_BYTES);
    memcpy(&saved->fpsr, extended + VECTOR_BYTES, 2 * sizeof saved->fpsr);
}

static bool is_returning(const registers *registers, uint64_t frame) {
    return registers->regs[8] == SYS_rt_sigreturn && registers->sp == frame;
}

/* After the registers are set: until then, the frame of the next call is returned by. */
static bool cancel_system_call(pid_t tid) {
    int none = -1;
    struct iovec part = {&none, sizeof none};
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &part) == 0;
}

static void set_call(registers *registers, uint64_t function, uint64_t frame, uint64_t restorer,
                     const uint64_t arguments[6]) {
    registers->pc = function;
    registers->sp = frame;
    memcpy(registers->regs, arguments, 6 * sizeof *arguments);
    registers->regs[29] = 0;
    registers->regs[30] = restorer;
}

static void unwind_registers(const registers *from, uint64_t *to) {
    memcpy(to, from->regs, sizeof from->regs);
    to[31] = from->sp;
    to[32] = from->pc;
}

#endif

enum { UNWIND_REGISTERS = 64 };

/* ---- Facts ------------------------------------------------------------------------------- */

static void sleep_ns(long nanoseconds) {
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

/* The value of "NAME:" in /proc/PID/status, in this base; -1: unknown. */
static int64_t status_value(pid_t pid, const char *name, int base) {
    char path[64], line[512];
    int64_t value = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            value = (int64_t)(strtoull(line + strlen(name) + 1, NULL, base) & INT64_MAX);
    if (file)
        fclose(file);
    return value;
}

static bool has_shadow_stack(pid_t pid) {
    char path[64], line[512];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        has |= strncmp(line, "x86_Thread_features:", 20) == 0 && strstr(line, "shstk");
    if (file)
        fclose(file);
    return has;
}

static bool read_memory(pid_t pid, uint64_t at, void *to, size_t bytes, size_t *got) {
    struct iovec local = {to, bytes}, there = {(void *)(uintptr_t)at, bytes};
    ssize_t length = process_vm_readv(pid, &local, 1, &there, 1, 0);
    *got = length > 0 ? (size_t)length : 0;
    return length == (ssize_t)bytes;
}

static bool is_libc(struct text module) {
    return text_starts(module, "libc.so") || text_starts(module, "libc-") ||
           text_starts(module, "libpthread");
}

/* A mapped file, as the process sees it. */
struct loaded_file {
    char path[LINE_SIZE];
    uint64_t base, inode;
};

/* The first mapping of a file whose name begins with one of these, separated by spaces, or whose
 * path is `names`. */
static bool matches(const char *path, const char *names) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(path, names) == 0)
        return true;
    while (*names && *names != '/') {
        size_t length = strcspn(names, " ");
        if (strncmp(name, names, length) == 0)
            return true;
        names += length + (names[length] == ' ');
    }
    return false;
}

static bool find_loaded(pid_t pid, const char *names, struct loaded_file *found) {
    char path[64], line[LINE_SIZE];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        uint64_t offset;
        int name = 0;
        line[strcspn(line, "\n")] = 0;
        is_found = sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %" SCNu64 " %n", &found->base,
                          &offset, &found->inode, &name) == 3 &&
                   offset == 0 && name && line[name] == '/' && matches(line + name, names);
        if (is_found)
            snprintf(found->path, sizeof found->path, "%s", line + name);
    }
    if (file)
        fclose(file);
    return is_found;
}

bool inject_finds_cuda(pid_t pid) {
    struct loaded_file file;
    return find_loaded(pid, "libcuda.so", &file);
}

/* The address of a function in the process; 0: not found. */
static uint64_t find_function(pid_t pid, const struct loaded_file *file, const char *name) {
    char path[LINE_SIZE + 64];
    struct elf_source source;
    struct stat info;
    struct status ignored;
    uint64_t address = 0;
    snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, file->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bool ok = fstat(fd, &info) == 0 && info.st_ino == file->inode &&
              elf_source_file(&source, fd, &ignored) &&
              elf_find_symbols(&source, &name, 1, &address, &ignored) && address;
    close(fd);
    return ok ? file->base + address : 0;
}

static uint64_t find_libc_function(pid_t pid, const char *name) {
    static const char *const libraries[] = {"libc.so.6 libc-2.", "libdl.so.2 libdl-2."};
    struct loaded_file file;
    uint64_t address = 0;
    for (size_t i = 0; i < ARRAY_COUNT(libraries) && !address; i++)
        if (find_loaded(pid, libraries[i], &file))
            address = find_function(pid, &file, name);
    return address;
}

/* The address of these bytes in code of the C library or the vDSO; 0: not found. */
static uint64_t find_code(pid_t pid, const uint8_t *code, size_t bytes) {
    enum { CHUNK = 64 << 10 };
    static uint8_t chunk[CHUNK];
    char path[64], line[LINE_SIZE];
    uint64_t start, end, found = 0;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char access[8] = "";
        line[strcspn(line, "\n")] = 0;
        const char *slash = strrchr(line, '/');
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, access) != 3 ||
            access[2] != 'x' || !(strstr(line, "[vdso]") || (slash && is_libc(text_of(slash + 1)))))
            continue;
        for (uint64_t at = start; at < end && !found; at += CHUNK - bytes) {
            size_t got, wanted = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
            read_memory(pid, at, chunk, wanted, &got);
            const uint8_t *place = got >= bytes ? memmem(chunk, got, code, bytes) : NULL;
            found = place ? at + (uint64_t)(place - chunk) : 0;
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* What a call needs of the process. */
struct landmarks {
    uint64_t dlopen, mmap, munmap;
    uint64_t restorer; /* instructions that return from a signal */
};

static bool find_landmarks(pid_t pid, struct landmarks *found) {
    *found = (struct landmarks){.dlopen = find_libc_function(pid, "dlopen"),
                                .mmap = find_libc_function(pid, "mmap"),
                                .munmap = find_libc_function(pid, "munmap"),
                                .restorer = find_code(pid, return_bytes, sizeof return_bytes)};
    return found->dlopen && found->mmap && found->munmap && found->restorer;
}

/* Whether the process sees the same file under this path. */
static bool is_visible(pid_t pid, const char *path) {
    char there[LINE_SIZE + 64];
    struct stat here, seen;
    snprintf(there, sizeof there, "/proc/%ld/root%s", (long)pid, path);
    return stat(path, &here) == 0 && stat(there, &seen) == 0 && here.st_ino == seen.st_ino &&
           here.st_dev == seen.st_dev;
}

static bool is_ignored(pid_t pid, int signal) {
    int64_t ignored = status_value(pid, "SigIgn", 16);
    return ignored < 0 || ignored >> (signal - 1) & 1;
}

static bool check_process(const struct injection *injection, struct status *status) {
    pid_t pid = injection->pid;
    const char *why = NULL;
    if (status_value(pid, "Uid", 10) != (int64_t)getuid())
        why = "it belongs to another user; run ridge as that user";
    else if (!is_visible(pid, injection->library) || !is_visible(pid, injection->folder))
        why = "it runs in a container or another root folder; run ridge there";
    else if (status_value(pid, "Seccomp_filters", 10) >
             status_value(getpid(), "Seccomp_filters", 10))
        why = "it has restricted its system calls (seccomp)";
    else if (has_shadow_stack(pid))
        why = "it uses a shadow stack";
    else if (is_ignored(pid, SIGSEGV) || is_ignored(pid, SIGTRAP))
        why = "it ignores SIGSEGV or SIGTRAP";
    return !why || status_fail(status, STATUS_UNSUPPORTED, "%s", why);
}

/* ---- A stopped thread -------------------------------------------------------------------- */

struct remote {
    pid_t pid, tid;
    registers saved;
    uint8_t *extended;
    size_t extended_bytes;
    uint64_t mask;
    const struct landmarks *landmarks;
    uint64_t frame; /* by which the call that is running returns */
    uint64_t scratch;
    bool is_gone;     /* the thread has ended */
    bool is_recorded; /* the probe serves another recorder */
};

static bool get_registers(pid_t tid, registers *registers) {
    struct iovec part = {registers, sizeof *registers};
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) == 0 &&
           part.iov_len == sizeof *registers;
}

static bool set_registers(pid_t tid, const registers *registers) {
    struct iovec part = {(void *)(uintptr_t)registers, sizeof *registers};
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &part) == 0;
}

static bool save_extended(struct remote *remote) {
    struct iovec part = {remote->extended, EXTENDED_BYTES};
    if (ptrace(PTRACE_GETREGSET, remote->tid, (void *)(intptr_t)EXTENDED_REGISTERS, &part) != 0 ||
        part.iov_len == 0 || part.iov_len >= EXTENDED_BYTES)
        return false;
    remote->extended_bytes = part.iov_len;
    return true;
}

static bool write_memory(pid_t pid, uint64_t at, const void *from, size_t bytes) {
    struct iovec local = {(void *)(uintptr_t)from, bytes}, there = {(void *)(uintptr_t)at, bytes};
    return process_vm_writev(pid, &local, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The next stop of the thread. 0: none in this time; -1: the thread has ended. */
static int wait_for_stop(struct remote *remote, int64_t timeout, int *stop) {
    int64_t deadline = clock_now() + timeout;
    do {
        int status;
        pid_t got = waitpid(remote->tid, &status, __WALL | WNOHANG);
        if (got == remote->tid && WIFSTOPPED(status)) {
            *stop = status;
            return 1;
        }
        if (got == remote->tid || (got < 0 && errno != EINTR)) {
            remote->is_gone = true;
            return -1;
        }
        sleep_ns(POLL_NS);
    } while (clock_now() < deadline);
    return 0;
}

static bool is_event_stop(int stop) {
    return stop >> 16 == PTRACE_EVENT_STOP;
}

/* Signals that arrive meanwhile are delivered. A process that is stopped by a signal is not used.
 */
static bool await_event_stop(struct remote *remote) {
    int stop;
    for (;;) {
        if (wait_for_stop(remote, STOP_NS, &stop) <= 0)
            return false;
        if (is_event_stop(stop))
            return WSTOPSIG(stop) == SIGTRAP;
        intptr_t deliver = WSTOPSIG(stop) & 0x80 ? 0 : WSTOPSIG(stop);
        if (ptrace(PTRACE_CONT, remote->tid, NULL, (void *)deliver) != 0)
            return false;
    }
}

static bool interrupt_thread(struct remote *remote) {
    return ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL) == 0 && await_event_stop(remote);
}

/* ---- Calls ------------------------------------------------------------------------------- */

/* The thread waits for a lock that another thread holds for long. It holds none itself. */
static bool give_up_call(struct remote *remote) {
    char path[96], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/syscall", (long)remote->pid, (long)remote->tid);
    FILE *file = fopen(path, "re");
    bool waits = file && fgets(line, sizeof line, file) && strtol(line, NULL, 10) == SYS_futex;
    if (file)
        fclose(file);
    return waits && interrupt_thread(remote);
}

static bool is_system_call_stop(int stop) {
    return stop >> 16 == 0 && WSTOPSIG(stop) == (SIGTRAP | 0x80);
}

static bool is_fault(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGTRAP;
}

/* Until the thread is about to return by the frame. *result is that of its last system call. A
 * signal that stops the process is left to it. */
static bool await_return(struct remote *remote, uint64_t *result) {
    registers registers;
    intptr_t deliver = 0;
    for (;;) {
        int stop, got;
        if (ptrace(PTRACE_SYSCALL, remote->tid, NULL, (void *)deliver) != 0)
            return false;
        while ((got = wait_for_stop(remote, call_timeout_ns, &stop)) == 0)
            if (give_up_call(remote))
                return false;
        deliver = 0;
        if (got < 0 || (!is_event_stop(stop) && is_fault(WSTOPSIG(stop))))
            return false;
        if (!is_system_call_stop(stop)) {
            deliver = is_event_stop(stop) ? 0 : WSTOPSIG(stop);
            continue;
        }
        if (!get_registers(remote->tid, &registers))
            return false;
        if (is_returning(&registers, remote->frame))
            return true;
        *result = result_of(&registers);
    }
}

/* All but those that the processor raises. */
static bool block_signals(struct remote *remote) {
    static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    uint64_t mask = UINT64_MAX;
    for (size_t i = 0; i < ARRAY_COUNT(raised); i++)
        mask &= ~((uint64_t)1 << (raised[i] - 1));
    return ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof mask, &mask) == 0;
}

/* Calls the function with a stack that begins below `base`, where the frame is. From the moment at
 * which the registers are set, the thread needs no tracer. */
static bool run_call(struct remote *remote, uint64_t base, uint64_t function,
                     const uint64_t arguments[6], uint64_t *result) {
    struct saved_frame frame;
    registers registers = remote->saved;
    fill_frame(&frame, base, remote->landmarks->restorer, &remote->saved, remote->extended,
               remote->mask);
    uint64_t before = remote->frame;
    remote->frame = frame_address(base);
    set_call(&registers, function, remote->frame, remote->landmarks->restorer, arguments);
    return write_memory(remote->pid, base, &frame, sizeof frame) &&
           set_registers(remote->tid, &registers) && (!before || cancel_system_call(remote->tid)) &&
           block_signals(remote) && await_return(remote, result);
}

/* The three texts, one after the other. */
static bool write_arguments(struct remote *remote, const struct injection *injection,
                            uint64_t addresses[3]) {
    const char *texts[] = {injection->library, injection->folder, injection->words};
    uint64_t at = remote->scratch;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        size_t bytes = strlen(texts[i]) + 1;
        if (at - remote->scratch + bytes > ARGUMENTS_BYTES ||
            !write_memory(remote->pid, at, texts[i], bytes))
            return false;
        addresses[i] = at;
        at += bytes;
    }
    return true;
}

static uint64_t find_attach(const struct injection *injection) {
    struct loaded_file file;
    return find_loaded(injection->pid, injection->library, &file)
               ? find_function(injection->pid, &file, "ridge_probe_attach")
               : 0;
}

static bool call_probe(struct remote *remote, const struct injection *injection,
                       struct status *status) {
    uint64_t texts[3], attach, ignored, top = remote->scratch + SCRATCH_BYTES - FRAME_BYTES,
                                        result_at = remote->scratch + ARGUMENTS_BYTES;
    int32_t result = PROBE_NO_THREAD;
    size_t got;
    if (!write_arguments(remote, injection, texts) ||
        !write_memory(remote->pid, result_at, &result, sizeof result))
        return status_fail(status, STATUS_IO, "its memory cannot be written");
    if (!run_call(remote, top, remote->landmarks->dlopen, (uint64_t[6]){texts[0], RTLD_NOW},
                  &ignored))
        return status_fail(status, STATUS_IO, "dlopen() did not return in it");
    if (!(attach = find_attach(injection)))
        return status_fail(status, STATUS_UNSUPPORTED, "its dynamic loader refuses %s",
                           injection->library);
    if (!run_call(remote, top, attach, (uint64_t[6]){texts[1], texts[2], result_at}, &ignored) ||
        !read_memory(remote->pid, result_at, &result, sizeof result, &got))
        return status_fail(status, STATUS_IO, "the probe did not start in it");
    remote->is_recorded = result == PROBE_IS_RECORDED;
    if (remote->is_recorded)
        return status_fail(status, STATUS_UNSUPPORTED, "it is being recorded already");
    return result == 0 || status_fail(status, STATUS_UNSUPPORTED, "it cannot start another thread");
}

static bool has_returned(struct remote *remote) {
    registers registers;
    return !remote->is_gone && get_registers(remote->tid, &registers) &&
           is_returning(&registers, remote->frame);
}

/* The calls that map and unmap the scratch memory use the thread's own stack. */
static bool call_with_scratch(struct remote *remote, const struct injection *injection,
                              struct status *status) {
    const uint64_t map[6] = {
        0, SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0};
    uint64_t ignored, base = (stack_pointer(&remote->saved) - RED_ZONE - FRAME_BYTES) & ~63ull;
    if (!run_call(remote, base, remote->landmarks->mmap, map, &remote->scratch) ||
        (int64_t)remote->scratch <= 0)
        return status_fail(status, STATUS_IO, "no memory can be mapped in it");
    bool ok = call_probe(remote, injection, status);
    if (has_returned(remote))
        run_call(remote, base, remote->landmarks->munmap,
                 (uint64_t[6]){remote->scratch, SCRATCH_BYTES}, &ignored);
    return ok;
}

/* The kernel restarts the interrupted call of a thread that leaves an event stop. Until there, the
 * thread makes the call again by itself. */
static void restore(struct remote *remote) {
    struct iovec extended = {remote->extended, remote->extended_bytes};
    registers restarted = remote->saved;
    set_restart(&restarted);
    ptrace(PTRACE_SETREGSET, remote->tid, (void *)(intptr_t)EXTENDED_REGISTERS, &extended);
    ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof remote->mask, &remote->mask);
    if (has_returned(remote) && set_registers(remote->tid, &restarted) &&
        cancel_system_call(remote->tid) && ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL) == 0 &&
        ptrace(PTRACE_CONT, remote->tid, NULL, NULL) == 0)
        await_event_stop(remote);
    set_registers(remote->tid, &remote->saved);
}

static bool run_calls(struct remote *remote, const struct injection *injection,
                      struct status *status) {
    if (ptrace(PTRACE_GETSIGMASK, remote->tid, (void *)sizeof remote->mask, &remote->mask) != 0 ||
        !save_extended(remote))
        return status_fail_errno(status, "the state of its thread cannot be saved");
    bool ok = call_with_scratch(remote, injection, status);
    if (!remote->is_gone)
        restore(remote);
    return ok;
}

/* ---- Suitable threads -------------------------------------------------------------------- */

struct injector {
    const struct injection *injection;
    struct landmarks landmarks;
    struct symbols *symbols;
    struct perf_unwinder *unwinder;
    uint8_t *stack, *extended;
    struct status *status;
    bool is_done;     /* the calls were made, or cannot be */
    bool is_recorded; /* by another recorder */
    bool ok;
};

/* Without the underscores and prefixes of glibc's aliases. */
static struct text plain_name(struct text name) {
    static const char *const prefixes[] = {"_", "GI_", "libc_", "new_"};
    for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++)
        while (text_starts(name, prefixes[i])) {
            size_t length = strlen(prefixes[i]);
            name = (struct text){name.data + length, name.length - length};
            i = 0;
        }
    return name;
}

/* Functions that wait and hold no lock of the C library. */
static bool is_waiting_function(struct text function) {
    static const char *const names[] = {"poll",
                                        "ppoll",
                                        "select",
                                        "pselect",
                                        "nanosleep",
                                        "clock_nanosleep",
                                        "sleep",
                                        "usleep",
                                        "thrd_sleep",
                                        "read",
                                        "wait4",
                                        "waitpid",
                                        "waitid",
                                        "pause",
                                        "syscall",
                                        "pthread_cond_wait",
                                        "pthread_cond_timedwait",
                                        "pthread_cond_clockwait",
                                        "cnd_wait",
                                        "cnd_timedwait",
                                        "sem_wait",
                                        "sem_timedwait",
                                        "sem_clockwait",
                                        "pthread_join",
                                        "pthread_clockjoin_np",
                                        "pthread_timedjoin_np"};
    struct text name = plain_name(function);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

static bool is_loader_or_allocator(struct text module) {
    return text_starts(module, "ld-") || text_starts(module, "ld.so") ||
           text_find(module, "malloc") >= 0;
}

/* From the innermost frame on: those of the C library end with a waiting function, and no other is
 * of the loader, of an allocator, or unknown. */
static bool are_safe_frames(struct injector *injector, const uint64_t *addresses, size_t count) {
    struct symbol before = {.module = TEXT("")};
    bool outside = false;
    for (size_t i = 0; i < count; i++) {
        struct symbol symbol = symbols_find(injector->symbols, injector->injection->pid,
                                            addresses[i] - (i > 0), false);
        bool libc = is_libc(symbol.module);
        if (symbol.module.length == 0 || is_loader_or_allocator(symbol.module) ||
            (libc && text_is(plain_name(symbol.function), "dl_iterate_phdr")))
            return false;
        if (!libc && !outside && i > 0 && !is_waiting_function(before.function))
            return false;
        outside |= !libc;
        before = symbol;
    }
    return outside;
}

static bool is_safe(struct injector *injector, struct remote *remote) {
    uint64_t values[UNWIND_REGISTERS] = {0}, addresses[FRAMES_MAX], system_call;
    uint8_t instruction[SYSTEM_CALL_BYTES];
    size_t got;
    bool complete = false, in_handler = false;
    if (!is_interrupted_call(&remote->saved, &system_call) ||
        !read_memory(remote->pid, system_call, instruction, sizeof instruction, &got) ||
        memcmp(instruction, system_call_bytes, sizeof instruction) != 0)
        return false;
    read_memory(remote->pid, stack_pointer(&remote->saved), injector->stack, STACK_BYTES, &got);
    unwind_registers(&remote->saved, values);
    struct perf_stack_snapshot snapshot = {.pid = remote->pid,
                                           .registers = values,
                                           .stack = injector->stack,
                                           .stack_bytes = got,
                                           .in_signal_handler = &in_handler};
    size_t count = perf_unwind(injector->unwinder, &snapshot, addresses, FRAMES_MAX, &complete);
    return complete && !in_handler && are_safe_frames(injector, addresses, count);
}

/* Calls that the kernel restarts when the thread was only stopped. */
static bool is_restarted(long number, const uint64_t arguments[6]) {
    switch (number) {
    case SYS_futex: {
        unsigned command = (unsigned)arguments[1] & FUTEX_CMD_MASK;
        return (command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT) &&
               (HAS_RESTART || arguments[3] == 0);
    }
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_pause:
        return true;
#endif
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return HAS_RESTART;
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_read:
    case SYS_wait4:
    case SYS_waitid:
        return true;
    default:
        return false;
    }
}

static bool waits_in_call(pid_t pid, int64_t tid) {
    char path[96], line[512] = "";
    uint64_t arguments[6];
    long number;
    snprintf(path, sizeof path, "/proc/%ld/task/%lld/syscall", (long)pid, (long long)tid);
    FILE *file = fopen(path, "re");
    bool ok = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    return ok &&
           sscanf(line, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
                  &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3],
                  &arguments[4], &arguments[5]) == 7 &&
           is_restarted(number, arguments);
}

static void fail_seize(struct injector *injector) {
    long scope = 0;
    FILE *file = errno == EPERM ? fopen("/proc/sys/kernel/yama/ptrace_scope", "re") : NULL;
    int error = errno;
    if (file) {
        if (fscanf(file, "%ld", &scope) != 1)
            scope = 0;
        fclose(file);
    }
    errno = error;
    injector->is_done = true;
    if (scope > 0)
        status_fail(injector->status, STATUS_UNSUPPORTED,
                    "ptrace() is restricted (kernel.yama.ptrace_scope is %ld); use sudo, or sysctl "
                    "kernel.yama.ptrace_scope=0",
                    scope);
    else
        status_fail_errno(injector->status, "ptrace()");
}

static void use_stopped(struct injector *injector, struct remote *remote) {
    if (!get_registers(remote->tid, &remote->saved) || !is_safe(injector, remote))
        return;
    injector->ok = run_calls(remote, injector->injection, injector->status);
    injector->is_done = !remote->is_recorded; /* its last session may be about to end */
    injector->is_recorded |= remote->is_recorded;
}

static bool try_thread(void *context, int64_t tid, struct status *status) {
    struct injector *injector = context;
    struct remote remote = {.pid = injector->injection->pid,
                            .tid = (pid_t)tid,
                            .landmarks = &injector->landmarks,
                            .extended = injector->extended};
    (void)status;
    if (injector->is_done || !waits_in_call(remote.pid, tid))
        return true;
    if (ptrace(PTRACE_SEIZE, remote.tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0) {
        if (errno != ESRCH)
            fail_seize(injector);
        return true;
    }
    if (interrupt_thread(&remote))
        use_stopped(injector, &remote);
    if (!remote.is_gone && ptrace(PTRACE_DETACH, remote.tid, NULL, NULL) != 0 && errno == ESRCH &&
        interrupt_thread(&remote)) /* it was not stopped */
        ptrace(PTRACE_DETACH, remote.tid, NULL, NULL);
    return true;
}

static void try_all(struct injector *injector) {
    pid_t pid = injector->injection->pid;
    int64_t deadline = clock_now() + ATTEMPTS_NS;
    while (process_facts_threads(pid, try_thread, injector, injector->status) &&
           !injector->is_done && clock_now() < deadline)
        sleep_ns(RETRY_NS);
    if (!injector->is_done && !injector->is_recorded)
        status_fail(injector->status, STATUS_UNSUPPORTED,
                    "none of its threads waits in a system call where a library can be loaded");
}

bool inject_probe(const struct injection *injection, struct status *status) {
    struct injector injector = {.injection = injection, .status = status};
    if (!check_process(injection, status))
        return false;
    bool found = find_landmarks(injection->pid, &injector.landmarks);
    injector.symbols = symbols_create(status);
    injector.unwinder = injector.symbols ? perf_unwinder_create(injector.symbols, status) : NULL;
    injector.stack = memory_allocate(1, STACK_BYTES, status);
    injector.extended = memory_allocate(1, EXTENDED_BYTES, status);
    if (!found)
        status_fail(status, STATUS_UNSUPPORTED, "it does not use glibc's dlopen()");
    else if (injector.unwinder && injector.stack && injector.extended &&
             perf_attach_mappings(injection->pid, injector.symbols, status))
        try_all(&injector);
    memory_free(injector.extended);
    memory_free(injector.stack);
    perf_unwinder_destroy(injector.unwinder);
    symbols_destroy(injector.symbols);
    return injector.ok;
}

#else

bool inject_finds_cuda(pid_t pid) {
    (void)pid;
    return false;
}

bool inject_probe(const struct injection *injection, struct status *status) {
    (void)injection;
    return status_fail(status, STATUS_UNSUPPORTED, "not on this system");
}

#endif
