# What ridge exports, readers that are not ridge's find equal to the trace.
[ -n "$FIXTURES" ] && [ -d "$FIXTURES/nsys" ] || { echo "SKIP there are no fixtures"; exit 77; }
command -v python3 > /dev/null || { echo "SKIP there is no python3"; exit 77; }
python3 -c "import sqlite3" 2> /dev/null || { echo "SKIP python3 has no sqlite3"; exit 77; }
for trace in nsys/mock.sqlite xctrace/m1-cpu-time-profile; do
    "$RIDGE" info "$FIXTURES/$trace" 2>&1 | grep -q "built without" || continue
    echo "SKIP this build cannot read $trace"
    exit 77
done

check() { # NAME FILE...
    echo "$1"
    shift
    "$RIDGE" import "$@" -q -f -o t.ridge || return
    for format in chrome perfetto sqlite; do
        echo -n "  $format: "
        "$RIDGE" export t.ridge --format $format -f -o exported &&
            python3 "$TESTS/cli/export_readers.py" "$RIDGE" t.ridge $format exported
    done
}

for trace in kineto/critical_path+cuda_event_sync_multi_stream+event_sync_trace.json.gz \
    kineto/nccl_parser_config+nccl_data.json.gz nsys/mock.sqlite \
    nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite rocprof/matmul_result.rpd \
    xctrace/m1-compute-baseline xctrace/m1-cpu-time-profile \
    xplane/jax_conv_minimal_legacy.xplane.pb; do
    check $trace "$FIXTURES/$trace"
done
check "two recordings" "$FIXTURES/nsys/mock.sqlite" "$FIXTURES/rocprof/matmul_result.rpd"
exit 0
