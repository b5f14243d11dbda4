/* The innermost function that is known decides: a read() of a file blocks in the page cache, one of
 * a pipe in pipe_read(). Names are those of Linux 5.4 to 6.18.
 */
#include "record/blocking.h"

#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "base/array.h"

struct rule {
    const char *prefix;
    enum blocked_on on;
};

/* Kernel functions, by prefix. */
static const struct rule functions[] = {
    {"futex_", BLOCKED_LOCK},
    {"do_futex", BLOCKED_LOCK},
    {"do_nanosleep", BLOCKED_SLEEP},
    {"hrtimer_nanosleep", BLOCKED_SLEEP},
    {"common_nsleep", BLOCKED_SLEEP},
    {"do_wait", BLOCKED_CHILD},
    {"kernel_wait4", BLOCKED_CHILD},
    {"kernel_waitid", BLOCKED_CHILD},
    {"pipe_", BLOCKED_PIPE},
    {"anon_pipe_", BLOCKED_PIPE},
    {"fifo_open", BLOCKED_PIPE},
    {"unix_", BLOCKED_PIPE},
    {"sock_", BLOCKED_PIPE},
    {"__sock_", BLOCKED_PIPE},
    {"inet_", BLOCKED_PIPE},
    {"tcp_", BLOCKED_PIPE},
    {"udp_", BLOCKED_PIPE},
    {"sk_wait_data", BLOCKED_PIPE},
    {"sk_stream_", BLOCKED_PIPE},
    {"__skb_wait", BLOCKED_PIPE},
    {"n_tty_", BLOCKED_PIPE},
    {"tty_", BLOCKED_PIPE},
    {"eventfd_", BLOCKED_PIPE},
    {"signalfd_", BLOCKED_PIPE},
    {"timerfd_", BLOCKED_SLEEP},
    {"do_mq_", BLOCKED_PIPE},
    {"do_msgrcv", BLOCKED_PIPE},
    {"do_msgsnd", BLOCKED_PIPE},
    {"do_semtimedop", BLOCKED_LOCK},
    {"ep_poll", BLOCKED_POLL},
    {"do_epoll_", BLOCKED_POLL},
    {"do_poll", BLOCKED_POLL},
    {"do_sys_poll", BLOCKED_POLL},
    {"do_select", BLOCKED_POLL},
    {"core_sys_select", BLOCKED_POLL},
    {"io_cqring_wait", BLOCKED_POLL},
    {"flock_", BLOCKED_LOCK},
    {"fcntl_setlk", BLOCKED_LOCK},
    {"io_schedule", BLOCKED_DISK},
    {"folio_wait", BLOCKED_DISK},
    {"folio_lock", BLOCKED_DISK},
    {"wait_on_page", BLOCKED_DISK},
    {"__wait_on_bit", BLOCKED_DISK},
    {"__wait_on_buffer", BLOCKED_DISK},
    {"submit_bio", BLOCKED_DISK},
    {"blkdev_", BLOCKED_DISK},
    {"blk_", BLOCKED_DISK},
    {"jbd2_", BLOCKED_DISK},
    {"ext4_", BLOCKED_DISK},
    {"xfs_", BLOCKED_DISK},
    {"btrfs_", BLOCKED_DISK},
    {"nfs_", BLOCKED_DISK},
    {"fuse_", BLOCKED_DISK},
    {"overlay", BLOCKED_DISK},
    {"filemap_", BLOCKED_DISK},
    {"vfs_fsync", BLOCKED_DISK},
    {"writeback_", BLOCKED_DISK},
    {"sync_inodes", BLOCKED_DISK},
    {"wb_wait_", BLOCKED_DISK},
    {"balance_dirty_pages", BLOCKED_DISK},
    {"do_swap_page", BLOCKED_DISK},
    {"rwsem_", BLOCKED_LOCK},
    {"__mutex_lock", BLOCKED_LOCK},
    {"drm_", BLOCKED_DEVICE},
    {"dma_fence_", BLOCKED_DEVICE},
};

/* System calls that name what they wait for, whatever their arguments are. */
static const struct rule calls[] = {
    {"futex", BLOCKED_LOCK},
    {"nanosleep", BLOCKED_SLEEP},
    {"clock_nanosleep", BLOCKED_SLEEP},
    {"wait4", BLOCKED_CHILD},
    {"waitid", BLOCKED_CHILD},
    {"poll", BLOCKED_POLL},
    {"ppoll", BLOCKED_POLL},
    {"select", BLOCKED_POLL},
    {"pselect6", BLOCKED_POLL},
    {"epoll_", BLOCKED_POLL},
    {"recv", BLOCKED_PIPE},
    {"send", BLOCKED_PIPE},
    {"accept", BLOCKED_PIPE},
    {"connect", BLOCKED_PIPE},
    {"fsync", BLOCKED_DISK},
    {"fdatasync", BLOCKED_DISK},
    {"sync", BLOCKED_DISK},
    {"msync", BLOCKED_DISK},
    {"flock", BLOCKED_LOCK},
    {"pread", BLOCKED_DISK},
    {"pwrite", BLOCKED_DISK},
    {"page fault", BLOCKED_DISK},
    {"rt_sigtimedwait", BLOCKED_OTHER},
    {"pause", BLOCKED_OTHER},
    {"rt_sigsuspend", BLOCKED_OTHER},
};

static enum blocked_on find_rule(const struct rule *rules, size_t count, struct text name) {
    for (size_t i = 0; i < count; i++)
        if (text_starts(name, rules[i].prefix))
            return rules[i].on;
    return BLOCKED_UNKNOWN;
}

static bool is_device_driver(struct text module) {
    return text_starts(module, "[nvidia") || text_starts(module, "[amdgpu") ||
           text_starts(module, "[i915") || text_starts(module, "[xe");
}

static struct text behind(struct text text, const char *prefix) {
    size_t length = 0;
    while (prefix[length])
        length++;
    return (struct text){text.data + length, text.length - length};
}

/* The entry point of a system call is named after it. */
static struct text call_of(struct text function) {
    static const char *const entries[] = {"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_",
                                          "__do_sys_",  "ksys_",       "__riscv_sys_"};
    for (size_t i = 0; i < ARRAY_COUNT(entries); i++)
        if (text_starts(function, entries[i]))
            return behind(function, entries[i]);
    if (text_starts(function, "asm_exc_page_fault") || text_starts(function, "exc_page_fault") ||
        text_starts(function, "do_page_fault") || text_starts(function, "do_mem_abort"))
        return TEXT("page fault");
    return TEXT("");
}

void blocking_add_function(struct blocking *blocking, struct text function, struct text module) {
    if (blocking->on == BLOCKED_UNKNOWN && is_device_driver(module))
        blocking->on = BLOCKED_DEVICE;
    if (blocking->on == BLOCKED_UNKNOWN)
        blocking->on = find_rule(functions, ARRAY_COUNT(functions), function);
    struct text call = call_of(function);
    if (call.length) /* the outermost one: __se_sys_ calls __do_sys_ */
        blocking->call = call;
}

enum blocked_on blocking_reason(const struct blocking *blocking) {
    if (blocking->on != BLOCKED_UNKNOWN)
        return blocking->on;
    enum blocked_on on = find_rule(calls, ARRAY_COUNT(calls), blocking->call);
    return on == BLOCKED_UNKNOWN && blocking->call.length ? BLOCKED_OTHER : on;
}

#ifdef __linux__
struct text blocking_call_name(long number) {
#define CALL(name)                                                                                 \
    { SYS_##name, #name }
    static const struct {
        long number;
        const char *name;
    } names[] = {
        CALL(futex),   CALL(nanosleep),  CALL(clock_nanosleep), CALL(wait4),         CALL(waitid),
        CALL(ppoll),   CALL(pselect6),   CALL(epoll_pwait),     CALL(read),          CALL(write),
        CALL(readv),   CALL(writev),     CALL(pread64),         CALL(pwrite64),      CALL(recvfrom),
        CALL(recvmsg), CALL(sendto),     CALL(sendmsg),         CALL(accept),        CALL(accept4),
        CALL(connect), CALL(ioctl),      CALL(fsync),           CALL(fdatasync),     CALL(sync),
        CALL(msync),   CALL(flock),      CALL(openat),          CALL(close),         CALL(munmap),
        CALL(mmap),    CALL(exit_group), CALL(rt_sigtimedwait), CALL(rt_sigsuspend),
#ifdef SYS_poll
        CALL(poll),    CALL(select),     CALL(epoll_wait),      CALL(pause),
#endif
    };
#undef CALL
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (names[i].number == number)
            return text_of(names[i].name);
    return TEXT("");
}
#else
struct text blocking_call_name(long number) {
    (void)number;
    return TEXT("");
}
#endif
