/* What a blocked thread waits for, by kernel functions and system calls. */
#include "record/blocking.h"

#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "../test.h"
#include "record/thread_files.h"

static struct blocking blocking_of(const char *const *functions) {
    struct blocking blocking = {0};
    for (; *functions; functions++)
        blocking_add_function(&blocking, text_of(*functions), TEXT("[kernel]"));
    blocking.on = blocking_reason(&blocking);
    return blocking;
}

TEST(the_innermost_known_kernel_function_decides_what_a_thread_waits_for) {
    static const struct {
        const char *functions[6];
        enum blocked_on on;
        const char *call;
    } cases[] = {
        {{"schedule", "futex_wait_queue", "do_futex", "__x64_sys_futex"}, BLOCKED_LOCK, "futex"},
        {{"schedule", "pipe_read", "vfs_read", "ksys_read", "__x64_sys_read"},
         BLOCKED_PIPE,
         "read"},
        {{"schedule", "io_schedule", "folio_wait_bit", "__arm64_sys_read"}, BLOCKED_DISK, "read"},
        {{"schedule", "do_nanosleep", "__x64_sys_clock_nanosleep"},
         BLOCKED_SLEEP,
         "clock_nanosleep"},
        {{"schedule", "do_wait", "__do_sys_wait4", "__x64_sys_wait4"}, BLOCKED_CHILD, "wait4"},
        {{"schedule", "io_schedule", "filemap_fault", "exc_page_fault"},
         BLOCKED_DISK,
         "page fault"},
        {{"schedule", "__x64_sys_pause"}, BLOCKED_OTHER, "pause"},
        {{"schedule", "__x64_sys_unheard_of"}, BLOCKED_OTHER, "unheard_of"},
        {{"schedule"}, BLOCKED_UNKNOWN, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct blocking blocking = blocking_of(cases[i].functions);
        CHECK_INT(blocking.on, cases[i].on);
        CHECK(text_is(blocking.call, cases[i].call));
    }
}

TEST(a_thread_in_the_driver_of_a_gpu_waits_for_the_device) {
    static const char *const modules[] = {"[nvidia]", "[nvidia_uvm]", "[amdgpu]", "[i915]", "[xe]"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        struct blocking device = {0};
        blocking_add_function(&device, TEXT("acquire_semaphore"), text_of(modules[i]));
        blocking_add_function(&device, TEXT("__x64_sys_ioctl"), TEXT("[kernel]"));
        CHECK_INT(blocking_reason(&device), BLOCKED_DEVICE);
    }
    struct blocking other = {0};
    blocking_add_function(&other, TEXT("acquire_semaphore"), TEXT("[zfs]"));
    blocking_add_function(&other, TEXT("__x64_sys_ioctl"), TEXT("[kernel]"));
    CHECK_INT(blocking_reason(&other), BLOCKED_OTHER);
}

TEST(a_page_fault_has_a_name_on_every_architecture) {
    static const char *const entries[] = {"asm_exc_page_fault", "exc_page_fault", "do_page_fault",
                                          "do_mem_abort"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct blocking blocking = {0};
        blocking_add_function(&blocking, text_of(entries[i]), TEXT("[kernel]"));
        CHECK(text_is(blocking.call, "page fault"));
    }
}

#ifdef __linux__
TEST(the_files_of_a_thread_tell_its_times_and_its_system_call) {
    struct thread_times times;
    struct blocking blocking;
    CHECK(text_is(blocking_call_name(SYS_futex), "futex"));
    CHECK(blocking_call_name(-7).length == 0);
    CHECK(thread_files_times(getpid(), getpid(), &times));
    CHECK(times.user >= 0 && times.kernel >= 0);
    CHECK(!thread_files_times(getpid(), 1, &times)); /* not a thread of this process */
    CHECK(!thread_files_block(getpid(), getpid(), &blocking) ||
          text_is(blocking.call, "read")); /* it runs, and it reads this file */
}
#endif
