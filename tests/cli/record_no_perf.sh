# Without perf events, as in a container, thread states come from /proc, and sum exactly.
[ "$(uname -s)" = Linux ] || { echo "SKIP this is not Linux" && exit 77; }
cat > noperf.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    execvp(words[1], words + 1);
    return count;
}
END
cc -o noperf noperf.c 2> /dev/null || { echo "SKIP the kernel's headers are missing" && exit 77; }
./noperf true || { echo "SKIP seccomp is not available" && exit 77; }
[ -r /proc/self/schedstat ] || { echo "SKIP /proc has no schedstat" && exit 77; }
. "$TESTS/patient.sh"
./noperf "$RIDGE" record -f -o t.ridge -- sh -c 'until [ -e go ]; do sleep 0.1; done; exit 3' 2> message &
has_blocked() { "$RIDGE" query t.ridge --format csv "SELECT count(*) > 0 FROM state WHERE state = 'blocked'" | grep -q '^1'; }
until_true has_blocked
: > go
wait $!
echo "status $?"
grep -o 'CPU sampling is not available' message
"$RIDGE" query t.ridge --format csv "SELECT count(*) > 0 FROM state WHERE state = 'blocked'" | sed 1d
"$RIDGE" report t.ridge --json | tr -d ' \n' | grep -o '"threads":\[.*\],"waits"' | tr '{' '\n' | awk -F'[:,]' '
    /wall_ns/ { for (i = 1; i < NF; i++) v[$i] = $(i + 1)
        sum = v["\"running_ns\""] + v["\"ready_ns\""] + v["\"blocked_ns\""] + v["\"unknown_ns\""]
        print sum == v["\"wall_ns\""] ? "equal" : "differ" }' | sort -u
"$RIDGE" report t.ridge | grep -c 'GPU'
"$RIDGE" report t.ridge --section cpu | grep -c 'threads running'
true
