# A recorder that crashes leaves its program running, waits for it and ends as it does.
[ -z "${SAN:-}" ] || { echo "SKIP a sanitizer handles the signals of a crash itself" && exit 77; }
export TMPDIR=$PWD/temporary
mkdir temporary
unset XDG_RUNTIME_DIR

# crash NAME OPTIONS: the program exits with 5 when it sees the file `go`, with 6 after SIGTERM.
crash() {
    local name=$1
    shift
    rm -f up go
    "$RIDGE" record "$@" -q -o "$name.ridge" -- sh -c 'trap "exit 6" TERM; echo > up; until [ -e go ]; do sleep 0.05; done; exit 5' 2> said &
    recorder=$!
    until [ -s "$name.ridge" ] && [ -e up ]; do sleep 0.05; done
}
finish() {
    wait $recorder
    echo "status $?"
    sed -n 's/^\(ridge: the recorder crashed\.\).*; \(.*\.ridge\) has what.*/\1 \2/p' said
}
# SIGSEGV for one thread of a process.
to_thread() { python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).syscall({"x86_64": 234, "aarch64": 131}[os.uname().machine], int(sys.argv[1]), int(sys.argv[2]), 11)' "$1" "$2"; }

echo "- in its main thread"
crash main --no-sampling
kill -SEGV $recorder
until grep -q crashed said; do sleep 0.05; done
echo > go
finish
"$RIDGE" query main.ridge "SELECT count(*) FROM process" --format csv > /dev/null && echo "the trace is readable"
echo "- and is asked to end"
crash asked --no-sampling
kill -ABRT $recorder
until tr '\0' ' ' < "/proc/$recorder/cmdline" | grep -q ' await '; do sleep 0.05; done
until grep -q '^SigCgt:.*[4-7c-f][0-9a-f]\{3\}$' "/proc/$recorder/status"; do sleep 0.05; done # SIGTERM is handled
kill -TERM $recorder
finish
echo "- in another thread"
crash other
thread=$(ls "/proc/$recorder/task" | grep -vx "$recorder" | head -n 1)
# without the right to sample there is none
if [ -n "$thread" ] && command -v python3 > /dev/null; then to_thread "$recorder" "$thread"; else kill -SEGV $recorder; fi
until grep -q crashed said; do sleep 0.05; done
echo > go
finish
