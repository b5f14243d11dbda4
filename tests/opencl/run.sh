#!/usr/bin/env bash
# Records OpenCL programs with `ridge record` and compares the recording with what they count.
#
#   BUILD=build [CC=cc] [SAN=...] [RIDGE_MANY=1] tests/opencl/run.sh
#
# tests/opencl/target.c has the programs. They print what they compute and what the API answers, which
# must be the same with and without ridge. First with a stand-in (tests/opencl/standin.c), which can
# misbehave; then with a driver (PoCL), where there is one behind a loader that supports layers.
# Ends with `N passed, N failed, N skipped`. RIDGE_MANY: a million kernels, which take minutes.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
ridge=$build/ridge
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-opencl.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
# PoCL keeps compiled kernels there
export LC_ALL=C POCL_CACHE_DIR=$scratch/cache ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:handle_segv=0
mkdir "$POCL_CACHE_DIR"
passed=0 failed=0 skipped=0
commands=20000
[ -z "${RIDGE_MANY:-}" ] || commands=1000000

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
    exit
}
skip() {
    echo "skipped tests/opencl: $1"
    skipped=$((skipped + 1))
}
check() {
    local what=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then
        passed=$((passed + 1))
    elif [ -e "$scratch/skip" ]; then
        skip "$what: $(cat "$scratch/skip")"
    else
        echo "FAILED tests/opencl: $what"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
    rm -f "$scratch/skip"
}

. "$here/../patient.sh"

# run_both STATUS SCENARIO [COUNT]: the program behaves as alone. The trace is $scratch/trace.ridge, the
# program's output $scratch/alone.
run_both() {
    local status=$1 code
    shift
    timeout 600 "$scratch/target" "$@" > "$scratch/alone" 2> "$scratch/alone.errors"
    code=$?
    [ $code = 77 ] && cp "$scratch/alone" "$scratch/skip" && return 1
    timeout 600 "$ridge" record --no-sampling --force $options -o "$scratch/trace.ridge" -- "$scratch/target" "$@" \
        > "$scratch/recorded" 2> "$scratch/summary"
    [ $? = $code ] || { echo "not status $code"; cat "$scratch/summary"; return 1; }
    [ $code = "$status" ] || { echo "status $code, not $status"; return 1; }
    diff "$scratch/alone" "$scratch/recorded"
}

# value SQL: one number of the trace.
value() { "$ridge" query --format csv "$scratch/trace.ridge" "$1" | tail -n 1 | tr -d '\r'; }
# is NUMBER SQL
is() {
    local found
    found=$(value "$2")
    [ "$found" = "$1" ] || { echo "$2: $found, not $1"; return 1; }
}
# The program's own count of something.
counted() { awk -v what="$1" '$1 == "count" && $2 == what { sum += $3 } END { print sum + 0 }' "$scratch/alone"; }
has_kernels() { is "$(counted "$1")" "SELECT count(*) FROM activity WHERE kind = 'kernel' AND name = '$1'"; }
has_copies() { is "$(counted "$1")" "SELECT count(*) FROM activity WHERE kind <> 'kernel' AND $2"; }
has_calls() { is "$1" "SELECT count(*) FROM call WHERE name = '$2'"; }
# Every activity belongs to one call of its process, starts after it within the error of the clocks, and
# activities of a queue do not overlap: all queues of the programs are in-order. The error is known: it is less than
# the time of the recording.
is_sound() {
    local error
    is 0 "SELECT count(*) FROM activity a LEFT JOIN call c ON a.correlation = c.correlation WHERE c.id IS NULL" &&
        error=$(value "SELECT value FROM meta WHERE key = 'clock.error_ns'") &&
        is 1 "SELECT $error < (SELECT max(end) - min(start) FROM call)" &&
        is 0 "SELECT count(*) FROM (SELECT start, lag(end) OVER (PARTITION BY queue ORDER BY start, end) AS before
            FROM activity) WHERE start < before" &&
        is 0 "SELECT count(*) FROM activity a JOIN call c ON a.correlation = c.correlation
            JOIN queue q ON a.queue = q.id JOIN thread t ON c.thread = t.id AND t.process = q.process
            WHERE a.start < c.start - 2 * $error" &&
        { grep -qx 'lost      nothing' "$scratch/summary" || { cat "$scratch/summary"; false; }; }
}

in_steps() {
    run_both 0 steps 40 && has_kernels triple && has_kernels add_one && has_copies reads "direction = 'DtoH'" &&
        has_copies writes "direction = 'HtoD'" && is_sound && has_calls 40 clFinish &&
        has_calls 40 'clEnqueueReadBuffer (blocking)' && has_calls 1 clBuildProgram &&
        is 40 "SELECT count(*) FROM wait WHERE kind = 'stream'" &&
        is 16 "SELECT max(grid_x) FROM activity" && is 64 "SELECT max(block_x) FROM activity" &&
        is 4096 "SELECT min(bytes) FROM activity WHERE kind = 'copy'" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory" &&
        is 4096 "SELECT sum(bytes) FROM memory WHERE operation = 'alloc'" && is 1 "SELECT count(*) FROM device"
}
# The driver of PoCL does not say which size it chooses.
in_groups() {
    run_both 0 groups 30 && is_sound &&
        is 30 "SELECT count(*) FROM activity WHERE name = 'required' AND (grid_x, block_x) = (32, 32)" &&
        is 30 "SELECT count(*) FROM activity WHERE name = 'add_one' AND (grid_x, block_x) = ($1, $2)"
}
in_many() { run_both 0 many $commands && has_kernels add_one && is_sound; }
with_info() { run_both 0 info && has_kernels triple && is_sound; }
with_events() {
    run_both 0 events 100 && has_kernels triple && has_kernels add_one && has_copies reads "direction = 'DtoH'" &&
        is_sound && is 99 "SELECT count(*) FROM wait WHERE kind = 'stream-wait'" &&
        is 1 "SELECT count(*) FROM wait WHERE kind = 'event'" && is 2 "SELECT count(*) FROM queue WHERE id > 0"
}
with_memory() {
    run_both 0 memory 20 && has_copies fills "kind = 'set'" && has_copies copies "direction = 'DtoD'" &&
        has_copies maps "name = 'Map'" && has_copies unmaps "name = 'Unmap'" && is_sound &&
        has_copies shared "'managed' IN (from_memory, to_memory)" && has_calls 20 clEnqueueMarkerWithWaitList &&
        has_calls 20 clEnqueueBarrierWithWaitList &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory"
}
# An allocation that fails is a call with a result, and no memory.
without_memory() {
    run_both 0 failing-memory 10 && has_kernels add_one && is_sound &&
        is 1 "SELECT count(*) FROM call WHERE name = 'clCreateBuffer' AND result <> 0" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory"
}
in_threads() { run_both 0 threads 500 && has_kernels add_one && is_sound && is 4 "SELECT count(*) FROM queue WHERE id > 0"; }
on_sub_devices() { run_both 0 sub-devices 30 && has_kernels add_one && is_sound && is 1 "SELECT count(*) FROM device WHERE id > 0"; }
in_a_child() { run_both 0 forked 30 && has_kernels add_one && is_sound && is 2 "SELECT count(*) FROM process WHERE id > 0"; }
with_a_child() { run_both 0 fork-after 30 && has_kernels add_one && is_sound; }
when_killed() { run_both 137 killed 30 && has_kernels add_one; }
when_crashed() { run_both 139 crashed 30 && has_kernels add_one; }
# PoCL may crash in its own exit handlers while it compiles or runs a kernel, recorded or not.
when_exiting() {
    local code
    timeout 600 "$scratch/target" exited 30 > "$scratch/alone" 2> "$scratch/alone.errors"
    timeout 600 "$ridge" record --no-sampling --force -o "$scratch/trace.ridge" -- "$scratch/target" exited 30 \
        > "$scratch/recorded" 2> "$scratch/summary"
    code=$?
    [ $code = 5 ] || [ $code = 134 ] || [ $code = 139 ] || { echo "status $code"; cat "$scratch/summary"; return 1; }
    diff "$scratch/alone" "$scratch/recorded" && has_kernels add_one || return 1
    [ "$(value "SELECT count(*) FROM activity WHERE name = 'spin'")" = 1 ] || grep -qx 'lost      1 event' "$scratch/summary"
}
with_many_queues() { run_both 0 queues 200 && has_kernels add_one && is_sound && is 200 "SELECT count(*) FROM queue WHERE id > 0"; }
when_unloaded() { run_both 0 unloaded 30 && has_kernels add_one && is_sound; }
with_command_buffers() {
    run_both 0 command-buffers 20 && is_sound &&
        is 20 "SELECT count(*) FROM activity WHERE name = 'command buffer 1' AND graph = 1"
}
# The probe reads the times that the program reads.
with_own_times() {
    run_both 0 timed 100 && has_kernels spin && is_sound &&
        is "$(sed -n 's/^own time //p' "$scratch/summary")" "SELECT sum(duration) FROM activity WHERE kind = 'kernel'" &&
        is 100 "SELECT count(*) FROM wait WHERE kind = 'event' AND record_correlation > 0"
}
# ridge's own runtime records itself, with the same events: names and counts are equal, times to what the
# two conversions of the device's clock differ by.
with_the_runtime() {
    local sums="SELECT name, count(*), sum(duration) FROM activity WHERE kind = 'kernel' GROUP BY name"
    ${CC:-cc} -O1 ${SAN:+-fsanitize=$SAN} -I"$root/include" -o "$scratch/runtime" "$root/examples/trace.c" \
        "$build/libridge.so.0" -Wl,-rpath,"$build" -lm || return 1
    "$ridge" record --no-sampling --force -o "$scratch/trace.ridge" -- "$scratch/runtime" opencl "$scratch/own.ridge" ||
        return 1
    "$ridge" query --format csv "$scratch/own.ridge" "$sums" | tr -d '\r' | sed 1d > "$scratch/own"
    "$ridge" query --format csv "$scratch/trace.ridge" "$sums" | tr -d '\r' | sed 1d > "$scratch/recorded"
    [ "$(wc -l < "$scratch/own")" -ge 2 ] && awk -F , '
        NR == FNR { count[$1] = $2; time[$1] = $3; next }
        { difference = $3 - time[$1] }
        $2 != count[$1] || difference * difference > ($3 / 1000) ^ 2 { print "own", $0, "recorded", count[$1], time[$1]; wrong = 1 }
        END { exit wrong }' "$scratch/recorded" "$scratch/own"
}
without_opencl() {
    options='--backend cuda' run_both 0 steps 5 && is 0 "SELECT count(*) FROM activity" && is 0 "SELECT count(*) FROM call"
}
${CC:-cc} -O1 -g -std=gnu11 -Wall -Wextra ${SAN:+-fsanitize=$SAN} -I"$root/src" -o "$scratch/target" "$here/target.c" \
    -ldl -pthread || { echo "FAILED tests/opencl/target.c does not compile"; failed=1; finish; }
"$ridge" query "$root/examples/train.ridge" 'SELECT 1' > "$scratch/log" 2>&1 ||
    { skip "$(tail -n 1 "$scratch/log")"; finish; }

# ---- with the stand-in

mkdir "$scratch/standin"
${CC:-cc} -shared -fPIC -O1 -g -std=gnu11 -Wall -Wextra -I"$root/src" -o "$scratch/standin/libOpenCL.so.1" \
    "$here/standin.c" -ldl -pthread || { echo "FAILED tests/opencl/standin.c does not compile"; failed=1; finish; }

# stand_in WORDS: 10 steps with such a driver; every event is released.
stand_in() {
    STANDIN=$1,leaks LD_LIBRARY_PATH=$scratch/standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} run_both 0 steps 10 &&
        grep -qx '0 events are open' "$scratch/summary"
}
has_all() { has_kernels triple && has_kernels add_one && has_calls 20 clEnqueueNDRangeKernel; }
lacks() { grep -qx "lost      $1" "$scratch/summary" && is 1 "SELECT count(*) FROM meta WHERE key = 'warning' AND value LIKE '%$2%'"; }
fine() { stand_in '' && has_all && is_sound && is 7 "SELECT multiprocessors FROM device WHERE vendor = 'Nobody'"; }
refused() { stand_in refuse && has_calls 20 clEnqueueNDRangeKernel && lacks '40 events' 'refuses profiling'; }
without_times() { stand_in notimes && has_calls 20 clEnqueueNDRangeKernel && lacks '40 events' 'has no times'; }
failing() { stand_in fails && is 36 "SELECT count(*) FROM activity" && lacks '4 events' 'failed on the device'; }
with_timer() { stand_in timer && has_all && is_sound; }
with_wrong_timer() { stand_in wrongtimer && has_all && is_sound; }
with_an_old_driver() { stand_in old && has_all && is_sound; }
# The bounds of the clock narrow while the device never pauses; a command keeps its duration.
when_behind() {
    STANDIN=behind LD_LIBRARY_PATH=$scratch/standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} run_both 0 many 3000 &&
        has_kernels add_one && is_sound && is 0 "SELECT count(*) FROM activity WHERE duration <> 200000"
}
without_layers() { stand_in nolayers && is 0 "SELECT count(*) FROM call"; }
standin_groups() {
    STANDIN='' LD_LIBRARY_PATH=$scratch/standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} in_groups 8 128
}
check "a stand-in" fine
check "a driver that refuses profiling" refused
check "a driver without times" without_times
check "commands that fail" failing
check "a driver with a timer" with_timer
check "a timer of another clock" with_wrong_timer
check "a driver of OpenCL 1.2" with_an_old_driver
check "a device that is behind, and slow calls" when_behind
check "a loader without layers" without_layers
check "a driver that chooses work-group sizes" standin_groups

# ---- with a driver

"$scratch/target" info > "$scratch/alone" 2>&1
case $? in
0) ;;
77) skip "$(cat "$scratch/alone")" && finish ;;
*) skip "the OpenCL driver fails: $(tail -n 1 "$scratch/alone")" && finish ;;
esac
"$ridge" record --no-sampling --force -o "$scratch/trace.ridge" -- "$scratch/target" many 1 > "$scratch/log" 2>&1
if [ "$(value "SELECT count(*) FROM meta WHERE key = 'opencl.recorded'")" != 1 ]; then
    skip "libOpenCL.so.1 does not support layers (ocl-icd 2.3 and later do)"
    finish
fi

check "steps of a program" patient in_steps
check "work-group sizes that the driver chooses" in_groups 0 0
check "$commands kernels without a wait" in_many
check "what the API answers about queues and events" with_info
check "events, callbacks and two queues" with_events
check "maps, fills, copies, shared memory" patient with_memory
check "an allocation that fails" without_memory
check "four threads" in_threads
check "sub-devices" on_sub_devices
check "a child that uses OpenCL" in_a_child
check "a child that does not" with_a_child
check "a killed program" patient when_killed
check "a crash" patient when_crashed
check "an exit while work is queued" patient when_exiting
check "many queues" with_many_queues
check "an unloaded library" when_unloaded
check "command buffers" with_command_buffers
check "the program's own times" with_own_times
check "ridge's own runtime" with_the_runtime
check "--backend cuda" without_opencl
finish
