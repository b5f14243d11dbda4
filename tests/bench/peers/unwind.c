/* Unwinds the same samples with ridge's CFI unwinder and with libdw: registers and copies of stacks
 * that a timer's signal takes of this program, as perf's samples are. Prints microseconds of CPU
 * time for each sample, the first (tables are read) and the others, and how many stacks agree.
 *
 *   unwind [SAMPLES]
 */
#define _GNU_SOURCE
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/symbols/perf_unwind.h"

enum { SAMPLES_MAX = 20000, STACK_BYTES = 16 << 10, FRAMES_MAX = 128 };

struct sample {
    uint64_t registers[64]; /* by the kernel's numbers */
    size_t stack_bytes;
    uint8_t stack[STACK_BYTES];
};

static struct sample *samples;
static volatile size_t taken, wanted;
static uint64_t stack_end;

/* Indices of gregs in the order of the kernel's and of DWARF's registers of x86-64. */
static const int kernel_order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                   REG_RDI, REG_RBP, REG_RSP, REG_RIP};
static const int dwarf_order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
static uint64_t (*dwarf_registers)[17];

static void take_sample(int signal, siginfo_t *info, void *context) {
    const greg_t *general = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal, (void)info;
    if (taken >= wanted)
        return;
    struct sample *sample = &samples[taken];
    for (int i = 0; i < 9; i++)
        sample->registers[i] = (uint64_t)general[kernel_order[i]];
    for (int i = 0; i < 8; i++)
        sample->registers[16 + i] = (uint64_t)general[REG_R8 + i];
    for (int i = 0; i < 17; i++)
        dwarf_registers[taken][i] = (uint64_t)general[dwarf_order[i]];
    uint64_t pointer = (uint64_t)general[REG_RSP], bytes = stack_end - pointer;
    sample->stack_bytes = bytes < STACK_BYTES ? bytes : STACK_BYTES;
    memcpy(sample->stack, (const void *)(uintptr_t)pointer, sample->stack_bytes);
    taken++;
}

/* Something to sample: sorting by a function that is called back, at changing depths. */
static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

__attribute__((noinline)) static int work(int depth, char **names, size_t count) {
    char line[64];
    if (depth == 0) {
        qsort(names, count, sizeof *names, compare);
        for (size_t i = count; i-- > 1;) {
            size_t j = (size_t)rand() % i;
            char *name = names[i];
            names[i] = names[j];
            names[j] = name;
        }
        return snprintf(line, sizeof line, "%s %f", names[0], (double)count);
    }
    int found = work(depth - 1, names, count);
    __asm__ volatile("" : : "r"(line) : "memory");
    return found + 1;
}

static void take_samples(size_t count) {
    static char *names[512];
    for (size_t i = 0; i < 512; i++) {
        names[i] = malloc(24);
        snprintf(names[i], 24, "name %d", rand());
    }
    struct sigaction action = {.sa_sigaction = take_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval timer = {{0, 250}, {0, 250}}, none = {0};
    wanted = count;
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    for (int depth = 0; taken < wanted; depth = (depth + 7) % 40)
        work(depth, names, 512);
    setitimer(ITIMER_PROF, &none, NULL);
}

/* ---- ridge ---- */

static void map_program(struct symbols *symbols) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], path[4096], rights[5];
    uint64_t start, end, offset;
    struct status status;
    while (maps && fgets(line, sizeof line, maps)) {
        path[0] = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4000[^\n]", &start, &end,
                   rights, &offset, path) < 4)
            continue;
        if (symbols && rights[2] == 'x')
            symbols_map(symbols, getpid(), start, end - start, offset, text_of(path), &status);
        if (strcmp(path, "[stack]") == 0)
            stack_end = end;
    }
    if (maps)
        fclose(maps);
}

static size_t unwind_ours(struct perf_unwinder *unwinder, const struct sample *sample,
                          uint64_t *addresses) {
    struct perf_stack_snapshot snapshot = {getpid(), sample->registers, sample->stack,
                                           sample->stack_bytes};
    bool complete;
    return perf_unwind(unwinder, &snapshot, addresses, FRAMES_MAX, &complete);
}

/* ---- libdw ---- */

struct dw_stack {
    size_t index, count;
    uint64_t *addresses;
};

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread) {
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = argument;
    return getpid();
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument) {
    const struct sample *sample = &samples[((struct dw_stack *)argument)->index];
    uint64_t pointer = sample->registers[7], offset = address - pointer;
    (void)dwfl;
    if (address < pointer || offset + 8 > sample->stack_bytes)
        return false;
    memcpy(result, sample->stack + offset, 8);
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument) {
    return dwfl_thread_state_registers(thread, 0, 17,
                                       dwarf_registers[((struct dw_stack *)argument)->index]);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_memory, .set_initial_registers = set_registers};

static int add_frame(Dwfl_Frame *frame, void *argument) {
    struct dw_stack *stack = argument;
    Dwarf_Addr pc;
    if (!dwfl_frame_pc(frame, &pc, NULL) || stack->count == FRAMES_MAX)
        return DWARF_CB_ABORT;
    stack->addresses[stack->count++] = pc;
    return DWARF_CB_OK;
}

static struct dw_stack current; /* libdw is attached once, and reads from here */

static size_t unwind_theirs(Dwfl *dwfl, size_t index, uint64_t *addresses) {
    current = (struct dw_stack){index, 0, addresses};
    dwfl_getthread_frames(dwfl, getpid(), add_frame, &current);
    return current.count;
}

static Dwfl *open_theirs(void) {
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl_linux_proc_report(dwfl, getpid()) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0 ||
        !dwfl_attach_state(dwfl, NULL, getpid(), &thread_callbacks, &current)) {
        fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
        exit(1);
    }
    return dwfl;
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? (size_t)atol(argv[1]) : 5000, agree = 0, frames[2] = {0};
    static uint64_t ours[FRAMES_MAX], theirs[FRAMES_MAX];
    int64_t first[2] = {0}, all[2] = {0};
    struct status status;
    if (count < 2 || count > SAMPLES_MAX)
        count = SAMPLES_MAX;
    samples = calloc(count, sizeof *samples);
    dwarf_registers = calloc(count, sizeof *dwarf_registers);
    struct symbols *symbols = symbols_create(&status);
    struct perf_unwinder *unwinder = symbols ? perf_unwinder_create(symbols, &status) : NULL;
    if (!samples || !dwarf_registers || !unwinder)
        return 1;
    map_program(symbols);
    take_samples(count);
    Dwfl *dwfl = open_theirs();
    for (size_t i = 0; i < count; i++) {
        int64_t start = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        size_t our_count = unwind_ours(unwinder, &samples[i], ours);
        int64_t middle = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        size_t their_count = unwind_theirs(dwfl, i, theirs);
        int64_t end = clock_read(CLOCK_PROCESS_CPUTIME_ID);
        agree += our_count == their_count && memcmp(ours, theirs, our_count * sizeof *ours) == 0;
        frames[0] += our_count;
        frames[1] += their_count;
        if (i == 0)
            first[0] = middle - start, first[1] = end - middle;
        else
            all[0] += middle - start, all[1] += end - middle;
    }
    double n = (double)(count - 1);
    printf("%zu samples, %.1f frames each (libdw %.1f), %zu stacks agree\n", count,
           (double)frames[0] / (double)count, (double)frames[1] / (double)count, agree);
    printf("%-8s  %8s  %14s\n", "", "first", "each other");
    printf("%-8s  %5.0f us  %11.2f us\n", "ridge", (double)first[0] / 1e3,
           (double)all[0] / n / 1e3);
    printf("%-8s  %5.0f us  %11.2f us\n", "libdw", (double)first[1] / 1e3,
           (double)all[1] / n / 1e3);
    dwfl_end(dwfl);
    perf_unwinder_destroy(unwinder);
    symbols_destroy(symbols);
    return 0;
}
