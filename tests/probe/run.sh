#!/usr/bin/env bash
# Runs programs with the probe and checks that they are not disturbed, and what is recorded.
#
#   BUILD=build [CC=cc] [SAN=...] tests/probe/run.sh     with the settings of that build
#
# tests/probe/target.c has the programs, tests/probe/recorder.c plays the recorder and prints what it
# read. Ends with `N passed, N failed, N skipped`.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
cc=${CC:-cc}
export LC_ALL=C ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:handle_segv=0
if [ "$(uname -s)" = Darwin ]; then
    library=$build/libridge-probe.dylib
else
    library=$build/libridge-probe.so
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-probe.XXXXXX") || exit 1
cleanup() {
    mountpoint -q "$scratch/small" 2> /dev/null && umount "$scratch/small"
    rm -rf "$scratch"
}
trap cleanup EXIT
passed=0 failed=0 skipped=0

. "$here/../patient.sh"
# With $ONLY, only the checks whose name begins with it.
check() {
    local what=$1
    shift
    [ "${what#"${ONLY:-}"}" != "$what" ] || [ -z "${ONLY:-}" ] || return 0
    if "$@" > "$scratch/log" 2>&1; then
        passed=$((passed + 1))
    elif [ -e "$scratch/skip" ]; then
        skip "$what: $(cat "$scratch/skip")"
    else
        echo "FAILED tests/probe: $what"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
    rm -f "$scratch/skip"
}

skip() {
    echo "skipped tests/probe: $1"
    skipped=$((skipped + 1))
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
    exit
}

cannot() {
    echo "$1" > "$scratch/skip"
    return 1
}

# record [-c] [-k] STATUS SCENARIO [COUNT]: runs it; what the recorder saw is in $scratch/seen.
record() {
    local options= status
    while [ "${1#-}" != "$1" ]; do options="$options $1"; shift; done
    status=$1
    shift
    rm -rf "$scratch/spool"
    mkdir -m 700 "$scratch/spool"
    "$scratch/recorder" $options "${spool:-$scratch/spool}" "$library" "$scratch/${target:-target}" "$@" \
        > "$scratch/seen" 2> "$scratch/said"
    local code=$?
    head -n 50 "$scratch/seen"
    cat "$scratch/said"
    [ $code = "$status" ] || { echo "status $code, not $status"; return 1; }
    [ ! -s "$scratch/said" ]
}

# All lines are there; a line is matched whole.
seen() {
    local line
    for line in "$@"; do
        grep -qx -- "$line" "$scratch/seen" || { echo "missing: $line"; return 1; }
    done
}

ranges_and_marks() {
    record 0 basic && seen '0 open outer' '0 end inner' '0 open grüße 你😀' '0 mark moment' \
        '0 open attributes category=loading payload=-5 color=ff00ff00' \
        '0 mark numbered category=8 payload=2.5' '0 ended dropped=0' '0 thread target' &&
        seen 'processes=1 lanes=1 opened=8 closed=8 marks=2 .* damaged=0 status=0'
}
domains() {
    record 0 domains && seen '0 open step domain=first category=kind' \
        '0 open step domain=second category=3' '0 open default' \
        '0 mark registered domain=first category=kind' '0 mark registered domain=second category=3' &&
        seen 'processes=1 lanes=1 opened=4 closed=4 marks=2 .*'
}
# The shared range's end lies in another lane and may be read first.
across_threads() {
    record 0 across_threads && seen '0 open shared' '0 open never popped' '0 end never popped' \
        '0 thread the main one' '0 thread another' &&
        seen 'processes=1 lanes=2 opened=2 closed=3 .*'
}
open_at_exit() {
    record 0 open_at_exit && seen '0 open open' '0 open open inside' '0 ended dropped=0' &&
        seen '.* opened=2 closed=0 .*'
}
# Everything that was put there before SIGKILL, to the last record.
killed() { record -c 137 killed 100000 && seen '0 cut dropped=0' '.* opened=100001 closed=100000 .*'; }
crashing() { record 139 crashing && seen '0 open last' '0 cut dropped=0'; }
leaving() { record 3 leaving && seen '0 open last' '0 cut dropped=0'; }
exit_from_thread() { record 4 exit_from_thread && seen '0 open in the thread' '0 ended dropped=0'; }
forking() {
    record 0 forking && seen '0 open before' '0 end before' '0 open parent' '1 open child' \
        '1 end child' '0 ended dropped=0' '1 ended dropped=0' 'processes=2 .* damaged=0 .*'
}
raw_fork() { record 0 raw_fork && seen '0 open before' '0 end before' '1 open child' 'processes=2 .*'; }
fork_among_threads() { record -c 0 fork_among_threads 30 && seen 'processes=31 .* damaged=0 .*'; }
vforking() {
    record 0 vforking && seen '0 open before' '0 end before' '1 open open' 'processes=2 .* damaged=0 .*'
}
executing() { record 0 executing && seen '0 open before' '0 cut dropped=0' '1 open open' 'processes=2 .*'; }
daemon_like() { record -c 0 daemon_like 100000 && seen '.* opened=100001 closed=100001 .* damaged=0 .*'; }
# There is no more room for it: it goes on, and what did not fit is counted, a range once or twice.
needs_root() { [ "$(id -u)" = 0 ] || cannot "only root can"; }
drops_are_counted() {
    local total
    total=$(awk '/^0 .*dropped=/ { sub(/.*=/, ""); dropped = $0 }
        /^processes=/ { for (i = 2; i <= NF; i++) { split($i, part, "="); value[part[1]] = part[2] } }
        END { print value["opened"] + value["closed"] + value["marks"] + dropped }' "$scratch/seen")
    echo "recorded and dropped: $total of $1 ranges"
    [ "$total" -ge "$1" ] && [ "$total" -le $((2 * $1 + 1)) ] && ! seen '0 .* dropped=0'
}
another_user() { needs_root && record -c 0 another_user 100000 && drops_are_counted 100001; }
another_root() {
    mkdir -p "$scratch/root"
    needs_root && ANOTHER_ROOT=$scratch/root record -c 0 another_root 100000 && drops_are_counted 100001
}
short_files() { record -c 0 short_files 50000 && drops_are_counted 50000; }
few_descriptors() { record -c 0 few_descriptors 50000 && drops_are_counted 50000; }
little_memory() {
    [ -z "${SAN:-}" ] || cannot "a sanitizer needs memory" || return 1
    record -c 0 little_memory 50000 && drops_are_counted 51001
}
many_threads() { record -c 0 many_threads 3000 && seen '.* lanes=1 opened=300000 closed=300000 .*'; }
threads_together() {
    record -c 0 threads_together 40000 && seen '.* lanes=8 opened=320000 closed=320000 .* damaged=0 .*'
}
# A handler's records on top of others are dropped whole: as many begin as end.
signals() {
    record -c 0 signals 20000 && seen '.* damaged=0 .*' &&
        [ "$(sed -n 's/.* opened=\([0-9]*\) .*/\1/p' "$scratch/seen")" = \
            "$(sed -n 's/.* closed=\([0-9]*\) .*/\1/p' "$scratch/seen")" ]
}
cancelling() { record -c 0 cancelling 10000 && seen '.* damaged=0 .*'; }
manners() { record 0 manners 60000; }
# Libraries that are loaded late share about 1,600 bytes of static thread-local memory (glibc). The probe needs little
# of it, so that it can be loaded into a process whose libraries have taken most.
little_tls() {
    [ "$(uname -s)" = Linux ] && [ -z "${SAN:-}" ] || cannot "of the probe as it is installed, on Linux" || return 1
    echo 'static __thread __attribute__((tls_model("initial-exec"))) char room[1280]; char *get(void) { return room; }' |
        $cc -x c -shared -fPIC -o "$scratch/room.so" - || return 1
    cat > "$scratch/late.c" << END
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **paths) {
    for (int i = 1; i < count; i++)
        if (!dlopen(paths[i], RTLD_NOW))
            return printf("%s\\n", dlerror()) > 0;
    return 0;
}
END
    $cc -o "$scratch/late" "$scratch/late.c" -ldl || return 1
    "$scratch/late" "$scratch/room.so" || cannot "this C library has less to begin with" || return 1
    "$scratch/late" "$scratch/room.so" "$library" && LD_PRELOAD=$library "$scratch/late" "$scratch/room.so" "$library"
}
unloading() { record -c 0 unloading 1000 && seen '.* opened=1001 closed=1001 .*'; }
deep() { record -c 0 deep && seen '0 ended dropped=1488' '.* opened=513 closed=513 .*'; }
long_names() {
    record 0 long_names && [ "$(grep -c '^0 open x*$' "$scratch/seen")" = 2 ] &&
        [ "$(grep '^0 open' "$scratch/seen" | awk '{ print length($3) }' | tr '\n' ' ')" = '4096 4094 ' ]
}
cuda() { record 0 cuda && grep -q '^0 meta cuda\.' "$scratch/seen"; }
# A CUPTI like pip's, which crashes when it is called and there is no driver.
cupti_without_driver() {
    ! "$scratch/target" has_driver || cannot "there is a driver" || return 1
    printf '%s\n' '#include "abi/cupti.h"' '#include "abi/cupti_symbols.h"' \
        '#define DEFINE(name, parameters) cupti_result name(void) { return *(volatile cupti_result *)0; }' \
        'CUPTI_SYMBOLS(DEFINE)' > "$scratch/cupti.c"
    $cc -shared -fPIC -w -D_DEFAULT_SOURCE -I"$root/src" -o "$scratch/libcupti.so" "$scratch/cupti.c" &&
        RIDGE_CUPTI=$scratch/libcupti.so record 0 cuda && seen '0 meta cuda.missing: CUPTI needs the NVIDIA driver.*'
}
# Nobody reads: a bounded amount waits, and the program ends as ever.
recorder_killed() {
    record -k 0 threads_together 50000 && du -sk "$scratch/spool" &&
        [ "$(du -sk "$scratch/spool" | cut -f 1)" -lt 1200000 ]
}
limited() {
    RIDGE_PROBE=limit=300000 record -k 0 threads_together 5000 &&
        [ "$(du -sk "$scratch/spool" | cut -f 1)" -lt 320 ]
}
full_disk() {
    needs_root || return 1
    mkdir -p "$scratch/small"
    mount -t tmpfs -o size=600k,mode=700 tmpfs "$scratch/small" 2> /dev/null ||
        cannot "no file system can be mounted here" || return 1
    chmod 700 "$scratch/small"
    spool=$scratch/small record -k 0 threads_together 40000
    local code=$?
    umount "$scratch/small"
    return $code
}
# Without a folder, with a relative one, with one that others may enter: not a file is made.
not_asked() {
    mkdir -p "$scratch/open" && chmod 755 "$scratch/open" && cd "$scratch" || return 1
    NVTX_INJECTION64_PATH=$library ./target nothing &&
        NVTX_INJECTION64_PATH=$library RIDGE_SPOOL=open ./target nothing &&
        NVTX_INJECTION64_PATH=$library RIDGE_SPOOL=$scratch/open ./target nothing &&
        [ -z "$(ls -A "$scratch/open")" ] && record 0 nothing > /dev/null ||
        [ "$(RIDGE_PROBE=nvtx=0 record 0 nothing > /dev/null; echo $?)" = 0 ]
}
exports_its_entry_points() {
    [ "$(uname -s)" = Linux ] || cannot "not Linux" || return 1
    nm -D --defined-only "$library" | sed 's/.* //' | grep -v '^__' | LC_ALL=C sort | diff - "$here/exports" ||
        return 1
    [ -n "${SAN:-}" ] ||
        ! ldd "$library" | grep -v 'linux-vdso\|libc\.so\|ld-linux\|libpthread\|libdl\|ld-musl'
}
files_are_private() {
    record -k 0 open_at_exit && ls -l "$scratch/spool" &&
        [ "$(ls -l "$scratch/spool" | grep -c '^-rw-------')" = 2 ]
}
# python STATEMENTS: recorded; those whose modules are missing are skipped.
python() {
    [ -z "${SAN:-}" ] || cannot "the probe has a sanitizer in it" || return 1
    rm -rf "$scratch/spool" && mkdir -m 700 "$scratch/spool"
    "$scratch/recorder" "$scratch/spool" "$library" python3 -c "
try:
    $1
except (ImportError, RuntimeError):
    raise SystemExit(77)
$2" > "$scratch/seen"
    case $? in
    0) cat "$scratch/seen" ;;
    77 | 127) cannot "not installed" ;;
    *) return 1 ;;
    esac
}
torch_ranges() {
    python 'from torch.cuda import nvtx; nvtx.mark("first")' '
with nvtx.range("training"):
    with nvtx.range("forward"):
        nvtx.mark("loss")' && seen '0 open training' '0 open forward' '0 mark loss' '0 end forward' \
        '0 end training' '0 ended dropped=0'
}
nvtx_package() {
    python 'import nvtx' '
with nvtx.annotate("step", color="blue", domain="training", payload=7):
    nvtx.mark("loss", domain="training")' &&
        seen '0 open step domain=training payload=7 color=.*' '0 mark loss domain=training.*' '0 end step'
}

# build COMPILER...: with the warnings that all programs are built with.
build() {
    "$@" -std=c11 -O1 -g -Wall -Wextra -Werror -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L \
        -D_DARWIN_C_SOURCE -I"$root/src" -I"$here" > "$scratch/log" 2>&1
}

for program in recorder target; do
    sources=$here/$program.c
    [ $program = target ] && sources="$sources $here/nvtx_copy.c"
    $cc -std=c11 -O1 -g -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN} -D_DEFAULT_SOURCE \
        -D_POSIX_C_SOURCE=200809L -D_DARWIN_C_SOURCE -I"$root/src" -I"$here" -o "$scratch/$program" \
        $sources "$build/probe-parts.a" -ldl -lm -pthread > "$scratch/log" 2>&1 || {
        echo "FAILED tests/probe: $program.c does not compile"
        cat "$scratch/log"
        failed=1
        finish
    }
done

check "ranges and marks, with all that they say" ranges_and_marks
check "domains, categories and registered strings" domains
check "ranges across threads, names of threads" across_threads
check "ranges that are open at exit" open_at_exit
check "SIGKILL loses nothing that was recorded" killed
check "a crash" crashing
check "_exit" leaving
check "exit from a thread" exit_from_thread
check "fork without exec" forking
check "a fork that the C library does not know of" raw_fork
check "fork among threads that hold locks" fork_among_threads
check "vfork" vforking
check "exec" executing
check "a daemon that closes all descriptors" daemon_like
check "another user" another_user
check "another root" another_root
check "a limit on the length of files" short_files
check "no descriptors left" few_descriptors
check "no memory left" little_memory
check "threads one after another share a lane" many_threads
check "threads together" threads_together
check "signal handlers that interrupt a record" signals
check "threads that are cancelled" cancelling
check "errno, signals, rounding, folder, umask, descriptors, locale" manners
check "dlclose" unloading
check "little thread-local memory left" little_tls
check "ranges deeper than are kept" deep
check "very long names" long_names
check "the door for CUDA" cuda
check "CUPTI is not called without a driver" cupti_without_driver
check "the recorder is gone" recorder_killed
check "a limit on the spool" limited
check "a full disk" full_disk
check "nothing is done unasked" not_asked
check "what the library exports and needs" exports_its_entry_points
check "files are private to the user" files_are_private
check "torch.cuda.nvtx" torch_ranges
check "the nvtx package" nvtx_package
. "$here/cuda.sh"
finish
