# Traces without kernels: the report says what was recorded and what was not, and never that no GPU was
# used. Every format and the what-if command take them.
run() {
    echo "\$ ridge $*"
    "$RIDGE" "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
    echo
}
verdict() {
    run report "$1" | sed '/^API time/,$d; /^Ranges/,$d; /^Synchronizations/,$d'
    for format in md json csv html; do
        "$RIDGE" report "$1" --format $format > written || echo "$format fails"
    done
    "$RIDGE" report "$1" --json | grep -o '"\(manager\|engineer\)": *"[^"]*"'
    echo
}
trace() {
    echo '{"schemaVersion":1,"traceEvents":['"$2"']}' > "$1"
}
event() {
    echo '{"ph":"X","cat":"'"$1"'","name":"'"$2"'","pid":1,"tid":'"${5:-1}"',"ts":'"$3"',"dur":'"$4"',"args":{'"$6"'}}'
}
launch='"correlation":1'
stream='"device":0,"stream":7,"correlation":1'
trace calls.json "$(event cuda_runtime cudaFree 1 1),$(event cuda_runtime cudaMalloc 3 208)"
trace launches.json "$(event cuda_runtime cudaLaunchKernel 1 5 1 "$launch"),$(event cuda_runtime cudaDeviceSynchronize 7 90)"
trace copies.json "$(event cuda_runtime cudaLaunchKernel 1 5),$(event cuda_runtime cudaMemcpyAsync 7 3 1 "$launch"),$(event gpu_memcpy 'Memcpy HtoD (Pageable -> Device)' 9 4 7 "$stream,\"bytes\":4096")"
trace cpu.json "$(event cpu_op aten::mm 1 900),$(event cpu_op aten::add 902 30)"
trace instant.json "$(event cuda_runtime cudaLaunchKernel 5 0 1 "$launch"),$(event kernel k 5 0 7 "$stream")"
trace steps.json "$(for i in 1 2 3 4; do event cpu_op aten::mm ${i}000000 900000; echo ,; done; event cpu_op aten::add 5000000 10)"
trace empty.json ''
for name in calls launches copies cpu instant; do
    verdict $name.json
    "$RIDGE" whatif $name.json --all > /dev/null || echo "whatif fails"
done
run whatif launches.json --no-sync
run report steps.json --window 1s,3s | sed -n '1,/^Findings/p'
run whatif steps.json --window 1s,3s 2>&1
run whatif cpu.json --prefetch=aten::mm
run whatif calls.json --no-alloc

# a file without an event of use is refused: it is no run of 0 ns
tree='[{"children":[{"children":[],"frame":{"name":"k"},"metrics":{"count":2,"time (ns)":9}}],"frame":{"name":"ROOT"},"metrics":{}}]'
echo "$tree" > tree.hatchet
echo '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},{"ph":"s","ts":1}]' > names.json
run report empty.json 2>&1
run report names.json 2>&1
run report tree.hatchet 2>&1
