# The CUDA part of the probe, with a fake driver and CUPTI (tests/probe/standin.h): a part
# of tests/probe/run.sh.

# said COUNT LINE: the first process printed LINE COUNT times.
said() { [ "$(grep -cx -- "0 $2" "$scratch/seen")" = "$1" ] || { echo "not $1 times: $2"; return 1; }; }
cuda_record() {
    RIDGE_CUPTI=${cupti-$scratch/lib/libcuda.so.1} LD_LIBRARY_PATH=$scratch/lib target=cuda_target record "$@"
}
# cuda_counts CALLS KERNELS: all kernels have a call, and all times are valid.
cuda_counts() { seen "cuda calls=$1 kernels=$2 joined=$2 .* impossible=0" '.* damaged=0 .*'; }

cuda_everything() {
    cuda_record 0 plain 3 && seen '0 device Stand-in multiprocessors=16' '0 meta cupti.version: 13.0' \
        '0 memory thread=known' '0 call cuModuleLoadData class=5 result=0' '0 call cuMemAlloc class=4 result=0' \
        '0 call cuLaunchKernel class=1 result=0' '0 call cuCtxSynchronize class=3 result=0' \
        '0 kernel count_launch grid=2,3,1 block=32,1,1 shared=64 registers=16 stream=7 ns=1000' \
        'cuda calls=6 kernels=3 joined=3 copies=0 sets=0 waits=1 allocations=1 impossible=0' '0 ended dropped=0'
}
# XLA updates instantiated graphs, which fails if CUPTI records them as a whole.
cuda_xla() {
    cuda_record 0 plain 3 && seen '0 meta cuda.graphs: as a whole' &&
        LD_PRELOAD=$scratch/lib/xla_cuda_plugin.so cuda_record 0 plain 3 && seen '0 meta cuda.graphs: by node'
}
cuda_example() {
    RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib target=launches record -c 0 1000 &&
        seen '1000 launches, .*' '0 meta probe.cost_ns: [1-9][0-9]*' 'cuda calls=.* kernels=1000 joined=1000 copies=1 sets=1 .* impossible=0' \
            '0 copy bytes=4 direction=2 from=3 to=1 ns=1000' '0 set bytes=4 direction=0 from=0 to=3 ns=1000'
}
# The runtime's call is recorded, and not the driver's inside it.
cuda_runtime() {
    cuda_record 0 runtime 10 && cuda_counts 12 10 && seen '0 call cudaLaunchKernel class=1 result=0' &&
        ! seen '0 call cuLaunchKernel .*'
}
# What is captured into a graph and what fails is no wait; a stream may be of another context.
cuda_waiting() {
    cuda_record 0 waiting && grep '^0 wait ' "$scratch/seen" > "$scratch/waits"
    diff - "$scratch/waits" << EOF
0 wait kind=2 stream=1/22 event=1 awaited=1/21 recorded=yes
0 wait kind=1 stream=1/-1 event=1 awaited=1/21 recorded=yes
0 wait kind=2 stream=1/22 event=1 awaited=1/7 recorded=yes
0 wait kind=1 stream=1/-1 event=2 awaited=0/-1 recorded=no
0 wait kind=1 stream=1/-1 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/22 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/7 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/8 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/8 event=0 awaited=0/-1 recorded=no
0 wait kind=2 stream=1/21 event=2 awaited=2/40 recorded=yes
0 wait kind=3 stream=2/40 event=0 awaited=0/-1 recorded=no
0 wait kind=4 stream=1/-1 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/51 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/51 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/52 event=0 awaited=0/-1 recorded=no
0 wait kind=3 stream=1/52 event=0 awaited=0/-1 recorded=no
EOF
}
cuda_million() { cuda_record -c 0 plain 1000000 && cuda_counts 1000003 1000000 && seen '0 ended dropped=0'; }
cuda_threads() { cuda_record -c 0 threads 5000 && cuda_counts 40010 40000; }
cuda_killed() { cuda_record -c 137 killed 1000 && cuda_counts 1003 1000 && seen '0 cut dropped=0'; }
cuda_crashing() { cuda_record -c 139 crashing 1000 && cuda_counts 1003 1000; }
cuda_leaving() { cuda_record -c 3 leaving 1000 && cuda_counts 1003 1000; }
cuda_exit_from_thread() { cuda_record -c 4 exit_from_thread 1000 && cuda_counts 1003 1000 && seen '0 ended dropped=0'; }
cuda_forking() { cuda_record -c 0 forking 1000 && cuda_counts 2004 2000; }
cuda_own_profiler() {
    cuda_record -c 0 own_profiler 5000 && seen '0 lost 1: .* its own profiler may have taken over CUPTI' \
        'cuda calls=10004 kernels=5000 joined=5000 .*'
}
cuda_linked_profiler() {
    cuda_record -c 0 linked_profiler 500 && cuda_profiled_twice
}
# Correlations begin again at 1, and still no kernel is taken for an earlier call's.
cuda_finalizing_profiler() {
    cuda_record -c 0 finalizing_profiler 500 && cuda_profiled_twice
}
# All of ours before, between and after; the time in which it had CUPTI is paused.
cuda_profiled_twice() {
    seen '0 meta cuda.taken_over: libframework.so' 'cuda calls=1505 kernels=1500 joined=1500 .* impossible=0' \
        '0 ended dropped=0' && said 2 'meta cuda.taken_over_at: .*' && said 2 'meta cuda.given_back_at: .*' &&
        said 2 paused && said 2 'paused until then' && said 0 'lost .*' && said 0 'meta cuda.refused: .*'
}
cuda_lasting_profiler() {
    cuda_record -c 0 lasting_profiler 500 && seen '0 meta cuda.taken_over: libframework.so' \
        'cuda calls=503 kernels=500 joined=500 .* impossible=0' '0 ended dropped=0' &&
        said 1 paused && said 0 'paused until then' && said 0 'meta cuda.given_back_at: .*' && said 0 'lost .*'
}
cuda_restless_profiler() {
    STANDIN=slow cuda_record -c 0 restless_profiler && seen 'cuda .* impossible=0' && said 0 'meta cuda.refused: .*' &&
        grep -q '^0 paused until then$' "$scratch/seen"
}
# Nothing that begins before the time is sent; a time long ago changes nothing.
cuda_delayed() {
    RIDGE_PROBE=from=9000000000000000000 cuda_record -c 0 plain 1000 && ! seen 'cuda .*' &&
        RIDGE_PROBE=from=1 cuda_record -c 0 plain 1000 && cuda_counts 1003 1000
}
# A recorder that closes early is sent nothing more, and finds the folder as it left it.
cuda_stopped() {
    local seen all
    rm -f "$scratch/closed"
    RECORDER_CLOSED=$scratch/closed cuda_record -c -s 0 until_closed 200 && [ -z "$(ls -A "$scratch/spool")" ] || return 1
    seen=$(sed -n 's/^cuda calls=\([0-9]*\) .*/\1/p' "$scratch/seen") all=$(sed -n 's/^all launches //p' "$scratch/seen")
    [ "$seen" -gt 0 ] && [ "$seen" -lt "$all" ]
}
cuda_some_parts() {
    RIDGE_PROBE=capture=cudaProfilerApi cuda_record -c 0 some_parts 1000 &&
        seen 'cuda calls=20[0-9] kernels=200 joined=200 .* waits=2 .*' &&
        [ "$(grep -c '^0 paused$' "$scratch/seen")" = 3 ] &&
        [ "$(grep -c '^0 paused until then$' "$scratch/seen")" = 2 ]
}
nvtx_some_ranges() {
    RIDGE_PROBE=capture=nvtx:outer record 0 basic && seen '0 open outer' '0 open inner' \
        '.* opened=2 closed=2 marks=0 .*'
}
cuda_lossy() {
    STANDIN=lossy cuda_record -c 0 plain 1000 && seen '0 lost [0-9]*: CUPTI ran out of buffers.*' \
        'cuda calls=1003 kernels=900 joined=900 .*'
}
cuda_clocks() { STANDIN=clocks cuda_record -c 0 plain 1000 && cuda_counts 1003 1000; }
cuda_little_memory() {
    [ -z "${SAN:-}" ] || cannot "a sanitizer needs memory" || return 1
    cuda_record -c 0 little_memory 3000 && ! seen '0 ended dropped=0'
}
# Every call to CUPTI and the driver fails once, in its turn: the program ends as usual, and what is
# missing is counted or explained.
cuda_failing_calls() {
    local nth step=1 name lines bad=0
    for ((nth = 1; nth < 5000; nth += step)); do
        rm -f "$scratch/failed"
        STANDIN=fail:$nth STANDIN_FAILED=$scratch/failed cuda_record 0 "$@" > "$scratch/output" 2>&1 || {
            cat "$scratch/output"
            bad=1
        }
        [ -e "$scratch/failed" ] || break
        name=$(cat "$scratch/failed") step=1
        case $name in
        cuptiEnableCallback) step=23 ;; # one for each function
        cuDevice* | cuDriver* | cuptiGetDeviceId) continue ;; # only the description of a device
        cuptiActivityFlushAll) [ "$1" = plain ] || continue ;; # without launches nothing is outstanding
        esac
        lines='^0 wait \|^0 kernel \|^cuda '
        case $name in # a wait is for an unknown stream then
        cuptiGetStreamIdEx | cuStreamIsCapturing | cuStreamGetCtx | cuptiGetContextId) lines='^0 kernel ' ;;
        esac
        cmp -s <(grep "$lines" "$scratch/seen") <(grep "$lines" "$scratch/undisturbed") ||
            grep -q '^0 lost [1-9]\|^0 meta cuda.missing: \|^0 meta cuda.refused: \|^0 meta cuda.incomplete: \|dropped=[1-9]' "$scratch/seen" ||
            { echo "a part is missing without a word after call $nth, $name, failed"; bad=1; }
    done
    echo "$nth calls"
    [ $nth -gt 20 ] && [ $bad = 0 ]
}
cuda_failing() {
    cuda_record 0 "$@" > /dev/null && cp "$scratch/seen" "$scratch/undisturbed" && cuda_failing_calls "$@"
}
# The recorder reads clocks and power: a value that NVML does not give is left out, and nothing else.
nvml_record() {
    rm -f "$scratch/nvml.ridge"
    RIDGE_PROBE_LIBRARY=$library RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib \
        "$build/ridge" record --backend cuda -q -o "$scratch/nvml.ridge" -- "$scratch/cuda_target" for_a_second 20 &&
        "$build/ridge" report "$scratch/nvml.ridge" --json > "$scratch/nvml.json" &&
        grep -q '"kernel_count": *[1-9]' "$scratch/nvml.json" && "$build/ridge" info "$scratch/nvml.ridge" > "$scratch/nvml.info"
}
nvml_failing() {
    local nth
    nvml_record && grep -q 'counter' "$scratch/nvml.info" || { cat "$scratch/nvml.info"; return 1; }
    for ((nth = 1; nth < 20; nth++)); do
        rm -f "$scratch/failed"
        STANDIN_NVML=$nth STANDIN_FAILED=$scratch/failed nvml_record || {
            echo "call $nth, $(cat "$scratch/failed"), failed"
            return 1
        }
        [ -e "$scratch/failed" ] || break
    done
    echo "$nth calls"
    [ $nth -gt 6 ]
}
# Of the two processes that the stand-in lists, one is busy: a check repeats its runs and names it.
nvml_shared() {
    LD_LIBRARY_PATH=$scratch/lib "$build/ridge" check --metric wall --runs 2 --versus true -- true > "$scratch/shared"
    [ $? = 3 ] && tr '\n' ' ' < "$scratch/shared" | grep -q 'disturbed runs were repeated: another process used the GPU (pid 77)' ||
        { cat "$scratch/shared"; return 1; }
}
cuda_taken() { STANDIN=taken cuda_record 0 plain && seen '0 meta cuda.missing: another profiler uses CUPTI .*'; }
cuda_old() { STANDIN=old cuda_record 0 plain && seen '0 meta cuda.missing: CUPTI is too old .*'; }
cuda_refused() { STANDIN=refused cuda_record 0 plain && seen '0 meta cuda.missing: the driver restricts CUPTI .*'; }
cuda_missing() { cupti=$scratch/none.so cuda_record 0 plain && seen '0 meta cuda.missing: RIDGE_CUPTI is .*'; }
# What CUPTI 13.0 delivered on an H200, beside what a program with NVIDIA's headers read in it.
cuda_replay() {
    [ "$(printf '\1' | od -An -td2 -N1 | tr -d ' ')" = 1 ] || cannot "bytes are in another order" || return 1
    STANDIN_REPLAY=$here/cupti-13.0.records cuda_record 0 replay &&
        grep '^0 \(kernel\|copy\|set\) ' "$scratch/seen" | sort | diff - "$here/cupti-13.0.seen" &&
        seen 'cuda .* waits=1 allocations=5 .*'
}
# The program has 5 threads, and one more while it is recorded.
has_threads() { [ "$(ls "/proc/$1/task" | wc -l)" = "$2" ]; }
wait_for_threads() { until_true has_threads "$1" 5; }
has_session() { [ "$(ls "/proc/$1/task" | wc -l)" -gt 5 ]; }
wait_for_session() { until_true has_session "$1"; }
# attach COUNT PROGRAM [ARGUMENT...]: records a running program COUNT times; it ends as without that, and
# keeps no thread, descriptor or mapping of a recording. The first one loads the probe.
attach() {
    local times=$1 i pid facts maps first=
    shift
    : > "$scratch/summaries"
    attached_to() { echo "$(ls "/proc/$pid/task" | wc -l) $(ls "/proc/$pid/fd" | wc -l) $(grep -c ridge-spool "/proc/$pid/maps")"; }
    RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib "$@" 2>&1 &
    pid=$!
    wait_for_threads $pid
    for ((i = 0; i < times; i++)); do
        rm -f "$scratch/attached.ridge"
        RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --duration "$((300 * ${PATIENCE:-1}))ms" --sample-rate 99 \
            -o "$scratch/attached.ridge" 2>&1 | tee -a "$scratch/summaries"
        [ "${PIPESTATUS[0]}" = 0 ] || break
        wait_for_threads $pid # the probe's thread ends last
        facts=$(attached_to)
        [ -n "$first" ] || first=$facts maps=$(wc -l < "/proc/$pid/maps")
        [ "$facts" = "$first" ] || { echo "threads, descriptors and mapped spools: $facts, not $first"; break; }
        # the program's own allocator splits some
        [ "$(wc -l < "/proc/$pid/maps")" -le $((maps + 8)) ] || { echo "$(wc -l < "/proc/$pid/maps") mappings, not $maps"; break; }
    done
    kill -TERM $pid
    wait $pid && [ $i = $times ] || { echo "status $?, $i times"; return 1; }
    ! ls "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"/ridge-spool-*/"$pid"-* 2> /dev/null
}
attached_cuda() {
    attach "${ATTACH:-3}" "$scratch/cuda_target" attached 20 && # the program may not run in each of them
        grep -q '^recorded .* kernels' "$scratch/summaries" && ! grep 'CUDA is not recorded' "$scratch/summaries" &&
        "$build/ridge" report "$scratch/attached.ridge" > /dev/null
}
# Without CUDA nothing is loaded into the program.
attached_cpu() {
    attach "${ATTACH:-3}" "$scratch/cuda_target" attached_cpu && "$build/ridge" report "$scratch/attached.ridge" --json > "$scratch/attached.json"
}
# A second recorder of the same process is refused, and the first goes on.
attached_twice() {
    local pid first second
    RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib "$scratch/cuda_target" attached 20 &
    pid=$!
    wait_for_threads $pid
    rm -f "$scratch"/attached*.ridge
    RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --no-sampling -o "$scratch/attached.ridge" > "$scratch/first" 2>&1 &
    first=$!
    wait_for_session $pid
    RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --duration 0.1 -o "$scratch/attached2.ridge" > "$scratch/second" 2>&1
    kill -TERM $first # bash ignores SIGINT in what runs in the background
    wait $first || { cat "$scratch/first"; return 1; }
    kill -TERM $pid
    wait $pid || { echo "status $?"; return 1; }
    cat "$scratch/first" "$scratch/second"
    grep -q 'recorded .* kernels' "$scratch/first" && grep -q 'it is being recorded already' "$scratch/second"
}
# A recorder that is killed: the probe ends its session by itself, and another one can attach.
attached_and_killed() {
    local pid first i
    RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib "$scratch/cuda_target" attached 20 &
    pid=$!
    wait_for_threads $pid
    rm -f "$scratch"/attached*.ridge
    RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --no-sampling -o "$scratch/attached.ridge" 2> /dev/null &
    first=$!
    wait_for_session $pid
    kill -KILL $first
    wait $first
    wait_for_threads $pid
    RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --duration "$((500 * PATIENCE))ms" -o "$scratch/attached2.ridge" > "$scratch/second" 2>&1
    cat "$scratch/second"
    kill -TERM $pid
    wait $pid && grep -q 'recorded .* kernels' "$scratch/second"
}

# A recorder that is killed while it calls into the program leaves that whole, and the next can attach.
attached_and_killed_early() {
    local pid first i
    RIDGE_CUPTI=$scratch/lib/libcuda.so.1 LD_LIBRARY_PATH=$scratch/lib "$scratch/cuda_target" attached 20 &
    pid=$!
    wait_for_threads $pid
    for ((i = 0; i < 4 * ${ATTACH:-3}; i++)); do
        RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --no-sampling -f -o "$scratch/attached.ridge" 2> /dev/null &
        first=$!
        sleep "0.$(printf %03d $((RANDOM % ${KILL_MS:-150})))"
        kill -KILL $first
        wait $first
        kill -0 $pid || { echo "the program has ended"; return 1; }
    done
    wait_for_threads $pid # the session of a recorder that was killed later
    RIDGE_PROBE_LIBRARY=$library "$build/ridge" record -p $pid --duration "$((500 * PATIENCE))ms" -f -o "$scratch/attached2.ridge" > "$scratch/second" 2>&1
    cat "$scratch/second"
    kill -TERM $pid
    wait $pid && grep -q '^recorded ' "$scratch/second" && ! grep -q 'CUDA is not recorded' "$scratch/second"
}

if [ "$(uname -s)" != Linux ]; then
    skip "CUDA: not Linux"
elif ! {
    mkdir -p "$scratch/lib" &&
        build $cc -fPIC -shared -Wl,-soname,libcuda.so.1 -o "$scratch/lib/libcuda.so.1" \
            "$here/standin_driver.c" "$here/standin_cupti.c" -ldl -pthread &&
        : > "$scratch/empty.c" &&
        build $cc -fPIC -shared -Wl,-soname,libcupti.so.13 -o "$scratch/lib/libcupti.so.13" "$scratch/empty.c" &&
        build $cc -fPIC -shared -o "$scratch/lib/xla_cuda_plugin.so" "$scratch/empty.c" &&
        build $cc -fPIC -shared -Wl,-z,lazy -Wl,--no-as-needed -o "$scratch/lib/libframework.so" \
            "$here/framework.c" "$scratch/lib/libcupti.so.13" "$scratch/lib/libcuda.so.1" &&
        build $cc -fPIC -shared -Wl,-soname,libnvidia-ml.so.1 -o "$scratch/lib/libnvidia-ml.so.1" \
            "$here/standin_nvml.c" &&
        build $cc ${SAN:+-fsanitize=$SAN} -o "$scratch/cuda_target" "$here/cuda_target.c" -ldl -pthread &&
        build $cc ${SAN:+-fsanitize=$SAN} -o "$scratch/launches" "$root/examples/record/launches.c" -ldl
}; then
    echo "FAILED tests/probe: the stand-in for CUDA does not compile"
    cat "$scratch/log"
    failed=$((failed + 1))
else
    check "CUDA: calls, kernels, waits, memory, the device" cuda_everything
    check "CUDA: graphs by node where XLA is loaded" cuda_xla
    check "CUDA: examples/record/launches.c" cuda_example
    check "CUDA: the runtime's calls" cuda_runtime
    check "CUDA: who waits for what" cuda_waiting
    check "CUDA: a million launches" cuda_million
    check "CUDA: launches of threads" cuda_threads
    check "CUDA: SIGKILL" patient cuda_killed
    check "CUDA: a crash" patient cuda_crashing
    check "CUDA: _exit" patient cuda_leaving
    check "CUDA: exit from a thread" cuda_exit_from_thread
    check "CUDA: fork without exec" cuda_forking
    check "CUDA: the program's own profiler" patient cuda_own_profiler
    check "CUDA: the program's own profiler, linked against CUPTI" patient cuda_linked_profiler
    check "CUDA: the program's own profiler, which finalizes CUPTI" patient cuda_finalizing_profiler
    check "CUDA: the program's own profiler, which stays" patient cuda_lasting_profiler
    check "CUDA: the program's own profiler, at all times" patient cuda_restless_profiler
    check "CUDA: only from a time on" cuda_delayed
    check "CUDA: the recorder stops before the program" cuda_stopped
    check "CUDA: only between cudaProfilerStart and -Stop" cuda_some_parts
    check "only inside NVTX ranges of a name" nvtx_some_ranges
    check "CUDA: records that CUPTI loses" cuda_lossy
    check "CUDA: times of another clock" cuda_clocks
    check "CUDA: no memory left" cuda_little_memory
    check "CUDA: every call fails in its turn, launches" cuda_failing plain 3
    check "CUDA: every call fails in its turn, waits" cuda_failing waiting
    check "NVML: every call fails in its turn" patient nvml_failing
    check "NVML: another process on the GPU disturbs a check" nvml_shared
    check "CUDA: CUPTI is taken" cuda_taken
    check "CUDA: CUPTI is too old" cuda_old
    check "CUDA: CUPTI is not for this user" cuda_refused
    check "CUDA: CUPTI is missing" cuda_missing
    check "CUDA: what a real CUPTI delivered" cuda_replay
    if [ -n "${SAN:-}" ]; then
        skip "attaching: a sanitizer's runtime is not in the program"
    elif [ "$(uname -m)" != x86_64 ] && [ "$(uname -m)" != aarch64 ]; then
        skip "attaching: not for this processor"
    elif [ "$(id -u)" != 0 ] && [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" != 0 ]; then
        skip "attaching: ptrace is restricted"
    else
        check "attaching to a program with CUDA" patient attached_cuda
        check "attaching to a program without CUDA" patient attached_cpu
        check "attaching twice at a time" patient attached_twice
        check "attaching, and the recorder is killed" patient attached_and_killed
        check "attaching, and the recorder is killed while it does" patient attached_and_killed_early
    fi
fi
