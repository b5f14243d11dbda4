# What changed between recorded traces: text, Markdown, JSON; parts, several runs, predictions; a trace
# against itself; and what is said to options that make no sense.
cd "$TESTS/corpus/traces" 2> /dev/null && [ -r whatif-graph-blocks.ridge ] || { echo "SKIP the corpus is not there"; exit 77; }
run() {
    echo "\$ ridge diff $*"
    "$RIDGE" diff "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
    echo
}
run whatif-graph-blocks.ridge whatif-graph-blocks-after.ridge --predicted
run whatif-graph-blocks-after.ridge whatif-graph-blocks.ridge --top 3
run whatif-fuse-chain.ridge whatif-fuse-chain-after.ridge --format md
run healthy-gemm.ridge healthy-gemm.ridge
run healthy-gemm.ridge throttle-gemm.ridge --top 2
run launch-profiler.json.gz host-profiler.json.gz --steps all --top 4
run whatif-pinned-32.ridge whatif-pinned-32.ridge whatif-pinned-32.ridge --against \
    whatif-pinned-32-after.ridge whatif-pinned-32-after.ridge whatif-pinned-32-after.ridge --top 1
"$RIDGE" diff whatif-pinned-32.ridge whatif-pinned-32-after.ridge --json | grep -E '"(schema|cause|change_ns|significant)"' | head -5
# What differs besides the program: shapes, the tool, processes on the device; lines that were added.
cd "$TESTS/compare/pairs" || exit 1
for pair in batch-gemm same-tools shared-gemm compile-new; do
    run $pair-a.ridge $pair-b.ridge --top 2
done
cd "$TESTS/corpus/traces" || exit 1
for wrong in 'healthy-gemm.ridge' 'healthy-gemm.ridge healthy-gemm.ridge healthy-gemm.ridge' \
    'healthy-gemm.ridge nothing.ridge' 'healthy-gemm.ridge healthy-gemm.ridge --steps 0' \
    'healthy-gemm.ridge healthy-gemm.ridge --format csv'; do
    run $wrong 2>&1
done
