#!/usr/bin/env bash
# Records Vulkan programs with `ridge record` and compares the recording with what they count.
#
#   BUILD=build [CC=cc] [SAN=...] [PYTHON=python3] [RIDGE_VULKAN_CLIENTS=FOLDER] [RIDGE_MANY=1] tests/vulkan/run.sh
#
# tests/vulkan/target.c has the programs; what they print must be the same with and without ridge. They run on
# tests/vulkan/standin.c, and on a Vulkan driver (lavapipe) where there is one. The validation layers are used
# where they are installed, and so are real programs: wgpu-py and ncnn, and those that tests/vulkan/get-clients
# has put into FOLDER. Their dispatches are counted by tests/vulkan/counter.c, a layer beside ridge's. Ends with
# `N passed, N failed, N skipped`. RIDGE_MANY: thousands of command buffers, and a million dispatches, which take minutes.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
ridge=$build/ridge
clients=${RIDGE_VULKAN_CLIENTS:-}
python=${PYTHON:-python3}
[ ! -x "$clients/python/bin/python" ] || python=$clients/python/bin/python
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-vulkan.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:handle_segv=0
passed=0 failed=0 skipped=0
buffers=500 commands=20000
[ -z "${RIDGE_MANY:-}" ] || buffers=5000 commands=1000000

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
    exit
}
skip() {
    echo "skipped tests/vulkan: $1"
    skipped=$((skipped + 1))
}
cannot() { echo "$1" > "$scratch/skip" && false; }
check() {
    local what=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then
        passed=$((passed + 1))
    elif [ -e "$scratch/skip" ]; then
        skip "$what: $(cat "$scratch/skip")"
    else
        echo "FAILED tests/vulkan: $what"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
    rm -f "$scratch/skip"
}

. "$here/../patient.sh"

# run_both STATUS COMMAND...: the program behaves as alone. The trace is $scratch/trace.ridge, the program's
# output $scratch/alone.
run_both() {
    local status=$1 code
    shift
    timeout 600 "$@" > "$scratch/alone" 2> "$scratch/alone.errors"
    code=$?
    [ $code = 77 ] && cp "$scratch/alone" "$scratch/skip" && return 1
    timeout 600 "$ridge" record --no-sampling --force $options -o "$scratch/trace.ridge" -- "$@" \
        > "$scratch/recorded" 2> "$scratch/summary"
    [ $? = $code ] || { echo "not status $code"; cat "$scratch/summary"; return 1; }
    [ $code = "$status" ] || { echo "status $code, not $status"; return 1; }
    diff "$scratch/alone" "$scratch/recorded"
}
target() {
    local status=$1
    shift
    run_both "$status" "$scratch/target" "$@"
}
value() { "$ridge" query --format csv "$scratch/trace.ridge" "$1" | tail -n 1 | tr -d '\r'; }
# is NUMBER SQL
is() {
    local found
    found=$(value "$2")
    [ "$found" = "$1" ] || { echo "$2: $found, not $1"; return 1; }
}
counted() { awk -v what="$1" '$1 == "count" && $2 == what { sum += $3 } END { print sum + 0 }' "$scratch/alone"; }
has_kernels() { is "$(counted dispatches)" "SELECT count(*) FROM activity WHERE kind = 'kernel'"; }
has_copies() {
    is "$(counted copies)" "SELECT count(*) FROM activity WHERE kind = 'copy'" &&
        is "$(counted fills)" "SELECT count(*) FROM activity WHERE kind = 'set'"
}
has_calls() { is "$1" "SELECT count(*) FROM call WHERE name LIKE '$2'"; }
nothing_lost() { grep -qx 'lost      nothing' "$scratch/summary" || { cat "$scratch/summary"; false; }; }
# Every activity belongs to a submission and starts after it, within the error of the clocks; those of a
# queue do not overlap.
is_sound() {
    local error
    is 0 "SELECT count(*) FROM activity a LEFT JOIN call c ON a.correlation = c.correlation WHERE c.id IS NULL" &&
        error=$(value "SELECT value FROM meta WHERE key = 'clock.error_ns'") &&
        is 0 "SELECT count(*) FROM activity a JOIN call c ON a.correlation = c.correlation
            WHERE a.start < c.start - 2 * $error" &&
        is 0 "SELECT count(*) FROM (SELECT start, lag(end) OVER (PARTITION BY queue ORDER BY start, end) AS before
            FROM activity) WHERE start < before" && nothing_lost
}
is_complete() { has_kernels && has_copies && is_sound; }

in_steps() {
    target 0 steps 20 && is_complete && has_calls 20 vkQueueSubmit && has_calls 20 vkWaitForFences &&
        has_calls 2 vkCreateComputePipelines && has_calls 2 vkCreateShaderModule && has_calls 2 vkAllocateMemory &&
        has_calls 1 vkDeviceWaitIdle && has_calls 240 vkCmdPipelineBarrier &&
        is 20 "SELECT count(*) FROM wait WHERE kind = 'event'" && is 1 "SELECT count(*) FROM wait WHERE kind = 'context'" &&
        is 100 "SELECT count(*) FROM activity WHERE name = 'work'" &&
        is 100 "SELECT count(*) FROM activity WHERE name GLOB 'main#????????'" &&
        is 0 "SELECT count(*) FROM activity WHERE kind = 'kernel' AND
            (grid_x, grid_y, grid_z, block_x, block_y, block_z) IS NOT (3, 2, 1, 8, 4, 2)" &&
        is 0 "SELECT count(*) FROM activity WHERE kind <> 'kernel' AND bytes <> 4096" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory" &&
        is 1 "SELECT count(*) FROM device WHERE id > 0"
}
submitted_again() { target 0 again 50 && is_complete; }
in_many() { target 0 many $buffers && is_complete; }
in_groups() {
    target 0 grouped 10 && is 10 "SELECT count(*) FROM activity WHERE name GLOB 'work x2 + main#*'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'work x3'" && is_sound &&
        options='--vulkan dispatch' target 0 grouped 10 && is_complete
}
in_one_buffer() { target 0 large $commands && is_complete; }
in_secondaries() { target 0 secondary 10 && is_complete; }
in_shared_secondaries() {
    target 0 secondary-shared 10 && is_sound && is 20 "SELECT count(*) FROM activity WHERE name = 'work'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'secondary command buffer x5'"
}
in_simultaneous() {
    target 0 simultaneous 10 && is 0 "SELECT count(*) FROM activity" && grep -qx 'lost      100 events' "$scratch/summary" &&
        is 1 "SELECT count(*) FROM meta WHERE value LIKE 'Vulkan: command buffers with SIMULTANEOUS_USE%'"
}
on_devices() { target 0 devices 10 && is_complete && is 2 "SELECT count(*) FROM queue WHERE id > 0"; }
with_labels() {
    target 0 labels 10 && is_sound && is 10 "SELECT count(*) FROM range WHERE name = 'attention' AND thread IS NULL" &&
        is 20 "SELECT count(*) FROM range WHERE name = 'layer 0'" &&
        is 10 "SELECT count(*) FROM activity WHERE name = 'softmax x2'" &&
        "$ridge" report "$scratch/trace.ridge" --steps all --section ranges | grep -q ' attention$'
}
with_own_queries() { target 0 own-queries 20 && is_complete && has_calls 20 vkGetQueryPoolResults; }
in_threads() { target 0 threads 20 && is_complete; }
with_empty_path() { VK_LAYER_PATH='' target 0 steps 5 && is_complete; }
with_own_clock() {
    cat > "$scratch/own-clock" << END
RIDGE_PROBE=\$RIDGE_PROBE,vulkan_clock=own exec "\$@"
END
    run_both 0 sh "$scratch/own-clock" "$scratch/target" steps 20 && is_complete
}
when_killed() { target 137 killed 20 && has_kernels; }
when_crashed() { target 139 crashed 20 && has_kernels; }
when_left() { target 3 left 20 && has_kernels; }
when_exited() { target 4 exited 20 && is_complete; }
when_forked() { target 0 forked 20 && is_complete; }
when_unloaded() { target 0 unloaded 10 && is_complete; }
# An allocation that failed is a call with a result, and no memory.
without_memory() {
    target 0 memory 10 && is_complete && is 1 "SELECT count(*) FROM call WHERE name = 'vkAllocateMemory' AND result <> 0" &&
        is 0 "SELECT sum(CASE operation WHEN 'alloc' THEN bytes ELSE -bytes END) FROM memory"
}
without_vulkan() { options='--backend cuda' target 0 steps 5 && is 0 "SELECT count(*) FROM activity"; }
# The layer must not break a program that runs after its recording, or beside it.
without_spool() {
    cat > "$scratch/stale" << END
unset RIDGE_SPOOL
exec "\$@"
END
    run_both 0 sh "$scratch/stale" "$scratch/target" steps 5 && is 0 "SELECT count(*) FROM activity"
}
with_little_memory() {
    [ -z "${SAN:-}" ] || cannot "a sanitizer needs memory" || return 1
    cat > "$scratch/limited" << END
ulimit -f 200
exec "\$@"
END
    run_both 0 bash "$scratch/limited" "$scratch/target" steps 300
}
with_validation() {
    ls /usr/share/vulkan/explicit_layer.d/*validation* > /dev/null 2>&1 || cannot "not installed" || return 1
    cat > "$scratch/above" << END
VK_INSTANCE_LAYERS=VK_LAYER_RIDGE_probe:VK_LAYER_KHRONOS_validation exec "\$@"
END
    for scenario in steps again many secondary secondary-shared devices labels; do
        run_both 0 sh "$scratch/above" "$scratch/target" $scenario 20 || { echo "$scenario"; return 1; }
    done
    options="--env VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation" run_both 0 "$scratch/target" steps 20
}
# client COMMAND...: a program that others wrote prints the same with and without ridge, and the recording has the
# dispatches and submissions that a layer above the probe counts. Skipped when it ends with 77.
client() {
    [ -z "${SAN:-}" ] || cannot "the probe has a sanitizer in it" || return 1
    options='--vulkan dispatch' VK_ADD_LAYER_PATH=$scratch/counter VK_INSTANCE_LAYERS=VK_LAYER_test_counter \
        COUNTER_OUTPUT=$scratch/counted run_both 0 "$@" && is_sound || return 1
    has_calls "$(awk '$2 == "submits" { print $3 }' "$scratch/counted")" 'vkQueueSubmit%' &&
        is "$(awk '$2 == "dispatches" { print $3 }' "$scratch/counted")" \
            "SELECT count(*) FROM activity WHERE kind = 'kernel'"
}
# program_of CLIENT: in $clients
program_of() {
    [ -n "$clients" ] || cannot "RIDGE_VULKAN_CLIENTS is not set (see tests/vulkan/get-clients)" || return 1
    [ -e "$clients/$1" ] || cannot "not in RIDGE_VULKAN_CLIENTS"
}
# A shader that multiplies every element, and one that subtracts from it.
with_wgpu() {
    client "$python" "$here/wgpu_program.py" && has_kernels &&
        is 80 "SELECT count(*) FROM activity WHERE kind = 'kernel' AND (bytes, flops) = (32768, 4096)"
}
# It loads the driver itself: the loader of its recording finds the counter, alone it finds none.
with_ncnn() { client "$python" "$here/ncnn_program.py"; }
with_ggml() {
    program_of ggml && client "$(command -v "$python")" "$here/ggml_program.py" "$clients/ggml" 5 &&
        is 120 "SELECT count(*) FROM activity WHERE kind = 'kernel'" &&
        is 60 "SELECT count(*) FROM activity WHERE name LIKE 'mul_mat_vec_f16%'
            AND bytes BETWEEN 2 * 256 * 512 AND 1.05 * 2 * 256 * 512
            AND flops BETWEEN 2 * 256 * 512 AND 1.5 * 2 * 256 * 512" &&
        [ "$(value "SELECT count(*) FROM range WHERE name LIKE 'MUL_MAT%'")" -ge 60 ]
}
# llama.cpp prints the time of each graph, from a timestamp before its first operator to one after its last: its
# kernels are inside, and it is between the copies before and after the graph.
with_ggml_timers() {
    local total
    program_of ggml && GGML_VK_PERF_LOGGER=1 client "$(command -v "$python")" "$here/ggml_program.py" "$clients/ggml" 5 ||
        return 1
    total=$(awk '/^Total time:/ { sum += $3 * 1000; count++ } END { if (count == 5) printf "%d", sum }' "$scratch/summary")
    [ -n "$total" ] && is 1 "SELECT sum(duration) <= $total FROM activity WHERE kind = 'kernel'" &&
        is 1 "SELECT sum(start - before) >= $total FROM (SELECT start, lag(end, 1, (SELECT min(start) FROM activity))
            OVER (ORDER BY start) AS before FROM activity WHERE kind = 'copy')"
}
# Products of a matrix of 256 x 256 and a vector have 2 x 256 x 256 operations.
with_rwkv() {
    program_of rwkv && client "$clients/rwkv" 6 &&
        is 0 "SELECT count(*) FROM activity WHERE kind = 'kernel' AND name IS NULL" &&
        is 0 "SELECT count(*) FROM activity WHERE name LIKE 'matmul%' AND (grid_x, grid_y) = (64, 1)
            AND bytes BETWEEN 131072 AND 140000 AND flops NOT BETWEEN 131070 AND 131074"
}
# 16 x 64 by 64 x 128, and back
with_burn() {
    program_of burn && client "$clients/burn" 5 &&
        is 10 "SELECT count(*) FROM activity WHERE name LIKE 'matmul%' AND flops BETWEEN 262140 AND 262148"
}

# ---- The stand-in ----

# with_standin FUNCTION...: in turn with its own calibration and with calibrated timestamps.
with_standin() {
    local calibrated
    for calibrated in '' calibrated; do
        STANDIN=$calibrated LD_LIBRARY_PATH=$scratch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@" || return 1
    done
}
# Two compute queues and a transfer queue, whose fill and copy cannot be timed.
on_queues() {
    target 0 queues 10 && has_kernels && is 2 "SELECT count(DISTINCT queue) FROM activity" &&
        grep -qx 'lost      20 events' "$scratch/summary" && is 20 "SELECT count(*) FROM wait WHERE kind = 'stream-wait'" &&
        is 1 "SELECT count(*) FROM meta WHERE value LIKE 'Vulkan: a queue family without compute%'" &&
        is 1 "SELECT count(*) FROM device WHERE name = 'Stand-in' AND vendor = 'AMD' AND label = 'vulkan:0'"
}
# The stand-in executes a submission inside the call, and a dispatch takes 3 us or more. The bound of 100 s is for a
# counter that is read as if it had wrapped around once more, after 687 s.
has_true_times() {
    is 0 "SELECT count(*) FROM activity WHERE kind = 'kernel' AND duration NOT BETWEEN 2900 AND 100000000000" &&
        is 0 "SELECT count(*) FROM activity a JOIN call c ON a.correlation = c.correlation WHERE a.start > c.end +
            2 * (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock.error_ns')"
}
with_wrap() { target 0 again 200 && is_complete && has_true_times; }
# The clock is read again every few milliseconds, 200 us off in turn in both directions.
with_slow_clock() { STANDIN=calibrated,slowclock target 0 again 2000 && is_complete && has_true_times; }
reordered() { STANDIN=$STANDIN,reordered target 0 many 40 && is_complete && has_true_times; }
# Two steps of 12 commands are complete, the third is refused.
when_lost() { STANDIN_LOST=3 target 1 steps 5 && is 24 "SELECT count(*) FROM activity"; }
# Whatever the driver refuses to the probe, the program is as alone, and what is missing is counted.
when_refused() {
    local number all lost
    for number in 1 2 3 4 5 6 7 8 9 10 11 12 14 16 20 30; do
        STANDIN_FAIL=$number target 0 steps 5 || { echo "request $number"; return 1; }
        all=$(value "SELECT count(*) FROM activity")
        lost=$(sed -n 's/^lost      \([0-9]*\) event.*/\1/p' "$scratch/summary")
        [ "$all" = 0 ] || is 1 "SELECT CAST(value AS INTEGER) < 100000000000 FROM meta WHERE key = 'clock.error_ns'" &&
            is 0 "SELECT count(*) FROM activity a JOIN call c ON a.correlation = c.correlation WHERE a.start <
                c.start - 2 * (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock.error_ns')" || return 1
        [ $((all + ${lost:-0})) = 60 ] || { echo "request $number: $all of 60, ${lost:-none} lost"; return 1; }
    done
}

[ "$(uname -s)" = Linux ] || { skip "not Linux" && finish; }
${CC:-cc} -O1 -g -std=gnu11 -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN} -I"$root/src" -o "$scratch/target" \
    "$here/target.c" -ldl -pthread || { echo "FAILED tests/vulkan/target.c does not compile"; failed=1; finish; }
mkdir "$scratch/lib" && ${CC:-cc} -O1 -g -std=gnu11 -Wall -Wextra -Werror -I"$root/src" -fPIC -shared \
    -Wl,-soname,libvulkan.so.1 -o "$scratch/lib/libvulkan.so.1" "$here/standin.c" -ldl ||
    { echo "FAILED tests/vulkan/standin.c does not compile"; failed=1; finish; }
mkdir "$scratch/counter" && ${CC:-cc} -O1 -g -std=gnu11 -Wall -Wextra -Werror -I"$root/src" -fPIC -shared \
    -fvisibility=hidden -o "$scratch/counter/libcounter.so" "$here/counter.c" ||
    { echo "FAILED tests/vulkan/counter.c does not compile"; failed=1; finish; }
cat > "$scratch/counter/counter.json" << END
{"file_format_version": "1.0.0", "layer": {"name": "VK_LAYER_test_counter", "type": "GLOBAL", "api_version": "1.3.0",
 "library_path": "$scratch/counter/libcounter.so", "implementation_version": "1", "description": "counts dispatches"}}
END
"$ridge" query "$root/examples/train.ridge" 'SELECT 1' > /dev/null 2>&1 || { skip "this build has no SQLite" && finish; }

check "stand-in: steps of a program" with_standin in_steps
check "stand-in: a command buffer submitted again, while the clock wraps around" with_standin with_wrap
check "stand-in: a clock that is read slowly" with_standin with_slow_clock
check "stand-in: results that arrive out of order" with_standin reordered
check "stand-in: $buffers command buffers" with_standin in_many
check "stand-in: groups without barriers" with_standin in_groups
check "stand-in: secondary command buffers" with_standin in_secondaries
check "stand-in: several queues" with_standin on_queues
check "stand-in: two devices" with_standin on_devices
check "stand-in: four threads" with_standin in_threads
check "stand-in: what the driver refuses" with_standin when_refused
check "stand-in: a killed program" patient with_standin when_killed
check "stand-in: a device that is lost" with_standin when_lost

"$scratch/target" steps 1 > "$scratch/alone" 2>&1
case $? in
0) ;;
77) skip "$(tail -n 1 "$scratch/alone")" && finish ;;
*) skip "the Vulkan driver fails: $(tail -n 1 "$scratch/alone")" && finish ;;
esac
check "steps of a program" in_steps
check "a command buffer submitted again" submitted_again
check "$buffers command buffers, one by one and together" in_many
check "groups without barriers, and each dispatch" in_groups
check "$commands dispatches in one command buffer" in_one_buffer
check "secondary command buffers" in_secondaries
check "secondary command buffers that are shared" in_shared_secondaries
check "command buffers in use twice at a time" in_simultaneous
check "two devices" on_devices
check "labels and names" with_labels
check "the program's own timestamps" with_own_queries
check "four threads" in_threads
check "a driver without calibrated timestamps" with_own_clock
check "an empty VK_LAYER_PATH" with_empty_path
check "a killed program" patient when_killed
check "a crash" patient when_crashed
check "_exit" patient when_left
check "exit" patient when_exited
check "fork" when_forked
check "a library that is unloaded" when_unloaded
check "an allocation that fails" without_memory
check "--backend cuda" without_vulkan
check "without a recorder" without_spool
check "a limit on the length of files" with_little_memory
check "validation layers" with_validation
check "wgpu-py" with_wgpu
check "ncnn" with_ncnn
check "llama.cpp's Vulkan backend" with_ggml
check "llama.cpp's own timers" with_ggml_timers
check "web-rwkv" with_rwkv
check "burn" with_burn
finish
