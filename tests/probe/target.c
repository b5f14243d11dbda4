/* Programs that the probe must not disturb, one for each name:
 *
 *   target NAME [COUNT]
 *
 * Each exits with 0 if it ran as it would have without the probe.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pipe2, clone by syscall() */
#endif
#include "nvtx_copy.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>

#include "base/array.h"
#endif

static const char *self;
static int count;

static void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "target: %s\n", what);
        _exit(99);
    }
}

static void ranges(int number, const char *name) {
    for (int i = 0; i < number; i++) {
        push(name);
        pop();
    }
}

static struct nvtx_attributes named(const char *name) {
    return (struct nvtx_attributes){
        .version = 3,
        .size = sizeof(struct nvtx_attributes),
        .message_type = NVTX_MESSAGE_A,
        .message.narrow = name,
    };
}

static void basic(void) {
    struct nvtx_attributes attributes = named("attributes");
    require(push("outer") == 0 && push("inner") == 1, "levels begin with 0");
    require(pop() == 1 && pop() == 0, "levels are given back");
    require(pop() < 0, "a pop too many is an error and nothing else");
    push_wide(L"gr\u00fc\u00dfe \u4f60\U0001F600");
    pop();
    push(NULL);
    pop();
    push("");
    pop();
    mark("moment");
    name_category(7, "loading");
    attributes.category = 7;
    attributes.color_type = NVTX_COLOUR_ARGB;
    attributes.color = 0xff00ff00;
    attributes.payload_type = NVTX_PAYLOAD_I32;
    attributes.payload.i32 = -5;
    push_ex(&attributes);
    pop();
    attributes = named("numbered");
    attributes.category = 8;
    attributes.payload_type = NVTX_PAYLOAD_F32;
    attributes.payload.f32 = 2.5f;
    mark_ex(&attributes);
    attributes.size = 8;
    push_ex(&attributes);
    pop();
    push_ex(NULL);
    pop();
}

static void domains(void) {
    struct nvtx_attributes attributes = named("step");
    void *first = domain_create("first"), *second = domain_create("second");
    require(first && second && first != second, "domains have handles");
    require(domain_create("first") == first, "the same name is the same domain");
    domain_name_category(first, 3, "kind");
    attributes.category = 3;
    require(domain_push(first, &attributes) == 0 && domain_push(second, &attributes) == 0 &&
                push("default") == 0 && domain_push(first, &attributes) == 1,
            "each domain has its own levels");
    require(domain_pop(second) == 0 && domain_pop(first) == 1 && domain_pop(first) == 0 &&
                domain_pop(first) < 0 && pop() == 0,
            "each domain is popped for itself");
    attributes.message_type = NVTX_MESSAGE_REGISTERED;
    attributes.message.registered = domain_register(first, "registered");
    domain_mark(first, &attributes);
    domain_destroy(first);
    domain_mark(second, &attributes);
}

static uint64_t shared_range;

static void *end_shared(void *unused) {
    end(shared_range);
    push("never popped");
    return unused;
}

static void in_thread(void *(*run)(void *)) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, run, NULL) == 0, "a thread");
    pthread_join(thread, NULL);
}

static void across_threads(void) {
    shared_range = start("shared");
    in_thread(end_shared);
    name_thread((uint32_t)getpid(), "the main one");
    name_thread(4000000, "another");
    end(12345);
}

static void open_at_exit(void) {
    push("open");
    push("open inside");
}

static void killed(void) {
    ranges(count, "done");
    push("last");
    kill(getpid(), SIGKILL);
}

static void crashing(void) {
    push("last");
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void leaving(void) {
    push("last");
    _exit(3);
}

static void *exit_here(void *unused) {
    push("in the thread");
    exit(4);
    return unused;
}

static void exit_from_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, NULL);
    pthread_exit(NULL);
}

static int wait_for(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void forking(void) {
    push("before");
    pid_t pid = fork();
    if (pid == 0) {
        push("child");
        pop();
        require(pop() == 0, "the parent's range is there for the child to pop");
        exit(0);
    }
    require(wait_for(pid) == 0, "the child is well");
    push("parent");
    pop();
    pop();
    pid = fork(); /* says nothing, and must not say that its parent ended */
    if (pid == 0)
        exit(0);
    wait_for(pid);
}

static void raw_fork(void) {
#ifdef SYS_clone
    push("before");
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        push("child");
        _exit(0);
    }
    require(wait_for(pid) == 0, "the child is well");
    pop();
#endif
}

static void *keep_registering(void *stop) {
    char name[32];
    for (int i = 0; !*(volatile int *)stop; i++) {
        snprintf(name, sizeof name, "string %d", i % 5000);
        domain_register(NULL, name);
        push(name);
        pop();
    }
    return NULL;
}

static void fork_among_threads(void) {
    pthread_t threads[2];
    int stop = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, keep_registering, &stop);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            domain_register(NULL, "of the child");
            push("child");
            pop();
            _exit(0);
        }
        require(wait_for(pid) == 0, "the child is well");
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void execute(void) {
    execl(self, self, "open_at_exit", (char *)NULL);
    _exit(98);
}

static void vforking(void) {
    push("before");
    pid_t pid = vfork();
    if (pid == 0)
        execute();
    require(wait_for(pid) == 0, "the child is well");
    pop();
}

static void executing(void) {
    push("before");
    execute();
}

static void daemon_like(void) {
    push("before");
    for (int fd = 0; fd < 2000; fd++)
        close(fd);
    ranges(count, "after");
    require(open("/dev/null", O_RDWR) == 0, "the first free descriptor is the program's");
    pop();
}

static void another_user(void) {
    push("before");
    if (setgid(65534) != 0 || setuid(65534) != 0)
        exit(77);
    ranges(count, "after");
    pop();
}

static void another_root(void) {
    const char *folder = getenv("ANOTHER_ROOT");
    push("before");
    if (!folder || chroot(folder) != 0)
        exit(77);
    ranges(count, "after");
    pop();
}

static void limit(int what, rlim_t bytes) {
    struct rlimit limit = {bytes, bytes};
    require(setrlimit(what, &limit) == 0, "the limit");
}

static void short_files(void) {
    limit(RLIMIT_FSIZE, 100000);
    ranges(count, "short");
}

static void few_descriptors(void) {
    limit(RLIMIT_NOFILE, 3);
    ranges(count, "no descriptors");
    require(pop() == NVTX_NO_TRACKING || pop() < 0, "still there");
}

static void *write_some(void *unused) {
    ranges(100, "thread");
    return unused;
}

static void little_memory(void) {
    push("before");
    limit(RLIMIT_AS, 1 << 20); /* less than there is: nothing more can be mapped */
    ranges(count, "after");
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        push(name);
        domain_register(NULL, name);
        pop();
    }
}

static void many_threads(void) {
    for (int i = 0; i < count; i++)
        in_thread(write_some);
}

static void *write_more(void *unused) {
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "range %d", i);
        push(name);
        pop();
    }
    return unused;
}

enum { TOGETHER = 8 };
static int written;

/* Stays until all have written: one that ended early would leave its lane to another. */
static void *write_and_stay(void *nothing) {
    write_more(nothing);
    __atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&written, __ATOMIC_RELAXED) < TOGETHER)
        usleep(1000);
    return nothing;
}

static void threads_together(void) {
    pthread_t threads[TOGETHER];
    for (int i = 0; i < TOGETHER; i++)
        pthread_create(&threads[i], NULL, write_and_stay, NULL);
    for (int i = 0; i < TOGETHER; i++)
        pthread_join(threads[i], NULL);
}

static volatile int interruptions;

static void interrupt(int number) {
    (void)number;
    push("interrupting");
    mark("interrupting");
    pop();
    interruptions++;
}

static void signals(void) {
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, interrupt);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < count || interruptions < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "range %d", i);
        push(name);
        pop();
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

static void *cancelled(void *unused) {
    for (;;) {
        ranges(100, "cancelled");
        pthread_testcancel();
    }
    return unused;
}

/* The only place where a thread may be cancelled is its own. */
static void cancelling(void) {
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, cancelled, NULL);
        usleep(200);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        require(result == PTHREAD_CANCELED, "the thread is cancelled");
    }
    ranges(count, "others");
}

static unsigned open_descriptors(void) {
    unsigned number = 0;
    for (int fd = 0; fd < 4096; fd++)
        number += fcntl(fd, F_GETFD) >= 0;
    return number;
}

static void manners(void) {
    sigset_t before, after;
    char folder[4096], folder_after[4096];
    unsigned descriptors = open_descriptors();
    char *environment = strdup(getenv("NVTX_INJECTION64_PATH"));
    mode_t mask = umask(0777);
    sigprocmask(SIG_SETMASK, NULL, &before);
    require(getcwd(folder, sizeof folder) != NULL, "a folder");
    fesetround(FE_TOWARDZERO);
    errno = 77;
    in_thread(write_some);
    ranges(count, "quiet");
    push_wide(L"wide");
    mark("mark");
    pop();
    name_category(1, "category");
    domain_register(domain_create("domain"), "string");
    require(errno == 77, "errno is as it was");
    require(fegetround() == FE_TOWARDZERO, "rounding is as it was");
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        require(sigismember(&before, number) == sigismember(&after, number),
                "signals are as they were");
    require(getcwd(folder_after, sizeof folder_after) && strcmp(folder, folder_after) == 0,
            "the folder is as it was");
    require(umask(mask) == 0777, "the umask is as it was");
    require(open_descriptors() == descriptors, "no descriptor is open");
    require(strcmp(setlocale(LC_ALL, NULL), "C") == 0, "the locale is as it was");
    require(strcmp(environment, getenv("NVTX_INJECTION64_PATH")) == 0, "the environment too");
}

static void unloading(void) {
    push("before");
    nvtx_unload();
    nvtx_unload();
    ranges(count, "after");
    pop();
}

static void deep(void) {
    for (int i = 0; i < 2000; i++)
        push("deep");
    for (int i = 0; i < 2000; i++)
        pop();
    require(push("again") == 0 && pop() == 0, "balanced after all");
}

static void long_names(void) {
    char *name = malloc(100001);
    memset(name, 'x', 100000);
    name[100000] = 0;
    push(name);
    memcpy(name + 4094, "\xE4\xBD\xA0", 3); /* a character where it is cut */
    push(name);
    free(name);
}

/* A program that is loaded by CUDA's driver, played by this one. */
static void cuda(void) {
    void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    require(initialize && initialize() == 1, "the driver goes on");
}

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"basic", basic},
    {"domains", domains},
    {"across_threads", across_threads},
    {"open_at_exit", open_at_exit},
    {"killed", killed},
    {"crashing", crashing},
    {"leaving", leaving},
    {"exit_from_thread", exit_from_thread},
    {"forking", forking},
    {"raw_fork", raw_fork},
    {"fork_among_threads", fork_among_threads},
    {"vforking", vforking},
    {"executing", executing},
    {"daemon_like", daemon_like},
    {"another_user", another_user},
    {"another_root", another_root},
    {"short_files", short_files},
    {"few_descriptors", few_descriptors},
    {"little_memory", little_memory},
    {"many_threads", many_threads},
    {"threads_together", threads_together},
    {"signals", signals},
    {"cancelling", cancelling},
    {"manners", manners},
    {"unloading", unloading},
    {"deep", deep},
    {"long_names", long_names},
    {"cuda", cuda},
};

int main(int argc, char **argv) {
    self = argv[0];
    count = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc > 1 && strcmp(argv[1], "has_driver") == 0)
        return dlopen("libcuda.so.1", RTLD_LAZY) ? 0 : 1;
    bool begun = nvtx_begin();
    if (argc > 1 && strcmp(argv[1], "nothing") == 0)
        return begun ? 1 : 0;
    if (!begun) {
        fprintf(stderr, "target: the probe does not want to\n");
        return 97;
    }
    for (size_t i = 0; i < ARRAY_COUNT(scenarios); i++)
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 96;
}
