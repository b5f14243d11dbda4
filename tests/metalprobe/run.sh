#!/usr/bin/env bash
# Records Metal programs with `ridge record` and compares the recording with what they count.
#
#   BUILD=build [CC=cc] [SAN=...] tests/metalprobe/run.sh
#
# tests/metalprobe/client.c has the programs, standin.c the Objective-C runtime and Metal that they run on.
# LD_PRELOAD takes the place of DYLD_INSERT_LIBRARIES. What the programs print must be the same with and
# without ridge. Ends with `N passed, N failed, N skipped`.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
ridge=$build/ridge
[ "$(uname -s)" = Linux ] || { echo "SKIP the stand-in is written for Linux"; exit 77; }
[ -z "${SAN:-}" ] || { echo "SKIP a preloaded library cannot be sanitized"; exit 77; }
case $(uname -m) in x86_64 | aarch64) ;; *) echo "SKIP the stand-in is not written for this processor"; exit 77 ;; esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-metalprobe.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C
passed=0 failed=0

check() {
    local what=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAILED tests/metalprobe: $what"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
}

# run_both STATUS SCENARIO [COUNT]: the program behaves as alone. The trace is $scratch/trace.ridge.
run_both() {
    local status=$1 code
    shift
    timeout 600 "$scratch/client" "$@" > "$scratch/alone" 2> "$scratch/alone.errors"
    code=$?
    timeout 600 "$ridge" record --no-sampling --force $options --env LD_PRELOAD="$build/metal/libridge-probe.so" \
        -o "$scratch/trace.ridge" -- "$scratch/client" "$@" > "$scratch/recorded" 2> "$scratch/summary"
    [ $? = $code ] || { echo "not status $code"; cat "$scratch/summary"; return 1; }
    [ $code = "$status" ] || { echo "status $code, not $status"; return 1; }
    diff "$scratch/alone" "$scratch/recorded"
}
value() { "$ridge" query --format csv "$scratch/trace.ridge" "$1" | tail -n 1 | tr -d '\r'; }
is() {
    local found
    found=$(value "$2")
    [ "$found" = "$1" ] || { echo "$2: $found, not $1"; return 1; }
}
counted() { awk -v what="$1" '$1 == "count" && $2 == what { sum += $3 } END { print sum + 0 }' "$scratch/alone"; }
has_kernels() { is "$(counted "$1")" "SELECT count(*) FROM activity WHERE kind = 'kernel' AND name = '$1'"; }
has_calls() { is "$1" "SELECT count(*) FROM call WHERE name = '$2'"; }
lost() { grep -qx "lost      $1" "$scratch/summary" || { cat "$scratch/summary"; return 1; }; }
warned() { is 1 "SELECT count(*) FROM meta WHERE key = 'warning' AND value LIKE '%$1%'"; }
# Every activity belongs to the commit of its buffer and starts after it began.
# A buffer that is completed before the program waits, because its thread was preempted, is not awaited.
has_waits() {
    is 1 "SELECT count(*) BETWEEN 1 AND $1 FROM wait WHERE kind = 'event'
        AND record_correlation IN (SELECT correlation FROM call WHERE name = 'commit')" &&
        is 0 "SELECT count(*) FROM wait WHERE record_correlation NOT IN (SELECT correlation FROM call WHERE name = 'commit')"
}
is_sound() {
    is 0 "SELECT count(*) FROM activity a LEFT JOIN call c ON a.correlation = c.correlation WHERE c.name IS NOT 'commit'" &&
        is 0 "SELECT count(*) FROM activity a JOIN call c ON a.correlation = c.correlation WHERE a.start < c.start" &&
        is 0 "SELECT count(*) FROM activity a JOIN activity b ON a.queue = b.queue AND a.id < b.id
            WHERE a.start < b.start + b.duration AND b.start < a.start + a.duration AND a.duration > 0 AND b.duration > 0"
}
# The sum of the buffers' GPU times, as the program reads them, to a nanosecond each.
own_time() { sed -n 's/^own time //p' "$scratch/summary"; }
is_own_time() {
    local own found
    own=$(own_time) found=$(value "$1")
    [ $((found - own)) -le "$2" ] && [ $((own - found)) -le "$2" ] || { echo "$1: $found, not $own"; return 1; }
}

in_steps() {
    run_both 0 steps 20 && lost nothing && has_kernels triple && has_kernels add_one && is_sound &&
        is "$(counted copies)" "SELECT count(*) FROM activity WHERE kind = 'copy' AND bytes = 4096 AND direction = 'DtoD'" &&
        has_calls 20 commit && has_calls 20 waitUntilCompleted && has_calls 1 newLibraryWithSource &&
        has_calls 2 newComputePipelineState && has_calls 2 newBufferWithLength &&
        has_waits 20 &&
        is 20 "SELECT count(*) FROM activity WHERE name = 'triple' AND grid_x = 16 AND block_x = 64" &&
        is metal:0 "SELECT label FROM device WHERE id > 0" && is 'Nobody M1' "SELECT name FROM device WHERE id > 0" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory" &&
        is 8192 "SELECT sum(bytes) FROM memory WHERE operation = 'alloc'" && is 1 "SELECT count(*) FROM queue WHERE id > 0" &&
        is 1 "SELECT sum(a.duration) <= $(own_time) + 60 FROM activity a"
}
# The encoders of a buffer are inside its GPU times.
in_encoders() {
    run_both 0 steps 20 && is 60 "SELECT count(*) FROM activity" && is 0 "SELECT count(*) FROM activity WHERE duration = 0"
}
in_packed() {
    run_both 0 packed 20 && lost nothing && is_sound && is 20 "SELECT count(*) FROM activity WHERE name = 'triple and 4 more'" &&
        is 20 "SELECT count(*) FROM range WHERE name = 'step' AND queue > 0" &&
        is_own_time "SELECT sum(duration) FROM range WHERE name = 'step'" 20
}
with_passes() {
    run_both 0 passes 20 && lost nothing && is_sound && has_kernels triple && is 20 "SELECT count(*) FROM activity" &&
        is 20 "SELECT count(*) FROM range WHERE name = 'forward' AND queue > 0"
}
# A render encoder has no samples: its buffer is one activity.
with_renders() {
    run_both 0 renders 10 && lost nothing && is_sound && is 40 "SELECT count(*) FROM activity WHERE kind = 'kernel'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'render'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'render and 1 more'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'draw the scene'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'triple and 1 more'" &&
        is_own_time "SELECT sum(duration) FROM activity" 40
}
with_metal4() { run_both 0 metal4 10 && has_kernels triple && is_sound && warned 'MTL4CommandQueue'; }
in_many() { run_both 0 many 500 && lost nothing && has_kernels add_one && is_sound; }
crowded() {
    run_both 0 crowded 5 && lost nothing && is_sound && is 5 "SELECT count(*) FROM activity WHERE name = 'triple and 99 more'" &&
        is_own_time "SELECT sum(duration) FROM activity" 5
}
uncommitted() { run_both 0 uncommitted 20 && lost nothing && has_kernels triple && has_calls 10 commit && is_sound; }
in_threads() { run_both 0 threads 20 && lost nothing && has_kernels add_one && is_sound && is 4 "SELECT count(*) FROM queue WHERE id > 0"; }
with_signposts() {
    run_both 0 signposts 20 && lost nothing && is 20 "SELECT count(*) FROM range WHERE name = 'outer'" &&
        is 20 "SELECT count(*) FROM range WHERE name = 'inner'"
}
forked() { run_both 0 forked 10 && lost nothing && has_kernels triple && is_sound; }
killed() { run_both 137 killed 10 && has_kernels triple && has_calls 10 commit; }
exited() { run_both 5 exited 5 && has_calls 55 commit && warned 'ended while command buffers were running'; }
all_devices() { run_both 0 all-devices 5 && has_kernels triple && is 1 "SELECT count(*) FROM device WHERE id > 0"; }
# Without counters each command buffer is one activity, with the times that the program reads.
whole_buffers() {
    local -x STANDIN=$1
    run_both 0 steps 20 && lost nothing && is_sound && is "$2" "SELECT count(*) FROM activity" && warned 'each command buffer is one activity'
}
without_counters() { whole_buffers nocounters 20 && is_own_time "SELECT sum(duration) FROM activity" 20; }
zero_counters() { whole_buffers zerocounters 20 && is_own_time "SELECT sum(duration) FROM activity" 20; }
in_ticks() { STANDIN=ticks run_both 0 steps 400 && lost nothing && is_sound && has_kernels triple; }
# A reading that took long places samples outside their buffer, which is then one activity.
slow_clock() {
    STANDIN=slowclock run_both 0 steps 400 && lost nothing && is_sound &&
        is 400 "SELECT count(DISTINCT correlation) FROM activity" && is 1 "SELECT count(*) > 0 FROM activity WHERE name = 'triple'"
}
zero_times() { STANDIN=zerotimes run_both 0 steps 20 && lost '20 events' && has_calls 20 commit && warned 'has no times'; }
late() { STANDIN=late run_both 0 steps 5 && lost nothing && has_kernels triple && is_sound; }
failing() { STANDIN=fails run_both 0 steps 20 && lost '4 events' && warned 'failed on the GPU'; }
no_leaks() {
    STANDIN=leaks run_both 0 "$1" 10 || return 1
    # its own sample buffer and counter set stay
    local left
    left=$(sed -n 's/ objects are alive//p' "$scratch/summary")
    [ "$left" -le 3 ] || { echo "$left objects are alive"; return 1; }
}
by_event() {
    run_both 0 events 20 && lost nothing && is_sound && has_kernels triple && has_calls 21 waitUntilSignaledValue &&
        has_waits 20 &&
        is 1 "SELECT count(*) FROM call WHERE name = 'waitUntilSignaledValue' AND result <> 0"
}
with_variants() {
    run_both 0 variants && lost nothing && is_sound && has_kernels half && has_kernels triple && has_kernels add_one &&
        is 2 "SELECT count(*) FROM activity WHERE name = 'indirect commands'" &&
        is 2 "SELECT count(*) FROM activity WHERE kind = 'copy' AND bytes = 128" &&
        is 2 "SELECT count(*) FROM activity WHERE name = 'add_one' AND grid_x = 2 AND block_x = 64" &&
        has_calls 4 newComputePipelineState && has_calls 2 waitUntilScheduled && has_calls 1 newHeapWithDescriptor &&
        has_calls 1 newTextureWithDescriptor && has_calls 1 newBufferWithBytes &&
        is "$((8192 + 8 + (1 << 20) + (1 << 16)))" "SELECT sum(bytes) FROM memory WHERE operation = 'alloc'" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory"
}
other_types() {
    STANDIN=othertypes run_both 0 variants && lost nothing && is_sound && has_kernels half &&
        is 0 "SELECT count(*) FROM activity WHERE name = 'add_one'" && warned 'dispatchThreads:threadsPerThreadgroup: has unknown types'
}
# Encoders of descriptors that cannot be copied are not timed.
shared_attachments() {
    STANDIN=shallow run_both 0 passes 20 && lost nothing && has_kernels triple && is_sound && is 20 "SELECT count(*) FROM activity"
}
reused() { STANDIN=reuse run_both 0 uncommitted 200 && lost nothing && has_kernels triple && has_calls 100 commit && is_sound; }
# Every message that the probe sends or replaces has documented types in the stand-in.
in_table() {
    local selector count=0 table
    table=$(tr '\n' ' ' < "$here/standin.c" | sed 's/"  *"//g; s/  */ /g')
    for selector in $(cat "$root"/src/probe/metal/*.c | tr '\n' ' ' | sed 's/"  *"//g' |
        grep -oE '(metal_selector\(|metal_responds\([a-z]+,|metal_text\([a-z>-]+,|OBJC_GET\([^"]*,|METAL_ROW\([A-Z_]+,) *"[^"]+"' |
        sed 's/.*"\(.*\)"/\1/' | sort -u); do
        count=$((count + 1))
        [[ $table == *"\"$selector\", \""* ]] || { echo "$selector is not in the stand-in's table"; return 1; }
    done
    [ $count -gt 60 ] || { echo "only $count selectors were found"; return 1; }
}
not_recorded() { options='--backend cuda' run_both 0 steps 5 && is 0 "SELECT count(*) FROM activity" && is 0 "SELECT count(*) FROM call"; }

# A program into which the probe was not inserted.
not_inserted() {
    "$ridge" record --no-sampling --force --backend metal -o "$scratch/trace.ridge" -- true 2> "$scratch/summary" &&
        lost 'nothing; Metal is not recorded: the program did not load the probe; .*'
}
inserted() { options='--backend metal' run_both 0 steps 5 && lost nothing && has_kernels triple; }

warnings='-Wall -Wextra'
${CC:-cc} -O1 -g -std=gnu11 $warnings -shared -fPIC -o "$scratch/libstandin.so" "$here/standin.c" -pthread &&
    ${CC:-cc} -O1 -g -std=gnu11 $warnings -o "$scratch/client" "$here/client.c" "$scratch/libstandin.so" \
        -Wl,-rpath,"$scratch" -pthread || { echo "FAILED the stand-in does not compile"; echo "0 passed, 1 failed"; exit 1; }
"$ridge" query "$root/examples/train.ridge" 'SELECT 1' > "$scratch/log" 2>&1 || { echo "SKIP $(tail -n 1 "$scratch/log")"; exit 77; }

check "steps with a wait" in_steps
check "times of encoders" in_encoders
check "several kernels in one encoder" in_packed
check "the program's own pass descriptors" with_passes
check "render encoders" with_renders
check "a queue of Metal 4" with_metal4
check "every selector is in the stand-in's table" in_table
check "waits for an event" by_event
check "other methods" with_variants
check "a method with other types" other_types
check "descriptors that share their attachments" shared_attachments
check "objects at addresses of earlier ones" reused
check "500 buffers without a wait" in_many
check "buffers with a hundred encoders" crowded
check "buffers that are never committed" uncommitted
check "four threads with their own queues" in_threads
check "signposts" with_signposts
check "a child of fork()" forked
check "a killed program" killed
check "an exit while work is running" exited
check "MTLCopyAllDevices" all_devices
check "a device without counters" without_counters
check "counters that are zero" zero_counters
check "timestamps in ticks" in_ticks
check "a clock that is read slowly" slow_clock
check "command buffers without times" zero_times
check "handlers that run late" late
check "command buffers that fail" failing
for scenario in steps packed passes uncommitted crowded events variants; do
    check "no object is kept: $scenario" no_leaks $scenario
done
check "--backend cuda" not_recorded
check "--backend metal" inserted
check "a program without the probe" not_inserted
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
